// The report for a person: what crashed, on what, and what is not in the report.
#include <time.h>

#include "lib/report/shared.h"
#include "lib/report/text_internal.h"

enum { LABEL_WIDTH = 17 };

static void label(struct fw_text_writer *t, const char *name)
{
	fw_text_style(t, FW_STYLE_DIM);
	fw_out_cstr(t->out, name);
	fw_text_style_end(t);
	fw_text_pad(t, strlen(name), LABEL_WIDTH);
}

static void put_line(struct fw_text_writer *t, const char *name, struct fw_str value)
{
	if (!value.n)
		return;
	label(t, name);
	fw_text_safe(t->out, value);
	fw_out_byte(t->out, '\n');
}

static void put_crash(struct fw_text_writer *t)
{
	const struct fw_report *r = t->r;
	struct fw_out *o = t->out;
	label(t, "Crash reason");
	if (!r->crashed) {
		fw_out_lit(o, "none recorded\n");
		return;
	}
	fw_text_style(t, FW_STYLE_BAD);
	fw_out_safe(o, r->reason, strlen(r->reason));
	fw_text_style_end(t);
	fw_out_byte(o, '\n');
	label(t, "Crash address");
	fw_out_lit(o, "0x");
	fw_out_hex(o, r->crash_address, r->pointer_digits);
	fw_out_byte(o, '\n');
}

static void put_crashing_thread(struct fw_text_writer *t)
{
	const struct fw_report *r = t->r;
	const struct fw_snapshot *s = r->snapshot;
	struct fw_out *o = t->out;
	if (r->crashing_index < 0 && s->crashing_thread < 0 && !r->crashed)
		return;
	label(t, r->crashed ? "Crashing thread" : "Requesting thread");
	if (s->crashing_thread < 0) {
		fw_out_printf(o, "id %u, which the capture does not list\n", s->exception.thread_id);
		return;
	}
	const struct fw_thread_info *info = &s->threads[s->crashing_thread];
	if (r->crashing_index >= 0) {
		fw_out_dec(o, (uint64_t)r->crashing_index);
		fw_out_byte(o, ' ');
	}
	if (info->name.n) {
		fw_out_byte(o, '"');
		fw_text_safe(o, info->name);
		fw_out_lit(o, "\" ");
	}
	fw_out_printf(o, "(id %u)\n", info->id);
}

static void put_assertion(struct fw_text_writer *t)
{
	const struct fw_exception *e = &t->r->snapshot->exception;
	struct fw_out *o = t->out;
	if (!e->assertion.n && !e->assertion_function.n && !e->assertion_file.n)
		return;
	label(t, "Assertion");
	fw_text_safe(o, e->assertion);
	if (e->assertion_function.n) {
		fw_out_lit(o, " in ");
		fw_text_safe(o, e->assertion_function);
	}
	if (e->assertion_file.n) {
		fw_out_lit(o, " (");
		fw_text_safe(o, e->assertion_file);
		fw_out_printf(o, ":%u)", e->assertion_line);
	}
	fw_out_byte(o, '\n');
}

static void put_system(struct fw_text_writer *t)
{
	const struct fw_snapshot *s = t->r->snapshot;
	struct fw_out *o = t->out;
	char buffer[16];
	label(t, "System");
	fw_out_cstr(o, fw_os_name(s, buffer));
	const struct fw_str parts[] = { s->os_version, fw_report_os_build(s) };
	for (unsigned i = 0; i < 2; i++) {
		if (!parts[i].n)
			continue;
		if (parts[i].s[0] != '-')	// Crashpad cuts "6.1.0-28-amd64" after the numbers
			fw_out_byte(o, ' ');
		fw_text_safe(o, parts[i]);
	}
	fw_out_byte(o, '\n');
	label(t, "CPU");
	fw_out_cstr(o, s->cpu->name);
	if (s->cpu_info.n) {
		fw_out_lit(o, ", ");
		fw_text_safe(o, s->cpu_info);
	}
	if (s->cpu_count)
		fw_out_printf(o, s->cpu_count == 1 ? ", %u CPU" : ", %u CPUs", s->cpu_count);
	fw_out_byte(o, '\n');
	put_line(t, "Distribution", s->lsb_description);
}

static void put_time(struct fw_text_writer *t)
{
	const struct fw_snapshot *s = t->r->snapshot;
	time_t when = s->timestamp;
	struct tm tm;
	char text[32];
	if (!s->timestamp || !gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		return;
	label(t, "Captured");
	fw_out_cstr(t->out, text);
	if (s->have_create_time && s->timestamp >= s->create_time) {
		fw_out_lit(t->out, ", process up ");
		fw_text_count(t->out, s->timestamp - s->create_time);
		fw_out_lit(t->out, " s");
	}
	fw_out_byte(t->out, '\n');
}

static void put_annotations(struct fw_text_writer *t)
{
	const struct fw_snapshot *s = t->r->snapshot;
	if (!s->num_annotations || t->o->brief)
		return;
	fw_out_lit(t->out, "Annotations\n");
	for (uint32_t i = 0; i < s->num_annotations; i++) {
		fw_out_lit(t->out, "  ");
		fw_text_safe(t->out, s->annotations[i].key);
		fw_out_lit(t->out, " = ");
		fw_text_safe(t->out, s->annotations[i].value);
		fw_out_byte(t->out, '\n');
	}
}

void fw_text_head(struct fw_text_writer *t)
{
	const struct fw_report *r = t->r;
	const struct fw_snapshot *s = r->snapshot;
	struct fw_out *o = t->out;
	label(t, "Capture");
	fw_text_style(t, FW_STYLE_TITLE);
	fw_out_safe(o, r->path, strlen(r->path));
	fw_text_style_end(t);
	if (s->format) {
		fw_out_lit(o, " (");
		fw_out_cstr(o, s->format);
		fw_out_byte(o, ')');
	}
	fw_out_byte(o, '\n');
	put_crash(t);
	put_crashing_thread(t);
	put_assertion(t);
	put_system(t);
	if (s->have_pid) {
		label(t, "Process");
		fw_out_dec(o, s->pid);
		fw_out_byte(o, '\n');
	}
	put_line(t, "Command line", s->command_line);
	put_time(t);
	put_annotations(t);
}

void fw_text_notes(struct fw_text_writer *t)
{
	const struct fw_snapshot *s = t->r->snapshot;
	struct fw_out *o = t->out;
	if (!s->num_notes && !t->r->frames_dropped)
		return;
	fw_out_byte(o, '\n');
	fw_text_style(t, FW_STYLE_TITLE);
	fw_out_lit(o, "Left out\n");
	fw_text_style_end(t);
	for (uint32_t i = 0; i < s->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		fw_out_lit(o, "  ");
		if (s->notes[i].place[0]) {
			fw_out_safe(o, s->notes[i].place, strlen(s->notes[i].place));
			fw_out_lit(o, ": ");
		}
		fw_out_safe(o, s->notes[i].message, strlen(s->notes[i].message));
		fw_out_byte(o, '\n');
	}
	if (s->num_notes > FW_MAX_SNAPSHOT_NOTES) {
		fw_out_lit(o, "  and ");
		fw_text_count(o, s->num_notes - FW_MAX_SNAPSHOT_NOTES);
		fw_out_lit(o, " more such notes\n");
	}
	if (t->r->frames_dropped) {
		fw_out_lit(o, "  ");
		fw_text_count(o, t->r->frames_dropped);
		fw_out_lit(o, " frames over the limit of one report\n");
	}
}
