#include "lib/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <xxhash.h>

#include "lib/report/names.h"
#include "lib/snapshot/crash_reason.h"
#include "symfiles/elf_image.h"
#include "symfiles/lazy_cfi.h"

/** What a report needs beyond its plain data: how names are looked up later. */
struct fw_report_private {
	struct fw_symbols *symbols;
	struct fw_arena arena;
	struct fw_report_options options;
	uint8_t *reloaded;		// per module: its broken image was replaced once
	struct fw_lazy_cfi **rules;	// per module: of those that have no rules in their image
	struct fw_symbol_file *vdso;	// with an image of ours; NULL: none made
};

static void module_key(const struct fw_report *r, uint32_t module, struct fw_symbol_key *key)
{
	const struct fw_module_info *m = r->modules[module].info;
	*key = (struct fw_symbol_key){
		.debug_file = m->debug_file,
		.code_file = m->code_file,
		.debug_id = &m->debug_id,
		.code_id = &m->code_id,
		.cpu = r->snapshot->cpu->id,
	};
}

/** The kernel's vDSO lies in no file; where its memory was captured, that tells the same. */
static const struct fw_symbol_file *vdso_symbols(struct fw_report *r, uint32_t module)
{
	const struct fw_symbol_file *found = r->modules[module].symbols;
	const struct fw_module_info *m = r->modules[module].info;
	if (found->image != NULL || m->base != r->snapshot->vdso || m->base == 0)
		return found;
	if (r->private->vdso != NULL)
		return r->private->vdso;
	const struct fw_segment *s = fw_memory_find(&r->snapshot->memory, m->base);
	struct fw_symbol_file *file = fw_arena_alloc(&r->private->arena, sizeof(*file));
	struct fw_image *image;
	if (s == NULL || file == NULL)
		return found;
	const uint64_t before = m->base - s->start, left = s->size - before;
	if (fw_elf_compile_memory(s->data + before, m->size < left ? m->size : left,
				  &image, NULL) != FW_OK)
		return found;
	*file = (struct fw_symbol_file){ .status = FW_SYMBOLS_LOADED, .image = image };
	snprintf(file->message, sizeof(file->message), "from its image in the capture");
	return r->private->vdso = file;
}

static const struct fw_image *image_of(void *context, uint32_t module)
{
	struct fw_report *r = context;
	struct fw_symbol_key key;
	module_key(r, module, &key);
	r->modules[module].symbols = fw_symbols_load(r->private->symbols, &key);
	r->modules[module].symbols = vdso_symbols(r, module);
	return r->modules[module].symbols->image;
}

static const struct fw_image *names_of(void *context, uint32_t module, uint32_t offset)
{
	struct fw_report *r = context;
	return fw_symbol_names(r->modules[module].symbols, offset);
}

/** What gives the rules of a lazily read module; NULL: they are in its image, or none. */
static struct fw_lazy_cfi *lazy_rules(struct fw_report *r, uint32_t module)
{
	const struct fw_symbol_file *file = r->modules[module].symbols;
	struct fw_lazy_cfi **rules = &r->private->rules[module];
	if (file->rules_elf == NULL ||
	    (*rules == NULL &&
	     fw_lazy_cfi_open(file->rules_elf, file->rules_debug, rules) != FW_OK))
		return NULL;
	return *rules;
}

static const struct fw_rule *rules_of(void *context, uint32_t module, uint32_t offset,
				      uint32_t *ret_count, struct fw_programs *programs)
{
	struct fw_lazy_cfi *rules = lazy_rules(context, module);
	*ret_count = 0;
	return rules == NULL ? NULL : fw_lazy_cfi_rules(rules, offset, ret_count, programs);
}

static bool code_of(void *context, uint32_t module, uint64_t address, uint8_t *out, uint64_t n)
{
	struct fw_report *r = context;
	struct fw_symbol_key key;
	module_key(r, module, &key);
	const struct fw_elf *elf = fw_symbols_elf(r->private->symbols, &key);
	return elf != NULL && fw_elf_code(elf, address - r->modules[module].info->base, out, n);
}

static bool entry_of(void *context, uint32_t module, uint64_t *ret)
{
	struct fw_report *r = context;
	struct fw_symbol_key key;
	uint64_t offset;
	module_key(r, module, &key);
	const struct fw_elf *elf = fw_symbols_elf(r->private->symbols, &key);
	if (elf == NULL || !fw_elf_entry(elf, &offset))
		return false;
	*ret = r->modules[module].info->base + offset;
	return true;
}

/** Replace a module's broken cached image; false when that was done before. */
static bool replace_image(struct fw_report *r, uint32_t module)
{
	struct fw_symbol_key key;
	if (r->private->reloaded[module])
		return false;
	r->private->reloaded[module] = 1;
	module_key(r, module, &key);
	r->modules[module].symbols = fw_symbols_reload(r->private->symbols, &key);
	return true;
}

static struct fw_str base_name_or_none(struct fw_str path)
{
	return path.s == NULL ? path : fw_base_name(path);
}

static enum fw_code compose_modules(struct fw_report *r)
{
	static const struct fw_symbol_file not_searched = { .status = FW_SYMBOLS_NOT_SEARCHED };
	const struct fw_snapshot *s = r->snapshot;
	r->modules = fw_arena_array(&r->private->arena, s->num_modules + 1, sizeof(*r->modules));
	r->private->reloaded = fw_arena_array(&r->private->arena, s->num_modules + 1, 1);
	r->private->rules = fw_arena_array(&r->private->arena, s->num_modules + 1,
					   sizeof(*r->private->rules));
	if (r->modules == NULL || r->private->reloaded == NULL || r->private->rules == NULL)
		return FW_NO_MEMORY;
	r->num_modules = s->num_modules;
	for (uint32_t i = 0; i < s->num_modules; i++) {
		struct fw_report_module *m = &r->modules[i];
		m->info = &s->modules[i];
		m->name = base_name_or_none(m->info->code_file);
		m->debug_name = base_name_or_none(m->info->debug_file);
		m->symbols = &not_searched;
	}
	return FW_OK;
}

/** All frames of a lazily read module are asked for at once; its failure is told. */
static void fetch_names(struct fw_report *r, uint32_t module)
{
	FW_VEC(uint32_t) offsets = { 0 };
	struct fw_report_module *m = &r->modules[module];
	struct fw_error why;
	for (uint32_t t = 0; t < r->num_threads; t++) {
		for (uint32_t i = 0; i < r->threads[t].num_frames; i++) {
			const struct fw_frame *f = &r->threads[t].frames[i];
			uint64_t at = (f->signal_frame ? f->pc : f->lookup) - m->info->base;
			if (f->module == module && at <= UINT32_MAX)
				(void)fw_vec_push(&offsets, (uint32_t)at);
		}
	}
	fw_lazy_prefetch(m->symbols->lazy, offsets.data, offsets.count);
	fw_vec_deinit(&offsets);
	if (fw_lazy_failure(m->symbols->lazy, &why) == FW_OK)
		return;
	struct fw_symbol_file *copy = fw_arena_alloc(&r->private->arena, sizeof(*copy));
	if (copy == NULL)
		return;
	*copy = *m->symbols;
	snprintf(copy->message, sizeof(copy->message), "no names: %.180s", why.message);
	m->symbols = copy;
}

/** After walking: modules on no stack are looked for, not read. */
static void finish_modules(struct fw_report *r)
{
	struct fw_symbol_key key;
	for (uint32_t i = 0; i < r->num_modules; i++) {
		struct fw_report_module *m = &r->modules[i];
		// What only a repeated walk or a look at a candidate loaded was not needed.
		if (!m->on_stack) {
			module_key(r, i, &key);
			m->symbols = fw_symbols_look_up(r->private->symbols, &key);
		}
		m->cfi = FW_CFI_UNKNOWN;
		if (m->on_stack && m->symbols->lazy != NULL)
			fetch_names(r, i);
		if (m->symbols->image != NULL) {
			const struct fw_image *image = m->symbols->image;
			const struct fw_lazy_cfi *lazy = lazy_rules(r, i);
			bool rules = image->section_bytes[FW_SEC_CFI_RULES] != 0 ||
				     image->section_bytes[FW_SEC_WIN_RECORDS] != 0 ||
				     (lazy != NULL && fw_lazy_cfi_found(lazy));
			m->cfi = rules ? FW_CFI_LOADED : FW_CFI_MISSING;
		}
	}
}

static void mark_on_stack(struct fw_report *r, const struct fw_report_thread *t)
{
	for (uint32_t i = 0; i < t->num_frames; i++)
		if (t->frames[i].module != FW_NO_MODULE)
			r->modules[t->frames[i].module].on_stack = true;
}

static uint64_t hash_stack(const struct fw_report *r, const struct fw_walk_result *result)
{
	uint64_t hash = result->stop;
	for (size_t i = 0; i < result->frames.count; i++) {
		const struct fw_frame *f = &result->frames.data[i];
		uint64_t base = f->module == FW_NO_MODULE ? 0 : r->modules[f->module].info->base;
		uint64_t parts[3] = { f->pc - base, f->module, f->trust };
		hash = XXH3_64bits_withSeed(parts, sizeof(parts), hash);
	}
	return hash;
}

static uint64_t max_frames(const struct fw_report *r)
{
	return r->private->options.registers ? FW_MAX_REGISTER_FRAMES : FW_MAX_REPORT_FRAMES;
}

/** Copy a walk into the thread, within the report's cap on frames. */
static enum fw_code keep_walk(struct fw_report *r, struct fw_report_thread *t,
			      const struct fw_walk_result *result, uint64_t *total)
{
	struct fw_arena *a = &r->private->arena;
	size_t n = result->frames.count, room = max_frames(r) - *total;
	if (n > room) {
		r->frames_dropped += n - room;
		n = room;
	}
	*total += n;
	t->num_frames = (uint32_t)n;
	t->frames = fw_arena_array(a, n + 1, sizeof(*t->frames));
	t->stop = n < result->frames.count ? FW_STOP_LIMIT : result->stop;
	t->stop_detail = n < result->frames.count ?
		"the report's limit of frames" :
		fw_arena_strndup(a, result->stop_detail, strlen(result->stop_detail));
	t->num_candidates = result->num_candidates;
	struct fw_candidate *candidates =
		fw_arena_array(a, result->num_candidates + 1, sizeof(*candidates));
	size_t regs = result->regs.count < n ? result->regs.count : n;
	t->regs = regs == 0 ? NULL : fw_arena_alloc(a, regs * sizeof(*t->regs));
	if (t->frames == NULL || t->stop_detail == NULL || candidates == NULL ||
	    (regs != 0 && t->regs == NULL))
		return FW_NO_MEMORY;
	if (n != 0)
		memcpy(t->frames, result->frames.data, n * sizeof(*t->frames));
	if (regs != 0)
		memcpy(t->regs, result->regs.data, regs * sizeof(*t->regs));
	if (result->num_candidates != 0)
		memcpy(candidates, result->candidates,
		       result->num_candidates * sizeof(*candidates));
	t->candidates = candidates;
	t->stack_hash = hash_stack(r, result);
	return FW_OK;
}

static bool chosen(const struct fw_report *r, uint32_t index, uint32_t peer_index)
{
	const struct fw_report_options *o = &r->private->options;
	switch (o->choice) {
	case FW_THREADS_ALL: return true;
	case FW_THREADS_CRASHING: return index == r->snapshot->crashing_thread;
	case FW_THREADS_ID: return r->snapshot->threads[index].id == o->chosen;
	case FW_THREADS_INDEX: return peer_index == o->chosen;
	}
	return false;
}

static enum fw_code select_threads(struct fw_report *r, struct fw_error *err)
{
	const struct fw_snapshot *s = r->snapshot;
	r->threads = fw_arena_array(&r->private->arena, s->num_threads + 1, sizeof(*r->threads));
	if (r->threads == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	r->crashing = r->crashing_index = -1;
	for (uint32_t i = 0; i < s->num_threads; i++) {
		if (s->threads[i].is_dump_writer)
			continue;
		uint32_t peer = r->total_threads++;
		bool crashing = i == s->crashing_thread;
		if (crashing)
			r->crashing_index = peer;
		if (!chosen(r, i, peer))
			continue;
		if (crashing)
			r->crashing = r->num_threads;
		r->threads[r->num_threads++] = (struct fw_report_thread){
			.info = &s->threads[i], .index = i, .peer_index = peer,
			.crashing = crashing,
		};
	}
	if (r->num_threads == 0 && (r->private->options.choice == FW_THREADS_ID ||
				    r->private->options.choice == FW_THREADS_INDEX))
		return fw_fail(err, FW_NOT_FOUND, NULL, "no thread %s%llu in the capture",
			       r->private->options.choice == FW_THREADS_INDEX ? "#" : "",
			       (unsigned long long)r->private->options.chosen);
	return FW_OK;
}

/** Walk one thread; again when a cached image turned out to be broken on the way. */
static enum fw_code walk_one(struct fw_report *r, struct fw_walker **walker, uint32_t index,
			     struct fw_walk_result *result, struct fw_error *err)
{
	const struct fw_walk_source source = {
		.context = r, .image = image_of, .names = names_of, .rules = rules_of,
		.code = code_of, .entry = entry_of,
	};
	const struct fw_report_options *o = &r->private->options;
	const struct fw_walk_options options = {
		o->registers && o->max_frames > FW_MAX_REGISTER_FRAMES / 2 ?
			FW_MAX_REGISTER_FRAMES / 2 : o->max_frames,
		o->registers,
	};
	for (;;) {
		enum fw_code code = FW_OK;
		if (*walker == NULL)
			code = fw_walker_create(r->snapshot, &source, &options, walker, err);
		if (code == FW_OK)
			code = fw_walk_thread(*walker, index, result);
		if (code != FW_OK)
			return fw_fail(err, code, NULL, "out of memory");
		if (result->corrupt_module == FW_NO_MODULE ||
		    !replace_image(r, result->corrupt_module))
			return FW_OK;
		fw_walker_destroy(*walker);
		*walker = NULL;
	}
}

/** A thread of a report that is full already: walking it could take ages and show nothing. */
static enum fw_code leave_out(struct fw_report *r, struct fw_report_thread *t, bool late)
{
	t->frames = fw_arena_array(&r->private->arena, 1, sizeof(*t->frames));
	t->stop = FW_STOP_LIMIT;
	t->stop_detail = late ? "the report's limit of time" : "the report's limit of frames";
	return t->frames == NULL ? FW_NO_MEMORY : FW_OK;
}

static bool out_of_time(const struct timespec *start)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - start->tv_sec > FW_MAX_REPORT_SECONDS;
}

static enum fw_code walk_threads(struct fw_report *r, struct fw_error *err)
{
	struct timespec start;
	struct fw_walk_result result = { 0 };
	struct fw_walker *walker = NULL;
	enum fw_code code = FW_OK;
	uint64_t total = 0;
	bool late = false;
	clock_gettime(CLOCK_MONOTONIC, &start);
	// The crashing thread first: the cap on frames is never at its expense.
	for (int64_t n = -1; n < (int64_t)r->num_threads && code == FW_OK; n++) {
		int64_t i = n < 0 ? r->crashing : n;
		if (i < 0 || (n >= 0 && i == r->crashing))
			continue;
		late = late || out_of_time(&start);
		if (late || total == max_frames(r)) {
			code = leave_out(r, &r->threads[i], late);
			if (code != FW_OK)
				fw_fail(err, code, NULL, "out of memory");
			continue;
		}
		code = walk_one(r, &walker, r->threads[i].index, &result, err);
		if (code == FW_OK) {
			code = keep_walk(r, &r->threads[i], &result, &total);
			if (code != FW_OK)
				fw_fail(err, code, NULL, "out of memory");
			else
				mark_on_stack(r, &r->threads[i]);
		}
	}
	fw_walk_result_deinit(&result);
	fw_walker_destroy(walker);
	return code;
}

enum fw_code fw_report_create(const struct fw_snapshot *snapshot, const char *path,
			      struct fw_symbols *symbols, const struct fw_report_options *options,
			      struct fw_report **ret, struct fw_error *err)
{
	struct fw_report *r = calloc(1, sizeof(*r));
	if (r != NULL)
		r->private = calloc(1, sizeof(*r->private));
	if (r == NULL || r->private == NULL) {
		free(r);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	fw_arena_init(&r->private->arena, 0);
	r->private->symbols = symbols;
	r->private->options = *options;
	r->snapshot = snapshot;
	r->path = path;
	r->pointer_digits = snapshot->cpu->word_size == 4 ? 8 : 16;
	r->crashed = snapshot->exception.present;
	if (r->crashed) {
		fw_crash_reason(snapshot, false, r->reason, sizeof(r->reason));
		fw_crash_reason(snapshot, true, r->breakpad_reason, sizeof(r->breakpad_reason));
		r->crash_address = fw_crash_address(snapshot);
	}
	enum fw_code code = compose_modules(r);
	if (code != FW_OK)
		fw_fail(err, code, NULL, "out of memory");
	if (code == FW_OK)
		code = select_threads(r, err);
	if (code == FW_OK)
		code = walk_threads(r, err);
	if (code != FW_OK) {
		fw_report_destroy(r);
		return code;
	}
	finish_modules(r);
	*ret = r;
	return FW_OK;
}

void fw_report_destroy(struct fw_report *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->num_modules; i++)
		fw_lazy_cfi_close(r->private->rules[i]);
	if (r->private->vdso != NULL)
		fw_image_destroy((struct fw_image *)r->private->vdso->image);
	fw_arena_deinit(&r->private->arena);
	free(r->private);
	free(r);
}

static void find_unloaded(const struct fw_report *r, struct fw_report_frame *f)
{
	const struct fw_snapshot *s = r->snapshot;
	for (uint32_t i = 0; i < s->num_unloaded; i++) {
		const struct fw_unloaded_module *u = &s->unloaded[i];
		if (f->lookup - u->base >= u->size ||
		    f->num_unloaded == sizeof(f->unloaded) / sizeof(f->unloaded[0]))
			continue;
		f->unloaded[f->num_unloaded].name = base_name_or_none(u->code_file);
		f->unloaded[f->num_unloaded++].offset = f->lookup - u->base;
	}
}

static void clear_names(struct fw_report_frame *f)
{
	struct fw_str none = { NULL, 0 };
	f->function = f->file = none;
	f->function_offset = f->function_pc_offset = 0;
	f->line = f->line_offset = 0;
	f->have_line = false;
	f->num_inlines = 0;
}

static void set_names(const struct fw_report_module *m, uint64_t offset,
		      struct fw_report_frame *f)
{
	const struct fw_image *names = m->symbols->image == NULL || offset > UINT32_MAX ? NULL :
				       fw_symbol_names(m->symbols, (uint32_t)offset);
	if (names != NULL)
		fw_frame_names(names, offset, f->module_pc_offset, f);
}

void fw_report_frame(struct fw_report *r, const struct fw_report_thread *thread,
		     uint32_t index, struct fw_report_frame *f)
{
	const struct fw_frame *frame = &thread->frames[index];
	f->index = index;
	f->pc = frame->pc;
	f->lookup = frame->lookup;
	f->trust = frame->trust;
	f->signal_frame = frame->signal_frame;
	f->module = NULL;
	f->module_name = (struct fw_str){ NULL, 0 };
	f->module_offset = f->module_pc_offset = 0;
	f->num_unloaded = 0;
	f->regs = thread->regs != NULL ? &thread->regs[index] :
		  index == 0 ? &thread->info->regs : NULL;
	clear_names(f);
	if (frame->module == FW_NO_MODULE) {
		find_unloaded(r, f);
		return;
	}
	const struct fw_report_module *m = &r->modules[frame->module];
	f->module = m->info;
	f->module_name = m->name;
	f->module_offset = frame->lookup - m->info->base;
	f->module_pc_offset = frame->pc - m->info->base;
	// A signal trampoline is entered at its first byte, by no call.
	uint64_t offset = frame->signal_frame ? f->module_pc_offset : f->module_offset;
	if (m->symbols->image == NULL)
		return;
	set_names(m, offset, f);
	if (__builtin_expect(atomic_load_explicit(&m->symbols->image->corrupt,
						  memory_order_relaxed), 0) &&
	    replace_image(r, frame->module)) {
		clear_names(f);
		set_names(m, offset, f);
	}
}
