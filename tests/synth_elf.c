#include "tests/synth_elf.h"

#include <elf.h>
#include <string.h>

struct writer { uint8_t *out; const struct synth_elf *o; size_t at; };

static void put(struct writer *w, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		w->out[w->at + i] = (uint8_t)(v >> 8 * (w->o->big ? bytes - 1 - i : i));
	w->at += bytes;
}

static void put_word(struct writer *w, uint64_t v)	// Elf32_Word or Elf64_Xword
{
	put(w, v, w->o->wide ? 8 : 4);
}

static void put_segment(struct writer *w, uint32_t type, uint32_t flags, uint64_t offset,
			uint64_t size, uint64_t align)
{
	put(w, type, 4);
	if (w->o->wide)
		put(w, flags, 4);
	put_word(w, offset);
	put_word(w, w->o->base + offset);	// p_vaddr
	put_word(w, w->o->base + offset);	// p_paddr
	put_word(w, size);
	put_word(w, size);
	if (!w->o->wide)
		put(w, flags, 4);
	put_word(w, align);
}

static void put_section(struct writer *w, uint32_t name, uint32_t type, uint64_t flags,
			uint64_t offset, uint64_t size, uint64_t align)
{
	put(w, name, 4);
	put(w, type, 4);
	put_word(w, flags);
	put_word(w, flags & SHF_ALLOC ? w->o->base + offset : 0);
	put_word(w, offset);
	put_word(w, size);
	put(w, 0, 4);
	put(w, 0, 4);
	put_word(w, align);
	put_word(w, 0);
}

static void put_note(struct writer *w, const char *owner, uint32_t type, const uint8_t *data,
		     size_t n)
{
	size_t owner_size = strlen(owner) + 1;
	put(w, owner_size, 4);
	put(w, n, 4);
	put(w, type, 4);
	memcpy(w->out + w->at, owner, owner_size);
	w->at += (owner_size + 3) / 4 * 4;
	memcpy(w->out + w->at, data, n);
	w->at += (n + 3) / 4 * 4;
}

static void put_header(struct writer *w)
{
	const struct synth_elf *o = w->o;
	const uint8_t ident[EI_NIDENT] = {
		0x7f, 'E', 'L', 'F', o->wide ? ELFCLASS64 : ELFCLASS32,
		o->big ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT,
	};
	memcpy(w->out, ident, sizeof(ident));
	w->at = sizeof(ident);
	put(w, o->type ? o->type : ET_DYN, 2);
	put(w, o->big ? EM_PPC64 : o->wide ? EM_X86_64 : EM_386, 2);
	put(w, EV_CURRENT, 4);
	put_word(w, o->base + SYNTH_ELF_TEXT);		// e_entry
	put_word(w, 0x40);				// e_phoff
	put_word(w, o->sections ? SYNTH_ELF_SECTIONS : 0);
	put(w, 0, 4);
	put(w, o->wide ? 64 : 52, 2);
	put(w, o->wide ? 56 : 32, 2);
	put(w, o->note_segment ? 3 : 2, 2);
	put(w, o->sections ? (o->wide ? 64 : 40) : 0, 2);
	put(w, o->sections ? 4 : 0, 2);
	put(w, o->sections ? 3 : 0, 2);
}

size_t synth_elf(const struct synth_elf *o, uint8_t *out)
{
	static const char strings[] = "\0.text\0.note.gnu.build-id\0.shstrtab";
	static const uint8_t other[5] = { 1, 2, 3, 4, 5 };
	struct writer w = { out, o, SYNTH_ELF_NOTES };
	memset(out, 0, SYNTH_ELF_MAX);
	if (o->other_note_first)
		put_note(&w, "Debian", NT_GNU_BUILD_ID, other, sizeof(other));
	if (o->build_id)
		put_note(&w, "GNU", NT_GNU_BUILD_ID, o->build_id, o->build_id_size);
	const size_t notes = w.at - SYNTH_ELF_NOTES;
	put_header(&w);
	w.at = 0x40;
	put_segment(&w, PT_LOAD, PF_R, 0, 0x400, 0x1000);
	put_segment(&w, PT_LOAD, PF_R | PF_X, SYNTH_ELF_TEXT, o->text_size, 0x1000);
	if (o->note_segment)
		put_segment(&w, PT_NOTE, PF_R, SYNTH_ELF_NOTES, notes, 4);
	if (o->sections) {
		memcpy(out + SYNTH_ELF_STRINGS, strings, sizeof(strings));
		w.at = SYNTH_ELF_SECTIONS;
		put_section(&w, 0, SHT_NULL, 0, 0, 0, 0);
		put_section(&w, 1, o->text_elsewhere ? SHT_NOBITS : SHT_PROGBITS,
			    SHF_ALLOC | SHF_EXECINSTR, SYNTH_ELF_TEXT, o->text_size, 16);
		put_section(&w, 7, SHT_NOTE, SHF_ALLOC, SYNTH_ELF_NOTES, notes, 4);
		put_section(&w, 26, SHT_STRTAB, 0, SYNTH_ELF_STRINGS, sizeof(strings), 1);
	}
	if (o->text_size)
		memcpy(out + SYNTH_ELF_TEXT, o->text, o->text_size);
	return SYNTH_ELF_TEXT + o->text_size;
}
