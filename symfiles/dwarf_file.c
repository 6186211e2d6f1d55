#include <libdwarf/dwarf.h>
#include <stdlib.h>

#include "symfiles/dwarf_internal.h"

// Sections, unit headers and root DIEs.

uint64_t fw_dw_sized(struct fw_dw_cursor *c, unsigned size)
{
	switch (size) {
	case 1:
		return fw_dw_u8(c);
	case 2:
		return fw_dw_u16(c);
	case 3: {
		uint64_t a = fw_dw_u8(c), b = fw_dw_u8(c), d = fw_dw_u8(c);
		return c->swap ? a << 16 | b << 8 | d : d << 16 | b << 8 | a;
	}
	case 4:
		return fw_dw_u32(c);
	case 8:
		return fw_dw_u64(c);
	}
	return fw_dw_fail(c);
}

uint64_t fw_dw_uleb_long(struct fw_dw_cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	while (c->p < c->end) {
		uint8_t byte = *c->p++;
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80)
			return v;
	}
	return fw_dw_fail(c);
}

int64_t fw_dw_sleb(struct fw_dw_cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	while (c->p < c->end) {
		uint8_t byte = *c->p++;
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80) {
			if (shift < 64 && byte & 0x40)
				v |= UINT64_MAX << shift;
			return (int64_t)v;
		}
	}
	return (int64_t)fw_dw_fail(c);
}

struct fw_str fw_dw_cstring(struct fw_dw_cursor *c)
{
	const uint8_t *nul = c->p < c->end ? memchr(c->p, 0, fw_dw_left(c)) : NULL;
	struct fw_str s = { (const char *)c->p, nul ? (size_t)(nul - c->p) : 0 };
	if (!nul) {
		fw_dw_fail(c);
		return (struct fw_str){ NULL, 0 };
	}
	c->p = nul + 1;
	return s;
}

bool fw_dw_initial_length(struct fw_dw_cursor *c, uint64_t *ret, uint8_t *ret_offset_size)
{
	uint64_t length = fw_dw_u32(c);
	uint8_t size = 4;
	if (length == 0xffffffff) {
		length = fw_dw_u64(c);
		size = 8;
	} else if (length >= 0xfffffff0) {
		return false;
	}
	if (c->bad || length > fw_dw_left(c))
		return false;
	*ret = length;
	*ret_offset_size = size;
	return true;
}

static const char *const section_names[FW_DW_SECTIONS] = {
	".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str", ".debug_str_offsets",
	".debug_addr", ".debug_line", ".debug_ranges", ".debug_rnglists", ".debug_cu_index",
};

static const char *const split_names[FW_DW_SECTIONS] = {
	".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str.dwo", NULL,
	".debug_str_offsets.dwo", NULL, ".debug_line.dwo", NULL, ".debug_rnglists.dwo",
	".debug_cu_index",
};

/** Bytes of work that a section of @p size bytes may cause, @p times over. */
static uint64_t budget(uint64_t size, unsigned times)
{
	uint64_t v;
	if (__builtin_mul_overflow(size, times, &v))
		return UINT64_MAX;
	return v > UINT64_MAX - (1 << 20) ? v : v + (1 << 20);
}

void fw_dw_file_refill(struct fw_dw_file *f)
{
	f->abbrev_left = budget(f->sec[FW_DW_ABBREV].size, 16);
	f->line_left = budget(f->sec[FW_DW_LINE].size, 16);
	f->list_left = budget(f->sec[FW_DW_RANGES].size + f->sec[FW_DW_RNGLISTS].size, 16);
}

void fw_dw_file_init(struct fw_dw_file *f, struct fw_elf *elf, bool split)
{
	memset(f, 0, sizeof(*f));
	f->split = split;
	for (unsigned i = 0; i < FW_DW_SECTIONS && elf; i++) {
		const char *name = split ? split_names[i] : section_names[i];
		uint64_t address;
		if (name && !fw_elf_section(elf, name, &f->sec[i], &address))
			f->sec[i] = (struct fw_bytes){ .data = NULL };
	}
	fw_dw_file_refill(f);
}

void fw_dw_free_units(struct fw_dw_file *f)
{
	for (size_t i = 0; i < f->units.count; i++) {
		if (f->units.data[i].scopes)
			fw_vec_deinit(&f->units.data[i].scopes->list);
		free(f->units.data[i].scopes);
	}
	fw_vec_deinit(&f->units);
}

void fw_dw_file_deinit(struct fw_dw_file *f)
{
	fw_dw_free_units(f);
	fw_dw_free_abbrevs(f);
}

struct fw_dw_cursor fw_dw_at(const struct fw_dw_file *f, enum fw_dw_section s, uint64_t offset,
			     uint64_t end)
{
	const struct fw_bytes *b = &f->sec[s];
	if (end > b->size)
		end = b->size;
	if (!b->data || offset > end)
		return (struct fw_dw_cursor){ .p = NULL, .end = NULL, .bad = true };
	return (struct fw_dw_cursor){ b->data + offset, b->data + end, b->swap, false };
}

/** Header of a unit (7.5.1) at the cursor, behind its length. False: broken, or of no use. */
static bool unit_header(struct fw_dw_cursor *c, struct fw_dw_unit *u)
{
	u->version = fw_dw_u16(c);
	if (c->bad || u->version < 2 || u->version > 5)
		return false;
	if (u->version >= 5) {
		u->type = fw_dw_u8(c);
		u->address_size = fw_dw_u8(c);
		u->abbrev_offset = fw_dw_sized(c, u->offset_size);
	} else {
		u->type = DW_UT_compile;
		u->abbrev_offset = fw_dw_sized(c, u->offset_size);
		u->address_size = fw_dw_u8(c);
	}
	if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
		u->dwo_id = fw_dw_u64(c);
	else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
		fw_dw_skip(c, 8 + u->offset_size);
	return !c->bad && (u->address_size == 4 || u->address_size == 8) &&
	       u->type >= DW_UT_compile && u->type <= DW_UT_split_type;
}

enum fw_code fw_dw_list_units(struct fw_dw_file *f, uint64_t from, uint64_t to, uint32_t *bad)
{
	const uint8_t *start = f->sec[FW_DW_INFO].data;
	struct fw_dw_cursor c = fw_dw_at(f, FW_DW_INFO, from, to);
	while (c.p < c.end) {
		struct fw_dw_unit u = { .file = f, .addresses = f,
					.offset = (uint64_t)(c.p - start) };
		uint64_t length;
		if (fw_dw_left(&c) < 11 || !fw_dw_initial_length(&c, &length, &u.offset_size)) {
			++*bad;
			break;
		}
		struct fw_dw_cursor header = { c.p, c.p + length, c.swap, false };
		fw_dw_skip(&c, length);
		if (length == 0)
			continue;
		if (!unit_header(&header, &u)) {
			++*bad;
			continue;
		}
		u.die = (uint64_t)(header.p - start);
		u.end = (uint64_t)(header.end - start);
		if (!fw_vec_push(&f->units, u))
			return FW_NO_MEMORY;
	}
	return FW_OK;
}

struct fw_dw_unit *fw_dw_unit_at(struct fw_dw_file *f, uint64_t offset)
{
	size_t low = 0, n = f->units.count;
	while (n) {
		size_t half = n / 2;
		if (f->units.data[low + half].die <= offset) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low && offset < f->units.data[low - 1].end ? &f->units.data[low - 1] : NULL;
}

/** Languages whose names are joined from their scopes with "::" (7.12). */
static bool language_qualifies(uint64_t language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x11:	// DW_LANG_ObjC_plus_plus
	case 0x1c:	// DW_LANG_Rust
	case 0x2b:	// DW_LANG_C_plus_plus_17
	case 0x2c:	// DW_LANG_C_plus_plus_20
		return true;
	}
	return false;
}

/** Where a table's entries begin when no attribute says: behind the section's one header. */
static uint64_t default_base(const struct fw_dw_unit *u, enum fw_dw_section s)
{
	if (u->version < 5 || !u->file->split)
		return 0;
	uint64_t header = u->offset_size == 8 ? 12 : 4;
	if (s == FW_DW_RNGLISTS)
		return header + 8;	// version, address and segment size, count
	return header + 4;		// version, padding
}

static void take_bases(struct fw_dw_unit *u, const struct fw_dw_die *die)
{
	static const struct { uint8_t attr; uint8_t section; } of[] = {
		{ FW_DW_STR_BASE, FW_DW_STR_OFFSETS }, { FW_DW_LISTS_BASE, FW_DW_RNGLISTS },
	};
	uint64_t *base[] = { &u->str_base, &u->lists_base };
	for (unsigned i = 0; i < 2; i++) {
		// a .dwp's part was set by who found the unit
		if (fw_dw_has(die, of[i].attr))
			*base[i] = die->value[of[i].attr];
		else
			*base[i] += default_base(u, of[i].section);
	}
	if (fw_dw_has(die, FW_DW_ADDR_BASE))
		u->addr_base = die->value[FW_DW_ADDR_BASE];
	if (fw_dw_has(die, FW_DW_RANGES_BASE))
		u->ranges_base = die->value[FW_DW_RANGES_BASE];
}

static void take_root(struct fw_dw_unit *u, const struct fw_dw_die *die)
{
	take_bases(u, die);
	u->language = (uint8_t)die->value[FW_DW_LANGUAGE];
	u->qualifies = fw_dw_has(die, FW_DW_LANGUAGE) &&
		       language_qualifies(die->value[FW_DW_LANGUAGE]);
	u->name = fw_dw_string(die, FW_DW_NAME);
	if (fw_dw_has(die, FW_DW_COMP_DIR))
		u->comp_dir = fw_dw_string(die, FW_DW_COMP_DIR);
	if (fw_dw_has(die, FW_DW_STMT_LIST) && !u->file->split) {
		u->has_line = true;
		u->line_offset = die->value[FW_DW_STMT_LIST];
	}
	if (fw_dw_has(die, FW_DW_LOW))
		u->has_low = fw_dw_address(die, FW_DW_LOW, &u->low);
	if (fw_dw_has(die, FW_DW_DWO_NAME)) {
		u->dwo_name = fw_dw_string(die, FW_DW_DWO_NAME);
		u->has_dwo = u->dwo_name.n != 0;
	}
	if (fw_dw_has(die, FW_DW_DWO_ID))
		u->dwo_id = die->value[FW_DW_DWO_ID];
}

bool fw_dw_read_root(struct fw_dw_unit *u)
{
	struct fw_dw_die die;
	if (u->root_read)
		return !u->root_bad;
	u->root_read = true;
	u->root_bad = !fw_dw_die_at(u, u->die, &die);
	if (!u->root_bad)
		take_root(u, &die);
	return !u->root_bad;
}

bool fw_dw_look_at_root(struct fw_dw_unit *u, struct fw_dw_die *ret, uint16_t *ret_tag)
{
	struct fw_dw_cursor c = fw_dw_at(u->file, FW_DW_INFO, u->die, u->end);
	uint64_t code = fw_dw_uleb(&c);
	struct fw_dw_abbrevs *t = c.bad ? NULL : fw_dw_one_abbrev(u, code);
	if (!t)
		return false;
	memset(ret, 0, sizeof(*ret));
	fw_dw_read_die(u, t, &t->list.data[0], &c, ret);
	ret->offset = u->die;
	ret->abbrev = NULL;
	*ret_tag = t->list.data[0].tag;
	fw_dw_free_one_abbrev(t);
	if (c.bad)
		return false;
	if (!u->root_read)
		take_root(u, ret);
	u->root_read = true;
	return !u->root_bad;
}
