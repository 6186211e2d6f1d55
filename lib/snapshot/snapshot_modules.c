#include "lib/snapshot/snapshot.h"

#include <stdio.h>

static bool grow(struct fw_snapshot *s)
{
	uint32_t room = s->module_room < 16 ? 32 : 2 * s->module_room;
	struct fw_module_info *modules = fw_arena_array(&s->arena, room, sizeof(*modules));
	uint32_t *mapped = fw_arena_array(&s->arena, room, sizeof(*mapped));
	if (!modules || !mapped)
		return false;
	if (s->num_modules)
		memcpy(modules, s->modules, s->num_modules * sizeof(*modules));
	s->modules = modules;
	s->mapped = mapped;
	s->module_room = room;
	return true;
}

// Modules without a size lie between the others and are in nobody's way.
static void index_modules(struct fw_snapshot *s)
{
	s->num_mapped = 0;
	for (uint32_t i = 0; i < s->num_modules; i++) {
		if (s->modules[i].size)
			s->mapped[s->num_mapped++] = i;
	}
}

static bool overlaps(const struct fw_snapshot *s, const struct fw_module_info *m)
{
	uint64_t last = m->base + (m->size - 1);
	// Only the last one that starts in front of the end can reach into it.
	uint32_t lo = 0, hi = s->num_mapped;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->modules[s->mapped[mid]].base <= last)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	const struct fw_module_info *below = &s->modules[s->mapped[lo - 1]];
	return below->base + (below->size - 1) >= m->base;
}

enum fw_code fw_snapshot_add_module(struct fw_snapshot *s, const struct fw_module_info *module,
				    struct fw_error *err)
{
	char place[32];
	snprintf(place, sizeof(place), "0x%llx", (unsigned long long)module->base);
	if (module->size == 0)
		return fw_fail(err, FW_MALFORMED, place, "the module has no size");
	if (module->base > s->cpu->word_mask || module->size - 1 > s->cpu->word_mask - module->base)
		return fw_fail(err, FW_MALFORMED, place, "the module leaves the address space");
	if (overlaps(s, module))
		return fw_fail(err, FW_MALFORMED, place, "another module is there");
	if (s->num_modules >= FW_MAX_MODULES)
		return fw_fail(err, FW_LIMIT, place, "more than %d modules", FW_MAX_MODULES);
	if (s->num_modules == s->module_room && !grow(s))
		return fw_fail(err, FW_NO_MEMORY, place, "no memory for another module");
	uint32_t at = s->num_modules;
	while (at && s->modules[at - 1].base > module->base)
		at--;
	bool last = at == s->num_modules && s->num_mapped;
	memmove(&s->modules[at + 1], &s->modules[at],
		(s->num_modules - at) * sizeof(*s->modules));
	s->modules[at] = *module;
	s->num_modules++;
	if (last)
		s->mapped[s->num_mapped++] = at;
	else
		index_modules(s);
	return FW_OK;
}

void fw_snapshot_identify(struct fw_snapshot *s, uint32_t module,
			  const struct fw_ident *debug_id, const struct fw_ident *code_id)
{
	struct fw_module_info *m = &s->modules[module];
	if (m->debug_id.n || m->code_id.n)
		return;
	m->debug_id = *debug_id;
	m->code_id = *code_id;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void fw_snapshot_compare(const struct fw_snapshot *s, uint64_t address, const uint8_t *bytes,
			 uint64_t n, struct fw_comparison *ret)
{
	const struct fw_segment *segments = s->memory.segments;
	for (uint32_t i = 0; i < s->memory.count; i++) {
		// A segment may be several regions, neighbours in the file.
		uint64_t at = segments[i].start < address ? address : segments[i].start;
		while (at - segments[i].start < segments[i].size && at - address < n) {
			const struct fw_region *r = fw_snapshot_region(s, at);
			uint64_t size = smaller(segments[i].size - (at - segments[i].start),
						n - (at - address));
			if (r)
				size = smaller(size, r->end - at);
			const uint8_t *mine = segments[i].data + (at - segments[i].start);
			const uint8_t *theirs = bytes + (at - address);
			bool known = r && r->permissions & FW_PERM_KNOWN;
			for (uint64_t k = 0; known && !(r->permissions & FW_PERM_WRITE) &&
					     k < size; k++) {
				ret->present++;
				ret->equal += mine[k] == theirs[k];
			}
			if (__builtin_add_overflow(at, size, &at))
				break;
		}
	}
}
