#ifndef FW_FUZZ_LOOK_UP_H
#define FW_FUZZ_LOOK_UP_H

#include "lib/image/image.h"
#include "lib/rules/rule.h"

// Every look-up of an image at an offset, and the programs that it leads to.

static inline uint64_t fuzz_sum(struct fw_str s)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s.n; i++)
		sum += (uint8_t)s.s[i];
	return sum;
}

static inline void fuzz_run_rules(const struct fw_image *image, const struct fw_rule *rules,
				  uint32_t n)
{
	static const uint64_t words[64];
	const struct fw_segment segment = { 0x1000, sizeof(words), (const uint8_t *)words };
	const struct fw_memory memory = { &segment, 1, false };
	const struct fw_cpu *cpu = fw_cpu_get(image->cpu);
	struct fw_memory_view view;
	struct fw_regs regs = { 0 };
	fw_memory_view_init(&view, &memory);
	for (unsigned i = 0; i < cpu->num_regs; i++)
		fw_regs_set(&regs, i, 0x1000 + 8 * i);
	if (cpu->num_regs)
		(void)!fw_row_apply(rules, n, &image->programs, cpu, &regs, &view);
}

static inline uint64_t fuzz_look_up(const struct fw_image *image, uint32_t offset)
{
	const struct fw_inline *calls[8];
	uint32_t n = 0;
	uint64_t sum = 0;
	const struct fw_func *f = fw_image_func(image, offset);
	const struct fw_public *p = fw_image_public(image, offset);
	const struct fw_rule *rules = fw_image_cfi(image, offset, &n);
	const struct fw_stack_win *win = fw_image_stack_win(image, offset);
	if (rules)
		fuzz_run_rules(image, rules, n);
	if (win)
		sum += win->params_size + win->program;
	if (p)
		sum += fuzz_sum(fw_image_string(image, p->name));
	if (!f)
		return sum;
	sum += fuzz_sum(fw_image_string(image, f->name));
	const struct fw_line *line = fw_image_line(image, f, offset);
	if (line)
		sum += fuzz_sum(fw_image_numbered(image, FW_SEC_FILES, line->file));
	n = fw_image_inlines(image, f, offset, calls, 8);
	for (uint32_t i = 0; i < n; i++)
		sum += fuzz_sum(fw_image_numbered(image, FW_SEC_ORIGINS, calls[i]->origin));
	return sum;
}

#endif
