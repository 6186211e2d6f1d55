#include "tests/synth_perf.h"

#include <stdlib.h>
#include <string.h>

enum { ATTR = 128, ENTRY = ATTR + 16, HEADER = 104, FEATURES = 72 };

void synth_perf_free(struct synth_perf *s)
{
	free(s->data);
	memset(s, 0, sizeof(*s));
}

void perf_put_bytes(struct synth_perf *s, const void *bytes, size_t n)
{
	if (s->n + n > s->capacity) {
		s->capacity = 2 * (s->n + n) + 4096;
		s->data = realloc(s->data, s->capacity);
		if (!s->data)
			abort();
	}
	if (bytes)
		memcpy(s->data + s->n, bytes, n);
	else
		memset(s->data + s->n, 0, n);
	s->n += n;
}

static void store(const struct synth_perf *s, uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[s->big ? bytes - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

static void put(struct synth_perf *s, uint64_t v, unsigned bytes)
{
	uint8_t at[8];
	store(s, at, v, bytes);
	perf_put_bytes(s, at, bytes);
}

void perf_put_u8(struct synth_perf *s, uint8_t v)
{
	put(s, v, 1);
}

void perf_put_u16(struct synth_perf *s, uint16_t v)
{
	put(s, v, 2);
}

void perf_put_u32(struct synth_perf *s, uint32_t v)
{
	put(s, v, 4);
}

void perf_put_u64(struct synth_perf *s, uint64_t v)
{
	put(s, v, 8);
}

void perf_set_u64(struct synth_perf *s, size_t at, uint64_t v)
{
	store(s, s->data + at, v, 8);
}

void perf_put_text(struct synth_perf *s, const char *text)
{
	size_t n = strlen(text) + 1;
	perf_put_bytes(s, text, n);
	perf_put_bytes(s, NULL, (8 - n % 8) % 8);
}

void perf_put_string(struct synth_perf *s, const char *text)
{
	size_t n = strlen(text) + 1, padded = (n + 63) / 64 * 64;
	perf_put_u32(s, (uint32_t)padded);
	perf_put_bytes(s, text, n);
	perf_put_bytes(s, NULL, padded - n);
}

/** Compilers for big-endian machines give bit fields the highest bits first. */
static uint64_t flags(const struct synth_perf *s, uint64_t v)
{
	uint64_t reversed = 0;
	if (!s->big)
		return v;
	for (unsigned i = 0; i < 64; i++)
		reversed |= (v >> i & 1) << (63 - i);
	return reversed;
}

static void put_attr(struct synth_perf *s, const struct synth_attr *a)
{
	size_t start = s->n;
	perf_put_u32(s, a->type);
	perf_put_u32(s, ATTR);
	perf_put_u64(s, a->config);
	perf_put_u64(s, a->period);
	perf_put_u64(s, a->sample_type);
	perf_put_u64(s, a->read_format);
	perf_put_u64(s, flags(s, a->flags));
	perf_put_bytes(s, NULL, 24);		// wakeup, bp_type, bp_addr, bp_len
	perf_put_u64(s, a->branch_type);
	perf_put_u64(s, a->regs_user);
	perf_put_u32(s, a->stack_user);
	perf_put_bytes(s, NULL, ATTR - (s->n - start));
}

void synth_perf_begin(struct synth_perf *s, const struct synth_attr *attrs, size_t count)
{
	size_t ids = HEADER;
	perf_put_bytes(s, s->big ? "2ELIFREP" : "PERFILE2", 8);
	perf_put_u64(s, HEADER);
	perf_put_u64(s, ENTRY);
	perf_put_bytes(s, NULL, HEADER - s->n);
	for (size_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < attrs[i].num_ids; k++)
			perf_put_u64(s, attrs[i].ids[k]);
	}
	perf_set_u64(s, 24, s->n);
	perf_set_u64(s, 32, count * ENTRY);
	for (size_t i = 0; i < count; i++) {
		put_attr(s, &attrs[i]);
		perf_put_u64(s, ids);
		perf_put_u64(s, 8 * (uint64_t)attrs[i].num_ids);
		ids += 8 * attrs[i].num_ids;
	}
	perf_set_u64(s, 40, s->n);
}

void synth_perf_begin_pipe(struct synth_perf *s, const struct synth_attr *attrs, size_t count)
{
	perf_put_bytes(s, s->big ? "2ELIFREP" : "PERFILE2", 8);
	perf_put_u64(s, 16);
	for (size_t i = 0; i < count; i++) {
		perf_record_open(s, 64, 0);
		put_attr(s, &attrs[i]);
		for (uint32_t k = 0; k < attrs[i].num_ids; k++)
			perf_put_u64(s, attrs[i].ids[k]);
		perf_record_close(s);
	}
}

static uint64_t get_u64(const struct synth_perf *s, size_t at)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)s->data[at + (s->big ? 7 - i : i)] << 8 * i;
	return v;
}

void synth_perf_end(struct synth_perf *s)
{
	perf_set_u64(s, 48, s->n - get_u64(s, 40));
}

void synth_perf_features(struct synth_perf *s, const uint32_t *features, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = FEATURES + features[i] / 64 * 8;
		perf_set_u64(s, at, get_u64(s, at) | UINT64_C(1) << features[i] % 64);
	}
	perf_put_bytes(s, NULL, 16 * count);
}

static size_t feature_entry(const struct synth_perf *s, size_t nth)
{
	return get_u64(s, 40) + get_u64(s, 48) + 16 * nth;
}

void perf_feature_open(struct synth_perf *s, size_t nth)
{
	perf_set_u64(s, feature_entry(s, nth), s->n);
}

void perf_feature_close(struct synth_perf *s, size_t nth)
{
	size_t entry = feature_entry(s, nth);
	perf_set_u64(s, entry + 8, s->n - get_u64(s, entry));
}

void perf_record_open(struct synth_perf *s, uint32_t type, uint16_t misc)
{
	s->record = s->n;
	perf_put_u32(s, type);
	perf_put_u16(s, misc);
	perf_put_u16(s, 0);
}

void perf_record_close(struct synth_perf *s)
{
	store(s, s->data + s->record + 6, s->n - s->record, 2);
}

void perf_put_mmap2(struct synth_perf *s, uint32_t pid, uint64_t start, uint64_t length,
		 uint64_t offset, uint32_t prot, const char *path)
{
	perf_record_open(s, 10, 2);
	perf_put_u32(s, pid);
	perf_put_u32(s, pid);
	perf_put_u64(s, start);
	perf_put_u64(s, length);
	perf_put_u64(s, offset);
	perf_put_bytes(s, NULL, 24);		// device, inode
	perf_put_u32(s, prot);
	perf_put_u32(s, 2);		// MAP_PRIVATE
	perf_put_text(s, path);
}

void perf_put_comm(struct synth_perf *s, uint32_t pid, uint32_t tid, const char *name)
{
	perf_put_u32(s, pid);
	perf_put_u32(s, tid);
	perf_put_text(s, name);
}

const struct synth_attr synth_perf_attr = {
	.type = 1, .period = 997, .sample_type = 1 | 2 | 4 | 32 | 128 | 256 | 4096 | 8192,
	.regs_user = 0xff0fff, .stack_user = 32, .flags = UINT64_C(1) << 10 | UINT64_C(1) << 18,
};

void perf_put_trailer(struct synth_perf *s, uint32_t pid, uint64_t time)
{
	perf_put_u32(s, pid);
	perf_put_u32(s, pid);
	perf_put_u64(s, time);
	perf_put_u64(s, 0);	// cpu
	perf_record_close(s);
}

void perf_put_sample(struct synth_perf *s, uint32_t pid, uint64_t time, uint16_t mode,
		     uint64_t abi, uint64_t valid)
{
	perf_record_open(s, 9, mode);
	perf_put_u64(s, 0x401234);
	perf_put_u32(s, pid);
	perf_put_u32(s, pid + 1);
	perf_put_u64(s, time);
	perf_put_u32(s, 3);
	perf_put_u32(s, 0);
	perf_put_u64(s, 1003009);
	perf_put_u64(s, 2);
	perf_put_u64(s, (uint64_t)-128);
	perf_put_u64(s, UINT64_C(0xffffffff81000010));
	perf_put_u64(s, abi);
	for (unsigned i = 0; abi && i < 20; i++)
		perf_put_u64(s, 0x100 + i);
	perf_put_u64(s, valid ? 32 : 0);
	for (uint8_t i = 0; valid && i < 32; i++)
		perf_put_u8(s, i);
	if (valid)
		perf_put_u64(s, valid);
	perf_record_close(s);
}
