#include "lib/walk/walker.h"

const struct fw_image *fw_walk_image(struct fw_walker *w, uint32_t module)
{
	if (!w->image_asked[module]) {
		w->images[module] = w->source.image(w->source.context, module);
		w->image_asked[module] = 1;
	}
	if (w->images[module] != NULL)
		fw_walk_touch(w, module);
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
	const struct fw_stretch *known = fw_walk_stretch(w, address);
	if (known != NULL)
		return (struct fw_place){ known->module, FW_EXEC_YES };
	struct fw_place place = { module_index(w, address), FW_EXEC_UNKNOWN };
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
static bool refine_entry(struct fw_walker *w, const struct fw_stretch *s)
{
	uint64_t offset = w->entry - s->base, size = w->entry_size;
	if (w->entry_refined || s->image == NULL || w->entry_size == 0 ||
	    w->entry - s->start >= s->size)
		return false;
	w->entry_refined = true;
	const struct fw_image *names = fw_walk_names(w, s->module, (uint32_t)offset);
	if (names == NULL)
		return false;
	const struct fw_func *func = fw_image_func(names, (uint32_t)offset);
	const struct fw_public *public = func != NULL ? NULL :
		fw_image_public(names, (uint32_t)offset);
	if (func != NULL)
		w->entry_size = func->start + (uint64_t)func->size - offset;
	else if (public != NULL && public->end - offset < 4 * FW_ENTRY_SIZE)
		w->entry_size = public->end - offset;
	return w->entry_size != size;
}

/** A capture without AT_ENTRY: the program's file knows, where there is one. */
static bool ask_entry(struct fw_walker *w, const struct fw_stretch *s)
{
	if (w->entry_asked || w->entry_size != 0 || s->image != NULL ||
	    w->source.entry == NULL || !w->snapshot->modules[s->module].is_main)
		return false;
	w->entry_asked = true;
	if (!w->source.entry(w->source.context, s->module, &w->entry))
		return false;
	w->entry_size = FW_ENTRY_SIZE;
	return true;
}

void fw_walk_forget(struct fw_walker *w)
{
	static const struct fw_stretch nowhere = { .module = FW_NO_MODULE };
	w->num_stretches = w->next_stretch = 0;
	memset(w->stretches, 0, sizeof(w->stretches));	// samples on their way point there
	w->code = &nowhere;
}

/** Cut the stretch at @p border, and keep the part that has @p address. */
static void cut(struct fw_stretch *s, uint64_t border, uint64_t address)
{
	uint64_t before = border - s->start;
	if (before == 0 || before >= s->size)
		return;
	if (address - s->start < before) {
		s->size = before;
	} else {
		s->start = border;
		s->size -= before;
	}
}

/** Where the short way may be taken. */
static void set_hot(const struct fw_walker *w, struct fw_stretch *s, uint64_t address)
{
	if (s->image == NULL || s->has_win || w->cpu->lr != FW_NO_REG || s->start < FW_LOWEST_PC ||
	    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		return;
	// The entry point's function has no caller.
	if (w->entry_size != 0) {
		cut(s, w->entry, address);
		cut(s, w->entry + w->entry_size, address);
		if (address - w->entry < w->entry_size)
			return;
	}
	uint64_t table = (uint64_t)s->image->cfi.num_pages << FW_CFI_PAGE_SHIFT;
	cut(s, s->base + table, address);
	if (address - s->base < table)
		s->hot_size = s->size;
}

/** The stretch around @p address as the modules and regions of the capture have it. */
static bool make_stretch(struct fw_walker *w, uint64_t address, struct fw_stretch *ret)
{
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
	*ret = (struct fw_stretch){
		.start = start, .size = size, .base = m->base, .module = place.module,
		.image = image,
		.has_win = w->cpu->id == FW_CPU_X86 && image != NULL &&
			   image->section_bytes[FW_SEC_WIN_RECORDS] != 0,
	};
	return true;
}

bool fw_walk_enter(struct fw_walker *w, uint64_t address)
{
	if (address - w->code->start < w->code->size)
		return true;
	const struct fw_stretch *known = fw_walk_stretch(w, address);
	if (known != NULL) {
		w->code = known;
		return true;
	}
	struct fw_stretch s;
	if (!make_stretch(w, address, &s))
		return false;
	bool asked = ask_entry(w, &s);
	if (refine_entry(w, &s) || asked)
		fw_walk_forget(w);	// they may have been cut elsewhere
	set_hot(w, &s, address);
	struct fw_stretch *place = &w->stretches[w->next_stretch];
	w->next_stretch = (w->next_stretch + 1) % FW_STRETCHES;
	if (w->num_stretches < FW_STRETCHES)
		w->num_stretches++;
	*place = s;
	w->code = place;
	return true;
}

const struct fw_rule *fw_walk_rules(struct fw_walker *w, uint64_t lookup, uint32_t *ret_count,
				    struct fw_programs *programs)
{
	const struct fw_stretch *code = w->code;
	const uint64_t offset = lookup - code->base;
	*ret_count = 0;
	if (code->image == NULL || offset > UINT32_MAX)
		return NULL;
	fw_walk_touch(w, code->module);
	const struct fw_rule *rules = fw_image_cfi(code->image, (uint32_t)offset, ret_count);
	*programs = code->image->programs;
	if (rules == NULL && w->source.rules != NULL)
		rules = w->source.rules(w->source.context, code->module, (uint32_t)offset,
					ret_count, programs);
	return rules;
}

const struct fw_rule *fw_walk_made_rules(struct fw_walker *w, uint64_t lookup, uint32_t *ret_count,
					 struct fw_programs *programs)
{
	if (!w->sampled || w->source.made_rules == NULL ||
	    !fw_walk_is_made(w, fw_walk_locate(w, lookup)))
		return NULL;
	return w->source.made_rules(w->source.context, lookup, ret_count, programs);
}

bool fw_walk_code(struct fw_walker *w, uint64_t address, uint8_t *out, unsigned n)
{
	if (fw_memory_bytes(&w->snapshot->memory, address, out, n))
		return true;
	uint32_t module = module_index(w, address);
	if (module == FW_NO_MODULE)
		return w->sampled && w->source.made_code != NULL &&
		       w->source.made_code(w->source.context, address, out, n);
	if (w->source.code == NULL)
		return false;
	return w->source.code(w->source.context, module, address, out, n);
}

struct fw_str fw_walk_function(struct fw_walker *w, uint64_t lookup, uint64_t *ret_start)
{
	struct fw_str none = { NULL, 0 };
	uint32_t module = module_index(w, lookup);
	if (module == FW_NO_MODULE) {
		if (w->sampled && w->source.made != NULL)
			(void)w->source.made(w->source.context, lookup, ret_start, &none);
		return none;
	}
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
	if (frame->module == FW_NO_MODULE)
		return false;		// a JIT's function may be called anything
	struct fw_str name = fw_walk_function(w, frame->lookup, &start);
	if (name.s == NULL)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == name.n && memcmp(names[i], name.s, name.n) == 0)
			return true;
	return false;
}
