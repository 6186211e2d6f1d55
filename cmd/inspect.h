#ifndef FW_CMD_INSPECT_H
#define FW_CMD_INSPECT_H

#include "lib/base/out.h"
#include "lib/snapshot/snapshot.h"

/** A capture as `framewalk inspect` shows it. */
struct fw_inspect {
	const char *path;
	uint64_t size;		// bytes, unpacked
	bool compressed;
	const struct fw_snapshot *snapshot;
	unsigned digits;	// of an address: 8 or 16
	char reason[128];	// "" when nothing was recorded
	uint64_t crash_address;
};

void fw_inspect_write_text(const struct fw_inspect *in, struct fw_out *out);
void fw_inspect_write_json(const struct fw_inspect *in, bool pretty, struct fw_out *out);

/** A perf.data file or folder, told by its first bytes. */
bool fw_inspect_is_recording(const char *path);
/** Everything is read once and counted. Nothing is written when it fails. */
FW_MUST_CHECK enum fw_code fw_inspect_recording(const char *path, bool json, bool pretty,
						struct fw_out *out, struct fw_error *err);

/** "r-x" of region permissions, "?" when unknown. */
const char *fw_inspect_permissions(const struct fw_region *region, char buffer[4]);

#endif
