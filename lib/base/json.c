#include <assert.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "lib/base/json.h"
#include "lib/base/utf8.h"

enum { MAX_DEPTH = 32 };

void fw_json_init(struct fw_json *j, struct fw_out *out, bool pretty)
{
	*j = (struct fw_json){ .out = out, .pretty = pretty };
}

static inline uint32_t level_bit(const struct fw_json *j)
{
	return UINT32_C(1) << (j->depth - 1);
}

static void new_line(struct fw_json *j)
{
	static const char spaces[2 * MAX_DEPTH + 1] =
		"                                                                ";
	fw_out_byte(j->out, '\n');
	fw_out_write(j->out, spaces, 2 * (size_t)j->depth);
}

/** Comma and indent in front of an element of the innermost level. */
static inline void separate(struct fw_json *j)
{
	uint32_t bit = level_bit(j);
	if (j->filled_bits & bit)
		fw_out_byte(j->out, ',');
	j->filled_bits |= bit;
	if (j->pretty)
		new_line(j);
}

static inline void before_value(struct fw_json *j)
{
	if (j->key_pending) {
		j->key_pending = false;
	} else if (j->depth) {
		assert(!(j->object_bits & level_bit(j)) && "a value in an object needs a key");
		separate(j);
	}
}

static void begin(struct fw_json *j, bool object)
{
	before_value(j);
	assert(j->depth < MAX_DEPTH);
	j->depth++;
	j->filled_bits &= ~level_bit(j);
	if (object)
		j->object_bits |= level_bit(j);
	else
		j->object_bits &= ~level_bit(j);
	fw_out_byte(j->out, object ? '{' : '[');
}

static void end(struct fw_json *j, bool object)
{
	assert(j->depth > 0 && !j->key_pending);
	assert(object == !!(j->object_bits & level_bit(j)));
	bool filled = j->filled_bits & level_bit(j);
	j->depth--;
	if (filled && j->pretty)
		new_line(j);
	fw_out_byte(j->out, object ? '}' : ']');
}

void fw_json_begin_object(struct fw_json *j)
{
	begin(j, true);
}

void fw_json_end_object(struct fw_json *j)
{
	end(j, true);
}

void fw_json_begin_array(struct fw_json *j)
{
	begin(j, false);
}

void fw_json_end_array(struct fw_json *j)
{
	end(j, false);
}

/** memcpy for the length of most keys, without a call. */
static inline void copy_key(char *to, const char *key, size_t n)
{
	if (n > 16) {
		memcpy(to, key, n);
	} else if (n >= 8) {
		memcpy(to, key, 8);
		memcpy(to + n - 8, key + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, key, 4);
		memcpy(to + n - 4, key + n - 4, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = key[i];
	}
}

void fw_json_key_(struct fw_json *j, const char *key, size_t n)
{
	struct fw_out *o = j->out;
	assert(j->depth && (j->object_bits & level_bit(j)) && !j->key_pending);
	separate(j);
	j->key_pending = true;
	if (o->capacity - o->count < n + 4) {
		fw_out_byte(o, '"');
		fw_out_write(o, key, n);
		fw_out_write(o, "\": ", j->pretty ? 3 : 2);
		return;
	}
	char *to = o->data + o->count;
	*to++ = '"';
	copy_key(to, key, n);
	memcpy(to + n, "\": ", 3);
	o->count += n + (j->pretty ? 4 : 3);
}

// A plain byte stands for itself: printable ASCII but for the quote and the backslash.
static inline bool is_plain(char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static size_t copy_plain_bytes(char *to, const char *s, size_t n)
{
	size_t i = 0;
	for (; i < n && is_plain(s[i]); i++)
		to[i] = s[i];
	return i;
}

#ifdef __x86_64__
/** Bit i: byte i is not plain. */
static inline unsigned special_bytes(__m128i v)
{
	// Signed: below 0x20 are the controls and everything from 0x80.
	__m128i odd = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f)));
	return (unsigned)_mm_movemask_epi8(odd);
}

/** Fewer than 16 bytes, as two halves that overlap: true when all of them are plain. */
static inline bool copy_short(char *to, const char *s, size_t n)
{
	uint64_t a, b;
	uint32_t c, d;
	if (n >= 8) {
		memcpy(&a, s, 8);
		memcpy(&b, s + n - 8, 8);
		memcpy(to, &a, 8);
		memcpy(to + n - 8, &b, 8);
		return !special_bytes(_mm_set_epi64x((int64_t)b, (int64_t)a));
	}
	if (n < 4)
		return copy_plain_bytes(to, s, n) == n;
	memcpy(&c, s, 4);
	memcpy(&d, s + n - 4, 4);
	memcpy(to, &c, 4);
	memcpy(to + n - 4, &d, 4);
	return !(special_bytes(_mm_cvtsi64_si128((int64_t)((uint64_t)d << 32 | c))) & 0xff);
}

/**
 * Copy the plain bytes that s starts with and say how many. All of to[0 .. n)
 * may be written.
 */
static inline size_t copy_plain(char *to, const char *s, size_t n)
{
	size_t i = 0;
	if (n < 16)
		return copy_short(to, s, n) ? n : copy_plain_bytes(to, s, n);
	do {
		if (i > n - 16)		// the last block overlaps the one before
			i = n - 16;
		__m128i v = _mm_loadu_si128((const __m128i *)(s + i));
		_mm_storeu_si128((__m128i *)(to + i), v);
		unsigned odd = special_bytes(v);
		if (odd)
			return i + (unsigned)__builtin_ctz(odd);
		i += 16;
	} while (i < n);
	return n;
}
#else
static inline size_t copy_plain(char *to, const char *s, size_t n)
{
	return copy_plain_bytes(to, s, n);
}
#endif

/** Write the character at s, which is not plain; its length in bytes is returned. */
static size_t write_special(struct fw_out *o, const char *s, size_t n)
{
	uint8_t c = (uint8_t)*s;
	if (c == '"' || c == '\\') {
		fw_out_byte(o, '\\');
		fw_out_byte(o, (char)c);
		return 1;
	}
	if (c < 0x80) {
		fw_out_lit(o, "\\u");
		fw_out_hex(o, c, 4);
		return 1;
	}
	int length = fw_utf8_next(s, n);
	if (length < 0) {
		fw_out_lit(o, "\xef\xbf\xbd");
		return (size_t)-length;
	}
	if (c == 0xc2 && (uint8_t)s[1] < 0xa0) {	// C1: some terminals obey them
		fw_out_lit(o, "\\u");
		fw_out_hex(o, (uint8_t)s[1], 4);
	} else {
		fw_out_write(o, s, (size_t)length);
	}
	return (size_t)length;
}

/** The same without room for the whole: by pieces of a small buffer. */
__attribute__((noinline))
static void write_slowly(struct fw_out *o, const char *s, size_t n)
{
	char piece[256];
	while (n && !o->failed) {
		size_t done = copy_plain(piece, s, n < sizeof(piece) ? n : sizeof(piece));
		if (done)
			fw_out_write(o, piece, done);
		else
			done = write_special(o, s, n);
		s += done;
		n -= done;
	}
	fw_out_byte(o, '"');
}

void fw_json_string(struct fw_json *j, const char *s, size_t n)
{
	struct fw_out *o = j->out;
	before_value(j);
	fw_out_byte(o, '"');
	while (n < o->capacity - o->count) {
		size_t done = copy_plain(o->data + o->count, s, n);
		o->count += done;
		s += done;
		n -= done;
		if (n == 0) {
			o->data[o->count++] = '"';
			return;
		}
		done = write_special(o, s, n);
		s += done;
		n -= done;
	}
	write_slowly(o, s, n);
}

void fw_json_cstr(struct fw_json *j, const char *s)
{
	if (s)
		fw_json_string(j, s, strlen(s));
	else
		fw_json_null(j);
}

void fw_json_str(struct fw_json *j, struct fw_str s)
{
	if (s.s)
		fw_json_string(j, s.s, s.n);
	else
		fw_json_null(j);
}

void fw_json_u64(struct fw_json *j, uint64_t v)
{
	before_value(j);
	fw_out_dec(j->out, v);
}

void fw_json_i64(struct fw_json *j, int64_t v)
{
	before_value(j);
	if (v < 0)
		fw_out_byte(j->out, '-');
	fw_out_dec(j->out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void fw_json_bool(struct fw_json *j, bool v)
{
	before_value(j);
	if (v)
		fw_out_lit(j->out, "true");
	else
		fw_out_lit(j->out, "false");
}

void fw_json_null(struct fw_json *j)
{
	before_value(j);
	fw_out_lit(j->out, "null");
}

void fw_json_hex(struct fw_json *j, uint64_t v, unsigned width)
{
	before_value(j);
	fw_out_lit(j->out, "\"0x");
	fw_out_hex(j->out, v, width);
	fw_out_byte(j->out, '"');
}

void fw_json_finish(struct fw_json *j)
{
	assert(j->depth == 0 && !j->key_pending);
	fw_out_byte(j->out, '\n');
}
