#include "symfiles/elf_object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
	// Not 0, which in DWARF says that the function was thrown away.
	FIRST_ADDRESS = 0x10000,
	MAX_ALIGN = 1 << 20,
};

// ---- places ----

static bool is_named(const struct fw_elf_shdr *sh, const char *name)
{
	return sh->name.n == strlen(name) && memcmp(sh->name.s, name, sh->name.n) == 0;
}

static bool place(struct fw_elf *elf, struct fw_elf_shdr *sh, uint64_t *at)
{
	struct fw_elf_load l = { .executable = sh->flags & SHF_EXECINSTR,
				 .file_offset = sh->offset };
	uint64_t align = sh->align > MAX_ALIGN || (sh->align & (sh->align - 1)) ? 1 :
			 sh->align ? sh->align : 1;
	l.address = (*at + align - 1) & ~(align - 1);
	if (__builtin_add_overflow(l.address, sh->size, &l.end) || l.end > UINT32_MAX)
		return true;		// nothing of it has an address
	sh->address = l.address;
	*at = l.end;
	struct fw_bytes b;
	if (sh->type == SHT_NOBITS || sh->size == 0 ||
	    !fw_bytes_range(&elf->bytes, sh->offset, sh->size, &b))
		return true;
	return fw_vec_push(&elf->loads, l);
}

bool fw_elf_lay_out(struct fw_elf *elf)
{
	uint64_t at = FIRST_ADDRESS;
	elf->base = FIRST_ADDRESS;
	// .text first: its addresses are then those that other tools print for it
	for (unsigned pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < elf->sections.count; i++) {
			struct fw_elf_shdr *sh = &elf->sections.data[i];
			unsigned mine = is_named(sh, ".text") ? 0 : sh->flags & SHF_EXECINSTR ? 1 : 2;
			if (sh->flags & SHF_ALLOC && mine == pass && !place(elf, sh, &at))
				return false;
		}
	}
	return true;
}

// ---- relocations ----

enum operation {
	ABSOLUTE, RELATIVE,
	PREL31,			// of .ARM.exidx: bit 31 stays
	SET, ADD, SUB,		// RISC-V computes differences in steps
	SET_6, SUB_6, SET_ULEB, SUB_ULEB,
};

static const struct kind {
	uint16_t machine;
	uint16_t type;
	uint8_t operation, bytes;
} KINDS[] = {
	{ EM_X86_64, R_X86_64_64, ABSOLUTE, 8 }, { EM_X86_64, R_X86_64_32, ABSOLUTE, 4 },
	{ EM_X86_64, R_X86_64_32S, ABSOLUTE, 4 }, { EM_X86_64, R_X86_64_PC32, RELATIVE, 4 },
	{ EM_X86_64, R_X86_64_PLT32, RELATIVE, 4 }, { EM_X86_64, R_X86_64_PC64, RELATIVE, 8 },
	{ EM_386, R_386_32, ABSOLUTE, 4 }, { EM_386, R_386_PC32, RELATIVE, 4 },
	{ EM_ARM, R_ARM_ABS32, ABSOLUTE, 4 }, { EM_ARM, R_ARM_REL32, RELATIVE, 4 },
	{ EM_ARM, R_ARM_PREL31, PREL31, 4 },
	{ EM_AARCH64, R_AARCH64_ABS64, ABSOLUTE, 8 }, { EM_AARCH64, R_AARCH64_ABS32, ABSOLUTE, 4 },
	{ EM_AARCH64, R_AARCH64_PREL64, RELATIVE, 8 }, { EM_AARCH64, R_AARCH64_PREL32, RELATIVE, 4 },
	{ EM_RISCV, R_RISCV_64, ABSOLUTE, 8 }, { EM_RISCV, R_RISCV_32, ABSOLUTE, 4 },
	{ EM_RISCV, R_RISCV_32_PCREL, RELATIVE, 4 },
	{ EM_RISCV, R_RISCV_SET8, SET, 1 }, { EM_RISCV, R_RISCV_SET16, SET, 2 },
	{ EM_RISCV, R_RISCV_SET32, SET, 4 },
	{ EM_RISCV, R_RISCV_ADD8, ADD, 1 }, { EM_RISCV, R_RISCV_ADD16, ADD, 2 },
	{ EM_RISCV, R_RISCV_ADD32, ADD, 4 }, { EM_RISCV, R_RISCV_ADD64, ADD, 8 },
	{ EM_RISCV, R_RISCV_SUB8, SUB, 1 }, { EM_RISCV, R_RISCV_SUB16, SUB, 2 },
	{ EM_RISCV, R_RISCV_SUB32, SUB, 4 }, { EM_RISCV, R_RISCV_SUB64, SUB, 8 },
	{ EM_RISCV, R_RISCV_SET6, SET_6, 1 }, { EM_RISCV, R_RISCV_SUB6, SUB_6, 1 },
	{ EM_RISCV, 60, SET_ULEB, 0 }, { EM_RISCV, 61, SUB_ULEB, 0 },	// newer than some <elf.h>
	{ EM_PPC64, R_PPC64_ADDR64, ABSOLUTE, 8 }, { EM_PPC64, R_PPC64_ADDR32, ABSOLUTE, 4 },
	{ EM_PPC64, R_PPC64_REL64, RELATIVE, 8 }, { EM_PPC64, R_PPC64_REL32, RELATIVE, 4 },
	{ EM_S390, R_390_64, ABSOLUTE, 8 }, { EM_S390, R_390_32, ABSOLUTE, 4 },
	{ EM_S390, R_390_PC64, RELATIVE, 8 }, { EM_S390, R_390_PC32, RELATIVE, 4 },
	{ EM_MIPS, R_MIPS_64, ABSOLUTE, 8 }, { EM_MIPS, R_MIPS_32, ABSOLUTE, 4 },
	{ EM_MIPS, 248, RELATIVE, 4 },		// R_MIPS_PC32
};

static const struct kind *kind_of(uint16_t machine, uint32_t type)
{
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(*KINDS); i++)
		if (KINDS[i].machine == machine && KINDS[i].type == type)
			return &KINDS[i];
	return NULL;
}

/** The section that is relocated, in memory. */
struct target {
	const struct fw_elf *elf;
	uint8_t *data;
	uint64_t size, address;
};

static uint64_t get(const struct target *t, uint64_t at, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)	// in the file's order
		v = v << 8 | t->data[at + (fw_elf_big(t->elf) ? i : bytes - 1 - i)];
	return v;
}

static void put(const struct target *t, uint64_t at, unsigned bytes, uint64_t v)
{
	for (unsigned i = 0; i < bytes; i++, v >>= 8)
		t->data[at + (fw_elf_big(t->elf) ? bytes - 1 - i : i)] = (uint8_t)v;
}

/** RISC-V psABI: the value replaces the number, whose length stays. */
static void put_uleb(const struct target *t, uint64_t at, bool subtract, uint64_t v)
{
	uint64_t n = 0, old = 0;
	while (n < t->size - at && n < 9 && t->data[at + n] & 0x80)
		n++;
	if (n == t->size - at || t->data[at + n] & 0x80)
		return;
	for (uint64_t i = 0; i <= n; i++)
		old |= (uint64_t)(t->data[at + i] & 0x7f) << (7 * i);
	if (subtract)
		v = old - v;
	for (uint64_t i = 0; i <= n; i++, v >>= 7)
		t->data[at + i] = (uint8_t)((v & 0x7f) | (i < n ? 0x80 : 0));
}

static void apply(const struct target *t, const struct kind *k, uint64_t at, uint64_t value)
{
	if (at >= t->size || k->bytes > t->size - at)
		return;
	switch (k->operation) {
	case ABSOLUTE:
	case SET:
		put(t, at, k->bytes, value);
		break;
	case RELATIVE:
		put(t, at, k->bytes, value - (t->address + at));
		break;
	case PREL31:
		put(t, at, 4, ((value - (t->address + at)) & 0x7fffffff) |
			      (get(t, at, 4) & 0x80000000));
		break;
	case ADD:
		put(t, at, k->bytes, get(t, at, k->bytes) + value);
		break;
	case SUB:
		put(t, at, k->bytes, get(t, at, k->bytes) - value);
		break;
	case SET_6:
		t->data[at] = (uint8_t)((t->data[at] & 0xc0) | (value & 0x3f));
		break;
	case SUB_6:
		t->data[at] = (uint8_t)((t->data[at] & 0xc0) | ((t->data[at] - value) & 0x3f));
		break;
	default:
		put_uleb(t, at, k->operation == SUB_ULEB, value);
		break;
	}
}

/** What a REL entry adds is at its place. */
static uint64_t addend_there(const struct target *t, const struct kind *k, uint64_t at)
{
	if (at >= t->size || k->bytes > t->size - at || k->bytes < 4)
		return 0;
	uint64_t v = get(t, at, k->bytes);
	if (k->operation == PREL31)
		return (uint64_t)((int64_t)(v << 33) >> 33);
	return k->bytes == 4 ? (uint64_t)(int64_t)(int32_t)v : v;
}

struct entry {
	uint64_t at, addend;
	uint32_t symbol, type;
};

// gABI, "Relocation"; of MIPS64 the halves of r_info are a structure of their own.
static bool read_entry(const struct fw_elf *elf, const struct fw_bytes *b, uint64_t i, bool rela,
		       struct entry *ret)
{
	uint64_t info, words = rela ? 3 : 2, at = i * words * (elf->wide ? 8 : 4);
	uint32_t v[3] = { 0 };
	ret->addend = 0;
	if (!elf->wide) {
		for (unsigned k = 0; k < words; k++)
			if (!fw_bytes_u32(b, at + k * 4, &v[k]))
				return false;
		ret->at = v[0];
		ret->symbol = v[1] >> 8;
		ret->type = v[1] & 0xff;
		ret->addend = (uint64_t)(int64_t)(int32_t)v[2];
		return true;
	}
	if (!fw_bytes_u64(b, at, &ret->at) || !fw_bytes_u64(b, at + 8, &info) ||
	    (rela && !fw_bytes_u64(b, at + 16, &ret->addend)))
		return false;
	bool halves = elf->machine == EM_MIPS && !fw_elf_big(elf);
	ret->symbol = (uint32_t)(halves ? info : info >> 32);
	ret->type = (uint32_t)(halves ? info >> 56 : elf->machine == EM_MIPS ? info & 0xff : info);
	return true;
}

/** Value of a symbol in the layout. False: it is defined elsewhere. */
static bool value_of(const struct fw_elf *elf, const struct fw_bytes *symbols, uint32_t n,
		     uint64_t *ret)
{
	const uint64_t at = (uint64_t)n * (elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
	uint16_t section;
	uint32_t value = 0;
	if (!fw_bytes_u16(symbols, at + (elf->wide ? 6 : 14), &section) ||
	    !(elf->wide ? fw_bytes_u64(symbols, at + 8, ret) : fw_bytes_u32(symbols, at + 4, &value)))
		return false;
	if (!elf->wide)
		*ret = value;
	if (section == SHN_ABS)
		return true;
	if (section == SHN_UNDEF || section > elf->sections.count)
		return false;
	*ret += elf->sections.data[section - 1].address;
	return true;
}

static void relocate_by(struct fw_elf *elf, const struct fw_elf_shdr *relocations,
			const struct target *t)
{
	const bool rela = relocations->type == SHT_RELA;
	struct fw_bytes entries, symbols;
	const struct fw_elf_shdr *table;
	struct entry e;
	if (relocations->link == 0 || relocations->link > elf->sections.count)
		return;
	table = &elf->sections.data[relocations->link - 1];
	if (table->type != SHT_SYMTAB ||
	    !fw_bytes_range(&elf->bytes, table->offset, table->size, &symbols) ||
	    !fw_bytes_range(&elf->bytes, relocations->offset, relocations->size, &entries))
		return;
	for (uint64_t i = 0; elf->relocations_left > 0 && read_entry(elf, &entries, i, rela, &e);
	     i++, elf->relocations_left--) {
		const struct kind *k = kind_of(elf->machine, e.type);
		uint64_t value;
		if (k == NULL || !value_of(elf, &symbols, e.symbol, &value))
			continue;
		if (!rela)
			e.addend = addend_there(t, k, e.at);
		apply(t, k, e.at, value + e.addend);
	}
}

bool fw_elf_relocate(struct fw_elf *elf, size_t i, uint8_t *data, uint64_t size)
{
	const struct target t = { elf, data, size, elf->sections.data[i].address };
	for (size_t k = 0; k < elf->sections.count; k++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[k];
		if ((sh->type == SHT_RELA || sh->type == SHT_REL) && sh->info == i + 1)
			relocate_by(elf, sh, &t);
	}
	return elf->relocations_left > 0;
}

static bool is_described(const struct fw_elf_shdr *sh)
{
	return !(sh->flags & SHF_ALLOC) || is_named(sh, ".eh_frame") ||
	       is_named(sh, ".ARM.exidx");
}

static bool has_relocations(const struct fw_elf *elf)
{
	for (size_t i = 0; i < elf->sections.count; i++)
		if (elf->sections.data[i].type == SHT_RELA || elf->sections.data[i].type == SHT_REL)
			return true;
	return false;
}

enum fw_code fw_elf_relocate_all(struct fw_elf *elf, struct fw_error *err)
{
	struct fw_pages copy = { 0 };
	const uint64_t size = elf->file.size;
	elf->relocations_left = FW_MAX_RELOCATIONS;
	if (!has_relocations(elf))
		return FW_OK;
	if (!fw_pages_reserve(&copy, size))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	memcpy(copy.data, elf->file.data, size);
	copy.size = size;
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		struct fw_bytes b;
		size_t target = sh->info - (size_t)1;
		if ((sh->type != SHT_RELA && sh->type != SHT_REL) || sh->info == 0 ||
		    sh->info > elf->sections.count)
			continue;
		const struct fw_elf_shdr *to = &elf->sections.data[target];
		if (!is_described(to) || to->flags & SHF_COMPRESSED || to->type == SHT_NOBITS ||
		    !fw_bytes_range(&elf->bytes, to->offset, to->size, &b))
			continue;
		const struct target t = { elf, copy.data + to->offset, to->size, to->address };
		relocate_by(elf, sh, &t);
	}
	fw_elf_take_pages(elf, &copy);
	if (elf->relocations_left == 0)
		return fw_fail(err, FW_LIMIT, NULL, "more than %u relocations", FW_MAX_RELOCATIONS);
	return FW_OK;
}
