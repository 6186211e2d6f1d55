#include <libdwarf/dwarf.h>

#include "symfiles/dwarf_internal.h"

// DIEs: reading and passing over attributes, and what their values mean (7.5.5).

enum { VARIES = UINT32_MAX };

static void pass_variable(const struct fw_dw_unit *u, uint8_t form, struct fw_dw_cursor *c);

/** A form that the DIE itself names; one more indirection is malformed. */
static uint8_t indirect(struct fw_dw_cursor *c)
{
	uint64_t form = fw_dw_uleb(c);
	switch (form) {
	case DW_FORM_GNU_addr_index: return DW_FORM_addrx;
	case DW_FORM_GNU_str_index: return DW_FORM_strx;
	case DW_FORM_GNU_ref_alt: return FW_DW_FORM_REF_ALT;
	case DW_FORM_GNU_strp_alt: return DW_FORM_strp_sup;
	}
	if (form == 0 || form > DW_FORM_addrx4 || form == DW_FORM_indirect ||
	    form == DW_FORM_implicit_const) {
		fw_dw_fail(c);
		return 0;
	}
	return (uint8_t)form;
}

/** Raw value: a number, an index, an offset; for strings and blocks in the DIE its place. */
static uint64_t value_of(const struct fw_dw_unit *u, uint8_t form, struct fw_dw_cursor *c)
{
	uint64_t at;
	switch (form) {
	case DW_FORM_addr:
		return fw_dw_sized(c, u->address_size);
	case DW_FORM_data1: case DW_FORM_ref1: case DW_FORM_flag: case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return fw_dw_u8(c);
	case DW_FORM_data2: case DW_FORM_ref2: case DW_FORM_strx2: case DW_FORM_addrx2:
		return fw_dw_u16(c);
	case DW_FORM_strx3: case DW_FORM_addrx3:
		return fw_dw_sized(c, 3);
	case DW_FORM_data4: case DW_FORM_ref4: case DW_FORM_strx4: case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return fw_dw_u32(c);
	case DW_FORM_data8: case DW_FORM_ref8: case DW_FORM_ref_sig8: case DW_FORM_ref_sup8:
		return fw_dw_u64(c);
	case DW_FORM_strp: case DW_FORM_line_strp: case DW_FORM_sec_offset:
	case DW_FORM_strp_sup: case FW_DW_FORM_REF_ALT:
		return fw_dw_sized(c, u->offset_size);
	case DW_FORM_ref_addr:
		return fw_dw_sized(c, u->version <= 2 ? u->address_size : u->offset_size);
	case DW_FORM_udata: case DW_FORM_ref_udata: case DW_FORM_strx: case DW_FORM_addrx:
	case DW_FORM_loclistx: case DW_FORM_rnglistx:
		return fw_dw_uleb(c);
	case DW_FORM_sdata:
		return (uint64_t)fw_dw_sleb(c);
	case DW_FORM_flag_present:
		return 1;
	case DW_FORM_string:
		at = (uint64_t)(c->p - u->file->sec[FW_DW_INFO].data);
		fw_dw_cstring(c);
		return at;
	}
	pass_variable(u, form, c);
	return 0;
}

/** Pass over a value whose length it tells itself. */
static void pass_variable(const struct fw_dw_unit *u, uint8_t form, struct fw_dw_cursor *c)
{
	switch (form) {
	case DW_FORM_udata: case DW_FORM_ref_udata: case DW_FORM_strx: case DW_FORM_addrx:
	case DW_FORM_loclistx: case DW_FORM_rnglistx: case DW_FORM_sdata:
		fw_dw_uleb(c);
		return;
	case DW_FORM_string:
		fw_dw_cstring(c);
		return;
	case DW_FORM_block1:
		fw_dw_skip(c, fw_dw_u8(c));
		return;
	case DW_FORM_block2:
		fw_dw_skip(c, fw_dw_u16(c));
		return;
	case DW_FORM_block4:
		fw_dw_skip(c, fw_dw_u32(c));
		return;
	case DW_FORM_block: case DW_FORM_exprloc:
		fw_dw_skip(c, fw_dw_uleb(c));
		return;
	case DW_FORM_data16:
		fw_dw_skip(c, 16);
		return;
	case DW_FORM_indirect:
		value_of(u, indirect(c), c);
		return;
	}
	fw_dw_fail(c);
}

void fw_dw_pass_die(const struct fw_dw_unit *u, const struct fw_dw_abbrevs *t,
		    const struct fw_dw_abbrev *a, struct fw_dw_cursor *c)
{
	if (a->fixed != VARIES) {
		fw_dw_skip(c, a->fixed);
		return;
	}
	const struct fw_dw_op *op = t->ops.data + a->first_op, *end = op + a->num_ops;
	for (; op < end; op++) {
		if (op->size != VARIES)
			fw_dw_skip(c, op->size);
		else if (op->form == DW_FORM_exprloc)
			fw_dw_skip(c, fw_dw_uleb(c));
		else
			pass_variable(u, op->form, c);
	}
}

void fw_dw_read_die(const struct fw_dw_unit *u, const struct fw_dw_abbrevs *t,
		    const struct fw_dw_abbrev *a, struct fw_dw_cursor *c, struct fw_dw_die *ret)
{
	const struct fw_dw_op *op = t->ops.data + a->first_op, *end = op + a->num_ops;
	ret->unit = u;
	ret->abbrev = a;
	ret->have = 0;
	for (; op < end; op++) {
		uint8_t form = op->form;
		uint64_t value;
		if (op->attr == FW_DW_NONE) {
			if (op->size != VARIES)
				fw_dw_skip(c, op->size);
			else
				pass_variable(u, form, c);
			continue;
		}
		if (form == DW_FORM_implicit_const) {
			value = (uint64_t)op->value;
		} else {
			if (form == DW_FORM_indirect)
				form = indirect(c);
			value = value_of(u, form, c);
		}
		ret->have |= UINT32_C(1) << op->attr;
		ret->form[op->attr] = form;
		ret->value[op->attr] = value;
	}
}

bool fw_dw_die_at(const struct fw_dw_unit *u, uint64_t offset, struct fw_dw_die *ret)
{
	const struct fw_dw_abbrevs *t = fw_dw_abbrevs_of(u);
	if (!t || offset < u->die || offset >= u->end)
		return false;
	struct fw_dw_cursor c = fw_dw_at(u->file, FW_DW_INFO, offset, u->end);
	uint64_t code = fw_dw_uleb(&c);
	const struct fw_dw_abbrev *a = code ? fw_dw_find_abbrev(t, code) : NULL;
	if (!a || c.bad)
		return false;
	memset(ret->value, 0, sizeof(ret->value));
	fw_dw_read_die(u, t, a, &c, ret);
	ret->offset = offset;
	return !c.bad;
}

static struct fw_str string_at(const struct fw_dw_file *f, enum fw_dw_section s, uint64_t offset)
{
	struct fw_dw_cursor c = f ? fw_dw_at(f, s, offset, UINT64_MAX) :
				(struct fw_dw_cursor){ .bad = true };
	return c.bad ? (struct fw_str){ NULL, 0 } : fw_dw_cstring(&c);
}

static struct fw_str indexed_string(const struct fw_dw_unit *u, uint64_t index)
{
	uint64_t at;
	if (__builtin_mul_overflow(index, u->offset_size, &at) ||
	    __builtin_add_overflow(at, u->str_base, &at))
		return (struct fw_str){ NULL, 0 };
	struct fw_dw_cursor c = fw_dw_at(u->file, FW_DW_STR_OFFSETS, at, UINT64_MAX);
	uint64_t offset = fw_dw_sized(&c, u->offset_size);
	return c.bad ? (struct fw_str){ NULL, 0 } : string_at(u->file, FW_DW_STR, offset);
}

struct fw_str fw_dw_string(const struct fw_dw_die *die, enum fw_dw_attr attr)
{
	uint64_t value = die->value[attr];
	if (!fw_dw_has(die, attr))
		return (struct fw_str){ NULL, 0 };
	switch (die->form[attr]) {
	case DW_FORM_string:
		return string_at(die->unit->file, FW_DW_INFO, value);
	case DW_FORM_strp:
		return string_at(die->unit->file, FW_DW_STR, value);
	case DW_FORM_line_strp:
		return string_at(die->unit->file, FW_DW_LINE_STR, value);
	case DW_FORM_strp_sup:
		return string_at(die->unit->file->alt, FW_DW_STR, value);
	case DW_FORM_strx: case DW_FORM_strx1: case DW_FORM_strx2: case DW_FORM_strx3:
	case DW_FORM_strx4:
		return indexed_string(die->unit, value);
	}
	return (struct fw_str){ NULL, 0 };
}

bool fw_dw_indexed_address(const struct fw_dw_unit *u, uint64_t index, uint64_t *ret)
{
	uint64_t at;
	if (__builtin_mul_overflow(index, u->address_size, &at) ||
	    __builtin_add_overflow(at, u->addr_base, &at))
		return false;
	struct fw_dw_cursor c = fw_dw_at(u->addresses, FW_DW_ADDR, at, UINT64_MAX);
	uint64_t value = fw_dw_sized(&c, u->address_size);
	if (c.bad)
		return false;
	*ret = value;
	return true;
}

bool fw_dw_is_address_form(uint8_t form)
{
	switch (form) {
	case DW_FORM_addr: case DW_FORM_addrx: case DW_FORM_addrx1: case DW_FORM_addrx2:
	case DW_FORM_addrx3: case DW_FORM_addrx4:
		return true;
	}
	return false;
}

bool fw_dw_address(const struct fw_dw_die *die, enum fw_dw_attr attr, uint64_t *ret)
{
	if (!fw_dw_has(die, attr) || !fw_dw_is_address_form(die->form[attr]))
		return false;
	if (die->form[attr] != DW_FORM_addr)
		return fw_dw_indexed_address(die->unit, die->value[attr], ret);
	*ret = die->value[attr];
	return true;
}

struct fw_dw_unit *fw_dw_reference(const struct fw_dw_die *die, enum fw_dw_attr attr,
				   uint64_t *ret)
{
	const struct fw_dw_unit *u = die->unit;
	struct fw_dw_file *f = u->file;
	uint64_t at = die->value[attr];
	if (!fw_dw_has(die, attr))
		return NULL;
	switch (die->form[attr]) {
	case DW_FORM_ref1: case DW_FORM_ref2: case DW_FORM_ref4: case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (__builtin_add_overflow(at, u->offset, &at) || at < u->die || at >= u->end)
			return NULL;
		*ret = at;
		return (struct fw_dw_unit *)u;
	case DW_FORM_ref_sup4: case DW_FORM_ref_sup8: case FW_DW_FORM_REF_ALT:
		f = f->alt;
		break;
	case DW_FORM_ref_addr:
		break;
	default:
		return NULL;
	}
	if (!f)
		return NULL;
	*ret = at;
	return f == u->file && at >= u->die && at < u->end ? (struct fw_dw_unit *)u :
							      fw_dw_unit_at(f, at);
}
