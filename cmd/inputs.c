#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/inputs.h"
#include "lib/base/file.h"
#include "lib/snapshot/snapshot.h"

enum { SNIFF_BYTES = 4096 };

static enum fw_code add(struct fw_inputs *in, const char *path, const struct fw_error *why)
{
	struct fw_input input = { fw_arena_strndup(&in->arena, path, strlen(path)), NULL };
	if (why != NULL) {
		struct fw_error *copy = fw_arena_alloc(&in->arena, sizeof(*copy));
		if (copy != NULL)
			*copy = *why;
		input.err = copy;
	}
	if (input.path == NULL || (why != NULL && input.err == NULL) ||
	    !fw_vec_push(&in->list, input))
		return FW_NO_MEMORY;
	return FW_OK;
}

/** Take a file of a directory when it is a capture. */
static enum fw_code add_if_capture(struct fw_inputs *in, const char *path)
{
	uint8_t head[SNIFF_BYTES];
	size_t n;
	struct fw_error err;

	enum fw_code code = fw_file_peek(path, head, sizeof(head), &n, &err);
	if (code == FW_NO_MEMORY)
		return code;
	if (code == FW_IO)
		return add(in, path, &err);
	if (code != FW_OK || !fw_snapshot_sniff(head, n)) {
		in->skipped++;
		return FW_OK;
	}
	return add(in, path, NULL);
}

struct walk {
	struct fw_inputs *in;
	uint64_t files;		// looked at
};

static enum fw_code walk_dir(struct walk *w, const char *dir, unsigned depth);

static enum fw_code visit(struct walk *w, const char *path, bool may_descend, unsigned depth)
{
	struct stat st;
	struct fw_error err;

	// Through links, but a link to a directory is not entered: no cycles.
	if (stat(path, &st) != 0) {
		if (errno == ENOENT || errno == ELOOP)	// a dangling link, or gone meanwhile
			return FW_OK;
		fw_fail_errno(&err, NULL, "cannot open");
		return add(w->in, path, &err);
	}
	if (S_ISDIR(st.st_mode))
		return may_descend ? walk_dir(w, path, depth + 1) : FW_OK;
	if (!S_ISREG(st.st_mode))
		return FW_OK;
	if (w->files++ == FW_MAX_INDEX_FILES) {
		fw_fail(&err, FW_LIMIT, NULL, "more than %d files in this directory",
			FW_MAX_INDEX_FILES);
		return add(w->in, path, &err);
	}
	return w->files > FW_MAX_INDEX_FILES ? FW_OK : add_if_capture(w->in, path);
}

static enum fw_code walk_dir(struct walk *w, const char *dir, unsigned depth)
{
	struct fw_error err;
	enum fw_code code = FW_OK;
	const struct dirent *e;

	if (depth > FW_MAX_INDEX_DEPTH) {
		fw_fail(&err, FW_LIMIT, NULL, "directories nested more than %d deep",
			FW_MAX_INDEX_DEPTH);
		return add(w->in, dir, &err);
	}
	DIR *d = opendir(dir);
	if (d == NULL) {
		fw_fail_errno(&err, NULL, "cannot open");
		return add(w->in, dir, &err);
	}
	size_t n = strlen(dir);
	const char *slash = n > 0 && dir[n - 1] == '/' ? "" : "/";
	while (code == FW_OK && (errno = 0, e = readdir(d)) != NULL) {
		char *path;
		bool link = e->d_type == DT_LNK;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (asprintf(&path, "%s%s%s", dir, slash, e->d_name) < 0) {
			code = FW_NO_MEMORY;
			break;
		}
		if (e->d_type == DT_UNKNOWN) {
			struct stat st;
			link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
		}
		code = visit(w, path, !link, depth);
		free(path);
	}
	if (code == FW_OK && errno != 0) {
		fw_fail_errno(&err, NULL, "cannot read");
		code = add(w->in, dir, &err);
	}
	closedir(d);
	return code;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct fw_input *)a)->path, ((const struct fw_input *)b)->path);
}

static enum fw_code expand_dir(struct fw_inputs *in, const char *dir)
{
	struct walk w = { .in = in };
	size_t first = in->list.count;

	enum fw_code code = walk_dir(&w, dir, 0);
	if (code != FW_OK)
		return code;
	if (in->list.count == first) {
		struct fw_error err;
		fw_fail(&err, FW_NOT_FOUND, NULL, "no capture in this directory");
		return add(in, dir, &err);
	}
	qsort(in->list.data + first, in->list.count - first, sizeof(in->list.data[0]),
	      compare_paths);
	return FW_OK;
}

enum fw_code fw_inputs_expand(struct fw_inputs *in, const char *const *operands, size_t count,
			      struct fw_error *err)
{
	*in = (struct fw_inputs){ .several = count > 1 };
	fw_arena_init(&in->arena, 0);
	for (size_t i = 0; i < count; i++) {
		struct stat st;
		bool is_dir = strcmp(operands[i], "-") != 0 && stat(operands[i], &st) == 0 &&
			      S_ISDIR(st.st_mode);
		in->several |= is_dir;
		enum fw_code code = is_dir ? expand_dir(in, operands[i])
					   : add(in, operands[i], NULL);
		if (code != FW_OK)
			return fw_fail(err, code, NULL, "out of memory");
	}
	return FW_OK;
}

void fw_inputs_deinit(struct fw_inputs *in)
{
	fw_vec_deinit(&in->list);
	fw_arena_deinit(&in->arena);
}
