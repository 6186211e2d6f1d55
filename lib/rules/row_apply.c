#include "lib/rules/program_internal.h"
#include "lib/rules/row_plain.h"

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
	unsigned slot = FW_SLOT(rule.kind == FW_RULE_SAME ? rule.target : rule.reg);
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
enum fw_row_result fw_row_apply_any_(const struct fw_rule *rules, uint32_t count,
				     const struct fw_programs *programs,
				     const struct fw_cpu *cpu, struct fw_regs *regs,
				     struct fw_memory_view *memory)
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
		unsigned target = FW_SLOT(rules[i].target);
		uint64_t value;
		ruled |= UINT64_C(1) << target;
		if (rule_value(&c, rules[i], &value) == VALUE_OK) {
			regs->v[target] = value;
			set |= UINT64_C(1) << target;
		}
	}
	regs->valid = (c.regs.valid & cpu->callee_saved & ~ruled) | set;
	fw_regs_set(regs, FW_SLOT(cpu->pc), ra);
	if (!(ruled >> FW_SLOT(cpu->sp) & 1))
		fw_regs_set(regs, FW_SLOT(cpu->sp), cfa);
	fw_regs_clear(regs, FW_SLOT_CFA);
	return FW_ROW_OK;
}

__attribute__((noinline))
static bool apply_plain_32(const struct fw_rule *rules, uint32_t count, const struct fw_cpu *cpu,
			   struct fw_regs *regs, struct fw_memory_view *memory)
{
	return fw_apply_plain(rules, count, cpu, regs, memory, false);
}

__attribute__((hot))
bool fw_row_apply_plain_(const struct fw_rule *rules, uint32_t count, const struct fw_cpu *cpu,
			 struct fw_regs *regs, struct fw_memory_view *memory)
{
	if (FW_UNLIKELY(!(rules[0].flags & FW_ROW_PLAIN) ||
			__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__))
		return false;
	// a view of memory in the other byte order is never given a segment
	if (FW_UNLIKELY(cpu->word_size != 8))
		return apply_plain_32(rules, count, cpu, regs, memory);
	return fw_apply_plain(rules, count, cpu, regs, memory, true);
}
