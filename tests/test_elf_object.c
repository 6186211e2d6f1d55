#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/elf_internal.h"
#include "symfiles/elf_symtab.h"

Suite *elf_object_suite(void);

/*
 * An object with .text (0x40 bytes), .bss, .text.b (0x20), .debug_info and its
 * relocations. Of the layout .text comes first, then .text.b, then .bss.
 */
enum { SECTIONS = 9, TEXT_AT = 0x10000, INFO = 0x100, MAX_FILE = 0x2000 };

static uint8_t file[MAX_FILE];
static bool wide, big;

static void put(size_t at, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++, v >>= 8)
		file[at + (big ? n - 1 - i : i)] = (uint8_t)v;
}

static void header(unsigned i, uint32_t name, uint32_t type, uint64_t flags,
		   uint64_t offset, uint64_t size, uint32_t link, uint32_t info, uint64_t align)
{
	const size_t at = 0x40 + i * (wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	const unsigned w = wide ? 8 : 4;
	const size_t after = at + 8 + 4 * w;	// flags, address, offset, size
	put(at, 4, name);
	put(at + 4, 4, type);
	put(at + 8, w, flags);
	put(at + 8 + 2 * w, w, offset);
	put(at + 8 + 3 * w, w, size);
	put(after, 4, link);
	put(after + 4, 4, info);
	put(after + 8, w, align);
}

static const char NAMES[] = "\0.text\0.bss\0.text.b\0.debug_info\0.rel\0.symtab\0.strtab";

/** @p entries of @p rela relocations at 0x800, the contents of .debug_info at 0x1000. */
static size_t object(uint16_t machine, bool is_wide, bool is_big, bool rela, uint64_t relocations)
{
	const unsigned w = is_wide ? 8 : 4;
	wide = is_wide;
	big = is_big;
	memset(file, 0, sizeof(file));
	memcpy(file, ELFMAG, SELFMAG);
	file[EI_CLASS] = wide ? ELFCLASS64 : ELFCLASS32;
	file[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
	file[EI_VERSION] = EV_CURRENT;
	put(16, 2, ET_REL);
	put(18, 2, machine);
	put(20, 4, EV_CURRENT);
	put(wide ? 40 : 32, w, 0x40);
	put(wide ? 52 : 40, 2, wide ? 64 : 52);
	put(wide ? 58 : 46, 2, wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	put(wide ? 60 : 48, 2, SECTIONS);
	put(wide ? 62 : 50, 2, 7);
	memcpy(file + 0x400, NAMES, sizeof(NAMES));
	header(1, 7, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x500, 0x30, 0, 0, 32);
	header(2, 12, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x540, 0x20, 0, 0, 64);
	header(3, 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x500, 0x40, 0, 0, 16);
	header(4, 20, SHT_PROGBITS, 0, 0x1000, INFO, 0, 0, 1);
	header(5, 32, rela ? SHT_RELA : SHT_REL, 0, 0x800,
	       relocations * (rela ? 3 : 2) * w, 6, 4, 8);
	header(6, 37, SHT_SYMTAB, 0, 0x600, 4 * (wide ? 24 : 16), 7, 1, 8);
	header(7, 45, SHT_STRTAB, 0, 0x400, sizeof(NAMES), 0, 0, 1);
	// symbols: none; .text + 0x10; .text.b + 4; undefined
	for (unsigned i = 1; i < 4; i++) {
		const size_t at = 0x600 + i * (wide ? 24 : 16);
		const uint16_t section = i == 1 ? 3 : i == 2 ? 2 : 0;
		put(at, 4, 2);
		put(at + (wide ? 8 : 4), w, i == 1 ? 0x10 : 4);
		file[at + (wide ? 4 : 12)] = STT_FUNC | STB_GLOBAL << 4;
		put(at + (wide ? 6 : 14), 2, section);
	}
	return sizeof(file);
}

static void relocation(unsigned i, bool rela, uint64_t at, uint32_t symbol, uint32_t type,
		       int64_t addend)
{
	const unsigned w = wide ? 8 : 4;
	const size_t to = 0x800 + i * (rela ? 3 : 2) * w;
	put(to, w, at);
	put(to + w, w, wide ? (uint64_t)symbol << 32 | type : symbol << 8 | type);
	if (rela)
		put(to + 2 * w, w, (uint64_t)addend);
}

static struct fw_elf *opened(void)
{
	struct fw_elf *elf;
	struct fw_error err;
	ck_assert_msg(fw_elf_open_bytes(file, sizeof(file), &elf, &err) == FW_OK, "%s", err.message);
	return elf;
}

START_TEST(sections_are_laid_out)
{
	object(EM_X86_64, true, false, true, 0);
	struct fw_elf *elf = opened();
	struct fw_elf_symtab t;
	struct fw_elf_sym s;
	struct fw_bytes b;
	uint64_t at;
	ck_assert_uint_eq(fw_elf_base(elf), TEXT_AT);
	ck_assert_uint_eq(fw_elf_shown_base(elf), 0);
	ck_assert(fw_elf_section(elf, ".text", &b, &at) && at == TEXT_AT);
	ck_assert(fw_elf_section(elf, ".text.b", &b, &at) && at == TEXT_AT + 0x40);
	ck_assert_uint_eq(elf->sections.data[0].address, TEXT_AT + 0x60);	// .bss
	ck_assert(fw_elf_has_code(elf));
	ck_assert_uint_eq(fw_elf_span(elf), 0x1000);
	ck_assert(fw_elf_symtab(elf, SHT_SYMTAB, &t));
	ck_assert(fw_elf_sym(&t, 1, &s) && s.value == TEXT_AT + 0x10);
	ck_assert(fw_elf_sym(&t, 2, &s) && s.value == TEXT_AT + 0x44);
	ck_assert(fw_elf_sym(&t, 3, &s) && s.value == 4);
	fw_elf_close(elf);
}
END_TEST

// Psabis, "Relocation Types". S of symbol 1 is 0x10010; the place is .debug_info + 8.
#define SYM UINT64_C(0x10010)
static const struct {
	const char *what;
	uint16_t machine;
	bool wide, big, rela;
	uint32_t type;
	uint64_t there;			// 8 bytes, in the file's order
	int64_t addend;
	uint64_t want;
} kinds[] = {
	{ "R_X86_64_NONE", EM_X86_64, true, false, true, 0, 7, 5, 7 },
	{ "R_X86_64_64", EM_X86_64, true, false, true, 1, 99, 0x20, SYM + 0x20 },
	{ "R_X86_64_PC32", EM_X86_64, true, false, true, 2, 0x1122334400000000, -4,
	  0x1122334400000000 + SYM - 8 - 4 },
	{ "R_X86_64_32", EM_X86_64, true, false, true, 10, -1ULL, 1, 0xffffffff00000000 + SYM + 1 },
	{ "R_X86_64_32S", EM_X86_64, true, false, true, 11, 0, -0x10020, 0xfffffff0 },
	{ "R_X86_64_PC64", EM_X86_64, true, false, true, 24, 0, 0, SYM - 8 },
	{ "R_X86_64_DTPOFF64: of no address", EM_X86_64, true, false, true, 17, 3, 9, 3 },
	{ "R_386_32", EM_386, false, false, false, 1, 0x500000030, 0, 0x500000030 + SYM },
	{ "R_386_32, negative", EM_386, false, false, false, 1, 0xfffffffe, 0, SYM - 2 },
	{ "R_386_PC32", EM_386, false, false, false, 2, 0xfffffffc, 0, SYM - 8 - 4 },
	{ "R_ARM_ABS32", EM_ARM, false, false, false, 2, 4, 0, SYM + 4 },
	{ "R_ARM_REL32", EM_ARM, false, false, false, 3, 4, 0, SYM - 8 + 4 },
	{ "R_ARM_PREL31", EM_ARM, false, false, false, 42, 0x80000004, 0, 0x80000000 + SYM - 8 + 4 },
	{ "R_ARM_PREL31, negative", EM_ARM, false, false, false, 42, 0x7fffffff, 0, SYM - 8 - 1 },
	{ "R_ARM_ABS32, big endian", EM_ARM, false, true, false, 2, 0x400000000, 0,
	  (SYM + 4) << 32 },
	{ "R_AARCH64_ABS64", EM_AARCH64, true, false, true, 257, 0, 8, SYM + 8 },
	{ "R_AARCH64_ABS32", EM_AARCH64, true, false, true, 258, 0, 8, SYM + 8 },
	{ "R_AARCH64_PREL32", EM_AARCH64, true, false, true, 261, 0, 8, SYM },
	{ "R_RISCV_64", EM_RISCV, true, false, true, 2, 0, 8, SYM + 8 },
	{ "R_RISCV_ADD32", EM_RISCV, true, false, true, 35, 0x100, 8, SYM + 0x108 },
	{ "R_RISCV_SUB16", EM_RISCV, true, false, true, 38, 0x50031, 0, 0x50021 },
	{ "R_RISCV_SET8", EM_RISCV, true, false, true, 54, 0xaabb, 1, 0xaa11 },
	{ "R_RISCV_SET6", EM_RISCV, true, false, true, 53, 0xffff, 1, 0xffd1 },
	{ "R_RISCV_SUB6", EM_RISCV, true, false, true, 52, 0x55, 0, 0x45 },
	{ "R_RISCV_32_PCREL", EM_RISCV, true, false, true, 57, 0, 0, SYM - 8 },
	{ "R_RISCV_SET_ULEB128", EM_RISCV, true, false, true, 60, 0x77808080, 0, 0x00848090 },
	{ "R_RISCV_SUB_ULEB128", EM_RISCV, true, false, true, 61, 0x7706ff9f, 0, 0x7702ff8f },
	{ "R_PPC64_ADDR64", EM_PPC64, true, true, true, 38, 0, 8, SYM + 8 },
	{ "R_390_PC32", EM_S390, true, true, true, 5, 7, 0, (SYM - 8) << 32 | 7 },
	{ "R_MIPS_32", EM_MIPS, false, true, false, 2, 0x2000000000, 0, (SYM + 0x20) << 32 },
};

START_TEST(each_kind_of_relocation)
{
	const typeof(*kinds) *k = &kinds[_i];
	struct fw_bytes b;
	uint64_t got = 0;
	object(k->machine, k->wide, k->big, k->rela, 1);
	put(0x1008, 8, k->there);
	relocation(0, k->rela, 8, 1, k->type, k->addend);
	struct fw_elf *elf = opened();
	ck_assert(fw_elf_section(elf, ".debug_info", &b, NULL));
	ck_assert(fw_bytes_u64(&b, 8, &got));
	ck_assert_msg(got == k->want, "%s: 0x%lx, not 0x%lx", k->what, got, k->want);
	ck_assert_msg(fw_bytes_u64(&b, 0, &got) && got == 0, "%s", k->what);
	ck_assert_msg(fw_bytes_u64(&b, 16, &got) && got == 0, "%s", k->what);
	fw_elf_close(elf);
}
END_TEST

START_TEST(mips64_little_endian)
{
	struct fw_bytes b;
	uint64_t got;
	object(EM_MIPS, true, false, true, 1);
	put(0x800, 8, 8);
	put(0x808, 4, 1);		// r_sym; then r_ssym, r_type3, r_type2
	file[0x80f] = R_MIPS_64;	// r_type
	put(0x810, 8, 8);
	struct fw_elf *elf = opened();
	ck_assert(fw_elf_section(elf, ".debug_info", &b, NULL));
	ck_assert(fw_bytes_u64(&b, 8, &got));
	ck_assert_uint_eq(got, SYM + 8);
	fw_elf_close(elf);
}
END_TEST

START_TEST(what_is_out_of_range_is_left)
{
	static const struct { uint64_t at; uint32_t symbol; } bad[] = {
		{ INFO, 1 }, { INFO - 7, 1 }, { UINT64_MAX, 1 }, { 8, 3 }, { 8, 4 }, { 8, UINT32_MAX },
	};
	struct fw_bytes b;
	const unsigned n = sizeof(bad) / sizeof(*bad);
	object(EM_X86_64, true, false, true, n);
	for (unsigned i = 0; i < n; i++)
		relocation(i, true, bad[i].at, bad[i].symbol, R_X86_64_64, 0x5a5a);
	// what lies behind the section
	struct fw_elf *elf = opened();
	ck_assert(fw_elf_section(elf, ".debug_info", &b, NULL));
	for (unsigned i = 0; i < INFO + 8; i++)
		ck_assert_uint_eq(b.data[i], 0);
	fw_elf_close(elf);
	// a number without end, and one that the section cuts
	object(EM_RISCV, true, false, true, 2);
	memset(file + 0x1000, 0x80, INFO);
	relocation(0, true, 0, 1, 60, 0);
	relocation(1, true, INFO - 1, 1, 61, 0);
	elf = opened();
	ck_assert(fw_elf_section(elf, ".debug_info", &b, NULL));
	for (unsigned i = 0; i < INFO; i++)
		ck_assert_uint_eq(b.data[i], 0x80);
	fw_elf_close(elf);
}
END_TEST

START_TEST(tables_that_lie)
{
	// each leaves the contents, and nothing is read past the file
	for (unsigned i = 0; i < 5; i++) {
		struct fw_bytes b;
		object(EM_X86_64, true, false, true, 1);
		relocation(0, true, 8, 1, R_X86_64_64, 0);
		const size_t rel = 0x40 + 5 * sizeof(Elf64_Shdr), sym = rel + sizeof(Elf64_Shdr);
		if (i == 0)
			put(rel + offsetof(Elf64_Shdr, sh_link), 4, SECTIONS + 5);
		else if (i == 1)
			put(rel + offsetof(Elf64_Shdr, sh_link), 4, 7);	// no symbol table
		else if (i == 2)
			put(rel + offsetof(Elf64_Shdr, sh_info), 4, SECTIONS);
		else if (i == 3)
			put(rel + offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX);
		else
			put(sym + offsetof(Elf64_Shdr, sh_offset), 8, MAX_FILE - 8);
		struct fw_elf *elf = opened();
		ck_assert(fw_elf_section(elf, ".debug_info", &b, NULL));
		for (unsigned k = 0; k < INFO; k++)
			ck_assert_uint_eq(b.data[k], 0);
		fw_elf_close(elf);
	}
}
END_TEST

START_TEST(too_large_for_addresses)
{
	object(EM_X86_64, true, false, true, 0);
	put(0x40 + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX - 5);	// .bss
	put(0x40 + 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addralign), 8, UINT64_MAX);
	struct fw_elf *elf = opened();
	ck_assert_uint_eq(elf->sections.data[0].address, 0);
	ck_assert_uint_eq(elf->sections.data[1].address, TEXT_AT + 0x40);
	fw_elf_close(elf);
}
END_TEST

// Many tables that name the same entries: a small file, much work.
START_TEST(the_limit_of_relocations)
{
	enum { TABLES = 40000, ENTRIES = 2000 };
	static_assert((uint64_t)TABLES * ENTRIES > FW_MAX_RELOCATIONS, "over it");
	object(EM_386, false, false, false, 0);
	const size_t size = sizeof(file) + ENTRIES * 8 + (TABLES + SECTIONS) * sizeof(Elf32_Shdr);
	uint8_t *bytes = calloc(1, size);
	struct fw_elf *elf = NULL;
	struct fw_error err;
	ck_assert_ptr_nonnull(bytes);
	const size_t table = sizeof(file) + ENTRIES * 8;
	memcpy(bytes, file, sizeof(file));
	memcpy(bytes + table, file + 0x40, SECTIONS * sizeof(Elf32_Shdr));
	for (unsigned i = 0; i < TABLES; i++) {
		Elf32_Shdr sh = { .sh_type = SHT_REL, .sh_offset = sizeof(file),
				  .sh_size = ENTRIES * 8, .sh_link = 6, .sh_info = 4 };
		memcpy(bytes + table + (SECTIONS + i) * sizeof(sh), &sh, sizeof(sh));
	}
	Elf32_Ehdr eh;
	memcpy(&eh, bytes, sizeof(eh));
	eh.e_shoff = (Elf32_Off)table;
	eh.e_shnum = TABLES + SECTIONS;
	memcpy(bytes, &eh, sizeof(eh));
	ck_assert_int_eq(fw_elf_open_bytes(bytes, size, &elf, &err), FW_LIMIT);
	ck_assert_str_eq(err.message, "more than 67108864 relocations");
	free(bytes);
}
END_TEST

Suite *elf_object_suite(void)
{
	Suite *s = suite_create("elf_object");
	TCase *tc = tcase_create("elf_object");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, sections_are_laid_out);
	tcase_add_loop_test(tc, each_kind_of_relocation, 0, sizeof(kinds) / sizeof(*kinds));
	tcase_add_test(tc, mips64_little_endian);
	tcase_add_test(tc, what_is_out_of_range_is_left);
	tcase_add_test(tc, tables_that_lie);
	tcase_add_test(tc, too_large_for_addresses);
	tcase_add_test(tc, the_limit_of_relocations);
	suite_add_tcase(s, tc);
	return s;
}
