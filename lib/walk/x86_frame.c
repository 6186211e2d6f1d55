#include "lib/walk/x86_frame.h"

enum {
	SP = 4, BP = 5, REGS = FW_X86_REGS,
	MAX_TARGETS = 128,	// of jumps in one function
	MAX_PASSES = 4,		// over it, for jumps backward
};

struct target { uint32_t offset; struct fw_x86_frame frame; };

struct function {
	const uint8_t *code;
	uint32_t size, wanted;
	bool exact, wide;
	struct target targets[MAX_TARGETS];
	uint32_t num_targets;
	bool grown;		// a target is new in this pass
};

static int64_t word_of(bool wide)
{
	return wide ? 8 : 4;
}

bool fw_x86_is(const struct fw_x86_insn *in, uint8_t opcode)
{
	return in->map == 0 && !in->vex && in->opcode == opcode;
}

/** The general register that an instruction of no other interest writes; REGS: none. */
static unsigned written(const struct fw_x86_insn *in)
{
	const uint8_t op = in->opcode;
	if (in->vex || in->map > 1)
		return REGS;
	if (in->map == 1)
		return (op & 0xf0) == 0x40 || op == 0xaf || op == 0xb6 || op == 0xb7 || op == 0xb8 ||
		       (op >= 0xbc && op <= 0xbf) ? in->reg :
		       (op & 0xf8) == 0xc8 ? in->reg : REGS;
	const bool arithmetic = op < 0x40, compare = op >= 0x38 && op < 0x40;
	if ((arithmetic && !compare && (op & 7) == 3) || op == 0x63 || op == 0x69 || op == 0x6b ||
	    op == 0x8b || op == 0x8d)
		return in->reg;
	if (op >= 0xb8 && op <= 0xbf)
		return in->reg;
	if (op == 0x87 && in->reg == SP)
		return SP;
	if (!in->has_modrm || in->mod != 3)
		return REGS;
	if ((arithmetic && !compare && (op & 7) == 1) || op == 0x87 || op == 0x89 || op == 0xc1 ||
	    op == 0xc7 || op == 0xd1 || op == 0xd3 ||
	    ((op == 0x81 || op == 0x83) && (in->reg & 7) != 7) ||
	    (op == 0xf7 && (in->reg & 7) >= 2 && (in->reg & 7) <= 3) ||
	    (op == 0xff && (in->reg & 7) < 2))
		return in->rm;
	return REGS;
}

static void push(struct fw_x86_frame *s, bool wide, unsigned reg)
{
	s->sp += word_of(wide);
	// the first push of what still is the caller's saves it
	if (reg < REGS && s->sp_known && !((s->saved | s->changed) >> reg & 1)) {
		s->saved |= (uint16_t)(1u << reg);
		s->at[reg] = (int32_t)-s->sp;
	}
}

static bool pop(struct fw_x86_frame *s, bool wide, unsigned reg)
{
	const uint16_t bit = (uint16_t)(1u << reg);
	if (reg == SP)
		return false;
	if (s->saved & bit && s->at[reg] == -s->sp) {
		s->saved &= (uint16_t)~bit;
		s->changed &= (uint16_t)~bit;
	} else {
		s->changed |= bit;
	}
	s->bp_known &= reg != BP;
	s->sp -= word_of(wide);
	return true;
}

/** An instruction that sets sp or bp. *ret_taken: it does. False: not followed. */
static bool moves(struct fw_x86_frame *s, const struct fw_x86_insn *in, bool *ret_taken)
{
	const bool both = in->has_modrm && in->mod == 3;
	const unsigned from = in->opcode == 0x89 ? in->reg : in->rm;
	const unsigned to = in->opcode == 0x89 ? in->rm : in->reg;
	*ret_taken = true;
	if ((fw_x86_is(in, 0x81) || fw_x86_is(in, 0x83)) && both && in->rm == SP && in->word) {
		switch (in->reg & 7) {
		case 0: s->sp -= in->immediate; return true;
		case 5: s->sp += in->immediate; return true;
		case 4: s->sp_known = false; return true;	// realigned
		case 7: return true;
		default: return false;
		}
	}
	if ((fw_x86_is(in, 0x89) || fw_x86_is(in, 0x8b)) && both && to == BP && from == SP) {
		s->bp = s->sp;
		s->bp_known = s->sp_known;
		s->changed |= 1u << BP;
		return true;
	}
	if (((fw_x86_is(in, 0x89) || fw_x86_is(in, 0x8b)) && both && to == SP && from == BP) ||
	    (fw_x86_is(in, 0x8d) && in->reg == SP && in->has_base && !in->has_index && in->rm == BP)) {
		s->sp = s->bp - in->displacement;
		s->sp_known = s->bp_known;
		return s->bp_known;
	}
	if (fw_x86_is(in, 0x8d) && in->has_base && !in->has_index && in->rm == SP &&
	    (in->reg == SP || in->reg == BP)) {
		int64_t offset = s->sp - in->displacement;
		if (in->reg == SP) {
			s->sp = offset;
		} else {
			s->bp = offset;
			s->bp_known = s->sp_known;
			s->changed |= 1u << BP;
		}
		return true;
	}
	if ((fw_x86_is(in, 0x29) && both && in->rm == SP) || (fw_x86_is(in, 0x2b) && in->reg == SP)) {
		s->sp_known = false;	// alloca
		return true;
	}
	*ret_taken = false;
	return true;
}

/** What an instruction that does not jump does. False: not followed. */
bool fw_x86_effect(struct fw_x86_frame *s, const struct fw_x86_insn *in, bool wide)
{
	const bool high = in->map == 0 && !in->vex;
	const uint8_t op = in->opcode;
	bool taken;
	if (high && (op & 0xf0) == 0x50) {
		if (!in->word)
			return false;
		if (op < 0x58)
			push(s, wide, in->reg);
		else if (!pop(s, wide, in->reg))
			return false;
	} else if (fw_x86_is(in, 0x68) || fw_x86_is(in, 0x6a) || fw_x86_is(in, 0x9c) ||
		   (fw_x86_is(in, 0xff) && (in->reg & 7) == 6)) {
		push(s, wide, REGS);
	} else if (fw_x86_is(in, 0x9d)) {
		s->sp -= word_of(wide);
	} else if (fw_x86_is(in, 0xc9)) {
		s->sp = s->bp;
		s->sp_known = s->bp_known;
		if (!s->bp_known || !pop(s, wide, BP))
			return false;
	} else if (!moves(s, in, &taken)) {
		return false;
	} else if (!taken) {
		unsigned reg = written(in);
		if (reg == SP)
			return false;
		if (reg < REGS)
			s->changed |= (uint16_t)(1u << reg);
		s->bp_known &= reg != BP;
	}
	return !s->sp_known || (s->sp >= word_of(wide) && s->sp < INT32_MAX);
}

static struct target *find_target(struct function *f, uint32_t offset)
{
	for (uint32_t i = 0; i < f->num_targets; i++)
		if (f->targets[i].offset == offset)
			return &f->targets[i];
	return NULL;
}

static void add_target(struct function *f, int64_t offset, const struct fw_x86_frame *s)
{
	if (offset < 0 || offset >= f->size || f->num_targets == MAX_TARGETS ||
	    find_target(f, (uint32_t)offset) != NULL)
		return;
	f->targets[f->num_targets++] = (struct target){ (uint32_t)offset, *s };
	f->grown = true;
}

static bool same_stack(const struct fw_x86_frame *a, const struct fw_x86_frame *b)
{
	return a->sp_known == b->sp_known && a->bp_known == b->bp_known &&
	       (!a->sp_known || a->sp == b->sp) && (!a->bp_known || a->bp == b->bp);
}

/** Take the ways that meet here into account. False: they disagree. */
static bool meet(struct fw_x86_frame *s, bool *alive, bool after_call, const struct target *t)
{
	// a call that never returns has nothing to say of what follows it
	if (!*alive || (after_call && !same_stack(s, &t->frame))) {
		*s = t->frame;
		*alive = true;
		return true;
	}
	if (!same_stack(s, &t->frame))
		return false;
	s->saved &= t->frame.saved;
	s->changed |= t->frame.changed;
	return true;
}

enum fw_x86_flow fw_x86_flow(const struct fw_x86_insn *in)
{
	const unsigned sub = in->reg & 7u;
	if (in->vex || in->map > 1)
		return FW_X86_PLAIN;
	if (in->map == 1)
		return (in->opcode & 0xf0) == 0x80 ? FW_X86_BRANCH : in->opcode == 0x0b ? FW_X86_END : FW_X86_PLAIN;
	switch (in->opcode) {
	case 0xe8:
		return FW_X86_CALL;
	case 0xe9: case 0xeb:
		return FW_X86_JUMP;
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:
		return FW_X86_BRANCH;
	case 0xc2: case 0xc3: case 0xf4:
		return FW_X86_END;
	case 0xff:
		return sub == 2 ? FW_X86_CALL : sub == 4 ? FW_X86_END : FW_X86_PLAIN;
	default:
		return (in->opcode & 0xf0) == 0x70 ? FW_X86_BRANCH : FW_X86_PLAIN;
	}
}

/** One pass from the start. True: *ret is the state at the wanted place. */
static bool pass(struct function *f, struct fw_x86_frame *ret, bool *ret_wrong)
{
	struct fw_x86_frame s = { .sp_known = true, .sp = word_of(f->wide) };
	bool alive = true, after_call = false;
	struct fw_x86_insn in;
	for (uint32_t at = 0; at < f->size; at += in.length) {
		const struct target *t = find_target(f, at);
		if (t != NULL && !meet(&s, &alive, after_call, t)) {
			*ret_wrong = true;
			return false;
		}
		if (!fw_x86_decode(f->code + at, f->size - at, f->wide, &in))
			return false;
		const uint32_t next = at + in.length;
		const enum fw_x86_flow flow = fw_x86_flow(&in);
		if (alive && (f->exact ? at == f->wanted : next == f->wanted && flow == FW_X86_CALL)) {
			*ret = s;
			return true;
		}
		after_call = flow == FW_X86_CALL;
		if (!alive)
			continue;
		if (flow == FW_X86_BRANCH || flow == FW_X86_JUMP)
			add_target(f, (int64_t)next + in.immediate, &s);
		// call to the next instruction: the address of itself, to be popped
		if (fw_x86_is(&in, 0xe8) && in.immediate == 0)
			push(&s, f->wide, REGS);
		else if (flow == FW_X86_PLAIN)
			alive = fw_x86_effect(&s, &in, f->wide);
		alive &= flow != FW_X86_JUMP && flow != FW_X86_END;
	}
	return false;
}

bool fw_x86_frame_at(const uint8_t *code, uint32_t size, uint32_t wanted, bool exact, bool wide,
		     struct fw_x86_frame *ret)
{
	struct function f;	// `targets` are filled before they are read
	bool wrong = false;
	f.code = code;
	f.size = size;
	f.wanted = wanted;
	f.exact = exact;
	f.wide = wide;
	f.num_targets = 0;
	for (unsigned i = 0; i < MAX_PASSES; i++) {
		f.grown = false;
		if (pass(&f, ret, &wrong))
			return ret->sp_known || ret->bp_known;
		if (!f.grown || wrong)
			return false;
	}
	return false;
}
