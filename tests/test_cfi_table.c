#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/rules/cfi_find.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *cfi_table_suite(void);

// Distinct rows, numbered from 1 in the order in which they are first asked for.
static uint32_t add_row(struct fw_cfi_builder *b, int32_t n)
{
	struct fw_row row;
	uint32_t id = 0;
	fw_row_init(&row, fw_cpu_get(FW_CPU_AMD64));
	fw_row_set(&row, (struct fw_rule){ FW_RULE_REG, FW_SLOT_CFA, 7, 0, n });
	fw_row_set(&row, (struct fw_rule){ FW_RULE_LOAD_CFA, 16, 0, 0, -8 });
	if (fw_cfi_add_row(b, &row, &id) != FW_OK)
		ck_abort();
	return id;
}

static void append(struct fw_cfi_builder *b, uint32_t address, uint32_t row)
{
	if (fw_cfi_append(b, address, row) != FW_OK)
		ck_abort();
}

static struct fw_cfi_table finish(struct fw_cfi_builder *b)
{
	struct fw_cfi_table t;
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_cfi_finish(b), FW_OK);
	fw_cfi_view(b, &t);
	ck_assert_msg(fw_cfi_check(&t, &err) == FW_OK, "%s: %s", err.place, err.message);
	return t;
}

START_TEST(an_empty_table_has_no_rules)
{
	struct fw_cfi_builder b;
	uint32_t count = 9;
	fw_cfi_builder_init(&b);
	struct fw_cfi_table t = finish(&b);
	ck_assert_uint_eq(t.num_pages, 0);
	ck_assert_uint_eq(t.num_rows, 1);
	ck_assert_uint_eq(fw_cfi_find(&t, 0), 0);
	ck_assert_uint_eq(fw_cfi_find(&t, UINT32_MAX), 0);
	ck_assert_ptr_null(fw_cfi_rules(&t, 0, &count));
	ck_assert_uint_eq(count, 0);
	ck_assert_ptr_null(fw_cfi_rules(&t, 1, &count));
	fw_cfi_builder_deinit(&b);
	struct fw_cfi_table none = { 0 };
	ck_assert_uint_eq(fw_cfi_find(&none, 0), 0);
	ck_assert_int_eq(fw_cfi_check(&none, NULL), FW_OK);
}
END_TEST

static const struct { uint32_t address, row; } borders[] = {
	{ 0, 0 }, { 0xfff, 0 },		// before the first
	{ 0x1000, 1 },			// its first byte
	{ 0x1001, 2 }, { 0x1003, 2 },
	{ 0x1004, 3 }, { 0x10ff, 3 },	// to the end of the block
	{ 0x1100, 3 }, { 0x12fe, 3 },	// and over blocks without entries
	{ 0x12ff, 1 },			// the last byte of a block
	{ 0x1300, 2 },			// the first of a block
	{ 0xffff, 2 }, { 0x10000, 2 }, { 0x2fffff, 2 },	// over whole pages
	{ 0x300000, 0 },		// a gap at a page's start
	{ 0x3000fe, 0 }, { 0x3000ff, 3 }, { 0x300100, 3 }, { 0x30ffff, 3 },
	{ 0x310000, 3 }, { 0x310001, 3 }, { 0x310002, 0 },	// the end
	{ 0x31ffff, 0 }, { 0x320000, 0 }, { UINT32_MAX, 0 },
};

START_TEST(rows_hold_from_their_address_on)
{
	struct fw_cfi_builder b;
	fw_cfi_builder_init(&b);
	for (int32_t i = 1; i <= 3; i++)
		ck_assert_uint_eq(add_row(&b, i), (uint32_t)i);
	static const uint32_t changes[][2] = {
		{ 0x1000, 1 }, { 0x1001, 2 }, { 0x1004, 3 }, { 0x12ff, 1 }, { 0x1300, 2 },
		{ 0x300000, 0 }, { 0x3000ff, 3 }, { 0x310002, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		append(&b, changes[i][0], changes[i][1]);
	struct fw_cfi_table t = finish(&b);
	for (size_t i = 0; i < ARRAY_SIZE(borders); i++)
		ck_assert_msg(fw_cfi_find(&t, borders[i].address) == borders[i].row, "%#x",
			      borders[i].address);
	fw_cfi_builder_deinit(&b);
}
END_TEST

START_TEST(the_last_append_at_an_address_wins)	// Breakpad's trap 24
{
	struct fw_cfi_builder b;
	fw_cfi_builder_init(&b);
	for (int32_t i = 1; i <= 4; i++)
		add_row(&b, i);
	append(&b, 0, 1);
	append(&b, 0, 2);
	append(&b, 5, 1);
	append(&b, 5, 2);	// as it was: no entry at all
	append(&b, 9, 3);
	append(&b, 9, 4);
	append(&b, 9, 3);
	append(&b, 0x10000, 1);
	append(&b, 0x10000, 4);
	append(&b, 0x10008, 0);
	struct fw_cfi_table t = finish(&b);
	ck_assert_uint_eq(fw_cfi_find(&t, 0), 2);
	ck_assert_uint_eq(fw_cfi_find(&t, 5), 2);
	ck_assert_uint_eq(fw_cfi_find(&t, 8), 2);
	ck_assert_uint_eq(fw_cfi_find(&t, 9), 3);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xffff), 3);
	ck_assert_uint_eq(fw_cfi_find(&t, 0x10000), 4);
	ck_assert_uint_eq(fw_cfi_find(&t, 0x10008), 0);
	fw_cfi_builder_deinit(&b);
}
END_TEST

START_TEST(appends_may_not_descend)
{
	struct fw_cfi_builder b;
	fw_cfi_builder_init(&b);
	uint32_t row = add_row(&b, 1);
	append(&b, 0x1000, row);
	ck_assert_int_eq(fw_cfi_append(&b, 0xfff, 0), FW_MALFORMED);
	ck_assert_int_eq(fw_cfi_append(&b, 0x1000, row + 1), FW_MALFORMED);	// no such row
	append(&b, 0x1001, 0);
	struct fw_cfi_table t = finish(&b);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xfff), 0);
	ck_assert_uint_eq(fw_cfi_find(&t, 0x1000), row);
	ck_assert_uint_eq(fw_cfi_find(&t, 0x1001), 0);
	fw_cfi_builder_deinit(&b);
}
END_TEST

START_TEST(a_rule_of_gigabytes_costs_its_directory)
{
	struct fw_cfi_builder b;
	fw_cfi_builder_init(&b);
	uint32_t row = add_row(&b, 1);
	append(&b, 0x10, row);
	append(&b, 0xc0000000, 0);
	struct fw_cfi_table t = finish(&b);
	ck_assert_uint_eq(t.num_pages, 0xc000);
	ck_assert_uint_lt(t.pages_size, 4096);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xf), 0);
	ck_assert_uint_eq(fw_cfi_find(&t, 0x10), row);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xbfffffff), row);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xc0000000), 0);
	fw_cfi_builder_deinit(&b);
}
END_TEST

START_TEST(a_rule_may_hold_to_the_end_of_the_address_space)
{
	struct fw_cfi_builder b;
	fw_cfi_builder_init(&b);
	uint32_t row = add_row(&b, 1), other = add_row(&b, 2);
	append(&b, 0xfffefff0, row);
	append(&b, UINT32_MAX, other);
	struct fw_cfi_table t = finish(&b);
	ck_assert_uint_eq(t.num_pages, 0x10000);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xfffeffef), 0);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xfffefff0), row);
	ck_assert_uint_eq(fw_cfi_find(&t, UINT32_MAX - 1), row);
	ck_assert_uint_eq(fw_cfi_find(&t, UINT32_MAX), other);
	fw_cfi_builder_deinit(&b);
	fw_cfi_builder_init(&b);
	append(&b, 0x10, add_row(&b, 1));
	t = finish(&b);
	ck_assert_uint_eq(fw_cfi_find(&t, UINT32_MAX), 1);
	fw_cfi_builder_deinit(&b);
}
END_TEST

START_TEST(equal_rows_are_stored_once)
{
	struct fw_cfi_builder b;
	struct fw_row row;
	uint32_t id;
	fw_cfi_builder_init(&b);
	for (int round = 0; round < 2; round++) {
		for (int32_t i = 1; i <= 3000; i++)
			ck_assert_uint_eq(add_row(&b, i), (uint32_t)i);
	}
	// the flags of a row are part of it, what it is made of decides the plain one
	fw_row_init(&row, fw_cpu_get(FW_CPU_AMD64));
	fw_row_set(&row, (struct fw_rule){ FW_RULE_REG, FW_SLOT_CFA, 7, 0, 1 });
	fw_row_set(&row, (struct fw_rule){ FW_RULE_LOAD_CFA, 16, 0, 0, -8 });
	row.rules[0].flags = FW_ROW_PLAIN;
	ck_assert_int_eq(fw_cfi_add_row(&b, &row, &id), FW_OK);
	ck_assert_uint_eq(id, 1);
	row.rules[0].flags = FW_ROW_SIGNAL;
	ck_assert_int_eq(fw_cfi_add_row(&b, &row, &id), FW_OK);
	ck_assert_uint_eq(id, 3001);
	row.rules[0].flags = FW_ROW_RA_IN_PC;
	ck_assert_int_eq(fw_cfi_add_row(&b, &row, &id), FW_OK);
	ck_assert_uint_eq(id, 3002);
	fw_row_set(&row, (struct fw_rule){ FW_RULE_CFA, 3, 0, 0, -16 });
	row.rules[0].flags = FW_ROW_PLAIN | FW_ROW_SIGNAL;
	ck_assert_int_eq(fw_cfi_add_row(&b, &row, &id), FW_OK);
	struct fw_cfi_table t = finish(&b);
	uint32_t count;
	ck_assert_uint_eq(fw_cfi_rules(&t, 1, &count)[0].flags, FW_ROW_PLAIN);
	ck_assert_uint_eq(fw_cfi_rules(&t, 3001, &count)[0].flags, FW_ROW_PLAIN | FW_ROW_SIGNAL);
	ck_assert_uint_eq(fw_cfi_rules(&t, id, &count)[0].flags, FW_ROW_SIGNAL);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(t.num_rows, 3004);
	fw_cfi_builder_deinit(&b);
}
END_TEST

/*
 * Differential: the table against the plain list of changes it was built from,
 * asked everywhere around every change, block and page, and at random.
 */
struct change { uint32_t address, row; };

static uint32_t naive_find(const struct change *list, size_t n, uint32_t address)
{
	uint32_t row = 0;
	for (size_t i = 0; i < n && list[i].address <= address; i++)
		row = list[i].row;
	return row;
}

static void compare(const struct fw_cfi_table *t, const struct change *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t a = list[i].address;
		uint32_t at[] = { a, a - 1, a + 1, a & ~0xffu, a | 0xff, (a | 0xff) + 1,
				  a & ~0xffffu, a | 0xffff, (a | 0xffff) + 1,
				  a ^ (uint32_t)rand() % 0x400,
				  (uint32_t)rand() % (list[n - 1].address + 0x20000) };
		for (size_t k = 0; k < ARRAY_SIZE(at); k++) {
			uint32_t want = naive_find(list, n, at[k]);
			if (fw_cfi_find(t, at[k]) != want)	// ck_assert() is slow
				ck_abort_msg("%#x: %u, not %u", at[k], fw_cfi_find(t, at[k]),
					     want);
		}
	}
}

static const uint32_t densities[] = { 1, 2, 4, 16, 17, 40, 300, 5000, 70000, 1000000 };

START_TEST(random_tables_agree_with_the_list)
{
	srand(100 + (unsigned)_i);
	for (int round = 0; round < 12; round++) {
		struct fw_cfi_builder b;
		struct change list[700];
		uint32_t address = (uint32_t)rand() % 0x20000;
		fw_cfi_builder_init(&b);
		for (int32_t i = 1; i < 20; i++)
			add_row(&b, i);
		for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
			list[i] = (struct change){ address, (uint32_t)rand() % 20 };
			if (i == ARRAY_SIZE(list) - 1)
				list[i].row = 0;
			append(&b, address, list[i].row);
			address += 1 + (uint32_t)rand() % densities[_i];
			if (rand() % 50 == 0)	// onto borders of blocks and pages
				address = (address | (rand() % 2 ? 0xff : 0xffff)) +
					  (uint32_t)rand() % 2;
		}
		struct fw_cfi_table t = finish(&b);
		compare(&t, list, ARRAY_SIZE(list));
		fw_cfi_builder_deinit(&b);
	}
}
END_TEST

START_TEST(a_block_may_have_a_row_a_byte)
{
	struct fw_cfi_builder b;
	fw_cfi_builder_init(&b);
	for (int32_t i = 1; i < 300; i++)
		add_row(&b, i);
	for (uint32_t a = 0; a < 0x20000; a++)
		append(&b, a, 1 + a % 299);
	append(&b, 0x20000, 0);
	struct fw_cfi_table t = finish(&b);
	for (uint32_t a = 0; a < 0x20000; a++)
		if (fw_cfi_find(&t, a) != 1 + a % 299)
			ck_abort_msg("%#x", a);
	// 3 bytes a row, and 4 a block
	ck_assert_uint_le(t.pages_size, 0x20000 * 3 + 2 * 256 * (4 + 1) + FW_CFI_PAD);
	fw_cfi_builder_deinit(&b);
}
END_TEST

enum { MANY = 70000 };

START_TEST(more_rows_than_16_bits_can_name)
{
	struct fw_cfi_builder b;
	fw_cfi_builder_init(&b);
	// one change every 24 bytes, then, past the 65,535th row, every 3
	uint32_t address = 0x100;
	for (uint32_t i = 1; i <= MANY; i++) {
		if (add_row(&b, (int32_t)i) != i || b.wide != (i > UINT16_MAX))
			ck_abort_msg("row %u", i);
		append(&b, address, i);
		address += i <= UINT16_MAX ? 24 : 3;
	}
	append(&b, address, 0);
	struct fw_cfi_table t = finish(&b);
	ck_assert(t.wide);
	address = 0x100;
	for (uint32_t i = 1; i <= MANY; i++) {
		uint32_t next = address + (i <= UINT16_MAX ? 24 : 3), count;
		const struct fw_rule *rules = fw_cfi_rules(&t, i, &count);
		if (fw_cfi_find(&t, address) != i || fw_cfi_find(&t, next - 1) != i || count != 2 ||
		    rules[0].arg != (int32_t)i)
			ck_abort_msg("row %u", i);
		address = next;
	}
	ck_assert_uint_eq(fw_cfi_find(&t, address), 0);
	ck_assert_uint_eq(fw_cfi_find(&t, 0xff), 0);
	fw_cfi_builder_deinit(&b);
}
END_TEST

// Sections of a table in memory of their own size each, so that ASan sees any read outside.
struct copy {
	struct fw_cfi_table t;
	uint8_t *section[4];
	size_t size[4];
};

static void copy_table(struct copy *c, const struct fw_cfi_table *t)
{
	const void *from[4] = { t->dir, t->pages, t->row_first, t->rules };
	c->t = *t;
	c->size[0] = t->num_pages * sizeof(*t->dir);
	c->size[1] = t->pages_size;
	c->size[2] = (t->num_rows + 1) * sizeof(*t->row_first);
	c->size[3] = t->num_rules * sizeof(*t->rules);
	for (int i = 0; i < 4; i++) {
		c->section[i] = malloc(c->size[i]);
		memcpy(c->section[i], from[i], c->size[i]);
	}
	c->t.dir = (const uint32_t *)c->section[0];
	c->t.pages = c->section[1];
	c->t.row_first = (const uint32_t *)c->section[2];
	c->t.rules = (const struct fw_rule *)c->section[3];
}

static void build_small(struct fw_cfi_builder *b, bool wide)
{
	fw_cfi_builder_init(b);
	for (int32_t i = 1; i <= (wide ? UINT16_MAX + 2 : 6); i++)
		add_row(b, i);
	uint32_t top = wide ? UINT16_MAX + 2 : 6;
	for (uint32_t i = 0; i < 60; i++)
		append(b, 0x1fc00 + i * i, top - i % 6);
	append(b, 0x30000, 0);
}

static void look_everywhere(const struct fw_cfi_table *t)
{
	for (uint32_t a = 0x1fb00; a < 0x20f00; a += 29) {
		uint32_t count, row = fw_cfi_find(t, a);
		const struct fw_rule *rules = fw_cfi_rules(t, row, &count);
		if (count && rules + count > t->rules + t->num_rules)
			ck_abort_msg("rules of row %u", row);
	}
}

START_TEST(flipped_bytes_cost_wrong_answers_only)
{
	struct fw_cfi_builder b;
	struct copy c;
	unsigned noticed = 0, flips = 0;
	build_small(&b, _i);
	struct fw_cfi_table t = finish(&b);
	copy_table(&c, &t);
	for (int s = 0; s < 4; s++) {
		size_t stride = c.size[s] > 20000 ? 9973 : 1;	// the rows of a wide table
		for (size_t i = 0; i < c.size[s]; i += stride) {
			static const uint8_t masks[] = { 1, 0x80, 0xff };
			for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
				c.section[s][i] ^= masks[m];
				look_everywhere(&c.t);
				if (stride == 1 && !_i && m == 1)
					noticed += fw_cfi_check(&c.t, NULL) != FW_OK, flips++;
				c.section[s][i] ^= masks[m];
			}
		}
	}
	ck_assert(_i || (noticed > 200 && noticed < flips));
	for (int s = 0; s < 4; s++)
		free(c.section[s]);
	fw_cfi_builder_deinit(&b);
}
END_TEST

START_TEST(cut_sections_cost_wrong_answers_only)
{
	struct fw_cfi_builder b;
	build_small(&b, _i);
	struct fw_cfi_table t = finish(&b);
	for (uint64_t size = 0; size < t.pages_size; size += _i ? 61 : 3) {
		struct fw_cfi_table cut = t;
		uint8_t *pages = malloc(size + 1);
		memcpy(pages, t.pages, size);
		cut.pages = pages;
		cut.pages_size = size;
		look_everywhere(&cut);
		// the last block, of a few bytes, may reach into the padding
		if (size + 64 < t.pages_size)
			ck_assert_int_eq(fw_cfi_check(&cut, NULL), FW_MALFORMED);
		free(pages);
	}
	t.num_rules--;
	look_everywhere(&t);
	t.num_pages--;
	look_everywhere(&t);
	fw_cfi_builder_deinit(&b);
}
END_TEST

// What fw_cfi_check() says of a table with one thing wrong.
struct damage {
	struct copy *c;
	uint32_t *dir, *first;
	struct fw_rule *rules;
	uint8_t *pages;
};

static void put(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void damage_dir_row(struct damage *d) { d->dir[0] = FW_CFI_WHOLE | 7; }
static void damage_dir_offset(struct damage *d) { d->dir[1] = 0x10000; }
static void damage_dir_odd(struct damage *d) { d->dir[1] = 2; }
static void damage_block_row(struct damage *d) { put(d->pages, FW_CFI_WHOLE | 9); }
static void damage_block_offset(struct damage *d) { put(d->pages, 0x7ffffe01); }
static void damage_block_in_table(struct damage *d) { put(d->pages, 0x20 << 8 | 1); }
static void damage_long(struct damage *d) { d->pages[252 * 4 + 1] ^= 1; }
static void damage_row(struct damage *d) { d->pages[1024] = 0xee; }
static void damage_change(struct damage *d) { d->pages[1024 + 2 * 16] = 200; }
static void damage_row_0(struct damage *d) { d->first[1] = 2; }
static void damage_last_row(struct damage *d) { d->first[7] = 11; }
static void damage_row_range(struct damage *d) { d->first[3] = 3; }
static void damage_cfa(struct damage *d) { d->rules[0].target = 7; }
static void damage_kind(struct damage *d) { d->rules[1].kind = FW_RULE_UNDEFINED; }
static void damage_bad_kind(struct damage *d)
{
	d->rules[0].flags = 0;
	d->rules[1].kind = FW_RULE_COUNT;
}
static void damage_reg(struct damage *d) { d->rules[0].reg = FW_CPU_REGS; }
static void damage_flags(struct damage *d) { d->rules[1].flags = 1; }
static void damage_pages(struct damage *d) { d->c->t.num_pages = 65537; }

static const struct {
	void (*damage)(struct damage *d);
	const char *place, *message;
} checks[] = {
	{ damage_dir_row, "", "page 0: no row 7" },
	{ damage_dir_offset, "", "page 1 lies outside the pages" },
	{ damage_dir_odd, "", "page 1 lies outside the pages" },
	{ damage_block_row, "page 1, block 0", "no row 9" },
	{ damage_block_offset, "page 1, block 0", "block lies outside the pages" },
	{ damage_block_in_table, "page 1, block 0", "block lies outside the pages" },
	{ damage_long, "page 1, block 252", "wrong long flag" },
	{ damage_row, "page 1, block 252", "no row 238" },
	{ damage_change, "page 1, block 252", "changes are not sorted" },
	{ damage_row_0, "", "row 0 has rules" },
	{ damage_last_row, "", "rules behind the last row" },
	{ damage_row_range, "", "row 2 has a bad range of rules" },
	{ damage_cfa, "", "row 1 does not begin with .cfa and .ra" },
	{ damage_kind, "", "row 1: wrong plain flag" },
	{ damage_bad_kind, "", "row 1: bad rule 1" },
	{ damage_reg, "", "row 1: bad rule 0" },
	{ damage_flags, "", "row 1: bad rule 1" },
	{ damage_pages, "", "65537 pages" },
};

START_TEST(checks_name_what_is_wrong)
{
	struct fw_cfi_builder b;
	struct copy c;
	struct fw_error err = { 0 };
	build_small(&b, false);
	struct fw_cfi_table t = finish(&b);
	copy_table(&c, &t);
	struct damage d = { &c, (uint32_t *)c.section[0], (uint32_t *)c.section[2],
			    (struct fw_rule *)c.section[3], c.section[1] };
	checks[_i].damage(&d);
	ck_assert_int_eq(fw_cfi_check(&c.t, &err), FW_MALFORMED);
	ck_assert_str_eq(err.place, checks[_i].place);
	ck_assert_str_eq(err.message, checks[_i].message);
	for (int s = 0; s < 4; s++)
		free(c.section[s]);
	fw_cfi_builder_deinit(&b);
}
END_TEST

/*
 * Every byte that a look-up reads of `pages` lies in what fw_cfi_page_extent()
 * names: with all others overwritten the answer is the same.
 */
START_TEST(an_extent_is_what_a_look_up_reads)
{
	struct fw_cfi_builder b;
	build_small(&b, _i);
	struct fw_cfi_table t = finish(&b), only = t;
	unsigned read = 0;
	for (uint32_t a = 0x1f000; a < 0x31000; a += 23) {
		uint64_t from, to;
		uint8_t *pages = malloc(t.pages_size);
		memset(pages, 0xa5, t.pages_size);
		fw_cfi_page_extent(&t, a >> FW_CFI_PAGE_SHIFT, &from, &to);
		memcpy(pages + from, t.pages + from, to - from);
		only.pages = pages;
		read += from != to;
		if (fw_cfi_find(&only, a) != fw_cfi_find(&t, a))
			ck_abort_msg("%#x", a);
		free(pages);
	}
	ck_assert_uint_gt(read, 0);
	uint64_t from, to;
	fw_cfi_page_extent(&t, 0x8000, &from, &to);	// past the last page
	ck_assert_uint_eq(from, to);
	fw_cfi_builder_deinit(&b);
}
END_TEST

// Found by fuzzing: first 0xfffffff6, end 0 made a count of 10 in 32 bits.
START_TEST(rows_that_end_before_they_begin_have_no_rules)
{
	static const struct fw_rule rules[4];
	static const uint32_t row_first[] = { 0, 0xfffffff6, 0, 3, 1 };
	struct fw_cfi_table t = { .row_first = row_first, .num_rows = 4, .rules = rules,
				  .num_rules = 4 };
	uint32_t count = 7;
	for (uint32_t row = 0; row < 4; row++) {
		ck_assert(row == 2 || fw_cfi_rules(&t, row, &count) == NULL);
		ck_assert(row == 2 || count == 0);
	}
	ck_assert_ptr_eq(fw_cfi_rules(&t, 2, &count), rules);
}
END_TEST

START_TEST(the_vector_compare_agrees_with_the_scalar_one)
{
	uint8_t change[32];
	srand(9);
	for (int round = 0; round < 2000; round++) {
		// mostly ascending, as in a table; behind the m-th anything may stand
		unsigned step = 1 + (unsigned)rand() % 20, at = (unsigned)rand() % 8;
		for (size_t i = 0; i < ARRAY_SIZE(change); i++, at += 1 + (unsigned)rand() % step)
			change[i] = at > 254 ? (uint8_t)rand() : (uint8_t)at;
		uint32_t m = 1 + (uint32_t)rand() % 16;
		for (uint32_t low = 0; low < 256; low++) {
			uint32_t address = (uint32_t)rand() << 8 | low;
			if (fw_cfi_count_16(change, m, address) !=
			    fw_cfi_count_scalar(change, m, address))
				ck_abort_msg("%u of %u", low, m);
		}
	}
}
END_TEST

static enum fw_code try_build(struct fw_cfi_builder *b)
{
	struct fw_row row;
	enum fw_code rc = FW_OK;
	fw_cfi_builder_init(b);
	fw_row_init(&row, fw_cpu_get(FW_CPU_AMD64));
	for (uint32_t i = 0; !rc && i < 300; i++) {
		uint32_t id;
		row.rules[1].arg = (int32_t)i;
		rc = fw_cfi_add_row(b, &row, &id);
		if (!rc)
			rc = fw_cfi_append(b, i * 700, id);
	}
	if (!rc)
		rc = fw_cfi_append(b, 300 * 700, 0);
	return rc ? rc : fw_cfi_finish(b);
}

START_TEST(every_allocation_may_fail)
{
	enum fw_code rc = FW_NO_MEMORY;
	unsigned failures = 0;
	for (uint64_t nth = 1; rc != FW_OK; nth++) {
		struct fw_cfi_builder b;
		struct fw_cfi_table t;
		fw_alloc_fail_at(nth);
		rc = try_build(&b);
		fw_alloc_fail_at(0);
		ck_assert(rc == FW_OK || rc == FW_NO_MEMORY);
		failures += rc != FW_OK;
		fw_cfi_view(&b, &t);
		ck_assert_uint_eq(fw_cfi_find(&t, 700 * 299), rc ? 0 : 300);
		fw_cfi_builder_deinit(&b);
	}
	ck_assert_uint_gt(failures, 10);
}
END_TEST

// Rows of amd64 (psABI figure 3.36: rbx 3, rbp 6, rsp 7, r12 12, return address 16) and
// what of them is short.
enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RA = 16 };
#define CFA(reg, n) { FW_RULE_REG, FW_SLOT_CFA, reg, 0, n }
#define SAVED(reg, n) { FW_RULE_LOAD_CFA, reg, 0, 0, n }
static const struct {
	struct fw_rule rules[6];
	uint8_t flags;
	struct fw_cfi_hot hot;
} short_rows[] = {
	{ { CFA(RSP, 8), SAVED(RA, -8) }, 0, { 8, FW_HOT_FP_KEPT, FW_HOT_SP, 0 } },
	{ { CFA(RBP, 16), SAVED(RA, -8), SAVED(RBP, -16) }, 0, { 16, -16, FW_HOT_FP, 0 } },
	{ { CFA(RSP, 0x7ffffff0), SAVED(RA, -8), SAVED(RBX, -24), SAVED(RBP, -32767),
	    SAVED(R12, -16) }, 0, { 0x7ffffff0, -32767, FW_HOT_SP, 0 } },
	// registers far from the CFA are found all the same when they are asked for
	{ { CFA(RSP, 8), SAVED(RA, -8), SAVED(RBX, -1000000) }, 0,
	  { 8, FW_HOT_FP_KEPT, FW_HOT_SP, 0 } },
	// none: the frame pointer is too far away, or where the value that means "kept" stands
	{ { CFA(RSP, 8), SAVED(RA, -8), SAVED(RBP, -32768) }, 0, { 0 } },
	{ { CFA(RSP, 8), SAVED(RA, -8), SAVED(RBP, 32768) }, 0, { 0 } },
	// another register, another place of the return address, sp not the CFA
	{ { CFA(RBX, 8), SAVED(RA, -8) }, 0, { 0 } },
	{ { CFA(RSP, 8), SAVED(RA, -16) }, 0, { 0 } },
	{ { CFA(RSP, 8), SAVED(RA, -8), SAVED(RSP, -16) }, 0, { 0 } },
	// not plain, or a row that means more
	{ { CFA(RSP, 8), { FW_RULE_UNDEFINED, RA, 0, 0, 0 } }, 0, { 0 } },
	{ { CFA(RSP, 8), SAVED(RA, -8), { FW_RULE_REG, RBX, R12, 0, 0 } }, 0, { 0 } },
	{ { CFA(RSP, 8), SAVED(RA, -8) }, FW_ROW_ENTRY, { 0 } },
	{ { CFA(RSP, 8), SAVED(RA, -8) }, FW_ROW_SIGNAL, { 0 } },
};

START_TEST(short_form_of_a_row)
{
	struct fw_row row;
	struct fw_cfi_builder b;
	struct fw_cfi_table t;
	uint32_t id, i;
	fw_row_init(&row, fw_cpu_get(FW_CPU_AMD64));
	for (i = 0; i < 6 && short_rows[_i].rules[i].kind; i++)
		fw_row_set(&row, short_rows[_i].rules[i]);
	if (i == 1)	// kind 0: the return address is undefined
		fw_row_set(&row, short_rows[_i].rules[1]);
	row.rules[0].flags = short_rows[_i].flags;
	fw_cfi_builder_init(&b);
	ck_assert_int_eq(fw_cfi_add_row(&b, &row, &id), FW_OK);
	ck_assert_int_eq(fw_cfi_make_hot(&b, fw_cpu_get(FW_CPU_AMD64)), FW_OK);
	fw_cfi_view(&b, &t);
	ck_assert_uint_eq(t.num_hot, 2);
	ck_assert_uint_eq(t.hot[0].base, FW_HOT_NONE);
	ck_assert_mem_eq(&t.hot[id], &short_rows[_i].hot, sizeof(t.hot[id]));
	// a CPU whose return address is in a register has none
	ck_assert_int_eq(fw_cfi_make_hot(&b, fw_cpu_get(FW_CPU_ARM64)), FW_OK);
	ck_assert_uint_eq(b.hot.data[id].base, FW_HOT_NONE);
	fw_cfi_builder_deinit(&b);
}
END_TEST

Suite *cfi_table_suite(void)
{
	Suite *s = suite_create("cfi_table");
	TCase *tc = tcase_create("cfi_table");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, an_empty_table_has_no_rules);
	tcase_add_test(tc, rows_hold_from_their_address_on);
	tcase_add_loop_test(tc, short_form_of_a_row, 0, ARRAY_SIZE(short_rows));
	tcase_add_test(tc, the_last_append_at_an_address_wins);
	tcase_add_test(tc, appends_may_not_descend);
	tcase_add_test(tc, a_rule_of_gigabytes_costs_its_directory);
	tcase_add_test(tc, a_rule_may_hold_to_the_end_of_the_address_space);
	tcase_add_test(tc, equal_rows_are_stored_once);
	tcase_add_loop_test(tc, random_tables_agree_with_the_list, 0, ARRAY_SIZE(densities));
	tcase_add_test(tc, a_block_may_have_a_row_a_byte);
	tcase_add_test(tc, more_rows_than_16_bits_can_name);
	tcase_add_loop_test(tc, flipped_bytes_cost_wrong_answers_only, 0, 2);
	tcase_add_loop_test(tc, cut_sections_cost_wrong_answers_only, 0, 2);
	tcase_add_loop_test(tc, an_extent_is_what_a_look_up_reads, 0, 2);
	tcase_add_test(tc, rows_that_end_before_they_begin_have_no_rules);
	tcase_add_test(tc, the_vector_compare_agrees_with_the_scalar_one);
	tcase_add_test(tc, every_allocation_may_fail);
	tcase_add_loop_test(tc, checks_name_what_is_wrong, 0, ARRAY_SIZE(checks));
	suite_add_tcase(s, tc);
	return s;
}
