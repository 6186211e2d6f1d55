#ifndef FW_SNAPSHOT_MAC_REASON_H
#define FW_SNAPSHOT_MAC_REASON_H

#include "lib/snapshot/snapshot.h"

/**
 * Reason of an EXC_RESOURCE or EXC_GUARD (@p name), whose kind is in the top
 * three bits of the flags, and whose details are packed into the exception's
 * code and subcode (parameters 1 and 2). Layouts: xnu osfmk/kern/exc_resource.h
 * and exc_guard.h.
 */
void fw_mac_kernel_reason(const struct fw_exception *x, const char *name, char *buffer,
			  size_t n);

#endif
