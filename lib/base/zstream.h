#ifndef FW_BASE_ZSTREAM_H
#define FW_BASE_ZSTREAM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/** zstd data that arrives in pieces and is unpacked a piece at a time. One thread. */
struct fw_zstream;

/** NULL: no memory. */
struct fw_zstream *fw_zstream_create(void);
void fw_zstream_destroy(struct fw_zstream *z);

/**
 * Unpack from in[*in_pos .. in_size) to out[*out_pos .. out_size) and advance both, until
 * either is used up; frames may follow each other. A full output may mean that more is due.
 * FW_MALFORMED, FW_UNSUPPORTED (dictionary, window over 128 MiB), FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_zstream_next(struct fw_zstream *z, const uint8_t *in, size_t in_size,
					   size_t *in_pos, uint8_t *out, size_t out_size,
					   size_t *out_pos, struct fw_error *err);

// For decompress.c too: what zstd's decoders are set to, and what their errors are called.
enum { FW_ZSTD_WINDOW = 27 };	// log2; what zstd itself allows without being asked for more
/** @p place is of broken data; NULL: none. */
enum fw_code fw_zstd_fault_(size_t result, const char *place, struct fw_error *err);

#endif
