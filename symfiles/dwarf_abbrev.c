#include <libdwarf/dwarf.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "symfiles/dwarf_internal.h"

// Abbreviation tables (7.5.3), compiled into steps: neighbouring attributes of
// fixed size that do not matter become one, so most DIEs are passed over at once.

enum {
	VARIES = UINT32_MAX,
	KEPT_TABLES = 64 << 20,		// bytes of tables kept for references between units
};

static uint8_t detail_of(uint64_t name)
{
	switch (name) {
	case DW_AT_call_column: return FW_DW_CALL_COLUMN;
	case DW_AT_GNU_discriminator: return FW_DW_DISCRIMINATOR;
	case DW_AT_decl_file: return FW_DW_DECL_FILE;
	case DW_AT_decl_line: return FW_DW_DECL_LINE;
	}
	return FW_DW_NONE;
}

static uint8_t attr_of(uint64_t name)
{
	switch (name) {
	case DW_AT_sibling: return FW_DW_SIBLING;
	case DW_AT_name: return FW_DW_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: return FW_DW_LINKAGE;
	case DW_AT_low_pc: return FW_DW_LOW;
	case DW_AT_high_pc: return FW_DW_HIGH;
	case DW_AT_ranges: return FW_DW_AT_RANGES;
	case DW_AT_abstract_origin: return FW_DW_ORIGIN;
	case DW_AT_specification: return FW_DW_SPEC;
	case DW_AT_call_file: return FW_DW_CALL_FILE;
	case DW_AT_call_line: return FW_DW_CALL_LINE;
	case DW_AT_declaration: return FW_DW_DECL;
	case DW_AT_stmt_list: return FW_DW_STMT_LIST;
	case DW_AT_comp_dir: return FW_DW_COMP_DIR;
	case DW_AT_str_offsets_base: return FW_DW_STR_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base: return FW_DW_ADDR_BASE;
	case DW_AT_rnglists_base: return FW_DW_LISTS_BASE;
	case DW_AT_GNU_ranges_base: return FW_DW_RANGES_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name: return FW_DW_DWO_NAME;
	case DW_AT_GNU_dwo_id: return FW_DW_DWO_ID;
	case DW_AT_language: return FW_DW_LANGUAGE;
	}
	return FW_DW_NONE;
}

/** One byte for each form; 0: nobody knows how long it is. */
static uint8_t form_of(uint64_t form)
{
	switch (form) {
	case DW_FORM_GNU_addr_index: return DW_FORM_addrx;
	case DW_FORM_GNU_str_index: return DW_FORM_strx;
	case DW_FORM_GNU_ref_alt: return FW_DW_FORM_REF_ALT;
	case DW_FORM_GNU_strp_alt: return DW_FORM_strp_sup;
	}
	return form <= DW_FORM_addrx4 && form != 0x02 ? (uint8_t)form : 0;
}

/** Bytes of a form's value, or VARIES. */
static uint32_t form_size(const struct fw_dw_abbrevs *t, uint8_t form)
{
	switch (form) {
	case DW_FORM_addr:
		return t->address_size;
	case DW_FORM_data1: case DW_FORM_ref1: case DW_FORM_flag: case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2: case DW_FORM_ref2: case DW_FORM_strx2: case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3: case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4: case DW_FORM_ref4: case DW_FORM_strx4: case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8: case DW_FORM_ref8: case DW_FORM_ref_sig8: case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_strp: case DW_FORM_line_strp: case DW_FORM_sec_offset:
	case DW_FORM_strp_sup: case FW_DW_FORM_REF_ALT:
		return t->offset_size;
	case DW_FORM_ref_addr:
		return t->old_refs ? t->address_size : t->offset_size;
	case DW_FORM_flag_present: case DW_FORM_implicit_const:
		return 0;
	}
	return VARIES;
}

static bool push_op(struct fw_dw_abbrevs *t, struct fw_dw_abbrev *a, struct fw_dw_op op)
{
	struct fw_dw_op *last = a->num_ops ? &t->ops.data[t->ops.count - 1] : NULL;
	if (op.attr == FW_DW_NONE && op.size != VARIES) {
		if (op.size == 0)
			return true;
		if (last && last->form == 0 && last->size <= INT32_MAX - op.size) {
			last->size += op.size;
			return true;
		}
		op.form = 0;
	}
	a->num_ops++;
	return fw_vec_push(&t->ops, op);
}

/** The attributes of one abbreviation. False: malformed. */
static bool read_specs(struct fw_dw_abbrevs *t, struct fw_dw_abbrev *a, struct fw_dw_cursor *c,
		       uint32_t *have)
{
	uint64_t fixed = 0;
	for (;;) {
		uint64_t name = fw_dw_uleb(c), form = fw_dw_uleb(c);
		struct fw_dw_op op = { .form = form_of(form), .attr = attr_of(name) };
		if (t->details && op.attr == FW_DW_NONE)
			op.attr = detail_of(name);
		if (c->bad)
			return false;
		if (name == 0 && form == 0)
			break;
		if (op.form == DW_FORM_implicit_const)
			op.value = fw_dw_sleb(c);
		if (op.form == 0)
			return false;
		if (*have >> op.attr & 1)
			op.attr = FW_DW_NONE;		// the first of a kind counts
		if (op.attr)
			*have |= UINT32_C(1) << op.attr;
		op.size = form_size(t, op.form);
		fixed = op.size == VARIES || fixed >= INT32_MAX ? VARIES : fixed + op.size;
		if (!push_op(t, a, op))
			return false;
	}
	a->fixed = fixed >= INT32_MAX ? VARIES : (uint32_t)fixed;
	return true;
}

static uint8_t action_of(uint16_t tag, uint32_t have)
{
	bool declaration = have >> FW_DW_DECL & 1;
	bool code = have >> FW_DW_LOW & 1 || have >> FW_DW_AT_RANGES & 1;
	switch (tag) {
	case DW_TAG_subprogram:
		if (code)
			return FW_DW_FUNC;
		return declaration ? FW_DW_PASS_TREE : FW_DW_PASS;
	case DW_TAG_inlined_subroutine:
		return FW_DW_CALL;
	case DW_TAG_namespace: case DW_TAG_class_type: case DW_TAG_structure_type:
	case DW_TAG_union_type: case DW_TAG_interface_type: case DW_TAG_module:
		return FW_DW_SCOPE;
	case DW_TAG_enumeration_type: case DW_TAG_subroutine_type: case DW_TAG_array_type:
		return FW_DW_PASS_TREE;
	}
	return FW_DW_PASS;
}

static int by_code(const void *pa, const void *pb, void *codes)
{
	uint64_t a = ((uint64_t *)codes)[*(const uint32_t *)pa];
	uint64_t b = ((uint64_t *)codes)[*(const uint32_t *)pb];
	if (a != b)
		return a < b ? -1 : 1;
	return *(const uint32_t *)pa < *(const uint32_t *)pb ? -1 : 1;
}

/** Codes ascend from 1 in nearly every table: those are looked up at once. */
static bool index_codes(struct fw_dw_abbrevs *t)
{
	size_t n = t->list.count;
	bool others = false;
	t->dense = n * 2 + 16;
	t->by_code = fw_alloc_should_fail() ? NULL : calloc(t->dense, sizeof(*t->by_code));
	if (!t->by_code)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t code = t->codes.data[i];
		if (code >= t->dense)
			others = true;
		else if (t->by_code[code] == 0)
			t->by_code[code] = (uint32_t)i + 1;
	}
	if (!others)
		return true;
	if (!fw_vec_reserve(&t->sorted, n))
		return false;
	for (size_t i = 0; i < n; i++)
		t->sorted.data[i] = (uint32_t)i;
	t->sorted.count = n;
	qsort_r(t->sorted.data, n, sizeof(uint32_t), by_code, t->codes.data);
	return true;
}

const struct fw_dw_abbrev *fw_dw_find_abbrev_slow(const struct fw_dw_abbrevs *t, uint64_t code)
{
	size_t low = 0, n = t->sorted.count;
	while (n) {
		size_t half = n / 2;
		if (t->codes.data[t->sorted.data[low + half]] < code) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (low == t->sorted.count || t->codes.data[t->sorted.data[low]] != code)
		return NULL;
	return &t->list.data[t->sorted.data[low]];
}

static void free_table(struct fw_dw_abbrevs *t)
{
	if (!t)
		return;
	fw_vec_deinit(&t->ops);
	fw_vec_deinit(&t->list);
	fw_vec_deinit(&t->codes);
	fw_vec_deinit(&t->sorted);
	free(t->by_code);
	free(t);
}

/** Pass over the attributes of an abbreviation. */
static void pass_specs(struct fw_dw_cursor *c)
{
	for (;;) {
		uint64_t name = fw_dw_uleb(c), form = fw_dw_uleb(c);
		if (c->bad || (name == 0 && form == 0))
			return;
		if (form == DW_FORM_implicit_const)
			fw_dw_sleb(c);
	}
}

/** @p only: the one code that is wanted; 0: all. */
static bool parse(struct fw_dw_abbrevs *t, struct fw_dw_cursor *c, uint64_t only)
{
	if (!fw_vec_reserve(&t->ops, 1))	// there is an array even if no DIE has attributes
		return false;
	for (;;) {
		uint64_t code = fw_dw_uleb(c);
		if (code == 0 || (only && t->list.count))
			return !c->bad && index_codes(t);
		struct fw_dw_abbrev a = { .first_op = (uint32_t)t->ops.count };
		uint64_t tag = fw_dw_uleb(c);
		uint32_t have = 0;
		a.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
		a.children = fw_dw_u8(c) != 0;
		if (only && code != only) {
			pass_specs(c);
			continue;
		}
		if (!read_specs(t, &a, c, &have))
			return false;
		a.action = action_of(a.tag, have);
		if (a.action == FW_DW_PASS_TREE && (!a.children || !(have >> FW_DW_SIBLING & 1)))
			a.action = FW_DW_PASS;
		if (!fw_vec_push(&t->list, a) || !fw_vec_push(&t->codes, code) ||
		    t->ops.count > INT32_MAX)
			return false;
	}
}

static bool same_table(const struct fw_dw_abbrevs *t, const struct fw_dw_unit *u)
{
	return t->offset == u->abbrev_offset && t->address_size == u->address_size &&
	       t->offset_size == u->offset_size && t->old_refs == (u->version <= 2);
}

static uint32_t hash(uint64_t offset, uint32_t mask)
{
	return (uint32_t)(offset * 0x9e3779b97f4a7c15u >> 32) & mask;
}

static bool grow_tables(struct fw_dw_file *f)
{
	uint32_t size = f->tables ? (f->table_mask + 1) * 2 : 64;
	struct fw_dw_abbrevs **slots = fw_alloc_should_fail() ? NULL :
				       calloc(size, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; f->tables && i <= f->table_mask; i++) {
		if (!f->tables[i])
			continue;
		uint32_t at = hash(f->tables[i]->offset, size - 1);
		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = f->tables[i];
	}
	free(f->tables);
	f->tables = slots;
	f->table_mask = size - 1;
	return true;
}

/** Read a table; what is broken comes as one without codes, so that it is read once. */
static struct fw_dw_abbrevs *read_table(struct fw_dw_file *f, const struct fw_dw_unit *u,
					uint64_t only)
{
	struct fw_dw_cursor c = fw_dw_at(f, FW_DW_ABBREV, u->abbrev_offset, UINT64_MAX);
	struct fw_dw_abbrevs *t = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*t));
	const uint8_t *start = c.p;
	if (!t)
		return NULL;
	if (fw_dw_left(&c) > f->abbrev_left)
		c.end = c.p + f->abbrev_left;
	t->offset = u->abbrev_offset;
	t->address_size = u->address_size;
	t->offset_size = u->offset_size;
	t->old_refs = u->version <= 2;
	t->details = f->details;
	if (!parse(t, &c, only)) {
		t->list.count = t->sorted.count = 0;
		t->dense = 0;
	}
	f->abbrev_left -= (uint64_t)(c.p - start);
	if (only)
		return t;
	f->table_bytes += sizeof(*t) + t->ops.capacity * sizeof(*t->ops.data) +
			  t->list.capacity * sizeof(*t->list.data) + t->dense * 4;
	return t;
}

const struct fw_dw_abbrevs *fw_dw_abbrevs_of(const struct fw_dw_unit *u)
{
	struct fw_dw_file *f = u->file;
	if (f->last && same_table(f->last, u))
		return f->last->list.count ? f->last : NULL;
	if ((!f->tables || f->num_tables * 2 > f->table_mask) && !grow_tables(f))
		return NULL;
	uint32_t at = hash(u->abbrev_offset, f->table_mask);
	while (f->tables[at] && !same_table(f->tables[at], u))
		at = (at + 1) & f->table_mask;
	if (!f->tables[at]) {
		f->tables[at] = read_table(f, u, 0);
		f->num_tables += f->tables[at] != NULL;
	}
	f->last = f->tables[at];
	return f->last && f->last->list.count ? f->last : NULL;
}

bool fw_dw_refers_across(const struct fw_dw_file *f)
{
	struct fw_dw_cursor c = fw_dw_at(f, FW_DW_ABBREV, 0, UINT64_MAX);
	while (c.p < c.end && !c.bad) {
		if (fw_dw_uleb(&c) == 0)	// the end of a table
			continue;
		fw_dw_uleb(&c);
		fw_dw_u8(&c);
		for (;;) {
			uint64_t name = fw_dw_uleb(&c), form = fw_dw_uleb(&c);
			if (c.bad || form == DW_FORM_ref_addr || form == DW_FORM_indirect)
				return true;
			if (name == 0 && form == 0)
				break;
			if (form == DW_FORM_implicit_const)
				fw_dw_sleb(&c);
		}
	}
	return c.bad;
}

struct fw_dw_abbrevs *fw_dw_one_abbrev(const struct fw_dw_unit *u, uint64_t code)
{
	struct fw_dw_abbrevs *t = code ? read_table(u->file, u, code) : NULL;
	if (t && t->list.count == 0) {
		free_table(t);
		return NULL;
	}
	return t;
}

void fw_dw_free_one_abbrev(struct fw_dw_abbrevs *t)
{
	free_table(t);
}

void fw_dw_free_abbrevs(struct fw_dw_file *f)
{
	for (uint32_t i = 0; f->tables && i <= f->table_mask; i++)
		free_table(f->tables[i]);
	free(f->tables);
	f->tables = NULL;
	f->last = NULL;
	f->num_tables = f->table_mask = 0;
	f->table_bytes = 0;
}

void fw_dw_trim_abbrevs(struct fw_dw_file *f)
{
	if (f->table_bytes > KEPT_TABLES)
		fw_dw_free_abbrevs(f);
}
