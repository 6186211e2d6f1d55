#ifndef FW_REPORT_PROFILE_REPAIR_H
#define FW_REPORT_PROFILE_REPAIR_H

#include "lib/report/report.h"
#include "lib/snapshot/recording.h"

/**
 * Outer frames for samples whose copy of the stack was too short (--repair). They come from
 * the call chain that the kernel recorded with the sample, or from an older sample of the
 * same thread that has passed through the sample's outermost frame.
 *
 * An older sample is believed where the FW_REPAIR_AGREE outermost frames are in it in one row,
 * with equal stack pointers, return addresses and saved registers, and as long as a frame has
 * had no other caller in any sample of the thread so far: a recursive function runs at one
 * stack pointer with one return address on behalf of many. What is not of that thread, program
 * (exec) or stretch of the recording (gaps) is never used, nor what a sample since then has
 * shown to be gone. A call chain is believed where it has just those walked frames that frame
 * records lead to, and as far as each frame has one by its unwind rules (x86, amd64).
 *
 * Samples are to come in the recording's order; those that are older than the thread's last
 * are left as they are. Memory: the last stack of each of FW_MAX_THREADS threads, and
 * FW_MAX_REPAIR_LINKS callers of all; past either all is forgotten and learnt anew. Not
 * thread safe.
 */
struct fw_repair;

FW_MUST_CHECK enum fw_code fw_repair_create(const struct fw_recording *recording,
					    struct fw_repair **ret);
void fw_repair_destroy(struct fw_repair *r);

enum { FW_REPAIR_AGREE = 4 };

/** How a frame's caller is found, as its unwind rules have it. */
enum fw_repair_record {
	FW_RECORD_UNKNOWN,
	FW_RECORD_NONE,			// not by a frame record
	FW_RECORD_KEPT,			// the frame pointer points to its frame record
	FW_RECORD_OUTERMOST,		// there is none
};

/** What of the sample's surroundings is needed. */
struct fw_repair_sample {
	uint32_t pid, tid;
	uint64_t time;
	const void *space;		// equal: the same program and mappings
	const struct fw_snapshot *snapshot;	// its modules
	const uint8_t *stack;		// what was copied, from stack_start on
	uint64_t stack_start, stack_size;
	const uint64_t *chain;		// user part of the recorded call chain; NULL: none
	uint32_t chain_length;
	enum fw_repair_record (*record)(void *context, const struct fw_frame *f);
	void *context;
};

/**
 * Append frames (FW_TRUST_REPAIRED) to a walk that ended with FW_STOP_TRUNCATED_STACK, and
 * remember what it has. *ret_added: frames appended; *ret_complete: they reach the outermost
 * one. FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_repair_walk(struct fw_repair *r, const struct fw_repair_sample *s,
					  struct fw_walk_result *walk, uint32_t *ret_added,
					  bool *ret_complete);

#endif
