#ifndef FW_BASE_POOL_H
#define FW_BASE_POOL_H

#include <stdint.h>

#include "lib/base/error.h"

/**
 * Run job(context, index, worker) for every index in [0, count) on up to
 * @p threads threads (the caller's is one of them; 0 means one per CPU, at
 * most 64). Indexes are handed out in ascending order; worker is a number
 * below the thread count, for per-worker scratch. Returns when all are done.
 * Thread creation that fails costs parallelism, never jobs.
 */
void fw_pool_for(unsigned threads, uint64_t count,
		 void (*job)(void *context, uint64_t index, unsigned worker),
		 void *context);

/** What 0 threads means on this machine: 1 to 64. */
unsigned fw_pool_default_threads(void);

#endif
