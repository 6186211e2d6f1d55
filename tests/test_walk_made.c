#include <check.h>
#include <stdlib.h>

#include "tests/synth_world.h"

/*
 * Samples in code that was made at run time (JIT): executable memory of no module, and
 * stacks that are changed under way. Laid out by hand after the psABI.
 */
#define M UINT64_C(0x400000)		// the module
#define J UINT64_C(0x7f0000000000)	// made code
#define H UINT64_C(0x600000)		// heap, not executable
#define S UINT64_C(0x7fff00000000)	// the stack

static struct world w;
static struct fw_walker *walker;
static uint64_t words[64];

static const struct fw_image *image_of(void *context, uint32_t module)
{
	return ((struct world *)context)->images[module];
}

static const char cfi[] =
	"STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	"STACK CFI INIT 1100 100 .cfa: $rbp 16 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^\n"
	"STACK CFI INIT 1400 100 .cfa: $rsp 8 + .ra: .undef\n"
	"STACK CFI INIT 1600 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n";

// what a JIT tells of its code; by the tests that have it
static uint8_t code[64];
static struct fw_rule made_row[3];
static unsigned made_rules_asked;

static bool made(void *context, uint64_t address, uint64_t *ret_start, struct fw_str *ret_name)
{
	*ret_start = J;
	*ret_name = FW_STR("start");	// no entry point, whatever it is called
	return address - J < sizeof(code);
}

static bool made_code(void *context, uint64_t address, uint8_t *out, uint64_t n)
{
	if (address - J > sizeof(code) || n > sizeof(code) - (address - J))
		return false;
	memcpy(out, code + (address - J), n);
	return true;
}

static const struct fw_rule *made_rules(void *context, uint64_t address, uint32_t *ret_count,
					struct fw_programs *programs)
{
	made_rules_asked++;
	*programs = (struct fw_programs){ 0 };
	*ret_count = 3;
	return address - J < sizeof(code) ? made_row : NULL;
}

static void make_walker(const struct fw_walk_source *source)
{
	struct fw_walk_options options = { .max_frames = 1000 };
	struct fw_error err;
	ck_assert_int_eq(fw_walker_create(&w.s, source, &options, &walker, &err), FW_OK);
}

static void setup(void)
{
	const unsigned data = FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_WRITE;
	world_init(&w, FW_CPU_AMD64, FW_OS_LINUX);
	memset(words, 0, sizeof(words));
	memset(code, 0x90, sizeof(code));
	made_rules_asked = 0;
	world_module(&w, M, 0x10000, cfi);
	world_region(&w, M, M + 0x10000, FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_EXEC);
	world_region(&w, H, H + 0x10000, data);
	world_region(&w, J, J + 0x10000, data | FW_PERM_EXEC);
	world_region(&w, S, S + 0x10000, data);
	w.s.regions_complete = true;
}

static void teardown(void)
{
	fw_walker_destroy(walker);
	walker = NULL;
	world_deinit(&w);
}

static void walk(uint64_t pc, uint64_t rbp)
{
	const struct fw_walk_source source = { .context = &w, .image = image_of };
	world_reg(&w, "rip", pc);
	world_reg(&w, "rsp", S);
	world_reg(&w, "rbp", rbp);
	if (walker == NULL)
		make_walker(&source);
	ck_assert_int_eq(fw_walk_stack(walker, &w.thread.regs, S, (const uint8_t *)words,
				       sizeof(words), &w.result), FW_OK);
}

/** Two frames of made code, called by a function with rules. */
static void lay_chain(void)
{
	words[2] = S + 0x40;		// record of the innermost
	words[3] = J + 0x500;
	words[8] = S + 0x80;		// of its caller
	words[9] = M + 0x1050;
	words[10] = M + 0x1450;
}

START_TEST(frame_records_lead_through_made_code)
{
	lay_chain();
	walk(J + 0x2000, S + 0x10);
	expect_frame(&w, 0, J + 0x2000, FW_TRUST_CONTEXT);
	expect_frame(&w, 1, J + 0x500, FW_TRUST_FRAME_POINTER);
	expect_frame(&w, 2, M + 0x1050, FW_TRUST_FRAME_POINTER);
	expect_frame(&w, 3, M + 0x1450, FW_TRUST_CFI);
	expect_end(&w, 4, FW_STOP_END_OF_STACK);
}
END_TEST

// A function with rules has called back into made code.
START_TEST(rules_and_frame_records_take_turns)
{
	words[0] = J + 0x500;		// returns from 0x1050
	words[8] = S + 0x80;
	words[9] = M + 0x1150;
	words[16] = 0;
	words[17] = M + 0x1450;
	walk(M + 0x1050, S + 0x40);
	expect_frame(&w, 1, J + 0x500, FW_TRUST_CFI);
	expect_frame(&w, 2, M + 0x1150, FW_TRUST_FRAME_POINTER);
	expect_frame(&w, 3, M + 0x1450, FW_TRUST_CFI);
	expect_end(&w, 4, FW_STOP_END_OF_STACK);
}
END_TEST

// A record of made code must lead up the stack, and to code.
static const struct { uint64_t saved, address; } bad_records[] = {
	{ S + 0x10, J + 0x500 },	// itself
	{ S + 0x08, J + 0x500 },	// below
	{ S + 0x18, J + 0x500 },	// overlapping
	{ S + 0x44, J + 0x500 },	// not aligned
	{ H, J + 0x500 },		// no stack
	{ S + 0x40, H + 0x500 },	// no code
	{ S + 0x40, S + 0x40 },
	{ S + 0x40, 0x12345678 },
};

START_TEST(bad_frame_record_ends_the_walk)
{
	words[2] = bad_records[_i].saved;
	words[3] = bad_records[_i].address;
	walk(J + 0x2000, S + 0x10);
	expect_end(&w, 1, FW_STOP_NO_RULE);
	ck_assert_str_eq(w.result.stop_detail,
			 "no unwind rule, no frame record, and the code is not to be had");
}
END_TEST

START_TEST(words_that_look_like_made_code_are_no_frames)
{
	for (unsigned i = 0; i < 64; i++)
		words[i] = J + 0x100 * i;
	walk(J + 0x2000, 0);
	expect_end(&w, 1, FW_STOP_NO_RULE);
	ck_assert_uint_eq(w.result.num_candidates, 0);
}
END_TEST

// The same stack in a crash: nothing says that what lies in no module is code.
START_TEST(a_crash_there_is_no_sample)
{
	world_stack(&w, S, 0, 0, S + 0x40, J + 0x500, 0, 0, 0, 0, S + 0x80, J + 0x600, END);
	world_reg(&w, "rip", J + 0x2000);
	world_reg(&w, "rsp", S);
	world_reg(&w, "rbp", S + 0x10);
	world_walk(&w);
	expect_end(&w, 1, FW_STOP_NO_RULE);
}
END_TEST

static void know_code(bool rules)
{
	const struct fw_walk_source source = { .context = &w, .image = image_of, .made = made,
		.made_code = made_code, .made_rules = rules ? made_rules : NULL };
	make_walker(&source);
}

// push rbp; mov rbp,rsp: at the second instruction the caller's rbp is still there.
START_TEST(prologue_of_known_code_is_read)
{
	static const uint8_t prologue[] = { 0x55, 0x48, 0x89, 0xe5, 0x90, 0xe8, 0, 0, 0, 0 };
	memcpy(code, prologue, sizeof(prologue));
	know_code(false);
	words[0] = S + 0x40;
	words[1] = J + 10;		// behind the call
	words[8] = S + 0x80;
	words[9] = M + 0x1450;
	walk(J + 1, S + 0x40);
	expect_frame(&w, 1, J + 10, FW_TRUST_PROLOGUE);
	expect_frame(&w, 2, M + 0x1450, FW_TRUST_FRAME_POINTER);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
}
END_TEST

START_TEST(return_address_without_a_call_is_refused)
{
	know_code(false);
	words[2] = S + 0x40;
	words[3] = J + 0x20;		// nop before it
	walk(J + 0x2000, S + 0x10);
	expect_end(&w, 1, FW_STOP_NO_RULE);
}
END_TEST

START_TEST(rules_of_made_code_come_first)
{
	const uint8_t rsp = 7, rip = 16, rbp = 6;
	made_row[0] = (struct fw_rule){ .kind = FW_RULE_REG, .reg = rsp, .arg = 24 };
	made_row[1] = (struct fw_rule){ .kind = FW_RULE_LOAD_CFA, .target = rip, .arg = -8 };
	made_row[2] = (struct fw_rule){ .kind = FW_RULE_LOAD_CFA, .target = rbp, .arg = -16 };
	know_code(true);
	lay_chain();
	words[1] = S + 0x80;
	words[2] = M + 0x1150;		// not what rbp says
	words[17] = M + 0x1450;
	walk(J + 0x20, S + 0x10);
	expect_frame(&w, 1, M + 0x1150, FW_TRUST_CFI);
	expect_frame(&w, 2, M + 0x1450, FW_TRUST_CFI);
	expect_end(&w, 3, FW_STOP_END_OF_STACK);
	ck_assert_uint_eq(made_rules_asked, 1);
}
END_TEST

// makecontext and the like: the frame's record is on a stack that nobody copied
static const struct { uint64_t rbp; enum fw_stop stop; const char *detail; } others[] = {
	{ 0x10000000, FW_STOP_MEMORY_MISSING,
	  "the frame ends at 0x10000010, on a stack that was not copied" },
	{ UINT64_C(0x7ffe00000000), FW_STOP_MEMORY_MISSING,
	  "the frame ends at 0x7ffe00000010, on a stack that was not copied" },
	{ UINT64_C(0x7fff40000000), FW_STOP_MEMORY_MISSING,
	  "the frame ends at 0x7fff40000010, on a stack that was not copied" },
	{ S + 0x1000, FW_STOP_TRUNCATED_STACK, "truncated at 512 bytes" },
};

START_TEST(another_stack_ends_the_walk)
{
	walk(M + 0x1150, others[_i].rbp);
	expect_end(&w, 1, others[_i].stop);
	ck_assert_str_eq(w.result.stop_detail, others[_i].detail);
}
END_TEST

// makecontext: what runs on the new stack returns to the first byte of __start_context, before
// which there is padding. What else lies on that stack has called nobody.
START_TEST(a_new_stack_begins_with_a_return_address_that_was_put_there)
{
	static const uint8_t call[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 };
	static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 };
	world_bytes(&w, M + 0x1048, call, sizeof(call));
	world_bytes(&w, M + 0x15f8, nops, sizeof(nops));
	words[0] = M + 0x1600;
	words[1] = M + 0x1050;
	words[2] = M + 0x1450;
	walk(M + 0x1010, 0);
	expect_frame(&w, 1, M + 0x1600, FW_TRUST_CFI);
	expect_end(&w, 2, FW_STOP_END_OF_STACK);
	ck_assert_str_eq(w.result.stop_detail,
			 "no caller: a function's start was put there to return to");
}
END_TEST

// A call is before it: a function that never returns was called by the one before.
START_TEST(a_call_before_a_function_has_left_its_start)
{
	static const uint8_t call[] = { 0x90, 0x90, 0x90, 0xe8, 0, 0, 0, 0 };
	static const uint8_t indirect[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 };
	world_bytes(&w, M + 0x1048, indirect, sizeof(indirect));
	world_bytes(&w, M + 0x15f8, call, sizeof(call));
	words[0] = M + 0x1600;
	words[1] = M + 0x1050;
	words[2] = M + 0x1450;
	walk(M + 0x1010, 0);
	expect_frame(&w, 1, M + 0x1600, FW_TRUST_CFI);
	expect_frame(&w, 2, M + 0x1050, FW_TRUST_SCAN);
	expect_frame(&w, 3, M + 0x1450, FW_TRUST_CFI);
	expect_end(&w, 4, FW_STOP_END_OF_STACK);
}
END_TEST

Suite *walk_made_suite(void);
Suite *walk_made_suite(void)
{
	Suite *s = suite_create("walk_made");
	TCase *tc = tcase_create("made code");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, frame_records_lead_through_made_code);
	tcase_add_test(tc, rules_and_frame_records_take_turns);
	tcase_add_loop_test(tc, bad_frame_record_ends_the_walk, 0,
			    sizeof(bad_records) / sizeof(bad_records[0]));
	tcase_add_test(tc, words_that_look_like_made_code_are_no_frames);
	tcase_add_test(tc, a_crash_there_is_no_sample);
	tcase_add_test(tc, prologue_of_known_code_is_read);
	tcase_add_test(tc, return_address_without_a_call_is_refused);
	tcase_add_test(tc, rules_of_made_code_come_first);
	tcase_add_loop_test(tc, another_stack_ends_the_walk, 0,
			    sizeof(others) / sizeof(others[0]));
	tcase_add_test(tc, a_new_stack_begins_with_a_return_address_that_was_put_there);
	tcase_add_test(tc, a_call_before_a_function_has_left_its_start);
	suite_add_tcase(s, tc);
	return s;
}
