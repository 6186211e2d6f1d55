#ifndef FW_RULES_CFI_FIND_H
#define FW_RULES_CFI_FIND_H

#include <string.h>

#include "lib/rules/cfi_table.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/**
 * fw_cfi_find() for callers that look up by the million: the walk's step has
 * it inlined.
 */

enum { FW_CFI_TABLE_BYTES = FW_CFI_BLOCKS * 4 };	// of the blocks of a page

uint32_t fw_cfi_find_long_(const uint8_t *block, uint32_t m, uint32_t low, bool wide);

static inline uint32_t fw_cfi_load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t fw_cfi_load16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/** fw_cfi_count_16() for any host. */
static inline uint32_t fw_cfi_count_scalar(const uint8_t *change, uint32_t m, uint32_t low)
{
	uint32_t i = 0, n = m < 16 ? m : 16;
	while (i < n && change[i] < (uint8_t)low)
		i++;
	return i;
}

/**
 * How many of the first 16 changes lie at or below the low byte of `low`, or m if
 * less. A change is stored minus 1: it lies above when its byte is >= low.
 */
static inline uint32_t fw_cfi_count_16(const uint8_t *change, uint32_t m, uint32_t low)
{
#ifdef __SSE2__
	__m128i key = _mm_set1_epi8((char)low), v = _mm_loadu_si128((const __m128i *)change);
	uint32_t above = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v, key), v));
	return (uint32_t)__builtin_ctz(above | UINT32_C(1) << (m & 31));
#else
	return fw_cfi_count_scalar(change, m, low);
#endif
}

/** For an address that is known to lie below num_pages << FW_CFI_PAGE_SHIFT. */
static inline __attribute__((always_inline))
uint32_t fw_cfi_find_within(const struct fw_cfi_table *t, uint32_t address)
{
	static_assert(FW_CFI_PAD >= 256 * (4 + 1) + 16, "any m and a vector fit the padding");
	uint64_t at = t->dir[address >> FW_CFI_PAGE_SHIFT];
	if (at & FW_CFI_WHOLE)
		return (uint32_t)at & ~FW_CFI_WHOLE;
	if (FW_UNLIKELY(at + FW_CFI_TABLE_BYTES > t->pages_size))
		return 0;
	const uint8_t *pages = t->pages;
	uint64_t index = (uint8_t)(address >> FW_CFI_BLOCK_SHIFT);
	uint32_t block = fw_cfi_load32(pages + at + index * 4);
	if (block & FW_CFI_WHOLE)
		return block & ~FW_CFI_WHOLE;

	uint64_t m = block & 0xff;
	at += (uint64_t)(block >> 9) * 2;
	if (FW_UNLIKELY(at + FW_CFI_PAD > t->pages_size))
		return 0;
	pages += at;
	if (FW_UNLIKELY(block & FW_CFI_LONG))
		return fw_cfi_find_long_(pages, (uint32_t)m, address & 0xff, t->wide);
	// a corrupt m of more than 16 may skip changes, and stays in the padding
	uint64_t i = fw_cfi_count_16(pages + 2 + m * 2, (uint32_t)m, address);
	return fw_cfi_load16(pages + i * 2);
}

static inline __attribute__((always_inline))
uint32_t fw_cfi_find_inline(const struct fw_cfi_table *t, uint32_t address)
{
	if (FW_UNLIKELY(address >> FW_CFI_PAGE_SHIFT >= t->num_pages))
		return 0;
	return fw_cfi_find_within(t, address);
}

#endif
