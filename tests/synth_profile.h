#ifndef TESTS_SYNTH_PROFILE_H
#define TESTS_SYNTH_PROFILE_H

#include "lib/report/profile.h"

/** Profiles built by hand: no recording is read and nothing is walked. */
enum { SYNTH_PROFILE_ITEMS = 512 };

struct synth_profile {
	struct fw_profile p;
	struct fw_recording r;
	struct fw_event_info events[8];
	struct fw_profile_frame frames[SYNTH_PROFILE_ITEMS];
	struct fw_profile_line lines[SYNTH_PROFILE_ITEMS];
	struct fw_profile_node nodes[SYNTH_PROFILE_ITEMS];
	struct fw_profile_stack stacks[SYNTH_PROFILE_ITEMS];
	struct fw_profile_sample samples[SYNTH_PROFILE_ITEMS];
	struct fw_profile_thread threads[SYNTH_PROFILE_ITEMS];
	struct fw_profile_module modules[16];
	struct fw_symbol_file symbol_files[16];
};

/** Of "perf.data": an amd64 recording with the one event "cpu-clock" at 1,000 Hz. */
struct synth_profile *synth_profile_create(void);
void synth_profile_destroy(struct synth_profile *b);
struct fw_event_info *synth_event(struct synth_profile *b, const char *name);
uint32_t synth_prof_thread(struct synth_profile *b, uint32_t pid, uint32_t tid, const char *name);
/** Mapped whole at @p base; @p id NULL: no build id; symbols loaded from the path itself. */
uint32_t synth_prof_module(struct synth_profile *b, const char *path, const char *id,
			   uint64_t base, uint64_t size);
/**
 * A frame. @p functions: innermost inlined call first, '\n' between; "" or NULL: one
 * line that has no name. Files are "/src/FUNCTION.c", lines 10, 11 ...
 */
uint32_t synth_prof_frame(struct synth_profile *b, uint32_t module, uint64_t pc,
			  const char *functions);
uint32_t synth_node(struct synth_profile *b, uint32_t parent, uint32_t frame);
/** Samples of @p thread and @p event that end at @p node, a millisecond each. */
void synth_stack(struct synth_profile *b, uint32_t node, uint32_t thread, uint32_t event,
		 uint64_t samples);
struct fw_profile_sample *synth_sample(struct synth_profile *b, uint32_t node, uint32_t thread,
				       uint32_t event, uint64_t time);

/**
 * What most tests use: in "app", main calls work, which has fast inlined, and malloc of
 * libc.so.6, which has no name there; 3 + 2 samples of thread "app", 1 in the kernel.
 */
struct synth_profile *synth_profile_small(void);

/** The text so far, NUL-terminated. */
const char *synth_profile_text(struct fw_out *out);

/** profile_perf.c compiled with address spaces of the test's own: tests/synth_profile_perf.c. */
void synth_write_perf(const struct fw_profile *p, struct fw_out *out);

#endif
