#ifndef FW_WALK_HOT_H
#define FW_WALK_HOT_H

#include "lib/rules/cfi_find.h"
#include "lib/rules/row_plain.h"
#include "lib/walk/walker.h"

/**
 * Number of the row in force, and whether its short form may be read: the stretch is a
 * hot one, so that the address lies in the table. False: the table is damaged.
 */
static inline __attribute__((always_inline))
bool fw_hot_row(const struct fw_stretch *code, uint64_t lookup, uint32_t *ret)
{
	const struct fw_image *image = code->image;
	const uint32_t offset = (uint32_t)(lookup - code->base);
	if (FW_UNLIKELY(!atomic_load_explicit(&image->cfi_page_ok[offset >> FW_CFI_PAGE_SHIFT],
					      memory_order_acquire)) &&
	    !fw_image_cfi_ready(image, offset))
		return false;
	*ret = fw_cfi_find_within(&image->cfi, offset);
	return *ret < image->cfi.num_hot;
}

/** How many frames there may be before fw_walk_run() has to make room or look at its
 *  limits when it appends the next: at least as many as there are. */
static inline size_t fw_hot_limit(const struct fw_walker *w, const struct fw_walk_result *r)
{
	size_t limit = r->frames.capacity - 1, look = r->frames.count | (FW_WALK_LOOK - 1);
	if (limit > w->options.max_frames - 1)
		limit = w->options.max_frames - 1;
	return limit > look ? look : limit;
}

#endif
