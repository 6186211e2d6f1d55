#ifndef FW_REPORT_PROFILE_JIT_H
#define FW_REPORT_PROFILE_JIT_H

#include <pthread.h>

#include "lib/report/jitdump.h"
#include "lib/report/perf_map.h"
#include "lib/rules/dwarf_cfi.h"
#include "lib/rules/program.h"
#include "lib/snapshot/snapshot.h"

/**
 * What is known of code that was made at run time: jitdumps by the mapping that their
 * writer made of them, and perf maps by process. Each is opened at its first use and
 * stays. Any thread.
 */
enum { FW_MAX_JIT_NOTES = 16 };

struct fw_jit_file { uint32_t number; struct fw_jitdump *dump; struct fw_perf_map *map; };

struct fw_profile_jit {
	const char *given;		// --jit: a file or a folder; NULL: none
	const char *folder;		// where perf maps are looked for; NULL: nowhere
	pthread_mutex_t lock;		// of what follows
	FW_VEC(struct fw_jit_file) dumps;	// by DSO
	FW_VEC(struct fw_jit_file) maps;	// by process
	struct fw_snapshot_note notes[FW_MAX_JIT_NOTES];
	uint32_t num_notes;
};

void fw_profile_jit_init(struct fw_profile_jit *j, const char *given, const char *folder);
void fw_profile_jit_deinit(struct fw_profile_jit *j);

/** Is that the name of a jitdump ("jit-123.dump")? */
bool fw_is_jitdump_name(struct fw_str path);
/** The dump of a DSO, whose file is at @p recorded; NULL: it cannot be read. */
const struct fw_jitdump *fw_profile_jitdump(struct fw_profile_jit *j, uint32_t dso,
					    const char *recorded);
/** The perf map of a process; NULL: none. */
const struct fw_perf_map *fw_profile_perf_map(struct fw_profile_jit *j, uint32_t pid);

/**
 * Unwind rules of jitdumps, decoded on demand. Not thread safe: one a worker.
 */
enum { FW_JIT_RULE_SLOTS = 64 };
struct fw_jit_rules {
	struct fw_jit_rule_slot {
		const struct fw_jit_code *code;
		struct fw_dwarf_decoder *decoder;
		struct fw_program_set programs;
		struct fw_fde *fdes;
		uint32_t num_fdes;
	} slots[FW_JIT_RULE_SLOTS];
};
void fw_jit_rules_deinit(struct fw_jit_rules *r);
/** The row in force at an address of @p code; NULL: none. Good until the next call. */
const struct fw_rule *fw_jit_rules_at(struct fw_jit_rules *r, const struct fw_jit_code *code,
				      const struct fw_cpu *cpu, uint64_t address,
				      uint32_t *ret_count, struct fw_programs *programs);

#endif
