#ifndef FW_SNAPSHOT_SPACES_MAPS_H
#define FW_SNAPSHOT_SPACES_MAPS_H

#include "lib/snapshot/spaces.h"

/** Mappings by start, disjoint, shared by counting. Private to spaces.c; one thread at a time. */
struct fw_maps {
	uint32_t refs, count, capacity;
	struct fw_mapping items[];
};

/** Mappings that all states together may still take. */
struct fw_maps_budget { uint64_t left; };

enum fw_maps_change {
	FW_MAPS_SAME,		// it is there already
	FW_MAPS_GROW,		// no code of another file gives way to it
	FW_MAPS_REPLACE,	// what the addresses meant before differs
};

/** What adding would do. @p jit: code without a file, whose permissions change to and fro. */
enum fw_maps_change fw_maps_change(const struct fw_maps *m, const struct fw_mapping *map, bool jit);

/**
 * Add a mapping, cutting those that it overlaps. Shared ones are copied first. False:
 * memory, FW_MAX_SPACE_MAPS or the budget is exhausted, and nothing changed.
 */
bool fw_maps_add(struct fw_maps **m, const struct fw_mapping *map, bool jit,
		 struct fw_maps_budget *budget);

struct fw_maps *fw_maps_share(struct fw_maps *m);	// NULL stays NULL
void fw_maps_release(struct fw_maps *m, struct fw_maps_budget *budget);

/** First mapping that ends behind @p address; count: none. */
uint32_t fw_maps_lower(const struct fw_mapping *maps, uint32_t count, uint64_t address);

#endif
