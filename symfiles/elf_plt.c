#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/elf_symtab.h"

/*
 * A stub jumps through a slot of the GOT, and the dynamic relocation of that slot
 * names the symbol. Following the slot gives right names for every layout of the
 * table (lazy, IBT's second table, -z now, BTI), where counting entries does not.
 */
struct slot {
	uint64_t address;
	uint32_t symbol;
};

struct plt {
	struct fw_elf *elf;
	struct fw_elf_symtab dynsym;
	FW_VEC(struct slot) slots;		// sorted by address
	FW_VEC(struct slot) lazy;		// of .rela.plt, by number
	uint64_t got;				// x86: what %ebx holds
	fw_elf_plt_fn fn;
	void *context;
};

static bool read_relocations(struct plt *p, size_t section)
{
	const struct fw_elf_shdr *sh = &p->elf->sections.data[section];
	const bool wide = p->elf->wide, is_plt = sh->name.n >= 4 &&
		memcmp(sh->name.s + sh->name.n - 4, ".plt", 4) == 0;
	const uint64_t step = (sh->type == SHT_RELA ? 3 : 2) * (wide ? 8 : 4);
	struct fw_bytes b;
	if (!fw_elf_section_bytes(p->elf, section, &b))
		return true;
	for (uint64_t at = 0; fw_bytes_has(&b, at, step); at += step) {
		uint64_t address = 0, info = 0;
		uint32_t address32 = 0, info32 = 0;
		struct slot s;
		bool ok = wide ? fw_bytes_u64(&b, at, &address) && fw_bytes_u64(&b, at + 8, &info)
			       : fw_bytes_u32(&b, at, &address32) &&
				 fw_bytes_u32(&b, at + 4, &info32);
		s.address = wide ? address : address32;
		s.symbol = wide ? (uint32_t)(info >> 32) : info32 >> 8;
		if (!ok || (is_plt && !fw_vec_push(&p->lazy, s)) ||
		    (s.symbol != 0 && !fw_vec_push(&p->slots, s)))
			return false;
	}
	return true;
}

static int by_address(const void *pa, const void *pb)
{
	const struct slot *a = pa, *b = pb;
	return a->address < b->address ? -1 : a->address > b->address;
}

static bool emit(struct plt *p, uint64_t address, uint64_t size, uint32_t symbol)
{
	struct fw_elf_sym s;
	struct fw_str name = { "", 0 };
	if (symbol != 0 && fw_elf_sym(&p->dynsym, symbol, &s))
		name = fw_elf_sym_name(&p->dynsym, s.name);
	return name.n == 0 || p->fn(p->context, address, size, name);
}

static bool emit_slot(struct plt *p, uint64_t address, uint64_t size, uint64_t slot)
{
	struct slot key = { .address = slot };
	const struct slot *s = p->slots.count == 0 ? NULL :
		bsearch(&key, p->slots.data, p->slots.count, sizeof(key), by_address);
	return s == NULL || emit(p, address, size, s->symbol);
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

// Stubs of x86 and amd64, 8 or 16 bytes: [endbr] [bnd] jmp *slot, or [endbr] push n.
static bool x86_stub(struct plt *p, const uint8_t *code, uint64_t size, uint64_t address)
{
	uint64_t at = 0, slot;
	if (size >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e)
		at = 4;
	if (at + 5 <= size && code[at] == 0x68) {
		uint32_t n = le32(code + at + 1);
		if (!p->elf->wide)
			n /= sizeof(Elf32_Rel);		// there it is an offset
		return n >= p->lazy.count || emit(p, address, size, p->lazy.data[n].symbol);
	}
	if (at < size && code[at] == 0xf2)
		at++;
	if (at + 6 > size || code[at] != 0xff)
		return true;
	uint32_t disp = le32(code + at + 2);
	if (code[at + 1] == 0x25)
		slot = p->elf->wide ? address + at + 6 + (uint64_t)(int64_t)(int32_t)disp : disp;
	else if (code[at + 1] == 0xa3 && !p->elf->wide)
		slot = (uint32_t)(p->got + disp);
	else
		return true;
	return emit_slot(p, address, size, slot);
}

// adrp x16, page; ldr x17, [x16, #offset]; add; br x17, after `bti c` or not.
static bool arm64_stubs(struct plt *p, const struct fw_bytes *b, uint64_t address)
{
	for (uint64_t at = 0; at + 16 <= b->size; at += 4) {
		uint32_t adrp = le32(b->data + at), ldr = le32(b->data + at + 4);
		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
		if (pages & 0x100000)
			pages |= ~UINT64_C(0x1fffff);
		uint64_t slot = ((address + at) & ~UINT64_C(0xfff)) + (pages << 12) +
				(ldr >> 10 & 0xfff) * 8;
		bool bti = at >= 4 && le32(b->data + at - 4) == 0xd503245f;
		if (!emit_slot(p, address + at - (bti ? 4 : 0), bti ? 20 : 16, slot))
			return false;
		at += 12;
	}
	return true;
}

static uint32_t arm_immediate(uint32_t instruction)
{
	uint32_t value = instruction & 0xff, turn = (instruction >> 8 & 0xf) * 2;
	return turn == 0 ? value : value >> turn | value << (32 - turn);
}

// add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!, after `bx pc; nop` or not.
static bool arm_stubs(struct plt *p, const struct fw_bytes *b, uint64_t address)
{
	for (uint64_t at = 0; at + 12 <= b->size; at += 4) {
		uint32_t first = le32(b->data + at), second = le32(b->data + at + 4),
			 third = le32(b->data + at + 8);
		if ((first & 0xfffff000) != 0xe28fc000 || (second & 0xfffff000) != 0xe28cc000 ||
		    (third & 0xfffff000) != 0xe5bcf000)
			continue;
		uint32_t slot = (uint32_t)(address + at + 8) + arm_immediate(first) +
				arm_immediate(second) + (third & 0xfff);
		bool thumb = at >= 4 && le32(b->data + at - 4) == 0x46c04778;
		if (!emit_slot(p, address + at - (thumb ? 4 : 0), thumb ? 16 : 12, slot))
			return false;
		at += 8;
	}
	return true;
}

static bool read_table(struct plt *p, const struct fw_elf_shdr *sh, size_t section)
{
	struct fw_bytes b;
	if (!(sh->flags & SHF_EXECINSTR) || !fw_elf_section_bytes(p->elf, section, &b))
		return true;
	if (p->elf->machine == EM_AARCH64)
		return arm64_stubs(p, &b, sh->address);
	if (p->elf->machine == EM_ARM)
		return arm_stubs(p, &b, sh->address);
	// .plt.got without IBT has stubs of 8 bytes; linkers state it, some as 8 for 16
	uint64_t step = sh->entry_size == 8 && !(b.size > 0 && b.data[0] == 0xf3) ? 8 : 16;
	for (uint64_t at = 0; at + step <= b.size; at += step) {
		if (!x86_stub(p, b.data + at, step, sh->address + at))
			return false;
	}
	return true;
}

static bool is_plt(struct fw_str name)
{
	return name.n >= 4 && memcmp(name.s, ".plt", 4) == 0 && (name.n == 4 || name.s[4] == '.');
}

bool fw_elf_plt(struct fw_elf *elf, fw_elf_plt_fn fn, void *context)
{
	struct plt p = { .elf = elf, .fn = fn, .context = context };
	bool ok = true, got_plt = false;
	if ((elf->machine != EM_386 && elf->machine != EM_X86_64 && elf->machine != EM_ARM &&
	     elf->machine != EM_AARCH64) || !fw_elf_symtab(elf, SHT_DYNSYM, &p.dynsym))
		return true;
	for (size_t i = 0; i < elf->sections.count && ok; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		if ((sh->type == SHT_RELA || sh->type == SHT_REL) && (sh->flags & SHF_ALLOC))
			ok = read_relocations(&p, i);
		bool is_got_plt = sh->name.n == 8 && memcmp(sh->name.s, ".got.plt", 8) == 0;
		if (is_got_plt || (!got_plt && sh->name.n == 4 &&
				   memcmp(sh->name.s, ".got", 4) == 0))
			p.got = sh->address;
		got_plt |= is_got_plt;
	}
	if (p.slots.count > 1)
		qsort(p.slots.data, p.slots.count, sizeof(*p.slots.data), by_address);
	for (size_t i = 0; i < elf->sections.count && ok; i++) {
		if (is_plt(elf->sections.data[i].name))
			ok = read_table(&p, &elf->sections.data[i], i);
	}
	fw_vec_deinit(&p.slots);
	fw_vec_deinit(&p.lazy);
	return ok;
}
