#include "lib/base/limits.h"
#include "lib/rules/dwarf_internal.h"

enum {	// LSB Core, "DWARF Exception Header Encoding"
	PE_UDATA2 = 0x02, PE_SDATA4 = 0x0b, PE_DATAREL = 0x30, PE_FORMAT = 0x0f, PE_OMIT = 0xff,
	PE_INDIRECT = 0x80, PE_BASE = 0x70, PE_ALIGNED = 0x50,
	TABLE = PE_DATAREL | PE_SDATA4,	// what every linker writes
};

/** Bytes of an address in an encoding of fixed size; 0: it has none. */
static uint8_t width_of(uint8_t encoding, uint8_t address_size)
{
	if (encoding == PE_OMIT || encoding & PE_INDIRECT || (encoding & PE_BASE) == PE_ALIGNED)
		return 0;
	switch (encoding & PE_FORMAT & ~0x08) {	// 0x08: signed
	case 0:
		return address_size;
	case PE_UDATA2:
		return 2;
	case 3:
		return 4;
	case 4:
		return 8;
	default:
		return 0;
	}
}

bool fw_eh_index_open(const struct fw_dwarf_cfi *hdr, struct fw_eh_index *ret)
{
	struct fw_eh_index x = { .hdr = *hdr };
	x.hdr.data_address = hdr->address;
	struct fw_cursor c = { hdr->bytes.data, hdr->bytes.data + hdr->bytes.size,
			       hdr->bytes.swap, false };
	const uint8_t version = fw_cursor_u8(&c), frame_encoding = fw_cursor_u8(&c);
	const uint8_t count_encoding = fw_cursor_u8(&c);
	x.encoding = fw_cursor_u8(&c);
	if (c.bad || version != 1 || frame_encoding == PE_OMIT ||
	    !fw_dwarf_pointer_(&x.hdr, &c, frame_encoding, hdr->address_size, &x.frame))
		return false;
	x.width = width_of(x.encoding, hdr->address_size);
	if (count_encoding == PE_OMIT || x.width == 0 ||
	    !fw_dwarf_pointer_(&x.hdr, &c, count_encoding, hdr->address_size, &x.count))
		x.count = 0;
	x.table = (uint64_t)(c.p - hdr->bytes.data);
	const uint64_t room = (hdr->bytes.size - x.table) / (2u * x.width + !x.width);
	x.count = x.count < room ? x.count : room;
	*ret = x;
	return true;
}

/** Number `which` of the table's addresses, two an entry; they are known to be there. */
static uint64_t address_at(const struct fw_eh_index *x, uint64_t which)
{
	uint64_t address = 0;
	const struct fw_bytes *b = &x->hdr.bytes;
	struct fw_cursor c = { b->data + x->table + which * x->width, b->data + b->size,
			       b->swap, false };
	fw_dwarf_pointer_(&x->hdr, &c, x->encoding, x->hdr.address_size, &address);
	return address;
}

/** How many entries lie at or below an address; the usual table in the host's order. */
static uint64_t count_usual(const struct fw_eh_index *x, int64_t wanted)
{
	const uint8_t *table = x->hdr.bytes.data + x->table;
	uint64_t low = 0, n = x->count;
	while (n > 0) {
		const uint64_t half = n / 2;
		int32_t start;
		memcpy(&start, table + (low + half) * 8, sizeof(start));
		// both ways are as likely: no jump to be guessed
		low = start <= wanted ? low + half + 1 : low;
		n = start <= wanted ? n - half - 1 : half;
	}
	return low;
}

static uint64_t count_any(const struct fw_eh_index *x, uint64_t address)
{
	uint64_t low = 0, high = x->count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (address_at(x, middle * 2) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum fw_code fw_eh_index_find(const struct fw_eh_index *x, uint64_t address,
			      uint64_t *ret_start, uint64_t *ret_fde)
{
	if (x->count == 0)
		return FW_MALFORMED;
	const bool usual = x->encoding == TABLE && !x->hdr.bytes.swap &&
			   x->hdr.address_size == 8 &&
			   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	const uint64_t n = usual ? count_usual(x, (int64_t)(address - x->hdr.address))
				 : count_any(x, address);
	if (n == 0)
		return FW_NOT_FOUND;
	const uint64_t start = address_at(x, (n - 1) * 2);
	if (start > address || (n > 1 && address_at(x, (n - 2) * 2) >= start) ||
	    (n < x->count && address_at(x, n * 2) <= address))
		return FW_MALFORMED;
	*ret_start = start;
	*ret_fde = address_at(x, (n - 1) * 2 + 1);
	return FW_OK;
}

uint64_t fw_eh_index_last(const struct fw_eh_index *x, uint64_t size)
{
	uint64_t last = 0;
	for (uint64_t i = 0; i < x->count && i < FW_MAX_FDES; i++) {
		const uint64_t offset = address_at(x, i * 2 + 1) - x->frame;
		if (offset < size && offset > last)
			last = offset;
	}
	return last;
}
