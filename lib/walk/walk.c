#include "lib/walk/walker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/rules/row_plain.h"

static const char *const trust_names[FW_TRUST_COUNT] = {
	"context", "cfi", "cfi_scan", "frame_pointer", "scan", "leaf", "prologue", "prewalked",
	"repaired",
};

static const char *const stop_names[FW_STOP_COUNT] = {
	"none", "end_of_stack", "no_rule", "memory_missing", "implausible", "limit",
	"truncated_stack",
};

const char *fw_trust_name(enum fw_trust trust)
{
	return trust < FW_TRUST_COUNT ? trust_names[trust] : "unknown";
}

const char *fw_stop_name(enum fw_stop stop)
{
	return stop < FW_STOP_COUNT ? stop_names[stop] : "unknown";
}

enum fw_stop fw_walk_stop(struct fw_walker *w, enum fw_stop stop, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(w->result->stop_detail, sizeof(w->result->stop_detail), format, args);
	va_end(args);
	return stop;
}

enum fw_stop fw_walk_end(struct fw_walker *w, enum fw_stop stop, const char *text)
{
	memcpy(w->result->stop_detail, text, strlen(text) + 1);
	return stop;
}

/** "truncated at N bytes"; half of a profiler's samples may end so. */
static enum fw_stop truncated(struct fw_walker *w)
{
	static const char before[] = "truncated at ", after[] = " bytes";
	char digits[20], *to = w->result->stop_detail;
	unsigned n = 0;
	for (uint64_t left = w->sample_size; n == 0 || left != 0; left /= 10)
		digits[n++] = (char)('0' + left % 10);
	memcpy(to, before, sizeof(before) - 1);
	to += sizeof(before) - 1;
	while (n > 0)
		*to++ = digits[--n];
	memcpy(to, after, sizeof(after));
	return FW_STOP_TRUNCATED_STACK;
}

static inline void set_frame(struct fw_walker *w, enum fw_trust trust, uint64_t pc, uint64_t sp,
			     bool exact)
{
	w->frame.pc = pc;
	w->frame.sp = sp;
	w->frame.lookup = exact ? pc : pc - w->cpu->call_back;
	w->frame.trust = (uint8_t)trust;
	w->frame.signal_frame = false;
	w->callee_params = w->next_params;
	w->next_params = 0;
}

static enum fw_stop refuse_address(struct fw_walker *w, uint64_t pc)
{
	if (fw_walk_is_entry(w, &w->frame))
		return fw_walk_end(w, FW_STOP_END_OF_STACK,
				    "no caller: the thread or program starts here");
	return fw_walk_stop(w, FW_STOP_IMPLAUSIBLE,
			    "return address 0x%llx is not in executable memory",
			    (unsigned long long)pc);
}

enum fw_stop fw_walk_check(struct fw_walker *w, enum fw_trust trust, uint64_t pc, uint64_t sp,
			   uint64_t old_sp, bool exact)
{
	const struct fw_cpu *cpu = w->cpu;
	if (pc < FW_LOWEST_PC)
		return fw_walk_stop(w, FW_STOP_END_OF_STACK, "return address is 0x%llx",
				    (unsigned long long)pc);
	// A leaf function of a CPU with a link register uses no stack, but only
	// the innermost frame can be one. A signal may come from another stack.
	bool may_stay = fw_walk_is_context(w) && cpu->lr != FW_NO_REG;
	if (!exact && (sp < old_sp || (sp == old_sp && !may_stay)))
		return fw_walk_stop(w, FW_STOP_IMPLAUSIBLE,
				    "the caller's stack pointer 0x%llx is not above 0x%llx",
				    (unsigned long long)sp, (unsigned long long)old_sp);
	uint64_t lookup = exact ? pc : pc - cpu->call_back;
	struct fw_place place = fw_walk_locate(w, lookup);
	if (place.exec == FW_EXEC_NO && !exact)
		return refuse_address(w, pc);
	if (place.module == FW_NO_MODULE && place.exec != FW_EXEC_YES && !exact &&
	    fw_walk_is_entry(w, &w->frame))
		return fw_walk_end(w, FW_STOP_END_OF_STACK,
				    "no caller: the thread or program starts here");
	w->frame.module = place.module;
	set_frame(w, trust, pc, sp, exact);
	return FW_STOP_NONE;
}

/** The same of a caller whose registers are in w->regs already; w->frame is the callee. */
static enum fw_stop check_caller(struct fw_walker *w, enum fw_trust trust, uint64_t old_sp,
				 bool exact)
{
	uint64_t *pc = &w->regs.v[w->cpu->pc];
	*pc = fw_walk_code_address(w, *pc);
	return fw_walk_check(w, trust, *pc, w->regs.v[w->cpu->sp], old_sp, exact);
}

enum fw_stop fw_walk_accept(struct fw_walker *w, const struct fw_caller *caller)
{
	uint64_t old_sp = w->regs.v[w->cpu->sp];
	w->regs = caller->regs;
	w->unverified = 0;
	return check_caller(w, caller->trust, old_sp, false);
}

/**
 * Go on in what a signal interrupted. The kernel pushes a signal frame below the
 * interrupted stack pointer, unless the handler has a stack of its own: then it
 * may lie anywhere, but not for ever.
 */
static enum fw_stop enter_interrupted(struct fw_walker *w, const struct fw_regs *regs)
{
	uint64_t old_sp = w->regs.v[w->cpu->sp], new_sp = regs->v[w->cpu->sp];
	const struct fw_segment *stack = fw_memory_find(w->memory.memory, old_sp);
	bool same = stack != NULL && new_sp - stack->start < stack->size;
	w->result->frames.data[w->result->frames.count - 1].signal_frame = true;
	if ((same && new_sp <= old_sp) || (!same && ++w->stack_switches > FW_MAX_STACK_SWITCHES))
		return fw_walk_stop(w, FW_STOP_IMPLAUSIBLE,
				    "the signal frame's stack pointer 0x%llx leads back",
				    (unsigned long long)new_sp);
	w->regs = *regs;
	return check_caller(w, FW_TRUST_CFI, old_sp, true);
}

static enum fw_stop signal_frame_missing(struct fw_walker *w)
{
	w->result->frames.data[w->result->frames.count - 1].signal_frame = true;
	return fw_walk_stop(w, FW_STOP_MEMORY_MISSING,
			    "the signal frame at 0x%llx is not in the capture",
			    (unsigned long long)w->frame.sp);
}

/** Leave a signal trampoline: the interrupted frame's registers are all in memory. */
static enum fw_stop leave_trampoline(struct fw_walker *w)
{
	struct fw_regs regs = { 0 };
	if (!w->arch->signal_frame(w, &regs))
		return signal_frame_missing(w);
	return enter_interrupted(w, &regs);
}

/**
 * Does a trampoline's own row say where every register is? Not where its return
 * address is the link register's column, as in old vDSOs of arm64: that is the
 * interrupted function's return address, and its pc is nowhere.
 */
static bool has_signal_rules(const struct fw_walker *w, const struct fw_rule *rules,
			     uint32_t count)
{
	if (!(rules[0].flags & FW_ROW_SIGNAL) || rules[0].flags & FW_ROW_RA_IN_PC ||
	    rules[0].kind == FW_RULE_FAILED || rules[1].kind == FW_RULE_FAILED)
		return false;
	for (uint32_t i = 2; i < count; i++)
		if (rules[i].target == w->cpu->lr && rules[i].kind == rules[1].kind &&
		    rules[i].reg == rules[1].reg && rules[i].arg == rules[1].arg)
			return false;
	return rules[1].kind != FW_RULE_REG || rules[1].reg != w->cpu->lr;
}

/** The same by the trampoline's own rules; *ret_used: they could be evaluated. */
static enum fw_stop leave_by_rules(struct fw_walker *w, const struct fw_rule *rules,
				   uint32_t count, const struct fw_programs *programs,
				   bool *ret_used)
{
	struct fw_regs regs = w->regs;
	enum fw_row_result result = fw_row_apply(rules, count, programs, w->cpu, &regs,
						 &w->memory);
	*ret_used = true;
	if (result == FW_ROW_OK)
		return enter_interrupted(w, &regs);
	if (result == FW_ROW_NO_MEMORY)
		return signal_frame_missing(w);
	*ret_used = false;
	return FW_STOP_NONE;
}

enum fw_stop fw_walk_stop_no_words(struct fw_walker *w)
{
	if (!w->have_stack || w->frame.sp < w->stack_start || w->frame.sp > w->stack_end)
		return fw_walk_stop(w, FW_STOP_MEMORY_MISSING, "no memory at stack pointer 0x%llx",
				    (unsigned long long)w->frame.sp);
	if (w->sampled)
		return truncated(w);
	return fw_walk_stop(w, FW_STOP_TRUNCATED_STACK, "the captured stack ends at 0x%llx",
			    (unsigned long long)w->stack_end);
}

/**
 * A sample's frame pointer that points just above what was copied: the frame record is
 * there, and nothing below it can be the return address.
 */
static bool record_not_copied(const struct fw_walker *w)
{
	const struct fw_cpu *cpu = w->cpu;
	const uint64_t fp = w->regs.v[cpu->fp];
	return fw_regs_has(&w->regs, cpu->fp) && fp % cpu->word_size == 0 &&
	       fw_walk_not_copied(w, fp + cpu->word_size);
}

/**
 * Is the frame's code to be had? A scan from code that nobody has cannot tell what it
 * called from what called it. A crash has one stack and shows how each frame was found;
 * a profile adds up thousands, and a frame left out is a caller invented.
 */
static bool has_code(struct fw_walker *w)
{
	uint8_t byte;
	return fw_walk_code(w, w->frame.lookup, &byte, 1);
}

/** Frame pointer, leaf, scan: what is left when no rule could be used. */
static enum fw_stop step_without_rule(struct fw_walker *w)
{
	struct fw_caller caller;
	uint64_t word;
	bool end = false;
	if (w->entry_size != 0 && w->frame.lookup - w->entry < w->entry_size)
		return fw_walk_end(w, FW_STOP_END_OF_STACK, "the program's entry point");
	if (fw_walk_is_trampoline(w, NULL))
		return leave_trampoline(w);
	if (!fw_walk_is_context(w) && fw_walk_is_entry(w, &w->frame))
		return fw_walk_end(w, FW_STOP_END_OF_STACK,
				    "no caller: the thread or program starts here");
	if (fw_walk_is_context(w)) {
		struct fw_place place = fw_walk_locate(w, w->frame.lookup);
		bool wild = (place.module == FW_NO_MODULE && !fw_walk_is_made(w, place)) ||
			    place.exec == FW_EXEC_NO;
		if (w->arch->leaf(w, wild, &caller))
			return fw_walk_accept(w, &caller);
	}
	if (w->arch->prologue != NULL && w->arch->prologue(w, &caller))
		return fw_walk_accept(w, &caller);
	if (w->arch->frame_pointer(w, &caller, &end))
		return fw_walk_accept(w, &caller);
	if (end)
		return fw_walk_end(w, FW_STOP_END_OF_STACK, "the frame pointer chain ends");
	if (record_not_copied(w))
		return truncated(w);
	if (w->sampled && fw_walk_read(w, w->frame.sp, &word) && !has_code(w))
		return fw_walk_end(w, FW_STOP_NO_RULE,
				    "no unwind rule, no frame record, and the code is not to be had");
	return fw_walk_scan(w);
}

static enum fw_stop rule_failed(struct fw_walker *w, enum fw_row_result result)
{
	if (result == FW_ROW_END)
		return fw_walk_end(w, FW_STOP_END_OF_STACK,
				    "the return address is undefined: outermost frame");
	// With a rule at hand everything below the CFA is the frame's own: if the
	// return address is not in the capture, nothing found lower can be it.
	if (result == FW_ROW_NO_MEMORY)
		return fw_walk_stop_no_words(w);
	w->cfi_failed = true;
	return step_without_rule(w);
}

/**
 * A sample has nothing of what lies below sp, where the innermost function may have
 * saved registers by its rules: in a red zone, or popped already. They keep their values.
 */
static void keep_below_sp(struct fw_walker *w, const struct fw_rule *rules, uint32_t count,
			  const struct fw_regs *callee, uint64_t old_sp)
{
	if (rules[0].kind != FW_RULE_REG)
		return;
	uint64_t cfa = callee->v[FW_SLOT(rules[0].reg)] + (uint64_t)(int64_t)rules[0].arg;
	for (uint32_t i = 2; i < count; i++) {
		unsigned target = FW_SLOT(rules[i].target);
		uint64_t slot = (cfa + (uint64_t)(int64_t)rules[i].arg) & w->cpu->word_mask;
		if (rules[i].kind == FW_RULE_LOAD_CFA && slot < old_sp &&
		    fw_regs_has(callee, target))
			fw_regs_set(&w->regs, target, callee->v[target]);
	}
}

/**
 * A sample's rule leads to where nothing was copied. Not just above the copy: then the
 * program has changed stacks (makecontext, fibers, goroutines), and this one has ended.
 */
static enum fw_stop not_in_sample(struct fw_walker *w, const struct fw_rule *rules)
{
	const struct fw_regs *r = &w->regs;
	bool here = w->frame.sp >= w->stack_start && w->frame.sp <= w->stack_end;
	if (here && rules[0].kind == FW_RULE_REG && fw_regs_has(r, FW_SLOT(rules[0].reg))) {
		uint64_t cfa = r->v[FW_SLOT(rules[0].reg)] + (uint64_t)(int64_t)rules[0].arg;
		cfa &= w->cpu->word_mask;
		if (!fw_walk_not_copied(w, cfa - w->cpu->word_size) &&
		    (cfa < w->stack_start || cfa > w->stack_end))
			return fw_walk_stop(w, FW_STOP_MEMORY_MISSING,
					    "the frame ends at 0x%llx, on a stack that was not "
					    "copied", (unsigned long long)cfa);
	}
	return fw_walk_stop_no_words(w);
}

/**
 * The innermost frame's rule has led nowhere. Assembler has rules that forget a push or
 * two (i386 memcpy of glibc): its code says where the return address is, and a call
 * before that says that it is right. @p stop is what was found by the rule.
 */
static enum fw_stop rule_disproved(struct fw_walker *w, const struct fw_regs *context,
				   enum fw_stop stop)
{
	char detail[sizeof(w->result->stop_detail)];
	struct fw_caller caller;
	memcpy(detail, w->result->stop_detail, sizeof(detail));
	w->regs = *context;
	if (!fw_walk_is_entry(w, &w->frame) && w->arch->prologue(w, &caller) &&
	    fw_walk_accept(w, &caller) == FW_STOP_NONE)
		return FW_STOP_NONE;
	memcpy(w->result->stop_detail, detail, sizeof(detail));
	return stop;
}

/** Leave a frame by a row that is no trampoline's. */
static enum fw_stop apply_row(struct fw_walker *w, const struct fw_rule *rules, uint32_t count,
			      const struct fw_programs *programs)
{
	struct fw_regs callee;
	uint64_t old_sp = w->regs.v[w->cpu->sp];
	const bool context = fw_walk_is_context(w);
	if (context)
		callee = w->regs;
	enum fw_row_result result = fw_row_apply(rules, count, programs, w->cpu, &w->regs,
						 &w->memory);
	if (result == FW_ROW_NO_MEMORY && w->sampled)
		return not_in_sample(w, rules);
	if (result != FW_ROW_OK)
		return rule_failed(w, result);
	if (context && w->sampled)
		keep_below_sp(w, rules, count, &callee, old_sp);
	w->unverified = 0;
	// The return address is in a register (vfork, _Unwind_Resume of x86): sp may be the
	// caller's already. Only in the innermost frame, so a walk ends.
	const bool may_stay = context && rules[1].kind == FW_RULE_REG &&
			      FW_SLOT(rules[1].reg) != w->cpu->pc;
	enum fw_stop stop = check_caller(w, FW_TRUST_CFI, may_stay ? old_sp - 1 : old_sp, false);
	if (stop == FW_STOP_NONE || !context || w->arch->prologue == NULL)
		return stop;
	return rule_disproved(w, &callee, stop);
}

/**
 * No rule before the return address, where no call stands, but one at it: a function's
 * first byte, which no call has left there. makecontext puts such a one on a new stack for its
 * outermost function to "return" to.
 */
static bool was_put_there(struct fw_walker *w)
{
	struct fw_programs programs;
	uint32_t count;
	return !fw_walk_is_context(w) && w->frame.pc != w->frame.lookup &&
	       fw_walk_rules(w, w->frame.pc, &count, &programs) != NULL &&
	       fw_walk_evidence(w, w->frame.pc) == FW_EVIDENCE_NO_CALL &&
	       !fw_walk_is_trampoline(w, NULL);
}

static enum fw_stop no_rule(struct fw_walker *w)
{
	fw_walk_recover(w);
	if (was_put_there(w))
		return fw_walk_end(w, FW_STOP_END_OF_STACK,
				    "no caller: a function's start was put there to return to");
	return step_without_rule(w);
}

/** Leave code of no module: by the rules that a JIT gave, else as without any. */
static enum fw_stop leave_made(struct fw_walker *w)
{
	struct fw_programs programs;
	uint32_t count;
	const struct fw_rule *rules = fw_walk_made_rules(w, w->frame.lookup, &count, &programs);
	fw_walk_recover(w);
	return rules != NULL ? apply_row(w, rules, count, &programs) : step_without_rule(w);
}

/** True when the row ends the walk whatever the registers are: sp's value is known. */
static bool is_outermost(const struct fw_walker *w, const struct fw_rule *rules)
{
	return rules[1].kind == FW_RULE_UNDEFINED && rules[0].kind == FW_RULE_REG &&
	       rules[0].reg == w->cpu->sp && fw_regs_has(&w->regs, w->cpu->sp);
}

/** One step by the long way: every kind of rule, and what there is without. */
static __attribute__((noinline)) enum fw_stop slow_step(struct fw_walker *w)
{
	bool used = false;
	w->cfi_failed = false;
	if (!fw_walk_enter(w, w->frame.lookup))
		return leave_made(w);
	if (w->entry_size != 0 && w->frame.lookup - w->entry < w->entry_size)
		return fw_walk_end(w, FW_STOP_END_OF_STACK, "the program's entry point");
	if (w->code->has_win) {
		fw_walk_recover(w);
		enum fw_stop stop = fw_walk_stack_win(w, &used);
		if (used || stop != FW_STOP_NONE)
			return stop;
	}
	struct fw_programs programs;
	uint32_t count;
	const struct fw_rule *rules = fw_walk_rules(w, w->frame.lookup, &count, &programs);
	if (rules == NULL)
		return no_rule(w);
	if ((rules[0].flags & FW_ROW_ENTRY) && rules[1].kind != FW_RULE_UNDEFINED &&
	    !fw_walk_is_context(w))
		return fw_walk_end(w, FW_STOP_END_OF_STACK,
				    "no caller: the thread or program starts here");
	bool signal = rules[0].flags & (FW_ROW_SIGNAL | FW_ROW_RA_IN_PC);
	if (!signal && is_outermost(w, rules))
		return rule_failed(w, FW_ROW_END);
	fw_walk_recover(w);
	if (signal) {
		if (has_signal_rules(w, rules, count)) {
			enum fw_stop stop = leave_by_rules(w, rules, count, &programs, &used);
			if (used)
				return stop;
		}
		if (fw_walk_is_trampoline(w, rules))
			return leave_trampoline(w);
		if (rules[0].flags & FW_ROW_RA_IN_PC)
			return step_without_rule(w);
	}
	return apply_row(w, rules, count, &programs);
}

static enum fw_stop long_step(struct fw_walker *w)
{
	enum fw_stop stop = slow_step(w);
	w->regs_frame = w->result->frames.count;	// of the caller
	return stop;
}

__attribute__((noinline, hot)) enum fw_stop fw_walk_step(struct fw_walker *w)
{
	enum fw_stop stop = FW_STOP_NONE;
	if (!w->options.keep_registers && fw_walk_hot(w, &stop))
		return stop;
	return long_step(w);
}

static void prepare_stack(struct fw_walker *w, const struct fw_thread_info *thread)
{
	// The stack is the segment that holds sp: the one the thread record names
	// may be empty (Windows) or another (alternate signal stack).
	const struct fw_segment *s = fw_memory_find(&w->snapshot->memory,
						    thread->regs.v[w->cpu->sp]);
	if (s == NULL && thread->stack_size != 0)
		s = fw_memory_find(&w->snapshot->memory, thread->stack_start);
	w->have_stack = s != NULL;
	if (s != NULL) {
		w->stack_start = s->start;
		w->stack_end = s->start + s->size;
	}
	fw_walk_view(w, &w->snapshot->memory, s);
}

void fw_walk_begin(struct fw_walker *w, struct fw_walk_result *r, const struct fw_memory *memory)
{
	w->result = r;
	r->frames.count = 0;
	r->regs.count = 0;
	r->num_candidates = 0;
	r->corrupt_module = FW_NO_MODULE;
	r->stop = FW_STOP_NONE;
	r->stop_detail[0] = '\0';
	fw_memory_view_init(&w->memory, memory);
	w->callee_params = w->next_params = w->unverified = w->stack_switches = 0;
	w->regs_frame = 0;
	w->num_touched = 0;
	w->walk++;
	if (w->arch == NULL)
		r->stop = fw_walk_end(w, FW_STOP_NO_RULE, "stacks of this CPU are not walked");
}

/** Make the captured registers in w->regs the innermost frame. */
static void set_context(struct fw_walker *w)
{
	w->frame = (struct fw_frame){ .trust = FW_TRUST_CONTEXT };
	uint64_t pc = fw_walk_code_address(w, w->regs.v[w->cpu->pc]);
	w->frame.module = fw_walk_locate(w, pc).module;
	if (w->frame.module != FW_NO_MODULE)
		w->regs.v[w->cpu->pc] = pc;
	else
		w->frame.module = fw_walk_locate(w, w->regs.v[w->cpu->pc]).module;
	set_frame(w, FW_TRUST_CONTEXT, w->regs.v[w->cpu->pc], w->regs.v[w->cpu->sp], true);
}

/** Whether the walk has taken too long; the clock starts at the first call. */
static bool out_of_time(struct timespec *start)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (start->tv_sec == 0)
		*start = now;
	return now.tv_sec - start->tv_sec > FW_MAX_WALK_SECONDS;
}

static enum fw_code go_on(struct fw_walker *w)
{
	struct fw_walk_result *r = w->result;
	struct timespec start = { 0 };
	while (r->stop == FW_STOP_NONE) {
		if (!fw_vec_reserve(&r->frames, 2) || !fw_vec_push(&r->frames, w->frame) ||
		    (w->options.keep_registers && !fw_vec_push(&r->regs, w->regs)))
			return FW_NO_MEMORY;
		if (r->frames.count >= w->options.max_frames)
			r->stop = fw_walk_stop(w, FW_STOP_LIMIT, "%u frames",
					       w->options.max_frames);
		else if (r->frames.count % FW_WALK_LOOK == 0 && out_of_time(&start))
			r->stop = fw_walk_stop(w, FW_STOP_LIMIT, "%d seconds", FW_MAX_WALK_SECONDS);
		else
			r->stop = fw_walk_step(w);
	}
	for (uint32_t i = 0; i < w->num_touched; i++)
		if (atomic_load(&w->images[w->touched[i]]->corrupt))
			r->corrupt_module = w->touched[i];
	return FW_OK;
}

enum fw_code fw_walk_run(struct fw_walker *w)
{
	set_context(w);
	return go_on(w);
}

enum fw_code fw_walk_resume(struct fw_walker *w, bool long_way)
{
	w->result->stop = long_way ? long_step(w) : fw_walk_step(w);
	return go_on(w);
}

enum fw_code fw_walk_thread(struct fw_walker *w, uint32_t index, struct fw_walk_result *r)
{
	const struct fw_thread_info *thread = &w->snapshot->threads[index];
	fw_walk_begin(w, r, &w->snapshot->memory);
	w->sampled = false;
	if (!thread->have_context)
		r->stop = fw_walk_stop(w, FW_STOP_NO_RULE, "no registers: %s",
				       thread->context_error ? thread->context_error :
				       "none captured");
	if (r->stop != FW_STOP_NONE)
		return FW_OK;
	w->regs = thread->regs;
	prepare_stack(w, thread);
	return fw_walk_run(w);
}

void fw_walk_result_deinit(struct fw_walk_result *r)
{
	fw_vec_deinit(&r->frames);
	fw_vec_deinit(&r->regs);
}

static const struct fw_walk_arch *arch_of(enum fw_cpu_id id)
{
	switch (id) {
	case FW_CPU_X86: return &fw_walk_arch_x86;
	case FW_CPU_AMD64: return &fw_walk_arch_amd64;
	case FW_CPU_ARM: return &fw_walk_arch_arm;
	case FW_CPU_ARM64: return &fw_walk_arch_arm64;
	case FW_CPU_UNKNOWN: case FW_CPU_PPC: case FW_CPU_PPC64: case FW_CPU_SPARC:
	case FW_CPU_MIPS: case FW_CPU_MIPS64: case FW_CPU_RISCV32: case FW_CPU_RISCV64:
	case FW_CPU_S390X:
		break;
	}
	return NULL;
}

/** Address bits that can be code on arm64: up to the highest module, at least 2^47
 *  (Apple's split); above them lies the pointer authentication code. */
static uint64_t code_address_bits(const struct fw_snapshot *s)
{
	uint64_t top = (UINT64_C(1) << 47) - 1;
	for (uint32_t i = 0; i < s->num_modules; i++) {
		uint64_t last = s->modules[i].base + s->modules[i].size - 1;
		if (s->modules[i].size != 0 && last > top)
			top = last;
	}
	return UINT64_MAX >> __builtin_clzll(top);
}

/** Room for what is known of each module; what was known of others goes. */
static bool make_room(struct fw_walker *w, uint32_t num_modules)
{
	uint32_t n = num_modules + 1;
	if (n > w->module_room) {
		free(w->images);
		free(w->image_asked);
		free(w->touched);
		free(w->touched_in);
		w->images = calloc(n, sizeof(*w->images));
		w->image_asked = calloc(n, 1);
		w->touched = calloc(n, sizeof(*w->touched));
		w->touched_in = calloc(n, sizeof(*w->touched_in));
		w->module_room = n;
		return w->images != NULL && w->image_asked != NULL && w->touched != NULL &&
		       w->touched_in != NULL;
	}
	memset(w->image_asked, 0, n);
	return true;
}

enum fw_code fw_walker_reset(struct fw_walker *w, const struct fw_snapshot *snapshot,
			     struct fw_error *err)
{
	fw_walk_forget(w);
	w->entry_refined = w->entry_asked = false;
	w->snapshot = snapshot;
	w->cpu = snapshot->cpu;
	w->arch = arch_of(w->cpu->id);
	w->pac_mask = w->cpu->id == FW_CPU_ARM64 ? code_address_bits(snapshot) : UINT64_MAX;
	w->entry = snapshot->entry;
	w->entry_size = snapshot->have_entry ? FW_ENTRY_SIZE : 0;
	if (!make_room(w, snapshot->num_modules)) {
		w->module_room = 0;
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	return FW_OK;
}

enum fw_code fw_walker_create(const struct fw_snapshot *snapshot,
			      const struct fw_walk_source *source,
			      const struct fw_walk_options *options,
			      struct fw_walker **ret, struct fw_error *err)
{
	struct fw_walker *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	w->source = *source;
	w->options = *options;
	enum fw_code code = fw_walker_reset(w, snapshot, err);
	if (code)
		fw_walker_destroy(w);
	else
		*ret = w;
	return code;
}

void fw_walker_destroy(struct fw_walker *w)
{
	if (w == NULL)
		return;
	free(w->images);
	free(w->image_asked);
	free(w->touched);
	free(w->touched_in);
	free(w);
}
