// The report as JSON: top level, threads and frames. Key order is fixed and is
// the order of `required` in cmd/framewalk.schema.json.
#include <endian.h>

#include "lib/report/json_internal.h"

enum { MAX_COPY = 16 << 20 };	// bytes of one thread's frames kept to be written twice

/** Eight hex digits of @p v as eight bytes, first digit first in memory. */
static inline uint64_t eight_digits(uint32_t v)
{
	uint64_t x = __builtin_bswap32(v);
	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x >> 4 & UINT64_C(0x000f000f000f000f)) | (x & UINT64_C(0x000f000f000f000f)) << 8;
	uint64_t letter = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return htole64(x + UINT64_C(0x3030303030303030) + letter * ('a' - '0' - 10));
}

/** fw_json_hex for 8 or 16 digits, without its loop: a frame has five addresses. */
static inline void hex(struct fw_json *j, uint64_t v, unsigned digits)
{
	struct fw_out *o = j->out;
	if (j->pretty || o->capacity - o->count < 20 || (digits == 8 && v >> 32)) {
		fw_json_hex(j, v, digits);
		return;
	}
	j->key_pending = false;
	char *to = o->data + o->count;
	memcpy(to, "\"0x", 3);
	to += 3;
	if (digits == 16) {
		uint64_t high = eight_digits((uint32_t)(v >> 32));
		memcpy(to, &high, 8);
		to += 8;
	}
	uint64_t low = eight_digits((uint32_t)v);
	memcpy(to, &low, 8);
	to[8] = '"';
	o->count += 4 + digits;
}

static inline void hex_or_null(struct fw_json *j, bool have, uint64_t v, unsigned digits)
{
	if (have)
		hex(j, v, digits);
	else
		fw_json_null(j);
}

static void write_registers(struct fw_json_report *w, const struct fw_regs *regs)
{
	const struct fw_cpu *cpu = w->r->snapshot->cpu;
	struct fw_json *j = &w->j;
	fw_json_begin_object(j);
	for (unsigned i = 0; i < cpu->num_regs; i++) {
		if (!fw_regs_has(regs, i))
			continue;
		fw_json_key_(j, cpu->reg_names[i], strlen(cpu->reg_names[i]));
		fw_json_hex(j, regs->v[i], 2U * cpu->word_size);
	}
	fw_json_end_object(j);
}

static void write_inlines(struct fw_json *j, const struct fw_report_frame *f)
{
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < f->num_inlines; i++) {
		const struct fw_report_inline *call = &f->inlines[i];
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "function");
		fw_json_str(j, call->function);
		FW_KEY(j, "file");
		fw_json_str(j, call->file);
		FW_KEY(j, "line");
		fw_json_number_or_null(j, call->line, call->line);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static bool same_name(const struct fw_report_frame *f, uint32_t a, uint32_t b)
{
	struct fw_str x = f->unloaded[a].name, y = f->unloaded[b].name;
	return x.n == y.n && (!x.n || memcmp(x.s, y.s, x.n) == 0);
}

/** One entry a name with all its offsets. */
static void write_unloaded(struct fw_json_report *w, const struct fw_report_frame *f)
{
	struct fw_json *j = &w->j;
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < f->num_unloaded; i++) {
		uint32_t first = 0;
		while (!same_name(f, first, i))
			first++;
		if (first < i)
			continue;
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "module");
		fw_json_str_or_empty(j, f->unloaded[i].name);
		FW_KEY(j, "offsets");
		fw_json_begin_array(j);
		for (uint32_t k = i; k < f->num_unloaded; k++)
			if (same_name(f, i, k))
				fw_json_hex(j, f->unloaded[k].offset, w->digits);
		fw_json_end_array(j);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

static void write_frame(struct fw_json_report *w, const struct fw_report_frame *f, bool registers)
{
	struct fw_json *j = &w->j;
	const unsigned digits = w->digits;
	const bool named = f->function.s;
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "frame");
	fw_json_u64(j, f->index);
	FW_KEY(j, "trust");
	fw_json_str(j, w->trust[f->trust]);
	FW_KEY(j, "offset");
	hex(j, f->lookup, digits);
	FW_KEY(j, "pc");
	hex(j, f->pc, digits);
	FW_KEY(j, "signal_frame");
	fw_json_bool(j, f->signal_frame);
	FW_KEY(j, "module");
	fw_json_str(j, f->module_name);
	FW_KEY(j, "module_offset");
	hex_or_null(j, f->module, f->module_offset, digits);
	FW_KEY(j, "unloaded_modules");
	if (f->num_unloaded)
		write_unloaded(w, f);
	else
		fw_json_null(j);
	FW_KEY(j, "function");
	fw_json_str(j, f->function);
	FW_KEY(j, "function_offset");
	hex_or_null(j, named, f->function_offset, digits);
	FW_KEY(j, "file");
	fw_json_str(j, f->file);
	FW_KEY(j, "line");
	fw_json_number_or_null(j, f->line, f->line);
	FW_KEY(j, "inlines");
	if (f->num_inlines)
		write_inlines(j, f);
	else
		fw_json_null(j);
	FW_KEY(j, "missing_symbols");
	fw_json_bool(j, !named);
	FW_KEY(j, "registers");
	if (registers && f->regs)
		write_registers(w, f->regs);
	else
		fw_json_null(j);
	fw_json_end_object(j);
}

static void write_frame_range(struct fw_json_report *w, const struct fw_report_thread *thread,
			      uint32_t from, uint32_t to, bool registers)
{
	struct fw_report_frame f;
	for (uint32_t i = from; i < to && !w->j.out->failed; i++) {
		fw_report_frame(w->r, thread, i, &f);
		write_frame(w, &f, registers);
	}
}

/**
 * The crashing thread stands in the report twice. Frames from the second on are
 * the same text in both places, commas in front, so in compact form the first
 * place keeps it in @p copy for the second. A thread too long for that is
 * composed twice.
 */
static void write_frames(struct fw_json_report *w, const struct fw_report_thread *thread,
			 bool top_registers, struct fw_out *copy)
{
	struct fw_json *j = &w->j;
	fw_json_begin_array(j);
	if (thread->num_frames)
		write_frame_range(w, thread, 0, 1, top_registers || w->registers);
	if (!copy) {
		write_frame_range(w, thread, 1, thread->num_frames, w->registers);
	} else {
		if (!copy->count && !copy->failed && thread->num_frames > 1) {
			struct fw_out *out = j->out;
			j->out = copy;
			write_frame_range(w, thread, 1, thread->num_frames, w->registers);
			j->out = out;
		}
		if (copy->failed)
			write_frame_range(w, thread, 1, thread->num_frames, w->registers);
		else
			fw_out_write(j->out, copy->data, copy->count);
	}
	fw_json_end_array(j);
}

static void write_candidates(struct fw_json_report *w, const struct fw_report_thread *thread)
{
	struct fw_json *j = &w->j;
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < thread->num_candidates; i++) {
		const struct fw_candidate *c = &thread->candidates[i];
		const struct fw_report_module *m = c->module < w->r->num_modules ?
			&w->r->modules[c->module] : NULL;
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "stack_address");
		fw_json_hex(j, c->stack_address, w->digits);
		FW_KEY(j, "value");
		fw_json_hex(j, c->value, w->digits);
		FW_KEY(j, "module");
		fw_json_str(j, m ? m->name : (struct fw_str){ NULL, 0 });
		FW_KEY(j, "module_offset");
		if (m)
			fw_json_hex(j, c->value - m->info->base, w->digits);
		else
			fw_json_null(j);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
}

/** @p threads_index: of the copy of the crashing thread; -1 for an entry of `threads`. */
static void write_thread(struct fw_json_report *w, const struct fw_report_thread *thread,
			 int64_t threads_index, struct fw_out *copy)
{
	const struct fw_thread_info *info = thread->info;
	struct fw_json *j = &w->j;
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "thread_id");
	fw_json_u64(j, info->id);
	FW_KEY(j, "thread_index");
	fw_json_u64(j, thread->peer_index);
	FW_KEY(j, "thread_name");
	fw_json_str(j, info->name);
	FW_KEY(j, "last_error_value");
	if (info->have_last_error)
		fw_json_hex(j, info->last_error, 8);
	else
		fw_json_null(j);
	FW_KEY(j, "frame_count");
	fw_json_u64(j, thread->num_frames);
	FW_KEY(j, "frames");
	write_frames(w, thread, threads_index >= 0, copy);
	FW_KEY(j, "stop_reason");
	fw_json_cstr(j, fw_stop_name(thread->stop));
	FW_KEY(j, "stop_detail");
	fw_json_cstr(j, thread->stop_detail);
	FW_KEY(j, "candidates");
	write_candidates(w, thread);
	if (threads_index >= 0) {
		FW_KEY(j, "threads_index");
		fw_json_u64(j, (uint64_t)threads_index);
	}
	fw_json_end_object(j);
}

static void write_threads(struct fw_json_report *w)
{
	struct fw_report *r = w->r;
	struct fw_json *j = &w->j;
	struct fw_out copy;
	fw_out_init_memory(&copy, MAX_COPY);
	struct fw_out *shared = j->pretty ? NULL : &copy;
	FW_KEY(j, "thread_count");
	fw_json_u64(j, r->total_threads);
	FW_KEY(j, "crashing_thread");
	if (r->crashing >= 0)
		write_thread(w, &r->threads[r->crashing], r->crashing, shared);
	else
		fw_json_null(j);
	FW_KEY(j, "threads");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < r->num_threads; i++)
		write_thread(w, &r->threads[i], -1, i == r->crashing ? shared : NULL);
	fw_json_end_array(j);
	fw_out_deinit(&copy);
}

static void begin_document(struct fw_json *j, const char *status)
{
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "schema_version");
	fw_json_u64(j, FW_SCHEMA_VERSION);
	FW_KEY(j, "status");
	fw_json_cstr(j, status);
	FW_KEY(j, "error");
}

void fw_report_write_json(struct fw_report *r, bool registers, bool pretty, struct fw_out *out)
{
	struct fw_json_report w = { .r = r, .digits = r->pointer_digits, .registers = registers };
	struct fw_json *j = &w.j;
	for (unsigned i = 0; i < FW_TRUST_COUNT; i++) {
		const char *name = fw_trust_name((enum fw_trust)i);
		w.trust[i] = (struct fw_str){ name, strlen(name) };
	}
	fw_json_init(j, out, pretty);
	begin_document(j, "OK");
	fw_json_null(j);
	fw_json_summary_part(&w);
	write_threads(&w);
	fw_json_modules(&w);
	fw_json_rest(&w);
	fw_json_end_object(j);
	fw_json_finish(j);
}

void fw_report_write_error_json(const char *file, const struct fw_error *error, bool pretty,
				struct fw_out *out)
{
	struct fw_json json, *j = &json;
	fw_json_init(j, out, pretty);
	begin_document(j, "ERROR");
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "code");
	fw_json_cstr(j, fw_code_name(error->code));
	FW_KEY(j, "file");
	fw_json_cstr(j, file);
	FW_KEY(j, "place");
	fw_json_cstr(j, error->place[0] ? error->place : NULL);
	FW_KEY(j, "message");
	fw_json_cstr(j, error->message);
	fw_json_end_object(j);
	fw_json_end_object(j);
	fw_json_finish(j);
}
