#include <check.h>
#include <stdlib.h>

#include "lib/report/report.h"
#include "tests/synth_frames.h"
#include "tests/synth_world.h"

Suite *report_vdso_suite(void);

#define V UINT64_C(0x7fff80000000)	// the vDSO
#define S UINT64_C(0x7fff00000000)	// the stack
#define R UINT64_C(0x400100)		// where its function returns to

static struct world w;
static struct synth_frames f;

// A function at 0x3000 that has pushed a word at 0x3001, without section headers, as
// the kernel maps it.
static void put_vdso(void)
{
	static struct synth_cfi eh;
	uint8_t hdr[20] = { 1, 0x1b, 0x03, 0x3b };
	const int32_t words[] = { 0x1000 - 0x2804, 1, 0x3000 - 0x2800, 0 };
	synth_frames_init(&f);
	synth_cfi_init(&eh, true);
	eh.address = 0x1000;
	synth_amd64_cie(&eh);
	synth_fde(&eh, 0x3000, 0x40);
	const size_t at = eh.entry;
	synth_u8(&eh, 0);
	synth_raw(&eh, "\x41\x0e\x10", 3);
	synth_end(&eh);
	synth_word(&eh, 0, 4);
	memcpy(hdr + 4, words, sizeof(words));
	const int32_t fde = (int32_t)(0x1000 + at - 0x2800);
	memcpy(hdr + 16, &fde, 4);
	synth_frames_section(&f, ".eh_frame", 0x1000, eh.bytes, eh.n);
	synth_frames_section(&f, ".eh_frame_hdr", 0x2800, hdr, sizeof(hdr));
	synth_frames_index(&f, 0x2800, sizeof(hdr));
	synth_frames_finish(&f, false);
}

static struct fw_report *report(struct fw_symbols **symbols)
{
	static const struct fw_symbol_options nothing = { .sysroot = "/nonexistent" };
	static const struct fw_report_options options = { .max_frames = 100 };
	struct fw_report *r;
	struct fw_error err;
	ck_assert_int_eq(fw_symbols_create(&nothing, symbols, &err), FW_OK);
	ck_assert_int_eq(fw_report_create(&w.s, "core", *symbols, &options, &r, &err), FW_OK);
	return r;
}

static void begin(void)
{
	static const uint8_t call[] = { 0xff, 0xd0 };
	put_vdso();
	world_init(&w, FW_CPU_AMD64, FW_OS_LINUX);
	world_module(&w, 0x400000, 0x1000, NULL);
	world_module(&w, V, 0x4000, NULL);
	world_bytes(&w, R - 2, call, 2);
	world_stack(&w, S, UINT64_C(0), R, UINT64_C(0), END);
	world_bytes(&w, V, "", 1);
	w.segments[w.num_segments - 1].data = f.bytes;
	w.segments[w.num_segments - 1].size = 0x4000;
	world_reg(&w, "rip", V + 0x3008);
	world_reg(&w, "rsp", S);
}

START_TEST(the_vdso_is_read_from_the_capture)
{
	struct fw_symbols *symbols;
	begin();
	w.s.vdso = V;
	struct fw_report *r = report(&symbols);
	ck_assert_uint_ge(r->threads[0].num_frames, 2);
	ck_assert_uint_eq(r->threads[0].frames[1].pc, R);
	ck_assert_int_eq(r->threads[0].frames[1].trust, FW_TRUST_CFI);
	ck_assert_int_eq(r->modules[1].symbols->status, FW_SYMBOLS_LOADED);
	ck_assert_str_eq(r->modules[1].symbols->message, "from its image in the capture");
	ck_assert_int_eq(r->modules[1].cfi, FW_CFI_LOADED);
	fw_report_destroy(r);
	fw_symbols_destroy(symbols);
	world_deinit(&w);
}
END_TEST

START_TEST(only_the_vdso_is)
{
	struct fw_symbols *symbols;
	begin();
	w.s.vdso = _i == 0 ? 0 : V;
	if (_i)
		f.bytes[0] = 0;		// no ELF file
	struct fw_report *r = report(&symbols);
	for (uint32_t i = 1; i < r->threads[0].num_frames; i++)
		ck_assert_int_ne(r->threads[0].frames[i].trust, FW_TRUST_CFI);
	ck_assert_int_ne(r->modules[1].symbols->status, FW_SYMBOLS_LOADED);
	fw_report_destroy(r);
	fw_symbols_destroy(symbols);
	world_deinit(&w);
}
END_TEST

Suite *report_vdso_suite(void)
{
	Suite *suite = suite_create("report_vdso");
	TCase *tc = tcase_create("report_vdso");
	tcase_add_test(tc, the_vdso_is_read_from_the_capture);
	tcase_add_loop_test(tc, only_the_vdso_is, 0, 2);
	suite_add_tcase(suite, tc);
	return suite;
}
