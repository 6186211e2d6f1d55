#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/image/builder.h"

Suite *spans_suite(void);

enum { MAX = 8 };

// Spans by hand: {start, end, item}, order is the position. {0} ends a list.
static const struct {
	struct fw_span in[MAX], out[MAX];
	enum fw_span_policy policy;
	uint32_t n, overlaps;
} cases[] = {
	// nothing
	{ .n = 0 },
	// disjoint, out of order
	{ { { 20, 30, 1, 0 }, { 0, 10, 2, 1 } }, { { 0, 10, 2, 0 }, { 20, 30, 1, 0 } }, 0, 2, 0 },
	// neighbours do not overlap
	{ { { 0, 10, 1, 0 }, { 10, 20, 2, 1 } }, { { 0, 10, 1, 0 }, { 10, 20, 2, 0 } }, 0, 2, 0 },
	// nested: inner wins, outer is split
	{ { { 0, 30, 1, 0 }, { 10, 20, 2, 1 } },
	  { { 0, 10, 1, 0 }, { 10, 20, 2, 0 }, { 20, 30, 1, 0 } }, 0, 2, 1 },
	// the same, innermost policy: nesting is not a fault
	{ { { 0, 30, 1, 0 }, { 10, 20, 2, 1 } },
	  { { 0, 10, 1, 0 }, { 10, 20, 2, 0 }, { 20, 30, 1, 0 } }, FW_SPAN_INNERMOST, 2, 0 },
	// partial: the earlier ends where the later starts
	{ { { 0, 20, 1, 0 }, { 10, 30, 2, 1 } }, { { 0, 10, 1, 0 }, { 10, 30, 2, 0 } }, 0, 2, 1 },
	{ { { 0, 20, 1, 0 }, { 10, 30, 2, 1 } }, { { 0, 10, 1, 0 }, { 10, 30, 2, 0 } },
	  FW_SPAN_INNERMOST, 2, 1 },
	// equal start: the first in file order, even if it is the shorter
	{ { { 0, 10, 1, 0 }, { 0, 30, 2, 1 } }, { { 0, 10, 1, 0 } }, 0, 2, 1 },
	{ { { 0, 30, 1, 0 }, { 0, 10, 2, 1 } }, { { 0, 30, 1, 0 } }, 0, 2, 1 },
	// equal start, innermost: the shorter wins its range, in any order
	{ { { 0, 10, 1, 0 }, { 0, 30, 2, 1 } }, { { 0, 10, 1, 0 }, { 10, 30, 2, 0 } },
	  FW_SPAN_INNERMOST, 2, 0 },
	{ { { 0, 30, 2, 0 }, { 0, 10, 1, 1 } }, { { 0, 10, 1, 0 }, { 10, 30, 2, 0 } },
	  FW_SPAN_INNERMOST, 2, 0 },
	// equal ranges: the first
	{ { { 0, 10, 1, 0 }, { 0, 10, 2, 1 } }, { { 0, 10, 1, 0 } }, FW_SPAN_INNERMOST, 2, 1 },
	// a partial overlap inside an outer one that goes on behind both
	{ { { 0, 100, 1, 0 }, { 10, 30, 2, 1 }, { 20, 40, 3, 2 } },
	  { { 0, 10, 1, 0 }, { 10, 20, 2, 0 }, { 20, 40, 3, 0 }, { 40, 100, 1, 0 } }, 0, 3, 2 },
	// one span cuts two at once
	{ { { 0, 50, 1, 0 }, { 10, 40, 2, 1 }, { 20, 60, 3, 2 } },
	  { { 0, 10, 1, 0 }, { 10, 20, 2, 0 }, { 20, 60, 3, 0 } }, 0, 3, 2 },
	// inner ends with the outer
	{ { { 0, 30, 1, 0 }, { 10, 30, 2, 1 } }, { { 0, 10, 1, 0 }, { 10, 30, 2, 0 } }, 0, 2, 1 },
	// empty and backward spans vanish
	{ { { 5, 5, 1, 0 }, { 9, 3, 2, 1 }, { 0, 1, 3, 2 } }, { { 0, 1, 3, 0 } }, 0, 3, 0 },
	// the whole address space
	{ { { 0, UINT32_MAX, 1, 0 }, { UINT32_MAX - 1, UINT32_MAX, 2, 1 } },
	  { { 0, UINT32_MAX - 1, 1, 0 }, { UINT32_MAX - 1, UINT32_MAX, 2, 0 } }, 0, 2, 1 },
};

START_TEST(overlap_rules)
{
	struct fw_span *flat = NULL;
	uint32_t n = 99, overlaps = 99, want = 0;
	ck_assert_int_eq(fw_spans_flatten(cases[_i].in, cases[_i].n, cases[_i].policy, &flat, &n,
					  &overlaps), FW_OK);
	while (want < MAX && cases[_i].out[want].end)
		want++;
	ck_assert_uint_eq(n, want);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_eq(flat[i].start, cases[_i].out[i].start);
		ck_assert_uint_eq(flat[i].end, cases[_i].out[i].end);
		ck_assert_uint_eq(flat[i].item, cases[_i].out[i].item);
	}
	ck_assert_uint_eq(overlaps, cases[_i].overlaps);
	free(flat);
}
END_TEST

enum { SPACE = 32 };

/**
 * The rules again, naively: each span in order of start cuts what it meets;
 * at an address the one that starts last wins.
 */
static void paint(const struct fw_span *in, uint32_t n, enum fw_span_policy policy,
		  uint32_t owner[SPACE])
{
	struct fw_span s[16];
	uint32_t kept = 0;
	for (uint32_t start = 0; start < SPACE; start++)
		for (uint32_t len = SPACE; len > 0; len--)
			for (uint32_t i = 0; i < n; i++) {
				uint32_t l = in[i].end - in[i].start;
				bool turn = policy == FW_SPAN_INNERMOST ? l == len : len == 1;
				if (in[i].start != start || !turn)
					continue;
				struct fw_span *last = kept ? &s[kept - 1] : NULL;
				if (last && last->start == start &&
				    (policy == FW_SPAN_FIRST_AT_START || last->order == l))
					continue;
				for (uint32_t k = 0; k < kept; k++)
					if (s[k].end > start && s[k].end < in[i].end)
						s[k].end = start;
				s[kept] = in[i];
				s[kept++].order = l;
			}
	for (uint32_t a = 0; a < SPACE; a++) {
		owner[a] = 0;
		for (uint32_t k = 0; k < kept; k++)
			if (s[k].start <= a && a < s[k].end)
				owner[a] = s[k].item;
	}
}

START_TEST(equals_a_naive_painter)
{
	uint32_t seed = 12345;
	for (int round = 0; round < 4000; round++) {
		struct fw_span in[10], *flat;
		uint32_t n, overlaps, owner[SPACE];
		uint32_t count = round % 11;
		for (uint32_t i = 0; i < count; i++) {
			seed = seed * 1664525 + 1013904223;
			uint32_t start = (seed >> 24) % (SPACE - 1);
			uint32_t len = 1 + (seed >> 16 & 255) % (SPACE - start - 1);
			in[i] = (struct fw_span){ start, start + len, i + 1, i };
		}
		enum fw_span_policy policy = round & 1;
		paint(in, count, policy, owner);
		ck_assert_int_eq(fw_spans_flatten(in, count, policy, &flat, &n, &overlaps), FW_OK);
		uint32_t at = 0;
		for (uint32_t i = 0; i < n; i++) {
			ck_assert_uint_ge(flat[i].start, at);
			ck_assert_uint_lt(flat[i].start, flat[i].end);
			for (; at < flat[i].start; at++)
				ck_assert_uint_eq(owner[at], 0);
			for (; at < flat[i].end; at++)
				ck_assert_uint_eq(owner[at], flat[i].item);
		}
		for (; at < SPACE; at++)
			ck_assert_uint_eq(owner[at], 0);
		free(flat);
	}
}
END_TEST

START_TEST(no_memory_leaves_outputs_alone)
{
	struct fw_span span = { 0, 1, 2, 3 }, *flat = (struct fw_span *)&span;
	uint32_t n = 7, overlaps = 9;
	fw_alloc_fail_at(1);
	ck_assert_int_eq(fw_spans_flatten(&span, 1, FW_SPAN_FIRST_AT_START, &flat, &n, &overlaps),
			 FW_NO_MEMORY);
	fw_alloc_fail_at(0);
	ck_assert_ptr_eq(flat, &span);
	ck_assert_uint_eq(n, 7);
	ck_assert_uint_eq(overlaps, 9);
}
END_TEST

Suite *spans_suite(void)
{
	Suite *s = suite_create("spans");
	TCase *tc = tcase_create("spans");
	tcase_add_loop_test(tc, overlap_rules, 0, (int)(sizeof(cases) / sizeof(*cases)));
	tcase_add_test(tc, equals_a_naive_painter);
	tcase_add_test(tc, no_memory_leaves_outputs_alone);
	suite_add_tcase(s, tc);
	return s;
}
