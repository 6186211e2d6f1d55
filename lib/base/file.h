#ifndef FW_BASE_FILE_H
#define FW_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/**
 * A whole input in memory, wherever it came from. Files below FW_READ_BELOW
 * are read into private anonymous pages (a file that shrinks cannot hurt);
 * larger ones are mapped read-only: a file truncated meanwhile raises SIGBUS,
 * which main() turns into a clean error exit. gzip (.gz) and zstd (.zst)
 * are recognised by magic, not by name, and decompressed (many members or
 * frames in a row allowed), bounded by max_size.
 */
struct fw_file {
	const uint8_t *data;
	uint64_t size;		// of data (decompressed)
	bool compressed;
	// identity of the file itself; all 0 for standard input
	uint64_t dev, ino, disk_size;
	int64_t mtime_ns, ctime_ns;
	// private
	void *map;
	uint64_t map_size;
	bool mapped;		// the file's own pages, not a copy
};

/**
 * Read the file at @p path ("-" is standard input). FW_IO, FW_LIMIT (larger
 * than @p max_size once decompressed; regular uncompressed files have no
 * cap), FW_MALFORMED (broken compression: what is wrong and where),
 * FW_NO_MEMORY. A directory, fifo or device other than stdin is FW_UNSUPPORTED;
 * opening never blocks. An empty file is FW_OK with size 0 and data not NULL.
 */
FW_MUST_CHECK enum fw_code fw_file_open(struct fw_file *f, const char *path,
					uint64_t max_size, struct fw_error *err);
/** Same from an open descriptor, which stays the caller's. */
FW_MUST_CHECK enum fw_code fw_file_open_fd(struct fw_file *f, int fd,
					   uint64_t max_size, struct fw_error *err);
/** The same, but mapped however small it is: for a process that may die of SIGBUS. */
FW_MUST_CHECK enum fw_code fw_file_map_fd(struct fw_file *f, int fd,
					  uint64_t max_size, struct fw_error *err);
void fw_file_close(struct fw_file *f);

/**
 * Give the pages of data[0 .. upto) back to the system: a one-pass parser
 * calls it every few MiB so that a file and its image are never whole in
 * memory together. The bytes must not be touched again.
 */
void fw_file_drop(struct fw_file *f, uint64_t upto);

/** The bytes [from, to) will not be read again soon: they need not stay in memory. */
void fw_file_cool(const struct fw_file *f, uint64_t from, uint64_t to);

/**
 * First bytes of the decompressed content, at most @p n, without reading the
 * whole file. *ret_n says how many. Used to sniff magics and MODULE lines.
 */
FW_MUST_CHECK enum fw_code fw_file_peek(const char *path, void *buffer, size_t n,
					size_t *ret_n, struct fw_error *err);

/**
 * Read n bytes at @p offset, restarting on EINTR and short reads; fewer only at the
 * file's end. *ret_n says how many, also on failure. FW_IO.
 */
FW_MUST_CHECK enum fw_code fw_pread_all(int fd, void *out, uint64_t n, uint64_t offset,
					uint64_t *ret_n, struct fw_error *err);

/** Write all n bytes, restarting on EINTR and short writes. FW_IO. */
FW_MUST_CHECK enum fw_code fw_write_all(int fd, const void *data, size_t n,
					struct fw_error *err);

#endif
