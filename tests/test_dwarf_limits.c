// Every limit on what DWARF may ask for: what reaches it is kept, what passes it is
// dropped and counted. Sections by hand (DWARF 4, 7.5; abbreviations below).
#include <check.h>
#include <stdio.h>

#include "lib/base/limits.h"
#include "tests/fuzz/dwarf_elf.h"

Suite *dwarf_limits_suite(void);

enum { INFO = 1, ABBREV = 2, LINE = 7 };	// in names[]

enum { UNIT = 1, FUNC, CALL, BLOCK, COPY, LINK, NAMED, LEAF };

static const uint8_t abbrevs[] = {
	UNIT, 0x11, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0,	// name, low_pc, high_pc
	FUNC, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0,
	CALL, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0,	// abstract_origin, ...
	BLOCK, 0x0b, 1, 0, 0,
	COPY, 0x2e, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0,
	LINK, 0x2e, 0, 0x31, 0x13, 0, 0,
	NAMED, 0x2e, 0, 0x03, 0x08, 0, 0,
	LEAF, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0,
	0,
};

struct dwarf {
	uint8_t *bytes, *elf_bytes;
	size_t n, info;			// info: where .debug_info begins
	struct fw_image *image;
	struct fw_elf *elf;
};

static void put(struct dwarf *d, const void *bytes, size_t n)
{
	memcpy(d->bytes + d->n, bytes, n);
	d->n += n;
}

static void put_u8(struct dwarf *d, uint8_t v)
{
	put(d, &v, 1);
}

static void put_u32(struct dwarf *d, uint32_t v)
{
	put(d, (uint8_t[]){ v, v >> 8, v >> 16, v >> 24 }, 4);
}

/** The head of a section of make_elf(); close it with its length. */
static size_t begin_section(struct dwarf *d, uint8_t name)
{
	put_u32(d, name);
	return d->n;
}

static void end_section(struct dwarf *d, size_t start)
{
	size_t n = d->n - start;
	memcpy(d->bytes + start - 3, (uint8_t[]){ n, n >> 8, n >> 16 }, 3);
}

static void put_range(struct dwarf *d, uint32_t offset, uint32_t size)
{
	put_u32(d, BASE + offset);
	put_u32(d, 0);
	put_u32(d, size);
}

static void put_func(struct dwarf *d, uint8_t abbrev, const char *name, uint32_t offset,
		     uint32_t size)
{
	put_u8(d, abbrev);
	put(d, name, strlen(name) + 1);
	put_range(d, offset, size);
}

static void begin(struct dwarf *d, size_t room)
{
	*d = (struct dwarf){ .bytes = calloc(1, room + 4096) };
	put_u8(d, 0);
	size_t at = begin_section(d, ABBREV);
	put(d, abbrevs, sizeof(abbrevs));
	end_section(d, at);
	d->info = begin_section(d, INFO);
	put_u32(d, 0);					// length: see finish()
	put(d, (uint8_t[]){ 4, 0, 0, 0, 0, 0, 8 }, 7);	// version, abbreviations, address size
	put_func(d, UNIT, "a.c", 0, 0x10000);
}

static void finish(struct dwarf *d)
{
	struct fw_elf_files files;
	struct fw_builder *b;
	struct fw_error err = { .code = FW_OK };
	if (d->info) {
		uint32_t n = (uint32_t)(d->n - d->info - 4);
		memcpy(d->bytes + d->info, (uint8_t[]){ n, n >> 8, n >> 16, n >> 24 }, 4);
		end_section(d, d->info);
	}
	d->elf = open_input(d->bytes, d->n, &d->elf_bytes, &files);
	ck_assert_ptr_nonnull(d->elf);
	ck_assert_int_eq(fw_builder_create(&b, &err), FW_OK);
	ck_assert_msg(fw_dwarf_into(&files, b, &err) == FW_OK, "%s", err.message);
	ck_assert_int_eq(fw_builder_freeze(b, &d->image, &err), FW_OK);
	ck_assert_msg(fw_image_check(d->image, &err) == FW_OK, "%s", err.message);
}

static void done(struct dwarf *d)
{
	fw_image_destroy(d->image);
	fw_elf_close(d->elf);
	free(d->elf_bytes);
	free(d->bytes);
}

static const char *name_at(const struct dwarf *d, uint32_t offset)
{
	static char text[128];
	const struct fw_func *f = fw_image_func(d->image, offset);
	if (f == NULL)
		return "";
	struct fw_str s = fw_image_string(d->image, f->name);
	snprintf(text, sizeof(text), "%.*s", (int)s.n, s.s);
	return text;
}

static void expect_dropped(const struct dwarf *d, uint32_t limit)
{
	for (unsigned k = 0; k < FW_DIAG_COUNT; k++)
		ck_assert_uint_eq(d->image->diag.count[k], k == FW_DIAG_LIMIT ? limit : 0);
}

// The unit stands on level 1, so a function below n blocks on level n + 2.
START_TEST(nesting)
{
	for (unsigned over = 0; over < 2; over++) {
		struct dwarf d;
		begin(&d, 4 * FW_MAX_DIE_DEPTH);
		put_func(&d, LEAF, "first", 0x100, 0x10);
		for (unsigned i = 0; i < FW_MAX_DIE_DEPTH - 2 + over; i++)
			put_u8(&d, BLOCK);
		put_func(&d, LEAF, "deep", 0x200, 0x10);
		for (unsigned i = 0; i < FW_MAX_DIE_DEPTH - 1 + over; i++)
			put_u8(&d, 0);
		finish(&d);
		ck_assert_str_eq(name_at(&d, 0x100), "first");
		ck_assert_str_eq(name_at(&d, 0x200), over ? "" : "deep");
		expect_dropped(&d, over);
		done(&d);
	}
}
END_TEST

START_TEST(inlined_calls)
{
	for (unsigned over = 0; over < 2; over++) {
		const unsigned n = FW_MAX_INLINE_DEPTH + over;
		const struct fw_inline *calls[FW_MAX_INLINE_DEPTH + 8];
		struct dwarf d;
		begin(&d, 32 * n);
		uint32_t origin = (uint32_t)(d.n - d.info);
		put_u8(&d, NAMED);
		put(&d, "small", 6);
		put_func(&d, FUNC, "outer", 0x100, 0x10);
		for (unsigned i = 0; i < n; i++) {
			put_u8(&d, CALL);
			put_u32(&d, origin);
			put_range(&d, 0x100, 0x10);
		}
		for (unsigned i = 0; i < n + 2; i++)
			put_u8(&d, 0);
		finish(&d);
		const struct fw_func *f = fw_image_func(d.image, 0x104);
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(fw_image_inlines(d.image, f, 0x104, calls,
						   FW_MAX_INLINE_DEPTH + 8), FW_MAX_INLINE_DEPTH);
		expect_dropped(&d, over);
		done(&d);
	}
}
END_TEST

// A name is at the end of so many origins; the last form: they go round in a circle.
START_TEST(origins_of_origins)
{
	for (unsigned k = 0; k < 3; k++) {
		const unsigned links = FW_MAX_DIE_CHAIN - 2 + (k == 1);	// besides the ends
		struct dwarf d;
		begin(&d, 4096);
		uint32_t at = (uint32_t)(d.n - d.info);
		if (k < 2) {
			put_u8(&d, NAMED);
			put(&d, "far", 4);
		}
		for (unsigned i = 0; i < links; i++) {
			uint32_t here = (uint32_t)(d.n - d.info);
			put_u8(&d, LINK);
			put_u32(&d, k == 2 && i == 0 ? here + 5 * (links - 1) : at);
			at = here;
		}
		put_u8(&d, COPY);
		put_u32(&d, at);
		put_range(&d, 0x100, 0x10);
		put_u8(&d, 0);
		finish(&d);
		ck_assert_str_eq(name_at(&d, 0x100), k == 0 ? "far" : "<name omitted>");
		expect_dropped(&d, 0);
		done(&d);
	}
}
END_TEST

START_TEST(long_names)
{
	for (unsigned over = 0; over < 2; over++) {
		const size_t n = FW_MAX_DEMANGLED + over;
		char *name = malloc(n + 1);
		struct dwarf d;
		memset(name, 'n', n);
		name[n] = '\0';
		begin(&d, n);
		put_func(&d, LEAF, name, 0x100, 0x10);
		put_u8(&d, 0);
		finish(&d);
		const struct fw_func *f = fw_image_func(d.image, 0x100);
		ck_assert_uint_eq(fw_image_string(d.image, f->name).n, FW_MAX_DEMANGLED);
		done(&d);
		free(name);
	}
}
END_TEST

// A line table of version 2: one file whose name is long.
static void put_lines(struct dwarf *d, size_t name)
{
	static const uint8_t head[] = { 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	static const uint8_t program[] = {
		0, 9, 2, 0x00, BASE >> 8, 0, 0, 0, 0, 0, 0,	// set_address 0x1000
		3, 6, 1,					// line 7; copy
		2, 0x10, 0, 1, 1,				// advance_pc, end_sequence
	};
	size_t header = sizeof(head) + 1 + name + 1 + 3 + 1;
	size_t at = begin_section(d, LINE);
	put_u32(d, (uint32_t)(2 + 4 + header + sizeof(program)));
	put(d, (uint8_t[]){ 2, 0 }, 2);
	put_u32(d, (uint32_t)header);
	put(d, head, sizeof(head));
	put_u8(d, 0);			// no directories
	memset(d->bytes + d->n, 'f', name);
	d->n += name;
	put(d, (uint8_t[]){ 0, 0, 0, 0, 0 }, 5);
	put(d, program, sizeof(program));
	end_section(d, at);
}

START_TEST(long_paths)
{
	static const uint8_t with_lines[] = {
		1, 0x11, 1, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0, 0,	// stmt_list, low, high
		2, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, 0,
	};
	for (unsigned over = 0; over < 2; over++) {
		struct dwarf d = { .bytes = calloc(1, 16384) };
		put_u8(&d, 0);
		size_t at = begin_section(&d, ABBREV);
		put(&d, with_lines, sizeof(with_lines));
		end_section(&d, at);
		put_lines(&d, FW_MAX_DWARF_PATH + over);
		d.info = begin_section(&d, INFO);
		put_u32(&d, 0);
		put(&d, (uint8_t[]){ 4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0 }, 12);
		put_range(&d, 0, 0x1000);
		put_func(&d, 2, "f", 0, 0x10);
		put_u8(&d, 0);
		finish(&d);
		const struct fw_func *f = fw_image_func(d.image, 0);
		ck_assert_ptr_nonnull(f);
		const struct fw_line *line = fw_image_line(d.image, f, 4);
		if (!over) {
			ck_assert_ptr_nonnull(line);
			ck_assert_uint_eq(line->line, 7);
			ck_assert_uint_eq(fw_image_numbered(d.image, FW_SEC_FILES, line->file).n,
					  FW_MAX_DWARF_PATH);
		} else if (line != NULL) {
			ck_assert_uint_eq(fw_image_numbered(d.image, FW_SEC_FILES, line->file).n, 0);
		}
		expect_dropped(&d, over);
		done(&d);
	}
}
END_TEST

Suite *dwarf_limits_suite(void)
{
	Suite *s = suite_create("dwarf_limits");
	TCase *tc = tcase_create("dwarf_limits");
	tcase_add_test(tc, nesting);
	tcase_add_test(tc, inlined_calls);
	tcase_add_test(tc, origins_of_origins);
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, long_paths);
	suite_add_tcase(s, tc);
	return s;
}
