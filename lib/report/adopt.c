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

static enum fw_code add_file(struct fw_snapshot *s, const struct fw_elf *elf, const char *path,
			     uint64_t bias, bool is_main, struct fw_error *err)
{
	size_t n = strlen(path);
	const char *copy = fw_arena_strndup(&s->arena, path, n);
	struct fw_module_info m = {
		.base = fw_elf_base(elf) + bias, .size = fw_elf_span(elf),
		.debug_id = *fw_elf_debug_id(elf), .code_id = *fw_elf_code_id(elf),
		.is_main = is_main,
	};
	if (copy == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	m.code_file = m.debug_file = (struct fw_str){ copy, n };
	return fw_snapshot_add_module(s, &m, err);
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
			add_file(s, elf, path, bias, true, NULL) == FW_OK;
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

// ---- a program given by its user ----

/** The program's module: by the loader's word, else where the entry point lies. */
static struct fw_module_info *program_of(struct fw_snapshot *s)
{
	for (uint32_t i = 0; i < s->num_modules; i++)
		if (s->modules[i].is_main)
			return &s->modules[i];
	return s->have_entry ? (struct fw_module_info *)fw_snapshot_module(s, s->entry) : NULL;
}

/** Nothing but the file's id, or no id at all, says whether it is the program. */
static enum fw_code check_memory(const struct fw_snapshot *s, const struct fw_elf *elf,
				 uint64_t bias, struct fw_error *err)
{
	struct fw_comparison code = { 0 };
	struct fw_bytes bytes;
	uint64_t entry, address, word;
	if (s->have_entry && fw_elf_entry(elf, &entry) &&
	    fw_elf_base(elf) + entry + bias != s->entry)
		return fw_fail(err, FW_NOT_FOUND, NULL,
			       "it is not the capture's program: its entry point is another");
	if (s->phnum != 0 && fw_elf_phnum(elf) != s->phnum)
		return fw_fail(err, FW_NOT_FOUND, NULL, "it is not the capture's program: it has "
			       "%u program headers instead of %u", fw_elf_phnum(elf), s->phnum);
	if (s->have_entry && fw_elf_mapped(elf, s->entry - bias, &bytes))
		fw_snapshot_compare(s, s->entry, bytes.data, bytes.size, &code);
	// breakpoints and text relocations are written into code; another program's differs in most
	if (code.equal < code.present - code.present / 10)
		return fw_fail(err, FW_NOT_FOUND, NULL,
			       "it is not the capture's program: its code is another");
	if (fw_elf_dynamic(elf, &bytes, &address) && target_word(s, address + bias, &word) &&
	    !dynamic_agrees(s, elf, bias))
		return fw_fail(err, FW_NOT_FOUND, NULL, "it is not the capture's program: its "
			       "dynamic section is another");
	return FW_OK;
}

/** Where a program without a module was put. */
static enum fw_code bias_of(const struct fw_snapshot *s, const struct fw_elf *elf, uint64_t *ret,
			    struct fw_error *err)
{
	uint64_t entry;
	*ret = 0;
	if (fw_elf_is_fixed(elf))
		return FW_OK;
	if (s->phdr != 0)
		*ret = s->phdr - fw_elf_phdr_address(elf);
	else if (s->have_entry && fw_elf_entry(elf, &entry))
		*ret = s->entry - (fw_elf_base(elf) + entry);
	else
		return fw_fail(err, FW_NOT_FOUND, NULL,
			       "the capture does not say where its program lies");
	return FW_OK;
}

static enum fw_code add_program(struct fw_snapshot *s, const struct fw_elf *elf, const char *path,
				struct fw_error *err)
{
	struct fw_bytes section;
	uint64_t bias, address;
	uint32_t added;
	enum fw_code code = bias_of(s, elf, &bias, err);
	if (code == FW_OK)
		code = check_memory(s, elf, bias, err);
	if (code == FW_OK)
		code = add_file(s, elf, path, bias, true, err);
	if (code == FW_OK && fw_elf_dynamic(elf, &section, &address))
		(void)!fw_snapshot_add_linked(s, address + bias, &added, NULL);
	return code;
}

static enum fw_code identify_program(struct fw_snapshot *s, struct fw_module_info *m,
				     const struct fw_elf *elf, struct fw_error *err)
{
	const struct fw_ident *id = fw_elf_debug_id(elf);
	if (m->debug_id.n != 0 && fw_ident_equal(&m->debug_id, id))
		return FW_OK;
	if (m->debug_id.n != 0)
		return fw_fail(err, FW_NOT_FOUND, NULL,
			       "it is not the capture's program: its id is %s, the program's is %s",
			       id->text, m->debug_id.text);
	enum fw_code code = check_memory(s, elf, m->base - fw_elf_base(elf), err);
	if (code == FW_OK)
		fw_snapshot_identify(s, (uint32_t)(m - s->modules), id, fw_elf_code_id(elf));
	return code;
}

enum fw_code fw_adopt_program(struct fw_snapshot *s, const char *path, struct fw_error *err)
{
	struct fw_module_info *m = program_of(s);
	struct fw_elf *elf;
	enum fw_code code = fw_elf_open(path, &elf, err);
	if (code != FW_OK)
		return code;
	if (fw_elf_cpu(elf) != s->cpu)
		code = fw_fail(err, FW_NOT_FOUND, NULL, "it is for %s, the capture is of %s",
			       fw_elf_cpu(elf)->name, s->cpu->name);
	else if (!fw_elf_has_code(elf))
		code = fw_fail(err, FW_NOT_FOUND, NULL,
			       "it has no code: the program itself is wanted, not its debug file");
	else
		code = m ? identify_program(s, m, elf, err) : add_program(s, elf, path, err);
	fw_elf_close(elf);
	return code;
}
