#include <assert.h>
#include <string.h>

#include "cmd/cmd.h"
#include "lib/base/limits.h"

#define ON(command) (1u << FW_COMMAND_##command)

enum { EVERY = (1 << FW_COMMAND_COUNT) - 1 };

#define SYMFILE_USERS (ON(STACK) | ON(SAMPLES) | ON(RULES) | ON(ADDR))
#define REPORTERS (ON(STACK) | ON(SAMPLES) | ON(RULES) | ON(INSPECT) | ON(ADDR) | ON(SYMS))

const struct fw_opt fw_opts[FW_OPT_COUNT] = {
	[FW_OPT_EXE] = { FW_OPT_EXE, 'e', "exe", "FILE", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .once = true, .commands = ON(ADDR),
		.help = "the ELF or symbol file that the addresses are of" },
	[FW_OPT_PROGRAM] = { FW_OPT_PROGRAM, 'e', "exe", "FILE", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .once = true, .commands = ON(STACK),
		.help = "the program that crashed, wherever it lies; used if its id\n"
			"is the capture's, or if the capture has none for its program" },
	[FW_OPT_SYMBOLS] = { FW_OPT_SYMBOLS, 's', "symbols", "PATH", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .repeats = true,
		.commands = ON(STACK) | ON(SAMPLES) | ON(ADDR) | ON(SYMS),
		.help = "symbols: a store (name/ID/name.sym), one file, or any folder of\n"
			"symbol files (.sym, .sym.gz, .sym.zst), programs, libraries and\n"
			"debug files; repeatable, the first match wins" },
	[FW_OPT_SYSROOT] = { FW_OPT_SYSROOT, 0, "sysroot", "DIR", FW_TYPE_TEXT,
		FW_COMPLETE_DIRS, .commands = SYMFILE_USERS,
		.help = "programs and libraries lie at their recorded paths below DIR,\n"
			"debug files in DIR/usr/lib/debug (default: /)" },
	[FW_OPT_FORMAT] = { FW_OPT_FORMAT, 0, "format", "FORMAT", FW_TYPE_CHOICE,
		FW_COMPLETE_WORDS, "text json ndjson machine", .commands = ON(STACK) | ON(ADDR),
		.help = "text (default), json, ndjson (one object a line and a capture)\n"
			"or machine (Breakpad's -m lines)" },
	[FW_OPT_SAMPLES_FORMAT] = { FW_OPT_SAMPLES_FORMAT, 0, "format", "FORMAT", FW_TYPE_CHOICE,
		FW_COMPLETE_WORDS, "folded perf json ndjson pprof firefox",
		.commands = ON(SAMPLES),
		.help = "folded (default: one line a distinct stack), perf (perf script's\n"
			"text), json (an object a distinct stack), ndjson (one a sample),\n"
			"pprof (profile.proto) or firefox (profiler.firefox.com)" },
	[FW_OPT_JSON] = { FW_OPT_JSON, 0, "json", .commands = REPORTERS,
		.help = "write one JSON object" },
	[FW_OPT_PRETTY] = { FW_OPT_PRETTY, 0, "pretty", .commands = REPORTERS,
		.help = "indent the JSON" },
	[FW_OPT_OUTPUT] = { FW_OPT_OUTPUT, 'o', "output", "FILE", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .commands = REPORTERS,
		.help = "write to FILE, which is replaced only when all is written" },
	[FW_OPT_STORE] = { FW_OPT_STORE, 0, "store", "DIR", FW_TYPE_TEXT,
		FW_COMPLETE_DIRS, .commands = ON(SYMS),
		.help = "dump: write DIR/name/ID/name.sym for each file" },
	[FW_OPT_NO_DEMANGLE] = { FW_OPT_NO_DEMANGLE, 0, "no-demangle",
		.commands = ON(SYMS) | ON(ADDR),
		.help = "names of functions as they stand in the ELF file" },
	[FW_OPT_JOBS] = { FW_OPT_JOBS, 'j', "jobs", "N", FW_TYPE_NUMBER,
		.min = 1, .max = 64, .commands = ON(STACK) | ON(SAMPLES) | ON(SYMS),
		.help = "captures or files worked on at once, 1 to 64 (default: one per CPU);\n"
			"the output is the same for any N" },
	[FW_OPT_THREADS] = { FW_OPT_THREADS, 0, "threads", "WHICH", FW_TYPE_THREADS,
		FW_COMPLETE_WORDS, "crashing all", .commands = ON(STACK),
		.help = "all (default), crashing, a thread id, or #N for the Nth from 0" },
	[FW_OPT_MAX_FRAMES] = { FW_OPT_MAX_FRAMES, 0, "max-frames", "N", FW_TYPE_NUMBER,
		.min = 1, .max = FW_MAX_FRAMES, .commands = ON(STACK) | ON(SAMPLES),
		.help = "frames walked in a thread, 1 to 1048576 (default)" },
	[FW_OPT_COMM] = { FW_OPT_COMM, 0, "comm", "NAME", FW_TYPE_TEXT,
		.commands = ON(SAMPLES),
		.help = "only samples of threads of that name" },
	[FW_OPT_PID] = { FW_OPT_PID, 0, "pid", "PID", FW_TYPE_NUMBER,
		.min = 0, .max = UINT32_MAX, .commands = ON(SAMPLES),
		.help = "only samples of that process" },
	[FW_OPT_TID] = { FW_OPT_TID, 0, "tid", "TID", FW_TYPE_NUMBER,
		.min = 0, .max = UINT32_MAX, .commands = ON(SAMPLES),
		.help = "only samples of that thread" },
	[FW_OPT_TIME] = { FW_OPT_TIME, 0, "time", "RANGE", FW_TYPE_TEXT,
		.commands = ON(SAMPLES),
		.help = "A,B: only samples from second A to second B of the recording's\n"
			"clock, as --format perf prints it; A or B may be left out" },
	[FW_OPT_EVENT] = { FW_OPT_EVENT, 0, "event", "NAME", FW_TYPE_TEXT,
		.commands = ON(SAMPLES),
		.help = "only samples of that event" },
	[FW_OPT_PER_THREAD] = { FW_OPT_PER_THREAD, 0, "per-thread", .commands = ON(SAMPLES),
		.help = "threads of one name are kept apart" },
	[FW_OPT_NO_INLINE] = { FW_OPT_NO_INLINE, 0, "no-inline", .commands = ON(SAMPLES),
		.help = "no frames for inlined calls" },
	[FW_OPT_KERNEL] = { FW_OPT_KERNEL, 0, "kernel", .commands = ON(SAMPLES),
		.help = "with the kernel's part of stacks (default)" },
	[FW_OPT_NO_KERNEL] = { FW_OPT_NO_KERNEL, 0, "no-kernel", .commands = ON(SAMPLES),
		.help = "without the kernel's part of stacks" },
	[FW_OPT_KALLSYMS] = { FW_OPT_KALLSYMS, 0, "kallsyms", "FILE", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .commands = ON(SAMPLES),
		.help = "names of the kernel (default: /proc/kallsyms)" },
	[FW_OPT_JIT] = { FW_OPT_JIT, 0, "jit", "PATH", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .commands = ON(SAMPLES),
		.help = "perf-PID.map or jit-PID.dump of a JIT, or a folder of them, where they\n"
			"are not as recorded" },
	[FW_OPT_VDSO] = { FW_OPT_VDSO, 0, "vdso", "FILE", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .commands = ON(SAMPLES),
		.help = "the recorded system's vDSO (default: the running system's)" },
	[FW_OPT_REPAIR] = { FW_OPT_REPAIR, 0, "repair", .commands = ON(SAMPLES),
		.help = "complete truncated stacks from the kernel's call chain or from older\n"
			"samples of the thread; their frames have trust \"repaired\"" },
	[FW_OPT_ANNOTATE] = { FW_OPT_ANNOTATE, 0, "annotate", .commands = ON(SAMPLES),
		.help = "folded: mark frames of the kernel _[k], inlined _[i], JIT _[j]" },
	[FW_OPT_WEIGHT] = { FW_OPT_WEIGHT, 0, "weight", .commands = ON(SAMPLES),
		.help = "folded: sums of periods instead of numbers of samples" },
	[FW_OPT_FLAMEGRAPH] = { FW_OPT_FLAMEGRAPH, 0, "flamegraph", "FILE", FW_TYPE_TEXT,
		FW_COMPLETE_FILES, .commands = ON(SAMPLES),
		.help = "write a flame graph page of one self-contained FILE" },
	[FW_OPT_DIFF] = { FW_OPT_DIFF, 0, "diff", .commands = ON(SAMPLES),
		.help = "compare two recordings, BEFORE and AFTER" },
	[FW_OPT_BRIEF] = { FW_OPT_BRIEF, 0, "brief", .commands = ON(STACK),
		.help = "only the header and the crashing thread" },
	[FW_OPT_SUMMARY] = { FW_OPT_SUMMARY, 0, "summary",
		.commands = ON(STACK) | ON(SAMPLES),
		.help = "only the ten fields a bot needs; of samples: what was unwound,\n"
			"what was lost, what lacks symbols" },
	[FW_OPT_REGISTERS] = { FW_OPT_REGISTERS, 0, "registers", .commands = ON(STACK),
		.help = "registers of every frame" },
	[FW_OPT_NO_FOLD] = { FW_OPT_NO_FOLD, 0, "no-fold", .commands = ON(STACK),
		.help = "print equal stacks and recursions in full (text)" },
	[FW_OPT_COLOR] = { FW_OPT_COLOR, 0, "color", "WHEN", FW_TYPE_CHOICE,
		FW_COMPLETE_WORDS, "auto always never", .commands = ON(STACK),
		.help = "auto (default: on a terminal, unless NO_COLOR is set), always,\n"
			"never" },
	[FW_OPT_CACHE] = { FW_OPT_CACHE, 0, "cache", "DIR", FW_TYPE_TEXT,
		FW_COMPLETE_DIRS, .commands = SYMFILE_USERS,
		.help = "compiled symbols are kept here (default:\n"
			"$XDG_CACHE_HOME/framewalk, else ~/.cache/framewalk)" },
	[FW_OPT_NO_CACHE] = { FW_OPT_NO_CACHE, 0, "no-cache", .commands = SYMFILE_USERS,
		.help = "keep and use no compiled symbols" },
	[FW_OPT_CACHE_SIZE] = { FW_OPT_CACHE_SIZE, 0, "cache-size", "BYTES", FW_TYPE_SIZE,
		.min = 0, .max = UINT64_C(1) << 50, .commands = SYMFILE_USERS,
		.help = "cap of the cache; K, M, G allowed (default 2G)" },
	[FW_OPT_LAZY] = { FW_OPT_LAZY, 0, "lazy", "WHEN", FW_TYPE_CHOICE,
		FW_COMPLETE_WORDS, "auto always never", .commands = ON(STACK) | ON(ADDR),
		.help = "read of an ELF file only what is asked, instead of compiling it all:\n"
			"auto (default: a large one, the first time), always, never" },
	[FW_OPT_LOG_LEVEL] = { FW_OPT_LOG_LEVEL, 0, "log-level", "LEVEL", FW_TYPE_CHOICE,
		FW_COMPLETE_WORDS, "error warn info debug", .commands = REPORTERS,
		.help = "what is told on standard error: error, warn (default), info,\n"
			"debug" },
	[FW_OPT_HELP] = { FW_OPT_HELP, 'h', "help", .commands = EVERY,
		.help = "print this help" },
	[FW_OPT_VERSION] = { FW_OPT_VERSION, 0, "version", .commands = ON(TOP),
		.help = "print the version" },
};

const struct fw_command fw_commands[FW_COMMAND_COUNT] = {
	[FW_COMMAND_TOP] = { FW_COMMAND_TOP, "framewalk", "COMMAND",
		"readable stacks from crash dumps",
		.complete = FW_COMPLETE_COMMANDS },
	[FW_COMMAND_STACK] = { FW_COMMAND_STACK, "stack", "CAPTURE...",
		"stacks of every thread of a crash dump, the crashing one first",
		"A CAPTURE is a minidump or an ELF core, plain or packed with gzip or zstd, a\n"
		"directory (searched for captures) or - for standard input. Several need text or\n"
		"ndjson.\n",
		"framewalk stack crash.dmp -s ./symbols\tevery thread, with names\n"
		"framewalk stack crash.dmp -s ./symbols --brief\tonly the crashing thread\n"
		"framewalk stack --json --pretty crash.dmp -s ./symbols\tthe same for scripts\n"
		"framewalk stack --format ndjson *.dmp dir/\ta capture, a line\n"
		"ssh host cat crash.dmp.gz | framewalk stack - --summary\tten fields\n",
		FW_COMPLETE_FILES, .run = fw_cmd_stack },
	[FW_COMMAND_SAMPLES] = { FW_COMMAND_SAMPLES, "samples", "RECORDING",
		"stacks of a profiler's samples (perf.data)",
		"A RECORDING is what perf record --call-graph dwarf wrote, also with -z or piped,\n"
		"or the directory of --threads; - is standard input.\n",
		"framewalk samples perf.data\tfolded stacks, ready for a flame graph\n"
		"framewalk samples perf.data --flamegraph out.html\tone self-contained page\n"
		"framewalk samples perf.data --format perf\tperf script's text\n"
		"framewalk samples perf.data --summary\twhat was unwound, what was lost\n"
		"perf record -o - --call-graph dwarf ./app | framewalk samples -\tpiped\n"
		"framewalk samples --diff before.data after.data\twhat changed\n",
		FW_COMPLETE_FILES, .run = fw_cmd_samples },
	[FW_COMMAND_RULES] = { FW_COMMAND_RULES, "rules", "SYMFILE ADDRESS...",
		"the unwind rule in force at an address of a symbol file",
		"ADDRESS is hexadecimal, as the symbol file counts; 0x may be left out.\n",
		"framewalk rules app.sym 0x1234\thow to unwind at 0x1234\n",
		FW_COMPLETE_FILES, .run = fw_cmd_rules },
	[FW_COMMAND_INSPECT] = { FW_COMMAND_INSPECT, "inspect", "CAPTURE",
		"what a capture holds: streams, threads, modules, memory",
		"A CAPTURE is a minidump or an ELF core, plain or packed with gzip or zstd, or -\n"
		"for standard input, or perf's recording: events, counts, files and their build\n"
		"ids. Nothing is unwound and no symbols are needed.\n",
		"framewalk inspect crash.dmp\twhat is in there\n"
		"framewalk inspect perf.data\tevents, samples, losses, files\n"
		"framewalk inspect --json crash.dmp\tthe same for scripts\n",
		FW_COMPLETE_FILES, .run = fw_cmd_inspect },
	[FW_COMMAND_ADDR] = { FW_COMMAND_ADDR, "addr", "-e FILE [ADDRESS]...",
		"function, inlined calls and source line of an address",
		"ADDRESS is hexadecimal, as the file was linked; 0x may be left out. Without any,\n"
		"they are read from standard input, one a line. Inlined calls come first.\n",
		"framewalk addr -e ./app 0x1234\twhat is at 0x1234\n"
		"framewalk addr -e ./app --format ndjson < addresses\tan object a line\n",
		FW_COMPLETE_FILES, .run = fw_cmd_addr },
	[FW_COMMAND_SYMS] = { FW_COMMAND_SYMS, "syms", "dump|check FILE...",
		"Breakpad symbol files from ELF files; what is wrong with symbol files",
		"dump writes each FILE, an ELF or symbol file, as a Breakpad symbol file; several\n"
		"need --store. check reads every symbol file in a FILE or below a folder and says\n"
		"what it holds and what is wrong with it.\n",
		"framewalk syms dump ./app -o app.sym\tone file\n"
		"framewalk syms dump --store ./symbols bin/*\tinto a store\n"
		"framewalk syms check ./symbols\tis it all usable?\n",
		FW_COMPLETE_FILES, .words = "dump check", .run = fw_cmd_syms },
	[FW_COMMAND_HELP] = { FW_COMMAND_HELP, "help", "[COMMAND]",
		"help on a command", "", .complete = FW_COMPLETE_COMMANDS, .run = fw_cmd_help },
	[FW_COMMAND_COMPLETION] = { FW_COMMAND_COMPLETION, "completion", "SHELL",
		"completion script for bash, zsh or fish",
		"Load it: eval \"$(framewalk completion bash)\". `list` prints the bare options.\n",
		NULL, FW_COMPLETE_WORDS, "bash zsh fish list", true, fw_cmd_completion },
};

static_assert(FW_MAX_FRAMES == 1048576, "the help of --max-frames says so");

bool fw_word_index(const char *words, const char *text, uint64_t *ret_index)
{
	size_t n = strlen(text);
	uint64_t i = 0;
	for (const char *p = words; *p; i++) {
		size_t w = strcspn(p, " ");
		if (w == n && memcmp(p, text, n) == 0) {
			*ret_index = i;
			return true;
		}
		p += w;
		p += *p == ' ';
	}
	return false;
}

const struct fw_command *fw_command_find(const char *name)
{
	for (int i = FW_COMMAND_TOP + 1; i < FW_COMMAND_COUNT; i++)
		if (strcmp(fw_commands[i].name, name) == 0)
			return &fw_commands[i];
	return NULL;
}
