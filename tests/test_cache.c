#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symfiles/breakpad.h"
#include "symfiles/cache_internal.h"
#include "tests/synth_folder.h"

Suite *cache_suite(void);

static struct folder f;
static const char *why;

static void setup(void)
{
	folder_make(&f);
	why = NULL;
}

static void teardown(void)
{
	folder_remove(&f);
}

static struct fw_cache *open_cache(uint64_t cap)
{
	struct fw_cache *c = fw_cache_open(folder_path(&f, "x/cache"), cap, &why);
	ck_assert_msg(c != NULL, "%s", why);
	return c;
}

static struct fw_cache_key key_of(unsigned n)
{
	struct fw_cache_key key = { .dev = 1, .ino = n, .size = 100, .mtime_ns = 5, .ctime_ns = 6 };
	char id[40];
	snprintf(id, sizeof(id), "%032X1", n + 1);
	ck_assert(fw_ident_parse_debug(&key.debug_id, (struct fw_str){ id, strlen(id) }));
	return key;
}

static struct fw_image *image_of(unsigned n)
{
	char text[200];
	struct fw_image *image;
	snprintf(text, sizeof(text), "MODULE Linux x86_64 %032X1 app\nFUNC %x 10 0 f%u\n", n + 1,
		 n, n);
	ck_assert_int_eq(fw_sym_load_text((struct fw_str){ text, strlen(text) }, &image, NULL),
			 FW_OK);
	return image;
}

static void put(struct fw_cache *c, unsigned n)
{
	struct fw_cache_key key = key_of(n);
	struct fw_image *image = image_of(n);
	fw_cache_put(c, &key, image);
	fw_image_destroy(image);
}

/** True when image @p n is there and answers right. */
static bool there(struct fw_cache *c, unsigned n)
{
	struct fw_cache_key key = key_of(n);
	struct fw_image *image = fw_cache_get(c, &key);
	char name[20];
	if (image == NULL)
		return false;
	const struct fw_func *func = fw_image_func(image, n);
	ck_assert_ptr_nonnull(func);
	struct fw_str s = fw_image_string(image, func->name);
	snprintf(name, sizeof(name), "f%u", n);
	ck_assert_uint_eq(s.n, strlen(name));
	ck_assert_mem_eq(s.s, name, s.n);
	fw_image_destroy(image);
	return true;
}

/** The one .img file there is. */
static const char *only_image(void)
{
	static char name[300];
	char command[4200];
	snprintf(command, sizeof(command), "ls %s | grep '[.]img$'", folder_path(&f, "x/cache/v*"));
	FILE *ls = popen(command, "r");
	ck_assert_int_eq(fscanf(ls, "%299s", name), 1);
	pclose(ls);
	snprintf(command, sizeof(command), "ls -d %s", folder_path(&f, "x/cache/v*"));
	ls = popen(command, "r");
	static char path[4096];
	ck_assert_int_eq(fscanf(ls, "%4000s", path), 1);
	pclose(ls);
	strcat(path, "/");
	return strcat(path, name);
}

static unsigned mode_of(const char *path)
{
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_mode & 07777;
}

START_TEST(what_was_put_is_got)
{
	struct fw_cache *c = open_cache(1 << 20);
	if (_i)
		fw_cache_use_named_temp_(c);
	ck_assert(!there(c, 7));
	put(c, 7);
	put(c, 7);
	ck_assert(there(c, 7));
	ck_assert(!there(c, 8));
	ck_assert_uint_eq(folder_count(&f, ".img"), 1);
	ck_assert_uint_eq(folder_count(&f, ".tmp"), 0);
	ck_assert_uint_eq(mode_of(folder_path(&f, "x")), 0700);
	ck_assert_uint_eq(mode_of(folder_path(&f, "x/cache")), 0700);
	ck_assert_uint_eq(mode_of(only_image()), 0600);
	fw_cache_close(c);
	c = open_cache(1 << 20);
	ck_assert(there(c, 7));
	fw_cache_close(c);
}
END_TEST

START_TEST(any_part_of_the_identity_counts)
{
	struct fw_cache *c = open_cache(1 << 20);
	put(c, 1);
	for (int i = 0; i < 6; i++) {
		struct fw_cache_key key = key_of(1);
		switch (i) {
		case 0: key.dev++; break;
		case 1: key.ino++; break;
		case 2: key.size++; break;
		case 3: key.mtime_ns++; break;
		case 4: key.ctime_ns++; break;
		case 5: key.debug_id = key_of(2).debug_id; break;
		}
		ck_assert_ptr_null(fw_cache_get(c, &key));
	}
	ck_assert(there(c, 1));
	fw_cache_close(c);
}
END_TEST

static void refused(const char *dir, const char *want)
{
	ck_assert_ptr_null(fw_cache_open(dir, 1 << 20, &why));
	ck_assert_str_eq(why, want);
}

START_TEST(unsafe_directories_are_refused)
{
	static const char link_or_file[] =
		"the cache directory is a symbolic link or no directory";
	static const char others[] = "the cache directory can be written by others";
	ck_assert_int_eq(mkdir(folder_path(&f, "open"), 0700), 0);
	ck_assert_int_eq(symlink("open", folder_path(&f, "link")), 0);
	refused(folder_path(&f, "link"), link_or_file);
	refused(folder_path(&f, "link/"), link_or_file);
	folder_text(&f, "file", "");
	refused(folder_path(&f, "file"), link_or_file);
	ck_assert_int_eq(chmod(folder_path(&f, "open"), 0770), 0);
	refused(folder_path(&f, "open"), others);
	ck_assert_int_eq(chmod(folder_path(&f, "open"), 0702), 0);
	refused(folder_path(&f, "open"), others);

	// DIR is ours, what is in it is not
	char path[4096];
	fw_cache_close(open_cache(1 << 20));
	snprintf(path, sizeof(path), "chmod 0777 %s", folder_path(&f, "x/cache/v*"));
	ck_assert_int_eq(system(path), 0);
	refused(folder_path(&f, "x/cache"), others);

	refused("/proc/nowhere/x", "the cache directory cannot be made or opened");
	if (geteuid() == 0) {
		ck_assert_int_eq(mkdir(folder_path(&f, "theirs"), 0755), 0);
		ck_assert_int_eq(chown(folder_path(&f, "theirs"), 12345, 12345), 0);
		refused(folder_path(&f, "theirs"), "the cache directory belongs to another user");
	} else {
		refused("/", "the cache directory belongs to another user");
	}
}
END_TEST

START_TEST(unsafe_files_are_not_believed)
{
	struct fw_cache *c = open_cache(1 << 20);
	struct stat st;
	char path[4096];
	put(c, 3);
	strcpy(path, only_image());
	switch (_i) {
	case 0:		// others may have written it
		ck_assert_int_eq(chmod(path, 0666), 0);
		break;
	case 1:		// a link
		ck_assert_int_eq(rename(path, folder_path(&f, "moved")), 0);
		ck_assert_int_eq(symlink(folder_path(&f, "moved"), path), 0);
		break;
	case 2:		// must not block
		ck_assert_int_eq(unlink(path), 0);
		ck_assert_int_eq(mkfifo(path, 0600), 0);
		break;
	case 3:
		ck_assert_int_eq(truncate(path, 0), 0);
		break;
	case 4:		// an image of something else
		ck_assert_int_eq(rename(path, folder_path(&f, "moved")), 0);
		put(c, 4);
		ck_assert_int_eq(rename(only_image(), path), 0);
		break;
	}
	ck_assert(!there(c, 3));
	if (_i != 1)
		ck_assert_int_lt(lstat(path, &st), 0);		// removed: the next put works
	else
		ck_assert_int_eq(unlink(path), 0);
	put(c, 3);
	ck_assert(there(c, 3));
	fw_cache_close(c);
}
END_TEST

START_TEST(eviction_takes_the_longest_unused)
{
	struct fw_cache *c = open_cache(1 << 30);
	struct stat st;
	put(c, 0);
	ck_assert_int_eq(stat(only_image(), &st), 0);
	const uint64_t one = (uint64_t)st.st_size;
	fw_cache_close(c);

	c = open_cache(one * 4 + one / 2);
	for (unsigned i = 1; i < 4; i++) {
		put(c, i);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	ck_assert_uint_eq(folder_count(&f, ".img"), 4);
	ck_assert(there(c, 0));		// used: now the youngest
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	put(c, 5);
	put(c, 6);
	fw_cache_close(c);
	ck_assert_uint_eq(folder_count(&f, ".img"), 4);
	c = open_cache(1 << 30);
	ck_assert(there(c, 0) && !there(c, 1) && !there(c, 2) && there(c, 3) && there(c, 5) &&
		  there(c, 6));
	fw_cache_close(c);

	// a cap below one image stores nothing, and clears what there is
	c = open_cache(one / 2);
	put(c, 9);
	ck_assert(!there(c, 9));
	fw_cache_evict_(c);
	ck_assert_uint_eq(folder_count(&f, ".img"), 0);
	fw_cache_close(c);
	c = open_cache(0);
	put(c, 9);
	fw_cache_put_blob(c, "b", "x", 1);
	ck_assert(!there(c, 9));
	fw_cache_close(c);
}
END_TEST

START_TEST(leftovers_of_the_dead_are_swept)
{
	char path[4200];
	struct fw_cache *c = open_cache(1 << 20);
	put(c, 1);
	snprintf(path, sizeof(path), "%s", only_image());
	strcpy(strrchr(path, '/'), "/123-0.tmp");
	FILE *out = fopen(path, "w");
	fputs("half an image", out);
	fclose(out);
	fw_cache_evict_(c);
	ck_assert_uint_eq(folder_count(&f, ".tmp"), 0);
	ck_assert(there(c, 1));
	fw_cache_close(c);
}
END_TEST

START_TEST(blobs)
{
	uint64_t size = 0;
	struct fw_cache *c = open_cache(1 << 20);
	if (_i)
		fw_cache_use_named_temp_(c);
	ck_assert_ptr_null(fw_cache_get_blob(c, "index-1", &size));
	fw_cache_put_blob(c, "index-1", "hello", 5);
	fw_cache_put_blob(c, "index-1", "hello, world", 12);
	char *data = fw_cache_get_blob(c, "index-1", &size);
	ck_assert_uint_eq(size, 12);
	ck_assert_mem_eq(data, "hello, world", 12);
	free(data);
	fw_cache_put_blob(c, "empty", "", 0);
	data = fw_cache_get_blob(c, "empty", &size);
	ck_assert_ptr_nonnull(data);
	ck_assert_uint_eq(size, 0);
	free(data);
	fw_cache_put_blob(c, "../escape", "x", 1);
	fw_cache_put_blob(c, "", "x", 1);
	ck_assert_ptr_null(fw_cache_get_blob(c, "../escape", &size));
	ck_assert_uint_eq(folder_count(&f, ".blob"), 2);
	ck_assert_uint_eq(folder_count(&f, ".tmp"), 0);
	fw_cache_close(c);
}
END_TEST

START_TEST(no_cache_is_no_error)
{
	struct fw_cache_key key = key_of(1);
	struct fw_image *image = image_of(1);
	uint64_t size;
	fw_cache_put(NULL, &key, image);
	ck_assert_ptr_null(fw_cache_get(NULL, &key));
	fw_cache_unlock(fw_cache_lock(NULL, &key));
	fw_cache_remove(NULL, &key);
	fw_cache_put_blob(NULL, "x", "y", 1);
	ck_assert_ptr_null(fw_cache_get_blob(NULL, "x", &size));
	fw_cache_close(NULL);
	fw_image_destroy(image);
}
END_TEST

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

START_TEST(a_lock_waits_and_dies_with_its_holder)
{
	struct fw_cache *c = open_cache(1 << 20);
	struct fw_cache_key a = key_of(1), b = key_of(2);
	int ready[2];
	char byte;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		fw_cache_lock(c, &a);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	double start = seconds();
	fw_cache_unlock(fw_cache_lock(c, &b));		// another key does not wait
	ck_assert(seconds() - start < 0.5);
	pid_t killer = fork();
	if (killer == 0) {
		nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
		kill(child, SIGKILL);
		_exit(0);
	}
	clock_t cpu = clock();
	struct fw_cache_lock *lock = fw_cache_lock(c, &a);
	ck_assert(seconds() - start > 0.25 && seconds() - start < 5);
	ck_assert((double)(clock() - cpu) / CLOCKS_PER_SEC < 0.1);	// it slept
	fw_cache_unlock(lock);
	waitpid(child, NULL, 0);
	waitpid(killer, NULL, 0);
	fw_cache_close(c);
	ck_assert_uint_eq(folder_count(&f, ".lock"), 0);
}
END_TEST

// Within one process too: a second thread must not get what the first holds.
START_TEST(two_locks_of_one_process_exclude_each_other)
{
	struct fw_cache *c = open_cache(1 << 20);
	struct fw_cache_key key = key_of(1);
	struct fw_cache_lock *lock = fw_cache_lock(c, &key);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);	// Check's own kills us all
		alarm(1);		// kills the child while it waits
		fw_cache_unlock(fw_cache_lock(c, &key));
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	fw_cache_unlock(lock);
	fw_cache_unlock(fw_cache_lock(c, &key));
	fw_cache_close(c);
}
END_TEST

// Whoever waits too long compiles for itself.
START_TEST(a_lock_gives_up_in_the_end)
{
	struct fw_cache *c = open_cache(1 << 20);
	struct fw_cache_key key = key_of(1);
	struct fw_cache_lock *held = fw_cache_lock(c, &key);
	fw_cache_set_patience_(c, 1);
	double start = seconds();
	struct fw_cache_lock *lock = fw_cache_lock(c, &key);
	ck_assert_ptr_nonnull(lock);
	ck_assert(seconds() - start >= 1 && seconds() - start < 5);
	fw_cache_unlock(lock);
	fw_cache_unlock(held);
	fw_cache_close(c);
}
END_TEST

START_TEST(a_full_disk_leaves_nothing)
{
	struct fw_cache *c = open_cache(1 << 20);
	const struct rlimit small = { 512, RLIM_INFINITY };
	struct rlimit before;
	if (_i)
		fw_cache_use_named_temp_(c);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &small);
	put(c, 1);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	ck_assert(!there(c, 1));
	ck_assert_uint_eq(folder_count(&f, ".tmp"), 0);
	ck_assert_uint_eq(folder_count(&f, ".img"), 0);
	put(c, 1);
	ck_assert(there(c, 1));
	fw_cache_close(c);
}
END_TEST

START_TEST(other_formats_are_forgotten_in_time)
{
	folder_text(&f, "x/cache/v0/old.img", "old");
	folder_text(&f, "x/cache/v99/old.img", "old");
	folder_text(&f, "x/cache/v99/used.img", "used by another release");
	folder_text(&f, "x/cache/vault/old.img", "not ours");
	folder_text(&f, "x/cache/v/old.img", "not ours");
	folder_age(&f, "x/cache/v0/old.img", 31 * 86400);
	folder_age(&f, "x/cache/v99/old.img", 31 * 86400);
	folder_age(&f, "x/cache/v99/used.img", 29 * 86400);
	folder_age(&f, "x/cache/vault/old.img", 31 * 86400);
	folder_age(&f, "x/cache/v/old.img", 31 * 86400);
	ck_assert_int_eq(chmod(folder_path(&f, "x/cache"), 0700), 0);
	struct fw_cache *c = open_cache(1 << 20);
	put(c, 1);
	fw_cache_close(c);
	ck_assert_int_lt(access(folder_path(&f, "x/cache/v0"), F_OK), 0);
	ck_assert_int_lt(access(folder_path(&f, "x/cache/v99/old.img"), F_OK), 0);
	ck_assert_int_eq(access(folder_path(&f, "x/cache/v99/used.img"), F_OK), 0);
	ck_assert_int_eq(access(folder_path(&f, "x/cache/vault/old.img"), F_OK), 0);
	ck_assert_int_eq(access(folder_path(&f, "x/cache/v/old.img"), F_OK), 0);
}
END_TEST

Suite *cache_suite(void)
{
	Suite *s = suite_create("cache");
	TCase *tc = tcase_create("cache");
	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, what_was_put_is_got, 0, 2);
	tcase_add_test(tc, any_part_of_the_identity_counts);
	tcase_add_test(tc, unsafe_directories_are_refused);
	tcase_add_loop_test(tc, unsafe_files_are_not_believed, 0, 5);
	tcase_add_test(tc, eviction_takes_the_longest_unused);
	tcase_add_test(tc, leftovers_of_the_dead_are_swept);
	tcase_add_loop_test(tc, blobs, 0, 2);
	tcase_add_test(tc, no_cache_is_no_error);
	tcase_add_test(tc, a_lock_waits_and_dies_with_its_holder);
	tcase_add_test(tc, two_locks_of_one_process_exclude_each_other);
	tcase_add_test(tc, a_lock_gives_up_in_the_end);
	tcase_add_loop_test(tc, a_full_disk_leaves_nothing, 0, 2);
	tcase_add_test(tc, other_formats_are_forgotten_in_time);
	suite_add_tcase(s, tc);
	return s;
}
