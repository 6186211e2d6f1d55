// Folded stacks, and the difference of two profiles in the same form. Grammar: what
// flamegraph.pl, inferno and speedscope read; annotations as inferno writes them.
#include <errno.h>
#include <stdlib.h>

#include "lib/report/profile_by_name.h"

struct folding {
	const struct fw_name_tree *t;
	struct fw_out *out;
	unsigned columns;
	FW_VEC(uint32_t) path;		// items whose subtree is being written, root first
};

static void write_name(struct folding *w, uint32_t node)
{
	fw_out_str(w->out, fw_name_tree_text(w->t, w->t->nodes.data[node].name));
}

static void write_line(struct folding *w, uint32_t node)
{
	for (size_t i = 0; i < w->path.count; i++) {
		write_name(w, w->path.data[i] / 2);
		fw_out_byte(w->out, ';');
	}
	write_name(w, node);
	for (unsigned i = 0; i < w->columns; i++) {
		fw_out_byte(w->out, ' ');
		fw_out_dec(w->out, w->t->nodes.data[node].self[i]);
	}
	fw_out_byte(w->out, '\n');
}

static bool write_tree(struct folding *w)
{
	const struct fw_name_tree *t = w->t;
	uint32_t item = t->nodes.count ? t->first_item[0] : FW_NO_ITEM;
	while (!w->out->failed) {
		if (item == FW_NO_ITEM) {
			if (!w->path.count)
				return true;
			item = t->next_item[w->path.data[--w->path.count]];
			continue;
		}
		uint32_t node = item / 2;
		const uint64_t *self = t->nodes.data[node].self;
		if (!(item & 1)) {
			if (self[0] || self[1])
				write_line(w, node);
			item = t->next_item[item];
		} else {
			if (!fw_vec_push(&w->path, item))
				return false;
			item = t->first_item[node];
		}
	}
	return true;
}

static void fold(const struct fw_profile *a, const struct fw_profile *b,
		 const struct fw_name_tree_options *o, struct fw_out *out)
{
	struct fw_name_tree t;
	struct folding w = { .t = &t, .out = out, .columns = b ? 2 : 1 };
	fw_name_tree_init(&t, o);
	enum fw_code code = fw_name_tree_add(&t, a, 0);
	if (code == FW_OK && b)
		code = fw_name_tree_add(&t, b, 1);
	if (code == FW_OK)
		code = fw_name_tree_sort(&t);
	if (code != FW_OK || !write_tree(&w))
		fw_out_fail(out, code == FW_LIMIT ? EFBIG : ENOMEM);
	fw_vec_deinit(&w.path);
	fw_name_tree_deinit(&t);
}

void fw_profile_write_folded(const struct fw_profile *p, const struct fw_folded_options *o,
			     struct fw_out *out)
{
	struct fw_name_tree_options tree = { .no_inline = o->no_inline, .weight = o->weight,
					.annotate = o->annotate };
	fold(p, NULL, &tree, out);
}

void fw_profile_write_diff(const struct fw_profile *before, const struct fw_profile *after,
			   struct fw_out *out)
{
	fold(before, after, &(struct fw_name_tree_options){ 0 }, out);
}
