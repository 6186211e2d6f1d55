#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/rules/dwarf_internal.h"
#include "lib/rules/program_internal.h"

/*
 * DWARF 5, section 7.7.1, table 7.9; those that are left out have no meaning in
 * call frame information (6.4.2) or need more than registers and memory.
 */
enum {
	OP_ADDR = 0x03, OP_DEREF = 0x06,
	OP_CONST1U = 0x08, OP_CONST1S, OP_CONST2U, OP_CONST2S, OP_CONST4U, OP_CONST4S,
	OP_CONST8U, OP_CONST8S, OP_CONSTU, OP_CONSTS,
	OP_DUP = 0x12, OP_DROP, OP_OVER, OP_PICK, OP_SWAP, OP_ROT,
	OP_ABS = 0x19, OP_AND, OP_DIV, OP_MINUS, OP_MOD, OP_MUL, OP_NEG, OP_NOT, OP_OR, OP_PLUS,
	OP_PLUS_UCONST, OP_SHL, OP_SHR, OP_SHRA, OP_XOR, OP_BRA,
	OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE, OP_SKIP,
	OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_REG0 = 0x50, OP_REG31 = 0x6f,
	OP_BREG0 = 0x70, OP_BREG31 = 0x8f, OP_REGX = 0x90, OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94, OP_NOP = 0x96, OP_CALL_FRAME_CFA = 0x9c,
	OP_GNU_ENCODED_ADDR = 0xf1,
};
static_assert(OP_CONSTS == 0x11 && OP_ROT == 0x17 && OP_PLUS == 0x22 && OP_BRA == 0x28 &&
	      OP_SKIP == 0x2f, "numbered in order");

/*
 * As in a compiled postfix text, registers and literals wait on the compile-time
 * stack; only VALUEs are on the run-time stack, in the same order.
 */
enum entry_kind { VALUE, SLOT, LITERAL };
struct entry {
	uint8_t kind, slot;
	uint64_t literal;
};

// A forward jump that has not arrived: op `from` skips to expression offset `to`.
struct jump { uint16_t from; uint16_t depth; uint64_t to; };
enum { MAX_JUMPS = 32 };

struct compiler {
	const struct fw_dwarf_cfi *cfi;
	const uint8_t *begin;
	uint8_t address_size;
	bool have_cfa;
	unsigned depth, num_ops, num_jumps;
	struct jump jumps[MAX_JUMPS];
	struct entry stack[FW_MAX_PROGRAM_DEPTH];
	struct fw_op ops[FW_MAX_PROGRAM_OPS];
};

static enum fw_code emit(struct compiler *c, struct fw_op op)
{
	if (c->num_ops == FW_MAX_PROGRAM_OPS)
		return FW_LIMIT;
	c->ops[c->num_ops++] = op;
	return FW_OK;
}

static enum fw_code push(struct compiler *c, struct entry e)
{
	if (c->depth == FW_MAX_PROGRAM_DEPTH)
		return FW_LIMIT;
	c->stack[c->depth++] = e;
	return FW_OK;
}

static enum fw_code push_literal(struct compiler *c, uint64_t v)
{
	v &= c->cfi->cpu->word_mask;
	return push(c, (struct entry){ .kind = LITERAL, .literal = v });
}

static uint8_t operand_of(const struct entry *e)
{
	return e->kind == VALUE ? FW_OPERAND_STACK :
	       e->kind == SLOT ? FW_OPERAND_SLOT : FW_OPERAND_LITERAL;
}

static void take_right(struct fw_op *op, const struct entry *e)
{
	op->right = operand_of(e);
	op->right_slot = e->kind == SLOT ? e->slot : 0;
	if (e->kind == LITERAL)
		op->literal = e->literal;
}

static void take_left(struct fw_op *op, const struct entry *e)
{
	op->left = operand_of(e);
	op->left_slot = e->kind == SLOT ? e->slot : 0;
	if (e->kind == LITERAL)
		op->literal = e->literal;
}

static enum fw_code unary(struct compiler *c, uint8_t code, uint8_t target)
{
	struct fw_op op = { .code = code, .target = target };
	if (c->depth < 1)
		return FW_MALFORMED;
	take_right(&op, &c->stack[c->depth - 1]);
	c->stack[c->depth - 1] = (struct entry){ .kind = VALUE };
	return emit(c, op);
}

static enum fw_code binary(struct compiler *c, uint8_t code)
{
	struct fw_op op = { .code = code };
	enum fw_code rc = FW_OK;
	if (c->depth < 2)
		return FW_MALFORMED;
	struct entry right = c->stack[--c->depth], left = c->stack[--c->depth];
	if (left.kind == LITERAL && right.kind == LITERAL) {
		// an op holds one literal: the left one goes by the stack
		struct fw_op first = { .code = FW_OP_PUSH };
		take_right(&first, &left);
		rc = emit(c, first);
		left = (struct entry){ .kind = VALUE };
	}
	take_left(&op, &left);
	take_right(&op, &right);
	if (!rc)
		rc = emit(c, op);
	return rc ? rc : push(c, (struct entry){ .kind = VALUE });
}

// Push a copy of the entry that lies `index` below the top.
static enum fw_code pick(struct compiler *c, unsigned index)
{
	uint64_t values_above = 0;
	if (index >= c->depth)
		return FW_MALFORMED;
	struct entry e = c->stack[c->depth - 1 - index];
	for (unsigned i = c->depth - index; i < c->depth; i++)
		values_above += c->stack[i].kind == VALUE;
	enum fw_code rc = push(c, e);
	if (rc || e.kind != VALUE)
		return rc;
	return emit(c, (struct fw_op){ .code = FW_OP_PICK, .literal = values_above });
}

static enum fw_code drop(struct compiler *c)
{
	if (c->depth == 0)
		return FW_MALFORMED;
	if (c->stack[--c->depth].kind == VALUE)
		return emit(c, (struct fw_op){ .code = FW_OP_DROP });
	return FW_OK;
}

// The top entry goes below the n under it (1: swap, 2: rot).
static enum fw_code sink(struct compiler *c, unsigned n)
{
	unsigned values = 0;
	if (c->depth <= n)
		return FW_MALFORMED;
	struct entry top = c->stack[c->depth - 1];
	for (unsigned i = c->depth - 1; i > c->depth - 1 - n; i--) {
		c->stack[i] = c->stack[i - 1];
		values += c->stack[i].kind == VALUE;
	}
	c->stack[c->depth - 1 - n] = top;
	if (top.kind != VALUE || values == 0)
		return FW_OK;
	return emit(c, (struct fw_op){ .code = values == 1 ? FW_OP_SWAP : FW_OP_ROT });
}

// Put everything on the run-time stack: where paths meet, it must look the same.
static enum fw_code settle(struct compiler *c)
{
	enum fw_code rc = FW_OK;
	for (unsigned i = 0; !rc && i < c->depth; i++) {
		struct fw_op op = { .code = FW_OP_PUSH };
		unsigned above = 0;
		if (c->stack[i].kind == VALUE)
			continue;
		for (unsigned k = i + 1; k < c->depth; k++)
			above += c->stack[k].kind == VALUE;
		if (above > 2)
			return FW_UNSUPPORTED;
		take_right(&op, &c->stack[i]);
		c->stack[i] = (struct entry){ .kind = VALUE };
		rc = emit(c, op);
		if (!rc && above)
			rc = emit(c, (struct fw_op){ .code = above == 1 ? FW_OP_SWAP : FW_OP_ROT });
	}
	return rc;
}

// Backward jumps could loop for ever and do nothing that unwinding needs.
static enum fw_code jump(struct compiler *c, struct fw_cursor *e, bool conditional)
{
	int16_t distance = (int16_t)fw_cursor_word_(e, 2);
	if (e->bad || (conditional && c->depth == 0))
		return FW_MALFORMED;
	if (distance < 0)
		return FW_UNSUPPORTED;
	if (distance > e->end - e->p)
		return FW_MALFORMED;
	enum fw_code rc = settle(c);
	if (rc)
		return rc;
	if (c->num_jumps == MAX_JUMPS)
		return FW_LIMIT;
	c->depth -= conditional;
	c->jumps[c->num_jumps++] = (struct jump){
		.from = (uint16_t)c->num_ops, .depth = (uint16_t)c->depth,
		.to = (uint64_t)(e->p - c->begin) + (uint64_t)distance,
	};
	return emit(c, (struct fw_op){
		.code = conditional ? FW_OP_SKIP_IF : FW_OP_SKIP,
		.right = conditional ? FW_OPERAND_STACK : FW_OPERAND_LITERAL,
	});
}

/*
 * Jumps that lead to where the expression is now. `reached`: the operation
 * before leads here, too. Sets it if any does.
 */
static enum fw_code arrive(struct compiler *c, uint64_t at, bool *reached)
{
	bool any = false;
	for (unsigned i = 0; i < c->num_jumps; i++)
		any |= c->jumps[i].to == at;
	if (!any)
		return FW_OK;
	enum fw_code rc = *reached ? settle(c) : FW_OK;
	for (unsigned i = 0; !rc && i < c->num_jumps;) {
		struct jump j = c->jumps[i];
		if (j.to != at) {
			i++;
			continue;
		}
		if (*reached && j.depth != c->depth)
			return FW_UNSUPPORTED;
		for (c->depth = 0; c->depth < j.depth; c->depth++)
			c->stack[c->depth] = (struct entry){ .kind = VALUE };
		*reached = true;
		c->ops[j.from].literal = c->num_ops - j.from - 1u;
		c->jumps[i] = c->jumps[--c->num_jumps];
	}
	return rc;
}

static enum fw_code push_register(struct compiler *c, uint64_t number)
{
	uint8_t reg = fw_cpu_dwarf_reg(c->cfi->cpu, number);
	if (reg == FW_NO_REG)
		return FW_UNSUPPORTED;
	return push(c, (struct entry){ .kind = SLOT, .slot = reg });
}

static enum fw_code add_literal(struct compiler *c, uint64_t v)
{
	if (v == 0)
		return c->depth ? FW_OK : FW_MALFORMED;
	enum fw_code rc = push_literal(c, v);
	return rc ? rc : binary(c, FW_OP_ADD);
}

static enum fw_code based(struct compiler *c, uint64_t number, int64_t offset)
{
	enum fw_code rc = push_register(c, number);
	return rc ? rc : add_literal(c, (uint64_t)offset);
}

static enum fw_code address(struct compiler *c, struct fw_cursor *e, uint8_t encoding)
{
	uint64_t v;
	if (!fw_dwarf_pointer_(c->cfi, e, encoding, c->address_size, &v))
		return e->bad ? FW_MALFORMED : FW_UNSUPPORTED;
	// elsewhere it would have to be moved with the module
	return c->cfi->fixed_address ? push_literal(c, v) : FW_UNSUPPORTED;
}

static enum fw_code call_frame_cfa(struct compiler *c)
{
	if (!c->have_cfa)
		return FW_UNSUPPORTED;
	return push(c, (struct entry){ .kind = SLOT, .slot = FW_SLOT_CFA });
}

static enum fw_code constant(struct compiler *c, struct fw_cursor *e, uint8_t op)
{
	uint64_t v;
	switch (op) {
	case OP_CONST1S:
		v = (uint64_t)(int64_t)(int8_t)fw_cursor_u8(e);
		break;
	case OP_CONST2S:
		v = (uint64_t)(int64_t)(int16_t)fw_cursor_word_(e, 2);
		break;
	case OP_CONST4S:
		v = (uint64_t)(int64_t)(int32_t)fw_cursor_word_(e, 4);
		break;
	case OP_CONSTU:
		v = fw_cursor_uleb(e);
		break;
	case OP_CONSTS:
		v = (uint64_t)fw_cursor_sleb_(e);
		break;
	default:
		v = fw_cursor_word_(e, 1u << (op - OP_CONST1U) / 2);
		break;
	}
	return push_literal(c, v);
}

static enum fw_code deref_size(struct compiler *c, struct fw_cursor *e)
{
	uint8_t bytes = fw_cursor_u8(e);
	if (bytes == c->cfi->cpu->word_size)
		return unary(c, FW_OP_LOAD, 0);
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return FW_MALFORMED;
	return bytes > c->cfi->cpu->word_size ? FW_MALFORMED : unary(c, FW_OP_LOAD_SIZE, bytes);
}

// Operators whose only effect is that of one of ours.
static uint8_t operator_of(uint8_t op)
{
	static const uint8_t codes[256] = {
		[OP_AND] = FW_OP_AND, [OP_DIV] = FW_OP_SDIV, [OP_MINUS] = FW_OP_SUB,
		[OP_MOD] = FW_OP_MOD, [OP_MUL] = FW_OP_MUL, [OP_OR] = FW_OP_OR,
		[OP_PLUS] = FW_OP_ADD, [OP_SHL] = FW_OP_SHL, [OP_SHR] = FW_OP_SHR,
		[OP_SHRA] = FW_OP_SHRA, [OP_XOR] = FW_OP_XOR, [OP_EQ] = FW_OP_EQ,
		[OP_GE] = FW_OP_GE, [OP_GT] = FW_OP_GT, [OP_LE] = FW_OP_LE, [OP_LT] = FW_OP_LT,
		[OP_NE] = FW_OP_NE, [OP_ABS] = FW_OP_ABS, [OP_NEG] = FW_OP_NEG,
		[OP_NOT] = FW_OP_NOT, [OP_DEREF] = FW_OP_LOAD,
	};
	return codes[op];
}

static enum fw_code operation(struct compiler *c, struct fw_cursor *e, uint8_t op)
{
	uint64_t number;
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push_literal(c, op - OP_LIT0);
	if (op >= OP_REG0 && op <= OP_REG31)
		return push_register(c, op - OP_REG0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return based(c, op - OP_BREG0, fw_cursor_sleb_(e));
	if (op >= OP_CONST1U && op <= OP_CONSTS)
		return constant(c, e, op);
	uint8_t code = operator_of(op);
	if (code)
		return fw_op_is_unary(code) ? unary(c, code, 0) : binary(c, code);
	switch (op) {
	case OP_ADDR:
		return address(c, e, 0);
	case OP_GNU_ENCODED_ADDR:
		return address(c, e, fw_cursor_u8(e));
	case OP_DUP:
		return pick(c, 0);
	case OP_OVER:
		return pick(c, 1);
	case OP_PICK:
		return pick(c, fw_cursor_u8(e));
	case OP_DROP:
		return drop(c);
	case OP_SWAP:
		return sink(c, 1);
	case OP_ROT:
		return sink(c, 2);
	case OP_PLUS_UCONST:
		return add_literal(c, fw_cursor_uleb(e));
	case OP_REGX:
		return push_register(c, fw_cursor_uleb(e));
	case OP_BREGX:
		number = fw_cursor_uleb(e);
		return based(c, number, fw_cursor_sleb_(e));
	case OP_DEREF_SIZE:
		return deref_size(c, e);
	case OP_CALL_FRAME_CFA:
		return call_frame_cfa(c);
	case OP_BRA:
	case OP_SKIP:
		return jump(c, e, op == OP_BRA);
	case OP_NOP:
		return FW_OK;
	default:
		return FW_UNSUPPORTED;
	}
}

static enum fw_code compile(struct compiler *c, struct fw_cursor e)
{
	bool reached = true;
	while (e.p < e.end) {
		enum fw_code rc = arrive(c, (uint64_t)(e.p - c->begin), &reached);
		if (rc)
			return rc;
		if (!reached) {
			// what no jump leads to is never run: go to the next that one does
			uint64_t next = UINT64_MAX;
			for (unsigned i = 0; i < c->num_jumps; i++)
				next = c->jumps[i].to < next ? c->jumps[i].to : next;
			e.p = c->begin + next;
			continue;
		}
		uint8_t op = *e.p++;
		rc = operation(c, &e, op);
		if (!rc && e.bad)
			rc = FW_MALFORMED;
		if (rc)
			return rc;
		reached = op != OP_SKIP;
		// a jump into the middle of an operation is none that a compiler makes
		for (unsigned i = 0; i < c->num_jumps; i++)
			if (reached && c->jumps[i].to < (uint64_t)(e.p - c->begin))
				return FW_UNSUPPORTED;
	}
	return arrive(c, (uint64_t)(e.end - c->begin), &reached);
}

static bool small(uint64_t literal, const struct fw_cpu *cpu, int32_t *ret)
{
	int64_t v = cpu->word_size == 4 ? (int32_t)(uint32_t)literal : (int64_t)literal;
	*ret = (int32_t)v;
	return v >= INT32_MIN && v <= INT32_MAX;
}

/** Base plus offset, the shape that needs no program; `ops` are the first n. */
static bool plain(const struct compiler *c, unsigned n, const struct entry *bare,
		  struct fw_rule *rule)
{
	const struct fw_op *op = c->ops;
	uint8_t slot;
	rule->arg = 0;
	if (n == 0 && bare->kind == SLOT) {
		slot = bare->slot;
	} else if (n == 1 && op->code == FW_OP_ADD && op->left == FW_OPERAND_SLOT &&
		   op->right == FW_OPERAND_LITERAL) {
		slot = op->left_slot;
		if (!small(op->literal, c->cfi->cpu, &rule->arg))
			return false;
	} else {
		return false;
	}
	rule->kind = slot == FW_SLOT_CFA ? FW_RULE_CFA : FW_RULE_REG;
	rule->reg = slot == FW_SLOT_CFA ? 0 : slot;
	return true;
}

static enum fw_code as_rule(struct compiler *c, struct fw_program_set *programs, bool load,
			    struct fw_rule *rule)
{
	unsigned n = c->num_ops;
	struct entry top = c->stack[c->depth - 1];
	// a last load becomes the rule's, unless the rule has one of its own
	if (!load && n && top.kind == VALUE && c->ops[n - 1].code == FW_OP_LOAD) {
		const struct fw_op *last = &c->ops[n - 1];
		struct entry bare = { .kind = SLOT, .slot = last->right_slot };
		if ((n == 1 && last->right == FW_OPERAND_SLOT && plain(c, 0, &bare, rule)) ||
		    (n == 2 && last->right == FW_OPERAND_STACK && plain(c, 1, NULL, rule))) {
			rule->kind = rule->kind == FW_RULE_REG ? FW_RULE_LOAD_REG :
				     FW_RULE_LOAD_CFA;
			return FW_OK;
		}
	}
	if (plain(c, n, &top, rule)) {
		if (load)
			rule->kind = rule->kind == FW_RULE_REG ? FW_RULE_LOAD_REG :
				     FW_RULE_LOAD_CFA;
		return FW_OK;
	}
	if (top.kind != VALUE) {
		struct fw_op op = { .code = FW_OP_PUSH };
		take_right(&op, &top);
		enum fw_code rc = emit(c, op);
		if (rc)
			return rc;
	}
	uint32_t program;
	enum fw_code rc = fw_program_add_(programs, c->ops, c->num_ops, &program, NULL);
	if (rc)
		return rc;
	rule->kind = load ? FW_RULE_LOAD_PROGRAM : FW_RULE_PROGRAM;
	rule->arg = (int32_t)program;
	return FW_OK;
}

// The value is on top; what lies under it goes, as a program leaves one value.
static enum fw_code keep_top(struct compiler *c)
{
	enum fw_code rc = c->depth ? FW_OK : FW_MALFORMED;
	while (!rc && c->depth > 1) {
		rc = sink(c, 1);
		if (!rc)
			rc = drop(c);
	}
	return rc;
}

enum fw_code fw_dwarf_expression_(const struct fw_dwarf_cfi *cfi, uint8_t address_size,
				  struct fw_program_set *programs, struct fw_cursor expression,
				  enum fw_expression_use use, uint8_t target, struct fw_rule *ret)
{
	struct compiler c;	// its arrays are filled before they are read
	struct fw_rule rule = { .target = target };
	c.cfi = cfi;
	c.begin = expression.p;
	c.address_size = address_size;
	c.have_cfa = use != FW_EXPRESSION_CFA;
	c.depth = c.num_ops = c.num_jumps = 0;
	enum fw_code rc = c.have_cfa ? call_frame_cfa(&c) : FW_OK;
	if (!rc)
		rc = compile(&c, expression);
	if (!rc)
		rc = keep_top(&c);
	if (!rc)
		rc = as_rule(&c, programs, use == FW_EXPRESSION_ADDRESS, &rule);
	if (!rc)
		*ret = rule;
	return rc;
}
