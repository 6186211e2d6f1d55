#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/symbol_options.h"
#include "lib/rules/win_print.h"
#include "lib/base/json.h"
#include "lib/report/report.h"
#include "symfiles/lazy_cfi.h"

enum { MAX_RULE_TEXT = 65536 };

/** What a symbol file says about one address. */
struct answer {
	uint64_t address;	// as asked
	bool inside;		// offset is one
	uint32_t offset;	// from the module's base
	struct fw_str function;	// {NULL, 0}: none
	uint64_t function_offset;
	bool is_public;
	struct fw_str file;
	uint32_t line;
	bool have_line;
	const struct fw_rule *rules;	// good until the next answer
	uint32_t num_rules;
	struct fw_programs programs;	// theirs
	const struct fw_stack_win *win;
};

struct query {
	const struct fw_symbol_file *file;
	const struct fw_image *image;
	struct fw_lazy_cfi *rules;	// NULL: those of `image`
	const struct fw_cpu *cpu;
	const char *path;
	const uint64_t *addresses;
	size_t count;
};

/** Addresses are hexadecimal; 0x may be left out. */
static bool parse_address(const char *text, uint64_t *ret)
{
	struct fw_text t = { text, text + strlen(text) };
	if (t.end - t.p > 2 && t.p[0] == '0' && (t.p[1] == 'x' || t.p[1] == 'X'))
		t.p += 2;
	return fw_text_hex(&t, ret) && t.p == t.end;
}

static void look_up_names(const struct fw_image *image, struct answer *a)
{
	const struct fw_func *func = fw_image_func(image, a->offset);
	if (func != NULL) {
		const struct fw_line *line = fw_image_line(image, func, a->offset);
		a->function = fw_image_string(image, func->name);
		a->function_offset = a->offset - func->entry;
		if (line != NULL) {
			a->file = fw_image_numbered(image, FW_SEC_FILES, line->file);
			a->line = line->line;
			a->have_line = true;
		}
		return;
	}
	const struct fw_public *public = fw_image_public(image, a->offset);
	if (public != NULL) {
		a->function = fw_image_string(image, public->name);
		a->function_offset = a->offset - public->start;
		a->is_public = true;
	}
}

static struct answer look_up(const struct query *q, uint64_t address)
{
	struct answer a = { .address = address };
	uint64_t offset = address - q->image->base;
	if (address < q->image->base || offset > UINT32_MAX)
		return a;
	a.inside = true;
	a.offset = (uint32_t)offset;
	const struct fw_image *names = fw_symbol_names(q->file, a.offset);
	if (names != NULL)
		look_up_names(names, &a);
	a.programs = q->image->programs;
	a.rules = q->rules ? fw_lazy_cfi_rules(q->rules, a.offset, &a.num_rules, &a.programs) :
			     fw_image_cfi(q->image, a.offset, &a.num_rules);
	a.win = fw_image_stack_win(q->image, a.offset);
	return a;
}

static void write_rules(const struct query *q, const struct answer *a, struct fw_out *out)
{
	for (uint32_t i = 0; i < a->num_rules; i++) {
		if (i > 0)
			fw_out_byte(out, ' ');
		fw_rule_print(out, q->cpu, &a->programs, a->rules[i]);
	}
}

static void write_answer_text(const struct query *q, const struct answer *a, struct fw_out *out)
{
	fw_out_printf(out, "0x%llx: ", (unsigned long long)a->address);
	if (a->function.s != NULL) {
		fw_out_safe(out, a->function.s, a->function.n);
		fw_out_printf(out, "+0x%llx", (unsigned long long)a->function_offset);
	} else {
		fw_out_cstr(out, a->inside ? "no function" : "outside the module");
	}
	if (a->have_line && a->file.s != NULL) {
		fw_out_lit(out, " (");
		fw_out_safe(out, a->file.s, a->file.n);
		fw_out_printf(out, ":%u)", a->line);
	}
	fw_out_byte(out, '\n');
	if (a->rules != NULL) {
		fw_out_lit(out, "  STACK CFI ");
		write_rules(q, a, out);
		fw_out_byte(out, '\n');
		if (a->rules[0].flags & FW_ROW_SIGNAL)
			fw_out_lit(out, "  a signal trampoline\n");
	}
	if (a->win != NULL) {
		fw_out_lit(out, "  ");
		fw_win_write(out, &q->image->programs, a->win);
		fw_out_byte(out, '\n');
	}
	if (a->rules == NULL && a->win == NULL)
		fw_out_lit(out, "  no unwind rule\n");
}

static void write_text(const struct query *q, struct fw_out *out)
{
	const struct fw_image *image = q->image;

	fw_out_safe(out, q->path, strlen(q->path));
	fw_out_lit(out, ": ");
	fw_out_safe(out, image->name, strlen(image->name));
	fw_out_printf(out, "%s%s, id %s\n", image->name[0] ? ", " : "", q->cpu->name,
		      image->debug_id.n ? image->debug_id.text : "none");
	for (int k = 0; k < FW_DIAG_COUNT; k++) {
		if (image->diag.count[k] == 0)
			continue;
		fw_out_printf(out, "ignored or cut: %u %s", image->diag.count[k],
			      fw_diag_kind_name((enum fw_diag_kind)k));
		if (image->diag.lines[k][0] > 0)
			fw_out_printf(out, " (first in line %u)", image->diag.lines[k][0]);
		fw_out_byte(out, '\n');
	}
	for (size_t i = 0; i < q->count; i++) {
		struct answer a = look_up(q, q->addresses[i]);
		write_answer_text(q, &a, out);
	}
}

/** A memory buffer as a JSON string; null when it did not fit. */
static void put_text(struct fw_json *j, const struct fw_out *text)
{
	if (text->failed)
		fw_json_null(j);
	else
		fw_json_string(j, text->data, text->count);
}

static void put_cfi(struct fw_json *j, const struct query *q, const struct answer *a)
{
	struct fw_out text;

	fw_json_key(j, "cfi");
	if (a->rules == NULL) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	fw_json_key(j, "signal_frame");
	fw_json_bool(j, a->rules[0].flags & FW_ROW_SIGNAL);
	fw_out_init_memory(&text, MAX_RULE_TEXT);
	write_rules(q, a, &text);
	fw_json_key(j, "text");
	put_text(j, &text);
	fw_out_deinit(&text);
	fw_json_key(j, "registers");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < a->num_rules; i++) {
		fw_out_init_memory(&text, MAX_RULE_TEXT);
		fw_rule_print(&text, q->cpu, &a->programs, a->rules[i]);
		const char *colon = text.count ? memchr(text.data, ':', text.count) : NULL;
		size_t n = colon ? (size_t)(colon - text.data) : 0;
		fw_json_begin_object(j);
		fw_json_key(j, "register");
		fw_json_string(j, text.data, n);
		fw_json_key(j, "expression");
		if (colon != NULL && !text.failed && text.count > n + 2)
			fw_json_string(j, colon + 2, text.count - n - 2);
		else
			fw_json_null(j);
		fw_json_end_object(j);
		fw_out_deinit(&text);
	}
	fw_json_end_array(j);
	fw_json_end_object(j);
}

static void put_win(struct fw_json *j, const struct query *q, const struct answer *a)
{
	struct fw_out text;

	fw_json_key(j, "stack_win");
	if (a->win == NULL) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	fw_json_key(j, "type"), fw_json_u64(j, a->win->type);
	fw_json_key(j, "start"), fw_json_hex(j, a->win->start, 8);
	fw_json_key(j, "size"), fw_json_u64(j, a->win->size);
	fw_out_init_memory(&text, MAX_RULE_TEXT);
	fw_win_write(&text, &q->image->programs, a->win);
	fw_json_key(j, "text");
	put_text(j, &text);
	fw_out_deinit(&text);
	fw_json_end_object(j);
}

static void put_answer(struct fw_json *j, const struct query *q, const struct answer *a)
{
	unsigned digits = q->cpu->word_size == 4 ? 8 : 16;

	fw_json_begin_object(j);
	fw_json_key(j, "address"), fw_json_hex(j, a->address, digits);
	fw_json_key(j, "function"), fw_json_str(j, a->function);
	fw_json_key(j, "function_offset");
	if (a->function.s != NULL)
		fw_json_hex(j, a->function_offset, digits);
	else
		fw_json_null(j);
	fw_json_key(j, "public"), fw_json_bool(j, a->is_public);
	fw_json_key(j, "file"), fw_json_str(j, a->file);
	fw_json_key(j, "line");
	if (a->have_line)
		fw_json_u64(j, a->line);
	else
		fw_json_null(j);
	put_cfi(j, q, a);
	put_win(j, q, a);
	fw_json_end_object(j);
}

static void write_json(const struct query *q, bool pretty, struct fw_out *out)
{
	const struct fw_image *image = q->image;
	struct fw_json json, *j = &json;

	fw_json_init(j, out, pretty);
	fw_json_begin_object(j);
	fw_json_key(j, "schema_version"), fw_json_u64(j, FW_SCHEMA_VERSION);
	fw_json_key(j, "status"), fw_json_cstr(j, "OK");
	fw_json_key(j, "file"), fw_json_cstr(j, q->path);
	fw_json_key(j, "module"), fw_json_cstr(j, image->name);
	fw_json_key(j, "os"), fw_json_cstr(j, image->os);
	fw_json_key(j, "cpu"), fw_json_cstr(j, q->cpu->name);
	fw_json_key(j, "debug_id");
	fw_json_cstr(j, image->debug_id.n ? image->debug_id.text : NULL);
	fw_json_key(j, "diagnostics");
	fw_json_begin_object(j);
	for (int k = 0; k < FW_DIAG_COUNT; k++) {
		const char *name = fw_diag_kind_name((enum fw_diag_kind)k);
		fw_json_key_(j, name, strlen(name));
		fw_json_u64(j, image->diag.count[k]);
	}
	fw_json_end_object(j);
	fw_json_key(j, "rules");
	fw_json_begin_array(j);
	for (size_t i = 0; i < q->count; i++) {
		struct answer a = look_up(q, q->addresses[i]);
		put_answer(j, q, &a);
	}
	fw_json_end_array(j);
	fw_json_end_object(j);
	fw_json_finish(j);
}

/** Look everything up once, unprinted: a damaged cached image shows only when touched. */
static bool intact(const struct query *q)
{
	for (size_t i = 0; i < q->count; i++)
		look_up(q, q->addresses[i]);
	return !atomic_load(&q->image->corrupt);
}

/** Open the file; an ELF file is not compiled for a few answers. */
static enum fw_code open_file(struct fw_symbols *symbols, struct query *q, struct fw_error *err)
{
	enum fw_code code = fw_symbols_open_names(symbols, q->path, &q->file, err);
	if (code != FW_OK)
		return code;
	q->image = q->file->image;
	if (q->file->rules_elf != NULL &&
	    fw_lazy_cfi_open(q->file->rules_elf, q->file->rules_debug, &q->rules) != FW_OK)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	return FW_OK;
}

/** Names of an ELF file are asked for all at once. */
static void fetch_names(const struct query *q)
{
	FW_VEC(uint32_t) offsets = { 0 };
	for (size_t i = 0; i < q->count; i++)
		if (q->addresses[i] - q->image->base <= UINT32_MAX)
			(void)fw_vec_push(&offsets, (uint32_t)(q->addresses[i] - q->image->base));
	if (q->file->lazy != NULL)
		fw_lazy_prefetch(q->file->lazy, offsets.data, offsets.count);
	fw_vec_deinit(&offsets);
}

static int answer(const struct fw_args *args, const uint64_t *addresses, struct fw_out *out)
{
	bool json = args->value[FW_OPT_JSON].set, pretty = args->value[FW_OPT_PRETTY].set;
	struct query q = { .path = args->operands.data[0], .addresses = addresses,
			   .count = args->operands.count - 1 };
	struct fw_symbols *symbols;
	struct fw_error err;

	if (!fw_symbols_of_rules(args, &symbols))
		return FW_EXIT_UNUSABLE;
	enum fw_code code = open_file(symbols, &q, &err);
	if (code == FW_OK)
		fetch_names(&q);
	if (code == FW_OK && !intact(&q))
		code = open_file(symbols, &q, &err);	// compiled anew
	if (code == FW_OK) {
		q.cpu = fw_cpu_get(q.image->cpu);
		if (json)
			write_json(&q, pretty, out);
		else
			write_text(&q, out);
	} else {
		if (json)
			fw_report_write_error_json(q.path, &err, pretty, out);
		fw_out_flush(out, NULL);	// failing is told when it is closed
		fw_complain(q.path, &err);
	}
	fw_lazy_cfi_close(q.rules);
	fw_symbols_destroy(symbols);
	return code == FW_OK ? FW_EXIT_OK : FW_EXIT_UNUSABLE;
}

int fw_cmd_rules(const struct fw_args *args)
{
	FW_VEC(uint64_t) addresses = { 0 };
	struct fw_output o;
	int status = FW_EXIT_OK;

	if (args->operands.count < 2)
		return fw_usage("rules", "takes a symbol file and at least one address");
	if (args->value[FW_OPT_PRETTY].set && !args->value[FW_OPT_JSON].set)
		return fw_usage("rules", "--pretty needs --json");
	for (size_t i = 1; i < args->operands.count && status == FW_EXIT_OK; i++) {
		uint64_t address;
		if (!parse_address(args->operands.data[i], &address))
			status = fw_usage("rules", "'%.200s' is no hexadecimal address",
					  args->operands.data[i]);
		else if (!fw_vec_push(&addresses, address))
			status = FW_EXIT_UNUSABLE;
	}
	if (status == FW_EXIT_OK) {
		if (fw_output_open(&o, args->value[FW_OPT_OUTPUT].text))
			status = fw_output_close(&o, answer(args, addresses.data, &o.out));
		else
			status = FW_EXIT_UNUSABLE;
	}
	fw_vec_deinit(&addresses);
	return status;
}
