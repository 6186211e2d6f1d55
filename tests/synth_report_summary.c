// lib/report/summary.c again, reading hand-built reports (tests/synth_report.h).
#define fw_report_frame synth_report_frame
#define fw_report_write_summary_text synth_write_summary_text
#define fw_report_write_summary_json synth_write_summary_json
#include "lib/report/summary.c"
