#include "lib/report/shared.h"

struct fw_str fw_report_os_build(const struct fw_snapshot *s)
{
	struct fw_text t = { s->os_build.s, s->os_build.s + s->os_build.n };
	struct fw_str word;
	if (!s->os_version_from_build || !fw_text_token(&t, &word) || !fw_text_token(&t, &word))
		return s->os_build;
	fw_text_skip_blanks(&t);
	return (struct fw_str){ t.p, (size_t)(t.end - t.p) };
}
