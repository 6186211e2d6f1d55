#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/synth_sym.h"

Suite *breakpad_suite(void);

// ---- MODULE, INFO ----

static const struct { const char *text, *os, *arch, *id, *name; } module_cases[] = {
	{ AMD64, "Linux", "x86_64", "34E0DBEBEE9EFA94A1B8B0BCFF308D490", "app" },
	{ "\xef\xbb\xbf" AMD64, "Linux", "x86_64", "34E0DBEBEE9EFA94A1B8B0BCFF308D490", "app" },
	{ "MODULE Linux arm 34E0DBEBEE9EFA94A1B8B0BCFF308D490 a b c\r\n", "Linux", "arm",
	  "34E0DBEBEE9EFA94A1B8B0BCFF308D490", "a b c" },
	{ "MODULE Linux arm 34E0DBEBEE9EFA94A1B8B0BCFF308D490 a\r\r\n", "Linux", "arm",
	  "34E0DBEBEE9EFA94A1B8B0BCFF308D490", "a" },
	{ "MODULE mac arm64 34e0dbebee9efa94a1b8b0bcff308d490 x", "mac", "arm64",
	  "34E0DBEBEE9EFA94A1B8B0BCFF308D490", "x" },
	{ "MODULE Linux x86 000000000000000000000000000000000 x\n", "Linux", "x86", "", "x" },
	{ "MODULE Linux x86 34E0DBEBEE9EFA94A1B8B0BCFF308D490", "Linux", "x86",
	  "34E0DBEBEE9EFA94A1B8B0BCFF308D490", "" },
	{ .text = "MODULE Linux x86 notanid x\n" },
	{ .text = "MODULE Linux x86\n" },
	{ .text = "MODULELinux x86 34E0DBEBEE9EFA94A1B8B0BCFF308D490 x\n" },
	{ .text = "\nMODULE Linux x86 34E0DBEBEE9EFA94A1B8B0BCFF308D490 x\n" },
	{ .text = "FUNC 0 1 0 f\n" },
	{ .text = "" },
};

static void check_str(struct fw_str s, const char *want)
{
	ck_assert_uint_eq(s.n, strlen(want));
	if (s.n)
		ck_assert_mem_eq(s.s, want, s.n);
}

START_TEST(module_line)
{
	struct fw_sym_module m;
	struct fw_str text = { module_cases[_i].text, strlen(module_cases[_i].text) };
	bool want = module_cases[_i].os != NULL;
	ck_assert_int_eq(fw_sym_module_line(text, &m), want);
	if (!want)
		return;
	check_str(m.os, module_cases[_i].os);
	check_str(m.arch, module_cases[_i].arch);
	check_str(m.name, module_cases[_i].name);
	ck_assert_str_eq(m.debug_id.text, module_cases[_i].id);
}
END_TEST

START_TEST(identity_comes_from_module_and_info)
{
	struct fw_image *image = synth_sym(
		"MODULE Linux x86_64 34e0dbebee9efa94a1b8b0bcff308d490 my app\n"
		"INFO CODE_ID EBDBE0349EEE94FAA1B8B0BCFF308D4901020304 app.exe\n"
		"INFO URL https://example.org/a b\n"
		"INFO GENERATOR mozilla/dump_syms 2.3.3\n"
		"MODULE mac arm64 00000000000000000000000000000000A other\n");
	ck_assert_str_eq(image->debug_id.text, "34E0DBEBEE9EFA94A1B8B0BCFF308D490");
	ck_assert_str_eq(image->code_id.text, "ebdbe0349eee94faa1b8b0bcff308d4901020304");
	ck_assert_str_eq(image->name, "my app");
	ck_assert_str_eq(image->os, "Linux");
	ck_assert_int_eq(image->cpu, FW_CPU_AMD64);
	ck_assert_uint_eq(image->base, 0);
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(text_without_any_record_is_no_symbol_file)
{
	static const char *const texts[] = { "this is no symbol file\n", "XYZ 1 2\n", "x" };
	struct fw_image *image;
	struct fw_error err;
	ck_assert_int_eq(fw_sym_load_text((struct fw_str){ texts[_i], strlen(texts[_i]) }, &image,
					  &err), FW_UNSUPPORTED);
	ck_assert_str_eq(err.message, "not a Breakpad symbol file: no record of one in it");
}
END_TEST

START_TEST(bad_module_id_costs_the_id_only)
{
	struct fw_image *image = synth_sym("MODULE Linux x86_64 xyz app\n"
					   "STACK CFI INIT 0 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
					   "INFO CODE_ID zz\n");
	ck_assert_uint_eq(image->debug_id.n, 0);
	ck_assert_str_eq(image->name, "app");
	ck_assert_str_eq(synth_rules(image, 4), ".cfa: $rsp 8 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_diag(image), "malformed 2 (1 3)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(long_module_name_is_cut)
{
	char text[600], name[301];
	memset(name, 'n', 300);
	name[300] = 0;
	snprintf(text, sizeof(text), "MODULE Linux x86_64 34E0DBEBEE9EFA94A1B8B0BCFF308D490 %s\n",
		 name);
	struct fw_image *image = synth_sym(text);
	ck_assert_uint_eq(strlen(image->name), 255);
	fw_image_destroy(image);
}
END_TEST

// ---- FUNC and lines ----

START_TEST(functions_lines_and_their_edges)
{
	struct fw_image *image = synth_sym(AMD64
		"FILE 0 a.c\n"
		"FILE 1 dir with blank/b.c\n"
		"FUNC 1000 30 8 main(int, char**)\n"
		"1000 8 10 0\n"
		"1008 8 11 1\n"
		"1018 10 0 0\n"		// a gap before it; line 0 is legal (trap 25)
		"FUNC 1030 10 0 next\n"
		"1034 4 5 0\n");
	ck_assert_str_eq(synth_name(image, 0xfff), "-");
	ck_assert_str_eq(synth_name(image, 0x1000), "main(int, char**)+0");
	ck_assert_str_eq(synth_name(image, 0x102f), "main(int, char**)+2f");
	ck_assert_str_eq(synth_name(image, 0x1030), "next+0");
	ck_assert_str_eq(synth_name(image, 0x1040), "-");
	ck_assert_uint_eq(fw_image_func(image, 0x1000)->params_size, 8);
	ck_assert_str_eq(synth_line(image, 0x1007), "a.c:10@1000");
	ck_assert_str_eq(synth_line(image, 0x1008), "dir with blank/b.c:11@1008");
	ck_assert_str_eq(synth_line(image, 0x100f), "dir with blank/b.c:11@1008");
	ck_assert_str_eq(synth_line(image, 0x1010), "-");
	ck_assert_str_eq(synth_line(image, 0x1017), "-");
	ck_assert_str_eq(synth_line(image, 0x1018), "a.c:0@1018");
	ck_assert_str_eq(synth_line(image, 0x1027), "a.c:0@1018");
	ck_assert_str_eq(synth_line(image, 0x1028), "-");	// up to the function's end
	ck_assert_str_eq(synth_line(image, 0x1033), "-");	// before its first line
	ck_assert_str_eq(synth_line(image, 0x1037), "a.c:5@1034");
	ck_assert_str_eq(synth_line(image, 0x1038), "-");
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(m_is_a_flag_only_as_first_field)	// traps 20, 48
{
	struct fw_image *image = synth_sym(AMD64
		"FUNC m 1000 10 0 shared\n"
		"FUNC 1010 10 0 m\n"
		"FUNC m 1020 10 0 m\n"
		"PUBLIC m 2000 0 p\n"
		"PUBLIC 2010 0 m\n"
		"FUNC 1030 10 0 m 1 2\n");
	ck_assert_str_eq(synth_name(image, 0x1001), "shared+1");
	ck_assert_str_eq(synth_name(image, 0x1011), "m+1");
	ck_assert_str_eq(synth_name(image, 0x1021), "m+1");
	ck_assert_str_eq(synth_name(image, 0x1031), "m 1 2+1");
	ck_assert_str_eq(synth_name(image, 0x2001), "p+1");
	ck_assert_str_eq(synth_name(image, 0x2011), "m+1");
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(lines_of_a_bad_func_attach_to_no_other)	// trap 25
{
	struct fw_image *image = synth_sym(AMD64
		"FILE 0 a.c\n"
		"FUNC 1000 10 0 good\n"
		"1000 10 1 0\n"
		"FUNC 1010 0 0 empty\n"		// no size: dies with its lines
		"1004 4 2 0\n"
		"FUNC 1020 10 0 \n"		// no name: its lines are orphans
		"1004 4 3 0\n"
		"FUNC xyz 10 0 f\n"
		"1004 4 4 0\n"
		"FUNC ffffffff 10 0 beyond\n"
		"1004 4 5 0\n"
		"FUNC fffffffffffffff0 100 0 wraps\n"
		"1004 4 6 0\n"
		"FUNC 1030 10 100000000 params\n"
		"FUNC 1040 10000000000000000 0 big\n");
	ck_assert_str_eq(synth_line(image, 0x1004), "a.c:1@1000");
	ck_assert_str_eq(synth_name(image, 0x1010), "-");
	ck_assert_str_eq(synth_name(image, 0x1024), "-");
	ck_assert_str_eq(synth_diag(image),
			 "malformed 4 (7 9 15 16) orphan 2 (8 10) range 3 (5 11 13)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(public_ends_the_function_and_other_records_do_not)
{
	struct fw_image *image = synth_sym(AMD64
		"FUNC 1000 40 0 f\n"
		"1000 8 1 0\n"
		"FILE 0 a.c\n"
		"INFO anything\n"
		"STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"NEWRECORD 1 2 3\n"
		"1008 8 2 0\n"
		"PUBLIC 2000 0 p\n"
		"1010 8 3 0\n"
		"INLINE 0 1 0 0 1010 8\n");
	ck_assert_str_eq(synth_line(image, 0x1008), "a.c:2@1008");
	ck_assert_str_eq(synth_line(image, 0x1010), "-");
	ck_assert_str_eq(synth_diag(image), "unknown 1 (7) orphan 2 (10 11)");
	fw_image_destroy(image);
}
END_TEST

static const struct { const char *line, *diag; } bad_lines[] = {
	{ "1000 8 -1 0\n", "malformed 1 (4)" },		// negative line number
	{ "1000 8 1\n", "malformed 1 (4)" },
	{ "1000 8 1 x\n", "malformed 1 (4)" },
	{ "1000 8 1 0x\n", "malformed 1 (4)" },
	{ "1000 8 4294967296 0\n", "malformed 1 (4)" },
	{ "1000 8 1 4294967295\n", "malformed 1 (4)" },	// means "no file" in an image
	{ "1000 8 18446744073709551616 0\n", "malformed 1 (4)" },
	{ "1000 0 1 0\n", "range 1 (4)" },
	{ "100000000 8 1 0\n", "range 1 (4)" },
	{ "1000 ffffffffffffffff 1 0\n", "range 1 (4)" },
	{ "11111111111111111 8 1 0\n", "unknown 1 (4)" },	// 17 digits are no number
	{ "1040 8 1 0\n", "range 1 (4)" },		// behind the function
	{ "ff8 8 1 0\n", "range 1 (4)" },		// before it
};

START_TEST(bad_line_record_costs_itself)
{
	char text[400];
	snprintf(text, sizeof(text), AMD64 "FILE 0 a.c\nFUNC 1000 40 0 f\n%s1010 8 7 0\n",
		 bad_lines[_i].line);
	struct fw_image *image = synth_sym(text);
	ck_assert_str_eq(synth_line(image, 0x1000), "-");
	ck_assert_str_eq(synth_line(image, 0x1010), "a.c:7@1010");
	ck_assert_str_eq(synth_diag(image), bad_lines[_i].diag);
	fw_image_destroy(image);
}
END_TEST

START_TEST(lines_in_any_order_and_overlapping)
{
	struct fw_image *image = synth_sym(AMD64
		"FILE 0 a.c\n"
		"FUNC 1000 40 0 f\n"
		"1000 8 1 0\n"
		"1020 8 3 0\n"
		"1008 8 2 0\n"		// out of order
		"1000 4 9 0\n"		// same start: the first wins
		"1022 2 4 0\n"		// inside line 3, which goes on behind it
		"100c 8 5 0\n"		// line 2 ends where this starts
		"103c 100 6 0\n");	// cut to the function
	static const struct { uint32_t at; const char *line; } want[] = {
		{ 0x1000, "a.c:1@1000" }, { 0x1007, "a.c:1@1000" }, { 0x1008, "a.c:2@1008" },
		{ 0x100b, "a.c:2@1008" }, { 0x100c, "a.c:5@100c" }, { 0x1013, "a.c:5@100c" },
		{ 0x1014, "-" }, { 0x101f, "-" }, { 0x1020, "a.c:3@1020" }, { 0x1022, "a.c:4@1022" },
		{ 0x1023, "a.c:4@1022" }, { 0x1024, "a.c:3@1024" }, { 0x1027, "a.c:3@1024" },
		{ 0x1028, "-" }, { 0x103b, "-" }, { 0x103c, "a.c:6@103c" }, { 0x103f, "a.c:6@103c" },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		ck_assert_str_eq(synth_line(image, want[i].at), want[i].line);
	ck_assert_str_eq(synth_diag(image), "overlap 3 (10 10 10) range 1 (10)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(functions_in_any_order_and_overlapping)
{
	struct fw_image *image = synth_sym(AMD64
		"FILE 0 a.c\n"
		"FUNC 3000 100 0 outer\n"
		"3000 80 1 0\n"
		"3080 80 2 0\n"
		"FUNC 1000 100 0 early\n"
		"FUNC 3040 20 0 inner\n"
		"3040 20 5 0\n"
		"FUNC 1000 200 0 twin\n"	// same start: the first wins
		"FUNC 1080 100 0 late\n");	// early ends here
	ck_assert_str_eq(synth_name(image, 0x107f), "early+7f");
	ck_assert_str_eq(synth_name(image, 0x1080), "late+0");
	ck_assert_str_eq(synth_name(image, 0x117f), "late+ff");
	ck_assert_str_eq(synth_name(image, 0x1180), "-");
	ck_assert_str_eq(synth_name(image, 0x303f), "outer+3f");
	ck_assert_str_eq(synth_name(image, 0x3040), "inner+0");
	ck_assert_str_eq(synth_line(image, 0x3041), "a.c:5@3040");
	// the rest of a split function counts from the function's start
	ck_assert_str_eq(synth_name(image, 0x3060), "outer+60");
	ck_assert_str_eq(synth_line(image, 0x3060), "a.c:1@3000");
	ck_assert_str_eq(synth_line(image, 0x3080), "a.c:2@3080");
	ck_assert_str_eq(synth_diag(image), "overlap 3 (0 0 0)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(names_and_files_first_definition_wins)	// trap 24
{
	struct fw_image *image = synth_sym(AMD64
		"FUNC 1000 10 0 f\n"
		"INLINE 0 3 7 5 1000 10\n"
		"1000 10 1 7\n"
		"FILE 9 z.c\n"			// after its use, out of order
		"FILE 7 first.c\n"
		"FILE 7 second.c\n"
		"INLINE_ORIGIN 5 first\n"
		"INLINE_ORIGIN 5 second\n"
		"FILE x bad.c\n"
		"FILE 3\n"
		"FILE -1 neg.c\n"
		"INLINE_ORIGIN 6\n");
	ck_assert_str_eq(synth_line(image, 0x1000), "first.c:1@1000");
	ck_assert_str_eq(synth_calls(image, 0x1000), "first<-first.c:3");
	ck_assert_ptr_null(fw_image_numbered(image, FW_SEC_FILES, 8).s);
	ck_assert_ptr_null(fw_image_numbered(image, FW_SEC_FILES, 6).s);
	ck_assert_ptr_null(fw_image_numbered(image, FW_SEC_FILES, UINT32_MAX).s);
	ck_assert_str_eq(synth_diag(image), "malformed 4 (10 11 12 13)");
	fw_image_destroy(image);
}
END_TEST

// ---- PUBLIC ----

START_TEST(public_ends_at_next_symbol)	// traps 23, 45
{
	struct fw_image *image = synth_sym(AMD64
		"PUBLIC 1000 0 a\n"
		"PUBLIC 1100 0 b\n"
		"PUBLIC 0 0 null\n"		// accepted and ignored
		"FUNC 1180 20 0 f\n"
		"PUBLIC 3000 0 last\n"
		"PUBLIC 100000000 0 beyond\n"
		"PUBLIC zz 0 bad\n"
		"PUBLIC 3100 0\n");
	ck_assert_str_eq(synth_name(image, 0), "-");
	ck_assert_str_eq(synth_name(image, 0xfff), "-");
	ck_assert_str_eq(synth_name(image, 0x10ff), "a+ff");
	ck_assert_str_eq(synth_name(image, 0x1100), "b+0");
	ck_assert_str_eq(synth_name(image, 0x117f), "b+7f");
	ck_assert_str_eq(synth_name(image, 0x119f), "f+1f");
	ck_assert_str_eq(synth_name(image, 0x11a0), "-");	// b does not reach over f
	ck_assert_str_eq(synth_name(image, 0x3100), "last+100");
	ck_assert_str_eq(synth_diag(image), "malformed 2 (8 9) range 1 (7)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(public_is_bounded_by_cfi)	// Breakpad names these wrongly (its weakness 6)
{
	struct fw_image *image = synth_sym(AMD64
		"PUBLIC 1000 0 covered\n"
		"PUBLIC 2000 0 bare\n"
		"PUBLIC 3010 0 inside\n"
		"STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 1040 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 2080 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 3000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
	ck_assert_str_eq(synth_name(image, 0x103f), "covered+3f");
	ck_assert_str_eq(synth_name(image, 0x1040), "-");	// another function without a name
	ck_assert_str_eq(synth_name(image, 0x1fff), "-");
	ck_assert_str_eq(synth_name(image, 0x207f), "bare+7f");
	ck_assert_str_eq(synth_name(image, 0x2080), "-");
	ck_assert_str_eq(synth_name(image, 0x20c0), "-");
	ck_assert_str_eq(synth_name(image, 0x303f), "inside+2f");
	ck_assert_str_eq(synth_name(image, 0x3040), "-");
	fw_image_destroy(image);
}
END_TEST

START_TEST(public_is_bounded_by_stack_win)
{
	struct fw_image *image = synth_sym(X86
		"PUBLIC 1000 0 f\n"
		"PUBLIC 2000 4 g\n"
		"STACK WIN 4 1000 50 3 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 4 1001 4f 2 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 0 1000 10 0 0 0 0 0 0 0 0\n");
	ck_assert_str_eq(synth_name(image, 0x104f), "f+4f");	// the largest one covers it
	ck_assert_str_eq(synth_name(image, 0x1050), "-");
	ck_assert_str_eq(synth_name(image, 0x2fff), "g+fff");
	ck_assert_uint_eq(fw_image_public(image, 0x2000)->params_size, 4);
	fw_image_destroy(image);
}
END_TEST

START_TEST(aliases_are_normal)	// trap 36: Breakpad gave up after 102 of them
{
	char text[20000];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", AMD64);
	for (int i = 0; i < 500; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "PUBLIC 1000 0 alias%d\n", i);
	snprintf(text + n, sizeof(text) - n, "FUNC 2000 10 0 f\n");
	struct fw_image *image = synth_sym(text);
	ck_assert_str_eq(synth_name(image, 0x1001), "alias0+1");
	ck_assert_str_eq(synth_name(image, 0x2001), "f+1");
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

// ---- INLINE ----


START_TEST(inline_both_forms_by_parity)	// traps 21, 49
{
	struct fw_image *image = synth_sym(AMD64 ORIGINS
		"INLINE_ORIGIN 3 0 old form\n"
		"INLINE_ORIGIN 4 -1 old form without file\n"
		"INLINE_ORIGIN 5 12\n"		// a function named 12
		"FUNC 1000 40 0 f\n"
		"INLINE 0 10 0 0 1000 20\n"
		"INLINE 1 11 1 1 1004 8 1010 4\n"
		"INLINE 2 12 -1 2 1006 2\n"
		"FUNC 2000 40 0 g\n"
		"INLINE 0 10 3 2000 20\n"
		"INLINE 1 11 4 2004 8 2010 4\n"
		"INLINE 2 12 5 2006 2\n");
	ck_assert_str_eq(synth_calls(image, 0x1000), "foo<-a.c:10");
	ck_assert_str_eq(synth_calls(image, 0x1004), "foo<-a.c:10 bar<-b.c:11");
	ck_assert_str_eq(synth_calls(image, 0x1007),
			 "foo<-a.c:10 bar<-b.c:11 baz(int, char)<-?:12");
	ck_assert_str_eq(synth_calls(image, 0x1008), "foo<-a.c:10 bar<-b.c:11");
	ck_assert_str_eq(synth_calls(image, 0x100c), "foo<-a.c:10");
	ck_assert_str_eq(synth_calls(image, 0x1013), "foo<-a.c:10 bar<-b.c:11");
	ck_assert_str_eq(synth_calls(image, 0x1020), "");
	ck_assert_str_eq(synth_calls(image, 0x2006),
			 "old form<-?:10 old form without file<-?:11 12<-?:12");
	ck_assert_str_eq(synth_calls(image, 0x2013), "old form<-?:10 old form without file<-?:11");
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(inline_before_any_func_is_an_orphan)	// crashes Breakpad (its weakness 7)
{
	struct fw_image *image = synth_sym(AMD64 ORIGINS "INLINE 0 10 0 0 1000 20\n"
					   "FUNC 1000 10 0 f\n");
	ck_assert_str_eq(synth_calls(image, 0x1000), "");
	ck_assert_str_eq(synth_name(image, 0x1000), "f+0");
	ck_assert_str_eq(synth_diag(image), "orphan 1 (8)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(inline_is_cut_to_function_and_caller)
{
	struct fw_image *image = synth_sym(AMD64 ORIGINS
		"FUNC 1000 40 0 f\n"
		"INLINE 0 10 0 0 ff0 30\n"	// begins before the function
		"INLINE 1 11 0 1 1018 10\n"	// leaves its caller
		"INLINE 2 12 0 2 1030 4\n"	// has none
		"INLINE 0 13 0 2 1030 fff\n"	// ends behind the function
		"INLINE 0 14 0 2 2000 10 1028 4 1028 0\n");
	ck_assert_str_eq(synth_calls(image, 0x1000), "foo<-a.c:10");
	ck_assert_str_eq(synth_calls(image, 0x101f), "foo<-a.c:10 bar<-a.c:11");
	ck_assert_str_eq(synth_calls(image, 0x1020), "");
	ck_assert_str_eq(synth_calls(image, 0x1028), "baz(int, char)<-a.c:14");
	ck_assert_str_eq(synth_calls(image, 0x1030), "baz(int, char)<-a.c:13");
	ck_assert_str_eq(synth_calls(image, 0x103f), "baz(int, char)<-a.c:13");
	ck_assert_str_eq(synth_diag(image), "orphan 1 (11) overlap 1 (10) range 3 (9 12 13)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(inline_reaches_over_neighbouring_callers)
{
	// What Mozilla's dump_syms writes: one callee, merged, under two call sites,
	// parents not always first, depths jumping.
	struct fw_image *image = synth_sym(AMD64 ORIGINS
		"FUNC e60 b4 0 f\n"
		"INLINE 0 298 0 0 e64 8e\n"
		"INLINE 2 1260 1 2 e81 1a\n"
		"INLINE 1 394 0 1 e81 7\n"
		"INLINE 1 395 0 1 e88 13\n");
	ck_assert_str_eq(synth_calls(image, 0xe81),
			 "foo<-a.c:298 bar<-a.c:394 baz(int, char)<-b.c:1260");
	ck_assert_str_eq(synth_calls(image, 0xe88),
			 "foo<-a.c:298 bar<-a.c:395 baz(int, char)<-b.c:1260");
	ck_assert_str_eq(synth_calls(image, 0xe9a),
			 "foo<-a.c:298 bar<-a.c:395 baz(int, char)<-b.c:1260");
	ck_assert_str_eq(synth_calls(image, 0xe9b), "foo<-a.c:298");
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(inline_overlaps_at_one_depth)
{
	struct fw_image *image = synth_sym(AMD64 ORIGINS
		"FUNC 1000 40 0 f\n"
		"INLINE 0 1 0 0 1000 20\n"
		"INLINE 0 2 0 1 1000 10\n"	// equal start: the first
		"INLINE 0 3 0 1 1008 4\n"	// nested
		"INLINE 0 4 0 2 101c 8\n");	// cuts the first
	ck_assert_str_eq(synth_calls(image, 0x1000), "foo<-a.c:1");
	ck_assert_str_eq(synth_calls(image, 0x1008), "bar<-a.c:3");
	ck_assert_str_eq(synth_calls(image, 0x100c), "foo<-a.c:1");
	ck_assert_str_eq(synth_calls(image, 0x101b), "foo<-a.c:1");
	ck_assert_str_eq(synth_calls(image, 0x101c), "baz(int, char)<-a.c:4");
	ck_assert_str_eq(synth_calls(image, 0x1023), "baz(int, char)<-a.c:4");
	ck_assert_uint_eq(image->diag.count[FW_DIAG_OVERLAP], 3);
	fw_image_destroy(image);
}
END_TEST

static const struct { const char *line, *diag; } bad_inlines[] = {
	{ "INLINE\n", "malformed 1 (9)" },
	{ "INLINE \n", "malformed 1 (9)" },
	{ "INLINE 0 1 0 0\n", "malformed 1 (9)" },		// no range
	{ "INLINE 0 1 0\n", "malformed 1 (9)" },
	{ "INLINE 0 -1 0 0 1000 8\n", "malformed 1 (9)" },
	{ "INLINE 0 1 0 0 1000 x\n", "malformed 1 (9)" },
	{ "INLINE 0 1 0 0 1000 8 zz\n", "malformed 1 (9)" },	// half a range, or the old form
	{ "INLINE 0 1 0 -2 1000 8\n", "malformed 1 (9)" },
	{ "INLINE 0 4294967296 0 0 1000 8\n", "malformed 1 (9)" },
	{ "INLINE 0 1 4294967295 0 1000 8\n", "malformed 1 (9)" },
	{ "INLINE 256 1 0 0 1000 8\n", "limit 1 (9)" },
	{ "INLINE 255 1 0 0 1000 8\n", "orphan 1 (9)" },
	{ "INLINE 0 1 0 0 ffffffffffffffff ffffffffffffffff\n", "range 1 (9)" },
	{ "INLINE 0 1 0 0 1000 11111111111111111\n", "malformed 1 (9)" },
};

START_TEST(bad_inline_costs_itself)
{
	char text[600];
	snprintf(text, sizeof(text), AMD64 ORIGINS "FUNC 1000 40 0 f\n%s"
		 "INLINE 0 7 0 1 1010  8 \n", bad_inlines[_i].line);
	struct fw_image *image = synth_sym(text);
	ck_assert_str_eq(synth_calls(image, 0x1000), "");
	ck_assert_str_eq(synth_calls(image, 0x1010), "bar<-a.c:7");
	ck_assert_str_eq(synth_diag(image), bad_inlines[_i].diag);
	fw_image_destroy(image);
}
END_TEST

START_TEST(inline_depth_to_the_limit)
{
	static char text[40000];
	size_t n = (size_t)snprintf(text, sizeof(text), AMD64 ORIGINS "FUNC 1000 40 0 f\n");
	for (int i = 0; i < 257; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "INLINE %d 1 0 0 1000 40\n", i);
	struct fw_image *image = synth_sym(text);
	const struct fw_inline *calls[300];
	const struct fw_func *f = fw_image_func(image, 0x1000);
	ck_assert_uint_eq(fw_image_inlines(image, f, 0x1001, calls, 300), 256);
	ck_assert_uint_eq(calls[255]->depth, 255);
	ck_assert_uint_eq(fw_image_inlines(image, f, 0x1001, calls, 3), 3);
	ck_assert_str_eq(synth_diag(image), "limit 1 (265)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(inline_cuts_are_limited)
{
	// a few wide calls over many gaps, at many depths: pieces without end
	static char many[20000];
	size_t n = (size_t)snprintf(many, sizeof(many), AMD64 ORIGINS "FUNC 0 10000 0 f\n"
				    "INLINE 0 1 0 0");
	for (int i = 0; i < 500; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, " %x 8", i * 16);
	for (int i = 1; i < 200; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "\nINLINE %d 1 0 0 0 10000", i);
	struct fw_image *image = synth_sym(many);
	uint32_t pieces = fw_image_count(image, FW_SEC_INLINES, sizeof(struct fw_inline));
	ck_assert_uint_eq(pieces, FW_MAX_INLINE_CUTS * (500 + 199));
	ck_assert_uint_gt(image->diag.count[FW_DIAG_LIMIT], 190);
	ck_assert_str_eq(synth_calls(image, 0x1008), "");
	ck_assert_str_eq(synth_calls(image, 17), "foo<-a.c:1 foo<-a.c:1 foo<-a.c:1 foo<-a.c:1 "
			 "foo<-a.c:1 foo<-a.c:1");
	fw_image_destroy(image);
}
END_TEST

START_TEST(inlines_of_a_split_function)
{
	struct fw_image *image = synth_sym(AMD64 ORIGINS
		"FUNC 1000 40 0 outer\n"
		"INLINE 0 1 0 0 1000 40\n"
		"FUNC 1010 10 0 inner\n"
		"INLINE 0 2 0 1 1010 10\n");
	ck_assert_str_eq(synth_calls(image, 0x1000), "foo<-a.c:1");
	ck_assert_str_eq(synth_calls(image, 0x1010), "bar<-a.c:2");
	ck_assert_str_eq(synth_calls(image, 0x1020), "foo<-a.c:1");
	fw_image_destroy(image);
}
END_TEST

Suite *breakpad_suite(void)
{
	Suite *s = suite_create("breakpad");
	TCase *tc = tcase_create("breakpad");
	tcase_add_loop_test(tc, module_line, 0, sizeof(module_cases) / sizeof(*module_cases));
	tcase_add_test(tc, identity_comes_from_module_and_info);
	tcase_add_loop_test(tc, text_without_any_record_is_no_symbol_file, 0, 3);
	tcase_add_test(tc, bad_module_id_costs_the_id_only);
	tcase_add_test(tc, long_module_name_is_cut);
	tcase_add_test(tc, functions_lines_and_their_edges);
	tcase_add_test(tc, m_is_a_flag_only_as_first_field);
	tcase_add_test(tc, lines_of_a_bad_func_attach_to_no_other);
	tcase_add_test(tc, public_ends_the_function_and_other_records_do_not);
	tcase_add_loop_test(tc, bad_line_record_costs_itself, 0,
			    sizeof(bad_lines) / sizeof(*bad_lines));
	tcase_add_test(tc, lines_in_any_order_and_overlapping);
	tcase_add_test(tc, functions_in_any_order_and_overlapping);
	tcase_add_test(tc, names_and_files_first_definition_wins);
	tcase_add_test(tc, public_ends_at_next_symbol);
	tcase_add_test(tc, public_is_bounded_by_cfi);
	tcase_add_test(tc, public_is_bounded_by_stack_win);
	tcase_add_test(tc, aliases_are_normal);
	tcase_add_test(tc, inline_both_forms_by_parity);
	tcase_add_test(tc, inline_before_any_func_is_an_orphan);
	tcase_add_test(tc, inline_is_cut_to_function_and_caller);
	tcase_add_test(tc, inline_reaches_over_neighbouring_callers);
	tcase_add_test(tc, inline_overlaps_at_one_depth);
	tcase_add_loop_test(tc, bad_inline_costs_itself, 0,
			    sizeof(bad_inlines) / sizeof(*bad_inlines));
	tcase_add_test(tc, inline_depth_to_the_limit);
	tcase_add_test(tc, inline_cuts_are_limited);
	tcase_add_test(tc, inlines_of_a_split_function);
	suite_add_tcase(s, tc);
	return s;
}
