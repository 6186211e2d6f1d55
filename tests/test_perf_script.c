// Real recordings against what `perf script` said of them when they were made.
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/snapshot/recording.h"

Suite *perf_script_suite(void);

enum { MOST = 64, REGISTERS = 17 };

struct expected {
	char comm[16], event[32];
	uint32_t pid, tid;
	uint64_t seconds, nanoseconds, period, ip;
	unsigned abi;
	uint64_t regs, value[REGISTERS];
	bool found;
};

static const char *const names[REGISTERS] = {	// perf's, by number of ours
	"AX", "DX", "CX", "BX", "SI", "DI", "BP", "SP", "R8", "R9", "R10", "R11", "R12", "R13",
	"R14", "R15", "IP",
};

static bool parse(char *line, struct expected *e)
{
	int n = 0;
	*e = (struct expected){ 0 };
	if (sscanf(line, " %15s %u/%u %" SCNu64 ".%" SCNu64 ": %" SCNu64 " %31s %" SCNx64 " %n",
		   e->comm, &e->pid, &e->tid, &e->seconds, &e->nanoseconds, &e->period, e->event,
		   &e->ip, &n) != 8)
		return false;
	size_t length = strlen(e->event);
	if (length && e->event[length - 1] == ':')
		e->event[length - 1] = '\0';
	sscanf(line + n, "ABI:%u", &e->abi);
	for (char *word = strtok(line + n, " \n"); word; word = strtok(NULL, " \n")) {
		char *colon = strchr(word, ':');
		for (unsigned i = 0; colon && i < REGISTERS; i++) {
			if (strlen(names[i]) != (size_t)(colon - word) ||
			    strncmp(word, names[i], (size_t)(colon - word)))
				continue;
			e->regs |= UINT64_C(1) << i;
			e->value[i] = strtoull(colon + 1, NULL, 16);
		}
	}
	return true;
}

static unsigned read_expected(const char *path, struct expected *e)
{
	char line[1024];
	unsigned n = 0;
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] != '\n') {
			ck_assert_uint_lt(n, MOST);
			ck_assert_msg(parse(line, &e[n++]), "%s", line);
		}
	}
	fclose(f);
	return n;
}

static void compare(struct fw_recording *r, const struct fw_sample *s, struct expected *e, unsigned n)
{
	unsigned i = 0;
	while (i < n && (e[i].found || e[i].seconds != s->time / 1000000000 ||
			 e[i].nanoseconds != s->time % 1000000000))
		i++;
	ck_assert_uint_lt(i, n);
	e[i].found = true;
	struct fw_str comm = fw_spaces_name(r->spaces, s->pid, s->tid, s->time);
	ck_assert_str_eq(comm.s, e[i].comm);
	ck_assert_str_eq(r->events[s->event].name.s, e[i].event);
	ck_assert(s->pid == e[i].pid && s->tid == e[i].tid);
	ck_assert_uint_eq(s->period, e[i].period);
	ck_assert_uint_eq(s->ip, e[i].ip);
	ck_assert_int_eq((int)s->abi, (int)e[i].abi);
	ck_assert_uint_eq(s->regs.valid, e[i].regs);
	for (unsigned k = 0; k < REGISTERS; k++) {
		if (fw_regs_has(&s->regs, k))
			ck_assert_uint_eq(s->regs.v[k], e[i].value[k]);
	}
}

static const char *const recordings[] = {
	"file", "compressed", "pipe", "two-events", "three-registers",
};

START_TEST(samples_as_perf_script_has_them)
{
	static struct expected e[MOST];
	static struct fw_sample s;
	struct fw_recording *r;
	struct fw_sample_batch b;
	struct fw_error err = { 0 };
	char path[4096];
	const char *root = getenv("TESTDATA") ? getenv("TESTDATA") : "testdata";
	snprintf(path, sizeof(path), "%s/perf/%s.script", root, recordings[_i]);
	unsigned n = read_expected(path, e), count = 0;
	snprintf(path, sizeof(path), "%s/perf/%s.data", root, recordings[_i]);
	ck_assert_int_eq(fw_recording_open(path, -1, &r, &err), FW_OK);
	while (fw_recording_next(r, &b, &err) == FW_OK) {
		for (uint32_t i = 0; i < b.count; i++, count++) {
			ck_assert(fw_sample_decode(r, &b.samples[i], &s));
			compare(r, &s, e, n);
		}
		fw_recording_release(r, &b);
	}
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(count, n);
	ck_assert_uint_eq(r->num_notes, 0);
	ck_assert_str_eq(r->arch.s, "x86_64");
	fw_recording_destroy(r);
}
END_TEST

Suite *perf_script_suite(void)
{
	Suite *s = suite_create("perf_script");
	TCase *tc = tcase_create("perf_script");
	tcase_add_loop_test(tc, samples_as_perf_script_has_them, 0,
			    sizeof(recordings) / sizeof(recordings[0]));
	suite_add_tcase(s, tc);
	return s;
}
