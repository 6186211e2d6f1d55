// Integer division by zero (SIGFPE).
#include "report.h"

__attribute__((noinline)) static int average(const int *values, int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++)
		sum += values[i];
	return sum / count;
}

static inline __attribute__((always_inline)) int scaled_average(const int *values, int count)
{
	return average(values, count) * 100;
}

__attribute__((noinline)) static int summarize(const int *values, int count)
{
	int result = scaled_average(values, count) + scaled_average(values, count - 4);

	KEEP_FRAME();
	return result;
}

int main(int argc, char **argv)
{
	static const int values[] = { 3, 5, 8, 13 };

	report_install();
	return summarize(values, argc + 3);
}
