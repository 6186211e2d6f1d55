#ifndef FW_SNAPSHOT_RECORDING_READER_H
#define FW_SNAPSHOT_RECORDING_READER_H

#include "lib/snapshot/recording.h"

/** What a format does; recording->private points to a struct that begins with one of these. */
struct fw_recording_reader {
	const struct fw_recording_ops *ops;
};

struct fw_recording_ops {
	enum fw_code (*next)(struct fw_recording *r, struct fw_sample_batch *ret,
			     struct fw_error *err);
	void (*release)(struct fw_recording *r, struct fw_sample_batch *batch);
	bool (*decode)(const struct fw_recording *r, const struct fw_raw_sample *raw,
		       struct fw_sample *ret);
	void (*destroy)(struct fw_recording *r);
};

/** An empty recording with its spaces; @p size of private, zeroed. NULL: no memory. */
struct fw_recording *fw_recording_create(const char *format, const struct fw_recording_ops *ops,
					 size_t size);

__attribute__((format(printf, 3, 4)))
void fw_recording_note(struct fw_recording *r, const char *place, const char *format, ...);

/** A regular file, mapped whatever its size: samples are read once. As fw_file_open(). */
FW_MUST_CHECK enum fw_code fw_recording_map(struct fw_file *file, const char *path,
					    struct fw_error *err);

/** Readers of one format. They take @p file over when they succeed. */
bool fw_perf_sniff(const uint8_t *data, size_t size);
FW_MUST_CHECK enum fw_code fw_perf_open(struct fw_file *file, struct fw_recording **ret,
					struct fw_error *err);
/** @p head: the first 16 bytes, which were read from @p fd already. */
FW_MUST_CHECK enum fw_code fw_perf_open_pipe(int fd, const uint8_t head[16],
					     struct fw_recording **ret, struct fw_error *err);
FW_MUST_CHECK enum fw_code fw_perf_open_directory(const char *path, struct fw_recording **ret,
						  struct fw_error *err);

#endif
