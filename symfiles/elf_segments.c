#include "symfiles/elf_segments.h"

#include <elf.h>

#include "symfiles/elf_internal.h"

enum { PAGE = 4096 };

bool fw_elf_head_read(const char *path, struct fw_elf_head *ret)
{
	struct fw_elf *elf;
	if (fw_elf_open_head(path, &elf, NULL) != FW_OK)
		return false;
	*ret = (struct fw_elf_head){
		.cpu = fw_elf_cpu(elf), .debug_id = elf->debug_id, .code_id = elf->code_id,
		.base = elf->base, .entry = elf->entry,
		.program = elf->interpreted || elf->type == ET_EXEC,
	};
	for (size_t i = 0; i < elf->loads.count && ret->num_loads < FW_MAX_HEAD_LOADS; i++) {
		const struct fw_elf_load *l = &elf->loads.data[i];
		ret->loads[ret->num_loads++] = (struct fw_elf_head_load){
			l->address, l->file_offset, l->end - l->address, l->executable,
		};
	}
	fw_elf_close(elf);
	return ret->num_loads != 0;
}

bool fw_elf_head_place(const struct fw_elf_head *head, uint64_t start, uint64_t file_offset,
		       uint64_t *ret)
{
	const struct fw_elf_head_load *best = NULL;
	for (uint32_t i = 0; i < head->num_loads; i++) {
		const struct fw_elf_head_load *l = &head->loads[i];
		uint64_t first = l->offset & ~(uint64_t)(PAGE - 1);
		uint64_t end = l->offset + l->file_size;
		// Two segments may share a page of the file: mappings are of code.
		if (file_offset >= first && file_offset < end &&
		    (best == NULL || (l->executable && !best->executable)))
			best = l;
	}
	if (best == NULL)
		return false;
	*ret = start - (best->address - best->offset + file_offset) + head->base;
	return true;
}
