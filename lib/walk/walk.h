#ifndef FW_WALK_WALK_H
#define FW_WALK_WALK_H

#include "lib/base/vec.h"
#include "lib/image/image.h"
#include "lib/snapshot/snapshot.h"

/** How a frame was found. Names in JSON: fw_trust_name(). */
enum fw_trust {
	FW_TRUST_CONTEXT,	// the captured registers
	FW_TRUST_CFI,		// an unwind rule (STACK CFI, STACK WIN)
	FW_TRUST_CFI_SCAN,	// STACK WIN, whose return address had to be searched
	FW_TRUST_FRAME_POINTER,
	FW_TRUST_SCAN,		// found on the stack, a call before it seen
	FW_TRUST_LEAF,		// return address still in lr or on top of the stack
	FW_TRUST_PROLOGUE,
	FW_TRUST_PREWALKED,
	FW_TRUST_REPAIRED,	// not from the sample's own stack (samples --repair)
	FW_TRUST_COUNT
};
const char *fw_trust_name(enum fw_trust trust);

/** Why a walk ended. Every thread has exactly one. */
enum fw_stop {
	FW_STOP_NONE = 0,	// it goes on
	FW_STOP_END_OF_STACK,
	FW_STOP_NO_RULE,	// nothing says how to go on
	FW_STOP_MEMORY_MISSING,	// the capture lacks the stack that is needed
	FW_STOP_IMPLAUSIBLE,	// the rule's result cannot be a caller
	FW_STOP_LIMIT,
	FW_STOP_TRUNCATED_STACK,
	FW_STOP_COUNT
};
const char *fw_stop_name(enum fw_stop stop);

#define FW_NO_MODULE UINT32_MAX

struct fw_frame {
	uint64_t pc;		// raw program counter; the return address for callers
	uint64_t lookup;	// what rules and names are looked up by: pc, or inside the call
	uint64_t sp;
	uint32_t module;	// index into snapshot->modules, or FW_NO_MODULE
	uint8_t trust;		// enum fw_trust
	bool signal_frame;	// a signal trampoline
	uint8_t reserved[2];
};

/** A word on the stack that may be a return address, but that nothing supports. */
struct fw_candidate { uint64_t stack_address, value; uint32_t module; };
enum { FW_MAX_CANDIDATES = 16 };

struct fw_walk_options {
	uint32_t max_frames;		// 1 .. FW_MAX_FRAMES
	bool keep_registers;
};

/** What a walk found; owned by the caller, reusable (fw_walk_result_deinit at the end). */
struct fw_walk_result {
	FW_VEC(struct fw_frame) frames;
	FW_VEC(struct fw_regs) regs;	// one a frame, with keep_registers
	enum fw_stop stop;
	char stop_detail[160];		// free text, never empty
	struct fw_candidate candidates[FW_MAX_CANDIDATES];
	uint32_t num_candidates;
	uint32_t corrupt_module;	// FW_NO_MODULE, or: this module's image broke; walk again
};
void fw_walk_result_deinit(struct fw_walk_result *r);

/**
 * What the walker asks of the world outside the snapshot. Both may be slow on
 * first use and are called from the walking thread.
 */
struct fw_walk_source {
	void *context;
	/** The module's image, or NULL when there is none. Stable for the walk. */
	const struct fw_image *(*image)(void *context, uint32_t module);
	/** The image to look names of one offset up in, NULL: none; not set: image(). */
	const struct fw_image *(*names)(void *context, uint32_t module, uint32_t offset);
	/**
	 * Unwind rules at an offset where the module's image has none, for modules whose
	 * rules are not in it; good until the next call. NULL: none. May be not set.
	 */
	const struct fw_rule *(*rules)(void *context, uint32_t module, uint32_t offset,
				       uint32_t *ret_count, struct fw_programs *programs);
	/** Code bytes of a matching program file at an address; false: not to be had. */
	bool (*code)(void *context, uint32_t module, uint64_t address, uint8_t *out, uint64_t n);
	/**
	 * The same three for code that was made at run time, in executable memory of no
	 * module; each may be not set. `made` gives the function's start and name.
	 */
	bool (*made)(void *context, uint64_t address, uint64_t *ret_start, struct fw_str *ret_name);
	bool (*made_code)(void *context, uint64_t address, uint8_t *out, uint64_t n);
	const struct fw_rule *(*made_rules)(void *context, uint64_t address, uint32_t *ret_count,
					    struct fw_programs *programs);
	/** Address of the program's entry point by the module's file; false: not known. */
	bool (*entry)(void *context, uint32_t module, uint64_t *ret);
};

struct fw_walker;

/** One walker a worker thread; it may walk any number of threads of @p snapshot. */
FW_MUST_CHECK enum fw_code fw_walker_create(const struct fw_snapshot *snapshot,
	const struct fw_walk_source *source, const struct fw_walk_options *options,
	struct fw_walker **ret, struct fw_error *err);
void fw_walker_destroy(struct fw_walker *w);
/**
 * The same walker for another snapshot (another process's modules): its source is
 * asked anew for every image, its options stay. Cheap: no allocation unless the
 * snapshot has more modules than any before. FW_NO_MEMORY: only destroy is left.
 */
FW_MUST_CHECK enum fw_code fw_walker_reset(struct fw_walker *w, const struct fw_snapshot *snapshot,
					   struct fw_error *err);

/** Walk thread @p index of the snapshot. Fails only for FW_NO_MEMORY. */
FW_MUST_CHECK enum fw_code fw_walk_thread(struct fw_walker *w, uint32_t index,
					  struct fw_walk_result *result);

/**
 * Walk a profiler's sample: its registers and the @p stack_size bytes of stack
 * copied from @p stack_start on, in the snapshot's byte order. Of memory there is
 * nothing else, and nothing below sp: a register that the innermost function has
 * saved there keeps its value. Where the copy ends the walk stops with
 * FW_STOP_TRUNCATED_STACK, "truncated at N bytes". The snapshot's threads and
 * memory are not looked at but for code. Cheap: no allocation once
 * @p result has grown. Fails only for FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_walk_stack(struct fw_walker *w, const struct fw_regs *regs,
					 uint64_t stack_start, const uint8_t *stack,
					 uint64_t stack_size, struct fw_walk_result *result);

/** A sample for fw_walk_stacks(): the arguments of fw_walk_stack(). */
struct fw_walk_sample {
	const struct fw_regs *regs;
	uint64_t stack_start;
	const uint8_t *stack;
	uint64_t stack_size;
	struct fw_walk_result *result;	// of its own; may be one of an earlier batch
};

/**
 * fw_walk_stack() for @p n samples of one snapshot, with the same results. Several are
 * walked in turns, so that one sample's words come from memory while others are at work:
 * twice as fast where the stacks lie in no cache. FW_NO_MEMORY: some are not walked.
 */
FW_MUST_CHECK enum fw_code fw_walk_stacks(struct fw_walker *w, const struct fw_walk_sample *samples,
					  size_t n);

#endif
