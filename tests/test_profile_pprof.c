// profile.proto, decoded by a reader of this file's own (wire format: protobuf.dev,
// "Encoding"; field numbers: google/pprof proto/profile.proto). Other readers are asked
// by `make check-consumers`.
#include <check.h>

#include "tests/synth_profile.h"

Suite *profile_pprof_suite(void);

struct reader { const uint8_t *p, *end; };
struct field { unsigned number, type; uint64_t value; struct reader bytes; };

static uint64_t read_varint(struct reader *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0;; shift += 7) {
		ck_assert(r->p < r->end && shift < 64);
		v |= (uint64_t)(*r->p & 0x7f) << shift;
		if (!(*r->p++ & 0x80))
			return v;
	}
}

static bool read_field(struct reader *r, struct field *f)
{
	if (r->p == r->end)
		return false;
	uint64_t tag = read_varint(r);
	*f = (struct field){ .number = (unsigned)(tag >> 3), .type = tag & 7 };
	ck_assert(f->type == 0 || f->type == 2);
	f->value = read_varint(r);
	if (f->type == 2) {
		ck_assert_uint_le(f->value, (size_t)(r->end - r->p));
		f->bytes = (struct reader){ r->p, r->p + f->value };
		r->p += f->value;
	}
	return true;
}

/** The nth field of that number; 0 where there is none. */
static struct field get(struct reader r, unsigned number, unsigned nth)
{
	struct field f;
	while (read_field(&r, &f))
		if (f.number == number && nth-- == 0)
			return f;
	return (struct field){ 0 };
}

static uint64_t num(struct reader r, unsigned number)
{
	return get(r, number, 0).value;
}

static struct reader sub(struct reader r, unsigned number, unsigned nth)
{
	struct field f = get(r, number, nth);
	ck_assert_uint_eq(f.type, 2);
	return f.bytes;
}

static unsigned count(struct reader r, unsigned number)
{
	struct field f;
	unsigned n = 0;
	while (read_field(&r, &f))
		n += f.number == number;
	return n;
}

static void check_string(struct reader profile, uint64_t id, const char *expected)
{
	struct reader s = sub(profile, 6, (unsigned)id);
	ck_assert_uint_eq((size_t)(s.end - s.p), strlen(expected));
	ck_assert_mem_eq(s.p, expected, strlen(expected));
}

static void check_packed(struct reader r, const uint64_t *expected, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_eq(read_varint(&r), expected[i]);
	ck_assert_ptr_eq(r.p, r.end);
}

static struct reader encode(const struct synth_profile *b, struct fw_out *out)
{
	fw_out_init_memory(out, 1 << 20);
	fw_profile_write_pprof(&b->p, out);
	ck_assert_int_eq(out->failed, 0);
	const uint8_t *data = (const uint8_t *)out->data;
	return (struct reader){ data, data + out->count };
}

START_TEST(samples_and_types)
{
	struct synth_profile *b = synth_profile_small();
	struct fw_out out;
	b->p.started = UINT64_C(1700000000000000000);
	struct reader p = encode(b, &out);
	check_string(p, 0, "");
	ck_assert_uint_eq(count(p, 1), 2);
	check_string(p, num(sub(p, 1, 0), 1), "samples");
	check_string(p, num(sub(p, 1, 0), 2), "count");
	check_string(p, num(sub(p, 1, 1), 1), "cpu");
	check_string(p, num(sub(p, 1, 1), 2), "nanoseconds");
	ck_assert_uint_eq(count(p, 2), 3);
	struct reader s = sub(p, 2, 2);		// leaf first
	check_packed(sub(s, 1, 0), (uint64_t[]){ 4, 3, 1 }, 3);
	check_packed(sub(s, 2, 0), (uint64_t[]){ 1, 1000000 }, 2);
	ck_assert_uint_eq(count(s, 3), 3);
	check_string(p, num(sub(s, 3, 0), 1), "comm");
	check_string(p, num(sub(s, 3, 0), 2), "app");
	check_string(p, num(sub(s, 3, 1), 1), "pid");
	ck_assert_uint_eq(num(sub(s, 3, 1), 3), 100);
	check_string(p, num(sub(s, 3, 2), 1), "thread");
	ck_assert_uint_eq(num(sub(s, 3, 2), 3), 101);
	ck_assert_uint_eq(num(p, 9), UINT64_C(1700000000000000000));
	ck_assert_uint_eq(num(p, 10), 5000000);
	check_string(p, num(sub(p, 11, 0), 1), "cpu");
	ck_assert_uint_eq(num(p, 12), 1000000);
	check_string(p, num(p, 14), "cpu");
	check_string(p, num(p, 13), "perf record app");
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(locations_and_mappings)
{
	struct synth_profile *b = synth_profile_small();
	struct fw_out out;
	b->modules[1].file_offset = 0x1000;	// its code is mapped one page in
	struct reader p = encode(b, &out), location = sub(p, 4, 1), line = sub(location, 4, 0);
	ck_assert_uint_eq(count(p, 4), 4);
	ck_assert_uint_eq(num(location, 1), 2);
	ck_assert_uint_eq(num(location, 2), 1);
	ck_assert_uint_eq(num(location, 3), 0x40201f);	// in the call, not behind it
	ck_assert_uint_eq(count(location, 4), 2);
	struct reader function = sub(p, 5, (unsigned)num(line, 1) - 1);
	ck_assert_uint_eq(num(function, 1), num(line, 1));
	check_string(p, num(function, 2), "fast");	// innermost first
	check_string(p, num(function, 4), "/src/a.c");
	ck_assert_uint_eq(num(line, 2), 10);
	function = sub(p, 5, (unsigned)num(sub(location, 4, 1), 1) - 1);
	check_string(p, num(function, 2), "work");
	struct reader m = sub(p, 3, 0);
	ck_assert_uint_eq(num(m, 1), 1);
	ck_assert_uint_eq(num(m, 2), 0x400000);
	ck_assert_uint_eq(num(m, 3), 0x410000);
	check_string(p, num(m, 5), "/opt/app");
	check_string(p, num(m, 6), "00112233445566778899aabbccddeeff00112233");
	for (unsigned i = 7; i <= 10; i++)
		ck_assert_uint_eq(num(m, i), 1);
	m = sub(p, 3, 1);
	ck_assert_uint_eq(num(m, 2), UINT64_C(0x7f0000001000));
	ck_assert_uint_eq(num(m, 3), UINT64_C(0x7f0000201000));
	ck_assert_uint_eq(num(m, 4), 0x1000);
	ck_assert_uint_eq(num(m, 7), 0);	// no names: pprof may look for them itself
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(several_events)
{
	struct synth_profile *b = synth_profile_small();
	struct fw_out out;
	synth_event(b, "dummy:HG");		// has no samples, gets no values
	synth_event(b, "page-faults")->frequency = 0;
	synth_stack(b, 1, 0, 2, 9);
	b->stacks[3].weight = 81;
	struct reader p = encode(b, &out);
	static const char *const types[][2] = {
		{ "cpu-clock samples", "count" }, { "cpu-clock", "nanoseconds" },
		{ "page-faults samples", "count" }, { "page-faults", "count" },
	};
	ck_assert_uint_eq(count(p, 1), 4);
	for (unsigned i = 0; i < 4; i++) {
		check_string(p, num(sub(p, 1, i), 1), types[i][0]);
		check_string(p, num(sub(p, 1, i), 2), types[i][1]);
	}
	check_packed(sub(sub(p, 2, 0), 2, 0), (uint64_t[]){ 3, 3000000, 0, 0 }, 4);
	check_packed(sub(sub(p, 2, 3), 2, 0), (uint64_t[]){ 0, 0, 9, 81 }, 4);
	check_string(p, num(p, 14), "cpu-clock");
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

// Mappings hold every address of theirs, whatever the recording said of them.
START_TEST(widened_mappings)
{
	struct synth_profile *b = synth_profile_small();
	struct fw_out out;
	b->modules[0].size = 0x1000;
	b->modules[0].file_offset = 0x2000;
	b->modules[1].size = 0;
	struct reader p = encode(b, &out), m = sub(p, 3, 0);
	ck_assert_uint_eq(num(m, 2), 0x401000);
	ck_assert_uint_eq(num(m, 3), 0x403000);
	ck_assert_uint_eq(num(m, 4), 0x1000);
	m = sub(p, 3, 1);
	ck_assert_uint_eq(num(m, 2), UINT64_C(0x7f0000003000));
	ck_assert_uint_eq(num(m, 3), UINT64_C(0x7f0000004000));
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(strings_are_utf8)
{
	struct synth_profile *b = synth_profile_small();
	struct fw_out out;
	b->lines[0].function = FW_STR("a\xff\xfe" "b\xc3\xa9");
	struct reader p = encode(b, &out);
	struct reader function = sub(p, 5, (unsigned)num(sub(sub(p, 4, 0), 4, 0), 1) - 1);
	check_string(p, num(function, 2), "a\xef\xbf\xbd\xef\xbf\xbd" "b\xc3\xa9");
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

START_TEST(nothing_sampled)
{
	struct synth_profile *b = synth_profile_create();
	struct fw_out out;
	struct reader p = encode(b, &out);
	ck_assert_uint_eq(count(p, 1), 2);
	ck_assert_uint_eq(count(p, 2), 0);
	fw_out_deinit(&out);
	synth_profile_destroy(b);
}
END_TEST

Suite *profile_pprof_suite(void)
{
	Suite *s = suite_create("profile_pprof");
	TCase *tc = tcase_create("pprof");
	tcase_add_test(tc, samples_and_types);
	tcase_add_test(tc, locations_and_mappings);
	tcase_add_test(tc, several_events);
	tcase_add_test(tc, widened_mappings);
	tcase_add_test(tc, strings_are_utf8);
	tcase_add_test(tc, nothing_sampled);
	suite_add_tcase(s, tc);
	return s;
}
