#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/symbol_options.h"
#include "lib/base/text.h"
#include "lib/report/profile.h"

/** Same order as the option's words. */
enum samples_format { FOLDED, PERF, JSON, NDJSON, PPROF, FIREFOX };

static enum samples_format format_of(const struct fw_args *args)
{
	if (args->value[FW_OPT_JSON].set)
		return JSON;
	return (enum samples_format)args->value[FW_OPT_SAMPLES_FORMAT].number;
}

static bool check_combination(const struct fw_args *args)
{
	const struct fw_opt_value *v = args->value;
	const char *name = args->command->name;
	enum samples_format format = format_of(args);
	size_t wanted = v[FW_OPT_DIFF].set ? 2 : 1;

	if (args->operands.count != wanted)
		fw_usage(name, wanted == 2 ? "--diff compares two recordings: BEFORE AFTER" :
			 args->operands.count == 0 ?
			 "no recording given; framewalk samples --help says how" :
			 "one recording at a time");
	else if (v[FW_OPT_DIFF].set && (v[FW_OPT_SUMMARY].set || format != FOLDED))
		fw_usage(name, "--diff has folded output and --flamegraph");
	else if (v[FW_OPT_PRETTY].set && format != JSON)
		fw_usage(name, "--pretty needs --json");
	else if (v[FW_OPT_KERNEL].set && v[FW_OPT_NO_KERNEL].set)
		fw_usage(name, "--kernel and --no-kernel exclude each other");
	else
		return true;
	return false;
}

// ---- options ----

/** Seconds with up to nine decimals, as perf prints times. False: not that. */
static bool seconds(struct fw_text *t, uint64_t *ret)
{
	uint64_t whole, part = 0, unit = 1000000000;
	if (!fw_text_dec(t, &whole) || whole > UINT64_MAX / unit - 1)
		return false;
	if (t->p < t->end && *t->p == '.') {
		t->p++;
		while (t->p < t->end && (unsigned)(*t->p - '0') < 10) {
			unit /= 10;
			part += (uint64_t)(*t->p++ - '0') * unit;
		}
	}
	*ret = whole * 1000000000 + part;
	return true;
}

/** "A,B", either empty for no limit, as perf script's --time. */
static bool read_time(const char *text, struct fw_profile_options *o)
{
	struct fw_text t = { text, text + strlen(text) };
	o->have_time = true;
	o->time_from = 0;
	o->time_to = UINT64_MAX;
	if (t.p < t.end && *t.p != ',' && !seconds(&t, &o->time_from))
		return false;
	if (t.p == t.end)
		return t.p != text;
	if (*t.p++ != ',')
		return false;
	if (t.p < t.end && !seconds(&t, &o->time_to))
		return false;
	return t.p == t.end && o->time_from <= o->time_to;
}

static struct fw_str text_of(const struct fw_opt_value *v)
{
	return v->set ? (struct fw_str){ v->text, strlen(v->text) } : (struct fw_str){ NULL, 0 };
}

static bool read_options(const struct fw_args *args, struct fw_profile_options *o)
{
	const struct fw_opt_value *v = args->value;
	enum samples_format format = format_of(args);
	*o = (struct fw_profile_options){
		.no_inline = v[FW_OPT_NO_INLINE].set,
		.samples = format == PERF || format == NDJSON || format == FIREFOX,
		.per_thread = v[FW_OPT_PER_THREAD].set || format == PERF || format == FIREFOX,
		.kernel = !v[FW_OPT_NO_KERNEL].set,
		.max_frames = v[FW_OPT_MAX_FRAMES].set ? (uint32_t)v[FW_OPT_MAX_FRAMES].number :
			      FW_MAX_FRAMES,
		.jobs = (unsigned)v[FW_OPT_JOBS].number,
		.comm = text_of(&v[FW_OPT_COMM]),
		.event = text_of(&v[FW_OPT_EVENT]),
		.have_pid = v[FW_OPT_PID].set, .pid = (uint32_t)v[FW_OPT_PID].number,
		.have_tid = v[FW_OPT_TID].set, .tid = (uint32_t)v[FW_OPT_TID].number,
		.kallsyms = v[FW_OPT_KALLSYMS].text,
		.running_kallsyms = "/proc/kallsyms", .kernel_notes = "/sys/kernel/notes",
		.repair = v[FW_OPT_REPAIR].set,
		.jit = v[FW_OPT_JIT].text,
		.perf_maps = "/tmp",
	};
	if (v[FW_OPT_TIME].set && !read_time(v[FW_OPT_TIME].text, o)) {
		fw_usage(args->command->name, "--time wants seconds A,B, not '%.100s'",
			 v[FW_OPT_TIME].text);
		return false;
	}
	return true;
}

// ---- the running system's vDSO ----

/**
 * The vDSO is no file: a copy of our own, under a path that lives as long as the
 * descriptor. -1: there is none.
 */
static int copy_vdso(char path[32])
{
	const ElfW(Ehdr) *image = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	int fd = image == NULL ? -1 : memfd_create("framewalk-vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	// section headers are what its linker wrote last
	size_t size = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	if (write(fd, image, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

// ---- progress ----

struct progress { struct timespec next; bool shown; };

static void show_progress(void *context, uint64_t samples)
{
	struct progress *p = context;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec < p->next.tv_sec ||
	    (now.tv_sec == p->next.tv_sec && now.tv_nsec < p->next.tv_nsec))
		return;
	p->next.tv_sec = now.tv_sec + 1;
	p->shown = true;
	fprintf(stderr, "\r%llu samples ...", (unsigned long long)samples);
}

static void start_progress(struct progress *p, struct fw_profile_options *o)
{
	*p = (struct progress){ 0 };
	if (!isatty(STDERR_FILENO))
		return;
	clock_gettime(CLOCK_MONOTONIC, &p->next);
	p->next.tv_sec++;
	o->progress = show_progress;
	o->progress_context = p;
}

// ---- work ----

struct session {
	const struct fw_args *args;
	struct fw_symbols *symbols;
	struct fw_profile_options options;
	struct fw_recording *recordings[2];
	struct fw_profile *profiles[2];
};

static bool open_one(struct session *s, unsigned i)
{
	const char *path = s->args->operands.data[i];
	bool piped = strcmp(path, "-") == 0;
	struct progress progress;
	struct fw_error err;
	if (fw_recording_open(piped ? NULL : path, STDIN_FILENO, &s->recordings[i],
			      &err) != FW_OK) {
		fw_complain(path, &err);
		return false;
	}
	start_progress(&progress, &s->options);
	bool ok = fw_profile_create(s->recordings[i], path, s->symbols, &s->options,
				    &s->profiles[i], &err) == FW_OK;
	if (progress.shown)
		fprintf(stderr, "\r\033[K");
	if (!ok) {
		fw_complain(path, &err);
		return false;
	}
	const struct fw_recording *r = s->recordings[i];
	for (uint32_t k = 0; k < r->num_notes && k < FW_MAX_SNAPSHOT_NOTES; k++)
		fw_log(FW_LOG_WARN, path, "%s: %s", r->notes[k].place, r->notes[k].message);
	return true;
}

static void write_profile(const struct session *s, struct fw_out *out)
{
	const struct fw_opt_value *v = s->args->value;
	const struct fw_folded_options folded = { v[FW_OPT_NO_INLINE].set, v[FW_OPT_ANNOTATE].set,
						  v[FW_OPT_WEIGHT].set };
	const struct fw_profile *p = s->profiles[0];
	bool pretty = v[FW_OPT_PRETTY].set;
	if (v[FW_OPT_DIFF].set)
		return fw_profile_write_diff(s->profiles[0], s->profiles[1], out);
	if (v[FW_OPT_SUMMARY].set) {
		if (v[FW_OPT_JSON].set)
			return fw_profile_write_summary_json(p, pretty, out);
		return fw_profile_write_summary(p, out);
	}
	switch (format_of(s->args)) {
	case FOLDED: return fw_profile_write_folded(p, &folded, out);
	case PERF: return fw_profile_write_perf(p, out);
	case JSON: return fw_profile_write_json(p, pretty, out);
	case NDJSON: return fw_profile_write_ndjson(p, out);
	case PPROF: return fw_profile_write_pprof(p, out);
	case FIREFOX: return fw_profile_write_firefox(p, out);
	}
}

static int write_page(const struct session *s)
{
	const char *path = s->args->value[FW_OPT_FLAMEGRAPH].text;
	bool diff = s->args->value[FW_OPT_DIFF].set;
	struct fw_output output;
	if (!fw_output_open(&output, path))
		return FW_EXIT_UNUSABLE;
	fw_profile_write_flamegraph(s->profiles[diff], diff ? s->profiles[0] : NULL, &output.out);
	return fw_output_close(&output, FW_EXIT_OK);
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && memcmp(text + n - m, end, m) == 0;
}

/** By the output's name; a pprof is gzip unless its name says otherwise. */
static bool compressed(const struct fw_args *args)
{
	const char *path = args->value[FW_OPT_OUTPUT].text;
	if (path != NULL && ends_in(path, ".gz"))
		return true;
	return format_of(args) == PPROF && (path == NULL || !ends_in(path, ".pb"));
}

/** @p status: what is to be told besides. */
static int write_all(const struct session *s, int status)
{
	const struct fw_opt_value *v = s->args->value;
	struct fw_output output;
	int page = v[FW_OPT_FLAMEGRAPH].set ? write_page(s) : FW_EXIT_OK;
	if (page != FW_EXIT_OK)
		status = page;
	// A page is asked for instead of the stacks, unless they are asked for too.
	if (v[FW_OPT_FLAMEGRAPH].set && !v[FW_OPT_SAMPLES_FORMAT].set && !v[FW_OPT_JSON].set &&
	    !v[FW_OPT_SUMMARY].set && !v[FW_OPT_OUTPUT].set)
		return status;
	if (!fw_output_open(&output, v[FW_OPT_OUTPUT].text))
		return FW_EXIT_UNUSABLE;
	struct fw_error err;
	if (compressed(s->args) && fw_out_gzip(&output.out, &err) != FW_OK)
		fw_complain(output.name, &err);
	write_profile(s, &output.out);
	return fw_output_close(&output, status);
}

int fw_cmd_samples(const struct fw_args *args)
{
	struct session s = { .args = args };
	char vdso[32];
	struct utsname system;
	int status = FW_EXIT_UNUSABLE;

	if (!check_combination(args) || !read_options(args, &s.options))
		return FW_EXIT_USAGE;
	bool there = fw_symbol_paths_are_there(args);
	if (!fw_symbols_of_captures(args, true, &s.symbols))
		return FW_EXIT_UNUSABLE;
	const char *given = args->value[FW_OPT_VDSO].text;
	int vdso_fd = given != NULL ? -1 : copy_vdso(vdso);
	s.options.vdso = vdso_fd < 0 ? given : vdso;
	if (uname(&system) == 0)
		s.options.kernel_release = system.release;
	bool ok = open_one(&s, 0) && (!args->value[FW_OPT_DIFF].set || open_one(&s, 1));
	if (ok)
		status = write_all(&s, there ? FW_EXIT_OK : FW_EXIT_UNUSABLE);
	for (unsigned i = 0; i < 2; i++) {
		fw_profile_destroy(s.profiles[i]);
		fw_recording_destroy(s.recordings[i]);
	}
	fw_symbols_destroy(s.symbols);
	if (vdso_fd >= 0)
		close(vdso_fd);
	return status;
}
