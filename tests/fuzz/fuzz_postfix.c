// Postfix text of a symbol file: compiled, stored, checked, run and printed.
#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/rules/cfi_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { START = 0x7000, WORDS = 64 };

static const struct fw_programs *view_of(const struct fw_program_set *set,
					 struct fw_programs *ret)
{
	*ret = (struct fw_programs){ set->ops.data, set->programs.data,
				     (uint32_t)set->ops.count, (uint32_t)set->programs.count };
	return ret;
}

static void set_regs(struct fw_regs *regs, const struct fw_cpu *cpu)
{
	*regs = (struct fw_regs){ 0 };
	for (unsigned i = 0; i < cpu->num_regs; i += 2)	// half of them are known
		fw_regs_set(regs, i, START + 8 * i);
	fw_regs_set(regs, cpu->sp, START + 16);
	fw_regs_set(regs, cpu->fp, START + 64);
	fw_regs_set(regs, cpu->pc, 0x401000);
}

static void run_cfi(const struct fw_cpu *cpu, struct fw_str text, struct fw_memory_view *view)
{
	struct fw_program_set set;
	struct fw_programs programs;
	struct fw_regs regs, before;
	struct fw_error err;
	uint64_t value = 0;
	uint32_t program;
	fw_program_set_init(&set);
	if (fw_program_compile_cfi(&set, cpu, true, text, &program, &err) == FW_OK) {
		set_regs(&regs, cpu);
		fw_regs_set(&regs, FW_SLOT_CFA, START + 128);
		before = regs;
		fw_program_run(view_of(&set, &programs), program, cpu, &regs, view, NULL, &value);
		if (value & ~cpu->word_mask || memcmp(&before, &regs, sizeof(regs)) != 0)
			abort();	// a value wider than a word, or a rule that assigned
	} else if (err.message[0] == 0 || set.programs.count) {
		abort();
	}
	fw_program_set_deinit(&set);
}

static void run_win(struct fw_str text, struct fw_memory_view *view)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_X86);
	struct fw_program_set set;
	struct fw_programs programs;
	struct fw_regs regs;
	uint64_t assigned = 0;
	uint32_t program;
	bool aligns;
	fw_program_set_init(&set);
	if (fw_program_compile_win(&set, text, &program, &aligns, NULL) == FW_OK) {
		set_regs(&regs, cpu);
		for (unsigned i = FW_SLOT_VARS; i < FW_SLOT_WIN_SCRATCH; i++)
			fw_regs_set(&regs, i, START + i);
		fw_program_run(view_of(&set, &programs), program, cpu, &regs, view, &assigned,
			       NULL);
		if (assigned & ~regs.valid)
			abort();
	}
	fw_program_set_deinit(&set);
}

// Printed text is parsed to the same rule.
static void check_print(struct fw_program_set *set, const struct fw_cpu *cpu, struct fw_rule rule)
{
	struct fw_programs programs;
	struct fw_rule again;
	struct fw_out out;
	uint32_t count, unknown, failed;
	fw_out_init_memory(&out, 1 << 20);
	fw_rule_print(&out, cpu, view_of(set, &programs), rule);
	if (fw_rules_parse(set, cpu, (struct fw_str){ out.data, out.count }, &again, 1, &count,
			   &unknown, &failed, NULL) != FW_OK ||
	    memcmp(&rule, &again, sizeof(rule)) != 0)
		abort();
	fw_out_deinit(&out);
}

static void run_row(const struct fw_cpu *cpu, const struct fw_row *row,
		    const struct fw_programs *programs, struct fw_memory_view *view)
{
	struct fw_cfi_builder b;
	struct fw_cfi_table t;
	struct fw_regs regs[2];
	enum fw_row_result result[2];
	uint32_t id, count;
	fw_cfi_builder_init(&b);
	if (fw_cfi_add_row(&b, row, &id) != FW_OK || fw_cfi_append(&b, 0x1234, id) != FW_OK ||
	    fw_cfi_append(&b, 0x1240, 0) != FW_OK || fw_cfi_finish(&b) != FW_OK)
		abort();
	fw_cfi_view(&b, &t);
	if (fw_cfi_check(&t, NULL) != FW_OK || fw_cfi_find(&t, 0x123f) != id ||
	    fw_cfi_find(&t, 0x1233) != 0 || fw_cfi_find(&t, 0x1240) != 0)
		abort();
	const struct fw_rule *stored = fw_cfi_rules(&t, id, &count);
	for (int i = 0; i < 2; i++) {	// as stored, perhaps flagged plain, and as it was
		set_regs(&regs[i], cpu);
		result[i] = fw_row_apply(i ? row->rules : stored, count, programs, cpu, &regs[i],
					 view);
	}
	if (result[0] != result[1] || regs[0].valid != regs[1].valid)
		abort();
	for (unsigned i = 0; i < FW_SLOTS; i++) {
		if (fw_regs_has(&regs[0], i) && regs[0].v[i] != regs[1].v[i])
			abort();
	}
	fw_cfi_builder_deinit(&b);
}

static void run_rules(const struct fw_cpu *cpu, struct fw_str text, struct fw_memory_view *view)
{
	struct fw_rule rules[FW_MAX_ROW_RULES];
	struct fw_program_set set;
	struct fw_programs programs;
	struct fw_row row;
	uint32_t count, unknown, failed;
	fw_program_set_init(&set);
	enum fw_code code = fw_rules_parse(&set, cpu, text, rules, FW_MAX_ROW_RULES, &count,
					   &unknown, &failed, NULL);
	if ((code == FW_OK && count + unknown == 0) || count > FW_MAX_ROW_RULES)
		abort();
	fw_row_init(&row, cpu);
	for (uint32_t i = 0; i < count; i++) {
		check_print(&set, cpu, rules[i]);
		fw_row_set(&row, rules[i]);
	}
	run_row(cpu, &row, view_of(&set, &programs), view);
	fw_program_set_deinit(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[WORDS];
	if (size == 0)
		return -1;
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = START + 8 * (uint64_t)(i * 7 % WORDS);
	// a part of the reads misses
	const struct fw_segment segment = { START, sizeof(words), (const uint8_t *)words };
	const struct fw_memory memory = { &segment, 1, data[0] >> 6 & 1 };
	struct fw_memory_view view;
	fw_memory_view_init(&view, &memory);
	const struct fw_cpu *cpu = fw_cpu_get((enum fw_cpu_id)(FW_CPU_X86 + (data[0] >> 2 & 3)));
	struct fw_str text = { (const char *)data + 1, size - 1 };
	switch (data[0] & 3) {
	case 0:
		run_cfi(cpu, text, &view);
		break;
	case 1:
		run_win(text, &view);
		break;
	default:
		run_rules(cpu, text, &view);
		break;
	}
	return 0;
}
