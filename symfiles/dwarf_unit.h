#ifndef FW_SYMFILES_DWARF_UNIT_H
#define FW_SYMFILES_DWARF_UNIT_H

#include "symfiles/elf_image.h"

/**
 * Single units read with libdwarf: for the few that a crash needs, and as the
 * other opinion that tests hold the bulk reader against. libdwarf gets our own
 * sections, without the lists, names and indexes that it cannot read safely
 * (those are ours). It must be used from one thread at a time and only in a
 * process that may die: the loader's.
 */
struct fw_dwarf_units;

/** @p files stay the caller's and must outlive the result. FW_NOT_FOUND: no DWARF. */
FW_MUST_CHECK enum fw_code fw_dwarf_units_open(const struct fw_elf_files *files,
					       struct fw_dwarf_units **ret, struct fw_error *err);
void fw_dwarf_units_close(struct fw_dwarf_units *units);

/** Units of the file, types' among them, in file order. */
uint32_t fw_dwarf_units_count(const struct fw_dwarf_units *units);
/** Unit whose code ranges cover a link-time address; false: none says so. */
bool fw_dwarf_units_find(struct fw_dwarf_units *units, uint64_t address, uint32_t *ret);

/**
 * Choose the functions that meet [from, to), offsets from the module's base, and those
 * that could hide them. FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_dwarf_units_choose(struct fw_dwarf_units *units, uint32_t from,
						 uint32_t to);
/**
 * Functions, lines and inlined calls of the functions chosen since the last time become
 * @p b's; the same builder until fw_dwarf_units_restart(). Errors as of
 * fw_dwarf_units_into().
 */
FW_MUST_CHECK enum fw_code fw_dwarf_units_take(struct fw_dwarf_units *units,
					       struct fw_builder *b, struct fw_error *err);
/** Nothing is chosen or taken: another builder may follow. What was learned is kept. */
void fw_dwarf_units_restart(struct fw_dwarf_units *units);

/**
 * Functions, lines and inlined calls of one unit as fw_dwarf_into() gives them;
 * @p b must be the same for all units of a session. What is broken is counted
 * in b->diag. FW_NO_MEMORY, FW_LIMIT.
 */
FW_MUST_CHECK enum fw_code fw_dwarf_units_into(struct fw_dwarf_units *units, uint32_t index,
					       struct fw_builder *b, struct fw_error *err);

#endif
