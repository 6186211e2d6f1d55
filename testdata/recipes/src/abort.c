// A failed assertion: abort() through the C library.
#include "report.h"

#include <assert.h>

__attribute__((noinline)) static int check_range(int value, int limit)
{
	assert(value < limit);
	return limit - value;
}

__attribute__((noinline)) static int check_all(int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++)
		sum += check_range(i, 3);
	return sum;
}

int main(int argc, char **argv)
{
	report_install();
	return check_all(argc + 9);
}
