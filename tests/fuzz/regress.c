// Feeds every file of DIR/<target>/ to its fuzz target, without libFuzzer: what
// fuzzing once found stays found in make check. Prints TAP, a line a target.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET(name) int fuzz_##name(const uint8_t *data, size_t size);
#include "targets.inc"
#undef TARGET

static const struct {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = {
#define TARGET(name) { #name, fuzz_##name },
#include "targets.inc"
#undef TARGET
	{ NULL, NULL },
};

static int run_file(const char *path, int (*run)(const uint8_t *data, size_t size))
{
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		return -1;
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	rewind(f);
	// Exactly as long as the input, so that a sanitizer sees one byte past it.
	uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
	if (data == NULL || size < 0 || fread(data, 1, (size_t)size, f) != (size_t)size) {
		free(data);
		fclose(f);
		return -1;
	}
	fclose(f);
	run(data, (size_t)size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (size_t i = 0; argc == 2 && targets[i].name != NULL; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", argv[1], targets[i].name);
		DIR *dir = opendir(path);
		int files = 0, unreadable = 0;
		for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s/%s", argv[1], targets[i].name, e->d_name);
			files++;
			unreadable += run_file(path, targets[i].run) != 0;
		}
		if (dir != NULL)
			closedir(dir);
		int bad = files == 0 || unreadable != 0;
		failed |= bad;
		printf("%s - fuzz corpus of %s: %d files\n", bad ? "not ok" : "ok", targets[i].name, files);
		fflush(stdout);
	}
	return failed;
}
