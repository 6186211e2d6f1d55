#include "lib/snapshot/perf.h"

#include <stdio.h>

/** Body of a record without what sample_id_all appends. */
struct body {
	const uint8_t *p;
	uint64_t n;
	uint16_t misc;
	uint64_t time;
};

void perf_bad(struct perf *p, const char *what)
{
	p->r->counts.bad_records++;
	if (!p->told_bad)
		fw_recording_note(p->r, "records", "%s; it is passed over, as others like it are",
				  what);
	p->told_bad = true;
}

uint64_t perf_record_size(const struct perf *p, const uint8_t *at, uint64_t left)
{
	if (left < PERF_HEADER)
		return 0;
	uint64_t size = perf_u16(p, at + 6);
	if (perf_u32(p, at) >= PERF_RECORD_SIMPLEPERF)
		size |= (uint64_t)perf_u16(p, at + 4) << 16;
	return size >= PERF_HEADER && size <= left ? size : 0;
}

uint64_t perf_record_tail(const struct perf *p, const uint8_t *record, uint64_t size)
{
	switch (perf_u32(p, record)) {
	case PERF_RECORD_TRACING_DATA:
		return size >= 12 ? ((uint64_t)perf_u32(p, record + 8) + 7) & ~UINT64_C(7) : 0;
	case PERF_RECORD_AUXTRACE:
		return size >= 16 ? perf_u64(p, record + 8) : 0;
	default:
		return 0;
	}
}

/** Take the trailer off and read its time. False: shorter than its trailer. */
static bool split(const struct perf *p, const uint8_t *record, uint64_t size, struct body *b)
{
	*b = (struct body){ record + PERF_HEADER, size - PERF_HEADER, perf_u16(p, record + 4),
			    p->timeless ? p->next_index : 0 };
	uint32_t event = 0;
	if (p->id_from_end >= 0) {
		uint64_t back = 8 * (uint64_t)p->id_from_end;
		if (b->n < back)
			return false;
		event = perf_event_of(p, perf_u64(p, b->p + b->n - back));
		if (event >= p->attrs.count)
			event = 0;	// perf's own records have id 0
	}
	const struct perf_attr *a = &p->attrs.data[event];
	if (!a->sample_id_all)
		return true;
	uint64_t trailer = 8 * (uint64_t)__builtin_popcountll(a->sample_type &
		(PERF_TID | PERF_TIME | PERF_ID | PERF_STREAM_ID | PERF_CPU | PERF_IDENTIFIER));
	if (b->n < trailer)
		return false;
	if (a->time_from_end >= 0)
		b->time = perf_u64(p, b->p + b->n - 8 * a->time_from_end);
	b->n -= trailer;
	return true;
}

static struct fw_str text_at(const struct body *b, uint64_t offset)
{
	const char *s = (const char *)b->p + offset;
	return (struct fw_str){ s, strnlen(s, b->n - offset) };
}

/** A mapping that could not be kept: said once. */
static void check(struct perf *p, enum fw_code code)
{
	if (code == FW_OK || code == FW_MALFORMED || p->told_limit)
		return;
	fw_recording_note(p->r, "mappings", code == FW_LIMIT ? "more than can be kept: the rest is "
			  "left out" : "out of memory: some are left out");
	p->told_limit = true;
}

static void add_map(struct perf *p, const struct body *b, struct fw_str path,
		    const struct fw_ident *id, struct fw_mapping *map)
{
	uint32_t pid = perf_u32(p, b->p);
	map->start = perf_u64(p, b->p + 8);
	uint64_t length = perf_u64(p, b->p + 16);
	if (__builtin_add_overflow(map->start, length, &map->end))
		map->end = UINT64_MAX;
	map->file_offset = perf_u64(p, b->p + 24);
	if ((b->misc & PERF_MISC_CPUMODE) == 1)
		pid = FW_KERNEL_PID;
	if (map->end <= map->start)
		return;
	enum fw_code code = fw_spaces_dso(p->r->spaces, path, id, &map->dso);
	if (code == FW_OK)
		code = fw_spaces_map(p->r->spaces, pid, b->time, map);
	check(p, code);
}

static bool on_mmap(struct perf *p, const struct body *b)
{
	struct fw_mapping map = { 0 };
	if (b->n < 32)
		return false;
	if (b->misc & PERF_MISC_13)	// data
		map.permissions = FW_MAP_READ | FW_MAP_WRITE | FW_MAP_KNOWN;
	add_map(p, b, text_at(b, 32), NULL, &map);
	return true;
}

static bool on_mmap2(struct perf *p, const struct body *b)
{
	enum { ID_SIZE = 32, ID = 36, PROT = 56, NAME = 64, ID_MOST = 20, PROT_ALL = 7 };
	struct fw_mapping map = { 0 };
	struct fw_ident id = { 0 };
	if (b->n < NAME)
		return false;
	if (b->misc & PERF_MISC_MMAP_BUILD_ID) {
		if (b->p[ID_SIZE] > ID_MOST)
			return false;
		fw_ident_code_from_build_id(&id, b->p + ID, b->p[ID_SIZE]);
	}
	// PROT_READ, PROT_WRITE and PROT_EXEC are 1, 2 and 4 on every Linux.
	map.permissions = FW_MAP_KNOWN | (perf_u32(p, b->p + PROT) & PROT_ALL);
	add_map(p, b, text_at(b, NAME), &id, &map);
	return true;
}

static bool on_ksymbol(struct perf *p, const struct body *b)
{
	enum { NAME = 16, UNREGISTER = 1 };
	char path[FW_MAX_IDENT * 8];
	if (b->n < NAME)
		return false;
	struct fw_str name = text_at(b, NAME);
	if (perf_u16(p, b->p + 14) & UNREGISTER || !name.n)
		return true;
	int n = snprintf(path, sizeof(path), "[%.*s]", (int)(name.n < 256 ? name.n : 256), name.s);
	struct fw_mapping map = { .start = perf_u64(p, b->p) };
	if (__builtin_add_overflow(map.start, perf_u32(p, b->p + 8), &map.end) ||
	    map.end == map.start)
		return true;
	enum fw_code code = fw_spaces_dso(p->r->spaces, (struct fw_str){ path, (size_t)n }, NULL,
					  &map.dso);
	if (code == FW_OK)
		code = fw_spaces_map(p->r->spaces, FW_KERNEL_PID, b->time, &map);
	check(p, code);
	return true;
}

static bool on_comm(struct perf *p, const struct body *b)
{
	if (b->n < 8)
		return false;
	check(p, fw_spaces_comm(p->r->spaces, perf_u32(p, b->p), perf_u32(p, b->p + 4), b->time,
				text_at(b, 8), b->misc & PERF_MISC_13));
	return true;
}

static bool on_fork(struct perf *p, const struct body *b)
{
	if (b->n < 24)
		return false;
	// Told of tasks that were there before, whose mappings perf tells as well.
	if (b->misc & PERF_MISC_13)
		return true;
	uint64_t time = p->timeless ? p->next_index : perf_u64(p, b->p + 16);
	check(p, fw_spaces_fork(p->r->spaces, perf_u32(p, b->p), perf_u32(p, b->p + 4),
				perf_u32(p, b->p + 8), perf_u32(p, b->p + 12), time));
	return true;
}

static bool on_lost(struct perf *p, const struct body *b)
{
	if (b->n < 16)
		return false;
	p->r->counts.lost_events += perf_u64(p, b->p + 8);
	p->r->counts.gaps++;
	if (p->r->gap_times.count < FW_MAX_GAPS)
		(void)!fw_vec_push(&p->r->gap_times, b->time);
	return true;
}

static bool on_lost_samples(struct perf *p, const struct body *b)
{
	if (b->n < 8)
		return false;
	p->r->counts.lost_samples += perf_u64(p, b->p);
	return true;
}

/** Records that concern no mapping. False: malformed. */
static bool count(struct perf *p, uint32_t type, const struct body *b)
{
	switch (type) {
	case PERF_RECORD_LOST:
		return on_lost(p, b);
	case PERF_RECORD_LOST_SAMPLES:
		return on_lost_samples(p, b);
	case PERF_RECORD_THROTTLE:
		p->r->counts.throttled++;
		return true;
	default:
		return true;
	}
}

static bool feed_spaces(struct perf *p, uint32_t type, const struct body *b)
{
	switch (type) {
	case PERF_RECORD_MMAP:
		return on_mmap(p, b);
	case PERF_RECORD_MMAP2:
		return on_mmap2(p, b);
	case PERF_RECORD_COMM:
		return on_comm(p, b);
	case PERF_RECORD_FORK:
		return on_fork(p, b);
	case PERF_RECORD_KSYMBOL:
		return on_ksymbol(p, b);
	default:
		return true;
	}
}

static void unknown(struct perf *p, uint32_t type)
{
	p->r->counts.unknown_records++;
	if (!p->told_unknown)
		fw_recording_note(p->r, "records", "type %u is not known; passed over", type);
	p->told_unknown = true;
}

void perf_record(struct perf *p, const uint8_t *record, uint64_t size, bool feed,
		 uint64_t *ret_time)
{
	uint32_t type = perf_u32(p, record);
	struct body b;
	char what[64];
	if (type == PERF_RECORD_BUILD_ID) {
		perf_build_id(p, record, size);
		return;
	}
	if (type >= PERF_RECORD_USER) {
		if (type > PERF_RECORD_USER_LAST && type < PERF_RECORD_SIMPLEPERF)
			unknown(p, type);
		return;
	}
	if (type == 0 || type > PERF_RECORD_KERNEL_LAST) {
		unknown(p, type);
		return;
	}
	bool good = split(p, record, size, &b);
	if (good && feed)
		good = feed_spaces(p, type, &b);
	if (good)
		good = count(p, type, &b);
	if (!good) {
		snprintf(what, sizeof(what), "one of type %u has only %u bytes", type,
			 (unsigned)size);
		perf_bad(p, what);
		return;
	}
	if (b.time > *ret_time)
		*ret_time = b.time;
}
