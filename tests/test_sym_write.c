#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <ftw.h>
#include <stdio.h>

#include "lib/rules/cfi_walk.h"
#include "lib/rules/win_print.h"
#include "symfiles/breakpad.h"
#include "symfiles/elf_image.h"
#include "symfiles/sym_write.h"

Suite *sym_write_suite(void);

enum { MAX_TEXT = 1 << 30, MAX_INLINES = 256 };

static struct fw_image *read_text(struct fw_str text)
{
	struct fw_image *image = NULL;
	ck_assert_int_eq(fw_sym_load_text(text, &image, NULL), FW_OK);
	return image;
}

/** The image written; out->data is the text. */
static void write_image(const struct fw_image *image, struct fw_out *out)
{
	struct fw_error err = { 0 };
	fw_out_init_memory(out, MAX_TEXT);
	enum fw_code code = fw_sym_write(image, "unnamed", out, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	ck_assert_int_eq(out->failed, 0);
}

/** 60 bytes of each from a little before where they differ. */
static void check_str(struct fw_str a, struct fw_str b, const char *what, uint32_t at)
{
	size_t i = 0;
	while (i < a.n && i < b.n && a.s[i] == b.s[i])
		i++;
	size_t from = i < 20 ? 0 : i - 20;
	ck_assert_msg(i == a.n && i == b.n, "%s at 0x%x, byte %zu: '%.60s' became '%.60s'", what,
		      at, i, a.n ? a.s + from : "", b.n ? b.s + from : "");
}

static void check_inlines(const struct fw_image *a, const struct fw_image *b,
			  const struct fw_func *fa, const struct fw_func *fb, uint32_t at)
{
	const struct fw_inline *ia[MAX_INLINES], *ib[MAX_INLINES];
	uint32_t na = fw_image_inlines(a, fa, at, ia, MAX_INLINES);
	uint32_t nb = fw_image_inlines(b, fb, at, ib, MAX_INLINES);
	ck_assert_msg(na == nb, "0x%x: %u inlined calls became %u", at, na, nb);
	for (uint32_t i = 0; i < na; i++) {
		ck_assert_uint_eq(ia[i]->call_line, ib[i]->call_line);
		check_str(fw_image_numbered(a, FW_SEC_ORIGINS, ia[i]->origin),
			  fw_image_numbered(b, FW_SEC_ORIGINS, ib[i]->origin), "origin", at);
		check_str(fw_image_numbered(a, FW_SEC_FILES, ia[i]->call_file),
			  fw_image_numbered(b, FW_SEC_FILES, ib[i]->call_file), "call file", at);
	}
}

static void check_names(const struct fw_image *a, const struct fw_image *b, uint32_t at)
{
	const struct fw_func *fa = fw_image_func(a, at), *fb = fw_image_func(b, at);
	const struct fw_public *sized = fw_image_public(a, at);
	// where nothing else says its end, a symbol is written as a FUNC without lines
	if (!fa && fb && sized && fb->num_lines == 0 && fb->num_inlines == 0) {
		ck_assert_uint_eq(sized->start, fb->entry);
		ck_assert_uint_eq(sized->end, fb->start + fb->size);
		check_str(fw_image_string(a, sized->name), fw_image_string(b, fb->name), "name", at);
		return;
	}
	ck_assert_msg(!fa == !fb, "function at 0x%x: %d became %d", at, fa != NULL, fb != NULL);
	if (fa) {
		const struct fw_line *la = fw_image_line(a, fa, at), *lb = fw_image_line(b, fb, at);
		check_str(fw_image_string(a, fa->name), fw_image_string(b, fb->name), "name", at);
		ck_assert_uint_eq(fa->entry, fb->entry);
		ck_assert_uint_eq(fa->params_size, fb->params_size);
		ck_assert_msg(!la == !lb, "line at 0x%x: %d became %d", at, la != NULL, lb != NULL);
		if (la) {
			ck_assert_uint_eq(la->line, lb->line);
			check_str(fw_image_numbered(a, FW_SEC_FILES, la->file),
				  fw_image_numbered(b, FW_SEC_FILES, lb->file), "file", at);
		}
		check_inlines(a, b, fa, fb, at);
		return;
	}
	const struct fw_public *pa = fw_image_public(a, at), *pb = fw_image_public(b, at);
	ck_assert_msg(!pa == !pb, "public at 0x%x: %d became %d", at, pa != NULL, pb != NULL);
	if (pa) {
		ck_assert_uint_eq(pa->start, pb->start);
		ck_assert_uint_eq(pa->end, pb->end);
		check_str(fw_image_string(a, pa->name), fw_image_string(b, pb->name), "public", at);
	}
}

/** A callee-saved register without a rule has its own value. */
static bool is_default(const struct fw_cpu *cpu, const struct fw_rule *r)
{
	bool saved = r->target < FW_CPU_REGS && cpu->callee_saved >> r->target & 1;
	return saved ? r->kind == FW_RULE_SAME
		     : r->kind == FW_RULE_UNDEFINED || r->kind == FW_RULE_FAILED;
}

static uint8_t unsaid_flags = FW_ROW_PLAIN;

static void print_row(const struct fw_image *image, uint32_t at, char *to, size_t size)
{
	const struct fw_cpu *cpu = fw_cpu_get(image->cpu);
	struct fw_out out;
	uint32_t n;
	const struct fw_rule *rules = fw_image_cfi(image, at, &n);
	fw_out_init_memory(&out, size - 1);
	for (uint32_t i = 0; i < n; i++) {
		struct fw_rule r = rules[i];
		if (i > 1 && is_default(cpu, &r))
			continue;
		if (i > 1 && r.kind == FW_RULE_FAILED)
			r.kind = FW_RULE_UNDEFINED;
		fw_rule_print(&out, cpu, &image->programs, r);
		fw_out_byte(&out, ' ');
	}
	if (n)
		fw_out_dec(&out, rules[0].flags & ~unsaid_flags);
	ck_assert_int_eq(out.failed, 0);
	memcpy(to, out.data, out.count);
	to[out.count] = '\0';
	fw_out_deinit(&out);
}

static void print_win(const struct fw_image *image, uint32_t at, char *to, size_t size)
{
	const struct fw_stack_win *win = fw_image_stack_win(image, at);
	struct fw_out out;
	fw_out_init_memory(&out, size - 1);
	if (win)
		fw_win_write(&out, &image->programs, win);
	ck_assert_int_eq(out.failed, 0);
	if (out.count)
		memcpy(to, out.data, out.count);
	to[out.count] = '\0';
	fw_out_deinit(&out);
}

/**
 * The rule of a PLT's entries in words that Breakpad has as well: for every x,
 * (x & 15) >= n is (x % 16 + 16 - n) / 16, and y << 3 is y * 8.
 */
static void in_words_of_breakpad(char *text)
{
	char rest[256], was[32], *at;
	for (int n = 1; n < 16; n++) {
		int length = snprintf(was, sizeof(was), "15 and %d ge 3 shl", n);
		at = strstr(text, was);
		if (!at || snprintf(rest, sizeof(rest), "%s", at + length) >= (int)sizeof(rest))
			continue;
		sprintf(at, "16 %% %d + 16 / 8 *%s", 16 - n, rest);
	}
}

static void check_at(const struct fw_image *a, const struct fw_image *b, uint32_t at)
{
	static char ta[65536], tb[65536];
	check_names(a, b, at);
	print_row(a, at, ta, sizeof(ta));
	print_row(b, at, tb, sizeof(tb));
	in_words_of_breakpad(ta);
	in_words_of_breakpad(tb);
	ck_assert_msg(strcmp(ta, tb) == 0, "rules at 0x%x: '%s' became '%s'", at, ta, tb);
	print_win(a, at, ta, sizeof(ta));
	print_win(b, at, tb, sizeof(tb));
	ck_assert_str_eq(ta, tb);
}

static void check_around(const struct fw_image *a, const struct fw_image *b, uint64_t at)
{
	for (uint64_t x = at ? at - 1 : 0; x <= at + 1 && x <= UINT32_MAX; x++)
		check_at(a, b, (uint32_t)x);
}

/** Equal answers around every address where something begins or ends in a. */
static void check_boundaries(const struct fw_image *a, const struct fw_image *b)
{
	const struct fw_func *f = a->section[FW_SEC_FUNCS];
	const struct fw_line *l = a->section[FW_SEC_LINES];
	const struct fw_inline *c = a->section[FW_SEC_INLINES];
	const struct fw_public *p = a->section[FW_SEC_PUBLICS];
	const struct fw_stack_win *w = a->section[FW_SEC_WIN_RECORDS];
	struct fw_cfi_walk walk;
	struct fw_cfi_stretch s;
	for (uint32_t i = 0; i < fw_image_count(a, FW_SEC_FUNCS, sizeof(*f)); i++) {
		check_around(a, b, f[i].start);
		check_around(a, b, (uint64_t)f[i].start + f[i].size);
	}
	for (uint32_t i = 0; i < fw_image_count(a, FW_SEC_LINES, sizeof(*l)); i++)
		check_at(a, b, l[i].addr);
	for (uint32_t i = 0; i < fw_image_count(a, FW_SEC_INLINES, sizeof(*c)); i++) {
		check_at(a, b, c[i].start);
		check_at(a, b, c[i].start + c[i].size);
	}
	for (uint32_t i = 0; i < fw_image_count(a, FW_SEC_PUBLICS, sizeof(*p)); i++) {
		check_around(a, b, p[i].start);
		check_around(a, b, p[i].end);
	}
	for (uint32_t i = 0; i < fw_image_count(a, FW_SEC_WIN_RECORDS, sizeof(*w)); i++) {
		check_around(a, b, w[i].start);
		check_around(a, b, (uint64_t)w[i].start + w[i].size);
	}
	fw_cfi_walk_init(&walk, &a->cfi);
	while (fw_cfi_walk_next(&walk, &s)) {
		check_around(a, b, s.start);
		check_around(a, b, s.end);
	}
}

/** text -> image -> text -> image: the two images answer alike, the two texts are equal. */
static void check_round_trip(struct fw_str text)
{
	struct fw_out first, second;
	struct fw_image *a = read_text(text);
	write_image(a, &first);
	struct fw_image *b = read_text((struct fw_str){ first.data, first.count });
	ck_assert_str_eq(a->debug_id.text, b->debug_id.text);
	ck_assert_str_eq(a->code_id.text, b->code_id.text);
	ck_assert_int_eq(a->cpu, b->cpu);
	check_boundaries(a, b);
	check_boundaries(b, a);
	write_image(b, &second);
	check_str((struct fw_str){ first.data, first.count },
		  (struct fw_str){ second.data, second.count }, "text", 0);
	fw_out_deinit(&first);
	fw_out_deinit(&second);
	fw_image_destroy(a);
	fw_image_destroy(b);
}

static void check_written(const char *text, const char *wanted)
{
	struct fw_image *image = read_text((struct fw_str){ text, strlen(text) });
	struct fw_out out;
	write_image(image, &out);
	fw_out_byte(&out, '\0');
	ck_assert_str_eq(out.data, wanted);
	fw_out_deinit(&out);
	fw_image_destroy(image);
	check_round_trip((struct fw_str){ text, strlen(text) });
}

#define HEAD "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\n"

START_TEST(every_record)
{
	static const char text[] = HEAD
		"INFO CODE_ID 0123456789ABCDEF0123456789ABCDEF01234567\n"
		"FILE 0 a.c\n"
		"FILE 7 dir with blanks/b.c\n"
		"INLINE_ORIGIN 3 inlined(int)\n"
		"FUNC 1000 20 c main\n"
		"INLINE 0 5 7 3 1004 4 1010 2\n"
		"INLINE 1 6 0 3 1005 1\n"
		"1000 4 1 0\n"
		"1004 c 0 7\n"
		"1014 4 3 0\n"
		"PUBLIC 2000 8 exported\n"
		"STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\n"
		"STACK CFI 101f .cfa: $rsp 8 + $rbp: $rbp\n";
	check_written(text, text);
}
END_TEST

START_TEST(what_the_format_lacks)
{
	// an outermost frame, a signal trampoline, a part of a function elsewhere
	static const char text[] = HEAD
		"INFO FUNC_ENTRY 3000 1000\n"
		"FUNC 1000 20 0 main\n"
		"FUNC 3000 10 0 main\n"
		"STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .undef\n"
		"STACK CFI INIT 2000 10 .cfa: $rsp 160 + ^ .ra: $rsp 168 + ^ .signal: 1\n"
		"STACK CFI INIT 2010 8 .ra: $rip\n";
	check_written(text, text);
	struct fw_image *image = read_text((struct fw_str){ text, sizeof(text) - 1 });
	uint32_t n;
	ck_assert_uint_eq(fw_image_func(image, 0x3008)->entry, 0x1000);
	ck_assert_uint_eq(fw_image_func(image, 0x1008)->entry, 0x1000);
	ck_assert_int_eq(fw_image_cfi(image, 0x1000, &n)[1].kind, FW_RULE_UNDEFINED);
	ck_assert_int_eq(fw_image_cfi(image, 0x2000, &n)[0].flags, FW_ROW_SIGNAL);
	ck_assert_int_eq(fw_image_cfi(image, 0x2010, &n)[0].flags,
			 FW_ROW_SIGNAL | FW_ROW_RA_IN_PC);
	for (unsigned k = 0; k < FW_DIAG_COUNT; k++)
		ck_assert_uint_eq(image->diag.count[k], 0);
	fw_image_destroy(image);
}
END_TEST

START_TEST(inits_begin_where_functions_and_symbols_do)
{
	check_written(HEAD
		"FUNC 1000 10 0 a\n"
		"FUNC 1010 10 0 b\n"
		"PUBLIC 1020 0 c\n"
		"STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
		HEAD
		"FUNC 1000 10 0 a\n"
		"FUNC 1010 10 0 b\n"
		"PUBLIC 1020 0 c\n"
		"STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 1010 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 1020 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
}
END_TEST

START_TEST(nested_functions_are_written_whole)
{
	check_written(HEAD
		"FILE 1 a.c\n"
		"FUNC 1000 100 0 outer\n"
		"1000 100 1 1\n"
		"FUNC 1020 10 0 inner\n"
		"1020 10 2 1\n"
		"FUNC 1030 10 0 second\n",
		HEAD
		"FILE 1 a.c\n"
		"FUNC 1000 100 0 outer\n"
		"1000 100 1 1\n"
		"FUNC 1020 10 0 inner\n"
		"1020 10 2 1\n"
		"FUNC 1030 10 0 second\n");
}
END_TEST

START_TEST(rules_that_go)
{
	// rbx is callee-saved: without a rule it is itself; rax is not: an INIT says so
	check_written(HEAD
		"STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^\n"
		"STACK CFI INIT 1010 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^ $rax: .cfa -16 + ^\n"
		"STACK CFI INIT 1020 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
		HEAD
		"STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^\n"
		"STACK CFI 1010 $rax: .cfa -16 + ^ $rbx: $rbx\n"
		"STACK CFI INIT 1020 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
}
END_TEST

START_TEST(programs_and_windows)
{
	static const char text[] =
		"MODULE windows x86 0123456789ABCDEF0123456789ABCDEF1 app.pdb\n"
		"FUNC 1000 30 c WinMain\n"
		"STACK WIN 4 1000 30 3 2 c 8 10 0 1 $T0 $ebp = $eip $T0 4 + ^ = "
		"$ebp $T0 ^ = $esp $T0 8 + =\n"
		"STACK WIN 0 2000 10 1 1 8 4 0 0 0 1\n"
		"STACK CFI INIT 3000 10 .cfa: $esp 8 + 16 @ $eip 15 % + .ra: .cfa -4 + ^\n";
	check_written(text, text);
}
END_TEST

START_TEST(names_stay_on_their_line)
{
	// nothing that a .sym can hold has a line feed in it; an ELF file's names can
	struct fw_builder *b;
	struct fw_image *image;
	struct fw_out out;
	struct fw_func f = { .start = 0x1000, .size = 0x10, .entry = 0x1000 };
	ck_assert_int_eq(fw_builder_create(&b, NULL), FW_OK);
	ck_assert_int_eq(fw_intern_add(&b->strings, "  a\nFUNC 0 1 0 b\r", 17, &f.name), FW_OK);
	ck_assert(fw_vec_push(&b->funcs, f));
	f.start = f.entry = 0x1010;
	ck_assert_int_eq(fw_intern_add(&b->strings, "", 0, &f.name), FW_OK);
	ck_assert(fw_vec_push(&b->funcs, f));
	b->cpu = FW_CPU_ARM64;
	ck_assert_int_eq(fw_builder_freeze(b, &image, NULL), FW_OK);
	write_image(image, &out);
	fw_out_byte(&out, '\0');
	ck_assert_str_eq(out.data, "MODULE unknown arm64 000000000000000000000000000000000 unnamed\n"
			 "FUNC 1000 10 0 a?FUNC 0 1 0 b?\nFUNC 1010 10 0 <name omitted>\n");
	fw_out_deinit(&out);
	fw_image_destroy(image);
}
END_TEST

static int round_trip_file(const char *path, const struct stat *st, int type)
{
	struct fw_file file;
	size_t n = strlen(path);
	if (type != FTW_F || n < 4 || strcmp(path + n - 4, ".sym") != 0 || st->st_size > 8 << 20)
		return 0;
	printf("# %s\n", path);
	ck_assert_int_eq(fw_file_open(&file, path, UINT64_C(1) << 32, NULL), FW_OK);
	check_round_trip((struct fw_str){ (const char *)file.data, file.size });
	fw_file_close(&file);
	return 0;
}

START_TEST(fixtures_come_round)
{
	const char *testdata = getenv("TESTDATA");
	ck_assert_int_eq(ftw(testdata ? testdata : "testdata", round_trip_file, 8), 0);
}
END_TEST

START_TEST(corpus_comes_round)
{
	const char *corpus = getenv("CORPUS");
	if (corpus)
		ftw(corpus, round_trip_file, 8);
}
END_TEST

/*
 * ELF -> image -> text -> image: no name, line, call or row of unwind rules gets lost.
 * What text cannot say: a program with DW_OP_dup, pick, swap, rot, drop, skip or bra, of
 * which these have none.
 */
static void check_elf(const char *path)
{
	struct fw_elf_files files = { 0 };
	struct fw_error err = { 0 };
	struct fw_image *a = NULL;
	struct fw_out text;
	if (fw_elf_open(path, &files.elf, &err)) {
		printf("skipped: no %s\n", path);
		return;
	}
	enum fw_code code = fw_elf_compile(&files, &a, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	write_image(a, &text);
	struct fw_image *b = read_text((struct fw_str){ text.data, text.count });
	printf("# %s: %u rows\n", path, a->cfi.num_rows);
	// a .sym's reader sets it by the function's name, as Breakpad's files need
	unsaid_flags = FW_ROW_PLAIN | FW_ROW_ENTRY;
	ck_assert_uint_gt(a->cfi.num_rows, 1);
	check_boundaries(a, b);
	fw_out_deinit(&text);
	fw_image_destroy(a);
	fw_image_destroy(b);
	fw_elf_close(files.elf);
}

static const char *const libraries[] = {
	"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libcrypto.so.3",
};

START_TEST(libraries_come_round)
{
	char path[256];
	snprintf(path, sizeof(path), "/lib/x86_64-linux-gnu/%s", libraries[_i]);
	check_elf(path);
}
END_TEST

Suite *sym_write_suite(void)
{
	Suite *s = suite_create("sym_write");
	TCase *tc = tcase_create("sym_write");
	tcase_add_test(tc, every_record);
	tcase_add_test(tc, what_the_format_lacks);
	tcase_add_test(tc, inits_begin_where_functions_and_symbols_do);
	tcase_add_test(tc, nested_functions_are_written_whole);
	tcase_add_test(tc, rules_that_go);
	tcase_add_test(tc, programs_and_windows);
	tcase_add_test(tc, names_stay_on_their_line);
	suite_add_tcase(s, tc);
	tc = tcase_create("files");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, fixtures_come_round);
	tcase_add_test(tc, corpus_comes_round);
	tcase_add_loop_test(tc, libraries_come_round, 0,
			    sizeof(libraries) / sizeof(*libraries));
	suite_add_tcase(s, tc);
	return s;
}
