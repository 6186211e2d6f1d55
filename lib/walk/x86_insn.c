#include "lib/walk/x86_insn.h"

enum {	// what follows an opcode
	NONE = 0, MODRM = 1, IMM8 = 2, IMMZ = 4, IMM16 = 8,	// Z: 4 bytes, 2 with the 66 prefix
	BAD = 0x80,	// privileged, obsolete, far, or of one mode only: never in a frame's code
	GROUP3 = 0x10,	// immediate only for TEST
	IMMV = 0x20,	// Z, or 8 bytes with REX.W
	OFFSET = 0x40,	// an address without ModRM
};
#define M8 (MODRM | IMM8)
#define MZ (MODRM | IMMZ)
#define ALU MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ
#define X4(x) x, x, x, x
#define X8(x) X4(x), X4(x)
#define X16(x) X8(x), X8(x)

// Prefixes, REX, VEX and EVEX are taken before this is asked.
static const uint8_t one_byte[256] = {
	ALU, BAD, BAD, ALU, BAD, BAD, ALU, BAD, BAD, ALU, BAD, BAD,
	ALU, BAD, BAD, ALU, BAD, BAD, ALU, BAD, BAD, ALU, BAD, BAD,
	X16(NONE), X16(NONE),					// 40: inc, dec; 50: push, pop
	BAD, BAD, BAD, MODRM, BAD, BAD, BAD, BAD, IMMZ, MZ, IMM8, M8, X4(NONE),
	X16(IMM8),						// 70: jcc
	M8, MZ, BAD, M8, X8(MODRM), MODRM, MODRM, MODRM, BAD,	// 8f: POP, XOP
	X8(NONE), NONE, NONE, BAD, NONE, X4(NONE),		// 90
	X4(OFFSET), X4(NONE), IMM8, IMMZ, NONE, NONE, X4(NONE),
	X8(IMM8), X8(IMMV),					// b0: mov
	M8, M8, IMM16, NONE, BAD, BAD, M8, MZ, BAD, NONE, BAD, BAD, NONE, IMM8, BAD, BAD,
	X4(MODRM), BAD, BAD, BAD, NONE, X8(MODRM),
	X4(IMM8), X4(IMM8), IMMZ, IMMZ, BAD, IMM8, X4(NONE),	// e0
	BAD, BAD, BAD, BAD, NONE, NONE, MODRM | GROUP3 | IMM8, MODRM | GROUP3 | IMMZ,
	X4(NONE), NONE, NONE, MODRM, MODRM,
};

static const uint8_t two_bytes[256] = {
	BAD, BAD, MODRM, MODRM, BAD, NONE, BAD, BAD, BAD, NONE, BAD, NONE, BAD, MODRM, NONE, M8,
	X16(MODRM),
	X4(MODRM), X4(BAD), X8(MODRM),				// 20
	NONE, NONE, NONE, NONE, BAD, BAD, BAD, NONE, X8(BAD),	// 30: rdtsc ...
	X16(MODRM), X16(MODRM), X16(MODRM),
	X4(M8), MODRM, MODRM, MODRM, NONE, X8(MODRM),		// 70
	X16(IMMZ), X16(MODRM),					// 80: jcc; 90: setcc
	BAD, BAD, NONE, MODRM, M8, MODRM, BAD, BAD, BAD, BAD, BAD, MODRM, M8, MODRM, MODRM, MODRM,
	X8(MODRM), MODRM, MODRM, M8, MODRM, X4(MODRM),
	MODRM, MODRM, M8, MODRM, M8, M8, M8, MODRM, X8(NONE),	// c0; c8: bswap
	X16(MODRM), X16(MODRM), X16(MODRM),
};

struct reader { const uint8_t *p, *end; bool short_; };

static uint8_t byte(struct reader *r)
{
	if (r->p == r->end) {
		r->short_ = true;
		return 0;
	}
	return *r->p++;
}

static int64_t number(struct reader *r, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)byte(r) << (i * 8);
	const unsigned unused = bytes ? 64 - bytes * 8 : 0;
	return (int64_t)(v << unused) >> unused;
}

static void modrm(struct reader *r, uint8_t rex, struct fw_x86_insn *ret)
{
	const uint8_t m = byte(r);
	ret->has_modrm = true;
	ret->mod = m >> 6;
	ret->reg = (uint8_t)((m >> 3 & 7) | (rex & 4) << 1);
	ret->rm = (uint8_t)((m & 7) | (rex & 1) << 3);
	if (ret->mod == 3)
		return;
	ret->has_base = true;
	bool wide_displacement = ret->mod == 2;
	if ((m & 7) == 4) {
		const uint8_t sib = byte(r);
		ret->has_index = (sib & 0x38) != 0x20 || rex & 2;
		ret->rm = (uint8_t)((sib & 7) | (rex & 1) << 3);
		ret->has_base = (sib & 7) != 5 || ret->mod != 0;
		wide_displacement |= !ret->has_base;
	} else if ((m & 7) == 5 && ret->mod == 0) {
		ret->has_base = false;
		wide_displacement = true;
	}
	ret->displacement = (int32_t)number(r, wide_displacement ? 4 : ret->mod == 1 ? 1 : 0);
}

/** VEX and EVEX (SDM 2.3, 2.7): the opcode's map, and REX's bits inverted. */
static bool vector_prefix(struct reader *r, uint8_t first, uint8_t *rex, struct fw_x86_insn *ret)
{
	const uint8_t a = byte(r);
	*rex = (uint8_t)(~a >> 5 & 7);
	ret->map = 1;
	ret->vex = true;
	if (first == 0xc5) {
		*rex &= 4;
	} else {
		ret->map = a & (first == 0x62 ? 7 : 31);
		number(r, first == 0x62 ? 2 : 1);
	}
	ret->opcode = byte(r);
	return ret->map >= 1 && ret->map <= 3;
}

static bool opcode(struct reader *r, bool wide, uint8_t *rex, bool *small, struct fw_x86_insn *ret)
{
	uint8_t b = byte(r);
	for (unsigned i = 0; i < 8; i++, b = byte(r)) {
		if (b == 0x66)
			*small = true;
		else if (b != 0xf2 && b != 0xf3 && b != 0x2e && b != 0x36 && b != 0x3e &&
			 b != 0x26 && b != 0x64 && b != 0x65 && b != 0xf0 && (b != 0x67 || !wide))
			break;
	}
	if (wide && (b & 0xf0) == 0x40) {
		*rex = b;
		b = byte(r);
		if ((b & 0xf0) == 0x40)
			return false;
	}
	// in 32-bit code LES, LDS and BOUND, unless their ModRM had no memory operand
	if ((b == 0xc4 || b == 0xc5 || b == 0x62) && *rex == 0 && r->p < r->end &&
	    (wide || *r->p >> 6 == 3))
		return vector_prefix(r, b, rex, ret);
	if (b == 0x0f) {
		ret->map = 1;
		b = byte(r);
		if (b == 0x38 || b == 0x3a) {
			ret->map = b == 0x38 ? 2 : 3;
			b = byte(r);
		}
	}
	ret->opcode = b;
	return true;
}

bool fw_x86_decode(const uint8_t *p, size_t n, bool wide, struct fw_x86_insn *ret)
{
	struct reader r = { p, p + (n < 15 ? n : 15), false };	// no instruction is longer
	struct fw_x86_insn in = { 0 };
	uint8_t rex = 0;
	bool small = false;
	if (!opcode(&r, wide, &rex, &small, &in))
		return false;
	const uint8_t what = in.map == 0 ? one_byte[in.opcode] : in.map == 1 ? two_bytes[in.opcode] :
			     in.map == 2 ? MODRM : M8;
	if (what & BAD)
		return false;
	if (what & MODRM)
		modrm(&r, rex, &in);
	const unsigned z = small && !(rex & 8) ? 2 : 4;
	unsigned immediate = 0;
	if (!(what & GROUP3) || (in.reg & 7) < 2)
		immediate = what & IMM8 ? 1 : what & IMMZ ? z : what & IMM16 ? 2 :
			    what & IMMV ? (rex & 8 ? 8 : z) : what & OFFSET ? (wide ? 8 : 4) : 0;
	in.immediate = number(&r, immediate);
	in.word = wide ? rex & 8 : !small;
	// push and pop are of the stack's width without REX.W; 16 bits are never used
	if (in.map == 0 && ((in.opcode & 0xf0) == 0x50 || in.opcode == 0x68 || in.opcode == 0x6a ||
			    in.opcode == 0xc9 || in.opcode == 0xff))
		in.word = !small;
	// registers in the opcode: push, pop, mov, bswap
	if (!in.vex && ((in.map == 0 && ((in.opcode & 0xf0) == 0x50 || (in.opcode & 0xf0) == 0xb0)) ||
			(in.map == 1 && (in.opcode & 0xf8) == 0xc8)))
		in.reg = (uint8_t)((in.opcode & 7) | (rex & 1) << 3);
	in.length = (uint8_t)(r.p - p);
	*ret = in;
	return !r.short_;
}
