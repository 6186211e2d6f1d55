#include "lib/report/names.h"

static void set_line(const struct fw_image *image, const struct fw_line *line,
		     uint32_t pc_offset, struct fw_report_frame *f)
{
	f->file = fw_image_numbered(image, FW_SEC_FILES, line->file);
	f->line = line->line;
	f->have_line = true;
	f->line_offset = pc_offset - line->addr;
}

/**
 * An inlined call's own line is where it calls the next inner one; the line
 * record belongs to the innermost, and the outermost call's site to the
 * physical function (peers' traps: "Inline lines shift").
 */
static void set_inlines(const struct fw_image *image, const struct fw_func *func,
			uint32_t offset, struct fw_report_frame *f)
{
	const struct fw_inline *chain[FW_MAX_INLINE_DEPTH];
	uint32_t n = fw_image_inlines(image, func, offset, chain, FW_MAX_INLINE_DEPTH);
	struct fw_str file = f->file;
	uint32_t line = f->line;

	f->num_inlines = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct fw_inline *call = chain[n - 1 - i];
		f->inlines[i] = (struct fw_report_inline){
			.function = fw_image_numbered(image, FW_SEC_ORIGINS, call->origin),
			.file = file,
			.line = line,
		};
		line = call->call_line;
		// The old INLINE form does not say which file the call is in.
		file = call->call_file == FW_NO_INDEX ? file :
			fw_image_numbered(image, FW_SEC_FILES, call->call_file);
	}
	f->file = file;
	f->line = line;
}

void fw_frame_names(const struct fw_image *image, uint64_t lookup_offset, uint64_t pc_offset,
		    struct fw_report_frame *f)
{
	if (lookup_offset > UINT32_MAX)
		return;
	uint32_t offset = (uint32_t)lookup_offset;
	const struct fw_func *func = fw_image_func(image, offset);
	if (func == NULL) {
		const struct fw_public *public = fw_image_public(image, offset);
		if (public != NULL) {
			f->function = fw_image_string(image, public->name);
			f->function_offset = lookup_offset - public->start;
			f->function_pc_offset = pc_offset - public->start;
		}
		return;
	}
	f->function = fw_image_string(image, func->name);
	f->function_offset = lookup_offset - func->entry;
	f->function_pc_offset = pc_offset - func->entry;
	const struct fw_line *line = fw_image_line(image, func, offset);
	if (line != NULL)
		set_line(image, line, (uint32_t)pc_offset, f);
	if (func->num_inlines != 0)
		set_inlines(image, func, offset, f);
}
