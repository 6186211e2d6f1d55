#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/rules/cfi_table.h"

enum {
	TABLE_BYTES = FW_CFI_BLOCKS * 4,
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
	fw_vec_deinit(&b->hot);
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

// Bytes of a block of m + 1 rows, to a multiple of 2.
static size_t block_bytes(uint32_t m, bool wide)
{
	return ((size_t)(m + 1) * (wide ? 4 : 2) + m + 1) & ~(size_t)1;
}

static uint32_t block_word(size_t offset, uint32_t m, bool wide)
{
	return (uint32_t)offset << 8 | (m > 16 || wide ? FW_CFI_LONG : 0) | m;
}

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static void put_row(uint8_t *rows, bool wide, uint32_t i, uint32_t row)
{
	uint16_t narrow = (uint16_t)row;
	if (wide)
		memcpy(rows + (size_t)i * 4, &row, sizeof(row));
	else
		memcpy(rows + (size_t)i * 2, &narrow, sizeof(narrow));
}

// Append the page at `from` of a narrow table, which is whole and ours.
static void widen_page(uint8_t *to, size_t *count, const uint8_t *from)
{
	uint8_t *page = to + *count;
	size_t size = TABLE_BYTES;
	for (uint32_t b = 0; b < FW_CFI_BLOCKS; b++) {
		uint32_t block = load32(from + b * 4), m = block & 0xff;
		if (!(block & FW_CFI_WHOLE)) {
			const uint8_t *old = from + (size_t)(block >> 9) * 2;
			uint8_t *rows = page + size;
			for (uint32_t i = 0; i <= m; i++) {
				uint16_t row;
				memcpy(&row, old + i * 2, sizeof(row));
				put_row(rows, true, i, row);
			}
			memcpy(rows + (m + 1) * 4, old + (m + 1) * 2, m);
			block = block_word(size, m, true);
			size += block_bytes(m, true);
		}
		memcpy(page + b * 4, &block, sizeof(block));
	}
	*count += (size + 3) & ~(size_t)3;
}

// Past 65,535 the rows of the pages already written get 32 bits.
static enum fw_code widen(struct fw_cfi_builder *b)
{
	FW_VEC(uint8_t) pages = { 0 };
	size_t most = b->pages.count * 2;	// a block grows to less than 5/3
	if (most >= FW_CFI_WHOLE)
		return FW_LIMIT;
	if (most && !fw_vec_reserve(&pages, most))
		return FW_NO_MEMORY;
	if (most)
		memset(pages.data, 0, most);
	for (size_t i = 0; i < b->dir.count; i++) {
		uint32_t at = b->dir.data[i];
		if (at & FW_CFI_WHOLE)
			continue;
		b->dir.data[i] = (uint32_t)pages.count;
		widen_page(pages.data, &pages.count, b->pages.data + at);
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
	struct fw_rule rules[FW_CPU_REGS + 2];
	uint32_t n = row->count, id = num_rows(b) ? num_rows(b) : 1;
	bool plain = row->rules[0].kind == FW_RULE_REG;
	for (uint32_t i = 0; i < n; i++) {
		rules[i] = row->rules[i];
		plain &= i == 0 || rules[i].kind == FW_RULE_LOAD_CFA;
	}
	rules[0].flags = (uint8_t)((rules[0].flags & ~FW_ROW_PLAIN) | (plain ? FW_ROW_PLAIN : 0));
	if (!add_row_0(b) || ((size_t)id * 2 >= b->slots.count && !grow_slots(b)))
		return FW_NO_MEMORY;
	size_t mask = b->slots.count - 1, at = hash_rules(rules, n) & mask;
	for (; b->slots.data[at]; at = (at + 1) & mask) {
		const uint32_t *first = b->row_first.data + b->slots.data[at] - 1;
		if (first[1] - first[0] == n &&
		    memcmp(b->rules.data + first[0], rules, n * sizeof(rules[0])) == 0) {
			*ret = b->slots.data[at] - 1;
			return FW_OK;
		}
	}
	// the directory names a row by 31 bits
	if (id >= FW_CFI_WHOLE - 1 || b->rules.count > UINT32_MAX - n)
		return FW_LIMIT;
	if (id > UINT16_MAX && !b->wide) {
		enum fw_code rc = widen(b);
		if (rc)
			return rc;
	}
	if (!fw_vec_reserve(&b->rules, n) || !fw_vec_reserve(&b->row_first, 1))
		return FW_NO_MEMORY;
	memcpy(b->rules.data + b->rules.count, rules, n * sizeof(rules[0]));
	b->rules.count += n;
	b->row_first.data[b->row_first.count++] = (uint32_t)b->rules.count;
	b->slots.data[at] = id + 1;
	*ret = id;
	return FW_OK;
}

/*
 * Write the entries [next, n) that lie in one block at the page's end; `row` is
 * in force before them. Returns the block's word and moves *next and *row.
 */
static uint32_t write_block(struct fw_cfi_builder *b, size_t page, uint32_t index, size_t *next,
			    uint32_t *row)
{
	const uint16_t *addr = b->page_addr.data;
	const uint32_t *rows = b->page_row.data;
	size_t first = *next, end = first;
	while (end < b->page_addr.count && addr[end] >> FW_CFI_BLOCK_SHIFT == index)
		end++;
	bool at_start = first < end && (addr[first] & 0xff) == 0;
	uint32_t before = at_start ? rows[first] : *row;
	first += at_start;
	*next = end;
	if (end > first)
		*row = rows[end - 1];
	else
		*row = before;
	uint32_t m = (uint32_t)(end - first);
	if (m == 0)
		return FW_CFI_WHOLE | before;
	size_t at = b->pages.count, bytes = block_bytes(m, b->wide);
	uint8_t *to = b->pages.data + at, *change = to + (m + 1) * (b->wide ? 4 : 2);
	to[bytes - 1] = 0;	// where the padding may be
	b->pages.count += bytes;
	put_row(to, b->wide, 0, before);
	if (b->wide)
		for (uint32_t i = 0; i < m; i++)
			put_row(to, true, i + 1, rows[first + i]);
	else
		for (uint32_t i = 0; i < m; i++)
			put_row(to, false, i + 1, rows[first + i]);
	for (uint32_t i = 0; i < m; i++)
		change[i] = (uint8_t)(addr[first + i] - 1);
	return block_word(at - page, m, b->wide);
}

static enum fw_code write_page(struct fw_cfi_builder *b)
{
	size_t page = b->pages.count, next = 0;
	size_t most = TABLE_BYTES + (b->page_addr.count + FW_CFI_BLOCKS) * 6 + 3;
	uint32_t row = 0;
	if (page + most >= FW_CFI_WHOLE)
		return FW_LIMIT;
	if (!fw_vec_reserve(&b->pages, most) || !fw_vec_push(&b->dir, (uint32_t)page))
		return FW_NO_MEMORY;
	b->pages.count += TABLE_BYTES;
	for (uint32_t i = 0; i < FW_CFI_BLOCKS; i++) {
		uint32_t block = write_block(b, page, i, &next, &row);
		memcpy(b->pages.data + page + i * 4, &block, sizeof(block));
	}
	while (b->pages.count % 4)
		b->pages.data[b->pages.count++] = 0;
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
	if (!rc && b->pages.count) {
		if (!fw_vec_reserve(&b->pages, FW_CFI_PAD))
			return FW_NO_MEMORY;
		memset(b->pages.data + b->pages.count, 0, FW_CFI_PAD);
		b->pages.count += FW_CFI_PAD;
	}
	return rc;
}

struct fw_cfi_hot fw_cfi_hot_of(const struct fw_rule *rules, uint32_t count,
				const struct fw_cpu *cpu)
{
	struct fw_cfi_hot hot = { .cfa = rules[0].arg, .fp = FW_HOT_FP_KEPT };
	const struct fw_cfi_hot none = { .base = FW_HOT_NONE };
	if (rules[0].flags != FW_ROW_PLAIN || cpu->lr != FW_NO_REG || cpu->num_regs == 0 ||
	    !(cpu->callee_saved >> cpu->fp & 1) || rules[1].arg != -cpu->word_size)
		return none;
	if (rules[0].reg == cpu->sp)
		hot.base = FW_HOT_SP;
	else if (rules[0].reg == cpu->fp)
		hot.base = FW_HOT_FP;
	for (uint32_t i = 2; i < count; i++) {
		if (rules[i].target == cpu->sp || rules[i].target == cpu->pc)
			return none;
		if (rules[i].target != cpu->fp)
			continue;
		if (rules[i].arg <= INT16_MIN || rules[i].arg > INT16_MAX)
			return none;
		hot.fp = (int16_t)rules[i].arg;
	}
	return hot.base == FW_HOT_NONE ? none : hot;
}

enum fw_code fw_cfi_make_hot(struct fw_cfi_builder *b, const struct fw_cpu *cpu)
{
	uint32_t n = num_rows(b);
	b->hot.count = 0;
	if (!fw_vec_reserve(&b->hot, n))
		return FW_NO_MEMORY;
	for (uint32_t row = 0; row < n; row++) {
		const uint32_t *first = b->row_first.data + row;
		b->hot.data[row] = (struct fw_cfi_hot){ .base = FW_HOT_NONE };
		if (first[1] > first[0])
			b->hot.data[row] = fw_cfi_hot_of(b->rules.data + first[0],
							 first[1] - first[0], cpu);
	}
	b->hot.count = n;
	return FW_OK;
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
		.hot = b->hot.data,
		.num_hot = (uint32_t)b->hot.count,
	};
}
