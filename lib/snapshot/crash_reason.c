#include "lib/snapshot/crash_reason.h"

#include <stdio.h>

#include "lib/snapshot/mac_reason.h"
#include "lib/snapshot/windows_codes.h"

#define NAME_OF(table, code) find_code_name(table, sizeof(table) / sizeof((table)[0]), code)

/** Where the text goes; what does not fit is dropped. */
struct reason {
	const struct fw_exception *x;
	char *buffer;
	size_t size;
	bool breakpad;
};

static void say_code(const struct reason *r, const char *what, uint32_t code)
{
	snprintf(r->buffer, r->size, "%s / 0x%08x", what, code);
}

static void say_two(const struct reason *r, const char *what, const char *detail)
{
	snprintf(r->buffer, r->size, "%s / %s", what, detail);
}

static void say(const struct reason *r, const char *what)
{
	snprintf(r->buffer, r->size, "%s", what);
}

static void say_unknown(const struct reason *r)
{
	snprintf(r->buffer, r->size, "0x%08x / 0x%08x", r->x->code, r->x->flags);
}

// Linux and Android: asm-generic/signal.h and asm-generic/siginfo.h.

static const struct code_name linux_signals[] = {
	{ 1, "SIGHUP" }, { 2, "SIGINT" }, { 3, "SIGQUIT" }, { 4, "SIGILL" }, { 5, "SIGTRAP" },
	{ 6, "SIGABRT" }, { 7, "SIGBUS" }, { 8, "SIGFPE" }, { 9, "SIGKILL" }, { 10, "SIGUSR1" },
	{ 11, "SIGSEGV" }, { 12, "SIGUSR2" }, { 13, "SIGPIPE" }, { 14, "SIGALRM" },
	{ 15, "SIGTERM" }, { 16, "SIGSTKFLT" }, { 17, "SIGCHLD" }, { 18, "SIGCONT" },
	{ 19, "SIGSTOP" }, { 20, "SIGTSTP" }, { 21, "SIGTTIN" }, { 22, "SIGTTOU" },
	{ 23, "SIGURG" }, { 24, "SIGXCPU" }, { 25, "SIGXFSZ" }, { 26, "SIGVTALRM" },
	{ 27, "SIGPROF" }, { 28, "SIGWINCH" }, { 29, "SIGIO" }, { 30, "SIGPWR" },
	{ 31, "SIGSYS" }, { UINT32_MAX, "DUMP_REQUESTED" },
};

// si_code values of any signal; they are signed.
static const struct code_name si_codes[] = {
	{ 0x80, "SI_KERNEL" }, { (uint32_t)-60, "SI_ASYNCNL" }, { (uint32_t)-7, "SI_DETHREAD" },
	{ (uint32_t)-6, "SI_TKILL" }, { (uint32_t)-5, "SI_SIGIO" },
	{ (uint32_t)-4, "SI_ASYNCIO" }, { (uint32_t)-3, "SI_MESGQ" },
	{ (uint32_t)-2, "SI_TIMER" }, { (uint32_t)-1, "SI_QUEUE" },
};

static const struct code_name ill_codes[] = {
	{ 1, "ILL_ILLOPC" }, { 2, "ILL_ILLOPN" }, { 3, "ILL_ILLADR" }, { 4, "ILL_ILLTRP" },
	{ 5, "ILL_PRVOPC" }, { 6, "ILL_PRVREG" }, { 7, "ILL_COPROC" }, { 8, "ILL_BADSTK" },
	{ 9, "ILL_BADIADDR" },
};

static const struct code_name trap_codes[] = {
	{ 1, "TRAP_BRKPT" }, { 2, "TRAP_TRACE" }, { 3, "TRAP_BRANCH" }, { 4, "TRAP_HWBKPT" },
	{ 5, "TRAP_UNK" }, { 6, "TRAP_PERF" },
};

static const struct code_name bus_codes[] = {
	{ 1, "BUS_ADRALN" }, { 2, "BUS_ADRERR" }, { 3, "BUS_OBJERR" }, { 4, "BUS_MCEERR_AR" },
	{ 5, "BUS_MCEERR_AO" },
};

static const struct code_name fpe_codes[] = {
	{ 1, "FPE_INTDIV" }, { 2, "FPE_INTOVF" }, { 3, "FPE_FLTDIV" }, { 4, "FPE_FLTOVF" },
	{ 5, "FPE_FLTUND" }, { 6, "FPE_FLTRES" }, { 7, "FPE_FLTINV" }, { 8, "FPE_FLTSUB" },
	{ 14, "FPE_FLTUNK" }, { 15, "FPE_CONDTRAP" },
};

static const struct code_name segv_codes[] = {
	{ 1, "SEGV_MAPERR" }, { 2, "SEGV_ACCERR" }, { 3, "SEGV_BNDERR" }, { 4, "SEGV_PKUERR" },
	{ 5, "SEGV_ACCADI" }, { 6, "SEGV_ADIDERR" }, { 7, "SEGV_ADIPERR" },
	{ 8, "SEGV_MTEAERR" }, { 9, "SEGV_MTESERR" }, { 10, "SEGV_CPERR" },
};

static const struct code_name sys_codes[] = {
	{ 1, "SYS_SECCOMP" }, { 2, "SYS_USER_DISPATCH" },
};

// last: the highest number that Breakpad has a name for (0: it adds no detail at all)
static const struct signal_codes {
	uint32_t signal;
	const struct code_name *codes;
	uint8_t count, breakpad_last;
} signal_codes[] = {
#define CODES(table) table, sizeof(table) / sizeof((table)[0])
	{ 4, CODES(ill_codes), 8 },
	{ 5, CODES(trap_codes), 0 },
	{ 7, CODES(bus_codes), 5 },
	{ 8, CODES(fpe_codes), 8 },
	{ 11, CODES(segv_codes), 4 },
	{ 31, CODES(sys_codes), 0 },
#undef CODES
};

static void linux_reason(const struct reason *r)
{
	uint32_t code = r->x->flags;
	const char *name = NAME_OF(linux_signals, r->x->code), *detail = NULL;
	const struct signal_codes *known = NULL;
	if (!name) {
		say_unknown(r);
		return;
	}
	for (size_t i = 0; i < sizeof(signal_codes) / sizeof(signal_codes[0]); i++) {
		if (signal_codes[i].signal == r->x->code)
			known = &signal_codes[i];
	}
	if (known)
		detail = find_code_name(known->codes, known->count, code);
	if (r->breakpad) {
		char number[16];
		if (!known || !known->breakpad_last) {
			say(r, name);
			return;
		}
		if (!detail || code > known->breakpad_last) {
			snprintf(number, sizeof(number), "0x%08x", code);
			detail = number;
		}
		// Breakpad leaves out one blank, for SIGSEGV only.
		snprintf(r->buffer, r->size, "%s /%s%s", name, r->x->code == 11 ? "" : " ", detail);
		return;
	}
	if (!detail)
		detail = NAME_OF(si_codes, code);
	if (detail)
		say_two(r, name, detail);
	else if (code == 0)	// SI_USER: somebody sent it, there is nothing to add
		say(r, name);
	else
		say_code(r, name, code);
}

// Windows: winnt.h, ntstatus.h.

enum {
	WIN_ACCESS_VIOLATION = 0xc0000005,
	WIN_IN_PAGE_ERROR = 0xc0000006,
	WIN_HEAP_CORRUPTION = 0xc0000374,
	WIN_STACK_BUFFER_OVERRUN = 0xc0000409,
};

static const struct code_name windows_exceptions[] = {
	{ 0x0517a7ed, "Simulated Exception" },	// Crashpad
	{ 0x80000001, "EXCEPTION_GUARD_PAGE" },
	{ 0x80000002, "EXCEPTION_DATATYPE_MISALIGNMENT" },
	{ 0x80000003, "EXCEPTION_BREAKPOINT" },
	{ 0x80000004, "EXCEPTION_SINGLE_STEP" },
	{ 0xc0000005, "EXCEPTION_ACCESS_VIOLATION" },
	{ 0xc0000006, "EXCEPTION_IN_PAGE_ERROR" },
	{ 0xc0000008, "EXCEPTION_INVALID_HANDLE" },
	{ 0xc000001d, "EXCEPTION_ILLEGAL_INSTRUCTION" },
	{ 0xc0000025, "EXCEPTION_NONCONTINUABLE_EXCEPTION" },
	{ 0xc0000026, "EXCEPTION_INVALID_DISPOSITION" },
	{ 0xc000008c, "EXCEPTION_BOUNDS_EXCEEDED" },
	{ 0xc000008d, "EXCEPTION_FLT_DENORMAL_OPERAND" },
	{ 0xc000008e, "EXCEPTION_FLT_DIVIDE_BY_ZERO" },
	{ 0xc000008f, "EXCEPTION_FLT_INEXACT_RESULT" },
	{ 0xc0000090, "EXCEPTION_FLT_INVALID_OPERATION" },
	{ 0xc0000091, "EXCEPTION_FLT_OVERFLOW" },
	{ 0xc0000092, "EXCEPTION_FLT_STACK_CHECK" },
	{ 0xc0000093, "EXCEPTION_FLT_UNDERFLOW" },
	{ 0xc0000094, "EXCEPTION_INT_DIVIDE_BY_ZERO" },
	{ 0xc0000095, "EXCEPTION_INT_OVERFLOW" },
	{ 0xc0000096, "EXCEPTION_PRIV_INSTRUCTION" },
	{ 0xc00000fd, "EXCEPTION_STACK_OVERFLOW" },
	{ 0xc0000194, "EXCEPTION_POSSIBLE_DEADLOCK" },
	{ 0xe0000008, "Out of Memory" },	// Chromium's allocators
	{ 0xe0434352, "MANAGED_EXCEPTION_CODE_V4" },	// .NET
	{ 0xe06d7363, "Unhandled C++ Exception" },	// Visual C++
};

// Names that only Breakpad gives.
static const struct code_name breakpad_exceptions[] = {
	{ 0x40010005, "DBG_CONTROL_C" },
	{ 0xc00000ff, "EXCEPTION_BAD_FUNCTION_TABLE" },
	{ WIN_HEAP_CORRUPTION, "EXCEPTION_HEAP_CORRUPTION" },
	{ WIN_STACK_BUFFER_OVERRUN, "EXCEPTION_STACK_BUFFER_OVERRUN" },
};

// delayimp.h: facility 109 (Visual C++) around a Win32 error.
static const struct code_name delay_load_errors[] = {
	{ 0xc06d007e, "FACILITY_VISUALCPP / ERROR_MOD_NOT_FOUND" },
	{ 0xc06d007f, "FACILITY_VISUALCPP / ERROR_PROC_NOT_FOUND" },
};

static const struct code_name access_kinds[] = {
	{ 0, "READ" }, { 1, "WRITE" }, { 8, "EXEC" },
};

// "EXCEPTION_ACCESS_VIOLATION_WRITE": parameter 0 says what was tried.
static void access_reason(const struct reason *r, const char *name)
{
	const struct fw_exception *x = r->x;
	const char *kind = x->num_parameters >= 1 && x->parameters[0] <= UINT32_MAX ?
		NAME_OF(access_kinds, (uint32_t)x->parameters[0]) : NULL;
	int n = snprintf(r->buffer, r->size, "%s%s%s", name, kind ? "_" : "", kind ? kind : "");
	if (x->code != WIN_IN_PAGE_ERROR || x->num_parameters < 3 || (size_t)n >= r->size)
		return;
	// An NTSTATUS that 32-bit writers sign-extend.
	uint32_t status = (uint32_t)x->parameters[2];
	const char *why = find_code_name(ntstatus_codes, num_ntstatus_codes, status);
	if (why)
		snprintf(r->buffer + n, r->size - (size_t)n, " / %s", why);
	else
		snprintf(r->buffer + n, r->size - (size_t)n, " / 0x%08x", status);
}

// __fastfail(): parameter 0 is its code. 0 is the old stack cookie check.
static void fast_fail_reason(const struct reason *r)
{
	uint32_t code = (uint32_t)r->x->parameters[0];
	const char *name = find_code_name(fast_fail_codes, num_fast_fail_codes, code);
	if (r->breakpad)
		say(r, name && code ? name : "EXCEPTION_STACK_BUFFER_OVERRUN");
	else if (name)
		say_two(r, "EXCEPTION_STACK_BUFFER_OVERRUN", name);
	else
		say_code(r, "EXCEPTION_STACK_BUFFER_OVERRUN", code);
}

static void windows_reason(const struct reason *r)
{
	uint32_t code = r->x->code;
	const char *name = NAME_OF(windows_exceptions, code);
	if (code == WIN_STACK_BUFFER_OVERRUN && r->x->num_parameters >= 1) {
		fast_fail_reason(r);
		return;
	}
	if (code == WIN_ACCESS_VIOLATION || code == WIN_IN_PAGE_ERROR) {
		access_reason(r, name);
		return;
	}
	if (r->breakpad) {
		if (code == 0xe0434352)
			name = NULL;
		if (!name)
			name = NAME_OF(breakpad_exceptions, code);
	} else if (!name) {
		name = find_code_name(ntstatus_codes, num_ntstatus_codes, code);
		if (!name)
			name = NAME_OF(delay_load_errors, code);
	}
	if (name)
		say(r, name);
	else
		say_unknown(r);
}

// macOS and iOS: mach/exception_types.h; code details in mach/kern_return.h
// and mach/{i386,arm,ppc}/exception.h.

enum {
	MAC_BAD_ACCESS = 1, MAC_BAD_INSTRUCTION, MAC_ARITHMETIC, MAC_EMULATION, MAC_SOFTWARE,
	MAC_BREAKPOINT, MAC_RESOURCE = 11, MAC_GUARD = 12, MAC_SIMULATED = 0x43507378,
	ANY_CPU = FW_CPU_UNKNOWN,
};

static const struct code_name mac_exceptions[] = {
	{ MAC_BAD_ACCESS, "EXC_BAD_ACCESS" }, { MAC_BAD_INSTRUCTION, "EXC_BAD_INSTRUCTION" },
	{ MAC_ARITHMETIC, "EXC_ARITHMETIC" }, { MAC_EMULATION, "EXC_EMULATION" },
	{ MAC_SOFTWARE, "EXC_SOFTWARE" }, { MAC_BREAKPOINT, "EXC_BREAKPOINT" },
	{ 7, "EXC_SYSCALL" }, { 8, "EXC_MACH_SYSCALL" }, { 9, "EXC_RPC_ALERT" },
	{ 10, "EXC_CRASH" }, { MAC_RESOURCE, "EXC_RESOURCE" }, { MAC_GUARD, "EXC_GUARD" },
	{ 13, "EXC_CORPSE_NOTIFY" },
};

static const struct mac_code {
	uint8_t exception;
	uint8_t cpu;		// enum fw_cpu_id; X86 stands for amd64, ARM for arm64 too
	uint32_t code;
	const char *name;
} mac_codes[] = {
	{ MAC_BAD_ACCESS, ANY_CPU, 1, "KERN_INVALID_ADDRESS" },
	{ MAC_BAD_ACCESS, ANY_CPU, 2, "KERN_PROTECTION_FAILURE" },
	{ MAC_BAD_ACCESS, ANY_CPU, 5, "KERN_FAILURE" },
	{ MAC_BAD_ACCESS, ANY_CPU, 8, "KERN_NO_ACCESS" },
	{ MAC_BAD_ACCESS, ANY_CPU, 9, "KERN_MEMORY_FAILURE" },
	{ MAC_BAD_ACCESS, ANY_CPU, 10, "KERN_MEMORY_ERROR" },
	{ MAC_BAD_ACCESS, ANY_CPU, 50, "KERN_CODESIGN_ERROR" },
	{ MAC_BAD_ACCESS, FW_CPU_X86, 13, "EXC_I386_GPFLT" },
	{ MAC_BAD_ACCESS, FW_CPU_ARM, 0x101, "EXC_ARM_DA_ALIGN" },
	{ MAC_BAD_ACCESS, FW_CPU_ARM, 0x102, "EXC_ARM_DA_DEBUG" },
	{ MAC_BAD_ACCESS, FW_CPU_PPC, 0x101, "EXC_PPC_VM_PROT_READ" },
	{ MAC_BAD_ACCESS, FW_CPU_PPC, 0x102, "EXC_PPC_BADSPACE" },
	{ MAC_BAD_ACCESS, FW_CPU_PPC, 0x103, "EXC_PPC_UNALIGNED" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_ARM, 1, "EXC_ARM_UNDEFINED" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_PPC, 1, "EXC_PPC_INVALID_SYSCALL" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_PPC, 2, "EXC_PPC_UNIPL_INST" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_PPC, 3, "EXC_PPC_PRIVINST" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_PPC, 4, "EXC_PPC_PRIVREG" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_PPC, 5, "EXC_PPC_TRACE" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_PPC, 6, "EXC_PPC_PERFMON" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_X86, 1, "EXC_I386_INVOP" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_X86, 10, "EXC_I386_INVTSSFLT" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_X86, 11, "EXC_I386_SEGNPFLT" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_X86, 12, "EXC_I386_STKFLT" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_X86, 13, "EXC_I386_GPFLT" },
	{ MAC_BAD_INSTRUCTION, FW_CPU_X86, 17, "EXC_I386_ALIGNFLT" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 1, "EXC_I386_DIV" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 2, "EXC_I386_INTO" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 3, "EXC_I386_NOEXT" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 4, "EXC_I386_EXTOVR" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 5, "EXC_I386_EXTERR" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 6, "EXC_I386_EMERR" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 7, "EXC_I386_BOUND" },
	{ MAC_ARITHMETIC, FW_CPU_X86, 8, "EXC_I386_SSEEXTERR" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 1, "EXC_PPC_OVERFLOW" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 2, "EXC_PPC_ZERO_DIVIDE" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 3, "EXC_FLT_INEXACT" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 4, "EXC_PPC_FLT_ZERO_DIVIDE" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 5, "EXC_PPC_FLT_UNDERFLOW" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 6, "EXC_PPC_FLT_OVERFLOW" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 7, "EXC_PPC_FLT_NOT_A_NUMBER" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 8, "EXC_PPC_NOEMULATION" },
	{ MAC_ARITHMETIC, FW_CPU_PPC, 9, "EXC_PPC_ALTIVECASSIST" },
	{ MAC_SOFTWARE, ANY_CPU, 0x10002, "SIGABRT" },
	{ MAC_SOFTWARE, ANY_CPU, 0xdeadc0de, "UNCAUGHT_NS_EXCEPTION" },
	{ MAC_SOFTWARE, ANY_CPU, 1, "EXC_PPC_TRAP" },
	{ MAC_SOFTWARE, ANY_CPU, 0x10100, "EXC_PPC_MIGRATE" },
	{ MAC_BREAKPOINT, FW_CPU_X86, 1, "EXC_I386_SGL" },
	{ MAC_BREAKPOINT, FW_CPU_X86, 2, "EXC_I386_BPT" },
	{ MAC_BREAKPOINT, FW_CPU_ARM, 0x101, "EXC_ARM_DA_ALIGN" },
	{ MAC_BREAKPOINT, FW_CPU_ARM, 0x102, "EXC_ARM_DA_DEBUG" },
	{ MAC_BREAKPOINT, FW_CPU_ARM, 1, "EXC_ARM_BREAKPOINT" },
	{ MAC_BREAKPOINT, FW_CPU_PPC, 1, "EXC_PPC_BREAKPOINT" },
};

static uint8_t mac_cpu(enum fw_cpu_id cpu)
{
	if (cpu == FW_CPU_AMD64)
		return FW_CPU_X86;
	return cpu == FW_CPU_ARM64 ? FW_CPU_ARM : (uint8_t)cpu;
}

static const char *mac_detail(const struct reason *r, enum fw_cpu_id cpu)
{
	const struct fw_exception *x = r->x;
	// KERN_FAILURE is not in Breakpad's table.
	if (r->breakpad && x->code == MAC_BAD_ACCESS && x->flags == 5)
		return NULL;
	for (size_t i = 0; i < sizeof(mac_codes) / sizeof(mac_codes[0]); i++) {
		const struct mac_code *m = &mac_codes[i];
		if (m->exception == x->code && m->code == x->flags &&
		    (m->cpu == ANY_CPU || m->cpu == mac_cpu(cpu)))
			return m->name;
	}
	return NULL;
}

static void mac_reason(const struct reason *r, enum fw_cpu_id cpu)
{
	const struct fw_exception *x = r->x;
	const char *name = NAME_OF(mac_exceptions, x->code), *detail;
	if (x->code == MAC_SIMULATED) {
		say(r, "Simulated Exception");
		return;
	}
	// Breakpad knows none from EXC_CRASH on.
	if (!name || (r->breakpad && x->code > 9)) {
		say_unknown(r);
		return;
	}
	if (x->code == MAC_RESOURCE || x->code == MAC_GUARD) {
		fw_mac_kernel_reason(x, name, r->buffer, r->size);
		return;
	}
	detail = mac_detail(r, cpu);
	if (!detail) {
		say_code(r, name, x->flags);
		return;
	}
	say_two(r, name, detail);
}

// Fuchsia: zircon/syscalls/exception.h, as Breakpad prints it.
static void fuchsia_reason(const struct reason *r)
{
	static const struct code_name codes[] = {
		{ 0x8, "GENERAL" }, { 0x108, "FATAL_PAGE_FAULT" },
		{ 0x208, "UNDEFINED_INSTRUCTION" }, { 0x308, "SW_BREAKPOINT" },
		{ 0x408, "HW_BREAKPOINT" }, { 0x508, "UNALIGNED_ACCESS" },
		{ 0x8008, "THREAD_STARTING" }, { 0x8108, "THREAD_EXITING" },
		{ 0x8208, "POLICY_ERROR" }, { 0x8308, "PROCESS_STARTING" },
	};
	const char *name = NAME_OF(codes, r->x->code);
	if (name)
		say_code(r, name, r->x->flags);
	else
		say_unknown(r);
}

void fw_crash_reason(const struct fw_snapshot *s, bool breakpad, char *buffer, size_t n)
{
	struct reason r = { &s->exception, buffer, n, breakpad };
	if (n)
		buffer[0] = '\0';
	if (!s->exception.present || !n)
		return;
	switch (s->os) {
	case FW_OS_WINDOWS:
		windows_reason(&r);
		return;
	case FW_OS_MACOS:
	case FW_OS_IOS:
		mac_reason(&r, s->cpu->id);
		return;
	case FW_OS_LINUX:
	case FW_OS_ANDROID:
		linux_reason(&r);
		return;
	case FW_OS_FUCHSIA:
		fuchsia_reason(&r);
		return;
	case FW_OS_UNKNOWN:
	case FW_OS_SOLARIS:
	case FW_OS_PS3:
	case FW_OS_NACL:
		break;
	}
	say_unknown(&r);
}

uint64_t fw_crash_address(const struct fw_snapshot *s)
{
	const struct fw_exception *x = &s->exception;
	uint64_t address = x->address;
	if (s->os == FW_OS_WINDOWS && x->num_parameters >= 2 &&
	    (x->code == WIN_ACCESS_VIOLATION || x->code == WIN_IN_PAGE_ERROR))
		address = x->parameters[1];
	// Some writers sign-extend what is 32 bits wide.
	return address & s->cpu->word_mask;
}

const char *fw_windows_error_name(uint32_t code)
{
	const char *name = find_code_name(windows_errors, num_windows_errors, code);
	return name ? name : find_code_name(ntstatus_codes, num_ntstatus_codes, code);
}
