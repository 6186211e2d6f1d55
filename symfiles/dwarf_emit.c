#include <stdlib.h>

#include "symfiles/dwarf_internal.h"

// The functions of a unit, with their lines and inlined calls, become the image's.

enum fw_code fw_dw_number(struct fw_dw_loader *l, bool origin, uint32_t string, uint32_t *ret)
{
	struct fw_builder *b = l->b;
	while ((origin ? l->origin_of.count : l->file_of.count) <= string)
		if (!(origin ? fw_vec_push(&l->origin_of, FW_NO_INDEX) :
			       fw_vec_push(&l->file_of, FW_NO_INDEX)))
			return FW_NO_MEMORY;
	uint32_t *number = origin ? &l->origin_of.data[string] : &l->file_of.data[string];
	if (*number == FW_NO_INDEX) {
		size_t next = origin ? b->origins.count : b->files.count;
		struct fw_numbered entry = { (uint32_t)next, string };
		if (next >= FW_NO_INDEX - 1)
			return FW_LIMIT;
		if (!(origin ? fw_vec_push(&b->origins, entry) : fw_vec_push(&b->files, entry)))
			return FW_NO_MEMORY;
		*number = entry.number;
	}
	*ret = *number;
	return FW_OK;
}

/** Index of the row in force at an address, else of the first one. */
static size_t row_at(const struct fw_dw_lines *lines, uint32_t address)
{
	size_t low = 0, n = lines->rows.count;
	while (n) {
		size_t half = n / 2;
		if (lines->rows.data[low + half].addr <= address) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low ? low - 1 : 0;
}

static enum fw_code emit_lines(struct fw_dw_loader *l, struct fw_func *f)
{
	struct fw_builder *b = l->b;
	struct fw_dw_lines *lines = &l->lines;
	uint32_t end = f->start + f->size;
	size_t i = row_at(lines, f->start), count = lines->rows.count;
	uint32_t file = FW_NO_INDEX, line = 0, number = FW_NO_INDEX, row_file = FW_NO_INDEX;
	f->first_line = (uint32_t)b->lines.count;
	for (; i < count && lines->rows.data[i].addr < end; i++) {
		const struct fw_dw_row *r = &lines->rows.data[i];
		if (lines->rows_left == 0) {
			fw_dw_bad(l, FW_DIAG_LIMIT);
			b->lines.count = f->first_line;
			break;
		}
		lines->rows_left--;
		if (r->file == FW_NO_INDEX) {
			row_file = number = FW_NO_INDEX;
		} else if (r->file != row_file) {
			enum fw_code code = l->files->details ?
				fw_dw_row_number(l, r->file, &number) :
				fw_dw_file_number(l, r->file, &number);
			if (code)
				return code;
			row_file = r->file;
		}
		uint32_t row_line = number == FW_NO_INDEX ? 0 : r->line;
		if (number == file && row_line == line)
			continue;
		struct fw_line e = { r->addr < f->start ? f->start : r->addr, row_line, number };
		// one sequence ends where the next begins: that has the address
		if (b->lines.count > f->first_line &&
		    b->lines.data[b->lines.count - 1].addr == e.addr)
			b->lines.count--;
		if (!fw_vec_push(&b->lines, e))
			return FW_NO_MEMORY;
		file = number;
		line = row_line;
	}
	f->num_lines = (uint32_t)(b->lines.count - f->first_line);
	return b->lines.count > UINT32_MAX ? FW_LIMIT : FW_OK;
}

/** What is the same for all ranges of a call. */
static enum fw_code prepare_call(struct fw_dw_loader *l, const struct fw_dw_call *call,
				 struct fw_inline *ret)
{
	uint32_t name = FW_NO_STRING;
	enum fw_code code = FW_OK;
	*ret = (struct fw_inline){ .depth = call->depth, .origin = FW_NO_INDEX,
				   .call_line = call->call_line, .call_file = FW_NO_INDEX };
	if (call->origin_unit)
		code = fw_dw_name(l, call->origin_unit, call->origin, &name);
	if (code == FW_OK && name == FW_NO_STRING)
		code = fw_dw_name(l, l->unit, call->die, &name);
	if (code == FW_OK && l->files->details)
		return fw_dw_detail_call(l, call, name, ret);
	if (code == FW_OK && name != FW_NO_STRING)
		code = fw_dw_number(l, true, name, &ret->origin);
	if (code == FW_OK && call->call_file != UINT64_MAX)
		code = fw_dw_file_number(l, call->call_file, &ret->call_file);
	return code;
}

static enum fw_code push_inline(struct fw_dw_loader *l, const struct fw_inline *call,
				const struct fw_dw_range *range, const struct fw_dw_range *inside)
{
	struct fw_laid_inline in = { .call = *call };
	uint32_t start = range->start, end = range->end;
	if (start < inside->start)
		start = inside->start;
	if (end > inside->end)
		end = inside->end;
	if (start >= end)
		return FW_OK;
	in.call.start = start;
	in.call.size = end - start;
	if (call->depth > l->lay.max_depth)
		l->lay.max_depth = call->depth;
	return fw_vec_push(&l->lay.inlines, in) ? FW_OK : FW_NO_MEMORY;
}

static enum fw_code emit_range(struct fw_dw_loader *l, const struct fw_dw_range *range,
			       uint32_t name)
{
	struct fw_func f = { .start = range->start, .size = range->end - range->start,
			     .entry = range->start, .name = name };
	enum fw_code code = emit_lines(l, &f);
	if (code == FW_OK)
		code = fw_inline_lay_into(&l->lay, l->b, &f);
	if (code)
		return code;
	return fw_vec_push(&l->b->funcs, f) ? FW_OK : FW_NO_MEMORY;
}

static enum fw_code emit_simple(struct fw_dw_loader *l, const struct fw_dw_func *f,
				uint32_t name)
{
	struct fw_dw_range range = l->ranges.list.data[f->first_range];
	for (uint32_t i = 0; i < f->num_calls; i++) {
		const struct fw_dw_call *call = &l->calls.data[f->first_call + i];
		struct fw_inline out;
		enum fw_code code = prepare_call(l, call, &out);
		for (uint32_t k = 0; k < call->num_ranges && code == FW_OK; k++)
			code = push_inline(l, &out, &l->ranges.list.data[call->first_range + k],
					   &range);
		if (code)
			return code;
	}
	return emit_range(l, &range, name);
}

static int by_range(const void *pa, const void *pb)
{
	const struct fw_dw_range *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int by_owner(const void *pa, const void *pb)
{
	const struct fw_dw_owned *a = pa, *b = pb;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->range < b->range ? -1 : a->range > b->range;
}

/** Which of n ascending ranges holds an address; the last one before it if none does. */
static uint32_t owner_of(const struct fw_dw_range *ranges, uint32_t n, uint32_t address)
{
	uint32_t low = 0, count = n;
	while (count) {
		uint32_t half = count / 2;
		if (ranges[low + half].start <= address) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low ? low - 1 : 0;
}

/** A function of several ranges: each with the calls that are in it. */
static enum fw_code emit_scattered(struct fw_dw_loader *l, const struct fw_dw_func *f,
				   uint32_t name)
{
	struct fw_dw_range *ranges = l->ranges.list.data + f->first_range;
	enum fw_code code = FW_OK;
	size_t at = 0;
	qsort(ranges, f->num_ranges, sizeof(*ranges), by_range);
	l->owned.count = 0;
	for (uint32_t i = 0; i < f->num_calls; i++) {
		const struct fw_dw_call *call = &l->calls.data[f->first_call + i];
		for (uint32_t k = 0; k < call->num_ranges; k++) {
			uint32_t r = call->first_range + k;
			struct fw_dw_owned o = { owner_of(ranges, f->num_ranges,
							  l->ranges.list.data[r].start),
						 f->first_call + i, r };
			if (!fw_vec_push(&l->owned, o))
				return FW_NO_MEMORY;
		}
	}
	if (l->owned.count)
		qsort(l->owned.data, l->owned.count, sizeof(*l->owned.data), by_owner);
	for (uint32_t i = 0; i < f->num_ranges && code == FW_OK; i++) {
		for (; at < l->owned.count && l->owned.data[at].owner == i && !code; at++) {
			const struct fw_dw_owned *o = &l->owned.data[at];
			struct fw_inline out;
			code = prepare_call(l, &l->calls.data[o->call], &out);
			if (code == FW_OK)
				code = push_inline(l, &out, &l->ranges.list.data[o->range],
						   &ranges[i]);
		}
		if (code == FW_OK)
			code = emit_range(l, &ranges[i], name);
	}
	return code;
}

static int by_func(const void *pa, const void *pb)
{
	const struct fw_dw_call *a = pa, *b = pb;
	if (a->func != b->func)
		return a->func < b->func ? -1 : 1;
	return a->die < b->die ? -1 : a->die > b->die;
}

/** Give each function its calls. */
static void group_calls(struct fw_dw_loader *l)
{
	uint32_t at = 0;
	if (l->calls_scattered && l->calls.count)
		qsort(l->calls.data, l->calls.count, sizeof(*l->calls.data), by_func);
	for (size_t i = 0; i < l->funcs.count; i++) {
		struct fw_dw_func *f = &l->funcs.data[i];
		f->first_call = at;
		while (at < l->calls.count && l->calls.data[at].func == i)
			at++;
		f->num_calls = at - f->first_call;
	}
}

enum fw_code fw_dw_emit(struct fw_dw_loader *l, struct fw_dw_unit *u)
{
	enum fw_code code = FW_OK;
	group_calls(l);
	for (size_t i = 0; i < l->funcs.count && code == FW_OK; i++) {
		const struct fw_dw_func *f = &l->funcs.data[i];
		uint32_t name;
		code = fw_dw_name(l, u, f->die, &name);
		if (code == FW_OK && l->plain_name)
			code = fw_dw_symbol_name(l, l->ranges.list.data[f->first_range].start,
						 &name);
		if (code == FW_OK && name == FW_NO_STRING) {
			if (l->no_name == FW_NO_STRING)
				code = fw_intern_add(&l->b->strings, "<name omitted>", 14,
						     &l->no_name);
			name = l->no_name;
		}
		if (code == FW_OK && l->files->details)
			code = fw_dw_detail_func(l, u, f);
		if (code)
			break;
		code = f->num_ranges == 1 ? emit_simple(l, f, name) : emit_scattered(l, f, name);
	}
	return code;
}
