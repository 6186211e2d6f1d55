#include <stdint.h>

#include "lib/image/block.h"

// XXH3 twice: as the compiler's target has it, and for AVX2, which halves its
// cost and is chosen at run time. Both give the same values.

#if defined(__x86_64__) && !defined(__AVX2__)
#include <immintrin.h>
#define FW_HASH_AVX2 1
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define XXH_VECTOR 2	// XXH_AVX2
#else
#define FW_HASH_AVX2 0
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#if FW_HASH_AVX2
static_assert(XXH_AVX2 == 2, "the value used above");

__attribute__((noinline))
static uint64_t hash_avx2(const void *data, uint64_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, n, seed);
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

uint64_t fw_block_hash(const void *data, uint64_t n, uint64_t seed)
{
#if FW_HASH_AVX2
	if (__builtin_cpu_supports("avx2"))
		return hash_avx2(data, n, seed);
#endif
	return fw_block_hash_plain_(data, n, seed);
}
