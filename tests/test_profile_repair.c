// Outer frames for samples whose copy of the stack was too short: walks made by hand. What a
// thread did is told beside each; which frames are right follows from that.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/limits.h"
#include "lib/report/profile_repair.h"

Suite *profile_repair_suite(void);

static struct fw_recording recording;
static struct fw_snapshot snapshot;
static struct fw_repair *repair;
static struct fw_walk_result walk;
static struct fw_repair_sample sample;
static uint32_t added;
static bool complete;
static enum fw_repair_record records[16];	// of the function at 0x1000 * i

static enum fw_repair_record record_of(void *context, const struct fw_frame *f)
{
	(void)context;
	return records[f->pc >> 12 & 15];
}

static void setup(void)
{
	memset(&recording, 0, sizeof(recording));
	memset(&walk, 0, sizeof(walk));
	snapshot = (struct fw_snapshot){ .cpu = fw_cpu_get(FW_CPU_AMD64) };
	sample = (struct fw_repair_sample){ .pid = 1, .tid = 1, .space = &snapshot,
					    .snapshot = &snapshot, .record = record_of };
	for (unsigned i = 0; i < 16; i++)
		records[i] = FW_RECORD_KEPT;
	ck_assert_int_eq(fw_repair_create(&recording, &repair), FW_OK);
}

static void teardown(void)
{
	fw_repair_destroy(repair);
	fw_walk_result_deinit(&walk);
	fw_vec_deinit(&recording.gap_times);
}

/**
 * A sample a nanosecond after the last one. Frames innermost first, one a character: '0' to
 * 'f' is the function, pc 0x1001 * that; the innermost one's sp is @p sp, each next is 16
 * further up.
 */
static enum fw_code take(const char *frames, uint64_t sp, enum fw_stop stop)
{
	walk.frames.count = 0;
	walk.stop = stop;
	for (; *frames; frames++, sp += 16) {
		const uint64_t pc = 0x1001 * strtoul((char[]){ *frames, 0 }, NULL, 16);
		struct fw_frame f = { .pc = pc, .lookup = pc - (walk.frames.count != 0), .sp = sp,
				      .module = FW_NO_MODULE, .trust = FW_TRUST_CFI };
		ck_assert(fw_vec_push(&walk.frames, f));
	}
	sample.time++;
	return fw_repair_walk(repair, &sample, &walk, &added, &complete);
}

static void whole(const char *frames, uint64_t sp)
{
	ck_assert_int_eq(take(frames, sp, FW_STOP_END_OF_STACK), FW_OK);
	ck_assert_uint_eq(added, 0);
	ck_assert_uint_eq(walk.frames.count, strlen(frames));
}

/** A sample that was cut off gets @p more. */
static void check_cut(const char *frames, uint64_t sp, const char *more, bool to_the_end)
{
	const size_t n = strlen(frames);
	ck_assert_int_eq(take(frames, sp, FW_STOP_TRUNCATED_STACK), FW_OK);
	ck_assert_uint_eq(added, strlen(more));
	ck_assert_uint_eq(walk.frames.count, n + strlen(more));
	ck_assert_int_eq(complete, to_the_end);
	for (size_t i = 0; i < walk.frames.count; i++) {
		const struct fw_frame *f = &walk.frames.data[i];
		ck_assert_int_eq(f->trust, i < n ? FW_TRUST_CFI : FW_TRUST_REPAIRED);
		if (i >= n)
			ck_assert_uint_eq(f->pc,
				0x1001 * strtoul((char[]){ more[i - n], 0 }, NULL, 16));
	}
}

// main 1 calls 2, which calls 3, and so on to 9; now 8 calls a.
START_TEST(older_sample_reaches_further)
{
	whole("987654321", 0x1070);
	check_cut("a87654", 0x1070, "321", true);
	check_cut("a8765", 0x1070, "4321", true);
	check_cut("ba8765", 0x1060, "4321", true);
	check_cut("ba87654321", 0x1060, "", false);
}
END_TEST

// What was completed from an older one serves the next.
START_TEST(older_samples_may_be_cut_themselves)
{
	check_cut("9876543", 0x1070, "", false);
	check_cut("ba8765", 0x1060, "43", false);
	check_cut("cba876", 0x1050, "543", false);
}
END_TEST

START_TEST(other_calls_are_not_the_older_ones)
{
	whole("987654321", 0x1070);
	check_cut("a8b65", 0x1070, "", false);	// too few below it are the same
	whole("987654321", 0x1070);
	check_cut("a8765", 0x1080, "", false);	// other stack pointers
	whole("987654321", 0x1070);
	check_cut("a876b", 0x1070, "", false);	// another function called 6
	whole("987654321", 0x1070);
	check_cut("765", 0x1090, "", false);	// the same, but only the two
	whole("987654321", 0x1070);
	check_cut("9876", 0x1070, "", false);	// where they stood is no return address
}
END_TEST

// The same functions at the same place on behalf of another: nothing tells them apart.
START_TEST(callers_that_change_are_not_believed)
{
	whole("987654321", 0x1070);
	whole("987654a21", 0x1070);
	check_cut("a87654", 0x1070, "", false);
	whole("987654321", 0x1070);
	check_cut("a87654", 0x1070, "", false);
	check_cut("a8765", 0x1070, "4", false);	// as far as it is sure
}
END_TEST

// Below each return address stand the registers that the callee saved: other values, another call.
START_TEST(other_calls_of_the_same_functions_saved_other_registers)
{
	uint8_t stack[0x90] = { 0 };	// up to 0x1100
	sample.stack = stack;
	sample.stack_start = 0x1070;
	sample.stack_size = sizeof(stack);
	for (unsigned at = 0; at < 0x48; at++) {
		memset(stack, 0x11, sizeof(stack));
		sample.stack_size = sizeof(stack);
		whole("987654321", 0x1070);
		memset(stack, 0x11, sizeof(stack));
		stack[at] ^= 0x80;
		sample.stack_size = 0x50;	// all of 6's frame but not what 5 returns to
		// 8 at 0x1080 to 5 at 0x10b0; the words of 8 lie from 0x1068 on, in part not copied
		const bool same = at < 8 || at >= 0x38;
		check_cut("a8765", 0x1070, same ? "4321" : "", same);
	}
	memset(stack, 0x11, sizeof(stack));
	sample.stack_size = sizeof(stack);
	whole("987654321", 0x1070);
	sample.stack_size = 0x50;
	check_cut("a8765", 0x1070, "4321", true);
	check_cut("ba8765", 0x1060, "4321", true);	// what older ones had is kept
}
END_TEST

START_TEST(returned_functions_are_forgotten)
{
	whole("987654321", 0x1070);
	whole("21", 0x10e0);
	check_cut("a8765", 0x1070, "", false);
	whole("987654321", 0x1070);
	check_cut("a87b", 0x1070, "", false);
	check_cut("a8765", 0x1070, "", false);	// b was in the place of 6
}
END_TEST

START_TEST(walks_that_ended_early_are_no_end)
{
	ck_assert_int_eq(take("98765432", 0x1070, FW_STOP_NO_RULE), FW_OK);
	check_cut("a8765", 0x1070, "432", false);
}
END_TEST

START_TEST(other_threads_and_programs_are_apart)
{
	whole("987654321", 0x1070);
	sample.tid = 2;
	check_cut("a8765", 0x1070, "", false);
	sample.tid = 1;
	check_cut("a8765", 0x1070, "4321", true);
	sample.space = &walk;		// exec
	check_cut("a8765", 0x1070, "", false);
	sample.space = &snapshot;
	whole("987654321", 0x1070);
	sample.pid = 2;			// the number again
	check_cut("a8765", 0x1070, "", false);
}
END_TEST

START_TEST(gaps_are_not_bridged)
{
	whole("987654321", 0x1070);
	recording.counts.gaps++;
	ck_assert(fw_vec_push(&recording.gap_times, sample.time));
	check_cut("a8765", 0x1070, "4321", true);	// it was before
	recording.counts.gaps++;
	ck_assert(fw_vec_push(&recording.gap_times, sample.time + 1));
	check_cut("a8765", 0x1070, "", false);
	whole("987654321", 0x1070);
	recording.counts.gaps += 2;	// past FW_MAX_GAPS nobody knows when
	check_cut("a8765", 0x1070, "", false);
}
END_TEST

START_TEST(samples_out_of_order_are_left_alone)
{
	whole("987654321", 0x1070);
	sample.time -= 2;
	check_cut("a8765", 0x1070, "", false);
	sample.time++;
	check_cut("a8765", 0x1070, "4321", true);
}
END_TEST

// A coroutine's stack: what lies there is not the callers of what runs on the thread's.
START_TEST(stacks_are_not_mixed)
{
	walk.frames.count = 0;
	walk.stop = FW_STOP_END_OF_STACK;
	for (uint32_t i = 0; i < 9; i++) {
		struct fw_frame f = { .pc = 0x1001 * (9 - i), .lookup = 0x1001 * (9 - i) - (i > 0),
				      .sp = i < 6 ? 0x9070 + 16 * i : 0x1070 + 16 * i };
		ck_assert(fw_vec_push(&walk.frames, f));
	}
	ck_assert_int_eq(fw_repair_walk(repair, &sample, &walk, &added, &complete), FW_OK);
	check_cut("a8765", 0x9070, "4", false);
}
END_TEST

// ---- the kernel's chain ----

/** Program counters as take() makes them. */
static const uint64_t *chain_of(const char *functions)
{
	static uint64_t chain[16];
	sample.chain_length = (uint32_t)strlen(functions);
	for (uint32_t i = 0; i < sample.chain_length; i++)
		chain[i] = 0x1001 * strtoul((char[]){ functions[i], 0 }, NULL, 16);
	return chain;
}

START_TEST(chain_goes_on)
{
	sample.chain = chain_of("87654321");
	records[1] = FW_RECORD_OUTERMOST;
	check_cut("8765", 0x1080, "4321", true);
	records[1] = FW_RECORD_KEPT;
	check_cut("8765", 0x1080, "4321", false);	// the chain may be cut off, too
	records[3] = FW_RECORD_NONE;			// whoever called it is not in the chain
	check_cut("8765", 0x1080, "43", false);
	records[5] = FW_RECORD_UNKNOWN;
	check_cut("8765", 0x1080, "", false);
}
END_TEST

// 8 has not pushed its frame pointer yet: the chain leaves out its caller 7.
START_TEST(chain_leaves_out_callers_of_functions_without_record)
{
	sample.chain = chain_of("8654");
	records[8] = FW_RECORD_NONE;
	check_cut("8765", 0x1080, "4", false);
	records[8] = FW_RECORD_KEPT;
	check_cut("8765", 0x1080, "", false);
}
END_TEST

START_TEST(chain_of_something_else)
{
	sample.chain = chain_of("87954");
	check_cut("8765", 0x1080, "", false);
	sample.chain = chain_of("9765");	// another pc
	check_cut("8765", 0x1080, "", false);
	sample.chain = chain_of("87");		// it is the shorter one
	check_cut("8765", 0x1080, "", false);
	sample.chain = chain_of("8765");
	check_cut("8765", 0x1080, "", false);
	sample.chain = chain_of("84");		// nothing but the pc is the same
	records[8] = records[7] = records[6] = FW_RECORD_NONE;
	check_cut("8765", 0x1080, "", false);
	sample.chain_length = 0;
	check_cut("8765", 0x1080, "", false);
}
END_TEST

// Frames of the chain have no stack pointers, so no later sample goes on with them.
START_TEST(chain_is_not_remembered)
{
	sample.chain = chain_of("87654321");
	check_cut("876543", 0x1080, "21", false);
	sample.chain_length = 0;
	check_cut("a987654", 0x1060, "3", false);
}
END_TEST

// ---- limits ----

START_TEST(threads_have_a_limit)
{
	whole("987654321", 0x1070);
	for (sample.tid = 2; sample.tid <= FW_MAX_THREADS; sample.tid++)
		whole("1", 0x10f0);
	sample.tid = 1;
	check_cut("a8765", 0x1070, "4321", true);
	sample.tid = FW_MAX_THREADS + 1;
	whole("1", 0x10f0);
	sample.tid = 1;
	check_cut("a8765", 0x1070, "", false);
}
END_TEST

static void deep(uint64_t sp, uint32_t count)
{
	walk.frames.count = 0;
	walk.stop = FW_STOP_END_OF_STACK;
	for (uint32_t i = 0; i < count; i++)
		ck_assert(fw_vec_push(&walk.frames, ((struct fw_frame){ .pc = 1, .lookup = 1,
								       .sp = sp + 16 * i })));
	sample.time++;
	ck_assert_int_eq(fw_repair_walk(repair, &sample, &walk, &added, &complete), FW_OK);
}

START_TEST(callers_have_a_limit)
{
	whole("987654321", 0x1070);	// seven callers: not the outermost's
	sample.tid = 2;
	deep(0x10000, FW_MAX_REPAIR_LINKS - 7 + 2);
	sample.tid = 1;
	check_cut("a8765", 0x1070, "4321", true);
	sample.tid = 3;
	deep(0x10000, 3);
	sample.tid = 1;
	check_cut("a8765", 0x1070, "", false);
}
END_TEST

// Any allocation that fails is told, and what was there before serves on.
START_TEST(memory_ends)
{
	enum fw_code code = FW_NO_MEMORY;
	for (uint64_t n = 1; code != FW_OK; n++) {
		ck_assert_uint_lt(n, 1000);
		teardown();
		setup();
		whole("987654321", 0x1070);
		ck_assert(fw_vec_reserve(&walk.frames, 32));
		fw_alloc_fail_at(n);
		for (sample.tid = 2; sample.tid < 40; sample.tid++)
			if ((code = take("987654321", 0x1070, FW_STOP_END_OF_STACK)) != FW_OK)
				break;
		if (code == FW_OK)
			code = take("a8765", 0x1070, FW_STOP_TRUNCATED_STACK);
		fw_alloc_fail_at(0);
		ck_assert(code == FW_OK || code == FW_NO_MEMORY);
		sample.tid = 1;
		check_cut("a8765", 0x1070, "4321", true);
	}
}
END_TEST

Suite *profile_repair_suite(void)
{
	Suite *s = suite_create("profile_repair");
	TCase *tc = tcase_create("older samples");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, older_sample_reaches_further);
	tcase_add_test(tc, older_samples_may_be_cut_themselves);
	tcase_add_test(tc, other_calls_are_not_the_older_ones);
	tcase_add_test(tc, callers_that_change_are_not_believed);
	tcase_add_test(tc, other_calls_of_the_same_functions_saved_other_registers);
	tcase_add_test(tc, returned_functions_are_forgotten);
	tcase_add_test(tc, walks_that_ended_early_are_no_end);
	tcase_add_test(tc, other_threads_and_programs_are_apart);
	tcase_add_test(tc, gaps_are_not_bridged);
	tcase_add_test(tc, samples_out_of_order_are_left_alone);
	tcase_add_test(tc, stacks_are_not_mixed);
	suite_add_tcase(s, tc);
	tc = tcase_create("chain");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, chain_goes_on);
	tcase_add_test(tc, chain_leaves_out_callers_of_functions_without_record);
	tcase_add_test(tc, chain_of_something_else);
	tcase_add_test(tc, chain_is_not_remembered);
	suite_add_tcase(s, tc);
	tc = tcase_create("limits");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, threads_have_a_limit);
	tcase_add_test(tc, callers_have_a_limit);
	tcase_add_test(tc, memory_ends);
	suite_add_tcase(s, tc);
	return s;
}
