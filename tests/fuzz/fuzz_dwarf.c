// Hostile debug information: the image that comes out is whole, whatever went in.
//
// An input is as open_input() of dwarf_elf.h says.
#include "tests/fuzz/dwarf_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_elf_files files;
	struct fw_builder *b;
	struct fw_image *image;
	uint8_t *bytes;
	struct fw_error err = { .code = FW_OK };
	struct fw_elf *elf = open_input(data, size, &bytes, &files);
	if (elf == NULL)
		return 0;
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
	free(bytes);
	return 0;
}
