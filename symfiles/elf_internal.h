#ifndef FW_SYMFILES_ELF_INTERNAL_H
#define FW_SYMFILES_ELF_INTERNAL_H

#include "lib/base/pages.h"
#include "lib/base/vec.h"
#include "symfiles/elf_file.h"

/** A section header in the host's form. */
struct fw_elf_shdr {
	struct fw_str name;		// in the file's own bytes; {"", 0}: none
	uint32_t type, link, info;
	uint64_t flags, address, offset, size, entry_size, align;
};

/** A PT_LOAD whose bytes are in the file (a debug file's are not). */
struct fw_elf_load {
	uint64_t address, end;		// link-time addresses of the bytes that are there
	uint64_t file_offset;
	bool executable;
};

/** A section that was unpacked once. */
struct fw_elf_unpacked {
	uint32_t section;
	bool bad;
	struct fw_pages pages;
};

struct fw_elf {
	struct fw_file file;
	struct fw_bytes bytes;		// the same with the file's byte order
	struct fw_ident debug_id, code_id;
	FW_VEC(struct fw_elf_load) loads;
	FW_VEC(struct fw_elf_shdr) sections;	// number 0 is section 1
	FW_VEC(struct fw_elf_unpacked) unpacked;
	uint64_t unpacked_bytes;	// of all of them
	uint64_t needs;			// bytes that its headers say it has
	uint32_t beyond;		// sections (all of them: 1) that end behind the file's end
	uint64_t base;			// page of the lowest PT_LOAD
	bool has_base;			// there is one
	uint64_t entry;			// e_entry; 0: none
	uint64_t eh_frame_hdr, eh_frame_hdr_size;	// addresses; size 0: none
	uint64_t dynamic, dynamic_size;
	uint16_t type, machine;
	uint32_t relocations_left;	// of a relocatable object, see elf_object.h
	bool wide;
	bool has_build_id;		// else the ids are a hash of .text
	bool own_file;			// file is ours to close
	bool interpreted;		// has a PT_INTERP: a program
};

/**
 * Open from a descriptor, which stays the caller's. The file is mapped whatever its
 * size: for a process that may die when a file is made shorter.
 */
FW_MUST_CHECK enum fw_code fw_elf_open_fd(int fd, struct fw_elf **ret, struct fw_error *err);

/**
 * Open for a look: identity, program and section headers, small sections, and what
 * fw_elf_section_size() and fw_elf_has_code() say. All other bytes may read as 0.
 */
FW_MUST_CHECK enum fw_code fw_elf_open_head(const char *path, struct fw_elf **ret,
					    struct fw_error *err);
/**
 * The same with all that unwind rules are read from (.debug_frame: where it is not
 * packed). Large files are mapped: of the sections only what is looked at is read.
 */
FW_MUST_CHECK enum fw_code fw_elf_open_frames(const char *path, struct fw_elf **ret,
					      struct fw_error *err);
/** From bytes for fw_elf_open_head() and _frames(); they become the result's, also on failure. */
FW_MUST_CHECK enum fw_code fw_elf_open_pages(struct fw_pages *pages, struct fw_elf **ret,
					     struct fw_error *err);

/** Have @p pages, which become elf's, instead of the file's bytes, as many as those. */
void fw_elf_take_pages(struct fw_elf *elf, struct fw_pages *pages);

static inline bool fw_elf_big(const struct fw_elf *elf)
{
	return elf->bytes.swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/** True for the name of a section of GNU's old compression, ".zdebug_x" for ".debug_x". */
bool fw_elf_is_zdebug(struct fw_str name, const char *plain);

/**
 * Contents of section number i of elf->sections, unpacked where needed. False as
 * fw_elf_section().
 */
bool fw_elf_section_bytes(struct fw_elf *elf, size_t i, struct fw_bytes *ret);

/**
 * The first @p upto bytes of a section that fw_elf_section() gave are not needed any
 * more; what they read as from now on is not said.
 */
void fw_elf_release(struct fw_elf *elf, const struct fw_bytes *b, uint64_t upto);

/** Size that fw_elf_section() will give, nothing unpacked; 0: none, or damaged. */
uint64_t fw_elf_section_size(const struct fw_elf *elf, const char *name);

/** Free what was unpacked. */
void fw_elf_drop_unpacked(struct fw_elf *elf);

#endif
