#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "symfiles/breakpad_loader.h"

enum { DROP_STEP = 256 << 10 };	// bytes between two fw_file_drop()s

static const char utf8_bom[] = { '\xef', '\xbb', '\xbf' };

static bool has_prefix(struct fw_str text, const void *prefix, size_t n)
{
	return text.n >= n && memcmp(text.s, prefix, n) == 0;
}

/** Advance past a word that a blank or the end of the line follows. */
static inline bool take_word(struct fw_text *t, const char *word, size_t n)
{
	size_t left = (size_t)(t->end - t->p);
	if (left < n || memcmp(t->p, word, n) != 0 || (left > n && !fw_is_blank(t->p[n])))
		return false;
	t->p += n;
	return true;
}
#define TAKE_WORD(t, literal) take_word(t, literal, sizeof(literal) - 1)

static struct fw_text trim_end(const char *p, const char *end)
{
	while (end > p && end[-1] == '\r')
		end--;
	return (struct fw_text){ p, end };
}

/** Fields of a MODULE line; the id may be unusable, which is told by the result. */
static bool module_fields(struct fw_text t, struct fw_sym_module *ret)
{
	struct fw_str id;
	*ret = (struct fw_sym_module){ .os = { NULL, 0 } };
	if (!fw_text_token(&t, &ret->os) || !fw_text_token(&t, &ret->arch) ||
	    !fw_text_token(&t, &id))
		return false;
	fw_sym_rest(&t, &ret->name);
	return fw_ident_parse_debug(&ret->debug_id, id);
}

bool fw_sym_module_line(struct fw_str text, struct fw_sym_module *ret)
{
	if (has_prefix(text, utf8_bom, sizeof(utf8_bom))) {
		text.s += sizeof(utf8_bom);
		text.n -= sizeof(utf8_bom);
	}
	const char *nl = text.n ? memchr(text.s, '\n', text.n) : NULL;
	struct fw_text t = trim_end(text.s, nl ? nl : text.s + text.n);
	struct fw_sym_module module;
	if (!TAKE_WORD(&t, "MODULE") || !module_fields(t, &module))
		return false;
	*ret = module;
	return true;
}

static void copy_name(char *to, size_t size, struct fw_str from)
{
	size_t n = from.n < size ? from.n : size - 1;
	if (n)
		memcpy(to, from.s, n);
	to[n] = 0;
}

static void module_record(struct fw_sym_loader *l, struct fw_text t)
{
	struct fw_sym_module module;
	if (l->line_no != 1)
		return;
	if (!module_fields(t, &module))
		fw_sym_bad(l, FW_DIAG_MALFORMED);
	l->b->debug_id = module.debug_id;
	copy_name(l->b->os, sizeof(l->b->os), module.os);
	copy_name(l->b->name, sizeof(l->b->name), module.name);
	const struct fw_cpu *cpu = fw_cpu_by_sym_name(module.arch);
	if (cpu) {
		l->b->cpu = cpu->id;
		l->cpu = cpu->num_regs ? cpu : NULL;
	}
}

/** INFO FUNC_ENTRY start entry, written by us: all of them, ascending, before the FUNCs. */
static void func_entry(struct fw_sym_loader *l, struct fw_text t)
{
	uint64_t start, entry;
	if (!fw_sym_hex(&t, &start) || !fw_sym_hex(&t, &entry) || (start | entry) > UINT32_MAX) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	struct fw_sym_func_entry e = { (uint32_t)start, (uint32_t)entry };
	if (!fw_vec_push(&l->func_entries, e))
		l->failed = FW_NO_MEMORY;
}

static void info_record(struct fw_sym_loader *l, struct fw_text t)
{
	struct fw_str word;
	struct fw_ident id;
	fw_text_skip_blanks(&t);
	if (TAKE_WORD(&t, "FUNC_ENTRY")) {
		func_entry(l, t);
		return;
	}
	if (!TAKE_WORD(&t, "CODE_ID"))
		return;
	if (fw_text_token(&t, &word) && fw_ident_parse_code(&id, word))
		l->b->code_id = id;
	else
		fw_sym_bad(l, FW_DIAG_MALFORMED);
}

static bool intern(struct fw_sym_loader *l, struct fw_str s, uint32_t *ret)
{
	enum fw_code code = fw_intern_add(&l->b->strings, s.s, s.n, ret);
	if (code && !l->failed)
		l->failed = code;
	return code == FW_OK;
}

static void file_record(struct fw_sym_loader *l, struct fw_text t)
{
	uint64_t number;
	struct fw_str name;
	struct fw_numbered entry;
	if (!fw_sym_dec(&t, &number) || number >= FW_NO_INDEX || !fw_sym_rest(&t, &name)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	entry.number = (uint32_t)number;
	if (intern(l, name, &entry.string) && !fw_vec_push(&l->b->files, entry))
		l->failed = FW_NO_MEMORY;
}

/** `number name`, and the old form `number file name`: its second field is a number. */
static void origin_record(struct fw_sym_loader *l, struct fw_text t)
{
	uint64_t number, file;
	struct fw_str name;
	struct fw_numbered entry;
	if (!fw_sym_dec(&t, &number) || number > UINT32_MAX || !fw_sym_rest(&t, &name)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	struct fw_text old = t;
	if (*old.p == '-')
		old.p++;
	if (fw_sym_dec(&old, &file)) {
		struct fw_str rest;
		if (fw_sym_rest(&old, &rest))
			name = rest;
	}
	entry.number = (uint32_t)number;
	if (intern(l, name, &entry.string) && !fw_vec_push(&l->b->origins, entry))
		l->failed = FW_NO_MEMORY;
}

static void public_record(struct fw_sym_loader *l, struct fw_text t)
{
	uint64_t start, params;
	struct fw_str name;
	fw_sym_end_func(l);
	fw_sym_skip_m(&t);
	if (!fw_sym_hex(&t, &start) || !fw_sym_hex(&t, &params) || params > UINT32_MAX ||
	    !fw_sym_rest(&t, &name)) {
		fw_sym_bad(l, FW_DIAG_MALFORMED);
		return;
	}
	if (start >= UINT32_MAX) {
		fw_sym_bad(l, FW_DIAG_RANGE);
		return;
	}
	struct fw_public symbol = { .start = (uint32_t)start, .end = UINT32_MAX,
				    .params_size = (uint32_t)params };
	// Breakpad's writer emits absolute symbols of value 0 that name nothing.
	if (start && intern(l, name, &symbol.name) && !fw_vec_push(&l->b->publics, symbol))
		l->failed = FW_NO_MEMORY;
}

/** One line, whatever it is. */
static void record(struct fw_sym_loader *l, struct fw_text t)
{
	if (t.p == t.end)
		return;
	switch (*t.p) {
	case 'F':
		if (TAKE_WORD(&t, "FUNC"))
			return fw_sym_func(l, t);
		if (TAKE_WORD(&t, "FILE"))
			return file_record(l, t);
		break;
	case 'I':
		if (TAKE_WORD(&t, "INLINE"))
			return fw_sym_inline(l, t);
		if (TAKE_WORD(&t, "INLINE_ORIGIN"))
			return origin_record(l, t);
		if (TAKE_WORD(&t, "INFO"))
			return info_record(l, t);
		break;
	case 'S':
		if (TAKE_WORD(&t, "STACK"))
			return fw_sym_stack(l, t);
		break;
	case 'P':
		if (TAKE_WORD(&t, "PUBLIC"))
			return public_record(l, t);
		break;
	case 'M':
		if (TAKE_WORD(&t, "MODULE"))
			return module_record(l, t);
		break;
	}
	struct fw_text number = t;
	uint64_t ignored;
	if (fw_sym_hex(&number, &ignored))
		return fw_sym_line(l, t);
	fw_text_skip_blanks(&t);
	if (t.p != t.end)
		fw_sym_bad(l, FW_DIAG_UNKNOWN);
}

/** A line past the limit costs itself; what belongs to it must not go to another function. */
static void long_line(struct fw_sym_loader *l, struct fw_text t)
{
	fw_sym_bad(l, FW_DIAG_LIMIT);
	if (TAKE_WORD(&t, "FUNC")) {
		fw_sym_end_func(l);
		l->in_func = FW_SYM_DROPPED_FUNC;
	} else if (TAKE_WORD(&t, "PUBLIC")) {
		fw_sym_end_func(l);
	}
}

/** Read [p, end), whole lines, each with its line feed. */
static void read_lines(struct fw_sym_loader *l, const char *p, const char *end,
		       struct fw_file *file)
{
	while (p < end && !l->failed) {
		const char *stop = end - p > DROP_STEP ? p + DROP_STEP : end;
		while (p < stop && !l->failed) {
			if (l->in_func == FW_SYM_IN_FUNC) {
				if (*p == 'I')
					p = fw_sym_inline_run(l, p, stop);
				if (p < stop && l->lines_ascend)
					p = fw_sym_line_run(l, p, stop);
				if (p >= stop)
					break;
			}
			if (*p == 'S') {
				p = fw_sym_cfi_run(l, p, stop, end);
				if (p >= stop)
					break;
			}
			const char *nl = memchr(p, '\n', (size_t)(end - p));
			struct fw_text t = trim_end(p, nl);
			l->line_no++;
			if (t.end - t.p <= FW_MAX_SYM_LINE)
				record(l, t);
			else
				long_line(l, t);
			p = nl + 1;
		}
		if (file)
			fw_file_drop(file, (uint64_t)(p - (const char *)file->data));
	}
}

/** A last line without a line feed gets one, in a copy. */
static void read_tail(struct fw_sym_loader *l, const char *p, size_t n)
{
	if (n == 0 || l->failed)
		return;
	if (n > FW_MAX_SYM_LINE) {
		l->line_no++;
		long_line(l, (struct fw_text){ p, p + n });
		return;
	}
	FW_VEC(char) copy = { 0 };
	if (!fw_vec_reserve(&copy, n + 1)) {
		l->failed = FW_NO_MEMORY;
		return;
	}
	memcpy(copy.data, p, n);
	copy.data[n] = '\n';
	read_lines(l, copy.data, copy.data + n + 1, NULL);
	fw_vec_deinit(&copy);
}

/** What a file is that is no symbol file at all, or NULL. */
static const char *foreign(struct fw_str text)
{
	static const struct { const char *magic; uint8_t n; const char *what; } magics[] = {
		{ "\xff\xfe", 2, "UTF-16 text" },
		{ "\xfe\xff", 2, "UTF-16 text" },
		{ "\x7f""ELF", 4, "an ELF file" },
		{ "MZ", 2, "a Windows program" },
		{ "Microsoft C/C++ MSF", 19, "a PDB file" },
		{ "\xcf\xfa\xed\xfe", 4, "a Mach-O file" },
		{ "\xca\xfe\xba\xbe", 4, "a Mach-O file" },
		{ "MDMP", 4, "a minidump" },
		{ "<", 1, "an HTML or XML page" },
		{ "{", 1, "JSON" },
		{ "PK\x03\x04", 4, "a ZIP file" },
		{ "MSCF", 4, "a cabinet file" },
	};
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if (has_prefix(text, magics[i].magic, magics[i].n))
			return magics[i].what;
	if (text.n >= 4 && !text.s[0] != !text.s[1] && !text.s[2] != !text.s[3] &&
	    !text.s[0] == !text.s[2])
		return "UTF-16 text";
	// Names may hold any byte, but the first word of a symbol file may not.
	size_t n = text.n < 8 ? text.n : 8;
	for (size_t i = 0; i < n && !fw_is_blank(text.s[i]) && text.s[i] != '\n'; i++)
		if ((uint8_t)text.s[i] < 0x20 && text.s[i] != '\r')
			return "binary data";
	return NULL;
}

static enum fw_code load(struct fw_sym_loader *l, struct fw_str text, struct fw_file *file)
{
	// memrchr: every line that is read in place ends with a line feed
	const char *last = text.n ? memrchr(text.s, '\n', text.n) : NULL;
	size_t whole = last ? (size_t)(last + 1 - text.s) : 0;
	read_lines(l, text.s, text.s + whole, file);
	read_tail(l, text.s + whole, text.n - whole);
	if (!l->failed)
		fw_sym_end_func(l);
	if (!l->failed) {
		fw_sym_find_entries(l);
		fw_intern_seal(&l->b->strings);
		fw_sym_finish_stack(l);
	}
	return l->failed;
}

/** Something is in the file, and no line of it says that it is a symbol file. */
static bool nothing_known(const struct fw_builder *b)
{
	bool bad = b->diag.count[FW_DIAG_UNKNOWN] != 0 || b->diag.count[FW_DIAG_MALFORMED] != 0;
	return bad && b->name[0] == '\0' && b->debug_id.n == 0 && b->code_id.n == 0 &&
	       b->funcs.count == 0 && b->publics.count == 0 && b->files.count == 0 &&
	       b->origins.count == 0 && b->cfi.rules.count == 0 && b->win_records.count == 0;
}

static enum fw_code load_text(struct fw_str text, struct fw_file *file, struct fw_image **ret,
			      struct fw_error *err)
{
	struct fw_builder *b;
	if (has_prefix(text, utf8_bom, sizeof(utf8_bom))) {
		text.s += sizeof(utf8_bom);
		text.n -= sizeof(utf8_bom);
	}
	const char *what = foreign(text);
	if (what)
		return fw_fail(err, FW_UNSUPPORTED, NULL, "not a Breakpad symbol file but %s",
			       what);
	enum fw_code code = fw_builder_create(&b, err);
	if (code)
		return code;
	struct fw_sym_loader *l = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*l));
	if (!l) {
		fw_builder_destroy(b);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	l->b = b;
	fw_intern_init(&l->rule_texts);
	fw_intern_init(&l->win_texts);
	code = load(l, text, file);
	uint32_t line = l->line_no;
	fw_sym_free_stack(l);
	fw_vec_deinit(&l->spans);
	fw_inline_lay_deinit(&l->lay);
	fw_vec_deinit(&l->func_entries);
	free(l);
	if (code == FW_OK && nothing_known(b)) {
		fw_builder_destroy(b);
		return fw_fail(err, FW_UNSUPPORTED, NULL,
			       "not a Breakpad symbol file: no record of one in it");
	}
	if (code == FW_OK)
		return fw_builder_freeze(b, ret, err);
	fw_builder_destroy(b);
	if (code == FW_LIMIT) {
		char place[32];
		snprintf(place, sizeof(place), "line %u", line);
		return fw_fail(err, code, place, "more than 4 GiB of names or unwind rules");
	}
	return fw_fail(err, code, NULL, "out of memory");
}

enum fw_code fw_sym_load(struct fw_file *file, struct fw_image **ret, struct fw_error *err)
{
	struct fw_str text = { (const char *)file->data, file->size };
	return load_text(text, file, ret, err);
}

enum fw_code fw_sym_load_text(struct fw_str text, struct fw_image **ret, struct fw_error *err)
{
	return load_text(text, NULL, ret, err);
}
