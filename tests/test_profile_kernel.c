// Whose list names the kernel's part of stacks.
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/report/profile.h"
#include "symfiles/symbols.h"
#include "tests/synth_folder.h"
#include "tests/synth_perf.h"

Suite *profile_kernel_suite(void);

#define ID "0102030405060708"
#define ANOTHER "\1\2\3\4\5\6\7\x09"
#define SAME "\1\2\3\4\5\6\7\x08"
#define COPY "[kernel.kallsyms]/" ID "/kallsyms"
#define LIST "ffffffff81000000 T _text\nffffffff81000008 t do_it\n"
#define MOVED "ffffffff9a000000 T _text\nffffffff9a000008 t do_it\n"
#define IN_MODULE "ffffffff81000000 T _text\nffffffff81000008 t do_it\t[ext4]\n"
#define ANOTHER_KERNEL "the running kernel is another; --kallsyms takes a copy of the recorded " \
		       "one's list"
#define ANOTHER_RELEASE "no build id was recorded, and the running kernel's release is another; " \
			"--kallsyms takes a copy of the recorded one's list"

#define BEHIND "<"		// in front of a map's name: it ends before the frame

// The sample's kernel frame is at ffffffff81000010; do_it begins at ..08.
static const struct {
	const char *mapped;		// what lies there as recorded
	bool id;			// the kernel's build id was recorded: ID
	const char *release;		// recorded
	const char *running, *running_id;	// list and build id of the running kernel
	const char *given;		// --kallsyms
	const char *copy;		// below the -s folder, by ID
	const char *name;		// expected; NULL: none
	enum fw_symbol_status status;
	const char *message, *from;	// `from`: the file's name below the folder
} cases[] = {
	{ "[kernel.kallsyms]_text", true, "6.1", LIST, SAME, NULL, NULL, "do_it",
	  FW_SYMBOLS_LOADED, "", "running" },
	{ "[kernel.kallsyms]_text", true, "6.1", LIST, ANOTHER, NULL, NULL, NULL,
	  FW_SYMBOLS_MISMATCH, ANOTHER_KERNEL, NULL },
	{ "[kernel.kallsyms]_text", true, "6.1", LIST, NULL, NULL, NULL, NULL,
	  FW_SYMBOLS_MISMATCH, ANOTHER_KERNEL, NULL },
	{ "[kernel.kallsyms]_text", true, "6.1", LIST, ANOTHER, LIST, NULL, "do_it",
	  FW_SYMBOLS_LOADED, "", "given" },
	{ "[kernel.kallsyms]_text", true, "6.1", LIST, ANOTHER, NULL, LIST, "do_it",
	  FW_SYMBOLS_LOADED, "", COPY },
	{ "[kernel.kallsyms]_text", false, "6.1", LIST, ANOTHER, NULL, LIST, "do_it",
	  FW_SYMBOLS_LOADED, "", "running" },
	{ "[kernel.kallsyms]_text", false, "5.10", LIST, SAME, NULL, NULL, NULL,
	  FW_SYMBOLS_MISMATCH, ANOTHER_RELEASE, NULL },
	// another boot: the kernel has moved, its modules by other distances
	{ "[kernel.kallsyms]_text", true, "6.1", MOVED, SAME, NULL, NULL, "do_it",
	  FW_SYMBOLS_LOADED, "", "running" },
	{ "[kernel.kallsyms]_text", true, "6.1", "ffffffff9a000000 T _text\n"
	  "ffffffff9a000008 t do_it\t[ext4]\n", SAME, NULL, NULL, NULL,
	  FW_SYMBOLS_LOADED, "", "running" },
	// perf of old has the kernel end where the first module begins
	{ "[kernel.kallsyms]_text", true, "6.1", IN_MODULE, SAME, NULL, NULL, "do_it",
	  FW_SYMBOLS_LOADED, "", "running" },
	{ "[ext4]", true, "6.1", IN_MODULE, SAME, IN_MODULE, NULL, "do_it",
	  FW_SYMBOLS_LOADED, "", "given" },
	{ "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz", true, "6.1", NULL, SAME, IN_MODULE, NULL,
	  "do_it", FW_SYMBOLS_LOADED, "", "given" },
	{ "[ext]", true, "6.1", NULL, SAME, IN_MODULE, NULL, NULL, FW_SYMBOLS_LOADED, "", "given" },
	{ "[ext4_2]", true, "6.1", NULL, SAME, IN_MODULE, NULL, NULL,
	  FW_SYMBOLS_LOADED, "", "given" },
	{ "[ext4]", true, "6.1", NULL, SAME, LIST, NULL, NULL, FW_SYMBOLS_LOADED, "", "given" },
	// .init.text is behind the kernel's map; behind a module's nobody knows
	{ BEHIND "[kernel.kallsyms]_text", true, "6.1", LIST, SAME, NULL, NULL, "do_it",
	  FW_SYMBOLS_LOADED, "", "running" },
	{ BEHIND "[ext4]", true, "6.1", LIST, SAME, NULL, NULL, "do_it",
	  FW_SYMBOLS_NOT_SEARCHED, NULL, NULL },
	{ "[bpf_prog_12ab]", true, "6.1", LIST, SAME, NULL, NULL, "bpf_prog_12ab",
	  FW_SYMBOLS_LOADED, "", "running" },
	{ "[kernel.kallsyms]_text", true, "6.1", "0000000000000000 T _text\n", SAME, NULL, NULL,
	  NULL, FW_SYMBOLS_CORRUPT, "no address of code in it", NULL },
};

static void put_kernel_id(struct synth_perf *s)
{
	perf_record_open(s, 0, 1 | 1 << 15);
	perf_put_u32(s, UINT32_MAX);
	perf_put_bytes(s, SAME, 8);
	perf_put_bytes(s, NULL, 12);
	perf_put_u8(s, 8);
	perf_put_bytes(s, NULL, 3);
	perf_put_text(s, "[kernel.kallsyms]");
	perf_record_close(s);
}

static void record(struct synth_perf *s, int i)
{
	const bool id = cases[i].id;
	synth_perf_begin(s, &synth_perf_attr, 1);
	perf_record_open(s, 1, 1);
	perf_put_u32(s, UINT32_MAX);
	perf_put_u32(s, 0);
	perf_put_u64(s, UINT64_C(0xffffffff81000000));
	perf_put_u64(s, cases[i].mapped[0] == BEHIND[0] ? 8 : 0x1000);
	perf_put_u64(s, UINT64_C(0xffffffff81000000));
	perf_put_text(s, cases[i].mapped + (cases[i].mapped[0] == BEHIND[0]));
	perf_put_trailer(s, 0, 0);
	perf_put_sample(s, 7, 50, 1, 0, 0);
	synth_perf_end(s);
	synth_perf_features(s, id ? (uint32_t[]){ 2, 4 } : (uint32_t[]){ 4 }, 1 + id);
	if (id) {
		perf_feature_open(s, 0);
		put_kernel_id(s);
		perf_feature_close(s, 0);
	}
	perf_feature_open(s, id);
	perf_put_string(s, cases[i].release);
	perf_feature_close(s, id);
}

static void write_kernel(const struct folder *f, int i)
{
	char notes[24] = { 4, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
	if (cases[i].running)
		folder_text(f, "running", cases[i].running);
	if (cases[i].given)
		folder_text(f, "given", cases[i].given);
	if (cases[i].copy)
		folder_text(f, COPY, cases[i].copy);
	if (cases[i].running_id) {
		memcpy(notes + 16, cases[i].running_id, 8);
		folder_write(f, "notes", notes, sizeof(notes));
	}
}

static void check_profile(const struct fw_profile *p, const struct folder *f, int i)
{
	ck_assert_uint_eq(p->num_frames, 1);
	const struct fw_profile_frame *frame = &p->frames[0];
	const struct fw_profile_line *line = &p->lines[frame->first_line];
	const bool nowhere = cases[i].status == FW_SYMBOLS_NOT_SEARCHED;
	ck_assert(frame->kernel);
	if (cases[i].name) {
		ck_assert_uint_eq(line->function.n, strlen(cases[i].name));
		ck_assert_mem_eq(line->function.s, cases[i].name, line->function.n);
		ck_assert_uint_eq(line->function_offset, cases[i].name[0] == 'b' ? 0x10 : 8);
	} else {
		ck_assert_uint_eq(line->function.n, 0);
	}
	ck_assert_int_eq(frame->module == FW_NO_MODULE, nowhere);
	if (nowhere)
		return;
	const struct fw_profile_module *m = &p->modules[frame->module];
	const char *path = strstr(cases[i].mapped, "[kernel") ? "[kernel.kallsyms]" : cases[i].mapped;
	ck_assert_uint_eq(m->path.n, strlen(path));
	ck_assert_mem_eq(m->path.s, path, m->path.n);
	ck_assert_int_eq(m->symbols->status, cases[i].status);
	ck_assert_str_eq(m->symbols->message, cases[i].message);
	if (cases[i].from)
		ck_assert_str_eq(m->used_path, folder_path(f, cases[i].from));
	else
		ck_assert_ptr_null(m->used_path);
}

START_TEST(names_are_of_the_recorded_kernel)
{
	struct folder f;
	struct synth_perf s = { 0 };
	struct fw_recording *r;
	struct fw_symbols *symbols;
	struct fw_profile *p;
	char running[256], notes[256], given[256];
	folder_make(&f);
	strcpy(running, folder_path(&f, "running"));
	strcpy(notes, folder_path(&f, "notes"));
	strcpy(given, folder_path(&f, "given"));
	const struct fw_profile_options options = {
		.max_frames = 16, .jobs = 1, .kernel = true,
		.kallsyms = cases[_i].given ? given : NULL,
		.running_kallsyms = running, .kernel_notes = notes, .kernel_release = "6.1",
	};
	const char *paths[] = { f.path };
	const struct fw_symbol_options where = { .paths = paths, .num_paths = 1 };
	write_kernel(&f, _i);
	record(&s, _i);
	int fd = memfd_create("perf.data", MFD_CLOEXEC);
	ck_assert(fd >= 0 && write(fd, s.data, s.n) == (ssize_t)s.n && !lseek(fd, 0, SEEK_SET));
	ck_assert_int_eq(fw_recording_open(NULL, fd, &r, NULL), FW_OK);
	close(fd);
	ck_assert_int_eq(fw_symbols_create(&where, &symbols, NULL), FW_OK);
	ck_assert_int_eq(fw_profile_create(r, "x", symbols, &options, &p, NULL), FW_OK);
	check_profile(p, &f, _i);
	fw_profile_destroy(p);
	fw_symbols_destroy(symbols);
	fw_recording_destroy(r);
	synth_perf_free(&s);
	folder_remove(&f);
}
END_TEST

Suite *profile_kernel_suite(void)
{
	Suite *s = suite_create("profile_kernel");
	TCase *tc = tcase_create("profile_kernel");
	tcase_add_loop_test(tc, names_are_of_the_recorded_kernel, 0,
			    sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, tc);
	return s;
}
