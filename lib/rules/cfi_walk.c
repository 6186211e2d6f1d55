#include "lib/rules/cfi_walk.h"

#include "lib/rules/cfi_find.h"

void fw_cfi_walk_init(struct fw_cfi_walk *w, const struct fw_cfi_table *table)
{
	*w = (struct fw_cfi_walk){ .table = table };
}

/** Move on to the next block. */
static void next_block(struct fw_cfi_walk *w)
{
	w->entry = 0;
	if (++w->block == FW_CFI_BLOCKS) {
		w->block = 0;
		w->page++;
	}
}

/** Entry w->entry of the block at w; false when the block has no such entry. */
static bool read_block(struct fw_cfi_walk *w, uint64_t *ret_address, uint32_t *ret_row)
{
	const struct fw_cfi_table *t = w->table;
	uint64_t at = t->dir[w->page], start = (uint64_t)w->page << FW_CFI_PAGE_SHIFT |
					       (uint64_t)w->block << FW_CFI_BLOCK_SHIFT;
	if (at + FW_CFI_TABLE_BYTES > t->pages_size)
		return false;
	uint32_t word = fw_cfi_load32(t->pages + at + w->block * 4), m = word & 0xff;
	*ret_address = start;
	if (word & FW_CFI_WHOLE) {
		*ret_row = word & ~FW_CFI_WHOLE;
		return w->entry == 0;
	}
	at += (uint64_t)(word >> 9) * 2;
	if (w->entry > m || at + FW_CFI_PAD > t->pages_size)
		return false;
	const uint8_t *rows = t->pages + at, *change = rows + (m + 1) * (t->wide ? 4 : 2);
	*ret_row = t->wide ? fw_cfi_load32(rows + w->entry * 4) :
			     fw_cfi_load16(rows + w->entry * 2);
	if (w->entry)
		*ret_address = start + change[w->entry - 1] + 1;
	return true;
}

/** The next entry, whatever its row; false at the end of the table. */
static bool next_entry(struct fw_cfi_walk *w, uint64_t *ret_address, uint32_t *ret_row)
{
	const struct fw_cfi_table *t = w->table;
	while (w->page < t->num_pages) {
		uint32_t whole = t->dir[w->page];
		if (whole & FW_CFI_WHOLE) {
			*ret_address = (uint64_t)w->page << FW_CFI_PAGE_SHIFT;
			*ret_row = whole & ~FW_CFI_WHOLE;
			w->page++;
			return true;
		}
		if (read_block(w, ret_address, ret_row)) {
			w->entry++;
			return true;
		}
		next_block(w);
	}
	return false;
}

bool fw_cfi_walk_next(struct fw_cfi_walk *w, struct fw_cfi_stretch *ret)
{
	uint64_t address = 0;
	uint32_t row = 0;
	while (!w->ended) {
		struct fw_cfi_stretch s = w->next;
		w->ended = !next_entry(w, &address, &row);
		if (w->ended) {
			address = (uint64_t)w->table->num_pages << FW_CFI_PAGE_SHIFT;
			row = 0;
		}
		if (row == s.row)
			continue;
		w->next = (struct fw_cfi_stretch){ address, 0, row };
		if (s.row && address > s.start) {
			s.end = address;
			*ret = s;
			return true;
		}
	}
	return false;
}
