#include "lib/report/profile_by_name.h"

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/report/profile_text.h"

enum { FIRST_SLOTS = 1024 };

struct memo { uint32_t group, node; };	// tree node of a profile node, in this group of stacks

struct adding {
	struct fw_name_tree *t;
	const struct fw_profile *p;
	uint64_t *first_name;		// by frame: where its lines' names begin in `names`
	uint32_t *names;		// by line; FW_NO_STRING: not made yet
	struct memo *memo;
	FW_VEC(uint32_t) path;
	struct fw_out scratch, text;
};

void fw_name_tree_init(struct fw_name_tree *t, const struct fw_name_tree_options *o)
{
	*t = (struct fw_name_tree){ .o = *o };
	fw_intern_init(&t->names);
}

void fw_name_tree_deinit(struct fw_name_tree *t)
{
	fw_intern_deinit(&t->names);
	fw_vec_deinit(&t->nodes);
	free(t->first_item);
	free(t->next_item);
	free(t->slots);
	*t = (struct fw_name_tree){ 0 };
}

static void *get_array(uint64_t count, size_t size)
{
	return fw_alloc_should_fail() ? NULL : calloc(count ? count : 1, size);
}

static uint32_t slot_of(const struct fw_name_tree *t, uint32_t parent, uint32_t name)
{
	uint64_t x = ((uint64_t)parent << 32 | name) ^ t->names.seed;
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(x >> 32) & t->mask;
}

static enum fw_code grow_slots(struct fw_name_tree *t)
{
	uint64_t count = t->slots ? (uint64_t)(t->mask + UINT64_C(1)) * 2 : FIRST_SLOTS;
	if (count > UINT32_MAX)
		return FW_LIMIT;
	uint32_t *slots = get_array(count, sizeof(*slots));
	if (!slots)
		return FW_NO_MEMORY;
	free(t->slots);
	t->slots = slots;
	t->mask = (uint32_t)(count - 1);
	for (uint32_t i = 1; i < t->nodes.count; i++) {
		uint32_t at = slot_of(t, t->nodes.data[i].parent, t->nodes.data[i].name);
		while (slots[at])
			at = (at + 1) & t->mask;
		slots[at] = i;
	}
	return FW_OK;
}

static enum fw_code get_child(struct fw_name_tree *t, uint32_t parent, uint32_t name, uint32_t *ret)
{
	if (!t->nodes.count && !fw_vec_push(&t->nodes, ((struct fw_name_tree_node){ 0 })))
		return FW_NO_MEMORY;
	if (!t->slots || t->nodes.count >= t->mask / 2) {
		enum fw_code code = grow_slots(t);
		if (code != FW_OK)
			return code;
	}
	uint32_t at = slot_of(t, parent, name);
	for (; t->slots[at]; at = (at + 1) & t->mask) {
		const struct fw_name_tree_node *n = &t->nodes.data[t->slots[at]];
		if (n->parent == parent && n->name == name) {
			*ret = t->slots[at];
			return FW_OK;
		}
	}
	if (!fw_vec_push(&t->nodes, ((struct fw_name_tree_node){ .parent = parent, .name = name })))
		return FW_NO_MEMORY;
	*ret = t->slots[at] = (uint32_t)(t->nodes.count - 1);
	return FW_OK;
}

static char kind_of(const struct fw_profile_frame *f, uint32_t line)
{
	return f->truncated ? FW_NAME_MARKER : fw_profile_is_inlined(f, line) ? FW_NAME_INLINED :
	       f->kernel ? FW_NAME_KERNEL : f->jit ? FW_NAME_JIT : FW_NAME_PLAIN;
}

/** Start an interned name in a->text. */
static void begin_name(struct adding *a, char kind, const struct fw_profile_module *m)
{
	a->text.count = 0;
	fw_out_byte(&a->text, a->t->o.kinds ? kind : FW_NAME_PLAIN);
	if (a->t->o.modules) {
		if (m)
			fw_out_safe(&a->text, m->name.s, m->name.n);
		fw_out_byte(&a->text, '\n');
	}
}

static enum fw_code end_name(struct adding *a, uint32_t *ret)
{
	if (a->text.failed || a->scratch.failed)
		return FW_NO_MEMORY;
	return fw_intern_add(&a->t->names, a->text.data, a->text.count, ret);
}

static void annotate(struct fw_out *text, char kind)
{
	if (kind != FW_NAME_KERNEL && kind != FW_NAME_INLINED && kind != FW_NAME_JIT)
		return;
	fw_out_lit(text, "_[");
	fw_out_byte(text, kind);
	fw_out_byte(text, ']');
}

static enum fw_code name_line(struct adding *a, const struct fw_profile_frame *f, uint32_t line,
			      uint32_t *ret)
{
	uint32_t *known = &a->names[a->first_name[f - a->p->frames] + line];
	if (*known == FW_NO_STRING) {
		struct fw_str s = fw_profile_function(a->p, f, line, &a->scratch);
		begin_name(a, kind_of(f, line), fw_profile_module(a->p, f));
		fw_folded_name(&a->text, s.s, s.n);
		if (a->t->o.annotate)
			annotate(&a->text, kind_of(f, line));
		enum fw_code code = end_name(a, known);
		if (code != FW_OK)
			return code;
	}
	*ret = *known;
	return FW_OK;
}

/** The node below @p *node for a frame: the function, then what is inlined in it. */
static enum fw_code add_frame(struct adding *a, const struct fw_profile_frame *f, uint32_t *node)
{
	uint32_t lines = f->num_lines ? f->num_lines : 1;
	uint32_t last = a->t->o.no_inline ? lines - 1 : 0;
	for (uint32_t line = lines; line-- > last;) {
		uint32_t name;
		enum fw_code code = name_line(a, f, line, &name);
		if (code == FW_OK)
			code = get_child(a->t, *node, name, node);
		if (code != FW_OK)
			return code;
	}
	return FW_OK;
}

/** The event's node, where there are several, and the thread's below. */
static enum fw_code get_root(struct adding *a, const struct fw_profile_stack *s, bool events,
			     uint32_t *ret)
{
	uint32_t name;
	enum fw_code code = FW_OK;
	*ret = 0;
	if (events) {
		struct fw_str event = fw_profile_event_name(a->p, s->event);
		begin_name(a, FW_NAME_EVENT, NULL);
		fw_out_byte(&a->text, '[');
		fw_folded_name(&a->text, event.s, event.n);
		fw_out_byte(&a->text, ']');
		code = end_name(a, &name);
		if (code == FW_OK)
			code = get_child(a->t, 0, name, ret);
	}
	if (code != FW_OK)
		return code;
	begin_name(a, FW_NAME_THREAD, NULL);
	fw_folded_thread(&a->text, &a->p->threads[s->thread]);
	code = end_name(a, &name);
	return code == FW_OK ? get_child(a->t, *ret, name, ret) : code;
}

static enum fw_code add_stack(struct adding *a, const struct fw_profile_stack *s, uint32_t group,
			      uint32_t root, unsigned column)
{
	uint32_t at = s->node, node = root;
	a->path.count = 0;
	for (; at; at = a->p->nodes[at].parent) {
		if (a->memo[at].group == group) {
			node = a->memo[at].node;
			break;
		}
		if (!fw_vec_push(&a->path, at))
			return FW_NO_MEMORY;
	}
	while (a->path.count) {
		at = a->path.data[--a->path.count];
		enum fw_code code = add_frame(a, &a->p->frames[a->p->nodes[at].frame], &node);
		if (code != FW_OK)
			return code;
		a->memo[at] = (struct memo){ group, node };
	}
	a->t->nodes.data[node].self[column] += a->t->o.weight ? s->weight : s->samples;
	return FW_OK;
}

static int by_root(const void *x, const void *y, void *context)
{
	const struct fw_profile *p = context;
	const struct fw_profile_stack *a = &p->stacks[*(const uint32_t *)x];
	const struct fw_profile_stack *b = &p->stacks[*(const uint32_t *)y];
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return *(const uint32_t *)x < *(const uint32_t *)y ? -1 : 1;
}

static enum fw_code add_stacks(struct adding *a, uint32_t *order, unsigned column)
{
	const struct fw_profile *p = a->p;
	const bool events = fw_profile_many_events(p);
	uint32_t group = 0, root = 0;
	const struct fw_profile_stack *before = NULL;
	for (uint32_t i = 0; i < p->num_stacks; i++)
		order[i] = i;
	qsort_r(order, p->num_stacks, sizeof(*order), by_root, (void *)p);
	for (uint32_t i = 0; i < p->num_stacks; i++) {
		const struct fw_profile_stack *s = &p->stacks[order[i]];
		enum fw_code code = FW_OK;
		if (!before || before->thread != s->thread || before->event != s->event) {
			code = get_root(a, s, events, &root);
			group++;
		}
		if (code == FW_OK)
			code = add_stack(a, s, group, root, column);
		if (code != FW_OK)
			return code;
		before = s;
	}
	return FW_OK;
}

enum fw_code fw_name_tree_add(struct fw_name_tree *t, const struct fw_profile *p, unsigned column)
{
	struct adding a = { .t = t, .p = p };
	enum fw_code code = FW_NO_MEMORY;
	uint64_t lines = 0;
	uint32_t *order = get_array(p->num_stacks, sizeof(*order));
	a.first_name = get_array(p->num_frames, sizeof(*a.first_name));
	a.memo = get_array(p->num_nodes, sizeof(*a.memo));
	fw_out_init_memory(&a.scratch, SIZE_MAX);
	fw_out_init_memory(&a.text, SIZE_MAX);
	if (!order || !a.first_name || !a.memo)
		goto out;
	for (uint32_t i = 0; i < p->num_frames; i++) {
		a.first_name[i] = lines;
		lines += p->frames[i].num_lines ? p->frames[i].num_lines : 1;
	}
	a.names = get_array(lines, sizeof(*a.names));
	if (!a.names)
		goto out;
	memset(a.names, 0xff, lines * sizeof(*a.names));	// FW_NO_STRING
	code = add_stacks(&a, order, column);
out:
	free(order);
	free(a.first_name);
	free(a.names);
	free(a.memo);
	fw_vec_deinit(&a.path);
	fw_out_deinit(&a.scratch);
	fw_out_deinit(&a.text);
	return code;
}

/** Byte @p i of a sort key: a name's, then ';' for the stacks that go on, then -1. */
static int key_byte(struct fw_str s, size_t i, bool goes_on)
{
	return i < s.n ? (uint8_t)s.s[i] : i == s.n && goes_on ? ';' : -1;
}

static int by_key(const void *x, const void *y, void *context)
{
	const struct fw_name_tree *t = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	struct fw_str s = fw_name_tree_text(t, a / 2), u = fw_name_tree_text(t, b / 2);
	size_t n = s.n < u.n ? s.n : u.n;
	int order = n ? memcmp(s.s, u.s, n) : 0;
	if (!order)
		order = key_byte(s, n, a & 1) - key_byte(u, n, b & 1);
	if (!order && s.n != u.n)	// "f" goes on and "f;..."; cannot be: names have no ';'
		order = s.n < u.n ? -1 : 1;
	return order ? order : a < b ? -1 : a > b;
}

/** Ranks of the names' two keys. */
static uint32_t *rank_names(const struct fw_name_tree *t)
{
	size_t count = 2 * (size_t)fw_intern_count(&t->names);
	uint32_t *keys = get_array(count, sizeof(*keys)), *ranks = get_array(count, sizeof(*ranks));
	if (keys && ranks) {
		for (size_t i = 0; i < count; i++)
			keys[i] = (uint32_t)i;
		qsort_r(keys, count, sizeof(*keys), by_key, (void *)t);
		for (size_t i = 0; i < count; i++)
			ranks[keys[i]] = (uint32_t)i;
	} else {
		free(ranks);
		ranks = NULL;
	}
	free(keys);
	return ranks;
}

enum fw_code fw_name_tree_sort(struct fw_name_tree *t)
{
	const size_t items = 2 * t->nodes.count, names = fw_intern_count(&t->names);
	if (items > FW_NO_ITEM || names > UINT32_MAX / 2)
		return FW_LIMIT;
	uint32_t *ranks = rank_names(t);
	uint32_t *start = get_array(2 * names + 1, sizeof(*start));
	uint32_t *sorted = get_array(items, sizeof(*sorted));
	t->first_item = get_array(t->nodes.count, sizeof(*t->first_item));
	t->next_item = get_array(items, sizeof(*t->next_item));
	bool ok = ranks && start && sorted && t->first_item && t->next_item;
	if (ok) {
		// Items by rank (a counting sort), then from the last to the first in front of
		// their parents' lists.
		for (size_t i = 2; i < items; i++)
			start[ranks[2 * t->nodes.data[i / 2].name + i % 2] + 1]++;
		for (size_t i = 0; i < 2 * names; i++)
			start[i + 1] += start[i];
		for (size_t i = 2; i < items; i++)
			sorted[start[ranks[2 * t->nodes.data[i / 2].name + i % 2]]++] = (uint32_t)i;
		memset(t->first_item, 0xff, t->nodes.count * sizeof(*t->first_item));
		for (size_t i = items > 2 ? items - 2 : 0; i-- > 0;) {
			uint32_t item = sorted[i], parent = t->nodes.data[item / 2].parent;
			t->next_item[item] = t->first_item[parent];
			t->first_item[parent] = item;
		}
	}
	free(ranks);
	free(start);
	free(sorted);
	return ok ? FW_OK : FW_NO_MEMORY;
}

struct fw_str fw_name_tree_module(const struct fw_name_tree *t, uint32_t name)
{
	struct fw_str s = fw_intern_get(&t->names, name);
	if (!t->o.modules)
		return (struct fw_str){ s.s, 0 };
	const char *end = memchr(s.s, '\n', s.n);
	return (struct fw_str){ s.s + 1, (size_t)(end - s.s) - 1 };
}

struct fw_str fw_name_tree_text(const struct fw_name_tree *t, uint32_t name)
{
	struct fw_str s = fw_intern_get(&t->names, name);
	const char *end = t->o.modules ? memchr(s.s, '\n', s.n) : s.s;
	return (struct fw_str){ end + 1, (size_t)(s.s + s.n - end) - 1 };
}
