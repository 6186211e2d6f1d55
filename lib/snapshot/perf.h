#ifndef FW_SNAPSHOT_PERF_H
#define FW_SNAPSHOT_PERF_H

#include <pthread.h>

#include "lib/base/bytes.h"
#include "lib/base/limits.h"
#include "lib/base/vec.h"
#include "lib/base/zstream.h"
#include "lib/snapshot/recording_reader.h"

/*
 * perf.data, after tools/perf/Documentation/perf.data-file-format.txt and
 * include/uapi/linux/perf_event.h. Private to perf*.c.
 */
enum {	// perf_event_attr.sample_type
	PERF_IP = 1 << 0, PERF_TID = 1 << 1, PERF_TIME = 1 << 2, PERF_ADDR = 1 << 3,
	PERF_READ = 1 << 4, PERF_CALLCHAIN = 1 << 5, PERF_ID = 1 << 6, PERF_CPU = 1 << 7,
	PERF_PERIOD = 1 << 8, PERF_STREAM_ID = 1 << 9, PERF_RAW = 1 << 10,
	PERF_BRANCH_STACK = 1 << 11, PERF_REGS_USER = 1 << 12, PERF_STACK_USER = 1 << 13,
	PERF_IDENTIFIER = 1 << 16,
};

enum {	// bits of perf_event_attr's flags
	PERF_EXCLUDE_USER = 4, PERF_EXCLUDE_KERNEL = 5, PERF_FREQ = 10, PERF_SAMPLE_ID_ALL = 18,
	PERF_USE_CLOCKID = 25,
};

enum perf_record {
	PERF_RECORD_MMAP = 1, PERF_RECORD_LOST = 2, PERF_RECORD_COMM = 3, PERF_RECORD_EXIT = 4,
	PERF_RECORD_THROTTLE = 5, PERF_RECORD_UNTHROTTLE = 6, PERF_RECORD_FORK = 7,
	PERF_RECORD_READ = 8, PERF_RECORD_SAMPLE = 9, PERF_RECORD_MMAP2 = 10, PERF_RECORD_AUX = 11,
	PERF_RECORD_ITRACE_START = 12, PERF_RECORD_LOST_SAMPLES = 13, PERF_RECORD_SWITCH = 14,
	PERF_RECORD_KSYMBOL = 17, PERF_RECORD_KERNEL_LAST = 21,	// AUX_OUTPUT_HW_ID
	PERF_RECORD_USER = 64,		// from here on perf's own
	PERF_RECORD_HEADER_ATTR = 64, PERF_RECORD_TRACING_DATA = 66, PERF_RECORD_BUILD_ID = 67,
	PERF_RECORD_FINISHED_ROUND = 68, PERF_RECORD_AUXTRACE = 71, PERF_RECORD_EVENT_UPDATE = 78,
	PERF_RECORD_HEADER_FEATURE = 80, PERF_RECORD_COMPRESSED = 81,
	PERF_RECORD_COMPRESSED2 = 83, PERF_RECORD_USER_LAST = 84,	// BPF_METADATA
	PERF_RECORD_SIMPLEPERF = 32768,	// from here on simpleperf's: sizes have 32 bits
};

enum {
	PERF_MISC_CPUMODE = 7, PERF_MISC_13 = 1 << 13, PERF_MISC_MMAP_BUILD_ID = 1 << 14,
	PERF_MISC_BUILD_ID_SIZE = 1 << 15,
	PERF_HEADER = 8,		// bytes of a record's header
	PERF_BLOCK = 1 << 20,		// bytes of a block of a stream; records have 64 KiB at most
};

/** An event: what its records look like, worked out once. */
struct perf_attr {
	uint64_t sample_type, read_format, branch_type, regs_user, period;
	bool sample_id_all;
	// place in the body's 8-byte words, -1: not there
	int8_t at_id, at_ip, at_tid, at_time, at_cpu, at_period;
	uint8_t fixed;			// words before the first field of variable length
	int8_t id_from_end, time_from_end;	// of records that are no samples
	uint8_t num_regs;
	const struct fw_cpu *cpu[3];	// by enum fw_sample_abi
	uint8_t slot[3][64];		// register map's slot of the nth register; FW_NO_REG: none
	uint64_t minus_one;		// slots that an NMI in the kernel leaves as -1
};

struct perf_ids { uint64_t *keys; uint32_t *events; uint32_t mask, count; };

/** Records of one file, mapped. */
struct perf_part {
	const uint8_t *data;
	uint64_t size;
};

struct perf_block {
	struct perf_block *next;
	FW_VEC(struct fw_raw_sample) samples;
	uint32_t used, parsed;		// bytes of data
	uint8_t data[PERF_BLOCK];
};

struct perf_blocks { struct perf_block *first, **last; uint64_t bytes; };

/** Input of a stream: memory or a descriptor. */
struct perf_input {
	const uint8_t *data;
	uint64_t size, pos;
	int fd;				// -1: memory
	uint8_t *buffer;		// of fd, what data points to
	uint64_t capacity;
	bool ended;
};

struct perf_stream {
	struct perf_input in;
	struct fw_zstream *zstd;
	struct perf_block *block;	// being filled
	struct perf_blocks current, previous, ready;	// rounds
	struct perf_block *spare;
	uint64_t current_max, previous_max;	// latest time up to the round
	uint64_t fed_until;		// records before this place have fed the spaces already
	size_t part;			// of which the input is
	bool ended, started;		// started: a record of the kernel has come
	bool only_maps;			// first of two passes
	bool complete;			// all maps are known, or order is that of the file
	bool told_held;
};

struct perf {
	struct fw_recording_reader reader;
	struct fw_recording *r;
	pthread_mutex_t lock;
	bool swap;			// in the other byte order than the host's
	FW_VEC(struct perf_attr) attrs;	// as r->events
	FW_VEC(struct fw_event_info) events;
	struct perf_ids ids;
	int8_t id_at, id_from_end;	// place of the id that all events share; -1: none
	bool timeless;			// no event has a time: the number of samples so far is it
	FW_VEC(struct fw_file) files;
	FW_VEC(struct perf_part) parts;
	size_t part;			// where the next batch starts
	uint64_t pos;
	uint64_t next_index;
	bool streamed;
	struct perf_stream stream;
	bool told_unknown, told_bad, told_limit, finished;
};

static inline struct perf *perf_of(const struct fw_recording *r)
{
	return r->private;
}

static inline uint16_t perf_u16(const struct perf *p, const uint8_t *at)
{
	uint16_t v;
	memcpy(&v, at, sizeof(v));
	return p->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t perf_u32(const struct perf *p, const uint8_t *at)
{
	uint32_t v;
	memcpy(&v, at, sizeof(v));
	return p->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t perf_u64(const struct perf *p, const uint8_t *at)
{
	uint64_t v;
	memcpy(&v, at, sizeof(v));
	return p->swap ? __builtin_bswap64(v) : v;
}

// perf_attr.c
/** One perf_event_attr of @p size bytes (zero-extended); adds an event. */
FW_MUST_CHECK enum fw_code perf_add_attr(struct perf *p, const uint8_t *attr, uint64_t size,
					 uint32_t *ret, struct fw_error *err);
FW_MUST_CHECK enum fw_code perf_add_ids(struct perf *p, uint32_t event, const uint8_t *ids,
					uint64_t count, struct fw_error *err);
/** Event of an id; UINT32_MAX: unknown. */
uint32_t perf_event_of(const struct perf *p, uint64_t id);
/** When all attributes and the CPU are known. FW_MALFORMED: events cannot be told apart. */
FW_MUST_CHECK enum fw_code perf_settle(struct perf *p, struct fw_error *err);
void perf_name_event(struct perf *p, uint32_t event, struct fw_str name);

// perf_regs.c
/** CPU by feature ARCH ("x86_64"); with none, by the registers that were asked for. */
const struct fw_cpu *perf_cpu(struct fw_str arch, uint64_t regs_user);
void perf_map_registers(struct perf_attr *a, const struct fw_cpu *cpu);

// perf_feature.c
void perf_feature(struct perf *p, uint32_t feature, const uint8_t *data, uint64_t size);
void perf_build_id(struct perf *p, const uint8_t *record, uint64_t size);

// perf_record.c
/**
 * Any record but a sample: maps, names, counts. @p size is that of the whole record.
 * *ret_time is raised to the record's time. Locked.
 */
void perf_record(struct perf *p, const uint8_t *record, uint64_t size, bool feed,
		 uint64_t *ret_time);
/** Size of the record at @p at with @p left bytes behind it; 0: it is not whole or broken. */
uint64_t perf_record_size(const struct perf *p, const uint8_t *at, uint64_t left);
/** Bytes behind a record that its size does not count. */
uint64_t perf_record_tail(const struct perf *p, const uint8_t *record, uint64_t size);
void perf_bad(struct perf *p, const char *what);

// perf_sample.c
bool perf_decode(const struct fw_recording *r, const struct fw_raw_sample *raw,
		 struct fw_sample *ret);
/** Time of a sample; 0: it has none. */
uint64_t perf_sample_time(const struct perf *p, const uint8_t *record, uint64_t size);

// perf_stream.c
FW_MUST_CHECK enum fw_code perf_stream_start(struct perf *p, struct fw_error *err);
FW_MUST_CHECK enum fw_code perf_stream_next(struct perf *p, struct fw_sample_batch *ret,
					    struct fw_error *err);
void perf_stream_release(struct perf *p, struct fw_sample_batch *batch);
void perf_stream_deinit(struct perf *p);
/** Records up to the first one of the kernel: pipe mode's header. */
FW_MUST_CHECK enum fw_code perf_stream_header(struct perf *p, struct fw_error *err);

#endif
