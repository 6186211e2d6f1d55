#ifndef FW_BASE_INTERN_H
#define FW_BASE_INTERN_H

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"

/**
 * String interning: bytes -> dense 32-bit id, in order of first appearance.
 * Open addressing over XXH3-64. The two arrays are an image's string sections
 * as they stand: string i is bytes.data[offsets.data[i] .. offsets.data[i + 1]).
 * Not thread safe; no global table: one per image under construction, one per
 * name space of a CPU.
 */
struct fw_intern {
	FW_VEC(char) bytes;
	FW_VEC(uint32_t) offsets;	// count() + 1 entries once anything was added
	uint64_t *slots;		// 32 hash bits above id + 1; 0 means free
	uint32_t mask;			// number of slots - 1
	uint64_t seed;			// of the hash: hostile strings must not be able to collide
};

#define FW_NO_STRING UINT32_MAX

void fw_intern_init(struct fw_intern *in);
void fw_intern_deinit(struct fw_intern *in);

/**
 * Id of the n bytes at s, adding them when new. The bytes are copied.
 * FW_NO_MEMORY, or FW_LIMIT past 4 GiB of bytes; the table stays valid.
 */
FW_MUST_CHECK enum fw_code fw_intern_add(struct fw_intern *in, const char *s,
					 size_t n, uint32_t *ret);
/** Id of a string already there, else FW_NO_STRING. */
uint32_t fw_intern_find(const struct fw_intern *in, const char *s, size_t n);

static inline uint32_t fw_intern_count(const struct fw_intern *in)
{
	return in->offsets.count ? (uint32_t)in->offsets.count - 1 : 0;
}

/** The string of an id below fw_intern_count(); valid until the next add. */
static inline struct fw_str fw_intern_get(const struct fw_intern *in, uint32_t id)
{
	uint32_t from = in->offsets.data[id];
	return (struct fw_str){ in->bytes.data + from, in->offsets.data[id + 1] - from };
}

/**
 * Free the hash table but keep the arrays, when no more strings will come;
 * an add or find after this one builds the table again (find: finds nothing).
 */
void fw_intern_seal(struct fw_intern *in);

#endif
