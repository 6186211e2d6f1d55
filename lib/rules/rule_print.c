#include "lib/base/limits.h"
#include "lib/rules/rule.h"

/*
 * A program is printed from the tree of its ops: node i is op i, and its
 * operands are nodes, slots or a literal. Post-order gives the postfix text in
 * the order it was compiled from.
 */
struct printer {
	struct fw_out *out;
	const struct fw_cpu *cpu;
	const struct fw_op *ops;
	uint16_t left[FW_MAX_PROGRAM_OPS], right[FW_MAX_PROGRAM_OPS];
};

static_assert(FW_MAX_PROGRAM_OPS <= UINT16_MAX, "ops are named by 16 bits");

static void print_slot(struct fw_out *out, const struct fw_cpu *cpu, unsigned slot)
{
	if (slot == FW_SLOT_CFA) {
		fw_out_lit(out, ".cfa");
	} else if (slot < cpu->num_regs) {
		// Breakpad's writer puts `$` before x86 names only
		if (cpu->id == FW_CPU_X86 || cpu->id == FW_CPU_AMD64)
			fw_out_byte(out, '$');
		fw_out_cstr(out, cpu->reg_names[slot]);
	} else {
		fw_out_byte(out, '?');
	}
}

static void print_signed(struct fw_out *out, int64_t v)
{
	if (v < 0)
		fw_out_byte(out, '-');
	fw_out_dec(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void print_node(const struct printer *p, unsigned i);

static void print_operand(const struct printer *p, const struct fw_op *op, bool is_left,
			  unsigned node)
{
	uint8_t kind = is_left ? op->left : op->right;
	if (kind == FW_OPERAND_STACK)
		print_node(p, node);
	else if (kind == FW_OPERAND_SLOT)
		print_slot(p->out, p->cpu, is_left ? op->left_slot : op->right_slot);
	else if (p->cpu->word_size == 8)
		print_signed(p->out, (int64_t)op->literal);
	else
		print_signed(p->out, (int32_t)op->literal);
}

// Depth of recursion is bounded by the number of ops.
static void print_node(const struct printer *p, unsigned i)
{
	// Breakpad's symbols, and DWARF's names for what it lacks.
	static const char *const symbols[FW_OP_COUNT] = {
		[FW_OP_ADD] = "+", [FW_OP_SUB] = "-", [FW_OP_MUL] = "*", [FW_OP_DIV] = "/",
		[FW_OP_MOD] = "%", [FW_OP_ALIGN] = "@", [FW_OP_LOAD] = "^",
		[FW_OP_AND] = "and", [FW_OP_OR] = "or", [FW_OP_XOR] = "xor",
		[FW_OP_SHL] = "shl", [FW_OP_SHR] = "shr", [FW_OP_SHRA] = "shra",
		[FW_OP_SDIV] = "div", [FW_OP_EQ] = "eq", [FW_OP_NE] = "ne",
		[FW_OP_LT] = "lt", [FW_OP_LE] = "le", [FW_OP_GT] = "gt", [FW_OP_GE] = "ge",
		[FW_OP_NEG] = "neg", [FW_OP_NOT] = "not", [FW_OP_ABS] = "abs",
	};
	const struct fw_op *op = &p->ops[i];
	if (fw_op_is_binary(op->code)) {
		print_operand(p, op, true, p->left[i]);
		fw_out_byte(p->out, ' ');
	}
	print_operand(p, op, false, p->right[i]);
	if (op->code == FW_OP_LOAD_SIZE) {
		fw_out_printf(p->out, " load%u", op->target * 8);
	} else if (op->code != FW_OP_PUSH) {
		fw_out_byte(p->out, ' ');
		fw_out_cstr(p->out, symbols[op->code]);
	}
}

// Link the ops to a tree; false when they are no expression of one value.
static bool build_tree(struct printer *p, uint32_t count)
{
	uint16_t stack[FW_MAX_PROGRAM_DEPTH];
	unsigned depth = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct fw_op *op = &p->ops[i];
		bool is_binary = fw_op_is_binary(op->code);
		if ((!is_binary && !fw_op_is_unary(op->code) && op->code != FW_OP_PUSH) ||
		    op->right > FW_OPERAND_LITERAL || op->left > FW_OPERAND_LITERAL)
			return false;
		if (op->right == FW_OPERAND_STACK) {
			if (depth == 0)
				return false;
			p->right[i] = stack[--depth];
		}
		if (is_binary && op->left == FW_OPERAND_STACK) {
			if (depth == 0)
				return false;
			p->left[i] = stack[--depth];
		}
		if (depth == FW_MAX_PROGRAM_DEPTH)
			return false;
		stack[depth++] = (uint16_t)i;
	}
	return depth == 1;
}

static void print_program(struct fw_out *out, const struct fw_cpu *cpu,
			  const struct fw_programs *set, uint32_t index)
{
	struct printer p;
	struct fw_program program = { 0, 0 };
	if (set && index < set->num_programs)
		program = set->programs[index];
	if (program.count == 0 || program.count > FW_MAX_PROGRAM_OPS ||
	    program.first > set->num_ops || program.count > set->num_ops - program.first) {
		fw_out_byte(out, '?');
		return;
	}
	p.out = out;
	p.cpu = cpu;
	p.ops = set->ops + program.first;
	if (build_tree(&p, program.count))
		print_node(&p, program.count - 1);
	else
		fw_out_byte(out, '?');
}

void fw_rule_print(struct fw_out *out, const struct fw_cpu *cpu, const struct fw_programs *set,
		   struct fw_rule rule)
{
	bool is_program = rule.kind == FW_RULE_PROGRAM || rule.kind == FW_RULE_LOAD_PROGRAM;
	bool is_base = rule.kind == FW_RULE_REG || rule.kind == FW_RULE_LOAD_REG ||
		       rule.kind == FW_RULE_CFA || rule.kind == FW_RULE_LOAD_CFA;
	bool of_cfa = rule.kind == FW_RULE_CFA || rule.kind == FW_RULE_LOAD_CFA;
	if (rule.target == cpu->pc)
		fw_out_lit(out, ".ra");
	else
		print_slot(out, cpu, rule.target);
	fw_out_lit(out, ": ");
	if (is_base) {
		print_slot(out, cpu, of_cfa ? FW_SLOT_CFA : rule.reg);
		if (rule.arg) {
			fw_out_byte(out, ' ');
			print_signed(out, rule.arg);
			fw_out_lit(out, " +");
		}
	} else if (is_program) {
		print_program(out, cpu, set, (uint32_t)rule.arg);
	} else if (rule.kind == FW_RULE_SAME) {
		print_slot(out, cpu, rule.target);
	} else if (rule.kind == FW_RULE_UNDEFINED) {
		fw_out_lit(out, ".undef");
	} else {
		fw_out_byte(out, '?');	// no name: whoever reads it fails, as we did
	}
	if (rule.kind == FW_RULE_LOAD_REG || rule.kind == FW_RULE_LOAD_CFA ||
	    rule.kind == FW_RULE_LOAD_PROGRAM)
		fw_out_lit(out, " ^");
}
