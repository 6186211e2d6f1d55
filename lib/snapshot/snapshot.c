#include "lib/snapshot/snapshot.h"

#include <stdio.h>

static bool is_elf(const uint8_t *data, uint64_t size)
{
	return size >= 4 && !memcmp(data, "\177ELF", 4);
}

static bool is_minidump(const uint8_t *data, uint64_t size)
{
	return size >= 4 && (!memcmp(data, "MDMP", 4) || !memcmp(data, "PMDM", 4));
}

bool fw_snapshot_sniff(const uint8_t *data, size_t size)
{
	enum { EI_DATA = 5, LITTLE = 1, E_TYPE = 16, ET_CORE = 4 };
	if (is_elf(data, size) && size >= E_TYPE + 2) {
		unsigned low = data[EI_DATA] == LITTLE ? E_TYPE : E_TYPE + 1;
		return data[low] == ET_CORE && data[low ^ 1] == 0;
	}
	return is_minidump(data, size);
}

enum fw_code fw_snapshot_read(const uint8_t *data, uint64_t size, struct fw_snapshot **ret,
			      struct fw_error *err)
{
	if (size == 0)
		return fw_fail(err, FW_UNSUPPORTED, NULL, "the file is empty");
	if (is_minidump(data, size))
		return fw_minidump_read(data, size, ret, err);
	if (is_elf(data, size))
		return fw_core_read(data, size, ret, err);
	return fw_fail(err, FW_UNSUPPORTED, "offset 0x0", "not a capture of a known format");
}

void fw_snapshot_destroy(struct fw_snapshot *s)
{
	if (!s)
		return;
	// The snapshot lies in its own arena.
	struct fw_arena arena = s->arena;
	fw_arena_deinit(&arena);
}

const struct fw_module_info *fw_snapshot_module(const struct fw_snapshot *s, uint64_t address)
{
	uint32_t lo = 0, hi = s->num_mapped;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->modules[s->mapped[mid]].base <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	const struct fw_module_info *m = &s->modules[s->mapped[lo - 1]];
	return address - m->base < m->size ? m : NULL;
}

const struct fw_region *fw_snapshot_region(const struct fw_snapshot *s, uint64_t address)
{
	uint32_t lo = 0, hi = s->num_regions;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->regions[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	const struct fw_region *r = &s->regions[lo - 1];
	return address < r->end ? r : NULL;
}

const char *fw_os_name(const struct fw_snapshot *s, char buffer[16])
{
	switch (s->os) {
	case FW_OS_WINDOWS:
		// 1 is Windows 95, 98 and Me.
		return s->os_raw == 1 ? "Windows" : "Windows NT";
	case FW_OS_MACOS:
		return "Mac OS X";
	case FW_OS_IOS:
		return "iOS";
	case FW_OS_LINUX:
		return "Linux";
	case FW_OS_SOLARIS:
		return "Solaris";
	case FW_OS_ANDROID:
		return "Android";
	case FW_OS_PS3:
		return "PS3";
	case FW_OS_NACL:
		return "NaCl";
	case FW_OS_FUCHSIA:
		return "Fuchsia";
	case FW_OS_UNKNOWN:
		break;
	}
	snprintf(buffer, 16, "0x%08x", s->os_raw);
	return buffer;
}

void fw_snapshot_vnote(struct fw_snapshot *s, const char *what, uint32_t index,
		       const char *format, va_list args)
{
	if (s->num_notes < FW_MAX_SNAPSHOT_NOTES) {
		struct fw_snapshot_note *note = &s->notes[s->num_notes];
		if (index == FW_NO_NOTE_INDEX)
			snprintf(note->place, sizeof(note->place), "%s", what);
		else
			snprintf(note->place, sizeof(note->place), "%s %u", what, index);
		vsnprintf(note->message, sizeof(note->message), format, args);
	}
	if (s->num_notes < UINT32_MAX)
		s->num_notes++;
}
