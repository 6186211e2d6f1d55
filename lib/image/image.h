#ifndef FW_IMAGE_IMAGE_H
#define FW_IMAGE_IMAGE_H

#include <assert.h>
#include <stdatomic.h>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/image/ident.h"
#include "lib/rules/cfi_table.h"
#include "lib/rules/program.h"
#include "lib/rules/stack_win.h"

/**
 * The module image: everything known of one module, pre-parsed and frozen, from
 * whatever kind of symbol file. All addresses are 32-bit offsets from the
 * module's base. It lives either in the builder's arrays (just compiled:
 * trusted) or in one position-independent little-endian block (mapped from the
 * cache: not trusted, verified piece by piece).
 *
 * Block: header (this format's magic and version, identity, a table of
 * sections), sections each 64-byte aligned, then one XXH3-64 per 4 KiB chunk
 * of the block before it. The header and the chunk table are verified at open;
 * a chunk is verified when it is first touched. Every index is checked again at
 * use, so corruption costs answers and never memory. (A look-up touches some
 * fifteen places: small chunks make the first one cheap, and the table of
 * hashes, 1/512 of the block, is what opening reads.)
 */
enum fw_section {
	FW_SEC_STRING_OFFSETS,	// u32[num_strings + 1]
	FW_SEC_STRING_BYTES,
	FW_SEC_FUNC_STARTS,	// u32[], ascending: what look-ups search
	FW_SEC_FUNCS,		// struct fw_func[], same order
	FW_SEC_LINES,		// struct fw_line[]
	FW_SEC_INLINES,		// struct fw_inline[]
	FW_SEC_FILES,		// struct fw_numbered[], by number
	FW_SEC_ORIGINS,		// struct fw_numbered[], by number
	FW_SEC_PUBLICS,		// struct fw_public[], by start
	FW_SEC_PLACES,		// struct fw_line_place[], one a number in FILES; none without details
	FW_SEC_ORIGIN_DECLS,	// struct fw_decl[], one a number in ORIGINS; none without details
	FW_SEC_DECLS,		// struct fw_func_decl[], by entry; none without details
	FW_SEC_CFI_DIR, FW_SEC_CFI_PAGES, FW_SEC_CFI_ROW_FIRST, FW_SEC_CFI_RULES,
	FW_SEC_CFI_HOT,		// struct fw_cfi_hot[], one a row
	FW_SEC_PROGRAM_OPS, FW_SEC_PROGRAMS,
	FW_SEC_WIN_RECORDS,	// struct fw_stack_win[]
	FW_SEC_WIN_RANGES4,	// struct fw_stack_win_range[] of type 4, disjoint, ascending
	FW_SEC_WIN_RANGES0,	// the same of type 0
	FW_SEC_COUNT
};

#define FW_NO_INDEX UINT32_MAX

/** A range of a function. A function split by a nested one has several, same name and entry. */
struct fw_func {
	uint32_t start, size;
	uint32_t entry;			// start of the function itself: offsets count from it
	uint32_t name;			// string id
	uint32_t params_size;		// bytes of stack parameters (x86)
	uint32_t first_line, num_lines;
	uint32_t first_inline, num_inlines;
};

/** From addr on (until the next entry of the function) this source line. */
struct fw_line {
	uint32_t addr;
	uint32_t line;			// 0 is legal
	uint32_t file;			// number in FILES; FW_NO_INDEX: no line here (a gap)
};

/** One range of one inlined call; in a function sorted by (depth, start), disjoint per depth. */
struct fw_inline {
	uint32_t depth;
	uint32_t start, size;
	uint32_t origin;		// number in ORIGINS
	uint32_t call_line;
	uint32_t call_file;		// number in FILES; FW_NO_INDEX: the old form, not known
};

struct fw_numbered { uint32_t number, string; };

/** end: where it stops naming (next symbol, end of its CFI INIT or STACK WIN). */
struct fw_public { uint32_t start, end, name, params_size; };

/*
 * Details, which only symbolizer protocols ask for: columns, discriminators, where a
 * function is declared. An image that has them gives each (file, column,
 * discriminator) a number in FILES of its own, and each inlined call's function and
 * start one in ORIGINS, both from 0 on without gaps.
 */
struct fw_line_place { uint32_t column, discriminator; };

struct fw_decl {
	uint32_t name;			// string id, unqualified; FW_NO_INDEX: none
	uint32_t file, line;		// string id of the file; FW_NO_INDEX: not known
	uint32_t start;			// offset that its DIE states; FW_NO_INDEX: none
};

struct fw_func_decl { uint32_t entry; struct fw_decl decl; };

static_assert(sizeof(struct fw_line_place) == 8, "an image section");
static_assert(sizeof(struct fw_func_decl) == 20, "an image section");
static_assert(sizeof(struct fw_func) == 36, "an image section");
static_assert(sizeof(struct fw_line) == 12, "an image section");
static_assert(sizeof(struct fw_inline) == 24, "an image section");
static_assert(sizeof(struct fw_public) == 16, "an image section");

/** What a loader had to drop; counted per kind, the first few places kept. */
enum fw_diag_kind {
	FW_DIAG_MALFORMED,	// a record that breaks its grammar
	FW_DIAG_UNKNOWN,	// a record type nobody knows
	FW_DIAG_ORPHAN,		// a line or INLINE without its FUNC
	FW_DIAG_OVERLAP,	// ranges that overlap: cut or dropped
	FW_DIAG_RANGE,		// zero size, overflow, beyond 4 GiB
	FW_DIAG_RULE,		// an unwind rule that cannot be evaluated
	FW_DIAG_LIMIT,		// past a named limit
	FW_DIAG_COUNT
};

struct fw_diag {
	uint32_t count[FW_DIAG_COUNT];
	uint32_t lines[FW_DIAG_COUNT][FW_MAX_DIAG_SAMPLES];	// 1-based line numbers
};

/** Stable lower-case word for a kind ("malformed", "orphan" ...). */
const char *fw_diag_kind_name(enum fw_diag_kind kind);

struct fw_image {
	// identity, as the symbol file states it
	struct fw_ident debug_id, code_id;
	enum fw_cpu_id cpu;
	char name[256];			// MODULE line's name, cut to fit
	char os[32];
	uint64_t base;			// link-time address of offset 0 (0 for a .sym)
	struct fw_diag diag;

	const void *section[FW_SEC_COUNT];
	uint64_t section_bytes[FW_SEC_COUNT];
	struct fw_cfi_table cfi;	// views of the sections above
	struct fw_programs programs;

	// a mapped block: what has been verified (NULL: trusted, nothing to verify)
	const uint8_t *block;
	uint64_t block_size;
	const uint64_t *chunk_hashes;
	_Atomic uint8_t *chunk_ok;	// per chunk; shared by all threads
	_Atomic uint8_t *cfi_page_ok;	// per 64 KiB of text: all that its rules need is verified
					// (trusted: always)
	_Atomic bool corrupt;		// a chunk failed: answers since are not to be used
	void *mapping;			// owned mapping or builder; freed by fw_image_destroy
	void (*release)(struct fw_image *image);
};

enum {
	FW_IMAGE_FORMAT = 3,		// of the block: another number is another cache folder
	FW_CHUNK_SHIFT = 12,
};

/**
 * Open a block in the cache's format. Header, section table and chunk hashes
 * are checked, nothing else is read. The bytes must outlive the image.
 * FW_MALFORMED / FW_UNSUPPORTED (other format version) say what is wrong.
 */
FW_MUST_CHECK enum fw_code fw_image_open(const void *block, uint64_t size,
					 struct fw_image **ret, struct fw_error *err);
void fw_image_destroy(struct fw_image *image);

/** Check every invariant of every section (tests, loader hand-over). */
FW_MUST_CHECK enum fw_code fw_image_check(const struct fw_image *image, struct fw_error *err);

bool fw_image_verify_(const struct fw_image *image, uint64_t first_chunk, uint64_t last_chunk);

/**
 * True when the bytes [p, p + n) of a section may be believed. Look-ups call
 * this before they use what they read; false also sets image->corrupt.
 */
static inline bool fw_image_touch(const struct fw_image *image, const void *p, uint64_t n)
{
	if (image->chunk_ok == NULL || n == 0)
		return true;
	uint64_t at = (uint64_t)((const uint8_t *)p - image->block);
	uint64_t a = at >> FW_CHUNK_SHIFT, b = (at + n - 1) >> FW_CHUNK_SHIFT;
	if (__builtin_expect(a == b && atomic_load_explicit(&image->chunk_ok[a],
							    memory_order_acquire), 1))
		return true;
	return fw_image_verify_(image, a, b);
}

bool fw_image_verify_cfi_(const struct fw_image *image, uint32_t page);

/**
 * True when unwind rules for @p offset may be looked up in image->cfi as they
 * stand: the first call for a stretch of 64 KiB verifies it whole, so that a
 * walk pays one load a step. False: the image is corrupt.
 */
static inline bool fw_image_cfi_ready(const struct fw_image *image, uint32_t offset)
{
	if (image->chunk_ok == NULL)
		return true;
	uint32_t page = offset >> FW_CFI_PAGE_SHIFT;
	return page >= image->cfi.num_pages ||
	       atomic_load_explicit(&image->cfi_page_ok[page], memory_order_acquire) ||
	       fw_image_verify_cfi_(image, page);
}

static inline uint32_t fw_image_count(const struct fw_image *image, enum fw_section s,
				      size_t element)
{
	return (uint32_t)(image->section_bytes[s] / element);
}

/** String of an id; {NULL, 0} when the id or the section is bad. */
struct fw_str fw_image_string(const struct fw_image *image, uint32_t id);
/** Name of a FILE or INLINE_ORIGIN number; {NULL, 0} when undefined. */
struct fw_str fw_image_numbered(const struct fw_image *image, enum fw_section s, uint32_t number);

/** Details of a number in FILES; NULL: none. */
const struct fw_line_place *fw_image_place(const struct fw_image *image, uint32_t file);
/** Details of a number in ORIGINS; NULL: none. */
const struct fw_decl *fw_image_origin_decl(const struct fw_image *image, uint32_t origin);
/** Details of the function or symbol that begins at @p entry; NULL: none. */
const struct fw_decl *fw_image_decl(const struct fw_image *image, uint32_t entry);

/** Row id and rules in force at @p offset (verified); NULL when none. */
const struct fw_rule *fw_image_cfi(const struct fw_image *image, uint32_t offset,
				   uint32_t *ret_count);
/** Function range that covers @p offset, or NULL. */
const struct fw_func *fw_image_func(const struct fw_image *image, uint32_t offset);
/** PUBLIC that names @p offset (only asked when no FUNC does), or NULL. */
const struct fw_public *fw_image_public(const struct fw_image *image, uint32_t offset);
/** Line entry in force at @p offset inside @p func; NULL in a gap. */
const struct fw_line *fw_image_line(const struct fw_image *image, const struct fw_func *func,
				    uint32_t offset);
/** Inlined call ranges at @p offset inside @p func, outermost (depth 0) first;
 *  at most @p max are stored; returns how many. */
uint32_t fw_image_inlines(const struct fw_image *image, const struct fw_func *func,
			  uint32_t offset, const struct fw_inline **ret, uint32_t max);
/** STACK WIN record in force: type 4 before 0, innermost; NULL when none. */
const struct fw_stack_win *fw_image_stack_win(const struct fw_image *image, uint32_t offset);

#endif
