// Hostile debug information: the image that comes out is whole, whatever went in.
//
// An input is a first byte (bit 0: the file is dwz's shared one too), then sections: a
// byte that indexes `names`, their length in 3 bytes (little-endian), their bytes.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/elf_image.h"
#include "symfiles/elf_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_elf *elf;
	struct fw_builder *b;
	struct fw_image *image;
	struct fw_error err = { .code = FW_OK };
	if (size < 1)
		return 0;
	uint8_t *bytes = malloc(CONTENT + size);
	size_t n = bytes ? make_elf(data + 1, size - 1, bytes) : 0;
	if (n && fw_elf_open_bytes(bytes, n, &elf, &err) == FW_OK) {
		struct fw_elf_files files = { .elf = elf, .alt = data[0] & 1 ? elf : NULL,
					      .open_dwo = open_dwo, .context = elf };
		if (fw_builder_create(&b, &err))
			abort();
		enum fw_code code = fw_dwarf_into(&files, b, &err);
		if (code && err.message[0] == '\0')
			abort();
		if (b->strings.bytes.count > 64 * size + (4 << 20))
			abort();
		if (fw_builder_freeze(b, &image, &err) == FW_OK) {
			if (fw_image_check(image, &err))
				abort();
			fw_image_destroy(image);
		}
		fw_elf_close(elf);
	}
	free(bytes);
	return 0;
}
