#include "lib/walk/walker.h"

static bool named_trampoline(struct fw_walker *w)
{
	static const char *const names[] = {
		"__restore_rt", "__restore", "__default_rt_sa_restorer",
		"__default_sa_restorer", "__kernel_rt_sigreturn", "__kernel_sigreturn",
		"__restore_rt_frame", "_sigtramp",
	};
	uint64_t start;
	// By the exact pc: a handler returns to the trampoline's first byte, and
	// one before it lies another function or none.
	struct fw_str name = fw_walk_function(w, w->frame.pc, &start);
	if (name.s == NULL || start != w->frame.pc)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == name.n && memcmp(names[i], name.s, name.n) == 0)
			return true;
	return false;
}

bool fw_walk_is_trampoline(struct fw_walker *w, const struct fw_rule *rules)
{
	uint8_t code[16];
	enum fw_os os = w->snapshot->os;
	if (os == FW_OS_WINDOWS || os == FW_OS_MACOS || os == FW_OS_IOS)
		return false;	// the layouts here are Linux's
	if (fw_walk_is_context(w))
		return false;
	if (fw_walk_code(w, w->frame.pc, code, w->arch->trampoline_bytes))
		return w->arch->is_trampoline(code, w->arch->trampoline_bytes);
	if (rules != NULL && (rules[0].flags & (FW_ROW_RA_IN_PC | FW_ROW_SIGNAL)))
		return true;
	return named_trampoline(w);
}
