// Decompression of hostile bytes: gzip or zstd, whole and from a file's head.
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/decompress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SIZE = 1048576 };

/** Both ways in must agree on the first bytes. */
static void check_head(enum fw_packing packing, const uint8_t *data, size_t size,
		       const struct fw_pages *whole)
{
	static int fd = -1;
	uint8_t head[4096];
	size_t n = 0;
	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return;
	if (fw_decompress_head(packing, fd, head, sizeof(head), &n, NULL) != FW_OK)
		n = 0;
	if (n > sizeof(head))
		abort();
	if (!whole->data)
		return;
	uint64_t want = whole->size < sizeof(head) ? whole->size : sizeof(head);
	if (n != want)
		abort();
	for (size_t i = 0; i < n; i++)
		if (head[i] != whole->data[i])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_pages pages = { 0 };
	struct fw_error err;
	enum fw_packing packing = fw_packing_of(data, size);
	if (packing == FW_PLAIN)
		return -1;
	if (fw_decompress(packing, data, size, MAX_SIZE, &pages, &err) == FW_OK &&
	    (!pages.data || pages.size > MAX_SIZE))
		abort();
	check_head(packing, data, size, &pages);
	fw_pages_deinit(&pages);
	return 0;
}
