// Profiles of recordings as a whole.
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/report/profile.h"
#include "symfiles/symbols.h"
#include "tests/synth_perf.h"

Suite *profile_suite(void);

enum { FIRST = 50, LAST = 90 };

/** Two samples; @p wall: what the clock said and what time of day it was are there. */
static void record(struct synth_perf *s, bool wall)
{
	synth_perf_begin(s, &synth_perf_attr, 1);
	perf_put_sample(s, 7, LAST, 2, 2, 8);
	perf_put_sample(s, 7, FIRST, 2, 2, 8);
	synth_perf_end(s);
	synth_perf_features(s, (uint32_t[]){ 29 }, 1);
	perf_feature_open(s, 0);
	perf_put_u32(s, 1);
	perf_put_u32(s, 1);
	perf_put_u64(s, UINT64_C(1700000000000000000));
	if (wall)
		perf_put_u64(s, 45);
	perf_feature_close(s, 0);
}

static uint64_t started(bool wall)
{
	struct synth_perf s = { 0 };
	struct fw_profile_options options = { .max_frames = 16, .jobs = 1 };
	struct fw_symbol_options where = { .cache_dir = NULL };
	struct fw_recording *r;
	struct fw_symbols *symbols;
	struct fw_profile *p;
	record(&s, wall);
	int fd = memfd_create("perf.data", MFD_CLOEXEC);
	ck_assert(fd >= 0 && write(fd, s.data, s.n) == (ssize_t)s.n && !lseek(fd, 0, SEEK_SET));
	ck_assert_int_eq(fw_recording_open(NULL, fd, &r, NULL), FW_OK);
	close(fd);
	ck_assert_int_eq(fw_symbols_create(&where, &symbols, NULL), FW_OK);
	ck_assert_int_eq(fw_profile_create(r, "x", symbols, &options, &p, NULL), FW_OK);
	uint64_t ret = p->started;
	ck_assert_uint_eq(p->samples_used, 2);
	ck_assert_uint_eq(p->first_time, FIRST);
	fw_profile_destroy(p);
	fw_symbols_destroy(symbols);
	fw_recording_destroy(r);
	synth_perf_free(&s);
	return ret;
}

START_TEST(time_of_day_of_the_first_sample)
{
	ck_assert_uint_eq(started(true), UINT64_C(1700000000000000005));
	ck_assert_uint_eq(started(false), 0);
}
END_TEST

Suite *profile_suite(void)
{
	Suite *s = suite_create("profile");
	TCase *tc = tcase_create("profile");
	tcase_add_test(tc, time_of_day_of_the_first_sample);
	suite_add_tcase(s, tc);
	return s;
}
