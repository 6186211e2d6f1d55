#ifndef FW_RULES_CPU_H
#define FW_RULES_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/text.h"

enum fw_cpu_id {
	FW_CPU_UNKNOWN = 0,
	FW_CPU_X86,
	FW_CPU_AMD64,
	FW_CPU_ARM,
	FW_CPU_ARM64,
	// no contexts read and no stacks walked so far; those with registers have
	// unwind rules that can be read and printed
	FW_CPU_PPC,
	FW_CPU_PPC64,
	FW_CPU_SPARC,
	FW_CPU_MIPS,
	FW_CPU_MIPS64,
	FW_CPU_RISCV32,
	FW_CPU_RISCV64,
	FW_CPU_S390X,
};

enum {
	FW_CPU_REGS = 40,	// no table of registers is longer
	FW_SLOT_CFA = 40,	// slot of .cfa while a row is evaluated
	FW_SLOT_VARS = 41,	// STACK WIN constants and scratch variables
	FW_SLOTS = 64,
	FW_NO_REG = 0xff,
};

/**
 * Everything the generic code knows of a CPU. Register i's canonical name is
 * reg_names[i] and its DWARF number is i for i < dwarf_regs (System V psABI i386
 * table 2.14, amd64 figure 3.36; AADWARF32 and AADWARF64 "DWARF register names"
 * ...), so a name's id in the CPU's interner, its slot in a register map and its
 * DWARF number are one number. Slots from dwarf_regs on are registers that have
 * no small number there.
 */
struct fw_cpu {
	enum fw_cpu_id id;
	const char *name;		// as JSON prints it: "amd64"
	uint8_t word_size;		// bytes of a pointer: 4 or 8
	uint8_t num_regs;		// 0: known by name only
	uint8_t dwarf_regs;		// DWARF numbers below are register numbers
	uint8_t dwarf_lr;		// DWARF number of lr where that is larger; 0: it is not
	uint8_t pc, sp, fp, lr;		// register numbers or FW_NO_REG
	uint8_t call_back;		// return address - this lies in the call: 1, 2, 4, 8
	uint64_t word_mask;
	uint64_t callee_saved;		// bit per register a callee preserves (ABI); no sp, no pc
	const char *const *reg_names;
	const struct fw_reg_alias { const char *name; uint8_t reg; } *aliases;	// ends with NULL
	const char *const *sym_names;	// MODULE line's spellings, NULL-terminated
};

/** Never NULL: unknown ids give a CPU without registers named "unknown". */
const struct fw_cpu *fw_cpu_get(enum fw_cpu_id id);

/** CPU of a MODULE line's architecture word, or NULL. */
const struct fw_cpu *fw_cpu_by_sym_name(struct fw_str name);

/** Register number of a name ('$' optional, aliases known), or FW_NO_REG. */
uint8_t fw_cpu_reg(const struct fw_cpu *cpu, struct fw_str name);

/** Register of a DWARF number; FW_NO_REG for those that have no slot (vectors, flags ...). */
static inline uint8_t fw_cpu_dwarf_reg(const struct fw_cpu *cpu, uint64_t number)
{
	if (number < cpu->dwarf_regs)
		return (uint8_t)number;
	return cpu->dwarf_lr && number == cpu->dwarf_lr ? cpu->lr : FW_NO_REG;
}

#endif
