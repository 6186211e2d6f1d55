#include "lib/walk/arch_x86_common.h"

// Register numbers are DWARF's (psABI i386 table 2.14).
enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP };

/** The chain ends with ebp 0, where the ABI keeps one: not on Linux. */
static bool frame_pointer(struct fw_walker *w, struct fw_caller *ret, bool *ret_end)
{
	uint64_t ebp = w->regs.v[EBP], saved, address;
	if (!fw_regs_has(&w->regs, EBP))
		return false;
	if (!fw_walk_is_context(w)) {
		bool by_linux = w->snapshot->os == FW_OS_LINUX || w->snapshot->os == FW_OS_ANDROID;
		*ret_end = (ebp == 0 && !by_linux) ||
			   (ebp >= w->frame.sp && fw_walk_read(w, ebp, &saved) && saved == 0 &&
			    fw_walk_read(w, ebp + 4, &address) && address == 0);
	}
	return !*ret_end && fw_x86_record(w, false, ret);
}

static bool leaf(struct fw_walker *w, bool wild, struct fw_caller *ret)
{
	return fw_x86_leaf(w, wild, false, ret);
}

/** The word below a return address is often the saved ebp: take it when it points
 *  a little way up the stack (the peers' 128 KiB), else keep ebp if it is above. */
static void scanned(struct fw_walker *w, uint64_t slot, struct fw_regs *regs)
{
	uint64_t ebp, word;
	if (slot >= w->frame.sp + 4 && fw_walk_read(w, slot - 4, &ebp) && ebp > slot &&
	    ebp - slot <= 128 * 1024 && fw_walk_read(w, ebp, &word))
		fw_regs_set(regs, EBP, ebp);
	else if (fw_regs_has(&w->regs, EBP) && w->regs.v[EBP] >= slot + 4 &&
		 fw_walk_read(w, w->regs.v[EBP], &word))
		fw_regs_set(regs, EBP, w->regs.v[EBP]);
}

/**
 * Linux i386: when an rt handler has returned esp points at its arguments
 * (signal number, siginfo *, ucontext *); a plain one's at the signal number,
 * the sigcontext behind it (arch/x86/include/asm/sigframe.h).
 */
static bool signal_frame(struct fw_walker *w, struct fw_regs *ret)
{
	static const struct { uint8_t reg, offset; } fields[] = {
		{ EDI, 16 }, { ESI, 20 }, { EBP, 24 }, { ESP, 28 }, { EBX, 32 },
		{ EDX, 36 }, { ECX, 40 }, { EAX, 44 }, { EIP, 56 },
	};
	uint8_t first;
	uint64_t context;
	if (fw_walk_code(w, w->frame.pc, &first, 1) && first == 0x58) {
		context = w->frame.sp + 4;	// pop %eax: the plain sigreturn
	} else {
		if (!fw_walk_read(w, w->frame.sp + 8, &context))
			return false;
		context += 20;			// uc_flags, uc_link, uc_stack
	}
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t value;
		if (!fw_walk_read(w, context + fields[i].offset, &value))
			return false;
		fw_regs_set(ret, fields[i].reg, value);
	}
	return true;
}

/** mov $173,%eax; int $0x80 (rt) or pop %eax; mov $119,%eax; int $0x80. */
static bool is_trampoline(const uint8_t *code, unsigned n)
{
	static const uint8_t rt[] = { 0xb8, 0xad, 0, 0, 0, 0xcd, 0x80 };
	static const uint8_t plain[] = { 0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80 };
	return (n >= sizeof(rt) && memcmp(code, rt, sizeof(rt)) == 0) ||
	       (n >= sizeof(plain) && memcmp(code, plain, sizeof(plain)) == 0);
}

const struct fw_walk_arch fw_walk_arch_x86 = {
	.frame_pointer = frame_pointer,
	.leaf = leaf,
	.prologue = fw_x86_prologue,
	.scanned = scanned,
	.call_before = fw_x86_call_before,
	.call_target = fw_x86_call_target,
	.is_stub = fw_x86_is_stub,
	.signal_frame = signal_frame,
	.is_trampoline = is_trampoline,
	.trampoline_bytes = 8,
	.call_bytes = 7,
};
