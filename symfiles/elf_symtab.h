#ifndef FW_SYMFILES_ELF_SYMTAB_H
#define FW_SYMFILES_ELF_SYMTAB_H

#include "symfiles/elf_image.h"
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
	const struct fw_elf *object;	// relocatable: values count from their sections; else NULL
};

/** SHT_SYMTAB or SHT_DYNSYM (without section headers: by PT_DYNAMIC). False: none. */
bool fw_elf_symtab(struct fw_elf *elf, uint32_t type, struct fw_elf_symtab *ret);
/** Symbol number i; false past the end. */
bool fw_elf_sym(const struct fw_elf_symtab *t, uint64_t i, struct fw_elf_sym *ret);
/** Its name without version; empty when it has none or the table is damaged. */
struct fw_str fw_elf_sym_name(const struct fw_elf_symtab *t, uint32_t name);

/** A function by its symbol, where it ends by its size or its section's end. */
struct fw_elf_label {
	uint32_t start, end;		// offsets from the module's base
	bool plt;			// a stub: `name` is of what it calls
	struct fw_str name;		// in the file's own bytes
	struct fw_str source;		// of a local symbol: the file that its table says
};

/** Of all files of a module, ascending, one an address. */
struct fw_elf_labels {
	FW_VEC(struct fw_elf_label) list;
	uint32_t out_of_range;		// symbols that are no offsets of 32 bits
};

/** False: no memory. Call fw_elf_labels_deinit() in any case. */
bool fw_elf_labels_read(const struct fw_elf_files *files, struct fw_elf_labels *ret);
void fw_elf_labels_deinit(struct fw_elf_labels *labels);
/**
 * Labels become publics, but where a function of @p b starts, with @p details declarations,
 * too. FW_NO_MEMORY, FW_LIMIT.
 */
FW_MUST_CHECK enum fw_code fw_elf_labels_into(const struct fw_elf_label *labels, size_t count,
					      bool raw_names, bool details,
					      struct fw_builder *b, struct fw_error *err);

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
