// Broken and hostile cores: every bad entry costs that entry and leaves a note;
// nothing crashes, hangs or takes more memory than the file warrants.
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "tests/snapshot_check.h"
#include "tests/synth_core.h"

Suite *core_hostile_suite(void);

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const uint64_t words[64] = { 1, 2, 3 };

static struct fw_snapshot *read_ok(const uint8_t *data, uint64_t n)
{
	struct fw_snapshot *s = NULL;
	struct fw_error err = { 0 };
	enum fw_code code = fw_snapshot_read(data, n, &s, &err);
	ck_assert_msg(code == FW_OK, "%s: %s", err.place, err.message);
	const char *broken = snapshot_check(s);
	ck_assert_msg(!broken, "%s", broken);
	ck_assert_uint_le(s->arena.used, 32 * n + (1 << 20));
	return s;
}

static void check_fails(const uint8_t *data, uint64_t n, enum fw_code code, const char *place,
			const char *message)
{
	struct fw_snapshot *s = (void *)1;
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_snapshot_read(data, n, &s, &err), code);
	ck_assert_str_eq(err.place, place);
	ck_assert_str_eq(err.message, message);
	ck_assert_ptr_eq(s, (void *)1);
}

static void check_note(const struct fw_snapshot *s, uint32_t i, const char *place,
		       const char *message)
{
	ck_assert_uint_gt(s->num_notes, i);
	ck_assert_str_eq(s->notes[i].place, place);
	ck_assert_str_eq(s->notes[i].message, message);
}

static void done(struct fw_snapshot *s, struct synth_core *c)
{
	fw_snapshot_destroy(s);
	synth_core_deinit(c);
}

// wide little, narrow little, wide big, narrow big
static void begin_core(struct synth_core *c, int kind)
{
	bool wide = !(kind & 1);
	synth_core_init(c, wide ? EM_AARCH64 : EM_ARM, wide, kind & 2);
	synth_core_thread(c, 102, 11, words, wide ? 34 : 18, wide ? 8 : 4);
}

static struct fw_snapshot *finish(struct synth_core *c)
{
	size_t n;
	const uint8_t *data = synth_core_finish(c, &n);
	return read_ok(data, n);
}

START_TEST(broken_headers_are_named)
{
	struct synth_core c;
	size_t n;
	begin_core(&c, _i);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0x1000, 0x1000);
	uint8_t *data = synth_core_finish(&c, &n);
	unsigned size = c.wide ? 64 : 52, fields = c.wide ? 54 : 42;
	char message[128];
	check_fails(data, 19, FW_MALFORMED, "offset 0x0", "the ELF header is cut off: 19 bytes");
	snprintf(message, sizeof(message), "the ELF header is cut off: %u of %u bytes", size - 1,
		 size);
	check_fails(data, size - 1, FW_MALFORMED, "offset 0x0", message);
	check_fails(data, size, FW_MALFORMED, c.wide ? "offset 0x40" : "offset 0x34",
		    "the program headers are not in the file");
	data[4] = 3;
	check_fails(data, n, FW_MALFORMED, "offset 0x4", "ELF class 3 is not known");
	data[4] = c.wide ? 2 : 1;
	data[5] = 0;
	check_fails(data, n, FW_MALFORMED, "offset 0x5", "ELF byte order 0 is not known");
	data[5] = c.big ? 2 : 1;
	synth_core_put(&c, data + 16, ET_DYN, 2);
	check_fails(data, n, FW_UNSUPPORTED, "offset 0x10", "an ELF file, but not a core");
	synth_core_put(&c, data + 16, ET_CORE, 2);
	synth_core_put(&c, data + fields, 31, 2);
	check_fails(data, n, FW_MALFORMED, c.wide ? "offset 0x36" : "offset 0x2a",
		    "program headers of 31 bytes are too short");
	synth_core_put(&c, data + fields, c.wide ? 56 : 32, 2);
	synth_core_put(&c, data + fields + 2, 0, 2);
	check_fails(data, n, FW_MALFORMED, "", "the core has no program headers");
	synth_core_put(&c, data + fields + 2, 2, 2);
	fw_snapshot_destroy(read_ok(data, n));
	synth_core_deinit(&c);
}
END_TEST

START_TEST(core_without_threads_is_refused)
{
	struct synth_core c;
	size_t n;
	synth_core_init(&c, EM_X86_64, true, false);
	synth_core_process(&c, 5, "a", "b", false);
	uint8_t *data = synth_core_finish(&c, &n);
	check_fails(data, n, FW_MALFORMED, "", "the core has no NT_PRSTATUS note");
	synth_core_deinit(&c);
}
END_TEST

START_TEST(cores_of_other_systems_are_named)
{
	static const char *const systems[][2] = {
		{ "FreeBSD", "a core of FreeBSD, only those of Linux are read" },
		{ "NetBSD-CORE", "a core of NetBSD, only those of Linux are read" },
		{ "OpenBSD", "a core of OpenBSD, only those of Linux are read" },
		{ "QNX", "a core of QNX, only those of Linux are read" },
	};
	struct synth_core c;
	size_t n;
	synth_core_init(&c, EM_X86_64, true, false);
	synth_core_note(&c, systems[_i][0], NT_PRSTATUS, words, sizeof(words));
	uint8_t *data = synth_core_finish(&c, &n);
	check_fails(data, n, FW_UNSUPPORTED, "", systems[_i][1]);
	synth_core_deinit(&c);
}
END_TEST

START_TEST(truncated_core_keeps_what_is_in_the_file)
{
	struct synth_core c;
	size_t n;
	begin_core(&c, _i);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0x1000, 0x1000);
	synth_core_load(&c, 0x20000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	synth_core_load(&c, 0x30000, SYNTH_R | SYNTH_W, NULL, 0x1000, 0x1000);
	uint8_t *data = synth_core_finish(&c, &n);
	struct fw_snapshot *s = read_ok(data, n - 0x1800);
	ck_assert_uint_eq(s->memory.count, 2);
	ck_assert_uint_eq(s->memory.segments[1].start, 0x20000);
	ck_assert_uint_eq(s->memory.segments[1].size, 0x800);
	ck_assert_uint_eq(s->num_regions, 3);
	ck_assert(s->regions_complete);
	ck_assert_uint_eq(s->num_notes, 1);
	check_note(s, 0, "memory", "the core is cut off: 6144 bytes of 2 segments are missing");
	fw_snapshot_destroy(s);

	// inside the program headers: what is not listed may still be there
	s = NULL;
	check_fails(data, c.phoff + (c.wide ? 56 : 32) + 5, FW_MALFORMED, "",
		    "the core has no NT_PRSTATUS note");
	synth_core_deinit(&c);
}
END_TEST

START_TEST(cut_header_table_leaves_the_regions_incomplete)
{
	struct synth_core c;
	size_t n;
	begin_core(&c, _i);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0x10, 0x1000);
	uint8_t *data = synth_core_finish(&c, &n);
	// more headers than the rest of the file has room for
	synth_core_put(&c, data + (c.wide ? 56 : 44), 60000, 2);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert(!s->regions_complete);
	ck_assert_str_eq(s->notes[0].place, "program headers");
	char message[64];
	snprintf(message, sizeof(message), "60000 promised, %zu in the file",
		 (n - c.phoff) / (c.wide ? 56 : 32));
	ck_assert_str_eq(s->notes[0].message, message);
	done(s, &c);
}
END_TEST

START_TEST(overlapping_segments_keep_the_first_and_are_counted)
{
	struct synth_core c;
	begin_core(&c, _i);
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, "\1\1\1\1", 4, 4);
	synth_core_load(&c, 0x10002, SYNTH_R, "\2\2\2\2", 4, 4);
	synth_core_load(&c, 0x10001, SYNTH_R, "\3\3", 2, 2);
	synth_core_load(&c, 0x10000, SYNTH_R, "\4\4\4\4\4\4\4\4", 8, 8);
	struct fw_snapshot *s = finish(&c);
	uint8_t got[8];
	ck_assert(fw_memory_bytes(&s->memory, 0x10000, got, 8));
	ck_assert_mem_eq(got, "\1\1\1\1\4\4\4\4", 8);
	ck_assert_uint_eq(s->num_regions, 2);
	check_note(s, 0, "memory", "3 segments overlap others");
	done(s, &c);
}
END_TEST

START_TEST(segment_that_leaves_the_address_space_is_cut)
{
	struct synth_core c;
	begin_core(&c, _i);
	uint64_t last = c.wide ? UINT64_MAX : UINT32_MAX;
	synth_core_load(&c, last - 0xfff, SYNTH_R | SYNTH_X, NULL, 0x1001, 0x1001);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->memory.count, 1);
	ck_assert_uint_eq(s->memory.segments[0].size, 0x1000);
	check_note(s, 0, "segment 1", "leaves the address space");
	done(s, &c);
}
END_TEST

START_TEST(broken_notes_cost_the_rest_of_their_segment)
{
	struct synth_core c;
	size_t n;
	begin_core(&c, _i);
	size_t first = c.notes_size;
	synth_core_process(&c, 5, "a", "b", true);
	uint8_t *data = synth_core_finish(&c, &n);
	synth_core_put(&c, data + c.notes_offset + first + 4, 0xfffffff0, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_threads, 1);
	ck_assert(!s->have_pid);
	char message[80];
	snprintf(message, sizeof(message), "its notes are broken or cut off at offset 0x%zx",
		 c.notes_offset + first);
	check_note(s, 0, "segment 0", message);
	done(s, &c);
}
END_TEST

START_TEST(notes_that_two_segments_share_are_read_once)
{
	struct synth_core c;
	size_t n;
	begin_core(&c, _i);
	synth_core_load(&c, 0, 0, NULL, 0, 0);
	uint8_t *data = synth_core_finish(&c, &n);
	unsigned phdr = c.wide ? 56 : 32;
	memcpy(data + c.phoff + phdr, data + c.phoff, phdr);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_threads, 1);
	check_note(s, 0, "segment 1", "its notes lie in front of others' end");
	done(s, &c);
}
END_TEST

START_TEST(short_notes_are_left_out)
{
	struct synth_core c;
	uint8_t zero[400] = { 0 };
	begin_core(&c, _i);
	unsigned common = c.wide ? 112 : 72;
	synth_core_note(&c, "CORE", NT_PRSTATUS, zero, common - 4);	// not even an id
	synth_core_note(&c, "CORE", NT_PRSTATUS, zero, common + 64);	// registers cut
	synth_core_note(&c, "CORE", NT_SIGINFO, zero, 12);
	synth_core_note(&c, "CORE", NT_AUXV, zero, 7);
	synth_core_note(&c, "CORE", NT_PRPSINFO, zero, 100);
	synth_core_note(&c, "CORE", NT_FILE, zero, 3);
	synth_core_note(&c, "CORE", NT_FILE, zero, 0);
	struct fw_snapshot *s = finish(&c);
	char message[64];
	ck_assert_uint_eq(s->num_threads, 2);
	ck_assert_str_eq(s->threads[1].context_error, "NT_PRSTATUS is too short for the registers");
	snprintf(message, sizeof(message), "%u bytes are too short", common - 4);
	check_note(s, 0, "NT_PRSTATUS 1", message);
	check_note(s, 1, "thread 1", "NT_PRSTATUS is too short for the registers");
	check_note(s, 2, "NT_SIGINFO", "12 bytes are too short");
	ck_assert_uint_eq(s->num_notes, 3);
	ck_assert_uint_eq(s->exception.code, 11);	// the thread's own
	ck_assert(!s->have_pid);
	ck_assert(!s->have_entry);
	done(s, &c);
}
END_TEST

START_TEST(broken_lists_of_files_cost_their_entries)
{
	struct synth_core c;
	static const struct synth_core_file files[] = {
		{ 0x12000, 0x12000, 0, "/empty" },
		{ 0x13000, 0x12000, 0, "/backwards" },
		{ 0x10000, 0x11000, 0, "/fine" },
		{ 0x11000, 0x12000, 1, "/fine" },
	};
	size_t n;
	begin_core(&c, _i);
	size_t at = c.notes_size;
	synth_core_files(&c, files, ARRAY_SIZE(files));
	synth_core_load(&c, 0x10000, SYNTH_R, NULL, 0, 0x1000);
	synth_core_load(&c, 0x11000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	uint8_t *data = synth_core_finish(&c, &n);
	struct fw_snapshot *s = read_ok(data, n);
	check_note(s, 0, "mapped file 0", "its addresses make no sense");
	check_note(s, 1, "mapped file 1", "its addresses make no sense");
	ck_assert_uint_eq(s->num_notes, 2);
	ck_assert_uint_eq(s->num_modules, 1);
	ck_assert_uint_eq(s->modules[0].size, 0x2000);
	fw_snapshot_destroy(s);

	// a count that the note has no room for: entries are taken for names
	uint8_t *list = data + c.notes_offset + at + 20;
	synth_core_put_word(&c, list, c.wide ? UINT64_MAX : UINT32_MAX);
	s = read_ok(data, n);
	char message[96];
	unsigned word = synth_core_word(&c);
	size_t room = (ARRAY_SIZE(files) * 3 * word + 6 + 1 + 10 + 1 + 12) / (3 * word);
	snprintf(message, sizeof(message), "%s entries promised, %zu read",
		 c.wide ? "18446744073709551615" : "4294967295", room);
	check_note(s, 0, "NT_FILE", message);
	fw_snapshot_destroy(s);

	// names that end too early
	synth_core_put_word(&c, list, 4);
	memset(list + 2 * word + ARRAY_SIZE(files) * 3 * word, 'x', 30);
	s = read_ok(data, n);
	check_note(s, 0, "NT_FILE", "the names end after 0 of 4 entries");
	ck_assert_uint_eq(s->num_modules, 0);
	done(s, &c);
}
END_TEST

START_TEST(offset_of_a_mapping_that_overflows_is_refused)
{
	struct synth_core c;
	static const struct synth_core_file files[] = {
		{ 0x10000, 0x11000, UINT64_MAX / 2, "/far" },
	};
	begin_core(&c, 0);
	synth_core_files(&c, files, 1);
	struct fw_snapshot *s = finish(&c);
	check_note(s, 0, "mapped file 0", "its addresses make no sense");
	done(s, &c);
}
END_TEST

START_TEST(overlapping_files_cut_the_lower_and_the_first_of_two_counts)
{
	struct synth_core c;
	static const struct synth_core_file files[] = {
		{ 0x10000, 0x40000, 0, "/low" },
		{ 0x20000, 0x30000, 0, "/high" },
		{ 0x20000, 0x28000, 0, "/twin" },
	};
	begin_core(&c, _i);
	synth_core_files(&c, files, ARRAY_SIZE(files));
	synth_core_load(&c, 0x10000, SYNTH_R | SYNTH_X, NULL, 0, 0x30000);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 2);
	ck_assert_uint_eq(s->modules[0].size, 0x10000);
	ck_assert_uint_eq(s->modules[1].size, 0x10000);
	ck_assert_uint_eq(s->modules[1].code_file.n, 5);
	check_note(s, 0, "module 1", "cuts the module at 0x10000 that reaches into it");
	check_note(s, 1, "module 2", "another one starts at 0x20000 too");
	done(s, &c);
}
END_TEST

// Headers in memory that point anywhere, a million of them by one page.
START_TEST(headers_in_memory_are_bounded)
{
	enum { FILES = 40 };
	struct synth_core c;
	struct synth_core_file files[FILES];
	uint8_t page[SYNTH_CORE_PAGE];
	begin_core(&c, _i);
	synth_core_page(&c, &(struct synth_core_image){ .type = ET_DYN, .size = 0x1000 }, page);
	synth_core_put(&c, page + (c.wide ? 56 : 44), 0xfffe, 2);
	uint8_t *large = calloc(1, 64 * 65536);
	ck_assert_ptr_nonnull(large);
	for (unsigned i = 0; i < FILES; i++) {
		memcpy(large + i * 0x1000, page, sizeof(page));
		files[i] = (struct synth_core_file){
			0x100000 + i * 0x1000, 0x101000 + i * 0x1000, 0,
			i % 2 ? "/lib/x" : "/lib/y",
		};
	}
	synth_core_files(&c, files, FILES);
	synth_core_load(&c, 0x100000, SYNTH_R | SYNTH_X, large, 64 * 65536, 64 * 65536);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_ge(s->num_notes, 1);
	check_note(s, s->num_notes - 1, "modules",
		   "their headers are more than 1048576, not all are read");
	free(large);
	done(s, &c);
}
END_TEST

START_TEST(vdso_without_a_name_or_memory_is_listed_where_its_region_is)
{
	struct synth_core c;
	const uint64_t auxv[][2] = { { AT_SYSINFO_EHDR, 0x90000 } };
	begin_core(&c, _i);
	synth_core_auxv(&c, auxv, 1);
	synth_core_load(&c, 0x90000, SYNTH_R | SYNTH_X, NULL, 0, 0x2000);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_modules, 1);
	ck_assert_uint_eq(s->modules[0].size, 0x2000);
	ck_assert_uint_eq(s->modules[0].code_file.n, 6);
	ck_assert_mem_eq(s->modules[0].code_file.s, "[vdso]", 6);
	done(s, &c);
}
END_TEST

START_TEST(listed_notes_are_bounded)
{
	struct synth_core c;
	begin_core(&c, _i);
	for (unsigned i = 0; i < FW_MAX_STREAMS + 10; i++)
		synth_core_note(&c, "LINUX", 0x202, "x", 1);
	struct fw_snapshot *s = finish(&c);
	ck_assert_uint_eq(s->num_streams, FW_MAX_STREAMS);
	check_note(s, 0, "notes", "1035, the first 1024 are listed");
	done(s, &c);
}
END_TEST

START_TEST(threads_are_bounded)
{
	enum { COUNT = FW_MAX_THREADS + 2, SIZE = 20 + 376 };
	struct synth_core c;
	size_t n;
	// riscv64's note is 376 bytes
	synth_core_init(&c, EM_RISCV, true, false);
	synth_core_thread(&c, 1, 11, words, 32, 8);
	uint8_t *one = synth_core_finish(&c, &n);
	ck_assert_uint_eq(c.notes_size, SIZE);
	uint8_t *data = malloc(c.notes_offset + (size_t)COUNT * SIZE);
	ck_assert_ptr_nonnull(data);
	memcpy(data, one, c.notes_offset);
	for (size_t i = 0; i < COUNT; i++)
		memcpy(data + c.notes_offset + i * SIZE, one + c.notes_offset, SIZE);
	synth_core_put(&c, data + c.phoff + 32, (uint64_t)COUNT * SIZE, 8);
	struct fw_snapshot *s = read_ok(data, c.notes_offset + (size_t)COUNT * SIZE);
	ck_assert_uint_eq(s->num_threads, FW_MAX_THREADS);
	check_note(s, 0, "threads", "only the first 65536 are read");
	free(data);
	done(s, &c);
}
END_TEST

// Every cut of a core with all kinds of notes, and every byte of it changed.
static void add_all(struct synth_core *c)
{
	static const uint64_t auxv[][2] = {
		{ AT_PHDR, 0x10040 }, { AT_PHNUM, 4 }, { AT_ENTRY, 0x10800 },
		{ AT_SYSINFO_EHDR, 0x13000 },
	};
	static const struct synth_core_file files[] = {
		{ 0x10000, 0x11000, 0, "/bin/a" }, { 0x11000, 0x12000, 1, "/bin/a" },
	};
	uint8_t page[SYNTH_CORE_PAGE];
	synth_core_process(c, 102, "a", "a b", true);
	synth_core_signal(c, 11, 1, 8);
	synth_core_auxv(c, auxv, ARRAY_SIZE(auxv));
	synth_core_files(c, files, ARRAY_SIZE(files));
	synth_core_page(c, &(struct synth_core_image){
		.type = ET_DYN, .size = 0x2000, .entry = 0x800, .dynamic = 0x180,
		.build_id = (const uint8_t *)"0123456789abcdefghij" }, page);
	synth_core_load(c, 0x10000, SYNTH_R, page, 0x260, 0x1000);
	synth_core_load(c, 0x11000, SYNTH_R | SYNTH_X, NULL, 0, 0x1000);
	synth_core_load(c, 0x13000, SYNTH_R | SYNTH_X, page, 0x260, 0x1000);
}

START_TEST(prefixes_and_changed_bytes_do_no_harm)
{
	struct synth_core c;
	size_t n;
	begin_core(&c, _i);
	add_all(&c);
	uint8_t *data = synth_core_finish(&c, &n);
	struct fw_snapshot *s;
	for (size_t i = 0; i < n; i++) {
		uint8_t *cut = malloc(i ? i : 1);	// so that a sanitizer sees the end
		memcpy(cut, data, i);
		if (fw_snapshot_read(cut, i, &s, NULL) == FW_OK) {
			ck_assert_ptr_null(snapshot_check(s));
			fw_snapshot_destroy(s);
		}
		free(cut);
	}
	for (size_t i = 0; i < n; i++) {
		static const uint8_t values[] = { 0, 0xff, 0x80, 1 };
		uint8_t before = data[i];
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			data[i] = values[k];
			if (fw_snapshot_read(data, n, &s, NULL) == FW_OK) {
				ck_assert_ptr_null(snapshot_check(s));
				fw_snapshot_destroy(s);
			}
		}
		data[i] = before;
	}
	synth_core_deinit(&c);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	struct synth_core c;
	size_t n;
	begin_core(&c, 0);
	add_all(&c);
	uint8_t *data = synth_core_finish(&c, &n);
	for (uint64_t nth = 1;; nth++) {
		struct fw_snapshot *s = NULL;
		struct fw_error err = { 0 };
		fw_alloc_fail_at(nth);
		enum fw_code code = fw_snapshot_read(data, n, &s, &err);
		fw_alloc_fail_at(0);
		if (code == FW_OK) {
			ck_assert_uint_gt(nth, 5);
			fw_snapshot_destroy(s);
			break;
		}
		ck_assert_int_eq(code, FW_NO_MEMORY);
		ck_assert_str_eq(err.message, "no memory to read the core");
	}
	synth_core_deinit(&c);
}
END_TEST

Suite *core_hostile_suite(void)
{
	Suite *suite = suite_create("core_hostile");
	TCase *tc = tcase_create("headers");
	tcase_add_loop_test(tc, broken_headers_are_named, 0, 4);
	tcase_add_test(tc, core_without_threads_is_refused);
	tcase_add_loop_test(tc, cores_of_other_systems_are_named, 0, 4);
	tcase_add_loop_test(tc, truncated_core_keeps_what_is_in_the_file, 0, 4);
	tcase_add_loop_test(tc, cut_header_table_leaves_the_regions_incomplete, 0, 4);
	suite_add_tcase(suite, tc);

	tc = tcase_create("memory");
	tcase_add_loop_test(tc, overlapping_segments_keep_the_first_and_are_counted, 0, 4);
	tcase_add_loop_test(tc, segment_that_leaves_the_address_space_is_cut, 0, 4);
	suite_add_tcase(suite, tc);

	tc = tcase_create("notes");
	tcase_add_loop_test(tc, broken_notes_cost_the_rest_of_their_segment, 0, 4);
	tcase_add_loop_test(tc, notes_that_two_segments_share_are_read_once, 0, 4);
	tcase_add_loop_test(tc, short_notes_are_left_out, 0, 4);
	tcase_add_loop_test(tc, listed_notes_are_bounded, 0, 4);
	tcase_add_test(tc, threads_are_bounded);
	suite_add_tcase(suite, tc);

	tc = tcase_create("modules");
	tcase_add_loop_test(tc, broken_lists_of_files_cost_their_entries, 0, 4);
	tcase_add_test(tc, offset_of_a_mapping_that_overflows_is_refused);
	tcase_add_loop_test(tc, overlapping_files_cut_the_lower_and_the_first_of_two_counts, 0, 4);
	tcase_add_loop_test(tc, headers_in_memory_are_bounded, 0, 4);
	tcase_add_loop_test(tc, vdso_without_a_name_or_memory_is_listed_where_its_region_is, 0, 4);
	suite_add_tcase(suite, tc);

	tc = tcase_create("everything");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, prefixes_and_changed_bytes_do_no_harm, 0, 4);
	tcase_add_test(tc, every_allocation_may_fail);
	suite_add_tcase(suite, tc);
	return suite;
}
