#include "lib/base/vec.h"
#include "lib/snapshot/core.h"

#include <stdlib.h>

/** A PT_LOAD: addresses of the process, last ones inside. */
struct load {
	uint64_t start, last;
	uint64_t here;			// bytes that are in the file
	const uint8_t *data;
	uint32_t index;
	uint8_t permissions;
};

struct loads {
	struct core_reader *core;
	FW_VEC(struct load) v;
	uint32_t cut;			// segments that end behind the file's end
	uint64_t missing;		// bytes of them that are not there
	uint32_t overlaps;
	bool any_exec;
};

static int compare_loads(const void *a, const void *b)
{
	const struct load *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

static void add_load(struct loads *l, uint32_t index, const struct core_phdr *h)
{
	struct core_reader *core = l->core;
	uint64_t mask = core->wide ? UINT64_MAX : UINT32_MAX;
	uint64_t size = h->memsz > h->filesz ? h->memsz : h->filesz;
	if (size == 0)
		return;
	if (size - 1 > mask - h->vaddr) {
		core_note(core->s, "segment", index, "leaves the address space");
		size = mask - h->vaddr + 1;
	}
	struct load load = { .start = h->vaddr, .last = h->vaddr + (size - 1), .index = index };
	uint64_t stored = h->filesz < size ? h->filesz : size;
	uint64_t rest = h->offset < core->file.size ? core->file.size - h->offset : 0;
	if (stored > rest) {
		l->cut++;
		l->missing += stored - rest;
		stored = rest;
	}
	load.here = stored;
	load.data = stored ? core->file.data + h->offset : NULL;
	load.permissions = (h->flags & PF_R ? FW_PERM_READ : 0) |
			   (h->flags & PF_W ? FW_PERM_WRITE : 0) |
			   (h->flags & PF_X ? FW_PERM_EXEC : 0);
	l->any_exec |= h->flags & PF_X;
	if (!fw_vec_push(&l->v, load))
		core->no_memory = true;
}

// Where two overlap, the one that starts first keeps its range.
static void remove_overlaps(struct loads *l)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->v.count; i++) {
		struct load x = l->v.data[i];
		if (kept && x.start <= l->v.data[kept - 1].last) {
			uint64_t start = l->v.data[kept - 1].last + 1;
			l->overlaps++;
			if (start == 0 || x.last < start)
				continue;
			uint64_t skip = start - x.start;
			x.data = x.here > skip ? x.data + skip : NULL;
			x.here = x.here > skip ? x.here - skip : 0;
			x.start = start;
		}
		l->v.data[kept++] = x;
	}
	l->v.count = kept;
}

static void make_segments(struct loads *l)
{
	struct fw_snapshot *s = l->core->s;
	struct fw_segment *out = core_array(l->core, l->v.count, sizeof(*out));
	uint32_t n = 0;
	if (!out)
		return;
	for (size_t i = 0; i < l->v.count; i++) {
		const struct load *x = &l->v.data[i];
		struct fw_segment *before = n ? &out[n - 1] : NULL;
		if (!x->here)
			continue;
		// Neighbours in memory and in the file are one.
		if (before && before->start + before->size == x->start &&
		    before->data + before->size == x->data)
			before->size += x->here;
		else
			out[n++] = (struct fw_segment){ x->start, x->here, x->data };
	}
	s->memory.segments = out;
	s->memory.count = n;
}

// Writers that know nothing of permissions give none of their segments PF_X.
static void make_regions(struct loads *l)
{
	struct fw_snapshot *s = l->core->s;
	s->regions = core_array(l->core, l->v.count, sizeof(*s->regions));
	if (!s->regions)
		return;
	for (size_t i = 0; i < l->v.count; i++) {
		const struct load *x = &l->v.data[i];
		uint64_t end = x->last == UINT64_MAX ? UINT64_MAX : x->last + 1;
		if (end == x->start)
			continue;
		s->regions[s->num_regions++] = (struct fw_region){
			.start = x->start, .end = end,
			.permissions = l->any_exec ? x->permissions | FW_PERM_KNOWN : 0,
		};
	}
	s->regions_complete = l->any_exec && !l->core->headers_cut;
}

void core_read_memory(struct core_reader *core)
{
	struct fw_snapshot *s = core->s;
	struct loads l = { .core = core };
	struct core_phdr h;
	for (uint32_t i = 0; i < core->phnum && !core->no_memory; i++) {
		if (core_phdr(&core->file, core->wide,
			      core->phoff + (uint64_t)i * core->phentsize, &h) &&
		    h.type == PT_LOAD)
			add_load(&l, i, &h);
	}
	if (l.v.count && !core->no_memory) {
		qsort(l.v.data, l.v.count, sizeof(*l.v.data), compare_loads);
		remove_overlaps(&l);
		make_segments(&l);
		make_regions(&l);
	}
	if (l.cut)
		core_note(s, "memory", CORE_NO_INDEX,
			  "the core is cut off: %llu bytes of %u segments are missing",
			  (unsigned long long)l.missing, l.cut);
	if (l.overlaps)
		core_note(s, "memory", CORE_NO_INDEX, "%u segments overlap others", l.overlaps);
	s->memory.swap = core->file.swap;
	fw_vec_deinit(&l.v);
}
