#ifndef FW_RULES_PROGRAM_INTERNAL_H
#define FW_RULES_PROGRAM_INTERNAL_H

#include "lib/rules/program.h"

/** Why a program came to nothing, for callers that tell missing memory from bad rules. */
enum fw_program_result {
	FW_PROGRAM_OK = 0,
	FW_PROGRAM_FAILED,
	FW_PROGRAM_NO_MEMORY,	// a word was not in the capture
};

/** fw_program_run() with a reason. */
enum fw_program_result fw_program_run_(const struct fw_programs *set, uint32_t index,
	const struct fw_cpu *cpu, struct fw_regs *regs, struct fw_memory_view *memory,
	uint64_t *assigned, uint64_t *ret);

/** Add n ops, unless there is such a program already. FW_NO_MEMORY, FW_LIMIT. */
FW_MUST_CHECK enum fw_code fw_program_add_(struct fw_program_set *set, const struct fw_op *ops,
					   uint32_t n, uint32_t *ret, struct fw_error *err);

/** A literal of a postfix text: digits, '-' allowed before them. */
enum fw_literal_result { FW_LITERAL_NONE, FW_LITERAL_OK, FW_LITERAL_TOO_BIG };
enum fw_literal_result fw_literal_parse_(struct fw_str token, uint64_t *ret);

#endif
