#include "lib/snapshot/core.h"

/**
 * Where a CPU's elf_gregset_t keeps its registers. What framewalk does not walk
 * yet is here as well: a CPU whose table in lib/rules/cpu.c has registers is read.
 */
enum {
	EM_SPARC = 2, EM_386 = 3, EM_MIPS = 8, EM_SPARC32PLUS = 18, EM_PPC = 20, EM_PPC64 = 21,
	EM_S390 = 22, EM_ARM = 40, EM_SPARCV9 = 43, EM_X86_64 = 62, EM_AARCH64 = 183,
	EM_RISCV = 243,
};

const struct fw_cpu *core_cpu(uint16_t machine, bool wide)
{
	enum fw_cpu_id id = FW_CPU_UNKNOWN;
	switch (machine) {
	case EM_386:
		id = FW_CPU_X86;
		break;
	case EM_X86_64:
		id = FW_CPU_AMD64;	// x32 too
		break;
	case EM_ARM:
		id = FW_CPU_ARM;
		break;
	case EM_AARCH64:
		id = FW_CPU_ARM64;
		break;
	case EM_MIPS:
		id = wide ? FW_CPU_MIPS64 : FW_CPU_MIPS;
		break;
	case EM_PPC:
		id = FW_CPU_PPC;
		break;
	case EM_PPC64:
		id = FW_CPU_PPC64;
		break;
	case EM_SPARC:
	case EM_SPARC32PLUS:
	case EM_SPARCV9:
		id = FW_CPU_SPARC;
		break;
	case EM_S390:
		id = wide ? FW_CPU_S390X : FW_CPU_UNKNOWN;
		break;
	case EM_RISCV:
		id = wide ? FW_CPU_RISCV64 : FW_CPU_RISCV32;
		break;
	}
	return fw_cpu_get(id);
}

// Index of register i, by DWARF number, among the words of elf_gregset_t.
// asm/ptrace.h of x86: struct pt_regs (i386) and struct user_regs_struct.
static const uint8_t x86_order[] = { 6, 1, 2, 0, 15, 5, 3, 4, 12, 14 };
static const uint8_t amd64_order[] = {
	10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16,
};
enum { NONE = 0xff };

static const struct gregset {
	enum fw_cpu_id cpu;
	const uint8_t *order;	// NULL: register i is word i + first
	uint8_t first;
	uint8_t num;		// registers that have a word
	uint8_t words;		// of the whole set
	uint8_t width;		// bytes of a word
	uint8_t pc, lr;		// words of those two, NONE: among the rest
} gregsets[] = {
	{ FW_CPU_X86, x86_order, 0, sizeof(x86_order), 17, 4, NONE, NONE },
	{ FW_CPU_AMD64, amd64_order, 0, sizeof(amd64_order), 27, 8, NONE, NONE },
	{ FW_CPU_ARM, NULL, 0, 17, 18, 4, NONE, NONE },
	{ FW_CPU_ARM64, NULL, 0, 33, 34, 8, NONE, NONE },
	// mips: asm/reg.h; o32 keeps 6 words of arguments in front, cp0_epc is the pc
	{ FW_CPU_MIPS, NULL, 6, 32, 45, 4, 40, NONE },
	{ FW_CPU_MIPS64, NULL, 0, 32, 45, 8, 34, NONE },
	// powerpc: asm/ptrace.h: gpr 0-31, nip, msr, orig_gpr3, ctr, link
	{ FW_CPU_PPC, NULL, 0, 32, 48, 4, 32, 36 },
	{ FW_CPU_PPC64, NULL, 0, 32, 48, 8, 32, 36 },
	// s390: asm/ptrace.h, s390_regs: psw mask and address, then the general registers
	{ FW_CPU_S390X, NULL, 2, 16, 27, 8, 1, NONE },
	// riscv: asm/ptrace.h: pc in the place of x0, which is always 0
	{ FW_CPU_RISCV32, NULL, 0, 32, 32, 4, 0, NONE },
	{ FW_CPU_RISCV64, NULL, 0, 32, 32, 8, 0, NONE },
};

static const struct gregset *find_gregset(enum fw_cpu_id cpu)
{
	for (size_t i = 0; i < sizeof(gregsets) / sizeof(gregsets[0]); i++) {
		if (gregsets[i].cpu == cpu)
			return &gregsets[i];
	}
	return NULL;
}

const char *core_registers(const struct core_reader *core, const struct fw_bytes *status,
			   struct fw_regs *ret)
{
	// linux/elfcore.h, struct elf_prstatus: the registers follow four struct timeval.
	const struct fw_cpu *cpu = core->s->cpu;
	const struct gregset *set = find_gregset(cpu->id);
	struct fw_regs regs = { 0 };
	struct fw_bytes b;
	if (!set || cpu->num_regs == 0)
		return "registers of this CPU are not read";
	// mips n32: pointers of 4 bytes, registers of 8
	if (core->machine == EM_MIPS && !core->wide && status->size >= 72 + 45 * 8)
		return "registers of this ABI are not read";
	if (!fw_bytes_range(status, core->wide ? 112 : 72, (uint64_t)set->words * set->width, &b))
		return "NT_PRSTATUS is too short for the registers";
	for (unsigned reg = 0; reg < set->num && reg < cpu->num_regs; reg++) {
		unsigned word = set->order ? set->order[reg] : reg + set->first;
		fw_regs_set(&regs, reg,
			    core_word(&b, set->width == 8, (uint64_t)word * set->width));
	}
	if (set->pc == 0)
		regs.v[0] = 0;
	if (set->pc != NONE && cpu->pc != FW_NO_REG)
		fw_regs_set(&regs, cpu->pc,
			    core_word(&b, set->width == 8, (uint64_t)set->pc * set->width));
	if (set->lr != NONE && cpu->lr != FW_NO_REG)
		fw_regs_set(&regs, cpu->lr,
			    core_word(&b, set->width == 8, (uint64_t)set->lr * set->width));
	*ret = regs;
	return NULL;
}
