#include "lib/report/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/arena.h"
#include "lib/base/limits.h"
#include "lib/report/made_index.h"

struct entry { uint64_t start; struct fw_str name; };

struct fw_perf_map {
	struct fw_file file;		// names are views of it
	FW_VEC(struct entry) entries;
	struct fw_made_index index;
	uint32_t skipped;
};

enum fw_code fw_made_open(const char *path, bool owned, struct fw_file *ret, struct fw_error *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (owned ? O_NOFOLLOW : 0));
	enum fw_code code;
	if (fd < 0 && owned && errno == ELOOP)
		return fw_fail(err, FW_UNSUPPORTED, NULL, "it is a link and was not followed");
	if (fd < 0)
		return fw_fail_errno(err, NULL, "cannot open");
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		code = fw_fail(err, FW_UNSUPPORTED, NULL, "it is no regular file");
	else if (owned && st.st_uid != 0 && st.st_uid != geteuid())
		code = fw_fail(err, FW_UNSUPPORTED, NULL,
			       "it belongs to another user and was not read; --jit takes it");
	else
		code = fw_file_open_fd(ret, fd, FW_MAX_JIT_FILE, err);
	close(fd);
	return code;
}

static void skip_0x(struct fw_text *t)
{
	if (t->end - t->p > 2 && t->p[0] == '0' && (t->p[1] | 0x20) == 'x')
		t->p += 2;
}

/** "START SIZE name"; the name is the rest of the line. */
static bool parse_line(struct fw_text t, struct entry *ret, uint64_t *ret_end)
{
	uint64_t size;
	fw_text_skip_blanks(&t);
	skip_0x(&t);
	if (!fw_text_hex(&t, &ret->start) || t.p == t.end || !fw_is_blank(*t.p))
		return false;
	fw_text_skip_blanks(&t);
	skip_0x(&t);
	if (!fw_text_hex(&t, &size) || t.p == t.end || !fw_is_blank(*t.p) || size == 0 ||
	    __builtin_add_overflow(ret->start, size, ret_end))
		return false;
	fw_text_skip_blanks(&t);
	if (t.end > t.p && t.end[-1] == '\r')
		t.end--;
	ret->name = (struct fw_str){ t.p, (size_t)(t.end - t.p) };
	return ret->name.n != 0 && ret->name.n <= FW_MAX_NAME;
}

static enum fw_code parse_all(struct fw_perf_map *m, const char *p, size_t size,
			      struct fw_error *err)
{
	const char *end = p + size;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct fw_made_span span = { .to = UINT64_MAX, .item = (uint32_t)m->entries.count };
		struct entry e;
		if (newline == NULL)
			newline = end;
		if (!parse_line((struct fw_text){ p, newline }, &e, &span.end)) {
			m->skipped += newline != p;
		} else if (m->entries.count >= FW_MAX_PERF_MAP) {
			return fw_fail(err, FW_LIMIT, NULL, "more than %d functions",
				       FW_MAX_PERF_MAP);
		} else {
			span.start = e.start;
			if (!fw_vec_push(&m->entries, e) || !fw_vec_push(&m->index.spans, span))
				return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
		}
		p = newline + 1;
	}
	if (m->entries.count == 0 && m->skipped != 0)
		return fw_fail(err, FW_MALFORMED, NULL, "no line of it is START SIZE name");
	if (fw_made_index_build(&m->index) != FW_OK)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	return FW_OK;
}

static enum fw_code parse_new(struct fw_perf_map *m, const char *text, size_t size,
			      struct fw_perf_map **ret, struct fw_error *err)
{
	enum fw_code code = parse_all(m, text, size, err);
	if (code != FW_OK)
		fw_perf_map_close(m);
	else
		*ret = m;
	return code;
}

enum fw_code fw_perf_map_parse(const char *text, size_t size, struct fw_perf_map **ret,
			       struct fw_error *err)
{
	struct fw_perf_map *m = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*m));
	if (m == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	return parse_new(m, text, size, ret, err);
}

enum fw_code fw_perf_map_open(const char *path, bool owned, struct fw_perf_map **ret,
			      struct fw_error *err)
{
	struct fw_file file;
	enum fw_code code = fw_made_open(path, owned, &file, err);
	if (code != FW_OK)
		return code;
	struct fw_perf_map *m = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*m));
	if (m == NULL) {
		fw_file_close(&file);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	m->file = file;
	return parse_new(m, (const char *)file.data, file.size, ret, err);
}

void fw_perf_map_close(struct fw_perf_map *m)
{
	if (m == NULL)
		return;
	fw_vec_deinit(&m->entries);
	fw_made_index_deinit(&m->index);
	fw_file_close(&m->file);
	free(m);
}

bool fw_perf_map_find(const struct fw_perf_map *m, uint64_t address, struct fw_str *ret_name,
		      uint64_t *ret_start)
{
	uint32_t item;
	if (!fw_made_index_find(&m->index, address, UINT64_MAX, &item))
		return false;
	*ret_name = m->entries.data[item].name;
	*ret_start = m->entries.data[item].start;
	return true;
}

uint32_t fw_perf_map_skipped(const struct fw_perf_map *m)
{
	return m->skipped;
}
