#ifndef FW_WALK_X86_FRAME_H
#define FW_WALK_X86_FRAME_H

#include "lib/walk/x86_insn.h"

enum { FW_X86_REGS = 16 };	// by their numbers in instructions: 4 is sp, 5 bp

/** What a function's instructions say of its frame at one place: CFA = sp + .sp, or bp + .bp. */
struct fw_x86_frame {
	bool sp_known, bp_known;
	int64_t sp, bp;
	uint16_t saved, changed;	// registers: on the stack; no longer the caller's
	int32_t at[FW_X86_REGS];	// where saved, from the CFA
};

enum fw_x86_flow {
	FW_X86_PLAIN,
	FW_X86_CALL,
	FW_X86_BRANCH,		// or goes on
	FW_X86_JUMP,		// to a known place
	FW_X86_END,		// return, jump through memory or a register, trap
};
enum fw_x86_flow fw_x86_flow(const struct fw_x86_insn *in);
/** Is it this opcode of the one-byte map? */
bool fw_x86_is(const struct fw_x86_insn *in, uint8_t opcode);

/** What an instruction (FW_X86_PLAIN) does to the frame. False: it cannot be followed. */
bool fw_x86_effect(struct fw_x86_frame *s, const struct fw_x86_insn *in, bool wide);

/**
 * The frame at offset @p wanted of a function of which @p size bytes are at hand: at the
 * instruction that begins there (@p exact), or that of the call that ends there. All
 * ways that lead there from the start are followed. False: none does, something on
 * them is not understood, or they disagree. Pure.
 */
bool fw_x86_frame_at(const uint8_t *code, uint32_t size, uint32_t wanted, bool exact, bool wide,
		     struct fw_x86_frame *ret);

#endif
