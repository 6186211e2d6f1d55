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

/**
 * .eh_frame_hdr's binary search table (LSB Core, "The .eh_frame_hdr section"):
 * a hint, as linkers and strippers leave what they like; the FDE decides.
 */
struct fw_eh_index {
	struct fw_dwarf_cfi hdr;	// the section's bytes, address and byte order
	uint64_t frame;			// link-time address of .eh_frame
	uint64_t table, count;		// offset of the first entry, and how many there are
	uint8_t encoding, width;	// of an entry's two addresses; width: bytes of one
};

/**
 * Read the header of @p hdr, whose bytes outlive *ret. False: it has not even an
 * address of .eh_frame. A table that cannot be searched (none, or of LEB128) has count
 * 0; one that claims more than there is room for ends there.
 */
bool fw_eh_index_open(const struct fw_dwarf_cfi *hdr, struct fw_eh_index *ret);

/**
 * The last entry at or below @p address: its function's start and its FDE, both as
 * link-time addresses. FW_NOT_FOUND: all lie above. FW_MALFORMED: no table, or its
 * order is wrong or not strict there.
 */
FW_MUST_CHECK enum fw_code fw_eh_index_find(const struct fw_eh_index *x, uint64_t address,
					    uint64_t *ret_start, uint64_t *ret_fde);

/** The last FDE in the first @p size bytes of .eh_frame, as an offset: looks at the whole table. */
uint64_t fw_eh_index_last(const struct fw_eh_index *x, uint64_t size);

struct fw_dwarf_decoder;	// remembers CIEs and memoises rows; one a compile, one a thread

/**
 * @p rows may be NULL: then only fw_dwarf_row_at() and fw_dwarf_fde_at() may be
 * called. @p cfi is copied; its bytes, @p rows and @p programs must outlive *ret.
 */
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

/**
 * The FDE that begins at @p offset of the section, as fw_dwarf_cfi_list() lists it.
 * FW_NOT_FOUND: no FDE, or one of nothing; else what is wrong with it.
 */
FW_MUST_CHECK enum fw_code fw_dwarf_fde_at(struct fw_dwarf_decoder *d, uint64_t offset,
					   struct fw_fde *ret);

/**
 * The row in force at @p offset from @p base by this FDE, whose program is run no
 * further than there: the one that fw_dwarf_decode_fde() gives. The rules are @p d's
 * and stay until its next call; their programs are in its set. FW_NOT_FOUND:
 * @p offset is not in the FDE's range. Other failures: no row there either.
 */
FW_MUST_CHECK enum fw_code fw_dwarf_row_at(struct fw_dwarf_decoder *d, const struct fw_fde *fde,
	uint64_t base, uint32_t offset, const struct fw_rule **ret, uint32_t *ret_count);

#endif
