// A recording as `framewalk inspect` shows it: events, counts, files.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/inspect.h"
#include "lib/base/intern.h"
#include "lib/base/json.h"
#include "lib/base/limits.h"
#include "lib/report/report.h"
#include "lib/snapshot/recording.h"

struct tally {
	struct fw_recording *r;
	struct fw_intern processes, threads;	// sampled ones, by number
	uint64_t *by_event;
	uint64_t bad, with_stack, first, last;
};

bool fw_inspect_is_recording(const char *path)
{
	struct stat st;
	struct fw_error err;
	uint8_t head[16];
	size_t n;
	if (strcmp(path, "-") == 0 || stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode)) {
		char data[4096];
		int want = snprintf(data, sizeof(data), "%s/data", path);
		return want < (int)sizeof(data) && stat(data, &st) == 0;
	}
	return fw_file_peek(path, head, sizeof(head), &n, &err) == FW_OK &&
	       fw_recording_sniff(head, n);
}

static enum fw_code count_sample(struct tally *t, const struct fw_sample *s, struct fw_error *err)
{
	uint32_t id;
	t->by_event[s->event]++;
	t->with_stack += s->stack_size != 0;
	if (s->time < t->first)
		t->first = s->time;
	if (s->time > t->last)
		t->last = s->time;
	enum fw_code code = fw_intern_add(&t->processes, (const char *)&s->pid, sizeof(s->pid),
					  &id);
	if (code == FW_OK)
		code = fw_intern_add(&t->threads, (const char *)&s->tid, sizeof(s->tid), &id);
	return code == FW_OK ? FW_OK : fw_fail(err, code, NULL, "out of memory for counts");
}

static enum fw_code count_all(struct tally *t, struct fw_error *err)
{
	struct fw_sample_batch b;
	struct fw_sample s;
	enum fw_code code;
	while ((code = fw_recording_next(t->r, &b, err)) == FW_OK) {
		for (uint32_t i = 0; i < b.count && code == FW_OK; i++) {
			if (fw_sample_decode(t->r, &b.samples[i], &s))
				code = count_sample(t, &s, err);
			else
				t->bad++;
		}
		fw_recording_release(t->r, &b);
		if (code != FW_OK)
			return code;
	}
	return code == FW_NOT_FOUND ? FW_OK : code;
}

static void field(struct fw_out *out, const char *name, struct fw_str value)
{
	if (!value.n)
		return;
	fw_out_printf(out, "  %-14s ", name);
	fw_out_safe(out, value.s, value.n);
	fw_out_byte(out, '\n');
}

static void number(struct fw_out *out, const char *name, uint64_t value)
{
	if (value)
		fw_out_printf(out, "  %-14s %" PRIu64 "\n", name, value);
}

static void write_events(const struct tally *t, struct fw_out *out)
{
	const struct fw_recording *r = t->r;
	fw_out_printf(out, "\nEvents (%u)\n", r->num_events);
	for (uint32_t i = 0; i < r->num_events; i++) {
		const struct fw_event_info *e = &r->events[i];
		fw_out_lit(out, "  ");
		fw_out_safe(out, e->name.s, e->name.n);
		fw_out_printf(out, "  %" PRIu64 " samples", t->by_event[i]);
		if (e->frequency)
			fw_out_printf(out, ", %" PRIu64 " Hz", e->frequency);
		if (e->have_stack)
			fw_out_printf(out, ", registers and %u bytes of stack", e->stack_asked);
		fw_out_cstr(out, e->have_chain ? ", callchain" : "");
		fw_out_cstr(out, e->kernel ? e->user ? "" : ", kernel only" : ", user only");
		fw_out_byte(out, '\n');
	}
}

static void write_files(const struct fw_recording *r, struct fw_out *out)
{
	uint32_t n = fw_spaces_num_dsos(r->spaces);
	fw_out_printf(out, "\nFiles (%u)\n", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct fw_dso *d = fw_spaces_dso_at(r->spaces, i);
		fw_out_printf(out, "  %-40s  ", d->build_id.n ? d->build_id.text : "-");
		fw_out_safe(out, d->path.s, d->path.n);
		fw_out_cstr(out, d->deleted ? " (deleted)\n" : "\n");
	}
}

static void write_text(const struct tally *t, const char *path, struct fw_out *out)
{
	const struct fw_recording *r = t->r;
	const struct fw_recording_counts *c = &r->counts;
	fw_out_safe(out, path, strlen(path));
	fw_out_printf(out, ": %s, %s endian%s%s%s\n\n", r->format, r->big_endian ? "big" : "little",
		      r->compressed ? ", compressed" : "", r->piped ? ", piped" : "",
		      r->killed ? ", not finished" : "");
	fw_out_printf(out, "  %-14s %s\n", "cpu", r->cpu->name);
	field(out, "host", r->hostname);
	field(out, "os release", r->os_release);
	field(out, "recorder", r->version);
	field(out, "command", r->command_line);
	fw_out_printf(out, "  %-14s %" PRIu64 ", %" PRIu64 " of them with a stack\n", "samples",
		      c->samples, t->with_stack);
	number(out, "malformed", t->bad);
	fw_out_printf(out, "  %-14s %u, %u threads\n", "processes", fw_intern_count(&t->processes),
		      fw_intern_count(&t->threads));
	if (t->first < t->last)
		fw_out_printf(out, "  %-14s %" PRIu64 ".%09" PRIu64 " seconds\n", "span",
			      (t->last - t->first) / 1000000000, (t->last - t->first) % 1000000000);
	number(out, "lost events", c->lost_events);
	number(out, "lost samples", c->lost_samples);
	number(out, "throttled", c->throttled);
	number(out, "bad records", c->bad_records);
	number(out, "unknown", c->unknown_records);
	write_events(t, out);
	write_files(r, out);
	if (r->num_notes)
		fw_out_printf(out, "\nNotes (%u)\n", r->num_notes);
	for (uint32_t i = 0; i < r->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		fw_out_lit(out, "  ");
		fw_out_safe(out, r->notes[i].place, strlen(r->notes[i].place));
		fw_out_lit(out, ": ");
		fw_out_safe(out, r->notes[i].message, strlen(r->notes[i].message));
		fw_out_byte(out, '\n');
	}
}


static void put_events(struct fw_json *j, const struct tally *t)
{
	fw_json_key(j, "events");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < t->r->num_events; i++) {
		const struct fw_event_info *e = &t->r->events[i];
		fw_json_begin_object(j);
		fw_json_put_str(j, "name", e->name);
		fw_json_put_u64(j, "samples", t->by_event[i]);
		fw_json_put_u64(j, "frequency", e->frequency);
		fw_json_put_u64(j, "stack_asked", e->stack_asked);
		fw_json_put_bool(j, "registers_and_stack", e->have_stack);
		fw_json_put_bool(j, "callchain", e->have_chain);
		fw_json_put_bool(j, "kernel", e->kernel);
		fw_json_put_bool(j, "user", e->user);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void put_files(struct fw_json *j, const struct fw_recording *r)
{
	fw_json_key(j, "files");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < fw_spaces_num_dsos(r->spaces); i++) {
		const struct fw_dso *d = fw_spaces_dso_at(r->spaces, i);
		fw_json_begin_object(j);
		fw_json_put_str(j, "path", d->path);
		fw_json_key(j, "build_id");
		fw_json_cstr(j, d->build_id.n ? d->build_id.text : NULL);
		fw_json_put_bool(j, "deleted", d->deleted);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void put_notes(struct fw_json *j, const struct fw_recording *r)
{
	fw_json_key(j, "notes");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < r->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		fw_json_begin_object(j);
		fw_json_put_cstr(j, "place", r->notes[i].place);
		fw_json_put_cstr(j, "message", r->notes[i].message);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void write_json(const struct tally *t, const char *path, bool pretty, struct fw_out *out)
{
	const struct fw_recording *r = t->r;
	const struct fw_recording_counts *c = &r->counts;
	struct fw_json json, *j = &json;
	fw_json_init(j, out, pretty);
	fw_json_begin_object(j);
	fw_json_put_u64(j, "schema_version", FW_SCHEMA_VERSION);
	fw_json_put_cstr(j, "status", "OK");
	fw_json_put_cstr(j, "file", path);
	fw_json_put_cstr(j, "format", r->format);
	fw_json_put_bool(j, "big_endian", r->big_endian);
	fw_json_put_bool(j, "compressed", r->compressed);
	fw_json_put_bool(j, "piped", r->piped);
	fw_json_put_bool(j, "finished", !r->killed);
	fw_json_put_cstr(j, "cpu", r->cpu->name);
	fw_json_put_str(j, "hostname", r->hostname);
	fw_json_put_str(j, "os_release", r->os_release);
	fw_json_put_str(j, "recorder", r->version);
	fw_json_put_str(j, "command_line", r->command_line);
	fw_json_put_u64(j, "samples", c->samples);
	fw_json_put_u64(j, "samples_with_stack", t->with_stack);
	fw_json_put_u64(j, "malformed_samples", t->bad);
	fw_json_put_u64(j, "processes", fw_intern_count(&t->processes));
	fw_json_put_u64(j, "threads", fw_intern_count(&t->threads));
	fw_json_put_u64(j, "span_ns", t->first < t->last ? t->last - t->first : 0);
	fw_json_put_u64(j, "lost_events", c->lost_events);
	fw_json_put_u64(j, "lost_samples", c->lost_samples);
	fw_json_put_u64(j, "gaps", c->gaps);
	fw_json_put_u64(j, "throttled", c->throttled);
	fw_json_put_u64(j, "bad_records", c->bad_records);
	fw_json_put_u64(j, "unknown_records", c->unknown_records);
	put_events(j, t);
	put_files(j, r);
	put_notes(j, r);
	fw_json_end_object(j);
	fw_json_finish(j);
}

enum fw_code fw_inspect_recording(const char *path, bool json, bool pretty, struct fw_out *out,
				  struct fw_error *err)
{
	struct tally t = { .first = UINT64_MAX };
	enum fw_code code = fw_recording_open(path, -1, &t.r, err);
	if (code != FW_OK)
		return code;
	fw_intern_init(&t.processes);
	fw_intern_init(&t.threads);
	t.by_event = calloc(t.r->num_events, sizeof(*t.by_event));
	code = t.by_event ? count_all(&t, err)
			  : fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for counts");
	if (code == FW_OK && json)
		write_json(&t, path, pretty, out);
	else if (code == FW_OK)
		write_text(&t, path, out);
	free(t.by_event);
	fw_intern_deinit(&t.processes);
	fw_intern_deinit(&t.threads);
	fw_recording_destroy(t.r);
	return code;
}
