// A crash inside a signal handler. Without an argument the signal comes from
// raise(). With one it comes from the first instruction of a function that
// follows another function directly, so a lookup at pc - 1 would name the wrong
// one.
#include "report.h"

#include <signal.h>
#include <stddef.h>

static volatile int *last_job;

__attribute__((noinline)) static void save_job(volatile int *job, int value)
{
	*job = value;
	KEEP_FRAME();
}

static void on_signal(int number)
{
	save_job(last_job, number);
	KEEP_FRAME();
}

// Both in one assembler block: the compiler cannot pad or reorder them.
__asm__(".text\n"
	".globl before_trap, trap_first\n"
	".type before_trap, @function\n"
	"before_trap:\n"
	"	.cfi_startproc\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size before_trap, . - before_trap\n"
	".type trap_first, @function\n"
	"trap_first:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size trap_first, . - trap_first\n");
int before_trap(void);
int trap_first(void);

__attribute__((noinline)) static int interrupt_self(int argc)
{
	int result = argc > 1 ? trap_first() : raise(SIGUSR1);

	KEEP_FRAME();
	return result + before_trap();
}

int main(int argc, char **argv)
{
	report_install();
	signal(SIGUSR1, on_signal);
	signal(SIGILL, on_signal);
	return interrupt_self(argc) + argc;
}
