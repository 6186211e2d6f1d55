// Prints a profile that is made up, in one of the formats of samples: what the checks
// of formats by their consumers read.
//
// usage: print_profile PROFILE FORMAT
// PROFILE: small, hostile (names), deep, events, or a number of tree nodes to make up.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/synth_profile.h"

static const char *const hostile_names[] = {
	"</script><script>window.hostile = 1</script>", "<!--<script>", "]]>", "\"quoted\" 'names'",
	"a;b;c", "line\nfeed", "esc\x1b[31m", "bad\xff\xfe", ("\xe2\x80\xae" "esrever"),
	"\xe2\x80\xa8line separator", "back\\slash", "${template} `tick`", "&lt;entity&amp;",
	"ends in 12", "\xf0\x9f\x94\xa5 fire", "__proto__", "constructor", "%s%n", "tab\there",
	"operator()<(lambda)>", "[in brackets]", "null",
};

static struct synth_profile *hostile(void)
{
	struct synth_profile *b = synth_profile_create();
	uint32_t thread = synth_prof_thread(b, 66, 67, "</title><b>x;y \"z\"");
	uint32_t module = synth_prof_module(b, "/opt/</script>\"'\x1b.so", NULL, 0x400000, 0x10000);
	uint32_t node = 0;
	for (uint32_t i = 0; i < sizeof(hostile_names) / sizeof(*hostile_names); i++) {
		uint32_t frame = synth_prof_frame(b, module, 0x10 * i, "x");
		struct fw_profile_line *line = &b->lines[b->p.num_lines - 1];
		line->function = line->file =
			(struct fw_str){ hostile_names[i], strlen(hostile_names[i]) };
		uint32_t leaf = synth_node(b, node, frame);
		synth_stack(b, leaf, thread, 0, i + 1);
		synth_sample(b, leaf, thread, 0, i * UINT64_C(1000000));
		if (i % 3 == 0)
			node = leaf;
	}
	return b;
}

static struct synth_profile *deep(void)
{
	struct synth_profile *b = synth_profile_create();
	uint32_t thread = synth_prof_thread(b, 1, 2, "deep");
	uint32_t module = synth_prof_module(b, "/opt/app", NULL, 0x400000, 0x10000);
	uint32_t node = 0;
	for (uint32_t i = 0; i < 400; i++)
		node = synth_node(b, node, synth_prof_frame(b, module, 0x10 * i, "recurse"));
	synth_stack(b, node, thread, 0, 1);
	synth_sample(b, node, thread, 0, 1000);
	return b;
}

/** Two events, a JIT's frame, a stack that was cut off, threads of one name together. */
static struct synth_profile *events(void)
{
	struct synth_profile *b = synth_profile_small();
	uint32_t merged = synth_prof_thread(b, 0, 0, "pool"), cut, jit;
	synth_event(b, "page-faults:u")->frequency = 0;
	cut = synth_prof_frame(b, FW_NO_MODULE, 0, NULL);
	b->frames[cut].truncated = true;
	jit = synth_prof_frame(b, FW_NO_MODULE, 0x500010, "LazyCompile:*f a.js:1");
	b->frames[jit].jit = true;
	uint32_t node = synth_node(b, synth_node(b, 0, cut), jit);
	synth_stack(b, node, merged, 1, 7);
	synth_stack(b, 1, 0, 1, 2);
	for (uint64_t i = 0; i < 9; i++)
		synth_sample(b, i < 7 ? node : 1, i < 7 ? merged : 0, 1,
			     b->samples[5].time + 1000 * i);
	return b;
}

static uint32_t random_below(uint64_t *state, uint32_t n)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % n);
}

/** A tree of @p n nodes over 2,000 functions of 20 files, as compilers' profiles look. */
static struct synth_profile *made_up(uint32_t n)
{
	enum { FUNCTIONS = 2000 };
	struct synth_profile *b = synth_profile_small();
	struct fw_profile *p = &b->p;
	uint64_t state = n;
	p->frames = calloc(FUNCTIONS, sizeof(*p->frames));
	p->lines = calloc(FUNCTIONS, sizeof(*p->lines));
	p->nodes = calloc(n + 1, sizeof(*p->nodes));
	p->stacks = calloc(n + 1, sizeof(*p->stacks));
	p->samples = calloc(n + 1, sizeof(*p->samples));
	if (!p->frames || !p->lines || !p->nodes || !p->stacks || !p->samples)
		abort();
	p->num_frames = p->num_lines = FUNCTIONS;
	p->num_nodes = n + 1;
	p->num_stacks = 0;
	p->num_samples = 0;
	synth_prof_thread(b, 100, 102, "worker b");
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char *name = NULL;
		if (asprintf(&name, "ns%u::Class%u<int, std::allocator<T%u> >::method_%u(unsigned long)",
			     i % 7, i % 131, i % 13, i) < 0)
			abort();
		p->frames[i] = (struct fw_profile_frame){
			.module = i % 3, .kernel = i % 3 == 2, .pc = 0x10 * i, .lookup = 0x10 * i,
			.trust = FW_TRUST_CFI, .first_line = i, .num_lines = 1,
		};
		p->lines[i] = (struct fw_profile_line){ .function = { name, strlen(name) } };
	}
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t back = i > 400 ? 400 : i;
		uint32_t parent = i < 3 ? 0 : i - 1 - random_below(&state, back);
		p->nodes[i] = (struct fw_profile_node){ parent, random_below(&state, FUNCTIONS) };
		uint64_t samples = 1 + random_below(&state, 20);
		uint32_t thread = random_below(&state, 2);
		p->stacks[p->num_stacks++] = (struct fw_profile_stack){
			i, thread, 0, samples, samples * 1000000
		};
		p->samples[p->num_samples++] = (struct fw_profile_sample){
			.time = i * UINT64_C(1000000), .period = 1000000, .index = i, .thread = thread,
			.cpu = i % 2, .node = i,
		};
	}
	p->last_time = p->first_time + n * UINT64_C(1000000);
	return b;
}

static struct synth_profile *make(const char *name)
{
	if (strcmp(name, "small") == 0)
		return synth_profile_small();
	if (strcmp(name, "hostile") == 0)
		return hostile();
	if (strcmp(name, "events") == 0)
		return events();
	return strcmp(name, "deep") == 0 ? deep() : made_up((uint32_t)strtoul(name, NULL, 10));
}

/** Against itself with other counts. */
static void write_difference(const struct fw_profile *p, struct fw_out *out)
{
	struct fw_profile before = *p;
	before.path = "before.data";
	before.stacks = calloc(p->num_stacks + (size_t)1, sizeof(*before.stacks));
	if (!before.stacks)
		abort();
	memcpy(before.stacks, p->stacks, p->num_stacks * sizeof(*before.stacks));
	for (uint32_t i = 0; i < p->num_stacks; i++)
		before.stacks[i].samples = p->stacks[i].samples * (i % 5) / 2;
	fw_profile_write_flamegraph(p, &before, out);
	free(before.stacks);
}

static bool print(const struct fw_profile *p, const char *format, struct fw_out *out)
{
	struct fw_folded_options folded = { .annotate = strcmp(format, "annotated") == 0 };
	if (strcmp(format, "folded") == 0 || folded.annotate)
		fw_profile_write_folded(p, &folded, out);
	else if (strcmp(format, "perf") == 0)
		synth_write_perf(p, out);
	else if (strcmp(format, "json") == 0)
		fw_profile_write_json(p, false, out);
	else if (strcmp(format, "pretty") == 0)
		fw_profile_write_json(p, true, out);
	else if (strcmp(format, "ndjson") == 0)
		fw_profile_write_ndjson(p, out);
	else if (strcmp(format, "pprof") == 0)
		fw_profile_write_pprof(p, out);
	else if (strcmp(format, "firefox") == 0)
		fw_profile_write_firefox(p, out);
	else if (strcmp(format, "flamegraph") == 0)
		fw_profile_write_flamegraph(p, NULL, out);
	else if (strcmp(format, "flamegraph-diff") == 0)
		write_difference(p, out);
	else if (strcmp(format, "summary") == 0)
		fw_profile_write_summary(p, out);
	else if (strcmp(format, "summary-json") == 0)
		fw_profile_write_summary_json(p, false, out);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct fw_out out;
	struct fw_error err;
	if (argc != 3) {
		fprintf(stderr, "usage: print_profile small|hostile|deep|events|NODES FORMAT\n");
		return 2;
	}
	static struct synth_profile *b;		// static: what it points to is not lost at exit
	b = make(argv[1]);
	if (fw_out_init_fd(&out, 1, &err) != FW_OK || !print(&b->p, argv[2], &out)) {
		fprintf(stderr, "print_profile: no such format: %s\n", argv[2]);
		return 2;
	}
	enum fw_code code = fw_out_flush(&out, &err);
	if (code != FW_OK)
		fprintf(stderr, "print_profile: %s\n", err.message);
	fw_out_deinit(&out);
	return code != FW_OK;
}
