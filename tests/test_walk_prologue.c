#include <check.h>
#include <stdlib.h>

#include "tests/synth_world.h"

Suite *walk_prologue_suite(void);

// Functions without unwind rules in a module at 0x400000; return addresses behind
// `call *%rax`.
#define M UINT64_C(0x400000)
#define S UINT64_C(0x7fff0000)
#define F (M + 0x1000)		// the function, with its name
#define R (M + 0x3000)		// its caller
#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static struct world w;
static const char named[] = "PUBLIC 1000 0 callee\nPUBLIC 2f00 0 caller\n"
			    "STACK CFI INIT 2f00 200 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n";
static const char named_x86[] = "PUBLIC 1000 0 callee\nPUBLIC 2f00 0 caller\n"
				"STACK CFI INIT 2f00 200 .cfa: $esp 4 + .ra: .cfa -4 + ^\n";
static const char nameless[] = "STACK CFI INIT 2f00 200 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n";

static void begin(enum fw_cpu_id cpu, const char *symbols, const uint8_t *code, size_t n)
{
	static const uint8_t call[] = { 0xff, 0xd0 };
	world_init(&w, cpu, FW_OS_LINUX);
	world_module(&w, M, 0x10000, symbols);
	world_bytes(&w, F, code, n);
	world_bytes(&w, R - sizeof(call), call, sizeof(call));
}

static void at(uint64_t pc, uint64_t sp)
{
	world_reg(&w, w.s.cpu->word_size == 8 ? "rip" : "eip", pc);
	world_reg(&w, w.s.cpu->word_size == 8 ? "rsp" : "esp", sp);
}

// push %rbp; mov %rsp,%rbp; push %rbx; sub $24,%rsp; body; leave; ret
#define FRAMED CODE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x8b, 0x00, 0x90, 0xc9, 0xc3)

START_TEST(between_push_and_mov_the_caller_is_not_skipped)
{
	begin(FW_CPU_AMD64, named, FRAMED);
	at(F + 1, S);
	// rbp still is the caller's, whose record leads past it
	world_reg(&w, "rbp", S + 0x20);
	world_stack(&w, S, S + 0x20, R, UINT64_C(0), UINT64_C(0), UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	const struct fw_regs *r = &w.result.regs.data[1];
	ck_assert_uint_eq(r->v[7], S + 16);
	ck_assert(fw_regs_has(r, 6) && r->v[6] == S + 0x20);
	world_deinit(&w);
}
END_TEST

START_TEST(in_the_body_saved_registers_come_back)
{
	begin(FW_CPU_AMD64, named, FRAMED);
	at(F + 9, S);
	world_reg(&w, "rbp", S + 0x20);
	world_reg(&w, "rbx", 7);
	world_reg(&w, "r12", 12);
	world_stack(&w, S, UINT64_C(1), UINT64_C(2), UINT64_C(3), UINT64_C(0xbb), S + 0x60, R,
		    UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
	const struct fw_regs *r = &w.result.regs.data[1];
	ck_assert_uint_eq(r->v[3], 0xbb);
	ck_assert_uint_eq(r->v[6], S + 0x60);
	ck_assert_uint_eq(r->v[12], 12);
	ck_assert_uint_eq(r->v[7], S + 0x30);
	world_deinit(&w);
}
END_TEST

START_TEST(sp_and_frame_pointer_that_disagree_are_not_believed)
{
	begin(FW_CPU_AMD64, named, FRAMED);
	at(F + 9, S);
	world_reg(&w, "rbp", S + 0x28);
	world_stack(&w, S, UINT64_C(1), UINT64_C(2), UINT64_C(3), UINT64_C(0xbb), S + 0x60, R,
		    UINT64_C(0), END);
	world_walk(&w);
	for (size_t i = 1; i < w.result.frames.count; i++)
		ck_assert_int_ne(w.result.frames.data[i].trust, FW_TRUST_PROLOGUE);
	world_deinit(&w);
}
END_TEST

START_TEST(without_a_call_before_it_nothing_is_a_return_address)
{
	begin(FW_CPU_AMD64, named, FRAMED);
	at(F + 1, S);
	world_bytes(&w, R + 0x100, CODE(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90));
	world_stack(&w, S, S + 0x20, R + 0x108, UINT64_C(0), END);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_NO_RULE);
	world_deinit(&w);
}
END_TEST

// test %edi,%edi; jne; mov (%rdi),%eax; ret: the way that needs no frame
START_TEST(a_leaf_without_rules_or_names_by_its_return)
{
	begin(FW_CPU_AMD64, nameless, CODE(0x85, 0xff, 0x75, 0x10, 0x8b, 0x07, 0xc3));
	at(F + 4, S);
	world_reg(&w, "rbp", S + 0x10);
	world_stack(&w, S, R, UINT64_C(0), S + 0x40, R, END);
	world_walk(&w);
	expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
	ck_assert_uint_eq(w.result.regs.data[1].v[6], S + 0x10);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	world_deinit(&w);
}
END_TEST

// add $16,%rsp; pop %rbx; pop %rbp; jmp over an int3; ret
START_TEST(an_epilogue_says_where_everything_is)
{
	begin(FW_CPU_AMD64, nameless,
	      CODE(0x48, 0x83, 0xc4, 0x10, 0x5b, 0x5d, 0xeb, 0x01, 0xcc, 0xc3));
	at(F, S);
	world_stack(&w, S, UINT64_C(1), UINT64_C(2), UINT64_C(0xb0), UINT64_C(0xb1), R,
		    UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
	const struct fw_regs *r = &w.result.regs.data[1];
	ck_assert_uint_eq(r->v[3], 0xb0);
	ck_assert_uint_eq(r->v[6], 0xb1);
	ck_assert_uint_eq(r->v[7], S + 0x28);
	world_deinit(&w);
}
END_TEST

// What runs up to no return that is understood gives no frame.
static const struct { const char *what; const uint8_t *code; size_t n; } unclear[] = {
	{ "a call on the way", CODE(0xe8, 0, 0, 0, 0, 0xc3) },
	{ "a push on the way", CODE(0x53, 0x5b, 0xc3) },
	{ "a pop of what is not there yet", CODE(0x48, 0x83, 0xec, 0x08, 0x5b, 0xc3) },
	{ "a return to what is not there yet", CODE(0x48, 0x83, 0xec, 0x08, 0xc3) },
	{ "a jump through a register", CODE(0xff, 0xe0) },
	{ "a trap", CODE(0x0f, 0x0b) },
	{ "itself", CODE(0xeb, 0xfe) },
	{ "sp from elsewhere", CODE(0x48, 0x89, 0xc4, 0xc3) },
	{ "the end of what is captured", CODE(0x90, 0x90) },
};

START_TEST(unclear_ways_are_not_followed)
{
	begin(FW_CPU_AMD64, nameless, unclear[_i].code, unclear[_i].n);
	at(F, S);
	world_stack(&w, S, R, UINT64_C(0), END);
	world_walk(&w);
	for (size_t i = 1; i < w.result.frames.count; i++)
		ck_assert_msg(w.result.frames.data[i].trust != FW_TRUST_PROLOGUE, "%s",
			      unclear[_i].what);
	world_deinit(&w);
}
END_TEST

START_TEST(a_linkage_stub_returns_to_its_caller)
{
	// endbr64; bnd jmp *0x2f75(%rip)
	begin(FW_CPU_AMD64, nameless, CODE(0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x75, 0x2f, 0, 0));
	at(F, S);
	world_stack(&w, S, R, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	world_deinit(&w);
}
END_TEST

// A static program calls memcpy and the like through stubs of its own, which have no rules.
START_TEST(a_static_program_calls_its_own_stubs)
{
	static const struct { uint8_t call; unsigned pc; bool caller; } cases[] = {
		{ 0xe8, 0, true },
		{ 0xe8, 4, true },	// behind endbr64
		{ 0xe9, 0, false },	// a jump leaves no return address
	};
	const uint32_t offset = (uint32_t)(F - R);
	begin(FW_CPU_AMD64, nameless, CODE(0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x75, 0x2f, 0, 0,
					   0x66, 0x0f, 0x1f, 0x44, 0, 0));
	world_bytes(&w, R - 5, (const uint8_t[]){ cases[_i].call, (uint8_t)offset, (uint8_t)(offset >> 8),
		    (uint8_t)(offset >> 16), (uint8_t)(offset >> 24) }, 5);
	at(F + cases[_i].pc, S);
	world_stack(&w, S, R, UINT64_C(0), END);
	world_walk(&w);
	if (cases[_i].caller)
		expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
	expect_end(&w, cases[_i].caller ? 2 : 1,
		   cases[_i].caller ? FW_STOP_END_OF_STACK : FW_STOP_NO_RULE);
	world_deinit(&w);
}
END_TEST

// ld.so calls a function of its own, which jumps to a library's _fini: sub $8,%rsp; add $8,%rsp; ret
static const struct { const char *symbols; unsigned pc; } tail_calls[] = {
	{ named, 0 },		// where it starts
	{ nameless, 0 },
	{ nameless, 4 },	// by what is left of it
	{ named, 4 },
};

START_TEST(what_was_called_may_have_jumped_here)
{
	begin(FW_CPU_AMD64, tail_calls[_i].symbols, CODE(0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3));
	world_module(&w, M + 0x100000, 0x10000, named);
	const uint64_t back = M + 0x103000;
	world_bytes(&w, back - 5, CODE(0xe8, 0, 1, 0, 0));
	world_bytes(&w, back + 0x100, CODE(0xff, 0xe0, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
					   0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc));
	at(F + tail_calls[_i].pc, S);
	// a caller's caller's frame record must not win
	world_reg(&w, "rbp", S + 0x20);
	world_stack(&w, S, tail_calls[_i].pc ? UINT64_C(7) : back, tail_calls[_i].pc ? back : 0,
		    UINT64_C(0), UINT64_C(0), S + 0x40, R, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, back, FW_TRUST_PROLOGUE);
	world_deinit(&w);
}
END_TEST

// A caller's frame: sub $8,%rsp; call g; (noreturn: the function ends here)
START_TEST(a_call_that_never_returns_ends_its_function)
{
	begin(FW_CPU_AMD64, "PUBLIC 1000 0 callee\nPUBLIC 1009 0 next\nPUBLIC 1100 0 fatal\n"
	      "PUBLIC 2f00 0 caller\n"
	      "STACK CFI INIT 1100 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	      "STACK CFI INIT 2f00 200 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
	      CODE(0x48, 0x83, 0xec, 0x08, 0xe8, 0xf7, 0, 0, 0, 0x55, 0x53, 0xc3));
	at(M + 0x1100, S);
	world_stack(&w, S, F + 9, UINT64_C(1), R, UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, F + 9, FW_TRUST_CFI);
	expect_frame(&w, 2, R, FW_TRUST_PROLOGUE);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
	world_deinit(&w);
}
END_TEST

START_TEST(the_same_at_32_bits)
{
	// push %ebp; mov %esp,%ebp; push %ebx; call +0; pop %ebx; sub $20,%esp; nop
	begin(FW_CPU_X86, named_x86, CODE(0x55, 0x89, 0xe5, 0x53, 0xe8, 0, 0, 0, 0, 0x5b,
					  0x83, 0xec, 0x14, 0x90, 0xc3));
	const uint64_t stack = 0x70000000;
	const bool early = _i == 0;
	at(early ? F + 1 : F + 13, stack);
	world_reg(&w, "ebp", early ? stack + 0x40 : stack + 24);
	world_reg(&w, "ebx", 7);
	if (early)
		world_stack(&w, stack, stack + 0x40, R, UINT64_C(0), UINT64_C(0), END);
	else
		world_stack(&w, stack, UINT64_C(1), UINT64_C(2), UINT64_C(3), UINT64_C(4), UINT64_C(5),
			    UINT64_C(0xbb), stack + 0x40, R, UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
	const struct fw_regs *r = &w.result.regs.data[1];
	ck_assert_uint_eq(r->v[4], early ? stack + 8 : stack + 32);
	ck_assert_uint_eq(r->v[5], stack + 0x40);
	ck_assert_uint_eq(r->v[3], early ? 7 : 0xbb);
	world_deinit(&w);
}
END_TEST

// The end of i386 glibc's memcpy, whose rules do not know of the push before it:
// rep movsl; mov %eax,%ecx; rep movsb; pop %eax; mov %eax,%edi; mov %edx,%esi; ret
START_TEST(code_mends_a_rule_that_leads_nowhere)
{
	const struct { const char *stop; uint64_t pushed, ret; size_t frames; } cases[] = {
		{ "return address is 0x0", 2, R, 2 },
		{ "return address is 0x0", 0x70000100, R, 2 },
		{ "return address is 0x2", 2, R + 1, 1 },	// no call before that one
		{ "return address 0x70000100 is not in executable memory", 0x70000100, R + 1, 1 },
	};
	begin(FW_CPU_X86, "PUBLIC 2f00 0 caller\n"
	      "STACK CFI INIT 1000 20 .cfa: $esp 4 + .ra: .cfa -4 + ^\n"
	      "STACK CFI INIT 2f00 200 .cfa: $esp 4 + .ra: .cfa -4 + ^\n",
	      CODE(0xf3, 0xa5, 0x89, 0xc1, 0xf3, 0xa4, 0x58, 0x89, 0xc7, 0x89, 0xd6, 0xc3));
	const uint64_t stack = 0x70000000;
	at(F + 2, stack);
	world_reg(&w, "edi", 7);
	world_reg(&w, "ebx", 8);
	world_region(&w, M, M + 0x10000, FW_PERM_READ | FW_PERM_EXEC);
	world_region(&w, stack, stack + 0x1000, FW_PERM_READ);
	world_stack(&w, stack, cases[_i].pushed, cases[_i].ret, UINT64_C(0), UINT64_C(0), END);
	world_walk(&w);
	if (cases[_i].frames == 2) {
		expect_frame(&w, 1, R, FW_TRUST_PROLOGUE);
		const struct fw_regs *r = &w.result.regs.data[1];
		ck_assert_uint_eq(r->v[4], stack + 8);
		ck_assert(!fw_regs_has(r, 7));		// edi was moved from what is not followed
		ck_assert(fw_regs_has(r, 3) && r->v[3] == 8);
	}
	ck_assert_uint_eq(w.result.frames.count, cases[_i].frames);
	ck_assert_str_eq(w.result.stop_detail, cases[_i].stop);
	world_deinit(&w);
}
END_TEST

Suite *walk_prologue_suite(void)
{
	Suite *suite = suite_create("walk_prologue");
	TCase *tc = tcase_create("walk_prologue");
	tcase_add_test(tc, between_push_and_mov_the_caller_is_not_skipped);
	tcase_add_test(tc, in_the_body_saved_registers_come_back);
	tcase_add_test(tc, sp_and_frame_pointer_that_disagree_are_not_believed);
	tcase_add_test(tc, without_a_call_before_it_nothing_is_a_return_address);
	tcase_add_test(tc, a_leaf_without_rules_or_names_by_its_return);
	tcase_add_test(tc, an_epilogue_says_where_everything_is);
	tcase_add_loop_test(tc, unclear_ways_are_not_followed, 0,
			    sizeof(unclear) / sizeof(*unclear));
	tcase_add_test(tc, a_linkage_stub_returns_to_its_caller);
	tcase_add_loop_test(tc, a_static_program_calls_its_own_stubs, 0, 3);
	tcase_add_loop_test(tc, what_was_called_may_have_jumped_here, 0,
			    sizeof(tail_calls) / sizeof(*tail_calls));
	tcase_add_test(tc, a_call_that_never_returns_ends_its_function);
	tcase_add_loop_test(tc, the_same_at_32_bits, 0, 2);
	tcase_add_loop_test(tc, code_mends_a_rule_that_leads_nowhere, 0, 4);
	suite_add_tcase(suite, tc);
	return suite;
}
