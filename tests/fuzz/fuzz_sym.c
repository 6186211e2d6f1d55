// A Breakpad symbol file of any bytes: the image must be sound, and every
// look-up around what it holds must come back.
#include <stdio.h>
#include <stdlib.h>

#include "symfiles/breakpad.h"
#include "tests/fuzz/look_up.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_around(const struct fw_image *image, uint32_t offset)
{
	fuzz_look_up(image, offset - 1);
	fuzz_look_up(image, offset);
	fuzz_look_up(image, offset + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_image *image;
	struct fw_error err = { .message = "" };
	struct fw_str text = { (const char *)data, size };
	struct fw_sym_module module;
	(void)!fw_sym_module_line(text, &module);
	if (fw_sym_load_text(text, &image, &err) != FW_OK)
		return 0;
	if (fw_image_check(image, &err) != FW_OK) {
		fprintf(stderr, "unsound: %s\n", err.message);
		abort();
	}
	const struct fw_func *funcs = image->section[FW_SEC_FUNCS];
	const struct fw_line *lines = image->section[FW_SEC_LINES];
	uint32_t n = fw_image_count(image, FW_SEC_FUNCS, sizeof(*funcs));
	for (uint32_t i = 0; i < n && i < 64; i++) {
		look_around(image, funcs[i].start);
		look_around(image, funcs[i].start + funcs[i].size);
	}
	n = fw_image_count(image, FW_SEC_LINES, sizeof(*lines));
	for (uint32_t i = 0; i < n && i < 64; i++)
		look_around(image, lines[i].addr);
	for (uint32_t at = 0; at < 0x3000; at += 0x101)
		fuzz_look_up(image, at);
	fw_image_destroy(image);
	return 0;
}
