#include <check.h>

#include "lib/base/bytes.h"

Suite *bytes_suite(void);

static const uint8_t data[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09 };

static bool little(void)
{
	const uint16_t one = 1;
	uint8_t first;
	memcpy(&first, &one, 1);
	return first == 1;
}

START_TEST(both_byte_orders)
{
	struct fw_bytes le = { data, sizeof(data), !little() };
	struct fw_bytes be = { data, sizeof(data), little() };
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	ck_assert(fw_bytes_u8(&le, 8, &u8) && u8 == 0x09);
	ck_assert(fw_bytes_u16(&le, 1, &u16) && u16 == 0x0302);
	ck_assert(fw_bytes_u16(&be, 1, &u16) && u16 == 0x0203);
	ck_assert(fw_bytes_u32(&le, 5, &u32) && u32 == 0x09080706);
	ck_assert(fw_bytes_u32(&be, 5, &u32) && u32 == 0x06070809);
	ck_assert(fw_bytes_u64(&le, 1, &u64) && u64 == 0x0908070605040302);
	ck_assert(fw_bytes_u64(&be, 1, &u64) && u64 == 0x0203040506070809);
}
END_TEST

START_TEST(reads_past_the_end_fail_and_leave_the_result)
{
	struct fw_bytes b = { data, sizeof(data), false };
	uint8_t u8 = 42;
	uint16_t u16 = 42;
	uint32_t u32 = 42;
	uint64_t u64 = 42;
	struct fw_bytes r = { data, 42, true };
	static const uint64_t far[] = { 9, 10, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX };
	ck_assert(!fw_bytes_u16(&b, 8, &u16) && !fw_bytes_u32(&b, 6, &u32) &&
		  !fw_bytes_u64(&b, 2, &u64));
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
		ck_assert(!fw_bytes_u8(&b, far[i], &u8) && !fw_bytes_u16(&b, far[i], &u16) &&
			  !fw_bytes_u32(&b, far[i], &u32) && !fw_bytes_u64(&b, far[i], &u64));
		ck_assert(!fw_bytes_range(&b, far[i], UINT64_MAX, &r));
		ck_assert(!fw_bytes_range(&b, far[i], 1, &r));
		ck_assert(!fw_bytes_range(&b, 1, far[i], &r));
	}
	ck_assert(u8 == 42 && u16 == 42 && u32 == 42 && u64 == 42 && r.size == 42);
}
END_TEST

START_TEST(ranges_nest_and_may_be_empty)
{
	struct fw_bytes b = { data, sizeof(data), true }, r;
	uint8_t v;
	ck_assert(fw_bytes_range(&b, 2, 3, &r));
	ck_assert(r.size == 3 && r.swap && fw_bytes_u8(&r, 2, &v) && v == 5);
	ck_assert(!fw_bytes_u8(&r, 3, &v));
	ck_assert(fw_bytes_range(&b, 9, 0, &r) && r.size == 0);
	ck_assert(!fw_bytes_u8(&r, 0, &v));
}
END_TEST

Suite *bytes_suite(void)
{
	Suite *s = suite_create("bytes");
	TCase *tc = tcase_create("bytes");
	tcase_add_test(tc, both_byte_orders);
	tcase_add_test(tc, reads_past_the_end_fail_and_leave_the_result);
	tcase_add_test(tc, ranges_nest_and_may_be_empty);
	suite_add_tcase(s, tc);
	return s;
}
