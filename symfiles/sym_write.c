#include "symfiles/sym_write.h"

#include <ctype.h>

#include "lib/rules/win_print.h"
#include "symfiles/sym_writer.h"

void fw_sym_put_name(struct fw_out *out, struct fw_str name, const char *instead)
{
	size_t from = 0;
	while (name.n && fw_is_blank(name.s[0])) {	// readers would skip them
		name.s++;
		name.n--;
	}
	if (name.n == 0)
		fw_out_cstr(out, instead);
	for (size_t i = 0; i < name.n; i++) {
		if (name.s[i] != '\n' && name.s[i] != '\r' && name.s[i] != '\0')
			continue;
		fw_out_write(out, name.s + from, i - from);
		fw_out_byte(out, '?');
		from = i + 1;
	}
	if (from < name.n)
		fw_out_write(out, name.s + from, name.n - from);
	fw_out_byte(out, '\n');
}

static void put_upper(struct fw_out *out, const char *text)
{
	for (; *text; text++)
		fw_out_byte(out, (char)toupper((unsigned char)*text));
}

static void write_head(struct fw_sym_writer *w, const char *name)
{
	const struct fw_image *image = w->image;
	struct fw_out *out = w->out;
	const char *arch = w->cpu->sym_names[0];

	fw_out_lit(out, "MODULE ");
	fw_out_cstr(out, image->os[0] ? image->os : "unknown");
	fw_out_byte(out, ' ');
	fw_out_cstr(out, arch ? arch : "unknown");
	fw_out_byte(out, ' ');
	fw_out_cstr(out, image->debug_id.n ? image->debug_id.text
					   : "000000000000000000000000000000000");
	fw_out_byte(out, ' ');
	fw_sym_put_name(out, (struct fw_str){ image->name, strlen(image->name) }, name);
	if (image->code_id.n >= FW_MIN_IDENT) {	// a shorter one no reader takes for an id
		fw_out_lit(out, "INFO CODE_ID ");
		put_upper(out, image->code_id.text);
		fw_out_byte(out, '\n');
	}
}

static void write_numbered(struct fw_sym_writer *w, enum fw_section section, const char *word)
{
	const struct fw_numbered *list = w->image->section[section];
	uint32_t n = fw_image_count(w->image, section, sizeof(*list));
	for (uint32_t i = 0; i < n; i++) {
		fw_out_cstr(w->out, word);
		fw_out_byte(w->out, ' ');
		fw_out_dec(w->out, list[i].number);
		fw_out_byte(w->out, ' ');
		fw_sym_put_name(w->out, fw_image_string(w->image, list[i].string), "?");
	}
}

/** Where a reader will end public @p i, as symfiles/breakpad_stack.c does it. */
static uint64_t end_as_read(const struct fw_sym_writer *w, uint32_t i, uint32_t func, size_t *init)
{
	const struct fw_public *p = &w->publics[i];
	uint64_t end = UINT32_MAX;
	while (*init < w->inits.count && w->inits.data[*init].end <= p->start)
		++*init;
	if (*init < w->inits.count) {
		const struct fw_sym_range *r = &w->inits.data[*init];
		end = r->start <= p->start ? r->end : r->start;
	}
	if (func < w->num_funcs && w->funcs[func].start < end)
		end = w->funcs[func].start;
	if (i + 1 < w->num_publics && w->publics[i + 1].start < end)
		end = w->publics[i + 1].start;
	return end;
}

/** A symbol whose end a reader would not find is a FUNC: that has a size. */
static void write_publics(struct fw_sym_writer *w)
{
	uint32_t func = 0;
	size_t init = 0;
	// STACK WIN stands only in files that have no better ends than ours
	bool has_win = w->image->section_bytes[FW_SEC_WIN_RECORDS] != 0;
	for (uint32_t i = 0; i < w->num_publics; i++) {
		const struct fw_public *p = &w->publics[i];
		while (func < w->num_funcs && w->funcs[func].start <= p->start)
			func++;
		bool inside = func && p->start - w->funcs[func - 1].start < w->funcs[func - 1].size;
		bool sized = !inside && !has_win && end_as_read(w, i, func, &init) != p->end;
		fw_out_cstr(w->out, sized ? "FUNC " : "PUBLIC ");
		fw_out_hex(w->out, p->start, 1);
		fw_out_byte(w->out, ' ');
		if (sized) {
			fw_out_hex(w->out, p->end - p->start, 1);
			fw_out_byte(w->out, ' ');
		}
		fw_out_hex(w->out, p->params_size, 1);
		fw_out_byte(w->out, ' ');
		fw_sym_put_name(w->out, fw_image_string(w->image, p->name), "<name omitted>");
	}
}

static void write_win(struct fw_sym_writer *w)
{
	const struct fw_stack_win *list = w->image->section[FW_SEC_WIN_RECORDS];
	uint32_t n = fw_image_count(w->image, FW_SEC_WIN_RECORDS, sizeof(*list));
	for (uint32_t i = 0; i < n; i++) {
		fw_win_write(w->out, &w->image->programs, &list[i]);
		fw_out_byte(w->out, '\n');
	}
}

/** A mapped image is verified whole: everything of it is going to be read. */
static enum fw_code verify(const struct fw_image *image, struct fw_error *err)
{
	if (image->block == NULL)
		return FW_OK;
	for (unsigned s = 0; s < FW_SEC_COUNT; s++)
		if (!fw_image_touch(image, image->section[s], image->section_bytes[s]))
			return fw_fail(err, FW_MALFORMED, NULL, "the compiled symbols are damaged");
	return fw_image_check(image, err);
}

enum fw_code fw_sym_write(const struct fw_image *image, const char *name, struct fw_out *out,
			  struct fw_error *err)
{
	struct fw_sym_writer w = {
		.image = image, .cpu = fw_cpu_get(image->cpu), .out = out,
		.funcs = image->section[FW_SEC_FUNCS],
		.publics = image->section[FW_SEC_PUBLICS],
		.num_funcs = fw_image_count(image, FW_SEC_FUNCS, sizeof(struct fw_func)),
		.num_publics = fw_image_count(image, FW_SEC_PUBLICS, sizeof(struct fw_public)),
	};
	enum fw_code code = verify(image, err);
	if (code)
		return code;
	code = fw_sym_plan_cfi(&w);
	if (code == FW_OK) {
		write_head(&w, name);
		write_numbered(&w, FW_SEC_FILES, "FILE");
		write_numbered(&w, FW_SEC_ORIGINS, "INLINE_ORIGIN");
		code = fw_sym_write_funcs(&w);
	}
	if (code == FW_OK) {
		write_publics(&w);
		write_win(&w);
		fw_sym_write_cfi(&w);
	}
	fw_vec_deinit(&w.inits);
	return code ? fw_fail(err, code, NULL, "out of memory") : FW_OK;
}
