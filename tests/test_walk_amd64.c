#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/synth_world.h"

// A module at 0x400000: text at 0x401000. code() puts a call before each
// address it is given, so that the address can be returned to.
static const uint8_t call[] = { 0xe8, 0, 0, 0, 0 };
#define M UINT64_C(0x400000)
#define S UINT64_C(0x7fff0000)

static struct world w;

static void setup(void)
{
	world_init(&w, FW_CPU_AMD64, FW_OS_LINUX);
}

static void teardown(void)
{
	world_deinit(&w);
}

static void code(uint64_t address)
{
	world_bytes(&w, address - sizeof(call), call, sizeof(call));
}

static void start(uint64_t pc, uint64_t sp)
{
	world_reg(&w, "rip", pc);
	world_reg(&w, "rsp", sp);
}

// psABI: the return address lies below the CFA; DWARF rules as dump_syms writes them
static const char cfi[] =
	"STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	"STACK CFI 1001 .cfa: $rsp 16 + $rbx: .cfa -16 + ^\n"
	"STACK CFI INIT 1100 100 .cfa: $rsp 16 + .ra: .cfa -8 + ^\n";

START_TEST(cfi_restores_saved_and_keeps_callee_saved)
{
	world_module(&w, M, 0x10000, cfi);
	start(M + 0x1050, S);
	world_reg(&w, "rbx", 7);
	world_reg(&w, "rax", 8);
	world_reg(&w, "r12", 9);
	world_stack(&w, S, UINT64_C(0x77), M + 0x1150, UINT64_C(1), UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 0, M + 0x1050, FW_TRUST_CONTEXT);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	const struct fw_regs *r = &w.result.regs.data[1];
	ck_assert(fw_regs_has(r, 3) && r->v[3] == 0x77);	// rbx from the stack
	ck_assert(fw_regs_has(r, 12) && r->v[12] == 9);		// r12 unchanged
	ck_assert(!fw_regs_has(r, 0));				// rax is the callee's to change
	ck_assert_uint_eq(r->v[7], S + 16);
}
END_TEST

START_TEST(lookup_is_exact_for_context_and_inside_the_call_for_callers)
{
	// The call to a function that never returns is 10ff's last instruction:
	// its return address 1100 belongs to the next INIT.
	world_module(&w, M, 0x10000, cfi);
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x1100, UINT64_C(0x55), UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	ck_assert_uint_eq(w.result.frames.data[0].lookup, M + 0x1000);
	ck_assert_uint_eq(w.result.frames.data[1].lookup, M + 0x10ff);
	// 10ff is in the first INIT after the push: cfa = rsp + 16
	ck_assert_uint_eq(w.result.regs.data[1].v[7], S + 8);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(pc_below_4096_ends_the_stack)
{
	world_module(&w, M, 0x10000, cfi);
	start(M + 0x1000, S);
	world_stack(&w, S, UINT64_C(0xfff), END);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_END_OF_STACK);
	ck_assert_str_eq(w.result.stop_detail, "return address is 0xfff");
}
END_TEST

START_TEST(stack_pointer_must_grow)
{
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: $rsp .ra: $rip\n");
	start(M + 0x1000, S);
	world_stack(&w, S, UINT64_C(0), END);
	world_walk(&w);
	// .cfa without .ra of its own kind: `.ra: $rip` with a .cfa is a plain rule
	expect_end(&w, 1, FW_STOP_IMPLAUSIBLE);
}
END_TEST

START_TEST(a_return_address_in_a_register_leaves_sp_where_it_is)
{
	// vfork of glibc behind its `pop %rdi`; the same in a caller's frame leads nowhere
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: $rsp .ra: $rdi $rdi: $rdi\n"
		     "STACK CFI INIT 1100 100 .cfa: $rsp .ra: $rdi\n");
	start(M + 0x1008, S);
	world_reg(&w, "rdi", M + 0x1150);
	world_stack(&w, S, UINT64_C(1), UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.regs.data[1].v[7], S);
	expect_end(&w, 2, FW_STOP_IMPLAUSIBLE);
	ck_assert_str_eq(w.result.stop_detail,
			 "the caller's stack pointer 0x7fff0000 is not above 0x7fff0000");
}
END_TEST

START_TEST(rule_to_non_executable_memory_is_not_followed)
{
	world_module(&w, M, 0x10000, cfi);
	world_region(&w, M, M + 0x10000, FW_PERM_READ | FW_PERM_EXEC);
	world_region(&w, S, S + 0x1000, FW_PERM_READ | FW_PERM_WRITE);
	start(M + 0x1000, S);
	world_stack(&w, S, S + 0x100, UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_IMPLAUSIBLE);
	ck_assert_str_eq(w.result.stop_detail,
			 "return address 0x7fff0100 is not in executable memory");
}
END_TEST

START_TEST(frame_after_start_is_a_stack_address)
{
	// What dump_syms leaves of _start: its undefined RA dropped. Without
	// maps the captured stack itself is known not to be code.
	world_module(&w, M, 0x10000,
		     "PUBLIC 1000 0 _start\n"
		     "STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1100 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
	start(M + 0x1110, S);
	world_stack(&w, S, M + 0x1022, S + 0x40, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1022, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(entry_point_from_auxv_has_no_caller)
{
	world_module(&w, M, 0x10000, cfi);
	w.s.have_entry = true;
	w.s.entry = M + 0x1100;
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x1120, UINT64_C(0), M + 0x1150, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1120, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(frame_record_with_alien_saved_rbp_still_gives_the_caller)
{
	world_module(&w, M, 0x10000, NULL);
	code(M + 0x2000);
	start(M + 0x1000, S);
	world_reg(&w, "rbp", S + 8);
	world_stack(&w, S, UINT64_C(5), UINT64_C(0x1234567), M + 0x2000, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_FRAME_POINTER);
	ck_assert(!fw_regs_has(&w.result.regs.data[1], 6));
	expect_end(&w, 2, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(frame_record_without_call_before_is_refused)
{
	world_module(&w, M, 0x10000, NULL);
	world_bytes(&w, M + 0x1ff0, "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", 16);
	start(M + 0x1000, S);
	world_reg(&w, "rbp", S);
	world_stack(&w, S, S + 0x20, M + 0x2000, UINT64_C(0), UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_NO_RULE);
	ck_assert_uint_eq(w.result.num_candidates, 0);
}
END_TEST

static const struct { uint64_t rbp; const char *why; } bad_rbp[] = {
	{ S + 4, "not 8-aligned" },
	{ S - 16, "below the stack pointer" },
	{ 0, "zero" },
	{ UINT64_C(0x4141414141414141), "no stack address" },
	{ UINT64_MAX - 7, "top of the address space" },
};

START_TEST(bad_frame_pointers_are_refused)
{
	world_module(&w, M, 0x10000, NULL);
	start(M + 0x1000, S);
	world_reg(&w, "rbp", bad_rbp[_i].rbp);
	world_stack(&w, S - 16, M + 0x2000, M + 0x2000, M + 0x10, END);
	world_bytes(&w, M + 0xff0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(windows_rbp_needs_a_call_seen)
{
	w.s.os = FW_OS_WINDOWS;
	world_module(&w, M, 0x10000, NULL);
	start(M + 0x1000, S);
	world_reg(&w, "rbp", S + 8);
	world_stack(&w, S, UINT64_C(5), S + 0x18, M + 0x2000, UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	// unverified and nothing goes on from it: a candidate, no frame
	expect_end(&w, 1, FW_STOP_NO_RULE);
	ck_assert_uint_eq(w.result.num_candidates, 1);
	ck_assert_uint_eq(w.result.candidates[0].value, M + 0x2000);
}
END_TEST

static void call_to(uint64_t address, uint64_t target);

START_TEST(scan_takes_the_first_address_after_a_call)
{
	world_module(&w, M, 0x10000, NULL);
	call_to(M + 0x2000, M + 0x1000);
	world_bytes(&w, M + 0x2ff0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x3000, M + 0x8000, M + 0x2000, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_SCAN);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S + 24);
	expect_end(&w, 2, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(scan_bound_is_inclusive)
{
	// 160 words out of the context frame, the bound itself included: word 160
	// is read, word 161 is not (peers' trap 10)
	static const int at[] = { 160, 161 };
	uint64_t words[170] = { 0 };
	words[at[_i]] = M + 0x2000;
	world_module(&w, M, 0x10000, NULL);
	call_to(M + 0x2000, M + 0x1000);
	start(M + 0x1000, S);
	world_bytes(&w, S, words, sizeof(words));
	world_walk(&w);
	expect_end(&w, _i == 0 ? 2 : 1, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(unverified_scan_needs_a_rule_to_go_on)
{
	// no code bytes anywhere: 3000 has no rule, 1150 has one that leads on
	world_module(&w, M, 0x10000, cfi);
	start(M + 0x5000, S);
	world_stack(&w, S, M + 0x3000, M + 0x1150, UINT64_C(0), M + 0x1120, UINT64_C(0),
		    UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_SCAN);
	expect_frame(&w, 2, M + 0x1120, FW_TRUST_CFI);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(function_starts_are_no_candidates)
{
	world_module(&w, M, 0x10000, "FUNC 3000 10 0 callback\nPUBLIC 4000 0 other\n");
	start(M + 0x5000, S);
	world_stack(&w, S, M + 0x3000, M + 0x4000, UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_NO_RULE);
	ck_assert_uint_eq(w.result.num_candidates, 0);
}
END_TEST

START_TEST(call_through_null_returns_from_the_top_of_the_stack)
{
	world_module(&w, M, 0x10000, cfi);
	code(M + 0x1150);
	start(0, S);
	world_reg(&w, "rbx", 3);
	world_stack(&w, S, M + 0x1150, UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 0, 0, FW_TRUST_CONTEXT);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_LEAF);
	ck_assert_uint_eq(w.result.regs.data[1].v[3], 3);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

// rt_sigframe: ucontext at rsp, registers from 40 on, rip the 17th
static void signal_stack(uint64_t rsp, uint64_t rip)
{
	uint64_t words[5 + 17] = { 0 };
	words[5 + 15] = rsp;
	words[5 + 16] = rip;
	words[5 + 11] = 0xb;	// rbx
	world_bytes(&w, S + 8, words, sizeof(words));
}

START_TEST(signal_frame_is_walked_and_pc_after_it_is_exact)
{
	// 1000 is the first byte of the interrupted function: one less is another's
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT f00 100 .cfa: $rsp 800 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1100 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1fff 10 .ra: $rip\n");
	start(M + 0x1110, S);
	world_stack(&w, S, M + 0x2000, END);
	signal_stack(S + 0x400, M + 0x1000);
	world_stack(&w, S + 0x400, M + 0x1180, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_CFI);
	ck_assert(w.result.frames.data[1].signal_frame);
	expect_frame(&w, 2, M + 0x1000, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.frames.data[2].lookup, M + 0x1000);
	ck_assert_uint_eq(w.result.regs.data[2].v[3], 0xb);
	ck_assert(!w.result.frames.data[2].signal_frame);
	expect_frame(&w, 3, M + 0x1180, FW_TRUST_CFI);
	expect_end(&w, 4, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(trampoline_is_known_by_its_code)
{
	static const uint8_t restore_rt[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	world_module(&w, M, 0x10000, cfi);
	world_bytes(&w, M + 0x2000, restore_rt, sizeof(restore_rt));
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x2000, END);
	signal_stack(S + 0x400, M + 0x1000);
	world_stack(&w, S + 0x400, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_CFI);
	expect_frame(&w, 2, M + 0x1000, FW_TRUST_CFI);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(signal_on_an_alternate_stack_may_go_down)
{
	world_module(&w, M, 0x10000, cfi);
	world_bytes(&w, M + 0x2000, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x2000, END);
	signal_stack(S - 0x8000, M + 0x1000);
	world_stack(&w, S - 0x8000, M + 0x1150, UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 2, M + 0x1000, FW_TRUST_CFI);
	expect_frame(&w, 3, M + 0x1150, FW_TRUST_CFI);
	expect_end(&w, 4, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(signal_frames_in_a_circle_end)
{
	world_module(&w, M, 0x10000, cfi);
	world_bytes(&w, M + 0x2000, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x2000, END);
	signal_stack(S, M + 0x1000);	// interrupted at the very start of this walk
	w.max_frames = FW_MAX_FRAMES;
	world_walk(&w);
	ck_assert_uint_lt(w.result.frames.count, 1000);
	ck_assert_int_eq(w.result.stop, FW_STOP_IMPLAUSIBLE);
}
END_TEST

// glibc's __restore_rt has the S augmentation and a rule for each register of the
// ucontext at rsp (sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c); as rows of the image.
static void native_trampoline(void)
{
	uint32_t count;
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 1000 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1fff a .cfa: $rsp 160 + ^ .ra: $rsp 168 + ^ "
		     "$rbx: $rsp 128 + ^ $rbp: $rsp 120 + ^\n");
	const struct fw_rule *rules = fw_image_cfi(w.images[0], 0x2000, &count);
	ck_assert_ptr_nonnull(rules);
	((struct fw_rule *)(uintptr_t)rules)->flags |= FW_ROW_SIGNAL;	// a .sym cannot say it
}

START_TEST(native_signal_rules_are_applied_and_pc_after_them_is_exact)
{
	uint64_t ucontext[23] = { [15] = UINT64_C(0x1234), [16] = UINT64_C(0x5678),
				  [20] = S + 0x400, [21] = M + 0x1000 };
	native_trampoline();
	start(M + 0x1100, S);
	world_stack(&w, S, M + 0x2000, END);
	world_bytes(&w, S + 8, ucontext, sizeof(ucontext));
	world_stack(&w, S + 0x400, M + 0x1150, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_CFI);
	ck_assert(w.result.frames.data[1].signal_frame);
	// the first byte of a function: one before it no rule holds
	expect_frame(&w, 2, M + 0x1000, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.frames.data[2].lookup, M + 0x1000);
	ck_assert(!w.result.frames.data[2].signal_frame);
	ck_assert_uint_eq(w.result.regs.data[2].v[3], 0x5678);	// rbx
	ck_assert_uint_eq(w.result.regs.data[2].v[6], 0x1234);	// rbp
	expect_frame(&w, 3, M + 0x1150, FW_TRUST_CFI);
	expect_end(&w, 4, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(native_signal_rules_need_their_memory)
{
	native_trampoline();
	start(M + 0x1100, S);
	world_stack(&w, S, M + 0x2000, UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, 2, FW_STOP_MEMORY_MISSING);
	ck_assert_str_eq(w.result.stop_detail,
			 "the signal frame at 0x7fff0008 is not in the capture");
}
END_TEST

START_TEST(native_signal_rules_may_not_lead_back)
{
	uint64_t ucontext[23] = { [20] = S, [21] = M + 0x1000 };
	native_trampoline();
	start(M + 0x1100, S);
	world_stack(&w, S, M + 0x2000, END);
	world_bytes(&w, S + 8, ucontext, sizeof(ucontext));
	world_walk(&w);
	ck_assert_int_eq(w.result.stop, FW_STOP_IMPLAUSIBLE);
	ck_assert_uint_lt(w.result.frames.count, 1000);
}
END_TEST

START_TEST(missing_memory_stops_although_a_scan_would_find_something)
{
	// The rule puts the return address past the captured bytes; what lies
	// below is the frame's own data, a stale return address among it.
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: $rsp 800 + .ra: .cfa -8 + ^\n");
	code(M + 0x1080);
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x1080, UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_TRUNCATED_STACK);
	ck_assert_str_eq(w.result.stop_detail, "the captured stack ends at 0x7fff0010");
}
END_TEST

START_TEST(no_stack_at_all)
{
	world_module(&w, M, 0x10000, NULL);
	start(M + 0x1000, S);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_MEMORY_MISSING);
	ck_assert_str_eq(w.result.stop_detail, "no memory at stack pointer 0x7fff0000");
}
END_TEST

START_TEST(frame_limit_is_reported)
{
	world_module(&w, M, 0x10000, cfi);
	uint64_t words[64];
	for (int i = 0; i < 64; i++)
		words[i] = M + 0x1150;
	start(M + 0x1150, S);
	world_bytes(&w, S, words, sizeof(words));
	w.max_frames = 5;
	world_walk(&w);
	expect_end(&w, 5, FW_STOP_LIMIT);
	ck_assert_str_eq(w.result.stop_detail, "5 frames");
}
END_TEST

START_TEST(no_context_says_why)
{
	w.thread.have_context = false;
	w.thread.context_error = "context of 3 bytes";
	world_walk(&w);
	expect_end(&w, 0, FW_STOP_NO_RULE);
	ck_assert_str_eq(w.result.stop_detail, "no registers: context of 3 bytes");
}
END_TEST

START_TEST(failed_register_rule_makes_it_unknown_not_unchanged)
{
	world_module(&w, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbx: .undef $r12: 4 0 /\n"
		     "STACK CFI INIT 1100 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
	start(M + 0x1000, S);
	world_reg(&w, "rbx", 1);
	world_reg(&w, "r12", 1);
	world_reg(&w, "r13", 1);
	world_stack(&w, S, M + 0x1150, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	ck_assert(!fw_regs_has(&w.result.regs.data[1], 3));
	ck_assert(!fw_regs_has(&w.result.regs.data[1], 12));
	ck_assert(fw_regs_has(&w.result.regs.data[1], 13));
}
END_TEST

// A call at 1ffb whose rel32 leads to @p target.
static void call_to(uint64_t address, uint64_t target)
{
	uint8_t bytes[5] = { 0xe8 };
	uint32_t rel = (uint32_t)(target - address);
	memcpy(bytes + 1, &rel, 4);
	world_bytes(&w, address - 5, bytes, 5);
}

START_TEST(leftover_of_a_call_elsewhere_is_no_caller)
{
	// 2000 was returned to from another function's call; 3000 is pc's caller
	world_module(&w, M, 0x10000, "FUNC 1000 80 0 crashed\nFUNC 1080 80 0 earlier\n");
	call_to(M + 0x2000, M + 0x1080);
	call_to(M + 0x3000, M + 0x1000);
	start(M + 0x1010, S);
	world_stack(&w, S, UINT64_C(0), M + 0x2000, M + 0x3000, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x3000, FW_TRUST_SCAN);
}
END_TEST

START_TEST(program_does_not_call_itself_through_stubs)
{
	// bnd jmp *table(%rip): a PLT entry. What it leads to is in a library,
	// and the crashed function is not.
	world_module(&w, M, 0x10000, NULL);
	call_to(M + 0x2000, M + 0x800);
	world_bytes(&w, M + 0x800, "\xf3\x0f\x1e\xfa\xf2\xff\x25\0\0\0\0\0\0\0\0\0", 16);
	start(M + 0x1010, S);
	world_stack(&w, S, UINT64_C(0), M + 0x2000, UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(leaf_is_believed_when_the_call_leads_to_its_function)
{
	// rbp still is the caller's: its record would skip the caller itself
	world_module(&w, M, 0x10000, "FUNC 1000 80 0 leaf\n");
	call_to(M + 0x2000, M + 0x1000);
	call_to(M + 0x3000, M + 0x1f00);
	start(M + 0x1010, S);
	world_reg(&w, "rbp", S + 16);
	world_stack(&w, S, M + 0x2000, UINT64_C(5), S + 48, M + 0x3000, UINT64_C(0), UINT64_C(0),
		    UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x2000, FW_TRUST_LEAF);
	expect_frame(&w, 2, M + 0x3000, FW_TRUST_FRAME_POINTER);
}
END_TEST

START_TEST(unverified_record_with_alien_rbp_counts_only_between_modules)
{
	// rbp used as a general register points at a function pointer by chance
	world_module(&w, M, 0x10000, NULL);
	world_module(&w, M + 0x100000, 0x10000, NULL);
	start(M + 0x1010, S);
	world_reg(&w, "rbp", S + 8);
	world_stack(&w, S, UINT64_C(0), UINT64_C(0x1234), M + 0x2000 + (uint64_t)_i * 0x100000,
		    UINT64_C(0), END);
	world_walk(&w);
	if (_i == 0)
		expect_end(&w, 1, FW_STOP_NO_RULE);
	else
		expect_frame(&w, 1, M + 0x102000, FW_TRUST_FRAME_POINTER);
}
END_TEST

START_TEST(clone_and_start_have_no_caller_although_their_rules_name_one)
{
	// dump_syms drops `undefined`: the rules look like any function's. The
	// words above are return addresses to the same module.
	static const char *const syms[] = {
		"PUBLIC 1000 0 _start\nSTACK CFI INIT 1000 80 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
		"PUBLIC 1000 0 clone3\nSTACK CFI INIT 1000 1a .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 101a 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
		"FUNC 1000 80 0 clone\nSTACK CFI INIT 1000 1a .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 101a 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
	};
	char sym[512];
	snprintf(sym, sizeof(sym), "%s%s", syms[_i],
		 "STACK CFI INIT 1100 80 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
	world_module(&w, M, 0x10000, sym);
	start(M + 0x1110, S);
	world_stack(&w, S, M + 0x1025, M + 0x1150, M + 0x1160, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1025, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(crash_in_clone_itself_has_a_caller)
{
	world_module(&w, M, 0x10000,
		     "PUBLIC 1000 0 clone\n"
		     "STACK CFI INIT 1000 80 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		     "STACK CFI INIT 1100 80 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n");
	start(M + 0x1010, S);
	world_stack(&w, S, M + 0x1150, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
}
END_TEST

// Intel SDM, CALL: every length of FF /2, and look-alikes that are no calls
static const struct { uint8_t code[8]; bool is; } calls[] = {
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, true },	// call rax
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4 }, true },	// call r12
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10 }, true },	// call [rax]
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0x24 }, true },	// call [rsp]
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x08 }, true },	// call [rax+8]
	{ { 0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08 }, true },	// call [rsp+8]
	{ { 0x90, 0x90, 0xff, 0x15, 0x01, 0x02, 0x03, 0x04 }, true },	// call [rip+x]
	{ { 0x90, 0x90, 0xff, 0x90, 0x01, 0x02, 0x03, 0x04 }, true },	// call [rax+x]
	{ { 0x90, 0xff, 0x94, 0x24, 0x01, 0x02, 0x03, 0x04 }, true },	// call [rsp+x]
	{ { 0x90, 0xff, 0x14, 0x25, 0x01, 0x02, 0x03, 0x04 }, true },	// call [x]
	{ { 0x90, 0x90, 0x90, 0xe8, 0x01, 0x02, 0x03, 0x04 }, true },
	{ { 0x90, 0x90, 0x90, 0xe9, 0x01, 0x02, 0x03, 0x04 }, false },	// jmp
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, false },	// jmp rax
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x15 }, false },	// cut short
	{ { 0xe8, 0, 0, 0, 0, 0x90, 0x90, 0x90 }, false },		// a call, but earlier
};

START_TEST(calls_are_told_by_their_bytes)
{
	world_module(&w, M, 0x10000, NULL);
	world_bytes(&w, M + 0x2000 - 8, calls[_i].code, 8);
	start(M + 0x1000, S);
	world_stack(&w, S, M + 0x2000, UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, calls[_i].is ? 2 : 1, FW_STOP_NO_RULE);
}
END_TEST

Suite *walk_amd64_suite(void);
Suite *walk_amd64_suite(void)
{
	Suite *s = suite_create("walk_amd64");
	TCase *tc = tcase_create("walk_amd64");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, cfi_restores_saved_and_keeps_callee_saved);
	tcase_add_test(tc, lookup_is_exact_for_context_and_inside_the_call_for_callers);
	tcase_add_test(tc, pc_below_4096_ends_the_stack);
	tcase_add_test(tc, stack_pointer_must_grow);
	tcase_add_test(tc, a_return_address_in_a_register_leaves_sp_where_it_is);
	tcase_add_test(tc, rule_to_non_executable_memory_is_not_followed);
	tcase_add_test(tc, frame_after_start_is_a_stack_address);
	tcase_add_test(tc, entry_point_from_auxv_has_no_caller);
	tcase_add_test(tc, frame_record_with_alien_saved_rbp_still_gives_the_caller);
	tcase_add_test(tc, frame_record_without_call_before_is_refused);
	tcase_add_loop_test(tc, bad_frame_pointers_are_refused, 0, sizeof(bad_rbp) / sizeof(bad_rbp[0]));
	tcase_add_test(tc, windows_rbp_needs_a_call_seen);
	tcase_add_test(tc, scan_takes_the_first_address_after_a_call);
	tcase_add_loop_test(tc, scan_bound_is_inclusive, 0, 2);
	tcase_add_test(tc, unverified_scan_needs_a_rule_to_go_on);
	tcase_add_test(tc, function_starts_are_no_candidates);
	tcase_add_test(tc, call_through_null_returns_from_the_top_of_the_stack);
	tcase_add_test(tc, signal_frame_is_walked_and_pc_after_it_is_exact);
	tcase_add_test(tc, trampoline_is_known_by_its_code);
	tcase_add_test(tc, signal_on_an_alternate_stack_may_go_down);
	tcase_add_test(tc, signal_frames_in_a_circle_end);
	tcase_add_test(tc, native_signal_rules_are_applied_and_pc_after_them_is_exact);
	tcase_add_test(tc, native_signal_rules_need_their_memory);
	tcase_add_test(tc, native_signal_rules_may_not_lead_back);
	tcase_add_test(tc, missing_memory_stops_although_a_scan_would_find_something);
	tcase_add_test(tc, no_stack_at_all);
	tcase_add_test(tc, frame_limit_is_reported);
	tcase_add_test(tc, no_context_says_why);
	tcase_add_test(tc, failed_register_rule_makes_it_unknown_not_unchanged);
	tcase_add_test(tc, leftover_of_a_call_elsewhere_is_no_caller);
	tcase_add_test(tc, program_does_not_call_itself_through_stubs);
	tcase_add_test(tc, leaf_is_believed_when_the_call_leads_to_its_function);
	tcase_add_loop_test(tc, unverified_record_with_alien_rbp_counts_only_between_modules, 0, 2);
	tcase_add_loop_test(tc, clone_and_start_have_no_caller_although_their_rules_name_one, 0, 3);
	tcase_add_test(tc, crash_in_clone_itself_has_a_caller);
	tcase_add_loop_test(tc, calls_are_told_by_their_bytes, 0, sizeof(calls) / sizeof(calls[0]));
	suite_add_tcase(s, tc);
	return s;
}
