#include "lib/snapshot/minidump.h"

#include <stdio.h>

enum { ANNOTATION_STRING = 1, SIMPLE_ENTRY = 8, OBJECT_ENTRY = 12, LIST_ENTRY = 4 };

/** Annotations of the process or of one module while they are gathered. */
struct gathered {
	struct md_reader *md;
	const char *what;
	uint32_t index;
	struct fw_annotation *list;
	uint32_t count, capacity;
};

// A MinidumpUTF8String or MinidumpByteArray: a length and that many bytes, viewed in place.
static bool counted_bytes(struct gathered *g, const char *field, uint32_t rva,
			  struct fw_str *ret)
{
	struct md_reader *md = g->md;
	uint32_t n;
	if (!fw_bytes_u32(&md->file, rva, &n) ||
	    !fw_bytes_has(&md->file, (uint64_t)rva + 4, n)) {
		md_note(md, g->what, g->index, "%s at offset 0x%x leaves the file", field, rva);
		return false;
	}
	*ret = (struct fw_str){
		(const char *)md->file.data + rva + 4, n < FW_MAX_NAME ? n : FW_MAX_NAME,
	};
	return true;
}

static void add(struct gathered *g, struct fw_str key, struct fw_str value)
{
	if (g->count < g->capacity)
		g->list[g->count++] = (struct fw_annotation){ key, value };
}

// The table at a location descriptor: its count of entries that are in the file.
static uint32_t table(struct gathered *g, const struct fw_bytes *b, uint64_t descriptor,
		      uint32_t entry, struct fw_bytes *ret)
{
	struct md_reader *md = g->md;
	uint32_t size = md_u32(b, descriptor), rva = md_u32(b, descriptor + 4), count;
	if (size == 0)
		return 0;
	if (!fw_bytes_range(&md->file, rva, size, ret) || !fw_bytes_u32(ret, 0, &count)) {
		md_note(md, g->what, g->index, "annotations at offset 0x%x leave the file", rva);
		return 0;
	}
	if (count > (size - 4) / entry) {
		md_note(md, g->what, g->index, "%u annotations promised, %u there are", count,
			(size - 4) / entry);
		count = (size - 4) / entry;
	}
	return count < FW_MAX_ANNOTATIONS ? count : FW_MAX_ANNOTATIONS;
}

static void add_simple(struct gathered *g, const struct fw_bytes *t, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct fw_str key, value;
		uint64_t at = 4 + (uint64_t)i * SIMPLE_ENTRY;
		if (counted_bytes(g, "annotation key", md_u32(t, at), &key) &&
		    counted_bytes(g, "annotation value", md_u32(t, at + 4), &value))
			add(g, key, value);
	}
}

static void add_list(struct gathered *g, const struct fw_bytes *t, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct fw_str value;
		if (counted_bytes(g, "annotation", md_u32(t, 4 + (uint64_t)i * LIST_ENTRY),
				  &value))
			add(g, (struct fw_str){ NULL, 0 }, value);
	}
}

// What is not text is shown as the first bytes in hex.
static struct fw_str hex_value(struct md_reader *md, struct fw_str bytes)
{
	enum { MOST = 32 };
	char text[2 * MOST + 3] = "0x";
	size_t n = bytes.n < MOST ? bytes.n : MOST;
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 + 2 * i, 3, "%02x", (uint8_t)bytes.s[i]);
	return md_strdup(md, text, 2 + 2 * n);
}

static void add_objects(struct gathered *g, const struct fw_bytes *t, uint32_t count)
{
	for (uint32_t i = 0; i < count && !g->md->no_memory; i++) {
		struct fw_str name, value;
		uint64_t at = 4 + (uint64_t)i * OBJECT_ENTRY;
		if (!counted_bytes(g, "annotation name", md_u32(t, at), &name) ||
		    !counted_bytes(g, "annotation value", md_u32(t, at + 8), &value))
			continue;
		if (md_u16(t, at + 4) == ANNOTATION_STRING)
			value.n = strnlen(value.s, value.n);
		else
			value = hex_value(g->md, value);
		add(g, name, value);
	}
}

static bool reserve(struct gathered *g, uint64_t count)
{
	g->capacity = (uint32_t)count;
	g->list = md_array(g->md, count, sizeof(*g->list));
	return g->list != NULL;
}

// MinidumpModuleCrashpadInfo: version, list, simple and (newer) object annotations.
static void read_module_info(struct md_reader *md, uint32_t link, uint32_t module,
			     const struct fw_bytes *b)
{
	struct gathered g = { .md = md, .what = "Crashpad module", .index = link };
	struct fw_bytes lists, simple, objects;
	uint32_t num_lists = table(&g, b, 4, LIST_ENTRY, &lists);
	uint32_t num_simple = table(&g, b, 12, SIMPLE_ENTRY, &simple);
	uint32_t num_objects = b->size >= 28 ? table(&g, b, 20, OBJECT_ENTRY, &objects) : 0;
	uint64_t total = (uint64_t)num_lists + num_simple + num_objects;
	if (!total || !reserve(&g, total))
		return;
	add_list(&g, &lists, num_lists);
	add_simple(&g, &simple, num_simple);
	add_objects(&g, &objects, num_objects);
	md->s->modules[module].annotations = g.list;
	md->s->modules[module].num_annotations = g.count;
}

static void read_module_links(struct md_reader *md, const struct fw_bytes *info)
{
	enum { LINK_SIZE = 12, MODULE_LIST = 44, NEEDED = 20 };
	struct gathered g = { .md = md, .what = "CrashpadInfo", .index = MD_NO_INDEX };
	struct fw_bytes links, b;
	uint32_t count = table(&g, info, MODULE_LIST, LINK_SIZE, &links);
	for (uint32_t i = 0; i < count && !md->no_memory; i++) {
		uint64_t at = 4 + (uint64_t)i * LINK_SIZE;
		uint32_t entry = md_u32(&links, at), rva = md_u32(&links, at + 8);
		uint32_t module = entry < md->num_module_entries ?
			md->module_of_entry[entry] : MD_NO_INDEX;
		if (module == MD_NO_INDEX) {
			md_note(md, "Crashpad module", i, "there is no module %u", entry);
		} else if (!fw_bytes_range(&md->file, rva, md_u32(&links, at + 4), &b) ||
			   b.size < NEEDED) {
			md_note(md, "Crashpad module", i, "record at offset 0x%x leaves the file",
				rva);
		} else if (!md->s->modules[module].annotations) {
			read_module_info(md, i, module, &b);
		}
	}
}

// 32 lower-case hex digits; all zero means none.
static void read_uuid(const struct fw_bytes *b, uint64_t offset, struct fw_ident *ret)
{
	uint32_t data1 = md_u32(b, offset);
	uint16_t data2 = md_u16(b, offset + 4), data3 = md_u16(b, offset + 6);
	uint8_t sum = 0;
	char *p = ret->text;
	p += snprintf(p, 17, "%08x%04x%04x", data1, data2, data3);
	for (uint64_t i = 8; i < 16; i++) {
		p += snprintf(p, 3, "%02x", b->data[offset + i]);
		sum |= b->data[offset + i];
	}
	ret->n = 32;
	if (!data1 && !data2 && !data3 && !sum)
		*ret = (struct fw_ident){ 0 };
}

void md_read_crashpad(struct md_reader *md)
{
	enum { SIZE = 52, REPORT_ID = 4, CLIENT_ID = 20, SIMPLE = 36 };
	struct fw_snapshot *s = md->s;
	struct gathered g = { .md = md, .what = "CrashpadInfo", .index = MD_NO_INDEX };
	struct fw_bytes b, simple;
	if (!md_stream(md, MD_CRASHPAD_INFO, &b))
		return;
	if (b.size < SIZE) {
		md_note(md, "CrashpadInfo", MD_NO_INDEX, "the stream is too short");
		return;
	}
	read_uuid(&b, REPORT_ID, &s->crashpad_report_id);
	read_uuid(&b, CLIENT_ID, &s->crashpad_client_id);
	uint32_t count = table(&g, &b, SIMPLE, SIMPLE_ENTRY, &simple);
	if (count && reserve(&g, count)) {
		add_simple(&g, &simple, count);
		s->annotations = g.list;
		s->num_annotations = g.count;
	}
	read_module_links(md, &b);
}
