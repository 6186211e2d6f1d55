#ifndef TESTS_SYNTH_REPORT_H
#define TESTS_SYNTH_REPORT_H

#include "lib/report/report.h"

/**
 * Reports built by hand. The writers under test are compiled a second time by
 * tests/synth_report_WRITER.c with fw_report_frame replaced by
 * synth_report_frame, so no symbols and no walk are needed.
 */
struct synth_frame {
	uint64_t pc, lookup;
	uint32_t module;		// FW_NO_MODULE: none
	enum fw_trust trust;
	bool signal_frame;
	const char *function, *file;	// NULL: unknown
	uint64_t function_start;	// absolute
	uint32_t line;
	uint64_t line_start;		// absolute
	uint32_t num_inlines;
	struct fw_report_inline inlines[4];
	uint32_t num_unloaded;
	struct { const char *name; uint64_t offset; } unloaded[3];
};

enum { SYNTH_THREADS = 32, SYNTH_MODULES = 8, SYNTH_FRAMES = 4096 };

struct synth_report {
	struct fw_report r;
	struct fw_snapshot s;
	struct fw_thread_info infos[SYNTH_THREADS];
	struct fw_report_thread threads[SYNTH_THREADS];
	const struct synth_frame *frames[SYNTH_THREADS];
	struct fw_frame walked[SYNTH_FRAMES];
	uint32_t num_walked;
	struct fw_module_info module_infos[SYNTH_MODULES];
	struct fw_report_module modules[SYNTH_MODULES];
};

struct fw_str synth_str(const char *s);

/** An empty report of an amd64 Linux capture "crash.dmp": no crash, threads or modules. */
struct synth_report *synth_report_create(enum fw_cpu_id cpu);
void synth_report_destroy(struct synth_report *b);
/** Append a module; debug_id NULL: none. */
struct fw_report_module *synth_module(struct synth_report *b, uint64_t base, uint64_t size,
				      const char *code_file, const char *debug_file,
				      const char *debug_id);
/** Append a thread that stops at the end of the stack; @p frames must live on. */
struct fw_report_thread *synth_thread(struct synth_report *b, uint32_t id, const char *name,
				      const struct synth_frame *frames, uint32_t n);
/** Make thread @p index the one that crashed. */
void synth_crash(struct synth_report *b, uint32_t index, const char *reason, uint64_t address);

void synth_report_frame(struct fw_report *r, const struct fw_report_thread *thread,
			uint32_t index, struct fw_report_frame *ret);

void synth_write_text(struct fw_report *r, const struct fw_text_options *o, struct fw_out *out);
void synth_write_machine(struct fw_report *r, struct fw_out *out);
void synth_write_json(struct fw_report *r, bool registers, bool pretty, struct fw_out *out);
void synth_write_error_json(const char *file, const struct fw_error *error, bool pretty,
			    struct fw_out *out);
void synth_write_summary_text(struct fw_report *r, struct fw_out *out);
void synth_write_summary_json(struct fw_report *r, bool pretty, struct fw_out *out);

/** Text of a memory output, NUL-terminated, valid until it is written to again. */
const char *synth_text(struct fw_out *out);

#endif
