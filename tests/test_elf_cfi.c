#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "lib/rules/cfi_find.h"
#include "symfiles/elf_image.h"
#include "tests/synth_cfi.h"

Suite *elf_cfi_suite(void);

enum { SPACE = 0x8000, MAX_SECTIONS = 6 };

// A file mapped at 0 whose sections lie where they are linked.
struct file {
	uint8_t bytes[SPACE];
	Elf64_Shdr sections[MAX_SECTIONS];
	unsigned n;
	char names[128];
	size_t names_size;
	Elf64_Phdr hdr;		// PT_GNU_EH_FRAME
};
static struct file f;

static void put_section(const char *name, uint64_t at, const void *data, size_t n)
{
	Elf64_Shdr *sh = &f.sections[f.n++];
	memcpy(f.bytes + at, data, n);
	f.names_size += f.names_size == 0;
	sh->sh_name = (Elf64_Word)f.names_size;
	strcpy(f.names + f.names_size, name);
	f.names_size += strlen(name) + 1;
	sh->sh_type = SHT_PROGBITS;
	sh->sh_flags = SHF_ALLOC;
	sh->sh_addr = sh->sh_offset = at;
	sh->sh_size = n;
}

static void put_amd64_headers(bool sections)
{
	enum { SHDRS = 0x7000, NAMES = 0x7800 };
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2, .e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr ph[2] = { { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = SPACE,
			       .p_memsz = SPACE, .p_align = 0x1000 }, f.hdr };
	if (sections) {
		put_section(".shstrtab", NAMES, f.names, sizeof(f.names));
		memcpy(f.bytes + NAMES, f.names, sizeof(f.names));
		f.sections[f.n - 1].sh_type = SHT_STRTAB;
		eh.e_shoff = SHDRS;
		eh.e_shnum = (Elf64_Half)(f.n + 1);
		eh.e_shstrndx = (Elf64_Half)f.n;
		memcpy(f.bytes + SHDRS + sizeof(Elf64_Shdr), f.sections, f.n * sizeof(Elf64_Shdr));
	}
	memcpy(f.bytes, &eh, sizeof(eh));
	memcpy(f.bytes + sizeof(eh), ph, sizeof(ph));
}

static struct fw_builder *compile(struct fw_cfi_table *t)
{
	struct fw_elf_files files = { 0 };
	struct fw_builder *b;
	struct fw_error err = { 0 };
	ck_assert_msg(fw_elf_open_bytes(f.bytes, SPACE, &files.elf, &err) == FW_OK, "%s",
		      err.message);
	ck_assert_int_eq(fw_builder_create(&b, &err), FW_OK);
	ck_assert_msg(fw_elf_cfi_into(&files, b, &err) == FW_OK, "%s", err.message);
	ck_assert_int_eq(fw_cfi_finish(&b->cfi), FW_OK);
	fw_cfi_view(&b->cfi, t);
	ck_assert_msg(fw_cfi_check(t, &err) == FW_OK, "%s", err.message);
	fw_elf_close(files.elf);
	return b;
}

static void expect_row(const struct fw_cfi_table *t, enum fw_cpu_id cpu, uint32_t address,
		       const char *want)
{
	struct fw_out out;
	uint32_t count;
	const struct fw_rule *rules = fw_cfi_rules(t, fw_cfi_find(t, address), &count);
	fw_out_init_memory(&out, 1024);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			fw_out_byte(&out, ' ');
		fw_rule_print(&out, fw_cpu_get(cpu), NULL, rules[i]);
	}
	ck_assert_msg(out.count == strlen(want) && memcmp(out.data ? out.data : "", want, out.count) == 0,
		      "0x%x: %.*s", address, (int)out.count, out.data ? out.data : "");
	fw_out_deinit(&out);
}

static void fde(struct synth_cfi *s, uint64_t start, uint64_t size, uint8_t offset)
{
	synth_fde(s, start, size);
	if (s->eh_frame)
		synth_u8(s, 0);
	synth_u8(s, 0x0e);
	synth_u8(s, offset);
	synth_end(s);
}

START_TEST(debug_frame_speaks_where_eh_frame_is_silent)
{
	static struct synth_cfi eh, debug;
	struct fw_cfi_table t;
	memset(&f, 0, sizeof(f));
	synth_cfi_init(&eh, true);
	synth_amd64_cie(&eh);
	fde(&eh, 0x3020, 0x10, 48);	// not in the order of addresses
	fde(&eh, 0x3000, 0x10, 16);
	synth_cfi_init(&debug, false);
	synth_amd64_cie(&debug);
	fde(&debug, 0x3000, 0x10, 80);	// the same again
	fde(&debug, 0x3008, 0x10, 88);	// begins in one, ends in a gap
	fde(&debug, 0x301c, 0x10, 96);	// begins in a gap, ends in one
	fde(&debug, 0x3040, 0x10, 104);
	put_section(".eh_frame", 0x1000, eh.bytes, eh.n);
	f.sections[0].sh_type = SHT_X86_64_UNWIND;
	put_section(".debug_frame", 0x2000, debug.bytes, debug.n);
	put_amd64_headers(true);
	struct fw_builder *b = compile(&t);
	static const struct { uint32_t at; const char *row; } rows[] = {
		{ 0x2fff, "" }, { 0x3000, ".cfa: $rsp 16 + .ra: .cfa -8 + ^" },
		{ 0x300f, ".cfa: $rsp 16 + .ra: .cfa -8 + ^" },
		{ 0x3010, ".cfa: $rsp 88 + .ra: .cfa -8 + ^" },
		{ 0x3017, ".cfa: $rsp 88 + .ra: .cfa -8 + ^" },
		{ 0x3018, "" }, { 0x301b, "" }, { 0x301c, ".cfa: $rsp 96 + .ra: .cfa -8 + ^" },
		{ 0x3020, ".cfa: $rsp 48 + .ra: .cfa -8 + ^" },
		{ 0x302f, ".cfa: $rsp 48 + .ra: .cfa -8 + ^" }, { 0x3030, "" },
		{ 0x3040, ".cfa: $rsp 104 + .ra: .cfa -8 + ^" }, { 0x3050, "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_row(&t, FW_CPU_AMD64, rows[i].at, rows[i].row);
	fw_builder_destroy(b);
}
END_TEST

START_TEST(without_section_headers_eh_frame_is_found_by_its_header)
{
	static struct synth_cfi eh;
	struct fw_cfi_table t;
	memset(&f, 0, sizeof(f));
	synth_cfi_init(&eh, true);
	synth_amd64_cie(&eh);
	fde(&eh, 0x3000, 0x10, 16);
	synth_word(&eh, 0, 4);		// a terminator in the middle
	synth_amd64_cie(&eh);
	size_t last = eh.n;
	fde(&eh, 0x3020, 0x10, 48);
	synth_word(&eh, 0, 4);
	fde(&eh, 0x3040, 0x10, 64);	// what follows .eh_frame and is none of it
	memcpy(f.bytes + 0x1100, eh.bytes, eh.n);
	// version 1; pcrel|sdata4, udata4, datarel|sdata4; one entry
	const uint8_t header[] = { 1, 0x1b, 0x03, 0x3b, 0xfc, 0, 0, 0, 1, 0, 0, 0, 0x20, 0x20, 0, 0,
				   (uint8_t)last, 1, 0, 0 };
	ck_assert_uint_lt(last, 256);
	memcpy(f.bytes + 0x1000, header, sizeof(header));
	f.hdr = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = 0x1000,
			      .p_vaddr = 0x1000, .p_filesz = sizeof(header),
			      .p_memsz = sizeof(header) };
	put_amd64_headers(false);
	struct fw_builder *b = compile(&t);
	expect_row(&t, FW_CPU_AMD64, 0x3000, ".cfa: $rsp 16 + .ra: .cfa -8 + ^");
	expect_row(&t, FW_CPU_AMD64, 0x3020, ".cfa: $rsp 48 + .ra: .cfa -8 + ^");
	expect_row(&t, FW_CPU_AMD64, 0x3040, "");
	fw_builder_destroy(b);
}
END_TEST

static uint32_t prel31(uint32_t to, uint32_t at)
{
	return (to - at) & 0x7fffffff;
}

static void put_arm(const uint32_t *index, size_t n, const uint32_t *table, size_t table_n)
{
	enum { INDEX = 0x1000, TABLE = 0x1800, SHDRS = 0x7000, NAMES = 0x7800 };
	static const char names[] = "\0.ARM.exidx\0.shstrtab";
	Elf32_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_ARM, .e_version = EV_CURRENT,
		.e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 1, .e_shentsize = sizeof(Elf32_Shdr), .e_shnum = 3, .e_shstrndx = 2,
		.e_shoff = SHDRS,
	};
	Elf32_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = SPACE,
			  .p_memsz = SPACE, .p_align = 0x1000 };
	Elf32_Shdr sh[3] = {
		[1] = { .sh_name = 1, .sh_type = SHT_ARM_EXIDX, .sh_flags = SHF_ALLOC,
			.sh_addr = INDEX, .sh_offset = INDEX, .sh_size = (Elf32_Word)(n * 4) },
		[2] = { .sh_name = 12, .sh_type = SHT_STRTAB, .sh_offset = NAMES,
			.sh_size = sizeof(names) },
	};
	memset(&f, 0, sizeof(f));
	memcpy(f.bytes, &eh, sizeof(eh));
	memcpy(f.bytes + sizeof(eh), &ph, sizeof(ph));
	memcpy(f.bytes + SHDRS, sh, sizeof(sh));
	memcpy(f.bytes + NAMES, names, sizeof(names));
	memcpy(f.bytes + INDEX, index, n * 4);
	memcpy(f.bytes + TABLE, table, table_n * 4);
}

// EHABI 10.3; instructions and their meaning as readelf -u writes them.
START_TEST(arm_index_entries_become_rows)
{
	struct fw_cfi_table t;
	const uint32_t index[] = {
		prel31(0x3000, 0x1000), 0x8002afb0,	// vsp += 12; pop {r4-r11, lr}; finish
		prel31(0x3010, 0x1008), 1,		// cannot unwind
		prel31(0x3020, 0x1010), prel31(0x1800, 0x1014),	// model 1, in the table
		prel31(0x3030, 0x1018), 0x80b0b0b0,	// nothing: a leaf
		prel31(0x3040, 0x1020), 0x809bab80,	// vsp = r11; pop {r4-r7, lr}?; half an instruction
		prel31(0x3050, 0x1028), 0x8000b0b0,	// vsp += 4
		prel31(0x3070, 0x1030), prel31(0x1810, 0x1034),	// a personality routine
		prel31(0x3080, 0x1038), 0x81000000,	// inline of another model: refused
	};
	// vsp += 52 and 256; pop {lr}; finish
	const uint32_t table[] = { 0x81010c3f, 0x8400b0b0, 0, 0,
				   prel31(0x5000, 0x1810), 0x009b8408 };
	put_arm(index, sizeof(index) / 4, table, sizeof(table) / 4);
	struct fw_builder *b = compile(&t);
	expect_row(&t, FW_CPU_ARM, 0x2fff, "");
	expect_row(&t, FW_CPU_ARM, 0x3000,
		   ".cfa: r13 48 + .ra: .cfa -4 + ^ r4: .cfa -36 + ^ r5: .cfa -32 + ^ "
		   "r6: .cfa -28 + ^ r7: .cfa -24 + ^ r8: .cfa -20 + ^ r9: .cfa -16 + ^ "
		   "r10: .cfa -12 + ^ r11: .cfa -8 + ^ r14: .cfa -4 + ^");
	expect_row(&t, FW_CPU_ARM, 0x3010, "");
	expect_row(&t, FW_CPU_ARM, 0x3020, ".cfa: r13 312 + .ra: .cfa -4 + ^ r14: .cfa -4 + ^");
	expect_row(&t, FW_CPU_ARM, 0x3030, ".cfa: r13 .ra: r14");
	expect_row(&t, FW_CPU_ARM, 0x3040, "");
	expect_row(&t, FW_CPU_ARM, 0x3050, ".cfa: r13 4 + .ra: r14");
	// vsp = r11; pop {r7, lr}
	expect_row(&t, FW_CPU_ARM, 0x3070,
		   ".cfa: r11 8 + .ra: .cfa -4 + ^ r7: .cfa -8 + ^ r14: .cfa -4 + ^");
	expect_row(&t, FW_CPU_ARM, 0x3080, "");
	fw_builder_destroy(b);
}
END_TEST

Suite *elf_cfi_suite(void)
{
	Suite *suite = suite_create("elf_cfi");
	TCase *tc = tcase_create("elf_cfi");
	tcase_add_test(tc, debug_frame_speaks_where_eh_frame_is_silent);
	tcase_add_test(tc, without_section_headers_eh_frame_is_found_by_its_header);
	tcase_add_test(tc, arm_index_entries_become_rows);
	suite_add_tcase(suite, tc);
	return suite;
}
