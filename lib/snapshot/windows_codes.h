#ifndef FW_SNAPSHOT_WINDOWS_CODES_H
#define FW_SNAPSHOT_WINDOWS_CODES_H

#include <stddef.h>
#include <stdint.h>

/** A number and its name in some header; tables of them are ascending by code. */
struct code_name {
	uint32_t code;
	const char *name;
};

/** Errors and warnings of ntstatus.h, facility 0. */
extern const struct code_name ntstatus_codes[];
extern const size_t num_ntstatus_codes;

/** FAST_FAIL_* of winnt.h. */
extern const struct code_name fast_fail_codes[];
extern const size_t num_fast_fail_codes;

/** ERROR_* of winerror.h below 1800. */
extern const struct code_name windows_errors[];
extern const size_t num_windows_errors;

/** Name of a code in an ascending table, or NULL. */
const char *find_code_name(const struct code_name *table, size_t count, uint32_t code);

#endif
