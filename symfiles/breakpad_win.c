#include <stdlib.h>

#include "symfiles/breakpad_loader.h"

// STACK WIN, the unwind records of 32-bit Windows (Breakpad's symbol file document).

enum { TYPE_FPO = 0, TYPE_FRAME_DATA = 4 };

/** A program that has no answer: what a program with a fault must not have either. */
#define NO_ANSWER FW_STR("$eip .undef =")

static bool win_program(struct fw_sym_loader *l, struct fw_str text, uint32_t *ret)
{
	enum fw_code code = fw_intern_add(&l->win_texts, text.s, text.n, ret);
	if (code == FW_OK && *ret == l->win_programs.count) {
		struct fw_sym_win_program p = { .failed = false };
		code = fw_program_compile_win(&l->b->programs, text, &p.program, &p.aligns, NULL);
		if (code && code != FW_NO_MEMORY) {
			p.failed = true;
			code = fw_program_compile_win(&l->b->programs, NO_ANSWER,
						      &p.program, &p.aligns, NULL);
		}
		if (code == FW_OK && !fw_vec_push(&l->win_programs, p))
			code = FW_NO_MEMORY;
	}
	if (code)
		l->failed = code;
	return code == FW_OK;
}

/** has_program and the last field, which it gives its meaning. */
static bool last_field(struct fw_sym_loader *l, struct fw_text *t, uint64_t has_program,
		       struct fw_stack_win *win)
{
	struct fw_str text;
	uint64_t allocates;
	uint32_t id;
	win->program = FW_NO_PROGRAM;
	if (!has_program) {
		if (!fw_sym_hex(t, &allocates))
			return false;
		win->allocates_base_pointer = allocates != 0;
		return true;
	}
	if (!fw_sym_rest(t, &text))
		return false;
	if (!win_program(l, text, &id))
		return true;
	win->program = l->win_programs.data[id].program;
	win->aligns = l->win_programs.data[id].aligns;
	if (l->win_programs.data[id].failed)
		fw_sym_bad(l, FW_DIAG_RULE);
	return true;
}

void fw_sym_stack_win(struct fw_sym_loader *l, struct fw_text t)
{
	// type rva size prolog epilog params saved-registers locals max-stack has-program
	uint64_t v[10];
	uint32_t end;
	bool ok = true;
	for (unsigned i = 0; i < 10 && ok; i++)
		ok = fw_sym_hex(&t, &v[i]) && (i == 1 || i == 2 || v[i] <= UINT32_MAX);
	if (!ok) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	if (v[0] != TYPE_FRAME_DATA && v[0] != TYPE_FPO) {
		if (v[0] > TYPE_FRAME_DATA)
			fw_sym_bad(l, FW_DIAG_UNKNOWN);
		return;
	}
	if (!fw_sym_range(v[1], v[2], &end)) {
		fw_sym_bad(l, FW_DIAG_RANGE);
		return;
	}
	struct fw_stack_win win = {
		.start = (uint32_t)v[1], .size = (uint32_t)v[2],
		.prolog_size = (uint32_t)v[3], .epilog_size = (uint32_t)v[4],
		.params_size = (uint32_t)v[5], .saved_regs_size = (uint32_t)v[6],
		.locals_size = (uint32_t)v[7], .max_stack_size = (uint32_t)v[8],
		.type = (uint8_t)v[0],
	};
	if (!last_field(l, &t, v[9], &win)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	// The flag says what the last field is; a type that disagrees is only counted.
	if ((v[9] != 0) != (win.type == TYPE_FRAME_DATA))
		fw_sym_bad(l, FW_DIAG_MALFORMED);
	if (!l->failed && !fw_vec_push(&l->b->win_records, win))
		l->failed = FW_NO_MEMORY;
}

static enum fw_code lay_type(struct fw_sym_loader *l, uint8_t type,
			     struct fw_stack_win_range **ret, size_t *ret_n, size_t *ret_capacity)
{
	FW_VEC(struct fw_span) spans = { 0 };
	FW_VEC(struct fw_stack_win_range) ranges = { 0 };
	struct fw_span *flat = NULL;
	uint32_t n = 0, overlaps = 0;
	enum fw_code code = FW_NO_MEMORY;
	for (size_t i = 0; i < l->b->win_records.count; i++) {
		const struct fw_stack_win *w = &l->b->win_records.data[i];
		if (w->type == type &&
		    !fw_vec_push(&spans, ((struct fw_span){ w->start, w->start + w->size,
							    (uint32_t)i, (uint32_t)i })))
			goto done;
	}
	code = fw_spans_flatten(spans.data, (uint32_t)spans.count, FW_SPAN_INNERMOST, &flat, &n,
				&overlaps);
	if (code == FW_OK && !fw_vec_reserve(&ranges, (size_t)n))
		code = FW_NO_MEMORY;
	for (uint32_t i = 0; i < n && code == FW_OK; i++)
		ranges.data[ranges.count++] = (struct fw_stack_win_range){
			flat[i].start, flat[i].end, flat[i].item };
	for (uint32_t i = 0; i < overlaps; i++)
		fw_diag_add(&l->b->diag, FW_DIAG_OVERLAP, 0);
	*ret = ranges.data;
	*ret_n = ranges.count;
	*ret_capacity = ranges.capacity;
done:
	fw_vec_deinit(&spans);
	free(flat);
	return code;
}

static int by_start(const void *pa, const void *pb)
{
	const struct fw_span *a = pa, *b = pb;
	return a->start < b->start ? -1 : a->start > b->start;
}

/** A PUBLIC in a function that records describe ends with the largest of those. */
static enum fw_code bound_publics(struct fw_sym_loader *l)
{
	struct fw_builder *b = l->b;
	size_t n = b->win_records.count;
	FW_VEC(struct fw_span) spans = { 0 };
	if (n == 0 || b->publics.count == 0)
		return FW_OK;
	if (!fw_vec_reserve(&spans, n))
		return FW_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		const struct fw_stack_win *w = &b->win_records.data[i];
		spans.data[spans.count++] = (struct fw_span){ w->start, w->start + w->size, 0, 0 };
	}
	qsort(spans.data, n, sizeof(*spans.data), by_start);
	for (size_t i = 1; i < n; i++)	// end: the highest of all that start no later
		if (spans.data[i].end < spans.data[i - 1].end)
			spans.data[i].end = spans.data[i - 1].end;
	for (size_t i = 0; i < b->publics.count; i++) {
		struct fw_public *p = &b->publics.data[i];
		size_t low = 0, high = n;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (spans.data[middle].start <= p->start)
				low = middle + 1;
			else
				high = middle;
		}
		if (low && spans.data[low - 1].end > p->start && spans.data[low - 1].end < p->end)
			p->end = spans.data[low - 1].end;
	}
	fw_vec_deinit(&spans);
	return FW_OK;
}

enum fw_code fw_sym_finish_win(struct fw_sym_loader *l)
{
	struct fw_builder *b = l->b;
	enum fw_code code = lay_type(l, TYPE_FRAME_DATA, &b->win_ranges4.data,
				     &b->win_ranges4.count, &b->win_ranges4.capacity);
	if (code == FW_OK)
		code = lay_type(l, TYPE_FPO, &b->win_ranges0.data, &b->win_ranges0.count,
				&b->win_ranges0.capacity);
	return code ? code : bound_publics(l);
}
