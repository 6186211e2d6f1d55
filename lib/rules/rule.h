#ifndef FW_RULES_RULE_H
#define FW_RULES_RULE_H

#include <assert.h>

#include "lib/base/out.h"
#include "lib/rules/program.h"

enum fw_rule_kind {
	FW_RULE_UNDEFINED = 0,	// value cannot be recovered; as a return address: outermost frame
	FW_RULE_FAILED,		// the file's rule was unusable: value unknown, not "no more frames"
	FW_RULE_SAME,		// caller's value is the callee's
	FW_RULE_REG,		// reg + arg
	FW_RULE_CFA,		// cfa + arg
	FW_RULE_LOAD_REG,	// word at (reg + arg)
	FW_RULE_LOAD_CFA,	// word at (cfa + arg)
	FW_RULE_PROGRAM,	// value of program arg
	FW_RULE_LOAD_PROGRAM,	// word at the value of program arg (DW_CFA_expression)
	FW_RULE_COUNT
};

enum {	// flags of a row, kept in its first rule
	FW_ROW_SIGNAL = 1,	// a signal trampoline: the caller's pc is exact, no return address
	FW_ROW_RA_IN_PC = 2,	// `.ra: $pc` without .cfa: what dump_syms leaves of a trampoline
	FW_ROW_ENTRY = 8,	// of a function that nothing calls: a caller's frame here is the outermost
	FW_ROW_PLAIN = 4,	// .cfa is FW_RULE_REG, all others are FW_RULE_LOAD_CFA;
				// set by fw_cfi_add_row(), lets fw_row_apply() go straight
};

/**
 * One register's rule, 8 bytes. In a row, rules[0] is always the CFA's (target
 * FW_SLOT_CFA) and rules[1] the return address's (target cpu->pc).
 */
struct fw_rule {
	uint8_t kind;		// enum fw_rule_kind
	uint8_t target;		// register the rule recovers
	uint8_t reg;		// base register of REG and LOAD_REG
	uint8_t flags;		// rules[0]: FW_ROW_*
	int32_t arg;		// byte offset, or program index
};
static_assert(sizeof(struct fw_rule) == 8, "rules are stored by the million");

/** A row being built or edited: rules sorted, [0] CFA, [1] RA, then by register. */
struct fw_row {
	uint32_t count;
	struct fw_rule rules[FW_CPU_REGS + 2];
};

/** An empty row: CFA and RA FW_RULE_FAILED, no others. */
void fw_row_init(struct fw_row *row, const struct fw_cpu *cpu);
/**
 * Add or replace the rule of rule.target, keeping the order and the row's flags;
 * rule.flags is ignored. Different spellings of one rule become one.
 */
void fw_row_set(struct fw_row *row, struct fw_rule rule);

/**
 * Parse the rule text of a STACK CFI record ("name: expr name: expr ...") into
 * @p rules (at most @p max; later duplicates override). Shapes `reg`, `reg imm +`,
 * `reg imm -`, `.cfa imm +`, and each with `^`, become plain records; the rest
 * programs. Names of no register are dropped and counted in *ret_unknown. A bad
 * expression gives that target FW_RULE_FAILED (peers' trap 3: only .cfa and .ra
 * are fatal), is counted in *ret_failed, and *err says what is wrong with the last
 * one. `.undef` is FW_RULE_UNDEFINED.
 * FW_MALFORMED: no rule at all, an empty name, text before the first name;
 * rules parsed before the error are in @p rules and *ret_count all the same.
 */
FW_MUST_CHECK enum fw_code fw_rules_parse(struct fw_program_set *set, const struct fw_cpu *cpu,
	struct fw_str text, struct fw_rule *rules, uint32_t max, uint32_t *ret_count,
	uint32_t *ret_unknown, uint32_t *ret_failed, struct fw_error *err);

/** Print a rule as Breakpad would write it: ".cfa: $rsp 8 +"; programs are spelt out. */
void fw_rule_print(struct fw_out *out, const struct fw_cpu *cpu, const struct fw_programs *set,
		   struct fw_rule rule);

/** What applying a row came to. */
enum fw_row_result {
	FW_ROW_OK = 0,
	FW_ROW_END,		// the return address is undefined: this frame is the outermost
	FW_ROW_NO_CFA,		// .cfa could not be computed
	FW_ROW_NO_RA,		// the return address could not be computed
	FW_ROW_NO_MEMORY,	// one of the two needs memory that the capture lacks
};

bool fw_row_apply_plain_(const struct fw_rule *rules, uint32_t count, const struct fw_cpu *cpu,
			 struct fw_regs *regs, struct fw_memory_view *memory);
enum fw_row_result fw_row_apply_any_(const struct fw_rule *rules, uint32_t count,
	const struct fw_programs *programs, const struct fw_cpu *cpu,
	struct fw_regs *regs, struct fw_memory_view *memory);

/**
 * Turn the callee's registers into the caller's, in place (untouched unless
 * FW_ROW_OK). @p count is 2 to FW_CPU_REGS + 2, as fw_cfi_rules() ensures. Rules
 * see the callee's registers and .cfa, never each other's results. Afterwards:
 * pc is the return address, sp the CFA unless it has a rule of its own;
 * callee-saved registers without a rule keep value and validity; a failing rule
 * makes its register unknown; all others become unknown. Values wrap at the
 * word. This is the hot path of walking.
 */
static inline enum fw_row_result fw_row_apply(const struct fw_rule *rules, uint32_t count,
	const struct fw_programs *programs, const struct fw_cpu *cpu,
	struct fw_regs *regs, struct fw_memory_view *memory)
{
	if (__builtin_expect(fw_row_apply_plain_(rules, count, cpu, regs, memory), 1))
		return FW_ROW_OK;
	return fw_row_apply_any_(rules, count, programs, cpu, regs, memory);
}

#endif
