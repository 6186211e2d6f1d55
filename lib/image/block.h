#ifndef FW_IMAGE_BLOCK_H
#define FW_IMAGE_BLOCK_H

#include <assert.h>

#include "lib/image/image.h"

/**
 * The block's layout, private to lib/image. In the host's byte order (the cache
 * never leaves the machine); a block of the other order has another magic.
 *
 *   header | padding | section | padding | ... | hash of each chunk | hash of these
 *
 * Every section starts at a multiple of 64; the chunk hashes cover everything
 * before them, the last hash covers them and is seeded with the header's.
 */
#define FW_BLOCK_MAGIC UINT64_C(0x0a31474d49575146)
enum {
	FW_BLOCK_ALIGN = 64,
	FW_BLOCK_CFI_WIDE = 1,		// flag: struct fw_cfi_table.wide
};

struct fw_block_section {
	uint64_t offset, bytes;
};

struct fw_block_header {
	uint64_t magic;
	uint32_t format;
	uint32_t flags;
	uint64_t hash_offset;		// of the chunk hashes: where the sections end
	uint64_t block_size;
	uint64_t base;
	uint32_t cpu;
	uint32_t num_sections;
	struct fw_ident debug_id, code_id;
	char name[256];
	char os[32];
	char reserved[4];
	struct fw_diag diag;
	struct fw_block_section sections[FW_SEC_COUNT];
	uint64_t header_hash;		// XXH3-64 of all that stands above
};
static_assert(sizeof(struct fw_block_header) % 8 == 0, "no hidden padding at the end");

/** Bytes of one element of a section. */
extern const uint8_t fw_section_element[FW_SEC_COUNT];

/** XXH3-64 of n bytes. */
uint64_t fw_block_hash(const void *data, uint64_t n, uint64_t seed);
/** The same with nothing but what the compiler was told the CPU has. */
uint64_t fw_block_hash_plain_(const void *data, uint64_t n, uint64_t seed);

/** Set up the views of the sections that image->cfi and image->programs are. */
void fw_image_views(struct fw_image *image, bool cfi_wide);

static inline uint64_t fw_block_chunks(uint64_t bytes)
{
	return (bytes + (UINT64_C(1) << FW_CHUNK_SHIFT) - 1) >> FW_CHUNK_SHIFT;
}

#endif
