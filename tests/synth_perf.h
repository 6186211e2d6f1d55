#ifndef FW_TESTS_SYNTH_PERF_H
#define FW_TESTS_SYNTH_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** perf.data made in the test, field by field, in either byte order. */
struct synth_perf {
	uint8_t *data;
	size_t n, capacity;
	bool big;
	size_t record;		// where the open record starts
};

struct synth_attr {
	uint32_t type;
	uint64_t config, period, sample_type, read_format, branch_type, regs_user;
	uint32_t stack_user;
	uint64_t flags;		// bit n: the nth bit field
	const uint64_t *ids;
	uint32_t num_ids;
};

void synth_perf_free(struct synth_perf *s);
void perf_put_u8(struct synth_perf *s, uint8_t v);
void perf_put_u16(struct synth_perf *s, uint16_t v);
void perf_put_u32(struct synth_perf *s, uint32_t v);
void perf_put_u64(struct synth_perf *s, uint64_t v);
void perf_put_bytes(struct synth_perf *s, const void *bytes, size_t n);
void perf_put_text(struct synth_perf *s, const char *text);	// NUL, padded to 8
void perf_set_u64(struct synth_perf *s, size_t at, uint64_t v);

/** Header of file mode with its events; the data section follows. */
void synth_perf_begin(struct synth_perf *s, const struct synth_attr *attrs, size_t count);
/** Header of pipe mode, with the events as records. */
void synth_perf_begin_pipe(struct synth_perf *s, const struct synth_attr *attrs, size_t count);
/** The data section is complete (file mode). */
void synth_perf_end(struct synth_perf *s);
/** Table of feature sections, after synth_perf_end(): numbers ascending. */
void synth_perf_features(struct synth_perf *s, const uint32_t *features, size_t count);
/** The nth feature's bytes start here and end at the next call or perf_feature_close(). */
void perf_feature_open(struct synth_perf *s, size_t nth);
void perf_feature_close(struct synth_perf *s, size_t nth);
void perf_put_string(struct synth_perf *s, const char *text);	// u32 length, padded to 64

void perf_record_open(struct synth_perf *s, uint32_t type, uint16_t misc);
void perf_record_close(struct synth_perf *s);

void perf_put_mmap2(struct synth_perf *s, uint32_t pid, uint64_t start, uint64_t length,
		 uint64_t offset, uint32_t prot, const char *path);
void perf_put_comm(struct synth_perf *s, uint32_t pid, uint32_t tid, const char *name);

/** An event with all that perf asks for, and its records: the end of one that is no sample, and
 *  a sample. Registers are 0x100 + their place; the stack has 32 bytes, @p valid good ones. */
extern const struct synth_attr synth_perf_attr;
void perf_put_trailer(struct synth_perf *s, uint32_t pid, uint64_t time);
void perf_put_sample(struct synth_perf *s, uint32_t pid, uint64_t time, uint16_t mode,
		     uint64_t abi, uint64_t valid);

#endif
