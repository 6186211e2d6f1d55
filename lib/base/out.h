#ifndef FW_BASE_OUT_H
#define FW_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

/**
 * Append-only output: a 64 KiB buffer in front of a descriptor, or a growing
 * buffer with a maximum. Writers never check each call: the first failure
 * sticks in out->failed and everything after it is dropped; fw_out_flush()
 * reports it.
 */
struct fw_out {
	char *data;
	size_t count, capacity;
	size_t max;		// of a memory buffer
	int fd;			// -1: memory only
	int failed;		// errno of the first failure, ENOMEM, or EFBIG past max
	struct fw_gzip *gzip;	// NULL: what is written goes to fd as it is
};

FW_MUST_CHECK enum fw_code fw_out_init_fd(struct fw_out *o, int fd, struct fw_error *err);
void fw_out_init_memory(struct fw_out *o, size_t max);
/**
 * From here on what reaches the descriptor is gzip (RFC 1952). fw_out_flush() ends
 * the member, so it is called once, at the end; what came before is written first.
 */
FW_MUST_CHECK enum fw_code fw_out_gzip(struct fw_out *o, struct fw_error *err);
void fw_out_deinit(struct fw_out *o);	// does not flush, does not close fd
/**
 * FW_IO with os_errno (EPIPE: the reader went away); of a memory buffer
 * FW_NO_MEMORY, or FW_LIMIT past max.
 */
enum fw_code fw_out_flush(struct fw_out *o, struct fw_error *err);

/** Writers that run out of memory and the like: from here on everything is dropped. */
void fw_out_fail(struct fw_out *o, int os_errno);

// out_gzip.c, for out.c: bytes to the descriptor; errno of a failure, or 0.
int fw_gzip_write_(struct fw_out *o, const char *s, size_t n, bool finish);
void fw_gzip_free_(struct fw_gzip *g);

void fw_out_slow_(struct fw_out *o, const char *s, size_t n);

static inline void fw_out_write(struct fw_out *o, const char *s, size_t n)
{
	if (n - 1 < o->capacity - o->count) {	// n == 0, where s may be NULL, is slow
		memcpy(o->data + o->count, s, n);
		o->count += n;
	} else {
		fw_out_slow_(o, s, n);
	}
}

static inline void fw_out_byte(struct fw_out *o, char c)
{
	if (o->count < o->capacity)
		o->data[o->count++] = c;
	else
		fw_out_slow_(o, &c, 1);
}

static inline void fw_out_str(struct fw_out *o, struct fw_str s)
{
	fw_out_write(o, s.s, s.n);
}

#define fw_out_lit(o, literal) fw_out_write(o, "" literal, sizeof(literal) - 1)

void fw_out_cstr(struct fw_out *o, const char *s);
void fw_out_dec(struct fw_out *o, uint64_t v);
/** Lower-case hex without prefix, at least @p width digits. */
void fw_out_hex(struct fw_out *o, uint64_t v, unsigned width);
/**
 * Text for people: valid UTF-8 as it is; control bytes (0x00-0x1f, 0x7f),
 * C1 controls and invalid bytes as \xNN, so nothing steers a terminal.
 */
void fw_out_safe(struct fw_out *o, const char *s, size_t n);
__attribute__((format(printf, 2, 3)))
void fw_out_printf(struct fw_out *o, const char *format, ...);	// results up to 4 KiB

#endif
