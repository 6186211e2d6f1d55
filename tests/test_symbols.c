#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symfiles/symbols.h"
#include "tests/synth_elf.h"
#include "tests/synth_folder.h"

Suite *symbols_suite(void);

#define ID_A "11111111111111111111111111111111a"
#define ID_B "222222222222222222222222222222220"
#define APP_A "MODULE Linux x86_64 " ID_A " app\nFUNC 1000 10 0 in_a\n"
#define APP_B "MODULE Linux x86_64 " ID_B " app\nFUNC 1000 10 0 in_b\n"

static struct folder f;

static void setup(void)
{
	folder_make(&f);
}

static void teardown(void)
{
	folder_remove(&f);
}

/** -s paths below the test's folder; the cache in it too when asked for. */
static struct fw_symbols *create(const char *a, const char *b, bool cache)
{
	struct fw_symbols *s = NULL;
	const char *paths[2] = { a ? strdup(folder_path(&f, a)) : NULL,
				 b ? strdup(folder_path(&f, b)) : NULL };
	struct fw_symbol_options o = { .paths = paths, .num_paths = (a != NULL) + (b != NULL),
				       .cache_dir = cache ? folder_path(&f, "cache") : NULL,
				       .cache_size = 1 << 30 };
	ck_assert_int_eq(fw_symbols_create(&o, &s, NULL), FW_OK);
	free((char *)paths[0]);
	free((char *)paths[1]);
	return s;
}

static struct fw_symbol_key key_of(const char *file, const char *id)
{
	static struct fw_ident ids[8];
	static unsigned next;
	struct fw_ident *ident = &ids[next++ % 8];
	struct fw_str text = { id, strlen(id) };
	if (!fw_ident_parse_debug(ident, text))
		*ident = (struct fw_ident){ 0 };
	return (struct fw_symbol_key){ .debug_file = { file, strlen(file) }, .debug_id = ident,
				       .cpu = FW_CPU_AMD64 };
}

static struct fw_str name_at(const struct fw_image *image, uint32_t offset)
{
	const struct fw_func *func = fw_image_func(image, offset);
	return func ? fw_image_string(image, func->name) : (struct fw_str){ "", 0 };
}

/** Load and check status, path (below the folder; "": none), message, and a function's name. */
static void check_load(struct fw_symbols *s, struct fw_symbol_key key, enum fw_symbol_status status,
		       const char *path, const char *message, const char *name)
{
	const struct fw_symbol_file *r = fw_symbols_load(s, &key);
	ck_assert_msg(r->status == status, "status %d, %s", (int)r->status, r->message);
	if (*path)
		ck_assert_str_eq(r->path, folder_path(&f, path));
	else
		ck_assert_ptr_null(r->path);
	ck_assert_str_eq(r->message, message);
	ck_assert_int_eq(r->image != NULL, status == FW_SYMBOLS_LOADED);
	if (r->image) {
		struct fw_str found = name_at(r->image, 0x1000);
		ck_assert_msg(found.n == strlen(name) && memcmp(found.s, name, found.n) == 0,
			      "%.*s", (int)found.n, found.s);
	}
	ck_assert_ptr_eq(fw_symbols_load(s, &key), r);
	// what a look-up says does not depend on what was loaded
	r = fw_symbols_look_up(s, &key);
	if (status == FW_SYMBOLS_LOADED)
		ck_assert_int_eq(r->status, FW_SYMBOLS_FOUND);
	else if (status != FW_SYMBOLS_CORRUPT)
		ck_assert_int_eq(r->status, status);
	ck_assert_ptr_null(r->image);
	ck_assert_ptr_eq(fw_symbols_look_up(s, &key), r);
}

// ---- where files lie ----

START_TEST(store_path)
{
	static const struct { const char *debug_file, *below; } cases[] = {
		{ "app", "app/" ID_A "/app.sym" },
		{ "/usr/bin/app", "app/" ID_A "/app.sym" },
		{ "app", "app/" ID_A "/app.sym.gz" },
		{ "app", "app/" ID_A "/app.sym.zst" },
		{ "C:\\build\\App.PDB", "App.PDB/" ID_A "/App.sym" },
		{ "c:\\a/b\\app.pdb", "app.pdb/" ID_A "/app.sym" },
		{ "libc.so.6", "libc.so.6/" ID_A "/libc.so.6.sym" },
		{ "a b\n.pdb.x", "a b\n.pdb.x/" ID_A "/a b\n.pdb.x.sym" },
	};
	char path[400];
	snprintf(path, sizeof(path), "store/%s", cases[_i].below);
	if (strstr(path, ".gz"))
		folder_gzip(&f, path, APP_A);
	else if (strstr(path, ".zst"))
		folder_zstd(&f, path, APP_A);
	else
		folder_text(&f, path, APP_A);
	struct fw_symbols *s = create("store", NULL, false);
	struct fw_symbol_key key = key_of(cases[_i].debug_file, ID_A);
	const struct fw_symbol_file *r = fw_symbols_look_up(s, &key);
	ck_assert_int_eq(r->status, FW_SYMBOLS_FOUND);
	ck_assert_str_eq(r->path, folder_path(&f, path));
	ck_assert_ptr_null(r->image);
	check_load(s, key, FW_SYMBOLS_LOADED, path, "", "in_a");
	ck_assert_int_eq(r->status, FW_SYMBOLS_FOUND);		// a record never changes
	check_load(s, key_of("elsewhere", ID_B), FW_SYMBOLS_MISSING, "", "", "");
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(code_file_where_debug_file_is_empty)
{
	folder_text(&f, "store/app/" ID_A "/app.sym", APP_A);
	struct fw_symbols *s = create("store", NULL, false);
	struct fw_symbol_key key = key_of("", ID_A);
	key.code_file = FW_STR("/opt/app");
	check_load(s, key, FW_SYMBOLS_LOADED, "store/app/" ID_A "/app.sym", "", "in_a");
	fw_symbols_destroy(s);
}
END_TEST

// A name from a capture leads nowhere but into the store. Each file is where the
// naive path would lead, outside the tree that is searched.
START_TEST(names_do_not_leave_the_store)
{
	static const struct { const char *name; size_t n; } cases[] = {
		{ "..", 2 }, { ".", 1 }, { "", 0 }, { "x/..", 4 }, { "x\\..", 4 }, { "/", 1 },
		{ "\\", 1 }, { "..\0x", 4 }, { "app/", 4 }, { "../secret", 9 }, { ".pdb", 4 },
	};
	folder_text(&f, ID_A "/...sym", APP_A);
	folder_text(&f, ID_A "/.sym", APP_A);
	folder_text(&f, "secret/" ID_A "/secret.sym", APP_A);
	folder_text(&f, "in/store/" ID_B "/...sym", APP_B);
	struct fw_symbols *s = create("in/store", NULL, false);
	struct fw_symbol_key key = key_of("", ID_A);
	key.debug_file = (struct fw_str){ cases[_i].name, cases[_i].n };
	check_load(s, key, FW_SYMBOLS_MISSING, "", "", "");
	fw_symbols_destroy(s);

	// an unfit name does not hide a file that the index finds by its id
	s = create("secret", NULL, false);
	check_load(s, key, FW_SYMBOLS_LOADED, "secret/" ID_A "/secret.sym", "", "in_a");
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(single_file)
{
	folder_text(&f, "some.txt", APP_A);
	struct fw_symbols *s = create("some.txt", NULL, _i);
	check_load(s, key_of("whatever", ID_A), FW_SYMBOLS_LOADED, "some.txt", "", "in_a");
	check_load(s, key_of("other", ID_B), FW_SYMBOLS_MISSING, "", "", "");
	check_load(s, key_of("/x/app", ID_B), FW_SYMBOLS_MISMATCH, "some.txt",
		   "its MODULE line has id " ID_A ", the module has id " ID_B, "");
	struct fw_symbol_key key = key_of("app", ID_B);
	ck_assert_str_eq(fw_symbols_load(s, &key)->found_id.text, ID_A);
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(folder_of_any_layout)
{
	folder_text(&f, "all/here/1", APP_A);
	folder_zstd(&f, "all/there/2.zst", APP_B);
	struct fw_symbols *s = create("all", NULL, _i);
	check_load(s, key_of("x", ID_A), FW_SYMBOLS_LOADED, "all/here/1", "", "in_a");
	check_load(s, key_of("", ID_B), FW_SYMBOLS_LOADED, "all/there/2.zst", "", "in_b");
	check_load(s, key_of("app", "333"), FW_SYMBOLS_NOT_SEARCHED, "", "", "");
	check_load(s, key_of("app", "333333333333333333333333333333330"), FW_SYMBOLS_MISMATCH,
		   "all/here/1", "its MODULE line has id " ID_A
		   ", the module has id 333333333333333333333333333333330", "");
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(paths_in_order)
{
	static const char second[] =
		"MODULE Linux x86_64 " ID_A " app\nFUNC 1000 10 0 second\n";
	folder_text(&f, "one/odd/name", APP_A);
	folder_text(&f, "two/app/" ID_A "/app.sym", second);
	folder_text(&f, "both/b", second);
	folder_text(&f, "both/a", APP_A);
	struct fw_symbols *s = create("one", "two", false);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "one/odd/name", "", "in_a");
	fw_symbols_destroy(s);
	s = create("two", "one", false);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "two/app/" ID_A "/app.sym", "",
		   "second");
	fw_symbols_destroy(s);
	s = create("both", NULL, false);		// two files, one id: sorted path order
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "both/a", "", "in_a");
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(not_searched_and_nowhere)
{
	struct fw_symbols *s = create(NULL, NULL, false);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_NOT_SEARCHED, "", "", "");
	fw_symbols_destroy(s);
	s = create("not/there", NULL, false);
	check_load(s, key_of("app", ""), FW_SYMBOLS_NOT_SEARCHED, "", "", "");
	check_load(s, key_of("app", "000000000000000000000000000000000"), FW_SYMBOLS_NOT_SEARCHED,
		   "", "", "");
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_MISSING, "", "", "");
	struct fw_symbol_key key = key_of("app", ID_A);
	key.debug_id = NULL;
	ck_assert_int_eq(fw_symbols_load(s, &key)->status, FW_SYMBOLS_NOT_SEARCHED);
	ck_assert_ptr_null(fw_symbols_elf(s, &key));
	fw_symbols_destroy(s);
}
END_TEST

// ---- what must not be used ----

START_TEST(the_module_line_counts_not_the_path)
{
	folder_text(&f, "store/app/" ID_A "/app.sym", APP_B);
	struct fw_symbols *s = create("store", NULL, _i);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_MISMATCH, "store/app/" ID_A "/app.sym",
		   "its MODULE line has id " ID_B ", the module has id " ID_A, "");
	check_load(s, key_of("app", ID_B), FW_SYMBOLS_LOADED, "store/app/" ID_A "/app.sym", "",
		   "in_b");
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(without_module_line_the_store_path_counts)
{
	folder_text(&f, "store/app/" ID_A "/app.sym", "FUNC 1000 10 0 bare\n");
	folder_text(&f, "store/app/" ID_B "/app.sym", "");		// valid and empty
	folder_text(&f, "loose/app.sym", "FUNC 1000 10 0 bare\n");
	struct fw_symbols *s = create("store", NULL, _i);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "store/app/" ID_A "/app.sym", "",
		   "bare");
	check_load(s, key_of("app", ID_B), FW_SYMBOLS_LOADED, "store/app/" ID_B "/app.sym", "", "");
	fw_symbols_destroy(s);
	s = create("store/app/" ID_A "/app.sym", NULL, _i);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "store/app/" ID_A "/app.sym", "",
		   "bare");
	fw_symbols_destroy(s);
	s = create("loose", "loose/app.sym", _i);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_MISSING, "", "", "");
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(the_cpu_must_fit)
{
	static const char arm[] = "MODULE Linux arm64 " ID_A " app\nFUNC 1000 10 0 on_arm\n";
	folder_text(&f, "one/app/" ID_A "/app.sym", arm);
	folder_text(&f, "two/app.sym", APP_A);
	for (int run = 0; run < 2; run++) {		// the second from the cache
		struct fw_symbols *s = create("one", NULL, _i);
		struct fw_symbol_key key = key_of("app", ID_A);
		check_load(s, key, FW_SYMBOLS_CORRUPT, "one/app/" ID_A "/app.sym",
			   "it is for arm64, the module's code is amd64", "");
		key.cpu = FW_CPU_ARM64;
		check_load(s, key, FW_SYMBOLS_LOADED, "one/app/" ID_A "/app.sym", "", "on_arm");
		key.cpu = FW_CPU_UNKNOWN;
		check_load(s, key, FW_SYMBOLS_LOADED, "one/app/" ID_A "/app.sym", "", "on_arm");
		fw_symbols_destroy(s);
		s = create("one", "two", _i);
		check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "two/app.sym", "", "in_a");
		fw_symbols_destroy(s);
	}
}
END_TEST

START_TEST(a_broken_file_costs_one_candidate)
{
	char cut[4096];
	folder_gzip(&f, "one/app/" ID_A "/app.sym.gz", APP_A);
	int fd = open(folder_path(&f, "one/app/" ID_A "/app.sym.gz"), O_RDONLY);
	ssize_t n = read(fd, cut, sizeof(cut));
	close(fd);
	folder_write(&f, "one/app/" ID_A "/app.sym.gz", cut, (size_t)n - 6);
	folder_text(&f, "two/app.sym", APP_A);
	struct fw_symbols *s = create("one", NULL, _i);
	struct fw_symbol_key key = key_of("app", ID_A);
	const struct fw_symbol_file *r = fw_symbols_load(s, &key);
	ck_assert_int_eq(r->status, FW_SYMBOLS_CORRUPT);
	ck_assert_str_eq(r->path, folder_path(&f, "one/app/" ID_A "/app.sym.gz"));
	ck_assert_str_ne(r->message, "");
	fw_symbols_destroy(s);
	s = create("one", "two", _i);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "two/app.sym", "", "in_a");
	fw_symbols_destroy(s);

	folder_text(&f, "html/app/" ID_A "/app.sym", "<!DOCTYPE html>\n<html>not found</html>\n");
	s = create("html", NULL, _i);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_CORRUPT, "html/app/" ID_A "/app.sym",
		   "not a Breakpad symbol file but an HTML or XML page", "");
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(a_file_that_vanishes)
{
	folder_text(&f, "store/app/" ID_A "/app.sym", APP_A);
	struct fw_symbols *s = create("store", NULL, _i);
	struct fw_symbol_key key = key_of("app", ID_A);
	ck_assert_int_eq(fw_symbols_look_up(s, &key)->status, FW_SYMBOLS_FOUND);
	ck_assert_int_eq(unlink(folder_path(&f, "store/app/" ID_A "/app.sym")), 0);
	check_load(s, key, FW_SYMBOLS_CORRUPT, "store/app/" ID_A "/app.sym",
		   "cannot open: No such file or directory", "");
	fw_symbols_destroy(s);
}
END_TEST

// ---- threads ----

struct crowd { struct fw_symbols *s; const struct fw_symbol_file *got[20]; };

static void *load_all(void *arg)
{
	struct crowd *c = arg;
	for (unsigned i = 0; i < 20; i++) {
		char id[40];
		struct fw_ident ident;
		snprintf(id, sizeof(id), "%032X0", i + 1);
		fw_ident_parse_debug(&ident, (struct fw_str){ id, strlen(id) });
		struct fw_symbol_key key = { .debug_file = FW_STR("app"), .debug_id = &ident };
		fw_symbols_look_up(c->s, &key);
		c->got[i] = fw_symbols_load(c->s, &key);
	}
	return NULL;
}

START_TEST(many_threads_load_each_module_once)
{
	enum { THREADS = 8 };
	pthread_t threads[THREADS];
	struct crowd crowds[THREADS];
	for (unsigned i = 0; i < 20; i++) {
		char path[100], text[200];
		snprintf(path, sizeof(path), i & 1 ? "all/app/%032X0/app.sym" : "all/%032X0", i + 1);
		snprintf(text, sizeof(text), "MODULE Linux x86_64 %032X0 app\nFUNC 1000 1 0 f%u\n",
			 i + 1, i);
		folder_text(&f, path, text);
	}
	struct fw_symbols *s = create("all", NULL, _i);
	for (unsigned i = 0; i < THREADS; i++) {
		crowds[i].s = s;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, load_all, &crowds[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 20; i++) {
		char name[10];
		snprintf(name, sizeof(name), "f%u", i);
		for (unsigned k = 1; k < THREADS; k++)
			ck_assert_ptr_eq(crowds[k].got[i], crowds[0].got[i]);
		ck_assert_int_eq(crowds[0].got[i]->status, FW_SYMBOLS_LOADED);
		struct fw_str found = name_at(crowds[0].got[i]->image, 0x1000);
		ck_assert_uint_eq(found.n, strlen(name));
		ck_assert_mem_eq(found.s, name, found.n);
	}
	fw_symbols_destroy(s);
}
END_TEST

// ---- the cache ----

START_TEST(the_second_run_uses_the_image)
{
	struct fw_symbol_key key = key_of("app", ID_A);
	folder_text(&f, "store/app/" ID_A "/app.sym", APP_A);
	for (int run = 0; run < 3; run++) {
		struct fw_symbols *s = create("store", NULL, true);
		if (run == 2)		// looked at before it is loaded
			ck_assert_int_eq(fw_symbols_look_up(s, &key)->status, FW_SYMBOLS_FOUND);
		check_load(s, key, FW_SYMBOLS_LOADED, "store/app/" ID_A "/app.sym", "", "in_a");
		ck_assert_int_eq(fw_symbols_load(s, &key)->from_cache, run > 0);
		fw_symbols_destroy(s);
	}
	ck_assert_uint_eq(folder_count(&f, ".img"), 1);
	// written anew at once, same size: another file
	folder_text(&f, "store/app/" ID_A "/app.sym",
		    "MODULE Linux x86_64 " ID_A " app\nFUNC 1000 10 0 in_X\n");
	struct fw_symbols *s = create("store", NULL, true);
	check_load(s, key, FW_SYMBOLS_LOADED, "store/app/" ID_A "/app.sym", "", "in_X");
	ck_assert(!fw_symbols_load(s, &key)->from_cache);
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(a_cache_that_cannot_be_used_is_no_error)
{
	folder_text(&f, "store/app/" ID_A "/app.sym", APP_A);
	folder_text(&f, "cache", "a file");
	struct fw_symbols *s = create("store", NULL, true);
	check_load(s, key_of("app", ID_A), FW_SYMBOLS_LOADED, "store/app/" ID_A "/app.sym", "",
		   "in_a");
	fw_symbols_destroy(s);
}
END_TEST

enum { MANY = 3000 };

/** A symbol file with MANY functions, lines and CFI rows. */
static void write_many(const char *path)
{
	size_t room = MANY * 400 + 200, n = 0;
	char *text = malloc(room);
	n += (size_t)snprintf(text + n, room - n, "MODULE Linux x86_64 " ID_A " app\nFILE 1 a.c\n");
	for (unsigned i = 0; i < MANY; i++)
		n += (size_t)snprintf(text + n, room - n,
				      "FUNC %x 10 0 function_number_%u\n%x 8 %u 1\n%x 8 %u 1\n",
				      i * 16, i, i * 16, i + 1, i * 16 + 8, i + 2);
	for (unsigned i = 0; i < MANY; i++)
		n += (size_t)snprintf(text + n, room - n,
				      "STACK CFI INIT %x 10 .cfa: $rsp %u + .ra: .cfa 8 - ^\n"
				      "STACK CFI %x .cfa: $rsp 16 +\n", i * 16, 8 + 8 * (i % 40),
				      i * 16 + 4);
	folder_write(&f, path, text, n);
	free(text);
}

/** Ask for everything; false: an answer is missing or wrong. */
static bool answers_are_right(const struct fw_image *image)
{
	char want[40];
	for (unsigned i = 0; i < MANY; i++) {
		uint32_t at = i * 16 + 9, rules = 0;
		const struct fw_func *func = fw_image_func(image, at);
		snprintf(want, sizeof(want), "function_number_%u", i);
		struct fw_str name = func ? fw_image_string(image, func->name) : FW_STR("");
		if (name.n != strlen(want) || memcmp(name.s, want, name.n) != 0)
			return false;
		const struct fw_line *line = fw_image_line(image, func, at);
		if (line == NULL || line->line != i + 2 ||
		    fw_image_cfi(image, i * 16 + 5, &rules) == NULL || rules == 0)
			return false;
		struct fw_str file = fw_image_numbered(image, FW_SEC_FILES, line->file);
		if (file.n != 3 || memcmp(file.s, "a.c", 3) != 0)
			return false;
	}
	return true;
}

static void flip_in_image(unsigned part, unsigned parts)
{
	char command[4300], path[4096];
	struct stat st;
	uint8_t byte;
	snprintf(command, sizeof(command), "ls %s/*.img", folder_path(&f, "cache/v*"));
	FILE *ls = popen(command, "r");
	ck_assert_int_eq(fscanf(ls, "%4000s", path), 1);
	pclose(ls);
	int fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	off_t at = st.st_size * part / parts;
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

START_TEST(open_file_again_after_damage)
{
	const struct fw_image *image, *again;
	write_many("app.sym");
	struct fw_symbols *s = create(NULL, NULL, true);
	ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "app.sym"), &image, NULL), FW_OK);
	fw_symbols_destroy(s);
	flip_in_image(1, 2);
	s = create(NULL, NULL, true);
	ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "app.sym"), &image, NULL), FW_OK);
	ck_assert(!answers_are_right(image));
	ck_assert(atomic_load(&image->corrupt));
	ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "app.sym"), &again, NULL), FW_OK);
	ck_assert_ptr_ne(image, again);
	ck_assert(answers_are_right(again));
	ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "app.sym"), &image, NULL), FW_OK);
	ck_assert_ptr_eq(image, again);
	fw_symbols_destroy(s);
	s = create(NULL, NULL, true);
	ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "app.sym"), &image, NULL), FW_OK);
	ck_assert(answers_are_right(image));
	fw_symbols_destroy(s);
}
END_TEST

// As a report does: ask, and where the image turns out damaged, load it anew.
START_TEST(a_flipped_byte_is_noticed_and_answered)
{
	struct fw_symbol_key key = key_of("app", ID_A);
	bool noticed = false;
	write_many("store/app/" ID_A "/app.sym");
	struct fw_symbols *s = create("store", NULL, true);
	ck_assert(answers_are_right(fw_symbols_load(s, &key)->image));
	fw_symbols_destroy(s);
	flip_in_image((unsigned)_i, 50);

	s = create("store", NULL, true);
	const struct fw_symbol_file *r = fw_symbols_load(s, &key);
	if (!r->from_cache)		// at open: header or table of hashes
		noticed = true;
	bool right = answers_are_right(r->image);
	if (atomic_load(&r->image->corrupt)) {
		const struct fw_symbol_file *old = r;
		noticed = true;
		r = fw_symbols_reload(s, &key);
		ck_assert_ptr_ne(r, old);
		ck_assert(!r->from_cache);
		ck_assert_ptr_eq(fw_symbols_load(s, &key), r);
		ck_assert_ptr_eq(fw_symbols_reload(s, &key), r);	// by another thread
		ck_assert_str_eq(old->image->name, "app");		// still there
		right = answers_are_right(r->image);
	}
	ck_assert(right);
	fw_symbols_destroy(s);
	if (!noticed)		// padding, or a section that nothing asked for
		return;

	s = create("store", NULL, true);		// and the cache is sound again
	r = fw_symbols_load(s, &key);
	ck_assert(r->from_cache);
	ck_assert(answers_are_right(r->image));
	ck_assert_int_eq(fw_image_check(r->image, NULL), FW_OK);
	fw_symbols_destroy(s);
}
END_TEST

// ---- processes ----

enum { PROCESSES = 16, VICTIMS = 5 };

static void run_one(int out)
{
	struct fw_symbol_key key = key_of("app", ID_A);
	struct fw_symbols *s = create("store", NULL, true);
	const struct fw_symbol_file *r = fw_symbols_load(s, &key);
	char answer = !r->image || !answers_are_right(r->image) ? 'W' : r->from_cache ? 'c' : 'C';
	fw_symbols_destroy(s);
	if (write(out, &answer, 1) != 1)
		_exit(1);
	_exit(0);
}

// 16 processes on one cold cache, 5 of them killed at random points.
START_TEST(processes_share_one_compile)
{
	pid_t pids[PROCESSES];
	bool killed[PROCESSES] = { false };
	int out[2];
	unsigned seed = 12345 + (unsigned)_i, compiled = 0, answered = 0, died = 0;
	char answer;
	write_many("store/app/" ID_A "/app.sym");
	folder_age(&f, "store/app/" ID_A "/app.sym", 100);
	nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
	ck_assert_int_eq(pipe(out), 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			run_one(out[1]);
	}
	close(out[1]);
	for (unsigned i = 0; i < (_i ? VICTIMS : 0); i++) {
		unsigned victim = (unsigned)rand_r(&seed) % PROCESSES;
		nanosleep(&(struct timespec){ .tv_nsec = rand_r(&seed) % 4000000 }, NULL);
		killed[victim] = true;
		kill(pids[victim], SIGKILL);
	}
	for (unsigned i = 0; i < PROCESSES; i++) {
		int status;
		waitpid(pids[i], &status, 0);
		ck_assert(killed[i] || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
		died += WIFSIGNALED(status);
	}
	while (read(out[0], &answer, 1) == 1) {
		ck_assert_msg(answer == 'c' || answer == 'C', "seed %d: wrong answer", _i);
		answered++;
		compiled += answer == 'C';
	}
	ck_assert_uint_ge(answered + died, PROCESSES);
	ck_assert_uint_le(compiled, 1);		// dead leaders' work is not counted
	if (_i == 0)
		ck_assert_uint_eq(compiled, 1);
	ck_assert_uint_eq(folder_count(&f, ".img"), 1);
	// no leftovers: the image, the tag, the symbol file
	ck_assert_uint_eq(folder_count(&f, ""), 3);
}
END_TEST

// ---- ELF files ----

static const uint8_t BUILD_ID[16] = { 0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77, 9 };
#define ELF_ID "112233445566778809000000000000000"
static const uint8_t TEXT[8] = { 0xe8, 1, 2, 3, 4, 0x90, 0xc3, 0xcc };

static void write_elf(const char *path, bool debug)
{
	uint8_t bytes[SYNTH_ELF_MAX];
	struct synth_elf o = { .wide = true, .note_segment = true, .sections = true,
			       .text_elsewhere = debug, .build_id = BUILD_ID,
			       .build_id_size = sizeof(BUILD_ID), .text = TEXT,
			       .text_size = sizeof(TEXT) };
	folder_write(&f, path, bytes, synth_elf(&o, bytes));
}

START_TEST(elf_files_by_id)
{
	static const struct { const char *below, *root; } cases[] = {
		{ "root/usr/lib/libx.so.1", "root" },	// where the capture says
		{ "root/libx.so.1", "root" },
		{ "root/some/where/else", "root" },
		{ "root/prog", "root/prog" },		// named itself
	};
	uint8_t code[8];
	write_elf(cases[_i].below, false);
	write_elf("root/a.debug", true);		// same id, no code, first in order
	struct fw_symbols *s = create(cases[_i].root, NULL, true);
	struct fw_symbol_key key = key_of("libx.so.1", ELF_ID);
	key.code_file = FW_STR("/usr/lib/libx.so.1");
	const struct fw_elf *elf = fw_symbols_elf(s, &key);
	ck_assert_ptr_nonnull(elf);
	ck_assert_ptr_eq(fw_symbols_elf(s, &key), elf);
	ck_assert(fw_elf_code(elf, SYNTH_ELF_TEXT, code, 8));
	ck_assert_mem_eq(code, TEXT, 8);
	key = key_of("libx.so.1", ID_A);
	key.code_file = FW_STR("/usr/lib/libx.so.1");
	ck_assert_ptr_null(fw_symbols_elf(s, &key));
	fw_symbols_destroy(s);
}
END_TEST

START_TEST(elf_paths_do_not_leave_the_root)
{
	write_elf("secret", false);
	folder_text(&f, "root/x/y", "");
	struct fw_symbols *s = create("root", NULL, false);
	struct fw_symbol_key key = key_of("secret", ELF_ID);
	key.code_file = FW_STR("/x/../../secret");
	ck_assert_ptr_null(fw_symbols_elf(s, &key));
	fw_symbols_destroy(s);
}
END_TEST

// ---- one file by path ----

START_TEST(open_file)
{
	const struct fw_image *image = NULL, *again = NULL;
	struct fw_error err = { 0 };
	folder_text(&f, "app.sym", APP_A);
	folder_text(&f, "bare.sym", "FUNC 1000 10 0 bare\n");
	folder_text(&f, "page", "<html></html>\n");
	for (int run = 0; run < 2; run++) {
		struct fw_symbols *s = create(NULL, NULL, _i);
		ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "app.sym"), &image, &err),
				 FW_OK);
		ck_assert_uint_eq(name_at(image, 0x1005).n, 4);
		ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "app.sym"), &again, &err),
				 FW_OK);
		ck_assert_ptr_eq(image, again);
		ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "bare.sym"), &image, &err),
				 FW_OK);
		ck_assert_uint_eq(name_at(image, 0x1005).n, 4);
		ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "page"), &image, &err),
				 FW_UNSUPPORTED);
		ck_assert_str_eq(err.message, "not a Breakpad symbol file but an HTML or XML page");
		ck_assert_int_eq(fw_symbols_open_file(s, f.path, &image, &err), FW_UNSUPPORTED);
		ck_assert_str_eq(err.message, "is a directory");
		ck_assert_int_eq(fw_symbols_open_file(s, folder_path(&f, "no"), &image, &err),
				 FW_IO);
		ck_assert_str_eq(err.message, "cannot open: No such file or directory");
		fw_symbols_destroy(s);
	}
	ck_assert_uint_eq(folder_count(&f, ".img"), _i ? 2 : 0);
}
END_TEST

Suite *symbols_suite(void)
{
	Suite *s = suite_create("symbols");
	TCase *tc = tcase_create("symbols");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, store_path, 0, 8);
	tcase_add_test(tc, code_file_where_debug_file_is_empty);
	tcase_add_loop_test(tc, names_do_not_leave_the_store, 0, 11);
	tcase_add_loop_test(tc, single_file, 0, 2);
	tcase_add_loop_test(tc, folder_of_any_layout, 0, 2);
	tcase_add_test(tc, paths_in_order);
	tcase_add_test(tc, not_searched_and_nowhere);
	tcase_add_loop_test(tc, the_module_line_counts_not_the_path, 0, 2);
	tcase_add_loop_test(tc, without_module_line_the_store_path_counts, 0, 2);
	tcase_add_loop_test(tc, the_cpu_must_fit, 0, 2);
	tcase_add_loop_test(tc, a_broken_file_costs_one_candidate, 0, 2);
	tcase_add_loop_test(tc, a_file_that_vanishes, 0, 2);
	tcase_add_loop_test(tc, many_threads_load_each_module_once, 0, 2);
	tcase_add_test(tc, the_second_run_uses_the_image);
	tcase_add_test(tc, a_cache_that_cannot_be_used_is_no_error);
	tcase_add_loop_test(tc, a_flipped_byte_is_noticed_and_answered, 0, 50);
	tcase_add_test(tc, open_file_again_after_damage);
	tcase_add_loop_test(tc, processes_share_one_compile, 0, 12);
	tcase_add_loop_test(tc, elf_files_by_id, 0, 4);
	tcase_add_test(tc, elf_paths_do_not_leave_the_root);
	tcase_add_loop_test(tc, open_file, 0, 2);
	suite_add_tcase(s, tc);
	return s;
}
