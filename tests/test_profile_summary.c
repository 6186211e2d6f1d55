// The summary in text and JSON; figures counted by hand.
#include <check.h>
#include <stdio.h>

#include "tests/synth_profile.h"

Suite *profile_summary_suite(void);

static void check_text(const struct synth_profile *b, const char *expected)
{
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_summary(&b->p, &out);
	ck_assert_str_eq(synth_profile_text(&out), expected);
	fw_out_deinit(&out);
}

#define HEAD \
	"recording: perf.data (perf.data, x86_64, Linux 6.1.0)\n" \
	"command:   perf record app\n" \
	"events:    cpu-clock, 1,000 Hz, stacks of 8,192 bytes\n"

START_TEST(nothing_to_complain_of)
{
	struct synth_profile *b = synth_profile_small();
	b->p.trusts[FW_TRUST_CONTEXT] = 5;
	synth_event(b, "dummy:HG")->config = 9;		// PERF_COUNT_SW_DUMMY
	b->p.trusts[FW_TRUST_CFI] = 6;
	b->p.trusts[FW_TRUST_PREWALKED] = 1;
	b->modules[0].samples = 6;
	b->modules[0].frames = 9;
	check_text(b, HEAD
		   "samples:   6 in 0.005 s, 1 thread name\n"
		   "stacks:    3 distinct, 12 frames, 2.0 a sample, deepest 3\n"
		   "\n"
		   "why walks ended\n"
		   "             6  100.0 %  end_of_stack\n"
		   "\n"
		   "how frames were found\n"
		   "             5   41.7 %  context\n"
		   "             6   50.0 %  cfi\n"
		   "             1    8.3 %  prewalked\n"
		   "\n"
		   "modules\n"
		   "       samples        frames  symbols     build id  file\n"
		   "             6             9  loaded      00112233  /opt/app\n");
	synth_profile_destroy(b);
}
END_TEST

static struct synth_profile *troubled(void)
{
	struct synth_profile *b = synth_profile_small();
	b->p.samples_read = 1234570;
	b->p.samples_used = 1234567;
	b->p.samples_empty = 2;
	b->p.samples_bad = 1;
	b->p.samples_repaired = 1000;
	b->p.frames_walked = 12345678;
	b->p.stops[FW_STOP_END_OF_STACK] = 234567;
	b->p.stops[FW_STOP_TRUNCATED_STACK] = 1000000;
	b->r.counts.lost_events = 26499;
	b->r.counts.lost_samples = 26607;
	b->r.counts.gaps = 1;
	b->r.counts.throttled = 2;
	b->r.counts.bad_records = 3;
	b->r.counts.unknown_records = 1;
	b->r.killed = b->r.compressed = b->r.piped = true;
	b->r.num_notes = FW_MAX_SNAPSHOT_NOTES + 1;
	snprintf(b->r.notes[0].place, sizeof(b->r.notes[0].place), "offset 0x20");
	for (uint32_t i = 0; i < FW_MAX_SNAPSHOT_NOTES; i++)
		snprintf(b->r.notes[i].message, sizeof(b->r.notes[i].message), "torn\x1b");
	for (uint32_t i = 0; i < 3; i++) {
		b->modules[i].samples = 10 * (i + 1);
		b->modules[i].frames = 100;
	}
	b->symbol_files[0].status = FW_SYMBOLS_MISMATCH;
	snprintf(b->symbol_files[0].message, sizeof(b->symbol_files[0].message), "its build id is 77");
	b->symbol_files[2].status = FW_SYMBOLS_MISSING;
	b->modules[2].used_path = NULL;
	return b;
}

START_TEST(everything_is_said)
{
	struct synth_profile *b = troubled();
	struct fw_out out, expected;
	fw_out_init_memory(&out, 1 << 20);
	fw_out_init_memory(&expected, 1 << 20);
	fw_profile_write_summary(&b->p, &out);
	fw_out_lit(&expected,
		"recording: perf.data (perf.data, x86_64, Linux 6.1.0, compressed, piped)\n"
		"command:   perf record app\n"
		"events:    cpu-clock, 1,000 Hz, stacks of 8,192 bytes\n"
		"samples:   1,234,567 of 1,234,570 in 0.005 s, 1 thread name\n"
		"stacks:    3 distinct, 12,345,678 frames, 10.0 a sample, deepest 3\n"
		"repaired:  1,000 samples, whose outer frames are not from their own stack\n"
		"\n"
		"why walks ended\n"
		"       234,567   19.0 %  end_of_stack\n"
		"     1,000,000   81.0 %  truncated_stack\n"
		"\n"
		"to be aware of\n"
		"  1,000,000 of 1,234,567 samples truncated at 8,192 bytes: "
		"record with --call-graph dwarf,32768\n"
		"  26,607 events were lost while recording (2.1 %): record with a lower -F or a larger -m\n"
		"  1 gap in the recording: nothing was carried over it\n"
		"  2 times that the kernel took fewer samples than asked for\n"
		"  2 samples without registers or stack\n"
		"  1 malformed sample\n"
		"  3 malformed records\n"
		"  1 record of an unknown type\n"
		"  the recorder never finished the file: its end may be missing\n"
		"  offset 0x20: torn\\x1b\n");
	for (uint32_t i = 1; i < FW_MAX_SNAPSHOT_NOTES; i++)
		fw_out_lit(&expected, "  torn\\x1b\n");
	fw_out_lit(&expected,
		"  1 more note\n"
		"\n"
		"modules\n"
		"       samples        frames  symbols     build id  file\n"
		"            30           100  missing     -         [kernel.kallsyms]\n"
		"            20           100  loaded      -         /lib/libc.so.6\n"
		"            10           100  mismatch    00112233  /opt/app: its build id is 77\n"
		"2 of 3 modules lack symbols\n"
		"1 of 3 modules could not be verified: no build id was recorded, "
		"so the file of that name was believed\n");
	ck_assert_str_eq(synth_profile_text(&out), synth_profile_text(&expected));
	fw_out_deinit(&out);
	fw_out_deinit(&expected);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(no_samples)
{
	struct synth_profile *b = synth_profile_create();
	check_text(b, HEAD
		   "samples:   0, 0 thread names\n"
		   "stacks:    0 distinct, 0 frames, deepest 0\n"
		   "\n"
		   "to be aware of\n"
		   "  0 samples: nothing was recorded; perf's buffer may be smaller than one sample (-m), "
		   "or nothing ran\n");
	b->p.samples_read = 7;
	check_text(b, HEAD
		   "samples:   0 of 7, 0 thread names\n"
		   "stacks:    0 distinct, 0 frames, deepest 0\n"
		   "\n"
		   "to be aware of\n"
		   "  0 samples are left by the filters\n");
	synth_profile_destroy(b);
}
END_TEST

START_TEST(largest_stacks)
{
	static const struct { uint32_t asked; const char *advice; } cases[] = {
		{ 16384, "16,384 bytes: record with --call-graph dwarf,32768\n" },
		{ 32768, "32,768 bytes: record with --call-graph dwarf,65528\n" },
		{ 65528, "65,528 bytes, the most there is: --repair may complete them\n" },
	};
	for (int i = 0; i < 3; i++) {
		struct synth_profile *b = synth_profile_small();
		struct fw_out out;
		char expected[128];
		b->p.stops[FW_STOP_TRUNCATED_STACK] = 1;
		b->events[0].stack_asked = cases[i].asked;
		fw_out_init_memory(&out, 1 << 20);
		fw_profile_write_summary(&b->p, &out);
		snprintf(expected, sizeof(expected), "  1 of 6 samples truncated at %s", cases[i].advice);
		ck_assert_ptr_nonnull(strstr(synth_profile_text(&out), expected));
		fw_out_deinit(&out);
		synth_profile_destroy(b);
	}
}
END_TEST

START_TEST(json)
{
	struct synth_profile *b = troubled();
	struct fw_out out;
	b->r.num_notes = 1;
	b->p.num_modules = 1;
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_summary_json(&b->p, false, &out);
	ck_assert_str_eq(synth_profile_text(&out),
		"{\"schema_version\":1,\"status\":\"OK\",\"kind\":\"summary\",\"recording\":{"
		"\"file\":\"perf.data\",\"format\":\"perf.data\",\"hostname\":\"host\","
		"\"os_release\":\"6.1.0\",\"arch\":\"x86_64\",\"recorder_version\":\"6.1\","
		"\"command_line\":\"perf record app\",\"started\":null,\"compressed\":true,\"piped\":true,"
		"\"unfinished\":true},\"events\":[{\"name\":\"cpu-clock\",\"frequency\":1000,"
		"\"stack_bytes\":8192,\"callchain\":false,\"kernel\":true,\"user\":true}],"
		"\"samples\":{\"read\":1234570,\"used\":1234567,\"malformed\":1,\"without_stack\":2,"
		"\"truncated\":1000000,\"repaired\":1000},"
		"\"first_time\":12998053034999,\"last_time\":12998058034999,\"distinct_stacks\":3,"
		"\"frames\":12345678,\"deepest\":3,"
		"\"stop_reasons\":{\"end_of_stack\":234567,\"no_rule\":0,\"memory_missing\":0,"
		"\"implausible\":0,\"limit\":0,\"truncated_stack\":1000000},"
		"\"trust\":{\"context\":0,\"cfi\":0,\"cfi_scan\":0,\"frame_pointer\":0,\"scan\":0,"
		"\"leaf\":0,\"prologue\":0,\"prewalked\":0,\"repaired\":0},"
		"\"lost\":{\"events\":26607,\"gaps\":1,\"throttled\":2,\"malformed_records\":3,"
		"\"unknown_records\":1},"
		"\"modules\":[{\"path\":\"/opt/app\",\"build_id\":\"00112233445566778899aabbccddeeff00112233\","
		"\"build_id_recorded\":true,\"symbols\":\"mismatch\",\"symbol_file\":\"/opt/app\","
		"\"message\":\"its build id is 77\",\"unverified\":false,\"samples\":10,\"frames\":100}],"
		"\"notes\":[{\"place\":\"offset 0x20\",\"message\":\"torn\\u001b\"}]}\n");
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

Suite *profile_summary_suite(void)
{
	Suite *s = suite_create("profile_summary");
	TCase *tc = tcase_create("summary");
	tcase_add_test(tc, nothing_to_complain_of);
	tcase_add_test(tc, everything_is_said);
	tcase_add_test(tc, no_samples);
	tcase_add_test(tc, largest_stacks);
	tcase_add_test(tc, json);
	suite_add_tcase(s, tc);
	return s;
}
