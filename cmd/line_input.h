#ifndef FW_CMD_LINE_INPUT_H
#define FW_CMD_LINE_INPUT_H

#include <stdbool.h>

#include "lib/base/out.h"

/**
 * Lines of standard input, for tools that answer one at a time: whoever asks
 * gets all answers to what was asked before more input is waited for.
 */
struct fw_line_input {
	char *data;
	size_t at, count, capacity;
	bool ended;
};

/**
 * Next line, NUL-terminated, without its end; valid until the next call. @p out is
 * flushed before waiting. False: no more, out of memory, or out failed.
 */
bool fw_line_input_next(struct fw_line_input *in, struct fw_out *out, char **ret);
void fw_line_input_deinit(struct fw_line_input *in);

#endif
