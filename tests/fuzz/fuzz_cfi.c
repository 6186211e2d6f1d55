// Hostile call frame information: the first byte chooses section and CPU, the rest is
// the section. Tables and programs must keep their promises, and rows be applied.
#include <stdlib.h>
#include <string.h>

#include "lib/rules/cfi_find.h"
#include "lib/rules/dwarf_cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_start(const void *a, const void *b)
{
	const struct fw_fde *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void apply_all(const struct fw_cfi_table *t, const struct fw_programs *programs,
		      const struct fw_cpu *cpu)
{
	static const uint8_t stack[256] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct fw_segment segment = { 0x7000, sizeof(stack), stack };
	struct fw_memory memory = { &segment, 1, false };
	for (uint32_t row = 1; row < t->num_rows; row++) {
		struct fw_memory_view view;
		struct fw_regs regs = { 0 };
		uint32_t count;
		const struct fw_rule *rules = fw_cfi_rules(t, row, &count);
		if (rules == NULL)
			abort();
		fw_memory_view_init(&view, &memory);
		for (unsigned i = 0; i < cpu->num_regs; i++)
			fw_regs_set(&regs, i, 0x7000 + i * 8);
		if (fw_row_apply(rules, count, programs, cpu, &regs, &view) == FW_ROW_OK &&
		    !fw_regs_has(&regs, cpu->pc))
			abort();
		struct fw_out out;
		fw_out_init_memory(&out, 65536);
		for (uint32_t i = 0; i < count; i++)
			fw_rule_print(&out, cpu, programs, rules[i]);
		fw_out_deinit(&out);
	}
}

/** Rows of single addresses are those that whole FDEs give, if their ranges do not meet. */
static void expect_rows(const struct fw_dwarf_cfi *cfi, const struct fw_fde *fdes, uint32_t n,
			const struct fw_cfi_table *t)
{
	struct fw_program_set programs;
	struct fw_dwarf_decoder *d;
	fw_program_set_init(&programs);
	if (fw_dwarf_decoder_create(cfi, NULL, &programs, &d) != FW_OK)
		abort();
	uint64_t done = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t start = fdes[i].start, end = start + fdes[i].size, before = done;
		const uint64_t at[] = { start, start + 1, (start + end) / 2, end - 1 };
		struct fw_fde again;
		if (fw_dwarf_fde_at(d, fdes[i].offset, &again) != FW_OK ||
		    memcmp(&again, &fdes[i], sizeof(again)) != 0)
			abort();
		done = end > done ? end : done;
		if (end > UINT32_MAX || (i + 1 < n && fdes[i + 1].start < end) || before > start)
			continue;
		for (unsigned k = 0; k < 4 && at[k] < end; k++) {
			const struct fw_rule *got = NULL, *want;
			uint32_t got_n = 0, want_n;
			want = fw_cfi_rules(t, fw_cfi_find(t, (uint32_t)at[k]), &want_n);
			(void)!fw_dwarf_row_at(d, &fdes[i], 0, (uint32_t)at[k], &got, &got_n);
			if (got_n != want_n || (got == NULL) != (want == NULL))
				abort();
			for (uint32_t r = 0; r < got_n; r++)
				if (got[r].kind != want[r].kind || got[r].target != want[r].target ||
				    got[r].flags != want[r].flags)
					abort();
		}
	}
	fw_dwarf_decoder_destroy(d);
	fw_program_set_deinit(&programs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum fw_cpu_id cpus[] = {
		FW_CPU_AMD64, FW_CPU_X86, FW_CPU_ARM64, FW_CPU_PPC64, FW_CPU_RISCV64, FW_CPU_S390X,
		FW_CPU_MIPS, FW_CPU_ARM,
	};
	if (size == 0)
		return 0;
	const struct fw_cpu *cpu = fw_cpu_get(cpus[data[0] >> 1 & 7]);
	struct fw_dwarf_cfi cfi = {
		.bytes = { data + 1, size - 1, data[0] >> 4 & 1 }, .address = 0x10000,
		.text_address = 0x1000, .data_address = 0x20000, .cpu = cpu,
		.eh_frame = !(data[0] & 1), .address_size = cpu->word_size,
		.fixed_address = data[0] >> 5 & 1,
	};
	struct fw_fde *fdes = NULL;
	struct fw_cfi_skipped skipped;
	struct fw_dwarf_decoder *decoder;
	struct fw_cfi_builder rows;
	struct fw_program_set programs;
	struct fw_cfi_table t;
	struct fw_error err;
	uint32_t n;
	if (fw_dwarf_cfi_list(&cfi, &fdes, &n, &skipped) != FW_OK)
		return 0;
	fw_cfi_builder_init(&rows);
	fw_program_set_init(&programs);
	if (n)
		qsort(fdes, n, sizeof(*fdes), by_start);
	if (fw_dwarf_decoder_create(&cfi, &rows, &programs, &decoder) != FW_OK)
		abort();
	for (uint32_t i = 0; i < n; i++)
		if (fw_dwarf_decode_fde(decoder, &fdes[i], 0, &err) && err.message[0] == '\0')
			abort();
	fw_dwarf_decoder_destroy(decoder);
	if (fw_cfi_finish(&rows) != FW_OK)
		abort();
	fw_cfi_view(&rows, &t);
	if (fw_cfi_check(&t, &err) != FW_OK)
		abort();
	struct fw_programs view = { programs.ops.data, programs.programs.data,
				    (uint32_t)programs.ops.count,
				    (uint32_t)programs.programs.count };
	for (uint32_t i = 0; i < view.num_programs; i++) {
		uint32_t bad;
		const struct fw_program *p = &view.programs[i];
		if (!fw_program_sound(view.ops + p->first, p->count, &bad))
			abort();
	}
	apply_all(&t, &view, cpu);
	expect_rows(&cfi, fdes, n, &t);
	fw_cfi_builder_deinit(&rows);
	fw_program_set_deinit(&programs);
	free(fdes);
	return 0;
}
