#include <stdlib.h>
#include <string.h>

#include "symfiles/breakpad_digits.h"
#include "symfiles/breakpad_loader.h"

/** A number and what must follow it: a blank or the end of the line. */
static inline const char *token_dec(const char *p, uint64_t *ret)
{
	while (fw_is_blank(*p))
		p++;
	const char *end = run_dec(p, ret);
	return end && end - p <= MAX_DIGITS && (uint8_t)*end <= ' ' ? end : NULL;
}

static inline const char *token_hex(const char *p, uint64_t *ret)
{
	while (fw_is_blank(*p))
		p++;
	const char *end = run_hex(p, ret);
	return end && end - p <= MAX_DIGITS && (uint8_t)*end <= ' ' ? end : NULL;
}

/** Call site's file: -1 says that it is not known. */
static const char *token_file(const char *p, uint64_t *ret)
{
	while (fw_is_blank(*p))
		p++;
	if (p[0] == '-' && p[1] == '1' && (uint8_t)p[2] <= ' ') {
		*ret = FW_NO_INDEX;
		return p + 2;
	}
	const char *end = token_dec(p, ret);
	return end && *ret < FW_NO_INDEX ? end : NULL;
}

/**
 * Ranges `addr size` up to the end of the line, cut to the function. False when
 * there is none, or half a one: then this is the other form of the record.
 * *cut counts the ranges that did not lie in the function as a whole.
 */
static bool take_ranges(struct fw_sym_loader *l, const char *p, const char *end,
			const struct fw_sym_inline *model, uint32_t *cut)
{
	const struct fw_func *f = &l->b->funcs.data[l->b->funcs.count - 1];
	do {
		uint64_t start, size;
		p = token_hex(p, &start);
		if (!p)
			return false;
		p = token_hex(p, &size);
		if (!p)
			return false;
		uint64_t stop = start + size;
		if (start < f->start || stop > l->func_end || size == 0) {
			++*cut;
			start = start < f->start ? f->start : start;
			stop = stop > l->func_end ? l->func_end : stop;
		}
		if (start < stop) {
			if (!fw_vec_reserve(&l->inlines, 1)) {
				l->failed = FW_NO_MEMORY;
				return true;
			}
			struct fw_sym_inline *out = &l->inlines.data[l->inlines.count++];
			*out = *model;
			out->call.start = (uint32_t)start;
			out->call.size = (uint32_t)(stop - start);
		}
		while (fw_is_blank(*p))
			p++;
	} while (p < end);
	return true;
}

/** The fields behind depth and line, read as the old or as the new form. */
static bool take_form(struct fw_sym_loader *l, const char *p, const char *end, bool old,
		      struct fw_sym_inline *model, uint32_t *cut)
{
	uint64_t file = FW_NO_INDEX, origin;
	size_t mark = l->inlines.count;
	*cut = 0;
	if (!old)
		p = token_file(p, &file);
	p = p ? token_dec(p, &origin) : NULL;
	if (!p || origin > UINT32_MAX)
		return false;
	model->call.call_file = (uint32_t)file;
	model->call.origin = (uint32_t)origin;
	if (take_ranges(l, p, end, model, cut))
		return true;
	l->inlines.count = mark;
	return false;
}

/** Depth in the image, or the kind of diagnostic that this INLINE is. */
static int inline_depth(struct fw_sym_loader *l, uint64_t nest, uint32_t *ret)
{
	if (l->inline_last == UINT32_MAX)
		l->inline_base = nest == 1;
	if (nest < l->inline_base)
		l->inline_base = 0;
	uint64_t depth = nest - l->inline_base;
	uint64_t most = l->inline_last == UINT32_MAX ? 0 : (uint64_t)l->inline_last + 1;
	if (depth > most)
		return FW_DIAG_ORPHAN;
	if (depth >= FW_MAX_INLINE_DEPTH)
		return FW_DIAG_LIMIT;
	*ret = (uint32_t)depth;
	return -1;
}

void fw_sym_inline(struct fw_sym_loader *l, struct fw_text t)
{
	struct fw_sym_inline model = { .line_no = l->line_no };
	uint64_t nest, line;
	uint32_t cut;
	if (l->in_func != FW_SYM_IN_FUNC) {
		if (l->in_func == FW_SYM_NO_FUNC)
			fw_sym_bad(l, FW_DIAG_ORPHAN);
		return;
	}
	const char *p = token_dec(t.p, &nest);
	p = p ? token_dec(p, &line) : NULL;
	if (!p || line > UINT32_MAX) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	int bad = inline_depth(l, nest, &model.call.depth);
	if (bad >= 0) {
		fw_sym_bad(l, (enum fw_diag_kind)bad);
		return;
	}
	model.call.call_line = (uint32_t)line;
	// An even number of fields is the new form, an odd one the old: only one of
	// them leaves whole ranges. Files do not mix them.
	if (!take_form(l, p, t.end, l->old_inlines, &model, &cut)) {
		if (!take_form(l, p, t.end, !l->old_inlines, &model, &cut)) {
			fw_sym_bad(l, FW_DIAG_MALFORMED);
			return;
		}
		l->old_inlines = !l->old_inlines;
	}
	if (cut)
		fw_sym_bad(l, FW_DIAG_RANGE);
	l->inline_last = model.call.depth;
	if (model.call.depth > l->inline_max)
		l->inline_max = model.call.depth;
}

/** at[d]: how many entries are less deep than d. */
static void count_depths(const struct fw_sym_loader *l, uint32_t at[FW_MAX_INLINE_DEPTH + 1])
{
	memset(at, 0, (l->inline_max + 2) * sizeof(*at));
	for (size_t i = 0; i < l->inlines.count; i++)
		at[l->inlines.data[i].call.depth + 1]++;
	for (uint32_t d = 1; d <= l->inline_max + 1; d++)
		at[d] += at[d - 1];
}

/** The entries in the order of an image: by depth, in file order within one. */
static void by_depth(const struct fw_sym_loader *l, struct fw_inline *out)
{
	uint32_t at[FW_MAX_INLINE_DEPTH + 1];
	count_depths(l, at);
	for (size_t i = 0; i < l->inlines.count; i++)
		out[at[l->inlines.data[i].call.depth]++] = l->inlines.data[i].call;
}

/** Sorted and disjoint within each depth, every range in one range a depth above? */
static bool well_nested(const struct fw_inline *a, size_t n)
{
	size_t up = 0;		// entry of the depth above that may hold the next one
	for (size_t i = 1, first = 0; i < n; i++) {
		if (a[i].depth != a[i - 1].depth) {
			if (a[i].depth != a[i - 1].depth + 1)
				return false;
			up = first;
			first = i;
		} else if (a[i].start - a[i - 1].start < a[i - 1].size ||
			   a[i].start < a[i - 1].start) {
			return false;
		}
		if (a[i].depth == 0)
			continue;
		while (up < first && a[up].start + a[up].size <= a[i].start)
			up++;
		if (up == first || a[i].start < a[up].start ||
		    a[i].start + a[i].size > a[up].start + a[up].size)
			return false;
	}
	return true;
}

/** One depth of a function whose calls overlap or leave their callers. */
struct level {
	FW_VEC(struct fw_span) spans;	// disjoint, ascending; item: index in l->inlines
};

/** Does the record @p line_no have a range at this level that meets [start, end)? */
static bool has_parent(const struct fw_sym_loader *l, const struct fw_span *up, size_t n,
		       const struct fw_span *child, uint32_t parent)
{
	for (size_t i = 0; i < n && up[i].start < child->end; i++)
		if (l->inlines.data[up[i].item].line_no == parent)
			return true;
	return false;
}

/**
 * Cut the spans of one depth to those of the depth above: to its parent's, the
 * last record of that depth before it in the file, or to any where that one does
 * not hold it at all.
 */
static bool cut_to_parents(struct fw_sym_loader *l, const uint32_t *parents,
			   const struct level *above, struct fw_span *flat, uint32_t n,
			   struct level *ret)
{
	size_t up = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct fw_span child = flat[i];
		const struct fw_span *a = above->spans.data;
		uint32_t held = 0, parent = parents[child.item];
		while (up < above->spans.count && a[up].end <= child.start)
			up++;
		bool own = has_parent(l, a + up, above->spans.count - up, &child, parent);
		for (size_t j = up; j < above->spans.count && a[j].start < child.end; j++) {
			if (own && l->inlines.data[a[j].item].line_no != parent)
				continue;
			struct fw_span piece = child;
			piece.start = child.start > a[j].start ? child.start : a[j].start;
			piece.end = child.end < a[j].end ? child.end : a[j].end;
			held += piece.end - piece.start;
			if (!fw_vec_push(&ret->spans, piece))
				return false;
		}
		if (held != child.end - child.start)
			fw_diag_add(&l->b->diag, FW_DIAG_OVERLAP,
				    l->inlines.data[child.item].line_no);
	}
	return true;
}

/** Spans of the entries ids[0 .. n), all of one depth, laid flat. */
static enum fw_code flatten_depth(struct fw_sym_loader *l, const uint32_t *ids, uint32_t n,
				  struct fw_span **ret, uint32_t *ret_n)
{
	FW_VEC(struct fw_span) spans = { 0 };
	uint32_t overlaps = 0;
	if (!fw_vec_reserve(&spans, (size_t)n))
		return FW_NO_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		const struct fw_inline *call = &l->inlines.data[ids[i]].call;
		spans.data[i] = (struct fw_span){ call->start, call->start + call->size,
						  ids[i], ids[i] };
	}
	enum fw_code code = fw_spans_flatten(spans.data, n, FW_SPAN_FIRST_AT_START, ret, ret_n,
					     &overlaps);
	for (uint32_t i = 0; i < overlaps; i++)
		fw_sym_bad(l, FW_DIAG_OVERLAP);
	fw_vec_deinit(&spans);
	return code;
}

static bool emit_level(struct fw_sym_loader *l, const struct level *level)
{
	struct fw_builder *b = l->b;
	if (!fw_vec_reserve(&b->inlines, level->spans.count))
		return false;
	for (size_t i = 0; i < level->spans.count; i++) {
		const struct fw_span *s = &level->spans.data[i];
		struct fw_inline call = l->inlines.data[s->item].call;
		call.start = s->start;
		call.size = s->end - s->start;
		b->inlines.data[b->inlines.count++] = call;
	}
	return true;
}

/**
 * What laying flat needs to know of the entries: their ids by depth, and the
 * line number of each one's parent, the last record before it a depth above.
 */
struct families {
	FW_VEC(uint32_t) ids, parents;
	uint32_t at[FW_MAX_INLINE_DEPTH + 1];	// ids of depth d are ids[at[d] .. at[d + 1])
};

static bool find_families(const struct fw_sym_loader *l, struct families *ret)
{
	uint32_t last[FW_MAX_INLINE_DEPTH] = { 0 }, next[FW_MAX_INLINE_DEPTH + 1];
	size_t n = l->inlines.count;
	if (!fw_vec_reserve(&ret->ids, n) || !fw_vec_reserve(&ret->parents, n))
		return false;
	count_depths(l, ret->at);
	memcpy(next, ret->at, (l->inline_max + 2) * sizeof(*next));
	for (size_t i = 0; i < n; i++) {
		uint32_t depth = l->inlines.data[i].call.depth;
		last[depth] = l->inlines.data[i].line_no;
		ret->parents.data[i] = depth ? last[depth - 1] : 0;
		ret->ids.data[next[depth]++] = (uint32_t)i;
	}
	return true;
}

static enum fw_code lay_depth(struct fw_sym_loader *l, const struct families *f, uint32_t depth,
			      const struct level *above, struct level *ret)
{
	struct fw_span *flat = NULL;
	uint32_t n = 0, first = f->at[depth];
	enum fw_code code = flatten_depth(l, f->ids.data + first, f->at[depth + 1] - first,
					  &flat, &n);
	if (code)
		return code;
	bool ok = true;
	ret->spans.count = 0;
	if (depth)
		ok = cut_to_parents(l, f->parents.data, above, flat, n, ret);
	for (uint32_t i = 0; depth == 0 && i < n && ok; i++)
		ok = fw_vec_push(&ret->spans, flat[i]);
	free(flat);
	return ok && emit_level(l, ret) ? FW_OK : FW_NO_MEMORY;
}

/** The way for what does not nest as it should. */
static void lay_inlines(struct fw_sym_loader *l)
{
	struct families f = { .at = { 0 } };
	struct level levels[2] = { 0 };
	enum fw_code code = find_families(l, &f) ? FW_OK : FW_NO_MEMORY;
	for (uint32_t depth = 0; depth <= l->inline_max && code == FW_OK; depth++)
		code = lay_depth(l, &f, depth, &levels[(depth + 1) & 1], &levels[depth & 1]);
	fw_vec_deinit(&f.ids);
	fw_vec_deinit(&f.parents);
	fw_vec_deinit(&levels[0].spans);
	fw_vec_deinit(&levels[1].spans);
	if (code)
		l->failed = code;
}

void fw_sym_end_inlines(struct fw_sym_loader *l, struct fw_func *f)
{
	struct fw_builder *b = l->b;
	size_t n = l->inlines.count, first = b->inlines.count;
	f->first_inline = (uint32_t)first;
	f->num_inlines = 0;
	if (n == 0)
		return;
	if (!fw_vec_reserve(&b->inlines, n)) {
		l->failed = FW_NO_MEMORY;
		return;
	}
	struct fw_inline *out = b->inlines.data + first;
	by_depth(l, out);
	if (out[0].depth == 0 && well_nested(out, n))
		b->inlines.count += n;
	else
		lay_inlines(l);
	l->inlines.count = 0;
	if (b->inlines.count > UINT32_MAX)
		l->failed = FW_LIMIT;
	f->num_inlines = (uint32_t)(b->inlines.count - first);
}
