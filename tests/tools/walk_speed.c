/*
 * Nanoseconds a frame of walking samples, in process: minimum of several passes, CPU
 * time. The module and its stacks are made up, as a profiler would see them: functions
 * of random sizes, half of them with a frame pointer, 30 calls deep.
 *
 *   walk_speed [MEGABYTES of stack copies, default 256] [FUNCTIONS, default 50000] [REPEAT,
 *   default 200]
 *
 * warm: 64 samples walked REPEAT times over; a small number of functions makes it a
 * small program's. in turns: fw_walk_stacks. from memory: every sample in a place of
 * its own, more than any cache holds. Every walk must reach the root, all frames right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/walk/walk.h"
#include "symfiles/breakpad.h"

enum { DEPTH = 30, COPY = 16384, BODY = 0x40, STRIDE = 0x100, WARM = 64, PASSES = 7 };
#define BASE UINT64_C(0x555500000000)
#define STACK UINT64_C(0x7ffc00000000)

struct function { uint32_t frame; bool has_fp; };

struct sample {
	struct fw_regs regs;
	uint8_t *stack;
	uint64_t size, pcs[2];		// the second frame's pc and the root's
};

static uint64_t state = 88172645463325252;

static uint32_t random_below(uint32_t n)	// xorshift64
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

static void die(const char *what)
{
	fprintf(stderr, "walk_speed: %s\n", what);
	exit(1);
}

static double cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/** Function 0 is the root: its return address is undefined. */
static struct fw_image *make_image(struct function *f, uint32_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct fw_image *image;
	struct fw_error err;
	if (!out)
		die("out of memory");
	fprintf(out, "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 made-up\n");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i * STRIDE;
		f[i] = (struct function){ 16 + 8 * random_below(i % 8 ? 16 : 128), i % 2 };
		fprintf(out, "STACK CFI INIT %x %x .cfa: $rsp 8 + .ra: %s\n", at, STRIDE - 16,
			i ? ".cfa -8 + ^" : ".undef");
		fprintf(out, "STACK CFI %x .cfa: $rsp 16 + $rbp: .cfa -16 + ^\n", at + 1);
		if (f[i].has_fp)
			fprintf(out, "STACK CFI %x .cfa: $rbp 16 +\n", at + 4);
		else
			fprintf(out, "STACK CFI %x $rbx: .cfa -24 + ^\n"
				"STACK CFI %x .cfa: $rsp %u +\n",
				at + 5, at + 9, f[i].frame + 16);
	}
	fclose(out);
	if (fw_sym_load_text((struct fw_str){ text, size }, &image, &err) != FW_OK)
		die(err.message);
	free(text);
	return image;
}

static void put(struct sample *s, uint64_t address, uint64_t word)
{
	memcpy(s->stack + (address - STACK), &word, sizeof(word));
}

/** Frames from the root down, at falling addresses below STACK + COPY. */
static void make_sample(struct sample *s, const struct function *f, uint32_t n)
{
	uint64_t cfa = STACK + COPY - 8, rbp = 0, pc = BASE + BODY;
	uint64_t sp = cfa - f[0].frame - 16;
	memset(s->stack, 0, COPY);
	s->pcs[1] = pc;
	for (unsigned i = 1; i < DEPTH; i++) {
		uint32_t k = 1 + random_below(n - 1);
		cfa = sp;
		s->pcs[0] = pc;
		put(s, cfa - 8, pc);
		put(s, cfa - 16, rbp);
		if (f[k].has_fp)
			rbp = cfa - 16;
		sp = cfa - f[k].frame - 16;
		pc = BASE + (uint64_t)k * STRIDE + BODY + random_below(64);
	}
	s->stack += sp - STACK;
	s->size = STACK + COPY - sp;
	s->regs.valid = 0;
	fw_regs_set(&s->regs, 16, pc);
	fw_regs_set(&s->regs, 7, sp);
	fw_regs_set(&s->regs, 6, rbp);
}

static const struct fw_image *image_of(void *context, uint32_t module)
{
	return context;
}

static void check(const struct sample *s, const struct fw_walk_result *r)
{
	if (r->stop != FW_STOP_END_OF_STACK || r->frames.count != DEPTH ||
	    r->frames.data[1].pc == 0 || r->frames.data[DEPTH - 1].pc != s->pcs[1])
		die("a walk is wrong");
}

static double pass(struct fw_walker *w, const struct sample *samples, uint32_t n, unsigned repeat)
{
	static struct fw_walk_result r;
	double start = cpu_ns();
	for (unsigned k = 0; k < repeat; k++)
		for (uint32_t i = 0; i < n; i++) {
			const struct sample *s = &samples[i];
			uint64_t sp = s->regs.v[7];
			if (fw_walk_stack(w, &s->regs, sp, s->stack, s->size, &r) != FW_OK)
				die("out of memory");
			check(s, &r);
		}
	return (cpu_ns() - start) / repeat / n / DEPTH;
}

enum { BATCH = 64 };

static double pass_batches(struct fw_walker *w, const struct sample *samples, uint32_t n,
			   unsigned repeat)
{
	static struct fw_walk_result r[BATCH];
	struct fw_walk_sample batch[BATCH];
	double start = cpu_ns();
	for (unsigned k = 0; k < repeat; k++)
		for (uint32_t i = 0; i + BATCH <= n; i += BATCH) {
			for (uint32_t j = 0; j < BATCH; j++) {
				const struct sample *s = &samples[i + j];
				batch[j] = (struct fw_walk_sample){
					&s->regs, s->regs.v[7], s->stack, s->size, &r[j],
				};
			}
			if (fw_walk_stacks(w, batch, BATCH) != FW_OK)
				die("out of memory");
			for (uint32_t j = 0; j < BATCH; j++)
				check(&samples[i + j], &r[j]);
		}
	return (cpu_ns() - start) / repeat / n / DEPTH;
}

static double best(double (*run)(struct fw_walker *, const struct sample *, uint32_t, unsigned),
		   struct fw_walker *w, const struct sample *samples, uint32_t n, unsigned repeat)
{
	double least = 1e9;
	for (unsigned i = 0; i < PASSES; i++) {
		double ns = run(w, samples, n, repeat);
		if (ns < least)
			least = ns;
	}
	return least;
}

int main(int argc, char **argv)
{
	uint32_t megabytes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 256;
	uint32_t functions = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 50000;
	uint32_t count = megabytes * (1048576 / COPY), mapped = 0;
	unsigned repeat = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 200;
	if (count < WARM || functions < 2 || functions > 10000000 || !repeat)
		die("usage: walk_speed [MEGABYTES [FUNCTIONS [REPEAT]]]");
	struct function *f = calloc(functions, sizeof(*f));
	struct sample *samples = calloc(count, sizeof(*samples));
	uint8_t *memory = malloc((size_t)count * COPY);
	if (!f || !samples || !memory)
		die("out of memory");
	struct fw_image *image = make_image(f, functions);
	for (uint32_t i = 0; i < count; i++) {
		samples[i].stack = memory + (size_t)i * COPY;
		make_sample(&samples[i], f, functions);
	}
	struct fw_module_info module = { .base = BASE, .size = (uint64_t)functions * STRIDE };
	struct fw_snapshot snapshot = {
		.cpu = fw_cpu_get(FW_CPU_AMD64), .os = FW_OS_LINUX, .modules = &module,
		.num_modules = 1, .mapped = &mapped, .num_mapped = 1,
	};
	const struct fw_walk_source source = { .context = image, .image = image_of };
	const struct fw_walk_options options = { .max_frames = 1000 };
	struct fw_walker *w;
	struct fw_error err;
	if (fw_walker_create(&snapshot, &source, &options, &w, &err) != FW_OK)
		die(err.message);
	printf("warm               %6.1f ns a frame\n", best(pass, w, samples, WARM, repeat));
	printf("warm, in turns     %6.1f ns a frame\n",
	       best(pass_batches, w, samples, WARM, repeat));
	printf("from memory        %6.1f ns a frame (%u MB)\n", best(pass, w, samples, count, 1),
	       megabytes);
	printf("... in turns       %6.1f ns a frame\n", best(pass_batches, w, samples, count, 1));
	fw_walker_destroy(w);
	fw_image_destroy(image);
	free(memory);
	free(samples);
	free(f);
	return 0;
}
