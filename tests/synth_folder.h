#ifndef FW_TESTS_SYNTH_FOLDER_H
#define FW_TESTS_SYNTH_FOLDER_H

#include <stddef.h>

/** A folder of its own below $TMPDIR; the test ends when it cannot be made. */
struct folder {
	char path[200];
};

void folder_make(struct folder *f);
void folder_remove(struct folder *f);

/** Full path of a name below; four buffers in turn. */
const char *folder_path(const struct folder *f, const char *below);
/** Write a file (0644) and the folders above it. */
void folder_write(const struct folder *f, const char *below, const void *data, size_t n);
void folder_text(const struct folder *f, const char *below, const char *text);
void folder_gzip(const struct folder *f, const char *below, const char *text);
void folder_zstd(const struct folder *f, const char *below, const char *text);
/** Number of regular files below whose names end so. */
unsigned folder_count(const struct folder *f, const char *suffix);

/** What was just written looks a minute old: no test waits for a clock tick. */
void folder_age(const struct folder *f, const char *below, int seconds);

#endif
