#include "lib/snapshot/minidump.h"

// MINIDUMP_HANDLE_DATA_STREAM with MINIDUMP_HANDLE_DESCRIPTOR (32 bytes) or
// _2 (40 bytes, whose chained object information is not read).
void md_read_handles(struct md_reader *md)
{
	enum { HEADER = 16, NEEDED = 32 };
	struct fw_snapshot *s = md->s;
	struct fw_bytes b;
	if (!md_stream(md, MD_HANDLE_DATA, &b))
		return;
	uint32_t header = md_u32(&b, 0), entry = md_u32(&b, 4), count = md_u32(&b, 8);
	if (header < HEADER || entry < NEEDED || header > b.size) {
		md_note(md, "HandleData", MD_NO_INDEX, "the header makes no sense");
		return;
	}
	uint64_t here = (b.size - header) / entry;
	if (here > FW_MAX_REGIONS)
		here = FW_MAX_REGIONS;
	if (here < count) {
		md_note(md, "HandleData", MD_NO_INDEX, "%u entries promised, %llu read", count,
			(unsigned long long)here);
		count = (uint32_t)here;
	}
	s->handles = md_array(md, count, sizeof(*s->handles));
	if (!s->handles)
		return;
	s->have_handles = true;
	for (uint32_t i = 0; i < count && !md->no_memory; i++) {
		uint64_t at = header + (uint64_t)i * entry;
		struct fw_handle_info *h = &s->handles[s->num_handles++];
		uint32_t type_rva = md_u32(&b, at + 8), name_rva = md_u32(&b, at + 12);
		h->handle = md_u64(&b, at);
		if (type_rva)
			h->type_name = md_string(md, "handle", i, "type name", type_rva);
		if (name_rva)
			h->object_name = md_string(md, "handle", i, "object name", name_rva);
	}
}

// Mozilla: stream type again, then a 64-bit offset of the text.
void md_read_mac(struct md_reader *md)
{
	struct fw_bytes b;
	uint64_t rva;
	if (!md_stream(md, MD_MOZ_MAC_BOOT_ARGS, &b) || !fw_bytes_u64(&b, 4, &rva))
		return;
	md->s->mac_boot_args = md_string(md, "MozMacosBootArgs", MD_NO_INDEX, "text", rva);
}
