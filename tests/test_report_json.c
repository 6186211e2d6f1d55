// The JSON form. Goldens are written by hand from the schema document; the
// schema itself, and that it refuses missing and misspelt keys, is checked with
// python3-jsonschema on a report in which every key has a value.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "tests/synth_report.h"

Suite *report_json_suite(void);

static const struct synth_frame frames[] = {
	{ .pc = 0x401010, .lookup = 0x401010, .module = 0, .trust = FW_TRUST_CONTEXT,
	  .function = "main", .function_start = 0x401000, .file = "/src/main.cpp", .line = 42,
	  .line_start = 0x40100c, .num_inlines = 2, .inlines = {
		{ FW_STR("func<\"x\">"), FW_STR("a.cpp"), 27 }, { { NULL, 0 }, { NULL, 0 }, 0 } } },
	{ .pc = 0x402001, .lookup = 0x402000, .module = 0, .trust = FW_TRUST_FRAME_POINTER },
	{ .pc = UINT64_C(0x7fffffffffff), .lookup = UINT64_C(0x7ffffffffffe),
	  .module = FW_NO_MODULE, .trust = FW_TRUST_SCAN, .signal_frame = true, .num_unloaded = 3,
	  .unloaded = { { "a.dll", 0x10 }, { "b.dll", 0x20 }, { "a.dll", 0x30 } } },
};

static struct synth_report *small_report(void)
{
	struct synth_report *b = synth_report_create(FW_CPU_AMD64);
	struct fw_report_module *m = synth_module(b, 0x400000, 0x10000, "/bin/app", "/bin/app",
						  "5A9832E5287241C1838ED98914E9B7FF1");
	b->module_infos[0].is_main = true;
	m->name = synth_str("app");
	synth_thread(b, 77, "worker \xff", frames, 3);
	fw_regs_set(&b->infos[0].regs, 0, 0x1234);
	synth_crash(b, 0, "SIGSEGV / SEGV_MAPERR", 0x45);
	return b;
}

static char *json_of(struct synth_report *b, bool registers, bool pretty)
{
	struct fw_out out;
	fw_out_init_memory(&out, 64 << 20);
	synth_write_json(&b->r, registers, pretty, &out);
	char *text = strdup(synth_text(&out));
	fw_out_deinit(&out);
	return text;
}

static void check_contains(const char *text, const char *want)
{
	ck_assert_msg(strstr(text, want) != NULL, "no %s in %s", want, text);
}

#define FRAME_0_HEAD \
	"{\"frame\":0,\"trust\":\"context\",\"offset\":\"0x0000000000401010\"," \
	"\"pc\":\"0x0000000000401010\",\"signal_frame\":false,\"module\":\"app\"," \
	"\"module_offset\":\"0x0000000000001010\",\"unloaded_modules\":null," \
	"\"function\":\"main\",\"function_offset\":\"0x0000000000000010\"," \
	"\"file\":\"/src/main.cpp\",\"line\":42,\"inlines\":[" \
	"{\"function\":\"func<\\\"x\\\">\",\"file\":\"a.cpp\",\"line\":27}," \
	"{\"function\":null,\"file\":null,\"line\":null}],\"missing_symbols\":false,\"registers\":"
#define FRAMES_1_2 \
	",{\"frame\":1,\"trust\":\"frame_pointer\",\"offset\":\"0x0000000000402000\"," \
	"\"pc\":\"0x0000000000402001\",\"signal_frame\":false,\"module\":\"app\"," \
	"\"module_offset\":\"0x0000000000002000\",\"unloaded_modules\":null," \
	"\"function\":null,\"function_offset\":null,\"file\":null,\"line\":null," \
	"\"inlines\":null,\"missing_symbols\":true,\"registers\":null}" \
	",{\"frame\":2,\"trust\":\"scan\",\"offset\":\"0x00007ffffffffffe\"," \
	"\"pc\":\"0x00007fffffffffff\",\"signal_frame\":true,\"module\":null," \
	"\"module_offset\":null,\"unloaded_modules\":[" \
	"{\"module\":\"a.dll\",\"offsets\":[\"0x0000000000000010\",\"0x0000000000000030\"]}," \
	"{\"module\":\"b.dll\",\"offsets\":[\"0x0000000000000020\"]}]," \
	"\"function\":null,\"function_offset\":null,\"file\":null,\"line\":null," \
	"\"inlines\":null,\"missing_symbols\":true,\"registers\":null}]"
#define THREAD_HEAD \
	"{\"thread_id\":77,\"thread_index\":0,\"thread_name\":\"worker \xef\xbf\xbd\"," \
	"\"last_error_value\":null,\"frame_count\":3,\"frames\":["
#define THREAD_TAIL \
	",\"stop_reason\":\"end_of_stack\",\"stop_detail\":\"the frame pointer is 0\"," \
	"\"candidates\":[]"

START_TEST(frames_and_threads)
{
	struct synth_report *b = small_report();
	char *text = json_of(b, false, false);
	// Only the copy has registers, and only its first frame.
	check_contains(text, "\"thread_count\":1,\"crashing_thread\":" THREAD_HEAD FRAME_0_HEAD
		"{\"rax\":\"0x0000000000001234\"}}" FRAMES_1_2 THREAD_TAIL ",\"threads_index\":0}"
		",\"threads\":[" THREAD_HEAD FRAME_0_HEAD "null}" FRAMES_1_2 THREAD_TAIL "}],"
		"\"main_module\":0,");
	check_contains(text, "{\"schema_version\":1,\"status\":\"OK\",\"error\":null,\"capture\":"
		"{\"file\":\"crash.dmp\",\"format\":\"minidump\",\"time\":null},\"pid\":null,");
	check_contains(text, "\"crash_info\":{\"type\":\"SIGSEGV / SEGV_MAPERR\","
		"\"address\":\"0x0000000000000045\",");
	check_contains(text, "\"crashing_thread\":0,\"crashing_thread_id\":77,\"assertion\":null,");
	free(text);
	synth_report_destroy(b);
}
END_TEST

START_TEST(registers_of_every_frame)
{
	static struct fw_regs regs[3];
	for (unsigned i = 0; i < 3; i++)
		fw_regs_set(&regs[i], 1, i);
	struct synth_report *b = small_report();
	b->threads[0].regs = regs;
	char *text = json_of(b, true, false);
	const char *at = text;
	for (unsigned i = 0; i < 6; i++) {	// in the copy and in threads
		char want[64];
		snprintf(want, sizeof(want), "\"registers\":{\"rdx\":\"0x%016x\"}", i % 3);
		at = strstr(at, want);
		ck_assert_msg(at != NULL, "no %s in %s", want, text);
		at++;
	}
	free(text);
	synth_report_destroy(b);
}
END_TEST

START_TEST(modules)
{
	static const struct fw_symbol_file mismatch = {
		.status = FW_SYMBOLS_MISMATCH, .path = "/s/app.sym", .message = "its id is AB",
		.found_id = { 2, "AB" },
	};
	struct synth_report *b = small_report();
	b->modules[0].symbols = &mismatch;
	struct fw_report_module *m = synth_module(b, 0x500000, 0, "/lib/b.so", NULL, NULL);
	static struct fw_image image;
	image.diag.count[FW_DIAG_MALFORMED] = 12;
	for (uint32_t i = 0; i < FW_MAX_DIAG_SAMPLES; i++)
		image.diag.lines[FW_DIAG_MALFORMED][i] = 3 + i;
	static const struct fw_symbol_file loaded = { .status = FW_SYMBOLS_LOADED, .image = &image };
	m->symbols = &loaded;
	m->cfi = FW_CFI_MISSING;
	char *text = json_of(b, false, false);
	check_contains(text, "\"modules\":[{\"base_addr\":\"0x0000000000400000\","
		"\"end_addr\":\"0x0000000000410000\",\"debug_file\":\"app\","
		"\"debug_id\":\"5A9832E5287241C1838ED98914E9B7FF1\",\"filename\":\"app\","
		"\"code_file\":\"/bin/app\",\"code_id\":\"\",\"version\":null,\"cert_subject\":null,"
		"\"missing_symbols\":true,\"loaded_symbols\":false,\"corrupt_symbols\":false,"
		"\"symbol_url\":null,\"symbol_status\":\"mismatch\",\"symbol_file\":\"/s/app.sym\","
		"\"symbol_message\":\"its id is AB\",\"symbol_found_id\":\"AB\","
		"\"cfi_status\":\"unknown\",\"diagnostics\":null,\"on_stack\":true,"
		"\"annotations\":[]},");
	check_contains(text, "\"debug_file\":\"\",\"debug_id\":\"000000000000000000000000000000000\","
		"\"filename\":\"b.so\"");
	check_contains(text, "\"symbol_status\":\"loaded\",\"symbol_file\":null,"
		"\"symbol_message\":null,\"symbol_found_id\":null,\"cfi_status\":\"missing\","
		"\"diagnostics\":{\"malformed\":{\"count\":12,\"lines\":[3,4,5,6,7,8,9,10]},"
		"\"unknown\":{\"count\":0,\"lines\":[]},");
	free(text);
	synth_report_destroy(b);
}
END_TEST

START_TEST(empty_report)
{
	struct synth_report *b = synth_report_create(FW_CPU_X86);
	char *text = json_of(b, false, false);
	check_contains(text, "\"crash_info\":{\"type\":null,\"address\":null,");
	check_contains(text, "\"crashing_thread\":null,\"crashing_thread_id\":null,");
	check_contains(text, "\"thread_count\":0,\"crashing_thread\":null,\"threads\":[],"
		"\"main_module\":null,\"modules_contains_cert_info\":false,\"modules\":[],"
		"\"unloaded_modules\":[],\"handles\":null,\"lsb_release\":null,"
		"\"proc_limits\":null,\"mac_crash_info\":null,\"mac_boot_args\":null,"
		"\"soft_errors\":null,\"command_line\":null,\"crashpad\":null,\"notes\":[],"
		"\"note_count\":0,\"frames_dropped\":0}\n");
	free(text);
	synth_report_destroy(b);
}
END_TEST

START_TEST(crashing_thread_without_frames)
{
	struct synth_report *b = synth_report_create(FW_CPU_AMD64);
	synth_thread(b, 5, NULL, frames, 0);
	synth_crash(b, 0, "x", 0);
	char *text = json_of(b, false, false);
	check_contains(text, "\"crashing_thread\":{\"thread_id\":5,\"thread_index\":0,"
		"\"thread_name\":null,\"last_error_value\":null,\"frame_count\":0,\"frames\":[],");
	free(text);
	synth_report_destroy(b);
}
END_TEST

/** Pretty text without its blanks outside strings is the compact text. */
static void squeeze(char *text)
{
	char *to = text;
	bool in_string = false;
	for (char *p = text; *p; p++) {
		if (*p == '"' && !(in_string && p[-1] == '\\'))
			in_string = !in_string;
		if (in_string || (*p != ' ' && *p != '\n'))
			*to++ = *p;
	}
	*to++ = '\n';
	*to = '\0';
}

/** A report in which every key has a value. */
static struct synth_report *full_report(void)
{
	static struct fw_annotation annotations[] = {
		{ FW_STR("hello"), FW_STR("world\n") }, { FW_STR("hello"), { NULL, 0 } } };
	static struct fw_handle_info handles[] = { { 0x44, FW_STR("File"), { NULL, 0 } } };
	static struct fw_limit_info limits[] = { { FW_STR("Max open files"), FW_STR("1024"),
						   FW_STR("unlimited"), FW_STR("files") } };
	static struct fw_unloaded_module unloaded[] = { { 0x600000, 0x1000, FW_STR("c:\\a.dll"),
							  { 4, "abcd" } } };
	static const struct fw_candidate candidates[] = {
		{ 0x7ffe0000, 0x401234, 0 }, { 0x7ffe0008, 0x12345678, FW_NO_MODULE } };
	static struct fw_image image;
	static const struct fw_symbol_file loaded = {
		.status = FW_SYMBOLS_LOADED, .image = &image, .path = "a.sym" };
	struct synth_report *b = small_report();
	b->modules[0].symbols = &loaded;
	b->module_infos[0].annotations = annotations;
	b->module_infos[0].num_annotations = 2;
	synth_thread(b, 78, NULL, frames + 1, 1);
	b->threads[1].candidates = candidates;
	b->threads[1].num_candidates = 2;
	b->threads[1].stop = FW_STOP_NO_RULE;
	b->infos[1].have_last_error = true;
	b->infos[1].last_error = 0xc0000005;
	b->s.exception.num_parameters = 2;
	b->s.exception.assertion = synth_str("x > 0");
	b->s.exception.assertion_file = synth_str("x.c");
	b->s.crashpad_report_id.n = 1;
	b->s.crashpad_report_id.text[0] = 'a';
	b->s.annotations = annotations;
	b->s.num_annotations = 2;
	b->s.handles = handles;
	b->s.num_handles = 1;
	b->s.have_handles = true;
	b->s.limits = limits;
	b->s.num_limits = 1;
	b->s.unloaded = unloaded;
	b->s.num_unloaded = 1;
	b->s.lsb_id = synth_str("Debian");
	b->s.have_pid = b->s.have_create_time = true;
	b->s.timestamp = 1700000100;
	b->s.create_time = 1700000000;
	b->s.cpu_microcode = synth_str("0x1f");
	b->s.os_version = synth_str("6.1.0");
	b->s.os_build = synth_str("Linux 6.1.0  #1 SMP");
	b->s.os_version_from_build = true;
	snprintf(b->s.notes[0].place, sizeof(b->s.notes[0].place), "module 3");
	snprintf(b->s.notes[0].message, sizeof(b->s.notes[0].message), "its name is cut");
	snprintf(b->s.notes[1].message, sizeof(b->s.notes[1].message), "more");
	b->s.num_notes = 2;
	return b;
}

START_TEST(pretty_and_compact_are_one_document)
{
	struct synth_report *b = full_report();
	for (unsigned registers = 0; registers < 2; registers++) {
		char *compact = json_of(b, registers, false), *pretty = json_of(b, registers, true);
		ck_assert_ptr_null(strchr(compact, '\n')[1] ? compact : NULL);
		squeeze(pretty);
		squeeze(compact);
		ck_assert_str_eq(pretty, compact);
		free(compact);
		free(pretty);
	}
	char *pretty = json_of(b, false, true);
	check_contains(pretty, "{\n  \"schema_version\": 1,\n  \"status\": \"OK\",\n");
	check_contains(pretty, "\"process_uptime\": 100,\n");
	check_contains(pretty, "\"os_ver\": \"6.1.0 #1 SMP\",\n");
	free(pretty);
	synth_report_destroy(b);
}
END_TEST

START_TEST(any_bytes_give_valid_utf8)
{
	char name[256];
	for (unsigned i = 0; i < 255; i++)
		name[i] = (char)(i + 1);
	name[255] = '\0';
	struct synth_frame bad[1] = { { .pc = 1, .lookup = 1, .module = 0, .function = name,
					.file = name } };
	struct synth_report *b = small_report();
	b->frames[0] = bad;
	b->threads[0].num_frames = 1;
	b->r.path = name;
	b->modules[0].name = synth_str(name);
	char *text = json_of(b, false, false);
	for (size_t i = 0, n = strlen(text); i < n;) {
		int length = fw_utf8_next(text + i, n - i);
		ck_assert_int_gt(length, 0);
		ck_assert(length > 1 || (uint8_t)text[i] >= 0x20 || i == n - 1);
		i += (size_t)length;
	}
	free(text);
	synth_report_destroy(b);
}
END_TEST

// The copy of a very long crashing thread does not fit its buffer.
START_TEST(long_crashing_thread)
{
	enum { N = SYNTH_FRAMES - 64, NAME = 6000 };
	char *name = malloc(NAME + 1);
	memset(name, 'n', NAME);
	name[NAME] = '\0';
	struct synth_frame *many = calloc(N, sizeof(*many));
	for (uint32_t i = 0; i < N; i++)
		many[i] = (struct synth_frame){ .pc = i + 1, .lookup = i, .module = FW_NO_MODULE,
						.function = name };
	struct synth_report *b = synth_report_create(FW_CPU_AMD64);
	synth_thread(b, 1, NULL, many, N);
	synth_crash(b, 0, "x", 0);
	struct fw_out out;
	fw_out_init_memory(&out, 128 << 20);
	synth_write_json(&b->r, false, false, &out);
	const char *text = synth_text(&out);
	const char *first = strstr(text, "\"frames\":["), *second = strstr(first + 1, "\"frames\":[");
	ck_assert_ptr_nonnull(second);
	const char *end = strstr(second, "],\"stop_reason\"");
	size_t n = (size_t)(end - second);
	ck_assert(n > (size_t)N * NAME);
	// No crash registers are known, so the first frame shows {} in one and null in the other.
	const char *a = strstr(first, "\"frame\":1,"), *c = strstr(second, "\"frame\":1,");
	ck_assert(memcmp(a, c, (size_t)(end - c)) == 0);
	fw_out_deinit(&out);
	synth_report_destroy(b);
	free(many);
	free(name);
}
END_TEST

START_TEST(error_document)
{
	struct fw_error e;
	struct fw_out out;
	fw_out_init_memory(&out, 4096);
	ck_assert_int_eq(fw_fail(&e, FW_MALFORMED, "offset 0x20", "no \"threads\""), FW_MALFORMED);
	synth_write_error_json("a\xff.dmp", &e, false, &out);
	ck_assert_str_eq(synth_text(&out), "{\"schema_version\":1,\"status\":\"ERROR\",\"error\":"
		"{\"code\":\"malformed\",\"file\":\"a\xef\xbf\xbd.dmp\",\"place\":\"offset 0x20\","
		"\"message\":\"no \\\"threads\\\"\"}}\n");
	out.count = 0;
	ck_assert_int_eq(fw_fail(&e, FW_IO, NULL, "x"), FW_IO);
	synth_write_error_json(NULL, &e, true, &out);
	ck_assert_str_eq(synth_text(&out), "{\n  \"schema_version\": 1,\n  \"status\": \"ERROR\",\n"
		"  \"error\": {\n    \"code\": \"io\",\n    \"file\": null,\n    \"place\": null,\n"
		"    \"message\": \"x\"\n  }\n}\n");
	fw_out_deinit(&out);
}
END_TEST

START_TEST(schema_holds_and_refuses)
{
	if (system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
		fprintf(stderr, "report_json: python3-jsonschema is missing, schema not checked\n");
		return;
	}
	char path[] = "/tmp/framewalk-report-XXXXXX", command[256];
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	struct fw_out out;
	struct fw_error e;
	ck_assert_int_eq(fw_out_init_fd(&out, fd, &e), FW_OK);
	struct synth_report *b = full_report(), *empty = synth_report_create(FW_CPU_ARM64);
	synth_write_json(&b->r, true, true, &out);
	synth_write_json(&b->r, false, false, &out);
	synth_write_json(&empty->r, false, false, &out);
	synth_write_summary_json(&b->r, false, &out);
	synth_write_summary_json(&empty->r, false, &out);
	ck_assert_int_eq(fw_fail(&e, FW_IO, NULL, "x"), FW_IO);
	synth_write_error_json("a.dmp", &e, false, &out);
	ck_assert_int_eq(fw_out_flush(&out, &e), FW_OK);
	fw_out_deinit(&out);
	close(fd);
	snprintf(command, sizeof(command), "python3 tests/cli/check_schema.py --mutate "
		 "cmd/framewalk.schema.json %s >&2", path);
	int status = system(command);
	unlink(path);
	ck_assert_int_eq(status, 0);
	synth_report_destroy(b);
	synth_report_destroy(empty);
}
END_TEST

Suite *report_json_suite(void)
{
	Suite *suite = suite_create("report_json");
	TCase *tc = tcase_create("json");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, frames_and_threads);
	tcase_add_test(tc, registers_of_every_frame);
	tcase_add_test(tc, modules);
	tcase_add_test(tc, empty_report);
	tcase_add_test(tc, crashing_thread_without_frames);
	tcase_add_test(tc, pretty_and_compact_are_one_document);
	tcase_add_test(tc, any_bytes_give_valid_utf8);
	tcase_add_test(tc, long_crashing_thread);
	tcase_add_test(tc, error_document);
	tcase_add_test(tc, schema_holds_and_refuses);
	suite_add_tcase(suite, tc);
	return suite;
}
