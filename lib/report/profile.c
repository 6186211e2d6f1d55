#include "lib/report/profile.h"

#include <stdlib.h>

#include "lib/report/profile_internal.h"

/** What was wrong with a JIT's files belongs to what is said of the recording. */
static void add_notes(struct fw_recording *r, const struct fw_profile_jit *j)
{
	for (uint32_t i = 0; i < j->num_notes; i++, r->num_notes++)
		if (i < FW_MAX_JIT_NOTES && r->num_notes < FW_MAX_SNAPSHOT_NOTES)
			r->notes[r->num_notes] = j->notes[i];
}

enum fw_code fw_profile_create(struct fw_recording *recording, const char *path,
			       struct fw_symbols *symbols,
			       const struct fw_profile_options *options,
			       struct fw_profile **ret, struct fw_error *err)
{
	struct fw_profile *p = calloc(1, sizeof(*p));
	struct fw_profile_private *private = calloc(1, sizeof(*private));
	if (p == NULL || private == NULL) {
		free(p);
		free(private);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	p->recording = recording;
	p->path = path;
	p->private = private;
	private->options = *options;
	fw_arena_init(&private->arena, 0);
	fw_binder_init(&private->binder, symbols, recording->spaces, options);
	enum fw_code code = fw_profile_walk(p, err);
	add_notes(recording, &private->binder.jit);
	if (code != FW_OK) {
		fw_profile_destroy(p);
		return code;
	}
	if (recording->have_wall && p->samples_used != 0)
		p->started = recording->wall_time + (p->first_time - recording->wall_at);
	*ret = p;
	return FW_OK;
}

void fw_profile_destroy(struct fw_profile *p)
{
	if (p == NULL)
		return;
	struct fw_profile_private *private = p->private;
	fw_binder_deinit(&private->binder);
	fw_profile_kernel_deinit(&private->kernel);
	fw_arena_deinit(&private->arena);
	free(p->threads);
	free(p->samples);
	free(p->lines);
	free(private);
	free(p);
}

uint64_t fw_profile_base(const struct fw_profile *p, uint32_t space, uint32_t module)
{
	const struct fw_profile_private *private = p->private;
	const struct fw_bound *bound = space < private->binder.bounds.count ?
				       private->binder.bounds.data[space] : NULL;
	for (uint32_t i = 0; bound != NULL && i < bound->num_modules; i++)
		if (bound->dsos[i] == module)
			return bound->modules[i].base;
	return 0;
}

uint64_t fw_profile_address(const struct fw_profile *p, uint32_t space,
			    const struct fw_profile_frame *frame)
{
	if (frame->kernel || frame->module == FW_NO_MODULE)
		return frame->pc;
	return fw_profile_base(p, space, frame->module) + frame->pc;
}
