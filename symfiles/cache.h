#ifndef FW_SYMFILES_CACHE_H
#define FW_SYMFILES_CACHE_H

#include "lib/image/image.h"

/**
 * Compiled images on disk: DIR/v<format>/<id>-<hash of dev, ino, size, mtime,
 * ctime>.img; locks are bytes of DIR/CACHEDIR.TAG. Directory
 * 0700, files 0600; a directory that is not ours or that others may write is
 * refused. Whatever goes wrong costs speed, never the answer: these functions
 * have no error a user must see.
 */
struct fw_cache;

/** @p dir is created with its parents. NULL when it cannot be used; *ret_why then
 *  is a constant sentence for the log. */
struct fw_cache *fw_cache_open(const char *dir, uint64_t cap_bytes, const char **ret_why);
void fw_cache_close(struct fw_cache *c);

/** Identity of a source file in the cache. */
struct fw_cache_key {
	struct fw_ident debug_id;
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};

/** Map a stored image and touch its mtime; NULL: none, or damaged and now removed. */
struct fw_image *fw_cache_get(struct fw_cache *c, const struct fw_cache_key *key);

/**
 * Take the compile lock of a key: at most 60 s behind another process. Returns
 * a lock (also when locking does not work here: compile privately), to be
 * given to fw_cache_unlock. After waiting, ask fw_cache_get again.
 */
struct fw_cache_lock *fw_cache_lock(struct fw_cache *c, const struct fw_cache_key *key);
void fw_cache_unlock(struct fw_cache_lock *lock);

/** Write an image: it appears whole or not at all. Evicts down to the cap, now or at close. */
void fw_cache_put(struct fw_cache *c, const struct fw_cache_key *key, const struct fw_image *image);
void fw_cache_remove(struct fw_cache *c, const struct fw_cache_key *key);

/** Small named blobs (the folder index). get: malloc'd bytes the caller frees, or NULL. */
void *fw_cache_get_blob(struct fw_cache *c, const char *name, uint64_t *ret_size);
void fw_cache_put_blob(struct fw_cache *c, const char *name, const void *data, uint64_t size);

#endif
