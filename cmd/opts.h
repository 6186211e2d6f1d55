#ifndef FW_CMD_OPTS_H
#define FW_CMD_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/out.h"
#include "lib/base/vec.h"

/**
 * The command line. One table of options and one of commands feed the parser,
 * --help, the completions of three shells and the man page's option list.
 */
enum fw_command_id {
	FW_COMMAND_TOP,		// `framewalk` itself
	FW_COMMAND_STACK,
	FW_COMMAND_SAMPLES,
	FW_COMMAND_RULES,
	FW_COMMAND_INSPECT,
	FW_COMMAND_ADDR,
	FW_COMMAND_SYMS,
	FW_COMMAND_HELP,
	FW_COMMAND_COMPLETION,
	FW_COMMAND_COUNT
};

enum fw_opt_id {
	FW_OPT_EXE,
	FW_OPT_PROGRAM,
	FW_OPT_SYMBOLS,
	FW_OPT_SYSROOT,
	FW_OPT_FORMAT,
	FW_OPT_SAMPLES_FORMAT,
	FW_OPT_JSON,
	FW_OPT_PRETTY,
	FW_OPT_OUTPUT,
	FW_OPT_STORE,
	FW_OPT_NO_DEMANGLE,
	FW_OPT_JOBS,
	FW_OPT_THREADS,
	FW_OPT_MAX_FRAMES,
	FW_OPT_COMM,
	FW_OPT_PID,
	FW_OPT_TID,
	FW_OPT_TIME,
	FW_OPT_EVENT,
	FW_OPT_PER_THREAD,
	FW_OPT_NO_INLINE,
	FW_OPT_KERNEL,
	FW_OPT_NO_KERNEL,
	FW_OPT_KALLSYMS,
	FW_OPT_JIT,
	FW_OPT_VDSO,
	FW_OPT_REPAIR,
	FW_OPT_ANNOTATE,
	FW_OPT_WEIGHT,
	FW_OPT_FLAMEGRAPH,
	FW_OPT_DIFF,
	FW_OPT_BRIEF,
	FW_OPT_SUMMARY,
	FW_OPT_REGISTERS,
	FW_OPT_NO_FOLD,
	FW_OPT_COLOR,
	FW_OPT_CACHE,
	FW_OPT_NO_CACHE,
	FW_OPT_CACHE_SIZE,
	FW_OPT_LAZY,
	FW_OPT_LOG_LEVEL,
	FW_OPT_HELP,
	FW_OPT_VERSION,
	FW_OPT_COUNT
};

enum fw_opt_type {
	FW_TYPE_FLAG,
	FW_TYPE_TEXT,
	FW_TYPE_CHOICE,		// one of `words`; number: its index
	FW_TYPE_NUMBER,		// decimal in [min, max]
	FW_TYPE_SIZE,		// decimal bytes in [min, max] with an optional K, M or G (1024s)
	FW_TYPE_THREADS,	// crashing, all, a thread id, or # and an index
};

enum fw_complete {
	FW_COMPLETE_NONE, FW_COMPLETE_FILES, FW_COMPLETE_DIRS, FW_COMPLETE_WORDS,
	FW_COMPLETE_COMMANDS,
};

/** Operands are what is left when options are taken out. */
struct fw_opt {
	enum fw_opt_id id;
	char letter;			// 0: no short form
	const char *name;
	const char *arg;		// NULL: a flag
	enum fw_opt_type type;
	enum fw_complete complete;
	const char *words;		// separated by blanks: choices, or words to offer
	uint64_t min, max;
	bool repeats;			// values collect in fw_args.symbols
	bool once;			// a second, other value is a mistake; else the last counts
	unsigned commands;		// bit per enum fw_command_id
	const char *help;		// lines separated by \n
};

struct fw_args;

struct fw_command {
	enum fw_command_id id;
	const char *name;
	const char *operands;		// "CAPTURE..."; "": none allowed
	const char *summary;		// one line
	const char *about;		// paragraphs of --help
	const char *examples;		// lines "command\texplanation"; NULL: none
	enum fw_complete complete;	// what operands are
	const char *words;
	bool hidden;			// from help and completion
	int (*run)(const struct fw_args *args);
};

enum fw_thread_word { FW_THREAD_CRASHING, FW_THREAD_ALL, FW_THREAD_ID, FW_THREAD_INDEX };

struct fw_opt_value {
	bool set;
	uint64_t number;	// NUMBER, SIZE; index of a CHOICE; id or index of THREADS
	unsigned word;		// THREADS: enum fw_thread_word
	const char *text;	// as written
};

/** A parsed command line; texts are views of argv. */
struct fw_args {
	const struct fw_command *command;
	struct fw_opt_value value[FW_OPT_COUNT];
	FW_VEC(const char *) symbols;
	FW_VEC(const char *) operands;
};

extern const struct fw_opt fw_opts[FW_OPT_COUNT];		// index: enum fw_opt_id
extern const struct fw_command fw_commands[FW_COMMAND_COUNT];	// index: enum fw_command_id

/** Command of a name, hidden ones too; NULL: none. */
const struct fw_command *fw_command_find(const char *name);
/** Visible command whose name is near a mistyped one, or NULL. */
const struct fw_command *fw_command_nearest(const char *name);

static inline bool fw_opt_of(const struct fw_opt *opt, const struct fw_command *command)
{
	return opt->commands >> command->id & 1;
}

/**
 * Parse the words behind the command's name. Long options as --name=VALUE or
 * --name VALUE, never abbreviated; short ones as -xVALUE or -x VALUE; options
 * and operands in any order; `--` ends options; `-` is an operand. The last
 * value of an option counts, except those that collect. Parsing stops at --help
 * (value[FW_OPT_HELP].set). Returns false after printing one line on standard
 * error. fw_args_deinit in either case.
 */
bool fw_args_parse(struct fw_args *args, const struct fw_command *command, int argc,
		   char *const *argv);
void fw_args_deinit(struct fw_args *args);

/** Whether @p text is one of the blank-separated @p words; *ret_index which. */
bool fw_word_index(const char *words, const char *text, uint64_t *ret_index);

/** --help of a command (FW_COMMAND_TOP: of the program). */
void fw_help_write(struct fw_out *out, const struct fw_command *command);

/** Completion script of "bash", "zsh" or "fish", or "list": the bare option list. */
bool fw_completion_write(struct fw_out *out, const char *shell);

#endif
