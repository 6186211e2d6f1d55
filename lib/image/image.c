#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/base/arena.h"
#include "lib/image/block.h"

const uint8_t fw_section_element[FW_SEC_COUNT] = {
	[FW_SEC_STRING_OFFSETS] = sizeof(uint32_t),
	[FW_SEC_STRING_BYTES] = 1,
	[FW_SEC_FUNC_STARTS] = sizeof(uint32_t),
	[FW_SEC_FUNCS] = sizeof(struct fw_func),
	[FW_SEC_LINES] = sizeof(struct fw_line),
	[FW_SEC_INLINES] = sizeof(struct fw_inline),
	[FW_SEC_FILES] = sizeof(struct fw_numbered),
	[FW_SEC_ORIGINS] = sizeof(struct fw_numbered),
	[FW_SEC_PUBLICS] = sizeof(struct fw_public),
	[FW_SEC_PLACES] = sizeof(struct fw_line_place),
	[FW_SEC_ORIGIN_DECLS] = sizeof(struct fw_decl),
	[FW_SEC_DECLS] = sizeof(struct fw_func_decl),
	[FW_SEC_CFI_DIR] = sizeof(uint32_t),
	[FW_SEC_CFI_PAGES] = 1,
	[FW_SEC_CFI_ROW_FIRST] = sizeof(uint32_t),
	[FW_SEC_CFI_RULES] = sizeof(struct fw_rule),
	[FW_SEC_CFI_HOT] = sizeof(struct fw_cfi_hot),
	[FW_SEC_PROGRAM_OPS] = sizeof(struct fw_op),
	[FW_SEC_PROGRAMS] = sizeof(struct fw_program),
	[FW_SEC_WIN_RECORDS] = sizeof(struct fw_stack_win),
	[FW_SEC_WIN_RANGES4] = sizeof(struct fw_stack_win_range),
	[FW_SEC_WIN_RANGES0] = sizeof(struct fw_stack_win_range),
};

const char *fw_diag_kind_name(enum fw_diag_kind kind)
{
	switch (kind) {
	case FW_DIAG_MALFORMED: return "malformed";
	case FW_DIAG_UNKNOWN: return "unknown";
	case FW_DIAG_ORPHAN: return "orphan";
	case FW_DIAG_OVERLAP: return "overlap";
	case FW_DIAG_RANGE: return "range";
	case FW_DIAG_RULE: return "rule";
	case FW_DIAG_LIMIT: return "limit";
	case FW_DIAG_COUNT: break;
	}
	return "unknown";
}

uint64_t fw_block_hash_plain_(const void *data, uint64_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, n, seed);
}

void fw_image_views(struct fw_image *image, bool cfi_wide)
{
	uint32_t row_ends = fw_image_count(image, FW_SEC_CFI_ROW_FIRST, sizeof(uint32_t));
	image->cfi = (struct fw_cfi_table){
		.dir = image->section[FW_SEC_CFI_DIR],
		.num_pages = fw_image_count(image, FW_SEC_CFI_DIR, sizeof(uint32_t)),
		.wide = cfi_wide,
		.pages = image->section[FW_SEC_CFI_PAGES],
		.pages_size = image->section_bytes[FW_SEC_CFI_PAGES],
		.row_first = image->section[FW_SEC_CFI_ROW_FIRST],
		.num_rows = row_ends ? row_ends - 1 : 0,
		.rules = image->section[FW_SEC_CFI_RULES],
		.num_rules = fw_image_count(image, FW_SEC_CFI_RULES, sizeof(struct fw_rule)),
		.hot = image->section[FW_SEC_CFI_HOT],
		.num_hot = fw_image_count(image, FW_SEC_CFI_HOT, sizeof(struct fw_cfi_hot)),
	};
	image->programs = (struct fw_programs){
		.ops = image->section[FW_SEC_PROGRAM_OPS],
		.programs = image->section[FW_SEC_PROGRAMS],
		.num_ops = fw_image_count(image, FW_SEC_PROGRAM_OPS, sizeof(struct fw_op)),
		.num_programs = fw_image_count(image, FW_SEC_PROGRAMS, sizeof(struct fw_program)),
	};
}

static bool ident_ok(const struct fw_ident *id)
{
	return id->n <= FW_MAX_IDENT && id->text[id->n] == 0;
}

static enum fw_code check_header(const struct fw_block_header *h, uint64_t size,
				 struct fw_error *err)
{
	const char *place = "image header";
	if (size < sizeof(*h))
		return fw_fail(err, FW_MALFORMED, place, "image is shorter than its header");
	if (h->magic == __builtin_bswap64(FW_BLOCK_MAGIC))
		return fw_fail(err, FW_UNSUPPORTED, place, "image of the other byte order");
	if (h->magic != FW_BLOCK_MAGIC)
		return fw_fail(err, FW_MALFORMED, place, "not an image");
	if (h->format != FW_IMAGE_FORMAT)
		return fw_fail(err, FW_UNSUPPORTED, place, "image format %u, not %d", h->format,
			       FW_IMAGE_FORMAT);
	if (h->header_hash != fw_block_hash(h, offsetof(struct fw_block_header, header_hash), 0))
		return fw_fail(err, FW_MALFORMED, place, "checksum does not match");
	// What a hash can vouch for ends here: whoever writes a file can write its hash.
	if (h->block_size != size)
		return fw_fail(err, FW_MALFORMED, place, "image is cut: %llu of %llu bytes",
			       (unsigned long long)size, (unsigned long long)h->block_size);
	if (h->hash_offset < sizeof(*h) || h->hash_offset % FW_BLOCK_ALIGN ||
	    h->hash_offset > size ||
	    (size - h->hash_offset) / 8 != fw_block_chunks(h->hash_offset) + 1 || size % 8)
		return fw_fail(err, FW_MALFORMED, place, "chunk hashes do not fit");
	if (h->num_sections != FW_SEC_COUNT || h->cpu > FW_CPU_RISCV64 ||
	    !ident_ok(&h->debug_id) || !ident_ok(&h->code_id) ||
	    h->name[sizeof(h->name) - 1] || h->os[sizeof(h->os) - 1])
		return fw_fail(err, FW_MALFORMED, place, "bad field");
	for (unsigned i = 0; i < FW_SEC_COUNT; i++) {
		uint64_t offset = h->sections[i].offset, bytes = h->sections[i].bytes;
		if (offset < sizeof(*h) || offset % FW_BLOCK_ALIGN || offset > h->hash_offset ||
		    bytes > h->hash_offset - offset || bytes % fw_section_element[i] ||
		    bytes / fw_section_element[i] > UINT32_MAX)
			return fw_fail(err, FW_MALFORMED, place, "section %u does not fit", i);
	}
	return FW_OK;
}

static enum fw_code check_hashes(const struct fw_block_header *h, struct fw_error *err)
{
	const uint8_t *block = (const uint8_t *)h;
	uint64_t n = fw_block_chunks(h->hash_offset) * 8, stored;
	memcpy(&stored, block + h->hash_offset + n, sizeof(stored));
	if (stored != fw_block_hash(block + h->hash_offset, n, h->header_hash))
		return fw_fail(err, FW_MALFORMED, "chunk hashes", "checksum does not match");
	return FW_OK;
}

enum fw_code fw_image_open(const void *block, uint64_t size, struct fw_image **ret,
			   struct fw_error *err)
{
	const struct fw_block_header *h = block;
	if ((uintptr_t)block % sizeof(uint64_t))
		return fw_fail(err, FW_UNSUPPORTED, NULL, "image is not aligned in memory");
	enum fw_code code = check_header(h, size, err);
	if (code == FW_OK)
		code = check_hashes(h, err);
	if (code)
		return code;
	struct fw_image *image = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*image));
	if (!image)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	image->chunk_ok = fw_alloc_should_fail() ? NULL :
			  calloc(fw_block_chunks(h->hash_offset), sizeof(*image->chunk_ok));
	uint64_t pages = h->sections[FW_SEC_CFI_DIR].bytes / sizeof(uint32_t);
	image->cfi_page_ok = fw_alloc_should_fail() ? NULL :
			     calloc(pages + 1, sizeof(*image->cfi_page_ok));
	if (!image->chunk_ok || !image->cfi_page_ok) {
		free((void *)image->chunk_ok);
		free((void *)image->cfi_page_ok);
		free(image);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	image->debug_id = h->debug_id;
	image->code_id = h->code_id;
	image->cpu = h->cpu;
	memcpy(image->name, h->name, sizeof(image->name));
	memcpy(image->os, h->os, sizeof(image->os));
	image->base = h->base;
	image->diag = h->diag;
	image->block = block;
	image->block_size = h->hash_offset;
	image->chunk_hashes = (const uint64_t *)(image->block + h->hash_offset);
	for (unsigned i = 0; i < FW_SEC_COUNT; i++) {
		image->section[i] = image->block + h->sections[i].offset;
		image->section_bytes[i] = h->sections[i].bytes;
	}
	fw_image_views(image, h->flags & FW_BLOCK_CFI_WIDE);
	*ret = image;
	return FW_OK;
}

void fw_image_destroy(struct fw_image *image)
{
	if (!image)
		return;
	if (image->release)
		image->release(image);
	free((void *)image->chunk_ok);
	free((void *)image->cfi_page_ok);
	free(image);
}

bool fw_image_verify_(const struct fw_image *image, uint64_t first_chunk, uint64_t last_chunk)
{
	// the state of verification is not part of the image's value
	struct fw_image *state = (struct fw_image *)image;
	for (uint64_t i = first_chunk; i <= last_chunk; i++) {
		if (atomic_load_explicit(&image->chunk_ok[i], memory_order_acquire))
			continue;
		if (atomic_load_explicit(&image->corrupt, memory_order_relaxed))
			return false;
		uint64_t at = i << FW_CHUNK_SHIFT, n = image->block_size - at;
		if (n > UINT64_C(1) << FW_CHUNK_SHIFT)
			n = UINT64_C(1) << FW_CHUNK_SHIFT;
		if (fw_block_hash(image->block + at, n, 0) != image->chunk_hashes[i]) {
			atomic_store_explicit(&state->corrupt, true, memory_order_relaxed);
			return false;
		}
		atomic_store_explicit(&state->chunk_ok[i], 1, memory_order_release);
	}
	return true;
}
