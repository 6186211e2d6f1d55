// CPU contexts: layouts from winnt.h (x86, amd64, arm64) and Breakpad's
// minidump_cpu_arm.h and minidump_cpu_arm64.h, written down here byte by byte.
#include <check.h>
#include <stdlib.h>

#include "lib/snapshot/snapshot.h"
#include "tests/synth_minidump.h"

Suite *minidump_context_suite(void);

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct expected_reg { const char *name; uint16_t offset; };

static const struct expected_reg x86_regs[] = {
	{ "edi", 156 }, { "esi", 160 }, { "ebx", 164 }, { "edx", 168 }, { "ecx", 172 },
	{ "eax", 176 }, { "ebp", 180 }, { "eip", 184 }, { "esp", 196 }, { NULL, 0 },
};
static const struct expected_reg amd64_regs[] = {
	{ "rax", 0x78 }, { "rcx", 0x80 }, { "rdx", 0x88 }, { "rbx", 0x90 }, { "rsp", 0x98 },
	{ "rbp", 0xa0 }, { "rsi", 0xa8 }, { "rdi", 0xb0 }, { "r8", 0xb8 }, { "r9", 0xc0 },
	{ "r10", 0xc8 }, { "r11", 0xd0 }, { "r12", 0xd8 }, { "r13", 0xe0 }, { "r14", 0xe8 },
	{ "r15", 0xf0 }, { "rip", 0xf8 }, { NULL, 0 },
};
static const struct expected_reg arm_regs[] = {
	{ "r0", 4 }, { "r1", 8 }, { "r4", 20 }, { "r11", 48 }, { "r12", 52 }, { "sp", 56 },
	{ "lr", 60 }, { "pc", 64 }, { NULL, 0 },
};
static const struct expected_reg arm64_regs[] = {
	{ "x0", 8 }, { "x1", 16 }, { "x19", 160 }, { "x28", 232 }, { "x29", 240 },
	{ "x30", 248 }, { "sp", 256 }, { "pc", 264 }, { NULL, 0 },
};

static const struct layout {
	enum fw_cpu_id cpu;
	uint16_t arch;
	uint16_t size;
	uint16_t flags_at;
	uint8_t flags_width;
	uint64_t flags;
	const struct expected_reg *regs;
} layouts[] = {
	{ FW_CPU_X86, 0, 716, 0, 4, 0x1003f, x86_regs },
	{ FW_CPU_X86, 0, 716, 0, 4, 0x0801007f, x86_regs },	// XSTATE, EXCEPTION_ACTIVE
	{ FW_CPU_X86, 10, 716, 0, 4, 0x10007, x86_regs },	// IA32 on Win64
	{ FW_CPU_AMD64, 9, 1232, 48, 4, 0x10000b, amd64_regs },
	{ FW_CPU_AMD64, 9, 2000, 48, 4, 0x10004b, amd64_regs },	// XSTATE behind it
	{ FW_CPU_ARM, 5, 368, 0, 4, 0x40000006, arm_regs },	// Breakpad sets no CONTROL
	{ FW_CPU_ARM, 5, 368, 0, 4, 0x42, arm_regs },		// Breakpad before 2012
	{ FW_CPU_ARM, 5, 416, 0, 4, 0x200007, arm_regs },	// Windows on arm
	{ FW_CPU_ARM64, 12, 912, 0, 4, 0x400007, arm64_regs },
	{ FW_CPU_ARM64, 0x8003, 796, 0, 8, 0x80000006, arm64_regs },
	{ FW_CPU_ARM64, 12, 796, 0, 8, 0x80000006, arm64_regs },
	{ FW_CPU_ARM64, 0x8003, 912, 0, 4, 0x400003, arm64_regs },
};

static void put(bool big_endian, uint8_t *at, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		at[big_endian ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

// A dump with one thread whose context is given in bytes.
static struct fw_snapshot *read_context(const struct layout *l, bool big_endian,
					const uint8_t *context, uint32_t size)
{
	struct synth_dump *d = synth_dump_create(l->cpu, FW_OS_LINUX, big_endian);
	struct fw_snapshot *s = NULL;
	struct fw_error err = { 0 };
	size_t n;
	synth_dump_set_arch(d, l->arch);
	synth_dump_use_context(d, synth_dump_add_blob(d, context, size), size);
	synth_dump_add_thread(d, 1, NULL, 0, NULL, 0);
	uint8_t *data = synth_dump_finish(d, &n);
	ck_assert_int_eq(fw_snapshot_read(data, n, &s, &err), FW_OK);
	synth_dump_destroy(d);
	return s;
}

static void fill(const struct layout *l, bool big_endian, uint64_t flags, uint8_t *context)
{
	unsigned width = fw_cpu_get(l->cpu)->word_size;
	for (const struct expected_reg *r = l->regs; r->name; r++)
		put(big_endian, context + r->offset, 0x1000 + r->offset, width);
	put(big_endian, context + l->flags_at, flags, l->flags_width);
}

START_TEST(registers_are_at_their_documented_offsets)
{
	const struct layout *l = &layouts[_i / 2];
	bool big_endian = _i % 2;
	uint8_t context[2048] = { 0 };
	fill(l, big_endian, l->flags, context);
	struct fw_snapshot *s = read_context(l, big_endian, context, l->size);
	const struct fw_thread_info *t = &s->threads[0];
	ck_assert_msg(t->have_context, "%s", t->context_error);
	for (const struct expected_reg *r = l->regs; r->name; r++) {
		uint8_t slot = fw_cpu_reg(s->cpu, (struct fw_str){ r->name, strlen(r->name) });
		ck_assert_msg(fw_regs_has(&t->regs, slot), "%s is not valid", r->name);
		ck_assert_uint_eq(t->regs.v[slot], 0x1000 + r->offset);
	}
	ck_assert_uint_eq(s->num_notes, 0);
	fw_snapshot_destroy(s);
}
END_TEST

static const struct {
	uint8_t layout;		// of SystemInfo
	uint64_t flags;
	uint16_t size;
	const char *error;
} bad[] = {
	// the flags of another CPU: its layout is never guessed from the size
	{ 0, 0x100003, 716, "the context's flags name another CPU" },
	{ 3, 0x10003, 1232, "the context's flags name another CPU" },
	{ 3, 0x400003, 1232, "the context's flags name another CPU" },
	{ 5, 0x10003, 368, "the context's flags name another CPU" },
	{ 8, 0x100003, 912, "the context's flags name another CPU" },
	{ 9, UINT64_C(0x180000006), 796, "the context's flags name another CPU" },
	{ 0, 0x1003f, 715, "the context is too short" },
	{ 3, 0x10000b, 1231, "the context is too short" },
	{ 5, 0x40000006, 367, "the context is too short" },
	{ 8, 0x400007, 911, "the context is too short" },
	{ 9, 0x80000006, 795, "the context is too short" },
	{ 3, 0x10000b, 51, "the context is too short" },
	{ 3, 0x10000b, 0, "no context was recorded" },
};

START_TEST(contexts_that_do_not_fit_are_refused)
{
	const struct layout *l = &layouts[bad[_i].layout];
	uint8_t context[2048] = { 0 };
	fill(l, false, bad[_i].flags, context);
	struct fw_snapshot *s = read_context(l, false, context, bad[_i].size);
	ck_assert(!s->threads[0].have_context);
	ck_assert_str_eq(s->threads[0].context_error, bad[_i].error);
	ck_assert_uint_eq(s->num_notes, 1);
	ck_assert_str_eq(s->notes[0].place, "thread 0");
	ck_assert_str_eq(s->notes[0].message, bad[_i].error);
	fw_snapshot_destroy(s);
}
END_TEST

START_TEST(integer_registers_need_their_flag_where_control_is_set)
{
	uint8_t context[2048] = { 0 };
	fill(&layouts[3], false, 0x100001, context);
	struct fw_snapshot *s = read_context(&layouts[3], false, context, 1232);
	const struct fw_regs *r = &s->threads[0].regs;
	ck_assert(fw_regs_has(r, s->cpu->pc) && fw_regs_has(r, s->cpu->sp));
	ck_assert(!fw_regs_has(r, fw_cpu_reg(s->cpu, FW_STR("rax"))));
	ck_assert(!fw_regs_has(r, s->cpu->fp));
	fw_snapshot_destroy(s);
}
END_TEST

START_TEST(contexts_of_other_cpus_are_named_not_read)
{
	struct layout l = layouts[3];
	uint8_t context[2048] = { 0 };
	l.cpu = FW_CPU_MIPS64;
	l.arch = 0x8004;
	struct fw_snapshot *s = read_context(&l, false, context, 600);
	ck_assert_int_eq(s->cpu->id, FW_CPU_MIPS64);
	ck_assert_str_eq(s->threads[0].context_error, "registers of this CPU are not read");
	fw_snapshot_destroy(s);
}
END_TEST

Suite *minidump_context_suite(void)
{
	Suite *suite = suite_create("minidump_context");
	TCase *tc = tcase_create("context");
	tcase_add_loop_test(tc, registers_are_at_their_documented_offsets, 0,
			    2 * ARRAY_SIZE(layouts));
	tcase_add_loop_test(tc, contexts_that_do_not_fit_are_refused, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, integer_registers_need_their_flag_where_control_is_set);
	tcase_add_test(tc, contexts_of_other_cpus_are_named_not_read);
	suite_add_tcase(suite, tc);
	return suite;
}
