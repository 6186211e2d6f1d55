// Fatal signals start the recorder's two programs, one after the other, as
// children of the crashed process: the first is the Crashpad handler in the mode
// --trace-parent-with-exception, the second is a debugger that notes the truth.
#include "report.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// What the handler reads at the given address: Crashpad's ExceptionInformation,
// packed, with 64-bit addresses in 32-bit programs too.
static struct __attribute__((packed)) {
	uint64_t siginfo;
	uint64_t context;
	int32_t thread;
} info;

static char alternate_stack[64 * 1024] __attribute__((aligned(16)));

static void run(const char *program, const char *address)
{
	pid_t pid = fork();
	if (pid == 0) {
		execl(program, program, address, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, NULL, 0) < 0)
		;
}

static void on_signal(int number, siginfo_t *siginfo, void *context)
{
	char address[32];

	info.siginfo = (uintptr_t)siginfo;
	info.context = (uintptr_t)context;
	info.thread = syscall(SYS_gettid);
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)(uintptr_t)&info);
	run("/opt/app/dump", address);
	run("/opt/app/truth", address);
	_exit(128 + number);
}

void report_install(void)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };
	stack_t stack = { .ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack) };
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&stack, NULL);
	for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		sigaction(fatal[i], &action, NULL);
}
