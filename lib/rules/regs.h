#ifndef FW_RULES_REGS_H
#define FW_RULES_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/rules/cpu.h"

/**
 * Register map: values in a small fixed array with a validity bit each, copied
 * by value. Slots 0 .. num_regs-1 are the CPU's registers, FW_SLOT_CFA is .cfa
 * and FW_SLOT_VARS onwards hold STACK WIN variables, so evaluating never
 * compares a string. A value is only meaningful where its bit is set.
 */
struct fw_regs {
	uint64_t valid;
	uint64_t v[FW_SLOTS];
};

static inline bool fw_regs_has(const struct fw_regs *r, unsigned slot)
{
	return r->valid >> slot & 1;
}

static inline void fw_regs_set(struct fw_regs *r, unsigned slot, uint64_t value)
{
	r->v[slot] = value;
	r->valid |= UINT64_C(1) << slot;
}

static inline void fw_regs_clear(struct fw_regs *r, unsigned slot)
{
	r->valid &= ~(UINT64_C(1) << slot);
}

#endif
