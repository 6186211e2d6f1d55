// Hostile ELF files: identity and code bytes, from the whole and from the head.
#include <stdlib.h>

#include "symfiles/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_elf *elf;
	struct fw_error err;
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
	for (uint64_t at = 0; at < 0x4000; at += 0x3f)
		if (fw_elf_code(elf, at, code, sizeof(code)) && !fw_elf_has_code(elf))
			abort();
	fw_elf_code(elf, UINT64_MAX - 8, code, sizeof(code));
	fw_elf_close(elf);
	return 0;
}
