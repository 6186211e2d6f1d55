// Cores of hostile bytes: read, then everything the snapshot says is used, and
// what a later step does with a program that only its bytes name.
#include <stdio.h>
#include <stdlib.h>

#include "tests/snapshot_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *add_more(struct fw_snapshot *s, const uint8_t *data, size_t size)
{
	struct fw_comparison got = { 0 };
	struct fw_error err = { 0 };
	struct fw_module_info m = {
		.base = s->entry & ~UINT64_C(0xfff), .size = 0x2000, .code_file = s->exec_file,
	};
	uint32_t added;
	if (fw_snapshot_add_module(s, &m, &err) != FW_OK && !err.message[0])
		return "no reason";
	if (fw_snapshot_add_linked(s, s->phdr, &added, &err) != FW_OK && !err.message[0])
		return "no reason";
	for (uint32_t i = 0; i < s->num_regions && i < 8; i++)
		fw_snapshot_compare(s, s->regions[i].start, data, size, &got);
	if (got.equal > got.present)
		return "more equal bytes than there are";
	return snapshot_check(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_snapshot *s;
	struct fw_error err = { 0 };
	if (size < 4 || memcmp(data, "\177ELF", 4) != 0)
		return 0;
	if (fw_snapshot_read(data, size, &s, &err) != FW_OK) {
		if (!err.message[0])
			abort();
		return 0;
	}
	const char *broken = snapshot_check(s);
	// Not more memory than the file's size allows.
	if (s->arena.used > 32 * (uint64_t)size + (1 << 20))
		broken = "too much memory";
	if (!broken)
		broken = add_more(s, data, size);
	if (broken) {
		fprintf(stderr, "%s\n", broken);
		abort();
	}
	fw_snapshot_destroy(s);
	return 0;
}
