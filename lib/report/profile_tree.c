#include "lib/report/profile_tree.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/limits.h"

enum { FIRST_SLOTS = 4096 };

bool fw_tree_init(struct fw_tree *t)
{
	*t = (struct fw_tree){ .node_mask = FIRST_SLOTS - 1, .stack_mask = FIRST_SLOTS - 1 };
	t->node_slots = calloc(FIRST_SLOTS, sizeof(*t->node_slots));
	t->stack_slots = calloc(FIRST_SLOTS, sizeof(*t->stack_slots));
	if (t->node_slots != NULL && t->stack_slots != NULL &&
	    fw_vec_push(&t->nodes, (struct fw_tree_node){ 0 }))
		return true;
	fw_tree_deinit(t);
	return false;
}

void fw_tree_deinit(struct fw_tree *t)
{
	fw_vec_deinit(&t->nodes);
	fw_vec_deinit(&t->stacks);
	free(t->node_slots);
	free(t->stack_slots);
	t->node_slots = t->stack_slots = NULL;
}

/** Multiply and fold, as hashes of integers do. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 v = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
			      (b ^ UINT64_C(0xd6e8feb86659fd93));
	return (uint64_t)v ^ (uint64_t)(v >> 64);
}

static inline uint64_t node_hash(uint32_t parent, struct fw_place_key key)
{
	return mix(key.pc, mix(parent, (uint64_t)key.module << 32 | key.flags));
}

static inline uint64_t stack_hash(uint32_t node, uint32_t thread, uint32_t event)
{
	return mix(node, (uint64_t)thread << 32 | event);
}

static bool same_node(const struct fw_tree_node *n, uint32_t parent, struct fw_place_key key)
{
	return n->key.pc == key.pc && n->parent == parent && n->key.module == key.module &&
	       n->key.flags == key.flags;
}

/** A table of twice the slots; false: no memory, the old one stays. */
static bool grow(uint32_t **slots, uint32_t *mask, const struct fw_tree *t,
		 uint64_t (*hash)(const struct fw_tree *t, uint32_t i))
{
	uint64_t size = 2 * ((uint64_t)*mask + 1);
	uint32_t *bigger = fw_alloc_should_fail() || size > UINT32_MAX ? NULL :
			   calloc(size, sizeof(*bigger));
	if (bigger == NULL)
		return false;
	for (uint64_t i = 0; i <= *mask; i++) {
		if ((*slots)[i] == 0)
			continue;
		uint64_t at = hash(t, (*slots)[i] - 1) & (size - 1);
		while (bigger[at] != 0)
			at = (at + 1) & (size - 1);
		bigger[at] = (*slots)[i];
	}
	free(*slots);
	*slots = bigger;
	*mask = (uint32_t)(size - 1);
	return true;
}

static uint64_t hash_of_node(const struct fw_tree *t, uint32_t i)
{
	return node_hash(t->nodes.data[i].parent, t->nodes.data[i].key);
}

static uint64_t hash_of_stack(const struct fw_tree *t, uint32_t i)
{
	const struct fw_tree_stack *s = &t->stacks.data[i];
	return stack_hash(s->node, s->thread, s->event);
}

uint32_t fw_tree_node(struct fw_tree *t, uint32_t parent, struct fw_place_key key)
{
	uint32_t at = (uint32_t)node_hash(parent, key) & t->node_mask;
	for (; t->node_slots[at] != 0; at = (at + 1) & t->node_mask)
		if (same_node(&t->nodes.data[t->node_slots[at] - 1], parent, key))
			return t->node_slots[at] - 1;
	if (t->nodes.count >= FW_MAX_PROFILE_NODES)
		return FW_NO_NODE;
	if (t->nodes.count * 2 > t->node_mask) {
		if (!grow(&t->node_slots, &t->node_mask, t, hash_of_node))
			return FW_NO_NODE;
		at = (uint32_t)node_hash(parent, key) & t->node_mask;
		while (t->node_slots[at] != 0)
			at = (at + 1) & t->node_mask;
	}
	if (!fw_vec_push(&t->nodes, ((struct fw_tree_node){ key, parent })))
		return FW_NO_NODE;
	t->node_slots[at] = (uint32_t)t->nodes.count;
	return (uint32_t)t->nodes.count - 1;
}

bool fw_tree_count(struct fw_tree *t, uint32_t node, uint32_t thread, uint32_t event,
		   uint64_t samples, uint64_t weight)
{
	uint32_t at = (uint32_t)stack_hash(node, thread, event) & t->stack_mask;
	for (; t->stack_slots[at] != 0; at = (at + 1) & t->stack_mask) {
		struct fw_tree_stack *s = &t->stacks.data[t->stack_slots[at] - 1];
		if (s->node == node && s->thread == thread && s->event == event) {
			s->samples += samples;
			s->weight += weight;
			return true;
		}
	}
	if (t->stacks.count * 2 > t->stack_mask) {
		if (!grow(&t->stack_slots, &t->stack_mask, t, hash_of_stack))
			return false;
		at = (uint32_t)stack_hash(node, thread, event) & t->stack_mask;
		while (t->stack_slots[at] != 0)
			at = (at + 1) & t->stack_mask;
	}
	if (!fw_vec_push(&t->stacks,
			 ((struct fw_tree_stack){ node, thread, event, samples, weight })))
		return false;
	t->stack_slots[at] = (uint32_t)t->stacks.count;
	return true;
}

bool fw_tree_merge(struct fw_tree *to, const struct fw_tree *from, const uint32_t *threads,
		   uint32_t *ret_map)
{
	ret_map[0] = 0;
	for (size_t i = 1; i < from->nodes.count; i++) {
		const struct fw_tree_node *n = &from->nodes.data[i];
		ret_map[i] = fw_tree_node(to, ret_map[n->parent], n->key);
		if (ret_map[i] == FW_NO_NODE)
			return false;
	}
	for (size_t i = 0; i < from->stacks.count; i++) {
		const struct fw_tree_stack *s = &from->stacks.data[i];
		if (!fw_tree_count(to, ret_map[s->node], threads[s->thread], s->event, s->samples,
				   s->weight))
			return false;
	}
	return true;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_rank(const void *pa, const void *pb, void *context)
{
	const struct fw_tree_node *nodes = context;
	const struct fw_tree_node *a = &nodes[*(const uint32_t *)pa];
	const struct fw_tree_node *b = &nodes[*(const uint32_t *)pb];
	int c = compare_u64(a->key.module, b->key.module);
	if (c == 0)
		c = compare_u64(a->key.pc, b->key.pc);
	return c != 0 ? c : compare_u64(a->key.flags, b->key.flags);
}

static int by_thread(const void *pa, const void *pb)
{
	const struct fw_tree_stack *a = pa, *b = pb;
	int c = compare_u64(a->thread, b->thread);
	if (c == 0)
		c = compare_u64(a->event, b->event);
	return c != 0 ? c : compare_u64(a->node, b->node);
}

/**
 * Node numbers grouped by parent, siblings in order: children of i are
 * list[first[i] .. first[i + 1]).
 */
static void list_children(const struct fw_tree *t, uint32_t *first, uint32_t *list)
{
	const struct fw_tree_node *nodes = t->nodes.data;
	const uint32_t n = (uint32_t)t->nodes.count;
	for (uint32_t i = 1; i < n; i++)
		first[nodes[i].parent + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 1; i < n; i++)
		list[first[nodes[i].parent + 1]++] = i;
	for (uint32_t i = 0; i < n; i++)
		if (first[i + 1] - first[i] > 1)
			qsort_r(list + first[i], first[i + 1] - first[i], sizeof(*list), by_rank,
				t->nodes.data);
}

bool fw_tree_sort(struct fw_tree *t, uint32_t *ret_map)
{
	const uint32_t n = (uint32_t)t->nodes.count;
	uint32_t *first = calloc((size_t)n + 2, sizeof(*first));
	uint32_t *list = calloc(n, sizeof(*list)), *order = calloc(n, sizeof(*order));
	struct fw_tree_node *sorted = calloc(n, sizeof(*sorted));
	bool ok = first != NULL && list != NULL && order != NULL && sorted != NULL;
	if (ok) {
		list_children(t, first, list);
		// breadth first: a level's nodes follow their parents' order
		uint32_t count = 1;
		ret_map[0] = 0;
		for (uint32_t i = 0; i < count; i++)
			for (uint32_t k = first[order[i]]; k < first[order[i] + 1]; k++) {
				ret_map[list[k]] = count;
				sorted[count] = t->nodes.data[list[k]];
				sorted[count].parent = i;
				order[count++] = list[k];
			}
		memcpy(t->nodes.data, sorted, n * sizeof(*sorted));
		for (size_t i = 0; i < t->stacks.count; i++)
			t->stacks.data[i].node = ret_map[t->stacks.data[i].node];
		if (t->stacks.count != 0)
			qsort(t->stacks.data, t->stacks.count, sizeof(*t->stacks.data), by_thread);
		// the tables speak of the old numbers
		free(t->node_slots);
		free(t->stack_slots);
		t->node_slots = t->stack_slots = NULL;
	}
	free(first);
	free(list);
	free(order);
	free(sorted);
	return ok;
}
