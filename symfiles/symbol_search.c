#include "symfiles/symbol_search.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "symfiles/breakpad.h"

enum { PEEK_BYTES = 4096 };

static const char *const SUFFIXES[] = { "", ".gz", ".zst" };
enum { NUM_SUFFIXES = sizeof(SUFFIXES) / sizeof(*SUFFIXES) };

// ---- files ----

/** What does not fit the system could not be opened either. */
struct path { char s[PATH_MAX]; size_t n; };

static bool path_add(struct path *p, const char *s, size_t n)
{
	if (n >= sizeof(p->s) - p->n)
		return false;
	memcpy(p->s + p->n, s, n);
	p->n += n;
	p->s[p->n] = '\0';
	return true;
}

static bool path_set(struct path *p, const char *s)
{
	p->n = 0;
	return path_add(p, s, strlen(s));
}

bool fw_cache_key_of(const char *path, struct fw_cache_key *ret)
{
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->size = (uint64_t)st.st_size;
	ret->mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	ret->ctime_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	return true;
}

static void take_module(struct fw_sym_head *h, const struct fw_sym_module *m)
{
	const struct fw_cpu *cpu = fw_cpu_by_sym_name(m->arch);
	struct fw_str name = fw_base_name(m->name);
	h->kind = FW_INDEX_SYM;
	h->has_module = true;
	h->id = m->debug_id;
	h->cpu = cpu ? cpu->id : FW_CPU_UNKNOWN;
	if (name.n >= sizeof(h->name))
		name.n = sizeof(h->name) - 1;
	memcpy(h->name, name.s, name.n);
	h->name[name.n] = '\0';
}

enum fw_code fw_sym_peek(const char *path, struct fw_sym_head *ret, struct fw_error *err)
{
	char bytes[PEEK_BYTES];
	size_t n = 0;
	struct fw_sym_head h = { 0 };
	struct fw_sym_module module;
	enum fw_code code = fw_file_peek(path, bytes, sizeof(bytes), &n, err);
	if (code != FW_OK)
		return code;
	if (n >= 4 && memcmp(bytes, "\177ELF", 4) == 0) {
		h.elf = true;
		if (fw_elf_peek_id(bytes, n, path, &h.id))
			h.kind = FW_INDEX_ELF;
	} else if (fw_sym_module_line((struct fw_str){ bytes, n }, &module)) {
		take_module(&h, &module);
	}
	*ret = h;
	return FW_OK;
}

static bool ends_with(struct fw_str s, const char *suffix)
{
	size_t n = strlen(suffix);
	return s.n >= n && strncasecmp(s.s + s.n - n, suffix, n) == 0;
}

bool fw_ident_of_store_path(struct fw_ident *ret, const char *path)
{
	struct fw_str s = { path, strlen(path) };
	for (unsigned i = 0; i < NUM_SUFFIXES; i++) {
		size_t n = strlen(SUFFIXES[i]);
		if (!ends_with(s, SUFFIXES[i]) ||
		    !ends_with((struct fw_str){ s.s, s.n - n }, ".sym"))
			continue;
		struct fw_str file = fw_base_name(s);
		if (file.n + 1 >= s.n)
			break;
		struct fw_str dir = { s.s, s.n - file.n - 1 };
		return fw_ident_parse_debug(ret, fw_base_name(dir));
	}
	return false;
}

// ---- roots ----

void fw_root_init(struct fw_root *root, const char *path)
{
	struct stat st;
	memset(root, 0, sizeof(*root));
	root->path = path;
	root->kind = FW_ROOT_NONE;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		root->kind = FW_ROOT_FOLDER;
	else if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		root->kind = FW_ROOT_FILE;
	pthread_mutex_init(&root->lock, NULL);
}

void fw_root_deinit(struct fw_root *root)
{
	fw_index_close(root->index);
	pthread_mutex_destroy(&root->lock);
}

/** Index a folder or look into a file, once for the whole run. */
void fw_root_examine(struct fw_root *root, struct fw_cache *cache)
{
	pthread_mutex_lock(&root->lock);
	if (!root->examined && root->kind == FW_ROOT_FOLDER)
		root->index = fw_index_open(root->path, cache);
	if (!root->examined && root->kind == FW_ROOT_FILE) {
		struct fw_sym_head *h = &root->head;
		if (fw_sym_peek(root->path, h, NULL) != FW_OK)
			*h = (struct fw_sym_head){ 0 };
		if (h->kind == FW_INDEX_NOTHING && fw_ident_of_store_path(&h->id, root->path))
			h->kind = FW_INDEX_SYM;
	}
	root->examined = true;
	pthread_mutex_unlock(&root->lock);
}

// ---- refusals ----

void fw_refusal_clear(struct fw_refusal *r)
{
	free(r->path);
	r->path = NULL;
}

void fw_search_refuse(struct fw_search *q, enum fw_symbol_status status, const char *path,
		      const struct fw_ident *found, const char *format, ...)
{
	static const uint8_t rank[] = {
		[FW_SYMBOLS_MISSING] = 1, [FW_SYMBOLS_MISMATCH] = 2, [FW_SYMBOLS_CORRUPT] = 3,
	};
	struct fw_refusal *r = &q->refusal;
	va_list args;
	if (rank[status] <= rank[r->status])
		return;
	fw_refusal_clear(r);
	r->status = status;
	r->path = strdup(path);
	r->found_id = found ? *found : (struct fw_ident){ 0 };
	va_start(args, format);
	vsnprintf(r->message, sizeof(r->message), format, args);
	va_end(args);
}

static void refuse_id(struct fw_search *q, const char *path, const struct fw_ident *found)
{
	fw_search_refuse(q, FW_SYMBOLS_MISMATCH, path, found,
			 "its MODULE line has id %s, the module has id %s",
			 found->n ? found->text : "(none)", q->wanted->id.text);
}

bool fw_search_cpu_fits(struct fw_search *q, const char *path, enum fw_cpu_id cpu)
{
	enum fw_cpu_id want = q->wanted->cpu;
	if (want == FW_CPU_UNKNOWN || cpu == FW_CPU_UNKNOWN || want == cpu)
		return true;
	fw_search_refuse(q, FW_SYMBOLS_CORRUPT, path, NULL, "it is for %s, the module's code is %s",
			 fw_cpu_get(cpu)->name, fw_cpu_get(want)->name);
	return false;
}

// ---- symbol files ----

/**
 * May the file at @p path be used? Its MODULE line decides. Without one, it must
 * be empty of identity altogether and lie where a store keeps this id.
 */
static bool accept(struct fw_search *q, const char *path, struct fw_source *ret)
{
	const struct fw_wanted *w = q->wanted;
	struct fw_source found = { .key.debug_id = w->id };
	struct fw_sym_head head;
	struct fw_ident from_path;
	struct fw_error err;
	if (!fw_cache_key_of(path, &found.key) ||
	    (found.key.dev == q->last_dev && found.key.ino == q->last_ino))
		return false;
	if (q->ask_cache)
		found.image = fw_cache_get(q->cache, &found.key);
	if (found.image) {
		head = (struct fw_sym_head){ .kind = FW_INDEX_SYM, .cpu = found.image->cpu };
	} else if (fw_sym_peek(path, &head, &err) != FW_OK) {
		fw_search_refuse(q, FW_SYMBOLS_CORRUPT, path, NULL, "%s", err.message);
		return false;
	} else if (head.has_module && !fw_ident_equal(&head.id, &w->id)) {
		refuse_id(q, path, &head.id);
		return false;
	} else if (!head.has_module && (!fw_ident_of_store_path(&from_path, path) ||
					!fw_ident_equal(&from_path, &w->id))) {
		fw_search_refuse(q, FW_SYMBOLS_CORRUPT, path, NULL,
				 "it has no MODULE line and its path does not tell its id");
		return false;
	}
	if (!fw_search_cpu_fits(q, path, head.cpu) || (found.path = strdup(path)) == NULL) {
		fw_image_destroy(found.image);
		return false;
	}
	q->last_dev = found.key.dev;
	q->last_ino = found.key.ino;
	*ret = found;
	return true;
}

static bool accept_below(struct fw_search *q, const char *root, const char *below,
			 struct fw_source *ret)
{
	struct path path;
	return path_set(&path, root) && path_add(&path, "/", 1) &&
	       path_add(&path, below, strlen(below)) && accept(q, path.s, ret);
}

/** NAME/ID/NAME.sym, .pdb taken off the file's name but not off the folder's. */
static bool try_store(struct fw_search *q, const struct fw_root *root, const char *suffix,
		      struct fw_source *ret)
{
	const struct fw_wanted *w = q->wanted;
	struct fw_str name = { w->name, strlen(w->name) };
	struct path path;
	if (name.n == 0 || !path_set(&path, root->path) || !path_add(&path, "/", 1) ||
	    !path_add(&path, name.s, name.n) || !path_add(&path, "/", 1) ||
	    !path_add(&path, w->id.text, w->id.n) || !path_add(&path, "/", 1))
		return false;
	if (ends_with(name, ".pdb"))
		name.n -= 4;
	return path_add(&path, name.s, name.n) && path_add(&path, ".sym", 4) &&
	       path_add(&path, suffix, strlen(suffix)) && accept(q, path.s, ret);
}

/** Windows names differ in case between linker, loader and file system. */
static bool same_name(const char *a, const char *b)
{
	struct fw_str s = { a, strlen(a) };
	return ends_with(s, ".pdb") ? strcasecmp(a, b) == 0 : strcmp(a, b) == 0;
}

static bool try_single(struct fw_search *q, struct fw_root *root, struct fw_source *ret)
{
	fw_root_examine(root, q->cache);
	const struct fw_sym_head *h = &root->head;
	if (h->kind != FW_INDEX_SYM)
		return false;
	if (fw_ident_equal(&h->id, &q->wanted->id))
		return accept(q, root->path, ret);
	if (h->has_module && same_name(q->wanted->name, h->name))
		refuse_id(q, root->path, &h->id);
	return false;
}

static void note_mismatch(struct fw_search *q, const struct fw_root *root)
{
	struct fw_index_hit hit;
	struct path path;
	struct fw_str name = { q->wanted->name, strlen(q->wanted->name) };
	if (q->refusal.status == FW_SYMBOLS_MISSING && name.n > 0 &&
	    fw_index_find_name(root->index, name, 0, &hit) && path_set(&path, root->path) &&
	    path_add(&path, "/", 1) && path_add(&path, hit.path, strlen(hit.path)))
		refuse_id(q, path.s, &hit.id);
}

static bool try_index(struct fw_search *q, struct fw_root *root, struct fw_source *ret)
{
	struct fw_index_hit hit;
	fw_root_examine(root, q->cache);
	if (root->index == NULL)
		return false;
	while (fw_index_find(root->index, FW_INDEX_SYM, &q->wanted->id, q->nth, &hit)) {
		q->nth++;
		if (accept_below(q, root->path, hit.path, ret))
			return true;
	}
	note_mismatch(q, root);
	return false;
}

bool fw_search_next(struct fw_search *q, struct fw_source *ret)
{
	if (q->refusal.status == FW_SYMBOLS_NOT_SEARCHED)
		q->refusal.status = FW_SYMBOLS_MISSING;
	for (; q->root < q->num_roots; q->root++, q->step = 0, q->nth = 0) {
		struct fw_root *root = &q->roots[q->root];
		if (root->kind == FW_ROOT_FILE && q->step++ == 0 && try_single(q, root, ret))
			return true;
		if (root->kind != FW_ROOT_FOLDER)
			continue;
		while (q->step < NUM_SUFFIXES)
			if (try_store(q, root, SUFFIXES[q->step++], ret))
				return true;
		if (try_index(q, root, ret))
			return true;
	}
	return false;
}
