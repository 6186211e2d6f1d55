#ifndef FW_SYMFILES_SYM_WRITE_H
#define FW_SYMFILES_SYM_WRITE_H

#include "lib/base/out.h"
#include "lib/image/image.h"

/**
 * Write an image as a Breakpad text symbol file: MODULE, INFO, FILE,
 * INLINE_ORIGIN, FUNC with INLINE and lines, PUBLIC, STACK WIN, STACK CFI. What
 * the format has no record for goes where other readers pass over it
 * (ARCHITECTURE.md, "What we add to .sym"). Reading the result gives the same
 * answer at every address. @p name stands in the MODULE line of an image that
 * has none. FW_MALFORMED: the image is damaged, what was written is of no use;
 * FW_NO_MEMORY. A failed write is left in @p out.
 */
FW_MUST_CHECK enum fw_code fw_sym_write(const struct fw_image *image, const char *name,
					struct fw_out *out, struct fw_error *err);

#endif
