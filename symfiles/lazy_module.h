#ifndef FW_SYMFILES_LAZY_MODULE_H
#define FW_SYMFILES_LAZY_MODULE_H

#include "symfiles/elf_search.h"
#include "symfiles/lazy.h"

/** A module that is read lazily, for symbols.c: its own copy of the files, and what reads them. */
struct fw_lazy_module {
	struct fw_elf_set files;
	struct fw_lazy *lazy;		// names
	// unwind rules (lazy_cfi.h); NULL: they are in the image
	struct fw_elf *rules_elf, *rules_debug;
	void *context;			// the creator's
};

/** The files as a loader is asked; strings stay those of @p files. */
struct fw_loader_request fw_elf_set_request(const struct fw_elf_set *files);

/**
 * Open a module; *ret_image, the caller's, holds its identity and such rules as cannot be
 * read from the files as they are. @p whole compiles all of it, its context is the module;
 * see struct fw_lazy_whole. Errors as of fw_loader_compile().
 */
FW_MUST_CHECK enum fw_code fw_lazy_module_open(const struct fw_elf_set *files,
					       const struct fw_lazy_whole *whole, void *context,
					       struct fw_lazy_module **ret,
					       struct fw_image **ret_image,
					       struct fw_error *err);
void fw_lazy_module_close(struct fw_lazy_module *m);

#endif
