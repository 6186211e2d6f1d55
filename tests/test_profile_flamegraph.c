// What is in the flame graph page; that it works is seen by `make check-consumers`.
#include <check.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "tests/synth_profile.h"

Suite *profile_flamegraph_suite(void);

static char *data_of(const struct fw_profile *p, const struct fw_profile *before)
{
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 22);
	fw_profile_write_flamegraph(p, before, &out);
	const char *text = synth_profile_text(&out);
	ck_assert(strncmp(text, "<!DOCTYPE html>\n", 16) == 0);
	ck_assert_ptr_null(strstr(text, "<!--DATA-->"));
	ck_assert_str_eq(text + out.count - 8, "</html>\n");
	const char *start = strstr(text, "<script id=\"data\" type=\"application/json\">");
	ck_assert_ptr_nonnull(start);
	start = strchr(start, '>') + 1;
	const char *end = strstr(start, "</script>");
	ck_assert_ptr_nonnull(end);
	char *data = strndup(start, (size_t)(end - start));
	fw_out_deinit(&out);
	return data;
}

// Preorder: levels up, name, self. 0 app, 1 main, 2 work, 3 fast, 4 libc, 5 do_fault in the
// order in which stacks bring them; children by name.
START_TEST(tree)
{
	struct synth_profile *b = synth_profile_small();
	char *data = data_of(&b->p, NULL);
	ck_assert_str_eq(data,
		"{\"title\":\"perf.data\",\n\"facts\":\"6 samples of cpu-clock in 0.005 s\",\n"
		"\"unit\":\"samples\",\"diff\":false,\n"
		"\"modules\":[\"\",\"app\",\"libc.so.6\",\"[kernel.kallsyms]\"],\n"
		"\"names\":[\"app-100/101\",\"main\",\"work\",\"fast\",\"[libc.so.6]\",\"do_fault\"],\n"
		"\"moduleOf\":[0,1,1,1,2,3],\n\"kinds\":\"t  i k\",\n"
		"\"tree\":[0,0,0,0,1,0,0,4,2,0,5,1,2,2,0,0,3,3]}");
	free(data);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(difference)
{
	struct synth_profile *a = synth_profile_small(), *b = synth_profile_small();
	a->p.path = "old.data";
	a->p.num_stacks = 1;
	b->stacks[0].samples = 7;
	char *data = data_of(&b->p, &a->p);
	ck_assert_ptr_nonnull(strstr(data, "{\"title\":\"old.data \xe2\x86\x92 perf.data\",\n\"facts\":"
				     "\"before: 6 samples of cpu-clock in 0.005 s; "
				     "after: 6 samples of cpu-clock in 0.005 s\""));
	ck_assert_ptr_nonnull(strstr(data, "\"diff\":true"));
	ck_assert_ptr_nonnull(strstr(data, "\"tree\":[0,0,0,0,0,1,0,0,0,4,0,2,0,5,0,1,2,2,0,0,0,3,3,7]}"));
	free(data);
	synth_profile_destroy(a);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(hostile_names)
{
	struct synth_profile *b = synth_profile_small();
	b->lines[0].function = FW_STR("</script><!--&\"\\\n\xff\xe2\x80\xae");
	b->modules[0].name = FW_STR("<b>\n");
	b->threads[0].name = FW_STR("<script>");
	char *data = data_of(&b->p, NULL);
	ck_assert_ptr_nonnull(strstr(data,
		"\"\\u003c/script\\u003e\\u003c!--\\u0026\\\"\\\\\\\\x0a\\\\xff\\\\xe2\\\\x80\\\\xae\""));
	ck_assert_ptr_nonnull(strstr(data, "\"\\u003cb\\u003e\\\\x0a\""));
	ck_assert_ptr_nonnull(strstr(data, "\"\\u003cscript\\u003e-100/101\""));
	ck_assert_ptr_null(strpbrk(data, "<>&"));
	free(data);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(nothing_sampled)
{
	struct synth_profile *b = synth_profile_create();
	char *data = data_of(&b->p, NULL);
	ck_assert_ptr_nonnull(strstr(data, "\"names\":[],\n\"moduleOf\":[],\n\"kinds\":\"\",\n\"tree\":[]}"));
	free(data);
	synth_profile_destroy(b);
}
END_TEST

static void write_flamegraph(const struct fw_profile *p, struct fw_out *out)
{
	fw_profile_write_flamegraph(p, p, out);
}

static void write_json(const struct fw_profile *p, struct fw_out *out)
{
	fw_profile_write_json(p, true, out);
}

static void write_diff(const struct fw_profile *p, struct fw_out *out)
{
	fw_profile_write_diff(p, p, out);
}

static void (*const writers[])(const struct fw_profile *p, struct fw_out *out) = {
	write_flamegraph, write_json, write_diff, fw_profile_write_ndjson, fw_profile_write_pprof,
	fw_profile_write_firefox, fw_profile_write_summary, synth_write_perf,
};

// Whatever writer, whichever allocation fails: said, and nothing leaks or breaks.
START_TEST(out_of_memory)
{
	struct synth_profile *b = synth_profile_small();
	for (uint64_t nth = 1;; nth++) {
		struct fw_out out;
		struct fw_error err;
		fw_out_init_memory(&out, 1 << 22);
		fw_alloc_fail_at(nth);
		writers[_i](&b->p, &out);
		fw_alloc_fail_at(0);
		enum fw_code code = fw_out_flush(&out, &err);
		fw_out_deinit(&out);
		if (code == FW_OK)
			break;
		ck_assert_int_eq(code, FW_NO_MEMORY);
		ck_assert_str_eq(err.message, "out of memory");
		ck_assert_uint_lt(nth, 1000);
	}
	synth_profile_destroy(b);
}
END_TEST

Suite *profile_flamegraph_suite(void)
{
	Suite *s = suite_create("profile_flamegraph");
	TCase *tc = tcase_create("flamegraph");
	tcase_add_test(tc, tree);
	tcase_add_test(tc, difference);
	tcase_add_test(tc, hostile_names);
	tcase_add_test(tc, nothing_sampled);
	tcase_add_loop_test(tc, out_of_memory, 0, (int)(sizeof(writers) / sizeof(*writers)));
	suite_add_tcase(s, tc);
	return s;
}
