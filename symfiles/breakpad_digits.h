#ifndef FW_SYMFILES_BREAKPAD_DIGITS_H
#define FW_SYMFILES_BREAKPAD_DIGITS_H

#include "lib/base/text.h"

/**
 * Readers of numbers for the frequent records, private to symfiles/breakpad*.c.
 * They stop at the first other byte and look for no end: the text must be known
 * to end with a line feed. Overflow is the caller's to exclude by length.
 */
enum { MAX_DIGITS = 15 };	// of a number in the fast readers: no overflow, even of a sum

/** Digits from @p p on, at least one; NULL when there is none. */
static inline const char *run_hex(const char *p, uint64_t *ret)
{
	int d = fw_hex_digit[(uint8_t)*p];
	uint64_t v = 0;
	if (d < 0)
		return NULL;
	do {
		v = v << 4 | (unsigned)d;
		d = fw_hex_digit[(uint8_t)*++p];
	} while (d >= 0);
	*ret = v;
	return p;
}

static inline const char *run_dec(const char *p, uint64_t *ret)
{
	unsigned d = (unsigned)*p - '0';
	uint64_t v = 0;
	if (d > 9)
		return NULL;
	do {
		v = v * 10 + d;
		d = (unsigned)*++p - '0';
	} while (d <= 9);
	*ret = v;
	return p;
}

#endif
