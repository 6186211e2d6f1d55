// The ten fields that a bot needs to file, group or route a crash.
#include "lib/report/json_internal.h"

enum { MAX_NAMES = 10 };

/** One thing to print: an inlined call or a function. */
struct spot {
	struct fw_str function, file;
	uint32_t line;
};

static struct spot spot_of(const struct fw_report_frame *f, uint32_t k)
{
	if (k < f->num_inlines)
		return (struct spot){ f->inlines[k].function, f->inlines[k].file,
				      f->inlines[k].line };
	return (struct spot){ f->function, f->file, f->line };
}

struct summary {
	struct fw_report *r;
	const struct fw_report_thread *thread;	// NULL: none
	struct fw_report_frame f;		// the one asked for last
};

static void get_frame(struct summary *s, uint32_t index)
{
	fw_report_frame(s->r, s->thread, index, &s->f);
}

static void begin(struct summary *s, struct fw_report *r)
{
	s->r = r;
	s->thread = r->crashing >= 0 ? &r->threads[r->crashing] : NULL;
}

static uint32_t num_frames(const struct summary *s)
{
	return s->thread ? s->thread->num_frames : 0;
}

/** Name of a spot, or where it lies: module+0x12 or the address. */
static void write_name(struct fw_out *o, const struct spot *spot, const struct fw_report_frame *f)
{
	if (spot->function.n) {
		fw_out_str(o, spot->function);
	} else if (f->module) {
		fw_out_str(o, f->module_name);
		fw_out_lit(o, "+0x");
		fw_out_hex(o, f->module_pc_offset, 0);
	} else {
		fw_out_lit(o, "0x");
		fw_out_hex(o, f->pc, 0);
	}
}

/** "file:line" of the first frame that has a source file; false: none has. */
static bool write_source(struct summary *s, struct fw_out *o)
{
	for (uint32_t i = 0; i < num_frames(s); i++) {
		get_frame(s, i);
		for (uint32_t k = 0; k <= s->f.num_inlines; k++) {
			struct spot spot = spot_of(&s->f, k);
			if (!spot.file.n)
				continue;
			fw_out_str(o, spot.file);
			if (spot.line) {
				fw_out_byte(o, ':');
				fw_out_dec(o, spot.line);
			}
			return true;
		}
	}
	return false;
}

static void write_frames(struct summary *s, struct fw_out *name,
			 void (*each)(void *context, struct fw_str name), void *context)
{
	unsigned written = 0;
	for (uint32_t i = 0; i < num_frames(s) && written < MAX_NAMES; i++) {
		get_frame(s, i);
		for (uint32_t k = 0; k <= s->f.num_inlines && written < MAX_NAMES; k++) {
			struct spot spot = spot_of(&s->f, k);
			name->count = 0;
			write_name(name, &spot, &s->f);
			each(context, (struct fw_str){ name->data, name->count });
			written++;
		}
	}
}

struct fields {		// what both forms print, {NULL, 0}: unknown
	struct fw_str reason, thread_name, module, function, stop_reason;
	bool have_id;
	uint32_t id;
};

static struct fields get_fields(struct summary *s)
{
	struct fields f = { 0 };
	if (s->r->crashed)
		f.reason = (struct fw_str){ s->r->reason, strlen(s->r->reason) };
	if (!s->thread)
		return f;
	f.have_id = true;
	f.id = s->thread->info->id;
	f.thread_name = s->thread->info->name;
	const char *stop = fw_stop_name(s->thread->stop);
	f.stop_reason = (struct fw_str){ stop, strlen(stop) };
	if (s->thread->num_frames) {
		get_frame(s, 0);
		f.module = s->f.module_name;
		f.function = spot_of(&s->f, 0).function;
	}
	return f;
}

static void text_line(struct fw_out *o, const char *key, struct fw_str value)
{
	fw_out_cstr(o, key);
	fw_out_byte(o, ':');
	if (value.n) {
		fw_out_byte(o, ' ');
		fw_out_safe(o, value.s, value.n);
	}
	fw_out_byte(o, '\n');
}

struct text_names { struct fw_out *o; bool any; };

static void text_name(void *context, struct fw_str name)
{
	struct text_names *t = context;
	if (t->any)
		fw_out_lit(t->o, " <- ");
	else
		fw_out_byte(t->o, ' ');
	t->any = true;
	fw_out_safe(t->o, name.s, name.n);
}

void fw_report_write_summary_text(struct fw_report *r, struct fw_out *out)
{
	struct summary s;
	begin(&s, r);
	struct fields f = get_fields(&s);
	struct fw_out scratch;
	fw_out_init_memory(&scratch, FW_MAX_SYM_LINE * 2);
	text_line(out, "status", FW_STR("OK"));
	text_line(out, "reason", f.reason);
	fw_out_lit(out, "address:");
	if (r->crashed) {
		fw_out_lit(out, " 0x");
		fw_out_hex(out, r->crash_address, r->pointer_digits);
	}
	fw_out_lit(out, "\nthread_id:");
	if (f.have_id) {
		fw_out_byte(out, ' ');
		fw_out_dec(out, f.id);
	}
	fw_out_byte(out, '\n');
	text_line(out, "thread_name", f.thread_name);
	text_line(out, "module", f.module);
	text_line(out, "function", f.function);
	write_source(&s, &scratch);
	text_line(out, "source", (struct fw_str){ scratch.data, scratch.count });
	fw_out_lit(out, "frames:");
	write_frames(&s, &scratch, text_name, &(struct text_names){ out, false });
	fw_out_byte(out, '\n');
	text_line(out, "stop_reason", f.stop_reason);
	fw_out_deinit(&scratch);
}

static void json_name(void *context, struct fw_str name)
{
	fw_json_string(context, name.s, name.n);
}

void fw_report_write_summary_json(struct fw_report *r, bool pretty, struct fw_out *out)
{
	struct summary s;
	begin(&s, r);
	struct fields f = get_fields(&s);
	struct fw_out scratch;
	fw_out_init_memory(&scratch, FW_MAX_SYM_LINE * 2);
	struct fw_json json, *j = &json;
	fw_json_init(j, out, pretty);
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "status");
	fw_json_cstr(j, "OK");
	FW_KEY(j, "reason");
	fw_json_str(j, f.reason);
	FW_KEY(j, "address");
	if (r->crashed)
		fw_json_hex(j, r->crash_address, r->pointer_digits);
	else
		fw_json_null(j);
	FW_KEY(j, "thread_id");
	fw_json_number_or_null(j, f.have_id, f.id);
	FW_KEY(j, "thread_name");
	fw_json_str(j, f.thread_name);
	FW_KEY(j, "module");
	fw_json_str(j, f.module);
	FW_KEY(j, "function");
	fw_json_str(j, f.function);
	FW_KEY(j, "source");
	if (write_source(&s, &scratch))
		fw_json_string(j, scratch.data, scratch.count);
	else
		fw_json_null(j);
	FW_KEY(j, "frames");
	fw_json_begin_array(j);
	write_frames(&s, &scratch, json_name, j);
	fw_json_end_array(j);
	FW_KEY(j, "stop_reason");
	fw_json_str(j, f.stop_reason);
	fw_json_end_object(j);
	fw_json_finish(j);
	fw_out_deinit(&scratch);
}
