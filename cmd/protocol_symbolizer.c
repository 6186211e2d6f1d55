#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/frames_at.h"
#include "cmd/line_input.h"
#include "cmd/output.h"
#include "cmd/symbol_options.h"
#include "lib/base/json.h"

// The input lines and answers of llvm-symbolizer, when called by its name. Symbol
// files hold no columns and discriminators: they are 0.

enum style { STYLE_LLVM, STYLE_GNU, STYLE_JSON };

struct symbolizer {
	enum style style;
	const char *obj;
	bool inlines, functions, addresses, pretty, basenames;
	struct fw_symbols *symbols;
	struct fw_answer_at answer;
	struct fw_out *out;
};

static struct fw_str file_of(const struct symbolizer *s, const struct fw_frame_at *f)
{
	if (f->file.s == NULL)
		return (struct fw_str){ "", 0 };
	return s->basenames ? fw_base_name(f->file) : f->file;
}

static void put_frame(const struct symbolizer *s, const struct fw_frame_at *f, bool inlined)
{
	struct fw_out *out = s->out;
	struct fw_str file = file_of(s, f);
	if (inlined && s->pretty)
		fw_out_lit(out, " (inlined by) ");
	if (s->functions) {
		fw_out_str(out, f->function.n ? f->function : FW_STR("??"));
		fw_out_cstr(out, s->pretty ? " at " : "\n");
	}
	fw_out_str(out, file.n ? file : FW_STR("??"));
	fw_out_printf(out, s->style == STYLE_LLVM ? ":%u:0\n" : ":%u\n", f->line);
}

static void put_json_frame(const struct symbolizer *s, struct fw_json *j,
			   const struct fw_frame_at *f, bool outermost)
{
	char start[32] = "";
	bool has_start = outermost && s->answer.known && !s->answer.is_public;
	if (has_start)
		snprintf(start, sizeof(start), "0x%llx", (unsigned long long)s->answer.start);
	fw_json_begin_object(j);
	fw_json_key(j, "Column"), fw_json_u64(j, 0);
	fw_json_key(j, "Discriminator"), fw_json_u64(j, 0);
	fw_json_key(j, "FileName"), fw_json_str(j, file_of(s, f));
	fw_json_key(j, "FunctionName");
	fw_json_str(j, f->function.n && s->functions ? f->function : FW_STR(""));
	fw_json_key(j, "Line"), fw_json_u64(j, f->line);
	fw_json_key(j, "StartAddress"), fw_json_cstr(j, start);
	fw_json_key(j, "StartFileName"), fw_json_cstr(j, "");
	fw_json_key(j, "StartLine"), fw_json_u64(j, 0);
	fw_json_end_object(j);
}

static void put_json(struct symbolizer *s, struct fw_json *j, const char *module,
		     uint64_t address, const char *error)
{
	char text[32];
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	fw_json_begin_object(j);
	fw_json_key(j, "Address"), fw_json_cstr(j, text);
	if (error != NULL) {
		fw_json_key(j, "Error");
		fw_json_begin_object(j);
		fw_json_key(j, "Message"), fw_json_cstr(j, error);
		fw_json_end_object(j);
	}
	fw_json_key(j, "ModuleName"), fw_json_cstr(j, module);
	if (error == NULL) {
		fw_json_key(j, "Symbol");
		fw_json_begin_array(j);
		for (uint32_t i = 0; i < s->answer.count; i++)
			put_json_frame(s, j, &s->answer.frames[i], i + 1 == s->answer.count);
		fw_json_end_array(j);
	}
	fw_json_end_object(j);
}

/** Answer one query; @p j NULL: a JSON document of its own where JSON is the style. */
static void answer(struct symbolizer *s, const char *module, uint64_t address, struct fw_json *j)
{
	const struct fw_symbol_file *file;
	struct fw_answer_at *a = &s->answer;
	struct fw_error err;
	struct stat st;
	const char *error = NULL;
	if (stat(module, &st) != 0)
		error = "No such file or directory";
	else if (fw_symbols_open_names(s->symbols, module, &file, &err) != FW_OK)
		error = err.message;
	a->known = false;
	a->count = 0;
	if (error == NULL)
		fw_frames_at(file, address, a);
	if (a->count == 0)	// a query always has an answer
		a->frames[a->count++] = (struct fw_frame_at){ .have_line = false };
	if (!s->inlines) {
		a->frames[0].function = a->frames[a->count - 1].function;
		a->count = 1;
	}
	if (s->style == STYLE_JSON) {
		struct fw_json own;
		fw_json_init(&own, s->out, false);
		put_json(s, j ? j : &own, module, address, error);
		if (j == NULL)
			fw_json_finish(&own);
		return;
	}
	if (error != NULL)
		fprintf(stderr, "LLVMSymbolizer: error reading file: %s\n", error);
	if (s->addresses)
		fw_out_printf(s->out, s->pretty ? "0x%llx: " : "0x%llx\n",
			      (unsigned long long)address);
	for (uint32_t i = 0; i < a->count; i++)
		put_frame(s, &a->frames[i], i > 0);
	if (s->style == STYLE_LLVM)
		fw_out_byte(s->out, '\n');
}

/** `[CODE] [module] address`; false: no query, which is echoed. */
static bool parse_query(const struct symbolizer *s, char *line, const char **module,
			uint64_t *address)
{
	char *p = line + strspn(line, " \t"), *end, quote;
	if (strncmp(p, "CODE ", 5) == 0)
		p += 5;
	p += strspn(p, " \t");
	*module = s->obj;
	if (s->obj == NULL) {
		quote = *p;
		if (quote == '"' || quote == '\'') {
			end = strchr(++p, quote);
		} else {
			end = p + strcspn(p, " \t");
		}
		if (end == NULL || end == p || *end == '\0')
			return false;
		*end = '\0';
		*module = p;
		p = end + 1;
		p += strspn(p, " \t");
	}
	p[strcspn(p, " \t\r")] = '\0';
	bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
	*address = strtoull(p + (hex ? 2 : 0), &end, hex ? 16 : 10);
	return *p != '\0' && *end == '\0' && end > p + (hex ? 2 : 0);
}

static void answer_line(struct symbolizer *s, char *line, struct fw_json *j)
{
	char *copy = strdup(line);
	const char *module;
	uint64_t address;
	line[strcspn(line, "\r")] = '\0';
	if (copy != NULL && parse_query(s, copy, &module, &address))
		answer(s, module, address, j);
	else
		fw_out_printf(s->out, "%s\n", line);
	free(copy);
}

/** Value of "--name=value" or of "-name value"; NULL: another option. */
static const char *value_of(const char *word, const char *name)
{
	size_t n = strlen(name);
	word += word[1] == '-' ? 2 : 1;
	if (strncmp(word, name, n) != 0 || (word[n] && word[n] != '='))
		return NULL;
	return word[n] ? word + n + 1 : "";
}

static bool is_flag(const char *word, const char *name)
{
	word += word[1] == '-' ? 2 : 1;
	return strcmp(word, name) == 0;
}

/** One option; *i moves past a value of its own. False: nobody knows it. */
static bool take_option(struct symbolizer *s, int argc, char **argv, int *i, bool *raw)
{
	const char *w = argv[*i], *v;
	if ((v = value_of(w, "obj")) || (v = value_of(w, "exe")) || (v = value_of(w, "e"))) {
		s->obj = *v || *i + 1 >= argc ? v : argv[++*i];
	} else if ((v = value_of(w, "output-style"))) {
		s->style = strcmp(v, "GNU") == 0 ? STYLE_GNU :
			   strcmp(v, "JSON") == 0 ? STYLE_JSON : STYLE_LLVM;
	} else if ((v = value_of(w, "functions"))) {
		s->functions = strcmp(v, "none") != 0;
	} else if ((v = value_of(w, "inlining")) || (v = value_of(w, "inlines"))) {
		s->inlines = strcmp(v, "false") != 0 && strcmp(v, "0") != 0;
	} else if ((v = value_of(w, "demangle"))) {
		*raw = strcmp(v, "false") == 0 || strcmp(v, "0") == 0;
	} else if (is_flag(w, "no-inlines") || is_flag(w, "no-inlining")) {
		s->inlines = false;
	} else if (is_flag(w, "i")) {
		s->inlines = true;
	} else if (is_flag(w, "f")) {
		s->functions = true;
	} else if (is_flag(w, "no-demangle")) {
		*raw = true;
	} else if (is_flag(w, "C")) {
		*raw = false;
	} else if (is_flag(w, "print-address") || is_flag(w, "addresses") || is_flag(w, "a")) {
		s->addresses = true;
	} else if (is_flag(w, "pretty-print") || is_flag(w, "p")) {
		s->pretty = true;
	} else if (is_flag(w, "basenames") || is_flag(w, "s")) {
		s->basenames = true;
	} else {
		return is_flag(w, "relativenames") || is_flag(w, "use-symbol-table") ||
		       is_flag(w, "untag-addresses") || is_flag(w, "no-untag-addresses") ||
		       value_of(w, "default-arch") || value_of(w, "dwp") ||
		       value_of(w, "debug-file-directory") || value_of(w, "dsym-hint") ||
		       value_of(w, "fallback-debug-path") || is_flag(w, "verbose");
	}
	return true;
}

static int run(struct symbolizer *s, char **words, int n)
{
	struct fw_line_input in = { 0 };
	struct fw_output o;
	struct fw_json list;
	char *line;
	if (!fw_output_open(&o, NULL))
		return FW_EXIT_UNUSABLE;
	s->out = &o.out;
	if (n > 0 && s->style == STYLE_JSON) {	// an array of all, a line of each
		fw_json_init(&list, s->out, false);
		fw_json_begin_array(&list);
		for (int i = 0; i < n; i++)
			answer_line(s, words[i], &list);
		fw_json_end_array(&list);
		fw_json_finish(&list);
	} else if (n > 0) {
		for (int i = 0; i < n; i++)
			answer_line(s, words[i], NULL);
	} else {
		while (fw_line_input_next(&in, s->out, &line))
			answer_line(s, line, NULL);
	}
	fw_line_input_deinit(&in);
	return fw_output_close(&o, FW_EXIT_OK);
}

int fw_protocol_symbolizer(int argc, char **argv)
{
	static struct symbolizer s;
	bool raw = false;
	int n = 0;
	s = (struct symbolizer){ .inlines = true, .functions = true };
	char **words = calloc((size_t)argc, sizeof(*words));
	if (words == NULL)
		return FW_EXIT_UNUSABLE;
	for (int i = 1; i < argc; i++) {
		if (is_flag(argv[i], "version")) {
			printf("llvm-symbolizer (framewalk) %s\n", FW_VERSION);
			free(words);
			return FW_EXIT_OK;
		}
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			words[n++] = argv[i];
		} else if (!take_option(&s, argc, argv, &i, &raw)) {
			fprintf(stderr, "error: unknown argument '%s'\n", argv[i]);
			free(words);
			return FW_EXIT_UNUSABLE;
		}
	}
	int status = FW_EXIT_UNUSABLE;
	if (fw_symbols_of_details(raw, &s.symbols)) {
		status = run(&s, words, n);
		fw_symbols_destroy(s.symbols);
	}
	free(words);
	return status;
}
