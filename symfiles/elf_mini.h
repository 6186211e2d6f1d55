#ifndef FW_SYMFILES_ELF_MINI_H
#define FW_SYMFILES_ELF_MINI_H

#include "lib/base/pages.h"
#include "symfiles/elf_file.h"

/**
 * MiniDebugInfo (gdb manual, "Debugging information in a special section"): an ELF file
 * with the functions' symbols, xz-packed in .gnu_debugdata.
 */
struct fw_mini {
	struct fw_elf *elf;
	struct fw_pages pages;		// its bytes
};

/** False: there is none, or it is damaged. Call fw_mini_close() in any case. */
bool fw_mini_open(struct fw_elf *elf, struct fw_mini *ret);
void fw_mini_close(struct fw_mini *mini);

#endif
