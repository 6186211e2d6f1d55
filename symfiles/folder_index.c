#include "symfiles/folder_index.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/image/block.h"
#include "symfiles/symbol_search.h"

/*
 * One block, in memory as on disk: header, folders, files in path order, two
 * orders of the files, text. It is checked as a whole when it comes from the
 * cache, so look-ups need no checks.
 */
struct header {
	char magic[8];
	uint32_t num_dirs, num_files, num_ids, num_names;
	uint32_t text_size, truncated;
};

struct stamp {		// equal stamps: nothing changed
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};

struct dir_record {
	struct stamp stamp;
	uint32_t path, reserved;
};

struct file_record {
	struct stamp stamp;
	uint32_t path, id, name;	// in the text; 0: empty
	uint32_t kind;			// enum fw_index_kind
};

struct fw_index {
	void *block;
	const struct header *header;
	const struct dir_record *dirs;
	const struct file_record *files;
	const uint32_t *by_id, *by_name;
	const char *text;
};

enum { YOUNG_NS = 20000000, YOUNG_COARSE_NS = 2000000000 };

static const char MAGIC[8] = "fwindx1";

// ---- the block ----

static uint64_t block_size(const struct header *h)
{
	return sizeof(*h) + (uint64_t)h->num_dirs * sizeof(struct dir_record) +
	       (uint64_t)h->num_files * sizeof(struct file_record) +
	       ((uint64_t)h->num_ids + h->num_names) * sizeof(uint32_t) + h->text_size;
}

static void set_views(struct fw_index *x)
{
	x->header = x->block;
	x->dirs = (const void *)(x->header + 1);
	x->files = (const void *)(x->dirs + x->header->num_dirs);
	x->by_id = (const void *)(x->files + x->header->num_files);
	x->by_name = x->by_id + x->header->num_ids;
	x->text = (const char *)(x->by_name + x->header->num_names);
}

static bool block_is_sound(const struct fw_index *x)
{
	const struct header *h = x->header;
	if (h->text_size == 0 || x->text[h->text_size - 1] != '\0' || x->text[0] != '\0')
		return false;
	for (uint32_t i = 0; i < h->num_dirs; i++)
		if (x->dirs[i].path >= h->text_size)
			return false;
	for (uint32_t i = 0; i < h->num_files; i++) {
		const struct file_record *f = &x->files[i];
		if (f->path >= h->text_size || f->id >= h->text_size ||
		    f->name >= h->text_size || strlen(x->text + f->id) > FW_MAX_IDENT)
			return false;
	}
	for (uint32_t i = 0; i < h->num_ids + h->num_names; i++)
		if (x->by_id[i] >= h->num_files)
			return false;
	return true;
}

/** Takes @p block over. NULL: not an index. */
static struct fw_index *open_block(void *block, uint64_t size)
{
	struct header h;
	struct fw_index *x = calloc(1, sizeof(*x));
	if (x == NULL || size < sizeof(h))
		goto bad;
	memcpy(&h, block, sizeof(h));
	if (memcmp(h.magic, MAGIC, sizeof(MAGIC)) != 0 || block_size(&h) != size ||
	    h.num_ids > UINT32_MAX - h.num_names)
		goto bad;
	x->block = block;
	set_views(x);
	if (!block_is_sound(x))
		goto bad;
	return x;
bad:
	free(block);
	free(x);
	return NULL;
}

void fw_index_close(struct fw_index *x)
{
	if (x == NULL)
		return;
	free(x->block);
	free(x);
}

// ---- walking a tree ----

struct walk {
	const char *root;
	const struct fw_index *old;	// of an earlier run, or NULL
	int64_t started_ns;
	FW_VEC(struct dir_record) dirs;
	FW_VEC(struct file_record) files;
	FW_VEC(char) text;
	FW_VEC(char) path;		// of the folder that is being read; not terminated
	uint64_t entries;
	bool truncated, no_memory;
};

static int64_t nanoseconds(struct timespec t)
{
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static struct stamp stamp_of(const struct stat *st)
{
	return (struct stamp){ st->st_dev, st->st_ino, (uint64_t)st->st_size,
			       nanoseconds(st->st_mtim), nanoseconds(st->st_ctim) };
}

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/**
 * What changed so lately that it could change again within the same tick of
 * the file system's clock gets a stamp that never matches.
 */
static struct stamp settled_stamp(const struct walk *w, const struct stat *st)
{
	struct stamp s = stamp_of(st);
	int64_t tick = s.ctime_ns % 1000000000 == 0 ? YOUNG_COARSE_NS : YOUNG_NS;
	if (s.ctime_ns > w->started_ns - tick)
		s.ctime_ns = -1;
	return s;
}

static uint32_t add_text(struct walk *w, const char *a, size_t n)
{
	if (n == 0)
		return 0;
	size_t at = w->text.count;
	if (at + n + 1 > UINT32_MAX) {
		w->truncated = true;
		return 0;
	}
	if (!fw_vec_reserve(&w->text, n + 1)) {
		w->no_memory = true;
		return 0;
	}
	memcpy(w->text.data + at, a, n);
	w->text.data[at + n] = '\0';
	w->text.count += n + 1;
	return (uint32_t)at;
}

static bool push_name(struct walk *w, const char *name)
{
	size_t n = strlen(name), slash = w->path.count > 0;
	if (!fw_vec_reserve(&w->path, n + slash)) {
		w->no_memory = true;
		return false;
	}
	if (slash)
		w->path.data[w->path.count++] = '/';
	memcpy(w->path.data + w->path.count, name, n);
	w->path.count += n;
	return true;
}

static const struct file_record *find_path(const struct fw_index *x, const char *path)
{
	uint32_t lo = 0, hi = x ? x->header->num_files : 0;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int order = strcmp(x->text + x->files[mid].path, path);
		if (order == 0)
			return &x->files[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/** A .pdb's name has no case; used for the names of modules on both sides. */
static size_t fold_name(char out[256], struct fw_str name)
{
	size_t n = name.n < 255 ? name.n : 255;
	memcpy(out, name.s, n);
	out[n] = '\0';
	if (n >= 4 && strcasecmp(out + n - 4, ".pdb") == 0)
		for (size_t i = 0; i < n; i++)
			if (out[i] >= 'A' && out[i] <= 'Z')
				out[i] = (char)(out[i] - 'A' + 'a');
	return n;
}

static void read_head(struct walk *w, const char *path, struct file_record *f)
{
	struct fw_sym_head head;
	char *full, name[256];
	if (asprintf(&full, "%s/%s", w->root, path) < 0) {
		w->no_memory = true;
		return;
	}
	enum fw_code code = fw_sym_peek(full, &head, NULL);
	w->no_memory |= code == FW_NO_MEMORY;
	if (code == FW_OK) {
		if (head.kind == FW_INDEX_NOTHING && fw_ident_of_store_path(&head.id, full))
			head.kind = FW_INDEX_SYM;
		size_t n = fold_name(name, (struct fw_str){ head.name, strlen(head.name) });
		f->kind = head.kind;
		f->id = add_text(w, head.id.text, head.id.n);
		f->name = add_text(w, name, n);
	}
	free(full);
}

static void add_file(struct walk *w, const struct stat *st)
{
	struct file_record f = { .stamp = settled_stamp(w, st) };
	f.path = add_text(w, w->path.data, w->path.count);
	if (w->no_memory || w->truncated)
		return;
	const struct file_record *known = find_path(w->old, w->text.data + f.path);
	if (known && same_stamp(&known->stamp, &f.stamp)) {
		const char *id = w->old->text + known->id, *name = w->old->text + known->name;
		f.kind = known->kind;
		f.id = add_text(w, id, strlen(id));
		f.name = add_text(w, name, strlen(name));
	} else if (st->st_size > 0) {
		char *path = strdup(w->text.data + f.path);	// text moves as it grows
		if (path)
			read_head(w, path, &f);
		else
			w->no_memory = true;
		free(path);
	}
	if (!fw_vec_push(&w->files, f))
		w->no_memory = true;
}

static void add_dir(struct walk *w, const struct stat *st)
{
	struct dir_record record = { .stamp = settled_stamp(w, st) };
	record.path = add_text(w, w->path.data, w->path.count);
	if (!fw_vec_push(&w->dirs, record))
		w->no_memory = true;
}

static void walk_dir(struct walk *w, int fd, unsigned depth);

static void walk_entry(struct walk *w, int dir, const char *name, unsigned depth)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		if (depth >= FW_MAX_INDEX_DEPTH) {
			w->truncated = true;
			return;
		}
		int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			walk_dir(w, fd, depth + 1);
		else
			add_dir(w, &st);	// noticed when it can be read
		return;
	}
	// A link to a file is as good as the file; one to a folder may be a loop.
	if (S_ISLNK(st.st_mode) && fstatat(dir, name, &st, 0) < 0)
		return;
	if (S_ISREG(st.st_mode))
		add_file(w, &st);
}

/** Closes @p fd. */
static void walk_dir(struct walk *w, int fd, unsigned depth)
{
	struct stat st;
	struct dirent *e;
	const size_t prefix = w->path.count;
	DIR *dir = fstat(fd, &st) < 0 ? NULL : fdopendir(fd);
	if (dir == NULL) {
		close(fd);
		return;
	}
	add_dir(w, &st);
	while (!w->no_memory && (e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (w->entries >= FW_MAX_INDEX_FILES) {
			w->truncated = true;
			break;
		}
		w->entries++;
		if (push_name(w, e->d_name))
			walk_entry(w, fd, e->d_name, depth);
		w->path.count = prefix;
	}
	closedir(dir);
}

// ---- from a walk to a block ----

static int compare_paths(const void *a, const void *b, void *text)
{
	const struct file_record *x = a, *y = b;
	return strcmp((char *)text + x->path, (char *)text + y->path);
}

static int compare_keys(const struct fw_index *x, uint32_t a, uint32_t b, bool names)
{
	const struct file_record *f = &x->files[a], *g = &x->files[b];
	if (f->kind != g->kind)
		return f->kind < g->kind ? -1 : 1;
	int order = names ? strcmp(x->text + f->name, x->text + g->name)
			  : strcmp(x->text + f->id, x->text + g->id);
	return order ? order : a < b ? -1 : a > b;
}

static int compare_ids(const void *a, const void *b, void *x)
{
	return compare_keys(x, *(const uint32_t *)a, *(const uint32_t *)b, false);
}

static int compare_names(const void *a, const void *b, void *x)
{
	return compare_keys(x, *(const uint32_t *)a, *(const uint32_t *)b, true);
}

static struct fw_index *freeze(struct walk *w)
{
	struct header h = { .num_dirs = (uint32_t)w->dirs.count,
			    .num_files = (uint32_t)w->files.count,
			    .text_size = (uint32_t)w->text.count, .truncated = w->truncated };
	memcpy(h.magic, MAGIC, sizeof(MAGIC));
	if (w->files.count)
		qsort_r(w->files.data, w->files.count, sizeof(*w->files.data), compare_paths,
			w->text.data);
	for (size_t i = 0; i < w->files.count; i++) {
		h.num_ids += w->files.data[i].id != 0;
		h.num_names += w->files.data[i].name != 0;
	}
	struct fw_index *x = calloc(1, sizeof(*x));
	if (x == NULL || (x->block = malloc(block_size(&h))) == NULL) {
		free(x);
		return NULL;
	}
	memcpy(x->block, &h, sizeof(h));
	set_views(x);
	memcpy((void *)x->dirs, w->dirs.data, w->dirs.count * sizeof(*w->dirs.data));
	if (w->files.count)
		memcpy((void *)x->files, w->files.data, w->files.count * sizeof(*w->files.data));
	memcpy((void *)x->text, w->text.data, w->text.count);
	uint32_t *ids = (uint32_t *)x->by_id, *names = (uint32_t *)x->by_name;
	for (uint32_t i = 0; i < h.num_files; i++) {
		if (x->files[i].id)
			*ids++ = i;
		if (x->files[i].name)
			*names++ = i;
	}
	qsort_r((void *)x->by_id, h.num_ids, sizeof(uint32_t), compare_ids, x);
	qsort_r((void *)x->by_name, h.num_names, sizeof(uint32_t), compare_names, x);
	return x;
}

static struct fw_index *build(const char *root, int fd, const struct fw_index *old)
{
	struct timespec now;
	struct walk w = { .root = root, .old = old };
	struct fw_index *x = NULL;
	clock_gettime(CLOCK_REALTIME, &now);
	w.started_ns = nanoseconds(now);
	if (fw_vec_push(&w.text, '\0'))		// offset 0 is the empty string
		walk_dir(&w, fd, 0);
	else
		close(fd);
	if (!w.no_memory && w.dirs.count > 0)
		x = freeze(&w);
	fw_vec_deinit(&w.dirs);
	fw_vec_deinit(&w.files);
	fw_vec_deinit(&w.text);
	fw_vec_deinit(&w.path);
	return x;
}

static bool is_current(const struct fw_index *x, int root)
{
	struct stat st;
	struct stamp now;
	for (uint32_t i = 0; i < x->header->num_dirs; i++) {
		const char *path = x->text + x->dirs[i].path;
		if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
			return false;
		now = stamp_of(&st);
		if (!same_stamp(&now, &x->dirs[i].stamp))
			return false;
	}
	// A file that is written anew in place does not change its folder.
	for (uint32_t i = 0; i < x->header->num_files; i++) {
		if (fstatat(root, x->text + x->files[i].path, &st, 0) < 0)
			return false;
		now = stamp_of(&st);
		if (!same_stamp(&now, &x->files[i].stamp))
			return false;
	}
	return true;
}

struct fw_index *fw_index_open(const char *root, struct fw_cache *cache)
{
	char name[32], *real = cache ? realpath(root, NULL) : NULL;
	struct fw_index *old = NULL, *x;
	uint64_t size;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		free(real);
		return NULL;
	}
	if (real) {
		snprintf(name, sizeof(name), "index-%016llx",
			 (unsigned long long)fw_block_hash(real, strlen(real), 0));
		void *block = fw_cache_get_blob(cache, name, &size);
		old = block ? open_block(block, size) : NULL;
	}
	if (old && is_current(old, fd)) {
		close(fd);
		free(real);
		return old;
	}
	x = build(root, fd, old);
	fw_index_close(old);
	if (x && real)
		fw_cache_put_blob(cache, name, x->block, block_size(x->header));
	free(real);
	return x;
}

// ---- look-ups ----

static bool give(const struct fw_index *x, uint32_t file, struct fw_index_hit *ret)
{
	const struct file_record *f = &x->files[file];
	ret->path = x->text + f->path;
	ret->id.n = (uint8_t)strlen(x->text + f->id);
	memcpy(ret->id.text, x->text + f->id, (size_t)ret->id.n + 1);
	return true;
}

/** Position of the first file in an order that is not below (kind, key). */
static uint32_t lower_bound(const struct fw_index *x, bool names, uint32_t kind, const char *key)
{
	const uint32_t *order = names ? x->by_name : x->by_id;
	uint32_t lo = 0, hi = names ? x->header->num_names : x->header->num_ids;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct file_record *f = &x->files[order[mid]];
		int cmp = strcmp(x->text + (names ? f->name : f->id), key);
		if (f->kind < kind || (f->kind == kind && cmp < 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool fw_index_find(const struct fw_index *x, enum fw_index_kind kind, const struct fw_ident *id,
		   uint32_t nth, struct fw_index_hit *ret)
{
	uint64_t at = (uint64_t)lower_bound(x, false, kind, id->text) + nth;
	if (id->n == 0 || at >= x->header->num_ids)
		return false;
	const struct file_record *f = &x->files[x->by_id[at]];
	return f->kind == kind && strcmp(x->text + f->id, id->text) == 0 &&
	       give(x, x->by_id[at], ret);
}

bool fw_index_nth(const struct fw_index *x, enum fw_index_kind kind, uint32_t nth,
		  struct fw_index_hit *ret)
{
	uint64_t at = (uint64_t)lower_bound(x, false, kind, "") + nth;
	return at < x->header->num_ids && x->files[x->by_id[at]].kind == kind &&
	       give(x, x->by_id[at], ret);
}

bool fw_index_find_name(const struct fw_index *x, struct fw_str name, uint32_t nth,
			struct fw_index_hit *ret)
{
	char key[256];
	if (fold_name(key, name) == 0)
		return false;
	uint64_t at = (uint64_t)lower_bound(x, true, FW_INDEX_SYM, key) + nth;
	if (at >= x->header->num_names)
		return false;
	const struct file_record *f = &x->files[x->by_name[at]];
	return f->kind == FW_INDEX_SYM && strcmp(x->text + f->name, key) == 0 &&
	       give(x, x->by_name[at], ret);
}

bool fw_index_truncated(const struct fw_index *x)
{
	return x->header->truncated != 0;
}
