#ifndef FW_IMAGE_BUILDER_H
#define FW_IMAGE_BUILDER_H

#include "lib/base/intern.h"
#include "lib/image/image.h"

/** A STACK CFI delta or INIT as a loader saw it, before it becomes table rows. */
struct fw_cfi_init { uint32_t start, end; uint32_t row; uint32_t order; };
struct fw_cfi_delta { uint32_t addr; uint32_t delta; };

/**
 * A module image under construction. Its arrays are the image's sections, so
 * freezing copies nothing; loaders append in file order and fw_builder_freeze
 * sorts and resolves overlaps only where the file was out of order.
 *
 * Overlap rules (decisions: "Overlaps"): equal start: the first in file order;
 * nested: the inner wins its range and the outer is split; partial: the earlier
 * ends where the later starts; each one counted in diag.
 */
struct fw_builder {
	struct fw_intern strings;
	FW_VEC(uint32_t) func_starts;
	FW_VEC(struct fw_func) funcs;
	FW_VEC(struct fw_line) lines;
	FW_VEC(struct fw_inline) inlines;
	FW_VEC(struct fw_numbered) files, origins;
	FW_VEC(struct fw_public) publics;
	FW_VEC(struct fw_line_place) places;		// details: empty, or one each
	FW_VEC(struct fw_decl) origin_decls;
	FW_VEC(struct fw_func_decl) decls;	// any order; the first of an entry counts
	struct fw_cfi_builder cfi;
	struct fw_program_set programs;
	FW_VEC(struct fw_stack_win) win_records;
	FW_VEC(struct fw_stack_win_range) win_ranges4, win_ranges0;

	struct fw_ident debug_id, code_id;
	enum fw_cpu_id cpu;
	char name[256], os[32];
	uint64_t base;
	struct fw_diag diag;
};

FW_MUST_CHECK enum fw_code fw_builder_create(struct fw_builder **ret, struct fw_error *err);
void fw_builder_destroy(struct fw_builder *b);

/** Count a dropped record and keep its 1-based line number (0: unknown) if it is an early one. */
void fw_diag_add(struct fw_diag *diag, enum fw_diag_kind kind, uint32_t line);

/**
 * Sort, resolve and close everything, and give the image, which owns the
 * builder from then on (also on failure). A PUBLIC's end is cut at the next PUBLIC and
 * FUNC here; what else bounds it the loader has put into `end` (UINT32_MAX:
 * nothing). STACK WIN ranges and CFI rows are expected in order.
 */
FW_MUST_CHECK enum fw_code fw_builder_freeze(struct fw_builder *b, struct fw_image **ret,
					     struct fw_error *err);

/**
 * Write an image in the block format to a descriptor (sequentially, hashing as
 * it goes; no copy of the image is made). FW_IO.
 */
FW_MUST_CHECK enum fw_code fw_image_write(const struct fw_image *image, int fd,
					  struct fw_error *err);

/** A range to lay flat: [start, end) belongs to item; order is the file order. */
struct fw_span { uint32_t start, end, item, order; };
enum fw_span_policy {
	FW_SPAN_FIRST_AT_START,		// equal start: the first in file order, others dropped
	FW_SPAN_INNERMOST,		// equal start: the shorter wins; equal ranges: the first
};

/**
 * Lay n spans (any order) flat: disjoint, ascending, by the overlap rules. Split
 * items appear several times, empty spans not at all. The result is malloc'ed and
 * the caller's. *overlaps counts the spans that cut, split or were dropped; under
 * FW_SPAN_INNERMOST nesting is what the format means and is not counted.
 */
FW_MUST_CHECK enum fw_code fw_spans_flatten(const struct fw_span *spans, uint32_t n,
	enum fw_span_policy policy, struct fw_span **ret, uint32_t *ret_n, uint32_t *overlaps);

#endif
