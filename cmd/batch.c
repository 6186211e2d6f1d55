#include <pthread.h>
#include <stdlib.h>

#include "cmd/batch.h"
#include "cmd/cmd.h"
#include "lib/base/file.h"
#include "lib/base/pool.h"
#include "lib/report/adopt.h"

enum {
	WAITING_BYTES = 64 << 20,	// of finished reports, all jobs together
	SLOTS_PER_JOB = 2,		// how far a job may run ahead of the slowest
};

/** An input being worked on, or finished and waiting for its turn. */
struct slot {
	bool done;		// the job is over; under the lock
	bool failed;		// err says why
	struct fw_out text;	// a report that could not go straight out; kept for reuse
	struct fw_error err;
};

struct batch {
	const struct fw_inputs *inputs;
	struct fw_symbols *symbols;
	const struct fw_batch_options *options;
	struct fw_out *out;

	// Guards what follows; `out` belongs to the job of input `next`, or to
	// whoever holds the lock while that input is done.
	pthread_mutex_t lock;
	pthread_cond_t moved;	// `next` grew, or `stop` was set
	uint64_t next;		// input whose output is due
	bool stop;		// the output failed: nothing more is worth doing
	bool any_failed;
	bool any_written;	// a report was begun, for blank lines between
	uint64_t num_slots;
	size_t slot_bytes;
	struct slot *slots;	// input i in slots[i % num_slots]
};

static bool is_json(const struct fw_batch_options *o)
{
	return o->format == FW_FORMAT_JSON || o->format == FW_FORMAT_NDJSON;
}

static void render(const struct batch *b, struct fw_report *r, struct fw_out *out)
{
	const struct fw_batch_options *o = b->options;
	switch (o->format) {
	case FW_FORMAT_TEXT:
		if (o->summary)
			fw_report_write_summary_text(r, out);
		else
			fw_report_write_text(r, &o->text, out);
		break;
	case FW_FORMAT_JSON:
	case FW_FORMAT_NDJSON:
		if (o->summary)
			fw_report_write_summary_json(r, o->pretty, out);
		else
			fw_report_write_json(r, o->report.registers, o->pretty, out);
		break;
	case FW_FORMAT_MACHINE:
		fw_report_write_machine(r, out);
		break;
	}
}

/** What separates reports; called in turn, before a report's text. */
static void write_header(struct batch *b, const char *path)
{
	if (b->options->headers && b->options->format == FW_FORMAT_TEXT) {
		if (b->any_written)
			fw_out_lit(b->out, "\n");
		fw_out_lit(b->out, "==> ");
		fw_out_safe(b->out, path, strlen(path));
		fw_out_lit(b->out, " <==\n");
	}
	b->any_written = true;
}

/** Write finished inputs whose turn has come. With the lock held. */
static void drain(struct batch *b)
{
	struct slot *s;
	while (b->next < b->inputs->list.count && !b->stop &&
	       (s = &b->slots[b->next % b->num_slots])->done) {
		const char *path = b->inputs->list.data[b->next].path;
		if (s->text.count > 0) {
			write_header(b, path);
			fw_out_write(b->out, s->text.data, s->text.count);
		}
		if (s->failed) {
			b->any_failed = true;
			if (is_json(b->options))
				fw_report_write_error_json(path, &s->err, b->options->pretty,
							   b->out);
		}
		// Line by line for who reads along, and in order with standard error.
		if (fw_out_flush(b->out, NULL) != FW_OK)
			b->stop = true;
		if (s->failed)
			fw_complain(path, &s->err);
		s->text.count = 0;
		s->done = false;
		b->next++;
	}
	pthread_cond_broadcast(&b->moved);
}

/** Wait until input @p index has a slot (@p turn false) or its turn to write. */
static bool wait_for(struct batch *b, uint64_t index, bool turn)
{
	pthread_mutex_lock(&b->lock);
	while (!b->stop && (turn ? b->next != index : index - b->next >= b->num_slots))
		pthread_cond_wait(&b->moved, &b->lock);
	bool go_on = !b->stop;
	pthread_mutex_unlock(&b->lock);
	return go_on;
}

static bool has_turn(struct batch *b, uint64_t index)
{
	pthread_mutex_lock(&b->lock);
	bool turn = b->next == index && !b->stop;
	pthread_mutex_unlock(&b->lock);
	return turn;
}

static void write_report(struct batch *b, uint64_t index, struct fw_report *r, struct slot *s)
{
	if (!has_turn(b, index)) {
		render(b, r, &s->text);
		if (!s->text.failed)
			return;
		// Too large to keep: written again when it can go straight out.
		fw_out_deinit(&s->text);
		fw_out_init_memory(&s->text, b->slot_bytes);
		if (!wait_for(b, index, true))
			return;
	}
	write_header(b, b->inputs->list.data[index].path);
	render(b, r, b->out);
}

static enum fw_code report_snapshot(struct batch *b, uint64_t index,
				    const struct fw_snapshot *snapshot, struct slot *s)
{
	const char *path = b->inputs->list.data[index].path;
	struct fw_report_options o = b->options->report;
	struct fw_report *r;

	if (b->options->crashing_only && snapshot->crashing_thread >= 0)
		o.choice = FW_THREADS_CRASHING;
	fw_log(FW_LOG_DEBUG, path, "%s, %s, %u threads, %u modules", snapshot->format,
	       snapshot->cpu->name, snapshot->num_threads, snapshot->num_modules);
	for (uint32_t i = 0; i < snapshot->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++)
		fw_log(FW_LOG_INFO, path, "%s%s%s", snapshot->notes[i].place,
		       snapshot->notes[i].place[0] ? ": " : "", snapshot->notes[i].message);
	enum fw_code code = fw_report_create(snapshot, path, b->symbols, &o, &r, &s->err);
	if (code != FW_OK)
		return code;
	write_report(b, index, r, s);
	fw_report_destroy(r);
	return FW_OK;
}

/** Before anything walks. A program of another build must not go unsaid, nor cost the report. */
static void adopt(struct batch *b, struct fw_snapshot *snapshot, const char *path)
{
	const char *program = b->options->program;
	struct fw_error err;
	if (program != NULL && fw_adopt_program(snapshot, program, &err) != FW_OK)
		fw_log(FW_LOG_WARN, path, "%s not used: %s%s%s", program, err.place,
		       err.place[0] ? ": " : "", err.message);
	fw_adopt_modules(snapshot, b->symbols);
}

static enum fw_code report_input(struct batch *b, uint64_t index, struct slot *s)
{
	const struct fw_input *input = &b->inputs->list.data[index];
	struct fw_file file;
	struct fw_snapshot *snapshot;

	if (input->err != NULL) {
		s->err = *input->err;
		return s->err.code;
	}
	enum fw_code code = fw_file_open(&file, input->path, FW_MAX_INPUT, &s->err);
	if (code != FW_OK)
		return code;
	code = fw_snapshot_read(file.data, file.size, &snapshot, &s->err);
	if (code == FW_OK) {
		adopt(b, snapshot, input->path);
		code = report_snapshot(b, index, snapshot, s);
		fw_snapshot_destroy(snapshot);
	}
	fw_file_close(&file);
	return code;
}

static void job(void *context, uint64_t index, unsigned worker)
{
	struct batch *b = context;
	struct slot *s = &b->slots[index % b->num_slots];

	if (!wait_for(b, index, false))
		return;
	s->failed = report_input(b, index, s) != FW_OK;
	pthread_mutex_lock(&b->lock);
	s->done = true;
	drain(b);
	pthread_mutex_unlock(&b->lock);
}

bool fw_batch_run(const struct fw_inputs *inputs, struct fw_symbols *symbols,
		  const struct fw_batch_options *options, struct fw_out *out)
{
	unsigned jobs = options->jobs ? options->jobs : fw_pool_default_threads();
	struct batch b = {
		.inputs = inputs, .symbols = symbols, .options = options, .out = out,
		.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER,
		.num_slots = (uint64_t)jobs * SLOTS_PER_JOB,
	};
	b.slot_bytes = WAITING_BYTES / b.num_slots;
	struct fw_arena arena;
	fw_arena_init(&arena, 0);
	b.slots = fw_arena_array(&arena, b.num_slots, sizeof(struct slot));
	if (b.slots == NULL) {
		fw_complain(NULL, &(struct fw_error){ FW_NO_MEMORY, .message = "out of memory" });
		fw_arena_deinit(&arena);
		return false;
	}
	for (uint64_t i = 0; i < b.num_slots; i++)
		fw_out_init_memory(&b.slots[i].text, b.slot_bytes);
	fw_pool_for(jobs, inputs->list.count, job, &b);
	for (uint64_t i = 0; i < b.num_slots; i++)
		fw_out_deinit(&b.slots[i].text);
	fw_arena_deinit(&arena);
	return !b.any_failed;
}
