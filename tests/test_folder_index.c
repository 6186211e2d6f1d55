#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symfiles/folder_index.h"
#include "tests/synth_elf.h"
#include "tests/synth_folder.h"

Suite *folder_index_suite(void);

#define ID_A "11111111111111111111111111111111a"
#define ID_B "222222222222222222222222222222220"

static struct folder f;

static void setup(void)
{
	folder_make(&f);
}

static void teardown(void)
{
	folder_remove(&f);
}

static struct fw_index *open_index(struct fw_cache *cache)
{
	struct fw_index *x = fw_index_open(folder_path(&f, "tree"), cache);
	ck_assert_ptr_nonnull(x);
	return x;
}

static struct fw_ident ident(const char *text)
{
	struct fw_ident id;
	ck_assert(fw_ident_parse_debug(&id, (struct fw_str){ text, strlen(text) }));
	return id;
}

/** Paths of all files with an id, joined by spaces. */
static const char *found(const struct fw_index *x, enum fw_index_kind kind, const char *text)
{
	static char out[4096];
	struct fw_ident id = ident(text);
	struct fw_index_hit hit;
	out[0] = '\0';
	for (uint32_t i = 0; fw_index_find(x, kind, &id, i, &hit); i++) {
		ck_assert(fw_ident_equal(&hit.id, &id));
		if (i)
			strcat(out, " ");
		strcat(out, hit.path);
	}
	return out;
}

START_TEST(any_layout_and_name)
{
	folder_text(&f, "tree/deep/er/whatever", "MODULE Linux x86_64 " ID_A " app\nFUNC 1 1 0 f\n");
	folder_gzip(&f, "tree/z.sym.gz", "MODULE Linux x86_64 " ID_B " libz.so.1\n");
	folder_zstd(&f, "tree/zz", "MODULE Linux x86_64 " ID_B " libz.so.1\n");
	folder_text(&f, "tree/README", "MODULES are here\n");
	folder_text(&f, "tree/empty.sym", "");
	// no MODULE line: the place tells the id, but only a store's place
	folder_text(&f, "tree/x/app/" ID_B "/app.sym", "FUNC 1 1 0 f\n");
	folder_text(&f, "tree/x/" ID_B ".sym", "FUNC 1 1 0 f\n");
	struct fw_index *x = open_index(NULL);
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_A), "deep/er/whatever");
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_B), "x/app/" ID_B "/app.sym z.sym.gz zz");
	ck_assert(!fw_index_truncated(x));
	fw_index_close(x);
}
END_TEST

START_TEST(elf_by_build_id)
{
	static const uint8_t build_id[16] = { 0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77, 9 };
	uint8_t elf[SYNTH_ELF_MAX];
	struct synth_elf o = { .wide = _i, .note_segment = true, .build_id = build_id,
			       .build_id_size = 16 };
	folder_write(&f, "tree/bin/prog", elf, synth_elf(&o, elf));
	o.type = 4;	// ET_CORE: a core may hold the note of its program
	folder_write(&f, "tree/core", elf, synth_elf(&o, elf));
	struct fw_index *x = open_index(NULL);
	ck_assert_str_eq(found(x, FW_INDEX_ELF, "112233445566778809000000000000000"), "bin/prog");
	ck_assert_str_eq(found(x, FW_INDEX_SYM, "112233445566778809000000000000000"), "");
	fw_index_close(x);
}
END_TEST

START_TEST(equal_ids_come_in_path_order)
{
	static const char text[] = "MODULE Linux x86_64 " ID_A " app\n";
	folder_text(&f, "tree/b/app.sym", text);
	folder_text(&f, "tree/a.sym", text);
	folder_text(&f, "tree/a/z.sym", text);
	folder_text(&f, "tree/B/app.sym", text);
	struct fw_index *x = open_index(NULL);
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_A), "B/app.sym a.sym a/z.sym b/app.sym");
	fw_index_close(x);
}
END_TEST

START_TEST(names_for_mismatches)
{
	struct fw_index_hit hit;
	folder_text(&f, "tree/1", "MODULE windows x86 " ID_A " C:\\build\\App.PDB\r\n");
	folder_text(&f, "tree/2", "MODULE Linux x86_64 " ID_B " /usr/lib/libz.so.1\n");
	struct fw_index *x = open_index(NULL);
	ck_assert(fw_index_find_name(x, FW_STR("app.pdb"), 0, &hit));
	ck_assert_str_eq(hit.path, "1");
	ck_assert_str_eq(hit.id.text, ID_A);
	ck_assert(!fw_index_find_name(x, FW_STR("app.pdb"), 1, &hit));
	ck_assert(fw_index_find_name(x, FW_STR("libz.so.1"), 0, &hit));
	ck_assert(!fw_index_find_name(x, FW_STR("LIBZ.so.1"), 0, &hit));
	ck_assert(!fw_index_find_name(x, FW_STR(""), 0, &hit));
	fw_index_close(x);
}
END_TEST

START_TEST(links_loops_and_closed_folders)
{
	static const char text[] = "MODULE Linux x86_64 " ID_A " app\n";
	folder_text(&f, "tree/real/app.sym", text);
	folder_text(&f, "outside/other.sym", "MODULE Linux x86_64 " ID_B " app\n");
	folder_text(&f, "tree/closed/app.sym", text);
	ck_assert_int_eq(symlink("..", folder_path(&f, "tree/real/loop")), 0);
	ck_assert_int_eq(symlink("self", folder_path(&f, "tree/self")), 0);
	ck_assert_int_eq(symlink("nowhere", folder_path(&f, "tree/dangling")), 0);
	ck_assert_int_eq(symlink("../outside", folder_path(&f, "tree/folder")), 0);
	ck_assert_int_eq(symlink("../outside/other.sym", folder_path(&f, "tree/file")), 0);
	ck_assert_int_eq(mkfifo(folder_path(&f, "tree/fifo"), 0600), 0);	// must not block
	ck_assert_int_eq(chmod(folder_path(&f, "tree/closed"), 0), 0);
	struct fw_index *x = open_index(NULL);
	if (geteuid() == 0)
		ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_A), "closed/app.sym real/app.sym");
	else
		ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_A), "real/app.sym");
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_B), "file");
	fw_index_close(x);
}
END_TEST

START_TEST(depth_is_limited)
{
	char path[400] = "tree";
	for (int i = 1; i <= FW_MAX_INDEX_DEPTH; i++)
		strcat(path, "/d");
	size_t n = strlen(path);
	strcpy(path + n, "/in.sym");
	folder_text(&f, path, "MODULE Linux x86_64 " ID_A " app\n");
	struct fw_index *x = open_index(NULL);
	ck_assert(!fw_index_truncated(x));
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_A), path + strlen("tree/"));
	fw_index_close(x);
	strcpy(path + n, "/d/out.sym");
	folder_text(&f, path, "MODULE Linux x86_64 " ID_B " app\n");
	x = open_index(NULL);
	ck_assert(fw_index_truncated(x));
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_B), "");
	fw_index_close(x);
}
END_TEST

static struct fw_cache *open_cache(void)
{
	const char *why;
	struct fw_cache *cache = fw_cache_open(folder_path(&f, "cache"), 1 << 20, &why);
	ck_assert_ptr_nonnull(cache);
	return cache;
}

static void wait_a_tick(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 40000000 }, NULL);
}

// Each change that a user can make to a folder is seen by the next run.
START_TEST(a_kept_index_notices_changes)
{
	struct fw_cache *cache = open_cache();
	folder_text(&f, "tree/a/1.sym", "MODULE Linux x86_64 " ID_A " app\n");
	folder_text(&f, "tree/b/2.sym", "no symbols\n");
	if (_i & 1)
		wait_a_tick();
	fw_index_close(open_index(cache));
	ck_assert_uint_eq(folder_count(&f, ".blob"), 1);
	fw_index_close(open_index(cache));

	if (_i & 2)
		wait_a_tick();
	switch (_i >> 2) {
	case 0:		// written anew in place, same size and name
		folder_text(&f, "tree/a/1.sym", "MODULE Linux x86_64 " ID_B " app\n");
		break;
	case 1:		// a new file beside it
		folder_text(&f, "tree/a/3.sym", "MODULE Linux x86_64 " ID_B " app\n");
		break;
	case 2:		// what was nothing becomes a symbol file
		folder_text(&f, "tree/b/2.sym", "MODULE Linux x86_64 " ID_B " app\n");
		break;
	case 3:		// moved
		ck_assert_int_eq(rename(folder_path(&f, "tree/a/1.sym"),
					folder_path(&f, "tree/1.sym")), 0);
		break;
	case 4:		// gone
		ck_assert_int_eq(unlink(folder_path(&f, "tree/a/1.sym")), 0);
		break;
	case 5:		// a new folder, the tree's own time put back
		folder_text(&f, "tree/a/c/3.sym", "MODULE Linux x86_64 " ID_B " app\n");
		folder_age(&f, "tree/a", 100);
		break;
	}
	static const char *const want[][2] = {
		{ "", "a/1.sym" }, { "a/1.sym", "a/3.sym" }, { "a/1.sym", "b/2.sym" },
		{ "1.sym", "" }, { "", "" }, { "a/1.sym", "a/c/3.sym" },
	};
	struct fw_index *x = open_index(cache);
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_A), want[_i >> 2][0]);
	ck_assert_str_eq(found(x, FW_INDEX_SYM, ID_B), want[_i >> 2][1]);
	fw_index_close(x);
	fw_cache_close(cache);
}
END_TEST

// A block that passes the checksum but is nonsense must not be believed.
START_TEST(a_damaged_index_is_built_anew)
{
	uint64_t size;
	char name[64], path[4096];
	struct fw_cache *cache = open_cache();
	folder_text(&f, "tree/a/1.sym", "MODULE Linux x86_64 " ID_A " app\n");
	wait_a_tick();
	fw_index_close(open_index(cache));
	snprintf(path, sizeof(path), "ls %s/v%d | grep blob", folder_path(&f, "cache"),
		 FW_IMAGE_FORMAT);
	FILE *ls = popen(path, "r");
	ck_assert_int_eq(fscanf(ls, "%63s", name), 1);
	pclose(ls);
	*strrchr(name, '.') = '\0';
	uint8_t *blob = fw_cache_get_blob(cache, name, &size);
	ck_assert_ptr_nonnull(blob);
	for (uint64_t i = 0; i <= size; i++) {
		uint8_t *bad = malloc(size);
		memcpy(bad, blob, size);
		if (i < size)
			bad[i] ^= 0x55;
		fw_cache_put_blob(cache, name, bad, i < size ? size : size - 1);
		free(bad);
		struct fw_index *x = open_index(cache);
		struct fw_ident id = ident(ID_A);
		struct fw_index_hit hit;
		fw_index_find(x, FW_INDEX_SYM, &id, 0, &hit);
		fw_index_find_name(x, FW_STR("app"), 0, &hit);
		fw_index_close(x);
	}
	free(blob);
	fw_cache_close(cache);
}
END_TEST

START_TEST(no_folder_no_index)
{
	ck_assert_ptr_null(fw_index_open(folder_path(&f, "nowhere"), NULL));
	folder_text(&f, "file", "x");
	ck_assert_ptr_null(fw_index_open(folder_path(&f, "file"), NULL));
}
END_TEST

Suite *folder_index_suite(void)
{
	Suite *s = suite_create("folder_index");
	TCase *tc = tcase_create("folder_index");
	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, any_layout_and_name);
	tcase_add_loop_test(tc, elf_by_build_id, 0, 2);
	tcase_add_test(tc, equal_ids_come_in_path_order);
	tcase_add_test(tc, names_for_mismatches);
	tcase_add_test(tc, links_loops_and_closed_folders);
	tcase_add_test(tc, depth_is_limited);
	tcase_add_loop_test(tc, a_kept_index_notices_changes, 0, 24);
	tcase_add_test(tc, a_damaged_index_is_built_anew);
	tcase_add_test(tc, no_folder_no_index);
	suite_add_tcase(s, tc);
	return s;
}
