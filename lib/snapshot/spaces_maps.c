#include "lib/snapshot/spaces_maps.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/limits.h"

uint32_t fw_maps_lower(const struct fw_mapping *maps, uint32_t count, uint64_t address)
{
	uint32_t lo = 0, hi = count;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (maps[mid].end <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct fw_mapping *fw_space_find(const struct fw_space_view *view, uint64_t address)
{
	uint32_t i = fw_maps_lower(view->maps, view->num_maps, address);
	return i < view->num_maps && view->maps[i].start <= address ? &view->maps[i] : NULL;
}

/** The overlapped ones are items[*lo .. *hi). */
static void overlap(const struct fw_maps *m, const struct fw_mapping *map, uint32_t *lo,
		    uint32_t *hi)
{
	uint32_t count = m ? m->count : 0;
	*lo = *hi = m ? fw_maps_lower(m->items, count, map->start) : 0;
	while (*hi < count && m->items[*hi].start < map->end)
		++*hi;
}

static bool continues(const struct fw_mapping *a, const struct fw_mapping *b)
{
	return a->dso == b->dso && a->file_offset - a->start == b->file_offset - b->start;
}

enum fw_maps_change fw_maps_change(const struct fw_maps *m, const struct fw_mapping *map, bool jit)
{
	enum fw_maps_change change = FW_MAPS_GROW;
	uint32_t lo, hi;
	overlap(m, map, &lo, &hi);
	for (uint32_t i = lo; i < hi; i++) {
		const struct fw_mapping *old = &m->items[i];
		uint8_t added = map->permissions & ~old->permissions;
		if (old->start <= map->start && map->end <= old->end && continues(old, map) &&
		    (jit ? !added : old->permissions == map->permissions))
			return FW_MAPS_SAME;
		if (old->dso != map->dso && old->permissions & FW_MAP_EXEC)
			change = FW_MAPS_REPLACE;
	}
	return change;
}

/**
 * What takes the place of items[lo .. hi): the new one, and what is left of the first
 * and last on either side. @return how many, 1 to 3.
 */
static uint32_t pieces(const struct fw_maps *m, uint32_t lo, uint32_t hi,
		       const struct fw_mapping *map, bool jit, struct fw_mapping ret[3])
{
	uint32_t n = 0;
	struct fw_mapping mid = *map, left = { 0 }, right = { 0 };
	if (lo < hi && m->items[lo].start < map->start) {
		left = m->items[lo];
		left.end = map->start;
	}
	if (lo < hi && m->items[hi - 1].end > map->end) {
		right = m->items[hi - 1];
		right.file_offset += map->end - right.start;
		right.start = map->end;
	}
	if (left.end && continues(&left, map) && (jit || left.permissions == map->permissions)) {
		mid.file_offset -= map->start - left.start;
		mid.start = left.start;
		mid.permissions |= left.permissions;
		left.end = 0;
	}
	if (right.end && continues(&right, map) && (jit || right.permissions == map->permissions)) {
		mid.end = right.end;
		mid.permissions |= right.permissions;
		right.end = 0;
	}
	if (left.end)
		ret[n++] = left;
	ret[n++] = mid;
	if (right.end)
		ret[n++] = right;
	return n;
}

/** Make *m our own with room for @p need items. */
static bool prepare(struct fw_maps **m, uint32_t need, struct fw_maps_budget *budget)
{
	struct fw_maps *old = *m;
	if (old && need < old->count)
		need = old->count;	// what is there has to fit until it is replaced
	if (old && old->refs == 1 && need <= old->capacity)
		return true;
	uint32_t capacity = old && old->refs == 1 ? 2 * old->capacity : 16;
	if (capacity < need)
		capacity = need + need / 4;
	bool own = old && old->refs == 1;
	uint64_t more = own ? capacity - old->capacity : capacity;
	if (more > budget->left || fw_alloc_should_fail())
		return false;
	struct fw_maps *grown = realloc(own ? old : NULL,
					sizeof(*grown) + capacity * sizeof(grown->items[0]));
	if (!grown)
		return false;
	if (!own) {
		grown->refs = 1;
		grown->count = old ? old->count : 0;
		if (old) {
			memcpy(grown->items, old->items, old->count * sizeof(old->items[0]));
			old->refs--;
		}
	}
	grown->capacity = capacity;
	budget->left -= more;
	*m = grown;
	return true;
}

bool fw_maps_add(struct fw_maps **ret, const struct fw_mapping *map, bool jit,
		 struct fw_maps_budget *budget)
{
	struct fw_mapping put[3];
	uint32_t lo, hi;
	overlap(*ret, map, &lo, &hi);
	uint32_t n = pieces(*ret, lo, hi, map, jit, put);
	uint32_t count = *ret ? (*ret)->count : 0;
	uint32_t need = count - (hi - lo) + n;
	if (need > FW_MAX_SPACE_MAPS || !prepare(ret, need, budget))
		return false;
	struct fw_maps *m = *ret;
	memmove(m->items + lo + n, m->items + hi, (count - hi) * sizeof(m->items[0]));
	memcpy(m->items + lo, put, n * sizeof(put[0]));
	m->count = need;
	return true;
}

struct fw_maps *fw_maps_share(struct fw_maps *m)
{
	if (m)
		m->refs++;
	return m;
}

void fw_maps_release(struct fw_maps *m, struct fw_maps_budget *budget)
{
	if (!m || --m->refs)
		return;
	budget->left += m->capacity;
	free(m);
}
