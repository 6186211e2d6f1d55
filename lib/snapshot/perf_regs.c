#include "lib/snapshot/perf.h"

/*
 * Registers in the order of arch/ARCH/include/uapi/asm/perf_regs.h of Linux, by the
 * number that lib/rules/cpu.c gives them. NONE: segment registers and flags.
 */
#define NONE FW_NO_REG
static const uint8_t amd64[] = {
	// ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8 ... r15
	0, 3, 2, 1, 4, 5, 6, 7, 16, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
	8, 9, 10, 11, 12, 13, 14, 15,
};
static const uint8_t x86[] = { 0, 3, 1, 2, 6, 7, 5, 4, 8, 9 };
// x0 ... x29 lr sp pc
static const uint8_t arm64[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
	24, 25, 26, 27, 28, 29, 30, 31, 32,
};
// r0 ... r10 fp ip sp lr pc
static const uint8_t arm[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
// A 32-bit task of an arm64 kernel: r13 to r15 stand where the 64-bit ones do
// (arch/arm64/kernel/perf_regs.c, perf_reg_value()).
static const uint8_t arm_compat[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
	NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 14, 13, 15,
};
// pc ra sp gp tp t0-t2 s0 s1 a0-a7 s2-s11 t3-t6: x0 has no place, pc has it
static const uint8_t riscv64[] = {
	32, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
	24, 25, 26, 27, 28, 29, 30, 31,
};

const struct fw_cpu *perf_cpu(struct fw_str arch, uint64_t regs_user)
{
	static const struct { const char *name; enum fw_cpu_id id; } names[] = {
		{ "x86_64", FW_CPU_AMD64 }, { "aarch64", FW_CPU_ARM64 },
		{ "riscv64", FW_CPU_RISCV64 },
		{ "i386", FW_CPU_X86 }, { "i486", FW_CPU_X86 }, { "i586", FW_CPU_X86 },
		{ "i686", FW_CPU_X86 }, { "arm", FW_CPU_ARM }, { "s390x", FW_CPU_S390X },
		{ "ppc64", FW_CPU_PPC64 }, { "mips64", FW_CPU_MIPS64 }, { "mips", FW_CPU_MIPS },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i].name);	// "armv7l", "ppc64le"
		if (arch.n >= n && memcmp(arch.s, names[i].name, n) == 0)
			return fw_cpu_get(names[i].id);
	}
	if (arch.n)
		return fw_cpu_get(FW_CPU_UNKNOWN);
	// A recording that was cut off does not say: the masks that perf asks for by default.
	switch (regs_user) {
	case UINT64_C(0x1ffffffff):
		return fw_cpu_get(FW_CPU_ARM64);
	case UINT32_MAX:
		return fw_cpu_get(FW_CPU_RISCV64);
	case UINT16_MAX:
		return fw_cpu_get(FW_CPU_ARM);
	case 0xfff:
	case 0xff:
		return fw_cpu_get(FW_CPU_X86);
	default:
		return fw_cpu_get(FW_CPU_AMD64);
	}
}

static void map_registers(struct perf_attr *a, enum fw_sample_abi abi, enum fw_cpu_id id,
			  const uint8_t *table, size_t n)
{
	uint8_t rank = 0;
	a->cpu[abi] = fw_cpu_get(id);
	for (unsigned i = 0; i < 64; i++) {
		if (a->regs_user >> i & 1)
			a->slot[abi][rank++] = i < n ? table[i] : FW_NO_REG;
	}
}
#define MAP(a, abi, id, table) map_registers(a, abi, id, table, sizeof(table))

void perf_map_registers(struct perf_attr *a, const struct fw_cpu *cpu)
{
	enum { RBX = 3, R12 = 12 };
	memset(a->slot, FW_NO_REG, sizeof(a->slot));
	a->num_regs = (uint8_t)__builtin_popcountll(a->regs_user);
	a->cpu[FW_ABI_NONE] = a->cpu[FW_ABI_32] = a->cpu[FW_ABI_64] = cpu;
	switch ((int)cpu->id) {
	case FW_CPU_AMD64:
		MAP(a, FW_ABI_64, FW_CPU_AMD64, amd64);
		MAP(a, FW_ABI_32, FW_CPU_X86, x86);
		// arch/x86/kernel/perf_regs.c, perf_get_regs_user()
		a->minus_one = UINT64_C(1) << RBX | UINT64_C(0xf) << R12;
		break;
	case FW_CPU_X86:
		MAP(a, FW_ABI_32, FW_CPU_X86, x86);
		break;
	case FW_CPU_ARM64:
		MAP(a, FW_ABI_64, FW_CPU_ARM64, arm64);
		MAP(a, FW_ABI_32, FW_CPU_ARM, arm_compat);
		break;
	case FW_CPU_ARM:
		MAP(a, FW_ABI_32, FW_CPU_ARM, arm);
		break;
	case FW_CPU_RISCV64:
		MAP(a, FW_ABI_64, FW_CPU_RISCV64, riscv64);
		break;
	}
}
