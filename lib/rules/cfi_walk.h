#ifndef FW_RULES_CFI_WALK_H
#define FW_RULES_CFI_WALK_H

#include "lib/rules/cfi_table.h"

/** A stretch of addresses in which one row is in force. */
struct fw_cfi_stretch {
	uint64_t start, end;	// end exclusive; at most 4 GiB
	uint32_t row;		// never 0
};

/** Where a walk over a table stands; set up by fw_cfi_walk_init(). */
struct fw_cfi_walk {
	const struct fw_cfi_table *table;
	uint32_t page, block, entry;	// of the change to come
	struct fw_cfi_stretch next;	// that change, its end not yet known
	bool ended;
};

/**
 * All of a table in address order, equal neighbours as one stretch. The table
 * must be intact (fw_cfi_check); a damaged one gives wrong stretches, in ascending
 * order and inside the table's memory.
 */
void fw_cfi_walk_init(struct fw_cfi_walk *w, const struct fw_cfi_table *table);

/** The next stretch that has a row; false at the end. */
bool fw_cfi_walk_next(struct fw_cfi_walk *w, struct fw_cfi_stretch *ret);

#endif
