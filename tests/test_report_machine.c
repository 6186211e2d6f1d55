// Breakpad's `-m` form. The first golden is a shortened copy of the output that
// Breakpad publishes for its Windows test dump; line and function starts are
// those of the .sym files beside it.
#include <check.h>

#include "tests/synth_report.h"

static const struct synth_frame windows_frames[] = {
	{ .pc = 0x40429e, .lookup = 0x40429e, .module = 0, .trust = FW_TRUST_CONTEXT,
	  .function = "`anonymous namespace'::CrashFunction", .function_start = 0x404290,
	  .file = "c:\\test_app.cc", .line = 58, .line_start = 0x40429b },
	{ .pc = 0x404200, .lookup = 0x4041ff, .module = 0, .trust = FW_TRUST_CFI,
	  .function = "main", .function_start = 0x4041b0,
	  .file = "c:\\test_app.cc", .line = 65, .line_start = 0x4041fb },
	{ .pc = 0x7c816fd7, .lookup = 0x7c816fd6, .module = 1, .trust = FW_TRUST_CFI,
	  .function = "BaseProcessStart", .function_start = 0x7c816fb4 },
};

static const char windows_golden[] =
	"OS|Windows NT|5.1.2600 Service Pack 2\n"
	"CPU|x86|GenuineIntel family 6 model 13 stepping 8|1\n"
	"GPU|||\n"
	"Crash|EXCEPTION_ACCESS_VIOLATION_WRITE|0x45|0\n"
	"Module|test_app.exe||test_app.pdb|5A9832E5287241C1838ED98914E9B7FF1|0x00400000|0x0042cfff|1\n"
	"Module|kernel32.dll|5.1.2600.2945|kernel32.pdb|BCE8785C57B44245A669896B6A19B9542|"
	"0x7c800000|0x7c8f3fff|0\n"
	"\n"
	"0|0|test_app.exe|`anonymous namespace'::CrashFunction|c:\\test_app.cc|58|0x3\n"
	"0|1|test_app.exe|main|c:\\test_app.cc|65|0x5\n"
	"0|2|kernel32.dll|BaseProcessStart|||0x23\n";

static struct synth_report *windows_report(void)
{
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	b->s.os = FW_OS_WINDOWS;
	b->s.os_version = synth_str("5.1.2600");
	b->s.os_build = synth_str("Service Pack 2");
	b->s.cpu_info = synth_str("GenuineIntel family 6 model 13 stepping 8");
	b->s.cpu_count = 1;
	synth_module(b, 0x400000, 0x2d000, "test_app.exe", "test_app.pdb",
		     "5A9832E5287241C1838ED98914E9B7FF1");
	b->module_infos[0].is_main = true;
	synth_module(b, 0x7c800000, 0xf4000, "kernel32.dll", "kernel32.pdb",
		     "BCE8785C57B44245A669896B6A19B9542");
	b->module_infos[1].version = synth_str("5.1.2600.2945");
	return b;
}

static void check_machine(struct synth_report *b, const char *want)
{
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	synth_write_machine(&b->r, &out);
	ck_assert_str_eq(synth_text(&out), want);
	fw_out_deinit(&out);
}

/** Only what comes after the empty line. */
static void check_frames(struct synth_report *b, const char *want)
{
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	synth_write_machine(&b->r, &out);
	const char *frames = strstr(synth_text(&out), "\n\n");
	ck_assert_ptr_nonnull(frames);
	ck_assert_str_eq(frames + 2, want);
	fw_out_deinit(&out);
}

START_TEST(equals_breakpads_output)
{
	struct synth_report *b = windows_report();
	synth_thread(b, 3060, NULL, windows_frames, 3);
	synth_crash(b, 0, "EXCEPTION_ACCESS_VIOLATION_WRITE", 0x45);
	check_machine(b, windows_golden);
	synth_report_destroy(b);
}
END_TEST

START_TEST(nothing_known)
{
	struct synth_report *b = synth_report_create(FW_CPU_AMD64);
	check_machine(b, "OS|Linux|\nCPU|amd64||0\nGPU|||\nCrash|No crash||\n\n");
	b->s.os_version = synth_str("6.1.0");	// of a capture that recorded 0.0.0
	b->s.os_build = synth_str("Linux 6.1.0 #1 SMP");
	b->s.os_version_from_build = true;
	check_machine(b, "OS|Linux|0.0.0 Linux 6.1.0 #1 SMP\nCPU|amd64||0\nGPU|||\n"
			 "Crash|No crash||\n\n");
	b->s.os_version_from_build = false;
	b->s.os_version = b->s.os_build = (struct fw_str){ NULL, 0 };
	b->s.exception.assertion = synth_str("x > 0");
	check_machine(b, "OS|Linux|\nCPU|amd64||0\nGPU|||\nCrash|x > 0||\n\n");
	synth_report_destroy(b);
}
END_TEST

START_TEST(crashing_thread_comes_first_numbers_stay)
{
	struct synth_report *b = windows_report();
	synth_thread(b, 1, NULL, windows_frames + 2, 1);
	synth_thread(b, 2, NULL, windows_frames + 1, 1);
	b->threads[1].peer_index = 7;	// a dump writer's thread was left out before it
	synth_crash(b, 1, "x", 0);
	check_frames(b, "7|0|test_app.exe|main|c:\\test_app.cc|65|0x5\n"
			"0|0|kernel32.dll|BaseProcessStart|||0x23\n");
	synth_report_destroy(b);
}
END_TEST

// Offsets: from the line with a source file, else from the function, else from
// the module, else the address; always of the raw pc.
START_TEST(offsets_without_names)
{
	static const struct synth_frame frames[] = {
		{ .pc = 0x7c800010, .lookup = 0x7c800010, .module = 1 },
		{ .pc = 0x12345678, .lookup = 0x12345677, .module = FW_NO_MODULE },
	};
	struct synth_report *b = windows_report();
	synth_thread(b, 1, NULL, frames, 2);
	check_frames(b, "0|0|kernel32.dll||||0x10\n0|1|||||0x12345678\n");
	synth_report_destroy(b);
}
END_TEST

// Breakpad numbers inlined calls like frames and counts all offsets of one
// address from the same line record.
START_TEST(inlined_calls_are_lines)
{
	static const struct synth_frame frames[] = {
		{ .pc = 0x401010, .lookup = 0x401010, .module = 0, .function = "main",
		  .function_start = 0x401000, .file = "main.cpp", .line = 42, .line_start = 0x40100c,
		  .num_inlines = 2, .inlines = {
			{ FW_STR("func"), FW_STR("a.cpp"), 27 },
			{ { NULL, 0 }, FW_STR("b.cpp"), 32 } } },
		{ .pc = 0x7c800010, .lookup = 0x7c80000f, .module = 1 },
	};
	struct synth_report *b = windows_report();
	synth_thread(b, 1, NULL, frames, 2);
	check_frames(b, "0|0|test_app.exe|func|a.cpp|27|0x4\n"
			"0|1|test_app.exe|<name omitted>|b.cpp|32|0x4\n"
			"0|2|test_app.exe|main|main.cpp|42|0x4\n"
			"0|3|kernel32.dll||||0x10\n");
	synth_report_destroy(b);
}
END_TEST

START_TEST(separators_and_controls_in_names)
{
	static const struct synth_frame frames[] = {
		{ .pc = 0x401010, .lookup = 0x401010, .module = 0,
		  .function = "operator|\n\x1b[2J\t\xe9\xc2\x9b\xc2\xb5", .function_start = 0x401000,
		  .file = "a|b\r.c", .line = 0, .line_start = 0x401010 },
	};
	struct synth_report *b = windows_report();
	synth_thread(b, 1, NULL, frames, 1);
	b->modules[0].name = synth_str("x|y\nz.exe");
	check_frames(b, "0|0|xyz.exe|operator\\x1b[2J\\x09\xe9\\xc2\\x9b\xc2\xb5|ab\\x0d.c|0|0x0\n");
	synth_report_destroy(b);
}
END_TEST

START_TEST(module_without_ids)
{
	struct synth_report *b = synth_report_create(FW_CPU_AMD64);
	synth_module(b, UINT64_C(0x7f0000000000), 0, "/lib/a.so", NULL, NULL);
	synth_module(b, UINT64_C(0x7f0000001000), 0x1000, "/lib/b.so", "/lib/b.so", NULL);
	check_machine(b, "OS|Linux|\nCPU|amd64||0\nGPU|||\nCrash|No crash||\n"
			 "Module|a.so||||0x7f0000000000|0x7f0000000000|0\n"
			 "Module|b.so||b.so|000000000000000000000000000000000|"
			 "0x7f0000001000|0x7f0000001fff|0\n\n");
	synth_report_destroy(b);
}
END_TEST

Suite *report_machine_suite(void);
Suite *report_machine_suite(void)
{
	Suite *suite = suite_create("report_machine");
	TCase *tc = tcase_create("machine");
	tcase_add_test(tc, equals_breakpads_output);
	tcase_add_test(tc, nothing_known);
	tcase_add_test(tc, crashing_thread_comes_first_numbers_stay);
	tcase_add_test(tc, offsets_without_names);
	tcase_add_test(tc, inlined_calls_are_lines);
	tcase_add_test(tc, separators_and_controls_in_names);
	tcase_add_test(tc, module_without_ids);
	suite_add_tcase(suite, tc);
	return suite;
}
