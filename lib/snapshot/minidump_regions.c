#include "lib/base/vec.h"
#include "lib/snapshot/minidump.h"

#include <stdlib.h>

struct ordered { struct fw_region region; uint32_t order; };

struct region_list {
	struct md_reader *md;
	FW_VEC(struct ordered) v;
	uint32_t overlaps;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	if (x->region.start != y->region.start)
		return x->region.start < y->region.start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static void add_region(struct region_list *l, struct fw_region r)
{
	struct ordered o = { r, (uint32_t)l->v.count };
	if (!fw_vec_push(&l->v, o))
		l->md->no_memory = true;
}

// Sorted and disjoint; where two overlap the one that starts first keeps its range.
static void finish(struct region_list *l, const char *what)
{
	struct md_reader *md = l->md;
	struct fw_snapshot *s = md->s;
	uint64_t end = 0;
	if (md->no_memory || !l->v.count)
		return;
	qsort(l->v.data, l->v.count, sizeof(*l->v.data), compare_ordered);
	s->regions = md_array(md, l->v.count, sizeof(*s->regions));
	for (size_t i = 0; i < l->v.count && !md->no_memory; i++) {
		struct fw_region r = l->v.data[i].region;
		if (r.start < end) {
			l->overlaps++;
			if (r.end <= end)
				continue;
			r.file_offset += end - r.start;
			r.start = end;
		}
		end = r.end;
		s->regions[s->num_regions++] = r;
	}
	if (l->overlaps)
		md_note(md, what, MD_NO_INDEX, "%u entries overlap earlier ones", l->overlaps);
}

// PAGE_* of winnt.h; one of the low eight bits is set.
static uint8_t permissions_of(uint32_t state, uint32_t protection)
{
	enum { MEM_COMMIT = 0x1000 };
	static const struct { uint8_t page, bits; } table[] = {
		{ 0x02, FW_PERM_READ },
		{ 0x04, FW_PERM_READ | FW_PERM_WRITE },
		{ 0x08, FW_PERM_READ | FW_PERM_WRITE },
		{ 0x10, FW_PERM_EXEC },
		{ 0x20, FW_PERM_EXEC | FW_PERM_READ },
		{ 0x40, FW_PERM_EXEC | FW_PERM_READ | FW_PERM_WRITE },
		{ 0x80, FW_PERM_EXEC | FW_PERM_READ | FW_PERM_WRITE },
	};
	uint8_t bits = FW_PERM_KNOWN;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (state == MEM_COMMIT && protection & table[i].page)
			bits |= table[i].bits;
	}
	return bits;
}

static bool read_memory_info(struct md_reader *md, struct region_list *l)
{
	enum { HEADER = 16, NEEDED = 40, MEM_FREE = 0x10000 };
	struct fw_bytes b;
	uint64_t count;
	if (!md_stream(md, MD_MEMORY_INFO_LIST, &b))
		return false;
	uint32_t header = md_u32(&b, 0), entry = md_u32(&b, 4);
	if (!fw_bytes_u64(&b, 8, &count) || header < HEADER || entry < NEEDED ||
	    header > b.size) {
		md_note(md, "MemoryInfoList", MD_NO_INDEX, "the header makes no sense");
		return false;
	}
	uint64_t here = (b.size - header) / entry;
	if (here > FW_MAX_REGIONS)
		here = FW_MAX_REGIONS;
	bool complete = here >= count;
	if (!complete) {
		md_note(md, "MemoryInfoList", MD_NO_INDEX, "%llu entries promised, %llu read",
			(unsigned long long)count, (unsigned long long)here);
		count = here;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = header + i * entry, size = md_u64(&b, at + 24);
		uint64_t start = md_address(md, md_u64(&b, at));
		uint32_t state = md_u32(&b, at + 32);
		if (state == MEM_FREE || size == 0)
			continue;
		if (size > UINT64_MAX - start) {
			md_note(md, "memory info", (uint32_t)i, "leaves the address space");
			complete = false;
			continue;
		}
		add_region(l, (struct fw_region){
			.start = start, .end = start + size,
			.permissions = permissions_of(state, md_u32(&b, at + 36)),
		});
	}
	md->s->regions_complete = complete && l->v.count;
	return l->v.count > 0;
}

static bool take(struct fw_text *t, char c)
{
	if (t->p == t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

// proc(5): "start-end rwxp offset major:minor inode   path", end exclusive.
static bool parse_maps_line(struct fw_text t, struct fw_region *r)
{
	struct fw_str permissions, skipped;
	*r = (struct fw_region){ .permissions = FW_PERM_KNOWN };
	if (!fw_text_hex(&t, &r->start) || !take(&t, '-') || !fw_text_hex(&t, &r->end) ||
	    !fw_text_token(&t, &permissions) || permissions.n < 3 || r->end <= r->start)
		return false;
	if (permissions.s[0] == 'r')
		r->permissions |= FW_PERM_READ;
	if (permissions.s[1] == 'w')
		r->permissions |= FW_PERM_WRITE;
	if (permissions.s[2] == 'x')
		r->permissions |= FW_PERM_EXEC;
	fw_text_skip_blanks(&t);
	if (!fw_text_hex(&t, &r->file_offset) || !fw_text_token(&t, &skipped) ||
	    !fw_text_token(&t, &skipped))
		return false;
	fw_text_skip_blanks(&t);
	if (t.p < t.end)
		r->name = (struct fw_str){ t.p, (size_t)(t.end - t.p) };
	return true;
}

// Counts the lines even where MemoryInfoList has already told the regions.
static void read_linux_maps(struct md_reader *md, struct region_list *l, bool add)
{
	struct fw_snapshot *s = md->s;
	struct fw_bytes b;
	bool complete = true;
	uint32_t number = 0;
	if (!md_stream(md, MD_LINUX_MAPS, &b))
		return;
	const char *p = (const char *)b.data, *end = p + b.size;
	while (p < end && *p && number < FW_MAX_REGIONS && !md->no_memory) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct fw_text line = { p, newline ? newline : end };
		struct fw_region r;
		p = newline ? newline + 1 : end;
		number++;
		if (parse_maps_line(line, &r)) {
			s->num_maps++;
			if (add)
				add_region(l, r);
		} else if (line.p < line.end) {
			md_note(md, "maps line", number, "is not a mapping");
			complete = false;
		}
	}
	if (p < end && *p) {
		md_note(md, "maps", MD_NO_INDEX, "only the first %u lines are read", number);
		complete = false;
	}
	if (add)
		s->regions_complete = complete && l->v.count;
}

void md_read_regions(struct md_reader *md)
{
	struct region_list l = { .md = md };
	bool from_info = read_memory_info(md, &l);
	read_linux_maps(md, &l, !from_info);
	finish(&l, from_info ? "MemoryInfoList" : "maps");
	fw_vec_deinit(&l.v);
}
