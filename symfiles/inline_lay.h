#ifndef FW_SYMFILES_INLINE_LAY_H
#define FW_SYMFILES_INLINE_LAY_H

#include "lib/image/builder.h"

/** One range of an inlined call; line_no names its record in diagnostics (0: none). */
struct fw_laid_inline {
	struct fw_inline call;
	uint32_t line_no;
};

/**
 * The inlined calls of one function as a loader meets them, any order, and the
 * scratch to lay them as an image has them. Zero-initialised is empty.
 */
struct fw_inline_lay {
	FW_VEC(struct fw_laid_inline) inlines;	// ranges are inside the function
	uint32_t max_depth;			// of inlines, below FW_MAX_INLINE_DEPTH
	FW_VEC(struct fw_laid_inline) by_depth, sorted, flat;
	FW_VEC(uint64_t) keys;
};

void fw_inline_lay_deinit(struct fw_inline_lay *l);

/**
 * The gathered calls become @p b's, sorted by depth and start, disjoint at each
 * depth and cut to their callers, and f's; the gathered ones are forgotten.
 * FW_NO_MEMORY, FW_LIMIT.
 */
FW_MUST_CHECK enum fw_code fw_inline_lay_into(struct fw_inline_lay *l, struct fw_builder *b,
					      struct fw_func *f);

#endif
