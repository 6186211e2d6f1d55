// The call chains of a recording as they were recorded, without names, in a format of
// samples: what the reader and the writers make of real recordings is comparable with
// `perf script` where nothing has to be unwound.
//
// usage: print_chains RECORDING perf|folded|pprof|firefox|flamegraph|ndjson
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/report/profile.h"

#define MARKER ((uint64_t)-4095)		// linux/perf_event.h: PERF_CONTEXT_MAX
#define CONTEXT_KERNEL ((uint64_t)-128)

static struct fw_profile p;
static FW_VEC(struct fw_profile_frame) frames;
static FW_VEC(struct fw_profile_node) nodes;
static FW_VEC(struct fw_profile_stack) stacks;
static FW_VEC(struct fw_profile_sample) samples;
static FW_VEC(struct fw_profile_thread) threads;

/** Addresses are kept as they stand. */
uint64_t fw_profile_address(const struct fw_profile *profile, uint32_t space,
			    const struct fw_profile_frame *frame)
{
	return frame->pc;
}

static uint32_t find_thread(struct fw_recording *r, const struct fw_sample *s)
{
	struct fw_str name = fw_spaces_name(r->spaces, s->pid, s->tid, s->time);
	for (uint32_t i = 0; i < threads.count; i++) {
		const struct fw_profile_thread *t = &threads.data[i];
		if (t->pid == s->pid && t->tid == s->tid && t->name.n == name.n &&
		    (!name.n || memcmp(t->name.s, name.s, name.n) == 0))
			return i;
	}
	struct fw_str copy = { name.n ? strndup(name.s, name.n) : "", name.n };
	if (!fw_vec_push(&threads, ((struct fw_profile_thread){ s->pid, s->tid, copy })))
		abort();
	return (uint32_t)threads.count - 1;
}

static uint32_t add_frame(struct fw_recording *r, const struct fw_sample *s, uint64_t pc,
			  bool kernel, uint32_t parent)
{
	uint32_t pid = kernel ? FW_KERNEL_PID : s->pid;
	const struct fw_space_view *view = fw_spaces_at(r->spaces, pid, s->time);
	const struct fw_mapping *map = view ? fw_space_find(view, pc) : NULL;
	bool anon = map && fw_spaces_dso_at(r->spaces, map->dso)->kind == FW_DSO_ANON;
	struct fw_profile_frame f = {
		.module = map && !anon ? map->dso : FW_NO_MODULE, .pc = pc, .lookup = pc,
		.trust = FW_TRUST_PREWALKED, .kernel = kernel, .num_lines = 1,
	};
	struct fw_profile_node n = { parent, (uint32_t)frames.count };
	if (!fw_vec_push(&frames, f) || !fw_vec_push(&nodes, n))
		abort();
	return (uint32_t)nodes.count - 1;
}

static uint32_t add_chain(struct fw_recording *r, const struct fw_sample *s)
{
	bool kernel[4096], in_kernel = false;
	uint64_t pcs[4096];
	uint32_t n = 0, node = 0;
	for (uint32_t i = 0; i < s->chain_words && n < 4096; i++) {
		uint64_t word = fw_sample_chain(r, s, i);
		if (word >= MARKER) {
			in_kernel = word == CONTEXT_KERNEL;
			continue;
		}
		kernel[n] = in_kernel;
		pcs[n++] = word;
	}
	if (!s->chain_words) {
		kernel[0] = s->mode == FW_MODE_KERNEL;
		pcs[n++] = s->ip;
	}
	while (n-- > 0)
		node = add_frame(r, s, pcs[n], kernel[n], node);
	return node;
}

static void add_sample(struct fw_recording *r, const struct fw_sample *s)
{
	uint32_t thread = find_thread(r, s), node = add_chain(r, s);
	struct fw_profile_sample sample = {
		.time = s->time, .period = s->period, .index = s->index, .thread = thread,
		.event = s->event, .cpu = s->cpu, .node = node,
	};
	struct fw_profile_stack stack = { node, thread, s->event, 1, s->period };
	if (!fw_vec_push(&samples, sample) || !fw_vec_push(&stacks, stack))
		abort();
}

static int by_time(const void *x, const void *y)
{
	const struct fw_profile_sample *a = x, *b = y;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static void list_modules(struct fw_recording *r)
{
	static const struct fw_symbol_file none = { .status = FW_SYMBOLS_NOT_SEARCHED };
	p.num_modules = fw_spaces_num_dsos(r->spaces);
	p.modules = calloc(p.num_modules + (size_t)1, sizeof(*p.modules));
	if (!p.modules)
		abort();
	for (uint32_t i = 0; i < p.num_modules; i++) {
		const struct fw_dso *d = fw_spaces_dso_at(r->spaces, i);
		bool kernel = d->kind == FW_DSO_KERNEL;
		struct fw_str path = kernel ? FW_STR("[kernel.kallsyms]") : d->path;
		p.modules[i] = (struct fw_profile_module){
			.path = path, .name = fw_base_name(path), .build_id = d->build_id,
			.symbols = &none,
		};
	}
}

static void read_recording(struct fw_recording *r)
{
	static struct fw_profile_line line;
	struct fw_sample_batch batch;
	struct fw_sample s;
	struct fw_error err;
	if (!fw_vec_push(&nodes, ((struct fw_profile_node){ 0 })))
		abort();
	while (fw_recording_next(r, &batch, &err) == FW_OK) {
		for (uint32_t i = 0; i < batch.count; i++)
			if (fw_sample_decode(r, &batch.samples[i], &s))
				add_sample(r, &s);
		fw_recording_release(r, &batch);
	}
	if (samples.count)
		qsort(samples.data, samples.count, sizeof(*samples.data), by_time);
	list_modules(r);
	p.recording = r;
	p.frames = frames.data, p.num_frames = (uint32_t)frames.count;
	p.lines = &line, p.num_lines = 1;
	p.nodes = nodes.data, p.num_nodes = (uint32_t)nodes.count;
	p.stacks = stacks.data, p.num_stacks = (uint32_t)stacks.count;
	p.samples = samples.data, p.num_samples = samples.count;
	p.threads = threads.data, p.num_threads = (uint32_t)threads.count;
	p.samples_read = p.samples_used = samples.count;
	p.first_time = samples.count ? samples.data[0].time : 0;
	p.last_time = samples.count ? samples.data[samples.count - 1].time : 0;
}

static bool print(const char *format, struct fw_out *out)
{
	if (strcmp(format, "perf") == 0)
		fw_profile_write_perf(&p, out);
	else if (strcmp(format, "folded") == 0)
		fw_profile_write_folded(&p, &(struct fw_folded_options){ 0 }, out);
	else if (strcmp(format, "pprof") == 0)
		fw_profile_write_pprof(&p, out);
	else if (strcmp(format, "firefox") == 0)
		fw_profile_write_firefox(&p, out);
	else if (strcmp(format, "flamegraph") == 0)
		fw_profile_write_flamegraph(&p, NULL, out);
	else if (strcmp(format, "ndjson") == 0)
		fw_profile_write_ndjson(&p, out);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct fw_recording *r;
	struct fw_error err;
	struct fw_out out;
	if (argc != 3) {
		fprintf(stderr, "usage: print_chains RECORDING FORMAT\n");
		return 2;
	}
	if (fw_recording_open(argv[1], -1, &r, &err) != FW_OK) {
		fprintf(stderr, "%s: %s\n", argv[1], err.message);
		return 1;
	}
	p.path = argv[1];
	read_recording(r);
	if (fw_out_init_fd(&out, 1, &err) != FW_OK || !print(argv[2], &out) ||
	    fw_out_flush(&out, &err) != FW_OK) {
		fprintf(stderr, "%s cannot be written\n", argv[2]);
		return 1;
	}
	fw_out_deinit(&out);
	return 0;
}
