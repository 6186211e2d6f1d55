#ifndef FW_REPORT_REPORT_H
#define FW_REPORT_REPORT_H

#include "lib/base/out.h"
#include "lib/snapshot/snapshot.h"
#include "lib/walk/walk.h"
#include "symfiles/symbols.h"

/**
 * The report of one capture: everything that any writer prints, composed in one
 * place (compose.c). Walking happens in fw_report_create; names are looked up
 * frame by frame as a writer asks, so a report holds 32 bytes a frame.
 * Writers read this and the snapshot's verbatim fields; they decide nothing.
 */
enum fw_thread_choice { FW_THREADS_ALL, FW_THREADS_CRASHING, FW_THREADS_ID, FW_THREADS_INDEX };

struct fw_report_options {
	enum fw_thread_choice choice;
	uint64_t chosen;		// thread id or index
	uint32_t max_frames;
	bool registers;			// keep every frame's registers
};

struct fw_report_inline {
	struct fw_str function;		// {NULL,0}: the symbols do not say
	struct fw_str file;
	uint32_t line;			// 0: unknown
};

/** One frame with its names; strings live as long as the report. */
struct fw_report_frame {
	uint32_t index;
	uint64_t pc;			// raw
	uint64_t lookup;		// JSON "offset"
	enum fw_trust trust;
	bool signal_frame;
	const struct fw_module_info *module;	// NULL: none
	struct fw_str module_name;	// base name of the code file; {NULL,0}: no module
	uint64_t module_offset;		// lookup - module base
	uint64_t module_pc_offset;	// pc - module base
	struct fw_str function;		// {NULL,0}: unknown
	uint64_t function_offset;	// lookup - function
	uint64_t function_pc_offset;	// pc - function
	struct fw_str file;		// of the physical function; {NULL,0}: unknown
	uint32_t line;
	uint32_t line_offset;		// pc - start of the line record (Breakpad's machine form)
	bool have_line;
	struct fw_report_inline inlines[FW_MAX_INLINE_DEPTH];	// innermost first
	uint32_t num_inlines;
	const struct fw_regs *regs;	// NULL unless kept; frame 0 always has them
	struct {			// unloaded modules there, when no module is loaded
		struct fw_str name;
		uint64_t offset;
	} unloaded[8];
	uint32_t num_unloaded;
};

struct fw_report_thread {
	const struct fw_thread_info *info;
	uint32_t index;			// in snapshot->threads
	uint32_t peer_index;		// position after leaving out the dump writer, as Breakpad numbers
	bool crashing;
	uint32_t num_frames;
	enum fw_stop stop;
	const char *stop_detail;
	const struct fw_candidate *candidates;
	uint32_t num_candidates;
	uint64_t stack_hash;		// equal for equal (module, offset, trust) sequences: folding
	// compact, for folding; names come from fw_report_frame()
	struct fw_frame *frames;
	struct fw_regs *regs;
};

struct fw_report_module {
	const struct fw_module_info *info;
	struct fw_str name;		// base name of the code file
	struct fw_str debug_name;	// base name of the debug file
	const struct fw_symbol_file *symbols;	// never NULL
	enum { FW_CFI_UNKNOWN, FW_CFI_LOADED, FW_CFI_MISSING } cfi;	// UNKNOWN: symbols not loaded
	bool on_stack;
};

struct fw_report {
	const struct fw_snapshot *snapshot;
	const char *path;		// the capture, as the user named it
	unsigned pointer_digits;	// 8 or 16
	bool crashed;
	char reason[128];		// rust-minidump's words; "" when no exception
	char breakpad_reason[128];
	uint64_t crash_address;
	int64_t crashing;		// index into threads[], -1: none (not selected or unknown)
	int64_t crashing_index;		// index into the peers' thread list, -1: unknown
	uint32_t total_threads;		// without the dump writer, whatever was selected
	struct fw_report_thread *threads;	// selected ones, in capture order
	uint32_t num_threads;
	struct fw_report_module *modules;	// same order as snapshot->modules
	uint32_t num_modules;
	uint64_t frames_dropped;	// by FW_MAX_REPORT_FRAMES
	// private to compose.c
	struct fw_report_private *private;
};

/** Walk and compose. FW_NOT_FOUND: the chosen thread is not there. */
FW_MUST_CHECK enum fw_code fw_report_create(const struct fw_snapshot *snapshot,
	const char *path, struct fw_symbols *symbols, const struct fw_report_options *options,
	struct fw_report **ret, struct fw_error *err);
void fw_report_destroy(struct fw_report *r);

/** Fill @p ret with frame @p index of @p thread. */
void fw_report_frame(struct fw_report *r, const struct fw_report_thread *thread,
		     uint32_t index, struct fw_report_frame *ret);

// Writers. Each writes a whole report; errors stick in @p out.

struct fw_text_options {
	bool brief;		// header and crashing thread only
	bool fold;		// equal stacks and recursions
	bool registers;
	bool color;
};
void fw_report_write_text(struct fw_report *r, const struct fw_text_options *o, struct fw_out *out);
/** Breakpad's `-m` lines. */
void fw_report_write_machine(struct fw_report *r, struct fw_out *out);
/** One object; @p pretty indents. With @p brief only the crashing thread is in `threads`. */
void fw_report_write_json(struct fw_report *r, bool registers, bool pretty, struct fw_out *out);
/** The ten fields a bot needs. */
void fw_report_write_summary_text(struct fw_report *r, struct fw_out *out);
void fw_report_write_summary_json(struct fw_report *r, bool pretty, struct fw_out *out);
/** {"schema_version","status":"ERROR","error":{code,file,place,message}} */
void fw_report_write_error_json(const char *file, const struct fw_error *error, bool pretty,
				struct fw_out *out);

enum { FW_SCHEMA_VERSION = 1 };

#endif
