#include "lib/rules/cpu.h"

#include <assert.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BIT(reg) (UINT64_C(1) << (reg))

/*
 * x86: System V psABI i386 1.1. Numbers: section 2.5, table 2.14 "DWARF
 * Register Number Mapping" (8 is the return address column). Callee-saved:
 * section 2.2.1, table 2.3: ebx, ebp, esi, edi (esp is set from the CFA).
 */
enum { X86_EBX = 3, X86_ESP = 4, X86_EBP = 5, X86_ESI = 6, X86_EDI = 7, X86_EIP = 8 };
static const char *const x86_regs[] = {
	"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip", "eflags",
};

/*
 * amd64: System V psABI x86-64 1.0. Numbers: section 3.6.2, figure 3.36 "DWARF
 * Register Number Mapping" (16 is the return address column). Callee-saved:
 * section 3.2.3, figure 3.4: rbx, rbp, r12-r15 (rsp is set from the CFA).
 */
enum { AMD64_RBX = 3, AMD64_RBP = 6, AMD64_RSP = 7, AMD64_R12 = 12, AMD64_RIP = 16 };
static const char *const amd64_regs[] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

/*
 * arm: AADWARF32 2023Q3, section 4.1 "DWARF register names": 0-15 are r0-r15.
 * The current program status register has no number there below FW_CPU_REGS
 * and takes the slot after the core registers. Roles and callee-saved r4-r11:
 * AAPCS32 2023Q3, section 6.1.1 "Core registers" (sp is set from the CFA).
 */
enum { ARM_R4 = 4, ARM_R11 = 11, ARM_R13 = 13, ARM_R14 = 14, ARM_R15 = 15 };
static const char *const arm_regs[] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11",
	"r12", "r13", "r14", "r15", "cpsr",
};
static const struct fw_reg_alias arm_aliases[] = {
	{ "fp", ARM_R11 }, { "sp", ARM_R13 }, { "lr", ARM_R14 }, { "pc", ARM_R15 },
	{ NULL, FW_NO_REG },
};

/*
 * arm64: AADWARF64 2023Q3, section 4.1 "DWARF register names": 0-30 are x0-x30,
 * 31 is sp, 32 is pc. Roles and callee-saved x19-x29: AAPCS64 2023Q3, section
 * 6.1.1 "General-purpose registers" (sp is set from the CFA).
 */
enum { ARM64_X19 = 19, ARM64_X29 = 29, ARM64_X30 = 30, ARM64_SP = 31, ARM64_PC = 32 };
static const char *const arm64_regs[] = {
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
	"x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp", "pc",
};
static const struct fw_reg_alias arm64_aliases[] = {
	{ "fp", ARM64_X29 }, { "lr", ARM64_X30 }, { NULL, FW_NO_REG },
};

/*
 * mips, mips64: System V psABI MIPS RISC Processor Supplement, 3rd edition,
 * "Registers and the Stack Frame" (figure 3-18; o32's names, n64 numbers the
 * same registers). DWARF numbers 0-31 are the general registers, 32-63 floating
 * point, so pc has a slot only. Callee-saved: s0-s7 and fp (sp is set from the CFA).
 */
enum { MIPS_S0 = 16, MIPS_SP = 29, MIPS_FP = 30, MIPS_RA = 31, MIPS_PC = 32 };
static const char *const mips_regs[] = {
	"zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3",
	"t4", "t5", "t6", "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
	"t8", "t9", "k0", "k1", "gp", "sp", "fp", "ra", "pc",
};
static const struct fw_reg_alias mips_aliases[] = {
	{ "s8", MIPS_FP }, { "lr", MIPS_RA }, { NULL, FW_NO_REG },
};

/*
 * ppc64: 64-Bit ELF V2 ABI for Power 1.5, section 2.4 "DWARF Definition": 0-31
 * are r0-r31, 65 is lr. Roles and callee-saved r14-r31: section 2.2.2 "Register
 * Usage" (r1, the stack pointer, is set from the CFA).
 */
enum { PPC64_SP = 1, PPC64_R14 = 14, PPC64_R31 = 31, PPC64_LR = 32, PPC64_PC = 33,
       PPC64_DWARF_LR = 65 };
static const char *const ppc64_regs[] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11",
	"r12", "r13", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21",
	"r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31",
	"lr", "pc",
};
static const struct fw_reg_alias ppc64_aliases[] = {
	{ "sp", PPC64_SP }, { NULL, FW_NO_REG },
};

/*
 * riscv64: RISC-V ELF psABI 1.0, "DWARF Register Numbers": 0-31 are x0-x31, 32-63
 * floating point, so pc has a slot only. Names and callee-saved s0-s11: "Integer
 * Register Convention" (sp is set from the CFA).
 */
enum { RISCV_RA = 1, RISCV_SP = 2, RISCV_S0 = 8, RISCV_S2 = 18, RISCV_PC = 32 };
static const char *const riscv_regs[] = {
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
	"x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "x31", "pc",
};
static const struct fw_reg_alias riscv_aliases[] = {
	{ "zero", 0 }, { "ra", RISCV_RA }, { "sp", RISCV_SP }, { "gp", 3 }, { "tp", 4 },
	{ "t0", 5 }, { "t1", 6 }, { "t2", 7 }, { "s0", RISCV_S0 }, { "fp", RISCV_S0 },
	{ "s1", 9 }, { "a0", 10 }, { "a1", 11 }, { "a2", 12 }, { "a3", 13 }, { "a4", 14 },
	{ "a5", 15 }, { "a6", 16 }, { "a7", 17 }, { "s2", 18 }, { "s3", 19 }, { "s4", 20 },
	{ "s5", 21 }, { "s6", 22 }, { "s7", 23 }, { "s8", 24 }, { "s9", 25 }, { "s10", 26 },
	{ "s11", 27 }, { "t3", 28 }, { "t4", 29 }, { "t5", 30 }, { "t6", 31 },
	{ NULL, FW_NO_REG },
};

/*
 * s390x: ELF Application Binary Interface s390x Supplement 1.6, section "DWARF
 * Register Number Mapping": 0-15 are r0-r15, 16-31 floating point in the order
 * f0 f2 f4 f6 f1 ...: leaf functions keep general registers there, so they have
 * slots. Roles and callee-saved r6-r13, f8-f15: section 1.2.1 "Registers" (r15,
 * the stack pointer, is set from the CFA).
 */
enum { S390X_R6 = 6, S390X_FP = 11, S390X_LR = 14, S390X_SP = 15, S390X_F8 = 24, S390X_PC = 32 };
static const char *const s390x_regs[] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11",
	"r12", "r13", "r14", "r15", "f0", "f2", "f4", "f6", "f1", "f3", "f5", "f7",
	"f8", "f10", "f12", "f14", "f9", "f11", "f13", "f15", "pc",
};
static const struct fw_reg_alias s390x_aliases[] = {
	{ "lr", S390X_LR }, { "sp", S390X_SP }, { NULL, FW_NO_REG },
};

static_assert(ARRAY_SIZE(mips_regs) == MIPS_PC + 1, "mips ends with pc, 32");
static_assert(ARRAY_SIZE(ppc64_regs) == PPC64_PC + 1, "ppc64 ends with pc, 33");
static_assert(ARRAY_SIZE(riscv_regs) == RISCV_PC + 1, "riscv64 ends with pc, 32");
static_assert(ARRAY_SIZE(s390x_regs) == S390X_PC + 1, "s390x ends with pc, 32");
static_assert(ARRAY_SIZE(x86_regs) == 10, "x86 ends with eflags, 9");
static_assert(ARRAY_SIZE(amd64_regs) == AMD64_RIP + 1, "amd64 ends with rip, 16");
static_assert(ARRAY_SIZE(arm_regs) == ARM_R15 + 2, "arm ends with cpsr, 16");
static_assert(ARRAY_SIZE(arm64_regs) == ARM64_PC + 1, "arm64 ends with pc, 32");
static_assert(ARRAY_SIZE(ppc64_regs) <= FW_CPU_REGS, "the longest table fits a register map");

static const struct fw_reg_alias no_aliases[] = { { NULL, FW_NO_REG } };

// Spellings: the architecture words of dump_syms for ELF, Mach-O and PDB input.
#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

// A CPU whose name we know and whose stacks we do not walk.
#define NAMED(cpu_id, cpu_name, bytes, ...) [cpu_id] = { \
	.id = cpu_id, .name = cpu_name, .word_size = bytes, \
	.pc = FW_NO_REG, .sp = FW_NO_REG, .fp = FW_NO_REG, .lr = FW_NO_REG, .call_back = 1, \
	.word_mask = (bytes) == 4 ? UINT32_MAX : UINT64_MAX, .aliases = no_aliases, \
	.sym_names = NAMES(__VA_ARGS__), \
}

// A call fills its delay slot: eight bytes before the return address.
#define MIPS(cpu_id, cpu_name, bytes) { \
	.id = cpu_id, .name = cpu_name, .word_size = bytes, \
	.num_regs = ARRAY_SIZE(mips_regs), .dwarf_regs = MIPS_PC, \
	.reg_names = mips_regs, .aliases = mips_aliases, \
	.pc = MIPS_PC, .sp = MIPS_SP, .fp = MIPS_FP, .lr = MIPS_RA, \
	.call_back = 8, .word_mask = (bytes) == 4 ? UINT32_MAX : UINT64_MAX, \
	.callee_saved = UINT64_C(0xff) << MIPS_S0 | BIT(MIPS_FP), \
	.sym_names = NAMES(cpu_name), \
}

static const struct fw_cpu cpus[] = {
	NAMED(FW_CPU_UNKNOWN, "unknown", 8, NULL),
	[FW_CPU_X86] = {
		.id = FW_CPU_X86, .name = "x86", .word_size = 4,
		.num_regs = ARRAY_SIZE(x86_regs), .dwarf_regs = ARRAY_SIZE(x86_regs),
		.reg_names = x86_regs, .aliases = no_aliases,
		.pc = X86_EIP, .sp = X86_ESP, .fp = X86_EBP, .lr = FW_NO_REG,
		.call_back = 1, .word_mask = UINT32_MAX,
		.callee_saved = BIT(X86_EBX) | BIT(X86_EBP) | BIT(X86_ESI) | BIT(X86_EDI),
		.sym_names = NAMES("x86", "i386", "i586", "i686"),
	},
	[FW_CPU_AMD64] = {
		.id = FW_CPU_AMD64, .name = "amd64", .word_size = 8,
		.num_regs = ARRAY_SIZE(amd64_regs), .dwarf_regs = ARRAY_SIZE(amd64_regs),
		.reg_names = amd64_regs, .aliases = no_aliases,
		.pc = AMD64_RIP, .sp = AMD64_RSP, .fp = AMD64_RBP, .lr = FW_NO_REG,
		.call_back = 1, .word_mask = UINT64_MAX,
		.callee_saved = BIT(AMD64_RBX) | BIT(AMD64_RBP) | UINT64_C(0xf) << AMD64_R12,
		.sym_names = NAMES("x86_64", "x86_64h", "amd64"),
	},
	[FW_CPU_ARM] = {
		.id = FW_CPU_ARM, .name = "arm", .word_size = 4,
		.num_regs = ARRAY_SIZE(arm_regs), .dwarf_regs = ARM_R15 + 1,
		.reg_names = arm_regs, .aliases = arm_aliases,
		.pc = ARM_R15, .sp = ARM_R13, .fp = ARM_R11, .lr = ARM_R14,
		.call_back = 2, .word_mask = UINT32_MAX,
		.callee_saved = UINT64_C(0xff) << ARM_R4,
		.sym_names = NAMES("arm", "armv4", "armv4t", "armv5", "armv5t", "armv5te", "armv6",
				   "armv6k", "armv6m", "armv7", "armv7a", "armv7em", "armv7f",
				   "armv7k", "armv7m", "armv7r", "armv7s"),
	},
	[FW_CPU_ARM64] = {
		.id = FW_CPU_ARM64, .name = "arm64", .word_size = 8,
		.num_regs = ARRAY_SIZE(arm64_regs), .dwarf_regs = ARRAY_SIZE(arm64_regs),
		.reg_names = arm64_regs, .aliases = arm64_aliases,
		.pc = ARM64_PC, .sp = ARM64_SP, .fp = ARM64_X29, .lr = ARM64_X30,
		.call_back = 4, .word_mask = UINT64_MAX,
		.callee_saved = UINT64_C(0x7ff) << ARM64_X19,
		.sym_names = NAMES("arm64", "arm64e", "aarch64"),
	},
	NAMED(FW_CPU_PPC, "ppc", 4, "ppc", "powerpc"),
	[FW_CPU_PPC64] = {
		.id = FW_CPU_PPC64, .name = "ppc64", .word_size = 8,
		.num_regs = ARRAY_SIZE(ppc64_regs), .dwarf_regs = PPC64_R31 + 1,
		.dwarf_lr = PPC64_DWARF_LR, .reg_names = ppc64_regs, .aliases = ppc64_aliases,
		.pc = PPC64_PC, .sp = PPC64_SP, .fp = PPC64_R31, .lr = PPC64_LR,
		.call_back = 4, .word_mask = UINT64_MAX,
		.callee_saved = UINT64_C(0x3ffff) << PPC64_R14,
		.sym_names = NAMES("ppc64", "powerpc64"),
	},
	NAMED(FW_CPU_SPARC, "sparc", 4, "sparc"),
	[FW_CPU_MIPS] = MIPS(FW_CPU_MIPS, "mips", 4),
	[FW_CPU_MIPS64] = MIPS(FW_CPU_MIPS64, "mips64", 8),
	NAMED(FW_CPU_RISCV32, "riscv", 4, "riscv", "riscv32"),
	[FW_CPU_RISCV64] = {
		.id = FW_CPU_RISCV64, .name = "riscv64", .word_size = 8,
		.num_regs = ARRAY_SIZE(riscv_regs), .dwarf_regs = RISCV_PC,
		.reg_names = riscv_regs, .aliases = riscv_aliases,
		.pc = RISCV_PC, .sp = RISCV_SP, .fp = RISCV_S0, .lr = RISCV_RA,
		.call_back = 2, .word_mask = UINT64_MAX,
		.callee_saved = UINT64_C(3) << RISCV_S0 | UINT64_C(0x3ff) << RISCV_S2,
		.sym_names = NAMES("riscv64"),
	},
	[FW_CPU_S390X] = {
		.id = FW_CPU_S390X, .name = "s390x", .word_size = 8,
		.num_regs = ARRAY_SIZE(s390x_regs), .dwarf_regs = S390X_PC,
		.reg_names = s390x_regs, .aliases = s390x_aliases,
		.pc = S390X_PC, .sp = S390X_SP, .fp = S390X_FP, .lr = S390X_LR,
		.call_back = 2, .word_mask = UINT64_MAX,
		.callee_saved = UINT64_C(0xff) << S390X_R6 | UINT64_C(0xff) << S390X_F8,
		.sym_names = NAMES("s390x"),
	},
};

const struct fw_cpu *fw_cpu_get(enum fw_cpu_id id)
{
	return (unsigned)id < ARRAY_SIZE(cpus) ? &cpus[id] : &cpus[FW_CPU_UNKNOWN];
}

static bool equals(struct fw_str s, const char *name)
{
	return strncmp(name, s.s, s.n) == 0 && name[s.n] == '\0';
}

const struct fw_cpu *fw_cpu_by_sym_name(struct fw_str name)
{
	// Bytes of a file: one that holds a NUL equals no name of ours.
	if (name.n == 0 || memchr(name.s, 0, name.n))
		return NULL;
	for (size_t i = 1; i < ARRAY_SIZE(cpus); i++) {
		for (const char *const *s = cpus[i].sym_names; *s; s++) {
			if (equals(name, *s))
				return &cpus[i];
		}
	}
	return NULL;
}

uint8_t fw_cpu_reg(const struct fw_cpu *cpu, struct fw_str name)
{
	if (name.n && name.s[0] == '$') {
		name.s++;
		name.n--;
	}
	if (name.n < 2 || name.n > 6)	// "x0" .. "eflags"
		return FW_NO_REG;
	for (uint8_t i = 0; i < cpu->num_regs; i++) {
		const char *reg = cpu->reg_names[i];
		if (reg[1] == name.s[1] && reg[0] == name.s[0] && strlen(reg) == name.n &&
		    memcmp(reg, name.s, name.n) == 0)
			return i;
	}
	for (const struct fw_reg_alias *a = cpu->aliases; a->name; a++) {
		if (strlen(a->name) == name.n && memcmp(a->name, name.s, name.n) == 0)
			return a->reg;
	}
	return FW_NO_REG;
}
