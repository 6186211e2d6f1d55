// The two readers of DWARF, our bulk scan and libdwarf, give the same image.
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "symfiles/dwarf_unit.h"
#include "tests/synth_compiled.h"

Suite *dwarf_unit_suite(void);

static struct fw_image *image_of_units(struct compiled *c)
{
	struct fw_dwarf_units *units;
	struct fw_builder *b;
	struct fw_image *image;
	struct fw_error err = { 0 };
	enum fw_code code = fw_dwarf_units_open(&c->files, &units, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	ck_assert_int_eq(fw_builder_create(&b, &err), FW_OK);
	for (uint32_t i = 0; i < fw_dwarf_units_count(units); i++) {
		code = fw_dwarf_units_into(units, i, b, &err);
		ck_assert_msg(code == FW_OK, "%s", err.message);
	}
	fw_dwarf_units_close(units);
	ck_assert_int_eq(fw_builder_freeze(b, &image, &err), FW_OK);
	code = fw_image_check(image, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	return image;
}

static bool same_str(struct fw_str a, struct fw_str b)
{
	return !a.s == !b.s && a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

#define COUNT(image, s, type) fw_image_count(image, s, sizeof(type))

static void check_lines(const struct fw_image *a, const struct fw_image *b,
			const struct fw_func *f, const struct fw_func *g)
{
	const struct fw_line *x = a->section[FW_SEC_LINES], *y = b->section[FW_SEC_LINES];
	ck_assert_uint_eq(f->num_lines, g->num_lines);
	for (uint32_t i = 0; i < f->num_lines; i++) {
		const struct fw_line *p = x + f->first_line + i, *q = y + g->first_line + i;
		ck_assert_uint_eq(p->addr, q->addr);
		ck_assert_uint_eq(p->line, q->line);
		struct fw_str s = fw_image_numbered(a, FW_SEC_FILES, p->file);
		struct fw_str t = fw_image_numbered(b, FW_SEC_FILES, q->file);
		ck_assert_msg(same_str(s, t), "%.*s and %.*s", (int)s.n, s.s, (int)t.n, t.s);
	}
}

static void check_inlines(const struct fw_image *a, const struct fw_image *b,
			  const struct fw_func *f, const struct fw_func *g)
{
	const struct fw_inline *x = a->section[FW_SEC_INLINES], *y = b->section[FW_SEC_INLINES];
	ck_assert_uint_eq(f->num_inlines, g->num_inlines);
	for (uint32_t i = 0; i < f->num_inlines; i++) {
		const struct fw_inline *p = x + f->first_inline + i, *q = y + g->first_inline + i;
		ck_assert_uint_eq(p->depth, q->depth);
		ck_assert_uint_eq(p->start, q->start);
		ck_assert_uint_eq(p->size, q->size);
		ck_assert_uint_eq(p->call_line, q->call_line);
		ck_assert(same_str(fw_image_numbered(a, FW_SEC_ORIGINS, p->origin),
				   fw_image_numbered(b, FW_SEC_ORIGINS, q->origin)));
		ck_assert(same_str(fw_image_numbered(a, FW_SEC_FILES, p->call_file),
				   fw_image_numbered(b, FW_SEC_FILES, q->call_file)));
	}
}

START_TEST(both_readers_agree)
{
	struct compiled c;
	if (!recipes[_i].unit_reader || !compiled_make(&c, &recipes[_i]))
		return;
	struct fw_image *a = compiled_image(&c), *b = image_of_units(&c);
	const struct fw_func *f = a->section[FW_SEC_FUNCS], *g = b->section[FW_SEC_FUNCS];
	uint32_t n = COUNT(a, FW_SEC_FUNCS, struct fw_func);
	ck_assert_uint_ge(n, 3);
	ck_assert_uint_eq(n, COUNT(b, FW_SEC_FUNCS, struct fw_func));
	ck_assert_mem_eq(&a->diag, &b->diag, sizeof(a->diag));
	for (uint32_t i = 0; i < n; i++) {
		struct fw_str name = fw_image_string(a, f[i].name);
		ck_assert_uint_eq(f[i].start, g[i].start);
		ck_assert_uint_eq(f[i].size, g[i].size);
		ck_assert_msg(same_str(name, fw_image_string(b, g[i].name)), "%.*s",
			      (int)name.n, name.s);
		check_lines(a, b, &f[i], &g[i]);
		check_inlines(a, b, &f[i], &g[i]);
	}
	fw_image_destroy(a);
	fw_image_destroy(b);
	compiled_remove(&c);
}
END_TEST

// Each function lies in the unit that is found for it, and nothing lies below the code.
START_TEST(unit_of_an_address)
{
	struct compiled c;
	struct fw_dwarf_units *units;
	struct fw_builder *b;
	struct fw_error err = { 0 };
	uint32_t unit;
	const struct recipe recipe = { "gcc", "-O2 -gdwarf-5", NULL, true, ORACLE_ALL };
	if (!compiled_make(&c, &recipe))
		return;
	struct fw_image *image = compiled_image(&c);
	const struct fw_func *f = image->section[FW_SEC_FUNCS];
	ck_assert_int_eq(fw_dwarf_units_open(&c.files, &units, &err), FW_OK);
	for (uint32_t i = 0; i < COUNT(image, FW_SEC_FUNCS, struct fw_func); i++) {
		uint64_t address = fw_elf_base(c.elf) + f[i].start + f[i].size - 1;
		bool there = false;
		ck_assert(fw_dwarf_units_find(units, address, &unit));
		ck_assert_int_eq(fw_builder_create(&b, &err), FW_OK);
		struct fw_dwarf_units *fresh;
		ck_assert_int_eq(fw_dwarf_units_open(&c.files, &fresh, &err), FW_OK);
		ck_assert_int_eq(fw_dwarf_units_into(fresh, unit, b, &err), FW_OK);
		for (size_t k = 0; k < b->funcs.count; k++)
			there |= b->funcs.data[k].start == f[i].start;
		ck_assert(there);
		fw_dwarf_units_close(fresh);
		fw_builder_destroy(b);
	}
	ck_assert(!fw_dwarf_units_find(units, fw_elf_base(c.elf), &unit));
	ck_assert(!fw_dwarf_units_find(units, UINT64_MAX, &unit));
	fw_dwarf_units_close(units);
	fw_image_destroy(image);
	compiled_remove(&c);
}
END_TEST

START_TEST(no_debug_information)
{
	struct compiled c;
	struct fw_dwarf_units *units;
	struct fw_error err = { 0 };
	const struct recipe recipe = { "gcc", "-O2 -g0", NULL, false, ORACLE_NONE };
	if (!compiled_make(&c, &recipe))
		return;
	ck_assert_int_eq(fw_dwarf_units_open(&c.files, &units, &err), FW_NOT_FOUND);
	ck_assert_str_eq(err.message, "no debug information");
	compiled_remove(&c);
}
END_TEST

Suite *dwarf_unit_suite(void)
{
	Suite *s = suite_create("dwarf_unit");
	TCase *tc = tcase_create("readers");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, both_readers_agree, 0, (int)num_recipes);
	tcase_add_test(tc, unit_of_an_address);
	tcase_add_test(tc, no_debug_information);
	suite_add_tcase(s, tc);
	return s;
}
