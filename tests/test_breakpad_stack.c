#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/synth_sym.h"

Suite *breakpad_stack_suite(void);

// ---- STACK CFI ----


START_TEST(cfi_rows_and_their_edges)	// trap 7
{
	struct fw_image *image = synth_sym(AMD64
		"STACK CFI INIT 1000 40 " RULES "\n"
		"STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\n"
		"STACK CFI 1004 .cfa: $rbp 16 +\n"
		"STACK CFI 103f .cfa: $rsp 8 +\n"
		"STACK CFI INIT 1050 10 " RULES "\n");
	ck_assert_str_eq(synth_rules(image, 0xfff), "-");
	ck_assert_str_eq(synth_rules(image, 0x1000), RULES);
	ck_assert_str_eq(synth_rules(image, 0x1001),
			 ".cfa: $rsp 16 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1003),
			 ".cfa: $rsp 16 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^");
	ck_assert_str_eq(synth_rules(image, 0x103e),
			 ".cfa: $rbp 16 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^");
	ck_assert_str_eq(synth_rules(image, 0x103f),
			 ".cfa: $rsp 8 + .ra: .cfa -8 + ^ $rbp: .cfa -16 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1040), "-");
	ck_assert_str_eq(synth_rules(image, 0x1050), RULES);
	ck_assert_str_eq(synth_rules(image, 0x1060), "-");
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(cfi_deltas_form_one_table)	// Breakpad: flat, the last at an address wins (trap 24)
{
	struct fw_image *image = synth_sym(AMD64
		"STACK CFI 1001 .cfa: $rsp 1 +\n"	// before any INIT
		"STACK CFI INIT 2000 10 " RULES "\n"
		"STACK CFI 1008 .cfa: $rsp 24 +\n"	// belongs to the next INIT
		"STACK CFI INIT 1000 10 " RULES "\n"
		"STACK CFI 1004 .cfa: $rsp 99 +\n"
		"STACK CFI 1004 .cfa: $rsp 16 +\n"
		"STACK CFI 3000 .cfa: $rsp 77 +\n"	// in no INIT
		"STACK CFI 1000 $rbx: $rbx\n");		// at the INIT's own address
	ck_assert_str_eq(synth_rules(image, 0x1000), RULES " $rbx: $rbx");
	ck_assert_str_eq(synth_rules(image, 0x1004), ".cfa: $rsp 16 + .ra: .cfa -8 + ^ $rbx: $rbx");
	ck_assert_str_eq(synth_rules(image, 0x1008), ".cfa: $rsp 24 + .ra: .cfa -8 + ^ $rbx: $rbx");
	ck_assert_str_eq(synth_rules(image, 0x2008), RULES);
	ck_assert_str_eq(synth_rules(image, 0x3000), "-");
	ck_assert_str_eq(synth_diag(image), "orphan 2 (2 0)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(cfi_inits_overlap)
{
	struct fw_image *image = synth_sym(AMD64
		"STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
		"STACK CFI 1010 .cfa: $rsp 16 +\n"
		"STACK CFI 1080 .cfa: $rsp 24 +\n"
		"STACK CFI INIT 1040 20 .cfa: $rbp 8 + .ra: .cfa -8 + ^\n"	// nested
		"STACK CFI 1050 .cfa: $rbp 32 +\n"
		"STACK CFI INIT 1000 10 .cfa: $rax 8 + .ra: .cfa -8 + ^\n"	// same start
		"STACK CFI INIT 10f0 20 .cfa: $rbx 8 + .ra: .cfa -8 + ^\n");	// partial
	ck_assert_str_eq(synth_rules(image, 0x1000), ".cfa: $rsp 8 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x103f), ".cfa: $rsp 16 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1040), ".cfa: $rbp 8 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1050), ".cfa: $rbp 32 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1060), ".cfa: $rsp 16 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1080), ".cfa: $rsp 24 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x10ef), ".cfa: $rsp 24 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x10f0), ".cfa: $rbx 8 + .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_diag(image), "overlap 3 (0 0 0)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(cfi_bad_rules)	// trap 38; trap 3 of rust-minidump
{
	struct fw_image *image = synth_sym(AMD64
		"STACK CFI INIT 1000 40 " RULES " $rbx: $rbx\n"
		"STACK CFI 1008 .cfa: $rsp 16 + $rbx: nosuch 8 + .ra: .cfa -16 + ^\n"
		"STACK CFI 1010 .cfa: $rsp 24 + : junk\n"	// what stands before it applies
		"STACK CFI 1018 junk\n"
		"STACK CFI 1020 $nosuchreg: .cfa\n"		// no register of ours
		"STACK CFI 1028 $rbx: .undef\n"
		"STACK CFI INIT 2000 10 " RULES " : junk\n"	// an INIT is unusable as a whole
		"STACK CFI INIT 3000 10\n"
		"STACK CFI INIT 4000 10 $rbx: $rbx\n");		// neither .cfa nor .ra
	ck_assert_str_eq(synth_rules(image, 0x1008),
			 ".cfa: $rsp 16 + .ra: .cfa -16 + ^ $rbx: ?");
	ck_assert_str_eq(synth_rules(image, 0x1010),
			 ".cfa: $rsp 24 + .ra: .cfa -16 + ^ $rbx: ?");
	ck_assert_str_eq(synth_rules(image, 0x1018),
			 ".cfa: $rsp 24 + .ra: .cfa -16 + ^ $rbx: ?");
	ck_assert_str_eq(synth_rules(image, 0x1020),
			 ".cfa: $rsp 24 + .ra: .cfa -16 + ^ $rbx: ?");
	ck_assert_str_eq(synth_rules(image, 0x1028),
			 ".cfa: $rsp 24 + .ra: .cfa -16 + ^ $rbx: .undef");
	ck_assert_str_eq(synth_rules(image, 0x2000), ".cfa: ? .ra: ?");
	ck_assert_str_eq(synth_rules(image, 0x3000), ".cfa: ? .ra: ?");
	ck_assert_str_eq(synth_rules(image, 0x4000), ".cfa: ? .ra: ? $rbx: $rbx");
	ck_assert_str_eq(synth_diag(image), "rule 5 (3 4 5 8 9)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(inputs_that_crash_breakpad)	// its weakness 7
{
	struct fw_image *image = synth_sym(AMD64
		"STACK CFI INIT 1000 10 .cfa: 4 0 / .ra: .cfa -8 + ^\n"
		"STACK CFI INIT 1010 10 .cfa: -5 3 = .ra: .cfa -8 + ^\n");
	ck_assert_str_eq(synth_rules(image, 0x1000), ".cfa: ? .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1010), ".cfa: ? .ra: .cfa -8 + ^");
	ck_assert_str_eq(synth_diag(image), "rule 2 (2 3)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(trampoline_is_told_by_its_row)	// decision 24
{
	struct fw_image *image = synth_sym(AMD64
		"STACK CFI INIT 1000 9 .ra: $rip\n"
		"STACK CFI INIT 2000 10 .ra: $rip\n"
		"STACK CFI 2004 .cfa: $rsp 8 +\n"		// has a CFA after all
		"STACK CFI INIT 3000 10 .cfa: $rsp 8 + .ra: $rip\n"
		"STACK CFI INIT 4000 10 .ra: $rax\n");
	ck_assert_str_eq(synth_rules(image, 0x1000), ".cfa: ? .ra: $rip [signal] [ra in pc]");
	ck_assert_str_eq(synth_rules(image, 0x1008), ".cfa: ? .ra: $rip [signal] [ra in pc]");
	ck_assert_str_eq(synth_rules(image, 0x2000), ".cfa: ? .ra: $rip [signal] [ra in pc]");
	ck_assert_str_eq(synth_rules(image, 0x2004), ".cfa: $rsp 8 + .ra: $rip");
	ck_assert_str_eq(synth_rules(image, 0x3000), ".cfa: $rsp 8 + .ra: $rip");
	ck_assert_str_eq(synth_rules(image, 0x4000), ".cfa: ? .ra: $rax");
	fw_image_destroy(image);
}
END_TEST

START_TEST(return_address_back_in_lr)
{
	struct fw_image *image = synth_sym(
		"MODULE Linux arm64 34E0DBEBEE9EFA94A1B8B0BCFF308D490 app\n"
		"STACK CFI INIT 1000 40 .cfa: sp 0 + .ra: x30\n"
		"STACK CFI 1004 .cfa: sp 16 + .ra: .cfa -8 + ^ x29: .cfa -16 + ^\n"
		"STACK CFI 1010 .cfa: sp 0 + .ra: .ra x29: x29\n"
		"STACK CFI 1014 .ra: .ra 8 +\n"
		"STACK CFI 1018 .ra: .ra\n");
	ck_assert_str_eq(synth_rules(image, 0x1004),
			 ".cfa: sp 16 + .ra: .cfa -8 + ^ x29: .cfa -16 + ^");
	ck_assert_str_eq(synth_rules(image, 0x1010), ".cfa: sp .ra: x30 x29: x29");
	ck_assert_str_eq(synth_rules(image, 0x1014), ".cfa: sp .ra: ? x29: x29");
	ck_assert_str_eq(synth_rules(image, 0x1018), ".cfa: sp .ra: x30 x29: x29");
	ck_assert_str_eq(synth_diag(image), "rule 1 (5)");
	fw_image_destroy(image);
	image = synth_sym(AMD64 "STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .ra\n");
	ck_assert_str_eq(synth_rules(image, 0x1000), ".cfa: $rsp 8 + .ra: ?");
	fw_image_destroy(image);
}
END_TEST

START_TEST(cfi_of_an_unknown_cpu)
{
	static const char text[] =
		"FUNC 1000 10 0 f\n"
		"PUBLIC 2000 0 p\n"
		"STACK CFI INIT 1000 10 " RULES "\n"
		"STACK CFI 1008 .cfa: $rsp 16 +\n"
		"STACK CFI INIT 2000 10 " RULES "\n";
	char with_module[600];
	snprintf(with_module, sizeof(with_module),
		 "MODULE Linux vax 34E0DBEBEE9EFA94A1B8B0BCFF308D490 app\n%s", text);
	for (int i = 0; i < 2; i++) {
		struct fw_image *image = synth_sym(i ? text : with_module);
		ck_assert_str_eq(synth_rules(image, 0x1000), "-");
		ck_assert_str_eq(synth_name(image, 0x1000), "f+0");
		ck_assert_str_eq(synth_name(image, 0x200f), "p+f");
		ck_assert_str_eq(synth_name(image, 0x2010), "-");	// bounded all the same
		ck_assert_str_eq(synth_diag(image), i ? "rule 3 (3 4 5)" : "rule 3 (4 5 6)");
		ck_assert_int_eq(image->cpu, FW_CPU_UNKNOWN);
		fw_image_destroy(image);
	}
}
END_TEST

START_TEST(bad_stack_records)
{
	struct fw_image *image = synth_sym(AMD64
		"STACK\n"
		"STACK CFI\n"
		"STACK XYZ 1 2\n"
		"STACK CFI INIT zz 10 " RULES "\n"
		"STACK CFI INIT 1000\n"
		"STACK CFI INIT 1000 0 " RULES "\n"
		"STACK CFI INIT ffffffff 10 " RULES "\n"
		"STACK CFI INIT 100000000 10 " RULES "\n"
		"STACK CFI INIT 1000 10 " RULES "\n"
		"STACK CFI zz .cfa: $rsp 8 +\n"
		"STACK CFI 100000000 .cfa: $rsp 8 +\n");
	ck_assert_str_eq(synth_rules(image, 0x1000), RULES);
	ck_assert_str_eq(synth_diag(image),
			 "malformed 3 (5 6 11) unknown 3 (2 3 4) range 4 (7 8 9 12)");
	fw_image_destroy(image);
}
END_TEST

/** Many INITs, backwards, against the rows that must be in force. */
START_TEST(cfi_in_reverse_order)
{
	enum { N = 5000 };
	static char text[N * 160 + 100];
	size_t n = (size_t)snprintf(text, sizeof(text), AMD64);
	for (unsigned i = N; i-- > 0;)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
			"STACK CFI INIT %x 20 .cfa: $rsp %u + .ra: .cfa -8 + ^\n"
			"STACK CFI %x .cfa: $rsp %u +\nSTACK CFI %x .cfa: $rbp 16 +\n",
			i * 0x40, 8 + 8 * (i % 7), i * 0x40 + 2, 16 + 8 * (i % 11), i * 0x40 + 9);
	struct fw_image *image = synth_sym(text);
	char want[100];
	for (unsigned i = 0; i < N; i++) {
		snprintf(want, sizeof(want), ".cfa: $rsp %u + .ra: .cfa -8 + ^", 8 + 8 * (i % 7));
		ck_assert_str_eq(synth_rules(image, i * 0x40 + 1), want);
		snprintf(want, sizeof(want), ".cfa: $rsp %u + .ra: .cfa -8 + ^", 16 + 8 * (i % 11));
		ck_assert_str_eq(synth_rules(image, i * 0x40 + 8), want);
		ck_assert_str_eq(synth_rules(image, i * 0x40 + 0x1f),
				 ".cfa: $rbp 16 + .ra: .cfa -8 + ^");
		ck_assert_str_eq(synth_rules(image, i * 0x40 + 0x20), "-");
	}
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

// ---- STACK WIN ----

START_TEST(stack_win_fields)	// traps 17, 18
{
	struct fw_image *image = synth_sym(X86
		"STACK WIN 4 1000 c3 9 2 8 c 14 40 1 $T0 $ebp = $eip $T0 4 + ^ =\n"
		"STACK WIN 0 2000 10 1 0 4 0 0 0 0 1\n"
		"STACK WIN 4 3000 10 0 0 0 0 0 0 1 $T0 $esp 16 @ = $eip $T0 ^ =\n"
		"STACK WIN 1 4000 10 0 0 0 0 0 0 0 0\n"
		"STACK WIN 2 4000 10 0 0 0 0 0 0 0 0\n"
		"STACK WIN 3 4000 10 0 0 0 0 0 0 0 0\n");
	const struct fw_stack_win *w = fw_image_stack_win(image, 0x10c2);
	ck_assert_uint_eq(w->start, 0x1000);
	ck_assert_uint_eq(w->size, 0xc3);
	ck_assert_uint_eq(w->prolog_size, 9);
	ck_assert_uint_eq(w->epilog_size, 2);
	ck_assert_uint_eq(w->params_size, 8);
	ck_assert_uint_eq(w->saved_regs_size, 0xc);
	ck_assert_uint_eq(w->locals_size, 0x14);
	ck_assert_uint_eq(w->max_stack_size, 0x40);
	ck_assert_uint_eq(w->program, 0);
	ck_assert_uint_eq(w->aligns, 0);
	ck_assert_ptr_null(fw_image_stack_win(image, 0x10c3));
	w = fw_image_stack_win(image, 0x2000);
	ck_assert_uint_eq(w->program, FW_NO_PROGRAM);
	ck_assert_uint_eq(w->allocates_base_pointer, 1);
	ck_assert_uint_eq(fw_image_stack_win(image, 0x3000)->aligns, 1);
	ck_assert_str_eq(synth_win(image, 0x4000), "-");	// types 1 to 3: ignored, no fault
	ck_assert_str_eq(synth_diag(image), "");
	fw_image_destroy(image);
}
END_TEST

START_TEST(stack_win_has_program_decides)	// trap 18 of rust-minidump: it drops these
{
	struct fw_image *image = synth_sym(X86
		"STACK WIN 0 1000 10 0 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 4 2000 10 0 0 0 0 0 0 0 1\n"
		"STACK WIN 4 3000 10 0 0 0 0 0 0 0 $eip $esp ^ =\n");	// no number
	ck_assert_uint_eq(fw_image_stack_win(image, 0x1000)->program, 0);
	ck_assert_uint_eq(fw_image_stack_win(image, 0x2000)->program, FW_NO_PROGRAM);
	ck_assert_uint_eq(fw_image_stack_win(image, 0x2000)->allocates_base_pointer, 1);
	ck_assert_str_eq(synth_win(image, 0x3000), "-");
	ck_assert_str_eq(synth_diag(image), "malformed 3 (2 3 4)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(stack_win_innermost_and_type_4_first)	// trap 19 of rust-minidump
{
	struct fw_image *image = synth_sym(X86
		"STACK WIN 4 1000 100 0 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 4 1010 10 0 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 0 1000 200 0 0 0 0 0 0 0 0\n"
		"STACK WIN 0 1014 4 0 0 0 0 0 0 0 0\n"
		"STACK WIN 0 3000 100 0 0 0 0 0 0 0 0\n"
		"STACK WIN 0 3080 100 0 0 0 0 0 0 0 0\n"	// the earlier ends here
		"STACK WIN 0 3080 100 0 0 9 0 0 0 0 0\n");	// equal range: the first
	ck_assert_str_eq(synth_win(image, 0x100f), "type 4 1000+100");
	ck_assert_str_eq(synth_win(image, 0x1015), "type 4 1010+10");
	ck_assert_str_eq(synth_win(image, 0x1020), "type 4 1000+100");
	ck_assert_str_eq(synth_win(image, 0x1100), "type 0 1000+200");
	ck_assert_str_eq(synth_win(image, 0x307f), "type 0 3000+100");
	ck_assert_str_eq(synth_win(image, 0x3080), "type 0 3080+100");
	ck_assert_uint_eq(fw_image_stack_win(image, 0x3080)->params_size, 0);
	ck_assert_str_eq(synth_win(image, 0x3180), "-");
	ck_assert_str_eq(synth_diag(image), "overlap 2 (0 0)");
	fw_image_destroy(image);
}
END_TEST

START_TEST(bad_stack_win)
{
	struct fw_image *image = synth_sym(X86
		"STACK WIN\n"
		"STACK WIN 4\n"
		"STACK WIN 4 1000 10 0 0 0 0 0 0 1\n"
		"STACK WIN 4 1000 10 0 0 0 0 0 0 0\n"
		"STACK WIN 4 1000 10 0 0 0 0 0 zz 1 $eip $esp ^ =\n"
		"STACK WIN 5 1000 10 0 0 0 0 0 0 0 0\n"
		"STACK WIN 4 1000 0 0 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 4 ffffffff 10 0 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 4 1000 10 100000000 0 0 0 0 0 1 $eip $esp ^ =\n"
		"STACK WIN 4 2000 10 0 0 0 0 0 0 1 $eip =\n");	// underflow: no answer, never FPO's
	ck_assert_str_eq(synth_win(image, 0x1000), "-");
	const struct fw_stack_win *w = fw_image_stack_win(image, 0x2000);
	ck_assert_ptr_nonnull(w);
	struct fw_regs regs = { 0 };
	struct fw_memory memory = { 0 };
	struct fw_memory_view view;
	fw_memory_view_init(&view, &memory);
	ck_assert(!fw_program_run(&image->programs, w->program, fw_cpu_get(FW_CPU_X86), &regs,
				  &view, NULL, NULL));
	ck_assert_str_eq(synth_diag(image),
			 "malformed 5 (3 4 5 6 10) unknown 2 (2 7) range 2 (8 9) rule 1 (11)");
	fw_image_destroy(image);
}
END_TEST

Suite *breakpad_stack_suite(void)
{
	Suite *s = suite_create("breakpad_stack");
	TCase *tc = tcase_create("breakpad_stack");
	tcase_add_test(tc, cfi_rows_and_their_edges);
	tcase_add_test(tc, cfi_deltas_form_one_table);
	tcase_add_test(tc, cfi_inits_overlap);
	tcase_add_test(tc, cfi_bad_rules);
	tcase_add_test(tc, inputs_that_crash_breakpad);
	tcase_add_test(tc, trampoline_is_told_by_its_row);
	tcase_add_test(tc, return_address_back_in_lr);
	tcase_add_test(tc, cfi_of_an_unknown_cpu);
	tcase_add_test(tc, bad_stack_records);
	tcase_add_test(tc, cfi_in_reverse_order);
	tcase_add_test(tc, stack_win_fields);
	tcase_add_test(tc, stack_win_has_program_decides);
	tcase_add_test(tc, stack_win_innermost_and_type_4_first);
	tcase_add_test(tc, bad_stack_win);
	suite_add_tcase(s, tc);
	return s;
}
