#include <check.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/pool.h"

Suite *pool_suite(void);

enum { MANY = 10000 };

struct seen {
	unsigned times[MANY];
	uint64_t last[64];	// per worker, index + 1
	unsigned workers;	// allowed
	unsigned wrong;		// atomic
	pthread_t caller;
	unsigned elsewhere;	// atomic: jobs outside the caller's thread
};

static void note(void *context, uint64_t index, unsigned worker)
{
	struct seen *s = context;
	if (index >= MANY || worker >= s->workers || index < s->last[worker]) {
		__atomic_fetch_add(&s->wrong, 1, __ATOMIC_RELAXED);
		return;
	}
	s->last[worker] = index + 1;
	s->times[index]++;	// not atomic: each index has one job, join publishes it
	if (!pthread_equal(pthread_self(), s->caller))
		__atomic_fetch_add(&s->elsewhere, 1, __ATOMIC_RELAXED);
}

static const struct {
	unsigned threads;
	uint64_t count;
	unsigned workers;
} pool_cases[] = {
	{ 1, MANY, 1 },
	{ 2, MANY, 2 },
	{ 7, MANY, 7 },
	{ 8, 3, 3 },		// no more threads than jobs
	{ 4, 0, 0 },
	{ 0, MANY, 64 },
	{ 1000, MANY, 64 },
};

START_TEST(every_index_runs_once_in_order)
{
	static struct seen s;
	memset(&s, 0, sizeof(s));
	s.workers = pool_cases[_i].workers;
	s.caller = pthread_self();
	fw_pool_for(pool_cases[_i].threads, pool_cases[_i].count, note, &s);
	ck_assert_uint_eq(s.wrong, 0);
	for (uint64_t i = 0; i < MANY; i++)
		ck_assert_uint_eq(s.times[i], i < pool_cases[_i].count);
	if (pool_cases[_i].threads == 1)
		ck_assert_uint_eq(s.elsewhere, 0);
}
END_TEST

START_TEST(jobs_are_done_even_without_threads)
{
	static struct seen s;
	pthread_attr_t usual, huge;
	memset(&s, 0, sizeof(s));
	s.workers = 8;
	s.caller = pthread_self();
	ck_assert_int_eq(pthread_getattr_default_np(&usual), 0);
	ck_assert_int_eq(pthread_attr_init(&huge), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&huge, (size_t)1 << (sizeof(size_t) * 7)), 0);
	ck_assert_int_eq(pthread_setattr_default_np(&huge), 0);
	fw_pool_for(8, MANY, note, &s);
	ck_assert_int_eq(pthread_setattr_default_np(&usual), 0);
	pthread_attr_destroy(&huge);
	pthread_attr_destroy(&usual);
	ck_assert_uint_eq(s.wrong, 0);
	ck_assert_uint_eq(s.elsewhere, 0);
	ck_assert_uint_eq(s.last[0], MANY);
}
END_TEST

START_TEST(default_is_between_1_and_64)
{
	unsigned n = fw_pool_default_threads();
	ck_assert(n >= 1 && n <= 64);
}
END_TEST

Suite *pool_suite(void)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("pool");
	tcase_add_loop_test(tc, every_index_runs_once_in_order, 0,
			    sizeof(pool_cases) / sizeof(*pool_cases));
	tcase_add_test(tc, jobs_are_done_even_without_threads);
	tcase_add_test(tc, default_is_between_1_and_64);
	suite_add_tcase(s, tc);
	return s;
}
