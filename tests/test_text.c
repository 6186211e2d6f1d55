#include <check.h>
#include <ctype.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/base/utf8.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *text_suite(void);

START_TEST(hex_digits_agree_with_the_c_library)
{
	for (int c = 0; c < 256; c++) {
		int want = c < 128 && isdigit(c) ? c - '0' :
			   c < 128 && isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
		ck_assert_int_eq(fw_hex_digit[c], want);
	}
}
END_TEST

static const struct {
	const char *text;
	bool ok;
	uint64_t value;
	size_t taken;
} hex_cases[] = {
	{ "", false, 0, 0 },
	{ "g", false, 0, 0 },
	{ " 1", false, 0, 0 },
	{ "0x1", true, 0, 1 },			// no prefix: stops at x
	{ "dEadBEEf rest", true, 0xdeadbeef, 8 },
	{ "ffffffffffffffff", true, UINT64_MAX, 16 },
	{ "10000000000000000", false, 0, 0 },	// 2^64
	{ "00000000000000000000000001", true, 1, 26 },
}, dec_cases[] = {
	{ "", false, 0, 0 },
	{ "-1", false, 0, 0 },
	{ "007x", true, 7, 3 },
	{ "18446744073709551615", true, UINT64_MAX, 20 },
	{ "18446744073709551616", false, 0, 0 },
	{ "18446744073709551620", false, 0, 0 },
	{ "99999999999999999999", false, 0, 0 },
};

START_TEST(numbers_parse_or_leave_everything_alone)
{
	for (size_t i = 0; i < ARRAY_SIZE(hex_cases) + ARRAY_SIZE(dec_cases); i++) {
		bool hex = i < ARRAY_SIZE(hex_cases);
		size_t k = hex ? i : i - ARRAY_SIZE(hex_cases);
		const char *text = hex ? hex_cases[k].text : dec_cases[k].text;
		bool ok = hex ? hex_cases[k].ok : dec_cases[k].ok;
		uint64_t want = hex ? hex_cases[k].value : dec_cases[k].value, v = 42;
		size_t taken = hex ? hex_cases[k].taken : dec_cases[k].taken;
		struct fw_text t = { text, text + strlen(text) };
		ck_assert_msg((hex ? fw_text_hex : fw_text_dec)(&t, &v) == ok, "%s", text);
		ck_assert_uint_eq(v, ok ? want : 42);
		ck_assert_uint_eq((size_t)(t.p - text), taken);
	}
}
END_TEST

START_TEST(numbers_end_with_the_text)
{
	const char *text = "1234";
	struct fw_text t = { text, text + 2 };
	uint64_t v;
	ck_assert(fw_text_hex(&t, &v) && v == 0x12 && !fw_text_hex(&t, &v));
	t.p = text;
	ck_assert(fw_text_dec(&t, &v) && v == 12 && !fw_text_dec(&t, &v));
}
END_TEST

START_TEST(tokens_are_runs_of_non_blanks)
{
	const char *text = "  FUNC\tm  a\vb ";
	struct fw_text t = { text, text + strlen(text) };
	static const char *const want[] = { "FUNC", "m", "a\vb" };
	struct fw_str s;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		ck_assert(fw_text_token(&t, &s));
		ck_assert_uint_eq(s.n, strlen(want[i]));
		ck_assert_mem_eq(s.s, want[i], s.n);
	}
	const char *at = t.p;
	ck_assert(!fw_text_token(&t, &s));
	ck_assert_ptr_eq(t.p, at);
	fw_text_skip_blanks(&t);
	ck_assert_ptr_eq(t.p, t.end);
}
END_TEST

/** UTF-8 by its definition: what encoding a scalar value gives is well formed, nothing else. */
static int encode(uint32_t c, unsigned char *p)
{
	if (c < 0x80)
		return p[0] = (unsigned char)c, 1;
	int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (int i = n - 1; i > 0; i--, c >>= 6)
		p[i] = 0x80 | (c & 0x3f);
	p[0] = (unsigned char)(0xf00 >> n | c);
	return n;
}

START_TEST(every_scalar_value_is_well_formed)
{
	for (uint32_t c = 0; c < 0x110000; c++) {
		char p[4];
		int n = encode(c, (unsigned char *)p);
		if (c >= 0xd800 && c < 0xe000) {
			ck_assert_int_eq(fw_utf8_next(p, 4), -1);
			continue;
		}
		if (fw_utf8_next(p, (size_t)n) != n)
			ck_abort_msg("U+%04X", c);
		for (int cut = 1; cut < n; cut++)
			if (fw_utf8_next(p, (size_t)cut) != -cut)
				ck_abort_msg("U+%04X cut to %d", c, cut);
	}
}
END_TEST

// The Unicode Standard 15.0, tables 3-8 to 3-11; each line is a row, "." a U+FFFD.
static const struct {
	const char *bytes, *want;
} subpart_cases[] = {
	{ "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "........A" },
	{ "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "........A" },
	{ "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", ".....A..B" },
	{ "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "....A" },
	{ "\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", "a...b.c..d" },
};

START_TEST(ill_formed_subparts_are_maximal)
{
	for (size_t i = 0; i < ARRAY_SIZE(subpart_cases); i++) {
		const char *s = subpart_cases[i].bytes;
		size_t n = strlen(s), got = 0;
		char text[32];
		while (n) {
			int k = fw_utf8_next(s, n);
			text[got++] = k < 0 ? '.' : *s;
			size_t step = (size_t)(k < 0 ? -k : k);
			ck_assert(step >= 1 && step <= n);
			s += step;
			n -= step;
		}
		text[got] = '\0';
		ck_assert_str_eq(text, subpart_cases[i].want);
	}
}
END_TEST

Suite *text_suite(void)
{
	Suite *s = suite_create("text");
	TCase *tc = tcase_create("text");
	tcase_add_test(tc, hex_digits_agree_with_the_c_library);
	tcase_add_test(tc, numbers_parse_or_leave_everything_alone);
	tcase_add_test(tc, numbers_end_with_the_text);
	tcase_add_test(tc, tokens_are_runs_of_non_blanks);
	tcase_add_test(tc, every_scalar_value_is_well_formed);
	tcase_add_test(tc, ill_formed_subparts_are_maximal);
	suite_add_tcase(s, tc);
	return s;
}
