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

__attribute__((noinline)) static int aligned(int count)
{
	_Alignas(64) char block[64];

	memset(block, count, sizeof(block));
	__asm__ volatile("" :: "r"(block) : "memory");
	count += store((volatile int *)8, count);
	return count + block[3];
}

__attribute__((noinline)) static int variable(int count)
{
	char *block = alloca(16 * count);

	memset(block, 1, 16 * count);
	__asm__ volatile("" :: "r"(block) : "memory");
	return aligned(count) + block[5];
}

int main(int argc, char **argv)
{
	report_install();
	return variable(argc + 7) + argc;
}
