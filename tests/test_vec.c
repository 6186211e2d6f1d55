#include <check.h>

#include "lib/base/arena.h"
#include "lib/base/vec.h"

Suite *vec_suite(void);

struct odd {
	char bytes[13];
};

START_TEST(push_keeps_order_and_grows_by_doubling)
{
	FW_VEC(uint32_t) v = { 0 };
	size_t grown = 0, capacity = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		ck_assert(fw_vec_push(&v, i));
		if (v.capacity != capacity) {
			ck_assert(capacity == 0 || v.capacity == 2 * capacity);
			capacity = v.capacity;
			grown++;
		}
	}
	ck_assert_uint_eq(v.count, 100000);
	ck_assert_uint_le(grown, 15);
	for (uint32_t i = 0; i < 100000; i++)
		ck_assert_uint_eq(v.data[i], i);
	fw_vec_deinit(&v);
	ck_assert(!v.data && !v.count && !v.capacity);
}
END_TEST

START_TEST(reserve_makes_room_for_n_more)
{
	FW_VEC(struct odd) v = { 0 };
	size_t none = 0;	// a literal 0 would be "always true" to the compiler
	ck_assert(fw_vec_reserve(&v, none));
	ck_assert_ptr_null(v.data);
	ck_assert(fw_vec_push(&v, (struct odd){ "a" }));
	ck_assert(fw_vec_reserve(&v, 1000));
	ck_assert_uint_ge(v.capacity, 1001);
	ck_assert_uint_eq(v.count, 1);
	ck_assert_str_eq(v.data[0].bytes, "a");
	fw_vec_deinit(&v);
}
END_TEST

START_TEST(impossible_reserves_fail_and_change_nothing)
{
	FW_VEC(uint64_t) v = { 0 };
	ck_assert(fw_vec_push(&v, 7));
	size_t capacity = v.capacity;
	static const size_t wrong[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX / 8,
					PTRDIFF_MAX / 8 + 1 };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ck_assert(!fw_vec_reserve(&v, wrong[i]));
	ck_assert(v.count == 1 && v.capacity == capacity && v.data[0] == 7);
	fw_vec_deinit(&v);
}
END_TEST

START_TEST(vec_stays_valid_whichever_growth_fails)
{
	for (uint64_t nth = 1;; nth++) {
		FW_VEC(uint16_t) v = { 0 };
		bool failed = false;
		fw_alloc_fail_at(nth);
		for (uint16_t i = 0; i < 1000; i++) {
			if (fw_vec_push(&v, i))
				continue;
			failed = true;
			ck_assert_uint_eq(v.count, i);
			ck_assert(fw_vec_push(&v, i));	// fails once only
		}
		fw_alloc_fail_at(0);
		for (uint16_t i = 0; i < 1000; i++)
			ck_assert_uint_eq(v.data[i], i);
		fw_vec_deinit(&v);
		if (!failed)
			break;
		ck_assert_uint_le(nth, 20);
	}
}
END_TEST

Suite *vec_suite(void)
{
	Suite *s = suite_create("vec");
	TCase *tc = tcase_create("vec");
	tcase_add_test(tc, push_keeps_order_and_grows_by_doubling);
	tcase_add_test(tc, reserve_makes_room_for_n_more);
	tcase_add_test(tc, impossible_reserves_fail_and_change_nothing);
	tcase_add_test(tc, vec_stays_valid_whichever_growth_fails);
	suite_add_tcase(s, tc);
	return s;
}
