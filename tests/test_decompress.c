#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "lib/base/arena.h"
#include "lib/base/decompress.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

Suite *decompress_suite(void);

struct blob {
	uint8_t *data;
	size_t size;
};

/** Text that compresses to about a third. */
static struct blob make_text(size_t size)
{
	struct blob b = { malloc(size ? size : 1), size };
	uint32_t x = 12345;
	for (size_t i = 0; i < size; i++) {
		x = x * 1103515245 + 12345;
		b.data[i] = "0123456789abcdef\n  "[(x >> 16) % 19];
	}
	return b;
}

static void append(struct blob *b, const void *data, size_t size)
{
	b->data = realloc(b->data, b->size + size + 1);
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

static void add_gzip(struct blob *b, const void *data, size_t size)
{
	z_stream z = { 0 };
	ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	size_t bound = deflateBound(&z, size);
	uint8_t *out = malloc(bound);
	z.next_in = (Bytef *)data;
	z.avail_in = (uInt)size;
	z.next_out = out;
	z.avail_out = (uInt)bound;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	append(b, out, z.total_out);
	deflateEnd(&z);
	free(out);
}

/** @p known: whether the frame header tells the size of its content. */
static void add_zstd(struct blob *b, const void *data, size_t size, bool known)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(size);
	uint8_t *out = malloc(bound);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, known);
	size_t n = ZSTD_compress2(c, out, bound, data, size);
	ck_assert(!ZSTD_isError(n));
	append(b, out, n);
	free(out);
	ZSTD_freeCCtx(c);
}

static void add_packed(struct blob *b, enum fw_packing packing, const void *data, size_t size)
{
	if (packing == FW_GZIP)
		add_gzip(b, data, size);
	else
		add_zstd(b, data, size, true);
}

static enum fw_code unpack(const struct blob *b, uint64_t max, struct fw_pages *ret,
			   struct fw_error *err)
{
	// Exactly sized, so that reading too far is seen by ASan.
	uint8_t *exact = malloc(b->size ? b->size : 1);
	memcpy(exact, b->data, b->size);
	enum fw_packing packing = fw_packing_of(exact, b->size);
	ck_assert_int_ne(packing, FW_PLAIN);
	memset(err, 0, sizeof(*err));
	enum fw_code code = fw_decompress(packing, exact, b->size, max, ret, err);
	free(exact);
	return code;
}

static void expect(struct blob *b, const struct blob *want)
{
	struct fw_pages p;
	struct fw_error e;
	enum fw_code code = unpack(b, want->size, &p, &e);
	ck_assert_msg(code == FW_OK, "%s: %s", e.place, e.message);
	ck_assert_uint_eq(p.size, want->size);
	ck_assert(memcmp(p.data, want->data, want->size) == 0);
	fw_pages_deinit(&p);
	free(b->data);
}

static void expect_fault(const struct blob *b, uint64_t max, enum fw_code code,
			 const char *place, const char *message)
{
	struct fw_pages p = { 0 };
	struct fw_error e;
	ck_assert_int_eq(unpack(b, max, &p, &e), code);
	ck_assert_str_eq(e.message, message);
	ck_assert_str_eq(e.place, place);
	ck_assert_ptr_null(p.data);
}

START_TEST(packing_is_told_by_magic)
{
	static const struct {
		uint8_t bytes[4];
		uint64_t size;
		enum fw_packing want;
	} cases[] = {
		{ { 0 }, 0, FW_PLAIN },
		{ { 0x1f, 0x8b, 8 }, 2, FW_PLAIN },
		{ { 0x1f, 0x8b, 8 }, 3, FW_GZIP },
		{ { 0x1f, 0x8b, 9, 0 }, 4, FW_PLAIN },
		{ { 0x28, 0xb5, 0x2f, 0xfd }, 3, FW_PLAIN },
		{ { 0x28, 0xb5, 0x2f, 0xfd }, 4, FW_ZSTD },
		{ { 0x50, 0x2a, 0x4d, 0x18 }, 4, FW_ZSTD },
		{ { 0x5f, 0x2a, 0x4d, 0x18 }, 4, FW_ZSTD },
		{ { 0x60, 0x2a, 0x4d, 0x18 }, 4, FW_PLAIN },
		{ "MODU", 4, FW_PLAIN },
		{ "MDMP", 4, FW_PLAIN },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_int_eq(fw_packing_of(cases[i].bytes, cases[i].size), cases[i].want);
}
END_TEST

static const size_t sizes[] = { 0, 1, 100, 4095, 4096, 4097, 1048575, 1048576, 1048577, 5000000 };

START_TEST(one_member_of_many_sizes)
{
	struct blob text = make_text(sizes[_i]), b = { 0 }, c = { 0 }, d = { 0 };
	add_gzip(&b, text.data, text.size);
	expect(&b, &text);
	add_zstd(&c, text.data, text.size, true);
	expect(&c, &text);
	add_zstd(&d, text.data, text.size, false);
	expect(&d, &text);
	free(text.data);
}
END_TEST

START_TEST(many_members_follow_each_other)
{
	// The last one is small, so its size is no guide to that of the whole.
	static const size_t parts[] = { 0, 3000000, 0, 1, 65536, 2000000, 7 };
	struct blob text = make_text(5065544);
	for (int zstd = 0; zstd <= 1; zstd++) {
		struct blob b = { 0 };
		size_t at = 0;
		for (size_t i = 0; i < ARRAY_SIZE(parts); at += parts[i++])
			add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data + at, parts[i]);
		ck_assert_uint_eq(at, text.size);
		expect(&b, &text);
	}
	free(text.data);
}
END_TEST

START_TEST(zeros_behind_gzip_are_padding)
{
	struct blob text = make_text(1000), b = { 0 };
	static const uint8_t zeros[600];
	add_gzip(&b, text.data, text.size);
	append(&b, zeros, sizeof(zeros));
	expect(&b, &text);
	free(text.data);
}
END_TEST

START_TEST(bytes_behind_the_data_are_a_fault)
{
	struct blob text = make_text(1000), b = { 0 }, c = { 0 };
	char place[32];
	add_gzip(&b, text.data, text.size);
	snprintf(place, sizeof(place), "offset %zu", b.size);
	append(&b, "junk", 4);
	expect_fault(&b, 1 << 20, FW_MALFORMED, place, "no gzip data where a member should start");
	add_zstd(&c, text.data, text.size, true);
	snprintf(place, sizeof(place), "offset %zu", c.size);
	append(&c, "junk", 4);
	expect_fault(&c, 1 << 20, FW_MALFORMED, place,
		     "broken zstd data: Unknown frame descriptor");
	free(text.data);
	free(b.data);
	free(c.data);
}
END_TEST

START_TEST(skippable_frames_are_skipped)
{
	static const uint8_t skip[] = { 0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c' };
	struct blob text = make_text(200000), b = { 0 }, none = { 0 }, c = { 0 };
	append(&b, skip, sizeof(skip));
	add_zstd(&b, text.data, 70000, true);
	append(&b, skip, sizeof(skip));
	add_zstd(&b, text.data + 70000, 130000, false);
	append(&b, skip, sizeof(skip));
	expect(&b, &text);
	append(&c, skip, sizeof(skip));
	append(&none, "", 0);
	expect(&c, &none);
	free(none.data);
	free(text.data);
}
END_TEST

START_TEST(size_limit_is_exact)
{
	static const size_t limits[] = { 100, 4096, 1500000 };
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct blob text = make_text(limits[i]);
		char message[80];
		snprintf(message, sizeof(message), "larger than %zu bytes once decompressed",
			 limits[i] - 1);
		for (int kind = 0; kind < 4; kind++) {
			struct blob b = { 0 };
			if (kind == 0) {
				add_gzip(&b, text.data, text.size);
			} else if (kind == 1) {
				add_gzip(&b, text.data, text.size - 1);
				add_gzip(&b, text.data + text.size - 1, 1);
			} else {
				add_zstd(&b, text.data, text.size, kind == 2);
			}
			expect_fault(&b, limits[i] - 1, FW_LIMIT, "", message);
			expect(&b, &text);
		}
		free(text.data);
	}
}
END_TEST

START_TEST(every_prefix_is_truncated)
{
	struct blob text = make_text(3000);
	for (int zstd = 0; zstd <= 1; zstd++) {
		struct blob b = { 0 };
		add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data, 2000);
		size_t first = b.size;
		add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data + 2000, 1000);
		for (size_t n = 4; n < b.size; n++) {
			struct blob cut = { b.data, n };
			char place[32];
			snprintf(place, sizeof(place), "offset %zu", n);
			if (n == first)
				continue;
			if (!zstd && n > first && n < first + 3)
				snprintf(place, sizeof(place), "offset %zu", first);
			expect_fault(&cut, 1 << 20, FW_MALFORMED, place,
				     zstd ? "truncated zstd data" :
				     n > first && n < first + 3 ?
				     "no gzip data where a member should start" :
				     "truncated gzip data");
		}
		free(b.data);
	}
	free(text.data);
}
END_TEST

START_TEST(every_flipped_bit_is_found_or_harmless)
{
	struct blob text = make_text(300);
	for (int zstd = 0; zstd <= 1; zstd++) {
		struct blob b = { 0 };
		add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data, text.size);
		for (size_t bit = 0; bit < b.size * 8; bit++) {
			struct fw_pages p;
			struct fw_error e;
			b.data[bit / 8] ^= 1 << bit % 8;
			if (fw_packing_of(b.data, b.size) != FW_PLAIN &&
			    unpack(&b, 1 << 20, &p, &e) == FW_OK) {
				// Harmless: a gzip header's text flag, time, level and system
				// and the bits that fill up the last byte of DEFLATE; a few
				// unused bits of zstd, whose checksum covers the content.
				size_t byte = bit / 8;
				ck_assert(zstd || bit == 3 * 8 || (byte >= 4 && byte < 10) ||
					  byte == b.size - 9);
				ck_assert_uint_eq(p.size, text.size);
				ck_assert_mem_eq(p.data, text.data, text.size);
				fw_pages_deinit(&p);
			}
			b.data[bit / 8] ^= 1 << bit % 8;
		}
		free(b.data);
	}
	free(text.data);
}
END_TEST

START_TEST(broken_checks_have_names)
{
	struct blob text = make_text(1000), b = { 0 }, c = { 0 };
	char place[32];
	add_gzip(&b, text.data, text.size);
	b.data[b.size - 1] ^= 1;		// ISIZE, the last of the trailer
	snprintf(place, sizeof(place), "offset %zu", b.size);
	expect_fault(&b, 1 << 20, FW_MALFORMED, place, "broken gzip data: incorrect length check");
	b.data[b.size - 8] ^= 1;		// CRC32, in front of it
	snprintf(place, sizeof(place), "offset %zu", b.size - 4);
	expect_fault(&b, 1 << 20, FW_MALFORMED, place, "broken gzip data: incorrect data check");
	add_zstd(&c, text.data, text.size, true);
	c.data[c.size - 1] ^= 1;
	expect_fault(&c, 1 << 20, FW_MALFORMED, "offset 0",
		     "broken zstd data: Restored data doesn't match checksum");
	free(text.data);
	free(b.data);
	free(c.data);
}
END_TEST

START_TEST(broken_header_check_is_a_fault)
{
	// RFC 1952 2.3.1: FHCRC, a CRC16 of the ten header bytes after them.
	struct blob b = { 0 }, c = { 0 };
	add_gzip(&b, "x", 1);
	b.data[3] = 2;
	uint32_t crc = (uint32_t)crc32(0, b.data, 10);
	append(&c, b.data, 10);
	append(&c, (uint8_t[]){ (uint8_t)crc, (uint8_t)(crc >> 8) }, 2);
	append(&c, b.data + 10, b.size - 10);
	c.data[10] ^= 1;
	expect_fault(&c, 1, FW_MALFORMED, "offset 12", "broken gzip data: header crc mismatch");
	c.data[10] ^= 1;
	expect(&c, &(struct blob){ (uint8_t *)"x", 1 });
	free(b.data);
}
END_TEST

START_TEST(dictionary_is_unsupported)
{
	// RFC 8878 3.1.1: single segment, one-byte dictionary id 7, content of 5 bytes; raw block.
	struct blob b = { 0 };
	append(&b, "\x28\xb5\x2f\xfd\x21\x07\x05\x29\0\0hello", 15);
	expect_fault(&b, 1 << 20, FW_UNSUPPORTED, "", "zstd data that needs a dictionary");
	free(b.data);
}
END_TEST

START_TEST(huge_window_is_unsupported)
{
	// RFC 8878 3.1.1.1.2: window descriptor 0xa8 is 2^(10 + 21) bytes; content size unknown.
	struct blob b = { 0 };
	append(&b, "\x28\xb5\x2f\xfd\0\xa8\x29\0\0hello", 14);
	expect_fault(&b, 1 << 20, FW_UNSUPPORTED, "", "zstd data with a window over 128 MiB");
	b.data[5] = 0x88;	// 2^27 bytes
	struct blob hello = { (uint8_t *)"hello", 5 };
	expect(&b, &hello);
}
END_TEST

START_TEST(lying_sizes_cost_nothing)
{
	// An ISIZE of 4 GiB - 1, and a zstd frame that claims 2^60 bytes (RFC 8878 3.1.1.1.4).
	struct blob b = { 0 }, c = { 0 };
	add_gzip(&b, "x", 1);
	memset(b.data + b.size - 4, 0xff, 4);
	char place[32];
	snprintf(place, sizeof(place), "offset %zu", b.size);
	expect_fault(&b, UINT64_MAX, FW_MALFORMED, place,
		     "broken gzip data: incorrect length check");
	append(&c, "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\x29\0\0hello", 21);
	expect_fault(&c, UINT64_MAX, FW_UNSUPPORTED, "", "zstd data with a window over 128 MiB");
	free(b.data);
	free(c.data);
}
END_TEST

START_TEST(head_reads_only_what_it_needs)
{
	struct blob text = make_text(1000000);
	for (int kind = 0; kind < 3; kind++) {
		struct blob b = { 0 };
		if (kind == 0)
			add_gzip(&b, text.data, text.size);
		else
			add_zstd(&b, text.data, text.size, kind == 1);
		memset(b.data + b.size / 2, 0xa5, b.size - b.size / 2);	// nobody looks there
		FILE *f = tmpfile();
		ck_assert_uint_eq(fwrite(b.data, 1, b.size, f), b.size);
		fflush(f);
		char head[4096];
		size_t n = 0;
		ck_assert_int_eq(fw_decompress_head(kind ? FW_ZSTD : FW_GZIP, fileno(f), head,
						    sizeof(head), &n, NULL), FW_OK);
		ck_assert_uint_eq(n, sizeof(head));
		ck_assert_mem_eq(head, text.data, sizeof(head));
		fclose(f);
		free(b.data);
	}
	free(text.data);
}
END_TEST

START_TEST(heads_of_prefixes_are_prefixes)
{
	struct blob text = make_text(2000);
	for (int zstd = 0; zstd <= 1; zstd++) {
		struct blob b = { 0 };
		add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data, 0);
		size_t empty = b.size;
		add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data, text.size);
		for (size_t cut = 4; cut <= b.size; cut++) {
			char head[4096];
			size_t n = 77;
			struct fw_error e;
			FILE *f = tmpfile();
			fwrite(b.data, 1, cut, f);
			fflush(f);
			enum fw_code code = fw_decompress_head(zstd ? FW_ZSTD : FW_GZIP, fileno(f),
							       head, sizeof(head), &n, &e);
			fclose(f);
			if (code == FW_OK) {
				ck_assert(n <= text.size && memcmp(head, text.data, n) == 0);
				ck_assert(n > 0 || cut == empty);
			} else {
				char place[32];
				snprintf(place, sizeof(place), "offset %zu", cut);
				ck_assert_int_eq(code, FW_MALFORMED);
				ck_assert_uint_eq(n, 77);
				ck_assert_str_eq(e.place, place);
				ck_assert_str_eq(e.message, zstd ? "truncated zstd data" :
								   "truncated gzip data");
			}
			if (cut == b.size)
				ck_assert_uint_eq(n, text.size);
		}
		free(b.data);
	}
	free(text.data);
}
END_TEST

START_TEST(allocation_failures_are_no_memory)
{
	struct blob text = make_text(5000000);
	for (int zstd = 0; zstd <= 1; zstd++) {
		struct blob b = { 0 };
		add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data, 4999999);
		add_packed(&b, zstd ? FW_ZSTD : FW_GZIP, text.data + 4999999, 1);
		for (uint64_t nth = 1;; nth++) {
			struct fw_pages p = { 0 };
			struct fw_error e;
			fw_alloc_fail_at(nth);
			enum fw_code code = unpack(&b, UINT64_MAX, &p, &e);
			fw_alloc_fail_at(0);
			if (code == FW_OK) {
				ck_assert_uint_eq(p.size, text.size);
				fw_pages_deinit(&p);
				break;
			}
			ck_assert_int_eq(code, FW_NO_MEMORY);
			ck_assert_str_eq(e.message, "out of memory while decompressing");
			ck_assert_ptr_null(p.data);
			ck_assert_uint_le(nth, 10);
		}
		free(b.data);
	}
	free(text.data);
}
END_TEST

Suite *decompress_suite(void)
{
	Suite *s = suite_create("decompress");
	TCase *tc = tcase_create("decompress");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, packing_is_told_by_magic);
	tcase_add_loop_test(tc, one_member_of_many_sizes, 0, ARRAY_SIZE(sizes));
	tcase_add_test(tc, many_members_follow_each_other);
	tcase_add_test(tc, zeros_behind_gzip_are_padding);
	tcase_add_test(tc, bytes_behind_the_data_are_a_fault);
	tcase_add_test(tc, skippable_frames_are_skipped);
	tcase_add_test(tc, size_limit_is_exact);
	tcase_add_test(tc, every_prefix_is_truncated);
	tcase_add_test(tc, every_flipped_bit_is_found_or_harmless);
	tcase_add_test(tc, broken_checks_have_names);
	tcase_add_test(tc, broken_header_check_is_a_fault);
	tcase_add_test(tc, dictionary_is_unsupported);
	tcase_add_test(tc, huge_window_is_unsupported);
	tcase_add_test(tc, lying_sizes_cost_nothing);
	tcase_add_test(tc, head_reads_only_what_it_needs);
	tcase_add_test(tc, heads_of_prefixes_are_prefixes);
	tcase_add_test(tc, allocation_failures_are_no_memory);
	suite_add_tcase(s, tc);
	return s;
}
