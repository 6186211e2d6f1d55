// Captures that ask for more frames than a report holds.
#include <check.h>
#include <stdlib.h>

#include "lib/base/limits.h"
#include "lib/report/report.h"
#include "tests/synth_minidump.h"

Suite *report_limits_suite(void);

enum { FRAMES = FW_MAX_REGISTER_FRAMES / 2 + 100, THREADS = 4 };

static const uint64_t STACK = 0x7fff00000000, CODE = 0x400000;

/** Threads whose frame records form a chain longer than a thread may have. */
static struct synth_dump *dump_of_chains(void)
{
	static const uint8_t id[16] = { 1 };
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint64_t *words = calloc(FRAMES, 16);
	struct fw_regs regs = { 0 };
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	for (uint64_t i = 0; i < FRAMES; i++) {
		words[2 * i] = STACK + 16 * (i + 1);
		words[2 * i + 1] = CODE + 0x1005;
	}
	fw_regs_set(&regs, cpu->pc, CODE + 0x1000);
	fw_regs_set(&regs, cpu->sp, STACK);
	fw_regs_set(&regs, fw_cpu_reg(cpu, (struct fw_str){ "rbp", 3 }), STACK);
	synth_dump_add_elf(d, CODE, 0x10000, "/app", id, sizeof(id));
	synth_dump_add_memory(d, STACK, words, FRAMES * 16);
	for (uint32_t i = 0; i < THREADS; i++)
		synth_dump_add_thread(d, i + 1, &regs, STACK, NULL, 0);
	free(words);
	return d;
}

START_TEST(registers_of_every_frame_are_limited)	// a million of them took 1.1 GB
{
	static const struct { uint32_t frames; const char *why; } want[THREADS] = {
		{ FW_MAX_REGISTER_FRAMES / 2, "65536 frames" },
		{ FW_MAX_REGISTER_FRAMES / 2, "65536 frames" },
		{ 0, "the report's limit of frames" },
		{ 0, "the report's limit of frames" },
	};
	const struct fw_symbol_options no_symbols = { 0 };
	const struct fw_report_options options = {
		.choice = FW_THREADS_ALL, .max_frames = FW_MAX_FRAMES, .registers = true,
	};
	struct synth_dump *d = dump_of_chains();
	struct fw_snapshot *snapshot;
	struct fw_symbols *symbols;
	struct fw_report *r;
	struct fw_error err;
	size_t n;
	uint8_t *bytes = synth_dump_finish(d, &n);
	ck_assert_int_eq(fw_snapshot_read(bytes, n, &snapshot, &err), FW_OK);
	ck_assert_int_eq(fw_symbols_create(&no_symbols, &symbols, &err), FW_OK);
	ck_assert_int_eq(fw_report_create(snapshot, "t", symbols, &options, &r, &err), FW_OK);
	ck_assert_uint_eq(r->num_threads, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		ck_assert_uint_eq(r->threads[i].num_frames, want[i].frames);
		ck_assert_int_eq(r->threads[i].stop, FW_STOP_LIMIT);
		ck_assert_str_eq(r->threads[i].stop_detail, want[i].why);
	}
	fw_report_destroy(r);
	fw_symbols_destroy(symbols);
	fw_snapshot_destroy(snapshot);
	synth_dump_destroy(d);
}
END_TEST

Suite *report_limits_suite(void)
{
	Suite *s = suite_create("report_limits");
	TCase *tc = tcase_create("limits");
	tcase_add_test(tc, registers_of_every_frame_are_limited);
	suite_add_tcase(s, tc);
	return s;
}
