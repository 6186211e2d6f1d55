// What a recording holds, a line a sample, for comparing with `perf script`:
// print_recording FILE|- [maps]
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/snapshot/recording.h"

static void print_sample(struct fw_recording *r, const struct fw_sample *s)
{
	struct fw_str name = fw_spaces_name(r->spaces, s->pid, s->tid, s->time);
	uint64_t sum = 0;
	for (uint32_t i = 0; i < s->stack_size; i++)
		sum = sum * 31 + s->stack[i];
	printf("%.*s %u/%u %d %" PRIu64 ".%09" PRIu64 " %" PRIu64 " %.*s %" PRIx64 " mode=%d",
	       (int)name.n, name.s ? name.s : "", s->pid, s->tid, (int)s->cpu,
	       s->time / 1000000000, s->time % 1000000000, s->period,
	       (int)r->events[s->event].name.n, r->events[s->event].name.s, s->ip, s->mode);
	printf(" abi=%d stack=%u/%u sum=%016" PRIx64 " chain=", s->abi, s->stack_size,
	       s->stack_asked, sum);
	for (uint32_t i = 0; i < s->chain_words; i++)
		printf("%" PRIx64 ",", fw_sample_chain(r, s, i));
	for (unsigned i = 0; i < s->regs_cpu->num_regs; i++) {
		if (fw_regs_has(&s->regs, i))
			printf(" %s=0x%" PRIx64, s->regs_cpu->reg_names[i], s->regs.v[i]);
	}
	const struct fw_space_view *v = fw_spaces_at(r->spaces, s->pid, s->time);
	const struct fw_mapping *m = NULL;
	if (v && s->abi)
		m = fw_space_find(v, s->regs.v[s->regs_cpu->pc]);
	if (m)
		printf(" dso=%.*s+0x%" PRIx64, (int)fw_spaces_dso_at(r->spaces, m->dso)->path.n,
		       fw_spaces_dso_at(r->spaces, m->dso)->path.s,
		       s->regs.v[s->regs_cpu->pc] - m->start + m->file_offset);
	putchar('\n');
}

static void print_end(struct fw_recording *r)
{
	struct fw_recording_counts *c = &r->counts;
	printf("# %s cpu %s arch %.*s version %.*s cmdline %.*s%s%s%s%s\n", r->format, r->cpu->name,
	       (int)r->arch.n, r->arch.s, (int)r->version.n, r->version.s, (int)r->command_line.n,
	       r->command_line.s, r->big_endian ? " big" : "", r->compressed ? " compressed" : "",
	       r->piped ? " piped" : "", r->killed ? " killed" : "");
	printf("# samples %" PRIu64 " lost %" PRIu64 " lost samples %" PRIu64 " unknown %" PRIu64
	       " bad %" PRIu64 " throttled %" PRIu64 " gaps %" PRIu64 "\n", c->samples,
	       c->lost_events, c->lost_samples, c->unknown_records, c->bad_records, c->throttled,
	       c->gaps);
	for (uint32_t i = 0; i < r->num_notes && i < FW_MAX_SNAPSHOT_NOTES; i++)
		printf("# %s: %s\n", r->notes[i].place, r->notes[i].message);
	for (uint32_t i = 0; i < fw_spaces_num_dsos(r->spaces); i++) {
		const struct fw_dso *d = fw_spaces_dso_at(r->spaces, i);
		printf("# dso %u kind %d %s %.*s%s\n", i, d->kind,
		       d->build_id.n ? d->build_id.text : "-", (int)d->path.n, d->path.s, d->deleted ? " deleted" : "");
	}
}

int main(int argc, char **argv)
{
	struct fw_recording *r;
	struct fw_error err = { 0 };
	struct fw_sample_batch b;
	static struct fw_sample s;
	bool quiet = argc > 2 && !strcmp(argv[2], "quiet");
	uint64_t bad = 0, sum = 0;
	const char *path = argc > 1 && strcmp(argv[1], "-") ? argv[1] : NULL;
	if (fw_recording_open(path, STDIN_FILENO, &r, &err) != FW_OK) {
		printf("%s: %s\n", err.place, err.message);
		return 1;
	}
	while (fw_recording_next(r, &b, &err) == FW_OK) {
		for (uint32_t i = 0; i < b.count; i++) {
			if (!fw_sample_decode(r, &b.samples[i], &s))
				bad++;
			else if (quiet)
				sum += s.regs.v[7] + s.stack_size;
			else
				print_sample(r, &s);
		}
		fw_recording_release(r, &b);
	}
	print_end(r);
	printf("# malformed samples %" PRIu64 "%s\n", bad, sum == 1 ? "!" : "");
	fw_recording_destroy(r);
	return 0;
}
