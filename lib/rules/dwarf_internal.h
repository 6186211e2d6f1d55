#ifndef FW_RULES_DWARF_INTERNAL_H
#define FW_RULES_DWARF_INTERNAL_H

#include <string.h>

#include "lib/rules/dwarf_cfi.h"

/** Reads forward through a section; `bad` stays set once anything was missing. */
struct fw_cursor {
	const uint8_t *p, *end;
	bool swap, bad;
};

static inline uint8_t fw_cursor_u8(struct fw_cursor *c)
{
	if (FW_UNLIKELY(c->p == c->end)) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

/** An unsigned word of 1, 2, 4 or 8 bytes. */
static inline uint64_t fw_cursor_word_(struct fw_cursor *c, unsigned bytes)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;
	if (FW_UNLIKELY((uint64_t)(c->end - c->p) < bytes)) {
		c->bad = true;
		return 0;
	}
	const uint8_t *p = c->p;
	c->p += bytes;
	switch (bytes) {
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return c->swap ? __builtin_bswap16(v16) : v16;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return c->swap ? __builtin_bswap32(v32) : v32;
	case 8:
		memcpy(&v64, p, sizeof(v64));
		return c->swap ? __builtin_bswap64(v64) : v64;
	default:
		return *p;
	}
}

uint64_t fw_cursor_uleb_slow_(struct fw_cursor *c);
int64_t fw_cursor_sleb_(struct fw_cursor *c);

static inline uint64_t fw_cursor_uleb(struct fw_cursor *c)
{
	if (FW_UNLIKELY(c->p == c->end || *c->p & 0x80))
		return fw_cursor_uleb_slow_(c);
	return *c->p++;
}

static inline void fw_cursor_skip(struct fw_cursor *c, uint64_t n)
{
	if (n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		n = (uint64_t)(c->end - c->p);
	}
	c->p += n;
}

/** A Common Information Entry. */
struct fw_cie {
	uint64_t offset;	// in the section
	enum fw_code status;	// FW_OK, or why its FDEs cannot be used
	uint64_t instructions, instructions_size;	// offset in the section
	uint64_t ra;		// DWARF number of the return address
	uint32_t code_align;
	int32_t data_align;
	uint8_t encoding;	// DW_EH_PE_* of the FDEs' addresses
	uint8_t address_size;
	bool augmented;		// 'z': FDEs have augmentation data
	bool signal;		// 'S'
	// the decoder's: state after the initial instructions, if of this generation
	uint32_t initial, generation;
	enum fw_code initial_status;	// FW_OK, or why they could not be run
	uint8_t ra_reg;		// register of the return address; FW_NO_REG: cpu->pc only
};

/** The CIEs met so far, found by their offset. */
struct fw_cie_table {
	FW_VEC(struct fw_cie) cies;
	FW_VEC(uint32_t) slots;	// hash table: index + 1
	uint32_t last;
};

/**
 * Index of the CIE at @p offset, read when met for the first time (also when it
 * is none: its status says so). FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_cie_find_(struct fw_cie_table *t, const struct fw_dwarf_cfi *cfi,
					uint64_t offset, uint32_t *ret);
void fw_cie_table_deinit_(struct fw_cie_table *t);

/** The same, inlined for the one met last, as nearly all are. */
static inline enum fw_code fw_cie_find_inline(struct fw_cie_table *t,
	const struct fw_dwarf_cfi *cfi, uint64_t offset, uint32_t *ret)
{
	if (FW_UNLIKELY(t->last >= t->cies.count || t->cies.data[t->last].offset != offset))
		return fw_cie_find_(t, cfi, offset, ret);
	*ret = t->last;
	return FW_OK;
}

/** fw_dwarf_fde_at(), with the CIEs met so far in a table of the caller's. */
FW_MUST_CHECK enum fw_code fw_dwarf_read_fde_(const struct fw_dwarf_cfi *cfi,
	struct fw_cie_table *t, uint64_t at, struct fw_fde *ret);

/**
 * A pointer in the encoding of LSB Core, "DWARF Exception Header Encoding".
 * False (and c->bad where bytes were missing): not to be had without more
 * knowledge than the section (indirect, function-relative, unknown).
 */
bool fw_dwarf_pointer_(const struct fw_dwarf_cfi *cfi, struct fw_cursor *c, uint8_t encoding,
		       uint8_t address_size, uint64_t *ret);

/** What an expression is for. */
enum fw_expression_use {
	FW_EXPRESSION_CFA,	// DW_CFA_def_cfa_expression: starts with an empty stack
	FW_EXPRESSION_ADDRESS,	// DW_CFA_expression: where the value is; starts with the CFA
	FW_EXPRESSION_VALUE,	// DW_CFA_val_expression: the value; starts with the CFA
};

/**
 * A DWARF expression as a rule of @p target: a plain one where its shape is, else
 * a program. FW_MALFORMED, FW_UNSUPPORTED (operations without meaning here, or
 * registers without a slot), FW_LIMIT, FW_NO_MEMORY; @p ret is then untouched.
 */
FW_MUST_CHECK enum fw_code fw_dwarf_expression_(const struct fw_dwarf_cfi *cfi,
	uint8_t address_size, struct fw_program_set *programs, struct fw_cursor expression,
	enum fw_expression_use use, uint8_t target, struct fw_rule *ret);

#endif
