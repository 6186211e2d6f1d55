#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/report/kallsyms.h"

Suite *kallsyms_suite(void);

static char path[] = "/tmp/kallsyms-XXXXXX";

static enum fw_code open_text(const char *text, struct fw_kallsyms **ret, struct fw_error *err)
{
	strcpy(path, "/tmp/kallsyms-XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	enum fw_code code = fw_kallsyms_open(path, ret, err);
	unlink(path);
	return code;
}

static void check_name(const struct fw_kallsyms *k, uint64_t address, const char *name,
		       uint64_t start)
{
	struct fw_kallsym got;
	ck_assert(fw_kallsyms_find(k, address, &got));
	ck_assert_uint_eq(got.name.n, strlen(name));
	ck_assert_mem_eq(got.name.s, name, got.name.n);
	ck_assert_uint_eq(got.start, start);
}

START_TEST(functions_are_found_and_data_is_not)
{
	struct fw_kallsyms *k;
	struct fw_kallsym found;
	uint64_t start;
	ck_assert_int_eq(open_text("ffffffff81000000 T _text\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000300 t local_one\n"
				   "ffffffff81000200 W weak_one\n"
				   "ffffffff81000280 D some_data\n"
				   "ffffffffc0001000 t in_module\t[ext4]\n"
				   "not a line\n"
				   "ffffffffc0002000 t last", &k, NULL), FW_OK);
	check_name(k, UINT64_C(0xffffffff81000000), "_text", UINT64_C(0xffffffff81000000));
	check_name(k, UINT64_C(0xffffffff810002ff), "weak_one", UINT64_C(0xffffffff81000200));
	check_name(k, UINT64_C(0xffffffff81000300), "local_one", UINT64_C(0xffffffff81000300));
	check_name(k, UINT64_C(0xffffffffc0001004), "in_module", UINT64_C(0xffffffffc0001000));
	check_name(k, UINT64_MAX, "last", UINT64_C(0xffffffffc0002000));
	ck_assert(!fw_kallsyms_find(k, UINT64_C(0xffffffff80ffffff), &found));
	ck_assert(fw_kallsyms_find(k, UINT64_C(0xffffffffc0001000), &found));
	ck_assert_uint_eq(found.module.n, 4);
	ck_assert_mem_eq(found.module.s, "ext4", 4);
	ck_assert(fw_kallsyms_find(k, UINT64_C(0xffffffffc0002000), &found));
	ck_assert_uint_eq(found.module.n, 0);
	ck_assert(fw_kallsyms_address(k, FW_STR("in_module"), &start));
	ck_assert_uint_eq(start, UINT64_C(0xffffffffc0001000));
	ck_assert(!fw_kallsyms_address(k, FW_STR("some_data"), &start));
	fw_kallsyms_close(k);
}
END_TEST

// Sizes are not in the list: what lies behind the kernel's text is of no function of it.
START_TEST(the_kernel_ends_where_it_says)
{
	struct fw_kallsyms *k;
	struct fw_kallsym found;
	ck_assert_int_eq(open_text("ffffffff81000000 T _text\n"
				   "ffffffff81000300 t last_one\n"
				   "ffffffff81001000 T _etext\n"
				   "ffffffff81800000 T at_boot\n"
				   "ffffffff81801000 T _einittext\n"
				   "ffffffffc0001000 t trampoline\t[__builtin__ftrace]\n", &k, NULL),
			 FW_OK);
	check_name(k, UINT64_C(0xffffffff81000fff), "last_one", UINT64_C(0xffffffff81000300));
	ck_assert(!fw_kallsyms_find(k, UINT64_C(0xffffffff81001000), &found));
	ck_assert(!fw_kallsyms_find(k, UINT64_C(0xffffffff81801010), &found));
	check_name(k, UINT64_C(0xffffffff81800fff), "at_boot", UINT64_C(0xffffffff81800000));
	check_name(k, UINT64_C(0xffffffffc0001800), "trampoline", UINT64_C(0xffffffffc0001000));
	fw_kallsyms_close(k);
}
END_TEST

START_TEST(hidden_addresses_are_no_answer)
{
	struct fw_kallsyms *k;
	struct fw_error err;
	ck_assert_int_eq(open_text("0000000000000000 T _text\n0000000000000000 t a\n", &k, &err),
			 FW_MALFORMED);
	ck_assert_str_eq(err.message, "no address of code in it");
	ck_assert_int_eq(open_text("", &k, &err), FW_MALFORMED);
	ck_assert_int_eq(fw_kallsyms_open("/nowhere/at/all", &k, &err), FW_IO);
}
END_TEST

Suite *kallsyms_suite(void)
{
	Suite *s = suite_create("kallsyms");
	TCase *t = tcase_create("kallsyms");
	tcase_add_test(t, functions_are_found_and_data_is_not);
	tcase_add_test(t, the_kernel_ends_where_it_says);
	tcase_add_test(t, hidden_addresses_are_no_answer);
	suite_add_tcase(s, t);
	return s;
}
