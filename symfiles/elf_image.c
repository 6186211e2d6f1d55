#include "symfiles/elf_image.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "symfiles/elf_symtab.h"

#if !__has_include("symfiles/dwarf.c")
enum fw_code fw_dwarf_into(const struct fw_elf_files *files, struct fw_builder *b,
			   struct fw_error *err)
{
	return FW_OK;
}
#endif

typedef enum fw_code (*part_fn)(const struct fw_elf_files *files, struct fw_builder *b,
				struct fw_error *err);

/** Sections that are not in the file or could not be unpacked. */
static void count_damage(const struct fw_elf *elf, struct fw_builder *b)
{
	if (elf == NULL)
		return;
	for (uint32_t i = 0; i < elf->beyond; i++)
		fw_diag_add(&b->diag, FW_DIAG_MALFORMED, 0);
	for (size_t i = 0; i < elf->unpacked.count; i++)
		if (elf->unpacked.data[i].bad)
			fw_diag_add(&b->diag, FW_DIAG_MALFORMED, 0);
}

// Names that functions have already are not looked up again: symbols come after DWARF.
static const part_fn parts[] = { fw_dwarf_into, fw_elf_symbols_into, fw_elf_cfi_into };

void fw_elf_identity_into(struct fw_elf *elf, struct fw_builder *b)
{
	b->debug_id = elf->debug_id;
	b->code_id = elf->code_id;
	b->cpu = fw_elf_cpu(elf)->id;
	b->base = fw_elf_shown_base(elf);
	strcpy(b->os, "Linux");
	struct fw_str name;
	if (fw_elf_soname(elf, &name))
		snprintf(b->name, sizeof(b->name), "%.*s", (int)name.n, name.s);
}

enum fw_code fw_elf_compile(const struct fw_elf_files *files, struct fw_image **ret,
			    struct fw_error *err)
{
	struct fw_builder *b;
	enum fw_code code = fw_builder_create(&b, err);
	if (code != FW_OK)
		return code;
	fw_elf_identity_into(files->elf, b);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (files->no_names && parts[i] != fw_elf_cfi_into)
			continue;
		code = parts[i](files, b, err);
		if (code == FW_NO_MEMORY)
			break;
		// What one part breaks costs that part; what it gave so far stays.
		if (code != FW_OK)
			fw_diag_add(&b->diag, code == FW_LIMIT ? FW_DIAG_LIMIT
							       : FW_DIAG_MALFORMED, 0);
		code = FW_OK;
	}
	if (code != FW_OK) {
		fw_builder_destroy(b);
		return code;
	}
	count_damage(files->elf, b);
	if (files->debug != files->elf)
		count_damage(files->debug, b);
	return fw_builder_freeze(b, ret, err);
}

enum fw_code fw_elf_identity(struct fw_elf *elf, struct fw_image **ret, struct fw_error *err)
{
	struct fw_builder *b;
	enum fw_code code = fw_builder_create(&b, err);
	if (code != FW_OK)
		return code;
	fw_elf_identity_into(elf, b);
	return fw_builder_freeze(b, ret, err);
}

enum fw_code fw_elf_compile_memory(const void *data, uint64_t size, struct fw_image **ret,
				   struct fw_error *err)
{
	struct fw_elf_files files = { .raw_names = true };
	struct fw_builder *b;
	if (size > FW_MAX_VDSO)
		return fw_fail(err, FW_LIMIT, NULL, "larger than any vDSO");
	enum fw_code code = fw_elf_open_bytes(data, size, &files.elf, err);
	if (code != FW_OK)
		return code;
	code = fw_builder_create(&b, err);
	if (code == FW_OK) {
		fw_elf_identity_into(files.elf, b);
		code = fw_elf_symbols_into(&files, b, err);
		if (code == FW_OK)
			code = fw_elf_cfi_into(&files, b, err);
		if (code == FW_OK)
			code = fw_builder_freeze(b, ret, err);
		else
			fw_builder_destroy(b);
	}
	fw_elf_close(files.elf);
	return code;
}
