#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/elf_file.h"
#include "symfiles/symbols.h"
#include "tests/synth_folder.h"

Suite *elf_search_suite(void);

static const char SOURCE[] =
	"static __attribute__((noinline)) int inner(int x) { return x * 3; }\n"
	"int outer(int x) { return inner(x) + 1; }\n"
	"int main(void) { return outer(2); }\n";

/** A folder where a.out was compiled with -g and @p script was run. */
static void build(struct folder *f, const char *script)
{
	char command[2048];
	folder_make(f);
	folder_write(f, "a.c", SOURCE, strlen(SOURCE));
	snprintf(command, sizeof(command),
		 "cd '%s' && gcc -g -O1 -o a.out a.c && cp a.out whole && { %s; } && rm a.c",
		 folder_path(f, "."), script);
	ck_assert_msg(system(command) == 0, "%s", command);
}

struct asked {
	struct fw_symbols *symbols;
	struct fw_ident id, code_id;
	char *path, *second, *sysroot;
};

/** Ask for the module `recorded` with the id of the file `whole`; @p below is "A" or "A:B". */
static const struct fw_symbol_file *ask(struct folder *f, const char *below, const char *sysroot,
					const char *recorded, struct asked *a)
{
	struct fw_elf *elf;
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_elf_open(folder_path(f, "whole"), &elf, NULL), FW_OK);
	a->id = *fw_elf_debug_id(elf);
	a->code_id = *fw_elf_code_id(elf);
	fw_elf_close(elf);
	remove(folder_path(f, "whole"));
	char first[64];
	const char *colon = strchr(below, ':');
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(below, ":"), below);
	a->path = strdup(folder_path(f, first));
	a->second = colon ? strdup(folder_path(f, colon + 1)) : NULL;
	a->sysroot = strdup(folder_path(f, sysroot));
	const char *paths[] = { a->path, a->second };
	struct fw_symbol_options o = { .paths = paths, .sysroot = a->sysroot,
				       .num_paths = *below == '\0' ? 0 : colon ? 2 : 1 };
	ck_assert_int_eq(fw_symbols_create(&o, &a->symbols, &err), FW_OK);
	struct fw_symbol_key key = {
		.debug_file = { recorded, strlen(recorded) },
		.code_file = { recorded, strlen(recorded) },
		.debug_id = &a->id, .code_id = &a->code_id, .cpu = FW_CPU_UNKNOWN,
	};
	const struct fw_symbol_file *looked = fw_symbols_look_up(a->symbols, &key);
	const struct fw_symbol_file *r = fw_symbols_load(a->symbols, &key);
	ck_assert_int_eq(looked->status == FW_SYMBOLS_FOUND, r->status == FW_SYMBOLS_LOADED);
	return r;
}

static void done(struct folder *f, struct asked *a)
{
	fw_symbols_destroy(a->symbols);
	free(a->path);
	free(a->second);
	free(a->sysroot);
	folder_remove(f);
}

/** Lines come from DWARF alone: outer is defined in line 2. */
static bool has_lines(const struct fw_image *image)
{
	for (uint32_t at = 0; at < 0x10000; at++) {
		const struct fw_func *func = fw_image_func(image, at);
		struct fw_str name = { NULL, 0 };
		if (func != NULL)
			name = fw_image_string(image, func->name);
		const struct fw_line *line = func ? fw_image_line(image, func, at) : NULL;
		if (name.n == 5 && memcmp(name.s, "outer", 5) == 0)
			return line != NULL && line->line == 2;
	}
	return false;
}

#define ID "$(readelf -n whole | sed -n 's/.*Build ID: //p')"
#define KEEP "objcopy --only-keep-debug a.out "
#define STRIP "strip a.out"

static const struct {
	const char *script, *below, *sysroot, *recorded;
	bool lines;
} found[] = {
	// anywhere below -s, under any name
	{ "true", ".", "none", "/usr/bin/a.out", true },
	{ "mkdir -p x/y && mv a.out x/y/renamed", ".", "none", "/usr/bin/a.out", true },
	{ "mv a.out b", "b", "none", "/usr/bin/a.out", true },
	{ STRIP, ".", "none", "/usr/bin/a.out", false },
	// below the system root at the recorded path
	{ "mkdir -p r/usr/bin && mv a.out r/usr/bin", "", "r", "/usr/bin/a.out", true },
	{ "mkdir -p r/bin && mv a.out r/bin", "", "r", "/usr/bin/a.out", true },
	{ "mkdir -p r/usr/bin && mv a.out r/usr/bin", "", "r", "/bin/a.out (deleted)", true },
	// a copy by its soname; the interpreter's own place
	{ "mkdir -p r/usr/lib && mv a.out r/usr/lib/libx.so.6 && cp whole r/usr/lib/libx.so.5 && "
	  "truncate -s 80 r/usr/lib/libx.so.5", "", "r", "/usr/lib/libx.so.6.0.30", true },
	{ "mkdir -p r/lib64 && mv a.out r/lib64/ld-x.so.2", "", "r", "/usr/lib/x/ld-x.so.2", true },
	// .build-id trees
	{ "mkdir -p .build-id/xx && " KEEP "d && " STRIP " && id=" ID " && mkdir -p "
	  ".build-id/${id%${id#??}} && mv d .build-id/${id%${id#??}}/${id#??}.debug",
	  ".", "none", "/usr/bin/a.out", true },
	{ "mkdir -p r/bin && " KEEP "d && " STRIP " && mv a.out r/bin && id=" ID " && d="
	  "r/usr/lib/debug/.build-id/${id%${id#??}} && mkdir -p $d && mv d $d/${id#??}.debug",
	  "", "r", "/bin/a.out", true },
	// by id, whatever its name
	{ KEEP "q && " STRIP, ".", "none", "/usr/bin/a.out", true },
	// .gnu_debuglink: next to it, in .debug/, below usr/lib/debug
	{ "mkdir -p r/bin && " KEEP "a.dbg && " STRIP " && objcopy --add-gnu-debuglink=a.dbg a.out "
	  "&& mv a.out a.dbg r/bin", "", "r", "/bin/a.out", true },
	{ "mkdir -p r/bin/.debug && " KEEP "a.dbg && " STRIP " && objcopy "
	  "--add-gnu-debuglink=a.dbg a.out && mv a.out r/bin && mv a.dbg r/bin/.debug",
	  "", "r", "/bin/a.out", true },
	{ "mkdir -p r/bin r/usr/lib/debug/bin && " KEEP "a.dbg && " STRIP " && objcopy "
	  "--add-gnu-debuglink=a.dbg a.out && mv a.out r/bin && mv a.dbg r/usr/lib/debug/bin",
	  "", "r", "/bin/a.out", true },
	// only the debug file is there
	{ KEEP "q && rm a.out", ".", "none", "/usr/bin/a.out", true },
	// a debug file of another build of the same name is not taken
	{ "mkdir -p r/bin && " STRIP " && echo 'int main() { return 1; }' > b.c && gcc -g -o a.dbg "
	  "b.c && objcopy --add-gnu-debuglink=a.dbg a.out && mv a.out a.dbg r/bin",
	  "", "r", "/bin/a.out", false },
	// without build ids the CRC decides
#define NO_ID "gcc -g -O1 -Wl,--build-id=none -o a.out a.c && cp a.out whole && mkdir -p r/bin && " \
	KEEP "a.dbg && " STRIP " && objcopy --add-gnu-debuglink=a.dbg a.out && mv a.out a.dbg r/bin"
	{ NO_ID, "", "r", "/bin/a.out", true },
	{ NO_ID " && echo >> r/bin/a.dbg", "", "r", "/bin/a.out", false },
	// compressed sections
	{ "objcopy --compress-debug-sections=zlib a.out", ".", "none", "/bin/a.out", true },
	{ "objcopy --compress-debug-sections=zlib-gnu a.out", ".", "none", "/bin/a.out", true },
	{ "objcopy --compress-debug-sections=zstd a.out", ".", "none", "/bin/a.out", true },
};

START_TEST(files_are_found)
{
	struct folder f;
	struct asked a;
	build(&f, found[_i].script);
	const struct fw_symbol_file *r = ask(&f, found[_i].below, found[_i].sysroot,
					     found[_i].recorded, &a);
	ck_assert_msg(r->status == FW_SYMBOLS_LOADED, "%s: %d %s", found[_i].script, r->status,
		      r->message);
	ck_assert_msg(has_lines(r->image) == found[_i].lines, "%s", found[_i].script);
	done(&f, &a);
}
END_TEST

static const struct {
	const char *script, *below, *sysroot, *recorded;
	enum fw_symbol_status status;
	const char *message;
} refused[] = {
	{ "rm a.out", ".", "none", "/bin/a.out", FW_SYMBOLS_MISSING, "" },
	{ "mkdir -p r && mv a.out r", "", "none", "/r/../r/a.out", FW_SYMBOLS_MISSING, "" },
	{ "mkdir -p r/bin && echo 'int main() { return 1; }' > b.c && gcc -o r/bin/a.out b.c "
	  "-Wl,--build-id=0x000102030405060708090a0b0c0d0e0f && rm a.out", "", "r", "/bin/a.out",
	  FW_SYMBOLS_MISMATCH,
	  "its build id gives id 03020100050407060809" "0A0B0C0D0E0F0, the module has id " },
	{ "mv a.out q && truncate -s 70 q", ".", "none", "/bin/a.out", FW_SYMBOLS_MISSING, "" },
	// a file at the module's place that cannot be it is named with its reason
	{ "echo text > a.out", ".", "none", "/bin/a.out", FW_SYMBOLS_CORRUPT, "not an ELF file" },
	{ "truncate -s 60 a.out", ".", "none", "/bin/a.out", FW_SYMBOLS_CORRUPT,
	  "offset 0x0: broken ELF header" },
	{ "truncate -s 100 a.out", ".", "none", "/bin/a.out", FW_SYMBOLS_CORRUPT,
	  "it has no build id and no code that one could be made of" },
	{ "mkdir -p r/bin && truncate -s 100 a.out && mv a.out r/bin", "", "r", "/bin/a.out",
	  FW_SYMBOLS_CORRUPT, "it has no build id and no code that one could be made of" },
	{ "printf '\\4\\0' | dd of=a.out bs=1 seek=16 conv=notrunc 2>/dev/null", ".", "none",
	  "/bin/a.out", FW_SYMBOLS_CORRUPT, "an ELF file, but no program, library or object" },
	// one with the module's id too, whatever its name
	{ KEEP "q && strip -g -R .symtab q && strip q && rm a.out", ".", "none", "/bin/a.out",
	  FW_SYMBOLS_CORRUPT, "it has the module's id, but neither code nor debug information nor "
	  "symbols" },
	{ "mv a.out q && printf '\\7' | dd of=q bs=1 seek=6 conv=notrunc 2>/dev/null", ".",
	  "none", "/bin/a.out", FW_SYMBOLS_CORRUPT, "offset 0x0: broken ELF header" },
};

START_TEST(other_files_are_not_taken)
{
	struct folder f;
	struct asked a;
	char want[256];
	build(&f, refused[_i].script);
	const struct fw_symbol_file *r = ask(&f, refused[_i].below, refused[_i].sysroot,
					     refused[_i].recorded, &a);
	ck_assert_int_eq(r->status, refused[_i].status);
	snprintf(want, sizeof(want), "%s%s", refused[_i].message,
		 refused[_i].status == FW_SYMBOLS_MISMATCH ? a.id.text : "");
	ck_assert_str_eq(r->message, want);
	done(&f, &a);
}
END_TEST

static const struct {
	const char *script, *kind;
	unsigned debug;			// the damaged one is the debug file
} cut[] = {
	{ "truncate -s -1 a.out", "the file", 0 },
	{ "truncate -s 5000 a.out", "the file", 0 },
	{ KEEP "a.dbg && " STRIP " && truncate -s -1 a.dbg", "its debug file", 1 },
};

START_TEST(a_file_that_was_cut_says_so)
{
	struct folder f;
	struct asked a;
	char want[256], command[4096];
	unsigned long long has = 0, needs = 0;
	build(&f, cut[_i].script);
	// the section headers stand last in what ld and objcopy write
	snprintf(command, sizeof(command), "cd '%s' && cp whole w && { [ %u = 0 ] || objcopy "
		 "--only-keep-debug w; } && stat -c %%s w %s", folder_path(&f, "."),
		 cut[_i].debug, cut[_i].debug ? "a.dbg" : "a.out");
	FILE *p = popen(command, "r");
	ck_assert_int_eq(fscanf(p, "%llu %llu", &needs, &has), 2);
	pclose(p);
	remove(folder_path(&f, "w"));
	const struct fw_symbol_file *r = ask(&f, ".", "none", "/bin/a.out", &a);
	ck_assert_int_eq(r->status, FW_SYMBOLS_LOADED);
	snprintf(want, sizeof(want), "%s is cut short or damaged: its headers name %llu bytes, it "
		 "has %llu", cut[_i].kind, needs, has);
	ck_assert_str_eq(r->message, want);
	ck_assert_uint_ge(r->image->diag.count[FW_DIAG_MALFORMED], 1);
	done(&f, &a);
}
END_TEST

START_TEST(a_section_that_does_not_unpack_is_counted)
{
	struct folder f;
	struct asked a;
	build(&f, "objcopy --compress-debug-sections=zlib a.out && off=$(readelf -SW a.out | "
	      "sed -n 's/.*\\.debug_info *PROGBITS *[0-9a-f]* *\\([0-9a-f]*\\).*/\\1/p') && "
	      "printf '\\377\\377\\377' | dd of=a.out bs=1 seek=$((0x$off + 40)) conv=notrunc "
	      "2>/dev/null");
	const struct fw_symbol_file *r = ask(&f, ".", "none", "/bin/a.out", &a);
	ck_assert_int_eq(r->status, FW_SYMBOLS_LOADED);
	ck_assert_uint_eq(r->image->diag.count[FW_DIAG_MALFORMED], 1);
	ck_assert(!has_lines(r->image));
	done(&f, &a);
}
END_TEST

/** z.sym for the module a.out, beside it. */
static void write_sym(struct folder *f)
{
	char text[256];
	struct fw_elf *elf;
	ck_assert_int_eq(fw_elf_open(folder_path(f, "whole"), &elf, NULL), FW_OK);
	snprintf(text, sizeof(text), "MODULE Linux x86_64 %s a.out\nPUBLIC 1 0 from_sym\n",
		 fw_elf_debug_id(elf)->text);
	fw_elf_close(elf);
	folder_write(f, "z.sym", text, strlen(text));
}

static const struct {
	const char *script, *below, *used;
} orders[] = {
	// in one folder the symbol file is asked first, else the first path wins
	{ "true", ".", "/z.sym" },
	{ "mkdir s && mv z.sym s && mkdir b && mv a.out b", "s:b", "/s/z.sym" },
	{ "mkdir s && mv z.sym s && mkdir b && mv a.out b", "b:s", "/b/a.out" },
	{ "mkdir s && mv z.sym s", "a.out:s", "/a.out" },
	{ "mkdir s && mv a.out s", "z.sym:s", "/z.sym" },
	{ "mkdir b && " KEEP "b/d && " STRIP " && mv a.out b", "b:z.sym", "/b/a.out" },
	// without source lines, or without code, an ELF file hides no symbol file
	{ STRIP " && mkdir b && mv a.out b", "b:z.sym", "/z.sym" },
	{ "mkdir b && " KEEP "b/d && rm a.out", "b:z.sym", "/z.sym" },
	// nor when it cannot be read
	{ "mkdir b && mv a.out b && truncate -s 2500 b/a.out", "b:z.sym", "/z.sym" },
};

START_TEST(the_first_path_wins)
{
	struct folder f;
	struct asked a;
	char command[512];
	build(&f, "true");
	write_sym(&f);
	snprintf(command, sizeof(command), "cd '%s' && %s", folder_path(&f, "."), orders[_i].script);
	ck_assert_int_eq(system(command), 0);
	const struct fw_symbol_file *r = ask(&f, orders[_i].below, "none", "/bin/a.out", &a);
	ck_assert_int_eq(r->status, FW_SYMBOLS_LOADED);
	const char *used = strlen(r->path) > strlen(orders[_i].used) ?
			   r->path + strlen(r->path) - strlen(orders[_i].used) : r->path;
	ck_assert_str_eq(used, orders[_i].used);
	done(&f, &a);
}
END_TEST

Suite *elf_search_suite(void)
{
	Suite *s = suite_create("elf_search");
	TCase *tc = tcase_create("elf_search");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, files_are_found, 0, sizeof(found) / sizeof(*found));
	tcase_add_loop_test(tc, other_files_are_not_taken, 0, sizeof(refused) / sizeof(*refused));
	tcase_add_loop_test(tc, a_file_that_was_cut_says_so, 0, sizeof(cut) / sizeof(*cut));
	tcase_add_test(tc, a_section_that_does_not_unpack_is_counted);
	tcase_add_loop_test(tc, the_first_path_wins, 0, sizeof(orders) / sizeof(*orders));
	suite_add_tcase(s, tc);
	return s;
}
