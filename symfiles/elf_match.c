#include "symfiles/elf_internal.h"

#include <elf.h>

// What tells whether a file is the one that a capture without build ids is of.

enum { PAGE = 4096 };

uint64_t fw_elf_span(const struct fw_elf *elf)
{
	uint64_t end = elf->base;
	for (size_t i = 0; i < elf->loads.count; i++) {
		if (elf->loads.data[i].end > end)
			end = elf->loads.data[i].end;
	}
	return (end - elf->base + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

bool fw_elf_is_fixed(const struct fw_elf *elf)
{
	return elf->type == ET_EXEC;
}

uint32_t fw_elf_phnum(const struct fw_elf *elf)
{
	uint16_t n = 0;
	(void)fw_bytes_u16(&elf->bytes, elf->wide ? offsetof(Elf64_Ehdr, e_phnum) :
						    offsetof(Elf32_Ehdr, e_phnum), &n);
	return n;
}

uint64_t fw_elf_phdr_address(const struct fw_elf *elf)
{
	uint64_t offset = 0;
	uint32_t offset32 = 0;
	if (elf->wide)
		(void)fw_bytes_u64(&elf->bytes, offsetof(Elf64_Ehdr, e_phoff), &offset);
	else if (fw_bytes_u32(&elf->bytes, offsetof(Elf32_Ehdr, e_phoff), &offset32))
		offset = offset32;
	for (size_t i = 0; i < elf->loads.count; i++) {
		const struct fw_elf_load *l = &elf->loads.data[i];
		if (offset >= l->file_offset && offset - l->file_offset < l->end - l->address)
			return l->address + (offset - l->file_offset);
	}
	return 0;
}

bool fw_elf_dynamic(const struct fw_elf *elf, struct fw_bytes *ret, uint64_t *ret_address)
{
	struct fw_bytes bytes;
	if (elf->dynamic_size == 0 || !fw_elf_mapped(elf, elf->dynamic, &bytes) ||
	    !fw_bytes_range(&bytes, 0, elf->dynamic_size, ret))
		return false;
	*ret_address = elf->dynamic;
	return true;
}
