// lib/report/machine.c again, reading hand-built reports (tests/synth_report.h).
#define fw_report_frame synth_report_frame
#define fw_report_write_machine synth_write_machine
#include "lib/report/machine.c"
