#include "tests/synth_sym.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFERS = 8, BUFFER = 4096 };

struct text {
	char *s;
	size_t n;
};

static struct text next_buffer(void)
{
	static char buffers[BUFFERS][BUFFER];
	static unsigned turn;
	struct text t = { buffers[turn++ % BUFFERS], 0 };
	t.s[0] = 0;
	return t;
}

__attribute__((format(printf, 2, 3)))
static void add(struct text *t, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(t->s + t->n, BUFFER - t->n, format, ap);
	va_end(ap);
	t->n += (size_t)n < BUFFER - t->n ? (size_t)n : BUFFER - t->n - 1;
}

static void add_str(struct text *t, struct fw_str s)
{
	if (s.s)
		add(t, "%.*s", (int)s.n, s.s);
	else
		add(t, "?");
}

struct fw_image *synth_sym_bytes(const char *text, size_t n)
{
	struct fw_error err = { .message = "" };
	struct fw_image *image = NULL;
	enum fw_code code = fw_sym_load_text((struct fw_str){ text, n }, &image, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	code = fw_image_check(image, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	return image;
}

struct fw_image *synth_sym(const char *text)
{
	return synth_sym_bytes(text, strlen(text));
}

const char *synth_name(const struct fw_image *image, uint32_t offset)
{
	struct text t = next_buffer();
	const struct fw_func *f = fw_image_func(image, offset);
	const struct fw_public *p = f ? NULL : fw_image_public(image, offset);
	if (!f && !p)
		return "-";
	add_str(&t, fw_image_string(image, f ? f->name : p->name));
	add(&t, "+%x", offset - (f ? f->entry : p->start));
	return t.s;
}

const char *synth_line(const struct fw_image *image, uint32_t offset)
{
	struct text t = next_buffer();
	const struct fw_func *f = fw_image_func(image, offset);
	const struct fw_line *line = f ? fw_image_line(image, f, offset) : NULL;
	if (!line)
		return "-";
	add_str(&t, fw_image_numbered(image, FW_SEC_FILES, line->file));
	add(&t, ":%u@%x", line->line, line->addr);
	return t.s;
}

const char *synth_calls(const struct fw_image *image, uint32_t offset)
{
	struct text t = next_buffer();
	const struct fw_inline *calls[FW_MAX_INLINE_DEPTH];
	const struct fw_func *f = fw_image_func(image, offset);
	uint32_t n = f ? fw_image_inlines(image, f, offset, calls, FW_MAX_INLINE_DEPTH) : 0;
	for (uint32_t i = 0; i < n; i++) {
		add(&t, "%s", i ? " " : "");
		add_str(&t, fw_image_numbered(image, FW_SEC_ORIGINS, calls[i]->origin));
		add(&t, "<-");
		add_str(&t, fw_image_numbered(image, FW_SEC_FILES, calls[i]->call_file));
		add(&t, ":%u", calls[i]->call_line);
	}
	return t.s;
}

const char *synth_rules(const struct fw_image *image, uint32_t offset)
{
	struct text t = next_buffer();
	struct fw_out out;
	uint32_t n;
	const struct fw_rule *rules = fw_image_cfi(image, offset, &n);
	if (!rules)
		return "-";
	fw_out_init_memory(&out, BUFFER);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			fw_out_byte(&out, ' ');
		fw_rule_print(&out, fw_cpu_get(image->cpu), &image->programs, rules[i]);
	}
	add(&t, "%.*s", (int)out.count, out.data);
	if (rules[0].flags & FW_ROW_SIGNAL)
		add(&t, " [signal]");
	if (rules[0].flags & FW_ROW_RA_IN_PC)
		add(&t, " [ra in pc]");
	fw_out_deinit(&out);
	return t.s;
}

const char *synth_win(const struct fw_image *image, uint32_t offset)
{
	struct text t = next_buffer();
	const struct fw_stack_win *w = fw_image_stack_win(image, offset);
	if (!w)
		return "-";
	add(&t, "type %u %x+%x", w->type, w->start, w->size);
	return t.s;
}

const char *synth_diag(const struct fw_image *image)
{
	struct text t = next_buffer();
	for (unsigned k = 0; k < FW_DIAG_COUNT; k++) {
		uint32_t n = image->diag.count[k];
		if (n == 0)
			continue;
		add(&t, "%s%s %u (", t.n ? " " : "", fw_diag_kind_name(k), n);
		for (uint32_t i = 0; i < n && i < FW_MAX_DIAG_SAMPLES; i++)
			add(&t, "%s%u", i ? " " : "", image->diag.lines[k][i]);
		add(&t, ")");
	}
	return t.s;
}

void *synth_block(const struct fw_image *image, uint64_t *ret_size)
{
	struct fw_error err = { .message = "" };
	int fd = memfd_create("block", 0);
	ck_assert_int_ge(fd, 0);
	enum fw_code code = fw_image_write(image, fd, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	char *block = malloc((size_t)st.st_size);
	ck_assert_ptr_nonnull(block);
	ck_assert_int_eq(pread(fd, block, (size_t)st.st_size, 0), st.st_size);
	close(fd);
	*ret_size = (uint64_t)st.st_size;
	return block;
}
