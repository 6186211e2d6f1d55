#include "tests/synth_profile.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static struct fw_str str(const char *s)
{
	return (struct fw_str){ s, s ? strlen(s) : 0 };
}

struct synth_profile *synth_profile_create(void)
{
	struct synth_profile *b = calloc(1, sizeof(*b));
	assert(b);
	b->r.format = "perf.data";
	b->r.cpu = fw_cpu_get(FW_CPU_AMD64);
	b->r.events = b->events;
	b->r.hostname = str("host");
	b->r.os_release = str("6.1.0");
	b->r.version = str("6.1");
	b->r.arch = str("x86_64");
	b->r.command_line = str("perf record app");
	b->p.recording = &b->r;
	b->p.path = "perf.data";
	b->p.frames = b->frames;
	b->p.lines = b->lines;
	b->p.nodes = b->nodes;
	b->p.num_nodes = 1;
	b->p.stacks = b->stacks;
	b->p.samples = b->samples;
	b->p.threads = b->threads;
	b->p.modules = b->modules;
	synth_event(b, "cpu-clock");
	return b;
}

void synth_profile_destroy(struct synth_profile *b)
{
	free(b);
}

struct fw_event_info *synth_event(struct synth_profile *b, const char *name)
{
	struct fw_event_info *e = &b->events[b->r.num_events++];
	*e = (struct fw_event_info){
		.name = str(name), .type = 1, .kernel = true, .user = true, .have_stack = true,
		.have_time = true, .have_period = true, .frequency = 1000, .stack_asked = 8192,
	};
	return e;
}

uint32_t synth_prof_thread(struct synth_profile *b, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t i = b->p.num_threads++;
	assert(i < SYNTH_PROFILE_ITEMS);
	b->threads[i] = (struct fw_profile_thread){ pid, tid, str(name) };
	return i;
}

uint32_t synth_prof_module(struct synth_profile *b, const char *path, const char *id,
			   uint64_t base, uint64_t size)
{
	uint32_t i = b->p.num_modules++;
	assert(i < 16);
	b->symbol_files[i] = (struct fw_symbol_file){ .status = FW_SYMBOLS_LOADED, .path = path };
	b->modules[i] = (struct fw_profile_module){
		.path = str(path), .name = fw_base_name(str(path)), .id_recorded = id != NULL,
		.base = base, .size = size, .symbols = &b->symbol_files[i], .used_path = path,
	};
	if (id)
		assert(fw_ident_parse_code(&b->modules[i].build_id, str(id)));
	return i;
}

uint32_t synth_prof_frame(struct synth_profile *b, uint32_t module, uint64_t pc,
			  const char *functions)
{
	uint32_t i = b->p.num_frames++;
	assert(i < SYNTH_PROFILE_ITEMS);
	b->frames[i] = (struct fw_profile_frame){
		.module = module, .pc = pc, .lookup = pc - 1, .trust = FW_TRUST_CFI,
		.first_line = b->p.num_lines,
	};
	if (!functions || !*functions) {
		b->frames[i].num_lines = 1;
		b->lines[b->p.num_lines++] = (struct fw_profile_line){ 0 };
		return i;
	}
	for (const char *s = functions, *end; s; s = end ? end + 1 : NULL) {
		end = strchr(s, '\n');
		struct fw_str name = { s, end ? (size_t)(end - s) : strlen(s) };
		uint32_t n = b->frames[i].num_lines++;
		assert(b->p.num_lines < SYNTH_PROFILE_ITEMS);
		b->lines[b->p.num_lines++] = (struct fw_profile_line){
			.function = name, .file = FW_STR("/src/a.c"), .line = 10 + n,
			.function_offset = end ? 0 : 0x15,
		};
	}
	return i;
}

uint32_t synth_node(struct synth_profile *b, uint32_t parent, uint32_t frame)
{
	assert(b->p.num_nodes < SYNTH_PROFILE_ITEMS);
	b->nodes[b->p.num_nodes] = (struct fw_profile_node){ parent, frame };
	return b->p.num_nodes++;
}

void synth_stack(struct synth_profile *b, uint32_t node, uint32_t thread, uint32_t event,
		 uint64_t samples)
{
	assert(b->p.num_stacks < SYNTH_PROFILE_ITEMS);
	b->stacks[b->p.num_stacks++] = (struct fw_profile_stack){
		node, thread, event, samples, samples * 1000000
	};
	b->p.samples_read += samples;
	b->p.samples_used += samples;
}

struct fw_profile_sample *synth_sample(struct synth_profile *b, uint32_t node, uint32_t thread,
				       uint32_t event, uint64_t time)
{
	uint64_t i = b->p.num_samples++;
	assert(i < SYNTH_PROFILE_ITEMS);
	b->samples[i] = (struct fw_profile_sample){
		.time = time, .period = 1000000, .index = i, .thread = thread, .event = event,
		.cpu = UINT32_MAX, .node = node,
	};
	if (!i)
		b->p.first_time = time;
	b->p.last_time = time;
	return &b->samples[i];
}

struct synth_profile *synth_profile_small(void)
{
	struct synth_profile *b = synth_profile_create();
	uint32_t thread = synth_prof_thread(b, 100, 101, "app");
	uint32_t app = synth_prof_module(b, "/opt/app", "00112233445566778899aabbccddeeff00112233",
					 0x400000, 0x10000);
	uint32_t libc = synth_prof_module(b, "/lib/libc.so.6", NULL, 0x7f0000000000, 0x200000);
	uint32_t kernel = synth_prof_module(b, "[kernel.kallsyms]", NULL, 0xffffffff81000000,
					    0x1000000);
	uint32_t main = synth_node(b, 0, synth_prof_frame(b, app, 0x1010, "main"));
	uint32_t work = synth_node(b, main, synth_prof_frame(b, app, 0x2020, "fast\nwork"));
	uint32_t alloc = synth_node(b, main, synth_prof_frame(b, libc, 0x3030, NULL));
	uint32_t fault = synth_prof_frame(b, kernel, 0x4040, "do_fault");
	b->frames[fault].kernel = true;
	b->frames[fault].trust = FW_TRUST_PREWALKED;
	uint32_t in_kernel = synth_node(b, alloc, fault);
	synth_stack(b, work, thread, 0, 3);
	synth_stack(b, alloc, thread, 0, 2);
	synth_stack(b, in_kernel, thread, 0, 1);
	uint32_t nodes[] = { work, alloc, work, in_kernel, work, alloc };
	for (uint64_t i = 0; i < 6; i++)
		synth_sample(b, nodes[i], thread, 0, UINT64_C(12998053034999) + i * 1000000);
	b->p.frames_walked = 3 * 2 + 2 * 2 + 2;
	b->p.stops[FW_STOP_END_OF_STACK] = 6;
	b->p.deepest = 3;
	return b;
}

const char *synth_profile_text(struct fw_out *out)
{
	fw_out_byte(out, '\0');
	assert(!out->failed);
	out->count--;
	return out->data;
}
