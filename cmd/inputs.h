#ifndef FW_CMD_INPUTS_H
#define FW_CMD_INPUTS_H

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/vec.h"

/** One capture named on the command line or found in a directory. */
struct fw_input {
	const char *path;		// "-": standard input
	const struct fw_error *err;	// NULL: to be read; else already known to be unusable
};

/** All captures of a run: in command line order, those of a directory sorted by path. */
struct fw_inputs {
	struct fw_arena arena;		// paths and errors
	FW_VEC(struct fw_input) list;
	uint64_t skipped;		// files in directories that are no captures
	bool several;			// more than one operand, or a directory
};

/**
 * Expand operands. Directories are walked (FW_MAX_INDEX_DEPTH deep, at most
 * FW_MAX_INDEX_FILES files; symbolic links to directories are not followed);
 * regular files whose first bytes, unpacked, are a capture's are taken. What
 * cannot be read, and a directory without captures, becomes an input with an
 * error. FW_NO_MEMORY only. fw_inputs_deinit in either case.
 */
FW_MUST_CHECK enum fw_code fw_inputs_expand(struct fw_inputs *in, const char *const *operands,
					    size_t count, struct fw_error *err);
void fw_inputs_deinit(struct fw_inputs *in);

#endif
