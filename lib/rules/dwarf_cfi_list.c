#include <stdlib.h>
#include <string.h>

#include "lib/base/limits.h"
#include "lib/rules/dwarf_internal.h"

enum {	// LSB Core, "DWARF Exception Header Encoding"
	PE_ABSPTR = 0x00, PE_ULEB = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04,
	PE_SIGNED = 0x08, PE_SLEB = 0x09, PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10, PE_TEXTREL = 0x20, PE_DATAREL = 0x30, PE_ALIGNED = 0x50,
	PE_INDIRECT = 0x80, PE_OMIT = 0xff,
	PE_FORMAT = 0x0f, PE_BASE = 0x70,
};

enum {
	LEB_BYTES = 16,		// of a number; 10 hold 64 bits, assemblers may pad
	AUGMENTATION = 16,	// letters of an augmentation; five are known
};

uint64_t fw_cursor_uleb_slow_(struct fw_cursor *c)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < LEB_BYTES && c->p != c->end; i++) {
		uint8_t byte = *c->p++;
		if (i < 10)
			v |= (uint64_t)(byte & 0x7f) << (i * 7);
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

int64_t fw_cursor_sleb_(struct fw_cursor *c)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < LEB_BYTES && c->p != c->end; i++) {
		uint8_t byte = *c->p++;
		if (i < 10)
			v |= (uint64_t)(byte & 0x7f) << (i * 7);
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && i < 9)
			v |= UINT64_MAX << (i * 7 + 7);
		return (int64_t)v;
	}
	c->bad = true;
	return 0;
}

static uint64_t address_mask(uint8_t address_size)
{
	return address_size == 4 ? UINT32_MAX : UINT64_MAX;
}

static bool pointer_value(struct fw_cursor *c, uint8_t encoding, uint8_t address_size,
			  uint64_t *ret)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_SIGNED:
		*ret = fw_cursor_word_(c, address_size);
		break;
	case PE_ULEB:
		*ret = fw_cursor_uleb(c);
		break;
	case PE_SLEB:
		*ret = (uint64_t)fw_cursor_sleb_(c);
		break;
	case PE_UDATA2:
		*ret = fw_cursor_word_(c, 2);
		break;
	case PE_SDATA2:
		*ret = (uint64_t)(int64_t)(int16_t)fw_cursor_word_(c, 2);
		break;
	case PE_UDATA4:
		*ret = fw_cursor_word_(c, 4);
		break;
	case PE_SDATA4:
		*ret = (uint64_t)(int64_t)(int32_t)fw_cursor_word_(c, 4);
		break;
	case PE_UDATA8:
	case PE_SDATA8:
		*ret = fw_cursor_word_(c, 8);
		break;
	default:
		return false;
	}
	return !c->bad;
}

bool fw_dwarf_pointer_(const struct fw_dwarf_cfi *cfi, struct fw_cursor *c, uint8_t encoding,
		       uint8_t address_size, uint64_t *ret)
{
	uint64_t base = 0, at = cfi->address + (uint64_t)(c->p - cfi->bytes.data), value;
	if (encoding & PE_INDIRECT)
		return false;
	switch (encoding & PE_BASE) {
	case 0:
		break;
	case PE_PCREL:
		base = at;
		break;
	case PE_TEXTREL:
		base = cfi->text_address;
		break;
	case PE_DATAREL:
		base = cfi->data_address;
		break;
	case PE_ALIGNED:
		fw_cursor_skip(c, -at & (address_size - 1u));
		break;
	default:
		return false;
	}
	if (!pointer_value(c, encoding, address_size, &value))
		return false;
	*ret = (base + value) & address_mask(address_size);
	return true;
}

// The frame of an entry: DWARF 5, 6.4.1, and LSB Core, "Exception Frames".
struct entry {
	uint64_t end;		// offset of the next
	uint64_t id_at;		// offset of the CIE id or pointer
	uint64_t body;		// offset of what follows it
	uint64_t cie;		// offset of the FDE's CIE
	bool empty, is_cie;
};

static bool read_entry(const struct fw_dwarf_cfi *cfi, uint64_t at, struct entry *e)
{
	uint32_t length32, id32;
	uint64_t length, id;
	bool wide;
	*e = (struct entry){ .empty = false };
	if (!fw_bytes_u32(&cfi->bytes, at, &length32))
		return false;
	length = length32;
	e->id_at = at + 4;
	wide = length32 == UINT32_MAX;
	if (wide) {
		if (!fw_bytes_u64(&cfi->bytes, at + 4, &length))
			return false;
		e->id_at = at + 12;
	}
	if (!fw_bytes_has(&cfi->bytes, e->id_at, length))
		return false;
	e->end = e->id_at + length;
	e->empty = length == 0;
	if (e->empty)
		return true;
	// .eh_frame keeps ids of 4 bytes whatever the length (LSB Core, table 8-2)
	const unsigned id_bytes = wide && !cfi->eh_frame ? 8 : 4;
	e->body = e->id_at + id_bytes;
	if (length < id_bytes)
		return false;
	if (id_bytes == 8) {
		if (!fw_bytes_u64(&cfi->bytes, e->id_at, &id))
			return false;
		e->is_cie = id == UINT64_MAX;
	} else {
		if (!fw_bytes_u32(&cfi->bytes, e->id_at, &id32))
			return false;
		id = id32;
		e->is_cie = id32 == (cfi->eh_frame ? 0 : UINT32_MAX);
	}
	e->cie = cfi->eh_frame ? e->id_at - id : id;
	return true;
}

static struct fw_cursor cursor(const struct fw_dwarf_cfi *cfi, uint64_t from, uint64_t to)
{
	return (struct fw_cursor){ cfi->bytes.data + from, cfi->bytes.data + to,
				   cfi->bytes.swap, false };
}

/*
 * Augmentation letters (LSB Core, "Augmentation String Format"; GNU's B and G).
 * An unknown one ends them: 'z' says where the instructions are, and what stands
 * before it is known.
 */
static enum fw_code read_augmentation(const struct fw_dwarf_cfi *cfi, struct fw_cie *cie,
				      const char *letters, struct fw_cursor *c)
{
	uint64_t pointer, size;
	if (*letters == '\0')
		return FW_OK;
	if (*letters != 'z')
		return FW_UNSUPPORTED;
	cie->augmented = true;
	size = fw_cursor_uleb(c);
	if (c->bad || size > (uint64_t)(c->end - c->p))
		return FW_MALFORMED;
	struct fw_cursor data = { c->p, c->p + size, c->swap, false };
	c->p += size;
	for (letters++; *letters; letters++) {
		uint8_t encoding;
		switch (*letters) {
		case 'R':
			cie->encoding = fw_cursor_u8(&data);
			break;
		case 'L':
			fw_cursor_u8(&data);
			break;
		case 'P':
			encoding = fw_cursor_u8(&data);
			// its value is not wanted, only its size
			if (encoding != PE_OMIT &&
			    !fw_dwarf_pointer_(cfi, &data, encoding & ~PE_INDIRECT,
					       cie->address_size, &pointer))
				return FW_MALFORMED;
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':	// AArch64: return addresses are signed with the B key
		case 'G':	// AArch64: the stack is tagged memory
			break;
		default:
			return data.bad ? FW_MALFORMED : FW_OK;
		}
	}
	return data.bad ? FW_MALFORMED : FW_OK;
}

static enum fw_code read_cie(const struct fw_dwarf_cfi *cfi, struct fw_cie *cie)
{
	struct entry e;
	char letters[AUGMENTATION];
	unsigned n = 0;
	if (!read_entry(cfi, cie->offset, &e) || e.empty || !e.is_cie)
		return FW_MALFORMED;
	struct fw_cursor c = cursor(cfi, e.body, e.end);
	uint8_t version = fw_cursor_u8(&c);
	do {
		letters[n] = (char)fw_cursor_u8(&c);
	} while (letters[n] && !c.bad && ++n < AUGMENTATION);
	if (c.bad || n == AUGMENTATION)
		return FW_MALFORMED;
	// 2 was never published; 5 is no version of these
	if (version != 1 && version != 3 && version != 4)
		return FW_UNSUPPORTED;
	cie->address_size = cfi->address_size;
	if (version == 4) {
		cie->address_size = fw_cursor_u8(&c);
		uint8_t segment_size = fw_cursor_u8(&c);
		if (cie->address_size != 4 && cie->address_size != 8)
			return FW_UNSUPPORTED;
		if (segment_size != 0)
			return FW_UNSUPPORTED;
	}
	const char *rest = letters;
	if (strncmp(letters, "eh", 2) == 0) {	// gcc 2: a pointer of no use follows
		fw_cursor_skip(&c, cie->address_size);
		rest += 2;
	}
	uint64_t code_align = fw_cursor_uleb(&c);
	int64_t data_align = fw_cursor_sleb_(&c);
	cie->ra = version == 1 ? fw_cursor_u8(&c) : fw_cursor_uleb(&c);
	if (c.bad || code_align > UINT32_MAX || data_align < INT32_MIN || data_align > INT32_MAX)
		return FW_MALFORMED;
	cie->code_align = (uint32_t)code_align;
	cie->data_align = (int32_t)data_align;
	enum fw_code rc = read_augmentation(cfi, cie, rest, &c);
	if (rc)
		return rc;
	cie->instructions = (uint64_t)(c.p - cfi->bytes.data);
	cie->instructions_size = (uint64_t)(c.end - c.p);
	// FDEs may name overlapping CIEs, each of which would be run
	return cie->instructions_size > FW_MAX_CIE_INSTRUCTIONS ? FW_LIMIT : FW_OK;
}

static uint64_t cie_hash(uint64_t offset)
{
	return (offset * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

static bool grow_cies(struct fw_cie_table *t)
{
	size_t size = t->slots.count ? t->slots.count * 2 : 16;
	FW_VEC(uint32_t) bigger = { 0 };
	if (!fw_vec_reserve(&bigger, size))
		return false;
	memset(bigger.data, 0, size * sizeof(*bigger.data));
	for (uint32_t i = 0; i < t->cies.count; i++) {
		size_t at = cie_hash(t->cies.data[i].offset) & (size - 1);
		while (bigger.data[at])
			at = (at + 1) & (size - 1);
		bigger.data[at] = i + 1;
	}
	fw_vec_deinit(&t->slots);
	t->slots.data = bigger.data;
	t->slots.count = size;
	t->slots.capacity = bigger.capacity;
	return true;
}

enum fw_code fw_cie_find_(struct fw_cie_table *t, const struct fw_dwarf_cfi *cfi,
			  uint64_t offset, uint32_t *ret)
{
	if (t->cies.count * 2 >= t->slots.count && !grow_cies(t))
		return FW_NO_MEMORY;
	size_t mask = t->slots.count - 1, at = cie_hash(offset) & mask;
	for (; t->slots.data[at]; at = (at + 1) & mask) {
		uint32_t i = t->slots.data[at] - 1;
		if (t->cies.data[i].offset == offset) {
			*ret = t->last = i;
			return FW_OK;
		}
	}
	struct fw_cie cie = { .offset = offset };
	cie.status = read_cie(cfi, &cie);
	cie.ra_reg = fw_cpu_dwarf_reg(cfi->cpu, cie.ra);
	if (t->cies.count >= UINT32_MAX / 2)
		return FW_LIMIT;
	if (!fw_vec_push(&t->cies, cie))
		return FW_NO_MEMORY;
	t->slots.data[at] = (uint32_t)t->cies.count;
	*ret = t->last = (uint32_t)t->cies.count - 1;
	return FW_OK;
}

void fw_cie_table_deinit_(struct fw_cie_table *t)
{
	fw_vec_deinit(&t->cies);
	fw_vec_deinit(&t->slots);
}

/*
 * Linkers that drop a function leave 0, or -1 and -2 (lld), or 1 in its place.
 * Address 0 is the file's header, so that it is code only where the caller says.
 */
static bool is_tombstone(const struct fw_dwarf_cfi *cfi, const struct fw_cie *cie, uint64_t start)
{
	uint64_t mask = address_mask(cie->address_size);
	return (start <= 1 && !cfi->code_at_zero) || start >= mask - 1;
}

enum verdict { LISTED, EMPTY, UNSUPPORTED, MALFORMED };

static enum verdict read_fde(const struct fw_dwarf_cfi *cfi, const struct fw_cie *cie,
			     const struct entry *e, struct fw_fde *fde)
{
	struct fw_cursor c = cursor(cfi, e->body, e->end);
	uint64_t start, size;
	if (cie->status)
		return cie->status == FW_MALFORMED ? MALFORMED : UNSUPPORTED;
	if (!fw_dwarf_pointer_(cfi, &c, cie->encoding, cie->address_size, &start) ||
	    !pointer_value(&c, cie->encoding, cie->address_size, &size))
		return c.bad ? MALFORMED : UNSUPPORTED;
	size &= address_mask(cie->address_size);
	if (cie->augmented)
		fw_cursor_skip(&c, fw_cursor_uleb(&c));
	if (c.bad)
		return MALFORMED;
	if (size == 0 || is_tombstone(cfi, cie, start))
		return EMPTY;
	if (size - 1 > address_mask(cie->address_size) - start)
		return MALFORMED;
	fde->start = start;
	fde->size = size;
	fde->instructions = (uint64_t)(c.p - cfi->bytes.data);
	fde->instructions_size = (uint64_t)(c.end - c.p);
	return LISTED;
}

enum fw_code fw_dwarf_read_fde_(const struct fw_dwarf_cfi *cfi, struct fw_cie_table *t,
				uint64_t at, struct fw_fde *ret)
{
	struct entry e;
	struct fw_fde fde = { .offset = at };
	uint32_t cie;
	if (!read_entry(cfi, at, &e))
		return FW_MALFORMED;
	if (e.empty || e.is_cie)
		return FW_NOT_FOUND;
	fde.cie_offset = e.cie;
	enum fw_code rc = fw_cie_find_inline(t, cfi, e.cie, &cie);
	if (rc)
		return rc;
	switch (read_fde(cfi, &t->cies.data[cie], &e, &fde)) {
	case LISTED:
		*ret = fde;
		return FW_OK;
	case EMPTY:
		return FW_NOT_FOUND;
	case UNSUPPORTED:
		return FW_UNSUPPORTED;
	case MALFORMED:
		break;
	}
	return FW_MALFORMED;
}

static void count(struct fw_cfi_skipped *skipped, enum verdict verdict, uint64_t offset)
{
	if (verdict == EMPTY) {
		skipped->empty++;
		return;
	}
	if (skipped->malformed + skipped->unsupported == 0)
		skipped->first_offset = offset;
	if (verdict == UNSUPPORTED)
		skipped->unsupported++;
	else
		skipped->malformed++;
}

/**
 * An FDE as compilers write nearly all (32-bit length, the CIE met last, addresses
 * pcrel sdata4, 64-bit), read in one go. False: it is another, or not to be listed.
 */
static inline bool usual_fde(const struct fw_dwarf_cfi *cfi, const struct fw_cie *cie,
			     uint64_t at, uint64_t *next, struct fw_fde *fde)
{
	const struct fw_bytes *b = &cfi->bytes;
	enum { BODY = 8, LEAST = 4 + 4 + 4 + 1 };	// CIE pointer, start, size, augmentation
	struct { uint32_t length, cie; int32_t start, size; } v;
	if (b->swap || !cfi->eh_frame || b->size - at < sizeof(v) + 1)
		return false;
	memcpy(&v, b->data + at, sizeof(v));
	const uint64_t augmentation = b->data[at + sizeof(v)];
	const uint64_t start = cfi->address + at + BODY + (uint64_t)(int64_t)v.start;
	if (v.length < LEAST || v.length > b->size - at - 4 || v.cie == 0 ||
	    at + 4 - v.cie != cie->offset || cie->status || !cie->augmented ||
	    cie->encoding != (PE_PCREL | PE_SDATA4) || cie->address_size != 8 ||
	    augmentation & 0x80 || augmentation > v.length - LEAST || v.size <= 0 ||
	    start <= 1 || start > UINT64_MAX - 1 - (uint64_t)v.size)
		return false;
	const uint64_t instructions = at + sizeof(v) + 1 + augmentation;
	*next = at + 4 + v.length;
	*fde = (struct fw_fde){
		.offset = at, .cie_offset = cie->offset, .start = start,
		.size = (uint64_t)v.size, .instructions = instructions,
		.instructions_size = *next - instructions,
	};
	return true;
}

enum fw_code fw_dwarf_cfi_list(const struct fw_dwarf_cfi *cfi, struct fw_fde **ret,
			       uint32_t *ret_n, struct fw_cfi_skipped *skipped)
{
	FW_VEC(struct fw_fde) fdes = { 0 };
	struct fw_cie_table cies = { .last = 0 };
	struct fw_cfi_skipped left_out = { 0 };
	enum fw_code rc = FW_OK;
	uint64_t next;
	for (uint64_t at = 0; !rc && at < cfi->bytes.size; at = next) {
		struct entry e;
		struct fw_fde fde = { .offset = at };
		uint32_t cie;
		if (cies.last < cies.cies.count && fdes.count < FW_MAX_FDES &&
		    usual_fde(cfi, &cies.cies.data[cies.last], at, &next, &fde)) {
			if (!fw_vec_push(&fdes, fde))
				rc = FW_NO_MEMORY;
			continue;
		}
		if (!read_entry(cfi, at, &e)) {
			// a length that leaves the section tells nothing of what follows
			count(&left_out, MALFORMED, at);
			break;
		}
		next = e.end;
		// the terminator; linkers leave some in the middle
		if (e.empty || e.is_cie)
			continue;
		fde.cie_offset = e.cie;
		rc = fw_cie_find_inline(&cies, cfi, e.cie, &cie);
		if (rc)
			break;
		enum verdict verdict = read_fde(cfi, &cies.cies.data[cie], &e, &fde);
		if (verdict != LISTED)
			count(&left_out, verdict, at);
		else if (fdes.count >= FW_MAX_FDES)
			rc = FW_LIMIT;
		else if (!fw_vec_push(&fdes, fde))
			rc = FW_NO_MEMORY;
	}
	fw_cie_table_deinit_(&cies);
	if (rc) {
		fw_vec_deinit(&fdes);
		return rc;
	}
	*ret = fdes.data;
	*ret_n = (uint32_t)fdes.count;
	*skipped = left_out;
	return FW_OK;
}
