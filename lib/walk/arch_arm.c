#include "lib/walk/walker.h"

enum { R7 = 7, R11 = 11, SP = 13, LR, PC };	// AADWARF32, table 1

static uint32_t word_at(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

static bool thumb_call(const uint8_t *code, unsigned n)
{
	uint16_t last = (uint16_t)(code[n - 2] | code[n - 1] << 8);
	if ((last & 0xff87) == 0x4780)			// BLX register
		return true;
	if (n < 4)
		return false;
	uint16_t first = (uint16_t)(code[n - 4] | code[n - 3] << 8);
	return (first & 0xf800) == 0xf000 && (last & 0xc000) == 0xc000;	// BL, BLX immediate
}

/** BL, BLX in ARM and Thumb state (Arm ARM A8.8.25, A8.8.26). */
static bool call_before(const uint8_t *code, unsigned n, bool thumb)
{
	if (thumb)
		return thumb_call(code, n);
	if (n < 4)
		return false;
	uint32_t i = word_at(code + n - 4);
	return (i & 0x0f000000) == 0x0b000000 || (i & 0xfe000000) == 0xfa000000 ||
	       (i & 0x0ffffff0) == 0x012fff30;
}

/** BL label in ARM state; others are rare enough to be taken as they come. */
static bool call_target(const uint8_t *code, unsigned n, bool thumb, uint64_t address,
			uint64_t *ret)
{
	uint32_t i = word_at(code + n - 4);
	if (thumb || (i & 0x0f000000) != 0x0b000000 || (i & 0xf0000000) == 0xf0000000)
		return false;
	*ret = address - 4 + 8 + (uint64_t)(int64_t)((int32_t)(i << 8) >> 6);
	return true;
}

/** A PLT entry: add ip, pc; add ip, ip; ldr pc, [ip, #n]!. */
static bool is_stub(const uint8_t *code, unsigned n)
{
	for (unsigned at = 0; at + 4 <= n; at += 4)
		if ((word_at(code + at) & 0xfffff000) == 0xe5bcf000)
			return true;
	return false;
}

/** The record [fp + at] = saved fp, [fp + at + 4] = return address. */
static bool record_at(struct fw_walker *w, unsigned reg, int at, bool any,
		      struct fw_caller *ret, bool *ret_end)
{
	uint64_t fp = w->regs.v[reg], saved, address, word;
	if (!fw_regs_has(&w->regs, reg))
		return false;
	if (fp == 0) {
		*ret_end = any && !fw_walk_is_context(w);
		return false;
	}
	uint64_t record = fp + (uint64_t)(int64_t)at;
	if (fp % 4 != 0 || record < w->frame.sp || fp > UINT32_MAX - 8)
		return false;
	if (!fw_walk_read(w, record, &saved) || !fw_walk_read(w, record + 4, &address))
		return false;
	enum fw_evidence evidence = fw_walk_evidence(w, address);
	if (evidence < FW_EVIDENCE_UNVERIFIED || (!any && evidence != FW_EVIDENCE_CALL))
		return false;
	*ret = (struct fw_caller){ .trust = FW_TRUST_FRAME_POINTER };
	fw_regs_set(&ret->regs, PC, address);
	fw_regs_set(&ret->regs, SP, record + 8);
	if (saved == 0 || (saved > fp && saved % 4 == 0 && fw_walk_read(w, saved, &word)))
		fw_regs_set(&ret->regs, reg, saved);
	return true;
}

/**
 * Only iOS guarantees a chain (r7: [r7] saved r7, [r7 + 4] lr). Elsewhere both
 * layouts in use are tried and a call before the address must be seen: clang's
 * (r11 or, in Thumb, r7, as on iOS) and gcc's (-marm: [r11 - 4] r11, [r11] lr).
 */
static bool frame_pointer(struct fw_walker *w, struct fw_caller *ret, bool *ret_end)
{
	bool ios = w->snapshot->os == FW_OS_IOS || w->snapshot->os == FW_OS_MACOS;
	if (ios)
		return record_at(w, R7, 0, true, ret, ret_end);
	return record_at(w, R11, 0, false, ret, ret_end) ||
	       record_at(w, R11, -4, false, ret, ret_end) ||
	       record_at(w, R7, 0, false, ret, ret_end);
}

/** As on arm64: an lr outside the innermost function is its return address. */
static bool leaf(struct fw_walker *w, bool wild, struct fw_caller *ret)
{
	uint64_t start = 0, other = 0;
	if (!fw_regs_has(&w->regs, LR))
		return false;
	uint64_t lr = w->regs.v[LR];
	enum fw_evidence evidence = fw_walk_evidence(w, lr);
	if (evidence < FW_EVIDENCE_UNVERIFIED)
		return false;
	if (!wild) {
		if (evidence != FW_EVIDENCE_CALL ||
		    fw_walk_function(w, w->frame.lookup, &start).s == NULL ||
		    fw_walk_function(w, (lr & ~UINT64_C(1)) - 2, &other).s == NULL ||
		    start == other)
			return false;
	}
	ret->trust = FW_TRUST_LEAF;
	ret->regs = w->regs;
	fw_regs_set(&ret->regs, PC, lr);
	ret->regs.valid &= w->cpu->callee_saved | UINT64_C(1) << PC | UINT64_C(1) << SP;
	return true;
}

static void scanned(struct fw_walker *w, uint64_t slot, struct fw_regs *regs)
{
	static const uint8_t kept[] = { R7, R11 };
	for (unsigned i = 0; i < sizeof(kept); i++)
		if (fw_regs_has(&w->regs, kept[i]) && w->regs.v[kept[i]] >= slot + 4)
			fw_regs_set(regs, kept[i], w->regs.v[kept[i]]);
}

/**
 * Linux: rt frames hold siginfo (128 bytes) and a ucontext at sp, plain ones the
 * ucontext at once; its sigcontext (at 20) has trap_no, error_code, oldmask,
 * r0-r15, cpsr (arch/arm/include/uapi/asm/sigcontext.h). Which one is told by
 * the system call number in the trampoline: 173 rt, 119 plain.
 */
static bool signal_frame(struct fw_walker *w, struct fw_regs *ret)
{
	uint8_t code[8] = { 0 };
	bool rt = true;
	if (fw_walk_code(w, w->frame.pc, code, 4))
		rt = code[0] != 0x77;
	uint64_t regs = w->frame.sp + (rt ? 128 : 0) + 20 + 12;
	for (unsigned i = 0; i <= PC; i++) {
		uint64_t value;
		if (!fw_walk_read(w, regs + i * 4, &value))
			return false;
		fw_regs_set(ret, i, value);
	}
	return true;
}

/** mov r7,#173 or #119 in ARM or Thumb encoding; svc 0. */
static bool is_trampoline(const uint8_t *code, unsigned n)
{
	if (n >= 8 && (word_at(code) == 0xe3a070ad || word_at(code) == 0xe3a07077))
		return (word_at(code + 4) & 0xff000000) == 0xef000000;
	return n >= 4 && (code[0] == 0xad || code[0] == 0x77) && code[1] == 0x27 &&
	       code[2] == 0x00 && code[3] == 0xdf;
}

const struct fw_walk_arch fw_walk_arch_arm = {
	.frame_pointer = frame_pointer,
	.leaf = leaf,
	.scanned = scanned,
	.call_before = call_before,
	.call_target = call_target,
	.is_stub = is_stub,
	.signal_frame = signal_frame,
	.is_trampoline = is_trampoline,
	.trampoline_bytes = 8,
	.call_bytes = 4,
};
