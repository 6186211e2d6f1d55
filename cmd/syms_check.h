#ifndef FW_CMD_SYMS_CHECK_H
#define FW_CMD_SYMS_CHECK_H

#include "cmd/opts.h"

/** `framewalk syms check PATH...`; an enum fw_exit. */
int fw_syms_check(const struct fw_args *args);

#endif
