#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/image/builder.h"

static int by_order(const struct fw_span *a, const struct fw_span *b)
{
	return a->order < b->order ? -1 : a->order > b->order;
}

static int first_at_start(const void *pa, const void *pb)
{
	const struct fw_span *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return by_order(a, b);
}

static int outermost_first(const void *pa, const void *pb)
{
	const struct fw_span *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return by_order(a, b);
}

struct sweep {
	struct fw_span *stack;		// the spans that are open, outermost first
	uint32_t depth;
	uint32_t at;			// everything below is laid flat
	struct fw_span *out;
	uint32_t count;
};

/** The innermost open span gets [at, upto). */
static void emit(struct sweep *s, uint32_t upto)
{
	const struct fw_span *top = &s->stack[s->depth - 1];
	if (upto > s->at) {
		s->out[s->count++] = (struct fw_span){ s->at, upto, top->item, top->order };
		s->at = upto;
	}
}

static void close_until(struct sweep *s, uint32_t address)
{
	while (s->depth && s->stack[s->depth - 1].end <= address) {
		emit(s, s->stack[s->depth - 1].end);
		s->depth--;
	}
}

/** @return true when the span overlaps another in a way that is counted. */
static bool add(struct sweep *s, const struct fw_span *span, enum fw_span_policy policy)
{
	bool cut = false;
	close_until(s, span->start);
	if (s->depth) {
		const struct fw_span *top = &s->stack[s->depth - 1];
		if (top->start == span->start &&
		    (policy == FW_SPAN_FIRST_AT_START || top->end == span->end))
			return true;
		emit(s, span->start);
	}
	// partial overlap: the earlier ends where this one starts
	while (s->depth && s->stack[s->depth - 1].end < span->end) {
		cut = true;
		s->depth--;
	}
	bool nested = s->depth != 0;
	s->at = span->start;
	s->stack[s->depth++] = *span;
	return cut || (nested && policy == FW_SPAN_FIRST_AT_START);
}

enum fw_code fw_spans_flatten(const struct fw_span *spans, uint32_t n,
			      enum fw_span_policy policy, struct fw_span **ret,
			      uint32_t *ret_n, uint32_t *overlaps)
{
	int (*compare)(const void *, const void *) =
		policy == FW_SPAN_INNERMOST ? outermost_first : first_at_start;
	enum fw_code code = FW_NO_MEMORY;
	struct fw_span *sorted = NULL, *stack = NULL, *out = NULL;
	uint32_t counted = 0;

	if (fw_alloc_should_fail())
		goto done;
	// every span that opens may leave two pieces: before and after what it holds
	sorted = calloc((size_t)n + 1, sizeof(*sorted));
	stack = calloc((size_t)n + 1, sizeof(*stack));
	out = calloc(2 * (size_t)n + 1, sizeof(*out));
	if (!sorted || !stack || !out)
		goto done;
	if (n)
		memcpy(sorted, spans, n * sizeof(*sorted));
	bool in_order = true;
	for (uint32_t i = 1; i < n && in_order; i++)
		in_order = compare(&sorted[i - 1], &sorted[i]) <= 0;
	if (!in_order)
		qsort(sorted, n, sizeof(*sorted), compare);
	struct sweep s = { .stack = stack, .out = out };
	for (uint32_t i = 0; i < n; i++)
		if (sorted[i].start < sorted[i].end)
			counted += add(&s, &sorted[i], policy);
	close_until(&s, UINT32_MAX);
	*ret = out;
	*ret_n = s.count;
	*overlaps = counted;
	out = NULL;
	code = FW_OK;
done:
	free(sorted);
	free(stack);
	free(out);
	return code;
}
