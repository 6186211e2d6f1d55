#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "symfiles/breakpad_digits.h"
#include "symfiles/breakpad_loader.h"

// STACK CFI records, and the rows that they come to.

static void add_init(struct fw_sym_loader *l, uint64_t start, uint64_t size, struct fw_str text)
{
	struct fw_cfi_init init = { .start = (uint32_t)start, .order = (uint32_t)l->inits.count };
	if (!fw_sym_range(start, size, &init.end)) {
		fw_sym_bad(l, FW_DIAG_RANGE);
		return;
	}
	if (l->cpu) {
		uint32_t id;
		if (!fw_sym_rule_text(l, text, &id))
			return;
		enum fw_code code = fw_sym_init_row(l, id, &init.row);
		if (code) {
			l->failed = code;
			return;
		}
	} else {
		fw_sym_bad(l, FW_DIAG_RULE);
	}
	if (!fw_vec_push(&l->inits, init))
		l->failed = FW_NO_MEMORY;
}

static void add_delta(struct fw_sym_loader *l, uint64_t addr, struct fw_str text)
{
	struct fw_cfi_delta delta = { .addr = (uint32_t)addr };
	if (l->inits.count == 0)
		fw_sym_bad(l, FW_DIAG_ORPHAN);
	else if (addr > UINT32_MAX)
		fw_sym_bad(l, FW_DIAG_RANGE);
	else if (!l->cpu)
		fw_sym_bad(l, FW_DIAG_RULE);
	else if (fw_sym_rule_text(l, text, &delta.delta) && !fw_vec_push(&l->deltas, delta))
		l->failed = FW_NO_MEMORY;
}

static void cfi_init(struct fw_sym_loader *l, struct fw_text t)
{
	uint64_t start, size;
	struct fw_str text;
	if (!fw_sym_hex(&t, &start) || !fw_sym_hex(&t, &size)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	fw_sym_rest(&t, &text);
	add_init(l, start, size, text);
}

static void cfi_delta(struct fw_sym_loader *l, struct fw_text t)
{
	uint64_t addr;
	struct fw_str text;
	if (!fw_sym_hex(&t, &addr)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	fw_sym_rest(&t, &text);
	add_delta(l, addr, text);
}

const char *fw_sym_cfi_run(struct fw_sym_loader *l, const char *p, const char *stop,
			   const char *end)
{
	static const char word[] = "STACK CFI ", init[] = "INIT ";
	while (p < stop && end - p > 16 && memcmp(p, word, 10) == 0 && !l->failed) {
		const uint8_t *q = (const uint8_t *)p + 10, *number = q;
		uint64_t start, size = 0;
		unsigned at_end;
		bool is_init = memcmp(q, init, 5) == 0;
		if (is_init) {
			q = fw_sym_run_hex(number = q + 5, &start, &at_end);
			if (at_end == FW_SYM_BLANK)
				q = fw_sym_run_hex(q, &size, &at_end);
		} else {
			q = fw_sym_run_hex(q, &start, &at_end);
		}
		if (at_end != FW_SYM_BLANK || q - number > FW_SYM_DIGITS + is_init)
			break;
		const char *rules = (const char *)q;
		const char *nl = memchr(rules, '\n', (size_t)(end - rules));
		const char *last = nl;
		while (last > rules && last[-1] == '\r')
			last--;
		if (nl - p > FW_MAX_SYM_LINE || fw_is_blank(*rules))
			break;
		struct fw_str text = { rules, (size_t)(last - rules) };
		l->line_no++;
		if (is_init)
			add_init(l, start, size, text);
		else
			add_delta(l, start, text);
		p = nl + 1;
	}
	return p;
}

void fw_sym_stack(struct fw_sym_loader *l, struct fw_text t)
{
	fw_text_skip_blanks(&t);
	size_t n = (size_t)(t.end - t.p);
	if (n > 4 && memcmp(t.p, "CFI", 3) == 0 && fw_is_blank(t.p[3])) {
		t.p += 4;
		fw_text_skip_blanks(&t);
		n = (size_t)(t.end - t.p);
		if (n > 5 && memcmp(t.p, "INIT", 4) == 0 && fw_is_blank(t.p[4])) {
			t.p += 5;
			cfi_init(l, t);
		} else {
			cfi_delta(l, t);
		}
	} else if (n > 4 && memcmp(t.p, "WIN", 3) == 0 && fw_is_blank(t.p[3])) {
		t.p += 4;
		fw_sym_stack_win(l, t);
	} else {
		fw_sym_bad(l, FW_DIAG_UNKNOWN);
	}
}

/** Stable: the last record at an address must stay the last. Three passes of 11 bits. */
static enum fw_code sort_deltas(struct fw_sym_loader *l)
{
	size_t n = l->deltas.count;
	struct fw_cfi_delta *from = l->deltas.data;
	bool in_order = true;
	for (size_t i = 1; i < n && in_order; i++)
		in_order = from[i - 1].addr <= from[i].addr;
	if (in_order)
		return FW_OK;
	FW_VEC(struct fw_cfi_delta) other = { 0 };
	FW_VEC(size_t) count = { 0 };
	if (!fw_vec_reserve(&other, n) || !fw_vec_reserve(&count, 2048)) {
		fw_vec_deinit(&other);
		return FW_NO_MEMORY;
	}
	struct fw_cfi_delta *to = other.data;
	for (unsigned shift = 0; shift < 33; shift += 11) {
		size_t at = 0;
		memset(count.data, 0, 2048 * sizeof(*count.data));
		for (size_t i = 0; i < n; i++)
			count.data[from[i].addr >> shift & 2047]++;
		for (unsigned d = 0; d < 2048; d++) {
			size_t c = count.data[d];
			count.data[d] = at;
			at += c;
		}
		for (size_t i = 0; i < n; i++)
			to[count.data[from[i].addr >> shift & 2047]++] = from[i];
		struct fw_cfi_delta *t = from;
		from = to;
		to = t;
	}
	memcpy(l->deltas.data, from, n * sizeof(*from));
	fw_vec_deinit(&other);
	fw_vec_deinit(&count);
	return FW_OK;
}

/** Where the INITs hold, disjoint and ascending; items are their indexes. */
static enum fw_code lay_inits(struct fw_sym_loader *l, struct fw_span **ret, uint32_t *ret_n)
{
	FW_VEC(struct fw_span) spans = { 0 };
	uint32_t overlaps = 0;
	if (!fw_vec_reserve(&spans, l->inits.count))
		return FW_NO_MEMORY;
	for (size_t i = 0; i < l->inits.count; i++)
		spans.data[i] = (struct fw_span){ l->inits.data[i].start, l->inits.data[i].end,
						  (uint32_t)i, l->inits.data[i].order };
	enum fw_code code = fw_spans_flatten(spans.data, (uint32_t)l->inits.count,
					     FW_SPAN_FIRST_AT_START, ret, ret_n, &overlaps);
	fw_vec_deinit(&spans);
	for (uint32_t i = 0; i < overlaps; i++)
		fw_diag_add(&l->b->diag, FW_DIAG_OVERLAP, 0);
	return code;
}

/**
 * Rows of one range. The deltas in it belong to its INIT, whose state is kept in
 * init.row: the second half of a split INIT goes on where the first one ended.
 */
static enum fw_code build_range(struct fw_sym_loader *l, const struct fw_span *range,
				size_t *next_delta)
{
	struct fw_cfi_init *init = &l->inits.data[range->item];
	struct fw_cfi_builder *cfi = &l->b->cfi;
	enum fw_code code = fw_cfi_append(cfi, range->start, init->row);
	size_t i = *next_delta, n = l->deltas.count;
	const struct fw_cfi_delta *d = l->deltas.data;
	for (; i < n && d[i].addr < range->start; i++)
		fw_diag_add(&l->b->diag, FW_DIAG_ORPHAN, 0);
	for (; i < n && d[i].addr < range->end && code == FW_OK; i++) {
		if (i + 1 < n && d[i + 1].addr == d[i].addr)
			continue;	// the last one at an address wins
		code = fw_sym_next_row(l, init->row, d[i].delta, &init->row);
		if (code == FW_OK)
			code = fw_cfi_append(cfi, d[i].addr, init->row);
	}
	*next_delta = i;
	return code ? code : fw_cfi_append(cfi, range->end, 0);
}

static enum fw_code build_rows(struct fw_sym_loader *l, const struct fw_span *ranges, uint32_t n)
{
	size_t next = 0;
	enum fw_code code = sort_deltas(l);
	for (uint32_t i = 0; i < n && code == FW_OK; i++)
		code = build_range(l, &ranges[i], &next);
	for (; next < l->deltas.count && code == FW_OK; next++)
		fw_diag_add(&l->b->diag, FW_DIAG_ORPHAN, 0);
	return code;
}

/**
 * A PUBLIC says where a symbol starts, and unwind records where code ends: in the
 * INIT that covers its start it names nothing behind that INIT, and outside of
 * all INITs nothing from the next one on, which is another function's.
 */
static void bound_publics(struct fw_sym_loader *l, const struct fw_span *ranges, uint32_t n)
{
	for (size_t i = 0; i < l->b->publics.count; i++) {
		struct fw_public *p = &l->b->publics.data[i];
		uint32_t low = 0, high = n;
		while (low < high) {	// first range that starts behind p
			uint32_t middle = low + (high - low) / 2;
			if (ranges[middle].start <= p->start)
				low = middle + 1;
			else
				high = middle;
		}
		if (low && p->start < ranges[low - 1].end) {
			uint32_t end = l->inits.data[ranges[low - 1].item].end;
			if (end < p->end)
				p->end = end;
		} else if (low < n && ranges[low].start < p->end) {
			p->end = ranges[low].start;
		}
	}
}

void fw_sym_finish_stack(struct fw_sym_loader *l)
{
	struct fw_span *ranges = NULL;
	uint32_t n = 0;
	enum fw_code code = lay_inits(l, &ranges, &n);
	if (code == FW_OK)
		code = fw_sym_flag_entries(l, ranges, n);
	if (code == FW_OK)
		code = build_rows(l, ranges, n);
	if (code == FW_OK)
		bound_publics(l, ranges, n);
	free(ranges);
	if (code == FW_OK)
		code = fw_sym_finish_win(l);
	if (code)
		l->failed = code;
}

void fw_sym_free_stack(struct fw_sym_loader *l)
{
	fw_intern_deinit(&l->rule_texts);
	fw_vec_deinit(&l->rule_sets);
	fw_vec_deinit(&l->rules);
	fw_vec_deinit(&l->inits);
	fw_vec_deinit(&l->deltas);
	free(l->memo);
	fw_intern_deinit(&l->win_texts);
	fw_vec_deinit(&l->win_programs);
}
