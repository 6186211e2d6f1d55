#ifndef FW_RULES_STACK_WIN_H
#define FW_RULES_STACK_WIN_H

#include <assert.h>
#include <stdint.h>

/** One STACK WIN record of type 4 (FrameData) or 0 (FPO); all sizes in bytes. */
struct fw_stack_win {
	uint32_t start, size;		// rva
	uint32_t prolog_size, epilog_size;
	uint32_t params_size, saved_regs_size, locals_size, max_stack_size;
	uint32_t program;		// index, or FW_NO_PROGRAM
	uint8_t type;			// 4 or 0
	uint8_t allocates_base_pointer;	// when there is no program
	uint8_t aligns;			// the program contains `@`
	uint8_t reserved;
};
static_assert(sizeof(struct fw_stack_win) == 40, "an image section");

#define FW_NO_PROGRAM UINT32_MAX

/** Where a record is in force; sorted, disjoint (innermost range wins). */
struct fw_stack_win_range {
	uint32_t start, end;		// end exclusive
	uint32_t record;
};

#endif
