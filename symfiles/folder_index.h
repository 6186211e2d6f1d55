#ifndef FW_SYMFILES_FOLDER_INDEX_H
#define FW_SYMFILES_FOLDER_INDEX_H

#include "lib/base/text.h"
#include "lib/image/ident.h"
#include "symfiles/cache.h"

/**
 * What lies in a folder of any layout: each file's id by its own first 4 KiB,
 * whatever its name. Read only once built; any thread.
 */
struct fw_index;

enum fw_index_kind {
	FW_INDEX_NOTHING = 0,	// neither of the two
	FW_INDEX_SYM,		// a MODULE line, or a .sym without one in a store's place
	FW_INDEX_ELF,		// a program or library with an id
};

struct fw_index_hit {
	const char *path;	// below the root, no leading slash
	struct fw_ident id;
};

/**
 * Index the tree at @p root: at most FW_MAX_INDEX_DEPTH folders deep and
 * FW_MAX_INDEX_FILES entries; folders that are symbolic links and everything
 * that is no regular file are passed by, as is what cannot be read. The result
 * is kept in @p cache (may be NULL) and used again as far as no folder and no
 * file changed. NULL: no memory.
 */
struct fw_index *fw_index_open(const char *root, struct fw_cache *cache);
void fw_index_close(struct fw_index *x);

/** The @p nth file (from 0, in sorted path order) of that kind and id. */
bool fw_index_find(const struct fw_index *x, enum fw_index_kind kind, const struct fw_ident *id,
		   uint32_t nth, struct fw_index_hit *ret);
/** The @p nth symbol file whose MODULE line names that module (base name). */
bool fw_index_find_name(const struct fw_index *x, struct fw_str name, uint32_t nth,
			struct fw_index_hit *ret);

/** The @p nth file of a kind, whatever its id; false past the last. */
bool fw_index_nth(const struct fw_index *x, enum fw_index_kind kind, uint32_t nth,
		  struct fw_index_hit *ret);

/** True when a limit cut the tree short. */
bool fw_index_truncated(const struct fw_index *x);

#endif
