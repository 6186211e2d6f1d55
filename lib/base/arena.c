#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"

#if defined(__SANITIZE_ADDRESS__)
#define FW_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FW_ASAN 1
#endif
#endif
#ifdef FW_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum {
	ALIGN = 16,
	FIRST_BLOCK = 4096,
	LAST_BLOCK = 1048576,	// blocks double up to this; larger requests get their own
};

struct fw_arena_block {
	struct fw_arena_block *next;
	size_t size, used;	// of data
	_Alignas(ALIGN) unsigned char data[];
};

// Atomic only so that worker threads may allocate while a test holds the hook.
static uint64_t fail_countdown;

void fw_alloc_fail_at(uint64_t nth)
{
	__atomic_store_n(&fail_countdown, nth, __ATOMIC_RELAXED);
}

int fw_alloc_should_fail(void)
{
	if (__builtin_expect(!__atomic_load_n(&fail_countdown, __ATOMIC_RELAXED), 1))
		return 0;
	return __atomic_fetch_sub(&fail_countdown, 1, __ATOMIC_RELAXED) == 1;
}

void fw_arena_init(struct fw_arena *a, uint64_t cap)
{
	*a = (struct fw_arena){ .cap = cap };
}

static void free_block(struct fw_arena_block *b)
{
	ASAN_UNPOISON_MEMORY_REGION(b->data, b->size);
	free(b);
}

void fw_arena_deinit(struct fw_arena *a)
{
	struct fw_arena_block *next;
	for (struct fw_arena_block *b = a->head; b; b = next) {
		next = b->next;
		free_block(b);
	}
	a->head = NULL;
	a->used = 0;
}

void fw_arena_reset(struct fw_arena *a)
{
	struct fw_arena_block *keep = a->head;
	if (keep) {
		a->head = keep->next;
		fw_arena_deinit(a);
		keep->next = NULL;
		keep->used = 0;
		ASAN_POISON_MEMORY_REGION(keep->data, keep->size);
		a->head = keep;
	}
	a->used = 0;
}

static struct fw_arena_block *add_block(struct fw_arena *a, size_t size)
{
	struct fw_arena_block *head = a->head;
	size_t block = head ? head->size * 2 : FIRST_BLOCK;
	if (block > LAST_BLOCK)
		block = LAST_BLOCK;
	bool own = size > block / 2;
	if (own)
		block = size;
	struct fw_arena_block *b = malloc(sizeof(*b) + block);
	if (!b)
		return NULL;
	b->size = block;
	b->used = 0;
	ASAN_POISON_MEMORY_REGION(b->data, block);
	if (own && head) {	// the head still has room for small requests
		b->next = head->next;
		head->next = b;
	} else {
		b->next = head;
		a->head = b;
	}
	return b;
}

void *fw_arena_alloc(struct fw_arena *a, size_t size)
{
	if (size > PTRDIFF_MAX - 2 * LAST_BLOCK || fw_alloc_should_fail())
		return NULL;
	size_t rounded = size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
	if (a->cap && (a->used > a->cap || rounded > a->cap - a->used))
		return NULL;
	struct fw_arena_block *b = a->head;
	if (!b || rounded > b->size - b->used) {
		b = add_block(a, rounded);
		if (!b)
			return NULL;
	}
	void *p = b->data + b->used;
	b->used += rounded;
	a->used += rounded;
	ASAN_UNPOISON_MEMORY_REGION(p, size);
	return p;
}

void *fw_arena_array(struct fw_arena *a, size_t count, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	void *p = fw_arena_alloc(a, total);
	return p ? memset(p, 0, total) : NULL;
}

char *fw_arena_strndup(struct fw_arena *a, const char *s, size_t n)
{
	if (n == SIZE_MAX)
		return NULL;
	char *p = fw_arena_alloc(a, n + 1);
	if (!p)
		return NULL;
	if (n)
		memcpy(p, s, n);
	p[n] = '\0';
	return p;
}
