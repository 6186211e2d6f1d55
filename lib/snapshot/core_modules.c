#include "lib/base/vec.h"
#include "lib/snapshot/core.h"

#include <stdlib.h>

/** One entry of NT_FILE. */
struct mapping {
	uint64_t start, end;		// end exclusive
	uint64_t offset;		// in the file, bytes
	struct fw_str path;
	uint32_t index;
};

/** A file whose image is being put together from its mappings. */
struct group {
	struct fw_module_info info;	// size is set when it is finished
	uint64_t limit;			// where its headers say that it ends; 0: no header
	uint64_t end;			// of its last mapping
	struct fw_str path;		// as recorded
	uint32_t mappings;
	bool exec, exec_unknown;
};

struct modules {
	struct core_reader *core;
	struct core_budget budget;
	FW_VEC(struct mapping) mappings;
	FW_VEC(struct fw_module_info) found;
	struct group group;		// mappings 0: none under way
	uint32_t uncovered;		// mappings that no PT_LOAD describes
};

static bool same(struct fw_str a, struct fw_str b)
{
	return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

// The kernel says this of a file that is gone (or replaced); its id still finds it.
static struct fw_str without_deleted(struct fw_str path)
{
	static const char suffix[] = " (deleted)";
	size_t n = sizeof(suffix) - 1;
	if (path.n > n && !memcmp(path.s + path.n - n, suffix, n))
		path.n -= n;
	return path;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

// fs/binfmt_elf.c, fill_files_note(): count, page size, (start, end, page) each,
// then the names one after the other.
static void read_mappings(struct modules *m)
{
	struct core_reader *core = m->core;
	const struct fw_bytes *b = &core->mapped_files;
	unsigned word = core->word;
	if (!b->size)
		return;
	uint64_t count = core_word(b, core->wide, 0), page = core_word(b, core->wide, word);
	uint64_t here = b->size < 2 * word ? 0 : (b->size - 2 * word) / (3 * word);
	if (here > FW_MAX_REGIONS)
		here = FW_MAX_REGIONS;
	if (here < count) {
		core_note(core->s, "NT_FILE", CORE_NO_INDEX, "%llu entries promised, %llu read",
			  (unsigned long long)count, (unsigned long long)here);
		count = here;
	}
	uint64_t name = 2 * word + count * 3 * word;
	for (uint64_t i = 0; i < count && !core->no_memory; i++) {
		uint64_t at = 2 * word + i * 3 * word;
		const char *text = (const char *)b->data + name;
		const char *nul = memchr(text, 0, b->size - name);
		if (!nul) {
			core_note(core->s, "NT_FILE", CORE_NO_INDEX,
				  "the names end after %llu of %llu entries",
				  (unsigned long long)i, (unsigned long long)count);
			break;
		}
		struct mapping x = {
			.start = core_word(b, core->wide, at),
			.end = core_word(b, core->wide, at + word),
			.path = { text, (size_t)(nul - text) }, .index = (uint32_t)i,
		};
		name += x.path.n + 1;
		if (x.path.n > FW_MAX_NAME)
			x.path.n = FW_MAX_NAME;
		if (x.end <= x.start ||
		    __builtin_mul_overflow(core_word(b, core->wide, at + 2 * word), page,
					   &x.offset))
			core_note(core->s, "mapped file", x.index, "its addresses make no sense");
		else if (!fw_vec_push(&m->mappings, x))
			core->no_memory = true;
	}
	if (m->mappings.count)
		qsort(m->mappings.data, m->mappings.count, sizeof(*m->mappings.data),
		      compare_mappings);
}

// The snapshot is still being made: its regions may be named.
static struct fw_region *region_at(const struct fw_snapshot *s, uint64_t address)
{
	const struct fw_region *r = fw_snapshot_region(s, address);
	return r ? &s->regions[r - s->regions] : NULL;
}

// Names of files for the regions they are mapped at. The two lists come from one
// walk over the process's mappings, so that nearly always one entry is one region.
static void name_regions(struct modules *m)
{
	struct fw_snapshot *s = m->core->s;
	for (size_t i = 0; i < m->mappings.count; i++) {
		const struct mapping *x = &m->mappings.data[i];
		struct fw_region *r = region_at(s, x->start);
		if (!r) {
			m->uncovered++;
			continue;
		}
		if (r->start >= x->start && !r->name.n) {
			r->name = x->path;
			r->file_offset = x->offset + (r->start - x->start);
		}
	}
	// gdb's gcore leaves mappings out whose bytes are in a file.
	if (m->uncovered)
		s->regions_complete = false;
}

static void finish_group(struct modules *m)
{
	struct group *g = &m->group;
	if (g->mappings == 0)
		return;
	// What is nowhere executable is a file that was only looked at.
	if (g->exec || (g->exec_unknown && (g->limit || g->mappings > 1))) {
		g->info.size = g->end - g->info.base;
		if (!fw_vec_push(&m->found, g->info))
			m->core->no_memory = true;
	}
	g->mappings = 0;
}

static void add_mapping(struct modules *m, const struct mapping *x)
{
	const struct fw_region *r = fw_snapshot_region(m->core->s, x->start);
	struct group *g = &m->group;
	g->mappings++;
	if (x->end > g->end)
		g->end = x->end;
	if (!r || !(r->permissions & FW_PERM_KNOWN))
		g->exec_unknown = true;
	else if (r->permissions & FW_PERM_EXEC)
		g->exec = true;
}

static bool continues(const struct group *g, const struct mapping *x)
{
	if (g->mappings == 0 || !same(g->path, x->path))
		return false;
	if (g->limit)
		return x->start < g->limit;
	return x->offset != 0 || x->start == g->end;
}

static void begin_group(struct modules *m, const struct mapping *x)
{
	struct fw_snapshot *s = m->core->s;
	struct core_image image;
	bool elf = core_image_read(s, &m->budget, x->start, &image);
	// A library inside an archive starts at another offset.
	if (!elf && (x->offset != 0 || fw_memory_find(&s->memory, x->start)))
		return;
	finish_group(m);
	struct fw_str path = without_deleted(x->path);
	m->group = (struct group){
		.info = { .base = x->start, .code_file = path, .debug_file = path },
		.path = x->path,
	};
	if (elf) {
		m->group.info.debug_id = image.debug_id;
		m->group.info.code_id = image.code_id;
		m->group.limit = image.end > x->start ? image.end : x->end;
	}
	add_mapping(m, x);
}

static void read_mapped_files(struct modules *m)
{
	read_mappings(m);
	name_regions(m);
	for (size_t i = 0; i < m->mappings.count && !m->core->no_memory; i++) {
		const struct mapping *x = &m->mappings.data[i];
		if (continues(&m->group, x))
			add_mapping(m, x);
		else
			begin_group(m, x);
	}
	finish_group(m);
}

// They come in ascending order; of those at one address the first counts, the
// lower of two that overlap is cut where the higher one starts.
static void arrange(struct modules *m)
{
	struct core_reader *core = m->core;
	struct fw_snapshot *s = core->s;
	enum { MORE = 16 };		// for the vDSO and what the caller adds
	size_t count = m->found.count;
	if (count > FW_MAX_MODULES) {
		core_note(s, "modules", CORE_NO_INDEX, "%llu, only the first %d are read",
			  (unsigned long long)count, FW_MAX_MODULES);
		count = FW_MAX_MODULES;
	}
	s->modules = core_array(core, count + MORE, sizeof(*s->modules));
	s->mapped = core_array(core, count + MORE, sizeof(*s->mapped));
	if (core->no_memory)
		return;
	s->module_room = (uint32_t)count + MORE;
	for (size_t i = 0; i < count; i++) {
		const struct fw_module_info *x = &m->found.data[i];
		struct fw_module_info *below = s->num_modules ? &s->modules[s->num_modules - 1] :
					       NULL;
		if (below && below->base == x->base) {
			core_note(s, "module", (uint32_t)i, "another one starts at 0x%llx too",
				  (unsigned long long)x->base);
			continue;
		}
		if (below && below->size > x->base - below->base) {
			core_note(s, "module", (uint32_t)i,
				  "cuts the module at 0x%llx that reaches into it",
				  (unsigned long long)below->base);
			below->size = x->base - below->base;
		}
		s->mapped[s->num_mapped++] = s->num_modules;
		s->modules[s->num_modules++] = *x;
	}
}

static void try_add(struct core_reader *core, const struct fw_module_info *module)
{
	enum fw_code code = fw_snapshot_add_module(core->s, module, NULL);
	if (code == FW_NO_MEMORY)
		core->no_memory = true;
	else if (code != FW_OK)
		core_note(core->s, "module", CORE_NO_INDEX, "the one at 0x%llx finds no room",
			  (unsigned long long)module->base);
}

// The kernel's own image in the process, in no file; its pages are in the core.
static void add_vdso(struct modules *m)
{
	struct fw_snapshot *s = m->core->s;
	struct core_image image;
	if (!s->vdso || fw_snapshot_module(s, s->vdso))
		return;
	struct fw_region *r = region_at(s, s->vdso);
	if (r && r->start == s->vdso && !r->name.n)
		r->name = FW_STR("[vdso]");
	struct fw_module_info info = { .base = s->vdso, .code_file = FW_STR("[vdso]") };
	if (core_image_read(s, &m->budget, s->vdso, &image)) {
		struct fw_str name = core_soname(s, &m->budget, &image);
		if (name.n)
			info.code_file = name;
		info.debug_id = image.debug_id;
		info.code_id = image.code_id;
		info.size = image.end - s->vdso;
	}
	if (r && r->start == s->vdso)
		info.size = r->end - r->start;
	info.debug_file = info.code_file;
	if (info.size)
		try_add(m->core, &info);
}

// A program whose data shares the file's first page with its code has that page's
// bytes once more, at its data's address. Only the region that follows is looked at.
static bool find_header_copy(struct modules *m, struct core_image *ret)
{
	struct fw_snapshot *s = m->core->s;
	const struct fw_region *r = fw_snapshot_region(s, s->phdr);
	for (unsigned i = 0; r && i < 4 && r + 1 < s->regions + s->num_regions; i++) {
		if (r[1].start != r->end)
			return false;
		r++;
		if (core_image_copy(s, &m->budget, r->start, ret))
			return true;
	}
	return false;
}

// Without NT_FILE: the program by its header pages, the rest by the linker's list.
static void add_from_memory(struct modules *m)
{
	struct core_reader *core = m->core;
	struct fw_snapshot *s = core->s;
	struct core_image image;
	uint32_t added;
	uint64_t header = s->phdr - (core->wide ? 64 : 52);
	if (!s->phdr || (!core_image_read(s, &m->budget, header, &image) &&
			 !find_header_copy(m, &image)))
		return;
	struct fw_str name = s->exec_file.n ? s->exec_file : s->exec_name;
	struct fw_module_info info = {
		.base = image.base, .size = image.end - image.base, .code_file = name,
		.debug_file = name, .debug_id = image.debug_id, .code_id = image.code_id,
	};
	try_add(core, &info);
	if (!core->no_memory && image.dynamic &&
	    fw_snapshot_add_linked(s, image.dynamic, &added, NULL) == FW_NO_MEMORY)
		core->no_memory = true;
	// The list borrows the dynamic linker's name from the program.
	const struct fw_module_info *linker = s->interpreter ?
		fw_snapshot_module(s, s->interpreter) : NULL;
	if (linker && !linker->code_file.n) {
		struct fw_module_info *named = &s->modules[linker - s->modules];
		named->code_file = named->debug_file = image.interpreter;
	}
}

static void mark_main(struct fw_snapshot *s)
{
	const struct fw_module_info *program = NULL;
	if (s->have_entry)
		program = fw_snapshot_module(s, s->entry);
	if (!program && s->phdr)
		program = fw_snapshot_module(s, s->phdr);
	if (program)
		s->modules[program - s->modules].is_main = true;
}

void core_read_modules(struct core_reader *core)
{
	struct fw_snapshot *s = core->s;
	struct modules m = { .core = core, .budget = { FW_MAX_CORE_STEPS } };
	if (core->execfn)
		s->exec_file = core_string(s, core->execfn);
	read_mapped_files(&m);
	if (!core->no_memory)
		arrange(&m);
	if (!core->no_memory)
		add_vdso(&m);
	if (!core->no_memory && !core->mapped_files.size)
		add_from_memory(&m);
	if (!core->no_memory)
		mark_main(s);
	if (m.budget.steps == 0)
		core_note(s, "modules", CORE_NO_INDEX,
			  "their headers are more than %d, not all are read", FW_MAX_CORE_STEPS);
	fw_vec_deinit(&m.mappings);
	fw_vec_deinit(&m.found);
}
