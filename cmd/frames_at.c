#include "cmd/frames_at.h"

static void take_public(const struct fw_image *image, uint32_t offset, struct fw_answer_at *a)
{
	const struct fw_public *p = fw_image_public(image, offset);
	if (p == NULL)
		return;
	a->known = a->is_public = true;
	a->count = 1;
	a->start = image->base + p->start;
	a->frames[0] = (struct fw_frame_at){ .function = fw_image_string(image, p->name) };
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
	if (line != NULL) {
		place.file = fw_image_numbered(image, FW_SEC_FILES, line->file);
		place.line = line->line;
		place.have_line = true;
	}
	ret->known = true;
	ret->start = image->base + func->entry;
	while (n > 0) {		// the innermost is where the line is, its caller at its call
		const struct fw_inline *call = calls[--n];
		place.function = fw_image_numbered(image, FW_SEC_ORIGINS, call->origin);
		ret->frames[ret->count++] = place;
		place.file = fw_image_numbered(image, FW_SEC_FILES, call->call_file);
		place.line = call->call_line;
		place.have_line = true;
	}
	place.function = fw_image_string(image, func->name);
	ret->frames[ret->count++] = place;
}
