#include "lib/base/zstream.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "lib/base/arena.h"

struct fw_zstream *fw_zstream_create(void)
{
	ZSTD_DCtx *d = fw_alloc_should_fail() ? NULL : ZSTD_createDCtx();
	if (d)
		ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, FW_ZSTD_WINDOW);
	return (struct fw_zstream *)d;
}

void fw_zstream_destroy(struct fw_zstream *z)
{
	ZSTD_freeDCtx((ZSTD_DCtx *)z);
}

enum fw_code fw_zstd_fault_(size_t result, const char *place, struct fw_error *err)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_memory_allocation:
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory while decompressing");
	case ZSTD_error_dictionary_wrong:
		return fw_fail(err, FW_UNSUPPORTED, NULL, "zstd data that needs a dictionary");
	case ZSTD_error_frameParameter_windowTooLarge:
		return fw_fail(err, FW_UNSUPPORTED, NULL, "zstd data with a window over %d MiB",
			       1 << (FW_ZSTD_WINDOW - 20));
	default:
		return fw_fail(err, FW_MALFORMED, place, "broken zstd data: %s",
			       ZSTD_getErrorName(result));
	}
}

enum fw_code fw_zstream_next(struct fw_zstream *z, const uint8_t *in, size_t in_size,
			     size_t *in_pos, uint8_t *out, size_t out_size, size_t *out_pos,
			     struct fw_error *err)
{
	ZSTD_inBuffer from = { in, in_size, *in_pos };
	ZSTD_outBuffer to = { out, out_size, *out_pos };
	do {
		size_t before_in = from.pos, before_out = to.pos;
		size_t left = ZSTD_decompressStream((ZSTD_DCtx *)z, &to, &from);
		if (ZSTD_isError(left))
			return fw_zstd_fault_(left, NULL, err);
		if (from.pos == before_in && to.pos == before_out)
			break;
	} while (from.pos < from.size && to.pos < to.size);
	*in_pos = from.pos;
	*out_pos = to.pos;
	return FW_OK;
}
