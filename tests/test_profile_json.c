// Stacks and samples in JSON, written out by hand; the schema is checked by tests/cli/schema.
#include <check.h>
#include <stdlib.h>

#include "tests/synth_profile.h"

Suite *profile_json_suite(void);

#define MAIN "{\"kind\":\"user\",\"function\":\"main\",\"function_offset\":\"0x15\"," \
	"\"file\":\"/src/a.c\",\"line\":10,\"inlines\":null,\"module\":\"/opt/app\"," \
	"\"module_offset\":\"0x1010\",\"address\":null,\"trust\":\"cfi\"}"
#define WORK "{\"kind\":\"user\",\"function\":\"work\",\"function_offset\":\"0x15\"," \
	"\"file\":\"/src/a.c\",\"line\":11,\"inlines\":[{\"function\":\"fast\"," \
	"\"file\":\"/src/a.c\",\"line\":10}],\"module\":\"/opt/app\"," \
	"\"module_offset\":\"0x2020\",\"address\":null,\"trust\":\"cfi\"}"
#define ALLOC "{\"kind\":\"user\",\"function\":null,\"function_offset\":null,\"file\":null," \
	"\"line\":null,\"inlines\":null,\"module\":\"/lib/libc.so.6\"," \
	"\"module_offset\":\"0x3030\",\"address\":null,\"trust\":\"cfi\"}"
#define FAULT "{\"kind\":\"kernel\",\"function\":\"do_fault\",\"function_offset\":\"0x15\"," \
	"\"file\":\"/src/a.c\",\"line\":10,\"inlines\":null,\"module\":\"[kernel.kallsyms]\"," \
	"\"module_offset\":\"0x4040\",\"address\":null,\"trust\":\"prewalked\"}"
#define THREAD "\"thread\":\"app\",\"pid\":100,\"tid\":101,"

START_TEST(stacks)
{
	struct synth_profile *b = synth_profile_small();
	struct fw_out out;
	b->p.num_modules = 0;
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_json(&b->p, false, &out);
	const char *text = synth_profile_text(&out), *modules = strstr(text, "\"modules\":[");
	ck_assert_ptr_nonnull(modules);
	ck_assert_str_eq(strstr(modules, "\"stacks\":["),
		"\"stacks\":["
		"{" THREAD "\"event\":\"cpu-clock\",\"samples\":3,\"weight\":3000000,\"frames\":[1,0]},"
		"{" THREAD "\"event\":\"cpu-clock\",\"samples\":2,\"weight\":2000000,\"frames\":[2,0]},"
		"{" THREAD "\"event\":\"cpu-clock\",\"samples\":1,\"weight\":1000000,\"frames\":[3,2,0]}"
		"]}\n");
	b->p.num_modules = 3;
	out.count = 0;
	fw_profile_write_json(&b->p, false, &out);
	const char *frames = strstr(synth_profile_text(&out), "\"frames\":[{");
	ck_assert_ptr_nonnull(frames);
	ck_assert(strncmp(frames, "\"frames\":[" MAIN "," WORK "," ALLOC "," FAULT "],",
			  strlen("\"frames\":[" MAIN "," WORK "," ALLOC "," FAULT "],")) == 0);
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(samples)
{
	struct synth_profile *b = synth_profile_small();
	struct fw_out out;
	b->p.num_samples = 2;
	b->samples[1].cpu = 3;
	b->threads[0].name = FW_STR("a\"\n\xff");
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_ndjson(&b->p, &out);
#define HOSTILE "\"thread\":\"a\\\"\\u000a\xef\xbf\xbd\",\"pid\":100,\"tid\":101,"
	ck_assert_str_eq(synth_profile_text(&out),
		"{\"index\":0,\"time\":12998053034999," HOSTILE "\"cpu\":null,\"event\":\"cpu-clock\","
		"\"period\":1000000,\"frames\":[" WORK "," MAIN "]}\n"
		"{\"index\":1,\"time\":12998054034999," HOSTILE "\"cpu\":3,\"event\":\"cpu-clock\","
		"\"period\":1000000,\"frames\":[" ALLOC "," MAIN "]}\n");
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(frames_without_module)
{
	struct synth_profile *b = synth_profile_create();
	struct fw_out out;
	synth_prof_thread(b, 0, 0, NULL);
	uint32_t cut = synth_prof_frame(b, FW_NO_MODULE, 0, NULL);
	b->frames[cut].truncated = true;
	uint32_t jit = synth_prof_frame(b, FW_NO_MODULE, 0x7000, "f");
	b->frames[jit].jit = true;
	synth_sample(b, synth_node(b, synth_node(b, 0, cut), jit), 0, 0, 0);
	fw_out_init_memory(&out, 1 << 20);
	fw_profile_write_ndjson(&b->p, &out);
	ck_assert_str_eq(synth_profile_text(&out),
		"{\"index\":0,\"time\":0,\"thread\":null,\"pid\":null,\"tid\":null,\"cpu\":null,"
		"\"event\":\"cpu-clock\",\"period\":1000000,\"frames\":["
		"{\"kind\":\"jit\",\"function\":\"f\",\"function_offset\":\"0x15\",\"file\":\"/src/a.c\","
		"\"line\":10,\"inlines\":null,\"module\":null,\"module_offset\":null,"
		"\"address\":\"0x7000\",\"trust\":\"cfi\"},"
		"{\"kind\":\"truncated\",\"function\":null,\"function_offset\":null,\"file\":null,"
		"\"line\":null,\"inlines\":null,\"module\":null,\"module_offset\":null,"
		"\"address\":null,\"trust\":null}]}\n");
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

Suite *profile_json_suite(void)
{
	Suite *s = suite_create("profile_json");
	TCase *tc = tcase_create("json");
	tcase_add_test(tc, stacks);
	tcase_add_test(tc, samples);
	tcase_add_test(tc, frames_without_module);
	suite_add_tcase(s, tc);
	return s;
}
