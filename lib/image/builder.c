#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/image/block.h"
#include "lib/image/builder.h"

enum fw_code fw_builder_create(struct fw_builder **ret, struct fw_error *err)
{
	struct fw_builder *b = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*b));
	if (!b)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	fw_intern_init(&b->strings);
	fw_cfi_builder_init(&b->cfi);
	fw_program_set_init(&b->programs);
	*ret = b;
	return FW_OK;
}

void fw_builder_destroy(struct fw_builder *b)
{
	if (!b)
		return;
	fw_intern_deinit(&b->strings);
	fw_vec_deinit(&b->func_starts);
	fw_vec_deinit(&b->funcs);
	fw_vec_deinit(&b->lines);
	fw_vec_deinit(&b->inlines);
	fw_vec_deinit(&b->files);
	fw_vec_deinit(&b->origins);
	fw_vec_deinit(&b->publics);
	fw_vec_deinit(&b->places);
	fw_vec_deinit(&b->origin_decls);
	fw_vec_deinit(&b->decls);
	fw_cfi_builder_deinit(&b->cfi);
	fw_program_set_deinit(&b->programs);
	fw_vec_deinit(&b->win_records);
	fw_vec_deinit(&b->win_ranges4);
	fw_vec_deinit(&b->win_ranges0);
	free(b);
}

void fw_diag_add(struct fw_diag *diag, enum fw_diag_kind kind, uint32_t line)
{
	uint32_t n = diag->count[kind];
	if (n < FW_MAX_DIAG_SAMPLES)
		diag->lines[kind][n] = line;
	if (n < UINT32_MAX)
		diag->count[kind] = n + 1;
}

static bool funcs_in_order(const struct fw_builder *b)
{
	uint64_t end = 0;
	for (size_t i = 0; i < b->funcs.count; i++) {
		const struct fw_func *f = &b->funcs.data[i];
		if (f->start < end || f->size == 0 || f->size > UINT32_MAX - f->start)
			return false;
		end = (uint64_t)f->start + f->size;
	}
	return true;
}

/** Replace the functions by disjoint ranges in address order. */
static enum fw_code flatten_funcs(struct fw_builder *b)
{
	FW_VEC(struct fw_span) spans = { 0 };
	FW_VEC(struct fw_func) funcs = { 0 };
	struct fw_span *flat = NULL;
	uint32_t n = 0, overlaps = 0;
	enum fw_code code = FW_NO_MEMORY;

	if (!fw_vec_reserve(&spans, b->funcs.count))
		goto done;
	for (size_t i = 0; i < b->funcs.count; i++) {
		const struct fw_func *f = &b->funcs.data[i];
		uint32_t end;
		if (!__builtin_add_overflow(f->start, f->size, &end))
			spans.data[spans.count++] = (struct fw_span){ f->start, end, (uint32_t)i,
								      (uint32_t)i };
	}
	code = fw_spans_flatten(spans.data, (uint32_t)spans.count, FW_SPAN_FIRST_AT_START,
				&flat, &n, &overlaps);
	if (code)
		goto done;
	if (!fw_vec_reserve(&funcs, (size_t)n)) {
		code = FW_NO_MEMORY;
		goto done;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct fw_func f = b->funcs.data[flat[i].item];
		f.start = flat[i].start;
		f.size = flat[i].end - flat[i].start;
		funcs.data[funcs.count++] = f;
	}
	for (uint32_t i = 0; i < overlaps; i++)
		fw_diag_add(&b->diag, FW_DIAG_OVERLAP, 0);
	fw_vec_deinit(&b->funcs);
	b->funcs.data = funcs.data;
	b->funcs.count = funcs.count;
	b->funcs.capacity = funcs.capacity;
	funcs.data = NULL;
done:
	fw_vec_deinit(&spans);
	fw_vec_deinit(&funcs);
	free(flat);
	return code;
}

static enum fw_code close_funcs(struct fw_builder *b)
{
	if (!funcs_in_order(b)) {
		enum fw_code code = flatten_funcs(b);
		if (code)
			return code;
	}
	b->func_starts.count = 0;
	if (!fw_vec_reserve(&b->func_starts, b->funcs.count))
		return FW_NO_MEMORY;
	for (size_t i = 0; i < b->funcs.count; i++)
		b->func_starts.data[i] = b->funcs.data[i].start;
	b->func_starts.count = b->funcs.count;
	return FW_OK;
}

struct keyed {
	uint32_t key, index;
};

static int by_key_then_index(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/**
 * Order elements of @p size bytes by the u32 they begin with; the first of equal
 * ones stays. *count becomes what is left.
 */
static enum fw_code sort_unique(void *data, size_t *count, size_t size)
{
	uint8_t *base = data;
	size_t n = *count, kept = 0;
	bool in_order = true;
	for (size_t i = 1; i < n && in_order; i++)
		in_order = *(uint32_t *)(base + (i - 1) * size) < *(uint32_t *)(base + i * size);
	if (in_order)
		return FW_OK;
	struct keyed *keys = fw_alloc_should_fail() ? NULL : calloc(n, sizeof(*keys));
	uint8_t *copy = keys ? malloc(n * size) : NULL;
	if (!copy) {
		free(keys);
		return FW_NO_MEMORY;
	}
	memcpy(copy, base, n * size);
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct keyed){ *(uint32_t *)(base + i * size), (uint32_t)i };
	qsort(keys, n, sizeof(*keys), by_key_then_index);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || keys[i].key != keys[i - 1].key)
			memcpy(base + kept++ * size, copy + keys[i].index * size, size);
	free(keys);
	free(copy);
	*count = kept;
	return FW_OK;
}

/** A PUBLIC ends at the next PUBLIC and at the next FUNC, if not before. */
static enum fw_code close_publics(struct fw_builder *b)
{
	enum fw_code code = sort_unique(b->publics.data, &b->publics.count,
					sizeof(*b->publics.data));
	if (code)
		return code;
	size_t func = 0, kept = 0;
	for (size_t i = 0; i < b->publics.count; i++) {
		struct fw_public p = b->publics.data[i];
		while (func < b->func_starts.count && b->func_starts.data[func] <= p.start)
			func++;
		if (func < b->func_starts.count && b->func_starts.data[func] < p.end)
			p.end = b->func_starts.data[func];
		if (i + 1 < b->publics.count && b->publics.data[i + 1].start < p.end)
			p.end = b->publics.data[i + 1].start;
		if (p.end > p.start)
			b->publics.data[kept++] = p;
	}
	b->publics.count = kept;
	return FW_OK;
}

static enum fw_code close_sections(struct fw_builder *b)
{
	size_t *numbered[] = { &b->files.count, &b->origins.count };
	struct fw_numbered *data[] = { b->files.data, b->origins.data };
	enum fw_code code = close_funcs(b);
	for (unsigned i = 0; i < 2 && code == FW_OK; i++)
		code = sort_unique(data[i], numbered[i], sizeof(struct fw_numbered));
	if (code == FW_OK)
		code = sort_unique(b->decls.data, &b->decls.count, sizeof(*b->decls.data));
	if (code == FW_OK)
		code = close_publics(b);
	if (code == FW_OK)
		code = fw_cfi_finish(&b->cfi);
	if (code == FW_OK)
		code = fw_cfi_make_hot(&b->cfi, fw_cpu_get(b->cpu));
	return code;
}

static void release_builder(struct fw_image *image)
{
	fw_builder_destroy(image->mapping);
}

// An empty section is not NULL: look-ups may do arithmetic on it.
static const uint64_t nothing;

#define VIEW(image, s, v) do { \
	(image)->section[s] = (v)->data ? (const void *)(v)->data : &nothing; \
	(image)->section_bytes[s] = (v)->count * sizeof(*(v)->data); \
} while (0)

static bool view_sections(struct fw_builder *b, struct fw_image *image)
{
	VIEW(image, FW_SEC_STRING_OFFSETS, &b->strings.offsets);
	VIEW(image, FW_SEC_STRING_BYTES, &b->strings.bytes);
	VIEW(image, FW_SEC_FUNC_STARTS, &b->func_starts);
	VIEW(image, FW_SEC_FUNCS, &b->funcs);
	VIEW(image, FW_SEC_LINES, &b->lines);
	VIEW(image, FW_SEC_INLINES, &b->inlines);
	VIEW(image, FW_SEC_FILES, &b->files);
	VIEW(image, FW_SEC_ORIGINS, &b->origins);
	VIEW(image, FW_SEC_PUBLICS, &b->publics);
	VIEW(image, FW_SEC_PLACES, &b->places);
	VIEW(image, FW_SEC_ORIGIN_DECLS, &b->origin_decls);
	VIEW(image, FW_SEC_DECLS, &b->decls);
	VIEW(image, FW_SEC_CFI_DIR, &b->cfi.dir);
	VIEW(image, FW_SEC_CFI_PAGES, &b->cfi.pages);
	VIEW(image, FW_SEC_CFI_ROW_FIRST, &b->cfi.row_first);
	VIEW(image, FW_SEC_CFI_RULES, &b->cfi.rules);
	VIEW(image, FW_SEC_CFI_HOT, &b->cfi.hot);
	VIEW(image, FW_SEC_PROGRAM_OPS, &b->programs.ops);
	VIEW(image, FW_SEC_PROGRAMS, &b->programs.programs);
	VIEW(image, FW_SEC_WIN_RECORDS, &b->win_records);
	VIEW(image, FW_SEC_WIN_RANGES4, &b->win_ranges4);
	VIEW(image, FW_SEC_WIN_RANGES0, &b->win_ranges0);
	for (unsigned i = 0; i < FW_SEC_COUNT; i++)
		if (image->section_bytes[i] / fw_section_element[i] > UINT32_MAX)
			return false;
	fw_image_views(image, b->cfi.wide);
	return true;
}

enum fw_code fw_builder_freeze(struct fw_builder *b, struct fw_image **ret, struct fw_error *err)
{
	fw_intern_seal(&b->strings);
	enum fw_code code = close_sections(b);
	struct fw_image *image = code || fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*image));
	if (!image) {
		fw_builder_destroy(b);
		if (code == FW_LIMIT)
			return fw_fail(err, code, NULL, "too much unwind information");
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	image->mapping = b;
	image->release = release_builder;
	image->cfi_page_ok = fw_alloc_should_fail() ? NULL :
			     calloc(b->cfi.dir.count + 1, sizeof(*image->cfi_page_ok));
	if (!image->cfi_page_ok) {
		fw_image_destroy(image);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	memset((void *)image->cfi_page_ok, 1, b->cfi.dir.count + 1);
	if (!view_sections(b, image)) {
		fw_image_destroy(image);
		return fw_fail(err, FW_LIMIT, NULL, "more than 4294967295 records of one kind");
	}
	image->debug_id = b->debug_id;
	image->code_id = b->code_id;
	image->cpu = b->cpu;
	memcpy(image->name, b->name, sizeof(image->name));
	memcpy(image->os, b->os, sizeof(image->os));
	image->name[sizeof(image->name) - 1] = image->os[sizeof(image->os) - 1] = 0;
	image->base = b->base;
	image->diag = b->diag;
	*ret = image;
	return FW_OK;
}
