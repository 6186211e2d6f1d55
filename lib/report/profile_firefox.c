// The Firefox Profiler's processed profile, format version 48 (the front end upgrades it;
// github.com/firefox-devtools/profiler, docs-developer/CHANGELOG-formats.md and
// src/types/profile). Every thread has tables of its own, of what its samples need.
#include <errno.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/intern.h"
#include "lib/base/json.h"
#include "lib/report/profile_text.h"

enum { FORMAT_VERSION = 48, GECKO_VERSION = 29, RESOURCE_LIBRARY = 1 };
enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT };
#define NONE UINT32_MAX

struct mark { uint32_t track, value; };		// value holds for that track (from 1)
struct stack_row { uint32_t prefix, frame; uint8_t category; };
struct frame_row {
	uint64_t address;
	uint32_t func, native, line, depth;	// native NONE: of no library
	uint8_t category;
};
struct func_key { uint32_t name, file, resource; };
struct native_key { uint32_t lib, name; uint64_t address; };

struct firefox {
	const struct fw_profile *p;
	struct fw_json j;
	struct fw_out scratch;
	uint32_t *libs;			// by module: index in `libs`, NONE
	struct mark *nodes, *frames;	// rows of the innermost call, of the function
	struct mark *resources;		// by module
	uint32_t *order;		// samples by track
	bool many;			// several events: a track a thread and event
	bool failed;
	// of the track at hand
	uint32_t track;
	FW_VEC(uint32_t) used;		// nodes
	FW_VEC(struct stack_row) stacks;
	FW_VEC(struct frame_row) rows;
	FW_VEC(uint32_t) modules;	// of the resources
	struct fw_intern strings, funcs, natives;
};

static void string(struct fw_json *j, const char *key, struct fw_str s)
{
	fw_json_key_(j, key, strlen(key));
	fw_json_string(j, s.s ? s.s : "", s.n);
}

/** Milliseconds, which all times are: a JSON number with nanoseconds. */
static void milliseconds(struct fw_json *j, uint64_t ns)
{
	char digits[7] = "000000";
	uint64_t rest = ns % 1000000;
	for (int i = 5; i >= 0; i--, rest /= 10)
		digits[i] = (char)('0' + rest % 10);
	fw_json_u64(j, ns / 1000000);
	fw_out_byte(j->out, '.');
	fw_out_write(j->out, digits, 6);
}

static uint32_t intern(struct firefox *w, struct fw_intern *in, const void *s, size_t n)
{
	uint32_t id = 0;
	if (fw_intern_add(in, s, n, &id) != FW_OK)
		w->failed = true;
	return id;
}

static uint32_t text(struct firefox *w, struct fw_str s)
{
	return intern(w, &w->strings, s.s, s.n);
}

// ---- the whole profile ----

/** 16 bytes of the build id as Breakpad writes them: samply and the profiler ask by that. */
static void write_breakpad_id(struct fw_json *j, const struct fw_ident *id)
{
	uint8_t raw[FW_MAX_IDENT / 2];
	struct fw_ident debug = { 0 };
	for (unsigned i = 0; i + 1 < id->n; i += 2)
		raw[i / 2] = (uint8_t)(fw_hex_digit[(uint8_t)id->text[i]] << 4 |
				       fw_hex_digit[(uint8_t)id->text[i + 1]]);
	fw_ident_from_build_id(&debug, raw, id->n / 2);
	fw_json_put_cstr(j, "breakpadId", debug.text);
}

static void write_libs(struct firefox *w)
{
	struct fw_json *j = &w->j;
	uint32_t count = 0;
	for (uint32_t i = 0; i < w->p->num_modules; i++)
		w->libs[i] = NONE;
	for (uint32_t i = 0; i < w->p->num_frames; i++)
		if (fw_profile_module(w->p, &w->p->frames[i]))
			w->libs[w->p->frames[i].module] = 0;
	fw_json_key(j, "libs");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < w->p->num_modules; i++) {
		const struct fw_profile_module *m = &w->p->modules[i];
		if (w->libs[i] == NONE)
			continue;
		w->libs[i] = count++;
		fw_json_begin_object(j);
		string(j, "arch", w->p->recording->arch);
		string(j, "name", m->name);
		string(j, "path", m->path);
		string(j, "debugName", m->name);
		string(j, "debugPath", m->path);
		write_breakpad_id(j, &m->build_id);
		fw_json_put_cstr(j, "codeId", m->build_id.n ? m->build_id.text : NULL);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void write_categories(struct fw_json *j)
{
	static const struct { const char *name, *color; } categories[] = {
		[CATEGORY_OTHER] = { "Other", "grey" }, [CATEGORY_USER] = { "User", "yellow" },
		[CATEGORY_KERNEL] = { "Kernel", "orange" }, [CATEGORY_JIT] = { "JIT", "blue" },
	};
	fw_json_key(j, "categories");
	fw_json_begin_array(j);
	for (unsigned i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		fw_json_begin_object(j);
		fw_json_put_cstr(j, "name", categories[i].name);
		fw_json_put_cstr(j, "color", categories[i].color);
		fw_json_key(j, "subcategories");
		fw_json_begin_array(j);
		fw_json_cstr(j, "Other");
		fw_json_end_array(j);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void write_units(struct fw_json *j)
{
	fw_json_key(j, "sampleUnits");
	fw_json_begin_object(j);
	fw_json_put_cstr(j, "time", "ms");
	fw_json_put_cstr(j, "eventDelay", "ms");
	fw_json_put_cstr(j, "threadCPUDelta", "ns");
	fw_json_end_object(j);
}

static void write_meta(struct firefox *w)
{
	struct fw_json *j = &w->j;
	const struct fw_recording *r = w->p->recording;
	uint64_t frequency = r->num_events ? r->events[0].frequency : 0;
	fw_json_key(j, "meta");
	fw_json_begin_object(j);
	fw_json_key(j, "interval");
	milliseconds(j, frequency ? 1000000000 / frequency : 1000000);
	fw_json_key(j, "startTime");
	milliseconds(j, w->p->started);
	fw_json_put_u64(j, "processType", 0);
	string(j, "product", r->command_line.n ? r->command_line :
	       (struct fw_str){ w->p->path, strlen(w->p->path) });
	fw_json_put_u64(j, "stackwalk", 1);
	fw_json_put_bool(j, "debug", false);
	fw_json_put_u64(j, "version", GECKO_VERSION);
	fw_json_put_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
	string(j, "oscpu", r->os_release);
	fw_json_put_cstr(j, "platform", "Linux");
	string(j, "arguments", r->command_line);
	fw_json_put_cstr(j, "importedFrom", "framewalk");
	fw_json_put_bool(j, "symbolicated", true);
	fw_json_put_bool(j, "usesOnlyOneStackType", true);
	fw_json_put_bool(j, "sourceCodeIsNotOnSearchfox", true);
	write_categories(j);
	write_units(j);
	fw_json_key(j, "markerSchema");
	fw_json_begin_array(j);
	fw_json_end_array(j);
	fw_json_end_object(j);
}

// ---- tables of a track ----

static enum category category_of(const struct fw_profile_frame *f)
{
	return f->truncated ? CATEGORY_OTHER : f->kernel ? CATEGORY_KERNEL :
	       f->jit ? CATEGORY_JIT : CATEGORY_USER;
}

static uint32_t get_resource(struct firefox *w, uint32_t module)
{
	struct mark *m = &w->resources[module];
	if (m->track != w->track) {
		*m = (struct mark){ w->track, (uint32_t)w->modules.count };
		if (!fw_vec_push(&w->modules, module))
			w->failed = true;
	}
	return m->value;
}

static struct frame_row make_row(struct firefox *w, const struct fw_profile_frame *f, uint32_t line)
{
	static const struct fw_profile_line nothing = { 0 };
	const struct fw_profile_line *l = line < f->num_lines ? &w->p->lines[f->first_line + line] :
					  &nothing;
	const struct fw_profile_line *last = f->num_lines ?
		&w->p->lines[f->first_line + f->num_lines - 1] : &nothing;
	bool module = fw_profile_module(w->p, f);
	struct func_key func = {
		.name = text(w, fw_profile_function(w->p, f, line, &w->scratch)),
		.file = l->file.n ? text(w, l->file) : NONE,
		.resource = module ? get_resource(w, f->module) : NONE,
	};
	struct frame_row row = {
		.address = module ? f->lookup : UINT64_MAX, .native = NONE, .line = l->line,
		.func = intern(w, &w->funcs, &func, sizeof(func)),
		.depth = f->num_lines > line ? f->num_lines - 1 - line : 0,
		.category = category_of(f),
	};
	if (module && last->function.n) {
		struct native_key native = { w->libs[f->module], text(w, last->function),
					     f->pc - last->function_offset };
		row.native = intern(w, &w->natives, &native, sizeof(native));
	}
	return row;
}

/** Row of the function itself; what is inlined follows, the innermost last. */
static uint32_t get_frame(struct firefox *w, uint32_t frame)
{
	struct mark *m = &w->frames[frame];
	if (m->track != w->track) {
		const struct fw_profile_frame *f = &w->p->frames[frame];
		*m = (struct mark){ w->track, (uint32_t)w->rows.count };
		for (uint32_t line = f->num_lines ? f->num_lines : 1; line-- > 0;) {
			struct frame_row row = make_row(w, f, line);
			if (!fw_vec_push(&w->rows, row))
				w->failed = true;
		}
	}
	return m->value;
}

static void add_node(struct firefox *w, uint32_t node)
{
	const struct fw_profile_node *n = &w->p->nodes[node];
	const struct fw_profile_frame *f = &w->p->frames[n->frame];
	uint32_t row = get_frame(w, n->frame), lines = f->num_lines ? f->num_lines : 1;
	uint32_t prefix = n->parent ? w->nodes[n->parent].value : NONE;
	for (uint32_t i = 0; i < lines; i++) {
		struct stack_row stack = { prefix, row + i, (uint8_t)category_of(f) };
		prefix = (uint32_t)w->stacks.count;
		if (!fw_vec_push(&w->stacks, stack))
			w->failed = true;
	}
	w->nodes[node].value = prefix;
}

static int by_number(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	return a < b ? -1 : a > b;
}

static void make_tables(struct firefox *w, const uint32_t *samples, uint32_t count)
{
	w->track++;
	w->used.count = w->stacks.count = w->rows.count = w->modules.count = 0;
	fw_intern_deinit(&w->strings);
	fw_intern_deinit(&w->funcs);
	fw_intern_deinit(&w->natives);
	fw_intern_init(&w->strings);
	fw_intern_init(&w->funcs);
	fw_intern_init(&w->natives);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = w->p->samples[samples[i]].node;
		for (; at && w->nodes[at].track != w->track; at = w->p->nodes[at].parent) {
			w->nodes[at].track = w->track;
			if (!fw_vec_push(&w->used, at))
				w->failed = true;
		}
	}
	if (w->used.count)
		qsort(w->used.data, w->used.count, sizeof(*w->used.data), by_number);
	for (size_t i = 0; i < w->used.count; i++)	// parents come before their children
		add_node(w, w->used.data[i]);
	for (size_t i = 0; i < w->modules.count; i++)	// named here, before strings are written
		text(w, w->p->modules[w->modules.data[i]].name);
}

// ---- writing a track ----

#define COLUMN(j, name, count, value) do { \
		fw_json_key(j, name); \
		fw_json_begin_array(j); \
		for (size_t i = 0; i < (count); i++) \
			value; \
		fw_json_end_array(j); \
	} while (0)

static void empty(struct fw_json *j, const char *key)
{
	fw_json_key_(j, key, strlen(key));
	fw_json_begin_array(j);
	fw_json_end_array(j);
}

static void index_or_null(struct fw_json *j, uint32_t v)
{
	if (v == NONE)
		fw_json_null(j);
	else
		fw_json_u64(j, v);
}

static void write_samples(struct firefox *w, const uint32_t *order, uint32_t count)
{
	struct fw_json *j = &w->j;
	const struct fw_profile_sample *all = w->p->samples;
	struct fw_str event = fw_profile_event_name(w->p, all[order[0]].event);
	bool clock = event.n >= 9 && (memcmp(event.s, "cpu-clock", 9) == 0 ||
				      (event.n >= 10 && memcmp(event.s, "task-clock", 10) == 0));
	fw_json_key(j, "samples");
	fw_json_begin_object(j);
	COLUMN(j, "stack", count, ({
		uint32_t node = all[order[i]].node;
		index_or_null(j, node ? w->nodes[node].value : NONE);
	}));
	COLUMN(j, "time", count, milliseconds(j, all[order[i]].time - w->p->first_time));
	fw_json_key(j, "weight");
	fw_json_null(j);
	fw_json_put_cstr(j, "weightType", "samples");
	if (clock)
		COLUMN(j, "threadCPUDelta", count, fw_json_u64(j, all[order[i]].period));
	fw_json_put_u64(j, "length", count);
	fw_json_end_object(j);
}

static void write_markers(struct fw_json *j)
{
	fw_json_key(j, "markers");
	fw_json_begin_object(j);
	empty(j, "data");
	empty(j, "name");
	empty(j, "startTime");
	empty(j, "endTime");
	empty(j, "phase");
	empty(j, "category");
	fw_json_put_u64(j, "length", 0);
	fw_json_end_object(j);
}

static void write_stacks(struct firefox *w)
{
	struct fw_json *j = &w->j;
	const struct stack_row *s = w->stacks.data;
	fw_json_key(j, "stackTable");
	fw_json_begin_object(j);
	COLUMN(j, "frame", w->stacks.count, fw_json_u64(j, s[i].frame));
	COLUMN(j, "category", w->stacks.count, fw_json_u64(j, s[i].category));
	COLUMN(j, "subcategory", w->stacks.count, fw_json_u64(j, 0));
	COLUMN(j, "prefix", w->stacks.count, index_or_null(j, s[i].prefix));
	fw_json_put_u64(j, "length", w->stacks.count);
	fw_json_end_object(j);
}

static void address(struct fw_json *j, uint64_t v)
{
	if (v > INT64_MAX)
		fw_json_i64(j, -1);
	else
		fw_json_u64(j, v);
}

static void write_frames(struct firefox *w)
{
	struct fw_json *j = &w->j;
	const struct frame_row *f = w->rows.data;
	size_t n = w->rows.count;
	fw_json_key(j, "frameTable");
	fw_json_begin_object(j);
	COLUMN(j, "address", n, address(j, f[i].address));
	COLUMN(j, "inlineDepth", n, fw_json_u64(j, f[i].depth));
	COLUMN(j, "category", n, fw_json_u64(j, f[i].category));
	COLUMN(j, "subcategory", n, fw_json_u64(j, 0));
	COLUMN(j, "func", n, fw_json_u64(j, f[i].func));
	COLUMN(j, "nativeSymbol", n, index_or_null(j, f[i].native));
	COLUMN(j, "innerWindowID", n, fw_json_u64(j, 0));
	COLUMN(j, "implementation", n, fw_json_null(j));
	COLUMN(j, "line", n, index_or_null(j, f[i].line ? f[i].line : NONE));
	COLUMN(j, "column", n, fw_json_null(j));
	fw_json_put_u64(j, "length", n);
	fw_json_end_object(j);
}

static struct func_key func_at(const struct firefox *w, size_t i)
{
	struct func_key key;
	memcpy(&key, fw_intern_get(&w->funcs, (uint32_t)i).s, sizeof(key));
	return key;
}

static void write_funcs(struct firefox *w)
{
	struct fw_json *j = &w->j;
	uint32_t n = fw_intern_count(&w->funcs);
	fw_json_key(j, "funcTable");
	fw_json_begin_object(j);
	COLUMN(j, "name", n, fw_json_u64(j, func_at(w, i).name));
	COLUMN(j, "isJS", n, fw_json_bool(j, false));
	COLUMN(j, "relevantForJS", n, fw_json_bool(j, false));
	COLUMN(j, "resource", n, ({
		uint32_t resource = func_at(w, i).resource;
		fw_json_i64(j, resource == NONE ? -1 : (int64_t)resource);
	}));
	COLUMN(j, "fileName", n, index_or_null(j, func_at(w, i).file));
	COLUMN(j, "lineNumber", n, fw_json_null(j));
	COLUMN(j, "columnNumber", n, fw_json_null(j));
	fw_json_put_u64(j, "length", n);
	fw_json_end_object(j);
}

static struct native_key native_at(const struct firefox *w, size_t i)
{
	struct native_key key;
	memcpy(&key, fw_intern_get(&w->natives, (uint32_t)i).s, sizeof(key));
	return key;
}

static void write_natives(struct firefox *w)
{
	struct fw_json *j = &w->j;
	uint32_t n = fw_intern_count(&w->natives);
	fw_json_key(j, "nativeSymbols");
	fw_json_begin_object(j);
	COLUMN(j, "libIndex", n, fw_json_u64(j, native_at(w, i).lib));
	COLUMN(j, "address", n, address(j, native_at(w, i).address));
	COLUMN(j, "name", n, fw_json_u64(j, native_at(w, i).name));
	COLUMN(j, "functionSize", n, fw_json_null(j));
	fw_json_put_u64(j, "length", n);
	fw_json_end_object(j);
}

static void write_resources(struct firefox *w)
{
	struct fw_json *j = &w->j;
	const uint32_t *m = w->modules.data;
	fw_json_key(j, "resourceTable");
	fw_json_begin_object(j);
	COLUMN(j, "lib", w->modules.count, fw_json_u64(j, w->libs[m[i]]));
	COLUMN(j, "name", w->modules.count, fw_json_u64(j, text(w, w->p->modules[m[i]].name)));
	COLUMN(j, "host", w->modules.count, fw_json_null(j));
	COLUMN(j, "type", w->modules.count, fw_json_u64(j, RESOURCE_LIBRARY));
	fw_json_put_u64(j, "length", w->modules.count);
	fw_json_end_object(j);
}

static void write_name(struct firefox *w, const struct fw_profile_sample *s)
{
	const struct fw_profile_thread *t = &w->p->threads[s->thread];
	w->scratch.count = 0;
	if (t->name.n)
		fw_out_str(&w->scratch, t->name);
	else
		fw_out_lit(&w->scratch, "[unknown]");
	if (w->many) {
		fw_out_lit(&w->scratch, " (");
		fw_out_str(&w->scratch, fw_profile_event_name(w->p, s->event));
		fw_out_byte(&w->scratch, ')');
	}
	string(&w->j, "name", (struct fw_str){ w->scratch.data, w->scratch.count });
}

static void write_track(struct firefox *w, const uint32_t *order, uint32_t count)
{
	struct fw_json *j = &w->j;
	const struct fw_profile_sample *first = &w->p->samples[order[0]];
	const struct fw_profile_thread *t = &w->p->threads[first->thread];
	make_tables(w, order, count);
	fw_json_begin_object(j);
	fw_json_put_cstr(j, "processType", "default");
	fw_json_put_u64(j, "processStartupTime", 0);
	fw_json_key(j, "processShutdownTime");
	fw_json_null(j);
	fw_json_key(j, "registerTime");
	milliseconds(j, first->time - w->p->first_time);
	fw_json_key(j, "unregisterTime");
	fw_json_null(j);
	empty(j, "pausedRanges");
	write_name(w, first);
	fw_json_put_bool(j, "isMainThread", t->pid == t->tid);
	string(j, "processName", t->name);
	w->scratch.count = 0;
	fw_out_dec(&w->scratch, t->pid);
	string(j, "pid", (struct fw_str){ w->scratch.data, w->scratch.count });
	fw_json_put_u64(j, "tid", t->tid);
	write_samples(w, order, count);
	write_markers(j);
	write_stacks(w);
	write_frames(w);
	write_funcs(w);
	write_natives(w);
	write_resources(w);
	COLUMN(j, "stringArray", fw_intern_count(&w->strings), ({
		struct fw_str s = fw_intern_get(&w->strings, (uint32_t)i);
		fw_json_string(j, s.s, s.n);
	}));
	fw_json_end_object(j);
}

static int by_track(const void *x, const void *y, void *context)
{
	const struct firefox *w = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const struct fw_profile_sample *s = &w->p->samples[a], *t = &w->p->samples[b];
	if (s->thread != t->thread)
		return s->thread < t->thread ? -1 : 1;
	if (w->many && s->event != t->event)
		return s->event < t->event ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void write_threads(struct firefox *w)
{
	const struct fw_profile_sample *all = w->p->samples;
	uint32_t n = (uint32_t)w->p->num_samples, end;
	for (uint32_t i = 0; i < n; i++)
		w->order[i] = i;
	qsort_r(w->order, n, sizeof(*w->order), by_track, w);
	fw_json_key(&w->j, "threads");
	fw_json_begin_array(&w->j);
	for (uint32_t i = 0; i < n && !w->failed && !w->j.out->failed; i = end) {
		const struct fw_profile_sample *s = &all[w->order[i]];
		for (end = i + 1; end < n; end++) {
			const struct fw_profile_sample *t = &all[w->order[end]];
			if (t->thread != s->thread || (w->many && t->event != s->event))
				break;
		}
		write_track(w, w->order + i, end - i);
	}
	fw_json_end_array(&w->j);
}

static void *array(uint64_t n, size_t size)
{
	return fw_alloc_should_fail() ? NULL : calloc(n ? n : 1, size);
}

void fw_profile_write_firefox(const struct fw_profile *p, struct fw_out *out)
{
	struct firefox w = { .p = p, .many = fw_profile_many_events(p) };
	fw_json_init(&w.j, out, false);
	fw_out_init_memory(&w.scratch, SIZE_MAX);
	w.libs = array(p->num_modules, sizeof(*w.libs));
	w.resources = array(p->num_modules, sizeof(*w.resources));
	w.nodes = array(p->num_nodes, sizeof(*w.nodes));
	w.frames = array(p->num_frames, sizeof(*w.frames));
	w.order = array(p->num_samples, sizeof(*w.order));
	w.failed = !w.libs || !w.resources || !w.nodes || !w.frames || !w.order;
	if (p->num_samples > UINT32_MAX) {
		fw_out_fail(out, EFBIG);
	} else if (!w.failed) {
		fw_json_begin_object(&w.j);
		write_meta(&w);
		write_libs(&w);
		write_threads(&w);
		fw_json_end_object(&w.j);
		fw_json_finish(&w.j);
	}
	if (w.failed || w.scratch.failed)
		fw_out_fail(out, ENOMEM);
	free(w.libs);
	free(w.resources);
	free(w.nodes);
	free(w.frames);
	free(w.order);
	fw_vec_deinit(&w.used);
	fw_vec_deinit(&w.stacks);
	fw_vec_deinit(&w.rows);
	fw_vec_deinit(&w.modules);
	fw_intern_deinit(&w.strings);
	fw_intern_deinit(&w.funcs);
	fw_intern_deinit(&w.natives);
	fw_out_deinit(&w.scratch);
}
