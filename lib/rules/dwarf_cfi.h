#ifndef FW_RULES_DWARF_CFI_H
#define FW_RULES_DWARF_CFI_H

#include "lib/base/bytes.h"
#include "lib/rules/cfi_table.h"
#include "lib/rules/program.h"

/**
 * DWARF call frame information -> rows. Knows no files: takes the bytes of one
 * .eh_frame (LSB Core, "Exception Frames") or .debug_frame (DWARF 5, 6.4).
 */
struct fw_dwarf_cfi {
	struct fw_bytes bytes;		// the section
	uint64_t address;		// its link-time address (pcrel pointers)
	uint64_t text_address, data_address;	// DW_EH_PE_textrel, datarel
	const struct fw_cpu *cpu;
	bool eh_frame;
	uint8_t address_size;		// of the file: 4 or 8
	bool code_at_zero;		// addresses 0 and 1 are code, not dropped functions
	bool fixed_address;		// loaded where it was linked: DW_OP_addr is an address
};

/** One FDE as listed: where it is and what it covers (link-time addresses). */
struct fw_fde {
	uint64_t offset;		// in the section
	uint64_t cie_offset;
	uint64_t start, size;
	uint64_t instructions, instructions_size;	// offset in the section
	uint64_t skip;			// bytes from start on that another FDE covers: no rows there
};

/** What a listing or decoding had to leave out. */
struct fw_cfi_skipped { uint32_t malformed, unsupported, empty; uint64_t first_offset; };

/**
 * List all FDEs in section order into a malloc'd array of the caller's. A bad
 * entry costs that entry as long as its length can be trusted. Tombstones
 * (start 0, 1, -1, -2 where no code lies) and empty ranges are left out.
 */
FW_MUST_CHECK enum fw_code fw_dwarf_cfi_list(const struct fw_dwarf_cfi *cfi, struct fw_fde **ret,
					     uint32_t *ret_n, struct fw_cfi_skipped *skipped);

struct fw_dwarf_decoder;	// remembers CIEs and memoises rows; one a compile

FW_MUST_CHECK enum fw_code fw_dwarf_decoder_create(const struct fw_dwarf_cfi *cfi,
	struct fw_cfi_builder *rows, struct fw_program_set *programs,
	struct fw_dwarf_decoder **ret);
void fw_dwarf_decoder_destroy(struct fw_dwarf_decoder *d);

/**
 * Run one FDE's program: a row for each stretch of addresses, appended to the
 * builder as offsets from @p base (ascending over calls), then row 0 at its end.
 * All DW_CFA operations of DWARF 5 and GNU's; expressions become programs.
 * `undefined` return address: outermost. Augmentation S: FW_ROW_SIGNAL.
 * FW_MALFORMED/FW_UNSUPPORTED: nothing from the bad operation on, the rows before stay.
 */
FW_MUST_CHECK enum fw_code fw_dwarf_decode_fde(struct fw_dwarf_decoder *d, const struct fw_fde *fde,
	uint64_t base, struct fw_error *err);

#endif
