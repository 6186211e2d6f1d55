// lib/report/json.c again, reading hand-built reports (tests/synth_report.h).
#define fw_report_frame synth_report_frame
#define fw_report_write_json synth_write_json
#define fw_report_write_error_json synth_write_error_json
#include "lib/report/json.c"
