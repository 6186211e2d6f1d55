// Reasons and addresses: expectations are the peers' published words
// (rust-minidump's CrashReason, Breakpad's GetCrashReason) and the headers'
// numbers, one row each.
#include <check.h>

#include "lib/snapshot/crash_reason.h"
#include "lib/snapshot/windows_codes.h"
#include "tests/synth_minidump.h"

Suite *crash_reason_suite(void);

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	enum fw_os os;
	enum fw_cpu_id cpu;
	uint32_t code, flags, count;
	uint64_t parameters[3];
	const char *rust, *breakpad;
} cases[] = {
	{ FW_OS_LINUX, FW_CPU_AMD64, 11, 1, 0, { 0 }, "SIGSEGV / SEGV_MAPERR",
	  "SIGSEGV /SEGV_MAPERR" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 11, 2, 0, { 0 }, "SIGSEGV / SEGV_ACCERR",
	  "SIGSEGV /SEGV_ACCERR" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 11, 0, 0, { 0 }, "SIGSEGV", "SIGSEGV /0x00000000" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 11, 0x80, 0, { 0 }, "SIGSEGV / SI_KERNEL",
	  "SIGSEGV /0x00000080" },
	{ FW_OS_ANDROID, FW_CPU_ARM64, 11, 8, 0, { 0 }, "SIGSEGV / SEGV_MTEAERR",
	  "SIGSEGV /0x00000008" },
	{ FW_OS_ANDROID, FW_CPU_ARM64, 11, 9, 0, { 0 }, "SIGSEGV / SEGV_MTESERR",
	  "SIGSEGV /0x00000009" },
	// si_code is signed
	{ FW_OS_LINUX, FW_CPU_AMD64, 6, 0xfffffffa, 0, { 0 }, "SIGABRT / SI_TKILL", "SIGABRT" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 6, 0xffffffff, 0, { 0 }, "SIGABRT / SI_QUEUE", "SIGABRT" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 6, 0, 0, { 0 }, "SIGABRT", "SIGABRT" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 6, 0x1234, 0, { 0 }, "SIGABRT / 0x00001234", "SIGABRT" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 4, 2, 0, { 0 }, "SIGILL / ILL_ILLOPN",
	  "SIGILL / ILL_ILLOPN" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 4, 9, 0, { 0 }, "SIGILL / ILL_BADIADDR",
	  "SIGILL / 0x00000009" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 5, 1, 0, { 0 }, "SIGTRAP / TRAP_BRKPT", "SIGTRAP" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 7, 1, 0, { 0 }, "SIGBUS / BUS_ADRALN",
	  "SIGBUS / BUS_ADRALN" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 8, 1, 0, { 0 }, "SIGFPE / FPE_INTDIV",
	  "SIGFPE / FPE_INTDIV" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 31, 1, 0, { 0 }, "SIGSYS / SYS_SECCOMP", "SIGSYS" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 0xffffffff, 0, 0, { 0 }, "DUMP_REQUESTED",
	  "DUMP_REQUESTED" },
	{ FW_OS_LINUX, FW_CPU_AMD64, 99, 3, 0, { 0 }, "0x00000063 / 0x00000003",
	  "0x00000063 / 0x00000003" },

	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 0, 2, { 0, 0x45 },
	  "EXCEPTION_ACCESS_VIOLATION_READ", "EXCEPTION_ACCESS_VIOLATION_READ" },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 0, 2, { 1, 0x45 },
	  "EXCEPTION_ACCESS_VIOLATION_WRITE", "EXCEPTION_ACCESS_VIOLATION_WRITE" },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 0, 2, { 8, 0x45 },
	  "EXCEPTION_ACCESS_VIOLATION_EXEC", "EXCEPTION_ACCESS_VIOLATION_EXEC" },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 0, 2, { 2, 0x45 },
	  "EXCEPTION_ACCESS_VIOLATION", "EXCEPTION_ACCESS_VIOLATION" },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 0, 0, { 1 }, "EXCEPTION_ACCESS_VIOLATION",
	  "EXCEPTION_ACCESS_VIOLATION" },
	// the NTSTATUS of an in-page error, sign-extended by a 32-bit writer
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000006, 0, 3,
	  { 0, 0x1000, UINT64_C(0xffffffffc000009c) },
	  "EXCEPTION_IN_PAGE_ERROR_READ / STATUS_DEVICE_DATA_ERROR",
	  "EXCEPTION_IN_PAGE_ERROR_READ / STATUS_DEVICE_DATA_ERROR" },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000006, 0, 3, { 1, 0x1000, 0xcafe },
	  "EXCEPTION_IN_PAGE_ERROR_WRITE / 0x0000cafe",
	  "EXCEPTION_IN_PAGE_ERROR_WRITE / 0x0000cafe" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xc0000409, 0, 1, { 7 },
	  "EXCEPTION_STACK_BUFFER_OVERRUN / FAST_FAIL_FATAL_APP_EXIT",
	  "FAST_FAIL_FATAL_APP_EXIT" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xc0000409, 0, 1, { 0x4321 },
	  "EXCEPTION_STACK_BUFFER_OVERRUN / 0x00004321", "EXCEPTION_STACK_BUFFER_OVERRUN" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xc0000409, 0, 0, { 0 }, "STATUS_STACK_BUFFER_OVERRUN",
	  "EXCEPTION_STACK_BUFFER_OVERRUN" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xc0000374, 0, 0, { 0 }, "STATUS_HEAP_CORRUPTION",
	  "EXCEPTION_HEAP_CORRUPTION" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xc00000fd, 0, 0, { 0 }, "EXCEPTION_STACK_OVERFLOW",
	  "EXCEPTION_STACK_OVERFLOW" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0x80000003, 0, 0, { 0 }, "EXCEPTION_BREAKPOINT",
	  "EXCEPTION_BREAKPOINT" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xe06d7363, 0, 0, { 0 }, "Unhandled C++ Exception",
	  "Unhandled C++ Exception" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xe0000008, 0, 0, { 0 }, "Out of Memory",
	  "Out of Memory" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0x0517a7ed, 0, 0, { 0 }, "Simulated Exception",
	  "Simulated Exception" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xc06d007e, 0, 0, { 0 },
	  "FACILITY_VISUALCPP / ERROR_MOD_NOT_FOUND", "0xc06d007e / 0x00000000" },
	{ FW_OS_WINDOWS, FW_CPU_AMD64, 0xdeadbeef, 1, 0, { 0 }, "0xdeadbeef / 0x00000001",
	  "0xdeadbeef / 0x00000001" },

	{ FW_OS_MACOS, FW_CPU_AMD64, 1, 1, 0, { 0 }, "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS",
	  "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS" },
	{ FW_OS_MACOS, FW_CPU_AMD64, 1, 13, 0, { 0 }, "EXC_BAD_ACCESS / EXC_I386_GPFLT",
	  "EXC_BAD_ACCESS / EXC_I386_GPFLT" },
	{ FW_OS_MACOS, FW_CPU_ARM64, 1, 13, 0, { 0 }, "EXC_BAD_ACCESS / 0x0000000d",
	  "EXC_BAD_ACCESS / 0x0000000d" },
	{ FW_OS_IOS, FW_CPU_ARM64, 1, 0x101, 0, { 0 }, "EXC_BAD_ACCESS / EXC_ARM_DA_ALIGN",
	  "EXC_BAD_ACCESS / EXC_ARM_DA_ALIGN" },
	{ FW_OS_MACOS, FW_CPU_X86, 2, 1, 0, { 0 }, "EXC_BAD_INSTRUCTION / EXC_I386_INVOP",
	  "EXC_BAD_INSTRUCTION / EXC_I386_INVOP" },
	{ FW_OS_MACOS, FW_CPU_AMD64, 3, 1, 0, { 0 }, "EXC_ARITHMETIC / EXC_I386_DIV",
	  "EXC_ARITHMETIC / EXC_I386_DIV" },
	{ FW_OS_MACOS, FW_CPU_AMD64, 5, 0x10002, 0, { 0 }, "EXC_SOFTWARE / SIGABRT",
	  "EXC_SOFTWARE / SIGABRT" },
	{ FW_OS_MACOS, FW_CPU_AMD64, 6, 2, 0, { 0 }, "EXC_BREAKPOINT / EXC_I386_BPT",
	  "EXC_BREAKPOINT / EXC_I386_BPT" },
	{ FW_OS_MACOS, FW_CPU_ARM64, 6, 1, 0, { 0 }, "EXC_BREAKPOINT / EXC_ARM_BREAKPOINT",
	  "EXC_BREAKPOINT / EXC_ARM_BREAKPOINT" },
	{ FW_OS_MACOS, FW_CPU_AMD64, 7, 0x99, 0, { 0 }, "EXC_SYSCALL / 0x00000099",
	  "EXC_SYSCALL / 0x00000099" },
	{ FW_OS_MACOS, FW_CPU_AMD64, 0x43507378, 0, 0, { 0 }, "Simulated Exception",
	  "Simulated Exception" },
	// packed by xnu's EXC_RESOURCE_ENCODE_* and EXC_GUARD_ENCODE_* macros
	{ FW_OS_MACOS, FW_CPU_ARM64, 11, 1u << 29, 3,
	  { 11, UINT64_C(1) << 58 | 180 << 7 | 50, 93 },
	  "EXC_RESOURCE / RESOURCE_TYPE_CPU / FLAVOR_CPU_MONITOR interval: 180s CPU limit: 50% "
	  "CPU consumed: 93%", "0x0000000b / 0x20000000" },
	{ FW_OS_MACOS, FW_CPU_ARM64, 11, 3u << 29, 3, { 11, UINT64_C(1) << 58 | 2048, 0 },
	  "EXC_RESOURCE / RESOURCE_TYPE_MEMORY / FLAVOR_HIGH_WATERMARK high watermark limit: "
	  "2048MiB", "0x0000000b / 0x60000000" },
	{ FW_OS_MACOS, FW_CPU_ARM64, 12, 2u << 29, 3,
	  { 12, UINT64_C(2) << 61 | UINT64_C(1) << 32 | 7, 0x99 },
	  "EXC_GUARD / GUARD_TYPE_FD / GUARD_EXC_CLOSE file descriptor: 7 guard identifier: 153",
	  "0x0000000c / 0x40000000" },
	{ FW_OS_MACOS, FW_CPU_ARM64, 12, 0, 3, { 12, 0, 0 }, "EXC_GUARD / GUARD_TYPE_NONE",
	  "0x0000000c / 0x00000000" },
	{ FW_OS_MACOS, FW_CPU_ARM64, 12, 7u << 29, 3, { 12, 1, 2 }, "EXC_GUARD / 0xe0000000",
	  "0x0000000c / 0xe0000000" },
	{ FW_OS_MACOS, FW_CPU_ARM64, 11, 5u << 29, 3, { 11, 5, 6 },
	  "EXC_RESOURCE / RESOURCE_TYPE_THREADS / 0x0000000000000005 / 0x0000000000000006",
	  "0x0000000b / 0xa0000000" },
	{ FW_OS_FUCHSIA, FW_CPU_AMD64, 0x108, 0, 0, { 0 }, "FATAL_PAGE_FAULT / 0x00000000",
	  "FATAL_PAGE_FAULT / 0x00000000" },
	{ FW_OS_UNKNOWN, FW_CPU_AMD64, 11, 1, 0, { 0 }, "0x0000000b / 0x00000001",
	  "0x0000000b / 0x00000001" },
};

static struct fw_snapshot make(int i)
{
	struct fw_snapshot s = { .os = cases[i].os, .cpu = fw_cpu_get(cases[i].cpu) };
	s.exception = (struct fw_exception){
		.present = true, .code = cases[i].code, .flags = cases[i].flags,
		.num_parameters = cases[i].count,
	};
	memcpy(s.exception.parameters, cases[i].parameters, sizeof(cases[i].parameters));
	return s;
}

START_TEST(reasons_are_in_the_peers_words)
{
	struct fw_snapshot s = make(_i);
	char text[256];
	fw_crash_reason(&s, false, text, sizeof(text));
	ck_assert_str_eq(text, cases[_i].rust);
	fw_crash_reason(&s, true, text, sizeof(text));
	ck_assert_str_eq(text, cases[_i].breakpad);
}
END_TEST

START_TEST(a_short_buffer_cuts_the_text)
{
	for (int i = 0; i < (int)ARRAY_SIZE(cases); i++) {
		struct fw_snapshot s = make(i);
		char text[24];
		for (size_t n = 0; n <= 16; n++) {
			memset(text, '#', sizeof(text));
			fw_crash_reason(&s, false, text, n);
			ck_assert_int_eq(text[n], '#');
			ck_assert(n == 0 || strlen(text) < n);
			ck_assert(n == 0 || !strncmp(text, cases[i].rust, strlen(text)));
		}
	}
}
END_TEST

START_TEST(no_exception_no_reason)
{
	struct fw_snapshot s = { .os = FW_OS_LINUX, .cpu = fw_cpu_get(FW_CPU_AMD64) };
	char text[8] = "old";
	fw_crash_reason(&s, false, text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

static const struct {
	enum fw_os os;
	enum fw_cpu_id cpu;
	uint32_t code, count;
	uint64_t parameter, expected;
} addresses[] = {
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 2, 0x45, 0x45 },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000006, 3, 0x46, 0x46 },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 1, 0x45, 0x89abcdef },	// no parameter 1
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000094, 2, 0x45, 0x89abcdef },
	{ FW_OS_WINDOWS, FW_CPU_X86, 0xc0000005, 2, UINT64_C(0xffffffffdddddddd), 0xdddddddd },
	{ FW_OS_LINUX, FW_CPU_ARM, 11, 2, 0x45, 0x89abcdef },		// sign-extended
	{ FW_OS_LINUX, FW_CPU_AMD64, 11, 2, 0x45, UINT64_C(0xffffffff89abcdef) },
};

START_TEST(address_of_the_crash)
{
	struct fw_snapshot s = { .os = addresses[_i].os, .cpu = fw_cpu_get(addresses[_i].cpu) };
	s.exception = (struct fw_exception){
		.present = true, .code = addresses[_i].code,
		.address = UINT64_C(0xffffffff89abcdef), .num_parameters = addresses[_i].count,
		.parameters = { 1, addresses[_i].parameter },
	};
	ck_assert_uint_eq(fw_crash_address(&s), addresses[_i].expected);
}
END_TEST

static void check_ascending(const struct code_name *table, size_t count)
{
	ck_assert_uint_gt(count, 0);
	for (size_t i = 1; i < count; i++)
		ck_assert_msg(table[i - 1].code < table[i].code, "%s", table[i].name);
	for (size_t i = 0; i < count; i++)
		ck_assert_ptr_eq(find_code_name(table, count, table[i].code), table[i].name);
}

START_TEST(tables_are_ascending_and_found)
{
	check_ascending(ntstatus_codes, num_ntstatus_codes);
	check_ascending(fast_fail_codes, num_fast_fail_codes);
	check_ascending(windows_errors, num_windows_errors);
	ck_assert_str_eq(fw_windows_error_name(0), "ERROR_SUCCESS");
	ck_assert_str_eq(fw_windows_error_name(5), "ERROR_ACCESS_DENIED");
	ck_assert_str_eq(fw_windows_error_name(0xc0000374), "STATUS_HEAP_CORRUPTION");
	ck_assert_ptr_null(fw_windows_error_name(0x12345678));
	ck_assert_ptr_null(find_code_name(ntstatus_codes, num_ntstatus_codes, 0));
	ck_assert_ptr_null(find_code_name(ntstatus_codes, num_ntstatus_codes, UINT32_MAX));
}
END_TEST

Suite *crash_reason_suite(void)
{
	Suite *suite = suite_create("crash_reason");
	TCase *tc = tcase_create("crash_reason");
	tcase_add_loop_test(tc, reasons_are_in_the_peers_words, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, a_short_buffer_cuts_the_text);
	tcase_add_test(tc, no_exception_no_reason);
	tcase_add_loop_test(tc, address_of_the_crash, 0, ARRAY_SIZE(addresses));
	tcase_add_test(tc, tables_are_ascending_and_found);
	suite_add_tcase(suite, tc);
	return suite;
}
