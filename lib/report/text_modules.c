// The report for a person: modules, their symbols and what was wrong with those.
#include "lib/report/text_internal.h"

enum { MAX_MODULE_NAME = 32 };

struct widths { size_t name, status; };

static const char *status_word(enum fw_symbol_status status)
{
	switch (status) {
	case FW_SYMBOLS_NOT_SEARCHED: return "symbols not searched";
	case FW_SYMBOLS_FOUND: return "symbols found";
	case FW_SYMBOLS_LOADED: return "symbols loaded";
	case FW_SYMBOLS_MISSING: return "symbols missing";
	case FW_SYMBOLS_MISMATCH: return "symbols mismatch";
	case FW_SYMBOLS_CORRUPT: return "symbols corrupt";
	}
	return "symbols not searched";
}

static const char *cfi_word(const struct fw_report_module *m)
{
	return m->cfi == FW_CFI_LOADED ? "CFI" : m->cfi == FW_CFI_MISSING ? "no CFI" : "";
}

static size_t safe_width(struct fw_text_writer *t, struct fw_str s)
{
	fw_text_safe(&t->cell, s);
	size_t width = fw_text_width(t->cell.data, t->cell.count);
	t->cell.count = 0;
	return width;
}

static struct widths measure(struct fw_text_writer *t)
{
	struct widths w = { 0 };
	for (uint32_t i = 0; i < t->r->num_modules; i++) {
		const struct fw_report_module *m = &t->r->modules[i];
		size_t name = safe_width(t, m->name), status = strlen(status_word(m->symbols->status));
		if (name > w.name && name <= MAX_MODULE_NAME)
			w.name = name;
		if (status > w.status)
			w.status = status;
	}
	return w;
}

static void put_diagnostic(struct fw_text_writer *t, const struct fw_diag *d, unsigned kind)
{
	static const struct { const char *one, *many, *fate; } words[] = {
		[FW_DIAG_MALFORMED] = { "malformed record", "malformed records", "ignored" },
		[FW_DIAG_UNKNOWN] = { "unknown record", "unknown records", "ignored" },
		[FW_DIAG_ORPHAN] = { "record without its FUNC", "records without their FUNC", "ignored" },
		[FW_DIAG_OVERLAP] = { "overlapping range", "overlapping ranges", "cut" },
		[FW_DIAG_RANGE] = { "impossible range", "impossible ranges", "ignored" },
		[FW_DIAG_RULE] = { "unusable unwind rule", "unusable unwind rules", "ignored" },
		[FW_DIAG_LIMIT] = { "record over a limit", "records over a limit", "ignored" },
	};
	_Static_assert(sizeof(words) / sizeof(words[0]) == FW_DIAG_COUNT, "a text for each kind");
	const uint32_t count = d->count[kind];
	uint32_t listed = 0;
	fw_out_lit(t->out, "      ");
	fw_text_count(t->out, count);
	fw_out_printf(t->out, " %s %s", count == 1 ? words[kind].one : words[kind].many,
		      words[kind].fate);
	for (uint32_t i = 0; i < count && i < FW_MAX_DIAG_SAMPLES && d->lines[kind][i]; i++) {
		fw_out_cstr(t->out, listed++ ? ", " : count == 1 ? " (line " : " (lines ");
		fw_out_dec(t->out, d->lines[kind][i]);
	}
	if (listed && listed < count)
		fw_out_lit(t->out, ", ...");
	fw_out_cstr(t->out, listed ? ")\n" : "\n");
}

/** What to look for, or what was used, or why not. */
static void put_detail(struct fw_text_writer *t, const struct fw_report_module *m)
{
	struct fw_out *o = t->out;
	const struct fw_symbol_file *s = m->symbols;
	if (s->path) {
		fw_out_lit(o, "  ");
		fw_out_safe(o, s->path, strlen(s->path));
		return;
	}
	const struct fw_ident *id = &m->info->debug_id;
	fw_out_lit(o, "  ");
	if (!id->n) {
		fw_out_lit(o, "no debug id");
		return;
	}
	fw_text_safe(o, m->debug_name.n ? m->debug_name : m->name);
	fw_out_byte(o, ' ');
	fw_out_safe(o, id->text, id->n);
}

/** "0.0.0.0" is what writers put where a module has no version. */
static bool is_nought(struct fw_str version)
{
	for (size_t i = 0; i < version.n; i++)
		if (version.s[i] != '0' && version.s[i] != '.')
			return false;
	return true;
}

static void put_module(struct fw_text_writer *t, const struct fw_report_module *m,
		       const struct widths *w)
{
	struct fw_out *o = t->out;
	const struct fw_module_info *info = m->info;
	const char *status = status_word(m->symbols->status), *cfi = cfi_word(m);
	fw_out_lit(o, "  0x");
	fw_out_hex(o, info->base, t->r->pointer_digits);
	fw_out_lit(o, " - 0x");
	fw_out_hex(o, info->base + (info->size ? info->size - 1 : 0), t->r->pointer_digits);
	fw_out_lit(o, "  ");
	size_t width = safe_width(t, m->name);
	fw_text_safe(o, m->name);
	fw_text_pad(t, width, w->name);
	fw_out_lit(o, "  ");
	fw_out_cstr(o, status);
	fw_text_pad(t, strlen(status), w->status);
	fw_out_lit(o, "  ");
	fw_out_cstr(o, cfi);
	fw_text_pad(t, strlen(cfi), strlen("no CFI"));
	fw_text_style(t, FW_STYLE_DIM);
	put_detail(t, m);
	if (info->version.n && !is_nought(info->version)) {
		fw_out_lit(o, ", version ");
		fw_text_safe(o, info->version);
	}
	if (info->is_main)
		fw_out_lit(o, ", main program");
	fw_text_style_end(t);
	fw_out_byte(o, '\n');
	if (m->symbols->message[0]) {
		fw_out_lit(o, "      ");
		fw_out_safe(o, m->symbols->message, strlen(m->symbols->message));
		fw_out_byte(o, '\n');
	}
	if (m->symbols->status == FW_SYMBOLS_LOADED && m->symbols->image)
		for (unsigned kind = 0; kind < FW_DIAG_COUNT; kind++)
			if (m->symbols->image->diag.count[kind])
				put_diagnostic(t, &m->symbols->image->diag, kind);
	for (uint32_t i = 0; i < info->num_annotations; i++) {
		fw_out_lit(o, "      ");
		fw_text_safe(o, info->annotations[i].key);
		fw_out_lit(o, " = ");
		fw_text_safe(o, info->annotations[i].value);
		fw_out_byte(o, '\n');
	}
}

static void put_section(struct fw_text_writer *t, const char *title, const struct widths *w,
			bool on_stack)
{
	const struct fw_report *r = t->r;
	uint32_t count = 0;
	for (uint32_t i = 0; i < r->num_modules; i++)
		count += r->modules[i].on_stack == on_stack;
	if (!count)
		return;
	fw_out_byte(t->out, '\n');
	fw_text_style(t, FW_STYLE_TITLE);
	fw_out_printf(t->out, "%s (%u)\n", title, count);
	fw_text_style_end(t);
	for (uint32_t i = 0; i < r->num_modules && !t->out->failed; i++)
		if (r->modules[i].on_stack == on_stack)
			put_module(t, &r->modules[i], w);
}

static void put_unloaded(struct fw_text_writer *t)
{
	const struct fw_snapshot *s = t->r->snapshot;
	if (!s->num_unloaded)
		return;
	fw_out_byte(t->out, '\n');
	fw_text_style(t, FW_STYLE_TITLE);
	fw_out_printf(t->out, "Unloaded modules (%u)\n", s->num_unloaded);
	fw_text_style_end(t);
	for (uint32_t i = 0; i < s->num_unloaded; i++) {
		const struct fw_unloaded_module *m = &s->unloaded[i];
		fw_out_lit(t->out, "  0x");
		fw_out_hex(t->out, m->base, t->r->pointer_digits);
		fw_out_lit(t->out, " - 0x");
		fw_out_hex(t->out, m->base + (m->size ? m->size - 1 : 0), t->r->pointer_digits);
		fw_out_lit(t->out, "  ");
		fw_text_safe(t->out, fw_base_name(m->code_file));
		fw_out_byte(t->out, '\n');
	}
}

void fw_text_modules(struct fw_text_writer *t)
{
	struct widths w = measure(t);
	put_section(t, "Modules on the stacks", &w, true);
	put_section(t, "Other modules", &w, false);
	put_unloaded(t);
}
