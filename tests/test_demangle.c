#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/demangle.h"

Suite *demangle_suite(void);

// Right column: what `addr2line -C` of binutils 2.40 prints; D as `c++filt -s dlang` does.
static const struct { const char *name, *want; } cases[] = {
	{ "_ZN3foo3barEi", "foo::bar(int)" },
	{ "_Z3foov.constprop.0", "foo() [clone .constprop.0]" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	// RFC 2603 prints "align_of::<usize, f64>"; DWARF and gdb have no turbofish
	{ "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of<usize, f64>" },
	{ "_D8demangle4testFiZv", "demangle.test(int)" },
	// C names stay: `d` and `i` would be types, the others only look mangled
	{ "d", "" }, { "main", "" }, { "_Z", "" }, { "_Zebra", "" }, { "_Restrict", "" },
	{ "_Dtor", "" }, { "", "" }, { "_ZN3foo", "" },
};

START_TEST(names)
{
	char out[FW_MAX_DEMANGLED];
	struct fw_str name = { cases[_i].name, strlen(cases[_i].name) };
	size_t n = fw_demangle(name, out);
	ck_assert_msg(n == strlen(cases[_i].want) && memcmp(out, cases[_i].want, n) == 0,
		      "%s: %.*s", cases[_i].name, (int)n, out);
}
END_TEST

START_TEST(a_bomb_is_refused)
{
	// Each argument is a pair of the one before: 2^28 copies of the first.
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1fSt4pairIiiE", out[FW_MAX_DEMANGLED];
	for (unsigned i = 0; i < 28; i++) {
		char arg[32];
		sprintf(arg, "S_IS%c_S%c_E", digits[i], digits[i]);
		strcat(name, arg);
		size_t n = fw_demangle((struct fw_str){ name, strlen(name) }, out);
		ck_assert(i > 3 || n > 0);
	}
	ck_assert_uint_eq(fw_demangle((struct fw_str){ name, strlen(name) }, out), 0);
}
END_TEST

static size_t long_name(size_t length, char *out)
{
	char *name = malloc(length + 16);
	int n = sprintf(name, "_Z%zu", length);
	memset(name + n, 'x', length);
	strcpy(name + n + length, "v");
	size_t got = fw_demangle((struct fw_str){ name, strlen(name) }, out);
	free(name);
	return got;
}

START_TEST(long_names_up_to_the_limit)
{
	char out[FW_MAX_DEMANGLED];
	// "_Z", five digits, the name, "v"
	ck_assert_uint_eq(long_name(FW_MAX_MANGLED - 8, out), FW_MAX_MANGLED - 8 + strlen("()"));
	ck_assert_uint_eq(long_name(FW_MAX_MANGLED - 7, out), 0);
	ck_assert_uint_eq(fw_demangle((struct fw_str){ "_Z1f\0i", 6 }, out), 0);
}
END_TEST

Suite *demangle_suite(void)
{
	Suite *s = suite_create("demangle");
	TCase *tc = tcase_create("demangle");
	tcase_add_loop_test(tc, names, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tc, a_bomb_is_refused);
	tcase_add_test(tc, long_names_up_to_the_limit);
	suite_add_tcase(s, tc);
	return s;
}
