#include "lib/snapshot/perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {	// offsets in perf_event_attr
	ATTR_TYPE = 0, ATTR_CONFIG = 8, ATTR_PERIOD = 16, ATTR_SAMPLE_TYPE = 24,
	ATTR_READ_FORMAT = 32, ATTR_FLAGS = 40, ATTR_BRANCH_TYPE = 72, ATTR_REGS_USER = 80,
	ATTR_STACK_USER = 88, ATTR_CLOCK = 92, ATTR_KNOWN = 136, ATTR_LEAST = 64,
};

/** Bit fields start at the other end of the word on big-endian machines. */
static bool flag(const struct perf *p, uint64_t flags, unsigned bit)
{
	return flags >> (p->r->big_endian ? 63 - bit : bit) & 1;
}

static int8_t place(uint64_t type, uint64_t bit, int8_t *next)
{
	return type & bit ? (*next)++ : -1;
}

static void lay_out(struct perf_attr *a)
{
	uint64_t t = a->sample_type;
	int8_t n = 0, identifier = place(t, PERF_IDENTIFIER, &n);
	a->at_ip = place(t, PERF_IP, &n);
	a->at_tid = place(t, PERF_TID, &n);
	a->at_time = place(t, PERF_TIME, &n);
	place(t, PERF_ADDR, &n);
	a->at_id = place(t, PERF_ID, &n);
	if (identifier >= 0)
		a->at_id = identifier;
	place(t, PERF_STREAM_ID, &n);
	a->at_cpu = place(t, PERF_CPU, &n);
	a->at_period = place(t, PERF_PERIOD, &n);
	a->fixed = (uint8_t)n;
	// From the end: IDENTIFIER, CPU, STREAM_ID, ID, TIME, TID.
	n = 1;
	identifier = place(t, PERF_IDENTIFIER, &n);
	place(t, PERF_CPU, &n);
	place(t, PERF_STREAM_ID, &n);
	a->id_from_end = place(t, PERF_ID, &n);
	if (identifier >= 0)
		a->id_from_end = identifier;
	a->time_from_end = place(t, PERF_TIME, &n);
	if (!a->sample_id_all)
		a->id_from_end = a->time_from_end = -1;
}

/** What perf calls the event (tools/perf/util/evsel.c), for recordings that do not say. */
static struct fw_str default_name(struct perf *p, uint32_t type, uint64_t config)
{
	static const char *const hardware[] = {
		"cycles", "instructions", "cache-references", "cache-misses", "branches",
		"branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend",
		"ref-cycles",
	};
	static const char *const software[] = {
		"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
		"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
		"bpf-output", "cgroup-switches",
	};
	const char *name = NULL;
	char text[64];
	if (type == 0 && config < sizeof(hardware) / sizeof(hardware[0]))
		name = hardware[config];
	else if (type == 1 && config < sizeof(software) / sizeof(software[0]))
		name = software[config];
	if (name)
		return (struct fw_str){ name, strlen(name) };
	int n = snprintf(text, sizeof(text), "type %u config 0x%llx", type,
			 (unsigned long long)config);
	name = fw_arena_strndup(&p->r->arena, text, (size_t)n);
	return name ? (struct fw_str){ name, (size_t)n } : FW_STR("unknown");
}

enum fw_code perf_add_attr(struct perf *p, const uint8_t *attr, uint64_t size, uint32_t *ret,
			   struct fw_error *err)
{
	uint8_t whole[ATTR_KNOWN] = { 0 };
	if (size < ATTR_LEAST)
		return fw_fail(err, FW_MALFORMED, NULL, "an event's attributes have %u bytes",
			       (unsigned)size);
	if (p->attrs.count >= FW_MAX_EVENTS)
		return fw_fail(err, FW_LIMIT, NULL, "more than %d events", FW_MAX_EVENTS);
	memcpy(whole, attr, size < ATTR_KNOWN ? size : ATTR_KNOWN);
	uint64_t flags = perf_u64(p, whole + ATTR_FLAGS);
	uint64_t period = perf_u64(p, whole + ATTR_PERIOD);
	bool freq = flag(p, flags, PERF_FREQ);
	struct perf_attr a = {
		.sample_type = perf_u64(p, whole + ATTR_SAMPLE_TYPE),
		.read_format = perf_u64(p, whole + ATTR_READ_FORMAT),
		.branch_type = perf_u64(p, whole + ATTR_BRANCH_TYPE),
		.regs_user = perf_u64(p, whole + ATTR_REGS_USER),
		.period = freq || !period ? 1 : period,
		.sample_id_all = flag(p, flags, PERF_SAMPLE_ID_ALL),
	};
	lay_out(&a);
	uint64_t t = a.sample_type;
	struct fw_event_info e = {
		.type = perf_u32(p, whole + ATTR_TYPE), .config = perf_u64(p, whole + ATTR_CONFIG),
		.kernel = !flag(p, flags, PERF_EXCLUDE_KERNEL),
		.user = !flag(p, flags, PERF_EXCLUDE_USER),
		.have_stack = t & PERF_REGS_USER && t & PERF_STACK_USER,
		.have_chain = t & PERF_CALLCHAIN, .have_time = t & PERF_TIME,
		.have_cpu = t & PERF_CPU, .have_period = t & PERF_PERIOD,
		.frequency = freq ? period : 0,
		.stack_asked = t & PERF_STACK_USER ? perf_u32(p, whole + ATTR_STACK_USER) : 0,
	};
	if (flag(p, flags, PERF_USE_CLOCKID) && perf_u32(p, whole + ATTR_CLOCK) == CLOCK_MONOTONIC)
		p->r->monotonic = true;	// perf gives all events of a recording one clock
	e.name = default_name(p, e.type, e.config);
	*ret = (uint32_t)p->attrs.count;
	if (!fw_vec_reserve(&p->events, 1) || !fw_vec_push(&p->attrs, a))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for events");
	p->events.data[p->events.count++] = e;
	return FW_OK;
}

void perf_name_event(struct perf *p, uint32_t event, struct fw_str name)
{
	const char *s = name.n ? fw_arena_strndup(&p->r->arena, name.s, name.n) : NULL;
	if (s)
		p->events.data[event].name = (struct fw_str){ s, name.n };
}

static uint32_t *id_slot(struct perf_ids *x, uint64_t id, bool *ret_new)
{
	uint32_t at = (uint32_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	for (;; at++) {
		uint32_t i = at & x->mask;
		*ret_new = x->events[i] == UINT32_MAX;
		if (*ret_new || x->keys[i] == id) {
			x->keys[i] = id;
			return &x->events[i];
		}
	}
}

static bool grow_ids(struct perf_ids *x)
{
	uint32_t size = x->keys ? 2 * (x->mask + 1) : 64;
	struct perf_ids grown = { .mask = size - 1, .count = x->count };
	bool fail = fw_alloc_should_fail();
	grown.keys = fail ? NULL : malloc(size * sizeof(*grown.keys));
	grown.events = fail ? NULL : malloc(size * sizeof(*grown.events));
	if (!grown.keys || !grown.events) {
		free(grown.keys);
		free(grown.events);
		return false;
	}
	memset(grown.events, 0xff, size * sizeof(*grown.events));
	for (uint32_t i = 0; x->keys && i <= x->mask; i++) {
		bool is_new;
		if (x->events[i] != UINT32_MAX)
			*id_slot(&grown, x->keys[i], &is_new) = x->events[i];
	}
	free(x->keys);
	free(x->events);
	*x = grown;
	return true;
}

enum fw_code perf_add_ids(struct perf *p, uint32_t event, const uint8_t *ids, uint64_t count,
			  struct fw_error *err)
{
	for (uint64_t i = 0; i < count; i++) {
		bool is_new;
		if (p->ids.count >= FW_MAX_EVENT_IDS)
			return fw_fail(err, FW_LIMIT, NULL, "more than %d event ids",
				       FW_MAX_EVENT_IDS);
		if ((!p->ids.keys || p->ids.count >= p->ids.mask / 2) && !grow_ids(&p->ids))
			return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for event ids");
		uint32_t *slot = id_slot(&p->ids, perf_u64(p, ids + 8 * i), &is_new);
		if (is_new) {
			*slot = event;
			p->ids.count++;
		}
	}
	return FW_OK;
}

uint32_t perf_event_of(const struct perf *p, uint64_t id)
{
	if (!p->ids.keys)
		return UINT32_MAX;
	uint32_t at = (uint32_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	for (;; at++) {
		uint32_t i = at & p->ids.mask;
		if (p->ids.events[i] == UINT32_MAX || p->ids.keys[i] == id)
			return p->ids.events[i];
	}
}

enum fw_code perf_settle(struct perf *p, struct fw_error *err)
{
	struct fw_recording *r = p->r;
	if (!p->attrs.count)
		return fw_fail(err, FW_MALFORMED, NULL, "the recording says nothing of its events");
	uint64_t mask = 0;
	bool same = true, timeless = true;
	const struct perf_attr *first = p->attrs.data;
	p->id_at = first->at_id;
	p->id_from_end = first->id_from_end;
	for (size_t i = 0; i < p->attrs.count; i++) {
		const struct perf_attr *a = &p->attrs.data[i];
		mask |= a->regs_user;
		timeless &= !(a->sample_type & PERF_TIME);
		same &= a->sample_type == first->sample_type;
		if (a->at_id != p->id_at)
			p->id_at = -1;
		if (a->id_from_end != p->id_from_end)
			p->id_from_end = -1;
	}
	if (p->id_at < 0 && !same)
		return fw_fail(err, FW_MALFORMED, NULL, "the events' samples cannot be told apart");
	if (!p->ids.count)	// all look alike: take them for the first one's
		p->id_at = p->id_from_end = -1;
	p->timeless = timeless;
	r->cpu = perf_cpu(r->arch, mask);
	for (size_t i = 0; i < p->attrs.count; i++)
		perf_map_registers(&p->attrs.data[i], r->cpu);
	// The idle task is in no list of tasks; perf gives it this name as well.
	if (fw_spaces_comm(r->spaces, 0, 0, 0, FW_STR("swapper"), false) != FW_OK)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
	r->events = p->events.data;
	r->num_events = (uint32_t)p->events.count;
	return FW_OK;
}
