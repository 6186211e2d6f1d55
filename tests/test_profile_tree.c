#include <check.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/report/profile_tree.h"

Suite *profile_tree_suite(void);

static struct fw_place_key place(uint32_t module, uint64_t pc)
{
	return (struct fw_place_key){ pc, module, 0 };
}

static uint32_t path(struct fw_tree *t, const uint64_t *pcs, unsigned n)
{
	uint32_t node = 0;
	for (unsigned i = 0; i < n; i++)
		node = fw_tree_node(t, node, place(1, pcs[i]));
	return node;
}

START_TEST(equal_prefixes_share_nodes)
{
	struct fw_tree t;
	ck_assert(fw_tree_init(&t));
	uint32_t a = path(&t, (uint64_t[]){ 1, 2, 3 }, 3);
	uint32_t b = path(&t, (uint64_t[]){ 1, 2, 4 }, 3);
	ck_assert_uint_eq(t.nodes.count, 5);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(path(&t, (uint64_t[]){ 1, 2, 3 }, 3), a);
	// the same pc in another module, with other flags, is another place
	ck_assert_uint_ne(fw_tree_node(&t, 0, place(2, 1)), fw_tree_node(&t, 0, place(1, 1)));
	ck_assert_uint_ne(fw_tree_node(&t, 0, (struct fw_place_key){ 1, 1, FW_PLACE_EXACT }),
			  fw_tree_node(&t, 0, place(1, 1)));
	fw_tree_deinit(&t);
}
END_TEST

START_TEST(samples_are_counted_per_stack_thread_and_event)
{
	struct fw_tree t;
	ck_assert(fw_tree_init(&t));
	uint32_t a = path(&t, (uint64_t[]){ 1, 2 }, 2);
	ck_assert(fw_tree_count(&t, a, 0, 0, 1, 10));
	ck_assert(fw_tree_count(&t, a, 0, 0, 1, 5));
	ck_assert(fw_tree_count(&t, a, 1, 0, 1, 1));
	ck_assert(fw_tree_count(&t, a, 0, 1, 1, 1));
	ck_assert_uint_eq(t.stacks.count, 3);
	ck_assert_uint_eq(t.stacks.data[0].samples, 2);
	ck_assert_uint_eq(t.stacks.data[0].weight, 15);
	fw_tree_deinit(&t);
}
END_TEST

static void check_equal(const struct fw_tree *a, const struct fw_tree *b)
{
	ck_assert_uint_eq(a->nodes.count, b->nodes.count);
	for (size_t i = 1; i < a->nodes.count; i++) {
		ck_assert_uint_eq(a->nodes.data[i].parent, b->nodes.data[i].parent);
		ck_assert_uint_eq(a->nodes.data[i].key.pc, b->nodes.data[i].key.pc);
		ck_assert_uint_eq(a->nodes.data[i].key.module, b->nodes.data[i].key.module);
		ck_assert_uint_lt(a->nodes.data[i].parent, i);
	}
	ck_assert_uint_eq(a->stacks.count, b->stacks.count);
	for (size_t i = 0; i < a->stacks.count; i++) {
		ck_assert_uint_eq(a->stacks.data[i].node, b->stacks.data[i].node);
		ck_assert_uint_eq(a->stacks.data[i].samples, b->stacks.data[i].samples);
		ck_assert_uint_eq(a->stacks.data[i].weight, b->stacks.data[i].weight);
	}
}

enum { STACKS = 20000, WORKERS = 3 };

/** Stack number i, the same whoever adds it. */
static void add_stack(struct fw_tree *t, uint64_t i)
{
	uint64_t pcs[12], x = i * 2654435761u;
	unsigned n = 1 + (unsigned)(i % 12);
	for (unsigned k = 0; k < n; k++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		pcs[k] = x >> 58;	// few values, many shared prefixes
	}
	ck_assert(fw_tree_count(t, path(t, pcs, n), (uint32_t)(i % 5), 0, 1, i));
}

static void merged(struct fw_tree *ret, unsigned workers, bool backwards)
{
	const uint32_t threads[] = { 0, 1, 2, 3, 4 };
	ck_assert(fw_tree_init(ret));
	for (unsigned w = 0; w < workers; w++) {
		struct fw_tree t;
		unsigned mine = backwards ? workers - 1 - w : w;
		ck_assert(fw_tree_init(&t));
		for (uint64_t i = 0; i < STACKS; i++)
			if (i % workers == mine)
				add_stack(&t, i);
		uint32_t *map = calloc(t.nodes.count, sizeof(*map));
		ck_assert(fw_tree_merge(ret, &t, threads, map));
		free(map);
		fw_tree_deinit(&t);
	}
	uint32_t *map = calloc(ret->nodes.count, sizeof(*map));
	ck_assert(fw_tree_sort(ret, map));
	ck_assert_uint_eq(map[0], 0);
	free(map);
}

START_TEST(the_result_does_not_depend_on_who_found_what)
{
	struct fw_tree one, three, reversed;
	merged(&one, 1, false);
	merged(&three, WORKERS, false);
	merged(&reversed, WORKERS, true);
	check_equal(&one, &three);
	check_equal(&one, &reversed);
	uint64_t samples = 0, weight = 0;
	for (size_t i = 0; i < one.stacks.count; i++) {
		samples += one.stacks.data[i].samples;
		weight += one.stacks.data[i].weight;
	}
	ck_assert_uint_eq(samples, STACKS);
	ck_assert_uint_eq(weight, (uint64_t)STACKS * (STACKS - 1) / 2);
	fw_tree_deinit(&one);
	fw_tree_deinit(&three);
	fw_tree_deinit(&reversed);
}
END_TEST

START_TEST(siblings_are_sorted_by_module_then_pc)
{
	struct fw_tree t;
	uint32_t map[5];
	ck_assert(fw_tree_init(&t));
	uint32_t c = fw_tree_node(&t, 0, place(2, 1));
	uint32_t b = fw_tree_node(&t, 0, place(1, 9));
	uint32_t a = fw_tree_node(&t, 0, place(1, 5));
	uint32_t below = fw_tree_node(&t, c, place(0, 0));
	ck_assert(fw_tree_sort(&t, map));
	ck_assert_uint_eq(map[a], 1);
	ck_assert_uint_eq(map[b], 2);
	ck_assert_uint_eq(map[c], 3);
	ck_assert_uint_eq(map[below], 4);
	ck_assert_uint_eq(t.nodes.data[4].parent, 3);
	fw_tree_deinit(&t);
}
END_TEST

START_TEST(without_memory_nothing_is_lost)
{
	for (uint64_t nth = 1; nth < 40; nth++) {
		struct fw_tree t;
		fw_alloc_fail_at(nth);
		bool ok = fw_tree_init(&t);
		uint64_t added = 0;
		for (uint64_t i = 0; ok && i < 5000; i++) {
			uint32_t node = fw_tree_node(&t, 0, place(1, i));
			if (node == FW_NO_NODE)
				break;
			ck_assert(fw_tree_node(&t, 0, place(1, i)) == node);
			added++;
		}
		fw_alloc_fail_at(0);
		if (ok) {
			ck_assert_uint_eq(t.nodes.count, added + 1);
			ck_assert_uint_ne(fw_tree_node(&t, 0, place(1, 6000)), FW_NO_NODE);
			fw_tree_deinit(&t);
		}
	}
}
END_TEST

Suite *profile_tree_suite(void)
{
	Suite *s = suite_create("profile_tree");
	TCase *t = tcase_create("tree");
	tcase_add_test(t, equal_prefixes_share_nodes);
	tcase_add_test(t, samples_are_counted_per_stack_thread_and_event);
	tcase_add_test(t, the_result_does_not_depend_on_who_found_what);
	tcase_add_test(t, siblings_are_sorted_by_module_then_pc);
	tcase_add_test(t, without_memory_nothing_is_lost);
	suite_add_tcase(s, t);
	return s;
}
