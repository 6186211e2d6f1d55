#include "lib/walk/walker.h"

// Register numbers are DWARF's (psABI i386 table 2.14).
enum { EBX = 3, ESP, EBP, ESI, EDI, EIP };

/**
 * STACK WIN on x86, by the rules of Breakpad's symbol file document and, where
 * that is silent, of its walker: a MSVC function may leave alignment gaps below
 * the return address, so the computed place is only where the search starts.
 */
enum {
	FW_RA_WORDS = 3,		// words above the computed place that are searched
	FW_SAVED_REGS_MAX = 64,		// bytes searched for a saved ebp
};

static const struct fw_stack_win *record_at(struct fw_walker *w, uint64_t lookup)
{
	uint64_t offset = lookup - w->code->base;
	return offset > UINT32_MAX ? NULL : fw_image_stack_win(w->code->image, (uint32_t)offset);
}

/** Could the word be a return address? In a module, named where there are symbols. */
static bool plausible(struct fw_walker *w, uint64_t address)
{
	uint64_t start;
	if (fw_walk_evidence(w, address) < FW_EVIDENCE_UNVERIFIED)
		return false;
	const struct fw_module_info *m = fw_snapshot_module(w->snapshot, address - 1);
	const struct fw_image *image = fw_walk_image(w, (uint32_t)(m - w->snapshot->modules));
	return image == NULL || fw_walk_function(w, address - 1, &start).s != NULL;
}

static bool find_return_address(struct fw_walker *w, uint64_t from, unsigned words,
				uint64_t *ret_slot, uint64_t *ret_value)
{
	for (unsigned i = 0; i <= words; i++) {
		uint64_t value, slot = (from + i * 4) & UINT32_MAX;
		if (!fw_walk_read(w, slot, &value))
			return false;
		if (plausible(w, value)) {
			*ret_slot = slot;
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static uint64_t search_start(struct fw_walker *w, const struct fw_stack_win *r)
{
	uint64_t computed = (w->regs.v[ESP] + w->callee_params + r->locals_size +
			     r->saved_regs_size) & UINT32_MAX;
	uint64_t slot, value;
	if (r->aligns && fw_regs_has(&w->regs, EBP))
		return (w->regs.v[EBP] + 4) & UINT32_MAX;
	if (!find_return_address(w, computed, FW_RA_WORDS, &slot, &value))
		return computed;
	// A system call of an FPO function: the callee has returned but its return
	// address, the frame's own eip, still lies on top of the stack.
	if (fw_walk_is_context(w) && r->program == FW_NO_PROGRAM && slot == computed &&
	    value == w->frame.pc) {
		uint64_t above = slot + 4;
		if (find_return_address(w, above, FW_RA_WORDS, &slot, &value))
			return slot;
		return above;
	}
	return slot;
}

static bool run_record(struct fw_walker *w, const struct fw_stack_win *r, uint64_t start,
		       struct fw_regs *regs)
{
	uint64_t assigned = 0, word;
	if (r->program != FW_NO_PROGRAM) {
		if (!fw_program_run(&w->code->image->programs, r->program, w->cpu, regs,
				    &w->memory, &assigned, NULL))
			return false;
		uint64_t need = 1u << EIP | 1u << ESP;
		if ((assigned & need) != need)
			return false;
		// The program says what survives; ebp not mentioned is unchanged.
		regs->valid &= assigned | 1u << EBP;
		return true;
	}
	if (!fw_walk_read(w, start, &word))
		return false;
	regs->valid &= 1u << EBP | 1u << EBX;
	fw_regs_set(regs, EIP, word);
	fw_regs_set(regs, ESP, (start + 4) & UINT32_MAX);
	if (r->allocates_base_pointer) {
		uint64_t at = w->regs.v[ESP] + w->callee_params + r->saved_regs_size - 8;
		fw_regs_clear(regs, EBX);
		if (!fw_walk_read(w, at & UINT32_MAX, &word))
			return false;
		fw_regs_set(regs, EBP, word);
	}
	return true;
}

/**
 * ebp that is no stack address was not restored where the record says; search
 * the saved registers' area downwards for a word that is one.
 */
static void repair_ebp(struct fw_walker *w, const struct fw_stack_win *r, uint64_t skipped,
		       struct fw_regs *regs)
{
	uint64_t word, value;
	if (r->program == FW_NO_PROGRAM && !r->allocates_base_pointer)
		return;
	if (fw_regs_has(regs, EBP) && skipped == 0 &&
	    (regs->v[EBP] == 0 || fw_walk_read(w, regs->v[EBP], &word)))
		return;
	fw_regs_clear(regs, EBP);
	uint64_t size = r->saved_regs_size;
	if (size > FW_SAVED_REGS_MAX)
		size = FW_SAVED_REGS_MAX;
	uint64_t top = w->regs.v[ESP] + w->callee_params + r->saved_regs_size + skipped;
	for (uint64_t down = 4; down <= size; down += 4)
		if (fw_walk_read(w, (top - down) & UINT32_MAX, &value) &&
		    value > regs->v[ESP] && value % 4 == 0 && fw_walk_read(w, value, &word)) {
			fw_regs_set(regs, EBP, value);
			return;
		}
}

/** The size that the frame after this one finds its callee's parameters with. */
static uint32_t params_of(struct fw_walker *w, const struct fw_stack_win *r)
{
	if (r != NULL)
		return r->params_size;
	uint64_t offset = w->frame.lookup - w->code->base;
	if (offset > UINT32_MAX)
		return 0;
	const struct fw_func *func = fw_image_func(w->code->image, (uint32_t)offset);
	return func == NULL ? 0 : func->params_size;
}

enum fw_stop fw_walk_stack_win(struct fw_walker *w, bool *ret_used)
{
	const struct fw_stack_win *r = record_at(w, w->frame.lookup);
	struct fw_caller caller = { .trust = FW_TRUST_CFI, .regs = w->regs };
	*ret_used = false;
	w->next_params = params_of(w, r);
	if (r == NULL || !fw_regs_has(&w->regs, ESP))
		return FW_STOP_NONE;
	uint64_t start = search_start(w, r), skipped = 0;
	// STACK WIN variables share the register map; last frame's are not this one's.
	caller.regs.valid &= (UINT64_C(1) << FW_CPU_REGS) - 1;
	fw_regs_set(&caller.regs, FW_SLOT_WIN_PARAMS, r->params_size);
	fw_regs_set(&caller.regs, FW_SLOT_WIN_CALLEE_PARAMS, w->callee_params);
	fw_regs_set(&caller.regs, FW_SLOT_WIN_SAVED_REGS, r->saved_regs_size);
	fw_regs_set(&caller.regs, FW_SLOT_WIN_LOCALS, r->locals_size);
	fw_regs_set(&caller.regs, FW_SLOT_WIN_RA_SEARCH, start);
	if (!run_record(w, r, start, &caller.regs))
		return FW_STOP_NONE;
	if (caller.regs.v[EIP] == 0 && fw_regs_has(&caller.regs, EBP) && caller.regs.v[EBP] == 0) {
		*ret_used = true;
		return fw_walk_stop(w, FW_STOP_END_OF_STACK, "return address and frame pointer are 0");
	}
	if (fw_snapshot_module(w->snapshot, caller.regs.v[EIP]) == NULL) {
		uint64_t slot, value;
		if (!find_return_address(w, start + 4, fw_walk_is_context(w) ?
					 FW_SCAN_WORDS_CONTEXT : FW_SCAN_WORDS, &slot, &value))
			return FW_STOP_NONE;
		if (fw_walk_evidence(w, value) != FW_EVIDENCE_CALL)
			return FW_STOP_NONE;
		skipped = slot - start;
		caller.trust = FW_TRUST_CFI_SCAN;
		fw_regs_set(&caller.regs, EIP, value);
		fw_regs_set(&caller.regs, ESP, (slot + 4) & UINT32_MAX);
	}
	repair_ebp(w, r, skipped, &caller.regs);
	caller.regs.valid &= (UINT64_C(1) << FW_CPU_REGS) - 1;
	*ret_used = true;
	return fw_walk_accept(w, &caller);
}
