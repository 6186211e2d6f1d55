#ifndef FW_BASE_VEC_H
#define FW_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Typed growable array: `FW_VEC(uint32_t) v = {0};`. Elements are plain data.
 * Zero-initialised is empty. Growth doubles; realloc of large blocks remaps
 * pages, so an array's unused capacity costs address space, not memory.
 */
#define FW_VEC(type) struct { type *data; size_t count, capacity; }

bool fw_vec_grow_(void **data, size_t *capacity, size_t need, size_t element);

/** Make room for n more; false when memory is exhausted (the array stays valid). */
#define fw_vec_reserve(v, n) \
	((size_t)(n) <= (v)->capacity - (v)->count || \
	 fw_vec_grow_((void **)&(v)->data, &(v)->capacity, (v)->count + (n), sizeof(*(v)->data)))

/** Append a value; false when memory is exhausted. */
#define fw_vec_push(v, value) \
	(fw_vec_reserve(v, 1) ? ((v)->data[(v)->count++] = (value), true) : false)

void fw_vec_free_(void **data, size_t *count, size_t *capacity);
#define fw_vec_deinit(v) \
	fw_vec_free_((void **)&(v)->data, &(v)->count, &(v)->capacity)

#endif
