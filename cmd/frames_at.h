#ifndef FW_CMD_FRAMES_AT_H
#define FW_CMD_FRAMES_AT_H

#include "lib/base/limits.h"
#include "symfiles/symbols.h"

/** A function that is at work at an address, inlined into the next one. */
struct fw_frame_at {
	struct fw_str function;		// {NULL, 0}: not known
	struct fw_str file;
	uint32_t line;
	bool have_line;
	// details, where the file was opened with them; else 0
	uint32_t column, discriminator;
	struct fw_str short_name, start_file;
	uint32_t start_line;
	bool has_start;			// the function says where it begins:
	uint64_t start;			// link-time address
};

enum { FW_FRAMES_AT = FW_MAX_INLINE_DEPTH + 1 };

/** What an image says of one address. */
struct fw_answer_at {
	bool known;			// there is a function or a symbol
	bool is_public;
	uint64_t start;			// link-time address of the function
	uint32_t count;			// frames; 0 when not known
	struct fw_frame_at frames[FW_FRAMES_AT];	// innermost first
};

/** Look up a link-time address in a loaded file. */
void fw_frames_at(const struct fw_symbol_file *file, uint64_t address, struct fw_answer_at *ret);

/** Offset that an address has in the file's module; false: none. */
bool fw_offset_in(const struct fw_symbol_file *file, uint64_t address, uint32_t *ret);

#endif
