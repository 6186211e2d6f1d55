#ifndef FW_BASE_BYTES_H
#define FW_BASE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/**
 * A view of untrusted bytes with bounds-checked little reads at offsets.
 * Every reader returns false, and leaves *ret alone, when the read would
 * leave the view. Offsets may be anything up to UINT64_MAX. Pure; any thread.
 */
struct fw_bytes {
	const uint8_t *data;
	uint64_t size;
	bool swap;	// multi-byte values are in the other byte order than the host's
};

static inline bool fw_bytes_has(const struct fw_bytes *b, uint64_t offset, uint64_t length)
{
	return offset <= b->size && length <= b->size - offset;
}

static inline bool fw_bytes_u8(const struct fw_bytes *b, uint64_t offset, uint8_t *ret)
{
	if (!fw_bytes_has(b, offset, 1))
		return false;
	*ret = b->data[offset];
	return true;
}

#define FW_BYTES_READER(bits) \
static inline bool fw_bytes_u##bits(const struct fw_bytes *b, uint64_t offset, \
				    uint##bits##_t *ret) \
{ \
	uint##bits##_t v; \
	if (!fw_bytes_has(b, offset, sizeof(v))) \
		return false; \
	memcpy(&v, b->data + offset, sizeof(v)); \
	*ret = b->swap ? __builtin_bswap##bits(v) : v; \
	return true; \
}
FW_BYTES_READER(16)
FW_BYTES_READER(32)
FW_BYTES_READER(64)
#undef FW_BYTES_READER

/** Sub-view of @p length bytes at @p offset, same byte order. */
static inline bool fw_bytes_range(const struct fw_bytes *b, uint64_t offset,
				  uint64_t length, struct fw_bytes *ret)
{
	if (!fw_bytes_has(b, offset, length))
		return false;
	*ret = (struct fw_bytes){ b->data + offset, length, b->swap };
	return true;
}

#endif
