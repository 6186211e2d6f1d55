// Recursion, a callback from libc, string functions, a leaf: some tens of milliseconds a round.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned long sink;

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

__attribute__((noinline)) static unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static void sort(int n)
{
	int *a = malloc((size_t)n * sizeof(*a));
	unsigned x = 1;
	for (int i = 0; i < n; i++)
		a[i] = (int)(x = x * 1103515245 + 12345);
	qsort(a, (size_t)n, sizeof(*a), compare);
	sink += (unsigned)a[n / 2];
	free(a);
}

__attribute__((noinline)) static void level(int depth)
{
	char room[512];
	memset(room, depth, sizeof(room));
	if (depth == 0) {
		sink += fib(20);
		sort(3000);
	} else {
		level(depth - 1);
	}
	sink += (unsigned char)room[3];
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	int depth = argc > 2 ? atoi(argv[2]) : 6;
	for (int i = 0; i < rounds; i++)
		level(depth);
	printf("%lu\n", sink);
	return 0;
}
