#include <libdwarf/dwarf.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "symfiles/dwarf_internal.h"

// Functions, lines and inlined calls of a whole file: one unit after the other.

enum {
	LARGE = 64 << 20,	// bytes of .debug_info that are not kept whole while it is read
	RELEASE = 8 << 20,
};

/** Read one unit and give the image its functions. What breaks in it costs the rest of it. */
static enum fw_code load_unit(struct fw_dw_loader *l, struct fw_dw_unit *u)
{
	if (!fw_dw_read_root(u)) {
		fw_dw_bad(l, FW_DIAG_MALFORMED);
		return FW_OK;
	}
	l->unit = u;
	enum fw_code code = fw_dw_scan(l, u, FW_DW_SCAN_ALL, &l->scopes);
	if (code == FW_NO_MEMORY)
		return code;
	if (code)
		fw_dw_bad(l, code == FW_LIMIT ? FW_DIAG_LIMIT : FW_DIAG_MALFORMED);
	if (l->funcs.count == 0)
		return FW_OK;
	code = fw_dw_read_lines(l, u);
	if (code == FW_NO_MEMORY)
		return code;
	if (code)
		fw_dw_bad(l, code == FW_LIMIT ? FW_DIAG_LIMIT : FW_DIAG_MALFORMED);
	code = fw_dw_emit(l, u);
	fw_dw_memo_clear(&l->names);
	return code;
}

/** A skeleton's unit in another file. */
static enum fw_code load_split(struct fw_dw_loader *l, struct fw_dw_unit *skeleton)
{
	struct fw_dw_file file = { .split = true };
	struct fw_dw_unit *u = fw_dw_split_unit(l, skeleton, &file);
	enum fw_code code = u ? load_unit(l, u) : load_unit(l, skeleton);
	l->unit = NULL;
	fw_dw_file_deinit(&file);
	return code;
}

static enum fw_code load_units(struct fw_dw_loader *l)
{
	struct fw_dw_file *f = &l->main;
	// what was read is given back where nothing can lead there again
	const bool once = f->sec[FW_DW_INFO].size >= LARGE && !fw_dw_refers_across(f);
	enum fw_code code = FW_OK;
	uint64_t released = 0;
	for (size_t i = 0; i < f->units.count && code == FW_OK; i++) {
		struct fw_dw_unit *u = &f->units.data[i];
		if (u->type == DW_UT_type || u->type == DW_UT_split_type)
			continue;
		if (fw_dw_read_root(u) && u->has_dwo)
			code = load_split(l, u);
		else
			code = load_unit(l, u);
		fw_dw_trim_abbrevs(f);
		fw_dw_trim_abbrevs(&l->alt);
		if (once && u->end - released >= RELEASE) {
			fw_elf_release(l->elf, &f->sec[FW_DW_INFO], u->end);
			released = u->end;
		}
	}
	return code;
}

static void refill_text(struct fw_dw_loader *l)
{
	uint64_t bytes = l->alt.sec[FW_DW_INFO].size;
	for (unsigned i = 0; i < FW_DW_SECTIONS; i++)
		bytes += l->main.sec[i].size;
	l->text_left = bytes > UINT64_MAX / 32 ? UINT64_MAX : 16 * bytes + (1 << 20);
}

static enum fw_code open_files(struct fw_dw_loader *l)
{
	const struct fw_elf_files *files = l->files;
	uint32_t bad = 0;
	l->elf = files->debug;
	if (l->elf)
		fw_dw_file_init(&l->main, l->elf, false);
	if (l->main.sec[FW_DW_INFO].size == 0 && files->elf) {
		l->elf = files->elf;
		fw_dw_file_init(&l->main, l->elf, false);
	}
	if (l->main.sec[FW_DW_INFO].size == 0)
		return FW_OK;
	l->base = fw_elf_base(l->elf);
	l->main.alt = &l->alt;
	if (files->alt)
		fw_dw_file_init(&l->alt, files->alt, false);
	l->main.details = l->alt.details = files->details;
	enum fw_code code = fw_dw_list_units(&l->main, 0, UINT64_MAX, &bad);
	if (code == FW_OK)
		code = fw_dw_list_units(&l->alt, 0, UINT64_MAX, &bad);
	while (bad--)
		fw_dw_bad(l, FW_DIAG_MALFORMED);
	refill_text(l);
	return code;
}

enum fw_code fw_dw_open(struct fw_dw_loader *l, const struct fw_elf_files *files,
			struct fw_builder *b)
{
	l->files = files;
	l->b = b;
	l->no_name = FW_NO_STRING;
	fw_dw_details_init(&l->details);
	l->text = fw_alloc_should_fail() ? NULL : malloc(FW_MAX_DEMANGLED);
	return l->text ? open_files(l) : FW_NO_MEMORY;
}

void fw_dw_close(struct fw_dw_loader *l)
{
	fw_dw_file_deinit(&l->main);
	fw_dw_file_deinit(&l->alt);
	fw_dw_file_deinit(&l->dwp);
	fw_vec_deinit(&l->ranges.list);
	fw_vec_deinit(&l->funcs);
	fw_vec_deinit(&l->calls);
	fw_vec_deinit(&l->scopes.list);
	fw_dw_lines_deinit(&l->lines);
	fw_dw_memo_clear(&l->names);
	fw_dw_memo_clear(&l->mangled);
	fw_vec_deinit(&l->file_of);
	fw_vec_deinit(&l->origin_of);
	fw_vec_deinit(&l->owned);
	fw_vec_deinit(&l->symbols.list);
	fw_inline_lay_deinit(&l->lay);
	fw_dw_details_deinit(&l->details);
	free(l->text);
}

void fw_dw_restart(struct fw_dw_loader *l)
{
	fw_dw_file_refill(&l->main);
	fw_dw_file_refill(&l->alt);
	fw_dw_file_refill(&l->dwp);
	refill_text(l);
	fw_dw_memo_clear(&l->names);
	fw_dw_memo_clear(&l->mangled);
	l->file_of.count = l->origin_of.count = 0;
	fw_dw_details_restart(&l->details);
	l->no_name = FW_NO_STRING;
	l->b = NULL;
}

enum fw_code fw_dwarf_into(const struct fw_elf_files *files, struct fw_builder *b,
			   struct fw_error *err)
{
	struct fw_dw_loader l = { .files = NULL };
	enum fw_code code = fw_dw_open(&l, files, b);
	if (code == FW_OK)
		code = load_units(&l);
	fw_dw_close(&l);
	if (code == FW_LIMIT)
		return fw_fail(err, code, NULL, "too much debug information");
	return code ? fw_fail(err, code, NULL, "out of memory") : FW_OK;
}
