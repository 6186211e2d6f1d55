#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "lib/base/out.h"
#include "lib/base/utf8.h"

enum { BUFFER = 65536 };

static char nothing[1];		// data of a buffer without storage: never NULL, never written

enum fw_code fw_out_init_fd(struct fw_out *o, int fd, struct fw_error *err)
{
	char *data = fw_alloc_should_fail() ? NULL : malloc(BUFFER);
	if (!data)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	*o = (struct fw_out){ .data = data, .capacity = BUFFER, .fd = fd };
	return FW_OK;
}

void fw_out_init_memory(struct fw_out *o, size_t max)
{
	*o = (struct fw_out){ .data = nothing, .max = max, .fd = -1 };
}

void fw_out_deinit(struct fw_out *o)
{
	if (o->data != nothing)
		free(o->data);
	fw_gzip_free_(o->gzip);
	*o = (struct fw_out){ .data = nothing, .fd = -1 };
}

// From here on nothing fits, so every write takes the slow path and is dropped there.
void fw_out_fail(struct fw_out *o, int os_errno)
{
	o->failed = os_errno;
	if (o->fd >= 0)
		o->count = 0;
	o->capacity = o->count;
}

static void write_fd(struct fw_out *o, const char *s, size_t n)
{
	struct fw_error e;
	if (o->gzip) {
		int failed = fw_gzip_write_(o, s, n, false);
		if (failed)
			fw_out_fail(o, failed);
		return;
	}
	if (fw_write_all(o->fd, s, n, &e) != FW_OK)
		fw_out_fail(o, e.os_errno ? e.os_errno : EIO);
}

enum fw_code fw_out_flush(struct fw_out *o, struct fw_error *err)
{
	if (!o->failed && o->fd >= 0 && o->count) {
		write_fd(o, o->data, o->count);
		o->count = 0;
	}
	if (!o->failed && o->gzip) {
		int failed = fw_gzip_write_(o, NULL, 0, true);
		if (failed)
			fw_out_fail(o, failed);
	}
	if (!o->failed)
		return FW_OK;
	if (o->fd < 0 && o->failed == ENOMEM)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	if (o->fd < 0 && o->failed == EFBIG)
		return fw_fail(err, FW_LIMIT, NULL, "output larger than %zu bytes", o->max);
	errno = o->failed;
	return fw_fail_errno(err, NULL, "cannot write");
}

static bool grow(struct fw_out *o, size_t n)
{
	if (n > o->max - o->count) {
		fw_out_fail(o, EFBIG);
		return false;
	}
	size_t capacity = o->capacity ? o->capacity : 256;
	while (capacity < o->count + n)
		capacity = capacity > SIZE_MAX / 2 ? SIZE_MAX : capacity * 2;
	if (capacity > o->max)
		capacity = o->max;
	char *data = o->data == nothing ? NULL : o->data;
	data = fw_alloc_should_fail() ? NULL : realloc(data, capacity);
	if (!data) {
		fw_out_fail(o, ENOMEM);
		return false;
	}
	o->data = data;
	o->capacity = capacity;
	return true;
}

void fw_out_slow_(struct fw_out *o, const char *s, size_t n)
{
	if (o->failed || n == 0)
		return;
	if (o->fd < 0) {
		if (!grow(o, n))
			return;
	} else {
		write_fd(o, o->data, o->count);
		if (o->failed)
			return;
		o->count = 0;
		if (n >= o->capacity) {
			write_fd(o, s, n);
			return;
		}
	}
	memcpy(o->data + o->count, s, n);
	o->count += n;
}

void fw_out_cstr(struct fw_out *o, const char *s)
{
	fw_out_write(o, s, strlen(s));
}

static unsigned count_digits(uint64_t v)
{
	static const uint64_t powers[20] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
		10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
		1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
		10000000000000000000u,
	};
	// 1233 / 4096 is just above log10(2), so this is right or one too many.
	unsigned guess = (64 - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12;
	return guess + (v >= powers[guess]);
}

void fw_out_dec(struct fw_out *o, uint64_t v)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324"
		"25262728293031323334353637383940414243444546474849"
		"50515253545556575859606162636465666768697071727374"
		"75767778798081828384858687888990919293949596979899";
	char digits[20];
	unsigned n = count_digits(v);
	bool fits = n <= o->capacity - o->count;
	char *to = fits ? o->data + o->count : digits, *p = to + n;
	while (v >= 100) {
		p -= 2;
		memcpy(p, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10)
		memcpy(to, pairs + v * 2, 2);
	else
		to[0] = (char)('0' + v);
	if (fits)
		o->count += n;
	else
		fw_out_slow_(o, digits, n);
}

/** The n leading digits of v, 1 to 16, at @p to, where 16 bytes may be written. */
static void put_hex(char *to, uint64_t v, unsigned n)
{
	v <<= 4 * (16 - n);
#ifdef __x86_64__
	__m128i bytes = _mm_cvtsi64_si128((int64_t)__builtin_bswap64(v));
	__m128i low = _mm_set1_epi8(15);
	__m128i digits = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi64(bytes, 4), low),
					   _mm_and_si128(bytes, low));
	__m128i letters = _mm_and_si128(_mm_cmpgt_epi8(digits, _mm_set1_epi8(9)),
					_mm_set1_epi8('a' - '0' - 10));
	digits = _mm_add_epi8(_mm_add_epi8(digits, _mm_set1_epi8('0')), letters);
	_mm_storeu_si128((__m128i *)to, digits);
#else
	for (unsigned i = 0; i < n; i++, v <<= 4)
		to[i] = "0123456789abcdef"[v >> 60];
#endif
}

void fw_out_hex(struct fw_out *o, uint64_t v, unsigned width)
{
	unsigned n = (67 - (unsigned)__builtin_clzll(v | 1)) / 4;
	for (; width > 16; width--)
		fw_out_byte(o, '0');
	if (n < width)
		n = width;
	if (o->capacity - o->count >= 16) {
		put_hex(o->data + o->count, v, n);
		o->count += n;
	} else {
		char digits[16];
		put_hex(digits, v, n);
		fw_out_write(o, digits, n);
	}
}

static void escape_bytes(struct fw_out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fw_out_lit(o, "\\x");
		fw_out_hex(o, (uint8_t)s[i], 2);
	}
}

/**
 * Is the well-formed sequence a C0 or C1 control, DEL, a line separator or what
 * turns the direction of writing (U+200E, 200F, 2028 to 202E, 2066 to 2069)?
 */
static bool is_control(const char *s, int length)
{
	uint8_t c = (uint8_t)s[0];
	if (length == 1)
		return c < 0x20 || c == 0x7f;
	if (length == 3 && c == 0xe2) {
		uint8_t d = (uint8_t)s[1], e = (uint8_t)s[2];
		return d == 0x80 ? e == 0x8e || e == 0x8f || (e >= 0xa8 && e <= 0xae)
				 : d == 0x81 && e >= 0xa6 && e <= 0xa9;
	}
	return c == 0xc2 && (uint8_t)s[1] < 0xa0;
}

void fw_out_safe(struct fw_out *o, const char *s, size_t n)
{
	size_t from = 0, i = 0;		// [from, i) waits to be copied
	while (i < n) {
		if (s[i] >= 0x20 && s[i] < 0x7f) {
			i++;
			continue;
		}
		int length = fw_utf8_next(s + i, n - i);
		size_t step = (size_t)(length < 0 ? -length : length);
		if (length < 0 || is_control(s + i, length)) {
			fw_out_write(o, s + from, i - from);
			escape_bytes(o, s + i, step);
			from = i + step;
		}
		i += step;
	}
	if (n)
		fw_out_write(o, s + from, n - from);
}

void fw_out_printf(struct fw_out *o, const char *format, ...)
{
	char text[4096 + 1];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		fw_out_write(o, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}
