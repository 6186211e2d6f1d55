#include "lib/walk/arch_x86_common.h"
#include "lib/walk/x86_frame.h"

/*
 * Frames of x86 code without unwind rules, by its instructions. From the function's start
 * to the pc every way there is followed and what it does to the stack is added up; or,
 * where a frame is at an exact pc, what the code will do up to its return. Either gives
 * the CFA only if every instruction on the way is understood, and is believed only if
 * a call stands before the return address found there.
 */
enum {
	SP = 4, BP = 5, REGS = FW_X86_REGS,
	MAX_FORWARD = 64,	// instructions up to a return
	FORWARD_BYTES = 15,
};

static uint8_t dwarf_number(bool wide, unsigned reg)
{
	static const uint8_t amd64[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };	// psABI figure 3.36
	return (uint8_t)(wide && reg < 8 ? amd64[reg] : reg);
}

static uint32_t read_code(struct fw_walker *w, uint64_t address, uint8_t *out, uint32_t n)
{
	enum { PIECE = 64 };
	uint32_t have = 0;
	while (have < n) {
		uint32_t step = n - have < PIECE ? n - have : PIECE;
		while (step && !fw_walk_code(w, address + have, out + have, step))
			step /= 2;
		if (step == 0)
			break;
		have += step;
	}
	return have;
}

/** A word the function saved, as the caller's register. */
static void restore(struct fw_walker *w, struct fw_regs *regs, uint8_t reg, uint64_t at)
{
	uint64_t value;
	if (fw_walk_read(w, at, &value))
		fw_regs_set(regs, reg, value);
	else
		fw_regs_clear(regs, reg);
}

/**
 * The caller whose return address lies below @p cfa; false: nothing supports it. Where it
 * is certain that a return would take it (@p certain) a call to elsewhere supports it, too:
 * that function has left by a jump, as _dl_call_fini does to a library's _fini, or as a
 * static program's stubs do.
 */
static bool caller_at(struct fw_walker *w, uint64_t cfa, bool certain, struct fw_caller *ret)
{
	const struct fw_cpu *cpu = w->cpu;
	uint64_t address;
	cfa &= cpu->word_mask;
	if (cfa <= w->frame.sp || !fw_walk_read(w, cfa - cpu->word_size, &address) ||
	    fw_walk_evidence(w, address) != FW_EVIDENCE_CALL || (!certain && !fw_walk_leads_here(w, address)))
		return false;
	ret->trust = FW_TRUST_PROLOGUE;
	ret->regs = w->regs;
	ret->regs.valid &= cpu->callee_saved;
	fw_regs_set(&ret->regs, cpu->pc, address);
	fw_regs_set(&ret->regs, cpu->sp, cfa);
	return true;
}

static bool by_start(struct fw_walker *w, bool wide, struct fw_caller *ret)
{
	uint8_t code[FW_MAX_PROLOGUE];
	struct fw_x86_frame s = { .sp = 0 };
	uint64_t start;
	if (fw_walk_function(w, w->frame.lookup, &start).s == NULL || start > w->frame.pc ||
	    w->frame.pc - start >= sizeof(code))
		return false;
	const struct fw_regs *r = &w->regs;
	const uint32_t size = read_code(w, start, code, sizeof(code));
	if (!fw_x86_frame_at(code, size, (uint32_t)(w->frame.pc - start),
			     w->frame.lookup == w->frame.pc, wide, &s))
		return false;
	s.bp_known &= fw_regs_has(r, w->cpu->fp);
	if (!s.sp_known && !s.bp_known)
		return false;
	uint64_t by_sp = r->v[w->cpu->sp] + (uint64_t)s.sp, by_bp = r->v[w->cpu->fp] + (uint64_t)s.bp;
	if (s.sp_known && s.bp_known && ((by_sp ^ by_bp) & w->cpu->word_mask) != 0)
		return false;
	const uint64_t cfa = s.sp_known ? by_sp : by_bp;
	const bool entered = w->frame.pc == start && w->frame.lookup == start;
	if (!caller_at(w, cfa, entered, ret))
		return false;
	for (unsigned i = 0; i < (wide ? 16u : 8u); i++) {
		const uint8_t reg = dwarf_number(wide, i);
		if (i == SP || !(w->cpu->callee_saved >> reg & 1))
			continue;
		if (s.saved >> i & 1)
			restore(w, &ret->regs, reg, cfa + (uint64_t)(int64_t)s.at[i]);
		else if (s.changed >> i & 1)
			fw_regs_clear(&ret->regs, reg);
	}
	return true;
}

/** From an exact pc to the return, jumps followed and branches not taken. */
static bool by_return(struct fw_walker *w, bool wide, struct fw_caller *ret)
{
	const uint64_t word = w->cpu->word_size;
	uint64_t pc = w->frame.pc, restored_at[REGS];
	uint16_t restored = 0;
	// counted down from a CFA that is not known: sp is -moved
	struct fw_x86_frame s = { .sp_known = true, .sp = INT32_MAX / 2 };
	const int64_t top = s.sp, from_fp = (int64_t)(w->regs.v[w->cpu->sp] - w->regs.v[w->cpu->fp]);
	s.bp_known = fw_regs_has(&w->regs, w->cpu->fp) && from_fp > -top && from_fp < top;
	s.bp = s.bp_known ? s.sp + from_fp : 0;
	for (unsigned i = 0; i < MAX_FORWARD; i++) {
		uint8_t code[FORWARD_BYTES];
		struct fw_x86_insn in;
		if (!fw_x86_decode(code, read_code(w, pc, code, sizeof(code)), wide, &in))
			return false;
		const uint64_t at = w->frame.sp + (uint64_t)(top - s.sp);
		// a stub's or a tail call's jump through a table leaves as a return does
		const bool leaves = fw_x86_is(&in, 0xff) && (in.reg & 7) == 4 && in.mod != 3 &&
				    !in.has_base && !in.has_index;
		if (fw_x86_is(&in, 0xc3) || fw_x86_is(&in, 0xc2) || leaves) {
			if (!caller_at(w, at + word, true, ret))
				return false;
			if (fw_x86_is(&in, 0xc2))
				ret->regs.v[w->cpu->sp] += (uint16_t)in.immediate;
			break;
		}
		const enum fw_x86_flow flow = fw_x86_flow(&in);
		if (flow == FW_X86_CALL || flow == FW_X86_END)
			return false;
		if (flow == FW_X86_PLAIN) {
			const bool pops = in.map == 0 && !in.vex && (in.opcode & 0xf8) == 0x58;
			if ((in.map == 0 && !in.vex && (in.opcode & 0xf8) == 0x50) ||
			    !fw_x86_effect(&s, &in, wide) || !s.sp_known)
				return false;
			if (pops || fw_x86_is(&in, 0xc9)) {
				const unsigned reg = pops ? in.reg : BP;
				restored |= (uint16_t)(1u << reg);
				restored_at[reg] = w->frame.sp + (uint64_t)(top - s.sp) - word;
				if (restored_at[reg] < w->frame.sp)
					return false;	// what is not there yet
			}
		}
		pc += in.length + (flow == FW_X86_JUMP ? (uint64_t)in.immediate : 0);
		pc &= w->cpu->word_mask;
		if (i + 1 == MAX_FORWARD)
			return false;
	}
	for (unsigned i = 0; i < REGS; i++) {
		const uint8_t reg = dwarf_number(wide, i);
		if (i == SP || !(w->cpu->callee_saved >> reg & 1))
			continue;
		if (restored >> i & 1)
			restore(w, &ret->regs, reg, restored_at[i]);
		else if (s.changed >> i & 1)
			fw_regs_clear(&ret->regs, reg);
	}
	return true;
}

bool fw_x86_prologue(struct fw_walker *w, struct fw_caller *ret)
{
	const bool wide = w->cpu->word_size == 8;
	if (w->frame.module == FW_NO_MODULE &&
	    !fw_walk_is_made(w, fw_walk_locate(w, w->frame.lookup)))
		return false;
	return by_start(w, wide, ret) || (w->frame.lookup == w->frame.pc && by_return(w, wide, ret));
}
