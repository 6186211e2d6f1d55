// Completion scripts, from the tables in opts.c.
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"

/** Help on one line, inside single quotes; zsh also needs its own signs escaped. */
static void write_description(struct fw_out *out, const char *help, bool zsh)
{
	for (const char *p = help; *p; p++) {
		if (*p == '\n')
			fw_out_byte(out, ' ');
		else if (*p == '\'' && zsh)
			fw_out_lit(out, "'\\''");
		else if (*p == '\'')
			fw_out_lit(out, "\\'");
		else if (zsh && strchr("[]:\\", *p))
			fw_out_printf(out, "\\%c", *p);
		else
			fw_out_byte(out, *p);
	}
}

/** Visible commands' names, separated by blanks. */
static void write_command_names(struct fw_out *out)
{
	const char *blank = "";
	for (int i = FW_COMMAND_TOP + 1; i < FW_COMMAND_COUNT; i++) {
		if (fw_commands[i].hidden)
			continue;
		fw_out_printf(out, "%s%s", blank, fw_commands[i].name);
		blank = " ";
	}
}

static bool listed(const struct fw_command *c)
{
	return !c->hidden && c->id != FW_COMMAND_TOP;
}

// bash

static void bash_reply(struct fw_out *out, enum fw_complete complete, const char *words)
{
	switch (complete) {
	case FW_COMPLETE_FILES:
		fw_out_lit(out, "_framewalk_files -f");
		if (words != NULL)
			fw_out_printf(out, "; COMPREPLY+=($(compgen -W '%s' -- \"$cur\"))", words);
		break;
	case FW_COMPLETE_DIRS:
		fw_out_lit(out, "_framewalk_files -d");
		break;
	case FW_COMPLETE_WORDS:
		fw_out_printf(out, "COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", words);
		break;
	case FW_COMPLETE_COMMANDS:
		fw_out_lit(out, "COMPREPLY=($(compgen -W '");
		write_command_names(out);
		fw_out_lit(out, "' -- \"$cur\"))");
		break;
	case FW_COMPLETE_NONE:
		fw_out_lit(out, "COMPREPLY=()");
		break;
	}
}

static void bash_values(struct fw_out *out, const struct fw_command *c)
{
	for (int i = 0; i < FW_OPT_COUNT; i++) {
		const struct fw_opt *o = &fw_opts[i];
		if (!fw_opt_of(o, c) || o->arg == NULL)
			continue;
		fw_out_lit(out, "\t(");
		if (o->letter)
			fw_out_printf(out, "'%s -%c'|", c->name, o->letter);
		fw_out_printf(out, "'%s --%s') ", c->name, o->name);
		bash_reply(out, o->complete, o->words);
		fw_out_lit(out, "; return ;;\n");
	}
}

static void bash_operands(struct fw_out *out, const struct fw_command *c)
{
	const char *blank = "";
	fw_out_printf(out, "\t(%s)\n\t\tcase $cur in\n\t\t(-*) COMPREPLY=($(compgen -W '",
		      c->id == FW_COMMAND_TOP ? "''" : c->name);
	for (int i = 0; i < FW_OPT_COUNT; i++) {
		if (!fw_opt_of(&fw_opts[i], c))
			continue;
		fw_out_printf(out, "%s--%s", blank, fw_opts[i].name);
		blank = " ";
		if (fw_opts[i].letter)
			fw_out_printf(out, " -%c", fw_opts[i].letter);
	}
	fw_out_lit(out, "' -- \"$cur\")) ;;\n\t\t(*) ");
	bash_reply(out, c->complete, c->words);
	fw_out_lit(out, " ;;\n\t\tesac ;;\n");
}

static void write_bash(struct fw_out *out)
{
	fw_out_lit(out,
		"# bash completion for framewalk, made by `framewalk completion bash`\n"
		"_framewalk_files()\n"
		"{\n"
		"\tcompopt -o filenames\n"
		"\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
		"}\n"
		"_framewalk()\n"
		"{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} command='' i\n"
		"\tlocal prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\t# --name=value comes as three words\n"
		"\tif [ \"$cur\" = = ]; then\n"
		"\t\tcur=''\n"
		"\telif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
		"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
		"\tfi\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase ${COMP_WORDS[i]} in\n"
		"\t\t(-*) ;;\n"
		"\t\t(*) command=${COMP_WORDS[i]}; break ;;\n"
		"\t\tesac\n"
		"\tdone\n"
		"\tcase \"$command $prev\" in\n");
	for (int i = 0; i < FW_COMMAND_COUNT; i++)
		if (listed(&fw_commands[i]))
			bash_values(out, &fw_commands[i]);
	fw_out_lit(out, "\tesac\n\tcase $command in\n");
	for (int i = 0; i < FW_COMMAND_COUNT; i++)
		if (!fw_commands[i].hidden)
			bash_operands(out, &fw_commands[i]);
	fw_out_lit(out, "\tesac\n}\ncomplete -F _framewalk framewalk\n");
}

// zsh

static void zsh_action(struct fw_out *out, enum fw_complete complete, const char *words)
{
	switch (complete) {
	case FW_COMPLETE_FILES:
		fw_out_lit(out, "_files");
		break;
	case FW_COMPLETE_DIRS:
		fw_out_lit(out, "_files -/");
		break;
	case FW_COMPLETE_WORDS:
		fw_out_printf(out, "(%s)", words);
		break;
	case FW_COMPLETE_COMMANDS:
		fw_out_lit(out, "(");
		write_command_names(out);
		fw_out_lit(out, ")");
		break;
	case FW_COMPLETE_NONE:
		break;
	}
}

static void zsh_spec(struct fw_out *out, const struct fw_opt *o)
{
	const char *equals = o->arg ? "=" : "";
	fw_out_lit(out, " \\\n\t\t\t");
	if (o->repeats)
		fw_out_lit(out, "'*'");
	else if (o->letter)
		fw_out_printf(out, "'(-%c --%s)'", o->letter, o->name);
	if (o->letter)
		fw_out_printf(out, "{-%c%s,--%s%s}'[", o->letter, o->arg ? "+" : "", o->name,
			      equals);
	else
		fw_out_printf(out, "'--%s%s[", o->name, equals);
	write_description(out, o->help, true);
	fw_out_byte(out, ']');
	if (o->arg) {
		fw_out_printf(out, ":%s:", o->arg);
		zsh_action(out, o->complete, o->words);
	}
	fw_out_byte(out, '\'');
}

static void zsh_arguments(struct fw_out *out, const struct fw_command *c)
{
	fw_out_lit(out, "_arguments -S");
	for (int i = 0; i < FW_OPT_COUNT; i++)
		if (fw_opt_of(&fw_opts[i], c))
			zsh_spec(out, &fw_opts[i]);
	if (c->operands[0] && c->id != FW_COMMAND_TOP) {
		fw_out_lit(out, " \\\n\t\t\t'*:argument:");
		zsh_action(out, c->complete, c->words);
		fw_out_byte(out, '\'');
	}
	fw_out_byte(out, '\n');
}

static void write_zsh(struct fw_out *out)
{
	fw_out_lit(out,
		"#compdef framewalk\n"
		"# zsh completion for framewalk, made by `framewalk completion zsh`\n"
		"_framewalk() {\n"
		"\tlocal -a commands\n"
		"\tcommands=(\n");
	for (int i = 0; i < FW_COMMAND_COUNT; i++) {
		if (!listed(&fw_commands[i]))
			continue;
		fw_out_printf(out, "\t\t'%s:", fw_commands[i].name);
		write_description(out, fw_commands[i].summary, true);
		fw_out_lit(out, "'\n");
	}
	fw_out_lit(out,
		"\t)\n"
		"\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
		"\t\t_describe command commands\n"
		"\t\treturn\n"
		"\tfi\n"
		"\tlocal command=$words[2]\n"
		"\tif [[ $command != -* ]]; then\n"
		"\t\tshift words\n"
		"\t\t(( CURRENT-- ))\n"
		"\tfi\n"
		"\tcase $command in\n");
	for (int i = 0; i < FW_COMMAND_COUNT; i++) {
		const struct fw_command *c = &fw_commands[i];
		if (c->hidden)
			continue;
		fw_out_printf(out, "\t(%s)\n\t\t", c->id == FW_COMMAND_TOP ? "-*" : c->name);
		zsh_arguments(out, c);
		fw_out_lit(out, "\t\t;;\n");
	}
	fw_out_lit(out,
		"\tesac\n"
		"}\n"
		"if [[ $funcstack[1] == _framewalk ]]; then\n"
		"\t_framewalk \"$@\"\n"
		"else\n"
		"\tcompdef _framewalk framewalk\n"
		"fi\n");
}

// fish

static void fish_option(struct fw_out *out, const struct fw_command *c, const struct fw_opt *o)
{
	if (c->id == FW_COMMAND_TOP)
		fw_out_lit(out, "complete -c framewalk -n __fish_use_subcommand");
	else
		fw_out_printf(out, "complete -c framewalk -n '__fish_seen_subcommand_from %s'",
			      c->name);
	if (o->letter)
		fw_out_printf(out, " -s %c", o->letter);
	fw_out_printf(out, " -l %s", o->name);
	if (o->arg != NULL) {
		switch (o->complete) {
		case FW_COMPLETE_FILES:
			fw_out_lit(out, " -r -F");
			break;
		case FW_COMPLETE_DIRS:
			fw_out_lit(out, " -x -a '(__fish_complete_directories)'");
			break;
		case FW_COMPLETE_WORDS:
			fw_out_printf(out, " -x -a '%s'", o->words);
			break;
		case FW_COMPLETE_COMMANDS:
		case FW_COMPLETE_NONE:
			fw_out_lit(out, " -x");
			break;
		}
	}
	fw_out_lit(out, " -d '");
	write_description(out, o->help, false);
	fw_out_lit(out, "'\n");
}

static void fish_operands(struct fw_out *out, const struct fw_command *c)
{
	if (c->complete == FW_COMPLETE_FILES)
		fw_out_printf(out, "complete -c framewalk -n '__fish_seen_subcommand_from %s' -F\n",
			      c->name);
	if (c->complete != FW_COMPLETE_COMMANDS)
		return;
	fw_out_printf(out, "complete -c framewalk -n '__fish_seen_subcommand_from %s' -a '",
		      c->name);
	write_command_names(out);
	fw_out_lit(out, "'\n");
}

static void write_fish(struct fw_out *out)
{
	fw_out_lit(out, "# fish completion for framewalk, made by `framewalk completion fish`\n"
			"complete -c framewalk -f\n");
	for (int i = 0; i < FW_COMMAND_COUNT; i++) {
		const struct fw_command *c = &fw_commands[i];
		if (c->hidden)
			continue;
		if (listed(c)) {
			fw_out_lit(out, "complete -c framewalk -n __fish_use_subcommand");
			fw_out_printf(out, " -a %s -d '", c->name);
			write_description(out, c->summary, false);
			fw_out_lit(out, "'\n");
			fish_operands(out, c);
		}
		for (int k = 0; k < FW_OPT_COUNT; k++)
			if (fw_opt_of(&fw_opts[k], c))
				fish_option(out, c, &fw_opts[k]);
	}
}

/** "command --name -x ARG" a line: what the tests compare all the others with. */
static void write_list(struct fw_out *out)
{
	for (int i = 0; i < FW_COMMAND_COUNT; i++) {
		const struct fw_command *c = &fw_commands[i];
		for (int k = 0; k < FW_OPT_COUNT && !c->hidden; k++) {
			const struct fw_opt *o = &fw_opts[k];
			if (!fw_opt_of(o, c))
				continue;
			fw_out_printf(out, "%s --%s", c->name, o->name);
			if (o->letter)
				fw_out_printf(out, " -%c", o->letter);
			if (o->arg)
				fw_out_printf(out, " %s", o->arg);
			fw_out_byte(out, '\n');
		}
	}
}

bool fw_completion_write(struct fw_out *out, const char *shell)
{
	static void (*const writers[])(struct fw_out *) = {
		write_bash, write_zsh, write_fish, write_list,
	};
	uint64_t which;
	if (!fw_word_index(fw_commands[FW_COMMAND_COMPLETION].words, shell, &which))
		return false;
	writers[which](out);
	return true;
}

int fw_cmd_completion(const struct fw_args *args)
{
	struct fw_output o;

	if (args->operands.count != 1)
		return fw_usage("completion", "takes one of: bash, zsh, fish");
	if (!fw_output_open(&o, NULL))
		return FW_EXIT_UNUSABLE;
	if (!fw_completion_write(&o.out, args->operands.data[0])) {
		int status = fw_usage("completion", "takes one of: bash, zsh, fish; not '%.200s'",
				      args->operands.data[0]);
		return fw_output_close(&o, status);
	}
	return fw_output_close(&o, FW_EXIT_OK);
}
