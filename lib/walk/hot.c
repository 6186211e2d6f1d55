#include "lib/walk/hot.h"

/*
 * The short way over frames whose rows are in short form (struct fw_cfi_hot): pc, sp
 * and fp are carried, nothing else is restored. Every check of the long way is made
 * here too; whatever does not pass, or is rare, is left to it.
 */

/**
 * The frame at @p at lies outside of its callee's stretch: is it one? Its stretch, one
 * of hot_size 0 where the short way ends; NULL: *stop says why it is none.
 */
static __attribute__((noinline))
const struct fw_stretch *cross(struct fw_walker *w, struct fw_frame *at, enum fw_stop *stop)
{
	static const struct fw_stretch nowhere = { .module = FW_NO_MODULE };
	const struct fw_stretch *known = fw_walk_stretch(w, at->lookup);
	if (known != NULL) {
		at->module = known->module;
		return known;
	}
	uint64_t pc = at->pc, sp = at->sp;
	w->frame = at[-1];
	*stop = fw_walk_check(w, FW_TRUST_CFI, pc, sp, w->frame.sp, false);
	if (*stop != FW_STOP_NONE)
		return NULL;
	*at = w->frame;
	return fw_walk_enter(w, at->lookup) ? w->code : &nowhere;
}

static inline __attribute__((always_inline))
bool walk_hot(struct fw_walker *w, bool word64, enum fw_stop *ret)
{
	struct fw_walk_result *r = w->result;
	const size_t here = r->frames.count - 1;
	const bool behind = w->regs_frame != here;
	const unsigned sp_reg = w->cpu->sp, fp_reg = w->cpu->fp;
	const struct fw_stretch *code = fw_walk_stretch(w, w->frame.lookup);
	// a view of memory in the other byte order is never given a segment
	if (code == NULL || w->frame.lookup - code->start >= code->hot_size ||
	    w->memory.size < 8 || !(behind || fw_regs_has(&w->regs, sp_reg)))
		return false;

	const uint64_t word = word64 ? 8 : 4, start = w->memory.start;
	const uint64_t last = w->memory.size - 8;	// 4 bytes at the very end: the long way
	const uint8_t *data = w->memory.data;
	struct fw_frame *at = r->frames.data + here + 1;
	const struct fw_frame *limit = r->frames.data + fw_hot_limit(w, r);
	uint64_t lookup = w->frame.lookup, sp = w->frame.sp;
	uint64_t fp = behind ? w->fp : w->regs.v[fp_reg];
	bool have_fp = behind ? w->have_fp : fw_regs_has(&w->regs, fp_reg);
	bool full = false;
	uint32_t row;

	while (fw_hot_row(code, lookup, &row)) {
		const struct fw_cfi_hot hot = code->image->cfi.hot[row];
		uint64_t base = sp;
		if (FW_UNLIKELY(hot.base != FW_HOT_SP)) {
			base = fp;
			if (FW_UNLIKELY(hot.base != FW_HOT_FP || !have_fp))
				break;
		}
		uint64_t cfa = base + (uint64_t)(int64_t)hot.cfa;
		if (!word64)
			cfa = (uint32_t)cfa;
		const uint64_t near = cfa - start;
		if (FW_UNLIKELY(near - word > last || cfa <= sp))
			break;
		if (hot.fp != FW_HOT_FP_KEPT) {
			const uint64_t saved = near + (uint64_t)(int64_t)hot.fp;
			if (FW_UNLIKELY(saved > last))
				break;
			fp = fw_load_word(data + saved, word64);
			have_fp = true;
		}
		const uint64_t pc = fw_load_word(data + near - word, word64);
		at->pc = pc;
		at->sp = sp = cfa;
		at->lookup = lookup = pc - 1;
		at->module = code->module;
		at->trust = FW_TRUST_CFI;
		at->signal_frame = false;
		if (FW_UNLIKELY(lookup - code->start >= code->hot_size)) {
			code = cross(w, at, ret);
			if (code == NULL) {
				if (at == r->frames.data + 1)
					return false;	// the innermost frame has more to ask
				r->frames.count = (size_t)(at - r->frames.data);
				return true;
			}
			if (code->hot_size == 0) {
				full = at == limit;
				at += !full;
				break;
			}
		}
		full = at == limit;
		if (FW_UNLIKELY(full))
			break;
		at++;
	}
	if (at == r->frames.data + here + 1 && !full)
		return false;
	r->frames.count = (size_t)(at - r->frames.data);
	w->frame = full ? *at : at[-1];
	w->fp = fp;
	w->have_fp = have_fp;
	w->unverified = w->callee_params = 0;
	*ret = FW_STOP_NONE;
	return full;
}

bool fw_walk_hot(struct fw_walker *w, enum fw_stop *ret)
{
	return w->cpu->word_size == 8 ? walk_hot(w, true, ret) : walk_hot(w, false, ret);
}

/**
 * What a frame's row says of registers: read those in *needed that it has saved, into
 * w->regs. *needed: what has to be looked for further in.
 */
static uint64_t read_saved(struct fw_walker *w, const struct fw_frame *frame, uint64_t cfa,
			   uint64_t *needed)
{
	uint64_t offset = frame->lookup - w->snapshot->modules[frame->module].base, set = 0;
	uint32_t count;
	const struct fw_rule *rules = fw_image_cfi(w->images[frame->module], (uint32_t)offset,
						   &count);
	if (rules == NULL)		// damaged: unknown, and the walk is no good
		*needed = 0;
	for (uint32_t i = 2; i < count; i++) {
		const unsigned target = FW_SLOT(rules[i].target);
		const uint64_t bit = UINT64_C(1) << target;
		uint64_t address = (cfa + (uint64_t)(int64_t)rules[i].arg) & w->cpu->word_mask;
		uint64_t value;
		if (!(*needed & bit))
			continue;
		*needed &= ~bit;
		// below sp a sample's innermost frame keeps the register
		if (w->sampled && frame->trust == FW_TRUST_CONTEXT && address < frame->sp) {
			set |= w->regs.valid & bit;
		} else if (fw_walk_read(w, address, &value)) {
			w->regs.v[target] = value;
			set |= bit;
		}
	}
	// what an inner frame may use as it likes is known only where it is saved
	*needed &= w->cpu->callee_saved;
	return set;
}

void fw_walk_recover(struct fw_walker *w)
{
	const struct fw_cpu *cpu = w->cpu;
	const struct fw_frame *frames = w->result->frames.data;
	const size_t here = w->result->frames.count - 1;
	const uint64_t carried = UINT64_C(1) << cpu->pc | UINT64_C(1) << cpu->sp |
				 UINT64_C(1) << cpu->fp;
	if (w->regs_frame == here)
		return;
	uint64_t needed = ((UINT64_C(1) << cpu->num_regs) - 1) & ~carried, set = 0;
	for (size_t i = here; i > w->regs_frame && needed != 0; i--)
		set |= read_saved(w, &frames[i - 1], frames[i].sp, &needed);
	w->regs.valid = (w->regs.valid & needed) | set;
	fw_regs_set(&w->regs, cpu->pc, w->frame.pc);
	fw_regs_set(&w->regs, cpu->sp, w->frame.sp);
	if (w->have_fp)
		fw_regs_set(&w->regs, cpu->fp, w->fp);
	w->regs_frame = here;
}
