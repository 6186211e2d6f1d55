#ifndef FW_REPORT_PROFILE_TEXT_H
#define FW_REPORT_PROFILE_TEXT_H

#include "lib/report/profile.h"

/** What the writers of samples call things; each writes nothing else. */

static inline bool fw_profile_is_inlined(const struct fw_profile_frame *f, uint32_t line)
{
	return line + 1 < f->num_lines;
}

static inline const struct fw_profile_module *fw_profile_module(const struct fw_profile *p,
								const struct fw_profile_frame *f)
{
	return f->module < p->num_modules ? &p->modules[f->module] : NULL;
}

/**
 * Name of line @p line of a frame as it stands, or for want of one its module's in
 * brackets, "[unknown]", "[truncated]". Returned text may point into @p scratch,
 * which is overwritten.
 */
struct fw_str fw_profile_function(const struct fw_profile *p, const struct fw_profile_frame *f,
				  uint32_t line, struct fw_out *scratch);

/**
 * A frame of a folded stack: control bytes and bad UTF-8 as \xNN, ';' as ':', and no
 * blank before digits at the end, which would read as a count.
 */
void fw_folded_name(struct fw_out *out, const char *s, size_t n);
/** A thread as the first frame of a folded stack: blanks as '_', "-pid/tid" where known. */
void fw_folded_thread(struct fw_out *out, const struct fw_profile_thread *thread);

/** As it is, but for bytes that are not UTF-8: U+FFFD. */
void fw_profile_utf8(struct fw_out *out, struct fw_str s);

/** True when stacks of more than one event are there: writers then tell them apart. */
bool fw_profile_many_events(const struct fw_profile *p);
struct fw_str fw_profile_event_name(const struct fw_profile *p, uint32_t event);

#endif
