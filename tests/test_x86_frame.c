#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/rules/cfi_find.h"
#include "lib/walk/x86_frame.h"
#include "symfiles/elf_frames.h"
#include "symfiles/lazy_cfi.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))
#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

Suite *x86_frame_suite(void);

enum { SP = 4, BP = 5 };

// A function and what gas -march=generic64 says its frame is at an offset; by hand.
#define FUNCTION CODE(0xf3, 0x0f, 0x1e, 0xfa,	/* 0 endbr64 */ \
	0x55, 0x48, 0x89, 0xe5,			/* 4 push %rbp; mov %rsp,%rbp */ \
	0x41, 0x54, 0x53,			/* 8 push %r12; push %rbx */ \
	0x48, 0x83, 0xec, 0x20,			/* 11 sub $32,%rsp */ \
	0x85, 0xff, 0x74, 0x0a,			/* 15 test %edi,%edi; je 29 */ \
	0x48, 0x83, 0xc4, 0x20,			/* 19 add $32,%rsp */ \
	0x5b, 0x41, 0x5c, 0x5d, 0xc3,		/* 23 pop %rbx; pop %r12; pop %rbp; ret */ \
	0x90,					/* 28 nop: nothing leads here */ \
	0xe8, 1, 0, 0, 0,			/* 29 call */ \
	0xeb, 0xef)				/* 34 jmp 19 */

static const struct { uint32_t at; bool exact, known; int64_t sp; bool bp; uint16_t saved; }
function[] = {
	{ 0, true, true, 8, false, 0 },
	{ 5, true, true, 16, false, 1 << BP },
	{ 8, true, true, 16, true, 1 << BP },
	{ 11, true, true, 32, true, 1 << BP | 1 << 12 | 1 << 3 },
	{ 15, true, true, 64, true, 1 << BP | 1 << 12 | 1 << 3 },
	{ 23, true, true, 32, true, 1 << BP | 1 << 12 | 1 << 3 },
	{ 24, true, true, 24, true, 1 << BP | 1 << 12 },
	{ 27, true, true, 8, false, 0 },
	{ 28, true, false, 0, false, 0 },
	{ 29, true, true, 64, true, 1 << BP | 1 << 12 | 1 << 3 },
	{ 34, true, true, 64, true, 1 << BP | 1 << 12 | 1 << 3 },
	{ 34, false, true, 64, true, 1 << BP | 1 << 12 | 1 << 3 },	// where the call returns
	{ 23, false, false, 0, false, 0 },	// no call ends there
	{ 6, true, false, 0, false, 0 },	// inside an instruction
	{ 36, true, false, 0, false, 0 },	// behind its end
};

START_TEST(frame_at_each_place)
{
	struct fw_x86_frame f;
	bool known = fw_x86_frame_at(FUNCTION, function[_i].at, function[_i].exact, true, &f);
	ck_assert_int_eq(known, function[_i].known);
	if (!known)
		return;
	ck_assert(f.sp_known);
	ck_assert_int_eq(f.sp, function[_i].sp);
	ck_assert_int_eq(f.bp_known, function[_i].bp);
	if (f.bp_known)
		ck_assert_int_eq(f.bp, 16);
	ck_assert_uint_eq(f.saved, function[_i].saved);
	if (f.saved >> BP & 1)
		ck_assert_int_eq(f.at[BP], -16);
	if (f.saved >> 3 & 1)
		ck_assert_int_eq(f.at[3], -32);
}
END_TEST

// Code whose frame is not to be known: refused, not guessed.
static const struct { const char *what; const uint8_t *code; size_t n; uint32_t at; } refused[] = {
	{ "two ways that disagree", CODE(0x74, 0x01, 0x50, 0x90, 0xc3), 3 },
	{ "popped more than it has", CODE(0x58, 0x58, 0x90), 2 },
	{ "an unknown instruction", CODE(0x06, 0x90), 1 },
	{ "sp from another register", CODE(0x48, 0x89, 0xc4, 0x90), 3 },
	{ "alloca without a frame pointer", CODE(0x48, 0x29, 0xc4, 0x90), 3 },
	{ "only a jump table leads there", CODE(0xff, 0xe0, 0x90), 2 },
	{ "cut off", CODE(0x48, 0x81), 2 },
	{ "sp exchanged", CODE(0x48, 0x87, 0xe0, 0x90), 3 },
};

START_TEST(what_is_not_understood_is_refused)
{
	struct fw_x86_frame f;
	ck_assert_msg(!fw_x86_frame_at(refused[_i].code, (uint32_t)refused[_i].n, refused[_i].at,
				       true, true, &f), "%s", refused[_i].what);
}
END_TEST

struct tally { uint32_t same, other, unknown; };

static void compare(struct tally *t, const struct fw_rule *rules, const struct fw_x86_frame *f,
		    bool known)
{
	enum { RBP = 6, RSP = 7 };
	if (rules[0].kind != FW_RULE_REG || (rules[0].reg != RBP && rules[0].reg != RSP))
		return;
	bool have = known && (rules[0].reg == RSP ? f->sp_known : f->bp_known);
	if (!have)
		t->unknown++;
	else if ((rules[0].reg == RSP ? f->sp : f->bp) == rules[0].arg)
		t->same++;
	else
		t->other++;
}

static void compare_function(struct tally *t, const struct fw_elf *elf, struct fw_lazy_cfi *cfi,
			     uint32_t start, uint32_t size)
{
	static uint8_t code[2048];
	uint32_t n;
	const struct fw_rule *rules = fw_lazy_cfi_rules(cfi, start, &n, NULL);
	// parts of functions begin with the frame of the whole
	if (size > sizeof(code) || rules == NULL || rules[0].kind != FW_RULE_REG ||
	    rules[0].reg != 7 || rules[0].arg != 8 || !fw_elf_code(elf, start, code, size))
		return;
	struct fw_x86_insn in;
	uint32_t i = 0;
	for (uint32_t at = 0; at < size; at += in.length, i++) {
		struct fw_x86_frame f;
		if (!fw_x86_decode(code + at, size - at, true, &in))
			return;
		if (i % 5 != start % 5)
			continue;
		rules = fw_lazy_cfi_rules(cfi, start + at, &n, NULL);
		if (rules != NULL)
			compare(t, rules, &f, fw_x86_frame_at(code, size, at, true, true, &f));
	}
}

// What compilers say of their functions' frames, instruction by instruction.
static const char *const libraries[] = { "libc.so.6", "libm.so.6", "libstdc++.so.6" };

START_TEST(frames_as_the_compiler_states_them)
{
	char path[128];
	struct tally t = { 0 };
	struct fw_elf *elf;
	struct fw_lazy_cfi *cfi;
	struct fw_elf_frames frames = { 0 };
	struct fw_diag diag = { 0 };
	snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", libraries[_i]);
	if (access(path, R_OK) != 0 || fw_elf_open(path, &elf, NULL) != FW_OK)
		return;		// not here
	struct fw_frame_section *eh = &frames.sections[FW_EH_FRAME];
	eh->base = fw_elf_base(elf);
	eh->found = fw_elf_eh_frame(elf, fw_elf_cpu(elf), &eh->cfi);
	ck_assert_int_eq(fw_elf_frames_list(&frames, &diag), FW_OK);
	ck_assert_int_eq(fw_lazy_cfi_open(elf, NULL, &cfi), FW_OK);
	for (uint32_t i = 0; i < frames.n; i++) {
		const struct fw_frame_section *s;
		compare_function(&t, elf, cfi, frames.order[i].start,
				 (uint32_t)fw_elf_frames_fde(&frames, i, &s)->size);
	}
	// The others, looked at one by one: glibc's __mpn_mul_1 and the like, whose
	// assembly pushes without a word in the CFI; in libstdc++ a .cold part that is taken
	// for a function.
	ck_assert_uint_gt(t.same, 1000);
	ck_assert_uint_lt(t.other, t.same / 500);
	ck_assert_uint_lt(t.unknown, t.same / 8);
	fw_lazy_cfi_close(cfi);
	fw_elf_frames_deinit(&frames);
	fw_elf_close(elf);
}
END_TEST

Suite *x86_frame_suite(void)
{
	Suite *suite = suite_create("x86_frame");
	TCase *tc = tcase_create("x86_frame");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, frame_at_each_place, 0, ARRAY_SIZE(function));
	tcase_add_loop_test(tc, what_is_not_understood_is_refused, 0, ARRAY_SIZE(refused));
	tcase_add_loop_test(tc, frames_as_the_compiler_states_them, 0, ARRAY_SIZE(libraries));
	suite_add_tcase(suite, tc);
	return suite;
}
