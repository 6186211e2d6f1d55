#include "lib/report/made_index.h"

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/limits.h"

static int by_start(const void *pa, const void *pb)
{
	const struct fw_made_span *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->item > b->item) - (a->item < b->item);
}

/** The middle of [lo, hi) is the root of its subtree. */
static uint64_t fill(struct fw_made_index *x, size_t lo, size_t hi)
{
	if (lo == hi)
		return 0;
	size_t mid = lo + (hi - lo) / 2;
	uint64_t left = fill(x, lo, mid), right = fill(x, mid + 1, hi);
	uint64_t most = x->spans.data[mid].end;
	if (left > most)
		most = left;
	if (right > most)
		most = right;
	return x->highest[mid] = most;
}

enum fw_code fw_made_index_build(struct fw_made_index *x)
{
	const size_t n = x->spans.count;
	if (n == 0)
		return FW_OK;
	x->highest = fw_alloc_should_fail() ? NULL : calloc(n, sizeof(*x->highest));
	if (x->highest == NULL)
		return FW_NO_MEMORY;
	qsort(x->spans.data, n, sizeof(*x->spans.data), by_start);
	fill(x, 0, n);
	return FW_OK;
}

void fw_made_index_deinit(struct fw_made_index *x)
{
	fw_vec_deinit(&x->spans);
	free(x->highest);
	x->highest = NULL;
}

struct query { uint64_t address, time; const struct fw_made_span *best; uint32_t steps; };

static void visit(const struct fw_made_index *x, size_t lo, size_t hi, struct query *q)
{
	while (lo < hi && q->steps <= FW_MAX_MADE_STEPS) {
		const size_t mid = lo + (hi - lo) / 2;
		const struct fw_made_span *s = &x->spans.data[mid];
		if (x->highest[mid] <= q->address)
			return;
		q->steps++;
		visit(x, lo, mid, q);
		if (s->start > q->address)
			return;
		if (q->address < s->end && s->from <= q->time &&
		    (q->time < s->to || s->to == UINT64_MAX) &&
		    (q->best == NULL || s->from > q->best->from ||
		     (s->from == q->best->from && s->item > q->best->item)))
			q->best = s;
		lo = mid + 1;
	}
}

bool fw_made_index_find(const struct fw_made_index *x, uint64_t address, uint64_t time,
			uint32_t *ret_item)
{
	struct query q = { address, time, NULL, 0 };
	if (x->highest == NULL)
		return false;
	visit(x, 0, x->spans.count, &q);
	if (q.best == NULL || q.steps > FW_MAX_MADE_STEPS)
		return false;
	*ret_item = q.best->item;
	return true;
}
