// A null pointer read in an inlined function, itself inlined two deep, five
// real functions below main.
#include "report.h"

#include <stddef.h>

struct account {
	int id;
	long balance;
	struct account *next;
};

static inline __attribute__((always_inline)) long balance_of(const struct account *account)
{
	return *(const volatile long *)&account->balance;
}

static inline __attribute__((always_inline)) long sum_pair(const struct account *first)
{
	long sum = balance_of(first);

	return sum + balance_of(first->next);
}

__attribute__((noinline)) static long sum_accounts(const struct account *list, int count)
{
	long sum = 0;

	for (int i = 0; i < count; i++)
		sum += sum_pair(list) * (i + 1);
	return sum;
}

__attribute__((noinline)) static long audit_branch(struct account *list, int count)
{
	long sum = sum_accounts(list, count);

	list->id += 1;
	return sum - list->id;
}

static inline __attribute__((always_inline)) long audit_region(struct account *list, int region)
{
	long total = region;

	for (int i = 0; i < region; i++)
		total += audit_branch(list, region + i);
	return total;
}

__attribute__((noinline)) static long audit_company(struct account *list, int regions)
{
	char buffer[200];
	long total = 0;

	for (int i = 0; i < regions; i++) {
		__asm__ volatile("" :: "r"(buffer) : "memory");
		total += audit_region(list, i + 2);
	}
	return total;
}

__attribute__((noinline)) static int run(int argc)
{
	static struct account account = { .id = 7, .balance = 100 };
	long total = audit_company(&account, argc + 1);

	KEEP_FRAME();
	return (int)total;
}

int main(int argc, char **argv)
{
	report_install();
	return run(argc) + argc;
}
