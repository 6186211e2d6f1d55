#include "lib/report/jitdump.h"

#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "lib/base/limits.h"
#include "lib/base/utf8.h"
#include "lib/report/made_index.h"
#include "lib/report/perf_map.h"

enum {
	MAGIC = 0x4a695444, VERSION = 1,
	HEADER = 40, FLAGS = 32, ARCH_TIMESTAMP = 1,
	RECORD = 16,			// id, size, time
	ELF_HEADER = 0x40,
	CODE_LOAD = 0, CODE_MOVE = 1, DEBUG_INFO = 2, CODE_CLOSE = 3, UNWINDING_INFO = 4,
};

struct fw_jitdump {
	struct fw_file file;		// names and code are views of it
	FW_VEC(struct fw_jit_code) codes;
	FW_VEC(uint64_t) ids;		// code_index of each
	struct fw_made_index index;
	struct fw_jit_counts counts;
	uint64_t first_line;		// the lowest distance of any code's first line from its start
};

/** What comes in front of the CODE_LOAD that it belongs to. */
struct pending {
	struct fw_bytes lines, eh_frame;
	uint64_t num_lines, lines_address;
	bool have_lines;
};

struct reader {
	struct fw_jitdump *d;
	struct pending pending;
};

enum result { OK, BAD, NO_MEMORY };

static enum result push(struct fw_jitdump *d, const struct fw_jit_code *c, uint64_t id)
{
	if (d->codes.count >= FW_MAX_JIT_CODE) {
		d->counts.too_many++;
		return OK;
	}
	return fw_vec_push(&d->codes, *c) && fw_vec_push(&d->ids, id) ? OK : NO_MEMORY;
}

static enum result on_load(struct reader *r, const struct fw_bytes *b, uint64_t time)
{
	enum { ADDRESS = 16, SIZE = 24, INDEX = 32, NAME = 40 };
	struct fw_jit_code c = { .from = time, .to = UINT64_MAX };
	struct pending p = r->pending;
	uint64_t id, end, first;
	r->pending = (struct pending){ 0 };
	if (!fw_bytes_u64(b, ADDRESS, &c.start) || !fw_bytes_u64(b, SIZE, &c.size) ||
	    !fw_bytes_u64(b, INDEX, &id) || b->size < NAME)
		return BAD;
	const char *name = (const char *)b->data + NAME;
	const char *nul = memchr(name, '\0', b->size - NAME);
	if (nul == NULL || nul - name > FW_MAX_NAME || c.size == 0 ||
	    __builtin_add_overflow(c.start, c.size, &end) ||
	    c.size > b->size - NAME - (uint64_t)(nul + 1 - name))
		return BAD;
	c.name = (struct fw_str){ name, (size_t)(nul - name) };
	c.bytes = (const uint8_t *)nul + 1;
	c.loaded_at = c.start;
	if (p.have_lines && p.lines_address == c.start) {
		c.lines = p.lines;
		c.num_lines = p.num_lines;
		if (fw_bytes_u64(&p.lines, 0, &first) && first - c.start < r->d->first_line)
			r->d->first_line = first - c.start;
	}
	c.eh_frame = p.eh_frame;
	return push(r->d, &c, id);
}

/** The code of that number that lies there now; the newest if several do. */
static struct fw_jit_code *code_at(struct fw_jitdump *d, uint64_t address, uint64_t id)
{
	const size_t n = d->codes.count;
	for (size_t i = n, steps = 0; i-- > 0 && steps < FW_MAX_MADE_STEPS; steps++)
		if (d->ids.data[i] == id && d->codes.data[i].start == address)
			return d->codes.data[i].to == UINT64_MAX ? &d->codes.data[i] : NULL;
	return NULL;
}

static enum result on_move(struct reader *r, const struct fw_bytes *b, uint64_t time)
{
	enum { FROM = 16, TO = 24, SIZE = 32, INDEX = 40 };
	uint64_t from, to, size, id, end;
	if (!fw_bytes_u64(b, FROM, &from) || !fw_bytes_u64(b, TO, &to) ||
	    !fw_bytes_u64(b, SIZE, &size) || !fw_bytes_u64(b, INDEX, &id))
		return BAD;
	struct fw_jit_code *old = code_at(r->d, from, id);
	if (old == NULL || size > old->size || size == 0 || time < old->from ||
	    __builtin_add_overflow(to, size, &end))
		return BAD;
	struct fw_jit_code moved = *old;
	old->to = time;
	moved.start = to;
	moved.size = size;
	moved.from = time;
	return push(r->d, &moved, id);
}

static enum result on_lines(struct reader *r, const struct fw_bytes *b)
{
	enum { ADDRESS = 0, COUNT = 8, ENTRIES = 16, LEAST = 17 };
	struct pending *p = &r->pending;
	if (!fw_bytes_u64(b, ADDRESS, &p->lines_address) ||
	    !fw_bytes_u64(b, COUNT, &p->num_lines) ||
	    !fw_bytes_range(b, ENTRIES, b->size - ENTRIES, &p->lines) ||
	    p->num_lines > p->lines.size / LEAST || p->num_lines > FW_MAX_JIT_LINES) {
		p->have_lines = false;
		return BAD;
	}
	p->have_lines = true;
	return OK;
}

static enum result on_unwinding(struct reader *r, const struct fw_bytes *b)
{
	enum { SIZE = 0, INDEX_SIZE = 8, DATA = 24 };
	uint64_t size, index_size;
	if (!fw_bytes_u64(b, SIZE, &size) || !fw_bytes_u64(b, INDEX_SIZE, &index_size) ||
	    index_size > size || size > FW_MAX_JIT_UNWINDING ||
	    !fw_bytes_range(b, DATA, size, &r->pending.eh_frame)) {
		r->pending.eh_frame = (struct fw_bytes){ 0 };
		return BAD;
	}
	r->pending.eh_frame.size = size - index_size;	// .eh_frame_hdr lies behind it
	return OK;
}

/**
 * V8 counts lines from the header of the ELF file that perf inject will write around each
 * function, 0x40 bytes before it; others from the function. Seen by where lines begin.
 */
static void settle_lines(struct fw_jitdump *d)
{
	if (d->first_line < ELF_HEADER || d->first_line == UINT64_MAX)
		return;
	for (size_t i = 0; i < d->codes.count; i++)
		d->codes.data[i].loaded_at += ELF_HEADER;
}

static enum fw_code read_records(struct fw_jitdump *d, const struct fw_bytes *all, uint64_t at)
{
	struct reader r = { .d = d };
	d->first_line = UINT64_MAX;
	while (at < all->size) {
		struct fw_bytes body;
		uint32_t id, size;
		uint64_t time;
		enum result result = OK;
		if (!fw_bytes_u32(all, at, &id) || !fw_bytes_u32(all, at + 4, &size) ||
		    !fw_bytes_u64(all, at + 8, &time) || size < RECORD ||
		    !fw_bytes_range(all, at + RECORD, size - RECORD, &body)) {
			d->counts.torn_at = at;
			break;
		}
		switch (id) {
		case CODE_LOAD: result = on_load(&r, &body, time); break;
		case CODE_MOVE: result = on_move(&r, &body, time); break;
		case DEBUG_INFO: result = on_lines(&r, &body); break;
		case UNWINDING_INFO: result = on_unwinding(&r, &body); break;
		default: break;		// of a later version
		}
		if (result == NO_MEMORY)
			return FW_NO_MEMORY;
		d->counts.malformed += result == BAD;
		if (id == CODE_CLOSE)
			break;
		at += size;
	}
	settle_lines(d);
	for (size_t i = 0; i < d->codes.count; i++) {
		const struct fw_jit_code *c = &d->codes.data[i];
		struct fw_made_span span = { c->start, c->start + c->size, c->from, c->to,
					     (uint32_t)i };
		if (!fw_vec_push(&d->index.spans, span))
			return FW_NO_MEMORY;
	}
	return fw_made_index_build(&d->index);
}

static enum fw_code parse(struct fw_jitdump *d, struct fw_bytes all, struct fw_error *err)
{
	uint32_t magic, version, header;
	uint64_t flags;
	if (!fw_bytes_u32(&all, 0, &magic) || (magic != MAGIC && magic != __builtin_bswap32(MAGIC)))
		return fw_fail(err, FW_UNSUPPORTED, NULL, "no jitdump: its magic is missing");
	all.swap = magic != MAGIC;
	if (!fw_bytes_u32(&all, 4, &version) || !fw_bytes_u32(&all, 8, &header) ||
	    !fw_bytes_u64(&all, FLAGS, &flags) || header < HEADER || header > all.size)
		return fw_fail(err, FW_MALFORMED, "header", "it is cut off, or its length is wrong");
	if (version != VERSION)
		return fw_fail(err, FW_UNSUPPORTED, "header", "version %u of the format", version);
	if (flags & ARCH_TIMESTAMP)
		return fw_fail(err, FW_UNSUPPORTED, "header",
			       "its times are the CPU's counter and not to be compared");
	if (read_records(d, &all, header) != FW_OK)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	return FW_OK;
}

static enum fw_code parse_new(struct fw_jitdump *d, const uint8_t *data, uint64_t size,
			      struct fw_jitdump **ret, struct fw_error *err)
{
	enum fw_code code = parse(d, (struct fw_bytes){ data, size, false }, err);
	if (code != FW_OK)
		fw_jitdump_close(d);
	else
		*ret = d;
	return code;
}

enum fw_code fw_jitdump_parse(const uint8_t *data, uint64_t size, struct fw_jitdump **ret,
			      struct fw_error *err)
{
	struct fw_jitdump *d = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*d));
	if (d == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	return parse_new(d, data, size, ret, err);
}

enum fw_code fw_jitdump_open(const char *path, bool owned, struct fw_jitdump **ret,
			     struct fw_error *err)
{
	struct fw_file file;
	enum fw_code code = fw_made_open(path, owned, &file, err);
	if (code != FW_OK)
		return code;
	struct fw_jitdump *d = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*d));
	if (d == NULL) {
		fw_file_close(&file);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	d->file = file;
	return parse_new(d, file.data, file.size, ret, err);
}

void fw_jitdump_close(struct fw_jitdump *d)
{
	if (d == NULL)
		return;
	fw_vec_deinit(&d->codes);
	fw_vec_deinit(&d->ids);
	fw_made_index_deinit(&d->index);
	fw_file_close(&d->file);
	free(d);
}

struct fw_jit_counts fw_jitdump_counts(const struct fw_jitdump *d)
{
	return d->counts;
}

bool fw_jitdump_find(const struct fw_jitdump *d, uint64_t address, uint64_t time,
		     uint32_t *ret_number)
{
	return fw_made_index_find(&d->index, address, time, ret_number);
}

const struct fw_jit_code *fw_jitdump_code(const struct fw_jitdump *d, uint32_t number)
{
	return number < d->codes.count ? &d->codes.data[number] : NULL;
}

/** V8 leaves what it has freed where names of optimised code should be: no text. */
static bool is_text(struct fw_str s)
{
	for (size_t i = 0; i < s.n;) {
		int length = (uint8_t)s.s[i] < 0x80 ? 1 : fw_utf8_next(s.s + i, s.n - i);
		if (length <= 0 || (uint8_t)s.s[i] < 0x20 || s.s[i] == 0x7f)
			return false;
		i += (size_t)length;
	}
	return true;
}

/** One entry of DEBUG_INFO; *file stays as it is where the entry says "as before". */
static bool next_line(const struct fw_bytes *b, uint64_t *at, uint64_t *address, uint32_t *line,
		      struct fw_str *file)
{
	enum { LINE = 8, NAME = 16 };
	static const char same[] = { (char)0xff };
	if (!fw_bytes_u64(b, *at, address) || !fw_bytes_u32(b, *at + LINE, line) ||
	    b->size - *at <= NAME)
		return false;
	const char *name = (const char *)b->data + *at + NAME;
	const char *nul = memchr(name, '\0', b->size - *at - NAME);
	if (nul == NULL || nul - name > FW_MAX_NAME)
		return false;
	if (nul - name != 1 || *name != *same) {
		*file = (struct fw_str){ name, (size_t)(nul - name) };
		if (!is_text(*file))
			return false;
	}
	*at += NAME + (uint64_t)(nul + 1 - name);
	return true;
}

bool fw_jit_code_line(const struct fw_jit_code *c, uint64_t address, struct fw_str *ret_file,
		      uint32_t *ret_line)
{
	uint64_t at = 0, entry, best = 0, wanted = address - c->start + c->loaded_at;
	struct fw_str file = { NULL, 0 };
	uint32_t line;
	bool found = false;
	for (uint64_t i = 0; i < c->num_lines; i++) {
		if (!next_line(&c->lines, &at, &entry, &line, &file))
			return false;	// nothing of it is to be trusted
		if (entry > wanted || entry < c->loaded_at || (found && entry < best))
			continue;
		best = entry;
		found = true;
		*ret_file = file;
		*ret_line = line;
	}
	return found;
}
