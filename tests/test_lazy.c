// A module read lazily: the parent's side, and when it is done.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/lazy.h"
#include "symfiles/symbols.h"
#include "tests/loader_tricks.h"
#include "tests/synth_folder.h"

Suite *lazy_suite(void);

// Enough of a debug section that compiling all of it is put off.
static const char BIG[] = ".section .note.GNU-stack\n.section .debug_str,\"\",@progbits\n.zero 3000000\n";

static const char SOURCE[] =
	"static __attribute__((noinline)) int inner(int x) { return x * 3; }\n"
	"int outer(int x) { return inner(x) + 1; }\n"
	"int main(void) { return outer(2); }\n";

struct program {
	struct folder folder;
	char path[256];
	struct fw_image *whole;
	uint32_t inner, outer, span;	// offsets
};

static uint32_t offset_of(const struct fw_image *image, const char *name)
{
	const struct fw_func *f = image->section[FW_SEC_FUNCS];
	uint32_t n = fw_image_count(image, FW_SEC_FUNCS, sizeof(*f));
	for (uint32_t i = 0; i < n; i++) {
		struct fw_str s = fw_image_string(image, f[i].name);
		if (s.n == strlen(name) && memcmp(s.s, name, s.n) == 0)
			return f[i].start;
	}
	ck_abort_msg("no %s", name);
}

static void make(struct program *p, bool big)
{
	char command[512];
	struct fw_error err = { 0 };
	folder_make(&p->folder);
	folder_text(&p->folder, "a.c", SOURCE);
	folder_text(&p->folder, "b.s", big ? BIG : ".section .note.GNU-stack\n");
	snprintf(p->path, sizeof(p->path), "%s", folder_path(&p->folder, "a.out"));
	snprintf(command, sizeof(command), "cd '%s' && gcc -g -O1 -o a.out a.c b.s",
		 p->folder.path);
	ck_assert_msg(system(command) == 0, "%s", command);
	folder_age(&p->folder, "a.out", 60);
	struct fw_loader_request q = { .elf = p->path };
	ck_assert_msg(fw_loader_compile(&q, &p->whole, &err) == FW_OK, "%s", err.message);
	p->inner = offset_of(p->whole, "inner");
	p->outer = offset_of(p->whole, "outer");
	p->span = 0x5000;
}

static void drop(struct program *p)
{
	fw_image_destroy(p->whole);
	folder_remove(&p->folder);
}

static bool is_named(const struct fw_image *image, uint32_t offset, const char *name)
{
	const struct fw_func *f = image ? fw_image_func(image, offset) : NULL;
	struct fw_str s = f ? fw_image_string(image, f->name) : FW_STR("nothing");
	return s.n == strlen(name) && memcmp(s.s, name, s.n) == 0;
}

START_TEST(names_by_offset)
{
	struct program p;
	struct fw_error err;
	make(&p, false);
	struct fw_loader_request q = { .elf = p.path };
	struct fw_lazy *z = fw_lazy_create(&q, NULL, NULL);
	const struct fw_image *a = fw_lazy_names(z, p.inner);
	ck_assert(is_named(a, p.inner, "inner"));
	ck_assert_uint_eq(a->base, p.whole->base);
	ck_assert(fw_ident_equal(&a->debug_id, &p.whole->debug_id));
	uint32_t two[] = { p.outer + 1, p.inner, p.outer + 1, 1 };
	fw_lazy_prefetch(z, two, 4);
	ck_assert_ptr_eq(fw_lazy_names(z, p.inner), a);		// kept
	const struct fw_image *b = fw_lazy_names(z, p.outer + 1);
	ck_assert_ptr_ne(b, a);
	ck_assert(is_named(b, p.outer + 1, "outer"));
	ck_assert_ptr_eq(fw_lazy_names(z, 1), b);		// one question
	ck_assert_ptr_null(fw_image_func(b, 1));
	ck_assert_int_eq(fw_lazy_failure(z, &err), FW_OK);
	fw_lazy_destroy(z);
	drop(&p);
}
END_TEST

// More than one question holds.
START_TEST(many_offsets)
{
	struct program p;
	struct fw_error err;
	make(&p, false);
	struct fw_loader_request q = { .elf = p.path };
	struct fw_lazy *z = fw_lazy_create(&q, NULL, NULL);
	uint32_t n = 2 * FW_MAX_LAZY_QUESTION + 5, *offsets = calloc(n, sizeof(*offsets));
	for (uint32_t i = 0; i < n; i++)
		offsets[i] = n - i;
	fw_lazy_prefetch(z, offsets, n);
	ck_assert_int_eq(fw_lazy_failure(z, &err), FW_OK);
	for (uint32_t at = 1; at <= n; at++) {
		const struct fw_image *image = fw_lazy_names(z, at);
		const struct fw_func *f = fw_image_func(image, at);
		const struct fw_func *g = fw_image_func(p.whole, at);
		ck_assert_int_eq(f != NULL, g != NULL);
		ck_assert(f == NULL || f->entry == g->entry);
	}
	free(offsets);
	fw_lazy_destroy(z);
	drop(&p);
}
END_TEST

struct counted { const struct fw_image *image; unsigned calls; enum fw_code code; };

static enum fw_code compile_whole(void *context, const struct fw_image **ret,
				  struct fw_error *err)
{
	struct counted *c = context;
	c->calls++;
	if (c->code != FW_OK)
		return fw_fail(err, c->code, NULL, "no luck");
	*ret = c->image;
	return FW_OK;
}

START_TEST(whole_in_the_end)
{
	struct program p;
	struct fw_error err;
	make(&p, false);
	for (unsigned fails = 0; fails < 2; fails++) {
		struct fw_loader_request q = { .elf = p.path };
		struct counted c = { p.whole, 0, fails ? FW_MALFORMED : FW_OK };
		struct fw_lazy_whole whole = { compile_whole, &c, 3, 9 };
		struct fw_lazy *z = fw_lazy_create(&q, &p.whole->debug_id, &whole);
		uint32_t some[] = { p.inner, 1, 2 };
		fw_lazy_prefetch(z, some, 3);
		ck_assert_uint_eq(c.calls, 0);
		const struct fw_image *image = fw_lazy_names(z, p.outer);
		ck_assert_uint_eq(c.calls, 1);
		ck_assert_ptr_eq(image, fails ? NULL : p.whole);
		ck_assert_ptr_eq(fw_lazy_names(z, 7), image);
		ck_assert(is_named(fw_lazy_names(z, p.inner), p.inner, "inner"));	// as before
		ck_assert_uint_eq(c.calls, 1);
		ck_assert_int_eq(fw_lazy_failure(z, &err), c.code);
		if (fails)
			ck_assert_str_eq(err.message, "no luck");
		fw_lazy_destroy(z);
	}
	drop(&p);
}
END_TEST

// One by one.
START_TEST(whole_after_many_questions)
{
	struct program p;
	make(&p, false);
	struct fw_loader_request q = { .elf = p.path };
	struct counted c = { p.whole, 0, FW_OK };
	struct fw_lazy_whole whole = { compile_whole, &c, 100, 3 };
	struct fw_lazy *z = fw_lazy_create(&q, NULL, &whole);
	for (uint32_t i = 0; i < 6; i++) {
		ck_assert_ptr_nonnull(fw_lazy_names(z, p.inner + i / 2));
		ck_assert_uint_eq(c.calls, 0);
	}
	ck_assert_ptr_eq(fw_lazy_names(z, p.inner + 3), p.whole);
	ck_assert_uint_eq(c.calls, 1);
	fw_lazy_destroy(z);
	drop(&p);
}
END_TEST

START_TEST(a_child_that_misbehaves_costs_the_names)
{
	struct fw_loader_request q = { .elf = "/proc/self/exe" };
	const char *trick = ends[_i].trick;
	struct fw_loader_limits limits = trick_limits(trick);
	struct fw_error err = { 0 };
	uint32_t some[] = { 0x1000, 0x2000 };
	if (!trick_works(trick))
		return;
	struct fw_lazy *z = fw_lazy_create(&q, NULL, NULL);
	fw_lazy_limit(z, &limits);
	ck_assert_int_eq(fw_lazy_failure(z, &err), FW_OK);
	fw_lazy_prefetch(z, some, 2);
	enum fw_code code = fw_lazy_failure(z, &err);
	ck_assert_msg(code == ends[_i].code, "%s", err.message);
	ck_assert_str_eq(err.message, ends[_i].message);
	ck_assert_ptr_null(fw_lazy_names(z, 0x1000));
	ck_assert_ptr_null(fw_lazy_names(z, 0x3000));		// and no other child
	fw_lazy_destroy(z);
}
END_TEST

static const struct { const char *path; enum fw_code code; const char *message; } unusable[] = {
	{ "/nonexistent/x", FW_IO, "cannot open: No such file or directory" },
	{ "/", FW_UNSUPPORTED, "not a regular file" },
	// said by a child that goes without having read the question
	{ "/etc/passwd", FW_UNSUPPORTED, "not an ELF file" },
};

START_TEST(what_cannot_be_read)
{
	struct fw_loader_request q = { .elf = unusable[_i].path };
	struct fw_error err = { 0 };
	struct fw_lazy *z = fw_lazy_create(&q, NULL, NULL);
	ck_assert_ptr_null(fw_lazy_names(z, 1));
	ck_assert_int_eq(fw_lazy_failure(z, &err), unusable[_i].code);
	ck_assert_str_eq(err.message, unusable[_i].message);
	fw_lazy_destroy(z);
}
END_TEST

// Nothing is opened before the first question, and then it must still be the same program.
START_TEST(another_program_in_its_place)
{
	struct program p, other;
	struct fw_error err = { 0 };
	make(&p, false);
	make(&other, true);
	struct fw_loader_request q = { .elf = p.path };
	struct fw_lazy *z = fw_lazy_create(&q, &p.whole->debug_id, NULL);
	ck_assert_int_eq(rename(other.path, p.path), 0);
	ck_assert_ptr_null(fw_lazy_names(z, p.inner));
	ck_assert_int_eq(fw_lazy_failure(z, &err), FW_MALFORMED);
	ck_assert_str_eq(err.message, "it changed while it was read");
	fw_lazy_destroy(z);
	drop(&p);
	drop(&other);
}
END_TEST

/** Is the program read lazily by a run with these options? Its names are right in any case. */
static bool run(const struct program *p, enum fw_lazy_when when, const char *cache)
{
	struct fw_symbol_options o = { .lazy = when, .cache_dir = cache, .cache_size = 1 << 30 };
	const struct fw_symbol_file *file;
	struct fw_symbols *s;
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_symbols_create(&o, &s, &err), FW_OK);
	ck_assert_msg(fw_symbols_open_names(s, p->path, &file, &err) == FW_OK, "%s", err.message);
	ck_assert_int_eq(file->status, FW_SYMBOLS_LOADED);
	ck_assert(fw_ident_equal(&file->image->debug_id, &p->whole->debug_id));
	ck_assert(is_named(fw_symbol_names(file, p->inner), p->inner, "inner"));
	bool lazy = file->lazy != NULL;
	fw_symbols_destroy(s);
	return lazy;
}

START_TEST(when_to_read_lazily)
{
	struct program big, small;
	make(&big, true);
	make(&small, false);
	const char *cache = folder_path(&big.folder, "cache");
	// without a cache every time is the first
	ck_assert(run(&big, FW_LAZY_AUTO, NULL));
	ck_assert(run(&big, FW_LAZY_AUTO, NULL));
	ck_assert(!run(&small, FW_LAZY_AUTO, NULL));
	ck_assert(run(&small, FW_LAZY_ALWAYS, NULL));
	ck_assert(!run(&big, FW_LAZY_NEVER, NULL));
	// the second time it is compiled and kept
	ck_assert(run(&big, FW_LAZY_AUTO, cache));
	ck_assert_uint_eq(folder_count(&big.folder, ".img"), 0);
	ck_assert(!run(&big, FW_LAZY_AUTO, cache));
	ck_assert_uint_eq(folder_count(&big.folder, ".img"), 1);
	ck_assert(!run(&big, FW_LAZY_ALWAYS, cache));
	// and the small one at once
	ck_assert(!run(&small, FW_LAZY_AUTO, cache));
	ck_assert_uint_eq(folder_count(&big.folder, ".img"), 2);
	drop(&big);
	drop(&small);
}
END_TEST

// The whole image of a file is asked for although it is read lazily already.
START_TEST(names_and_all)
{
	struct program p;
	const struct fw_symbol_file *file;
	const struct fw_image *image;
	struct fw_symbols *s;
	struct fw_error err = { 0 };
	struct fw_symbol_options o = { .lazy = FW_LAZY_ALWAYS };
	make(&p, false);
	ck_assert_int_eq(fw_symbols_create(&o, &s, &err), FW_OK);
	ck_assert_int_eq(fw_symbols_open_names(s, p.path, &file, &err), FW_OK);
	ck_assert_ptr_nonnull(file->lazy);
	ck_assert_int_eq(fw_symbols_open_file(s, p.path, &image, &err), FW_OK);
	ck_assert_ptr_ne(image, file->image);
	ck_assert(is_named(image, p.inner, "inner"));
	fw_symbols_destroy(s);
	drop(&p);
}
END_TEST

Suite *lazy_suite(void)
{
	Suite *s = suite_create("lazy");
	TCase *tc = tcase_create("lazy");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, names_by_offset);
	tcase_add_test(tc, many_offsets);
	tcase_add_test(tc, whole_in_the_end);
	tcase_add_test(tc, whole_after_many_questions);
	tcase_add_loop_test(tc, a_child_that_misbehaves_costs_the_names, 0,
			    sizeof(ends) / sizeof(*ends));
	tcase_add_loop_test(tc, what_cannot_be_read, 0, sizeof(unusable) / sizeof(*unusable));
	tcase_add_test(tc, another_program_in_its_place);
	tcase_add_test(tc, when_to_read_lazily);
	tcase_add_test(tc, names_and_all);
	suite_add_tcase(s, tc);
	return s;
}
