#ifndef FW_SYMFILES_BREAKPAD_H
#define FW_SYMFILES_BREAKPAD_H

#include "lib/base/file.h"
#include "lib/image/builder.h"

/** First line of a .sym: `MODULE os arch id name`. */
struct fw_sym_module {
	struct fw_str os, arch, name;	// views of the input
	struct fw_ident debug_id;
};

/** Parse a MODULE line at the start of @p text (a UTF-8 BOM is skipped). False: none there. */
bool fw_sym_module_line(struct fw_str text, struct fw_sym_module *ret);

/**
 * Compile a Breakpad text symbol file into an image. Every record type of
 * Breakpad's symbol file document and of rust-minidump's extensions; a bad
 * record costs that record and is counted with its line number in image->diag.
 * The file's pages are given back as they are read (the bytes must not be used
 * afterwards). Fails only for FW_NO_MEMORY, FW_LIMIT (more than 4 GiB of
 * strings) or FW_UNSUPPORTED (no .sym at all: UTF-16, binary, an HTML page);
 * an empty file is a valid empty image.
 */
FW_MUST_CHECK enum fw_code fw_sym_load(struct fw_file *file, struct fw_image **ret,
				       struct fw_error *err);

/** The same from bytes in memory that stay the caller's (tests, fuzzing). */
FW_MUST_CHECK enum fw_code fw_sym_load_text(struct fw_str text, struct fw_image **ret,
					    struct fw_error *err);

#endif
