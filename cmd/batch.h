#ifndef FW_CMD_BATCH_H
#define FW_CMD_BATCH_H

#include "cmd/inputs.h"
#include "lib/base/out.h"
#include "lib/report/report.h"

enum fw_format { FW_FORMAT_TEXT, FW_FORMAT_JSON, FW_FORMAT_NDJSON, FW_FORMAT_MACHINE };

struct fw_batch_options {
	enum fw_format format;
	bool pretty;
	const char *program;		// -e; NULL: none
	bool summary;
	bool headers;			// text: a line with the capture's name above each
	bool crashing_only;		// the crashing thread where there is one
	struct fw_text_options text;
	struct fw_report_options report;
	unsigned jobs;			// 0: one per CPU
};

/**
 * Report every input to @p out, in order, whatever the number of jobs. An
 * input that cannot be used costs one line on standard error (JSON modes: and
 * an error object). Reports that wait for their turn take at most 64 MiB
 * together; a larger one waits with its text unwritten. Stops early when @p out
 * fails, which is left in out->failed. False: some input was unusable.
 */
bool fw_batch_run(const struct fw_inputs *inputs, struct fw_symbols *symbols,
		  const struct fw_batch_options *options, struct fw_out *out);

#endif
