// Breakpad's machine-readable form: one fact a line, fields separated by '|'.
#include "lib/report/report.h"

/** No byte of @p s is a bar, a control, DEL or the first of a C1 control in UTF-8. */
static bool is_plain(const char *s, size_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	for (; n >= 8; s += 8, n -= 8) {
		uint64_t v, bar, del, c2;
		memcpy(&v, s, 8);
		bar = v ^ ones * '|';
		del = v ^ ones * 0x7f;
		c2 = v ^ ones * 0xc2;
		// Per term: a top bit where a byte of it is zero (or, for v, below 0x20).
		if ((((v - ones * 0x20) & ~v) | ((bar - ones) & ~bar) | ((del - ones) & ~del) |
		     ((c2 - ones) & ~c2)) & tops)
			return false;
	}
	for (; n; s++, n--) {
		uint8_t c = (uint8_t)*s;
		if (c < 0x20 || c == '|' || c == 0x7f || c == 0xc2)
			return false;
	}
	return true;
}

/**
 * A field: '|' and newline are left out as Breakpad does. Other controls, which
 * Breakpad passes on, become \xNN; bytes from 0x80 stay as they are.
 */
static void field(struct fw_out *o, const char *s, size_t n)
{
	if (n && is_plain(s, n)) {
		fw_out_write(o, s, n);
		return;
	}
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
	field_str(o, s->os_version);
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
