#include "cmd/frames_at.h"

static void take_decl(const struct fw_image *image, const struct fw_decl *d,
		      struct fw_frame_at *f)
{
	if (d == NULL)
		return;
	if (d->name != FW_NO_INDEX)
		f->short_name = fw_image_string(image, d->name);
	if (d->file != FW_NO_INDEX)
		f->start_file = fw_image_string(image, d->file);
	f->start_line = d->line;
	f->has_start = d->start != FW_NO_INDEX;
	f->start = image->base + d->start;
}

static void take_place(const struct fw_image *image, uint32_t file, uint32_t line,
		       struct fw_frame_at *f)
{
	const struct fw_line_place *p = fw_image_place(image, file);
	*f = (struct fw_frame_at){ .file = fw_image_numbered(image, FW_SEC_FILES, file),
				   .line = line, .have_line = true };
	if (p != NULL) {
		f->column = p->column;
		f->discriminator = p->discriminator;
	}
}

static void take_public(const struct fw_image *image, uint32_t offset, struct fw_answer_at *a)
{
	const struct fw_public *p = fw_image_public(image, offset);
	if (p == NULL)
		return;
	a->known = a->is_public = true;
	a->count = 1;
	a->start = image->base + p->start;
	a->frames[0] = (struct fw_frame_at){ .function = fw_image_string(image, p->name) };
	take_decl(image, fw_image_decl(image, p->start), &a->frames[0]);
}

bool fw_offset_in(const struct fw_symbol_file *file, uint64_t address, uint32_t *ret)
{
	uint64_t base = file->image->base;
	if (address < base || address - base > UINT32_MAX)
		return false;
	*ret = (uint32_t)(address - base);
	return true;
}

void fw_frames_at(const struct fw_symbol_file *file, uint64_t address, struct fw_answer_at *ret)
{
	const struct fw_inline *calls[FW_MAX_INLINE_DEPTH];
	uint32_t offset;
	ret->known = ret->is_public = false;
	ret->count = 0;
	const struct fw_image *image = fw_offset_in(file, address, &offset) ?
				       fw_symbol_names(file, offset) : NULL;
	if (image == NULL)
		return;
	const struct fw_func *func = fw_image_func(image, offset);
	if (func == NULL) {
		take_public(image, offset, ret);
		return;
	}
	const struct fw_line *line = fw_image_line(image, func, offset);
	uint32_t n = fw_image_inlines(image, func, offset, calls, FW_MAX_INLINE_DEPTH);
	struct fw_frame_at place = { .have_line = false };
	if (line != NULL)
		take_place(image, line->file, line->line, &place);
	ret->known = true;
	ret->start = image->base + func->entry;
	while (n > 0) {		// the innermost is where the line is, its caller at its call
		const struct fw_inline *call = calls[--n];
		place.function = fw_image_numbered(image, FW_SEC_ORIGINS, call->origin);
		take_decl(image, fw_image_origin_decl(image, call->origin), &place);
		ret->frames[ret->count++] = place;
		take_place(image, call->call_file, call->call_line, &place);
	}
	place.function = fw_image_string(image, func->name);
	take_decl(image, fw_image_decl(image, func->entry), &place);
	ret->frames[ret->count++] = place;
}
