#include <check.h>

#include "lib/rules/memory.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *memory_suite(void);

static const uint8_t low[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const uint8_t next[4] = { 16, 17, 18, 19 };
static const uint8_t top[8] = { 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff };

// 0x1000..0x1010 and 0x1010..0x1014 touch; a hole; the last 8 bytes there are
static const struct fw_segment segments[] = {
	{ 0x1000, sizeof(low), low },
	{ 0x1010, sizeof(next), next },
	{ 0x1020, sizeof(low), low },
	{ UINT64_MAX - 7, sizeof(top), top },
};
static const struct fw_memory memory = { segments, ARRAY_SIZE(segments), false };
static const struct fw_memory swapped = { segments, ARRAY_SIZE(segments), true };

static const struct {
	uint64_t address;
	unsigned width;
	bool ok;
	uint64_t value, swapped;
} cases[] = {
	{ 0x1000, 8, true, 0x0706050403020100, 0x0001020304050607 },
	{ 0x1000, 4, true, 0x03020100, 0x00010203 },
	{ 0x1001, 2, true, 0x0201, 0x0102 },
	{ 0x100f, 1, true, 0x0f, 0x0f },
	{ 0x1008, 8, true, 0x0f0e0d0c0b0a0908, 0x08090a0b0c0d0e0f },	// the last whole word
	{ 0x1009, 4, true, 0x0c0b0a09, 0x090a0b0c },			// less than 8 bytes left
	{ 0x100c, 8, true, 0x131211100f0e0d0c, 0x0c0d0e0f10111213 },	// across the border
	{ 0x100e, 4, true, 0x11100f0e, 0x0e0f1011 },
	{ 0x1010, 4, true, 0x13121110, 0x10111213 },
	{ 0x100d, 8, false, 0, 0 },		// into the hole
	{ 0x1011, 4, false, 0, 0 },
	{ 0x1014, 1, false, 0, 0 },		// in the hole
	{ 0x101f, 2, false, 0, 0 },		// out of the hole
	{ 0x0fff, 1, false, 0, 0 },		// before all
	{ 0x0fff, 8, false, 0, 0 },
	{ 0x1030, 1, false, 0, 0 },
	{ UINT64_MAX - 7, 8, true, 0xfffefdfcfbfaf9f8, 0xf8f9fafbfcfdfeff },
	{ UINT64_MAX, 1, true, 0xff, 0xff },
	{ UINT64_MAX - 6, 8, false, 0, 0 },	// past the end of the address space
	{ UINT64_MAX, 2, false, 0, 0 },
	{ 0x1000, 0, false, 0, 0 },
	{ 0x1000, 3, false, 0, 0 },
	{ 0, 8, false, 0, 0 },
};

START_TEST(words)
{
	uint64_t v = 42;
	struct fw_memory_view view;
	fw_memory_view_init(&view, &memory);
	ck_assert_int_eq(fw_memory_read_slow_(&view, cases[_i].address, cases[_i].width, &v),
			 cases[_i].ok);
	ck_assert_uint_eq(v, cases[_i].ok ? cases[_i].value : 42);	// untouched on failure
	v = 42;
	fw_memory_view_init(&view, &swapped);
	ck_assert_int_eq(fw_memory_read_slow_(&view, cases[_i].address, cases[_i].width, &v),
			 cases[_i].ok);
	ck_assert_uint_eq(v, cases[_i].ok ? cases[_i].swapped : 42);
	ck_assert_uint_eq(view.size, 0);	// nobody may read around the swapping
}
END_TEST

START_TEST(reads_do_not_depend_on_what_was_read_before)
{
	for (size_t before = 0; before < ARRAY_SIZE(cases); before++) {
		uint64_t ignored, v = 42;
		unsigned width = cases[_i].width;
		struct fw_memory_view view;
		if (width == 0 || width == 3)	// not a width for the inline reader
			continue;
		fw_memory_view_init(&view, &memory);
		fw_memory_read_slow_(&view, cases[before].address, cases[before].width, &ignored);
		ck_assert_int_eq(fw_memory_read(&view, cases[_i].address, width, &v),
				 cases[_i].ok);
		ck_assert_uint_eq(v, cases[_i].ok ? cases[_i].value : 42);
	}
}
END_TEST

START_TEST(bytes_cross_segments)
{
	uint8_t out[20];
	ck_assert(fw_memory_bytes(&memory, 0x1000, out, 20));
	for (uint8_t i = 0; i < 20; i++)
		ck_assert_uint_eq(out[i], i);
	ck_assert(!fw_memory_bytes(&memory, 0x1000, out, 21));
	ck_assert(fw_memory_bytes(&memory, 0x5000, out, 0));	// nothing is nowhere missing
	ck_assert(!fw_memory_bytes(&memory, UINT64_MAX, out, 2));
	ck_assert(!fw_memory_bytes(&memory, 0x1000, out, UINT64_MAX));
}
END_TEST

START_TEST(segments_are_found_by_any_address_in_them)
{
	ck_assert_ptr_null(fw_memory_find(&memory, 0xfff));
	ck_assert_ptr_eq(fw_memory_find(&memory, 0x1000), &segments[0]);
	ck_assert_ptr_eq(fw_memory_find(&memory, 0x100f), &segments[0]);
	ck_assert_ptr_eq(fw_memory_find(&memory, 0x1010), &segments[1]);
	ck_assert_ptr_null(fw_memory_find(&memory, 0x1014));
	ck_assert_ptr_eq(fw_memory_find(&memory, 0x1020), &segments[2]);
	ck_assert_ptr_eq(fw_memory_find(&memory, UINT64_MAX), &segments[3]);
}
END_TEST

START_TEST(no_memory_at_all)
{
	const struct fw_memory none = { NULL, 0, false };
	struct fw_memory_view view;
	uint64_t v;
	fw_memory_view_init(&view, &none);
	ck_assert(!fw_memory_read(&view, 0, 8, &v));
	ck_assert_ptr_null(fw_memory_find(&none, 0));
}
END_TEST

Suite *memory_suite(void)
{
	Suite *s = suite_create("memory");
	TCase *tc = tcase_create("memory");
	tcase_add_loop_test(tc, words, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, reads_do_not_depend_on_what_was_read_before, 0,
			    ARRAY_SIZE(cases));
	tcase_add_test(tc, bytes_cross_segments);
	tcase_add_test(tc, segments_are_found_by_any_address_in_them);
	tcase_add_test(tc, no_memory_at_all);
	suite_add_tcase(s, tc);
	return s;
}
