#include "lib/snapshot/perf.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {	// the file's header
	HEADER_SIZE = 8, HEADER_ATTR_SIZE = 16, HEADER_ATTRS = 24, HEADER_DATA = 40,
	HEADER_FEATURES = 72, FILE_HEADER = 104, PIPE_HEADER = 16, NUM_FEATURES = 256,
	FEATURE_BUILD_ID = 2, FEATURE_EVENT_DESC = 12,
	BATCH_SAMPLES = 512, BATCH_BYTES = 4 << 20,
};
#define MAGIC UINT64_C(0x32454c4946524550)	// "PERFILE2"
#define MAGIC_SWAPPED UINT64_C(0x50455246494c4532)

bool fw_perf_sniff(const uint8_t *data, size_t size)
{
	return size >= 8 && (!memcmp(data, "PERFILE2", 8) || !memcmp(data, "2ELIFREP", 8) ||
			     !memcmp(data, "PERFFILE", 8));
}

static void destroy(struct fw_recording *r)
{
	struct perf *p = perf_of(r);
	perf_stream_deinit(p);
	for (size_t i = 0; i < p->files.count; i++)
		fw_file_close(&p->files.data[i]);
	fw_vec_deinit(&p->files);
	fw_vec_deinit(&p->parts);
	fw_vec_deinit(&p->attrs);
	fw_vec_deinit(&p->events);
	free(p->ids.keys);
	free(p->ids.events);
	pthread_mutex_destroy(&p->lock);
}

/** What is only known when all was read. */
static void finish(struct perf *p)
{
	uint64_t left_out = fw_spaces_left_out(p->r->spaces);
	if (p->finished)
		return;
	p->finished = true;
	if (left_out)
		fw_recording_note(p->r, "mappings", "%llu are left out: too many",
				  (unsigned long long)left_out);
	if (!p->r->counts.samples)
		fw_recording_note(p->r, "recording", "holds no samples");
}

/** Samples from where the last batch ended; count 0: the part has no more. */
static bool collect(struct perf *p, struct fw_sample_batch *batch)
{
	const struct perf_part *part = &p->parts.data[p->part];
	uint64_t pos = p->pos, from = pos, size;
	while (batch->count < BATCH_SAMPLES && pos - from < BATCH_BYTES &&
	       (size = perf_record_size(p, part->data + pos, part->size - pos))) {
		const uint8_t *at = part->data + pos;
		pos += size;
		if (perf_u32(p, at) == PERF_RECORD_SAMPLE) {
			batch->samples[batch->count++] = (struct fw_raw_sample){
				at, (uint32_t)size, p->next_index++ };
			continue;
		}
		uint64_t tail = perf_record_tail(p, at, size);
		if (tail > part->size - pos)
			tail = part->size - pos;
		pos += tail;
	}
	bool more = pos > from;
	p->pos = pos;
	return more;
}

static enum fw_code mapped_next(struct perf *p, struct fw_sample_batch *ret, struct fw_error *err)
{
	struct fw_sample_batch batch = { 0 };
	if (fw_alloc_should_fail() ||
	    !(batch.samples = malloc(BATCH_SAMPLES * sizeof(*batch.samples))))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for samples");
	batch.private = batch.samples;
	while (p->part < p->parts.count && !batch.count) {
		if (!collect(p, &batch)) {
			p->part++;
			p->pos = 0;
		}
	}
	p->r->counts.samples += batch.count;
	if (!batch.count) {
		free(batch.samples);
		return FW_NOT_FOUND;
	}
	*ret = batch;
	return FW_OK;
}

static enum fw_code next(struct fw_recording *r, struct fw_sample_batch *ret, struct fw_error *err)
{
	struct perf *p = perf_of(r);
	pthread_mutex_lock(&p->lock);
	enum fw_code code = p->streamed ? perf_stream_next(p, ret, err) : mapped_next(p, ret, err);
	if (code == FW_NOT_FOUND) {
		finish(p);
		fw_fail(err, FW_NOT_FOUND, NULL, "no more samples");
	}
	pthread_mutex_unlock(&p->lock);
	return code;
}

static void release(struct fw_recording *r, struct fw_sample_batch *batch)
{
	if (perf_of(r)->streamed)
		perf_stream_release(perf_of(r), batch);
	else
		free(batch->private);
}

static const struct fw_recording_ops ops = { next, release, perf_decode, destroy };

static struct perf *create(const uint8_t *head, struct fw_error *err)
{
	struct fw_recording *r = fw_recording_create("perf.data", &ops, sizeof(struct perf));
	if (!r) {
		(void)fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
		return NULL;
	}
	struct perf *p = perf_of(r);
	p->r = r;
	pthread_mutex_init(&p->lock, NULL);
	p->stream.in.fd = -1;
	uint64_t magic;
	memcpy(&magic, head, sizeof(magic));
	// Read as a number it is right on the machine that wrote it.
	p->swap = magic == MAGIC_SWAPPED;
	r->big_endian = head[0] == '2';
	return p;
}

/** Attributes: header's table of them, each followed by the place of its ids. */
static enum fw_code read_attrs(struct perf *p, const struct fw_bytes *f, struct fw_error *err)
{
	uint64_t attr_size = perf_u64(p, f->data + HEADER_ATTR_SIZE);
	uint64_t at = perf_u64(p, f->data + HEADER_ATTRS);
	uint64_t size = perf_u64(p, f->data + HEADER_ATTRS + 8);
	struct fw_bytes entry, ids;
	uint32_t event;
	if (attr_size < 64 + 16 || attr_size > 4096 || !fw_bytes_has(f, at, size))
		return fw_fail(err, FW_MALFORMED, "offset 0x10", "the table of events is broken");
	for (uint64_t i = 0; i < size / attr_size; i++) {
		uint64_t offset, length, know = 0;
		if (!fw_bytes_range(f, at + i * attr_size, attr_size, &entry))
			break;
		know = attr_size - 16;
		uint64_t own = perf_u32(p, entry.data + 4);
		if (own >= 64 && own < know)
			know = own;
		enum fw_code code = perf_add_attr(p, entry.data, know, &event, err);
		if (code != FW_OK)
			return code;
		offset = perf_u64(p, entry.data + attr_size - 16);
		length = perf_u64(p, entry.data + attr_size - 8);
		if (!length)
			continue;
		if (!fw_bytes_range(f, offset, length, &ids))
			return fw_fail(err, FW_MALFORMED, NULL, "the ids of event %u leave "
				       "the file", event);
		code = perf_add_ids(p, event, ids.data, length / 8, err);
		if (code != FW_OK)
			return code;
	}
	return FW_OK;
}

/** Feature sections: a table of places behind the data, one a bit. */
static void read_features(struct perf *p, const struct fw_bytes *f, uint64_t table, bool build_ids)
{
	struct fw_bytes section;
	for (uint32_t i = 0, n = 0; i < NUM_FEATURES; i++) {
		uint64_t word = perf_u64(p, f->data + HEADER_FEATURES + i / 64 * 8);
		if (!(word >> i % 64 & 1))
			continue;
		uint64_t entry = table + 16 * (uint64_t)n++, at, size;
		if (!fw_bytes_u64(f, entry, &at) || !fw_bytes_u64(f, entry + 8, &size)) {
			if (build_ids)
				fw_recording_note(p->r, "features", "the table leaves the file");
			return;
		}
		if ((i == FEATURE_BUILD_ID) != build_ids)
			continue;
		if (!fw_bytes_range(f, at, size, &section) || size > FW_MAX_FEATURE) {
			char place[32];
			snprintf(place, sizeof(place), "feature %u", i);
			fw_recording_note(p->r, place, "leaves the file");
			continue;
		}
		perf_feature(p, i, section.data, section.size);
	}
}

/** What stands behind the last whole record. */
static void check_end(struct perf *p, const struct perf_part *part, uint64_t pos)
{
	char place[32];
	if (pos >= part->size)
		return;
	snprintf(place, sizeof(place), "data 0x%llx", (unsigned long long)pos);
	uint64_t left = part->size - pos;
	const uint8_t *at = part->data + pos;
	bool broken = left >= PERF_HEADER && perf_u32(p, at) < PERF_RECORD_SIMPLEPERF &&
		      perf_u16(p, at + 6) < PERF_HEADER;
	fw_recording_note(p->r, place, "%s; %llu bytes are not read",
			  broken ? "a record without a size" : "ends in the middle of a record",
			  (unsigned long long)left);
}

/**
 * First pass: everything but samples. True: a compressed record stands at @p ret_pos
 * of this part, so the recording has to be read as a stream.
 */
static bool scan(struct perf *p, const struct perf_part *part, uint64_t *ret_pos)
{
	enum { AHEAD = 4 };
	uint64_t pos = 0, size, time = 0;
	while ((size = perf_record_size(p, part->data + pos, part->size - pos))) {
		const uint8_t *at = part->data + pos;
		uint32_t type = perf_u32(p, at);
		// Samples mostly have one size.
		if (size * AHEAD < part->size - pos)
			__builtin_prefetch(at + size * AHEAD);
		if (type == PERF_RECORD_COMPRESSED || type == PERF_RECORD_COMPRESSED2) {
			*ret_pos = pos;
			return true;
		}
		pos += size;
		if (type == PERF_RECORD_SAMPLE) {
			p->next_index++;
			continue;
		}
		perf_record(p, at, size, true, &time);
		uint64_t tail = perf_record_tail(p, at, size);
		pos += tail < part->size - pos ? tail : part->size - pos;
	}
	check_end(p, part, pos);
	return false;
}

static enum fw_code scan_parts(struct perf *p, struct fw_error *err)
{
	for (size_t i = 0; i < p->parts.count; i++) {
		uint64_t at;
		if (!scan(p, &p->parts.data[i], &at))
			continue;
		// Once more from the start, as a stream. Counts are made anew.
		p->r->compressed = true;
		p->r->counts = (struct fw_recording_counts){ 0 };
		p->next_index = 0;
		p->streamed = true;
		p->stream.fed_until = i ? 0 : at;
		return perf_stream_start(p, err);
	}
	p->next_index = 0;
	return FW_OK;
}

/** Header of file mode: everything that describes the data. */
static enum fw_code read_header(struct perf *p, const struct fw_bytes *f, uint64_t *ret_at,
				uint64_t *ret_size, struct fw_error *err)
{
	if (f->size < FILE_HEADER || perf_u64(p, f->data + HEADER_SIZE) != FILE_HEADER)
		return fw_fail(err, FW_MALFORMED, "offset 0x8", "the file's header is broken");
	enum fw_code code = read_attrs(p, f, err);
	if (code != FW_OK)
		return code;
	uint64_t at = perf_u64(p, f->data + HEADER_DATA);
	uint64_t size = perf_u64(p, f->data + HEADER_DATA + 8);
	if (at > f->size)
		return fw_fail(err, FW_MALFORMED, "offset 0x28", "the data leave the file");
	p->r->killed = size == 0;
	if (p->r->killed) {
		size = f->size - at;
		if (size)
			fw_recording_note(p->r, "recording",
					  "the recorder did not finish the file");
	} else if (size > f->size - at) {
		fw_recording_note(p->r, "data", "%llu of %llu bytes are missing",
				  (unsigned long long)(size - (f->size - at)),
				  (unsigned long long)size);
		size = f->size - at;
	} else {
		read_features(p, f, at + size, false);
	}
	*ret_at = at;
	*ret_size = size;
	return perf_settle(p, err);
}

static enum fw_code refuse_old(const struct fw_file *file, struct fw_error *err)
{
	if (file->size >= 8 && !memcmp(file->data, "PERFFILE", 8))
		return fw_fail(err, FW_UNSUPPORTED, "offset 0x0",
			       "a perf.data file of the first version (before Linux 2.6.38)");
	if (file->size < PIPE_HEADER)
		return fw_fail(err, FW_MALFORMED, "offset 0x8", "the file's header is broken");
	return FW_OK;
}

static enum fw_code open_pipe_file(struct perf *p, const struct fw_file *file, struct fw_error *err)
{
	p->r->piped = true;
	p->streamed = true;
	struct perf_part part = { file->data + PIPE_HEADER, file->size - PIPE_HEADER };
	if (!fw_vec_push(&p->parts, part))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
	enum fw_code code = perf_stream_start(p, err);
	return code == FW_OK ? perf_stream_header(p, err) : code;
}

/** A file's own data are its first part; more parts may have been added before. */
static enum fw_code open_data(struct perf *p, const struct fw_file *file, struct fw_error *err)
{
	struct fw_bytes f = { file->data, file->size, p->swap };
	uint64_t at = 0, size = 0;
	if (perf_u64(p, file->data + HEADER_SIZE) == PIPE_HEADER)
		return open_pipe_file(p, file, err);
	enum fw_code code = read_header(p, &f, &at, &size, err);
	if (code != FW_OK)
		return code;
	if (!fw_vec_push(&p->parts, ((struct perf_part){ file->data + at, size })))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
	for (size_t i = 1; i < p->files.count; i++) {
		const struct fw_file *more = &p->files.data[i];
		if (!fw_vec_push(&p->parts, ((struct perf_part){ more->data, more->size })))
			return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
	}
	code = scan_parts(p, err);
	if (code == FW_OK && !p->r->killed && at + size <= file->size)
		read_features(p, &f, at + size, true);
	return code;
}

enum fw_code fw_perf_open(struct fw_file *file, struct fw_recording **ret, struct fw_error *err)
{
	enum fw_code code = refuse_old(file, err);
	if (code != FW_OK)
		return code;
	struct perf *p = create(file->data, err);
	if (!p)
		return FW_NO_MEMORY;
	code = open_data(p, file, err);
	if (code == FW_OK && !fw_vec_push(&p->files, *file))
		code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
	if (code != FW_OK) {
		fw_recording_destroy(p->r);
		return code;
	}
	*ret = p->r;
	return FW_OK;
}

enum fw_code fw_perf_open_pipe(int fd, const uint8_t head[16], struct fw_recording **ret,
			       struct fw_error *err)
{
	struct perf *p = create(head, err);
	if (!p)
		return FW_NO_MEMORY;
	enum fw_code code;
	if (!memcmp(head, "PERFFILE", 8) || perf_u64(p, head + HEADER_SIZE) != PIPE_HEADER) {
		code = fw_fail(err, FW_UNSUPPORTED, "offset 0x8",
			       "a perf.data file through a pipe: give its name, or record "
			       "with -o -");
	} else {
		p->r->piped = true;
		p->streamed = true;
		p->stream.in.fd = fd;
		code = perf_stream_start(p, err);
		if (code == FW_OK)
			code = perf_stream_header(p, err);
	}
	if (code != FW_OK) {
		fw_recording_destroy(p->r);
		return code;
	}
	*ret = p->r;
	return FW_OK;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/** Numbers N of the files "data.N" in @p path. */
static enum fw_code list_files(const char *path, uint32_t **ret, size_t *ret_n,
			       struct fw_error *err)
{
	FW_VEC(uint32_t) numbers = { 0 };
	enum fw_code code = FW_OK;
	struct dirent *e;
	DIR *dir = opendir(path);
	if (!dir)
		return fw_fail_errno(err, NULL, "cannot open");
	while (code == FW_OK && (e = readdir(dir))) {
		char *end;
		if (strncmp(e->d_name, "data.", 5) || e->d_name[5] < '0' || e->d_name[5] > '9')
			continue;
		unsigned long n = strtoul(e->d_name + 5, &end, 10);
		if (*end || n > UINT32_MAX)
			continue;
		if (numbers.count >= FW_MAX_RECORDING_FILES)
			code = fw_fail(err, FW_LIMIT, NULL, "more than %d files",
				       FW_MAX_RECORDING_FILES);
		else if (!fw_vec_push(&numbers, (uint32_t)n))
			code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
	}
	closedir(dir);
	if (code != FW_OK) {
		fw_vec_deinit(&numbers);
		return code;
	}
	if (numbers.count)
		qsort(numbers.data, numbers.count, sizeof(*numbers.data), by_number);
	*ret = numbers.data;
	*ret_n = numbers.count;
	return FW_OK;
}

static enum fw_code add_file(struct perf *p, const char *path, const char *name,
			     struct fw_error *err)
{
	char whole[4096];
	struct fw_file file;
	if (snprintf(whole, sizeof(whole), "%s/%s", path, name) >= (int)sizeof(whole))
		return fw_fail(err, FW_LIMIT, NULL, "the path is too long");
	enum fw_code code = fw_recording_map(&file, whole, err);
	if (code != FW_OK || fw_vec_push(&p->files, file))
		return code;
	fw_file_close(&file);
	return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
}

static enum fw_code open_files(struct perf *p, const char *path, const uint32_t *numbers, size_t n,
			       struct fw_error *err)
{
	enum fw_code code = FW_OK;
	for (size_t i = 0; i < n && code == FW_OK; i++) {
		char name[32];
		snprintf(name, sizeof(name), "data.%u", numbers[i]);
		code = add_file(p, path, name, err);
	}
	return code == FW_OK ? open_data(p, &p->files.data[0], err) : code;
}

enum fw_code fw_perf_open_directory(const char *path, struct fw_recording **ret,
				    struct fw_error *err)
{
	uint32_t *numbers = NULL;
	size_t n = 0;
	struct perf *p = NULL;
	struct fw_file first;
	char name[4096];
	if (snprintf(name, sizeof(name), "%s/data", path) >= (int)sizeof(name))
		return fw_fail(err, FW_LIMIT, NULL, "the path is too long");
	enum fw_code code = fw_recording_map(&first, name, err);
	if (code == FW_IO && err && err->os_errno == ENOENT)
		return fw_fail(err, FW_UNSUPPORTED, NULL, "a folder without perf's file \"data\"");
	if (code != FW_OK)
		return code;
	code = refuse_old(&first, err);
	if (code == FW_OK && !fw_perf_sniff(first.data, first.size))
		code = fw_fail(err, FW_UNSUPPORTED, NULL, "its file \"data\" is no perf.data");
	if (code == FW_OK)
		code = list_files(path, &numbers, &n, err);
	if (code == FW_OK && (!(p = create(first.data, err)) || !fw_vec_push(&p->files, first)))
		code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory for a recording");
	if (code != FW_OK)
		fw_file_close(&first);
	else
		code = open_files(p, path, numbers, n, err);
	free(numbers);
	if (code == FW_OK)
		*ret = p->r;
	else if (p)
		fw_recording_destroy(p->r);
	return code;
}
