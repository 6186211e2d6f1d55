#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/rules/dwarf_internal.h"

enum {	// DWARF 5, section 7.24, table 7.29; GNU's and AArch64's in the user range
	CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0,
	CFA_NOP = 0, CFA_SET_LOC, CFA_ADVANCE_LOC1, CFA_ADVANCE_LOC2, CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED, CFA_RESTORE_EXTENDED, CFA_UNDEFINED, CFA_SAME_VALUE,
	CFA_REGISTER, CFA_REMEMBER_STATE, CFA_RESTORE_STATE, CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER, CFA_DEF_CFA_OFFSET, CFA_DEF_CFA_EXPRESSION, CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF, CFA_DEF_CFA_SF, CFA_DEF_CFA_OFFSET_SF, CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF, CFA_VAL_EXPRESSION,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d, CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,	// and GNU_window_save
	CFA_GNU_ARGS_SIZE = 0x2e, CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum {
	MEMO_BITS = 14,
	ROW_MEMO_BITS = 12,	// of one that decodes single rows
	// between two FDEs: more states than this are forgotten
	KEEP_STATES = 65536,
	// of a memo's key: state 20 bits, return address 6, operation 8, operand 30
	KEY_STATE = 44, KEY_RA = 38, KEY_OP = 30,
};
static_assert(FW_MAX_CFI_STATES < 1 << (64 - KEY_STATE), "a state fits a key");

/*
 * A state is a row as the operations make it, named by a number; equal ones
 * have one. So an operation is a step from number to number, and the same step
 * is taken over and over: it is computed once and remembered.
 */
struct step { uint64_t key; uint64_t next; };

struct fw_dwarf_decoder {
	struct fw_dwarf_cfi cfi;
	struct fw_cfi_builder *rows;	// NULL: single rows only
	struct fw_program_set *programs;
	struct fw_cie_table cies;
	struct fw_cfi_builder states;	// only its rows are used
	FW_VEC(uint32_t) row_of;	// of a state: its row in `rows`; 0: not asked for yet
	uint32_t generation;		// of the states
	uint32_t memo_mask;
	struct step memo[];
};

/** One FDE's program, or a CIE's. */
struct run {
	struct fw_dwarf_decoder *d;
	const struct fw_cie *cie;
	uint32_t cie_index;
	struct fw_cursor c;
	uint32_t state, initial;
	uint64_t at, from, end;		// offsets from base: the state's, the first wanted, the end
	uint64_t base;
	bool is_cie;
	bool emitted, closed;		// the last state's row, and row 0 behind it, are written
	uint32_t depth;
	uint32_t remembered[FW_MAX_CFI_REMEMBERED];
};

enum fw_code fw_dwarf_decoder_create(const struct fw_dwarf_cfi *cfi, struct fw_cfi_builder *rows,
				     struct fw_program_set *programs,
				     struct fw_dwarf_decoder **ret)
{
	const size_t steps = (size_t)1 << (rows ? MEMO_BITS : ROW_MEMO_BITS);
	struct fw_dwarf_decoder *d = calloc(1, sizeof(*d) + steps * sizeof(d->memo[0]));
	if (d == NULL)
		return FW_NO_MEMORY;
	d->cfi = *cfi;
	d->memo_mask = (uint32_t)steps - 1;
	d->rows = rows;
	d->programs = programs;
	d->generation = 1;
	fw_cfi_builder_init(&d->states);
	*ret = d;
	return FW_OK;
}

void fw_dwarf_decoder_destroy(struct fw_dwarf_decoder *d)
{
	if (d == NULL)
		return;
	fw_cie_table_deinit_(&d->cies);
	fw_cfi_builder_deinit(&d->states);
	fw_vec_deinit(&d->row_of);
	free(d);
}

static void forget_states(struct fw_dwarf_decoder *d)
{
	fw_cfi_builder_deinit(&d->states);
	fw_cfi_builder_init(&d->states);
	d->row_of.count = 0;
	memset(d->memo, 0, (d->memo_mask + UINT64_C(1)) * sizeof(d->memo[0]));
	d->generation++;
}

static void load_state(const struct fw_dwarf_decoder *d, uint32_t state, struct fw_row *row)
{
	const uint32_t *first = d->states.row_first.data + state;
	row->count = first[1] - first[0];
	memcpy(row->rules, d->states.rules.data + first[0], row->count * sizeof(row->rules[0]));
}

static enum fw_code save_state(struct fw_dwarf_decoder *d, const struct fw_row *row,
			       uint32_t *ret)
{
	enum fw_code rc = fw_cfi_add_row(&d->states, row, ret);
	if (rc)
		return rc;
	if (*ret >= FW_MAX_CFI_STATES)
		return FW_LIMIT;
	while (d->row_of.count <= *ret)
		if (!fw_vec_push(&d->row_of, 0))
			return FW_NO_MEMORY;
	return FW_OK;
}

// The row's rule of a register, or where one would have to stand.
static uint32_t find_rule(const struct fw_row *row, uint8_t target)
{
	uint32_t i = 2;
	while (i < row->count && row->rules[i].target != target)
		i++;
	return i;
}

/*
 * The return address is the value of a column: of pc's own on x86 and amd64, else
 * of the link register's, which is then recovered as well.
 */
static void follow_ra(const struct run *r, struct fw_row *row)
{
	uint8_t pc = r->d->cfi.cpu->pc, ra = r->cie->ra_reg;
	struct fw_rule rule = { .kind = FW_RULE_SAME, .reg = ra };
	if (ra == FW_NO_REG || ra == pc)
		return;
	uint32_t i = find_rule(row, ra);
	if (i < row->count)
		rule = row->rules[i];
	if (rule.kind == FW_RULE_SAME) {
		rule.kind = FW_RULE_REG;
		rule.reg = ra;
		rule.arg = 0;
	}
	rule.target = pc;
	fw_row_set(row, rule);
}

static uint8_t register_of(const struct run *r, uint64_t number)
{
	uint8_t reg = fw_cpu_dwarf_reg(r->d->cfi.cpu, number);
	// a column of its own for the return address (signal frames of mips, riscv ...)
	if (reg == FW_NO_REG && number == r->cie->ra)
		return r->d->cfi.cpu->pc;
	return reg;
}

static void set_rule(const struct run *r, struct fw_row *row, struct fw_rule rule)
{
	fw_row_set(row, rule);
	if (rule.target == r->cie->ra_reg)
		follow_ra(r, row);
}

static void remove_rule(const struct run *r, struct fw_row *row, uint8_t target)
{
	uint32_t i = find_rule(row, target);
	if (target == r->d->cfi.cpu->pc) {
		row->rules[1] = (struct fw_rule){ .kind = FW_RULE_FAILED, .target = target };
	} else if (i < row->count) {
		row->count--;
		memmove(&row->rules[i], &row->rules[i + 1],
			(row->count - i) * sizeof(row->rules[0]));
	}
	if (target == r->cie->ra_reg)
		follow_ra(r, row);
}

// Back to what the CIE says of the register.
static void restore_rule(const struct run *r, struct fw_row *row, uint8_t target)
{
	struct fw_row initial;
	load_state(r->d, r->initial, &initial);
	if (target == r->d->cfi.cpu->pc) {
		row->rules[1] = initial.rules[1];
		return;
	}
	uint32_t i = find_rule(&initial, target);
	if (i < initial.count)
		set_rule(r, row, initial.rules[i]);
	else
		remove_rule(r, row, target);
}

/** A rule whose offset is `offset` from a base; failed where 32 bits do not hold it. */
static struct fw_rule based(uint8_t kind, uint8_t target, uint8_t reg, int64_t offset)
{
	struct fw_rule rule = { .kind = kind, .target = target, .reg = reg, .arg = (int32_t)offset };
	if (offset != rule.arg || reg == FW_NO_REG)
		return (struct fw_rule){ .kind = FW_RULE_FAILED, .target = target };
	return rule;
}

// The CFA's register and offset, as far as it has them.
static enum fw_code change_cfa(struct fw_row *row, uint8_t op, uint8_t reg, int64_t offset)
{
	struct fw_rule rule = row->rules[0];
	// 6.4.2.2: only where it is register and offset; riscv's and mips' CIEs begin
	// with a register that nothing gave an offset
	if (op != CFA_DEF_CFA && rule.kind != FW_RULE_REG &&
	    (rule.kind != FW_RULE_FAILED || op == CFA_DEF_CFA_OFFSET))
		return FW_MALFORMED;
	if (op == CFA_DEF_CFA_REGISTER)
		offset = rule.arg;
	else if (op == CFA_DEF_CFA_OFFSET)
		reg = rule.reg;
	fw_row_set(row, based(FW_RULE_REG, FW_SLOT_CFA, reg, offset));
	return FW_OK;
}

/** An operation that changes one rule, computed. @p op is one of those cases. */
static enum fw_code compute(const struct run *r, uint8_t op, uint8_t reg, int64_t value,
			    uint32_t *ret)
{
	struct fw_row row;
	struct fw_rule rule = { .target = reg };
	enum fw_code rc = FW_OK;
	load_state(r->d, r->state, &row);
	switch (op) {
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
		rc = change_cfa(&row, op, reg, value);
		break;
	case CFA_OFFSET:
		set_rule(r, &row, based(FW_RULE_LOAD_CFA, reg, 0, value));
		break;
	case CFA_VAL_OFFSET:
		set_rule(r, &row, based(FW_RULE_CFA, reg, 0, value));
		break;
	case CFA_REGISTER:
		set_rule(r, &row, based(FW_RULE_REG, reg, (uint8_t)value, 0));
		break;
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
		rule.kind = op == CFA_UNDEFINED ? FW_RULE_UNDEFINED : FW_RULE_SAME;
		set_rule(r, &row, rule);
		break;
	default:
		restore_rule(r, &row, reg);
		break;
	}
	return rc ? rc : save_state(r->d, &row, ret);
}

static inline struct step *memo_of(struct fw_dwarf_decoder *d, uint64_t key, uint32_t mask)
{
	return &d->memo[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MEMO_BITS) & mask];
}

static inline uint64_t key_of(const struct run *r, uint8_t op, uint64_t operand)
{
	return (uint64_t)r->state << KEY_STATE | (uint64_t)(r->cie->ra_reg & 63) << KEY_RA |
	       (uint64_t)op << KEY_OP | operand;
}

static __attribute__((noinline))
enum fw_code first_step(struct run *r, uint64_t key, uint8_t op, uint8_t reg, int64_t value)
{
	uint32_t next = 0;
	enum fw_code rc = compute(r, op, reg, value, &next);
	if (rc)
		return rc;
	if (key)
		*memo_of(r->d, key, r->d->memo_mask) = (struct step){ key, next };
	r->state = next;
	return FW_OK;
}

/**
 * Take an operation with the key `code`, which with `operand` (if it is a small
 * number) says all that matters.
 */
static inline __attribute__((always_inline))
enum fw_code take(struct run *r, uint8_t code, int64_t operand, uint8_t op, uint8_t reg,
		  int64_t value)
{
	const int64_t half = 1 << (KEY_OP - 1);
	uint64_t key = 0;
	if (__builtin_expect(operand >= -half && operand < half, 1)) {
		key = key_of(r, code, (uint64_t)operand & (((uint64_t)half << 1) - 1));
		const struct step *s = memo_of(r->d, key, r->d->memo_mask);
		if (__builtin_expect(s->key == key, 1)) {
			r->state = (uint32_t)s->next;
			return FW_OK;
		}
	}
	return first_step(r, key, op, reg, value);
}

// An operation on a register by number; those that have no slot are not followed.
static enum fw_code take_register(struct run *r, uint8_t op, uint64_t number, int64_t value)
{
	uint8_t reg = register_of(r, number);
	// of a value too large for the key it wraps below 0
	int64_t operand = (int64_t)((uint64_t)value + (1 << 22));
	if (reg == FW_NO_REG)
		return FW_OK;
	// the key of CFA_OFFSET is that of the operation with a register in its low bits
	uint8_t code = op == CFA_OFFSET ? CFA_OFFSET_EXTENDED : op;
	if (operand < 0 || operand >= 1 << 23)
		return first_step(r, 0, op, reg, value);
	return take(r, code, operand | (int64_t)reg << 23, op, reg, value);
}

/** A factored offset in bytes; what does not fit any rule stays too large for one. */
static int64_t factored(const struct run *r, int64_t n)
{
	int64_t v;
	return __builtin_mul_overflow(n, (int64_t)r->cie->data_align, &v) ? INT64_MAX : v;
}

static enum fw_code expression(struct run *r, uint8_t op)
{
	uint64_t number = op == CFA_DEF_CFA_EXPRESSION ? 0 : fw_cursor_uleb(&r->c);
	uint64_t size = fw_cursor_uleb(&r->c);
	struct fw_cursor e = r->c;
	fw_cursor_skip(&r->c, size);
	if (r->c.bad)
		return FW_MALFORMED;
	e.end = r->c.p;
	uint8_t target = op == CFA_DEF_CFA_EXPRESSION ? FW_SLOT_CFA : register_of(r, number);
	if (target == FW_NO_REG)
		return FW_OK;
	// one that means nothing here costs its register
	struct fw_rule rule = { .kind = FW_RULE_FAILED, .target = target };
	enum fw_code rc = fw_dwarf_expression_(&r->d->cfi, r->cie->address_size,
		r->d->programs, e,
		op == CFA_DEF_CFA_EXPRESSION ? FW_EXPRESSION_CFA :
		op == CFA_EXPRESSION ? FW_EXPRESSION_ADDRESS : FW_EXPRESSION_VALUE, target, &rule);
	if (rc == FW_NO_MEMORY)
		return rc;
	struct fw_row row;
	load_state(r->d, r->state, &row);
	set_rule(r, &row, rule);
	return save_state(r->d, &row, &r->state);
}

static enum fw_code restore_state(struct run *r)
{
	if (r->depth == 0)
		return FW_MALFORMED;
	r->state = r->remembered[--r->depth];
	return FW_OK;
}

static enum fw_code remember_state(struct run *r)
{
	if (r->depth == FW_MAX_CFI_REMEMBERED)
		return FW_LIMIT;
	r->remembered[r->depth++] = r->state;
	return FW_OK;
}

static enum fw_code vendor_operation(struct run *r, uint8_t op)
{
	uint64_t number, offset;
	switch (op) {
	case CFA_GNU_ARGS_SIZE:	// what a landing pad pops; says nothing of the CFA
		fw_cursor_uleb(&r->c);
		return FW_OK;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		number = fw_cursor_uleb(&r->c);
		offset = fw_cursor_uleb(&r->c);
		return take_register(r, CFA_OFFSET, number, factored(r, (int64_t)-offset));
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		// signatures are stripped whether announced or not
		return r->d->cfi.cpu->id == FW_CPU_ARM64 ? FW_OK : FW_UNSUPPORTED;
	default:
		return FW_UNSUPPORTED;
	}
}

// All operations but advances and the two with their register in the opcode.
static enum fw_code other_operation(struct run *r, uint8_t op)
{
	struct fw_cursor *c = &r->c;
	uint64_t number, other;
	int64_t offset;
	switch (op) {
	case CFA_NOP:
		return FW_OK;
	case CFA_DEF_CFA:
		number = fw_cursor_uleb(c);
		other = fw_cursor_uleb(c);
		break;
	case CFA_DEF_CFA_REGISTER:
		number = fw_cursor_uleb(c);
		return take(r, op, (int64_t)number, op, fw_cpu_dwarf_reg(r->d->cfi.cpu, number), 0);
	case CFA_DEF_CFA_OFFSET_SF:
		offset = factored(r, fw_cursor_sleb_(c));
		return take(r, CFA_DEF_CFA_OFFSET, offset, CFA_DEF_CFA_OFFSET, 0, offset);
	case CFA_DEF_CFA_SF:
		number = fw_cursor_uleb(c);
		other = (uint64_t)factored(r, fw_cursor_sleb_(c));
		break;
	case CFA_REMEMBER_STATE:
		return remember_state(r);
	case CFA_RESTORE_STATE:
		return restore_state(r);
	case CFA_OFFSET_EXTENDED:
	case CFA_VAL_OFFSET:
		number = fw_cursor_uleb(c);
		offset = factored(r, (int64_t)fw_cursor_uleb(c));
		return take_register(r, op == CFA_VAL_OFFSET ? op : CFA_OFFSET, number, offset);
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET_SF:
		number = fw_cursor_uleb(c);
		offset = factored(r, fw_cursor_sleb_(c));
		return take_register(r, op == CFA_VAL_OFFSET_SF ? CFA_VAL_OFFSET : CFA_OFFSET,
				     number, offset);
	case CFA_REGISTER:
		number = fw_cursor_uleb(c);
		other = fw_cursor_uleb(c);
		return take_register(r, op, number, fw_cpu_dwarf_reg(r->d->cfi.cpu, other));
	case CFA_RESTORE_EXTENDED:
		return take_register(r, CFA_RESTORE, fw_cursor_uleb(c), r->cie_index);
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
		return take_register(r, op, fw_cursor_uleb(c), 0);
	case CFA_DEF_CFA_EXPRESSION:
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		return expression(r, op);
	default:
		return vendor_operation(r, op);
	}
	// def_cfa and def_cfa_sf
	uint8_t reg = fw_cpu_dwarf_reg(r->d->cfi.cpu, number);
	offset = (int64_t)other;
	if (offset < 0 || offset >= 1 << 21)
		return first_step(r, 0, CFA_DEF_CFA, reg, offset);
	return take(r, CFA_DEF_CFA, offset | (int64_t)reg << 21, CFA_DEF_CFA, reg, offset);
}

static __attribute__((noinline))
enum fw_code first_row(struct fw_dwarf_decoder *d, uint32_t state)
{
	struct fw_row row;
	load_state(d, state, &row);
	if (d->rows->row_first.count > FW_MAX_CFI_ROWS)
		return FW_LIMIT;
	return fw_cfi_add_row(d->rows, &row, &d->row_of.data[state]);
}

/** The state holds from r->at on. */
static enum fw_code emit(struct run *r)
{
	struct fw_dwarf_decoder *d = r->d;
	if (d->rows == NULL)
		return FW_OK;
	if (FW_UNLIKELY(d->row_of.data[r->state] == 0)) {
		enum fw_code rc = first_row(d, r->state);
		if (rc)
			return rc;
	}
	uint64_t at = r->at > r->from ? r->at : r->from;
	return fw_cfi_append(d->rows, (uint32_t)at, d->row_of.data[r->state]);
}

/** How far an advance goes; false: @p op is none. */
static inline bool advance_of(struct run *r, uint8_t op, uint64_t *ret)
{
	switch (op) {
	case CFA_ADVANCE_LOC1:
		*ret = fw_cursor_u8(&r->c);
		return true;
	case CFA_ADVANCE_LOC2:
		*ret = fw_cursor_word_(&r->c, 2);
		return true;
	case CFA_ADVANCE_LOC4:
		*ret = fw_cursor_word_(&r->c, 4);
		return true;
	case CFA_MIPS_ADVANCE_LOC8:
		*ret = fw_cursor_word_(&r->c, 8);
		return true;
	default:
		return false;
	}
}

static enum fw_code set_loc(struct run *r, uint64_t *ret)
{
	uint64_t address;
	if (!fw_dwarf_pointer_(&r->d->cfi, &r->c, r->cie->encoding, r->cie->address_size, &address))
		return r->c.bad ? FW_MALFORMED : FW_UNSUPPORTED;
	if (address - r->base < r->at || address < r->base)
		return FW_MALFORMED;	// 6.4.2.1: locations only grow
	*ret = address - r->base - r->at;
	return FW_OK;
}

/** Bytes to go on by; the state before is a row of its own if they are some. */
static enum fw_code advance(struct run *r, uint64_t bytes, bool *at_end)
{
	if (bytes == 0)
		return FW_OK;
	if (r->is_cie)
		return FW_MALFORMED;
	enum fw_code rc = emit(r);
	*at_end = bytes >= r->end - r->at;	// rows past the range are nobody's
	r->at += bytes;
	return rc;
}

/** Does the state at the end of the program, and the end of its range, as far as they are plain. */
static inline void finish_common(struct run *r, struct fw_cfi_appender *to, uint32_t row)
{
	r->emitted = row && r->at >= r->from && fw_cfi_appender_add(to, (uint32_t)r->at, row);
	r->closed = r->emitted && fw_cfi_appender_add(to, (uint32_t)r->end, 0);
}

// The operations that nearly all are, with small operands, steps that are remembered
// and rows that exist; up to the first that is anything else.
static inline __attribute__((always_inline))
void run_common(struct run *r, const bool rows)
{
	struct fw_dwarf_decoder *const d = r->d;
	const uint32_t memo_mask = (1u << (rows ? MEMO_BITS : ROW_MEMO_BITS)) - 1;
	const struct fw_cie *const cie = r->cie;
	const uint64_t key_ra = (uint64_t)(cie->ra_reg & 63) << KEY_RA, from = r->from, end = r->end;
	const uint64_t mask = (UINT64_C(1) << KEY_OP) - 1, code_align = cie->code_align;
	const uint64_t key_cfa = key_ra | (uint64_t)CFA_DEF_CFA_OFFSET << KEY_OP;
	const uint8_t *p = r->c.p, *const stop = r->c.end;
	uint64_t state = r->state, at = r->at;
	struct fw_cfi_appender to;
	if (rows)
		fw_cfi_appender_begin(&to, d->rows);
	while (p < stop) {
		const uint64_t op = *p, high = op & 0xc0;
		uint64_t key, bytes, length = 1;
		if (high == CFA_ADVANCE_LOC) {
			bytes = op & 0x3f;
		} else if (op == CFA_NOP) {
			p++;
			continue;
		} else if (FW_UNLIKELY(p + 1 == stop)) {
			break;
		} else if (op == CFA_DEF_CFA_OFFSET || high == CFA_OFFSET) {
			uint64_t n = p[1];
			length = 2;
			if (n & 0x80) {
				if (FW_UNLIKELY(stop - p < 3 || p[2] & 0x80))
					break;
				n = (n & 0x7f) | (uint64_t)p[2] << 7;
				length = 3;
			}
			key = state << KEY_STATE;
			if (op == CFA_DEF_CFA_OFFSET)
				key |= key_cfa | n;
			else
				key |= key_ra | op << KEY_OP |
				       ((uint64_t)((int64_t)n * cie->data_align) & mask);
			const struct step *s = memo_of(d, key, memo_mask);
			if (FW_UNLIKELY(s->key != key))
				break;
			state = s->next;
			p += length;
			continue;
		} else if (op == CFA_ADVANCE_LOC1) {
			bytes = p[1];
			length = 2;
		} else if (op == CFA_ADVANCE_LOC2 && stop - p > 2 && !r->c.swap) {
			uint16_t v;
			memcpy(&v, p + 1, sizeof(v));
			bytes = v;
			length = 3;
		} else {
			break;
		}
		bytes *= code_align;
		if (FW_UNLIKELY(bytes == 0 || bytes >= end - at))
			break;
		if (rows) {
			const uint32_t row = d->row_of.data[state];
			if (FW_UNLIKELY(row == 0 || at < from ||
					!fw_cfi_appender_add(&to, (uint32_t)at, row)))
				break;
		}
		at += bytes;
		p += length;
	}
	r->c.p = p;
	r->state = (uint32_t)state;
	r->at = at;
	if (rows) {
		if (p == stop)
			finish_common(r, &to, d->row_of.data[state]);
		fw_cfi_appender_end(&to, d->rows);
	}
}

static enum fw_code run(struct run *r)
{
	const uint32_t code_align = r->cie->code_align;
	bool at_end = false;
	enum fw_code rc = FW_OK;
	while (!rc && !at_end) {
		if (!r->is_cie) {
			if (r->d->rows)
				run_common(r, true);
			else
				run_common(r, false);
		}
		if (r->c.p == r->c.end)
			break;
		const uint8_t op = *r->c.p++;
		uint64_t n;
		if ((op & 0xc0) == CFA_ADVANCE_LOC) {
			rc = advance(r, (op & 0x3f) * (uint64_t)code_align, &at_end);
		} else if ((op & 0xc0) == CFA_OFFSET) {
			int64_t offset = factored(r, (int64_t)fw_cursor_uleb(&r->c));
			uint8_t reg = register_of(r, op & 0x3f);
			if (reg != FW_NO_REG)
				rc = take(r, op, offset, CFA_OFFSET, reg, offset);
		} else if (op == CFA_DEF_CFA_OFFSET) {
			n = fw_cursor_uleb(&r->c);
			rc = take(r, op, (int64_t)n, op, 0, (int64_t)n);
		} else if ((op & 0xc0) == CFA_RESTORE) {
			rc = take_register(r, CFA_RESTORE, op & 0x3f, r->cie_index);
		} else if (advance_of(r, op, &n)) {
			if (code_align && n > (UINT64_MAX >> 1) / code_align)
				n = 0, rc = FW_MALFORMED;
			if (!rc && !r->c.bad)
				rc = advance(r, n * code_align, &at_end);
		} else if (op == CFA_SET_LOC) {
			rc = set_loc(r, &n);
			if (!rc)
				rc = advance(r, n, &at_end);
		} else {
			rc = other_operation(r, op);
		}
		if (FW_UNLIKELY(r->c.bad))
			return FW_MALFORMED;
	}
	if (!rc && !at_end && !r->is_cie && !r->emitted)
		rc = emit(r);
	return rc;
}

/** The CIE's initial instructions, run once for all of its FDEs. */
static enum fw_code prepare_cie(struct fw_dwarf_decoder *d, uint32_t index)
{
	struct fw_cie *cie = &d->cies.cies.data[index];
	struct fw_row row;
	struct run r;	// `remembered` is filled before it is read
	r.d = d;
	r.cie = cie;
	r.cie_index = index;
	r.c = (struct fw_cursor){ d->cfi.bytes.data + cie->instructions,
				  d->cfi.bytes.data + cie->instructions +
				  cie->instructions_size, d->cfi.bytes.swap, false };
	r.at = r.from = r.base = 0;
	r.end = UINT64_MAX;
	r.is_cie = true;
	r.emitted = r.closed = false;
	r.depth = 0;
	cie->generation = d->generation;
	cie->initial_status = cie->status;
	if (cie->status)
		return cie->status;
	fw_row_init(&row, d->cfi.cpu);
	if (cie->signal)
		row.rules[0].flags |= FW_ROW_SIGNAL;
	follow_ra(&r, &row);
	enum fw_code rc = save_state(d, &row, &r.state);
	r.initial = r.state;
	if (!rc)
		rc = run(&r);
	if (rc == FW_NO_MEMORY) {
		cie->generation = 0;
		return rc;
	}
	cie->initial = r.state;
	cie->initial_status = rc;
	return rc;
}

static const char *problem(enum fw_code rc)
{
	switch (rc) {
	case FW_MALFORMED:
		return "broken call frame instructions";
	case FW_UNSUPPORTED:
		return "call frame instructions of an unknown kind";
	case FW_LIMIT:
		return "call frame instructions pass a limit";
	default:
		return "out of memory";
	}
}

static enum fw_code fail(struct fw_error *err, enum fw_code rc, uint64_t offset)
{
	char place[40];
	snprintf(place, sizeof(place), "offset 0x%llx", (unsigned long long)offset);
	return fw_fail(err, rc, place, "%s", problem(rc));
}

/** Set up a run of an FDE whose range was checked; its CIE has been run. */
static enum fw_code begin(struct fw_dwarf_decoder *d, const struct fw_fde *fde, uint64_t base,
			  struct run *r)
{
	if (!fw_bytes_has(&d->cfi.bytes, fde->instructions, fde->instructions_size))
		return FW_MALFORMED;
	if (d->row_of.count > KEEP_STATES)
		forget_states(d);
	enum fw_code rc = fw_cie_find_inline(&d->cies, &d->cfi, fde->cie_offset, &r->cie_index);
	if (rc)
		return rc;
	r->cie = &d->cies.cies.data[r->cie_index];
	if (FW_UNLIKELY(r->cie->generation != d->generation))
		rc = prepare_cie(d, r->cie_index);
	else
		rc = r->cie->initial_status;
	if (rc)
		return rc;
	r->d = d;
	r->c = (struct fw_cursor){ d->cfi.bytes.data + fde->instructions,
				   d->cfi.bytes.data + fde->instructions +
				   fde->instructions_size, d->cfi.bytes.swap, false };
	r->state = r->initial = r->cie->initial;
	r->at = fde->start - base;
	r->from = r->at + fde->skip;
	r->base = base;
	r->is_cie = r->emitted = r->closed = false;
	r->depth = 0;
	return FW_OK;
}

/** Does an FDE lie in the 4 GiB from the base on? *ret: the offset of its end. */
static bool end_of(const struct fw_fde *fde, uint64_t base, uint64_t *ret)
{
	return fde->size != 0 && fde->start >= base &&
	       !__builtin_add_overflow(fde->start - base, fde->size, ret) && *ret <= UINT32_MAX;
}

enum fw_code fw_dwarf_decode_fde(struct fw_dwarf_decoder *d, const struct fw_fde *fde,
				 uint64_t base, struct fw_error *err)
{
	struct run r;	// `remembered` is filled before it is read
	if (!end_of(fde, base, &r.end))
		return fail(err, FW_LIMIT, fde->offset);
	enum fw_code rc = begin(d, fde, base, &r);
	if (rc)
		return fail(err, rc, fde->offset);
	if (r.from >= r.end)
		return FW_OK;
	rc = run(&r);
	if (r.closed)
		return FW_OK;
	// on failure from where the broken operation stands
	uint64_t end = rc && r.at < r.end ? r.at : r.end;
	enum fw_code closed = fw_cfi_append(d->rows, (uint32_t)(end > r.from ? end : r.from), 0);
	if (!rc)
		rc = closed;
	return rc ? fail(err, rc, fde->offset) : FW_OK;
}

enum fw_code fw_dwarf_row_at(struct fw_dwarf_decoder *d, const struct fw_fde *fde, uint64_t base,
			     uint32_t offset, const struct fw_rule **ret, uint32_t *ret_count)
{
	struct run r;	// `remembered` is filled before it is read
	if (!end_of(fde, base, &r.end))
		return FW_LIMIT;
	enum fw_code rc = begin(d, fde, base, &r);
	if (rc)
		return rc;
	if (offset < r.from || offset >= r.end)
		return FW_NOT_FOUND;
	r.end = (uint64_t)offset + 1;	// what holds from further on is not wanted
	rc = run(&r);
	if (rc)
		return rc;
	const uint32_t *first = d->states.row_first.data + r.state;
	*ret = d->states.rules.data + first[0];
	*ret_count = first[1] - first[0];
	return FW_OK;
}

enum fw_code fw_dwarf_fde_at(struct fw_dwarf_decoder *d, uint64_t offset, struct fw_fde *ret)
{
	return fw_dwarf_read_fde_(&d->cfi, &d->cies, offset, ret);
}
