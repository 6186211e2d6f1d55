#ifndef FW_TESTS_SYNTH_SYM_H
#define FW_TESTS_SYNTH_SYM_H

#include "symfiles/breakpad.h"

#define AMD64 "MODULE Linux x86_64 34E0DBEBEE9EFA94A1B8B0BCFF308D490 app\n"
#define X86 "MODULE windows x86 5A9832E5287241C1838ED98914E9B7FF1 app.pdb\n"
#define ORIGINS "FILE 0 a.c\nFILE 1 b.c\nFILE 2 c.c\n" \
	"INLINE_ORIGIN 0 foo\nINLINE_ORIGIN 1 bar\nINLINE_ORIGIN 2 baz(int, char)\n"
#define RULES ".cfa: $rsp 8 + .ra: .cfa -8 + ^"

/** Image of symbol file text, checked by fw_image_check(); the test fails if there is none. */
struct fw_image *synth_sym(const char *text);
struct fw_image *synth_sym_bytes(const char *text, size_t n);

/**
 * What an image says, as text in one of eight buffers that take turns:
 * synth_name	"main+4", "-" when nothing names the offset
 * synth_line	"a.c:12@1000" (where the record starts), "-"
 * synth_calls	"outer<-a.c:3 inner<-?:7": inlined function, line of its call; "" when none
 * synth_rules	rules as Breakpad writes them, "-" when none; flags in brackets
 * synth_win	"type 4 1000+20", "-"
 * synth_diag	"malformed 1 (3) orphan 2 (4 5)": counts and line numbers; ""
 */
const char *synth_name(const struct fw_image *image, uint32_t offset);
const char *synth_line(const struct fw_image *image, uint32_t offset);
const char *synth_calls(const struct fw_image *image, uint32_t offset);
const char *synth_rules(const struct fw_image *image, uint32_t offset);
const char *synth_win(const struct fw_image *image, uint32_t offset);
const char *synth_diag(const struct fw_image *image);

/** The image as a block (malloc'ed, 8-aligned) through fw_image_write(). */
void *synth_block(const struct fw_image *image, uint64_t *ret_size);

#endif
