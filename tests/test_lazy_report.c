// A report whose module is read lazily and whose files are gone before its names are asked for.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/report/report.h"
#include "tests/synth_folder.h"

Suite *lazy_report_suite(void);

struct crash {
	struct folder folder;
	struct fw_file core;
	struct fw_snapshot *snapshot;
	struct fw_symbols *symbols;
	uint32_t main;			// module
};

static bool open_crash(struct crash *c)
{
	char command[1024], path[512], sysroot[512];
	const char *corpus = getenv("CORPUS");
	struct fw_error err = { 0 };
	snprintf(path, sizeof(path), "%s/cores/c_basic_O2/core", corpus ? corpus : "");
	snprintf(sysroot, sizeof(sysroot), "%s/sysroot", corpus ? corpus : "");
	if (fw_file_open(&c->core, path, 1 << 30, NULL) != FW_OK) {
		printf("skipped: no $CORPUS\n");
		return false;
	}
	ck_assert_int_eq(fw_snapshot_read(c->core.data, c->core.size, &c->snapshot, &err), FW_OK);
	folder_make(&c->folder);
	snprintf(command, sizeof(command), "cp '%s/cores/c_basic_O2/a.out' '%s'", corpus,
		 c->folder.path);
	ck_assert_int_eq(system(command), 0);
	const char *paths[] = { c->folder.path };
	struct fw_symbol_options o = { .paths = paths, .num_paths = 1, .sysroot = sysroot,
				       .lazy = FW_LAZY_ALWAYS };
	ck_assert_int_eq(fw_symbols_create(&o, &c->symbols, &err), FW_OK);
	for (c->main = 0; c->main < c->snapshot->num_modules; c->main++)
		if (c->snapshot->modules[c->main].is_main)
			return true;
	ck_abort_msg("no program among the modules");
}

static void close_crash(struct crash *c)
{
	fw_symbols_destroy(c->symbols);
	fw_snapshot_destroy(c->snapshot);
	fw_file_close(&c->core);
	folder_remove(&c->folder);
}

static const struct fw_symbol_file *load_program(const struct crash *c)
{
	const struct fw_module_info *m = &c->snapshot->modules[c->main];
	struct fw_symbol_key key = { .debug_file = m->debug_file, .code_file = m->code_file,
				     .debug_id = &m->debug_id, .code_id = &m->code_id,
				     .cpu = c->snapshot->cpu->id };
	return fw_symbols_load(c->symbols, &key);
}

START_TEST(the_walk_goes_on_without_names)
{
	static struct fw_report_frame frame;
	struct crash c;
	struct fw_report *r;
	struct fw_error err = { 0 };
	struct fw_report_options o = { .max_frames = 1000 };
	uint32_t unnamed = 0, frames[2];
	if (!open_crash(&c))
		return;
	const struct fw_symbol_file *program = load_program(&c);
	ck_assert_ptr_nonnull(program->lazy);
	for (unsigned gone = 0; gone < 2; gone++) {
		// the second time the file is gone, and what it would say of other addresses
		ck_assert_int_eq(fw_report_create(c.snapshot, "core", c.symbols, &o, &r, &err),
				 FW_OK);
		const struct fw_report_thread *t = &r->threads[0];
		frames[gone] = t->num_frames;
		ck_assert_str_eq(r->modules[c.main].symbols->message, gone ?
				 "no names: cannot open: No such file or directory" : "");
		ck_assert_int_eq(r->modules[c.main].symbols->status, FW_SYMBOLS_LOADED);
		ck_assert_int_eq(r->modules[c.main].cfi, FW_CFI_LOADED);
		for (uint32_t i = 0; i < t->num_frames; i++) {
			fw_report_frame(r, t, i, &frame);
			unnamed += frame.module == r->modules[c.main].info && frame.function.n == 0;
		}
		ck_assert_uint_eq(unnamed != 0, gone);
		fw_report_destroy(r);
		if (gone)
			break;
		fw_symbols_destroy(c.symbols);
		const char *paths[] = { c.folder.path };
		struct fw_symbol_options s = { .paths = paths, .num_paths = 1,
					       .lazy = FW_LAZY_ALWAYS };
		ck_assert_int_eq(fw_symbols_create(&s, &c.symbols, &err), FW_OK);
		ck_assert_ptr_nonnull(load_program(&c)->lazy);
		ck_assert_int_eq(remove(folder_path(&c.folder, "a.out")), 0);
	}
	ck_assert_uint_ge(frames[1], 4);
	ck_assert_uint_le(frames[1], frames[0]);
	close_crash(&c);
}
END_TEST

Suite *lazy_report_suite(void)
{
	Suite *s = suite_create("lazy_report");
	TCase *tc = tcase_create("failures");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, the_walk_goes_on_without_names);
	suite_add_tcase(s, tc);
	return s;
}
