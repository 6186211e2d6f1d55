#include "symfiles/lazy_read.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "symfiles/dwarf_internal.h"
#include "symfiles/dwarf_unit.h"
#include "symfiles/elf_symtab.h"

struct fw_lazy_reader {
	const struct fw_elf_files *files;
	struct fw_dwarf_units *units;	// NULL: no DWARF
	bool labels_read;
	struct fw_elf_labels labels;
	FW_VEC(struct fw_elf_label) picked;	// for the question at hand
};

enum fw_code fw_lazy_reader_open(const struct fw_elf_files *files, struct fw_lazy_reader **ret,
				 struct fw_error *err)
{
	struct fw_lazy_reader *r = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*r));
	if (r == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	r->files = files;
	enum fw_code code = fw_dwarf_units_open(files, &r->units, err);
	if (code == FW_NO_MEMORY) {
		fw_lazy_reader_close(r);
		return code;
	}
	// without DWARF, or with none that can be read, there are symbols
	*ret = r;
	return FW_OK;
}

void fw_lazy_reader_close(struct fw_lazy_reader *r)
{
	if (r == NULL)
		return;
	fw_dwarf_units_close(r->units);
	fw_elf_labels_deinit(&r->labels);
	fw_vec_deinit(&r->picked);
	free(r);
}

/** The label at or before an offset; NULL: none reaches it. */
static const struct fw_elf_label *label_at(const struct fw_lazy_reader *r, uint32_t offset)
{
	const struct fw_elf_label *list = r->labels.list.data;
	size_t low = 0, n = r->labels.list.count;
	while (n) {
		size_t half = n / 2;
		if (list[low + half].start <= offset) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low && list[low - 1].end > offset ? &list[low - 1] : NULL;
}

static enum fw_code choose(struct fw_lazy_reader *r, uint32_t from, uint32_t to)
{
	return r->units && to != 0 ? fw_dwarf_units_choose(r->units, from, to) : FW_OK;
}

static enum fw_code take(struct fw_lazy_reader *r, struct fw_builder *b, struct fw_error *err)
{
	return r->units ? fw_dwarf_units_take(r->units, b, err) : FW_OK;
}

/** Labels for what no function covers; functions that would cut one are chosen. */
static enum fw_code pick_labels(struct fw_lazy_reader *r, const uint32_t *offsets, size_t n,
				const struct fw_builder *b)
{
	struct fw_dw_cover funcs = { { NULL, 0, 0 } };
	const struct fw_elf_label *last = NULL;
	enum fw_code code = FW_OK;
	if (b->funcs.count && !fw_vec_reserve(&funcs.list, b->funcs.count))
		return FW_NO_MEMORY;
	for (size_t i = 0; i < b->funcs.count; i++) {
		const struct fw_func *f = &b->funcs.data[i];
		funcs.list.data[funcs.list.count++] = (struct fw_dw_covered){
			.range = { f->start, f->start + f->size } };
	}
	fw_dw_cover_sort(&funcs);
	r->picked.count = 0;
	for (size_t i = 0; i < n && code == FW_OK; i++) {
		size_t at = SIZE_MAX;
		if (offsets[i] == UINT32_MAX ||
		    fw_dw_cover_next(&funcs, offsets[i], offsets[i] + 1, &at))
			continue;
		if (!r->labels_read && !fw_elf_labels_read(r->files, &r->labels))
			code = FW_NO_MEMORY;
		r->labels_read = true;
		const struct fw_elf_label *label = label_at(r, offsets[i]);
		if (code || label == NULL)
			continue;
		if (label != last) {
			// the next one, which need not be asked for, ends it in the whole image
			struct fw_elf_label pick = *label;
			if (label + 1 < r->labels.list.data + r->labels.list.count &&
			    label[1].start < pick.end)
				pick.end = label[1].start;
			if (!fw_vec_push(&r->picked, pick))
				code = FW_NO_MEMORY;
		}
		last = label;
		if (code == FW_OK)
			code = choose(r, label->start, offsets[i] + 1);
	}
	fw_vec_deinit(&funcs.list);
	return code;
}

static enum fw_code answer(struct fw_lazy_reader *r, const uint32_t *offsets, size_t n,
			   struct fw_builder *b, struct fw_error *err)
{
	enum fw_code code = FW_OK;
	if (r->units)
		fw_dwarf_units_restart(r->units);
	for (size_t i = 0; i < n && code == FW_OK; i++)
		if (offsets[i] != UINT32_MAX)
			code = choose(r, offsets[i], offsets[i] + 1);
	if (code == FW_OK)
		code = take(r, b, err);
	if (code == FW_OK)
		code = pick_labels(r, offsets, n, b);
	if (code == FW_OK)
		code = take(r, b, err);
	if (code == FW_NO_MEMORY)
		return fw_fail(err, code, NULL, "out of memory");
	return code ? code : fw_elf_labels_into(r->picked.data, r->picked.count,
						r->files->raw_names, r->files->details, b, err);
}

enum fw_code fw_lazy_reader_answer(struct fw_lazy_reader *r, const uint32_t *offsets, size_t n,
				   struct fw_image **ret, struct fw_error *err)
{
	struct fw_builder *b;
	enum fw_code code = fw_builder_create(&b, err);
	if (code != FW_OK)
		return code;
	fw_elf_identity_into(r->files->elf, b);
	code = answer(r, offsets, n, b, err);
	if (code != FW_OK) {
		fw_builder_destroy(b);
		return code;
	}
	return fw_builder_freeze(b, ret, err);
}
