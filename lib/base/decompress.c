#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "lib/base/decompress.h"
#include "lib/base/zstream.h"

enum {
	HEAD_CHUNK = 16384,
	HEAD_INPUT = 1048576,	// a zstd block is at most 128 KiB, so this shows data of any file
	FIRST_OUTPUT = 1048576,
	DEFLATE_RATIO = 1032,	// best case of DEFLATE: 258 bytes from 2 bits
	GZIP_HEADER_CRC = 2,	// FHCRC in byte 3 of a member (RFC 1952 2.3.1)
	GZIP_WINDOW = 15 + 16,	// zlib: largest window, gzip wrapper
};

struct unpack {
	const uint8_t *data;
	uint64_t size, pos;	// pos: bytes done
	uint64_t max;
	struct fw_pages out;
	struct fw_error *err;
};

static enum fw_code malformed(struct fw_error *err, uint64_t offset, const char *what)
{
	char place[32];
	snprintf(place, sizeof(place), "offset %llu", (unsigned long long)offset);
	return fw_fail(err, FW_MALFORMED, place, "%s", what);
}

static enum fw_code no_memory(struct fw_error *err)
{
	return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory while decompressing");
}

enum fw_packing fw_packing_of(const uint8_t *data, uint64_t size)
{
	if (size >= 3 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8)
		return FW_GZIP;
	if (size < 4)
		return FW_PLAIN;
	uint32_t magic = data[0] | data[1] << 8 | data[2] << 16 | (uint32_t)data[3] << 24;
	if (magic == ZSTD_MAGICNUMBER ||
	    (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START)
		return FW_ZSTD;
	return FW_PLAIN;
}

static enum fw_code too_large(const struct unpack *u)
{
	return fw_fail(u->err, FW_LIMIT, NULL, "larger than %llu bytes once decompressed",
		       (unsigned long long)u->max);
}

/** Room for at least one byte more, up to one past the limit: that tells "full" from "too much". */
static enum fw_code more_room(struct unpack *u)
{
	if (u->out.size > u->max)
		return too_large(u);
	if (u->out.data && u->out.size < u->out.capacity)
		return FW_OK;
	uint64_t need = u->out.capacity < FIRST_OUTPUT ? FIRST_OUTPUT : u->out.capacity * 2;
	if (u->max < need)
		need = u->max + 1;
	return fw_pages_reserve(&u->out, need) ? FW_OK : no_memory(u->err);
}

/** Map what the file claims to need, where that is possible at all; else more_room() doubles. */
static enum fw_code first_room(struct unpack *u, uint64_t claim)
{
	if (claim > u->max)
		claim = u->max;
	return fw_pages_reserve(&u->out, claim + 1) ? FW_OK : no_memory(u->err);
}

static uint64_t room(const struct unpack *u)
{
	uint64_t end = u->out.capacity;
	if (u->max < end)
		end = u->max + 1;
	return end - u->out.size;
}

static enum fw_code zlib_fault(struct unpack *u, const z_stream *z, int status, uint64_t at)
{
	if (status == Z_MEM_ERROR)
		return no_memory(u->err);
	if (status == Z_BUF_ERROR)
		return malformed(u->err, at, "truncated gzip data");
	char what[128];
	snprintf(what, sizeof(what), "broken gzip data: %s",
		 z->msg ? z->msg : "preset dictionary");
	return malformed(u->err, at, what);
}

/** One member by zlib: slower, but grows the output as it goes and knows where a fault is. */
static enum fw_code gzip_member_by_steps(struct unpack *u, z_stream *z)
{
	int status = inflateReset(z);
	while (status == Z_OK) {
		enum fw_code code = more_room(u);
		if (code != FW_OK)
			return code;
		uint64_t in = u->size - u->pos, out = room(u);
		z->next_in = (Bytef *)u->data + u->pos;
		z->avail_in = in < UINT_MAX ? (uInt)in : UINT_MAX;
		z->next_out = u->out.data + u->out.size;
		z->avail_out = out < UINT_MAX ? (uInt)out : UINT_MAX;
		status = inflate(z, Z_NO_FLUSH);
		u->pos = (uint64_t)(z->next_in - u->data);
		u->out.size = (uint64_t)(z->next_out - u->out.data);
	}
	if (status != Z_STREAM_END)
		return zlib_fault(u, z, status, u->pos);
	return u->out.size > u->max ? too_large(u) : FW_OK;
}

/** One member in one go by libdeflate, if it fits; false: nothing happened. */
static bool gzip_member_at_once(struct unpack *u, struct libdeflate_decompressor *d)
{
	size_t in, out;
	if (u->size - u->pos < 4 || u->data[u->pos + 3] & GZIP_HEADER_CRC)
		return false;	// libdeflate does not check it
	if (libdeflate_gzip_decompress_ex(d, u->data + u->pos, u->size - u->pos,
					  u->out.data + u->out.size, room(u), &in, &out))
		return false;
	u->pos += in;
	u->out.size += out;
	return u->out.size <= u->max;
}

/** Tapes and disks pad with zeros: they end the data like the end of the file. */
static bool only_zeros(const struct unpack *u)
{
	for (uint64_t i = u->pos; i < u->size; i++)
		if (u->data[i])
			return false;
	return true;
}

static enum fw_code gzip_members(struct unpack *u, struct libdeflate_decompressor *d, z_stream *z)
{
	// The size is in the last four bytes, modulo 2^32, and of the last member only.
	uint64_t claim = 0;
	if (u->size >= 4) {
		const uint8_t *p = u->data + u->size - 4;
		claim = p[0] | p[1] << 8 | p[2] << 16 | (uint64_t)p[3] << 24;
	}
	if (claim / DEFLATE_RATIO > u->size)
		claim = 0;
	enum fw_code code = first_room(u, claim);
	while (code == FW_OK) {
		if (fw_packing_of(u->data + u->pos, u->size - u->pos) != FW_GZIP)
			return malformed(u->err, u->pos,
					 "no gzip data where a member should start");
		if (!gzip_member_at_once(u, d))
			code = gzip_member_by_steps(u, z);
		if (code == FW_OK && only_zeros(u))
			return FW_OK;
	}
	return code;
}

static enum fw_code gunzip(struct unpack *u)
{
	z_stream z = { 0 };
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	enum fw_code code;
	if (!d || inflateInit2(&z, GZIP_WINDOW) != Z_OK) {
		code = no_memory(u->err);
	} else {
		code = gzip_members(u, d, &z);
		inflateEnd(&z);
	}
	libdeflate_free_decompressor(d);
	return code;
}

static enum fw_code zstd_fault(struct fw_error *err, size_t result, uint64_t at)
{
	char place[32];
	snprintf(place, sizeof(place), "offset %llu", (unsigned long long)at);
	return fw_zstd_fault_(result, place, err);
}

static enum fw_code zstd_frames(struct unpack *u, ZSTD_DCtx *d)
{
	// With room for a whole frame the library decodes straight into the output.
	unsigned long long claim = ZSTD_getFrameContentSize(u->data, u->size);
	if (claim == ZSTD_CONTENTSIZE_UNKNOWN || claim == ZSTD_CONTENTSIZE_ERROR)
		claim = 0;
	if (claim / (128 << 10) > u->size)	// a block of 3 or more bytes holds 128 KiB at most
		claim = 0;
	if (claim > u->max)
		return too_large(u);
	enum fw_code code = first_room(u, claim);
	ZSTD_inBuffer in = { u->data, u->size, 0 };
	size_t left = 1, frame = 0;	// where the current one starts
	while (code == FW_OK) {
		ZSTD_outBuffer out = { u->out.data, u->out.size + room(u), u->out.size };
		size_t before = in.pos;
		left = ZSTD_decompressStream(d, &out, &in);
		if (ZSTD_getErrorCode(left) == ZSTD_error_prefix_unknown)
			return zstd_fault(u->err, left, frame);
		if (ZSTD_isError(left))
			return zstd_fault(u->err, left, in.pos);
		if (left == 0)
			frame = in.pos;
		bool stuck = in.pos == before && out.pos == u->out.size;
		u->out.size = out.pos;
		if (in.pos == in.size && left == 0)
			return u->out.size > u->max ? too_large(u) : FW_OK;
		if (stuck && in.pos == in.size)
			return malformed(u->err, in.pos, "truncated zstd data");
		code = more_room(u);
	}
	return code;
}

static enum fw_code unzstd(struct unpack *u)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	if (!d)
		return no_memory(u->err);
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, FW_ZSTD_WINDOW);
	enum fw_code code = zstd_frames(u, d);
	ZSTD_freeDCtx(d);
	return code;
}

enum fw_code fw_decompress(enum fw_packing packing, const uint8_t *data, uint64_t size,
			   uint64_t max_size, struct fw_pages *ret, struct fw_error *err)
{
	struct unpack u = {
		.data = data, .size = size, .err = err,
		.max = max_size < PTRDIFF_MAX / 4 ? max_size : PTRDIFF_MAX / 4,
	};
	enum fw_code code = packing == FW_GZIP ? gunzip(&u) : unzstd(&u);
	if (code == FW_OK && !fw_pages_trim(&u.out))
		code = no_memory(err);
	if (code == FW_OK)
		*ret = u.out;
	else
		fw_pages_deinit(&u.out);
	return code;
}

struct head {
	int fd;
	uint64_t read;			// so far
	size_t pos, count;		// of chunk
	bool ended;
	uint8_t chunk[HEAD_CHUNK];
};

static enum fw_code head_fill(struct head *h, struct fw_error *err)
{
	if (h->pos < h->count || h->ended)
		return FW_OK;
	ssize_t n;
	do
		n = pread(h->fd, h->chunk, sizeof(h->chunk), (off_t)h->read);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fw_fail_errno(err, NULL, "cannot read");
	h->pos = 0;
	h->count = (size_t)n;
	h->read += (uint64_t)n;
	h->ended = n == 0 || h->read >= HEAD_INPUT;
	return FW_OK;
}

static enum fw_code gzip_head(struct head *h, uint8_t *buffer, size_t n, size_t *ret_n,
			      struct fw_error *err)
{
	struct unpack u = { .err = err };
	z_stream z = { .next_out = buffer, .avail_out = n < UINT_MAX ? (uInt)n : UINT_MAX };
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return no_memory(err);
	enum fw_code code = FW_OK;
	int status = Z_OK;
	while (status == Z_OK && z.avail_out && (code = head_fill(h, err)) == FW_OK) {
		z.next_in = h->chunk + h->pos;
		z.avail_in = (uInt)(h->count - h->pos);
		status = inflate(&z, Z_NO_FLUSH);
		h->pos = h->count - z.avail_in;
		if (status == Z_STREAM_END) {
			// An empty member may come first.
			code = head_fill(h, err);
			if (code != FW_OK || h->pos == h->count || h->chunk[h->pos] != 0x1f)
				break;
			status = inflateReset(&z);
		}
	}
	*ret_n = (size_t)(z.next_out - buffer);
	if (code == FW_OK && status != Z_OK && status != Z_STREAM_END && *ret_n == 0)
		code = zlib_fault(&u, &z, status, h->read - h->count + h->pos);
	inflateEnd(&z);
	return code;
}

static enum fw_code zstd_head(struct head *h, uint8_t *buffer, size_t n, size_t *ret_n,
			      struct fw_error *err)
{
	ZSTD_outBuffer out = { buffer, n, 0 };
	ZSTD_DCtx *d = ZSTD_createDCtx();
	if (!d)
		return no_memory(err);
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, FW_ZSTD_WINDOW);
	enum fw_code code = FW_OK;
	size_t left = 0;
	while (out.pos < n && (code = head_fill(h, err)) == FW_OK) {
		ZSTD_inBuffer in = { h->chunk, h->count, h->pos };
		size_t before = out.pos;
		bool dry = in.pos == in.size;
		left = ZSTD_decompressStream(d, &out, &in);
		h->pos = in.pos;
		if (ZSTD_isError(left) || (dry && out.pos == before))
			break;
	}
	uint64_t at = h->read - h->count + h->pos;
	if (code == FW_OK && out.pos == 0 && ZSTD_isError(left))
		code = zstd_fault(err, left, at);
	else if (code == FW_OK && out.pos == 0 && left && n)
		code = malformed(err, at, "truncated zstd data");
	*ret_n = out.pos;
	ZSTD_freeDCtx(d);
	return code;
}

enum fw_code fw_decompress_head(enum fw_packing packing, int fd, void *buffer, size_t n,
				size_t *ret_n, struct fw_error *err)
{
	struct head h;
	h.fd = fd;
	h.read = h.pos = h.count = 0;
	h.ended = false;
	size_t got = 0;
	enum fw_code code = packing == FW_GZIP ? gzip_head(&h, buffer, n, &got, err)
					       : zstd_head(&h, buffer, n, &got, err);
	if (code == FW_OK)
		*ret_n = got;
	return code;
}
