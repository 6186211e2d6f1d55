#include "lib/base/limits.h"
#include "lib/rules/program_internal.h"

static_assert((FW_SLOTS & (FW_SLOTS - 1)) == 0, "slots are masked");

struct machine {
	struct fw_regs *regs;
	struct fw_memory_view *memory;
	uint64_t mask;		// of a word
	unsigned width;		// of a word in bytes
	unsigned depth;
	uint64_t *assigned;	// may be NULL
	uint64_t stack[FW_MAX_PROGRAM_DEPTH];
};

static bool operand(struct machine *m, uint8_t kind, uint8_t slot, uint64_t literal,
		    uint64_t *ret)
{
	slot &= FW_SLOTS - 1;
	switch (kind) {
	case FW_OPERAND_STACK:
		if (m->depth == 0)
			return false;
		*ret = m->stack[--m->depth];
		return true;
	case FW_OPERAND_SLOT:
		*ret = m->regs->v[slot] & m->mask;
		return fw_regs_has(m->regs, slot);
	case FW_OPERAND_LITERAL:
		*ret = literal & m->mask;
		return true;
	default:
		return false;
	}
}

static int64_t as_signed(const struct machine *m, uint64_t v)
{
	return m->width == 4 ? (int32_t)(uint32_t)v : (int64_t)v;
}

static uint64_t shift(const struct machine *m, uint8_t code, uint64_t left, uint64_t right)
{
	const unsigned bits = m->width * 8;
	if (code == FW_OP_SHRA)
		return (uint64_t)(as_signed(m, left) >> (right < bits ? right : bits - 1));
	if (right >= bits)
		return 0;
	return code == FW_OP_SHL ? left << right : left >> right;
}

static bool compare(const struct machine *m, uint8_t code, uint64_t left, uint64_t right)
{
	const int64_t a = as_signed(m, left), b = as_signed(m, right);
	switch (code) {
	case FW_OP_EQ:
		return a == b;
	case FW_OP_NE:
		return a != b;
	case FW_OP_LT:
		return a < b;
	case FW_OP_LE:
		return a <= b;
	case FW_OP_GT:
		return a > b;
	default:
		return a >= b;
	}
}

// The binary operators that only DWARF expressions have.
static bool dwarf_arithmetic(const struct machine *m, uint8_t code, uint64_t left,
			     uint64_t right, uint64_t *ret)
{
	switch (code) {
	case FW_OP_AND:
		*ret = left & right;
		return true;
	case FW_OP_OR:
		*ret = left | right;
		return true;
	case FW_OP_XOR:
		*ret = left ^ right;
		return true;
	case FW_OP_SHL:
	case FW_OP_SHR:
	case FW_OP_SHRA:
		*ret = shift(m, code, left, right);
		return true;
	case FW_OP_SDIV:
		if (right == 0)
			return false;
		// the lowest number by -1 does not fit, and wraps
		*ret = as_signed(m, right) == -1 ? 0 - left :
		       (uint64_t)(as_signed(m, left) / as_signed(m, right));
		return true;
	case FW_OP_EQ: case FW_OP_NE: case FW_OP_LT: case FW_OP_LE: case FW_OP_GT: case FW_OP_GE:
		*ret = compare(m, code, left, right);
		return true;
	default:
		return false;
	}
}

static bool arithmetic(const struct machine *m, uint8_t code, uint64_t left, uint64_t right,
		       uint64_t *ret)
{
	switch (code) {
	case FW_OP_ADD:
		*ret = left + right;
		return true;
	case FW_OP_SUB:
		*ret = left - right;
		return true;
	case FW_OP_MUL:
		*ret = left * right;
		return true;
	case FW_OP_DIV:
	case FW_OP_MOD:
		if (right == 0)
			return false;
		*ret = code == FW_OP_DIV ? left / right : left % right;
		return true;
	case FW_OP_ALIGN:
		if (right == 0 || right & (right - 1))
			return false;
		*ret = left & ~(right - 1);
		return true;
	default:
		return dwarf_arithmetic(m, code, left, right, ret);
	}
}

static uint64_t negated(const struct machine *m, uint8_t code, uint64_t v)
{
	if (code == FW_OP_NOT)
		return ~v;
	return code == FW_OP_NEG || as_signed(m, v) < 0 ? 0 - v : v;
}

static enum fw_program_result step(struct machine *m, const struct fw_op *op)
{
	uint64_t left = 0, right, value;
	if (op->code == FW_OP_FAIL ||
	    !operand(m, op->right, op->right_slot, op->literal, &right))
		return FW_PROGRAM_FAILED;
	switch (op->code) {
	case FW_OP_PUSH:
		value = right;
		break;
	case FW_OP_LOAD:
		if (!fw_memory_read(m->memory, right, m->width, &value))
			return FW_PROGRAM_NO_MEMORY;
		break;
	case FW_OP_LOAD_SIZE:
		if (op->target == 0 || op->target > 8 || op->target & (op->target - 1))
			return FW_PROGRAM_FAILED;
		if (!fw_memory_read(m->memory, right, op->target, &value))
			return FW_PROGRAM_NO_MEMORY;
		break;
	case FW_OP_NEG:
	case FW_OP_NOT:
	case FW_OP_ABS:
		value = negated(m, op->code, right);
		break;
	case FW_OP_ASSIGN:
		fw_regs_set(m->regs, op->target & (FW_SLOTS - 1), right);
		if (m->assigned)
			*m->assigned |= UINT64_C(1) << (op->target & (FW_SLOTS - 1));
		return FW_PROGRAM_OK;
	default:
		if (!operand(m, op->left, op->left_slot, op->literal, &left) ||
		    !arithmetic(m, op->code, left, right, &value))
			return FW_PROGRAM_FAILED;
	}
	if (m->depth == FW_MAX_PROGRAM_DEPTH)
		return FW_PROGRAM_FAILED;
	m->stack[m->depth++] = value & m->mask;
	return FW_PROGRAM_OK;
}

/** The operations from FW_OP_PICK on. @p left: how many ops follow; *skip: not to be run. */
static bool stack_step(struct machine *m, const struct fw_op *op, uint32_t left, uint32_t *skip)
{
	uint64_t *top = m->stack + m->depth, value;	// one past it
	switch (op->code) {
	case FW_OP_PICK:
		if (op->literal >= m->depth || m->depth == FW_MAX_PROGRAM_DEPTH)
			return false;
		*top = top[-1 - (int)op->literal];
		m->depth++;
		return true;
	case FW_OP_DROP:
		if (m->depth == 0)
			return false;
		m->depth--;
		return true;
	case FW_OP_SWAP:
	case FW_OP_ROT:
		if (m->depth < (op->code == FW_OP_SWAP ? 2 : 3))
			return false;
		value = top[-1];
		top[-1] = top[-2];
		top[-2] = value;
		if (op->code == FW_OP_ROT) {
			top[-2] = top[-3];
			top[-3] = value;
		}
		return true;
	case FW_OP_SKIP_IF:
		if (m->depth == 0)
			return false;
		if (m->stack[--m->depth] == 0)
			return true;
		break;
	case FW_OP_SKIP:
		break;
	default:
		return false;
	}
	if (op->literal > left)
		return false;
	*skip = (uint32_t)op->literal;
	return true;
}

enum fw_program_result fw_program_run_(const struct fw_programs *set, uint32_t index,
	const struct fw_cpu *cpu, struct fw_regs *regs, struct fw_memory_view *memory,
	uint64_t *assigned, uint64_t *ret)
{
	if (!set || index >= set->num_programs)
		return FW_PROGRAM_FAILED;
	struct fw_program p = set->programs[index];
	if (p.count > FW_MAX_PROGRAM_OPS || p.first > set->num_ops ||
	    p.count > set->num_ops - p.first)
		return FW_PROGRAM_FAILED;
	struct machine m;	// the stack needs no clearing: depth says what is there
	m.regs = regs;
	m.memory = memory;
	m.mask = cpu->word_mask;
	m.width = cpu->word_size;
	m.depth = 0;
	m.assigned = assigned;
	for (uint32_t i = 0; i < p.count; i++) {
		const struct fw_op *op = &set->ops[p.first + i];
		uint32_t skip = 0;
		if (FW_UNLIKELY(op->code >= FW_OP_PICK)) {
			if (!stack_step(&m, op, p.count - i - 1, &skip))
				return FW_PROGRAM_FAILED;
			i += skip;	// forward only, so that every program ends
			continue;
		}
		enum fw_program_result r = step(&m, op);
		if (r != FW_PROGRAM_OK)
			return r;
	}
	if (!ret)
		return FW_PROGRAM_OK;
	if (m.depth != 1)
		return FW_PROGRAM_FAILED;
	*ret = m.stack[0];
	return FW_PROGRAM_OK;
}

bool fw_program_run(const struct fw_programs *set, uint32_t index, const struct fw_cpu *cpu,
		    struct fw_regs *regs, struct fw_memory_view *memory, uint64_t *assigned,
		    uint64_t *ret)
{
	return fw_program_run_(set, index, cpu, regs, memory, assigned, ret) == FW_PROGRAM_OK;
}
