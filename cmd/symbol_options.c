#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/symbol_options.h"

#define DEFAULT_CACHE_SIZE (UINT64_C(2) << 30)

/**
 * Where compiled symbols are kept; NULL: nowhere. Default by the XDG base
 * directory specification 0.8: relative paths in the variables are ignored.
 */
static char *cache_dir(const struct fw_args *args)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *dir = NULL;
	int n = -1;

	if (args->value[FW_OPT_NO_CACHE].set)
		return NULL;
	if (args->value[FW_OPT_CACHE].set)
		n = asprintf(&dir, "%s", args->value[FW_OPT_CACHE].text);
	else if (xdg != NULL && xdg[0] == '/')
		n = asprintf(&dir, "%s/framewalk", xdg);
	else if (home != NULL && home[0] == '/')
		n = asprintf(&dir, "%s/.cache/framewalk", home);
	return n < 0 ? NULL : dir;
}

static bool create(const struct fw_args *args, bool raw_names, bool details,
		   enum fw_lazy_when lazy,
		   struct fw_symbols **ret)
{
	const struct fw_opt_value *size = &args->value[FW_OPT_CACHE_SIZE];
	const char *program = args->value[FW_OPT_PROGRAM].text;
	FW_VEC(const char *) paths = { 0 };
	char *dir = cache_dir(args);
	struct fw_error err;
	bool ok = program == NULL || fw_vec_push(&paths, program);
	for (size_t i = 0; ok && i < args->symbols.count; i++)
		ok = fw_vec_push(&paths, args->symbols.data[i]);
	struct fw_symbol_options options = {
		.paths = paths.data,
		.num_paths = paths.count,
		.sysroot = args->value[FW_OPT_SYSROOT].text,
		.cache_dir = dir,
		.cache_size = size->set ? size->number : DEFAULT_CACHE_SIZE,
		.raw_names = raw_names,
		.details = details,
		.lazy = args->value[FW_OPT_LAZY].set ?
			(enum fw_lazy_when)args->value[FW_OPT_LAZY].number : lazy,
	};

	fw_log(FW_LOG_DEBUG, NULL, "symbol cache: %s", dir ? dir : "none");
	// The options are copied as far as they are needed later.
	if (!ok)
		fw_fail(&err, FW_NO_MEMORY, NULL, "out of memory");
	else
		ok = fw_symbols_create(&options, ret, &err) == FW_OK;
	fw_vec_deinit(&paths);
	free(dir);
	if (!ok)
		fw_complain(NULL, &err);
	return ok;
}

bool fw_symbols_of_rules(const struct fw_args *args, struct fw_symbols **ret)
{
	return create(args, false, false, FW_LAZY_ALWAYS, ret);
}

bool fw_symbols_of_captures(const struct fw_args *args, bool several, struct fw_symbols **ret)
{
	return create(args, false, false, several ? FW_LAZY_NEVER : FW_LAZY_AUTO, ret);
}

bool fw_symbols_of_names(const struct fw_args *args, bool raw_names, struct fw_symbols **ret)
{
	return create(args, raw_names, false, FW_LAZY_AUTO, ret);
}

bool fw_symbols_of_details(bool raw_names, struct fw_symbols **ret)
{
	const struct fw_args none = { .command = NULL };
	return create(&none, raw_names, true, FW_LAZY_AUTO, ret);
}

bool fw_path_is_there(const char *path, const char *what)
{
	struct stat st;
	struct fw_error err;
	if (stat(path, &st) == 0)
		return true;
	fw_fail_errno(&err, NULL, "cannot open %s", what);
	fw_complain(path, &err);
	return false;
}

bool fw_symbol_paths_are_there(const struct fw_args *args)
{
	bool ok = true;
	for (size_t i = 0; i < args->symbols.count; i++)
		ok = fw_path_is_there(args->symbols.data[i], "symbols") && ok;
	return ok;
}
