#include <string.h>

#include "lib/rules/win_print.h"
#include "lib/base/arena.h"
#include "lib/base/limits.h"

enum { MAX_TEXT = 1 << 20 };	// of all values of a program together

/** Values that operators have yet to take, as text. */
struct stack {
	struct fw_arena arena;
	struct fw_str value[FW_MAX_PROGRAM_DEPTH];
	unsigned depth;
};

static void write_slot(struct fw_out *out, unsigned slot)
{
	static const char *const constants[] = {
		".cbParams", ".cbCalleeParams", ".cbSavedRegs", ".cbLocals", ".raSearch",
	};
	const struct fw_cpu *x86 = fw_cpu_get(FW_CPU_X86);

	if (slot < x86->num_regs)
		fw_out_printf(out, "$%s", x86->reg_names[slot]);
	else if (slot >= FW_SLOT_WIN_PARAMS && slot <= FW_SLOT_WIN_RA_SEARCH)
		fw_out_cstr(out, constants[slot - FW_SLOT_WIN_PARAMS]);
	else if (slot >= FW_SLOT_WIN_SCRATCH && slot < FW_SLOTS)
		fw_out_printf(out, "$T%u", slot - FW_SLOT_WIN_SCRATCH);
	else
		fw_out_lit(out, "?");
}

static void write_operand(struct fw_out *out, const struct fw_op *op, bool left, struct fw_str top)
{
	switch (left ? op->left : op->right) {
	case FW_OPERAND_STACK:
		fw_out_str(out, top);
		break;
	case FW_OPERAND_SLOT:
		write_slot(out, left ? op->left_slot : op->right_slot);
		break;
	case FW_OPERAND_LITERAL: {
		int32_t v = (int32_t)op->literal;
		fw_out_printf(out, "%d", v);
		break;
	}
	default:
		fw_out_lit(out, "?");
	}
}

static struct fw_str pop(struct stack *s)
{
	return s->depth > 0 ? s->value[--s->depth] : FW_STR("?");
}

/** Text of one op's value or statement. */
static void write_op(struct fw_out *out, const struct fw_op *op, struct stack *s)
{
	static const char symbols[FW_OP_COUNT] = {
		[FW_OP_ADD] = '+', [FW_OP_SUB] = '-', [FW_OP_MUL] = '*', [FW_OP_DIV] = '/',
		[FW_OP_MOD] = '%', [FW_OP_ALIGN] = '@', [FW_OP_LOAD] = '^', [FW_OP_ASSIGN] = '=',
	};
	bool binary = op->code >= FW_OP_ADD && op->code <= FW_OP_ALIGN;
	struct fw_str right = { "", 0 }, left = { "", 0 };

	if (op->code >= FW_OP_FAIL) {
		fw_out_lit(out, "?");
		return;
	}
	if (op->right == FW_OPERAND_STACK)
		right = pop(s);
	if (binary && op->left == FW_OPERAND_STACK)
		left = pop(s);
	if (binary)
		write_operand(out, op, true, left);
	else if (op->code == FW_OP_ASSIGN)
		write_slot(out, op->target);
	if (binary || op->code == FW_OP_ASSIGN)
		fw_out_byte(out, ' ');
	write_operand(out, op, false, right);
	if (op->code != FW_OP_PUSH) {
		fw_out_byte(out, ' ');
		fw_out_byte(out, symbols[op->code]);
	}
}

/** Work through the ops; statements go to @p out as they are complete. False: no memory. */
static bool write_ops(struct fw_out *out, const struct fw_op *ops, uint32_t count, struct stack *s)
{
	const char *blank = "";
	for (uint32_t i = 0; i < count; i++) {
		struct fw_out text;
		fw_out_init_memory(&text, MAX_TEXT);
		write_op(&text, &ops[i], s);
		bool ok = text.failed == 0;
		if (ok && ops[i].code == FW_OP_ASSIGN) {
			fw_out_cstr(out, blank);
			fw_out_write(out, text.data, text.count);
			blank = " ";
		} else if (ok) {
			char *copy = fw_arena_strndup(&s->arena, text.data, text.count);
			ok = copy != NULL && s->depth < FW_MAX_PROGRAM_DEPTH;
			if (ok)
				s->value[s->depth++] = (struct fw_str){ copy, text.count };
		}
		fw_out_deinit(&text);
		if (!ok)
			return false;
	}
	for (unsigned i = 0; i < s->depth; i++) {
		fw_out_cstr(out, blank);
		fw_out_str(out, s->value[i]);
		blank = " ";
	}
	return true;
}

void fw_win_write_program(struct fw_out *out, const struct fw_programs *programs, uint32_t index)
{
	struct stack s = { .depth = 0 };
	struct fw_program p = { 0, 0 };

	if (index < programs->num_programs)
		p = programs->programs[index];
	if (p.count > FW_MAX_PROGRAM_OPS || p.first > programs->num_ops ||
	    p.count > programs->num_ops - p.first)
		p.count = 0;
	fw_arena_init(&s.arena, MAX_TEXT);
	if (p.count == 0 || !write_ops(out, programs->ops + p.first, p.count, &s))
		fw_out_lit(out, "?");
	fw_arena_deinit(&s.arena);
}

void fw_win_write(struct fw_out *out, const struct fw_programs *programs,
		  const struct fw_stack_win *w)
{
	bool has_program = w->program != FW_NO_PROGRAM;

	fw_out_printf(out, "STACK WIN %x %x %x %x %x %x %x %x %x %d ", w->type, w->start, w->size,
		      w->prolog_size, w->epilog_size, w->params_size, w->saved_regs_size,
		      w->locals_size, w->max_stack_size, has_program);
	if (has_program)
		fw_win_write_program(out, programs, w->program);
	else
		fw_out_printf(out, "%d", w->allocates_base_pointer);
}
