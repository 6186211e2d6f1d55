// Which files of JIT compilers are read, and jitdumps (tools/perf/Documentation/
// jitdump-specification.txt), written here by hand.
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/limits.h"
#include "lib/report/profile_jit.h"

Suite *jit_suite(void);

// ---- whose files are read ----

static struct fw_perf_map *map;

/** @p name NULL: none. */
static void check_map(uint64_t address, const char *name, uint64_t start)
{
	struct fw_str got;
	uint64_t got_start;
	bool found = fw_perf_map_find(map, address, &got, &got_start);
	ck_assert_int_eq(found, name != NULL);
	if (name == NULL)
		return;
	ck_assert_uint_eq(got.n, strlen(name));
	ck_assert_mem_eq(got.s, name, got.n);
	ck_assert_uint_eq(got_start, start);
}

static char folder[] = "/tmp/framewalk-jit-XXXXXX";
static char path[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/framewalk-jit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *put(const char *name, const void *data, size_t n)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(data, 1, n, f), n);
	fclose(f);
	return path;
}

static void expect_open(bool owned, enum fw_code code, const char *message)
{
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_perf_map_open(path, owned, &map, &err), code);
	if (code == FW_OK)
		fw_perf_map_close(map);
	else
		ck_assert_str_eq(err.message, message);
}

START_TEST(only_own_regular_files_are_read)
{
	char link[64];
	put("perf-1.map", "1000 10 f\n", 10);
	expect_open(true, FW_OK, NULL);
	snprintf(link, sizeof(link), "%s/link", folder);
	ck_assert_int_eq(symlink(path, link), 0);
	strcpy(path, link);
	expect_open(true, FW_UNSUPPORTED, "it is a link and was not followed");
	expect_open(false, FW_OK, NULL);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_open(true, FW_UNSUPPORTED, "it is no regular file");
	strcpy(path, folder);
	expect_open(false, FW_UNSUPPORTED, "it is no regular file");
	snprintf(path, sizeof(path), "%s/none", folder);
	expect_open(true, FW_IO, "cannot open: No such file or directory");
}
END_TEST

START_TEST(files_of_another_user_are_not_read)
{
	if (geteuid() != 0)
		return;
	put("perf-1.map", "1000 10 f\n", 10);
	ck_assert_int_eq(chown(path, 65534, 65534), 0);
	expect_open(true, FW_UNSUPPORTED,
		    "it belongs to another user and was not read; --jit takes it");
	expect_open(false, FW_OK, NULL);
}
END_TEST

START_TEST(maps_are_found)
{
	struct fw_profile_jit j;
	char given[64];
	put("perf-7.map", "1000 10 usual\n", 14);
	put("perf-8.map", "junk\n", 5);
	snprintf(given, sizeof(given), "%s/other", folder);
	ck_assert_int_eq(mkdir(given, 0700), 0);
	put("other/perf-7.map", "1000 10 given\njunk\n", 19);
	// where JITs leave them
	fw_profile_jit_init(&j, NULL, folder);
	map = (struct fw_perf_map *)fw_profile_perf_map(&j, 7);
	check_map(0x1000, "usual", 0x1000);
	ck_assert_ptr_eq(fw_profile_perf_map(&j, 7), map);
	ck_assert_ptr_null(fw_profile_perf_map(&j, 8));
	ck_assert_ptr_null(fw_profile_perf_map(&j, 9));
	ck_assert_uint_eq(j.num_notes, 1);
	ck_assert_str_eq(j.notes[0].place, "perf-8.map");
	ck_assert_str_eq(j.notes[0].message, "no line of it is START SIZE name");
	fw_profile_jit_deinit(&j);
	// a folder of the user's, then a file
	for (unsigned file = 0; file < 2; file++) {
		if (file)
			strcat(given, "/perf-7.map");
		fw_profile_jit_init(&j, given, NULL);
		map = (struct fw_perf_map *)fw_profile_perf_map(&j, 7);
		ck_assert_ptr_nonnull(map);
		check_map(0x1000, "given", 0x1000);
		ck_assert_ptr_null(fw_profile_perf_map(&j, 8));
		ck_assert_uint_eq(j.num_notes, 1);
		ck_assert_str_eq(j.notes[0].message, "1 malformed lines are passed over");
		fw_profile_jit_deinit(&j);
	}
}
END_TEST

// ---- jitdumps ----

static struct { uint8_t data[FW_MAX_NAME + 4096]; size_t n; bool swap; } b;
static struct fw_jitdump *dump;

static void u32(uint32_t v)
{
	v = b.swap ? __builtin_bswap32(v) : v;
	memcpy(b.data + b.n, &v, 4);
	b.n += 4;
}

static void u64(uint64_t v)
{
	v = b.swap ? __builtin_bswap64(v) : v;
	memcpy(b.data + b.n, &v, 8);
	b.n += 8;
}

static void bytes(const void *p, size_t n)
{
	memcpy(b.data + b.n, p, n);
	b.n += n;
}

static void header(uint32_t version, uint32_t size, uint64_t flags)
{
	b.n = 0;
	u32(0x4a695444);
	u32(version);
	u32(size);
	u32(62);
	u32(0);
	u32(1234);
	u64(1);
	u64(flags);
}

static size_t record(uint32_t id, uint64_t time)
{
	size_t at = b.n;
	u32(id);
	u32(0);
	u64(time);
	return at;
}

static void end_record(size_t at)
{
	size_t n = b.n;
	b.n = at + 4;
	u32((uint32_t)(n - at));
	b.n = n;
}

static void load(uint64_t time, uint64_t address, uint64_t size, uint64_t index, const char *name)
{
	size_t at = record(0, time);
	u32(1234);
	u32(1234);
	u64(address);
	u64(address);
	u64(size);
	u64(index);
	bytes(name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		bytes(&(uint8_t){ (uint8_t)i }, 1);
	end_record(at);
}

static void move(uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	size_t at = record(1, time);
	u32(1234);
	u32(1234);
	u64(to);
	u64(from);
	u64(to);
	u64(size);
	u64(index);
	end_record(at);
}

static void line(uint64_t address, uint32_t number, const char *file)
{
	u64(address);
	u32(number);
	u32(0);
	bytes(file, strlen(file) + 1);
}

static void parse_dump(void)
{
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_jitdump_parse(b.data, b.n, &dump, &err), FW_OK);
}

/** @p name NULL: nothing there then. */
static const struct fw_jit_code *check_code(uint64_t address, uint64_t time, const char *name)
{
	uint32_t number;
	bool found = fw_jitdump_find(dump, address, time, &number);
	ck_assert_int_eq(found, name != NULL);
	if (name == NULL)
		return NULL;
	const struct fw_jit_code *c = fw_jitdump_code(dump, number);
	ck_assert_uint_eq(c->name.n, strlen(name));
	ck_assert_mem_eq(c->name.s, name, c->name.n);
	return c;
}

static void check_counts(uint32_t malformed, uint64_t torn_at)
{
	struct fw_jit_counts c = fw_jitdump_counts(dump);
	ck_assert_uint_eq(c.malformed, malformed);
	ck_assert_uint_eq(c.torn_at, torn_at);
	ck_assert_uint_eq(c.too_many, 0);
}

// In both byte orders.
START_TEST(code_is_there_from_its_time_on)
{
	b.swap = _i;
	header(1, 40, 0);
	load(100, 0x1000, 32, 1, "first");
	load(200, 0x1010, 32, 2, "second");	// over the end of the first
	load(300, 0x1000, 16, 3, "third");
	end_record(record(99, 0));		// of a later version
	end_record(record(3, 0));
	load(400, 0x1000, 16, 4, "behind the end");
	parse_dump();
	check_counts(0, 0);
	check_code(0x1000, 99, NULL);
	check_code(0x1000, 100, "first");
	check_code(0x1010, 199, "first");
	check_code(0x1010, 200, "second");
	check_code(0x1000, 299, "first");
	check_code(0x1000, 300, "third");
	check_code(0x102f, UINT64_MAX, "second");
	check_code(0x1030, UINT64_MAX, NULL);
	const struct fw_jit_code *c = check_code(0x1000, UINT64_MAX, "third");
	ck_assert_uint_eq(c->start, 0x1000);
	ck_assert_uint_eq(c->size, 16);
	ck_assert_uint_eq(c->bytes[15], 15);
	ck_assert_uint_eq(c->eh_frame.size, 0);
	fw_jitdump_close(dump);
}
END_TEST

START_TEST(moved_code_is_no_longer_where_it_was)
{
	b.swap = _i;
	header(1, 48, 0);
	u64(0);					// a longer header
	load(100, 0x1000, 32, 1, "f");
	load(100, 0x2000, 32, 2, "g");
	move(200, 0x1000, 0x3000, 32, 1);
	move(300, 0x3000, 0x4000, 16, 1);	// and is shorter
	move(250, 0x1000, 0x5000, 32, 1);	// it is not there
	move(250, 0x2000, 0x5000, 32, 9);	// no such code
	move(250, 0x2000, 0x5000, 33, 2);	// more than there is
	move(50, 0x2000, 0x5000, 32, 2);	// before it came
	parse_dump();
	check_counts(4, 0);
	check_code(0x1000, 199, "f");
	check_code(0x1000, 200, NULL);
	check_code(0x3000, 199, NULL);
	check_code(0x301f, 299, "f");
	check_code(0x3000, 300, NULL);
	check_code(0x400f, 300, "f");
	check_code(0x4010, 300, NULL);
	check_code(0x2000, 300, "g");
	fw_jitdump_close(dump);
}
END_TEST

static void check_line(uint64_t address, const char *file, uint32_t number)
{
	uint32_t n, got;
	struct fw_str name;
	ck_assert(fw_jitdump_find(dump, address, UINT64_MAX, &n));
	bool found = fw_jit_code_line(fw_jitdump_code(dump, n), address, &name, &got);
	ck_assert_int_eq(found, file != NULL);
	if (file == NULL)
		return;
	ck_assert_uint_eq(name.n, strlen(file));
	ck_assert_mem_eq(name.s, file, name.n);
	ck_assert_uint_eq(got, number);
}

/** Lines of code at 0x1000; all addresses @p shift more. */
static void lay_lines(uint64_t shift)
{
	header(1, 40, 0);
	size_t at = record(2, 0);
	u64(0x1000);
	u64(3);
	line(0x1000 + shift, 10, "a.js");
	line(0x1008 + shift, 11, "\xff");
	line(0x1010 + shift, 12, "b.js");
	end_record(at);
	load(100, 0x1000, 128, 1, "f");
	load(100, 0x2000, 128, 2, "without");	// lines are the next function's only
	move(200, 0x1000, 0x3000, 128, 1);
}

START_TEST(lines_are_found)
{
	const uint64_t shift = _i & 2 ? 0x40 : 0;	// V8 counts from an ELF header
	b.swap = _i & 1;
	lay_lines(shift);
	parse_dump();
	check_line(0x3000, "a.js", 10);
	check_line(0x3007, "a.js", 10);
	check_line(0x3008, "a.js", 11);
	check_line(0x307f, "b.js", 12);
	check_line(0x2000, NULL, 0);
	fw_jitdump_close(dump);
}
END_TEST

// V8 leaves freed memory where the file of optimised code should be.
START_TEST(lines_with_a_name_that_is_no_text_are_not_used)
{
	static const char *const names[] = { "\367\22760", "a\nb", "\x7f" };
	b.swap = false;
	header(1, 40, 0);
	size_t at = record(2, 0);
	u64(0x1000);
	u64(2);
	line(0x1000, 10, "a.js");
	line(0x1008, 11, names[_i]);
	end_record(at);
	load(100, 0x1000, 128, 1, "f");
	parse_dump();
	check_counts(0, 0);
	check_line(0x1000, NULL, 0);
	fw_jitdump_close(dump);
}
END_TEST

/** sub $24,%rsp at 4; CFA = rsp + 32 behind it. Addresses count on 0x1000 + 32. */
static const uint8_t eh_frame[] = {
	0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
	0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0xc0, 0xff, 0xff, 0xff, 30, 0, 0, 0, 0, 0x44, 0x0e, 32, 0, 0,
	0, 0, 0, 0, 0, 0,
};

static void unwinding(uint64_t size, uint64_t index_size)
{
	size_t at = record(4, 0);
	u64(size);
	u64(index_size);
	u64(0);
	bytes(eh_frame, sizeof(eh_frame));
	bytes("header..", 8);
	end_record(at);
}

START_TEST(unwinding_information_gives_rows)
{
	static struct fw_jit_rules rules;
	struct fw_programs programs;
	const struct fw_cpu *cpu = fw_cpu_get(FW_CPU_AMD64);
	uint32_t count;
	b.swap = false;
	header(1, 40, 0);
	unwinding(sizeof(eh_frame) + 8, 8);
	load(100, 0x1000, 30, 1, "f");
	load(100, 0x2000, 30, 2, "without");
	move(200, 0x1000, 0x3000, 30, 1);
	parse_dump();
	check_counts(0, 0);
	const struct fw_jit_code *c = check_code(0x3000, 200, "f");
	for (unsigned i = 0; i < 3; i++) {
		const struct fw_rule *row = fw_jit_rules_at(&rules, c, cpu, 0x3003, &count,
							    &programs);
		ck_assert_ptr_nonnull(row);
		ck_assert_int_eq(row[0].arg, 8);
		row = fw_jit_rules_at(&rules, c, cpu, 0x3004, &count, &programs);
		ck_assert_ptr_nonnull(row);
		ck_assert_int_eq(row[0].kind, FW_RULE_REG);
		ck_assert_int_eq(row[0].arg, 32);
		ck_assert_int_eq(row[1].arg, -8);
		ck_assert_ptr_null(fw_jit_rules_at(&rules, c, cpu, 0x301e, &count, &programs));
		c = check_code(0x1000, 100, "f");	// before it was moved
		ck_assert_ptr_nonnull(fw_jit_rules_at(&rules, c, cpu, 0x1004, &count, &programs));
		ck_assert_ptr_null(fw_jit_rules_at(&rules, c, cpu, 0x3004, &count, &programs));
		c = check_code(0x3000, 200, "f");
	}
	c = check_code(0x2000, 200, "without");
	ck_assert_ptr_null(fw_jit_rules_at(&rules, c, cpu, 0x2004, &count, &programs));
	fw_jit_rules_deinit(&rules);
	fw_jitdump_close(dump);
}
END_TEST

START_TEST(bad_records_cost_themselves)
{
	b.swap = false;
	header(1, 40, 0);
	unwinding(sizeof(eh_frame), sizeof(eh_frame) + 1);
	unwinding(sizeof(eh_frame) + 9, 8);
	unwinding(FW_MAX_JIT_UNWINDING + 1, 0);
	size_t at = record(2, 0);		// more lines than fit
	u64(0x1000);
	u64(UINT64_C(1) << 60);
	line(0x1000, 1, "a");
	end_record(at);
	end_record(record(2, 0));
	load(100, 0x1000, 8, 1, "good");
	load(100, 0x1000, 0, 1, "empty");
	load(100, UINT64_MAX - 3, 8, 1, "over the end");
	end_record(record(0, 0));
	end_record(record(1, 0));
	at = b.n;				// code longer than its record
	load(100, 0x5000, 8, 1, "long");
	b.n--;
	end_record(at);
	at = b.n;				// a name without an end
	load(100, 0x5000, 8, 1, "name");
	b.n = at + 16 + 40 + 3;
	end_record(at);
	parse_dump();
	check_counts(11, 0);
	ck_assert_uint_eq(check_code(0x1000, 100, "good")->eh_frame.size, 0);
	check_code(0x5000, 100, NULL);
	fw_jitdump_close(dump);
}
END_TEST

// ---- a large dump ----

static uint8_t *large;
static size_t large_size;

/** Header and @p count loads of one byte, the same each, number i as its index and time. */
static void make_large(uint32_t count, const char *name)
{
	b.swap = false;
	header(1, 40, 0);
	const size_t first = b.n;
	load(0, 0, 1, 0, name);
	const size_t size = b.n - first;
	large_size = first + count * size;
	large = malloc(large_size + 1024);
	memcpy(large, b.data, first);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t *at = large + first + i * size;
		const uint64_t address = 0x1000 + 16 * i;
		memcpy(at, b.data + first, size);
		memcpy(at + 8, &i, 8);
		memcpy(at + 32, &address, 8);
		memcpy(at + 48, &i, 8);
	}
}

static void append_large(void)
{
	memcpy(large + large_size, b.data, b.n);
	large_size += b.n;
}

static void parse_large(void)
{
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_jitdump_parse(large, large_size, &dump, &err), FW_OK);
}

START_TEST(functions_of_a_dump_have_a_limit)
{
	struct fw_profile_jit j;
	make_large(FW_MAX_JIT_CODE + 2, "f");
	parse_large();
	ck_assert_uint_eq(fw_jitdump_counts(dump).too_many, 2);
	check_code(0x1000 + UINT64_C(16) * (FW_MAX_JIT_CODE - 1), UINT64_MAX, "f");
	check_code(0x1000 + UINT64_C(16) * FW_MAX_JIT_CODE, UINT64_MAX, NULL);
	fw_jitdump_close(dump);
	put("jit-5.dump", large, large_size);
	fw_profile_jit_init(&j, NULL, NULL);
	ck_assert_ptr_nonnull(fw_profile_jitdump(&j, 3, path));
	ck_assert_uint_eq(j.num_notes, 1);
	ck_assert_str_eq(j.notes[0].message, "2 functions past the first 524287 are left out");
	fw_profile_jit_deinit(&j);
	free(large);
}
END_TEST

// Which code has moved is looked for from the end, so far and no farther.
START_TEST(looking_for_moved_code_has_a_limit)
{
	for (uint32_t older = FW_MAX_MADE_STEPS - 1; older <= FW_MAX_MADE_STEPS; older++) {
		make_large(older + 1, "f");
		b.n = 0;
		move(UINT32_MAX, 0x1000, 0xf0000000, 1, 0);
		append_large();
		parse_large();
		const bool found = older < FW_MAX_MADE_STEPS;
		check_counts(!found, 0);
		check_code(0xf0000000, UINT64_MAX, found ? "f" : NULL);
		fw_jitdump_close(dump);
		free(large);
	}
}
END_TEST

START_TEST(names_of_a_dump_have_a_limit)
{
	static char name[FW_MAX_NAME + 2];
	for (size_t n = FW_MAX_NAME; n <= FW_MAX_NAME + 1; n++) {
		memset(name, 'a', n);
		const uint32_t size = (uint32_t)(56 + n + 2);
		make_large(0, "f");
		free(large);
		large = calloc(1, 40 + size);
		memcpy(large, b.data, 40 + 56);
		memcpy(large + 40 + 4, &size, 4);
		memcpy(large + 40 + 56, name, n);
		large_size = 40 + size;
		parse_large();
		check_counts(n > FW_MAX_NAME, 0);
		fw_jitdump_close(dump);
		free(large);
	}
}
END_TEST

START_TEST(names_of_files_have_a_limit)
{
	static char name[FW_MAX_NAME + 2];
	struct fw_str file;
	uint32_t number;
	for (size_t n = FW_MAX_NAME; n <= FW_MAX_NAME + 1; n++) {
		memset(name, 'a', n);
		header(1, 40, 0);
		const size_t at = record(2, 0);
		u64(0x1000);
		u64(1);
		line(0x1000, 1, name);
		end_record(at);
		load(100, 0x1000, 8, 1, "f");
		parse_dump();
		ck_assert_int_eq(fw_jit_code_line(check_code(0x1000, 100, "f"), 0x1000, &file,
						  &number), n == FW_MAX_NAME);
		fw_jitdump_close(dump);
	}
}
END_TEST

START_TEST(lines_of_a_function_have_a_limit)
{
	enum { LINE = 17 };
	struct fw_str file;
	uint32_t number;
	for (uint64_t n = FW_MAX_JIT_LINES; n <= FW_MAX_JIT_LINES + 1; n++) {
		const uint32_t size = (uint32_t)(16 + 16 + n * LINE);
		large = calloc(1, 40 + size + 1024);
		header(1, 40, 0);
		record(2, 0);
		u64(0x1000);
		u64(n);
		memcpy(large, b.data, b.n);
		memcpy(large + 40 + 4, &size, 4);
		for (uint64_t i = 0; i < n; i++)	// line i + 1 of a file whose name is empty
			memcpy(large + 72 + i * LINE, (uint64_t[]){ 0x1000 + i, i + 1 }, 16);
		large_size = 40 + size;
		b.n = 0;
		load(100, 0x1000, 64, 1, "f");
		append_large();
		parse_large();
		check_counts(n > FW_MAX_JIT_LINES, 0);
		bool found = fw_jit_code_line(check_code(0x1000, 100, "f"), 0x1010, &file, &number);
		ck_assert_int_eq(found, n == FW_MAX_JIT_LINES);
		if (found)
			ck_assert_uint_eq(number, 17);
		fw_jitdump_close(dump);
		free(large);
	}
}
END_TEST

START_TEST(notes_have_a_limit)
{
	struct fw_profile_jit j;
	fw_profile_jit_init(&j, NULL, NULL);
	for (uint32_t i = 0; i < FW_MAX_JIT_NOTES + 3; i++)
		ck_assert_ptr_null(fw_profile_jitdump(&j, i, "/nowhere/jit-5.dump"));
	ck_assert_uint_eq(j.num_notes, FW_MAX_JIT_NOTES + 3);	// the rest are only counted
	ck_assert_str_eq(j.notes[FW_MAX_JIT_NOTES - 1].message,
			 "cannot open: No such file or directory");
	fw_profile_jit_deinit(&j);
}
END_TEST

START_TEST(torn_dump_gives_what_is_whole)
{
	b.swap = false;
	header(1, 40, 0);
	load(100, 0x1000, 8, 1, "whole");
	const size_t at = b.n;
	load(100, 0x2000, 8, 2, "torn");
	const size_t end = b.n;
	for (b.n = at; b.n < end; b.n++) {
		parse_dump();
		check_counts(0, b.n == at ? 0 : at);
		check_code(0x1000, 100, "whole");
		check_code(0x2000, 100, NULL);
		fw_jitdump_close(dump);
	}
	b.n = at + 4;				// a size of less than its own head
	u32(15);
	b.n = end;
	parse_dump();
	check_counts(0, at);
	fw_jitdump_close(dump);
}
END_TEST

static const struct {
	uint32_t version, size;
	uint64_t flags;
	size_t bytes;
	enum fw_code code;
	const char *place, *message;
} headers[] = {
	{ 1, 40, 0, 3, FW_UNSUPPORTED, "", "no jitdump: its magic is missing" },
	{ 1, 40, 0, 39, FW_MALFORMED, "header", "it is cut off, or its length is wrong" },
	{ 1, 39, 0, 40, FW_MALFORMED, "header", "it is cut off, or its length is wrong" },
	{ 1, 41, 0, 40, FW_MALFORMED, "header", "it is cut off, or its length is wrong" },
	{ 2, 40, 0, 40, FW_UNSUPPORTED, "header", "version 2 of the format" },
	{ 1, 40, 1, 40, FW_UNSUPPORTED, "header",
	  "its times are the CPU's counter and not to be compared" },
};

START_TEST(bad_header)
{
	struct fw_error err = { 0 };
	b.swap = false;
	header(headers[_i].version, headers[_i].size, headers[_i].flags);
	ck_assert_int_eq(fw_jitdump_parse(b.data, headers[_i].bytes, &dump, &err),
			 headers[_i].code);
	ck_assert_str_eq(err.place, headers[_i].place);
	ck_assert_str_eq(err.message, headers[_i].message);
}
END_TEST

START_TEST(dumps_are_found)
{
	struct fw_profile_jit j;
	char recorded[64];
	b.swap = false;
	header(1, 40, 0);
	load(100, 0x1000, 8, 1, "f");
	load(100, 0x1000, 0, 1, "bad");
	load(100, 0x2000, 8, 2, "torn");
	put("jit-5.dump", b.data, b.n - 1);
	fw_profile_jit_init(&j, NULL, NULL);
	dump = (struct fw_jitdump *)fw_profile_jitdump(&j, 3, path);
	ck_assert_ptr_nonnull(dump);
	check_code(0x1000, 100, "f");
	ck_assert_ptr_eq(fw_profile_jitdump(&j, 3, path), dump);
	ck_assert_ptr_null(fw_profile_jitdump(&j, 4, "/nowhere/jit-5.dump"));
	ck_assert_uint_eq(j.num_notes, 3);
	ck_assert_str_eq(j.notes[0].place, "jit-5.dump");
	ck_assert_str_eq(j.notes[0].message, "it is torn at offset 0xa6");
	ck_assert_str_eq(j.notes[1].message, "1 malformed records are passed over");
	ck_assert_str_eq(j.notes[2].message, "cannot open: No such file or directory");
	fw_profile_jit_deinit(&j);
	fw_profile_jit_init(&j, folder, NULL);	// moved elsewhere since
	ck_assert_ptr_nonnull(fw_profile_jitdump(&j, 3, "/nowhere/jit-5.dump"));
	fw_profile_jit_deinit(&j);
	snprintf(recorded, sizeof(recorded), "%s/jit-x.dump", folder);
	ck_assert(fw_is_jitdump_name((struct fw_str){ path, strlen(path) }));
	ck_assert(!fw_is_jitdump_name((struct fw_str){ recorded, strlen(recorded) }));
	ck_assert(!fw_is_jitdump_name(FW_STR("/tmp/jit-.dump")));
	ck_assert(!fw_is_jitdump_name(FW_STR("jit-1.dump.gz")));
}
END_TEST

Suite *jit_suite(void)
{
	Suite *s = suite_create("jit");
	TCase *t = tcase_create("files");
	tcase_add_checked_fixture(t, make_folder, remove_folder);
	tcase_add_test(t, only_own_regular_files_are_read);
	tcase_add_test(t, files_of_another_user_are_not_read);
	tcase_add_test(t, maps_are_found);
	tcase_add_test(t, dumps_are_found);
	tcase_add_test(t, functions_of_a_dump_have_a_limit);
	suite_add_tcase(s, t);
	t = tcase_create("jitdump");
	tcase_add_loop_test(t, code_is_there_from_its_time_on, 0, 2);
	tcase_add_loop_test(t, moved_code_is_no_longer_where_it_was, 0, 2);
	tcase_add_loop_test(t, lines_are_found, 0, 4);
	tcase_add_loop_test(t, lines_with_a_name_that_is_no_text_are_not_used, 0, 3);
	tcase_add_test(t, unwinding_information_gives_rows);
	tcase_add_test(t, bad_records_cost_themselves);
	tcase_add_test(t, looking_for_moved_code_has_a_limit);
	tcase_add_test(t, names_of_a_dump_have_a_limit);
	tcase_add_test(t, names_of_files_have_a_limit);
	tcase_add_test(t, lines_of_a_function_have_a_limit);
	tcase_add_test(t, notes_have_a_limit);
	tcase_add_test(t, torn_dump_gives_what_is_whole);
	tcase_add_loop_test(t, bad_header, 0, sizeof(headers) / sizeof(headers[0]));
	suite_add_tcase(s, t);
	return s;
}
