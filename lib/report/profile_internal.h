#ifndef FW_REPORT_PROFILE_INTERNAL_H
#define FW_REPORT_PROFILE_INTERNAL_H

#include <pthread.h>

#include "lib/base/intern.h"
#include "lib/report/profile.h"
#include "lib/report/profile_jit.h"
#include "lib/report/profile_kernel.h"
#include "lib/report/profile_repair.h"
#include "lib/report/profile_tree.h"
#include "symfiles/elf_segments.h"

/** What became of a DSO of the recording: which file it is, and its symbols. */
struct fw_profile_dso {
	const struct fw_dso *dso;
	pthread_mutex_t lock;		// of what follows
	bool resolved, loaded;
	bool have_head;			// its program headers are known
	bool verified;			// the file has the recorded id
	char *path;			// the file that `head` is of
	struct fw_elf_head head;
	struct fw_ident debug_id, code_id;
	const struct fw_symbol_file *symbols;	// NULL until loaded
	_Atomic(const struct fw_image *) image;	// of symbols
	uint32_t first_view;		// where it was first mapped
	uint64_t first_base, first_size, first_offset;
};

/** A view of an address space as the walker wants it: modules and regions. */
struct fw_bound {
	const struct fw_space_view *view;
	struct fw_module_info *modules;		// by base, disjoint
	uint32_t *dsos;				// their numbers
	uint32_t *mapped;
	uint32_t num_modules;
	struct fw_region *regions;
	uint32_t num_regions;
	uint32_t *dumps;			// DSOs that are jitdumps
	uint32_t num_dumps;
	bool have_entry;
	uint64_t entry;
};

struct fw_profile_binder {
	struct fw_symbols *symbols;
	struct fw_spaces *spaces;
	const char *vdso;		// path of the vDSO's image, or NULL
	struct fw_profile_jit jit;
	pthread_mutex_t lock;		// of what follows
	struct fw_arena arena;
	FW_VEC(struct fw_profile_dso *) dsos;	// by number; NULL: not asked for yet
	FW_VEC(struct fw_bound *) bounds;	// by the view's number
};

// profile_bind.c

void fw_binder_init(struct fw_profile_binder *b, struct fw_symbols *symbols,
		    struct fw_spaces *spaces, const struct fw_profile_options *options);
void fw_binder_deinit(struct fw_profile_binder *b);
/** The DSO's file and identity, found at first use. NULL: no memory. Any thread. */
struct fw_profile_dso *fw_binder_dso(struct fw_profile_binder *b, uint32_t number);
/** Its image, loaded at first use; NULL: none. Any thread. */
const struct fw_image *fw_binder_image(struct fw_profile_binder *b, struct fw_profile_dso *d);
/**
 * What a jitdump says of an address of the view's at a time (UINT64_MAX: the newest);
 * *ret_dso and *ret_number name it. NULL: nothing. Any thread.
 */
const struct fw_jit_code *fw_binder_made(struct fw_profile_binder *b, const struct fw_bound *bound,
					 uint64_t address, uint64_t time, uint32_t *ret_dso,
					 uint32_t *ret_number);
/** The view bound, made at first use. NULL: no memory. Any thread. */
const struct fw_bound *fw_binder_bind(struct fw_profile_binder *b,
				      const struct fw_space_view *view);

// profile_walk.c

/** A thread as samples are merged by: its name, and who it is where asked for. */
struct fw_thread_key { uint32_t pid, tid, name; };

struct fw_kept_sample {
	uint64_t time, period, index;
	uint32_t thread, event, cpu, node, space;
};

/** What one worker found. */
struct fw_profile_worker {
	struct fw_profile *profile;
	struct fw_profile_private *private;
	struct fw_tree tree;
	struct fw_intern names;
	struct fw_intern threads;	// of struct fw_thread_key
	FW_VEC(struct fw_kept_sample) samples;
	uint64_t read, used, bad, empty, frames;
	uint64_t stops[FW_STOP_COUNT], trusts[FW_TRUST_COUNT];
	uint64_t first_time, last_time;
	uint32_t deepest;
	enum fw_code code;		// what stopped it
	struct fw_error error;
	// walking
	struct fw_snapshot *snapshot;	// dressed as the view at hand
	const struct fw_bound *bound;	// what it is dressed as
	struct fw_walker *walker;
	const struct fw_bound *walker_bound;	// what the walker is set to
	struct fw_walk_result result;
	uint64_t time;			// of the sample at hand, as jitdumps count; else UINT64_MAX
	struct fw_jit_rules *jit_rules;
	struct fw_repair *repair;	// NULL: not asked for
	uint64_t repaired;		// samples
	const struct fw_space_view *view, *kernel_view;	// looked up last
	FW_VEC(const struct fw_bound *) bounds;	// by the view's number, this worker's knowledge
};

struct fw_profile_private {
	struct fw_profile_options options;
	struct fw_profile_binder binder;
	struct fw_arena arena;
	struct fw_profile_worker *workers;
	unsigned num_workers;
	_Atomic uint64_t read;		// samples, by all workers
	struct fw_profile_kernel kernel;
	struct fw_place_key *frame_keys;	// of p->frames
};

/** Walk all samples; merge into p->nodes, stacks, samples, threads. */
FW_MUST_CHECK enum fw_code fw_profile_walk(struct fw_profile *p, struct fw_error *err);

// profile_names.c

/** p->frames and p->lines of the nodes' places; p->modules. */
FW_MUST_CHECK enum fw_code fw_profile_name(struct fw_profile *p, const struct fw_tree *tree,
					   struct fw_error *err);

#endif
