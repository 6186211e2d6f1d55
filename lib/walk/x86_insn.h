#ifndef FW_WALK_X86_INSN_H
#define FW_WALK_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An x86 instruction as far as stack frames are concerned (Intel SDM volume 2, appendix A). */
struct fw_x86_insn {
	uint8_t length;
	uint8_t map;		// of the opcode: 0 one byte, 1 0F, 2 0F 38, 3 0F 3A
	uint8_t opcode;
	bool vex;		// VEX or EVEX: its registers are not general ones as a rule
	bool has_modrm;
	uint8_t mod, reg, rm;	// with REX's bits; rm: base register unless mod is 3
	bool has_base, has_index;	// of a memory operand
	bool word;		// operands of the stack's width
	int32_t displacement;
	int64_t immediate;	// sign-extended; also of relative jumps
};

/** Decode what is at p, of which n bytes are there. False: cut off, or not known here. */
bool fw_x86_decode(const uint8_t *p, size_t n, bool wide, struct fw_x86_insn *ret);

#endif
