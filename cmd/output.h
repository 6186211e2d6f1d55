#ifndef FW_CMD_OUTPUT_H
#define FW_CMD_OUTPUT_H

#include <stdbool.h>

#include "lib/base/out.h"

/**
 * Where a command's output goes: standard output, or -o FILE. A regular FILE
 * is written beside itself and renamed when all is there, so it is never seen
 * half written; a device or fifo is written directly. One at a time.
 */
struct fw_output {
	struct fw_out out;
	const char *name;	// for messages
	bool terminal;
	// private
	int fd;
	char *path;		// rename to this; NULL: nothing to rename
};

/** @p path NULL or "-": standard output. False after complaining. */
bool fw_output_open(struct fw_output *o, const char *path);

/**
 * Flush and close; FILE appears unless writing failed or nothing was written
 * while @p status says failure. Complains about a failed write, a closed pipe
 * excepted. Returns the exit status: @p status, or FW_EXIT_UNUSABLE when it was
 * FW_EXIT_OK and the write failed.
 */
int fw_output_close(struct fw_output *o, int status);

/** Remove the temporary file. Only for signal handlers: async-signal-safe. */
void fw_output_abandon(void);

#endif
