// A crash inside the C library, below a callback of the C library: main calls
// qsort, qsort calls by_length, by_length calls strlen(NULL).
#include "report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int by_length(const void *a, const void *b)
{
	size_t x = strlen(*(const char *const *)a), y = strlen(*(const char *const *)b);

	return (x > y) - (x < y);
}

__attribute__((noinline)) static void sort_names(const char **names, size_t count)
{
	qsort(names, count, sizeof(names[0]), by_length);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	const char *names[] = { "one", "three", "eleven", NULL };

	report_install();
	sort_names(names, sizeof(names) / sizeof(names[0]));
	return argc;
}
