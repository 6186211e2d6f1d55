// Loads a .sym and writes its image, as the first run on a module does; prints
// what came of it. For callgrind (instructions a byte) and VmHWM (memory).
//
//   bench_load FILE.sym [IMAGE]	IMAGE defaults to a temporary file; "-": do not write
//   CHECK=1 in the environment:	and check the image
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symfiles/breakpad.h"

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long peak_kib(void)
{
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static int fail(const char *what, const struct fw_error *err)
{
	fprintf(stderr, "%s: %s: %s\n", what, err->place, err->message);
	return 1;
}

int main(int argc, char **argv)
{
	struct fw_error err = { 0 };
	struct fw_image *image;
	struct fw_file file;
	char path[] = "/tmp/bench_load.XXXXXX";
	if (argc < 2)
		return 2;
	bool write_it = argc < 3 || strcmp(argv[2], "-") != 0;
	int fd = -1;
	double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	if (fw_file_open(&file, argv[1], FW_MAX_INPUT, &err) != FW_OK)
		return fail(argv[1], &err);
	uint64_t size = file.size;
	if (fw_sym_load(&file, &image, &err) != FW_OK)
		return fail(argv[1], &err);
	fw_file_close(&file);
	if (write_it) {
		fd = argc < 3 ? mkstemp(path) : open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || fw_image_write(image, fd, &err) != FW_OK)
			return fail("image", &err);
		if (argc < 3)
			unlink(path);
	}
	uint64_t bytes = 0;
	for (unsigned i = 0; i < FW_SEC_COUNT; i++)
		bytes += image->section_bytes[i];
	if (getenv("CHECK") && fw_image_check(image, &err) != FW_OK)
		return fail("check", &err);
	printf("file %llu image %llu peak %ld KiB wall %.3f s cpu %.3f s\n",
	       (unsigned long long)size, (unsigned long long)bytes, peak_kib(),
	       now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	printf("funcs %u lines %u inlines %u publics %u rows %u pages %llu win %u\n",
	       fw_image_count(image, FW_SEC_FUNCS, sizeof(struct fw_func)),
	       fw_image_count(image, FW_SEC_LINES, sizeof(struct fw_line)),
	       fw_image_count(image, FW_SEC_INLINES, sizeof(struct fw_inline)),
	       fw_image_count(image, FW_SEC_PUBLICS, sizeof(struct fw_public)),
	       image->cfi.num_rows, (unsigned long long)image->cfi.pages_size,
	       fw_image_count(image, FW_SEC_WIN_RECORDS, sizeof(struct fw_stack_win)));
	for (unsigned k = 0; k < FW_DIAG_COUNT; k++)
		if (image->diag.count[k])
			printf("%s %u (line %u)\n", fw_diag_kind_name(k), image->diag.count[k],
			       image->diag.lines[k][0]);
	fw_image_destroy(image);
	if (fd >= 0)
		close(fd);
	return 0;
}
