// Hostile ELF files: identity and code bytes, from the whole and from the head; sections,
// packed ones too; symbols, PLT names and unwind rules, compiled and read lazily;
// MiniDebugInfo; links to debug files. What comes out is whole, whatever went in.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "symfiles/elf_internal.h"
#include "symfiles/elf_mini.h"
#include "symfiles/elf_search.h"
#include "symfiles/elf_segments.h"
#include "symfiles/elf_symtab.h"
#include "symfiles/lazy_cfi.h"
#include "tests/fuzz/look_up.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PLACES = 0x4000, STEP = 0x3f };

static uint64_t sum_of(const struct fw_bytes *b)
{
	uint64_t sum = 0;
	// its ends: a sanitizer sees what lies behind them
	for (uint64_t i = 0; i < b->size; i += i < 64 || i + 64 > b->size ? 1 : 61)
		sum += b->data[i];
	return b->size ? sum + b->data[b->size - 1] : sum;
}

static void read_sections(struct fw_elf *elf)
{
	static const char *const names[] = { ".debug_info", ".eh_frame", ".symtab", ".note" };
	struct fw_bytes b;
	uint64_t sum = 0;
	for (size_t i = 0; i < elf->sections.count && i < 256; i++)
		if (fw_elf_section_bytes(elf, i, &b))
			sum += sum_of(&b);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t address, stored = fw_elf_section_size(elf, names[i]);
		if (fw_elf_section(elf, names[i], &b, &address) && b.size && !stored)
			abort();
		if (fw_elf_stored(elf, names[i], &b, &address) == FW_OK)
			sum += sum_of(&b) + address;
	}
	if (fw_elf_eh_frame_hdr(elf, &b, NULL))
		sum += sum_of(&b);
	for (uint64_t at = 0; at < PLACES; at += STEP)
		if (fw_elf_mapped(elf, elf->base + at, &b))
			sum += sum_of(&b);
	volatile uint64_t used = sum;
	(void)used;
}

/** Compiled as a module is, but for its DWARF, which has a target of its own. */
static void compile(struct fw_elf *elf)
{
	struct fw_mini mini = { 0 };
	struct fw_builder *b;
	struct fw_image *image;
	struct fw_lazy_cfi *lazy;
	struct fw_error err = { .code = FW_OK };
	bool has_mini = fw_mini_open(elf, &mini);
	struct fw_elf_files files = { .elf = elf, .mini = has_mini ? mini.elf : NULL };
	if (fw_builder_create(&b, &err))
		abort();
	fw_elf_identity_into(elf, b);
	if ((fw_elf_symbols_into(&files, b, &err) || fw_elf_cfi_into(&files, b, &err)) &&
	    err.message[0] == '\0')
		abort();
	if (fw_builder_freeze(b, &image, &err) == FW_OK) {
		if (fw_image_check(image, &err))
			abort();
		for (uint32_t at = 0; at < PLACES; at += STEP)
			fuzz_look_up(image, at);
		fw_image_destroy(image);
	}
	if (fw_lazy_cfi_open(elf, NULL, &lazy) == FW_OK) {
		for (uint32_t at = 0; at < PLACES; at += STEP) {
			struct fw_programs programs;
			uint32_t count;
			const struct fw_rule *rules = fw_lazy_cfi_rules(lazy, at, &count, &programs);
			if (rules && count > FW_MAX_ROW_RULES)
				abort();
		}
		fw_lazy_cfi_close(lazy);
	}
	fw_mini_close(&mini);
}

/** As a file: what is read of it by hand, and the files that it names. */
static void search(const uint8_t *data, size_t size)
{
	struct fw_elf_places places = { .sysroot = NULL };
	struct fw_elf_set set = { 0 };
	struct fw_elf_head head;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || fw_write_all(fd, data, size, NULL))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fw_elf_head_read(path, &head) && head.num_loads > FW_MAX_HEAD_LOADS)
		abort();
	set.elf = strdup(path);
	fw_elf_find_debug(&places, &set);
	fw_elf_set_clear(&set);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_elf *elf;
	struct fw_image *image;
	struct fw_error err = { .code = FW_OK };
	struct fw_ident id = { 0 };
	uint8_t code[32];
	size_t head = size < 4096 ? size : 4096;
	// The path leads nowhere: what the head does not tell stays unknown.
	if (fw_elf_peek_id(data, head, "/dev/null", &id) && (id.n == 0 || id.n > FW_MAX_IDENT))
		abort();
	if (fw_elf_open_bytes(data, size, &elf, &err) != FW_OK) {
		if (err.message[0] == '\0')
			abort();
		return 0;
	}
	if (fw_elf_debug_id(elf)->n > FW_MAX_IDENT || fw_elf_code_id(elf)->n > FW_MAX_IDENT)
		abort();
	for (uint64_t at = 0; at < PLACES; at += STEP)
		if (fw_elf_code(elf, at, code, sizeof(code)) && !fw_elf_has_code(elf))
			abort();
	fw_elf_code(elf, UINT64_MAX - 8, code, sizeof(code));
	read_sections(elf);
	compile(elf);
	fw_elf_close(elf);
	if (fw_elf_compile_memory(data, size, &image, &err) == FW_OK)
		fw_image_destroy(image);
	search(data, size);
	return 0;
}
