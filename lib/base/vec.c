#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/vec.h"

bool fw_vec_grow_(void **data, size_t *capacity, size_t need, size_t element)
{
	// The macro asks only for more than there is: less means count + n wrapped.
	if (need <= *capacity || fw_alloc_should_fail())
		return false;
	size_t grown = *capacity < SIZE_MAX / 2 ? *capacity * 2 : need;
	size_t least = element < 64 ? 64 / element : 1;
	if (grown < least)
		grown = least;
	if (grown < need)
		grown = need;
	size_t bytes;
	if (__builtin_mul_overflow(grown, element, &bytes) || bytes > PTRDIFF_MAX)
		return false;
	void *p = realloc(*data, bytes);
	if (!p)
		return false;
	*data = p;
	*capacity = grown;
	return true;
}

void fw_vec_free_(void **data, size_t *count, size_t *capacity)
{
	free(*data);
	*data = NULL;
	*count = *capacity = 0;
}
