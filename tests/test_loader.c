#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/loader_tricks.h"
#include "tests/synth_folder.h"

Suite *loader_suite(void);

static const char SOURCE[] =
	"static __attribute__((noinline)) int inner(int x) { return x * 3; }\n"
	"int outer(int x) { return inner(x) + 1; }\n"
	"int main(void) { return outer(2); }\n";

static void run(const char *format, const char *dir)
{
	char command[2048];
	snprintf(command, sizeof(command), "cd '%s' && %s", dir, format);
	ck_assert_msg(system(command) == 0, "%s", command);
}

/** A program compiled here; the folder holds what @p after makes of it. */
static void make_program(struct folder *f, const char *flags, const char *after)
{
	char command[1024];
	folder_make(f);
	folder_write(f, "a.c", SOURCE, strlen(SOURCE));
	snprintf(command, sizeof(command), "gcc -g %s -o a.out a.c && %s", flags, after);
	run(command, folder_path(f, "."));
}

static bool has_name(const struct fw_image *image, const char *want)
{
	uint32_t n = fw_image_count(image, FW_SEC_STRING_OFFSETS, sizeof(uint32_t));
	for (uint32_t i = 0; i + 1 < n; i++) {
		struct fw_str s = fw_image_string(image, i);
		if (s.n == strlen(want) && memcmp(s.s, want, s.n) == 0)
			return true;
	}
	return false;
}

START_TEST(a_program_is_compiled)
{
	struct folder f;
	struct fw_image *image = NULL;
	struct fw_error err = { 0 };
	make_program(&f, "-O1", "true");
	char *path = strdup(folder_path(&f, "a.out"));
	struct fw_loader_request q = { .elf = path };
	ck_assert_msg(fw_loader_compile(&q, &image, &err) == FW_OK, "%s", err.message);
	ck_assert(image->debug_id.n == 33);
	ck_assert(has_name(image, "outer"));
	ck_assert(has_name(image, "_start"));
	fw_image_destroy(image);
	free(path);
	folder_remove(&f);
}
END_TEST

START_TEST(names_come_from_the_debug_file)
{
	struct folder f;
	struct fw_image *image = NULL;
	struct fw_error err = { 0 };
	make_program(&f, "-O1", "objcopy --only-keep-debug a.out a.debug && strip a.out");
	char *path = strdup(folder_path(&f, "a.out")), *debug = strdup(folder_path(&f, "a.debug"));
	struct fw_loader_request q = { .elf = path };
	ck_assert_msg(fw_loader_compile(&q, &image, &err) == FW_OK, "%s", err.message);
	ck_assert(!has_name(image, "outer"));
	fw_image_destroy(image);
	q.debug = debug;
	ck_assert_msg(fw_loader_compile(&q, &image, &err) == FW_OK, "%s", err.message);
	ck_assert(has_name(image, "outer"));
	ck_assert(has_name(image, "inner"));
	fw_image_destroy(image);
	free(path);
	free(debug);
	folder_remove(&f);
}
END_TEST

START_TEST(a_child_that_misbehaves_costs_its_module)
{
	struct fw_loader_request q = { .elf = "/proc/self/exe" };
	const char *trick = ends[_i].trick;
	struct fw_loader_limits limits = trick_limits(trick);
	struct fw_image *image = NULL;
	struct fw_error err = { 0 };
	if (!trick_works(trick))
		return;
	ck_assert_int_eq(fw_loader_run(&q, &limits, &image, &err), ends[_i].code);
	ck_assert_str_eq(err.message, ends[_i].message);
	ck_assert_ptr_null(image);
}
END_TEST

START_TEST(a_debug_file_that_breaks_the_loader_is_left_out)
{
	struct folder f;
	struct fw_image *image = NULL;
	struct fw_error err = { 0 };
	char note[256] = "?";
	make_program(&f, "-O1", "objcopy --only-keep-debug a.out a.debug");
	char *path = strdup(folder_path(&f, "a.out")), *debug = strdup(folder_path(&f, "a.debug"));
	struct fw_loader_request q = { .elf = path };
	struct fw_loader_limits limits = {
		.cpu_seconds = 10, .wall_seconds = 30, .memory = 512 << 20, .trick = "choke",
	};
	ck_assert_msg(fw_loader_run_twice(&q, &limits, &image, note, sizeof(note), &err) == FW_OK,
		      "%s", err.message);
	ck_assert_str_eq(note, "");
	fw_image_destroy(image);
	q.debug = debug;
	image = NULL;
	ck_assert_msg(fw_loader_run_twice(&q, &limits, &image, note, sizeof(note), &err) == FW_OK,
		      "%s", err.message);
	ck_assert_str_eq(note, "without its debug file: loader: killed by signal 6");
	ck_assert(has_name(image, "outer"));	// the program has names of its own
	fw_image_destroy(image);
	// nothing helps: the first reason
	limits.trick = "mute";
	ck_assert_int_eq(fw_loader_run_twice(&q, &limits, &image, note, sizeof(note), &err), FW_IO);
	ck_assert_str_eq(err.message, "loader: ended without an answer, status 7");
	free(path);
	free(debug);
	folder_remove(&f);
}
END_TEST

START_TEST(what_cannot_be_read)
{
	struct fw_image *image = NULL;
	struct fw_error err = { 0 };
	struct fw_loader_request none = { .elf = "/nonexistent/x" }, folder = { .elf = "/" },
				 text = { .elf = "/etc/passwd" };
	ck_assert_int_eq(fw_loader_compile(&none, &image, &err), FW_IO);
	ck_assert_str_eq(err.message, "cannot open: No such file or directory");
	ck_assert_int_eq(fw_loader_compile(&folder, &image, &err), FW_UNSUPPORTED);
	ck_assert_str_eq(err.message, "not a regular file");
	ck_assert_int_eq(fw_loader_compile(&text, &image, &err), FW_UNSUPPORTED);
	ck_assert_str_eq(err.message, "not an ELF file");
}
END_TEST

Suite *loader_suite(void)
{
	Suite *s = suite_create("loader");
	TCase *tc = tcase_create("loader");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_program_is_compiled);
	tcase_add_test(tc, names_come_from_the_debug_file);
	tcase_add_loop_test(tc, a_child_that_misbehaves_costs_its_module, 0,
			    sizeof(ends) / sizeof(*ends));
	tcase_add_test(tc, a_debug_file_that_breaks_the_loader_is_left_out);
	tcase_add_test(tc, what_cannot_be_read);
	suite_add_tcase(s, tc);
	return s;
}
