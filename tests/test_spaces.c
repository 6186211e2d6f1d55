#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/snapshot/spaces.h"

Suite *spaces_suite(void);

enum { RX = FW_MAP_KNOWN | FW_MAP_READ | FW_MAP_EXEC, R = FW_MAP_KNOWN | FW_MAP_READ };

static struct fw_spaces *spaces;

static void setup(void)
{
	ck_assert_int_eq(fw_spaces_create(&spaces), FW_OK);
}

static void teardown(void)
{
	fw_spaces_destroy(spaces);
}

static uint32_t dso(const char *path)
{
	uint32_t n;
	struct fw_str s = { path, strlen(path) };
	ck_assert_int_eq(fw_spaces_dso(spaces, s, NULL, &n), FW_OK);
	return n;
}

static void map(uint32_t pid, uint64_t time, uint64_t start, uint64_t end, uint64_t offset,
		const char *path, uint8_t permissions)
{
	struct fw_mapping m = { start, end, offset, dso(path), permissions };
	ck_assert_int_eq(fw_spaces_map(spaces, pid, time, &m), FW_OK);
}

static void comm(uint32_t pid, uint64_t time, const char *name, bool exec)
{
	struct fw_str s = { name, strlen(name) };
	ck_assert_int_eq(fw_spaces_comm(spaces, pid, pid, time, s, exec), FW_OK);
}

static void fork_at(uint32_t pid, uint32_t ppid, uint64_t time)
{
	ck_assert_int_eq(fw_spaces_fork(spaces, pid, ppid, pid, ppid, time), FW_OK);
}

/** Path of the file at an address, "" for none. */
static const char *at(uint32_t pid, uint64_t time, uint64_t address)
{
	const struct fw_space_view *v = fw_spaces_at(spaces, pid, time);
	const struct fw_mapping *m = v ? fw_space_find(v, address) : NULL;
	if (v)
		ck_assert(v->pid == pid && v->from <= time && time < v->to);
	return m ? fw_spaces_dso_at(spaces, m->dso)->path.s : "";
}

static const char *name(uint32_t tid, uint64_t time)
{
	struct fw_str s = fw_spaces_name(spaces, tid, tid, time);
	return s.s ? s.s : "?";
}

START_TEST(exec_drops_all_mappings)
{
	map(1, 10, 0x1000, 0x3000, 0, "/bin/sh", RX);
	comm(1, 20, "ls", true);
	map(1, 21, 0x2000, 0x4000, 0, "/bin/ls", RX);
	ck_assert_str_eq(at(1, 15, 0x1000), "/bin/sh");
	ck_assert_str_eq(at(1, 15, 0x2fff), "/bin/sh");
	ck_assert_str_eq(at(1, 15, 0x3000), "");
	ck_assert_str_eq(at(1, 20, 0x1000), "");
	ck_assert_str_eq(at(1, 20, 0x2000), "/bin/ls");	// mapped before it runs, told later
	ck_assert_str_eq(at(1, 99, 0x3fff), "/bin/ls");
	ck_assert_str_eq(at(2, 99, 0x3fff), "");
}
END_TEST

START_TEST(events_may_come_in_any_order)
{
	map(1, 21, 0x2000, 0x4000, 0, "/bin/ls", RX);
	comm(1, 20, "ls", true);
	map(1, 10, 0x1000, 0x3000, 0, "/bin/sh", RX);
	map(1, 0, 0x8000, 0x9000, 0, "/lib/a", RX);
	ck_assert_str_eq(at(1, 19, 0x8000), "/lib/a");
	ck_assert_str_eq(at(1, 19, 0x1000), "/bin/sh");
	ck_assert_str_eq(at(1, 21, 0x2000), "/bin/ls");
	ck_assert_str_eq(at(1, 21, 0x8000), "");
}
END_TEST

START_TEST(a_later_mapping_cuts_an_older_one)
{
	map(1, 10, 0x1000, 0x9000, 0x100000, "/lib/a", RX);
	map(1, 20, 0x3000, 0x5000, 0, "/lib/b", RX);
	ck_assert_str_eq(at(1, 19, 0x3000), "/lib/a");
	ck_assert_str_eq(at(1, 20, 0x2fff), "/lib/a");
	ck_assert_str_eq(at(1, 20, 0x3000), "/lib/b");
	ck_assert_str_eq(at(1, 20, 0x4fff), "/lib/b");
	ck_assert_str_eq(at(1, 20, 0x5000), "/lib/a");
	const struct fw_space_view *v = fw_spaces_at(spaces, 1, 20);
	ck_assert_uint_eq(v->num_maps, 3);
	ck_assert_uint_eq(v->from, 20);
	ck_assert_uint_eq(v->maps[2].file_offset, 0x104000);
	ck_assert_uint_eq(v->maps[2].end, 0x9000);
	// Before: one piece, until the cut.
	const struct fw_space_view *before = fw_spaces_at(spaces, 1, 0);
	ck_assert_uint_eq(before->num_maps, 1);
	ck_assert_uint_eq(before->to, 20);
	ck_assert_uint_ne(before->number, v->number);
}
END_TEST

START_TEST(libraries_do_not_make_views)
{
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t base = 0x10000 * (100 - i);
		map(1, 10 + i, base, base + 0x8000, 0, "/lib/a", R);
		map(1, 10 + i, base + 0x1000, base + 0x3000, 0x1000, "/lib/a", RX);
		map(1, 10 + i, base + 0x5000, base + 0x8000, 0x4000, "/lib/a", R);
	}
	const struct fw_space_view *v = fw_spaces_at(spaces, 1, 5);
	ck_assert_ptr_eq(v, fw_spaces_at(spaces, 1, 200));
	ck_assert_uint_eq(v->num_maps, 400);
	for (uint32_t i = 1; i < v->num_maps; i++)
		ck_assert_uint_le(v->maps[i - 1].end, v->maps[i].start);
}
END_TEST

START_TEST(a_child_has_what_its_parent_had_then)
{
	map(1, 10, 0x1000, 0x2000, 0, "/bin/sh", RX);
	fork_at(2, 1, 20);
	map(1, 30, 0x5000, 0x6000, 0, "/lib/late", RX);
	map(2, 40, 0x7000, 0x8000, 0, "/lib/own", RX);
	comm(1, 50, "other", true);
	ck_assert_str_eq(at(2, 20, 0x1000), "/bin/sh");
	ck_assert_str_eq(at(2, 99, 0x1000), "/bin/sh");
	ck_assert_str_eq(at(2, 99, 0x5000), "");
	ck_assert_str_eq(at(2, 99, 0x7000), "/lib/own");
	ck_assert_str_eq(at(1, 49, 0x5000), "/lib/late");
	ck_assert_str_eq(at(1, 49, 0x7000), "");
	ck_assert_str_eq(at(1, 50, 0x1000), "");
}
END_TEST

START_TEST(a_number_may_be_used_again)
{
	map(1, 1, 0x1000, 0x2000, 0, "/bin/init", RX);
	map(7, 10, 0x1000, 0x2000, 0, "/bin/old", RX);
	ck_assert_int_eq(fw_spaces_exit(spaces, 7, 7, 15), FW_OK);
	fork_at(7, 1, 20);
	ck_assert_str_eq(at(7, 16, 0x1000), "/bin/old");	// dying
	ck_assert_str_eq(at(7, 20, 0x1000), "/bin/init");
}
END_TEST

START_TEST(threads_share_and_inherit_names)
{
	map(1, 1, 0x1000, 0x2000, 0, "/bin/a", RX);
	comm(1, 2, "main", false);
	ck_assert_int_eq(fw_spaces_fork(spaces, 1, 1, 5, 1, 10), FW_OK);
	ck_assert_int_eq(fw_spaces_comm(spaces, 1, 5, 20, FW_STR("worker"), false), FW_OK);
	ck_assert_str_eq(at(1, 30, 0x1000), "/bin/a");
	ck_assert_str_eq(name(1, 1), "?");
	ck_assert_str_eq(name(1, 2), "main");
	ck_assert_str_eq(name(5, 9), "?");
	ck_assert_str_eq(name(5, 10), "main");
	ck_assert_str_eq(name(5, 19), "main");
	ck_assert_str_eq(name(5, 20), "worker");
	ck_assert_str_eq(name(1, 99), "main");
}
END_TEST

START_TEST(views_stay_while_events_come)
{
	fw_spaces_known(spaces, 100);
	map(1, 10, 0x1000, 0x2000, 0, "/lib/a", RX);
	const struct fw_space_view *v = fw_spaces_at(spaces, 1, 50);
	ck_assert_uint_eq(v->to, 100);
	map(1, 120, 0x1000, 0x2000, 0, "/lib/b", RX);
	map(1, 60, 0x8000, 0x9000, 0, "/lib/late", RX);	// earlier than was promised
	fw_spaces_known(spaces, 200);
	ck_assert_str_eq(at(1, 50, 0x1000), "/lib/a");
	ck_assert_str_eq(at(1, 60, 0x8000), "");
	ck_assert_str_eq(at(1, 100, 0x8000), "/lib/late");
	ck_assert_str_eq(at(1, 119, 0x1000), "/lib/a");
	ck_assert_str_eq(at(1, 120, 0x1000), "/lib/b");
	ck_assert_uint_eq(v->num_maps, 1);
	ck_assert_uint_eq(v->maps[0].end, 0x2000);
	ck_assert_ptr_eq(v, fw_spaces_at(spaces, 1, 99));
}
END_TEST

static const struct { const char *path; enum fw_dso_kind kind; } kinds[] = {
	{ "/usr/lib/libc.so.6", FW_DSO_FILE },
	{ "//anon", FW_DSO_ANON },
	{ "[heap]", FW_DSO_ANON },
	{ "[stack]", FW_DSO_ANON },
	{ "/memfd:jit (deleted)", FW_DSO_ANON },
	{ "", FW_DSO_ANON },
	{ "[vdso]", FW_DSO_VDSO },
	{ "[kernel.kallsyms]_text", FW_DSO_KERNEL },
	{ "[nf_tables]", FW_DSO_KERNEL_MODULE },
	{ "/lib/modules/6.1/kernel/fs/ext4/ext4.ko", FW_DSO_KERNEL_MODULE },
	{ "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz", FW_DSO_KERNEL_MODULE },
	{ "/opt/a.kotlin", FW_DSO_FILE },
};

START_TEST(kinds_by_name)
{
	uint32_t n = dso(kinds[_i].path);
	ck_assert_int_eq(fw_spaces_dso_at(spaces, n)->kind, kinds[_i].kind);
}
END_TEST

START_TEST(files_by_path_and_build_id)
{
	struct fw_ident id = { 0 }, other = { 0 };
	fw_ident_code_from_build_id(&id, (const uint8_t *)"\1\2\3\4", 4);
	fw_ident_code_from_build_id(&other, (const uint8_t *)"\5\6\7\x08", 4);
	uint32_t plain = dso("/lib/a"), gone = dso("/lib/a (deleted)"), with;
	ck_assert_uint_ne(plain, gone);
	ck_assert(fw_spaces_dso_at(spaces, gone)->deleted);
	ck_assert_str_eq(fw_spaces_dso_at(spaces, gone)->path.s, "/lib/a");
	ck_assert_int_eq(fw_spaces_dso(spaces, FW_STR("/lib/a"), &other, &with), FW_OK);
	ck_assert_uint_ne(with, plain);
	ck_assert_uint_eq(dso("/lib/a"), plain);
	fw_spaces_identify(spaces, FW_STR("/lib/a"), &id);
	fw_spaces_identify(spaces, FW_STR("/lib/b"), &id);
	ck_assert_str_eq(fw_spaces_dso_at(spaces, with)->build_id.text, "05060708");
	ck_assert_str_eq(fw_spaces_dso_at(spaces, plain)->build_id.text, "01020304");
	ck_assert_uint_eq(fw_spaces_dso_at(spaces, gone)->build_id.n, 0);	// seen before
	ck_assert_str_eq(fw_spaces_dso_at(spaces, dso("/lib/b"))->build_id.text, "01020304");
	ck_assert_uint_eq(fw_spaces_num_dsos(spaces), 4);
}
END_TEST

START_TEST(nonsense_is_refused)
{
	struct fw_mapping empty = { 0x1000, 0x1000, 0, dso("/a"), RX };
	struct fw_mapping stray = { 0x1000, 0x2000, 0, 77, RX };
	ck_assert_int_eq(fw_spaces_map(spaces, 1, 1, &empty), FW_MALFORMED);
	ck_assert_int_eq(fw_spaces_map(spaces, 1, 1, &stray), FW_MALFORMED);
	ck_assert_ptr_null(fw_spaces_at(spaces, 1, 1));
	ck_assert_ptr_null(fw_spaces_dso_at(spaces, 1));
	fork_at(3, 4, 5);
	fork_at(4, 3, 5);
	ck_assert_ptr_null(fw_spaces_at(spaces, 3, 5));
}
END_TEST

START_TEST(a_process_has_a_limit)
{
	for (uint64_t i = 0; i < FW_MAX_SPACE_MAPS + 10; i++)
		map(1, 1, 0x10000 * i, 0x10000 * i + 0x1000, i, "/a", RX);
	ck_assert_uint_eq(fw_spaces_at(spaces, 1, 1)->num_maps, FW_MAX_SPACE_MAPS);
	ck_assert_uint_eq(fw_spaces_left_out(spaces), 10);
}
END_TEST

/** A thing done naively, byte for byte: the last mapping in time that covers it. */
START_TEST(random_mappings_as_a_naive_table)
{
	enum { EVENTS = 300, SPAN = 64 };
	uint32_t seed = 12345 + (uint32_t)_i;
	int owner[SPAN];
	memset(owner, -1, sizeof(owner));
	for (int e = 0; e < EVENTS; e++) {
		seed = seed * 1664525 + 1013904223;
		unsigned from = seed >> 8 & (SPAN - 1), length = 1 + (seed >> 16) % 12;
		if (from + length > SPAN)
			length = SPAN - from;
		char path[16];
		snprintf(path, sizeof(path), "/f%u", seed >> 24 & 7);
		map(1, (uint64_t)e, from, from + length, from, path, RX);
		for (unsigned i = from; i < from + length; i++)
			owner[i] = (int)(seed >> 24 & 7);
	}
	for (unsigned i = 0; i < SPAN; i++) {
		char path[16] = "";
		if (owner[i] >= 0)
			snprintf(path, sizeof(path), "/f%d", owner[i]);
		ck_assert_str_eq(at(1, EVENTS, i), path);
	}
	const struct fw_space_view *v = fw_spaces_at(spaces, 1, EVENTS);
	for (uint32_t i = 0; i < v->num_maps; i++)
		ck_assert_uint_eq(v->maps[i].file_offset, v->maps[i].start);
}
END_TEST

START_TEST(memory_may_run_out_anywhere)
{
	for (uint64_t n = 1; n < 60; n++) {
		struct fw_spaces *s;
		fw_alloc_fail_at(n);
		if (fw_spaces_create(&s) != FW_OK) {
			fw_alloc_fail_at(0);
			continue;
		}
		struct fw_mapping m = { 0x1000, 0x2000, 0, 0, RX };
		if (fw_spaces_dso(s, FW_STR("/a"), NULL, &m.dso) == FW_OK &&
		    fw_spaces_map(s, 1, 1, &m) == FW_OK &&
		    fw_spaces_fork(s, 2, 1, 2, 1, 5) == FW_OK &&
		    fw_spaces_comm(s, 2, 2, 6, FW_STR("x"), true) == FW_OK) {
			(void)fw_spaces_at(s, 1, 3);
			(void)fw_spaces_name(s, 2, 2, 7);
		}
		fw_alloc_fail_at(0);
		fw_spaces_destroy(s);
	}
}
END_TEST

Suite *spaces_suite(void)
{
	Suite *s = suite_create("spaces");
	TCase *tc = tcase_create("spaces");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, exec_drops_all_mappings);
	tcase_add_test(tc, events_may_come_in_any_order);
	tcase_add_test(tc, a_later_mapping_cuts_an_older_one);
	tcase_add_test(tc, libraries_do_not_make_views);
	tcase_add_test(tc, a_child_has_what_its_parent_had_then);
	tcase_add_test(tc, a_number_may_be_used_again);
	tcase_add_test(tc, threads_share_and_inherit_names);
	tcase_add_test(tc, views_stay_while_events_come);
	tcase_add_loop_test(tc, kinds_by_name, 0, sizeof(kinds) / sizeof(kinds[0]));
	tcase_add_test(tc, files_by_path_and_build_id);
	tcase_add_test(tc, nonsense_is_refused);
	tcase_add_test(tc, a_process_has_a_limit);
	tcase_add_loop_test(tc, random_mappings_as_a_naive_table, 0, 8);
	tcase_add_test(tc, memory_may_run_out_anywhere);
	suite_add_tcase(s, tc);
	return s;
}
