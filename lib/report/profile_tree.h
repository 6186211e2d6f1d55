#ifndef FW_REPORT_PROFILE_TREE_H
#define FW_REPORT_PROFILE_TREE_H

#include "lib/base/error.h"
#include "lib/base/vec.h"

/**
 * A prefix tree of places and the stacks that end in it: what one worker found.
 * Trees are merged, then put into an order of their own content, so that the
 * result does not depend on who found what. Not thread safe.
 */
enum fw_place_flags {
	FW_PLACE_TRUST = 0xff,		// enum fw_trust
	FW_PLACE_EXACT = 0x100,		// names are looked up by the pc itself
	FW_PLACE_KERNEL = 0x200,	// pc is an address
	FW_PLACE_JIT = 0x400,		// pc is an address, module the process id
	FW_PLACE_TRUNCATED = 0x800,	// no place: the copied stack ended here
	FW_PLACE_DUMP = 0x1000,		// with JIT: module is the jitdump's DSO, of whose code the
					// number stands from here on
	FW_PLACE_NUMBER = 13,
};

/** A place as stacks are keyed by: no names yet. */
struct fw_place_key {
	uint64_t pc;			// offset from the module's base, or an address
	uint32_t module;		// number of the DSO, FW_NO_MODULE, or a process id
	uint32_t flags;
};

struct fw_tree_node { struct fw_place_key key; uint32_t parent; };

struct fw_tree_stack {
	uint32_t node, thread, event;
	uint64_t samples, weight;
};

struct fw_tree {
	FW_VEC(struct fw_tree_node) nodes;	// 0 is the root
	FW_VEC(struct fw_tree_stack) stacks;
	uint32_t *node_slots, *stack_slots;	// open addressing, number + 1; 0 is free
	uint32_t node_mask, stack_mask;
};

/** False: no memory. */
bool fw_tree_init(struct fw_tree *t);
void fw_tree_deinit(struct fw_tree *t);

#define FW_NO_NODE UINT32_MAX

/** The node below @p parent, made when new; FW_NO_NODE: no memory, or FW_MAX_PROFILE_NODES. */
uint32_t fw_tree_node(struct fw_tree *t, uint32_t parent, struct fw_place_key key);
/** Count a sample. False as above. */
bool fw_tree_count(struct fw_tree *t, uint32_t node, uint32_t thread, uint32_t event,
		   uint64_t samples, uint64_t weight);

/**
 * Add all of @p from to @p to; ret_map (from->nodes.count entries) says which node each
 * became. Threads are renumbered by @p threads. False: as above.
 */
bool fw_tree_merge(struct fw_tree *to, const struct fw_tree *from, const uint32_t *threads,
		   uint32_t *ret_map);

/**
 * Renumber the nodes in an order that only their content decides: parents first,
 * siblings by key; stacks by (thread, event, node). ret_map: old number to new, of
 * nodes.count entries. False: no memory, nothing changed.
 */
bool fw_tree_sort(struct fw_tree *t, uint32_t *ret_map);

#endif
