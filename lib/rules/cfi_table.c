#include "lib/rules/cfi_table.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum {
	BLOCKS = 1 << (FW_CFI_PAGE_SHIFT - FW_CFI_BLOCK_SHIFT),
	BLOCK_BYTES = 1 << FW_CFI_BLOCK_SHIFT,
	STARTS_BYTES = (BLOCKS + 1) * 4,
	PAD = 16,		// bytes that may be read behind the addresses
};

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

/** Where the rows of a page with n entries start, from the page's start. */
static inline uint64_t rows_at(uint64_t n, bool wide)
{
	return STARTS_BYTES + (wide ? (n + PAD + 3) & ~UINT64_C(3) : (n + PAD + 1) & ~UINT64_C(1));
}

/**
 * Last of the n entries at a, n > 0, whose byte is <= low, given that the
 * first is. At least PAD bytes may be read behind the last entry.
 */
static inline uint32_t last_at_or_below(const uint8_t *a, uint32_t n, uint32_t low)
{
#ifdef __SSE2__
	const __m128i key = _mm_set1_epi8((char)low);
	const uint8_t *p = a;
	for (;; p += 16, n -= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		__m128i below = _mm_cmpeq_epi8(_mm_min_epu8(v, key), v);
		// bit i: entry i is above; what stands behind the block counts as above
		uint32_t above = ~(uint32_t)_mm_movemask_epi8(below);
		if (n < 16)
			above |= UINT32_C(1) << n;
		if (n <= 16 || above & 0xffff)
			return (uint32_t)(p - a) + (uint32_t)__builtin_ctz(above) - 1;
	}
#else
	uint32_t i = 1;
	while (i < n && a[i] <= low)
		i++;
	return i - 1;
#endif
}

__attribute__((hot))
uint32_t fw_cfi_find(const struct fw_cfi_table *t, uint32_t address)
{
	uint32_t page = address >> FW_CFI_PAGE_SHIFT;
	if (UNLIKELY(page >= t->num_pages))
		return 0;
	uint32_t offset = t->dir[page];
	if (offset & FW_CFI_WHOLE)
		return offset & ~FW_CFI_WHOLE;
	if (UNLIKELY(t->pages_size < STARTS_BYTES || offset > t->pages_size - STARTS_BYTES))
		return 0;

	const uint8_t *p = t->pages + offset;
	const uint8_t *block = p + (address >> FW_CFI_BLOCK_SHIFT & (BLOCKS - 1)) * 4;
	uint32_t start = load32(block), in_block = load32(block + 4) - start;
	uint64_t n = load32(p + BLOCKS * 4), rows = rows_at(n, t->wide);
	// the whole page lies in `pages`, the block in the page, and it is not empty
	if (UNLIKELY(rows + n * (t->wide ? 4 : 2) > t->pages_size - offset || start >= n ||
		     in_block > n - start || in_block - 1 >= BLOCK_BYTES))
		return 0;
	uint32_t i = start;
	if (in_block > 1)
		i += last_at_or_below(p + STARTS_BYTES + start, in_block,
				      address & (BLOCK_BYTES - 1));
	// a corrupt block may say "before the first": i is start - 1, perhaps UINT32_MAX
	if (UNLIKELY(i >= n))
		return 0;
	return t->wide ? load32(p + rows + (uint64_t)i * 4) : load16(p + rows + (uint64_t)i * 2);
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

static enum fw_code check_page(const struct fw_cfi_table *t, uint32_t page, struct fw_error *err)
{
	uint64_t offset = t->dir[page];
	if (offset % 4 || t->pages_size < STARTS_BYTES || offset > t->pages_size - STARTS_BYTES)
		return fw_fail(err, FW_MALFORMED, NULL, "page %u lies outside the pages", page);
	const uint8_t *p = t->pages + offset, *addr = p + STARTS_BYTES;
	uint64_t n = load32(p + BLOCKS * 4), rows = rows_at(n, t->wide);
	if (rows + n * (t->wide ? 4 : 2) > t->pages_size - offset)
		return fw_fail(err, FW_MALFORMED, NULL, "page %u has too many entries", page);
	if (load32(p) != 0)
		return fw_fail(err, FW_MALFORMED, NULL, "page %u does not begin with entry 0", page);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		uint32_t start = load32(p + b * 4), end = load32(p + b * 4 + 4);
		if (start >= end || end > n || addr[start] != 0)
			return fw_fail(err, FW_MALFORMED, NULL,
				       "page %u: block %u does not begin with its first byte",
				       page, b);
		for (uint32_t i = start + 1; i < end; i++) {
			if (addr[i] <= addr[i - 1])
				return fw_fail(err, FW_MALFORMED, NULL,
					       "page %u: block %u is not sorted", page, b);
		}
	}
	for (uint64_t i = 0; i < n; i++) {
		uint32_t row = t->wide ? load32(p + rows + i * 4) : load16(p + rows + i * 2);
		if (row && row >= t->num_rows)
			return fw_fail(err, FW_MALFORMED, NULL, "page %u: no row %u", page, row);
	}
	return FW_OK;
}

enum fw_code fw_cfi_check(const struct fw_cfi_table *t, struct fw_error *err)
{
	enum fw_code rc = check_rows(t, err);
	if (!rc && t->num_pages > 1 << (32 - FW_CFI_PAGE_SHIFT))
		rc = fw_fail(err, FW_MALFORMED, NULL, "%u pages", t->num_pages);
	for (uint32_t page = 0; !rc && page < t->num_pages; page++) {
		uint32_t row = t->dir[page] & ~FW_CFI_WHOLE;
		if (!(t->dir[page] & FW_CFI_WHOLE))
			rc = check_page(t, page, err);
		else if (row && row >= t->num_rows)
			rc = fw_fail(err, FW_MALFORMED, NULL, "page %u: no row %u", page, row);
	}
	return rc;
}
