#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "lib/base/pool.h"

enum { MAX_THREADS = 64 };

struct pool {
	void (*job)(void *context, uint64_t index, unsigned worker);
	void *context;
	uint64_t count;
	uint64_t next;		// atomic
};

struct worker {
	struct pool *pool;
	unsigned number;
	pthread_t thread;
};

static void *run(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	for (;;) {
		// Ordering comes from thread creation and join; this only hands out numbers.
		uint64_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
		if (i >= p->count)
			return NULL;
		p->job(p->context, i, w->number);
	}
}

unsigned fw_pool_default_threads(void)
{
	cpu_set_t set;
	long n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
							       : sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

void fw_pool_for(unsigned threads, uint64_t count,
		 void (*job)(void *context, uint64_t index, unsigned worker),
		 void *context)
{
	struct pool pool = { .job = job, .context = context, .count = count };
	struct worker workers[MAX_THREADS];
	unsigned started = 1;

	if (threads == 0)
		threads = fw_pool_default_threads();
	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	if (threads > count)
		threads = (unsigned)count;
	workers[0] = (struct worker){ .pool = &pool };
	while (started < threads) {
		struct worker *w = &workers[started];
		*w = (struct worker){ .pool = &pool, .number = started };
		if (pthread_create(&w->thread, NULL, run, w) != 0)
			break;
		started++;
	}
	run(&workers[0]);
	while (--started > 0)
		pthread_join(workers[started].thread, NULL);
}
