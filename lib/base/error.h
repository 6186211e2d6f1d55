#ifndef FW_BASE_ERROR_H
#define FW_BASE_ERROR_H

/**
 * Errors by value: caller-owned, no allocation, no hidden state, so they work
 * in any thread and when memory is gone. A function that can fail returns
 * enum fw_code and takes a `struct fw_error *err` last (NULL is allowed).
 * On failure every output is left untouched.
 */
enum fw_code {
	FW_OK = 0,
	FW_NO_MEMORY,	// an allocation failed or an arena's cap was reached
	FW_IO,		// the operating system refused; os_errno says why
	FW_MALFORMED,	// the file breaks its own format
	FW_UNSUPPORTED,	// well formed, but a variant we do not read
	FW_NOT_FOUND,	// there is no such thing
	FW_LIMIT,	// a named limit of lib/base/limits.h was hit
	FW_USAGE,	// the command line is wrong
};

struct fw_error {
	enum fw_code code;
	int os_errno;		// 0 means: not from the operating system
	char place[64];		// where in the input: "offset 0x20", "line 7"; empty: the whole
	char message[192];	// lower case, no full stop, no file name
};

#define FW_MUST_CHECK __attribute__((warn_unused_result))
#define FW_UNLIKELY(x) __builtin_expect(!!(x), 0)

/** Short stable word for a code ("malformed", "io" ...), as JSON prints it. Never NULL. */
const char *fw_code_name(enum fw_code code);

/** Fill @p err (may be NULL) and return @p code. @p place may be NULL. */
__attribute__((format(printf, 4, 5)))
enum fw_code fw_fail(struct fw_error *err, enum fw_code code,
		     const char *place, const char *format, ...);

/** Like fw_fail() with FW_IO: remembers errno and appends its text. */
__attribute__((format(printf, 3, 4)))
enum fw_code fw_fail_errno(struct fw_error *err, const char *place,
			   const char *format, ...);

#endif
