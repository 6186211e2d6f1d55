#include <stdio.h>
#include <string.h>

#include "lib/image/ident.h"

enum {
	GUID_DIGITS = 32,
	PDB20_DIGITS = 8,
	PDB20_MAX = 16,		// signature and a 32-bit age
	BUILD_ID_BYTES = FW_MAX_IDENT / 2,
};

static char upper(char c)
{
	return c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
}

static bool all_hex(struct fw_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (fw_hex_digit[(uint8_t)text.s[i]] < 0)
			return false;
	return true;
}

static bool all_zero(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] != '0')
			return false;
	return true;
}

static bool usable(struct fw_ident *ret, struct fw_str text)
{
	*ret = (struct fw_ident){ 0 };
	return text.n >= FW_MIN_IDENT && text.n <= FW_MAX_IDENT && all_hex(text);
}

bool fw_ident_parse_debug(struct fw_ident *ret, struct fw_str text)
{
	if (!usable(ret, text))
		return false;
	// Digits that are not the age: a GUID, or PDB 2.0's time stamp.
	size_t fixed = text.n > GUID_DIGITS ? GUID_DIGITS :
		       text.n <= PDB20_MAX ? PDB20_DIGITS : text.n;
	if (all_zero(text.s, fixed))
		return true;
	size_t n = 0;
	for (size_t i = 0; i < fixed; i++)
		ret->text[n++] = upper(text.s[i]);
	size_t i = fixed;
	while (i + 1 < text.n && text.s[i] == '0')
		i++;
	for (; i < text.n; i++)
		ret->text[n++] = lower(text.s[i]);
	ret->n = (uint8_t)n;
	return true;
}

bool fw_ident_parse_code(struct fw_ident *ret, struct fw_str text)
{
	if (!usable(ret, text))
		return false;
	if (all_zero(text.s, text.n))
		return true;
	for (size_t i = 0; i < text.n; i++)
		ret->text[i] = lower(text.s[i]);
	ret->n = (uint8_t)text.n;
	return true;
}

static bool zero_bytes(const uint8_t *p, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

void fw_ident_from_guid(struct fw_ident *ret, const uint8_t guid[16], bool swap, uint32_t age)
{
	// Where the digits' bytes lie: the first three fields are integers of the
	// file's byte order, the last eight bytes are bytes.
	static const uint8_t order[2][8] = {
		{ 3, 2, 1, 0, 5, 4, 7, 6 },
		{ 0, 1, 2, 3, 4, 5, 6, 7 },
	};
	*ret = (struct fw_ident){ 0 };
	if (zero_bytes(guid, 16))
		return;
	unsigned n = 0;
	for (unsigned i = 0; i < 16; i++)
		n += (unsigned)snprintf(ret->text + n, sizeof(ret->text) - n, "%02X",
					guid[i < 8 ? order[swap][i] : i]);
	n += (unsigned)snprintf(ret->text + n, sizeof(ret->text) - n, "%x", age);
	ret->n = (uint8_t)n;
}

void fw_ident_from_pdb20(struct fw_ident *ret, uint32_t signature, uint32_t age)
{
	*ret = (struct fw_ident){ 0 };
	if (signature)
		ret->n = (uint8_t)snprintf(ret->text, sizeof(ret->text), "%08X%x", signature, age);
}

void fw_ident_from_build_id(struct fw_ident *ret, const uint8_t *id, uint64_t n)
{
	uint8_t guid[16] = { 0 };
	if (n)
		memcpy(guid, id, n < 16 ? n : 16);
	fw_ident_from_guid(ret, guid, false, 0);
}

void fw_ident_code_from_build_id(struct fw_ident *ret, const uint8_t *id, uint64_t n)
{
	*ret = (struct fw_ident){ 0 };
	if (n > BUILD_ID_BYTES)
		n = BUILD_ID_BYTES;
	if (zero_bytes(id, n))
		return;
	for (unsigned i = 0; i < n; i++)
		snprintf(ret->text + 2 * i, sizeof(ret->text) - 2 * i, "%02x", id[i]);
	ret->n = (uint8_t)(2 * n);
}

void fw_ident_code_from_pe(struct fw_ident *ret, uint32_t timestamp, uint32_t size)
{
	*ret = (struct fw_ident){ 0 };
	if (timestamp || size)
		ret->n = (uint8_t)snprintf(ret->text, sizeof(ret->text), "%08x%x", timestamp, size);
}

bool fw_ident_equal(const struct fw_ident *a, const struct fw_ident *b)
{
	return a->n && a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

struct fw_str fw_base_name(struct fw_str path)
{
	size_t i = path.n;
	while (i && path.s[i - 1] != '/' && path.s[i - 1] != '\\')
		i--;
	return (struct fw_str){ path.s + i, path.n - i };
}
