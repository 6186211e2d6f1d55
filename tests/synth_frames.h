#ifndef TESTS_SYNTH_FRAMES_H
#define TESTS_SYNTH_FRAMES_H

#include <elf.h>

#include "tests/synth_cfi.h"

enum { SYNTH_FRAMES_SIZE = 0x8000, SYNTH_FRAMES_SECTIONS = 6 };

/** A 64-bit library for amd64, mapped at 0, whose sections lie where they are linked. */
struct synth_frames {
	uint8_t bytes[SYNTH_FRAMES_SIZE];
	Elf64_Shdr sections[SYNTH_FRAMES_SECTIONS];
	unsigned n;
	char names[128];
	size_t names_size;
	Elf64_Phdr hdr;		// PT_GNU_EH_FRAME
};

void synth_frames_init(struct synth_frames *f);
/** At most SYNTH_FRAMES_SECTIONS - 1 of them, below 0x7000. */
void synth_frames_section(struct synth_frames *f, const char *name, uint64_t at,
			  const void *data, size_t n);
/** PT_GNU_EH_FRAME says that .eh_frame_hdr is there. */
void synth_frames_index(struct synth_frames *f, uint64_t at, size_t n);
/** Write the headers; @p sections: those of sections as well. */
void synth_frames_finish(struct synth_frames *f, bool sections);

#endif
