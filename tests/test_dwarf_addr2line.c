// Functions, inlined calls and lines of compiled programs against binutils' addr2line.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/synth_compiled.h"

Suite *dwarf_addr2line_suite(void);

enum { MAX_FRAMES = 128, MAX_TEXT = 8192, ADDRESSES = 1000 };

struct frames {
	unsigned count;
	char *name[MAX_FRAMES], *place[MAX_FRAMES];
};

static void add(struct frames *f, struct fw_str name, struct fw_str file, uint32_t line)
{
	ck_assert_uint_lt(f->count, MAX_FRAMES);
	char *text = malloc(file.n + 32);
	f->name[f->count] = name.s ? strndup(name.s, name.n) : strdup("??");
	if (!file.s)
		strcpy(text, "??");
	else
		sprintf(text, "%.*s", (int)file.n, file.s);
	if (line)
		sprintf(text + strlen(text), ":%u", line);
	else
		strcat(text, ":?");
	f->place[f->count++] = text;
}

static void clear(struct frames *f)
{
	while (f->count) {
		f->count--;
		free(f->name[f->count]);
		free(f->place[f->count]);
	}
}

static void ours(const struct fw_image *image, uint32_t offset, struct frames *ret)
{
	const struct fw_inline *calls[FW_MAX_INLINE_DEPTH];
	const struct fw_func *f = fw_image_func(image, offset);
	struct fw_str file = { NULL, 0 };
	uint32_t line = 0;
	ck_assert_ptr_nonnull(f);
	uint32_t n = fw_image_inlines(image, f, offset, calls, FW_MAX_INLINE_DEPTH);
	const struct fw_line *l = fw_image_line(image, f, offset);
	if (l) {
		file = fw_image_numbered(image, FW_SEC_FILES, l->file);
		line = l->line;
	}
	while (n--) {
		add(ret, fw_image_numbered(image, FW_SEC_ORIGINS, calls[n]->origin), file, line);
		file = fw_image_numbered(image, FW_SEC_FILES, calls[n]->call_file);
		line = calls[n]->call_line;
	}
	add(ret, fw_image_string(image, f->name), file, line);
}

/** addr2line's answer: a line with the address, then a name and a place a frame. */
static bool theirs(FILE *f, struct frames *ret)
{
	static char line[MAX_TEXT];
	static bool pending;
	if (!pending && !fgets(line, sizeof(line), f))
		return false;
	pending = false;
	for (unsigned i = 0; fgets(line, sizeof(line), f); i++) {
		if (strncmp(line, "0x", 2) == 0) {
			pending = true;
			break;
		}
		line[strcspn(line, "\n")] = 0;
		char *more = strstr(line, " (discriminator ");
		if (more)
			*more = 0;
		if (i % 2 == 0)
			ret->name[ret->count] = strdup(line);
		else
			ret->place[ret->count++] = strdup(strcmp(line, "??:0") ? line : "??:?");
	}
	return true;
}

/** Do the last characters of @p a, behind "::", make @p b? */
static bool unqualified(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	return n > m + 2 && strcmp(a + n - m, b) == 0 && strncmp(a + n - m - 2, "::", 2) == 0;
}

/**
 * gcc gives functions that only their unit sees no linkage name. Where such a function
 * was inlined, ours is its plain name behind its scopes ("ns::(anonymous namespace)::
 * hidden"); addr2line prints it without ("hidden"), or in the innermost frame the name
 * of the symbol around it ("main"). So it does with a part split off ("main.cold").
 */
static bool same_name(const struct frames *a, const struct frames *b, unsigned i)
{
	const char *x = a->name[i], *y = b->name[i];
	if (strcmp(x, y) == 0 || unqualified(x, y))
		return true;
	const char *around = a->name[a->count - 1];
	size_t n = strlen(around);
	return i == 0 && strncmp(y, around, n) == 0 &&
	       (y[n] == 0 || strcmp(y + n, ".cold") == 0);
}

/**
 * binutils takes file 0 for the rows before a DWARF 5 program's first DW_LNS_set_file;
 * the standard's table 6.4 says 1. The line is the same then.
 */
static bool same_place(const char *a, const char *b, bool version5)
{
	const char *x = strrchr(a, ':'), *y = strrchr(b, ':');
	if (strcmp(a, b) == 0)
		return true;
	return version5 && x && y && strcmp(x, y) == 0 &&
	       (strstr(b, "/main.c") || strstr(b, "/<artificial>:"));
}

static bool same(const struct frames *a, const struct frames *b, const struct recipe *recipe)
{
	bool all = recipe->oracle == ORACLE_ALL, version5 = strstr(recipe->flags, "dwarf-5");
	if (all && a->count != b->count)
		return false;
	for (unsigned i = 0; i < (all ? a->count : 1); i++)
		if (!same_place(a->place[i], b->place[i], version5) ||
		    (all && !same_name(a, b, i)))
			return false;
	return true;
}

/** Every address, or as many by chance, of the functions, one a line. */
static void write_addresses(const struct compiled *c, const struct fw_image *image,
			    const char *path)
{
	FILE *out = fopen(path, "w");
	const struct fw_func *f = image->section[FW_SEC_FUNCS];
	uint32_t n = fw_image_count(image, FW_SEC_FUNCS, sizeof(*f));
	uint64_t bytes = 0, random = 1;
	ck_assert_ptr_nonnull(out);
	for (uint32_t i = 0; i < n; i++)
		bytes += f[i].size;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < f[i].size; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			if (bytes <= ADDRESSES || (random >> 33) % bytes < ADDRESSES)
				fprintf(out, "%llx\n", (unsigned long long)
					(fw_elf_base(c->elf) + f[i].start + k));
		}
	fclose(out);
}

static void show(const char *who, const struct frames *f)
{
	for (unsigned i = 0; i < f->count; i++)
		printf("%s: %s %s\n", who, f->name[i], f->place[i]);
	fflush(stdout);
}

START_TEST(every_frame_is_the_same)
{
	struct compiled c;
	char list[128], command[512];
	unsigned long long address;
	unsigned checked = 0, wrong = 0;
	if (system("addr2line --version > /dev/null 2>&1")) {
		printf("skipped: no addr2line\n");
		return;
	}
	if (recipes[_i].oracle == ORACLE_NONE || !compiled_make(&c, &recipes[_i]))
		return;
	struct fw_image *image = compiled_image(&c);
	snprintf(list, sizeof(list), "%s/addresses", c.dir);
	write_addresses(&c, image, list);
	snprintf(command, sizeof(command), "cd %s && addr2line -afiC -e prog < addresses 2> /dev/null",
		 c.dir);
	FILE *in = fopen(list, "r"), *out = popen(command, "r");
	ck_assert(in && out);
	while (fscanf(in, "%llx", &address) == 1) {
		struct frames a = { 0 }, b = { 0 };
		ck_assert(theirs(out, &b));
		ours(image, (uint32_t)(address - fw_elf_base(c.elf)), &a);
		if (!same(&a, &b, &recipes[_i]) && wrong++ < 3) {
			printf("%s %s: 0x%llx\n", recipes[_i].compiler, recipes[_i].flags, address);
			show("ours", &a);
			show("addr2line", &b);
		}
		checked++;
		clear(&a);
		clear(&b);
	}
	fclose(in);
	pclose(out);
	ck_assert_uint_gt(checked, 100);
	ck_assert_uint_eq(wrong, 0);
	fw_image_destroy(image);
	compiled_remove(&c);
}
END_TEST

Suite *dwarf_addr2line_suite(void)
{
	Suite *s = suite_create("dwarf_addr2line");
	TCase *tc = tcase_create("oracle");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_frame_is_the_same, 0, (int)num_recipes);
	suite_add_tcase(s, tc);
	return s;
}
