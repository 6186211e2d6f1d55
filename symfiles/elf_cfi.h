#ifndef FW_SYMFILES_ELF_CFI_H
#define FW_SYMFILES_ELF_CFI_H

#include "lib/rules/dwarf_cfi.h"
#include "symfiles/elf_image.h"

/**
 * ARM's index of exception tables, in the gaps that other rules leave (EHABI,
 * "Exception Handling ABI for the Arm Architecture" 2023Q3).
 */
struct fw_exidx;

/** *ret is NULL where the file has none. */
FW_MUST_CHECK enum fw_code fw_exidx_open(struct fw_elf *elf, struct fw_builder *b,
					 struct fw_exidx **ret);
void fw_exidx_close(struct fw_exidx *x);

/** Append its rows in [from, to), offsets from the module's base; calls ascend. */
FW_MUST_CHECK enum fw_code fw_exidx_fill(struct fw_exidx *x, uint64_t from, uint64_t to);

#endif
