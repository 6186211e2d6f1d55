#include "lib/report/adopt.h"

#include <string.h>

enum {
	DT_NULL_TAG = 0,
	DT_DEBUG_TAG = 21,
	FW_LEAST_AGREEING = 8,	// entries of a dynamic section that tell it from any other
};

static bool target_word(const struct fw_snapshot *s, uint64_t address, uint64_t *ret)
{
	uint8_t bytes[8];
	unsigned n = s->cpu->word_size;
	if (!fw_memory_bytes(&s->memory, address, bytes, n))
		return false;
	struct fw_bytes view = { bytes, n, s->memory.swap };
	uint32_t v32;
	if (n == 8)
		return fw_bytes_u64(&view, 0, ret);
	if (!fw_bytes_u32(&view, 0, &v32))
		return false;
	*ret = v32;
	return true;
}

static bool file_word(const struct fw_bytes *b, uint64_t offset, unsigned n, uint64_t *ret)
{
	uint32_t v32;
	if (n == 8)
		return fw_bytes_u64(b, offset, ret);
	if (!fw_bytes_u32(b, offset, &v32))
		return false;
	*ret = v32;
	return true;
}

/**
 * Is the file's dynamic section in memory at its place? The linker adds the bias
 * to addresses (or leaves them) and fills in DT_DEBUG; all else stays. Sizes and
 * counts of tables make it unlike any other file's.
 */
static bool dynamic_agrees(const struct fw_snapshot *s, const struct fw_elf *elf, uint64_t bias)
{
	const unsigned n = s->cpu->word_size;
	struct fw_bytes section;
	uint64_t address, agreeing = 0;
	if (!fw_elf_dynamic(elf, &section, &address))
		return false;
	for (uint64_t at = 0; at + 2 * n <= section.size; at += 2 * n) {
		uint64_t tag, value, tag_there, value_there;
		if (!file_word(&section, at, n, &tag) || !file_word(&section, at + n, n, &value) ||
		    !target_word(s, address + bias + at, &tag_there) ||
		    !target_word(s, address + bias + at + n, &value_there) || tag != tag_there)
			return false;
		if (tag == DT_NULL_TAG)
			break;
		if (tag == DT_DEBUG_TAG)
			continue;
		if (value_there != value && value_there != ((value + bias) & s->cpu->word_mask))
			return false;
		agreeing++;
	}
	return agreeing >= FW_LEAST_AGREEING;
}

static bool add_file(struct fw_snapshot *s, const struct fw_elf *elf, const char *path,
		     uint64_t bias, bool is_main)
{
	size_t n = strlen(path);
	const char *copy = fw_arena_strndup(&s->arena, path, n);
	struct fw_module_info m = {
		.base = fw_elf_base(elf) + bias, .size = fw_elf_span(elf),
		.debug_id = *fw_elf_debug_id(elf), .code_id = *fw_elf_code_id(elf),
		.is_main = is_main,
	};
	if (copy == NULL)
		return false;
	m.code_file = m.debug_file = (struct fw_str){ copy, n };
	return fw_snapshot_add_module(s, &m, NULL) == FW_OK;
}

struct adoption {
	struct fw_snapshot *s;
	struct fw_module_info *wanted;	// being looked for; NULL: the program is
	uint64_t dynamic;		// of the program found, 0: it is static
};

static bool is_program(void *context, const char *path)
{
	struct adoption *a = context;
	struct fw_snapshot *s = a->s;
	struct fw_elf *elf;
	struct fw_bytes section;
	uint64_t entry, address, bias = 0;
	bool found = false;
	if (fw_elf_open(path, &elf, NULL) != FW_OK)
		return false;
	if (fw_elf_cpu(elf) == s->cpu && fw_elf_has_code(elf) && fw_elf_entry(elf, &entry) &&
	    (s->phnum == 0 || fw_elf_phnum(elf) == s->phnum)) {
		if (!fw_elf_is_fixed(elf) && s->phdr != 0)
			bias = s->phdr - fw_elf_phdr_address(elf);
		bool dynamic = fw_elf_dynamic(elf, &section, &address);
		found = fw_elf_base(elf) + entry + bias == s->entry &&
			(!dynamic || dynamic_agrees(s, elf, bias)) &&
			add_file(s, elf, path, bias, true);
		if (found && dynamic)
			a->dynamic = address + bias;
	}
	fw_elf_close(elf);
	return found;
}

static bool is_library(void *context, const char *path)
{
	struct adoption *a = context;
	struct fw_module_info *m = a->wanted;
	struct fw_str name = fw_base_name((struct fw_str){ path, strlen(path) });
	struct fw_str want = fw_base_name(m->code_file);
	struct fw_elf *elf;
	if (name.n != want.n || memcmp(name.s, want.s, name.n) != 0 ||
	    fw_elf_open(path, &elf, NULL) != FW_OK)
		return false;
	bool found = fw_elf_cpu(elf) == a->s->cpu &&
		     dynamic_agrees(a->s, elf, m->base - fw_elf_base(elf));
	if (found) {
		m->debug_id = *fw_elf_debug_id(elf);
		m->code_id = *fw_elf_code_id(elf);
	}
	fw_elf_close(elf);
	return found;
}

void fw_adopt_modules(struct fw_snapshot *s, struct fw_symbols *symbols)
{
	struct adoption a = { .s = s };
	uint32_t added;
	if (!s->have_entry || s->cpu->num_regs == 0 || strcmp(s->format, "core") != 0)
		return;
	if (fw_snapshot_module(s, s->entry) == NULL &&
	    fw_symbols_each_elf(symbols, is_program, &a) && a.dynamic != 0)
		(void)!fw_snapshot_add_linked(s, a.dynamic, &added, NULL);
	for (uint32_t i = 0; i < s->num_modules; i++) {
		a.wanted = &s->modules[i];
		if (a.wanted->debug_id.n == 0 && a.wanted->code_file.s != NULL)
			fw_symbols_each_elf(symbols, is_library, &a);
	}
}
