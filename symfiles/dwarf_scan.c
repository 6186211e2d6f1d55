#include <libdwarf/dwarf.h>

#include "symfiles/dwarf_internal.h"

// One pass over a unit's DIEs in file order. Only functions, inlined calls and
// scopes are read; of all others only the length matters.

struct level {		// an open DIE
	uint32_t func, scope;	// innermost around its children; FW_NO_INDEX: none
	uint32_t depth;		// of calls among its children
	bool opens_scope;
};

struct scan {
	struct fw_dw_loader *l;
	struct fw_dw_unit *u;
	const struct fw_dw_abbrevs *table;
	struct fw_dw_scopes *scopes;
	enum fw_dw_scan_mode mode;
	struct fw_dw_cursor c;
	const uint8_t *info;
	uint32_t depth;
	struct level levels[FW_MAX_DIE_DEPTH + 1];
};

static enum fw_code add_scope(struct scan *s, uint64_t offset, struct level *inside)
{
	struct fw_dw_scope scope = { offset, UINT64_MAX, inside->scope };
	inside->scope = (uint32_t)s->scopes->list.count;
	inside->opens_scope = true;
	return fw_vec_push(&s->scopes->list, scope) ? FW_OK : FW_NO_MEMORY;
}

static enum fw_code add_func(struct scan *s, struct fw_dw_die *die, struct level *inside)
{
	struct fw_dw_loader *l = s->l;
	struct fw_dw_func f = { .die = die->offset, .first_call = (uint32_t)l->calls.count,
				.first_range = (uint32_t)l->ranges.list.count };
	enum fw_code code = fw_dw_ranges_of(l, die);
	f.num_ranges = (uint32_t)(l->ranges.list.count - f.first_range);
	l->calls_scattered |= inside->func != FW_NO_INDEX;
	inside->func = FW_NO_INDEX;
	inside->depth = 0;
	if (f.num_ranges == 0 || code)
		return code;
	inside->func = (uint32_t)l->funcs.count;
	return fw_vec_push(&l->funcs, f) ? FW_OK : FW_NO_MEMORY;
}

static enum fw_code add_call(struct scan *s, struct fw_dw_die *die, struct level *inside)
{
	struct fw_dw_loader *l = s->l;
	struct fw_dw_call call = { .die = die->offset, .func = inside->func,
				   .depth = inside->depth, .call_file = UINT64_MAX,
				   .first_range = (uint32_t)l->ranges.list.count };
	enum fw_code code = fw_dw_ranges_of(l, die);
	call.num_ranges = (uint32_t)(l->ranges.list.count - call.first_range);
	inside->depth++;
	if (call.num_ranges == 0 || code)
		return code;
	if (call.depth >= FW_MAX_INLINE_DEPTH) {
		fw_dw_bad(l, FW_DIAG_LIMIT);
		return FW_OK;
	}
	call.origin_unit = fw_dw_reference(die, FW_DW_ORIGIN, &call.origin);
	if (fw_dw_has(die, FW_DW_CALL_FILE))
		call.call_file = die->value[FW_DW_CALL_FILE];
	if (fw_dw_has(die, FW_DW_CALL_LINE) && die->value[FW_DW_CALL_LINE] <= UINT32_MAX)
		call.call_line = (uint32_t)die->value[FW_DW_CALL_LINE];
	return fw_vec_push(&l->calls, call) ? FW_OK : FW_NO_MEMORY;
}

/** A DIE that matters. */
static enum fw_code take(struct scan *s, const struct fw_dw_abbrev *a, uint64_t offset,
			 struct level *inside)
{
	struct fw_dw_die die;
	if (a->action == FW_DW_SCOPE) {
		fw_dw_pass_die(s->u, s->table, a, &s->c);
		return a->children && s->u->qualifies ? add_scope(s, offset, inside) : FW_OK;
	}
	if (s->mode == FW_DW_SCAN_SCOPES ||
	    (a->action == FW_DW_CALL &&
	     (inside->func == FW_NO_INDEX || s->mode == FW_DW_SCAN_FUNCS))) {
		fw_dw_pass_die(s->u, s->table, a, &s->c);
		return FW_OK;
	}
	fw_dw_read_die(s->u, s->table, a, &s->c, &die);
	die.offset = offset;
	if (s->c.bad)
		return FW_MALFORMED;
	return a->action == FW_DW_FUNC ? add_func(s, &die, inside) : add_call(s, &die, inside);
}

/** Pass over a DIE and, by its sibling, over what is below. True: that was possible. */
static bool pass_tree(struct scan *s, const struct fw_dw_abbrev *a)
{
	struct fw_dw_die die;
	uint64_t to;
	fw_dw_read_die(s->u, s->table, a, &s->c, &die);
	if (s->c.bad || fw_dw_reference(&die, FW_DW_SIBLING, &to) != s->u ||
	    to <= (uint64_t)(s->c.p - s->info) || to > s->u->end)
		return false;
	s->c.p = s->info + to;
	return true;
}

static void close_level(struct scan *s)
{
	const struct level *top = &s->levels[s->depth--];
	if (top->opens_scope)
		s->scopes->list.data[top->scope].end = (uint64_t)(s->c.p - s->info);
}

static enum fw_code run(struct scan *s)
{
	enum fw_code code = FW_OK;
	while (s->c.p < s->c.end) {
		uint64_t offset = (uint64_t)(s->c.p - s->info);
		uint64_t number = fw_dw_uleb(&s->c);
		if (number == 0) {
			if (s->depth == 0)
				continue;	// padding
			close_level(s);
			continue;
		}
		const struct fw_dw_abbrev *a = fw_dw_find_abbrev(s->table, number);
		if (FW_UNLIKELY(!a))
			return FW_MALFORMED;
		struct level *inside = &s->levels[s->depth + 1];
		if (a->action == FW_DW_PASS) {
			fw_dw_pass_die(s->u, s->table, a, &s->c);
			if (!a->children)
				continue;
			*inside = s->levels[s->depth];
			inside->opens_scope = false;
		} else {
			if (a->action == FW_DW_PASS_TREE && pass_tree(s, a))
				continue;
			*inside = s->levels[s->depth];
			inside->opens_scope = false;
			if (a->action != FW_DW_PASS_TREE)
				code = take(s, a, offset, inside);
			if (code)
				return code;
			if (!a->children)
				continue;
		}
		if (++s->depth >= FW_MAX_DIE_DEPTH)
			return FW_LIMIT;
	}
	return s->c.bad ? FW_MALFORMED : FW_OK;
}

enum fw_code fw_dw_scan(struct fw_dw_loader *l, struct fw_dw_unit *u,
			enum fw_dw_scan_mode mode, struct fw_dw_scopes *scopes)
{
	struct scan s;
	s.l = l;
	s.u = u;
	s.table = fw_dw_abbrevs_of(u);
	s.mode = mode;
	s.scopes = scopes;
	s.info = u->file->sec[FW_DW_INFO].data;
	s.c = fw_dw_at(u->file, FW_DW_INFO, u->die, u->end);
	s.depth = 0;
	s.levels[0] = (struct level){ .func = FW_NO_INDEX, .scope = FW_NO_INDEX };
	s.scopes->list.count = 0;
	if (mode != FW_DW_SCAN_SCOPES) {
		l->funcs.count = l->calls.count = l->ranges.list.count = 0;
		l->calls_scattered = false;
	}
	return s.table ? run(&s) : FW_MALFORMED;
}
