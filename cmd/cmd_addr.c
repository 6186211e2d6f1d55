#include <string.h>

#include "cmd/batch.h"
#include "cmd/cmd.h"
#include "cmd/frames_at.h"
#include "cmd/line_input.h"
#include "cmd/output.h"
#include "cmd/symbol_options.h"
#include "lib/base/json.h"
#include "lib/report/report.h"

struct addr {
	enum fw_format format;
	bool pretty;
	const char *path;
	const struct fw_symbol_file *file;
	size_t ahead;			// lines of input whose answers were asked for already
	const struct fw_cpu *cpu;
	struct fw_out *out;
	struct fw_json json;		// --json: one object around all
	struct fw_answer_at answer;
	bool failed;			// some line was no address
};

static bool parse_address(struct fw_str text, uint64_t *ret)
{
	struct fw_text t = { text.s, text.s + text.n };
	fw_text_skip_blanks(&t);
	while (t.end > t.p && (fw_is_blank(t.end[-1]) || t.end[-1] == '\r'))
		t.end--;
	if (t.end - t.p > 2 && t.p[0] == '0' && (t.p[1] == 'x' || t.p[1] == 'X'))
		t.p += 2;
	return fw_text_hex(&t, ret) && t.p == t.end;
}

static void put_text(const struct addr *a, uint64_t address)
{
	const struct fw_answer_at *r = &a->answer;
	struct fw_out *out = a->out;
	fw_out_lit(out, "0x");
	fw_out_hex(out, address, a->cpu->word_size * 2);
	fw_out_cstr(out, r->known ? ": " : ": ?\n");
	for (uint32_t i = 0; i < r->count; i++) {
		const struct fw_frame_at *f = &r->frames[i];
		if (i > 0)
			fw_out_lit(out, "  inlined by ");
		if (f->function.n)
			fw_out_safe(out, f->function.s, f->function.n);
		else
			fw_out_byte(out, '?');
		if (i + 1 == r->count)
			fw_out_printf(out, "+0x%llx", (unsigned long long)(address - r->start));
		if (f->file.n) {
			fw_out_lit(out, " (");
			fw_out_safe(out, f->file.s, f->file.n);
			fw_out_printf(out, ":%u)", f->line);
		}
		fw_out_byte(out, '\n');
	}
}

static void put_json(const struct addr *a, struct fw_json *j, uint64_t address)
{
	const struct fw_answer_at *r = &a->answer;
	unsigned digits = a->cpu->word_size * 2;
	fw_json_begin_object(j);
	fw_json_key(j, "address"), fw_json_hex(j, address, digits);
	fw_json_key(j, "function_offset");
	if (r->known)
		fw_json_hex(j, address - r->start, digits);
	else
		fw_json_null(j);
	fw_json_key(j, "public"), fw_json_bool(j, r->is_public);
	fw_json_key(j, "frames");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < r->count; i++) {
		const struct fw_frame_at *f = &r->frames[i];
		fw_json_begin_object(j);
		fw_json_key(j, "function"), fw_json_str(j, f->function);
		fw_json_key(j, "file"), fw_json_str(j, f->file);
		fw_json_key(j, "line");
		if (f->have_line)
			fw_json_u64(j, f->line);
		else
			fw_json_null(j);
		fw_json_key(j, "inlined"), fw_json_bool(j, i + 1 < r->count);
		fw_json_end_object(j);
	}
	fw_json_end_array(j);
	fw_json_end_object(j);
}

static void answer(struct addr *a, const char *text)
{
	uint64_t address;
	if (!parse_address((struct fw_str){ text, strlen(text) }, &address)) {
		struct fw_error err;
		(void)fw_fail(&err, FW_MALFORMED, NULL, "'%.100s' is no hexadecimal address", text);
		fw_complain(NULL, &err);
		a->failed = true;
		return;
	}
	fw_frames_at(a->file, address, &a->answer);
	if (a->format == FW_FORMAT_TEXT) {
		put_text(a, address);
	} else if (a->format == FW_FORMAT_JSON) {
		put_json(a, &a->json, address);
	} else {
		struct fw_json j;
		fw_json_init(&j, a->out, false);
		put_json(a, &j, address);
		fw_json_finish(&j);
	}
}

static void begin_json(struct addr *a)
{
	struct fw_json *j = &a->json;
	fw_json_init(j, a->out, a->pretty);
	fw_json_begin_object(j);
	fw_json_key(j, "schema_version"), fw_json_u64(j, FW_SCHEMA_VERSION);
	fw_json_key(j, "status"), fw_json_cstr(j, "OK");
	fw_json_key(j, "file"), fw_json_cstr(j, a->path);
	fw_json_key(j, "cpu"), fw_json_cstr(j, a->cpu->name);
	fw_json_key(j, "debug_id");
	fw_json_cstr(j, a->file->image->debug_id.n ? a->file->image->debug_id.text : NULL);
	fw_json_key(j, "addresses");
	fw_json_begin_array(j);
}

struct offsets { FW_VEC(uint32_t) list; };

static void add_offset(const struct addr *a, struct offsets *o, struct fw_str text)
{
	uint64_t address;
	uint32_t offset;
	if (parse_address(text, &address) && fw_offset_in(a->file, address, &offset))
		(void)fw_vec_push(&o->list, offset);
}

/** What is known to be asked is asked of a lazy module at once. */
static void ask_ahead(struct addr *a, const struct fw_args *args,
		      const struct fw_line_input *in, const char *line)
{
	struct offsets o = { { NULL, 0, 0 } };
	struct fw_str text;
	size_t at = 0;
	if (a->file->lazy == NULL)
		return;
	if (a->ahead > 0) {
		a->ahead--;
		return;
	}
	for (size_t i = 0; line == NULL && i < args->operands.count; i++)
		add_offset(a, &o, (struct fw_str){ args->operands.data[i],
						   strlen(args->operands.data[i]) });
	if (line != NULL)
		add_offset(a, &o, (struct fw_str){ line, strlen(line) });
	for (; line != NULL && fw_line_input_ahead(in, &at, &text); a->ahead++)
		add_offset(a, &o, text);
	fw_lazy_prefetch(a->file->lazy, o.list.data, o.list.count);
	fw_vec_deinit(&o.list);
}

static int finish(struct addr *a)
{
	struct fw_error err;
	if (a->file->lazy != NULL && fw_lazy_failure(a->file->lazy, &err) != FW_OK) {
		fw_complain(a->path, &err);
		a->failed = true;
	}
	return a->failed ? FW_EXIT_UNUSABLE : FW_EXIT_OK;
}

static int answer_all(struct addr *a, const struct fw_args *args)
{
	struct fw_line_input in = { 0 };
	char *line;
	a->cpu = fw_cpu_get(a->file->image->cpu);
	if (a->format == FW_FORMAT_JSON)
		begin_json(a);
	if (args->operands.count > 0)
		ask_ahead(a, args, &in, NULL);
	for (size_t i = 0; i < args->operands.count; i++)
		answer(a, args->operands.data[i]);
	while (args->operands.count == 0 && fw_line_input_next(&in, a->out, &line)) {
		ask_ahead(a, args, &in, line);
		if (*line != '\0')
			answer(a, line);
	}
	fw_line_input_deinit(&in);
	if (a->format == FW_FORMAT_JSON) {
		fw_json_end_array(&a->json);
		fw_json_end_object(&a->json);
		fw_json_finish(&a->json);
	}
	return finish(a);
}

static int run(struct addr *a, const struct fw_args *args, struct fw_symbols *symbols)
{
	struct fw_error err;
	struct fw_output o;
	if (!fw_output_open(&o, args->value[FW_OPT_OUTPUT].text))
		return FW_EXIT_UNUSABLE;
	a->out = &o.out;
	if (fw_symbols_open_names(symbols, a->path, &a->file, &err) == FW_OK)
		return fw_output_close(&o, answer_all(a, args));
	if (a->format != FW_FORMAT_TEXT)
		fw_report_write_error_json(a->path, &err, a->pretty, a->out);
	fw_out_flush(a->out, NULL);	// failing is told when it is closed
	fw_complain(a->path, &err);
	return fw_output_close(&o, FW_EXIT_UNUSABLE);
}

int fw_cmd_addr(const struct fw_args *args)
{
	static struct addr a;
	struct fw_symbols *symbols;
	a = (struct addr){ .pretty = args->value[FW_OPT_PRETTY].set,
			   .path = args->value[FW_OPT_EXE].text };
	if (args->value[FW_OPT_JSON].set)
		a.format = FW_FORMAT_JSON;
	else if (args->value[FW_OPT_FORMAT].set)
		a.format = (enum fw_format)args->value[FW_OPT_FORMAT].number;
	if (a.path == NULL)
		return fw_usage("addr", "takes -e FILE");
	if (a.format == FW_FORMAT_MACHINE)
		return fw_usage("addr", "has no machine format");
	if (a.pretty && a.format != FW_FORMAT_JSON)
		return fw_usage("addr", "--pretty needs --json");
	if (!fw_symbols_of_names(args, args->value[FW_OPT_NO_DEMANGLE].set, &symbols))
		return FW_EXIT_UNUSABLE;
	int status = run(&a, args, symbols);
	fw_symbols_destroy(symbols);
	return status;
}
