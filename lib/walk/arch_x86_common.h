#ifndef FW_WALK_ARCH_X86_COMMON_H
#define FW_WALK_ARCH_X86_COMMON_H

#include "lib/walk/walker.h"

/** Does @p code end in an x86 call? Both CPUs share the encodings. */
bool fw_x86_call_before(const uint8_t *code, unsigned n, bool thumb);
/** Target of CALL rel32, unless the bytes may also be an indirect call. */
bool fw_x86_call_target(const uint8_t *code, unsigned n, bool thumb, uint64_t address,
			uint64_t *ret);
/**
 * The frame record at the frame pointer: [fp] = caller's fp, the return address
 * above it (psABI amd64 figure 3.3, i386 2.2.2). A saved fp that is no stack
 * address does not spoil the return address (code without frame pointers keeps
 * other things there); the caller's fp is then unknown.
 */
bool fw_x86_record(struct fw_walker *w, bool need_call, struct fw_caller *ret);
/**
 * The return address is on top of the stack and every register as it was: after
 * a call through a bad pointer (@p wild), where the call in front of it leads to
 * the very function that pc is in, or in any function (@p any_function).
 */
bool fw_x86_leaf(struct fw_walker *w, bool wild, bool any_function, struct fw_caller *ret);
/** A PLT entry: [endbr] [bnd] jmp *table, or push; jmp. */
bool fw_x86_is_stub(const uint8_t *code, unsigned n);

/**
 * The caller by the function's own instructions (prologue_x86.c), for code without unwind
 * rules: only where all on the way is understood and a call stands before the
 * return address.
 */
bool fw_x86_prologue(struct fw_walker *w, struct fw_caller *ret);

#endif
