#include <stdlib.h>
#include <string.h>

#include "symfiles/inline_lay.h"

/** at[d], d <= max_depth + 1: how many entries are less deep than d. */
static void count_depths(const struct fw_inline_lay *l, uint32_t *at)
{
	memset(at, 0, (l->max_depth + 2) * sizeof(*at));
	for (size_t i = 0; i < l->inlines.count; i++)
		at[l->inlines.data[i].call.depth + 1]++;
	for (uint32_t d = 1; d <= l->max_depth + 1; d++)
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
static bool sort_depth(struct fw_inline_lay *l, const struct fw_laid_inline *a, size_t n,
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
		const struct fw_laid_inline *e = &a[(uint32_t)l->keys.data[i]];
		*disjoint &= e->call.start >= end;
		end = e->call.start + e->call.size;
		l->sorted.data[i] = *e;
	}
	return true;
}

/** The entries of one depth that overlap, laid flat in l->flat. */
static enum fw_code flatten_depth(struct fw_inline_lay *l, struct fw_builder *b,
				  const struct fw_laid_inline *a, size_t count)
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
		struct fw_laid_inline *out = &l->flat.data[l->flat.count++];
		*out = a[flat[i].item];
		out->call.start = flat[i].start;
		out->call.size = flat[i].end - flat[i].start;
	}
	free(flat);
	for (uint32_t i = 0; i < overlaps; i++)
		fw_diag_add(&b->diag, FW_DIAG_OVERLAP, count ? a[0].line_no : 0);
	return code;
}

/**
 * Give the image the entries of one depth, each cut where its callers end: the
 * callers are inlines[up .. end of inlines). Writers that merge neighbouring
 * ranges (Mozilla's dump_syms) have one callee reach over several callers, which
 * is no reason to cut it. Gaps between callers are: a file could make its few
 * records be cut without end, so no more than @p most pieces are made.
 */
static bool emit_depth(struct fw_builder *b, const struct fw_laid_inline *a, size_t n,
		       size_t up, size_t most)
{
	size_t last = b->inlines.count;
	if (n == 0)
		return true;
	if (most > n + (last - up))
		most = n + (last - up);
	if (!fw_vec_reserve(&b->inlines, most))
		return false;
	const struct fw_inline *caller = b->inlines.data + up;
	const struct fw_inline *const end = b->inlines.data + last;
	struct fw_inline *out = b->inlines.data + last, *full = out + most;
	for (const struct fw_laid_inline *e = a; e < a + n; e++) {
		uint32_t start = e->call.start, stop = start + e->call.size;
		while (caller < end && caller->start + caller->size <= start)
			caller++;
		if (caller < end && caller->start <= start &&
		    stop <= caller->start + caller->size && out < full) {
			*out++ = e->call;	// as it nearly always is
			continue;
		}
		uint32_t left = e->call.size;
		const struct fw_inline *c = caller;
		while (c < end && c->start < stop && out < full) {
			uint32_t from = c->start > start ? c->start : start;
			uint32_t to = c->start + c->size;
			for (c++; to < stop && c < end && c->start == to; c++)
				to += c->size;
			to = to < stop ? to : stop;
			*out = e->call;
			out->start = from;
			out->size = to - from;
			left -= to - from;
			out++;
		}
		if (left)
			fw_diag_add(&b->diag, out == full ? FW_DIAG_LIMIT :
				    left == e->call.size ? FW_DIAG_ORPHAN : FW_DIAG_OVERLAP,
				    e->line_no);
	}
	b->inlines.count = (size_t)(out - b->inlines.data);
	return true;
}

static bool emit_outermost(struct fw_builder *b, const struct fw_laid_inline *a, size_t n)
{
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
static enum fw_code lay_inlines(struct fw_inline_lay *l, struct fw_builder *b,
				const uint32_t *at, const bool *unordered)
{
	size_t up = 0, most = b->inlines.count + FW_MAX_INLINE_CUTS * l->inlines.count;
	for (uint32_t d = 0; d <= l->max_depth; d++) {
		struct fw_laid_inline *a = l->by_depth.data + at[d];
		size_t n = at[d + 1] - at[d], first = b->inlines.count;
		if (unordered[d]) {
			bool disjoint;
			if (!sort_depth(l, a, n, &disjoint))
				return FW_NO_MEMORY;
			a = l->sorted.data;
			if (!disjoint) {
				enum fw_code code = flatten_depth(l, b, a, n);
				if (code)
					return code;
				a = l->flat.data;
				n = l->flat.count;
			}
		}
		if (!(d ? emit_depth(b, a, n, up, most - first) : emit_outermost(b, a, n)))
			return FW_NO_MEMORY;
		up = first;
	}
	return FW_OK;
}

struct depth {
	uint32_t next;		// place of its next entry in l->by_depth
	uint32_t end;		// where the last one's range ends
};

static void sort_by_depth(struct fw_inline_lay *l, const uint32_t *at, bool *unordered)
{
	struct depth depths[FW_MAX_INLINE_DEPTH];
	struct fw_laid_inline *out = l->by_depth.data;
	for (uint32_t d = 0; d <= l->max_depth; d++) {
		depths[d] = (struct depth){ at[d], 0 };
		unordered[d] = false;
	}
	const struct fw_laid_inline *e = l->inlines.data, *end = e + l->inlines.count;
	for (; e < end; e++) {
		struct depth *d = &depths[e->call.depth];
		if (e->call.start < d->end)
			unordered[e->call.depth] = true;
		d->end = e->call.start + e->call.size;
		out[d->next++] = *e;
	}
}

void fw_inline_lay_deinit(struct fw_inline_lay *l)
{
	fw_vec_deinit(&l->inlines);
	fw_vec_deinit(&l->by_depth);
	fw_vec_deinit(&l->sorted);
	fw_vec_deinit(&l->flat);
	fw_vec_deinit(&l->keys);
}

enum fw_code fw_inline_lay_into(struct fw_inline_lay *l, struct fw_builder *b, struct fw_func *f)
{
	uint32_t at[FW_MAX_INLINE_DEPTH + 1];
	bool unordered[FW_MAX_INLINE_DEPTH];
	size_t n = l->inlines.count, first = b->inlines.count;
	f->first_inline = (uint32_t)first;
	f->num_inlines = 0;
	if (n == 0)
		return FW_OK;
	if (!fw_vec_reserve(&l->by_depth, n))
		return FW_NO_MEMORY;
	count_depths(l, at);
	sort_by_depth(l, at, unordered);
	enum fw_code code = lay_inlines(l, b, at, unordered);
	l->inlines.count = 0;
	l->max_depth = 0;
	if (code == FW_OK && b->inlines.count > UINT32_MAX)
		code = FW_LIMIT;
	f->num_inlines = (uint32_t)(b->inlines.count - first);
	return code;
}
