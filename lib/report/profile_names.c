#include <stdlib.h>
#include <string.h>

#include "lib/report/names.h"
#include "lib/report/profile_internal.h"

// ---- places ----

struct named { struct fw_place_key key; uint32_t node; };

static int by_key(const void *pa, const void *pb)
{
	const struct fw_place_key *a = &((const struct named *)pa)->key;
	const struct fw_place_key *b = &((const struct named *)pb)->key;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return (a->flags > b->flags) - (a->flags < b->flags);
}

static struct fw_profile_frame frame_of(const struct fw_profile *p, struct fw_place_key key)
{
	struct fw_profile_frame f = {
		.module = key.flags & FW_PLACE_JIT ? FW_NO_MODULE : key.module,
		.pc = key.pc,
		.lookup = key.pc,
		.trust = (enum fw_trust)(key.flags & FW_PLACE_TRUST),
		.kernel = key.flags & FW_PLACE_KERNEL,
		.truncated = key.flags & FW_PLACE_TRUNCATED,
		.jit = key.flags & FW_PLACE_JIT,
	};
	if (!f.truncated && !(key.flags & FW_PLACE_EXACT))
		f.lookup -= p->recording->cpu->call_back;
	return f;
}

/** Each distinct place a frame, nodes pointed at theirs. */
static bool list_frames(struct fw_profile *p, const struct fw_tree *tree)
{
	struct fw_profile_private *private = p->private;
	uint32_t n = (uint32_t)tree->nodes.count;
	struct named *list = calloc(n, sizeof(*list));
	p->nodes = fw_arena_array(&private->arena, n, sizeof(*p->nodes));
	p->frames = fw_arena_array(&private->arena, n, sizeof(*p->frames));
	private->frame_keys = fw_arena_array(&private->arena, n, sizeof(*private->frame_keys));
	if (list == NULL || p->nodes == NULL || p->frames == NULL ||
	    private->frame_keys == NULL) {
		free(list);
		return false;
	}
	p->num_nodes = n;
	for (uint32_t i = 1; i < n; i++) {
		list[i - 1] = (struct named){ tree->nodes.data[i].key, i };
		p->nodes[i].parent = tree->nodes.data[i].parent;
	}
	qsort(list, n - 1, sizeof(*list), by_key);
	for (uint32_t i = 0; i + 1 < n; i++) {
		if (i == 0 || by_key(&list[i - 1], &list[i]) != 0) {
			private->frame_keys[p->num_frames] = list[i].key;
			p->frames[p->num_frames++] = frame_of(p, list[i].key);
		}
		p->nodes[list[i].node].frame = p->num_frames - 1;
	}
	free(list);
	return true;
}

// ---- modules ----

static void fill_module(struct fw_profile *p, uint32_t number)
{
	static const struct fw_symbol_file none = { .status = FW_SYMBOLS_NOT_SEARCHED };
	struct fw_profile_module *m = &p->modules[number];
	struct fw_profile_binder *b = &((struct fw_profile_private *)p->private)->binder;
	const struct fw_dso *dso = fw_spaces_dso_at(p->recording->spaces, number);
	m->path = dso->path;
	// "[kernel.kallsyms]_text": what the map starts at is no part of the name
	const char *end = dso->kind != FW_DSO_KERNEL ? NULL :
			  memchr(dso->path.s, ']', dso->path.n);
	if (end != NULL)
		m->path.n = (size_t)(end + 1 - dso->path.s);
	m->name = fw_base_name(m->path);
	if (m->name.n == 0)
		m->name = m->path;
	m->build_id = dso->build_id;
	m->id_recorded = dso->build_id.n != 0;
	m->symbols = &none;
	if (m->frames == 0)
		return;
	if (dso->kind == FW_DSO_KERNEL || dso->kind == FW_DSO_KERNEL_MODULE) {
		const struct fw_profile_kernel *k =
			&((struct fw_profile_private *)p->private)->kernel;
		m->symbols = &k->symbols;
		m->used_path = k->list == NULL ? NULL : k->path;
		return;
	}
	const struct fw_profile_dso *d = fw_binder_dso(b, number);
	if (d == NULL)
		return;
	m->base = d->first_base;
	m->size = d->first_size;
	m->file_offset = d->first_offset;
	if (!m->id_recorded)
		m->build_id = d->code_id;
	if (d->have_head)
		m->link_base = d->head.base;
	if (d->symbols != NULL)
		m->symbols = d->symbols;
	m->used_path = d->path != NULL && d->have_head ? d->path : m->symbols->path;
}

/** Frames and samples that passed through each module. */
static bool count_modules(struct fw_profile *p)
{
	uint32_t *seen = calloc((size_t)p->num_modules + 1, sizeof(*seen));
	if (seen == NULL)
		return false;
	for (uint32_t i = 0; i < p->num_stacks; i++) {
		const struct fw_profile_stack *s = &p->stacks[i];
		for (uint32_t n = s->node; n != 0; n = p->nodes[n].parent) {
			uint32_t module = p->frames[p->nodes[n].frame].module;
			if (module >= p->num_modules)
				continue;
			p->modules[module].frames += s->samples;
			if (seen[module] != i + 1)
				p->modules[module].samples += s->samples;
			seen[module] = i + 1;
		}
	}
	free(seen);
	return true;
}

static bool list_modules(struct fw_profile *p)
{
	struct fw_profile_private *private = p->private;
	uint32_t n = fw_spaces_num_dsos(p->recording->spaces);
	p->modules = fw_arena_array(&private->arena, (size_t)n + 1, sizeof(*p->modules));
	if (p->modules == NULL)
		return false;
	p->num_modules = n;
	if (!count_modules(p))
		return false;
	for (uint32_t i = 0; i < n; i++)
		fill_module(p, i);
	return true;
}

// ---- names ----

struct namer {
	struct fw_profile *p;
	FW_VEC(struct fw_profile_line) lines;
	struct fw_report_frame scratch;
};

static bool push_names(struct namer *n, struct fw_profile_frame *f)
{
	const struct fw_report_frame *s = &n->scratch;
	bool inlines = !((struct fw_profile_private *)n->p->private)->options.no_inline;
	for (uint32_t i = 0; inlines && i < s->num_inlines; i++)
		if (!fw_vec_push(&n->lines, ((struct fw_profile_line){
			s->inlines[i].function, s->inlines[i].file, s->inlines[i].line, 0 })))
			return false;
	struct fw_profile_line own = { s->function, s->file, s->line, s->function_pc_offset };
	if (!inlines && s->num_inlines != 0) {	// the place itself, not the outermost call's
		own.file = s->inlines[0].file;
		own.line = s->inlines[0].line;
	}
	if (!fw_vec_push(&n->lines, own))
		return false;
	f->num_lines = (uint32_t)n->lines.count - f->first_line;
	return true;
}

static void clear(struct fw_report_frame *f)
{
	f->function = f->file = (struct fw_str){ NULL, 0 };
	f->function_offset = f->function_pc_offset = 0;
	f->line = f->line_offset = f->num_inlines = 0;
	f->have_line = false;
}

static void name_kernel(struct namer *n, const struct fw_profile_frame *f)
{
	struct fw_profile_private *private = n->p->private;
	struct fw_report_frame *s = &n->scratch;
	uint64_t start;
	if (fw_profile_kernel_name(&private->kernel, n->p, private->binder.symbols,
				   &private->options, f->module, f->lookup, &s->function, &start))
		s->function_pc_offset = f->pc - start;
}

static void name_made(struct namer *n, const struct fw_profile_frame *f, struct fw_place_key key)
{
	struct fw_profile_binder *b = &((struct fw_profile_private *)n->p->private)->binder;
	struct fw_report_frame *s = &n->scratch;
	const struct fw_perf_map *map;
	uint64_t start;
	if (key.flags & FW_PLACE_DUMP) {
		const struct fw_jitdump *d = fw_profile_jitdump(&b->jit, key.module, "");
		const struct fw_jit_code *c = d == NULL ? NULL :
			fw_jitdump_code(d, key.flags >> FW_PLACE_NUMBER);
		if (c == NULL)
			return;
		s->function = c->name;
		s->function_pc_offset = f->pc - c->start;
		(void)fw_jit_code_line(c, f->lookup, &s->file, &s->line);
		return;
	}
	map = fw_profile_perf_map(&b->jit, key.module);
	if (map != NULL && fw_perf_map_find(map, f->lookup, &s->function, &start))
		s->function_pc_offset = f->pc - start;
}

static bool name_frame(struct namer *n, uint32_t i)
{
	struct fw_profile_frame *f = &n->p->frames[i];
	struct fw_profile_binder *b = &((struct fw_profile_private *)n->p->private)->binder;
	clear(&n->scratch);
	f->first_line = (uint32_t)n->lines.count;
	if (f->kernel) {
		name_kernel(n, f);
	} else if (f->jit) {
		name_made(n, f, ((struct fw_profile_private *)n->p->private)->frame_keys[i]);
	} else if (f->module != FW_NO_MODULE) {
		struct fw_profile_dso *d = fw_binder_dso(b, f->module);
		const struct fw_image *image = d == NULL ? NULL : fw_binder_image(b, d);
		if (image != NULL)
			fw_frame_names(image, f->lookup, f->pc, &n->scratch);
	}
	return push_names(n, f);
}

enum fw_code fw_profile_name(struct fw_profile *p, const struct fw_tree *tree,
			     struct fw_error *err)
{
	struct namer *n = calloc(1, sizeof(*n));
	bool ok = n != NULL && list_frames(p, tree);
	if (ok)
		n->p = p;
	for (uint32_t i = 0; ok && i < p->num_frames; i++)
		ok = name_frame(n, i);
	if (n != NULL) {
		p->lines = n->lines.data;
		p->num_lines = (uint32_t)n->lines.count;
	}
	free(n);
	ok = ok && list_modules(p);
	return ok ? FW_OK : fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
}
