#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <libdeflate.h>
#include <zstd.h>

#include "symfiles/elf_object.h"

enum {
	DEFLATE_RATIO = 1032,		// best case of DEFLATE: 258 bytes from 2 bits
	ZSTD_RATIO = (128 << 10),	// a block of 3 or more bytes holds 128 KiB at most
	LARGE_PAGE = 2 << 20,
	ZDEBUG_HEADER = 12,		// "ZLIB" and the size as a big-endian 64-bit number
};
#ifndef ELFCOMPRESS_ZSTD
enum { ELFCOMPRESS_ZSTD = 2 };		// gABI, "Compression header"; newer than some <elf.h>
#endif

enum method { STORED, ZLIB, ZSTD, UNKNOWN };

struct packed {
	enum method method;
	uint64_t size;			// once unpacked
	struct fw_bytes data;
};

/*
 * Linkers that join compressed inputs leave one stream after another, so the
 * streams are run through until the stated size is there.
 */
static bool inflate_into(const struct packed *p, uint8_t *out)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint64_t in_at = 0, out_at = 0;
	if (d == NULL)
		return false;
	while (out_at < p->size) {
		size_t in = 0, got = 0;
		if (libdeflate_zlib_decompress_ex(d, p->data.data + in_at, p->data.size - in_at,
						  out + out_at, p->size - out_at, &in, &got) !=
		    LIBDEFLATE_SUCCESS || in == 0)
			break;
		in_at += in;
		out_at += got;
	}
	libdeflate_free_decompressor(d);
	return out_at == p->size;
}

static bool unpack(struct fw_elf *elf, const struct packed *p, struct fw_pages *ret)
{
	struct fw_pages out = { 0 };
	const uint64_t ratio = p->method == ZSTD ? ZSTD_RATIO : DEFLATE_RATIO;
	if (p->method == UNKNOWN || p->size / ratio > p->data.size ||
	    p->size > FW_MAX_ELF_UNPACKED - elf->unpacked_bytes ||
	    !fw_pages_reserve(&out, p->size))
		return false;
	bool ok;
	fw_pages_expect_all(&out);
	if (p->method == ZSTD)
		ok = ZSTD_decompress(out.data, p->size, p->data.data, p->data.size) == p->size;
	else
		ok = inflate_into(p, out.data);
	if (!ok) {
		fw_pages_deinit(&out);
		return false;
	}
	out.size = p->size;
	elf->unpacked_bytes += p->size;
	*ret = out;
	return true;
}

// Elf32_Chdr: type, size, alignment; Elf64_Chdr: type, reserved, size, alignment.
static bool chdr(const struct fw_elf *elf, const struct fw_bytes *raw, struct packed *ret)
{
	uint32_t type, size32 = 0;
	uint64_t size = 0, header = elf->wide ? 24 : 12;
	if (!fw_bytes_u32(raw, 0, &type) ||
	    !(elf->wide ? fw_bytes_u64(raw, 8, &size) : fw_bytes_u32(raw, 4, &size32)) ||
	    !fw_bytes_has(raw, 0, header))
		return false;
	ret->size = elf->wide ? size : size32;
	ret->method = type == ELFCOMPRESS_ZLIB ? ZLIB : type == ELFCOMPRESS_ZSTD ? ZSTD : UNKNOWN;
	return fw_bytes_range(raw, header, raw->size - header, &ret->data);
}

static bool zdebug(const struct fw_bytes *raw, struct packed *ret)
{
	if (raw->size < ZDEBUG_HEADER || memcmp(raw->data, "ZLIB", 4) != 0)
		return false;
	ret->size = 0;
	for (unsigned i = 4; i < ZDEBUG_HEADER; i++)
		ret->size = ret->size << 8 | raw->data[i];
	ret->method = ZLIB;
	return fw_bytes_range(raw, ZDEBUG_HEADER, raw->size - ZDEBUG_HEADER, &ret->data);
}

static bool starts_with(struct fw_str name, const char *prefix)
{
	return name.n >= strlen(prefix) && memcmp(name.s, prefix, strlen(prefix)) == 0;
}

static bool name_is(struct fw_str name, const char *plain)
{
	return name.n == strlen(plain) && memcmp(name.s, plain, name.n) == 0;
}

bool fw_elf_is_zdebug(struct fw_str name, const char *plain)
{
	return plain[0] == '.' && starts_with(name, ".z") &&
	       name_is((struct fw_str){ name.s + 2, name.n - 2 }, plain + 1);
}

static bool kept_bytes(const struct fw_elf *elf, const struct fw_elf_unpacked *u,
		       struct fw_bytes *ret)
{
	if (u->bad)
		return false;
	*ret = (struct fw_bytes){ u->pages.data, u->pages.size, elf->bytes.swap };
	return true;
}

bool fw_elf_section_bytes(struct fw_elf *elf, size_t i, struct fw_bytes *ret)
{
	const struct fw_elf_shdr *sh = &elf->sections.data[i];
	struct fw_elf_unpacked u = { .section = (uint32_t)i };
	struct packed p = { .method = STORED };
	struct fw_bytes raw;
	if (sh->type == SHT_NOBITS || sh->type == SHT_NULL ||
	    !fw_bytes_range(&elf->bytes, sh->offset, sh->size, &raw))
		return false;
	bool old = starts_with(sh->name, ".zdebug_");
	if (!(sh->flags & SHF_COMPRESSED) && !old) {
		*ret = raw;
		return true;
	}
	for (size_t k = 0; k < elf->unpacked.count; k++) {
		if (elf->unpacked.data[k].section == i)
			return kept_bytes(elf, &elf->unpacked.data[k], ret);
	}
	bool known = sh->flags & SHF_COMPRESSED ? chdr(elf, &raw, &p) : zdebug(&raw, &p);
	u.bad = !known || !unpack(elf, &p, &u.pages) ||
		(elf->type == ET_REL && !fw_elf_relocate(elf, i, u.pages.data, u.pages.size));
	fw_file_cool(&elf->file, sh->offset, sh->offset + sh->size);
	if (!fw_vec_push(&elf->unpacked, u)) {
		fw_pages_deinit(&u.pages);
		return false;
	}
	return kept_bytes(elf, &u, ret);
}

void fw_elf_release(struct fw_elf *elf, const struct fw_bytes *b, uint64_t upto)
{
	if (b->data >= elf->file.data && b->data < elf->file.data + elf->file.size) {
		uint64_t at = (uint64_t)(b->data - elf->file.data);
		fw_file_cool(&elf->file, at, at + upto);
		return;
	}
	// whole large pages: splitting one costs more than it gives
	uintptr_t start = (uintptr_t)b->data, end = (start + upto) & ~(uintptr_t)(LARGE_PAGE - 1);
	for (size_t i = 0; i < elf->unpacked.count; i++)
		if (elf->unpacked.data[i].pages.data == b->data && start < end)
			madvise((void *)start, end - start, MADV_DONTNEED);
}

uint64_t fw_elf_section_size(const struct fw_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		bool old = fw_elf_is_zdebug(sh->name, name);
		struct packed p = { .size = sh->size };
		struct fw_bytes raw;
		if ((!old && !name_is(sh->name, name)) || sh->type == SHT_NOBITS ||
		    !fw_bytes_range(&elf->bytes, sh->offset, sh->size, &raw))
			continue;
		if (sh->flags & SHF_COMPRESSED ? !chdr(elf, &raw, &p) : old && !zdebug(&raw, &p))
			continue;
		return p.size;
	}
	return 0;
}

bool fw_elf_section(struct fw_elf *elf, const char *name, struct fw_bytes *ret,
		    uint64_t *ret_address)
{
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		if (!name_is(sh->name, name) && !fw_elf_is_zdebug(sh->name, name))
			continue;
		if (!fw_elf_section_bytes(elf, i, ret))
			continue;
		if (ret_address != NULL)
			*ret_address = sh->address;
		return true;
	}
	return false;
}

enum fw_code fw_elf_stored(const struct fw_elf *elf, const char *name, struct fw_bytes *ret,
			   uint64_t *ret_address)
{
	enum fw_code rc = FW_NOT_FOUND;
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		const bool old = fw_elf_is_zdebug(sh->name, name);
		if ((!old && !name_is(sh->name, name)) || sh->type == SHT_NOBITS ||
		    sh->type == SHT_NULL)
			continue;
		if (old || sh->flags & SHF_COMPRESSED) {
			rc = FW_UNSUPPORTED;
			continue;
		}
		if (!fw_bytes_range(&elf->bytes, sh->offset, sh->size, ret))
			continue;
		*ret_address = sh->address;
		return FW_OK;
	}
	return rc;
}

void fw_elf_drop_unpacked(struct fw_elf *elf)
{
	for (size_t i = 0; i < elf->unpacked.count; i++)
		fw_pages_deinit(&elf->unpacked.data[i].pages);
	fw_vec_deinit(&elf->unpacked);
	elf->unpacked_bytes = 0;
}

bool fw_elf_mapped(const struct fw_elf *elf, uint64_t address, struct fw_bytes *ret)
{
	for (size_t i = 0; i < elf->loads.count; i++) {
		const struct fw_elf_load *l = &elf->loads.data[i];
		if (address >= l->address && address < l->end)
			return fw_bytes_range(&elf->bytes, l->file_offset + (address - l->address),
					      l->end - address, ret);
	}
	return false;
}

bool fw_elf_eh_frame_hdr(const struct fw_elf *elf, struct fw_bytes *ret, uint64_t *ret_address)
{
	struct fw_bytes b;
	if (elf->eh_frame_hdr_size == 0 || !fw_elf_mapped(elf, elf->eh_frame_hdr, &b))
		return false;
	uint64_t size = b.size < elf->eh_frame_hdr_size ? b.size : elf->eh_frame_hdr_size;
	if (!fw_bytes_range(&b, 0, size, ret))
		return false;
	if (ret_address != NULL)
		*ret_address = elf->eh_frame_hdr;
	return true;
}
