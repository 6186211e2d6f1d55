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
	if (!fw_vec_reserve(&l->lay.inlines, 1)) {
		l->failed = FW_NO_MEMORY;
		return false;
	}
	struct fw_laid_inline *out = &l->lay.inlines.data[l->lay.inlines.count++];
	out->call = *call;
	out->call.start = (uint32_t)start;
	out->call.size = (uint32_t)(stop - start);
	out->line_no = l->line_no;
	if (call->depth > l->lay.max_depth)
		l->lay.max_depth = call->depth;
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
	size_t mark = l->lay.inlines.count;
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
		l->lay.inlines.count = mark;
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
	p = fw_sym_run_dec(p, &line, &end);
	if (end != FW_SYM_BLANK)
		return NULL;
	if (!old) {
		p = fw_sym_run_dec(p, &file, &end);
		if (end != FW_SYM_BLANK || file >= FW_NO_INDEX)
			return NULL;
	}
	p = fw_sym_run_dec(p, &origin, &end);
	// at most 24 bytes: no field has more than 19 digits, none overflowed
	if (end != FW_SYM_BLANK || p - start > 24 || (line | origin) > UINT32_MAX)
		return NULL;
	ret->depth = (uint32_t)depth;
	ret->call_line = (uint32_t)line;
	ret->call_file = (uint32_t)file;
	ret->origin = (uint32_t)origin;
	return p;
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
		p = fw_sym_run_hex(p, &size, &end);
		if (end > FW_SYM_CR || p - first > FW_SYM_DIGITS + 2 || start < func_start ||
		    start + size > func_end || size == 0 ||
		    !push_range(l, call, start, start + size))
			return NULL;
	} while (end == FW_SYM_BLANK);
	return p;
}

const char *fw_sym_inline_run(struct fw_sym_loader *l, const char *text, const char *end)
{
	static const char word[8] = "INLINE ";
	const uint64_t func_start = l->b->funcs.data[l->b->funcs.count - 1].start;
	while (end - text > 8 && memcmp(text, word, 7) == 0) {
		struct fw_inline call = { 0 };
		size_t mark = l->lay.inlines.count;
		const uint8_t *p = plain_call((const uint8_t *)text + 7, l->old_inlines, &call);
		l->line_no++;
		p = p ? plain_ranges(l, p, &call, func_start) : NULL;
		if (p && p[-1] == '\r')
			p = *p == '\n' ? p + 1 : NULL;
		if (!p) {
			l->line_no--;
			l->lay.inlines.count = mark;
			break;
		}
		text = (const char *)p;
	}
	return text;
}

void fw_sym_end_inlines(struct fw_sym_loader *l, struct fw_func *f)
{
	l->failed = fw_inline_lay_into(&l->lay, l->b, f);
}
