#ifndef FW_CMD_CMD_H
#define FW_CMD_CMD_H

#include <stdbool.h>

#include "cmd/opts.h"
#include "lib/base/error.h"
#include "lib/base/out.h"

/** Exit status, the same words as in the man page. */
enum fw_exit {
	FW_EXIT_OK = 0,		// all reports written (a closed pipe counts as written)
	FW_EXIT_UNUSABLE = 1,	// some input unusable or the output not writable
	FW_EXIT_USAGE = 2,	// the command line is wrong; nothing was done
};

// Subcommands: take a parsed command line, return an enum fw_exit.
int fw_cmd_stack(const struct fw_args *args);
int fw_cmd_samples(const struct fw_args *args);
int fw_cmd_rules(const struct fw_args *args);
int fw_cmd_inspect(const struct fw_args *args);
int fw_cmd_addr(const struct fw_args *args);
int fw_cmd_syms(const struct fw_args *args);
int fw_cmd_help(const struct fw_args *args);
int fw_cmd_completion(const struct fw_args *args);

/** Are we called by the name of another tool? Its main function, or NULL. */
int (*fw_protocol_of(const char *argv0))(int argc, char **argv);
int fw_protocol_addr2line(int argc, char **argv);
int fw_protocol_symbolizer(int argc, char **argv);

// Messages, one line each on standard error, written with one write(2) so that
// lines of several threads never mix. Control bytes are escaped. Any thread.

enum fw_log_level { FW_LOG_ERROR, FW_LOG_WARN, FW_LOG_INFO, FW_LOG_DEBUG };

/** What to print from now on; FW_LOG_WARN until set. Before threads start. */
void fw_log_set_level(enum fw_log_level level);
bool fw_log_enabled(enum fw_log_level level);

/** "framewalk: LEVEL: FILE: text"; @p file may be NULL. */
__attribute__((format(printf, 3, 4)))
void fw_log(enum fw_log_level level, const char *file, const char *format, ...);

/** "framewalk: FILE: PLACE: message"; always printed. @p file may be NULL. */
void fw_complain(const char *file, const struct fw_error *err);

/** "framewalk: COMMAND: text"; returns FW_EXIT_USAGE. @p command may be NULL. */
__attribute__((format(printf, 2, 3)))
int fw_usage(const char *command, const char *format, ...);

#endif
