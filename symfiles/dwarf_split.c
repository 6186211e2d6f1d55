#include <libdwarf/dwarf.h>

#include "symfiles/dwarf_internal.h"

// Split DWARF: a skeleton's unit in its .dwo file or in the program's .dwp
// (7.3.2, 7.3.5; GNU Fission before DWARF 5).

/** What a unit in a split file has from its skeleton. */
static void inherit(struct fw_dw_unit *u, const struct fw_dw_unit *skeleton)
{
	u->addresses = skeleton->file;
	u->addr_base = skeleton->addr_base;
	u->ranges_base = skeleton->ranges_base;
	u->has_low = skeleton->has_low;
	u->low = skeleton->low;
	u->has_line = skeleton->has_line;
	u->line_offset = skeleton->line_offset;
	u->comp_dir = skeleton->comp_dir;
}

struct index {		// a .debug_cu_index, 7.3.5.3
	struct fw_dw_cursor c;
	const uint8_t *start;
	uint32_t version, columns, units, slots;
	uint64_t rows, ids, offsets, sizes;	// places in the section
};

static bool open_index(const struct fw_dw_file *f, struct index *x)
{
	x->c = fw_dw_at(f, FW_DW_CU_INDEX, 0, UINT64_MAX);
	x->start = x->c.p;
	// the version is a half word and padding in 5, a word before
	struct fw_dw_cursor half = x->c;
	x->version = fw_dw_u32(&x->c);
	if (x->version != 2)
		x->version = fw_dw_u16(&half);
	x->columns = fw_dw_u32(&x->c);
	x->units = fw_dw_u32(&x->c);
	x->slots = fw_dw_u32(&x->c);
	if (x->c.bad || (x->version != 2 && x->version != 5) || x->slots == 0 ||
	    x->slots & (x->slots - 1) || x->columns > 16)
		return false;
	x->rows = 16 + 8 * (uint64_t)x->slots;
	x->ids = x->rows + 4 * (uint64_t)x->slots;
	x->offsets = x->ids + 4 * x->columns;
	x->sizes = x->offsets + 4 * (uint64_t)x->columns * x->units;
	return true;
}

static uint64_t word_at(const struct index *x, uint64_t place, unsigned size)
{
	struct fw_dw_cursor c = { x->start, x->c.end, x->c.swap, false };
	fw_dw_skip(&c, place);
	return fw_dw_sized(&c, size);
}

/** Row of a unit id, from 1; 0: not there. */
static uint32_t find_row(const struct index *x, uint64_t id)
{
	uint32_t mask = x->slots - 1, at = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;
	for (uint32_t i = 0; i < x->slots; i++, at = (at + step) & mask) {
		uint32_t row = (uint32_t)word_at(x, x->rows + 4 * (uint64_t)at, 4);
		if (row == 0)
			return 0;
		if (word_at(x, 16 + 8 * (uint64_t)at, 8) == id)
			return row <= x->units ? row : 0;
	}
	return 0;
}

struct part { uint64_t offset, size; };

/** Parts of the sections that a row names. */
static void read_row(const struct index *x, uint32_t row, struct part *parts)
{
	for (uint32_t i = 0; i < x->columns; i++) {
		uint64_t place = 4 * ((uint64_t)(row - 1) * x->columns + i);
		struct part p = { word_at(x, x->offsets + place, 4),
				  word_at(x, x->sizes + place, 4) };
		switch (word_at(x, x->ids + 4 * i, 4)) {
		case 1:
			parts[FW_DW_INFO] = p;
			break;
		case 3:
			parts[FW_DW_ABBREV] = p;
			break;
		case 6:
			parts[FW_DW_STR_OFFSETS] = p;
			break;
		case 8:		// macros in Fission's version 2
			if (x->version == 5)
				parts[FW_DW_RNGLISTS] = p;
			break;
		}
	}
}

static struct fw_dw_unit *find_in_package(struct fw_dw_loader *l,
					  const struct fw_dw_unit *skeleton)
{
	struct fw_dw_file *f = &l->dwp;
	struct part parts[FW_DW_SECTIONS] = { { 0, 0 } };
	struct index x;
	uint32_t bad = 0;
	if (!open_index(f, &x))
		return NULL;
	uint32_t row = find_row(&x, skeleton->dwo_id);
	if (row == 0)
		return NULL;
	read_row(&x, row, parts);
	// one unit at a time is at hand, so the file holds only that
	fw_dw_free_units(f);
	const struct part *info = &parts[FW_DW_INFO];
	if (fw_dw_list_units(f, info->offset, info->offset + info->size, &bad) ||
	    f->units.count == 0)
		return NULL;
	struct fw_dw_unit *u = &f->units.data[0];
	u->abbrev_offset += parts[FW_DW_ABBREV].offset;
	u->str_base = parts[FW_DW_STR_OFFSETS].offset;
	u->lists_base = parts[FW_DW_RNGLISTS].offset;
	return u;
}

static struct fw_dw_unit *find_in_object(struct fw_dw_file *f, const struct fw_dw_unit *skeleton)
{
	uint32_t bad = 0;
	if (fw_dw_list_units(f, 0, UINT64_MAX, &bad))
		return NULL;
	for (size_t i = 0; i < f->units.count; i++) {
		struct fw_dw_unit *u = &f->units.data[i];
		if (u->type == DW_UT_split_type || u->type == DW_UT_type)
			continue;
		// before DWARF 5 the id stands in the root DIE
		inherit(u, skeleton);
		if (fw_dw_read_root(u) && u->dwo_id == skeleton->dwo_id)
			return u;
	}
	return NULL;
}

struct fw_dw_unit *fw_dw_split_unit(struct fw_dw_loader *l, struct fw_dw_unit *skeleton,
				    struct fw_dw_file *file)
{
	const struct fw_elf_files *files = l->files;
	const struct fw_str none = { NULL, 0 };
	if (!files->open_dwo)
		return NULL;
	struct fw_elf *elf = files->open_dwo(files->context, skeleton->comp_dir,
					     skeleton->dwo_name);
	fw_dw_file_init(file, elf, true);
	file->details = files->details;
	struct fw_dw_unit *u = elf ? find_in_object(file, skeleton) : NULL;
	if (u)
		return u;
	if (!l->dwp_asked) {
		l->dwp_asked = true;
		elf = files->open_dwo(files->context, none, none);
		fw_dw_file_init(&l->dwp, elf, true);
		l->dwp.details = files->details;
	}
	u = find_in_package(l, skeleton);
	if (u) {
		inherit(u, skeleton);
		if (!fw_dw_read_root(u))
			u = NULL;
	}
	return u;
}
