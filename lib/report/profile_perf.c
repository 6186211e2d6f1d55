// The text of `perf script` with its default fields, for stackcollapse-perf.pl and what
// else reads it. Form and field widths: tools/perf/builtin-script.c
// (perf_sample__fprintf_start, process_event) and util/evsel_fprintf.c of Linux 6.1.
#include <errno.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/report/profile_text.h"

struct place {				// of a frame, in the view it was last asked for
	uint64_t view;			// number + 1
	uint64_t address;		// offset in the file; without a file the address itself
	bool anon;			// memory without a file: a JIT's
	uint64_t shown;			// address in `text`
	size_t text, size;		// lines as they were last written, in texts; size 0: none yet
};

struct perf_text {
	const struct fw_profile *p;
	struct fw_out *out;
	struct place *places;		// by frame
	size_t event_width;
	struct fw_out scratch, texts;
};

static void pad(struct fw_out *o, size_t n, size_t width)
{
	for (; n < width; n++)
		fw_out_byte(o, ' ');
}

static void dec(struct fw_out *o, uint64_t v, size_t width)
{
	size_t n = 1;
	for (uint64_t x = v; x >= 10; x /= 10)
		n++;
	pad(o, n, width);
	fw_out_dec(o, v);
}

static void hex(struct fw_out *o, uint64_t v, size_t width)
{
	pad(o, (67 - (size_t)__builtin_clzll(v | 1)) / 4, width);
	fw_out_hex(o, v, 0);
}

/** "%lu.%06lu" right-aligned in 12 columns. */
static void write_time(struct fw_out *o, uint64_t ns)
{
	uint64_t us = ns / 1000 % 1000000;
	dec(o, ns / 1000000000, 5);
	fw_out_byte(o, '.');
	for (uint64_t digit = 100000; digit; digit /= 10)
		fw_out_byte(o, (char)('0' + us / digit % 10));
	fw_out_lit(o, ": ");
}

static void write_comm(struct perf_text *w, const struct fw_profile_thread *t, bool stack)
{
	struct fw_out *o = w->out;
	if (!t->name.n) {		// ":123", as perf calls a thread it never heard of
		w->scratch.count = 0;
		fw_out_byte(&w->scratch, ':');
		fw_out_dec(&w->scratch, t->tid);
		pad(o, w->scratch.count, stack ? 0 : 16);
		fw_out_write(o, w->scratch.data, w->scratch.count);
	} else {
		pad(o, t->name.n, stack ? 0 : 16);
		fw_out_safe(o, t->name.s, t->name.n);
	}
	fw_out_byte(o, ' ');
}

static void write_head(struct perf_text *w, const struct fw_profile_sample *s, bool stack)
{
	static const struct fw_event_info nothing = { 0 };
	const struct fw_recording *r = w->p->recording;
	const struct fw_event_info *e = s->event < r->num_events ? &r->events[s->event] : &nothing;
	const struct fw_profile_thread *t = &w->p->threads[s->thread];
	struct fw_out *o = w->out;
	struct fw_str name = fw_profile_event_name(w->p, s->event);
	write_comm(w, t, stack);
	dec(o, t->tid, 5);
	fw_out_byte(o, ' ');
	if (s->cpu != UINT32_MAX) {
		fw_out_byte(o, '[');
		fw_out_printf(o, "%03u", s->cpu);
		fw_out_lit(o, "] ");
	}
	if (e->have_time)
		write_time(o, s->time);
	dec(o, s->period, 10);
	fw_out_byte(o, ' ');
	pad(o, name.n, w->event_width);
	fw_out_safe(o, name.s, name.n);
	fw_out_lit(o, ": ");
}

/**
 * The address that perf prints: of callers that were unwound one less than the return
 * address, of recorded chains the address as it stands.
 */
static unsigned step_back(const struct fw_profile_frame *f)
{
	return f->trust != FW_TRUST_PREWALKED && f->lookup != f->pc;
}

static struct place *get_place(struct perf_text *w, const struct fw_profile_sample *s,
			       const struct fw_space_view *view, uint32_t frame)
{
	struct place *at = &w->places[frame];
	const struct fw_profile_frame *f = &w->p->frames[frame];
	uint64_t number = view ? view->number + UINT64_C(1) : 0;
	if (view && at->view == number)
		return at;
	at->view = number;
	at->anon = false;
	at->address = fw_profile_address(w->p, s->space, f) - step_back(f);
	if (f->kernel || !view)
		return at;
	const struct fw_mapping *m = fw_space_find(view, at->address);
	if (!m)
		return at;
	const struct fw_dso *dso = fw_spaces_dso_at(w->p->recording->spaces, m->dso);
	at->anon = dso && dso->kind == FW_DSO_ANON;
	if (!at->anon)
		at->address += m->file_offset - m->start;
	return at;
}

static void write_dso(struct perf_text *w, const struct fw_profile_sample *s,
		      const struct fw_profile_frame *f, const struct place *at)
{
	const struct fw_profile_module *m = fw_profile_module(w->p, f);
	struct fw_out *o = w->out;
	fw_out_lit(o, " (");
	if (m && m->path.n) {
		fw_out_safe(o, m->path.s, m->path.n);
	} else if (f->jit || at->anon) {
		fw_out_lit(o, "/tmp/perf-");
		fw_out_dec(o, w->p->threads[s->thread].pid);
		fw_out_lit(o, ".map");
	} else {
		fw_out_lit(o, "[unknown]");
	}
	fw_out_byte(o, ')');
}

/** The lines of a frame; @p stack: with a tab, inlined calls first. */
static void render_frame(struct perf_text *w, const struct fw_profile_sample *s,
			 const struct fw_profile_frame *f, const struct place *at,
			 uint64_t address, bool stack)
{
	struct fw_out *o = w->out;
	uint64_t offset = 0;
	if (f->num_lines) {
		offset = w->p->lines[f->first_line + f->num_lines - 1].function_offset;
		offset = offset > step_back(f) ? offset - step_back(f) : 0;
	}
	for (uint32_t i = stack || !f->num_lines ? 0 : f->num_lines - 1; i < f->num_lines; i++) {
		struct fw_str name = w->p->lines[f->first_line + i].function;
		if (stack)
			fw_out_byte(o, '\t');
		hex(o, address, 16);
		fw_out_byte(o, ' ');
		if (name.n) {
			fw_out_safe(o, name.s, name.n);
			fw_out_lit(o, "+0x");
			fw_out_hex(o, offset, 0);
		} else {
			fw_out_lit(o, "[unknown]");
		}
		if (fw_profile_is_inlined(f, i))
			fw_out_lit(o, " (inlined)");
		else
			write_dso(w, s, f, at);
		fw_out_byte(o, '\n');
	}
}

/** Put another address into lines of "\t%16llx ...\n". */
static void patch_address(char *text, size_t size, uint64_t address)
{
	char digits[16];
	for (int i = 15; i >= 0; i--, address >>= 4)
		digits[i] = i < 15 && !address ? ' ' : "0123456789abcdef"[address & 15];
	for (char *line = text, *end = text + size; line < end;
	     line = (char *)memchr(line, '\n', (size_t)(end - line)) + 1)
		memcpy(line + 1, digits, sizeof(digits));
}

/**
 * Frames come thousands of times, so their lines are kept and only their address is
 * changed, where a frame's module lies elsewhere. What belongs to no module is named
 * after the process and made each time.
 */
static void write_frame(struct perf_text *w, const struct fw_profile_sample *s,
			const struct fw_space_view *view, uint32_t frame, bool stack)
{
	const struct fw_profile_frame *f = &w->p->frames[frame];
	const struct fw_profile_module *m = fw_profile_module(w->p, f);
	if (!stack) {
		static const struct place nowhere = { 0 };
		render_frame(w, s, f, &nowhere, fw_profile_address(w->p, s->space, f), false);
		return;
	}
	struct place *at = get_place(w, s, view, frame);
	if (!m || !m->path.n) {
		render_frame(w, s, f, at, at->address, true);
		return;
	}
	if (!at->size) {
		struct fw_out *out = w->out;
		w->out = &w->texts;
		at->text = w->texts.count;
		render_frame(w, s, f, at, at->address, true);
		w->out = out;
		at->size = w->texts.count - at->text;
		at->shown = at->address;
		if (w->texts.failed)
			fw_out_fail(out, ENOMEM);
	}
	if (w->out->failed)
		return;
	if (at->shown != at->address)
		patch_address(w->texts.data + at->text, at->size, at->shown = at->address);
	fw_out_write(w->out, w->texts.data + at->text, at->size);
}

static void write_sample(struct perf_text *w, const struct fw_profile_sample *s)
{
	const struct fw_recording *r = w->p->recording;
	const struct fw_profile_thread *t = &w->p->threads[s->thread];
	bool stack = s->event < r->num_events &&
		     (r->events[s->event].have_stack || r->events[s->event].have_chain);
	const struct fw_space_view *view = r->spaces ?
		fw_spaces_at(r->spaces, t->pid, s->time) : NULL;
	uint32_t written = 0;
	write_head(w, s, stack);
	fw_out_byte(w->out, stack ? '\n' : ' ');
	for (uint32_t at = s->node; at && (stack || !written); at = w->p->nodes[at].parent) {
		uint32_t frame = w->p->nodes[at].frame;
		if (w->p->frames[frame].truncated)
			continue;	// perf does not say where stacks were cut off
		write_frame(w, s, view, frame, stack);
		written++;
	}
	if (stack || !written)
		fw_out_byte(w->out, '\n');
}

void fw_profile_write_perf(const struct fw_profile *p, struct fw_out *out)
{
	struct perf_text w = { .p = p, .out = out };
	fw_out_init_memory(&w.scratch, SIZE_MAX);
	fw_out_init_memory(&w.texts, SIZE_MAX);
	for (uint32_t i = 0; i < p->recording->num_events; i++)
		if (p->recording->events[i].name.n > w.event_width)
			w.event_width = p->recording->events[i].name.n;
	if (!fw_alloc_should_fail())
		w.places = calloc(p->num_frames + (size_t)1, sizeof(*w.places));
	if (!w.places)
		fw_out_fail(out, ENOMEM);
	for (uint64_t i = 0; i < p->num_samples && !out->failed; i++)
		write_sample(&w, &p->samples[i]);
	free(w.places);
	fw_out_deinit(&w.scratch);
	fw_out_deinit(&w.texts);
}
