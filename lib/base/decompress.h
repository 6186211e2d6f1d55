#ifndef FW_BASE_DECOMPRESS_H
#define FW_BASE_DECOMPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/pages.h"

/** How a file is packed, told by its first bytes. Private to lib/base: see fw_file_open(). */
enum fw_packing {
	FW_PLAIN,
	FW_GZIP,	// RFC 1952
	FW_ZSTD,	// RFC 8878, also when a skippable frame comes first
};

enum { FW_PACKING_BYTES = 4 };	// that fw_packing_of() needs to see

enum fw_packing fw_packing_of(const uint8_t *data, uint64_t size);

/**
 * Unpack all members or frames of @p data, one after another, into fresh pages
 * that the caller owns. FW_LIMIT past @p max_size bytes; FW_MALFORMED with place
 * "offset N" (of the packed bytes, as near as the library tells); FW_UNSUPPORTED
 * (zstd with a dictionary, or with a window over 128 MiB and no content size);
 * FW_NO_MEMORY. Pure; any thread.
 */
FW_MUST_CHECK enum fw_code fw_decompress(enum fw_packing packing, const uint8_t *data,
					 uint64_t size, uint64_t max_size,
					 struct fw_pages *ret, struct fw_error *err);

/**
 * The first bytes of what the packed file @p fd holds, at most @p n, reading no
 * more of it than needed and at most 1 MiB. Bytes in front of a fault are
 * returned as if nothing was wrong: whoever opens the file will hear of it.
 */
FW_MUST_CHECK enum fw_code fw_decompress_head(enum fw_packing packing, int fd, void *buffer,
					      size_t n, size_t *ret_n, struct fw_error *err);

#endif
