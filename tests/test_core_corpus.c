// Cores that Linux and qemu wrote, against what gdb and libdwfl saw in them.
#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/file.h"
#include "tests/snapshot_check.h"

Suite *core_corpus_suite(void);

static char cases[64][256];
static int num_cases;

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void find_cases(void)
{
	char path[512];
	const char *corpus = getenv("CORPUS");
	snprintf(path, sizeof(path), "%s/cores", corpus ? corpus : "");
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && num_cases < 64 && (e = readdir(dir));) {
		struct fw_file f;
		snprintf(path, sizeof(path), "%s/cores/%.200s/truth.json", corpus, e->d_name);
		if (e->d_name[0] == '.' || fw_file_open(&f, path, 1 << 30, NULL) != FW_OK)
			continue;
		fw_file_close(&f);
		snprintf(cases[num_cases++], sizeof(cases[0]), "%.200s", e->d_name);
	}
	if (dir)
		closedir(dir);
	qsort(cases, (size_t)num_cases, sizeof(cases[0]), compare_names);
}

static bool open_file(struct fw_file *f, int i, const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/cores/%s/%s", getenv("CORPUS"), cases[i], name);
	return fw_file_open(f, path, 1 << 30, NULL) == FW_OK;
}

// The file as a string, the caller's.
static char *read_text(int i, const char *name)
{
	struct fw_file f;
	if (!open_file(&f, i, name))
		return NULL;
	char *text = strndup((const char *)f.data, f.size);
	fw_file_close(&f);
	return text;
}

static struct fw_snapshot *read_core(int i, struct fw_file *f)
{
	struct fw_snapshot *s = NULL;
	struct fw_error err = { 0 };
	ck_assert(open_file(f, i, "core"));
	enum fw_code code = fw_snapshot_read(f->data, f->size, &s, &err);
	ck_assert_msg(code == FW_OK, "%s: %s: %s", cases[i], err.place, err.message);
	const char *broken = snapshot_check(s);
	ck_assert_msg(!broken, "%s: %s", cases[i], broken);
	return s;
}

static void done(struct fw_snapshot *s, struct fw_file *f)
{
	fw_snapshot_destroy(s);
	fw_file_close(f);
}

static const struct fw_thread_info *thread_by_id(const struct fw_snapshot *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->num_threads; i++) {
		if (s->threads[i].id == id)
			return &s->threads[i];
	}
	return NULL;
}

// truth.json: "lwp" of every thread, then its innermost frame's "pc" and "sp".
START_TEST(threads_and_first_frames_are_the_debuggers)
{
	struct fw_file f;
	struct fw_snapshot *s = read_core(_i, &f);
	char *text = read_text(_i, "truth.json");
	uint32_t threads = 0;
	for (const char *p = text; (p = strstr(p, "\"lwp\": ")); threads++) {
		p += 7;
		uint32_t id = (uint32_t)strtoul(p, NULL, 10);
		const struct fw_thread_info *t = thread_by_id(s, id);
		ck_assert_msg(t && t->have_context, "%s: no thread %u", cases[_i], id);
		const char *pc = strstr(p, "\"pc\": \"0x"), *sp = strstr(p, "\"sp\": \"0x");
		ck_assert(pc && sp);
		ck_assert_uint_eq(t->regs.v[s->cpu->pc], strtoull(pc + 7, NULL, 16));
		ck_assert_uint_eq(t->regs.v[s->cpu->sp], strtoull(sp + 7, NULL, 16));
		// the crashing one is the debugger's first
		if (threads == 0)
			ck_assert_int_eq(t - s->threads, s->crashing_thread);
	}
	ck_assert_uint_eq(threads, s->num_threads);
	ck_assert_uint_gt(threads, 0);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_assert(s->crashed && s->regions_complete);
	ck_assert_str_eq(s->format, "core");
	free(text);
	done(s, &f);
}
END_TEST

// gdb-bt.txt: "(LWP 387)" of every thread.
START_TEST(threads_are_gdbs)
{
	struct fw_file f;
	struct fw_snapshot *s = read_core(_i, &f);
	char *text = read_text(_i, "gdb-bt.txt");
	uint32_t threads = 0;
	for (const char *p = text; p && (p = strstr(p, "(LWP ")); threads++) {
		p += 5;
		ck_assert_ptr_nonnull(thread_by_id(s, (uint32_t)strtoul(p, NULL, 10)));
	}
	if (text)
		ck_assert_uint_eq(threads, s->num_threads);
	free(text);
	done(s, &f);
}
END_TEST

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// modules.txt, eu-unstrip's lines: BASE+SIZE BUILDID@ADDRESS FILE DEBUGFILE NAME.
START_TEST(modules_are_libdwfls)
{
	struct fw_file f;
	struct fw_snapshot *s = read_core(_i, &f);
	char *text = read_text(_i, "modules.txt"), *save;
	uint32_t modules = 0;
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save), modules++) {
		uint64_t base, size;
		char id[65];
		ck_assert_int_eq(sscanf(line, "%" SCNx64 "+%" SCNx64 " %64[0-9a-f-]", &base, &size,
					id), 3);
		const char *last = strrchr(line, ' ') + 1;
		const struct fw_module_info *m = fw_snapshot_module(s, base);
		ck_assert_msg(m && m->base == base, "%s: no %s", cases[_i], last);
		// "-": linked without a build id
		ck_assert_str_eq(m->code_id.text, strcmp(id, "-") ? id : "");
		ck_assert_int_eq(m->debug_id.n, m->code_id.n ? 33 : 0);
		// the list has the name it was loaded by, the core that of the file:
		// libstdc++.so.6 is libstdc++.so.6.0.30
		struct fw_str mine = fw_base_name(m->code_file);
		size_t n = strlen(base_name(last));
		ck_assert_uint_ge(mine.n, n);
		ck_assert_mem_eq(mine.s, base_name(last), n);
		ck_assert_int_eq(m->is_main, !strcmp(base_name(last), "a.out"));
	}
	if (text)
		ck_assert_uint_eq(modules, s->num_modules);
	free(text);
	done(s, &f);
}
END_TEST

Suite *core_corpus_suite(void)
{
	Suite *suite = suite_create("core_corpus");
	TCase *tc = tcase_create("cores");
	find_cases();
	if (num_cases) {
		tcase_add_loop_test(tc, threads_and_first_frames_are_the_debuggers, 0, num_cases);
		tcase_add_loop_test(tc, threads_are_gdbs, 0, num_cases);
		tcase_add_loop_test(tc, modules_are_libdwfls, 0, num_cases);
	}
	suite_add_tcase(suite, tc);
	return suite;
}
