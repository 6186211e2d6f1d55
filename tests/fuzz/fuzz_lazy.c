// Hostile debug information read lazily: what comes out is whole and has no rules, and a
// second question gets the same. libdwarf reads too, without the sections that it cannot.
//
// An input is as open_input() of dwarf_elf.h says.
#include "symfiles/lazy_read.h"
#include "tests/fuzz/dwarf_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OFFSETS = 64, STEP = 37 };

static uint32_t ask(struct fw_lazy_reader *r)
{
	uint32_t offsets[OFFSETS], known = 0;
	struct fw_image *image;
	struct fw_error err = { .code = FW_OK };
	for (uint32_t i = 0; i < OFFSETS; i++)
		offsets[i] = i * STEP;
	offsets[OFFSETS - 1] = UINT32_MAX;
	if (fw_lazy_reader_answer(r, offsets, OFFSETS, &image, &err)) {
		if (err.message[0] == '\0')
			abort();
		return 0;
	}
	if (fw_image_check(image, &err) || image->section_bytes[FW_SEC_CFI_RULES])
		abort();
	for (uint32_t i = 0; i < OFFSETS; i++)
		known += fw_image_func(image, offsets[i]) != NULL;
	fw_image_destroy(image);
	return known + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_elf_files files;
	struct fw_lazy_reader *r;
	uint8_t *bytes;
	struct fw_error err = { .code = FW_OK };
	struct fw_elf *elf = open_input(data, size, &bytes, &files);
	if (elf == NULL)
		return 0;
	if (fw_lazy_reader_open(&files, &r, &err))
		abort();
	if (ask(r) != ask(r))
		abort();
	fw_lazy_reader_close(r);
	fw_elf_close(elf);
	free(bytes);
	return 0;
}
