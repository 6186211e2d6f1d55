#include "symfiles/elf_file.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"

// An executable range that the file has bytes for.
struct segment {
	uint64_t start, end;	// offsets from the module's base
	uint64_t file_offset;
};

struct fw_elf {
	struct fw_file file;
	struct fw_ident debug_id, code_id;
	FW_VEC(struct segment) code;
	uint64_t base;		// page of the lowest PT_LOAD
	uint64_t entry;		// e_entry; 0: none
	bool own_file;		// file is ours to close
};

enum { PAGE = 4096, XOR_BYTES = 4096, GUID_BYTES = 16 };

struct reader {
	struct fw_elf *self;
	Elf *elf;
	struct fw_bytes bytes;	// the whole file
	unsigned notes_left;
	bool have_id;
};

static bool other_order(const uint8_t *ident)
{
	return (ident[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/*
 * Build id among the notes of one PT_NOTE or SHT_NOTE (System V gABI, "Note
 * Section"): three words, name and descriptor each padded to the alignment.
 */
static bool find_build_id(const struct fw_bytes *file, uint64_t offset, uint64_t size,
			  uint64_t align, unsigned *notes_left, struct fw_bytes *ret)
{
	const uint64_t mask = align == 8 ? 7 : 3;
	struct fw_bytes notes;
	if (offset > file->size)
		return false;
	if (size > file->size - offset)
		size = file->size - offset;
	if (!fw_bytes_range(file, offset, size, &notes))
		return false;
	for (uint64_t at = 0; *notes_left > 0; --*notes_left) {
		uint32_t name_size, id_size, type;
		if (!fw_bytes_u32(&notes, at, &name_size) ||
		    !fw_bytes_u32(&notes, at + 4, &id_size) ||
		    !fw_bytes_u32(&notes, at + 8, &type))
			return false;
		uint64_t name = at + 12;
		uint64_t id = (name + name_size + mask) & ~mask;
		if (!fw_bytes_has(&notes, name, name_size) || !fw_bytes_has(&notes, id, id_size))
			return false;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && id_size > 0 &&
		    memcmp(notes.data + name, "GNU", 4) == 0)
			return fw_bytes_range(&notes, id, id_size, ret);
		at = (id + id_size + mask) & ~mask;
	}
	return false;
}

static void set_id(struct reader *r, const uint8_t *id, uint64_t n)
{
	fw_ident_from_build_id(&r->self->debug_id, id, n);
	if (r->self->debug_id.n == 0)	// all zero counts as none
		return;
	fw_ident_code_from_build_id(&r->self->code_id, id, n);
	r->have_id = true;
}

static void read_notes(struct reader *r, uint64_t offset, uint64_t size, uint64_t align)
{
	struct fw_bytes id;
	if (!r->have_id && find_build_id(&r->bytes, offset, size, align, &r->notes_left, &id))
		set_id(r, id.data, id.size);
}

static bool add_segment(struct reader *r, const GElf_Phdr *ph)
{
	struct segment s = { .start = ph->p_vaddr - r->self->base, .file_offset = ph->p_offset };
	uint64_t size = ph->p_filesz;
	if (s.file_offset >= r->bytes.size)
		return true;
	if (size > r->bytes.size - s.file_offset)
		size = r->bytes.size - s.file_offset;
	if (size == 0 || __builtin_add_overflow(s.start, size, &s.end))
		return true;
	return fw_vec_push(&r->self->code, s);
}

static bool read_segments(struct reader *r)
{
	size_t count = 0;
	GElf_Phdr ph;
	if (elf_getphdrnum(r->elf, &count) != 0)
		count = 0;
	if (count > FW_MAX_ELF_HEADERS)
		count = FW_MAX_ELF_HEADERS;
	uint64_t lowest = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(r->elf, (int)i, &ph) == NULL)
			continue;
		if (ph.p_type == PT_LOAD && ph.p_vaddr < lowest)
			lowest = ph.p_vaddr;
		if (ph.p_type == PT_NOTE)
			read_notes(r, ph.p_offset, ph.p_filesz, ph.p_align);
	}
	r->self->base = lowest == UINT64_MAX ? 0 : lowest & ~(uint64_t)(PAGE - 1);
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(r->elf, (int)i, &ph) != NULL && ph.p_type == PT_LOAD &&
		    (ph.p_flags & PF_X) && !add_segment(r, &ph))
			return false;
	}
	return true;
}

// A debug file keeps its program headers although its code is elsewhere: what
// lies at p_offset there is something else, and must not pass for code.
static void drop_absent_code(struct reader *r, const GElf_Shdr *sh)
{
	uint64_t start = sh->sh_addr - r->self->base;
	size_t kept = 0;
	for (size_t i = 0; i < r->self->code.count; i++) {
		struct segment s = r->self->code.data[i];
		if (start >= s.start && start < s.end)
			continue;
		r->self->code.data[kept++] = s;
	}
	r->self->code.count = kept;
}

static bool name_is_text(const struct reader *r, const GElf_Shdr *names, uint32_t name)
{
	uint64_t at;
	return names->sh_type == SHT_STRTAB && name < names->sh_size &&
	       !__builtin_add_overflow(names->sh_offset, (uint64_t)name, &at) &&
	       fw_bytes_has(&r->bytes, at, sizeof(".text")) &&
	       memcmp(r->bytes.data + at, ".text", sizeof(".text")) == 0;
}

/*
 * Breakpad's id for a file without build id (src/common/linux/file_id.cc,
 * HashElfTextSection): the first 4 KiB of .text, XORed in 16-byte pieces. The
 * last piece of a shorter .text runs on into whatever follows it in the file.
 */
static void hash_text(struct reader *r, const GElf_Shdr *text)
{
	uint8_t id[GUID_BYTES] = { 0 };
	uint64_t size = text->sh_size < XOR_BYTES ? text->sh_size : XOR_BYTES;
	for (uint64_t i = 0; i < size; i += GUID_BYTES) {
		for (unsigned k = 0; k < GUID_BYTES; k++) {
			uint64_t at;
			uint8_t byte = 0;
			if (!__builtin_add_overflow(text->sh_offset, i + k, &at) &&
			    fw_bytes_u8(&r->bytes, at, &byte))
				id[k] ^= byte;
		}
	}
	set_id(r, id, sizeof(id));
}

static void read_sections(struct reader *r)
{
	size_t count = 0, names_index = 0;
	GElf_Shdr sh, names = { 0 }, text = { 0 };
	if (elf_getshdrnum(r->elf, &count) != 0)
		return;
	if (count > FW_MAX_ELF_HEADERS)
		count = FW_MAX_ELF_HEADERS;
	if (elf_getshdrstrndx(r->elf, &names_index) == 0) {
		Elf_Scn *scn = elf_getscn(r->elf, names_index);
		if (scn == NULL || gelf_getshdr(scn, &names) == NULL)
			names = (GElf_Shdr){ 0 };
	}
	for (size_t i = 1; i < count; i++) {
		Elf_Scn *scn = elf_getscn(r->elf, i);
		if (scn == NULL || gelf_getshdr(scn, &sh) == NULL)
			continue;
		if (sh.sh_type == SHT_NOTE)
			read_notes(r, sh.sh_offset, sh.sh_size, sh.sh_addralign);
		if (sh.sh_type == SHT_NOBITS && (sh.sh_flags & SHF_ALLOC) &&
		    (sh.sh_flags & SHF_EXECINSTR))
			drop_absent_code(r, &sh);
		if (sh.sh_type == SHT_PROGBITS && text.sh_size == 0 &&
		    name_is_text(r, &names, sh.sh_name))
			text = sh;
	}
	if (!r->have_id && text.sh_size > 0)
		hash_text(r, &text);
}

static enum fw_code read_elf(struct fw_elf *self, struct fw_error *err)
{
	const struct fw_file *f = &self->file;
	if (f->size < SELFMAG || memcmp(f->data, ELFMAG, SELFMAG) != 0)
		return fw_fail(err, FW_UNSUPPORTED, NULL, "not an ELF file");
	if (elf_version(EV_CURRENT) == EV_NONE)
		return fw_fail(err, FW_UNSUPPORTED, NULL, "libelf is too old");
	// The library takes a writable pointer and does not write through it.
	struct reader r = {
		.self = self,
		.elf = elf_memory((char *)f->data, f->size),
		.notes_left = FW_MAX_ELF_NOTES,
	};
	if (r.elf == NULL)
		return fw_fail(err, FW_MALFORMED, "offset 0x0", "broken ELF header");
	GElf_Ehdr eh;
	enum fw_code code = FW_OK;
	r.bytes = (struct fw_bytes){ f->data, f->size,
				     f->size >= EI_NIDENT && other_order(f->data) };
	if (elf_kind(r.elf) != ELF_K_ELF || gelf_getehdr(r.elf, &eh) == NULL) {
		code = fw_fail(err, FW_MALFORMED, "offset 0x0", "broken ELF header");
	} else if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN) {
		code = fw_fail(err, FW_UNSUPPORTED, NULL,
			       "an ELF file, but neither a program nor a library");
	} else if (!read_segments(&r)) {
		code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	} else {
		self->entry = eh.e_entry;
		read_sections(&r);
	}
	elf_end(r.elf);
	return code;
}

static enum fw_code finish_open(struct fw_elf *self, struct fw_elf **ret, struct fw_error *err)
{
	enum fw_code code = read_elf(self, err);
	if (code != FW_OK) {
		fw_elf_close(self);
		return code;
	}
	*ret = self;
	return FW_OK;
}

enum fw_code fw_elf_open(const char *path, struct fw_elf **ret, struct fw_error *err)
{
	struct fw_elf *self = calloc(1, sizeof(*self));
	if (self == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	enum fw_code code = fw_file_open(&self->file, path, FW_MAX_INPUT, err);
	if (code != FW_OK) {
		free(self);
		return code;
	}
	self->own_file = true;
	return finish_open(self, ret, err);
}

enum fw_code fw_elf_open_bytes(const void *data, uint64_t size, struct fw_elf **ret,
			       struct fw_error *err)
{
	struct fw_elf *self = calloc(1, sizeof(*self));
	if (self == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	self->file.data = data;
	self->file.size = size;
	return finish_open(self, ret, err);
}

void fw_elf_close(struct fw_elf *elf)
{
	if (elf == NULL)
		return;
	fw_vec_deinit(&elf->code);
	if (elf->own_file)
		fw_file_close(&elf->file);
	free(elf);
}

const struct fw_ident *fw_elf_debug_id(const struct fw_elf *elf)
{
	return &elf->debug_id;
}

const struct fw_ident *fw_elf_code_id(const struct fw_elf *elf)
{
	return &elf->code_id;
}

bool fw_elf_entry(const struct fw_elf *elf, uint64_t *ret)
{
	if (elf->entry == 0 || elf->entry < elf->base)
		return false;
	*ret = elf->entry - elf->base;
	return true;
}

bool fw_elf_has_code(const struct fw_elf *elf)
{
	return elf->code.count > 0;
}

bool fw_elf_code(const struct fw_elf *elf, uint64_t offset, uint8_t *out, uint64_t n)
{
	for (size_t i = 0; i < elf->code.count; i++) {
		const struct segment *s = &elf->code.data[i];
		if (offset < s->start || offset >= s->end)
			continue;
		if (n > s->end - offset)
			return false;
		memcpy(out, elf->file.data + s->file_offset + (offset - s->start), n);
		return true;
	}
	return false;
}

/*
 * Notes that lie in the first bytes of the file, read by hand: an index of a
 * folder of large libraries would otherwise read them whole. Offsets: gABI,
 * "ELF Header" and "Program Header", for both classes.
 */
static bool head_build_id(const struct fw_bytes *b, bool wide, struct fw_bytes *ret)
{
	uint64_t phoff = 0, size = 0, offset = 0, align = 0;
	uint32_t phoff32 = 0, type, v32[3] = { 0 };
	uint16_t entry = 0, count = 0;
	unsigned notes_left = FW_MAX_ELF_NOTES;
	if (wide ? !fw_bytes_u64(b, 32, &phoff) : !fw_bytes_u32(b, 28, &phoff32))
		return false;
	if (!wide)
		phoff = phoff32;
	if (!fw_bytes_u16(b, wide ? 54 : 42, &entry) || !fw_bytes_u16(b, wide ? 56 : 44, &count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at;
		if (__builtin_add_overflow(phoff, i * entry, &at) ||
		    !fw_bytes_has(b, at, wide ? 56 : 32) || !fw_bytes_u32(b, at, &type))
			return false;
		if (type != PT_NOTE)
			continue;
		bool ok = wide ? fw_bytes_u64(b, at + 8, &offset) &&
				 fw_bytes_u64(b, at + 32, &size) && fw_bytes_u64(b, at + 48, &align)
			       : fw_bytes_u32(b, at + 4, &v32[0]) &&
				 fw_bytes_u32(b, at + 16, &v32[1]) &&
				 fw_bytes_u32(b, at + 28, &v32[2]);
		if (ok && !wide) {
			offset = v32[0];
			size = v32[1];
			align = v32[2];
		}
		if (ok && fw_bytes_has(b, offset, size) &&
		    find_build_id(b, offset, size, align, &notes_left, ret))
			return true;
	}
	return false;
}

bool fw_elf_peek_id(const void *head, size_t n, const char *path, struct fw_ident *ret)
{
	const uint8_t *bytes = head;
	struct fw_bytes id, b = { bytes, n, n >= EI_NIDENT && other_order(bytes) };
	uint16_t type;
	struct fw_elf *elf;
	if (n < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
	    !fw_bytes_u16(&b, EI_NIDENT, &type) || (type != ET_EXEC && type != ET_DYN))
		return false;
	if (head_build_id(&b, bytes[EI_CLASS] == ELFCLASS64, &id)) {
		fw_ident_from_build_id(ret, id.data, id.size);
		if (ret->n > 0)
			return true;
	}
	if (fw_elf_open(path, &elf, NULL) != FW_OK)
		return false;
	*ret = elf->debug_id;
	fw_elf_close(elf);
	return ret->n > 0;
}
