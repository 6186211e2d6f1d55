#ifndef FW_CMD_LINE_INPUT_H
#define FW_CMD_LINE_INPUT_H

#include <stdbool.h>

#include "lib/base/out.h"
#include "lib/base/text.h"

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
/**
 * Lines that are there already, behind the one given last, without taking them: *at is
 * 0 for the first. False: no more. @p ret has no NUL at its end.
 */
bool fw_line_input_ahead(const struct fw_line_input *in, size_t *at, struct fw_str *ret);
void fw_line_input_deinit(struct fw_line_input *in);

#endif
