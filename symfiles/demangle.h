#ifndef FW_SYMFILES_DEMANGLE_H
#define FW_SYMFILES_DEMANGLE_H

#include <stddef.h>

#include "lib/base/limits.h"
#include "lib/base/text.h"

/**
 * C++ (Itanium), Rust (legacy and v0) and D names in the words of their language, as
 * addr2line and gdb print them. Writes at most FW_MAX_DEMANGLED bytes to @p out (no
 * NUL) and returns how many; 0: not a mangled name, or one that is refused because
 * it is broken, too long, or would not end (the raw name is what to show then).
 * Calls that recurse as deep as a long name asks: 8 MiB of stack are needed. Pure;
 * any thread.
 */
size_t fw_demangle(struct fw_str name, char out[FW_MAX_DEMANGLED]);

/** True for a name that looks mangled: cheap, and false for nearly every C function. */
static inline bool fw_is_mangled(struct fw_str name)
{
	return name.n > 2 && name.s[0] == '_' &&
	       (name.s[1] == 'Z' || (name.s[1] == 'R' && name.s[2] >= 'A' && name.s[2] <= 'Z') ||
		(name.s[1] == 'D' && name.s[2] >= '0' && name.s[2] <= '9'));
}

#endif
