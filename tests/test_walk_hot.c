/*
 * The short way of walking against the long one: the same captures walked with and
 * without keep_registers give the same frames, and at every frame the registers that
 * fw_walk_recover() finds are those that restoring everything at every step gives.
 */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/file.h"
#include "lib/walk/walker.h"
#include "symfiles/symbols.h"
#include "tests/synth_world.h"

enum { MAX_CAPTURES = 128, MAX_COMPARED = 120 };

static char captures[MAX_CAPTURES][512];
static int num_captures;

static const char *root(const char *variable, const char *fallback)
{
	const char *path = getenv(variable);
	return path ? path : fallback;
}

static void add_captures(const char *path, const char *pattern)
{
	char all[512];
	glob_t found;
	snprintf(all, sizeof(all), "%s/%s", path, pattern);
	if (glob(all, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc && num_captures < MAX_CAPTURES; i++)
			snprintf(captures[num_captures++], sizeof(captures[0]), "%s",
				 found.gl_pathv[i]);
		globfree(&found);
	}
}

/** A capture with its symbols. */
struct capture {
	struct fw_file file;
	struct fw_snapshot *snapshot;
	struct fw_symbols *symbols;
	bool any_behind;	// some frame was reached by the short way
	bool without_main;	// the program itself has no symbols, only its libraries
};

static struct fw_symbol_key key_of(const struct capture *c, uint32_t module)
{
	const struct fw_module_info *m = &c->snapshot->modules[module];
	return (struct fw_symbol_key){
		.debug_file = m->debug_file, .code_file = m->code_file,
		.debug_id = &m->debug_id, .code_id = &m->code_id, .cpu = c->snapshot->cpu->id,
	};
}

static const struct fw_image *image_of(void *context, uint32_t module)
{
	struct capture *c = context;
	const struct fw_symbol_key key = key_of(c, module);
	if (c->without_main && c->snapshot->modules[module].is_main)
		return NULL;
	return fw_symbols_load(c->symbols, &key)->image;
}

static bool code_of(void *context, uint32_t module, uint64_t address, uint8_t *out, uint64_t n)
{
	struct capture *c = context;
	const struct fw_symbol_key key = key_of(c, module);
	const struct fw_elf *elf = fw_symbols_elf(c->symbols, &key);
	return elf != NULL && fw_elf_code(elf, address - c->snapshot->modules[module].base, out, n);
}

static struct fw_walker *walker_of(struct capture *c, bool keep_registers)
{
	const struct fw_walk_source source = { .context = c, .image = image_of,
					       .code = code_of };
	const struct fw_walk_options options = { .max_frames = FW_MAX_FRAMES,
						 .keep_registers = keep_registers };
	struct fw_walker *w;
	struct fw_error err;
	ck_assert_int_eq(fw_walker_create(c->snapshot, &source, &options, &w, &err), FW_OK);
	return w;
}

/** False: no capture of a format that is read. */
static bool open_capture(struct capture *c, const char *path)
{
	char folder[512], sysroot[512];
	struct fw_error err = { 0 };
	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	snprintf(sysroot, sizeof(sysroot), "%s/sysroot", root("CORPUS", "."));
	const char *const paths[] = { folder };
	const struct fw_symbol_options options = {
		.paths = paths, .num_paths = 1, .sysroot = sysroot, .lazy = FW_LAZY_NEVER,
	};
	*c = (struct capture){ .any_behind = false };
	ck_assert_int_eq(fw_file_open(&c->file, path, UINT64_C(1) << 32, &err), FW_OK);
	enum fw_code code = fw_snapshot_read(c->file.data, c->file.size, &c->snapshot, &err);
	if (code == FW_UNSUPPORTED) {
		fw_file_close(&c->file);
		return false;
	}
	ck_assert_msg(code == FW_OK, "%s: %s", path, err.message);
	ck_assert_int_eq(fw_symbols_create(&options, &c->symbols, &err), FW_OK);
	return true;
}

static void close_capture(struct capture *c)
{
	fw_symbols_destroy(c->symbols);
	fw_snapshot_destroy(c->snapshot);
	fw_file_close(&c->file);
}

/** One walk: a thread, or its registers and stack as a sample of @p size bytes. */
static void walk(struct fw_walker *w, uint32_t thread, uint64_t size, struct fw_walk_result *r)
{
	const struct fw_thread_info *t = &w->snapshot->threads[thread];
	uint64_t sp = t->regs.v[w->cpu->sp];
	const struct fw_segment *s = fw_memory_find(&w->snapshot->memory, sp);
	if (size == 0 || !t->have_context || s == NULL) {
		ck_assert_int_eq(fw_walk_thread(w, thread, r), FW_OK);
		return;
	}
	if (size > s->size - (sp - s->start))
		size = s->size - (sp - s->start);
	ck_assert_int_eq(fw_walk_stack(w, &t->regs, sp, s->data + (sp - s->start), size, r), FW_OK);
}

static void compare_frames(const struct fw_walk_result *a, const struct fw_walk_result *b,
			   size_t n, const char *path)
{
	ck_assert_msg(n <= a->frames.count && n <= b->frames.count,
		      "%s: %zu and %zu frames: %s; %s", path, a->frames.count, b->frames.count,
		      a->stop_detail, b->stop_detail);
	for (size_t i = 0; i < n; i++) {
		const struct fw_frame *f = &a->frames.data[i], *g = &b->frames.data[i];
		// the last frame of a walk cut short is not yet known to be a trampoline
		bool left = i + 1 < b->frames.count || b->stop != FW_STOP_LIMIT;
		ck_assert_msg(f->pc == g->pc && f->lookup == g->lookup && f->sp == g->sp &&
			      f->module == g->module && f->trust == g->trust &&
			      (f->signal_frame == g->signal_frame || !left),
			      "%s: frame %zu", path, i);
	}
}

static void compare_registers(const struct fw_cpu *cpu, const struct fw_regs *a,
			      const struct fw_regs *b, size_t frame, const char *path)
{
	const uint64_t all = (UINT64_C(1) << cpu->num_regs) - 1;
	ck_assert_msg((a->valid & all) == (b->valid & all),
		      "%s: frame %zu: registers known: 0x%llx and 0x%llx", path, frame,
		      (unsigned long long)(a->valid & all), (unsigned long long)(b->valid & all));
	for (unsigned i = 0; i < cpu->num_regs; i++)
		ck_assert_msg(!fw_regs_has(a, i) || a->v[i] == b->v[i],
			      "%s: frame %zu: register %u is 0x%llx and 0x%llx", path, frame, i,
			      (unsigned long long)a->v[i], (unsigned long long)b->v[i]);
}

static void compare_walks(struct capture *c, uint32_t thread, uint64_t size, const char *path)
{
	struct fw_walker *whole = walker_of(c, true), *fast = walker_of(c, false);
	struct fw_walk_result a = { 0 }, b = { 0 };
	walk(whole, thread, size, &a);
	walk(fast, thread, size, &b);
	ck_assert_uint_eq(a.frames.count, b.frames.count);
	compare_frames(&a, &b, a.frames.count, path);
	ck_assert_int_eq(a.stop, b.stop);
	ck_assert_str_eq(a.stop_detail, b.stop_detail);
	ck_assert_uint_eq(a.num_candidates, b.num_candidates);
	size_t step = a.frames.count / MAX_COMPARED + 1;
	for (size_t n = 1; n <= a.frames.count; n += step) {
		fast->options.max_frames = (uint32_t)n;
		walk(fast, thread, size, &b);
		compare_frames(&a, &b, n, path);
		ck_assert_uint_eq(b.frames.count, n);
		ck_assert(b.stop == FW_STOP_LIMIT || n == a.frames.count);
		c->any_behind |= fast->regs_frame != n - 1;
		fw_walk_recover(fast);
		compare_registers(c->snapshot->cpu, &a.regs.data[n - 1], &fast->regs, n - 1, path);
	}
	fw_walk_result_deinit(&a);
	fw_walk_result_deinit(&b);
	fw_walker_destroy(whole);
	fw_walker_destroy(fast);
}

START_TEST(captures_walk_alike)
{
	static const uint64_t sizes[] = { 0, 65536, 1000 };
	struct capture c;
	if (!open_capture(&c, captures[_i]))
		return;
	for (uint32_t thread = 0; thread < c.snapshot->num_threads; thread++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (unsigned k = 0; k < 2; k++) {
				c.without_main = k;
				compare_walks(&c, thread, sizes[i], captures[_i]);
			}
	// or this has compared nothing
	ck_assert(c.any_behind || strstr(captures[_i], "/deep/") == NULL);
	close_capture(&c);
}
END_TEST

/** As a sample of @p size bytes of stack; false: the thread has none. */
static bool sample_of(const struct fw_snapshot *s, uint32_t thread, uint64_t size,
		      struct fw_walk_sample *ret)
{
	const struct fw_thread_info *t = &s->threads[thread];
	uint64_t sp = t->regs.v[s->cpu->sp];
	const struct fw_segment *stack = fw_memory_find(&s->memory, sp);
	if (!t->have_context || stack == NULL)
		return false;
	uint64_t left = stack->size - (sp - stack->start);
	*ret = (struct fw_walk_sample){ &t->regs, sp, stack->data + (sp - stack->start),
					size < left ? size : left, NULL };
	return true;
}

START_TEST(samples_in_turns_walk_alike)
{
	enum { MAX_SAMPLES = 400 };
	static const uint64_t sizes[] = { 65536, 0, 8, 5000, 100, 1 << 20, 400, 1000, 15 };
	struct capture c;
	struct fw_walk_sample samples[MAX_SAMPLES];
	struct fw_walk_result *results = calloc(MAX_SAMPLES, sizeof(*results)), one = { 0 };
	size_t n = 0;
	ck_assert_ptr_nonnull(results);
	if (!open_capture(&c, captures[_i])) {
		free(results);
		return;
	}
	for (unsigned round = 0; round < 3; round++)
		for (uint32_t thread = 0; thread < c.snapshot->num_threads; thread++)
			for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				if (n < MAX_SAMPLES && sample_of(c.snapshot, thread, sizes[i],
								 &samples[n])) {
					samples[n].result = &results[n];
					n++;
				}
	struct fw_walker *together = walker_of(&c, false), *alone = walker_of(&c, false);
	// once with everything unknown, once with all modules met
	for (unsigned round = 0; round < 2; round++) {
		ck_assert_int_eq(fw_walk_stacks(together, samples, n), FW_OK);
		for (size_t i = 0; i < n; i++) {
			const struct fw_walk_sample *s = &samples[i];
			ck_assert_int_eq(fw_walk_stack(alone, s->regs, s->stack_start, s->stack,
						       s->stack_size, &one), FW_OK);
			ck_assert_uint_eq(one.frames.count, s->result->frames.count);
			compare_frames(&one, s->result, one.frames.count, captures[_i]);
			ck_assert_int_eq(one.stop, s->result->stop);
			ck_assert_str_eq(one.stop_detail, s->result->stop_detail);
			ck_assert_uint_eq(one.corrupt_module, s->result->corrupt_module);
		}
	}
	for (size_t i = 0; i < MAX_SAMPLES; i++)
		fw_walk_result_deinit(&results[i]);
	free(results);
	fw_walk_result_deinit(&one);
	fw_walker_destroy(together);
	fw_walker_destroy(alone);
	close_capture(&c);
}
END_TEST

Suite *walk_hot_suite(void);
Suite *walk_hot_suite(void)
{
	Suite *s = suite_create("walk_hot");
	TCase *tc = tcase_create("captures");
	const char *testdata = root("TESTDATA", "testdata"), *corpus = root("CORPUS", ".");
	add_captures(testdata, "*/crash.dmp");
	add_captures(corpus, "minidumps/*/*.dmp");
	add_captures(corpus, "cores/*/core");
	add_captures(corpus, "cores/*/breakpad.dmp");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, captures_walk_alike, 0, num_captures);
	tcase_add_loop_test(tc, samples_in_turns_walk_alike, 0, num_captures);
	suite_add_tcase(s, tc);
	return s;
}
