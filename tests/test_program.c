#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/limits.h"
#include "lib/rules/program.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *program_suite(void);

enum { STACK = 0x1000 };
static const uint8_t bytes[32] = {
	0x10, 0x10, 0, 0, 0, 0, 0, 0,				// 0x1000: 0x1010
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,		// 0x1008: -1
	0x21, 0x43, 0x65, 0x87, 0x09, 0xba, 0xdc, 0xfe,		// 0x1010
};
static const struct fw_segment segment = { STACK, sizeof(bytes), bytes };
static const struct fw_memory memory = { &segment, 1, false };

static struct fw_str str(const char *s)
{
	return (struct fw_str){ s, strlen(s) };
}

static struct fw_programs view_of(const struct fw_program_set *set)
{
	return (struct fw_programs){ set->ops.data, set->programs.data,
				     (uint32_t)set->ops.count, (uint32_t)set->programs.count };
}

static void set_reg(struct fw_regs *regs, const struct fw_cpu *cpu, const char *name, uint64_t v)
{
	uint8_t reg = fw_cpu_reg(cpu, str(name));
	ck_assert_uint_ne(reg, FW_NO_REG);
	fw_regs_set(regs, reg, v);
}

/*
 * STACK CFI expressions. Registers: sp 0x1000, frame pointer 0x1008, rbx
 * unknown, .cfa 0x1018.
 */
static const struct {
	enum fw_cpu_id cpu;
	const char *text;
	bool ok;		// when run; all of these compile
	uint64_t value;
} values[] = {
	{ FW_CPU_AMD64, "$rsp", true, 0x1000 },
	{ FW_CPU_AMD64, "rsp", true, 0x1000 },			// '$' is optional
	{ FW_CPU_AMD64, "42", true, 42 },
	{ FW_CPU_AMD64, "-16", true, (uint64_t)-16 },		// a literal, not an operator
	{ FW_CPU_AMD64, "-0", true, 0 },
	{ FW_CPU_AMD64, "$rsp 8 +", true, 0x1008 },
	{ FW_CPU_AMD64, "\t $rsp\t8  + ", true, 0x1008 },	// blanks of any number and kind
	{ FW_CPU_AMD64, "8 $rsp -", true, (uint64_t)8 - 0x1000 },
	{ FW_CPU_AMD64, "$rsp 8 -", true, 0xff8 },
	{ FW_CPU_AMD64, ".cfa -8 + ^", true, 0xfedcba0987654321 },
	{ FW_CPU_AMD64, "$rsp ^ ^", true, 0xfedcba0987654321 },
	{ FW_CPU_AMD64, "-870245 8769343 +", true, 7899098 },	// Breakpad's own vector
	{ FW_CPU_AMD64, "36 8 @", true, 32 },			// likewise
	{ FW_CPU_AMD64, "36 1 @", true, 36 },
	{ FW_CPU_AMD64, "9 6 *", true, 54 },
	{ FW_CPU_AMD64, "100 7 /", true, 14 },
	{ FW_CPU_AMD64, "100 7 %", true, 2 },
	{ FW_CPU_AMD64, "1 2 3 4 + + +", true, 10 },
	{ FW_CPU_AMD64, "10 3 2 - -", true, 9 },		// the right operand is on top
	{ FW_CPU_AMD64, "10 $rsp 2 - -", true, (uint64_t)10 - 0xffe },
	// DWARF's operators, 2.5.1.4; names of ours where Breakpad has none
	{ FW_CPU_AMD64, "12 10 and", true, 8 },
	{ FW_CPU_AMD64, "12 10 or", true, 14 },
	{ FW_CPU_AMD64, "12 10 xor", true, 6 },
	{ FW_CPU_AMD64, "3 $rsp shl", true, 0 },		// by more than the width
	{ FW_CPU_AMD64, "$rsp 3 shl", true, 0x8000 },
	{ FW_CPU_AMD64, "-16 60 shr", true, 15 },
	{ FW_CPU_AMD64, "-16 2 shra", true, (uint64_t)-4 },
	{ FW_CPU_AMD64, "-16 4 div", true, (uint64_t)-4 },
	{ FW_CPU_AMD64, "-16 4 lt", true, 1 },			// compared as signed numbers
	{ FW_CPU_AMD64, "4 4 le", true, 1 }, { FW_CPU_AMD64, "4 4 gt", true, 0 },
	{ FW_CPU_AMD64, "-1 0 ge", true, 0 }, { FW_CPU_AMD64, "4 5 eq", true, 0 },
	{ FW_CPU_AMD64, "4 5 ne", true, 1 }, { FW_CPU_AMD64, "5 neg", true, (uint64_t)-5 },
	{ FW_CPU_AMD64, "5 not", true, (uint64_t)-6 }, { FW_CPU_AMD64, "-5 abs", true, 5 },
	{ FW_CPU_AMD64, "4112 load8", true, 0x21 },
	{ FW_CPU_AMD64, "4112 load16", true, 0x4321 },
	{ FW_CPU_AMD64, "4112 load32", true, 0x87654321 },
	{ FW_CPU_AMD64, "4112 load64", true, 0xfedcba0987654321 },
	{ FW_CPU_X86, "-16 2 shra", true, 0xfffffffc },
	{ FW_CPU_AMD64, "$rsp 2 + 3 $rbp + *", true, UINT64_C(0x1002) * 0x100b },
	{ FW_CPU_AMD64, "9223372036854775807 1 +", true, UINT64_C(1) << 63 },
	{ FW_CPU_AMD64, "-9223372036854775808", true, UINT64_C(1) << 63 },	// lowest literal
	{ FW_CPU_AMD64, "18446744073709551615", true, UINT64_MAX },		// highest
	{ FW_CPU_AMD64, "18446744073709551615 1 +", true, 0 },			// wraps
	{ FW_CPU_AMD64, "0 1 -", true, UINT64_MAX },
	{ FW_CPU_AMD64, "-4 2 /", true, UINT64_C(0x7ffffffffffffffe) },		// unsigned
	{ FW_CPU_AMD64, "000000000000000000000000012", true, 12 },
	{ FW_CPU_AMD64, "$rbx", false, 0 },			// unknown here
	{ FW_CPU_AMD64, "$rbx 0 *", false, 0 },
	{ FW_CPU_AMD64, "0 $rbx *", false, 0 },
	{ FW_CPU_AMD64, "100 $rsp $rsp - /", false, 0 },	// zero, seen only when run
	{ FW_CPU_AMD64, "100 $rsp $rsp - %", false, 0 },
	{ FW_CPU_AMD64, "100 $rsp 3 + @", false, 0 },		// 0x1003 is no power of two
	{ FW_CPU_AMD64, "100 $rsp $rsp - @", false, 0 },
	{ FW_CPU_AMD64, "$rsp 1 - ^", false, 0 },		// not in the capture
	{ FW_CPU_AMD64, "$rsp 25 + ^", false, 0 },		// its last byte is not
	{ FW_CPU_X86, "$esp", true, 0x1000 },
	{ FW_CPU_X86, "$esp ^", true, 0x1010 },
	{ FW_CPU_X86, "4294967295 1 +", true, 0 },		// 32-bit words wrap at 2^32
	{ FW_CPU_X86, "$esp 4294967296 +", true, 0x1000 },
	{ FW_CPU_X86, "$esp -16 +", true, 0xff0 },
	{ FW_CPU_X86, "0 1 -", true, UINT32_MAX },
	{ FW_CPU_X86, "65536 65536 *", true, 0 },
	{ FW_CPU_X86, "-4 2 /", true, 0x7ffffffe },
	{ FW_CPU_X86, "4294967295 $esp 17 + + ^", true, 0x87654321 },	// `^` addresses too
	{ FW_CPU_ARM, "sp 4294967304 + ^", true, UINT32_MAX },
	{ FW_CPU_ARM, "r13 8 +", true, 0x1008 },
	{ FW_CPU_ARM64, "sp ^", true, 0x1010 },
	{ FW_CPU_ARM64, "fp x29 -", true, 0 },			// an alias is the register
};

static void usual_regs(struct fw_regs *regs, const struct fw_cpu *cpu)
{
	*regs = (struct fw_regs){ 0 };
	fw_regs_set(regs, cpu->sp, STACK);
	fw_regs_set(regs, cpu->fp, STACK + 8);
	fw_regs_set(regs, FW_SLOT_CFA, STACK + 24);
}

START_TEST(cfi_values)
{
	const struct fw_cpu *cpu = fw_cpu_get(values[_i].cpu);
	struct fw_program_set set;
	struct fw_memory_view view;
	struct fw_regs regs;
	struct fw_error err = { 0 };
	uint64_t value = 42;
	uint32_t program;
	fw_program_set_init(&set);
	fw_memory_view_init(&view, &memory);
	usual_regs(&regs, cpu);
	ck_assert_msg(fw_program_compile_cfi(&set, cpu, true, str(values[_i].text), &program,
					     &err) == FW_OK, "%s", err.message);
	struct fw_programs programs = view_of(&set);
	ck_assert_int_eq(fw_program_run(&programs, program, cpu, &regs, &view, NULL, &value),
			 values[_i].ok);
	ck_assert_uint_eq(value, values[_i].ok ? values[_i].value : 42);
	fw_program_set_deinit(&set);
}
END_TEST

static const struct { const char *text; enum fw_code code; const char *message; } bad_cfi[] = {
	{ "", FW_MALFORMED, "empty expression" },
	{ " \t", FW_MALFORMED, "empty expression" },
	{ "4 0 /", FW_MALFORMED, "division by zero at '/'" },		// kills Breakpad
	{ "4 0 %", FW_MALFORMED, "division by zero at '%'" },
	{ "-5 3 =", FW_MALFORMED, "assignment in a rule at '='" },	// kills Breakpad
	{ "$rsp 0 @", FW_MALFORMED, "alignment is no power of two at '@'" },
	{ "$rsp 12 @", FW_MALFORMED, "alignment is no power of two at '@'" },
	{ "$rsp -8 @", FW_MALFORMED, "alignment is no power of two at '@'" },
	{ "+", FW_MALFORMED, "operand missing at '+'" },
	{ "1 +", FW_MALFORMED, "operand missing at '+'" },
	{ "^", FW_MALFORMED, "operand missing at '^'" },
	{ "1 and", FW_MALFORMED, "operand missing at 'and'" },
	{ "load8", FW_MALFORMED, "operand missing at 'load8'" },
	{ "1 load7", FW_MALFORMED, "unknown name at 'load7'" },
	{ "1 2", FW_MALFORMED, "1 values left over" },
	{ "1 2 3 4 +", FW_MALFORMED, "2 values left over" },
	{ "0x10", FW_MALFORMED, "unknown name at '0x10'" },		// literals are decimal
	{ "+5", FW_MALFORMED, "unknown name at '+5'" },
	{ "--5", FW_MALFORMED, "unknown name at '--5'" },
	{ "12a", FW_MALFORMED, "unknown name at '12a'" },
	{ "$foo 8 +", FW_MALFORMED, "unknown name at '$foo'" },
	{ ".undef", FW_MALFORMED, "unknown name at '.undef'" },
	{ ".cfa2", FW_MALFORMED, "unknown name at '.cfa2'" },
	{ "$eax", FW_MALFORMED, "unknown name at '$eax'" },		// of another CPU
	{ "$T0", FW_MALFORMED, "unknown name at '$T0'" },		// STACK WIN only
	{ "18446744073709551616", FW_MALFORMED,
	  "literal does not fit 64 bits at '18446744073709551616'" },
	{ "-9223372036854775809", FW_MALFORMED,
	  "literal does not fit 64 bits at '-9223372036854775809'" },
	{ "99999999999999999999999999999999999999999999999999", FW_MALFORMED,
	  "literal does not fit 64 bits at '9999999999999999999999999999999999999999'" },
};

START_TEST(bad_cfi_expressions_are_explained)
{
	struct fw_program_set set;
	struct fw_error err = { 0 };
	uint32_t program = 42;
	fw_program_set_init(&set);
	ck_assert_int_eq(fw_program_compile_cfi(&set, fw_cpu_get(FW_CPU_AMD64), true,
						str(bad_cfi[_i].text), &program, &err),
			 bad_cfi[_i].code);
	ck_assert_int_eq(err.code, bad_cfi[_i].code);
	ck_assert_str_eq(err.message, bad_cfi[_i].message);
	ck_assert_str_eq(err.place, "");
	ck_assert_uint_eq(program, 42);
	ck_assert_uint_eq(set.programs.count, 0);
	// nobody has to ask for the message
	ck_assert_int_eq(fw_program_compile_cfi(&set, fw_cpu_get(FW_CPU_AMD64), true,
						str(bad_cfi[_i].text), &program, NULL),
			 bad_cfi[_i].code);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(zero_of_the_cpus_word_divides_nothing)
{
	struct fw_program_set set;
	struct fw_error err = { 0 };
	uint32_t program;
	fw_program_set_init(&set);
	ck_assert_int_eq(fw_program_compile_cfi(&set, fw_cpu_get(FW_CPU_X86), true,
						str("4 4294967296 /"), &program, &err),
			 FW_MALFORMED);
	ck_assert_str_eq(err.message, "division by zero at '/'");
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(the_cfa_may_not_use_itself)
{
	struct fw_program_set set;
	struct fw_error err = { 0 };
	uint32_t program;
	fw_program_set_init(&set);
	ck_assert_int_eq(fw_program_compile_cfi(&set, fw_cpu_get(FW_CPU_AMD64), false,
						str("$rsp .cfa +"), &program, &err), FW_MALFORMED);
	ck_assert_str_eq(err.message, ".cfa refers to itself at '.cfa'");
	fw_program_set_deinit(&set);
}
END_TEST

// "1 1 1 ... + + +" with n literals
static char *tower(unsigned n)
{
	char *s = calloc(n, 5), *p = s;
	for (unsigned i = 0; i < n; i++)
		p += sprintf(p, "1 ");
	for (unsigned i = 1; i < n; i++)
		p += sprintf(p, "+ ");
	return s;
}

START_TEST(depth_is_limited)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	struct fw_program_set set;
	struct fw_memory_view view;
	struct fw_regs regs = { 0 };
	struct fw_error err = { 0 };
	uint64_t value;
	uint32_t program;
	char *deepest = tower(FW_MAX_PROGRAM_DEPTH), *deeper = tower(FW_MAX_PROGRAM_DEPTH + 1);
	fw_program_set_init(&set);
	fw_memory_view_init(&view, &memory);
	ck_assert_int_eq(fw_program_compile_cfi(&set, cpu, true, str(deepest), &program, &err),
			 FW_OK);
	struct fw_programs programs = view_of(&set);
	ck_assert(fw_program_run(&programs, program, cpu, &regs, &view, NULL, &value));
	ck_assert_uint_eq(value, FW_MAX_PROGRAM_DEPTH);
	ck_assert_int_eq(fw_program_compile_cfi(&set, cpu, true, str(deeper), &program, &err),
			 FW_LIMIT);
	ck_assert_str_eq(err.message, "more than 64 operands at '1'");
	fw_program_set_deinit(&set);
	free(deepest);
	free(deeper);
}
END_TEST

START_TEST(length_is_limited)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	struct fw_program_set set;
	struct fw_error err = { 0 };
	uint32_t program;
	char text[8 + FW_MAX_PROGRAM_OPS * 2 + 3] = "$rsp";
	for (int i = 0; i < FW_MAX_PROGRAM_OPS; i++)
		strcat(text, " ^");
	fw_program_set_init(&set);
	ck_assert_int_eq(fw_program_compile_cfi(&set, cpu, true, str(text), &program, &err),
			 FW_OK);
	strcat(text, " ^");
	ck_assert_int_eq(fw_program_compile_cfi(&set, cpu, true, str(text), &program, &err),
			 FW_LIMIT);
	ck_assert_str_eq(err.message, "more than 512 operations at '^'");
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(equal_programs_are_stored_once)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	struct fw_program_set set;
	fw_program_set_init(&set);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			char text[40];
			uint32_t program;
			snprintf(text, sizeof(text), round ? "rsp  %u *" : "$rsp %u *", i);
			ck_assert_int_eq(fw_program_compile_cfi(&set, cpu, true, str(text),
								&program, NULL), FW_OK);
			ck_assert_uint_eq(program, i);
		}
	}
	ck_assert_uint_eq(set.programs.count, 1000);
	fw_program_set_deinit(&set);
}
END_TEST

/*
 * STACK WIN programs: registers $esp 0x1000, $ebp 0x1008; $ebx, $rAdd.. unknown;
 * .cbParams 4, .cbCalleeParams 8, .cbSavedRegs 12, .cbLocals 16, .raSearch 0x1000.
 * `get` lists "name=value" of registers afterwards; "name=?" is unknown.
 */
static const struct { const char *text; bool ok, aligns; const char *get; } wins[] = {
	// what MSVC writes for a function with a frame pointer
	{ "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - = "
	  "$P $T0 8 + .cbParams + =",
	  true, false, "eip=4294967295 ebp=4294967295 esp=4112 ebx=?" },
	// and without one
	{ "$T2 $esp .cbLocals + .cbSavedRegs + = $T0 .raSearchStart = $eip $T0 ^ = "
	  "$esp $T0 4 + =", true, false, "eip=4112 esp=4100 ebp=4104" },
	{ "$ebx .cbParams .cbCalleeParams + .cbSavedRegs + .cbLocals + = $esi .raSearch =",
	  true, false, "ebx=40 esi=4096" },
	// an operand is resolved when it is taken, not when it is read: the target is a name
	{ "$rAdd 2 2 + = $rAdd $rAdd 2 + = $ebx $rAdd =", true, false, "ebx=6" },
	{ "$ebx $esp $esp 8 + = $esp =", true, false, "esp=4104 ebx=4104" },
	{ "$T1 $T0 = $T0 4 =", false, false, "eip=?" },		// $T0 is not yet there
	{ "$T2 $T2 2 + =", false, false, "eip=?" },		// nor is $T2
	// earlier assignments stay in place
	{ "$ebx 5 = $T2 $T2 2 + =", false, false, "ebx=5" },
	// `=$b`, which MSVC 2010 with link-time code generation writes
	{ "$eax 2 2 + =$ebx 9 6 * =", true, false, "eax=4 ebx=54" },
	{ "$eip 7 =$esp 8 =", true, false, "eip=7 esp=8" },
	{ "$eip 7\t=  $esp\t8 =", true, false, "eip=7 esp=8" },
	// leftovers are tolerated
	{ "0 $eax 0 0 + =", true, false, "eax=0" },
	{ "$eip 4 = $T0", true, false, "eip=4" },
	// alignment
	{ "$ebx 36 8 @ =", true, true, "ebx=32" },
	{ "$ebx $esp $esp 8 - @ =", false, true, "ebx=?" },	// 0xff8 is no power of two
	// what can never be resolved fails where it is taken
	{ "$ebx 1 = $esi .undef = $edi 2 =", false, false, "ebx=1 esi=? edi=?" },
	{ "$ebx foo =", false, false, "ebx=?" },
	{ "$ebx ebp =", false, false, "ebx=?" },	// names have their '$' here
	{ "$ebx .cfa =", false, false, "ebx=?" },
	{ "$ebx $ =", false, false, "ebx=?" },
	{ "$ebx foo ^ =", false, false, "ebx=?" },
	{ "$ebx 1 foo + =", false, false, "ebx=?" },
	{ "$ebx 1 = foo", true, false, "ebx=1" },	// never taken
	{ "$ebx 4294967295 2 + =", true, false, "ebx=1" },
	{ "$ebx 4 $esp $esp - / =", false, false, "ebx=?" },
	{ "$ebx 4095 ^ =", false, false, "ebx=?" },
};

static void assert_regs(const struct fw_regs *regs, const struct fw_cpu *cpu, const char *want)
{
	char name[16];
	char value[24];
	int n;
	while (sscanf(want, " %15[^=]=%23s%n", name, value, &n) == 2) {
		uint8_t reg = fw_cpu_reg(cpu, str(name));
		ck_assert_uint_ne(reg, FW_NO_REG);
		ck_assert_msg(fw_regs_has(regs, reg) == (value[0] != '?'), "%s", name);
		if (value[0] != '?')
			ck_assert_uint_eq(regs->v[reg], strtoull(value, NULL, 10));
		want += n;
	}
}

START_TEST(win_programs)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_X86);
	struct fw_program_set set;
	struct fw_memory_view view;
	struct fw_regs regs = { 0 };
	struct fw_error err = { 0 };
	uint32_t program;
	bool aligns = !wins[_i].aligns;
	fw_program_set_init(&set);
	fw_memory_view_init(&view, &memory);
	set_reg(&regs, cpu, "$esp", 0x1000);
	set_reg(&regs, cpu, "$ebp", 0x1008);
	fw_regs_set(&regs, FW_SLOT_WIN_PARAMS, 4);
	fw_regs_set(&regs, FW_SLOT_WIN_CALLEE_PARAMS, 8);
	fw_regs_set(&regs, FW_SLOT_WIN_SAVED_REGS, 12);
	fw_regs_set(&regs, FW_SLOT_WIN_LOCALS, 16);
	fw_regs_set(&regs, FW_SLOT_WIN_RA_SEARCH, 0x1000);
	ck_assert_msg(fw_program_compile_win(&set, str(wins[_i].text), &program, &aligns,
					     &err) == FW_OK, "%s", err.message);
	ck_assert_int_eq(aligns, wins[_i].aligns);
	struct fw_programs programs = view_of(&set);
	ck_assert_int_eq(fw_program_run(&programs, program, cpu, &regs, &view, NULL, NULL),
			 wins[_i].ok);
	assert_regs(&regs, cpu, wins[_i].get);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(assigned_slots_are_told)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_X86);
	struct fw_program_set set;
	struct fw_memory_view view;
	struct fw_regs regs = { 0 };
	uint64_t assigned = 0;
	uint32_t program;
	bool aligns;
	fw_program_set_init(&set);
	fw_memory_view_init(&view, &memory);
	ck_assert_int_eq(fw_program_compile_win(&set, str("$eip 1 = $T7 2 = $esp $T9 ="),
						&program, &aligns, NULL), FW_OK);
	struct fw_programs programs = view_of(&set);
	ck_assert(!fw_program_run(&programs, program, cpu, &regs, &view, &assigned, NULL));
	ck_assert_uint_eq(assigned, UINT64_C(1) << cpu->pc | UINT64_C(1) << FW_SLOT_WIN_SCRATCH);
	fw_program_set_deinit(&set);
}
END_TEST

static const struct { const char *text; enum fw_code code; const char *message; } bad_win[] = {
	{ "", FW_MALFORMED, "program without assignments" },
	{ "$T0", FW_MALFORMED, "program without assignments" },
	{ "2 2 =", FW_MALFORMED, "assignment to something that is no variable at '='" },
	{ "-5 3 =", FW_MALFORMED, "assignment to something that is no variable at '='" },
	{ "k 2 =", FW_MALFORMED, "assignment to something that is no variable at '='" },
	{ ".cbParams 2 =", FW_MALFORMED, "assignment to something that is no variable at '='" },
	{ "$ebx 1 + 2 =", FW_MALFORMED, "assignment to something that is no variable at '='" },
	{ "$eip 4 0 / =", FW_MALFORMED, "division by zero at '/'" },
	{ "$eip 4 0 @ =", FW_MALFORMED, "alignment is no power of two at '@'" },
	{ "=", FW_MALFORMED, "operand missing at '='" },
	{ "$eip =", FW_MALFORMED, "operand missing at '='" },
	{ "=$eip", FW_MALFORMED, "operand missing at '=$eip'" },
	{ "$eip ^ ^ + =", FW_MALFORMED, "operand missing at '+'" },
	{ "$eip 99999999999999999999 =", FW_MALFORMED,
	  "literal does not fit 64 bits at '99999999999999999999'" },
};

START_TEST(bad_win_programs_are_explained)
{
	struct fw_program_set set;
	struct fw_error err = { 0 };
	uint32_t program = 42;
	bool aligns = true;
	fw_program_set_init(&set);
	ck_assert_int_eq(fw_program_compile_win(&set, str(bad_win[_i].text), &program, &aligns,
						&err), bad_win[_i].code);
	ck_assert_str_eq(err.message, bad_win[_i].message);
	ck_assert_uint_eq(program, 42);
	ck_assert(aligns);
	ck_assert_uint_eq(set.programs.count, 0);
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(win_variables_are_limited)
{
	struct fw_program_set set;
	struct fw_error err = { 0 };
	uint32_t program;
	bool aligns;
	char text[1024] = "";
	for (int i = 0; i < FW_SLOTS - FW_SLOT_WIN_SCRATCH; i++)
		sprintf(text + strlen(text), "$T%d %d = ", i, i);
	fw_program_set_init(&set);
	ck_assert_int_eq(fw_program_compile_win(&set, str(text), &program, &aligns, &err), FW_OK);
	strcat(text, "$T0 $T1 =");	// no new ones
	ck_assert_int_eq(fw_program_compile_win(&set, str(text), &program, &aligns, &err), FW_OK);
	strcat(text, " $one 1 =");
	ck_assert_int_eq(fw_program_compile_win(&set, str(text), &program, &aligns, &err),
			 FW_LIMIT);
	ck_assert_str_eq(err.message, "more than 18 variables at '$one'");
	fw_program_set_deinit(&set);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	unsigned failures = 0;
	bool done = false;
	for (uint64_t nth = 1; !done; nth++) {
		struct fw_program_set set;
		struct fw_error err = { 0 };
		enum fw_code rc = FW_OK;
		uint32_t program, i = 0;
		fw_program_set_init(&set);
		fw_alloc_fail_at(nth);
		for (; i < 200 && !rc; i++) {
			char text[40];
			snprintf(text, sizeof(text), "$rsp %u *", i);
			rc = fw_program_compile_cfi(&set, cpu, true, str(text), &program, &err);
		}
		fw_alloc_fail_at(0);
		done = rc == FW_OK;
		if (!done) {
			failures++;
			ck_assert_int_eq(rc, FW_NO_MEMORY);
			ck_assert_str_eq(err.message, "no memory for a program");
			ck_assert_uint_eq(set.programs.count, i - 1);
			// what was there still is, and there is memory again
			ck_assert_int_eq(fw_program_compile_cfi(&set, cpu, true, str("$rsp 0 *"),
								&program, &err), FW_OK);
			ck_assert_uint_eq(program, 0);
		}
		fw_program_set_deinit(&set);
	}
	ck_assert_uint_gt(failures, 3);
}
END_TEST

START_TEST(corrupt_programs_cost_wrong_answers_only)
{
	const struct fw_cpu *cpu = fw_cpu_get(_i ? FW_CPU_X86 : FW_CPU_AMD64);
	struct fw_op ops[64];
	struct fw_program programs[8];
	struct fw_memory_view view;
	fw_memory_view_init(&view, &memory);
	srand(7);
	for (int round = 0; round < 20000; round++) {
		uint8_t *p = (uint8_t *)ops;
		for (size_t i = 0; i < sizeof(ops); i++)
			p[i] = (uint8_t)(rand() % (round % 2 ? 256 : 4));
		for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
			programs[i].first = (uint32_t)rand() % 70;
			programs[i].count = (uint32_t)rand() % 70;
		}
		programs[7] = (struct fw_program){ UINT32_MAX, 2 };
		programs[6] = (struct fw_program){ 1, UINT32_MAX };
		struct fw_programs set = { ops, programs, ARRAY_SIZE(ops), ARRAY_SIZE(programs) };
		struct fw_regs regs = { .valid = UINT64_MAX };
		uint64_t assigned = 0, value;
		for (uint32_t i = 0; i < ARRAY_SIZE(programs) + 1; i++)
			fw_program_run(&set, i, cpu, &regs, &view, &assigned,
				       i % 2 ? &value : NULL);
	}
	struct fw_regs regs = { 0 };
	uint64_t value;
	ck_assert(!fw_program_run(NULL, 0, cpu, &regs, &view, NULL, &value));
}
END_TEST

Suite *program_suite(void)
{
	Suite *s = suite_create("program");
	TCase *tc = tcase_create("program");
	tcase_add_loop_test(tc, cfi_values, 0, ARRAY_SIZE(values));
	tcase_add_loop_test(tc, bad_cfi_expressions_are_explained, 0, ARRAY_SIZE(bad_cfi));
	tcase_add_test(tc, zero_of_the_cpus_word_divides_nothing);
	tcase_add_test(tc, the_cfa_may_not_use_itself);
	tcase_add_test(tc, depth_is_limited);
	tcase_add_test(tc, length_is_limited);
	tcase_add_test(tc, equal_programs_are_stored_once);
	tcase_add_loop_test(tc, win_programs, 0, ARRAY_SIZE(wins));
	tcase_add_test(tc, assigned_slots_are_told);
	tcase_add_loop_test(tc, bad_win_programs_are_explained, 0, ARRAY_SIZE(bad_win));
	tcase_add_test(tc, win_variables_are_limited);
	tcase_add_test(tc, every_allocation_may_fail);
	tcase_add_loop_test(tc, corrupt_programs_cost_wrong_answers_only, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}
