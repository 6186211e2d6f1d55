// The ten fields, in text and JSON.
#include <check.h>

#include "tests/synth_report.h"

Suite *report_summary_suite(void);

static const struct synth_frame frames[] = {
	{ .pc = 0x401010, .lookup = 0x401010, .module = 0, .trust = FW_TRUST_CONTEXT },
	{ .pc = 0x402001, .lookup = 0x402000, .module = 0, .function = "main\x1b",
	  .function_start = 0x402000, .num_inlines = 1, .inlines = {
		{ FW_STR("parse"), FW_STR("/src/parse.c"), 9 } }, .file = "/src/main.c", .line = 3 },
	{ .pc = 0x12345, .lookup = 0x12344, .module = FW_NO_MODULE },
};

static struct synth_report *report(const struct synth_frame *f, uint32_t n)
{
	struct synth_report *b = synth_report_create(FW_CPU_AMD64);
	synth_module(b, 0x400000, 0x10000, "app", NULL, NULL);
	synth_thread(b, 1, NULL, f, 1);
	synth_thread(b, 77, "io", f, n);
	synth_crash(b, 1, "SIGABRT", 0x45);
	return b;
}

static void check(struct synth_report *b, const char *text, const char *json)
{
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	synth_write_summary_text(&b->r, &out);
	ck_assert_str_eq(synth_text(&out), text);
	out.count = 0;
	synth_write_summary_json(&b->r, false, &out);
	ck_assert_str_eq(synth_text(&out), json);
	fw_out_deinit(&out);
}

START_TEST(all_fields)
{
	struct synth_report *b = report(frames, 3);
	check(b,
	      "status: OK\n"
	      "reason: SIGABRT\n"
	      "address: 0x0000000000000045\n"
	      "thread_id: 77\n"
	      "thread_name: io\n"
	      "module: app\n"
	      "function:\n"
	      "source: /src/parse.c:9\n"
	      "frames: app+0x1010 <- parse <- main\\x1b <- 0x12345\n"
	      "stop_reason: end_of_stack\n",
	      "{\"status\":\"OK\",\"reason\":\"SIGABRT\",\"address\":\"0x0000000000000045\","
	      "\"thread_id\":77,\"thread_name\":\"io\",\"module\":\"app\",\"function\":null,"
	      "\"source\":\"/src/parse.c:9\","
	      "\"frames\":[\"app+0x1010\",\"parse\",\"main\\u001b\",\"0x12345\"],"
	      "\"stop_reason\":\"end_of_stack\"}\n");
	synth_report_destroy(b);
}
END_TEST

START_TEST(innermost_inlined_call_is_the_function)
{
	struct synth_report *b = report(frames + 1, 1);
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	synth_write_summary_text(&b->r, &out);
	ck_assert_ptr_nonnull(strstr(synth_text(&out), "\nfunction: parse\n"));
	fw_out_deinit(&out);
	synth_report_destroy(b);
}
END_TEST

START_TEST(nothing_known)
{
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	check(b,
	      "status: OK\nreason:\naddress:\nthread_id:\nthread_name:\nmodule:\nfunction:\n"
	      "source:\nframes:\nstop_reason:\n",
	      "{\"status\":\"OK\",\"reason\":null,\"address\":null,\"thread_id\":null,"
	      "\"thread_name\":null,\"module\":null,\"function\":null,\"source\":null,"
	      "\"frames\":[],\"stop_reason\":null}\n");
	synth_report_destroy(b);
}
END_TEST

START_TEST(ten_names_at_most)
{
	static struct synth_frame many[8];
	for (unsigned i = 0; i < 8; i++)
		many[i] = (struct synth_frame){ .pc = i, .module = FW_NO_MODULE, .function = "f",
			.num_inlines = 1, .inlines = { { FW_STR("g"), { NULL, 0 }, 0 } } };
	struct synth_report *b = report(many, 8);
	struct fw_out out;
	fw_out_init_memory(&out, 1 << 20);
	synth_write_summary_json(&b->r, true, &out);
	unsigned names = 0;
	for (const char *p = synth_text(&out); (p = strstr(p, "\n    \"")); p++)
		names++;
	ck_assert_uint_eq(names, 10);
	ck_assert_ptr_nonnull(strstr(out.data, "\"source\": null"));
	fw_out_deinit(&out);
	synth_report_destroy(b);
}
END_TEST

Suite *report_summary_suite(void)
{
	Suite *suite = suite_create("report_summary");
	TCase *tc = tcase_create("summary");
	tcase_add_test(tc, all_fields);
	tcase_add_test(tc, innermost_inlined_call_is_the_function);
	tcase_add_test(tc, nothing_known);
	tcase_add_test(tc, ten_names_at_most);
	suite_add_tcase(suite, tc);
	return suite;
}
