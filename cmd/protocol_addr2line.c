#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/frames_at.h"
#include "cmd/line_input.h"
#include "cmd/output.h"
#include "cmd/symbol_options.h"
#include "lib/base/file.h"

// The command line and answers of binutils' addr2line, when called by its name.

struct addr2line {
	const char *name;		// as called, for messages
	const char *exe, *section;
	bool addresses, functions, inlines, pretty, basenames, demangle;
	uint64_t section_start;
	unsigned digits;
	const struct fw_symbol_file *file;
	struct fw_answer_at answer;
	struct fw_out *out;
};

int (*fw_protocol_of(const char *argv0))(int argc, char **argv)
{
	struct fw_str base = fw_base_name((struct fw_str){ argv0, strlen(argv0) });
	static const char tool[] = "addr2line";
	// also x86_64-linux-gnu-addr2line, llvm-symbolizer-14
	if (base.n >= sizeof(tool) - 1 && strcmp(base.s + base.n - (sizeof(tool) - 1), tool) == 0)
		return fw_protocol_addr2line;
	if (strncmp(base.s, "llvm-symbolizer", 15) == 0)
		return fw_protocol_symbolizer;
	return NULL;
}

/** @p discriminator: the innermost frame's, which the tool repeats at its callers. */
static void put_place(const struct addr2line *a, const struct fw_frame_at *f,
		      uint32_t discriminator)
{
	struct fw_out *out = a->out;
	if (f->file.s == NULL) {
		// of a local symbol its table says the file
		fw_out_str(out, a->answer.is_public && f->start_file.n ? f->start_file :
					FW_STR("??"));
		fw_out_lit(out, ":?");
	} else {
		struct fw_str file = a->basenames ? fw_base_name(f->file) : f->file;
		fw_out_str(out, file);
		fw_out_byte(out, ':');
		if (f->line)
			fw_out_dec(out, f->line);
		else
			fw_out_byte(out, '?');
		if (f->line && discriminator)
			fw_out_printf(out, " (discriminator %u)", discriminator);
	}
	fw_out_byte(out, '\n');
}

static void put_function(const struct addr2line *a, const struct fw_frame_at *f)
{
	if (!a->functions)
		return;
	if (f->function.n)
		fw_out_str(a->out, f->function);
	else
		fw_out_lit(a->out, "??");
	fw_out_cstr(a->out, a->pretty ? " at " : "\n");
}

static void answer(struct addr2line *a, const char *text)
{
	struct fw_out *out = a->out;
	uint64_t address = strtoull(text, NULL, 16);	// what is no number is 0
	struct fw_answer_at *r = &a->answer;

	if (a->addresses) {
		fw_out_lit(out, "0x");
		fw_out_hex(out, address, a->digits);
		fw_out_cstr(out, a->pretty ? ": " : "\n");
	}
	fw_frames_at(a->file, address + a->section_start, r);
	if (!r->known) {
		if (a->functions)
			fw_out_cstr(out, a->pretty ? "?? " : "??\n");
		fw_out_lit(out, "??:0\n");
		return;
	}
	if (!a->inlines)
		r->count = 1;
	for (uint32_t i = 0; i < r->count; i++) {
		if (i > 0 && a->pretty)
			fw_out_lit(out, " (inlined by) ");
		put_function(a, &r->frames[i]);
		put_place(a, &r->frames[i], r->frames[0].discriminator);
	}
}

static int usage(const struct addr2line *a, FILE *to, int status)
{
	fprintf(to, "Usage: %s [option(s)] [addr(s)]\n"
		" Convert addresses into line number/file name pairs.\n"
		" If no addresses are specified on the command line, they will be read from stdin\n"
		" The options are:\n"
		"  @<file>                Read options from <file>\n"
		"  -a --addresses         Show addresses\n"
		"  -b --target=<bfdname>  Accepted and ignored\n"
		"  -e --exe=<executable>  Set the input file name (default is a.out)\n"
		"  -i --inlines           Unwind inlined functions\n"
		"  -j --section=<name>    Read section-relative offsets instead of addresses\n"
		"  -p --pretty-print      Make the output easier to read for humans\n"
		"  -s --basenames         Strip directory names\n"
		"  -f --functions         Show function names\n"
		"  -C --demangle[=style]  Demangle function names\n"
		"  -R, -r                 Accepted and ignored\n"
		"  -h --help              Display this information\n"
		"  -v --version           Display the program's version\n\n", a->name);
	return status;
}

static const struct option long_options[] = {
	{ "addresses", no_argument, NULL, 'a' }, { "target", required_argument, NULL, 'b' },
	{ "exe", required_argument, NULL, 'e' }, { "inlines", no_argument, NULL, 'i' },
	{ "section", required_argument, NULL, 'j' }, { "pretty-print", no_argument, NULL, 'p' },
	{ "basenames", no_argument, NULL, 's' }, { "functions", no_argument, NULL, 'f' },
	{ "demangle", optional_argument, NULL, 'C' }, { "recurse-limit", no_argument, NULL, 'R' },
	{ "recursion-limit", no_argument, NULL, 'R' },
	{ "no-recurse-limit", no_argument, NULL, 'r' },
	{ "no-recursion-limit", no_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

/** -1: go on; else the exit status. */
static int read_options(struct addr2line *a, int argc, char **argv)
{
	int c;
	while ((c = getopt_long(argc, argv, "ab:Ce:rRsfHhij:pVv", long_options, NULL)) >= 0) {
		switch (c) {
		case 'a': a->addresses = true; break;
		case 'C': a->demangle = !optarg || strcmp(optarg, "none") != 0; break;
		case 'e': a->exe = optarg; break;
		case 's': a->basenames = true; break;
		case 'f': a->functions = true; break;
		case 'i': a->inlines = true; break;
		case 'j': a->section = optarg; break;
		case 'p': a->pretty = true; break;
		case 'b': case 'r': case 'R': break;
		case 'v': case 'V':
			printf("addr2line (framewalk) %s\n", FW_VERSION);
			return FW_EXIT_OK;
		case 'h': case 'H':
			return usage(a, stdout, FW_EXIT_OK);
		default:
			return usage(a, stderr, 1);
		}
	}
	return -1;
}

/** The file and its section; complains as the tool does. */
static bool open_exe(struct addr2line *a, struct fw_symbols *symbols)
{
	struct stat st;
	struct fw_error err;
	fflush(stdout);
	if (stat(a->exe, &st) < 0) {
		fprintf(stderr, "%s: '%s': %s\n", a->name, a->exe,
			errno == ENOENT ? "No such file" : strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		fprintf(stderr, "%s: Warning: '%s' is %s\n", a->name, a->exe,
			S_ISDIR(st.st_mode) ? "a directory" : "not an ordinary file");
		return false;
	}
	enum fw_code code = fw_symbols_open_names(symbols, a->exe, &a->file, &err);
	if (code != FW_OK) {
		fprintf(stderr, "%s: %s: %s\n", a->name, a->exe,
			code == FW_UNSUPPORTED ? "file format not recognized" : err.message);
		return false;
	}
	a->digits = fw_cpu_get(a->file->image->cpu)->word_size * 2;
	if (a->section) {
		struct fw_elf *elf = NULL;
		struct fw_bytes bytes;
		bool ok = fw_elf_open(a->exe, &elf, NULL) == FW_OK &&
			  fw_elf_section(elf, a->section, &bytes, &a->section_start);
		if (ok)
			a->section_start -= fw_elf_base(elf) - fw_elf_shown_base(elf);
		fw_elf_close(elf);
		if (!ok)
			fprintf(stderr, "%s: %s: cannot find section %s\n", a->name, a->exe,
				a->section);
		return ok;
	}
	return true;
}

/** Split the text of an @file at blanks; quotes and backslashes as libiberty has them. */
static bool split(char *text, char ***argv, int *argc)
{
	char *to = text, *p = text, quote = 0;
	while (*p) {
		while (*p && strchr(" \t\n\r\f\v", *p))
			p++;
		if (!*p)
			break;
		char *word = to, **grown = realloc(*argv, ((size_t)*argc + 2) * sizeof(*grown));
		if (grown == NULL)
			return false;
		*argv = grown;
		for (; *p && (quote || !strchr(" \t\n\r\f\v", *p)); p++) {
			if (*p == '\\' && p[1])
				*to++ = *++p;
			else if (quote ? *p == quote : *p == '"' || *p == '\'')
				quote = quote ? 0 : *p;
			else
				*to++ = *p;
		}
		if (*p)
			p++;
		*to++ = '\0';
		(*argv)[(*argc)++] = word;
	}
	return true;
}

/** Replace @file words by what is in the file; an unreadable one stays. Never freed. */
static bool expand(int *argc, char ***argv)
{
	char **words = calloc((size_t)*argc + 1, sizeof(*words));
	int n = 0;
	if (words == NULL)
		return false;
	for (int i = 0; i < *argc; i++) {
		struct fw_file file;
		char **grown = realloc(words, ((size_t)n + 2 + (size_t)*argc) * sizeof(*words));
		if (grown == NULL)
			return false;
		words = grown;
		if (i > 0 && (*argv)[i][0] == '@' &&
		    fw_file_open(&file, (*argv)[i] + 1, FW_MAX_SYM_LINE, NULL) == FW_OK) {
			char *text = strndup((const char *)file.data, file.size);
			fw_file_close(&file);
			if (text == NULL || !split(text, &words, &n))
				return false;
		} else {
			words[n++] = (*argv)[i];
		}
	}
	words[n] = NULL;
	*argc = n;
	*argv = words;
	return true;
}

/** What is asked on the command line is asked of a lazily read file at once. */
static void ask_ahead(const struct addr2line *a, int argc, char **argv)
{
	FW_VEC(uint32_t) offsets = { 0 };
	uint32_t offset;
	if (a->file->lazy == NULL)
		return;
	for (int i = 0; i < argc; i++)
		if (fw_offset_in(a->file, strtoull(argv[i], NULL, 16) + a->section_start, &offset))
			(void)fw_vec_push(&offsets, offset);
	fw_lazy_prefetch(a->file->lazy, offsets.data, offsets.count);
	fw_vec_deinit(&offsets);
}

static int run(struct addr2line *a, int argc, char **argv, struct fw_symbols *symbols)
{
	struct fw_line_input in = { 0 };
	struct fw_output o;
	char *line;
	if (!open_exe(a, symbols) || !fw_output_open(&o, NULL))
		return FW_EXIT_UNUSABLE;
	a->out = &o.out;
	ask_ahead(a, argc, argv);
	for (int i = 0; i < argc; i++)
		answer(a, argv[i]);
	while (argc == 0 && fw_line_input_next(&in, a->out, &line))
		answer(a, line);
	fw_line_input_deinit(&in);
	return fw_output_close(&o, FW_EXIT_OK);
}

int fw_protocol_addr2line(int argc, char **argv)
{
	static struct addr2line a;
	struct fw_symbols *symbols;
	a = (struct addr2line){ .name = argv[0], .exe = "a.out" };
	if (!expand(&argc, &argv))
		return FW_EXIT_UNUSABLE;
	int status = read_options(&a, argc, argv);
	if (status >= 0)
		return status;
	if (!fw_symbols_of_details(!a.demangle, &symbols))
		return FW_EXIT_UNUSABLE;
	status = run(&a, argc - optind, argv + optind, symbols);
	fw_symbols_destroy(symbols);
	return status;
}
