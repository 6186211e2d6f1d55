#include <check.h>
#include <stdio.h>

#include "tests/synth_world.h"

#define M UINT64_C(0x400000)
#define S UINT64_C(0x120000)

static struct world w;

static void setup(void)
{
	world_init(&w, FW_CPU_X86, FW_OS_WINDOWS);
}

static void teardown(void)
{
	world_deinit(&w);
}

static void start(uint64_t pc, uint64_t sp, uint64_t bp)
{
	world_reg(&w, "eip", pc);
	world_reg(&w, "esp", sp);
	world_reg(&w, "ebp", bp);
}

#define W(x) ((uint64_t)(x))

// fields: type rva size prolog epilog params savedregs locals maxstack has_program last
static const char framedata[] =
	"FUNC 1000 100 0 standard\n"
	"FUNC 1100 100 8 caller\n"
	"FUNC 1200 100 0 outer\n"
	"STACK WIN 4 1000 100 0 0 4 0 0 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n"
	"STACK WIN 4 1100 100 0 0 8 4 8 0 1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + = $ebx $T0 4 - ^ =\n"
	"STACK WIN 4 1200 100 0 0 0 0 0 0 1 $T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + =\n";

START_TEST(framedata_program_walks_and_ends_at_zero)
{
	world_module(&w, M, 0x10000, framedata);
	start(M + 0x1010, S, S + 8);
	world_stack(&w, S, W(1), W(2), W(0), M + 0x1020, W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1020, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(callee_parameters_count_from_the_immediate_callee)
{
	// frame 0 has 4 bytes of parameters (its STACK WIN says so, not its FUNC):
	// frame 1's return address lies 4 + 8 locals + 4 saved above its esp
	world_module(&w, M, 0x10000, framedata);
	start(M + 0x1010, S, S + 4);
	world_stack(&w, S, W(1), S + 0x40, M + 0x1150,
		    W(0xaa) /* param */, W(1), W(2) /* locals */, W(0xb0b) /* saved ebx */,
		    M + 0x1250, W(0x11), W(0x22) /* 8 bytes of params */, W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	expect_frame(&w, 2, M + 0x1250, FW_TRUST_CFI);
	ck_assert(fw_regs_has(&w.result.regs.data[2], 3));
	ck_assert_uint_eq(w.result.regs.data[2].v[3], 0xb0b);	// ebx: assigned, so known
	ck_assert(!fw_regs_has(&w.result.regs.data[2], 6));	// esi: not assigned, unknown
}
END_TEST

START_TEST(ra_search_skips_alignment_gaps)
{
	// up to three words above the computed place (inclusive)
	world_module(&w, M, 0x10000, framedata);
	start(M + 0x1210, S, 0);
	world_stack(&w, S, W(1), W(2), W(3), M + 0x1150, W(0), W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S + 16);
}
END_TEST

START_TEST(fpo_with_base_pointer_allocated)
{
	// ebp is at esp + callee params + saved - 8
	world_module(&w, M, 0x10000,
		     "FUNC 1000 100 0 f\nFUNC 1100 100 0 g\n"
		     "STACK WIN 0 1000 100 0 0 0 8 4 0 0 1\n");
	start(M + 0x1010, S, 0x77);
	world_stack(&w, S, S + 0x20, W(1), W(2), M + 0x1150, W(0), W(0), W(0), W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.regs.data[1].v[5], S + 0x20);
}
END_TEST

START_TEST(plain_fpo_keeps_ebp_and_ebx)
{
	world_module(&w, M, 0x10000,
		     "FUNC 1000 100 0 f\nFUNC 1100 100 0 g\n"
		     "STACK WIN 0 1000 100 0 0 0 0 4 0 0 0\n");
	start(M + 0x1010, S, 0x77);
	world_reg(&w, "ebx", 5);
	world_reg(&w, "esi", 6);
	world_stack(&w, S, W(1), M + 0x1150, W(0), W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.regs.data[1].v[5], 0x77);
	ck_assert(fw_regs_has(&w.result.regs.data[1], 3));
	ck_assert(!fw_regs_has(&w.result.regs.data[1], 6));
}
END_TEST

START_TEST(fpo_system_call_leaves_its_own_address_on_top)
{
	// the context frame's word equals its own eip: one word is skipped
	world_module(&w, M, 0x10000,
		     "FUNC 1000 100 0 f\nFUNC 1100 100 0 g\n"
		     "STACK WIN 0 1000 100 0 0 0 0 0 0 0 0\n");
	start(M + 0x1010, S, 0);
	world_stack(&w, S, M + 0x1010, M + 0x1150, W(0), W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S + 8);
}
END_TEST

START_TEST(aligning_program_searches_from_ebp)
{
	// `@` in the program: .raSearchStart is ebp + 4
	world_module(&w, M, 0x10000,
		     "FUNC 1000 100 0 f\nFUNC 1100 100 0 g\n"
		     "STACK WIN 4 1000 100 0 0 0 0 40 0 1 "
		     "$T1 .raSearch = $T0 $T1 4 - 8 @ = $ebp $T1 4 - ^ = $eip $T1 ^ = $esp $T1 4 + =\n");
	start(M + 0x1010, S, S + 8);
	world_stack(&w, S, W(1), W(2), S + 0x30, M + 0x1150, W(0), W(0), W(0), W(0), W(0), W(0),
		    W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.regs.data[1].v[5], S + 0x30);
}
END_TEST

START_TEST(division_by_zero_and_literal_assignment_are_failures)
{
	static const char *const programs[] = { "$eip 4 0 / =", "-5 3 =", "$eip $T9 =" };
	char sym[200];
	snprintf(sym, sizeof(sym), "FUNC 1000 100 0 f\nSTACK WIN 4 1000 100 0 0 0 0 0 0 1 %s\n",
		 programs[_i]);
	world_module(&w, M, 0x10000, sym);
	start(M + 0x1010, S, 0);
	world_stack(&w, S, W(1), W(2), END);
	world_walk(&w);
	ck_assert_uint_eq(w.result.frames.count, 1);
}
END_TEST

START_TEST(ebp_chain_and_its_end)
{
	world_module(&w, M, 0x10000, NULL);
	start(M + 0x1010, S, S + 4);
	world_stack(&w, S, W(1), S + 0x10, M + 0x1150, W(3), W(0), W(0), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_FRAME_POINTER);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S + 12);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	ck_assert_str_eq(w.result.stop_detail, "the frame pointer chain ends");
}
END_TEST

START_TEST(stack_cfi_works_at_32_bits)
{
	w.s.os = FW_OS_LINUX;
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: $esp 4 + .ra: .cfa -4 + ^\n"
		     "STACK CFI INIT 1100 100 .cfa: $ebp 8 + .ra: .cfa -4 + ^ $ebp: .cfa -8 + ^\n");
	start(M + 0x1010, S, S + 0x10);
	world_stack(&w, S, M + 0x1150, W(1), W(2), W(3), W(0x1234), W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

// arch/x86/include/asm/sigframe.h: signal, siginfo *, ucontext * at esp
START_TEST(linux_rt_signal_frame)
{
	uint64_t uc = S + 0x100;
	w.s.os = FW_OS_LINUX;
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: $esp 4 + .ra: .cfa -4 + ^\n");
	world_bytes(&w, M + 0x2000, "\xb8\xad\0\0\0\xcd\x80\x90", 8);
	start(M + 0x1010, S, 0);
	world_stack(&w, S, M + 0x2000, W(11), W(0), uc, END);
	world_stack(&w, uc, W(0), W(0), W(0), W(0), W(0) /* flags, link, stack */,
		    W(0), W(0), W(0), W(0) /* segments */, W(7), W(6), W(5), S + 0x200,
		    W(3), W(2), W(1), W(0), W(0), W(0), M + 0x1000, END);
	world_stack(&w, S + 0x200, W(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_CFI);
	expect_frame(&w, 2, M + 0x1000, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.regs.data[2].v[7], 7);
	ck_assert_uint_eq(w.result.regs.data[2].v[3], 3);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
}
END_TEST

Suite *walk_x86_suite(void);
Suite *walk_x86_suite(void)
{
	Suite *s = suite_create("walk_x86");
	TCase *tc = tcase_create("walk_x86");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, framedata_program_walks_and_ends_at_zero);
	tcase_add_test(tc, callee_parameters_count_from_the_immediate_callee);
	tcase_add_test(tc, ra_search_skips_alignment_gaps);
	tcase_add_test(tc, fpo_with_base_pointer_allocated);
	tcase_add_test(tc, plain_fpo_keeps_ebp_and_ebx);
	tcase_add_test(tc, fpo_system_call_leaves_its_own_address_on_top);
	tcase_add_test(tc, aligning_program_searches_from_ebp);
	tcase_add_loop_test(tc, division_by_zero_and_literal_assignment_are_failures, 0, 3);
	tcase_add_test(tc, ebp_chain_and_its_end);
	tcase_add_test(tc, stack_cfi_works_at_32_bits);
	tcase_add_test(tc, linux_rt_signal_frame);
	suite_add_tcase(s, tc);
	return s;
}
