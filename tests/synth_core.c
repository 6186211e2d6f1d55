#include "tests/synth_core.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

void synth_core_init(struct synth_core *c, uint16_t machine, bool wide, bool big)
{
	*c = (struct synth_core){ .machine = machine, .wide = wide, .big = big };
	c->notes = must(calloc(1, SYNTH_CORE_NOTES));
	c->num_segments = 1;
	c->segments[0] = (struct synth_core_segment){ .type = PT_NOTE, .align = 4 };
}

void synth_core_deinit(struct synth_core *c)
{
	for (unsigned i = 1; i < c->num_segments; i++)
		free(c->segments[i].data);
	free(c->notes);
	free(c->file);
}

void synth_core_put(const struct synth_core *c, uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * (c->big ? bytes - 1 - i : i));
}

unsigned synth_core_word(const struct synth_core *c)
{
	return c->wide ? 8 : 4;
}

void synth_core_put_word(const struct synth_core *c, uint8_t *at, uint64_t v)
{
	synth_core_put(c, at, v, synth_core_word(c));
}

static size_t write_note(const struct synth_core *c, uint8_t *at, const char *owner,
			 uint32_t type, const void *desc, size_t n)
{
	size_t owner_size = strlen(owner) + 1, padded = (owner_size + 3) / 4 * 4;
	synth_core_put(c, at, owner_size, 4);
	synth_core_put(c, at + 4, n, 4);
	synth_core_put(c, at + 8, type, 4);
	memcpy(at + 12, owner, owner_size);
	memcpy(at + 12 + padded, desc, n);
	return 12 + padded + (n + 3) / 4 * 4;
}

void synth_core_note(struct synth_core *c, const char *owner, uint32_t type, const void *desc,
		     size_t n)
{
	if (c->notes_size + n + strlen(owner) + 32 > SYNTH_CORE_NOTES)
		abort();
	c->notes_size += write_note(c, c->notes + c->notes_size, owner, type, desc, n);
}

// linux/elfcore.h, struct elf_prstatus.
void synth_core_thread(struct synth_core *c, uint32_t id, uint16_t signal,
		       const uint64_t *words, unsigned num, unsigned width)
{
	uint8_t status[1024] = { 0 };
	unsigned regs = c->wide ? 112 : 72;
	synth_core_put(c, status, signal, 4);
	synth_core_put(c, status + 12, signal, 2);
	synth_core_put(c, status + (c->wide ? 32 : 24), id, 4);
	for (unsigned i = 0; i < num; i++)
		synth_core_put(c, status + regs + (size_t)i * width, words[i], width);
	size_t n = regs + (size_t)num * width + 4;
	synth_core_note(c, "CORE", NT_PRSTATUS, status, (n + width - 1) / width * width);
}

// linux/elfcore.h, struct elf_prpsinfo.
void synth_core_process(struct synth_core *c, uint32_t pid, const char *name, const char *args,
			bool small_ids)
{
	uint8_t info[136] = { 0 };
	unsigned pid_at = c->wide ? 24 : small_ids ? 12 : 16;
	unsigned name_at = pid_at + 16;
	synth_core_put(c, info + pid_at, pid, 4);
	strncpy((char *)info + name_at, name, 16);
	strncpy((char *)info + name_at + 16, args, 80);
	synth_core_note(c, "CORE", NT_PRPSINFO, info, name_at + 96);
}

void synth_core_signal(struct synth_core *c, uint32_t signal, uint32_t code, uint64_t address)
{
	uint8_t info[128] = { 0 };
	bool mips = c->machine == EM_MIPS;
	synth_core_put(c, info, signal, 4);
	synth_core_put(c, info + (mips ? 4 : 8), code, 4);
	synth_core_put_word(c, info + (c->wide ? 16 : 12), address);
	synth_core_note(c, "CORE", NT_SIGINFO, info, sizeof(info));
}

void synth_core_auxv(struct synth_core *c, const uint64_t (*pairs)[2], unsigned n)
{
	uint8_t auxv[1024] = { 0 };
	unsigned word = synth_core_word(c);
	if ((n + 1) * 2 * word > sizeof(auxv))
		abort();
	for (unsigned i = 0; i < 2 * n; i++)
		synth_core_put_word(c, auxv + (size_t)i * word, pairs[i / 2][i % 2]);
	synth_core_note(c, "CORE", NT_AUXV, auxv, (size_t)(n + 1) * 2 * word);
}

// fs/binfmt_elf.c, fill_files_note().
void synth_core_files(struct synth_core *c, const struct synth_core_file *files, unsigned n)
{
	uint8_t *note = must(calloc(1, SYNTH_CORE_NOTES));
	unsigned word = synth_core_word(c);
	size_t at = 2 * word, names = (2 + 3 * (size_t)n) * word;
	synth_core_put_word(c, note, n);
	synth_core_put_word(c, note + word, 4096);
	for (unsigned i = 0; i < n; i++, at += 3 * word) {
		synth_core_put_word(c, note + at, files[i].start);
		synth_core_put_word(c, note + at + word, files[i].end);
		synth_core_put_word(c, note + at + 2 * word, files[i].page);
		if (names + strlen(files[i].path) + 1 > SYNTH_CORE_NOTES)
			abort();
		strcpy((char *)note + names, files[i].path);
		names += strlen(files[i].path) + 1;
	}
	synth_core_note(c, "CORE", NT_FILE, note, names);
	free(note);
}

void synth_core_load(struct synth_core *c, uint64_t vaddr, uint32_t flags, const void *data,
		     uint64_t filesz, uint64_t memsz)
{
	if (c->num_segments == SYNTH_CORE_SEGMENTS)
		abort();
	struct synth_core_segment *s = &c->segments[c->num_segments++];
	*s = (struct synth_core_segment){
		.type = PT_LOAD, .flags = flags, .vaddr = vaddr, .filesz = filesz, .memsz = memsz,
		.align = 4096, .data = must(calloc(1, filesz ? filesz : 1)),
	};
	if (data && filesz)
		memcpy(s->data, data, filesz);
}

static void put_phdr(const struct synth_core *c, uint8_t *at, const struct synth_core_segment *s)
{
	unsigned word = synth_core_word(c);
	synth_core_put(c, at, s->type, 4);
	synth_core_put(c, at + (c->wide ? 4 : 24), s->flags, 4);
	uint8_t *next = at + (c->wide ? 8 : 4);
	synth_core_put_word(c, next, s->offset);
	synth_core_put_word(c, next + word, s->vaddr);
	next += 3 * word;		// p_paddr stays 0
	synth_core_put_word(c, next, s->filesz);
	synth_core_put_word(c, next + word, s->memsz);
	if (!c->wide)
		next += word;		// p_flags lies before p_align
	synth_core_put_word(c, next + 2 * word, s->align);
}

static void put_header(const struct synth_core *c, uint8_t *at, uint16_t type, uint64_t entry,
		       uint64_t phoff, uint64_t shoff, unsigned phnum)
{
	memcpy(at, ELFMAG, SELFMAG);
	at[EI_CLASS] = c->wide ? ELFCLASS64 : ELFCLASS32;
	at[EI_DATA] = c->big ? ELFDATA2MSB : ELFDATA2LSB;
	at[EI_VERSION] = 1;
	synth_core_put(c, at + 16, type, 2);
	synth_core_put(c, at + 18, c->machine, 2);
	synth_core_put(c, at + 20, 1, 4);
	unsigned word = synth_core_word(c);
	synth_core_put_word(c, at + 24, entry);
	synth_core_put_word(c, at + 24 + word, phoff);
	synth_core_put_word(c, at + 24 + 2 * word, shoff);
	uint8_t *rest = at + 24 + 3 * word + 4;		// after e_flags
	synth_core_put(c, rest, c->wide ? 64 : 52, 2);
	synth_core_put(c, rest + 2, c->wide ? 56 : 32, 2);
	synth_core_put(c, rest + 4, phnum, 2);
}

void synth_core_page(const struct synth_core *c, const struct synth_core_image *image,
		     uint8_t page[SYNTH_CORE_PAGE])
{
	enum { NOTES = 0x200, INTERPRETER = 0x300 };
	unsigned header = c->wide ? 64 : 52, phdr = c->wide ? 56 : 32;
	memset(page, 0, SYNTH_CORE_PAGE);
	put_header(c, page, image->type, image->entry, header, 0, SYNTH_CORE_PHNUM);
	struct synth_core_segment s[SYNTH_CORE_PHNUM] = {
		{ .type = PT_LOAD, .flags = PF_R | PF_X, .vaddr = image->base,
		  .filesz = SYNTH_CORE_PAGE, .memsz = image->size, .align = 4096 },
		{ .type = image->build_id ? PT_NOTE : PT_NULL, .flags = PF_R, .offset = NOTES,
		  .vaddr = image->base + NOTES, .filesz = 56, .memsz = 56, .align = 4 },
		{ .type = image->dynamic ? PT_DYNAMIC : PT_NULL, .flags = PF_R | PF_W,
		  .offset = image->dynamic - image->base, .vaddr = image->dynamic,
		  .filesz = 64, .memsz = 64, .align = 8 },
		{ .type = image->interpreter ? PT_INTERP : PT_NULL, .flags = PF_R,
		  .offset = INTERPRETER, .vaddr = image->base + INTERPRETER, .align = 1 },
	};
	if (image->interpreter) {
		s[3].filesz = s[3].memsz = strlen(image->interpreter) + 1;
		strcpy((char *)page + INTERPRETER, image->interpreter);
	}
	for (unsigned i = 0; i < SYNTH_CORE_PHNUM; i++)
		put_phdr(c, page + header + (size_t)i * phdr, &s[i]);
	if (image->build_id) {
		// One of another kind before it: a PT_NOTE is a list.
		size_t n = write_note(c, page + NOTES, "GNU", 1, "\0\0\0", 4);
		write_note(c, page + NOTES + n, "GNU", NT_GNU_BUILD_ID, image->build_id, 20);
	}
}

uint8_t *synth_core_finish(struct synth_core *c, size_t *ret_size)
{
	unsigned header = c->wide ? 64 : 52, phdr = c->wide ? 56 : 32, shdr = c->wide ? 64 : 40;
	size_t at = header + (size_t)phdr * c->num_segments, shoff = 0;
	if (c->xnum) {
		shoff = at;
		at += shdr;
	}
	c->phoff = header;
	c->notes_offset = at;
	c->segments[0].offset = at;
	c->segments[0].filesz = c->notes_size;
	at += c->notes_size;
	for (unsigned i = 1; i < c->num_segments; i++) {
		c->segments[i].offset = at;
		at += c->segments[i].filesz;
	}
	free(c->file);
	c->file = must(calloc(1, at));
	c->size = at;
	put_header(c, c->file, ET_CORE, 0, header, shoff, c->xnum ? PN_XNUM : c->num_segments);
	if (c->xnum)
		synth_core_put(c, c->file + shoff + (c->wide ? 44 : 28), c->num_segments, 4);
	memcpy(c->file + c->notes_offset, c->notes, c->notes_size);
	for (unsigned i = 0; i < c->num_segments; i++) {
		put_phdr(c, c->file + header + (size_t)i * phdr, &c->segments[i]);
		if (i)
			memcpy(c->file + c->segments[i].offset, c->segments[i].data,
			       c->segments[i].filesz);
	}
	*ret_size = at;
	return c->file;
}
