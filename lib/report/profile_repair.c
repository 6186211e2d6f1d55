#include "lib/report/profile_repair.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/limits.h"

/** A frame known of a thread's stack; sp strictly ascends. */
struct known {
	struct fw_frame frame;
	uint64_t saved[2];		// the words below the return address to it
	bool last;			// what follows is not its caller, or nobody knows
};

struct thread {
	uint32_t pid, tid;
	const void *space;
	uint64_t time;			// of the last sample
	FW_VEC(struct known) frames;	// innermost first
	bool complete;			// the outermost one is where the stack ends
};

/** Who called a function that runs at a stack pointer: the only one that was ever seen? */
struct link {
	uint64_t place;			// of the callee, hashed; 0: free
	uint32_t caller;		// hashed
	bool several;
};

struct fw_repair {
	const struct fw_recording *recording;
	FW_VEC(struct thread) threads;
	uint32_t *slots, mask;		// by tid, number + 1; 0 is free
	FW_VEC(uint64_t) gaps;		// sorted
	FW_VEC(struct known) scratch;
	struct link *links;		// hash table
	uint32_t num_links, link_mask;
};

enum fw_code fw_repair_create(const struct fw_recording *recording, struct fw_repair **ret)
{
	struct fw_repair *r = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*r));
	if (r == NULL)
		return FW_NO_MEMORY;
	r->recording = recording;
	*ret = r;
	return FW_OK;
}

static void forget_all(struct fw_repair *r)
{
	for (size_t i = 0; i < r->threads.count; i++)
		fw_vec_deinit(&r->threads.data[i].frames);
	fw_vec_deinit(&r->threads);
	free(r->slots);
	free(r->links);
	r->slots = NULL;
	r->links = NULL;
	r->num_links = 0;
}

void fw_repair_destroy(struct fw_repair *r)
{
	if (r == NULL)
		return;
	forget_all(r);
	fw_vec_deinit(&r->gaps);
	fw_vec_deinit(&r->scratch);
	free(r);
}

// ---- gaps ----

static int by_value(const void *pa, const void *pb)
{
	const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return (a > b) - (a < b);
}

/** Was anything lost after @p from and up to @p to? *ret_failed: no memory to tell. */
static bool has_gap(struct fw_repair *r, uint64_t from, uint64_t to)
{
	const struct fw_recording *rec = r->recording;
	if (rec->counts.gaps > rec->gap_times.count)
		return true;		// more than could be kept
	if (r->gaps.count != rec->gap_times.count) {
		r->gaps.count = 0;
		if (!fw_vec_reserve(&r->gaps, rec->gap_times.count))
			return true;
		memcpy(r->gaps.data, rec->gap_times.data,
		       rec->gap_times.count * sizeof(*r->gaps.data));
		r->gaps.count = rec->gap_times.count;
		qsort(r->gaps.data, r->gaps.count, sizeof(*r->gaps.data), by_value);
	}
	size_t lo = 0, hi = r->gaps.count;	// the first that is later than from
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (r->gaps.data[mid] <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->gaps.count && r->gaps.data[lo] <= to;
}

// ---- threads ----

static uint32_t *slot_of(const struct fw_repair *r, uint32_t tid)
{
	uint32_t at = (uint32_t)((tid * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	for (;; at++) {
		uint32_t *slot = &r->slots[at & r->mask];
		if (*slot == 0 || r->threads.data[*slot - 1].tid == tid)
			return slot;
	}
}

static bool grow(struct fw_repair *r)
{
	uint32_t size = r->slots == NULL ? 64 : 2 * (r->mask + 1);
	uint32_t *slots = fw_alloc_should_fail() ? NULL : calloc(size, sizeof(*slots));
	if (slots == NULL)
		return false;
	free(r->slots);
	r->slots = slots;
	r->mask = size - 1;
	for (size_t i = 0; i < r->threads.count; i++)
		*slot_of(r, r->threads.data[i].tid) = (uint32_t)i + 1;
	return true;
}

/** The thread, new if it must be; NULL: no memory. */
static struct thread *get_thread(struct fw_repair *r, const struct fw_repair_sample *s)
{
	if ((r->slots == NULL || r->threads.count >= r->mask / 2) && !grow(r))
		return NULL;
	uint32_t *slot = slot_of(r, s->tid);
	if (*slot == 0) {
		struct thread t = { .pid = s->pid, .tid = s->tid, .space = s->space,
				    .time = s->time };
		if (!fw_vec_push(&r->threads, t))
			return NULL;
		*slot = (uint32_t)r->threads.count;
	}
	return &r->threads.data[*slot - 1];
}

// ---- links ----

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b >> 32) ^ (b << 32)) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ (h >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ (h >> 32);
}

static uint64_t place_of(const struct thread *t, const struct fw_frame *f)
{
	return mix(mix(t->tid, (uintptr_t)t->space), mix(f->sp, f->pc)) | 1;
}

static struct link *link_at(const struct fw_repair *r, uint64_t place)
{
	for (uint32_t at = (uint32_t)(place >> 32);; at++) {
		struct link *l = &r->links[at & r->link_mask];
		if (l->place == 0 || l->place == place)
			return l;
	}
}

static bool grow_links(struct fw_repair *r)
{
	const uint32_t old = r->links == NULL ? 0 : r->link_mask + 1, size = old ? 2 * old : 4096;
	struct link *from = r->links;
	r->links = fw_alloc_should_fail() ? NULL : calloc(size, sizeof(*r->links));
	if (r->links == NULL) {
		r->links = from;
		return false;
	}
	r->link_mask = size - 1;
	for (uint32_t i = 0; i < old; i++)
		if (from[i].place != 0)
			*link_at(r, from[i].place) = from[i];
	free(from);
	return true;
}

/** Learn from a walk who calls whom where. */
static bool learn(struct fw_repair *r, const struct thread *t, const struct fw_walk_result *walk)
{
	const struct fw_frame *f = walk->frames.data;
	for (size_t i = 1; i + 1 < walk->frames.count && f[i].sp < f[i + 1].sp; i++) {
		if ((r->links == NULL || r->num_links > r->link_mask / 2) && !grow_links(r))
			return false;
		struct link *l = link_at(r, place_of(t, &f[i]));
		const uint32_t caller = (uint32_t)mix(f[i + 1].sp, f[i + 1].pc);
		if (l->place == 0) {
			*l = (struct link){ place_of(t, &f[i]), caller, false };
			r->num_links++;
		}
		l->several |= l->caller != caller;
	}
	return true;
}

/** May @p f have another caller than the older sample had? */
static bool is_unsure(const struct fw_repair *r, const struct thread *t, const struct fw_frame *f)
{
	const struct link *l = r->links == NULL ? NULL : link_at(r, place_of(t, f));
	return l == NULL || l->several;
}

// ---- splicing ----

/** Number of the known frame that has the walk's outermost one's stack pointer and return
 *  address; SIZE_MAX: none. */
static size_t find_seam(const struct thread *t, const struct fw_frame *f)
{
	size_t lo = 0, hi = t->frames.count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->frames.data[mid].frame.sp < f->sp)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == t->frames.count)
		return SIZE_MAX;
	const struct fw_frame *k = &t->frames.data[lo].frame;
	return k->sp == f->sp && k->pc == f->pc && k->lookup == f->lookup ? lo : SIZE_MAX;
}

static bool append(struct fw_walk_result *walk, struct fw_frame f, uint32_t *added)
{
	f.trust = FW_TRUST_REPAIRED;
	++*added;
	return fw_vec_push(&walk->frames, f);
}

/**
 * The two words below the return address that led to a frame, which is in the word below its
 * sp. There its callee has put the registers that it has to restore, and nobody else
 * writes there before it returns: another call of the same function has other values there,
 * if not always. Zeros where they were not copied.
 */
static void read_saved(const struct fw_repair_sample *s, const struct fw_frame *f,
		       uint64_t saved[2])
{
	const uint64_t word = s->snapshot->cpu->word_size, at = f->sp - 3 * word - s->stack_start;
	saved[0] = saved[1] = 0;
	if (f->sp - s->stack_start >= 3 * word && f->sp - s->stack_start <= s->stack_size)
		memcpy(saved, s->stack + at, 2 * word);
}

/** Do the older sample's frames agree below the seam, its frame number @p k, too? */
static bool agrees(const struct thread *t, size_t k, const struct fw_repair_sample *s,
		   const struct fw_walk_result *walk)
{
	const size_t n = walk->frames.count;
	uint64_t saved[2];
	for (size_t i = 0; i < FW_REPAIR_AGREE; i++) {
		// neither's innermost one: its pc is no return address
		if (i >= k || i + 1 >= n || (i > 0 && t->frames.data[k - i].last))
			return false;
		const struct fw_frame *f = &walk->frames.data[n - 1 - i];
		const struct known *older = &t->frames.data[k - i];
		read_saved(s, f, saved);
		if (older->frame.sp != f->sp || older->frame.pc != f->pc ||
		    memcmp(older->saved, saved, sizeof(saved)) != 0)
			return false;
	}
	return true;
}

/** The callers that an older sample had. */
static bool splice_older(const struct fw_repair *r, const struct thread *t,
			 const struct fw_repair_sample *s, struct fw_walk_result *walk,
			 uint32_t *added, bool *complete)
{
	size_t i = find_seam(t, &walk->frames.data[walk->frames.count - 1]);
	if (i == SIZE_MAX || !agrees(t, i, s, walk))
		return true;
	for (; !t->frames.data[i].last && !is_unsure(r, t, &t->frames.data[i].frame); i++)
		if (!append(walk, t->frames.data[i + 1].frame, added))
			return false;
	*complete = *added != 0 && i + 1 == t->frames.count && t->complete;
	return true;
}

/**
 * Is the chain the walked one? It has the pc and then the return address beside each frame
 * record, which not every function keeps: a function without one is called from where the
 * chain does not tell. *ret_at: what is next in it.
 */
static bool is_walked(const struct fw_repair_sample *s, const struct fw_walk_result *walk,
		      uint32_t *ret_at)
{
	const struct fw_frame *f = walk->frames.data;
	uint32_t at = 1;
	if (s->chain[0] != f[0].pc)
		return false;
	for (size_t i = 0; i + 1 < walk->frames.count; i++) {
		enum fw_repair_record record = s->record(s->context, &f[i]);
		if (record == FW_RECORD_NONE)
			continue;
		if (record != FW_RECORD_KEPT || at >= s->chain_length ||
		    s->chain[at] != f[i + 1].pc)
			return false;
		at++;
	}
	*ret_at = at;
	return at > 1;
}

/** The rest of the kernel's chain. */
static bool splice_chain(const struct fw_repair_sample *s, struct fw_walk_result *walk,
			 uint32_t *added, bool *complete)
{
	struct fw_frame f = walk->frames.data[walk->frames.count - 1];
	uint32_t at;
	if (!is_walked(s, walk, &at))
		return true;
	enum fw_repair_record record = s->record(s->context, &f);
	for (; record == FW_RECORD_KEPT && at < s->chain_length; at++) {
		const uint64_t pc = s->chain[at];
		f = (struct fw_frame){ .pc = pc, .lookup = pc - s->snapshot->cpu->call_back };
		const struct fw_module_info *m = fw_snapshot_module(s->snapshot, f.lookup);
		f.module = m == NULL ? FW_NO_MODULE : (uint32_t)(m - s->snapshot->modules);
		if (!append(walk, f, added))
			return false;
		record = s->record(s->context, &f);
	}
	*complete = *added != 0 && record == FW_RECORD_OUTERMOST;
	return true;
}

// ---- remembering ----

/** What is known of the thread's stack after a walk, @p walked of whose frames have stack
 *  pointers. @p cut: what is known to be further out may be there as before. */
static bool remember(struct fw_repair *r, struct thread *t, const struct fw_repair_sample *s,
		     const struct fw_walk_result *walk, size_t walked, bool cut, bool complete)
{
	uint64_t top = 0;
	r->scratch.count = 0;
	for (size_t i = 0; i < walked; i++) {
		const struct fw_frame *f = &walk->frames.data[i];
		if (i != 0 && f->sp <= top)
			break;		// another stack begins
		top = f->sp;
		struct known k = { .frame = *f };
		if (f->trust == FW_TRUST_REPAIRED)
			memcpy(k.saved, t->frames.data[find_seam(t, f)].saved, sizeof(k.saved));
		else
			read_saved(s, f, k.saved);
		if (!fw_vec_push(&r->scratch, k))
			return false;
	}
	const size_t own = r->scratch.count;
	if (own != 0)
		r->scratch.data[own - 1].last = true;
	for (size_t i = 0; cut && i < t->frames.count; i++)
		if (t->frames.data[i].frame.sp > top &&
		    !fw_vec_push(&r->scratch, t->frames.data[i]))
			return false;
	t->frames.count = 0;
	if (!fw_vec_reserve(&t->frames, r->scratch.count))
		return false;
	if (r->scratch.count != 0)
		memcpy(t->frames.data, r->scratch.data,
		       r->scratch.count * sizeof(*t->frames.data));
	t->frames.count = r->scratch.count;
	t->complete = cut ? t->complete && t->frames.count > own : complete && own == walked;
	return true;
}

/** Every frame that is remembered but two a thread is a link's, so links bound them, too. */
static bool is_full(const struct fw_repair *r)
{
	return r->num_links > FW_MAX_REPAIR_LINKS || r->threads.count > FW_MAX_THREADS;
}

enum fw_code fw_repair_walk(struct fw_repair *r, const struct fw_repair_sample *s,
			    struct fw_walk_result *walk, uint32_t *ret_added, bool *ret_complete)
{
	bool cut = walk->stop == FW_STOP_TRUNCATED_STACK;
	*ret_added = 0;
	*ret_complete = false;
	if (walk->frames.count == 0)
		return FW_OK;
	if (is_full(r))
		forget_all(r);
	struct thread *t = get_thread(r, s);
	if (t == NULL)
		return FW_NO_MEMORY;
	if (s->time < t->time)
		return FW_OK;
	if (t->pid != s->pid || t->space != s->space || has_gap(r, t->time, s->time))
		t->frames.count = 0;
	t->pid = s->pid;
	t->space = s->space;
	t->time = s->time;
	if (!learn(r, t, walk))
		return FW_NO_MEMORY;
	size_t walked = walk->frames.count;
	if (cut && s->chain_length != 0 && !splice_chain(s, walk, ret_added, ret_complete))
		return FW_NO_MEMORY;
	if (cut && *ret_added == 0) {
		if (!splice_older(r, t, s, walk, ret_added, ret_complete))
			return FW_NO_MEMORY;
		walked = walk->frames.count;
		cut = !*ret_complete;
	}
	const bool complete = walk->stop == FW_STOP_END_OF_STACK || *ret_complete;
	return remember(r, t, s, walk, walked, cut, complete) ? FW_OK : FW_NO_MEMORY;
}
