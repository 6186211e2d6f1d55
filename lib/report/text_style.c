// Small things that every part of the text report prints with.
#include "lib/report/text_internal.h"

void fw_text_style(struct fw_text_writer *t, enum fw_style style)
{
	static const char *const codes[] = {
		[FW_STYLE_TITLE] = "\033[1m", [FW_STYLE_BAD] = "\033[1;31m",
		[FW_STYLE_NAME] = "\033[36m", [FW_STYLE_DIM] = "\033[2m",
	};
	if (t->o->color)
		fw_out_cstr(t->out, codes[style]);
}

void fw_text_style_end(struct fw_text_writer *t)
{
	if (t->o->color)
		fw_out_lit(t->out, "\033[0m");
}

size_t fw_text_width(const char *s, size_t n)
{
	size_t width = 0;
	for (size_t i = 0; i < n; i++)
		width += ((uint8_t)s[i] & 0xc0) != 0x80;
	return width;
}

void fw_text_pad(struct fw_text_writer *t, size_t from, size_t to)
{
	for (; from < to; from++)
		fw_out_byte(t->out, ' ');
}

void fw_text_count(struct fw_out *o, uint64_t v)
{
	if (v >= 1000) {
		fw_text_count(o, v / 1000);
		fw_out_printf(o, ",%03u", (unsigned)(v % 1000));
	} else {
		fw_out_dec(o, v);
	}
}

void fw_text_safe(struct fw_out *o, struct fw_str s)
{
	fw_out_safe(o, s.s, s.n);
}
