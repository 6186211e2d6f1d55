#include "symfiles/symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/arena.h"
#include "lib/base/vec.h"
#include "lib/image/block.h"
#include "symfiles/breakpad.h"
#include "symfiles/elf_search.h"
#include "symfiles/lazy_module.h"
#include "symfiles/lazy_policy.h"
#include "symfiles/loader.h"
#include "symfiles/symbol_search.h"

/*
 * One entry a module, keyed by (debug id, base name, CPU). Its lock makes one
 * thread search or load while others that want the same module wait; records
 * are never changed once they were given out, so readers need no lock.
 */
enum { NUM_BUCKETS = 1024, YOUNG_NS = 20000000 };

struct entry {
	struct entry *next;
	uint64_t hash;
	struct fw_wanted wanted;
	pthread_mutex_t lock;		// of what follows
	struct fw_search search;	// stands behind `source` once that was found
	struct fw_source source;	// path NULL: none
	const struct fw_symbol_file *looked, *loaded;
	bool elf_searched, elf_opened, debug_searched;
	bool elf_first;			// `files` come before `source` in search order
	bool from_elf;			// `loaded` is of `files`
	struct fw_elf_set files;	// used where no .sym could be, or `elf_first`
	struct fw_elf *elf;
};

struct opened {		// by fw_symbols_open_file and _names; the newest first
	struct opened *next;
	const char *path;
	const struct fw_symbol_file *file;
};

struct fw_symbols {
	struct fw_root *roots;
	size_t num_roots;
	struct fw_cache *cache;
	const char *sysroot;		// "": the system's own
	bool sysroot_given;
	bool raw_names, details;
	enum fw_lazy_when lazy;
	struct fw_symbol_file not_searched, no_memory;

	pthread_mutex_t lock;		// of what follows
	struct fw_arena arena;
	struct entry *buckets[NUM_BUCKETS];
	FW_VEC(struct fw_image *) images;
	FW_VEC(struct fw_lazy_module *) lazy_modules;

	pthread_mutex_t open_lock;
	struct opened *opened;
};

// ---- life ----

static char *keep(struct fw_symbols *s, const char *text, size_t n)
{
	pthread_mutex_lock(&s->lock);
	char *copy = fw_arena_strndup(&s->arena, text, n);
	pthread_mutex_unlock(&s->lock);
	return copy;
}

enum fw_code fw_symbols_create(const struct fw_symbol_options *options, struct fw_symbols **ret,
			       struct fw_error *err)
{
	const char *why;
	struct fw_symbols *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	fw_arena_init(&s->arena, 0);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->open_lock, NULL);
	s->no_memory.status = FW_SYMBOLS_CORRUPT;
	strcpy(s->no_memory.message, "out of memory");
	s->roots = fw_arena_array(&s->arena, options->num_paths + 1, sizeof(*s->roots));
	for (size_t i = 0; s->roots && i < options->num_paths; i++) {
		const char *path = options->paths[i];
		if (strcmp(path, "-") == 0)	// elsewhere this means standard input
			path = "./-";
		size_t n = strlen(path);
		while (n > 1 && path[n - 1] == '/' && path[n - 2] != '/')
			n--;
		path = keep(s, path, n);
		if (path == NULL)
			break;
		fw_root_init(&s->roots[s->num_roots++], path);
	}
	const char *sysroot = options->sysroot ? options->sysroot : "";
	size_t sysroot_n = strlen(sysroot);
	while (sysroot_n > 0 && sysroot[sysroot_n - 1] == '/')
		sysroot_n--;
	s->sysroot = keep(s, sysroot, sysroot_n);
	s->sysroot_given = options->sysroot != NULL;
	s->raw_names = options->raw_names;
	s->details = options->details;
	s->lazy = options->lazy;
	if (s->num_roots < options->num_paths || s->sysroot == NULL) {
		fw_symbols_destroy(s);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	if (options->cache_dir)
		s->cache = fw_cache_open(options->cache_dir, options->cache_size, &why);
	*ret = s;
	return FW_OK;
}

void fw_symbols_destroy(struct fw_symbols *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < NUM_BUCKETS; i++) {
		for (struct entry *e = s->buckets[i]; e; e = e->next) {
			fw_elf_close(e->elf);
			free(e->source.path);
			fw_elf_set_clear(&e->files);
			fw_refusal_clear(&e->search.refusal);
			pthread_mutex_destroy(&e->lock);
		}
	}
	for (size_t i = 0; i < s->lazy_modules.count; i++)
		fw_lazy_module_close(s->lazy_modules.data[i]);
	fw_vec_deinit(&s->lazy_modules);
	for (size_t i = 0; i < s->images.count; i++)
		fw_image_destroy(s->images.data[i]);
	for (size_t i = 0; i < s->num_roots; i++)
		fw_root_deinit(&s->roots[i]);
	fw_vec_deinit(&s->images);
	fw_cache_close(s->cache);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->open_lock);
	fw_arena_deinit(&s->arena);
	free(s);
}

// ---- entries ----

/** A name from a capture that may become a path component: base name, or "" when unfit. */
static struct fw_str component(struct fw_str path)
{
	struct fw_str name = fw_base_name(path);
	if (name.n == 0 || name.n > 255 || memchr(name.s, '\0', name.n) ||
	    (name.n == 1 && name.s[0] == '.') ||
	    (name.n == 2 && name.s[0] == '.' && name.s[1] == '.'))
		return (struct fw_str){ "", 0 };
	return name;
}

static uint64_t key_hash(const struct fw_symbol_key *key, struct fw_str name)
{
	uint64_t h = fw_block_hash(name.s, name.n, (uint64_t)key->cpu);
	return fw_block_hash(key->debug_id->text, key->debug_id->n, h);
}

static bool same_entry(const struct entry *e, uint64_t hash, const struct fw_symbol_key *key,
		       struct fw_str name)
{
	return e->hash == hash && e->wanted.cpu == key->cpu &&
	       fw_ident_equal(&e->wanted.id, key->debug_id) &&
	       strlen(e->wanted.name) == name.n && memcmp(e->wanted.name, name.s, name.n) == 0;
}

static struct entry *new_entry(struct fw_symbols *s, const struct fw_symbol_key *key,
			       struct fw_str name)
{
	struct entry *e = fw_arena_array(&s->arena, 1, sizeof(*e));
	struct fw_str code = key->code_file;
	if (e == NULL)
		return NULL;
	e->wanted.id = *key->debug_id;
	e->wanted.cpu = key->cpu;
	e->wanted.name = fw_arena_strndup(&s->arena, name.s, name.n);
	if (code.n == 0 || code.n >= FW_MAX_NAME || memchr(code.s, '\0', code.n))
		e->wanted.code_file = "";
	else
		e->wanted.code_file = fw_arena_strndup(&s->arena, code.s, code.n);
	if (e->wanted.name == NULL || e->wanted.code_file == NULL)
		return NULL;
	pthread_mutex_init(&e->lock, NULL);
	e->search = (struct fw_search){ .roots = s->roots, .num_roots = s->num_roots,
					.cache = s->cache, .wanted = &e->wanted };
	return e;
}

/** The key's entry, made when new; NULL: no memory. */
static struct entry *entry_of(struct fw_symbols *s, const struct fw_symbol_key *key)
{
	struct fw_str name = component(key->debug_file.n ? key->debug_file : key->code_file);
	uint64_t hash = key_hash(key, name);
	struct entry **bucket = &s->buckets[hash % NUM_BUCKETS];
	pthread_mutex_lock(&s->lock);
	struct entry *e = *bucket;
	while (e && !same_entry(e, hash, key, name))
		e = e->next;
	if (e == NULL && (e = new_entry(s, key, name)) != NULL) {
		e->hash = hash;
		e->next = *bucket;
		*bucket = e;
	}
	pthread_mutex_unlock(&s->lock);
	return e;
}

static bool searchable(const struct fw_symbol_key *key)
{
	return key->debug_id && key->debug_id->n > 0;
}

static const struct fw_symbol_file *new_record(struct fw_symbols *s,
					       const struct fw_symbol_file *from)
{
	pthread_mutex_lock(&s->lock);
	struct fw_symbol_file *r = fw_arena_alloc(&s->arena, sizeof(*r));
	if (r) {
		*r = *from;
		if (from->path)
			r->path = fw_arena_strndup(&s->arena, from->path, strlen(from->path));
	}
	pthread_mutex_unlock(&s->lock);
	return r ? r : &s->no_memory;
}

static const struct fw_symbol_file *refusal_record(struct fw_symbols *s, const struct entry *e)
{
	const struct fw_refusal *why = &e->search.refusal;
	struct fw_symbol_file r = { .status = why->status, .path = why->path,
				    .found_id = why->found_id };
	memcpy(r.message, why->message, sizeof(r.message));
	return new_record(s, &r);
}

// ---- compiling ----

/** The image belongs to @p s from now on; false (and destroyed): no memory. */
static bool adopt(struct fw_symbols *s, struct fw_image *image)
{
	pthread_mutex_lock(&s->lock);
	bool ok = fw_vec_push(&s->images, image);
	pthread_mutex_unlock(&s->lock);
	if (!ok)
		fw_image_destroy(image);
	return ok;
}

/**
 * Time stamps move in steps of a few milliseconds: a file that changed just now
 * could change again and look the same. Read it when that is over.
 */
static void let_settle(const struct fw_cache_key *key)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t age = now.tv_sec * INT64_C(1000000000) + now.tv_nsec - key->ctime_ns;
	if (age < 0 || age >= YOUNG_NS)
		return;
	struct timespec rest = { .tv_nsec = (long)(YOUNG_NS - age) };
	nanosleep(&rest, NULL);
}

static bool same_file(const struct fw_cache_key *a, const struct fw_cache_key *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static enum fw_code compile(struct fw_symbols *s, const char *path, struct fw_cache_key *key,
			    struct fw_image **ret, struct fw_error *err)
{
	struct fw_file file;
	struct fw_image *image;
	if (s->cache)
		let_settle(key);
	enum fw_code code = fw_file_open(&file, path, FW_MAX_INPUT, err);
	if (code != FW_OK)
		return code;
	struct fw_cache_key read = { key->debug_id, file.dev, file.ino, file.disk_size,
				     file.mtime_ns, file.ctime_ns };
	code = fw_sym_load(&file, &image, err);
	fw_file_close(&file);
	if (code != FW_OK)
		return code;
	if (image->debug_id.n && key->debug_id.n &&
	    !fw_ident_equal(&image->debug_id, &key->debug_id)) {
		fw_image_destroy(image);
		return fw_fail(err, FW_MALFORMED, NULL, "it changed while it was read");
	}
	struct fw_cache_key now = *key;
	if (s->cache && same_file(&read, key) && fw_cache_key_of(path, &now) &&
	    same_file(&now, key))
		fw_cache_put(s->cache, key, image);
	*ret = image;
	return FW_OK;
}

/**
 * Image of a source: from the cache, else compiled while others that need it
 * wait. @p fresh: the cached one was damaged.
 */
static enum fw_code obtain(struct fw_symbols *s, struct fw_source *src, bool fresh,
			   struct fw_image **ret, bool *from_cache, struct fw_error *err)
{
	struct fw_image *image = src->image;
	struct fw_cache_lock *lock = NULL;
	enum fw_code code = FW_OK;
	src->image = NULL;
	if (image == NULL && !fresh)
		image = fw_cache_get(s->cache, &src->key);
	if (image == NULL) {
		lock = fw_cache_lock(s->cache, &src->key);
		if (!fresh)
			image = fw_cache_get(s->cache, &src->key);
	}
	*from_cache = image != NULL;
	if (image == NULL)
		code = compile(s, src->path, &src->key, &image, err);
	fw_cache_unlock(lock);
	if (code == FW_OK && !adopt(s, image))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	if (code == FW_OK)
		*ret = image;
	return code;
}

static struct fw_elf_places places_of(const struct fw_symbols *s)
{
	return (struct fw_elf_places){ s->roots, s->num_roots, s->sysroot, s->cache };
}

static enum fw_code compile_elf(struct fw_symbols *s, struct fw_elf_set *files,
				struct fw_image **ret, char (*note)[256], struct fw_error *err)
{
	struct fw_loader_request q = fw_elf_set_request(files);
	struct fw_elf_set now = *files;
	struct fw_image *image;
	if (s->cache)
		let_settle(&files->key);
	enum fw_code code = fw_loader_compile_either(&q, &image, *note, sizeof(*note), err);
	if (code != FW_OK)
		return code;
	if (files->key.debug_id.n && !fw_ident_equal(&image->debug_id, &files->key.debug_id)) {
		fw_image_destroy(image);
		return fw_fail(err, FW_MALFORMED, NULL, "it changed while it was read");
	}
	fw_elf_set_key(&now);
	// what lacks its debug file is not kept: another run may have more luck
	if (s->cache && !(*note)[0] && same_file(&now.key, &files->key))
		fw_cache_put(s->cache, &files->key, image);
	*ret = image;
	return FW_OK;
}

/** As obtain(), of ELF files. */
static enum fw_code obtain_elf(struct fw_symbols *s, struct fw_elf_set *files, bool fresh,
			       struct fw_symbol_file *ret, struct fw_error *err)
{
	enum fw_code code = FW_OK;
	struct fw_cache_lock *lock = NULL;
	struct fw_image *image = fresh ? NULL : fw_cache_get(s->cache, &files->key);
	if (image == NULL) {
		lock = fw_cache_lock(s->cache, &files->key);
		if (!fresh)
			image = fw_cache_get(s->cache, &files->key);
	}
	ret->from_cache = image != NULL;
	if (image == NULL)
		code = compile_elf(s, files, &image, &ret->message, err);
	fw_cache_unlock(lock);
	if (code == FW_OK && !adopt(s, image))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	if (code == FW_OK)
		ret->image = image;
	return code;
}

// ---- lazily ----

static enum fw_code compile_whole(void *context, const struct fw_image **ret,
				  struct fw_error *err)
{
	struct fw_lazy_module *m = context;
	struct fw_symbol_file file = { .status = FW_SYMBOLS_LOADED };
	enum fw_code code = obtain_elf(m->context, &m->files, false, &file, err);
	if (code == FW_OK)
		*ret = file.image;
	return code;
}

static enum fw_code obtain_lazily(struct fw_symbols *s, const struct fw_elf_set *files,
				  struct fw_symbol_file *ret, struct fw_error *err)
{
	const bool always = s->lazy == FW_LAZY_ALWAYS;
	const struct fw_lazy_whole whole = { compile_whole, NULL,
					     always ? SIZE_MAX : FW_MAX_LAZY_ANSWERS,
					     always ? SIZE_MAX : FW_MAX_LAZY_QUESTIONS };
	struct fw_lazy_module *m;
	struct fw_image *image;
	enum fw_code code = fw_lazy_module_open(files, &whole, s, &m, &image, err);
	if (code != FW_OK)
		return code;
	pthread_mutex_lock(&s->lock);
	bool ok = fw_vec_push(&s->lazy_modules, m);
	pthread_mutex_unlock(&s->lock);
	if (!ok)
		fw_lazy_module_close(m);
	if (!adopt(s, image) || !ok)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	ret->image = image;
	ret->lazy = m->lazy;
	ret->rules_elf = m->rules_elf;
	ret->rules_debug = m->rules_debug;
	return FW_OK;
}

/** ELF files by whichever way is due. */
static enum fw_code obtain_either(struct fw_symbols *s, struct fw_elf_set *files, bool fresh,
				  struct fw_symbol_file *ret, struct fw_error *err)
{
	if (!fresh && fw_lazy_wanted(s->lazy, s->cache, files))
		return obtain_lazily(s, files, ret, err);
	return obtain_elf(s, files, fresh, ret, err);
}

// ---- looking and loading ----

static bool find_elf(struct fw_symbols *s, struct entry *e)
{
	const struct fw_elf_places places = places_of(s);
	if (!e->elf_searched)
		fw_elf_find(&places, &e->wanted, &e->search, &e->files);
	e->elf_searched = true;
	return e->files.elf != NULL || e->files.debug != NULL;
}

static bool find_debug(struct fw_symbols *s, struct entry *e)
{
	const struct fw_elf_places places = places_of(s);
	if (!find_elf(s, e) || (!e->debug_searched && !fw_elf_find_debug(&places, &e->files)))
		return false;
	e->debug_searched = true;
	return true;
}

/**
 * The first -s path wins. An ELF file counts by its source lines: a stripped one in
 * an earlier path is there for its rules and bytes, and hides no symbol file.
 */
static bool elf_is_first(struct fw_symbols *s, struct entry *e)
{
	const struct fw_elf_places places = places_of(s);
	return e->search.root > 0 && find_elf(s, e) && e->files.elf != NULL && find_debug(s, e) &&
	       fw_elf_set_root(&places, &e->files) < e->search.root;
}

/** What a module without any file is said to be. */
static const struct fw_symbol_file *nothing_found(struct fw_symbols *s, const struct entry *e)
{
	if (s->num_roots == 0 && !s->sysroot_given && e->search.refusal.status ==
	    FW_SYMBOLS_MISSING)
		return &s->not_searched;
	return refusal_record(s, e);
}

/**
 * The next candidate into e->source; false: none. The first time also the
 * answer to look-ups, which must not depend on who loads what meanwhile.
 */
static bool advance(struct fw_symbols *s, struct entry *e)
{
	bool found = fw_search_next(&e->search, &e->source);
	if (e->looked == NULL) {
		struct fw_symbol_file r = { .status = FW_SYMBOLS_FOUND, .path = e->source.path };
		e->elf_first = found && elf_is_first(s, e);
		if (e->elf_first || (!found && find_elf(s, e)))
			r.path = e->files.elf ? e->files.elf : e->files.debug;
		e->looked = r.path ? new_record(s, &r) : nothing_found(s, e);
	}
	return found;
}

static const struct fw_symbol_file *load_source(struct fw_symbols *s, struct entry *e, bool fresh)
{
	struct fw_error err;
	struct fw_image *image;
	struct fw_symbol_file r = { .status = FW_SYMBOLS_LOADED, .path = e->source.path };
	if (obtain(s, &e->source, fresh, &image, &r.from_cache, &err) != FW_OK) {
		fw_search_refuse(&e->search, FW_SYMBOLS_CORRUPT, e->source.path, NULL, "%s%s%s",
				 err.place, err.place[0] ? ": " : "", err.message);
		return NULL;
	}
	if (!fw_search_cpu_fits(&e->search, e->source.path, image->cpu))
		return NULL;
	r.image = image;
	return new_record(s, &r);
}

/** From the module's ELF files, in a process of its own; NULL: refused. */
static const struct fw_symbol_file *load_elf(struct fw_symbols *s, struct entry *e, bool fresh)
{
	struct fw_error err;
	struct fw_symbol_file r = { .status = FW_SYMBOLS_LOADED };
	if (!find_debug(s, e))
		return NULL;
	r.path = e->files.elf;
	if (obtain_either(s, &e->files, fresh, &r, &err) != FW_OK) {
		fw_search_refuse(&e->search, FW_SYMBOLS_CORRUPT, r.path, NULL, "%s%s%s",
				 err.place, err.place[0] ? ": " : "", err.message);
		return NULL;
	}
	if (!fw_search_cpu_fits(&e->search, r.path, r.image->cpu))
		return NULL;
	e->from_elf = true;
	if (r.message[0] == '\0')
		strcpy(r.message, e->files.damage);
	return new_record(s, &r);
}

static const struct fw_symbol_file *load(struct fw_symbols *s, struct entry *e)
{
	const struct fw_symbol_file *r = NULL;
	e->search.ask_cache = true;
	while (r == NULL) {
		bool found = e->source.path != NULL || advance(s, e);
		if (!found || e->elf_first)
			r = load_elf(s, e, false);
		if (!found)
			return r ? r : nothing_found(s, e);
		e->elf_first = false;
		if (r == NULL)
			r = load_source(s, e, false);
		if (r == NULL) {
			free(e->source.path);
			e->source.path = NULL;
		}
	}
	return r;
}

const struct fw_symbol_file *fw_symbols_look_up(struct fw_symbols *s,
						const struct fw_symbol_key *key)
{
	if (!searchable(key))
		return &s->not_searched;
	struct entry *e = entry_of(s, key);
	if (e == NULL)
		return &s->no_memory;
	pthread_mutex_lock(&e->lock);
	if (e->looked == NULL)
		advance(s, e);
	const struct fw_symbol_file *r = e->looked;
	pthread_mutex_unlock(&e->lock);
	return r;
}

const struct fw_symbol_file *fw_symbols_load(struct fw_symbols *s, const struct fw_symbol_key *key)
{
	if (!searchable(key))
		return &s->not_searched;
	struct entry *e = entry_of(s, key);
	if (e == NULL)
		return &s->no_memory;
	pthread_mutex_lock(&e->lock);
	if (e->loaded == NULL)
		e->loaded = e->looked && e->looked->status != FW_SYMBOLS_FOUND ? e->looked
									       : load(s, e);
	const struct fw_symbol_file *r = e->loaded;
	pthread_mutex_unlock(&e->lock);
	return r;
}

const struct fw_symbol_file *fw_symbols_reload(struct fw_symbols *s,
					       const struct fw_symbol_key *key)
{
	const struct fw_symbol_file *r = fw_symbols_load(s, key);
	if (r->image == NULL)
		return r;
	struct entry *e = entry_of(s, key);
	if (e == NULL)
		return &s->no_memory;
	pthread_mutex_lock(&e->lock);
	// Another thread that saw the same damage may have been here before.
	r = e->loaded;
	if (r->image && atomic_load(&r->image->corrupt)) {
		fw_cache_remove(s->cache, e->from_elf ? &e->files.key : &e->source.key);
		r = e->from_elf ? load_elf(s, e, true) : load_source(s, e, true);
		e->loaded = r ? r : refusal_record(s, e);
	}
	r = e->loaded;
	pthread_mutex_unlock(&e->lock);
	return r;
}

const struct fw_elf *fw_symbols_elf(struct fw_symbols *s, const struct fw_symbol_key *key)
{
	struct entry *e = searchable(key) ? entry_of(s, key) : NULL;
	if (e == NULL)
		return NULL;
	pthread_mutex_lock(&e->lock);
	if (!e->elf_opened && find_elf(s, e) && e->files.elf != NULL &&
	    fw_elf_open(e->files.elf, &e->elf, NULL) == FW_OK &&
	    (!fw_elf_has_code(e->elf) || !fw_ident_equal(fw_elf_debug_id(e->elf), &e->wanted.id))) {
		fw_elf_close(e->elf);
		e->elf = NULL;
	}
	e->elf_opened = true;
	const struct fw_elf *elf = e->elf;
	pthread_mutex_unlock(&e->lock);
	return elf;
}

char *fw_symbols_recorded(const struct fw_symbols *s, struct fw_str path)
{
	char *ret;
	return asprintf(&ret, "%s%.*s", s->sysroot, (int)path.n, path.s) < 0 ? NULL : ret;
}

char *fw_symbols_below(const struct fw_symbols *s, const char *relative)
{
	for (size_t i = 0; i < s->num_roots; i++) {
		struct stat st;
		char *path;
		if (asprintf(&path, "%s/%s", s->roots[i].path, relative) < 0)
			return NULL;
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return path;
		free(path);
	}
	return NULL;
}

// ---- one file by path ----

static enum fw_code open_elf_file(struct fw_symbols *s, const char *path, bool fresh, bool lazily,
				  struct fw_symbol_file *ret, struct fw_error *err)
{
	const struct fw_elf_places places = places_of(s);
	struct fw_elf_set files = { .elf = strdup(path), .raw_names = s->raw_names,
				    .details = s->details };
	enum fw_code code;
	if (!fw_elf_find_debug(&places, &files)) {
		code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	} else {
		if (fresh)
			fw_cache_remove(s->cache, &files.key);
		code = lazily ? obtain_either(s, &files, fresh, ret, err) :
				obtain_elf(s, &files, fresh, ret, err);
	}
	fw_elf_set_clear(&files);
	return code;
}

static enum fw_code open_file(struct fw_symbols *s, const char *path, bool fresh, bool lazily,
			      struct fw_symbol_file *ret, struct fw_error *err)
{
	struct fw_source src = { .path = (char *)path };
	struct fw_sym_head head;
	struct fw_image *image;
	enum fw_code code;
	if (!fw_cache_key_of(path, &src.key)) {
		// Standard input, or something whose reading says what is wrong.
		src.key = (struct fw_cache_key){ 0 };
		code = compile(s, path, &src.key, &image, err);
		if (code == FW_OK && !adopt(s, image))
			return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
		if (code == FW_OK)
			ret->image = image;
		return code;
	}
	code = fw_sym_peek(path, &head, err);
	if (code != FW_OK)
		return code;
	if (head.kind == FW_INDEX_ELF || head.elf)
		return open_elf_file(s, path, fresh, lazily, ret, err);
	if (head.has_module)
		src.key.debug_id = head.id;
	if (fresh)
		fw_cache_remove(s->cache, &src.key);
	code = obtain(s, &src, fresh, &image, &ret->from_cache, err);
	if (code == FW_OK)
		ret->image = image;
	return code;
}

static struct opened *remember_opened(struct fw_symbols *s, const char *path,
				      const struct fw_symbol_file *file)
{
	const struct fw_symbol_file *copy = new_record(s, file);
	char *name = keep(s, path, strlen(path));
	pthread_mutex_lock(&s->lock);
	struct opened *o = name ? fw_arena_alloc(&s->arena, sizeof(*o)) : NULL;
	pthread_mutex_unlock(&s->lock);
	if (o == NULL || copy == &s->no_memory)
		return NULL;
	*o = (struct opened){ s->opened, name, copy };
	s->opened = o;
	return o;
}

static enum fw_code open_once(struct fw_symbols *s, const char *path, bool lazily,
			      const struct fw_symbol_file **ret, struct fw_error *err)
{
	enum fw_code code = FW_OK;
	struct fw_symbol_file file = { .status = FW_SYMBOLS_LOADED, .path = path };
	pthread_mutex_lock(&s->open_lock);
	struct opened *o = s->opened;
	while (o && (strcmp(o->path, path) != 0 || (o->file->lazy && !lazily)))
		o = o->next;
	bool broken = o && atomic_load(&o->file->image->corrupt);
	if (o == NULL || broken) {
		code = open_file(s, path, broken, lazily, &file, err);
		o = code == FW_OK ? remember_opened(s, path, &file) : NULL;
		if (code == FW_OK && o == NULL)
			code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	if (code == FW_OK)
		*ret = o->file;
	pthread_mutex_unlock(&s->open_lock);
	return code;
}

enum fw_code fw_symbols_open_file(struct fw_symbols *s, const char *path,
				  const struct fw_image **ret, struct fw_error *err)
{
	const struct fw_symbol_file *file;
	enum fw_code code = open_once(s, path, false, &file, err);
	if (code == FW_OK)
		*ret = file->image;
	return code;
}

enum fw_code fw_symbols_open_names(struct fw_symbols *s, const char *path,
				   const struct fw_symbol_file **ret, struct fw_error *err)
{
	return open_once(s, path, true, ret, err);
}

bool fw_symbols_each_elf(struct fw_symbols *s, bool (*each)(void *context, const char *path),
			 void *context)
{
	for (size_t i = 0; i < s->num_roots; i++) {
		struct fw_root *root = &s->roots[i];
		struct fw_index_hit hit;
		fw_root_examine(root, s->cache);
		if (root->kind == FW_ROOT_FILE && root->head.kind == FW_INDEX_ELF &&
		    each(context, root->path))
			return true;
		for (uint32_t n = 0; root->index && fw_index_nth(root->index, FW_INDEX_ELF, n, &hit);
		     n++) {
			char *path;
			if (asprintf(&path, "%s/%s", root->path, hit.path) < 0)
				return false;
			bool done = each(context, path);
			free(path);
			if (done)
				return true;
		}
	}
	return false;
}
