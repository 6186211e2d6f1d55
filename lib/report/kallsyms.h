#ifndef FW_REPORT_KALLSYMS_H
#define FW_REPORT_KALLSYMS_H

#include "lib/base/error.h"
#include "lib/base/text.h"

/**
 * Names of kernel addresses from a copy of /proc/kallsyms ("address type name [module]",
 * kallsyms(9)), read once. All reading functions are pure; any thread.
 */
struct fw_kallsyms;

struct fw_kallsym {
	struct fw_str name;
	struct fw_str module;		// "ext4", "bpf", "__builtin__ftrace"; n 0: the kernel itself
	uint64_t start;
};

/** FW_IO, FW_MALFORMED (no usable line, or addresses hidden as zeros), FW_LIMIT, FW_NO_MEMORY. */
FW_MUST_CHECK enum fw_code fw_kallsyms_open(const char *path, struct fw_kallsyms **ret,
					    struct fw_error *err);
void fw_kallsyms_close(struct fw_kallsyms *k);

/**
 * The function that holds @p address, as this list counts: a recording of another boot
 * has its kernel moved by the difference of the two _text. Sizes are not in the list: one
 * of the kernel itself ends at _etext or _einittext at the latest. False: none.
 */
bool fw_kallsyms_find(const struct fw_kallsyms *k, uint64_t address, struct fw_kallsym *ret);
/** Address of a symbol by name; false: not there. */
bool fw_kallsyms_address(const struct fw_kallsyms *k, struct fw_str name, uint64_t *ret);

#endif
