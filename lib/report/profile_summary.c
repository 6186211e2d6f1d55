// What came of a recording: how much was unwound, why walks ended, what was lost, which
// modules lack symbols. For people; the same in JSON is profile_summary_json.c.
#include <errno.h>
#include <stdlib.h>

#include "lib/report/profile_summary.h"

enum { TYPE_SOFTWARE = 1, SW_DUMMY = 9 };	// linux/perf_event.h: PERF_TYPE_, PERF_COUNT_

/** 1234567 as "1,234,567". */
static void count(struct fw_out *o, uint64_t v)
{
	char text[32], *p = text + sizeof(text);
	unsigned digits = 0;
	do {
		if (digits && digits % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + v % 10);
		digits++;
		v /= 10;
	} while (v);
	fw_out_write(o, p, (size_t)(text + sizeof(text) - p));
}

static void column(struct fw_out *o, uint64_t v, unsigned width)
{
	unsigned n = 1;
	for (uint64_t x = v; x >= 10; x /= 10)
		n++;
	n += (n - 1) / 3;
	for (; n < width; n++)
		fw_out_byte(o, ' ');
	count(o, v);
}

/** Share in tenths of a percent. */
static void percent(struct fw_out *o, uint64_t part, uint64_t whole, int width)
{
	uint64_t tenths = whole ? (uint64_t)((double)part * 1000 / (double)whole + 0.5) : 0;
	fw_out_printf(o, "%*u.%u %%", width, (unsigned)(tenths / 10), (unsigned)(tenths % 10));
}

static void safe(struct fw_out *o, struct fw_str s)
{
	fw_out_safe(o, s.s, s.n);
}

static void write_events(const struct fw_profile *p, struct fw_out *o)
{
	const struct fw_recording *r = p->recording;
	const char *title = "events:    ";
	for (uint32_t i = 0; i < r->num_events; i++) {
		const struct fw_event_info *e = &r->events[i];
		if (e->type == TYPE_SOFTWARE && e->config == SW_DUMMY)
			continue;	// perf's own, for maps and names: it has no samples
		fw_out_cstr(o, title);
		title = "           ";
		safe(o, e->name);
		if (e->frequency) {
			fw_out_lit(o, ", ");
			count(o, e->frequency);
			fw_out_lit(o, " Hz");
		}
		if (e->have_stack) {
			fw_out_lit(o, ", stacks of ");
			count(o, e->stack_asked);
			fw_out_lit(o, " bytes");
		} else {
			fw_out_cstr(o, e->have_chain ? ", call chains only" : ", no stacks");
		}
		fw_out_byte(o, '\n');
	}
}

static void write_head(const struct fw_profile *p, struct fw_out *o)
{
	const struct fw_recording *r = p->recording;
	fw_out_lit(o, "recording: ");
	fw_out_safe(o, p->path, strlen(p->path));
	fw_out_lit(o, " (");
	fw_out_cstr(o, r->format);
	if (r->arch.n) {
		fw_out_lit(o, ", ");
		safe(o, r->arch);
	}
	if (r->os_release.n) {
		fw_out_lit(o, ", Linux ");
		safe(o, r->os_release);
	}
	fw_out_cstr(o, r->compressed ? ", compressed" : "");
	fw_out_cstr(o, r->piped ? ", piped" : "");
	fw_out_lit(o, ")\n");
	if (r->command_line.n) {
		fw_out_lit(o, "command:   ");
		safe(o, r->command_line);
		fw_out_byte(o, '\n');
	}
	write_events(p, o);
}

static void write_samples(const struct fw_profile *p, struct fw_out *o)
{
	fw_out_lit(o, "samples:   ");
	count(o, p->samples_used);
	if (p->samples_used != p->samples_read) {
		fw_out_lit(o, " of ");
		count(o, p->samples_read);
	}
	if (p->last_time > p->first_time)
		fw_out_printf(o, " in %.3f s", (double)(p->last_time - p->first_time) / 1e9);
	fw_out_printf(o, ", %u thread name%s", p->num_threads, p->num_threads == 1 ? "" : "s");
	fw_out_lit(o, "\nstacks:    ");
	count(o, p->num_stacks);
	fw_out_lit(o, " distinct, ");
	count(o, p->frames_walked);
	fw_out_lit(o, " frames");
	if (p->samples_used)
		fw_out_printf(o, ", %.1f a sample",
			      (double)p->frames_walked / (double)p->samples_used);
	fw_out_lit(o, ", deepest ");
	count(o, p->deepest);
	fw_out_byte(o, '\n');
	if (p->samples_repaired) {
		fw_out_lit(o, "repaired:  ");
		count(o, p->samples_repaired);
		fw_out_lit(o, " samples, whose outer frames are not from their own stack\n");
	}
}

/** A table of counters that have names, without those that are 0. */
static void write_counters(struct fw_out *o, const char *title, const uint64_t *values, unsigned n,
			   const char *(*name)(unsigned))
{
	uint64_t all = 0;
	for (unsigned i = 0; i < n; i++)
		all += values[i];
	if (!all)
		return;
	fw_out_byte(o, '\n');
	fw_out_cstr(o, title);
	fw_out_byte(o, '\n');
	for (unsigned i = 0; i < n; i++) {
		if (!values[i])
			continue;
		column(o, values[i], 14);
		fw_out_lit(o, "  ");
		percent(o, values[i], all, 3);
		fw_out_lit(o, "  ");
		fw_out_cstr(o, name(i));
		fw_out_byte(o, '\n');
	}
}

static const char *stop_name(unsigned i)
{
	return fw_stop_name((enum fw_stop)i);
}

static const char *trust_name(unsigned i)
{
	return fw_trust_name((enum fw_trust)i);
}

static void write_truncated(const struct fw_profile *p, struct fw_out *o)
{
	uint32_t asked = fw_profile_stack_asked(p), more = asked < 32768 ? 32768 : 65528;
	fw_out_lit(o, "  ");
	count(o, p->stops[FW_STOP_TRUNCATED_STACK]);
	fw_out_lit(o, " of ");
	count(o, p->samples_used);
	fw_out_lit(o, " samples truncated at ");
	count(o, asked);
	if (asked < 65280)	// what the kernel makes of 65,528 in a record
		fw_out_printf(o, " bytes: record with --call-graph dwarf,%u\n", more);
	else
		fw_out_lit(o, " bytes, the most there is: --repair may complete them\n");
}

/** "  12 samples ..." when v is not 0. */
static void warn(struct fw_out *o, uint64_t v, const char *one, const char *many)
{
	if (!v)
		return;
	fw_out_lit(o, "  ");
	count(o, v);
	fw_out_byte(o, ' ');
	fw_out_cstr(o, v == 1 ? one : many);
	fw_out_byte(o, '\n');
}

static void write_lost(const struct fw_profile *p, struct fw_out *o)
{
	uint64_t lost = fw_profile_lost(p), taken = lost + p->samples_read;
	if (!lost)
		return;
	fw_out_lit(o, "  ");
	count(o, lost);
	fw_out_lit(o, " events were lost while recording (");
	percent(o, lost, taken, 0);
	fw_out_lit(o, "): record with a lower -F or a larger -m\n");
}

static bool is_quiet(const struct fw_profile *p)
{
	const struct fw_recording_counts *c = &p->recording->counts;
	return p->samples_used && !p->stops[FW_STOP_TRUNCATED_STACK] && !fw_profile_lost(p) &&
	       !c->gaps && !c->throttled && !p->samples_bad && !p->samples_empty &&
	       !c->bad_records && !c->unknown_records && !p->recording->killed &&
	       !p->recording->num_notes;
}

static void write_warnings(const struct fw_profile *p, struct fw_out *o)
{
	const struct fw_recording *r = p->recording;
	if (is_quiet(p))
		return;
	fw_out_lit(o, "\nto be aware of\n");
	if (!p->samples_read)
		fw_out_lit(o, "  0 samples: nothing was recorded; perf's buffer may be smaller "
			      "than one sample (-m), or nothing ran\n");
	else if (!p->samples_used)
		fw_out_lit(o, "  0 samples are left by the filters\n");
	if (p->stops[FW_STOP_TRUNCATED_STACK])
		write_truncated(p, o);
	write_lost(p, o);
	warn(o, r->counts.gaps, "gap in the recording: nothing was carried over it",
	     "gaps in the recording: nothing was carried over them");
	warn(o, r->counts.throttled, "time that the kernel took fewer samples than asked for",
	     "times that the kernel took fewer samples than asked for");
	warn(o, p->samples_empty, "sample without registers or stack",
	     "samples without registers or stack");
	warn(o, p->samples_bad, "malformed sample", "malformed samples");
	warn(o, r->counts.bad_records, "malformed record", "malformed records");
	warn(o, r->counts.unknown_records, "record of an unknown type", "records of unknown types");
	if (r->killed)
		fw_out_lit(o, "  the recorder never finished the file: its end may be missing\n");
	for (uint32_t i = 0; i < r->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		fw_out_lit(o, "  ");
		if (*r->notes[i].place) {
			fw_out_safe(o, r->notes[i].place, strlen(r->notes[i].place));
			fw_out_lit(o, ": ");
		}
		fw_out_safe(o, r->notes[i].message, strlen(r->notes[i].message));
		fw_out_byte(o, '\n');
	}
	if (r->num_notes > FW_MAX_SNAPSHOT_NOTES)
		warn(o, r->num_notes - FW_MAX_SNAPSHOT_NOTES, "more note", "more notes");
}

static void write_module(const struct fw_profile_module *m, struct fw_out *o)
{
	column(o, m->samples, 14);
	column(o, m->frames, 14);
	const char *symbols = fw_profile_symbols_name(m);
	fw_out_printf(o, "  %-10s  %-8.8s  ", symbols, m->build_id.n ? m->build_id.text : "-");
	safe(o, m->path);
	if (m->used_path && (m->path.n != strlen(m->used_path) ||
			     memcmp(m->path.s, m->used_path, m->path.n) != 0)) {
		fw_out_lit(o, " from ");
		fw_out_safe(o, m->used_path, strlen(m->used_path));
	}
	if (*m->symbols->message) {
		fw_out_lit(o, ": ");
		fw_out_safe(o, m->symbols->message, strlen(m->symbols->message));
	}
	fw_out_byte(o, '\n');
}

static void write_modules(const struct fw_profile *p, struct fw_out *o)
{
	uint32_t n, without = 0, unverified = 0, *order = fw_profile_module_order(p, &n);
	if (!order) {
		fw_out_fail(o, ENOMEM);
		return;
	}
	if (n)
		fw_out_lit(o, "\nmodules\n"
			      "       samples        frames  symbols     build id  file\n");
	for (uint32_t i = 0; i < n; i++) {
		const struct fw_profile_module *m = &p->modules[order[i]];
		write_module(m, o);
		without += fw_profile_lacks_symbols(m);
		unverified += fw_profile_is_unverified(m);
	}
	if (without)
		fw_out_printf(o, "%u of %u modules lack%s symbols\n", without, n,
			      without == 1 ? "s" : "");
	if (unverified)
		fw_out_printf(o, "%u of %u modules could not be verified: no build id was "
			      "recorded, so the file of that name was believed\n", unverified, n);
	free(order);
}

void fw_profile_write_summary(const struct fw_profile *p, struct fw_out *out)
{
	write_head(p, out);
	write_samples(p, out);
	write_counters(out, "why walks ended", p->stops, FW_STOP_COUNT, stop_name);
	write_counters(out, "how frames were found", p->trusts, FW_TRUST_COUNT, trust_name);
	write_warnings(p, out);
	write_modules(p, out);
}
