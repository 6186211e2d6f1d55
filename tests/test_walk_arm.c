#include <check.h>

#include "tests/synth_world.h"

#define M UINT64_C(0x40000000)
#define S UINT64_C(0x7ff00000)
#define W(x) ((uint64_t)(x))

static struct world w;

static void teardown(void)
{
	world_deinit(&w);
}

static void setup64(void)
{
	world_init(&w, FW_CPU_ARM64, FW_OS_LINUX);
}

static void setup32(void)
{
	world_init(&w, FW_CPU_ARM, FW_OS_LINUX);
}

static void insn(uint64_t address, uint32_t code)
{
	world_bytes(&w, address, &code, 4);
}

static void start64(uint64_t pc, uint64_t sp, uint64_t fp)
{
	world_reg(&w, "pc", pc);
	world_reg(&w, "sp", sp);
	world_reg(&w, "x29", fp);
}

START_TEST(a64_cfi_leaf_rule_then_frame)
{
	// a leaf keeps its return address in x30 and no stack: sp may stay, once
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: sp 0 + .ra: x30\n"
		     "STACK CFI INIT 1100 100 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^\n");
	start64(M + 0x1010, S, W(5));
	world_reg(&w, "x30", M + 0x1150);
	world_stack(&w, S, W(0x29), W(0), W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.frames.data[1].lookup, M + 0x114c);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(a64_equal_sp_is_refused_after_the_first_frame)
{
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: sp 0 + .ra: x19 x19: x20 x20: x19\n");
	start64(M + 0x1010, S, 0);
	world_reg(&w, "x19", M + 0x1020);
	world_reg(&w, "x20", M + 0x1030);
	world_stack(&w, S, W(0), END);
	world_walk(&w);
	expect_end(&w, 2, FW_STOP_IMPLAUSIBLE);
}
END_TEST

START_TEST(a64_frame_records_end_with_zero)
{
	world_module(&w, M, 0x10000, NULL);
	insn(M + 0x14fc, 0x94000000);
	start64(M + 0x1010, S, S);
	world_stack(&w, S, S + 0x20, M + 0x1500, W(0), W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_FRAME_POINTER);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S + 16);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(a64_zero_frame_pointer_ends_the_chain)
{
	world_module(&w, M, 0x10000, NULL);
	start64(M + 0x1010, S, S);
	world_stack(&w, S, W(0), M + 0x1500, M + 0x1600, W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_FRAME_POINTER);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(a64_pac_is_stripped_only_into_a_module)
{
	world_module(&w, M, 0x10000, NULL);
	start64(M + 0x1010, S, S);
	world_stack(&w, S, (S + 0x20) | W(0x0012000000000000), (M + 0x1500) | W(0x7f3a000000000000),
		    W(0), W(0), W(0), W(0x0055000000000123), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_FRAME_POINTER);
	expect_end(&w, 2, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(a64_lr_of_another_function_is_the_caller_of_a_leaf)
{
	world_module(&w, M, 0x10000, "FUNC 1000 100 0 leaf\nFUNC 1400 200 0 caller\n");
	insn(M + 0x14fc, 0x97fffec1);
	start64(M + 0x1010, S, S + 0x10);
	world_reg(&w, "x30", M + 0x1500);
	world_stack(&w, S, W(1), W(2), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_LEAF);
	ck_assert(!fw_regs_has(&w.result.regs.data[1], 30));
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(a64_stale_lr_into_the_function_itself_is_not_used)
{
	world_module(&w, M, 0x10000, "FUNC 1000 100 0 f\nFUNC 1400 200 0 caller\n");
	insn(M + 0x1004, 0x94000000);
	insn(M + 0x14fc, 0x94000000);
	start64(M + 0x1010, S, S);
	world_reg(&w, "x30", M + 0x1008);
	world_stack(&w, S, W(0), M + 0x1500, END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_FRAME_POINTER);
}
END_TEST

START_TEST(a64_leaf_without_symbols_by_its_callers_branch)
{
	// bl at 14fc to 1000 (offset -0x4fc): pc 1010 is in its target
	world_module(&w, M, 0x10000, NULL);
	insn(M + 0x14fc, 0x97fffec1);
	start64(M + 0x1010, S, S + 0x10);
	world_reg(&w, "x30", M + 0x1500);
	world_stack(&w, S, W(1), W(2), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_LEAF);
}
END_TEST

START_TEST(a64_branch_to_null_returns_through_lr)
{
	world_module(&w, M, 0x10000, NULL);
	insn(M + 0x14fc, 0xd63f0000);	// blr x0
	start64(0, S, S);
	world_reg(&w, "x30", M + 0x1500);
	world_stack(&w, S, W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_LEAF);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

// arch/arm64/include/uapi/asm: siginfo 128, ucontext; sigcontext at 176; regs behind 8
START_TEST(a64_signal_frame)
{
	uint64_t words[39 + 33] = { 0 };
	words[39 + 19] = 0x19;
	words[39 + 31] = S + 0x800;
	words[39 + 32] = M + 0x1100;
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: sp 16 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1100 100 .cfa: sp 16 + .ra: .cfa -8 + ^\n");
	insn(M + 0x2000, 0xd2801168);
	w.bytes[0][4] = 0x01; w.bytes[0][7] = 0xd4;
	w.segments[0].size = 8;
	start64(M + 0x1010, S, 0);
	world_stack(&w, S, W(0), M + 0x2000, END);
	world_bytes(&w, S + 16, words, sizeof(words));
	world_stack(&w, S + 0x800, W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_CFI);
	ck_assert(w.result.frames.data[1].signal_frame);
	expect_frame(&w, 2, M + 0x1100, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.frames.data[2].lookup, M + 0x1100);
	ck_assert_uint_eq(w.result.regs.data[2].v[19], 0x19);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
}
END_TEST

static void start32(uint64_t pc, uint64_t sp, uint64_t lr)
{
	world_reg(&w, "pc", pc);
	world_reg(&w, "sp", sp);
	world_reg(&w, "lr", lr);
}

START_TEST(a32_cfi_and_lookup_two_below)
{
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: sp 8 + .ra: .cfa -4 + ^ r11: .cfa -8 + ^\n"
		     "STACK CFI INIT 1100 100 .cfa: sp 4 + .ra: .cfa -4 + ^\n");
	start32(M + 0x1010, S, 0);
	world_stack(&w, S, W(0x11), (M + 0x1150) | 1, W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);	// without its Thumb bit
	ck_assert_uint_eq(w.result.frames.data[1].lookup, M + 0x114e);
	ck_assert_uint_eq(w.result.regs.data[1].v[11], 0x11);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(a32_chain_needs_a_call_seen_except_on_ios)
{
	w.s.os = _i == 0 ? FW_OS_LINUX : FW_OS_IOS;
	world_module(&w, M, 0x10000, NULL);
	start32(M + 0x1010, S, 0);
	world_reg(&w, "r7", S);
	world_reg(&w, "r11", S);
	world_stack(&w, S, W(0), M + 0x1500, W(0), END);
	world_walk(&w);
	if (_i == 0)
		expect_end(&w, 1, FW_STOP_NO_RULE);
	else
		expect_frame(&w, 1, M + 0x1500, FW_TRUST_FRAME_POINTER);
}
END_TEST

static const struct { uint32_t code; unsigned length; bool thumb, is; } calls32[] = {
	{ 0xebfffebf, 4, false, true },		// bl to pc's function
	{ 0x1bfffebf, 4, false, true },		// blne
	{ 0xfafffffe, 4, false, true },		// blx label
	{ 0xe12fff33, 4, false, true },		// blx r3
	{ 0xeafffffe, 4, false, false },	// b
	{ 0xe12fff13, 4, false, false },	// bx r3
	{ 0xfffef7ff, 4, true, true },		// bl (Thumb-2, halfwords f7ff fffe)
	{ 0xeffef7ff, 4, true, true },		// blx label
	{ 0x4798bf00, 4, true, true },		// nop; blx r3
	{ 0x4718bf00, 4, true, false },		// nop; bx r3
	{ 0xbffef7ff, 4, true, false },		// b.w
};

START_TEST(a32_calls_are_told_by_their_bytes)
{
	world_module(&w, M, 0x10000, NULL);
	insn(M + 0x14fc, calls32[_i].code);
	start32(M + 0x1010, S, 0);
	world_stack(&w, S, (M + 0x1500) | calls32[_i].thumb, W(0), END);
	world_walk(&w);
	expect_end(&w, calls32[_i].is ? 2 : 1, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(a32_gcc_and_clang_frame_records)
{
	world_module(&w, M, 0x10000, NULL);
	insn(M + 0x14fc, 0xebfffffe);
	start32(M + 0x1010, S, 0);
	world_stack(&w, S, W(1), W(0), M + 0x1500, W(0), W(0), END);
	world_reg(&w, "r11", _i == 0 ? S + 8 /* gcc: at [r11 - 4] */ : S + 4 /* clang: at [r11] */);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1500, FW_TRUST_FRAME_POINTER);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S + 12);
}
END_TEST

Suite *walk_arm_suite(void);
Suite *walk_arm_suite(void)
{
	Suite *s = suite_create("walk_arm");
	TCase *a64 = tcase_create("arm64"), *a32 = tcase_create("arm");
	tcase_add_checked_fixture(a64, setup64, teardown);
	tcase_add_test(a64, a64_cfi_leaf_rule_then_frame);
	tcase_add_test(a64, a64_equal_sp_is_refused_after_the_first_frame);
	tcase_add_test(a64, a64_frame_records_end_with_zero);
	tcase_add_test(a64, a64_zero_frame_pointer_ends_the_chain);
	tcase_add_test(a64, a64_pac_is_stripped_only_into_a_module);
	tcase_add_test(a64, a64_lr_of_another_function_is_the_caller_of_a_leaf);
	tcase_add_test(a64, a64_stale_lr_into_the_function_itself_is_not_used);
	tcase_add_test(a64, a64_leaf_without_symbols_by_its_callers_branch);
	tcase_add_test(a64, a64_branch_to_null_returns_through_lr);
	tcase_add_test(a64, a64_signal_frame);
	suite_add_tcase(s, a64);
	tcase_add_checked_fixture(a32, setup32, teardown);
	tcase_add_test(a32, a32_cfi_and_lookup_two_below);
	tcase_add_loop_test(a32, a32_chain_needs_a_call_seen_except_on_ios, 0, 2);
	tcase_add_loop_test(a32, a32_calls_are_told_by_their_bytes, 0, sizeof(calls32) / sizeof(calls32[0]));
	tcase_add_loop_test(a32, a32_gcc_and_clang_frame_records, 0, 2);
	suite_add_tcase(s, a32);
	return s;
}
