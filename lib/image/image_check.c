#include <stdio.h>
#include <string.h>

#include "lib/image/block.h"

#define COUNT(image, s, type) fw_image_count(image, s, sizeof(type))

/** Every chunk of a mapped block. */
static enum fw_code check_chunks(const struct fw_image *image, struct fw_error *err)
{
	uint64_t n = image->chunk_ok ? fw_block_chunks(image->block_size) : 0;
	for (uint64_t i = 0; i < n; i++) {
		if (!fw_image_verify_(image, i, i)) {
			char place[40];
			snprintf(place, sizeof(place), "offset 0x%llx",
				 (unsigned long long)i << FW_CHUNK_SHIFT);
			return fw_fail(err, FW_MALFORMED, place, "checksum does not match");
		}
	}
	return FW_OK;
}

static uint32_t num_strings(const struct fw_image *image)
{
	uint32_t n = COUNT(image, FW_SEC_STRING_OFFSETS, uint32_t);
	return n ? n - 1 : 0;
}

static enum fw_code check_strings(const struct fw_image *image, struct fw_error *err)
{
	const uint32_t *offset = image->section[FW_SEC_STRING_OFFSETS];
	uint32_t n = num_strings(image);
	if (n && offset[0] != 0)
		return fw_fail(err, FW_MALFORMED, NULL, "strings do not begin at 0");
	for (uint32_t i = 0; i < n; i++)
		if (offset[i] > offset[i + 1])
			return fw_fail(err, FW_MALFORMED, NULL, "string %u has no end", i);
	if (n && offset[n] != image->section_bytes[FW_SEC_STRING_BYTES])
		return fw_fail(err, FW_MALFORMED, NULL, "strings do not fill their section");
	return FW_OK;
}

static enum fw_code check_lines(const struct fw_image *image, uint32_t index,
				const struct fw_func *f, struct fw_error *err)
{
	uint32_t all = COUNT(image, FW_SEC_LINES, struct fw_line);
	if (f->first_line > all || f->num_lines > all - f->first_line)
		return fw_fail(err, FW_MALFORMED, NULL, "function %u: no such lines", index);
	const struct fw_line *line = image->section[FW_SEC_LINES];
	for (uint32_t i = 0; i < f->num_lines; i++) {
		const struct fw_line *e = &line[f->first_line + i];
		if (e->addr < f->entry || (i && e->addr <= e[-1].addr))
			return fw_fail(err, FW_MALFORMED, NULL,
				       "function %u: line %u is out of order", index, i);
	}
	return FW_OK;
}

/** Is every byte of inlines[first .. end) in some of inlines[up .. first)? */
static bool nested(const struct fw_inline *a, uint32_t up, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		uint32_t at = a[i].start, stop = at + a[i].size;
		while (up < first && a[up].start + a[up].size <= at)
			up++;
		for (uint32_t c = up; at < stop; c++) {
			if (c == first || a[c].start > at)
				return false;
			at = a[c].start + a[c].size;
		}
	}
	return true;
}

static enum fw_code check_inlines(const struct fw_image *image, uint32_t index,
				  const struct fw_func *f, struct fw_error *err)
{
	uint32_t all = COUNT(image, FW_SEC_INLINES, struct fw_inline), n = f->num_inlines;
	if (f->first_inline > all || n > all - f->first_inline)
		return fw_fail(err, FW_MALFORMED, NULL, "function %u: no such inline calls",
			       index);
	const struct fw_inline *a = image->section[FW_SEC_INLINES];
	if (n)
		a += f->first_inline;
	uint32_t up = 0, first = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = i ? a[i - 1].depth + 1 : 0;
		if (a[i].size == 0 || a[i].size > UINT32_MAX - a[i].start ||
		    a[i].start < f->entry || a[i].depth >= FW_MAX_INLINE_DEPTH)
			return fw_fail(err, FW_MALFORMED, NULL,
				       "function %u: inline call %u has a bad range", index, i);
		if (i && a[i].depth == a[i - 1].depth) {
			if (a[i].start < a[i - 1].start + a[i - 1].size)
				return fw_fail(err, FW_MALFORMED, NULL,
					       "function %u: inline call %u overlaps", index, i);
		} else if (a[i].depth != from) {
			return fw_fail(err, FW_MALFORMED, NULL,
				       "function %u: inline call %u has no parent", index, i);
		} else {
			up = first;
			first = i;
		}
		bool last = i + 1 == n || a[i + 1].depth != a[i].depth;
		if (last && a[i].depth && !nested(a, up, first, i + 1))
			return fw_fail(err, FW_MALFORMED, NULL,
				       "function %u: inline calls at depth %u leave their parents",
				       index, a[i].depth);
	}
	return FW_OK;
}

static enum fw_code check_funcs(const struct fw_image *image, struct fw_error *err)
{
	const struct fw_func *f = image->section[FW_SEC_FUNCS];
	const uint32_t *start = image->section[FW_SEC_FUNC_STARTS];
	uint32_t n = COUNT(image, FW_SEC_FUNCS, struct fw_func);
	if (COUNT(image, FW_SEC_FUNC_STARTS, uint32_t) != n)
		return fw_fail(err, FW_MALFORMED, NULL, "functions and starts differ in number");
	for (uint32_t i = 0; i < n; i++) {
		if (start[i] != f[i].start || f[i].size == 0 || f[i].entry > f[i].start ||
		    f[i].size > UINT32_MAX - f[i].start || f[i].name >= num_strings(image))
			return fw_fail(err, FW_MALFORMED, NULL, "function %u has a bad field", i);
		if (i && f[i].start < f[i - 1].start + f[i - 1].size)
			return fw_fail(err, FW_MALFORMED, NULL, "function %u overlaps", i);
		enum fw_code code = check_lines(image, i, &f[i], err);
		if (code == FW_OK)
			code = check_inlines(image, i, &f[i], err);
		if (code)
			return code;
	}
	return FW_OK;
}

static enum fw_code check_names(const struct fw_image *image, struct fw_error *err)
{
	static const enum fw_section sections[] = { FW_SEC_FILES, FW_SEC_ORIGINS };
	for (unsigned k = 0; k < 2; k++) {
		const struct fw_numbered *e = image->section[sections[k]];
		uint32_t n = COUNT(image, sections[k], struct fw_numbered);
		for (uint32_t i = 0; i < n; i++)
			if (e[i].string >= num_strings(image) ||
			    (i && e[i].number <= e[i - 1].number))
				return fw_fail(err, FW_MALFORMED, NULL, "%s %u is bad",
					       k ? "inline origin" : "file", i);
	}
	const struct fw_public *p = image->section[FW_SEC_PUBLICS];
	uint32_t n = COUNT(image, FW_SEC_PUBLICS, struct fw_public);
	for (uint32_t i = 0; i < n; i++)
		if (p[i].name >= num_strings(image) || p[i].end <= p[i].start ||
		    (i && p[i].start < p[i - 1].end))
			return fw_fail(err, FW_MALFORMED, NULL, "public %u is bad", i);
	return FW_OK;
}

static bool string_or_none(const struct fw_image *image, uint32_t id)
{
	return id == FW_NO_INDEX || id < num_strings(image);
}

static bool decl_ok(const struct fw_image *image, const struct fw_decl *d)
{
	return string_or_none(image, d->name) && string_or_none(image, d->file);
}

static enum fw_code check_details(const struct fw_image *image, struct fw_error *err)
{
	uint32_t places = COUNT(image, FW_SEC_PLACES, struct fw_line_place);
	uint32_t origins = COUNT(image, FW_SEC_ORIGIN_DECLS, struct fw_decl);
	uint32_t n = COUNT(image, FW_SEC_DECLS, struct fw_func_decl);
	const struct fw_decl *o = image->section[FW_SEC_ORIGIN_DECLS];
	const struct fw_func_decl *d = image->section[FW_SEC_DECLS];
	if ((places && places != COUNT(image, FW_SEC_FILES, struct fw_numbered)) ||
	    (origins && origins != COUNT(image, FW_SEC_ORIGINS, struct fw_numbered)))
		return fw_fail(err, FW_MALFORMED, NULL, "details differ in number");
	for (uint32_t i = 0; i < origins; i++)
		if (!decl_ok(image, &o[i]))
			return fw_fail(err, FW_MALFORMED, NULL, "origin's declaration %u is bad", i);
	for (uint32_t i = 0; i < n; i++)
		if (!decl_ok(image, &d[i].decl) || (i && d[i].entry <= d[i - 1].entry))
			return fw_fail(err, FW_MALFORMED, NULL, "declaration %u is bad", i);
	return FW_OK;
}

static enum fw_code check_hot(const struct fw_image *image, struct fw_error *err)
{
	const struct fw_cfi_table *t = &image->cfi;
	const struct fw_cpu *cpu = fw_cpu_get(image->cpu);
	if (t->num_hot != t->num_rows)
		return fw_fail(err, FW_MALFORMED, NULL, "rows and their short forms differ in number");
	for (uint32_t row = 0; row < t->num_rows; row++) {
		uint32_t count;
		const struct fw_rule *rules = fw_cfi_rules(t, row, &count);
		struct fw_cfi_hot hot = { .base = FW_HOT_NONE };
		if (rules)
			hot = fw_cfi_hot_of(rules, count, cpu);
		if (memcmp(&hot, &t->hot[row], sizeof(hot)) != 0)
			return fw_fail(err, FW_MALFORMED, NULL, "row %u: wrong short form", row);
	}
	return FW_OK;
}

static enum fw_code check_programs(const struct fw_image *image, struct fw_error *err)
{
	const struct fw_programs *set = &image->programs;
	for (uint32_t i = 0; i < set->num_programs; i++) {
		const struct fw_program *p = &set->programs[i];
		uint32_t bad = 0;
		if (p->first > set->num_ops || p->count > set->num_ops - p->first)
			return fw_fail(err, FW_MALFORMED, NULL, "program %u lies outside", i);
		if (p->count && !fw_program_sound(set->ops + p->first, p->count, &bad))
			return fw_fail(err, FW_MALFORMED, NULL, "program %u: bad op %u", i, bad);
	}
	for (uint32_t i = 0; i < image->cfi.num_rules; i++) {
		const struct fw_rule *r = &image->cfi.rules[i];
		if ((r->kind == FW_RULE_PROGRAM || r->kind == FW_RULE_LOAD_PROGRAM) &&
		    (uint32_t)r->arg >= set->num_programs)
			return fw_fail(err, FW_MALFORMED, NULL, "rule %u: no such program", i);
	}
	return FW_OK;
}

static enum fw_code check_win(const struct fw_image *image, struct fw_error *err)
{
	static const enum fw_section sections[] = { FW_SEC_WIN_RANGES4, FW_SEC_WIN_RANGES0 };
	const struct fw_stack_win *w = image->section[FW_SEC_WIN_RECORDS];
	uint32_t records = COUNT(image, FW_SEC_WIN_RECORDS, struct fw_stack_win);
	for (uint32_t i = 0; i < records; i++)
		if (w[i].size == 0 || w[i].size > UINT32_MAX - w[i].start ||
		    (w[i].type != 4 && w[i].type != 0) ||
		    (w[i].program != FW_NO_PROGRAM && w[i].program >= image->programs.num_programs))
			return fw_fail(err, FW_MALFORMED, NULL, "STACK WIN record %u is bad", i);
	for (unsigned k = 0; k < 2; k++) {
		const struct fw_stack_win_range *r = image->section[sections[k]];
		uint32_t n = COUNT(image, sections[k], struct fw_stack_win_range);
		for (uint32_t i = 0; i < n; i++)
			if (r[i].end <= r[i].start || (i && r[i].start < r[i - 1].end) ||
			    r[i].record >= records || w[r[i].record].type != (k ? 0 : 4) ||
			    r[i].start < w[r[i].record].start ||
			    r[i].end > w[r[i].record].start + w[r[i].record].size)
				return fw_fail(err, FW_MALFORMED, NULL,
					       "STACK WIN range %u of type %u is bad", i,
					       k ? 0 : 4);
	}
	return FW_OK;
}

enum fw_code fw_image_check(const struct fw_image *image, struct fw_error *err)
{
	enum fw_code code = check_chunks(image, err);
	if (code == FW_OK)
		code = check_strings(image, err);
	if (code == FW_OK)
		code = check_funcs(image, err);
	if (code == FW_OK)
		code = check_names(image, err);
	if (code == FW_OK)
		code = check_details(image, err);
	if (code == FW_OK)
		code = fw_cfi_check(&image->cfi, err);
	if (code == FW_OK)
		code = check_hot(image, err);
	if (code == FW_OK)
		code = check_programs(image, err);
	if (code == FW_OK)
		code = check_win(image, err);
	return code;
}
