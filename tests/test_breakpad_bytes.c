#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "tests/synth_sym.h"

Suite *breakpad_bytes_suite(void);

static char *corpus_path(const char *rest)
{
	const char *corpus = getenv("CORPUS");
	char *path = NULL;
	if (corpus && asprintf(&path, "%s/%s", corpus, rest) > 0)
		return path;
	return NULL;
}

// ---- bytes ----

START_TEST(line_ends_of_all_kinds)	// traps 26, 46
{
	static const char *const ends[] = { "\n", "\r\n", "\r\r\n", "\n\n\n", "\r\n\r\n" };
	for (size_t i = 0; i < 5; i++) {
		char text[1000];
		const char *e = ends[i];
		snprintf(text, sizeof(text),
			 "MODULE Linux x86_64 34E0DBEBEE9EFA94A1B8B0BCFF308D490 a%s"
			 "FILE 0 a.c%sINLINE_ORIGIN 0 in%sFUNC 1000 20 0 f%s1000 10 1 0%s"
			 "INLINE 0 2 0 0 1000 8%sSTACK CFI INIT 1000 20 " RULES "%s"
			 "STACK CFI 1004 .cfa: $rsp 16 +%sPUBLIC 2000 0 p",
			 e, e, e, e, e, e, e, e);
		struct fw_image *image = synth_sym(text);
		ck_assert_str_eq(image->name, "a");
		ck_assert_str_eq(synth_name(image, 0x1000), "f+0");
		ck_assert_str_eq(synth_line(image, 0x1000), "a.c:1@1000");
		ck_assert_str_eq(synth_calls(image, 0x1000), "in<-a.c:2");
		ck_assert_str_eq(synth_rules(image, 0x1004), ".cfa: $rsp 16 + .ra: .cfa -8 + ^");
		ck_assert_str_eq(synth_name(image, 0x2000), "p+0");	// no final newline
		ck_assert_str_eq(synth_diag(image), "");
		fw_image_destroy(image);
	}
}
END_TEST

START_TEST(names_hold_any_bytes)	// NUL and 0xff: Breakpad's weakness 8
{
	static const char text[] = AMD64 "FUNC 1000 10 0 a\0b\n" "FUNC 1010 10 0 c\xff\xfe" "d\n"
		"FUNC 1020 10 0  two  blanks \n" "FUNC 1030 10 0 tab\there\n" "\0\n"
		"FUNC 1040 10 0 gr\xc3\xbc\xc3\x9f\n";
	struct fw_image *image = synth_sym_bytes(text, sizeof(text) - 1);
	struct fw_str name = fw_image_string(image, fw_image_func(image, 0x1000)->name);
	ck_assert_uint_eq(name.n, 3);
	ck_assert_mem_eq(name.s, "a\0b", 3);
	ck_assert_str_eq(synth_name(image, 0x1010), "c\xff\xfe" "d+0");
	ck_assert_str_eq(synth_name(image, 0x1020), "two  blanks +0");
	ck_assert_str_eq(synth_name(image, 0x1030), "tab\there+0");
	ck_assert_str_eq(synth_name(image, 0x1040), "gr\xc3\xbc\xc3\x9f+0");
	ck_assert_str_eq(synth_diag(image), "unknown 1 (6)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(blanks_and_tabs_between_fields)
{
	struct fw_image *image = synth_sym(AMD64
		"FILE  3\t a.c\n"
		"INLINE_ORIGIN\t0  in\n"
		"FUNC  m  1000\t 20  0  f\n"
		"1000  8 1 3\n"
		"1008 8 2 3 \n"
		"1010\t8\t3\t3\n"
		"INLINE  0 2  3 0 1000  8\n"
		"STACK  CFI   INIT 1000  20   " RULES "\n"
		"PUBLIC   2000  0   p\n"
		"   \n");
	ck_assert_str_eq(synth_name(image, 0x1000), "f+0");
	ck_assert_str_eq(synth_line(image, 0x1000), "a.c:1@1000");
	ck_assert_str_eq(synth_line(image, 0x1008), "a.c:2@1008");
	ck_assert_str_eq(synth_line(image, 0x1010), "a.c:3@1010");
	ck_assert_str_eq(synth_calls(image, 0x1000), "in<-a.c:2");
	ck_assert_str_eq(synth_rules(image, 0x1000), RULES);
	ck_assert_str_eq(synth_name(image, 0x2000), "p+0");
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(records_need_their_whole_word)
{
	struct fw_image *image = synth_sym(AMD64
		"FUNCTION 1000 10 0 f\n" "func 1000 10 0 f\n" " FUNC 1000 10 0 f\n"
		"PUBLICS 1000 0 p\n" "FILES 0 a\n" "INLINES 0\n" "STACKS 0\n" "# comment\n"
		"FUNC\n" "PUBLIC\n" "FILE\n" "INLINE_ORIGIN\n" "INFO\n");
	ck_assert_str_eq(synth_name(image, 0x1000), "-");
	ck_assert_str_eq(synth_diag(image),
			 "malformed 4 (10 11 12 13) unknown 8 (2 3 4 5 6 7 8 9)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(long_lines)	// trap 47: names of 200 KiB exist
{
	enum { LONG = FW_MAX_SYM_LINE };
	size_t room = 2 * (size_t)LONG + 1000, n;
	char *text = malloc(room);
	ck_assert_ptr_nonnull(text);
	// one of the largest size that is read, then one of a byte more
	n = (size_t)snprintf(text, room, AMD64 "FILE 0 a.c\nFUNC 1000 10 0 ");
	size_t start = n - strlen("FUNC 1000 10 0 ");
	memset(text + n, 'x', LONG - (n - start));
	n = start + LONG;
	n += (size_t)snprintf(text + n, room - n, "\n1000 8 1 0\n");
	start = n;
	n += (size_t)snprintf(text + n, room - n, "FUNC 1008 8 0 ");
	memset(text + n, 'y', LONG + 1 - (n - start));
	n = start + LONG + 1;
	n += (size_t)snprintf(text + n, room - n, "\n1008 8 2 0\nFUNC 2000 10 0 f\n2000 10 3 0\n");
	struct fw_image *image = synth_sym_bytes(text, n);
	const struct fw_func *f = fw_image_func(image, 0x1000);
	ck_assert_uint_eq(fw_image_string(image, f->name).n, LONG - strlen("FUNC 1000 10 0 "));
	ck_assert_str_eq(synth_line(image, 0x1000), "a.c:1@1000");
	// the lines of the one that is too long are nobody's
	ck_assert_str_eq(synth_line(image, 0x1008), "-");
	ck_assert_str_eq(synth_line(image, 0x2000), "a.c:3@2000");
	ck_assert_str_eq(synth_diag(image), "limit 1 (5)");
	fw_image_destroy(image);
	free(text);
}
END_TEST

START_TEST(long_last_line_without_an_end)
{
	size_t n = FW_MAX_SYM_LINE + strlen(AMD64);
	char *text = malloc(n);
	ck_assert_ptr_nonnull(text);
	memset(text, 'x', n);
	memcpy(text, AMD64, strlen(AMD64));
	struct fw_image *image = synth_sym_bytes(text, n);
	ck_assert_str_eq(synth_diag(image), "unknown 1 (2)");
	fw_image_destroy(image);
	memset(text, 'x', n);
	image = synth_sym_bytes(text, n);
	ck_assert_str_eq(synth_diag(image), "limit 1 (1)");
	fw_image_destroy(image);
	free(text);
}
END_TEST

static const struct { const char *bytes; size_t n; const char *message; } foreign_cases[] = {
#define BYTES(s) s, sizeof(s) - 1
	{ BYTES("\xff\xfeM\0O\0D\0U\0L\0E\0"), "not a Breakpad symbol file but UTF-16 text" },
	{ BYTES("\xfe\xff\0M\0O\0D"), "not a Breakpad symbol file but UTF-16 text" },
	{ BYTES("M\0O\0D\0U\0L\0E\0"), "not a Breakpad symbol file but UTF-16 text" },
	{ BYTES("\0M\0O\0D\0U\0L\0E"), "not a Breakpad symbol file but UTF-16 text" },
	{ BYTES("\177ELF\2\1\1"), "not a Breakpad symbol file but an ELF file" },
	{ BYTES("MZ\220\0\3"), "not a Breakpad symbol file but a Windows program" },
	{ BYTES("Microsoft C/C++ MSF 7.00\r\n\032DS\0\0"),
	  "not a Breakpad symbol file but a PDB file" },
	{ BYTES("MDMP\223\247\0\0"), "not a Breakpad symbol file but a minidump" },
	{ BYTES("<!DOCTYPE html>\n"), "not a Breakpad symbol file but an HTML or XML page" },
	{ BYTES("{\"error\": 404}"), "not a Breakpad symbol file but JSON" },
	{ BYTES("PK\3\4\24"), "not a Breakpad symbol file but a ZIP file" },
	{ BYTES("MSCF\0\0\0\0"), "not a Breakpad symbol file but a cabinet file" },
	{ BYTES("\1\2\3\4\5"), "not a Breakpad symbol file but binary data" },
};

START_TEST(other_files_are_refused_by_name)
{
	struct fw_error err = { 0 };
	struct fw_image *image = (struct fw_image *)&err;
	struct fw_str text = { foreign_cases[_i].bytes, foreign_cases[_i].n };
	ck_assert_int_eq(fw_sym_load_text(text, &image, &err), FW_UNSUPPORTED);
	ck_assert_str_eq(err.message, foreign_cases[_i].message);
	ck_assert_str_eq(err.place, "");
	ck_assert_ptr_eq(image, &err);
}
END_TEST

START_TEST(empty_file_is_an_empty_image)
{
	static const char *const texts[] = { "", "\n", "\xef\xbb\xbf", "\r\n\r\n" };
	for (size_t i = 0; i < 4; i++) {
		struct fw_image *image = synth_sym(texts[i]);
		ck_assert_str_eq(synth_name(image, 0), "-");
		ck_assert_str_eq(synth_name(image, UINT32_MAX), "-");
		ck_assert_str_eq(synth_rules(image, 0), "-");
		ck_assert_str_eq(synth_win(image, 0), "-");
		ck_assert_ptr_null(fw_image_string(image, 0).s);
		ck_assert_str_eq(synth_diag(image), "");
		fw_image_destroy(image);
	}
}
END_TEST

START_TEST(more_than_100_errors)	// trap 26: Breakpad stops there
{
	char text[20000];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", AMD64);
	for (int i = 0; i < 300; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "FUNC bad%d\n", i);
	snprintf(text + n, sizeof(text) - n, "FUNC 1000 10 0 f\n");
	struct fw_image *image = synth_sym(text);
	ck_assert_str_eq(synth_name(image, 0x1000), "f+0");
	ck_assert_str_eq(synth_diag(image), "malformed 300 (2 3 4 5 6 7 8 9)");
	fw_image_destroy(image);
}
END_TEST

static const char small[] = AMD64
	ORIGINS
	"FUNC 1000 40 0 f\nINLINE 0 10 0 0 1000 20\nINLINE 1 11 1 1 1004 8 1010 4\n"
	"1000 8 1 0\n1020 8 3 0\n1008 8 2 0\nFUNC 1020 10 0 g\n1020 8 1 0\n"
	"FUNC 900 10 0 h\nPUBLIC 3000 0 p\nPUBLIC 2000 0 q\n"
	"STACK CFI INIT 1000 40 " RULES "\nSTACK CFI 1008 .cfa: $rsp 16 8 * 3 + $rbx: $rax\n"
	"STACK CFI INIT 0 40 " RULES "\nSTACK CFI 8 .cfa: $rsp 16 + $rbx: nosuch\n"
	"STACK WIN 4 1000 c3 9 2 8 c 14 40 1 $T0 $ebp = $eip $T0 4 + ^ =\n"
	"STACK WIN 0 2000 10 1 0 4 0 0 0 0 1\n";

START_TEST(every_prefix_of_a_file)
{
	for (size_t n = 0; n < sizeof(small); n++) {
		// in memory of its own, so that a read behind it is seen
		char *copy = malloc(n + 1);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, small, n);
		struct fw_image *image = NULL;
		struct fw_error err = { 0 };
		enum fw_code code = fw_sym_load_text((struct fw_str){ copy, n }, &image, &err);
		// less than a MODULE line is no symbol file
		ck_assert(code == FW_OK || (code == FW_UNSUPPORTED && n < 80));
		if (code == FW_OK)
			ck_assert_int_eq(fw_image_check(image, &err), FW_OK);
		free(copy);
		fw_image_destroy(image);
	}
}
END_TEST

START_TEST(every_byte_of_a_file_changed)
{
	static const uint8_t values[] = { 0, '\n', ' ', '0', 'f', 0xff };
	for (size_t i = 0; i < sizeof(small) - 1; i++)
		for (size_t v = 0; v < sizeof(values); v++) {
			char copy[sizeof(small)];
			struct fw_image *image;
			struct fw_error err = { 0 };
			memcpy(copy, small, sizeof(small));
			copy[i] = (char)values[v];
			struct fw_str text = { copy, sizeof(small) - 1 };
			if (fw_sym_load_text(text, &image, &err) != FW_OK) {
				ck_assert_uint_lt(i, 8);
				continue;
			}
			ck_assert_msg(fw_image_check(image, &err) == FW_OK, "%zu: %s", i,
				      err.message);
			fw_image_destroy(image);
		}
}
END_TEST

START_TEST(whichever_allocation_fails)
{
	struct fw_str text = { small, sizeof(small) - 1 };
	for (uint64_t nth = 1;; nth++) {
		struct fw_error err = { 0 };
		struct fw_image *image = NULL;
		fw_alloc_fail_at(nth);
		enum fw_code code = fw_sym_load_text(text, &image, &err);
		fw_alloc_fail_at(0);
		if (code == FW_OK) {
			ck_assert_uint_gt(nth, 30);
			fw_image_destroy(image);
			break;
		}
		ck_assert_int_eq(code, FW_NO_MEMORY);
		ck_assert_str_eq(err.message, "out of memory");
		ck_assert_ptr_null(image);
		ck_assert_uint_lt(nth, 1000);
	}
}
END_TEST

// ---- corpus ----

START_TEST(corpus_files_give_sound_images)
{
	static const struct { const char *path; uint32_t funcs, publics; } files[] = {
		// counted with grep -c '^FUNC' and the distinct PUBLIC addresses
		{ "loading/crash-client.sym", 1996, 40 },
		{ "minidumps/windows-x86/symbols/test_app.pdb/5A9832E5287241C1838ED98914E9B7FF1/"
		  "test_app.sym", 1065, 0 },
		{ "minidumps/linux-inline/symbols-new/linux_inline/"
		  "BBA6FA10B8AAB33D00000000000000000/linux_inline.sym", 1, 0 },
	};
	char *path = corpus_path(files[_i].path);
	struct fw_file file;
	struct fw_image *image;
	struct fw_error err = { 0 };
	if (!path || fw_file_open(&file, path, FW_MAX_INPUT, &err) == FW_IO) {
		free(path);
		return;
	}
	enum fw_code code = fw_sym_load(&file, &image, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	fw_file_close(&file);
	code = fw_image_check(image, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	ck_assert_uint_eq(fw_image_count(image, FW_SEC_FUNCS, sizeof(struct fw_func)),
			  files[_i].funcs);
	if (files[_i].publics)
		ck_assert_uint_eq(fw_image_count(image, FW_SEC_PUBLICS, sizeof(struct fw_public)),
				  files[_i].publics);
	ck_assert_uint_eq(image->diag.count[FW_DIAG_MALFORMED], 0);
	ck_assert_uint_eq(image->diag.count[FW_DIAG_UNKNOWN], 0);
	fw_image_destroy(image);
	free(path);
}
END_TEST

Suite *breakpad_bytes_suite(void)
{
	Suite *s = suite_create("breakpad_bytes");
	TCase *tc = tcase_create("breakpad_bytes");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, line_ends_of_all_kinds);
	tcase_add_test(tc, names_hold_any_bytes);
	tcase_add_test(tc, blanks_and_tabs_between_fields);
	tcase_add_test(tc, records_need_their_whole_word);
	tcase_add_test(tc, long_lines);
	tcase_add_test(tc, long_last_line_without_an_end);
	tcase_add_loop_test(tc, other_files_are_refused_by_name, 0,
			    sizeof(foreign_cases) / sizeof(*foreign_cases));
	tcase_add_test(tc, empty_file_is_an_empty_image);
	tcase_add_test(tc, more_than_100_errors);
	tcase_add_test(tc, every_prefix_of_a_file);
	tcase_add_test(tc, every_byte_of_a_file_changed);
	tcase_add_test(tc, whichever_allocation_fails);
	tcase_add_loop_test(tc, corpus_files_give_sound_images, 0, 3);
	suite_add_tcase(s, tc);
	return s;
}
