// Folded stacks and differences, against lines written by hand from the grammar of
// their consumers (flamegraph.pl: /^(.*)\s+?(\d+(?:\.\d*)?)$/, ';' between frames).
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "tests/synth_profile.h"

Suite *profile_folded_suite(void);

static void check_folded(const struct synth_profile *b, struct fw_folded_options o,
			 const char *expected)
{
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_folded(&b->p, &o, &out);
	ck_assert_str_eq(synth_profile_text(&out), expected);
	fw_out_deinit(&out);
}

START_TEST(inlined_calls_are_frames)
{
	struct synth_profile *b = synth_profile_small();
	b->threads[0].pid = b->threads[0].tid = 0;
	check_folded(b, (struct fw_folded_options){ 0 },
		     "app;main;[libc.so.6] 2\n"
		     "app;main;[libc.so.6];do_fault 1\n"
		     "app;main;work;fast 3\n");
	check_folded(b, (struct fw_folded_options){ .no_inline = true },
		     "app;main;[libc.so.6] 2\n"
		     "app;main;[libc.so.6];do_fault 1\n"
		     "app;main;work 3\n");
	synth_profile_destroy(b);
}
END_TEST

// inferno: kernel _[k], inlined _[i], JIT _[j].
START_TEST(annotations)
{
	struct synth_profile *b = synth_profile_small();
	b->frames[0].jit = true;
	check_folded(b, (struct fw_folded_options){ .annotate = true, .weight = true },
		     "app-100/101;main_[j];[libc.so.6] 2000000\n"
		     "app-100/101;main_[j];[libc.so.6];do_fault_[k] 1000000\n"
		     "app-100/101;main_[j];work;fast_[i] 3000000\n");
	synth_profile_destroy(b);
}
END_TEST

// Different places of one function from one stack are one line; so are threads of one name.
START_TEST(equal_lines_are_merged)
{
	struct synth_profile *b = synth_profile_create();
	uint32_t a = synth_prof_thread(b, 0, 0, "pool worker");
	uint32_t c = synth_prof_thread(b, 0, 0, "pool worker");
	uint32_t m = synth_prof_module(b, "/opt/app", NULL, 0x400000, 0x1000);
	uint32_t x = synth_node(b, 0, synth_prof_frame(b, m, 0x10, "f"));
	uint32_t y = synth_node(b, 0, synth_prof_frame(b, m, 0x20, "f"));
	synth_stack(b, synth_node(b, x, synth_prof_frame(b, m, 0x30, "g")), a, 0, 1);
	synth_stack(b, synth_node(b, y, synth_prof_frame(b, m, 0x40, "g")), a, 0, 10);
	synth_stack(b, y, c, 0, 100);
	synth_stack(b, x, c, 0, 1000);
	check_folded(b, (struct fw_folded_options){ 0 },
		     "pool_worker;f 1100\n"
		     "pool_worker;f;g 11\n");
	synth_profile_destroy(b);
}
END_TEST

START_TEST(hostile_names)
{
	static const struct { const char *name, *folded; } names[] = {
		{ "a;b", "a:b" }, { "new\x0aline", "new\\x0aline" }, { "esc\x1b[31m", "esc\\x1b[31m" },
		{ "bad\xff", "bad\\xff" }, { "r\xc3\xb6t", "r\xc3\xb6t" }, { "tab\t1", "tab\\x091" },
		{ "RegExp: 12", "RegExp:_12" }, { "v 1.5", "v_1.5" }, { "v 12.", "v_12." },
		{ "operator new", "operator new" }, { "a 1 b", "a 1 b" }, { "f(int) 7", "f(int)_7" },
		{ "12", "12" }, { ".", "." }, { " .5", " .5" },
		{ "rtl\xe2\x80\xae", "rtl\\xe2\\x80\\xae" }, { "std::vector<int>", "std::vector<int>" },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		// The builder splits at line feeds, so the name is put in afterwards.
		struct synth_profile *b = synth_profile_create();
		synth_prof_thread(b, 0, 0, "x");
		uint32_t frame = synth_prof_frame(b, FW_NO_MODULE, 1, "f");
		synth_stack(b, synth_node(b, 0, frame), 0, 0, 1);
		b->lines[0].function = (struct fw_str){ names[i].name, strlen(names[i].name) };
		char expected[64];
		snprintf(expected, sizeof(expected), "x;%s 1\n", names[i].folded);
		check_folded(b, (struct fw_folded_options){ 0 }, expected);
		synth_profile_destroy(b);
	}
}
END_TEST

START_TEST(names_for_what_has_none)
{
	struct synth_profile *b = synth_profile_create();
	uint32_t t = synth_prof_thread(b, 0, 0, NULL), u = synth_prof_thread(b, 7, 8, NULL);
	uint32_t vdso = synth_prof_module(b, "[vdso]", NULL, 0x7000, 0x1000);
	uint32_t cut = synth_prof_frame(b, FW_NO_MODULE, 0, NULL);
	b->frames[cut].truncated = true;
	cut = synth_node(b, 0, cut);
	synth_stack(b, synth_node(b, cut, synth_prof_frame(b, vdso, 1, NULL)), t, 0, 1);
	synth_stack(b, synth_node(b, cut, synth_prof_frame(b, FW_NO_MODULE, 1, "")), t, 0, 2);
	synth_stack(b, 0, u, 0, 4);	// no frame at all
	check_folded(b, (struct fw_folded_options){ 0 },
		     "-7/8 4\n"
		     "[unknown];[truncated];[unknown] 2\n"
		     "[unknown];[truncated];[vdso] 1\n");
	synth_profile_destroy(b);
}
END_TEST

// Two events never add up: what is not of the same unit gets a tower of its own.
START_TEST(events_are_told_apart)
{
	struct synth_profile *b = synth_profile_small();
	synth_event(b, "page-faults:u");
	b->threads[0].pid = b->threads[0].tid = 0;
	synth_stack(b, 1, 0, 1, 9);
	check_folded(b, (struct fw_folded_options){ .no_inline = true },
		     "[cpu-clock];app;main;[libc.so.6] 2\n"
		     "[cpu-clock];app;main;[libc.so.6];do_fault 1\n"
		     "[cpu-clock];app;main;work 3\n"
		     "[page-faults:u];app;main 9\n");
	synth_profile_destroy(b);
}
END_TEST

static int by_stack(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

/**
 * Sorted by the bytes of the stacks, as `sort { $a cmp $b } keys` of stackcollapse-perf.pl:
 * names around ';' (0x3b) are what a sort by frames gets wrong.
 */
START_TEST(sorted_by_bytes)
{
	static const char *const parts[] = {
		"f", "f ", "f a", "f:", "f<", "fa", "f~", "e", "f\xc3\xa9"
	};
	enum { N = sizeof(parts) / sizeof(*parts) };
	struct synth_profile *b = synth_profile_create();
	synth_prof_thread(b, 0, 0, "x");
	for (uint32_t i = 0; i < N; i++) {
		uint32_t frame = synth_prof_frame(b, FW_NO_MODULE, i, parts[N - 1 - i]);
		uint32_t outer = synth_node(b, 0, frame);
		synth_stack(b, outer, 0, 0, 1);
		for (uint32_t k = 0; k < N; k++) {
			frame = synth_prof_frame(b, FW_NO_MODULE, k, parts[k]);
			synth_stack(b, synth_node(b, outer, frame), 0, 0, 1);
		}
	}
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_folded(&b->p, &(struct fw_folded_options){ 0 }, &out);
	char *text = strdup(synth_profile_text(&out)), *stacks[N * (N + 1)], *sorted[N * (N + 1)];
	size_t n = 0;
	for (char *s = strtok(text, "\n"); s; s = strtok(NULL, "\n")) {
		ck_assert(n < N * (N + 1));
		*strrchr(s, ' ') = '\0';
		stacks[n++] = s;
	}
	ck_assert_uint_eq(n, N * (N + 1));
	memcpy(sorted, stacks, sizeof(stacks));
	qsort(sorted, n, sizeof(*sorted), by_stack);
	for (size_t i = 0; i < n; i++)
		ck_assert_str_eq(stacks[i], sorted[i]);
	free(text);
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(empty_profile)
{
	struct synth_profile *b = synth_profile_create();
	check_folded(b, (struct fw_folded_options){ 0 }, "");
	synth_profile_destroy(b);
}
END_TEST

// difffolded.pl: "stack count1 count2", zero where a file has no such stack.
START_TEST(difference)
{
	struct synth_profile *a = synth_profile_small(), *b = synth_profile_small();
	struct fw_out out;
	a->threads[0].pid = a->threads[0].tid = b->threads[0].pid = b->threads[0].tid = 0;
	a->p.num_stacks = 2;
	b->stacks[0].samples = 40;
	b->stacks[1].node = 1;
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_diff(&a->p, &b->p, &out);
	ck_assert_str_eq(synth_profile_text(&out),
			 "app;main 0 2\n"
			 "app;main;[libc.so.6] 2 0\n"
			 "app;main;[libc.so.6];do_fault 0 1\n"
			 "app;main;work;fast 3 40\n");
	fw_out_deinit(&out);
	synth_profile_destroy(a);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(out_of_memory_is_said)
{
	struct synth_profile *b = synth_profile_small();
	unsigned failures = 0;
	for (uint64_t nth = 1;; nth++) {
		struct fw_out out;
		struct fw_error err;
		fw_out_init_memory(&out, 1 << 20);
		fw_alloc_fail_at(nth);
		fw_profile_write_folded(&b->p, &(struct fw_folded_options){ 0 }, &out);
		fw_alloc_fail_at(0);
		enum fw_code code = fw_out_flush(&out, &err);
		fw_out_deinit(&out);
		if (code == FW_OK)
			break;
		ck_assert_int_eq(code, FW_NO_MEMORY);
		ck_assert_str_eq(err.message, "out of memory");
		failures++;
	}
	ck_assert_uint_ge(failures, 10);
	synth_profile_destroy(b);
}
END_TEST

Suite *profile_folded_suite(void)
{
	Suite *s = suite_create("profile_folded");
	TCase *tc = tcase_create("folded");
	tcase_add_test(tc, inlined_calls_are_frames);
	tcase_add_test(tc, annotations);
	tcase_add_test(tc, equal_lines_are_merged);
	tcase_add_test(tc, hostile_names);
	tcase_add_test(tc, names_for_what_has_none);
	tcase_add_test(tc, events_are_told_apart);
	tcase_add_test(tc, sorted_by_bytes);
	tcase_add_test(tc, empty_profile);
	tcase_add_test(tc, difference);
	tcase_add_test(tc, out_of_memory_is_said);
	suite_add_tcase(s, tc);
	return s;
}
