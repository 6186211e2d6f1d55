#include "symfiles/elf_search.h"

#include <elf.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "lib/base/file.h"
#include "lib/image/block.h"
#include "symfiles/elf_internal.h"

// Goes into the cache's key: to be raised when the same files compile to something else.
enum { COMPILER_VERSION = 3 };

struct path { char s[PATH_MAX]; };

__attribute__((format(printf, 2, 3)))
static bool path_print(struct path *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(p->s, sizeof(p->s), format, args);
	va_end(args);
	return n >= 0 && (size_t)n < sizeof(p->s);
}

static bool keep(char **to, const char *path)
{
	*to = strdup(path);
	return *to != NULL;
}

void fw_elf_set_clear(struct fw_elf_set *set)
{
	free(set->elf);
	free(set->debug);
	free(set->alt);
	*set = (struct fw_elf_set){ 0 };
}

// ---- the file itself ----

struct finder {
	const struct fw_elf_places *places;
	const struct fw_wanted *w;
	struct fw_search *q;
	struct fw_elf_set *set;
};

static bool has_section(const struct fw_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		if (sh->type != SHT_NOBITS && ((sh->name.n == strlen(name) &&
		    memcmp(sh->name.s, name, sh->name.n) == 0) || fw_elf_is_zdebug(sh->name, name)))
			return true;
	}
	return false;
}

static void refuse_id(struct finder *f, const char *path, const struct fw_ident *found)
{
	if (f->q != NULL)
		fw_search_refuse(f->q, FW_SYMBOLS_MISMATCH, path, found,
				 "its build id gives id %s, the module has id %s",
				 found->n ? found->text : "(none)", f->w->id.text);
}

static void refuse_error(struct finder *f, const char *path, const struct fw_error *err)
{
	if (f->q != NULL)
		fw_search_refuse(f->q, FW_SYMBOLS_CORRUPT, path, NULL, "%s%s%s", err->place,
				 err->place[0] ? ": " : "", err->message);
}

/** A file at a place where the module's own is looked for cannot be it: why. */
static void refuse_odd(struct finder *f, const char *path, const struct fw_sym_head *head,
		       const struct fw_error *peek)
{
	struct fw_cache_key key;
	struct fw_elf *elf;
	struct fw_error err = *peek;
	if (!fw_cache_key_of(path, &key) || head->kind == FW_INDEX_SYM)
		return;
	if (err.code == FW_OK && !head->elf) {
		(void)fw_fail(&err, FW_UNSUPPORTED, NULL, "not an ELF file");
	} else if (err.code == FW_OK && fw_elf_open_head(path, &elf, &err) == FW_OK) {
		(void)fw_fail(&err, FW_MALFORMED, NULL, "it has no build id and no code that one "
			      "could be made of");
		fw_elf_close(elf);
	}
	refuse_error(f, path, &err);
}

/** What a file with the wanted id is good for; true: it has the code. */
static bool take_opened(struct finder *f, const char *path, const struct fw_elf *elf)
{
	if (fw_elf_has_code(elf))
		return keep(&f->set->elf, path);
	if (!has_section(elf, ".debug_info") && !has_section(elf, ".symtab")) {
		struct fw_error err;
		(void)fw_fail(&err, FW_MALFORMED, NULL, "it has the module's id, but neither code "
			      "nor debug information nor symbols");
		refuse_error(f, path, &err);
	} else if (f->set->debug == NULL) {
		keep(&f->set->debug, path);
	}
	return false;
}

/** Take the file if it has the id. True when it is the one with code: the search ends. */
static bool take(struct finder *f, const char *path, bool tell)
{
	struct fw_sym_head head = { 0 };
	struct fw_error err = { .code = FW_OK };
	struct fw_elf *elf;
	bool done = false;
	if (fw_sym_peek(path, &head, &err) != FW_OK || head.kind != FW_INDEX_ELF) {
		if (tell)
			refuse_odd(f, path, &head, &err);
		return false;
	}
	if (!fw_ident_equal(&head.id, &f->w->id)) {
		if (tell)
			refuse_id(f, path, &head.id);
		return false;
	}
	if (fw_elf_open_head(path, &elf, &err) != FW_OK) {
		refuse_error(f, path, &err);
		return false;
	}
	if (fw_ident_equal(fw_elf_debug_id(elf), &f->w->id))
		done = take_opened(f, path, elf);
	else
		refuse_id(f, path, fw_elf_debug_id(elf));
	fw_elf_close(elf);
	return done;
}

/** A recorded path below a root, unless it would leave it. */
static bool stays_below(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n == 2 && path[0] == '.' && path[1] == '.')
			return false;
		path += n;
		path += strspn(path, "/");
	}
	return true;
}

/** Bytes of a library's name before its version: "libc" of libc.so.6 and libc-2.36.so. */
static size_t stem_of(const char *name)
{
	size_t n = strcspn(name, ".");
	const char *dash = memchr(name, '-', n);
	while (dash != NULL && !(dash[1] >= '0' && dash[1] <= '9'))
		dash = memchr(dash + 1, '-', n - (size_t)(dash + 1 - name));
	return dash == NULL ? n : (size_t)(dash - name);
}

/**
 * A library is recorded by its full version's name; a root that was copied has it
 * by its soname perhaps. The id decides among the few of the same stem.
 */
static bool take_renamed(struct finder *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t stem = stem_of(slash + 1);
	struct path dir, p;
	unsigned left = FW_MAX_RENAMED;
	bool done = false;
	if (stem < 4 || strstr(slash, ".so") == NULL ||
	    !path_print(&dir, "%.*s", (int)(slash - path), path))
		return false;
	DIR *d = opendir(dir.s);
	for (struct dirent *e; d != NULL && !done && left > 0 && (e = readdir(d)) != NULL;) {
		if (strncmp(e->d_name, slash + 1, stem) != 0 || stem_of(e->d_name) != stem ||
		    strstr(e->d_name, ".so") == NULL || !path_print(&p, "%s/%s", dir.s, e->d_name))
			continue;
		left--;
		done = take(f, p.s, false);
	}
	if (d != NULL)
		closedir(d);
	return done;
}

/*
 * DIR/<recorded path>. Where /lib is a link to /usr/lib a path is recorded in either
 * way, and a root copied from elsewhere may have the other.
 */
static bool take_recorded(struct finder *f, const char *dir, bool tell)
{
	static const char deleted[] = " (deleted)", usr[] = "usr/";
	const char *code = f->w->code_file + strspn(f->w->code_file, "/");
	struct path p, name;
	size_t n = strlen(code), cut = sizeof(deleted) - 1;
	if (n > cut && strcmp(code + n - cut, deleted) == 0)
		n -= cut;
	if (n == 0 || !path_print(&name, "%.*s", (int)n, code) || !stays_below(name.s))
		return false;
	if (path_print(&p, "%s/%s", dir, name.s) && take(f, p.s, tell))
		return true;
	if (tell && take_renamed(f, p.s))
		return true;
	bool below_usr = strncmp(name.s, usr, sizeof(usr) - 1) == 0;
	if (!(below_usr ? path_print(&p, "%s/%s", dir, name.s + sizeof(usr) - 1) :
			  path_print(&p, "%s/usr/%s", dir, name.s)))
		return false;
	return take(f, p.s, tell) || (tell && take_renamed(f, p.s));
}

/** The program interpreter's fixed places, whatever path it was mapped by. */
static bool take_interpreter(struct finder *f, const char *dir)
{
	static const char *const folders[] = { "lib64", "lib" };
	struct path p;
	if (strncmp(f->w->name, "ld", 2) != 0)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		if (path_print(&p, "%s/%s/%s", dir, folders[i], f->w->name) &&
		    take(f, p.s, false))
			return true;
	}
	return false;
}

static bool take_below(struct finder *f, struct fw_root *root)
{
	struct fw_index_hit hit;
	struct path p;
	if (take_recorded(f, root->path, false))
		return true;
	if (f->w->name[0] && path_print(&p, "%s/%s", root->path, f->w->name) && take(f, p.s, true))
		return true;
	fw_root_examine(root, f->places->cache);
	for (uint32_t nth = 0; root->index != NULL &&
	     fw_index_find(root->index, FW_INDEX_ELF, &f->w->id, nth, &hit); nth++) {
		if (path_print(&p, "%s/%s", root->path, hit.path) && take(f, p.s, false))
			return true;
	}
	return false;
}

bool fw_elf_find(const struct fw_elf_places *places, const struct fw_wanted *w,
		 struct fw_search *q, struct fw_elf_set *ret)
{
	struct finder f = { places, w, q, ret };
	for (size_t i = 0; i < places->num_roots && ret->elf == NULL; i++) {
		struct fw_root *root = &places->roots[i];
		if (root->kind == FW_ROOT_FOLDER)
			take_below(&f, root);
		else if (root->kind == FW_ROOT_FILE)
			take(&f, root->path, false);
	}
	if (ret->elf == NULL && places->sysroot != NULL &&
	    !take_recorded(&f, places->sysroot, places->sysroot[0] != '\0'))
		take_interpreter(&f, places->sysroot);
	return ret->elf != NULL || ret->debug != NULL;
}

// ---- its debug files ----

/** What a .gnu_debuglink or .gnu_debugaltlink says. */
struct link {
	char name[PATH_MAX];
	struct fw_bytes rest;		// behind the name: padding and CRC, or a build id
};

static bool read_link(struct fw_elf *elf, const char *section, struct link *ret)
{
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		struct fw_bytes b;
		if (sh->name.n != strlen(section) || memcmp(sh->name.s, section, sh->name.n) != 0 ||
		    (sh->flags & SHF_COMPRESSED) || !fw_elf_section_bytes(elf, i, &b))
			continue;
		size_t most = b.size < PATH_MAX ? b.size : PATH_MAX;
		const char *end = most == 0 ? NULL : memchr(b.data, 0, most);
		if (end == NULL || end == (const char *)b.data)
			return false;
		memcpy(ret->name, b.data, (size_t)(end - (const char *)b.data) + 1);
		uint64_t at = (uint64_t)(end - (const char *)b.data) + 1;
		return fw_bytes_range(&b, at, b.size - at, &ret->rest);
	}
	return false;
}

struct hunt {
	const struct fw_elf_places *places;
	struct fw_elf *elf;		// whose file is looked for
	const char *elf_path;
	const struct fw_ident *code_id;	// wanted build id; empty: the CRC decides
	bool check_crc;
	uint32_t crc;
	char **found;
};

static bool crc_fits(const char *path, uint32_t want)
{
	struct fw_file file;
	if (fw_file_open(&file, path, FW_MAX_INPUT, NULL) != FW_OK)
		return false;
	bool ok = libdeflate_crc32(0, file.data, file.size) == want;
	fw_file_close(&file);
	return ok;
}

/** True (and found) when the file is the one. Build ids decide where both have one. */
static bool try_file(struct hunt *h, const char *path)
{
	struct fw_elf *other;
	if (fw_elf_open_head(path, &other, NULL) != FW_OK)
		return false;
	bool fits = other->has_build_id && h->code_id->n > 0 ?
		    fw_ident_equal(&other->code_id, h->code_id) :
		    h->check_crc && crc_fits(path, h->crc);
	fw_elf_close(other);
	return fits && keep(h->found, path);
}

static bool try_build_id(struct hunt *h, const char *dir)
{
	struct path p;
	const char *id = h->code_id->text;
	return h->code_id->n > 2 &&
	       path_print(&p, "%s/.build-id/%.2s/%s.debug", dir, id, id + 2) && try_file(h, p.s);
}

static bool try_roots(struct hunt *h)
{
	struct path p;
	for (size_t i = 0; i < h->places->num_roots; i++) {
		struct fw_root *root = &h->places->roots[i];
		if (root->kind == FW_ROOT_FOLDER &&
		    (try_build_id(h, root->path) ||
		     (path_print(&p, "%s/usr/lib/debug", root->path) && try_build_id(h, p.s))))
			return true;
	}
	return h->places->sysroot != NULL &&
	       path_print(&p, "%s/usr/lib/debug", h->places->sysroot) && try_build_id(h, p.s);
}

/** By id among all files under -s, whatever they are called. */
static bool try_indexes(struct hunt *h, const struct fw_ident *debug_id)
{
	struct fw_index_hit hit;
	struct path p;
	for (size_t i = 0; i < h->places->num_roots; i++) {
		struct fw_root *root = &h->places->roots[i];
		fw_root_examine(root, h->places->cache);
		if (root->kind == FW_ROOT_FILE && root->head.kind == FW_INDEX_ELF &&
		    fw_ident_equal(&root->head.id, debug_id) &&
		    strcmp(root->path, h->elf_path) != 0 && try_file(h, root->path))
			return true;
		for (uint32_t nth = 0; root->index != NULL &&
		     fw_index_find(root->index, FW_INDEX_ELF, debug_id, nth, &hit); nth++) {
			if (path_print(&p, "%s/%s", root->path, hit.path) &&
			    strcmp(p.s, h->elf_path) != 0 && try_file(h, p.s))
				return true;
		}
	}
	return false;
}

/*
 * gdb manual, "Debugging Information in Separate Files": next to the program, in
 * .debug/ there, and under the global folder at the program's own path.
 */
static bool try_link(struct hunt *h, const char *name)
{
	const char *sysroot = h->places->sysroot, *slash = strrchr(h->elf_path, '/');
	const char *dir = h->elf_path;
	int n = slash == NULL ? 1 : (int)(slash - h->elf_path);
	struct path p;
	if (strchr(name, '/') != NULL || strcmp(name, "..") == 0)
		return false;
	if (slash == NULL)
		dir = ".";
	if ((path_print(&p, "%.*s/%s", n, dir, name) && strcmp(p.s, h->elf_path) != 0 &&
	     try_file(h, p.s)) ||
	    (path_print(&p, "%.*s/.debug/%s", n, dir, name) && try_file(h, p.s)))
		return true;
	if (sysroot != NULL && strncmp(dir, sysroot, strlen(sysroot)) == 0 &&
	    path_print(&p, "%s/usr/lib/debug%.*s/%s", sysroot, n - (int)strlen(sysroot),
		       dir + strlen(sysroot), name) && try_file(h, p.s))
		return true;
	for (size_t i = 0; i < h->places->num_roots; i++) {
		const struct fw_root *root = &h->places->roots[i];
		if (root->kind == FW_ROOT_FOLDER &&
		    path_print(&p, "%s/%s", root->path, name) && strcmp(p.s, h->elf_path) != 0 &&
		    try_file(h, p.s))
			return true;
	}
	return false;
}

static void find_separate(const struct fw_elf_places *places, struct fw_elf *elf,
			  struct fw_elf_set *set)
{
	static const struct fw_ident none;
	struct link link = { .name = "" };
	struct hunt h = { .places = places, .elf = elf, .elf_path = set->elf,
			  .code_id = elf->has_build_id ? &elf->code_id : &none,
			  .found = &set->debug };
	bool linked = read_link(elf, ".gnu_debuglink", &link);
	// the CRC is the section's last word
	h.check_crc = linked && link.rest.size >= 4 &&
		      fw_bytes_u32(&link.rest, link.rest.size - 4, &h.crc);
	if ((h.code_id->n > 0 && (try_roots(&h) || try_indexes(&h, &elf->debug_id))) ||
	    !linked || try_link(&h, link.name))
		return;
}

// dwz's shared file: by its own build id, at the recorded path or in .build-id trees.
static void find_alt(const struct fw_elf_places *places, struct fw_elf *elf, const char *elf_path,
		     struct fw_elf_set *set)
{
	struct link link;
	struct fw_ident id, debug_id;
	struct path p;
	const char *slash = strrchr(elf_path, '/'), *sysroot = places->sysroot;
	if (!read_link(elf, ".gnu_debugaltlink", &link) || link.rest.size == 0)
		return;
	fw_ident_code_from_build_id(&id, link.rest.data, link.rest.size);
	fw_ident_from_build_id(&debug_id, link.rest.data, link.rest.size);
	struct hunt h = { .places = places, .elf = elf, .elf_path = elf_path, .code_id = &id,
			  .found = &set->alt };
	if (link.name[0] == '/') {
		if (sysroot != NULL && path_print(&p, "%s%s", sysroot, link.name) &&
		    try_file(&h, p.s))
			return;
	} else if (path_print(&p, "%.*s/%s", slash ? (int)(slash - elf_path) : 1,
			      slash ? elf_path : ".", link.name) && try_file(&h, p.s)) {
		return;
	}
	if (!try_roots(&h))
		try_indexes(&h, &debug_id);
}

static bool is_below(const struct fw_root *root, const char *path)
{
	size_t n = strlen(root->path);
	if (strncmp(path, root->path, n) != 0)
		return false;
	return root->kind == FW_ROOT_FILE ? path[n] == '\0' :
	       root->kind == FW_ROOT_FOLDER && path[n] == '/';
}

size_t fw_elf_set_root(const struct fw_elf_places *places, const struct fw_elf_set *set)
{
	const char *const paths[] = { set->elf, set->debug };
	for (size_t i = 0; i < places->num_roots; i++) {
		for (unsigned k = 0; k < 2; k++) {
			struct fw_elf *elf;
			if (paths[k] == NULL || !is_below(&places->roots[i], paths[k]) ||
			    fw_elf_open_head(paths[k], &elf, NULL) != FW_OK)
				continue;
			bool described = has_section(elf, ".debug_info");
			fw_elf_close(elf);
			if (described)
				return i;
		}
	}
	return places->num_roots;
}

void fw_elf_set_key(struct fw_elf_set *set)
{
	const char *const paths[] = { set->elf, set->debug, set->alt };
	uint64_t h = COMPILER_VERSION << 2 | (uint64_t)set->details << 1 |
		     set->raw_names;
	set->key.dev = set->key.ino = set->key.size = 0;
	set->key.mtime_ns = set->key.ctime_ns = 0;
	for (unsigned i = 0; i < 3; i++) {
		struct fw_cache_key k = { 0 };
		if (paths[i] == NULL || !fw_cache_key_of(paths[i], &k))
			continue;
		uint64_t v[] = { i, k.dev, k.ino, k.size, (uint64_t)k.mtime_ns,
				 (uint64_t)k.ctime_ns };
		h = fw_block_hash(v, sizeof(v), h);
		if (k.ctime_ns > set->key.ctime_ns)
			set->key.ctime_ns = k.ctime_ns;	// the youngest: see let_settle()
	}
	set->key.ino = h;
}

static uint64_t compiled_bytes(const struct fw_elf *elf)
{
	// Names are demangled and rules run through: they take longer a byte.
	static const struct { const char *name; unsigned weight; } parts[] = {
		{ ".debug_info", 1 }, { ".debug_line", 1 }, { ".debug_str", 1 }, { ".symtab", 1 },
		{ ".strtab", 1 }, { ".dynstr", 4 }, { ".eh_frame", 4 },
	};
	uint64_t sum = 0, part;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (__builtin_mul_overflow(fw_elf_section_size(elf, parts[i].name),
					   parts[i].weight, &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			return UINT64_MAX / 2;
	return sum < UINT64_MAX / 2 ? sum : UINT64_MAX / 2;
}

/** The first file that is not whole, in words. */
static void note_damage(struct fw_elf_set *set, const struct fw_elf *elf, const char *kind)
{
	if (set->damage[0] != '\0' || elf->beyond == 0)
		return;
	snprintf(set->damage, sizeof(set->damage), "%s is cut short or damaged: its headers name "
		 "%" PRIu64 " bytes, it has %" PRIu64, kind, elf->needs, elf->bytes.size);
}

bool fw_elf_find_debug(const struct fw_elf_places *places, struct fw_elf_set *ret)
{
	struct fw_elf *elf = NULL, *debug = NULL;
	if (ret->elf == NULL) {		// only a debug file: it must do
		ret->elf = ret->debug;
		ret->debug = NULL;
	}
	if (ret->elf == NULL)
		return false;
	if (fw_elf_open_head(ret->elf, &elf, NULL) == FW_OK) {
		ret->key.debug_id = elf->debug_id;
		if (has_section(elf, ".debug_info")) {
			free(ret->debug);
			ret->debug = NULL;
		} else if (ret->debug == NULL) {
			find_separate(places, elf, ret);
		}
		find_alt(places, elf, ret->elf, ret);
	}
	ret->compiled_bytes = elf ? compiled_bytes(elf) : 0;
	if (elf != NULL)
		note_damage(ret, elf, "the file");
	if (ret->debug != NULL && fw_elf_open_head(ret->debug, &debug, NULL) == FW_OK) {
		if (ret->alt == NULL)
			find_alt(places, debug, ret->debug, ret);
		ret->compiled_bytes += compiled_bytes(debug);
		note_damage(ret, debug, "its debug file");
	}
	fw_elf_close(debug);
	fw_elf_close(elf);
	fw_elf_set_key(ret);
	return true;
}
