#ifndef FW_SYMFILES_LAZY_POLICY_H
#define FW_SYMFILES_LAZY_POLICY_H

#include "symfiles/elf_search.h"

/**
 * Should the module be read lazily now? With FW_LAZY_AUTO: when compiling it takes a
 * while, it is not compiled already, and this is the first time that it is asked for;
 * that is noted in the cache. Without a cache every time is the first.
 */
bool fw_lazy_wanted(enum fw_lazy_when when, struct fw_cache *cache,
		    const struct fw_elf_set *files);

#endif
