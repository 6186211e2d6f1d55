#include "symfiles/elf_mini.h"

#include <lzma.h>
#include <string.h>

enum { FIRST_OUTPUT = 1 << 20 };

/** All streams of @p b, one after another; false: damaged, or past a limit. */
static bool unpack(const struct fw_bytes *b, struct fw_pages *out)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret status = LZMA_OK;
	if (lzma_stream_decoder(&s, FW_MAX_XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return false;
	s.next_in = b->data;
	s.avail_in = b->size;
	while (status == LZMA_OK) {
		if (out->size == out->capacity &&
		    (out->size >= FW_MAX_MINI ||
		     !fw_pages_reserve(out, out->size ? out->size * 2 : FIRST_OUTPUT)))
			break;
		s.next_out = out->data + out->size;
		s.avail_out = out->capacity - out->size;
		status = lzma_code(&s, LZMA_FINISH);
		out->size = out->capacity - s.avail_out;
	}
	lzma_end(&s);
	return status == LZMA_STREAM_END;
}

bool fw_mini_open(struct fw_elf *elf, struct fw_mini *ret)
{
	struct fw_bytes b;
	return fw_elf_section(elf, ".gnu_debugdata", &b, NULL) && unpack(&b, &ret->pages) &&
	       fw_elf_open_bytes(ret->pages.data, ret->pages.size, &ret->elf, NULL) == FW_OK;
}

void fw_mini_close(struct fw_mini *mini)
{
	fw_elf_close(mini->elf);
	fw_pages_deinit(&mini->pages);
	*mini = (struct fw_mini){ 0 };
}
