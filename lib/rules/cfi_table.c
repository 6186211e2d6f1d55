#include "lib/rules/cfi_find.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A block of more than 17 rows, or of a wide table.
__attribute__((noinline))
uint32_t fw_cfi_find_long_(const uint8_t *block, uint32_t m, uint32_t low, bool wide)
{
	const uint8_t *change = block + (m + 1) * (wide ? 4 : 2);
	uint32_t i = 0, n = 16;
	for (; n == 16 && i < m; i += n)
		n = fw_cfi_count_16(change + i, m - i < 16 ? m - i : 16, low);
	return wide ? fw_cfi_load32(block + i * 4) : fw_cfi_load16(block + i * 2);
}

__attribute__((hot))
uint32_t fw_cfi_find(const struct fw_cfi_table *t, uint32_t address)
{
	return fw_cfi_find_inline(t, address);
}

void fw_cfi_page_extent(const struct fw_cfi_table *t, uint32_t page,
			uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = *ret_to = 0;
	if (page >= t->num_pages || t->dir[page] & FW_CFI_WHOLE || t->dir[page] > t->pages_size)
		return;
	*ret_from = t->dir[page];
	*ret_to = t->pages_size;
	// pages stand in ascending order; a vector may be read past the last entry
	for (uint32_t next = page + 1; next < t->num_pages; next++)
		if (!(t->dir[next] & FW_CFI_WHOLE)) {
			if (t->dir[next] > *ret_from && t->dir[next] < t->pages_size)
				*ret_to = t->dir[next];
			return;
		}
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
		return t->num_rules == 0 ? FW_OK :
		       fw_fail(err, FW_MALFORMED, NULL, "rules without rows");
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

/** One of a table's hundred thousand blocks; only a bad one is worth words. */
__attribute__((format(printf, 4, 5), cold))
static enum fw_code bad_block(struct fw_error *err, uint32_t page, uint32_t index,
			      const char *format, ...)
{
	char place[40], text[128];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(place, sizeof(place), "page %u, block %u", page, index);
	return fw_fail(err, FW_MALFORMED, place, "%s", text);
}

static enum fw_code check_block(const struct fw_cfi_table *t, uint32_t page, uint32_t index,
				struct fw_error *err)
{
	uint32_t block = fw_cfi_load32(t->pages + t->dir[page] + index * 4), m = block & 0xff;
	if (block & FW_CFI_WHOLE)
		return row_exists(t, block & ~FW_CFI_WHOLE) ? FW_OK :
		       bad_block(err, page, index, "no row %u", block & ~FW_CFI_WHOLE);
	uint64_t at = (uint64_t)t->dir[page] + (uint64_t)(block >> 9) * 2;
	if (block >> 9 < FW_CFI_TABLE_BYTES / 2 || at + FW_CFI_PAD > t->pages_size)
		return bad_block(err, page, index, "block lies outside the pages");
	if (!(block & FW_CFI_LONG) != (m <= 16 && !t->wide))
		return bad_block(err, page, index, "wrong long flag");
	const uint8_t *rows = t->pages + at, *change = rows + (m + 1) * (t->wide ? 4 : 2);
	for (uint32_t i = 0; i <= m; i++) {
		uint32_t row = t->wide ? fw_cfi_load32(rows + i * 4) : fw_cfi_load16(rows + i * 2);
		if (!row_exists(t, row))
			return bad_block(err, page, index, "no row %u", row);
		if (i < m && (change[i] == 0xff || (i && change[i] <= change[i - 1])))
			return bad_block(err, page, index, "changes are not sorted");
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
	if (at % 4 || (uint64_t)at + FW_CFI_TABLE_BYTES > t->pages_size)
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
