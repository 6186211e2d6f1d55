#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/base/arena.h"
#include "lib/base/intern.h"

Suite *intern_suite(void);

static uint32_t add(struct fw_intern *in, const char *s, size_t n)
{
	uint32_t id = 42424242;
	ck_assert_int_eq(fw_intern_add(in, s, n, &id), FW_OK);
	return id;
}

static void check_string(const struct fw_intern *in, uint32_t id, const char *s, size_t n)
{
	struct fw_str got = fw_intern_get(in, id);
	ck_assert_uint_eq(got.n, n);
	if (n)
		ck_assert_mem_eq(got.s, s, n);
}

START_TEST(ids_are_dense_in_order_of_appearance)
{
	struct fw_intern in;
	char name[64];
	fw_intern_init(&in);
	ck_assert_uint_eq(fw_intern_count(&in), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 50000; i++) {
			int n = snprintf(name, sizeof(name), "%x::name<%u>", i * 2654435761u, i);
			ck_assert_uint_eq(add(&in, name, (size_t)n), i);
		}
	ck_assert_uint_eq(fw_intern_count(&in), 50000);
	for (uint32_t i = 0; i < 50000; i++) {
		int n = snprintf(name, sizeof(name), "%x::name<%u>", i * 2654435761u, i);
		check_string(&in, i, name, (size_t)n);
		ck_assert_uint_eq(fw_intern_find(&in, name, (size_t)n), i);
		ck_assert_uint_eq(fw_intern_find(&in, name, (size_t)n - 1), FW_NO_STRING);
	}
	ck_assert_uint_le(50000 * 10, ((uint64_t)in.mask + 1) * 7);	// load at most 0.7
	fw_intern_deinit(&in);
	fw_intern_deinit(&in);
}
END_TEST

START_TEST(any_bytes_of_any_length)
{
	// All prefixes and suffixes of a text differ in length or in one place.
	struct fw_intern in;
	char text[600];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7 ^ i >> 4);
	fw_intern_init(&in);
	for (uint32_t n = 0; n < sizeof(text); n++)
		ck_assert_uint_eq(add(&in, text, n), n);
	for (uint32_t n = 1; n < sizeof(text); n++) {
		text[n - 1] ^= 1;
		uint32_t id = add(&in, text, n);
		ck_assert_uint_eq(id, sizeof(text) + n - 1);
		text[n - 1] ^= 1;
		ck_assert_uint_eq(add(&in, text, n), n);
		check_string(&in, n, text, n);
	}
	ck_assert_uint_eq(add(&in, NULL, 0), 0);
	ck_assert_uint_eq(add(&in, "\0\0", 2), 2 * sizeof(text) - 1);
	fw_intern_deinit(&in);
}
END_TEST

START_TEST(empty_string_alone)
{
	struct fw_intern in;
	fw_intern_init(&in);
	ck_assert_uint_eq(fw_intern_find(&in, "", 0), FW_NO_STRING);
	ck_assert_uint_eq(add(&in, "", 0), 0);
	ck_assert_uint_eq(fw_intern_count(&in), 1);
	ck_assert_ptr_nonnull(fw_intern_get(&in, 0).s);
	ck_assert_uint_eq(in.offsets.count, 2);
	fw_intern_deinit(&in);
}
END_TEST

START_TEST(sealed_keeps_strings_and_may_be_opened_again)
{
	struct fw_intern in;
	char name[16];
	fw_intern_init(&in);
	for (int i = 0; i < 1000; i++)
		add(&in, name, (size_t)snprintf(name, sizeof(name), "%d", i));
	fw_intern_seal(&in);
	check_string(&in, 999, "999", 3);
	ck_assert_uint_eq(fw_intern_find(&in, "999", 3), FW_NO_STRING);
	ck_assert_uint_eq(add(&in, "17", 2), 17);
	ck_assert_uint_eq(add(&in, "new", 3), 1000);
	ck_assert_uint_eq(fw_intern_find(&in, "999", 3), 999);
	fw_intern_deinit(&in);
}
END_TEST

START_TEST(past_4_gib_is_a_limit)
{
	struct fw_intern in;
	uint32_t id = 42;
	fw_intern_init(&in);
	add(&in, "abc", 3);
	size_t count = in.bytes.count;
	in.bytes.count = UINT32_MAX - 3;	// pretend: nothing is read or written there
	ck_assert_int_eq(fw_intern_add(&in, "defg", 4, &id), FW_LIMIT);
	in.bytes.count = count;
	ck_assert_uint_eq(id, 42);
	ck_assert_uint_eq(add(&in, "defg", 4), 1);
	fw_intern_deinit(&in);
}
END_TEST

START_TEST(hostile_strings_do_not_collide)
{
	// XXH3 of 32 bytes multiplies (word 0 ^ secret 0) by (word 1 ^ secret 1):
	// with word 0 equal to the secret, word 1 does not matter.
	struct fw_intern in;
	char s[32] = { 0 };
	memcpy(s, XXH3_kSecret, 8);
	uint64_t hash = XXH3_64bits(s, sizeof(s));
	fw_intern_init(&in);
	for (uint32_t i = 0; i < 20000; i++) {
		memcpy(s + 8, &i, sizeof(i));
		ck_assert_uint_eq(XXH3_64bits(s, sizeof(s)), hash);	// the attack works ...
		ck_assert_uint_eq(add(&in, s, sizeof(s)), i);
	}
	unsigned run = 0, longest = 0;					// ... but not on us
	for (uint64_t i = 0; i <= in.mask; i++) {
		run = in.slots[i] ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	ck_assert_uint_le(longest, 300);
	fw_intern_deinit(&in);
}
END_TEST

START_TEST(table_stays_valid_whichever_allocation_fails)
{
	enum { STRINGS = 3000 };
	for (uint64_t nth = 1;; nth++) {
		struct fw_intern in;
		char name[32];
		bool failed = false;
		fw_intern_init(&in);
		fw_alloc_fail_at(nth);
		for (uint32_t i = 0; i < STRINGS; i++) {
			uint32_t id = 42;
			size_t n = (size_t)snprintf(name, sizeof(name), "string %u", i);
			if (fw_intern_add(&in, name, n, &id) == FW_OK) {
				ck_assert_uint_eq(id, i);
				continue;
			}
			failed = true;
			ck_assert_uint_eq(id, 42);
			ck_assert_uint_eq(fw_intern_count(&in), i);
			ck_assert_uint_eq(fw_intern_find(&in, name, n), FW_NO_STRING);
			ck_assert_uint_eq(add(&in, name, n), i);
		}
		fw_alloc_fail_at(0);
		for (uint32_t i = 0; i < STRINGS; i++) {
			size_t n = (size_t)snprintf(name, sizeof(name), "string %u", i);
			ck_assert_uint_eq(fw_intern_find(&in, name, n), i);
			check_string(&in, i, name, n);
		}
		fw_intern_deinit(&in);
		if (!failed)
			break;
		ck_assert_uint_le(nth, 40);
	}
}
END_TEST

Suite *intern_suite(void)
{
	Suite *s = suite_create("intern");
	TCase *tc = tcase_create("intern");
	tcase_add_test(tc, ids_are_dense_in_order_of_appearance);
	tcase_add_test(tc, any_bytes_of_any_length);
	tcase_add_test(tc, empty_string_alone);
	tcase_add_test(tc, sealed_keeps_strings_and_may_be_opened_again);
	tcase_add_test(tc, past_4_gib_is_a_limit);
	tcase_add_test(tc, hostile_strings_do_not_collide);
	tcase_add_test(tc, table_stays_valid_whichever_allocation_fails);
	suite_add_tcase(s, tc);
	return s;
}
