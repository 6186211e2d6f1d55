#ifndef FW_IMAGE_IDENT_H
#define FW_IMAGE_IDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/limits.h"
#include "lib/base/text.h"

/**
 * A debug id or code id in Breakpad's text form. Debug ids are upper-case GUID
 * digits followed by the age in lower-case hex without padding (PDB70:
 * "%08X%04X%04X" + 8 bytes + "%x"; PDB20: "%08X%x" timestamp and age); code ids
 * are lower case. Empty text: there is none. An all-zero id counts as none.
 */
struct fw_ident {
	uint8_t n;
	char text[FW_MAX_IDENT + 1];	// NUL-terminated
};

/** Take an id as written in a MODULE line or a path: hex digits only, any case,
 *  8 to 64 of them; normalised. False: not an id (ret becomes empty). */
bool fw_ident_parse_debug(struct fw_ident *ret, struct fw_str text);
bool fw_ident_parse_code(struct fw_ident *ret, struct fw_str text);

/** PDB70: 16 GUID bytes as stored (first three fields in file order, @p swap when
 *  the file is big-endian) and the age. An all-zero GUID gives an empty id. */
void fw_ident_from_guid(struct fw_ident *ret, const uint8_t guid[16], bool swap, uint32_t age);
/** PDB20: "%08X%x". Signature 0 gives an empty id. */
void fw_ident_from_pdb20(struct fw_ident *ret, uint32_t signature, uint32_t age);
/** ELF: the first 16 bytes of a build id (zero-padded) read as a little-endian
 *  GUID, age 0. All zero or n == 0: empty. */
void fw_ident_from_build_id(struct fw_ident *ret, const uint8_t *id, uint64_t n);
/** Code id of an ELF build id: all its bytes in lower-case hex (at most 32 bytes). */
void fw_ident_code_from_build_id(struct fw_ident *ret, const uint8_t *id, uint64_t n);
/** Code id of a PE: TimeDateStamp "%08X" then SizeOfImage "%x", lower-cased. */
void fw_ident_code_from_pe(struct fw_ident *ret, uint32_t timestamp, uint32_t size);

/** True when both exist and are the same. */
bool fw_ident_equal(const struct fw_ident *a, const struct fw_ident *b);

/** Last component of a path; both '/' and '\' separate. */
struct fw_str fw_base_name(struct fw_str path);

#endif
