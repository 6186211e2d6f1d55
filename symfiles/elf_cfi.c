#include "symfiles/elf_cfi.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rules/dwarf_internal.h"
#include "symfiles/elf_internal.h"

enum { EH_FRAME, DEBUG_FRAME, SOURCES };

// One section's FDEs and how they are decoded.
struct source {
	struct fw_dwarf_cfi cfi;
	uint64_t base;		// of the file it is in, which may have been moved by prelink
	struct fw_fde *fdes;
	uint32_t n;
	struct fw_dwarf_decoder *decoder;
};

// An FDE's place in the order of addresses; numbers of .debug_frame's follow .eh_frame's.
struct place { uint32_t start, fde; };

struct merge {
	struct fw_builder *b;
	struct source sources[SOURCES];
	struct place *order, *spare;
	uint32_t n;
	struct fw_exidx *exidx;
};

/*
 * Where .eh_frame ends, for files without section headers: behind the last entry
 * that the binary search table names (LSB Core, ".eh_frame_hdr"), or at the
 * first terminator where it has none.
 */
static uint64_t eh_frame_size(const struct fw_dwarf_cfi *hdr, struct fw_cursor *c,
			      uint8_t count_encoding, uint8_t table_encoding,
			      const struct fw_bytes *frame, uint64_t frame_address)
{
	uint64_t count = 0, last = 0, at = 0, start, fde;
	uint32_t length;
	if (count_encoding != 0xff && table_encoding != 0xff &&
	    !fw_dwarf_pointer_(hdr, c, count_encoding, hdr->address_size, &count))
		count = 0;
	for (uint64_t i = 0; i < count && i < FW_MAX_FDES; i++) {
		if (!fw_dwarf_pointer_(hdr, c, table_encoding, hdr->address_size, &start) ||
		    !fw_dwarf_pointer_(hdr, c, table_encoding, hdr->address_size, &fde))
			break;
		if (fde - frame_address < frame->size && fde - frame_address > last)
			last = fde - frame_address;
	}
	while (fw_bytes_u32(frame, at, &length) && (length || at < last)) {
		if (length == UINT32_MAX || !fw_bytes_has(frame, at + 4, length))
			return frame->size;
		at += 4 + (uint64_t)length;
	}
	return at;
}

static bool eh_frame_by_header(struct fw_elf *elf, struct fw_dwarf_cfi *cfi)
{
	struct fw_dwarf_cfi hdr = *cfi;
	uint64_t address;
	if (!fw_elf_eh_frame_hdr(elf, &hdr.bytes, &hdr.address))
		return false;
	hdr.data_address = hdr.address;
	struct fw_cursor c = { hdr.bytes.data, hdr.bytes.data + hdr.bytes.size,
			       hdr.bytes.swap, false };
	uint8_t version = fw_cursor_u8(&c), frame_encoding = fw_cursor_u8(&c);
	uint8_t count_encoding = fw_cursor_u8(&c), table_encoding = fw_cursor_u8(&c);
	if (version != 1 ||
	    !fw_dwarf_pointer_(&hdr, &c, frame_encoding, hdr.address_size, &address) ||
	    !fw_elf_mapped(elf, address, &cfi->bytes))
		return false;
	cfi->address = address;
	cfi->bytes.size = eh_frame_size(&hdr, &c, count_encoding, table_encoding, &cfi->bytes,
					address);
	return true;
}

static void set_file(struct fw_elf *elf, const struct fw_cpu *cpu, struct fw_dwarf_cfi *cfi)
{
	struct fw_bytes unused;
	*cfi = (struct fw_dwarf_cfi){
		.cpu = cpu, .address_size = (uint8_t)fw_elf_word_size(elf),
		.fixed_address = elf->type == ET_EXEC, .code_at_zero = elf->type == ET_REL,
	};
	fw_elf_section(elf, ".text", &unused, &cfi->text_address);
	// i386's _GLOBAL_OFFSET_TABLE_ is the start of .got.plt
	if (!fw_elf_section(elf, ".got.plt", &unused, &cfi->data_address))
		fw_elf_section(elf, ".got", &unused, &cfi->data_address);
}

bool fw_elf_eh_frame(struct fw_elf *elf, const struct fw_cpu *cpu, struct fw_dwarf_cfi *ret)
{
	set_file(elf, cpu, ret);
	ret->eh_frame = true;
	return fw_elf_section(elf, ".eh_frame", &ret->bytes, &ret->address) ||
	       eh_frame_by_header(elf, ret);
}

static bool find_debug_frame(struct fw_elf *elf, const struct fw_cpu *cpu, struct source *s)
{
	if (elf == NULL)
		return false;
	set_file(elf, cpu, &s->cfi);
	s->base = fw_elf_base(elf);
	return fw_elf_section(elf, ".debug_frame", &s->cfi.bytes, &s->cfi.address);
}

static void note(struct fw_builder *b, const struct fw_cfi_skipped *skipped)
{
	for (uint32_t i = 0; i < skipped->malformed; i++)
		fw_diag_add(&b->diag, FW_DIAG_MALFORMED, 0);
	for (uint32_t i = 0; i < skipped->unsupported; i++)
		fw_diag_add(&b->diag, FW_DIAG_RULE, 0);
}

static enum fw_code open_source(struct merge *m, struct source *s)
{
	struct fw_cfi_skipped skipped = { 0 };
	enum fw_code rc = fw_dwarf_cfi_list(&s->cfi, &s->fdes, &s->n, &skipped);
	if (rc)
		return rc;
	note(m->b, &skipped);
	return fw_dwarf_decoder_create(&s->cfi, &m->b->cfi, &m->b->programs, &s->decoder);
}

// Stable, by the 32 bits of `start`: linkers leave tens of thousands of FDEs unsorted.
static void sort_places(struct merge *m)
{
	enum { BITS = 11, BUCKETS = 1 << BITS, PASSES = 3 };
	static_assert(BITS * PASSES >= 32, "all bits of an address");
	uint32_t count[PASSES][BUCKETS];
	memset(count, 0, sizeof(count));
	for (uint32_t i = 0; i < m->n; i++)
		for (unsigned pass = 0; pass < PASSES; pass++)
			count[pass][m->order[i].start >> (pass * BITS) & (BUCKETS - 1)]++;
	for (unsigned pass = 0; pass < PASSES; pass++) {
		const unsigned shift = pass * BITS;
		uint32_t sum = 0;
		for (unsigned k = 0; k < BUCKETS; k++) {
			uint32_t here = count[pass][k];
			count[pass][k] = sum;
			sum += here;
		}
		for (uint32_t i = 0; i < m->n; i++) {
			uint32_t k = m->order[i].start >> shift & (BUCKETS - 1);
			m->spare[count[pass][k]++] = m->order[i];
		}
		struct place *sorted = m->spare;
		m->spare = m->order;
		m->order = sorted;
	}
}

static enum fw_code list_places(struct merge *m)
{
	uint64_t all = (uint64_t)m->sources[EH_FRAME].n + m->sources[DEBUG_FRAME].n;
	if (all == 0)
		return FW_OK;
	m->order = malloc(all * sizeof(*m->order));
	m->spare = malloc(all * sizeof(*m->spare));
	if (m->order == NULL || m->spare == NULL)
		return FW_NO_MEMORY;
	uint32_t number = 0;
	for (unsigned k = 0; k < SOURCES; k++) {
		const struct source *s = &m->sources[k];
		for (uint32_t i = 0; i < s->n; i++, number++) {
			uint64_t start = s->fdes[i].start - s->base, end;
			if (s->fdes[i].start < s->base ||
			    __builtin_add_overflow(start, s->fdes[i].size, &end) ||
			    end > UINT32_MAX) {
				fw_diag_add(&m->b->diag, FW_DIAG_RANGE, 0);
				continue;
			}
			m->order[m->n++] = (struct place){ (uint32_t)start, number };
		}
	}
	sort_places(m);
	return FW_OK;
}

static struct source *source_of(struct merge *m, uint32_t number, struct fw_fde **ret)
{
	unsigned k = number >= m->sources[EH_FRAME].n;
	if (k)
		number -= m->sources[EH_FRAME].n;
	*ret = &m->sources[k].fdes[number];
	return &m->sources[k];
}

/*
 * Cut FDE i, which starts before others end. Of one section the earlier ends
 * where the later starts; .debug_frame repeats what .eh_frame says, and gives
 * way wherever they meet. False: nothing is left of it.
 */
static bool cut(struct merge *m, uint32_t i, uint64_t done, struct fw_fde *fde)
{
	struct source *s = source_of(m, m->order[i].fde, &fde);
	uint64_t start = m->order[i].start, end = start + fde->size;
	bool debug = s == &m->sources[DEBUG_FRAME];
	if (i > 0 && m->order[i - 1].start == start &&
	    source_of(m, m->order[i - 1].fde, &(struct fw_fde *){ NULL }) == s) {
		fw_diag_add(&m->b->diag, FW_DIAG_OVERLAP, 0);
		return false;	// equal starts: the first
	}
	for (uint32_t k = i + 1; k < m->n && m->order[k].start < end; k++) {
		struct fw_fde *next;
		bool next_debug = source_of(m, m->order[k].fde, &next) == &m->sources[DEBUG_FRAME];
		if (next_debug && !debug)
			continue;	// that one gives way
		if (m->order[k].start == start && next_debug == debug)
			continue;	// dropped in its turn
		if (next_debug == debug)
			fw_diag_add(&m->b->diag, FW_DIAG_OVERLAP, 0);
		end = m->order[k].start;
		break;
	}
	if (end <= done || end <= start)
		return false;
	fde->size = end - start;
	fde->skip = start < done ? done - start : 0;
	return true;
}

static enum fw_code decode_all(struct merge *m)
{
	uint64_t done = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		struct fw_fde *fde;
		struct source *s = source_of(m, m->order[i].fde, &fde);
		uint64_t start = m->order[i].start;
		bool alone = start >= done && (i + 1 == m->n ||
					       m->order[i + 1].start >= start + fde->size);
		if (!alone && !cut(m, i, done, fde))
			continue;
		if (m->exidx != NULL && start > done) {
			enum fw_code rc = fw_exidx_fill(m->exidx, done, start);
			if (rc)
				return rc;
		}
		enum fw_code rc = fw_dwarf_decode_fde(s->decoder, fde, s->base, NULL);
		if (rc == FW_NO_MEMORY)
			return rc;
		if (rc)
			fw_diag_add(&m->b->diag, rc == FW_MALFORMED ? FW_DIAG_MALFORMED :
				    rc == FW_LIMIT ? FW_DIAG_LIMIT : FW_DIAG_RULE, 0);
		done = start + fde->size;
	}
	return m->exidx != NULL ? fw_exidx_fill(m->exidx, done, UINT32_MAX) : FW_OK;
}

static enum fw_code open_all(struct merge *m, const struct fw_elf_files *files,
			     const struct fw_cpu *cpu)
{
	struct source *eh = &m->sources[EH_FRAME], *debug = &m->sources[DEBUG_FRAME];
	enum fw_code rc = FW_OK;
	eh->base = fw_elf_base(files->elf);
	if (fw_elf_eh_frame(files->elf, cpu, &eh->cfi))
		rc = open_source(m, eh);
	if (!rc && (find_debug_frame(files->debug, cpu, debug) ||
		    find_debug_frame(files->elf, cpu, debug) ||
		    find_debug_frame(files->mini, cpu, debug)))
		rc = open_source(m, debug);
	if (!rc && cpu->id == FW_CPU_ARM)
		rc = fw_exidx_open(files->elf, m->b, &m->exidx);
	return rc;
}

enum fw_code fw_elf_cfi_into(const struct fw_elf_files *files, struct fw_builder *b,
			     struct fw_error *err)
{
	struct merge m = { .b = b };
	const struct fw_cpu *cpu = fw_elf_cpu(files->elf);
	if (cpu->num_regs == 0)
		return FW_OK;
	enum fw_code rc = open_all(&m, files, cpu);
	if (!rc)
		rc = list_places(&m);
	if (!rc)
		rc = decode_all(&m);
	for (unsigned k = 0; k < SOURCES; k++) {
		fw_dwarf_decoder_destroy(m.sources[k].decoder);
		free(m.sources[k].fdes);
	}
	free(m.order);
	free(m.spare);
	fw_exidx_close(m.exidx);
	return rc ? fw_fail(err, rc, NULL, rc == FW_NO_MEMORY ? "out of memory" :
			    "call frame information pass a limit") : FW_OK;
}
