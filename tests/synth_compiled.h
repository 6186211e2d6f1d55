#ifndef FW_TESTS_SYNTH_COMPILED_H
#define FW_TESTS_SYNTH_COMPILED_H

#include "symfiles/elf_image.h"

/** Programs with debug information, compiled while the tests run. */
struct recipe {
	const char *compiler;	// gcc, g++, clang, clang++
	const char *flags;
	const char *after;	// shell command run in the folder on ./prog; NULL: none
	bool unit_reader;	// libdwarf can read it too
	enum { ORACLE_ALL, ORACLE_PLACE, ORACLE_NONE } oracle;	// what addr2line 2.40 gets right
};

extern const struct recipe recipes[];
extern const unsigned num_recipes;

struct compiled {
	char dir[64], path[80];
	struct fw_elf *elf;
	struct fw_elf *dwo[16];
	unsigned num_dwo;
	struct fw_elf_files files;
};

/** False: the compiler or a tool is not here; said on standard output. */
bool compiled_make(struct compiled *c, const struct recipe *recipe);
void compiled_remove(struct compiled *c);

/** Image of the bulk reader, checked. */
struct fw_image *compiled_image(struct compiled *c);

#endif
