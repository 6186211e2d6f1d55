// Jitdumps of hostile bytes: all code is looked up, its lines and its unwind rules read.
#include <stdlib.h>

#include "lib/report/profile_jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum;	// so that reading is not optimised away

static void use_code(struct fw_jit_rules *rules, const struct fw_jit_code *c)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	struct fw_programs programs;
	struct fw_str file;
	uint32_t line, count;
	for (size_t i = 0; i < c->name.n; i++)
		sum += (uint8_t)c->name.s[i];
	for (uint64_t i = 0; i < c->size; i++)
		sum += c->bytes[i];
	for (uint64_t i = 0; i < c->size; i += c->size / 4 + 1) {
		if (fw_jit_code_line(c, c->start + i, &file, &line))
			for (size_t k = 0; k < file.n; k++)
				sum += (uint8_t)file.s[k];
		const struct fw_rule *row = fw_jit_rules_at(rules, c, cpu, c->start + i, &count,
							    &programs);
		for (uint32_t k = 0; row != NULL && k < count; k++)
			sum += (uint64_t)row[k].arg + row[k].kind;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fw_jit_rules rules;
	struct fw_jitdump *d;
	struct fw_error err = { 0 };
	const struct fw_jit_code *c;
	if (fw_jitdump_parse(data, size, &d, &err) != FW_OK) {
		if (!err.message[0])
			abort();
		return 0;
	}
	for (uint32_t i = 0, found; i < 64 && (c = fw_jitdump_code(d, i)) != NULL; i++) {
		if (c->size == 0 || c->start + c->size < c->start)
			abort();
		if (c->from < c->to && !fw_jitdump_find(d, c->start, c->from, &found))
			abort();
		use_code(&rules, c);
	}
	fw_jit_rules_deinit(&rules);
	fw_jitdump_close(d);
	return 0;
}
