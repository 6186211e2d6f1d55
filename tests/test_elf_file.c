#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symfiles/elf_internal.h"
#include "tests/synth_elf.h"
#include "tests/synth_folder.h"

Suite *elf_file_suite(void);

static const uint8_t BUILD_ID[20] = {
	0x0a, 0xef, 0x3e, 0xd9, 0x53, 0x8a, 0xb4, 0x7b, 0x12, 0xd4,
	0xb8, 0x7d, 0xfa, 0x73, 0xa2, 0x96, 0x8e, 0xef, 0x86, 0x1c,
};
// First 16 bytes as a little-endian GUID, age 0 (breakpad.md, trap 27).
#define BUILD_DEBUG_ID "D93EEF0A8A537BB412D4B87DFA73A2960"
#define BUILD_CODE_ID "0aef3ed9538ab47b12d4b87dfa73a2968eef861c"

static const uint8_t TEXT[32] = {
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d,
	0x0e, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff,
};
// ff fe fd ... f0 by hand.
#define TEXT_DEBUG_ID "FCFDFEFFFAFBF8F9F7F6F5F4F3F2F1F00"
#define TEXT_CODE_ID "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0"

static struct fw_elf *open_synth(const struct synth_elf *o, uint8_t *bytes)
{
	struct fw_elf *elf = NULL;
	struct fw_error err = { 0 };
	size_t n = synth_elf(o, bytes);
	enum fw_code code = fw_elf_open_bytes(bytes, n, &elf, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	return elf;
}

static void check_peek(const uint8_t *bytes, size_t n, const char *want)
{
	struct fw_ident id = { 0 };
	struct folder f;
	folder_make(&f);
	folder_write(&f, "x", bytes, n);
	bool ok = fw_elf_peek_id(bytes, n < 4096 ? n : 4096, folder_path(&f, "x"), &id);
	ck_assert_int_eq(ok, *want != '\0');
	if (ok)
		ck_assert_str_eq(id.text, want);
	folder_remove(&f);
}

// every class, byte order, and place of the build id
START_TEST(build_id_is_found)
{
	uint8_t bytes[SYNTH_ELF_MAX];
	struct synth_elf o = {
		.wide = _i & 1, .big = _i & 2, .note_segment = _i & 4, .sections = !(_i & 4) || _i & 8,
		.other_note_first = _i & 16, .base = _i & 1 ? 0x7fff12340000 : 0x8048000,
		.build_id = BUILD_ID, .build_id_size = sizeof(BUILD_ID),
		.text = TEXT, .text_size = sizeof(TEXT),
	};
	struct fw_elf *elf = open_synth(&o, bytes);
	ck_assert_str_eq(fw_elf_debug_id(elf)->text, BUILD_DEBUG_ID);
	ck_assert_str_eq(fw_elf_code_id(elf)->text, BUILD_CODE_ID);
	fw_elf_close(elf);
	check_peek(bytes, SYNTH_ELF_TEXT + sizeof(TEXT), BUILD_DEBUG_ID);
}
END_TEST

START_TEST(short_build_id_is_padded)
{
	uint8_t bytes[SYNTH_ELF_MAX];
	struct synth_elf o = { .wide = true, .note_segment = true, .build_id = BUILD_ID,
			       .build_id_size = 8 };
	struct fw_elf *elf = open_synth(&o, bytes);
	ck_assert_str_eq(fw_elf_debug_id(elf)->text, "D93EEF0A8A537BB400000000000000000");
	ck_assert_str_eq(fw_elf_code_id(elf)->text, "0aef3ed9538ab47b");
	fw_elf_close(elf);
}
END_TEST

START_TEST(text_is_hashed_without_build_id)
{
	uint8_t bytes[SYNTH_ELF_MAX];
	static const uint8_t zero[20];
	struct synth_elf o = { .wide = _i & 1, .big = _i & 2, .sections = true,
			       .build_id = _i & 4 ? zero : NULL, .build_id_size = sizeof(zero),
			       .note_segment = true, .text = TEXT, .text_size = sizeof(TEXT) };
	struct fw_elf *elf = open_synth(&o, bytes);
	ck_assert_str_eq(fw_elf_debug_id(elf)->text, TEXT_DEBUG_ID);
	ck_assert_str_eq(fw_elf_code_id(elf)->text, TEXT_CODE_ID);
	fw_elf_close(elf);
	check_peek(bytes, SYNTH_ELF_TEXT + sizeof(TEXT), TEXT_DEBUG_ID);
}
END_TEST

START_TEST(only_the_first_4_kib_of_text_count)
{
	uint8_t bytes[SYNTH_ELF_MAX], text[0x1800] = { 0 };
	struct synth_elf o = { .wide = true, .sections = true, .text = text,
			       .text_size = sizeof(text) };
	text[0] = 0x12;
	text[0xfff] = 0x34;
	text[0x1000] = 0xff;
	struct fw_elf *elf = open_synth(&o, bytes);
	ck_assert_str_eq(fw_elf_debug_id(elf)->text, "00000012000000000000000000000034" "0");
	fw_elf_close(elf);
}
END_TEST

START_TEST(no_identity_at_all)
{
	uint8_t bytes[SYNTH_ELF_MAX];
	struct synth_elf o = { .wide = true, .text = TEXT, .text_size = sizeof(TEXT) };
	struct fw_elf *elf = open_synth(&o, bytes);
	ck_assert_uint_eq(fw_elf_debug_id(elf)->n, 0);
	ck_assert_uint_eq(fw_elf_code_id(elf)->n, 0);
	ck_assert(fw_elf_has_code(elf));
	fw_elf_close(elf);
	check_peek(bytes, SYNTH_ELF_TEXT + sizeof(TEXT), "");
}
END_TEST

START_TEST(code_bytes_by_offset)
{
	uint8_t bytes[SYNTH_ELF_MAX], out[64] = { 0 };
	struct synth_elf o = { .wide = _i & 1, .big = _i & 2, .base = 0x400000, .text = TEXT,
			       .text_size = sizeof(TEXT) };
	struct fw_elf *elf = open_synth(&o, bytes);
	ck_assert(fw_elf_code(elf, 0x1000, out, 32));
	ck_assert_mem_eq(out, TEXT, 32);
	ck_assert(fw_elf_code(elf, 0x101f, out, 1));		// the last byte
	ck_assert_uint_eq(out[0], 0xff);
	ck_assert(!fw_elf_code(elf, 0x101f, out, 2));		// over the end
	ck_assert(!fw_elf_code(elf, 0x1020, out, 1));
	ck_assert(!fw_elf_code(elf, 0xfff, out, 1));		// before the segment
	ck_assert(!fw_elf_code(elf, 0x0, out, 16));		// there, not executable
	ck_assert(!fw_elf_code(elf, UINT64_MAX, out, 16));
	ck_assert(!fw_elf_code(elf, 0x1000, out, UINT64_MAX));
	fw_elf_close(elf);
}
END_TEST

START_TEST(debug_file_has_no_code)
{
	uint8_t bytes[SYNTH_ELF_MAX], out[4];
	struct synth_elf o = { .wide = true, .sections = true, .text_elsewhere = true,
			       .note_segment = true, .build_id = BUILD_ID,
			       .build_id_size = sizeof(BUILD_ID), .text = TEXT,
			       .text_size = sizeof(TEXT) };
	struct fw_elf *elf = open_synth(&o, bytes);
	ck_assert(!fw_elf_has_code(elf));
	ck_assert(!fw_elf_code(elf, 0x1000, out, 4));
	ck_assert_str_eq(fw_elf_debug_id(elf)->text, BUILD_DEBUG_ID);
	fw_elf_close(elf);
}
END_TEST

START_TEST(code_that_the_file_lacks_is_cut)
{
	uint8_t bytes[SYNTH_ELF_MAX], out[32];
	struct fw_elf *elf;
	struct synth_elf o = { .wide = true, .text = TEXT, .text_size = sizeof(TEXT) };
	size_t n = synth_elf(&o, bytes);
	ck_assert_int_eq(fw_elf_open_bytes(bytes, n - 16, &elf, NULL), FW_OK);
	ck_assert(fw_elf_code(elf, 0x1000, out, 16));
	ck_assert(!fw_elf_code(elf, 0x1000, out, 17));
	fw_elf_close(elf);
}
END_TEST

static void refused(const uint8_t *bytes, size_t n, enum fw_code code, const char *message)
{
	struct fw_elf *elf = NULL;
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_elf_open_bytes(bytes, n, &elf, &err), code);
	ck_assert_str_eq(err.message, message);
	ck_assert_ptr_null(elf);
}

START_TEST(what_is_no_program_is_refused)
{
	uint8_t bytes[SYNTH_ELF_MAX];
	struct fw_elf *elf = NULL;
	struct fw_error err = { 0 };
	struct synth_elf o = { .wide = true, .type = ET_CORE };
	size_t n = synth_elf(&o, bytes);
	refused(bytes, n, FW_UNSUPPORTED, "an ELF file, but no program, library or object");
	refused(bytes, 3, FW_UNSUPPORTED, "not an ELF file");
	refused((const uint8_t *)"MODULE Linux", 12, FW_UNSUPPORTED, "not an ELF file");
	refused(bytes, 20, FW_MALFORMED, "broken ELF header");
	bytes[EI_CLASS] = 9;
	refused(bytes, n, FW_MALFORMED, "broken ELF header");
	ck_assert_int_eq(fw_elf_open("/nonexistent/x", &elf, &err), FW_IO);
	ck_assert_str_eq(err.message, "cannot open: No such file or directory");
}
END_TEST

static void use(const uint8_t *bytes, size_t n)
{
	struct fw_elf *elf;
	uint8_t out[16];
	if (fw_elf_open_bytes(bytes, n, &elf, NULL) != FW_OK)
		return;
	for (uint64_t at = 0; at < 0x2000; at += 0x80)
		fw_elf_code(elf, at, out, sizeof(out));
	ck_assert_uint_le(fw_elf_debug_id(elf)->n, FW_MAX_IDENT);
	fw_elf_close(elf);
}

START_TEST(every_prefix_and_flipped_byte_is_survived)
{
	uint8_t bytes[SYNTH_ELF_MAX];
	struct synth_elf o = { .wide = _i & 1, .big = _i & 2, .sections = true, .note_segment = true,
			       .build_id = BUILD_ID, .build_id_size = sizeof(BUILD_ID),
			       .text = TEXT, .text_size = sizeof(TEXT) };
	size_t n = synth_elf(&o, bytes);
	for (size_t k = 0; k < n; k++) {
		uint8_t *exact = malloc(k + 1);		// so that ASan sees the end
		memcpy(exact, bytes, k);
		use(exact, k);
		free(exact);
	}
	static const uint8_t values[] = { 0x00, 0xff, 0x80, 0x7f };
	for (size_t k = 0; k < 0x600; k++) {
		uint8_t was = bytes[k];
		for (size_t v = 0; v < sizeof(values); v++) {
			bytes[k] = values[v];
			use(bytes, n);
		}
		bytes[k] = was;
	}
}
END_TEST

// 65,535 note segments that all span the file: the count of notes ends it.
START_TEST(notes_without_end_are_limited)
{
	enum { SEGMENTS = 65534, SIZE = 64 + SEGMENTS * 56 };
	uint8_t *bytes = calloc(1, SIZE);
	uint8_t small[SYNTH_ELF_MAX];
	struct synth_elf o = { .wide = true };
	synth_elf(&o, small);
	memcpy(bytes, small, 64);
	bytes[56] = SEGMENTS & 0xff;
	bytes[57] = SEGMENTS >> 8;
	for (size_t i = 0; i < SEGMENTS; i++) {
		uint32_t type = PT_NOTE;
		uint64_t size = SIZE;
		memcpy(bytes + 64 + i * 56, &type, 4);
		memcpy(bytes + 64 + i * 56 + 32, &size, 8);
	}
	use(bytes, SIZE);
	free(bytes);
}
END_TEST

// Their debug files are named by build id, which is the other half of the truth.
START_TEST(libraries_of_the_corpus)
{
	static const char *const cases[][2] = {
		{ "lib64/ld-linux-x86-64.so.2", "" },
		{ "lib/x86_64-linux-gnu/libc.so.6", "" },
		{ "lib32/libc.so.6", "" },
		{ "usr/aarch64-linux-gnu/lib/libc.so.6", "" },
		{ "usr/arm-linux-gnueabihf/lib/libc.so.6", "" },
	};
	const char *corpus = getenv("CORPUS");
	char path[4096], debug[4096];
	struct stat st;
	unsigned matched = 0;
	if (corpus == NULL || stat(corpus, &st) < 0)
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fw_elf *elf;
		snprintf(path, sizeof(path), "%s/sysroot/%s", corpus, cases[i][0]);
		ck_assert_int_eq(fw_elf_open(path, &elf, NULL), FW_OK);
		const char *id = fw_elf_code_id(elf)->text;
		ck_assert_uint_eq(fw_elf_code_id(elf)->n, 40);
		snprintf(debug, sizeof(debug), "%s/sysroot/usr/lib/debug/.build-id/%.2s/%s.debug",
			 corpus, id, id + 2);
		ck_assert(fw_elf_has_code(elf));
		struct fw_elf *other;
		if (stat(debug, &st) == 0) {
			ck_assert_int_eq(fw_elf_open(debug, &other, NULL), FW_OK);
			ck_assert(fw_ident_equal(fw_elf_debug_id(elf), fw_elf_debug_id(other)));
			ck_assert(!fw_elf_has_code(other));
			fw_elf_close(other);
			matched++;
		}
		fw_elf_close(elf);
	}
	ck_assert_uint_ge(matched, 1);
}
END_TEST

/** The look at a file says what opening it says. */
static void compare_head(const char *path)
{
	struct fw_elf *whole, *head;
	struct fw_error err = { 0 }, err2 = { 0 };
	enum fw_code code = fw_elf_open(path, &whole, &err);
	ck_assert_int_eq(fw_elf_open_head(path, &head, &err2), code);
	ck_assert_str_eq(err.message, err2.message);
	if (code != FW_OK)
		return;
	ck_assert(fw_ident_equal(&head->debug_id, &whole->debug_id));
	ck_assert(fw_ident_equal(&head->code_id, &whole->code_id));
	ck_assert_int_eq(head->has_build_id, whole->has_build_id);
	ck_assert_int_eq(fw_elf_has_code(head), fw_elf_has_code(whole));
	ck_assert_uint_eq(head->base, whole->base);
	ck_assert_uint_eq(head->sections.count, whole->sections.count);
	for (size_t i = 0; i < head->sections.count; i++) {
		const struct fw_elf_shdr *a = &head->sections.data[i], *b = &whole->sections.data[i];
		char name[64];
		ck_assert_uint_eq(a->name.n, b->name.n);
		ck_assert(a->name.n == 0 || memcmp(a->name.s, b->name.s, a->name.n) == 0);
		snprintf(name, sizeof(name), "%.*s", (int)a->name.n, a->name.s);
		ck_assert_uint_eq(fw_elf_section_size(head, name),
				  fw_elf_section_size(whole, name));
	}
	fw_elf_close(head);
	fw_elf_close(whole);
}

START_TEST(looks_at_large_files)
{
	static const char *const paths[] = {
		"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/bin/bash", "/etc/passwd",
	};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (access(paths[i], R_OK) == 0)
			compare_head(paths[i]);
}
END_TEST

/** A large program, changed at one place and cut to a length. */
static void compare_changed(size_t at, uint64_t value, unsigned bytes, long cut)
{
	char path[] = "/tmp/fw-elf-XXXXXX", command[128];
	int fd = mkstemp(path);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(pwrite(fd, &value, bytes, (off_t)at), bytes);
	ck_assert_int_eq(cut == 0 || ftruncate(fd, cut) == 0, 1);
	compare_head(path);
	close(fd);
	unlink(path);
}

START_TEST(looks_at_broken_files)
{
	compare_changed(40, UINT64_MAX, 8, 0);		// section headers nowhere
	compare_changed(40, 1, 8, 0);			// over the ELF header
	compare_changed(58, 3, 2, 0);			// of an odd size
	compare_changed(60, 0, 2, 0);			// counted elsewhere
	compare_changed(60, UINT16_MAX, 2, 0);
	compare_changed(62, UINT16_MAX, 2, 0);		// without names
	compare_changed(32, 1 << 20, 8, 0);		// program headers far behind
	compare_changed(56, UINT16_MAX, 2, 0);
	compare_changed(0, 0, 4, 0);			// no ELF file
	compare_changed(16, 2, 2, 300 << 10);		// cut: the section headers are gone
}
END_TEST

Suite *elf_file_suite(void)
{
	Suite *s = suite_create("elf_file");
	TCase *tc = tcase_create("elf_file");
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, build_id_is_found, 0, 32);
	tcase_add_test(tc, short_build_id_is_padded);
	tcase_add_loop_test(tc, text_is_hashed_without_build_id, 0, 8);
	tcase_add_test(tc, only_the_first_4_kib_of_text_count);
	tcase_add_test(tc, no_identity_at_all);
	tcase_add_loop_test(tc, code_bytes_by_offset, 0, 4);
	tcase_add_test(tc, debug_file_has_no_code);
	tcase_add_test(tc, code_that_the_file_lacks_is_cut);
	tcase_add_test(tc, what_is_no_program_is_refused);
	tcase_add_loop_test(tc, every_prefix_and_flipped_byte_is_survived, 0, 4);
	tcase_add_test(tc, notes_without_end_are_limited);
	tcase_add_test(tc, libraries_of_the_corpus);
	tcase_add_test(tc, looks_at_large_files);
	tcase_add_test(tc, looks_at_broken_files);
	suite_add_tcase(s, tc);
	return s;
}
