#include <check.h>
#include <string.h>

#include "lib/image/ident.h"

Suite *ident_suite(void);

static const struct { const char *text, *debug, *code; } parse_cases[] = {
	// GUID and age: upper case, age lower case without padding
	{ "5a9832e5287241c1838ed98914e9b7ff1", "5A9832E5287241C1838ED98914E9B7FF1",
	  "5a9832e5287241c1838ed98914e9b7ff1" },
	{ "5A9832E5287241C1838ED98914E9B7FF00AB", "5A9832E5287241C1838ED98914E9B7FFab",
	  "5a9832e5287241c1838ed98914e9b7ff00ab" },
	{ "5A9832E5287241C1838ED98914E9B7FF000", "5A9832E5287241C1838ED98914E9B7FF0",
	  "5a9832e5287241c1838ed98914e9b7ff000" },
	{ "5A9832E5287241C1838ED98914E9B7FF", "5A9832E5287241C1838ED98914E9B7FF",
	  "5a9832e5287241c1838ed98914e9b7ff" },	// no age
	{ "3a2b1c0dA", "3A2B1C0Da", "3a2b1c0da" },		// PDB 2.0
	{ "3a2b1c0d", "3A2B1C0D", "3a2b1c0d" },
	{ "000000000000000000000000000000000", "", "" },	// no id at all
	{ "000000000000000000000000000000001", "", "000000000000000000000000000000001" },
	{ "3a2b1c0", NULL, NULL },				// 7 digits
	{ "3a2b1c0g", NULL, NULL },
	{ "3a2b1c 0d", NULL, NULL },
	{ "", NULL, NULL },
	{ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", NULL, NULL },
	{ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	  "0123456789ABCDEF0123456789ABCDEF123456789abcdef0123456789abcdef",
	  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
};

START_TEST(ids_are_normalised)
{
	const char *text = parse_cases[_i].text;
	struct fw_ident id = { .n = 3, .text = "abc" };
	struct fw_str s = { text, strlen(text) };
	ck_assert_int_eq(fw_ident_parse_debug(&id, s), parse_cases[_i].debug != NULL);
	ck_assert_str_eq(id.text, parse_cases[_i].debug ? parse_cases[_i].debug : "");
	ck_assert_uint_eq(id.n, strlen(id.text));
	ck_assert_int_eq(fw_ident_parse_code(&id, s), parse_cases[_i].code != NULL);
	ck_assert_str_eq(id.text, parse_cases[_i].code ? parse_cases[_i].code : "");
	ck_assert_uint_eq(id.n, strlen(id.text));
}
END_TEST

// The bytes of 5A9832E5-2872-41C1-838E-D98914E9B7FF as a minidump holds them.
static const uint8_t guid[16] = {
	0xe5, 0x32, 0x98, 0x5a, 0x72, 0x28, 0xc1, 0x41,
	0x83, 0x8e, 0xd9, 0x89, 0x14, 0xe9, 0xb7, 0xff,
};
static const uint8_t guid_big_endian[16] = {
	0x5a, 0x98, 0x32, 0xe5, 0x28, 0x72, 0x41, 0xc1,
	0x83, 0x8e, 0xd9, 0x89, 0x14, 0xe9, 0xb7, 0xff,
};

START_TEST(guid_fields_in_either_byte_order)
{
	struct fw_ident id;
	fw_ident_from_guid(&id, guid, false, 1);
	ck_assert_str_eq(id.text, "5A9832E5287241C1838ED98914E9B7FF1");
	ck_assert_uint_eq(id.n, 33);
	fw_ident_from_guid(&id, guid_big_endian, true, 0xab);
	ck_assert_str_eq(id.text, "5A9832E5287241C1838ED98914E9B7FFab");
	fw_ident_from_guid(&id, guid, false, UINT32_MAX);
	ck_assert_str_eq(id.text, "5A9832E5287241C1838ED98914E9B7FFffffffff");
}
END_TEST

START_TEST(all_zero_ids_are_none)	// rust-minidump's trap 33
{
	static const uint8_t zero[20];
	struct fw_ident id;
	fw_ident_from_guid(&id, zero, false, 7);
	ck_assert_uint_eq(id.n, 0);
	ck_assert_str_eq(id.text, "");
	fw_ident_from_build_id(&id, zero, 20);
	ck_assert_uint_eq(id.n, 0);
	fw_ident_from_build_id(&id, NULL, 0);
	ck_assert_uint_eq(id.n, 0);
	fw_ident_code_from_build_id(&id, zero, 20);
	ck_assert_uint_eq(id.n, 0);
	fw_ident_code_from_build_id(&id, NULL, 0);
	ck_assert_uint_eq(id.n, 0);
	fw_ident_from_pdb20(&id, 0, 3);
	ck_assert_uint_eq(id.n, 0);
	fw_ident_code_from_pe(&id, 0, 0);
	ck_assert_uint_eq(id.n, 0);
	struct fw_ident other = id;
	ck_assert(!fw_ident_equal(&id, &other));
}
END_TEST

START_TEST(build_ids_become_little_endian_guids)	// traps 27 (Breakpad)
{
	// 20 bytes of SHA-1: the first 16 count, the first three groups are swapped
	static const uint8_t sha1[20] = {
		0xeb, 0xdb, 0xe0, 0x34, 0x9e, 0xee, 0x94, 0xfa, 0xa1, 0xb8,
		0xb0, 0xbc, 0xff, 0x30, 0x8d, 0x49, 0x01, 0x02, 0x03, 0x04,
	};
	struct fw_ident id;
	fw_ident_from_build_id(&id, sha1, sizeof(sha1));
	ck_assert_str_eq(id.text, "34E0DBEBEE9EFA94A1B8B0BCFF308D490");
	fw_ident_code_from_build_id(&id, sha1, sizeof(sha1));
	ck_assert_str_eq(id.text, "ebdbe0349eee94faa1b8b0bcff308d4901020304");
	// short ones are padded with zeros
	fw_ident_from_build_id(&id, sha1, 5);
	ck_assert_str_eq(id.text, "34E0DBEB009E000000000000000000000");
	uint8_t longest[40];
	memset(longest, 0xa5, sizeof(longest));
	fw_ident_code_from_build_id(&id, longest, sizeof(longest));
	ck_assert_uint_eq(id.n, 64);
	ck_assert_uint_eq(strlen(id.text), 64);
}
END_TEST

START_TEST(windows_ids)
{
	struct fw_ident id;
	fw_ident_from_pdb20(&id, 0x3a2b1c0d, 0x2f);
	ck_assert_str_eq(id.text, "3A2B1C0D2f");
	fw_ident_code_from_pe(&id, 0x45D35F73, 0x2d000);	// Breakpad's test: 45D35F732d000
	ck_assert_str_eq(id.text, "45d35f732d000");
	fw_ident_code_from_pe(&id, 0x1, 0);
	ck_assert_str_eq(id.text, "000000010");
}
END_TEST

START_TEST(equal_needs_all_of_both)
{
	struct fw_ident a, b;
	fw_ident_parse_debug(&a, FW_STR("5A9832E5287241C1838ED98914E9B7FF1"));
	fw_ident_parse_debug(&b, FW_STR("5a9832e5287241c1838ed98914e9b7ff1"));
	ck_assert(fw_ident_equal(&a, &b));
	fw_ident_parse_debug(&b, FW_STR("5A9832E5287241C1838ED98914E9B7FF2"));
	ck_assert(!fw_ident_equal(&a, &b));
	fw_ident_parse_debug(&b, FW_STR("5A9832E5287241C1838ED98914E9B7FF11"));
	ck_assert(!fw_ident_equal(&a, &b));
}
END_TEST

static const struct { const char *path, *base; } path_cases[] = {
	{ "/usr/lib/libc.so.6", "libc.so.6" },
	{ "c:\\test_app.pdb", "test_app.pdb" },
	{ "c:\\dir/mixed\\x", "x" },
	{ "plain", "plain" },
	{ "dir/", "" },
	{ "", "" },
};

START_TEST(base_name_cuts_at_both_slashes)
{
	struct fw_str path = { path_cases[_i].path, strlen(path_cases[_i].path) };
	struct fw_str base = fw_base_name(path);
	ck_assert_uint_eq(base.n, strlen(path_cases[_i].base));
	ck_assert_mem_eq(base.s, path_cases[_i].base, base.n);
}
END_TEST

Suite *ident_suite(void)
{
	Suite *s = suite_create("ident");
	TCase *tc = tcase_create("ident");
	tcase_add_loop_test(tc, ids_are_normalised, 0,
			    (int)(sizeof(parse_cases) / sizeof(*parse_cases)));
	tcase_add_test(tc, guid_fields_in_either_byte_order);
	tcase_add_test(tc, all_zero_ids_are_none);
	tcase_add_test(tc, build_ids_become_little_endian_guids);
	tcase_add_test(tc, windows_ids);
	tcase_add_test(tc, equal_needs_all_of_both);
	tcase_add_loop_test(tc, base_name_cuts_at_both_slashes, 0,
			    (int)(sizeof(path_cases) / sizeof(*path_cases)));
	suite_add_tcase(s, tc);
	return s;
}
