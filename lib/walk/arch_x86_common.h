#ifndef FW_WALK_ARCH_X86_COMMON_H
#define FW_WALK_ARCH_X86_COMMON_H

#include "lib/walk/walker.h"

/** Does @p code end in an x86 call? Both CPUs share the encodings. */
bool fw_x86_call_before(const uint8_t *code, unsigned n, bool thumb);
/** Target of CALL rel32, unless the bytes may also be an indirect call. */
bool fw_x86_call_target(const uint8_t *code, unsigned n, bool thumb, uint64_t address,
			uint64_t *ret);
/** A PLT entry: [endbr] [bnd] jmp *table, or push; jmp. */
bool fw_x86_is_stub(const uint8_t *code, unsigned n);

#endif
