#include "lib/snapshot/perf.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { INPUT_BUFFER = 1 << 18 };

enum pump { PUMP_MORE, PUMP_HEADER_END, PUMP_END, PUMP_NO_MEMORY };

static void append(struct perf_blocks *to, struct perf_block *b)
{
	b->next = NULL;
	*(to->first ? to->last : &to->first) = b;
	to->last = &b->next;
	to->bytes += b->used;
}

static void move_all(struct perf_blocks *to, struct perf_blocks *from)
{
	if (!from->first)
		return;
	*(to->first ? to->last : &to->first) = from->first;
	to->last = from->last;
	to->bytes += from->bytes;
	*from = (struct perf_blocks){ 0 };
}

static struct perf_block *get_block(struct perf_stream *s)
{
	struct perf_block *b = s->spare;
	if (b)
		s->spare = b->next;
	else if (fw_alloc_should_fail() || !(b = malloc(sizeof(*b))))
		return NULL;
	else
		memset(&b->samples, 0, sizeof(b->samples));
	b->samples.count = 0;
	b->used = b->parsed = 0;
	b->next = NULL;
	return b;
}

static void put_block(struct perf_stream *s, struct perf_block *b)
{
	b->next = s->spare;
	s->spare = b;
}

static void free_blocks(struct perf_block *b)
{
	while (b) {
		struct perf_block *next = b->next;
		fw_vec_deinit(&b->samples);
		free(b);
		b = next;
	}
}

void perf_stream_deinit(struct perf *p)
{
	struct perf_stream *s = &p->stream;
	fw_zstream_destroy(s->zstd);
	free_blocks(s->block);
	free_blocks(s->current.first);
	free_blocks(s->previous.first);
	free_blocks(s->ready.first);
	free_blocks(s->spare);
	free(s->in.buffer);
}

void perf_stream_release(struct perf *p, struct fw_sample_batch *batch)
{
	pthread_mutex_lock(&p->lock);
	if (batch->private)
		put_block(&p->stream, batch->private);
	pthread_mutex_unlock(&p->lock);
}

static void end(struct perf *p, const char *why)
{
	char place[32];
	snprintf(place, sizeof(place), "data 0x%llx", (unsigned long long)p->stream.in.pos);
	if (!p->stream.only_maps)
		fw_recording_note(p->r, place, "%s; the rest is not read", why);
}

/** Make @p n bytes stand at the input's place, if it has as many. @return how many do. */
static uint64_t need(struct perf_input *in, uint64_t n)
{
	while (in->fd >= 0 && !in->ended && in->size - in->pos < n) {
		if (in->pos) {
			memmove(in->buffer, in->data + in->pos, in->size - in->pos);
			in->size -= in->pos;
			in->pos = 0;
		}
		ssize_t got = read(in->fd, in->buffer + in->size, in->capacity - in->size);
		if (got > 0) {
			in->size += (uint64_t)got;
		} else if (got < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = in->fd, .events = POLLIN };
			poll(&wait, 1, -1);
		} else if (got == 0 || errno != EINTR) {
			in->ended = true;
		}
	}
	return in->size - in->pos;
}

static bool skip(struct perf_input *in, uint64_t n)
{
	while (n) {
		uint64_t have = need(in, 1);
		if (!have)
			return false;
		if (have > n)
			have = n;
		in->pos += have;
		n -= have;
	}
	return true;
}

/** The block that is being filled goes to its round; what is not parsed moves to the next. */
static bool seal(struct perf *p)
{
	struct perf_stream *s = &p->stream;
	struct perf_block *old = s->block, *fresh = get_block(s);
	if (!fresh)
		return false;
	fresh->used = old->used - old->parsed;
	memcpy(fresh->data, old->data + old->parsed, fresh->used);
	old->used = old->parsed;
	if (!old->samples.count)
		put_block(s, old);
	else
		append(s->complete ? &s->ready : &s->current, old);
	s->block = fresh;
	if (s->current.bytes + s->previous.bytes <= FW_MAX_HELD)
		return true;
	if (!s->told_held)
		fw_recording_note(p->r, "samples", "more than %llu MiB wait for mappings: some may "
				  "be taken before theirs are known",
				  (unsigned long long)(FW_MAX_HELD >> 20));
	s->told_held = true;
	move_all(&s->ready, &s->previous);
	move_all(&s->ready, &s->current);
	return true;
}

static bool end_round(struct perf *p)
{
	struct perf_stream *s = &p->stream;
	if (s->complete)
		return true;
	if (s->block->samples.count && !seal(p))
		return false;
	move_all(&s->ready, &s->previous);
	move_all(&s->previous, &s->current);
	// Whatever is not later than the last round but one has been seen by now.
	if (!s->only_maps)
		fw_spaces_known(p->r->spaces, s->previous_max + 1);
	s->previous_max = s->current_max;
	return true;
}

static bool add_sample(struct perf *p, const uint8_t *at, uint32_t size)
{
	struct perf_stream *s = &p->stream;
	uint64_t time = s->complete ? 0 : perf_sample_time(p, at, size);
	if (time > s->current_max && time != UINT64_MAX)
		s->current_max = time;
	struct fw_raw_sample sample = { at, size, p->next_index++ };
	return fw_vec_push(&s->block->samples, sample);
}

/** Records that are whole. False: memory is exhausted. */
static bool parse(struct perf *p, bool feed, bool *ret_broken)
{
	struct perf_stream *s = &p->stream;
	struct perf_block *b = s->block;
	uint64_t size, time = 0;
	while ((size = perf_record_size(p, b->data + b->parsed, b->used - b->parsed))) {
		const uint8_t *at = b->data + b->parsed;
		b->parsed += (uint32_t)size;
		if (perf_u32(p, at) != PERF_RECORD_SAMPLE)
			perf_record(p, at, size, feed, &time);
		else if (s->only_maps)
			p->next_index++;
		else if (!add_sample(p, at, (uint32_t)size))
			return false;
	}
	if (time > s->current_max && time != UINT64_MAX)
		s->current_max = time;
	if (!b->samples.count && b->parsed == b->used)
		b->parsed = b->used = 0;
	uint32_t left = b->used - b->parsed;
	const uint8_t *at = b->data + b->parsed;
	*ret_broken = left >= PERF_HEADER && (perf_u16(p, at + 6) < PERF_HEADER ||
					      perf_u32(p, at) >= PERF_RECORD_SIMPLEPERF);
	return true;
}

static enum pump pump_compressed(struct perf *p, const uint8_t *data, size_t size, bool feed)
{
	struct perf_stream *s = &p->stream;
	struct fw_error err;
	size_t pos = 0;
	bool broken = false, full = true;
	if (!s->zstd && !(s->zstd = fw_zstream_create()))
		return PUMP_NO_MEMORY;
	p->r->compressed = true;
	while (pos < size || full) {
		if (PERF_BLOCK - s->block->used < PERF_BLOCK / 8 && !seal(p))
			return PUMP_NO_MEMORY;
		size_t used = s->block->used;
		enum fw_code code = fw_zstream_next(s->zstd, data, size, &pos, s->block->data,
						    PERF_BLOCK, &used, &err);
		full = used == PERF_BLOCK;
		s->block->used = (uint32_t)used;
		if (!parse(p, feed, &broken))
			return PUMP_NO_MEMORY;
		if (code == FW_NO_MEMORY)
			return PUMP_NO_MEMORY;
		if (code != FW_OK || broken) {
			end(p, code != FW_OK ? err.message : "compressed data hold no records");
			return PUMP_END;
		}
	}
	return PUMP_MORE;
}

static enum pump pump_plain(struct perf *p, const uint8_t *record, uint32_t size, bool feed)
{
	struct perf_stream *s = &p->stream;
	bool broken;
	if (s->block->used != s->block->parsed) {	// of compressed data
		end(p, "a record is only half there");
		return PUMP_END;
	}
	if (PERF_BLOCK - s->block->used < size && !seal(p))
		return PUMP_NO_MEMORY;
	memcpy(s->block->data + s->block->used, record, size);
	s->block->used += size;
	return parse(p, feed, &broken) ? PUMP_MORE : PUMP_NO_MEMORY;
}

static bool header_attr(struct perf *p, const uint8_t *record, uint64_t size, struct fw_error *err)
{
	uint64_t left = size - PERF_HEADER;
	uint32_t event, own = left >= 8 ? perf_u32(p, record + PERF_HEADER + 4) : 0;
	if (own < 64 || own > left) {
		perf_bad(p, "an event's attributes are broken");
		return true;
	}
	if (perf_add_attr(p, record + PERF_HEADER, own, &event, err) != FW_OK)
		return false;
	return perf_add_ids(p, event, record + PERF_HEADER + own, (left - own) / 8, err) == FW_OK;
}

static void event_update(struct perf *p, const uint8_t *record, uint64_t size)
{
	enum { KIND = 8, ID = 16, NAME = 24, KIND_NAME = 2 };
	if (size <= NAME || perf_u64(p, record + KIND) != KIND_NAME)
		return;
	uint32_t event = perf_event_of(p, perf_u64(p, record + ID));
	const char *name = (const char *)record + NAME;
	if (event < p->events.count)
		perf_name_event(p, event, (struct fw_str){ name, strnlen(name, size - NAME) });
}

/** A record of pipe mode's header. False: *err says why it is the end. */
static bool header_record(struct perf *p, uint32_t type, const uint8_t *record, uint64_t size,
			  struct fw_error *err)
{
	switch (type) {
	case PERF_RECORD_HEADER_ATTR:
		return header_attr(p, record, size, err);
	case PERF_RECORD_EVENT_UPDATE:
		event_update(p, record, size);
		return true;
	case PERF_RECORD_HEADER_FEATURE:
		if (size >= 16 && perf_u64(p, record + PERF_HEADER) < UINT32_MAX)
			perf_feature(p, (uint32_t)perf_u64(p, record + PERF_HEADER), record + 16,
				     size - 16);
		return true;
	case PERF_RECORD_BUILD_ID:
		perf_build_id(p, record, size);
		return true;
	default:
		return true;
	}
}

static bool starts_data(uint32_t type)
{
	return type < PERF_RECORD_USER || type == PERF_RECORD_FINISHED_ROUND ||
	       type == PERF_RECORD_COMPRESSED || type == PERF_RECORD_COMPRESSED2;
}

static enum pump handle(struct perf *p, uint32_t type, const uint8_t *record, uint32_t size)
{
	struct perf_stream *s = &p->stream;
	bool feed = s->in.pos >= s->fed_until || s->part > 0 || s->in.fd >= 0;
	if (s->complete && !p->timeless && !s->only_maps)
		feed = false;
	switch (type) {
	case PERF_RECORD_FINISHED_ROUND:
		return end_round(p) ? PUMP_MORE : PUMP_NO_MEMORY;
	case PERF_RECORD_COMPRESSED:
		return pump_compressed(p, record + PERF_HEADER, size - PERF_HEADER, feed);
	case PERF_RECORD_COMPRESSED2:
		if (size < 16 || perf_u64(p, record + PERF_HEADER) > size - 16) {
			end(p, "a compressed record is broken");
			return PUMP_END;
		}
		return pump_compressed(p, record + 16, perf_u64(p, record + PERF_HEADER), feed);
	default:
		return pump_plain(p, record, size, feed);
	}
}

/** One record of the input. In the header, *err is set when it cannot go on. */
static enum pump pump(struct perf *p, struct fw_error *err)
{
	struct perf_input *in = &p->stream.in;
	uint64_t have = need(in, PERF_HEADER);
	if (have < PERF_HEADER) {
		if (have)
			end(p, "ends in the middle of a record");
		return PUMP_END;
	}
	uint32_t type = perf_u32(p, in->data + in->pos);
	uint64_t size = perf_record_size(p, in->data + in->pos, UINT64_MAX);
	if (!size) {
		end(p, "a record without a size");
		return PUMP_END;
	}
	if (!p->stream.started && starts_data(type))
		return PUMP_HEADER_END;
	if (type >= PERF_RECORD_SIMPLEPERF)	// may be of any size, and tells nothing we use
		return skip(in, size) ? PUMP_MORE : PUMP_END;
	if (need(in, size) < size) {
		end(p, "ends in the middle of a record");
		return PUMP_END;
	}
	const uint8_t *record = in->data + in->pos;
	uint64_t tail = perf_record_tail(p, record, size);
	enum pump result = PUMP_MORE;
	if (p->stream.started)
		result = handle(p, type, record, (uint32_t)size);
	else if (!header_record(p, type, record, size, err))
		return PUMP_NO_MEMORY;
	in->pos += size;
	if (result == PUMP_MORE && tail && !skip(in, tail)) {
		end(p, "ends in the middle of a record's data");
		return PUMP_END;
	}
	return result;
}

/** Begin with part @p i; false: there is none. */
static bool set_part(struct perf *p, size_t i)
{
	struct perf_stream *s = &p->stream;
	if (i >= p->parts.count)
		return false;
	s->part = i;
	s->in = (struct perf_input){ .data = p->parts.data[i].data, .size = p->parts.data[i].size,
				     .fd = -1 };
	fw_zstream_destroy(s->zstd);	// each file is compressed on its own
	s->zstd = NULL;
	s->block->used = s->block->parsed;
	return true;
}

/** Directories: no rounds across files, so all maps first. */
static enum fw_code read_maps(struct perf *p, struct fw_error *err)
{
	struct perf_stream *s = &p->stream;
	s->only_maps = s->complete = true;
	for (size_t i = 0; set_part(p, i); i++) {
		enum pump result;
		while ((result = pump(p, err)) == PUMP_MORE)
			;
		if (result == PUMP_NO_MEMORY)
			return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for samples");
	}
	s->only_maps = false;
	p->next_index = 0;
	p->r->counts = (struct fw_recording_counts){ 0 };
	set_part(p, 0);
	return FW_OK;
}

enum fw_code perf_stream_start(struct perf *p, struct fw_error *err)
{
	struct perf_stream *s = &p->stream;
	s->block = get_block(s);
	if (s->in.fd >= 0) {
		s->in.capacity = INPUT_BUFFER;
		s->in.data = s->in.buffer = fw_alloc_should_fail() ? NULL : malloc(INPUT_BUFFER);
	}
	if (!s->block || (s->in.fd >= 0 && !s->in.buffer))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for samples");
	if (s->in.fd < 0)
		set_part(p, 0);
	s->started = !p->r->piped;
	if (s->started && p->parts.count > 1)
		return read_maps(p, err);
	s->complete = s->started && p->timeless;
	fw_spaces_known(p->r->spaces, 0);
	return FW_OK;
}

enum fw_code perf_stream_header(struct perf *p, struct fw_error *err)
{
	enum pump result;
	struct fw_error why = { 0 };
	while ((result = pump(p, &why)) == PUMP_MORE)
		;
	if (result == PUMP_NO_MEMORY) {
		if (err)
			*err = why;
		return why.code;
	}
	if (result == PUMP_END)
		p->stream.ended = true;
	p->stream.started = true;
	enum fw_code code = perf_settle(p, err);
	p->stream.complete = p->timeless;
	return code;
}

/** Everything that waits may go. */
static void flush(struct perf *p)
{
	struct perf_stream *s = &p->stream;
	move_all(&s->ready, &s->previous);
	move_all(&s->ready, &s->current);
	if (s->block->samples.count) {
		s->block->used = s->block->parsed;
		append(&s->ready, s->block);
		s->block = NULL;
	}
	s->ended = true;
	fw_spaces_known(p->r->spaces, UINT64_MAX);
}

static enum fw_code fill(struct perf *p, struct fw_error *err)
{
	struct perf_stream *s = &p->stream;
	while (!s->ready.first && !s->ended) {
		enum pump result = pump(p, err);
		if (result == PUMP_NO_MEMORY)
			return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for samples");
		if (result != PUMP_END)
			continue;
		if (s->block->samples.count && !seal(p))
			return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for samples");
		if (s->in.fd >= 0 || !set_part(p, s->part + 1))
			flush(p);
	}
	return FW_OK;
}

enum fw_code perf_stream_next(struct perf *p, struct fw_sample_batch *ret, struct fw_error *err)
{
	struct perf_stream *s = &p->stream;
	enum fw_code code = fill(p, err);
	if (code != FW_OK)
		return code;
	struct perf_block *b = s->ready.first;
	if (!b)
		return FW_NOT_FOUND;
	s->ready.first = b->next;
	s->ready.bytes -= b->used;
	if (p->timeless && !s->ended)
		fw_spaces_known(p->r->spaces, p->next_index);
	p->r->counts.samples += b->samples.count;
	*ret = (struct fw_sample_batch){ b->samples.data, (uint32_t)b->samples.count, b };
	return FW_OK;
}
