#ifndef FW_REPORT_PROFILE_BY_NAME_H
#define FW_REPORT_PROFILE_BY_NAME_H

#include "lib/base/intern.h"
#include "lib/report/profile.h"

/**
 * A profile's stacks by name: a prefix tree in which calls of one function from one
 * stack are one node, wherever in the function they stand. The first level is the
 * thread's name (below the event's where there are several). Of one profile, or of
 * two for a difference: each has a column of counts.
 */
enum fw_name_kind {		// first byte of an interned name
	FW_NAME_PLAIN = ' ',
	FW_NAME_KERNEL = 'k',
	FW_NAME_INLINED = 'i',
	FW_NAME_JIT = 'j',
	FW_NAME_THREAD = 't',
	FW_NAME_EVENT = 'e',
	FW_NAME_MARKER = 'm',	// "[truncated]"
};

struct fw_name_tree_options {
	bool no_inline;
	bool weight;		// sums of periods, not numbers of samples
	bool annotate;		// "_[k]", "_[i]", "_[j]" behind the kernel's, inlined, JIT's names
	bool kinds;		// tell equal names of different kinds apart; else all are plain
	bool modules;		// and of different modules: names are KIND module '\n' text
};

struct fw_name_tree_node {
	uint32_t parent;	// of node 0, the root: 0
	uint32_t name;		// index into names; the root has none
	uint64_t self[2];	// ends here
};

struct fw_name_tree {
	struct fw_name_tree_options o;
	struct fw_intern names;
	FW_VEC(struct fw_name_tree_node) nodes;
	// Children by name. An item is 2 * node, for the stack that ends there, or
	// 2 * node + 1, for those that go on. Set by fw_name_tree_sort().
	uint32_t *first_item;	// by node; FW_NO_ITEM: none
	uint32_t *next_item;	// by item
	// private
	uint32_t *slots;
	uint32_t mask;
};

#define FW_NO_ITEM UINT32_MAX

void fw_name_tree_init(struct fw_name_tree *t, const struct fw_name_tree_options *o);
void fw_name_tree_deinit(struct fw_name_tree *t);
/** Add a profile's stacks in column 0 or 1. FW_NO_MEMORY, FW_LIMIT; then only deinit may follow. */
FW_MUST_CHECK enum fw_code fw_name_tree_add(struct fw_name_tree *t, const struct fw_profile *p,
				       unsigned column);
/** Link the children of every node so that walking them gives lines in the order of their bytes. */
FW_MUST_CHECK enum fw_code fw_name_tree_sort(struct fw_name_tree *t);

/** Text of a name without its kind and module. */
struct fw_str fw_name_tree_text(const struct fw_name_tree *t, uint32_t name);
struct fw_str fw_name_tree_module(const struct fw_name_tree *t, uint32_t name);
static inline char fw_name_tree_kind(const struct fw_name_tree *t, uint32_t name)
{
	return fw_intern_get(&t->names, name).s[0];
}

#endif
