#include <stdlib.h>
#include <string.h>

#include "symfiles/breakpad_digits.h"
#include "symfiles/breakpad_loader.h"

// FUNC and its line records. The latter are most of most files, so they are read
// without looking for the line's end first.

/** `hexaddr hexsize line file` and the line feed, single blanks; NULL: anything else. */
static inline const char *plain_line(const char *p, uint64_t *addr, uint64_t *size,
				     uint64_t *line, uint64_t *file)
{
	const char *a = run_hex(p, addr), *b, *c, *d;
	if (!a || *a != ' ')
		return NULL;
	b = run_hex(a + 1, size);
	if (!b || *b != ' ')
		return NULL;
	c = run_dec(b + 1, line);
	if (!c || *c != ' ')
		return NULL;
	d = run_dec(c + 1, file);
	if (!d || *d != '\n')
		return NULL;
	// no difference has a bit above MAX_DIGITS
	if (((d - c - 1) | (c - b - 1) | (b - a - 1) | (a - p)) > MAX_DIGITS)
		return NULL;
	return d + 1;
}

const char *fw_sym_line_run(struct fw_sym_loader *l, const char *p, const char *end)
{
	struct fw_builder *b = l->b;
	uint64_t line_end = l->line_end;
	const uint64_t func_end = l->func_end;
	while (p < end) {
		uint64_t addr, size, line, file;
		const char *next = plain_line(p, &addr, &size, &line, &file);
		if (!next || addr < line_end || size == 0 || addr + size > func_end ||
		    line > UINT32_MAX || file >= FW_NO_INDEX)
			break;
		if (!fw_vec_reserve(&b->lines, 2)) {
			l->failed = FW_NO_MEMORY;
			break;
		}
		struct fw_line *out = b->lines.data + b->lines.count;
		if (addr != line_end) {
			*out++ = (struct fw_line){ (uint32_t)line_end, 0, FW_NO_INDEX };
			b->lines.count++;
		}
		*out = (struct fw_line){ (uint32_t)addr, (uint32_t)line, (uint32_t)file };
		b->lines.count++;
		l->line_no++;
		line_end = addr + size;
		p = next;
	}
	l->line_end = (uint32_t)line_end;
	return p;
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
	f.start = f.entry = l->line_end = (uint32_t)start;
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
	l->inline_base = 0;
	l->inline_last = UINT32_MAX;
	l->inline_max = 0;
}
