#include <check.h>
#include <stdlib.h>

#include "tests/synth_world.h"

/*
 * Samples of a profiler: registers and a copied stack. The stacks are laid out by
 * hand after the psABI; the module is that of tests/test_walk_amd64.c.
 */
#define M UINT64_C(0x400000)
#define S UINT64_C(0x7fff0000)

static struct world w;
static struct fw_walker *walker;
static uint64_t words[64];

static const struct fw_image *image_of(void *context, uint32_t module)
{
	return ((struct world *)context)->images[module];
}

static void make_walker(bool keep_registers)
{
	struct fw_walk_source source = { .context = &w, .image = image_of };
	struct fw_walk_options options = { .max_frames = 1000, .keep_registers = keep_registers };
	struct fw_error err;
	ck_assert_int_eq(fw_walker_create(&w.s, &source, &options, &walker, &err), FW_OK);
}

static void setup(void)
{
	world_init(&w, FW_CPU_AMD64, FW_OS_LINUX);
	memset(words, 0, sizeof(words));
}

static void teardown(void)
{
	fw_walker_destroy(walker);
	walker = NULL;
	world_deinit(&w);
}

static const char cfi[] =
	"STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	"STACK CFI 1001 .cfa: $rsp 16 + $rbx: .cfa -16 + ^\n"
	"STACK CFI 1080 .cfa: $rsp 8 +\n"	// rbx is popped, its rule stays
	"STACK CFI INIT 1100 100 .cfa: $rsp 16 + .ra: .cfa -8 + ^\n"
	"STACK CFI INIT 1200 100 .cfa: $rbp 16 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^\n"
	"STACK CFI INIT 1300 100 .cfa: $rbx 16 + .ra: .cfa -8 + ^\n"
	"STACK CFI INIT 1400 100 .cfa: $rsp 8 + .ra: .undef\n"
	"STACK CFI INIT 1500 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^\n";

/** Walk with @p n words of stack from @p sp on. */
static void walk_words(uint64_t sp, size_t n)
{
	ck_assert_int_eq(fw_walk_stack(walker, &w.thread.regs, sp, (const uint8_t *)words,
				       n * sizeof(words[0]), &w.result), FW_OK);
}

static void start(uint64_t pc, uint64_t sp)
{
	world_module(&w, M, 0x10000, cfi);
	world_reg(&w, "rip", pc);
	world_reg(&w, "rsp", sp);
	make_walker(true);
}

START_TEST(stack_is_walked_to_its_end)
{
	start(M + 0x1050, S);
	world_reg(&w, "rbx", 1);
	words[0] = 0x77;
	words[1] = M + 0x1150;
	words[3] = M + 0x1450;
	walk_words(S, 8);
	expect_frame(&w, 0, M + 0x1050, FW_TRUST_CONTEXT);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	expect_frame(&w, 2, M + 0x1450, FW_TRUST_CFI);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
	ck_assert_uint_eq(w.result.regs.data[1].v[3], 0x77);
	ck_assert_uint_eq(w.result.frames.data[1].sp, S + 16);
	ck_assert_uint_eq(w.result.frames.data[1].lookup, M + 0x114f);
}
END_TEST

// the copy ends before the return address: in the middle of it, before it, with the
// frame in front of it, and with nothing copied at all
static const struct { uint64_t bytes; size_t frames; const char *detail; } cuts[] = {
	{ 31, 2, "truncated at 31 bytes" },
	{ 24, 2, "truncated at 24 bytes" },
	{ 16, 2, "truncated at 16 bytes" },
	{ 15, 1, "truncated at 15 bytes" },
	{ 8, 1, "truncated at 8 bytes" },
	{ 0, 1, "truncated at 0 bytes" },
};

START_TEST(cut_stack_is_truncated)
{
	start(M + 0x1050, S);
	words[1] = M + 0x1150;
	words[3] = M + 0x1450;
	ck_assert_int_eq(fw_walk_stack(walker, &w.thread.regs, S, (const uint8_t *)words,
				       cuts[_i].bytes, &w.result), FW_OK);
	expect_end(&w, cuts[_i].frames, FW_STOP_TRUNCATED_STACK);
	ck_assert_str_eq(w.result.stop_detail, cuts[_i].detail);
}
END_TEST

START_TEST(last_word_of_the_copy_is_read)
{
	start(M + 0x1050, S);
	words[1] = M + 0x1150;
	words[3] = M + 0x1450;
	walk_words(S, 4);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(code_without_a_rule_at_the_end_of_the_copy_is_truncated)
{
	start(M + 0x1050, S);
	words[1] = M + 0x2000;
	walk_words(S, 2);
	expect_end(&w, 2, FW_STOP_TRUNCATED_STACK);
	ck_assert_str_eq(w.result.stop_detail, "truncated at 16 bytes");
}
END_TEST

// code without rules that keeps frame records: they are followed to the copy's end
static const struct {
	uint64_t rbp;
	enum fw_stop stop;
	const char *detail;
} records[] = {
	{ S + 16, FW_STOP_TRUNCATED_STACK, "truncated at 64 bytes" },	// one, then above
	{ S + 56, FW_STOP_TRUNCATED_STACK, "truncated at 64 bytes" },	// half a record
	{ S + 64, FW_STOP_TRUNCATED_STACK, "truncated at 64 bytes" },
	{ S + 0x100000, FW_STOP_TRUNCATED_STACK, "truncated at 64 bytes" },
	{ S + 0x1000000, FW_STOP_NO_RULE, NULL },		// no part of this stack
	{ S + 65, FW_STOP_NO_RULE, NULL },			// no frame pointer
};

START_TEST(frame_record_above_the_copy_is_truncation)
{
	bool one = _i == 0;
	start(M + 0x2000, S);
	world_reg(&w, "rbp", records[_i].rbp);
	words[2] = S + 0x1000;
	words[3] = M + 0x3000;
	walk_words(S, 8);
	expect_end(&w, 1 + one, records[_i].stop);
	if (records[_i].detail)
		ck_assert_str_eq(w.result.stop_detail, records[_i].detail);
}
END_TEST

START_TEST(stack_pointer_outside_the_copy)
{
	start(M + 0x1050, S - 0x10000);
	walk_words(S, 8);
	expect_end(&w, 1, FW_STOP_MEMORY_MISSING);
	ck_assert_str_eq(w.result.stop_detail, "no memory at stack pointer 0x7ffe0000");
}
END_TEST

START_TEST(memory_of_the_snapshot_is_not_the_sample_s)
{
	start(M + 0x1050, S);
	world_stack(&w, S, UINT64_C(0), M + 0x1150, UINT64_C(0), M + 0x1450, END);
	words[1] = M + 0x1150;
	walk_words(S, 2);
	expect_end(&w, 2, FW_STOP_TRUNCATED_STACK);
	// and a thread of the snapshot does not see the sample
	ck_assert_int_eq(fw_walk_thread(walker, 0, &w.result), FW_OK);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(register_saved_below_sp_is_kept_in_the_innermost_frame)
{
	start(M + 0x1090, S);
	world_reg(&w, "rbx", 5);
	words[0] = M + 0x1450;
	walk_words(S, 1);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	ck_assert(fw_regs_has(&w.result.regs.data[1], 3));
	ck_assert_uint_eq(w.result.regs.data[1].v[3], 5);
}
END_TEST

START_TEST(bytes_below_sp_are_stale)
{
	// the copy begins one word below sp: what lies there is not the register
	start(M + 0x1090, S + 8);
	world_reg(&w, "rbx", 5);
	words[0] = 0xbad;
	words[1] = M + 0x1450;
	walk_words(S, 2);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	ck_assert_uint_eq(w.result.regs.data[1].v[3], 5);
	ck_assert_str_ne(w.result.stop_detail, "");
}
END_TEST

START_TEST(register_saved_below_sp_is_unknown_in_a_caller)
{
	start(M + 0x1150, S);
	world_reg(&w, "rbx", 5);
	words[1] = M + 0x1550;		// its rule puts rbx below its own frame
	words[2] = M + 0x1450;
	walk_words(S, 3);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
	ck_assert(fw_regs_has(&w.result.regs.data[1], 3));
	ck_assert(fw_regs_has(&w.result.regs.data[2], 3));
	// in the copy: as the rule says
	ck_assert_uint_eq(w.result.regs.data[2].v[3], M + 0x1550);
}
END_TEST

START_TEST(missing_program_counter)
{
	world_module(&w, M, 0x10000, cfi);
	world_reg(&w, "rsp", S);
	make_walker(true);
	walk_words(S, 4);
	expect_end(&w, 0, FW_STOP_NO_RULE);
	ck_assert_str_eq(w.result.stop_detail, "no registers: the program counter is missing");
}
END_TEST

// A program's file is gone: what it called lately is above its stack pointer as well as what
// called it. One with its code at hand is looked through.
START_TEST(what_has_no_code_is_not_scanned)
{
	static const uint8_t call[] = { 0xff, 0xd0 }, plain[] = { 0x48, 0x89, 0xc4 };
	const bool code = _i == 1;
	start(M + 0x2000, S);
	world_bytes(&w, M + 0x1050 - sizeof(call), call, sizeof(call));
	if (code)
		world_bytes(&w, M + 0x2000, plain, sizeof(plain));
	words[1] = M + 0x1050;		// called, and has returned
	words[3] = M + 0x3000;		// the caller
	words[4] = M + 0x1450;
	walk_words(S, 8);
	if (code) {
		expect_frame(&w, 1, M + 0x1050, FW_TRUST_SCAN);
		return;
	}
	expect_end(&w, 1, FW_STOP_NO_RULE);
	ck_assert_str_eq(w.result.stop_detail,
			 "no unwind rule, no frame record, and the code is not to be had");
}
END_TEST

START_TEST(missing_stack_pointer)
{
	world_module(&w, M, 0x10000, cfi);
	world_reg(&w, "rip", M + 0x1050);
	make_walker(true);
	walk_words(S, 4);
	expect_end(&w, 1, FW_STOP_NO_RULE);
	ck_assert_str_eq(w.result.stop_detail, "the stack pointer is unknown");
}
END_TEST

START_TEST(copy_that_would_leave_the_address_space)
{
	start(M + 0x1150, -UINT64_C(32));
	words[1] = M + 0x1450;
	walk_words(-UINT64_C(32), 8);
	expect_frame(&w, 1, M + 0x1450, FW_TRUST_CFI);
	ck_assert_uint_eq(w.result.frames.data[1].sp, -UINT64_C(16));
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(other_byte_order)
{
	start(M + 0x1050, S);
	w.s.big_endian = true;
	words[0] = __builtin_bswap64(0x77);
	words[1] = __builtin_bswap64(M + 0x1150);
	words[3] = __builtin_bswap64(M + 0x1450);
	walk_words(S, 4);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
	ck_assert_uint_eq(w.result.regs.data[1].v[3], 0x77);
}
END_TEST

START_TEST(one_walker_many_samples)
{
	start(M + 0x1050, S);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t sp = S + i * 0x1000;
		world_reg(&w, "rsp", sp);
		words[1] = M + 0x1150;
		words[3] = i % 2 ? M + 0x1450 : 0;
		walk_words(sp, 4);
		expect_end(&w, 2 + i % 2, FW_STOP_END_OF_STACK);
		ck_assert_uint_eq(w.result.frames.data[1].sp, sp + 16);
	}
}
END_TEST

START_TEST(reset_to_another_process)
{
	struct world other;
	struct fw_error err;
	start(M + 0x1050, S);
	words[1] = M + 0x1150;
	words[3] = M + 0x1450;
	walk_words(S, 4);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
	// more modules, and another one at the old one's place
	world_init(&other, FW_CPU_AMD64, FW_OS_LINUX);
	world_module(&other, M, 0x10000,
		     "STACK CFI INIT 1000 100 .cfa: $rsp 24 + .ra: .cfa -8 + ^\n");
	world_module(&other, M + 0x10000, 0x10000, cfi);
	struct world first = w;
	for (unsigned i = 0; i < 2; i++)
		w.images[i] = other.images[i];
	ck_assert_int_eq(fw_walker_reset(walker, &other.s, &err), FW_OK);
	words[2] = M + 0x11450;
	walk_words(S, 4);
	expect_frame(&w, 1, M + 0x11450, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	w.images[0] = first.images[0];
	w.images[1] = NULL;
	ck_assert_int_eq(fw_walker_reset(walker, &w.s, &err), FW_OK);
	walk_words(S, 4);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
	world_deinit(&other);
}
END_TEST

Suite *walk_stack_suite(void);
Suite *walk_stack_suite(void)
{
	Suite *s = suite_create("walk_stack");
	TCase *tc = tcase_create("samples");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, stack_is_walked_to_its_end);
	tcase_add_loop_test(tc, cut_stack_is_truncated, 0, sizeof(cuts) / sizeof(cuts[0]));
	tcase_add_test(tc, last_word_of_the_copy_is_read);
	tcase_add_test(tc, code_without_a_rule_at_the_end_of_the_copy_is_truncated);
	tcase_add_loop_test(tc, frame_record_above_the_copy_is_truncation, 0,
			    sizeof(records) / sizeof(records[0]));
	tcase_add_test(tc, stack_pointer_outside_the_copy);
	tcase_add_test(tc, memory_of_the_snapshot_is_not_the_sample_s);
	tcase_add_test(tc, register_saved_below_sp_is_kept_in_the_innermost_frame);
	tcase_add_test(tc, bytes_below_sp_are_stale);
	tcase_add_test(tc, register_saved_below_sp_is_unknown_in_a_caller);
	tcase_add_test(tc, missing_program_counter);
	tcase_add_loop_test(tc, what_has_no_code_is_not_scanned, 0, 2);
	tcase_add_test(tc, missing_stack_pointer);
	tcase_add_test(tc, copy_that_would_leave_the_address_space);
	tcase_add_test(tc, other_byte_order);
	tcase_add_test(tc, one_walker_many_samples);
	tcase_add_test(tc, reset_to_another_process);
	suite_add_tcase(s, tc);
	return s;
}
