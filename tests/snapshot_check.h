#ifndef FW_TESTS_SNAPSHOT_CHECK_H
#define FW_TESTS_SNAPSHOT_CHECK_H

#include "lib/snapshot/crash_reason.h"
#include "lib/snapshot/snapshot.h"

/**
 * What holds for every snapshot, whatever bytes it came from. Touches all that
 * it points to, so that a sanitizer sees a bad pointer. NULL, or what is broken.
 */
static volatile uint8_t snapshot_check_sink;

static inline void snapshot_touch(const void *data, uint64_t n)
{
	const uint8_t *p = data;
	uint8_t sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum ^= p[i];
	snapshot_check_sink = sum;
}

static inline void snapshot_touch_str(struct fw_str s)
{
	snapshot_touch(s.s, s.n);
}

static inline void snapshot_touch_annotations(const struct fw_annotation *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		snapshot_touch_str(a[i].key);
		snapshot_touch_str(a[i].value);
	}
}

static inline const char *snapshot_check_modules(const struct fw_snapshot *s)
{
	uint64_t end = 0;	// of the last module with a size; 0 after it wrapped
	for (uint32_t i = 0; i < s->num_modules; i++) {
		const struct fw_module_info *m = &s->modules[i];
		if (i && m->base < m[-1].base)
			return "modules are not ascending";
		snapshot_touch_str(m->code_file);
		snapshot_touch_str(m->debug_file);
		snapshot_touch_str(m->version);
		snapshot_touch_annotations(m->annotations, m->num_annotations);
		if (m->debug_id.text[m->debug_id.n] || m->code_id.text[m->code_id.n])
			return "an id has no end";
		if (!m->size)
			continue;
		if (i && m->base < end)
			return "modules overlap";
		if (m->size - 1 > s->cpu->word_mask - m->base)
			return "a module leaves the address space";
		end = m->base + m->size;
		if (fw_snapshot_module(s, m->base) != m ||
		    fw_snapshot_module(s, m->base + (m->size - 1)) != m)
			return "a module is not found by its addresses";
	}
	for (uint32_t i = 0; i < s->num_unloaded; i++)
		snapshot_touch_str(s->unloaded[i].code_file);
	return NULL;
}

static inline const char *snapshot_check_memory(const struct fw_snapshot *s)
{
	for (uint32_t i = 0; i < s->memory.count; i++) {
		const struct fw_segment *m = &s->memory.segments[i];
		if (!m->size)
			return "an empty segment";
		if (m->size - 1 > UINT64_MAX - m->start)
			return "a segment wraps";
		if (i && m->start - m[-1].start < m[-1].size)
			return "segments overlap";
		if (i && m->start < m[-1].start)
			return "segments are not ascending";
		if (m->size < 4096)
			snapshot_touch(m->data, m->size);
		snapshot_touch(m->data, 1);
		snapshot_touch(m->data + m->size - 1, 1);
	}
	for (uint32_t i = 0; i < s->num_regions; i++) {
		const struct fw_region *r = &s->regions[i];
		if (r->start >= r->end)
			return "an empty region";
		if (i && r->start < r[-1].end)
			return "regions overlap";
		if (fw_snapshot_region(s, r->start) != r || fw_snapshot_region(s, r->end - 1) != r)
			return "a region is not found by its addresses";
		snapshot_touch_str(r->name);
	}
	return NULL;
}

static inline const char *snapshot_check(const struct fw_snapshot *s)
{
	char text[256];
	const char *broken = snapshot_check_modules(s);
	if (!broken)
		broken = snapshot_check_memory(s);
	for (uint32_t i = 0; i < s->num_threads; i++) {
		snapshot_touch_str(s->threads[i].name);
		if (s->threads[i].have_context != !s->threads[i].context_error)
			return "a thread without a context does not say why";
	}
	if (s->crashing_thread >= (int64_t)s->num_threads)
		return "the crashing thread does not exist";
	const struct fw_str texts[] = {
		s->os_version, s->os_build, s->cpu_info, s->cpu_microcode, s->lsb_id,
		s->lsb_release, s->lsb_codename, s->lsb_description, s->command_line,
		s->mac_boot_args, s->exception.assertion, s->exception.assertion_function,
		s->exception.assertion_file,
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		snapshot_touch_str(texts[i]);
	snapshot_touch_annotations(s->annotations, s->num_annotations);
	for (uint32_t i = 0; i < s->num_handles; i++) {
		snapshot_touch_str(s->handles[i].type_name);
		snapshot_touch_str(s->handles[i].object_name);
	}
	for (uint32_t i = 0; i < s->num_limits; i++) {
		snapshot_touch_str(s->limits[i].name);
		snapshot_touch_str(s->limits[i].unit);
	}
	for (uint32_t i = 0; i < s->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++)
		if (!s->notes[i].message[0])
			return "an empty note";
	fw_crash_reason(s, false, text, sizeof(text));
	fw_crash_reason(s, true, text, sizeof(text));
	fw_crash_address(s);
	return broken;
}

#endif
