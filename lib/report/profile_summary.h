#ifndef FW_REPORT_PROFILE_SUMMARY_H
#define FW_REPORT_PROFILE_SUMMARY_H

#include "lib/report/profile.h"

/** What both forms of the summary count alike. */

/** Lost events: LOST and LOST_SAMPLES tell of the same ones, so the larger. */
uint64_t fw_profile_lost(const struct fw_profile *p);
/** Bytes of stack that were asked for, of the first event that has stacks; 0: none has. */
uint32_t fw_profile_stack_asked(const struct fw_profile *p);

/** "loaded", "found" (not needed), "missing", "mismatch", "corrupt", "unsearched". */
const char *fw_profile_symbols_name(const struct fw_profile_module *m);
bool fw_profile_lacks_symbols(const struct fw_profile_module *m);
/** Names come from a file that nothing says is the one that ran. */
bool fw_profile_is_unverified(const struct fw_profile_module *m);

/** Modules that samples passed through, most samples first; to be freed. NULL: no memory. */
uint32_t *fw_profile_module_order(const struct fw_profile *p, uint32_t *ret_count);

#endif
