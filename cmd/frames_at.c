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

void fw_frames_at(const struct fw_image *image, uint64_t address, struct fw_answer_at *ret)
{
	const struct fw_inline *calls[FW_MAX_INLINE_DEPTH];
	uint64_t offset = address - image->base;
	ret->known = ret->is_public = false;
	ret->count = 0;
	if (address < image->base || offset > UINT32_MAX)
		return;
	const struct fw_func *func = fw_image_func(image, (uint32_t)offset);
	if (func == NULL) {
		take_public(image, (uint32_t)offset, ret);
		return;
	}
	const struct fw_line *line = fw_image_line(image, func, (uint32_t)offset);
	uint32_t n = fw_image_inlines(image, func, (uint32_t)offset, calls, FW_MAX_INLINE_DEPTH);
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
