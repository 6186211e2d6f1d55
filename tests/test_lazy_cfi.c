#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/rules/cfi_find.h"
#include "lib/rules/cfi_walk.h"
#include "symfiles/elf_image.h"
#include "symfiles/lazy_cfi.h"
#include "tests/synth_frames.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *lazy_cfi_suite(void);

// One file both ways.
struct both {
	struct fw_elf *elf, *debug;
	struct fw_builder *b;
	struct fw_cfi_table table;
	struct fw_programs programs;
	struct fw_lazy_cfi *lazy;
	const struct fw_cpu *cpu;
	uint64_t asked;
};

static void open_both(struct both *w)
{
	struct fw_elf_files files = { .elf = w->elf, .debug = w->debug };
	struct fw_error err = { 0 };
	w->cpu = fw_elf_cpu(w->elf);
	ck_assert_int_eq(fw_builder_create(&w->b, &err), FW_OK);
	ck_assert_int_eq(fw_lazy_cfi_open(w->elf, w->debug, &w->lazy), FW_OK);
	ck_assert_msg(fw_elf_cfi_into(&files, w->b, &err) == FW_OK, "%s", err.message);
	ck_assert_int_eq(fw_cfi_finish(&w->b->cfi), FW_OK);
	fw_cfi_view(&w->b->cfi, &w->table);
	w->programs = (struct fw_programs){
		w->b->programs.ops.data, w->b->programs.programs.data,
		(uint32_t)w->b->programs.ops.count, (uint32_t)w->b->programs.programs.count };
}

static void close_both(struct both *w)
{
	fw_lazy_cfi_close(w->lazy);
	fw_builder_destroy(w->b);
	fw_elf_close(w->debug);
	fw_elf_close(w->elf);
}

static bool same_program(const struct fw_programs *a, uint32_t i, const struct fw_programs *b,
			 uint32_t k)
{
	const struct fw_program *p = &a->programs[i], *q = &b->programs[k];
	return p->count == q->count && memcmp(a->ops + p->first, b->ops + q->first,
					      p->count * sizeof(struct fw_op)) == 0;
}

/** Flags as well: FW_ROW_SIGNAL, FW_ROW_PLAIN. */
static void expect_same(struct both *w, uint32_t offset)
{
	struct fw_programs programs;
	uint32_t n, lazy_n;
	const struct fw_rule *rules = fw_cfi_rules(&w->table, fw_cfi_find(&w->table, offset), &n);
	const struct fw_rule *lazy = fw_lazy_cfi_rules(w->lazy, offset, &lazy_n, &programs);
	w->asked++;
	ck_assert_msg(n == lazy_n, "0x%x: %u rules, lazily %u", offset, n, lazy_n);
	ck_assert_msg((rules == NULL) == (lazy == NULL), "0x%x", offset);
	for (uint32_t i = 0; i < n; i++) {
		struct fw_rule a = rules[i], b = lazy[i];
		if (a.kind == b.kind &&
		    (a.kind == FW_RULE_PROGRAM || a.kind == FW_RULE_LOAD_PROGRAM) &&
		    same_program(&w->programs, (uint32_t)a.arg, &programs, (uint32_t)b.arg))
			b.arg = a.arg;
		ck_assert_msg(memcmp(&a, &b, sizeof(a)) == 0, "0x%x: rule %u", offset, i);
	}
}

/** Both ends of every stretch of the table, and of what lies between them. */
static void compare_table(struct both *w)
{
	struct fw_cfi_walk walk;
	struct fw_cfi_stretch s;
	uint64_t end = 0;
	fw_cfi_walk_init(&walk, &w->table);
	while (fw_cfi_walk_next(&walk, &s)) {
		if (s.start > end) {
			expect_same(w, (uint32_t)end);
			expect_same(w, (uint32_t)(end + s.start) / 2);
			expect_same(w, (uint32_t)s.start - 1);
		}
		expect_same(w, (uint32_t)s.start);
		expect_same(w, (uint32_t)((s.start + s.end) / 2));
		expect_same(w, (uint32_t)s.end - 1);
		end = s.end;
	}
	expect_same(w, (uint32_t)end);
	expect_same(w, UINT32_MAX);
}

static const char *const libraries[] = {
	"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libcrypto.so.3",
	"libpthread.so.0",
};

// The table itself is compared with readelf row by row: tests/oracle_cfi.py.
START_TEST(whole_libraries_as_the_compiled_table)
{
	struct both w = { 0 };
	char path[128];
	snprintf(path, sizeof(path), "/lib/x86_64-linux-gnu/%s", libraries[_i]);
	if (access(path, R_OK) != 0)
		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", libraries[_i]);
	if (fw_elf_open(path, &w.elf, NULL) != FW_OK)
		return;		// not here
	open_both(&w);
	compare_table(&w);
	ck_assert_uint_gt(w.asked, 4);
	close_both(&w);
}
END_TEST

static struct synth_frames f;
static struct synth_cfi eh, debug;

static void open_synthetic(struct both *w)
{
	struct fw_error err = { 0 };
	memset(w, 0, sizeof(*w));
	ck_assert_msg(fw_elf_open_bytes(f.bytes, SYNTH_FRAMES_SIZE, &w->elf, &err) == FW_OK, "%s",
		      err.message);
	open_both(w);
}

static void compare_all(uint32_t from, uint32_t to)
{
	struct both w;
	open_synthetic(&w);
	for (uint32_t at = from; at < to; at++)
		expect_same(&w, at);
	close_both(&w);
}

static uint64_t fde(struct synth_cfi *s, uint64_t start, uint64_t size, const char *code, size_t n)
{
	synth_fde(s, start, size);
	const uint64_t at = s->entry;
	if (s->eh_frame)
		synth_u8(s, 0);
	synth_raw(s, code, n);
	synth_end(s);
	return at;
}
#define FDE(s, start, size, ...) fde(s, start, size, (const char *)(const uint8_t[]){ __VA_ARGS__ }, \
	sizeof((const uint8_t[]){ __VA_ARGS__ }))

enum { EH = 0x1000, DEBUG = 0x2000, HDR = 0x2800 };

/** .eh_frame_hdr with a table of datarel sdata4, as every linker writes. */
static void put_index(const uint64_t (*entries)[2], uint32_t n)
{
	uint8_t bytes[512] = { 1, 0x1b, 0x03, 0x3b };
	int32_t frame = EH - (HDR + 4);
	memcpy(bytes + 4, &frame, 4);
	memcpy(bytes + 8, &n, 4);
	for (uint32_t i = 0; i < n; i++) {
		int32_t start = (int32_t)(entries[i][0] - HDR);
		int32_t at = (int32_t)(EH + entries[i][1] - HDR);
		memcpy(bytes + 12 + i * 8, &start, 4);
		memcpy(bytes + 16 + i * 8, &at, 4);
	}
	synth_frames_section(&f, ".eh_frame_hdr", HDR, bytes, 12 + n * 8);
	synth_frames_index(&f, HDR, 12 + n * 8);
}

static void begin(void)
{
	synth_frames_init(&f);
	synth_cfi_init(&eh, true);
	eh.address = EH;
	synth_amd64_cie(&eh);
	synth_cfi_init(&debug, false);
	synth_amd64_cie(&debug);
}

static void finish(const uint64_t (*entries)[2], uint32_t n)
{
	synth_word(&eh, 0, 4);
	synth_frames_section(&f, ".eh_frame", EH, eh.bytes, eh.n);
	if (debug.n > 0x20)
		synth_frames_section(&f, ".debug_frame", DEBUG, debug.bytes, debug.n);
	if (n)
		put_index(entries, n);
	synth_frames_finish(&f, true);
}

// advance 4; offset 16; rbp at cfa-16; advance 4; cfa rbp+16
#define PROLOGUE 0x44, 0x0e, 16, 0x86, 2, 0x44, 0x0d, 6

static const struct {
	const char *what;
	uint64_t wrong[2][2];	// of entries 1 and 2: {start, offset} added
	bool table;
} indexes[] = {
	{ "none", { { 0 } }, false },
	{ "a true one", { { 0 } }, true },
	{ "a start that is not its FDE's", { { 4, 0 } }, true },
	{ "an FDE that is none", { { 0, 4 } }, true },
	{ "an FDE outside the section", { { 0, 0x900 } }, true },
	{ "the CIE for an FDE", { { 0, UINT64_MAX } }, true },
	{ "two of one start", { { 0, 0 }, { (uint64_t)-0x20, 0 } }, true },
	{ "not sorted", { { 0x100, 0 }, { (uint64_t)-0x30, 0 } }, true },
};

START_TEST(the_search_table_is_only_a_hint)
{
	uint64_t entries[4][2];
	begin();
	entries[0][0] = 0x3000, entries[0][1] = FDE(&eh, 0x3000, 0x20, PROLOGUE);
	entries[1][0] = 0x3020, entries[1][1] = FDE(&eh, 0x3020, 0x18, PROLOGUE);
	entries[2][0] = 0x3040, entries[2][1] = FDE(&eh, 0x3040, 0x10, PROLOGUE);
	entries[3][0] = 0x3060, entries[3][1] = FDE(&eh, 0x3060, 0x10, 0x07, 16);
	for (unsigned i = 0; i < 2; i++) {
		entries[i + 1][0] += indexes[_i].wrong[i][0];
		entries[i + 1][1] = indexes[_i].wrong[i][1] == UINT64_MAX ? 0 :
				    entries[i + 1][1] + indexes[_i].wrong[i][1];
	}
	finish(entries, indexes[_i].table ? 4 : 0);
	compare_all(0x2ff0, 0x3080);
	// each address as the first that is asked
	for (uint32_t at = 0x2ffc; at < 0x3074; at += 4)
		compare_all(at, at + 1);
}
END_TEST

START_TEST(broken_programs_end_where_the_table_ends_them)
{
	uint64_t entries[6][2] = { { 0x3000 }, { 0x3020 }, { 0x3040 }, { 0x3060 }, { 0x3080 },
				   { 0x30a0 } };
	begin();
	entries[0][1] = FDE(&eh, 0x3000, 0x20, PROLOGUE, 0x44, 0x3f);		// unknown
	entries[1][1] = FDE(&eh, 0x3020, 0x20, PROLOGUE, 0x44, 0x0b);		// restores nothing
	entries[2][1] = FDE(&eh, 0x3040, 0x20, PROLOGUE, 4, 0xff, 0xff, 0xff, 0xff);
	entries[3][1] = FDE(&eh, 0x3060, 0x20, 0x3f);
	entries[4][1] = FDE(&eh, 0x3080, 0x20, 0x0a, 0x44, 0x0e, 16, 0x0f, 3, 0x77, 8, 0x06, 0x44,
			    0x0b, 0x44, 0x16, 12, 4, 0x77, 8, 0x31, 0x1c);
	entries[5][1] = FDE(&eh, 0x30a0, 0x20, PROLOGUE, 1, 0, 0x30, 0, 0, 0, 0, 0, 0);	// backward
	finish(entries, 6);
	compare_all(0x2ff0, 0x30d0);
}
END_TEST

START_TEST(signal_frames_and_undefined_return_addresses)
{
	struct both w;
	uint64_t entries[2][2] = { { 0x3000 }, { 0x3020 } };
	uint32_t n;
	begin();
	entries[0][1] = FDE(&eh, 0x3000, 0x20, 0x07, 16);
	synth_cie(&eh, 1, "zRS", 1, -8, 16);
	synth_raw(&eh, "\x01\x00\x0c\x07\x08\x90\x01", 7);
	synth_end(&eh);
	entries[1][1] = FDE(&eh, 0x3020, 0x20, PROLOGUE);
	finish(entries, 2);
	compare_all(0x2ff0, 0x3050);
	open_synthetic(&w);
	const struct fw_rule *rules = fw_lazy_cfi_rules(w.lazy, 0x3010, &n, NULL);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(rules[1].kind, FW_RULE_UNDEFINED);
	ck_assert_int_eq(rules[0].flags, 0);
	rules = fw_lazy_cfi_rules(w.lazy, 0x3020, &n, NULL);
	ck_assert_int_eq(rules[0].flags, FW_ROW_SIGNAL | FW_ROW_PLAIN);
	ck_assert_int_eq(rules[1].kind, FW_RULE_LOAD_CFA);
	close_both(&w);
}
END_TEST

START_TEST(both_sections_as_the_table_merges_them)
{
	uint64_t entries[5][2] = { { 0x3000 }, { 0x3020 }, { 0x3040 }, { 0x3044 }, { 0x3080 } };
	begin();
	entries[0][1] = FDE(&eh, 0x3000, 0x10, 0x0e, 16);
	entries[1][1] = FDE(&eh, 0x3020, 0x10, 0x0e, 24);
	entries[2][1] = FDE(&eh, 0x3040, 0x30, 0x0e, 32);	// the next begins in it
	entries[3][1] = FDE(&eh, 0x3044, 0x04, 0x0e, 40);
	entries[4][1] = FDE(&eh, 0x3080, 0x10, 0x0e, 48);
	FDE(&eh, 0x3080, 0x18, 0x0e, 56);			// of equal starts, the first
	FDE(&eh, 0x3100, 0, 0x0e, 64);
	FDE(&debug, 0x3000, 0x10, 0x0e, 80);	// the same again
	FDE(&debug, 0x3008, 0x10, 0x44, 0x0e, 88);	// begins in one, ends in a gap
	FDE(&debug, 0x301c, 0x10, 0x0e, 96);	// begins in a gap, ends in one
	FDE(&debug, 0x3050, 0x08, 0x0e, 104);
	FDE(&debug, 0x30a0, 0x10, 0x0e, 112);
	FDE(&debug, 0, 0x10, 0x0e, 120);		// dropped by the linker
	finish(entries, _i ? 5 : 0);
	compare_all(0x2ff0, 0x3120);
	compare_all(0, 0x20);
}
END_TEST

START_TEST(without_section_headers)
{
	uint64_t entries[1][2] = { { 0x3000 } };
	begin();
	entries[0][1] = FDE(&eh, 0x3000, 0x20, PROLOGUE);
	synth_word(&eh, 0, 4);
	synth_frames_section(&f, ".eh_frame", EH, eh.bytes, eh.n);
	put_index(entries, 1);
	synth_frames_finish(&f, false);
	compare_all(0x2ff0, 0x3030);
}
END_TEST

START_TEST(what_only_compiling_reads_is_refused)
{
	struct fw_elf *elf;
	struct fw_lazy_cfi *lazy;
	begin();
	FDE(&eh, 0x3000, 0x20, PROLOGUE);
	FDE(&debug, 0x3000, 0x20, PROLOGUE);
	synth_frames_section(&f, ".eh_frame", EH, eh.bytes, eh.n);
	synth_frames_section(&f, ".zdebug_frame", DEBUG, debug.bytes, debug.n);
	synth_frames_finish(&f, true);
	ck_assert_int_eq(fw_elf_open_bytes(f.bytes, SYNTH_FRAMES_SIZE, &elf, NULL), FW_OK);
	ck_assert_int_eq(fw_lazy_cfi_open(elf, NULL, &lazy), FW_UNSUPPORTED);
	fw_elf_close(elf);
}
END_TEST

Suite *lazy_cfi_suite(void)
{
	Suite *suite = suite_create("lazy_cfi");
	TCase *tc = tcase_create("lazy_cfi");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, whole_libraries_as_the_compiled_table, 0, ARRAY_SIZE(libraries));
	tcase_add_loop_test(tc, the_search_table_is_only_a_hint, 0, ARRAY_SIZE(indexes));
	tcase_add_test(tc, broken_programs_end_where_the_table_ends_them);
	tcase_add_test(tc, signal_frames_and_undefined_return_addresses);
	tcase_add_loop_test(tc, both_sections_as_the_table_merges_them, 0, 2);
	tcase_add_test(tc, without_section_headers);
	tcase_add_test(tc, what_only_compiling_reads_is_refused);
	suite_add_tcase(suite, tc);
	return suite;
}
