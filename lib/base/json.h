#ifndef FW_BASE_JSON_H
#define FW_BASE_JSON_H

#include <string.h>

#include "lib/base/out.h"

/**
 * Streaming JSON writer: no tree, no allocation. The output is always valid
 * JSON in valid UTF-8: invalid bytes become U+FFFD, control bytes \u00NN.
 * Misuse (a value without a key, unbalanced ends, depth over 32) asserts.
 */
struct fw_json {
	struct fw_out *out;
	bool pretty;		// two spaces an indent, "key": value
	bool key_pending;
	uint8_t depth;
	uint32_t object_bits;	// bit d: level d is an object
	uint32_t filled_bits;	// bit d: level d already has an element
};

void fw_json_init(struct fw_json *j, struct fw_out *out, bool pretty);
void fw_json_begin_object(struct fw_json *j);
void fw_json_end_object(struct fw_json *j);
void fw_json_begin_array(struct fw_json *j);
void fw_json_end_array(struct fw_json *j);
void fw_json_key_(struct fw_json *j, const char *key, size_t n);
/** Keys are literals of ours: no escaping is done. */
#define fw_json_key(j, literal) fw_json_key_(j, "" literal, sizeof(literal) - 1)
void fw_json_string(struct fw_json *j, const char *s, size_t n);
void fw_json_cstr(struct fw_json *j, const char *s);	// NULL writes null
void fw_json_str(struct fw_json *j, struct fw_str s);	// s.s == NULL writes null
void fw_json_u64(struct fw_json *j, uint64_t v);
void fw_json_i64(struct fw_json *j, int64_t v);
void fw_json_bool(struct fw_json *j, bool v);
void fw_json_null(struct fw_json *j);
/** String "0x..." with exactly @p width digits (more when the value needs them). */
void fw_json_hex(struct fw_json *j, uint64_t v, unsigned width);
// A key, a literal of ours, and its value.
static inline void fw_json_put_str(struct fw_json *j, const char *key, struct fw_str v)
{
	fw_json_key_(j, key, strlen(key));
	fw_json_str(j, v);
}

static inline void fw_json_put_cstr(struct fw_json *j, const char *key, const char *v)
{
	fw_json_key_(j, key, strlen(key));
	fw_json_cstr(j, v);
}

static inline void fw_json_put_u64(struct fw_json *j, const char *key, uint64_t v)
{
	fw_json_key_(j, key, strlen(key));
	fw_json_u64(j, v);
}

static inline void fw_json_put_bool(struct fw_json *j, const char *key, bool v)
{
	fw_json_key_(j, key, strlen(key));
	fw_json_bool(j, v);
}

/** End of the document: a newline; asserts that everything is closed. */
void fw_json_finish(struct fw_json *j);

#endif
