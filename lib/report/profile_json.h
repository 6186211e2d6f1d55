#ifndef FW_REPORT_PROFILE_JSON_H
#define FW_REPORT_PROFILE_JSON_H

#include "lib/base/json.h"
#include "lib/report/profile.h"

enum { FW_SAMPLES_SCHEMA_VERSION = 1 };

/** From `schema_version` to `events`; @p kind is the value of `kind`. */
void fw_profile_json_head(struct fw_json *j, const struct fw_profile *p, const char *kind);
/** An object of `modules`. */
void fw_profile_json_module(struct fw_json *j, const struct fw_profile_module *m);

#endif
