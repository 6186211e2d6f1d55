// ELF cores: made ones of every class, byte order and CPU, and the corpus's.
#include <check.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/file.h"
#include "tests/snapshot_check.h"
#include "tests/synth_core.h"

Suite *core_suite(void);

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t build_id[20] = {
	0x7f, 0x40, 0x3d, 0x96, 0x79, 0x5c, 0x97, 0xc6, 0xf9, 0x0d, 0xbf, 0xb0, 0x2b, 0xfa, 0x29,
	0x92, 0xaf, 0xad, 0xd1, 0xeb,
};
#define CODE_ID "7f403d96795c97c6f90dbfb02bfa2992afadd1eb"
#define DEBUG_ID "963D407F5C79C697F90DBFB02BFA29920"

#define check_str(str, literal) do { \
	struct fw_str str_ = (str); \
	ck_assert_msg(str_.n == strlen(literal) && !memcmp(str_.s, literal, str_.n), \
		      "\"%.*s\" is not \"%s\"", (int)str_.n, str_.s ? str_.s : "", literal); \
} while (0)

static struct fw_snapshot *read_ok(const uint8_t *data, uint64_t n)
{
	struct fw_snapshot *s = NULL;
	struct fw_error err = { 0 };
	enum fw_code code = fw_snapshot_read(data, n, &s, &err);
	ck_assert_msg(code == FW_OK, "%s: %s", err.place, err.message);
	const char *broken = snapshot_check(s);
	ck_assert_msg(!broken, "%s", broken);
	return s;
}

static struct fw_snapshot *finish(struct synth_core *c)
{
	size_t n;
	const uint8_t *data = synth_core_finish(c, &n);
	ck_assert(fw_snapshot_sniff(data, n < 64 ? n : 64));
	return read_ok(data, n);
}

static void done(struct fw_snapshot *s, struct synth_core *c)
{
	fw_snapshot_destroy(s);
	synth_core_deinit(c);
}

// Words whose number tells their place.
static const uint64_t *words(void)
{
	static uint64_t w[64];
	for (unsigned i = 0; i < ARRAY_SIZE(w); i++)
		w[i] = 0x1000 + i;
	return w;
}

// Which word of elf_gregset_t a register is, from each architecture's asm/ptrace.h
// (user_regs_struct, pt_regs), by name.
static const struct reg_case {
	const char *cpu;
	uint16_t machine;
	bool wide, big;
	uint8_t num, width;
	struct { const char *name; uint8_t word; } regs[36];
} reg_cases[] = {
	{ "x86", EM_386, false, false, 17, 4, {
		{ "ebx", 0 }, { "ecx", 1 }, { "edx", 2 }, { "esi", 3 }, { "edi", 4 },
		{ "ebp", 5 }, { "eax", 6 }, { "eip", 12 }, { "eflags", 14 }, { "esp", 15 } } },
	{ "amd64", EM_X86_64, true, false, 27, 8, {
		{ "r15", 0 }, { "r14", 1 }, { "r13", 2 }, { "r12", 3 }, { "rbp", 4 },
		{ "rbx", 5 }, { "r11", 6 }, { "r10", 7 }, { "r9", 8 }, { "r8", 9 },
		{ "rax", 10 }, { "rcx", 11 }, { "rdx", 12 }, { "rsi", 13 }, { "rdi", 14 },
		{ "rip", 16 }, { "rsp", 19 } } },
	{ "amd64", EM_X86_64, false, false, 27, 8, {	// x32
		{ "r15", 0 }, { "rip", 16 }, { "rsp", 19 } } },
	{ "arm", EM_ARM, false, false, 18, 4, {
		{ "r0", 0 }, { "r4", 4 }, { "r11", 11 }, { "r12", 12 }, { "sp", 13 },
		{ "lr", 14 }, { "pc", 15 }, { "cpsr", 16 } } },
	{ "arm", EM_ARM, false, true, 18, 4, { { "r0", 0 }, { "pc", 15 } } },
	{ "arm64", EM_AARCH64, true, false, 34, 8, {
		{ "x0", 0 }, { "x19", 19 }, { "x29", 29 }, { "x30", 30 }, { "sp", 31 },
		{ "pc", 32 } } },
	{ "arm64", EM_AARCH64, true, true, 34, 8, { { "x0", 0 }, { "pc", 32 } } },
	{ "mips", EM_MIPS, false, true, 45, 4, {	// o32: 6 words in front
		{ "at", 7 }, { "sp", 35 }, { "ra", 37 }, { "pc", 40 } } },
	{ "mips64", EM_MIPS, true, true, 45, 8, {
		{ "at", 1 }, { "sp", 29 }, { "ra", 31 }, { "pc", 34 } } },
	{ "ppc64", EM_PPC64, true, true, 48, 8, {
		{ "r0", 0 }, { "sp", 1 }, { "r31", 31 }, { "pc", 32 }, { "lr", 36 } } },
	{ "ppc64", EM_PPC64, true, false, 48, 8, { { "sp", 1 }, { "pc", 32 }, { "lr", 36 } } },
	{ "riscv64", EM_RISCV, true, false, 32, 8, {
		{ "ra", 1 }, { "sp", 2 }, { "x31", 31 }, { "pc", 0 } } },
	{ "s390x", EM_S390, true, true, 27, 8, {
		{ "pc", 1 }, { "r0", 2 }, { "r6", 8 }, { "lr", 16 }, { "sp", 17 } } },
};

START_TEST(registers_come_from_their_words)
{
	const struct reg_case *t = &reg_cases[_i];
	struct synth_core c;
	synth_core_init(&c, t->machine, t->wide, t->big);
	synth_core_thread(&c, 4711, 11, words(), t->num, t->width);
	struct fw_snapshot *s = finish(&c);
	ck_assert_str_eq(s->cpu->name, t->cpu);
	ck_assert_int_eq(s->big_endian, t->big);
	ck_assert_uint_eq(s->num_threads, 1);
	ck_assert_uint_eq(s->threads[0].id, 4711);
	ck_assert(s->threads[0].have_context);
	for (size_t i = 0; t->regs[i].name; i++) {
		const char *name = t->regs[i].name;
		uint8_t reg = fw_cpu_reg(s->cpu, (struct fw_str){ name, strlen(name) });
		ck_assert_msg(reg != FW_NO_REG && fw_regs_has(&s->threads[0].regs, reg), "%s",
			      name);
		ck_assert_msg(s->threads[0].regs.v[reg] == 0x1000u + t->regs[i].word,
			      "%s is %" PRIx64, name, s->threads[0].regs.v[reg]);
	}
	done(s, &c);
}
END_TEST

START_TEST(zero_register_of_riscv_is_zero)
{
	struct synth_core c;
	synth_core_init(&c, EM_RISCV, true, false);
	synth_core_thread(&c, 1, 11, words(), 32, 8);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->threads[0].regs.v[0], 0);
	done(s, &c);
}
END_TEST

static const struct {
	uint16_t machine;
	bool wide;
	const char *cpu;
	unsigned num, width;
} named[] = {
	{ EM_PPC, false, "ppc", 48, 4 },
	{ EM_SPARCV9, true, "sparc", 32, 8 },
	{ EM_RISCV, false, "riscv", 32, 4 },
	{ EM_IA_64, true, "unknown", 32, 8 },
};

START_TEST(cpus_without_registers_are_named)
{
	struct synth_core c;
	synth_core_init(&c, named[_i].machine, named[_i].wide, false);
	synth_core_thread(&c, 5, 6, words(), named[_i].num, named[_i].width);
	struct fw_snapshot *s = finish(&c);
	ck_assert_str_eq(s->cpu->name, named[_i].cpu);
	ck_assert_uint_eq(s->cpu_raw, named[_i].machine);
	ck_assert(!s->threads[0].have_context);
	ck_assert_str_eq(s->threads[0].context_error, "registers of this CPU are not read");
	done(s, &c);
}
END_TEST

START_TEST(registers_of_mips_n32_are_not_mistaken_for_o32)
{
	struct synth_core c;
	synth_core_init(&c, EM_MIPS, false, true);
	synth_core_thread(&c, 5, 6, words(), 45, 8);
	struct fw_snapshot *s = finish(&c);
	ck_assert_str_eq(s->threads[0].context_error, "registers of this ABI are not read");
	done(s, &c);
}
END_TEST

static const struct { uint16_t machine; bool wide, big; unsigned num; } kinds[] = {
	{ EM_X86_64, true, false, 27 }, { EM_386, false, false, 17 },
	{ EM_AARCH64, true, true, 34 }, { EM_ARM, false, true, 18 },
};

static void begin_core(struct synth_core *c, int kind)
{
	synth_core_init(c, kinds[kind].machine, kinds[kind].wide, kinds[kind].big);
	synth_core_thread(c, 102, 11, words(), kinds[kind].num, synth_core_word(c));
}

START_TEST(process_signal_and_auxv_arrive)
{
	static const uint64_t auxv[][2] = {
		{ AT_PHDR, 0x10040 }, { AT_PHNUM, 9 }, { AT_BASE, 0x700000 },
		{ AT_ENTRY, 0x10365 }, { AT_SYSINFO_EHDR, 0x900000 }, { AT_EXECFN, 0x20010 },
	};
	struct synth_core c;
	begin_core(&c, _i);
	synth_core_process(&c, 101, "worker", "/usr/bin/worker -v  ", !kinds[_i].wide);
	synth_core_signal(&c, 11, 2, 0xdead);
	synth_core_auxv(&c, auxv, ARRAY_SIZE(auxv));
	synth_core_thread(&c, 101, 0, words(), kinds[_i].num, synth_core_word(&c));
	synth_core_thread(&c, 103, 0, words(), kinds[_i].num, synth_core_word(&c));
	synth_core_load(&c, 0x20000, SYNTH_R, "0123456789abcdef./worker", 25, 4096);
	struct fw_snapshot *s = finish(&c);
	ck_assert_str_eq(s->format, "core");
	ck_assert_int_eq(s->os, FW_OS_LINUX);
	ck_assert(s->have_pid);
	ck_assert_uint_eq(s->pid, 101);
	check_str(s->command_line, "/usr/bin/worker -v");
	check_str(s->exec_name, "worker");
	check_str(s->exec_file, "./worker");
	ck_assert(s->crashed && s->exception.present);
	ck_assert_uint_eq(s->exception.code, 11);
	ck_assert_uint_eq(s->exception.flags, 2);
	ck_assert_uint_eq(s->exception.address, 0xdead);
	ck_assert_uint_eq(s->exception.thread_id, 102);
	ck_assert_int_eq(s->crashing_thread, 0);
	ck_assert_uint_eq(s->num_threads, 3);
	ck_assert_ptr_null(s->threads[0].name.s);
	check_str(s->threads[1].name, "worker");	// the one whose id is the process's
	ck_assert_uint_eq(s->threads[2].id, 103);
	ck_assert(s->have_entry);
	ck_assert_uint_eq(s->entry, 0x10365);
	ck_assert_uint_eq(s->vdso, 0x900000);
	ck_assert_uint_eq(s->phdr, 0x10040);
	ck_assert_uint_eq(s->phnum, 9);
	ck_assert_uint_eq(s->interpreter, 0x700000);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_assert_uint_eq(s->num_streams, 6);
	ck_assert_str_eq(s->streams[0].name, "NT_PRSTATUS");
	ck_assert_str_eq(s->streams[2].name, "NT_SIGINFO");
	ck_assert_uint_eq(s->streams[2].size, 128);
	ck_assert(s->streams[2].used);
	done(s, &c);
}
END_TEST

// What the address of a signal is: si_addr of a fault, else where it struck (pc).
static const struct {
	uint32_t signal, code;
	bool address, crashed;
} signals[] = {
	{ 11, 1, true, true },			// SIGSEGV / SEGV_MAPERR
	{ 7, 2, true, true },			// SIGBUS / BUS_ADRERR
	{ 8, 1, true, true },			// SIGFPE / FPE_INTDIV
	{ 11, 0, false, true },			// SIGSEGV, by kill(): pid and uid lie there
	{ 6, (uint32_t)-6, false, true },	// SIGABRT / SI_TKILL
	{ 3, 0x80, false, true },		// SIGQUIT
	{ 19, 0, false, false },		// SIGSTOP: gcore's, nobody died
	{ 0, 0, false, false },
};

START_TEST(address_of_a_signal_is_a_faults_only)
{
	struct synth_core c;
	synth_core_init(&c, EM_X86_64, true, false);
	synth_core_thread(&c, 7, (uint16_t)signals[_i].signal, words(), 27, 8);
	synth_core_signal(&c, signals[_i].signal, signals[_i].code, 0xfee1);
	struct fw_snapshot *s = finish(&c);
	ck_assert_int_eq(s->crashed, signals[_i].crashed);
	ck_assert_int_eq(s->exception.present, signals[_i].crashed);
	ck_assert_int_eq(s->crashing_thread, 0);
	if (s->crashed) {
		ck_assert_uint_eq(s->exception.code, signals[_i].signal);
		ck_assert_uint_eq(s->exception.flags, signals[_i].code);
		ck_assert_uint_eq(s->exception.address, signals[_i].address ? 0xfee1 : 0x1010);
	}
	done(s, &c);
}
END_TEST

START_TEST(without_siginfo_the_threads_signal_counts)
{
	char reason[64];
	struct synth_core c;
	begin_core(&c, _i);
	struct fw_snapshot *s = finish(&c);
	ck_assert(s->crashed);
	fw_crash_reason(s, false, reason, sizeof(reason));
	ck_assert_str_eq(reason, "SIGSEGV");
	ck_assert_uint_eq(s->exception.address, s->threads[0].regs.v[s->cpu->pc]);
	done(s, &c);
}
END_TEST

START_TEST(memory_is_what_the_file_holds)
{
	struct synth_core c;
	uint64_t word;
	struct fw_memory_view view;
	begin_core(&c, _i);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);	// not dumped
	synth_core_load(&c, 0x12000, SYNTH_R | SYNTH_W, "\1\2\3\4\5\6\7\10", 8, 0x1000);
	synth_core_load(&c, 0x11000, SYNTH_R, NULL, 0x1000, 0x1000);	// out of order
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->memory.count, 2);
	ck_assert_uint_eq(s->memory.segments[0].start, 0x11000);
	ck_assert_uint_eq(s->memory.segments[0].size, 0x1000);
	ck_assert_uint_eq(s->memory.segments[1].start, 0x12000);
	ck_assert_uint_eq(s->memory.segments[1].size, 8);
	fw_memory_view_init(&view, &s->memory);
	ck_assert(fw_memory_read(&view, 0x12000, 4, &word));
	ck_assert_uint_eq(word, kinds[_i].big ? 0x01020304 : 0x04030201);
	ck_assert(!fw_memory_read(&view, 0x12008, 1, &word));
	ck_assert_uint_eq(s->num_regions, 3);
	ck_assert(s->regions_complete);
	ck_assert_uint_eq(fw_snapshot_region(s, 0x10fff)->permissions,
			  FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_EXEC);
	ck_assert_uint_eq(fw_snapshot_region(s, 0x11000)->permissions,
			  FW_PERM_KNOWN | FW_PERM_READ);
	ck_assert_uint_eq(fw_snapshot_region(s, 0x12fff)->permissions,
			  FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_WRITE);
	ck_assert_ptr_null(fw_snapshot_region(s, 0x13000));
	ck_assert_uint_eq(s->num_notes, 0);
	done(s, &c);
}
END_TEST

START_TEST(permissions_that_no_segment_has_are_unknown)
{
	struct synth_core c;
	begin_core(&c, 0);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	synth_core_load(&c, 0x20000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_regions, 2);
	ck_assert_uint_eq(s->regions[0].permissions, 0);
	ck_assert(!s->regions_complete);
	done(s, &c);
}
END_TEST

START_TEST(neighbours_in_memory_and_file_are_one_segment)
{
	struct synth_core c;
	begin_core(&c, 0);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0x1000, 0x1000);
	synth_core_load(&c, 0x11000, SYNTH_R, NULL, 0x1000, 0x1000);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->memory.count, 1);
	ck_assert_uint_eq(s->memory.segments[0].size, 0x2000);
	ck_assert_uint_eq(s->num_regions, 2);
	done(s, &c);
}
END_TEST

START_TEST(more_headers_than_16_bits_count_are_counted_in_a_section_header)
{
	struct synth_core c;
	begin_core(&c, _i);
	c.xnum = true;
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0x1000, 0x1000);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_threads, 1);
	ck_assert_uint_eq(s->memory.count, 1);
	done(s, &c);
}
END_TEST

// Modules.

// A program of four mappings, a library at two places of the list, and files that
// are only data; the vDSO.
static void add_world(struct synth_core *c, bool pages)
{
	static const uint64_t auxv[][2] = { { AT_ENTRY, 0x11040 }, { AT_SYSINFO_EHDR, 0x90000 } };
	static const struct synth_core_file files[] = {
		{ 0x10000, 0x11000, 0, "/opt/my app/a.out (deleted)" },
		{ 0x11000, 0x12000, 1, "/opt/my app/a.out (deleted)" },
		{ 0x12000, 0x13000, 2, "/opt/my app/a.out (deleted)" },
		{ 0x13000, 0x14000, 2, "/opt/my app/a.out (deleted)" },
		{ 0x30000, 0x32000, 0, "/usr/share/data" },
		{ 0x40000, 0x41000, 0, "/lib/libc.so.6" },
		{ 0x41000, 0x42000, 1, "/lib/libc.so.6" },
		{ 0x43000, 0x44000, 3, "/lib/libc.so.6" },
	};
	uint8_t program[SYNTH_CORE_PAGE], libc[SYNTH_CORE_PAGE], vdso[SYNTH_CORE_PAGE];
	synth_core_page(c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x4100, .entry = 0x1040, .build_id = build_id }, program);
	synth_core_page(c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x4000, .build_id = build_id }, libc);
	// a vDSO that tells its name by link-time addresses
	synth_core_page(c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x800, .dynamic = 0x400 }, vdso);
	unsigned word = synth_core_word(c);
	const uint64_t dynamic[] = { DT_STRTAB, 0x500, DT_SONAME, 1, DT_NULL, 0 };
	for (unsigned i = 0; i < ARRAY_SIZE(dynamic); i++)
		synth_core_put_word(c, vdso + 0x400 + i * word, dynamic[i]);
	strcpy((char *)vdso + 0x501, "linux-vdso.so.1");
	synth_core_auxv(c, auxv, ARRAY_SIZE(auxv));
	synth_core_files(c, files, ARRAY_SIZE(files));
	size_t there = pages ? SYNTH_CORE_PAGE : 0;
	synth_core_load(c, 0x10000, SYNTH_R, program, there, 0x1000);
	synth_core_load(c, 0x11000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	synth_core_load(c, 0x12000, SYNTH_R, NULL, 0, 0x1000);
	synth_core_load(c, 0x13000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	synth_core_load(c, 0x30000, SYNTH_R, NULL, 0, 0x2000);
	synth_core_load(c, 0x40000, SYNTH_R, libc, there, 0x1000);
	synth_core_load(c, 0x41000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	synth_core_load(c, 0x43000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	synth_core_load(c, 0x90000, SYNTH_R | SYNTH_X, vdso, SYNTH_CORE_PAGE, 0x2000);
}

START_TEST(mapped_files_become_modules)
{
	struct synth_core c;
	begin_core(&c, _i);
	add_world(&c, true);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 3);
	ck_assert_uint_eq(s->modules[0].base, 0x10000);
	ck_assert_uint_eq(s->modules[0].size, 0x4000);
	check_str(s->modules[0].code_file, "/opt/my app/a.out");
	check_str(s->modules[0].debug_file, "/opt/my app/a.out");
	ck_assert_str_eq(s->modules[0].code_id.text, CODE_ID);
	ck_assert_str_eq(s->modules[0].debug_id.text, DEBUG_ID);
	ck_assert(s->modules[0].is_main);
	ck_assert_uint_eq(s->modules[1].base, 0x40000);
	ck_assert_uint_eq(s->modules[1].size, 0x4000);
	check_str(s->modules[1].code_file, "/lib/libc.so.6");
	ck_assert(!s->modules[1].is_main);
	check_str(s->modules[2].code_file, "linux-vdso.so.1");
	ck_assert_uint_eq(s->modules[2].base, 0x90000);
	ck_assert_uint_eq(s->modules[2].size, 0x2000);
	ck_assert_uint_eq(s->modules[2].debug_id.n, 0);
	const struct fw_region *r = fw_snapshot_region(s, 0x11000);
	check_str(r->name, "/opt/my app/a.out (deleted)");
	ck_assert_uint_eq(r->file_offset, 0x1000);
	check_str(fw_snapshot_region(s, 0x90000)->name, "[vdso]");
	ck_assert(s->regions_complete);
	ck_assert_uint_eq(s->num_notes, 0);
	done(s, &c);
}
END_TEST

START_TEST(filtered_core_without_header_pages_has_modules_without_ids)
{
	struct synth_core c;
	begin_core(&c, _i);
	add_world(&c, false);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 3);
	ck_assert_uint_eq(s->modules[0].size, 0x4000);
	ck_assert_uint_eq(s->modules[0].debug_id.n, 0);
	ck_assert_uint_eq(s->modules[1].size, 0x4000);
	// the file is found by its bytes, and then has an id
	struct fw_ident debug_id, code_id;
	fw_ident_from_build_id(&debug_id, build_id, sizeof(build_id));
	fw_ident_code_from_build_id(&code_id, build_id, sizeof(build_id));
	fw_snapshot_identify(s, 0, &debug_id, &code_id);
	ck_assert_str_eq(s->modules[0].debug_id.text, DEBUG_ID);
	fw_snapshot_identify(s, 0, &(struct fw_ident){ 0 }, &(struct fw_ident){ 0 });
	ck_assert_str_eq(s->modules[0].debug_id.text, DEBUG_ID);
	done(s, &c);
}
END_TEST

START_TEST(mappings_that_no_segment_describes_leave_the_regions_incomplete)
{
	static const struct synth_core_file files[] = {
		{ 0x10000, 0x11000, 0, "/bin/a" }, { 0x11000, 0x12000, 1, "/bin/a" },
		{ 0x30000, 0x32000, 0, "/usr/share/data" },
	};
	struct synth_core c;
	begin_core(&c, 0);
	synth_core_files(&c, files, ARRAY_SIZE(files));
	synth_core_load(&c, 0x50000, SYNTH_R | SYNTH_X, NULL, 0x1000, 0x1000);
	struct fw_snapshot *s = finish(&c);
	ck_assert(!s->regions_complete);
	// one mapping of unknown permissions may be any file; two may be a program
	ck_assert_uint_eq(s->num_modules, 1);
	check_str(s->modules[0].code_file, "/bin/a");
	done(s, &c);
}
END_TEST

START_TEST(file_mapped_twice_is_two_modules_and_small_ones_stay_one)
{
	// "small": its data shares the first page, which is mapped once more behind it
	static const struct synth_core_file files[] = {
		{ 0x10000, 0x11000, 0, "/lib/small" }, { 0x11000, 0x12000, 0, "/lib/small" },
		{ 0x20000, 0x21000, 0, "/lib/small" }, { 0x21000, 0x22000, 0, "/lib/small" },
	};
	struct synth_core c;
	uint8_t page[SYNTH_CORE_PAGE];
	begin_core(&c, _i);
	synth_core_files(&c, files, ARRAY_SIZE(files));
	synth_core_page(&c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x2000, .build_id = build_id }, page);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, page, sizeof(page), 0x1000);
	synth_core_load(&c, 0x11000, SYNTH_R | SYNTH_W, page, sizeof(page), 0x1000);
	// once more without its header
	synth_core_load(&c, 0x20000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	synth_core_load(&c, 0x21000, SYNTH_R | SYNTH_W, NULL, 0, 0x1000);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 2);
	ck_assert_uint_eq(s->modules[0].size, 0x2000);
	ck_assert_str_eq(s->modules[0].code_id.text, CODE_ID);
	ck_assert_uint_eq(s->modules[1].base, 0x20000);
	ck_assert_uint_eq(s->modules[1].size, 0x2000);
	ck_assert_uint_eq(s->modules[1].code_id.n, 0);
	done(s, &c);
}
END_TEST

START_TEST(library_inside_an_archive_starts_at_its_own_header)
{
	static const struct synth_core_file files[] = {
		{ 0x10000, 0x11000, 7, "/data/app/base.apk" },
		{ 0x11000, 0x12000, 8, "/data/app/base.apk" },
	};
	struct synth_core c;
	uint8_t page[SYNTH_CORE_PAGE];
	begin_core(&c, _i);
	synth_core_files(&c, files, ARRAY_SIZE(files));
	synth_core_page(&c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x2000, .build_id = build_id }, page);
	synth_core_load(&c, 0x10000, SYNTH_R, page, sizeof(page), 0x1000);
	synth_core_load(&c, 0x11000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 1);
	ck_assert_uint_eq(s->modules[0].base, 0x10000);
	ck_assert_str_eq(s->modules[0].code_id.text, CODE_ID);
	done(s, &c);
}
END_TEST

// Without NT_FILE: the program at 0x10000 and two libraries in the linker's list;
// "libb.so" has no header page. copy: the program's is there only as its data's.
static void add_linked_world(struct synth_core *c, bool copy)
{
	static const uint64_t auxv[][2] = {
		{ AT_PHDR, 0x10000 + 64 }, { AT_PHNUM, SYNTH_CORE_PHNUM }, { AT_ENTRY, 0x10800 },
		{ AT_BASE, 0x60000 }, { AT_EXECFN, 0x70100 },
	};
	unsigned word = synth_core_word(c);
	uint64_t mine[ARRAY_SIZE(auxv)][2];
	memcpy(mine, auxv, sizeof(mine));
	mine[0][1] = 0x10000 + (c->wide ? 64 : 52);
	uint8_t program[SYNTH_CORE_PAGE], liba[SYNTH_CORE_PAGE], data[SYNTH_CORE_PAGE] = { 0 };
	synth_core_page(c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x3000, .entry = 0x800, .dynamic = 0x2000,
		.interpreter = "/lib/ld.so", .build_id = build_id }, program);
	synth_core_page(c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x2000, .build_id = build_id }, liba);
	const uint64_t dynamic[] = { DT_NEEDED, 1, DT_DEBUG, 0x70000, DT_NULL, 0 };
	for (unsigned i = 0; i < ARRAY_SIZE(dynamic); i++)
		synth_core_put_word(c, data + i * word, dynamic[i]);
	uint8_t heap[SYNTH_CORE_PAGE] = { 0 };
	synth_core_put(c, heap, 1, 4);				// r_version
	synth_core_put_word(c, heap + word, 0x70200);		// r_map
	const uint64_t maps[][4] = {	// l_addr, l_name, l_ld, l_next
		{ 0x10000, 0x70ff0, 0x12000, 0x70300 },
		{ 0x40000, 0x70140, 0x41f00, 0x70400 },
		{ 0x50000, 0x70180, 0x51f00, 0x70500 },
		{ 0x60000, 0x10300, 0x60f00, 0x70200 },		// a circle
	};
	for (unsigned i = 0; i < ARRAY_SIZE(maps); i++) {
		for (unsigned k = 0; k < 4; k++)
			synth_core_put_word(c, heap + 0x200 + i * 0x100 + k * word, maps[i][k]);
	}
	strcpy((char *)heap + 0x100, "/bin/program");
	strcpy((char *)heap + 0x140, "/lib/liba.so");
	strcpy((char *)heap + 0x180, "/lib/libb.so");
	synth_core_auxv(c, mine, ARRAY_SIZE(mine));
	size_t there = copy ? 0 : SYNTH_CORE_PAGE;
	synth_core_load(c, 0x10000, SYNTH_R | SYNTH_X, program, there, 0x1000);
	synth_core_load(c, 0x11000, SYNTH_R, copy ? program : NULL, 0x1000, 0x1000);
	synth_core_load(c, 0x12000, SYNTH_R | SYNTH_W, data, sizeof(data), 0x1000);
	synth_core_load(c, 0x40000, SYNTH_R | SYNTH_X, liba, sizeof(liba), 0x1000);
	synth_core_load(c, 0x41000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	synth_core_load(c, 0x50000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	synth_core_load(c, 0x51000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	synth_core_load(c, 0x60000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	synth_core_load(c, 0x70000, SYNTH_R | SYNTH_W, heap, sizeof(heap), 0x1000);
}

START_TEST(without_mapped_files_the_linkers_list_tells_the_modules)
{
	struct synth_core c;
	bool copy = _i >= (int)ARRAY_SIZE(kinds);
	begin_core(&c, _i % (int)ARRAY_SIZE(kinds));
	add_linked_world(&c, copy);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 4);
	ck_assert_uint_eq(s->modules[0].base, 0x10000);
	ck_assert_uint_eq(s->modules[0].size, 0x3000);
	check_str(s->modules[0].code_file, "/bin/program");
	ck_assert_str_eq(s->modules[0].debug_id.text, DEBUG_ID);
	ck_assert(s->modules[0].is_main);
	ck_assert_uint_eq(s->modules[1].base, 0x40000);
	ck_assert_uint_eq(s->modules[1].size, 0x2000);
	check_str(s->modules[1].code_file, "/lib/liba.so");
	ck_assert_str_eq(s->modules[1].debug_id.text, DEBUG_ID);
	ck_assert_uint_eq(s->modules[2].base, 0x50000);
	ck_assert_uint_eq(s->modules[2].size, 0x2000);
	check_str(s->modules[2].code_file, "/lib/libb.so");
	ck_assert_uint_eq(s->modules[2].debug_id.n, 0);
	check_str(s->modules[3].code_file, "/lib/ld.so");
	done(s, &c);
}
END_TEST

START_TEST(program_that_its_bytes_name_is_added_with_its_libraries)
{
	struct synth_core c;
	struct fw_error err;
	uint32_t added = 99;
	begin_core(&c, _i);
	add_linked_world(&c, true);
	memset(c.segments[2].data, 0, 4096);	// nothing of the first page is left
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 0);
	ck_assert_uint_eq(s->entry, 0x10800);
	struct fw_module_info info = {
		.base = 0x10000, .size = 0x3000, .code_file = FW_STR("/bin/program"),
		.is_main = true,
	};
	ck_assert_int_eq(fw_snapshot_add_module(s, &info, &err), FW_OK);
	ck_assert_int_eq(fw_snapshot_add_linked(s, 0x12000, &added, &err), FW_OK);
	ck_assert_uint_eq(added, 3);
	ck_assert_uint_eq(s->num_modules, 4);
	ck_assert_ptr_null(snapshot_check(s));
	ck_assert_int_eq(fw_snapshot_add_linked(s, 0x12000, &added, &err), FW_OK);
	ck_assert_uint_eq(added, 0);
	ck_assert_int_eq(fw_snapshot_add_linked(s, 0x40000, &added, &err), FW_NOT_FOUND);
	ck_assert_str_eq(err.message, "the dynamic linker's list is not in the capture");
	done(s, &c);
}
END_TEST

START_TEST(modules_are_added_in_order_and_never_over_others)
{
	struct synth_core c;
	struct fw_error err;
	begin_core(&c, 1);
	struct fw_snapshot *s = finish(&c);
	// more than the room that was made, from both ends
	for (uint64_t i = 0; i < 50; i++) {
		struct fw_module_info m = { .base = 0x100000 + i * 0x1000, .size = 0x1000 };
		ck_assert_int_eq(fw_snapshot_add_module(s, &m, &err), FW_OK);
		m.base = 0xff000 - i * 0x1000;
		ck_assert_int_eq(fw_snapshot_add_module(s, &m, &err), FW_OK);
	}
	ck_assert_uint_eq(s->num_modules, 100);
	ck_assert_ptr_null(snapshot_check(s));
	static const struct { uint64_t base, size; const char *place, *message; } bad[] = {
		{ 0x5000, 0, "0x5000", "the module has no size" },
		{ 0xfffff000, 0x1001, "0xfffff000", "the module leaves the address space" },
		{ UINT64_C(0x100000000), 1, "0x100000000", "the module leaves the address space" },
		{ 0x100fff, 1, "0x100fff", "another module is there" },
		{ 0xc0000, 0xf001, "0xc0000", "another module is there" },
		{ 0x10000, 0x200000, "0x10000", "another module is there" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fw_module_info m = { .base = bad[i].base, .size = bad[i].size };
		ck_assert_int_eq(fw_snapshot_add_module(s, &m, &err), FW_MALFORMED);
		ck_assert_str_eq(err.place, bad[i].place);
		ck_assert_str_eq(err.message, bad[i].message);
	}
	struct fw_module_info last = { .base = 0xfffff000, .size = 0x1000 };
	ck_assert_int_eq(fw_snapshot_add_module(s, &last, &err), FW_OK);
	ck_assert_ptr_null(snapshot_check(s));
	done(s, &c);
}
END_TEST

START_TEST(only_read_only_pages_are_compared)
{
	struct synth_core c;
	uint8_t file[0x4000] = { 0 };
	struct fw_comparison got = { 0 };
	begin_core(&c, _i);
	memset(file, 'f', 0x1000);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	synth_core_load(&c, 0x11000, SYNTH_R, NULL, 0x1000, 0x1000);
	synth_core_load(&c, 0x12000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	struct fw_snapshot *s = finish(&c);
	file[0x1fff] = 1;
	fw_snapshot_compare(s, 0x10000, file, sizeof(file), &got);
	ck_assert_uint_eq(got.present, 0x1000);
	ck_assert_uint_eq(got.equal, 0xfff);
	fw_snapshot_compare(s, 0x11ff0, file, 0x20, &got);	// adds
	ck_assert_uint_eq(got.present, 0x1010);
	ck_assert_uint_eq(got.equal, 0xfff);
	done(s, &c);
}
END_TEST

START_TEST(only_cores_are_captures_among_elf_files)
{
	struct synth_core c;
	begin_core(&c, _i);
	size_t n;
	uint8_t *data = synth_core_finish(&c, &n);
	ck_assert(fw_snapshot_sniff(data, 18));
	ck_assert(!fw_snapshot_sniff(data, 17));
	synth_core_put(&c, data + 16, ET_DYN, 2);
	ck_assert(!fw_snapshot_sniff(data, n));
	synth_core_put(&c, data + 16, 0x0404, 2);
	ck_assert(!fw_snapshot_sniff(data, n));
	synth_core_deinit(&c);
}
END_TEST

Suite *core_suite(void)
{
	enum { KINDS = ARRAY_SIZE(kinds) };
	Suite *suite = suite_create("core");
	TCase *tc = tcase_create("notes");
	tcase_add_loop_test(tc, registers_come_from_their_words, 0, ARRAY_SIZE(reg_cases));
	tcase_add_test(tc, zero_register_of_riscv_is_zero);
	tcase_add_loop_test(tc, cpus_without_registers_are_named, 0, ARRAY_SIZE(named));
	tcase_add_test(tc, registers_of_mips_n32_are_not_mistaken_for_o32);
	tcase_add_loop_test(tc, process_signal_and_auxv_arrive, 0, KINDS);
	tcase_add_loop_test(tc, address_of_a_signal_is_a_faults_only, 0, ARRAY_SIZE(signals));
	tcase_add_loop_test(tc, without_siginfo_the_threads_signal_counts, 0, KINDS);
	tcase_add_loop_test(tc, only_cores_are_captures_among_elf_files, 0, KINDS);
	suite_add_tcase(suite, tc);

	tc = tcase_create("memory");
	tcase_add_loop_test(tc, memory_is_what_the_file_holds, 0, KINDS);
	tcase_add_test(tc, permissions_that_no_segment_has_are_unknown);
	tcase_add_test(tc, neighbours_in_memory_and_file_are_one_segment);
	tcase_add_loop_test(tc, more_headers_than_16_bits_count_are_counted_in_a_section_header, 0,
			    KINDS);
	tcase_add_loop_test(tc, only_read_only_pages_are_compared, 0, KINDS);
	suite_add_tcase(suite, tc);

	tc = tcase_create("modules");
	tcase_add_loop_test(tc, mapped_files_become_modules, 0, KINDS);
	tcase_add_loop_test(tc, filtered_core_without_header_pages_has_modules_without_ids, 0,
			    KINDS);
	tcase_add_test(tc, mappings_that_no_segment_describes_leave_the_regions_incomplete);
	tcase_add_loop_test(tc, file_mapped_twice_is_two_modules_and_small_ones_stay_one, 0, KINDS);
	tcase_add_loop_test(tc, library_inside_an_archive_starts_at_its_own_header, 0, KINDS);
	tcase_add_loop_test(tc, without_mapped_files_the_linkers_list_tells_the_modules, 0,
			    2 * KINDS);
	tcase_add_loop_test(tc, program_that_its_bytes_name_is_added_with_its_libraries, 0, KINDS);
	tcase_add_test(tc, modules_are_added_in_order_and_never_over_others);
	suite_add_tcase(suite, tc);
	return suite;
}
