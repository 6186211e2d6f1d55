// perf script's text. Expected lines are written by the format strings of
// builtin-script.c and evsel_fprintf.c: "%s ", "%5d ", "[%03d] ", "%12s: ", "%10llu ",
// "%*s: ", "\t%16llx sym+0x%lx (dso)".
#include <check.h>

#include "tests/synth_profile.h"

Suite *profile_perf_suite(void);

static struct fw_spaces *const some_spaces = (struct fw_spaces *)-1;	// only handed on

static void check_perf(struct synth_profile *b, const char *expected)
{
	struct fw_out out;
	b->r.spaces = some_spaces;
	fw_out_init_memory(&out, 1 << 20);
	synth_write_perf(&b->p, &out);
	ck_assert_str_eq(synth_profile_text(&out), expected);
	fw_out_deinit(&out);
}

// Callers are printed one byte back, by their offset in the file, the kernel's as they stand.
START_TEST(default_fields)
{
	struct synth_profile *b = synth_profile_small();
	b->p.samples += 2;
	b->p.num_samples = 2;
	check_perf(b,
		   "app   101 12998.055034:    1000000 cpu-clock: \n"
		   "\t            181f fast+0x14 (inlined)\n"
		   "\t            181f work+0x14 (/opt/app)\n"
		   "\t            100f main+0x14 (/opt/app)\n"
		   "\n"
		   "app   101 12998.056034:    1000000 cpu-clock: \n"
		   "\tffffffff81004040 do_fault+0x15 ([kernel.kallsyms])\n"
		   "\t            302f [unknown] (/lib/libc.so.6)\n"
		   "\t            100f main+0x14 (/opt/app)\n"
		   "\n");
	synth_profile_destroy(b);
}
END_TEST

START_TEST(widths)
{
	struct synth_profile *b = synth_profile_create();
	synth_event(b, "page-faults:u");
	synth_prof_thread(b, 100, 7, "a b");
	synth_prof_thread(b, 200, 1234567, NULL);
	synth_sample(b, 0, 0, 0, 1000)->cpu = 3;
	synth_sample(b, 0, 1, 1, UINT64_C(1234567999999999))->cpu = 1234;
	b->samples[0].period = UINT64_C(12345678901234);
	check_perf(b,
		   "a b     7 [003]     0.000001: 12345678901234     cpu-clock: \n\n"
		   ":1234567 1234567 [1234] 1234567.999999:    1000000 page-faults:u: \n\n");
	synth_profile_destroy(b);
}
END_TEST

// The context's pc is exact; what lies in no file is printed by its address.
START_TEST(places)
{
	struct synth_profile *b = synth_profile_create();
	synth_prof_thread(b, 100, 100, "x");
	uint32_t app = synth_prof_module(b, "/opt/app", NULL, 0x400000, 0x10000);
	uint32_t cut = synth_prof_frame(b, FW_NO_MODULE, 0, NULL);
	b->frames[cut].truncated = true;
	uint32_t none = synth_prof_frame(b, FW_NO_MODULE, 0x12345, NULL);
	uint32_t anon = synth_prof_frame(b, FW_NO_MODULE, 0x500010, NULL);
	uint32_t jit = synth_prof_frame(b, FW_NO_MODULE, 0x500020, "LazyCompile:*f a.js:1");
	uint32_t leaf = synth_prof_frame(b, app, 0x1010, "f\ng");
	b->frames[jit].jit = true;
	b->frames[leaf].lookup = b->frames[leaf].pc;
	b->frames[leaf].trust = FW_TRUST_CONTEXT;
	uint32_t node = 0, order[] = { cut, none, anon, jit, leaf };
	for (int i = 0; i < 5; i++)
		node = synth_node(b, node, order[i]);
	synth_sample(b, node, 0, 0, 0);
	check_perf(b,
		   "x   100     0.000000:    1000000 cpu-clock: \n"
		   "\t            1010 f+0x15 (inlined)\n"
		   "\t            1010 g+0x15 (/opt/app)\n"
		   "\t          50001f LazyCompile:*f a.js:1+0x14 (/tmp/perf-100.map)\n"
		   "\t          50000f [unknown] (/tmp/perf-100.map)\n"
		   "\t           12344 [unknown] ([unknown])\n"
		   "\n");
	synth_profile_destroy(b);
}
END_TEST

// Lines are kept from sample to sample; in another process they may lie elsewhere.
START_TEST(other_spaces)
{
	struct synth_profile *b = synth_profile_small();
	synth_prof_thread(b, 101, 9, "b");
	b->samples[1] = b->samples[2] = b->samples[0];
	b->samples[1].thread = 1;
	b->p.num_samples = 3;
#define STACK_OF_100 "app   101 12998.053034:    1000000 cpu-clock: \n" \
		   "\t            181f fast+0x14 (inlined)\n" \
		   "\t            181f work+0x14 (/opt/app)\n" \
		   "\t            100f main+0x14 (/opt/app)\n\n"
	check_perf(b, STACK_OF_100
		   "b     9 12998.053034:    1000000 cpu-clock: \n"
		   "\t          40201f fast+0x14 (inlined)\n"
		   "\t          40201f work+0x14 (/opt/app)\n"
		   "\t          40100f main+0x14 (/opt/app)\n\n" STACK_OF_100);
	synth_profile_destroy(b);
}
END_TEST

// Without call chains perf writes one line a sample, the name in 16 columns.
START_TEST(one_line)
{
	struct synth_profile *b = synth_profile_small();
	b->events[0].have_stack = b->events[0].have_time = false;
	b->p.num_samples = 1;
	b->frames[1].lookup = b->frames[1].pc;	// the context's
	check_perf(b, "             app   101    1000000 cpu-clock:            402020 work+0x15 (/opt/app)\n");
	synth_profile_destroy(b);
}
END_TEST

START_TEST(hostile_names)
{
	struct synth_profile *b = synth_profile_create();
	synth_prof_thread(b, 100, 9, "a\nb");
	synth_prof_module(b, "/opt/a\n\tb", NULL, 0x400000, 0x10000);
	uint32_t f = synth_prof_frame(b, 0, 0x10, "f");
	b->lines[0].function = FW_STR("f\n\tg\x1b\xff");
	synth_sample(b, synth_node(b, 0, f), 0, 0, 0);
	check_perf(b,
		   "a\\x0ab     9     0.000000:    1000000 cpu-clock: \n"
		   "\t               f f\\x0a\\x09g\\x1b\\xff+0x14 (/opt/a\\x0a\\x09b)\n"
		   "\n");
	synth_profile_destroy(b);
}
END_TEST

Suite *profile_perf_suite(void)
{
	Suite *s = suite_create("profile_perf");
	TCase *tc = tcase_create("perf");
	tcase_add_test(tc, default_fields);
	tcase_add_test(tc, widths);
	tcase_add_test(tc, places);
	tcase_add_test(tc, other_spaces);
	tcase_add_test(tc, one_line);
	tcase_add_test(tc, hostile_names);
	suite_add_tcase(s, tc);
	return s;
}
