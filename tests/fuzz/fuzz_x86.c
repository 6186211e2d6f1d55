// Hostile code bytes: the first two say which place is asked for, in which mode.
#include <stdlib.h>

#include "lib/walk/x86_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_x86_frame f;
	struct fw_x86_insn in;
	if (size < 2 || size > 8192)
		return 0;
	const bool wide = data[0] & 1, exact = data[0] & 2;
	const uint32_t wanted = (uint32_t)(data[0] >> 2) << 8 | data[1];
	data += 2;
	size -= 2;
	if (fw_x86_decode(data, size, wide, &in) && (in.length == 0 || in.length > size))
		abort();
	if (fw_x86_frame_at(data, (uint32_t)size, wanted, exact, wide, &f) &&
	    ((!f.sp_known && !f.bp_known) || (f.sp_known && f.sp < (wide ? 8 : 4))))
		abort();
	return 0;
}
