// Perf maps (tools/perf/Documentation/jit-interface.txt), written here by hand, and the index
// of what was where and when.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/report/made_index.h"
#include "lib/report/perf_map.h"

Suite *perf_map_suite(void);

static struct fw_perf_map *map;

static void parse_map(const char *text)
{
	struct fw_error err;
	ck_assert_int_eq(fw_perf_map_parse(text, strlen(text), &map, &err), FW_OK);
}

/** @p name NULL: none. */
static void check_map(uint64_t address, const char *name, uint64_t start)
{
	struct fw_str got;
	uint64_t got_start;
	bool found = fw_perf_map_find(map, address, &got, &got_start);
	ck_assert_int_eq(found, name != NULL);
	if (name == NULL)
		return;
	ck_assert_uint_eq(got.n, strlen(name));
	ck_assert_mem_eq(got.s, name, got.n);
	ck_assert_uint_eq(got_start, start);
}

START_TEST(map_names_are_found)
{
	parse_map("7f0000001000 40 JS:~main app.js:1:1\n"
		  "0x7f0000001040 0x0000000000000020 int T.f(int, long)\r\n"
		  "7f0000003000 1 last");
	check_map(0x7f0000000fff, NULL, 0);
	check_map(0x7f0000001000, "JS:~main app.js:1:1", 0x7f0000001000);
	check_map(0x7f000000103f, "JS:~main app.js:1:1", 0x7f0000001000);
	check_map(0x7f0000001040, "int T.f(int, long)", 0x7f0000001040);
	check_map(0x7f0000001060, NULL, 0);
	check_map(0x7f0000003000, "last", 0x7f0000003000);
	check_map(0x7f0000003001, NULL, 0);
	ck_assert_uint_eq(fw_perf_map_skipped(map), 0);
	fw_perf_map_close(map);
}
END_TEST

// Code is thrown away and other code takes its place: a map only grows.
START_TEST(last_of_several_names_counts)
{
	parse_map("1000 100 outer\n1010 10 old\n1018 10 newer\n1010 4 newest\n");
	check_map(0x1000, "outer", 0x1000);
	check_map(0x1010, "newest", 0x1010);
	check_map(0x1013, "newest", 0x1010);
	check_map(0x1014, "old", 0x1010);
	check_map(0x1018, "newer", 0x1018);
	check_map(0x1027, "newer", 0x1018);
	check_map(0x1028, "outer", 0x1000);
	fw_perf_map_close(map);
}
END_TEST

START_TEST(bad_lines_cost_themselves)
{
	parse_map("\n1000 10 good\nx 10 f\n1000\n1000 10\n1000 10 \n1000 0 empty\n"
		  "10000000000000000 1 wide\nffffffffffffff00 101 over\n-1 1 f\n1000,10 f\n");
	ck_assert_uint_eq(fw_perf_map_skipped(map), 9);
	check_map(0x1000, "good", 0x1000);
	fw_perf_map_close(map);
	parse_map("");
	check_map(0, NULL, 0);
	fw_perf_map_close(map);
}
END_TEST

START_TEST(text_that_is_no_map)
{
	struct fw_error err;
	ck_assert_int_eq(fw_perf_map_parse("a\nb\n", 4, &map, &err), FW_MALFORMED);
	ck_assert_str_eq(err.message, "no line of it is START SIZE name");
}
END_TEST

START_TEST(map_has_a_limit)
{
	struct fw_error err;
	const size_t n = FW_MAX_PERF_MAP + 1, line = 6;
	char *text = malloc(n * line);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * line, "1 1 f\n", line);
	ck_assert_int_eq(fw_perf_map_parse(text, n * line, &map, &err), FW_LIMIT);
	ck_assert_str_eq(err.message, "more than 4194304 functions");
	free(text);
}
END_TEST

START_TEST(names_of_a_map_have_a_limit)
{
	char *text = malloc(FW_MAX_NAME + 64);
	int n = sprintf(text, "1000 10 ");
	memset(text + n, 'a', FW_MAX_NAME);
	strcpy(text + n + FW_MAX_NAME, "\n2000 10 f\n");
	parse_map(text);
	ck_assert_uint_eq(fw_perf_map_skipped(map), 0);
	fw_perf_map_close(map);
	strcpy(text + n + FW_MAX_NAME, "a\n2000 10 f\n");
	parse_map(text);
	ck_assert_uint_eq(fw_perf_map_skipped(map), 1);
	check_map(0x1000, NULL, 0);
	check_map(0x2000, "f", 0x2000);
	fw_perf_map_close(map);
	free(text);
}
END_TEST

// ---- the index ----

START_TEST(index_finds_what_a_search_from_end_to_end_finds)
{
	struct fw_made_index x = { 0 };
	enum { N = 300 };
	uint32_t seed = 1, item;
	for (uint32_t i = 0; i < N; i++) {
		uint32_t r[4];
		for (unsigned k = 0; k < 4; k++)
			r[k] = (seed = seed * 1103515245 + 12345) >> 16;
		struct fw_made_span s = { r[0] % 1000, 0, r[2] % 100, UINT64_MAX, i };
		s.end = s.start + 1 + r[1] % (i % 10 ? 20 : 500);
		if (i % 3 == 0)
			s.to = s.from + r[3] % 50;
		ck_assert(fw_vec_push(&x.spans, s));
	}
	ck_assert_int_eq(fw_made_index_build(&x), FW_OK);
	for (uint64_t address = 0; address < 1600; address++) {
		for (uint64_t time = 0; time < 160; time += 7) {
			const struct fw_made_span *best = NULL;
			for (unsigned i = 0; i < N; i++) {
				const struct fw_made_span *s = &x.spans.data[i];
				if (address >= s->start && address < s->end && time >= s->from &&
				    (time < s->to || s->to == UINT64_MAX) &&
				    (!best || s->from > best->from ||
				     (s->from == best->from && s->item > best->item)))
					best = s;
			}
			bool found = fw_made_index_find(&x, address, time, &item);
			ck_assert_int_eq(found, best != NULL);
			if (found)
				ck_assert_uint_eq(item, best->item);
		}
	}
	fw_made_index_deinit(&x);
}
END_TEST

START_TEST(index_has_a_limit)
{
	struct fw_made_index x = { 0 };
	uint32_t item;
	for (uint32_t i = 0; i < FW_MAX_MADE_STEPS + 1; i++)
		ck_assert(fw_vec_push(&x.spans, ((struct fw_made_span){ 1, 3, 0, UINT64_MAX, i })));
	ck_assert_int_eq(fw_made_index_build(&x), FW_OK);
	ck_assert(!fw_made_index_find(&x, 1, 0, &item));
	ck_assert(!fw_made_index_find(&x, 3, 0, &item));
	fw_made_index_deinit(&x);
}
END_TEST

Suite *perf_map_suite(void)
{
	Suite *s = suite_create("perf_map");
	TCase *t = tcase_create("perf map");
	tcase_add_test(t, map_names_are_found);
	tcase_add_test(t, last_of_several_names_counts);
	tcase_add_test(t, bad_lines_cost_themselves);
	tcase_add_test(t, text_that_is_no_map);
	tcase_add_test(t, map_has_a_limit);
	tcase_add_test(t, names_of_a_map_have_a_limit);
	suite_add_tcase(s, t);
	t = tcase_create("index");
	tcase_add_test(t, index_finds_what_a_search_from_end_to_end_finds);
	tcase_add_test(t, index_has_a_limit);
	suite_add_tcase(s, t);
	return s;
}
