#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symfiles/elf_internal.h"
#include "tests/synth_compiled.h"

#define ALL(compiler, flags) \
	{ compiler, flags " -gdwarf-2", NULL, true, ORACLE_ALL }, \
	{ compiler, flags " -gdwarf-4", NULL, true, ORACLE_ALL }

// ORACLE_PLACE: binutils reads neither DW_FORM_rnglistx nor ranges that count from
// DW_AT_GNU_ranges_base, so it does not see calls that have them. ORACLE_NONE: it
// finds no line of a unit without ranges (strict DWARF 2), in gcc's 64-bit DWARF or
// behind gcc's DWARF 5 skeletons.
const struct recipe recipes[] = {
	ALL("gcc", "-O0"), ALL("gcc", "-O2"), ALL("clang", "-O2"),
	{ "gcc", "-O2 -gdwarf-3", NULL, true, ORACLE_ALL },
	{ "clang", "-O2 -gdwarf-3", NULL, true, ORACLE_ALL },
	{ "gcc", "-O0 -gdwarf-5", NULL, true, ORACLE_ALL },
	{ "gcc", "-O2 -gdwarf-5", NULL, true, ORACLE_ALL },
	{ "gcc", "-Os -gdwarf-5 -m32 -nostdlib -ffreestanding -DBARE", NULL, true, ORACLE_ALL },
	{ "gcc", "-O2 -gdwarf-2 -gstrict-dwarf", NULL, true, ORACLE_NONE },
	{ "gcc", "-O2 -gdwarf-5 -gdwarf64", NULL, true, ORACLE_NONE },
	{ "gcc", "-O2 -gdwarf-5 -fdebug-types-section", NULL, true, ORACLE_ALL },
	{ "gcc", "-O2 -gdwarf-4 -fdebug-types-section", NULL, true, ORACLE_ALL },
	{ "gcc", "-O2 -gdwarf-5 -flto", NULL, true, ORACLE_ALL },
	{ "gcc", "-O2 -gdwarf-5 -gz=zlib", NULL, true, ORACLE_ALL },
	{ "gcc", "-O2 -gdwarf-4 -gz=zlib-gnu", NULL, true, ORACLE_ALL },
	{ "gcc", "-O2 -gdwarf-5", "objcopy --compress-debug-sections=zstd prog", true,
	  ORACLE_ALL },
	{ "clang", "-O0 -gdwarf-5", NULL, true, ORACLE_ALL },
	{ "clang", "-O2 -gdwarf-5", NULL, true, ORACLE_PLACE },
	{ "clang", "-O2 -gdwarf-5 -gdwarf64", NULL, true, ORACLE_PLACE },
	{ "gcc", "-O2 -gdwarf-5 -gsplit-dwarf", NULL, true, ORACLE_NONE },
	{ "gcc", "-O2 -gdwarf-4 -gsplit-dwarf", NULL, true, ORACLE_PLACE },
	{ "clang", "-O2 -gdwarf-5 -gsplit-dwarf", NULL, true, ORACLE_PLACE },
	{ "clang", "-O2 -gdwarf-4 -gsplit-dwarf", NULL, true, ORACLE_PLACE },
	{ "gcc", "-O2 -gdwarf-4 -gsplit-dwarf", "dwp -e prog && rm *.dwo", false, ORACLE_PLACE },
	{ "clang", "-O2 -gdwarf-5 -gsplit-dwarf", "llvm-dwp-14 -e prog -o prog.dwp && rm *.dwo",
	  false, ORACLE_PLACE },
	{ "g++", "-O2 -gdwarf-3", NULL, true, ORACLE_ALL },
	{ "g++", "-O0 -gdwarf-5", NULL, true, ORACLE_ALL },
	{ "g++", "-O2 -gdwarf-5 -ffunction-sections -Wl,--gc-sections", NULL, true, ORACLE_ALL },
	{ "clang++", "-O2 -gdwarf-4", NULL, true, ORACLE_ALL },
	{ "clang++", "-O2 -gdwarf-5 -ffunction-sections -Wl,--gc-sections", NULL, true,
	  ORACLE_PLACE },
	{ "clang++", "-O2 -gmlt -gdwarf-4", NULL, true, ORACLE_ALL },
};
const unsigned num_recipes = sizeof(recipes) / sizeof(*recipes);

static const char source_c[] =
	"#ifndef BARE\n#include <stdio.h>\n#include <stdlib.h>\n#else\n"
	"#define abort __builtin_trap\n#define printf(...) 3\n#endif\n"
	"#include \"part.h\"\n"
	"static inline __attribute__((always_inline)) int cube(int x)\n"
	"{\n\tif (x > 3)\n\t\treturn printf(\"%d\", x);\n\treturn square(x) * x;\n}\n"
	"static inline __attribute__((always_inline)) int sum(int x)\n"
	"{\n\tint s = 0;\n\tfor (int i = 0; i < x; i++) {\n\t\tint k = cube(i);\n\t\ts += k;\n\t}\n"
	"\treturn s;\n}\n"
	"__attribute__((noinline)) int cold(int a)\n"
	"{\n\tint b = sum(a);\n\tif (__builtin_expect(b > 1000, 0)) {\n"
	"\t\tprintf(\"%d\", a);\n\t\tabort();\n\t}\n\treturn b + cube(a);\n}\n"
	"static __attribute__((noinline)) int local(int a, int b)\n"
	"{\n\treturn sum(a) - sum(b);\n}\n"
	"int unused(int a)\n{\n\treturn cube(a) + 7;\n}\n"
	"#ifdef BARE\nint _start(void)\n{\n\treturn cold(3) + local(2, 3) + other(4);\n}\n#else\n"
	"int main(int c, char **v)\n{\n\treturn cold(c) + sum(c * 2) + local(c, 3) + other(c);\n}\n"
	"#endif\n";

static const char source_part[] =
	"static inline __attribute__((always_inline)) int square(int x)\n{\n\treturn x * x;\n}\n"
	"int other(int x);\n";

static const char source_other[] =
	"#include \"part.h\"\nint other(int x)\n{\n\tint s = 0;\n\twhile (x-- > 0)\n"
	"\t\ts += square(x);\n\treturn s;\n}\n";

static const char source_cc[] =
	"#include <algorithm>\n#include <cstdio>\n#include <map>\n#include <string>\n"
	"#include <vector>\nextern \"C\" {\n#include \"part.h\"\n}\n"
	"namespace ns {\ntemplate<class T> struct S {\n\tT v;\n\tS(T x) : v(x) {}\n"
	"\t~S() { if (v == 77) puts(\"x\"); }\n\tint f(int);\n};\n"
	"template<class T> int S<T>::f(int a)\n{\n\tstd::vector<int> q;\n"
	"\tfor (int i = 0; i < a; i++)\n\t\tq.push_back(i * v);\n"
	"\tstd::sort(q.begin(), q.end());\n\treturn q[a / 2];\n}\n"
	"namespace {\nint hidden(int a)\n{\n\tstd::map<int, std::string> m;\n"
	"\tfor (int i = 0; i < a; i++)\n\t\tm[i] = std::to_string(i);\n\treturn m.size();\n}\n}\n"
	"}\nstruct B { virtual int z(int); virtual ~B(); };\n"
	"int B::z(int a) { return a; }\nB::~B() {}\n"
	"int main(int c, char **v)\n{\n"
	"\tauto l = [&](int k) { std::string s(v[0]); s += std::to_string(k); return (int)s.size(); };\n"
	"\tstruct L { static __attribute__((noinline)) int m(int a) { return printf(\"%d\", a); } };\n"
	"\tns::S<int> s(c);\n"
	"\ttry { return l(c) + s.f(c) + ns::hidden(c) + L::m(c) + other(c); }\n"
	"\tcatch (...) { return B().z(1); }\n}\n";

static void put(const struct compiled *c, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", c->dir, name);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static struct fw_elf *open_dwo(void *context, struct fw_str dir, struct fw_str name)
{
	struct compiled *c = context;
	char path[512];
	struct fw_error err;
	if (name.n == 0)
		snprintf(path, sizeof(path), "%s.dwp", c->path);
	else
		snprintf(path, sizeof(path), "%.*s/%.*s", (int)dir.n, dir.s, (int)name.n, name.s);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ck_assert_uint_lt(c->num_dwo, sizeof(c->dwo) / sizeof(*c->dwo));
	enum fw_code code = fw_elf_open_fd(fd, &c->dwo[c->num_dwo], &err);
	close(fd);
	return code ? NULL : c->dwo[c->num_dwo++];
}

bool compiled_make(struct compiled *c, const struct recipe *recipe)
{
	char command[1024];
	struct fw_error err;
	bool cxx = strstr(recipe->compiler, "++") != NULL;
	memset(c, 0, sizeof(*c));
	strcpy(c->dir, "/tmp/fw-compiled-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(c->dir));
	snprintf(c->path, sizeof(c->path), "%s/prog", c->dir);
	put(c, cxx ? "main.cc" : "main.c", cxx ? source_cc : source_c);
	put(c, "part.h", source_part);
	put(c, "other.c", source_other);
	snprintf(command, sizeof(command),
		 "cd %s && { %s %s -c main.%s && %s %s -c -o other.o -x c other.c && "
		 "%s %s -o prog main.o other.o; } 2>log && { %s; } 2>>log",
		 c->dir, recipe->compiler, recipe->flags, cxx ? "cc" : "c",
		 recipe->compiler, recipe->flags, recipe->compiler, recipe->flags,
		 recipe->after ? recipe->after : "true");
	if (system(command) || fw_elf_open(c->path, &c->elf, &err)) {
		printf("skipped: %s %s%s%s\n", recipe->compiler, recipe->flags,
		       recipe->after ? " && " : "", recipe->after ? recipe->after : "");
		compiled_remove(c);
		return false;
	}
	c->files = (struct fw_elf_files){ .elf = c->elf, .open_dwo = open_dwo, .context = c };
	return true;
}

void compiled_remove(struct compiled *c)
{
	char command[128];
	fw_elf_close(c->elf);
	for (unsigned i = 0; i < c->num_dwo; i++)
		fw_elf_close(c->dwo[i]);
	snprintf(command, sizeof(command), "rm -rf %s", c->dir);
	ck_assert_int_eq(system(command), 0);
}

struct fw_image *compiled_image(struct compiled *c)
{
	struct fw_builder *b;
	struct fw_image *image;
	struct fw_error err = { 0 };
	ck_assert_int_eq(fw_builder_create(&b, &err), FW_OK);
	enum fw_code code = fw_dwarf_into(&c->files, b, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	ck_assert_int_eq(fw_builder_freeze(b, &image, &err), FW_OK);
	code = fw_image_check(image, &err);
	ck_assert_msg(code == FW_OK, "%s", err.message);
	return image;
}
