// Samples as JSON: one object a distinct stack (json) or a sample (ndjson), and the parts
// that the summary shares. Keys are in the order of `required` in
// cmd/framewalk-samples.schema.json.
#include "lib/report/profile_json.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/report/profile_summary.h"
#include "lib/report/profile_text.h"

static void string(struct fw_json *j, const char *key, struct fw_str s)
{
	fw_json_key_(j, key, strlen(key));
	fw_json_str(j, s.n ? s : (struct fw_str){ NULL, 0 });
}

static void number_or_null(struct fw_json *j, const char *key, bool have, uint64_t v)
{
	fw_json_key_(j, key, strlen(key));
	if (have)
		fw_json_u64(j, v);
	else
		fw_json_null(j);
}

static void hex_or_null(struct fw_json *j, const char *key, bool have, uint64_t v)
{
	fw_json_key_(j, key, strlen(key));
	if (have)
		fw_json_hex(j, v, 0);
	else
		fw_json_null(j);
}

static void write_event(struct fw_json *j, const struct fw_event_info *e)
{
	fw_json_begin_object(j);
	string(j, "name", e->name);
	number_or_null(j, "frequency", e->frequency, e->frequency);
	number_or_null(j, "stack_bytes", e->have_stack, e->stack_asked);
	fw_json_put_bool(j, "callchain", e->have_chain);
	fw_json_put_bool(j, "kernel", e->kernel);
	fw_json_put_bool(j, "user", e->user);
	fw_json_end_object(j);
}

void fw_profile_json_head(struct fw_json *j, const struct fw_profile *p, const char *kind)
{
	const struct fw_recording *r = p->recording;
	fw_json_put_u64(j, "schema_version", FW_SAMPLES_SCHEMA_VERSION);
	fw_json_put_cstr(j, "status", "OK");
	fw_json_put_cstr(j, "kind", kind);
	fw_json_key(j, "recording");
	fw_json_begin_object(j);
	fw_json_put_cstr(j, "file", p->path);
	fw_json_put_cstr(j, "format", r->format);
	string(j, "hostname", r->hostname);
	string(j, "os_release", r->os_release);
	string(j, "arch", r->arch);
	string(j, "recorder_version", r->version);
	string(j, "command_line", r->command_line);
	number_or_null(j, "started", p->started, p->started);
	fw_json_put_bool(j, "compressed", r->compressed);
	fw_json_put_bool(j, "piped", r->piped);
	fw_json_put_bool(j, "unfinished", r->killed);
	fw_json_end_object(j);
	fw_json_key(j, "events");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < r->num_events; i++)
		write_event(j, &r->events[i]);
	fw_json_end_array(j);
}

void fw_profile_json_module(struct fw_json *j, const struct fw_profile_module *m)
{
	fw_json_begin_object(j);
	string(j, "path", m->path);
	string(j, "build_id", (struct fw_str){ m->build_id.text, m->build_id.n });
	fw_json_put_bool(j, "build_id_recorded", m->id_recorded && m->build_id.n);
	fw_json_put_cstr(j, "symbols", fw_profile_symbols_name(m));
	fw_json_put_cstr(j, "symbol_file", m->used_path);
	fw_json_put_cstr(j, "message", *m->symbols->message ? m->symbols->message : NULL);
	fw_json_put_bool(j, "unverified", fw_profile_is_unverified(m));
	fw_json_put_u64(j, "samples", m->samples);
	fw_json_put_u64(j, "frames", m->frames);
	fw_json_end_object(j);
}

static void write_inlines(struct fw_json *j, const struct fw_profile *p,
			  const struct fw_profile_frame *f)
{
	fw_json_key(j, "inlines");
	if (f->num_lines < 2) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_array(j);
	for (uint32_t i = 0; i + 1 < f->num_lines; i++) {
		const struct fw_profile_line *line = &p->lines[f->first_line + i];
		fw_json_begin_object(j);
		string(j, "function", line->function);
		string(j, "file", line->file);
		number_or_null(j, "line", line->line, line->line);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static const char *kind_of(const struct fw_profile_frame *f)
{
	return f->truncated ? "truncated" : f->kernel ? "kernel" : f->jit ? "jit" : "user";
}

static void write_frame(struct fw_json *j, const struct fw_profile *p,
			const struct fw_profile_frame *f)
{
	static const struct fw_profile_line nothing = { 0 };
	const struct fw_profile_line *line = f->num_lines ?
		&p->lines[f->first_line + f->num_lines - 1] : &nothing;
	const struct fw_profile_module *m = fw_profile_module(p, f);
	fw_json_begin_object(j);
	fw_json_put_cstr(j, "kind", kind_of(f));
	string(j, "function", line->function);
	hex_or_null(j, "function_offset", line->function.n, line->function_offset);
	string(j, "file", line->file);
	number_or_null(j, "line", line->line, line->line);
	write_inlines(j, p, f);
	string(j, "module", m ? m->path : (struct fw_str){ NULL, 0 });
	hex_or_null(j, "module_offset", m, f->pc);
	hex_or_null(j, "address", !m && !f->truncated, f->pc);
	fw_json_put_cstr(j, "trust", f->truncated ? NULL : fw_trust_name(f->trust));
	fw_json_end_object(j);
}

static void write_thread(struct fw_json *j, const struct fw_profile_thread *t)
{
	string(j, "thread", t->name);
	number_or_null(j, "pid", t->pid || t->tid, t->pid);
	number_or_null(j, "tid", t->pid || t->tid, t->tid);
}

static void write_tables(struct fw_json *j, const struct fw_profile *p)
{
	fw_json_key(j, "modules");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < p->num_modules; i++)
		fw_profile_json_module(j, &p->modules[i]);
	fw_json_end_array(j);
	fw_json_key(j, "frames");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < p->num_frames && !j->out->failed; i++)
		write_frame(j, p, &p->frames[i]);
	fw_json_end_array(j);
}

void fw_profile_write_json(const struct fw_profile *p, bool pretty, struct fw_out *out)
{
	struct fw_json json, *j = &json;
	fw_json_init(j, out, pretty);
	fw_json_begin_object(j);
	fw_profile_json_head(j, p, "stacks");
	write_tables(j, p);
	fw_json_key(j, "stacks");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < p->num_stacks && !out->failed; i++) {
		const struct fw_profile_stack *s = &p->stacks[i];
		fw_json_begin_object(j);
		write_thread(j, &p->threads[s->thread]);
		string(j, "event", fw_profile_event_name(p, s->event));
		fw_json_put_u64(j, "samples", s->samples);
		fw_json_put_u64(j, "weight", s->weight);
		fw_json_key(j, "frames");
		fw_json_begin_array(j);
		for (uint32_t at = s->node; at; at = p->nodes[at].parent)
			fw_json_u64(j, p->nodes[at].frame);
		fw_json_end_array(j);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
	fw_json_end_object(j);
	fw_json_finish(j);
}

/** Text of every frame, written once: samples repeat them thousands of times. */
struct frame_texts {
	struct fw_out text;
	size_t *ends;		// by frame
};

static bool render_frames(const struct fw_profile *p, struct frame_texts *ret)
{
	fw_out_init_memory(&ret->text, SIZE_MAX);
	ret->ends = fw_alloc_should_fail() ? NULL :
		    calloc(p->num_frames + (size_t)1, sizeof(*ret->ends));
	for (uint32_t i = 0; ret->ends && i < p->num_frames; i++) {
		struct fw_json j;
		fw_json_init(&j, &ret->text, false);
		write_frame(&j, p, &p->frames[i]);
		ret->ends[i] = ret->text.count;
	}
	return ret->ends && !ret->text.failed;
}

static void write_sample(const struct fw_profile *p, const struct frame_texts *texts,
			 const struct fw_profile_sample *s, struct fw_out *out)
{
	struct fw_json json, *j = &json;
	const char *separator = "";
	fw_json_init(j, out, false);
	fw_json_begin_object(j);
	fw_json_put_u64(j, "index", s->index);
	fw_json_put_u64(j, "time", s->time);
	write_thread(j, &p->threads[s->thread]);
	number_or_null(j, "cpu", s->cpu != UINT32_MAX, s->cpu);
	string(j, "event", fw_profile_event_name(p, s->event));
	fw_json_put_u64(j, "period", s->period);
	fw_json_key(j, "frames");
	fw_json_begin_array(j);
	for (uint32_t at = s->node; at; at = p->nodes[at].parent) {
		uint32_t f = p->nodes[at].frame;
		size_t from = f ? texts->ends[f - 1] : 0;
		fw_out_cstr(out, separator);
		fw_out_write(out, texts->text.data + from, texts->ends[f] - from);
		separator = ",";
	}
	fw_json_end_array(j);
	fw_json_end_object(j);
	fw_json_finish(j);
}

void fw_profile_write_ndjson(const struct fw_profile *p, struct fw_out *out)
{
	struct frame_texts texts;
	if (!render_frames(p, &texts))
		fw_out_fail(out, ENOMEM);
	for (uint64_t i = 0; i < p->num_samples && !out->failed; i++)
		write_sample(p, &texts, &p->samples[i], out);
	free(texts.ends);
	fw_out_deinit(&texts.text);
}
