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

static bool arithmetic(uint8_t code, uint64_t left, uint64_t right, uint64_t *ret)
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
		return false;
	}
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
	case FW_OP_ASSIGN:
		fw_regs_set(m->regs, op->target & (FW_SLOTS - 1), right);
		if (m->assigned)
			*m->assigned |= UINT64_C(1) << (op->target & (FW_SLOTS - 1));
		return FW_PROGRAM_OK;
	default:
		if (!operand(m, op->left, op->left_slot, op->literal, &left) ||
		    !arithmetic(op->code, left, right, &value))
			return FW_PROGRAM_FAILED;
	}
	if (m->depth == FW_MAX_PROGRAM_DEPTH)
		return FW_PROGRAM_FAILED;
	m->stack[m->depth++] = value & m->mask;
	return FW_PROGRAM_OK;
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
		enum fw_program_result r = step(&m, &set->ops[p.first + i]);
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
