// profile_perf.c with address spaces of the test's own: process 100 has everything
// mapped, /opt/app in two pieces and JIT code at 0x500000; of process 101 nothing is known.
#include "tests/synth_profile.h"

#define fw_profile_write_perf synth_write_perf
#define fw_profile_address synth_address
#define fw_spaces_at synth_spaces_at
#define fw_space_find synth_space_find
#define fw_spaces_dso_at synth_spaces_dso_at

uint64_t synth_address(const struct fw_profile *p, uint32_t space,
		       const struct fw_profile_frame *frame);
const struct fw_space_view *synth_spaces_at(struct fw_spaces *s, uint32_t pid, uint64_t time);
const struct fw_mapping *synth_space_find(const struct fw_space_view *view, uint64_t address);
const struct fw_dso *synth_spaces_dso_at(const struct fw_spaces *s, uint32_t number);

uint64_t synth_address(const struct fw_profile *p, uint32_t space,
		       const struct fw_profile_frame *frame)
{
	return frame->pc + (frame->module < p->num_modules ? p->modules[frame->module].base : 0);
}

static const struct fw_mapping maps[] = {
	{ 0x400000, 0x402000, 0, 0, FW_MAP_KNOWN | FW_MAP_READ | FW_MAP_EXEC },
	{ 0x402000, 0x410000, 0x1800, 0, FW_MAP_KNOWN | FW_MAP_READ | FW_MAP_EXEC },
	{ 0x500000, 0x501000, 0, 1, FW_MAP_KNOWN | FW_MAP_READ | FW_MAP_EXEC },
	{ 0x7f0000000000, 0x7f0000200000, 0, 2, FW_MAP_KNOWN | FW_MAP_READ | FW_MAP_EXEC },
};

const struct fw_space_view *synth_spaces_at(struct fw_spaces *s, uint32_t pid, uint64_t time)
{
	static const struct fw_space_view view = { 3, 100, 0, UINT64_MAX, maps, 4 };
	static const struct fw_space_view empty = { 4, 101, 0, UINT64_MAX, maps, 0 };
	return pid == 100 ? &view : pid == 101 ? &empty : NULL;
}

const struct fw_mapping *synth_space_find(const struct fw_space_view *view, uint64_t address)
{
	for (uint32_t i = 0; i < view->num_maps; i++)
		if (address >= view->maps[i].start && address < view->maps[i].end)
			return &view->maps[i];
	return NULL;
}

const struct fw_dso *synth_spaces_dso_at(const struct fw_spaces *s, uint32_t number)
{
	static const struct fw_dso dsos[] = {
		{ 0, FW_DSO_FILE, FW_STR("/opt/app"), { 0 }, false },
		{ 1, FW_DSO_ANON, FW_STR("//anon"), { 0 }, false },
		{ 2, FW_DSO_FILE, FW_STR("/lib/libc.so.6"), { 0 }, false },
	};
	return &dsos[number];
}

#include "lib/report/profile_perf.c"
