#include "lib/walk/arch_x86_common.h"

// Register numbers are DWARF's (psABI figure 3.36).
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R15 = 15, RIP };

/** macOS keeps a chain that ends with rbp 0; Windows' rbp may point anywhere into the
 *  frame, so that only a call proves a record. */
static bool frame_pointer(struct fw_walker *w, struct fw_caller *ret, bool *ret_end)
{
	enum fw_os os = w->snapshot->os;
	if (!fw_regs_has(&w->regs, RBP))
		return false;
	*ret_end = w->regs.v[RBP] == 0 && !fw_walk_is_context(w) &&
		   (os == FW_OS_MACOS || os == FW_OS_IOS);
	return !*ret_end && fw_x86_record(w, os == FW_OS_WINDOWS, ret);
}

/** On Windows x64 a function without unwind data is a leaf by definition (x64 exception
 *  handling, "leaf functions"). */
static bool leaf(struct fw_walker *w, bool wild, struct fw_caller *ret)
{
	return fw_x86_leaf(w, wild, w->snapshot->os == FW_OS_WINDOWS, ret);
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
	.prologue = fw_x86_prologue,
	.scanned = scanned,
	.call_before = fw_x86_call_before,
	.call_target = fw_x86_call_target,
	.is_stub = fw_x86_is_stub,
	.signal_frame = signal_frame,
	.is_trampoline = is_trampoline,
	.trampoline_bytes = 9,
	.call_bytes = 7,
};
