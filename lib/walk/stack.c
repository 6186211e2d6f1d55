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
	fw_walk_view(w, &w->sample_memory, &w->sample);
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
	memcpy(w->regs.v, regs->v, cpu->num_regs * sizeof(regs->v[0]));
	w->regs.valid = regs->valid & ((UINT64_C(1) << cpu->num_regs) - 1);
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
	uint64_t saved;			// the caller's fp in `data`; of the return address: kept
	bool have_fp;
	uint64_t start, last;		// of the stack: address, last offset of a word
	const uint8_t *data;
	struct fw_frame *at;		// behind the last frame
	const struct fw_frame *limit;
};

/** Where a lane's frame has its caller, fetched from memory. False: not by the short way. */
static inline __attribute__((always_inline)) bool look(struct lane *l)
{
	const struct fw_stretch *code = l->code;
	const uint64_t lookup = l->lookup, sp = l->sp, last = l->last;
	uint64_t base = sp;
	uint32_t row;
	if (FW_UNLIKELY(!fw_hot_row(code, lookup, &row)))
		return false;
	const struct fw_cfi_hot *hot = &code->image->cfi.hot[row];
	if (hot->base != FW_HOT_SP) {
		base = l->fp;
		if (FW_UNLIKELY(hot->base != FW_HOT_FP || !l->have_fp))
			return false;
	}
	const uint64_t cfa = base + (uint64_t)(int64_t)hot->cfa, near = cfa - l->start;
	uint64_t saved = near - 8;
	if (FW_UNLIKELY(near - 8 > last || cfa <= sp))
		return false;
	__builtin_prefetch(l->data + near - 8);
	if (hot->fp != FW_HOT_FP_KEPT) {
		saved = near + (uint64_t)(int64_t)hot->fp;
		if (FW_UNLIKELY(saved > last))
			return false;
	}
	l->cfa = cfa;
	l->saved = saved;
	return true;
}

enum taken { TAKEN, TAKEN_LAST, NOT_TAKEN };	// LAST: the next step is a long one

/** Take the caller that look() has found, unless it lies where no lane leads. */
static inline __attribute__((always_inline)) enum taken take(const struct fw_walker *w,
							     struct lane *l)
{
	const uint64_t cfa = l->cfa, near = cfa - l->start, saved = l->saved;
	const uint64_t pc = fw_load_word(l->data + near - 8, true), call = pc - 1;
	const struct fw_stretch *code = l->code;
	struct fw_frame *at = l->at;
	enum taken ret = TAKEN;
	// even if the walker has put another stretch in the place of this one
	if (FW_UNLIKELY(call - code->start >= code->hot_size)) {
		code = fw_walk_stretch(w, call);
		if (code == NULL)
			return NOT_TAKEN;
		l->code = code;
		ret = code->hot_size == 0 ? TAKEN_LAST : TAKEN;
	}
	if (FW_UNLIKELY(at == l->limit))
		return NOT_TAKEN;
	if (saved != near - 8) {
		l->fp = fw_load_word(l->data + saved, true);
		l->have_fp = true;
	}
	l->lookup = call;
	l->sp = cfa;
	l->at = at + 1;
	at->pc = pc;
	at->lookup = call;
	at->sp = cfa;
	at->module = code->module;
	at->trust = FW_TRUST_CFI;
	at->signal_frame = false;
	return ret;
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
	struct lane lanes[LANES], *end = lanes;
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
	while (end < lanes + LANES && refill(w, end, samples, n, &next, &code))
		end++;
	while (end != lanes && code == FW_OK) {
		for (struct lane *l = lanes; l < end;) {
			enum taken taken = take(w, l);
			if (taken == TAKEN && look(l)) {
				l++;
				continue;
			}
			code = finish(w, l, taken != NOT_TAKEN);
			if (code != FW_OK)
				break;
			if (refill(w, l, samples, n, &next, &code))
				l++;
			else if (code == FW_OK)
				*l = *--end;
			else
				break;
		}
	}
	return code;
}
