#ifndef FW_SYMFILES_ELF_FRAMES_H
#define FW_SYMFILES_ELF_FRAMES_H

#include "lib/rules/dwarf_cfi.h"
#include "symfiles/elf_image.h"

/**
 * The call frame information of one module, from both its sections: which FDE
 * speaks for an address. Compiling decodes all of them; a single address needs one.
 */
enum { FW_EH_FRAME, FW_DEBUG_FRAME, FW_FRAME_SECTIONS };

struct fw_frame_section {
	bool found;
	struct fw_dwarf_cfi cfi;
	uint64_t base;		// of the file it is in, which may have been moved by prelink
	struct fw_fde *fdes;	// once listed
	uint32_t n;
};

/** An FDE in the order of addresses; numbers of .debug_frame's follow .eh_frame's. */
struct fw_frame_place { uint32_t start, fde; };	// start: offset from the module's base

struct fw_elf_frames {
	struct fw_frame_section sections[FW_FRAME_SECTIONS];
	struct fw_frame_place *order;	// disjoint, once listed
	uint32_t n;
};

/** Find .eh_frame, by name or through PT_GNU_EH_FRAME. Any thread. */
bool fw_elf_eh_frame(const struct fw_elf *elf, const struct fw_cpu *cpu, struct fw_dwarf_cfi *ret);

/**
 * Find .debug_frame, unpacking it where it must be, which then is the file's and
 * for one thread. Without @p unpack a packed one is FW_UNSUPPORTED. FW_NOT_FOUND.
 */
FW_MUST_CHECK enum fw_code fw_elf_debug_frame(struct fw_elf *elf, const struct fw_cpu *cpu,
	bool unpack, struct fw_frame_section *ret);

/**
 * List the FDEs of the sections that were found and lay them out: no two meet.
 * Each then has its size, and in `skip` what of it belongs to another. Of one section
 * the earlier ends where the later starts, of equal starts the first stays;
 * .debug_frame repeats what .eh_frame says, and gives way wherever they meet.
 * What is left out is counted in @p diag. FW_NO_MEMORY, FW_LIMIT.
 */
FW_MUST_CHECK enum fw_code fw_elf_frames_list(struct fw_elf_frames *f, struct fw_diag *diag);

/** The FDE of a place in `order`, and its section. */
struct fw_fde *fw_elf_frames_fde(const struct fw_elf_frames *f, uint32_t place,
				 const struct fw_frame_section **ret);

/** Free the lists. The sections stay. */
void fw_elf_frames_deinit(struct fw_elf_frames *f);

#endif
