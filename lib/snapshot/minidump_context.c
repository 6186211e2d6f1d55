#include "lib/snapshot/minidump.h"

/**
 * Where a CPU's CONTEXT keeps what a walk needs (winnt.h for x86, amd64 and
 * arm64; Breakpad's minidump_cpu_*.h for arm and the old arm64). Names are
 * looked up in the CPU's register table, so the numbering is that table's.
 */
struct context_reg {
	const char *name;
	uint16_t offset;
	bool control;		// in the CONTROL group of the flags, else INTEGER
};

static const struct context_reg x86_regs[] = {
	{ "edi", 156, false }, { "esi", 160, false }, { "ebx", 164, false },
	{ "edx", 168, false }, { "ecx", 172, false }, { "eax", 176, false },
	{ "ebp", 180, true }, { "eip", 184, true }, { "eflags", 192, true },
	{ "esp", 196, true },
	{ NULL, 0, false },
};

static const struct context_reg amd64_regs[] = {
	{ "rax", 120, false }, { "rcx", 128, false }, { "rdx", 136, false },
	{ "rbx", 144, false }, { "rsp", 152, true }, { "rbp", 160, false },
	{ "rsi", 168, false }, { "rdi", 176, false }, { "r8", 184, false },
	{ "r9", 192, false }, { "r10", 200, false }, { "r11", 208, false },
	{ "r12", 216, false }, { "r13", 224, false }, { "r14", 232, false },
	{ "r15", 240, false }, { "rip", 248, true },
	{ NULL, 0, false },
};

static const struct context_reg arm_regs[] = {
	{ "r0", 4, false }, { "r1", 8, false }, { "r2", 12, false }, { "r3", 16, false },
	{ "r4", 20, false }, { "r5", 24, false }, { "r6", 28, false }, { "r7", 32, false },
	{ "r8", 36, false }, { "r9", 40, false }, { "r10", 44, false }, { "r11", 48, false },
	{ "r12", 52, false }, { "sp", 56, true }, { "lr", 60, true }, { "pc", 64, true },
	{ "cpsr", 68, true },
	{ NULL, 0, false },
};

// Both arm64 forms keep x0 at 8: the old one has 64-bit flags where the new
// one has 32-bit flags and cpsr.
static const struct context_reg arm64_regs[] = {
	{ "x0", 8, false }, { "x1", 16, false }, { "x2", 24, false }, { "x3", 32, false },
	{ "x4", 40, false }, { "x5", 48, false }, { "x6", 56, false }, { "x7", 64, false },
	{ "x8", 72, false }, { "x9", 80, false }, { "x10", 88, false }, { "x11", 96, false },
	{ "x12", 104, false }, { "x13", 112, false }, { "x14", 120, false },
	{ "x15", 128, false }, { "x16", 136, false }, { "x17", 144, false },
	{ "x18", 152, false }, { "x19", 160, false }, { "x20", 168, false },
	{ "x21", 176, false }, { "x22", 184, false }, { "x23", 192, false },
	{ "x24", 200, false }, { "x25", 208, false }, { "x26", 216, false },
	{ "x27", 224, false }, { "x28", 232, false }, { "x29", 240, true },
	{ "x30", 248, true }, { "sp", 256, true }, { "pc", 264, true },
	{ NULL, 0, false },
};

enum {
	GROUP_CONTROL = 1,
	GROUP_INTEGER = 2,
	// bits 16 to 23 say which CPU; above them Windows keeps flags of its own
	CPU_BITS = 0x00ff0000,
	FLAG_X86 = 0x00010000,
	FLAG_AMD64 = 0x00100000,
	FLAG_ARM_WINDOWS = 0x00200000,
	FLAG_ARM64 = 0x00400000,
	FLAG_ARM = 0x40000000,
	FLAG_ARM_OLD = 0x00000040,	// Breakpad before 2012, nothing above bit 7
};

static const struct context_layout {
	const struct context_reg *regs;
	uint16_t size;		// of the whole structure
	uint16_t needed;	// up to the end of the last register
	uint16_t flags_at;
} x86_layout = { x86_regs, 716, 204, 0 },
  amd64_layout = { amd64_regs, 1232, 256, 48 },
  arm_layout = { arm_regs, 368, 72, 0 },
  arm64_layout = { arm64_regs, 912, 272, 0 },
  arm64_old_layout = { arm64_regs, 796, 272, 0 };

static bool is_arm(uint32_t flags)
{
	return flags & FLAG_ARM || (flags & CPU_BITS) == FLAG_ARM_WINDOWS ||
		(flags & 0xffffff00) == 0;
}

// The architecture decides, the flags must agree. *ret stays NULL where they do not.
static void choose_layout(enum fw_cpu_id cpu, const struct fw_bytes *c, uint32_t *flags,
			  const struct context_layout **ret)
{
	uint64_t wide;
	*flags = md_u32(c, cpu == FW_CPU_AMD64 ? 48 : 0);
	if (cpu == FW_CPU_X86 && (*flags & CPU_BITS) == FLAG_X86)
		*ret = &x86_layout;
	else if (cpu == FW_CPU_AMD64 && (*flags & CPU_BITS) == FLAG_AMD64)
		*ret = &amd64_layout;
	else if (cpu == FW_CPU_ARM && is_arm(*flags))
		*ret = &arm_layout;
	else if (cpu == FW_CPU_ARM64 && (*flags & CPU_BITS) == FLAG_ARM64)
		*ret = &arm64_layout;
	else if (cpu == FW_CPU_ARM64 && fw_bytes_u64(c, 0, &wide) &&
		 (wide & ~UINT64_C(0x7f)) == UINT64_C(0x80000000)) {
		*flags = (uint32_t)wide;
		*ret = &arm64_old_layout;
	}
}

const char *md_context(const struct md_reader *md, uint64_t offset, uint64_t size,
		       struct fw_regs *ret)
{
	const struct fw_cpu *cpu = md->s->cpu;
	const struct context_layout *layout = NULL;
	struct fw_bytes c;
	uint32_t flags;
	if (cpu->id < FW_CPU_X86 || cpu->id > FW_CPU_ARM64)
		return "registers of this CPU are not read";
	if (size == 0)
		return "no context was recorded";
	if (offset >= md->file.size)
		return "the context is not in the file";
	// A file cut inside the context may still hold all registers.
	uint64_t rest = md->file.size - offset;
	if (!fw_bytes_range(&md->file, offset, size < rest ? size : rest, &c))
		return "the context is not in the file";
	if (c.size < 52)
		return "the context is too short";
	choose_layout(cpu->id, &c, &flags, &layout);
	if (!layout)
		return "the context's flags name another CPU";
	if (size < layout->size)
		return "the context is too short";
	if (c.size < layout->needed)
		return "the context leaves the file";
	// Breakpad's arm and old arm64 writers never set CONTROL; then INTEGER means all.
	bool control_only = flags & GROUP_CONTROL && !(flags & GROUP_INTEGER);
	struct fw_regs regs = { 0 };
	for (const struct context_reg *r = layout->regs; r->name; r++) {
		uint8_t slot = fw_cpu_reg(cpu, (struct fw_str){ r->name, strlen(r->name) });
		if (slot == FW_NO_REG || (control_only && !r->control))
			continue;
		fw_regs_set(&regs, slot, cpu->word_size == 8 ? md_u64(&c, r->offset) :
			    md_u32(&c, r->offset));
	}
	*ret = regs;
	return NULL;
}
