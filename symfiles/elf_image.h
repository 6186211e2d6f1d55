#ifndef FW_SYMFILES_ELF_IMAGE_H
#define FW_SYMFILES_ELF_IMAGE_H

#include "lib/image/builder.h"
#include "symfiles/elf_file.h"

/**
 * From ELF and DWARF to a module image. The files of one module, by identity:
 * any may be the same object, all but `elf` may be NULL. Runs in the loader
 * process; single-threaded.
 */
struct fw_elf_files {
	struct fw_elf *elf;		// what is mapped: code, .eh_frame, .dynsym
	struct fw_elf *debug;		// its separate debug file: .debug_*, .symtab
	struct fw_elf *alt;		// dwz's shared file (.gnu_debugaltlink)
	struct fw_elf *mini;		// .gnu_debugdata, unpacked: a .symtab more
	/** Open a split DWARF file (.dwo by name and comp_dir, .dwp by the program's
	 *  name); NULL: not there. The callee keeps ownership. */
	struct fw_elf *(*open_dwo)(void *context, struct fw_str comp_dir, struct fw_str name);
	void *context;
	bool raw_names;			// linkage names as they stand, not demangled
	bool details;			// and columns, discriminators, declarations
	bool no_names;			// unwind rules only
};

/** FUNC-like records, lines and inlined calls from DWARF 2 to 5 (symfiles/dwarf_*.c). */
FW_MUST_CHECK enum fw_code fw_dwarf_into(const struct fw_elf_files *files,
					 struct fw_builder *b, struct fw_error *err);
/** .symtab, .dynsym and PLT names as publics that end where their symbols do (elf_symtab.c). */
FW_MUST_CHECK enum fw_code fw_elf_symbols_into(const struct fw_elf_files *files,
					       struct fw_builder *b, struct fw_error *err);
/** .eh_frame, .debug_frame, .ARM.exidx as table rows (elf_cfi.c). */
FW_MUST_CHECK enum fw_code fw_elf_cfi_into(const struct fw_elf_files *files,
					   struct fw_builder *b, struct fw_error *err);

/** Ids, CPU, base and name. */
void fw_elf_identity_into(struct fw_elf *elf, struct fw_builder *b);

/** All of it: a frozen image, the caller's. What one part lacks or breaks costs that part. */
FW_MUST_CHECK enum fw_code fw_elf_compile(const struct fw_elf_files *files,
					  struct fw_image **ret, struct fw_error *err);

/** Only whose image it would be: an image without content. */
FW_MUST_CHECK enum fw_code fw_elf_identity(struct fw_elf *elf, struct fw_image **ret,
					   struct fw_error *err);

/**
 * The image of the kernel's vDSO, which is in no file: from its bytes in a process, as
 * they are mapped. Names by its symbol table and unwind rules, by our own readers.
 */
FW_MUST_CHECK enum fw_code fw_elf_compile_memory(const void *data, uint64_t size,
	struct fw_image **ret, struct fw_error *err);

#endif
