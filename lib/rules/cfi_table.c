#include "lib/rules/cfi_table.h"

#include <stdio.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum { TABLE_BYTES = FW_CFI_BLOCKS * 4 };	// of the blocks of a page

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/**
 * How many of the first 16 changes lie at or below `low`, or m if less. A
 * change is stored minus 1: it lies above when its byte is >= low.
 */
static inline uint32_t count_16(const uint8_t *change, uint32_t m, uint32_t low)
{
#ifdef __SSE2__
	__m128i key = _mm_set1_epi8((char)low), v = _mm_loadu_si128((const __m128i *)change);
	uint32_t above = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v, key), v));
	return (uint32_t)__builtin_ctz(above | UINT32_C(1) << (m & 31));
#else
	uint32_t i = 0;
	while (i < m && change[i] < low)
		i++;
	return i;
#endif
}

// A block of more than 17 rows, or of a wide table.
__attribute__((noinline))
static uint32_t find_long(const uint8_t *block, uint32_t m, uint32_t low, bool wide)
{
	const uint8_t *change = block + (m + 1) * (wide ? 4 : 2);
	uint32_t i = 0, n = 16;
	for (; n == 16 && i < m; i += n)
		n = count_16(change + i, m - i < 16 ? m - i : 16, low);
	return wide ? load32(block + i * 4) : load16(block + i * 2);
}

__attribute__((hot))
uint32_t fw_cfi_find(const struct fw_cfi_table *t, uint32_t address)
{
	static_assert(FW_CFI_PAD >= 256 * (4 + 1) + 16, "any m and a vector fit the padding");
	uint64_t page = address >> FW_CFI_PAGE_SHIFT;
	if (UNLIKELY(page >= t->num_pages))
		return 0;
	uint64_t at = t->dir[page];
	if (at & FW_CFI_WHOLE)
		return (uint32_t)at & ~FW_CFI_WHOLE;
	if (UNLIKELY(at + TABLE_BYTES > t->pages_size))
		return 0;
	const uint8_t *pages = t->pages;
	uint64_t index = (uint8_t)(address >> FW_CFI_BLOCK_SHIFT);
	uint32_t block = load32(pages + at + index * 4);
	if (block & FW_CFI_WHOLE)
		return block & ~FW_CFI_WHOLE;

	uint64_t m = block & 0xff;
	at += (uint64_t)(block >> 9) * 2;
	if (UNLIKELY(at + FW_CFI_PAD > t->pages_size))
		return 0;
	pages += at;
	if (UNLIKELY(block & FW_CFI_LONG))
		return find_long(pages, (uint32_t)m, address & 0xff, t->wide);
	// a corrupt m of more than 16 may skip changes, and stays in the padding
	uint64_t i = count_16(pages + (m + 1) * 2, (uint32_t)m, address);
	return load16(pages + i * 2);
}

static bool is_plain(const struct fw_rule *r, uint32_t n)
{
	bool plain = r[0].kind == FW_RULE_REG;
	for (uint32_t i = 1; i < n; i++)
		plain &= r[i].kind == FW_RULE_LOAD_CFA;
	return plain;
}

static enum fw_code check_rows(const struct fw_cfi_table *t, struct fw_error *err)
{
	if (t->num_rows == 0)
		return t->num_rules ? fw_fail(err, FW_MALFORMED, NULL, "rules without rows") : FW_OK;
	if (t->row_first[0] != 0 || t->row_first[1] != 0)
		return fw_fail(err, FW_MALFORMED, NULL, "row 0 has rules");
	if (t->row_first[t->num_rows] != t->num_rules)
		return fw_fail(err, FW_MALFORMED, NULL, "rules behind the last row");
	for (uint32_t row = 1; row < t->num_rows; row++) {
		uint32_t first = t->row_first[row], end = t->row_first[row + 1];
		if (first >= end || end > t->num_rules || end - first < 2 ||
		    end - first > FW_CPU_REGS + 2)
			return fw_fail(err, FW_MALFORMED, NULL, "row %u has a bad range of rules",
				       row);
		const struct fw_rule *r = t->rules + first;
		if (r[0].target != FW_SLOT_CFA || r[1].target >= FW_CPU_REGS)
			return fw_fail(err, FW_MALFORMED, NULL,
				       "row %u does not begin with .cfa and .ra", row);
		if (!(r[0].flags & FW_ROW_PLAIN) == is_plain(r, end - first))
			return fw_fail(err, FW_MALFORMED, NULL, "row %u: wrong plain flag", row);
		for (uint32_t i = 0; i < end - first; i++) {
			if (r[i].kind >= FW_RULE_COUNT || r[i].reg >= FW_CPU_REGS ||
			    (i > 0 && (r[i].target >= FW_CPU_REGS || r[i].flags)))
				return fw_fail(err, FW_MALFORMED, NULL, "row %u: bad rule %u",
					       row, i);
			if (i > 1 && (r[i].target == r[1].target ||
				      (i > 2 && r[i].target <= r[i - 1].target)))
				return fw_fail(err, FW_MALFORMED, NULL,
					       "row %u: rule %u is out of order", row, i);
		}
	}
	return FW_OK;
}

static bool row_exists(const struct fw_cfi_table *t, uint32_t row)
{
	return row == 0 || row < t->num_rows;
}

static enum fw_code check_block(const struct fw_cfi_table *t, uint32_t page, uint32_t index,
				struct fw_error *err)
{
	uint32_t block = load32(t->pages + t->dir[page] + index * 4), m = block & 0xff;
	char place[40];
	snprintf(place, sizeof(place), "page %u, block %u", page, index);
	if (block & FW_CFI_WHOLE)
		return row_exists(t, block & ~FW_CFI_WHOLE) ? FW_OK :
		       fw_fail(err, FW_MALFORMED, place, "no row %u", block & ~FW_CFI_WHOLE);
	uint64_t at = (uint64_t)t->dir[page] + (uint64_t)(block >> 9) * 2;
	if (block >> 9 < TABLE_BYTES / 2 || at + FW_CFI_PAD > t->pages_size)
		return fw_fail(err, FW_MALFORMED, place, "block lies outside the pages");
	if (!(block & FW_CFI_LONG) != (m <= 16 && !t->wide))
		return fw_fail(err, FW_MALFORMED, place, "wrong long flag");
	const uint8_t *rows = t->pages + at, *change = rows + (m + 1) * (t->wide ? 4 : 2);
	for (uint32_t i = 0; i <= m; i++) {
		uint32_t row = t->wide ? load32(rows + i * 4) : load16(rows + i * 2);
		if (!row_exists(t, row))
			return fw_fail(err, FW_MALFORMED, place, "no row %u", row);
		if (i < m && (change[i] == 0xff || (i && change[i] <= change[i - 1])))
			return fw_fail(err, FW_MALFORMED, place, "changes are not sorted");
	}
	return FW_OK;
}

static enum fw_code check_page(const struct fw_cfi_table *t, uint32_t page, struct fw_error *err)
{
	uint32_t at = t->dir[page];
	enum fw_code rc = FW_OK;
	if (at & FW_CFI_WHOLE)
		return row_exists(t, at & ~FW_CFI_WHOLE) ? FW_OK :
		       fw_fail(err, FW_MALFORMED, NULL, "page %u: no row %u", page,
			       at & ~FW_CFI_WHOLE);
	if (at % 4 || (uint64_t)at + TABLE_BYTES > t->pages_size)
		return fw_fail(err, FW_MALFORMED, NULL, "page %u lies outside the pages", page);
	for (uint32_t i = 0; !rc && i < FW_CFI_BLOCKS; i++)
		rc = check_block(t, page, i, err);
	return rc;
}

enum fw_code fw_cfi_check(const struct fw_cfi_table *t, struct fw_error *err)
{
	enum fw_code rc = check_rows(t, err);
	if (!rc && t->num_pages > 1 << (32 - FW_CFI_PAGE_SHIFT))
		rc = fw_fail(err, FW_MALFORMED, NULL, "%u pages", t->num_pages);
	for (uint32_t page = 0; !rc && page < t->num_pages; page++)
		rc = check_page(t, page, err);
	return rc;
}
