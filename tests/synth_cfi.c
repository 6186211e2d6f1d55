#include "tests/synth_cfi.h"

#include <check.h>
#include <string.h>

void synth_cfi_init(struct synth_cfi *s, bool eh_frame)
{
	memset(s, 0, sizeof(*s));
	s->eh_frame = eh_frame;
	s->address_size = 8;
}

void synth_u8(struct synth_cfi *s, uint8_t v)
{
	ck_assert(s->n < sizeof(s->bytes));
	s->bytes[s->n++] = v;
}

void synth_word(struct synth_cfi *s, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		synth_u8(s, (uint8_t)(v >> (i * 8)));
}

void synth_uleb(struct synth_cfi *s, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		synth_u8(s, (uint8_t)(v | 0x80));
	synth_u8(s, (uint8_t)v);
}

void synth_sleb(struct synth_cfi *s, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		synth_u8(s, (uint8_t)((v & 0x7f) | 0x80));
	synth_u8(s, (uint8_t)(v & 0x7f));
}

void synth_raw(struct synth_cfi *s, const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		synth_u8(s, ((const uint8_t *)data)[i]);
}

static void begin(struct synth_cfi *s)
{
	s->entry = s->n;
	if (s->wide)
		synth_word(s, UINT32_MAX, 4);
	synth_word(s, 0, s->wide ? 8 : 4);
}

void synth_end(struct synth_cfi *s)
{
	size_t head = s->wide ? 12 : 4;
	while ((s->n - s->entry) % 8 != head % 8)
		synth_u8(s, 0);
	uint64_t length = s->n - s->entry - head;
	memcpy(s->bytes + s->entry + (s->wide ? 4 : 0), &length, s->wide ? 8 : 4);
}

void synth_cie(struct synth_cfi *s, uint8_t version, const char *augmentation,
	       uint64_t code_align, int64_t data_align, uint64_t ra)
{
	s->cie = s->n;
	begin(s);
	if (s->eh_frame)
		synth_word(s, 0, 4);
	else
		synth_word(s, UINT64_MAX, s->wide ? 8 : 4);
	synth_u8(s, version);
	synth_raw(s, augmentation, strlen(augmentation) + 1);
	if (version >= 4) {
		synth_u8(s, s->address_size);
		synth_u8(s, 0);
	}
	synth_uleb(s, code_align);
	synth_sleb(s, data_align);
	if (version == 1)
		synth_u8(s, (uint8_t)ra);
	else
		synth_uleb(s, ra);
}

void synth_fde(struct synth_cfi *s, uint64_t start, uint64_t size)
{
	begin(s);
	if (s->eh_frame)
		synth_word(s, s->n - s->cie, 4);
	else
		synth_word(s, s->cie, s->wide ? 8 : 4);
	synth_word(s, start, s->address_size);
	synth_word(s, size, s->address_size);
}

void synth_amd64_cie(struct synth_cfi *s)
{
	synth_cie(s, 1, s->eh_frame ? "zR" : "", 1, -8, 16);
	if (s->eh_frame)
		synth_raw(s, "\x01\x00", 2);	// one byte of data: absptr
	synth_raw(s, "\x0c\x07\x08\x90\x01", 5);	// def_cfa rsp 8; offset rip 1
	synth_end(s);
}

struct fw_dwarf_cfi synth_section(const struct synth_cfi *s, const struct fw_cpu *cpu)
{
	return (struct fw_dwarf_cfi){
		.bytes = { s->bytes, s->n, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ },
		.address = s->address, .cpu = cpu, .eh_frame = s->eh_frame,
		.address_size = s->address_size,
	};
}
