#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/rules/cfi_table.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *row_apply_suite(void);

enum { RAX = 0, RBX = 3, RBP = 6, RSP = 7, R8 = 8, R12 = 12, RIP = 16, CFA = FW_SLOT_CFA };

// Word i of the stack at 0x7000 is 0x100 + i; a second segment lies far away.
static uint64_t stack[32], far[8];
static const struct fw_segment segments[] = {
	{ 0x7000, sizeof(stack), (const uint8_t *)stack },
	{ 0x9000, sizeof(far), (const uint8_t *)far },
};
static struct fw_memory memory = { segments, ARRAY_SIZE(segments), false };

static void fill_memory(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = 0x100 + i;
	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		far[i] = 0xf00 + i;
}

/*
 * One walk step on amd64 with rules from text: rsp 0x7000, rbp 0x7040, rbx 7,
 * rax 1, rip 0x400000; r12 and the rest unknown. Every way to apply the row
 * must say the same: by its flag, without the flag, with a warm and a cold view.
 */
struct step {
	struct fw_regs regs;
	enum fw_row_result result;
};

static struct fw_regs callee(void)
{
	struct fw_regs r = { 0 };
	fw_regs_set(&r, RSP, 0x7000);
	fw_regs_set(&r, RBP, 0x7040);
	fw_regs_set(&r, RBX, 7);
	fw_regs_set(&r, RAX, 1);
	fw_regs_set(&r, RIP, 0x400000);
	return r;
}

static void build_row(const struct fw_cpu *cpu, struct fw_program_set *set, const char *text,
		      struct fw_row *row)
{
	struct fw_rule rules[FW_MAX_ROW_RULES];
	uint32_t count, unknown, failed;
	fw_row_init(row, cpu);
	ck_assert_int_eq(fw_rules_parse(set, cpu, (struct fw_str){ text, strlen(text) }, rules,
					FW_MAX_ROW_RULES, &count, &unknown, &failed, NULL), FW_OK);
	for (uint32_t i = 0; i < count; i++)
		fw_row_set(row, rules[i]);
}

static void assert_same_regs(const struct fw_regs *a, const struct fw_regs *b)
{
	ck_assert_uint_eq(a->valid, b->valid);
	for (unsigned i = 0; i < FW_SLOTS; i++) {
		if (fw_regs_has(a, i) && a->v[i] != b->v[i])
			ck_abort_msg("register %u: %#lx and %#lx", i, (long)a->v[i],
				     (long)b->v[i]);
	}
}

static struct step apply(const struct fw_cpu *cpu, const char *text, struct fw_regs regs)
{
	struct fw_program_set set;
	struct fw_cfi_builder b;
	struct fw_row row;
	struct fw_memory_view view;
	struct step first = { .result = FW_ROW_OK };
	uint64_t word;
	uint32_t id;
	fw_program_set_init(&set);
	fw_cfi_builder_init(&b);
	build_row(cpu, &set, text, &row);
	ck_assert_int_eq(fw_cfi_add_row(&b, &row, &id), FW_OK);
	struct fw_programs programs = { set.ops.data, set.programs.data,
					(uint32_t)set.ops.count, (uint32_t)set.programs.count };
	const struct fw_rule *stored = b.rules.data + b.row_first.data[id];
	for (int way = 0; way < 6; way++) {
		struct step s = { .regs = regs };
		fw_memory_view_init(&view, &memory);
		if (way / 2 == 1)
			fw_memory_read(&view, 0x7000, 8, &word);
		if (way / 2 == 2)
			fw_memory_read(&view, 0x9000, 8, &word);
		s.result = fw_row_apply(way % 2 ? stored : row.rules, row.count, &programs, cpu,
					&s.regs, &view);
		if (way == 0)
			first = s;
		ck_assert_int_eq(s.result, first.result);
		assert_same_regs(&s.regs, &first.regs);
	}
	fw_cfi_builder_deinit(&b);
	fw_program_set_deinit(&set);
	return first;
}

static struct step apply_amd64(const char *text)
{
	return apply(fw_cpu_get(FW_CPU_AMD64), text, callee());
}

#define USUAL ".cfa: $rsp 16 + .ra: .cfa -8 + ^ "

START_TEST(a_usual_row)
{
	struct step s = apply_amd64(USUAL "$rbp: .cfa -16 + ^");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RIP], 0x101);
	ck_assert_uint_eq(s.regs.v[RSP], 0x7010);
	ck_assert_uint_eq(s.regs.v[RBP], 0x100);
	// rust-minidump's trap 2: rbx has no rule and is callee-saved; rax is not
	ck_assert_uint_eq(s.regs.v[RBX], 7);
	ck_assert_uint_eq(s.regs.valid, 1 << RIP | 1 << RSP | 1 << RBP | 1 << RBX);
}
END_TEST

START_TEST(rules_see_the_callee_and_never_each_other)	// Breakpad's trap 6
{
	struct step s = apply_amd64(".cfa: $rbp 16 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^ "
				    "$rbp: $rbx $r8: $rbp $r12: $rsp 1 + $rax: $rip 2 +");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RSP], 0x7050);
	ck_assert_uint_eq(s.regs.v[RBX], 0x108);	// word at 0x7040
	ck_assert_uint_eq(s.regs.v[RBP], 7);		// the callee's rbx
	ck_assert_uint_eq(s.regs.v[R8], 0x7040);	// the callee's rbp
	ck_assert_uint_eq(s.regs.v[R12], 0x7001);	// the callee's rsp
	ck_assert_uint_eq(s.regs.v[RAX], 0x400002);	// the callee's rip
}
END_TEST

START_TEST(the_cfas_own_register_may_have_a_rule)
{
	struct step s = apply_amd64(".cfa: $rbp 16 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RBP], 0x108);
	// and still sees the callee's when a later word is not in the capture
	s = apply_amd64(".cfa: $rbp 16 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^ $r12: .cfa 4096 + ^");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RBP], 0x108);
	ck_assert_uint_eq(s.regs.v[RSP], 0x7050);
	ck_assert(!fw_regs_has(&s.regs, R12));
}
END_TEST

// Breakpad's trap 38 and rust-minidump's trap 3: unknown, neither unchanged nor fatal.
START_TEST(a_rule_that_fails_makes_its_register_unknown)
{
	static const char *const rules[] = {
		"$rbx: 4 0 /", "$rbx: .undef", "$rbx: $r12", "$rbx: .cfa 100000 + ^", "$rbx: ^",
		"$rbx: $r12 8 + ^", "$rbx: $rsp $r12 +", "$rbx: 1 2", "$rbx: $rsp 4096 * ^",
		"$rbx: $nope", "$rbx: 8 $rsp $rsp - /",
	};
	char text[200] = USUAL;
	strcat(text, rules[_i]);
	struct step s = apply_amd64(text);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert(!fw_regs_has(&s.regs, RBX));
	ck_assert_uint_eq(s.regs.v[RIP], 0x101);
	ck_assert_uint_eq(s.regs.v[RBP], 0x7040);
}
END_TEST

START_TEST(every_kind_of_rule)
{
	struct step s = apply_amd64(USUAL "$rbx: .cfa 8 - $rbp: $rbp ^ $r8: $rsp 24 + "
				    "$r12: $rsp 8 * $rsp 7 * - ^ $rax: $rsp 3 * $rdx: .cfa ^");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RBX], 0x7008);	// CFA
	ck_assert_uint_eq(s.regs.v[RBP], 0x108);	// LOAD_REG
	ck_assert_uint_eq(s.regs.v[R8], 0x7018);	// REG
	ck_assert_uint_eq(s.regs.v[R12], 0x100);	// LOAD_PROGRAM
	ck_assert_uint_eq(s.regs.v[RAX], 0x7000 * 3);	// PROGRAM
	ck_assert_uint_eq(s.regs.v[1], 0x102);		// LOAD_CFA
}
END_TEST

START_TEST(same_keeps_value_and_validity)
{
	struct step s = apply_amd64(USUAL "$rax: $rax $r8: $r8");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RAX], 1);		// not callee-saved, but the rule says so
	ck_assert(!fw_regs_has(&s.regs, R8));
}
END_TEST

START_TEST(sp_may_have_a_rule_of_its_own)
{
	struct step s = apply_amd64(USUAL "$rsp: .cfa 8 - ^");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RSP], 0x101);
	s = apply_amd64(USUAL "$rsp: .undef");
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert(!fw_regs_has(&s.regs, RSP));
}
END_TEST

static const struct { const char *text; enum fw_row_result result; } fatal[] = {
	{ ".ra: .cfa -8 + ^", FW_ROW_NO_CFA },		// Breakpad's trap 7: both are required
	{ ".cfa: $rsp 16 +", FW_ROW_NO_RA },
	{ ".cfa: .undef .ra: $rip", FW_ROW_NO_CFA },
	{ ".cfa: .cfa 8 + .ra: $rip", FW_ROW_NO_CFA },
	{ ".cfa: $r12 .ra: $rip", FW_ROW_NO_CFA },
	{ ".cfa: 4 0 / .ra: $rip", FW_ROW_NO_CFA },
	{ ".cfa: $r12 ^ .ra: $rip", FW_ROW_NO_CFA },
	{ ".cfa: $rsp $r12 + .ra: $rip", FW_ROW_NO_CFA },
	{ ".cfa: $rsp -8 + ^ .ra: $rip", FW_ROW_NO_MEMORY },
	{ ".cfa: $rsp 8 * ^ .ra: $rip", FW_ROW_NO_MEMORY },
	{ ".cfa: $rsp .ra: 4 0 /", FW_ROW_NO_RA },
	{ ".cfa: $rsp .ra: $r12", FW_ROW_NO_RA },
	{ ".cfa: $rsp .ra: .cfa -8 + ^", FW_ROW_NO_MEMORY },
	{ ".cfa: $rsp .ra: .cfa 249 + ^", FW_ROW_NO_MEMORY },	// its last byte is missing
	{ ".cfa: $rsp .ra: .cfa -8 + ^ 8 +", FW_ROW_NO_MEMORY },
	{ ".cfa: $rsp 16 + .ra: .undef", FW_ROW_END },
};

START_TEST(a_row_that_fails_leaves_the_registers_alone)
{
	struct fw_regs before = callee();
	char text[200];
	strcpy(text, fatal[_i].text);
	strcat(text, " $rbp: .cfa ^");
	struct step s = apply_amd64(text);
	ck_assert_int_eq(s.result, fatal[_i].result);
	assert_same_regs(&s.regs, &before);
}
END_TEST

START_TEST(words_wrap_at_32_bits)	// Breakpad's trap 5, rust-minidump's trap 12
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_X86);
	struct fw_regs regs = { 0 };
	fw_regs_set(&regs, cpu->sp, 0x7000);
	fw_regs_set(&regs, cpu->fp, 0xfffffff8);
	struct step s = apply(cpu, ".cfa: $ebp 28688 + .ra: .cfa -4 + ^ $ebx: .cfa -8 + ^", regs);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[cpu->sp], 0x7008);
	ck_assert_uint_eq(s.regs.v[cpu->pc], 0);	// upper half of word 0
	ck_assert_uint_eq(s.regs.v[3], 0x100);		// lower half
	s = apply(cpu, ".cfa: $esp 32768 - .ra: .cfa 32768 + ^ $ebx: .cfa 32776 + ^", regs);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[cpu->sp], 0xfffff000);
	ck_assert_uint_eq(s.regs.v[cpu->pc], 0x100);	// 0xfffff000 + 0x8000 is 0x7000
	ck_assert_uint_eq(s.regs.v[3], 0x101);
	// the last word of a segment has no 8 bytes left
	s = apply(cpu, ".cfa: $esp 256 + .ra: .cfa -4 + ^ $ebx: .cfa -8 + ^", regs);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[3], 0x11f);
}
END_TEST

START_TEST(addresses_wrap_at_64_bits)
{
	struct fw_regs regs = callee();
	fw_regs_set(&regs, RBP, UINT64_MAX - 15);	// + 32 is 16
	struct step s = apply(fw_cpu_get(FW_CPU_AMD64), ".cfa: $rbp 28704 + .ra: .cfa -8 + ^",
			      regs);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RSP], 0x7010);
	ck_assert_uint_eq(s.regs.v[RIP], 0x101);
}
END_TEST

START_TEST(memory_of_the_other_byte_order)
{
	memory.swap = true;
	struct step s = apply_amd64(USUAL "$rbp: .cfa -16 + ^");
	memory.swap = false;
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[RIP], UINT64_C(0x0101) << 48);
	ck_assert_uint_eq(s.regs.v[RBP], UINT64_C(0x0001) << 48);
}
END_TEST

START_TEST(a_leaf_of_arm64_returns_to_lr)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_ARM64);
	struct fw_regs regs = { 0 };
	fw_regs_set(&regs, 31, 0x7000);
	fw_regs_set(&regs, 30, 0x1234);
	fw_regs_set(&regs, 29, 0x7010);
	struct step s = apply(cpu, ".cfa: sp 0 + .ra: x30", regs);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[32], 0x1234);
	ck_assert_uint_eq(s.regs.v[31], 0x7000);
	ck_assert_uint_eq(s.regs.v[29], 0x7010);
	ck_assert(!fw_regs_has(&s.regs, 30));	// lr is the caller's only by a rule
}
END_TEST

START_TEST(more_rules_than_the_unrolled_ones)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_ARM64);
	struct fw_regs regs = { 0 };
	char text[400] = ".cfa: sp 128 + .ra: .cfa -8 + ^";
	fw_regs_set(&regs, 31, 0x7000);
	for (int i = 0; i < 14; i++)
		sprintf(text + strlen(text), " x%d: .cfa -%d + ^", 15 + i, 16 + 8 * i);
	struct step s = apply(cpu, text, regs);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert_uint_eq(s.regs.v[32], 0x10f);
	for (unsigned i = 0; i < 14; i++)
		ck_assert_uint_eq(s.regs.v[15 + i], 0x10e - i);
	// the last two lie below the segment
	s = apply(cpu, strcat(text, " x0: .cfa -136 + ^ x29: .cfa -144 + ^"), regs);
	ck_assert_int_eq(s.result, FW_ROW_OK);
	ck_assert(!fw_regs_has(&s.regs, 0) && !fw_regs_has(&s.regs, 29));
	ck_assert_uint_eq(s.regs.v[28], 0x10e - 13);
}
END_TEST

// Random rows of plain and other rules, near and far from what is in the capture.
START_TEST(every_way_to_apply_a_row_agrees)
{
	static const char *const bases[] = { "$rsp", "$rbp", "$rbx", "$r12" };
	static const char *const others[] = { "$rbx 8 +", ".cfa 8 -", "$rsp ^", "$rbp", ".undef",
					      "4 0 /", "$rsp 8 * 7 $rsp * - ^", "$r12", ".cfa" };
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	unsigned ok = 0;
	srand(5);
	for (int round = 0; round < 5000; round++) {
		char text[800];
		const char *base = rand() % 3 ? bases[0] : bases[rand() % 4];
		int n = sprintf(text, ".cfa: %s %d + .ra: .cfa %d + ^", base, rand() % 320 - 16,
				-8 - 8 * (rand() % 2));
		for (int left = rand() % 12; left > 0; left--) {
			n += sprintf(text + n, " $%s: ", cpu->reg_names[rand() % 16]);
			if (rand() % 8)
				n += sprintf(text + n, ".cfa %d + ^", -8 * (rand() % 24));
			else
				n += sprintf(text + n, "%s", others[rand() % ARRAY_SIZE(others)]);
		}
		ok += apply_amd64(text).result == FW_ROW_OK;
	}
	ck_assert_uint_gt(ok, 2000);
}
END_TEST

// A corrupt image may claim anything; the registers may be wrong, nothing worse.
START_TEST(corrupt_rows_cost_wrong_answers_only)
{
	srand(3);
	for (int round = 0; round < 50000; round++) {
		struct fw_rule rules[FW_CPU_REGS + 2];
		struct fw_op ops[4];
		struct fw_program index[2] = { { 0, 4 }, { (uint32_t)rand(), (uint32_t)rand() } };
		struct fw_programs programs = { ops, index, 4, 2 };
		struct fw_memory_view view;
		struct fw_regs regs = callee();
		uint32_t count = 2 + (uint32_t)rand() % FW_CPU_REGS;
		uint64_t word;
		for (size_t i = 0; i < sizeof(ops); i++)
			((uint8_t *)ops)[i] = (uint8_t)(rand() % 8);
		for (size_t i = 0; i < sizeof(rules); i++)
			((uint8_t *)rules)[i] = (uint8_t)(rand() % 3 ? rand() % 12 : rand());
		if (rand() % 2)
			rules[0] = (struct fw_rule){ FW_RULE_REG, CFA, RSP, FW_ROW_PLAIN, 128 };
		fw_memory_view_init(&view, &memory);
		fw_memory_read(&view, 0x7000, 8, &word);
		enum fw_cpu_id cpu = (enum fw_cpu_id)(FW_CPU_X86 + rand() % 4);
		fw_row_apply(rules, count, &programs, fw_cpu_get(cpu), &regs, &view);
	}
}
END_TEST

Suite *row_apply_suite(void)
{
	Suite *s = suite_create("row_apply");
	TCase *tc = tcase_create("row_apply");
	tcase_add_unchecked_fixture(tc, fill_memory, NULL);
	tcase_add_test(tc, a_usual_row);
	tcase_add_test(tc, rules_see_the_callee_and_never_each_other);
	tcase_add_test(tc, the_cfas_own_register_may_have_a_rule);
	tcase_add_loop_test(tc, a_rule_that_fails_makes_its_register_unknown, 0, 11);
	tcase_add_test(tc, every_kind_of_rule);
	tcase_add_test(tc, same_keeps_value_and_validity);
	tcase_add_test(tc, sp_may_have_a_rule_of_its_own);
	tcase_add_loop_test(tc, a_row_that_fails_leaves_the_registers_alone, 0,
			    ARRAY_SIZE(fatal));
	tcase_add_test(tc, words_wrap_at_32_bits);
	tcase_add_test(tc, addresses_wrap_at_64_bits);
	tcase_add_test(tc, memory_of_the_other_byte_order);
	tcase_add_test(tc, a_leaf_of_arm64_returns_to_lr);
	tcase_add_test(tc, more_rules_than_the_unrolled_ones);
	tcase_add_test(tc, every_way_to_apply_a_row_agrees);
	tcase_add_test(tc, corrupt_rows_cost_wrong_answers_only);
	suite_add_tcase(s, tc);
	return s;
}
