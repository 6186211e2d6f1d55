#ifndef FW_TESTS_SYNTH_ELF_H
#define FW_TESTS_SYNTH_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A small ELF file, written from the gABI's tables by hand. */
struct synth_elf {
	bool wide, big;			// class 64; big-endian
	uint16_t type;			// 0: ET_DYN
	uint64_t base;			// lowest p_vaddr
	const uint8_t *build_id;	// NULL: none
	size_t build_id_size;
	bool other_note_first;		// a note of another owner before the build id
	bool note_segment;		// PT_NOTE covers the notes
	bool sections;			// section headers are there
	bool text_elsewhere;		// a debug file: .text is NOBITS
	const uint8_t *text;		// at SYNTH_ELF_TEXT in file and module
	size_t text_size;
};

enum {
	SYNTH_ELF_NOTES = 0x200, SYNTH_ELF_STRINGS = 0x300, SYNTH_ELF_SECTIONS = 0x400,
	SYNTH_ELF_TEXT = 0x1000, SYNTH_ELF_MAX = 0x3000,
};

/** @return the file's size. @p out holds SYNTH_ELF_MAX bytes. */
size_t synth_elf(const struct synth_elf *o, uint8_t *out);

#endif
