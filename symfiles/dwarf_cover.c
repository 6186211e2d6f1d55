#include <stdlib.h>

#include "symfiles/dwarf_internal.h"

static int by_start(const void *pa, const void *pb)
{
	const struct fw_dw_covered *a = pa, *b = pb;
	if (a->range.start != b->range.start)
		return a->range.start < b->range.start ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

void fw_dw_cover_sort(struct fw_dw_cover *c)
{
	uint32_t reach = 0;
	if (c->list.count)
		qsort(c->list.data, c->list.count, sizeof(*c->list.data), by_start);
	for (size_t i = 0; i < c->list.count; i++) {
		struct fw_dw_covered *e = &c->list.data[i];
		reach = e->range.end > reach ? e->range.end : reach;
		e->reach = reach;
	}
}

const struct fw_dw_covered *fw_dw_cover_next(const struct fw_dw_cover *c, uint32_t from,
					     uint32_t to, size_t *at)
{
	size_t low = 0, n = c->list.count;
	if (*at != SIZE_MAX) {
		low = *at;
		n = 0;
	}
	while (n) {	// how many begin before `to`
		size_t half = n / 2;
		if (c->list.data[low + half].range.start < to) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	while (low > 0 && c->list.data[low - 1].reach > from) {
		const struct fw_dw_covered *e = &c->list.data[--low];
		if (e->range.end > from) {
			*at = low;
			return e;
		}
	}
	*at = 0;
	return NULL;
}
