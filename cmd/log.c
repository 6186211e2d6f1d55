#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/base/file.h"

enum { MAX_LINE = 65536 };	// several paths, each byte \xNN at worst, and a message

static enum fw_log_level log_level = FW_LOG_WARN;

void fw_log_set_level(enum fw_log_level level)
{
	log_level = level;
}

bool fw_log_enabled(enum fw_log_level level)
{
	return level <= log_level;
}

static void add_part(struct fw_out *o, const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	fw_out_lit(o, ": ");
	fw_out_safe(o, text, strlen(text));
}

static void write_line(const char *a, const char *b, const char *c)
{
	struct fw_out o;
	fw_out_init_memory(&o, MAX_LINE);
	fw_out_lit(&o, "framewalk");
	add_part(&o, a);
	add_part(&o, b);
	add_part(&o, c);
	fw_out_lit(&o, "\n");
	// Nowhere to tell that telling failed.
	if (o.failed || fw_write_all(STDERR_FILENO, o.data, o.count, NULL) != FW_OK)
		(void)o.failed;
	fw_out_deinit(&o);
}

void fw_log(enum fw_log_level level, const char *file, const char *format, ...)
{
	static const char *const names[] = {
		[FW_LOG_ERROR] = NULL, [FW_LOG_WARN] = "warning",
		[FW_LOG_INFO] = "info", [FW_LOG_DEBUG] = "debug",
	};
	char text[1024];
	va_list ap;
	if (!fw_log_enabled(level))
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	write_line(names[level], file, text);
}

void fw_complain(const char *file, const struct fw_error *err)
{
	const char *message = err->message[0] ? err->message : fw_code_name(err->code);
	write_line(file, err->place, message);
}

int fw_usage(const char *command, const char *format, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	write_line(command, NULL, text);
	return FW_EXIT_USAGE;
}
