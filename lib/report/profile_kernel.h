#ifndef FW_REPORT_PROFILE_KERNEL_H
#define FW_REPORT_PROFILE_KERNEL_H

#include "lib/report/kallsyms.h"
#include "lib/report/profile.h"

/**
 * Names of the kernel's part of stacks, from a list of the kernel that was recorded. As
 * with any module its identity decides: --kallsyms FILE is believed, a copy below an -s
 * folder (as perf keeps them in ~/.debug) lies under its build id, the running kernel's
 * list is used when its build id is the recorded one, or where none was recorded its
 * release. One thread.
 */
struct fw_profile_kernel {
	bool asked;
	struct fw_kallsyms *list;
	uint64_t slide;			// from recorded addresses to those of the list
	struct fw_symbol_file symbols;	// what is said of the kernel and its modules
	char *path;
};

void fw_profile_kernel_deinit(struct fw_profile_kernel *k);

/** The function of an address that was recorded in @p module (FW_NO_MODULE: none). False: none. */
bool fw_profile_kernel_name(struct fw_profile_kernel *k, const struct fw_profile *p,
			    struct fw_symbols *symbols, const struct fw_profile_options *options,
			    uint32_t module, uint64_t address, struct fw_str *ret_name,
			    uint64_t *ret_start);

#endif
