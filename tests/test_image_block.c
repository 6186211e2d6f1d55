#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/arena.h"
#include "lib/image/block.h"
#include "tests/synth_sym.h"

Suite *image_block_suite(void);

static const char text[] = AMD64 "INFO CODE_ID EBDBE034\n" ORIGINS
	"FUNC 1000 40 8 f\nINLINE 0 10 0 0 1000 20\nINLINE 1 11 1 1 1004 8 1010 4\n"
	"1000 8 1 0\n1008 8 2 1\nFUNC 2000 10 0 g\n2000 8 1 0\n"
	"PUBLIC 3000 0 p\nPUBLIC 4000 0 q\n"
	"STACK CFI INIT 1000 40 " RULES "\nSTACK CFI 1008 .cfa: $rsp 16 8 * 3 + $rbx: $rax\n"
	"STACK CFI INIT 21000 40 " RULES "\nSTACK CFI 21008 .cfa: $rsp 16 + $rbx: nosuch\n"
	"STACK WIN 4 1000 c3 9 2 8 c 14 40 1 $T0 $ebp = $eip $T0 4 + ^ =\n"
	"STACK WIN 0 2000 10 1 0 4 0 0 0 0 1\nbad\n";

static struct fw_image *open_block(const void *block, uint64_t size)
{
	struct fw_error err = { .message = "" };
	struct fw_image *image = NULL;
	enum fw_code code = fw_image_open(block, size, &image, &err);
	ck_assert_msg(code == FW_OK, "%s: %s", err.place, err.message);
	return image;
}

/** Everything that the image says at an offset, in one line. */
static void say(const struct fw_image *image, uint32_t offset, char *out, size_t n)
{
	snprintf(out, n, "%s|%s|%s|%s|%s", synth_name(image, offset), synth_line(image, offset),
		 synth_calls(image, offset), synth_rules(image, offset), synth_win(image, offset));
}

static const uint32_t offsets[] = {
	0, 0xfff, 0x1000, 0x1004, 0x1007, 0x1008, 0x1013, 0x103f, 0x1040, 0x10c2, 0x2000, 0x2009,
	0x3000, 0x3fff, 0x4000, 0x20fff, 0x21000, 0x21008, 0x2103f, 0x21040, UINT32_MAX,
};
enum { OFFSETS = sizeof(offsets) / sizeof(*offsets) };

START_TEST(block_says_what_the_builder_said)
{
	struct fw_image *built = synth_sym(text), *image;
	struct fw_error err = { .message = "" };
	uint64_t size;
	void *block = synth_block(built, &size);
	image = open_block(block, size);
	ck_assert_str_eq(image->debug_id.text, "34E0DBEBEE9EFA94A1B8B0BCFF308D490");
	ck_assert_str_eq(image->code_id.text, "ebdbe034");
	ck_assert_str_eq(image->name, "app");
	ck_assert_str_eq(image->os, "Linux");
	ck_assert_int_eq(image->cpu, FW_CPU_AMD64);
	ck_assert_str_eq(synth_diag(image), synth_diag(built));
	ck_assert_msg(fw_image_check(image, &err) == FW_OK, "%s", err.message);
	for (int i = 0; i < OFFSETS; i++) {
		char want[2000], got[2000];
		say(built, offsets[i], want, sizeof(want));
		say(image, offsets[i], got, sizeof(got));
		ck_assert_str_eq(got, want);
	}
	ck_assert(!atomic_load(&image->corrupt));
	// written again it is the same
	uint64_t again_size;
	void *again = synth_block(image, &again_size);
	ck_assert_uint_eq(again_size, size);
	ck_assert_mem_eq(again, block, size);
	fw_image_destroy(image);
	fw_image_destroy(built);
	free(block);
	free(again);
}
END_TEST

START_TEST(large_block_chunk_by_chunk)
{
	enum { N = 20000 };
	size_t room = (size_t)N * 200, n;
	char *large = malloc(room);
	ck_assert_ptr_nonnull(large);
	n = (size_t)snprintf(large, room, AMD64 "FILE 0 a.c\n");
	for (unsigned i = 0; i < N; i++)
		n += (size_t)snprintf(large + n, room - n,
			"FUNC %x 20 0 function_number_%u\n%x 10 %u 0\n%x 10 %u 0\n"
			"STACK CFI INIT %x 20 .cfa: $rsp %u + .ra: .cfa -8 + ^\n",
			i * 32, i, i * 32, i, i * 32 + 16, i + 1, i * 32, 8 + i % 100 * 8);
	struct fw_image *built = synth_sym_bytes(large, n), *image;
	uint64_t size;
	void *block = synth_block(built, &size);
	ck_assert_uint_gt(size, 1000000);
	image = open_block(block, size);
	for (unsigned i = 0; i < N; i += 37) {
		char want[100];
		snprintf(want, sizeof(want), "function_number_%u+11", i);
		ck_assert_str_eq(synth_name(image, i * 32 + 17), want);
		snprintf(want, sizeof(want), "a.c:%u@%x", i + 1, i * 32 + 16);
		ck_assert_str_eq(synth_line(image, i * 32 + 17), want);
		snprintf(want, sizeof(want), ".cfa: $rsp %u + .ra: .cfa -8 + ^", 8 + i % 100 * 8);
		ck_assert_str_eq(synth_rules(image, i * 32 + 17), want);
	}
	ck_assert(!atomic_load(&image->corrupt));
	fw_image_destroy(image);
	fw_image_destroy(built);
	free(block);
	free(large);
}
END_TEST

START_TEST(lookups_verify_only_what_they_touch)
{
	enum { N = 20000 };
	size_t room = (size_t)N * 60, n;
	char *large = malloc(room);
	ck_assert_ptr_nonnull(large);
	n = (size_t)snprintf(large, room, AMD64);
	for (unsigned i = 0; i < N; i++)
		n += (size_t)snprintf(large + n, room - n, "FUNC %x 20 0 function_number_%u\n",
				      i * 32, i);
	struct fw_image *built = synth_sym_bytes(large, n), *image;
	uint64_t size, chunks, touched = 0;
	void *block = synth_block(built, &size);
	image = open_block(block, size);
	chunks = fw_block_chunks(image->block_size);
	ck_assert_str_eq(synth_name(image, 17), "function_number_0+11");
	for (uint64_t i = 0; i < chunks; i++)
		touched += image->chunk_ok[i];
	ck_assert_uint_gt(chunks, 200);
	ck_assert_uint_le(touched, 12);
	fw_image_destroy(image);
	fw_image_destroy(built);
	free(block);
	free(large);
}
END_TEST

/**
 * A changed byte is noticed at open, or by the first look-up that touches it;
 * what is answered is then either right or nothing.
 */
START_TEST(every_byte_flipped)
{
	struct fw_image *built = synth_sym(text), *image;
	char want[OFFSETS][1000], got[1000];
	uint64_t size;
	uint8_t *block = synth_block(built, &size);
	unsigned refused = 0, noticed = 0;
	for (int i = 0; i < OFFSETS; i++)
		say(built, offsets[i], want[i], sizeof(want[i]));
	for (uint64_t at = 0; at < size; at++) {
		struct fw_error err = { .message = "" };
		block[at] ^= (uint8_t)(1 << at % 8);
		image = NULL;
		if (fw_image_open(block, size, &image, &err) != FW_OK) {
			refused++;
			ck_assert_str_ne(err.message, "");
			ck_assert_ptr_null(image);
			block[at] ^= (uint8_t)(1 << at % 8);
			continue;
		}
		bool all = true;
		for (int i = 0; i < OFFSETS; i++) {
			say(image, offsets[i], got, sizeof(got));
			all = all && strcmp(got, want[i]) == 0;
		}
		bool corrupt = atomic_load(&image->corrupt);
		ck_assert_msg(all || corrupt, "byte %llu", (unsigned long long)at);
		noticed += corrupt;
		ck_assert_int_eq(fw_image_check(image, &err), FW_MALFORMED);
		ck_assert_str_eq(err.message, "checksum does not match");
		fw_image_destroy(image);
		block[at] ^= (uint8_t)(1 << at % 8);
	}
	ck_assert_uint_gt(refused, sizeof(struct fw_block_header));
	ck_assert_uint_gt(noticed, 0);
	fw_image_destroy(built);
	free(block);
}
END_TEST

/** The hashes of a block that was changed on purpose: no look-up may fault. */
static void rehash(uint8_t *block)
{
	struct fw_block_header *h = (struct fw_block_header *)block;
	uint64_t n = fw_block_chunks(h->hash_offset), *hashes;
	hashes = (uint64_t *)(block + h->hash_offset);
	h->header_hash = fw_block_hash(h, offsetof(struct fw_block_header, header_hash), 0);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = i << FW_CHUNK_SHIFT, left = h->hash_offset - at;
		hashes[i] = fw_block_hash(block + at, left < 4096 ? left : 4096, 0);
	}
	hashes[n] = fw_block_hash(hashes, n * 8, h->header_hash);
}

START_TEST(every_byte_forged)
{
	static const uint8_t values[] = { 0, 0x7f, 0x80, 0xff };
	struct fw_image *built = synth_sym(text);
	uint64_t size, first = offsetof(struct fw_block_header, debug_id);
	uint8_t *good = synth_block(built, &size), *block = malloc(size);
	ck_assert_ptr_nonnull(block);
	for (uint64_t at = first; at < size; at++) {
		const uint64_t hashes = ((struct fw_block_header *)good)->hash_offset;
		if (at >= offsetof(struct fw_block_header, diag) &&
		    at < offsetof(struct fw_block_header, sections))
			continue;
		if (at >= hashes)
			break;
		struct fw_error err = { .message = "" };
		struct fw_image *image;
		char got[1000];
		memcpy(block, good, size);
		block[at] = values[at % 4];
		rehash(block);
		if (fw_image_open(block, size, &image, &err) != FW_OK)
			continue;
		for (int i = 0; i < OFFSETS; i++)
			say(image, offsets[i], got, sizeof(got));
		(void)!fw_image_check(image, &err);
		fw_image_destroy(image);
	}
	fw_image_destroy(built);
	free(good);
	free(block);
}
END_TEST

START_TEST(every_length_but_the_whole_is_refused)
{
	struct fw_image *built = synth_sym(text), *image = NULL;
	uint64_t size;
	uint8_t *block = synth_block(built, &size);
	for (uint64_t n = 0; n < size; n++) {
		struct fw_error err = { .message = "" };
		void *copy = malloc(n + 1);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, block, n);
		ck_assert_int_eq(fw_image_open(copy, n, &image, &err), FW_MALFORMED);
		if (n < sizeof(struct fw_block_header))
			ck_assert_str_eq(err.message, "image is shorter than its header");
		else
			ck_assert_msg(strncmp(err.message, "image is cut: ", 14) == 0, "%s",
				      err.message);
		ck_assert_str_eq(err.place, "image header");
		free(copy);
	}
	fw_image_destroy(built);
	free(block);
}
END_TEST

static void set_magic(struct fw_block_header *h) { h->magic = 7; }
static void set_other_order(struct fw_block_header *h) { h->magic = __builtin_bswap64(h->magic); }
static void set_format(struct fw_block_header *h) { h->format = 77; }
static void set_size(struct fw_block_header *h) { h->block_size++; }
static void set_hash_offset(struct fw_block_header *h) { h->hash_offset += 64; }
static void set_hash_offset_0(struct fw_block_header *h) { h->hash_offset = 0; }
static void set_sections(struct fw_block_header *h) { h->num_sections--; }
static void set_ident(struct fw_block_header *h) { h->debug_id.n = 65; }
static void set_ident_end(struct fw_block_header *h) { h->code_id.n = 3; }
static void set_name(struct fw_block_header *h) { memset(h->name, 'x', sizeof(h->name)); }
static void set_os(struct fw_block_header *h) { memset(h->os, 'x', sizeof(h->os)); }
static void set_cpu(struct fw_block_header *h) { h->cpu = 1000; }
static void set_offset(struct fw_block_header *h) { h->sections[2].offset++; }
static void set_offset_0(struct fw_block_header *h) { h->sections[0].offset = 0; }
static void set_offset_far(struct fw_block_header *h) { h->sections[17].offset = -64ull; }
static void set_bytes(struct fw_block_header *h) { h->sections[FW_SEC_FUNCS].bytes++; }
static void set_bytes_far(struct fw_block_header *h) { h->sections[4].bytes = -12ull; }

static const struct {
	void (*set)(struct fw_block_header *h);
	enum fw_code code;
	const char *message;
} header_cases[] = {
	{ set_magic, FW_MALFORMED, "not an image" },
	{ set_other_order, FW_UNSUPPORTED, "image of the other byte order" },
	{ set_format, FW_UNSUPPORTED, "image format 77, not 3" },
	{ set_hash_offset, FW_MALFORMED, "chunk hashes do not fit" },
	{ set_hash_offset_0, FW_MALFORMED, "chunk hashes do not fit" },
	{ set_sections, FW_MALFORMED, "bad field" },
	{ set_ident, FW_MALFORMED, "bad field" },
	{ set_ident_end, FW_MALFORMED, "bad field" },
	{ set_name, FW_MALFORMED, "bad field" },
	{ set_os, FW_MALFORMED, "bad field" },
	{ set_cpu, FW_MALFORMED, "bad field" },
	{ set_offset, FW_MALFORMED, "section 2 does not fit" },
	{ set_offset_0, FW_MALFORMED, "section 0 does not fit" },
	{ set_offset_far, FW_MALFORMED, "section 17 does not fit" },
	{ set_bytes, FW_MALFORMED, "section 3 does not fit" },
	{ set_bytes_far, FW_MALFORMED, "section 4 does not fit" },
};

START_TEST(header_fields_are_checked)
{
	struct fw_image *built = synth_sym(text), *image = NULL;
	struct fw_error err = { .message = "" };
	uint64_t size;
	uint8_t *block = synth_block(built, &size);
	struct fw_block_header *h = (struct fw_block_header *)block;
	header_cases[_i].set(h);
	h->header_hash = fw_block_hash(h, offsetof(struct fw_block_header, header_hash), 0);
	ck_assert_int_eq(fw_image_open(block, size, &image, &err), header_cases[_i].code);
	ck_assert_str_eq(err.message, header_cases[_i].message);
	ck_assert_str_eq(err.place, "image header");
	ck_assert_ptr_null(image);
	fw_image_destroy(built);
	free(block);
}
END_TEST

START_TEST(hashes_and_size_are_checked)
{
	struct fw_image *built = synth_sym(text), *image = NULL;
	struct fw_error err = { .message = "" };
	uint64_t size;
	uint8_t *block = synth_block(built, &size);
	struct fw_block_header *h = (struct fw_block_header *)block;
	char want[100];
	block[size - 1] ^= 1;
	ck_assert_int_eq(fw_image_open(block, size, &image, &err), FW_MALFORMED);
	ck_assert_str_eq(err.place, "chunk hashes");
	ck_assert_str_eq(err.message, "checksum does not match");
	block[size - 1] ^= 1;
	h->name[0] ^= 1;
	ck_assert_int_eq(fw_image_open(block, size, &image, &err), FW_MALFORMED);
	ck_assert_str_eq(err.place, "image header");
	ck_assert_str_eq(err.message, "checksum does not match");
	h->name[0] ^= 1;
	set_size(h);
	h->header_hash = fw_block_hash(h, offsetof(struct fw_block_header, header_hash), 0);
	ck_assert_int_eq(fw_image_open(block, size, &image, &err), FW_MALFORMED);
	snprintf(want, sizeof(want), "image is cut: %llu of %llu bytes", (unsigned long long)size,
		 (unsigned long long)size + 1);
	ck_assert_str_eq(err.message, want);
	fw_image_destroy(built);
	free(block);
}
END_TEST

START_TEST(unaligned_memory_is_refused)
{
	static uint64_t memory[200];
	struct fw_error err = { .message = "" };
	struct fw_image *image;
	ck_assert_int_eq(fw_image_open((char *)memory + 1, sizeof(memory) - 1, &image, &err),
			 FW_UNSUPPORTED);
	ck_assert_str_eq(err.message, "image is not aligned in memory");
}
END_TEST

START_TEST(write_and_open_report_failures)
{
	struct fw_image *built = synth_sym(text), *image = NULL;
	struct fw_error err = { .message = "" };
	int full = open("/dev/full", O_WRONLY);
	if (full >= 0) {
		ck_assert_int_eq(fw_image_write(built, full, &err), FW_IO);
		ck_assert_int_eq(err.os_errno, ENOSPC);
		ck_assert_str_eq(err.message, "cannot write: No space left on device");
		close(full);
	}
	uint64_t size;
	void *block = synth_block(built, &size);
	for (uint64_t nth = 1; nth <= 2; nth++) {
		fw_alloc_fail_at(nth);
		ck_assert_int_eq(fw_image_open(block, size, &image, &err), FW_NO_MEMORY);
		ck_assert_str_eq(err.message, "out of memory");
		fw_alloc_fail_at(nth);
		ck_assert_int_eq(fw_image_write(built, STDERR_FILENO, &err), FW_NO_MEMORY);
		fw_alloc_fail_at(0);
	}
	ck_assert_ptr_null(image);
	fw_image_destroy(NULL);
	fw_image_destroy(built);
	free(block);
}
END_TEST

Suite *image_block_suite(void)
{
	Suite *s = suite_create("image_block");
	TCase *tc = tcase_create("image_block");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, block_says_what_the_builder_said);
	tcase_add_test(tc, large_block_chunk_by_chunk);
	tcase_add_test(tc, lookups_verify_only_what_they_touch);
	tcase_add_test(tc, every_byte_flipped);
	tcase_add_test(tc, every_byte_forged);
	tcase_add_test(tc, every_length_but_the_whole_is_refused);
	tcase_add_loop_test(tc, header_fields_are_checked, 0,
			    sizeof(header_cases) / sizeof(*header_cases));
	tcase_add_test(tc, hashes_and_size_are_checked);
	tcase_add_test(tc, unaligned_memory_is_refused);
	tcase_add_test(tc, write_and_open_report_failures);
	suite_add_tcase(s, tc);
	return s;
}
