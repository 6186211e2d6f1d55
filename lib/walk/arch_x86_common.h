#ifndef FW_WALK_ARCH_X86_COMMON_H
#define FW_WALK_ARCH_X86_COMMON_H

#include "lib/walk/walker.h"

/** Does @p code end in an x86 call? Both CPUs share the encodings. */
bool fw_x86_call_before(const uint8_t *code, unsigned n, bool thumb);

#endif
