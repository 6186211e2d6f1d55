// Broken and hostile minidumps: every bad entry costs that entry and leaves a
// note; nothing crashes, hangs or takes more memory than the file warrants.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/snapshot_check.h"
#include "tests/synth_minidump.h"

Suite *minidump_hostile_suite(void);

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t id[20] = { 0xf1, 0xc3, 0xbc, 0xc0, 5, 6, 7, 8, 9, 10, 11, 12 };

static struct fw_snapshot *read_ok(const uint8_t *data, size_t n)
{
	struct fw_snapshot *s = NULL;
	struct fw_error err = { 0 };
	enum fw_code code = fw_snapshot_read(data, n, &s, &err);
	ck_assert_msg(code == FW_OK, "%s: %s", err.place, err.message);
	const char *broken = snapshot_check(s);
	ck_assert_msg(!broken, "%s", broken);
	return s;
}

static void check_fails(const uint8_t *data, size_t n, enum fw_code code, const char *place,
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

static bool readable(const struct fw_snapshot *s, uint64_t address)
{
	return fw_memory_find(&s->memory, address) != NULL;
}

static void done(struct fw_snapshot *s, struct synth_dump *d)
{
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}

// Headers.
START_TEST(what_is_no_minidump_is_refused)
{
	static const uint8_t elf[8] = { 0x7f, 'E', 'L', 'F' };
	check_fails(elf, 0, FW_UNSUPPORTED, "", "the file is empty");
	check_fails(elf, 8, FW_MALFORMED, "offset 0x0", "the ELF header is cut off: 8 bytes");
	check_fails((const uint8_t *)"MDM", 3, FW_UNSUPPORTED, "offset 0x0",
		    "not a capture of a known format");
	check_fails((const uint8_t *)"MDMP5678", 8, FW_MALFORMED, "offset 0x0",
		    "the minidump header is cut off: 8 of 32 bytes");
}
END_TEST

START_TEST(broken_headers_are_named)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, _i);
	size_t n;
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, 4, 0xbeefa794, 4);
	check_fails(data, n, FW_UNSUPPORTED, "offset 0x4", "minidump version 0xa794 is not known");
	// the upper half of the version is the writer's own
	synth_dump_patch(d, 4, 0xbeefa793, 4);
	fw_snapshot_destroy(read_ok(data, n));
	synth_dump_patch(d, 12, 0x7fffffff, 4);
	check_fails(data, n, FW_MALFORMED, "offset 0x7fffffff",
		    "the stream directory is not in the file");
	synth_dump_destroy(d);
}
END_TEST

START_TEST(only_two_streams_are_indispensable)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_omit(d, _i ? 7 : 3);
	uint8_t *data = synth_dump_finish(d, &n);
	check_fails(data, n, FW_MALFORMED, "", _i ? "the minidump has no SystemInfo stream" :
		    "the minidump has no ThreadList stream");
	synth_dump_destroy(d);
}
END_TEST

START_TEST(thread_ex_list_stands_in_for_a_missing_thread_list)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint8_t list[4 + 64] = { 1, 0, 0, 0, 9 };
	uint8_t stack[8] = { 3 };
	size_t n;
	uint32_t rva = synth_dump_add_blob(d, stack, 8);
	list[4 + 25] = 0x20;	// stack at 0x2000
	list[4 + 32] = 8;
	memcpy(list + 4 + 36, &rva, 4);
	synth_dump_omit(d, 3);
	synth_dump_add_stream(d, 8, list, sizeof(list));
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_threads, 1);
	ck_assert_uint_eq(s->threads[0].id, 9);
	ck_assert(readable(s, 0x2000));
	done(s, d);
}
END_TEST

// Found by fuzzing: version 0.0.0 and no text to take it from.
START_TEST(linux_version_without_a_text_stays_zero)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	if (_i)
		synth_dump_set_os_version(d, 0, 0, 0, "Linux");
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->os_version.n, 5);
	ck_assert(!memcmp(s->os_version.s, "0.0.0", 5));
	ck_assert(!s->os_version_from_build);
	done(s, d);
}
END_TEST

// Directory.
START_TEST(of_two_streams_of_a_type_the_last_counts)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_add_misc(d, 1, 1);
	synth_dump_add_misc(d, 2, 2);
	synth_dump_add_directory(d, 0, 0, 0);
	synth_dump_add_directory(d, 0, 0, 0);	// empty unused ones are normal
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->pid, 2);
	ck_assert_uint_eq(s->num_notes, 1);
	check_note(s, 0, "stream 0", "a later MiscInfo replaces it");
	ck_assert(!s->streams[0].used && s->streams[1].used);
	done(s, d);
}
END_TEST

START_TEST(directory_that_promises_too_much_is_cut)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, 8, UINT32_MAX, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_streams, 2);
	check_note(s, 0, "stream directory", "4294967295 streams, only the first 1024 are read");
	check_note(s, 1, "stream directory", "1024 streams promised, 2 in the file");
	done(s, d);
}
END_TEST

// Lists whose count is a lie: what is in the file is read, and no more.
static const struct {
	uint32_t type;
	uint8_t count_at, width;
	const char *place, *message;
} counts[] = {
	{ 3, 0, 4, "ThreadList", "the list promises 4294967295 entries and holds 1" },
	{ 4, 0, 4, "ModuleList", "the list promises 4294967295 entries and holds 1" },
	{ 5, 0, 4, "MemoryList", "the list promises 4294967295 entries and holds 1" },
	{ 24, 0, 4, "ThreadNames", "the list promises 4294967295 entries and holds 1" },
	{ 9, 0, 8, "Memory64List", "4294967295 entries promised, 1 read" },
	{ 12, 8, 4, "HandleData", "4294967295 entries promised, 1 read" },
	{ 14, 8, 4, "UnloadedModuleList", "4294967295 entries promised, 1 read" },
	{ 16, 8, 8, "MemoryInfoList", "4294967295 entries promised, 1 read" },
};

static struct synth_dump *one_of_each(void)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	struct fw_regs regs = { 0 };
	uint8_t bytes[16] = { 1 };
	synth_reg(&regs, FW_CPU_AMD64, "rip", 0x401000);
	synth_dump_add_thread(d, 5, &regs, 0x7000, bytes, 16);
	synth_dump_add_thread_name(d, 5, "five");
	synth_dump_add_elf(d, 0x400000, 0x1000, "/bin/a", id, 20);
	synth_dump_add_unloaded(d, 0x100000, 0x1000, "gone", 1);
	synth_dump_add_memory(d, 0x5000, bytes, 16);
	synth_dump_add_memory64(d, 0x6000, bytes, 16);
	synth_dump_add_memory_info(d, 0x400000, 0x1000, 0x1000, 0x20);
	synth_dump_add_handle(d, 4, "File", NULL, false);
	synth_dump_add_exception(d, 5, 11, 1, 0x10, NULL, 0, &regs);
	synth_dump_add_misc(d, 77, 88);
	synth_dump_add_breakpad_info(d, 6, 5);
	synth_dump_add_assertion(d, "x", "y", "z", 3);
	synth_dump_add_maps(d, "400000-401000 r-xp 00000000 00:00 1 /bin/a\n");
	synth_dump_add_auxv(d, 0x401000, 0x7fff0000);
	synth_dump_add_text(d, SYNTH_LINUX_CPU_INFO, "microcode : 0x1\n");
	synth_dump_add_text(d, SYNTH_LINUX_STATUS, "Pid:\t12\n");
	synth_dump_add_text(d, SYNTH_LINUX_LSB, "DISTRIB_ID=\"D\"\n");
	synth_dump_add_text(d, SYNTH_LINUX_CMD_LINE, "a");
	synth_dump_add_text(d, SYNTH_LINUX_LIMITS, "Max a  1  2  bytes\n");
	synth_dump_add_annotation(d, "k", "v");
	synth_dump_add_module_annotation(d, 0, SYNTH_SIMPLE, "a", "b");
	synth_dump_add_module_annotation(d, 0, SYNTH_LIST, NULL, "c");
	synth_dump_add_module_annotation(d, 0, SYNTH_OBJECT, "d", "e");
	synth_dump_set_os_version(d, 0, 0, 0, "Linux 5.10 x");
	return d;
}

START_TEST(a_count_is_bounded_by_the_stream)
{
	struct synth_dump *d = one_of_each();
	size_t n;
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, synth_dump_stream(d, counts[_i].type) + counts[_i].count_at,
			 UINT32_MAX, counts[_i].width);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_notes, 1);
	check_note(s, 0, counts[_i].place, counts[_i].message);
	ck_assert_uint_eq(s->num_threads, 1);
	ck_assert_uint_eq(s->num_modules, 1);
	ck_assert_uint_eq(s->num_unloaded, 1);
	ck_assert_uint_eq(s->num_handles, 1);
	ck_assert_uint_eq(s->num_regions, 1);
	ck_assert(readable(s, 0x5000) && readable(s, 0x6000) && readable(s, 0x7000));
	ck_assert(s->regions_complete == (counts[_i].type != 16));
	ck_assert_uint_lt(s->arena.used, 65536);
	done(s, d);
}
END_TEST

START_TEST(descriptions_of_lists_that_make_no_sense_cost_the_list)
{
	static const uint32_t types[] = { 12, 14, 16 };
	static const char *const places[] = {
		"HandleData", "UnloadedModuleList", "MemoryInfoList",
	};
	for (int field = 0; field < 2; field++) {	// size of header, size of entry
		struct synth_dump *d = one_of_each();
		size_t n;
		uint8_t *data = synth_dump_finish(d, &n);
		synth_dump_patch(d, synth_dump_stream(d, types[_i]) + 4 * field, 3, 4);
		struct fw_snapshot *s = read_ok(data, n);
		ck_assert_uint_eq(s->num_notes, 1);
		check_note(s, 0, places[_i], "the header makes no sense");
		done(s, d);
	}
}
END_TEST

// Modules.
START_TEST(a_bad_name_costs_the_name_and_not_the_module)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_add_elf(d, 0x1000, 0x1000, "/a", id, 20);
	synth_dump_add_elf(d, 0x2000, 0x1000, "/b", id, 20);
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, synth_dump_stream(d, 4) + 4 + 108 + 20, 0x12345, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_modules, 2);
	ck_assert_ptr_null(s->modules[1].code_file.s);
	ck_assert_str_eq(s->modules[1].debug_id.text, s->modules[0].debug_id.text);
	ck_assert_uint_eq(s->num_notes, 1);
	check_note(s, 0, "module 1", "name at offset 0x12345 leaves the file");
	done(s, d);
}
END_TEST

START_TEST(a_module_past_the_end_of_the_address_space_costs_itself)
{
	struct synth_dump *d = synth_dump_create(_i ? FW_CPU_X86 : FW_CPU_AMD64, FW_OS_LINUX,
						 false);
	size_t n;
	uint64_t top = _i ? UINT32_MAX : UINT64_MAX;
	synth_dump_add_elf(d, top - 0xfff, 0x1001, "/over", id, 20);
	synth_dump_add_elf(d, top - 0xfff, 0x1000, "/last", id, 20);
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_modules, 1);
	ck_assert_ptr_eq(fw_snapshot_module(s, top), &s->modules[0]);
	ck_assert_uint_eq(s->num_notes, 1);
	check_note(s, 0, "module 0", _i ? "0x1001 bytes at 0xfffff000 leave the address space" :
		   "0x1001 bytes at 0xfffffffffffff000 leave the address space");
	done(s, d);
}
END_TEST

static const struct {
	uint8_t bytes[24];
	uint8_t n;
	const char *message;
} codeviews[] = {
	{ { 'R', 'S', 'D', 'S', 1 }, 23, "the CodeView record is too short" },
	{ { 'N', 'B', '1', '0', 1 }, 15, "the CodeView record is too short" },
	{ { 'R', 'S', 'D' }, 3, "the CodeView record is too short" },
	{ { 'N', 'B', '0', '9', 1 }, 20, "CodeView record 0x3930424e is not known" },
};

START_TEST(a_bad_codeview_record_costs_the_id)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_add_module(d, &(struct synth_module){
		.base = 0x1000, .size = 0x1000, .path = "/a", .cv = SYNTH_CV_RAW,
		.id = codeviews[_i].bytes, .id_size = codeviews[_i].n,
	});
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_modules, 1);
	ck_assert_uint_eq(s->modules[0].debug_id.n, 0);
	ck_assert_uint_eq(s->num_notes, 1);
	check_note(s, 0, "module 0", codeviews[_i].message);
	done(s, d);
}
END_TEST

START_TEST(a_codeview_record_outside_the_file_costs_the_id)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_add_elf(d, 0x1000, 0x1000, "/a", id, 20);
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, synth_dump_stream(d, 4) + 4 + 80, 0xfffffff8, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->modules[0].debug_id.n, 0);
	ck_assert_uint_eq(s->num_notes, 1);
	check_note(s, 0, "module 0", "CodeView record at offset 0xfffffff8 leaves the file");
	done(s, d);
}
END_TEST

// Names.
START_TEST(lone_surrogates_become_replacement_characters)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_add_elf(d, 0x1000, 0x1000, "abcd", id, 20);
	uint8_t *data = synth_dump_finish(d, &n);
	uint32_t rva;
	memcpy(&rva, data + synth_dump_stream(d, 4) + 4 + 20, 4);
	synth_dump_patch(d, rva, 9, 4);			// odd: the half unit is left
	synth_dump_patch(d, rva + 4, 0xdc00, 2);	// low without high
	synth_dump_patch(d, rva + 8, 0xd800, 2);	// high before 'd'
	struct fw_snapshot *s = read_ok(data, n);
	struct fw_str name = s->modules[0].code_file;
	ck_assert_uint_eq(name.n, 8);
	ck_assert(!memcmp(name.s, "\xef\xbf\xbd" "b\xef\xbf\xbd" "d", 8));
	ck_assert_uint_eq(s->num_notes, 0);
	done(s, d);
}
END_TEST

START_TEST(a_very_long_name_is_cut)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	char *name = malloc(40001);
	size_t n;
	memset(name, 'x', 40000);
	name[40000] = '\0';
	synth_dump_add_elf(d, 0x1000, 0x1000, name, id, 20);
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->modules[0].code_file.n, FW_MAX_NAME / 2);
	check_note(s, 0, "module 0", "name of 80000 bytes is cut to 32768");
	free(name);
	done(s, d);
}
END_TEST

// 2,000 modules that share one name of 32 KiB would ask for 64 MiB.
START_TEST(names_that_overlap_cannot_outgrow_the_file)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	char name[16001];
	size_t n;
	uint32_t rva;
	memset(name, 'x', 16000);
	name[16000] = '\0';
	synth_dump_add_elf(d, 0, 0x10, name, id, 20);
	for (uint32_t i = 1; i < 2000; i++)
		synth_dump_add_elf(d, i * 0x1000, 0x10, "", id, 20);
	uint8_t *data = synth_dump_finish(d, &n);
	size_t list = synth_dump_stream(d, 4) + 4;
	memcpy(&rva, data + list + 20, 4);
	for (uint32_t i = 1; i < 2000; i++)
		synth_dump_patch(d, list + i * 108 + 20, rva, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_modules, 2000);
	ck_assert_uint_lt(s->arena.used, 12 * n);
	ck_assert_uint_gt(s->num_notes, FW_MAX_SNAPSHOT_NOTES);
	check_note(s, 63, s->notes[63].place,
		   "name is left out: the names are larger than the file");
	done(s, d);
}
END_TEST

// Threads.
START_TEST(lists_longer_than_the_limit_are_cut)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	const uint32_t types[] = { 3, 4, 24 };
	const uint32_t entry[] = { 48, 108, 12 };
	size_t n;
	char *zeros = calloc(FW_MAX_THREADS + 2, 108);
	for (int i = 0; i < 3; i++) {
		uint32_t count = FW_MAX_THREADS + 1;
		memcpy(zeros, &count, 4);
		synth_dump_add_stream(d, types[i], zeros, 4 + (size_t)count * entry[i]);
	}
	synth_dump_omit(d, 3);
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_threads, FW_MAX_THREADS);
	ck_assert_uint_eq(s->num_modules, FW_MAX_MODULES);
	check_note(s, 0, "ThreadList", "65537 entries, only the first 65536 are read");
	ck_assert_uint_lt(s->arena.used, UINT64_C(256) << 20);
	free(zeros);
	done(s, d);
}
END_TEST

START_TEST(thread_names_are_dropped_one_at_a_time)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_add_thread(d, 1, NULL, 0, NULL, 0);
	synth_dump_add_thread(d, 2, NULL, 0, NULL, 0);
	synth_dump_add_thread_name(d, 1, "one");
	synth_dump_add_thread_name(d, 9, "nobody");
	synth_dump_add_thread_name(d, 2, "two");
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, synth_dump_stream(d, 24) + 4 + 4, UINT64_C(0x100000020), 8);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_ptr_null(s->threads[0].name.s);
	ck_assert_uint_eq(s->threads[1].name.n, 3);
	ck_assert_uint_eq(s->num_notes, 4);	// two threads have no context
	check_note(s, 2, "thread name 0", "name at offset 0x100000020 leaves the file");
	check_note(s, 3, "thread name 1", "there is no thread 9");
	done(s, d);
}
END_TEST

START_TEST(exception_of_an_unknown_thread_is_kept)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint64_t parameters[15] = { 0 };
	struct fw_regs regs = { 0 };
	size_t n;
	parameters[14] = 14;
	synth_dump_add_exception(d, 99, 11, 1, 0x10, parameters, 15, &regs);
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, synth_dump_stream(d, 6) + 32, 1000, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert(s->exception.present && s->crashed);
	ck_assert_int_eq(s->crashing_thread, -1);
	ck_assert_uint_eq(s->exception.num_parameters, 15);
	ck_assert_uint_eq(s->exception.parameters[14], 14);
	check_note(s, 0, "exception", "1000 parameters, at most 15 are possible");
	check_note(s, 1, "exception", "there is no thread 99");
	done(s, d);
}
END_TEST

// Memory.
START_TEST(a_region_cut_by_the_end_of_the_file_keeps_its_part)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint8_t bytes[16] = { 0 };
	size_t n;
	synth_dump_add_memory(d, 0x1000, bytes, 16);
	synth_dump_add_memory(d, 0x2000, bytes, 16);
	synth_dump_add_memory(d, 0x3000, bytes, 16);
	uint8_t *data = synth_dump_finish(d, &n);
	size_t list = synth_dump_stream(d, 5) + 4;
	synth_dump_patch(d, list + 12, n - 5, 4);
	synth_dump_patch(d, list + 16 + 12, n, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert(readable(s, 0x1000) && readable(s, 0x1004) && !readable(s, 0x1005));
	ck_assert(!readable(s, 0x2000));
	ck_assert(readable(s, 0x3000));
	ck_assert_uint_eq(s->num_notes, 2);
	check_note(s, 0, "memory region 0", "0x5 of its 0x10 bytes are in the file");
	char message[80];
	snprintf(message, sizeof(message), "its bytes at offset 0x%zx are not in the file", n);
	check_note(s, 1, "memory region 1", message);
	done(s, d);
}
END_TEST

START_TEST(a_cut_full_dump_keeps_what_came_before_the_cut)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint8_t bytes[16] = { 0 };
	size_t n;
	synth_dump_add_memory64(d, 0x1000, bytes, 16);
	synth_dump_add_memory64(d, 0x2000, bytes, 16);
	synth_dump_add_memory64(d, 0x3000, bytes, 16);
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, synth_dump_stream(d, 9) + 16 + 16 + 8, UINT64_MAX - 7, 8);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert(readable(s, 0x1000) && readable(s, 0x2000) && !readable(s, 0x3000 + n));
	ck_assert_uint_eq(s->num_notes, 1);
	ck_assert_str_eq(s->notes[0].place, "memory64 region 1");
	done(s, d);
}
END_TEST

START_TEST(memory_up_to_the_last_address_is_kept_and_more_is_not)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint8_t bytes[16] = { 0 };
	size_t n;
	synth_dump_add_memory(d, UINT64_MAX - 15, bytes, 16);
	synth_dump_add_memory(d, UINT64_MAX - 19, bytes, 16);
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert(readable(s, UINT64_MAX) && readable(s, UINT64_MAX - 19));
	ck_assert(!readable(s, 0));
	ck_assert_uint_eq(s->num_notes, 0);
	fw_snapshot_destroy(s);
	synth_dump_patch(d, synth_dump_stream(d, 5) + 4, UINT64_MAX - 3, 8);
	s = read_ok(data, n);
	ck_assert(readable(s, UINT64_MAX) && !readable(s, 0));
	check_note(s, 0, "memory region 0", "reaches past the end of the address space");
	done(s, d);
}
END_TEST

// Every region covers all that start after it: the sweep must stay n log n.
START_TEST(nested_regions_are_laid_out_in_time)
{
	enum { COUNT = 100000 };
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint8_t bytes[16] = { 0 };
	size_t n;
	for (uint32_t i = 0; i < COUNT; i++)
		synth_dump_add_memory(d, 0x1000 + (_i ? COUNT - i : i), bytes, i ? 1 : 16);
	uint8_t *data = synth_dump_finish(d, &n);
	size_t list = synth_dump_stream(d, 5) + 4;
	for (uint32_t i = 0; i < COUNT; i++) {
		synth_dump_patch(d, list + i * 16 + 8, COUNT, 4);
		synth_dump_patch(d, list + i * 16 + 12, 32, 4);
	}
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert(readable(s, 0x1001 + COUNT));
	done(s, d);
}
END_TEST

START_TEST(overlapping_memory_infos_are_cut)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_WINDOWS, false);
	size_t n;
	synth_dump_add_memory_info(d, 0x1000, 0x3000, 0x1000, 0x20);
	synth_dump_add_memory_info(d, 0x2000, 0x1000, 0x1000, 0x04);
	synth_dump_add_memory_info(d, 0x3000, 0x2000, 0x1000, 0x02);
	synth_dump_add_memory_info(d, UINT64_MAX - 0xfff, 0x1001, 0x1000, 0x02);
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_regions, 2);
	ck_assert_uint_eq(s->regions[1].start, 0x4000);
	ck_assert(!s->regions_complete);
	check_note(s, 0, "memory info 3", "leaves the address space");
	check_note(s, 1, "MemoryInfoList", "2 entries overlap earlier ones");
	done(s, d);
}
END_TEST

START_TEST(bad_maps_lines_cost_themselves)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	synth_dump_add_maps(d, "1000-2000 r-xp 0 0:0 1 /a\n"
			    "what is this\n"
			    "3000-2000 r-xp 0 0:0 1 /b\n"
			    "4000-5000 rw-p 0 0:0 0");
	uint8_t *data = synth_dump_finish(d, &n);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_regions, 2);
	ck_assert_uint_eq(s->num_maps, 2);
	ck_assert(!s->regions_complete);
	ck_assert_ptr_null(s->regions[1].name.s);
	ck_assert_uint_eq(s->num_notes, 2);
	check_note(s, 0, "maps line 2", "is not a mapping");
	check_note(s, 1, "maps line 3", "is not a mapping");
	done(s, d);
}
END_TEST

// Crashpad.
START_TEST(bad_annotations_cost_themselves)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	size_t n;
	uint32_t table;
	synth_dump_add_annotation(d, "a", "1");
	synth_dump_add_annotation(d, "b", "2");
	synth_dump_add_module_annotation(d, 3, SYNTH_SIMPLE, "x", "y");
	uint8_t *data = synth_dump_finish(d, &n);
	memcpy(&table, data + synth_dump_stream(d, 0x43500001) + 40, 4);
	synth_dump_patch(d, table, UINT32_MAX, 4);
	synth_dump_patch(d, table + 4, 0xfffffffe, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->num_annotations, 1);
	ck_assert_int_eq(s->annotations[0].value.s[0], '2');
	check_note(s, 0, "CrashpadInfo", "4294967295 annotations promised, 2 there are");
	check_note(s, 1, "CrashpadInfo", "annotation key at offset 0xfffffffe leaves the file");
	check_note(s, 2, "Crashpad module 0", "there is no module 3");
	done(s, d);
}
END_TEST

// Sweeps.
static void read_any(const uint8_t *data, size_t n, const char *what, uint64_t which)
{
	// an allocation of exactly this size, so that ASan sees a read past it
	uint8_t *copy = malloc(n ? n : 1);
	struct fw_snapshot *s;
	struct fw_error err = { 0 };
	memcpy(copy, data, n);
	if (fw_snapshot_read(copy, n, &s, &err) == FW_OK) {
		const char *broken = snapshot_check(s);
		ck_assert_msg(!broken, "%s %llu: %s", what, (unsigned long long)which, broken);
		ck_assert_uint_le(s->arena.used, 32 * n + (1 << 20));
		fw_snapshot_destroy(s);
	} else {
		ck_assert_msg(err.message[0], "%s %llu: no message", what,
			      (unsigned long long)which);
	}
	free(copy);
}

static struct synth_dump *sweep_dump(int which)
{
	if (which == 0)
		return one_of_each();
	struct synth_dump *d = synth_dump_create(which == 1 ? FW_CPU_X86 : FW_CPU_ARM64,
						 FW_OS_WINDOWS, which == 2);
	struct fw_regs regs = { 0 };
	uint8_t bytes[64] = { 1 };
	uint64_t parameters[2] = { 1, 2 };
	synth_dump_set_list_padding(d, true);
	synth_dump_set_teb(d, 0x3000);
	synth_dump_add_thread(d, 5, &regs, 0x7000, bytes, 16);
	synth_dump_add_thread(d, 6, NULL, 0x8000, bytes, 16);
	synth_dump_add_pe(d, 0x400000, 0x1000, "a.exe", id, 2, "a.pdb");
	synth_dump_add_pe(d, 0x400800, 0x1000, "b.dll", id, 2, "b.pdb");
	synth_dump_add_memory(d, 0x3000, bytes, 64);
	synth_dump_add_memory(d, 0x3010, bytes, 64);
	synth_dump_add_exception(d, 5, 0xc0000005, 0, 0x10, parameters, 2, &regs);
	return d;
}

START_TEST(every_prefix_is_read_or_refused)
{
	struct synth_dump *d = sweep_dump(_i);
	size_t n;
	uint8_t *data = synth_dump_finish(d, &n);
	fw_snapshot_destroy(read_ok(data, n));
	for (size_t k = 0; k < n; k++)
		read_any(data, k, "prefix", k);
	synth_dump_destroy(d);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
	// xorshift64*
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

START_TEST(flipped_bytes_and_odd_words_do_no_harm)
{
	static const uint32_t words[] = { 0, UINT32_MAX, 0x80000000, 0x7fffffff, 0x20 };
	struct synth_dump *d = sweep_dump(_i);
	uint64_t seed = 20260101 + (uint64_t)_i;
	size_t n;
	uint8_t *data = synth_dump_finish(d, &n);
	for (size_t k = 0; k < n; k++) {
		uint8_t before = data[k];
		data[k] ^= (uint8_t)(1u << next_random(&seed) % 8);
		read_any(data, n, "flip at", k);
		data[k] = before;
	}
	for (size_t k = 0; k + 4 <= n; k += 4) {
		uint8_t before[4];
		memcpy(before, data + k, 4);
		synth_dump_patch(d, k, words[next_random(&seed) % ARRAY_SIZE(words)], 4);
		read_any(data, n, "word at", k);
		memcpy(data + k, before, 4);
	}
	synth_dump_destroy(d);
}
END_TEST

// Dumps that real writers made, cut and flipped at seeded places.
static const char *const real_dumps[] = {
	"testdata/threads/crash.dmp", "testdata/null-x86/crash.dmp", "testdata/cxx/crash.dmp",
};

START_TEST(real_dumps_cut_and_flipped_do_no_harm)
{
	struct fw_file f;
	struct fw_error err = { 0 };
	uint64_t seed = 4711 + (uint64_t)_i;
	if (fw_file_open(&f, real_dumps[_i], FW_MAX_INPUT, &err) != FW_OK)
		return;
	uint8_t *data = malloc(f.size);
	memcpy(data, f.data, f.size);
	for (int k = 0; k < 1000; k++) {
		uint64_t at = next_random(&seed) % f.size;
		uint8_t before = data[at];
		read_any(data, at, "cut at", at);
		data[at] ^= (uint8_t)(1u << next_random(&seed) % 8);
		read_any(data, f.size, "flip at", at);
		data[at] = before;
	}
	free(data);
	fw_file_close(&f);
}
END_TEST

START_TEST(every_failing_allocation_is_reported)
{
	struct synth_dump *d = one_of_each();
	size_t n;
	uint8_t *data = synth_dump_finish(d, &n);
	for (uint64_t k = 1;; k++) {
		struct fw_snapshot *s = NULL;
		struct fw_error err = { 0 };
		fw_alloc_fail_at(k);
		enum fw_code code = fw_snapshot_read(data, n, &s, &err);
		fw_alloc_fail_at(0);
		if (code == FW_OK) {
			fw_snapshot_destroy(s);
			ck_assert_uint_gt(k, 20);
			break;
		}
		ck_assert_int_eq(code, FW_NO_MEMORY);
		ck_assert_str_eq(err.message, "no memory to read the minidump");
	}
	synth_dump_destroy(d);
}
END_TEST

Suite *minidump_hostile_suite(void)
{
	Suite *suite = suite_create("minidump_hostile");
	TCase *tc = tcase_create("entries");
	tcase_add_test(tc, what_is_no_minidump_is_refused);
	tcase_add_loop_test(tc, broken_headers_are_named, 0, 2);
	tcase_add_loop_test(tc, only_two_streams_are_indispensable, 0, 2);
	tcase_add_test(tc, thread_ex_list_stands_in_for_a_missing_thread_list);
	tcase_add_loop_test(tc, linux_version_without_a_text_stays_zero, 0, 2);
	tcase_add_test(tc, of_two_streams_of_a_type_the_last_counts);
	tcase_add_test(tc, directory_that_promises_too_much_is_cut);
	tcase_add_loop_test(tc, a_count_is_bounded_by_the_stream, 0, ARRAY_SIZE(counts));
	tcase_add_loop_test(tc, descriptions_of_lists_that_make_no_sense_cost_the_list, 0, 3);
	tcase_add_test(tc, a_bad_name_costs_the_name_and_not_the_module);
	tcase_add_loop_test(tc, a_module_past_the_end_of_the_address_space_costs_itself, 0, 2);
	tcase_add_loop_test(tc, a_bad_codeview_record_costs_the_id, 0, ARRAY_SIZE(codeviews));
	tcase_add_test(tc, a_codeview_record_outside_the_file_costs_the_id);
	tcase_add_test(tc, lone_surrogates_become_replacement_characters);
	tcase_add_test(tc, a_very_long_name_is_cut);
	tcase_add_test(tc, names_that_overlap_cannot_outgrow_the_file);
	tcase_add_test(tc, lists_longer_than_the_limit_are_cut);
	tcase_add_test(tc, thread_names_are_dropped_one_at_a_time);
	tcase_add_test(tc, exception_of_an_unknown_thread_is_kept);
	tcase_add_test(tc, a_region_cut_by_the_end_of_the_file_keeps_its_part);
	tcase_add_test(tc, a_cut_full_dump_keeps_what_came_before_the_cut);
	tcase_add_test(tc, memory_up_to_the_last_address_is_kept_and_more_is_not);
	tcase_add_loop_test(tc, nested_regions_are_laid_out_in_time, 0, 2);
	tcase_add_test(tc, overlapping_memory_infos_are_cut);
	tcase_add_test(tc, bad_maps_lines_cost_themselves);
	tcase_add_test(tc, bad_annotations_cost_themselves);
	suite_add_tcase(suite, tc);

	tc = tcase_create("sweeps");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, every_prefix_is_read_or_refused, 0, 3);
	tcase_add_loop_test(tc, flipped_bytes_and_odd_words_do_no_harm, 0, 3);
	tcase_add_loop_test(tc, real_dumps_cut_and_flipped_do_no_harm, 0,
			    ARRAY_SIZE(real_dumps));
	tcase_add_test(tc, every_failing_allocation_is_reported);
	suite_add_tcase(suite, tc);
	return suite;
}
