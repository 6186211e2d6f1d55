#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symfiles/elf_internal.h"

/*
 * The search looks at many files to find a few: of each only the headers, the small
 * sections and the notes are read, into zero pages as long as the file.
 */

enum {
	SMALL_FILE = 256 << 10,		// smaller ones are read whole
	FRONT = 64 << 10,		// ELF and program headers, notes as a rule
	SMALL_SECTION = 4096,		// debug links, notes
	SECTION_HEAD = 64,		// headers of compressed sections
	CODE_HEAD = 8192,		// the id of a file without build id is made of it
	MAX_NOTE = 64 << 10,
};

struct head {
	int fd;
	uint8_t *data;
	struct fw_bytes bytes;
	bool wide;
	bool frames;		// and what unwind rules are read from
};

static bool fill(const struct head *h, uint64_t offset, uint64_t n)
{
	if (offset > h->bytes.size)
		return true;		// whoever reads it finds the same
	if (n > h->bytes.size - offset)
		n = h->bytes.size - offset;
	uint64_t got;
	return fw_pread_all(h->fd, h->data + offset, n, offset, &got, NULL) == FW_OK && got == n;
}

static uint64_t word(const struct head *h, uint64_t at)
{
	uint64_t v = 0;
	uint32_t v32 = 0;
	if (h->wide)
		return fw_bytes_u64(&h->bytes, at, &v) ? v : 0;
	return fw_bytes_u32(&h->bytes, at, &v32) ? v32 : 0;
}

static uint16_t half(const struct head *h, uint64_t at)
{
	uint16_t v = 0;
	return fw_bytes_u16(&h->bytes, at, &v) ? v : 0;
}

static uint32_t type_at(const struct head *h, uint64_t at)
{
	uint32_t v = 0;
	return fw_bytes_u32(&h->bytes, at, &v) ? v : 0;
}

/** Notes by program headers, which lie in front. */
static bool fill_segments(const struct head *h)
{
	uint64_t table = word(h, h->wide ? 32 : 28);
	uint64_t entry = half(h, h->wide ? 54 : 42), count = half(h, h->wide ? 56 : 44);
	if (table > FRONT || table + entry * count > FRONT)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = table + i * entry;
		uint64_t size = word(h, at + (h->wide ? 32 : 16));
		if (type_at(h, at) == PT_NOTE &&
		    (size > MAX_NOTE || !fill(h, word(h, at + (h->wide ? 8 : 4)), size)))
			return false;
	}
	return true;
}

/** Is section `name` (of the names section at `names`) read whole for its unwind rules? */
static bool is_frames(const struct head *h, uint64_t names, uint32_t name)
{
	static const char *const wanted[] = { ".eh_frame", ".eh_frame_hdr", ".debug_frame",
					      ".dynamic", ".dynstr" };
	char text[16] = "";
	uint64_t at;
	if (__builtin_add_overflow(names, name, &at) || at >= h->bytes.size)
		return false;
	const uint64_t room = h->bytes.size - at;
	memcpy(text, h->data + at, room < sizeof(text) - 1 ? room : sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (strcmp(text, wanted[i]) == 0)
			return true;
	return false;
}

static bool fill_sections(const struct head *h)
{
	uint64_t table = word(h, h->wide ? 40 : 32);
	uint64_t entry = half(h, h->wide ? 58 : 46), count = half(h, h->wide ? 60 : 48);
	uint64_t names = half(h, h->wide ? 62 : 50);
	if (table == 0)
		return true;
	// more than a half word holds are counted elsewhere: such a file is read whole
	if (count == 0 || entry != (h->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
	    table >= h->bytes.size || !fill(h, table, entry * count))
		return false;
	const uint64_t name_at = table + names * entry;
	const uint64_t names_at = word(h, name_at + (h->wide ? 24 : 16));
	if (h->frames && !fill(h, names_at, word(h, name_at + (h->wide ? 32 : 20))))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = table + i * entry, flags = word(h, at + 8);
		uint32_t type = type_at(h, at + 4);
		uint64_t offset = word(h, at + (h->wide ? 24 : 16));
		uint64_t size = word(h, at + (h->wide ? 32 : 20)), want = SECTION_HEAD;
		if (type == SHT_NOBITS || type == SHT_NULL)
			continue;
		if (flags & SHF_EXECINSTR)
			want = CODE_HEAD;
		if (size <= SMALL_SECTION || i == names || type == SHT_NOTE)
			want = size;
		const bool whole = h->frames && is_frames(h, names_at, type_at(h, at));
		if (whole)
			want = size;
		if ((want > (1 << 20) && !whole) || !fill(h, offset, want))
			return false;
	}
	return true;
}

static bool read_head(struct head *h)
{
	if (!fill(h, 0, FRONT) || memcmp(h->data, ELFMAG, SELFMAG) != 0)
		return false;
	h->wide = h->data[EI_CLASS] == ELFCLASS64;
	h->bytes.swap = (h->data[EI_DATA] == ELFDATA2MSB) !=
			(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	// what a relocatable object says is only there with its relocations
	return !(h->frames && half(h, EI_NIDENT) == ET_REL) && fill_segments(h) &&
	       fill_sections(h);
}

static enum fw_code open_partly(const char *path, bool frames, struct fw_elf **ret,
				struct fw_error *err)
{
	const uint64_t limit = frames ? FW_READ_BELOW : FW_MAX_INPUT;	// mapped from there on
	struct fw_pages pages = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		  st.st_size >= SMALL_FILE && (uint64_t)st.st_size < limit &&
		  fw_pages_reserve(&pages, (uint64_t)st.st_size);
	if (ok) {
		struct head h = { .fd = fd, .data = pages.data, .frames = frames,
				  .bytes = { pages.data, (uint64_t)st.st_size, false } };
		pages.size = h.bytes.size;
		ok = read_head(&h);
	}
	if (fd >= 0)
		close(fd);
	if (ok)
		return fw_elf_open_pages(&pages, ret, err);
	fw_pages_deinit(&pages);
	return fw_elf_open(path, ret, err);
}

enum fw_code fw_elf_open_head(const char *path, struct fw_elf **ret, struct fw_error *err)
{
	return open_partly(path, false, ret, err);
}

enum fw_code fw_elf_open_frames(const char *path, struct fw_elf **ret, struct fw_error *err)
{
	return open_partly(path, true, ret, err);
}
