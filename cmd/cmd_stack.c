#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/batch.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/symbol_options.h"

static enum fw_format format_of(const struct fw_args *args)
{
	if (args->value[FW_OPT_JSON].set)
		return FW_FORMAT_JSON;
	if (args->value[FW_OPT_FORMAT].set)
		return (enum fw_format)args->value[FW_OPT_FORMAT].number;
	return FW_FORMAT_TEXT;
}

/** Options that together ask for what cannot be. */
static bool check_combination(const struct fw_args *args, enum fw_format format)
{
	const struct fw_opt_value *v = args->value;
	const char *name = args->command->name;

	if (args->operands.count == 0)
		fw_usage(name, "no capture given; framewalk stack --help says how");
	else if (v[FW_OPT_PRETTY].set && format != FW_FORMAT_JSON)
		fw_usage(name, "--pretty needs --json");
	else if (v[FW_OPT_SUMMARY].set && format == FW_FORMAT_MACHINE)
		fw_usage(name, "--summary has no machine format");
	else if (v[FW_OPT_REGISTERS].set && format == FW_FORMAT_MACHINE)
		fw_usage(name, "--registers has no machine format");
	else if (v[FW_OPT_REGISTERS].set && v[FW_OPT_SUMMARY].set)
		fw_usage(name, "--summary has no registers");
	else
		return true;
	return false;
}

/** Replacing the capture by its own report would lose the crash. */
static bool is_input(const char *path, const struct fw_inputs *in)
{
	struct stat out, st;
	if (path == NULL || stat(path, &out) != 0)
		return false;
	for (size_t i = 0; i < in->list.count; i++)
		if (stat(in->list.data[i].path, &st) == 0 && st.st_dev == out.st_dev &&
		    st.st_ino == out.st_ino)
			return true;
	return false;
}

static bool check_inputs(const struct fw_args *args, const struct fw_inputs *in,
			 enum fw_format format)
{
	size_t stdins = 0;
	for (size_t i = 0; i < args->operands.count; i++)
		stdins += strcmp(args->operands.data[i], "-") == 0;
	if (stdins > 1) {
		fw_usage(args->command->name, "standard input can be read only once");
		return false;
	}
	if (is_input(args->value[FW_OPT_OUTPUT].text, in)) {
		fw_usage(args->command->name, "--output would replace a capture: '%.200s'",
			 args->value[FW_OPT_OUTPUT].text);
		return false;
	}
	if (in->several && (format == FW_FORMAT_JSON || format == FW_FORMAT_MACHINE)) {
		fw_usage(args->command->name, "several captures need --format ndjson or text");
		return false;
	}
	return true;
}

static void read_threads(const struct fw_args *args, struct fw_batch_options *o)
{
	static const enum fw_thread_choice choices[] = {
		[FW_THREAD_CRASHING] = FW_THREADS_CRASHING, [FW_THREAD_ALL] = FW_THREADS_ALL,
		[FW_THREAD_ID] = FW_THREADS_ID, [FW_THREAD_INDEX] = FW_THREADS_INDEX,
	};
	const struct fw_opt_value *v = &args->value[FW_OPT_THREADS];
	if (v->set) {
		o->report.choice = choices[v->word];
		o->report.chosen = v->number;
	} else {
		o->report.choice = FW_THREADS_ALL;
		// Nothing else is printed, so nothing else need be walked.
		o->crashing_only = args->value[FW_OPT_BRIEF].set ||
				   args->value[FW_OPT_SUMMARY].set;
	}
}

/** Color on a terminal that understands it, unless the user says (no-color.org). */
static bool use_color(const struct fw_args *args, bool terminal)
{
	enum { AUTO, ALWAYS, NEVER };
	const struct fw_opt_value *v = &args->value[FW_OPT_COLOR];
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	if (v->set && v->number != AUTO)
		return v->number == ALWAYS;
	return terminal && (no_color == NULL || *no_color == '\0') &&
	       term != NULL && strcmp(term, "dumb") != 0;
}

static struct fw_batch_options read_options(const struct fw_args *args, enum fw_format format,
					    const struct fw_inputs *in, bool terminal)
{
	const struct fw_opt_value *v = args->value;
	struct fw_batch_options o = {
		.format = format,
		.pretty = v[FW_OPT_PRETTY].set,
		.program = v[FW_OPT_PROGRAM].text,
		.summary = v[FW_OPT_SUMMARY].set,
		.headers = in->several,
		.text.brief = v[FW_OPT_BRIEF].set,
		.text.fold = !v[FW_OPT_NO_FOLD].set,
		.text.registers = v[FW_OPT_REGISTERS].set,
		.text.color = use_color(args, terminal),
		.report.registers = v[FW_OPT_REGISTERS].set,
		.report.max_frames = FW_MAX_FRAMES,
		.jobs = (unsigned)v[FW_OPT_JOBS].number,
	};
	if (v[FW_OPT_MAX_FRAMES].set)
		o.report.max_frames = (uint32_t)v[FW_OPT_MAX_FRAMES].number;
	read_threads(args, &o);
	return o;
}

static int report_all(const struct fw_args *args, const struct fw_inputs *in,
		      enum fw_format format)
{
	struct fw_symbols *symbols;
	struct fw_output output;
	const char *program = args->value[FW_OPT_PROGRAM].text;
	bool no_program = program != NULL && !fw_path_is_there(program, "the program");
	int status = fw_symbol_paths_are_there(args) && !no_program ? FW_EXIT_OK : FW_EXIT_UNUSABLE;

	if (!fw_symbols_of_captures(args, in->several, &symbols))
		return FW_EXIT_UNUSABLE;
	if (fw_output_open(&output, args->value[FW_OPT_OUTPUT].text)) {
		struct fw_batch_options o = read_options(args, format, in, output.terminal);
		if (no_program)
			o.program = NULL;
		if (!fw_batch_run(in, symbols, &o, &output.out))
			status = FW_EXIT_UNUSABLE;
		status = fw_output_close(&output, status);
	} else {
		status = FW_EXIT_UNUSABLE;
	}
	fw_symbols_destroy(symbols);
	return status;
}

int fw_cmd_stack(const struct fw_args *args)
{
	enum fw_format format = format_of(args);
	struct fw_inputs in;
	struct fw_error err;
	int status = FW_EXIT_USAGE;

	if (!check_combination(args, format))
		return FW_EXIT_USAGE;
	if (fw_inputs_expand(&in, args->operands.data, args->operands.count, &err) != FW_OK) {
		fw_complain(NULL, &err);
		status = FW_EXIT_UNUSABLE;
	} else if (check_inputs(args, &in, format)) {
		if (in.skipped > 0)
			fw_log(FW_LOG_INFO, NULL, "files that are no captures, skipped: %llu",
			       (unsigned long long)in.skipped);
		status = report_all(args, &in, format);
	}
	fw_inputs_deinit(&in);
	return status;
}
