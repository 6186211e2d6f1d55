#include <stdarg.h>
#include <stdio.h>

#include "lib/base/limits.h"
#include "lib/rules/program_internal.h"

// What stands on the compile-time stack. Names and literals wait there until an
// operator takes them; VALUE is on the run-time stack.
enum entry_kind { VALUE, SLOT, LITERAL, NEVER };
struct entry {
	uint8_t kind;
	uint8_t slot;
	bool assignable;
	uint64_t literal;
};

struct compiler {
	const struct fw_cpu *cpu;
	bool win, allow_cfa, aligns;
	struct fw_str token;	// being compiled, for messages
	struct fw_error *err;
	struct entry stack[FW_MAX_PROGRAM_DEPTH];
	unsigned depth;
	struct fw_op ops[FW_MAX_PROGRAM_OPS];
	unsigned num_ops;
	struct fw_str scratch[FW_SLOTS - FW_SLOT_WIN_SCRATCH];	// names, by slot
	unsigned num_scratch;
};

static const struct { const char *name; uint8_t slot; } win_constants[] = {
	{ ".cbParams", FW_SLOT_WIN_PARAMS },
	{ ".cbCalleeParams", FW_SLOT_WIN_CALLEE_PARAMS },
	{ ".cbSavedRegs", FW_SLOT_WIN_SAVED_REGS },
	{ ".cbLocals", FW_SLOT_WIN_LOCALS },
	{ ".raSearch", FW_SLOT_WIN_RA_SEARCH },
	{ ".raSearchStart", FW_SLOT_WIN_RA_SEARCH },
};

static bool equals(struct fw_str s, const char *name)
{
	return strlen(name) == s.n && memcmp(name, s.s, s.n) == 0;
}

enum fw_literal_result fw_literal_parse_(struct fw_str token, uint64_t *ret)
{
	struct fw_text t = { token.s, token.s + token.n };
	bool negative = t.p < t.end && *t.p == '-';
	t.p += negative;
	if (t.p == t.end)
		return FW_LITERAL_NONE;
	for (const char *p = t.p; p < t.end; p++) {
		if ((unsigned)(*p - '0') > 9)
			return FW_LITERAL_NONE;
	}
	uint64_t v;
	if (!fw_text_dec(&t, &v) || (negative && v > UINT64_C(1) << 63))
		return FW_LITERAL_TOO_BIG;
	*ret = negative ? 0 - v : v;
	return FW_LITERAL_OK;
}

__attribute__((format(printf, 3, 4)))
static enum fw_code fail(const struct compiler *c, enum fw_code code, const char *format, ...)
{
	char message[128];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	int n = c->token.n < 40 ? (int)c->token.n : 40;
	return fw_fail(c->err, code, NULL, "%s at '%.*s'", message, n, n ? c->token.s : "");
}

static enum fw_code push(struct compiler *c, struct entry e)
{
	if (c->depth == FW_MAX_PROGRAM_DEPTH)
		return fail(c, FW_LIMIT, "more than %d operands", FW_MAX_PROGRAM_DEPTH);
	c->stack[c->depth++] = e;
	return FW_OK;
}

static enum fw_code emit(struct compiler *c, struct fw_op op)
{
	if (c->num_ops == FW_MAX_PROGRAM_OPS)
		return fail(c, FW_LIMIT, "more than %d operations", FW_MAX_PROGRAM_OPS);
	c->ops[c->num_ops++] = op;
	return FW_OK;
}

// Encode where an operand comes from. NEVER has become FW_OP_FAIL before.
static void take_right(struct fw_op *op, const struct entry *e)
{
	op->right = e->kind == VALUE ? FW_OPERAND_STACK :
		    e->kind == SLOT ? FW_OPERAND_SLOT : FW_OPERAND_LITERAL;
	op->right_slot = e->kind == SLOT ? e->slot : 0;
	if (e->kind == LITERAL)
		op->literal = e->literal;
}

static void take_left(struct fw_op *op, const struct entry *e)
{
	op->left = e->kind == VALUE ? FW_OPERAND_STACK :
		   e->kind == SLOT ? FW_OPERAND_SLOT : FW_OPERAND_LITERAL;
	op->left_slot = e->kind == SLOT ? e->slot : 0;
	if (e->kind == LITERAL)
		op->literal = e->literal;
}

static enum fw_code need(const struct compiler *c, unsigned n)
{
	if (c->depth < n)
		return fail(c, FW_MALFORMED, "operand missing");
	return FW_OK;
}

static enum fw_code unary(struct compiler *c, uint8_t code)
{
	enum fw_code rc = need(c, 1);
	if (rc)
		return rc;
	struct entry right = c->stack[--c->depth];
	struct fw_op op = { .code = right.kind == NEVER ? FW_OP_FAIL : code };
	if (right.kind != NEVER)
		take_right(&op, &right);
	rc = emit(c, op);
	return rc ? rc : push(c, (struct entry){ .kind = VALUE });
}

// An operator that fails whatever the left operand is.
static enum fw_code check_right_literal(const struct compiler *c, uint8_t code, uint64_t literal)
{
	uint64_t v = literal & c->cpu->word_mask;
	if ((code == FW_OP_DIV || code == FW_OP_MOD) && v == 0)
		return fail(c, FW_MALFORMED, "division by zero");
	if (code == FW_OP_ALIGN && (v == 0 || v & (v - 1)))
		return fail(c, FW_MALFORMED, "alignment is no power of two");
	return FW_OK;
}

static enum fw_code binary(struct compiler *c, uint8_t code)
{
	enum fw_code rc = need(c, 2);
	if (rc)
		return rc;
	struct entry right = c->stack[--c->depth], left = c->stack[--c->depth];
	struct fw_op op = { .code = code };
	if (right.kind == LITERAL) {
		rc = check_right_literal(c, code, right.literal);
		if (rc)
			return rc;
	}
	if (left.kind == NEVER || right.kind == NEVER) {
		op.code = FW_OP_FAIL;
	} else {
		if (left.kind == LITERAL && right.kind == LITERAL) {
			// an op holds one literal: the left one goes by the stack
			struct fw_op first = { .code = FW_OP_PUSH };
			take_right(&first, &left);
			rc = emit(c, first);
			if (rc)
				return rc;
			left = (struct entry){ .kind = VALUE };
		}
		take_left(&op, &left);
		take_right(&op, &right);
	}
	rc = emit(c, op);
	return rc ? rc : push(c, (struct entry){ .kind = VALUE });
}

static enum fw_code assign(struct compiler *c)
{
	if (!c->win)
		return fail(c, FW_MALFORMED, "assignment in a rule");
	enum fw_code rc = need(c, 2);
	if (rc)
		return rc;
	struct entry right = c->stack[--c->depth], left = c->stack[--c->depth];
	if (!left.assignable)
		return fail(c, FW_MALFORMED, "assignment to something that is no variable");
	struct fw_op op = { .code = right.kind == NEVER ? FW_OP_FAIL : FW_OP_ASSIGN };
	if (right.kind != NEVER) {
		take_right(&op, &right);
		op.target = left.slot;
	}
	return emit(c, op);
}

static enum fw_code win_name(struct compiler *c, struct fw_str name)
{
	struct entry e = { .kind = NEVER };	// fails where something resolves it
	if (name.s[0] == '$' && name.n > 1) {
		uint8_t reg = fw_cpu_reg(c->cpu, name);
		unsigned i = 0;
		if (reg != FW_NO_REG)
			return push(c, (struct entry){ SLOT, reg, true, 0 });
		while (i < c->num_scratch &&
		       (c->scratch[i].n != name.n ||
			memcmp(c->scratch[i].s, name.s, name.n) != 0))
			i++;
		if (i == FW_SLOTS - FW_SLOT_WIN_SCRATCH)
			return fail(c, FW_LIMIT, "more than %d variables",
				    FW_SLOTS - FW_SLOT_WIN_SCRATCH);
		if (i == c->num_scratch)
			c->scratch[c->num_scratch++] = name;
		e = (struct entry){ SLOT, (uint8_t)(FW_SLOT_WIN_SCRATCH + i), true, 0 };
	}
	for (size_t i = 0; i < sizeof(win_constants) / sizeof(win_constants[0]); i++) {
		if (equals(name, win_constants[i].name))
			e = (struct entry){ SLOT, win_constants[i].slot, false, 0 };
	}
	return push(c, e);
}

/** DWARF's operators that Breakpad has none for, by the names that rule_print.c gives them. */
static const struct { const char *name; uint8_t code, bytes; } words[] = {
	{ "and", FW_OP_AND, 0 }, { "or", FW_OP_OR, 0 }, { "xor", FW_OP_XOR, 0 },
	{ "shl", FW_OP_SHL, 0 }, { "shr", FW_OP_SHR, 0 }, { "shra", FW_OP_SHRA, 0 },
	{ "div", FW_OP_SDIV, 0 }, { "eq", FW_OP_EQ, 0 }, { "ne", FW_OP_NE, 0 },
	{ "lt", FW_OP_LT, 0 }, { "le", FW_OP_LE, 0 }, { "gt", FW_OP_GT, 0 },
	{ "ge", FW_OP_GE, 0 }, { "neg", FW_OP_NEG, 0 }, { "not", FW_OP_NOT, 0 },
	{ "abs", FW_OP_ABS, 0 }, { "load8", FW_OP_LOAD_SIZE, 1 },
	{ "load16", FW_OP_LOAD_SIZE, 2 }, { "load32", FW_OP_LOAD_SIZE, 4 },
	{ "load64", FW_OP_LOAD_SIZE, 8 },
};

/** Compiles one of them; false: it is none. */
static bool operator_word(struct compiler *c, struct fw_str token, enum fw_code *ret)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!equals(token, words[i].name))
			continue;
		*ret = fw_op_is_binary(words[i].code) ? binary(c, words[i].code)
						      : unary(c, words[i].code);
		if (*ret == FW_OK && c->ops[c->num_ops - 1].code == FW_OP_LOAD_SIZE)
			c->ops[c->num_ops - 1].target = words[i].bytes;
		return true;
	}
	return false;
}

static enum fw_code cfi_name(struct compiler *c, struct fw_str name)
{
	uint8_t slot = fw_cpu_reg(c->cpu, name);
	if (slot == FW_NO_REG && equals(name, ".cfa")) {
		if (!c->allow_cfa)
			return fail(c, FW_MALFORMED, ".cfa refers to itself");
		slot = FW_SLOT_CFA;
	}
	if (slot == FW_NO_REG) {
		enum fw_code rc;
		return operator_word(c, name, &rc) ? rc : fail(c, FW_MALFORMED, "unknown name");
	}
	return push(c, (struct entry){ SLOT, slot, false, 0 });
}

static enum fw_code operand(struct compiler *c, struct fw_str token)
{
	uint64_t v;
	switch (fw_literal_parse_(token, &v)) {
	case FW_LITERAL_OK:
		return push(c, (struct entry){ LITERAL, 0, false, v & c->cpu->word_mask });
	case FW_LITERAL_TOO_BIG:
		return fail(c, FW_MALFORMED, "literal does not fit 64 bits");
	case FW_LITERAL_NONE:
		break;
	}
	return c->win ? win_name(c, token) : cfi_name(c, token);
}

static enum fw_code compile_token(struct compiler *c, struct fw_str token)
{
	c->token = token;
	// MSVC 2010 with link-time code generation leaves out the blank behind `=`
	while (token.n > 1 && token.s[0] == '=') {
		enum fw_code rc = assign(c);
		if (rc)
			return rc;
		token.s++;
		token.n--;
	}
	if (token.n > 1)
		return operand(c, token);
	switch (token.s[0]) {
	case '+':
		return binary(c, FW_OP_ADD);
	case '-':
		return binary(c, FW_OP_SUB);
	case '*':
		return binary(c, FW_OP_MUL);
	case '/':
		return binary(c, FW_OP_DIV);
	case '%':
		return binary(c, FW_OP_MOD);
	case '@':
		c->aligns = true;
		return binary(c, FW_OP_ALIGN);
	case '^':
		return unary(c, FW_OP_LOAD);
	case '=':
		return assign(c);
	default:
		return operand(c, token);
	}
}

static void start(struct compiler *c, const struct fw_cpu *cpu, bool win, struct fw_error *err)
{
	// the arrays are filled before they are read: clearing 9 KB would cost more
	// than compiling
	c->cpu = cpu;
	c->win = win;
	c->allow_cfa = c->aligns = false;
	c->token = (struct fw_str){ NULL, 0 };
	c->err = err;
	c->depth = c->num_ops = c->num_scratch = 0;
}

static enum fw_code compile(struct compiler *c, struct fw_str text)
{
	struct fw_text t = { text.s, text.s + text.n };
	struct fw_str token;
	while (fw_text_token(&t, &token)) {
		enum fw_code rc = compile_token(c, token);
		if (rc)
			return rc;
	}
	return FW_OK;
}

enum fw_code fw_program_compile_cfi(struct fw_program_set *set, const struct fw_cpu *cpu,
				    bool allow_cfa, struct fw_str text, uint32_t *ret_program,
				    struct fw_error *err)
{
	struct compiler c;
	start(&c, cpu, false, err);
	c.allow_cfa = allow_cfa;
	enum fw_code rc = compile(&c, text);
	if (rc)
		return rc;
	if (c.depth == 0)
		return fw_fail(err, FW_MALFORMED, NULL, "empty expression");
	if (c.depth > 1)
		return fw_fail(err, FW_MALFORMED, NULL, "%u values left over", c.depth - 1);
	if (c.stack[0].kind != VALUE) {
		struct fw_op op = { .code = FW_OP_PUSH };
		take_right(&op, &c.stack[0]);
		rc = emit(&c, op);
		if (rc)
			return rc;
	}
	return fw_program_add_(set, c.ops, c.num_ops, ret_program, err);
}

enum fw_code fw_program_compile_win(struct fw_program_set *set, struct fw_str text,
				    uint32_t *ret_program, bool *ret_aligns, struct fw_error *err)
{
	struct compiler c;
	uint32_t program;
	start(&c, fw_cpu_get(FW_CPU_X86), true, err);
	enum fw_code rc = compile(&c, text);
	if (!rc && c.num_ops == 0)
		rc = fw_fail(err, FW_MALFORMED, NULL, "program without assignments");
	if (!rc)
		rc = fw_program_add_(set, c.ops, c.num_ops, &program, err);
	if (rc)
		return rc;
	*ret_program = program;
	*ret_aligns = c.aligns;
	return FW_OK;
}
