#include "lib/snapshot/perf.h"

#include <stdio.h>

enum {	// tools/perf/util/header.h
	FEATURE_BUILD_ID = 2, FEATURE_HOSTNAME = 3, FEATURE_OSRELEASE = 4, FEATURE_VERSION = 5,
	FEATURE_ARCH = 6, FEATURE_CMDLINE = 11, FEATURE_EVENT_DESC = 12, FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
	FEATURE_META_INFO = 129,	// simpleperf
};

struct cursor { const uint8_t *p; uint64_t n; };

static bool take(struct cursor *c, uint64_t n, const uint8_t **ret)
{
	if (n > c->n)
		return false;
	*ret = c->p;
	c->p += n;
	c->n -= n;
	return true;
}

static bool take_u32(const struct perf *p, struct cursor *c, uint32_t *ret)
{
	const uint8_t *at;
	if (!take(c, 4, &at))
		return false;
	*ret = perf_u32(p, at);
	return true;
}

/** u32 length, padding included, then the text and at least one NUL. */
static bool take_string(const struct perf *p, struct cursor *c, struct fw_str *ret)
{
	uint32_t n;
	const uint8_t *s;
	if (!take_u32(p, c, &n) || !take(c, n, &s))
		return false;
	*ret = (struct fw_str){ (const char *)s, strnlen((const char *)s, n) };
	if (ret->n > FW_MAX_NAME)
		ret->n = FW_MAX_NAME;
	return true;
}

static struct fw_str keep(struct perf *p, struct fw_str s)
{
	const char *copy = fw_arena_strndup(&p->r->arena, s.s, s.n);
	return copy ? (struct fw_str){ copy, s.n } : (struct fw_str){ 0 };
}

static bool read_string(struct perf *p, struct cursor *c, struct fw_str *ret)
{
	struct fw_str s;
	if (!take_string(p, c, &s))
		return false;
	*ret = keep(p, s);
	return true;
}

/** u32 count, then the words of the command. */
static bool read_command(struct perf *p, struct cursor *c)
{
	enum { MOST = 4096 };
	char line[MOST];
	size_t n = 0;
	uint32_t count;
	if (!take_u32(p, c, &count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct fw_str word;
		if (!take_string(p, c, &word))
			return false;
		if (n && n < MOST)
			line[n++] = ' ';
		if (word.n > MOST - n)
			word.n = MOST - n;
		memcpy(line + n, word.s, word.n);
		n += word.n;
	}
	p->r->command_line = keep(p, (struct fw_str){ line, n });
	return true;
}

/** u32 count, u32 size of an attr, then for each: attr, u32 number of ids, name, ids. */
static bool read_events(struct perf *p, struct cursor *c)
{
	uint32_t count, attr_size, ids;
	if (!take_u32(p, c, &count) || !take_u32(p, c, &attr_size))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *at;
		struct fw_str name;
		if (!take(c, attr_size, &at) || !take_u32(p, c, &ids) ||
		    !take_string(p, c, &name) || !take(c, 8 * (uint64_t)ids, &at))
			return false;
		uint32_t event = ids ? perf_event_of(p, perf_u64(p, at)) : UINT32_MAX;
		if (event == UINT32_MAX)
			event = i;
		if (event < p->events.count)
			perf_name_event(p, event, name);
	}
	return true;
}

/** u32 version, u32 clock, u64 time of day, u64 the clock's time, at once (record -k). */
static bool read_clock(struct perf *p, struct cursor *c)
{
	const uint8_t *at;
	if (!take(c, 24, &at))
		return false;
	p->r->have_wall = true;
	p->r->wall_time = perf_u64(p, at + 8);
	p->r->wall_at = perf_u64(p, at + 16);
	return true;
}

/** simpleperf: pairs of NUL-terminated strings; "event_type_info" has "name,type,config" lines. */
static bool read_meta_info(struct perf *p, struct cursor *c)
{
	static const char wanted[] = "event_type_info";
	while (c->n) {
		size_t key = strnlen((const char *)c->p, c->n);
		const char *value = (const char *)c->p + key + 1;
		if (key + 1 >= c->n)
			return false;
		size_t n = strnlen(value, c->n - key - 1);
		if (n == c->n - key - 1)
			return false;
		bool found = key == sizeof(wanted) - 1 && memcmp(c->p, wanted, key) == 0;
		for (uint32_t i = 0; found && n && i < p->events.count; i++) {
			const char *end = memchr(value, '\n', n);
			size_t line = end ? (size_t)(end - value) : n;
			const char *comma = memchr(value, ',', line);
			struct fw_str name = { value, comma ? (size_t)(comma - value) : line };
			perf_name_event(p, i, name);
			n -= end ? line + 1 : n;
			value += line + 1;
		}
		const uint8_t *at;
		n = strnlen((const char *)c->p + key + 1, c->n - key - 1);
		if (!take(c, key + n + 2, &at))
			return false;
	}
	return true;
}

void perf_build_id(struct perf *p, const uint8_t *record, uint64_t size)
{
	enum { ID = 12, ID_SIZE = 32, NAME = 36, ID_USUAL = 20 };
	struct fw_ident id;
	if (size < NAME) {
		perf_bad(p, "a build id's record is too short");
		return;
	}
	bool have_size = perf_u16(p, record + 4) & PERF_MISC_BUILD_ID_SIZE;
	uint8_t n = have_size ? record[ID_SIZE] : ID_USUAL;
	if (n > ID_USUAL) {
		perf_bad(p, "a build id has more than 20 bytes");
		return;
	}
	fw_ident_code_from_build_id(&id, record + ID, n);
	const char *path = (const char *)record + NAME;
	if (id.n)
		fw_spaces_identify(p->r->spaces,
				   (struct fw_str){ path, strnlen(path, size - NAME) }, &id);
}

static bool read_build_ids(struct perf *p, struct cursor *c)
{
	while (c->n) {
		const uint8_t *at = c->p;
		uint64_t size = perf_record_size(p, c->p, c->n);
		if (!size)
			return false;
		perf_build_id(p, at, size);
		take(c, size, &at);
	}
	return true;
}

void perf_feature(struct perf *p, uint32_t feature, const uint8_t *data, uint64_t size)
{
	struct cursor c = { data, size };
	struct fw_recording *r = p->r;
	bool good = true;
	switch (feature) {
	case FEATURE_BUILD_ID:
		good = read_build_ids(p, &c);
		break;
	case FEATURE_HOSTNAME:
		good = read_string(p, &c, &r->hostname);
		break;
	case FEATURE_OSRELEASE:
		good = read_string(p, &c, &r->os_release);
		break;
	case FEATURE_VERSION:
		good = read_string(p, &c, &r->version);
		break;
	case FEATURE_ARCH:
		good = read_string(p, &c, &r->arch);
		break;
	case FEATURE_CMDLINE:
		good = read_command(p, &c);
		break;
	case FEATURE_EVENT_DESC:
		good = read_events(p, &c);
		break;
	case FEATURE_COMPRESSED:
		r->compressed = true;
		break;
	case FEATURE_CLOCK_DATA:
		good = read_clock(p, &c);
		break;
	case FEATURE_META_INFO:
		good = read_meta_info(p, &c);
		break;
	}
	if (!good) {
		char place[32];
		snprintf(place, sizeof(place), "feature %u", feature);
		fw_recording_note(r, place, "ends in the middle of what it says it holds");
	}
}
