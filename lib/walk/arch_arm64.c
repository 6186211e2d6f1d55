#include "lib/walk/walker.h"

enum { X29 = 29, X30, SP, PC };	// AADWARF64, table 2

static uint32_t instruction(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

/** BL, BLR, BLRA[AB]Z? (Arm ARM C6.2). Instructions are little-endian always. */
static bool call_before(const uint8_t *code, unsigned n, bool thumb)
{
	(void)thumb;
	if (n < 4)
		return false;
	uint32_t i = instruction(code + n - 4);
	return (i & 0xfc000000) == 0x94000000 || (i & 0xfffffc1f) == 0xd63f0000 ||
	       (i & 0xfefff800) == 0xd63f0800;
}

/**
 * AAPCS64 6.4.6: [fp] = caller's frame record, [fp + 8] = return address; the
 * chain ends with fp 0.
 */
static bool frame_pointer(struct fw_walker *w, struct fw_caller *ret, bool *ret_end)
{
	uint64_t fp = w->regs.v[X29], next, address;
	if (!fw_regs_has(&w->regs, X29))
		return false;
	if (fp == 0) {
		*ret_end = !fw_walk_is_context(w);
		return false;
	}
	if (fp % 8 != 0 || fp < w->frame.sp || fp > UINT64_MAX - 16)
		return false;
	if (!fw_walk_read(w, fp, &next) || !fw_walk_read(w, fp + 8, &address))
		return false;
	if (next == 0 && fw_walk_code_address(w, address) == 0) {
		*ret_end = true;
		return false;
	}
	enum fw_evidence evidence = fw_walk_evidence(w, address);
	next &= w->pac_mask;
	bool alien = next != 0 &&
		     (next < fp + 16 || next % 8 != 0 || !fw_walk_may_point_to(w, next));
	if (evidence < FW_EVIDENCE_UNVERIFIED ||
	    (alien && !fw_walk_alien_record(w, evidence, address)))
		return false;
	*ret = (struct fw_caller){ .trust = FW_TRUST_FRAME_POINTER };
	fw_regs_set(&ret->regs, PC, address);
	fw_regs_set(&ret->regs, SP, fp + 16);
	if (!alien)
		fw_regs_set(&ret->regs, X29, next);
	return true;
}

/** BL's target (Arm ARM C6.2.33). */
static bool call_target(const uint8_t *code, unsigned n, bool thumb, uint64_t address,
			uint64_t *ret)
{
	(void)thumb;
	uint32_t i = instruction(code + n - 4);
	if ((i & 0xfc000000) != 0x94000000)
		return false;
	int64_t words = (int32_t)(i << 6) >> 6;
	*ret = address - 4 + (uint64_t)(words * 4);
	return true;
}

/** A PLT entry: adrp x16; ldr x17; add x16; br x17. */
static bool is_stub(const uint8_t *code, unsigned n)
{
	for (unsigned at = 0; at + 4 <= n; at += 4)
		if (instruction(code + at) == 0xd61f0220)
			return true;
	return false;
}

/**
 * In the innermost frame x30 is the return address if the function has made
 * no call so far. If it has, x30 points behind that call: into the function
 * itself. So an x30 in another function is the caller.
 */
static bool leaf(struct fw_walker *w, bool wild, struct fw_caller *ret)
{
	uint64_t target, start = 0, other = 0, record;
	if (!fw_regs_has(&w->regs, X30))
		return false;
	uint64_t lr = fw_walk_code_address(w, w->regs.v[X30]);
	enum fw_evidence evidence = fw_walk_evidence(w, lr);
	if (evidence < FW_EVIDENCE_UNVERIFIED)
		return false;
	if (!wild) {
		bool named = fw_walk_function(w, w->frame.lookup, &start).s != NULL;
		bool other_named = fw_walk_function(w, lr - 4, &other).s != NULL;
		bool here = named && other_named && start == other;
		if (here || (fw_regs_has(&w->regs, X29) &&
			     fw_walk_read(w, w->regs.v[X29] + 8, &record) &&
			     fw_walk_code_address(w, record) == lr))
			return false;	// the frame record tells the same, and fp as well
		if (!(named && other_named)) {
			// Without names: the call before lr must lead to the
			// code at pc, and not lie between the two.
			if (!fw_walk_call_target(w, lr, &target) || target > w->frame.pc ||
			    w->frame.pc - target > 0x10000 || (lr > target && lr <= w->frame.pc))
				return false;
		}
	}
	ret->trust = FW_TRUST_LEAF;
	ret->regs = w->regs;
	fw_regs_set(&ret->regs, PC, lr);
	ret->regs.valid &= w->cpu->callee_saved | UINT64_C(1) << PC | UINT64_C(1) << SP;
	return true;
}

static void scanned(struct fw_walker *w, uint64_t slot, struct fw_regs *regs)
{
	if (fw_regs_has(&w->regs, X29) && w->regs.v[X29] >= slot + 8)
		fw_regs_set(regs, X29, w->regs.v[X29]);
}

/**
 * Linux rt_sigframe at sp: siginfo (128 bytes), ucontext; its sigcontext lies
 * at 176 and holds fault_address, x0-x30, sp, pc
 * (arch/arm64/include/uapi/asm/sigcontext.h, ucontext.h).
 */
static bool signal_frame(struct fw_walker *w, struct fw_regs *ret)
{
	for (unsigned i = 0; i <= PC; i++) {
		uint64_t value;
		if (!fw_walk_read(w, w->frame.sp + 128 + 176 + 8 + i * 8, &value))
			return false;
		fw_regs_set(ret, i, value);
	}
	return true;
}

/** mov x8,#139; svc #0 (rt_sigreturn). */
static bool is_trampoline(const uint8_t *code, unsigned n)
{
	return n >= 8 && instruction(code) == 0xd2801168 && instruction(code + 4) == 0xd4000001;
}

const struct fw_walk_arch fw_walk_arch_arm64 = {
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
