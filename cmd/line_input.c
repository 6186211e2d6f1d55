#include "cmd/line_input.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/limits.h"

/** Read more behind what is there; false at the end. */
static bool read_more(struct fw_line_input *in)
{
	if (in->at > 0) {
		memmove(in->data, in->data + in->at, in->count - in->at);
		in->count -= in->at;
		in->at = 0;
	}
	if (in->capacity - in->count < 4096) {
		size_t size = in->capacity ? 2 * in->capacity : 65536;
		char *data = size > FW_MAX_SYM_LINE ? NULL : realloc(in->data, size);
		if (data == NULL)
			return false;
		in->data = data;
		in->capacity = size;
	}
	ssize_t n;
	do
		n = read(STDIN_FILENO, in->data + in->count, in->capacity - in->count - 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	in->count += (size_t)n;
	return true;
}

bool fw_line_input_next(struct fw_line_input *in, struct fw_out *out, char **ret)
{
	for (;;) {
		char *line = in->data + in->at, *end = NULL;
		if (in->count > in->at)
			end = memchr(line, '\n', in->count - in->at);
		if (end == NULL && in->ended && in->count > in->at)
			end = in->data + in->count;	// the last one without its end
		if (end != NULL) {
			*end = '\0';
			in->at = (size_t)(end - in->data) + 1;
			if (in->at > in->count)
				in->at = in->count;
			*ret = line;
			return true;
		}
		if (in->ended || fw_out_flush(out, NULL) != FW_OK)
			return false;
		in->ended = !read_more(in);
	}
}

bool fw_line_input_ahead(const struct fw_line_input *in, size_t *at, struct fw_str *ret)
{
	size_t left = in->count - in->at - *at;
	const char *line = in->data + in->at + *at, *end = left ? memchr(line, '\n', left) : NULL;
	if (end == NULL)
		return false;
	*ret = (struct fw_str){ line, (size_t)(end - line) };
	*at += ret->n + 1;
	return true;
}

void fw_line_input_deinit(struct fw_line_input *in)
{
	free(in->data);
}
