#include <stdlib.h>

#include "lib/base/arena.h"
#include "symfiles/dwarf_unit_internal.h"

enum fw_code fw_dwarf_units_open(const struct fw_elf_files *files, struct fw_dwarf_units **ret,
				 struct fw_error *err)
{
	struct fw_dwarf_units *s = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*s));
	struct fw_builder none = { .cpu = FW_CPU_UNKNOWN };
	if (!s)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	dwarf_set_de_alloc_flag(0);
	dwarf_set_reloc_application(0);
	enum fw_code code = fw_dw_open(&s->l, files, &none);
	s->l.b = NULL;
	if (code == FW_OK && s->l.main.units.count == 0)
		code = FW_NOT_FOUND;
	if (code == FW_OK && !fw_dw_handle_open(&s->main, s->l.elf, false))
		code = FW_MALFORMED;
	if (code == FW_OK) {
		*ret = s;
		return FW_OK;
	}
	fw_dwarf_units_close(s);
	if (code == FW_NOT_FOUND)
		return fw_fail(err, code, NULL, "no debug information");
	return fw_fail(err, code, NULL, code == FW_MALFORMED ? "unreadable debug information" :
		       "out of memory");
}

void fw_dwarf_units_close(struct fw_dwarf_units *s)
{
	if (!s)
		return;
	fw_dw_handle_close(&s->main);
	fw_dw_select_deinit(s);
	fw_dw_close(&s->l);
	free(s);
}

uint32_t fw_dwarf_units_count(const struct fw_dwarf_units *s)
{
	return (uint32_t)s->l.main.units.count;
}

// --- DIEs -----------------------------------------------------------------------

struct reading {
	struct fw_dw_loader *l;
	struct fw_dw_unit *u;
	Dwarf_Debug dbg;
	uint64_t steps;		// DIEs that may still be read: a unit has no more than bytes
	// which functions there are is known: calls are looked for, at these addresses
	const struct fw_dw_cover *asked;
	enum fw_code failed;
};

/** What a DIE says, as the bulk reader's DIE and in libdwarf's own words. */
struct attrs {
	struct fw_dw_die die;	// only what ranges are made of
	bool has_origin, has_spec, declaration;
	Dwarf_Off origin, spec;
	const char *name, *linkage;
	uint64_t call_file, call_line;
	bool has_call_file;
};

static void drop(struct reading *r, Dwarf_Error *error)
{
	if (*error)
		dwarf_dealloc_error(r->dbg, *error);
	*error = NULL;
}

static void set(struct fw_dw_die *die, enum fw_dw_attr attr, uint8_t form, uint64_t value)
{
	if (fw_dw_has(die, attr))
		return;
	die->have |= UINT32_C(1) << attr;
	die->form[attr] = form;
	die->value[attr] = value;
}

/** A number of whatever form: dwarf_formudata() refuses DW_FORM_implicit_const. */
static bool number(struct reading *r, Dwarf_Attribute a, uint64_t *ret)
{
	Dwarf_Error error = NULL;
	Dwarf_Unsigned u;
	Dwarf_Signed s;
	if (dwarf_formudata(a, &u, &error) == DW_DLV_OK) {
		*ret = u;
		return true;
	}
	drop(r, &error);
	if (dwarf_formsdata(a, &s, &error) == DW_DLV_OK) {
		*ret = (uint64_t)s;
		return true;
	}
	drop(r, &error);
	return false;
}

static void take_address(struct reading *r, Dwarf_Attribute a, enum fw_dw_attr attr,
			 Dwarf_Half form, struct attrs *ret)
{
	Dwarf_Error error = NULL;
	Dwarf_Addr address;
	Dwarf_Unsigned index;
	uint64_t value;
	if (form == DW_FORM_addr) {
		if (dwarf_formaddr(a, &address, &error) == DW_DLV_OK)
			set(&ret->die, attr, DW_FORM_addr, address);
	} else if (form == DW_FORM_GNU_addr_index || fw_dw_is_address_form((uint8_t)form)) {
		// the table is in another file where the unit is split
		if (dwarf_get_debug_addr_index(a, &index, &error) == DW_DLV_OK)
			set(&ret->die, attr, DW_FORM_addrx, index);
	} else if (number(r, a, &value)) {
		set(&ret->die, attr, DW_FORM_data8, value);
	}
	drop(r, &error);
}

static void take_ranges(struct reading *r, Dwarf_Attribute a, Dwarf_Half form, struct attrs *ret)
{
	Dwarf_Error error = NULL;
	Dwarf_Off offset;
	uint64_t value;
	if (form == DW_FORM_rnglistx) {
		// the index: its table is ours to read
		if (number(r, a, &value))
			set(&ret->die, FW_DW_AT_RANGES, DW_FORM_rnglistx, value);
	} else if (dwarf_global_formref(a, &offset, &error) == DW_DLV_OK) {
		set(&ret->die, FW_DW_AT_RANGES, DW_FORM_sec_offset, offset);
	} else if (number(r, a, &value)) {
		set(&ret->die, FW_DW_AT_RANGES, DW_FORM_sec_offset, value);
	}
	drop(r, &error);
}

static void take_reference(struct reading *r, Dwarf_Attribute a, Dwarf_Half form, bool *has,
			   Dwarf_Off *ret)
{
	Dwarf_Error error = NULL;
	if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8 ||
	    form == DW_FORM_ref_sig8)
		return;		// not in this file
	*has = dwarf_global_formref(a, ret, &error) == DW_DLV_OK;
	drop(r, &error);
}

static void take_attr(struct reading *r, Dwarf_Attribute a, struct attrs *ret)
{
	Dwarf_Error error = NULL;
	Dwarf_Half name, form;
	char *text = NULL;
	if (dwarf_whatattr(a, &name, &error) != DW_DLV_OK ||
	    dwarf_whatform(a, &form, &error) != DW_DLV_OK) {
		drop(r, &error);
		return;
	}
	switch (name) {
	case DW_AT_low_pc:
		take_address(r, a, FW_DW_LOW, form, ret);
		break;
	case DW_AT_high_pc:
		take_address(r, a, FW_DW_HIGH, form, ret);
		break;
	case DW_AT_ranges:
		take_ranges(r, a, form, ret);
		break;
	case DW_AT_abstract_origin:
		take_reference(r, a, form, &ret->has_origin, &ret->origin);
		break;
	case DW_AT_specification:
		take_reference(r, a, form, &ret->has_spec, &ret->spec);
		break;
	case DW_AT_call_file:
		ret->has_call_file = number(r, a, &ret->call_file);
		break;
	case DW_AT_call_line:
		number(r, a, &ret->call_line);
		break;
	case DW_AT_name: case DW_AT_linkage_name: case DW_AT_MIPS_linkage_name:
		if (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup)
			break;
		if (dwarf_formstring(a, &text, &error) != DW_DLV_OK)
			drop(r, &error);
		else if (name == DW_AT_name)
			ret->name = text;
		else if (!ret->linkage)
			ret->linkage = text;
		break;
	}
}

static bool read_attrs(struct reading *r, Dwarf_Die die, struct attrs *ret)
{
	Dwarf_Error error = NULL;
	Dwarf_Attribute *list = NULL;
	Dwarf_Signed count = 0;
	*ret = (struct attrs){ .die = { .unit = r->u } };
	int code = dwarf_attrlist(die, &list, &count, &error);
	drop(r, &error);
	if (code != DW_DLV_OK)
		return code == DW_DLV_NO_ENTRY;
	for (Dwarf_Signed i = 0; i < count; i++) {
		take_attr(r, list[i], ret);
		dwarf_dealloc_attribute(list[i]);
	}
	dwarf_dealloc(r->dbg, list, DW_DLA_LIST);
	return true;
}

/**
 * The name of a DIE, remembered for fw_dw_name(). Left to that where it leads out
 * of this file, or needs the scopes around it.
 */
static enum fw_code remember_name(struct reading *r, Dwarf_Off offset)
{
	struct fw_dw_loader *l = r->l;
	Dwarf_Off start = offset;
	uint32_t string;
	const char *name = NULL;
	if (fw_dw_memo_find(&l->names, start + 1, &string))
		return FW_OK;
	for (unsigned i = 0; i < FW_MAX_DIE_CHAIN; i++) {
		Dwarf_Error error = NULL;
		Dwarf_Die die;
		struct attrs a;
		if (dwarf_offdie_b(r->dbg, offset, true, &die, &error) != DW_DLV_OK) {
			drop(r, &error);
			return FW_OK;
		}
		bool ok = read_attrs(r, die, &a);
		dwarf_dealloc_die(die);
		if (!ok)
			return FW_OK;
		if (a.linkage)
			name = a.linkage;
		else if (!name)
			name = a.name;
		if (a.linkage || !(a.has_origin || a.has_spec)) {
			if (!name || (!a.linkage && r->u->qualifies))
				return FW_OK;
			break;
		}
		offset = a.has_origin ? a.origin : a.spec;
	}
	if (!name)
		return FW_OK;
	enum fw_code code = fw_dw_mangled_name(l, (struct fw_str){ name, strlen(name) }, &string);
	if (code == FW_OK && !fw_dw_memo_add(&l->names, start + 1, string))
		code = FW_NO_MEMORY;
	return code;
}

/** What a DIE's children are in. */
struct around {
	uint32_t func, depth;
	bool pass;		// nothing in there is asked for
};

static enum fw_code add_func(struct reading *r, Dwarf_Die die, Dwarf_Off offset,
			     struct around *inside)
{
	struct fw_dw_loader *l = r->l;
	struct fw_dw_func f = { .die = offset, .first_call = (uint32_t)l->calls.count,
				.first_range = (uint32_t)l->ranges.list.count };
	struct attrs a;
	if (!read_attrs(r, die, &a))
		return FW_MALFORMED;
	if (!fw_dw_has(&a.die, FW_DW_LOW) && !fw_dw_has(&a.die, FW_DW_AT_RANGES))
		return FW_OK;
	if (r->asked) {
		*inside = (struct around){ .func = FW_NO_INDEX };
		return FW_OK;
	}
	enum fw_code code = fw_dw_ranges_of(l, &a.die);
	f.num_ranges = (uint32_t)(l->ranges.list.count - f.first_range);
	l->calls_scattered |= inside->func != FW_NO_INDEX;
	*inside = (struct around){ .func = FW_NO_INDEX };
	if (f.num_ranges == 0 || code)
		return code;
	inside->func = (uint32_t)l->funcs.count;
	if (!fw_vec_push(&l->funcs, f))
		return FW_NO_MEMORY;
	return remember_name(r, offset);
}

/** Is one of the ranges from number @p first on asked for? */
static bool is_asked(const struct reading *r, uint32_t first)
{
	for (size_t i = first; i < r->l->ranges.list.count; i++) {
		const struct fw_dw_range *range = &r->l->ranges.list.data[i];
		size_t at = SIZE_MAX;
		if (fw_dw_cover_next(r->asked, range->start, range->end, &at))
			return true;
	}
	return false;
}

static enum fw_code add_call(struct reading *r, Dwarf_Die die, Dwarf_Off offset,
			     struct around *inside)
{
	struct fw_dw_loader *l = r->l;
	struct fw_dw_call call = { .die = offset, .func = inside->func, .depth = inside->depth,
				   .call_file = UINT64_MAX,
				   .first_range = (uint32_t)l->ranges.list.count };
	struct attrs a;
	if (inside->func == FW_NO_INDEX)
		return FW_OK;
	if (!read_attrs(r, die, &a))
		return FW_MALFORMED;
	enum fw_code code = fw_dw_ranges_of(l, &a.die);
	call.num_ranges = (uint32_t)(l->ranges.list.count - call.first_range);
	inside->depth++;
	if (call.num_ranges == 0 || code)
		return code;
	// what is inlined into code that is not asked for lies there as well
	if (r->asked && !is_asked(r, call.first_range)) {
		l->ranges.list.count = call.first_range;
		inside->pass = true;
		return FW_OK;
	}
	if (call.depth >= FW_MAX_INLINE_DEPTH) {
		fw_dw_bad(l, FW_DIAG_LIMIT);
		return FW_OK;
	}
	if (a.has_origin) {
		call.origin = a.origin;
		call.origin_unit = fw_dw_unit_at(r->u->file, a.origin);
		code = remember_name(r, a.origin);
	}
	if (a.has_call_file)
		call.call_file = a.call_file;
	if (a.call_line <= UINT32_MAX)
		call.call_line = (uint32_t)a.call_line;
	if (code == FW_OK && !fw_vec_push(&l->calls, call))
		code = FW_NO_MEMORY;
	return code;
}

static enum fw_code walk(struct reading *r, Dwarf_Die die, struct around inside, unsigned depth);

/** A DIE and what is below it. */
static enum fw_code visit(struct reading *r, Dwarf_Die die, struct around inside, unsigned depth)
{
	Dwarf_Error error = NULL;
	Dwarf_Half tag = 0;
	Dwarf_Off offset = 0;
	Dwarf_Die child;
	enum fw_code code = FW_OK;
	if (depth >= FW_MAX_DIE_DEPTH || r->steps == 0)
		return FW_LIMIT;
	r->steps--;
	if (dwarf_tag(die, &tag, &error) != DW_DLV_OK ||
	    dwarf_dieoffset(die, &offset, &error) != DW_DLV_OK) {
		drop(r, &error);
		return FW_MALFORMED;
	}
	if (tag == DW_TAG_subprogram)
		code = add_func(r, die, offset, &inside);
	else if (tag == DW_TAG_inlined_subroutine)
		code = add_call(r, die, offset, &inside);
	if (code || inside.pass)
		return code;
	switch (dwarf_child(die, &child, &error)) {
	case DW_DLV_OK:
		return walk(r, child, inside, depth + 1);
	case DW_DLV_ERROR:
		drop(r, &error);
		return FW_MALFORMED;
	}
	return FW_OK;
}

/** @p die, which is freed, and its younger siblings. */
static enum fw_code walk(struct reading *r, Dwarf_Die die, struct around inside, unsigned depth)
{
	for (;;) {
		Dwarf_Error error = NULL;
		Dwarf_Die next = NULL;
		enum fw_code code = visit(r, die, inside, depth);
		int found = code ? DW_DLV_NO_ENTRY :
			    dwarf_siblingof_b(r->dbg, die, true, &next, &error);
		drop(r, &error);
		dwarf_dealloc_die(die);
		if (found == DW_DLV_ERROR)
			return FW_MALFORMED;
		if (found == DW_DLV_NO_ENTRY)
			return code;
		die = next;
	}
}

// --- units ----------------------------------------------------------------------

static enum fw_code count_bad(struct fw_dw_loader *l, enum fw_code code)
{
	if (code == FW_MALFORMED || code == FW_LIMIT) {
		fw_dw_bad(l, code == FW_LIMIT ? FW_DIAG_LIMIT : FW_DIAG_MALFORMED);
		code = FW_OK;
	}
	return code;
}

static enum fw_code read_unit(struct reading *r)
{
	struct fw_dw_loader *l = r->l;
	Dwarf_Error error = NULL;
	Dwarf_Die root = NULL;
	enum fw_code code = fw_dw_scan(l, r->u, FW_DW_SCAN_FUNCS, &l->scopes);	// scopes are ours
	l->unit = r->u;
	l->funcs.count = l->calls.count = l->ranges.list.count = 0;
	l->calls_scattered = false;
	if (code == FW_NO_MEMORY)
		return code;
	if (dwarf_offdie_b(r->dbg, r->u->die, true, &root, &error) != DW_DLV_OK) {
		drop(r, &error);
		return count_bad(l, FW_MALFORMED);
	}
	code = count_bad(l, walk(r, root, (struct around){ .func = FW_NO_INDEX }, 0));
	if (code || l->funcs.count == 0)
		return code;
	// libdwarf starts DWARF 5 line programs with file 0; 6.2.2 says 1
	code = count_bad(l, fw_dw_read_lines(l, r->u));
	return code ? code : fw_dw_emit(l, r->u);
}

/** The calls below a function. */
static enum fw_code read_calls(struct reading *r, uint32_t func)
{
	Dwarf_Off offset = r->l->funcs.data[func].die;
	Dwarf_Error error = NULL;
	Dwarf_Die die, child;
	if (dwarf_offdie_b(r->dbg, offset, true, &die, &error) != DW_DLV_OK) {
		drop(r, &error);
		return FW_MALFORMED;
	}
	enum fw_code code = remember_name(r, offset);
	int found = code ? DW_DLV_NO_ENTRY : dwarf_child(die, &child, &error);
	if (found == DW_DLV_OK)
		code = walk(r, child, (struct around){ .func = func }, 1);
	else if (found == DW_DLV_ERROR)
		code = FW_MALFORMED;
	drop(r, &error);
	dwarf_dealloc_die(die);
	return code;
}

enum fw_code fw_dw_read_chosen(struct fw_dwarf_units *s, struct fw_dw_unit *u)
{
	struct fw_dw_loader *l = &s->l;
	struct reading r = { .l = l, .u = u, .dbg = s->main.dbg, .steps = u->end - u->die,
			     .asked = &s->asked };
	enum fw_code code = FW_OK;
	l->unit = u;
	if (u->qualifies && !u->scopes)
		code = count_bad(l, fw_dw_scan(l, u, FW_DW_SCAN_SCOPES, &l->scopes));
	for (uint32_t i = 0; i < l->funcs.count && code == FW_OK; i++)
		code = count_bad(l, read_calls(&r, i));
	if (code == FW_OK)
		code = count_bad(l, fw_dw_read_lines(l, u));
	if (code == FW_OK)
		code = fw_dw_emit(l, u);
	fw_dw_memo_clear(&l->names);
	l->unit = NULL;
	return code;
}

/** A skeleton's unit in its .dwo. */
static enum fw_code read_split(struct fw_dwarf_units *s, struct fw_dw_unit *skeleton)
{
	const struct fw_elf_files *files = s->l.files;
	struct fw_dw_file file = { .split = true };
	struct fw_dw_unit *u = fw_dw_split_unit(&s->l, skeleton, &file);
	struct fw_dw_handle h = { .dbg = NULL };
	enum fw_code code = FW_OK;
	struct fw_elf *elf = u ? files->open_dwo(files->context, skeleton->comp_dir,
						 skeleton->dwo_name) : NULL;
	if (u && elf && fw_dw_handle_open(&h, elf, true)) {
		struct reading r = { .l = &s->l, .u = u, .dbg = h.dbg, .steps = u->end - u->die };
		code = read_unit(&r);
	}
	fw_dw_handle_close(&h);
	s->l.unit = NULL;
	fw_dw_file_deinit(&file);
	return code;
}

enum fw_code fw_dw_read_whole(struct fw_dwarf_units *s, struct fw_dw_unit *u)
{
	enum fw_code code = FW_OK;
	if (u->type == DW_UT_type || u->type == DW_UT_split_type)
		return FW_OK;
	if (!fw_dw_read_root(u)) {
		fw_dw_bad(&s->l, FW_DIAG_MALFORMED);
		return FW_OK;
	}
	if (u->has_dwo) {
		code = read_split(s, u);
	} else {
		struct reading r = { .l = &s->l, .u = u, .dbg = s->main.dbg,
				     .steps = u->end - u->die };
		code = read_unit(&r);
	}
	fw_dw_memo_clear(&s->l.names);
	return code;
}

enum fw_code fw_dwarf_units_into(struct fw_dwarf_units *s, uint32_t index, struct fw_builder *b,
				 struct fw_error *err)
{
	s->l.b = b;
	enum fw_code code = fw_dw_read_whole(s, &s->l.main.units.data[index]);
	return code ? fw_fail(err, code, NULL, code == FW_LIMIT ? "too much debug information" :
			      "out of memory") : FW_OK;
}

