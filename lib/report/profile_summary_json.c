// The summary in JSON. Keys are in the order of `required` in
// cmd/framewalk-samples.schema.json.
#include "lib/report/profile_summary.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/json.h"
#include "lib/report/profile_json.h"

uint64_t fw_profile_lost(const struct fw_profile *p)
{
	const struct fw_recording_counts *c = &p->recording->counts;
	return c->lost_events > c->lost_samples ? c->lost_events : c->lost_samples;
}

uint32_t fw_profile_stack_asked(const struct fw_profile *p)
{
	for (uint32_t i = 0; i < p->recording->num_events; i++)
		if (p->recording->events[i].have_stack)
			return p->recording->events[i].stack_asked;
	return 0;
}

const char *fw_profile_symbols_name(const struct fw_profile_module *m)
{
	switch (m->symbols->status) {
	case FW_SYMBOLS_NOT_SEARCHED:
		return m->used_path ? "loaded" : "unsearched";
	case FW_SYMBOLS_FOUND:
		return "found";
	case FW_SYMBOLS_LOADED:
		return "loaded";
	case FW_SYMBOLS_MISSING:
		// The kernel's and a JIT's names are from no symbol file.
		return m->used_path ? "loaded" : "missing";
	case FW_SYMBOLS_MISMATCH:
		return "mismatch";
	case FW_SYMBOLS_CORRUPT:
		return "corrupt";
	}
	return "unsearched";
}

bool fw_profile_lacks_symbols(const struct fw_profile_module *m)
{
	return m->symbols->status != FW_SYMBOLS_LOADED && m->symbols->status != FW_SYMBOLS_FOUND &&
	       (!m->used_path || m->symbols->status > FW_SYMBOLS_MISSING);
}

bool fw_profile_is_unverified(const struct fw_profile_module *m)
{
	return m->used_path && !m->id_recorded && m->path.n && m->path.s[0] == '/';
}

static int by_samples(const void *x, const void *y, void *context)
{
	const struct fw_profile *p = context;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	if (p->modules[a].samples != p->modules[b].samples)
		return p->modules[a].samples > p->modules[b].samples ? -1 : 1;
	return a < b ? -1 : a > b;
}

uint32_t *fw_profile_module_order(const struct fw_profile *p, uint32_t *ret_count)
{
	uint32_t n = 0;
	uint32_t *order = fw_alloc_should_fail() ? NULL :
			  calloc(p->num_modules + (size_t)1, sizeof(*order));
	if (!order)
		return NULL;
	for (uint32_t i = 0; i < p->num_modules; i++)
		if (p->modules[i].samples || p->modules[i].frames)
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), by_samples, (void *)p);
	*ret_count = n;
	return order;
}

static void write_samples(struct fw_json *j, const struct fw_profile *p)
{
	fw_json_key(j, "samples");
	fw_json_begin_object(j);
	fw_json_put_u64(j, "read", p->samples_read);
	fw_json_put_u64(j, "used", p->samples_used);
	fw_json_put_u64(j, "malformed", p->samples_bad);
	fw_json_put_u64(j, "without_stack", p->samples_empty);
	fw_json_put_u64(j, "truncated", p->stops[FW_STOP_TRUNCATED_STACK]);
	fw_json_put_u64(j, "repaired", p->samples_repaired);
	fw_json_end_object(j);
	fw_json_put_u64(j, "first_time", p->first_time);
	fw_json_put_u64(j, "last_time", p->last_time);
	fw_json_put_u64(j, "distinct_stacks", p->num_stacks);
	fw_json_put_u64(j, "frames", p->frames_walked);
	fw_json_put_u64(j, "deepest", p->deepest);
}

static void write_counters(struct fw_json *j, const struct fw_profile *p)
{
	fw_json_key(j, "stop_reasons");
	fw_json_begin_object(j);
	for (unsigned i = 0; i < FW_STOP_COUNT; i++)
		if (i != FW_STOP_NONE)
			fw_json_put_u64(j, fw_stop_name((enum fw_stop)i), p->stops[i]);
	fw_json_end_object(j);
	fw_json_key(j, "trust");
	fw_json_begin_object(j);
	for (unsigned i = 0; i < FW_TRUST_COUNT; i++)
		fw_json_put_u64(j, fw_trust_name((enum fw_trust)i), p->trusts[i]);
	fw_json_end_object(j);
	const struct fw_recording_counts *c = &p->recording->counts;
	fw_json_key(j, "lost");
	fw_json_begin_object(j);
	fw_json_put_u64(j, "events", fw_profile_lost(p));
	fw_json_put_u64(j, "gaps", c->gaps);
	fw_json_put_u64(j, "throttled", c->throttled);
	fw_json_put_u64(j, "malformed_records", c->bad_records);
	fw_json_put_u64(j, "unknown_records", c->unknown_records);
	fw_json_end_object(j);
}

static void write_modules(struct fw_json *j, const struct fw_profile *p)
{
	uint32_t n, *order = fw_profile_module_order(p, &n);
	fw_json_key(j, "modules");
	fw_json_begin_array(j);
	if (!order)
		fw_out_fail(j->out, ENOMEM);
	for (uint32_t i = 0; order && i < n; i++)
		fw_profile_json_module(j, &p->modules[order[i]]);
	fw_json_end_array(j);
	free(order);
}

void fw_profile_write_summary_json(const struct fw_profile *p, bool pretty, struct fw_out *out)
{
	struct fw_json json, *j = &json;
	const struct fw_recording *r = p->recording;
	fw_json_init(j, out, pretty);
	fw_json_begin_object(j);
	fw_profile_json_head(j, p, "summary");
	write_samples(j, p);
	write_counters(j, p);
	write_modules(j, p);
	fw_json_key(j, "notes");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < r->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++) {
		fw_json_begin_object(j);
		fw_json_key(j, "place");
		fw_json_cstr(j, *r->notes[i].place ? r->notes[i].place : NULL);
		fw_json_key(j, "message");
		fw_json_cstr(j, r->notes[i].message);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
	fw_json_end_object(j);
	fw_json_finish(j);
}
