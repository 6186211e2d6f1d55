// What JIT compilers leave of their code: perf maps (tools/perf/Documentation/
// jit-interface.txt) and jitdumps (jitdump-specification.txt), written here by hand.
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/limits.h"
#include "lib/report/made_index.h"
#include "lib/report/profile_jit.h"

Suite *jit_suite(void);

// ---- perf maps ----

static struct fw_perf_map *map;

static void parse_map(const char *text)
{
	struct fw_error err;
	ck_assert_int_eq(fw_perf_map_parse(text, strlen(text), &map, &err), FW_OK);
}

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

START_TEST(map_names_are_found)
{
	parse_map("7f0000001000 40 JS:~main app.js:1:1\n"
		  "0x7f0000001040 0x0000000000000020 int T.f(int, long)\r\n"
		  "7f0000003000 1 last");
	check_map(0x7f0000000fff, NULL, 0);
	check_map(0x7f0000001000, "JS:~main app.js:1:1", 0x7f0000001000);
	check_map(0x7f000000103f, "JS:~main app.js:1:1", 0x7f0000001000);
	check_map(0x7f0000001040, "int T.f(int, long)", 0x7f0000001040);
	check_map(0x7f0000001060, NULL, 0);
	check_map(0x7f0000003000, "last", 0x7f0000003000);
	check_map(0x7f0000003001, NULL, 0);
	ck_assert_uint_eq(fw_perf_map_skipped(map), 0);
	fw_perf_map_close(map);
}
END_TEST

// Code is thrown away and other code takes its place: a map only grows.
START_TEST(last_of_several_names_counts)
{
	parse_map("1000 100 outer\n1010 10 old\n1018 10 newer\n1010 4 newest\n");
	check_map(0x1000, "outer", 0x1000);
	check_map(0x1010, "newest", 0x1010);
	check_map(0x1013, "newest", 0x1010);
	check_map(0x1014, "old", 0x1010);
	check_map(0x1018, "newer", 0x1018);
	check_map(0x1027, "newer", 0x1018);
	check_map(0x1028, "outer", 0x1000);
	fw_perf_map_close(map);
}
END_TEST

START_TEST(bad_lines_cost_themselves)
{
	parse_map("\n1000 10 good\nx 10 f\n1000\n1000 10\n1000 10 \n1000 0 empty\n"
		  "10000000000000000 1 wide\nffffffffffffff00 101 over\n-1 1 f\n1000,10 f\n");
	ck_assert_uint_eq(fw_perf_map_skipped(map), 9);
	check_map(0x1000, "good", 0x1000);
	fw_perf_map_close(map);
	parse_map("");
	check_map(0, NULL, 0);
	fw_perf_map_close(map);
}
END_TEST

START_TEST(text_that_is_no_map)
{
	struct fw_error err;
	ck_assert_int_eq(fw_perf_map_parse("a\nb\n", 4, &map, &err), FW_MALFORMED);
	ck_assert_str_eq(err.message, "no line of it is START SIZE name");
}
END_TEST

START_TEST(map_has_a_limit)
{
	struct fw_error err;
	const size_t n = FW_MAX_PERF_MAP + 1, line = 6;
	char *text = malloc(n * line);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * line, "1 1 f\n", line);
	ck_assert_int_eq(fw_perf_map_parse(text, n * line, &map, &err), FW_LIMIT);
	ck_assert_str_eq(err.message, "more than 4194304 functions");
	free(text);
}
END_TEST

// ---- whose files are read ----

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

// ---- the index ----

START_TEST(index_finds_what_a_search_from_end_to_end_finds)
{
	struct fw_made_index x = { 0 };
	enum { N = 300 };
	uint32_t seed = 1, item;
	for (uint32_t i = 0; i < N; i++) {
		uint32_t r[4];
		for (unsigned k = 0; k < 4; k++)
			r[k] = (seed = seed * 1103515245 + 12345) >> 16;
		struct fw_made_span s = { r[0] % 1000, 0, r[2] % 100, UINT64_MAX, i };
		s.end = s.start + 1 + r[1] % (i % 10 ? 20 : 500);
		if (i % 3 == 0)
			s.to = s.from + r[3] % 50;
		ck_assert(fw_vec_push(&x.spans, s));
	}
	ck_assert_int_eq(fw_made_index_build(&x), FW_OK);
	for (uint64_t address = 0; address < 1600; address++) {
		for (uint64_t time = 0; time < 160; time += 7) {
			const struct fw_made_span *best = NULL;
			for (unsigned i = 0; i < N; i++) {
				const struct fw_made_span *s = &x.spans.data[i];
				if (address >= s->start && address < s->end && time >= s->from &&
				    (time < s->to || s->to == UINT64_MAX) &&
				    (!best || s->from > best->from ||
				     (s->from == best->from && s->item > best->item)))
					best = s;
			}
			bool found = fw_made_index_find(&x, address, time, &item);
			ck_assert_int_eq(found, best != NULL);
			if (found)
				ck_assert_uint_eq(item, best->item);
		}
	}
	fw_made_index_deinit(&x);
}
END_TEST

START_TEST(index_has_a_limit)
{
	struct fw_made_index x = { 0 };
	uint32_t item;
	for (uint32_t i = 0; i < FW_MAX_MADE_STEPS + 1; i++)
		ck_assert(fw_vec_push(&x.spans, ((struct fw_made_span){ 1, 3, 0, UINT64_MAX, i })));
	ck_assert_int_eq(fw_made_index_build(&x), FW_OK);
	ck_assert(!fw_made_index_find(&x, 1, 0, &item));
	ck_assert(!fw_made_index_find(&x, 3, 0, &item));
	fw_made_index_deinit(&x);
}
END_TEST

// ---- jitdumps ----

static struct { uint8_t data[4096]; size_t n; bool swap; } b;
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
	static const char *const names[] = { "\xf7\x97" "60", "a\nb", "\x7f" };
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
	TCase *t = tcase_create("perf map");
	tcase_add_test(t, map_names_are_found);
	tcase_add_test(t, last_of_several_names_counts);
	tcase_add_test(t, bad_lines_cost_themselves);
	tcase_add_test(t, text_that_is_no_map);
	tcase_add_test(t, map_has_a_limit);
	tcase_add_test(t, index_finds_what_a_search_from_end_to_end_finds);
	tcase_add_test(t, index_has_a_limit);
	suite_add_tcase(s, t);
	t = tcase_create("files");
	tcase_add_checked_fixture(t, make_folder, remove_folder);
	tcase_add_test(t, only_own_regular_files_are_read);
	tcase_add_test(t, files_of_another_user_are_not_read);
	tcase_add_test(t, maps_are_found);
	tcase_add_test(t, dumps_are_found);
	suite_add_tcase(s, t);
	t = tcase_create("jitdump");
	tcase_add_loop_test(t, code_is_there_from_its_time_on, 0, 2);
	tcase_add_loop_test(t, moved_code_is_no_longer_where_it_was, 0, 2);
	tcase_add_loop_test(t, lines_are_found, 0, 4);
	tcase_add_loop_test(t, lines_with_a_name_that_is_no_text_are_not_used, 0, 3);
	tcase_add_test(t, unwinding_information_gives_rows);
	tcase_add_test(t, bad_records_cost_themselves);
	tcase_add_test(t, torn_dump_gives_what_is_whole);
	tcase_add_loop_test(t, bad_header, 0, sizeof(headers) / sizeof(headers[0]));
	suite_add_tcase(s, t);
	return s;
}
