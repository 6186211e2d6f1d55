#include <stdlib.h>
#include <string.h>

#include "symfiles/sym_writer.h"

// FUNC with what belongs to it.

enum { MERGE_REACH = 64 };	// ranges looked at for more of the same inlined call

static bool same_call(const struct fw_inline *a, const struct fw_inline *b)
{
	return a->depth == b->depth && a->origin == b->origin && a->call_line == b->call_line &&
	       a->call_file == b->call_file;
}

/** " start size" of what of a range lies in [from, to); false: nothing. */
static bool put_range(struct fw_out *out, const struct fw_inline *call, uint32_t from, uint32_t to)
{
	uint32_t start = call->start < from ? from : call->start;
	uint32_t end = call->start + call->size > to ? to : call->start + call->size;
	if (start >= end)
		return false;
	fw_out_byte(out, ' ');
	fw_out_hex(out, start, 1);
	fw_out_byte(out, ' ');
	fw_out_hex(out, end - start, 1);
	return true;
}

static bool overlaps(const struct fw_inline *call, uint32_t from, uint32_t to)
{
	return call->size && call->start < to && call->start + call->size > from;
}

static void put_inlines(struct fw_out *out, const struct fw_inline *calls, uint32_t n,
			uint32_t from, uint32_t to, uint8_t *done)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct fw_inline *call = &calls[i];
		uint32_t stop = n - i > MERGE_REACH ? i + MERGE_REACH : n;
		if (done[i] || !overlaps(call, from, to))
			continue;
		fw_out_lit(out, "INLINE ");
		fw_out_dec(out, call->depth);
		fw_out_byte(out, ' ');
		fw_out_dec(out, call->call_line);
		if (call->call_file != FW_NO_INDEX) {	// else the form without it
			fw_out_byte(out, ' ');
			fw_out_dec(out, call->call_file);
		}
		fw_out_byte(out, ' ');
		fw_out_dec(out, call->origin);
		for (uint32_t k = i; k < stop && calls[k].depth == call->depth; k++)
			if (!done[k] && same_call(call, &calls[k]) &&
			    put_range(out, &calls[k], from, to))
				done[k] = 1;
		fw_out_byte(out, '\n');
	}
}

static void put_lines(struct fw_out *out, const struct fw_line *lines, uint32_t n, uint32_t from,
		      uint32_t to)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t start = lines[i].addr, end = i + 1 < n ? lines[i + 1].addr : to;
		if (start < from)
			start = from;
		if (end > to)
			end = to;
		if (lines[i].file == FW_NO_INDEX || start >= end)
			continue;
		fw_out_hex(out, start, 1);
		fw_out_byte(out, ' ');
		fw_out_hex(out, end - start, 1);
		fw_out_byte(out, ' ');
		fw_out_dec(out, lines[i].line);
		fw_out_byte(out, ' ');
		fw_out_dec(out, lines[i].file);
		fw_out_byte(out, '\n');
	}
}

/** Bytes to mark inlined calls with, at least n, zeroed. */
struct marks {
	FW_VEC(uint8_t) done;
};

static bool clear_marks(struct marks *m, uint32_t n)
{
	if (!fw_vec_reserve(&m->done, n))
		return false;
	memset(m->done.data, 0, n);
	return true;
}

/** Nothing is written of [from, to) that the function's own records do not cover. */
static bool put_func(struct fw_sym_writer *w, const struct fw_func *f, uint32_t to, struct marks *m)
{
	const struct fw_image *image = w->image;
	const struct fw_line *lines = image->section[FW_SEC_LINES];
	const struct fw_inline *calls = image->section[FW_SEC_INLINES];
	uint32_t num_lines = fw_image_count(image, FW_SEC_LINES, sizeof(*lines));
	uint32_t num_calls = fw_image_count(image, FW_SEC_INLINES, sizeof(*calls));
	struct fw_out *out = w->out;

	fw_out_lit(out, "FUNC ");
	fw_out_hex(out, f->start, 1);
	fw_out_byte(out, ' ');
	fw_out_hex(out, to - f->start, 1);
	fw_out_byte(out, ' ');
	fw_out_hex(out, f->params_size, 1);
	fw_out_byte(out, ' ');
	fw_sym_put_name(out, fw_image_string(image, f->name), "<name omitted>");
	if (f->num_inlines && f->first_inline < num_calls &&
	    f->num_inlines <= num_calls - f->first_inline) {
		if (!clear_marks(m, f->num_inlines))
			return false;
		put_inlines(out, calls + f->first_inline, f->num_inlines, f->start, to,
			    m->done.data);
	}
	if (f->num_lines && f->first_line < num_lines && f->num_lines <= num_lines - f->first_line)
		put_lines(out, lines + f->first_line, f->num_lines, f->start, to);
	return true;
}

static bool same_func(const struct fw_func *a, const struct fw_func *b)
{
	return a->entry == b->entry && a->name == b->name && a->first_line == b->first_line &&
	       a->num_lines == b->num_lines && a->first_inline == b->first_inline;
}

/** Where each FUNC ends; 0: that range is part of another FUNC. */
struct plan {
	FW_VEC(uint32_t) ends;
	FW_VEC(uint32_t) parts;		// ranges that do not begin where their function does, by entry
};

static int by_entry(const void *pa, const void *pb, void *context)
{
	const struct fw_func *funcs = context;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	if (funcs[a].entry != funcs[b].entry)
		return funcs[a].entry < funcs[b].entry ? -1 : 1;
	return a < b ? -1 : a > b;
}

/** First of plan->parts whose function starts at @p entry or later. */
static size_t first_part(const struct fw_sym_writer *w, const struct plan *plan, uint32_t entry)
{
	size_t low = 0, high = plan->parts.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->funcs[plan->parts.data[middle]].entry < entry)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * A function that others nested in it had split is written whole: whoever reads
 * it splits it again. Where there are gaps in between, it was no nesting.
 */
static void join_parts(const struct fw_sym_writer *w, struct plan *plan, uint32_t i)
{
	const struct fw_func *funcs = w->funcs, *f = &funcs[i];
	uint32_t at = i, reached = f->start + f->size;
	for (size_t k = first_part(w, plan, f->entry); k < plan->parts.count; k++) {
		uint32_t part = plan->parts.data[k];
		if (!same_func(f, &funcs[part]))
			return;
		if (part < at)
			continue;
		while (at < part && funcs[at + 1].start == reached)
			reached += funcs[++at].size;
		if (at != part)
			return;
		plan->ends.data[i] = reached;
		plan->ends.data[part] = 0;
	}
}

static bool make_plan(const struct fw_sym_writer *w, struct plan *plan)
{
	if (!fw_vec_reserve(&plan->ends, w->num_funcs))
		return false;
	for (uint32_t i = 0; i < w->num_funcs; i++) {
		const struct fw_func *f = &w->funcs[i];
		plan->ends.data[i] = f->start + f->size;
		if (f->start != f->entry && !fw_vec_push(&plan->parts, i))
			return false;
	}
	if (plan->parts.count == 0)
		return true;
	qsort_r(plan->parts.data, plan->parts.count, sizeof(*plan->parts.data), by_entry,
		(void *)w->funcs);
	for (uint32_t i = 0; i < w->num_funcs; i++)
		if (w->funcs[i].start == w->funcs[i].entry)
			join_parts(w, plan, i);
	return true;
}

/** Parts elsewhere (`.cold`) become a FUNC each; where they belong stands in an INFO. */
static void put_entries(const struct fw_sym_writer *w, const struct plan *plan)
{
	for (uint32_t i = 0; i < w->num_funcs; i++) {
		const struct fw_func *f = &w->funcs[i];
		if (f->start == f->entry || plan->ends.data[i] == 0)
			continue;
		fw_out_lit(w->out, "INFO FUNC_ENTRY ");
		fw_out_hex(w->out, f->start, 1);
		fw_out_byte(w->out, ' ');
		fw_out_hex(w->out, f->entry, 1);
		fw_out_byte(w->out, '\n');
	}
}

enum fw_code fw_sym_write_funcs(struct fw_sym_writer *w)
{
	struct plan plan = { 0 };
	struct marks marks = { 0 };
	bool ok = make_plan(w, &plan);
	if (ok)
		put_entries(w, &plan);
	for (uint32_t i = 0; i < w->num_funcs && ok; i++)
		if (plan.ends.data[i])
			ok = put_func(w, &w->funcs[i], plan.ends.data[i], &marks);
	fw_vec_deinit(&plan.ends);
	fw_vec_deinit(&plan.parts);
	fw_vec_deinit(&marks.done);
	return ok ? FW_OK : FW_NO_MEMORY;
}
