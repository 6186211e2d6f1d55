#include "lib/walk/hot.h"

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

/** Begin a walk of a sample: registers and memory are its own. False: it has ended already. */
static bool begin(struct fw_walker *w, const struct fw_regs *regs, uint64_t stack_start,
		  const uint8_t *stack, uint64_t stack_size, struct fw_walk_result *r)
{
	const struct fw_cpu *cpu = w->cpu;
	fw_walk_begin(w, r, &w->sample_memory);
	if (r->stop != FW_STOP_NONE)
		return false;
	if (!fw_regs_has(regs, cpu->pc)) {
		r->stop = fw_walk_stop(w, FW_STOP_NO_RULE,
				       "no registers: the program counter is missing");
		return false;
	}
	w->regs = *regs;
	w->regs.valid &= (UINT64_C(1) << cpu->num_regs) - 1;
	if (!fw_regs_has(regs, cpu->sp))
		w->regs.v[cpu->sp] = 0;
	set_sample(w, stack_start, stack, stack_size);
	return true;
}

enum fw_code fw_walk_stack(struct fw_walker *w, const struct fw_regs *regs, uint64_t stack_start,
			   const uint8_t *stack, uint64_t stack_size, struct fw_walk_result *r)
{
	if (!begin(w, regs, stack_start, stack, stack_size, r))
		return FW_OK;
	return fw_walk_run(w);
}

enum {
	LANES = 8,
	FRAMES = 64,		// room for so many to begin with
};

/** A sample on the short way (lib/walk/hot.c), between finding its row and reading its words. */
struct lane {
	const struct fw_walk_sample *sample;
	const struct fw_stretch *code;
	uint64_t lookup, sp, fp, cfa;
	bool have_fp, saves_fp;
	int16_t saved;			// fp's place - cfa
	uint64_t start, last;		// of the stack: address, last offset of a word
	const uint8_t *data;
	struct fw_frame *at;		// behind the last frame
	const struct fw_frame *limit;
};

/** Where a lane's frame has its caller, fetched from memory. False: not by the short way. */
static inline bool look(struct lane *l)
{
	uint32_t row;
	// the walker may have put another stretch in the place of this one
	if (FW_UNLIKELY(l->lookup - l->code->start >= l->code->hot_size ||
			!fw_hot_row(l->code, l->lookup, &row)))
		return false;
	const struct fw_cfi_hot hot = l->code->image->cfi.hot[row];
	uint64_t base = l->sp;
	if (hot.base != FW_HOT_SP) {
		base = l->fp;
		if (FW_UNLIKELY(hot.base != FW_HOT_FP || !l->have_fp))
			return false;
	}
	l->cfa = base + (uint64_t)(int64_t)hot.cfa;
	l->saves_fp = hot.fp != FW_HOT_FP_KEPT;
	l->saved = hot.fp;
	const uint64_t near = l->cfa - l->start;
	if (FW_UNLIKELY(near - 8 > l->last || l->cfa <= l->sp ||
			(l->saves_fp && near + (uint64_t)(int64_t)hot.fp > l->last)))
		return false;
	__builtin_prefetch(l->data + near - 8);
	return true;
}

/** Take the caller that look() has found. False: it lies where no lane leads. */
static inline bool take(const struct fw_walker *w, struct lane *l)
{
	const uint64_t near = l->cfa - l->start, pc = fw_load_word(l->data + near - 8, true);
	const uint64_t call = pc - 1;
	const struct fw_stretch *code = l->code;
	if (FW_UNLIKELY(call - code->start >= code->hot_size))
		code = fw_walk_stretch(w, call);
	if (FW_UNLIKELY(code == NULL || l->at == l->limit))
		return false;
	if (l->saves_fp) {
		l->fp = fw_load_word(l->data + near + (uint64_t)(int64_t)l->saved, true);
		l->have_fp = true;
	}
	l->code = code;
	l->lookup = call;
	l->sp = l->cfa;
	*l->at++ = (struct fw_frame){
		.pc = pc, .lookup = call, .sp = l->cfa, .module = code->module,
		.trust = FW_TRUST_CFI,
	};
	return true;
}

/** Put a sample on a lane. False: it has to be walked by fw_walk_stack(). */
static bool start(const struct fw_walker *w, struct lane *l, const struct fw_walk_sample *s)
{
	const struct fw_regs *regs = s->regs;
	const struct fw_cpu *cpu = w->cpu;
	const uint64_t pc = regs->v[cpu->pc], sp = regs->v[cpu->sp], below = sp - s->stack_start;
	struct fw_walk_result *r = s->result;
	if (!fw_regs_has(regs, cpu->pc) || !fw_regs_has(regs, cpu->sp) ||
	    below >= s->stack_size || s->stack_size - below < 8 ||
	    s->stack_size > -s->stack_start || !fw_vec_reserve(&r->frames, FRAMES))
		return false;
	*l = (struct lane){
		.sample = s, .code = fw_walk_stretch(w, pc), .lookup = pc, .sp = sp,
		.fp = regs->v[cpu->fp], .have_fp = fw_regs_has(regs, cpu->fp),
		.start = sp, .last = s->stack_size - below - 8, .data = s->stack + below,
	};
	if (l->code == NULL || l->code->hot_size == 0)
		return false;
	r->frames.data[0] = (struct fw_frame){
		.pc = pc, .lookup = pc, .sp = sp, .module = l->code->module,
		.trust = FW_TRUST_CONTEXT,
	};
	r->frames.count = 1;
	l->at = r->frames.data + 1;
	l->limit = r->frames.data + fw_hot_limit(w, r);
	return true;
}

/** Walk a lane's sample from where it is to its end; @p long_way: its first step. */
static enum fw_code finish(struct fw_walker *w, const struct lane *l, bool long_way)
{
	const struct fw_walk_sample *s = l->sample;
	struct fw_walk_result *r = s->result;
	if (!begin(w, s->regs, s->stack_start, s->stack, s->stack_size, r))
		return FW_OK;
	r->frames.count = (size_t)(l->at - r->frames.data);
	w->frame = l->at[-1];
	w->fp = l->fp;
	w->have_fp = l->have_fp;
	return fw_walk_resume(w, long_way);
}

/** Samples before *next are on lanes or done: put one more on @p l. False: no more. */
static bool refill(struct fw_walker *w, struct lane *l, const struct fw_walk_sample *samples,
		   size_t n, size_t *next, enum fw_code *code)
{
	while (*next < n && *code == FW_OK) {
		const struct fw_walk_sample *s = &samples[(*next)++];
		if (!start(w, l, s)) {
			*code = fw_walk_stack(w, s->regs, s->stack_start, s->stack, s->stack_size,
					      s->result);
			continue;
		}
		if (look(l))
			return true;
		*code = finish(w, l, true);
	}
	return false;
}

enum fw_code fw_walk_stacks(struct fw_walker *w, const struct fw_walk_sample *samples, size_t n)
{
	struct lane lanes[LANES];
	unsigned active = 0;
	size_t next = 0;
	enum fw_code code = FW_OK;
	bool little = !w->snapshot->big_endian && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	if (w->options.keep_registers || w->options.max_frames < 2 || w->cpu->word_size != 8 ||
	    w->cpu->lr != FW_NO_REG || w->arch == NULL || !little) {
		for (; next < n && code == FW_OK; next++)
			code = fw_walk_stack(w, samples[next].regs, samples[next].stack_start,
					     samples[next].stack, samples[next].stack_size,
					     samples[next].result);
		return code;
	}
	while (active < LANES && refill(w, &lanes[active], samples, n, &next, &code))
		active++;
	while (active != 0 && code == FW_OK) {
		for (unsigned i = 0; i < active;) {
			struct lane *l = &lanes[i];
			bool taken = take(w, l);
			if (taken && look(l)) {
				i++;
				continue;
			}
			code = finish(w, l, taken);
			if (code != FW_OK)
				break;
			if (refill(w, l, samples, n, &next, &code))
				i++;
			else if (code == FW_OK)
				*l = lanes[--active];
			else
				break;
		}
	}
	return code;
}
