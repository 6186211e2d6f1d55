#include "symfiles/elf_cfi.h"

#include "symfiles/elf_frames.h"

struct compiler {
	struct fw_builder *b;
	struct fw_elf_frames frames;
	struct fw_dwarf_decoder *decoders[FW_FRAME_SECTIONS];
	struct fw_exidx *exidx;
};

static enum fw_code open_all(struct compiler *c, const struct fw_elf_files *files,
			     const struct fw_cpu *cpu)
{
	struct fw_frame_section *eh = &c->frames.sections[FW_EH_FRAME];
	struct fw_frame_section *debug = &c->frames.sections[FW_DEBUG_FRAME];
	struct fw_elf *const places[] = { files->debug, files->elf, files->mini };
	enum fw_code rc = FW_OK;
	eh->base = fw_elf_base(files->elf);
	eh->found = fw_elf_eh_frame(files->elf, cpu, &eh->cfi);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !debug->found; i++)
		rc = fw_elf_debug_frame(places[i], cpu, true, debug);
	rc = fw_elf_frames_list(&c->frames, &c->b->diag);
	for (unsigned k = 0; !rc && k < FW_FRAME_SECTIONS; k++)
		rc = fw_dwarf_decoder_create(&c->frames.sections[k].cfi, &c->b->cfi,
					     &c->b->programs, &c->decoders[k]);
	if (!rc && cpu->id == FW_CPU_ARM)
		rc = fw_exidx_open(files->elf, c->b, &c->exidx);
	return rc;
}

static enum fw_code decode_all(struct compiler *c)
{
	const struct fw_frame_section *const sections = c->frames.sections;
	uint64_t done = 0;
	for (uint32_t i = 0; i < c->frames.n; i++) {
		const struct fw_frame_section *s;
		const struct fw_fde *fde = fw_elf_frames_fde(&c->frames, i, &s);
		const uint64_t start = c->frames.order[i].start;
		if (c->exidx != NULL && start > done) {
			enum fw_code rc = fw_exidx_fill(c->exidx, done, start);
			if (rc)
				return rc;
		}
		enum fw_code rc = fw_dwarf_decode_fde(c->decoders[s - sections], fde, s->base, NULL);
		if (rc == FW_NO_MEMORY)
			return rc;
		if (rc)
			fw_diag_add(&c->b->diag, rc == FW_MALFORMED ? FW_DIAG_MALFORMED :
				    rc == FW_LIMIT ? FW_DIAG_LIMIT : FW_DIAG_RULE, 0);
		done = start - fde->skip + fde->size;
	}
	return c->exidx != NULL ? fw_exidx_fill(c->exidx, done, UINT32_MAX) : FW_OK;
}

enum fw_code fw_elf_cfi_into(const struct fw_elf_files *files, struct fw_builder *b,
			     struct fw_error *err)
{
	struct compiler c = { .b = b };
	const struct fw_cpu *cpu = fw_elf_cpu(files->elf);
	if (cpu->num_regs == 0)
		return FW_OK;
	enum fw_code rc = open_all(&c, files, cpu);
	if (!rc)
		rc = decode_all(&c);
	for (unsigned k = 0; k < FW_FRAME_SECTIONS; k++)
		fw_dwarf_decoder_destroy(c.decoders[k]);
	fw_elf_frames_deinit(&c.frames);
	fw_exidx_close(c.exidx);
	return rc ? fw_fail(err, rc, NULL, rc == FW_NO_MEMORY ? "out of memory" :
			    "call frame information pass a limit") : FW_OK;
}
