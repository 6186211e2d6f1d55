#ifndef FW_RULES_CFI_TABLE_H
#define FW_RULES_CFI_TABLE_H

#include <assert.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/rules/rule.h"

/**
 * The frozen CFI table: address (offset from the module base) -> row.
 *
 *   dir[address >> 16]	   FW_CFI_WHOLE | row: that row holds for the whole 64 KiB page
 *			   otherwise: byte offset of the page in `pages`
 *   page: u32 block[256]  one for each 256 bytes of text, FW_CFI_WHOLE | row likewise,
 *			   otherwise: offset from the page's start << 8 (offsets are even,
 *			   so bit 8 is free: FW_CFI_LONG) | m
 *   block: u16 row[m + 1] rows in force, the first from the block's byte 0 on;
 *			   u32 when the table is wide
 *	    u8 change[m]   low byte of the address where row[i + 1] comes into force,
 *			   minus 1; ascending
 *
 * FW_CFI_LONG is set where m > 16 or the table is wide. Pages start at multiples
 * of 4; FW_CFI_PAD bytes of zeros end `pages`, so that one comparison says that
 * a block may be read whatever its m. A look-up is two loads and one vector
 * compare, 3 bytes a row in memory, and a rule that
 * covers gigabytes costs 4 bytes per 64 KiB. Row 0 is "no rule here". Rows are
 * stored once: row r is rules[row_first[r] .. row_first[r + 1]). Past 65,535
 * distinct rows the builder rewrites its pages as a wide table's.
 */
#define FW_CFI_WHOLE UINT32_C(0x80000000)
#define FW_CFI_LONG UINT32_C(0x100)
enum {
	FW_CFI_PAGE_SHIFT = 16,
	FW_CFI_BLOCK_SHIFT = 8,
	FW_CFI_BLOCKS = 1 << (FW_CFI_PAGE_SHIFT - FW_CFI_BLOCK_SHIFT),	// of a page
	FW_CFI_PAD = 2048,	// bytes behind the last page: more than a block has
};

/**
 * What the walk's short way needs of a row, parallel to the rows: CFA from the
 * stack or frame pointer, the return address in the word below the CFA, the
 * caller's sp the CFA, every other rule a word near the CFA. Nearly all rows of
 * x86 and amd64 are so; CPUs with a link register have none.
 */
struct fw_cfi_hot {
	int32_t cfa;		// CFA - base register
	int16_t fp;		// address of the caller's frame pointer - CFA, or FW_HOT_FP_KEPT
	uint8_t base;		// enum fw_cfi_hot_base
	uint8_t reserved;
};
static_assert(sizeof(struct fw_cfi_hot) == 8, "an image section");

enum fw_cfi_hot_base { FW_HOT_NONE, FW_HOT_SP, FW_HOT_FP };	// NONE: the row says more
enum { FW_HOT_FP_KEPT = INT16_MIN };	// the callee's frame pointer is the caller's

struct fw_cfi_table {		// frozen view
	const uint32_t *dir;
	uint32_t num_pages;		// addresses at or past num_pages << 16 have row 0
	bool wide;
	const uint8_t *pages;
	uint64_t pages_size;
	const uint32_t *row_first;	// num_rows + 1
	uint32_t num_rows;
	const struct fw_rule *rules;
	uint32_t num_rules;
	const struct fw_cfi_hot *hot;	// one a row; fewer: the others go the long way
	uint32_t num_hot;
};

/**
 * Row in force at @p address, 0 when none. Every index read from the table is
 * checked, so a corrupt table gives a wrong row or 0. Pure; any thread.
 */
uint32_t fw_cfi_find(const struct fw_cfi_table *t, uint32_t address);

/**
 * The bytes of `pages` that look-ups in page number @p page read, for checksums:
 * [*ret_from, *ret_to), empty where one row holds for the whole page. dir must
 * have been verified.
 */
void fw_cfi_page_extent(const struct fw_cfi_table *t, uint32_t page,
			uint64_t *ret_from, uint64_t *ret_to);

/** Rules of a row; NULL (and *ret_count 0) for row 0 or an index out of range. */
static inline const struct fw_rule *fw_cfi_rules(const struct fw_cfi_table *t, uint32_t row,
						 uint32_t *ret_count)
{
	const uint64_t i = row;
	*ret_count = 0;
	if (FW_UNLIKELY(i >= t->num_rows))
		return NULL;
	const uint64_t first = t->row_first[i], end = t->row_first[i + 1], count = end - first;
	// row 0 has no rules; where end < first, count is huge, in 64 bits always
	if (FW_UNLIKELY(count - 2 > FW_CPU_REGS || end > t->num_rules))
		return NULL;
	*ret_count = (uint32_t)count;
	const struct fw_rule *rules = t->rules + first;
	if (rules == NULL)	// not with rules in it: spares the caller's check
		__builtin_unreachable();
	return rules;
}

struct fw_cfi_builder {
	FW_VEC(uint32_t) dir;
	FW_VEC(uint8_t) pages;
	FW_VEC(uint32_t) row_first;
	FW_VEC(struct fw_rule) rules;
	FW_VEC(struct fw_cfi_hot) hot;	// fw_cfi_make_hot()
	FW_VEC(uint32_t) slots;		// hash table over rows (XXH3): row + 1
	FW_VEC(uint16_t) page_addr;	// entries of the page being filled: offset in the page ...
	FW_VEC(uint32_t) page_row;	// ... and row
	uint64_t next;			// lowest address that may be appended
	uint32_t last_row;		// row in force at the end of what was appended
	bool wide;
};

void fw_cfi_builder_init(struct fw_cfi_builder *b);
void fw_cfi_builder_deinit(struct fw_cfi_builder *b);

/** Id of a row, equal rows sharing one; never 0. Decides FW_ROW_PLAIN itself. */
FW_MUST_CHECK enum fw_code fw_cfi_add_row(struct fw_cfi_builder *b, const struct fw_row *row,
					  uint32_t *ret);

/**
 * Row @p row (0: none) is in force from @p address on. Addresses never
 * descend; the last append at an address wins. Equal neighbours are merged.
 */
FW_MUST_CHECK enum fw_code fw_cfi_append(struct fw_cfi_builder *b, uint32_t address,
					 uint32_t row);

/**
 * fw_cfi_append() for callers that append by the million: what it needs, in registers.
 * Between begin and end nothing else may be done with the builder.
 */
struct fw_cfi_appender {
	uint16_t *address;	// of the page's entries
	uint32_t *row;
	uint64_t count, room;
	uint32_t next, last;	// an address may be appended above `next`, up to `last`
	uint32_t last_row;
};

static inline void fw_cfi_appender_begin(struct fw_cfi_appender *a, const struct fw_cfi_builder *b)
{
	const size_t n = b->page_addr.count;
	const uint64_t page_end = (b->dir.count + UINT64_C(1)) << FW_CFI_PAGE_SHIFT;
	*a = (struct fw_cfi_appender){
		.address = b->page_addr.data, .row = b->page_row.data, .count = n,
		.room = b->page_addr.capacity < b->page_row.capacity ? b->page_addr.capacity
								     : b->page_row.capacity,
		.next = (uint32_t)b->next, .last = (uint32_t)(page_end - 1),
		.last_row = b->last_row,
	};
	if (n == 0 || b->next > a->last)
		a->room = 0;
}

/** Append a row that exists, or 0. False: nothing has changed, fw_cfi_append() has to be called. */
static inline bool fw_cfi_appender_add(struct fw_cfi_appender *a, uint32_t address, uint32_t row)
{
	if (FW_UNLIKELY(address > a->last || address <= a->next || row == a->last_row ||
			a->count >= a->room))
		return false;
	a->address[a->count] = (uint16_t)address;
	a->row[a->count++] = row;
	a->next = address;
	a->last_row = row;
	return true;
}

static inline void fw_cfi_appender_end(const struct fw_cfi_appender *a, struct fw_cfi_builder *b)
{
	b->page_addr.count = b->page_row.count = a->count;
	b->next = a->next;
	b->last_row = a->last_row;
}

/** Close the last page; afterwards the arrays are the frozen table's. Once, and last. */
FW_MUST_CHECK enum fw_code fw_cfi_finish(struct fw_cfi_builder *b);

/** The short form of a row of @p count rules; base FW_HOT_NONE when it has none. */
struct fw_cfi_hot fw_cfi_hot_of(const struct fw_rule *rules, uint32_t count,
				const struct fw_cpu *cpu);

/** The short form of every row. After the last fw_cfi_add_row(). FW_NO_MEMORY. */
FW_MUST_CHECK enum fw_code fw_cfi_make_hot(struct fw_cfi_builder *b, const struct fw_cpu *cpu);

/** The builder's arrays as a table, without copying. Valid while the builder lives. */
void fw_cfi_view(const struct fw_cfi_builder *b, struct fw_cfi_table *ret);

/** Tests and loader hand-over: every invariant above. FW_MALFORMED says which broke. */
FW_MUST_CHECK enum fw_code fw_cfi_check(const struct fw_cfi_table *t, struct fw_error *err);

#endif
