#include "lib/rules/program_internal.h"
#include "lib/rules/rule.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SLOT(n) ((n) & (FW_SLOTS - 1))

static_assert(FW_CPU_REGS <= FW_SLOT_CFA && FW_SLOT_CFA < FW_SLOTS, "slots fit a register map");

/** The callee as rules see it; a copy, so that no rule can see another's result. */
struct callee {
	const struct fw_cpu *cpu;
	const struct fw_programs *programs;
	struct fw_memory_view *memory;
	struct fw_regs regs;
};

enum value_result { VALUE_OK, VALUE_UNDEFINED, VALUE_FAILED, VALUE_NO_MEMORY };

static enum value_result base_value(struct callee *c, struct fw_rule rule, uint64_t *ret)
{
	unsigned slot = SLOT(rule.kind == FW_RULE_SAME ? rule.target : rule.reg);
	int64_t offset = rule.kind == FW_RULE_SAME ? 0 : rule.arg;
	if (rule.kind == FW_RULE_PROGRAM || rule.kind == FW_RULE_LOAD_PROGRAM) {
		switch (fw_program_run_(c->programs, (uint32_t)rule.arg, c->cpu, &c->regs,
					c->memory, NULL, ret)) {
		case FW_PROGRAM_OK:
			return VALUE_OK;
		case FW_PROGRAM_NO_MEMORY:
			return VALUE_NO_MEMORY;
		case FW_PROGRAM_FAILED:
			break;
		}
		return VALUE_FAILED;
	}
	if (rule.kind == FW_RULE_CFA || rule.kind == FW_RULE_LOAD_CFA)
		slot = FW_SLOT_CFA;
	if (!fw_regs_has(&c->regs, slot))
		return VALUE_FAILED;
	*ret = (c->regs.v[slot] + (uint64_t)offset) & c->cpu->word_mask;
	return VALUE_OK;
}

static enum value_result rule_value(struct callee *c, struct fw_rule rule, uint64_t *ret)
{
	if (rule.kind == FW_RULE_UNDEFINED)
		return VALUE_UNDEFINED;
	if (rule.kind == FW_RULE_FAILED || rule.kind >= FW_RULE_COUNT)
		return VALUE_FAILED;
	enum value_result r = base_value(c, rule, ret);
	if (r == VALUE_OK && (rule.kind == FW_RULE_LOAD_CFA || rule.kind == FW_RULE_LOAD_REG ||
			      rule.kind == FW_RULE_LOAD_PROGRAM) &&
	    !fw_memory_read(c->memory, *ret, c->cpu->word_size, ret))
		return VALUE_NO_MEMORY;
	return r;
}

static enum fw_row_result failure(enum value_result r, enum fw_row_result what)
{
	return r == VALUE_NO_MEMORY ? FW_ROW_NO_MEMORY : what;
}

// Every kind of rule, in any place; the contract's letter.
__attribute__((noinline, cold))
static enum fw_row_result apply_any(const struct fw_rule *rules, uint32_t count,
				    const struct fw_programs *programs, const struct fw_cpu *cpu,
				    struct fw_regs *regs, struct fw_memory_view *memory)
{
	struct callee c = { cpu, programs, memory, *regs };
	uint64_t cfa, ra, ruled = 0, set = 0;
	fw_regs_clear(&c.regs, FW_SLOT_CFA);
	enum value_result r = rule_value(&c, rules[0], &cfa);
	if (r != VALUE_OK)
		return failure(r, FW_ROW_NO_CFA);
	fw_regs_set(&c.regs, FW_SLOT_CFA, cfa);
	r = rule_value(&c, rules[1], &ra);
	if (r == VALUE_UNDEFINED)
		return FW_ROW_END;
	if (r != VALUE_OK)
		return failure(r, FW_ROW_NO_RA);
	for (uint32_t i = 2; i < count; i++) {
		unsigned target = SLOT(rules[i].target);
		uint64_t value;
		ruled |= UINT64_C(1) << target;
		if (rule_value(&c, rules[i], &value) == VALUE_OK) {
			regs->v[target] = value;
			set |= UINT64_C(1) << target;
		}
	}
	regs->valid = (c.regs.valid & cpu->callee_saved & ~ruled) | set;
	fw_regs_set(regs, SLOT(cpu->pc), ra);
	if (!(ruled >> SLOT(cpu->sp) & 1))
		fw_regs_set(regs, SLOT(cpu->sp), cfa);
	fw_regs_clear(regs, FW_SLOT_CFA);
	return FW_ROW_OK;
}

// Put back what the fast path overwrote before it met a rule it cannot do.
__attribute__((noinline, cold))
static enum fw_row_result start_over(const struct fw_rule *rules, const struct fw_rule *at,
				     uint32_t count, const uint64_t *old,
				     const struct fw_programs *programs,
				     const struct fw_cpu *cpu, struct fw_regs *regs,
				     struct fw_memory_view *memory)
{
	// backwards, so that a target named twice ends with its first value
	while (at > rules + 2) {
		at--;
		regs->v[SLOT(at->target)] = old[at - rules];
	}
	return apply_any(rules, count, programs, cpu, regs, memory);
}

/*
 * The shape of nearly every row: CFA from a register, everything else a word
 * near the CFA, all of it in the segment last read, in our byte order. Values
 * go straight to their registers, as none of these rules reads one; the old
 * values are kept for the case that a later rule is of another kind.
 */
enum fw_row_result fw_row_apply(const struct fw_rule *rules, uint32_t count,
				const struct fw_programs *programs, const struct fw_cpu *cpu,
				struct fw_regs *regs, struct fw_memory_view *memory)
{
	uint64_t old[FW_CPU_REGS + 2];
	if (UNLIKELY(count - 2 > FW_CPU_REGS))
		return FW_ROW_NO_CFA;
	const struct fw_rule *r = rules, *end = rules + count;
	const uint64_t mask = cpu->word_mask, valid = regs->valid;
	const unsigned base = SLOT(r[0].reg);
	if (UNLIKELY(r[0].kind != FW_RULE_REG || !(valid >> base & 1) ||
		     r[1].kind != FW_RULE_LOAD_CFA || memory->size < 8 || memory->memory->swap ||
		     __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__))
		return apply_any(rules, count, programs, cpu, regs, memory);

	const uint64_t cfa = (regs->v[base] + (uint64_t)(int64_t)r[0].arg) & mask;
	const uint64_t near = cfa - memory->start, last = memory->size - 8;
	const uint8_t *data = memory->data;
	uint64_t offset = near + (uint64_t)(int64_t)r[1].arg, ra;
	if (UNLIKELY(offset > last))
		return apply_any(rules, count, programs, cpu, regs, memory);
	memcpy(&ra, data + offset, 8);

	uint64_t set = 0;
	for (r += 2; r < end; r++) {
		const unsigned target = SLOT(r->target);
		uint64_t value;
		offset = near + (uint64_t)(int64_t)r->arg;
		if (UNLIKELY(r->kind != FW_RULE_LOAD_CFA || offset > last))
			return start_over(rules, r, count, old, programs, cpu, regs, memory);
		memcpy(&value, data + offset, 8);
		old[r - rules] = regs->v[target];
		regs->v[target] = value & mask;
		set |= UINT64_C(1) << target;
	}

	const uint64_t sp = UINT64_C(1) << SLOT(cpu->sp);
	if (LIKELY(!(set & sp)))
		regs->v[SLOT(cpu->sp)] = cfa;
	regs->v[SLOT(cpu->pc)] = ra & mask;
	regs->valid = (valid & cpu->callee_saved) | set | sp | UINT64_C(1) << SLOT(cpu->pc);
	return FW_ROW_OK;
}
