#include "symfiles/lazy_cfi.h"

#include <stdlib.h>

#include "symfiles/elf_frames.h"

struct fw_lazy_cfi {
	struct fw_elf_frames frames;
	struct fw_dwarf_decoder *decoders[FW_FRAME_SECTIONS];
	struct fw_program_set programs;
	struct fw_eh_index index;	// count 0: not to be used
	bool listed;
};

/** Rules that only compiling reads; fw_lazy_cfi_open() says which. */
static bool needs_compiling(const struct fw_elf *elf, const struct fw_cpu *cpu)
{
	struct fw_bytes bytes;
	uint64_t address;
	return cpu->num_regs == 0 ||
	       (cpu->id == FW_CPU_ARM && fw_elf_stored(elf, ".ARM.exidx", &bytes, &address) == FW_OK);
}

static enum fw_code find_sections(struct fw_lazy_cfi *c, const struct fw_elf *elf,
				  const struct fw_elf *debug, const struct fw_cpu *cpu)
{
	struct fw_frame_section *eh = &c->frames.sections[FW_EH_FRAME];
	struct fw_frame_section *s = &c->frames.sections[FW_DEBUG_FRAME];
	struct fw_dwarf_cfi hdr;
	eh->base = fw_elf_base(elf);
	eh->found = fw_elf_eh_frame(elf, cpu, &eh->cfi);
	hdr = eh->cfi;
	if (eh->found && (!fw_elf_eh_frame_hdr(elf, &hdr.bytes, &hdr.address) ||
			  !fw_eh_index_open(&hdr, &c->index) ||
			  c->index.frame != eh->cfi.address))
		c->index.count = 0;
	// nothing is unpacked, so nothing is written to the files
	enum fw_code rc = fw_elf_debug_frame((struct fw_elf *)debug, cpu, false, s);
	if (rc == FW_NOT_FOUND)
		rc = fw_elf_debug_frame((struct fw_elf *)elf, cpu, false, s);
	return rc == FW_NOT_FOUND ? FW_OK : rc;
}

enum fw_code fw_lazy_cfi_open(const struct fw_elf *elf, const struct fw_elf *debug,
			      struct fw_lazy_cfi **ret)
{
	const struct fw_cpu *cpu = fw_elf_cpu(elf);
	if (needs_compiling(elf, cpu))
		return FW_UNSUPPORTED;
	struct fw_lazy_cfi *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return FW_NO_MEMORY;
	fw_program_set_init(&c->programs);
	enum fw_code rc = find_sections(c, elf, debug, cpu);
	for (unsigned k = 0; !rc && k < FW_FRAME_SECTIONS; k++)
		if (c->frames.sections[k].found)
			rc = fw_dwarf_decoder_create(&c->frames.sections[k].cfi, NULL,
						     &c->programs, &c->decoders[k]);
	if (rc) {
		fw_lazy_cfi_close(c);
		return rc;
	}
	*ret = c;
	return FW_OK;
}

void fw_lazy_cfi_close(struct fw_lazy_cfi *c)
{
	if (c == NULL)
		return;
	for (unsigned k = 0; k < FW_FRAME_SECTIONS; k++)
		fw_dwarf_decoder_destroy(c->decoders[k]);
	fw_elf_frames_deinit(&c->frames);
	fw_program_set_deinit(&c->programs);
	free(c);
}

bool fw_lazy_cfi_found(const struct fw_lazy_cfi *c)
{
	return c->frames.sections[FW_EH_FRAME].found || c->frames.sections[FW_DEBUG_FRAME].found;
}

/**
 * The FDE by the search table. FW_NOT_FOUND: the table knows none that covers the
 * offset, which the listing has to confirm. FW_MALFORMED: the table is not true.
 */
static enum fw_code find_indexed(struct fw_lazy_cfi *c, uint32_t offset, struct fw_fde *ret)
{
	const struct fw_frame_section *eh = &c->frames.sections[FW_EH_FRAME];
	const uint64_t address = eh->base + offset;
	uint64_t start, at;
	enum fw_code rc = fw_eh_index_find(&c->index, address, &start, &at);
	if (rc)
		return rc;
	// behind the section: unsigned, so below it as well
	at -= eh->cfi.address;
	if (at >= eh->cfi.bytes.size)
		return FW_MALFORMED;
	rc = fw_dwarf_fde_at(c->decoders[FW_EH_FRAME], at, ret);
	if (rc == FW_NO_MEMORY)
		return rc;
	if (rc || ret->start != start)
		return FW_MALFORMED;
	return address - start < ret->size ? FW_OK : FW_NOT_FOUND;
}

/** The FDE by the listing; made when it is asked for first. */
static enum fw_code find_listed(struct fw_lazy_cfi *c, uint32_t offset,
				const struct fw_fde **ret, unsigned *ret_section)
{
	const struct fw_elf_frames *f = &c->frames;
	const struct fw_frame_section *s;
	struct fw_diag unused = { 0 };
	uint32_t low = 0;
	if (!c->listed) {
		c->listed = true;
		enum fw_code rc = fw_elf_frames_list(&c->frames, &unused);
		if (rc)
			return rc;
	}
	for (uint32_t n = f->n; n > 0; ) {	// last start at or below
		const uint32_t half = n / 2;
		if (f->order[low + half].start <= offset) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (low == 0)
		return FW_NOT_FOUND;
	*ret = fw_elf_frames_fde(f, low - 1, &s);
	*ret_section = (unsigned)(s - f->sections);
	return FW_OK;
}

const struct fw_rule *fw_lazy_cfi_rules(struct fw_lazy_cfi *c, uint32_t offset,
					uint32_t *ret_count, struct fw_programs *programs)
{
	struct fw_fde indexed;
	const struct fw_fde *fde = &indexed;
	const struct fw_rule *rules = NULL;
	unsigned section = FW_EH_FRAME;
	*ret_count = 0;
	enum fw_code rc = c->index.count ? find_indexed(c, offset, &indexed) : FW_NOT_FOUND;
	if (rc == FW_MALFORMED)
		c->index.count = 0;
	if (rc)
		rc = find_listed(c, offset, &fde, &section);
	if (!rc)
		rc = fw_dwarf_row_at(c->decoders[section], fde, c->frames.sections[section].base,
				     offset, &rules, ret_count);
	if (rc)
		return NULL;
	if (programs != NULL)
		*programs = (struct fw_programs){
			c->programs.ops.data, c->programs.programs.data,
			(uint32_t)c->programs.ops.count, (uint32_t)c->programs.programs.count };
	return rules;
}
