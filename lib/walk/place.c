#include "lib/walk/walker.h"

const struct fw_image *fw_walk_image(struct fw_walker *w, uint32_t module)
{
	if (!w->image_asked[module]) {
		const struct fw_image *image = w->source.image(w->source.context, module);
		w->image_asked[module] = 1;
		w->images[module] = image;
		// modules of one name and id in a row count once
		if (image != NULL && (w->num_loaded == 0 ||
				      w->images[w->loaded[w->num_loaded - 1]] != image))
			w->loaded[w->num_loaded++] = module;
	}
	return w->images[module];
}

const struct fw_image *fw_walk_names(struct fw_walker *w, uint32_t module, uint32_t offset)
{
	const struct fw_image *image = fw_walk_image(w, module);
	return image == NULL || w->source.names == NULL ? image :
	       w->source.names(w->source.context, module, offset);
}

static uint32_t module_index(const struct fw_walker *w, uint64_t address)
{
	const struct fw_module_info *m = fw_snapshot_module(w->snapshot, address);
	return m == NULL ? FW_NO_MODULE : (uint32_t)(m - w->snapshot->modules);
}

static bool on_captured_stack(const struct fw_walker *w, uint64_t address)
{
	return w->have_stack && address >= w->stack_start && address < w->stack_end;
}

struct fw_place fw_walk_locate(struct fw_walker *w, uint64_t address)
{
	struct fw_place place = { w->code_module, FW_EXEC_UNKNOWN };
	if (address - w->code_start < w->code_size) {
		place.exec = FW_EXEC_YES;
		return place;
	}
	place.module = module_index(w, address);
	const struct fw_region *region = fw_snapshot_region(w->snapshot, address);
	if (region != NULL && (region->permissions & FW_PERM_KNOWN))
		place.exec = region->permissions & FW_PERM_EXEC ? FW_EXEC_YES : FW_EXEC_NO;
	else if (region == NULL && w->snapshot->regions_complete && w->snapshot->num_regions != 0)
		place.exec = FW_EXEC_NO;
	else if (place.module == FW_NO_MODULE && on_captured_stack(w, address))
		place.exec = FW_EXEC_NO;
	return place;
}

/** Learn how far the entry point's function reaches from the main module's symbols. */
static void refine_entry(struct fw_walker *w)
{
	uint64_t offset = w->entry - w->code_base;
	if (w->entry_refined || w->code_image == NULL || w->entry_size == 0 ||
	    w->entry - w->code_start >= w->code_size)
		return;
	w->entry_refined = true;
	const struct fw_image *names = fw_walk_names(w, w->code_module, (uint32_t)offset);
	if (names == NULL)
		return;
	const struct fw_func *func = fw_image_func(names, (uint32_t)offset);
	if (func != NULL) {
		w->entry_size = func->start + (uint64_t)func->size - offset;
		return;
	}
	const struct fw_public *public = fw_image_public(names, (uint32_t)offset);
	if (public != NULL && public->end - offset < 4 * FW_ENTRY_SIZE)
		w->entry_size = public->end - offset;
}

/** A capture without AT_ENTRY: the program's file knows, where there is one. */
static void ask_entry(struct fw_walker *w)
{
	uint64_t entry;
	if (w->entry_asked || w->entry_size != 0 || w->code_image != NULL ||
	    w->source.entry == NULL || !w->snapshot->modules[w->code_module].is_main)
		return;
	w->entry_asked = true;
	if (w->source.entry(w->source.context, w->code_module, &entry)) {
		w->entry = entry;
		w->entry_size = FW_ENTRY_SIZE;
	}
}

/** Where the short cut of fw_walk_step may be taken. */
static void set_fast(struct fw_walker *w)
{
	w->fast_start = w->code_start;
	w->fast_size = w->code_size;
	if (w->code_image == NULL || w->code_has_win || w->cpu->word_size != 8 ||
	    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		w->fast_size = 0;
	else if (w->entry_size != 0 && w->entry - w->code_start < w->code_size) {
		// The entry point's function has no caller: code behind it (nearly
		// all of it: _start is linked first) or, for a frame in front, before.
		uint64_t end = w->entry + w->entry_size;
		w->fast_start = end;
		w->fast_size = end - w->code_start < w->code_size ?
			       w->code_start + w->code_size - end : 0;
	}
}

bool fw_walk_enter(struct fw_walker *w, uint64_t address)
{
	if (address - w->code_start < w->code_size)
		return true;
	struct fw_place place = fw_walk_locate(w, address);
	if (place.module == FW_NO_MODULE || place.exec == FW_EXEC_NO)
		return false;
	const struct fw_module_info *m = &w->snapshot->modules[place.module];
	uint64_t start = m->base, size = m->size;
	const struct fw_region *region = fw_snapshot_region(w->snapshot, address);
	if (region != NULL) {
		uint64_t end = start + size;
		if (region->start > start)
			start = region->start;
		if (region->end < end)
			end = region->end;
		size = end - start;
	}
	if (start - m->base > UINT32_MAX)
		return false;		// an image speaks 32-bit offsets
	if (start - m->base + size > UINT64_C(1) << 32)
		size = (UINT64_C(1) << 32) - (start - m->base);
	if (address - start >= size)
		return false;
	const struct fw_image *image = fw_walk_image(w, place.module);
	w->code_start = start;
	w->code_size = size;
	w->code_base = m->base;
	w->code_module = place.module;
	w->code_image = image;
	w->code_has_win = w->cpu->id == FW_CPU_X86 && image != NULL &&
			  image->section_bytes[FW_SEC_WIN_RECORDS] != 0;
	ask_entry(w);
	refine_entry(w);
	set_fast(w);
	return true;
}

const struct fw_rule *fw_walk_rules(struct fw_walker *w, uint64_t lookup, uint32_t *ret_count,
				    struct fw_programs *programs)
{
	const uint64_t offset = lookup - w->code_base;
	*ret_count = 0;
	if (w->code_image == NULL || offset > UINT32_MAX)
		return NULL;
	const struct fw_rule *rules = fw_image_cfi(w->code_image, (uint32_t)offset, ret_count);
	*programs = w->code_image->programs;
	if (rules == NULL && w->source.rules != NULL)
		rules = w->source.rules(w->source.context, w->code_module, (uint32_t)offset,
					ret_count, programs);
	return rules;
}

bool fw_walk_code(struct fw_walker *w, uint64_t address, uint8_t *out, unsigned n)
{
	if (fw_memory_bytes(&w->snapshot->memory, address, out, n))
		return true;
	uint32_t module = module_index(w, address);
	if (module == FW_NO_MODULE || w->source.code == NULL)
		return false;
	return w->source.code(w->source.context, module, address, out, n);
}

struct fw_str fw_walk_function(struct fw_walker *w, uint64_t lookup, uint64_t *ret_start)
{
	struct fw_str none = { NULL, 0 };
	uint32_t module = module_index(w, lookup);
	if (module == FW_NO_MODULE)
		return none;
	uint64_t base = w->snapshot->modules[module].base;
	if (lookup - base > UINT32_MAX)
		return none;
	const struct fw_image *image = fw_walk_names(w, module, (uint32_t)(lookup - base));
	if (image == NULL)
		return none;
	const struct fw_func *func = fw_image_func(image, (uint32_t)(lookup - base));
	if (func != NULL) {
		*ret_start = base + func->entry;
		return fw_image_string(image, func->name);
	}
	const struct fw_public *public = fw_image_public(image, (uint32_t)(lookup - base));
	if (public == NULL)
		return none;
	*ret_start = base + public->start;
	return fw_image_string(image, public->name);
}

bool fw_walk_is_entry(struct fw_walker *w, const struct fw_frame *frame)
{
	// Functions that the kernel or the C library enters with nothing to
	// return to: glibc and musl (_start, clone, clone3, start_thread's
	// caller), Android, macOS (start, thread_start), Windows.
	static const char *const names[] = {
		"_start", "start", "__start", "_dl_start_user", "_rt0_amd64_linux",
		"clone", "__clone", "__clone_internal", "clone3", "__clone3", "__bionic_clone",
		"thread_start", "_thread_start", "__thread_start",
		"RtlUserThreadStart", "_RtlUserThreadStart", "_RtlUserThreadStart@8",
		"__RtlUserThreadStart", "__RtlUserThreadStart@8",
		"BaseProcessStart", "BaseThreadStart",
	};
	uint64_t start;
	if (w->entry_size != 0 && frame->lookup - w->entry < w->entry_size)
		return true;
	struct fw_str name = fw_walk_function(w, frame->lookup, &start);
	if (name.s == NULL)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == name.n && memcmp(names[i], name.s, name.n) == 0)
			return true;
	return false;
}
