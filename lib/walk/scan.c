#include "lib/walk/walker.h"

/**
 * Would the walk go on from this caller by a rule or a frame record? The only
 * thing that can support a return address whose code nobody has.
 */
static bool goes_on(struct fw_walker *w, const struct fw_caller *caller)
{
	struct fw_caller next;
	bool end = false, used = false;
	if (fw_walk_accept(w, caller) != FW_STOP_NONE || !fw_walk_enter(w, w->frame.lookup))
		return false;
	if (w->code->has_win && fw_walk_stack_win(w, &used) == FW_STOP_NONE && used)
		return true;
	struct fw_programs programs;
	uint32_t count;
	const struct fw_rule *rules = fw_walk_rules(w, w->frame.lookup, &count, &programs);
	if (rules != NULL && !(rules[0].flags & (FW_ROW_SIGNAL | FW_ROW_RA_IN_PC)) &&
	    fw_row_apply(rules, count, &programs, w->cpu, &w->regs, &w->memory) == FW_ROW_OK) {
		uint64_t pc = fw_walk_code_address(w, w->regs.v[w->cpu->pc]);
		struct fw_place place = fw_walk_locate(w, pc - w->cpu->call_back);
		return place.module != FW_NO_MODULE && place.exec != FW_EXEC_NO &&
		       w->regs.v[w->cpu->sp] > w->frame.sp;
	}
	// One unverified record is no support for an unverified address: two are.
	if (!w->arch->frame_pointer(w, &next, &end))
		return false;
	if (fw_walk_evidence(w, next.regs.v[w->cpu->pc]) == FW_EVIDENCE_CALL)
		return true;
	return fw_walk_accept(w, &next) == FW_STOP_NONE &&
	       w->arch->frame_pointer(w, &next, &end) &&
	       fw_regs_has(&next.regs, w->cpu->fp);
}

static bool continues(struct fw_walker *w, const struct fw_caller *caller)
{
	struct fw_walker trial = *w;	// its stretches are its own
	struct fw_walk_result scratch = { .frames = w->result->frames };
	trial.result = &scratch;
	bool ret = goes_on(&trial, caller);
	w->num_touched = trial.num_touched;
	return ret;
}

static void found_at(struct fw_walker *w, uint64_t slot, uint64_t value, struct fw_caller *ret)
{
	*ret = (struct fw_caller){ .trust = FW_TRUST_SCAN };
	w->arch->scanned(w, slot, &ret->regs);
	fw_regs_set(&ret->regs, w->cpu->pc, value & w->cpu->word_mask);
	fw_regs_set(&ret->regs, w->cpu->sp, (slot + w->cpu->word_size) & w->cpu->word_mask);
}

static void note_candidate(struct fw_walker *w, uint64_t slot, uint64_t value)
{
	struct fw_walk_result *r = w->result;
	if (r->num_candidates == FW_MAX_CANDIDATES)
		return;
	const struct fw_module_info *m =
		fw_snapshot_module(w->snapshot, fw_walk_code_address(w, value));
	r->candidates[r->num_candidates++] = (struct fw_candidate){
		.stack_address = slot, .value = value,
		.module = m == NULL ? FW_NO_MODULE : (uint32_t)(m - w->snapshot->modules),
	};
}

static bool in_made(struct fw_walker *w, uint64_t value)
{
	uint64_t address = fw_walk_code_address(w, value) - w->cpu->call_back;
	return fw_walk_is_made(w, fw_walk_locate(w, address));
}

static enum fw_stop nothing_found(struct fw_walker *w, uint64_t slots_read)
{
	if (slots_read == 0)
		return fw_walk_stop_no_words(w);
	return fw_walk_stop(w, FW_STOP_NO_RULE,
			    "%s, no frame record, and no return address with a call before it "
			    "in %llu words",
			    w->cfi_failed ? "the unwind rule cannot be used" : "no unwind rule",
			    (unsigned long long)slots_read);
}

/**
 * Look up the stack for a return address. Only one with a call in front of it
 * becomes a frame; the first of the others may, where no code at all is to be
 * had and the walk provably goes on from there (never twice in a row).
 */
enum fw_stop fw_walk_scan(struct fw_walker *w)
{
	const struct fw_cpu *cpu = w->cpu;
	struct fw_caller caller, unverified;
	bool have_unverified = false, have_code = false;
	// The bound is inclusive, as the peers' is.
	uint64_t words = (fw_walk_is_context(w) ? FW_SCAN_WORDS_CONTEXT : FW_SCAN_WORDS) + 1;
	uint64_t read = 0, value;

	w->result->num_candidates = 0;
	if (!fw_regs_has(&w->regs, cpu->sp))
		return fw_walk_stop(w, FW_STOP_NO_RULE, "the stack pointer is unknown");
	for (; read < words; read++) {
		uint64_t slot = w->frame.sp + read * cpu->word_size;
		if (slot < w->frame.sp || !fw_walk_read(w, slot, &value))
			break;
		enum fw_evidence evidence = fw_walk_evidence(w, value);
		have_code |= evidence == FW_EVIDENCE_NO_CALL || evidence == FW_EVIDENCE_CALL;
		// what a JIT made is not to be guessed at: half of the heap may be executable
		if (evidence < FW_EVIDENCE_UNVERIFIED ||
		    (evidence != FW_EVIDENCE_CALL && in_made(w, value)) ||
		    (evidence == FW_EVIDENCE_CALL && !fw_walk_leads_here(w, value)))
			continue;
		found_at(w, slot, value, &caller);
		if (evidence == FW_EVIDENCE_CALL) {
			w->result->num_candidates = 0;
			return fw_walk_accept(w, &caller);
		}
		note_candidate(w, slot, value);
		if (!have_unverified && w->unverified == 0 && continues(w, &caller)) {
			unverified = caller;
			have_unverified = true;
		}
	}
	if (have_unverified && !have_code) {
		w->result->num_candidates = 0;
		enum fw_stop stop = fw_walk_accept(w, &unverified);
		w->unverified = 1;
		return stop;
	}
	return nothing_found(w, read);
}
