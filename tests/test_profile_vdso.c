// Samples in the vDSO, which is no file: this process's own one stands for the recorded system's.
#include <check.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/report/profile.h"
#include "symfiles/symbols.h"
#include "tests/synth_perf.h"

Suite *profile_vdso_suite(void);

enum { PID = 7, BUILD_ID = 1 << 14 };
#define VDSO UINT64_C(0x7ffd00000000)	// where it was mapped
#define APP UINT64_C(0x400000)
#define SP UINT64_C(0x7ffc00000000)

static const uint8_t *image;		// NULL: none here
static size_t image_size;
static uint64_t function;		// offset of __vdso_clock_gettime
static const uint8_t *build_id;		// 20 bytes: of its NT_GNU_BUILD_ID

static void find_image(void)
{
	static const uint8_t note[] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
	void *handle = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	const uint8_t *at = handle == NULL ? NULL : dlsym(handle, "__vdso_clock_gettime");
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	if (at == NULL || header == NULL || header->e_machine != EM_X86_64)
		return;
	image_size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	build_id = memmem(header, image_size, note, sizeof(note));
	if (build_id == NULL)
		return;
	build_id += sizeof(note);
	image = (const uint8_t *)header;
	function = (uint64_t)(at - image);
}

static void map(struct synth_perf *s, const uint8_t *id, uint64_t start, const char *path)
{
	perf_record_open(s, 10, id == NULL ? 2 : 2 | BUILD_ID);
	perf_put_u32(s, PID);
	perf_put_u32(s, PID);
	perf_put_u64(s, start);
	perf_put_u64(s, 0x2000);
	perf_put_u64(s, 0);
	perf_put_u32(s, id == NULL ? 0 : 20);
	perf_put_bytes(s, id, 20);
	perf_put_u32(s, 5);		// PROT_READ | PROT_EXEC
	perf_put_u32(s, 2);
	perf_put_text(s, path);
	perf_put_trailer(s, PID, 1);
}

/** At the function's first instruction: its return address, APP + 0x100, is at sp. */
static void sample(struct synth_perf *s)
{
	enum { REG_SP = 7, IP = 8 };
	perf_record_open(s, 9, 2);
	perf_put_u64(s, VDSO + function);
	perf_put_u32(s, PID);
	perf_put_u32(s, PID);
	perf_put_u64(s, 50);
	perf_put_u64(s, 0);		// cpu
	perf_put_u64(s, 1);		// period
	perf_put_u64(s, 0);		// no chain
	perf_put_u64(s, 2);
	for (unsigned i = 0; i < 20; i++)
		perf_put_u64(s, i == IP ? VDSO + function : i == REG_SP ? SP : 0);
	perf_put_u64(s, 32);
	perf_put_u64(s, APP + 0x100);
	perf_put_bytes(s, NULL, 24);
	perf_put_u64(s, 32);
	perf_record_close(s);
}

static int memory_file(const void *data, size_t n, char path[32])
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	ck_assert(fd >= 0 && write(fd, data, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static const struct {
	bool given;			// there is a file of it
	bool recorded;			// its build id is
	uint8_t change;			// of the recorded id
	bool named;
} cases[] = {
	{ true, false, 0, true },
	{ true, true, 0, true },
	{ true, true, 1, false },		// another system's
	{ false, true, 0, false },
};

START_TEST(its_frames_are_named_and_left_by_rules)
{
	struct synth_perf s = { 0 };
	struct fw_profile_options options = { .max_frames = 16, .jobs = 1 };
	struct fw_symbol_options where = { .cache_dir = NULL };
	struct fw_recording *r;
	struct fw_symbols *symbols;
	struct fw_profile *p;
	char vdso[32], path[32];
	uint8_t id[20];
	if (image == NULL)
		return;
	memcpy(id, build_id, sizeof(id));
	id[0] ^= cases[_i].change;
	synth_perf_begin(&s, &synth_perf_attr, 1);
	map(&s, NULL, APP, "/nowhere/app");
	map(&s, cases[_i].recorded ? id : NULL, VDSO, "[vdso]");
	sample(&s);
	synth_perf_end(&s);
	int fd = memory_file(s.data, s.n, path), vdso_fd = memory_file(image, image_size, vdso);
	options.vdso = cases[_i].given ? vdso : NULL;
	ck_assert_int_eq(fw_recording_open(NULL, fd, &r, NULL), FW_OK);
	ck_assert_int_eq(fw_symbols_create(&where, &symbols, NULL), FW_OK);
	ck_assert_int_eq(fw_profile_create(r, "x", symbols, &options, &p, NULL), FW_OK);
	ck_assert_uint_eq(p->samples_used, 1);
	ck_assert_uint_eq(p->num_stacks, 1);
	const struct fw_profile_node *leaf = &p->nodes[p->stacks[0].node];
	const struct fw_profile_frame *f = &p->frames[leaf->frame];
	ck_assert_uint_eq(f->pc, function);
	ck_assert_int_eq(memcmp(p->modules[f->module].name.s, "[vdso]", 6), 0);
	const struct fw_str name = p->lines[f->first_line + f->num_lines - 1].function;
	ck_assert_int_eq(name.s != NULL, cases[_i].named);
	if (name.s != NULL) {
		// several names may be there for one address
		ck_assert_ptr_nonnull(memmem(name.s, name.n, "clock_gettime", 13));
		f = &p->frames[p->nodes[leaf->parent].frame];
		ck_assert_uint_eq(f->pc, 0x100);
		ck_assert_int_eq(f->trust, FW_TRUST_CFI);
	}
	fw_profile_destroy(p);
	fw_symbols_destroy(symbols);
	fw_recording_destroy(r);
	synth_perf_free(&s);
	close(vdso_fd);
	close(fd);
}
END_TEST

Suite *profile_vdso_suite(void)
{
	Suite *s = suite_create("profile_vdso");
	TCase *tc = tcase_create("vdso");
	tcase_add_unchecked_fixture(tc, find_image, NULL);
	tcase_add_loop_test(tc, its_frames_are_named_and_left_by_rules, 0,
			    sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, tc);
	return s;
}
