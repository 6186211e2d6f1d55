// The report for a person: threads and their frames.
#include "lib/base/vec.h"
#include "lib/report/text_internal.h"

enum {
	SAMPLE_FRAMES = 256,	// of those printed, looked at to find a thread's column widths
	MAX_NAME = 48, MAX_PATH = 40, MAX_PLACE = MAX_PATH + 12, MAX_MODULE = 40,
				// widest columns; longer cells push the rest
	LINE_WIDTH = 100,
};

struct columns { unsigned number; size_t name, place, module; };

static void plus_offset(struct fw_out *o, uint64_t offset)
{
	fw_out_lit(o, " + 0x");
	fw_out_hex(o, offset, 0);
}

static void name_cell(struct fw_out *o, const struct fw_report_frame *f)
{
	if (f->function.n) {
		fw_text_safe(o, f->function);
		plus_offset(o, f->function_pc_offset);
	} else {
		fw_out_lit(o, "??");
	}
}

static void inline_name_cell(struct fw_out *o, struct fw_str function)
{
	fw_out_lit(o, "  ");
	if (function.n)
		fw_text_safe(o, function);
	else
		fw_out_lit(o, "??");
}

/** The end of a path that is too long for its column, from a separator on. */
static struct fw_str short_path(struct fw_str path, bool *cut)
{
	size_t from = 0;	// of the components that fit
	for (size_t i = path.n; path.n > MAX_PATH && i-- > 0 &&
	     (!from || path.n - i <= MAX_PATH);)
		if (path.s[i] == '/' || path.s[i] == '\\')
			from = i;
	*cut = from;
	return (struct fw_str){ path.s + from, path.n - from };
}

static void place_cell(struct fw_out *o, struct fw_str file, uint32_t line)
{
	if (!file.n)
		return;
	bool cut;
	struct fw_str path = short_path(file, &cut);
	fw_out_byte(o, '(');
	if (cut)
		fw_out_lit(o, "...");
	fw_text_safe(o, path);
	if (line) {
		fw_out_byte(o, ':');
		fw_out_dec(o, line);
	}
	fw_out_byte(o, ')');
}

static void module_cell(struct fw_out *o, const struct fw_report_frame *f, unsigned digits)
{
	fw_out_byte(o, '[');
	if (f->module) {
		fw_text_safe(o, f->module_name);
		plus_offset(o, f->module_pc_offset);
	} else if (f->num_unloaded) {
		fw_out_lit(o, "unloaded ");
		fw_text_safe(o, f->unloaded[0].name);
		plus_offset(o, f->unloaded[0].offset);
	} else {
		fw_out_lit(o, "0x");
		fw_out_hex(o, f->pc, digits);
	}
	fw_out_byte(o, ']');
}

static size_t cell_width(struct fw_text_writer *t)
{
	size_t width = fw_text_width(t->cell.data, t->cell.count);
	t->cell.count = 0;
	return width;
}

static void grow_to(size_t *column, size_t width, size_t max)
{
	if (width > *column && width <= max)
		*column = width;
}

/** A run of frames from @p first on: [first, end) is printed, up to next it repeats. */
struct run { uint32_t first, end, next; struct fw_fold fold; };

static struct run next_run(const struct fw_text_writer *t, const struct fw_report_thread *thread,
			   uint32_t first)
{
	struct run run = { .first = first, .end = first + 1, .next = first + 1 };
	if (t->o->fold && fw_fold_at(thread->frames, thread->num_frames, first, &run.fold)) {
		run.end = first + run.fold.period;
		run.next = first + run.fold.period * run.fold.times;
	}
	return run;
}

static void measure_frame(struct fw_text_writer *t, const struct fw_report_thread *thread,
			  uint32_t index, struct columns *c)
{
	struct fw_report_frame *f = &t->f;
	fw_report_frame(t->r, thread, index, f);
	for (uint32_t k = 0; k < f->num_inlines; k++) {
		inline_name_cell(&t->cell, f->inlines[k].function);
		grow_to(&c->name, cell_width(t), MAX_NAME);
		place_cell(&t->cell, f->inlines[k].file, f->inlines[k].line);
		grow_to(&c->place, cell_width(t), MAX_PLACE);
	}
	name_cell(&t->cell, f);
	grow_to(&c->name, cell_width(t), MAX_NAME);
	place_cell(&t->cell, f->file, f->line);
	grow_to(&c->place, cell_width(t), MAX_PLACE);
	module_cell(&t->cell, f, t->r->pointer_digits);
	grow_to(&c->module, cell_width(t), MAX_MODULE);
}

static struct columns measure(struct fw_text_writer *t, const struct fw_report_thread *thread)
{
	struct columns c = { .number = 1 };
	unsigned sampled = 0;
	for (uint32_t n = thread->num_frames; n > 10; n = (n + 9) / 10)
		c.number++;
	for (uint32_t i = 0; i < thread->num_frames && sampled < SAMPLE_FRAMES;) {
		struct run run = next_run(t, thread, i);
		for (; i < run.end; i++, sampled++)
			measure_frame(t, thread, i, &c);
		i = run.next;
	}
	return c;
}

/** Print the cell that was composed, padded to its column and a gap. */
static void put_cell(struct fw_text_writer *t, size_t column)
{
	fw_out_write(t->out, t->cell.data, t->cell.count);
	fw_text_pad(t, cell_width(t), column);
	fw_out_lit(t->out, "  ");
}

static void put_number(struct fw_text_writer *t, const struct columns *c, uint32_t number)
{
	fw_out_lit(t->out, "  #");
	fw_out_dec(&t->cell, number);
	put_cell(t, c->number);
}

/** A word of the JSON form for people: "frame_pointer" is "frame pointer". */
static void put_word(struct fw_out *o, const char *word)
{
	for (; *word; word++)
		fw_out_byte(o, *word == '_' ? ' ' : *word);
}

static void put_registers(struct fw_text_writer *t, const struct fw_regs *regs, unsigned indent)
{
	const struct fw_cpu *cpu = t->r->snapshot->cpu;
	size_t longest = 0;
	for (unsigned i = 0; i < cpu->num_regs; i++)
		if (fw_regs_has(regs, i) && strlen(cpu->reg_names[i]) > longest)
			longest = strlen(cpu->reg_names[i]);
	unsigned on_line = 0;
	for (unsigned i = 0; i < cpu->num_regs; i++) {
		if (!fw_regs_has(regs, i))
			continue;
		if (on_line == (cpu->word_size == 8 ? 3 : 4)) {
			fw_out_byte(t->out, '\n');
			on_line = 0;
		}
		fw_text_pad(t, on_line ? 0 : 2, on_line ? 2 : indent + 2);
		fw_text_pad(t, strlen(cpu->reg_names[i]), longest);
		fw_out_cstr(t->out, cpu->reg_names[i]);
		fw_out_lit(t->out, " 0x");
		fw_out_hex(t->out, regs->v[i], 2U * cpu->word_size);
		on_line++;
	}
	if (on_line)
		fw_out_byte(t->out, '\n');
}

static void put_frame(struct fw_text_writer *t, const struct fw_report_thread *thread,
		      const struct columns *c, uint32_t index)
{
	struct fw_report_frame *f = &t->f;
	fw_report_frame(t->r, thread, index, f);
	for (uint32_t k = 0; k < f->num_inlines; k++) {
		put_number(t, c, index);
		inline_name_cell(&t->cell, f->inlines[k].function);
		fw_text_style(t, FW_STYLE_NAME);
		put_cell(t, c->name);
		fw_text_style_end(t);
		place_cell(&t->cell, f->inlines[k].file, f->inlines[k].line);
		if (c->place)
			put_cell(t, c->place);
		fw_out_lit(t->out, "inline\n");
	}
	put_number(t, c, index);
	name_cell(&t->cell, f);
	fw_text_style(t, FW_STYLE_NAME);
	put_cell(t, c->name);
	fw_text_style_end(t);
	place_cell(&t->cell, f->file, f->line);
	if (c->place)
		put_cell(t, c->place);
	fw_text_style(t, FW_STYLE_DIM);
	module_cell(&t->cell, f, t->r->pointer_digits);
	put_cell(t, c->module);
	put_word(t->out, fw_trust_name(f->trust));
	if (f->signal_frame)
		fw_out_lit(t->out, ", signal frame");
	fw_text_style_end(t);
	fw_out_byte(t->out, '\n');
	if (f->regs && (t->o->registers || (thread->crashing && index == 0)))
		put_registers(t, f->regs, c->number + 5);
}

/** The line that stands for the rounds of a recursion after the first. */
static void put_fold(struct fw_text_writer *t, const struct columns *c, const struct run *run)
{
	fw_text_pad(t, 0, c->number + 5);
	fw_out_lit(t->out, "... ");
	fw_text_count(t->out, run->fold.times);
	fw_out_printf(t->out, " times (#%u to #%u", run->first, run->next - 1);
	if (run->fold.period > 1)
		fw_out_printf(t->out, ", %u frames each", run->fold.period);
	fw_out_lit(t->out, ")\n");
}

static void put_candidates(struct fw_text_writer *t, const struct fw_report_thread *thread)
{
	struct fw_out *o = t->out;
	if (!thread->num_candidates)
		return;
	fw_out_lit(o, "  possible return addresses (nothing supports them):\n");
	for (uint32_t i = 0; i < thread->num_candidates; i++) {
		const struct fw_candidate *c = &thread->candidates[i];
		fw_out_lit(o, "    0x");
		fw_out_hex(o, c->value, t->r->pointer_digits);
		if (c->module < t->r->num_modules) {
			const struct fw_report_module *m = &t->r->modules[c->module];
			fw_out_lit(o, "  [");
			fw_text_safe(o, m->name);
			plus_offset(o, c->value - m->info->base);
			fw_out_byte(o, ']');
		}
		fw_out_lit(o, "  at 0x");
		fw_out_hex(o, c->stack_address, t->r->pointer_digits);
		fw_out_byte(o, '\n');
	}
}

static void put_stack(struct fw_text_writer *t, const struct fw_report_thread *thread)
{
	struct columns c = measure(t, thread);
	for (uint32_t i = 0; i < thread->num_frames && !t->out->failed;) {
		struct run run = next_run(t, thread, i);
		for (; i < run.end; i++)
			put_frame(t, thread, &c, i);
		if (run.next > run.end)
			put_fold(t, &c, &run);
		i = run.next;
	}
	fw_out_lit(t->out, "  stack ends: ");
	put_word(t->out, fw_stop_name(thread->stop));
	if (thread->stop_detail && *thread->stop_detail) {
		fw_out_lit(t->out, " (");
		fw_out_safe(t->out, thread->stop_detail, strlen(thread->stop_detail));
		fw_out_byte(t->out, ')');
	}
	fw_out_byte(t->out, '\n');
	put_candidates(t, thread);
}

static void put_thread(struct fw_text_writer *t, const struct fw_report_thread *thread)
{
	struct fw_out *o = t->out;
	fw_out_byte(o, '\n');
	fw_text_style(t, thread->crashing && t->r->crashed ? FW_STYLE_BAD : FW_STYLE_TITLE);
	fw_out_lit(o, "Thread ");
	fw_out_dec(o, thread->peer_index);
	if (thread->info->name.n) {
		fw_out_lit(o, " \"");
		fw_text_safe(o, thread->info->name);
		fw_out_byte(o, '"');
	}
	fw_out_lit(o, ", id ");
	fw_out_dec(o, thread->info->id);
	if (thread->crashing)
		fw_out_cstr(o, t->r->crashed ? ", crashed" : ", requested the dump");
	fw_text_style_end(t);
	fw_out_byte(o, '\n');
	put_stack(t, thread);
}

/** A list broken into lines. */
struct list { size_t column; bool any; };

static void put_item(struct fw_text_writer *t, struct list *list)
{
	size_t width = fw_text_width(t->cell.data, t->cell.count);
	if (list->any) {
		fw_out_byte(t->out, ',');
		list->column++;
	}
	if (list->any && list->column + 1 + width > LINE_WIDTH - 2) {
		fw_out_lit(t->out, "\n   ");
		list->column = 3;
	}
	fw_out_byte(t->out, ' ');
	fw_out_write(t->out, t->cell.data, t->cell.count);
	list->column += 1 + width;
	list->any = true;
	t->cell.count = 0;
}

static void put_group_ids(struct fw_text_writer *t, const uint32_t *next, uint32_t first)
{
	struct list list = { .column = 10 };
	fw_out_lit(t->out, "  threads:");
	for (uint32_t i = first; i != FW_FOLD_END; i = next[i]) {
		const struct fw_report_thread *thread = &t->r->threads[i];
		fw_out_dec(&t->cell, thread->peer_index);
		if (thread->info->name.n) {
			fw_out_lit(&t->cell, " \"");
			fw_text_safe(&t->cell, thread->info->name);
			fw_out_byte(&t->cell, '"');
		}
		fw_out_lit(&t->cell, " (id ");
		fw_out_dec(&t->cell, thread->info->id);
		fw_out_byte(&t->cell, ')');
		put_item(t, &list);
	}
	fw_out_byte(t->out, '\n');
}

static void put_group(struct fw_text_writer *t, const uint32_t *next, uint32_t first)
{
	uint32_t count = 0;
	for (uint32_t i = first; i != FW_FOLD_END; i = next[i])
		count++;
	if (count == 1) {
		put_thread(t, &t->r->threads[first]);
		return;
	}
	fw_out_byte(t->out, '\n');
	fw_text_style(t, FW_STYLE_TITLE);
	fw_text_count(t->out, count);
	fw_out_lit(t->out, " threads with the same stack");
	fw_text_style_end(t);
	fw_out_byte(t->out, '\n');
	put_group_ids(t, next, first);
	put_stack(t, &t->r->threads[first]);
}

static void put_other_threads(struct fw_text_writer *t)
{
	struct fw_report *r = t->r;
	FW_VEC(uint32_t) room = { 0 };
	// Registers differ from thread to thread, so nothing repeats when they are asked for.
	bool fold = t->o->fold && !t->o->registers && r->num_threads &&
		    fw_vec_reserve(&room, 2 * (size_t)r->num_threads);
	const uint32_t *leader = room.data, *next = room.data + (fold ? r->num_threads : 0);
	if (fold)
		fw_fold_threads(r, r->crashing, room.data, room.data + r->num_threads);
	for (uint32_t i = 0; i < r->num_threads && !t->out->failed; i++) {
		if (i == r->crashing)
			continue;
		if (!fold)
			put_thread(t, &r->threads[i]);
		else if (leader[i] == i)
			put_group(t, next, i);
	}
	fw_vec_deinit(&room);
}

void fw_report_write_text(struct fw_report *r, const struct fw_text_options *o, struct fw_out *out)
{
	struct fw_text_writer t;
	t.r = r;
	t.o = o;
	t.out = out;
	fw_out_init_memory(&t.cell, 8 * (size_t)FW_MAX_SYM_LINE);
	fw_text_head(&t);
	if (r->crashing >= 0)
		put_thread(&t, &r->threads[r->crashing]);
	if (!o->brief || r->crashing < 0)
		put_other_threads(&t);
	if (!o->brief) {
		fw_text_modules(&t);
		fw_text_notes(&t);
	}
	if (t.cell.failed && !out->failed)
		out->failed = t.cell.failed;
	fw_out_deinit(&t.cell);
}
