#ifndef FW_SYMFILES_BREAKPAD_LOADER_H
#define FW_SYMFILES_BREAKPAD_LOADER_H

#include "lib/image/builder.h"
#include "symfiles/breakpad.h"
#include "symfiles/inline_lay.h"

/** State of one .sym being read; private to symfiles/breakpad*.c. */

/** A line record of the current function, once they turned out not to ascend. */
struct fw_sym_span {
	uint32_t start, end, line, file;
};

/** INFO FUNC_ENTRY: the FUNC at start is a part of the function that begins at entry. */
struct fw_sym_func_entry {
	uint32_t start, entry;
};

/** A distinct text of STACK CFI rules. */
struct fw_sym_rules {
	uint32_t first, count;	// in fw_sym_loader.rules
	uint32_t init_row;	// row of an INIT with this text, 0: not yet asked for
	bool failed;		// some rule of it cannot be evaluated
	bool malformed;		// what follows those rules is no rule
	bool signal;		// of a signal trampoline, as our writer says it
};

/** A distinct STACK WIN program string. */
struct fw_sym_win_program {
	uint32_t program;
	bool aligns, failed;
};

struct fw_sym_row_memo {	// (row, rules) -> row
	uint64_t key;		// 0: free
	uint32_t row;
};

enum fw_sym_func {
	FW_SYM_NO_FUNC,		// line records are orphans
	FW_SYM_IN_FUNC,
	FW_SYM_DROPPED_FUNC,	// line records die with their function
};

enum {
	FW_SYM_ENTRY_NAMES = 12,
	FW_SYM_RECENT = 1024,
};

struct fw_sym_loader {
	struct fw_builder *b;
	const struct fw_cpu *cpu;	// NULL: rules cannot be read
	uint32_t line_no;		// of the line at hand, 1-based
	enum fw_code failed;		// the load is over
	bool old_inlines;		// form of the last INLINE: without the call site's file

	// the current function
	enum fw_sym_func in_func;
	bool lines_ascend;		// its lines so far went straight into the image
	uint32_t func_end;
	uint32_t line_end;		// where the last line ends
	FW_VEC(struct fw_sym_span) spans;
	struct fw_inline_lay lay;
	FW_VEC(struct fw_sym_func_entry) func_entries;	// INFO FUNC_ENTRY, ascending

	// STACK CFI
	struct fw_intern rule_texts;
	uint32_t recent[FW_SYM_RECENT];	// ids of texts seen lately, by a cheap hash
	FW_VEC(struct fw_sym_rules) rule_sets;	// by string id
	FW_VEC(struct fw_rule) rules;
	FW_VEC(struct fw_cfi_init) inits;
	FW_VEC(struct fw_cfi_delta) deltas;
	struct fw_sym_row_memo *memo;
	uint32_t memo_mask, memo_count;

	uint32_t entry_ids[FW_SYM_ENTRY_NAMES];	// of functions that nothing calls

	// STACK WIN
	struct fw_intern win_texts;
	FW_VEC(struct fw_sym_win_program) win_programs;	// by string id
};

static inline void fw_sym_bad(struct fw_sym_loader *l, enum fw_diag_kind kind)
{
	fw_diag_add(&l->b->diag, kind, l->line_no);
}

/** Next number after blanks, which must end at a blank or at the end of the line. */
static inline bool fw_sym_hex(struct fw_text *t, uint64_t *ret)
{
	fw_text_skip_blanks(t);
	return fw_text_hex(t, ret) && (t->p == t->end || fw_is_blank(*t->p));
}

static inline bool fw_sym_dec(struct fw_text *t, uint64_t *ret)
{
	fw_text_skip_blanks(t);
	return fw_text_dec(t, ret) && (t->p == t->end || fw_is_blank(*t->p));
}

/** The rest of the line behind blanks. False when there is none. */
static inline bool fw_sym_rest(struct fw_text *t, struct fw_str *ret)
{
	fw_text_skip_blanks(t);
	*ret = (struct fw_str){ t->p, (size_t)(t->end - t->p) };
	return ret->n != 0;
}

/** Skip the optional `m` of FUNC and PUBLIC: only a first field can be one. */
static inline void fw_sym_skip_m(struct fw_text *t)
{
	fw_text_skip_blanks(t);
	if (t->end - t->p >= 2 && t->p[0] == 'm' && fw_is_blank(t->p[1]))
		t->p++;
}

/** [start, start + size) as an image can hold it: not empty, below 4 GiB. */
static inline bool fw_sym_range(uint64_t start, uint64_t size, uint32_t *ret_end)
{
	if (size == 0 || start > UINT32_MAX || size > UINT32_MAX - start)
		return false;
	*ret_end = (uint32_t)(start + size);
	return true;
}

// All take what stands behind the record's word, without the line's end.
void fw_sym_func(struct fw_sym_loader *l, struct fw_text t);
void fw_sym_inline(struct fw_sym_loader *l, struct fw_text t);
void fw_sym_line(struct fw_sym_loader *l, struct fw_text t);
void fw_sym_stack(struct fw_sym_loader *l, struct fw_text t);
void fw_sym_stack_win(struct fw_sym_loader *l, struct fw_text t);

/**
 * Take the plain line records of the current function that begin at @p text, which
 * lies before @p end in text whose last byte is a line feed. Stops at the first
 * line that needs a closer look, or at @p end; returns where.
 */
const char *fw_sym_line_run(struct fw_sym_loader *l, const char *text, const char *end);

/** The same for INLINE records, which begin with their word. */
const char *fw_sym_inline_run(struct fw_sym_loader *l, const char *text, const char *end);

/** The same for STACK CFI records; the text, which goes on to @p end, ends with a line feed. */
const char *fw_sym_cfi_run(struct fw_sym_loader *l, const char *p, const char *stop,
			   const char *end);

/** Id of the rules of a STACK CFI record, counted if bad. False: the load is over. */
bool fw_sym_rule_text(struct fw_sym_loader *l, struct fw_str text, uint32_t *ret);
/** Row of an INIT with these rules; what rules make of a row. Row 0: past FW_MAX_CFI_ROWS. */
enum fw_code fw_sym_init_row(struct fw_sym_loader *l, uint32_t rules, uint32_t *ret);
enum fw_code fw_sym_next_row(struct fw_sym_loader *l, uint32_t from, uint32_t rules,
			     uint32_t *ret);

/** The INLINEs gathered for a function become the image's. */
void fw_sym_end_inlines(struct fw_sym_loader *l, struct fw_func *f);

/** The current function ends here; what follows is an orphan unless told otherwise. */
void fw_sym_end_func(struct fw_sym_loader *l);

/** Read everything: rows, STACK WIN ranges, and where CFI bounds a PUBLIC. */
void fw_sym_finish_stack(struct fw_sym_loader *l);
enum fw_code fw_sym_finish_win(struct fw_sym_loader *l);
void fw_sym_free_stack(struct fw_sym_loader *l);
/** A row under construction, by id. */
void fw_sym_get_row(const struct fw_sym_loader *l, uint32_t row, struct fw_row *ret);
/** Find the ids of functions that nothing calls, while strings can be looked up. */
void fw_sym_find_entries(struct fw_sym_loader *l);
/** Flag the rows of functions that nothing calls; @p ranges: the INITs, laid flat. */
enum fw_code fw_sym_flag_entries(struct fw_sym_loader *l, const struct fw_span *ranges, uint32_t n);

#endif
