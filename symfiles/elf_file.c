#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/elf_object.h"

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

bool fw_elf_notes_id(const struct fw_bytes *notes, struct fw_ident *ret)
{
	unsigned left = FW_MAX_ELF_NOTES;
	struct fw_bytes id;
	if (!find_build_id(notes, 0, notes->size, 4, &left, &id))
		return false;
	fw_ident_code_from_build_id(ret, id.data, id.size);
	return ret->n != 0;
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
	r->self->has_build_id |= r->have_id;
}

static bool add_load(struct reader *r, const GElf_Phdr *ph)
{
	struct fw_elf_load l = { .address = ph->p_vaddr, .file_offset = ph->p_offset,
				 .executable = ph->p_flags & PF_X };
	uint64_t size = ph->p_filesz;
	if (l.file_offset >= r->bytes.size)
		return true;
	if (size > r->bytes.size - l.file_offset)
		size = r->bytes.size - l.file_offset;
	if (size == 0 || __builtin_add_overflow(l.address, size, &l.end))
		return true;
	return fw_vec_push(&r->self->loads, l);
}

static void note_phdr(struct reader *r, const GElf_Phdr *ph)
{
	if (ph->p_type == PT_NOTE)
		read_notes(r, ph->p_offset, ph->p_filesz, ph->p_align);
	if (ph->p_type == PT_GNU_EH_FRAME) {
		r->self->eh_frame_hdr = ph->p_vaddr;
		r->self->eh_frame_hdr_size = ph->p_filesz;
	}
	r->self->interpreted |= ph->p_type == PT_INTERP;
	if (ph->p_type == PT_DYNAMIC) {
		r->self->dynamic = ph->p_vaddr;
		r->self->dynamic_size = ph->p_filesz;
	}
}

/**
 * Where the module begins: its lowest PT_LOAD, but none from which its code is out of reach.
 * A kernel (vmlinux) has its per-CPU data linked to 0 and its code 2 GiB below the top.
 */
static uint64_t lowest_load(Elf *elf, size_t count)
{
	uint64_t code = UINT64_MAX, lowest = UINT64_MAX;
	GElf_Phdr ph;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &ph) != NULL && ph.p_type == PT_LOAD &&
		    ph.p_flags & PF_X && ph.p_vaddr < code)
			code = ph.p_vaddr;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &ph) != NULL && ph.p_type == PT_LOAD &&
		    ph.p_vaddr < lowest &&
		    (code == UINT64_MAX || ph.p_vaddr > code || code - ph.p_vaddr <= UINT32_MAX))
			lowest = ph.p_vaddr;
	return lowest;
}

static bool read_segments(struct reader *r)
{
	size_t count = 0;
	GElf_Phdr ph;
	if (elf_getphdrnum(r->elf, &count) != 0)
		count = 0;
	if (count > FW_MAX_ELF_HEADERS)
		count = FW_MAX_ELF_HEADERS;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(r->elf, (int)i, &ph) != NULL)
			note_phdr(r, &ph);
	const uint64_t lowest = lowest_load(r->elf, count);
	r->self->has_base = lowest != UINT64_MAX;
	r->self->base = lowest == UINT64_MAX ? 0 : lowest & ~(uint64_t)(PAGE - 1);
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(r->elf, (int)i, &ph) != NULL && ph.p_type == PT_LOAD &&
		    ph.p_vaddr >= lowest && !add_load(r, &ph))
			return false;
	}
	return true;
}

// A debug file keeps its program headers although its contents are elsewhere: what
// lies at p_offset there is something else, and must not pass for code.
static void drop_absent(struct reader *r, const GElf_Shdr *sh)
{
	size_t kept = 0;
	if (sh->sh_size == 0 || !(sh->sh_flags & SHF_ALLOC) || (sh->sh_flags & SHF_TLS))
		return;
	for (size_t i = 0; i < r->self->loads.count; i++) {
		struct fw_elf_load l = r->self->loads.data[i];
		if (sh->sh_addr >= l.address && sh->sh_addr < l.end)
			continue;
		r->self->loads.data[kept++] = l;
	}
	r->self->loads.count = kept;
}

static struct fw_str section_name(const struct reader *r, const GElf_Shdr *names, uint32_t name)
{
	uint64_t at;
	struct fw_str none = { "", 0 };
	if (names->sh_type != SHT_STRTAB || name >= names->sh_size ||
	    __builtin_add_overflow(names->sh_offset, (uint64_t)name, &at) || at >= r->bytes.size)
		return none;
	const char *s = (const char *)r->bytes.data + at;
	uint64_t most = r->bytes.size - at;
	if (most > names->sh_size - name)
		most = names->sh_size - name;
	const char *end = memchr(s, 0, most);
	return end == NULL ? none : (struct fw_str){ s, (size_t)(end - s) };
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

// What lies behind the file's end is missing: the file was cut short, or its headers lie.
static void need(struct reader *r, uint64_t offset, uint64_t size)
{
	uint64_t end;
	if (__builtin_add_overflow(offset, size, &end))
		end = UINT64_MAX;
	if (end > r->self->needs)
		r->self->needs = end;
	if (end > r->bytes.size && r->self->beyond < UINT32_MAX)
		r->self->beyond++;
}

static bool add_section(struct reader *r, const GElf_Shdr *sh, const GElf_Shdr *names)
{
	struct fw_elf_shdr own = {
		.name = section_name(r, names, sh->sh_name), .type = sh->sh_type,
		.link = sh->sh_link, .info = sh->sh_info, .flags = sh->sh_flags,
		.address = sh->sh_addr, .offset = sh->sh_offset, .size = sh->sh_size,
		.entry_size = sh->sh_entsize, .align = sh->sh_addralign,
	};
	if (sh->sh_type != SHT_NOBITS && sh->sh_type != SHT_NULL)
		need(r, sh->sh_offset, sh->sh_size);
	return fw_vec_push(&r->self->sections, own);
}

static bool is_text(struct fw_str name)
{
	return name.n == 5 && memcmp(name.s, ".text", 5) == 0;
}

static bool read_sections(struct reader *r)
{
	size_t count = 0, names_index = 0;
	GElf_Shdr sh, names = { 0 }, text = { 0 };
	if (elf_getshdrnum(r->elf, &count) != 0)
		return true;
	if (count > FW_MAX_ELF_HEADERS)
		count = FW_MAX_ELF_HEADERS;
	if (elf_getshdrstrndx(r->elf, &names_index) == 0) {
		Elf_Scn *scn = elf_getscn(r->elf, names_index);
		if (scn == NULL || gelf_getshdr(scn, &names) == NULL)
			names = (GElf_Shdr){ 0 };
	}
	if (count > 0 && !fw_vec_reserve(&r->self->sections, count))
		return false;
	for (size_t i = 1; i < count; i++) {
		Elf_Scn *scn = elf_getscn(r->elf, i);
		if (scn == NULL || gelf_getshdr(scn, &sh) == NULL)
			sh = (GElf_Shdr){ 0 };		// numbers of those behind it stay
		if (!add_section(r, &sh, &names))
			return false;
		if (sh.sh_type == SHT_NOTE)
			read_notes(r, sh.sh_offset, sh.sh_size, sh.sh_addralign);
		if (sh.sh_type == SHT_NOBITS)
			drop_absent(r, &sh);
		if (sh.sh_type == SHT_PROGBITS && text.sh_size == 0 &&
		    is_text(r->self->sections.data[i - 1].name))
			text = sh;
	}
	if (!r->have_id && text.sh_size > 0)
		hash_text(r, &text);
	return true;
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
	} else if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN && eh.e_type != ET_REL) {
		code = fw_fail(err, FW_UNSUPPORTED, NULL,
			       "an ELF file, but no program, library or object");
	} else {
		self->bytes = r.bytes;
		self->entry = eh.e_entry;
		self->type = eh.e_type;
		self->machine = eh.e_machine;
		self->wide = f->data[EI_CLASS] == ELFCLASS64;
		if (eh.e_shoff != 0)
			need(&r, eh.e_shoff, (uint64_t)eh.e_shnum * eh.e_shentsize);
		if (!read_segments(&r) || !read_sections(&r) ||
		    (eh.e_type == ET_REL && !fw_elf_lay_out(self)))
			code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	elf_end(r.elf);
	return code;
}

static enum fw_code finish_open(struct fw_elf *self, bool partly, struct fw_elf **ret,
				struct fw_error *err)
{
	enum fw_code code = read_elf(self, err);
	if (code == FW_OK && self->type == ET_REL && !partly)
		code = fw_elf_relocate_all(self, err);
	if (code != FW_OK) {
		fw_elf_close(self);
		return code;
	}
	*ret = self;
	return FW_OK;
}

static enum fw_code no_memory(struct fw_error *err)
{
	return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
}

enum fw_code fw_elf_open(const char *path, struct fw_elf **ret, struct fw_error *err)
{
	struct fw_elf *self = calloc(1, sizeof(*self));
	if (self == NULL)
		return no_memory(err);
	enum fw_code code = fw_file_open(&self->file, path, FW_MAX_INPUT, err);
	if (code != FW_OK) {
		free(self);
		return code;
	}
	self->own_file = true;
	return finish_open(self, false, ret, err);
}

enum fw_code fw_elf_open_fd(int fd, struct fw_elf **ret, struct fw_error *err)
{
	struct fw_elf *self = calloc(1, sizeof(*self));
	if (self == NULL)
		return no_memory(err);
	enum fw_code code = fw_file_map_fd(&self->file, fd, FW_MAX_INPUT, err);
	if (code != FW_OK) {
		free(self);
		return code;
	}
	self->own_file = true;
	return finish_open(self, false, ret, err);
}

void fw_elf_take_pages(struct fw_elf *elf, struct fw_pages *pages)
{
	const char *old = (const char *)elf->file.data;
	for (size_t i = 0; i < elf->sections.count; i++) {
		struct fw_str *name = &elf->sections.data[i].name;
		if (name->n > 0)
			name->s = (const char *)pages->data + (name->s - old);
	}
	if (elf->own_file)
		fw_file_close(&elf->file);
	elf->file = (struct fw_file){ .data = pages->data, .size = pages->size,
				      .map = pages->data, .map_size = pages->capacity };
	elf->own_file = true;
	elf->bytes.data = elf->file.data;
	*pages = (struct fw_pages){ 0 };
}

enum fw_code fw_elf_open_pages(struct fw_pages *pages, struct fw_elf **ret, struct fw_error *err)
{
	struct fw_elf *self = calloc(1, sizeof(*self));
	if (self == NULL) {
		fw_pages_deinit(pages);
		return no_memory(err);
	}
	self->file = (struct fw_file){ .data = pages->data, .size = pages->size,
				       .map = pages->data, .map_size = pages->capacity };
	self->own_file = true;
	*pages = (struct fw_pages){ 0 };
	return finish_open(self, true, ret, err);
}

enum fw_code fw_elf_open_bytes(const void *data, uint64_t size, struct fw_elf **ret,
			       struct fw_error *err)
{
	struct fw_elf *self = calloc(1, sizeof(*self));
	if (self == NULL)
		return no_memory(err);
	self->file.data = data;
	self->file.size = size;
	return finish_open(self, false, ret, err);
}

void fw_elf_close(struct fw_elf *elf)
{
	if (elf == NULL)
		return;
	fw_elf_drop_unpacked(elf);
	fw_vec_deinit(&elf->sections);
	fw_vec_deinit(&elf->loads);
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
	for (size_t i = 0; i < elf->loads.count; i++) {
		if (elf->loads.data[i].executable)
			return true;
	}
	return false;
}

bool fw_elf_code(const struct fw_elf *elf, uint64_t offset, uint8_t *out, uint64_t n)
{
	uint64_t address;
	if (__builtin_add_overflow(elf->base, offset, &address))
		return false;
	for (size_t i = 0; i < elf->loads.count; i++) {
		const struct fw_elf_load *l = &elf->loads.data[i];
		if (!l->executable || address < l->address || address >= l->end)
			continue;
		if (n > l->end - address)
			return false;
		memcpy(out, elf->file.data + l->file_offset + (address - l->address), n);
		return true;
	}
	return false;
}

static enum fw_cpu_id cpu_id(uint16_t machine, bool wide)
{
	switch (machine) {
	case EM_386: return FW_CPU_X86;
	case EM_X86_64: return wide ? FW_CPU_AMD64 : FW_CPU_UNKNOWN;	// x32 is another ABI
	case EM_ARM: return FW_CPU_ARM;
	case EM_AARCH64: return wide ? FW_CPU_ARM64 : FW_CPU_UNKNOWN;
	case EM_PPC: return FW_CPU_PPC;
	case EM_PPC64: return FW_CPU_PPC64;
	case EM_SPARC: case EM_SPARC32PLUS: return FW_CPU_SPARC;
	case EM_MIPS: return wide ? FW_CPU_MIPS64 : FW_CPU_MIPS;
	case EM_RISCV: return wide ? FW_CPU_RISCV64 : FW_CPU_RISCV32;
	case EM_S390: return wide ? FW_CPU_S390X : FW_CPU_UNKNOWN;
	default: return FW_CPU_UNKNOWN;
	}
}

const struct fw_cpu *fw_elf_cpu(const struct fw_elf *elf)
{
	return fw_cpu_get(cpu_id(elf->machine, elf->wide));
}

uint64_t fw_elf_base(const struct fw_elf *elf)
{
	return elf->base;
}

uint64_t fw_elf_shown_base(const struct fw_elf *elf)
{
	return elf->type == ET_REL ? 0 : elf->base;
}

unsigned fw_elf_word_size(const struct fw_elf *elf)
{
	return elf->wide ? 8 : 4;
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
