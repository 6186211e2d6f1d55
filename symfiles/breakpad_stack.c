#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "symfiles/breakpad_loader.h"

// STACK CFI. Its rules repeat: a few thousand texts among millions of records,
// so a text is parsed once, and what a text makes of a row is remembered.

static enum fw_code parse_rule_text(struct fw_sym_loader *l, struct fw_str text)
{
	struct fw_rule rules[FW_MAX_ROW_RULES];
	struct fw_sym_rules set = { .first = (uint32_t)l->rules.count };
	uint32_t count, unknown, failed;
	enum fw_code code = fw_rules_parse(&l->b->programs, l->cpu, text, rules, FW_MAX_ROW_RULES,
					   &count, &unknown, &failed, NULL);
	if (code == FW_NO_MEMORY)
		return code;
	set.count = count;
	set.failed = failed || code;
	set.malformed = code;
	if (!fw_vec_reserve(&l->rules, (size_t)count) || !fw_vec_push(&l->rule_sets, set))
		return FW_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		l->rules.data[l->rules.count++] = rules[i];
	return FW_OK;
}

/** Id of a rule text, parsed; false when the load is over. */
static bool rule_text(struct fw_sym_loader *l, struct fw_str text, uint32_t *ret)
{
	enum fw_code code = fw_intern_add(&l->rule_texts, text.s, text.n, ret);
	if (code == FW_OK && *ret == l->rule_sets.count)
		code = parse_rule_text(l, text);
	if (code) {
		l->failed = code;
		return false;
	}
	if (l->rule_sets.data[*ret].failed)
		fw_sym_bad(l, FW_DIAG_RULE);
	return true;
}

static enum fw_code add_row(struct fw_sym_loader *l, const struct fw_row *row, uint32_t *ret)
{
	if (l->b->cfi.row_first.count > FW_MAX_CFI_ROWS) {
		fw_sym_bad(l, FW_DIAG_LIMIT);
		*ret = 0;
		return FW_OK;
	}
	return fw_cfi_add_row(&l->b->cfi, row, ret);
}

/**
 * What Breakpad's dump_syms leaves of a signal trampoline, whose rules are all
 * DWARF expressions: the return address is said to be the pc itself, no CFA.
 */
static bool is_trampoline(const struct fw_row *row, const struct fw_cpu *cpu)
{
	const struct fw_rule *ra = &row->rules[1];
	return row->rules[0].kind == FW_RULE_FAILED &&
	       (ra->kind == FW_RULE_SAME ||
		(ra->kind == FW_RULE_REG && ra->reg == cpu->pc && ra->arg == 0));
}

static enum fw_code init_row(struct fw_sym_loader *l, uint32_t text, uint32_t *ret)
{
	struct fw_sym_rules *set = &l->rule_sets.data[text];
	struct fw_row row;
	bool has_cfa = false;
	if (set->init_row) {
		*ret = set->init_row;
		return FW_OK;
	}
	fw_row_init(&row, l->cpu);
	// an INIT with a fault is unusable as a whole, as it is for Breakpad
	for (uint32_t i = 0; i < set->count && !set->malformed; i++) {
		fw_row_set(&row, l->rules.data[set->first + i]);
		has_cfa |= l->rules.data[set->first + i].target == FW_SLOT_CFA;
	}
	if (!has_cfa && is_trampoline(&row, l->cpu))
		row.rules[0].flags = FW_ROW_RA_IN_PC | FW_ROW_SIGNAL;
	enum fw_code code = add_row(l, &row, ret);
	if (code == FW_OK)
		set->init_row = *ret;
	return code;
}

static void cfi_init(struct fw_sym_loader *l, struct fw_text t)
{
	struct fw_cfi_init init = { .order = (uint32_t)l->inits.count };
	uint64_t start, size;
	struct fw_str text;
	if (!fw_sym_hex(&t, &start) || !fw_sym_hex(&t, &size)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	if (!fw_sym_range(start, size, &init.end)) {
		fw_sym_bad(l, FW_DIAG_RANGE);
		return;
	}
	init.start = (uint32_t)start;
	fw_sym_rest(&t, &text);
	if (l->cpu) {
		uint32_t id;
		if (!rule_text(l, text, &id))
			return;
		enum fw_code code = init_row(l, id, &init.row);
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

static void cfi_delta(struct fw_sym_loader *l, struct fw_text t)
{
	struct fw_cfi_delta delta;
	uint64_t addr;
	struct fw_str text;
	if (!fw_sym_hex(&t, &addr)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	if (l->inits.count == 0) {
		fw_sym_bad(l, FW_DIAG_ORPHAN);
		return;
	}
	if (addr > UINT32_MAX) {
		fw_sym_bad(l, FW_DIAG_RANGE);
		return;
	}
	if (!l->cpu) {
		fw_sym_bad(l, FW_DIAG_RULE);
		return;
	}
	fw_sym_rest(&t, &text);
	delta.addr = (uint32_t)addr;
	if (rule_text(l, text, &delta.delta) && !fw_vec_push(&l->deltas, delta))
		l->failed = FW_NO_MEMORY;
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

static inline uint32_t memo_slot(const struct fw_sym_loader *l, uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & l->memo_mask;
}

static bool grow_memo(struct fw_sym_loader *l)
{
	struct fw_sym_row_memo *old = l->memo;
	uint32_t old_size = old ? l->memo_mask + 1 : 0, size = old ? 2 * old_size : 1024;
	if (size == 0 || fw_alloc_should_fail())
		return false;
	struct fw_sym_row_memo *memo = calloc(size, sizeof(*memo));
	if (!memo)
		return false;
	l->memo = memo;
	l->memo_mask = size - 1;
	for (uint32_t i = 0; i < old_size; i++) {
		if (!old[i].key)
			continue;
		uint32_t at = memo_slot(l, old[i].key);
		while (memo[at].key)
			at = (at + 1) & l->memo_mask;
		memo[at] = old[i];
	}
	free(old);
	return true;
}

void fw_sym_get_row(const struct fw_sym_loader *l, uint32_t row, struct fw_row *ret)
{
	const struct fw_cfi_builder *cfi = &l->b->cfi;
	uint32_t first = cfi->row_first.data[row];
	ret->count = cfi->row_first.data[row + 1] - first;
	memcpy(ret->rules, cfi->rules.data + first, ret->count * sizeof(*ret->rules));
}

/** What the rules @p text make of row @p from. */
static enum fw_code changed_row(struct fw_sym_loader *l, uint32_t from, uint32_t text,
				uint32_t *ret)
{
	const struct fw_sym_rules *set = &l->rule_sets.data[text];
	struct fw_row row;
	fw_sym_get_row(l, from, &row);
	for (uint32_t i = 0; i < set->count; i++) {
		fw_row_set(&row, l->rules.data[set->first + i]);
		if (l->rules.data[set->first + i].target == FW_SLOT_CFA)
			row.rules[0].flags &= FW_ROW_ENTRY;	// has a CFA, is no trampoline
	}
	return add_row(l, &row, ret);
}

static enum fw_code next_row(struct fw_sym_loader *l, uint32_t from, uint32_t text, uint32_t *ret)
{
	if (from == 0) {	// past the limit of rows
		*ret = 0;
		return FW_OK;
	}
	uint64_t key = (uint64_t)from << 32 | text;
	if ((!l->memo || l->memo_count * 2 > l->memo_mask) && !grow_memo(l))
		return FW_NO_MEMORY;
	uint32_t at = memo_slot(l, key);
	while (l->memo[at].key && l->memo[at].key != key)
		at = (at + 1) & l->memo_mask;
	if (l->memo[at].key == 0) {
		enum fw_code code = changed_row(l, from, text, &l->memo[at].row);
		if (code)
			return code;
		l->memo[at].key = key;
		l->memo_count++;
	}
	*ret = l->memo[at].row;
	return FW_OK;
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
		code = next_row(l, init->row, d[i].delta, &init->row);
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
