#ifndef FW_TESTS_DWARF_ELF_H
#define FW_TESTS_DWARF_ELF_H

// An ELF file of sections that a fuzzer chose: a byte that indexes `names`, their length
// in 3 bytes (little-endian), their bytes.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/elf_image.h"
#include "symfiles/elf_internal.h"

static const char *const names[] = {
	"", ".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str",
	".debug_str_offsets", ".debug_addr", ".debug_line", ".debug_ranges", ".debug_rnglists",
	".debug_cu_index", ".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str.dwo",
	".debug_str_offsets.dwo", ".debug_rnglists.dwo",
};

enum {
	NAMES = sizeof(names) / sizeof(*names),
	MAX_SECTIONS = 24, STRINGS = 64 + 56, MAX_STRINGS = 320,
	HEADERS = STRINGS + MAX_STRINGS, CONTENT = HEADERS + (MAX_SECTIONS + 2) * 64,
	BASE = 0x1000,
};

/** A 64-bit little-endian library that has the sections. */
static size_t make_elf(const uint8_t *data, size_t size, uint8_t *out)
{
	Elf64_Ehdr eh = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,
			  .e_phoff = 64, .e_shoff = HEADERS, .e_ehsize = 64,
			  .e_phentsize = 56, .e_phnum = 1, .e_shentsize = 64, .e_shnum = 2,
			  .e_shstrndx = 1 };
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = 5, .p_vaddr = BASE, .p_memsz = 1 << 20 };
	Elf64_Shdr sh[MAX_SECTIONS + 2] = { { 0 } };
	uint32_t at[NAMES], strings = 0;
	size_t end = CONTENT;
	memset(out, 0, CONTENT);
	memcpy(eh.e_ident, ELFMAG "\2\1\1", 7);
	for (unsigned i = 0; i < NAMES; i++) {
		at[i] = strings;
		memcpy(out + STRINGS + strings, names[i], strlen(names[i]));
		strings += (uint32_t)strlen(names[i]) + 1;
	}
	sh[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = STRINGS, .sh_size = strings };
	while (size >= 4 && eh.e_shnum < MAX_SECTIONS + 2) {
		size_t n = data[1] | data[2] << 8 | (size_t)data[3] << 16;
		unsigned name = data[0] % NAMES;
		data += 4;
		size -= 4;
		if (n > size)
			n = size;
		memcpy(out + end, data, n);
		sh[eh.e_shnum++] = (Elf64_Shdr){ .sh_name = at[name], .sh_type = SHT_PROGBITS,
						 .sh_offset = end, .sh_size = n };
		end += n;
		data += n;
		size -= n;
	}
	memcpy(out, &eh, sizeof(eh));
	memcpy(out + 64, &ph, sizeof(ph));
	memcpy(out + HEADERS, sh, sizeof(sh));
	return end;
}

/** Split files: the same one, which has the .dwo sections too. */
static struct fw_elf *open_dwo(void *context, struct fw_str comp_dir, struct fw_str name)
{
	return name.n % 2 ? context : NULL;
}

/**
 * The files of an input: a first byte (bit 0: the file is dwz's shared one too), then
 * sections. NULL: none; else close it and free *ret_bytes.
 */
static struct fw_elf *open_input(const uint8_t *data, size_t size, uint8_t **ret_bytes,
				 struct fw_elf_files *ret)
{
	struct fw_elf *elf;
	if (size < 1)
		return NULL;
	uint8_t *bytes = malloc(CONTENT + size);
	size_t n = bytes ? make_elf(data + 1, size - 1, bytes) : 0;
	if (!n || fw_elf_open_bytes(bytes, n, &elf, NULL) != FW_OK) {
		free(bytes);
		return NULL;
	}
	*ret = (struct fw_elf_files){ .elf = elf, .alt = data[0] & 1 ? elf : NULL,
				      .open_dwo = open_dwo, .context = elf };
	*ret_bytes = bytes;
	return elf;
}

#endif
