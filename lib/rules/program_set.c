#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/base/limits.h"
#include "lib/rules/program_internal.h"

void fw_program_set_init(struct fw_program_set *set)
{
	*set = (struct fw_program_set){ 0 };
}

void fw_program_set_deinit(struct fw_program_set *set)
{
	fw_vec_deinit(&set->ops);
	fw_vec_deinit(&set->programs);
	fw_vec_deinit(&set->slots);
}

static uint64_t hash_ops(const struct fw_op *ops, size_t n)
{
	return XXH3_64bits(ops, n * sizeof(*ops));
}

static bool grow_slots(struct fw_program_set *set)
{
	size_t size = set->slots.count ? set->slots.count * 2 : 64;
	FW_VEC(uint32_t) bigger = { 0 };
	if (!fw_vec_reserve(&bigger, size))
		return false;
	memset(bigger.data, 0, size * sizeof(*bigger.data));
	bigger.count = size;
	for (uint32_t i = 0; i < set->programs.count; i++) {
		const struct fw_program *p = &set->programs.data[i];
		size_t at = hash_ops(set->ops.data + p->first, p->count) & (size - 1);
		while (bigger.data[at])
			at = (at + 1) & (size - 1);
		bigger.data[at] = i + 1;
	}
	fw_vec_deinit(&set->slots);
	set->slots.data = bigger.data;
	set->slots.count = bigger.count;
	set->slots.capacity = bigger.capacity;
	return true;
}

enum fw_code fw_program_add_(struct fw_program_set *set, const struct fw_op *ops, uint32_t n,
			     uint32_t *ret, struct fw_error *err)
{
	if (set->programs.count * 2 >= set->slots.count && !grow_slots(set))
		return fw_fail(err, FW_NO_MEMORY, NULL, "no memory for a program");
	size_t mask = set->slots.count - 1, at = hash_ops(ops, n) & mask;
	for (; set->slots.data[at]; at = (at + 1) & mask) {
		const struct fw_program *p = &set->programs.data[set->slots.data[at] - 1];
		if (p->count == n &&
		    memcmp(set->ops.data + p->first, ops, n * sizeof(*ops)) == 0) {
			*ret = set->slots.data[at] - 1;
			return FW_OK;
		}
	}
	// rules name programs by a positive int32_t, and ops by 32 bits
	if (set->programs.count >= INT32_MAX || set->ops.count > UINT32_MAX - n)
		return fw_fail(err, FW_LIMIT, NULL, "too many programs");
	if (!fw_vec_reserve(&set->ops, n) || !fw_vec_reserve(&set->programs, 1))
		return fw_fail(err, FW_NO_MEMORY, NULL, "no memory for a program");
	struct fw_program p = { (uint32_t)set->ops.count, (uint32_t)n };
	memcpy(set->ops.data + set->ops.count, ops, n * sizeof(*ops));
	set->ops.count += n;
	*ret = (uint32_t)set->programs.count;
	set->programs.data[set->programs.count++] = p;
	set->slots.data[at] = *ret + 1;
	return FW_OK;
}

/** What an op does to the stack's depth, and what it needs; false: no such op. */
static bool effect(const struct fw_op *op, uint32_t *pops, uint32_t *pushes)
{
	bool binary = fw_op_is_binary(op->code);
	*pops = *pushes = 0;
	switch (op->code) {
	case FW_OP_FAIL:
		*pushes = 1;	// it stands for the value that cannot be had
		return true;
	case FW_OP_PICK:
		if (op->literal >= FW_MAX_PROGRAM_DEPTH)
			return false;
		*pops = (uint32_t)op->literal + 1;
		*pushes = *pops + 1;
		return true;
	case FW_OP_DROP:
		*pops = 1;
		return true;
	case FW_OP_SWAP:
	case FW_OP_ROT:
		*pops = *pushes = op->code == FW_OP_SWAP ? 2 : 3;
		return true;
	case FW_OP_SKIP:
		return true;
	case FW_OP_SKIP_IF:
		*pops = 1;
		return true;
	default:
		break;
	}
	if (op->code >= FW_OP_COUNT || op->right > FW_OPERAND_LITERAL ||
	    op->left > FW_OPERAND_LITERAL || op->left_slot >= FW_SLOTS ||
	    op->right_slot >= FW_SLOTS || op->target >= FW_SLOTS)
		return false;
	*pops = (binary && op->left == FW_OPERAND_STACK) + (op->right == FW_OPERAND_STACK);
	*pushes = op->code != FW_OP_ASSIGN;
	return true;
}

bool fw_program_sound(const struct fw_op *ops, uint32_t count, uint32_t *ret_bad)
{
	enum { NOT_REACHED = 0xff };
	uint8_t depth_at[FW_MAX_PROGRAM_OPS + 1];	// as jumps to there find it
	uint32_t depth = 0;
	if (count > FW_MAX_PROGRAM_OPS)
		return *ret_bad = FW_MAX_PROGRAM_OPS, false;
	memset(depth_at, NOT_REACHED, sizeof(depth_at));
	for (uint32_t i = 0; i < count; i++) {
		const struct fw_op *op = &ops[i];
		uint32_t pops, pushes;
		*ret_bad = i;
		if (depth_at[i] != NOT_REACHED) {
			if (depth != NOT_REACHED && depth != depth_at[i])
				return false;
			depth = depth_at[i];
		}
		if (depth == NOT_REACHED || !effect(op, &pops, &pushes) || pops > depth)
			return false;
		depth = depth - pops + pushes;
		if (depth > FW_MAX_PROGRAM_DEPTH)
			return false;
		if (op->code != FW_OP_SKIP && op->code != FW_OP_SKIP_IF)
			continue;
		if (op->literal >= count - i)
			return false;
		uint8_t *to = &depth_at[i + 1 + op->literal];
		if (*to != NOT_REACHED && *to != depth)
			return false;
		*to = (uint8_t)depth;
		if (op->code == FW_OP_SKIP)
			depth = NOT_REACHED;
	}
	*ret_bad = count;
	return depth_at[count] == NOT_REACHED || depth == NOT_REACHED ||
	       depth_at[count] == depth;
}
