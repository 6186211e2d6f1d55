#include <stdlib.h>
#include <string.h>

#include "symfiles/breakpad_digits.h"
#include "symfiles/breakpad_loader.h"

// FUNC and its line records. The latter are most of most files, so they are read
// without looking for the line's end first.

#define O FW_SYM_OTHER
#define OTHER_16 O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O
const uint8_t fw_sym_class[256] = {
	O, O, O, O, O, O, O, O, O, FW_SYM_BLANK, FW_SYM_EOL, O, O, FW_SYM_CR, O, O,
	OTHER_16,
	FW_SYM_BLANK, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, O, O, O, O, O, O,
	O, 10, 11, 12, 13, 14, 15, O, O, O, O, O, O, O, O, O,
	OTHER_16,
	O, 10, 11, 12, 13, 14, 15, O, O, O, O, O, O, O, O, O,
	OTHER_16,
	OTHER_16, OTHER_16, OTHER_16, OTHER_16, OTHER_16, OTHER_16, OTHER_16, OTHER_16,
};
#undef OTHER_16
#undef O

struct line {
	uint64_t addr, size, line, file;
};

/** `hexaddr hexsize line file` and the line's end, single blanks; NULL: anything else. */
static inline const uint8_t *plain_line(const uint8_t *p, struct line *ret)
{
	const uint8_t *start = p, *a, *b, *c;
	unsigned end;
	a = fw_sym_run_hex(p, &ret->addr, &end);
	if (end != FW_SYM_BLANK)
		return NULL;
	b = fw_sym_run_hex(a, &ret->size, &end);
	if (end != FW_SYM_BLANK)
		return NULL;
	c = fw_sym_run_dec(b, &ret->line, &end);
	if (end != FW_SYM_BLANK)
		return NULL;
	p = fw_sym_run_dec(c, &ret->file, &end);
	// Of 20 bytes none of four numbers has more than FW_SYM_DIGITS.
	if (p - start > 20 && (a - start > FW_SYM_DIGITS || b - a > FW_SYM_DIGITS ||
			       c - b > FW_SYM_DIGITS || p - c > FW_SYM_DIGITS))
		return NULL;
	if (end == FW_SYM_EOL)
		return p;
	return end == FW_SYM_CR && *p == '\n' ? p + 1 : NULL;
}

const char *fw_sym_line_run(struct fw_sym_loader *l, const char *text, const char *end)
{
	struct fw_builder *b = l->b;
	uint64_t line_end = l->line_end;
	const uint64_t func_end = l->func_end;
	const uint8_t *p = (const uint8_t *)text, *stop = (const uint8_t *)end;
	if (!fw_vec_reserve(&b->lines, 2)) {
		l->failed = FW_NO_MEMORY;
		return text;
	}
	struct fw_line *out = b->lines.data + b->lines.count;
	struct fw_line *full = b->lines.data + b->lines.capacity;
	uint32_t taken = 0;
	while (p < stop) {
		struct line v;
		const uint8_t *next = plain_line(p, &v);
		if (!next || v.addr < line_end || v.size == 0 || v.addr + v.size > func_end ||
		    (v.line | (v.file + 1)) > UINT32_MAX)
			break;
		if (full - out < 2) {
			b->lines.count = (size_t)(out - b->lines.data);
			if (!fw_vec_reserve(&b->lines, 2)) {
				l->failed = FW_NO_MEMORY;
				break;
			}
			out = b->lines.data + b->lines.count;
			full = b->lines.data + b->lines.capacity;
		}
		if (v.addr != line_end)
			*out++ = (struct fw_line){ (uint32_t)line_end, 0, FW_NO_INDEX };
		*out++ = (struct fw_line){ (uint32_t)v.addr, (uint32_t)v.line, (uint32_t)v.file };
		line_end = v.addr + v.size;
		taken++;
		p = next;
	}
	b->lines.count = (size_t)(out - b->lines.data);
	l->line_no += taken;
	l->line_end = (uint32_t)line_end;
	return (const char *)p;
}

static struct fw_func *current_func(const struct fw_sym_loader *l)
{
	return &l->b->funcs.data[l->b->funcs.count - 1];
}

static void push_line(struct fw_sym_loader *l, uint32_t start, uint32_t end, uint32_t line,
		      uint32_t file)
{
	struct fw_builder *b = l->b;
	if (!fw_vec_reserve(&b->lines, 2)) {
		l->failed = FW_NO_MEMORY;
		return;
	}
	if (start > l->line_end)
		b->lines.data[b->lines.count++] =
			(struct fw_line){ l->line_end, 0, FW_NO_INDEX };
	b->lines.data[b->lines.count++] = (struct fw_line){ start, line, file };
	l->line_end = end;
}

static void push_span(struct fw_sym_loader *l, struct fw_sym_span span)
{
	if (!fw_vec_push(&l->spans, span))
		l->failed = FW_NO_MEMORY;
}

/** The function's lines do not ascend: take back what went into the image. */
static void take_lines_back(struct fw_sym_loader *l)
{
	struct fw_builder *b = l->b;
	size_t first = current_func(l)->first_line;
	for (size_t i = first; i < b->lines.count; i++) {
		const struct fw_line *e = &b->lines.data[i];
		uint32_t end = i + 1 < b->lines.count ? e[1].addr : l->line_end;
		if (e->file != FW_NO_INDEX)
			push_span(l, (struct fw_sym_span){ e->addr, end, e->line, e->file });
	}
	b->lines.count = first;
	l->lines_ascend = false;
}

void fw_sym_line(struct fw_sym_loader *l, struct fw_text t)
{
	uint64_t addr, size, line, file;
	uint32_t end;
	if (!fw_sym_hex(&t, &addr) || !fw_sym_hex(&t, &size) || !fw_sym_dec(&t, &line) ||
	    !fw_sym_dec(&t, &file) || line > UINT32_MAX || file >= FW_NO_INDEX) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	if (l->in_func != FW_SYM_IN_FUNC) {
		if (l->in_func == FW_SYM_NO_FUNC)
			fw_sym_bad(l, FW_DIAG_ORPHAN);
		return;
	}
	uint32_t func_start = current_func(l)->start;
	if (!fw_sym_range(addr, size, &end) || addr >= l->func_end || end <= func_start) {
		fw_sym_bad(l, FW_DIAG_RANGE);
		return;
	}
	uint32_t start = (uint32_t)addr;
	if (start < func_start || end > l->func_end)
		fw_sym_bad(l, FW_DIAG_RANGE);
	if (start < func_start)
		start = func_start;
	if (end > l->func_end)
		end = l->func_end;
	if (l->lines_ascend && start >= l->line_end) {
		push_line(l, start, end, (uint32_t)line, (uint32_t)file);
		return;
	}
	if (l->lines_ascend)
		take_lines_back(l);
	push_span(l, (struct fw_sym_span){ start, end, (uint32_t)line, (uint32_t)file });
}

/** Lay the lines of a function flat that did not ascend. */
static void flatten_lines(struct fw_sym_loader *l)
{
	FW_VEC(struct fw_span) spans = { 0 };
	struct fw_span *flat = NULL;
	uint32_t n, overlaps;

	if (!fw_vec_reserve(&spans, l->spans.count)) {
		l->failed = FW_NO_MEMORY;
		return;
	}
	for (size_t i = 0; i < l->spans.count; i++)
		spans.data[spans.count++] = (struct fw_span){
			l->spans.data[i].start, l->spans.data[i].end, (uint32_t)i, (uint32_t)i };
	enum fw_code code = fw_spans_flatten(spans.data, (uint32_t)spans.count,
					     FW_SPAN_FIRST_AT_START, &flat, &n, &overlaps);
	fw_vec_deinit(&spans);
	if (code) {
		l->failed = code;
		return;
	}
	l->line_end = current_func(l)->start;
	for (uint32_t i = 0; i < n && !l->failed; i++) {
		const struct fw_sym_span *from = &l->spans.data[flat[i].item];
		push_line(l, flat[i].start, flat[i].end, from->line, from->file);
	}
	for (uint32_t i = 0; i < overlaps; i++)
		fw_sym_bad(l, FW_DIAG_OVERLAP);
	free(flat);
	l->spans.count = 0;
}

static void end_lines(struct fw_sym_loader *l)
{
	struct fw_builder *b = l->b;
	struct fw_func *f = current_func(l);
	if (!l->lines_ascend)
		flatten_lines(l);
	size_t n = b->lines.count - f->first_line;
	if (n && l->line_end < l->func_end) {
		if (!fw_vec_push(&b->lines, ((struct fw_line){ l->line_end, 0, FW_NO_INDEX })))
			l->failed = FW_NO_MEMORY;
		n++;
	}
	if (b->lines.count > UINT32_MAX)
		l->failed = FW_LIMIT;
	f->num_lines = (uint32_t)n;
}

void fw_sym_end_func(struct fw_sym_loader *l)
{
	if (l->in_func == FW_SYM_IN_FUNC && !l->failed) {
		end_lines(l);
		if (!l->failed)
			fw_sym_end_inlines(l, current_func(l));
	}
	l->in_func = FW_SYM_NO_FUNC;
}

/** Where the function that a FUNC at @p start belongs to begins. */
static uint32_t entry_of(const struct fw_sym_loader *l, uint32_t start)
{
	const struct fw_sym_func_entry *list = l->func_entries.data;
	size_t low = 0, high = l->func_entries.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->func_entries.count && list[low].start == start ? list[low].entry : start;
}

void fw_sym_func(struct fw_sym_loader *l, struct fw_text t)
{
	struct fw_builder *b = l->b;
	uint64_t start, size, params;
	struct fw_str name;
	struct fw_func f = { .first_line = (uint32_t)b->lines.count };
	fw_sym_end_func(l);
	fw_sym_skip_m(&t);
	if (!fw_sym_hex(&t, &start) || !fw_sym_hex(&t, &size) || !fw_sym_hex(&t, &params) ||
	    params > UINT32_MAX || !fw_sym_rest(&t, &name)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	if (!fw_sym_range(start, size, &l->func_end)) {
		fw_sym_bad(l, FW_DIAG_RANGE);
		l->in_func = FW_SYM_DROPPED_FUNC;
		return;
	}
	f.start = l->line_end = (uint32_t)start;
	f.entry = entry_of(l, f.start);
	f.size = (uint32_t)size;
	f.params_size = (uint32_t)params;
	f.first_line = (uint32_t)b->lines.count;
	enum fw_code code = fw_intern_add(&b->strings, name.s, name.n, &f.name);
	if (code || !fw_vec_push(&b->funcs, f)) {
		l->failed = code ? code : FW_NO_MEMORY;
		return;
	}
	l->in_func = FW_SYM_IN_FUNC;
	l->lines_ascend = true;
	l->lay.max_depth = 0;
}
