#include <check.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symfiles/elf_file.h"
#include "symfiles/elf_segments.h"

Suite *elf_segments_suite(void);

struct loaded { const char *path; uint64_t bias; bool found; };

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *l = context;
	(void)size;
	const char *name = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
	char real[4096];
	if (realpath(name, real) != NULL && strcmp(real, l->path) == 0) {
		l->bias = info->dlpi_addr;
		l->found = true;
	}
	return 0;
}

/** The dynamic linker says where it put us and our libraries; the kernel says what is mapped. */
START_TEST(modules_lie_where_the_dynamic_linker_put_them)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[8192], path[4096], permissions[8];
	unsigned long start, end, offset;
	unsigned checked = 0;
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		struct fw_elf_head head;
		struct loaded l = { .path = path };
		uint64_t base;
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, permissions,
			   &offset, path) != 5 || path[0] != '/' || permissions[2] != 'x')
			continue;
		dl_iterate_phdr(note_object, &l);
		if (!l.found)
			continue;	// the sanitizers map files of their own
		ck_assert_msg(fw_elf_head_read(path, &head), "%s", path);
		ck_assert_msg(fw_elf_head_place(&head, start, offset, &base), "%s", path);
		ck_assert_uint_eq(base, l.bias + head.base);
		checked++;
	}
	fclose(maps);
	ck_assert_uint_ge(checked, 2);
}
END_TEST

START_TEST(it_says_what_reading_the_whole_file_says)
{
	struct fw_elf_head head;
	struct fw_elf *elf;
	uint64_t entry;
	ck_assert(fw_elf_head_read("/proc/self/exe", &head));
	ck_assert_int_eq(fw_elf_open("/proc/self/exe", &elf, NULL), FW_OK);
	ck_assert_uint_eq(head.base, fw_elf_base(elf));
	ck_assert_ptr_eq(head.cpu, fw_elf_cpu(elf));
	ck_assert(fw_elf_entry(elf, &entry));
	ck_assert_uint_eq(head.entry, head.base + entry);
	ck_assert(head.program);
	if (head.code_id.n != 0) {
		ck_assert(fw_ident_equal(&head.code_id, fw_elf_code_id(elf)));
		ck_assert(fw_ident_equal(&head.debug_id, fw_elf_debug_id(elf)));
	}
	fw_elf_close(elf);
}
END_TEST

START_TEST(what_is_no_program_is_refused)
{
	static const char *const paths[] = { "/dev/null", "/", "/nowhere/at/all", "/proc/version" };
	struct fw_elf_head head;
	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		ck_assert_msg(!fw_elf_head_read(paths[i], &head), "%s", paths[i]);
}
END_TEST

/** Every prefix and every flipped byte of a header: any answer, but no harm. */
START_TEST(broken_headers_do_no_harm)
{
	uint8_t bytes[1024], copy[1024];
	char path[] = "/tmp/elf-head-XXXXXX";
	struct fw_elf_head head;
	uint64_t base;
	FILE *self = fopen("/proc/self/exe", "rb");
	ck_assert_ptr_nonnull(self);
	ck_assert_uint_eq(fread(bytes, 1, sizeof(bytes), self), sizeof(bytes));
	fclose(self);
	int fd = mkstemp(path);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		memcpy(copy, bytes, sizeof(copy));
		copy[i] ^= i % 3 == 0 ? 0xff : i % 3 == 1 ? 0x80 : 1;
		ck_assert_int_eq(pwrite(fd, copy, sizeof(copy), 0), (int)sizeof(copy));
		if (fw_elf_head_read(path, &head))
			fw_elf_head_place(&head, UINT64_C(0x7f0000000000), 0x1000, &base);
	}
	for (size_t n = 0; n < sizeof(bytes); n++) {
		ck_assert_int_eq(ftruncate(fd, 0), 0);
		ck_assert_int_eq(pwrite(fd, bytes, n, 0), (int)n);
		if (fw_elf_head_read(path, &head))
			ck_assert_uint_ge(head.num_loads, 1);
	}
	close(fd);
	unlink(path);
}
END_TEST

START_TEST(segments_with_different_deltas_have_one_bias)
{
	// as lld lays out: text at vaddr 0x2000 comes from offset 0x1000
	const struct fw_elf_head head = {
		.base = 0, .num_loads = 3, .loads = {
			{ 0, 0, 0xfff, false },
			{ 0x2000, 0x1000, 0x800, true },
			{ 0x3800, 0x1800, 0x100, false },
		},
	};
	uint64_t base;
	ck_assert(fw_elf_head_place(&head, 0x7000, 0, &base));
	ck_assert_uint_eq(base, 0x7000);
	ck_assert(fw_elf_head_place(&head, 0x9000, 0x1000, &base));
	ck_assert_uint_eq(base, 0x7000);
	ck_assert(!fw_elf_head_place(&head, 0x9000, 0x5000, &base));
}
END_TEST

Suite *elf_segments_suite(void)
{
	Suite *s = suite_create("elf_segments");
	TCase *t = tcase_create("head");
	tcase_add_test(t, modules_lie_where_the_dynamic_linker_put_them);
	tcase_add_test(t, it_says_what_reading_the_whole_file_says);
	tcase_add_test(t, what_is_no_program_is_refused);
	tcase_add_test(t, broken_headers_do_no_harm);
	tcase_add_test(t, segments_with_different_deltas_have_one_bias);
	suite_add_tcase(s, t);
	return s;
}
