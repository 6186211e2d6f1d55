#ifndef FW_SYMFILES_ELF_SEARCH_H
#define FW_SYMFILES_ELF_SEARCH_H

#include "symfiles/symbol_search.h"

/*
 * The ELF files of a module, for symbols.c: the program or library itself and its
 * separate debug files. An id decides, never a name.
 */

struct fw_elf_places {
	struct fw_root *roots;		// -s
	size_t num_roots;
	const char *sysroot;		// ends without '/', "" is the system's own; NULL: none
	struct fw_cache *cache;
};

/** One module's files; malloc'd paths, NULL: there is none. */
struct fw_elf_set {
	char *elf, *debug, *alt;
	struct fw_cache_key key;	// of all of them together
	uint64_t compiled_bytes;	// what compiling them reads, unpacked, weighed by its cost
	char damage[160];		// what a file lacks that its headers say it has; "": nothing
	bool raw_names;			// their names are not to be demangled: another key
	bool details;			// with columns and the like: another key
};

/**
 * Find the file with the wanted id that has code, else a debug file with it: under
 * the -s paths, then at the recorded path below the system root. False: none;
 * @p q, where given, learns of files at that path with another id.
 */
bool fw_elf_find(const struct fw_elf_places *places, const struct fw_wanted *w,
		 struct fw_search *q, struct fw_elf_set *ret);

/** Find the debug files that belong to ret->elf, and make the key. False: no memory. */
bool fw_elf_find_debug(const struct fw_elf_places *places, struct fw_elf_set *ret);

/**
 * The first -s path with the source lines of the set (its file with .debug_info, that
 * of the program or the separate one); places->num_roots: none has them.
 */
size_t fw_elf_set_root(const struct fw_elf_places *places, const struct fw_elf_set *set);

/** The key of the files as they are now: the identity of each goes into it. */
void fw_elf_set_key(struct fw_elf_set *set);
void fw_elf_set_clear(struct fw_elf_set *set);

#endif
