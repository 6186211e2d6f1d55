#ifndef FW_TESTS_SYNTH_CORE_H
#define FW_TESTS_SYNTH_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Builds small ELF cores, both classes and byte orders, from what a test states.
 * It knows the formats (gABI, linux/elfcore.h, asm/ptrace.h) and nothing of the
 * reader. Data given is copied; what does not fit aborts.
 */
enum { SYNTH_CORE_SEGMENTS = 64, SYNTH_CORE_NOTES = 1 << 18 };

struct synth_core {
	bool wide, big;
	uint16_t machine;
	bool xnum;			// count the headers in section header 0
	uint8_t *notes;
	size_t notes_size;
	struct synth_core_segment {
		uint32_t type, flags;
		uint64_t vaddr, filesz, memsz, align;
		uint64_t offset;	// in the finished file
		uint8_t *data;
	} segments[SYNTH_CORE_SEGMENTS];	// 0 is the notes'
	unsigned num_segments;
	size_t phoff, notes_offset;	// in the finished file
	uint8_t *file;
	size_t size;
};

enum {	// p_flags
	SYNTH_X = 1, SYNTH_W = 2, SYNTH_R = 4,
};

void synth_core_init(struct synth_core *c, uint16_t machine, bool wide, bool big);
void synth_core_deinit(struct synth_core *c);

/** Write a value of 1, 2, 4 or 8 bytes in the core's order. */
void synth_core_put(const struct synth_core *c, uint8_t *at, uint64_t v, unsigned bytes);
/** A word of the core's class. */
void synth_core_put_word(const struct synth_core *c, uint8_t *at, uint64_t v);
/** 4 or 8. */
unsigned synth_core_word(const struct synth_core *c);

void synth_core_note(struct synth_core *c, const char *owner, uint32_t type, const void *desc,
		     size_t n);
/** NT_PRSTATUS of @p num words of @p width bytes (elf_gregset_t). */
void synth_core_thread(struct synth_core *c, uint32_t id, uint16_t signal,
		       const uint64_t *words, unsigned num, unsigned width);
/** NT_PRPSINFO; @p small_ids: 16-bit user ids, as i386 and arm have them. */
void synth_core_process(struct synth_core *c, uint32_t pid, const char *name, const char *args,
			bool small_ids);
/** NT_SIGINFO of 128 bytes with an address. */
void synth_core_signal(struct synth_core *c, uint32_t signal, uint32_t code, uint64_t address);
/** NT_AUXV of @p n pairs and AT_NULL. */
void synth_core_auxv(struct synth_core *c, const uint64_t (*pairs)[2], unsigned n);

struct synth_core_file { uint64_t start, end, page; const char *path; };
/** NT_FILE with pages of 4,096 bytes. */
void synth_core_files(struct synth_core *c, const struct synth_core_file *files, unsigned n);

/** A PT_LOAD; @p data NULL: filesz zero bytes. */
void synth_core_load(struct synth_core *c, uint64_t vaddr, uint32_t flags, const void *data,
		     uint64_t filesz, uint64_t memsz);

/** What an ELF image in memory says: a header, program headers and a note in one page. */
struct synth_core_image {
	uint16_t type;			// ET_EXEC or ET_DYN
	uint64_t base;			// p_vaddr of its one PT_LOAD
	uint64_t size;			// p_memsz of it
	uint64_t entry;
	uint64_t dynamic;		// p_vaddr of PT_DYNAMIC; 0: none
	const char *interpreter;	// PT_INTERP; NULL: none
	const uint8_t *build_id;	// 20 bytes; NULL: none
};
enum { SYNTH_CORE_PAGE = 4096, SYNTH_CORE_PHNUM = 4 };
/** Fills one page. */
void synth_core_page(const struct synth_core *c, const struct synth_core_image *image,
		     uint8_t page[SYNTH_CORE_PAGE]);

/** The file: valid until deinit; its bytes may be patched. */
uint8_t *synth_core_finish(struct synth_core *c, size_t *ret_size);

#endif
