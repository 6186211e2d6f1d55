// An image block of any bytes, its checksums put right so that they protect
// nothing: no look-up may leave the block.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/image/block.h"
#include "tests/fuzz/look_up.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Make the sizes and hashes of the block fit, where it has room for them. */
static void forge(uint8_t *block, size_t size)
{
	struct fw_block_header *h = (struct fw_block_header *)block;
	uint64_t end = size / FW_BLOCK_ALIGN * FW_BLOCK_ALIGN;
	if (size < sizeof(*h))
		return;
	h->magic = FW_BLOCK_MAGIC;
	h->format = FW_IMAGE_FORMAT;
	h->num_sections = FW_SEC_COUNT;
	while (end > sizeof(*h) && end + (fw_block_chunks(end) + 1) * 8 > size)
		end -= FW_BLOCK_ALIGN;
	if (end < sizeof(*h) || end + (fw_block_chunks(end) + 1) * 8 > size)
		return;
	h->hash_offset = end;
	h->block_size = end + (fw_block_chunks(end) + 1) * 8;
	h->header_hash = fw_block_hash(h, offsetof(struct fw_block_header, header_hash), 0);
	uint64_t n = fw_block_chunks(end), *hashes = (uint64_t *)(block + end);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = i << FW_CHUNK_SHIFT, left = end - at;
		uint64_t chunk = UINT64_C(1) << FW_CHUNK_SHIFT;
		hashes[i] = fw_block_hash(block + at, left < chunk ? left : chunk, 0);
	}
	hashes[n] = fw_block_hash(hashes, n * 8, h->header_hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_image *image;
	struct fw_error err;
	uint8_t *block = malloc(size + 1);
	if (!block)
		return 0;
	memcpy(block, data, size);
	forge(block, size);
	if (size >= sizeof(struct fw_block_header))
		size = ((struct fw_block_header *)block)->block_size < size ?
		       ((struct fw_block_header *)block)->block_size : size;
	if (fw_image_open(block, size, &image, &err) == FW_OK) {
		const uint32_t *starts = image->section[FW_SEC_FUNC_STARTS];
		uint32_t n = fw_image_count(image, FW_SEC_FUNC_STARTS, sizeof(*starts));
		for (uint32_t i = 0; i < n && i < 64; i++)
			fuzz_look_up(image, starts[i] + i % 8);
		for (uint32_t at = 0; at < 0x3000; at += 0x41)
			fuzz_look_up(image, at);
		for (uint32_t at = 0x10000; at; at <<= 1)
			fuzz_look_up(image, at);
		fuzz_look_up(image, UINT32_MAX);
		(void)!fw_image_check(image, &err);
		fw_image_destroy(image);
	}
	free(block);
	return 0;
}
