#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "symfiles/loader.h"

static void on_sigbus(int number)
{
	static const char text[] = "framewalk: an input file was truncated while it was read\n";
	fw_output_abandon();
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(FW_EXIT_UNUSABLE);
	_exit(FW_EXIT_UNUSABLE);
}

static void on_interrupt(int number)
{
	fw_output_abandon();
	// SA_RESETHAND: dies of it, so that the caller's shell sees why.
	raise(number);
}

static void set_handler(int number, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction old;
	sigemptyset(&sa.sa_mask);
	// What nohup and background shells ignore stays ignored.
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	sigaction(number, &sa, NULL);
}

static void set_signals(void)
{
	set_handler(SIGPIPE, SIG_IGN, 0);	// writes fail with EPIPE instead
	set_handler(SIGBUS, on_sigbus, (int)SA_RESETHAND);
	set_handler(SIGINT, on_interrupt, (int)SA_RESETHAND);
	set_handler(SIGTERM, on_interrupt, (int)SA_RESETHAND);
	set_handler(SIGHUP, on_interrupt, (int)SA_RESETHAND);
}

/**
 * A descriptor 0, 1 or 2 that the caller closed must not become an input
 * file's. Opened so that using it fails as if it was closed.
 */
static void fill_standard_fds(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
			abort();
}

static int print(const struct fw_command *help_on)
{
	struct fw_output o;
	if (!fw_output_open(&o, NULL))
		return FW_EXIT_UNUSABLE;
	if (help_on != NULL)
		fw_help_write(&o.out, help_on);
	else
		fw_out_lit(&o.out, "framewalk " FW_VERSION "\n");
	return fw_output_close(&o, FW_EXIT_OK);
}

static int unknown_command(const char *name)
{
	const struct fw_command *near = fw_command_nearest(name);
	if (near != NULL)
		return fw_usage(NULL, "unknown command '%.200s', did you mean '%s'?", name,
				near->name);
	if (access(name, F_OK) == 0)
		return fw_usage(NULL, "unknown command '%.200s'; for the stacks of a capture: "
				"framewalk stack %.200s", name, name);
	return fw_usage(NULL, "unknown command '%.200s'; framewalk --help lists them", name);
}

static int run(const struct fw_command *command, int argc, char *const *argv)
{
	struct fw_args args;
	int status = FW_EXIT_USAGE;

	if (fw_args_parse(&args, command, argc, argv)) {
		const struct fw_opt_value *level = &args.value[FW_OPT_LOG_LEVEL];
		if (level->set)
			fw_log_set_level((enum fw_log_level)level->number);
		if (args.value[FW_OPT_HELP].set)
			status = print(command);
		else
			status = command->run(&args);
	}
	fw_args_deinit(&args);
	return status;
}

int main(int argc, char **argv)
{
	const struct fw_command *top = &fw_commands[FW_COMMAND_TOP];
	const struct fw_command *command;
	struct fw_args args;
	int first = 1;

	if (fw_loader_is_child(argc, argv))
		return fw_loader_main(argc, argv);
	int (*tool)(int, char **) = argc > 0 ? fw_protocol_of(argv[0]) : NULL;
	if (tool != NULL) {
		fill_standard_fds();
		set_signals();
		return tool(argc, argv);
	}
	fill_standard_fds();
	set_signals();

	while (first < argc && argv[first][0] == '-' && argv[first][1] != '\0')
		if (strcmp(argv[first++], "--") == 0)
			break;
	bool ok = fw_args_parse(&args, top, first > 1 ? first - 1 : 0, argv + 1);
	bool help = args.value[FW_OPT_HELP].set, version = args.value[FW_OPT_VERSION].set;
	fw_args_deinit(&args);
	if (!ok)
		return FW_EXIT_USAGE;
	if (help || version)
		return print(help ? top : NULL);
	if (first >= argc)
		return fw_usage(NULL, "no command given; framewalk --help lists them");

	command = fw_command_find(argv[first]);
	if (command == NULL)
		return unknown_command(argv[first]);
	return run(command, argc - first - 1, argv + first + 1);
}
