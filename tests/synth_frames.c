#include "tests/synth_frames.h"

#include <check.h>
#include <string.h>

void synth_frames_init(struct synth_frames *f)
{
	memset(f, 0, sizeof(*f));
	f->names_size = 1;
}

void synth_frames_section(struct synth_frames *f, const char *name, uint64_t at,
			  const void *data, size_t n)
{
	ck_assert_uint_lt(f->n, SYNTH_FRAMES_SECTIONS);
	ck_assert_uint_le(f->names_size + strlen(name) + 1, sizeof(f->names));
	ck_assert_uint_le(at + n, SYNTH_FRAMES_SIZE);
	Elf64_Shdr *sh = &f->sections[f->n++];
	memcpy(f->bytes + at, data, n);
	sh->sh_name = (Elf64_Word)f->names_size;
	strcpy(f->names + f->names_size, name);
	f->names_size += strlen(name) + 1;
	sh->sh_type = SHT_PROGBITS;
	sh->sh_flags = SHF_ALLOC;
	sh->sh_addr = sh->sh_offset = at;
	sh->sh_size = n;
}

void synth_frames_index(struct synth_frames *f, uint64_t at, size_t n)
{
	f->hdr = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = at,
			       .p_vaddr = at, .p_filesz = n, .p_memsz = n };
}

void synth_frames_finish(struct synth_frames *f, bool sections)
{
	enum { SHDRS = 0x7000, NAMES = 0x7800 };
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2, .e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr ph[2] = { { .p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			       .p_filesz = SYNTH_FRAMES_SIZE, .p_memsz = SYNTH_FRAMES_SIZE,
			       .p_align = 0x1000 }, f->hdr };
	if (sections) {
		char names[sizeof(f->names)];
		memcpy(names, f->names, sizeof(names));
		strcpy(names + f->names_size, ".shstrtab");
		synth_frames_section(f, ".shstrtab", NAMES, names, sizeof(names));
		f->sections[f->n - 1].sh_type = SHT_STRTAB;
		eh.e_shoff = SHDRS;
		eh.e_shnum = (Elf64_Half)(f->n + 1);
		eh.e_shstrndx = (Elf64_Half)f->n;
		memcpy(f->bytes + SHDRS + sizeof(Elf64_Shdr), f->sections,
		       f->n * sizeof(Elf64_Shdr));
	}
	memcpy(f->bytes, &eh, sizeof(eh));
	memcpy(f->bytes + sizeof(eh), ph, sizeof(ph));
}
