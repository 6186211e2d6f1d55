#ifndef FW_SNAPSHOT_SPACES_H
#define FW_SNAPSHOT_SPACES_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/image/ident.h"

/**
 * Time-versioned address spaces: what every process had mapped at every moment of
 * a recording, so that samples can be unwound in any order. Events may arrive out
 * of order; each says its own time. A later mapping cuts older ones that it
 * overlaps, from its time on. One that takes addresses which no code of another file
 * held before holds from the process's start (its last exec) on: unmapping is not
 * recorded either, and the mapping's event may be later than the code's first sample.
 *
 * Feeding (fw_spaces_map and the like) is for one thread; views may be asked for by
 * any number of threads meanwhile, and stay valid and unchanged until destroyed.
 */
struct fw_spaces;

enum fw_dso_kind {
	FW_DSO_FILE,		// a path
	FW_DSO_ANON,		// anonymous or without a usable name: JIT, "//anon", "[heap]", memfd
	FW_DSO_VDSO,		// "[vdso]"
	FW_DSO_KERNEL,		// "[kernel.kallsyms]_text"
	FW_DSO_KERNEL_MODULE,	// a .ko's path or "[name]"
};

/** A file that was mapped somewhere, once a (path, build id). */
struct fw_dso {
	uint32_t number;		// dense, from 0
	enum fw_dso_kind kind;
	struct fw_str path;		// as recorded
	struct fw_ident build_id;	// lower-case hex; n 0: not recorded
	bool deleted;			// the path ended in " (deleted)", taken off
};

enum { FW_MAP_READ = 1, FW_MAP_WRITE = 2, FW_MAP_EXEC = 4, FW_MAP_KNOWN = 8 };

struct fw_mapping {
	uint64_t start, end;		// end > start
	uint64_t file_offset;
	uint32_t dso;
	uint8_t permissions;		// FW_MAP_*; KNOWN unset: executable, as MMAP says
};

/** What one process had mapped from `from` up to `to` (not included). */
struct fw_space_view {
	uint32_t number;		// dense, from 0; equal number, equal content
	uint32_t pid;
	uint64_t from, to;		// nanoseconds
	const struct fw_mapping *maps;	// by start, disjoint
	uint32_t num_maps;
};

#define FW_KERNEL_PID UINT32_MAX	// mappings of the kernel and its modules
#define FW_NO_DSO UINT32_MAX

FW_MUST_CHECK enum fw_code fw_spaces_create(struct fw_spaces **ret);
void fw_spaces_destroy(struct fw_spaces *s);

/** Number of the DSO; strings are copied. FW_LIMIT (FW_MAX_DSOS), FW_NO_MEMORY. */
FW_MUST_CHECK enum fw_code fw_spaces_dso(struct fw_spaces *s, struct fw_str path,
					 const struct fw_ident *build_id, uint32_t *ret);
/** The build id of a path (the header's list), for every DSO of it without one, now and later;
 *  the first for a path counts. DSOs that fw_spaces_dso_at() has given out stay as they are. */
void fw_spaces_identify(struct fw_spaces *s, struct fw_str path, const struct fw_ident *build_id);

// Events. FW_LIMIT past FW_MAX_MAPPINGS of a recording or FW_MAX_PROCESSES; FW_NO_MEMORY.
FW_MUST_CHECK enum fw_code fw_spaces_map(struct fw_spaces *s, uint32_t pid, uint64_t time,
					 const struct fw_mapping *map);
/** The child starts with the parent's mappings of that time. pid == ppid: a thread, nothing. */
FW_MUST_CHECK enum fw_code fw_spaces_fork(struct fw_spaces *s, uint32_t pid, uint32_t ppid,
					  uint32_t tid, uint32_t ptid, uint64_t time);
/** A thread's name; @p exec: the process starts anew, without any mapping. */
FW_MUST_CHECK enum fw_code fw_spaces_comm(struct fw_spaces *s, uint32_t pid, uint32_t tid,
					  uint64_t time, struct fw_str name, bool exec);
FW_MUST_CHECK enum fw_code fw_spaces_exit(struct fw_spaces *s, uint32_t pid, uint32_t tid,
					  uint64_t time);

/**
 * While events still come: all before @p time were fed. Views end there at the latest; an
 * event that is earlier nevertheless counts from where the last view ended.
 */
void fw_spaces_known(struct fw_spaces *s, uint64_t time);
/** Events that a limit or missing memory kept from counting. */
uint64_t fw_spaces_left_out(struct fw_spaces *s);

/** The process's mappings at @p time; NULL: none known, or no memory. Locks: keep the view
 *  while the pid is the same and the time is in [from, to). */
const struct fw_space_view *fw_spaces_at(struct fw_spaces *s, uint32_t pid, uint64_t time);
const struct fw_mapping *fw_space_find(const struct fw_space_view *view, uint64_t address);
/** Name of the thread at @p time; {NULL, 0}: not known. */
struct fw_str fw_spaces_name(struct fw_spaces *s, uint32_t pid, uint32_t tid, uint64_t time);

uint32_t fw_spaces_num_dsos(const struct fw_spaces *s);
/** Stable address. */
const struct fw_dso *fw_spaces_dso_at(const struct fw_spaces *s, uint32_t number);

#endif
