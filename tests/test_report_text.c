// The form for people. Goldens were written by hand from what the issue asks of
// the text: reason, names, places, trust, ends of stacks, folding, symbol status.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/report/text_internal.h"
#include "tests/synth_report.h"

Suite *report_text_suite(void);

static char *text_of(struct synth_report *b, struct fw_text_options o)
{
	struct fw_out out;
	fw_out_init_memory(&out, 64 << 20);
	synth_write_text(&b->r, &o, &out);
	char *text = strdup(synth_text(&out));
	fw_out_deinit(&out);
	return text;
}

static void check_text(struct synth_report *b, struct fw_text_options o, const char *want)
{
	char *text = text_of(b, o);
	ck_assert_str_eq(text, want);
	free(text);
}

static void check_contains(struct synth_report *b, struct fw_text_options o, const char *want)
{
	char *text = text_of(b, o);
	ck_assert_msg(strstr(text, want) != NULL, "no\n%s\nin\n%s", want, text);
	free(text);
}

static const struct fw_text_options folded = { .fold = true };

static const struct synth_frame frames[] = {
	{ .pc = 0x401010, .lookup = 0x401010, .module = 0, .trust = FW_TRUST_CONTEXT,
	  .function = "main", .function_start = 0x401000, .file = "main.cpp", .line = 42,
	  .num_inlines = 2, .inlines = {
		{ FW_STR("func"), FW_STR("a.cpp"), 27 }, { { NULL, 0 }, { NULL, 0 }, 0 } } },
	{ .pc = 0x402001, .lookup = 0x402000, .module = 0, .trust = FW_TRUST_CFI,
	  .signal_frame = true },
	{ .pc = 0x403001, .lookup = 0x403000, .module = 0, .trust = FW_TRUST_FRAME_POINTER,
	  .function = "run", .function_start = 0x402f00 },
	{ .pc = 0x12345, .lookup = 0x12344, .module = FW_NO_MODULE, .trust = FW_TRUST_SCAN },
	{ .pc = 0x600011, .lookup = 0x600010, .module = FW_NO_MODULE, .trust = FW_TRUST_SCAN,
	  .num_unloaded = 1, .unloaded = { { "old.so", 0x10 } } },
};

static struct synth_report *small_report(void)
{
	static const struct fw_candidate candidates[] = {
		{ 0x7ffe0000, 0x401234, 0 }, { 0x7ffe0008, 0x12345678, FW_NO_MODULE } };
	struct synth_report *b = synth_report_create(FW_CPU_AMD64);
	synth_module(b, 0x400000, 0x10000, "/bin/app", "/bin/app",
		     "5A9832E5287241C1838ED98914E9B7FF1");
	b->module_infos[0].is_main = true;
	synth_thread(b, 9, NULL, frames + 2, 1);
	synth_thread(b, 77, "worker", frames, 5);
	for (unsigned i = 0; i < 4; i++)
		fw_regs_set(&b->infos[1].regs, i, 0x10 + i);
	synth_crash(b, 1, "SIGSEGV / SEGV_MAPERR", 0x45);
	b->threads[1].stop = FW_STOP_NO_RULE;
	b->threads[1].stop_detail = "no frame record";
	b->threads[1].candidates = candidates;
	b->threads[1].num_candidates = 2;
	b->s.os_version = synth_str("6.1.0");
	b->s.os_build = synth_str("Linux 6.1.0");	// nothing after the version
	b->s.os_version_from_build = true;
	b->s.cpu_count = 1;
	return b;
}

#define HEAD \
	"Capture          crash.dmp (minidump)\n" \
	"Crash reason     SIGSEGV / SEGV_MAPERR\n" \
	"Crash address    0x0000000000000045\n" \
	"Crashing thread  1 \"worker\" (id 77)\n" \
	"System           Linux 6.1.0\n" \
	"CPU              amd64, 1 CPU\n"
#define CRASHED \
	"\n" \
	"Thread 1 \"worker\", id 77, crashed\n" \
	"  #0    func       (a.cpp:27)     inline\n" \
	"  #0    ??                        inline\n" \
	"  #0  main + 0x10  (main.cpp:42)  [app + 0x1010]            context\n" \
	"      rax 0x0000000000000010  rdx 0x0000000000000011  rcx 0x0000000000000012\n" \
	"      rbx 0x0000000000000013\n" \
	"  #1  ??                          [app + 0x2001]            cfi, signal frame\n" \
	"  #2  run + 0x101                 [app + 0x3001]            frame pointer\n" \
	"  #3  ??                          [0x0000000000012345]      scan\n" \
	"  #4  ??                          [unloaded old.so + 0x10]  scan\n" \
	"  stack ends: no rule (no frame record)\n" \
	"  possible return addresses (nothing supports them):\n" \
	"    0x0000000000401234  [app + 0x1234]  at 0x000000007ffe0000\n" \
	"    0x0000000012345678  at 0x000000007ffe0008\n"

START_TEST(whole_report)
{
	struct synth_report *b = small_report();
	check_text(b, folded, HEAD CRASHED
		"\n"
		"Thread 0, id 9\n"
		"  #0  run + 0x101  [app + 0x3001]  frame pointer\n"
		"  stack ends: end of stack (the frame pointer is 0)\n"
		"\n"
		"Modules on the stacks (1)\n"
		"  0x0000000000400000 - 0x000000000040ffff  app  symbols not searched          "
		"app 5A9832E5287241C1838ED98914E9B7FF1, main program\n");
	check_text(b, (struct fw_text_options){ .brief = true, .fold = true }, HEAD CRASHED);
	synth_report_destroy(b);
}
END_TEST

START_TEST(nothing_known)
{
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	check_text(b, folded,
		"Capture          crash.dmp (minidump)\n"
		"Crash reason     none recorded\n"
		"System           Linux\n"
		"CPU              x86\n");
	// A thread without a stack, and a crash in a thread that is not listed.
	synth_thread(b, 5, NULL, frames, 0);
	b->threads[0].stop = FW_STOP_MEMORY_MISSING;
	b->threads[0].stop_detail = NULL;
	b->r.crashed = true;
	b->s.exception.thread_id = 99;
	check_text(b, folded,
		"Capture          crash.dmp (minidump)\n"
		"Crash reason     \n"
		"Crash address    0x00000000\n"
		"Crashing thread  id 99, which the capture does not list\n"
		"System           Linux\n"
		"CPU              x86\n"
		"\n"
		"Thread 0, id 5\n"
		"  stack ends: memory missing\n");
	synth_report_destroy(b);
}
END_TEST

START_TEST(registers_of_every_frame)
{
	static struct fw_regs regs[5];
	fw_regs_set(&regs[2], 0, 0xabc);
	struct synth_report *b = small_report();
	b->threads[1].regs = regs;
	check_contains(b, (struct fw_text_options){ .fold = true, .registers = true },
		"  #2  run + 0x101                 [app + 0x3001]            frame pointer\n"
		"      rax 0x0000000000000abc\n");
	// 32-bit: four on a line.
	struct synth_report *x = synth_report_create(FW_CPU_X86);
	synth_thread(x, 1, NULL, frames + 3, 1);
	for (unsigned i = 0; i < 5; i++)
		fw_regs_set(&x->infos[0].regs, i, i);
	synth_crash(x, 0, "x", 0);
	check_contains(x, folded, "  #0  ??  [0x00012345]  scan\n"
		"      eax 0x00000000  ecx 0x00000001  edx 0x00000002  ebx 0x00000003\n"
		"      esp 0x00000004\n");
	synth_report_destroy(b);
	synth_report_destroy(x);
}
END_TEST

START_TEST(hostile_names)
{
	struct synth_frame bad[] = {
		{ .pc = 0x401010, .lookup = 0x401010, .module = 0, .function = "f\x1b[2J\xff\xc2\x9b\xc3\xa9",
		  .function_start = 0x401010, .file = "a\nb.c", .line = 1 },
		{ .pc = 0x401010, .lookup = 0x401010, .module = 0, .function = "g",
		  .function_start = 0x401010 },
	};
	struct synth_report *b = small_report();
	b->frames[1] = bad;
	b->threads[1].num_frames = 2;
	b->infos[1].name = synth_str("w\r\n\x1b");
	b->r.path = "a\x1b.dmp";
	// Columns count characters, not bytes.
	check_contains(b, folded,
		"  #1  g + 0x0                                    [app + 0x1010]  context\n");
	check_contains(b, folded, "  #0  f\\x1b[2J\\xff\\xc2\\x9b\xc3\xa9 + 0x0  (a\\x0ab.c:1)  [app");
	char *text = text_of(b, folded);
	for (const char *p = text; *p; p++)
		ck_assert((uint8_t)*p >= 0x20 || *p == '\n');
	ck_assert_ptr_nonnull(strstr(text, "Thread 1 \"w\\x0d\\x0a\\x1b\", id 77"));
	free(text);
	synth_report_destroy(b);
}
END_TEST

START_TEST(color_only_when_asked)
{
	struct synth_report *b = small_report();
	char *plain = text_of(b, folded);
	char *color = text_of(b, (struct fw_text_options){ .fold = true, .color = true });
	ck_assert_ptr_null(strchr(plain, '\033'));
	ck_assert_ptr_nonnull(strchr(color, '\033'));
	char *to = color;	// without its SGR sequences it is the plain text
	for (const char *p = color; *p; p++) {
		if (*p == '\033')
			p = strchr(p, 'm');
		else
			*to++ = *p;
	}
	*to = '\0';
	ck_assert_str_eq(color, plain);
	free(plain);
	free(color);
	synth_report_destroy(b);
}
END_TEST

START_TEST(long_paths_keep_their_end)
{
	struct synth_frame f[] = {
		{ .pc = 1, .module = FW_NO_MODULE, .function = "f", .function_start = 1, .line = 7,
		  .file = "/build/src/out/Release/../../some/where/deep/inside/file.cc" },
		{ .pc = 1, .module = FW_NO_MODULE, .function = "f", .function_start = 1, .line = 7,
		  .file = "c:\\one_name_without_any_separator_that_is_far_too_long_to_fit.cc" },
	};
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	synth_thread(b, 1, NULL, f, 2);
	check_contains(b, folded, "(.../../../some/where/deep/inside/file.cc:7)");
	check_contains(b, folded,
		"(...\\one_name_without_any_separator_that_is_far_too_long_to_fit.cc:7)");
	synth_report_destroy(b);
}
END_TEST

START_TEST(modules_and_notes)
{
	static struct fw_image image;
	image.diag.count[FW_DIAG_MALFORMED] = 1200;
	image.diag.count[FW_DIAG_RULE] = 1;
	for (uint32_t i = 0; i < FW_MAX_DIAG_SAMPLES; i++)
		image.diag.lines[FW_DIAG_MALFORMED][i] = 3 + i;
	image.diag.lines[FW_DIAG_RULE][0] = 9;
	static const struct fw_symbol_file loaded = {
		.status = FW_SYMBOLS_LOADED, .image = &image, .path = "s/app.sym" };
	static const struct fw_symbol_file mismatch = {
		.status = FW_SYMBOLS_MISMATCH, .path = "s/b.sym", .message = "its id is AB" };
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	synth_module(b, 0x1000, 0x1000, "app", NULL, NULL)->symbols = &loaded;
	b->modules[0].cfi = FW_CFI_LOADED;
	synth_module(b, 0x5000, 0x1000, "libb.so", "b.pdb", "12")->symbols = &mismatch;
	b->module_infos[1].version = synth_str("1.2");
	synth_module(b, 0x9000, 0, "c", NULL, NULL)->cfi = FW_CFI_MISSING;
	b->modules[0].on_stack = true;
	snprintf(b->s.notes[0].place, sizeof(b->s.notes[0].place), "module 3");
	snprintf(b->s.notes[0].message, sizeof(b->s.notes[0].message), "its name is cut");
	b->s.num_notes = 1;
	b->r.frames_dropped = 1234567;
	check_text(b, folded,
		"Capture          crash.dmp (minidump)\n"
		"Crash reason     none recorded\n"
		"System           Linux\n"
		"CPU              x86\n"
		"\n"
		"Modules on the stacks (1)\n"
		"  0x00001000 - 0x00001fff  app      symbols loaded        CFI     s/app.sym\n"
		"      1,200 malformed records ignored (lines 3, 4, 5, 6, 7, 8, 9, 10, ...)\n"
		"      1 unusable unwind rule ignored (line 9)\n"
		"\n"
		"Other modules (2)\n"
		"  0x00005000 - 0x00005fff  libb.so  symbols mismatch              "
		"s/b.sym, version 1.2\n"
		"      its id is AB\n"
		"  0x00009000 - 0x00009000  c        symbols not searched  no CFI  no debug id\n"
		"\n"
		"Left out\n"
		"  module 3: its name is cut\n"
		"  1,234,567 frames over the limit of one report\n");
	synth_report_destroy(b);
}
END_TEST

// Folding. A pattern is a string: equal letters are equal frames.

static void set_frames(struct synth_frame *to, const char *pattern)
{
	for (; *pattern; pattern++, to++)
		*to = (struct synth_frame){ .pc = (uint64_t)*pattern, .lookup = (uint64_t)*pattern,
					    .module = FW_NO_MODULE, .trust = FW_TRUST_CFI };
}

static const struct {
	const char *pattern;
	uint32_t at, period, times;	// period 0: no recursion starts there
} fold_cases[] = {
	{ "", 0, 0, 0 },
	{ "a", 0, 0, 0 },
	{ "aa", 0, 0, 0 },
	{ "aaa", 0, 0, 0 },			// two lines saved: not worth it
	{ "aaaa", 0, 1, 4 },
	{ "aaaab", 0, 1, 4 },
	{ "xaaaab", 0, 0, 0 },			// does not start at frame 0 ...
	{ "xaaaab", 1, 1, 4 },			// ... but at frame 1
	{ "abab", 0, 0, 0 },
	{ "ababab", 0, 2, 3 },
	{ "abababa", 0, 2, 3 },			// half a round is left over
	{ "xyabababz", 2, 2, 3 },
	{ "abcdefghabcdefghabcdefgh", 0, 8, 3 },
	{ "abcdefghabcdefghabcdefg", 0, 0, 0 },	// the third round is not whole
	{ "abcdefghabcdefgh", 0, 0, 0 },
	{ "abcdefghiabcdefghiabcdefghi", 0, 0, 0 },	// nine frames: too long
	{ "aaaaabaaaaabaaaaab", 0, 6, 3 },	// the longer period covers more
	{ "aabaabaab", 0, 3, 3 },
	{ "aaaaaaaa", 0, 1, 8 },		// and the shortest of equals wins
};

START_TEST(fold_at)
{
	const char *pattern = fold_cases[_i].pattern;
	uint32_t n = (uint32_t)strlen(pattern);
	struct fw_frame f[32] = { 0 };
	for (uint32_t i = 0; i < n; i++) {
		f[i].pc = (uint64_t)pattern[i];
		f[i].sp = i;		// differs in every recursion
	}
	struct fw_fold fold = { 0, 0 };
	bool found = n && fw_fold_at(f, n, fold_cases[_i].at, &fold);
	ck_assert_int_eq(found, fold_cases[_i].period != 0);
	ck_assert_uint_eq(fold.period, fold_cases[_i].period);
	ck_assert_uint_eq(fold.times, fold_cases[_i].times);
}
END_TEST

START_TEST(recursion_is_folded)
{
	static struct synth_frame f[2000];
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	set_frames(f, "x");
	for (uint32_t i = 1; i < 1969; i++)
		set_frames(f + i, "r");
	set_frames(f + 1969, "m");
	synth_thread(b, 1, NULL, f, 1970);
	check_contains(b, folded,
		"  #0     ??  [0x00000078]  cfi\n"
		"  #1     ??  [0x00000072]  cfi\n"
		"         ... 1,968 times (#1 to #1968)\n"
		"  #1969  ??  [0x0000006d]  cfi\n"
		"  stack ends:");
	char *all = text_of(b, (struct fw_text_options){ .fold = false });
	unsigned lines = 0;
	for (const char *p = all; (p = strstr(p, "\n  #")); p++)
		lines++;
	ck_assert_uint_eq(lines, 1970);
	ck_assert_ptr_null(strstr(all, "times"));
	free(all);
	synth_report_destroy(b);
}
END_TEST

START_TEST(recursion_with_leftovers)
{
	struct synth_frame f[16];
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	set_frames(f, "abcabcabcabz");
	synth_thread(b, 1, NULL, f, 12);
	check_contains(b, folded,
		"  #0   ??  [0x00000061]  cfi\n"
		"  #1   ??  [0x00000062]  cfi\n"
		"  #2   ??  [0x00000063]  cfi\n"
		"       ... 3 times (#0 to #8, 3 frames each)\n"
		"  #9   ??  [0x00000061]  cfi\n"
		"  #10  ??  [0x00000062]  cfi\n"
		"  #11  ??  [0x0000007a]  cfi\n"
		"  stack ends:");
	synth_report_destroy(b);
}
END_TEST

START_TEST(equal_stacks_are_folded)
{
	static struct synth_frame pool[2], io[1], other[2];
	set_frames(pool, "wp");
	set_frames(io, "i");
	set_frames(other, "wq");
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	synth_thread(b, 10, NULL, pool, 2);	// crashed: always alone
	synth_thread(b, 11, "w1", pool, 2);
	synth_thread(b, 12, NULL, io, 1);
	synth_thread(b, 13, "w2", pool, 2);
	synth_thread(b, 14, NULL, pool, 2);
	synth_thread(b, 15, NULL, pool, 2);
	synth_thread(b, 16, NULL, other, 2);
	b->threads[5].stop = FW_STOP_LIMIT;	// ends for another reason
	b->threads[6].stack_hash = b->threads[1].stack_hash;	// a hash collision
	synth_crash(b, 0, "x", 0);
	const char *pool_stack =
		"  #0  ??  [0x00000077]  cfi\n"
		"  #1  ??  [0x00000070]  cfi\n"
		"  stack ends: end of stack (the frame pointer is 0)\n"
		"\n"
		"Thread 2, id 12\n"
		"  #0  ??  [0x00000069]  cfi\n";
	char want[512];
	snprintf(want, sizeof(want), "\n3 threads with the same stack\n"
		 "  threads: 1 \"w1\" (id 11), 3 \"w2\" (id 13), 4 (id 14)\n%s", pool_stack);
	check_contains(b, folded, want);
	check_contains(b, folded, "\nThread 0, id 10, crashed\n");
	check_contains(b, folded, "\nThread 5, id 15\n");
	check_contains(b, folded, "\nThread 6, id 16\n  #0  ??  [0x00000077]  cfi\n"
				  "  #1  ??  [0x00000071]  cfi\n");
	char *all = text_of(b, (struct fw_text_options){ .fold = false });
	ck_assert_ptr_null(strstr(all, "same stack"));
	ck_assert_ptr_nonnull(strstr(all, "\nThread 4, id 14\n"));
	free(all);
	synth_report_destroy(b);
}
END_TEST

START_TEST(long_lists_of_threads_wrap)
{
	static struct synth_frame f[1];
	set_frames(f, "w");
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	for (uint32_t i = 0; i < SYNTH_THREADS; i++)
		synth_thread(b, 1000000 + i, "worker", f, 1);
	char *text = text_of(b, folded);
	ck_assert_ptr_nonnull(strstr(text, "\n32 threads with the same stack\n  threads: 0 "));
	for (const char *p = text; *p;) {
		const char *end = strchr(p, '\n');
		ck_assert_int_le(end - p, 100);
		p = end + 1;
	}
	free(text);
	synth_report_destroy(b);
}
END_TEST

Suite *report_text_suite(void)
{
	Suite *suite = suite_create("report_text");
	TCase *tc = tcase_create("text");
	tcase_add_test(tc, whole_report);
	tcase_add_test(tc, nothing_known);
	tcase_add_test(tc, registers_of_every_frame);
	tcase_add_test(tc, hostile_names);
	tcase_add_test(tc, color_only_when_asked);
	tcase_add_test(tc, long_paths_keep_their_end);
	tcase_add_test(tc, modules_and_notes);
	suite_add_tcase(suite, tc);
	tc = tcase_create("fold");
	tcase_add_loop_test(tc, fold_at, 0, sizeof(fold_cases) / sizeof(fold_cases[0]));
	tcase_add_test(tc, recursion_is_folded);
	tcase_add_test(tc, recursion_with_leftovers);
	tcase_add_test(tc, equal_stacks_are_folded);
	tcase_add_test(tc, long_lists_of_threads_wrap);
	suite_add_tcase(suite, tc);
	return suite;
}
