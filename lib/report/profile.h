#ifndef FW_REPORT_PROFILE_H
#define FW_REPORT_PROFILE_H

#include "lib/base/out.h"
#include "lib/report/report.h"
#include "lib/snapshot/recording.h"

/**
 * The profile: everything that a writer of samples prints, composed in one place
 * (profile_compose.c) from a recording. Stacks are a prefix tree of distinct
 * places, each named once. Writers only read it.
 */

/** One function at a place: an inlined call, or the function itself (the last). */
struct fw_profile_line {
	struct fw_str function;		// {NULL,0}: not known
	struct fw_str file;		// {NULL,0}: not known
	uint32_t line;			// 0: not known
	uint64_t function_offset;	// of the pc in the function; the last line only
};

/** A distinct place: a program counter of a module, or of no module. */
struct fw_profile_frame {
	uint32_t module;		// index into modules, or FW_NO_MODULE
	uint64_t pc;			// raw: offset from the module's base; without module: the address
	uint64_t lookup;		// what names were looked up by, likewise
	enum fw_trust trust;		// of the frame, FW_TRUST_PREWALKED for recorded chains
	bool kernel;			// the kernel's
	bool jit;			// code that was made at run time
	bool truncated;			// marker: the stack was cut off here (no pc)
	uint32_t first_line, num_lines;	// innermost inlined call first; num_lines >= 1
};

struct fw_profile_module {
	struct fw_str path;		// as recorded: "/usr/lib/...", "[vdso]", "[kernel.kallsyms]"
	struct fw_str name;		// base name
	struct fw_ident build_id;	// as recorded, or the file's; n 0: none
	bool id_recorded;		// false: the file at that path was believed
	uint64_t base;			// a base it was mapped at (the first seen)
	uint64_t size, file_offset;	// of that mapping
	uint64_t link_base;		// address in the file = pc + link_base
	const struct fw_symbol_file *symbols;	// never NULL
	const char *used_path;		// file the names came from; NULL: none
	uint64_t samples, frames;	// that passed through it
};

/** Prefix tree: node 0 is the root, of no frame; a parent's number is lower than its children's. */
struct fw_profile_node { uint32_t parent, frame; };

/** Samples of equal thread name, event and stack (and thread, where asked for). */
struct fw_profile_stack {
	uint32_t node;			// innermost frame
	uint32_t thread;		// index into threads
	uint32_t event;
	uint64_t samples, weight;	// weight: sum of periods
};

struct fw_profile_thread {
	uint32_t pid, tid;		// 0 where threads of one name were merged
	struct fw_str name;
};

struct fw_profile_sample {		// kept only with options.samples, in time order
	uint64_t time, period, index;
	uint32_t thread, event, cpu, node;
	uint32_t space;			// for fw_profile_address()
};

struct fw_profile_options {
	bool no_inline;
	bool samples;			// keep every sample, not only distinct stacks
	bool per_thread;		// do not merge threads of one name
	bool kernel;			// the kernel's part of the stack
	bool repair;			// complete truncated stacks (profile_repair.h); one job
	uint32_t max_frames;
	unsigned jobs;			// 0: one per CPU
	// filters; empty: all
	struct fw_str comm;
	bool have_pid, have_tid, have_time;
	uint32_t pid, tid;
	uint64_t time_from, time_to;	// nanoseconds of the recording's clock, both included
	struct fw_str event;
	const char *kallsyms;		// of the recorded kernel; NULL: found, see profile_kernel.h
	const char *running_kallsyms, *kernel_notes, *kernel_release;	// of this system, or NULL
	const char *jit;		// perf map or jitdump, or a folder of them; NULL: none
	const char *perf_maps;		// folder where JITs leave perf-PID.map; NULL: none
	const char *vdso;		// file with the vDSO's image; NULL: none
	void (*progress)(void *context, uint64_t samples);	// may be NULL; one thread calls it
	void *progress_context;
};

struct fw_profile {
	const struct fw_recording *recording;
	const char *path;
	struct fw_profile_frame *frames;
	uint32_t num_frames;
	struct fw_profile_line *lines;
	uint32_t num_lines;
	struct fw_profile_node *nodes;
	uint32_t num_nodes;
	struct fw_profile_stack *stacks;	// in an order that does not depend on the number of jobs
	uint32_t num_stacks;
	struct fw_profile_sample *samples;
	uint64_t num_samples;
	struct fw_profile_thread *threads;
	uint32_t num_threads;
	struct fw_profile_module *modules;
	uint32_t num_modules;
	// for the summary
	uint64_t samples_read, samples_used, samples_bad, samples_empty, samples_repaired;
	uint64_t frames_walked;
	uint64_t stops[FW_STOP_COUNT];	// why walks ended
	uint64_t trusts[FW_TRUST_COUNT];	// frames by trust
	uint64_t first_time, last_time;
	uint64_t started;		// nanoseconds since 1970 at first_time; 0: unknown
	uint32_t deepest;		// frames
	void *private;
};

FW_MUST_CHECK enum fw_code fw_profile_create(struct fw_recording *recording, const char *path,
					     struct fw_symbols *symbols,
					     const struct fw_profile_options *options,
					     struct fw_profile **ret, struct fw_error *err);
void fw_profile_destroy(struct fw_profile *p);

/** Absolute address of a frame's raw pc in the process that @p space was of. */
uint64_t fw_profile_address(const struct fw_profile *p, uint32_t space,
			    const struct fw_profile_frame *frame);
/** Load address of a module in @p space; 0 when it was not mapped there. */
uint64_t fw_profile_base(const struct fw_profile *p, uint32_t space, uint32_t module);

// Writers. Each writes a whole profile; errors stick in @p out.

struct fw_folded_options { bool no_inline; bool annotate; bool weight; };
/** "comm;root;...;leaf COUNT", one line a distinct stack, sorted by text. */
void fw_profile_write_folded(const struct fw_profile *p, const struct fw_folded_options *o,
			     struct fw_out *out);
/** perf script's text; needs samples, and threads by themselves (per_thread) for their pids. */
void fw_profile_write_perf(const struct fw_profile *p, struct fw_out *out);
void fw_profile_write_json(const struct fw_profile *p, bool pretty, struct fw_out *out);
/** One object a sample; needs samples. */
void fw_profile_write_ndjson(const struct fw_profile *p, struct fw_out *out);
/**
 * profile.proto, as it is. On disk it is to be gzip (profile.proto's own words), so the
 * caller calls fw_out_gzip() first, unless the output's name ends in ".pb".
 */
void fw_profile_write_pprof(const struct fw_profile *p, struct fw_out *out);
/** Firefox Profiler's processed profile; needs samples and per_thread. Gzip where the name says. */
void fw_profile_write_firefox(const struct fw_profile *p, struct fw_out *out);
/** One self-contained page. @p before: NULL, or show the difference in red and blue. */
void fw_profile_write_flamegraph(const struct fw_profile *p, const struct fw_profile *before,
				 struct fw_out *out);
/** "stack before after", as difffolded does. */
void fw_profile_write_diff(const struct fw_profile *before, const struct fw_profile *after,
			   struct fw_out *out);
void fw_profile_write_summary(const struct fw_profile *p, struct fw_out *out);
void fw_profile_write_summary_json(const struct fw_profile *p, bool pretty, struct fw_out *out);

#endif
