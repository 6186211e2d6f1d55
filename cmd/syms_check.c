#include "cmd/syms_check.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "lib/base/json.h"
#include "lib/base/pool.h"
#include "lib/report/report.h"
#include "symfiles/symbol_search.h"

/** What is found out of one file. */
struct checked {
	char *path;
	bool given;			// named on the command line: told of whatever it is
	bool is_symbols;
	struct fw_error err;
	struct fw_ident id, store_id;	// of the file, of its place in a store
	enum fw_cpu_id cpu;
	struct fw_diag diag;
	uint32_t functions, lines, inlines, publics, cfi_rows;
	const char *duplicate;		// an earlier file with that id
};

struct check {
	FW_VEC(struct checked) files;
	bool no_memory;
};

static void add_file(struct check *c, const char *path, bool given)
{
	struct checked f = { .path = strdup(path), .given = given };
	if (f.path == NULL || !fw_vec_push(&c->files, f)) {
		free(f.path);
		c->no_memory = true;
	}
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/** Every regular file below; links to folders are not followed. */
static void add_tree(struct check *c, const char *path)
{
	char *const paths[] = { (char *)path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *e;
	while (tree != NULL && (e = fts_read(tree)) != NULL &&
	       c->files.count < FW_MAX_INDEX_FILES)
		if (e->fts_info == FTS_F)
			add_file(c, e->fts_path, false);
	if (tree != NULL)
		fts_close(tree);
}

static void take_image(struct checked *f, const struct fw_image *image)
{
	f->id = image->debug_id;
	f->cpu = image->cpu;
	f->diag = image->diag;
	f->functions = fw_image_count(image, FW_SEC_FUNCS, sizeof(struct fw_func));
	f->lines = fw_image_count(image, FW_SEC_LINES, sizeof(struct fw_line));
	f->inlines = fw_image_count(image, FW_SEC_INLINES, sizeof(struct fw_inline));
	f->publics = fw_image_count(image, FW_SEC_PUBLICS, sizeof(struct fw_public));
	f->cfi_rows = image->cfi.num_rows ? image->cfi.num_rows - 1 : 0;
	if (f->id.n == 0)
		f->id = f->store_id;
	if (f->id.n == 0)
		(void)fw_fail(&f->err, FW_UNSUPPORTED, NULL, "it has no id: no module can find it");
}

static void check_file(void *context, uint64_t index, unsigned worker)
{
	struct check *c = context;
	struct checked *f = &c->files.data[index];
	struct fw_symbol_options options = { .num_paths = 0 };
	struct fw_symbols *symbols = NULL;
	const struct fw_image *image;
	struct fw_sym_head head = { 0 };
	bool in_store = fw_ident_of_store_path(&f->store_id, f->path);
	enum fw_code code = fw_sym_peek(f->path, &head, &f->err);
	f->is_symbols = f->given || in_store || head.kind != FW_INDEX_NOTHING || head.elf ||
			head.has_module;
	if (!f->is_symbols || code != FW_OK)
		return;
	if (fw_symbols_create(&options, &symbols, &f->err) != FW_OK)
		return;
	f->err.code = FW_OK;
	if (fw_symbols_open_file(symbols, f->path, &image, &f->err) == FW_OK) {
		f->err.code = FW_OK;
		take_image(f, image);
	}
	fw_symbols_destroy(symbols);
}

static int by_id(const void *pa, const void *pb)
{
	const struct checked *const *a = pa, *const *b = pb;
	int order = strcmp((*a)->id.text, (*b)->id.text);
	if (order == 0)		// in the order they were found
		order = *a < *b ? -1 : *a > *b;
	return order;
}

static void find_duplicates(struct check *c)
{
	FW_VEC(struct checked *) list = { 0 };
	if (!fw_vec_reserve(&list, c->files.count + 1))
		return;
	for (size_t i = 0; i < c->files.count; i++)
		if (c->files.data[i].id.n)
			list.data[list.count++] = &c->files.data[i];
	if (list.count)
		qsort(list.data, list.count, sizeof(*list.data), by_id);
	for (size_t i = 1; i < list.count; i++) {
		const struct checked *first = list.data[i - 1];
		if (fw_ident_equal(&first->id, &list.data[i]->id))
			list.data[i]->duplicate = first->duplicate ? first->duplicate : first->path;
	}
	fw_vec_deinit(&list);
}

static bool misplaced(const struct checked *f)
{
	return f->store_id.n && f->id.n && !fw_ident_equal(&f->id, &f->store_id);
}

static void put_text(const struct checked *f, struct fw_out *out)
{
	fw_out_safe(out, f->path, strlen(f->path));
	if (f->err.code != FW_OK) {
		fw_out_lit(out, ": unusable: ");
		if (f->err.place[0])
			fw_out_printf(out, "%s: ", f->err.place);
		fw_out_printf(out, "%s\n", f->err.message);
		return;
	}
	fw_out_printf(out, ": id %s, %s, functions %u, lines %u, inlined %u, publics %u, "
		      "CFI rows %u\n", f->id.text, fw_cpu_get(f->cpu)->name, f->functions,
		      f->lines, f->inlines, f->publics, f->cfi_rows);
	for (int k = 0; k < FW_DIAG_COUNT; k++) {
		if (f->diag.count[k] == 0)
			continue;
		fw_out_printf(out, "  ignored or cut: %u %s", f->diag.count[k],
			      fw_diag_kind_name((enum fw_diag_kind)k));
		if (f->diag.lines[k][0])
			fw_out_printf(out, " (first in line %u)", f->diag.lines[k][0]);
		fw_out_byte(out, '\n');
	}
	if (misplaced(f))
		fw_out_printf(out, "  the store's path says id %s\n", f->store_id.text);
	if (f->duplicate) {
		fw_out_lit(out, "  same id as ");
		fw_out_safe(out, f->duplicate, strlen(f->duplicate));
		fw_out_byte(out, '\n');
	}
}

static void put_json(const struct checked *f, struct fw_json *j)
{
	bool ok = f->err.code == FW_OK;
	fw_json_begin_object(j);
	fw_json_key(j, "file"), fw_json_cstr(j, f->path);
	fw_json_key(j, "usable"), fw_json_bool(j, ok);
	fw_json_key(j, "error"), fw_json_cstr(j, ok ? NULL : f->err.message);
	fw_json_key(j, "debug_id"), fw_json_cstr(j, f->id.n ? f->id.text : NULL);
	fw_json_key(j, "store_id");
	fw_json_cstr(j, f->store_id.n ? f->store_id.text : NULL);
	fw_json_key(j, "misplaced"), fw_json_bool(j, misplaced(f));
	fw_json_key(j, "duplicate_of"), fw_json_cstr(j, f->duplicate);
	fw_json_key(j, "cpu"), fw_json_cstr(j, fw_cpu_get(f->cpu)->name);
	fw_json_key(j, "functions"), fw_json_u64(j, f->functions);
	fw_json_key(j, "lines"), fw_json_u64(j, f->lines);
	fw_json_key(j, "inlined"), fw_json_u64(j, f->inlines);
	fw_json_key(j, "publics"), fw_json_u64(j, f->publics);
	fw_json_key(j, "cfi_rows"), fw_json_u64(j, f->cfi_rows);
	fw_json_key(j, "diagnostics");
	fw_json_begin_object(j);
	for (int k = 0; k < FW_DIAG_COUNT; k++) {
		const char *name = fw_diag_kind_name((enum fw_diag_kind)k);
		fw_json_key_(j, name, strlen(name));
		fw_json_u64(j, f->diag.count[k]);
	}
	fw_json_end_object(j);
	fw_json_end_object(j);
}

static void put_all_json(const struct check *c, bool pretty, struct fw_out *out)
{
	struct fw_json j;
	fw_json_init(&j, out, pretty);
	fw_json_begin_object(&j);
	fw_json_key(&j, "schema_version"), fw_json_u64(&j, FW_SCHEMA_VERSION);
	fw_json_key(&j, "status"), fw_json_cstr(&j, "OK");
	fw_json_key(&j, "symbol_files");
	fw_json_begin_array(&j);
	for (size_t i = 0; i < c->files.count; i++)
		if (c->files.data[i].is_symbols)
			put_json(&c->files.data[i], &j);
	fw_json_end_array(&j);
	fw_json_end_object(&j);
	fw_json_finish(&j);
}

static int report(const struct check *c, const struct fw_args *args)
{
	struct fw_output o;
	size_t found = 0;
	int status = c->no_memory ? FW_EXIT_UNUSABLE : FW_EXIT_OK;
	if (!fw_output_open(&o, args->value[FW_OPT_OUTPUT].text))
		return FW_EXIT_UNUSABLE;
	for (size_t i = 0; i < c->files.count; i++) {
		const struct checked *f = &c->files.data[i];
		if (!f->is_symbols)
			continue;
		found++;
		if (f->err.code != FW_OK)
			status = FW_EXIT_UNUSABLE;
		if (!args->value[FW_OPT_JSON].set)
			put_text(f, &o.out);
	}
	if (args->value[FW_OPT_JSON].set)
		put_all_json(c, args->value[FW_OPT_PRETTY].set, &o.out);
	else if (found == 0)
		fw_out_lit(&o.out, "no symbol files\n");
	return fw_output_close(&o, found ? status : FW_EXIT_UNUSABLE);
}

int fw_syms_check(const struct fw_args *args)
{
	struct check c = { .no_memory = false };
	for (size_t i = 1; i < args->operands.count; i++) {
		struct stat st;
		const char *path = args->operands.data[i];
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			add_tree(&c, path);
		else
			add_file(&c, path, true);
	}
	fw_pool_for((unsigned)args->value[FW_OPT_JOBS].number, c.files.count, check_file, &c);
	find_duplicates(&c);
	int status = report(&c, args);
	for (size_t i = 0; i < c.files.count; i++)
		free(c.files.data[i].path);
	fw_vec_deinit(&c.files);
	return status;
}
