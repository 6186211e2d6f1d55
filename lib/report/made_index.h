#ifndef FW_REPORT_MADE_INDEX_H
#define FW_REPORT_MADE_INDEX_H

#include "lib/base/error.h"
#include "lib/base/vec.h"

/**
 * Which of many stretches of code that was made at run time lay at an address at a time.
 * They may overlap as they like: of those that cover the place the one that came last
 * counts, and of one time the one with the highest item.
 */
struct fw_made_span {
	uint64_t start, end;		// end > start
	uint64_t from, to;		// when it was there; `to` is not included unless UINT64_MAX
	uint32_t item;
};

struct fw_made_index {
	FW_VEC(struct fw_made_span) spans;	// by start, once built
	uint64_t *highest;		// end in the subtree around each
};

/** Sort and close; nothing is added afterwards. FW_NO_MEMORY. */
FW_MUST_CHECK enum fw_code fw_made_index_build(struct fw_made_index *x);
void fw_made_index_deinit(struct fw_made_index *x);
/** False: nothing was there, or more than FW_MAX_MADE_STEPS would have to be looked at.
 *  Pure; any thread. */
bool fw_made_index_find(const struct fw_made_index *x, uint64_t address, uint64_t time,
			uint32_t *ret_item);

#endif
