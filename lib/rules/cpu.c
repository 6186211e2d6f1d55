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

static_assert(ARRAY_SIZE(x86_regs) == 10, "x86 ends with eflags, 9");
static_assert(ARRAY_SIZE(amd64_regs) == AMD64_RIP + 1, "amd64 ends with rip, 16");
static_assert(ARRAY_SIZE(arm_regs) == ARM_R15 + 2, "arm ends with cpsr, 16");
static_assert(ARRAY_SIZE(arm64_regs) == ARM64_PC + 1, "arm64 ends with pc, 32");
static_assert(ARRAY_SIZE(arm64_regs) <= FW_CPU_REGS, "the longest table fits a register map");

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

static const struct fw_cpu cpus[] = {
	NAMED(FW_CPU_UNKNOWN, "unknown", 8, NULL),
	[FW_CPU_X86] = {
		.id = FW_CPU_X86, .name = "x86", .word_size = 4,
		.num_regs = ARRAY_SIZE(x86_regs), .reg_names = x86_regs, .aliases = no_aliases,
		.pc = X86_EIP, .sp = X86_ESP, .fp = X86_EBP, .lr = FW_NO_REG,
		.call_back = 1, .word_mask = UINT32_MAX,
		.callee_saved = BIT(X86_EBX) | BIT(X86_EBP) | BIT(X86_ESI) | BIT(X86_EDI),
		.sym_names = NAMES("x86", "i386", "i586", "i686"),
	},
	[FW_CPU_AMD64] = {
		.id = FW_CPU_AMD64, .name = "amd64", .word_size = 8,
		.num_regs = ARRAY_SIZE(amd64_regs), .reg_names = amd64_regs, .aliases = no_aliases,
		.pc = AMD64_RIP, .sp = AMD64_RSP, .fp = AMD64_RBP, .lr = FW_NO_REG,
		.call_back = 1, .word_mask = UINT64_MAX,
		.callee_saved = BIT(AMD64_RBX) | BIT(AMD64_RBP) | UINT64_C(0xf) << AMD64_R12,
		.sym_names = NAMES("x86_64", "x86_64h", "amd64"),
	},
	[FW_CPU_ARM] = {
		.id = FW_CPU_ARM, .name = "arm", .word_size = 4,
		.num_regs = ARRAY_SIZE(arm_regs), .reg_names = arm_regs, .aliases = arm_aliases,
		.pc = ARM_R15, .sp = ARM_R13, .fp = ARM_R11, .lr = ARM_R14,
		.call_back = 2, .word_mask = UINT32_MAX,
		.callee_saved = UINT64_C(0xff) << ARM_R4,
		.sym_names = NAMES("arm", "armv4", "armv4t", "armv5", "armv5t", "armv5te", "armv6",
				   "armv6k", "armv6m", "armv7", "armv7a", "armv7em", "armv7f",
				   "armv7k", "armv7m", "armv7r", "armv7s"),
	},
	[FW_CPU_ARM64] = {
		.id = FW_CPU_ARM64, .name = "arm64", .word_size = 8,
		.num_regs = ARRAY_SIZE(arm64_regs), .reg_names = arm64_regs,
		.aliases = arm64_aliases,
		.pc = ARM64_PC, .sp = ARM64_SP, .fp = ARM64_X29, .lr = ARM64_X30,
		.call_back = 4, .word_mask = UINT64_MAX,
		.callee_saved = UINT64_C(0x7ff) << ARM64_X19,
		.sym_names = NAMES("arm64", "arm64e", "aarch64"),
	},
	NAMED(FW_CPU_PPC, "ppc", 4, "ppc", "powerpc"),
	NAMED(FW_CPU_PPC64, "ppc64", 8, "ppc64", "powerpc64"),
	NAMED(FW_CPU_SPARC, "sparc", 4, "sparc"),
	NAMED(FW_CPU_MIPS, "mips", 4, "mips"),
	NAMED(FW_CPU_MIPS64, "mips64", 8, "mips64"),
	NAMED(FW_CPU_RISCV32, "riscv", 4, "riscv", "riscv32"),
	NAMED(FW_CPU_RISCV64, "riscv64", 8, "riscv64"),
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
