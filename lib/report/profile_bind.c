#include <stdlib.h>
#include <string.h>

#include "lib/report/profile_internal.h"

void fw_binder_init(struct fw_profile_binder *b, struct fw_symbols *symbols,
		    struct fw_spaces *spaces, const struct fw_profile_options *options)
{
	*b = (struct fw_profile_binder){ .symbols = symbols, .spaces = spaces,
					 .vdso = options->vdso };
	fw_profile_jit_init(&b->jit, options->jit, options->perf_maps);
	pthread_mutex_init(&b->lock, NULL);
	fw_arena_init(&b->arena, 0);
}

void fw_binder_deinit(struct fw_profile_binder *b)
{
	for (size_t i = 0; i < b->dsos.count; i++) {
		if (b->dsos.data[i] == NULL)
			continue;
		pthread_mutex_destroy(&b->dsos.data[i]->lock);
		free(b->dsos.data[i]->path);
	}
	fw_vec_deinit(&b->dsos);
	fw_vec_deinit(&b->bounds);
	fw_profile_jit_deinit(&b->jit);
	pthread_mutex_destroy(&b->lock);
	fw_arena_deinit(&b->arena);
}

// ---- DSOs ----

/** Recorded ids are build ids in hex. */
static void take_recorded_id(struct fw_profile_dso *d)
{
	const struct fw_ident *id = &d->dso->build_id;
	uint8_t bytes[FW_MAX_IDENT / 2];
	uint8_t n = id->n / 2;
	for (uint8_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(fw_hex_digit[(uint8_t)id->text[2 * i]] << 4 |
				     fw_hex_digit[(uint8_t)id->text[2 * i + 1]]);
	fw_ident_from_build_id(&d->debug_id, bytes, n);
	fw_ident_code_from_build_id(&d->code_id, bytes, n);
}

/** Is the file at d->path the recorded one? Without a recorded id it is believed. */
static bool take_file(struct fw_profile_dso *d)
{
	if (d->path == NULL || !fw_elf_head_read(d->path, &d->head))
		return false;
	if (d->code_id.n != 0) {
		d->verified = fw_ident_equal(&d->code_id, &d->head.code_id);
		return d->verified;
	}
	d->debug_id = d->head.debug_id;
	d->code_id = d->head.code_id;
	return true;
}

static void load(struct fw_profile_binder *b, struct fw_profile_dso *d);

static void resolve(struct fw_profile_binder *b, struct fw_profile_dso *d)
{
	d->resolved = true;
	if (d->dso->kind != FW_DSO_FILE && d->dso->kind != FW_DSO_VDSO)
		return;
	take_recorded_id(d);
	if (d->dso->kind == FW_DSO_FILE)
		d->path = fw_symbols_recorded(b->symbols, d->dso->path);
	else
		d->path = b->vdso != NULL ? strdup(b->vdso) : NULL;
	d->have_head = take_file(d);
	if (d->have_head || d->dso->kind != FW_DSO_FILE)
		return;
	// Moved, deleted or replaced: perhaps it is found by its id.
	free(d->path);
	d->path = NULL;
	load(b, d);
	if (d->symbols != NULL && d->symbols->path != NULL && d->symbols->image != NULL) {
		d->path = strdup(d->symbols->path);
		d->have_head = take_file(d);
	}
}

/** Symbols, once; the caller has d's lock. */
static void load(struct fw_profile_binder *b, struct fw_profile_dso *d)
{
	static const struct fw_symbol_file none = { .status = FW_SYMBOLS_NOT_SEARCHED };
	struct fw_symbol_key key = {
		.debug_file = fw_base_name(d->dso->path),
		.code_file = d->dso->path,
		.debug_id = &d->debug_id,
		.code_id = &d->code_id,
	};
	if (d->loaded)
		return;
	d->loaded = true;
	d->symbols = &none;
	if (d->dso->kind == FW_DSO_FILE) {
		d->symbols = fw_symbols_load(b->symbols, &key);
		atomic_store(&d->image, d->symbols->image);
	} else if (d->dso->kind == FW_DSO_VDSO && d->have_head) {
		const struct fw_image *image;
		if (fw_symbols_open_file(b->symbols, d->path, &image, NULL) == FW_OK)
			atomic_store(&d->image, image);
	}
}

struct fw_profile_dso *fw_binder_dso(struct fw_profile_binder *b, uint32_t number)
{
	struct fw_profile_dso *d = NULL;
	pthread_mutex_lock(&b->lock);
	while (b->dsos.count <= number && fw_vec_push(&b->dsos, NULL))
		;
	if (number < b->dsos.count) {
		d = b->dsos.data[number];
		if (d == NULL && (d = fw_arena_array(&b->arena, 1, sizeof(*d))) != NULL) {
			d->dso = fw_spaces_dso_at(b->spaces, number);
			pthread_mutex_init(&d->lock, NULL);
			b->dsos.data[number] = d;
		}
	}
	pthread_mutex_unlock(&b->lock);
	if (d != NULL) {
		pthread_mutex_lock(&d->lock);
		if (!d->resolved)
			resolve(b, d);
		pthread_mutex_unlock(&d->lock);
	}
	return d;
}

const struct fw_image *fw_binder_image(struct fw_profile_binder *b, struct fw_profile_dso *d)
{
	const struct fw_image *image = atomic_load(&d->image);
	if (image != NULL)
		return image;
	pthread_mutex_lock(&d->lock);
	load(b, d);
	pthread_mutex_unlock(&d->lock);
	return atomic_load(&d->image);
}

// ---- views ----

/** A mapping of a file's code as a module: where its offset 0 lies. */
static bool place_module(struct fw_profile_dso *d, const struct fw_mapping *map,
			 struct fw_module_info *ret)
{
	uint64_t base = map->start - map->file_offset;
	if (d->have_head && !fw_elf_head_place(&d->head, map->start, map->file_offset, &base))
		return false;
	if (!d->have_head && map->file_offset > map->start)
		return false;
	if (base > map->start)
		return false;
	*ret = (struct fw_module_info){
		.base = base, .size = map->end - base,
		.code_file = d->dso->path, .debug_file = d->dso->path,
		.debug_id = d->debug_id, .code_id = d->code_id,
		.is_main = d->have_head && d->head.program,
	};
	return true;
}

struct binding { struct fw_module_info module; uint64_t code_start; uint32_t dso; };

static int by_base(const void *pa, const void *pb)
{
	const struct binding *a = pa, *b = pb;
	return (a->module.base > b->module.base) - (a->module.base < b->module.base);
}

/** Modules may not overlap: what a module has below its code gives way. */
static void part(struct binding *list, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct fw_module_info *below = &list[i - 1].module;
		const struct fw_module_info *m = &list[i].module;
		if (below->base + below->size <= m->base)
			continue;
		if (m->base > list[i - 1].code_start)
			below->size = m->base - below->base;
		else
			below->size = 0;
	}
}

/** Where it lies in the earliest view, whoever binds that first. */
static void note_first(struct fw_profile_dso *d, const struct fw_module_info *m,
		       const struct fw_mapping *map, uint32_t view)
{
	pthread_mutex_lock(&d->lock);
	if (d->first_size == 0 || view < d->first_view) {
		d->first_view = view;
		d->first_base = m->base;
		d->first_size = map->end - map->start;
		d->first_offset = map->file_offset;
	}
	pthread_mutex_unlock(&d->lock);
}

/** A jitdump that its writer has mapped, so that it is found. */
static bool is_dump(const struct fw_dso *dso)
{
	return dso->kind == FW_DSO_FILE && fw_is_jitdump_name(dso->path);
}

static bool is_code(const struct fw_mapping *map)
{
	return !(map->permissions & FW_MAP_KNOWN) || (map->permissions & FW_MAP_EXEC);
}

/** Modules of the view's executable mappings into @p list; how many. */
static uint32_t list_modules(struct fw_profile_binder *b, const struct fw_space_view *view,
			     struct binding *list)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < view->num_maps; i++) {
		const struct fw_mapping *map = &view->maps[i];
		struct fw_module_info m;
		if (!is_code(map) || is_dump(fw_spaces_dso_at(b->spaces, map->dso)))
			continue;
		struct fw_profile_dso *d = fw_binder_dso(b, map->dso);
		if (d == NULL || (d->dso->kind != FW_DSO_FILE && d->dso->kind != FW_DSO_VDSO) ||
		    !place_module(d, map, &m))
			continue;
		note_first(d, &m, map, view->number);
		uint32_t same = 0;	// another segment of a file that is there already
		while (same < n && (list[same].dso != map->dso || list[same].module.base != m.base))
			same++;
		if (same < n)
			list[same].module.size = m.size;
		else
			list[n++] = (struct binding){ m, map->start, map->dso };
	}
	return n;
}

static bool copy_bindings(struct fw_profile_binder *b, struct fw_bound *bound,
			  const struct binding *list, uint32_t n)
{
	bound->modules = fw_arena_array(&b->arena, n + 1, sizeof(*bound->modules));
	bound->dsos = fw_arena_array(&b->arena, n + 1, sizeof(*bound->dsos));
	bound->mapped = fw_arena_array(&b->arena, n + 1, sizeof(*bound->mapped));
	bound->regions = fw_arena_array(&b->arena, bound->view->num_maps + 1,
					sizeof(*bound->regions));
	if (bound->modules == NULL || bound->dsos == NULL || bound->mapped == NULL ||
	    bound->regions == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (list[i].module.size == 0)
			continue;
		bound->mapped[bound->num_modules] = bound->num_modules;
		bound->dsos[bound->num_modules] = list[i].dso;
		bound->modules[bound->num_modules++] = list[i].module;
	}
	for (uint32_t i = 0; i < bound->view->num_maps; i++) {
		const struct fw_mapping *map = &bound->view->maps[i];
		bound->regions[bound->num_regions++] = (struct fw_region){
			.start = map->start, .end = map->end, .file_offset = map->file_offset,
			.permissions = FW_PERM_KNOWN | FW_PERM_READ |
				       (is_code(map) ? FW_PERM_EXEC : 0),
		};
	}
	return true;
}

/** The jitdumps that the view has mapped. */
static bool list_dumps(struct fw_profile_binder *b, struct fw_bound *bound)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		bound->num_dumps = 0;
		for (uint32_t i = 0; i < bound->view->num_maps; i++) {
			const uint32_t dso = bound->view->maps[i].dso;
			if (!is_dump(fw_spaces_dso_at(b->spaces, dso)))
				continue;
			if (pass == 1)
				bound->dumps[bound->num_dumps] = dso;
			bound->num_dumps++;
		}
		if (bound->num_dumps == 0)
			return true;
		if (pass == 0)
			bound->dumps = fw_arena_array(&b->arena, bound->num_dumps,
						      sizeof(*bound->dumps));
		if (bound->dumps == NULL)
			return false;
	}
	return true;
}

const struct fw_jit_code *fw_binder_made(struct fw_profile_binder *b, const struct fw_bound *bound,
					 uint64_t address, uint64_t time, uint32_t *ret_dso,
					 uint32_t *ret_number)
{
	for (uint32_t i = 0; i < bound->num_dumps; i++) {
		const struct fw_dso *dso = fw_spaces_dso_at(b->spaces, bound->dumps[i]);
		char *path = fw_symbols_recorded(b->symbols, dso->path);
		if (path == NULL)
			return NULL;
		const struct fw_jitdump *d = fw_profile_jitdump(&b->jit, dso->number, path);
		free(path);
		if (d == NULL || !fw_jitdump_find(d, address, time, ret_number))
			continue;
		*ret_dso = dso->number;
		return fw_jitdump_code(d, *ret_number);
	}
	return NULL;
}

/** The program's entry point, where its file says so. */
static void find_entry(struct fw_profile_binder *b, struct fw_bound *bound)
{
	for (uint32_t i = 0; i < bound->num_modules && !bound->have_entry; i++) {
		const struct fw_profile_dso *d = fw_binder_dso(b, bound->dsos[i]);
		if (d == NULL || !d->have_head || !d->head.program || d->head.entry == 0 ||
		    d->head.entry < d->head.base)
			continue;
		bound->have_entry = true;
		bound->entry = bound->modules[i].base + (d->head.entry - d->head.base);
	}
}

static struct fw_bound *make_bound(struct fw_profile_binder *b, const struct fw_space_view *view)
{
	struct fw_bound bound = { .view = view }, *ret = NULL;
	struct binding *list = malloc((view->num_maps + 1) * sizeof(*list));
	if (list == NULL)
		return NULL;
	uint32_t n = list_modules(b, view, list);
	qsort(list, n, sizeof(*list), by_base);
	part(list, n);
	pthread_mutex_lock(&b->lock);
	if (copy_bindings(b, &bound, list, n) && list_dumps(b, &bound))
		ret = fw_arena_alloc(&b->arena, sizeof(*ret));
	pthread_mutex_unlock(&b->lock);
	free(list);
	if (ret == NULL)
		return NULL;
	find_entry(b, &bound);
	*ret = bound;
	return ret;
}

const struct fw_bound *fw_binder_bind(struct fw_profile_binder *b,
				      const struct fw_space_view *view)
{
	pthread_mutex_lock(&b->lock);
	while (b->bounds.count <= view->number && fw_vec_push(&b->bounds, NULL))
		;
	struct fw_bound *bound = view->number < b->bounds.count ?
				 b->bounds.data[view->number] : NULL;
	bool room = view->number < b->bounds.count;
	pthread_mutex_unlock(&b->lock);
	// A second thread that makes it at the same time makes the same.
	if (bound != NULL || !room || (bound = make_bound(b, view)) == NULL)
		return bound;
	pthread_mutex_lock(&b->lock);
	if (b->bounds.data[view->number] == NULL)
		b->bounds.data[view->number] = bound;
	bound = b->bounds.data[view->number];
	pthread_mutex_unlock(&b->lock);
	return bound;
}
