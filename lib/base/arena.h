#ifndef FW_BASE_ARENA_H
#define FW_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/**
 * Bump allocator with a total cap. Everything taken from it dies together.
 * Not thread safe: one owner at a time.
 */
struct fw_arena {
	struct fw_arena_block *head;	// newest block first
	uint64_t used;			// bytes handed out, alignment included
	uint64_t cap;			// 0 means: no cap
};

void fw_arena_init(struct fw_arena *a, uint64_t cap);
void fw_arena_deinit(struct fw_arena *a);
/** Forget all allocations but keep one block for reuse. */
void fw_arena_reset(struct fw_arena *a);

/** @return 16-byte aligned storage, or NULL when memory or the cap is exhausted. */
void *fw_arena_alloc(struct fw_arena *a, size_t size);
/** Zeroed array; NULL also when count * size overflows. */
void *fw_arena_array(struct fw_arena *a, size_t count, size_t size);
/** NUL-terminated copy of n bytes. */
char *fw_arena_strndup(struct fw_arena *a, const char *s, size_t n);

/**
 * Tests only: the Nth call of fw_arena_alloc, fw_vec growth or fw_alloc from
 * now fails once (0 switches the hook off). Process-wide; single-threaded use.
 */
void fw_alloc_fail_at(uint64_t nth);
/** True when the hook says that this allocation must fail. */
int fw_alloc_should_fail(void);

#endif
