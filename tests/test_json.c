#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *json_suite(void);

static struct fw_out o;
static struct fw_json j;

static void start(bool pretty)
{
	fw_out_init_memory(&o, 1 << 20);
	fw_json_init(&j, &o, pretty);
}

static void finish(const char *want)
{
	fw_json_finish(&j);
	ck_assert_int_eq(fw_out_flush(&o, NULL), FW_OK);
	fw_out_byte(&o, '\0');
	ck_assert_str_eq(o.data, want);
	fw_out_deinit(&o);
}

static void write_document(void)
{
	fw_json_begin_object(&j);
	fw_json_key(&j, "n");
	fw_json_u64(&j, UINT64_MAX);
	fw_json_key(&j, "list");
	fw_json_begin_array(&j);
	fw_json_i64(&j, INT64_MIN);
	fw_json_bool(&j, true);
	fw_json_begin_array(&j);
	fw_json_end_array(&j);
	fw_json_begin_object(&j);
	fw_json_end_object(&j);
	fw_json_begin_array(&j);
	fw_json_null(&j);
	fw_json_end_array(&j);
	fw_json_end_array(&j);
	fw_json_key(&j, "h");
	fw_json_hex(&j, 0xabc, 8);
	fw_json_key(&j, "no");
	fw_json_bool(&j, false);
	fw_json_key(&j, "s");
	fw_json_cstr(&j, "x");
	fw_json_key(&j, "t");
	fw_json_cstr(&j, NULL);
	fw_json_key(&j, "u");
	fw_json_str(&j, FW_STR("yz"));
	fw_json_key(&j, "v");
	fw_json_str(&j, (struct fw_str){ 0 });
	fw_json_end_object(&j);
}

START_TEST(compact_document)
{
	start(false);
	write_document();
	finish("{\"n\":18446744073709551615,\"list\":[-9223372036854775808,true,[],{},[null]],"
	       "\"h\":\"0x00000abc\",\"no\":false,\"s\":\"x\",\"t\":null,\"u\":\"yz\","
	       "\"v\":null}\n");
}
END_TEST

START_TEST(pretty_document)
{
	start(true);
	write_document();
	finish("{\n"
	       "  \"n\": 18446744073709551615,\n"
	       "  \"list\": [\n"
	       "    -9223372036854775808,\n"
	       "    true,\n"
	       "    [],\n"
	       "    {},\n"
	       "    [\n"
	       "      null\n"
	       "    ]\n"
	       "  ],\n"
	       "  \"h\": \"0x00000abc\",\n"
	       "  \"no\": false,\n"
	       "  \"s\": \"x\",\n"
	       "  \"t\": null,\n"
	       "  \"u\": \"yz\",\n"
	       "  \"v\": null\n"
	       "}\n");
}
END_TEST

START_TEST(several_documents_follow_each_other)
{
	start(false);
	fw_json_u64(&j, 1);
	fw_json_finish(&j);
	fw_json_begin_array(&j);
	fw_json_end_array(&j);
	finish("1\n[]\n");
}
END_TEST

START_TEST(thirty_two_levels)
{
	char want[80];
	start(false);
	for (int i = 0; i < 32; i++) {
		fw_json_begin_array(&j);
		want[i] = '[';
		want[32 + i] = ']';
	}
	for (int i = 0; i < 32; i++)
		fw_json_end_array(&j);
	strcpy(want + 64, "\n");
	finish(want);
}
END_TEST

static const struct {
	const char *text, *want;
} string_cases[] = {
	{ "", "" },
	{ "a\"b\\c/", "a\\\"b\\\\c/" },
	{ "\n\r\t\b\f\x01\x1f", "\\u000a\\u000d\\u0009\\u0008\\u000c\\u0001\\u001f" },
	{ "\x7f", "\\u007f" },
	{ "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "\xef\xbf\xbd\xef\xbb\xbf", "\xef\xbf\xbd\xef\xbb\xbf" },	// U+FFFD, U+FEFF themselves
	// The Unicode Standard 15.0, tables 3-8 to 3-11
	{ "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "????????A" },
	{ "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "????????A" },
	{ "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "?????A??B" },
	{ "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "????A" },
	{ "\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", "a???b?c??d" },
	{ "cut short\xf0\x9f\x98", "cut short?" },
};

START_TEST(strings_are_escaped_and_valid)
{
	char want[200] = "\"", *p = want + 1;
	for (const char *w = string_cases[_i].want; *w; w++)	// "?" stands for U+FFFD
		p = *w == '?' ? stpcpy(p, "\xef\xbf\xbd") : (*p = *w, p + 1);
	strcpy(p, "\"\n");
	start(false);
	fw_json_cstr(&j, string_cases[_i].text);
	finish(want);
}
END_TEST

/** Escape the obvious way, for ASCII. */
static size_t escape_slowly(char *to, const char *s, size_t n)
{
	char *p = to;
	*p++ = '"';
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"' || s[i] == '\\')
			p += sprintf(p, "\\%c", s[i]);
		else if (s[i] < 0x20 || s[i] == 0x7f)
			p += sprintf(p, "\\u%04x", s[i]);
		else
			*p++ = s[i];
	}
	*p++ = '"';
	return (size_t)(p - to);
}

START_TEST(every_byte_at_every_place_of_every_length)
{
	char s[72], want[512];
	fw_out_init_memory(&o, 1 << 20);
	fw_json_init(&j, &o, false);
	for (size_t n = 0; n < sizeof(s); n++)
		for (size_t at = 0; at < n || at == 0; at++)
			for (int c = 0; c < 128; c += at % 5 ? 1 : 3) {
				char *exact = malloc(n ? n : 1);	// lets ASan see over-reads
				memset(s, 'a' + (int)(n % 26), sizeof(s));
				s[at] = (char)c;
				memcpy(exact, s, n);
				o.count = 0;
				fw_json_string(&j, exact, n);
				size_t length = escape_slowly(want, s, n);
				if (o.count != length || memcmp(o.data, want, length))
					ck_abort_msg("byte %d at %zu of %zu", c, at, n);
				free(exact);
			}
	fw_out_deinit(&o);
}
END_TEST

START_TEST(strings_that_do_not_fit_are_cut_exactly)
{
	char s[100], want[512];
	memset(s, 'x', sizeof(s));
	s[40] = '\n';
	s[99] = '"';
	size_t length = escape_slowly(want, s, sizeof(s));
	for (size_t max = 0; max <= length + 1; max++) {
		fw_out_init_memory(&o, max);
		fw_json_init(&j, &o, false);
		fw_json_string(&j, s, sizeof(s));
		ck_assert_int_eq(o.failed != 0, max < length);
		ck_assert_uint_le(o.count, max);
		ck_assert_mem_eq(o.data, want, o.count);
		fw_out_deinit(&o);
	}
}
END_TEST

START_TEST(long_strings_cross_the_buffer)
{
	enum { N = 200000 };
	char *s = malloc(N), *want = malloc(6 * N + 2);
	for (size_t i = 0; i < N; i++)
		s[i] = (char)(i % 1013 == 0 ? i % 128 : 'a' + i % 26);
	size_t length = escape_slowly(want, s, N);
	FILE *f = tmpfile();
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fw_out_init_fd(&o, fileno(f), NULL), FW_OK);
	fw_json_init(&j, &o, false);
	fw_json_string(&j, s, N);
	ck_assert_int_eq(fw_out_flush(&o, NULL), FW_OK);
	char *got = malloc(length + 1);
	rewind(f);
	ck_assert_uint_eq(fread(got, 1, length + 1, f), length);
	ck_assert_mem_eq(got, want, length);
	fclose(f);
	free(got);
	free(want);
	free(s);
	fw_out_deinit(&o);
}
END_TEST

START_TEST(value_without_key_asserts)
{
	start(false);
	fw_json_begin_object(&j);
	fw_json_null(&j);
}
END_TEST

START_TEST(key_in_array_asserts)
{
	start(false);
	fw_json_begin_array(&j);
	fw_json_key(&j, "k");
}
END_TEST

START_TEST(wrong_end_asserts)
{
	start(false);
	fw_json_begin_array(&j);
	fw_json_end_object(&j);
}
END_TEST

START_TEST(end_after_key_asserts)
{
	start(false);
	fw_json_begin_object(&j);
	fw_json_key(&j, "k");
	fw_json_end_object(&j);
}
END_TEST

START_TEST(unfinished_asserts)
{
	start(false);
	fw_json_begin_array(&j);
	fw_json_finish(&j);
}
END_TEST

START_TEST(depth_over_32_asserts)
{
	start(false);
	for (int i = 0; i < 33; i++)
		fw_json_begin_array(&j);
}
END_TEST

Suite *json_suite(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("json");
	tcase_add_test(tc, compact_document);
	tcase_add_test(tc, pretty_document);
	tcase_add_test(tc, several_documents_follow_each_other);
	tcase_add_test(tc, thirty_two_levels);
	tcase_add_loop_test(tc, strings_are_escaped_and_valid, 0, ARRAY_SIZE(string_cases));
	tcase_add_test(tc, every_byte_at_every_place_of_every_length);
	tcase_add_test(tc, strings_that_do_not_fit_are_cut_exactly);
	tcase_add_test(tc, long_strings_cross_the_buffer);
	const char *fork = getenv("CK_FORK");
	if (!fork || strcmp(fork, "no") != 0) {
		tcase_add_test_raise_signal(tc, value_without_key_asserts, SIGABRT);
		tcase_add_test_raise_signal(tc, key_in_array_asserts, SIGABRT);
		tcase_add_test_raise_signal(tc, wrong_end_asserts, SIGABRT);
		tcase_add_test_raise_signal(tc, end_after_key_asserts, SIGABRT);
		tcase_add_test_raise_signal(tc, unfinished_asserts, SIGABRT);
		tcase_add_test_raise_signal(tc, depth_over_32_asserts, SIGABRT);
	}
	suite_add_tcase(s, tc);
	return s;
}
