#include <stdlib.h>
#include <string.h>

#include "symfiles/breakpad_digits.h"
#include "symfiles/breakpad_loader.h"

// An INLINE's fields are the depth, the line of the call, in the new form the
// file of the call, the origin, then ranges. An even number of fields is the new
// form, an odd one the old; files do not mix them.

__attribute__((always_inline))
static inline bool push_range(struct fw_sym_loader *l, const struct fw_inline *call, uint64_t start,
		       uint64_t stop)
{
	if (!fw_vec_reserve(&l->inlines, 1)) {
		l->failed = FW_NO_MEMORY;
		return false;
	}
	struct fw_sym_inline *out = &l->inlines.data[l->inlines.count++];
	out->call = *call;
	out->call.start = (uint32_t)start;
	out->call.size = (uint32_t)(stop - start);
	out->line_no = l->line_no;
	if (call->depth > l->inline_max)
		l->inline_max = call->depth;
	return true;
}

/** Call site's file: -1 says that it is not known. */
static bool take_file(struct fw_text *t, uint64_t *ret)
{
	fw_text_skip_blanks(t);
	if (t->p < t->end && *t->p == '-') {
		t->p++;
		*ret = FW_NO_INDEX;
		uint64_t one;
		return fw_sym_dec(t, &one) && one == 1;
	}
	return fw_sym_dec(t, ret) && *ret < FW_NO_INDEX;
}

/** Ranges up to the end of the line, cut to the function. False: not pairs of numbers. */
static bool take_ranges(struct fw_sym_loader *l, struct fw_text t, const struct fw_inline *call)
{
	const struct fw_func *f = &l->b->funcs.data[l->b->funcs.count - 1];
	bool cut = false;
	do {
		uint64_t start, size, stop;
		if (!fw_sym_hex(&t, &start) || !fw_sym_hex(&t, &size))
			return false;
		if (__builtin_add_overflow(start, size, &stop))
			stop = UINT64_MAX;
		cut |= start < f->start || stop > l->func_end || size == 0;
		start = start < f->start ? f->start : start;
		stop = stop > l->func_end ? l->func_end : stop;
		if (start < stop && !push_range(l, call, start, stop))
			return true;
		fw_text_skip_blanks(&t);
	} while (t.p < t.end);
	if (cut)
		fw_sym_bad(l, FW_DIAG_RANGE);
	return true;
}

static unsigned count_fields(struct fw_text t)
{
	struct fw_str field;
	unsigned n = 0;
	while (fw_text_token(&t, &field))
		n++;
	return n;
}

void fw_sym_inline(struct fw_sym_loader *l, struct fw_text t)
{
	struct fw_inline call = { 0 };
	uint64_t depth, line, file = FW_NO_INDEX, origin;
	size_t mark = l->inlines.count;
	if (l->in_func != FW_SYM_IN_FUNC) {
		if (l->in_func == FW_SYM_NO_FUNC)
			fw_sym_bad(l, FW_DIAG_ORPHAN);
		return;
	}
	l->old_inlines = count_fields(t) % 2;
	if (!fw_sym_dec(&t, &depth) || !fw_sym_dec(&t, &line) || line > UINT32_MAX ||
	    (!l->old_inlines && !take_file(&t, &file)) || !fw_sym_dec(&t, &origin) ||
	    origin > UINT32_MAX) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	if (depth >= FW_MAX_INLINE_DEPTH) {
		fw_sym_bad(l, FW_DIAG_LIMIT);
		return;
	}
	call.depth = (uint32_t)depth;
	call.call_line = (uint32_t)line;
	call.call_file = (uint32_t)file;
	call.origin = (uint32_t)origin;
	if (!take_ranges(l, t, &call)) {
		l->inlines.count = mark;
		fw_sym_bad(l, FW_DIAG_MALFORMED);
	}
}

/** The fields in front of the ranges, single blanks; NULL: anything else. */
static inline const uint8_t *plain_call(const uint8_t *p, bool old, struct fw_inline *ret)
{
	const uint8_t *start = p;
	uint64_t depth, line, file = FW_NO_INDEX, origin;
	unsigned end;
	p = fw_sym_run_dec(p, &depth, &end);
	if (end != FW_SYM_BLANK || depth >= FW_MAX_INLINE_DEPTH)
		return NULL;
	p = fw_sym_run_dec(p + 1, &line, &end);
	if (end != FW_SYM_BLANK)
		return NULL;
	if (!old) {
		p = fw_sym_run_dec(p + 1, &file, &end);
		if (end != FW_SYM_BLANK || file >= FW_NO_INDEX)
			return NULL;
	}
	p = fw_sym_run_dec(p + 1, &origin, &end);
	// at most 24 bytes: no field has more than 19 digits, none overflowed
	if (end != FW_SYM_BLANK || p - start > 24 || (line | origin) > UINT32_MAX)
		return NULL;
	ret->depth = (uint32_t)depth;
	ret->call_line = (uint32_t)line;
	ret->call_file = (uint32_t)file;
	ret->origin = (uint32_t)origin;
	return p + 1;
}

/** The ranges, all in the function, and the byte that ends the line; NULL: anything else. */
static inline const uint8_t *plain_ranges(struct fw_sym_loader *l, const uint8_t *p,
					  const struct fw_inline *call, uint64_t func_start)
{
	const uint64_t func_end = l->func_end;
	unsigned end;
	do {
		const uint8_t *first = p;
		uint64_t start, size;
		p = fw_sym_run_hex(p, &start, &end);
		if (end != FW_SYM_BLANK)
			return NULL;
		p = fw_sym_run_hex(p + 1, &size, &end);
		if (end > FW_SYM_CR || p - first > FW_SYM_DIGITS + 2 || start < func_start ||
		    start + size > func_end || size == 0 ||
		    !push_range(l, call, start, start + size))
			return NULL;
		p++;
	} while (end == FW_SYM_BLANK);
	return p;
}

const char *fw_sym_inline_run(struct fw_sym_loader *l, const char *text, const char *end)
{
	static const char word[8] = "INLINE ";
	const uint64_t func_start = l->b->funcs.data[l->b->funcs.count - 1].start;
	while (end - text > 8 && memcmp(text, word, 7) == 0) {
		struct fw_inline call = { 0 };
		size_t mark = l->inlines.count;
		const uint8_t *p = plain_call((const uint8_t *)text + 7, l->old_inlines, &call);
		l->line_no++;
		p = p ? plain_ranges(l, p, &call, func_start) : NULL;
		if (p && p[-1] == '\r')
			p = *p == '\n' ? p + 1 : NULL;
		if (!p) {
			l->line_no--;
			l->inlines.count = mark;
			break;
		}
		text = (const char *)p;
	}
	return text;
}

/** at[d], d <= inline_max + 1: how many entries are less deep than d. */
static void count_depths(const struct fw_sym_loader *l, uint32_t *at)
{
	memset(at, 0, (l->inline_max + 2) * sizeof(*at));
	for (size_t i = 0; i < l->inlines.count; i++)
		at[l->inlines.data[i].call.depth + 1]++;
	for (uint32_t d = 1; d <= l->inline_max + 1; d++)
		at[d] += at[d - 1];
}

static int by_key(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return a < b ? -1 : a > b;
}

/** Nearly sorted keys, so by insertion; by qsort() where that takes too long. */
static void sort_keys(uint64_t *keys, size_t n)
{
	size_t moves = 16 * n + 64;
	for (size_t i = 1; i < n; i++) {
		uint64_t key = keys[i];
		size_t j = i;
		while (j && keys[j - 1] > key && --moves) {
			keys[j] = keys[j - 1];
			j--;
		}
		keys[j] = key;
		if (moves == 0) {
			qsort(keys, n, sizeof(*keys), by_key);
			return;
		}
	}
}

/**
 * The entries of one depth in order of start, in file order where that is equal,
 * in l->sorted. *disjoint: no two overlap.
 */
static bool sort_depth(struct fw_sym_loader *l, const struct fw_sym_inline *a, size_t n,
		       bool *disjoint)
{
	uint32_t end = 0;
	*disjoint = true;
	if (!fw_vec_reserve(&l->keys, n) || !fw_vec_reserve(&l->sorted, n))
		return false;
	for (size_t i = 0; i < n; i++)
		l->keys.data[i] = (uint64_t)a[i].call.start << 32 | i;
	sort_keys(l->keys.data, n);
	for (size_t i = 0; i < n; i++) {
		const struct fw_sym_inline *e = &a[(uint32_t)l->keys.data[i]];
		*disjoint &= e->call.start >= end;
		end = e->call.start + e->call.size;
		l->sorted.data[i] = *e;
	}
	return true;
}

/** The entries of one depth that overlap, laid flat in l->flat. */
static enum fw_code flatten_depth(struct fw_sym_loader *l, const struct fw_sym_inline *a,
				  size_t count)
{
	FW_VEC(struct fw_span) spans = { 0 };
	struct fw_span *flat = NULL;
	uint32_t n = 0, overlaps = 0;
	enum fw_code code = FW_NO_MEMORY;
	if (!fw_vec_reserve(&spans, count))
		return code;
	for (size_t i = 0; i < count; i++)
		spans.data[i] = (struct fw_span){ a[i].call.start,
						  a[i].call.start + a[i].call.size,
						  (uint32_t)i, (uint32_t)i };
	code = fw_spans_flatten(spans.data, (uint32_t)count, FW_SPAN_FIRST_AT_START, &flat, &n,
				&overlaps);
	fw_vec_deinit(&spans);
	l->flat.count = 0;
	if (code == FW_OK && !fw_vec_reserve(&l->flat, (size_t)n))
		code = FW_NO_MEMORY;
	for (uint32_t i = 0; i < n && code == FW_OK; i++) {
		struct fw_sym_inline *out = &l->flat.data[l->flat.count++];
		*out = a[flat[i].item];
		out->call.start = flat[i].start;
		out->call.size = flat[i].end - flat[i].start;
	}
	free(flat);
	for (uint32_t i = 0; i < overlaps; i++)
		fw_diag_add(&l->b->diag, FW_DIAG_OVERLAP, count ? a[0].line_no : 0);
	return code;
}

/**
 * Give the image the entries of one depth, each cut where its caller ends: the
 * callers are inlines[up .. end of inlines). Writers that merge neighbouring
 * ranges (Mozilla's dump_syms) have one callee reach over several callers.
 */
static bool emit_depth(struct fw_sym_loader *l, const struct fw_sym_inline *a, size_t n,
		       size_t up)
{
	struct fw_builder *b = l->b;
	size_t last = b->inlines.count;
	if (n == 0)
		return true;
	if (!fw_vec_reserve(&b->inlines, n + (last - up)))
		return false;
	const struct fw_inline *caller = b->inlines.data + up;
	const struct fw_inline *const end = b->inlines.data + last;
	struct fw_inline *out = b->inlines.data + last;
	for (const struct fw_sym_inline *e = a; e < a + n; e++) {
		uint32_t start = e->call.start, stop = start + e->call.size;
		while (caller < end && caller->start + caller->size <= start)
			caller++;
		if (caller < end && caller->start <= start &&
		    stop <= caller->start + caller->size) {
			*out++ = e->call;
			continue;
		}
		uint32_t left = e->call.size;
		for (const struct fw_inline *c = caller; c < end && c->start < stop; c++) {
			uint32_t from = c->start > start ? c->start : start;
			uint32_t to = c->start + c->size < stop ? c->start + c->size : stop;
			*out = e->call;
			out->start = from;
			out->size = to - from;
			left -= to - from;
			out++;
		}
		if (left)
			fw_diag_add(&b->diag, left == e->call.size ? FW_DIAG_ORPHAN :
				    FW_DIAG_OVERLAP, e->line_no);
	}
	b->inlines.count = (size_t)(out - b->inlines.data);
	return true;
}

static bool emit_outermost(struct fw_sym_loader *l, const struct fw_sym_inline *a, size_t n)
{
	struct fw_builder *b = l->b;
	if (!fw_vec_reserve(&b->inlines, n))
		return false;
	for (size_t i = 0; i < n; i++)
		b->inlines.data[b->inlines.count++] = a[i].call;
	return true;
}

/**
 * Lay the entries of all depths, l->by_depth[at[d] .. at[d + 1]), into the image;
 * unordered[d]: they are not disjoint and ascending as they stand.
 */
static enum fw_code lay_inlines(struct fw_sym_loader *l, const uint32_t *at,
				const bool *unordered)
{
	size_t up = 0;
	for (uint32_t d = 0; d <= l->inline_max; d++) {
		struct fw_sym_inline *a = l->by_depth.data + at[d];
		size_t n = at[d + 1] - at[d], first = l->b->inlines.count;
		if (unordered[d]) {
			bool disjoint;
			if (!sort_depth(l, a, n, &disjoint))
				return FW_NO_MEMORY;
			a = l->sorted.data;
			if (!disjoint) {
				enum fw_code code = flatten_depth(l, a, n);
				if (code)
					return code;
				a = l->flat.data;
				n = l->flat.count;
			}
		}
		if (!(d ? emit_depth(l, a, n, up) : emit_outermost(l, a, n)))
			return FW_NO_MEMORY;
		up = first;
	}
	return FW_OK;
}

struct depth {
	uint32_t next;		// place of its next entry in l->by_depth
	uint32_t end;		// where the last one's range ends
};

static void sort_by_depth(struct fw_sym_loader *l, const uint32_t *at, bool *unordered)
{
	struct depth depths[FW_MAX_INLINE_DEPTH];
	struct fw_sym_inline *out = l->by_depth.data;
	for (uint32_t d = 0; d <= l->inline_max; d++) {
		depths[d] = (struct depth){ at[d], 0 };
		unordered[d] = false;
	}
	const struct fw_sym_inline *e = l->inlines.data, *end = e + l->inlines.count;
	for (; e < end; e++) {
		struct depth *d = &depths[e->call.depth];
		if (e->call.start < d->end)
			unordered[e->call.depth] = true;
		d->end = e->call.start + e->call.size;
		out[d->next++] = *e;
	}
}

void fw_sym_end_inlines(struct fw_sym_loader *l, struct fw_func *f)
{
	uint32_t at[FW_MAX_INLINE_DEPTH + 1];
	bool unordered[FW_MAX_INLINE_DEPTH];
	size_t n = l->inlines.count, first = l->b->inlines.count;
	f->first_inline = (uint32_t)first;
	f->num_inlines = 0;
	if (n == 0)
		return;
	if (!fw_vec_reserve(&l->by_depth, n)) {
		l->failed = FW_NO_MEMORY;
		return;
	}
	count_depths(l, at);
	sort_by_depth(l, at, unordered);
	l->failed = lay_inlines(l, at, unordered);
	l->inlines.count = 0;
	if (l->b->inlines.count > UINT32_MAX)
		l->failed = FW_LIMIT;
	f->num_inlines = (uint32_t)(l->b->inlines.count - first);
}
