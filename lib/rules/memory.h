#ifndef FW_RULES_MEMORY_H
#define FW_RULES_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/**
 * Target memory: what a capture holds of the crashed process. Segments are
 * sorted by start and do not overlap; they view the mapped capture.
 */
struct fw_segment {
	uint64_t start;		// target address
	uint64_t size;		// bytes; start + size may be 2^64, never more
	const uint8_t *data;
};

struct fw_memory {
	const struct fw_segment *segments;
	uint32_t count;
	bool swap;		// target's byte order is not the host's
};

/**
 * One walker's window on the memory: remembers the segment last read, which is
 * nearly always the stack (never one, when byte orders differ). Not thread safe;
 * the memory itself is.
 */
struct fw_memory_view {
	const struct fw_memory *memory;
	uint64_t start, size;	// of the current segment; size 0: none yet
	const uint8_t *data;
};

static inline void fw_memory_view_init(struct fw_memory_view *v, const struct fw_memory *m)
{
	*v = (struct fw_memory_view){ .memory = m };
}

bool fw_memory_read_slow_(struct fw_memory_view *v, uint64_t address, unsigned width,
			  uint64_t *ret);

/**
 * Read a word of @p width bytes (1, 2, 4 or 8) in target byte order, zero
 * extended. Reads may cross adjacent segments. False when any byte is missing.
 */
static inline bool fw_memory_read(struct fw_memory_view *v, uint64_t address,
				  unsigned width, uint64_t *ret)
{
	uint64_t offset = address - v->start;
	if (__builtin_expect(offset < v->size && v->size - offset >= 8 && !v->memory->swap, 1)) {
		uint64_t word;
		memcpy(&word, v->data + offset, 8);
		// a little-endian target on a little-endian host: low bytes first
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		*ret = width == 8 ? word : word & ((UINT64_C(1) << (width * 8)) - 1);
		return true;
#endif
	}
	return fw_memory_read_slow_(v, address, width, ret);
}

/** Copy n bytes; false (and nothing promised about @p out) when any is missing. */
bool fw_memory_bytes(const struct fw_memory *m, uint64_t address, void *out, uint64_t n);

/** Segment that holds the address, or NULL. */
const struct fw_segment *fw_memory_find(const struct fw_memory *m, uint64_t address);

#endif
