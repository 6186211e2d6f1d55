#ifndef FW_REPORT_TEXT_INTERNAL_H
#define FW_REPORT_TEXT_INTERNAL_H

#include "lib/report/report.h"

// text_fold.c: what repeats.

/** From a frame on, @p period frames come @p times times in a row (at least 3). */
struct fw_fold { uint32_t period, times; };

enum { FW_FOLD_PERIOD = 8 };	// longest recursion that is recognised
#define FW_FOLD_END UINT32_MAX

/**
 * Does a recursion start with frame @p at? The period that covers most frames
 * wins, the shortest of those. Two frames are equal when their addresses and
 * their trust are.
 */
bool fw_fold_at(const struct fw_frame *frames, uint32_t n, uint32_t at, struct fw_fold *ret);

/**
 * Group the threads by stack: leader[i] is the first thread with the stack of
 * thread i (i itself, when it is the first), next[i] the next one after i or
 * FW_FOLD_END. Thread @p except (-1: none) is alone always. Both arrays have
 * room for all threads.
 */
void fw_fold_threads(const struct fw_report *r, int64_t except, uint32_t *leader, uint32_t *next);

struct fw_text_writer {
	struct fw_report *r;
	const struct fw_text_options *o;
	struct fw_out *out;
	struct fw_out cell;		// memory: one cell before it is padded
	struct fw_report_frame f;	// the frame being printed
};

// text_style.c

enum fw_style { FW_STYLE_TITLE, FW_STYLE_BAD, FW_STYLE_NAME, FW_STYLE_DIM };
void fw_text_style(struct fw_text_writer *t, enum fw_style style);
void fw_text_style_end(struct fw_text_writer *t);
/** Columns that valid UTF-8 takes: code points, wide characters are not known. */
size_t fw_text_width(const char *s, size_t n);
void fw_text_pad(struct fw_text_writer *t, size_t from, size_t to);
/** Decimal with commas: 1,968. */
void fw_text_count(struct fw_out *o, uint64_t v);
void fw_text_safe(struct fw_out *o, struct fw_str s);

// text_modules.c
void fw_text_modules(struct fw_text_writer *t);

// text_head.c
void fw_text_head(struct fw_text_writer *t);
void fw_text_notes(struct fw_text_writer *t);

#endif
