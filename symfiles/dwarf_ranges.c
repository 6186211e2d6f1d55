#include <libdwarf/dwarf.h>

#include "symfiles/dwarf_internal.h"

// Address ranges of DIEs: low_pc and high_pc, .debug_ranges (DWARF 4, 2.17.3) and
// .debug_rnglists (7.25).

/**
 * What linkers leave where the code was thrown away: 0; 1 in lists, where 0 would end
 * them; -1; -2 in lists, where -1 selects a base.
 */
static bool tombstone(const struct fw_dw_unit *u, uint64_t address, bool in_list)
{
	uint64_t mask = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
	return address == 0 || address == mask || address == mask - 1 ||
	       (in_list && address == 1);
}

static enum fw_code push(struct fw_dw_loader *l, const struct fw_dw_unit *u, uint64_t low,
			 uint64_t high, bool in_list)
{
	if (low >= high || tombstone(u, low, in_list))
		return FW_OK;
	uint64_t start = low - l->base, end = high - l->base;
	if (low < l->base || end >= UINT32_MAX) {
		fw_dw_bad(l, FW_DIAG_RANGE);
		return FW_OK;
	}
	struct fw_dw_range r = { (uint32_t)start, (uint32_t)end };
	return fw_vec_push(&l->ranges.list, r) ? FW_OK : FW_NO_MEMORY;
}

/** Lists are read once each in a sane file; one that many DIEs name has its price. */
static bool pay(struct fw_dw_loader *l, struct fw_dw_file *f, const uint8_t *from,
		const struct fw_dw_cursor *c)
{
	uint64_t bytes = (uint64_t)(c->p - from);
	if (bytes > f->list_left) {
		f->list_left = 0;
		fw_dw_bad(l, FW_DIAG_LIMIT);
		return false;
	}
	f->list_left -= bytes;
	return true;
}

static enum fw_code old_list(struct fw_dw_loader *l, const struct fw_dw_unit *u, uint64_t offset)
{
	struct fw_dw_file *f = u->addresses;
	struct fw_dw_cursor c = fw_dw_at(f, FW_DW_RANGES, offset, UINT64_MAX);
	const uint8_t *from = c.p;
	uint64_t base = u->has_low ? u->low : 0;
	uint64_t mask = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
	enum fw_code code = FW_OK;
	if (f->list_left == 0)
		return FW_OK;
	while (code == FW_OK) {
		uint64_t low = fw_dw_sized(&c, u->address_size);
		uint64_t high = fw_dw_sized(&c, u->address_size);
		if (c.bad) {
			fw_dw_bad(l, FW_DIAG_MALFORMED);
			break;
		}
		if (low == 0 && high == 0)
			break;
		if ((uint64_t)(c.p - from) > f->list_left)
			break;
		if (low == mask)
			base = high;
		else if (low < high && low != mask - 1)
			code = push(l, u, (low + base) & mask, (high + base) & mask, true);
	}
	pay(l, f, from, &c);
	return code;
}

/** One entry of a range list; false: the end, or broken. */
static bool new_entry(struct fw_dw_loader *l, const struct fw_dw_unit *u, struct fw_dw_cursor *c,
		      uint64_t *base, enum fw_code *code)
{
	uint64_t mask = u->address_size == 8 ? UINT64_MAX : UINT32_MAX, low = 0, high = 0;
	bool known = true;
	switch (fw_dw_u8(c)) {
	case DW_RLE_end_of_list:
		return false;
	case DW_RLE_base_addressx:
		known = fw_dw_indexed_address(u, fw_dw_uleb(c), base);
		break;
	case DW_RLE_startx_endx:
		known = fw_dw_indexed_address(u, fw_dw_uleb(c), &low);
		known &= fw_dw_indexed_address(u, fw_dw_uleb(c), &high);
		break;
	case DW_RLE_startx_length:
		known = fw_dw_indexed_address(u, fw_dw_uleb(c), &low);
		high = low + fw_dw_uleb(c);
		break;
	case DW_RLE_offset_pair:
		low = fw_dw_uleb(c);
		high = fw_dw_uleb(c);
		if (*base == mask)	// of code that was thrown away
			return !c->bad;
		low = (low + *base) & mask;
		high = (high + *base) & mask;
		break;
	case DW_RLE_base_address:
		*base = fw_dw_sized(c, u->address_size);
		break;
	case DW_RLE_start_end:
		low = fw_dw_sized(c, u->address_size);
		high = fw_dw_sized(c, u->address_size);
		break;
	case DW_RLE_start_length:
		low = fw_dw_sized(c, u->address_size);
		high = low + fw_dw_uleb(c);
		break;
	default:
		fw_dw_fail(c);
	}
	if (c->bad || !known) {
		fw_dw_bad(l, FW_DIAG_MALFORMED);
		return false;
	}
	*code = push(l, u, low, high, true);
	return *code == FW_OK;
}

static enum fw_code new_list(struct fw_dw_loader *l, const struct fw_dw_unit *u, uint64_t offset)
{
	struct fw_dw_file *f = u->file;
	struct fw_dw_cursor c = fw_dw_at(f, FW_DW_RNGLISTS, offset, UINT64_MAX);
	const uint8_t *from = c.p;
	uint64_t base = u->has_low ? u->low : 0;
	enum fw_code code = FW_OK;
	if (f->list_left == 0)
		return FW_OK;
	while (new_entry(l, u, &c, &base, &code) && (uint64_t)(c.p - from) <= f->list_left)
		;
	pay(l, f, from, &c);
	return code;
}

/** Entry of the offset table that lists_base points behind the header of. */
static bool list_offset(const struct fw_dw_unit *u, uint64_t index, uint64_t *ret)
{
	uint64_t at;
	if (__builtin_mul_overflow(index, u->offset_size, &at) ||
	    __builtin_add_overflow(at, u->lists_base, &at))
		return false;
	struct fw_dw_cursor c = fw_dw_at(u->file, FW_DW_RNGLISTS, at, UINT64_MAX);
	uint64_t offset = fw_dw_sized(&c, u->offset_size);
	return !c.bad && !__builtin_add_overflow(offset, u->lists_base, ret);
}

static enum fw_code list_of(struct fw_dw_loader *l, const struct fw_dw_die *die)
{
	const struct fw_dw_unit *u = die->unit;
	uint64_t value = die->value[FW_DW_AT_RANGES];
	if (u->version < 5) {
		// a split unit's offsets count from its skeleton's base (GNU Fission)
		if (u->file->split && __builtin_add_overflow(value, u->ranges_base, &value))
			value = UINT64_MAX;
		return old_list(l, u, value);
	}
	if (die->form[FW_DW_AT_RANGES] == DW_FORM_rnglistx && !list_offset(u, value, &value)) {
		fw_dw_bad(l, FW_DIAG_MALFORMED);
		return FW_OK;
	}
	return new_list(l, u, value);
}

enum fw_code fw_dw_ranges_of(struct fw_dw_loader *l, const struct fw_dw_die *die)
{
	uint64_t low, high;
	if (fw_dw_has(die, FW_DW_AT_RANGES))
		return list_of(l, die);
	if (!fw_dw_has(die, FW_DW_HIGH) || !fw_dw_address(die, FW_DW_LOW, &low))
		return FW_OK;
	if (!fw_dw_address(die, FW_DW_HIGH, &high))
		high = low + die->value[FW_DW_HIGH];
	return push(l, die->unit, low, high, false);
}
