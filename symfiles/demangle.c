#include "symfiles/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

enum {
	SHORT_NAME = 1024,	// libiberty's own limit: DEMANGLE_RECURSION_LIMIT
	MAX_D_REFERENCES = 16,	// each may double what is written
};

struct sink {
	char *out;
	size_t n;
	jmp_buf full;
};

/*
 * A name of 250 bytes can stand for half a gigabyte of text, and the library
 * cannot be told to stop. It allocates nothing while it prints, so leaving it
 * by longjmp loses nothing.
 */
static void take(const char *s, size_t n, void *opaque)
{
	struct sink *sink = opaque;
	if (n > FW_MAX_DEMANGLED - sink->n)
		longjmp(sink->full, 1);
	memcpy(sink->out + sink->n, s, n);
	sink->n += n;
}

/**
 * "f::<T>" -> "f<T>": the turbofish is syntax of expressions; DWARF's own names
 * and debuggers have none, and a name cut at its '<' ends in the function.
 */
static size_t drop_turbofish(char *s, size_t n)
{
	size_t to = 0;
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && n - i > 2 && s[i] == ':' && s[i + 1] == ':' && s[i + 2] == '<')
			i += 2;
		s[to++] = s[i];
	}
	return to;
}

static size_t cxx_or_rust(const char *name, size_t length, char *out)
{
	struct sink sink = { .out = out };
	const int options = DMGL_PARAMS | DMGL_ANSI |
			    (length > SHORT_NAME ? DMGL_NO_RECURSE_LIMIT : 0);
	if (setjmp(sink.full))
		return 0;
	// Rust first: its old scheme is a C++ name that ends in a hash.
	if (rust_demangle_callback(name, options, take, &sink))
		return drop_turbofish(out, sink.n);
	sink.n = 0;
	if (name[1] == 'Z' && cplus_demangle_v3_callback(name, options, take, &sink))
		return sink.n;
	return 0;
}

static size_t d_name(const char *name, size_t length, char *out)
{
	unsigned references = 0;
	for (size_t i = 0; i < length; i++)
		references += name[i] == 'Q';
	if (length > SHORT_NAME || references > MAX_D_REFERENCES)
		return 0;
	char *text = dlang_demangle(name, DMGL_PARAMS | DMGL_ANSI);
	size_t n = text == NULL ? 0 : strlen(text);
	if (n > FW_MAX_DEMANGLED)
		n = 0;
	if (n > 0)
		memcpy(out, text, n);
	free(text);
	return n;
}

size_t fw_demangle(struct fw_str name, char out[FW_MAX_DEMANGLED])
{
	char copy[FW_MAX_MANGLED + 1];
	if (!fw_is_mangled(name) || name.n > FW_MAX_MANGLED ||
	    memchr(name.s, 0, name.n) != NULL)
		return 0;
	memcpy(copy, name.s, name.n);
	copy[name.n] = '\0';
	if (name.s[1] == 'D')
		return d_name(copy, name.n, out);
	return cxx_or_rust(copy, name.n, out);
}
