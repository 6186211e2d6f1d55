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

/**
 * Take the ELF file @p path for the program of the capture (gdb's and eu-stack's -e).
 * Its id decides where the capture knows the program's; where the capture has none,
 * nothing that it does know of the program may be against it: CPU, entry point,
 * number of program headers, code and dynamic section in memory. Without a module
 * for the program one is added, at the place that AT_PHDR or AT_ENTRY tell. Before
 * fw_adopt_modules. FW_NOT_FOUND: it is another file, or it cannot be told where the
 * program lies; else what opening the file yields. The snapshot is then as it was.
 */
FW_MUST_CHECK enum fw_code fw_adopt_program(struct fw_snapshot *s, const char *path,
					    struct fw_error *err);

#endif
