#include "symfiles/elf_frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rules/dwarf_internal.h"
#include "symfiles/elf_internal.h"

/*
 * Where .eh_frame ends, for files without section headers: behind the last entry
 * that the binary search table names (LSB Core, ".eh_frame_hdr"), or at the
 * first terminator where it has none.
 */
static uint64_t eh_frame_size(const struct fw_eh_index *x, const struct fw_bytes *frame)
{
	const uint64_t last = fw_eh_index_last(x, frame->size);
	uint64_t at = 0;
	uint32_t length;
	while (fw_bytes_u32(frame, at, &length) && (length || at < last)) {
		if (length == UINT32_MAX || !fw_bytes_has(frame, at + 4, length))
			return frame->size;
		at += 4 + (uint64_t)length;
	}
	return at;
}

static bool eh_frame_by_header(const struct fw_elf *elf, struct fw_dwarf_cfi *cfi)
{
	struct fw_dwarf_cfi hdr = *cfi;
	struct fw_eh_index x;
	if (!fw_elf_eh_frame_hdr(elf, &hdr.bytes, &hdr.address) || !fw_eh_index_open(&hdr, &x) ||
	    !fw_elf_mapped(elf, x.frame, &cfi->bytes))
		return false;
	cfi->address = x.frame;
	cfi->bytes.size = eh_frame_size(&x, &cfi->bytes);
	return true;
}

static void set_file(const struct fw_elf *elf, const struct fw_cpu *cpu, struct fw_dwarf_cfi *cfi)
{
	struct fw_bytes unused;
	*cfi = (struct fw_dwarf_cfi){
		.cpu = cpu, .address_size = (uint8_t)fw_elf_word_size(elf),
		.fixed_address = elf->type == ET_EXEC, .code_at_zero = elf->type == ET_REL,
	};
	fw_elf_stored(elf, ".text", &unused, &cfi->text_address);
	// i386's _GLOBAL_OFFSET_TABLE_ is the start of .got.plt
	if (fw_elf_stored(elf, ".got.plt", &unused, &cfi->data_address) != FW_OK)
		fw_elf_stored(elf, ".got", &unused, &cfi->data_address);
}

bool fw_elf_eh_frame(const struct fw_elf *elf, const struct fw_cpu *cpu, struct fw_dwarf_cfi *ret)
{
	set_file(elf, cpu, ret);
	ret->eh_frame = true;
	return fw_elf_stored(elf, ".eh_frame", &ret->bytes, &ret->address) == FW_OK ||
	       eh_frame_by_header(elf, ret);
}

enum fw_code fw_elf_debug_frame(struct fw_elf *elf, const struct fw_cpu *cpu, bool unpack,
				struct fw_frame_section *ret)
{
	if (elf == NULL)
		return FW_NOT_FOUND;
	struct fw_frame_section s = { .found = true, .base = fw_elf_base(elf) };
	set_file(elf, cpu, &s.cfi);
	enum fw_code rc = fw_elf_stored(elf, ".debug_frame", &s.cfi.bytes, &s.cfi.address);
	if (rc == FW_UNSUPPORTED && unpack)
		rc = fw_elf_section(elf, ".debug_frame", &s.cfi.bytes, &s.cfi.address) ?
		     FW_OK : FW_NOT_FOUND;
	if (!rc)
		*ret = s;
	return rc;
}

static void note(struct fw_diag *diag, const struct fw_cfi_skipped *skipped)
{
	for (uint32_t i = 0; i < skipped->malformed; i++)
		fw_diag_add(diag, FW_DIAG_MALFORMED, 0);
	for (uint32_t i = 0; i < skipped->unsupported; i++)
		fw_diag_add(diag, FW_DIAG_RULE, 0);
}

struct layout {
	struct fw_elf_frames *f;
	struct fw_diag *diag;
	struct fw_frame_place *order, *spare;
	uint32_t n;
};

// Stable, by the 32 bits of `start`: linkers leave tens of thousands of FDEs unsorted.
static void sort_places(struct layout *m)
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
		struct fw_frame_place *sorted = m->spare;
		m->spare = m->order;
		m->order = sorted;
	}
}

static enum fw_code collect(struct layout *m)
{
	const struct fw_frame_section *sections = m->f->sections;
	uint64_t all = (uint64_t)sections[FW_EH_FRAME].n + sections[FW_DEBUG_FRAME].n;
	if (all == 0)
		return FW_OK;
	m->order = malloc(all * sizeof(*m->order));
	m->spare = malloc(all * sizeof(*m->spare));
	if (m->order == NULL || m->spare == NULL)
		return FW_NO_MEMORY;
	uint32_t number = 0;
	for (unsigned k = 0; k < FW_FRAME_SECTIONS; k++) {
		const struct fw_frame_section *s = &sections[k];
		for (uint32_t i = 0; i < s->n; i++, number++) {
			uint64_t start = s->fdes[i].start - s->base, end;
			if (s->fdes[i].start < s->base ||
			    __builtin_add_overflow(start, s->fdes[i].size, &end) ||
			    end > UINT32_MAX) {
				fw_diag_add(m->diag, FW_DIAG_RANGE, 0);
				continue;
			}
			m->order[m->n++] = (struct fw_frame_place){ (uint32_t)start, number };
		}
	}
	return FW_OK;
}

static inline struct fw_fde *fde_of(const struct fw_elf_frames *f, uint32_t number, bool *ret_debug)
{
	const uint32_t first = f->sections[FW_EH_FRAME].n;
	*ret_debug = number >= first;
	return *ret_debug ? &f->sections[FW_DEBUG_FRAME].fdes[number - first] :
			    &f->sections[FW_EH_FRAME].fdes[number];
}

/** Cut FDE i, which starts before others end. False: nothing is left of it. */
static bool cut(struct layout *m, uint32_t i, uint64_t done)
{
	const uint64_t start = m->order[i].start;
	bool debug, other;
	struct fw_fde *fde = fde_of(m->f, m->order[i].fde, &debug);
	uint64_t end = start + fde->size;
	if (i > 0 && m->order[i - 1].start == start) {
		fde_of(m->f, m->order[i - 1].fde, &other);
		if (other == debug) {
			fw_diag_add(m->diag, FW_DIAG_OVERLAP, 0);
			return false;	// equal starts: the first
		}
	}
	for (uint32_t k = i + 1; k < m->n && m->order[k].start < end; k++) {
		fde_of(m->f, m->order[k].fde, &other);
		if (other && !debug)
			continue;	// that one gives way
		if (m->order[k].start == start && other == debug)
			continue;	// dropped in its turn
		if (other == debug)
			fw_diag_add(m->diag, FW_DIAG_OVERLAP, 0);
		end = m->order[k].start;
		break;
	}
	if (end <= done || end <= start)
		return false;
	fde->size = end - start;
	fde->skip = start < done ? done - start : 0;
	return true;
}

/** Leave in m->spare, in order, the places of what stays; returns how many. */
static uint32_t cut_all(struct layout *m)
{
	uint64_t done = 0;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		struct fw_frame_place place = m->order[i];
		bool debug;
		struct fw_fde *fde = fde_of(m->f, place.fde, &debug);
		const uint64_t start = place.start;
		bool alone = start >= done && (i + 1 == m->n ||
					       m->order[i + 1].start >= start + fde->size);
		if (!alone && !cut(m, i, done))
			continue;
		done = start + fde->size;
		place.start += (uint32_t)fde->skip;
		m->spare[kept++] = place;
	}
	return kept;
}

enum fw_code fw_elf_frames_list(struct fw_elf_frames *f, struct fw_diag *diag)
{
	struct layout m = { .f = f, .diag = diag };
	enum fw_code rc = FW_OK;
	for (unsigned k = 0; !rc && k < FW_FRAME_SECTIONS; k++) {
		struct fw_frame_section *s = &f->sections[k];
		struct fw_cfi_skipped skipped = { 0 };
		if (!s->found)
			continue;
		rc = fw_dwarf_cfi_list(&s->cfi, &s->fdes, &s->n, &skipped);
		note(diag, &skipped);
	}
	if (!rc)
		rc = collect(&m);
	if (!rc && m.n) {
		sort_places(&m);
		f->n = cut_all(&m);
		f->order = m.spare;
		m.spare = NULL;
	}
	free(m.order);
	free(m.spare);
	return rc;
}

struct fw_fde *fw_elf_frames_fde(const struct fw_elf_frames *f, uint32_t place,
				 const struct fw_frame_section **ret)
{
	bool debug;
	struct fw_fde *fde = fde_of(f, f->order[place].fde, &debug);
	*ret = &f->sections[debug ? FW_DEBUG_FRAME : FW_EH_FRAME];
	return fde;
}

void fw_elf_frames_deinit(struct fw_elf_frames *f)
{
	for (unsigned k = 0; k < FW_FRAME_SECTIONS; k++) {
		free(f->sections[k].fdes);
		f->sections[k].fdes = NULL;
		f->sections[k].n = 0;
	}
	free(f->order);
	f->order = NULL;
	f->n = 0;
}
