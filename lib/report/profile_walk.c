#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/pool.h"
#include "lib/report/profile_internal.h"

/*
 * Workers take batches of samples until there are none. A worker keeps one walker,
 * dressed as the view of the sample at hand: samples of one process follow each
 * other, so changing clothes is rare.
 */

static const struct fw_image *image_of(void *context, uint32_t module)
{
	struct fw_profile_worker *w = context;
	struct fw_profile_binder *b = &w->private->binder;
	struct fw_profile_dso *d = fw_binder_dso(b, w->bound->dsos[module]);
	return d == NULL ? NULL : fw_binder_image(b, d);
}

static bool code_of(void *context, uint32_t module, uint64_t address, uint8_t *out, uint64_t n)
{
	struct fw_profile_worker *w = context;
	struct fw_profile_dso *d = fw_binder_dso(&w->private->binder, w->bound->dsos[module]);
	const struct fw_module_info *m = &w->bound->modules[module];
	const struct fw_symbol_key key = { m->debug_file, m->code_file, &m->debug_id, &m->code_id,
					   FW_CPU_UNKNOWN };
	if (d == NULL || d->dso->kind != FW_DSO_FILE)
		return false;
	const struct fw_elf *elf = fw_symbols_elf(w->private->binder.symbols, &key);
	return elf != NULL && fw_elf_code(elf, address - m->base, out, n);
}

// ---- code that was made at run time ----

static const struct fw_jit_code *made_at(struct fw_profile_worker *w, uint64_t address)
{
	uint32_t dso, number;
	if (w->bound->num_dumps == 0)
		return NULL;
	return fw_binder_made(&w->private->binder, w->bound, address, w->time, &dso, &number);
}

static bool made(void *context, uint64_t address, uint64_t *ret_start, struct fw_str *ret_name)
{
	const struct fw_jit_code *c = made_at(context, address);
	if (c == NULL)
		return false;
	*ret_start = c->start;
	*ret_name = c->name;
	return true;
}

static bool made_code(void *context, uint64_t address, uint8_t *out, uint64_t n)
{
	const struct fw_jit_code *c = made_at(context, address);
	if (c == NULL || n > c->size - (address - c->start))
		return false;
	memcpy(out, c->bytes + (address - c->start), n);
	return true;
}

static const struct fw_rule *made_rules(void *context, uint64_t address, uint32_t *ret_count,
					struct fw_programs *programs)
{
	struct fw_profile_worker *w = context;
	const struct fw_jit_code *c = made_at(w, address);
	if (c == NULL || c->eh_frame.size == 0)
		return NULL;
	if (w->jit_rules == NULL)
		w->jit_rules = calloc(1, sizeof(*w->jit_rules));
	return w->jit_rules == NULL ? NULL :
	       fw_jit_rules_at(w->jit_rules, c, w->snapshot->cpu, address, ret_count, programs);
}

// ---- one sample's surroundings ----

/** The process's view at a time; *last remembers it: samples of one follow each other. */
static const struct fw_space_view *view_at(struct fw_profile_worker *w,
					   const struct fw_space_view **last, uint32_t pid,
					   uint64_t time)
{
	const struct fw_space_view *v = *last;
	if (v == NULL || v->pid != pid || time < v->from || time >= v->to)
		*last = fw_spaces_at(w->private->binder.spaces, pid, time);
	return *last;
}

static const struct fw_bound *bound_of(struct fw_profile_worker *w,
				       const struct fw_space_view *view)
{
	while (w->bounds.count <= view->number && fw_vec_push(&w->bounds, NULL))
		;
	if (view->number >= w->bounds.count)
		return NULL;
	if (w->bounds.data[view->number] == NULL)
		w->bounds.data[view->number] = fw_binder_bind(&w->private->binder, view);
	return w->bounds.data[view->number];
}

/** Dress the snapshot as @p bound. */
static void dress(struct fw_profile_worker *w, const struct fw_bound *bound)
{
	struct fw_snapshot *s = w->snapshot;
	if (w->bound == bound)
		return;
	s->modules = bound->modules;
	s->num_modules = s->num_mapped = bound->num_modules;
	s->mapped = bound->mapped;
	s->regions = bound->regions;
	s->num_regions = bound->num_regions;
	s->have_entry = bound->have_entry;
	s->entry = bound->entry;
	w->bound = bound;
}

/** Set the walker to the dressed snapshot. */
static enum fw_code set_walker(struct fw_profile_worker *w, const struct fw_cpu *cpu)
{
	const struct fw_walk_source source = {
		.context = w, .image = image_of, .code = code_of,
		.made = made, .made_code = made_code, .made_rules = made_rules,
	};
	const struct fw_walk_options options = { w->private->options.max_frames, false };
	const bool same_cpu = w->walker != NULL && w->snapshot->cpu == cpu;
	if (same_cpu && w->walker_bound == w->bound)
		return FW_OK;
	w->walker_bound = w->bound;
	if (same_cpu)
		return fw_walker_reset(w->walker, w->snapshot, &w->error);
	fw_walker_destroy(w->walker);
	w->walker = NULL;
	w->snapshot->cpu = cpu;
	return fw_walker_create(w->snapshot, &source, &options, &w->walker, &w->error);
}

// ---- from frames to the tree ----

static uint32_t add(struct fw_profile_worker *w, uint32_t parent, uint64_t pc, uint32_t module,
		    uint32_t flags)
{
	return parent == FW_NO_NODE ? FW_NO_NODE :
	       fw_tree_node(&w->tree, parent, (struct fw_place_key){ pc, module, flags });
}

/**
 * The mapping's DSO and the address in its module; anonymous code is its process's.
 * @p bound NULL: nothing is known of the process.
 */
static struct fw_place_key place_of(struct fw_profile_worker *w, const struct fw_bound *bound,
				    uint64_t pc, uint64_t lookup, uint32_t module, uint32_t pid)
{
	if (module != FW_NO_MODULE)
		return (struct fw_place_key){ pc - bound->modules[module].base,
					      bound->dsos[module], 0 };
	const struct fw_mapping *map = bound == NULL ? NULL : fw_space_find(bound->view, lookup);
	if (map != NULL && (map->permissions & FW_MAP_EXEC) &&
	    fw_spaces_dso_at(w->private->binder.spaces, map->dso)->kind == FW_DSO_ANON) {
		uint32_t dso, number;
		if (bound->num_dumps != 0 && fw_binder_made(&w->private->binder, bound, lookup,
							    w->time, &dso, &number) != NULL)
			return (struct fw_place_key){ pc, dso, FW_PLACE_JIT | FW_PLACE_DUMP |
						      number << FW_PLACE_NUMBER };
		return (struct fw_place_key){ pc, pid, FW_PLACE_JIT };
	}
	return (struct fw_place_key){ pc, FW_NO_MODULE, 0 };
}

/** An address that was recorded as such; @p exact: names are looked up by the pc itself. */
static uint32_t add_recorded(struct fw_profile_worker *w, const struct fw_sample *s,
			     const struct fw_bound *bound, uint32_t node, uint64_t pc, bool exact)
{
	const uint64_t lookup = exact ? pc : pc - w->profile->recording->cpu->call_back;
	const struct fw_module_info *m = bound == NULL ? NULL :
					 fw_snapshot_module(w->snapshot, lookup);
	const uint32_t trust = exact ? FW_TRUST_CONTEXT : FW_TRUST_PREWALKED;
	struct fw_place_key key = place_of(w, bound, pc, lookup,
					   m == NULL ? FW_NO_MODULE : (uint32_t)(m - bound->modules),
					   s->pid);
	w->frames++;
	w->trusts[trust]++;
	return add(w, node, key.pc, key.module,
		   key.flags | trust | (exact ? FW_PLACE_EXACT : 0));
}

/** @p cut: outer frames are missing, the copied stack having been too short. */
static uint32_t add_walk(struct fw_profile_worker *w, const struct fw_bound *bound, uint32_t node,
			 uint32_t pid, bool cut)
{
	const struct fw_walk_result *r = &w->result;
	if (cut)
		node = add(w, node, 0, FW_NO_MODULE, FW_PLACE_TRUNCATED);
	for (size_t i = r->frames.count; i-- > 0;) {
		const struct fw_frame *f = &r->frames.data[i];
		struct fw_place_key key = place_of(w, bound, f->pc, f->lookup, f->module, pid);
		key.flags |= f->trust;
		if (f->lookup == f->pc || f->signal_frame)
			key.flags |= FW_PLACE_EXACT;
		node = add(w, node, key.pc, key.module, key.flags);
		w->trusts[f->trust < FW_TRUST_COUNT ? f->trust : 0]++;
	}
	w->frames += r->frames.count;
	w->stops[r->stop < FW_STOP_COUNT ? r->stop : 0]++;
	return node;
}

enum { NO_CONTEXT = 4095 };	// callchain markers are the last 4,095 values

static bool is_marker(uint64_t word)
{
	return word >= (uint64_t)-(int64_t)NO_CONTEXT;
}

#define MARK_KERNEL ((uint64_t)-128)
#define MARK_USER ((uint64_t)-512)

/** The recorded chain's part behind @p marker: [*from, *to). */
static bool chain_part(const struct fw_profile_worker *w, const struct fw_sample *s,
		       uint64_t marker, uint32_t *from, uint32_t *to)
{
	const struct fw_recording *r = w->profile->recording;
	uint32_t i = 0;
	while (i < s->chain_words && fw_sample_chain(r, s, i) != marker)
		i++;
	*from = i + 1;
	while (++i < s->chain_words && !is_marker(fw_sample_chain(r, s, i)))
		;
	*to = i;
	return *from < *to;
}

/** What the unwind rules say of a frame's frame record. JIT code has one, for all we know. */
static enum fw_repair_record record_of(void *context, const struct fw_frame *f)
{
	struct fw_profile_worker *w = context;
	const struct fw_cpu *cpu = w->snapshot->cpu;
	if (f->module == FW_NO_MODULE)
		return (place_of(w, w->bound, f->pc, f->lookup, f->module, 0).flags &
			FW_PLACE_JIT) ? FW_RECORD_KEPT : FW_RECORD_UNKNOWN;
	const struct fw_image *image = image_of(w, f->module);
	const uint64_t offset = f->lookup - w->bound->modules[f->module].base;
	if (image == NULL || offset > UINT32_MAX ||
	    !fw_image_cfi_ready(image, (uint32_t)offset))
		return FW_RECORD_UNKNOWN;
	const uint32_t row = fw_cfi_find(&image->cfi, (uint32_t)offset);
	uint32_t count;
	const struct fw_rule *rules = fw_cfi_rules(&image->cfi, row, &count);
	if (rules == NULL || count < 2)
		return FW_RECORD_UNKNOWN;
	if (rules[1].kind == FW_RULE_UNDEFINED)	// the return address's
		return FW_RECORD_OUTERMOST;
	const struct fw_cfi_hot hot = fw_cfi_hot_of(rules, count, cpu);
	return hot.base == FW_HOT_FP && hot.cfa == 2 * (int)cpu->word_size &&
	       hot.fp == -2 * (int)cpu->word_size ? FW_RECORD_KEPT : FW_RECORD_NONE;
}

/** Outer frames of a walk that was cut off, from elsewhere; *cut: some are still missing. */
static enum fw_code repair(struct fw_profile_worker *w, const struct fw_sample *s,
			   const struct fw_bound *bound, bool *cut)
{
	struct fw_repair_sample about = {
		.pid = s->pid, .tid = s->tid, .time = s->time, .space = bound,
		.snapshot = w->snapshot, .stack = s->stack, .stack_size = s->stack_size,
		.stack_start = s->regs.v[w->snapshot->cpu->sp], .record = record_of, .context = w,
	};
	uint64_t *chain = NULL;
	uint32_t from, to, added;
	bool complete;
	if (*cut && chain_part(w, s, MARK_USER, &from, &to)) {
		chain = malloc((to - from) * sizeof(*chain));
		if (chain == NULL)
			return FW_NO_MEMORY;
		about.chain_length = to - from;
		for (uint32_t i = from; i < to; i++)
			chain[i - from] = fw_sample_chain(w->profile->recording, s, i);
		about.chain = chain;
	}
	enum fw_code code = fw_repair_walk(w->repair, &about, &w->result, &added, &complete);
	free(chain);
	w->repaired += added != 0;
	*cut = *cut && !complete;
	if (w->result.frames.count > w->private->options.max_frames) {
		w->result.frames.count = w->private->options.max_frames;
		*cut = true;
	}
	return code;
}

/** User frames that the kernel walked when the sample was taken. */
static uint32_t add_user_chain(struct fw_profile_worker *w, const struct fw_sample *s,
			       const struct fw_bound *bound, uint32_t node)
{
	uint32_t from, to;
	if (!chain_part(w, s, MARK_USER, &from, &to))
		return node;
	for (uint32_t i = to; i-- > from;)
		node = add_recorded(w, s, bound, node,
				    fw_sample_chain(w->profile->recording, s, i), i == from);
	return node;
}

/**
 * The kernel's own map, where nothing else lies between: it ends before .init.text, from
 * where the idle task was started.
 */
static const struct fw_mapping *kernel_below(const struct fw_profile_worker *w,
					     const struct fw_space_view *view, uint64_t pc)
{
	const struct fw_mapping *below = NULL;
	for (uint32_t i = 0; i < view->num_maps; i++) {
		const struct fw_mapping *map = &view->maps[i];
		if (map->start <= pc && (below == NULL || map->start > below->start))
			below = map;
	}
	if (below == NULL || fw_spaces_dso_at(w->profile->recording->spaces, below->dso)->kind !=
			     FW_DSO_KERNEL)
		return NULL;
	return below;
}

static uint32_t add_kernel(struct fw_profile_worker *w, const struct fw_sample *s, uint64_t pc,
			   bool exact, uint32_t node)
{
	const struct fw_space_view *view = view_at(w, &w->kernel_view, FW_KERNEL_PID, s->time);
	const struct fw_mapping *map = view == NULL ? NULL :
				       fw_space_find(view, exact ? pc : pc - 1);
	if (map == NULL && view != NULL)
		map = kernel_below(w, view, pc);
	uint32_t trust = exact ? FW_TRUST_CONTEXT : FW_TRUST_PREWALKED;
	w->frames++;
	w->trusts[trust]++;
	return add(w, node, pc, map == NULL ? FW_NO_MODULE : map->dso,
		   FW_PLACE_KERNEL | trust | (exact ? FW_PLACE_EXACT : 0));
}

static uint32_t add_kernel_chain(struct fw_profile_worker *w, const struct fw_sample *s,
				 uint32_t node)
{
	uint32_t from, to;
	if (!w->private->options.kernel)
		return node;
	if (!chain_part(w, s, MARK_KERNEL, &from, &to))
		return s->mode == FW_MODE_KERNEL ? add_kernel(w, s, s->ip, true, node) : node;
	for (uint32_t i = to; i-- > from;)
		node = add_kernel(w, s, fw_sample_chain(w->profile->recording, s, i), i == from,
				  node);
	return node;
}

static uint32_t add_user(struct fw_profile_worker *w, const struct fw_sample *s,
			 const struct fw_bound **ret_bound, enum fw_code *ret_code)
{
	const struct fw_space_view *view = view_at(w, &w->view, s->pid, s->time);
	const struct fw_cpu *cpu = s->abi == FW_ABI_NONE ? w->profile->recording->cpu : s->regs_cpu;
	const struct fw_bound *bound = view == NULL ? NULL : bound_of(w, view);
	uint32_t node = 0;
	*ret_bound = bound;
	if (bound != NULL)
		dress(w, bound);
	if (bound != NULL && s->abi != FW_ABI_NONE && s->stack != NULL) {
		*ret_code = set_walker(w, cpu);
		if (*ret_code != FW_OK)
			return node;
		*ret_code = fw_walk_stack(w->walker, &s->regs, s->regs.v[cpu->sp], s->stack,
					  s->stack_size, &w->result);
		bool cut = w->result.stop == FW_STOP_TRUNCATED_STACK;
		if (*ret_code == FW_OK && w->repair != NULL)
			*ret_code = repair(w, s, bound, &cut);
		if (*ret_code != FW_OK)
			return node;
		return add_walk(w, bound, 0, s->pid, cut);
	}
	node = add_user_chain(w, s, bound, node);
	if (node == 0 && s->mode == FW_MODE_USER)
		node = add_recorded(w, s, bound, node, s->ip, true);
	return node;
}

// ---- samples ----

static bool wanted(const struct fw_profile_worker *w, const struct fw_sample *s)
{
	const struct fw_profile_options *o = &w->private->options;
	const struct fw_event_info *events = w->profile->recording->events;
	if ((o->have_pid && s->pid != o->pid) || (o->have_tid && s->tid != o->tid) ||
	    (o->have_time && (s->time < o->time_from || s->time > o->time_to)))
		return false;
	if (o->event.s == NULL)
		return true;
	const struct fw_str name = s->event < w->profile->recording->num_events ?
				   events[s->event].name : (struct fw_str){ NULL, 0 };
	return name.n == o->event.n && memcmp(name.s, o->event.s, name.n) == 0;
}

/** The thread's number with this worker; UINT32_MAX: no memory. */
static uint32_t thread_of(struct fw_profile_worker *w, const struct fw_sample *s,
			  struct fw_str name)
{
	const struct fw_profile_options *o = &w->private->options;
	struct fw_thread_key key = { 0 };
	if (o->per_thread || o->samples) {
		key.pid = s->pid;
		key.tid = s->tid;
	}
	uint32_t number;
	if (fw_intern_add(&w->names, name.s, name.n, &key.name) != FW_OK ||
	    fw_intern_add(&w->threads, (const char *)&key, sizeof(key), &number) != FW_OK)
		return UINT32_MAX;
	return number;
}

/** Thread number @p k of a worker, named. */
static struct fw_profile_thread worker_thread(const struct fw_profile_worker *w, uint32_t k)
{
	struct fw_thread_key key;
	memcpy(&key, fw_intern_get(&w->threads, k).s, sizeof(key));
	return (struct fw_profile_thread){ key.pid, key.tid, fw_intern_get(&w->names, key.name) };
}

static bool keep_sample(struct fw_profile_worker *w, const struct fw_sample *s, uint32_t thread,
			uint32_t node, const struct fw_bound *bound)
{
	if (!w->private->options.samples)
		return true;
	return fw_vec_push(&w->samples, ((struct fw_kept_sample){
		s->time, s->period, s->index, thread, s->event, s->cpu, node,
		bound == NULL ? UINT32_MAX : bound->view->number }));
}

static void note_time(struct fw_profile_worker *w, const struct fw_sample *s)
{
	if (w->used == 0 || s->time < w->first_time)
		w->first_time = s->time;
	if (s->time > w->last_time)
		w->last_time = s->time;
}

static enum fw_code take_sample(struct fw_profile_worker *w, const struct fw_sample *s)
{
	const struct fw_bound *bound;
	enum fw_code code = FW_OK;
	if (!wanted(w, s))
		return FW_OK;
	struct fw_str name = fw_spaces_name(w->private->binder.spaces, s->pid, s->tid, s->time);
	const struct fw_str comm = w->private->options.comm;
	if (comm.s != NULL && (name.n != comm.n || memcmp(name.s, comm.s, name.n) != 0))
		return FW_OK;
	char number[24];
	if (name.s == NULL) {	// perf's word for a task that it never saw start
		name.n = (size_t)snprintf(number, sizeof(number), ":%u", s->tid);
		name.s = number;
	}
	uint64_t before = w->frames;
	w->time = w->profile->recording->monotonic ? s->time : UINT64_MAX;
	uint32_t node = add_user(w, s, &bound, &code);
	if (code != FW_OK)
		return fw_fail(&w->error, code, NULL, "out of memory");
	node = node == FW_NO_NODE ? node : add_kernel_chain(w, s, node);
	uint32_t thread = thread_of(w, s, name);
	if (node == FW_NO_NODE || thread == UINT32_MAX ||
	    !fw_tree_count(&w->tree, node, thread, s->event, 1, s->period) ||
	    !keep_sample(w, s, thread, node, bound))
		return fw_fail(&w->error, FW_NO_MEMORY, NULL, "out of memory");
	if (w->frames - before > w->deepest)
		w->deepest = (uint32_t)(w->frames - before);
	w->empty += node == 0;
	note_time(w, s);
	w->used++;
	return FW_OK;
}

static void take_batch(struct fw_profile_worker *w, const struct fw_sample_batch *batch)
{
	struct fw_sample s;
	for (uint32_t i = 0; i < batch->count && w->code == FW_OK; i++) {
		w->read++;
		if (fw_sample_decode(w->profile->recording, &batch->samples[i], &s))
			w->code = take_sample(w, &s);
		else
			w->bad++;
	}
}

static void work(void *context, uint64_t index, unsigned worker)
{
	struct fw_profile *p = context;
	struct fw_profile_private *private = p->private;
	struct fw_profile_worker *w = &private->workers[index];
	const struct fw_profile_options *o = &private->options;
	struct fw_sample_batch batch;
	(void)worker;
	while (w->code == FW_OK) {
		enum fw_code code = fw_recording_next((struct fw_recording *)p->recording, &batch,
						      &w->error);
		if (code != FW_OK) {
			w->code = code == FW_NOT_FOUND ? FW_OK : code;
			break;
		}
		take_batch(w, &batch);
		const uint32_t count = batch.count;
		fw_recording_release((struct fw_recording *)p->recording, &batch);
		uint64_t total = atomic_fetch_add(&private->read, count) + count;
		if (o->progress != NULL && index == 0)
			o->progress(o->progress_context, total);
	}
}

// ---- putting together ----

static bool start_worker(struct fw_profile *p, struct fw_profile_worker *w)
{
	w->profile = p;
	w->private = p->private;
	fw_intern_init(&w->names);
	fw_intern_init(&w->threads);
	w->snapshot = calloc(1, sizeof(*w->snapshot));
	if (w->snapshot == NULL || !fw_tree_init(&w->tree) ||
	    (w->private->options.repair && fw_repair_create(p->recording, &w->repair) != FW_OK))
		return false;
	w->snapshot->os = FW_OS_LINUX;
	w->snapshot->big_endian = p->recording->big_endian;
	w->snapshot->regions_complete = true;
	return true;
}

static void end_worker(struct fw_profile_worker *w)
{
	fw_tree_deinit(&w->tree);
	fw_intern_deinit(&w->names);
	fw_intern_deinit(&w->threads);
	fw_vec_deinit(&w->samples);
	fw_vec_deinit(&w->bounds);
	fw_walk_result_deinit(&w->result);
	fw_walker_destroy(w->walker);
	fw_repair_destroy(w->repair);
	if (w->jit_rules != NULL)
		fw_jit_rules_deinit(w->jit_rules);
	free(w->jit_rules);
	free(w->snapshot);
}

struct merge {
	struct fw_profile *p;
	struct fw_tree tree;
	FW_VEC(struct fw_profile_thread) threads;
	FW_VEC(struct fw_profile_sample) samples;
};

static int by_name(const void *pa, const void *pb)
{
	const struct fw_profile_thread *a = pa, *b = pb;
	size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
	int c = n == 0 ? 0 : memcmp(a->name.s, b->name.s, n);
	if (c == 0)
		c = (a->name.n > b->name.n) - (a->name.n < b->name.n);
	if (c == 0)
		c = (a->pid > b->pid) - (a->pid < b->pid);
	return c != 0 ? c : (a->tid > b->tid) - (a->tid < b->tid);
}

/** All workers' threads, each once, in order. */
static bool merge_threads(struct merge *m)
{
	struct fw_profile_private *private = m->p->private;
	for (unsigned i = 0; i < private->num_workers; i++) {
		struct fw_profile_worker *w = &private->workers[i];
		for (uint32_t k = 0; k < fw_intern_count(&w->threads); k++) {
			struct fw_profile_thread t = worker_thread(w, k);
			t.name.s = fw_arena_strndup(&private->arena, t.name.s, t.name.n);
			if (t.name.s == NULL || !fw_vec_push(&m->threads, t))
				return false;
		}
	}
	if (m->threads.count == 0)
		return true;
	qsort(m->threads.data, m->threads.count, sizeof(*m->threads.data), by_name);
	size_t n = 1;
	for (size_t i = 1; i < m->threads.count; i++)
		if (by_name(&m->threads.data[n - 1], &m->threads.data[i]) != 0)
			m->threads.data[n++] = m->threads.data[i];
	m->threads.count = n;
	return true;
}

static uint32_t find_thread(const struct merge *m, const struct fw_profile_worker *w, uint32_t k)
{
	const struct fw_profile_thread key = worker_thread(w, k);
	const struct fw_profile_thread *t = bsearch(&key, m->threads.data, m->threads.count,
						    sizeof(key), by_name);
	return (uint32_t)(t - m->threads.data);
}

static void add_counts(struct fw_profile *p, const struct fw_profile_worker *w)
{
	if (w->used != 0) {
		if (p->samples_used == 0 || w->first_time < p->first_time)
			p->first_time = w->first_time;
		if (w->last_time > p->last_time)
			p->last_time = w->last_time;
	}
	p->samples_read += w->read;
	p->samples_used += w->used;
	p->samples_bad += w->bad;
	p->samples_repaired += w->repaired;
	p->samples_empty += w->empty;
	p->frames_walked += w->frames;
	if (w->deepest > p->deepest)
		p->deepest = w->deepest;
	for (unsigned i = 0; i < FW_STOP_COUNT; i++)
		p->stops[i] += w->stops[i];
	for (unsigned i = 0; i < FW_TRUST_COUNT; i++)
		p->trusts[i] += w->trusts[i];
}

static bool merge_worker(struct merge *m, const struct fw_profile_worker *w)
{
	uint32_t *map = calloc(w->tree.nodes.count, sizeof(*map));
	const uint32_t num_threads = fw_intern_count(&w->threads);
	uint32_t *threads = calloc((size_t)num_threads + 1, sizeof(*threads));
	bool ok = map != NULL && threads != NULL;
	for (uint32_t k = 0; ok && k < num_threads; k++)
		threads[k] = find_thread(m, w, k);
	ok = ok && fw_tree_merge(&m->tree, &w->tree, threads, map) &&
	     fw_vec_reserve(&m->samples, w->samples.count);
	for (size_t i = 0; ok && i < w->samples.count; i++) {
		const struct fw_kept_sample *s = &w->samples.data[i];
		m->samples.data[m->samples.count++] = (struct fw_profile_sample){
			.time = s->time, .period = s->period, .index = s->index,
			.thread = threads[s->thread], .event = s->event, .cpu = s->cpu,
			.node = map[s->node], .space = s->space,
		};
	}
	free(map);
	free(threads);
	return ok;
}

static int by_time(const void *pa, const void *pb)
{
	const struct fw_profile_sample *a = pa, *b = pb;
	int c = (a->time > b->time) - (a->time < b->time);
	return c != 0 ? c : (a->index > b->index) - (a->index < b->index);
}

static bool sort_all(struct merge *m)
{
	uint32_t *map = calloc(m->tree.nodes.count, sizeof(*map));
	if (map == NULL || !fw_tree_sort(&m->tree, map)) {
		free(map);
		return false;
	}
	for (size_t i = 0; i < m->samples.count; i++)
		m->samples.data[i].node = map[m->samples.data[i].node];
	free(map);
	if (m->samples.count != 0)
		qsort(m->samples.data, m->samples.count, sizeof(*m->samples.data), by_time);
	return true;
}

static bool hand_over(struct merge *m)
{
	struct fw_profile *p = m->p;
	struct fw_profile_private *private = p->private;
	uint32_t n = (uint32_t)m->tree.stacks.count;
	p->stacks = fw_arena_array(&private->arena, (size_t)n + 1, sizeof(*p->stacks));
	if (p->stacks == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct fw_tree_stack *s = &m->tree.stacks.data[i];
		p->stacks[i] = (struct fw_profile_stack){ s->node, s->thread, s->event, s->samples,
							  s->weight };
	}
	p->num_stacks = n;
	p->threads = m->threads.data;
	p->num_threads = (uint32_t)m->threads.count;
	p->samples = m->samples.data;
	p->num_samples = m->samples.count;
	return true;
}

static bool merge_all(struct merge *m)
{
	struct fw_profile_private *private = m->p->private;
	if (!fw_tree_init(&m->tree) || !merge_threads(m))
		return false;
	for (unsigned i = 0; i < private->num_workers; i++) {
		add_counts(m->p, &private->workers[i]);
		if (!merge_worker(m, &private->workers[i]))
			return false;
	}
	return sort_all(m) && hand_over(m);
}

enum fw_code fw_profile_walk(struct fw_profile *p, struct fw_error *err)
{
	struct fw_profile_private *private = p->private;
	struct merge m = { .p = p };
	// a stack is repaired by what was known before, so samples are taken in one row
	unsigned jobs = private->options.repair ? 1 : private->options.jobs;
	enum fw_code code = FW_OK;
	private->num_workers = jobs == 0 ? fw_pool_default_threads() : jobs;
	private->workers = calloc(private->num_workers, sizeof(*private->workers));
	bool ok = private->workers != NULL;
	for (unsigned i = 0; ok && i < private->num_workers; i++)
		ok = start_worker(p, &private->workers[i]);
	if (ok)
		fw_pool_for(private->num_workers, private->num_workers, work, p);
	for (unsigned i = 0; ok && i < private->num_workers && code == FW_OK; i++) {
		code = private->workers[i].code;
		if (code != FW_OK && err != NULL)
			*err = private->workers[i].error;
	}
	if (ok && code == FW_OK)
		ok = merge_all(&m);
	if (ok && code == FW_OK)
		code = fw_profile_name(p, &m.tree, err);
	fw_tree_deinit(&m.tree);
	for (unsigned i = 0; private->workers != NULL && i < private->num_workers; i++)
		end_worker(&private->workers[i]);
	free(private->workers);
	private->workers = NULL;
	return ok ? code : fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
}
