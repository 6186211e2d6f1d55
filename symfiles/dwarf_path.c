#include "symfiles/dwarf_internal.h"

// Source files' paths, joined as addr2line does: comp_dir/include_dir/file.

static bool absolute(struct fw_str s)
{
	return s.n && (s.s[0] == '/' || (s.n > 2 && s.s[1] == ':' &&
					 (s.s[2] == '\\' || s.s[2] == '/')));
}

/** Append a part behind a slash. False: too long. */
static bool append(char *text, size_t *n, struct fw_str part)
{
	bool slash = *n != 0;
	if (part.n == 0)
		return true;
	if (part.n + slash > FW_MAX_DWARF_PATH - *n)
		return false;
	if (slash)
		text[(*n)++] = '/';
	memcpy(text + *n, part.s, part.n);
	*n += part.n;
	return true;
}

static bool join(const struct fw_dw_lines *lines, const struct fw_dw_line_file *f, char *text,
		 size_t *n)
{
	struct fw_str dir = { NULL, 0 };
	*n = 0;
	if (absolute(f->name))
		return append(text, n, f->name);
	// directory 0 is the unit's own in every version
	if (f->dir < lines->dirs.count && (f->dir || lines->comp_dir.n == 0))
		dir = lines->dirs.data[f->dir];
	return (absolute(dir) || append(text, n, lines->comp_dir)) && append(text, n, dir) &&
	       append(text, n, f->name);
}

enum fw_code fw_dw_file_number(struct fw_dw_loader *l, uint64_t file, uint32_t *ret)
{
	struct fw_dw_lines *lines = &l->lines;
	uint64_t at = file - lines->base_index;
	uint32_t string;
	size_t n;
	*ret = FW_NO_INDEX;
	if (file < lines->base_index || at >= lines->files.count)
		return FW_OK;
	struct fw_dw_line_file *f = &lines->files.data[at];
	if (f->number != FW_NO_INDEX) {
		*ret = f->number;
		return FW_OK;
	}
	if (f->name.n == 0)
		return FW_OK;
	if (!join(lines, f, l->text, &n) || n > l->text_left) {
		fw_dw_bad(l, FW_DIAG_LIMIT);
		f->name.n = 0;
		return FW_OK;
	}
	l->text_left -= n;
	enum fw_code code = fw_intern_add(&l->b->strings, l->text, n, &string);
	if (code == FW_OK && l->files->details)
		f->number = string;
	else if (code == FW_OK)
		code = fw_dw_number(l, false, string, &f->number);
	*ret = f->number;
	return code;
}
