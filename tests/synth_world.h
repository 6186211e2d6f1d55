#ifndef TESTS_SYNTH_WORLD_H
#define TESTS_SYNTH_WORLD_H

#include "lib/walk/walk.h"

/**
 * A crashed process built in a test: modules with symbol text, code bytes,
 * stack words, regions. Everything is small and fixed in size.
 */
struct world {
	struct fw_snapshot s;
	struct fw_module_info modules[8];
	struct fw_image *images[8];
	struct fw_region regions[16];
	struct fw_segment segments[16];
	uint32_t mapped[8];
	struct fw_thread_info thread;
	struct fw_walk_result result;
	uint8_t bytes[16][4096];
	uint32_t num_segments;
	uint32_t max_frames;
};

void world_init(struct world *w, enum fw_cpu_id cpu, enum fw_os os);
/** @p sym: text of a symbol file (NULL: none). The MODULE line is put in front. */
void world_module(struct world *w, uint64_t base, uint64_t size, const char *sym);
void world_bytes(struct world *w, uint64_t address, const void *data, size_t n);
/** Words of the CPU's size, little-endian, from @p address up; ends with END. */
void world_stack(struct world *w, uint64_t address, ...);
#define END UINT64_C(0xe0de0de0de0de0de)
void world_region(struct world *w, uint64_t start, uint64_t end, unsigned permissions);
void world_reg(struct world *w, const char *name, uint64_t value);
void world_walk(struct world *w);
void world_deinit(struct world *w);

/** Fails the test unless frame @p i is as said. */
void expect_frame(const struct world *w, size_t i, uint64_t pc, enum fw_trust trust);
/** Fails unless there are just n frames and the walk ended so. */
void expect_end(const struct world *w, size_t n, enum fw_stop stop);

#endif
