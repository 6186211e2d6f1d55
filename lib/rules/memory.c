#include "lib/rules/memory.h"

#include <stddef.h>

// Index of the segment that holds the address, or count.
static uint32_t find(const struct fw_memory *m, uint64_t address)
{
	uint32_t low = 0, high = m->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (m->segments[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - m->segments[low - 1].start >= m->segments[low - 1].size)
		return m->count;
	return low - 1;
}

const struct fw_segment *fw_memory_find(const struct fw_memory *m, uint64_t address)
{
	uint32_t i = find(m, address);
	return i < m->count ? &m->segments[i] : NULL;
}

bool fw_memory_bytes(const struct fw_memory *m, uint64_t address, void *out, uint64_t n)
{
	uint8_t *to = out;
	for (uint32_t i = find(m, address); n; i++) {
		if (i >= m->count)
			return false;
		const struct fw_segment *s = &m->segments[i];
		uint64_t offset = address - s->start;	// the next segment must start right here
		if (offset >= s->size)
			return false;
		uint64_t take = s->size - offset < n ? s->size - offset : n;
		memcpy(to, s->data + offset, take);
		to += take;
		n -= take;
		if (n && __builtin_add_overflow(address, take, &address))
			return false;
	}
	return true;
}

bool fw_memory_read_slow_(struct fw_memory_view *v, uint64_t address, unsigned width,
			  uint64_t *ret)
{
	uint8_t b[8];
	if ((width != 1 && width != 2 && width != 4 && width != 8) ||
	    !fw_memory_bytes(v->memory, address, b, width))
		return false;
	bool swap = v->memory->swap;
	if (!swap) {	// so whoever sees a segment here may read it without swapping
		const struct fw_segment *s = fw_memory_find(v->memory, address);
		v->start = s->start;
		v->size = s->size;
		v->data = s->data;
	}

	uint16_t v16;
	uint32_t v32;
	uint64_t v64;
	switch (width) {
	case 1:
		*ret = b[0];
		break;
	case 2:
		memcpy(&v16, b, sizeof(v16));
		*ret = swap ? __builtin_bswap16(v16) : v16;
		break;
	case 4:
		memcpy(&v32, b, sizeof(v32));
		*ret = swap ? __builtin_bswap32(v32) : v32;
		break;
	default:
		memcpy(&v64, b, sizeof(v64));
		*ret = swap ? __builtin_bswap64(v64) : v64;
		break;
	}
	return true;
}
