#ifndef FW_SYMFILES_ELF_FILE_H
#define FW_SYMFILES_ELF_FILE_H

#include "lib/base/file.h"
#include "lib/base/bytes.h"
#include "lib/image/ident.h"
#include "lib/rules/cpu.h"

/**
 * An ELF program or library, read with libelf from our own mapping
 * (elf_memory: nothing is copied, no file is opened by the library). So far:
 * identity and the bytes of its executable segments, which tell a call in
 * front of a return address from chance.
 */
struct fw_elf;

/** Open an ELF file. FW_UNSUPPORTED: not ELF; FW_MALFORMED; FW_IO ... */
FW_MUST_CHECK enum fw_code fw_elf_open(const char *path, struct fw_elf **ret,
				       struct fw_error *err);
/** The same from bytes in memory that stay the caller's (tests, fuzzing). */
FW_MUST_CHECK enum fw_code fw_elf_open_bytes(const void *data, uint64_t size,
					     struct fw_elf **ret, struct fw_error *err);
void fw_elf_close(struct fw_elf *elf);

/**
 * Only the debug id, as a rule from the file's first n bytes (@p head, a few
 * KiB) alone; @p path is opened where they do not tell. False: it has none.
 */
bool fw_elf_peek_id(const void *head, size_t n, const char *path, struct fw_ident *ret);

/** Build id's ident, or Breakpad's XOR of the first 4 KiB of .text when it has none. */
const struct fw_ident *fw_elf_debug_id(const struct fw_elf *elf);
const struct fw_ident *fw_elf_code_id(const struct fw_elf *elf);

/** Entry point's offset from the module's base; false: it has none. */
bool fw_elf_entry(const struct fw_elf *elf, uint64_t *ret);

/** False for a debug file: its program headers are there, its code is not. */
bool fw_elf_has_code(const struct fw_elf *elf);

/**
 * Copy n bytes of an executable PT_LOAD segment at @p offset from the module's
 * base (lowest PT_LOAD's page). False: not executable, or not in the file.
 */
bool fw_elf_code(const struct fw_elf *elf, uint64_t offset, uint8_t *out, uint64_t n);

/** Build id among notes that lie back to back, as in /sys/kernel/notes (4-byte alignment);
 *  code id as fw_ident_code_from_build_id() has it. False: none. */
bool fw_elf_notes_id(const struct fw_bytes *notes, struct fw_ident *ret);

/** CPU by e_machine, class and byte order; never NULL. */
const struct fw_cpu *fw_elf_cpu(const struct fw_elf *elf);
/** Link-time address of offset 0 of the module: the page of the lowest PT_LOAD. */
uint64_t fw_elf_base(const struct fw_elf *elf);
/** What people add to offsets: the same, but 0 for a relocatable object, see elf_object.h. */
uint64_t fw_elf_shown_base(const struct fw_elf *elf);
/** 4 or 8. */
unsigned fw_elf_word_size(const struct fw_elf *elf);

/**
 * Contents of a section by name, decompressed (SHF_COMPRESSED zlib and zstd, and
 * GNU's .zdebug_* under its plain name), with the file's byte order set.
 * Decompressed bytes belong to @p elf and are kept until fw_elf_close. False:
 * no such section, NOBITS, or damaged. Not thread safe: one loader at a time.
 */
bool fw_elf_section(struct fw_elf *elf, const char *name, struct fw_bytes *ret,
		    uint64_t *ret_address);

/**
 * The same of a section that is stored as it is: any thread. FW_NOT_FOUND, or
 * FW_UNSUPPORTED where it would have to be unpacked.
 */
enum fw_code fw_elf_stored(const struct fw_elf *elf, const char *name, struct fw_bytes *ret,
			   uint64_t *ret_address);

/** Bytes from the base to the end of what the file maps, whole pages. */
uint64_t fw_elf_span(const struct fw_elf *elf);
/** Linked for one address: a program that is not position-independent. */
bool fw_elf_is_fixed(const struct fw_elf *elf);
/** Number of program headers, and where the file has them mapped (0: nowhere). */
uint32_t fw_elf_phnum(const struct fw_elf *elf);
uint64_t fw_elf_phdr_address(const struct fw_elf *elf);
/** PT_DYNAMIC's bytes and link-time address. */
bool fw_elf_dynamic(const struct fw_elf *elf, struct fw_bytes *ret, uint64_t *ret_address);

/** PT_GNU_EH_FRAME, for files without section headers. */
bool fw_elf_eh_frame_hdr(const struct fw_elf *elf, struct fw_bytes *ret, uint64_t *ret_address);

/** Bytes of the file mapped at a link-time address, as far as one PT_LOAD has them. */
bool fw_elf_mapped(const struct fw_elf *elf, uint64_t address, struct fw_bytes *ret);

#endif
