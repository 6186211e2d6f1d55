// The parser of command lines, driven by the tables in opts.c.
#include <string.h>

#include "cmd/cmd.h"

enum { MAX_NAME = 24 };		// no name of ours is longer; longer words are near none

/** Edits (insert, delete, replace, swap neighbours) from one word to the other. */
static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned d[MAX_NAME + 1][MAX_NAME + 1];
	for (size_t i = 0; i <= na; i++) {
		for (size_t j = 0; j <= nb; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

/** How far a mistyped word is from a name: 0 .. 99 edits, 100 when too far to suggest. */
static unsigned farness(const char *word, size_t n, const char *name)
{
	size_t m = strlen(name);
	if (n == 0 || n > MAX_NAME || m > MAX_NAME)
		return 100;
	if (n >= 3 && n < m && memcmp(word, name, n) == 0)
		return 1;	// the start of a name: abbreviations are not taken, but meant
	unsigned d = edit_distance(word, n, name, m);
	return d <= (m < 6 ? 1 : 2) ? d : 100;
}

const struct fw_command *fw_command_nearest(const char *name)
{
	const struct fw_command *best = NULL;
	unsigned best_far = 100;
	for (int i = FW_COMMAND_TOP + 1; i < FW_COMMAND_COUNT; i++) {
		const struct fw_command *c = &fw_commands[i];
		unsigned far = farness(name, strlen(name), c->name);
		if (!c->hidden && far < best_far) {
			best = c;
			best_far = far;
		}
	}
	return best;
}

static const struct fw_opt *nearest_opt(const struct fw_command *command, const char *name,
					size_t n)
{
	const struct fw_opt *best = NULL;
	unsigned best_far = 100;
	for (int i = 0; i < FW_OPT_COUNT; i++) {
		unsigned far = farness(name, n, fw_opts[i].name);
		if (fw_opt_of(&fw_opts[i], command) && far < best_far) {
			best = &fw_opts[i];
			best_far = far;
		}
	}
	return best;
}

/** The command that an option belongs to, for a hint; NULL: none. */
static const struct fw_command *owner(const char *name, size_t n)
{
	for (int i = 0; i < FW_OPT_COUNT; i++)
		for (int c = 0; c < FW_COMMAND_COUNT; c++)
			if (strlen(fw_opts[i].name) == n && memcmp(fw_opts[i].name, name, n) == 0 &&
			    fw_opt_of(&fw_opts[i], &fw_commands[c]))
				return &fw_commands[c];
	return NULL;
}

/** Name for messages; the program itself needs none in front of the text. */
static const char *label(const struct fw_command *c)
{
	return c->id == FW_COMMAND_TOP ? NULL : c->name;
}

static bool unknown_long(const struct fw_command *command, const char *name, size_t n)
{
	const struct fw_opt *near = nearest_opt(command, name, n);
	const struct fw_command *other = owner(name, n);
	int shown = n > 200 ? 200 : (int)n;

	if (other != NULL && other->id == FW_COMMAND_TOP)
		fw_usage(label(command), "unknown option '--%.*s'; it goes to framewalk itself",
			 shown, name);
	else if (other != NULL && command->id == FW_COMMAND_TOP)
		fw_usage(label(command), "option '--%.*s' goes behind the command: framewalk %s",
			 shown, name, other->name);
	else if (other != NULL)
		fw_usage(label(command), "unknown option '--%.*s'; framewalk %s has it",
			 shown, name, other->name);
	else if (near != NULL)
		fw_usage(label(command), "unknown option '--%.*s', did you mean '--%s'?",
			 shown, name, near->name);
	else
		fw_usage(label(command), "unknown option '--%.*s'", shown, name);
	return false;
}

static bool parse_decimal(const char *text, uint64_t *ret, const char **ret_end)
{
	struct fw_text t = { text, text + strlen(text) };
	if (!fw_text_dec(&t, ret))
		return false;
	*ret_end = t.p;
	return true;
}

static bool parse_size(const char *text, uint64_t *ret)
{
	const char *end;
	uint64_t v, unit = 1;
	if (!parse_decimal(text, &v, &end))
		return false;
	switch (*end) {
	case 'K': case 'k': unit = UINT64_C(1) << 10; end++; break;
	case 'M': case 'm': unit = UINT64_C(1) << 20; end++; break;
	case 'G': case 'g': unit = UINT64_C(1) << 30; end++; break;
	default: break;
	}
	return *end == '\0' && !__builtin_mul_overflow(v, unit, ret);
}

/** A thread id (decimal or 0x hex, 32 bits) or # and a decimal index. */
static bool parse_threads(const char *text, struct fw_opt_value *v)
{
	const char *end = text;
	uint64_t n = 0;
	if (strcmp(text, "crashing") == 0 || strcmp(text, "all") == 0) {
		v->word = text[0] == 'c' ? FW_THREAD_CRASHING : FW_THREAD_ALL;
		return true;
	}
	v->word = text[0] == '#' ? FW_THREAD_INDEX : FW_THREAD_ID;
	if (v->word == FW_THREAD_ID && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		struct fw_text t = { text + 2, text + strlen(text) };
		if (!fw_text_hex(&t, &n))
			return false;
		end = t.p;
	} else if (!parse_decimal(text + (text[0] == '#'), &n, &end)) {
		return false;
	}
	v->number = n;
	return *end == '\0' && n <= UINT32_MAX;
}

static bool bad_value(const struct fw_command *command, const struct fw_opt *opt,
		      const char *text)
{
	const char *name = opt->name;
	const char *c = label(command);
	switch (opt->type) {
	case FW_TYPE_CHOICE:
		fw_usage(c, "--%s takes one of: %s; not '%.200s'", name, opt->words, text);
		break;
	case FW_TYPE_NUMBER:
		fw_usage(c, "--%s takes a number from %llu to %llu, not '%.200s'", name,
			 (unsigned long long)opt->min, (unsigned long long)opt->max, text);
		break;
	case FW_TYPE_SIZE:
		fw_usage(c, "--%s takes %llu to %llu bytes, K, M or G allowed, not '%.200s'", name,
			 (unsigned long long)opt->min, (unsigned long long)opt->max, text);
		break;
	case FW_TYPE_THREADS:
		fw_usage(c, "--%s takes crashing, all, a thread id or #INDEX, not '%.200s'", name,
			 text);
		break;
	case FW_TYPE_FLAG:
	case FW_TYPE_TEXT:
		fw_usage(c, "--%s takes a value that is not empty", name);
		break;
	}
	return false;
}

static bool take_value(struct fw_args *args, const struct fw_opt *opt, const char *text)
{
	struct fw_opt_value v = { .set = true, .text = text };
	const char *end = "";
	bool ok = true;

	switch (opt->type) {
	case FW_TYPE_FLAG:
		break;
	case FW_TYPE_TEXT:
		ok = *text != '\0';
		break;
	case FW_TYPE_CHOICE:
		ok = fw_word_index(opt->words, text, &v.number);
		break;
	case FW_TYPE_NUMBER:
		ok = parse_decimal(text, &v.number, &end) && *end == '\0' &&
		     v.number >= opt->min && v.number <= opt->max;
		break;
	case FW_TYPE_SIZE:
		ok = parse_size(text, &v.number) && v.number >= opt->min && v.number <= opt->max;
		break;
	case FW_TYPE_THREADS:
		ok = parse_threads(text, &v);
		break;
	}
	if (!ok)
		return bad_value(args->command, opt, text);
	if (opt->once && args->value[opt->id].set &&
	    strcmp(args->value[opt->id].text, text) != 0) {
		fw_usage(label(args->command), "takes one --%s, but got '%.200s' and '%.200s'",
			 opt->name, args->value[opt->id].text, text);
		return false;
	}
	if (opt->repeats && !fw_vec_push(&args->symbols, text)) {
		fw_complain(NULL, &(struct fw_error){ FW_NO_MEMORY, .message = "out of memory" });
		return false;
	}
	args->value[opt->id] = v;
	// Of two that exclude each other the last one counts too.
	if (opt->id == FW_OPT_JSON)
		args->value[FW_OPT_FORMAT].set = false;
	else if (opt->id == FW_OPT_FORMAT)
		args->value[FW_OPT_JSON].set = false;
	else if (opt->id == FW_OPT_CACHE)
		args->value[FW_OPT_NO_CACHE].set = false;
	else if (opt->id == FW_OPT_NO_CACHE)
		args->value[FW_OPT_CACHE].set = false;
	return true;
}

/** One option word; *i moves on when the value is the next word. */
static bool take_option(struct fw_args *args, int argc, char *const *argv, int *i)
{
	const struct fw_command *command = args->command;
	const char *word = argv[*i], *value = NULL;
	const struct fw_opt *opt = NULL;
	bool is_long = word[1] == '-';
	size_t n = is_long ? strcspn(word + 2, "=") : 1;

	for (int k = 0; k < FW_OPT_COUNT && opt == NULL; k++) {
		const struct fw_opt *o = &fw_opts[k];
		if (fw_opt_of(o, command) &&
		    (is_long ? strlen(o->name) == n && memcmp(o->name, word + 2, n) == 0
			     : o->letter == word[1]))
			opt = o;
	}
	if (opt == NULL && is_long)
		return unknown_long(command, word + 2, n);
	if (opt == NULL) {
		fw_usage(label(command), "unknown option '%.200s'", word);
		return false;
	}
	if (is_long && word[2 + n] == '=')
		value = word + 2 + n + 1;
	else if (!is_long && word[2] != '\0')
		value = word + 2;

	if (opt->type == FW_TYPE_FLAG) {
		if (value == NULL)
			return take_value(args, opt, NULL);
		if (is_long)
			fw_usage(label(command), "--%s takes no value", opt->name);
		else
			fw_usage(label(command), "unknown option '%.200s'", word);
		return false;
	}
	if (value == NULL) {
		if (*i + 1 >= argc) {
			fw_usage(label(command), "--%s needs a value: --%s %s", opt->name,
				 opt->name, opt->arg);
			return false;
		}
		value = argv[++*i];
	}
	return take_value(args, opt, value);
}

bool fw_args_parse(struct fw_args *args, const struct fw_command *command, int argc,
		   char *const *argv)
{
	bool options = true;

	*args = (struct fw_args){ .command = command };
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (options && word[0] == '-' && word[1] != '\0') {
			if (!take_option(args, argc, argv, &i))
				return false;
			if (args->value[FW_OPT_HELP].set)
				return true;
		} else if (command->operands[0] == '\0') {
			fw_usage(label(command), "takes no operand, but got '%.200s'", word);
			return false;
		} else if (!fw_vec_push(&args->operands, word)) {
			fw_complain(NULL, &(struct fw_error){ FW_NO_MEMORY,
							      .message = "out of memory" });
			return false;
		}
	}
	return true;
}

void fw_args_deinit(struct fw_args *args)
{
	fw_vec_deinit(&args->symbols);
	fw_vec_deinit(&args->operands);
}
