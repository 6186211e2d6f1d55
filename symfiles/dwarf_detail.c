#include <stdlib.h>

#include "symfiles/dwarf_internal.h"

// Details, for images that are to have them (lib/image/image.h): they ride on the
// numbers that files and inlined functions have, so that nothing else changes.

void fw_dw_details_init(struct fw_dw_details *d)
{
	fw_intern_init(&d->rows);
	fw_intern_init(&d->places);
	fw_intern_init(&d->origins);
}

void fw_dw_details_deinit(struct fw_dw_details *d)
{
	fw_intern_deinit(&d->rows);
	fw_intern_deinit(&d->places);
	fw_intern_deinit(&d->origins);
}

void fw_dw_details_restart(struct fw_dw_details *d)
{
	fw_dw_details_deinit(d);
	fw_dw_details_init(d);
}

void fw_dw_details_new_unit(struct fw_dw_details *d)
{
	fw_intern_deinit(&d->rows);
	fw_intern_init(&d->rows);
}

struct place { uint32_t file, column, discriminator; };

static uint32_t cut(uint64_t v)
{
	return v > UINT32_MAX ? 0 : (uint32_t)v;
}

bool fw_dw_row_place(struct fw_dw_loader *l, uint64_t file, uint64_t column,
		     uint64_t discriminator, uint64_t *ret)
{
	struct place p = { file < FW_NO_INDEX ? (uint32_t)file : FW_NO_INDEX - 1, cut(column),
			   cut(discriminator) };
	uint32_t id;
	if (fw_intern_add(&l->details.rows, (const char *)&p, sizeof(p), &id) != FW_OK)
		return false;
	*ret = id;
	return true;
}

enum fw_code fw_dw_place_number(struct fw_dw_loader *l, uint64_t file, uint64_t column,
				uint64_t discriminator, uint32_t *ret)
{
	struct fw_builder *b = l->b;
	struct place p = { FW_NO_INDEX, cut(column), cut(discriminator) };
	uint32_t id;
	enum fw_code code = fw_dw_file_number(l, file, &p.file);
	*ret = FW_NO_INDEX;
	if (code || p.file == FW_NO_INDEX)
		return code;
	code = fw_intern_add(&l->details.places, (const char *)&p, sizeof(p), &id);
	if (code)
		return code;
	if (id == b->places.count) {
		struct fw_numbered entry = { id, p.file };
		struct fw_line_place place = { p.column, p.discriminator };
		if (!fw_vec_push(&b->files, entry) || !fw_vec_push(&b->places, place))
			return FW_NO_MEMORY;
	}
	*ret = id;
	return FW_OK;
}

enum fw_code fw_dw_row_number(struct fw_dw_loader *l, uint32_t row_file, uint32_t *ret)
{
	struct place p;
	*ret = FW_NO_INDEX;
	if (row_file >= fw_intern_count(&l->details.rows))
		return FW_OK;
	struct fw_str bytes = fw_intern_get(&l->details.rows, row_file);
	memcpy(&p, bytes.s, sizeof(p));
	return fw_dw_place_number(l, p.file, p.column, p.discriminator, ret);
}

static enum fw_code intern(struct fw_dw_loader *l, struct fw_str s, uint32_t *ret)
{
	if (s.n > l->text_left)
		return FW_OK;
	l->text_left -= s.n;
	return fw_intern_add(&l->b->strings, s.s, s.n, ret);
}

/** Each thing from the first DIE of the chain that says it. */
static enum fw_code find_decl(struct fw_dw_loader *l, struct fw_dw_unit *u, uint64_t offset,
			      struct fw_decl *ret)
{
	enum fw_code code = FW_OK;
	bool has_file = false, has_line = false;
	uint64_t low;
	*ret = (struct fw_decl){ FW_NO_INDEX, FW_NO_INDEX, 0, FW_NO_INDEX };
	for (unsigned i = 0; i < FW_MAX_DIE_CHAIN && code == FW_OK; i++) {
		struct fw_dw_die die;
		if (!fw_dw_read_root(u) || !fw_dw_die_at(u, offset, &die))
			break;
		if (i == 0 && fw_dw_address(&die, FW_DW_LOW, &low) && low >= l->base &&
		    low - l->base < FW_NO_INDEX)
			ret->start = (uint32_t)(low - l->base);
		struct fw_str name = fw_dw_string(&die, FW_DW_NAME);
		if (ret->name == FW_NO_INDEX && name.n)
			code = intern(l, name, &ret->name);
		if (!has_line && fw_dw_has(&die, FW_DW_DECL_LINE)) {
			has_line = true;
			ret->line = cut(die.value[FW_DW_DECL_LINE]);
		}
		if (!has_file && fw_dw_has(&die, FW_DW_DECL_FILE)) {
			has_file = true;	// a number of another unit's table: not read
			if (u == l->unit && code == FW_OK)
				code = fw_dw_file_number(l, die.value[FW_DW_DECL_FILE], &ret->file);
		}
		uint64_t at = 0;
		struct fw_dw_unit *next = fw_dw_reference(&die, FW_DW_ORIGIN, &at);
		if (!next)
			next = fw_dw_reference(&die, FW_DW_SPEC, &at);
		if (!next)
			break;
		u = next;
		offset = at;
	}
	return code;
}

enum fw_code fw_dw_detail_func(struct fw_dw_loader *l, struct fw_dw_unit *u,
			       const struct fw_dw_func *f)
{
	struct fw_decl decl;
	enum fw_code code = find_decl(l, u, f->die, &decl);
	for (uint32_t i = 0; i < f->num_ranges && code == FW_OK; i++) {
		struct fw_func_decl d = { l->ranges.list.data[f->first_range + i].start, decl };
		if (!fw_vec_push(&l->b->decls, d))
			code = FW_NO_MEMORY;
	}
	return code;
}

/** What makes one number in ORIGINS. */
struct origin { uint32_t string; struct fw_decl decl; };

enum fw_code fw_dw_detail_call(struct fw_dw_loader *l, const struct fw_dw_call *call,
			       uint32_t name, struct fw_inline *ret)
{
	struct fw_builder *b = l->b;
	struct origin o = { .string = name };
	struct fw_dw_die die;
	uint64_t column = 0, discriminator = 0;
	uint32_t id;
	if (fw_dw_die_at(l->unit, call->die, &die)) {
		if (fw_dw_has(&die, FW_DW_CALL_COLUMN))
			column = die.value[FW_DW_CALL_COLUMN];
		if (fw_dw_has(&die, FW_DW_DISCRIMINATOR))
			discriminator = die.value[FW_DW_DISCRIMINATOR];
	}
	enum fw_code code = FW_OK;
	if (call->call_file != UINT64_MAX)
		code = fw_dw_place_number(l, call->call_file, column, discriminator,
					  &ret->call_file);
	if (code || name == FW_NO_STRING)
		return code;
	code = find_decl(l, l->unit, call->die, &o.decl);
	if (code == FW_OK)
		code = fw_intern_add(&l->details.origins, (const char *)&o, sizeof(o), &id);
	if (code)
		return code;
	if (id == b->origin_decls.count) {
		struct fw_numbered entry = { id, name };
		if (!fw_vec_push(&b->origins, entry) || !fw_vec_push(&b->origin_decls, o.decl))
			return FW_NO_MEMORY;
	}
	ret->origin = id;
	return FW_OK;
}
