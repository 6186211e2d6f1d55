#include <check.h>
#include <string.h>

#include "lib/rules/cpu.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *cpu_suite(void);

static struct fw_str str(const char *s)
{
	return (struct fw_str){ s, strlen(s) };
}

// Numbers as the ABI documents have them, independent of the tables.
static const struct { enum fw_cpu_id cpu; const char *name; uint8_t number; } names[] = {
	// System V psABI i386, table 2.14
	{ FW_CPU_X86, "$eax", 0 }, { FW_CPU_X86, "$ecx", 1 }, { FW_CPU_X86, "$edx", 2 },
	{ FW_CPU_X86, "$ebx", 3 }, { FW_CPU_X86, "$esp", 4 }, { FW_CPU_X86, "$ebp", 5 },
	{ FW_CPU_X86, "$esi", 6 }, { FW_CPU_X86, "$edi", 7 }, { FW_CPU_X86, "eip", 8 },
	{ FW_CPU_X86, "eflags", 9 },
	// System V psABI x86-64, figure 3.36
	{ FW_CPU_AMD64, "$rax", 0 }, { FW_CPU_AMD64, "$rdx", 1 }, { FW_CPU_AMD64, "$rcx", 2 },
	{ FW_CPU_AMD64, "$rbx", 3 }, { FW_CPU_AMD64, "$rsi", 4 }, { FW_CPU_AMD64, "$rdi", 5 },
	{ FW_CPU_AMD64, "$rbp", 6 }, { FW_CPU_AMD64, "rsp", 7 }, { FW_CPU_AMD64, "$r8", 8 },
	{ FW_CPU_AMD64, "$r9", 9 }, { FW_CPU_AMD64, "$r15", 15 }, { FW_CPU_AMD64, "$rip", 16 },
	// AADWARF32, section 4.1; role names of AAPCS32, section 6.1.1
	{ FW_CPU_ARM, "r0", 0 }, { FW_CPU_ARM, "r12", 12 }, { FW_CPU_ARM, "r13", 13 },
	{ FW_CPU_ARM, "sp", 13 }, { FW_CPU_ARM, "lr", 14 }, { FW_CPU_ARM, "pc", 15 },
	{ FW_CPU_ARM, "r15", 15 }, { FW_CPU_ARM, "fp", 11 }, { FW_CPU_ARM, "r11", 11 },
	// AADWARF64, section 4.1
	{ FW_CPU_ARM64, "x0", 0 }, { FW_CPU_ARM64, "x19", 19 }, { FW_CPU_ARM64, "x29", 29 },
	{ FW_CPU_ARM64, "fp", 29 }, { FW_CPU_ARM64, "x30", 30 }, { FW_CPU_ARM64, "lr", 30 },
	{ FW_CPU_ARM64, "sp", 31 }, { FW_CPU_ARM64, "$pc", 32 },
	// no names
	{ FW_CPU_AMD64, "", FW_NO_REG }, { FW_CPU_AMD64, "$", FW_NO_REG },
	{ FW_CPU_AMD64, "$$rsp", FW_NO_REG }, { FW_CPU_AMD64, "rs", FW_NO_REG },
	{ FW_CPU_AMD64, "rspx", FW_NO_REG }, { FW_CPU_AMD64, "RSP", FW_NO_REG },
	{ FW_CPU_AMD64, "r16", FW_NO_REG }, { FW_CPU_AMD64, "sp", FW_NO_REG },
	{ FW_CPU_AMD64, "$eax", FW_NO_REG }, { FW_CPU_AMD64, ".cfa", FW_NO_REG },
	{ FW_CPU_X86, "$rsp", FW_NO_REG }, { FW_CPU_ARM64, "x31", FW_NO_REG },
	{ FW_CPU_ARM64, "x", FW_NO_REG }, { FW_CPU_PPC, "r1", FW_NO_REG },
	// MIPS psABI, figure 3-18
	{ FW_CPU_MIPS, "$v0", 2 }, { FW_CPU_MIPS, "s0", 16 }, { FW_CPU_MIPS64, "gp", 28 },
	{ FW_CPU_MIPS, "sp", 29 }, { FW_CPU_MIPS64, "fp", 30 }, { FW_CPU_MIPS, "ra", 31 },
	// Power ELF V2, section 2.4; RISC-V psABI and s390x supplement, register numbers
	{ FW_CPU_PPC64, "r1", 1 }, { FW_CPU_PPC64, "r31", 31 }, { FW_CPU_RISCV64, "ra", 1 },
	{ FW_CPU_RISCV64, "s0", 8 }, { FW_CPU_RISCV64, "t6", 31 }, { FW_CPU_S390X, "r15", 15 },
	{ FW_CPU_S390X, "f0", 16 }, { FW_CPU_S390X, "f1", 20 }, { FW_CPU_S390X, "f8", 24 },
	{ FW_CPU_S390X, "f15", 31 },
	{ FW_CPU_UNKNOWN, "pc", FW_NO_REG },
};

START_TEST(register_names_have_the_abis_numbers)
{
	ck_assert_uint_eq(fw_cpu_reg(fw_cpu_get(names[_i].cpu), str(names[_i].name)),
			  names[_i].number);
}
END_TEST

START_TEST(a_name_with_a_nul_in_it_is_no_register)
{
	struct fw_str s = { "rsp\0", 4 };
	ck_assert_uint_eq(fw_cpu_reg(fw_cpu_get(FW_CPU_AMD64), s), FW_NO_REG);
	ck_assert_ptr_null(fw_cpu_by_sym_name((struct fw_str){ "x86\0", 4 }));
}
END_TEST

START_TEST(every_canonical_name_is_found_at_its_index)
{
	for (int id = FW_CPU_X86; id <= FW_CPU_S390X; id++) {
		const struct fw_cpu *cpu = fw_cpu_get((enum fw_cpu_id)id);
		ck_assert(cpu->num_regs > 0 || id == FW_CPU_PPC || id == FW_CPU_SPARC ||
			  id == FW_CPU_RISCV32);
		ck_assert_uint_le(cpu->num_regs, FW_CPU_REGS);
		for (uint8_t i = 0; i < cpu->num_regs; i++)
			ck_assert_uint_eq(fw_cpu_reg(cpu, str(cpu->reg_names[i])), i);
	}
}
END_TEST

static const struct {
	enum fw_cpu_id id;
	const char *name, *pc, *sp, *fp, *saved[12];
	uint8_t word_size, call_back;
} roles[] = {
	{ FW_CPU_X86, "x86", "eip", "esp", "ebp", { "ebp", "ebx", "esi", "edi" }, 4, 1 },
	{ FW_CPU_AMD64, "amd64", "rip", "rsp", "rbp",
	  { "rbx", "rbp", "r12", "r13", "r14", "r15" }, 8, 1 },
	{ FW_CPU_ARM, "arm", "pc", "sp", "r11",
	  { "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11" }, 4, 2 },
	{ FW_CPU_ARM64, "arm64", "pc", "sp", "x29",
	  { "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29" }, 8, 4 },
};

START_TEST(roles_and_callee_saved_registers)
{
	const struct fw_cpu *cpu = fw_cpu_get(roles[_i].id);
	uint64_t saved = 0;
	ck_assert_str_eq(cpu->name, roles[_i].name);
	ck_assert_uint_eq(cpu->pc, fw_cpu_reg(cpu, str(roles[_i].pc)));
	ck_assert_uint_eq(cpu->sp, fw_cpu_reg(cpu, str(roles[_i].sp)));
	ck_assert_uint_eq(cpu->fp, fw_cpu_reg(cpu, str(roles[_i].fp)));
	for (int i = 0; i < 12 && roles[_i].saved[i]; i++)
		saved |= UINT64_C(1) << fw_cpu_reg(cpu, str(roles[_i].saved[i]));
	ck_assert_uint_eq(cpu->callee_saved, saved);
	ck_assert_uint_eq(cpu->word_size, roles[_i].word_size);
	ck_assert_uint_eq(cpu->word_mask, roles[_i].word_size == 8 ? UINT64_MAX : UINT32_MAX);
	ck_assert_uint_eq(cpu->call_back, roles[_i].call_back);
}
END_TEST

static const struct { enum fw_cpu_id cpu; uint64_t number; const char *name; } dwarf_numbers[] = {
	{ FW_CPU_X86, 8, "eip" }, { FW_CPU_X86, 10, NULL },
	{ FW_CPU_AMD64, 16, "rip" }, { FW_CPU_AMD64, 17, NULL },	// xmm0
	{ FW_CPU_ARM, 15, "r15" }, { FW_CPU_ARM, 16, NULL },
	{ FW_CPU_ARM64, 32, "pc" }, { FW_CPU_ARM64, 34, NULL },	// RA_SIGN_STATE
	{ FW_CPU_MIPS, 31, "ra" }, { FW_CPU_MIPS64, 32, NULL },	// f0
	{ FW_CPU_PPC64, 31, "r31" }, { FW_CPU_PPC64, 32, NULL }, { FW_CPU_PPC64, 65, "lr" },
	{ FW_CPU_RISCV64, 31, "x31" }, { FW_CPU_RISCV64, 32, NULL },
	{ FW_CPU_S390X, 31, "f15" }, { FW_CPU_S390X, 32, NULL },
	{ FW_CPU_PPC, 1, NULL }, { FW_CPU_AMD64, UINT64_MAX, NULL }, { FW_CPU_AMD64, 256, NULL },
};

START_TEST(dwarf_numbers_name_registers)
{
	const struct fw_cpu *cpu = fw_cpu_get(dwarf_numbers[_i].cpu);
	uint8_t reg = fw_cpu_dwarf_reg(cpu, dwarf_numbers[_i].number);
	if (dwarf_numbers[_i].name)
		ck_assert_str_eq(cpu->reg_names[reg], dwarf_numbers[_i].name);
	else
		ck_assert_uint_eq(reg, FW_NO_REG);
}
END_TEST

START_TEST(intel_has_no_link_register)
{
	ck_assert_uint_eq(fw_cpu_get(FW_CPU_X86)->lr, FW_NO_REG);
	ck_assert_uint_eq(fw_cpu_get(FW_CPU_AMD64)->lr, FW_NO_REG);
	ck_assert_uint_eq(fw_cpu_get(FW_CPU_ARM)->lr, 14);
	ck_assert_uint_eq(fw_cpu_get(FW_CPU_ARM64)->lr, 30);
}
END_TEST

static const struct { const char *word, *cpu; } words[] = {
	{ "x86", "x86" }, { "i386", "x86" }, { "i586", "x86" }, { "i686", "x86" },
	{ "x86_64", "amd64" }, { "x86_64h", "amd64" }, { "amd64", "amd64" },
	{ "arm", "arm" }, { "armv7", "arm" }, { "armv7s", "arm" }, { "armv6", "arm" },
	{ "arm64", "arm64" }, { "arm64e", "arm64" }, { "aarch64", "arm64" },
	{ "ppc", "ppc" }, { "ppc64", "ppc64" }, { "sparc", "sparc" }, { "mips", "mips" },
	{ "mips64", "mips64" }, { "riscv", "riscv" }, { "riscv64", "riscv64" },
	{ "", NULL }, { "x", NULL }, { "x86_", NULL }, { "arm6", NULL }, { "unknown", NULL },
};

START_TEST(architecture_words_of_module_lines)
{
	const struct fw_cpu *cpu = fw_cpu_by_sym_name(str(words[_i].word));
	if (words[_i].cpu)
		ck_assert_str_eq(cpu->name, words[_i].cpu);
	else
		ck_assert_ptr_null(cpu);
}
END_TEST

START_TEST(unknown_ids_give_the_unknown_cpu)
{
	ck_assert_str_eq(fw_cpu_get(FW_CPU_UNKNOWN)->name, "unknown");
	ck_assert_str_eq(fw_cpu_get((enum fw_cpu_id)99)->name, "unknown");
	ck_assert_str_eq(fw_cpu_get((enum fw_cpu_id)-1)->name, "unknown");
	for (int id = 0; id <= FW_CPU_S390X; id++) {
		ck_assert_int_eq(fw_cpu_get((enum fw_cpu_id)id)->id, id);
		ck_assert_ptr_nonnull(fw_cpu_get((enum fw_cpu_id)id)->sym_names);
		ck_assert_ptr_nonnull(fw_cpu_get((enum fw_cpu_id)id)->aliases);
	}
}
END_TEST

Suite *cpu_suite(void)
{
	Suite *s = suite_create("cpu");
	TCase *tc = tcase_create("cpu");
	tcase_add_loop_test(tc, register_names_have_the_abis_numbers, 0, ARRAY_SIZE(names));
	tcase_add_test(tc, a_name_with_a_nul_in_it_is_no_register);
	tcase_add_test(tc, every_canonical_name_is_found_at_its_index);
	tcase_add_loop_test(tc, roles_and_callee_saved_registers, 0, ARRAY_SIZE(roles));
	tcase_add_loop_test(tc, dwarf_numbers_name_registers, 0, ARRAY_SIZE(dwarf_numbers));
	tcase_add_test(tc, intel_has_no_link_register);
	tcase_add_loop_test(tc, architecture_words_of_module_lines, 0, ARRAY_SIZE(words));
	tcase_add_test(tc, unknown_ids_give_the_unknown_cpu);
	suite_add_tcase(s, tc);
	return s;
}
