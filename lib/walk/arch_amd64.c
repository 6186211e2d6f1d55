#include "lib/walk/arch_x86_common.h"

// Register numbers are DWARF's (psABI figure 3.36).
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R15 = 15, RIP };

static bool is_stack_word(struct fw_walker *w, uint64_t address)
{
	uint64_t value;
	return address % 8 == 0 && fw_walk_read(w, address, &value);
}

/**
 * [rbp] = caller's rbp, [rbp + 8] = return address (psABI 3.2.2, figure 3.3). A
 * saved rbp that is no stack address does not spoil the return address: code
 * without frame pointers keeps other things in rbp.
 */
static bool frame_pointer(struct fw_walker *w, struct fw_caller *ret, bool *ret_end)
{
	uint64_t rbp = w->regs.v[RBP], saved, address;
	bool chain_is_abi = w->snapshot->os == FW_OS_MACOS || w->snapshot->os == FW_OS_IOS;
	if (!fw_regs_has(&w->regs, RBP))
		return false;
	if (rbp == 0 && chain_is_abi && !fw_walk_is_context(w)) {
		*ret_end = true;
		return false;
	}
	if (rbp % 8 != 0 || rbp < w->frame.sp || rbp > UINT64_MAX - 16)
		return false;
	if (!fw_walk_read(w, rbp, &saved) || !fw_walk_read(w, rbp + 8, &address))
		return false;
	enum fw_evidence evidence = fw_walk_evidence(w, address);
	// On Windows rbp may point anywhere into the frame: only a call proves a record.
	if (evidence < FW_EVIDENCE_UNVERIFIED ||
	    (evidence != FW_EVIDENCE_CALL && w->snapshot->os == FW_OS_WINDOWS))
		return false;
	bool alien = saved < rbp + 16 || !is_stack_word(w, saved);
	if (alien && !fw_walk_alien_record(w, evidence, address))
		return false;
	*ret = (struct fw_caller){ .trust = FW_TRUST_FRAME_POINTER };
	fw_regs_set(&ret->regs, RIP, address);
	fw_regs_set(&ret->regs, RSP, rbp + 16);
	if (saved == 0 || !alien)
		fw_regs_set(&ret->regs, RBP, saved);
	return true;
}

/**
 * A call through a bad pointer leaves the return address on top of the stack
 * and every register as it was. On Windows x64 a function without unwind data
 * is a leaf by definition (x64 exception handling, "leaf functions"). Elsewhere
 * the call in front of the address must lead to the very function that pc is in.
 */
static bool leaf(struct fw_walker *w, bool wild, struct fw_caller *ret)
{
	uint64_t address, target, start;
	if (!fw_walk_read(w, w->frame.sp, &address))
		return false;
	enum fw_evidence evidence = fw_walk_evidence(w, address);
	if (evidence < FW_EVIDENCE_UNVERIFIED || (evidence != FW_EVIDENCE_CALL && !wild))
		return false;
	if (!wild && w->snapshot->os != FW_OS_WINDOWS &&
	    (!fw_walk_call_target(w, address, &target) ||
	     fw_walk_function(w, w->frame.pc, &start).s == NULL || start != target))
		return false;
	ret->trust = FW_TRUST_LEAF;
	ret->regs = w->regs;
	fw_regs_set(&ret->regs, RIP, address);
	fw_regs_set(&ret->regs, RSP, w->frame.sp + 8);
	ret->regs.valid &= w->cpu->callee_saved | 1u << RIP | 1u << RSP;
	return true;
}

/** rbp survives a scan when it still points above what was found. */
static void scanned(struct fw_walker *w, uint64_t slot, struct fw_regs *regs)
{
	uint64_t rbp = w->regs.v[RBP], saved;
	if (!fw_regs_has(&w->regs, RBP))
		return;
	if (rbp == slot - 8 && fw_walk_read(w, rbp, &saved) && saved > slot)
		fw_regs_set(regs, RBP, saved);
	else if (rbp >= slot + 8)
		fw_regs_set(regs, RBP, rbp);
}

/**
 * Linux rt_sigframe: when the handler has returned, rsp points at its ucontext;
 * registers from offset 40 on (arch/x86/include/uapi/asm/sigcontext.h).
 */
static bool signal_frame(struct fw_walker *w, struct fw_regs *ret)
{
	static const uint8_t order[] = {
		8, 9, 10, 11, 12, 13, 14, 15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP,
	};
	for (unsigned i = 0; i < sizeof(order); i++) {
		uint64_t value;
		if (!fw_walk_read(w, w->frame.sp + 40 + i * 8, &value))
			return false;
		fw_regs_set(ret, order[i], value);
	}
	return true;
}

/** mov $15,%rax; syscall: rt_sigreturn, in both encodings seen (glibc, Go). */
static bool is_trampoline(const uint8_t *code, unsigned n)
{
	static const uint8_t glibc[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t other[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	return (n >= sizeof(glibc) && memcmp(code, glibc, sizeof(glibc)) == 0) ||
	       (n >= sizeof(other) && memcmp(code, other, sizeof(other)) == 0);
}

const struct fw_walk_arch fw_walk_arch_amd64 = {
	.frame_pointer = frame_pointer,
	.leaf = leaf,
	.scanned = scanned,
	.call_before = fw_x86_call_before,
	.call_target = fw_x86_call_target,
	.is_stub = fw_x86_is_stub,
	.signal_frame = signal_frame,
	.is_trampoline = is_trampoline,
	.trampoline_bytes = 9,
	.call_bytes = 7,
};
