#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/base/arena.h"
#include "lib/base/intern.h"

enum { FIRST_SLOTS = 64 };

// A slot's home is its tag's low bits, so growing the table never hashes again.
static inline uint32_t tag_of(const struct fw_intern *in, const char *s, size_t n)
{
	return (uint32_t)(XXH3_64bits_withSeed(s, n, in->seed) >> 32);
}

/** Slot that holds the string, or the free one where it belongs. Never full: see grow(). */
static inline uint32_t probe(const struct fw_intern *in, const char *s, size_t n, uint32_t tag)
{
	uint32_t i = tag & in->mask;
	for (uint64_t slot; (slot = in->slots[i]) != 0; i = (i + 1) & in->mask) {
		if (slot >> 32 != tag)
			continue;
		const uint32_t *offset = in->offsets.data + (uint32_t)slot - 1;
		if (offset[1] - offset[0] != n)
			continue;
		if (n == 0 || memcmp(in->bytes.data + offset[0], s, n) == 0)
			break;
	}
	return i;
}

/**
 * A fixed seed would let a hostile file choose names that all collide (XXH3
 * multiplies input words, so one chosen word cancels its neighbour), and a load
 * take quadratic time. Ids do not depend on the seed.
 */
static uint64_t random_seed(void)
{
	uint64_t seed = 0;
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
	return seed;
}

void fw_intern_init(struct fw_intern *in)
{
	*in = (struct fw_intern){ .seed = random_seed() };
}

void fw_intern_deinit(struct fw_intern *in)
{
	fw_vec_deinit(&in->bytes);
	fw_vec_deinit(&in->offsets);
	fw_intern_seal(in);
}

void fw_intern_seal(struct fw_intern *in)
{
	free(in->slots);
	in->slots = NULL;
	in->mask = 0;
}

static void insert(uint64_t *slots, uint32_t mask, uint64_t slot)
{
	uint32_t i = (uint32_t)(slot >> 32) & mask;
	while (slots[i])
		i = (i + 1) & mask;
	slots[i] = slot;
}

/** Would one string more than @p count make the load exceed 0.7? */
static inline bool is_full(const struct fw_intern *in, uint32_t count)
{
	return ((uint64_t)count + 1) * 10 > ((uint64_t)in->mask + 1) * 7;
}

/** Make room for one string more. */
__attribute__((noinline))
static bool grow(struct fw_intern *in)
{
	uint64_t need = (uint64_t)fw_intern_count(in) + 1;
	uint64_t count = in->slots ? (uint64_t)in->mask + 1 : FIRST_SLOTS;
	while (need * 10 > count * 7)
		count *= 2;
	if (count > UINT64_C(1) << 32 || count > SIZE_MAX / sizeof(uint64_t) ||
	    fw_alloc_should_fail())
		return false;
	uint64_t *slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	uint32_t mask = (uint32_t)(count - 1);
	if (in->slots) {
		for (uint64_t i = 0; i <= in->mask; i++)
			if (in->slots[i])
				insert(slots, mask, in->slots[i]);
	} else {	// new, or sealed before
		for (uint32_t id = 0; id < fw_intern_count(in); id++) {
			struct fw_str s = fw_intern_get(in, id);
			uint64_t tag = tag_of(in, s.s, s.n);
			insert(slots, mask, tag << 32 | (id + 1));
		}
	}
	free(in->slots);
	in->slots = slots;
	in->mask = mask;
	return true;
}

/** @p at is the free slot where the string belongs, as long as the table does not grow. */
static inline enum fw_code add_new(struct fw_intern *in, const char *s, size_t n, uint32_t tag,
			    uint32_t at, uint32_t *ret)
{
	uint32_t id = fw_intern_count(in);
	uint64_t slot = (uint64_t)tag << 32 | (id + 1);
	if (n > UINT32_MAX - in->bytes.count || id >= FW_NO_STRING - 1)
		return FW_LIMIT;
	// All room first: nothing is undone when one of them fails. One byte at
	// least, so that bytes.data is never NULL.
	if (!fw_vec_reserve(&in->bytes, n + !n) || !fw_vec_reserve(&in->offsets, 2))
		return FW_NO_MEMORY;
	if (is_full(in, id)) {
		if (!grow(in))
			return FW_NO_MEMORY;
		insert(in->slots, in->mask, slot);
	} else {
		in->slots[at] = slot;
	}
	if (in->offsets.count == 0)
		in->offsets.data[in->offsets.count++] = 0;
	if (n)
		memcpy(in->bytes.data + in->bytes.count, s, n);
	in->bytes.count += n;
	in->offsets.data[in->offsets.count++] = (uint32_t)in->bytes.count;
	*ret = id;
	return FW_OK;
}

// Flat: the hash is half of the cost, and calling it another eighth.
__attribute__((flatten))
enum fw_code fw_intern_add(struct fw_intern *in, const char *s, size_t n, uint32_t *ret)
{
	if (__builtin_expect(!in->slots, 0) && !grow(in))
		return FW_NO_MEMORY;
	uint32_t tag = tag_of(in, s, n);
	uint32_t at = probe(in, s, n, tag);
	uint64_t slot = in->slots[at];
	if (!slot)
		return add_new(in, s, n, tag, at, ret);
	*ret = (uint32_t)slot - 1;
	return FW_OK;
}

uint32_t fw_intern_find(const struct fw_intern *in, const char *s, size_t n)
{
	if (!in->slots)
		return FW_NO_STRING;
	uint64_t slot = in->slots[probe(in, s, n, tag_of(in, s, n))];
	return slot ? (uint32_t)slot - 1 : FW_NO_STRING;
}
