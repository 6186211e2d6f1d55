// Minidumps of hostile bytes: read, then everything the snapshot says is used.
#include <stdio.h>
#include <stdlib.h>

#include "tests/snapshot_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_snapshot *s;
	struct fw_error err = { 0 };
	if (fw_snapshot_read(data, size, &s, &err) != FW_OK) {
		if (!err.message[0])
			abort();
		return 0;
	}
	const char *broken = snapshot_check(s);
	// Not more memory than the file's size allows.
	if (s->arena.used > 32 * (uint64_t)size + (1 << 20))
		broken = "too much memory";
	if (broken) {
		fprintf(stderr, "%s\n", broken);
		abort();
	}
	fw_snapshot_destroy(s);
	return 0;
}
