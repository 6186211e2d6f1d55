// Recordings of hostile bytes: everything is read, decoded and looked up.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/snapshot/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

static uint64_t sum;	// so that reading is not optimised away

static void use_sample(struct fw_recording *r, const struct fw_sample *s)
{
	if (s->event >= r->num_events || !s->regs_cpu || s->stack_size > s->stack_asked)
		fail("a sample out of bounds");
	for (uint32_t i = 0; i < s->stack_size; i++)
		sum += s->stack[i];
	for (uint32_t i = 0; i < s->chain_words; i++)
		sum += fw_sample_chain(r, s, i);
	for (unsigned i = 0; i < FW_SLOTS; i++)
		sum += fw_regs_has(&s->regs, i) ? s->regs.v[i] : 0;
	sum += fw_spaces_name(r->spaces, s->pid, s->tid, s->time).n;
	const struct fw_space_view *v = fw_spaces_at(r->spaces, s->pid, s->time);
	if (!v)
		return;
	if (v->pid != s->pid || s->time < v->from || (s->time >= v->to && v->to != UINT64_MAX))
		fail("a view of another time");
	for (uint32_t i = 0; i < v->num_maps; i++) {
		const struct fw_mapping *m = &v->maps[i];
		if (m->end <= m->start || (i && m[-1].end > m->start))
			fail("mappings out of order");
		if (!fw_spaces_dso_at(r->spaces, v->maps[i].dso))
			fail("a mapping without a file");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fw_sample s;
	struct fw_recording *r;
	struct fw_sample_batch b;
	struct fw_error err = { 0 };
	int fd = memfd_create("recording", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		fail("no file");
	enum fw_code code = fw_recording_open(NULL, fd, &r, &err);
	close(fd);
	if (code != FW_OK) {
		if (!err.message[0])
			fail("no reason");
		return 0;
	}
	while ((code = fw_recording_next(r, &b, &err)) == FW_OK) {
		for (uint32_t i = 0; i < b.count; i++) {
			if (fw_sample_decode(r, &b.samples[i], &s))
				use_sample(r, &s);
		}
		fw_recording_release(r, &b);
	}
	if (code != FW_NOT_FOUND)
		fail("an end that is none");
	fw_recording_destroy(r);
	return 0;
}
