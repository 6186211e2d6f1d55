#ifndef FW_SYMFILES_DWARF_UNIT_INTERNAL_H
#define FW_SYMFILES_DWARF_UNIT_INTERNAL_H

#include "symfiles/dwarf_handle.h"
#include "symfiles/dwarf_internal.h"
#include "symfiles/dwarf_unit.h"

/* Between dwarf_unit.c, which reads with libdwarf, and dwarf_select.c, which says what. */

/** The functions of a unit, found by our own scan. */
struct fw_dw_known {
	bool read;
	bool touched, chosen, whole;	// in s->touched; has chosen functions; all are taken
	FW_VEC(struct fw_dw_func) funcs;	// num_calls: FW_DW_CHOSEN, FW_DW_TAKEN or 0
	FW_VEC(struct fw_dw_range) ranges;
	struct fw_dw_cover cover;	// items: of funcs
};

enum { FW_DW_CHOSEN = 1, FW_DW_TAKEN };

struct fw_dwarf_units {
	struct fw_dw_loader l;
	struct fw_dw_handle main;
	bool indexed;
	struct fw_dw_cover index;	// items: units
	FW_VEC(uint32_t) loose;		// units that do not say where all of their code is
	struct fw_dw_known *known;	// one a unit
	struct fw_dw_cover asked;	// the addresses that the question at hand is about
	FW_VEC(uint32_t) touched;	// units that the question at hand is about
	uint64_t scope_bytes;		// of scopes that units keep
};

/** Ranges of all units into s->index. False: no memory. */
bool fw_dw_index_units(struct fw_dwarf_units *s);
void fw_dw_select_deinit(struct fw_dwarf_units *s);

/**
 * Functions of a unit into the builder, with the calls that libdwarf finds below
 * them; l->funcs and l->ranges are set.
 */
FW_MUST_CHECK enum fw_code fw_dw_read_chosen(struct fw_dwarf_units *s, struct fw_dw_unit *u);
/** All of a unit, split ones too. */
FW_MUST_CHECK enum fw_code fw_dw_read_whole(struct fw_dwarf_units *s, struct fw_dw_unit *u);

#endif
