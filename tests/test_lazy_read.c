// What is read of single addresses is what the whole image says of them.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/dwarf_internal.h"
#include "symfiles/lazy_read.h"
#include "tests/synth_compiled.h"

Suite *lazy_read_suite(void);

static bool same_str(struct fw_str a, struct fw_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

#define CHECK_STR(x, y) do { \
	struct fw_str s_ = (x), t_ = (y); \
	ck_assert_msg(same_str(s_, t_), "0x%x: '%.*s', want '%.*s'", offset, (int)s_.n, \
		      s_.s ? s_.s : "", (int)t_.n, t_.s ? t_.s : ""); \
} while (0)

static void check_func(const struct fw_image *got, const struct fw_image *want,
		       const struct fw_func *f, const struct fw_func *g, uint32_t offset)
{
	const struct fw_inline *x[FW_MAX_INLINE_DEPTH], *y[FW_MAX_INLINE_DEPTH];
	const struct fw_line *p = fw_image_line(got, f, offset);
	const struct fw_line *q = fw_image_line(want, g, offset);
	CHECK_STR(fw_image_string(got, f->name), fw_image_string(want, g->name));
	ck_assert_uint_eq(f->entry, g->entry);
	ck_assert_msg(!p == !q, "0x%x", offset);
	if (p != NULL) {
		ck_assert_uint_eq(p->line, q->line);
		ck_assert_uint_eq(p->addr, q->addr);
		CHECK_STR(fw_image_numbered(got, FW_SEC_FILES, p->file),
			  fw_image_numbered(want, FW_SEC_FILES, q->file));
	}
	uint32_t n = fw_image_inlines(got, f, offset, x, FW_MAX_INLINE_DEPTH);
	ck_assert_uint_eq(n, fw_image_inlines(want, g, offset, y, FW_MAX_INLINE_DEPTH));
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_eq(x[i]->call_line, y[i]->call_line);
		CHECK_STR(fw_image_numbered(got, FW_SEC_ORIGINS, x[i]->origin),
			  fw_image_numbered(want, FW_SEC_ORIGINS, y[i]->origin));
		CHECK_STR(fw_image_numbered(got, FW_SEC_FILES, x[i]->call_file),
			  fw_image_numbered(want, FW_SEC_FILES, y[i]->call_file));
	}
}

/** True when anything is known of the offset. */
static bool check_offset(const struct fw_image *got, const struct fw_image *want,
			 uint32_t offset)
{
	const struct fw_func *f = fw_image_func(got, offset), *g = fw_image_func(want, offset);
	ck_assert_msg(!f == !g, "0x%x: function %d, want %d", offset, f != NULL, g != NULL);
	if (f != NULL) {
		check_func(got, want, f, g, offset);
		return true;
	}
	const struct fw_public *p = fw_image_public(got, offset);
	const struct fw_public *q = fw_image_public(want, offset);
	ck_assert_msg(!p == !q, "0x%x: public %d, want %d", offset, p != NULL, q != NULL);
	if (p == NULL)
		return false;
	ck_assert_uint_eq(p->start, q->start);
	CHECK_STR(fw_image_string(got, p->name), fw_image_string(want, q->name));
	return true;
}

/** Offsets [from, from + n * step) in one question. */
static uint32_t ask(struct fw_lazy_reader *r, const struct fw_image *want, uint32_t from,
		    uint32_t n, uint32_t step)
{
	struct fw_image *got;
	struct fw_error err = { 0 };
	uint32_t *offsets = calloc(n, sizeof(*offsets)), known = 0;
	for (uint32_t i = 0; i < n; i++)
		offsets[i] = from + i * step;
	ck_assert_int_eq(fw_lazy_reader_answer(r, offsets, n, &got, &err), FW_OK);
	ck_assert_msg(fw_image_check(got, &err) == FW_OK, "%s", err.message);
	for (uint32_t i = 0; i < n; i++)
		known += check_offset(got, want, offsets[i]);
	fw_image_destroy(got);
	free(offsets);
	return known;
}

static void check_module(const struct fw_elf_files *files, uint32_t questions)
{
	struct fw_error err = { 0 };
	struct fw_image *want;
	struct fw_lazy_reader *r;
	uint32_t known = 0, span = (uint32_t)fw_elf_span(files->elf);
	ck_assert_int_eq(fw_elf_compile(files, &want, &err), FW_OK);
	ck_assert_int_eq(fw_lazy_reader_open(files, &r, &err), FW_OK);
	srand(1);
	for (uint32_t i = 0; i < questions; i++)
		known += ask(r, want, (uint32_t)rand() % span, 1, 0);
	for (uint32_t i = 0; i < questions / 10; i++)
		known += ask(r, want, (uint32_t)rand() % span, 20, 1 + (uint32_t)rand() % 99);
	ck_assert_uint_gt(known, 0);
	fw_lazy_reader_close(r);
	fw_image_destroy(want);
}

START_TEST(compiled_programs)
{
	struct compiled c;
	struct fw_error err = { 0 };
	struct fw_lazy_reader *r;
	if (!recipes[_i].unit_reader || !compiled_make(&c, &recipes[_i]))
		return;
	struct fw_image *want;
	ck_assert_int_eq(fw_elf_compile(&c.files, &want, &err), FW_OK);
	uint32_t span = (uint32_t)fw_elf_span(c.elf), known = 0;
	ck_assert_int_eq(fw_lazy_reader_open(&c.files, &r, &err), FW_OK);
	known += ask(r, want, 0, span, 1);		// all of it
	if (c.num_dwo == 0) {				// else each question opens files
		for (uint32_t at = span & 6; at < span; at += 7)
			ask(r, want, at, 1, 0);
	}
	ck_assert_uint_gt(known, 100);
	fw_lazy_reader_close(r);
	fw_image_destroy(want);
	compiled_remove(&c);
}
END_TEST

// Programs that somebody else compiled, and this one.
START_TEST(larger_programs)
{
	static const char *const paths[] = {
		"/proc/self/exe", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3", "/bin/bash",
	};
	struct fw_elf_files files = { .elf = NULL };
	if (fw_elf_open(paths[_i], &files.elf, NULL) != FW_OK)
		return;
	check_module(&files, 1000);
	fw_elf_close(files.elf);
}
END_TEST

// Ranges of which some cover others, by hand: which meet [from, to), last first.
START_TEST(covering_ranges)
{
	static const struct fw_dw_range ranges[] = {
		{ 50, 60 }, { 0, 100 }, { 10, 20 }, { 10, 15 }, { 200, 300 }, { 12, 14 },
	};
	static const struct { uint32_t from, to; const char *want; } asked[] = {
		{ 0, 1, "1" }, { 13, 14, "5321" }, { 14, 15, "321" }, { 19, 20, "21" },
		{ 20, 21, "1" }, { 55, 56, "01" }, { 99, 100, "1" }, { 100, 200, "" },
		{ 100, 201, "4" }, { 0, UINT32_MAX, "405321" }, { 300, UINT32_MAX, "" },
	};
	struct fw_dw_cover c = { { NULL, 0, 0 } };
	const struct fw_dw_covered *e;
	size_t at = SIZE_MAX;
	fw_dw_cover_sort(&c);
	ck_assert_ptr_null(fw_dw_cover_next(&c, 0, UINT32_MAX, &at));
	for (uint32_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		struct fw_dw_covered add = { .range = ranges[i], .item = i };
		ck_assert(fw_vec_push(&c.list, add));
	}
	fw_dw_cover_sort(&c);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		char got[16] = "", *p = got;
		at = SIZE_MAX;
		while ((e = fw_dw_cover_next(&c, asked[i].from, asked[i].to, &at)))
			*p++ = (char)('0' + e->item);
		ck_assert_str_eq(got, asked[i].want);
		ck_assert_ptr_null(fw_dw_cover_next(&c, asked[i].from, asked[i].to, &at));
	}
	fw_vec_deinit(&c.list);
}
END_TEST

Suite *lazy_read_suite(void)
{
	Suite *s = suite_create("lazy_read");
	TCase *tc = tcase_create("same answers");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, covering_ranges);
	tcase_add_loop_test(tc, compiled_programs, 0, (int)num_recipes);
	tcase_add_loop_test(tc, larger_programs, 0, 5);
	suite_add_tcase(s, tc);
	return s;
}
