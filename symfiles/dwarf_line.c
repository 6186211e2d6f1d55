#include <libdwarf/dwarf.h>
#include <stdlib.h>

#include "symfiles/dwarf_internal.h"

// Line programs of DWARF 2 to 5 (6.2).

struct program {
	struct fw_dw_loader *l;
	const struct fw_dw_unit *u;
	struct fw_dw_lines *out;
	struct fw_dw_cursor c;		// the opcodes
	uint8_t offset_size, address_size, min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	uint8_t lengths[256];		// operands of standard opcodes
	// the machine's registers
	uint64_t address, line, file, op_index, column, discriminator;
	struct fw_dw_rows rows;
	struct { uint8_t advance; int16_t line; } special[256];
};

void fw_dw_lines_deinit(struct fw_dw_lines *lines)
{
	fw_vec_deinit(&lines->dirs);
	fw_vec_deinit(&lines->files);
	fw_vec_deinit(&lines->rows);
}

static bool push_file(struct fw_dw_lines *out, struct fw_str name, uint64_t dir)
{
	struct fw_dw_line_file f = { name, dir, FW_NO_INDEX };
	return fw_vec_push(&out->files, f);
}

/** Directories and files of versions 2 to 4. */
static enum fw_code old_tables(struct program *p, struct fw_dw_cursor *c)
{
	struct fw_str name;
	if (!fw_vec_push(&p->out->dirs, ((struct fw_str){ NULL, 0 })))
		return FW_NO_MEMORY;	// 0 is the unit's directory
	while ((name = fw_dw_cstring(c)).n)
		if (!fw_vec_push(&p->out->dirs, name))
			return FW_NO_MEMORY;
	while ((name = fw_dw_cstring(c)).n) {
		uint64_t dir = fw_dw_uleb(c);
		fw_dw_uleb(c);		// time
		fw_dw_uleb(c);		// size
		if (!c->bad && !push_file(p->out, name, dir))
			return FW_NO_MEMORY;
	}
	return FW_OK;
}

static struct fw_str line_string(const struct program *p, struct fw_dw_cursor *c, uint64_t form)
{
	const struct fw_dw_file *f = p->u->addresses;
	enum fw_dw_section s = FW_DW_LINE_STR;
	uint64_t at;
	switch (form) {
	case DW_FORM_string:
		return fw_dw_cstring(c);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		f = f->alt;
		// fall through
	case DW_FORM_strp:
		s = FW_DW_STR;
		// fall through
	case DW_FORM_line_strp:
		at = fw_dw_sized(c, p->offset_size);
		if (!f)
			return (struct fw_str){ NULL, 0 };
		struct fw_dw_cursor text = fw_dw_at(f, s, at, UINT64_MAX);
		return text.bad ? (struct fw_str){ NULL, 0 } : fw_dw_cstring(&text);
	}
	fw_dw_fail(c);
	return (struct fw_str){ NULL, 0 };
}

static uint64_t line_number(struct fw_dw_cursor *c, uint64_t form, uint8_t offset_size)
{
	switch (form) {
	case DW_FORM_data1: return fw_dw_u8(c);
	case DW_FORM_data2: return fw_dw_u16(c);
	case DW_FORM_data4: return fw_dw_u32(c);
	case DW_FORM_data8: return fw_dw_u64(c);
	case DW_FORM_udata: return fw_dw_uleb(c);
	case DW_FORM_sec_offset: return fw_dw_sized(c, offset_size);
	case DW_FORM_data16: fw_dw_skip(c, 16); return 0;
	case DW_FORM_block: fw_dw_skip(c, fw_dw_uleb(c)); return 0;
	case DW_FORM_block1: fw_dw_skip(c, fw_dw_u8(c)); return 0;
	case DW_FORM_block2: fw_dw_skip(c, fw_dw_u16(c)); return 0;
	case DW_FORM_block4: fw_dw_skip(c, fw_dw_u32(c)); return 0;
	}
	return fw_dw_fail(c);
}

static bool is_string_form(uint64_t form)
{
	return form == DW_FORM_string || form == DW_FORM_line_strp || form == DW_FORM_strp ||
	       form == DW_FORM_strp_sup || form == DW_FORM_GNU_strp_alt;
}

/** Version 5's directories or files: entries in a format that stands in front of them. */
static enum fw_code new_table(struct program *p, struct fw_dw_cursor *c, bool dirs)
{
	uint64_t type[255], form[255];
	unsigned formats = fw_dw_u8(c);
	for (unsigned i = 0; i < formats; i++) {
		type[i] = fw_dw_uleb(c);
		form[i] = fw_dw_uleb(c);
	}
	uint64_t count = fw_dw_uleb(c);
	for (uint64_t n = 0; n < count && !c->bad; n++) {
		const uint8_t *start = c->p;
		struct fw_str name = { NULL, 0 };
		uint64_t dir = 0;
		for (unsigned i = 0; i < formats; i++) {
			if (is_string_form(form[i])) {
				struct fw_str s = line_string(p, c, form[i]);
				if (type[i] == DW_LNCT_path)
					name = s;
				continue;
			}
			uint64_t v = line_number(c, form[i], p->offset_size);
			if (type[i] == DW_LNCT_directory_index)
				dir = v;
		}
		if (c->p == start)	// an entry of no bytes could come any number of times
			fw_dw_fail(c);
		if (c->bad)
			break;
		if (!(dirs ? fw_vec_push(&p->out->dirs, name) : push_file(p->out, name, dir)))
			return FW_NO_MEMORY;
	}
	return FW_OK;
}

/** The header, 6.2.4. FW_MALFORMED ... */
static enum fw_code read_header(struct program *p, struct fw_dw_cursor *c)
{
	uint64_t length;
	enum fw_code code;
	if (!fw_dw_initial_length(c, &length, &p->offset_size))
		return FW_MALFORMED;
	c->end = c->p + length;
	p->out->version = fw_dw_u16(c);
	if (p->out->version < 2 || p->out->version > 5)
		return FW_MALFORMED;
	p->out->base_index = p->out->version < 5;
	p->address_size = p->u->address_size;
	if (p->out->version >= 5) {
		p->address_size = fw_dw_u8(c);
		fw_dw_u8(c);		// segment selectors
	}
	uint64_t header = fw_dw_sized(c, p->offset_size);
	if (c->bad || header > fw_dw_left(c))
		return FW_MALFORMED;
	p->c = (struct fw_dw_cursor){ c->p + header, c->end, c->swap, false };
	c->end = c->p + header;
	p->min_length = fw_dw_u8(c);
	p->max_ops = p->out->version >= 4 ? fw_dw_u8(c) : 1;
	fw_dw_u8(c);			// is a row a statement at first?
	p->line_base = (int8_t)fw_dw_u8(c);
	p->line_range = fw_dw_u8(c);
	p->opcode_base = fw_dw_u8(c);
	for (unsigned i = 1; i < p->opcode_base; i++)
		p->lengths[i] = fw_dw_u8(c);
	if (c->bad || p->line_range == 0 || p->max_ops == 0 || p->opcode_base == 0)
		return FW_MALFORMED;
	if (p->out->version < 5)
		return old_tables(p, c);
	code = new_table(p, c, true);
	return code ? code : new_table(p, c, false);
}

static void reset(struct program *p)
{
	p->address = p->op_index = 0;
	p->line = p->file = 1;
	p->column = p->discriminator = 0;
}

static void advance(struct program *p, uint64_t operations)
{
	if (__builtin_expect(p->max_ops == 1, 1)) {
		p->address += operations * p->min_length;
		return;
	}
	uint64_t ops = p->op_index + operations;
	p->address += p->min_length * (ops / p->max_ops);
	p->op_index = ops % p->max_ops;
}

static bool push_row(struct program *p)
{
	uint64_t file = p->file;
	if (FW_UNLIKELY(p->l->files->details)) {
		if (!fw_dw_row_place(p->l, p->file, p->column, p->discriminator, &file))
			return false;
		p->discriminator = 0;
	}
	return fw_dw_push_row(&p->rows, p->address, p->line, file);
}

static void set_address(struct program *p, uint64_t size)
{
	p->address = fw_dw_sized(&p->c, (unsigned)size);
	p->op_index = 0;
	fw_dw_start_rows(&p->rows, p->address, size == 8 ? UINT64_MAX : UINT32_MAX);
}

static bool end_sequence(struct program *p)
{
	bool ok = fw_dw_end_rows(&p->rows, p->address);
	reset(p);
	return ok;
}

/** Behind a zero byte. False: out of memory. */
static bool extended(struct program *p)
{
	struct fw_dw_cursor *c = &p->c;
	uint64_t length = fw_dw_uleb(c);
	if (c->bad || length == 0 || length > fw_dw_left(c)) {
		if (length)
			fw_dw_fail(c);
		return true;
	}
	const uint8_t *next = c->p + length;
	bool ok = true;
	switch (fw_dw_u8(c)) {
	case DW_LNE_end_sequence:
		ok = end_sequence(p);
		break;
	case DW_LNE_set_address:
		set_address(p, length - 1);
		break;
	case DW_LNE_define_file: {
		struct fw_dw_cursor d = { c->p, next, c->swap, false };
		struct fw_str name = fw_dw_cstring(&d);
		uint64_t dir = fw_dw_uleb(&d);
		if (!d.bad && p->out->version < 5)
			ok = push_file(p->out, name, dir);
		break;
	}
	case DW_LNE_set_discriminator: {
		struct fw_dw_cursor d = { c->p, next, c->swap, false };
		p->discriminator = fw_dw_uleb(&d);
		break;
	}
	default:		// what vendors add
		break;
	}
	if (!c->bad)
		c->p = next;
	return ok;
}

/** A standard opcode, 6.2.5.2. False: out of memory. */
static bool standard(struct program *p, uint8_t op)
{
	struct fw_dw_cursor *c = &p->c;
	switch (op) {
	case DW_LNS_copy:
		return push_row(p);
	case DW_LNS_advance_pc:
		advance(p, fw_dw_uleb(c));
		return true;
	case DW_LNS_advance_line:
		p->line = (uint32_t)(p->line + (uint64_t)fw_dw_sleb(c));
		return true;
	case DW_LNS_set_file:
		p->file = fw_dw_uleb(c);
		return true;
	case DW_LNS_set_column:
		p->column = fw_dw_uleb(c);
		return true;
	case DW_LNS_const_add_pc:
		advance(p, (255u - p->opcode_base) / p->line_range);
		return true;
	case DW_LNS_fixed_advance_pc:
		p->address += fw_dw_u16(c);
		p->op_index = 0;
		return true;
	case DW_LNS_negate_stmt: case DW_LNS_set_basic_block: case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		return true;
	}
	for (unsigned i = 0; i < p->lengths[op]; i++)	// set_isa, later ones
		fw_dw_uleb(c);
	return true;
}

static enum fw_code run(struct program *p)
{
	struct fw_dw_cursor *c = &p->c;
	for (unsigned op = p->opcode_base; op < 256; op++) {
		unsigned adjusted = op - p->opcode_base;
		p->special[op].advance = (uint8_t)(adjusted / p->line_range);
		p->special[op].line = (int16_t)(p->line_base + (int)(adjusted % p->line_range));
	}
	p->rows.dropped = true;		// until an address is set
	reset(p);
	while (c->p < c->end) {
		uint8_t op = *c->p++;
		bool ok;
		if (op >= p->opcode_base) {
			advance(p, p->special[op].advance);
			p->line = (uint32_t)((uint32_t)p->line + (uint32_t)p->special[op].line);
			ok = push_row(p);
		} else if (op) {
			ok = standard(p, op);
		} else {
			ok = extended(p);
		}
		if (!ok)
			return FW_NO_MEMORY;
	}
	// a sequence that does not end has no last byte
	if (!end_sequence(p))
		return FW_NO_MEMORY;
	enum fw_code code = fw_dw_finish_rows(&p->rows);
	return code == FW_OK && c->bad ? FW_MALFORMED : code;
}

void fw_dw_start_rows(struct fw_dw_rows *r, uint64_t address, uint64_t mask)
{
	// 0, -1, -2: what linkers leave where the code was thrown away
	r->dropped = address == 0 || address == mask || address == mask - 1 || address < r->base;
}

bool fw_dw_end_rows(struct fw_dw_rows *r, uint64_t address)
{
	struct fw_dw_lines *out = r->out;
	uint64_t at = address - r->base;
	if (out->rows.count > r->first) {
		if (out->rows.data[r->first].addr < r->end_of_previous)
			r->unordered = true;
		if (at >= UINT32_MAX || at < r->last)
			at = r->last;
		struct fw_dw_row row = { (uint32_t)at, 0, FW_NO_INDEX };
		if (r->last == at)
			out->rows.data[out->rows.count - 1] = row;
		else if (!fw_vec_push(&out->rows, row))
			return false;
		r->end_of_previous = at;
	}
	r->first = out->rows.count;
	r->last = 0;
	r->dropped = true;
	return true;
}

struct sequence { uint32_t start, first, count; };

static int by_start(const void *pa, const void *pb)
{
	const struct sequence *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/** Put sequences in order; where they overlap, or rows go back, the first come stay. */
static enum fw_code sort_rows(struct fw_dw_lines *out)
{
	FW_VEC(struct sequence) sequences = { 0 };
	FW_VEC(struct fw_dw_row) rows = { 0 };
	enum fw_code code = FW_NO_MEMORY;
	uint32_t first = 0;
	for (size_t i = 0; i < out->rows.count; i++) {
		struct sequence s = { out->rows.data[first].addr, first, (uint32_t)i + 1 - first };
		if (out->rows.data[i].file != FW_NO_INDEX)
			continue;
		if (!fw_vec_push(&sequences, s))
			goto done;
		first = (uint32_t)i + 1;
	}
	if (sequences.count)
		qsort(sequences.data, sequences.count, sizeof(*sequences.data), by_start);
	if (!fw_vec_reserve(&rows, out->rows.count))
		goto done;
	for (size_t i = 0; i < sequences.count; i++) {
		const struct fw_dw_row *r = out->rows.data + sequences.data[i].first;
		for (uint32_t k = 0; k < sequences.data[i].count; k++) {
			struct fw_dw_row *last = rows.count ? &rows.data[rows.count - 1] : NULL;
			if (last && r[k].addr == last->addr && last->file == FW_NO_INDEX)
				*last = r[k];
			else if (!last || r[k].addr > last->addr)
				rows.data[rows.count++] = r[k];
		}
	}
	fw_vec_deinit(&out->rows);
	out->rows.data = rows.data;
	out->rows.count = rows.count;
	out->rows.capacity = rows.capacity;
	rows.data = NULL;
	code = FW_OK;
done:
	fw_vec_deinit(&sequences);
	fw_vec_deinit(&rows);
	return code;
}

enum fw_code fw_dw_finish_rows(struct fw_dw_rows *r)
{
	enum fw_code code = r->unordered ? sort_rows(r->out) : FW_OK;
	r->out->rows_left = 4 * (uint64_t)r->out->rows.count + 1024;
	return code;
}

enum fw_code fw_dw_read_lines(struct fw_dw_loader *l, const struct fw_dw_unit *u)
{
	struct fw_dw_lines *out = &l->lines;
	struct fw_dw_file *f = u->addresses;
	struct program p = { .l = l, .u = u, .out = out,
			     .rows = { .out = out, .base = l->base } };
	out->dirs.count = out->files.count = out->rows.count = 0;
	out->base_index = 1;
	out->comp_dir = u->comp_dir;
	if (l->files->details)
		fw_dw_details_new_unit(&l->details);
	if (!u->has_line)
		return FW_OK;
	struct fw_dw_cursor c = fw_dw_at(f, FW_DW_LINE, u->line_offset, UINT64_MAX);
	const uint8_t *start = c.p;
	enum fw_code code = c.bad ? FW_MALFORMED : read_header(&p, &c);
	if (code)
		return code;
	uint64_t bytes = (uint64_t)(p.c.end - start);
	if (bytes > f->line_left)
		return FW_LIMIT;
	f->line_left -= bytes;
	return run(&p);
}
