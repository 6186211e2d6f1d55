#include "tests/synth_world.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "symfiles/breakpad.h"

void world_init(struct world *w, enum fw_cpu_id cpu, enum fw_os os)
{
	memset(w, 0, sizeof(*w));
	w->s.cpu = fw_cpu_get(cpu);
	w->s.os = os;
	w->s.modules = w->modules;
	w->s.mapped = w->mapped;
	w->s.regions = w->regions;
	w->s.threads = &w->thread;
	w->s.num_threads = 1;
	w->s.memory.segments = w->segments;
	w->thread.id = 1;
	w->thread.have_context = true;
	w->max_frames = 1000;
}

void world_module(struct world *w, uint64_t base, uint64_t size, const char *sym)
{
	uint32_t i = w->s.num_modules++;
	w->mapped[w->s.num_mapped++] = i;
	w->modules[i] = (struct fw_module_info){ .base = base, .size = size, .is_main = i == 0 };
	w->modules[i].code_file = FW_STR("/lib/module.so");
	if (sym == NULL)
		return;
	char *text = NULL;
	ck_assert(asprintf(&text, "MODULE Linux %s 000102030405060708090A0B0C0D0E0F0 m\n%s",
			   w->s.cpu->sym_names[0], sym) > 0);
	struct fw_error err;
	ck_assert_int_eq(fw_sym_load_text((struct fw_str){ text, strlen(text) }, &w->images[i], &err),
			 FW_OK);
	free(text);
}

void world_bytes(struct world *w, uint64_t address, const void *data, size_t n)
{
	uint32_t i = w->num_segments;
	ck_assert(i < 16 && n <= 4096);
	memcpy(w->bytes[i], data, n);
	uint32_t at = i;	// keep the list sorted
	while (at > 0 && w->segments[at - 1].start > address) {
		w->segments[at] = w->segments[at - 1];
		at--;
	}
	w->segments[at] = (struct fw_segment){ address, n, w->bytes[i] };
	w->s.memory.count = ++w->num_segments;
}

void world_stack(struct world *w, uint64_t address, ...)
{
	uint8_t bytes[4096];
	size_t n = 0;
	va_list args;
	va_start(args, address);
	for (;;) {
		uint64_t word = va_arg(args, uint64_t);
		if (word == END)
			break;
		memcpy(bytes + n, &word, w->s.cpu->word_size);
		n += w->s.cpu->word_size;
	}
	va_end(args);
	world_bytes(w, address, bytes, n);
}

void world_region(struct world *w, uint64_t start, uint64_t end, unsigned permissions)
{
	w->regions[w->s.num_regions++] = (struct fw_region){
		.start = start, .end = end, .permissions = (uint8_t)(permissions | FW_PERM_KNOWN),
	};
	w->s.regions_complete = true;
}

void world_reg(struct world *w, const char *name, uint64_t value)
{
	uint8_t reg = fw_cpu_reg(w->s.cpu, (struct fw_str){ name, strlen(name) });
	ck_assert(reg != FW_NO_REG);
	fw_regs_set(&w->thread.regs, reg, value);
}

static const struct fw_image *image_of(void *context, uint32_t module)
{
	return ((struct world *)context)->images[module];
}

void world_walk(struct world *w)
{
	struct fw_walk_source source = { .context = w, .image = image_of };
	struct fw_walk_options options = { w->max_frames, true };
	struct fw_walker *walker;
	struct fw_error err;
	ck_assert_int_eq(fw_walker_create(&w->s, &source, &options, &walker, &err), FW_OK);
	ck_assert_int_eq(fw_walk_thread(walker, 0, &w->result), FW_OK);
	fw_walker_destroy(walker);
}

void world_deinit(struct world *w)
{
	for (size_t i = 0; i < 8; i++)
		fw_image_destroy(w->images[i]);
	fw_walk_result_deinit(&w->result);
}

void expect_frame(const struct world *w, size_t i, uint64_t pc, enum fw_trust trust)
{
	ck_assert_msg(i < w->result.frames.count, "no frame %zu: %s (%s)", i,
		      fw_stop_name(w->result.stop), w->result.stop_detail);
	const struct fw_frame *f = &w->result.frames.data[i];
	ck_assert_msg(f->pc == pc && f->trust == trust, "frame %zu is 0x%llx by %s", i,
		      (unsigned long long)f->pc, fw_trust_name(f->trust));
}

void expect_end(const struct world *w, size_t n, enum fw_stop stop)
{
	ck_assert_msg(w->result.frames.count == n && w->result.stop == stop,
		      "%zu frames, %s: %s", w->result.frames.count, fw_stop_name(w->result.stop),
		      w->result.stop_detail);
	ck_assert_str_ne(w->result.stop_detail, "");
}
