#include "symfiles/elf_segments.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "symfiles/elf_internal.h"

enum { FIRST_BYTES = 4096, MAX_NOTE = 65536, PAGE = 4096 };

struct head_reader {
	int fd;
	bool wide;
	struct fw_bytes bytes;		// the file's first ones
	uint8_t first[FIRST_BYTES];
	unsigned notes_left;
	uint64_t low, high;		// of the PT_LOADs
};

/** @p n bytes at @p offset, from what was read or read into @p room. */
static bool bytes_at(const struct head_reader *r, uint64_t offset, uint64_t n, uint8_t *room,
		     struct fw_bytes *ret)
{
	if (fw_bytes_range(&r->bytes, offset, n, ret))
		return true;
	if (offset > INT64_MAX - n || pread(r->fd, room, n, (off_t)offset) != (ssize_t)n)
		return false;
	*ret = (struct fw_bytes){ room, n, r->bytes.swap };
	return true;
}

/** A word of the file's class. */
static bool word(const struct head_reader *r, const struct fw_bytes *b, uint64_t at, uint64_t *ret)
{
	uint32_t v;
	if (r->wide)
		return fw_bytes_u64(b, at, ret);
	if (!fw_bytes_u32(b, at, &v))
		return false;
	*ret = v;
	return true;
}

static void read_note(struct head_reader *r, uint64_t offset, uint64_t size, uint64_t align,
		      struct fw_elf_head *head)
{
	struct fw_bytes notes, id;
	if (head->code_id.n != 0 || size > MAX_NOTE)
		return;
	uint8_t *room = malloc(size + 1);
	if (room != NULL && bytes_at(r, offset, size, room, &notes) &&
	    fw_elf_find_build_id(&notes, 0, size, align, &r->notes_left, &id)) {
		fw_ident_from_build_id(&head->debug_id, id.data, id.size);
		fw_ident_code_from_build_id(&head->code_id, id.data, id.size);
	}
	free(room);
}

static void add_load(struct head_reader *r, const struct fw_elf_head_load *l,
		     struct fw_elf_head *head)
{
	uint64_t end;
	if (head->num_loads == FW_MAX_HEAD_LOADS ||
	    __builtin_add_overflow(l->address, l->memory_size, &end) ||
	    __builtin_add_overflow(l->offset, l->file_size, &(uint64_t){ 0 }))
		return;
	if (head->num_loads == 0 || l->address < r->low)
		r->low = l->address;
	if (end > r->high)
		r->high = end;
	head->loads[head->num_loads++] = *l;
}

/** One program header (gABI, "Program Header", both classes). */
static bool read_phdr(struct head_reader *r, const struct fw_bytes *ph, struct fw_elf_head *head)
{
	struct fw_elf_head_load l = { 0 };
	uint32_t type, flags;
	uint64_t align;
	if (!fw_bytes_u32(ph, 0, &type) || !fw_bytes_u32(ph, r->wide ? 4 : 24, &flags) ||
	    !word(r, ph, r->wide ? 8 : 4, &l.offset) || !word(r, ph, r->wide ? 16 : 8, &l.address) ||
	    !word(r, ph, r->wide ? 32 : 16, &l.file_size) ||
	    !word(r, ph, r->wide ? 40 : 20, &l.memory_size) ||
	    !word(r, ph, r->wide ? 48 : 28, &align))
		return false;
	l.executable = flags & PF_X;
	if (type == PT_LOAD)
		add_load(r, &l, head);
	else if (type == PT_NOTE)
		read_note(r, l.offset, l.file_size, align, head);
	else if (type == PT_INTERP)
		head->program = true;
	return true;
}

static bool read_phdrs(struct head_reader *r, struct fw_elf_head *head)
{
	uint64_t phoff;
	uint16_t entry, count;
	if (!word(r, &r->bytes, r->wide ? 32 : 28, &phoff) ||
	    !fw_bytes_u16(&r->bytes, r->wide ? 54 : 42, &entry) ||
	    !fw_bytes_u16(&r->bytes, r->wide ? 56 : 44, &count) || entry < (r->wide ? 56 : 32))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint8_t room[64];
		struct fw_bytes ph;
		uint64_t at;
		if (__builtin_add_overflow(phoff, i * entry, &at) ||
		    !bytes_at(r, at, r->wide ? 56 : 32, room, &ph) || !read_phdr(r, &ph, head))
			return false;
	}
	return head->num_loads != 0;
}

static bool read_head(struct head_reader *r, struct fw_elf_head *head)
{
	uint16_t type, machine;
	ssize_t n = pread(r->fd, r->first, sizeof(r->first), 0);
	if (n < EI_NIDENT || memcmp(r->first, ELFMAG, SELFMAG) != 0 ||
	    (r->first[EI_DATA] != ELFDATA2LSB && r->first[EI_DATA] != ELFDATA2MSB))
		return false;
	bool big = r->first[EI_DATA] == ELFDATA2MSB;
	r->bytes = (struct fw_bytes){ r->first, (uint64_t)n,
				      big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) };
	r->wide = r->first[EI_CLASS] == ELFCLASS64;
	if (!fw_bytes_u16(&r->bytes, EI_NIDENT, &type) ||
	    !fw_bytes_u16(&r->bytes, EI_NIDENT + 2, &machine) ||
	    (type != ET_EXEC && type != ET_DYN) || !word(r, &r->bytes, 24, &head->entry))
		return false;
	head->cpu = fw_elf_cpu_of(machine, r->wide);
	head->fixed = head->program = type == ET_EXEC;
	if (!read_phdrs(r, head))
		return false;
	head->base = r->low & ~(uint64_t)(PAGE - 1);
	head->span = r->high - head->base;
	return true;
}

bool fw_elf_head_read(const char *path, struct fw_elf_head *ret)
{
	struct head_reader r = { .notes_left = FW_MAX_ELF_NOTES };
	struct stat st;
	*ret = (struct fw_elf_head){ 0 };
	r.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (r.fd < 0)
		return false;
	bool ok = fstat(r.fd, &st) == 0 && S_ISREG(st.st_mode) && read_head(&r, ret);
	close(r.fd);
	return ok;
}

bool fw_elf_head_place(const struct fw_elf_head *head, uint64_t start, uint64_t file_offset,
		       uint64_t *ret)
{
	const struct fw_elf_head_load *best = NULL;
	for (uint32_t i = 0; i < head->num_loads; i++) {
		const struct fw_elf_head_load *l = &head->loads[i];
		uint64_t first = l->offset & ~(uint64_t)(PAGE - 1);
		uint64_t end = l->offset + l->file_size;
		// Two segments may share a page of the file: mappings are of code.
		if (file_offset >= first && file_offset < end &&
		    (best == NULL || (l->executable && !best->executable)))
			best = l;
	}
	if (best == NULL)
		return false;
	*ret = start - (best->address - best->offset + file_offset) + head->base;
	return true;
}
