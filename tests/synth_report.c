#include "tests/synth_report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct fw_str synth_str(const char *s)
{
	return (struct fw_str){ s, s ? strlen(s) : 0 };
}

struct synth_report *synth_report_create(enum fw_cpu_id cpu)
{
	struct synth_report *b = calloc(1, sizeof(*b));
	assert(b);
	b->s.format = "minidump";
	b->s.cpu = fw_cpu_get(cpu);
	b->s.os = FW_OS_LINUX;
	b->s.threads = b->infos;
	b->s.crashing_thread = -1;
	b->s.modules = b->module_infos;
	b->r.snapshot = &b->s;
	b->r.path = "crash.dmp";
	b->r.pointer_digits = b->s.cpu->word_size == 4 ? 8 : 16;
	b->r.crashing = b->r.crashing_index = -1;
	b->r.threads = b->threads;
	b->r.modules = b->modules;
	b->r.private = (struct fw_report_private *)b;
	return b;
}

void synth_report_destroy(struct synth_report *b)
{
	free(b);
}

struct fw_report_module *synth_module(struct synth_report *b, uint64_t base, uint64_t size,
				      const char *code_file, const char *debug_file,
				      const char *debug_id)
{
	static const struct fw_symbol_file not_searched = { .status = FW_SYMBOLS_NOT_SEARCHED };
	uint32_t i = b->r.num_modules++;
	assert(i < SYNTH_MODULES);
	struct fw_module_info *info = &b->module_infos[i];
	struct fw_report_module *m = &b->modules[i];
	info->base = base;
	info->size = size;
	info->code_file = synth_str(code_file);
	info->debug_file = synth_str(debug_file);
	if (debug_id)
		info->debug_id.n = (uint8_t)snprintf(info->debug_id.text,
						     sizeof(info->debug_id.text), "%s", debug_id);
	m->info = info;
	const char *slash = strrchr(code_file, '/');
	m->name = synth_str(slash ? slash + 1 : code_file);
	slash = debug_file ? strrchr(debug_file, '/') : NULL;
	m->debug_name = synth_str(slash ? slash + 1 : debug_file);
	m->symbols = &not_searched;
	b->s.num_modules = b->r.num_modules;
	return m;
}

struct fw_report_thread *synth_thread(struct synth_report *b, uint32_t id, const char *name,
				      const struct synth_frame *frames, uint32_t n)
{
	uint32_t i = b->r.num_threads++;
	assert(i < SYNTH_THREADS && b->num_walked + n <= SYNTH_FRAMES);
	b->s.num_threads = b->r.total_threads = b->r.num_threads;
	b->infos[i].id = id;
	b->infos[i].name = synth_str(name);
	b->infos[i].have_context = true;
	b->frames[i] = frames;
	struct fw_report_thread *t = &b->threads[i];
	*t = (struct fw_report_thread){
		.info = &b->infos[i], .index = i, .peer_index = i, .num_frames = n,
		.stop = FW_STOP_END_OF_STACK, .stop_detail = "the frame pointer is 0",
		.frames = b->walked + b->num_walked,
	};
	for (uint32_t k = 0; k < n; k++) {
		t->frames[k] = (struct fw_frame){
			.pc = frames[k].pc, .lookup = frames[k].lookup,
			.module = frames[k].module, .trust = (uint8_t)frames[k].trust,
			.signal_frame = frames[k].signal_frame,
		};
		t->stack_hash = t->stack_hash * 31 + frames[k].pc;
		if (frames[k].module < b->r.num_modules)
			b->modules[frames[k].module].on_stack = true;
	}
	b->num_walked += n;
	return t;
}

void synth_crash(struct synth_report *b, uint32_t index, const char *reason, uint64_t address)
{
	b->r.crashed = b->s.crashed = b->s.exception.present = true;
	b->r.crashing = b->r.crashing_index = b->s.crashing_thread = index;
	b->s.exception.thread_id = b->infos[index].id;
	b->threads[index].crashing = true;
	snprintf(b->r.reason, sizeof(b->r.reason), "%s", reason);
	snprintf(b->r.breakpad_reason, sizeof(b->r.breakpad_reason), "%s", reason);
	b->r.crash_address = address;
}

static void set_names(const struct synth_frame *from, struct fw_report_frame *f)
{
	f->function = synth_str(from->function);
	if (from->function) {
		f->function_offset = from->lookup - from->function_start;
		f->function_pc_offset = from->pc - from->function_start;
	}
	f->file = synth_str(from->file);
	f->line = from->line;
	f->have_line = from->file;
	f->line_offset = from->file ? (uint32_t)(from->pc - from->line_start) : 0;
	f->num_inlines = from->num_inlines;
	memcpy(f->inlines, from->inlines, sizeof(from->inlines));
	f->num_unloaded = from->num_unloaded;
	for (uint32_t i = 0; i < from->num_unloaded; i++) {
		f->unloaded[i].name = synth_str(from->unloaded[i].name);
		f->unloaded[i].offset = from->unloaded[i].offset;
	}
}

void synth_report_frame(struct fw_report *r, const struct fw_report_thread *thread,
			uint32_t index, struct fw_report_frame *ret)
{
	const struct synth_report *b = (const struct synth_report *)r->private;
	const struct synth_frame *from = &b->frames[thread - b->threads][index];
	memset(ret, 0xa5, sizeof(*ret));	// whatever is not set must not be read
	ret->index = index;
	ret->pc = from->pc;
	ret->lookup = from->lookup;
	ret->trust = from->trust;
	ret->signal_frame = from->signal_frame;
	ret->module = NULL;
	ret->module_name = (struct fw_str){ NULL, 0 };
	if (from->module != FW_NO_MODULE) {
		ret->module = &b->module_infos[from->module];
		ret->module_name = b->modules[from->module].name;
		ret->module_offset = from->lookup - ret->module->base;
		ret->module_pc_offset = from->pc - ret->module->base;
	}
	ret->regs = thread->regs ? &thread->regs[index] : index == 0 ? &thread->info->regs : NULL;
	set_names(from, ret);
}

const char *synth_text(struct fw_out *out)
{
	fw_out_byte(out, '\0');
	out->count--;
	return out->data;
}
