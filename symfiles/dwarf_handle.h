#ifndef FW_SYMFILES_DWARF_HANDLE_H
#define FW_SYMFILES_DWARF_HANDLE_H

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "symfiles/elf_file.h"

/* A file as libdwarf has it; private to symfiles/dwarf_*.c. */

enum { FW_DW_MAX_SECTIONS = 10 };

/** What libdwarf reads sections through. */
struct fw_dw_object {
	char first;		// libdwarf looks at an object's first byte: none of 'E', 'F', 'M', 'P'
	uint8_t word_size;
	unsigned count;
	struct fw_elf *elf;
	struct { const char *name; uint64_t size; } sections[FW_DW_MAX_SECTIONS];
	Dwarf_Obj_Access_Interface interface;
};

struct fw_dw_handle {
	struct fw_dw_object object;	// must not move while dbg is open
	Dwarf_Debug dbg;		// NULL: not open
};

/** @p split: a .dwo's sections. Sections are unpacked when libdwarf asks for them. */
bool fw_dw_handle_open(struct fw_dw_handle *h, struct fw_elf *elf, bool split);
void fw_dw_handle_close(struct fw_dw_handle *h);

#endif
