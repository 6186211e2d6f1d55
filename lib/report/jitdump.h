#ifndef FW_REPORT_JITDUMP_H
#define FW_REPORT_JITDUMP_H

#include "lib/base/bytes.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

/**
 * What a JIT compiler wrote down of its code: jit-PID.dump, after
 * tools/perf/Documentation/jitdump-specification.txt. Code is where it was from its
 * CODE_LOAD or CODE_MOVE on, until it is moved away; of code that lies over older code
 * the newer counts. Read once; all else is pure, any thread.
 */
struct fw_jitdump;

struct fw_jit_code {
	uint64_t start, size;
	uint64_t from, to;		// nanoseconds of CLOCK_MONOTONIC; `to` not included
	struct fw_str name;
	const uint8_t *bytes;		// `size` of them
	uint64_t loaded_at;		// where it was when its lines were written down
	struct fw_bytes lines;		// entries of its DEBUG_INFO
	uint64_t num_lines;
	struct fw_bytes eh_frame;	// of its UNWINDING_INFO; size 0: none
};

struct fw_jit_counts { uint32_t malformed, too_many; uint64_t torn_at; /* 0: whole */ };

/**
 * @p owned: as fw_perf_map_open(). A bad record costs that record, a torn end the rest.
 * FW_IO, FW_UNSUPPORTED (no such file, another version, or times of the CPU's own
 * counter), FW_MALFORMED, FW_LIMIT, FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_jitdump_open(const char *path, bool owned, struct fw_jitdump **ret,
					   struct fw_error *err);
/** The same from bytes that outlive *ret. */
FW_MUST_CHECK enum fw_code fw_jitdump_parse(const uint8_t *data, uint64_t size,
					    struct fw_jitdump **ret, struct fw_error *err);
void fw_jitdump_close(struct fw_jitdump *d);

struct fw_jit_counts fw_jitdump_counts(const struct fw_jitdump *d);
/** Number of the code at an address at a time (UINT64_MAX: the newest); false: none. */
bool fw_jitdump_find(const struct fw_jitdump *d, uint64_t address, uint64_t time,
		     uint32_t *ret_number);
/** NULL: no such number. */
const struct fw_jit_code *fw_jitdump_code(const struct fw_jitdump *d, uint32_t number);
/** Source of an address in the code; false: not known. */
bool fw_jit_code_line(const struct fw_jit_code *c, uint64_t address, struct fw_str *ret_file,
		      uint32_t *ret_line);

#endif
