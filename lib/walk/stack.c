#include "lib/walk/walker.h"

/** Show the walker nothing but the copied stack from sp on: what lies below is stale. */
static void set_sample(struct fw_walker *w, uint64_t start, const uint8_t *stack, uint64_t size)
{
	const struct fw_regs *regs = &w->regs;
	uint64_t sp = regs->v[w->cpu->sp], below = sp - start;
	if (start != 0 && size > -start)
		size = -start;		// to the end of the address space, no further
	w->sample_size = size;
	if (fw_regs_has(regs, w->cpu->sp) && below < size) {
		start = sp;
		stack += below;
		size -= below;
	}
	w->sampled = true;
	w->sample = (struct fw_segment){ start, size, stack };
	w->sample_memory = (struct fw_memory){
		.segments = &w->sample, .count = 1,
		.swap = w->snapshot->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
	};
	w->have_stack = true;
	w->stack_start = start;
	w->stack_end = start + size;
	fw_memory_view_init(&w->memory, &w->sample_memory);
}

enum fw_code fw_walk_stack(struct fw_walker *w, const struct fw_regs *regs, uint64_t stack_start,
			   const uint8_t *stack, uint64_t stack_size, struct fw_walk_result *r)
{
	const struct fw_cpu *cpu = w->cpu;
	fw_walk_begin(w, r, &w->sample_memory);
	if (r->stop != FW_STOP_NONE)
		return FW_OK;
	if (!fw_regs_has(regs, cpu->pc)) {
		r->stop = fw_walk_stop(w, FW_STOP_NO_RULE,
				       "no registers: the program counter is missing");
		return FW_OK;
	}
	w->regs = *regs;
	w->regs.valid &= (UINT64_C(1) << cpu->num_regs) - 1;
	if (!fw_regs_has(regs, cpu->sp))
		w->regs.v[cpu->sp] = 0;
	set_sample(w, stack_start, stack, stack_size);
	return fw_walk_run(w);
}
