#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/symbol_options.h"
#include "cmd/syms_check.h"
#include "lib/base/pool.h"
#include "symfiles/sym_write.h"

// `syms dump`; checking is in syms_check.c.

struct dump {
	const char *const *paths;
	const struct fw_args *args;
	const char *store;
	bool *failed;			// per path
};

/** Symbols of one file, so that it is gone when it is written. */
static bool open_one(const struct fw_args *args, struct fw_symbols **ret)
{
	struct fw_error err;
	struct fw_symbol_options options = {
		.paths = args->symbols.data,
		.num_paths = args->symbols.count,
		.raw_names = args->value[FW_OPT_NO_DEMANGLE].set,
	};
	if (fw_symbols_create(&options, ret, &err) == FW_OK)
		return true;
	fw_complain(NULL, &err);
	return false;
}

static void base_of(const char *path, char name[256])
{
	struct fw_str base = fw_base_name((struct fw_str){ path, strlen(path) });
	snprintf(name, 256, "%.*s", (int)base.n, base.s);
}

static enum fw_code make_folder(const char *path, struct fw_error *err)
{
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return FW_OK;
	return fw_fail_errno(err, NULL, "cannot create folder %.100s", path);
}

/** A name from a file may be no path. */
static bool is_component(const char *name)
{
	return name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strchr(name, '/') == NULL;
}

static enum fw_code write_temp(const struct fw_image *image, const char *name, const char *temp,
			       struct fw_error *err)
{
	struct fw_out out;
	int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return fw_fail_errno(err, NULL, "cannot create %.100s", temp);
	enum fw_code code = fw_out_init_fd(&out, fd, err);
	if (code == FW_OK) {
		code = fw_sym_write(image, name, &out, err);
		if (code == FW_OK)
			code = fw_out_flush(&out, err);
		fw_out_deinit(&out);
	}
	if (close(fd) != 0 && code == FW_OK)
		code = fw_fail_errno(err, NULL, "cannot write");
	return code;
}

/** STORE/name/ID/name.sym, which appears whole or not at all. */
static enum fw_code write_to_store(const struct dump *d, const struct fw_image *image,
				   const char *name, struct fw_error *err)
{
	char *folder = NULL, *dir = NULL, *path = NULL, *temp = NULL;
	enum fw_code code = FW_OK;
	if (image->debug_id.n == 0)
		return fw_fail(err, FW_UNSUPPORTED, NULL,
			       "it has no id, so a store has no place for it");
	if (!is_component(name))
		return fw_fail(err, FW_UNSUPPORTED, NULL, "its name is no file name");
	if (asprintf(&folder, "%s/%s", d->store, name) < 0 ||
	    asprintf(&dir, "%s/%s", folder, image->debug_id.text) < 0 ||
	    asprintf(&path, "%s/%s.sym", dir, name) < 0 ||
	    asprintf(&temp, "%s.%ld.new", path, (long)getpid()) < 0)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	const char *const folders[] = { d->store, folder, dir };
	for (unsigned i = 0; i < 3 && code == FW_OK; i++)
		code = make_folder(folders[i], err);
	if (code == FW_OK)
		code = write_temp(image, name, temp, err);
	if (code == FW_OK && rename(temp, path) != 0)
		code = fw_fail_errno(err, NULL, "cannot rename to %.100s", path);
	if (code != FW_OK)
		unlink(temp);
	free(folder);
	free(dir);
	free(path);
	free(temp);
	return code;
}

static void dump_to_store(void *context, uint64_t index, unsigned worker)
{
	const struct dump *d = context;
	const char *path = d->paths[index];
	const struct fw_image *image;
	struct fw_symbols *symbols;
	struct fw_error err;
	char base[256];
	d->failed[index] = true;
	if (!open_one(d->args, &symbols))
		return;
	enum fw_code code = fw_symbols_open_file(symbols, path, &image, &err);
	base_of(path, base);
	if (code == FW_OK)
		code = write_to_store(d, image, image->name[0] ? image->name : base, &err);
	d->failed[index] = code != FW_OK;
	if (code != FW_OK)
		fw_complain(path, &err);
	fw_symbols_destroy(symbols);
}

static int dump_all(const struct fw_args *args)
{
	size_t n = args->operands.count - 1;
	struct dump d = { .paths = args->operands.data + 1, .args = args,
			  .store = args->value[FW_OPT_STORE].text,
			  .failed = calloc(n, sizeof(bool)) };
	int status = FW_EXIT_OK;
	if (d.failed == NULL)
		return FW_EXIT_UNUSABLE;
	fw_pool_for((unsigned)args->value[FW_OPT_JOBS].number, n, dump_to_store, &d);
	for (size_t i = 0; i < n; i++)
		if (d.failed[i])
			status = FW_EXIT_UNUSABLE;
	free(d.failed);
	return status;
}

static int dump_one(const struct fw_args *args)
{
	const char *path = args->operands.data[1];
	const struct fw_image *image;
	struct fw_symbols *symbols;
	struct fw_output o;
	struct fw_error err;
	char base[256];
	int status = FW_EXIT_UNUSABLE;
	if (!open_one(args, &symbols))
		return status;
	enum fw_code code = fw_symbols_open_file(symbols, path, &image, &err);
	base_of(path, base);
	if (code != FW_OK) {
		fw_complain(path, &err);
	} else if (fw_output_open(&o, args->value[FW_OPT_OUTPUT].text)) {
		code = fw_sym_write(image, base, &o.out, &err);
		if (code != FW_OK)
			fw_complain(path, &err);
		status = fw_output_close(&o, code == FW_OK ? FW_EXIT_OK : FW_EXIT_UNUSABLE);
	}
	fw_symbols_destroy(symbols);
	return status;
}

int fw_cmd_syms(const struct fw_args *args)
{
	const struct fw_opt_value *v = args->value;
	uint64_t action;
	if (args->operands.count == 0 ||
	    !fw_word_index(args->command->words, args->operands.data[0], &action))
		return fw_usage("syms", "takes one of: dump, check; then files");
	if (args->operands.count == 1)
		return fw_usage("syms", "%s takes at least one file", args->operands.data[0]);
	if (v[FW_OPT_PRETTY].set && !v[FW_OPT_JSON].set)
		return fw_usage("syms", "--pretty needs --json");
	if (action == 1) {
		if (v[FW_OPT_STORE].set || v[FW_OPT_NO_DEMANGLE].set)
			return fw_usage("syms", "check has no --%s",
					v[FW_OPT_STORE].set ? "store" : "no-demangle");
		return fw_syms_check(args);
	}
	if (v[FW_OPT_JSON].set)
		return fw_usage("syms", "dump has no --json");
	if (v[FW_OPT_STORE].set && v[FW_OPT_OUTPUT].set)
		return fw_usage("syms", "--store and --output are two places");
	if (v[FW_OPT_STORE].set)
		return dump_all(args);
	if (args->operands.count > 2)
		return fw_usage("syms", "several files need --store");
	return dump_one(args);
}
