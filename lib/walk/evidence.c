#include "lib/walk/walker.h"

uint64_t fw_walk_code_address(const struct fw_walker *w, uint64_t value)
{
	value &= w->cpu->word_mask;
	if (w->cpu->id == FW_CPU_ARM)
		return value & ~UINT64_C(1);
	if ((value & ~w->pac_mask) != 0 &&
	    fw_snapshot_module(w->snapshot, value & w->pac_mask) != NULL)
		return value & w->pac_mask;
	return value;
}

/** A function's first byte is never where a call returns to. */
static bool starts_function(struct fw_walker *w, uint32_t module, uint64_t address)
{
	uint64_t base = w->snapshot->modules[module].base, offset = address - base;
	if (w->entry_size != 0 && address == w->entry)
		return true;
	if (offset > UINT32_MAX)
		return false;
	const struct fw_image *image = fw_walk_names(w, module, (uint32_t)offset);
	if (image == NULL)
		return false;
	const struct fw_func *func = fw_image_func(image, (uint32_t)offset);
	if (func != NULL)
		return func->entry == offset;
	const struct fw_public *public = fw_image_public(image, (uint32_t)offset);
	return public != NULL && public->start == offset;
}

enum fw_evidence fw_walk_evidence(struct fw_walker *w, uint64_t value)
{
	uint8_t code[8];
	bool thumb = w->cpu->id == FW_CPU_ARM && (value & 1);
	uint64_t address = fw_walk_code_address(w, value);
	if (address < 4096)
		return FW_EVIDENCE_NONE;
	struct fw_place place = fw_walk_locate(w, address - w->cpu->call_back);
	const bool made = fw_walk_is_made(w, place);
	if ((place.module == FW_NO_MODULE && !made) || place.exec == FW_EXEC_NO)
		return FW_EVIDENCE_NONE;
	// A call to a function that never returns may be its function's last
	// instruction, so a call seen also supports the next function's start.
	// Calls are 2 to 7 bytes long on x86; near the start of readable memory
	// fewer bytes than the longest may be there.
	for (unsigned n = w->arch->call_bytes; n >= 2; n--) {
		if (!fw_walk_code(w, address - n, code, n))
			continue;
		if (w->arch->call_before(code, n, thumb))
			return FW_EVIDENCE_CALL;
		return FW_EVIDENCE_NO_CALL;
	}
	return !made && starts_function(w, place.module, address) ? FW_EVIDENCE_NONE :
								   FW_EVIDENCE_UNVERIFIED;
}

bool fw_walk_call_target(struct fw_walker *w, uint64_t value, uint64_t *ret)
{
	uint8_t code[8];
	unsigned n = w->arch->call_bytes;
	bool thumb = w->cpu->id == FW_CPU_ARM && (value & 1);
	uint64_t address = fw_walk_code_address(w, value);
	while (n >= 4 && !fw_walk_code(w, address - n, code, n))
		n--;
	if (n < 4 || !w->arch->call_target(code, n, thumb, address, ret))
		return false;
	*ret &= w->cpu->word_mask;
	return true;
}

static bool is_stub(struct fw_walker *w, uint64_t address, bool *ret_known)
{
	uint8_t code[16];
	*ret_known = fw_walk_code(w, address, code, sizeof(code));
	return *ret_known && w->arch->is_stub(code, sizeof(code));
}

bool fw_walk_leads_here(struct fw_walker *w, uint64_t address)
{
	uint64_t target, start, callee;
	bool known;
	if (w->frame.module == FW_NO_MODULE || !fw_walk_call_target(w, address, &target))
		return true;
	const struct fw_module_info *mine = &w->snapshot->modules[w->frame.module];
	bool same = fw_snapshot_module(w->snapshot, target) == mine;
	// A program does not call its own functions through stubs; a library may.
	if (is_stub(w, target, &known))
		return !(same && mine->is_main);
	if (!same)
		return !known;
	if (fw_walk_function(w, w->frame.lookup, &callee).s != NULL &&
	    fw_walk_function(w, target, &start).s != NULL)
		return callee == start;
	return target <= w->frame.pc;
}

bool fw_walk_alien_record(struct fw_walker *w, enum fw_evidence evidence, uint64_t value)
{
	uint64_t address = fw_walk_code_address(w, value) - w->cpu->call_back;
	if (evidence == FW_EVIDENCE_CALL)
		return true;
	if (fw_walk_is_made(w, fw_walk_locate(w, w->frame.lookup)))
		return false;
	return w->frame.module == FW_NO_MODULE ||
	       fw_snapshot_module(w->snapshot, address) !=
	       &w->snapshot->modules[w->frame.module];
}
