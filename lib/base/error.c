#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/error.h"

const char *fw_code_name(enum fw_code code)
{
	switch (code) {
	case FW_OK:
		return "ok";
	case FW_NO_MEMORY:
		return "no_memory";
	case FW_IO:
		return "io";
	case FW_MALFORMED:
		return "malformed";
	case FW_UNSUPPORTED:
		return "unsupported";
	case FW_NOT_FOUND:
		return "not_found";
	case FW_LIMIT:
		return "limit";
	case FW_USAGE:
		return "usage";
	}
	return "unknown";
}

__attribute__((format(printf, 5, 0)))
static void fill(struct fw_error *err, enum fw_code code, int os_errno,
		 const char *place, const char *format, va_list args)
{
	// Built aside, because place and arguments may point into *err.
	struct fw_error e;
	memset(&e, 0, sizeof(e));
	e.code = code;
	e.os_errno = os_errno;
	if (place)
		snprintf(e.place, sizeof(e.place), "%s", place);
	int n = vsnprintf(e.message, sizeof(e.message), format, args);
	if (os_errno && n >= 0 && (size_t)n < sizeof(e.message)) {
		char text[128];
		// The GNU strerror_r: thread safe, and its result may be a constant.
		snprintf(e.message + n, sizeof(e.message) - (size_t)n, ": %s",
			 strerror_r(os_errno, text, sizeof(text)));
	}
	*err = e;
}

enum fw_code fw_fail(struct fw_error *err, enum fw_code code,
		     const char *place, const char *format, ...)
{
	if (err) {
		va_list args;
		va_start(args, format);
		fill(err, code, 0, place, format, args);
		va_end(args);
	}
	return code;
}

enum fw_code fw_fail_errno(struct fw_error *err, const char *place, const char *format, ...)
{
	int os_errno = errno;
	if (err) {
		va_list args;
		va_start(args, format);
		fill(err, FW_IO, os_errno, place, format, args);
		va_end(args);
	}
	errno = os_errno;
	return FW_IO;
}
