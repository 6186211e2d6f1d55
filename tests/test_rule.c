#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/rules/cfi_table.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *rule_suite(void);

static struct fw_str str(const char *s)
{
	return (struct fw_str){ s, strlen(s) };
}

static struct fw_programs view_of(const struct fw_program_set *set)
{
	return (struct fw_programs){ set->ops.data, set->programs.data,
				     (uint32_t)set->ops.count, (uint32_t)set->programs.count };
}

struct parsed {
	struct fw_rule rules[FW_MAX_ROW_RULES];
	uint32_t count, unknown, failed;
	enum fw_code code;
	struct fw_error err;
};

static struct parsed parse(struct fw_program_set *set, const struct fw_cpu *cpu, const char *text)
{
	struct parsed p = { .count = 99 };
	p.code = fw_rules_parse(set, cpu, str(text), p.rules, FW_MAX_ROW_RULES, &p.count,
				&p.unknown, &p.failed, &p.err);
	return p;
}

static bool same(struct fw_rule a, struct fw_rule b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16, CFA = FW_SLOT_CFA };

static const struct { const char *text; struct fw_rule rule; } shapes[] = {
	{ ".cfa: $rsp", { FW_RULE_REG, CFA, RSP, 0, 0 } },
	{ ".cfa: $rsp 8 +", { FW_RULE_REG, CFA, RSP, 0, 8 } },
	{ ".cfa: rsp 8 +", { FW_RULE_REG, CFA, RSP, 0, 8 } },
	{ ".cfa: $rbp -16 +", { FW_RULE_REG, CFA, RBP, 0, -16 } },
	{ ".cfa: $rbp 16 -", { FW_RULE_REG, CFA, RBP, 0, -16 } },
	{ ".cfa: $rbp -16 -", { FW_RULE_REG, CFA, RBP, 0, 16 } },
	{ ".cfa: $rbp 2147483647 +", { FW_RULE_REG, CFA, RBP, 0, INT32_MAX } },
	{ ".cfa: $rbp -2147483648 +", { FW_RULE_REG, CFA, RBP, 0, INT32_MIN } },
	{ ".cfa: $rbp 2147483648 -", { FW_RULE_REG, CFA, RBP, 0, INT32_MIN } },
	{ ".cfa: $rbp ^", { FW_RULE_LOAD_REG, CFA, RBP, 0, 0 } },
	{ ".cfa: $rbp -8 + ^", { FW_RULE_LOAD_REG, CFA, RBP, 0, -8 } },
	{ ".ra: .cfa -8 + ^", { FW_RULE_LOAD_CFA, RIP, 0, 0, -8 } },
	{ ".ra:\t.cfa  -8 +\t^ ", { FW_RULE_LOAD_CFA, RIP, 0, 0, -8 } },
	{ ".ra: .cfa ^", { FW_RULE_LOAD_CFA, RIP, 0, 0, 0 } },
	{ ".ra: $rip", { FW_RULE_REG, RIP, RIP, 0, 0 } },	// what FW_ROW_RA_IN_PC looks for
	{ ".ra: .undef", { FW_RULE_UNDEFINED, RIP, 0, 0, 0 } },
	{ "$rip: .cfa -8 + ^", { FW_RULE_LOAD_CFA, RIP, 0, 0, -8 } },	// pc by its own name
	{ "$rsp: .cfa", { FW_RULE_CFA, RSP, 0, 0, 0 } },
	{ "$rsp: .cfa 8 +", { FW_RULE_CFA, RSP, 0, 0, 8 } },
	{ "$rbp: .cfa -16 + ^", { FW_RULE_LOAD_CFA, RBP, 0, 0, -16 } },
	{ "rbp: .cfa -16 + ^", { FW_RULE_LOAD_CFA, RBP, 0, 0, -16 } },
	{ "$rbx: $rbx", { FW_RULE_SAME, RBX, 0, 0, 0 } },
	{ "$rbx: $rbx 0 +", { FW_RULE_SAME, RBX, 0, 0, 0 } },
	{ "$rbx: $rbx 4 +", { FW_RULE_REG, RBX, RBX, 0, 4 } },
	{ "$rbx: $r12", { FW_RULE_REG, RBX, R12, 0, 0 } },
	{ "$rbx: .undef", { FW_RULE_UNDEFINED, RBX, 0, 0, 0 } },
};

START_TEST(shapes_become_records)
{
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64), shapes[_i].text);
	ck_assert_int_eq(p.code, FW_OK);
	ck_assert_uint_eq(p.count, 1);
	ck_assert_uint_eq(p.unknown + p.failed, 0);
	ck_assert(same(p.rules[0], shapes[_i].rule));
	ck_assert_uint_eq(set.programs.count, 0);	// none of them needs a program
	fw_program_set_deinit(&set);
}
END_TEST

static const struct { const char *text; uint8_t kind; } program_cases[] = {
	{ ".cfa: $rsp 8 + 16 +", FW_RULE_PROGRAM },
	{ ".cfa: 8 $rsp +", FW_RULE_PROGRAM },
	{ ".cfa: 4096", FW_RULE_PROGRAM },
	{ ".cfa: $rsp 2147483648 +", FW_RULE_PROGRAM },		// does not fit 32 bits
	{ ".cfa: $rbp -2147483648 -", FW_RULE_PROGRAM },
	{ ".cfa: $rsp 8 *", FW_RULE_PROGRAM },
	{ ".cfa: $rsp $rbp +", FW_RULE_PROGRAM },
	{ "$rbx: $rsp ^ ^", FW_RULE_LOAD_PROGRAM },
	{ "$rbx: $rsp 8 + ^ 16 + ^", FW_RULE_LOAD_PROGRAM },
	{ "$rbx: .cfa 4294967296 + ^", FW_RULE_LOAD_PROGRAM },
	{ "$rbx: 4096 ^", FW_RULE_LOAD_PROGRAM },
};

// Found by fuzzing: on a 32-bit CPU a sum wraps, so every literal fits a record.
START_TEST(literals_wrap_at_the_word_before_shapes_are_told)
{
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_X86), ".ra: .cfa -333333333338 + ^");
	ck_assert_int_eq(p.code, FW_OK);
	// -333333333338 mod 2^32, by hand
	ck_assert(same(p.rules[0], (struct fw_rule){ FW_RULE_LOAD_CFA, 8, 0, 0, 1674115750 }));
	p = parse(&set, fw_cpu_get(FW_CPU_AMD64), ".ra: .cfa -333333333338 + ^");
	ck_assert_int_eq(p.rules[0].kind, FW_RULE_LOAD_PROGRAM);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(other_expressions_become_programs)
{
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64), program_cases[_i].text);
	ck_assert_int_eq(p.code, FW_OK);
	ck_assert_uint_eq(p.count, 1);
	ck_assert_uint_eq(p.unknown + p.failed, 0);
	ck_assert_uint_eq(p.rules[0].kind, program_cases[_i].kind);
	ck_assert_uint_eq(set.programs.count, 1);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(a_whole_record)
{
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64),
				".cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^");
	ck_assert_int_eq(p.code, FW_OK);
	ck_assert_uint_eq(p.count, 3);
	ck_assert(same(p.rules[0], (struct fw_rule){ FW_RULE_REG, CFA, RSP, 0, 8 }));
	ck_assert(same(p.rules[1], (struct fw_rule){ FW_RULE_LOAD_CFA, RIP, 0, 0, -8 }));
	ck_assert(same(p.rules[2], (struct fw_rule){ FW_RULE_LOAD_CFA, RBP, 0, 0, -16 }));
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(the_last_of_duplicates_wins)
{
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64),
				".cfa: $rsp $rbp: .cfa .cfa: $rbp 8 +");
	ck_assert_int_eq(p.code, FW_OK);
	ck_assert_uint_eq(p.count, 2);
	ck_assert(same(p.rules[0], (struct fw_rule){ FW_RULE_REG, CFA, RBP, 0, 8 }));
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(names_of_no_register_are_dropped_and_counted)
{
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64),
				"unnamed_register17: .cfa -24 + ^ .cfa: $rsp $xmm3: 4 0 / .foo: 1");
	ck_assert_int_eq(p.code, FW_OK);
	ck_assert_uint_eq(p.count, 1);
	ck_assert_uint_eq(p.unknown, 3);
	ck_assert_uint_eq(p.failed, 0);
	fw_program_set_deinit(&set);
}
END_TEST

// Peers' trap 3 (rust-minidump): one bad rule costs that register, not the frame.
static const struct { const char *text, *message; } fails[] = {
	{ "$rbx: 4 0 /", "division by zero at '/'" },
	{ "$rbx: -5 3 =", "assignment in a rule at '='" },
	{ "$rbx: 0x10", "unknown name at '0x10'" },
	{ "$rbx: $nope 8 +", "unknown name at '$nope'" },
	{ "$rbx: .undef 8 +", "unknown name at '.undef'" },
	{ "$rbx: 1 2", "1 values left over" },
	{ "$rbx: ^", "operand missing at '^'" },
	{ "$rbx: .cfa 99999999999999999999 +",
	  "literal does not fit 64 bits at '99999999999999999999'" },
	{ "$rbx:", "" },
};

START_TEST(a_bad_expression_costs_its_register)
{
	struct fw_program_set set;
	char text[200];
	fw_program_set_init(&set);
	snprintf(text, sizeof(text), ".cfa: $rsp 8 + %s .ra: .cfa -8 + ^", fails[_i].text);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64), text);
	ck_assert_int_eq(p.code, FW_OK);
	ck_assert_uint_eq(p.count, 3);
	ck_assert_uint_eq(p.failed, 1);
	ck_assert_str_eq(p.err.message, fails[_i].message);
	ck_assert(same(p.rules[0], (struct fw_rule){ FW_RULE_REG, CFA, RSP, 0, 8 }));
	ck_assert(same(p.rules[1], (struct fw_rule){ FW_RULE_FAILED, RBX, 0, 0, 0 }));
	ck_assert(same(p.rules[2], (struct fw_rule){ FW_RULE_LOAD_CFA, RIP, 0, 0, -8 }));
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(a_cfa_that_uses_itself_has_failed)
{
	static const char *const texts[] = { ".cfa: .cfa 8 +", ".cfa: .cfa", ".cfa: .cfa 1 *" };
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fw_program_set set;
		fw_program_set_init(&set);
		struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64), texts[i]);
		ck_assert_int_eq(p.code, FW_OK);
		ck_assert_uint_eq(p.failed, 1);
		ck_assert(same(p.rules[0], (struct fw_rule){ FW_RULE_FAILED, CFA, 0, 0, 0 }));
		ck_assert_str_eq(p.err.message, ".cfa refers to itself at '.cfa'");
		fw_program_set_deinit(&set);
	}
}
END_TEST

static const struct { const char *text; uint32_t count; const char *message; } malformed[] = {
	{ "", 0, "no rules" },
	{ "  \t ", 0, "no rules" },
	{ "$rsp 8 +", 0, "text before the first rule's name" },
	{ "8 .cfa: $rsp", 0, "text before the first rule's name" },
	{ ": $rsp", 0, "rule without a name" },
	{ ".cfa: $rsp 8 + : 4 .ra: 1", 1, "rule without a name" },	// what was there counts
};

START_TEST(malformed_records_are_explained)
{
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, fw_cpu_get(FW_CPU_AMD64), malformed[_i].text);
	ck_assert_int_eq(p.code, FW_MALFORMED);
	ck_assert_str_eq(p.err.message, malformed[_i].message);
	ck_assert_uint_eq(p.count, malformed[_i].count);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(rules_are_limited_by_the_callers_room)
{
	struct fw_program_set set;
	struct fw_rule rules[2];
	uint32_t count, unknown, failed;
	struct fw_error err = { 0 };
	fw_program_set_init(&set);
	ck_assert_int_eq(fw_rules_parse(&set, fw_cpu_get(FW_CPU_AMD64),
					str(".cfa: $rsp .ra: $rip .cfa: $rbp"), rules, 2, &count,
					&unknown, &failed, &err), FW_OK);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(fw_rules_parse(&set, fw_cpu_get(FW_CPU_AMD64),
					str(".cfa: $rsp .ra: $rip rbx: .cfa"), rules, 2, &count,
					&unknown, &failed, &err), FW_LIMIT);
	ck_assert_str_eq(err.message, "more than 2 rules");
	ck_assert_uint_eq(count, 2);
	fw_program_set_deinit(&set);
}
END_TEST

static char *print(const struct fw_cpu *cpu, const struct fw_program_set *set, struct fw_rule rule)
{
	struct fw_out out;
	struct fw_programs programs = view_of(set);
	fw_out_init_memory(&out, 1 << 20);
	fw_rule_print(&out, cpu, &programs, rule);
	char *text = strndup(out.data, out.count);
	fw_out_deinit(&out);
	return text;
}

static const struct { enum fw_cpu_id cpu; const char *text, *printed; } prints[] = {
	{ FW_CPU_AMD64, ".cfa: rsp 8 +", ".cfa: $rsp 8 +" },
	{ FW_CPU_AMD64, ".cfa: $rsp 0 +", ".cfa: $rsp" },
	{ FW_CPU_AMD64, ".cfa: $rbp 16 -", ".cfa: $rbp -16 +" },
	{ FW_CPU_AMD64, ".ra: .cfa -8 + ^", ".ra: .cfa -8 + ^" },
	{ FW_CPU_AMD64, ".ra: $rip", ".ra: $rip" },
	{ FW_CPU_AMD64, ".ra: .undef", ".ra: .undef" },
	{ FW_CPU_AMD64, "$rbx: $rbx", "$rbx: $rbx" },
	{ FW_CPU_AMD64, "$rbx: ^", "$rbx: ?" },
	{ FW_CPU_AMD64, "$rbx: .cfa", "$rbx: .cfa" },
	{ FW_CPU_AMD64, "$rbx: $rbp ^", "$rbx: $rbp ^" },
	{ FW_CPU_AMD64, ".cfa: 8 $rsp +", ".cfa: 8 $rsp +" },
	{ FW_CPU_AMD64, ".cfa: 1 2 + 3 4 + *", ".cfa: 1 2 + 3 4 + *" },
	{ FW_CPU_AMD64, ".cfa: 1 2 3 - -", ".cfa: 1 2 3 - -" },
	{ FW_CPU_AMD64, ".cfa: 4096", ".cfa: 4096" },
	{ FW_CPU_AMD64, "$rbx: $rsp 8 + ^ 16 + ^", "$rbx: $rsp 8 + ^ 16 + ^" },
	{ FW_CPU_AMD64, "$rbx: .cfa $rbp 7 % 2 / 16 @ -", "$rbx: .cfa $rbp 7 % 2 / 16 @ -" },
	{ FW_CPU_AMD64, ".cfa: $rsp 18446744073709551615 *", ".cfa: $rsp -1 *" },
	{ FW_CPU_AMD64, ".cfa: $rsp -9223372036854775808 *", ".cfa: $rsp -9223372036854775808 *" },
	{ FW_CPU_X86, ".cfa: $esp 4 +", ".cfa: $esp 4 +" },
	{ FW_CPU_X86, ".cfa: $esp 4294967295 *", ".cfa: $esp -1 *" },
	{ FW_CPU_ARM, ".cfa: sp 4 + ", ".cfa: r13 4 +" },
	{ FW_CPU_ARM, ".ra: lr", ".ra: r14" },
	{ FW_CPU_ARM64, ".cfa: fp 16 +", ".cfa: x29 16 +" },
	{ FW_CPU_ARM64, "x30: .cfa -8 + ^", "x30: .cfa -8 + ^" },
	{ FW_CPU_ARM64, ".ra: lr", ".ra: x30" },
};

START_TEST(printing_round_trips)
{
	const struct fw_cpu *cpu = fw_cpu_get(prints[_i].cpu);
	struct fw_program_set set;
	fw_program_set_init(&set);
	struct parsed p = parse(&set, cpu, prints[_i].text);
	ck_assert_uint_eq(p.count, 1);
	char *text = print(cpu, &set, p.rules[0]);
	ck_assert_str_eq(text, prints[_i].printed);
	struct parsed again = parse(&set, cpu, text);
	ck_assert_uint_eq(again.count, 1);
	ck_assert(same(again.rules[0], p.rules[0]));
	free(text);
	fw_program_set_deinit(&set);
}
END_TEST

// Random expressions: parse, print, parse is the first parse.
START_TEST(printing_random_expressions_round_trips)
{
	const struct fw_cpu *cpu = fw_cpu_get(_i ? FW_CPU_ARM : FW_CPU_AMD64);
	struct fw_program_set set;
	unsigned whole = 0;
	fw_program_set_init(&set);
	srand(11);
	for (int round = 0; round < 20000; round++) {
		char text[400];
		int n = sprintf(text, "%s:", rand() % 4 ? cpu->reg_names[rand() % 8] : ".ra");
		int depth = 0;
		for (int left = 1 + rand() % 12; left > 0 || depth > 1; left--) {
			int what = rand() % 8;
			const char *reg = cpu->reg_names[rand() % cpu->num_regs];
			if (depth > 1 && (left <= 0 || what < 3)) {
				n += sprintf(text + n, " %c", "+-*/%@"[rand() % 6]);
				depth--;
			} else if (depth && what == 3) {
				n += sprintf(text + n, " ^");
			} else if (what < 6) {
				n += sprintf(text + n, " %s", rand() % 5 ? reg : ".cfa");
				depth++;
			} else {
				n += sprintf(text + n, " %d", rand() % 64 - 8);
				depth++;
			}
		}
		struct parsed p = parse(&set, cpu, text);
		ck_assert_uint_eq(p.count, 1);
		char *printed = print(cpu, &set, p.rules[0]);
		struct parsed again = parse(&set, cpu, printed);
		ck_assert_msg(again.count == 1 && same(again.rules[0], p.rules[0]),
			      "%s\n%s", text, printed);
		whole += p.failed == 0;
		free(printed);
	}
	ck_assert_uint_gt(whole, 10000);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(corrupt_rules_print_as_unknown)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	struct fw_program_set set;
	struct fw_op ops[3] = { { .code = FW_OP_ADD }, { .code = FW_OP_ASSIGN, .right = 1 },
				{ .code = 200, .left = 9, .right = 9 } };
	struct fw_program index[4] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 2, 2 } };
	struct fw_programs corrupt = { ops, index, 3, 4 };
	fw_program_set_init(&set);
	for (int i = -1; i < 6; i++) {
		struct fw_out out;
		fw_out_init_memory(&out, 1000);
		fw_rule_print(&out, cpu, &corrupt,
			      (struct fw_rule){ FW_RULE_PROGRAM, 200, 200, 0, i });
		ck_assert_uint_eq(out.count, 4);
		ck_assert_mem_eq(out.data, "?: ?", 4);
		fw_out_deinit(&out);
	}
	char *text = print(cpu, &set, (struct fw_rule){ 77, RBX, 0, 0, 0 });
	ck_assert_str_eq(text, "$rbx: ?");
	free(text);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(rows_are_kept_in_order)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	struct fw_row row;
	fw_row_init(&row, cpu);
	ck_assert_uint_eq(row.count, 2);
	ck_assert(same(row.rules[0], (struct fw_rule){ FW_RULE_FAILED, CFA, 0, 0, 0 }));
	ck_assert(same(row.rules[1], (struct fw_rule){ FW_RULE_FAILED, RIP, 0, 0, 0 }));
	row.rules[0].flags = FW_ROW_SIGNAL;
	fw_row_set(&row, (struct fw_rule){ FW_RULE_LOAD_CFA, R12, 0, 0, -16 });
	fw_row_set(&row, (struct fw_rule){ FW_RULE_LOAD_CFA, RBX, 0, 0, -24 });
	fw_row_set(&row, (struct fw_rule){ FW_RULE_LOAD_CFA, RBP, 0, 0, -32 });
	fw_row_set(&row, (struct fw_rule){ FW_RULE_REG, CFA, RSP, 0, 8 });
	fw_row_set(&row, (struct fw_rule){ FW_RULE_LOAD_CFA, RIP, 0, 0, -8 });
	fw_row_set(&row, (struct fw_rule){ FW_RULE_UNDEFINED, RBP, 5, 9, 5 });
	ck_assert_uint_eq(row.count, 5);
	// flags are the row's; what a kind does not use is zero, so equal rows are equal bytes
	ck_assert(same(row.rules[0],
		       (struct fw_rule){ FW_RULE_REG, CFA, RSP, FW_ROW_SIGNAL, 8 }));
	ck_assert(same(row.rules[1], (struct fw_rule){ FW_RULE_LOAD_CFA, RIP, 0, 0, -8 }));
	ck_assert(same(row.rules[2], (struct fw_rule){ FW_RULE_LOAD_CFA, RBX, 0, 0, -24 }));
	ck_assert(same(row.rules[3], (struct fw_rule){ FW_RULE_UNDEFINED, RBP, 0, 0, 0 }));
	ck_assert(same(row.rules[4], (struct fw_rule){ FW_RULE_LOAD_CFA, R12, 0, 0, -16 }));
}
END_TEST

START_TEST(a_row_of_every_register_fits)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_ARM64);
	struct fw_row row;
	fw_row_init(&row, cpu);
	for (uint8_t i = FW_CPU_REGS; i-- > 0;)
		fw_row_set(&row, (struct fw_rule){ FW_RULE_LOAD_CFA, i, 0, 0, i });
	ck_assert_uint_eq(row.count, FW_CPU_REGS + 1);	// pc is the return address
	for (uint32_t i = 3; i < row.count; i++)
		ck_assert_uint_lt(row.rules[i - 1].target, row.rules[i].target);
}
END_TEST

Suite *rule_suite(void)
{
	Suite *s = suite_create("rule");
	TCase *tc = tcase_create("rule");
	tcase_add_test(tc, literals_wrap_at_the_word_before_shapes_are_told);
	tcase_add_loop_test(tc, shapes_become_records, 0, ARRAY_SIZE(shapes));
	tcase_add_loop_test(tc, other_expressions_become_programs, 0, ARRAY_SIZE(program_cases));
	tcase_add_test(tc, a_whole_record);
	tcase_add_test(tc, the_last_of_duplicates_wins);
	tcase_add_test(tc, names_of_no_register_are_dropped_and_counted);
	tcase_add_loop_test(tc, a_bad_expression_costs_its_register, 0, ARRAY_SIZE(fails));
	tcase_add_test(tc, a_cfa_that_uses_itself_has_failed);
	tcase_add_loop_test(tc, malformed_records_are_explained, 0, ARRAY_SIZE(malformed));
	tcase_add_test(tc, rules_are_limited_by_the_callers_room);
	tcase_add_loop_test(tc, printing_round_trips, 0, ARRAY_SIZE(prints));
	tcase_add_loop_test(tc, printing_random_expressions_round_trips, 0, 2);
	tcase_add_test(tc, corrupt_rules_print_as_unknown);
	tcase_add_test(tc, rows_are_kept_in_order);
	tcase_add_test(tc, a_row_of_every_register_fits);
	suite_add_tcase(s, tc);
	return s;
}
