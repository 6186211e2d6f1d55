#include "symfiles/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/limits.h"
#include "symfiles/loader_internal.h"

extern char **environ;

// ---- packets ----

bool fw_loader_send(int socket, const struct fw_loader_packet *p, int fd)
{
	union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec iov = { (void *)p, sizeof(*p) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	do
		n = sendmsg(socket, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*p);
}

bool fw_loader_receive(int socket, struct fw_loader_packet *p, int *ret_fd)
{
	union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec iov = { p, sizeof(*p) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	bool reset = false;
	ssize_t n;
	// Who goes without reading our last packet resets the socket, once; what it said
	// before is still there.
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !reset && (reset = true))));
	*ret_fd = -1;
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if (n == (ssize_t)sizeof(*p))
		return true;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return false;
}

// ---- the parent's side ----

enum { ELF, DEBUG, ALT, MAX_ARGS = 16, ARG_SIZE = 40 };
static const char *const file_words[] = { "elf", "debug", "alt" };

static enum fw_code open_input(struct fw_loader_session *r, unsigned which, const char *path,
			       struct fw_error *err)
{
	struct stat st;
	if (path == NULL)
		return FW_OK;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fw_fail_errno(err, NULL, "cannot open");
	r->files[which] = fd;
	if (fstat(fd, &st) < 0)
		return fw_fail_errno(err, NULL, "cannot stat");
	if (!S_ISREG(st.st_mode))
		return fw_fail(err, FW_UNSUPPORTED, NULL, "not a regular file");
	r->files_bytes += (uint64_t)st.st_size;
	return FW_OK;
}

static enum fw_code open_all(struct fw_loader_session *r, struct fw_error *err)
{
	enum fw_code code = open_input(r, ELF, r->request->elf, err);
	if (code == FW_OK)
		code = open_input(r, DEBUG, r->request->debug, err);
	if (code == FW_OK)
		code = open_input(r, ALT, r->request->alt, err);
	if (code != FW_OK)
		return code;
	r->image = memfd_create("framewalk-image", MFD_CLOEXEC);
	if (r->image < 0)	// kernels and sandboxes without it
		r->image = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (r->image < 0)
		return fw_fail_errno(err, NULL, "loader: no place for its image");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, r->sockets) < 0)
		return fw_fail_errno(err, NULL, "loader: no socket");
	return FW_OK;
}

static int start(struct fw_loader_session *r, char *const *argv, const int *fds, unsigned num_fds)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int status = posix_spawn_file_actions_init(&actions);
	if (status != 0)
		return status;
	status = posix_spawnattr_init(&attr);
	if (status != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return status;
	}
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	// A descriptor duplicated to its own number stays open in the new program.
	for (unsigned i = 0; i < num_fds && status == 0; i++)
		status = posix_spawn_file_actions_adddup2(&actions, fds[i], fds[i]);
	for (int fd = 0; fd <= 2 && status == 0; fd++) {
		if (fd < 2 || !fw_loader_sanitized())
			status = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
								  O_RDWR, 0);
	}
	if (status == 0)
		status = posix_spawn(&r->child, "/proc/self/exe", &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return status;
}

static enum fw_code spawn(struct fw_loader_session *r, struct fw_error *err)
{
	char words[MAX_ARGS][ARG_SIZE];
	char *argv[MAX_ARGS + 3] = { "framewalk", FW_LOADER_WORD };
	int fds[FW_LOADER_FILES + 2];
	unsigned n = 0, num_fds = 0;
	uint64_t memory = r->limits->memory;
	for (unsigned i = 0; i < FW_LOADER_FILES; i++) {
		if (r->files[i] < 0)
			continue;
		snprintf(words[n++], ARG_SIZE, "%s=%d", file_words[i], r->files[i]);
		fds[num_fds++] = r->files[i];
	}
	snprintf(words[n++], ARG_SIZE, "image=%d", r->image);
	snprintf(words[n++], ARG_SIZE, "socket=%d", r->sockets[1]);
	fds[num_fds++] = r->image;
	fds[num_fds++] = r->sockets[1];
	snprintf(words[n++], ARG_SIZE, "cpu=%u", r->limits->cpu_seconds);
	if (memory != 0)
		snprintf(words[n++], ARG_SIZE, "memory=%llu",
			 (unsigned long long)(memory + r->files_bytes));
	if (r->request->raw_names)
		snprintf(words[n++], ARG_SIZE, "raw=1");
	if (r->request->details)
		snprintf(words[n++], ARG_SIZE, "details=1");
	if (r->request->no_names)
		snprintf(words[n++], ARG_SIZE, "names=0");
	if (r->limits->lazy)
		snprintf(words[n++], ARG_SIZE, "lazy=1");
	if (r->limits->trick != NULL)
		snprintf(words[n++], ARG_SIZE, "trick=%s", r->limits->trick);
	for (unsigned i = 0; i < n; i++)
		argv[2 + i] = words[i];
	int status = start(r, argv, fds, num_fds);
	if (status != 0) {
		errno = status;
		return fw_fail_errno(err, NULL, "loader: cannot start");
	}
	close(r->sockets[1]);	// so that its end is seen
	r->sockets[1] = -1;
	return FW_OK;
}

static int ms_left(const struct timespec *deadline)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t ms = (int64_t)(deadline->tv_sec - now.tv_sec) * 1000 +
		     (deadline->tv_nsec - now.tv_nsec) / 1000000;
	return ms < 0 ? 0 : (int)ms;
}

static int open_elf(const char *path)
{
	char magic[4];
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    memcmp(magic, "\177ELF", 4) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int open_joined(const char *dir, size_t dir_n, const char *name, const char *suffix)
{
	char path[3 * FW_LOADER_PATH];
	int n = snprintf(path, sizeof(path), "%.*s%s%s%s", (int)dir_n, dir, dir_n ? "/" : "", name,
			 suffix);
	return n < 0 || (size_t)n >= sizeof(path) ? -1 : open_elf(path);
}

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == NULL ? 0 : (size_t)(slash - path);
}

/*
 * The recorded place first, then where builds are moved to: next to the program
 * and the folder that the caller names. Only ELF files are ever given out.
 */
static int find_dwo(const struct fw_loader_session *r, const struct fw_loader_packet *p)
{
	const struct fw_loader_request *q = r->request;
	const char *name = p->name, *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	const char *beside[] = { q->elf, q->debug };
	int fd = -1;
	if (p->dwp) {
		for (unsigned i = 0; i < 2 && fd < 0; i++)
			if (beside[i] != NULL)
				fd = open_joined("", 0, beside[i], ".dwp");
		return fd;
	}
	if (name[0] == '/' || p->comp_dir[0] == '\0')
		fd = open_joined("", 0, name, "");
	else
		fd = open_joined(p->comp_dir, strlen(p->comp_dir), name, "");
	if (fd < 0 && q->dwo_dir != NULL && name[0] != '/')
		fd = open_joined(q->dwo_dir, strlen(q->dwo_dir), name, "");
	if (fd < 0 && q->dwo_dir != NULL)
		fd = open_joined(q->dwo_dir, strlen(q->dwo_dir), base, "");
	for (unsigned i = 0; i < 2 && fd < 0; i++) {
		if (beside[i] == NULL)
			continue;
		size_t n = folder_length(beside[i]);
		if (name[0] != '/')
			fd = open_joined(n ? beside[i] : ".", n ? n : 1, name, "");
		if (fd < 0)
			fd = open_joined(n ? beside[i] : ".", n ? n : 1, base, "");
	}
	return fd;
}

static bool answer(struct fw_loader_session *r, struct fw_loader_packet *p)
{
	p->comp_dir[sizeof(p->comp_dir) - 1] = p->name[sizeof(p->name) - 1] = '\0';
	if (r->asked++ >= FW_LOADER_MAX_ASKED)
		return false;
	int fd = find_dwo(r, p);
	p->kind = FW_LOADER_ANSWER;
	bool ok = fw_loader_send(r->sockets[0], p, fd);
	if (fd >= 0)
		close(fd);
	return ok;
}

enum ending { DONE, GONE, TIMED_OUT };

/** Serve the child until it is done; its last packet is in @p p then. */
static enum ending serve(struct fw_loader_session *r, struct fw_loader_packet *p)
{
	struct timespec deadline;
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += r->limits->wall_seconds;
	for (;;) {
		struct pollfd f = { .fd = r->sockets[0], .events = POLLIN };
		int fd, n = poll(&f, 1, ms_left(&deadline));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return TIMED_OUT;
		if (!fw_loader_receive(r->sockets[0], p, &fd))
			return GONE;
		if (fd >= 0)
			close(fd);
		if (p->kind == FW_LOADER_DONE)
			return DONE;
		if (p->kind != FW_LOADER_ASK || !answer(r, p))
			return GONE;
	}
}

static int reap(struct fw_loader_session *r, bool kill_it)
{
	int status = 0;
	if (kill_it)
		kill(r->child, SIGKILL);
	while (waitpid(r->child, &status, 0) < 0 && errno == EINTR)
		;
	r->child = 0;
	return status;
}

static enum fw_code say_end(enum ending e, int status, struct fw_error *err)
{
	if (e == TIMED_OUT || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
		return fw_fail(err, FW_LIMIT, NULL, "loader: over its time limit");
	if (WIFSIGNALED(status))
		return fw_fail(err, FW_MALFORMED, NULL, "loader: killed by signal %d",
			       WTERMSIG(status));
	return fw_fail(err, FW_IO, NULL, "loader: ended without an answer, status %d",
		       WEXITSTATUS(status));
}

// ---- the image ----

struct mapping { void *data; size_t size; };

static void unmap(struct fw_image *image)
{
	struct mapping *m = image->mapping;
	munmap(m->data, m->size);
	free(m);
}

/** The child's image, trusted no more than any file. */
static enum fw_code take_image(int fd, struct fw_image **ret, struct fw_error *err)
{
	struct stat st;
	struct fw_image *image;
	struct fw_error why;
	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return fw_fail(err, FW_MALFORMED, NULL, "loader: it gave no image");
	struct mapping *m = malloc(sizeof(*m));
	if (m == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	*m = (struct mapping){ .size = (size_t)st.st_size };
	m->data = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m->data == MAP_FAILED) {
		free(m);
		return fw_fail_errno(err, NULL, "loader: cannot map its image");
	}
	enum fw_code code = fw_image_open(m->data, m->size, &image, &why);
	if (code != FW_OK) {
		munmap(m->data, m->size);
		free(m);
		return fw_fail(err, FW_MALFORMED, NULL, "loader: its image is broken: %.100s",
			       why.message);
	}
	image->mapping = m;
	image->release = unmap;
	if (fw_image_check(image, &why) != FW_OK) {
		fw_image_destroy(image);
		return fw_fail(err, FW_MALFORMED, NULL, "loader: its image is broken: %.100s",
			       why.message);
	}
	*ret = image;
	return FW_OK;
}

enum fw_code fw_loader_await(struct fw_loader_session *r, struct fw_error *err)
{
	struct fw_loader_packet *p = malloc(sizeof(*p));
	if (p == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	enum ending e = serve(r, p);
	enum fw_code code = FW_OK;
	p->error.place[sizeof(p->error.place) - 1] = '\0';
	p->error.message[sizeof(p->error.message) - 1] = '\0';
	if (e != DONE)
		code = say_end(e, reap(r, true), err);
	else if (p->error.code == FW_NO_MEMORY)
		code = fw_fail(err, FW_LIMIT, NULL, "loader: over its memory limit");
	else if (p->error.code != FW_OK)
		code = fw_fail(err, (unsigned)p->error.code <= FW_LIMIT ? p->error.code
									: FW_MALFORMED,
			       p->error.place, "%s", p->error.message);
	free(p);
	return code;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

enum fw_code fw_loader_begin(struct fw_loader_session *r, const struct fw_loader_request *request,
			     const struct fw_loader_limits *limits, struct fw_error *err)
{
	*r = (struct fw_loader_session){ .request = request, .limits = limits,
					 .files = { -1, -1, -1 }, .image = -1,
					 .sockets = { -1, -1 } };
	enum fw_code code = open_all(r, err);
	return code == FW_OK ? spawn(r, err) : code;
}

void fw_loader_end(struct fw_loader_session *r)
{
	close_fd(r->sockets[0]);
	close_fd(r->sockets[1]);
	if (r->child > 0)
		reap(r, r->limits->lazy && !fw_loader_sanitized());
	for (unsigned i = 0; i < FW_LOADER_FILES; i++)
		close_fd(r->files[i]);
	close_fd(r->image);
}

enum fw_code fw_loader_run(const struct fw_loader_request *request,
			   const struct fw_loader_limits *limits, struct fw_image **ret,
			   struct fw_error *err)
{
	struct fw_loader_session r;
	enum fw_code code = fw_loader_begin(&r, request, limits, err);
	if (code == FW_OK)
		code = fw_loader_await(&r, err);
	if (code == FW_OK)
		code = take_image(r.image, ret, err);
	fw_loader_end(&r);
	return code;
}

static const struct fw_loader_limits usual_limits = {
	.cpu_seconds = FW_LOADER_CPU_SECONDS,
	.wall_seconds = FW_LOADER_WALL_SECONDS,
	.memory = FW_LOADER_MEMORY,
};

enum fw_code fw_loader_compile(const struct fw_loader_request *request, struct fw_image **ret,
			       struct fw_error *err)
{
	return fw_loader_run(request, &usual_limits, ret, err);
}

enum fw_code fw_loader_run_twice(const struct fw_loader_request *request,
				 const struct fw_loader_limits *limits, struct fw_image **ret,
				 char *note, size_t note_size, struct fw_error *err)
{
	struct fw_loader_request less = *request;
	struct fw_error first = { 0 };
	note[0] = '\0';
	enum fw_code code = fw_loader_run(request, limits, ret, &first);
	if (code != FW_OK && code != FW_NO_MEMORY && request->debug != NULL &&
	    request->elf != NULL) {
		less.debug = less.alt = NULL;
		if (fw_loader_run(&less, limits, ret, NULL) == FW_OK) {
			snprintf(note, note_size, "without its debug file: %s%s%s", first.place,
				 first.place[0] ? ": " : "", first.message);
			return FW_OK;
		}
	}
	if (code != FW_OK && err != NULL)
		*err = first;
	return code;
}

enum fw_code fw_loader_compile_either(const struct fw_loader_request *request,
				      struct fw_image **ret, char *note, size_t note_size,
				      struct fw_error *err)
{
	return fw_loader_run_twice(request, &usual_limits, ret, note, note_size, err);
}
