#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/base/arena.h"
#include "lib/base/out.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *out_suite(void);

static void check_text(struct fw_out *o, const char *want, size_t n)
{
	struct fw_error e;
	ck_assert_int_eq(fw_out_flush(o, &e), FW_OK);
	ck_assert_uint_eq(o->count, n);
	ck_assert_mem_eq(o->data, want, n);
	o->count = 0;
}

START_TEST(numbers_agree_with_the_c_library)
{
	static const uint64_t values[] = {
		0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 65535, 65536, 1234567890,
		UINT32_MAX, UINT64_C(1) << 32, 999999999999999999, INT64_MAX, UINT64_MAX - 1,
		UINT64_MAX, 0xf, 0x10, 0xabcdef, 0x7fffdeadbeef,
	};
	struct fw_out o;
	char want[64];
	fw_out_init_memory(&o, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		fw_out_dec(&o, values[i]);
		int n = snprintf(want, sizeof(want), "%" PRIu64, values[i]);
		check_text(&o, want, (size_t)n);
		for (unsigned width = 0; width < 40; width++) {
			fw_out_hex(&o, values[i], width);
			n = snprintf(want, sizeof(want), "%0*" PRIx64, (int)width, values[i]);
			check_text(&o, want, (size_t)n);
		}
	}
	for (uint64_t v = 1, k = 0; k < 20; k++, v *= 10)	// every length, both sides
		for (int d = -1; d <= 0; d++) {
			fw_out_dec(&o, v + (uint64_t)d);
			int n = snprintf(want, sizeof(want), "%" PRIu64, v + (uint64_t)d);
			check_text(&o, want, (size_t)n);
		}
	fw_out_deinit(&o);
}
END_TEST

START_TEST(memory_grows_up_to_its_maximum)
{
	struct fw_error e;
	struct fw_out o;
	fw_out_init_memory(&o, 10);
	fw_out_write(&o, NULL, 0);
	fw_out_lit(&o, "abcde");
	fw_out_str(&o, FW_STR("fghi"));
	fw_out_byte(&o, 'j');
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_OK);
	fw_out_byte(&o, 'k');
	ck_assert_int_eq(o.failed, EFBIG);
	fw_out_cstr(&o, "l");
	fw_out_dec(&o, 1);
	fw_out_hex(&o, 1, 1);
	fw_out_hex(&o, 1, 20);
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_LIMIT);
	ck_assert_str_eq(e.message, "output larger than 10 bytes");
	ck_assert_uint_eq(o.count, 10);
	ck_assert_mem_eq(o.data, "abcdefghij", 10);
	fw_out_deinit(&o);
	fw_out_deinit(&o);
}
END_TEST

START_TEST(after_a_failure_everything_is_dropped)
{
	struct fw_out o;
	fw_out_init_memory(&o, 100);
	fw_out_lit(&o, "ab");
	for (int i = 0; i < 99; i++)	// too large, although smaller things would still fit
		fw_out_cstr(&o, "0123456789012345678901234567890");
	fw_out_byte(&o, 'x');
	ck_assert_uint_eq(o.count, 2 + 3 * 31);
	fw_out_deinit(&o);
}
END_TEST

static size_t read_back(int fd, char *buffer, size_t size)
{
	size_t n = 0;
	ssize_t got;
	while ((got = pread(fd, buffer + n, size - n, (off_t)n)) > 0)
		n += (size_t)got;
	return n;
}

START_TEST(descriptor_gets_all_bytes_in_order)
{
	FILE *f = tmpfile();
	ck_assert_ptr_nonnull(f);
	int fd = fileno(f);
	struct fw_out o;
	struct fw_error e;
	static char big[300000], got[1000000];
	static const size_t sizes[] = { 1, 65535, 1, 65536, 100, 65436, 3, 300000, 5, 65537, 0, 7 };
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 31 + i / 1000);
	ck_assert_int_eq(fw_out_init_fd(&o, fd, &e), FW_OK);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		fw_out_write(&o, big + i, sizes[i] - (sizes[i] == sizeof(big) ? i : 0));
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_OK);
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_OK);
	size_t n = read_back(fd, got, sizeof(got)), at = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i] - (sizes[i] == sizeof(big) ? i : 0);
		ck_assert(at + size <= n && memcmp(got + at, big + i, size) == 0);
		at += size;
	}
	ck_assert_uint_eq(at, n);
	fw_out_deinit(&o);
	fclose(f);
}
END_TEST

START_TEST(full_device_is_reported_once_and_for_all)
{
	struct fw_out o;
	struct fw_error e;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ck_assert_int_eq(fw_out_init_fd(&o, fd, &e), FW_OK);
	for (int i = 0; i < 100000; i++)
		fw_out_lit(&o, "some text\n");
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_IO);
	ck_assert_int_eq(e.os_errno, ENOSPC);
	ck_assert_str_eq(e.message, "cannot write: No space left on device");
	ck_assert_int_eq(fw_out_flush(&o, NULL), FW_IO);
	fw_out_deinit(&o);
	close(fd);
}
END_TEST

START_TEST(closed_pipe_is_epipe)
{
	struct fw_out o;
	struct fw_error e;
	int fds[2];
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(fds), 0);
	close(fds[0]);
	ck_assert_int_eq(fw_out_init_fd(&o, fds[1], &e), FW_OK);
	fw_out_lit(&o, "x");
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_IO);
	ck_assert_int_eq(e.os_errno, EPIPE);
	ck_assert_str_eq(e.message, "cannot write: Broken pipe");
	fw_out_deinit(&o);
	close(fds[1]);
}
END_TEST

static const struct {
	const char *text, *want;
} safe_cases[] = {
	{ "", "" },
	{ "plain ~text", "plain ~text" },
	{ "\x1b[31mred\x7f\n\t", "\\x1b[31mred\\x7f\\x0a\\x09" },
	{ "d\xc3\xa9j\xc3\xa0 \xe2\x82\xac \xf0\x9f\x98\x80",
	  "d\xc3\xa9j\xc3\xa0 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "\xc2\x9b" "31m\xc2\xa0", "\\xc2\\x9b31m\xc2\xa0" },		// C1 CSI, no-break space
	{ "\x9b" "31m", "\\x9b31m" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "\xf0\x9f\x98", "\\xf0\\x9f\\x98" },			// cut short
	{ "a\\x41", "a\\x41" },
	// directions of writing and line separators; their neighbours are text
	{ "\xe2\x80\xae" "exe\xe2\x81\xa6", "\\xe2\\x80\\xaeexe\\xe2\\x81\\xa6" },
	{ "\xe2\x80\x8e\xe2\x80\xa8", "\\xe2\\x80\\x8e\\xe2\\x80\\xa8" },
	{ "\xe2\x80\x8d\xe2\x80\xa6\xe2\x80\xaf", "\xe2\x80\x8d\xe2\x80\xa6\xe2\x80\xaf" },
};

START_TEST(safe_text_cannot_steer_a_terminal)
{
	struct fw_out o;
	fw_out_init_memory(&o, 1000);
	fw_out_safe(&o, safe_cases[_i].text, strlen(safe_cases[_i].text));
	check_text(&o, safe_cases[_i].want, strlen(safe_cases[_i].want));
	fw_out_safe(&o, NULL, 0);
	fw_out_safe(&o, "\0", 1);
	check_text(&o, "\\x00", 4);
	fw_out_deinit(&o);
}
END_TEST

START_TEST(printf_results_up_to_4_kib)
{
	struct fw_out o;
	char want[5000];
	fw_out_init_memory(&o, 10000);
	fw_out_printf(&o, "%s %5.1f%%", "x", 12.34);
	check_text(&o, "x  12.3%", 8);
	memset(want, ' ', sizeof(want));
	want[4095] = '7';
	fw_out_printf(&o, "%4096d", 7);
	check_text(&o, want, 4096);
	fw_out_deinit(&o);
}
END_TEST

START_TEST(output_stays_valid_whichever_allocation_fails)
{
	struct fw_error e;
	for (uint64_t nth = 1;; nth++) {
		struct fw_out o;
		fw_out_init_memory(&o, SIZE_MAX);
		fw_alloc_fail_at(nth);
		size_t before = 0;
		for (int i = 0; i < 1000 && !o.failed; i++) {
			before = o.count;
			fw_out_lit(&o, "0123456789");
		}
		fw_alloc_fail_at(0);
		if (!o.failed) {
			fw_out_deinit(&o);
			break;
		}
		ck_assert_uint_eq(o.count, before);
		ck_assert_int_eq(fw_out_flush(&o, &e), FW_NO_MEMORY);
		ck_assert_str_eq(e.message, "out of memory");
		for (size_t i = 0; i < o.count; i++)
			ck_assert_int_eq(o.data[i], '0' + (char)(i % 10));
		fw_out_deinit(&o);
		ck_assert_uint_le(nth, 20);
	}
	struct fw_out o;
	fw_alloc_fail_at(1);
	ck_assert_int_eq(fw_out_init_fd(&o, 1, &e), FW_NO_MEMORY);
	ck_assert_str_eq(e.message, "out of memory");
}
END_TEST

// zlib's own reader gets back what was written, before and after the switch, in one member.
START_TEST(gzip_is_what_zlib_reads)
{
	char path[] = "/tmp/framewalk-test-XXXXXX";
	int fd = mkstemp(path);
	struct fw_out o;
	struct fw_error e;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fw_out_init_fd(&o, fd, &e), FW_OK);
	ck_assert_int_eq(fw_out_gzip(&o, &e), FW_OK);
	for (unsigned i = 0; i < 300000; i++)
		fw_out_printf(&o, "line %u\n", i * 2654435761u);
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_OK);
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_OK);	// nothing more comes of it
	fw_out_deinit(&o);
	close(fd);
	gzFile in = gzopen(path, "rb");
	ck_assert_ptr_nonnull(in);
	char line[64], want[64];
	for (unsigned i = 0; i < 300000; i++) {
		snprintf(want, sizeof(want), "line %u\n", i * 2654435761u);
		ck_assert_ptr_nonnull(gzgets(in, line, sizeof(line)));
		ck_assert_str_eq(line, want);
	}
	ck_assert_ptr_null(gzgets(in, line, sizeof(line)));
	ck_assert_int_eq(gzclose(in), Z_OK);
	unlink(path);
}
END_TEST

START_TEST(gzip_reports_a_full_device)
{
	int fd = open("/dev/full", O_WRONLY);
	struct fw_out o;
	struct fw_error e;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fw_out_init_fd(&o, fd, &e), FW_OK);
	ck_assert_int_eq(fw_out_gzip(&o, &e), FW_OK);
	fw_out_lit(&o, "text");
	ck_assert_int_eq(fw_out_flush(&o, &e), FW_IO);
	ck_assert_str_eq(e.message, "cannot write: No space left on device");
	fw_out_deinit(&o);
	close(fd);
	fw_alloc_fail_at(2);
	ck_assert_int_eq(fw_out_init_fd(&o, 1, &e), FW_OK);
	ck_assert_int_eq(fw_out_gzip(&o, &e), FW_NO_MEMORY);
	ck_assert_str_eq(e.message, "out of memory");
	fw_alloc_fail_at(0);
	fw_out_deinit(&o);
}
END_TEST

Suite *out_suite(void)
{
	Suite *s = suite_create("out");
	TCase *tc = tcase_create("out");
	tcase_add_test(tc, numbers_agree_with_the_c_library);
	tcase_add_test(tc, memory_grows_up_to_its_maximum);
	tcase_add_test(tc, after_a_failure_everything_is_dropped);
	tcase_add_test(tc, descriptor_gets_all_bytes_in_order);
	tcase_add_test(tc, full_device_is_reported_once_and_for_all);
	tcase_add_test(tc, closed_pipe_is_epipe);
	tcase_add_test(tc, gzip_is_what_zlib_reads);
	tcase_add_test(tc, gzip_reports_a_full_device);
	tcase_add_loop_test(tc, safe_text_cannot_steer_a_terminal, 0, ARRAY_SIZE(safe_cases));
	tcase_add_test(tc, printf_results_up_to_4_kib);
	tcase_add_test(tc, output_stays_valid_whichever_allocation_fails);
	suite_add_tcase(s, tc);
	return s;
}
