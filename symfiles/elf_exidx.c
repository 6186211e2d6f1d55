#include <stdlib.h>
#include <string.h>

#include "lib/rules/dwarf_internal.h"
#include "symfiles/elf_cfi.h"

enum { SP = 13, LR = 14, PC = 15, NO_OFFSET = INT32_MIN };

struct fw_exidx {
	struct fw_elf *elf;
	struct fw_builder *b;
	struct fw_bytes index;
	uint64_t address;	// of the index, link-time
	uint64_t base;		// of the module
	uint64_t next;		// entry that covers, or follows, what was filled
};

/** A function's unwinding as it runs: the virtual sp, and where registers were popped. */
struct unwound {
	uint8_t sp_base;	// register the virtual sp counts from
	int32_t sp_offset;
	struct { bool popped; uint8_t base; int32_t offset; } reg[16];
	bool done, refused;
};

// Up to 255 words of instructions behind the first bytes of the entry.
struct bytecode {
	struct fw_bytes words;
	uint64_t at;		// of the next byte, counted from the first word's top byte
	uint64_t end;
	uint32_t first;		// the first word
};

// A 31-bit offset from where it stands (EHABI 6, "prel31").
static uint64_t prel31(uint32_t word, uint64_t place)
{
	int32_t offset = (int32_t)(word << 1) >> 1;
	return (uint32_t)(place + (uint64_t)(int64_t)offset);
}

enum fw_code fw_exidx_open(struct fw_elf *elf, struct fw_builder *b, struct fw_exidx **ret)
{
	struct fw_bytes index;
	uint64_t address;
	*ret = NULL;
	if (!fw_elf_section(elf, ".ARM.exidx", &index, &address) || index.size < 8)
		return FW_OK;
	struct fw_exidx *x = calloc(1, sizeof(*x));
	if (x == NULL)
		return FW_NO_MEMORY;
	*x = (struct fw_exidx){ elf, b, index, address, fw_elf_base(elf), 0 };
	*ret = x;
	return FW_OK;
}

void fw_exidx_close(struct fw_exidx *x)
{
	free(x);
}

static bool next_byte(struct bytecode *code, uint8_t *ret)
{
	uint32_t word;
	if (code->at >= code->end || !fw_bytes_u32(&code->words, code->at & ~UINT64_C(3), &word))
		return false;
	// the most significant byte of a word comes first
	*ret = (uint8_t)(word >> (24 - code->at % 4 * 8));
	code->at++;
	return true;
}

static void move_sp(struct unwound *u, int64_t bytes)
{
	int64_t offset = u->sp_offset + bytes;
	if (offset < -(1 << 30) || offset > 1 << 30)
		u->refused = true;
	else
		u->sp_offset = (int32_t)offset;
}

static void pop(struct unwound *u, uint32_t mask)
{
	for (unsigned i = 0; i < 16; i++) {
		if (!(mask >> i & 1))
			continue;
		u->reg[i].popped = true;
		u->reg[i].base = u->sp_base;
		u->reg[i].offset = u->sp_offset;
		move_sp(u, 4);
	}
}

static void set_sp(struct unwound *u, uint8_t reg)
{
	// a value that was itself popped would need another load
	if (reg == SP || reg == PC || u->reg[reg].popped)
		u->refused = true;
	u->sp_base = reg;
	u->sp_offset = 0;
}

static bool spare(struct unwound *u)
{
	u->refused = true;
	return true;
}

static bool large_increment(struct unwound *u, struct bytecode *code)
{
	uint64_t v = 0;
	uint8_t byte = 0x80;
	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		if (shift > 28 || !next_byte(code, &byte))
			return false;
		v |= (uint64_t)(byte & 0x7f) << shift;
	}
	move_sp(u, 0x204 + (int64_t)(v << 2));
	return true;
}

/** Instructions 0xb0 to 0xff: EHABI 10.3, table 4. */
static bool high_instruction(struct unwound *u, struct bytecode *code, uint8_t op)
{
	uint8_t arg = 0;
	if (op == 0xb0) {
		u->done = true;
		return true;
	}
	if (op == 0xb2)
		return large_increment(u, code);
	if (op == 0xb4) {	// the return address's authentication code
		move_sp(u, 4);
		return true;
	}
	if (op == 0xb5)
		return true;
	if ((op >= 0xb8 && op <= 0xbf) || (op >= 0xd0 && op <= 0xd7) ||
	    (op >= 0xc0 && op <= 0xc5)) {
		move_sp(u, ((op & 7) + 1) * 8 + (op < 0xc0 ? 4 : 0));	// FSTMFDX: a word more
		return true;
	}
	if (op != 0xb1 && op != 0xb3 && (op < 0xc6 || op > 0xc9))
		return spare(u);
	if (!next_byte(code, &arg))
		return false;
	if (op == 0xb1 || op == 0xc7) {
		if (arg == 0 || arg > 0xf)
			return spare(u);
		if (op == 0xb1)
			pop(u, arg);
		else
			move_sp(u, __builtin_popcount(arg) * 4);
	} else {
		move_sp(u, ((arg & 0xf) + 1) * 8 + (op == 0xb3 ? 4 : 0));
	}
	return true;
}

static bool instruction(struct unwound *u, struct bytecode *code, uint8_t op)
{
	uint8_t low;
	if (op < 0x80) {
		int64_t bytes = (int64_t)(op & 0x3f) * 4 + 4;
		move_sp(u, op < 0x40 ? bytes : -bytes);
		return true;
	}
	if (op < 0x90) {
		if (!next_byte(code, &low))
			return false;
		uint32_t mask = ((uint32_t)(op & 0xf) << 8 | low) << 4;
		if (mask == 0)
			return spare(u);	// "refuse to unwind"
		pop(u, mask);
		if (u->reg[SP].popped)
			u->done = true;		// sp is loaded: nothing can follow
		return true;
	}
	if (op < 0xa0) {
		if (op == 0x9d || op == 0x9f)
			return spare(u);
		set_sp(u, op & 0xf);
		return true;
	}
	if (op < 0xb0) {
		uint32_t regs = ((2u << (op & 7)) - 1) << 4;
		pop(u, regs | (op & 8 ? 1u << LR : 0));
		return true;
	}
	return high_instruction(u, code, op);
}

/** Where the instructions of an entry are: EHABI 7 and 10.2. False: none. */
static bool find_code(const struct fw_exidx *x, uint32_t word, uint64_t place,
		      struct bytecode *code)
{
	uint32_t first;
	if (word & 0x80000000) {	// inline, personality 0 only
		if (word & 0x7f000000 || !fw_bytes_range(&x->index, place - x->address, 4,
							 &code->words))
			return false;
		code->at = 1;
		code->end = 4;
		return true;
	}
	if (!fw_elf_mapped(x->elf, prel31(word, place), &code->words) ||
	    !fw_bytes_u32(&code->words, 0, &first))
		return false;
	if (!(first & 0x80000000)) {
		// a personality routine of C++: the instructions stand behind it as in model 1
		if (!fw_bytes_u32(&code->words, 4, &first))
			return false;
		code->at = 5;
		code->end = 8 + (uint64_t)(first >> 24) * 4;
		return true;
	}
	switch (first >> 24 & 0x7f) {
	case 0:
		code->at = 1;
		code->end = 4;
		return true;
	case 1:
	case 2:
		code->at = 2;
		code->end = 4 + (uint64_t)(first >> 16 & 0xff) * 4;
		return true;
	default:
		return false;
	}
}

static bool unwind(struct bytecode *code, struct unwound *u)
{
	uint8_t op;
	*u = (struct unwound){ .sp_base = SP };
	while (!u->done && !u->refused && next_byte(code, &op))
		if (!instruction(u, code, op))
			return false;
	return !u->refused;
}

static struct fw_rule saved(const struct unwound *u, unsigned reg, uint8_t target)
{
	struct fw_rule rule = { .kind = FW_RULE_LOAD_CFA, .target = target };
	rule.arg = u->reg[reg].offset - u->sp_offset;
	if (u->reg[reg].base != u->sp_base) {
		rule.kind = FW_RULE_LOAD_REG;
		rule.reg = u->reg[reg].base;
		rule.arg = u->reg[reg].offset;
	}
	return rule;
}

static enum fw_code add_row(struct fw_exidx *x, const struct unwound *u, uint32_t *ret)
{
	struct fw_row row;
	fw_row_init(&row, fw_cpu_get(FW_CPU_ARM));
	fw_row_set(&row, (struct fw_rule){ .kind = FW_RULE_REG, .target = FW_SLOT_CFA,
					   .reg = u->sp_base, .arg = u->sp_offset });
	// popped into pc, or left in lr (10.3, remark a: "finish" copies it)
	if (u->reg[PC].popped)
		fw_row_set(&row, saved(u, PC, PC));
	else if (u->reg[LR].popped)
		fw_row_set(&row, saved(u, LR, PC));
	else
		fw_row_set(&row, (struct fw_rule){ .kind = FW_RULE_REG, .target = PC, .reg = LR });
	for (uint8_t i = 0; i < PC; i++)
		if (u->reg[i].popped)
			fw_row_set(&row, saved(u, i, i));
	return fw_cfi_add_row(&x->b->cfi, &row, ret);
}

/** The row of entry i; 0 where it has none (EXIDX_CANTUNWIND says so, or it is broken). */
static enum fw_code entry_row(struct fw_exidx *x, uint64_t i, uint32_t *ret)
{
	struct bytecode code;
	struct unwound u;
	uint32_t word;
	*ret = 0;
	if (!fw_bytes_u32(&x->index, i * 8 + 4, &word) || word == 1)
		return FW_OK;
	if (!find_code(x, word, x->address + i * 8 + 4, &code) || !unwind(&code, &u)) {
		fw_diag_add(&x->b->diag, FW_DIAG_RULE, 0);
		return FW_OK;
	}
	return add_row(x, &u, ret);
}

// Offset of entry i's function from the base; false: past the last entry, or no offset.
static bool entry_start(const struct fw_exidx *x, uint64_t i, uint64_t *ret)
{
	uint32_t word;
	if (!fw_bytes_u32(&x->index, i * 8, &word))
		return false;
	*ret = (prel31(word, x->address + i * 8) & ~UINT64_C(1)) - x->base;
	return *ret <= UINT32_MAX;
}

/** Where the segment that holds an address ends: the last entry covers no more. */
static uint64_t end_of_code(const struct fw_exidx *x, uint64_t start)
{
	struct fw_bytes rest;
	if (!fw_elf_mapped(x->elf, x->base + start, &rest))
		return start;
	return start + rest.size;
}

enum fw_code fw_exidx_fill(struct fw_exidx *x, uint64_t from, uint64_t to)
{
	uint64_t start, next;
	for (; entry_start(x, x->next, &start) && start < to; x->next++) {
		uint32_t row;
		if (!entry_start(x, x->next + 1, &next))
			next = end_of_code(x, start);
		if (next <= from || next <= start)
			continue;
		if (start < from)
			start = from;
		enum fw_code rc = entry_row(x, x->next, &row);
		if (!rc)
			rc = fw_cfi_append(&x->b->cfi, (uint32_t)start, row);
		if (!rc)
			rc = fw_cfi_append(&x->b->cfi, (uint32_t)(next < to ? next : to), 0);
		if (rc == FW_MALFORMED) {	// the index is not sorted
			fw_diag_add(&x->b->diag, FW_DIAG_MALFORMED, 0);
			continue;
		}
		if (rc)
			return rc;
		if (next > to)	// the rest of it may fill another gap
			break;
	}
	return FW_OK;
}
