#include "symfiles/dwarf_handle.h"

#include "symfiles/elf_internal.h"

static int section_info(void *obj, Dwarf_Half i, Dwarf_Obj_Access_Section *ret, int *error)
{
	const struct fw_dw_object *o = obj;
	if (i > o->count)
		return DW_DLV_NO_ENTRY;
	// number 0 is nobody's, as in ELF
	*ret = (Dwarf_Obj_Access_Section){ .name = "", .type = 1 };
	if (i) {
		ret->name = o->sections[i - 1].name;
		ret->size = o->sections[i - 1].size;
	}
	return DW_DLV_OK;
}

static Dwarf_Endianness byte_order(void *obj)
{
	const struct fw_dw_object *o = obj;
	bool big = o->elf->bytes.swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	return big ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small length_size(void *obj)
{
	return ((struct fw_dw_object *)obj)->word_size;
}

static Dwarf_Unsigned section_count(void *obj)
{
	return ((struct fw_dw_object *)obj)->count + 1;
}

static int load_section(void *obj, Dwarf_Half i, Dwarf_Small **ret, int *error)
{
	const struct fw_dw_object *o = obj;
	struct fw_bytes bytes;
	uint64_t address;
	if (i == 0 || i > o->count)
		return DW_DLV_NO_ENTRY;
	// it reads as many bytes as it was told before
	if (!fw_elf_section(o->elf, o->sections[i - 1].name, &bytes, &address) ||
	    bytes.size != o->sections[i - 1].size) {
		*error = DW_DLE_ALLOC_FAIL;
		return DW_DLV_ERROR;
	}
	*ret = (Dwarf_Small *)bytes.data;
	return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods methods = {
	.get_section_info = section_info,
	.get_byte_order = byte_order,
	.get_length_size = length_size,
	.get_pointer_size = length_size,
	.get_section_count = section_count,
	.load_section = load_section,
	.relocate_a_section = NULL,
};

/** Lists, names and indexes stay out: this libdwarf frees twice and loops over them. */
static const char *const plain_sections[] = {
	".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str", ".debug_str_offsets",
	".debug_addr", ".debug_line", ".debug_types", ".debug_aranges", NULL
};

static const char *const split_sections[] = {
	".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str.dwo", ".debug_str_offsets.dwo",
	".debug_line.dwo", NULL
};

bool fw_dw_handle_open(struct fw_dw_handle *h, struct fw_elf *elf, bool split)
{
	const char *const *names = split ? split_sections : plain_sections;
	struct fw_dw_object *o = &h->object;
	Dwarf_Error error = NULL;
	*o = (struct fw_dw_object){ .first = 'z', .elf = elf,
				    .word_size = (uint8_t)fw_elf_word_size(elf) };
	for (unsigned i = 0; names[i]; i++) {
		uint64_t size = fw_elf_section_size(elf, names[i]);
		if (size == 0)
			continue;
		o->sections[o->count].name = names[i];
		o->sections[o->count++].size = size;
	}
	o->interface = (Dwarf_Obj_Access_Interface){ .object = o, .methods = &methods };
	int code = dwarf_object_init_b(&o->interface, NULL, NULL, DW_GROUPNUMBER_ANY, &h->dbg,
				       &error);
	if (code == DW_DLV_ERROR)
		dwarf_dealloc_error(NULL, error);
	if (code != DW_DLV_OK)
		h->dbg = NULL;
	return h->dbg != NULL;
}

void fw_dw_handle_close(struct fw_dw_handle *h)
{
	Dwarf_Error error = NULL;
	if (h->dbg)
		dwarf_object_finish(h->dbg, &error);
	h->dbg = NULL;
}
