#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/output.h"

// The temporary file, where a signal handler finds it.
static char temp_path[PATH_MAX];
static volatile sig_atomic_t temp_exists;

void fw_output_abandon(void)
{
	if (temp_exists)
		unlink(temp_path);
}

static bool complain(const char *path, const char *what)
{
	struct fw_error err;
	fw_fail_errno(&err, NULL, "%s", what);
	fw_complain(path, &err);
	return false;
}

static bool start(struct fw_output *o, int fd, const char *name)
{
	struct fw_error err;
	o->fd = fd;
	o->name = name;
	o->terminal = isatty(fd);
	if (fw_out_init_fd(&o->out, fd, &err) == FW_OK)
		return true;
	fw_complain(name, &err);
	return false;
}

/** Permissions for a new file: those of the one it replaces, else the umask's. */
static mode_t file_mode(const struct stat *old)
{
	if (old != NULL)
		return old->st_mode & 0777;
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/** Create the temporary file in the directory of o->path. */
static int open_temp(struct fw_output *o, const struct stat *old)
{
	const char *slash = strrchr(o->path, '/');
	int dir = slash ? (int)(slash - o->path) + 1 : 0;
	int n = snprintf(temp_path, sizeof(temp_path), "%.*s.framewalk.XXXXXX", dir, o->path);
	if (n < 0 || (size_t)n >= sizeof(temp_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = mkostemp(temp_path, O_CLOEXEC);
	if (fd < 0)
		return -1;
	temp_exists = 1;
	if (fchmod(fd, file_mode(old)) == 0)
		return fd;
	int saved = errno;
	fw_output_abandon();
	temp_exists = 0;
	close(fd);
	errno = saved;
	return -1;
}

bool fw_output_open(struct fw_output *o, const char *path)
{
	struct stat st;

	*o = (struct fw_output){ .fd = -1 };
	if (path == NULL || strcmp(path, "-") == 0)
		return start(o, STDOUT_FILENO, "standard output");

	bool exists = stat(path, &st) == 0;
	int fd;
	if (exists && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} else {
		// Through a symbolic link the file it points to is replaced, not the link.
		o->path = exists ? realpath(path, NULL) : strdup(path);
		fd = o->path ? open_temp(o, exists ? &st : NULL) : -1;
	}
	if (fd >= 0 && start(o, fd, path))
		return true;
	if (fd < 0)
		complain(path, "cannot create");
	fw_output_abandon();
	temp_exists = 0;
	free(o->path);
	return false;
}

int fw_output_close(struct fw_output *o, int status)
{
	struct fw_error err;
	bool empty = status != FW_EXIT_OK && o->path != NULL && o->out.count == 0 &&
		     lseek(o->fd, 0, SEEK_CUR) == 0;
	bool ok = fw_out_flush(&o->out, &err) == FW_OK;
	bool pipe_closed = !ok && err.os_errno == EPIPE;

	if (!ok && !pipe_closed)
		fw_complain(o->name, &err);
	fw_out_deinit(&o->out);
	// close() is where a full disk may be told (NFS, quotas).
	if (close(o->fd) != 0 && ok && errno != EINTR)
		ok = complain(o->name, "cannot write");
	if (o->path != NULL) {
		if (!ok || empty)
			fw_output_abandon();
		else if (rename(temp_path, o->path) != 0)
			ok = complain(o->name, "cannot replace"), fw_output_abandon();
		temp_exists = 0;
		free(o->path);
	}
	return status == FW_EXIT_OK && !ok && !pipe_closed ? FW_EXIT_UNUSABLE : status;
}
