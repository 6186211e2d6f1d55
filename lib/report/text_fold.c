// What repeats in a text report: recursions within a stack, stacks among threads.
#include <stdlib.h>

#include "lib/report/text_internal.h"

enum { MIN_TIMES = 3, MIN_SAVED = 3 };	// fewer rounds or lines are printed as they are

static bool same_frame(const struct fw_frame *a, const struct fw_frame *b)
{
	return a->pc == b->pc && a->lookup == b->lookup && a->module == b->module &&
	       a->trust == b->trust && a->signal_frame == b->signal_frame;
}

bool fw_fold_at(const struct fw_frame *frames, uint32_t n, uint32_t at, struct fw_fold *ret)
{
	uint32_t best = 0;
	for (uint32_t period = 1; period <= FW_FOLD_PERIOD && period < n - at; period++) {
		uint32_t i = at + period;
		while (i < n && same_frame(&frames[i], &frames[i - period]))
			i++;
		uint32_t times = (i - at) / period;
		if (times < MIN_TIMES || (times - 1) * period < MIN_SAVED || times * period <= best)
			continue;
		best = times * period;
		*ret = (struct fw_fold){ period, times };
	}
	return best;
}

static bool same_stack(const struct fw_report_thread *a, const struct fw_report_thread *b)
{
	if (a->stack_hash != b->stack_hash || a->num_frames != b->num_frames || a->stop != b->stop)
		return false;
	for (uint32_t i = 0; i < a->num_frames; i++)
		if (!same_frame(&a->frames[i], &b->frames[i]))
			return false;
	return true;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct fw_report *r = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t h = r->threads[x].stack_hash, k = r->threads[y].stack_hash;
	if (h != k)
		return h < k ? -1 : 1;
	return x < y ? -1 : x > y;
}

void fw_fold_threads(const struct fw_report *r, int64_t except, uint32_t *leader, uint32_t *next)
{
	uint32_t *order = next;
	for (uint32_t i = 0; i < r->num_threads; i++)
		leader[i] = order[i] = i;
	qsort_r(order, r->num_threads, sizeof(*order), compare, (void *)r);
	// Equal hashes are neighbours, their first thread in front. A stack of the same
	// hash that is another one (by chance or by design) is left alone.
	int64_t first = -1;
	for (uint32_t k = 0; k < r->num_threads; k++) {
		uint32_t i = order[k];
		if (i == except)
			continue;
		if (first < 0 || r->threads[first].stack_hash != r->threads[i].stack_hash)
			first = i;
		else if (same_stack(&r->threads[first], &r->threads[i]))
			leader[i] = (uint32_t)first;
	}
	for (uint32_t i = 0; i < r->num_threads; i++)
		next[i] = FW_FOLD_END;
	for (uint32_t i = r->num_threads; i-- > 0;) {	// a leader comes last
		if (leader[i] == i)
			continue;
		next[i] = next[leader[i]];
		next[leader[i]] = i;
	}
}
