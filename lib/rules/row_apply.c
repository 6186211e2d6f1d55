#include "lib/rules/program_internal.h"
#include "lib/rules/rule.h"

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

// `set` with bit number `bit` mod 64 set.
static inline uint64_t with_bit(uint64_t set, uint64_t bit)
{
#ifdef __x86_64__
	// compilers keep a 1 in a register and shift it, three instructions a rule
	__asm__("bts %1, %0" : "+r"(set) : "r"(bit) : "cc");
	return set;
#else
	return set | UINT64_C(1) << (bit & 63);
#endif
}

static inline uint64_t load_word(const uint8_t *p, bool word64)
{
	uint64_t v64;
	uint32_t v32;
	memcpy(&v64, p, sizeof(v64));
	memcpy(&v32, p, sizeof(v32));
	return word64 ? v64 : v32;
}

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

/*
 * The shape of nearly every row, FW_ROW_PLAIN: CFA from a register, everything
 * else a word near the CFA. While these words lie in the segment last read, in
 * our byte order, values go straight to their registers, as none of the rules
 * reads one. False: nothing that matters has changed, take the general way. A
 * flag that lies (a corrupt image) costs wrong values.
 */
static inline __attribute__((always_inline))
bool apply_plain(const struct fw_rule *rules, uint32_t count, const struct fw_cpu *cpu,
		 struct fw_regs *regs, const struct fw_memory_view *memory, bool word64)
{
	const uint64_t base = SLOT(rules[0].reg), valid = regs->valid, size = memory->size;
	if (UNLIKELY(!(valid >> base & 1)))
		return false;
	if (UNLIKELY(size < 8))
		return false;
	uint64_t cfa = regs->v[base] + (uint64_t)(int64_t)rules[0].arg;
	if (!word64)
		cfa = (uint32_t)cfa;
	const uint64_t near = cfa - memory->start, last = size - 8;
	const uint8_t *data = memory->data;
	uint64_t offset = near + (uint64_t)(int64_t)rules[1].arg;
	if (UNLIKELY(offset > last))
		return false;
	// sp may have a rule of its own, which then overwrites the CFA
	const uint64_t sp = cpu->sp, pc = cpu->pc;
	uint64_t set = with_bit(with_bit(valid & cpu->callee_saved, sp), pc);
	regs->v[FW_SLOT_CFA] = cfa;
	regs->v[sp] = cfa;
	regs->v[pc] = load_word(data + offset, word64);

	uint32_t i = 2;
#pragma GCC unroll 8
	for (; i < 10; i++) {	// unrolled: constant offsets, a compare and a jump a rule
		if (i >= count)
			goto done;
		offset = near + (uint64_t)(int64_t)rules[i].arg;
		if (UNLIKELY(offset > last))
			goto far;
		const uint64_t target = SLOT(rules[i].target);
		set = with_bit(set, target);
		regs->v[target] = load_word(data + offset, word64);
	}
	for (; i < count; i++) {
		offset = near + (uint64_t)(int64_t)rules[i].arg;
		if (UNLIKELY(offset > last))
			goto far;
		const uint64_t target = SLOT(rules[i].target);
		set = with_bit(set, target);
		regs->v[target] = load_word(data + offset, word64);
	}
done:
	regs->valid = set;
	return true;
far:	// put back the one register that such a row reads
	cfa = regs->v[FW_SLOT_CFA] - (uint64_t)(int64_t)rules[0].arg;
	regs->v[SLOT(rules[0].reg)] = word64 ? cfa : (uint32_t)cfa;
	return false;
}

__attribute__((noinline))
static bool apply_plain_32(const struct fw_rule *rules, uint32_t count, const struct fw_cpu *cpu,
			   struct fw_regs *regs, struct fw_memory_view *memory)
{
	return apply_plain(rules, count, cpu, regs, memory, false);
}

__attribute__((hot))
bool fw_row_apply_plain_(const struct fw_rule *rules, uint32_t count, const struct fw_cpu *cpu,
			 struct fw_regs *regs, struct fw_memory_view *memory)
{
	if (UNLIKELY(!(rules[0].flags & FW_ROW_PLAIN) ||
		     __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__))
		return false;
	// a view of memory in the other byte order is never given a segment
	if (UNLIKELY(cpu->word_size != 8))
		return apply_plain_32(rules, count, cpu, regs, memory);
	return apply_plain(rules, count, cpu, regs, memory, true);
}
