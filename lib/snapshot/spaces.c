#include "lib/snapshot/spaces.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/intern.h"
#include "lib/base/limits.h"
#include "lib/base/vec.h"
#include "lib/snapshot/spaces_maps.h"

/*
 * Events wait in a queue until somebody asks; then they are sorted by time (those
 * of one time stay in the order they came) and replayed. A process is a list of
 * epochs: a time from which its mappings contradict the older ones. A mapping of
 * addresses that nothing else held before begins no epoch, so that a process is one
 * epoch from exec to exec and not one a library. Forks share mappings until either
 * side changes them.
 */
enum event_kind { EVENT_MAP, EVENT_FORK, EVENT_NAME, EVENT_EXEC };

struct event {
	uint64_t time;
	uint8_t kind;
	uint32_t pid, tid;
	union {
		struct fw_mapping map;
		struct { uint32_t pid, tid; } parent;
		uint32_t name;
	};
};

struct epoch {
	uint64_t from;
	struct fw_maps *maps;		// NULL: none
	struct fw_space_view *view;	// last one handed out
};

struct process {
	uint32_t pid;
	FW_VEC(struct epoch) epochs;
};

struct name { uint64_t from; uint32_t name; };

struct thread { FW_VEC(struct name) names; };

struct dso { struct fw_dso dso; bool seen; };	// seen: handed out, so it stays as it is

/** Numbers (pids, tids) to indexes; open addressing. */
struct index { uint64_t *slots; uint32_t mask, count; };

struct fw_spaces {
	pthread_mutex_t lock;
	struct fw_arena arena;
	struct fw_intern dso_keys, name_keys;
	FW_VEC(struct dso *) dsos;
	struct fw_intern id_paths;	// files whose build id is known by path
	FW_VEC(struct fw_ident) path_ids;
	FW_VEC(struct fw_str) names;
	FW_VEC(struct event) queue;
	FW_VEC(struct process) processes;
	FW_VEC(struct thread) threads;
	struct index by_pid, by_tid;
	uint64_t num_events;		// so far
	uint64_t known;			// no event before this time will come
	uint64_t left_out;
	struct fw_maps_budget budget;
	uint32_t num_views;
	bool unsorted;
};

enum fw_code fw_spaces_create(struct fw_spaces **ret)
{
	struct fw_spaces *s = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*s));
	if (!s)
		return FW_NO_MEMORY;
	pthread_mutex_init(&s->lock, NULL);
	fw_arena_init(&s->arena, 0);
	fw_intern_init(&s->dso_keys);
	fw_intern_init(&s->name_keys);
	fw_intern_init(&s->id_paths);
	s->known = UINT64_MAX;
	s->budget.left = FW_MAX_VIEW_MAPS;
	*ret = s;
	return FW_OK;
}

void fw_spaces_destroy(struct fw_spaces *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->processes.count; i++) {
		struct process *p = &s->processes.data[i];
		for (size_t k = 0; k < p->epochs.count; k++)
			fw_maps_release(p->epochs.data[k].maps, &s->budget);
		fw_vec_deinit(&p->epochs);
	}
	for (size_t i = 0; i < s->threads.count; i++)
		fw_vec_deinit(&s->threads.data[i].names);
	fw_vec_deinit(&s->threads);
	fw_vec_deinit(&s->processes);
	fw_vec_deinit(&s->queue);
	fw_vec_deinit(&s->names);
	fw_vec_deinit(&s->dsos);
	free(s->by_pid.slots);
	free(s->by_tid.slots);
	fw_intern_deinit(&s->dso_keys);
	fw_intern_deinit(&s->name_keys);
	fw_intern_deinit(&s->id_paths);
	fw_vec_deinit(&s->path_ids);
	fw_arena_deinit(&s->arena);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

// Slots hold the number above index + 1; 0 is free.
static uint64_t *index_slot(const struct index *x, uint32_t number)
{
	uint32_t at = (uint32_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	for (;; at++) {
		uint64_t *slot = &x->slots[at & x->mask];
		if (!*slot || *slot >> 32 == number)
			return slot;
	}
}

static uint32_t index_find(const struct index *x, uint32_t number)
{
	uint64_t slot = x->slots ? *index_slot(x, number) : 0;
	return slot ? (uint32_t)slot - 1 : UINT32_MAX;
}

static bool index_grow(struct index *x)
{
	uint32_t size = x->slots ? 2 * (x->mask + 1) : 64;
	struct index grown = { NULL, size - 1, x->count };
	grown.slots = fw_alloc_should_fail() ? NULL : calloc(size, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (uint32_t i = 0; x->slots && i <= x->mask; i++) {
		if (x->slots[i])
			*index_slot(&grown, (uint32_t)(x->slots[i] >> 32)) = x->slots[i];
	}
	free(x->slots);
	*x = grown;
	return true;
}

static bool index_add(struct index *x, uint32_t number, uint32_t index)
{
	if ((!x->slots || x->count >= x->mask / 2) && !index_grow(x))
		return false;
	*index_slot(x, number) = (uint64_t)number << 32 | (index + 1);
	x->count++;
	return true;
}

/** The process, added when new; NULL when memory or FW_MAX_PROCESSES is exhausted. */
static struct process *get_process(struct fw_spaces *s, uint32_t pid)
{
	uint32_t i = index_find(&s->by_pid, pid);
	if (i != UINT32_MAX)
		return &s->processes.data[i];
	i = (uint32_t)s->processes.count;
	struct process p = { .pid = pid };
	if (i >= FW_MAX_PROCESSES || !fw_vec_push(&p.epochs, (struct epoch){ 0 }))
		return NULL;
	if (!fw_vec_push(&s->processes, p) || !index_add(&s->by_pid, pid, i)) {
		s->processes.count = i;
		fw_vec_deinit(&p.epochs);
		return NULL;
	}
	return &s->processes.data[i];
}

static struct epoch *current(struct process *p)
{
	return &p->epochs.data[p->epochs.count - 1];
}

/** From @p time on the process has @p maps (taken over in any case). */
static bool begin_epoch(struct fw_spaces *s, struct process *p, uint64_t time, struct fw_maps *maps)
{
	struct epoch *e = current(p);
	if (e->view && e->view->to != UINT64_MAX && time < e->view->to)
		time = e->view->to;	// late: what was answered stays true
	if (time < e->from)
		time = e->from;
	if (!e->view && (time == e->from || !e->maps)) {
		fw_maps_release(e->maps, &s->budget);
		e->maps = maps;
		return true;
	}
	if (fw_vec_push(&p->epochs, ((struct epoch){ .from = time, .maps = maps })))
		return true;
	fw_maps_release(maps, &s->budget);
	return false;
}

static bool replay_map(struct fw_spaces *s, const struct event *ev)
{
	struct process *p = get_process(s, ev->pid);
	if (!p)
		return false;
	struct epoch *e = current(p);
	bool jit = s->dsos.data[ev->map.dso]->dso.kind == FW_DSO_ANON;
	enum fw_maps_change change = fw_maps_change(e->maps, &ev->map, jit);
	if (change == FW_MAPS_SAME)
		return true;
	if (e->view || (change == FW_MAPS_REPLACE && ev->time > e->from)) {
		if (!begin_epoch(s, p, ev->time, fw_maps_share(e->maps)))
			return false;
		e = current(p);
	}
	return fw_maps_add(&e->maps, &ev->map, jit, &s->budget);
}

static struct thread *get_thread(struct fw_spaces *s, uint32_t tid)
{
	uint32_t i = index_find(&s->by_tid, tid);
	if (i != UINT32_MAX)
		return &s->threads.data[i];
	i = (uint32_t)s->threads.count;
	if (!fw_vec_push(&s->threads, (struct thread){ 0 }))
		return NULL;
	if (!index_add(&s->by_tid, tid, i)) {
		s->threads.count = i;
		return NULL;
	}
	return &s->threads.data[i];
}

static bool replay_name(struct fw_spaces *s, uint32_t tid, uint64_t time, uint32_t name)
{
	struct thread *t = get_thread(s, tid);
	if (!t)
		return false;
	struct name *last = t->names.count ? &t->names.data[t->names.count - 1] : NULL;
	if (last && last->name == name)
		return true;
	if (last && time < last->from)
		time = last->from;
	return fw_vec_push(&t->names, ((struct name){ time, name }));
}

static bool replay_fork(struct fw_spaces *s, const struct event *ev)
{
	uint32_t parent = index_find(&s->by_tid, ev->parent.tid);
	bool done = true;
	if (parent != UINT32_MAX && ev->tid != ev->parent.tid) {
		struct thread *t = &s->threads.data[parent];
		if (t->names.count)
			done = replay_name(s, ev->tid, ev->time,
					   t->names.data[t->names.count - 1].name);
	}
	if (ev->pid == ev->parent.pid)
		return done;
	struct process *p = get_process(s, ev->pid);
	if (!p)
		return false;
	parent = index_find(&s->by_pid, ev->parent.pid);
	struct fw_maps *maps = NULL;
	if (parent != UINT32_MAX)
		maps = fw_maps_share(current(&s->processes.data[parent])->maps);
	return begin_epoch(s, p, ev->time, maps) && done;
}

static bool replay_exec(struct fw_spaces *s, const struct event *ev)
{
	struct process *p = get_process(s, ev->pid);
	return p && begin_epoch(s, p, ev->time, NULL);
}

static void replay(struct fw_spaces *s, const struct event *ev)
{
	bool done = true;
	switch ((enum event_kind)ev->kind) {
	case EVENT_MAP:
		done = replay_map(s, ev);
		break;
	case EVENT_FORK:
		done = replay_fork(s, ev);
		break;
	case EVENT_NAME:
		done = replay_name(s, ev->tid, ev->time, ev->name);
		break;
	case EVENT_EXEC:
		done = replay_exec(s, ev);
		break;
	}
	s->left_out += !done;
}

struct key { uint64_t time; size_t index; };

static int by_time(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/** Replay what waits in the queue, in order of time. */
static void drain(struct fw_spaces *s)
{
	size_t n = s->queue.count;
	struct key *keys = NULL;
	if (s->unsorted) {
		keys = fw_alloc_should_fail() ? NULL : malloc(n * sizeof(*keys));
		for (size_t i = 0; keys && i < n; i++)
			keys[i] = (struct key){ s->queue.data[i].time, i };
		if (keys)
			qsort(keys, n, sizeof(*keys), by_time);
		// Without memory to sort, the order of arrival is the best there is.
	}
	for (size_t i = 0; i < n; i++)
		replay(s, &s->queue.data[keys ? keys[i].index : i]);
	free(keys);
	fw_vec_deinit(&s->queue);
	s->unsorted = false;
}

static enum fw_code feed(struct fw_spaces *s, const struct event *ev)
{
	enum fw_code code = FW_OK;
	pthread_mutex_lock(&s->lock);
	if (s->num_events >= FW_MAX_MAPPINGS)
		code = FW_LIMIT;
	else if (!fw_vec_push(&s->queue, *ev))
		code = FW_NO_MEMORY;
	else if (s->queue.count > 1 && ev->time < s->queue.data[s->queue.count - 2].time)
		s->unsorted = true;
	s->num_events += code == FW_OK;
	pthread_mutex_unlock(&s->lock);
	return code;
}

enum fw_code fw_spaces_map(struct fw_spaces *s, uint32_t pid, uint64_t time,
			   const struct fw_mapping *map)
{
	if (map->end <= map->start || map->dso >= fw_spaces_num_dsos(s))
		return FW_MALFORMED;
	struct event ev = { .time = time, .kind = EVENT_MAP, .pid = pid, .map = *map };
	if (!(map->permissions & FW_MAP_KNOWN))
		ev.map.permissions = FW_MAP_EXEC;
	return feed(s, &ev);
}

enum fw_code fw_spaces_fork(struct fw_spaces *s, uint32_t pid, uint32_t ppid, uint32_t tid,
			    uint32_t ptid, uint64_t time)
{
	struct event ev = { .time = time, .kind = EVENT_FORK, .pid = pid, .tid = tid,
			    .parent = { ppid, ptid } };
	return feed(s, &ev);
}

enum fw_code fw_spaces_comm(struct fw_spaces *s, uint32_t pid, uint32_t tid, uint64_t time,
			    struct fw_str name, bool exec)
{
	struct event ev = { .time = time, .kind = EVENT_NAME, .pid = pid, .tid = tid };
	if (name.n > FW_MAX_NAME)
		name.n = FW_MAX_NAME;
	pthread_mutex_lock(&s->lock);
	enum fw_code code = fw_intern_add(&s->name_keys, name.s, name.n, &ev.name);
	if (code == FW_OK && ev.name == s->names.count) {
		struct fw_str copy = { fw_arena_strndup(&s->arena, name.s, name.n), name.n };
		if (!copy.s || !fw_vec_push(&s->names, copy))
			code = FW_NO_MEMORY;
	} else if (code == FW_OK && ev.name > s->names.count) {
		code = FW_NO_MEMORY;	// it ran out before
	}
	pthread_mutex_unlock(&s->lock);
	if (code == FW_OK)
		code = feed(s, &ev);
	ev.kind = EVENT_EXEC;
	return code == FW_OK && exec ? feed(s, &ev) : code;
}

enum fw_code fw_spaces_exit(struct fw_spaces *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	// Samples of a dying task may be later than its exit, and a new task of the same
	// number begins with a fork: nothing has to be taken away.
	return FW_OK;
}

void fw_spaces_known(struct fw_spaces *s, uint64_t time)
{
	pthread_mutex_lock(&s->lock);
	s->known = time;
	pthread_mutex_unlock(&s->lock);
}

static struct epoch *epoch_at(struct process *p, uint64_t time)
{
	size_t lo = 1, hi = p->epochs.count;	// the first begins before all time
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (p->epochs.data[mid].from <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return &p->epochs.data[lo - 1];
}

static struct fw_space_view *new_view(struct fw_spaces *s, struct process *p, struct epoch *e,
				      uint64_t to)
{
	struct fw_space_view *v = fw_arena_alloc(&s->arena, sizeof(*v));
	if (!v)
		return NULL;
	*v = (struct fw_space_view){
		.number = e->view ? e->view->number : s->num_views++, .pid = p->pid,
		.from = e->from, .to = to, .maps = e->maps->items, .num_maps = e->maps->count,
	};
	e->view = v;
	return v;
}

static const struct fw_space_view *view_at(struct fw_spaces *s, uint32_t pid, uint64_t time)
{
	uint32_t i = index_find(&s->by_pid, pid);
	if (i == UINT32_MAX)
		return NULL;
	struct process *p = &s->processes.data[i];
	struct epoch *e = epoch_at(p, time);
	if (e->view && time < e->view->to)
		return e->view;
	if (!e->maps || !e->maps->count)
		return NULL;
	uint64_t to = e < current(p) ? e[1].from : s->known;
	if (to <= time)
		to = time == UINT64_MAX ? time : time + 1;
	return new_view(s, p, e, to);
}

const struct fw_space_view *fw_spaces_at(struct fw_spaces *s, uint32_t pid, uint64_t time)
{
	pthread_mutex_lock(&s->lock);
	if (s->queue.count)
		drain(s);
	const struct fw_space_view *v = view_at(s, pid, time);
	pthread_mutex_unlock(&s->lock);
	return v;
}

static struct fw_str name_at(const struct fw_spaces *s, uint32_t tid, uint64_t time)
{
	uint32_t i = index_find(&s->by_tid, tid);
	if (i == UINT32_MAX)
		return (struct fw_str){ 0 };
	const struct thread *t = &s->threads.data[i];
	size_t lo = 0, hi = t->names.count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->names.data[mid].from <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? s->names.data[t->names.data[lo - 1].name] : (struct fw_str){ 0 };
}

struct fw_str fw_spaces_name(struct fw_spaces *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	pthread_mutex_lock(&s->lock);
	if (s->queue.count)
		drain(s);
	struct fw_str name = name_at(s, tid, time);
	pthread_mutex_unlock(&s->lock);
	return name;
}

uint64_t fw_spaces_left_out(struct fw_spaces *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t n = s->left_out;
	pthread_mutex_unlock(&s->lock);
	return n;
}

static bool starts(struct fw_str s, const char *with)
{
	size_t n = strlen(with);
	return s.n >= n && memcmp(s.s, with, n) == 0;
}

static bool contains(struct fw_str s, const char *what)
{
	return memmem(s.s, s.n, what, strlen(what)) != NULL;
}

/** What the kernel and perf call mappings that are no files (tools/perf/util/map.h, dso.c). */
static enum fw_dso_kind kind_of(struct fw_str path)
{
	static const char *const anonymous[] = {
		"//anon", "/anon_hugepage", "/memfd:", "/dev/zero", "/dev/ashmem", "/SYSV",
		"anon_inode:", "[heap]", "[stack", "[anon", "[vsyscall]", "[vectors]", "[uprobes]", "[sigpage]",
		"[vvar", "[shmem",
	};
	struct fw_str base = fw_base_name(path);
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++) {
		if (starts(path, anonymous[i]))
			return FW_DSO_ANON;
	}
	if (starts(path, "[vdso"))
		return FW_DSO_VDSO;
	if (starts(path, "[kernel") || starts(path, "[guest.kernel"))
		return FW_DSO_KERNEL;
	if (path.n && path.s[0] == '[')
		return FW_DSO_KERNEL_MODULE;
	if (base.n > 3 && (memcmp(base.s + base.n - 3, ".ko", 3) == 0 || contains(base, ".ko.")))
		return FW_DSO_KERNEL_MODULE;
	return path.n && path.s[0] == '/' ? FW_DSO_FILE : FW_DSO_ANON;
}

/** The path by which ids are listed: "[kernel.kallsyms]" also for "[kernel.kallsyms]_text". */
static struct fw_str listed_as(struct fw_str path)
{
	const char *end = path.n && path.s[0] == '[' ? memchr(path.s, ']', path.n) : NULL;
	if (end && kind_of(path) == FW_DSO_KERNEL)
		path.n = (size_t)(end + 1 - path.s);
	return path;
}

static bool add_dso(struct fw_spaces *s, struct fw_str path, bool deleted,
		    const struct fw_ident *build_id)
{
	struct dso *d = fw_arena_alloc(&s->arena, sizeof(*d));
	if (!d)
		return false;
	*d = (struct dso){ { .number = (uint32_t)s->dsos.count, .kind = kind_of(path),
			     .deleted = deleted }, false };
	d->dso.path = (struct fw_str){ fw_arena_strndup(&s->arena, path.s, path.n), path.n };
	const struct fw_str listed = listed_as(path);
	uint32_t known = fw_intern_find(&s->id_paths, listed.s, listed.n);
	if (build_id && build_id->n)
		d->dso.build_id = *build_id;
	else if (known < s->path_ids.count)
		d->dso.build_id = s->path_ids.data[known];
	return d->dso.path.s && fw_vec_push(&s->dsos, d);
}

static bool take_deleted(struct fw_str *path)
{
	static const char suffix[] = " (deleted)";
	size_t n = sizeof(suffix) - 1;
	if (path->n <= n || memcmp(path->s + path->n - n, suffix, n) != 0)
		return false;
	path->n -= n;
	return true;
}

enum fw_code fw_spaces_dso(struct fw_spaces *s, struct fw_str path, const struct fw_ident *build_id,
			   uint32_t *ret)
{
	// Known by path, its state and id: "0/path" or "1/path", a NUL, the id.
	char key[FW_MAX_NAME + FW_MAX_IDENT + 3];
	uint32_t number;
	if (path.n > FW_MAX_NAME)
		path.n = FW_MAX_NAME;
	bool deleted = take_deleted(&path);
	size_t n = 0, id_n = build_id ? build_id->n : 0;
	key[n++] = deleted ? '1' : '0';
	memcpy(key + n, path.s, path.n);
	n += path.n;
	key[n++] = '\0';
	if (id_n)
		memcpy(key + n, build_id->text, id_n);
	n += id_n;

	pthread_mutex_lock(&s->lock);
	enum fw_code code = FW_LIMIT;
	if (s->dsos.count < FW_MAX_DSOS || fw_intern_find(&s->dso_keys, key, n) != FW_NO_STRING)
		code = fw_intern_add(&s->dso_keys, key, n, &number);
	if (code == FW_OK && number >= s->dsos.count &&
	    (number > s->dsos.count || !add_dso(s, path, deleted, build_id)))
		code = FW_NO_MEMORY;
	pthread_mutex_unlock(&s->lock);
	if (code == FW_OK)
		*ret = number;
	return code;
}

void fw_spaces_identify(struct fw_spaces *s, struct fw_str path, const struct fw_ident *build_id)
{
	uint32_t number;
	take_deleted(&path);
	path = listed_as(path);
	if (path.n > FW_MAX_NAME)
		path.n = FW_MAX_NAME;
	pthread_mutex_lock(&s->lock);
	bool is_new = s->path_ids.count < FW_MAX_DSOS &&
		      fw_intern_add(&s->id_paths, path.s, path.n, &number) == FW_OK &&
		      number == s->path_ids.count;
	if (is_new && !fw_vec_push(&s->path_ids, *build_id))
		is_new = false;
	for (size_t i = 0; is_new && i < s->dsos.count; i++) {
		struct dso *d = s->dsos.data[i];
		const struct fw_str listed = listed_as(d->dso.path);
		if (!d->seen && !d->dso.build_id.n && listed.n == path.n &&
		    memcmp(listed.s, path.s, path.n) == 0)
			d->dso.build_id = *build_id;
	}
	pthread_mutex_unlock(&s->lock);
}

uint32_t fw_spaces_num_dsos(const struct fw_spaces *s)
{
	struct fw_spaces *locked = (struct fw_spaces *)s;
	pthread_mutex_lock(&locked->lock);
	uint32_t n = (uint32_t)s->dsos.count;
	pthread_mutex_unlock(&locked->lock);
	return n;
}

const struct fw_dso *fw_spaces_dso_at(const struct fw_spaces *s, uint32_t number)
{
	struct fw_spaces *locked = (struct fw_spaces *)s;
	pthread_mutex_lock(&locked->lock);
	struct dso *d = number < s->dsos.count ? s->dsos.data[number] : NULL;
	if (d)
		d->seen = true;
	pthread_mutex_unlock(&locked->lock);
	return d ? &d->dso : NULL;
}
