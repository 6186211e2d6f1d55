#ifndef FW_SYMFILES_LAZY_CFI_H
#define FW_SYMFILES_LAZY_CFI_H

#include "lib/rules/dwarf_cfi.h"
#include "symfiles/elf_file.h"

/**
 * Unwind rules of single addresses straight from a mapped ELF file, nothing
 * compiled: the row that the whole table would have there. An FDE is found by
 * .eh_frame_hdr's search table where that holds true, else in a listing that is
 * made once. A session overlay: one a worker; the files are shared.
 */
struct fw_lazy_cfi;

/**
 * @p elf is what is mapped, @p debug its separate debug file or NULL; both must outlive
 * *ret. Only finds the sections. FW_NO_MEMORY; FW_UNSUPPORTED: only compiling has all
 * rules (.debug_frame is packed, ARM's index), or there are none for this CPU.
 */
FW_MUST_CHECK enum fw_code fw_lazy_cfi_open(const struct fw_elf *elf, const struct fw_elf *debug,
					    struct fw_lazy_cfi **ret);
void fw_lazy_cfi_close(struct fw_lazy_cfi *c);

/** Is there any section of rules at all? */
bool fw_lazy_cfi_found(const struct fw_lazy_cfi *c);

/**
 * Rules in force at @p offset from the module's base, *ret_count (2 to FW_CPU_REGS + 2)
 * of them; NULL: none there. They and @p programs (may be NULL) are good until the next
 * call. Out of memory gives none.
 */
const struct fw_rule *fw_lazy_cfi_rules(struct fw_lazy_cfi *c, uint32_t offset,
					uint32_t *ret_count, struct fw_programs *programs);

#endif
