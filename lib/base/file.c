#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/decompress.h"
#include "lib/base/file.h"
#include "lib/base/limits.h"
#include "lib/base/pages.h"

static enum fw_code no_memory(struct fw_error *err)
{
	return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory while reading");
}

/** Open for reading without ever blocking, whatever @p path turns out to be. */
static enum fw_code open_regular(const char *path, int *ret, struct stat *ret_st,
				 struct fw_error *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fw_fail_errno(err, NULL, "cannot open");
	*ret = fd;
	if (fstat(fd, ret_st) < 0)
		return fw_fail_errno(err, NULL, "cannot stat");
	return FW_OK;
}

static enum fw_code refuse_special(const struct stat *st, struct fw_error *err)
{
	if (S_ISREG(st->st_mode))
		return FW_OK;
	return fw_fail(err, FW_UNSUPPORTED, NULL, S_ISDIR(st->st_mode) ? "is a directory"
								      : "not a regular file");
}

static ssize_t read_some(int fd, void *to, size_t n)
{
	for (;;) {
		ssize_t got = read(fd, to, n);
		if (got >= 0 || (errno != EINTR && errno != EAGAIN))
			return got;
		struct pollfd p = { .fd = fd, .events = POLLIN };
		if (errno == EAGAIN && poll(&p, 1, -1) < 0 && errno != EINTR)
			return -1;
	}
}

/** Read from where @p fd stands to its end. */
static enum fw_code read_stream(int fd, uint64_t max_size, struct fw_pages *ret,
				struct fw_error *err)
{
	struct fw_pages p = { 0 };
	enum fw_code code = FW_OK;
	for (;;) {
		if (p.size == p.capacity &&
		    !fw_pages_reserve(&p, p.capacity ? p.capacity * 2 : 1048576)) {
			code = no_memory(err);
			break;
		}
		ssize_t n = read_some(fd, p.data + p.size, p.capacity - p.size);
		if (n < 0)
			code = fw_fail_errno(err, NULL, "cannot read");
		if (n <= 0)
			break;
		p.size += (uint64_t)n;
		if (p.size > max_size) {
			code = fw_fail(err, FW_LIMIT, NULL, "larger than %llu bytes",
				       (unsigned long long)max_size);
			break;
		}
	}
	if (code == FW_OK && !fw_pages_trim(&p))
		code = no_memory(err);
	if (code == FW_OK)
		*ret = p;
	else
		fw_pages_deinit(&p);
	return code;
}

/** Read at most @p size bytes from the start; fewer when the file shrank meanwhile. */
static enum fw_code read_whole(int fd, uint64_t size, struct fw_pages *ret, struct fw_error *err)
{
	struct fw_pages p = { 0 };
	if (!fw_pages_reserve(&p, size))
		return no_memory(err);
	enum fw_code code = fw_pread_all(fd, p.data, size, 0, &p.size, err);
	if (code != FW_OK) {
		fw_pages_deinit(&p);
		return code;
	}
	*ret = p;
	return FW_OK;
}

static enum fw_code load_regular(int fd, uint64_t size, uint64_t read_below, uint64_t max_size,
				 struct fw_pages *ret, bool *mapped, struct fw_error *err)
{
	*mapped = false;
	if (size == 0)		// empty, or a file of /proc that does not tell
		return read_stream(fd, max_size, ret, err);
	if (size < read_below)
		return read_whole(fd, size, ret, err);
	if (size > PTRDIFF_MAX)
		return no_memory(err);
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return errno == ENOMEM ? no_memory(err) : fw_fail_errno(err, NULL, "cannot map");
	*ret = (struct fw_pages){ map, size, size };
	*mapped = true;
	return FW_OK;
}

static void set_identity(struct fw_file *f, const struct stat *st)
{
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->disk_size = (uint64_t)st->st_size;
	f->mtime_ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
	f->ctime_ns = st->st_ctim.tv_sec * INT64_C(1000000000) + st->st_ctim.tv_nsec;
}

/** Turn what was read into @p f, decompressing it where needed. Takes @p p over in any case. */
static enum fw_code finish(struct fw_file *f, struct fw_pages *p, const struct stat *st,
			   uint64_t max_size, struct fw_error *err)
{
	enum fw_packing packing = fw_packing_of(p->data, p->size);
	if (packing != FW_PLAIN) {
		struct fw_pages plain;
		enum fw_code code = fw_decompress(packing, p->data, p->size, max_size, &plain, err);
		fw_pages_deinit(p);
		if (code != FW_OK)
			return code;
		*p = plain;
	}
	memset(f, 0, sizeof(*f));
	f->data = p->data;
	f->size = p->size;
	f->compressed = packing != FW_PLAIN;
	f->map = p->data;
	f->map_size = p->capacity;
	if (st)
		set_identity(f, st);
	return FW_OK;
}

static enum fw_code open_stdin(struct fw_file *f, uint64_t max_size, struct fw_error *err)
{
	struct stat st;
	struct fw_pages p;
	bool mapped;
	enum fw_code code;
	if (fstat(STDIN_FILENO, &st) < 0)
		return fw_fail_errno(err, NULL, "cannot stat");
	if (S_ISDIR(st.st_mode))
		return refuse_special(&st, err);
	// "framewalk - < file" is as cheap as naming the file.
	if (S_ISREG(st.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0)
		code = load_regular(STDIN_FILENO, (uint64_t)st.st_size, FW_READ_BELOW,
				    max_size, &p, &mapped, err);
	else
		code = read_stream(STDIN_FILENO, max_size, &p, err);
	return code == FW_OK ? finish(f, &p, NULL, max_size, err) : code;
}

static enum fw_code open_stat(struct fw_file *f, int fd, const struct stat *st,
			      uint64_t read_below, uint64_t max_size, struct fw_error *err)
{
	struct fw_pages p;
	bool mapped = false;
	enum fw_code code = refuse_special(st, err);
	if (code == FW_OK)
		code = load_regular(fd, (uint64_t)st->st_size, read_below, max_size, &p, &mapped,
				    err);
	if (code == FW_OK)
		code = finish(f, &p, st, max_size, err);
	if (code == FW_OK)
		f->mapped = mapped && !f->compressed;
	return code;
}

enum fw_code fw_file_open(struct fw_file *f, const char *path, uint64_t max_size,
			  struct fw_error *err)
{
	struct stat st;
	int fd = -1;
	if (strcmp(path, "-") == 0)
		return open_stdin(f, max_size, err);
	enum fw_code code = open_regular(path, &fd, &st, err);
	if (code == FW_OK)
		code = open_stat(f, fd, &st, FW_READ_BELOW, max_size, err);
	if (fd >= 0)
		close(fd);
	return code;
}

enum fw_code fw_file_open_fd(struct fw_file *f, int fd, uint64_t max_size, struct fw_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return fw_fail_errno(err, NULL, "cannot stat");
	return open_stat(f, fd, &st, FW_READ_BELOW, max_size, err);
}

enum fw_code fw_file_map_fd(struct fw_file *f, int fd, uint64_t max_size, struct fw_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return fw_fail_errno(err, NULL, "cannot stat");
	return open_stat(f, fd, &st, 0, max_size, err);
}

void fw_file_close(struct fw_file *f)
{
	if (f->map && f->map_size)
		munmap(f->map, f->map_size);
	memset(f, 0, sizeof(*f));
}

void fw_file_drop(struct fw_file *f, uint64_t upto)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t done = (uint64_t)((const uint8_t *)f->map - f->data);
	if (upto > f->size)
		upto = f->size;
	upto -= upto % page;
	// Unmapped rather than advised away: touching them again is a fault, not zeros.
	if (!f->map || upto <= done || munmap(f->map, upto - done) < 0)
		return;
	f->map = (uint8_t *)f->map + (upto - done);
	f->map_size -= upto - done;
}

void fw_file_cool(const struct fw_file *f, uint64_t from, uint64_t to)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (f->mapped && from < to && to <= f->size)
		madvise((void *)(f->data + from), to - from, MADV_DONTNEED);
}

static enum fw_code peek_fd(int fd, void *buffer, size_t n, size_t *ret_n, struct fw_error *err)
{
	uint8_t magic[FW_PACKING_BYTES];
	ssize_t got = pread(fd, magic, sizeof(magic), 0);
	if (got < 0)
		return fw_fail_errno(err, NULL, "cannot read");
	enum fw_packing packing = fw_packing_of(magic, (uint64_t)got);
	if (packing != FW_PLAIN)
		return fw_decompress_head(packing, fd, buffer, n, ret_n, err);
	uint64_t done;
	enum fw_code code = fw_pread_all(fd, buffer, n, 0, &done, err);
	if (code == FW_OK)
		*ret_n = (size_t)done;
	return code;
}

enum fw_code fw_file_peek(const char *path, void *buffer, size_t n, size_t *ret_n,
			  struct fw_error *err)
{
	struct stat st;
	int fd = -1;
	if (strcmp(path, "-") == 0)
		return fw_fail(err, FW_UNSUPPORTED, NULL, "standard input can be read only once");
	enum fw_code code = open_regular(path, &fd, &st, err);
	if (code == FW_OK)
		code = refuse_special(&st, err);
	if (code == FW_OK)
		code = peek_fd(fd, buffer, n, ret_n, err);
	if (fd >= 0)
		close(fd);
	return code;
}

enum fw_code fw_pread_all(int fd, void *out, uint64_t n, uint64_t offset, uint64_t *ret_n,
			  struct fw_error *err)
{
	*ret_n = 0;
	while (*ret_n < n) {
		ssize_t got = pread(fd, (char *)out + *ret_n, n - *ret_n,
				    (off_t)(offset + *ret_n));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fw_fail_errno(err, NULL, "cannot read");
		if (got == 0)
			break;
		*ret_n += (uint64_t)got;
	}
	return FW_OK;
}

enum fw_code fw_write_all(int fd, const void *data, size_t n, struct fw_error *err)
{
	const char *p = data;
	while (n) {
		ssize_t done = write(fd, p, n);
		if (done >= 0) {
			p += done;
			n -= (size_t)done;
			continue;
		}
		struct pollfd wait = { .fd = fd, .events = POLLOUT };
		if (errno == EAGAIN)	// somebody else made our output non-blocking
			poll(&wait, 1, -1);
		else if (errno != EINTR)
			return fw_fail_errno(err, NULL, "cannot write");
	}
	return FW_OK;
}
