#include "lib/base/text.h"
#include "lib/base/utf8.h"

const int8_t fw_hex_digit[256] = {
	[0 ... '0' - 1] = -1,
	['0'] = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
	['9' + 1 ... 'A' - 1] = -1,
	['A'] = 10, 11, 12, 13, 14, 15,
	['F' + 1 ... 'a' - 1] = -1,
	['a'] = 10, 11, 12, 13, 14, 15,
	['f' + 1 ... 255] = -1,
};

int fw_utf8_next(const char *s, size_t n)
{
	const uint8_t *p = (const uint8_t *)s;
	uint8_t lead = p[0];
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return -1;
	int length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	// Only the second byte's range depends on the lead byte (table 3-7).
	uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	for (int i = 1; i < length; i++) {
		if ((size_t)i >= n || p[i] < low || p[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return length;
}
