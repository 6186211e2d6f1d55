#include "lib/base/vec.h"
#include "lib/snapshot/core.h"

#include <stdlib.h>

/** One struct link_map of the process (glibc's and musl's <link.h>). */
struct linked {
	uint64_t bias, dynamic;
	struct fw_str name;
};

struct links {
	struct fw_snapshot *s;
	struct core_budget budget;
	FW_VEC(struct linked) v;
	bool no_memory;
};

// struct link_map: l_addr, l_name, l_ld, l_next. A hostile list may be a circle: it
// comes by an entry that was remembered (Brent, 1980).
static bool read_list(struct links *l, uint64_t at)
{
	struct fw_snapshot *s = l->s;
	uint64_t word = s->cpu->word_size, bias, name, dynamic, next, remembered = 0;
	while (at && at != remembered && l->v.count < FW_MAX_MODULES && !l->no_memory) {
		if (!core_memory_word(s, at, &bias) || !core_memory_word(s, at + word, &name) ||
		    !core_memory_word(s, at + 2 * word, &dynamic) ||
		    !core_memory_word(s, at + 3 * word, &next))
			break;
		struct linked x = { bias, dynamic, core_string(s, name) };
		if (!fw_vec_push(&l->v, x))
			l->no_memory = true;
		if ((l->v.count & (l->v.count - 1)) == 0)
			remembered = at;
		at = next;
	}
	return l->v.count > 0;
}

static int compare_linked(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;
	return x->dynamic < y->dynamic ? -1 : x->dynamic > y->dynamic;
}

// Without header pages: from the bias, where libraries start, to the end of the
// region that holds the dynamic section.
static bool extent_of(const struct fw_snapshot *s, const struct linked *x,
		      struct core_image *ret)
{
	const struct fw_region *r = fw_snapshot_region(s, x->dynamic);
	const struct fw_region *first = fw_snapshot_region(s, x->bias);
	*ret = (struct core_image){ .base = x->bias };
	if (!r || !first || first->start != x->bias || r->start < first->start)
		return false;
	ret->end = r->end;
	return true;
}

static bool add_one(struct links *l, const struct linked *x)
{
	struct fw_snapshot *s = l->s;
	struct core_image image;
	if (fw_snapshot_module(s, x->dynamic))
		return false;
	if (!core_image_read(s, &l->budget, x->bias, &image) && !extent_of(s, x, &image))
		return false;
	struct fw_module_info info = {
		.base = image.base, .size = image.end - image.base, .code_file = x->name,
		.debug_file = x->name, .debug_id = image.debug_id, .code_id = image.code_id,
	};
	enum fw_code code = fw_snapshot_add_module(s, &info, NULL);
	l->no_memory |= code == FW_NO_MEMORY;
	return code == FW_OK;
}

enum fw_code fw_snapshot_add_linked(struct fw_snapshot *s, uint64_t dynamic,
				    uint32_t *ret_added, struct fw_error *err)
{
	// struct r_debug: a version of 4 bytes and padding, then the list's head.
	struct links l = { .s = s, .budget = { FW_MAX_CORE_STEPS } };
	uint64_t debug, head;
	uint32_t added = 0;
	if (!core_dynamic_tag(s, &l.budget, dynamic, DT_DEBUG, &debug) || !debug ||
	    !core_memory_word(s, debug + s->cpu->word_size, &head) || !read_list(&l, head)) {
		fw_vec_deinit(&l.v);
		return fw_fail(err, l.no_memory ? FW_NO_MEMORY : FW_NOT_FOUND, NULL,
			       "the dynamic linker's list is not in the capture");
	}
	qsort(l.v.data, l.v.count, sizeof(*l.v.data), compare_linked);
	for (size_t i = 0; i < l.v.count && !l.no_memory; i++) {
		if (i == 0 || l.v.data[i].dynamic != l.v.data[i - 1].dynamic)
			added += add_one(&l, &l.v.data[i]);
	}
	fw_vec_deinit(&l.v);
	if (l.no_memory)
		return fw_fail(err, FW_NO_MEMORY, NULL, "no memory for the linker's list");
	*ret_added = added;
	return FW_OK;
}
