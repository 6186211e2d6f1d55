#ifndef FW_BASE_UTF8_H
#define FW_BASE_UTF8_H

#include <stddef.h>

/**
 * Look at the UTF-8 sequence at @p s, @p n >= 1 bytes of untrusted text.
 *
 * @return its length, 1 to 4, when it is well formed (Unicode 15, table 3-7: no
 * overlong forms, no surrogates, nothing above U+10FFFF), else minus the length
 * of the maximal ill-formed subpart (chapter 3.9), which one U+FFFD replaces.
 * Pure; any thread.
 */
int fw_utf8_next(const char *s, size_t n);

#endif
