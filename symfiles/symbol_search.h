#ifndef FW_SYMFILES_SYMBOL_SEARCH_H
#define FW_SYMFILES_SYMBOL_SEARCH_H

#include <pthread.h>

#include "lib/base/arena.h"
#include "symfiles/cache.h"
#include "symfiles/folder_index.h"
#include "symfiles/symbols.h"

/*
 * The search order over the -s paths, for symbols.c: it yields one file after
 * another that claims to be the module's, and remembers why others were refused.
 */

/** What a file's first 4 KiB say of it. */
struct fw_sym_head {
	enum fw_index_kind kind;
	bool has_module;
	bool elf;			// it begins like an ELF file, with an id or without
	struct fw_ident id;		// of the MODULE line or of the ELF file
	enum fw_cpu_id cpu;
	char name[256];			// MODULE line's name, base only
};

/** One -s path. */
struct fw_root {
	const char *path;
	enum { FW_ROOT_NONE, FW_ROOT_FOLDER, FW_ROOT_FILE } kind;
	pthread_mutex_t lock;		// of what follows, until it is there
	bool examined;
	struct fw_index *index;		// of a folder
	struct fw_sym_head head;	// of a file
};

/** What is searched for. Strings live as long as the search. */
struct fw_wanted {
	struct fw_ident id;
	enum fw_cpu_id cpu;
	const char *name;		// base name, fit for a path component; "" when it is not
	const char *code_file;		// path as recorded, "" when unknown
};

/** A file that may be used. */
struct fw_source {
	char *path;			// malloc'd
	struct fw_cache_key key;
	struct fw_image *image;		// when the cache had it already
};

/** Why nothing was found, so far: the most telling file. */
struct fw_refusal {
	enum fw_symbol_status status;	// MISSING, MISMATCH or CORRUPT
	char *path;			// malloc'd
	struct fw_ident found_id;
	char message[256];
};

struct fw_search {
	struct fw_root *roots;
	size_t num_roots;
	struct fw_cache *cache;
	bool ask_cache;			// take a compiled image instead of looking into the file
	const struct fw_wanted *wanted;
	struct fw_refusal refusal;
	// where it stands
	size_t root;
	unsigned step;
	uint32_t nth;
	uint64_t last_dev, last_ino;	// of the file given last
};

/** Next file in search order; false at the end. @p ret's path is the caller's. */
bool fw_search_next(struct fw_search *q, struct fw_source *ret);
/** Note that @p path cannot be used: kept when it tells more than what is known. */
__attribute__((format(printf, 5, 6)))
void fw_search_refuse(struct fw_search *q, enum fw_symbol_status status, const char *path,
		      const struct fw_ident *found, const char *format, ...);
/** A file for another CPU is refused whatever its id. */
bool fw_search_cpu_fits(struct fw_search *q, const char *path, enum fw_cpu_id cpu);
void fw_refusal_clear(struct fw_refusal *r);

void fw_root_init(struct fw_root *root, const char *path);
void fw_root_deinit(struct fw_root *root);
/** Index a folder or look into a file, once for the whole run. Any thread. */
void fw_root_examine(struct fw_root *root, struct fw_cache *cache);

/** Look at a file's first 4 KiB (decompressed). */
FW_MUST_CHECK enum fw_code fw_sym_peek(const char *path, struct fw_sym_head *ret,
				       struct fw_error *err);
/** Id from a store's path, NAME/ID/FILE.sym[.gz|.zst]: false when it is not one. */
bool fw_ident_of_store_path(struct fw_ident *ret, const char *path);

/** False: no regular file there. Fills everything but the id. */
bool fw_cache_key_of(const char *path, struct fw_cache_key *ret);

#endif
