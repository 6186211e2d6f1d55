// A recursion 300 deep over one function, then a crash.
#include "report.h"

#include <stddef.h>

struct node {
	struct node *left;
	int *value;
};

__attribute__((noinline)) static int leaf(const struct node *node)
{
	return *(volatile int *)node->value;
}

__attribute__((noinline)) static int walk(const struct node *node, int depth)
{
	int sum = depth == 0 ? leaf(node) : walk(node, depth - 1);

	KEEP_FRAME();
	return sum + depth;
}

int main(int argc, char **argv)
{
	static struct node root;

	report_install();
	return walk(&root, 299) + argc;
}
