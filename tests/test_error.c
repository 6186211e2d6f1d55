#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

Suite *error_suite(void);

START_TEST(names_are_the_words_of_json)
{
	static const char *const names[] = {
		"ok", "no_memory", "io", "malformed", "unsupported", "not_found", "limit", "usage",
	};
	for (int i = FW_OK; i <= FW_USAGE; i++)
		ck_assert_str_eq(fw_code_name((enum fw_code)i), names[i]);
	ck_assert_str_eq(fw_code_name((enum fw_code)99), "unknown");
}
END_TEST

START_TEST(fail_fills_and_returns_the_code)
{
	struct fw_error e;
	memset(&e, 0xee, sizeof(e));
	ck_assert_int_eq(fw_fail(&e, FW_LIMIT, "line 7", "more than %d names", 3), FW_LIMIT);
	ck_assert_int_eq(e.code, FW_LIMIT);
	ck_assert_int_eq(e.os_errno, 0);
	ck_assert_str_eq(e.place, "line 7");
	ck_assert_str_eq(e.message, "more than 3 names");
	ck_assert_int_eq(fw_fail(&e, FW_USAGE, NULL, "x"), FW_USAGE);
	ck_assert_str_eq(e.place, "");
	ck_assert_int_eq(fw_fail(NULL, FW_USAGE, NULL, "x"), FW_USAGE);
}
END_TEST

START_TEST(fail_cuts_what_is_too_long)
{
	struct fw_error e;
	char text[300];
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fw_fail(&e, FW_MALFORMED, text, "%s", text);
	ck_assert_uint_eq(strlen(e.place), sizeof(e.place) - 1);
	ck_assert_uint_eq(strlen(e.message), sizeof(e.message) - 1);
	errno = ENOENT;
	fw_fail_errno(&e, text, "%s", text);
	ck_assert_uint_eq(strlen(e.message), sizeof(e.message) - 1);
}
END_TEST

START_TEST(fail_may_wrap_its_own_error)
{
	struct fw_error e;
	fw_fail(&e, FW_MALFORMED, "offset 9", "bad count");
	fw_fail(&e, e.code, e.place, "section %d: %s", 2, e.message);
	ck_assert_str_eq(e.place, "offset 9");
	ck_assert_str_eq(e.message, "section 2: bad count");
}
END_TEST

START_TEST(fail_errno_appends_the_system_text)
{
	struct fw_error e;
	errno = EPIPE;
	ck_assert_int_eq(fw_fail_errno(&e, NULL, "cannot write %s", "it"), FW_IO);
	ck_assert_int_eq(e.os_errno, EPIPE);
	ck_assert_str_eq(e.message, "cannot write it: Broken pipe");
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(fw_fail_errno(NULL, NULL, "x"), FW_IO);
}
END_TEST

Suite *error_suite(void)
{
	Suite *s = suite_create("error");
	TCase *tc = tcase_create("error");
	tcase_add_test(tc, names_are_the_words_of_json);
	tcase_add_test(tc, fail_fills_and_returns_the_code);
	tcase_add_test(tc, fail_cuts_what_is_too_long);
	tcase_add_test(tc, fail_may_wrap_its_own_error);
	tcase_add_test(tc, fail_errno_appends_the_system_text);
	suite_add_tcase(s, tc);
	return s;
}
