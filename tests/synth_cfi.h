#ifndef TESTS_SYNTH_CFI_H
#define TESTS_SYNTH_CFI_H

#include "lib/rules/dwarf_cfi.h"

/**
 * A section of call frame information, put together entry by entry. Little
 * endian; what does not fit fails the test.
 */
struct synth_cfi {
	uint8_t bytes[16384];
	size_t n;
	uint64_t address;	// of the section
	bool eh_frame, wide;	// wide: 64-bit lengths
	uint8_t address_size;
	size_t entry;		// where the open entry's length is
	size_t cie;		// offset of the last CIE
};

void synth_cfi_init(struct synth_cfi *s, bool eh_frame);
void synth_u8(struct synth_cfi *s, uint8_t v);
void synth_word(struct synth_cfi *s, uint64_t v, unsigned bytes);
void synth_uleb(struct synth_cfi *s, uint64_t v);
void synth_sleb(struct synth_cfi *s, int64_t v);
void synth_raw(struct synth_cfi *s, const void *data, size_t n);

/** Open an entry; close it with synth_end(), which pads it with DW_CFA_nop. */
void synth_cie(struct synth_cfi *s, uint8_t version, const char *augmentation,
	       uint64_t code_align, int64_t data_align, uint64_t ra);
/** Addresses are plain words of the address size (DW_EH_PE_absptr). */
void synth_fde(struct synth_cfi *s, uint64_t start, uint64_t size);
void synth_end(struct synth_cfi *s);

/** "zR", absolute addresses; rsp+8, ra at cfa-8, as every compiler begins on amd64. */
void synth_amd64_cie(struct synth_cfi *s);
/** The section so far. */
struct fw_dwarf_cfi synth_section(const struct synth_cfi *s, const struct fw_cpu *cpu);

#endif
