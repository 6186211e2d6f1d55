#ifndef FW_BASE_TEXT_H
#define FW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Scanner over const text (never NUL-terminated, never modified). All
 * functions advance t->p past what they took, and leave it alone on failure.
 */
struct fw_text {
	const char *p;
	const char *end;
};

struct fw_str {		// a counted string that somebody else owns
	const char *s;
	size_t n;
};

#define FW_STR(literal) ((struct fw_str){ "" literal, sizeof(literal) - 1 })

extern const int8_t fw_hex_digit[256];	// value of a hex digit, -1 otherwise

static inline bool fw_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline void fw_text_skip_blanks(struct fw_text *t)
{
	while (t->p < t->end && fw_is_blank(*t->p))
		t->p++;
}

/** Hex number of 1 to 16 significant digits, no prefix; fails on overflow. */
static inline bool fw_text_hex(struct fw_text *t, uint64_t *ret)
{
	const char *p = t->p;
	uint64_t v = 0;
	int d;
	while (p < t->end && (d = fw_hex_digit[(uint8_t)*p]) >= 0) {
		if (v >> 60)
			return false;
		v = v << 4 | (unsigned)d;
		p++;
	}
	if (p == t->p)
		return false;
	t->p = p;
	*ret = v;
	return true;
}

/** Decimal number without sign; fails on overflow of 64 bits. */
static inline bool fw_text_dec(struct fw_text *t, uint64_t *ret)
{
	const char *p = t->p;
	uint64_t v = 0;
	while (p < t->end && (unsigned)(*p - '0') < 10) {
		unsigned d = (unsigned)(*p - '0');
		if (v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
		p++;
	}
	if (p == t->p)
		return false;
	t->p = p;
	*ret = v;
	return true;
}

/** Next run of non-blank characters; false at the end. */
static inline bool fw_text_token(struct fw_text *t, struct fw_str *ret)
{
	const char *p = t->p;
	while (p < t->end && fw_is_blank(*p))
		p++;
	if (p == t->end)
		return false;
	const char *start = p;
	while (p < t->end && !fw_is_blank(*p))
		p++;
	*ret = (struct fw_str){ start, (size_t)(p - start) };
	t->p = p;
	return true;
}

#endif
