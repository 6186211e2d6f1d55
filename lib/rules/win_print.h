#ifndef FW_RULES_WIN_PRINT_H
#define FW_RULES_WIN_PRINT_H

#include "lib/base/out.h"
#include "lib/rules/program.h"
#include "lib/rules/stack_win.h"

/**
 * Print a STACK WIN record as Breakpad's symbol file document has it. The
 * program is spelt from its compiled form: names of scratch variables are
 * $T0, $T1 ... in order of appearance, "?" stands for what cannot be resolved.
 */
void fw_win_write(struct fw_out *out, const struct fw_programs *programs,
		  const struct fw_stack_win *win);

/** Its program alone. */
void fw_win_write_program(struct fw_out *out, const struct fw_programs *programs,
			  uint32_t index);

#endif
