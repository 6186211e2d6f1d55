#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "lib/base/limits.h"

Suite *file_suite(void);

static char dir[256];

static const char *path_of(const char *name)
{
	static char path[300];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(dir, sizeof(dir), "%s/fw-test-file-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	static const char *const names[] = { "f", "f.gz", "fifo" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(path_of(names[i]));
	rmdir(dir);
}

static const char *make(const char *name, const void *data, size_t n)
{
	FILE *f = fopen(path_of(name), "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(data, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
	return path_of(name);
}

static const char *make_gzip(const char *name, const void *data, size_t n)
{
	gzFile f = gzopen(path_of(name), "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(gzwrite(f, data, (unsigned)n), (int)n);
	ck_assert_int_eq(gzclose(f), Z_OK);
	return path_of(name);
}

static void expect_fault(const char *path, enum fw_code code, const char *message)
{
	struct fw_file f;
	struct fw_error e;
	memset(&f, 0x5a, sizeof(f));
	struct fw_file before = f;
	ck_assert_int_eq(fw_file_open(&f, path, FW_MAX_INPUT, &e), code);
	ck_assert_int_eq(e.code, code);
	ck_assert_str_eq(e.message, message);
	ck_assert_str_eq(e.place, "");
	ck_assert_mem_eq(&f, &before, sizeof(f));	// outputs untouched

	size_t n = 77;
	char buffer[8] = "before";
	ck_assert_int_eq(fw_file_peek(path, buffer, sizeof(buffer), &n, &e), code);
	ck_assert_str_eq(e.message, message);
	ck_assert_uint_eq(n, 77);
}

START_TEST(plain_file_with_its_identity)
{
	struct fw_file f;
	struct stat st;
	const char *path = make("f", "MODULE Linux", 12);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(fw_file_open(&f, path, 1, NULL), FW_OK);	// no cap on plain files
	ck_assert(f.size == 12 && !f.compressed && memcmp(f.data, "MODULE Linux", 12) == 0);
	ck_assert(f.dev == st.st_dev && f.ino == st.st_ino && f.disk_size == 12);
	ck_assert_int_eq(f.mtime_ns, st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
	ck_assert_int_eq(f.ctime_ns, st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec);
	fw_file_close(&f);
	fw_file_close(&f);
}
END_TEST

START_TEST(empty_file_has_data)
{
	struct fw_file f;
	ck_assert_int_eq(fw_file_open(&f, make("f", "", 0), 0, NULL), FW_OK);
	ck_assert(f.size == 0 && f.data != NULL && !f.compressed);
	fw_file_close(&f);
}
END_TEST

START_TEST(files_of_proc_are_read_though_they_tell_no_size)
{
	struct fw_file f;
	struct fw_error e;
	if (access("/proc/self/maps", R_OK) != 0)
		return;
	ck_assert_int_eq(fw_file_open(&f, "/proc/self/maps", FW_MAX_INPUT, NULL), FW_OK);
	ck_assert_ptr_nonnull(memmem(f.data, f.size, "[stack]", 7));
	fw_file_close(&f);
	ck_assert_int_eq(fw_file_open(&f, "/proc/self/maps", 10, &e), FW_LIMIT);
	ck_assert_str_eq(e.message, "larger than 10 bytes");
}
END_TEST

START_TEST(what_is_no_file_is_refused_without_blocking)
{
	expect_fault(dir, FW_UNSUPPORTED, "is a directory");
	expect_fault("/dev/null", FW_UNSUPPORTED, "not a regular file");
	ck_assert_int_eq(mkfifo(path_of("fifo"), 0600), 0);
	expect_fault(path_of("fifo"), FW_UNSUPPORTED, "not a regular file");
	expect_fault(path_of("none"), FW_IO, "cannot open: No such file or directory");
	make("f", "x", 1);
	expect_fault(path_of("f/x"), FW_IO, "cannot open: Not a directory");
}
END_TEST

START_TEST(gzip_file_is_unpacked_whatever_its_name)
{
	struct fw_file f;
	struct stat st;
	struct fw_error e;
	static char text[100000];
	memset(text, 'x', sizeof(text));
	const char *path = make_gzip("f", text, sizeof(text));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(fw_file_open(&f, path, sizeof(text), &e), FW_OK);
	ck_assert(f.compressed && f.size == sizeof(text) &&
		  memcmp(f.data, text, sizeof(text)) == 0);
	ck_assert_uint_eq(f.disk_size, st.st_size);
	fw_file_close(&f);
	ck_assert_int_eq(fw_file_open(&f, path, sizeof(text) - 1, &e), FW_LIMIT);
	ck_assert_str_eq(e.message, "larger than 99999 bytes once decompressed");
	ck_assert_int_eq(truncate(path, 50), 0);
	ck_assert_int_eq(fw_file_open(&f, path, sizeof(text), &e), FW_MALFORMED);
	ck_assert_str_eq(e.place, "offset 50");
	ck_assert_str_eq(e.message, "truncated gzip data");
}
END_TEST

START_TEST(peek_shows_the_unpacked_start)
{
	char head[8];
	size_t n = 77;
	ck_assert_int_eq(fw_file_peek(make("f", "0123456789", 10), head, 8, &n, NULL), FW_OK);
	ck_assert(n == 8 && memcmp(head, "01234567", 8) == 0);
	ck_assert_int_eq(fw_file_peek(make("f", "012", 3), head, 8, &n, NULL), FW_OK);
	ck_assert(n == 3 && memcmp(head, "012", 3) == 0);
	ck_assert_int_eq(fw_file_peek(make("f", "", 0), head, 8, &n, NULL), FW_OK);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(fw_file_peek(make_gzip("f.gz", "abcdefghij", 10), head, 8, &n, NULL),
			 FW_OK);
	ck_assert(n == 8 && memcmp(head, "abcdefgh", 8) == 0);
	struct fw_error e;
	ck_assert_int_eq(fw_file_peek("-", head, 8, &n, &e), FW_UNSUPPORTED);
	ck_assert_str_eq(e.message, "standard input can be read only once");
}
END_TEST

START_TEST(dropped_pages_are_gone_and_the_rest_is_there)
{
	struct fw_file f;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 10 * page + 100;
	unsigned char *text = malloc(size), core[16];
	for (size_t i = 0; i < size; i++)
		text[i] = (unsigned char)(i * 7 + i / page);
	for (int packed = 0; packed <= 1; packed++) {
		const char *path = packed ? make_gzip("f.gz", text, size) : make("f", text, size);
		ck_assert_int_eq(fw_file_open(&f, path, size, NULL), FW_OK);
		fw_file_drop(&f, 0);
		fw_file_drop(&f, page - 1);
		ck_assert(memcmp(f.data, text, size) == 0);
		fw_file_drop(&f, 3 * page + 5);
		fw_file_drop(&f, page);
		ck_assert(mincore((void *)f.data, 3 * page, core) < 0 && errno == ENOMEM);
		ck_assert(memcmp(f.data + 3 * page, text + 3 * page, size - 3 * page) == 0);
		fw_file_drop(&f, 7 * page);
		ck_assert(memcmp(f.data + 7 * page, text + 7 * page, size - 7 * page) == 0);
		fw_file_drop(&f, UINT64_MAX);
		ck_assert(memcmp(f.data + 10 * page, text + 10 * page, 100) == 0);
		const uint8_t *data = f.data;
		fw_file_close(&f);
		ck_assert(mincore((void *)data, size, core) < 0 && errno == ENOMEM);
	}
	free(text);
}
END_TEST

START_TEST(large_files_are_mapped)
{
	struct fw_file f;
	const char *path = make("f", "start", 5);
	ck_assert_int_eq(truncate(path, (off_t)FW_READ_BELOW + 5), 0);	// sparse
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "end", 3, (off_t)FW_READ_BELOW + 2), 3);
	ck_assert_int_eq(fw_file_open(&f, path, 1, NULL), FW_OK);
	ck_assert_uint_eq(f.size, FW_READ_BELOW + 5);
	ck_assert_mem_eq(f.data, "start", 5);
	ck_assert_mem_eq(f.data + FW_READ_BELOW + 2, "end", 3);
	fw_file_drop(&f, FW_READ_BELOW);
	ck_assert_mem_eq(f.data + FW_READ_BELOW + 2, "end", 3);
	fw_file_close(&f);
	close(fd);
}
END_TEST

START_TEST(descriptor_stays_the_callers)
{
	struct fw_file f;
	struct fw_error e;
	int fds[2], fd = open(make("f", "0123", 4), O_RDONLY | O_CLOEXEC);
	char c;
	ck_assert_int_eq(read(fd, &c, 1), 1);
	ck_assert_int_eq(fw_file_open_fd(&f, fd, 0, NULL), FW_OK);	// whole, wherever it stands
	ck_assert(f.size == 4 && memcmp(f.data, "0123", 4) == 0);
	fw_file_close(&f);
	ck_assert(read(fd, &c, 1) == 1 && c == '1');
	close(fd);
	ck_assert_int_eq(fw_file_open_fd(&f, fd, 0, &e), FW_IO);
	ck_assert_str_eq(e.message, "cannot stat: Bad file descriptor");
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(fw_file_open_fd(&f, fds[0], 0, &e), FW_UNSUPPORTED);
	ck_assert_str_eq(e.message, "not a regular file");
	close(fds[0]);
	close(fds[1]);
}
END_TEST

static int replace_stdin(int fd)
{
	int saved = dup(STDIN_FILENO);
	ck_assert_int_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	close(fd);
	return saved;
}

static void restore_stdin(int saved)
{
	if (saved < 0) {
		close(STDIN_FILENO);
		return;
	}
	dup2(saved, STDIN_FILENO);
	close(saved);
}

enum { STREAM = 3000001 };

static void *feed(void *arg)
{
	int fd = *(int *)arg;
	static unsigned char text[STREAM];
	for (size_t i = 0; i < STREAM; i++)
		text[i] = (unsigned char)(i % 251);
	enum fw_code code = fw_write_all(fd, text, STREAM, NULL);
	close(fd);
	return code == FW_OK ? arg : NULL;
}

/** Open "-" on a pipe that a thread feeds; the reader's end does not block. */
static enum fw_code open_pipe(struct fw_file *f, uint64_t max, int flags, struct fw_error *err)
{
	int fds[2];
	pthread_t thread;
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe2(fds, flags), 0);
	int saved = replace_stdin(fds[0]);
	ck_assert_int_eq(pthread_create(&thread, NULL, feed, &fds[1]), 0);
	enum fw_code code = fw_file_open(f, "-", max, err);
	restore_stdin(saved);
	pthread_join(thread, NULL);
	return code;
}

START_TEST(pipe_is_read_to_its_end)
{
	for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
		struct fw_file f;
		ck_assert_int_eq(open_pipe(&f, STREAM, flags, NULL), FW_OK);
		ck_assert_uint_eq(f.size, STREAM);
		for (size_t i = 0; i < STREAM; i++)
			if (f.data[i] != i % 251)
				ck_abort_msg("byte %zu", i);
		ck_assert(!f.dev && !f.ino && !f.disk_size && !f.mtime_ns && !f.ctime_ns);
		fw_file_close(&f);
	}
}
END_TEST

START_TEST(pipe_has_a_limit)
{
	struct fw_file f;
	struct fw_error e;
	ck_assert_int_eq(open_pipe(&f, STREAM - 1, 0, &e), FW_LIMIT);
	ck_assert_str_eq(e.message, "larger than 3000000 bytes");
}
END_TEST

START_TEST(standard_input_may_be_a_file)
{
	struct fw_file f;
	struct fw_error e;
	int saved = replace_stdin(open(make("f", "0123", 4), O_RDONLY));
	ck_assert_int_eq(fw_file_open(&f, "-", 4, NULL), FW_OK);
	ck_assert(f.size == 4 && memcmp(f.data, "0123", 4) == 0 && !f.ino && !f.mtime_ns);
	fw_file_close(&f);
	char c;
	lseek(STDIN_FILENO, 0, SEEK_SET);
	ck_assert_int_eq(read(STDIN_FILENO, &c, 1), 1);
	ck_assert_int_eq(fw_file_open(&f, "-", 4, NULL), FW_OK);	// what is left of it
	ck_assert(f.size == 3 && memcmp(f.data, "123", 3) == 0);
	fw_file_close(&f);
	restore_stdin(saved);

	saved = replace_stdin(open(make_gzip("f.gz", "abc", 3), O_RDONLY));
	ck_assert_int_eq(fw_file_open(&f, "-", 3, NULL), FW_OK);
	ck_assert(f.compressed && f.size == 3 && memcmp(f.data, "abc", 3) == 0);
	fw_file_close(&f);
	restore_stdin(saved);

	saved = replace_stdin(open(dir, O_RDONLY));
	ck_assert_int_eq(fw_file_open(&f, "-", 3, &e), FW_UNSUPPORTED);
	ck_assert_str_eq(e.message, "is a directory");
	restore_stdin(saved);
}
END_TEST

START_TEST(write_all_reports_a_closed_pipe)
{
	struct fw_error e;
	int fds[2];
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(fds), 0);
	close(fds[0]);
	ck_assert_int_eq(fw_write_all(fds[1], "x", 0, &e), FW_OK);
	ck_assert_int_eq(fw_write_all(fds[1], "x", 1, &e), FW_IO);
	ck_assert_int_eq(e.os_errno, EPIPE);
	ck_assert_str_eq(e.message, "cannot write: Broken pipe");
	close(fds[1]);
}
END_TEST

START_TEST(allocation_failure_is_no_memory)
{
	struct fw_file f;
	struct fw_error e;
	const char *path = make("f", "0123", 4);
	fw_alloc_fail_at(1);
	ck_assert_int_eq(fw_file_open(&f, path, 4, &e), FW_NO_MEMORY);
	fw_alloc_fail_at(0);
	ck_assert_str_eq(e.message, "out of memory while reading");
}
END_TEST

Suite *file_suite(void)
{
	Suite *s = suite_create("file");
	TCase *tc = tcase_create("file");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, plain_file_with_its_identity);
	tcase_add_test(tc, empty_file_has_data);
	tcase_add_test(tc, files_of_proc_are_read_though_they_tell_no_size);
	tcase_add_test(tc, what_is_no_file_is_refused_without_blocking);
	tcase_add_test(tc, gzip_file_is_unpacked_whatever_its_name);
	tcase_add_test(tc, peek_shows_the_unpacked_start);
	tcase_add_test(tc, dropped_pages_are_gone_and_the_rest_is_there);
	tcase_add_test(tc, large_files_are_mapped);
	tcase_add_test(tc, descriptor_stays_the_callers);
	tcase_add_test(tc, pipe_is_read_to_its_end);
	tcase_add_test(tc, pipe_has_a_limit);
	tcase_add_test(tc, standard_input_may_be_a_file);
	tcase_add_test(tc, write_all_reports_a_closed_pipe);
	tcase_add_test(tc, allocation_failure_is_no_memory);
	suite_add_tcase(s, tc);
	return s;
}
