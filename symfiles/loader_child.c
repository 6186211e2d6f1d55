#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/image/block.h"
#include "lib/image/builder.h"
#include "symfiles/elf_image.h"
#include "symfiles/elf_internal.h"
#include "symfiles/elf_mini.h"
#include "symfiles/lazy_read.h"
#include "symfiles/loader_internal.h"

/** A split DWARF file that was asked for. */
struct asked {
	uint64_t key;
	struct fw_elf *elf;		// NULL: there is none
};

struct child {
	int elf, debug, alt, image, socket;
	uint64_t cpu, memory;
	const char *trick;
	bool raw_names, details, no_names, lazy;
	struct fw_loader_packet packet;
	FW_VEC(struct asked) dwo;	// open until the end
};

bool fw_loader_is_child(int argc, char **argv)
{
	return argc > 2 && strcmp(argv[1], FW_LOADER_WORD) == 0;
}

// ---- arguments ----

static bool number(const char *word, const char *name, uint64_t *ret)
{
	size_t n = strlen(name);
	char *end;
	if (strncmp(word, name, n) != 0 || word[n] != '=')
		return false;
	errno = 0;
	*ret = strtoull(word + n + 1, &end, 10);
	return *end == '\0' && errno == 0;
}

static bool descriptor(const char *word, const char *name, int *ret)
{
	uint64_t v;
	if (!number(word, name, &v) || v < 3 || v > INT32_MAX || fcntl((int)v, F_GETFD) < 0)
		return false;
	*ret = (int)v;
	return true;
}

static bool parse(struct child *c, int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		const char *w = argv[i];
		if (strncmp(w, "trick=", 6) == 0)
			c->trick = w + 6;
		else if (strcmp(w, "raw=1") == 0)
			c->raw_names = true;
		else if (strcmp(w, "details=1") == 0)
			c->details = true;
		else if (strcmp(w, "names=0") == 0)
			c->no_names = true;
		else if (strcmp(w, "lazy=1") == 0)
			c->lazy = true;
		else if (!descriptor(w, "elf", &c->elf) && !descriptor(w, "debug", &c->debug) &&
			 !descriptor(w, "alt", &c->alt) && !descriptor(w, "image", &c->image) &&
			 !descriptor(w, "socket", &c->socket) && !number(w, "cpu", &c->cpu) &&
			 !number(w, "memory", &c->memory))
			return false;
	}
	return c->elf >= 0 && c->image >= 0 && c->socket >= 0;
}

// ---- fewer rights ----

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/** Whatever else the parent's parent left open. */
static void close_others(const struct child *c)
{
	int keep[] = { 2, c->elf, c->debug, c->alt, c->image, c->socket };
	const unsigned n = sizeof(keep) / sizeof(*keep);
	qsort(keep, n, sizeof(*keep), by_number);
	for (unsigned i = 0; i < n; i++) {
		unsigned first = keep[i] < 2 ? 3 : (unsigned)keep[i] + 1;
		unsigned last = i + 1 < n ? (unsigned)(keep[i + 1] < 2 ? 2 : keep[i + 1] - 1) : ~0u;
		if (first <= last && last > 2)
			syscall(SYS_close_range, first, last, 0);
	}
}

static void limit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit l = { soft, hard };
	setrlimit(resource, &l);
}

static void set_limits(const struct child *c)
{
	limit(RLIMIT_CORE, 0, 0);
	limit(RLIMIT_FSIZE, FW_MAX_INPUT, FW_MAX_INPUT);
	if (c->cpu > 0)
		limit(RLIMIT_CPU, c->cpu, c->cpu + 2);
	if (c->memory > 0 && !fw_loader_sanitized())
		limit(RLIMIT_AS, c->memory, c->memory);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!fw_loader_sanitized())	// the leak checker attaches to its own process
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/*
 * Memory, the descriptors at hand, and dying. No file can be opened, nothing
 * started, nothing connected, no page made executable; all else answers EPERM. Where
 * the kernel knows no filters the limits above must do.
 */
static bool enter_sandbox(void)
{
	static const int allowed[] = {
		SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
		SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(close),
		SCMP_SYS(fstat), SCMP_SYS(fstat64), SCMP_SYS(ftruncate), SCMP_SYS(munmap),
		SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(sendmsg),
		SCMP_SYS(recvmsg), SCMP_SYS(futex), SCMP_SYS(clock_gettime),
		SCMP_SYS(clock_gettime64), SCMP_SYS(gettimeofday), SCMP_SYS(sysinfo),
		SCMP_SYS(getrandom), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn), SCMP_SYS(sched_yield),
		SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
	};
	if (fw_loader_sanitized())
		return true;
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (f == NULL)
		return false;
	bool ok = true;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		int status = seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
		ok = ok && (status == 0 || status == -EDOM);	// none of this CPU's
	}
	// signals only to itself: abort()
	ok = ok && seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0)) == 0;
	ok = ok && seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				    SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0)) == 0;	// fstat()
	const int maps[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
	for (unsigned i = 0; i < 2; i++)
		ok = ok && seccomp_rule_add(f, SCMP_ACT_ALLOW, maps[i], 1,
					    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) == 0;
	ok = ok && seccomp_load(f) == 0;
	seccomp_release(f);
	return ok;
}

// ---- work ----

static void copy_str(char *to, struct fw_str s)
{
	size_t n = s.n < FW_LOADER_PATH ? s.n : FW_LOADER_PATH - 1;
	if (n > 0)
		memcpy(to, s.s, n);
	to[n] = '\0';
}

/** Ask the parent for a file. */
static struct fw_elf *ask_dwo(struct child *c, struct fw_str comp_dir, struct fw_str name)
{
	struct fw_loader_packet *p = &c->packet;
	struct fw_elf *elf = NULL;
	int fd;
	p->kind = FW_LOADER_ASK;
	p->dwp = name.n == 0;
	copy_str(p->comp_dir, comp_dir);
	copy_str(p->name, name);
	if (!fw_loader_send(c->socket, p, -1) || !fw_loader_receive(c->socket, p, &fd) || fd < 0)
		return NULL;
	if (fw_elf_open_fd(fd, &elf, NULL) != FW_OK)
		elf = NULL;
	close(fd);
	return elf;
}

static struct fw_elf *open_dwo(void *context, struct fw_str comp_dir, struct fw_str name)
{
	struct child *c = context;
	if (comp_dir.n >= FW_LOADER_PATH || name.n >= FW_LOADER_PATH)
		return NULL;
	uint64_t key = fw_block_hash(name.s, name.n, fw_block_hash(comp_dir.s, comp_dir.n, name.n));
	for (size_t i = 0; i < c->dwo.count; i++)
		if (c->dwo.data[i].key == key)
			return c->dwo.data[i].elf;
	struct asked a = { key, ask_dwo(c, comp_dir, name) };
	if (!fw_vec_push(&c->dwo, a)) {
		fw_elf_close(a.elf);
		return NULL;
	}
	return a.elf;
}

static enum fw_code open_optional(int fd, struct fw_elf **ret, struct fw_error *err)
{
	return fd < 0 ? FW_OK : fw_elf_open_fd(fd, ret, err);
}

static enum fw_code compile(struct child *c, const struct fw_elf_files *files,
			    struct fw_error *err)
{
	struct fw_image *image;
	enum fw_code code = fw_elf_compile(files, &image, err);
	if (code == FW_OK) {
		code = fw_image_write(image, c->image, err);
		fw_image_destroy(image);
	}
	return code;
}

/** The question in c->packet: from the image's file, and its answer into it. */
static enum fw_code answer(struct child *c, struct fw_lazy_reader *r, struct fw_error *err)
{
	uint32_t n = c->packet.count;
	struct fw_image *image;
	if (n > FW_MAX_LAZY_QUESTION)
		return fw_fail(err, FW_LIMIT, NULL, "too many addresses at once");
	uint32_t *offsets = calloc(n + 1, sizeof(*offsets));
	if (offsets == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	enum fw_code code = FW_OK;
	if (pread(c->image, offsets, n * sizeof(*offsets), 0) != (ssize_t)(n * sizeof(*offsets)))
		code = fw_fail(err, FW_IO, NULL, "cannot read the question");
	if (code == FW_OK)
		code = fw_lazy_reader_answer(r, offsets, n, &image, err);
	free(offsets);
	if (code != FW_OK)
		return code;
	if (ftruncate(c->image, 0) < 0 || lseek(c->image, 0, SEEK_SET) < 0)
		code = fw_fail_errno(err, NULL, "cannot write the answer");
	if (code == FW_OK)
		code = fw_image_write(image, c->image, err);
	fw_image_destroy(image);
	return code;
}

static void done(struct child *c, enum fw_code code, const struct fw_error *err)
{
	c->packet.kind = FW_LOADER_DONE;
	c->packet.error = *err;
	c->packet.error.code = code;
	fw_loader_send(c->socket, &c->packet, -1);
}

/** Answer until the parent goes, or until something goes wrong. */
static enum fw_code serve(struct child *c, const struct fw_elf_files *files, struct fw_error *err)
{
	struct fw_lazy_reader *r;
	int fd;
	enum fw_code code = fw_lazy_reader_open(files, &r, err);
	if (code != FW_OK)
		return code;
	while (fw_loader_receive(c->socket, &c->packet, &fd)) {
		if (fd >= 0)
			close(fd);
		code = answer(c, r, err);
		if (code != FW_OK)
			break;
		done(c, code, err);
	}
	fw_lazy_reader_close(r);
	return code;
}

static enum fw_code work(struct child *c, struct fw_error *err)
{
	struct fw_elf_files files = { .open_dwo = open_dwo, .context = c,
				       .raw_names = c->raw_names, .details = c->details,
				       .no_names = c->no_names };
	struct fw_mini mini = { 0 };
	enum fw_code code = open_optional(c->elf, &files.elf, err);
	if (code == FW_OK)
		code = open_optional(c->debug, &files.debug, err);
	if (code == FW_OK)
		code = open_optional(c->alt, &files.alt, err);
	if (code == FW_OK) {
		if (!c->no_names && fw_mini_open(files.elf, &mini))
			files.mini = mini.elf;
		code = c->lazy ? serve(c, &files, err) : compile(c, &files, err);
	}
	fw_mini_close(&mini);
	for (size_t i = 0; i < c->dwo.count; i++)
		fw_elf_close(c->dwo.data[i].elf);
	fw_vec_deinit(&c->dwo);
	fw_elf_close(files.alt);
	fw_elf_close(files.debug);
	fw_elf_close(files.elf);
	return code;
}

/** Misbehaviour on demand, for the tests of the parent. False: work as usual. */
static bool play_trick(struct child *c)
{
	const char *t = c->trick;
	if (t == NULL)
		return false;
	if (strcmp(t, "crash") == 0 || (strcmp(t, "choke") == 0 && c->debug >= 0))
		abort();
	while (strcmp(t, "hang") == 0)
		pause();
	for (volatile unsigned i = 0; strcmp(t, "spin") == 0;)
		i++;
	if (strcmp(t, "eat") == 0) {
		enum { CHUNK = 64 << 20 };
		// volatile: a compiler may drop an allocation that nobody looks at
		for (void *volatile p; (p = malloc(CHUNK)) != NULL;)
			memset(p, 1, 4096);
		c->packet.error.code = FW_NO_MEMORY;
		return true;
	}
	if (strcmp(t, "open") == 0) {
		int fd = open("/dev/null", O_RDONLY);
		c->packet.error.code = FW_UNSUPPORTED;
		strcpy(c->packet.error.message, fd < 0 ? strerror(errno) : "opened");
		return true;
	}
	if (strcmp(t, "lie") == 0)
		return write(c->image, "this is no image", 16) == 16;
	if (strcmp(t, "mute") == 0)
		_exit(7);
	return false;
}

int fw_loader_main(int argc, char **argv)
{
	struct child c = { .elf = -1, .debug = -1, .alt = -1, .image = -1, .socket = -1 };
	if (!parse(&c, argc, argv))
		return 2;
	close_others(&c);
	set_limits(&c);
	enter_sandbox();
	struct fw_error err = { 0 };
	enum fw_code code = FW_OK;
	if (play_trick(&c)) {
		err = c.packet.error;
		code = err.code;
	} else {
		code = work(&c, &err);
	}
	done(&c, code, &err);
	return 0;
}
