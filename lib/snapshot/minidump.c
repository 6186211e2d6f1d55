#include "lib/snapshot/minidump.h"

#include <stdarg.h>
#include <stdio.h>

enum { HEADER_SIZE = 32, DIRECTORY_ENTRY = 12, VERSION = 0xa793 };

static const struct stream_kind {
	uint32_t type;
	const char *name;
	bool used;
} stream_kinds[] = {
	{ 0, "Unused", false },
	{ 1, "Reserved0", false },
	{ 2, "Reserved1", false },
	{ MD_THREAD_LIST, "ThreadList", true },
	{ MD_MODULE_LIST, "ModuleList", true },
	{ MD_MEMORY_LIST, "MemoryList", true },
	{ MD_EXCEPTION, "Exception", true },
	{ MD_SYSTEM_INFO, "SystemInfo", true },
	{ MD_THREAD_EX_LIST, "ThreadExList", true },
	{ MD_MEMORY64_LIST, "Memory64List", true },
	{ 10, "CommentA", false },
	{ 11, "CommentW", false },
	{ MD_HANDLE_DATA, "HandleData", true },
	{ 13, "FunctionTable", false },
	{ MD_UNLOADED_MODULE_LIST, "UnloadedModuleList", true },
	{ MD_MISC_INFO, "MiscInfo", true },
	{ MD_MEMORY_INFO_LIST, "MemoryInfoList", true },
	{ 17, "ThreadInfoList", false },
	{ 18, "HandleOperationList", false },
	{ 19, "Token", false },
	{ 20, "JavaScriptData", false },
	{ 21, "SystemMemoryInfo", false },
	{ 22, "ProcessVmCounters", false },
	{ 23, "IptTrace", false },
	{ MD_THREAD_NAMES, "ThreadNames", true },
	{ MD_CRASHPAD_INFO, "CrashpadInfo", true },
	{ MD_BREAKPAD_INFO, "BreakpadInfo", true },
	{ MD_ASSERTION_INFO, "AssertionInfo", true },
	{ MD_LINUX_CPU_INFO, "LinuxCpuInfo", true },
	{ MD_LINUX_PROC_STATUS, "LinuxProcStatus", true },
	{ MD_LINUX_LSB_RELEASE, "LinuxLsbRelease", true },
	{ MD_LINUX_CMD_LINE, "LinuxCmdLine", true },
	{ 0x47670007, "LinuxEnviron", false },
	{ MD_LINUX_AUXV, "LinuxAuxv", true },
	{ MD_LINUX_MAPS, "LinuxMaps", true },
	{ 0x4767000a, "LinuxDsoDebug", false },
	{ 0x4b6b0002, "ChromiumStabilityReport", false },
	{ 0x4d7a0001, "MozMacosCrashInfo", false },
	{ MD_MOZ_MAC_BOOT_ARGS, "MozMacosBootArgs", true },
	{ MD_MOZ_LINUX_LIMITS, "MozLinuxLimits", true },
	{ 0x4d7a0004, "MozSoftErrors", false },
};

static const struct stream_kind *stream_kind(uint32_t type)
{
	for (size_t i = 0; i < sizeof(stream_kinds) / sizeof(stream_kinds[0]); i++) {
		if (stream_kinds[i].type == type)
			return &stream_kinds[i];
	}
	return NULL;
}

void md_note(struct md_reader *md, const char *what, uint32_t index, const char *format, ...)
{
	struct fw_snapshot *s = md->s;
	va_list args;
	va_start(args, format);
	fw_snapshot_vnote(s, what, index, format, args);
	va_end(args);
}

void *md_array(struct md_reader *md, uint64_t count, size_t size)
{
	void *p = fw_arena_array(&md->s->arena, count ? count : 1, size);
	if (!p)
		md->no_memory = true;
	return p;
}

struct fw_str md_strdup(struct md_reader *md, const char *s, size_t n)
{
	char *copy = fw_arena_strndup(&md->s->arena, s, n);
	if (!copy) {
		md->no_memory = true;
		return (struct fw_str){ NULL, 0 };
	}
	return (struct fw_str){ copy, n };
}

// Index of the stream in force, or -1. Of several the last was chosen by read_directory().
static int find_stream(const struct md_reader *md, uint32_t type)
{
	for (uint32_t i = md->s->num_streams; i-- > 0;) {
		if (md->s->streams[i].type == type)
			return (int)i;
	}
	return -1;
}

bool md_stream(struct md_reader *md, uint32_t type, struct fw_bytes *ret)
{
	int i = find_stream(md, type);
	if (i < 0)
		return false;
	const struct fw_stream_info *info = &md->s->streams[i];
	uint64_t offset = info->offset < md->file.size ? info->offset : md->file.size;
	uint64_t rest = md->file.size - offset;
	return fw_bytes_range(&md->file, offset, info->size < rest ? info->size : rest, ret);
}

bool md_counted_list(struct md_reader *md, uint32_t type, const char *what,
		     uint32_t entry_size, uint32_t limit, struct md_list *ret)
{
	struct fw_bytes b;
	uint32_t count;
	if (!md_stream(md, type, &b))
		return false;
	*ret = (struct md_list){ .bytes = b, .first = 4, .entry_size = entry_size };
	if (!fw_bytes_u32(&b, 0, &count)) {
		md_note(md, what, MD_NO_INDEX, "the list is too short for a count");
		ret->cut = true;
		return true;
	}
	uint64_t size = md->s->streams[find_stream(md, type)].size;
	uint64_t wanted = (uint64_t)count * entry_size;
	if (size == wanted + 8)
		ret->first = 8;
	uint64_t here = b.size < ret->first ? 0 : (b.size - ret->first) / entry_size;
	ret->count = count;
	if (here < count) {
		md_note(md, what, MD_NO_INDEX, "the list promises %u entries and holds %llu",
			count, (unsigned long long)here);
		ret->count = (uint32_t)here;
		ret->cut = true;
	}
	if (ret->count > limit) {
		md_note(md, what, MD_NO_INDEX, "%u entries, only the first %u are read",
			ret->count, limit);
		ret->count = limit;
		ret->cut = true;
	}
	return true;
}

struct fw_bytes md_entry(const struct md_list *list, uint32_t i)
{
	struct fw_bytes entry = { list->bytes.data, 0, list->bytes.swap };
	if (!fw_bytes_range(&list->bytes, list->first + (uint64_t)i * list->entry_size,
			    list->entry_size, &entry))
		entry.size = 0;
	return entry;
}

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

// Unicode standard 3.9, D91; a lone surrogate becomes U+FFFD.
static uint32_t get_utf16(const struct fw_bytes *b, uint64_t end, uint64_t *offset)
{
	uint32_t c = md_u16(b, *offset);
	*offset += 2;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c < 0xdc00 && *offset + 2 <= end) {
		uint32_t low = md_u16(b, *offset);
		if (low >= 0xdc00 && low <= 0xdfff) {
			*offset += 2;
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return 0xfffd;
}

struct fw_str md_utf16(struct md_reader *md, const struct fw_bytes *b, uint64_t offset,
		       uint64_t units)
{
	uint64_t n = 0;
	while (n < units && fw_bytes_has(b, offset + n * 2, 2) && md_u16(b, offset + n * 2))
		n++;
	uint64_t end = offset + n * 2;
	// A unit takes at most 3 bytes of UTF-8.
	char *out = md_array(md, n * 3 + 1, 1);
	if (!out)
		return (struct fw_str){ NULL, 0 };
	size_t length = 0;
	while (offset < end)
		length += put_utf8(out + length, get_utf16(b, end, &offset));
	return (struct fw_str){ out, length };
}

struct fw_str md_string(struct md_reader *md, const char *what, uint32_t index,
			const char *field, uint64_t rva)
{
	struct fw_str none = { NULL, 0 };
	uint32_t length;
	if (!fw_bytes_u32(&md->file, rva, &length) ||
	    !fw_bytes_has(&md->file, rva + 4, length)) {
		md_note(md, what, index, "%s at offset 0x%llx leaves the file", field,
			(unsigned long long)rva);
		return none;
	}
	if (length > FW_MAX_NAME) {
		md_note(md, what, index, "%s of %u bytes is cut to %u", field, length,
			FW_MAX_NAME);
		length = FW_MAX_NAME;
	}
	// Entries that share one long name would otherwise multiply it.
	uint64_t cost = 2 * (uint64_t)length + 64;
	if (cost > md->string_budget) {
		md_note(md, what, index, "%s is left out: the names are larger than the file",
			field);
		return none;
	}
	md->string_budget -= cost;
	return md_utf16(md, &md->file, rva + 4, length / 2);
}

struct fw_str md_cstring(const struct fw_bytes *b, uint64_t offset)
{
	if (offset >= b->size)
		return (struct fw_str){ NULL, 0 };
	uint64_t n = b->size - offset;
	if (n > FW_MAX_NAME)
		n = FW_MAX_NAME;
	const char *s = (const char *)b->data + offset;
	return (struct fw_str){ s, strnlen(s, n) };
}

// Keeps every entry for `inspect`; an entry that a later one replaces is marked unused.
static void read_directory(struct md_reader *md, uint64_t offset, uint32_t count)
{
	struct fw_snapshot *s = md->s;
	if (count > FW_MAX_STREAMS) {
		md_note(md, "stream directory", MD_NO_INDEX,
			"%u streams, only the first %u are read", count, FW_MAX_STREAMS);
		count = FW_MAX_STREAMS;
	}
	uint64_t here = (md->file.size - offset) / DIRECTORY_ENTRY;
	if (here < count) {
		md_note(md, "stream directory", MD_NO_INDEX,
			"%u streams promised, %llu in the file", count, (unsigned long long)here);
		count = (uint32_t)here;
	}
	s->streams = md_array(md, count, sizeof(*s->streams));
	if (!s->streams)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t at = offset + (uint64_t)i * DIRECTORY_ENTRY;
		struct fw_stream_info info = {
			.type = md_u32(&md->file, at),
			.size = md_u32(&md->file, at + 4),
			.offset = md_u32(&md->file, at + 8),
		};
		const struct stream_kind *kind = stream_kind(info.type);
		info.name = kind ? kind->name : NULL;
		info.used = kind && kind->used;
		int before = kind && kind->type ? find_stream(md, info.type) : -1;
		if (before >= 0) {
			md_note(md, "stream", (uint32_t)before, "a later %s replaces it",
				kind->name);
			s->streams[before].used = false;
		}
		if (info.used && !fw_bytes_has(&md->file, info.offset, info.size))
			md_note(md, "stream", i, "%s at offset 0x%llx leaves the file", info.name,
				(unsigned long long)info.offset);
		s->streams[i] = info;
		s->num_streams = i + 1;
	}
}

static enum fw_code read_header(struct md_reader *md, struct fw_error *err)
{
	struct fw_bytes *f = &md->file;
	if (f->size < HEADER_SIZE)
		return fw_fail(err, FW_MALFORMED, "offset 0x0",
			       "the minidump header is cut off: %llu of %d bytes",
			       (unsigned long long)f->size, HEADER_SIZE);
	md->s->big_endian = !memcmp(f->data, "PMDM", 4);
	f->swap = md->s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint32_t version = md_u32(f, 4) & 0xffff;	// the upper half is the writer's own
	if (version != VERSION)
		return fw_fail(err, FW_UNSUPPORTED, "offset 0x4",
			       "minidump version 0x%04x is not known", version);
	md->s->timestamp = md_u32(f, 20);
	uint32_t count = md_u32(f, 8), rva = md_u32(f, 12);
	if (rva >= f->size) {
		char place[32];
		snprintf(place, sizeof(place), "offset 0x%x", rva);
		return fw_fail(err, FW_MALFORMED, place,
			       "the stream directory is not in the file");
	}
	read_directory(md, rva, count);
	return FW_OK;
}

static enum fw_code read_all(struct md_reader *md, struct fw_error *err)
{
	static void (*const readers[])(struct md_reader *) = {
		md_read_misc_info, md_read_thread_names, md_read_modules,
		md_read_unloaded_modules, md_read_memory, md_read_exception,
		md_read_last_errors, md_read_regions, md_read_linux, md_read_crashpad,
		md_read_handles, md_read_mac,
	};
	enum fw_code code = read_header(md, err);
	if (code != FW_OK)
		return code;
	if (!md->no_memory && !md_read_system_info(md) && !md->no_memory)
		return fw_fail(err, FW_MALFORMED, NULL, "the minidump has no SystemInfo stream");
	if (!md->no_memory && !md_read_threads(md) && !md->no_memory)
		return fw_fail(err, FW_MALFORMED, NULL, "the minidump has no ThreadList stream");
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]) && !md->no_memory; i++)
		readers[i](md);
	if (md->no_memory)
		return fw_fail(err, FW_NO_MEMORY, NULL, "no memory to read the minidump");
	return FW_OK;
}

enum fw_code fw_minidump_read(const uint8_t *data, uint64_t size, struct fw_snapshot **ret,
			      struct fw_error *err)
{
	// The greatest growth is a thread list's: 48 bytes an entry become a struct
	// fw_thread_info, 13 times as much. No file needs more than this.
	struct fw_arena arena;
	fw_arena_init(&arena, size > UINT64_MAX / 64 ? 0 : 32 * size + (1 << 20));
	struct fw_snapshot *s = fw_arena_array(&arena, 1, sizeof(*s));
	if (!s) {
		fw_arena_deinit(&arena);
		return fw_fail(err, FW_NO_MEMORY, NULL, "no memory to read the minidump");
	}
	s->arena = arena;
	s->format = "minidump";
	s->cpu = fw_cpu_get(FW_CPU_UNKNOWN);
	s->crashing_thread = -1;
	struct md_reader md = {
		.file = { data, size, false },
		.s = s,
		.string_budget = size > UINT64_MAX / 64 ? UINT64_MAX : 4 * size + 65536,
	};
	enum fw_code code = read_all(&md, err);
	if (code != FW_OK)
		fw_snapshot_destroy(s);
	else
		*ret = s;
	return code;
}
