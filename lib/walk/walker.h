#ifndef FW_WALK_WALKER_H
#define FW_WALK_WALKER_H

#include "lib/walk/walk.h"

// nothing is ever mapped below (vm.mmap_min_addr, Windows' null page)
enum { FW_LOWEST_PC = 4096 };

/** A stretch of executable memory of one module, all of which is alike to the walker. */
struct fw_stretch {
	uint64_t start, size;
	uint64_t hot_size;		// size, or 0: the short way must not be taken there (no
					// table, STACK WIN, the entry point's function ...)
	uint64_t base;			// of the module
	const struct fw_image *image;	// NULL: none
	uint32_t module;		// FW_NO_MODULE only where size is 0
	bool has_win;			// STACK WIN comes before CFI
};
enum {
	FW_STRETCHES = 16,
	FW_STACK_REACH = 8 << 20,	// bytes above a copy where the stack may be (Linux' 8 MiB)
	FW_WALK_LOOK = 4096,		// a power of 2: frames between two looks at the clock
};

/**
 * A walker between two frames. `frame` is the innermost frame not yet left, the last
 * of result->frames during a step, which turns it into its caller.
 *
 * Where rows are in short form (struct fw_cfi_hot), a step goes on over any number of
 * frames and carries only pc, sp and fp; `regs` then stays behind, at frame number
 * regs_frame, until fw_walk_recover() brings it up. Outside of that, and for every
 * hook and helper below, `regs` describes `frame`. Internal to lib/walk.
 */
struct fw_walker {
	const struct fw_snapshot *snapshot;
	struct fw_walk_source source;
	struct fw_walk_options options;
	const struct fw_cpu *cpu;
	const struct fw_walk_arch *arch;

	struct fw_regs regs;
	size_t regs_frame;		// number of the frame that regs describes
	uint64_t fp;			// of `frame`, while regs is behind
	bool have_fp;
	struct fw_frame frame;
	struct fw_memory_view memory;

	// stretches met so far, the oldest replaced first; `code` is the one looked at
	// last, where nearly every look-up ends
	struct fw_stretch stretches[FW_STRETCHES];
	unsigned num_stretches, next_stretch;
	const struct fw_stretch *code;

	// where the program itself starts: its function has no caller
	uint64_t entry, entry_size;	// size 0: unknown
	bool entry_refined, entry_asked;

	uint64_t pac_mask;		// bits of a code address; all ones: nothing to strip
	bool have_stack;
	uint64_t stack_start, stack_end;	// the thread's stack as far as captured
	// fw_walk_stack: the one segment that `memory` shows, and how long it was given
	bool sampled;
	struct fw_segment sample;
	struct fw_memory sample_memory;
	uint64_t sample_size;
	uint32_t unverified;		// unverified steps in a row
	uint32_t callee_params;		// bytes of stack parameters of the frame's callee (x86)
	uint32_t next_params;		// the same for the frame after the next step
	uint32_t stack_switches;	// by signals, so far
	bool cfi_failed;		// CFI covers the frame but could not be used

	struct fw_walk_result *result;
	const struct fw_image **images;	// per module, once asked for
	uint8_t *image_asked;
	// modules whose image this walk has asked by the long way, for looks at its health
	uint32_t *touched, num_touched;
	uint64_t *touched_in, walk;	// per module: the number of the walk that last did
	uint32_t module_room;		// entries that these have room for
};

/** Read @p memory from now on, where most reads will be in @p segment (NULL: not known). */
static inline void fw_walk_view(struct fw_walker *w, const struct fw_memory *memory,
				const struct fw_segment *segment)
{
	fw_memory_view_init(&w->memory, memory);
	if (segment != NULL && !memory->swap) {	// a view's segment is read without swapping
		w->memory.start = segment->start;
		w->memory.size = segment->size;
		w->memory.data = segment->data;
	}
}

/** Code that may hold a pc: what locate says of an address. */
enum fw_exec { FW_EXEC_NO, FW_EXEC_UNKNOWN, FW_EXEC_YES };

struct fw_place {
	uint32_t module;		// FW_NO_MODULE: none
	enum fw_exec exec;
};

/** A possible caller: registers and how they were found. */
struct fw_caller {
	struct fw_regs regs;
	enum fw_trust trust;
};

/** What is special about a CPU. Hooks get the walker at the callee's frame. */
struct fw_walk_arch {
	/** Registers by the frame record that fp points at; false: no valid record.
	 *  *ret_end: the record says that the chain ends here. */
	bool (*frame_pointer)(struct fw_walker *w, struct fw_caller *ret, bool *ret_end);
	/** The return address is still in a register or on top of the stack:
	 *  context frames in a function without a frame, or at a wild pc. */
	bool (*leaf)(struct fw_walker *w, bool wild, struct fw_caller *ret);
	/** By the instructions of the frame's function; NULL: not for this CPU. */
	bool (*prologue)(struct fw_walker *w, struct fw_caller *ret);
	/** After the scan found `value` at `slot`: which other registers survive. */
	void (*scanned)(struct fw_walker *w, uint64_t slot, struct fw_regs *regs);
	/** Do the bytes before a return address end in a call? @p code holds the
	 *  @p n bytes up to the address. */
	bool (*call_before)(const uint8_t *code, unsigned n, bool thumb);
	/** Where the direct call that @p code ends in leads; false: it is indirect. */
	bool (*call_target)(const uint8_t *code, unsigned n, bool thumb, uint64_t address,
			    uint64_t *ret);
	/** Is the code a linkage stub, which jumps through a table to another module? */
	bool (*is_stub)(const uint8_t *code, unsigned n);
	/** Registers of the frame that a signal interrupted; w->frame is the trampoline. */
	bool (*signal_frame)(struct fw_walker *w, struct fw_regs *ret);
	/** Is the trampoline's code at the frame's pc? */
	bool (*is_trampoline)(const uint8_t *code, unsigned n);
	unsigned trampoline_bytes;	// how many to show is_trampoline
	unsigned call_bytes;		// how many before the address to show call_before
};

extern const struct fw_walk_arch fw_walk_arch_x86, fw_walk_arch_amd64, fw_walk_arch_arm,
	fw_walk_arch_arm64;

// walk.c
/**
 * From w->frame, the last of the result's frames, to the next caller that is not among
 * them yet: one step by the long way, or any number by the short one, which appends the
 * frames in between (as far as there is room). The hot path of framewalk.
 */
enum fw_stop fw_walk_step(struct fw_walker *w);
/**
 * Can (pc, sp) be the caller of w->frame, whose stack pointer is @p old_sp? FW_STOP_NONE:
 * it is w->frame now. @p exact: a signal interrupted it.
 */
enum fw_stop fw_walk_check(struct fw_walker *w, enum fw_trust trust, uint64_t pc, uint64_t sp,
			   uint64_t old_sp, bool exact);
/**
 * Bring w->regs up to w->frame, the last of the result's frames: what the frames in
 * between have saved is read from the stack.
 */
void fw_walk_recover(struct fw_walker *w);
/** Take @p caller as the frame's caller if it can be one. FW_STOP_NONE: taken. */
enum fw_stop fw_walk_accept(struct fw_walker *w, const struct fw_caller *caller);
/** Stop with a reason in words. */
__attribute__((format(printf, 3, 4)))
enum fw_stop fw_walk_stop(struct fw_walker *w, enum fw_stop stop, const char *format, ...);
/** The same with a constant text of less than 160 bytes: how most walks end. */
enum fw_stop fw_walk_end(struct fw_walker *w, enum fw_stop stop, const char *text);
/** A new walk into @p result, reading @p memory. result->stop is FW_STOP_NONE unless
 *  nothing can be walked. w->regs and the stack's extent are the caller's to set. */
void fw_walk_begin(struct fw_walker *w, struct fw_walk_result *result,
		   const struct fw_memory *memory);
/** Walk on from the captured registers in w->regs. FW_NO_MEMORY. */
FW_MUST_CHECK enum fw_code fw_walk_run(struct fw_walker *w);
/**
 * Walk on from w->frame, which the short way has reached (w->regs are the first
 * frame's) and which is the last of the result's frames. @p long_way: it must be left
 * so. FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_walk_resume(struct fw_walker *w, bool long_way);
/** Stop because the words at the frame's stack pointer are not in the capture. */
enum fw_stop fw_walk_stop_no_words(struct fw_walker *w);

// hot.c
/**
 * The short way from w->frame. True: *ret is the step's outcome. False: w->frame, the last of
 * the result's frames, is to be left by the long way.
 */
bool fw_walk_hot(struct fw_walker *w, enum fw_stop *ret);

// place.c
struct fw_place fw_walk_locate(struct fw_walker *w, uint64_t address);
/** Point w->code at @p address; false: not inside a module's code. */
bool fw_walk_enter(struct fw_walker *w, uint64_t address);
const struct fw_image *fw_walk_image(struct fw_walker *w, uint32_t module);
/** Forget every stretch. */
void fw_walk_forget(struct fw_walker *w);
/** The image that has the names at an offset of a module; NULL: none. */
const struct fw_image *fw_walk_names(struct fw_walker *w, uint32_t module, uint32_t offset);
/** Rules in force at @p lookup, which fw_walk_enter() entered; NULL: none. */
const struct fw_rule *fw_walk_rules(struct fw_walker *w, uint64_t lookup, uint32_t *ret_count,
				    struct fw_programs *programs);
/** n code bytes at @p address from the capture or a matching file. */
bool fw_walk_code(struct fw_walker *w, uint64_t address, uint8_t *out, unsigned n);
/** Name of the function at @p lookup, {NULL,0} when unknown. *ret_start: its first address. */
struct fw_str fw_walk_function(struct fw_walker *w, uint64_t lookup, uint64_t *ret_start);
/** A function of the system's that no function called (_start, clone ...). */
bool fw_walk_is_entry(struct fw_walker *w, const struct fw_frame *frame);

/**
 * Code that was made at run time: executable memory of no module, in a profiler's sample. A
 * crash's pc may be there by mistake, a sample's is there because that code was running.
 */
static inline bool fw_walk_is_made(const struct fw_walker *w, struct fw_place place)
{
	return w->sampled && place.module == FW_NO_MODULE && place.exec == FW_EXEC_YES;
}
/** Rules in force in made code; NULL: none. */
const struct fw_rule *fw_walk_made_rules(struct fw_walker *w, uint64_t lookup, uint32_t *ret_count,
					 struct fw_programs *programs);

// evidence.c
enum fw_evidence {
	FW_EVIDENCE_NONE,	// cannot be a return address
	FW_EVIDENCE_NO_CALL,	// in code we have, and no call stands before it
	FW_EVIDENCE_UNVERIFIED,	// in executable memory of a module, or made at run time; the code
				// is not to be had
	FW_EVIDENCE_CALL,	// and the instruction before it is a call
};
/** How well @p address is supported as a return address. */
enum fw_evidence fw_walk_evidence(struct fw_walker *w, uint64_t address);
/** Target of the direct call in front of a return address; false: none, or not known. */
bool fw_walk_call_target(struct fw_walker *w, uint64_t address, uint64_t *ret);
/** False when the call in front of the address leads to another function than the
 *  frame's: the word is a leftover, not the frame's return address. */
bool fw_walk_leads_here(struct fw_walker *w, uint64_t address);
/**
 * May a frame record whose saved frame pointer is no stack address be believed?
 * With a call seen, yes. Without, only at the border of two modules: code
 * that keeps frame records is called by code that does not.
 */
bool fw_walk_alien_record(struct fw_walker *w, enum fw_evidence evidence, uint64_t address);
/** Strip pointer authentication and the Thumb bit from a code address. */
uint64_t fw_walk_code_address(const struct fw_walker *w, uint64_t value);

// scan.c
enum fw_stop fw_walk_scan(struct fw_walker *w);

// signal.c
/** Is w->frame a signal trampoline? By its rule's shape, its name or its code. */
bool fw_walk_is_trampoline(struct fw_walker *w, const struct fw_rule *rules);

// stack_win.c (x86)
/** FW_STOP_NONE and *ret_used: stepped. Not used: no record, or it failed. */
enum fw_stop fw_walk_stack_win(struct fw_walker *w, bool *ret_used);

/** The stretch around an address, if it has been met. */
static inline const struct fw_stretch *fw_walk_stretch(const struct fw_walker *w, uint64_t address)
{
	for (unsigned i = 0; i < w->num_stretches; i++)
		if (address - w->stretches[i].start < w->stretches[i].size)
			return &w->stretches[i];
	return NULL;
}

/** Note that this walk relies on a module's image. */
static inline void fw_walk_touch(struct fw_walker *w, uint32_t module)
{
	if (w->touched_in[module] != w->walk) {
		w->touched_in[module] = w->walk;
		w->touched[w->num_touched++] = module;
	}
}

static inline bool fw_walk_read(struct fw_walker *w, uint64_t address, uint64_t *ret)
{
	return fw_memory_read(&w->memory, address & w->cpu->word_mask, w->cpu->word_size, ret);
}

/** Is @p address above what was copied of a sample's stack, but likely still of the stack? */
static inline bool fw_walk_not_copied(const struct fw_walker *w, uint64_t address)
{
	return w->sampled && address >= w->stack_start &&
	       address > w->stack_end - w->cpu->word_size &&
	       (address < w->stack_end || address - w->stack_end < FW_STACK_REACH);
}

/** Can a frame record be at @p address, by the memory there is? */
static inline bool fw_walk_may_point_to(struct fw_walker *w, uint64_t address)
{
	uint64_t word;
	return fw_walk_read(w, address, &word) || fw_walk_not_copied(w, address);
}

static inline bool fw_walk_is_context(const struct fw_walker *w)
{
	return w->frame.trust == FW_TRUST_CONTEXT;
}

#endif
