#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symfiles/elf_image.h"
#include "symfiles/elf_internal.h"
#include "tests/synth_folder.h"

Suite *elf_symtab_suite(void);

// Labels, sizes and aliases by hand; `nm -S` shows the same.
static const char ASM[] =
	"	.text\n	.globl _start\n"
	"_start:\n	nop\n	ret\n"				// size 0: up to the next
	"	.p2align 4\n"
	"	.globl sized\n	.type sized, @function\n"
	"	.weak sized_weak\n	.set sized_weak, sized\n	.type sized_weak, @function\n"
	"	.type sized_local, @function\n	.set sized_local, sized\n"
	"sized:\n	nop\n	nop\n"
	"label_inside:\n	nop\n	ret\n	.size sized, .-sized\n"
	"	.size sized_weak, 4\n	.size sized_local, 4\n"
	"	.p2align 4\n"
	"	.globl _ZN3foo3barEi\n	.type _ZN3foo3barEi, @function\n"
	"_ZN3foo3barEi:\n	ret\n	.size _ZN3foo3barEi, .-_ZN3foo3barEi\n"
	"	.p2align 4\n"
	"	.globl resolver\n	.type resolver, @gnu_indirect_function\n"
	"resolver:\n	ret\n	.size resolver, 1\n"
	"	.data\n	.globl data\n	.type data, @object\ndata: .quad 1\n	.size data, 8\n";

static void run(struct folder *f, const char *script)
{
	char command[1024];
	snprintf(command, sizeof(command), "cd '%s' && %s", folder_path(f, "."), script);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static struct fw_builder *symbols_of(struct folder *f, const char *name, struct fw_elf **ret)
{
	struct fw_builder *b;
	ck_assert_int_eq(fw_elf_open(folder_path(f, name), ret, NULL), FW_OK);
	struct fw_elf_files files = { .elf = *ret };
	ck_assert_int_eq(fw_builder_create(&b, NULL), FW_OK);
	ck_assert_int_eq(fw_elf_symbols_into(&files, b, NULL), FW_OK);
	return b;
}

/** Index of the public of that name; fails the test when there is none and @p must. */
static const struct fw_public *find(const struct fw_builder *b, const char *name)
{
	for (size_t i = 0; i < b->publics.count; i++) {
		struct fw_str s = fw_intern_get(&b->strings, b->publics.data[i].name);
		if (s.n == strlen(name) && memcmp(s.s, name, s.n) == 0)
			return &b->publics.data[i];
	}
	return NULL;
}

START_TEST(sizes_aliases_and_labels)
{
	struct folder f;
	struct fw_elf *elf;
	folder_make(&f);
	folder_write(&f, "a.s", ASM, strlen(ASM));
	run(&f, "gcc -nostdlib -static -o a.out a.s");
	struct fw_builder *b = symbols_of(&f, "a.out", &elf);
	const struct fw_public *start = find(b, "_start"), *sized = find(b, "sized"),
			       *cxx = find(b, "foo::bar(int)"), *ifunc = find(b, "resolver");
	ck_assert(start && sized && cxx && ifunc);
	ck_assert_uint_eq(sized->start, start->start + 16);
	ck_assert_uint_ge(start->end, sized->start);	// its own end is not known
	ck_assert_uint_eq(sized->end, sized->start + 4);
	ck_assert_uint_eq(cxx->end, cxx->start + 1);
	ck_assert_uint_eq(ifunc->end, ifunc->start + 1);
	ck_assert_ptr_null(find(b, "sized_weak"));	// the global one is the name
	ck_assert_ptr_null(find(b, "sized_local"));
	ck_assert_ptr_null(find(b, "label_inside"));
	ck_assert_ptr_null(find(b, "data"));
	ck_assert_ptr_null(find(b, "__bss_start"));
	fw_builder_destroy(b);
	fw_elf_close(elf);
	folder_remove(&f);
}
END_TEST

static const char *const plt_flags[] = {
	"", "-Wl,-z,now", "-fcf-protection=none", "-Wl,-z,now -fcf-protection=none",
	"-Wl,-z,lazy -Wl,-z,ibtplt -fcf-protection=full", "-no-pie -Wl,-z,lazy",
	"-m32 -nostdlib -shared -fPIC -Wl,-z,lazy", "-m32 -nostdlib -shared -fPIC -Wl,-z,now",
};

// Truth: where the first call of main goes to, as objdump names it.
START_TEST(stubs_have_the_names_of_what_they_call)
{
	static const char source[] =
		"extern int first_one(int), getenv_like(const char *);\n"
		"int main(void) { return first_one(1) + getenv_like(\"\") * 2; }\n";
	static const char library[] = "int first_one(int x) { return x; }\n"
				      "int getenv_like(const char *s) { return *s; }\n";
	struct folder f;
	struct fw_elf *elf;
	char script[1024];
	folder_make(&f);
	folder_write(&f, "a.c", source, strlen(source));
	folder_write(&f, "b.c", library, strlen(library));
	const char *own = strstr(plt_flags[_i], "-m32") ? "-m32 -nostdlib" : "";
	snprintf(script, sizeof(script),
		 "gcc %s -shared -fPIC -o libb.so b.c && gcc -O0 %s -o a.out a.c ./libb.so && strip a.out",
		 own, plt_flags[_i]);
	run(&f, script);
	run(&f, "objdump -d --no-show-raw-insn a.out | sed -n "
		"'s/^0*\\([0-9a-f]*\\) <\\(.*@plt\\)>:$/\\1 \\2/p' > truth");
	struct fw_builder *b = symbols_of(&f, "a.out", &elf);
	FILE *truth = fopen(folder_path(&f, "truth"), "r");
	unsigned long long address;
	char name[256];
	unsigned n = 0;
	while (fscanf(truth, "%llx %255s", &address, name) == 2) {
		const struct fw_public *p = find(b, name);
		if (strchr(name, '*') != NULL)	// *ABS*+0x...: a resolver without a name
			continue;
		ck_assert_msg(p != NULL, "%s", name);
		bool hit = false;
		for (size_t i = 0; i < b->publics.count; i++)
			hit |= b->publics.data[i].start == address - fw_elf_base(elf) &&
			       b->publics.data[i].name == p->name;
		ck_assert_msg(hit, "%s at %#llx", name, address);
		n++;
	}
	fclose(truth);
	ck_assert_uint_ge(n, 2);
	fw_builder_destroy(b);
	fw_elf_close(elf);
	folder_remove(&f);
}
END_TEST

START_TEST(no_section_headers)
{
	static const char source[] = "int exported(int x) { return x * 3; }\n";
	struct folder f;
	struct fw_elf *elf;
	folder_make(&f);
	folder_write(&f, "a.c", source, strlen(source));
	run(&f, _i ? "gcc -shared -Wl,--hash-style=sysv -o a.so a.c" :
		     "gcc -shared -Wl,--hash-style=gnu -o a.so a.c");
	// e_shoff, e_shnum and e_shstrndx
	run(&f, "printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=a.so bs=1 seek=40 conv=notrunc 2> /dev/null && "
		"printf '\\0\\0\\0\\0' | dd of=a.so bs=1 seek=60 conv=notrunc 2> /dev/null");
	struct fw_builder *b = symbols_of(&f, "a.so", &elf);
	ck_assert_uint_eq(elf->sections.count, 0);
	ck_assert_ptr_nonnull(find(b, "exported"));
	fw_builder_destroy(b);
	fw_elf_close(elf);
	folder_remove(&f);
}
END_TEST

static const struct { const char *method; bool zdebug; } packings[] = {
	{ "zlib", false }, { "zlib-gnu", true }, { "zstd", false },
};

START_TEST(sections_are_unpacked)
{
	static const char source[] = "int main(void) { return 0; }\n";
	struct folder f;
	struct fw_elf *plain, *packed;
	struct fw_bytes a, b;
	char script[256];
	folder_make(&f);
	folder_write(&f, "a.c", source, strlen(source));
	snprintf(script, sizeof(script), "gcc -g3 -o plain a.c && objcopy "
		 "--compress-debug-sections=%s plain packed", packings[_i].method);
	run(&f, script);
	ck_assert_int_eq(fw_elf_open(folder_path(&f, "plain"), &plain, NULL), FW_OK);
	ck_assert_int_eq(fw_elf_open(folder_path(&f, "packed"), &packed, NULL), FW_OK);
	for (unsigned twice = 0; twice < 2; twice++) {
		ck_assert(fw_elf_section(plain, ".debug_macro", &a, NULL));
		ck_assert(fw_elf_section(packed, ".debug_macro", &b, NULL));
		ck_assert_uint_eq(a.size, b.size);
		ck_assert_mem_eq(a.data, b.data, a.size);
	}
	// hostile: each stated size that is wrong costs the section and no memory
	for (size_t i = 0; i < packed->sections.count; i++) {
		const struct fw_elf_shdr *sh = &packed->sections.data[i];
		uint64_t at = sh->offset + (packings[_i].zdebug ? 4 : 8);
		if (!(sh->flags & (1 << 11)) && !(sh->name.n > 2 && sh->name.s[1] == 'z'))
			continue;
		fw_elf_drop_unpacked(packed);
		uint8_t *bytes = (uint8_t *)packed->file.data + at;
		for (unsigned k = 0; k < 8; k++) {
			uint8_t was = bytes[k];
			bytes[k] ^= 0x40;
			ck_assert(!fw_elf_section_bytes(packed, i, &b));
			fw_elf_drop_unpacked(packed);
			bytes[k] = was;
		}
		ck_assert(fw_elf_section_bytes(packed, i, &b));
	}
	fw_elf_close(plain);
	fw_elf_close(packed);
	folder_remove(&f);
}
END_TEST

Suite *elf_symtab_suite(void)
{
	Suite *s = suite_create("elf_symtab");
	TCase *tc = tcase_create("elf_symtab");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, sizes_aliases_and_labels);
	tcase_add_loop_test(tc, stubs_have_the_names_of_what_they_call, 0,
			    sizeof(plt_flags) / sizeof(*plt_flags));
	tcase_add_loop_test(tc, no_section_headers, 0, 2);
	tcase_add_loop_test(tc, sections_are_unpacked, 0, sizeof(packings) / sizeof(*packings));
	suite_add_tcase(s, tc);
	return s;
}
