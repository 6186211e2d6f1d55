#ifndef FW_SYMFILES_ELF_OBJECT_H
#define FW_SYMFILES_ELF_OBJECT_H

#include "symfiles/elf_internal.h"

/*
 * Relocatable objects, .o and .ko: their sections have no addresses and what refers
 * to them is to be relocated. They are laid out one after another, so that the rest
 * of the loader meets a file like any other.
 */

/** Give the sections addresses and loads; elf->base is where .text lies. False: no memory. */
FW_MUST_CHECK bool fw_elf_lay_out(struct fw_elf *elf);

/**
 * Replace elf's bytes by a copy where all relocations are applied that sections
 * outside of the loaded ones and .eh_frame need. Sections that are compressed are
 * left to fw_elf_relocate().
 */
FW_MUST_CHECK enum fw_code fw_elf_relocate_all(struct fw_elf *elf, struct fw_error *err);

/**
 * Apply to section number @p i, whose unpacked contents are @p data, its relocations:
 * the absolute and relative ones of data (psABI of each CPU, "Relocation Types");
 * others leave their place as it is. False: FW_MAX_RELOCATIONS.
 */
FW_MUST_CHECK bool fw_elf_relocate(struct fw_elf *elf, size_t i, uint8_t *data, uint64_t size);

#endif
