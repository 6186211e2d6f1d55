#ifndef FW_SNAPSHOT_CRASH_REASON_H
#define FW_SNAPSHOT_CRASH_REASON_H

#include "lib/snapshot/snapshot.h"

/**
 * Reason of the recorded exception in rust-minidump's words ("SIGSEGV /
 * SEGV_MAPERR", "EXCEPTION_ACCESS_VIOLATION_WRITE", "EXC_BAD_ACCESS /
 * KERN_INVALID_ADDRESS"), and in Breakpad's where the two differ
 * (@p breakpad: "SIGSEGV /SEGV_MAPERR", no detail for user-sent signals ...).
 * Codes: Windows SDK ntstatus.h/winnt.h, Linux asm-generic/siginfo.h (si_code is
 * signed), macOS mach/exception_types.h. Unknown: "0x%08x / 0x%08x".
 * Writes at most @p n bytes with the NUL; pure.
 */
void fw_crash_reason(const struct fw_snapshot *s, bool breakpad, char *buffer, size_t n);

/** Address the crash is about: exception address, or parameter 1 for Windows access
 *  violations and in-page errors; masked to 32 bits on 32-bit CPUs. */
uint64_t fw_crash_address(const struct fw_snapshot *s);

/**
 * Name of a GetLastError() value ("ERROR_ACCESS_DENIED"; winerror.h, else
 * ntstatus.h), or NULL for a number without one.
 */
const char *fw_windows_error_name(uint32_t code);

#endif
