#ifndef FW_SYMFILES_LOADER_H
#define FW_SYMFILES_LOADER_H

#include <stdbool.h>

#include "lib/image/image.h"

/**
 * The isolated loader: ELF and DWARF are compiled in a child process (the program
 * executes itself again) with limits on memory and CPU time and no rights but to
 * read the descriptors it was given and write the image. Whatever goes wrong in
 * it costs one module, with a reason.
 */
struct fw_loader_request {
	// paths of one module's files, already matched by identity; NULL: none
	const char *elf, *debug, *alt;
	const char *dwo_dir;		// searched for .dwo and .dwp besides the recorded places
	bool raw_names;			// linkage names as they stand, not demangled
	bool details;			// and columns, discriminators, declarations (lib/image/image.h)
	bool no_names;			// unwind rules only
};

/**
 * Compile in a child and give back a checked image. FW_LIMIT (time, memory), FW_IO,
 * FW_MALFORMED, FW_UNSUPPORTED; the message says what became of the loader. Any
 * thread; several children may run at once.
 */
FW_MUST_CHECK enum fw_code fw_loader_compile(const struct fw_loader_request *request,
					     struct fw_image **ret, struct fw_error *err);

/**
 * The same; where that fails and there is a debug file, once more without it. @p note
 * (at least 1 byte) then says why, else it is empty.
 */
FW_MUST_CHECK enum fw_code fw_loader_compile_either(const struct fw_loader_request *request,
	struct fw_image **ret, char *note, size_t note_size, struct fw_error *err);

/** True when argv says that this process is a loader: main() calls fw_loader_main then. */
bool fw_loader_is_child(int argc, char **argv);
/** Never returns to the caller's own work: the child's exit status. */
int fw_loader_main(int argc, char **argv);

#endif
