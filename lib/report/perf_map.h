#ifndef FW_REPORT_PERF_MAP_H
#define FW_REPORT_PERF_MAP_H

#include "lib/base/error.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

/**
 * Names of JIT code from a perf-PID.map: lines "START SIZE name", both numbers
 * hexadecimal (tools/perf/Documentation/jit-interface.txt). It says nothing of times: of
 * several names for an address the last in the file counts. Read once; any thread.
 */
struct fw_perf_map;

/**
 * @p owned: only a regular file, no link, of root or of this user, as perf wants it in a
 * folder where anybody may write. FW_IO, FW_UNSUPPORTED (not such a file), FW_MALFORMED
 * (lines and none of them usable), FW_LIMIT (FW_MAX_PERF_MAP), FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_perf_map_open(const char *path, bool owned, struct fw_perf_map **ret,
					    struct fw_error *err);
/** The same from bytes that outlive *ret. */
FW_MUST_CHECK enum fw_code fw_perf_map_parse(const char *text, size_t size,
					     struct fw_perf_map **ret, struct fw_error *err);
void fw_perf_map_close(struct fw_perf_map *m);

/** The function that holds @p address; false: none. */
bool fw_perf_map_find(const struct fw_perf_map *m, uint64_t address, struct fw_str *ret_name,
		      uint64_t *ret_start);
/** Lines that could not be used. */
uint32_t fw_perf_map_skipped(const struct fw_perf_map *m);

/**
 * Read the file of a JIT at @p path, at most FW_MAX_JIT_FILE unpacked. @p owned: as
 * fw_perf_map_open() says; what is read is the file that was looked at. Errors as there.
 */
FW_MUST_CHECK enum fw_code fw_made_open(const char *path, bool owned, struct fw_file *ret,
					struct fw_error *err);

#endif
