#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "symfiles/breakpad_loader.h"

// Rules of STACK CFI repeat: a few thousand texts among millions of records, so a
// text is parsed once, and what a text makes of a row is remembered.

static bool is_token(struct fw_str s, const char *word)
{
	return s.n == strlen(word) && memcmp(s.s, word, s.n) == 0;
}

/**
 * `.ra: .ra`, which no expression can mean: dump_syms writes it where the return
 * address is back in the register it came in (DW_CFA_restore without a rule of
 * the CIE), which the ABIs of arm and arm64 say is lr.
 */
static bool restores_ra(struct fw_str text)
{
	struct fw_text t = { text.s, text.s + text.n };
	struct fw_str token;
	bool name = false, value = false;
	while (fw_text_token(&t, &token)) {
		if (token.s[token.n - 1] == ':') {
			if (value)
				return true;
			name = is_token(token, ".ra:");
		} else {
			value = name && is_token(token, ".ra");
			name = false;
		}
	}
	return value;
}

/** `.signal: 1`, which our writer adds to the INIT of a signal trampoline. */
static bool has_signal_mark(struct fw_str text)
{
	static const struct fw_str mark = FW_STR(".signal: 1");
	const char *p = text.n ? memmem(text.s, text.n, mark.s, mark.n) : NULL;
	if (!p || (p > text.s && !fw_is_blank(p[-1])))
		return false;
	p += mark.n;
	return p == text.s + text.n || fw_is_blank(*p);
}

static enum fw_code parse_rule_text(struct fw_sym_loader *l, struct fw_str text)
{
	struct fw_rule rules[FW_MAX_ROW_RULES];
	struct fw_sym_rules set = { .first = (uint32_t)l->rules.count };
	uint32_t count, unknown, failed;
	enum fw_code code = fw_rules_parse(&l->b->programs, l->cpu, text, rules, FW_MAX_ROW_RULES,
					   &count, &unknown, &failed, NULL);
	if (code == FW_NO_MEMORY)
		return code;
	for (uint32_t i = 0; i < count && failed && l->cpu->lr != FW_NO_REG; i++) {
		if (rules[i].target != l->cpu->pc || rules[i].kind != FW_RULE_FAILED ||
		    !restores_ra(text))
			continue;
		rules[i] = (struct fw_rule){ .kind = FW_RULE_REG, .target = l->cpu->pc,
					     .reg = l->cpu->lr };
		failed--;
	}
	set.count = count;
	set.failed = failed || code;
	set.malformed = code;
	set.signal = has_signal_mark(text);
	if (!fw_vec_reserve(&l->rules, (size_t)count) || !fw_vec_push(&l->rule_sets, set))
		return FW_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		l->rules.data[l->rules.count++] = rules[i];
	return FW_OK;
}

static inline uint64_t load64(const char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/** Place in l->recent for a text of at least 16 bytes. */
static inline uint32_t recent_slot(const char *s, size_t n)
{
	uint64_t h = load64(s + n / 2 - 4) * 31 + load64(s + n - 8) + n;
	return (uint32_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32) % FW_SYM_RECENT;
}

static inline bool same_text(const char *a, const char *b, size_t n)
{
	size_t last = n - 8, i = 0;
	for (; i < last; i += 8)
		if (load64(a + i) != load64(b + i))
			return false;
	return load64(a + last) == load64(b + last);
}

static enum fw_code find_rule_text(struct fw_sym_loader *l, struct fw_str text, uint32_t *ret)
{
	enum fw_code code = fw_intern_add(&l->rule_texts, text.s, text.n, ret);
	return code == FW_OK && *ret == l->rule_sets.count ? parse_rule_text(l, text) : code;
}

bool fw_sym_rule_text(struct fw_sym_loader *l, struct fw_str text, uint32_t *ret)
{
	uint32_t slot = text.n >= 16 ? recent_slot(text.s, text.n) : 0;
	uint32_t id = l->recent[slot];
	if (text.n >= 16 && id < fw_intern_count(&l->rule_texts)) {
		struct fw_str known = fw_intern_get(&l->rule_texts, id);
		if (known.n == text.n && same_text(known.s, text.s, text.n))
			goto found;
	}
	enum fw_code code = find_rule_text(l, text, &id);
	if (code) {
		l->failed = code;
		return false;
	}
	l->recent[slot] = id;
found:
	if (l->rule_sets.data[id].failed)
		fw_sym_bad(l, FW_DIAG_RULE);
	*ret = id;
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

enum fw_code fw_sym_init_row(struct fw_sym_loader *l, uint32_t text, uint32_t *ret)
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
	if (set->signal)
		row.rules[0].flags = FW_ROW_SIGNAL;
	else if (!has_cfa && is_trampoline(&row, l->cpu))
		row.rules[0].flags = FW_ROW_RA_IN_PC | FW_ROW_SIGNAL;
	enum fw_code code = add_row(l, &row, ret);
	if (code == FW_OK)
		set->init_row = *ret;
	return code;
}

// A multiplier that nobody can know: a file chooses its keys.
static inline uint32_t memo_slot(const struct fw_sym_loader *l, uint64_t key)
{
	uint64_t odd = (l->rule_texts.seed ^ UINT64_C(0x9e3779b97f4a7c15)) | 1;
	return (uint32_t)(key * odd >> 32) & l->memo_mask;
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

enum fw_code fw_sym_next_row(struct fw_sym_loader *l, uint32_t from, uint32_t text, uint32_t *ret)
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
