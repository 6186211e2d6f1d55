#ifndef FW_SNAPSHOT_RECORDING_H
#define FW_SNAPSHOT_RECORDING_H

#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "lib/base/vec.h"
#include "lib/rules/cpu.h"
#include "lib/rules/regs.h"
#include "lib/snapshot/snapshot.h"
#include "lib/snapshot/spaces.h"

/**
 * A recording: samples of registers and stacks with the address spaces they were
 * taken in. Samples come in batches of raw records in file order; any thread may
 * take the next batch and decode it, so that several workers share one recording.
 * Memory is bounded: a batch, the maps, and for compressed or piped input the data
 * of the rounds under way; never a copy of the file.
 */
struct fw_event_info {
	struct fw_str name;		// "cpu-clock:u"; never empty
	uint32_t type;
	uint64_t config;
	bool kernel, user;		// not excluded
	bool have_stack;		// samples hold registers and a copy of the stack
	bool have_chain, have_time, have_cpu, have_period;
	uint64_t frequency;		// 0: a fixed period
	uint32_t stack_asked;		// bytes of stack that were asked for
};

struct fw_recording_counts {
	uint64_t samples;		// read so far
	uint64_t lost_events, lost_samples;
	uint64_t unknown_records, bad_records;
	uint64_t throttled;
	uint64_t gaps;			// breaks in the stream: loss, suspended trace
};

struct fw_recording {
	struct fw_arena arena;
	const char *format;		// "perf.data", "framewalk-snapshot"
	const struct fw_cpu *cpu;	// of the recording machine
	bool big_endian;
	bool monotonic;			// times are CLOCK_MONOTONIC's
	bool compressed, piped, killed;	// killed: the recorder never finished the file
	struct fw_str hostname, os_release, version, arch, command_line;
	bool have_wall;			// wall_time, in nanoseconds since 1970, was at wall_at
	uint64_t wall_time, wall_at;	// of the recording's clock
	struct fw_event_info *events;
	uint32_t num_events;
	struct fw_spaces *spaces;
	FW_VEC(uint64_t) gap_times;	// when gaps were noticed, the first FW_MAX_GAPS; for
					// whoever takes the batches
	struct fw_recording_counts counts;	// complete once fw_recording_next() said NOT_FOUND
	struct fw_snapshot_note notes[FW_MAX_SNAPSHOT_NOTES];
	uint32_t num_notes;		// may exceed the array: only counted then
	void *private;			// the reader's
};

/** A sample as it stands in the recording; `index` counts samples in file order, from 0. */
struct fw_raw_sample { const uint8_t *data; uint32_t size; uint64_t index; };

struct fw_sample_batch {
	struct fw_raw_sample *samples;
	uint32_t count;
	void *private;			// what keeps `samples` and their data alive
};

enum fw_sample_abi { FW_ABI_NONE, FW_ABI_32, FW_ABI_64 };
enum fw_sample_mode { FW_MODE_UNKNOWN, FW_MODE_KERNEL, FW_MODE_USER, FW_MODE_HYPERVISOR,
		      FW_MODE_GUEST_KERNEL, FW_MODE_GUEST_USER };

/** One sample, decoded. Pointers view the batch. */
struct fw_sample {
	uint64_t index;
	uint64_t time;			// nanoseconds; in a recording without times (have_time)
					// the index, so that mappings are found by it
	uint32_t pid, tid;
	uint32_t cpu;			// UINT32_MAX: not recorded
	uint32_t event;			// index into events
	uint64_t period;		// weight; where not recorded the event's fixed period or 1
	uint64_t ip;			// as recorded; may differ from the registers' pc
	enum fw_sample_mode mode;
	enum fw_sample_abi abi;		// NONE: no user registers
	const struct fw_cpu *regs_cpu;	// whose numbering `regs` has: of the sampled task
	struct fw_regs regs;
	const uint8_t *stack;		// from the stack pointer up; NULL: none
	uint32_t stack_size;		// valid bytes (dyn_size)
	uint32_t stack_asked;		// bytes copied, stale ones included
	// callchain, innermost first; markers (from (uint64_t)-4095 on) say whose frames follow
	const uint8_t *chain;		// unaligned words: fw_sample_chain()
	uint32_t chain_words;		// all words, markers included
};

/**
 * Open a recording: a perf.data file (also its directory form, also piped) or a
 * framewalk-snapshot. @p path NULL: read from @p fd (a pipe). FW_UNSUPPORTED: no
 * recording; FW_MALFORMED, FW_LIMIT, FW_IO, FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_recording_open(const char *path, int fd, struct fw_recording **ret,
					     struct fw_error *err);
void fw_recording_destroy(struct fw_recording *r);

/**
 * Next batch of samples. All mappings that hold for their times are in `spaces`
 * when it returns. FW_NOT_FOUND: no more. Any thread; calls wait for each other.
 * A torn or corrupt rest of the input ends the samples and leaves a note.
 */
FW_MUST_CHECK enum fw_code fw_recording_next(struct fw_recording *r, struct fw_sample_batch *ret,
					     struct fw_error *err);
void fw_recording_release(struct fw_recording *r, struct fw_sample_batch *batch);

/** Decode; false: the record is malformed (counted by the caller). Any thread. */
bool fw_sample_decode(const struct fw_recording *r, const struct fw_raw_sample *raw,
		      struct fw_sample *ret);

/** One word of the callchain, in host order. */
uint64_t fw_sample_chain(const struct fw_recording *r, const struct fw_sample *s, uint32_t i);

/** True for a file's first bytes (at least 16) of a recording. */
bool fw_recording_sniff(const uint8_t *data, size_t size);

#endif
