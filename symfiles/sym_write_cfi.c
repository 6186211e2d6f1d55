#include "symfiles/sym_writer.h"

// STACK CFI. The table knows no FDEs, so INITs begin where functions and symbols
// do: other readers look for the INIT of an address first, and ours ends a PUBLIC
// where its INIT ends.

void fw_sym_cutter_init(struct fw_sym_cutter *c, const struct fw_sym_writer *w)
{
	*c = (struct fw_sym_cutter){ .w = w, .last_end = UINT64_MAX };
	fw_cfi_walk_init(&c->walk, &w->image->cfi);
}

/** The first place behind @p at where an INIT begins whatever the rows are. */
static uint64_t next_cut(struct fw_sym_cutter *c, uint64_t at)
{
	const struct fw_sym_writer *w = c->w;
	uint64_t cut = UINT64_MAX;
	while (c->func < w->num_funcs && w->funcs[c->func].start <= at)
		c->func++;
	while (c->public_start < w->num_publics && w->publics[c->public_start].start <= at)
		c->public_start++;
	while (c->public_end < w->num_publics && w->publics[c->public_end].end <= at)
		c->public_end++;
	if (c->func < w->num_funcs)
		cut = w->funcs[c->func].start;
	if (c->public_start < w->num_publics && w->publics[c->public_start].start < cut)
		cut = w->publics[c->public_start].start;
	if (c->public_end < w->num_publics && w->publics[c->public_end].end < cut)
		cut = w->publics[c->public_end].end;
	return cut;
}

static bool is_cut(struct fw_sym_cutter *c, uint64_t at)
{
	return at > 0 && next_cut(c, at - 1) == at;
}

static const struct fw_rule *rules_of(const struct fw_sym_writer *w, uint32_t row, uint32_t *count)
{
	return fw_cfi_rules(&w->image->cfi, row, count);
}

static bool same_rule(const struct fw_rule *a, const struct fw_rule *b)
{
	return a->kind == b->kind && a->target == b->target && a->reg == b->reg &&
	       a->arg == b->arg;
}

static bool is_callee_saved(const struct fw_cpu *cpu, uint8_t reg)
{
	return cpu->callee_saved >> reg & 1;
}

/**
 * Can a change record make @p to of @p from? Not when a rule has to go whose
 * register means something else without one, nor for what only INITs say.
 */
static bool can_change(const struct fw_sym_writer *w, uint32_t from, uint32_t to)
{
	uint32_t na, nb, k = 2;
	const struct fw_rule *a = rules_of(w, from, &na), *b = rules_of(w, to, &nb);
	const uint8_t flags = FW_ROW_SIGNAL | FW_ROW_RA_IN_PC | FW_ROW_ENTRY;
	if (!a || !b || (a[0].flags & flags) != (b[0].flags & flags))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		if (!same_rule(&a[i], &b[i]) && b[i].kind == FW_RULE_FAILED)
			return false;
	for (uint32_t i = 2; i < na; i++) {
		while (k < nb && b[k].target < a[i].target)
			k++;
		if ((k == nb || b[k].target != a[i].target) &&
		    !is_callee_saved(w->cpu, a[i].target))
			return false;
	}
	return true;
}

bool fw_sym_cutter_next(struct fw_sym_cutter *c, struct fw_sym_piece *ret)
{
	if (c->left.start >= c->left.end && !fw_cfi_walk_next(&c->walk, &c->left))
		return false;
	*ret = (struct fw_sym_piece){ .at = c->left, .before = c->last_row };
	ret->init = c->left.start != c->last_end || is_cut(c, c->left.start) ||
		    !can_change(c->w, c->last_row, c->left.row);
	uint64_t cut = next_cut(c, c->left.start);
	if (cut < ret->at.end)
		ret->at.end = cut;
	c->left.start = c->last_end = ret->at.end;
	c->last_row = ret->at.row;
	return true;
}

enum fw_code fw_sym_plan_cfi(struct fw_sym_writer *w)
{
	struct fw_sym_cutter c;
	struct fw_sym_piece p;
	fw_sym_cutter_init(&c, w);
	while (fw_sym_cutter_next(&c, &p)) {
		struct fw_sym_range range = { p.at.start, p.at.end };
		if (!p.init)
			w->inits.data[w->inits.count - 1].end = p.at.end;
		else if (!fw_vec_push(&w->inits, range))
			return FW_NO_MEMORY;
	}
	return FW_OK;
}

enum { MAX_PROGRAM_TEXT = 65536 };

static bool is_word(struct fw_str s, const char *word)
{
	return s.n == strlen(word) && memcmp(s.s, word, s.n) == 0;
}

static bool is_number(struct fw_str s, uint64_t *ret)
{
	struct fw_text t = { s.s, s.s + s.n };
	return fw_text_dec(&t, ret) && t.p == t.end;
}

/**
 * A program as Breakpad's operators can say it, where they can: the shapes in which
 * linkers describe a PLT, `x 15 and 11 ge 3 shl`. Other operators of DWARF stay;
 * whoever reads them has no rule.
 */
static void put_program(struct fw_out *out, struct fw_str text)
{
	struct fw_text t = { text.s, text.s + text.n };
	struct fw_str token, last = { "", 0 };
	uint64_t v = 0, modulus = 0;	// of what was written last, when that is `modulus %`
	bool pending = false;		// a number that its operator may change
	const char *blank = "";
	while (fw_text_token(&t, &token)) {
		bool low_bits = pending && v < UINT32_MAX && (v & (v + 1)) == 0;
		uint64_t next_modulus = 0;
		if (pending && low_bits && is_word(token, "and")) {
			next_modulus = v + 1;
			fw_out_printf(out, "%s%llu %%", blank, (unsigned long long)next_modulus);
		} else if (pending && v < 32 && is_word(token, "shl")) {
			fw_out_printf(out, "%s%llu *", blank, 1ULL << v);
		} else if (pending && v && v <= modulus && is_word(token, "ge")) {
			fw_out_printf(out, "%s%llu + %llu /", blank,
				      (unsigned long long)(modulus - v),
				      (unsigned long long)modulus);
		} else {
			if (pending) {
				fw_out_cstr(out, blank);
				fw_out_str(out, last);
				blank = " ";
			}
			pending = is_number(token, &v);
			last = token;
			if (pending)
				continue;	// modulus: what stands before the number
			fw_out_cstr(out, blank);
			fw_out_str(out, token);
		}
		blank = " ";
		pending = false;
		modulus = next_modulus;
	}
	if (pending) {
		fw_out_cstr(out, blank);
		fw_out_str(out, last);
	}
}

static void print_rule(struct fw_sym_writer *w, struct fw_rule rule)
{
	struct fw_out text;
	if (rule.kind != FW_RULE_PROGRAM && rule.kind != FW_RULE_LOAD_PROGRAM) {
		fw_rule_print(w->out, w->cpu, &w->image->programs, rule);
		return;
	}
	fw_out_init_memory(&text, MAX_PROGRAM_TEXT);
	fw_rule_print(&text, w->cpu, &w->image->programs, rule);
	if (!text.failed)
		put_program(w->out, (struct fw_str){ text.data, text.count });
	fw_out_deinit(&text);
}

static void put_rule(struct fw_sym_writer *w, struct fw_rule rule)
{
	if (w->change_due) {
		fw_out_lit(w->out, "STACK CFI ");
		fw_out_hex(w->out, w->change_at, 1);
		w->change_due = false;
	}
	fw_out_byte(w->out, ' ');
	// a register whose rule is no use is as unknown as an undefined one
	if (rule.kind == FW_RULE_FAILED && rule.target != FW_SLOT_CFA &&
	    rule.target != w->cpu->pc)
		rule.kind = FW_RULE_UNDEFINED;
	print_rule(w, rule);
}

static void put_init_rules(struct fw_sym_writer *w, uint32_t row)
{
	uint32_t n;
	const struct fw_rule *r = rules_of(w, row, &n);
	if (!r)
		return;
	bool in_pc = r[0].flags & FW_ROW_RA_IN_PC;
	for (uint32_t i = in_pc; i < n; i++) {
		bool is_unknown = r[i].kind == FW_RULE_UNDEFINED || r[i].kind == FW_RULE_FAILED;
		// unknown anyway, and `.undef` would cost other readers the frame
		if (i > 1 && is_unknown && !is_callee_saved(w->cpu, r[i].target))
			continue;
		put_rule(w, r[i]);
	}
	if (r[0].flags & FW_ROW_SIGNAL && !in_pc)
		fw_out_lit(w->out, " .signal: 1");
}

/** The register of a rule that goes has its own value again. */
static void put_same(struct fw_sym_writer *w, const struct fw_rule *gone)
{
	if (gone->kind != FW_RULE_SAME)
		put_rule(w, (struct fw_rule){ FW_RULE_SAME, .target = gone->target });
}

static void put_changes(struct fw_sym_writer *w, uint32_t from, uint32_t to)
{
	uint32_t na, nb, k = 2;
	const struct fw_rule *a = rules_of(w, from, &na), *b = rules_of(w, to, &nb);
	if (!a || !b)
		return;
	for (uint32_t i = 0; i < 2; i++)
		if (!same_rule(&a[i], &b[i]))
			put_rule(w, b[i]);
	for (uint32_t i = 2; i < nb; i++) {
		for (; k < na && a[k].target < b[i].target; k++)
			put_same(w, &a[k]);
		bool has = k < na && a[k].target == b[i].target;
		if (!has || !same_rule(&a[k], &b[i]))
			put_rule(w, b[i]);
		k += has;
	}
	for (; k < na; k++)
		put_same(w, &a[k]);
}

void fw_sym_write_cfi(struct fw_sym_writer *w)
{
	struct fw_out *out = w->out;
	struct fw_sym_cutter c;
	struct fw_sym_piece p;
	size_t next = 0;
	fw_sym_cutter_init(&c, w);
	while (fw_sym_cutter_next(&c, &p)) {
		if (p.init) {
			const struct fw_sym_range *range = &w->inits.data[next++];
			fw_out_lit(out, "STACK CFI INIT ");
			fw_out_hex(out, range->start, 1);
			fw_out_byte(out, ' ');
			fw_out_hex(out, range->end - range->start, 1);
			put_init_rules(w, p.at.row);
		} else {
			w->change_at = p.at.start;
			w->change_due = true;
			put_changes(w, p.before, p.at.row);
		}
		if (!w->change_due)	// else the rows only differ in what goes without saying
			fw_out_byte(out, '\n');
		w->change_due = false;
	}
}
