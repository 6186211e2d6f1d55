// --help, from the tables in opts.c.
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"

enum { HELP_COLUMN = 27 };

static void write_spaces(struct fw_out *out, size_t n)
{
	while (n-- > 0)
		fw_out_byte(out, ' ');
}

/** @p text line by line, the first at @p column, the others indented to HELP_COLUMN. */
static void write_column(struct fw_out *out, size_t column, const char *text)
{
	if (column + 1 > HELP_COLUMN) {
		fw_out_byte(out, '\n');
		column = 0;
	}
	for (;;) {
		size_t n = strcspn(text, "\n");
		write_spaces(out, HELP_COLUMN - column);
		fw_out_write(out, text, n);
		fw_out_byte(out, '\n');
		if (text[n] == '\0')
			return;
		text += n + 1;
		column = 0;
	}
}

static void write_options(struct fw_out *out, const struct fw_command *command)
{
	fw_out_lit(out, "\nOptions:\n");
	for (int i = 0; i < FW_OPT_COUNT; i++) {
		const struct fw_opt *o = &fw_opts[i];
		size_t column = 8 + strlen(o->name) + (o->arg ? 1 + strlen(o->arg) : 0);
		if (!fw_opt_of(o, command))
			continue;
		if (o->letter)
			fw_out_printf(out, "  -%c, --%s", o->letter, o->name);
		else
			fw_out_printf(out, "      --%s", o->name);
		if (o->arg)
			fw_out_printf(out, " %s", o->arg);
		write_column(out, column, o->help);
	}
}

static void write_examples(struct fw_out *out, const char *text)
{
	if (text == NULL)
		return;
	fw_out_lit(out, "\nExamples:\n");
	while (*text) {
		size_t n = strcspn(text, "\t");
		size_t m = strcspn(text + n + 1, "\n");
		fw_out_lit(out, "  ");
		fw_out_write(out, text, n);
		fw_out_lit(out, "\n      ");
		fw_out_write(out, text + n + 1, m);
		fw_out_lit(out, "\n");
		text += n + 1 + m + 1;
	}
}

static void write_top(struct fw_out *out, const struct fw_command *top)
{
	fw_out_printf(out, "framewalk: %s\n\n", top->summary);
	fw_out_lit(out, "Usage: framewalk COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n");
	for (int i = FW_COMMAND_TOP + 1; i < FW_COMMAND_COUNT; i++) {
		const struct fw_command *c = &fw_commands[i];
		if (!c->hidden)
			fw_out_printf(out, "  %-10s %s\n", c->name, c->summary);
	}
	write_options(out, top);
	fw_out_lit(out, "\n`framewalk COMMAND --help` says more of each.\n"
			"Exit status: 0 all reports written, 1 some input unusable, 2 usage.\n");
}

void fw_help_write(struct fw_out *out, const struct fw_command *command)
{
	if (command->id == FW_COMMAND_TOP) {
		write_top(out, command);
		return;
	}
	fw_out_printf(out, "Usage: framewalk %s [OPTION]... %s\n\n", command->name,
		      command->operands);
	fw_out_printf(out, "%s\n", command->summary);
	if (command->about[0])
		fw_out_printf(out, "\n%s", command->about);
	write_options(out, command);
	write_examples(out, command->examples);
}

int fw_cmd_help(const struct fw_args *args)
{
	const struct fw_command *about = &fw_commands[FW_COMMAND_TOP];
	struct fw_output o;

	if (args->operands.count > 1)
		return fw_usage("help", "takes one command");
	if (args->operands.count == 1) {
		const char *name = args->operands.data[0];
		about = fw_command_find(name);
		if (about == NULL)
			return fw_usage("help", "unknown command '%.200s'", name);
	}
	if (!fw_output_open(&o, NULL))
		return FW_EXIT_UNUSABLE;
	fw_help_write(&o.out, about);
	return fw_output_close(&o, FW_EXIT_OK);
}
