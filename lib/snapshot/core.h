#ifndef FW_SNAPSHOT_CORE_H
#define FW_SNAPSHOT_CORE_H

#include "lib/base/bytes.h"
#include "lib/snapshot/snapshot.h"

/**
 * Private to lib/snapshot/core*.c: ELF cores as Linux, gdb's gcore and qemu write
 * them. Layouts: System V gABI (headers, notes, auxiliary vector); linux/elfcore.h,
 * linux/elf.h and each architecture's asm/elf.h and asm/ptrace.h (notes).
 */
enum {
	ET_EXEC = 2, ET_DYN = 3, ET_CORE = 4,
	PT_LOAD = 1, PT_DYNAMIC = 2, PT_INTERP = 3, PT_NOTE = 4,
	PN_XNUM = 0xffff,
	PF_X = 1, PF_W = 2, PF_R = 4,
	DT_NULL = 0, DT_STRTAB = 5, DT_SONAME = 14, DT_DEBUG = 21,
};

enum {
	NT_PRSTATUS = 1,
	NT_PRPSINFO = 3,
	NT_AUXV = 6,
	NT_SIGINFO = 0x53494749,	// "SIGI"
	NT_FILE = 0x46494c45,		// "FILE"
	NT_GNU_BUILD_ID = 3,
};

enum { CORE_NO_INDEX = FW_NO_NOTE_INDEX };

/** A program header, whatever the class. */
struct core_phdr {
	uint32_t type, flags;
	uint64_t offset, vaddr, filesz, memsz, align;
};

/** One reading: what several parts need of each other. */
struct core_reader {
	struct fw_bytes file;
	struct fw_snapshot *s;
	bool wide;			// ELFCLASS64
	uint8_t word;			// bytes of an unsigned long of the notes: 4 or 8
	uint16_t machine;		// e_machine
	bool no_memory;			// sticky; checked after every part
	uint64_t phoff;
	uint32_t phnum, phentsize;
	bool headers_cut;		// there were more program headers
	uint64_t notes_end;		// in the file, of the notes read so far
	const char *foreign;		// the system that an unknown note's owner names
	struct fw_bytes siginfo, mapped_files;	// descriptors of the notes; size 0: none
	uint32_t threads_room;
	bool have_psinfo, have_auxv;
	uint64_t execfn;		// AT_EXECFN
};

/** A note's name without its NUL, and what it holds. */
struct core_note {
	uint32_t type;
	struct fw_str owner;
	struct fw_bytes desc;
	uint64_t offset;		// of desc in the file or in its segment
};

/** Leave a note for the user; place is "what index", or what alone for CORE_NO_INDEX. */
__attribute__((format(printf, 4, 5)))
void core_note(struct fw_snapshot *s, const char *what, uint32_t index, const char *format, ...);

/** Arena storage, zeroed; NULL (and core->no_memory set) when there is none. */
void *core_array(struct core_reader *core, uint64_t count, size_t size);

/** Program header @p i of the table at @p offset of @p b. False: not in there. */
bool core_phdr(const struct fw_bytes *b, bool wide, uint64_t offset, struct core_phdr *ret);

/** Next note of @p b, aligned to 4 or 8; *offset moves on. False: the end, or a broken one. */
bool core_next_note(const struct fw_bytes *b, unsigned align, uint64_t *offset,
		    struct core_note *ret);

/** A word of the capture's programs: 4 bytes or 8. 0 beyond the view. */
static inline uint64_t core_word(const struct fw_bytes *b, bool wide, uint64_t offset)
{
	uint32_t narrow = 0;
	uint64_t v = 0;
	if (wide) {
		fw_bytes_u64(b, offset, &v);
		return v;
	}
	fw_bytes_u32(b, offset, &narrow);
	return narrow;
}

static inline uint32_t core_u32(const struct fw_bytes *b, uint64_t offset)
{
	uint32_t v = 0;
	fw_bytes_u32(b, offset, &v);
	return v;
}

static inline uint16_t core_u16(const struct fw_bytes *b, uint64_t offset)
{
	uint16_t v = 0;
	fw_bytes_u16(b, offset, &v);
	return v;
}

/** CPU of an ELF header; core_regs.c. */
const struct fw_cpu *core_cpu(uint16_t machine, bool wide);

/**
 * Registers out of NT_PRSTATUS's descriptor. NULL on success, else what is wrong.
 */
const char *core_registers(const struct core_reader *core, const struct fw_bytes *status,
			   struct fw_regs *ret);

// Parts in the order they are called.
void core_read_notes(struct core_reader *core);
void core_read_memory(struct core_reader *core);
void core_read_exception(struct core_reader *core);
void core_read_modules(struct core_reader *core);

/** An ELF image in the capture's memory, read from its headers; core_image.c. */
struct core_image {
	uint64_t base, end;		// pages of its lowest and highest PT_LOAD
	uint64_t bias;			// added to link-time addresses
	uint64_t dynamic;		// address of its dynamic section; 0: none
	struct fw_str interpreter;	// PT_INTERP
	struct fw_ident debug_id, code_id;
};

/** What is left to read in memory, over all images, so that no core takes long. */
struct core_budget { uint32_t steps; };

/** Read the ELF header at @p address. False: none there that a loader would take. */
bool core_image_read(const struct fw_snapshot *s, struct core_budget *budget, uint64_t address,
		     struct core_image *ret);

/**
 * Read a copy of the program's first page at @p address, when AT_PHDR, AT_PHNUM and
 * AT_ENTRY all say that it is the program's.
 */
bool core_image_copy(const struct fw_snapshot *s, struct core_budget *budget, uint64_t address,
		     struct core_image *ret);

/** Value of the first tag of this kind in a dynamic section in memory. */
bool core_dynamic_tag(const struct fw_snapshot *s, struct core_budget *budget, uint64_t dynamic,
		      uint64_t tag, uint64_t *ret);

/** A view of the NUL-terminated string at an address of the capture; {NULL, 0}: none. */
struct fw_str core_string(const struct fw_snapshot *s, uint64_t address);

/** DT_SONAME of an image in memory, or {NULL, 0}. */
struct fw_str core_soname(const struct fw_snapshot *s, struct core_budget *budget,
			  const struct core_image *image);

/** A word of the capture's memory in its pointers' width. */
bool core_memory_word(const struct fw_snapshot *s, uint64_t address, uint64_t *ret);

#endif
