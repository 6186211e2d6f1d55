#include "tests/synth_folder.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

void folder_make(struct folder *f)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(f->path, sizeof(f->path), "%s/framewalk-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(f->path));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)at;
	if (type == FTW_DNR)		// made unreadable by a test
		chmod(path, 0700);
	return remove(path);
}

static int open_up(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)at;
	if (type == FTW_D || type == FTW_DNR)
		chmod(path, 0700);
	return 0;
}

void folder_remove(struct folder *f)
{
	nftw(f->path, open_up, 16, FTW_PHYS);
	nftw(f->path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

const char *folder_path(const struct folder *f, const char *below)
{
	static char buffers[4][4096];
	static unsigned next;
	char *p = buffers[next++ % 4];
	snprintf(p, sizeof(buffers[0]), "%s/%s", f->path, below);
	return p;
}

void folder_write(const struct folder *f, const char *below, const void *data, size_t n)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", f->path, below);
	for (char *p = path + strlen(f->path) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	FILE *out = fopen(path, "wb");
	ck_assert_msg(out != NULL, "%s", path);
	if (n)
		ck_assert_uint_eq(fwrite(data, 1, n, out), n);
	ck_assert_int_eq(fclose(out), 0);
}

void folder_text(const struct folder *f, const char *below, const char *text)
{
	folder_write(f, below, text, strlen(text));
}

void folder_gzip(const struct folder *f, const char *below, const char *text)
{
	folder_text(f, below, "");
	gzFile out = gzopen(folder_path(f, below), "wb");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(gzwrite(out, text, (unsigned)strlen(text)), (int)strlen(text));
	ck_assert_int_eq(gzclose(out), Z_OK);
}

void folder_zstd(const struct folder *f, const char *below, const char *text)
{
	size_t room = ZSTD_compressBound(strlen(text));
	void *out = malloc(room);
	size_t n = ZSTD_compress(out, room, text, strlen(text), 3);
	ck_assert(!ZSTD_isError(n));
	folder_write(f, below, out, n);
	free(out);
}

static unsigned counted;
static const char *counted_suffix;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	size_t n = strlen(path), k = strlen(counted_suffix);
	(void)st, (void)at;
	if (type == FTW_F && n >= k && strcmp(path + n - k, counted_suffix) == 0)
		counted++;
	return 0;
}

unsigned folder_count(const struct folder *f, const char *suffix)
{
	counted = 0;
	counted_suffix = suffix;
	nftw(f->path, count_one, 16, FTW_PHYS);
	return counted;
}

void folder_age(const struct folder *f, const char *below, int seconds)
{
	struct timespec now, times[2];
	clock_gettime(CLOCK_REALTIME, &now);
	times[0] = times[1] = (struct timespec){ now.tv_sec - seconds, now.tv_nsec };
	ck_assert_int_eq(utimensat(AT_FDCWD, folder_path(f, below), times, 0), 0);
}
