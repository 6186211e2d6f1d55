#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/vec.h"

Suite *arena_suite(void);

START_TEST(blocks_are_aligned_and_apart)
{
	struct fw_arena a;
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 100, 4096, 5000, 2 << 20, 3, 1 };
	unsigned char *p[sizeof(sizes) / sizeof(*sizes)];
	size_t n = sizeof(sizes) / sizeof(*sizes);
	fw_arena_init(&a, 0);
	for (size_t i = 0; i < n; i++) {
		p[i] = fw_arena_alloc(&a, sizes[i]);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % 16, 0);
		memset(p[i], (int)i, sizes[i]);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			ck_assert_uint_eq(p[i][k], i);
	ck_assert_ptr_ne(p[0], p[1]);
	fw_arena_deinit(&a);
	fw_arena_deinit(&a);
}
END_TEST

START_TEST(many_small_ones_keep_their_bytes)
{
	struct fw_arena a;
	uint32_t *p[20000];
	fw_arena_init(&a, 0);
	for (uint32_t i = 0; i < 20000; i++) {
		p[i] = fw_arena_alloc(&a, 20);
		p[i][0] = p[i][4] = i;
		if (i % 1000 == 0)	// a large one in between does not end the current block
			ck_assert_ptr_nonnull(fw_arena_alloc(&a, 1 << 20));
	}
	for (uint32_t i = 0; i < 20000; i++)
		ck_assert(p[i][0] == i && p[i][4] == i);
	fw_arena_deinit(&a);
}
END_TEST

START_TEST(cap_counts_alignment_and_is_exact)
{
	struct fw_arena a;
	fw_arena_init(&a, 64);
	ck_assert_ptr_nonnull(fw_arena_alloc(&a, 17));	// 32
	ck_assert_uint_eq(a.used, 32);
	ck_assert_ptr_null(fw_arena_alloc(&a, 33));
	ck_assert_ptr_nonnull(fw_arena_alloc(&a, 32));
	ck_assert_uint_eq(a.used, 64);
	ck_assert_ptr_null(fw_arena_alloc(&a, 0));
	fw_arena_reset(&a);
	ck_assert_uint_eq(a.used, 0);
	ck_assert_ptr_nonnull(fw_arena_alloc(&a, 64));
	fw_arena_deinit(&a);
}
END_TEST

START_TEST(reset_reuses_a_block)
{
	struct fw_arena a;
	fw_arena_init(&a, 0);
	fw_arena_reset(&a);
	void *first = fw_arena_alloc(&a, 100);
	fw_arena_reset(&a);
	ck_assert_ptr_eq(fw_arena_alloc(&a, 100), first);
	fw_arena_deinit(&a);
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
	struct fw_arena a;
	fw_arena_init(&a, 0);
	ck_assert_ptr_null(fw_arena_alloc(&a, SIZE_MAX));
	ck_assert_ptr_null(fw_arena_alloc(&a, PTRDIFF_MAX));
	ck_assert_ptr_null(fw_arena_array(&a, SIZE_MAX / 8 + 2, 8));	// 8 modulo 2^64
	ck_assert_ptr_null(fw_arena_strndup(&a, "x", SIZE_MAX));
	fw_arena_deinit(&a);
}
END_TEST

START_TEST(array_is_zero_and_strndup_ends)
{
	struct fw_arena a;
	fw_arena_init(&a, 0);
	memset(fw_arena_alloc(&a, 64), 0xff, 64);
	fw_arena_reset(&a);
	unsigned char *p = fw_arena_array(&a, 16, 4);
	for (int i = 0; i < 64; i++)
		ck_assert_uint_eq(p[i], 0);
	char *s = fw_arena_strndup(&a, "a\0bc", 3);
	ck_assert_mem_eq(s, "a\0b\0", 4);
	ck_assert_str_eq(fw_arena_strndup(&a, NULL, 0), "");
	fw_arena_deinit(&a);
}
END_TEST

START_TEST(hook_fails_once_at_the_nth)
{
	struct fw_arena a;
	fw_arena_init(&a, 0);
	fw_alloc_fail_at(3);
	ck_assert_ptr_nonnull(fw_arena_alloc(&a, 1));
	ck_assert_ptr_nonnull(fw_arena_array(&a, 1, 1));
	ck_assert_ptr_null(fw_arena_strndup(&a, "a", 1));
	ck_assert_ptr_nonnull(fw_arena_alloc(&a, 1));
	fw_alloc_fail_at(1);
	fw_alloc_fail_at(0);
	ck_assert_ptr_nonnull(fw_arena_alloc(&a, 1));
	fw_arena_deinit(&a);
}
END_TEST

START_TEST(arena_stays_valid_whichever_allocation_fails)
{
	for (uint64_t nth = 1;; nth++) {
		struct fw_arena a;
		bool failed = false;
		fw_arena_init(&a, 0);
		fw_alloc_fail_at(nth);
		for (int i = 0; i < 50; i++) {
			uint64_t used = a.used;
			char *p = fw_arena_alloc(&a, 1000);
			if (p) {
				memset(p, i, 1000);
			} else {
				failed = true;
				ck_assert_uint_eq(a.used, used);
			}
		}
		fw_alloc_fail_at(0);
		fw_arena_deinit(&a);
		if (!failed)
			break;
		ck_assert_uint_le(nth, 50);
	}
}
END_TEST

Suite *arena_suite(void)
{
	Suite *s = suite_create("arena");
	TCase *tc = tcase_create("arena");
	tcase_add_test(tc, blocks_are_aligned_and_apart);
	tcase_add_test(tc, many_small_ones_keep_their_bytes);
	tcase_add_test(tc, cap_counts_alignment_and_is_exact);
	tcase_add_test(tc, reset_reuses_a_block);
	tcase_add_test(tc, impossible_sizes_are_refused);
	tcase_add_test(tc, array_is_zero_and_strndup_ends);
	tcase_add_test(tc, hook_fails_once_at_the_nth);
	tcase_add_test(tc, arena_stays_valid_whichever_allocation_fails);
	suite_add_tcase(s, tc);
	return s;
}
