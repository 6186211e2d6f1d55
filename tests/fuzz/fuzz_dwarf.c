// Hostile debug information: the image that comes out is whole, whatever went in.
//
// An input is a first byte (bit 0: the file is dwz's shared one too), then sections,
// see dwarf_elf.h.
#include "symfiles/elf_image.h"
#include "tests/fuzz/dwarf_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
