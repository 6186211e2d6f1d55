#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "tests/synth_sym.h"

Suite *image_suite(void);

static const char text[] = AMD64 ORIGINS
	"FUNC 1000 40 0 f\nINLINE 0 10 0 0 1000 20\nINLINE 1 11 1 1 1004 8 1010 4\n"
	"1000 8 1 0\n1008 8 2 1\nFUNC 2000 10 0 g\n2000 8 1 0\n"
	"PUBLIC 3000 0 p\nPUBLIC 4000 0 q\n"
	"STACK CFI INIT 1000 40 " RULES "\nSTACK CFI 1008 .cfa: $rsp 16 8 * + $rbx: $rax\n"
	"STACK WIN 4 1000 c3 9 2 8 c 14 40 1 $T0 $ebp = $eip $T0 4 + ^ =\n"
	"STACK WIN 4 1010 10 9 2 8 c 14 40 1 $T0 $ebp = $eip $T0 4 + ^ =\n"
	"STACK WIN 0 2000 10 1 0 4 0 0 0 0 1\n";

// Section i of an image under construction, to be broken.
#define SECTION(image, s, type) ((type *)(uintptr_t)(image)->section[s])

static void string_end(struct fw_image *i) { SECTION(i, FW_SEC_STRING_OFFSETS, uint32_t)[1] = 999; }
static void string_first(struct fw_image *i) { SECTION(i, FW_SEC_STRING_OFFSETS, uint32_t)[0] = 1; }
static void string_bytes(struct fw_image *i) { i->section_bytes[FW_SEC_STRING_BYTES]--; }
static void starts_short(struct fw_image *i) { i->section_bytes[FW_SEC_FUNC_STARTS] -= 4; }
static void start(struct fw_image *i) { SECTION(i, FW_SEC_FUNC_STARTS, uint32_t)[1]++; }
static struct fw_func *func(struct fw_image *i) { return SECTION(i, FW_SEC_FUNCS, struct fw_func); }
static void func_empty(struct fw_image *i) { func(i)[0].size = 0; }
static void func_wraps(struct fw_image *i) { func(i)[1].size = UINT32_MAX; }
static void func_entry(struct fw_image *i) { func(i)[0].entry = 0x1001; }
static void func_name(struct fw_image *i) { func(i)[1].name = 1000; }
static void func_overlaps(struct fw_image *i) { func(i)[0].size = 0x1001; }
static void func_lines(struct fw_image *i) { func(i)[1].num_lines = 7; }
static void func_first_line(struct fw_image *i) { func(i)[1].first_line = UINT32_MAX; }
static void func_inlines(struct fw_image *i) { func(i)[0].num_inlines = UINT32_MAX; }
static struct fw_line *line(struct fw_image *i) { return SECTION(i, FW_SEC_LINES, struct fw_line); }
static void line_order(struct fw_image *i) { line(i)[1].addr = 0x1000; }
static void line_before(struct fw_image *i) { line(i)[0].addr = 0xfff; }
static struct fw_inline *call(struct fw_image *i)
{
	return SECTION(i, FW_SEC_INLINES, struct fw_inline);
}
static void call_empty(struct fw_image *i) { call(i)[0].size = 0; }
static void call_wraps(struct fw_image *i) { call(i)[0].size = UINT32_MAX; }
static void call_before(struct fw_image *i) { call(i)[0].start = 0xfff; }
static void call_deep(struct fw_image *i) { call(i)[2].depth = FW_MAX_INLINE_DEPTH; }
static void call_overlaps(struct fw_image *i) { call(i)[2].start = 0x1008; }
static void call_no_parent(struct fw_image *i) { call(i)[0].depth = 1; }
static void call_jumps(struct fw_image *i) { call(i)[2].depth = 3; }
static void call_leaves(struct fw_image *i) { call(i)[2].size = 0x20; }
static void file_string(struct fw_image *i)
{
	SECTION(i, FW_SEC_FILES, struct fw_numbered)[2].string = 1000;
}
static void origin_order(struct fw_image *i)
{
	SECTION(i, FW_SEC_ORIGINS, struct fw_numbered)[1].number = 0;
}
static struct fw_public *pub(struct fw_image *i)
{
	return SECTION(i, FW_SEC_PUBLICS, struct fw_public);
}
static void public_end(struct fw_image *i) { pub(i)[0].end = 0x3000; }
static void public_order(struct fw_image *i) { pub(i)[0].end = 0x4001; }
static void public_name(struct fw_image *i) { pub(i)[1].name = 1000; }
static void program_range(struct fw_image *i)
{
	SECTION(i, FW_SEC_PROGRAMS, struct fw_program)[0].count = 1000;
}
static struct fw_op *op(struct fw_image *i) { return SECTION(i, FW_SEC_PROGRAM_OPS, struct fw_op); }
static void op_code(struct fw_image *i) { op(i)[0].code = FW_OP_COUNT; }
static void op_slot(struct fw_image *i) { op(i)[0].left_slot = FW_SLOTS; }
static void op_underflow(struct fw_image *i)
{
	op(i)[0].left = op(i)[0].right = FW_OPERAND_STACK;
}
static void rule_program(struct fw_image *i)
{
	struct fw_rule *rules = SECTION(i, FW_SEC_CFI_RULES, struct fw_rule);
	for (uint32_t k = 0; k < i->cfi.num_rules; k++)
		if (rules[k].kind == FW_RULE_PROGRAM)
			rules[k].arg = -1;
}
static void rule_kind(struct fw_image *i)
{
	SECTION(i, FW_SEC_CFI_RULES, struct fw_rule)[0].kind = FW_RULE_COUNT;
}
static void hot_short(struct fw_image *i) { i->cfi.num_hot--; }
static void hot_offset(struct fw_image *i)
{
	SECTION(i, FW_SEC_CFI_HOT, struct fw_cfi_hot)[1].cfa++;
}
static struct fw_stack_win *win(struct fw_image *i)
{
	return SECTION(i, FW_SEC_WIN_RECORDS, struct fw_stack_win);
}
static void win_type(struct fw_image *i) { win(i)[0].type = 1; }
static void win_size(struct fw_image *i) { win(i)[2].size = 0; }
static void win_program(struct fw_image *i) { win(i)[1].program = 1000; }
static struct fw_stack_win_range *range(struct fw_image *i)
{
	return SECTION(i, FW_SEC_WIN_RANGES4, struct fw_stack_win_range);
}
static void range_end(struct fw_image *i) { range(i)[0].end = range(i)[0].start; }
static void range_order(struct fw_image *i) { range(i)[0].end = 0x1011; }
static void range_record(struct fw_image *i) { range(i)[2].record = 3; }
static void range_type(struct fw_image *i) { range(i)[2].record = 2; }
static void range_outside(struct fw_image *i) { range(i)[2].end = 0x10c4; }

static const struct { void (*damage)(struct fw_image *image); const char *message; } cases[] = {
	{ string_end, "string 1 has no end" },
	{ string_first, "strings do not begin at 0" },
	{ string_bytes, "strings do not fill their section" },
	{ starts_short, "functions and starts differ in number" },
	{ start, "function 1 has a bad field" },
	{ func_empty, "function 0 has a bad field" },
	{ func_wraps, "function 1 has a bad field" },
	{ func_entry, "function 0 has a bad field" },
	{ func_name, "function 1 has a bad field" },
	{ func_overlaps, "function 1 overlaps" },
	{ func_lines, "function 1: no such lines" },
	{ func_first_line, "function 1: no such lines" },
	{ func_inlines, "function 0: no such inline calls" },
	{ line_order, "function 0: line 1 is out of order" },
	{ line_before, "function 0: line 0 is out of order" },
	{ call_empty, "function 0: inline call 0 has a bad range" },
	{ call_wraps, "function 0: inline call 0 has a bad range" },
	{ call_before, "function 0: inline call 0 has a bad range" },
	{ call_deep, "function 0: inline call 2 has a bad range" },
	{ call_overlaps, "function 0: inline call 2 overlaps" },
	{ call_no_parent, "function 0: inline call 0 has no parent" },
	{ call_jumps, "function 0: inline call 2 has no parent" },
	{ call_leaves, "function 0: inline calls at depth 1 leave their parents" },
	{ file_string, "file 2 is bad" },
	{ origin_order, "inline origin 1 is bad" },
	{ public_end, "public 0 is bad" },
	{ public_order, "public 1 is bad" },
	{ public_name, "public 1 is bad" },
	{ program_range, "program 0 lies outside" },
	{ op_code, "program 0: bad op 0" },
	{ op_slot, "program 0: bad op 0" },
	{ op_underflow, "program 0: bad op 0" },
	{ rule_program, "no such program" },
	{ hot_short, "rows and their short forms differ in number" },
	{ hot_offset, "row 1: wrong short form" },
	{ rule_kind, "row 1: wrong plain flag" },
	{ win_type, "STACK WIN record 0 is bad" },
	{ win_size, "STACK WIN record 2 is bad" },
	{ win_program, "STACK WIN record 1 is bad" },
	{ range_end, "STACK WIN range 0 of type 4 is bad" },
	{ range_order, "STACK WIN range 1 of type 4 is bad" },
	{ range_record, "STACK WIN range 2 of type 4 is bad" },
	{ range_type, "STACK WIN range 2 of type 4 is bad" },
	{ range_outside, "STACK WIN range 2 of type 4 is bad" },
};

START_TEST(check_finds_what_is_broken)
{
	struct fw_error err = { .message = "" };
	struct fw_image *image = synth_sym(text);
	cases[_i].damage(image);
	ck_assert_int_eq(fw_image_check(image, &err), FW_MALFORMED);
	// the CFI table's own messages name rows, which are not this room's business
	if (cases[_i].damage == rule_program || cases[_i].damage == rule_kind)
		ck_assert_msg(strstr(err.message, cases[_i].message) != NULL, "%s", err.message);
	else
		ck_assert_str_eq(err.message, cases[_i].message);
	// and no look-up minds
	for (uint32_t at = 0xff0; at < 0x4100; at += 3) {
		synth_name(image, at);
		synth_line(image, at);
		synth_calls(image, at);
		synth_win(image, at);
	}
	fw_image_destroy(image);
}
END_TEST

START_TEST(a_builder_alone)
{
	struct fw_error err = { .message = "" };
	struct fw_builder *b;
	struct fw_image *image;
	uint32_t name;
	ck_assert_int_eq(fw_builder_create(&b, &err), FW_OK);
	ck_assert_int_eq(fw_intern_add(&b->strings, "f", 1, &name), FW_OK);
	// as a loader of DWARF may leave it: out of order, one past the address space
	struct fw_func f[] = {
		{ .start = 0x2000, .size = 0x10, .entry = 0x2000, .name = name },
		{ .start = 0x1000, .size = 0x10, .entry = 0x1000, .name = name },
		{ .start = 0xfffffff0, .size = 0x20, .entry = 0xfffffff0, .name = name },
	};
	for (int i = 0; i < 3; i++)
		ck_assert(fw_vec_push(&b->funcs, f[i]));
	struct fw_public p = { .start = 0x1800, .end = UINT32_MAX, .name = name };
	ck_assert(fw_vec_push(&b->publics, p));
	b->cpu = FW_CPU_ARM64;
	b->base = 0x400000;
	strcpy(b->name, "name");
	ck_assert_int_eq(fw_builder_freeze(b, &image, &err), FW_OK);
	ck_assert_int_eq(fw_image_check(image, &err), FW_OK);
	ck_assert_uint_eq(image->base, 0x400000);
	ck_assert_int_eq(image->cpu, FW_CPU_ARM64);
	ck_assert_str_eq(synth_name(image, 0x1001), "f+1");
	ck_assert_str_eq(synth_name(image, 0x2001), "f+1");
	ck_assert_str_eq(synth_name(image, 0x1fff), "f+7ff");	// the PUBLIC ends at the FUNC
	ck_assert_str_eq(synth_name(image, 0x2010), "-");
	ck_assert_str_eq(synth_name(image, 0xfffffff1), "-");
	fw_image_destroy(image);
	fw_builder_destroy(NULL);
}
END_TEST

START_TEST(numbers_may_be_sparse)
{
	struct fw_image *image = synth_sym(AMD64 "FILE 5 five\nFILE 4000000000 many\nFILE 7 seven\n"
					   "FILE 1000000 million\n");
	static const struct { uint32_t number; const char *name; } want[] = {
		{ 5, "five" }, { 7, "seven" }, { 1000000, "million" }, { 4000000000u, "many" },
		{ 0, NULL }, { 4, NULL }, { 6, NULL }, { 8, NULL }, { 1000001, NULL },
		{ 4000000001u, NULL }, { UINT32_MAX, NULL },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct fw_str s = fw_image_numbered(image, FW_SEC_FILES, want[i].number);
		if (!want[i].name) {
			ck_assert_ptr_null(s.s);
			continue;
		}
		ck_assert_uint_eq(s.n, strlen(want[i].name));
		ck_assert_mem_eq(s.s, want[i].name, s.n);
	}
	fw_image_destroy(image);
}
END_TEST

START_TEST(kinds_have_names)
{
	static const char *const names[] = { "malformed", "unknown", "orphan", "overlap", "range",
					     "rule", "limit" };
	for (unsigned k = 0; k < FW_DIAG_COUNT; k++)
		ck_assert_str_eq(fw_diag_kind_name(k), names[k]);
	struct fw_diag diag = { 0 };
	diag.count[FW_DIAG_RULE] = UINT32_MAX;
	fw_diag_add(&diag, FW_DIAG_RULE, 5);
	ck_assert_uint_eq(diag.count[FW_DIAG_RULE], UINT32_MAX);
}
END_TEST

START_TEST(freeze_fails_whichever_allocation_does)
{
	for (uint64_t nth = 1;; nth++) {
		struct fw_error err = { .message = "" };
		struct fw_builder *b;
		struct fw_image *image = NULL;
		uint32_t name;
		ck_assert_int_eq(fw_builder_create(&b, &err), FW_OK);
		ck_assert_int_eq(fw_intern_add(&b->strings, "f", 1, &name), FW_OK);
		for (uint32_t i = 10; i; i--) {
			struct fw_func f = { i * 16, 24, i * 16, name, 0, 0, 0, 0, 0 };
			struct fw_public p = { i * 0x1000, UINT32_MAX, name, 0 };
			struct fw_numbered n = { i, name };
			ck_assert(fw_vec_push(&b->funcs, f));
			ck_assert(fw_vec_push(&b->publics, p));
			ck_assert(fw_vec_push(&b->files, n));
		}
		fw_alloc_fail_at(nth);
		enum fw_code code = fw_builder_freeze(b, &image, &err);
		fw_alloc_fail_at(0);
		if (code == FW_OK) {
			ck_assert_uint_gt(nth, 5);
			ck_assert_int_eq(fw_image_check(image, &err), FW_OK);
			ck_assert_uint_eq(image->diag.count[FW_DIAG_OVERLAP], 9);
			fw_image_destroy(image);
			break;
		}
		ck_assert_int_eq(code, FW_NO_MEMORY);
		ck_assert_str_eq(err.message, "out of memory");
		ck_assert_ptr_null(image);
		ck_assert_uint_lt(nth, 100);
	}
}
END_TEST

Suite *image_suite(void)
{
	Suite *s = suite_create("image");
	TCase *tc = tcase_create("image");
	tcase_add_loop_test(tc, check_finds_what_is_broken, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tc, a_builder_alone);
	tcase_add_test(tc, numbers_may_be_sparse);
	tcase_add_test(tc, kinds_have_names);
	tcase_add_test(tc, freeze_fails_whichever_allocation_does);
	suite_add_tcase(s, tc);
	return s;
}
