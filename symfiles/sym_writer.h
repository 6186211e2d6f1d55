#ifndef FW_SYMFILES_SYM_WRITER_H
#define FW_SYMFILES_SYM_WRITER_H

#include "lib/base/vec.h"
#include "lib/rules/cfi_walk.h"
#include "symfiles/sym_write.h"

/** An image being written; private to symfiles/sym_write*.c. */
struct fw_sym_writer {
	const struct fw_image *image;
	const struct fw_cpu *cpu;
	struct fw_out *out;
	const struct fw_func *funcs;
	const struct fw_public *publics;
	uint32_t num_funcs, num_publics;
	FW_VEC(struct fw_sym_range) inits;	// where the STACK CFI INITs will be
	uint64_t change_at;			// of a STACK CFI that has no rule so far
	bool change_due;
};

struct fw_sym_range {
	uint64_t start, end;
};

/** A piece of the table that becomes one record. */
struct fw_sym_piece {
	struct fw_cfi_stretch at;
	bool init;		// STACK CFI INIT, not a change
	uint32_t before;	// row that a change starts from
};

/** Cuts the table's stretches where an INIT has to begin. */
struct fw_sym_cutter {
	const struct fw_sym_writer *w;
	struct fw_cfi_walk walk;
	struct fw_cfi_stretch left;	// of the stretch at hand
	uint64_t last_end;
	uint32_t last_row;
	uint32_t func, public_start, public_end;	// first ones behind last_end
};

void fw_sym_cutter_init(struct fw_sym_cutter *c, const struct fw_sym_writer *w);
bool fw_sym_cutter_next(struct fw_sym_cutter *c, struct fw_sym_piece *ret);

/** Where the INITs are to be, into w->inits. */
FW_MUST_CHECK enum fw_code fw_sym_plan_cfi(struct fw_sym_writer *w);
void fw_sym_write_cfi(struct fw_sym_writer *w);
FW_MUST_CHECK enum fw_code fw_sym_write_funcs(struct fw_sym_writer *w);

/** A name up to the end of a line: bytes that would end it become '?'. */
void fw_sym_put_name(struct fw_out *out, struct fw_str name, const char *instead);

#endif
