#ifndef FW_REPORT_NAMES_H
#define FW_REPORT_NAMES_H

#include "lib/report/report.h"

/**
 * Function, line and inlined calls at an offset from the module's base, into
 * the name fields of @p f (cleared before). @p lookup_offset is what is looked
 * up; the *_pc_offset fields count from @p pc_offset. Pure but for the image's
 * verification marks; any thread.
 */
void fw_frame_names(const struct fw_image *image, uint64_t lookup_offset, uint64_t pc_offset,
		    struct fw_report_frame *f);

#endif
