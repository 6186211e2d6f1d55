// Breakpad's machine-readable form: one fact a line, fields separated by '|'.
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "lib/report/report.h"

// Bytes that field() has to look at; 0xc2 may start a C1 control in UTF-8.
static const uint8_t special[256] = {
	[0 ... 0x1f] = 1, ['|'] = 1, [0x7f] = 1, [0xc2] = 1,
};

static inline bool is_plain_word(const char *s)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	uint64_t v;
	memcpy(&v, s, 8);
	uint64_t bar = v ^ ones * '|', del = v ^ ones * 0x7f;
	// Each term has a top bit set where a byte underflows; all from 0x80 count as special.
	return !((v | (v - ones * 0x20) | (bar - ones) | (del - ones)) & tops);
}

#ifdef __SSE2__
static inline bool is_plain_block(const char *s)
{
	__m128i v = _mm_loadu_si128((const __m128i *)s);
	__m128i odd = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));	// signed: 0x80 and up as well
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8('|')));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f)));
	return _mm_movemask_epi8(odd) == 0;
}
#endif

/**
 * May the field be copied as it is? False also where only a closer look tells.
 * The last block overlaps the one before it.
 */
static bool is_plain(const char *s, size_t n)
{
	const char *end = s + n;
	if (n < 8) {
		unsigned odd = 0;
		while (s < end)
			odd |= special[(uint8_t)*s++];
		return !odd;
	}
#ifdef __SSE2__
	if (n >= 16) {
		for (; end - s > 16; s += 16)
			if (!is_plain_block(s))
				return false;
		return is_plain_block(end - 16);
	}
#endif
	for (; end - s > 8; s += 8)
		if (!is_plain_word(s))
			return false;
	return is_plain_word(end - 8);
}

/**
 * A field: '|' and newline are left out as Breakpad does. Other controls, which
 * Breakpad passes on, become \xNN; bytes from 0x80 stay as they are.
 */
static void field_special(struct fw_out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)s[i];
		if (c == '|' || c == '\n')
			continue;
		if (c < 0x20 || c == 0x7f) {
			fw_out_safe(o, s + i, 1);
		} else if (c == 0xc2 && n - i > 1 && (uint8_t)s[i + 1] - 0x80U < 0x20) {
			fw_out_safe(o, s + i++, 2);
		} else {
			fw_out_byte(o, (char)c);
		}
	}
}

static inline void field(struct fw_out *o, const char *s, size_t n)
{
	if (n == 0)
		return;
	if (is_plain(s, n))
		fw_out_write(o, s, n);
	else
		field_special(o, s, n);
}

static void field_str(struct fw_out *o, struct fw_str s)
{
	field(o, s.s, s.n);
}

static void field_cstr(struct fw_out *o, const char *s)
{
	field(o, s, strlen(s));
}

static void write_system(const struct fw_snapshot *s, struct fw_out *o)
{
	char buffer[16];
	fw_out_lit(o, "OS|");
	field_cstr(o, fw_os_name(s, buffer));
	fw_out_byte(o, '|');
	// Breakpad prints the version as recorded, which on Linux is often nought.
	field_str(o, s->os_version_from_build ? FW_STR("0.0.0") : s->os_version);
	if (s->os_version.n && s->os_build.n)
		fw_out_byte(o, ' ');
	field_str(o, s->os_build);
	fw_out_lit(o, "\nCPU|");
	field_cstr(o, s->cpu->name);
	fw_out_byte(o, '|');
	field_str(o, s->cpu_info);
	fw_out_byte(o, '|');
	fw_out_dec(o, s->cpu_count);
	fw_out_lit(o, "\nGPU|||\n");
}

static void write_crash(const struct fw_report *r, struct fw_out *o)
{
	fw_out_lit(o, "Crash|");
	if (r->crashed) {
		field_cstr(o, r->breakpad_reason);
		fw_out_lit(o, "|0x");
		fw_out_hex(o, r->crash_address, 0);
	} else {
		struct fw_str assertion = r->snapshot->exception.assertion;
		field_str(o, assertion.n ? assertion : FW_STR("No crash"));
		fw_out_byte(o, '|');
	}
	fw_out_byte(o, '|');
	if (r->crashing_index >= 0)
		fw_out_dec(o, (uint64_t)r->crashing_index);
	fw_out_byte(o, '\n');
}

static void write_module(const struct fw_report_module *m, struct fw_out *o)
{
	const struct fw_module_info *info = m->info;
	fw_out_lit(o, "Module|");
	field_str(o, m->name);
	fw_out_byte(o, '|');
	field_str(o, info->version);
	fw_out_byte(o, '|');
	field_str(o, m->debug_name);
	fw_out_byte(o, '|');
	if (info->debug_id.n)
		field(o, info->debug_id.text, info->debug_id.n);
	else if (m->debug_name.n)	// a debug record, its id all zero
		fw_out_lit(o, "000000000000000000000000000000000");
	fw_out_lit(o, "|0x");
	fw_out_hex(o, info->base, 8);
	fw_out_lit(o, "|0x");
	fw_out_hex(o, info->base + (info->size ? info->size - 1 : 0), 8);
	if (info->is_main)
		fw_out_lit(o, "|1\n");
	else
		fw_out_lit(o, "|0\n");
}

/** One line: an inlined call or, with @p call NULL, the function itself. */
static void write_line(struct fw_out *o, const struct fw_str *prefix, uint32_t number,
		       const struct fw_report_frame *f, const struct fw_report_inline *call)
{
	struct fw_str function = call ? call->function : f->function;
	struct fw_str file = call ? call->file : f->file;
	if (call && !function.n)
		function = FW_STR("<name omitted>");	// Breakpad's words
	fw_out_str(o, *prefix);
	fw_out_dec(o, number);
	fw_out_byte(o, '|');
	uint64_t offset = f->pc;
	if (!f->module) {
		fw_out_lit(o, "||||0x");
	} else {
		field_str(o, f->module_name);
		if (!function.n) {
			fw_out_lit(o, "||||0x");
			offset = f->module_pc_offset;
		} else {
			fw_out_byte(o, '|');
			field_str(o, function);
			fw_out_byte(o, '|');
			field_str(o, file);
			fw_out_byte(o, '|');
			if (file.n)
				fw_out_dec(o, call ? call->line : f->line);
			fw_out_lit(o, "|0x");
			offset = file.n && f->have_line ? f->line_offset : f->function_pc_offset;
		}
	}
	fw_out_hex(o, offset, 0);
	fw_out_byte(o, '\n');
}

static void write_thread(struct fw_report *r, const struct fw_report_thread *thread,
			 struct fw_out *o)
{
	char text[16];
	struct fw_out head = { .data = text, .capacity = sizeof(text), .fd = -1 };
	fw_out_dec(&head, thread->peer_index);
	fw_out_byte(&head, '|');
	struct fw_str prefix = { text, head.count };
	struct fw_report_frame f;
	uint32_t number = 0;	// Breakpad numbers inlined calls like frames
	for (uint32_t i = 0; i < thread->num_frames; i++) {
		fw_report_frame(r, thread, i, &f);
		for (uint32_t k = 0; k < f.num_inlines; k++)
			write_line(o, &prefix, number++, &f, &f.inlines[k]);
		write_line(o, &prefix, number++, &f, NULL);
	}
}

void fw_report_write_machine(struct fw_report *r, struct fw_out *out)
{
	write_system(r->snapshot, out);
	write_crash(r, out);
	for (uint32_t i = 0; i < r->num_modules; i++)
		write_module(&r->modules[i], out);
	fw_out_byte(out, '\n');
	if (r->crashing >= 0)
		write_thread(r, &r->threads[r->crashing], out);
	for (uint32_t i = 0; i < r->num_threads; i++)
		if (i != r->crashing)
			write_thread(r, &r->threads[i], out);
}
