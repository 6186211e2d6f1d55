#ifndef FW_SYMFILES_DWARF_INTERNAL_H
#define FW_SYMFILES_DWARF_INTERNAL_H

#include "lib/base/bytes.h"
#include "lib/base/intern.h"
#include "lib/base/limits.h"
#include "lib/base/vec.h"
#include "symfiles/elf_image.h"
#include "symfiles/elf_symtab.h"
#include "symfiles/inline_lay.h"

/**
 * The bulk reader of DWARF 2 to 5; private to symfiles/dwarf*.c. Section
 * numbers in comments are DWARF 5's. Everything is read through cursors that
 * cannot leave their bytes; work that a file can ask for twice (abbreviations,
 * line programs, range lists) is paid from budgets bounded by section sizes.
 */

/** Reads go to `end` and no further: past it they give 0 and set `bad`. */
struct fw_dw_cursor {
	const uint8_t *p, *end;
	bool swap, bad;
};

static inline uint64_t fw_dw_fail(struct fw_dw_cursor *c)
{
	c->p = c->end;
	c->bad = true;
	return 0;
}

static inline uint64_t fw_dw_left(const struct fw_dw_cursor *c)
{
	return (uint64_t)(c->end - c->p);
}

static inline void fw_dw_skip(struct fw_dw_cursor *c, uint64_t n)
{
	if (FW_UNLIKELY(n > fw_dw_left(c)))
		fw_dw_fail(c);
	else
		c->p += n;
}

static inline uint8_t fw_dw_u8(struct fw_dw_cursor *c)
{
	if (FW_UNLIKELY(c->p == c->end))
		return (uint8_t)fw_dw_fail(c);
	return *c->p++;
}

#define FW_DW_READER(bits) \
static inline uint##bits##_t fw_dw_u##bits(struct fw_dw_cursor *c) \
{ \
	uint##bits##_t v; \
	if (FW_UNLIKELY(fw_dw_left(c) < sizeof(v))) \
		return (uint##bits##_t)fw_dw_fail(c); \
	memcpy(&v, c->p, sizeof(v)); \
	c->p += sizeof(v); \
	return c->swap ? __builtin_bswap##bits(v) : v; \
}
FW_DW_READER(16)
FW_DW_READER(32)
FW_DW_READER(64)
#undef FW_DW_READER

/** @p size: 1, 2, 3, 4 or 8; anything else is bad. */
uint64_t fw_dw_sized(struct fw_dw_cursor *c, unsigned size);
uint64_t fw_dw_uleb_long(struct fw_dw_cursor *c);
int64_t fw_dw_sleb(struct fw_dw_cursor *c);

static inline uint64_t fw_dw_uleb(struct fw_dw_cursor *c)
{
	if (__builtin_expect(c->p < c->end && *c->p < 0x80, 1))
		return *c->p++;
	return fw_dw_uleb_long(c);
}

/** Bytes up to a NUL, which is passed; without one: bad. */
struct fw_str fw_dw_cstring(struct fw_dw_cursor *c);
/** A unit's initial length (7.4): false when it is malformed or longer than what is left. */
bool fw_dw_initial_length(struct fw_dw_cursor *c, uint64_t *ret, uint8_t *ret_offset_size);

enum fw_dw_section {
	FW_DW_INFO, FW_DW_ABBREV, FW_DW_STR, FW_DW_LINE_STR, FW_DW_STR_OFFSETS, FW_DW_ADDR,
	FW_DW_LINE, FW_DW_RANGES, FW_DW_RNGLISTS, FW_DW_CU_INDEX, FW_DW_SECTIONS
};

/** The attributes that matter here. */
enum fw_dw_attr {
	FW_DW_NONE, FW_DW_SIBLING, FW_DW_NAME, FW_DW_LINKAGE, FW_DW_LOW, FW_DW_HIGH,
	FW_DW_AT_RANGES, FW_DW_ORIGIN, FW_DW_SPEC, FW_DW_CALL_FILE, FW_DW_CALL_LINE,
	FW_DW_DECL, FW_DW_STMT_LIST, FW_DW_COMP_DIR, FW_DW_STR_BASE, FW_DW_ADDR_BASE,
	FW_DW_LISTS_BASE, FW_DW_RANGES_BASE, FW_DW_DWO_NAME, FW_DW_DWO_ID, FW_DW_LANGUAGE,
	// read only for details
	FW_DW_CALL_COLUMN, FW_DW_DISCRIMINATOR, FW_DW_DECL_FILE, FW_DW_DECL_LINE,
	FW_DW_ATTRS
};

/** One step of reading a DIE: an attribute that matters, or bytes to pass over. */
struct fw_dw_op {
	uint8_t form;		// DW_FORM_*, vendor forms mapped; 0: pass over `size` bytes
	uint8_t attr;		// enum fw_dw_attr; 0: pass over
	uint32_t size;
	int64_t value;		// of DW_FORM_implicit_const
};

enum { FW_DW_FORM_REF_ALT = 0xf0 };	// DW_FORM_GNU_ref_alt: offset-sized

/** What a scan does with a DIE. */
enum fw_dw_action {
	FW_DW_PASS,		// nothing, but its children are looked at
	FW_DW_PASS_TREE,	// nothing; nothing below it matters either
	FW_DW_FUNC, FW_DW_CALL, FW_DW_SCOPE,
};

struct fw_dw_abbrev {
	uint32_t first_op, num_ops;
	uint32_t fixed;		// bytes of the whole DIE behind its code, UINT32_MAX: varies
	uint16_t tag;
	uint8_t action;
	bool children;
};

/** One abbreviation table, compiled for a unit's sizes. */
struct fw_dw_abbrevs {
	uint64_t offset;
	uint8_t address_size, offset_size, old_refs;	// what sizes depend on
	bool details;
	FW_VEC(struct fw_dw_op) ops;
	FW_VEC(struct fw_dw_abbrev) list;
	FW_VEC(uint64_t) codes;		// of list
	uint32_t *by_code;		// code -> index in list + 1, for codes below `dense`
	uint64_t dense;
	FW_VEC(uint32_t) sorted;	// indices in list by code, when some code is not dense
};

struct fw_dw_file;

struct fw_dw_unit {
	struct fw_dw_file *file;
	uint64_t offset, die, end;	// header, first DIE and end in .debug_info
	uint64_t abbrev_offset;
	uint16_t version;
	uint8_t address_size, offset_size, type;
	bool root_read, root_bad;
	// from the header or the root DIE, and for a split unit from its skeleton
	uint8_t language;
	bool qualifies;			// names are made of their scopes'
	bool has_line, has_low, has_dwo, pass_ranges;
	uint64_t low, line_offset;
	uint64_t str_base, addr_base, lists_base, ranges_base;
	uint64_t dwo_id;
	struct fw_str name, comp_dir, dwo_name;
	struct fw_dw_file *addresses;	// where .debug_addr and .debug_line are
	struct fw_dw_scopes *scopes;	// once read and kept; owned
};

/** One ELF file's DWARF. */
struct fw_dw_file {
	struct fw_bytes sec[FW_DW_SECTIONS];
	FW_VEC(struct fw_dw_unit) units;	// by offset
	struct fw_dw_abbrevs **tables;		// hash by offset
	uint32_t num_tables, table_mask;
	uint64_t table_bytes;
	struct fw_dw_abbrevs *last;
	struct fw_dw_file *alt;			// dwz's, or NULL
	uint64_t abbrev_left, list_left, line_left;	// budgets
	bool split;
	bool details;
};

struct fw_dw_die {
	const struct fw_dw_unit *unit;
	uint64_t offset;
	const struct fw_dw_abbrev *abbrev;
	uint32_t have;			// bit per enum fw_dw_attr
	uint8_t form[FW_DW_ATTRS];
	uint64_t value[FW_DW_ATTRS];
};

static inline bool fw_dw_has(const struct fw_dw_die *die, enum fw_dw_attr attr)
{
	return die->have >> attr & 1;
}

// --- dwarf_file.c: sections and units ------------------------------------------
/** Sections of @p elf (may be NULL: all empty). */
void fw_dw_file_init(struct fw_dw_file *f, struct fw_elf *elf, bool split);
void fw_dw_file_deinit(struct fw_dw_file *f);
void fw_dw_free_units(struct fw_dw_file *f);
/** Fill the budgets. */
void fw_dw_file_refill(struct fw_dw_file *f);
/** Headers of all units of [from, to); broken ones are counted in *bad. */
FW_MUST_CHECK enum fw_code fw_dw_list_units(struct fw_dw_file *f, uint64_t from, uint64_t to,
					    uint32_t *bad);
/** Unit whose DIEs cover an offset of .debug_info, or NULL. */
struct fw_dw_unit *fw_dw_unit_at(struct fw_dw_file *f, uint64_t offset);
/** Read the root DIE once; false: it is broken. */
bool fw_dw_read_root(struct fw_dw_unit *u);
/** The same, and the DIE itself, whose abbrev is not set, but its tag; cheap for one look. */
bool fw_dw_look_at_root(struct fw_dw_unit *u, struct fw_dw_die *ret, uint16_t *ret_tag);
/** Cursor at @p offset of a section, up to @p end. */
struct fw_dw_cursor fw_dw_at(const struct fw_dw_file *f, enum fw_dw_section s, uint64_t offset,
			     uint64_t end);

// --- dwarf_abbrev.c -------------------------------------------------------------
/** Table for a unit; NULL: broken or out of budget. Valid until fw_dw_trim_abbrevs. */
const struct fw_dw_abbrevs *fw_dw_abbrevs_of(const struct fw_dw_unit *u);
void fw_dw_free_abbrevs(struct fw_dw_file *f);
/** May some DIE refer to one of another unit of the file? */
bool fw_dw_refers_across(const struct fw_dw_file *f);
/** A table of one code only, the caller's, for a look at a unit; NULL as above. */
struct fw_dw_abbrevs *fw_dw_one_abbrev(const struct fw_dw_unit *u, uint64_t code);
void fw_dw_free_one_abbrev(struct fw_dw_abbrevs *t);
/** Between units: forget tables when they have become many. */
void fw_dw_trim_abbrevs(struct fw_dw_file *f);
const struct fw_dw_abbrev *fw_dw_find_abbrev_slow(const struct fw_dw_abbrevs *t, uint64_t code);

static inline const struct fw_dw_abbrev *fw_dw_find_abbrev(const struct fw_dw_abbrevs *t,
							   uint64_t code)
{
	if (__builtin_expect(code < t->dense && t->by_code[code], 1))
		return &t->list.data[t->by_code[code] - 1];
	return fw_dw_find_abbrev_slow(t, code);
}

// --- dwarf_die.c ----------------------------------------------------------------
/** Read the attributes that matter of the DIE whose code was just read. */
void fw_dw_read_die(const struct fw_dw_unit *u, const struct fw_dw_abbrevs *t,
		    const struct fw_dw_abbrev *a, struct fw_dw_cursor *c, struct fw_dw_die *ret);
/** Pass over it. */
void fw_dw_pass_die(const struct fw_dw_unit *u, const struct fw_dw_abbrevs *t,
		    const struct fw_dw_abbrev *a, struct fw_dw_cursor *c);
/** The DIE at an offset of the unit's .debug_info. */
bool fw_dw_die_at(const struct fw_dw_unit *u, uint64_t offset, struct fw_dw_die *ret);
/** {NULL, 0}: none, or broken. Points into a section. */
struct fw_str fw_dw_string(const struct fw_dw_die *die, enum fw_dw_attr attr);
bool fw_dw_address(const struct fw_dw_die *die, enum fw_dw_attr attr, uint64_t *ret);
/** DIE that a reference names: its unit and offset. */
struct fw_dw_unit *fw_dw_reference(const struct fw_dw_die *die, enum fw_dw_attr attr,
				   uint64_t *ret);
/** Entry @p index of the unit's .debug_addr part. */
bool fw_dw_indexed_address(const struct fw_dw_unit *u, uint64_t index, uint64_t *ret);
bool fw_dw_is_address_form(uint8_t form);

// --- dwarf_ranges.c -------------------------------------------------------------
struct fw_dw_range { uint32_t start, end; };	// offsets from the module's base

struct fw_dw_ranges {
	FW_VEC(struct fw_dw_range) list;
};

struct fw_dw_loader;
/** Append the ranges of a DIE that name code: no tombstones, none empty, none outside. */
FW_MUST_CHECK enum fw_code fw_dw_ranges_of(struct fw_dw_loader *l, const struct fw_dw_die *die);

// --- dwarf_line.c ---------------------------------------------------------------
// file FW_NO_INDEX: end of a sequence; with details fw_dw_row_place()'s number
struct fw_dw_row { uint32_t addr, line, file; };

struct fw_dw_line_file {
	struct fw_str name;
	uint64_t dir;
	uint32_t number;		// with details its string's id; FW_NO_INDEX: not yet
};

struct fw_dw_lines {
	uint16_t version;
	uint32_t base_index;		// of the first file: 1 before DWARF 5
	FW_VEC(struct fw_str) dirs;
	FW_VEC(struct fw_dw_line_file) files;
	FW_VEC(struct fw_dw_row) rows;	// ascending
	uint64_t rows_left;		// budget of rows that functions may still take
	struct fw_str comp_dir;
};

/** Rows on their way into a table. */
struct fw_dw_rows {
	struct fw_dw_lines *out;
	uint64_t base;			// of the module
	uint64_t last;			// offset of the last row of the sequence
	uint64_t end_of_previous;	// sequence
	size_t first;			// row of the sequence
	bool dropped;			// the sequence is of code that was thrown away
	bool unordered;			// rows or sequences do not ascend
};

/** An address is set; @p mask: the largest there is. */
void fw_dw_start_rows(struct fw_dw_rows *r, uint64_t address, uint64_t mask);
/** Another row; of several at one address the last counts. False: out of memory. */
static inline bool fw_dw_push_row(struct fw_dw_rows *r, uint64_t address, uint64_t line,
				  uint64_t file)
{
	struct fw_dw_lines *out = r->out;
	uint64_t at = address - r->base;
	if (r->dropped || at >= UINT32_MAX)
		return true;
	struct fw_dw_row row = { (uint32_t)at, line > UINT32_MAX ? 0 : (uint32_t)line,
				 file < FW_NO_INDEX ? (uint32_t)file : FW_NO_INDEX - 1 };
	if (out->rows.count > r->first && r->last >= at) {
		if (r->last == at) {
			out->rows.data[out->rows.count - 1] = row;
			return true;
		}
		r->unordered = true;
	}
	r->last = at;
	return fw_vec_push(&out->rows, row);
}
bool fw_dw_end_rows(struct fw_dw_rows *r, uint64_t address);
/** After the last sequence: all in order. */
FW_MUST_CHECK enum fw_code fw_dw_finish_rows(struct fw_dw_rows *r);

/** The unit's line program, if any, into l->lines. */
FW_MUST_CHECK enum fw_code fw_dw_read_lines(struct fw_dw_loader *l, const struct fw_dw_unit *u);
/**
 * FILES number, with details the string id, of a file of the unit's table; FW_NO_INDEX:
 * there is none.
 */
FW_MUST_CHECK enum fw_code fw_dw_file_number(struct fw_dw_loader *l, uint64_t file,
					     uint32_t *ret);
void fw_dw_lines_deinit(struct fw_dw_lines *lines);

// --- dwarf_scan.c ---------------------------------------------------------------
struct fw_dw_scope { uint64_t offset, end; uint32_t parent; };

struct fw_dw_scopes {		// namespaces, classes ... by offset
	FW_VEC(struct fw_dw_scope) list;
};

struct fw_dw_func {
	uint64_t die;
	uint32_t first_range, num_ranges;
	uint32_t first_call, num_calls;
};

struct fw_dw_call {
	uint64_t die;
	struct fw_dw_unit *origin_unit;		// NULL: no origin
	uint64_t origin;
	uint32_t func, depth;
	uint32_t first_range, num_ranges;
	uint32_t call_line;
	uint64_t call_file;			// UINT64_MAX: none
};

struct fw_dw_owned {		// a call's range in one of several of its function
	uint32_t owner, call, range;
};

struct fw_dw_symbol { uint32_t start, name; };

struct fw_dw_memo { uint64_t key; uint32_t value; };	// key 0: free

struct fw_dw_memo_table {
	struct fw_dw_memo *slots;
	uint32_t mask, count;
};

/** Function symbols with mangled names, by address. */
struct fw_dw_symbols {
	bool read;
	struct fw_elf_symtab table;
	FW_VEC(struct fw_dw_symbol) list;
};

/** Numbers of what is told apart; ids are the numbers. */
struct fw_dw_details {
	struct fw_intern rows;		// of the unit at hand: file, column, discriminator
	struct fw_intern places;	// the image's FILES
	struct fw_intern origins;	// and ORIGINS
};

struct fw_dw_loader {
	const struct fw_elf_files *files;
	struct fw_builder *b;
	struct fw_elf *elf;		// that has the DWARF
	uint64_t base;
	uint64_t text_left;		// budget of composed names
	struct fw_dw_file main, alt, dwp;
	bool dwp_asked;
	struct fw_dw_unit *unit;	// the one at hand; what follows is of it
	struct fw_dw_ranges ranges;
	FW_VEC(struct fw_dw_func) funcs;
	FW_VEC(struct fw_dw_call) calls;
	bool calls_scattered;		// functions within functions
	struct fw_dw_scopes scopes;
	struct fw_dw_lines lines;
	struct fw_dw_memo_table names;	// DIE -> string id
	struct fw_dw_memo_table mangled;	// address of a mangled name -> string id
	// of the image
	FW_VEC(uint32_t) file_of, origin_of;	// by string id: number, FW_NO_INDEX: none yet
	struct fw_inline_lay lay;
	FW_VEC(struct fw_dw_owned) owned;
	bool plain_name;		// the name asked for last is no linkage name
	struct fw_dw_symbols symbols;
	uint32_t no_name;		// string of functions without one; FW_NO_STRING: not yet
	char *text;			// FW_MAX_DEMANGLED bytes to compose names in
	struct fw_dw_details details;	// used when files->details
};

static inline void fw_dw_bad(struct fw_dw_loader *l, enum fw_diag_kind kind)
{
	fw_diag_add(&l->b->diag, kind, 0);
}

enum fw_dw_scan_mode { FW_DW_SCAN_ALL, FW_DW_SCAN_FUNCS, FW_DW_SCAN_SCOPES };

/**
 * Read a unit's DIEs: its functions and, with SCAN_ALL, calls into the loader, its
 * scopes into @p scopes. FW_MALFORMED, FW_LIMIT: the unit is broken; what came
 * before is there.
 */
FW_MUST_CHECK enum fw_code fw_dw_scan(struct fw_dw_loader *l, struct fw_dw_unit *u,
				      enum fw_dw_scan_mode mode, struct fw_dw_scopes *scopes);

// --- dwarf_name.c ---------------------------------------------------------------
/** String id of the name of a DIE; FW_NO_STRING: it has none. */
FW_MUST_CHECK enum fw_code fw_dw_name(struct fw_dw_loader *l, struct fw_dw_unit *u,
				      uint64_t die, uint32_t *ret);
/** The same from a function's symbol, where there is a mangled one; else *ret stays. */
FW_MUST_CHECK enum fw_code fw_dw_symbol_name(struct fw_dw_loader *l, uint32_t start,
					     uint32_t *ret);
/** String id of a name that may be mangled. */
FW_MUST_CHECK enum fw_code fw_dw_mangled_name(struct fw_dw_loader *l, struct fw_str name,
					      uint32_t *ret);
bool fw_dw_memo_find(const struct fw_dw_memo_table *t, uint64_t key, uint32_t *ret);
bool fw_dw_memo_add(struct fw_dw_memo_table *t, uint64_t key, uint32_t value);
void fw_dw_memo_clear(struct fw_dw_memo_table *t);

// --- dwarf_cover.c --------------------------------------------------------------
struct fw_dw_covered {
	struct fw_dw_range range;
	uint32_t item;
	uint32_t reach;			// the largest end up to here
};

/** Ranges that may overlap, by address. */
struct fw_dw_cover {
	FW_VEC(struct fw_dw_covered) list;
};

/** After the last entry was pushed. */
void fw_dw_cover_sort(struct fw_dw_cover *c);
/**
 * Next of the entries that meet [from, to), from the last to the first; *at is
 * SIZE_MAX before the first call. NULL: no more.
 */
const struct fw_dw_covered *fw_dw_cover_next(const struct fw_dw_cover *c, uint32_t from,
					     uint32_t to, size_t *at);

// --- dwarf_emit.c ---------------------------------------------------------------
/** The functions of the unit at hand become the image's. */
FW_MUST_CHECK enum fw_code fw_dw_emit(struct fw_dw_loader *l, struct fw_dw_unit *u);
/** FILES or ORIGINS number of a string. */
FW_MUST_CHECK enum fw_code fw_dw_number(struct fw_dw_loader *l, bool origin, uint32_t string,
					uint32_t *ret);

// --- dwarf_detail.c -------------------------------------------------------------
void fw_dw_details_init(struct fw_dw_details *d);
void fw_dw_details_deinit(struct fw_dw_details *d);
void fw_dw_details_restart(struct fw_dw_details *d);
void fw_dw_details_new_unit(struct fw_dw_details *d);
/** What a row has for its file. False: no memory. */
bool fw_dw_row_place(struct fw_dw_loader *l, uint64_t file, uint64_t column,
		     uint64_t discriminator, uint64_t *ret);
/** FILES number of such a row's file. */
FW_MUST_CHECK enum fw_code fw_dw_row_number(struct fw_dw_loader *l, uint32_t row_file,
					    uint32_t *ret);
/** FILES number of a file of the unit's table with column and discriminator. */
FW_MUST_CHECK enum fw_code fw_dw_place_number(struct fw_dw_loader *l, uint64_t file,
					      uint64_t column, uint64_t discriminator,
					      uint32_t *ret);
/** Where a function is declared, for each of its ranges. */
FW_MUST_CHECK enum fw_code fw_dw_detail_func(struct fw_dw_loader *l, struct fw_dw_unit *u,
					     const struct fw_dw_func *f);
/** Numbers of a call's file and of its function, whose name is @p name. */
FW_MUST_CHECK enum fw_code fw_dw_detail_call(struct fw_dw_loader *l,
					     const struct fw_dw_call *call, uint32_t name,
					     struct fw_inline *ret);

// --- dwarf.c --------------------------------------------------------------------
/** Sections and units of the files into a zeroed loader. */
FW_MUST_CHECK enum fw_code fw_dw_open(struct fw_dw_loader *l, const struct fw_elf_files *files,
				      struct fw_builder *b);
void fw_dw_close(struct fw_dw_loader *l);
/** Forget what belongs to a builder, which may go; budgets are full again. */
void fw_dw_restart(struct fw_dw_loader *l);

// --- dwarf_split.c --------------------------------------------------------------
/**
 * The unit that a skeleton stands for: in *file, which the caller must deinit, or
 * in the loader's .dwp. NULL: it cannot be found.
 */
struct fw_dw_unit *fw_dw_split_unit(struct fw_dw_loader *l, struct fw_dw_unit *skeleton,
				    struct fw_dw_file *file);

#endif
