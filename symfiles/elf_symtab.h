#ifndef FW_SYMFILES_ELF_SYMTAB_H
#define FW_SYMFILES_ELF_SYMTAB_H

#include "symfiles/elf_internal.h"

/* Symbol tables of one ELF file, for elf_symtab.c and elf_plt.c. */

struct fw_elf_sym {
	uint64_t value, size;
	uint32_t name;
	uint16_t section;
	uint8_t type, bind;
};

struct fw_elf_symtab {
	struct fw_bytes symbols, strings;
	bool wide;
};

/** SHT_SYMTAB or SHT_DYNSYM (without section headers: by PT_DYNAMIC). False: none. */
bool fw_elf_symtab(struct fw_elf *elf, uint32_t type, struct fw_elf_symtab *ret);
/** Symbol number i; false past the end. */
bool fw_elf_sym(const struct fw_elf_symtab *t, uint64_t i, struct fw_elf_sym *ret);
/** Its name without version; empty when it has none or the table is damaged. */
struct fw_str fw_elf_sym_name(const struct fw_elf_symtab *t, uint32_t name);

/** DT_SONAME, the name that a module is linked by. False: none. */
bool fw_elf_soname(struct fw_elf *elf, struct fw_str *ret);

/** Called for each stub: link-time address, size, and the name of what it calls. */
typedef bool (*fw_elf_plt_fn)(void *context, uint64_t address, uint64_t size, struct fw_str name);

/**
 * Find the procedure linkage table's stubs: x86, amd64, arm and arm64, by the GOT
 * slot that each jumps through and the relocation of that slot. False: the
 * callback said so.
 */
bool fw_elf_plt(struct fw_elf *elf, fw_elf_plt_fn fn, void *context);

#endif
