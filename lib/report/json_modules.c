// The report as JSON: loaded and unloaded modules.
#include "lib/report/json_internal.h"

static const char *symbol_status_name(enum fw_symbol_status status)
{
	switch (status) {
	case FW_SYMBOLS_NOT_SEARCHED: return "not_searched";
	case FW_SYMBOLS_FOUND: return "found";
	case FW_SYMBOLS_LOADED: return "loaded";
	case FW_SYMBOLS_MISSING: return "missing";
	case FW_SYMBOLS_MISMATCH: return "mismatch";
	case FW_SYMBOLS_CORRUPT: return "corrupt";
	}
	return "not_searched";
}

/** What the loader had to drop; null when nothing was loaded. */
static void write_diagnostics(struct fw_json *j, const struct fw_image *image)
{
	if (!image) {
		fw_json_null(j);
		return;
	}
	fw_json_begin_object(j);
	for (unsigned kind = 0; kind < FW_DIAG_COUNT; kind++) {
		const char *name = fw_diag_kind_name((enum fw_diag_kind)kind);
		uint32_t count = image->diag.count[kind];
		fw_json_key_(j, name, strlen(name));
		fw_json_begin_object(j);
		FW_KEY_FIRST(j, "count");
		fw_json_u64(j, count);
		FW_KEY(j, "lines");
		fw_json_begin_array(j);
		for (uint32_t i = 0; i < count && i < FW_MAX_DIAG_SAMPLES; i++)
			if (image->diag.lines[kind][i])
				fw_json_u64(j, image->diag.lines[kind][i]);
		fw_json_end_array(j);
		fw_json_end_object(j);
	}
	fw_json_end_object(j);
}

static void write_symbols(struct fw_json *j, const struct fw_report_module *m)
{
	const struct fw_symbol_file *symbols = m->symbols;
	const enum fw_symbol_status status = symbols->status;
	FW_KEY(j, "missing_symbols");
	fw_json_bool(j, status == FW_SYMBOLS_MISSING || status == FW_SYMBOLS_MISMATCH ||
		     status == FW_SYMBOLS_CORRUPT);
	FW_KEY(j, "loaded_symbols");
	fw_json_bool(j, status == FW_SYMBOLS_LOADED);
	FW_KEY(j, "corrupt_symbols");
	fw_json_bool(j, status == FW_SYMBOLS_CORRUPT);
	FW_KEY(j, "symbol_url");
	fw_json_null(j);
	FW_KEY(j, "symbol_status");
	fw_json_cstr(j, symbol_status_name(status));
	FW_KEY(j, "symbol_file");
	fw_json_cstr(j, symbols->path);
	FW_KEY(j, "symbol_message");
	fw_json_cstr(j, symbols->message[0] ? symbols->message : NULL);
	FW_KEY(j, "symbol_found_id");
	fw_json_cstr(j, symbols->found_id.n ? symbols->found_id.text : NULL);
	FW_KEY(j, "cfi_status");
	fw_json_cstr(j, m->cfi == FW_CFI_LOADED ? "loaded" :
		     m->cfi == FW_CFI_MISSING ? "missing" : "unknown");
	FW_KEY(j, "diagnostics");
	write_diagnostics(j, status == FW_SYMBOLS_LOADED ? symbols->image : NULL);
}

static void write_module(struct fw_json_report *w, const struct fw_report_module *m)
{
	const struct fw_module_info *info = m->info;
	struct fw_json *j = &w->j;
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "base_addr");
	fw_json_hex(j, info->base, w->digits);
	FW_KEY(j, "end_addr");
	fw_json_hex(j, info->base + info->size, w->digits);
	FW_KEY(j, "debug_file");
	fw_json_str_or_empty(j, m->debug_name);
	FW_KEY(j, "debug_id");
	fw_json_cstr(j, info->debug_id.n ? info->debug_id.text :
		     "000000000000000000000000000000000");
	FW_KEY(j, "filename");
	fw_json_str_or_empty(j, m->name);
	FW_KEY(j, "code_file");
	fw_json_str(j, info->code_file);
	FW_KEY(j, "code_id");
	fw_json_str_or_empty(j, fw_ident_str(&info->code_id));
	FW_KEY(j, "version");
	fw_json_str(j, info->version);
	FW_KEY(j, "cert_subject");
	fw_json_null(j);
	write_symbols(j, m);
	FW_KEY(j, "on_stack");
	fw_json_bool(j, m->on_stack);
	FW_KEY(j, "annotations");
	fw_json_annotations(j, info->annotations, info->num_annotations);
	fw_json_end_object(j);
}

static void write_unloaded(struct fw_json_report *w, const struct fw_unloaded_module *m)
{
	struct fw_json *j = &w->j;
	fw_json_begin_object(j);
	FW_KEY_FIRST(j, "base_addr");
	fw_json_hex(j, m->base, w->digits);
	FW_KEY(j, "end_addr");
	fw_json_hex(j, m->base + m->size, w->digits);
	FW_KEY(j, "code_id");
	fw_json_str_or_empty(j, fw_ident_str(&m->code_id));
	FW_KEY(j, "filename");
	fw_json_str_or_empty(j, m->code_file);
	FW_KEY(j, "cert_subject");
	fw_json_null(j);
	fw_json_end_object(j);
}

void fw_json_modules(struct fw_json_report *w)
{
	const struct fw_report *r = w->r;
	struct fw_json *j = &w->j;
	uint32_t main_module = 0;
	while (main_module < r->num_modules && !r->modules[main_module].info->is_main)
		main_module++;
	FW_KEY(j, "main_module");
	fw_json_number_or_null(j, main_module < r->num_modules, main_module);
	FW_KEY(j, "modules_contains_cert_info");
	fw_json_bool(j, false);
	FW_KEY(j, "modules");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < r->num_modules; i++)
		write_module(w, &r->modules[i]);
	fw_json_end_array(j);
	FW_KEY(j, "unloaded_modules");
	fw_json_begin_array(j);
	for (uint32_t i = 0; i < r->snapshot->num_unloaded; i++)
		write_unloaded(w, &r->snapshot->unloaded[i]);
	fw_json_end_array(j);
}
