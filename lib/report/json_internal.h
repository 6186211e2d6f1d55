#ifndef FW_REPORT_JSON_INTERNAL_H
#define FW_REPORT_JSON_INTERNAL_H

#include <assert.h>

#include "lib/base/json.h"
#include "lib/report/report.h"

/**
 * Keys of the report, which has some twenty a frame. In compact form a key is
 * one literal, comma included; the writer's state is only told that a value
 * follows. An object's keys are therefore all written by these macros, the
 * first by FW_KEY_FIRST, so that the writer's own commas are never mixed in.
 * Pretty form goes through fw_json_key.
 */
#define FW_KEY_LITERAL_(j, literal, text) do { \
		if ((j)->pretty) { \
			fw_json_key(j, literal); \
		} else { \
			assert(!(j)->key_pending && \
			       (j)->object_bits >> ((j)->depth - 1) & 1); \
			fw_out_lit((j)->out, text); \
			(j)->key_pending = true; \
		} \
	} while (0)
#define FW_KEY_FIRST(j, literal) FW_KEY_LITERAL_(j, literal, "\"" literal "\":")
#define FW_KEY(j, literal) FW_KEY_LITERAL_(j, literal, ",\"" literal "\":")

struct fw_json_report {
	struct fw_json j;
	struct fw_report *r;
	unsigned digits;		// of an address
	bool registers;			// of every frame
	struct fw_str trust[FW_TRUST_COUNT];
};

static inline void fw_json_number_or_null(struct fw_json *j, bool have, uint64_t v)
{
	if (have)
		fw_json_u64(j, v);
	else
		fw_json_null(j);
}

/** Like fw_json_str, but what is missing is the empty string, as the peer writes it. */
static inline void fw_json_str_or_empty(struct fw_json *j, struct fw_str s)
{
	fw_json_string(j, s.s ? s.s : "", s.n);
}

static inline struct fw_str fw_ident_str(const struct fw_ident *id)
{
	return (struct fw_str){ id->text, id->n };
}

/** Array of {key, value}; keys of a capture may repeat, so no object. */
void fw_json_annotations(struct fw_json *j, const struct fw_annotation *a, uint32_t n);

/** json_parts.c: from `capture` to `linux_memory_map_count`. */
void fw_json_summary_part(struct fw_json_report *w);
/** json_modules.c: from `main_module` to `unloaded_modules`. */
void fw_json_modules(struct fw_json_report *w);
/** json_parts.c: from `handles` to the end. */
void fw_json_rest(struct fw_json_report *w);

#endif
