#ifndef FW_SYMFILES_ELF_SEGMENTS_H
#define FW_SYMFILES_ELF_SEGMENTS_H

#include "lib/image/ident.h"
#include "lib/rules/cpu.h"

/**
 * How an ELF file's pages lie in memory, and who it is: what thousands of mappings
 * need to know of their files, which are not kept open for it.
 */
enum { FW_MAX_HEAD_LOADS = 64 };	// PT_LOADs; a linker writes two to six

struct fw_elf_head_load {
	uint64_t address;		// p_vaddr
	uint64_t offset, file_size;	// in the file
	bool executable;
};

struct fw_elf_head {
	const struct fw_cpu *cpu;
	struct fw_ident debug_id, code_id;	// as fw_elf_debug_id() says
	uint64_t base;			// page of the lowest PT_LOAD
	uint64_t entry;			// e_entry; 0: none
	bool program;			// has an interpreter, or is fixed: not a library
	uint32_t num_loads;
	struct fw_elf_head_load loads[FW_MAX_HEAD_LOADS];
};

/**
 * Read it. False: not an ELF program or library that can be read, or no PT_LOAD.
 * Any thread.
 */
bool fw_elf_head_read(const char *path, struct fw_elf_head *ret);

/**
 * Address of the module's base when the page at @p file_offset is mapped at @p start
 * (gABI, "Program Loading": the bias is the same for all of a file's segments,
 * found by the one whose pages hold the offset). False: no segment does.
 */
bool fw_elf_head_place(const struct fw_elf_head *head, uint64_t start, uint64_t file_offset,
		       uint64_t *ret);

#endif
