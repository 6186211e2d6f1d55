#ifndef FW_RULES_ROW_PLAIN_H
#define FW_RULES_ROW_PLAIN_H

#include <string.h>

#include "lib/rules/rule.h"

#define FW_SLOT(n) ((n) & (FW_SLOTS - 1))

// `set` with bit number `bit` mod 64 set.
static inline uint64_t fw_with_bit(uint64_t set, uint64_t bit)
{
#ifdef __x86_64__
	// compilers keep a 1 in a register and shift it, three instructions a rule
	__asm__("bts %1, %0" : "+r"(set) : "r"(bit) : "cc");
	return set;
#else
	return set | UINT64_C(1) << (bit & 63);
#endif
}

static inline uint64_t fw_load_word(const uint8_t *p, bool word64)
{
	uint64_t v64;
	uint32_t v32;
	memcpy(&v64, p, sizeof(v64));
	memcpy(&v32, p, sizeof(v32));
	return word64 ? v64 : v32;
}

/*
 * The shape of nearly every row, FW_ROW_PLAIN: CFA from a register, everything
 * else a word near the CFA. While these words lie in the segment last read, in
 * our byte order, values go straight to their registers, as none of the rules
 * reads one. False: nothing that matters has changed, take the general way. A
 * flag that lies (a corrupt image) costs wrong values.
 */
static inline __attribute__((always_inline))
bool fw_apply_plain(const struct fw_rule *rules, uint32_t count, const struct fw_cpu *cpu,
		    struct fw_regs *regs, const struct fw_memory_view *memory, bool word64)
{
	const uint64_t base = FW_SLOT(rules[0].reg), valid = regs->valid, size = memory->size;
	if (FW_UNLIKELY(!(valid >> base & 1)))
		return false;
	if (FW_UNLIKELY(size < 8))
		return false;
	uint64_t cfa = regs->v[base] + (uint64_t)(int64_t)rules[0].arg;
	if (!word64)
		cfa = (uint32_t)cfa;
	const uint64_t near = cfa - memory->start, last = size - 8;
	const uint8_t *data = memory->data;
	uint64_t offset = near + (uint64_t)(int64_t)rules[1].arg;
	if (FW_UNLIKELY(offset > last))
		return false;
	// sp may have a rule of its own, which then overwrites the CFA
	const uint64_t sp = cpu->sp, pc = cpu->pc;
	uint64_t set = fw_with_bit(fw_with_bit(valid & cpu->callee_saved, sp), pc);
	regs->v[FW_SLOT_CFA] = cfa;
	regs->v[sp] = cfa;
	regs->v[pc] = fw_load_word(data + offset, word64);

	uint32_t i = 2;
#pragma GCC unroll 8
	for (; i < 10; i++) {	// unrolled: constant offsets, a compare and a jump a rule
		if (i >= count)
			goto done;
		offset = near + (uint64_t)(int64_t)rules[i].arg;
		if (FW_UNLIKELY(offset > last))
			goto far;
		const uint64_t target = FW_SLOT(rules[i].target);
		set = fw_with_bit(set, target);
		regs->v[target] = fw_load_word(data + offset, word64);
	}
	for (; i < count; i++) {
		offset = near + (uint64_t)(int64_t)rules[i].arg;
		if (FW_UNLIKELY(offset > last))
			goto far;
		const uint64_t target = FW_SLOT(rules[i].target);
		set = fw_with_bit(set, target);
		regs->v[target] = fw_load_word(data + offset, word64);
	}
done:
	regs->valid = set;
	return true;
far:	// put back the one register that such a row reads
	cfa = regs->v[FW_SLOT_CFA] - (uint64_t)(int64_t)rules[0].arg;
	regs->v[FW_SLOT(rules[0].reg)] = word64 ? cfa : (uint32_t)cfa;
	return false;
}

#endif
