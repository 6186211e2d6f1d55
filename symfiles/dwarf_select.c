#include <stdlib.h>

#include "lib/base/arena.h"
#include "symfiles/dwarf_unit_internal.h"

// Which units and functions an address needs: our own scan finds the functions of a
// unit once, and only those that are chosen are read further.

enum { KEPT_SCOPES = 32 << 20 };	// bytes of scopes that units keep between questions

static bool is_type_unit(const struct fw_dw_unit *u)
{
	return u->type == DW_UT_type || u->type == DW_UT_split_type;
}

/** .debug_aranges is often missing or not whole: the ranges that root DIEs state. */
static bool index_unit(struct fw_dwarf_units *s, uint32_t i)
{
	struct fw_dw_loader *l = &s->l;
	struct fw_dw_unit *u = &l->main.units.data[i];
	struct fw_dw_die die;
	uint16_t tag;
	if (is_type_unit(u) || !fw_dw_look_at_root(u, &die, &tag))
		return true;
	l->ranges.list.count = 0;
	bool ok = fw_dw_ranges_of(l, &die) == FW_OK;
	for (size_t k = 0; k < l->ranges.list.count && ok; k++) {
		struct fw_dw_covered e = { .range = l->ranges.list.data[k], .item = i };
		ok = fw_vec_push(&s->index.list, e);
	}
	// DWARF 2 has no ranges: gcc then states one section of several
	bool part = u->version == 2 && !fw_dw_has(&die, FW_DW_AT_RANGES);
	if (ok && (l->ranges.list.count == 0 || part) && tag == DW_TAG_compile_unit)
		ok = fw_vec_push(&s->loose, i);
	return ok;
}

bool fw_dw_index_units(struct fw_dwarf_units *s)
{
	struct fw_builder none = { .cpu = FW_CPU_UNKNOWN }, *b = s->l.b;
	size_t n = s->l.main.units.count;
	bool ok = true;
	if (s->indexed)
		return true;
	s->l.b = &none;
	s->known = fw_alloc_should_fail() ? NULL : calloc(n + 1, sizeof(*s->known));
	ok = s->known != NULL;
	for (uint32_t i = 0; i < n && ok; i++)
		ok = index_unit(s, i);
	fw_dw_cover_sort(&s->index);
	s->l.b = b;
	s->indexed = ok;
	return ok;
}

void fw_dw_select_deinit(struct fw_dwarf_units *s)
{
	for (size_t i = 0; i < s->l.main.units.count && s->known; i++) {
		fw_vec_deinit(&s->known[i].funcs);
		fw_vec_deinit(&s->known[i].ranges);
		fw_vec_deinit(&s->known[i].cover.list);
	}
	free(s->known);
	fw_vec_deinit(&s->index.list);
	fw_vec_deinit(&s->loose);
	fw_vec_deinit(&s->touched);
	fw_vec_deinit(&s->asked.list);
}

bool fw_dwarf_units_find(struct fw_dwarf_units *s, uint64_t address, uint32_t *ret)
{
	uint64_t at = address - s->l.base;
	size_t place = SIZE_MAX;
	if (!fw_dw_index_units(s) || address < s->l.base || at >= UINT32_MAX)
		return false;
	const struct fw_dw_covered *e = fw_dw_cover_next(&s->index, (uint32_t)at,
							 (uint32_t)at + 1, &place);
	if (e)
		*ret = e->item;
	return e != NULL;
}

// --- functions of a unit --------------------------------------------------------

/** Where its scopes go: they are kept while there is room. */
static struct fw_dw_scopes *scopes_for(struct fw_dwarf_units *s, struct fw_dw_unit *u)
{
	if (!u->qualifies || u->scopes || s->scope_bytes > KEPT_SCOPES)
		return &s->l.scopes;
	u->scopes = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*u->scopes));
	return u->scopes ? u->scopes : &s->l.scopes;
}

static enum fw_code keep_funcs(struct fw_dwarf_units *s, struct fw_dw_known *k)
{
	struct fw_dw_loader *l = &s->l;
	size_t num_funcs = l->funcs.count, num_ranges = l->ranges.list.count;
	if (num_funcs == 0)
		return FW_OK;
	if (!fw_vec_reserve(&k->funcs, num_funcs) || !fw_vec_reserve(&k->ranges, num_ranges) ||
	    !fw_vec_reserve(&k->cover.list, num_ranges))
		return FW_NO_MEMORY;
	memcpy(k->ranges.data, l->ranges.list.data, num_ranges * sizeof(*k->ranges.data));
	k->ranges.count = num_ranges;
	for (size_t i = 0; i < num_funcs; i++) {
		struct fw_dw_func f = l->funcs.data[i];
		f.num_calls = 0;
		k->funcs.data[k->funcs.count++] = f;
		for (uint32_t r = 0; r < f.num_ranges; r++)
			k->cover.list.data[k->cover.list.count++] = (struct fw_dw_covered){
				.range = k->ranges.data[f.first_range + r], .item = (uint32_t)i };
	}
	fw_dw_cover_sort(&k->cover);
	return FW_OK;
}

/** Scan a unit once. What is broken in it costs the rest of it. */
static enum fw_code learn(struct fw_dwarf_units *s, uint32_t i)
{
	struct fw_dw_unit *u = &s->l.main.units.data[i];
	struct fw_dw_known *k = &s->known[i];
	if (k->read)
		return FW_OK;
	k->read = true;
	if (is_type_unit(u) || !fw_dw_read_root(u) || u->has_dwo)
		return FW_OK;
	struct fw_dw_scopes *scopes = scopes_for(s, u);
	enum fw_code code = fw_dw_scan(&s->l, u, FW_DW_SCAN_FUNCS, scopes);
	if (code == FW_NO_MEMORY)
		return code;
	if (scopes == u->scopes)
		s->scope_bytes += scopes->list.capacity * sizeof(*scopes->list.data);
	fw_dw_trim_abbrevs(&s->l.main);
	return keep_funcs(s, k);
}

// --- choosing -------------------------------------------------------------------

static bool choose_func(struct fw_dwarf_units *s, uint32_t unit, uint32_t func)
{
	struct fw_dw_known *k = &s->known[unit];
	if (!k->chosen && !k->touched) {
		k->touched = true;
		if (!fw_vec_push(&s->touched, unit))
			return false;
	}
	if (func == FW_NO_INDEX) {	// all of it, once
		k->chosen |= !k->whole;
		k->whole = true;
	} else if (k->funcs.data[func].num_calls == 0) {
		k->funcs.data[func].num_calls = FW_DW_CHOSEN;
		k->chosen = true;
	}
	return true;
}

/** Of functions that start at one place the first counts, wherever it ends. */
static enum fw_code choose_starting(struct fw_dwarf_units *s, uint32_t start)
{
	const struct fw_dw_covered *unit, *e;
	size_t at = SIZE_MAX;
	enum fw_code code = FW_OK;
	while (code == FW_OK && (unit = fw_dw_cover_next(&s->index, start, start + 1, &at))) {
		size_t place = SIZE_MAX;
		code = learn(s, unit->item);
		while (code == FW_OK && (e = fw_dw_cover_next(&s->known[unit->item].cover, start,
							      start + 1, &place)))
			if (e->range.start == start && !choose_func(s, unit->item, e->item))
				code = FW_NO_MEMORY;
	}
	return code;
}

static enum fw_code choose_in_unit(struct fw_dwarf_units *s, uint32_t unit, uint32_t from,
				   uint32_t to, bool *any)
{
	const struct fw_dw_covered *e;
	size_t place = SIZE_MAX;
	enum fw_code code = learn(s, unit);
	if (code == FW_OK && s->l.main.units.data[unit].has_dwo) {
		*any = true;
		return choose_func(s, unit, FW_NO_INDEX) ? FW_OK : FW_NO_MEMORY;
	}
	while (code == FW_OK &&
	       (e = fw_dw_cover_next(&s->known[unit].cover, from, to, &place))) {
		*any = true;
		code = choose_func(s, unit, e->item) ? choose_starting(s, e->range.start) :
						       FW_NO_MEMORY;
	}
	return code;
}

static enum fw_code choose(struct fw_dwarf_units *s, uint32_t from, uint32_t to)
{
	const struct fw_dw_covered *unit;
	bool any = false;
	size_t at = SIZE_MAX;
	enum fw_code code = fw_dw_index_units(s) ? FW_OK : FW_NO_MEMORY;
	while (code == FW_OK && (unit = fw_dw_cover_next(&s->index, from, to, &at)))
		code = choose_in_unit(s, unit->item, from, to, &any);
	for (size_t i = 0; i < s->loose.count && code == FW_OK && !any; i++) {
		bool found = false;
		code = choose_in_unit(s, s->loose.data[i], from, to, &found);
	}
	return code;
}

enum fw_code fw_dwarf_units_choose(struct fw_dwarf_units *s, uint32_t from, uint32_t to)
{
	struct fw_builder none = { .cpu = FW_CPU_UNKNOWN }, *b = s->l.b;
	struct fw_dw_covered e = { .range = { from, to } };
	if (from >= to)
		return FW_OK;
	s->l.b = &none;
	enum fw_code code = fw_vec_push(&s->asked.list, e) ? choose(s, from, to) : FW_NO_MEMORY;
	s->l.b = b;
	return code;
}

// --- taking ---------------------------------------------------------------------

static enum fw_code take_unit(struct fw_dwarf_units *s, uint32_t i)
{
	struct fw_dw_loader *l = &s->l;
	struct fw_dw_known *k = &s->known[i];
	struct fw_dw_unit *u = &l->main.units.data[i];
	if (u->has_dwo)
		return fw_dw_read_whole(s, u);
	l->funcs.count = l->calls.count = l->ranges.list.count = 0;
	l->calls_scattered = false;
	for (size_t n = 0; n < k->funcs.count; n++) {
		struct fw_dw_func f = k->funcs.data[n];
		if (f.num_calls != FW_DW_CHOSEN)
			continue;
		k->funcs.data[n].num_calls = FW_DW_TAKEN;
		uint32_t first = f.first_range;
		f.first_range = (uint32_t)l->ranges.list.count;
		f.num_calls = 0;
		for (uint32_t r = 0; r < f.num_ranges; r++)
			if (!fw_vec_push(&l->ranges.list, k->ranges.data[first + r]))
				return FW_NO_MEMORY;
		if (!fw_vec_push(&l->funcs, f))
			return FW_NO_MEMORY;
	}
	return fw_dw_read_chosen(s, u);
}

static int by_number(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;
	return *a < *b ? -1 : *a > *b;
}

enum fw_code fw_dwarf_units_take(struct fw_dwarf_units *s, struct fw_builder *b,
				 struct fw_error *err)
{
	enum fw_code code = FW_OK;
	s->l.b = b;
	fw_dw_cover_sort(&s->asked);
	if (s->touched.count)
		qsort(s->touched.data, s->touched.count, sizeof(*s->touched.data), by_number);
	for (size_t i = 0; i < s->touched.count && code == FW_OK; i++) {
		struct fw_dw_known *k = &s->known[s->touched.data[i]];
		if (k->chosen)
			code = take_unit(s, s->touched.data[i]);
		k->chosen = false;
		fw_dw_trim_abbrevs(&s->l.main);
		fw_dw_trim_abbrevs(&s->l.alt);
	}
	return code ? fw_fail(err, code, NULL, code == FW_LIMIT ? "too much debug information" :
			      "out of memory") : FW_OK;
}

void fw_dwarf_units_restart(struct fw_dwarf_units *s)
{
	for (size_t i = 0; i < s->touched.count; i++) {
		struct fw_dw_known *k = &s->known[s->touched.data[i]];
		for (size_t n = 0; n < k->funcs.count; n++)
			k->funcs.data[n].num_calls = 0;
		k->touched = k->chosen = k->whole = false;
	}
	s->touched.count = s->asked.list.count = 0;
	fw_dw_restart(&s->l);
}
