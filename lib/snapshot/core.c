#include "lib/snapshot/core.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	EI_CLASS = 4, EI_DATA = 5, EI_NIDENT = 16,
	E_TYPE = 16, E_MACHINE = 18,
	HEADER32 = 52, HEADER64 = 64, PHDR32 = 32, PHDR64 = 56,
};

void core_note(struct fw_snapshot *s, const char *what, uint32_t index, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fw_snapshot_vnote(s, what, index, format, args);
	va_end(args);
}

void *core_array(struct core_reader *core, uint64_t count, size_t size)
{
	void *p = fw_arena_array(&core->s->arena, count ? count : 1, size);
	if (!p)
		core->no_memory = true;
	return p;
}

bool core_phdr(const struct fw_bytes *b, bool wide, uint64_t offset, struct core_phdr *ret)
{
	struct fw_bytes h;
	if (!fw_bytes_range(b, offset, wide ? PHDR64 : PHDR32, &h))
		return false;
	ret->type = core_u32(&h, 0);
	ret->flags = core_u32(&h, wide ? 4 : 24);
	ret->offset = core_word(&h, wide, wide ? 8 : 4);
	ret->vaddr = core_word(&h, wide, wide ? 16 : 8);
	ret->filesz = core_word(&h, wide, wide ? 32 : 16);
	ret->memsz = core_word(&h, wide, wide ? 40 : 20);
	ret->align = core_word(&h, wide, wide ? 48 : 28);
	return true;
}

static enum fw_code read_ident(struct core_reader *core, struct fw_error *err)
{
	struct fw_bytes *f = &core->file;
	if (f->size < EI_NIDENT + 4)
		return fw_fail(err, FW_MALFORMED, "offset 0x0",
			       "the ELF header is cut off: %llu bytes",
			       (unsigned long long)f->size);
	unsigned class = f->data[EI_CLASS], data = f->data[EI_DATA];
	if (class != 1 && class != 2)
		return fw_fail(err, FW_MALFORMED, "offset 0x4", "ELF class %u is not known", class);
	if (data != 1 && data != 2)
		return fw_fail(err, FW_MALFORMED, "offset 0x5",
			       "ELF byte order %u is not known", data);
	core->wide = class == 2;
	core->word = core->wide ? 8 : 4;
	core->s->big_endian = data == 2;
	f->swap = core->s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (core_u16(f, E_TYPE) != ET_CORE)
		return fw_fail(err, FW_UNSUPPORTED, "offset 0x10",
			       "an ELF file, but not a core");
	uint64_t size = core->wide ? HEADER64 : HEADER32;
	if (f->size < size)
		return fw_fail(err, FW_MALFORMED, "offset 0x0",
			       "the ELF header is cut off: %llu of %llu bytes",
			       (unsigned long long)f->size, (unsigned long long)size);
	core->machine = core_u16(f, E_MACHINE);
	return FW_OK;
}

// More than 65,534 segments: the first section header's sh_info counts them.
static uint32_t count_phdrs(const struct core_reader *core)
{
	uint32_t count = core_u16(&core->file, core->wide ? 56 : 44);
	uint64_t shoff = core_word(&core->file, core->wide, core->wide ? 40 : 32);
	if (count == PN_XNUM && shoff && fw_bytes_has(&core->file, shoff, core->wide ? 64 : 40))
		count = core_u32(&core->file, shoff + (core->wide ? 44 : 28));
	return count;
}

static enum fw_code read_header(struct core_reader *core, struct fw_error *err)
{
	struct fw_snapshot *s = core->s;
	char place[32];
	enum fw_code code = read_ident(core, err);
	if (code != FW_OK)
		return code;
	s->os = FW_OS_LINUX;
	s->cpu_raw = core->machine;
	s->cpu = core_cpu(core->machine, core->wide);
	core->phoff = core_word(&core->file, core->wide, core->wide ? 32 : 28);
	core->phentsize = core_u16(&core->file, core->wide ? 54 : 42);
	core->phnum = count_phdrs(core);
	if (core->phnum == 0)
		return fw_fail(err, FW_MALFORMED, NULL, "the core has no program headers");
	if (core->phentsize < (core->wide ? PHDR64 : PHDR32))
		return fw_fail(err, FW_MALFORMED, core->wide ? "offset 0x36" : "offset 0x2a",
			       "program headers of %u bytes are too short", core->phentsize);
	if (core->phoff >= core->file.size) {
		snprintf(place, sizeof(place), "offset 0x%llx", (unsigned long long)core->phoff);
		return fw_fail(err, FW_MALFORMED, place, "the program headers are not in the file");
	}
	if (core->phnum > FW_MAX_REGIONS) {
		core_note(s, "program headers", CORE_NO_INDEX, "%u, only the first %u are read",
			  core->phnum, FW_MAX_REGIONS);
		core->phnum = FW_MAX_REGIONS;
		core->headers_cut = true;
	}
	uint64_t here = (core->file.size - core->phoff) / core->phentsize;
	if (here < core->phnum) {
		core_note(s, "program headers", CORE_NO_INDEX, "%u promised, %llu in the file",
			  core->phnum, (unsigned long long)here);
		core->phnum = (uint32_t)here;
		core->headers_cut = true;
	}
	return FW_OK;
}

static enum fw_code read_all(struct core_reader *core, struct fw_error *err)
{
	enum fw_code code = read_header(core, err);
	if (code != FW_OK)
		return code;
	core_read_notes(core);
	if (!core->no_memory && core->s->num_threads == 0 && core->foreign)
		return fw_fail(err, FW_UNSUPPORTED, NULL,
			       "a core of %s, only those of Linux are read", core->foreign);
	if (!core->no_memory && core->s->num_threads == 0)
		return fw_fail(err, FW_MALFORMED, NULL, "the core has no NT_PRSTATUS note");
	if (!core->no_memory)
		core_read_memory(core);
	if (!core->no_memory)
		core_read_exception(core);
	if (!core->no_memory)
		core_read_modules(core);
	if (core->no_memory)
		return fw_fail(err, FW_NO_MEMORY, NULL, "no memory to read the core");
	return FW_OK;
}

enum fw_code fw_core_read(const uint8_t *data, uint64_t size, struct fw_snapshot **ret,
			  struct fw_error *err)
{
	// The greatest growth is NT_FILE's: 13 bytes of an entry become a module. No
	// file needs more than this.
	struct fw_arena arena;
	fw_arena_init(&arena, size > UINT64_MAX / 64 ? 0 : 32 * size + (1 << 20));
	struct fw_snapshot *s = fw_arena_array(&arena, 1, sizeof(*s));
	if (!s) {
		fw_arena_deinit(&arena);
		return fw_fail(err, FW_NO_MEMORY, NULL, "no memory to read the core");
	}
	s->arena = arena;
	s->format = "core";
	s->cpu = fw_cpu_get(FW_CPU_UNKNOWN);
	s->crashing_thread = -1;
	struct core_reader core = { .file = { data, size, false }, .s = s };
	enum fw_code code = read_all(&core, err);
	if (code != FW_OK)
		fw_snapshot_destroy(s);
	else
		*ret = s;
	return code;
}
