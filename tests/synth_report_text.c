// lib/report/text.c again, reading hand-built reports (tests/synth_report.h).
#define fw_report_frame synth_report_frame
#define fw_report_write_text synth_write_text
#include "lib/report/text.c"
