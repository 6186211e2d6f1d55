#ifndef FW_SYMFILES_BREAKPAD_DIGITS_H
#define FW_SYMFILES_BREAKPAD_DIGITS_H

#include <stdint.h>

/**
 * Readers of numbers for the frequent records, private to symfiles/breakpad*.c.
 * They stop at the first other byte and look for no end: the text must be known
 * to end with a line feed. Overflow is the caller's to exclude by length.
 */

/** Value of a hex digit, or what else a byte is to a record of numbers. */
enum { FW_SYM_BLANK = 16, FW_SYM_EOL = 17, FW_SYM_CR = 18, FW_SYM_OTHER = 19 };
extern const uint8_t fw_sym_class[256];

enum { FW_SYM_DIGITS = 15 };	// of a number that surely fits, even a sum of two

/**
 * Digits from @p p on, at least one, and the byte behind them; returns where to go
 * on, and in *end the class of that byte: FW_SYM_OTHER also when there is no digit
 * at all. Nothing is read behind that byte.
 */
static inline const uint8_t *fw_sym_run_hex(const uint8_t *p, uint64_t *ret, unsigned *end)
{
	uint64_t v = 0;
	unsigned d = fw_sym_class[*p++];
	if (d >= 16)
		d = FW_SYM_OTHER;
	while (d < 16) {
		v = v << 4 | d;
		d = fw_sym_class[*p++];
	}
	*ret = v;
	*end = d;
	return p;
}

static inline const uint8_t *fw_sym_run_dec(const uint8_t *p, uint64_t *ret, unsigned *end)
{
	uint64_t v = 0;
	unsigned d = fw_sym_class[*p++];
	if (d >= 10)
		d = FW_SYM_OTHER;
	while (d < 10) {
		v = v * 10 + d;
		d = fw_sym_class[*p++];
	}
	*ret = v;
	*end = d;
	return p;
}

#endif
