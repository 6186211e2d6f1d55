// Frames whose CFA is not a constant offset from the stack pointer: a local
// aligned to 64 bytes (the CFA is a DWARF expression there) and alloca().
#include "report.h"

#include <alloca.h>
#include <string.h>

__attribute__((noinline)) static int store(volatile int *slot, int value)
{
	*slot = value;
	KEEP_FRAME();
	return value;
}

// Arguments on the stack, a block of variable size and an aligned local: gcc
// then keeps the CFA in memory, at rbp - 8.
__attribute__((noinline)) static int aligned(int a, int b, int c, int d, int e, int f, int g, int h)
{
	_Alignas(64) char block[64];
	char *variable = alloca(16 * a);

	memset(block, a, sizeof(block));
	memset(variable, b, 16 * a);
	__asm__ volatile("" :: "r"(block), "r"(variable) : "memory");
	a += store((volatile int *)8, a);
	return a + b + c + d + e + f + g + h + block[3] + variable[5];
}

__attribute__((noinline)) static int variable(int count)
{
	char *block = alloca(16 * count);

	memset(block, 1, 16 * count);
	__asm__ volatile("" :: "r"(block) : "memory");
	return aligned(count, 1, 2, 3, 4, 5, 6, 7) + block[5];
}

int main(int argc, char **argv)
{
	report_install();
	return variable(argc + 7) + argc;
}
