// pprof's profile.proto (github.com/google/pprof, proto/profile.proto): field numbers and
// conventions are its comments'. Messages are written as they come; the string table,
// which everything adds to, last. Parsers take fields in any order.
#include <errno.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/intern.h"
#include "lib/report/profile_text.h"

enum {	// fields
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
	PROFILE_FUNCTION, PROFILE_STRING, PROFILE_TIME_NANOS = 9, PROFILE_DURATION,
	PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE,
	TYPE_TYPE = 1, TYPE_UNIT,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL,
	LABEL_KEY = 1, LABEL_STR, LABEL_NUM,
	MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE,
	MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILES, MAPPING_HAS_LINES, MAPPING_HAS_INLINES,
	LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE,
	LINE_FUNCTION = 1, LINE_LINE,
	FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE,
};

enum { PAGE = 4096 };

struct extent {			// what a module's frames say of its mapping
	uint64_t low, high;	// addresses
	bool used, functions, files, lines, inlines;
};

struct pprof {
	const struct fw_profile *p;
	struct fw_out *out;
	struct fw_out message, part, scratch, utf8;	// nested messages, inside out
	struct fw_intern strings, functions;		// a function: its name's and file's numbers
	struct extent *extents;				// by module
	bool *used;					// by event: samples are of it
	bool many;					// several of them
};

static void varint(struct fw_out *o, uint64_t v)
{
	while (v >= 0x80) {
		fw_out_byte(o, (char)(v | 0x80));
		v >>= 7;
	}
	fw_out_byte(o, (char)v);
}

/** A number; 0 is the default and not written. */
static void number(struct fw_out *o, unsigned field, uint64_t v)
{
	if (!v)
		return;
	varint(o, field << 3);
	varint(o, v);
}

static void bytes(struct fw_out *o, unsigned field, const char *s, size_t n)
{
	varint(o, field << 3 | 2);
	varint(o, n);
	fw_out_write(o, s, n);
}

/** Move what is in @p from to @p to as a message or packed numbers. */
static void nest(struct fw_out *to, unsigned field, struct fw_out *from)
{
	if (from->failed)
		fw_out_fail(to, from->failed);
	bytes(to, field, from->data, from->count);
	from->count = 0;
}

/** Number in the string table; strings of proto3 are UTF-8. */
static uint32_t string(struct pprof *w, struct fw_str s)
{
	uint32_t id = 0;
	w->utf8.count = 0;
	fw_profile_utf8(&w->utf8, s);
	if (w->utf8.failed || fw_intern_add(&w->strings, w->utf8.data, w->utf8.count, &id) != FW_OK)
		fw_out_fail(w->out, ENOMEM);
	return id;
}

static uint32_t cstring(struct pprof *w, const char *s)
{
	return string(w, (struct fw_str){ s, strlen(s) });
}

static uint32_t function(struct pprof *w, struct fw_str name, struct fw_str file)
{
	uint32_t key[2] = { string(w, name), string(w, file) }, id = 0;
	if (fw_intern_add(&w->functions, (const char *)key, sizeof(key), &id) != FW_OK)
		fw_out_fail(w->out, ENOMEM);
	return id + 1;
}

// ---- events ----

static const struct fw_event_info *event(const struct pprof *w, uint32_t i)
{
	static const struct fw_event_info nothing = { 0 };
	return i < w->p->recording->num_events ? &w->p->recording->events[i] : &nothing;
}

static bool starts_with(struct fw_str s, const char *prefix)
{
	size_t n = strlen(prefix);
	return s.n >= n && memcmp(s.s, prefix, n) == 0;
}

/** Periods of these events are nanoseconds. */
static bool is_clock(const struct fw_event_info *e)
{
	return starts_with(e->name, "cpu-clock") || starts_with(e->name, "task-clock");
}

static void value_type(struct pprof *w, unsigned field, uint32_t type, uint32_t unit)
{
	number(&w->part, TYPE_TYPE, type);
	number(&w->part, TYPE_UNIT, unit);
	nest(w->out, field, &w->part);
}

/** What an event's weights are: "cpu" in nanoseconds, or its own name, counted. */
static void weight_type(struct pprof *w, unsigned field, uint32_t i)
{
	bool clock = is_clock(event(w, i));
	struct fw_str name = clock && !w->many ? FW_STR("cpu") : fw_profile_event_name(w->p, i);
	value_type(w, field, string(w, name), cstring(w, clock ? "nanoseconds" : "count"));
}

/** Events that have samples, in their order; recordings also hold some for bookkeeping. */
static uint32_t next_event(const struct pprof *w, uint32_t i)
{
	while (i < w->p->recording->num_events && !w->used[i])
		i++;
	return i;
}

static uint32_t first_event(const struct pprof *w)
{
	uint32_t first = next_event(w, 0);
	return first < w->p->recording->num_events ? first : 0;
}

/** Two values an event: the number of samples and the sum of their periods. */
static void write_types(struct pprof *w)
{
	uint32_t e = first_event(w);
	do {
		w->scratch.count = 0;
		if (w->many) {
			fw_out_str(&w->scratch, fw_profile_event_name(w->p, e));
			fw_out_byte(&w->scratch, ' ');
		}
		fw_out_lit(&w->scratch, "samples");
		value_type(w, PROFILE_SAMPLE_TYPE,
			   string(w, (struct fw_str){ w->scratch.data, w->scratch.count }),
			   cstring(w, "count"));
		weight_type(w, PROFILE_SAMPLE_TYPE, e);
		e = next_event(w, e + 1);
	} while (e < w->p->recording->num_events);
}

static void write_period(struct pprof *w)
{
	const struct fw_event_info *e = event(w, first_event(w));
	uint64_t samples = 0, weight = 0;
	for (uint32_t i = 0; i < w->p->num_stacks; i++) {
		if (w->p->stacks[i].event != first_event(w))
			continue;
		samples += w->p->stacks[i].samples;
		weight += w->p->stacks[i].weight;
	}
	weight_type(w, PROFILE_PERIOD_TYPE, first_event(w));
	if (is_clock(e) && e->frequency)
		number(w->out, PROFILE_PERIOD, 1000000000 / e->frequency);
	else if (samples)
		number(w->out, PROFILE_PERIOD, weight / samples);
}

// ---- mappings ----

static uint64_t address_of(const struct pprof *w, const struct fw_profile_frame *f)
{
	const struct fw_profile_module *m = fw_profile_module(w->p, f);
	return (m ? m->base : 0) + f->lookup;
}

static void note_extents(struct pprof *w)
{
	for (uint32_t i = 0; i < w->p->num_frames; i++) {
		const struct fw_profile_frame *f = &w->p->frames[i];
		if (!fw_profile_module(w->p, f))
			continue;
		struct extent *e = &w->extents[f->module];
		uint64_t address = address_of(w, f);
		if (!e->used || address < e->low)
			e->low = address;
		if (!e->used || address > e->high)
			e->high = address;
		e->used = true;
		e->inlines |= f->num_lines > 1;
		for (uint32_t k = 0; k < f->num_lines; k++) {
			const struct fw_profile_line *line = &w->p->lines[f->first_line + k];
			e->functions |= line->function.n != 0;
			e->files |= line->file.n != 0;
			e->lines |= line->line != 0;
		}
	}
}

/**
 * The executable mapping, where it covers all addresses seen; else it is widened to
 * them, as where a file's addresses and offsets differ.
 */
static void write_mapping(struct pprof *w, uint32_t i)
{
	const struct fw_profile_module *m = &w->p->modules[i];
	const struct extent *e = &w->extents[i];
	uint64_t start = m->base + m->file_offset, limit = start + m->size, offset = m->file_offset;
	if (!m->size || e->low < start) {
		start = e->low & ~(uint64_t)(PAGE - 1);
		offset = start >= m->base ? start - m->base : 0;
	}
	if (!m->size || e->high >= limit)
		limit = (e->high | (PAGE - 1)) + 1;
	number(&w->message, MAPPING_ID, i + UINT64_C(1));
	number(&w->message, MAPPING_START, start);
	number(&w->message, MAPPING_LIMIT, limit ? limit : UINT64_MAX);
	number(&w->message, MAPPING_OFFSET, offset);
	number(&w->message, MAPPING_FILE, string(w, m->path));
	number(&w->message, MAPPING_BUILD_ID,
	       string(w, (struct fw_str){ m->build_id.text, m->build_id.n }));
	number(&w->message, MAPPING_HAS_FUNCTIONS, e->functions);
	number(&w->message, MAPPING_HAS_FILES, e->files);
	number(&w->message, MAPPING_HAS_LINES, e->lines);
	number(&w->message, MAPPING_HAS_INLINES, e->inlines);
	nest(w->out, PROFILE_MAPPING, &w->message);
}

// ---- locations, functions, samples ----

static void write_location(struct pprof *w, uint32_t i)
{
	const struct fw_profile_frame *f = &w->p->frames[i];
	const struct fw_profile_module *m = fw_profile_module(w->p, f);
	number(&w->message, LOCATION_ID, i + UINT64_C(1));
	number(&w->message, LOCATION_MAPPING, m ? f->module + UINT64_C(1) : 0);
	number(&w->message, LOCATION_ADDRESS, f->truncated ? 0 : address_of(w, f));
	for (uint32_t k = 0; k < f->num_lines; k++) {
		const struct fw_profile_line *line = &w->p->lines[f->first_line + k];
		struct fw_str name = fw_profile_function(w->p, f, k, &w->scratch);
		number(&w->part, LINE_FUNCTION, function(w, name, line->file));
		number(&w->part, LINE_LINE, line->line);
		nest(&w->message, LOCATION_LINE, &w->part);
	}
	nest(w->out, PROFILE_LOCATION, &w->message);
}

static void write_functions(struct pprof *w)
{
	for (uint32_t i = 0; i < fw_intern_count(&w->functions) && !w->out->failed; i++) {
		uint32_t key[2];
		memcpy(key, fw_intern_get(&w->functions, i).s, sizeof(key));
		number(&w->message, FUNCTION_ID, i + UINT64_C(1));
		number(&w->message, FUNCTION_NAME, key[0]);
		number(&w->message, FUNCTION_SYSTEM_NAME, key[0]);
		number(&w->message, FUNCTION_FILE, key[1]);
		nest(w->out, PROFILE_FUNCTION, &w->message);
	}
}

static void label(struct pprof *w, const char *key, uint32_t str, uint64_t num)
{
	number(&w->part, LABEL_KEY, cstring(w, key));
	number(&w->part, LABEL_STR, str);
	number(&w->part, LABEL_NUM, num);
	nest(&w->message, SAMPLE_LABEL, &w->part);
}

static void write_sample(struct pprof *w, const struct fw_profile_stack *s)
{
	const struct fw_profile_thread *t = &w->p->threads[s->thread];
	for (uint32_t at = s->node; at; at = w->p->nodes[at].parent)
		varint(&w->part, w->p->nodes[at].frame + UINT64_C(1));
	if (w->part.count)
		nest(&w->message, SAMPLE_LOCATION, &w->part);
	uint32_t e = first_event(w);
	do {
		varint(&w->part, e == s->event ? s->samples : 0);
		varint(&w->part, e == s->event ? s->weight : 0);
		e = next_event(w, e + 1);
	} while (e < w->p->recording->num_events);
	nest(&w->message, SAMPLE_VALUE, &w->part);
	if (t->name.n)
		label(w, "comm", string(w, t->name), 0);
	if (t->pid)
		label(w, "pid", 0, t->pid);
	if (t->tid)
		label(w, "thread", 0, t->tid);
	nest(w->out, PROFILE_SAMPLE, &w->message);
}

static void write_comments(struct pprof *w)
{
	const struct fw_recording *r = w->p->recording;
	struct fw_str comments[] = { r->command_line, r->hostname, r->os_release };
	for (unsigned i = 0; i < sizeof(comments) / sizeof(*comments); i++)
		if (comments[i].n)
			number(w->out, PROFILE_COMMENT, string(w, comments[i]));
}

static void write_profile(struct pprof *w)
{
	const struct fw_profile *p = w->p;
	string(w, FW_STR(""));		// 0 must be the empty string
	write_types(w);
	note_extents(w);
	for (uint32_t i = 0; i < p->num_modules; i++)
		if (w->extents[i].used)
			write_mapping(w, i);
	for (uint32_t i = 0; i < p->num_stacks && !w->out->failed; i++)
		write_sample(w, &p->stacks[i]);
	for (uint32_t i = 0; i < p->num_frames && !w->out->failed; i++)
		write_location(w, i);
	write_functions(w);
	number(w->out, PROFILE_TIME_NANOS, p->started);
	number(w->out, PROFILE_DURATION, p->last_time - p->first_time);
	write_period(w);
	write_comments(w);
	uint32_t main = first_event(w);
	bool clock = is_clock(event(w, main)) && !w->many;
	number(w->out, PROFILE_DEFAULT_TYPE,
	       string(w, clock ? FW_STR("cpu") : fw_profile_event_name(p, main)));
	for (uint32_t i = 0; i < fw_intern_count(&w->strings) && !w->out->failed; i++) {
		struct fw_str s = fw_intern_get(&w->strings, i);
		bytes(w->out, PROFILE_STRING, s.s, s.n);
	}
}

void fw_profile_write_pprof(const struct fw_profile *p, struct fw_out *out)
{
	struct pprof w = { .p = p, .out = out, .many = fw_profile_many_events(p) };
	struct fw_out *buffers[] = { &w.message, &w.part, &w.scratch, &w.utf8 };
	for (unsigned i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		fw_out_init_memory(buffers[i], SIZE_MAX);
	fw_intern_init(&w.strings);
	fw_intern_init(&w.functions);
	if (!fw_alloc_should_fail())
		w.extents = calloc(p->num_modules + (size_t)1, sizeof(*w.extents));
	if (!fw_alloc_should_fail())
		w.used = calloc(p->recording->num_events + (size_t)1, sizeof(*w.used));
	for (uint32_t i = 0; w.used && i < p->num_stacks; i++)
		if (p->stacks[i].event < p->recording->num_events)
			w.used[p->stacks[i].event] = true;
	if (w.extents && w.used)
		write_profile(&w);
	else
		fw_out_fail(out, ENOMEM);
	free(w.extents);
	free(w.used);
	fw_intern_deinit(&w.strings);
	fw_intern_deinit(&w.functions);
	for (unsigned i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		fw_out_deinit(buffers[i]);
}
