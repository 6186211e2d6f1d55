#ifndef FW_RULES_PROGRAM_H
#define FW_RULES_PROGRAM_H

#include <assert.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/rules/memory.h"
#include "lib/rules/regs.h"

/**
 * Postfix programs, compiled once at load and run without looking at text.
 *
 * Breakpad resolves an operand when it is popped, not when it is pushed
 * (peers' trap: `$rAdd $rAdd 2 + =`). The compiler therefore keeps names and
 * literals on its own stack until an operator takes them: an op names where
 * each operand comes from, and only computed values live on the run-time
 * stack. Depth <= FW_MAX_PROGRAM_DEPTH is proved while compiling, and every
 * index is masked or checked again while running: a corrupt image gives wrong
 * answers, never memory faults.
 */
enum fw_op_code {
	FW_OP_PUSH = 0,		// push the right operand
	FW_OP_ADD, FW_OP_SUB, FW_OP_MUL,
	FW_OP_DIV, FW_OP_MOD,	// right operand 0: the program fails
	FW_OP_ALIGN,		// left & ~(right - 1); right must be a power of two
	FW_OP_LOAD,		// push the word at the right operand; unreadable: fails
	FW_OP_ASSIGN,		// slot `target` = right operand
	FW_OP_FAIL,		// an operand that can never be resolved
	// of DWARF expressions (DWARF 5, 2.5.1.4); comparisons are signed and push 0 or 1
	FW_OP_AND, FW_OP_OR, FW_OP_XOR,
	FW_OP_SHL, FW_OP_SHR, FW_OP_SHRA,	// by the word's width or more: 0 or the sign
	FW_OP_SDIV,		// signed; right operand 0: the program fails
	FW_OP_EQ, FW_OP_NE, FW_OP_LT, FW_OP_LE, FW_OP_GT, FW_OP_GE,
	FW_OP_NEG, FW_OP_NOT, FW_OP_ABS,	// of the right operand
	FW_OP_LOAD_SIZE,	// FW_OP_LOAD of `target` bytes: 1, 2, 4 or 8
	// on the stack only
	FW_OP_PICK,		// push a copy of what lies `literal` below the top
	FW_OP_DROP,
	FW_OP_SWAP,
	FW_OP_ROT,		// the top goes below the two under it
	FW_OP_SKIP,		// go on `literal` operations further
	FW_OP_SKIP_IF,		// pop; the same unless it is 0
	FW_OP_COUNT
};

enum fw_operand {
	FW_OPERAND_STACK = 0,	// pop
	FW_OPERAND_SLOT,	// left_slot / right_slot; invalid slot: the program fails
	FW_OPERAND_LITERAL,	// op.literal (at most one operand of an op)
};

struct fw_op {
	uint8_t code;		// enum fw_op_code
	uint8_t left, right;	// enum fw_operand
	uint8_t left_slot, right_slot;
	uint8_t target;		// of FW_OP_ASSIGN; bytes of FW_OP_LOAD_SIZE
	uint16_t reserved;
	uint64_t literal;
};
static_assert(sizeof(struct fw_op) == 16, "an image section");

struct fw_program {		// ops[first .. first + count)
	uint32_t first, count;
};

/** Programs under construction; equal ones are stored once. The arrays are image sections. */
struct fw_program_set {
	FW_VEC(struct fw_op) ops;
	FW_VEC(struct fw_program) programs;
	FW_VEC(uint32_t) slots;	// hash table of program index + 1
};

void fw_program_set_init(struct fw_program_set *set);
void fw_program_set_deinit(struct fw_program_set *set);

/** Frozen view of a set, from a builder or from an image. */
struct fw_programs {
	const struct fw_op *ops;
	const struct fw_program *programs;
	uint32_t num_ops, num_programs;
};

/**
 * Compile one STACK CFI expression (the text behind "name:"). Grammar in
 * Breakpad's symbol file document: signed decimal literals (-2^63 .. 2^64-1),
 * registers ('$' optional, aliases), .cfa where @p allow_cfa, operators
 * + - * / % @ ^, blanks and tabs between tokens; exactly one value remains.
 * Unknown names, `=`, leftovers and underflow are FW_MALFORMED.
 */
FW_MUST_CHECK enum fw_code fw_program_compile_cfi(struct fw_program_set *set,
	const struct fw_cpu *cpu, bool allow_cfa, struct fw_str text,
	uint32_t *ret_program, struct fw_error *err);

/**
 * Slots of STACK WIN names: $eip $esp $ebp $ebx $esi $edi ... are the x86
 * registers; the constants have fixed slots; $T0 $T1 $T2 $L $P and any other
 * `$name` of one program get scratch slots in order of appearance (at most
 * FW_SLOTS - FW_SLOT_WIN_SCRATCH names: more is FW_LIMIT).
 */
enum {
	FW_SLOT_WIN_PARAMS = FW_SLOT_VARS,	// .cbParams
	FW_SLOT_WIN_CALLEE_PARAMS,		// .cbCalleeParams
	FW_SLOT_WIN_SAVED_REGS,			// .cbSavedRegs
	FW_SLOT_WIN_LOCALS,			// .cbLocals
	FW_SLOT_WIN_RA_SEARCH,			// .raSearch, .raSearchStart
	FW_SLOT_WIN_SCRATCH,
};

/**
 * Compile a STACK WIN program string: assignments `name expr =`; `=$x` is split
 * into `=` and `$x`; constants cannot be assigned; operands left over at the
 * end are tolerated (rust-minidump does; MSVC emits them). `.undef` and unknown
 * names compile to FW_OP_FAIL at the place that would resolve them. Sets
 * *ret_aligns when an `@` occurs (raSearchStart is then ebp + 4).
 */
FW_MUST_CHECK enum fw_code fw_program_compile_win(struct fw_program_set *set,
	struct fw_str text, uint32_t *ret_program, bool *ret_aligns, struct fw_error *err);

static inline bool fw_op_is_binary(uint8_t code)
{
	return (code >= FW_OP_ADD && code <= FW_OP_ALIGN) ||
	       (code >= FW_OP_AND && code <= FW_OP_GE);
}

static inline bool fw_op_is_unary(uint8_t code)
{
	return code == FW_OP_LOAD || (code >= FW_OP_NEG && code <= FW_OP_LOAD_SIZE);
}

/**
 * Is a program of an image sound? Operations and operands exist, no path takes
 * from an empty stack or grows past FW_MAX_PROGRAM_DEPTH, jumps only go forward
 * and meet with one depth. What running checks again, all at once.
 */
bool fw_program_sound(const struct fw_op *ops, uint32_t count, uint32_t *ret_bad);

/**
 * Run program @p index. Values wrap at the CPU's word. ASSIGN writes into
 * @p regs and stays in place on failure, as the peers do. For CFI programs the
 * one value goes to *ret; for WIN programs @p ret is NULL. @p assigned (may be
 * NULL) collects a bit per slot that was assigned. False: some operand unknown,
 * division by zero, bad alignment, memory missing or a corrupt op.
 */
bool fw_program_run(const struct fw_programs *set, uint32_t index, const struct fw_cpu *cpu,
		    struct fw_regs *regs, struct fw_memory_view *memory, uint64_t *assigned,
		    uint64_t *ret);

#endif
