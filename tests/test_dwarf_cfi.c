#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/rules/cfi_find.h"
#include "tests/synth_cfi.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))
#define CODE(...) (const char *)(const uint8_t[]){ __VA_ARGS__ }, \
	sizeof((const uint8_t[]){ __VA_ARGS__ })

Suite *dwarf_cfi_suite(void);

#define NINES 0x99, 0x99, 0x99, 0x99, 0x99

static struct synth_cfi s;

// What a section came to.
struct decoded {
	struct fw_cfi_builder rows;
	struct fw_program_set programs;
	struct fw_cfi_table table;
	struct fw_programs view;
	struct fw_cfi_skipped skipped;
	struct fw_fde *fdes;
	uint32_t n;
	enum fw_code rc;	// of the last FDE that failed
	struct fw_error err;
	const struct fw_cpu *cpu;
};

static void decode(struct decoded *d, enum fw_cpu_id cpu)
{
	struct fw_dwarf_decoder *decoder;
	memset(d, 0, sizeof(*d));
	d->cpu = fw_cpu_get(cpu);
	struct fw_dwarf_cfi cfi = synth_section(&s, d->cpu);
	fw_cfi_builder_init(&d->rows);
	fw_program_set_init(&d->programs);
	ck_assert_int_eq(fw_dwarf_cfi_list(&cfi, &d->fdes, &d->n, &d->skipped), FW_OK);
	ck_assert_int_eq(fw_dwarf_decoder_create(&cfi, &d->rows, &d->programs, &decoder), FW_OK);
	for (uint32_t i = 0; i < d->n; i++) {
		enum fw_code rc = fw_dwarf_decode_fde(decoder, &d->fdes[i], 0, &d->err);
		if (rc)
			d->rc = rc;
	}
	fw_dwarf_decoder_destroy(decoder);
	ck_assert_int_eq(fw_cfi_finish(&d->rows), FW_OK);
	fw_cfi_view(&d->rows, &d->table);
	struct fw_error err;
	ck_assert_msg(fw_cfi_check(&d->table, &err) == FW_OK, "%s", err.message);
	d->view = (struct fw_programs){ d->programs.ops.data, d->programs.programs.data,
					(uint32_t)d->programs.ops.count,
					(uint32_t)d->programs.programs.count };
	for (uint32_t i = 0; i < d->view.num_programs; i++) {
		uint32_t bad;
		ck_assert(fw_program_sound(d->view.ops + d->view.programs[i].first,
					   d->view.programs[i].count, &bad));
	}
}

static void discard(struct decoded *d)
{
	free(d->fdes);
	fw_cfi_builder_deinit(&d->rows);
	fw_program_set_deinit(&d->programs);
}

// The row in force at an address, as Breakpad would write it; "" where none is.
static const char *row_at(const struct decoded *d, uint32_t address)
{
	static char text[1024];
	struct fw_out out;
	uint32_t count;
	const struct fw_rule *rules = fw_cfi_rules(&d->table, fw_cfi_find(&d->table, address),
						   &count);
	fw_out_init_memory(&out, sizeof(text) - 1);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			fw_out_byte(&out, ' ');
		fw_rule_print(&out, d->cpu, &d->view, rules[i]);
	}
	memcpy(text, out.data ? out.data : "", out.count);
	text[out.count] = '\0';
	fw_out_deinit(&out);
	return text;
}

START_TEST(a_function_with_a_saved_register)
{
	struct decoded d;
	// push %rbx; ...; pop %rbx; ret
	synth_cfi_init(&s, true);
	synth_amd64_cie(&s);
	synth_fde(&s, 0x1000, 0x20);
	synth_u8(&s, 0);		// no augmentation data
	synth_raw(&s, CODE(0x41, 0x0e, 0x10, 0x83, 0x02,	// +1: offset 16, rbx at cfa-16
			   0x4e, 0x0e, 0x08));		// +14: offset 8
	synth_end(&s);
	synth_word(&s, 0, 4);		// terminator
	decode(&d, FW_CPU_AMD64);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_uint_eq(d.fdes[0].start, 0x1000);
	ck_assert_uint_eq(d.fdes[0].size, 0x20);
	ck_assert_int_eq(d.rc, FW_OK);
	ck_assert_str_eq(row_at(&d, 0xfff), "");
	ck_assert_str_eq(row_at(&d, 0x1000), ".cfa: $rsp 8 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(row_at(&d, 0x1001), ".cfa: $rsp 16 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^");
	ck_assert_str_eq(row_at(&d, 0x100e), ".cfa: $rsp 16 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^");
	ck_assert_str_eq(row_at(&d, 0x100f), ".cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^");
	ck_assert_str_eq(row_at(&d, 0x101f), ".cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbx: .cfa -16 + ^");
	ck_assert_str_eq(row_at(&d, 0x1020), "");
	discard(&d);
}
END_TEST

#define START ".cfa: $rsp 8 + .ra: .cfa -8 + ^"

// One FDE of 0x100 bytes at 0x1000 on amd64; the row at 0x10ff. DWARF 5, 6.4.2.
static const struct { const char *what; const char *code; size_t n; const char *row; } ops[] = {
	{ "nop", CODE(0, 0, 0), START },
	{ "def_cfa", CODE(0x0c, 6, 0x90, 1), ".cfa: $rbp 144 + .ra: .cfa -8 + ^" },
	{ "def_cfa_sf", CODE(0x12, 6, 0x7e), ".cfa: $rbp 16 + .ra: .cfa -8 + ^" },
	{ "def_cfa_register", CODE(0x0d, 6), ".cfa: $rbp 8 + .ra: .cfa -8 + ^" },
	{ "def_cfa_offset", CODE(0x0e, 0x18), ".cfa: $rsp 24 + .ra: .cfa -8 + ^" },
	{ "def_cfa_offset_sf", CODE(0x13, 0x7d), ".cfa: $rsp 24 + .ra: .cfa -8 + ^" },
	{ "offset", CODE(0x86, 2), START " $rbp: .cfa -16 + ^" },
	{ "offset of a vector register", CODE(0x80 | 17, 2), START },
	{ "offset_extended", CODE(5, 12, 3), START " $r12: .cfa -24 + ^" },
	{ "offset_extended_sf", CODE(0x11, 12, 0x7f), START " $r12: .cfa 8 + ^" },
	{ "val_offset", CODE(0x14, 12, 3), START " $r12: .cfa -24 +" },
	{ "val_offset_sf", CODE(0x15, 12, 0x7f), START " $r12: .cfa 8 +" },
	{ "negative_offset_extended", CODE(0x2f, 12, 3), START " $r12: .cfa 24 + ^" },
#define ZEROS_9 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80
	{ "offset past 64 bits", CODE(0x11, 12, ZEROS_9, 0x7f), START " $r12: ?" },
	{ "val_offset past 64 bits", CODE(0x15, 12, ZEROS_9, 0x7f), START " $r12: ?" },
	{ "negative offset of 2^63", CODE(0x2f, 12, ZEROS_9, 0x01), START " $r12: ?" },
	{ "register", CODE(9, 12, 13), START " $r12: $r13" },
	{ "register in a vector register", CODE(9, 12, 17), START " $r12: ?" },
	{ "same_value", CODE(8, 0), START " $rax: $rax" },
	{ "undefined", CODE(7, 12), START " $r12: .undef" },
	{ "undefined return address", CODE(7, 16), ".cfa: $rsp 8 + .ra: .undef" },
	{ "restore", CODE(0x8c, 2, 0x0e, 16, 0xcc), ".cfa: $rsp 16 + .ra: .cfa -8 + ^" },
	{ "restore what the CIE says", CODE(0x90, 5, 0xd0), START },
	{ "restore_extended", CODE(0x8c, 2, 6, 12), START },
	{ "remember and restore the CFA, too",
	  CODE(0x0a, 0x0e, 32, 0x86, 4, 0x41, 0x0b), START },
	{ "nested", CODE(0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b, 0x41, 0x0b, 0x86, 2),
	  START " $rbp: .cfa -16 + ^" },
	{ "GNU_args_size", CODE(0x2e, 0x80, 1, 0x86, 2), START " $rbp: .cfa -16 + ^" },
	{ "advance_loc1, 2, 4", CODE(2, 1, 0x0e, 16, 3, 2, 0, 0x0e, 24, 4, 3, 0, 0, 0, 0x0e, 32),
	  ".cfa: $rsp 32 + .ra: .cfa -8 + ^" },
	{ "set_loc", CODE(1, 0x80, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16),
	  ".cfa: $rsp 16 + .ra: .cfa -8 + ^" },
	{ "MIPS_advance_loc8", CODE(0x1d, 1, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16),
	  ".cfa: $rsp 16 + .ra: .cfa -8 + ^" },
	{ "an advance past the end", CODE(0x86, 2, 3, 0, 1, 0x0e, 16), START " $rbp: .cfa -16 + ^" },
	// expressions: the shapes that need no program
	{ "CFA at breg", CODE(0x0f, 2, 0x77, 0x08), START },
	{ "CFA loaded (realigned stacks)", CODE(0x0f, 3, 0x76, 0x78, 0x06),
	  ".cfa: $rbp -8 + ^ .ra: .cfa -8 + ^" },
	{ "expression of breg", CODE(0x10, 6, 2, 0x76, 0), START " $rbp: $rbp ^" },
	{ "val_expression of breg", CODE(0x16, 12, 2, 0x77, 0x10), START " $r12: $rsp 16 +" },
	{ "expression from the CFA", CODE(0x10, 12, 2, 0x23, 0x10), START " $r12: .cfa 16 + ^" },
	{ "val_expression of a load", CODE(0x16, 12, 3, 0x77, 0, 0x06), START " $r12: $rsp ^" },
	{ "CFA of the PLT (psABI's lazy binding stubs)",
	  CODE(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
	  ".cfa: $rsp 8 + $rip 15 and 11 ge 3 shl + .ra: .cfa -8 + ^" },
	{ "CFA loaded, then moved (OpenSSL)", CODE(0x0f, 6, 0x77, 0xd0, 0x00, 0x06, 0x23, 0x08),
	  ".cfa: $rsp 80 + ^ 8 + .ra: .cfa -8 + ^" },
	{ "swap, over, rot and drop of what is known", // rsp - 8, rbp dropped
	  CODE(0x0f, 7, 0x38, 0x77, 0, 0x16, 0x1c, 0x96, 0x96), ".cfa: $rsp 8 - .ra: .cfa -8 + ^" },
	// what means nothing here costs its register only
	{ "expression with an unknown operation", CODE(0x10, 12, 1, 0x97, 0x0e, 16),
	  ".cfa: $rsp 16 + .ra: .cfa -8 + ^ $r12: ?" },
	{ "empty CFA expression", CODE(0x0f, 0), ".cfa: ? .ra: .cfa -8 + ^" },
	{ "CFA by itself", CODE(0x0f, 1, 0x9c), ".cfa: ? .ra: .cfa -8 + ^" },
	{ "expression with a vector register", CODE(0x10, 12, 3, 0x92, 17, 0), START " $r12: ?" },
	{ "address that moves with the module", CODE(0x10, 12, 9, 3, 0, 0, 0, 0, 0, 0, 0, 0),
	  START " $r12: ?" },
	{ "jump backward", CODE(0x10, 12, 4, 0x30, 0x2f, 0xfc, 0xff), START " $r12: ?" },
};

static void one_fde(const char *code, size_t n)
{
	synth_cfi_init(&s, true);
	synth_amd64_cie(&s);
	synth_fde(&s, 0x1000, 0x100);
	synth_u8(&s, 0);
	synth_raw(&s, code, n);
	synth_end(&s);
}

START_TEST(each_operation)
{
	struct decoded d;
	one_fde(ops[_i].code, ops[_i].n);
	decode(&d, FW_CPU_AMD64);
	ck_assert_msg(d.rc == FW_OK, "%s: %s", ops[_i].what, d.err.message);
	const char *row = row_at(&d, 0x10ff);
	ck_assert_msg(strcmp(row, ops[_i].row) == 0, "%s: %s", ops[_i].what, row);
	ck_assert_str_eq(row_at(&d, 0x1100), "");
	discard(&d);
}
END_TEST

// The row at 0x1000 stays, from 0x1001 on there is none.
static const struct { const char *what, *code; size_t n; const char *message; } bad[] = {
	{ "restore_state of nothing", CODE(0x41, 0x0b), "broken call frame instructions" },
	{ "unknown operation", CODE(0x41, 0x3f), "call frame instructions of an unknown kind" },
	{ "window_save on amd64", CODE(0x41, 0x2d), "call frame instructions of an unknown kind" },
	{ "set_loc backward", CODE(0x41, 1, 0, 0x10, 0, 0, 0, 0, 0, 0),
	  "broken call frame instructions" },
	{ "block longer than the entry", CODE(0x41, 0x0f, 0x70), "broken call frame instructions" },
	{ "CFA's offset where it has none", CODE(0x0f, 3, 0x76, 0x78, 0x06, 0x41, 0x0e, 8),
	  "broken call frame instructions" },
	{ "number that does not end",
	  CODE(0x41, 0x0e, NINES, NINES, NINES, NINES),
	  "broken call frame instructions" },
};

START_TEST(rows_before_a_broken_operation_stay)
{
	struct decoded d;
	one_fde(bad[_i].code, bad[_i].n);
	decode(&d, FW_CPU_AMD64);
	ck_assert_msg(d.rc != FW_OK, "%s", bad[_i].what);
	ck_assert_str_eq(d.err.message, bad[_i].message);
	ck_assert_str_eq(d.err.place, "offset 0x1c");
	ck_assert_str_ne(row_at(&d, 0x1000), "");
	ck_assert_str_eq(row_at(&d, 0x1001), "");
	discard(&d);
}
END_TEST

static void fde_with_offset(uint64_t start, uint8_t offset)
{
	synth_fde(&s, start, 0x10);
	if (s.eh_frame)
		synth_u8(&s, 0);
	synth_u8(&s, 0x0e);
	synth_u8(&s, offset);
	synth_end(&s);
}

START_TEST(terminators_in_the_middle_do_not_end_the_section)
{
	struct decoded d;
	synth_cfi_init(&s, true);
	synth_amd64_cie(&s);
	fde_with_offset(0x1000, 16);
	synth_word(&s, 0, 4);
	synth_amd64_cie(&s);
	fde_with_offset(0x2000, 24);
	synth_word(&s, 0, 4);
	decode(&d, FW_CPU_AMD64);
	ck_assert_uint_eq(d.n, 2);
	ck_assert_str_eq(row_at(&d, 0x1000), ".cfa: $rsp 16 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(row_at(&d, 0x2000), ".cfa: $rsp 24 + .ra: .cfa -8 + ^");
	discard(&d);
}
END_TEST

// LSB Core: .eh_frame's ids have 4 bytes whatever the length; DWARF 5, 7.4: .debug_frame's 8.
START_TEST(lengths_of_64_bits)
{
	struct decoded d;
	synth_cfi_init(&s, _i == 0);
	s.wide = true;
	synth_amd64_cie(&s);
	fde_with_offset(0x1000, 16);
	decode(&d, FW_CPU_AMD64);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_str_eq(row_at(&d, 0x1000), ".cfa: $rsp 16 + .ra: .cfa -8 + ^");
	discard(&d);
}
END_TEST

static const struct {
	uint8_t version;
	const char *augmentation, *data;	// data with its length
	size_t n;
	bool listed;
	uint32_t malformed, unsupported;
} cies[] = {
	{ 1, "", CODE(0), true, 0, 0 },
	{ 3, "zR", CODE(1, 0), true, 0, 0 },
	{ 4, "zR", CODE(1, 0), true, 0, 0 },
	{ 2, "zR", CODE(1, 0), false, 0, 1 },
	{ 5, "zR", CODE(1, 0), false, 0, 1 },
	{ 1, "zPLR", CODE(7, 0x1b, 1, 2, 3, 4, 0x1b, 0), true, 0, 0 },
	{ 1, "zPLR", CODE(7, 0x9b, 1, 2, 3, 4, 0x1b, 0), true, 0, 0 },	// indirect
	{ 1, "zRS", CODE(1, 0), true, 0, 0 },
	{ 1, "zRB", CODE(1, 0), true, 0, 0 },
	{ 1, "zRG", CODE(1, 0), true, 0, 0 },
	{ 1, "zRX", CODE(4, 0, 9, 9, 9), true, 0, 0 },	// unknown: skipped by its length
	{ 1, "X", CODE(1, 0), false, 0, 1 },
	{ 1, "zR", CODE(0), false, 1, 0 },		// no room for R
	{ 1, "zR", CODE(0x7f), false, 1, 0 },		// data longer than the entry
	{ 1, "zR", CODE(1, 0x80), false, 0, 1 },	// indirect start
	{ 1, "zRRRRRRRRRRRRRRRR", CODE(1, 0), false, 1, 0 },	// no compiler's
};

START_TEST(versions_and_augmentations)
{
	struct decoded d;
	synth_cfi_init(&s, true);
	synth_cie(&s, cies[_i].version, cies[_i].augmentation, 1, -8, 16);
	if (cies[_i].augmentation[0])
		synth_raw(&s, cies[_i].data, cies[_i].n);
	synth_raw(&s, "\x0c\x07\x08\x90\x01", 5);
	synth_end(&s);
	synth_fde(&s, 0x1000, 0x10);
	if (cies[_i].augmentation[0] == 'z')
		synth_u8(&s, 0);
	synth_end(&s);
	decode(&d, FW_CPU_AMD64);
	ck_assert_uint_eq(d.n, cies[_i].listed);
	ck_assert_uint_eq(d.skipped.malformed, cies[_i].malformed);
	ck_assert_uint_eq(d.skipped.unsupported, cies[_i].unsupported);
	if (!cies[_i].listed)
		ck_assert_uint_eq(d.skipped.first_offset, s.entry);
	ck_assert_str_eq(row_at(&d, 0x1000), cies[_i].listed ? START : "");
	uint32_t count;
	const struct fw_rule *rules = fw_cfi_rules(&d.table, fw_cfi_find(&d.table, 0x1000), &count);
	if (cies[_i].listed)
		ck_assert_int_eq(!!(rules[0].flags & FW_ROW_SIGNAL),
				 strchr(cies[_i].augmentation, 'S') != NULL);
	discard(&d);
}
END_TEST

// LSB Core, "DWARF Exception Header Encoding". The section lies at 0x10000, text
// at 0x20000, data at 0x30000; the FDE starts at 0x40000.
static const struct {
	uint8_t encoding;
	unsigned bytes;
	int64_t value;
	bool from_here;
} encodings[] = {
	{ 0x00, 8, 0x40000, false }, { 0x03, 4, 0x40000, false }, { 0x04, 8, 0x40000, false },
	{ 0x0b, 4, 0x40000, false }, { 0x1b, 4, 0x40000, true }, { 0x10, 8, 0x40000, true },
	{ 0x2b, 4, 0x20000, false }, { 0x3b, 4, 0x10000, false }, { 0x22, 2, 0x20000 - 1, false },
	{ 0x1c, 8, 0x40000, true }, { 0x33, 4, 0x10000, false },
};

START_TEST(pointer_encodings)
{
	struct fw_fde *fdes;
	struct fw_cfi_skipped skipped;
	uint32_t n;
	uint64_t want = 0x40000;
	int64_t value = encodings[_i].value;
	synth_cfi_init(&s, true);
	s.address = 0x10000;
	synth_cie(&s, 1, "zR", 1, -8, 16);
	synth_u8(&s, 1);
	synth_u8(&s, encodings[_i].encoding);
	synth_end(&s);
	s.address_size = 0;	// by hand
	synth_fde(&s, 0, 0);
	if (encodings[_i].bytes == 2) {
		value = 0x7000;
		want = 0x27000;
	}
	if (encodings[_i].from_here)
		value -= (int64_t)(s.address + s.n);
	synth_word(&s, (uint64_t)value, encodings[_i].bytes);
	synth_word(&s, 0x123, encodings[_i].bytes);
	synth_u8(&s, 0);
	synth_end(&s);
	s.address_size = 8;
	struct fw_dwarf_cfi cfi = synth_section(&s, fw_cpu_get(FW_CPU_AMD64));
	cfi.text_address = 0x20000;
	cfi.data_address = 0x30000;
	ck_assert_int_eq(fw_dwarf_cfi_list(&cfi, &fdes, &n, &skipped), FW_OK);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(fdes[0].start, want);
	ck_assert_uint_eq(fdes[0].size, 0x123);
	free(fdes);
}
END_TEST

START_TEST(dropped_functions_and_empty_ranges_are_left_out)
{
	static const uint64_t starts[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1 };
	struct decoded d;
	synth_cfi_init(&s, false);
	synth_amd64_cie(&s);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		fde_with_offset(starts[i], 16);
	synth_fde(&s, 0x900, 0);
	synth_end(&s);
	fde_with_offset(0x1000, 16);
	synth_fde(&s, 0x2000, UINT64_MAX - 0x100);	// wraps
	synth_end(&s);
	decode(&d, FW_CPU_AMD64);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_uint_eq(d.fdes[0].start, 0x1000);
	ck_assert_uint_eq(d.skipped.empty, 5);
	ck_assert_uint_eq(d.skipped.malformed, 1);
	discard(&d);
}
END_TEST

START_TEST(a_length_past_the_section_ends_the_list)
{
	struct decoded d;
	synth_cfi_init(&s, true);
	synth_amd64_cie(&s);
	fde_with_offset(0x1000, 16);
	size_t at = s.n;
	synth_word(&s, 0x1000, 4);
	synth_word(&s, 0, 8);
	decode(&d, FW_CPU_AMD64);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_uint_eq(d.skipped.malformed, 1);
	ck_assert_uint_eq(d.skipped.first_offset, at);
	discard(&d);
}
END_TEST

START_TEST(a_link_register_gives_the_return_address)
{
	struct decoded d;
	// paciasp; stp x29, x30, [sp, #-16]!
	synth_cfi_init(&s, true);
	synth_cie(&s, 1, "zRB", 4, -8, 30);
	synth_raw(&s, "\x01\x00\x0c\x1f\x00", 5);
	synth_end(&s);
	synth_fde(&s, 0x1000, 0x20);
	synth_u8(&s, 0);
	synth_raw(&s, CODE(0x41, 0x2d, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x41, 0xde));
	synth_end(&s);
	decode(&d, FW_CPU_ARM64);
	ck_assert_int_eq(d.rc, FW_OK);
	ck_assert_str_eq(row_at(&d, 0x1000), ".cfa: sp .ra: x30");
	ck_assert_str_eq(row_at(&d, 0x1007), ".cfa: sp .ra: x30");
	ck_assert_str_eq(row_at(&d, 0x1008),
			 ".cfa: sp 16 + .ra: .cfa -8 + ^ x29: .cfa -16 + ^ x30: .cfa -8 + ^");
	ck_assert_str_eq(row_at(&d, 0x100c), ".cfa: sp 16 + .ra: x30 x29: .cfa -16 + ^");
	discard(&d);
}
END_TEST

// Two CIEs whose operations have the same bytes and other meanings.
START_TEST(what_is_remembered_depends_on_the_cie)
{
	struct decoded d;
	synth_cfi_init(&s, false);
	for (int i = 0; i < 2; i++) {
		synth_cie(&s, 3, "", 1, i ? -4 : -8, 16);
		synth_raw(&s, i ? "\x0c\x07\x08\x90\x01\x86\x02" : "\x0c\x07\x08\x90\x01\x00\x00", 7);
		synth_end(&s);
		synth_fde(&s, 0x1000 + (uint64_t)i * 0x100, 0x10);
		synth_raw(&s, CODE(0x86, 3, 0x8c, 3, 0x41, 0xc6));
		synth_end(&s);
	}
	decode(&d, FW_CPU_AMD64);
	ck_assert_str_eq(row_at(&d, 0x1000), START " $rbp: .cfa -24 + ^ $r12: .cfa -24 + ^");
	ck_assert_str_eq(row_at(&d, 0x1001), START " $r12: .cfa -24 + ^");
	ck_assert_str_eq(row_at(&d, 0x1100), ".cfa: $rsp 8 + .ra: .cfa -4 + ^ $rbp: .cfa -12 + ^ "
			 "$r12: .cfa -12 + ^");
	ck_assert_str_eq(row_at(&d, 0x1101), ".cfa: $rsp 8 + .ra: .cfa -4 + ^ $rbp: .cfa -8 + ^ "
			 "$r12: .cfa -12 + ^");
	discard(&d);
}
END_TEST

START_TEST(skipped_bytes_have_no_rows)
{
	struct decoded d;
	struct fw_dwarf_decoder *decoder;
	one_fde(CODE(0x41, 0x0e, 16, 0x42, 0x0e, 24));
	decode(&d, FW_CPU_AMD64);
	struct fw_dwarf_cfi cfi = synth_section(&s, d.cpu);
	fw_cfi_builder_deinit(&d.rows);
	fw_cfi_builder_init(&d.rows);
	ck_assert_int_eq(fw_dwarf_decoder_create(&cfi, &d.rows, &d.programs, &decoder), FW_OK);
	d.fdes[0].skip = 2;
	ck_assert_int_eq(fw_dwarf_decode_fde(decoder, d.fdes, 0x800, NULL), FW_OK);
	fw_dwarf_decoder_destroy(decoder);
	ck_assert_int_eq(fw_cfi_finish(&d.rows), FW_OK);
	fw_cfi_view(&d.rows, &d.table);
	ck_assert_str_eq(row_at(&d, 0x801), "");
	ck_assert_str_eq(row_at(&d, 0x802), ".cfa: $rsp 16 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(row_at(&d, 0x803), ".cfa: $rsp 24 + .ra: .cfa -8 + ^");
	discard(&d);
}
END_TEST

// Values of expressions, by hand: rsp 0x1000, rbp 7, memory at 0x1000: 01 02 .. 10.
static const struct { const char *what, *code; size_t n; uint64_t value; } values[] = {
	{ "minus", CODE(0x77, 0, 0x38, 0x1c), 0xff8 },
	{ "and, or, xor", CODE(0x76, 0, 0x33, 0x1a, 0x38, 0x21, 0x31, 0x27), 10 },
	{ "mul, div", CODE(0x76, 0, 0x33, 0x1e, 0x35, 0x1b), 4 },
	{ "div is signed", CODE(0x09, 0xf6, 0x33, 0x1b), (uint64_t)-3 },
	{ "div of the lowest number", CODE(0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b),
	  UINT64_C(1) << 63 },
	{ "mod", CODE(0x76, 0, 0x34, 0x1d), 3 },
	{ "abs, neg, not", CODE(0x76, 0, 0x1f, 0x19, 0x20), ~UINT64_C(7) },
	{ "shl, shr", CODE(0x76, 0, 0x38, 0x24, 0x34, 0x25), 0x70 },
	{ "shra", CODE(0x09, 0x80, 0x33, 0x26), (uint64_t)-16 },
	{ "shl by the width", CODE(0x76, 0, 0x08, 64, 0x24), 0 },
	{ "shra by more", CODE(0x09, 0x80, 0x08, 99, 0x26), UINT64_MAX },
	{ "eq", CODE(0x76, 0, 0x37, 0x29), 1 }, { "ne", CODE(0x76, 0, 0x37, 0x2e), 0 },
	{ "lt is signed", CODE(0x09, 0xff, 0x76, 0, 0x2d), 1 },
	{ "le", CODE(0x76, 0, 0x37, 0x2c), 1 }, { "gt", CODE(0x76, 0, 0x37, 0x2b), 0 },
	{ "ge is signed", CODE(0x09, 0xff, 0x76, 0, 0x2a), 0 },
	{ "const2u, const4s", CODE(0x0a, 0x34, 0x12, 0x0d, 0xff, 0xff, 0xff, 0xff, 0x22), 0x1233 },
	{ "constu, consts", CODE(0x10, 0x80, 1, 0x11, 0x7f, 0x22), 0x7f },
	{ "deref", CODE(0x77, 0, 0x06), UINT64_C(0x0807060504030201) },
	{ "deref_size", CODE(0x77, 1, 0x94, 2), 0x0302 },
	{ "reg, regx, bregx", CODE(0x56, 0x90, 6, 0x22, 0x92, 6, 1, 0x22), 22 },
	{ "dup of a value", CODE(0x76, 1, 0x12, 0x1e), 64 },
	{ "over", CODE(0x76, 1, 0x77, 1, 0x14, 0x22, 0x22), 0x1011 },
	{ "pick", CODE(0x76, 1, 0x76, 2, 0x76, 3, 0x15, 2, 0x22, 0x22, 0x22), 35 },
	{ "swap of values", CODE(0x76, 1, 0x76, 3, 0x16, 0x1c), 2 },
	{ "swap of a value and a literal", CODE(0x76, 1, 0x33, 0x16, 0x1c), (uint64_t)-5 },
	// 8, 9, 10 -> 10, 8, 9: 10 - (8 - 9)
	{ "rot", CODE(0x76, 1, 0x76, 2, 0x76, 3, 0x17, 0x1c, 0x1c), 11 },
	{ "drop", CODE(0x76, 1, 0x76, 2, 0x13), 8 },
	{ "what lies under the value goes", CODE(0x76, 1, 0x76, 2), 9 },
	{ "bra taken", CODE(0x76, 0, 0x28, 4, 0, 0x31, 0x2f, 1, 0, 0x32), 2 },
	{ "bra not taken", CODE(0x30, 0x28, 4, 0, 0x31, 0x2f, 1, 0, 0x32), 1 },
	{ "bra with values below", CODE(0x76, 1, 0x76, 0, 0x28, 1, 0, 0x1f, 0x31, 0x22), 9 },
	{ "call_frame_cfa", CODE(0x9c, 0x38, 0x22), 0x2008 },
};

START_TEST(expressions_are_evaluated)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	struct fw_segment segment = { 0x1000, sizeof(bytes), bytes };
	struct fw_memory memory = { &segment, 1, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };
	struct fw_memory_view view;
	struct fw_regs regs = { 0 };
	struct decoded d;
	char code[64] = { 0x0c, 7, (char)0x80, 0x20, 0x16, 12, (char)values[_i].n };
	memcpy(code + 7, values[_i].code, values[_i].n);
	one_fde(code, 7 + values[_i].n);	// CFA rsp + 0x1000; r12 by the expression
	decode(&d, FW_CPU_AMD64);
	fw_memory_view_init(&view, &memory);
	fw_regs_set(&regs, 7, 0x1000);
	fw_regs_set(&regs, 6, 7);
	fw_regs_set(&regs, FW_SLOT_CFA, 0x2000);
	uint32_t count;
	const struct fw_rule *rules = fw_cfi_rules(&d.table, fw_cfi_find(&d.table, 0x1000), &count);
	ck_assert_uint_eq(count, 3);
	uint64_t value = 0;
	if (rules[2].kind == FW_RULE_PROGRAM) {
		ck_assert_msg(fw_program_run(&d.view, (uint32_t)rules[2].arg, d.cpu, &regs, &view,
					     NULL, &value), "%s fails", values[_i].what);
	} else {
		uint64_t base = rules[2].kind == FW_RULE_CFA ? 0x2000 : regs.v[rules[2].reg];
		ck_assert_msg(rules[2].kind == FW_RULE_CFA || rules[2].kind == FW_RULE_REG ||
			      rules[2].kind == FW_RULE_LOAD_REG, "%s: kind %u", values[_i].what,
			      rules[2].kind);
		value = base + (uint64_t)(int64_t)rules[2].arg;
		if (rules[2].kind == FW_RULE_LOAD_REG)
			ck_assert(fw_memory_read(&view, value, 8, &value));
	}
	ck_assert_msg(value == values[_i].value, "%s: 0x%llx", values[_i].what,
		      (unsigned long long)value);
	discard(&d);
}
END_TEST

// Every prefix and every byte changed: no crash, and tables that keep their promises.
static void a_bit_of_everything(bool eh_frame)
{
	synth_cfi_init(&s, eh_frame);
	synth_amd64_cie(&s);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		synth_fde(&s, 0x1000 + i * 0x100, 0x100);
		if (eh_frame)
			synth_u8(&s, 0);
		synth_raw(&s, ops[i].code, ops[i].n);
		synth_end(&s);
	}
	synth_word(&s, 0, 4);
}

START_TEST(every_prefix_is_survived)
{
	a_bit_of_everything(_i);
	size_t all = s.n;
	for (s.n = 0; s.n < all; s.n++) {
		struct decoded d;
		decode(&d, FW_CPU_AMD64);
		discard(&d);
	}
}
END_TEST

START_TEST(every_byte_may_be_wrong)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff, 0x40 };
	a_bit_of_everything(_i);
	for (size_t i = 0; i < s.n; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(flips); k++) {
			struct decoded d;
			s.bytes[i] ^= flips[k];
			decode(&d, k & 1 ? FW_CPU_ARM64 : FW_CPU_AMD64);
			discard(&d);
			s.bytes[i] ^= flips[k];
		}
	}
}
END_TEST

Suite *dwarf_cfi_suite(void)
{
	Suite *suite = suite_create("dwarf_cfi");
	TCase *tc = tcase_create("dwarf_cfi");
	tcase_add_test(tc, a_function_with_a_saved_register);
	tcase_add_loop_test(tc, each_operation, 0, ARRAY_SIZE(ops));
	tcase_add_loop_test(tc, rows_before_a_broken_operation_stay, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, terminators_in_the_middle_do_not_end_the_section);
	tcase_add_loop_test(tc, lengths_of_64_bits, 0, 2);
	tcase_add_loop_test(tc, versions_and_augmentations, 0, ARRAY_SIZE(cies));
	tcase_add_loop_test(tc, pointer_encodings, 0, ARRAY_SIZE(encodings));
	tcase_add_test(tc, dropped_functions_and_empty_ranges_are_left_out);
	tcase_add_test(tc, a_length_past_the_section_ends_the_list);
	tcase_add_test(tc, a_link_register_gives_the_return_address);
	tcase_add_test(tc, what_is_remembered_depends_on_the_cie);
	tcase_add_test(tc, skipped_bytes_have_no_rows);
	tcase_add_loop_test(tc, expressions_are_evaluated, 0, ARRAY_SIZE(values));
	tcase_add_loop_test(tc, every_prefix_is_survived, 0, 2);
	tcase_add_loop_test(tc, every_byte_may_be_wrong, 0, 2);
	suite_add_tcase(suite, tc);
	return suite;
}
