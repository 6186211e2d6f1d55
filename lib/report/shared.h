#ifndef FW_REPORT_SHARED_H
#define FW_REPORT_SHARED_H

#include "lib/report/report.h"

/**
 * What to print after the operating system's version: the build text, without
 * the version where that was taken from it ("Linux VERSION BUILD"). Pure.
 */
struct fw_str fw_report_os_build(const struct fw_snapshot *s);

#endif
