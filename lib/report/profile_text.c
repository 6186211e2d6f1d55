// Names of functions and threads, the same in every format.
#include "lib/report/profile_text.h"

#include "lib/base/utf8.h"

struct fw_str fw_profile_function(const struct fw_profile *p, const struct fw_profile_frame *f,
				  uint32_t line, struct fw_out *scratch)
{
	if (f->truncated)
		return FW_STR("[truncated]");
	if (line < f->num_lines) {
		struct fw_str name = p->lines[f->first_line + line].function;
		if (name.n)
			return name;
	}
	if (f->jit)
		return FW_STR("[JIT]");
	const struct fw_profile_module *m = fw_profile_module(p, f);
	if (!m || !m->name.n)
		return FW_STR("[unknown]");
	if (m->name.s[0] == '[')	// "[vdso]", "[kernel.kallsyms]"
		return m->name;
	scratch->count = 0;
	fw_out_byte(scratch, '[');
	fw_out_str(scratch, m->name);
	fw_out_byte(scratch, ']');
	return (struct fw_str){ scratch->data, scratch->count };
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/** The blank in front of what the consumers take for a count: "12", "12.", "12.5"; or n. */
static size_t blank_before_count(const char *s, size_t n)
{
	size_t i = n;
	while (i && is_digit(s[i - 1]))
		i--;
	if (i && s[i - 1] == '.') {
		size_t dot = --i;
		while (i && is_digit(s[i - 1]))
			i--;
		if (i == dot)
			return n;
	}
	return i && i < n && s[i - 1] == ' ' ? i - 1 : n;
}

void fw_folded_name(struct fw_out *out, const char *s, size_t n)
{
	size_t blank = blank_before_count(s, n), from = 0;
	for (size_t i = 0; i < n; i++) {
		if (s[i] != ';' && i != blank)
			continue;
		fw_out_safe(out, s + from, i - from);
		fw_out_byte(out, s[i] == ';' ? ':' : '_');
		from = i + 1;
	}
	fw_out_safe(out, s + from, n - from);
}

void fw_folded_thread(struct fw_out *out, const struct fw_profile_thread *thread)
{
	struct fw_str name = thread->name;
	size_t from = 0;
	for (size_t i = 0; i < name.n; i++) {
		if (name.s[i] != ' ' && name.s[i] != ';')
			continue;
		fw_out_safe(out, name.s + from, i - from);
		fw_out_byte(out, name.s[i] == ';' ? ':' : '_');
		from = i + 1;
	}
	if (name.n) {
		fw_out_safe(out, name.s + from, name.n - from);
	} else if (!thread->pid && !thread->tid) {
		fw_out_lit(out, "[unknown]");
	}
	if (thread->pid || thread->tid) {
		fw_out_byte(out, '-');
		fw_out_dec(out, thread->pid);
		fw_out_byte(out, '/');
		fw_out_dec(out, thread->tid);
	}
}

void fw_profile_utf8(struct fw_out *out, struct fw_str s)
{
	size_t from = 0, i = 0;
	while (i < s.n) {
		if ((uint8_t)s.s[i] < 0x80) {
			i++;
			continue;
		}
		int length = fw_utf8_next(s.s + i, s.n - i);
		if (length > 0) {
			i += (size_t)length;
			continue;
		}
		fw_out_write(out, s.s + from, i - from);
		fw_out_lit(out, "\xef\xbf\xbd");
		i += (size_t)-length;
		from = i;
	}
	if (s.n)
		fw_out_write(out, s.s + from, s.n - from);
}

bool fw_profile_many_events(const struct fw_profile *p)
{
	for (uint32_t i = 1; i < p->num_stacks; i++)
		if (p->stacks[i].event != p->stacks[0].event)
			return true;
	return false;
}

struct fw_str fw_profile_event_name(const struct fw_profile *p, uint32_t event)
{
	const struct fw_recording *r = p->recording;
	if (r && event < r->num_events && r->events[event].name.n)
		return r->events[event].name;
	return FW_STR("[unknown]");
}
