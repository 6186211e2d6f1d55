#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/rules/cfi_table.h"

enum {
	BLOCKS = 1 << (FW_CFI_PAGE_SHIFT - FW_CFI_BLOCK_SHIFT),
	STARTS_BYTES = (BLOCKS + 1) * 4,
	PAD = 16,
	PAGES = 1 << (32 - FW_CFI_PAGE_SHIFT),
};

static_assert(sizeof(((struct fw_cfi_builder *)0)->page_addr.data[0]) * 8 == FW_CFI_PAGE_SHIFT,
	      "an offset in a page fits");

void fw_cfi_builder_init(struct fw_cfi_builder *b)
{
	*b = (struct fw_cfi_builder){ 0 };
}

void fw_cfi_builder_deinit(struct fw_cfi_builder *b)
{
	fw_vec_deinit(&b->dir);
	fw_vec_deinit(&b->pages);
	fw_vec_deinit(&b->row_first);
	fw_vec_deinit(&b->rules);
	fw_vec_deinit(&b->slots);
	fw_vec_deinit(&b->page_addr);
	fw_vec_deinit(&b->page_row);
}

static uint32_t num_rows(const struct fw_cfi_builder *b)
{
	return b->row_first.count ? (uint32_t)b->row_first.count - 1 : 0;
}

static uint64_t hash_rules(const struct fw_rule *rules, size_t n)
{
	return XXH3_64bits(rules, n * sizeof(*rules));
}

static bool grow_slots(struct fw_cfi_builder *b)
{
	size_t size = b->slots.count ? b->slots.count * 2 : 256;
	FW_VEC(uint32_t) bigger = { 0 };
	if (!fw_vec_reserve(&bigger, size))
		return false;
	memset(bigger.data, 0, size * sizeof(*bigger.data));
	for (uint32_t row = 1; row < num_rows(b); row++) {
		const uint32_t *first = b->row_first.data + row;
		size_t at = hash_rules(b->rules.data + first[0], first[1] - first[0]) & (size - 1);
		while (bigger.data[at])
			at = (at + 1) & (size - 1);
		bigger.data[at] = row + 1;
	}
	fw_vec_deinit(&b->slots);
	b->slots.data = bigger.data;
	b->slots.count = size;
	b->slots.capacity = bigger.capacity;
	return true;
}

// Row 0, which has no rules.
static bool add_row_0(struct fw_cfi_builder *b)
{
	if (b->row_first.count)
		return true;
	return fw_vec_reserve(&b->row_first, 2) && fw_vec_push(&b->row_first, 0) &&
	       fw_vec_push(&b->row_first, 0);
}

// Bytes of a page with n entries, to a multiple of 4.
static size_t page_bytes(size_t n, bool wide, size_t *ret_rows)
{
	size_t align = wide ? 4 : 2;
	*ret_rows = STARTS_BYTES + ((n + PAD + align - 1) & ~(align - 1));
	return (*ret_rows + n * align + 3) & ~(size_t)3;
}

// Past 65,535 the rows of the pages already written get 32 bits.
static enum fw_code widen(struct fw_cfi_builder *b)
{
	FW_VEC(uint8_t) pages = { 0 };
	size_t size = 0, rows, wide_rows;
	uint32_t n;
	for (size_t i = 0; i < b->dir.count; i++) {
		if (b->dir.data[i] & FW_CFI_WHOLE)
			continue;
		memcpy(&n, b->pages.data + b->dir.data[i] + BLOCKS * 4, sizeof(n));
		size += page_bytes(n, true, &wide_rows);
	}
	if (size >= FW_CFI_WHOLE)
		return FW_LIMIT;
	if (size && !fw_vec_reserve(&pages, size))
		return FW_NO_MEMORY;
	for (size_t i = 0; i < b->dir.count; i++) {
		if (b->dir.data[i] & FW_CFI_WHOLE)
			continue;
		const uint8_t *from = b->pages.data + b->dir.data[i];
		uint8_t *to = pages.data + pages.count;
		memcpy(&n, from + BLOCKS * 4, sizeof(n));
		page_bytes(n, false, &rows);
		size_t bytes = page_bytes(n, true, &wide_rows);
		memset(to, 0, bytes);
		memcpy(to, from, STARTS_BYTES + n);
		for (size_t e = 0; e < n; e++) {
			uint16_t narrow;
			memcpy(&narrow, from + rows + e * 2, sizeof(narrow));
			uint32_t row = narrow;
			memcpy(to + wide_rows + e * 4, &row, sizeof(row));
		}
		b->dir.data[i] = (uint32_t)pages.count;
		pages.count += bytes;
	}
	fw_vec_deinit(&b->pages);
	b->pages.data = pages.data;
	b->pages.count = pages.count;
	b->pages.capacity = pages.capacity;
	b->wide = true;
	return FW_OK;
}

enum fw_code fw_cfi_add_row(struct fw_cfi_builder *b, const struct fw_row *row, uint32_t *ret)
{
	assert(row->count >= 2 && row->count <= FW_CPU_REGS + 2);
	size_t bytes = row->count * sizeof(row->rules[0]);
	uint32_t id = num_rows(b) ? num_rows(b) : 1;
	if (!add_row_0(b) || ((size_t)id * 2 >= b->slots.count && !grow_slots(b)))
		return FW_NO_MEMORY;
	size_t mask = b->slots.count - 1, at = hash_rules(row->rules, row->count) & mask;
	for (; b->slots.data[at]; at = (at + 1) & mask) {
		const uint32_t *first = b->row_first.data + b->slots.data[at] - 1;
		if (first[1] - first[0] == row->count &&
		    memcmp(b->rules.data + first[0], row->rules, bytes) == 0) {
			*ret = b->slots.data[at] - 1;
			return FW_OK;
		}
	}
	// the directory names a row by 31 bits
	if (id >= FW_CFI_WHOLE - 1 || b->rules.count > UINT32_MAX - row->count)
		return FW_LIMIT;
	if (id > UINT16_MAX && !b->wide) {
		enum fw_code rc = widen(b);
		if (rc)
			return rc;
	}
	if (!fw_vec_reserve(&b->rules, row->count) || !fw_vec_reserve(&b->row_first, 1))
		return FW_NO_MEMORY;
	memcpy(b->rules.data + b->rules.count, row->rules, bytes);
	b->rules.count += row->count;
	b->row_first.data[b->row_first.count++] = (uint32_t)b->rules.count;
	b->slots.data[at] = id + 1;
	*ret = id;
	return FW_OK;
}

static void put_row(uint8_t *rows, bool wide, size_t i, uint32_t row)
{
	uint16_t narrow = (uint16_t)row;
	if (wide)
		memcpy(rows + i * 4, &row, sizeof(row));
	else
		memcpy(rows + i * 2, &narrow, sizeof(narrow));
}

// Write the entries of the current page; every block gets one at its byte 0.
static enum fw_code write_page(struct fw_cfi_builder *b)
{
	const size_t n = b->page_addr.count;
	const uint16_t *addr = b->page_addr.data;
	size_t rows, total = 0, next = 0;
	uint32_t at = (uint32_t)b->pages.count;
	for (size_t i = 0; i < n; i++)
		total += (addr[i] & 0xff) == 0;
	total = n - total + BLOCKS;
	size_t bytes = page_bytes(total, b->wide, &rows);
	if (b->pages.count + bytes >= FW_CFI_WHOLE)
		return FW_LIMIT;
	if (!fw_vec_reserve(&b->pages, bytes) || !fw_vec_push(&b->dir, at))
		return FW_NO_MEMORY;
	uint8_t *page = b->pages.data + at;
	memset(page, 0, bytes);
	b->pages.count += bytes;

	uint32_t count = 0, row = 0;
	for (uint32_t block = 0; block < BLOCKS; block++) {
		memcpy(page + block * 4, &count, sizeof(count));
		if (next == n || addr[next] != block << FW_CFI_BLOCK_SHIFT)
			put_row(page + rows, b->wide, count++, row);
		for (; next < n && addr[next] >> FW_CFI_BLOCK_SHIFT == block; next++) {
			row = b->page_row.data[next];
			page[STARTS_BYTES + count] = (uint8_t)addr[next];
			put_row(page + rows, b->wide, count++, row);
		}
	}
	assert(count == total);
	memcpy(page + BLOCKS * 4, &count, sizeof(count));
	return FW_OK;
}

static enum fw_code close_page(struct fw_cfi_builder *b)
{
	enum fw_code rc = FW_OK;
	if (b->page_addr.count > 1)
		rc = write_page(b);
	else if (!fw_vec_push(&b->dir, FW_CFI_WHOLE | b->last_row))
		rc = FW_NO_MEMORY;
	if (!rc)
		b->page_addr.count = b->page_row.count = 0;
	return rc;
}

// Pages before `page` are written; whole ones cost an entry of the directory.
static enum fw_code close_pages_before(struct fw_cfi_builder *b, uint32_t page)
{
	while (b->dir.count < page) {
		enum fw_code rc = close_page(b);
		if (rc)
			return rc;
	}
	return FW_OK;
}

enum fw_code fw_cfi_append(struct fw_cfi_builder *b, uint32_t address, uint32_t row)
{
	if (address < b->next || (row && row >= num_rows(b)))
		return FW_MALFORMED;
	enum fw_code rc = close_pages_before(b, address >> FW_CFI_PAGE_SHIFT);
	if (rc)
		return rc;
	uint16_t low = (uint16_t)address;
	size_t n = b->page_addr.count;
	if (!fw_vec_reserve(&b->page_addr, 2) || !fw_vec_reserve(&b->page_row, 2))
		return FW_NO_MEMORY;
	b->next = address;
	if (n && b->page_addr.data[n - 1] == low) {	// the last at an address wins
		n--;
	} else if (n == 0 && low) {
		b->page_addr.data[n] = 0;
		b->page_row.data[n++] = b->last_row;
	}
	if (n == 0 || b->page_row.data[n - 1] != row) {
		b->page_addr.data[n] = low;
		b->page_row.data[n++] = row;
	}
	b->page_addr.count = b->page_row.count = n;
	b->last_row = row;
	return FW_OK;
}

enum fw_code fw_cfi_finish(struct fw_cfi_builder *b)
{
	if (!add_row_0(b))
		return FW_NO_MEMORY;
	enum fw_code rc = FW_OK;
	if (b->page_addr.count)
		rc = close_page(b);
	// a rule that nothing ended holds to the end of the address space
	if (!rc && b->last_row)
		rc = close_pages_before(b, PAGES);
	while (!rc && b->dir.count && b->dir.data[b->dir.count - 1] == FW_CFI_WHOLE)
		b->dir.count--;
	return rc;
}

void fw_cfi_view(const struct fw_cfi_builder *b, struct fw_cfi_table *ret)
{
	*ret = (struct fw_cfi_table){
		.dir = b->dir.data,
		.num_pages = (uint32_t)b->dir.count,
		.wide = b->wide,
		.pages = b->pages.data,
		.pages_size = b->pages.count,
		.row_first = b->row_first.data,
		.num_rows = num_rows(b),
		.rules = b->rules.data,
		.num_rules = (uint32_t)b->rules.count,
	};
}
