#include "lib/snapshot/core.h"

enum { PAGE = 4096, HEADER32 = 52, HEADER64 = 64, PHDR32 = 32, PHDR64 = 56 };

static bool is_wide(const struct fw_snapshot *s)
{
	return s->cpu->word_size == 8;
}

static bool take(struct core_budget *budget)
{
	if (budget->steps == 0)
		return false;
	budget->steps--;
	return true;
}

bool core_memory_word(const struct fw_snapshot *s, uint64_t address, uint64_t *ret)
{
	struct fw_memory_view view;
	fw_memory_view_init(&view, &s->memory);
	return fw_memory_read(&view, address & s->cpu->word_mask, s->cpu->word_size, ret);
}

struct fw_str core_string(const struct fw_snapshot *s, uint64_t address)
{
	const struct fw_segment *segment = fw_memory_find(&s->memory, address);
	if (!segment)
		return (struct fw_str){ NULL, 0 };
	uint64_t offset = address - segment->start, n = segment->size - offset;
	const char *text = (const char *)segment->data + offset;
	const char *end = memchr(text, 0, n < FW_MAX_NAME ? n : FW_MAX_NAME);
	if (!end || end == text)
		return (struct fw_str){ NULL, 0 };
	return (struct fw_str){ text, (size_t)(end - text) };
}

// The build id among the notes at [address, address + size) of the capture's memory.
static bool read_build_id(const struct fw_snapshot *s, struct core_budget *budget,
			  uint64_t address, const struct core_phdr *h, struct core_image *ret)
{
	enum { MOST = 64 };
	struct core_note note;
	const struct fw_segment *segment = fw_memory_find(&s->memory, address);
	if (!segment)
		return false;
	uint64_t offset = address - segment->start, rest = segment->size - offset;
	struct fw_bytes b = {
		segment->data + offset, h->filesz < rest ? h->filesz : rest, s->memory.swap,
	};
	for (uint64_t at = 0; take(budget) &&
			      core_next_note(&b, h->align == 8 ? 8 : 4, &at, &note);) {
		if (note.type != NT_GNU_BUILD_ID || note.owner.n != 3 ||
		    memcmp(note.owner.s, "GNU", 3) != 0)
			continue;
		uint64_t n = note.desc.size < MOST ? note.desc.size : MOST;
		fw_ident_from_build_id(&ret->debug_id, note.desc.data, n);
		fw_ident_code_from_build_id(&ret->code_id, note.desc.data, n);
		return true;
	}
	return false;
}

/** The ELF header at an address, checked. */
struct header { uint64_t entry, phoff; uint32_t phnum, phentsize; bool wide, swap; };

static bool read_header(const struct fw_snapshot *s, uint64_t address, struct header *ret)
{
	uint8_t bytes[HEADER64] = { 0 };
	if (!fw_memory_bytes(&s->memory, address, bytes, HEADER32) ||
	    memcmp(bytes, "\177ELF", 4) != 0 || (bytes[4] != 1 && bytes[4] != 2))
		return false;
	bool wide = bytes[4] == 2;
	if (wide && !fw_memory_bytes(&s->memory, address, bytes, HEADER64))
		return false;
	struct fw_bytes b = { bytes, sizeof(bytes), s->memory.swap };
	uint16_t type = core_u16(&b, 16);
	if (bytes[5] != (s->big_endian ? 2 : 1) || (type != ET_EXEC && type != ET_DYN))
		return false;
	ret->wide = wide;
	ret->swap = s->memory.swap;
	ret->entry = core_word(&b, wide, 24);
	ret->phoff = core_word(&b, wide, wide ? 32 : 28);
	ret->phentsize = core_u16(&b, wide ? 54 : 42);
	ret->phnum = core_u16(&b, wide ? 56 : 44);
	return ret->phentsize >= (wide ? PHDR64 : PHDR32) && ret->phnum != PN_XNUM;
}

static bool read_phdr(const struct fw_snapshot *s, struct core_budget *budget, uint64_t address,
		      const struct header *header, uint32_t i, struct core_phdr *ret)
{
	uint8_t bytes[PHDR64];
	uint64_t at = address + header->phoff + (uint64_t)i * header->phentsize;
	struct fw_bytes b = { bytes, header->wide ? PHDR64 : PHDR32, header->swap };
	return take(budget) && fw_memory_bytes(&s->memory, at, bytes, b.size) &&
	       core_phdr(&b, header->wide, 0, ret);
}

// Where an image lies whose header is read at @p copy and belongs at @p address.
static bool read_extent(const struct fw_snapshot *s, struct core_budget *budget, uint64_t copy,
			uint64_t address, const struct header *header, struct core_image *ret)
{
	struct core_phdr h;
	uint64_t mask = s->cpu->word_mask, low = UINT64_MAX, high = 0;
	bool have_bias = false;
	*ret = (struct core_image){ 0 };
	for (uint32_t i = 0; i < header->phnum; i++) {
		if (!read_phdr(s, budget, copy, header, i, &h) || h.type != PT_LOAD ||
		    h.memsz == 0 || h.memsz - 1 > mask - h.vaddr)
			continue;
		if (h.vaddr < low)
			low = h.vaddr;
		if (h.vaddr + (h.memsz - 1) > high)
			high = h.vaddr + (h.memsz - 1);
		// The segment that holds the header tells where the file lies.
		if (h.offset < PAGE && !have_bias) {
			have_bias = true;
			ret->bias = (address - (h.vaddr - h.offset)) & mask;
		}
	}
	if (!have_bias)
		return false;
	ret->base = (ret->bias + low) & mask & ~(uint64_t)(PAGE - 1);
	uint64_t last = (ret->bias + high) & mask;
	if (last < ret->base || last > mask - PAGE)
		return false;
	ret->end = (last | (PAGE - 1)) + 1;
	return true;
}

bool core_image_read(const struct fw_snapshot *s, struct core_budget *budget, uint64_t address,
		     struct core_image *ret)
{
	struct header header;
	struct core_phdr h;
	uint64_t mask = s->cpu->word_mask;
	if (!read_header(s, address, &header) ||
	    !read_extent(s, budget, address, address, &header, ret))
		return false;
	for (uint32_t i = 0; i < header.phnum; i++) {
		if (!read_phdr(s, budget, address, &header, i, &h))
			continue;
		if (h.type == PT_DYNAMIC && !ret->dynamic)
			ret->dynamic = (ret->bias + h.vaddr) & mask;
		if (h.type == PT_INTERP)
			ret->interpreter = core_string(s, (ret->bias + h.vaddr) & mask);
		if (h.type == PT_NOTE && !ret->code_id.n)
			read_build_id(s, budget, (ret->bias + h.vaddr) & mask, &h, ret);
	}
	return true;
}

bool core_image_copy(const struct fw_snapshot *s, struct core_budget *budget, uint64_t address,
		     struct core_image *ret)
{
	struct header header;
	struct core_phdr h;
	uint64_t mask = s->cpu->word_mask;
	if (!s->have_entry || !s->phdr || !read_header(s, address, &header) ||
	    header.phnum != s->phnum ||
	    !read_extent(s, budget, address, (s->phdr - header.phoff) & mask, &header, ret) ||
	    ((header.entry + ret->bias) & mask) != s->entry)
		return false;
	for (uint32_t i = 0; i < header.phnum; i++) {
		if (!read_phdr(s, budget, address, &header, i, &h))
			continue;
		if (h.type == PT_DYNAMIC && !ret->dynamic)
			ret->dynamic = (ret->bias + h.vaddr) & mask;
		// By the place in the file: only its first page is copied.
		if (h.type == PT_INTERP && h.offset < PAGE)
			ret->interpreter = core_string(s, address + h.offset);
		if (h.type == PT_NOTE && !ret->code_id.n && h.offset < PAGE)
			read_build_id(s, budget, address + h.offset, &h, ret);
	}
	return true;
}

bool core_dynamic_tag(const struct fw_snapshot *s, struct core_budget *budget, uint64_t dynamic,
		      uint64_t tag, uint64_t *ret)
{
	uint64_t word = is_wide(s) ? 8 : 4, found, value;
	for (uint64_t at = dynamic; take(budget); at += 2 * word) {
		if (!core_memory_word(s, at, &found) || !core_memory_word(s, at + word, &value) ||
		    found == DT_NULL)
			return false;
		if (found == tag) {
			*ret = value;
			return true;
		}
	}
	return false;
}

struct fw_str core_soname(const struct fw_snapshot *s, struct core_budget *budget,
			  const struct core_image *image)
{
	uint64_t strings, offset;
	if (!image->dynamic ||
	    !core_dynamic_tag(s, budget, image->dynamic, DT_SONAME, &offset) ||
	    !core_dynamic_tag(s, budget, image->dynamic, DT_STRTAB, &strings))
		return (struct fw_str){ NULL, 0 };
	// The dynamic linker relocates its own copy of the table; the vDSO's stays as linked.
	if (strings < image->base)
		strings += image->bias;
	return core_string(s, (strings + offset) & s->cpu->word_mask);
}
