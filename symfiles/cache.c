#include "symfiles/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/image/builder.h"
#include "lib/image/block.h"
#include "symfiles/cache_internal.h"

/*
 * Nothing is ever left behind by a process that dies:
 *
 * - A new file has no name until it is complete (O_TMPFILE, then linkat).
 *   Where the file system cannot do that, a temporary name is used and the file
 *   is flocked while it is written, so whoever sweeps knows the dead ones.
 * - Compile locks are one-byte locks in one file that stays (the tag that tells
 *   backup programs to skip the folder), at a place that the key's hash names.
 *   They belong to the open file description, so they exclude threads as well
 *   as processes, end with their holder and leave nothing to remove.
 */
enum {
	NAME_SIZE = FW_MAX_IDENT + 64,
	LOCK_SECONDS = 60,
	MIN_SLEEP_US = 1000,
	MAX_SLEEP_US = 50000,
	OLD_FORMAT_SECONDS = 30 * 86400,
	EVICTION_LOCK = 0,	// place in the tag; compile locks lie above
};

// https://bford.info/cachedir/
static const char TAG_NAME[] = "CACHEDIR.TAG";
static const char TAG_TEXT[] =
	"Signature: 8a477f597d28d172789f06886806bc55\n"
	"# Compiled symbols of framewalk. Everything here can be removed at any time.\n";

struct fw_cache {
	int root_fd;		// DIR: holds the tag
	int dir_fd;		// DIR/v<format>: holds the files
	uint64_t cap;
	_Atomic uint64_t unswept;	// bytes added since the last eviction
	_Atomic unsigned counter;	// for temporary names
	_Atomic bool named_temp;	// O_TMPFILE does not work here
	unsigned lock_seconds;	// how long to wait for another's compile
};

struct fw_cache_lock { int fd; };

// ---- the directory ----

/** mkdir -p. Says nothing: the open that follows does. */
static void make_parents(const char *dir)
{
	size_t n = strlen(dir);
	char *path = strdup(dir);
	for (size_t i = 1; path && i < n; i++) {
		if (path[i] != '/')
			continue;
		path[i] = '\0';
		mkdir(path, 0700);
		path[i] = '/';
	}
	if (path)
		mkdir(path, 0700);
	free(path);
}

static int open_dir(int at, const char *name, const char **why)
{
	struct stat st;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		*why = errno == ELOOP || errno == ENOTDIR
			? "the cache directory is a symbolic link or no directory"
			: "the cache directory cannot be made or opened";
		return -1;
	}
	*why = NULL;
	if (fstat(fd, &st) < 0)
		*why = "the cache directory cannot be examined";
	else if (st.st_uid != geteuid())
		*why = "the cache directory belongs to another user";
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		*why = "the cache directory can be written by others";
	if (*why == NULL)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static void format_name(char out[16])
{
	snprintf(out, 16, "v%d", FW_IMAGE_FORMAT);
}

struct fw_cache *fw_cache_open(const char *dir, uint64_t cap_bytes, const char **ret_why)
{
	char version[16];
	size_t n = strlen(dir);
	struct fw_cache *c = calloc(1, sizeof(*c));
	char *path = strdup(dir);
	*ret_why = "out of memory";
	if (c == NULL || path == NULL)
		goto fail;
	while (n > 1 && path[n - 1] == '/')	// with it, a link would be followed
		path[--n] = '\0';
	c->cap = cap_bytes;
	c->lock_seconds = LOCK_SECONDS;
	c->root_fd = open_dir(AT_FDCWD, path, ret_why);
	if (c->root_fd < 0 && errno == ENOENT) {
		make_parents(path);
		c->root_fd = open_dir(AT_FDCWD, path, ret_why);
	}
	if (c->root_fd < 0)
		goto fail;
	format_name(version);
	mkdirat(c->root_fd, version, 0700);
	c->dir_fd = open_dir(c->root_fd, version, ret_why);
	if (c->dir_fd < 0) {
		close(c->root_fd);
		goto fail;
	}
	free(path);
	return c;
fail:
	free(path);
	free(c);
	return NULL;
}

void fw_cache_close(struct fw_cache *c)
{
	if (c == NULL)
		return;
	if (atomic_load(&c->unswept) > 0)
		fw_cache_evict_(c);
	close(c->dir_fd);
	close(c->root_fd);
	free(c);
}

void fw_cache_use_named_temp_(struct fw_cache *c)
{
	atomic_store(&c->named_temp, true);
}

void fw_cache_set_patience_(struct fw_cache *c, unsigned seconds)
{
	c->lock_seconds = seconds;
}

// ---- names ----

static uint64_t key_hash(const struct fw_cache_key *key)
{
	// A new release may read the same symbol file otherwise.
	struct { uint64_t v[5]; char release[24]; } id = {
		.v = { key->dev, key->ino, key->size, (uint64_t)key->mtime_ns,
		       (uint64_t)key->ctime_ns },
	};
	snprintf(id.release, sizeof(id.release), "%s", FW_VERSION);
	return fw_block_hash(&id, sizeof(id), 0);
}

static void image_name(const struct fw_cache_key *key, char out[NAME_SIZE])
{
	snprintf(out, NAME_SIZE, "%s-%016llx.img", key->debug_id.n ? key->debug_id.text : "0",
		 (unsigned long long)key_hash(key));
}

static bool blob_name(const char *name, char out[NAME_SIZE])
{
	size_t n = strlen(name);
	if (n == 0 || n + sizeof(".blob") > NAME_SIZE || name[0] == '.' || strchr(name, '/'))
		return false;
	snprintf(out, NAME_SIZE, "%s.blob", name);
	return true;
}

// ---- locks ----

static int open_tag(struct fw_cache *c)
{
	struct stat st;
	int fd = openat(c->root_fd, TAG_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 0)
		if (pwrite(fd, TAG_TEXT, sizeof(TAG_TEXT) - 1, 0) < 0)
			errno = 0;	// only backup programs miss it
	return fd;
}

static int lock_place(int fd, uint64_t place)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)place,
			   .l_len = 1 };
	return fcntl(fd, F_OFD_SETLK, &l);
}

static uint64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sleep_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000),
			      .tv_nsec = (long)(us % 1000000) * 1000 };
	nanosleep(&t, NULL);
}

struct fw_cache_lock *fw_cache_lock(struct fw_cache *c, const struct fw_cache_key *key)
{
	struct fw_cache_lock *lock = c ? calloc(1, sizeof(*lock)) : NULL;
	if (lock == NULL)
		return NULL;
	lock->fd = open_tag(c);
	if (lock->fd < 0)
		return lock;
	char name[NAME_SIZE];
	image_name(key, name);
	const uint64_t place = 1 + (fw_block_hash(name, strlen(name), 0) >> 2);
	const uint64_t start = now_us();
	// Polling, since a blocking lock has no time limit. A wait costs a few
	// wake-ups and adds at most an eighth of its length.
	while (lock_place(lock->fd, place) < 0) {
		uint64_t waited = now_us() - start;
		if ((errno != EAGAIN && errno != EACCES && errno != EINTR) ||
		    waited >= (uint64_t)c->lock_seconds * 1000000)
			break;
		uint64_t us = waited / 8;
		sleep_us(us < MIN_SLEEP_US ? MIN_SLEEP_US : us > MAX_SLEEP_US ? MAX_SLEEP_US : us);
	}
	return lock;
}

void fw_cache_unlock(struct fw_cache_lock *lock)
{
	if (lock && lock->fd >= 0)
		close(lock->fd);
	free(lock);
}

// ---- eviction ----

struct stored {
	char name[NAME_SIZE];
	uint64_t size;
	int64_t mtime_ns;
};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);
	return n >= k && strcmp(name + n - k, suffix) == 0;
}

static int by_age(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;
	if (x->mtime_ns != y->mtime_ns)
		return x->mtime_ns < y->mtime_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void sweep_temp(struct fw_cache *c, const char *name)
{
	int fd = openat(c->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(c->dir_fd, name, 0);
	close(fd);
}

static void evict_oldest(struct fw_cache *c, struct stored *files, size_t n, uint64_t total)
{
	qsort(files, n, sizeof(*files), by_age);
	for (size_t i = 0; i < n && total > c->cap; i++) {
		if (unlinkat(c->dir_fd, files[i].name, 0) == 0 || errno == ENOENT)
			total -= files[i].size;
	}
}

static void evict_locked(struct fw_cache *c, DIR *dir)
{
	FW_VEC(struct stored) files = { 0 };
	uint64_t total = 0;
	struct dirent *e;
	struct stat st;
	while ((e = readdir(dir)) != NULL) {
		if (has_suffix(e->d_name, ".tmp")) {
			sweep_temp(c, e->d_name);
			continue;
		}
		if (!has_suffix(e->d_name, ".img") && !has_suffix(e->d_name, ".blob"))
			continue;
		if (strlen(e->d_name) >= NAME_SIZE ||
		    fstatat(c->dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		struct stored s = { .size = (uint64_t)st.st_size,
			.mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec };
		memcpy(s.name, e->d_name, strlen(e->d_name) + 1);
		if (!fw_vec_push(&files, s))
			break;
		total += s.size;
	}
	if (total > c->cap)
		evict_oldest(c, files.data, files.count, total);
	fw_vec_deinit(&files);
}

/** Folders of other formats: what no release of theirs used for long goes. */
static void sweep_format(int dir_fd, int64_t now)
{
	struct dirent *e;
	struct stat st;
	DIR *dir = fdopendir(dir_fd);
	if (dir == NULL) {
		close(dir_fd);
		return;
	}
	while ((e = readdir(dir)) != NULL)
		if (fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && now - st.st_mtime > OLD_FORMAT_SECONDS)
			unlinkat(dir_fd, e->d_name, 0);
	closedir(dir);
}

static void sweep_formats(struct fw_cache *c)
{
	char own[16];
	struct dirent *e;
	int fd = openat(c->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	format_name(own);
	while (dir && (e = readdir(dir)) != NULL) {
		const char *number = e->d_name + 1;
		if (e->d_name[0] != 'v' || *number == '\0' || strcmp(e->d_name, own) == 0 ||
		    strspn(number, "0123456789") != strlen(number))
			continue;
		int old = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (old >= 0)
			sweep_format(old, time(NULL));
		unlinkat(fd, e->d_name, AT_REMOVEDIR);		// when it is empty
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

void fw_cache_evict_(struct fw_cache *c)
{
	int tag = open_tag(c);
	if (tag >= 0 && lock_place(tag, EVICTION_LOCK) == 0) {
		atomic_store(&c->unswept, 0);
		int fd = openat(c->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = fd < 0 ? NULL : fdopendir(fd);
		if (dir) {
			evict_locked(c, dir);
			closedir(dir);
		} else if (fd >= 0) {
			close(fd);
		}
		sweep_formats(c);
	}
	if (tag >= 0)
		close(tag);
}

/** Many small images of one run are counted once, at the end. */
static void account(struct fw_cache *c, uint64_t size)
{
	if (atomic_fetch_add(&c->unswept, size) + size > c->cap / 8)
		fw_cache_evict_(c);
}

// ---- files ----

struct temp {
	int fd;
	char name[NAME_SIZE];	// "": it has none yet
};

static bool temp_open(struct fw_cache *c, struct temp *t)
{
	t->name[0] = '\0';
	t->fd = atomic_load(&c->named_temp) ? -1 :
		openat(c->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (t->fd < 0) {
		snprintf(t->name, sizeof(t->name), "%ld-%u.tmp", (long)getpid(),
			 atomic_fetch_add(&c->counter, 1));
		t->fd = openat(c->dir_fd, t->name,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (t->fd >= 0 && flock(t->fd, LOCK_EX | LOCK_NB) < 0)
			errno = 0;	// a sweep may take it: the cache misses once more
	}
	return t->fd >= 0 && fchmod(t->fd, 0600) == 0;
}

static void temp_discard(struct fw_cache *c, struct temp *t)
{
	if (t->fd >= 0 && t->name[0])
		unlinkat(c->dir_fd, t->name, 0);
	if (t->fd >= 0)
		close(t->fd);
}

/**
 * Give a complete file its name. A file that has the name already is as good
 * (@p replace false) or removed first.
 */
static bool temp_publish(struct fw_cache *c, struct temp *t, const char *name, bool replace)
{
	char self[32];
	if (t->name[0])
		return renameat(c->dir_fd, t->name, c->dir_fd, name) == 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", t->fd);
	for (int tries = 0; tries < 3; tries++) {
		if (linkat(AT_FDCWD, self, c->dir_fd, name, AT_SYMLINK_FOLLOW) == 0)
			return true;
		if (errno != EEXIST) {		// no /proc here, for one
			atomic_store(&c->named_temp, true);
			break;
		}
		if (!replace)
			return true;
		unlinkat(c->dir_fd, name, 0);
	}
	return false;
}

static bool put_image(struct fw_cache *c, const char *name, const struct fw_image *image)
{
	struct temp t;
	struct stat st;
	if (!temp_open(c, &t) || fw_image_write(image, t.fd, NULL) != FW_OK ||
	    fstat(t.fd, &st) < 0 || (uint64_t)st.st_size > c->cap ||
	    !temp_publish(c, &t, name, false)) {
		temp_discard(c, &t);
		return false;
	}
	close(t.fd);
	account(c, (uint64_t)st.st_size);
	return true;
}

void fw_cache_put(struct fw_cache *c, const struct fw_cache_key *key, const struct fw_image *image)
{
	char name[NAME_SIZE];
	if (c == NULL)
		return;
	image_name(key, name);
	bool named = atomic_load(&c->named_temp);
	if (!put_image(c, name, image) && !named && atomic_load(&c->named_temp))
		put_image(c, name, image);
}

/** Open a stored file for reading; -1 when there is none that we may believe. */
static int open_stored(struct fw_cache *c, const char *name, struct stat *st)
{
	int fd = openat(c->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	    !(st->st_mode & (S_IWGRP | S_IWOTH)) && st->st_size > 0)
		return fd;
	close(fd);
	unlinkat(c->dir_fd, name, 0);
	return -1;
}

static void touch(int fd)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
	if (futimens(fd, times) < 0)
		errno = 0;	// it is evicted earlier, no more
}

static void unmap_image(struct fw_image *image)
{
	// block_size ends where the chunks' hashes begin
	uint64_t hashes = fw_block_chunks(image->block_size) + 1;
	munmap(image->mapping, image->block_size + hashes * sizeof(uint64_t));
}

struct fw_image *fw_cache_get(struct fw_cache *c, const struct fw_cache_key *key)
{
	char name[NAME_SIZE];
	struct stat st;
	struct fw_image *image = NULL;
	if (c == NULL)
		return NULL;
	image_name(key, name);
	int fd = open_stored(c, name, &st);
	if (fd < 0)
		return NULL;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	touch(fd);
	close(fd);
	if (map == MAP_FAILED)
		return NULL;
	if (fw_image_open(map, (uint64_t)st.st_size, &image, NULL) != FW_OK) {
		munmap(map, (size_t)st.st_size);
		unlinkat(c->dir_fd, name, 0);
		return NULL;
	}
	image->mapping = map;
	image->release = unmap_image;
	if (image->debug_id.n && !fw_ident_equal(&image->debug_id, &key->debug_id)) {
		fw_image_destroy(image);
		unlinkat(c->dir_fd, name, 0);
		return NULL;
	}
	return image;
}

void fw_cache_remove(struct fw_cache *c, const struct fw_cache_key *key)
{
	char name[NAME_SIZE];
	if (c == NULL)
		return;
	image_name(key, name);
	unlinkat(c->dir_fd, name, 0);
}

// ---- blobs ----

struct blob_header {
	char magic[8];
	uint64_t size, hash;
};

static const char BLOB_MAGIC[8] = "fwblob1";

void *fw_cache_get_blob(struct fw_cache *c, const char *name, uint64_t *ret_size)
{
	char file[NAME_SIZE];
	struct fw_file f;
	struct stat st;
	struct blob_header h;
	void *data = NULL;
	if (c == NULL || !blob_name(name, file))
		return NULL;
	int fd = open_stored(c, file, &st);
	if (fd < 0)
		return NULL;
	touch(fd);
	if (fw_file_open_fd(&f, fd, FW_MAX_INPUT, NULL) == FW_OK) {
		if (f.size >= sizeof(h)) {
			memcpy(&h, f.data, sizeof(h));
			const uint8_t *bytes = f.data + sizeof(h);
			if (memcmp(h.magic, BLOB_MAGIC, sizeof(h.magic)) == 0 &&
			    h.size == f.size - sizeof(h) && h.hash == fw_block_hash(bytes, h.size, 0) &&
			    (data = malloc(h.size + 1)) != NULL) {
				memcpy(data, bytes, h.size);
				*ret_size = h.size;
			}
		}
		fw_file_close(&f);
	}
	close(fd);
	if (data == NULL)
		unlinkat(c->dir_fd, file, 0);
	return data;
}

void fw_cache_put_blob(struct fw_cache *c, const char *name, const void *data, uint64_t size)
{
	char file[NAME_SIZE];
	struct temp t;
	if (c == NULL || size + sizeof(struct blob_header) > c->cap || !blob_name(name, file))
		return;
	struct blob_header h = { .size = size, .hash = fw_block_hash(data, size, 0) };
	memcpy(h.magic, BLOB_MAGIC, sizeof(h.magic));
	if (!temp_open(c, &t) || fw_write_all(t.fd, &h, sizeof(h), NULL) != FW_OK ||
	    fw_write_all(t.fd, data, size, NULL) != FW_OK ||
	    !temp_publish(c, &t, file, true)) {
		temp_discard(c, &t);
		return;
	}
	close(t.fd);
	account(c, size + sizeof(h));
}
