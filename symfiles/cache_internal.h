#ifndef FW_SYMFILES_CACHE_INTERNAL_H
#define FW_SYMFILES_CACHE_INTERNAL_H

#include "symfiles/cache.h"

/** Remove the longest unused files down to the cap, and what dead writers left. Runs
 *  by itself; nothing happens while another process does it. */
void fw_cache_evict_(struct fw_cache *c);

/** Tests only: write under a temporary name, as on a file system without O_TMPFILE. */
void fw_cache_use_named_temp_(struct fw_cache *c);

/** Tests only: how long fw_cache_lock waits (60 s else). */
void fw_cache_set_patience_(struct fw_cache *c, unsigned seconds);

#endif
