#include "lib/image/block.h"

/** Element @p i of a section, verified; NULL when there is none or it is damaged. */
static inline const void *element(const struct fw_image *image, enum fw_section s, uint64_t i,
				  size_t size)
{
	if (i >= image->section_bytes[s] / size)
		return NULL;
	const void *p = (const uint8_t *)image->section[s] + i * size;
	return fw_image_touch(image, p, size) ? p : NULL;
}

/** n elements from @p first on, verified. */
static inline const void *elements(const struct fw_image *image, enum fw_section s, uint64_t first,
				   uint64_t n, size_t size)
{
	uint64_t count = image->section_bytes[s] / size;
	if (first > count || n > count - first)
		return NULL;
	const void *p = (const uint8_t *)image->section[s] + first * size;
	return fw_image_touch(image, p, n * size) ? p : NULL;
}

/**
 * How many of n elements of @p size bytes at @p base begin with a u32 that is
 * <= key, given that they ascend. Damaged memory: 0.
 */
static inline uint64_t count_upto(const struct fw_image *image, const uint8_t *base, uint64_t n,
				  size_t size, uint32_t key)
{
	uint64_t low = 0;
	while (n) {
		uint64_t half = n / 2;
		const uint8_t *p = base + (low + half) * size;
		if (!fw_image_touch(image, p, sizeof(key)))
			return 0;
		if (*(const uint32_t *)p <= key) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

struct fw_str fw_image_string(const struct fw_image *image, uint32_t id)
{
	const struct fw_str none = { NULL, 0 };
	const uint32_t *offset = elements(image, FW_SEC_STRING_OFFSETS, id, 2, sizeof(*offset));
	if (!offset || offset[0] > offset[1] ||
	    offset[1] > image->section_bytes[FW_SEC_STRING_BYTES])
		return none;
	const char *s = (const char *)image->section[FW_SEC_STRING_BYTES] + offset[0];
	size_t n = offset[1] - offset[0];
	return fw_image_touch(image, s, n) ? (struct fw_str){ s, n } : none;
}

struct fw_str fw_image_numbered(const struct fw_image *image, enum fw_section s, uint32_t number)
{
	const size_t size = sizeof(struct fw_numbered);
	const struct fw_numbered *entry = element(image, s, 0, size);
	if (entry && number >= entry->number) {
		// numbers are dense in nearly every file: look where it should be first
		entry = element(image, s, number - entry->number, size);
		if (entry && entry->number == number)
			return fw_image_string(image, entry->string);
		uint64_t n = count_upto(image, image->section[s], image->section_bytes[s] / size,
					size, number);
		entry = n ? element(image, s, n - 1, size) : NULL;
		if (entry && entry->number == number)
			return fw_image_string(image, entry->string);
	}
	return (struct fw_str){ NULL, 0 };
}

const struct fw_line_place *fw_image_place(const struct fw_image *image, uint32_t file)
{
	return element(image, FW_SEC_PLACES, file, sizeof(struct fw_line_place));
}

const struct fw_decl *fw_image_origin_decl(const struct fw_image *image, uint32_t origin)
{
	return element(image, FW_SEC_ORIGIN_DECLS, origin, sizeof(struct fw_decl));
}

const struct fw_decl *fw_image_decl(const struct fw_image *image, uint32_t entry)
{
	const struct fw_func_decl *d;
	uint64_t n = count_upto(image, image->section[FW_SEC_DECLS],
				image->section_bytes[FW_SEC_DECLS] / sizeof(*d), sizeof(*d), entry);
	d = n ? element(image, FW_SEC_DECLS, n - 1, sizeof(*d)) : NULL;
	return d && d->entry == entry ? &d->decl : NULL;
}

static bool touch_program(const struct fw_image *image, uint32_t index)
{
	const struct fw_program *p = element(image, FW_SEC_PROGRAMS, index, sizeof(*p));
	if (!p)
		return index >= image->programs.num_programs;
	return elements(image, FW_SEC_PROGRAM_OPS, p->first, p->count, sizeof(struct fw_op)) ||
	       p->first > image->programs.num_ops ||
	       p->count > image->programs.num_ops - p->first;
}

static bool touch_section(const struct fw_image *image, enum fw_section s)
{
	return fw_image_touch(image, image->section[s], image->section_bytes[s]);
}

bool fw_image_verify_cfi_(const struct fw_image *image, uint32_t page)
{
	const struct fw_cfi_table *t = &image->cfi;
	uint64_t from, to;
	// Rows are stored once and few: they are verified with the first page.
	if (!touch_section(image, FW_SEC_CFI_DIR) || !touch_section(image, FW_SEC_CFI_ROW_FIRST) ||
	    !touch_section(image, FW_SEC_CFI_RULES) ||
	    !touch_section(image, FW_SEC_CFI_HOT) || !touch_section(image, FW_SEC_PROGRAMS) ||
	    !touch_section(image, FW_SEC_PROGRAM_OPS))
		return false;
	fw_cfi_page_extent(t, page, &from, &to);
	if (!fw_image_touch(image, t->pages + from, to - from))
		return false;
	atomic_store_explicit(&((struct fw_image *)image)->cfi_page_ok[page], 1,
			      memory_order_release);
	return true;
}

const struct fw_rule *fw_image_cfi(const struct fw_image *image, uint32_t offset,
				   uint32_t *ret_count)
{
	*ret_count = 0;
	if (!fw_image_cfi_ready(image, offset))
		return NULL;
	return fw_cfi_rules(&image->cfi, fw_cfi_find(&image->cfi, offset), ret_count);
}

const struct fw_func *fw_image_func(const struct fw_image *image, uint32_t offset)
{
	const struct fw_func *func;
	uint64_t n = count_upto(image, image->section[FW_SEC_FUNC_STARTS],
				image->section_bytes[FW_SEC_FUNC_STARTS] / sizeof(uint32_t),
				sizeof(uint32_t), offset);
	if (n == 0)
		return NULL;
	func = element(image, FW_SEC_FUNCS, n - 1, sizeof(*func));
	return func && offset - func->start < func->size ? func : NULL;
}

const struct fw_public *fw_image_public(const struct fw_image *image, uint32_t offset)
{
	const struct fw_public *symbol;
	uint64_t n = count_upto(image, image->section[FW_SEC_PUBLICS],
				image->section_bytes[FW_SEC_PUBLICS] / sizeof(*symbol),
				sizeof(*symbol), offset);
	if (n == 0)
		return NULL;
	symbol = element(image, FW_SEC_PUBLICS, n - 1, sizeof(*symbol));
	return symbol && offset >= symbol->start && offset < symbol->end ? symbol : NULL;
}

const struct fw_line *fw_image_line(const struct fw_image *image, const struct fw_func *func,
				    uint32_t offset)
{
	const struct fw_line *line;
	uint64_t all = image->section_bytes[FW_SEC_LINES] / sizeof(*line);
	if (func->first_line > all || func->num_lines > all - func->first_line)
		return NULL;
	const uint8_t *run = (const uint8_t *)image->section[FW_SEC_LINES] +
			     (uint64_t)func->first_line * sizeof(*line);
	uint64_t n = count_upto(image, run, func->num_lines, sizeof(*line), offset);
	if (n == 0)
		return NULL;
	line = element(image, FW_SEC_LINES, func->first_line + n - 1, sizeof(*line));
	return line && line->file != FW_NO_INDEX ? line : NULL;
}

/** The range at @p depth that covers @p offset; *low moves up to that depth's entries. */
static const struct fw_inline *inline_at(const struct fw_image *image, const struct fw_func *func,
					 uint32_t depth, uint32_t offset, uint64_t *low)
{
	const struct fw_inline *call;
	uint64_t from = *low, n = func->num_inlines - from;
	while (n) {	// first entry that sorts behind (depth, offset)
		uint64_t half = n / 2;
		call = element(image, FW_SEC_INLINES, func->first_inline + from + half,
			       sizeof(*call));
		if (!call)
			return NULL;
		if (call->depth < depth || (call->depth == depth && call->start <= offset)) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (from == *low)
		return NULL;
	*low = from;
	call = element(image, FW_SEC_INLINES, func->first_inline + from - 1, sizeof(*call));
	return call && call->depth == depth && offset - call->start < call->size ? call : NULL;
}

uint32_t fw_image_inlines(const struct fw_image *image, const struct fw_func *func,
			  uint32_t offset, const struct fw_inline **ret, uint32_t max)
{
	uint32_t depth = 0;
	uint64_t low = 0, all = image->section_bytes[FW_SEC_INLINES] / sizeof(struct fw_inline);
	if (func->num_inlines == 0 || func->first_inline > all ||
	    func->num_inlines > all - func->first_inline)
		return 0;
	while (depth < max) {
		const struct fw_inline *call = inline_at(image, func, depth, offset, &low);
		if (!call)
			break;
		ret[depth++] = call;
	}
	return depth;
}

const struct fw_stack_win *fw_image_stack_win(const struct fw_image *image, uint32_t offset)
{
	static const enum fw_section sections[] = { FW_SEC_WIN_RANGES4, FW_SEC_WIN_RANGES0 };
	const struct fw_stack_win_range *range;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t n = count_upto(image, image->section[sections[i]],
					image->section_bytes[sections[i]] / sizeof(*range),
					sizeof(*range), offset);
		range = n ? element(image, sections[i], n - 1, sizeof(*range)) : NULL;
		if (!range || offset < range->start || offset >= range->end)
			continue;
		const struct fw_stack_win *win = element(image, FW_SEC_WIN_RECORDS, range->record,
							 sizeof(*win));
		if (win && (win->program == FW_NO_PROGRAM || touch_program(image, win->program)))
			return win;
	}
	return NULL;
}
