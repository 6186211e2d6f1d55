#include <stddef.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/out.h"
#include "lib/image/block.h"
#include "lib/image/builder.h"

enum { CHUNK = 1 << FW_CHUNK_SHIFT };

/** Writes the block front to back and hashes each chunk as it goes by. */
struct writer {
	struct fw_out out;
	FW_VEC(uint64_t) hashes;
	uint64_t at;			// bytes written
	uint8_t partial[CHUNK];		// of the current chunk, when it is in several pieces
};

static void put(struct writer *w, const void *data, uint64_t n)
{
	const uint8_t *p = data;
	fw_out_write(&w->out, data, n);
	while (n) {
		uint64_t in_chunk = w->at % CHUNK, take = CHUNK - in_chunk;
		if (take > n)
			take = n;
		const uint8_t *whole = p;
		if (take < CHUNK) {
			memcpy(w->partial + in_chunk, p, take);
			whole = w->partial;
		}
		w->at += take;
		p += take;
		n -= take;
		if (w->at % CHUNK == 0)
			w->hashes.data[w->hashes.count++] = fw_block_hash(whole, CHUNK, 0);
	}
}

static void pad(struct writer *w)
{
	static const uint8_t zeros[FW_BLOCK_ALIGN];
	put(w, zeros, -w->at % FW_BLOCK_ALIGN);
}

static uint64_t align(uint64_t offset)
{
	return (offset + FW_BLOCK_ALIGN - 1) & ~(uint64_t)(FW_BLOCK_ALIGN - 1);
}

static void fill_header(struct fw_block_header *h, const struct fw_image *image)
{
	memset(h, 0, sizeof(*h));
	h->magic = FW_BLOCK_MAGIC;
	h->format = FW_IMAGE_FORMAT;
	h->flags = image->cfi.wide ? FW_BLOCK_CFI_WIDE : 0;
	h->base = image->base;
	h->cpu = image->cpu;
	h->num_sections = FW_SEC_COUNT;
	h->debug_id = image->debug_id;
	h->code_id = image->code_id;
	memcpy(h->name, image->name, sizeof(h->name));
	memcpy(h->os, image->os, sizeof(h->os));
	h->diag = image->diag;
	uint64_t at = align(sizeof(*h));
	for (unsigned i = 0; i < FW_SEC_COUNT; i++) {
		h->sections[i] = (struct fw_block_section){ at, image->section_bytes[i] };
		at = align(at + image->section_bytes[i]);
	}
	h->hash_offset = at;
	h->block_size = at + (fw_block_chunks(at) + 1) * sizeof(uint64_t);
	h->header_hash = fw_block_hash(h, offsetof(struct fw_block_header, header_hash), 0);
}

enum fw_code fw_image_write(const struct fw_image *image, int fd, struct fw_error *err)
{
	struct fw_block_header header;
	struct writer w = { .at = 0 };
	enum fw_code code;

	fill_header(&header, image);
	if (!fw_vec_reserve(&w.hashes, fw_block_chunks(header.hash_offset) + 1))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	code = fw_out_init_fd(&w.out, fd, err);
	if (code) {
		fw_vec_deinit(&w.hashes);
		return code;
	}
	put(&w, &header, sizeof(header));
	pad(&w);
	for (unsigned i = 0; i < FW_SEC_COUNT; i++) {
		put(&w, image->section[i], image->section_bytes[i]);
		pad(&w);
	}
	if (w.at % CHUNK)
		w.hashes.data[w.hashes.count++] = fw_block_hash(w.partial, w.at % CHUNK, 0);
	size_t n = w.hashes.count * sizeof(uint64_t);
	w.hashes.data[w.hashes.count] = fw_block_hash(w.hashes.data, n, header.header_hash);
	fw_out_write(&w.out, (const char *)w.hashes.data, n + sizeof(uint64_t));
	code = fw_out_flush(&w.out, err);
	fw_out_deinit(&w.out);
	fw_vec_deinit(&w.hashes);
	return code;
}
