#include "lib/snapshot/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/limits.h"
#include "lib/snapshot/recording_reader.h"

struct fw_recording *fw_recording_create(const char *format, const struct fw_recording_ops *ops,
					 size_t size)
{
	struct fw_arena arena;
	fw_arena_init(&arena, 0);
	struct fw_recording *r = fw_arena_array(&arena, 1, sizeof(*r));
	struct fw_recording_reader *reader = fw_arena_array(&arena, 1, size);
	if (!r || !reader || fw_spaces_create(&r->spaces) != FW_OK) {
		fw_arena_deinit(&arena);
		return NULL;
	}
	reader->ops = ops;
	r->arena = arena;
	r->format = format;
	r->cpu = fw_cpu_get(FW_CPU_UNKNOWN);
	r->private = reader;
	return r;
}

void fw_recording_destroy(struct fw_recording *r)
{
	if (!r)
		return;
	struct fw_recording_reader *reader = r->private;
	reader->ops->destroy(r);
	fw_spaces_destroy(r->spaces);
	fw_vec_deinit(&r->gap_times);
	// The recording lies in its own arena.
	struct fw_arena arena = r->arena;
	fw_arena_deinit(&arena);
}

void fw_recording_note(struct fw_recording *r, const char *place, const char *format, ...)
{
	if (r->num_notes < FW_MAX_SNAPSHOT_NOTES) {
		struct fw_snapshot_note *note = &r->notes[r->num_notes];
		va_list args;
		va_start(args, format);
		snprintf(note->place, sizeof(note->place), "%s", place);
		vsnprintf(note->message, sizeof(note->message), format, args);
		va_end(args);
	}
	if (r->num_notes < UINT32_MAX)
		r->num_notes++;
}

enum fw_code fw_recording_next(struct fw_recording *r, struct fw_sample_batch *ret,
			       struct fw_error *err)
{
	struct fw_recording_reader *reader = r->private;
	return reader->ops->next(r, ret, err);
}

void fw_recording_release(struct fw_recording *r, struct fw_sample_batch *batch)
{
	struct fw_recording_reader *reader = r->private;
	reader->ops->release(r, batch);
	*batch = (struct fw_sample_batch){ 0 };
}

bool fw_sample_decode(const struct fw_recording *r, const struct fw_raw_sample *raw,
		      struct fw_sample *ret)
{
	struct fw_recording_reader *reader = r->private;
	return reader->ops->decode(r, raw, ret);
}

bool fw_recording_sniff(const uint8_t *data, size_t size)
{
	return fw_perf_sniff(data, size);
}

/** Takes @p file over in any case. */
static enum fw_code open_file(struct fw_file *file, struct fw_recording **ret,
			      struct fw_error *err)
{
	enum fw_code code;
	if (file->size == 0)
		code = fw_fail(err, FW_UNSUPPORTED, NULL, "the file is empty");
	else if (fw_perf_sniff(file->data, file->size))
		code = fw_perf_open(file, ret, err);
	else
		code = fw_fail(err, FW_UNSUPPORTED, "offset 0x0",
			       "not a recording of a known format");
	if (code != FW_OK)
		fw_file_close(file);
	return code;
}

enum fw_code fw_recording_map(struct fw_file *file, const char *path, struct fw_error *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fw_fail_errno(err, NULL, "cannot open");
	enum fw_code code = fw_file_map_fd(file, fd, FW_MAX_INPUT, err);
	close(fd);
	return code;
}

static enum fw_code open_path(const char *path, struct fw_recording **ret, struct fw_error *err)
{
	struct fw_file file;
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return fw_perf_open_directory(path, ret, err);
	enum fw_code code = fw_recording_map(&file, path, err);
	return code == FW_OK ? open_file(&file, ret, err) : code;
}

static enum fw_code read_head(int fd, uint8_t head[16], size_t *ret, struct fw_error *err)
{
	size_t n = 0;
	while (n < 16) {
		ssize_t got = read(fd, head + n, 16 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fw_fail_errno(err, NULL, "cannot read");
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret = n;
	return FW_OK;
}

enum fw_code fw_recording_open(const char *path, int fd, struct fw_recording **ret,
			       struct fw_error *err)
{
	uint8_t head[16];
	size_t n = 0;
	struct stat st;
	struct fw_file file;
	if (path)
		return open_path(path, ret, err);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0) {
		enum fw_code code = fw_file_map_fd(&file, fd, FW_MAX_INPUT, err);
		return code == FW_OK ? open_file(&file, ret, err) : code;
	}
	enum fw_code code = read_head(fd, head, &n, err);
	if (code == FW_OK && n == 0)
		code = fw_fail(err, FW_UNSUPPORTED, NULL, "the file is empty");
	if (code == FW_OK && !fw_perf_sniff(head, n))
		code = fw_fail(err, FW_UNSUPPORTED, "offset 0x0",
			       "not a recording of a known format");
	return code == FW_OK ? fw_perf_open_pipe(fd, head, ret, err) : code;
}
