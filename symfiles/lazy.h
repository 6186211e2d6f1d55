#ifndef FW_SYMFILES_LAZY_H
#define FW_SYMFILES_LAZY_H

#include "lib/image/image.h"
#include "symfiles/loader.h"

/**
 * A module whose names are read as they are asked for: a loader process keeps its
 * files open and answers addresses with fragments, small images that hold what the
 * whole image would say at just these addresses. Nothing is started before the
 * first question. What goes wrong costs the module its names from then on.
 */
struct fw_lazy;

/** The module compiled whole, for one that is asked so much that this is cheaper. */
struct fw_lazy_whole {
	/** The image must outlive the fw_lazy. Called by one thread at a time. */
	enum fw_code (*compile)(void *context, const struct fw_image **ret, struct fw_error *err);
	void *context;
	size_t answers, questions;	// after so many of either
};

/**
 * Strings of @p request are copied. @p debug_id: what the files must have when they are
 * opened (NULL or empty: anything). @p whole: NULL, or how to compile it. NULL: no memory.
 */
struct fw_lazy *fw_lazy_create(const struct fw_loader_request *request,
			       const struct fw_ident *debug_id,
			       const struct fw_lazy_whole *whole);
void fw_lazy_destroy(struct fw_lazy *lazy);

/**
 * The image to look @p offset (from the module's base) up in, good for that offset only; it lives as long as
 * @p lazy. NULL: no names, see fw_lazy_failure(). Any thread; answers are kept.
 */
const struct fw_image *fw_lazy_names(struct fw_lazy *lazy, uint32_t offset);

/** Ask for n offsets, in any order, at once: what fw_lazy_names() of each will give. */
void fw_lazy_prefetch(struct fw_lazy *lazy, const uint32_t *offsets, size_t n);

/** Why there are no names (FW_OK: none asked for so far, or all answered). Any thread. */
enum fw_code fw_lazy_failure(struct fw_lazy *lazy, struct fw_error *ret);

#endif
