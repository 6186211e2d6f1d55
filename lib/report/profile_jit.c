#include "lib/report/profile_jit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/limits.h"

void fw_profile_jit_init(struct fw_profile_jit *j, const char *given, const char *folder)
{
	*j = (struct fw_profile_jit){ .given = given, .folder = folder };
	pthread_mutex_init(&j->lock, NULL);
}

void fw_profile_jit_deinit(struct fw_profile_jit *j)
{
	for (size_t i = 0; i < j->dumps.count; i++)
		fw_jitdump_close(j->dumps.data[i].dump);
	for (size_t i = 0; i < j->maps.count; i++)
		fw_perf_map_close(j->maps.data[i].map);
	fw_vec_deinit(&j->dumps);
	fw_vec_deinit(&j->maps);
	pthread_mutex_destroy(&j->lock);
}

__attribute__((format(printf, 3, 4)))
static void note(struct fw_profile_jit *j, const char *path, const char *format, ...)
{
	if (j->num_notes < FW_MAX_JIT_NOTES) {
		struct fw_snapshot_note *n = &j->notes[j->num_notes];
		const char *base = strrchr(path, '/');
		snprintf(n->place, sizeof(n->place), "%s", base == NULL ? path : base + 1);
		va_list args;
		va_start(args, format);
		vsnprintf(n->message, sizeof(n->message), format, args);
		va_end(args);
	}
	j->num_notes++;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

/** @p path's file as --jit has it: a folder's file of that name, or a file so named. */
static char *given_path(const struct fw_profile_jit *j, const char *name)
{
	char *path = NULL;
	if (j->given == NULL)
		return NULL;
	const char *base = strrchr(j->given, '/');
	base = base == NULL ? j->given : base + 1;
	if (!is_folder(j->given))
		return strcmp(base, name) == 0 ? strdup(j->given) : NULL;
	if (asprintf(&path, "%s/%s", j->given, name) < 0)
		return NULL;
	if (exists(path))
		return path;
	free(path);
	return NULL;
}

// ---- jitdumps ----

bool fw_is_jitdump_name(struct fw_str path)
{
	static const char before[] = "jit-", after[] = ".dump";
	struct fw_str base = fw_base_name(path);
	if (base.n < sizeof(before) + sizeof(after) - 1 ||
	    memcmp(base.s, before, sizeof(before) - 1) != 0 ||
	    memcmp(base.s + base.n - (sizeof(after) - 1), after, sizeof(after) - 1) != 0)
		return false;
	struct fw_text digits = { base.s + sizeof(before) - 1,
				  base.s + base.n - (sizeof(after) - 1) };
	uint64_t pid;
	return fw_text_dec(&digits, &pid) && digits.p == digits.end;
}

static struct fw_jitdump *open_dump(struct fw_profile_jit *j, const char *recorded)
{
	const char *base = strrchr(recorded, '/');
	char *given = given_path(j, base == NULL ? recorded : base + 1);
	const char *path = given == NULL ? recorded : given;
	struct fw_jitdump *d = NULL;
	struct fw_error err;
	if (fw_jitdump_open(path, given == NULL, &d, &err) != FW_OK) {
		d = NULL;
		note(j, path, "%s%s%s", err.place, *err.place ? ": " : "", err.message);
	} else {
		struct fw_jit_counts c = fw_jitdump_counts(d);
		if (c.torn_at != 0)
			note(j, path, "it is torn at offset 0x%llx",
			     (unsigned long long)c.torn_at);
		if (c.malformed != 0)
			note(j, path, "%u malformed records are passed over", c.malformed);
		if (c.too_many != 0)
			note(j, path, "%u functions past the first %d are left out", c.too_many,
			     FW_MAX_JIT_CODE);
	}
	free(given);
	return d;
}

const struct fw_jitdump *fw_profile_jitdump(struct fw_profile_jit *j, uint32_t dso,
					    const char *recorded)
{
	struct fw_jitdump *d = NULL;
	size_t i = 0;
	pthread_mutex_lock(&j->lock);
	while (i < j->dumps.count && j->dumps.data[i].number != dso)
		i++;
	if (i < j->dumps.count) {
		d = j->dumps.data[i].dump;
	} else if (fw_vec_reserve(&j->dumps, 1)) {
		d = open_dump(j, recorded);
		j->dumps.data[j->dumps.count++] = (struct fw_jit_file){ dso, d, NULL };
	}
	pthread_mutex_unlock(&j->lock);
	return d;
}

// ---- perf maps ----

/** The process's number in its own namespace, while it lives; 0: it does not. */
static uint32_t pid_inside(uint32_t pid)
{
	char path[64], line[256];
	unsigned inside = 0;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	FILE *f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *last = strrchr(line, '\t');
		if (strncmp(line, "NSpid:", 6) == 0 && last != NULL)
			inside = (unsigned)strtoul(last + 1, NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return inside;
}

/** Where the map of a process is; malloc'd, NULL: nowhere. */
static char *map_path(const struct fw_profile_jit *j, uint32_t pid, bool *ret_owned)
{
	char name[32], *path;
	snprintf(name, sizeof(name), "perf-%u.map", pid);
	*ret_owned = false;
	path = given_path(j, name);
	if (path != NULL)
		return path;
	*ret_owned = true;
	if (j->folder == NULL)
		return NULL;
	if (asprintf(&path, "%s/%s", j->folder, name) < 0)
		return NULL;
	if (exists(path))
		return path;
	free(path);
	// in a container, as long as it runs
	uint32_t inside = pid_inside(pid);
	if (inside == 0 || asprintf(&path, "/proc/%u/root%s/perf-%u.map", pid, j->folder,
				    inside) < 0)
		return NULL;
	if (exists(path))
		return path;
	free(path);
	return NULL;
}

static struct fw_perf_map *open_map(struct fw_profile_jit *j, uint32_t pid)
{
	struct fw_perf_map *m = NULL;
	struct fw_error err;
	bool owned;
	char *path = map_path(j, pid, &owned);
	if (path == NULL)
		return NULL;
	if (fw_perf_map_open(path, owned, &m, &err) != FW_OK) {
		m = NULL;
		note(j, path, "%s", err.message);
	} else if (fw_perf_map_skipped(m) != 0) {
		note(j, path, "%u malformed lines are passed over", fw_perf_map_skipped(m));
	}
	free(path);
	return m;
}

const struct fw_perf_map *fw_profile_perf_map(struct fw_profile_jit *j, uint32_t pid)
{
	struct fw_perf_map *m = NULL;
	pthread_mutex_lock(&j->lock);
	size_t i = j->maps.count;	// places come sorted by process: the last is likely it
	while (i > 0 && j->maps.data[i - 1].number != pid)
		i--;
	if (i > 0) {
		m = j->maps.data[i - 1].map;
	} else if (fw_vec_reserve(&j->maps, 1)) {
		m = open_map(j, pid);
		j->maps.data[j->maps.count++] = (struct fw_jit_file){ pid, NULL, m };
	}
	pthread_mutex_unlock(&j->lock);
	return m;
}

// ---- rules ----

static void empty(struct fw_jit_rule_slot *s)
{
	if (s->code == NULL)
		return;
	fw_dwarf_decoder_destroy(s->decoder);
	fw_program_set_deinit(&s->programs);
	free(s->fdes);
	*s = (struct fw_jit_rule_slot){ 0 };
}

void fw_jit_rules_deinit(struct fw_jit_rules *r)
{
	for (unsigned i = 0; i < FW_JIT_RULE_SLOTS; i++)
		empty(&r->slots[i]);
}

/** perf inject lays .eh_frame 8-aligned behind the code, and its addresses count on that. */
static void fill(struct fw_jit_rule_slot *s, const struct fw_jit_code *code,
		 const struct fw_cpu *cpu)
{
	const struct fw_dwarf_cfi cfi = {
		.bytes = code->eh_frame, .address = code->start + ((code->size + 7) & ~UINT64_C(7)),
		.text_address = code->start, .data_address = code->start,
		.cpu = cpu, .eh_frame = true, .address_size = cpu->word_size,
	};
	struct fw_cfi_skipped skipped = { 0 };
	s->code = code;
	fw_program_set_init(&s->programs);
	if (fw_dwarf_cfi_list(&cfi, &s->fdes, &s->num_fdes, &skipped) != FW_OK ||
	    fw_dwarf_decoder_create(&cfi, NULL, &s->programs, &s->decoder) != FW_OK)
		s->num_fdes = 0;
}

const struct fw_rule *fw_jit_rules_at(struct fw_jit_rules *r, const struct fw_jit_code *code,
				      const struct fw_cpu *cpu, uint64_t address,
				      uint32_t *ret_count, struct fw_programs *programs)
{
	struct fw_jit_rule_slot *s = &r->slots[((uintptr_t)code / sizeof(*code)) %
					       FW_JIT_RULE_SLOTS];
	const struct fw_rule *rules;
	*ret_count = 0;
	if (code->eh_frame.size == 0 || code->size > UINT32_MAX)
		return NULL;
	if (s->code != code) {
		empty(s);
		fill(s, code, cpu);
	}
	for (uint32_t i = 0; i < s->num_fdes; i++) {
		if (address - s->fdes[i].start >= s->fdes[i].size)
			continue;
		if (fw_dwarf_row_at(s->decoder, &s->fdes[i], code->start,
				    (uint32_t)(address - code->start), &rules, ret_count) != FW_OK)
			return NULL;
		*programs = (struct fw_programs){
			s->programs.ops.data, s->programs.programs.data,
			(uint32_t)s->programs.ops.count, (uint32_t)s->programs.programs.count };
		return rules;
	}
	return NULL;
}
