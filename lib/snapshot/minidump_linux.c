#include "lib/snapshot/minidump.h"

static bool equals(struct fw_str s, const char *literal)
{
	return s.n == strlen(literal) && !memcmp(s.s, literal, s.n);
}

static struct fw_str trim(const char *p, const char *end)
{
	while (p < end && (fw_is_blank(*p) || *p == '\r'))
		p++;
	while (end > p && (fw_is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	return (struct fw_str){ p, (size_t)(end - p) };
}

// Next line of a text stream, which ends at its size or at a NUL.
static bool next_line(struct fw_text *t, struct fw_text *line)
{
	if (t->p >= t->end || *t->p == '\0')
		return false;
	const char *newline = memchr(t->p, '\n', (size_t)(t->end - t->p));
	*line = (struct fw_text){ t->p, newline ? newline : t->end };
	t->p = newline ? newline + 1 : t->end;
	return true;
}

// "key SEPARATOR value", both trimmed; quotes around the value go.
static bool split(struct fw_text line, char separator, struct fw_str *key, struct fw_str *value)
{
	const char *at = memchr(line.p, separator, (size_t)(line.end - line.p));
	if (!at)
		return false;
	*key = trim(line.p, at);
	*value = trim(at + 1, line.end);
	if (value->n >= 2 && value->s[0] == '"' && value->s[value->n - 1] == '"')
		*value = (struct fw_str){ value->s + 1, value->n - 2 };
	if (value->n > FW_MAX_NAME)
		value->n = FW_MAX_NAME;
	return true;
}

static bool text_stream(struct md_reader *md, uint32_t type, struct fw_text *ret)
{
	struct fw_bytes b;
	if (!md_stream(md, type, &b))
		return false;
	*ret = (struct fw_text){ (const char *)b.data, (const char *)b.data + b.size };
	return true;
}

static void read_cpuinfo(struct md_reader *md)
{
	struct fw_text t, line;
	struct fw_str key, value;
	if (!text_stream(md, MD_LINUX_CPU_INFO, &t))
		return;
	while (next_line(&t, &line)) {
		if (split(line, ':', &key, &value) && equals(key, "microcode") && value.n) {
			md->s->cpu_microcode = value;
			return;
		}
	}
}

static void read_status(struct md_reader *md)
{
	struct fw_snapshot *s = md->s;
	struct fw_text t, line;
	struct fw_str key, value;
	if (s->have_pid || !text_stream(md, MD_LINUX_PROC_STATUS, &t))
		return;
	while (next_line(&t, &line)) {
		uint64_t pid;
		if (!split(line, ':', &key, &value) || !equals(key, "Pid"))
			continue;
		struct fw_text digits = { value.s, value.s + value.n };
		if (fw_text_dec(&digits, &pid) && digits.p == digits.end && pid <= UINT32_MAX) {
			s->have_pid = true;
			s->pid = (uint32_t)pid;
		}
		return;
	}
}

// /etc/lsb-release, or /etc/os-release where a writer copied that.
static void read_lsb(struct md_reader *md)
{
	struct fw_snapshot *s = md->s;
	const struct { const char *lsb, *os; struct fw_str *ret; } keys[] = {
		{ "DISTRIB_ID", "ID", &s->lsb_id },
		{ "DISTRIB_RELEASE", "VERSION_ID", &s->lsb_release },
		{ "DISTRIB_CODENAME", "VERSION_CODENAME", &s->lsb_codename },
		{ "DISTRIB_DESCRIPTION", "PRETTY_NAME", &s->lsb_description },
	};
	struct fw_text t, line;
	struct fw_str key, value;
	if (!text_stream(md, MD_LINUX_LSB_RELEASE, &t))
		return;
	while (next_line(&t, &line)) {
		if (!split(line, '=', &key, &value))
			continue;
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (equals(key, keys[i].lsb) || equals(key, keys[i].os))
				*keys[i].ret = value;
		}
	}
}

// NUL-terminated arguments, shown with a blank between them.
static void read_command_line(struct md_reader *md)
{
	struct fw_bytes b;
	if (!md_stream(md, MD_LINUX_CMD_LINE, &b))
		return;
	uint64_t n = b.size < FW_MAX_NAME ? b.size : FW_MAX_NAME;
	while (n && b.data[n - 1] == '\0')
		n--;
	if (!n)
		return;
	char *copy = fw_arena_strndup(&md->s->arena, (const char *)b.data, n);
	if (!copy) {
		md->no_memory = true;
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (copy[i] == '\0')
			copy[i] = ' ';
	}
	md->s->command_line = (struct fw_str){ copy, n };
}

// Pairs of words of the process (System V ABI, auxiliary vector; linux/auxvec.h).
static void read_auxv(struct md_reader *md)
{
	enum { AT_NULL = 0, AT_ENTRY = 9, AT_SYSINFO_EHDR = 33 };
	struct fw_snapshot *s = md->s;
	struct fw_bytes b;
	if (!md_stream(md, MD_LINUX_AUXV, &b))
		return;
	uint64_t word = s->cpu->word_size == 4 ? 4 : 8;
	for (uint64_t at = 0; fw_bytes_has(&b, at, 2 * word); at += 2 * word) {
		uint64_t type = word == 4 ? md_u32(&b, at) : md_u64(&b, at);
		uint64_t value = word == 4 ? md_u32(&b, at + 4) : md_u64(&b, at + 8);
		if (type == AT_NULL)
			return;
		if (type == AT_ENTRY) {
			s->have_entry = true;
			s->entry = value;
		} else if (type == AT_SYSINFO_EHDR) {
			s->vdso = value;
		}
	}
}

// Columns are apart by two blanks or more; names have single blanks in them.
static bool next_column(struct fw_text *t, struct fw_str *ret)
{
	fw_text_skip_blanks(t);
	const char *start = t->p;
	while (t->p < t->end && !(fw_is_blank(t->p[0]) &&
				  (t->p + 1 == t->end || fw_is_blank(t->p[1]))))
		t->p++;
	*ret = trim(start, t->p);
	return ret->n > 0;
}

// proc(5): "Limit  Soft Limit  Hard Limit  Units"; the last may be empty. Rows
// with fewer columns are left out.
static void read_limits(struct md_reader *md)
{
	enum { MOST = 64 };	// Linux has 16
	struct fw_snapshot *s = md->s;
	struct fw_text t, line;
	if (!text_stream(md, MD_MOZ_LINUX_LIMITS, &t))
		return;
	s->limits = md_array(md, MOST, sizeof(*s->limits));
	if (!s->limits)
		return;
	while (next_line(&t, &line) && s->num_limits < MOST) {
		struct fw_limit_info l = { 0 };
		if (!next_column(&line, &l.name) || !next_column(&line, &l.soft) ||
		    !next_column(&line, &l.hard) || equals(l.name, "Limit"))
			continue;
		if (!next_column(&line, &l.unit))
			l.unit = (struct fw_str){ NULL, 0 };
		s->limits[s->num_limits++] = l;
	}
}

void md_read_linux(struct md_reader *md)
{
	read_cpuinfo(md);
	read_status(md);
	read_lsb(md);
	read_command_line(md);
	read_auxv(md);
	read_limits(md);
}
