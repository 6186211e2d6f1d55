// Functions that call themselves from two places with frames of one size: what stands on the
// stack where a copy of it ends does not tell what is further out.
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *left, *right;
	unsigned value;
};

__attribute__((noinline)) static unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static struct node *build(unsigned depth)
{
	struct node *n = malloc(sizeof(*n));
	n->value = depth;
	n->left = depth ? build(depth - 1) : NULL;
	n->right = depth ? build(depth - 1) : NULL;
	return n;
}

__attribute__((noinline)) static unsigned walk(const struct node *n)
{
	if (n == NULL)
		return 1;
	unsigned a = walk(n->left) * 3;
	return a + walk(n->right) + n->value;
}

__attribute__((noinline)) static unsigned hop(const struct node *n, unsigned depth)
{
	return depth ? hop(n, depth - 1) + 1 : walk(n);
}

int main(void)
{
	const struct node *n = build(18);
	unsigned sum = 0;
	for (int i = 0; i < 40; i++) {
		sum += fib(27);
		sum += walk(n);
		sum += hop(n, 9);
	}
	printf("%u\n", sum);
}
