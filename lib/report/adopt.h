#ifndef FW_REPORT_ADOPT_H
#define FW_REPORT_ADOPT_H

#include "lib/snapshot/snapshot.h"
#include "symfiles/symbols.h"

/**
 * Give a core without names its modules: the kernel of an emulator writes no
 * NT_FILE and leaves the pages with build ids out. The program is the ELF file
 * under the -s paths whose entry point, number of program headers and dynamic
 * section are the core's; the libraries are those that the dynamic linker lists,
 * each the file of that name whose dynamic section agrees with memory.
 * Does nothing to a snapshot that has its program. Before anything walks; the
 * snapshot is the caller's alone.
 */
void fw_adopt_modules(struct fw_snapshot *s, struct fw_symbols *symbols);

#endif
