// Endless recursion through two functions until the stack (ulimit -s) is used
// up; the report is made on the alternate signal stack.
#include "report.h"

static int visit(int depth, int *out);

__attribute__((noinline)) static int descend(int depth, int *out)
{
	int local[4] = { depth, depth + 1, depth + 2, depth + 3 };

	__asm__ volatile("" :: "r"(local) : "memory");
	*out += visit(depth + 1, &local[depth & 3]);
	return local[0] + *out;
}

__attribute__((noinline)) static int visit(int depth, int *out)
{
	int value = descend(depth * 2, out);

	KEEP_FRAME();
	return value + *out;
}

int main(int argc, char **argv)
{
	int out = argc;

	report_install();
	return visit(argc, &out) + out;
}
