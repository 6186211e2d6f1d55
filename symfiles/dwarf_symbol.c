#include <elf.h>
#include <stdlib.h>

#include "symfiles/demangle.h"
#include "symfiles/dwarf_internal.h"

// gcc gives functions that only their unit sees no linkage name, but the symbol table
// has them mangled: with their parameters, and lambdas with where they stand.

static int by_start(const void *pa, const void *pb)
{
	const struct fw_dw_symbol *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static enum fw_code read_symbols(struct fw_dw_loader *l)
{
	struct fw_dw_symbols *s = &l->symbols;
	struct fw_elf_sym sym;
	s->read = true;
	if (!fw_elf_symtab(l->elf, SHT_SYMTAB, &s->table))
		return FW_OK;
	for (uint64_t i = 0; fw_elf_sym(&s->table, i, &sym); i++) {
		uint64_t start = sym.value - l->base;
		if (sym.type != STT_FUNC || sym.section == SHN_UNDEF || sym.value < l->base ||
		    start >= UINT32_MAX)
			continue;
		if (!fw_is_mangled(fw_elf_sym_name(&s->table, sym.name)))
			continue;
		struct fw_dw_symbol entry = { (uint32_t)start, sym.name };
		if (!fw_vec_push(&s->list, entry))
			return FW_NO_MEMORY;
	}
	if (s->list.count)
		qsort(s->list.data, s->list.count, sizeof(*s->list.data), by_start);
	return FW_OK;
}

enum fw_code fw_dw_symbol_name(struct fw_dw_loader *l, uint32_t start, uint32_t *ret)
{
	struct fw_dw_symbols *s = &l->symbols;
	if (!s->read && read_symbols(l))
		return FW_NO_MEMORY;
	size_t low = 0, n = s->list.count;
	while (n) {
		size_t half = n / 2;
		if (s->list.data[low + half].start < start) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (low == s->list.count || s->list.data[low].start != start)
		return FW_OK;
	struct fw_str name = fw_elf_sym_name(&s->table, s->list.data[low].name);
	// which copy it is (".constprop.0", ".cold") is no part of its name
	const char *dot = memchr(name.s, '.', name.n);
	if (dot)
		name.n = (size_t)(dot - name.s);
	uint32_t string = FW_NO_STRING;
	enum fw_code code = fw_dw_mangled_name(l, name, &string);
	if (code == FW_OK && string != FW_NO_STRING)
		*ret = string;
	return code;
}
