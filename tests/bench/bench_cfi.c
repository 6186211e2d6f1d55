// Figures of call frame information on one large ELF file; everything that is measured
// is what the commands run, and is compared with the compiled table first.
//
//   bench_cfi FILE rows		rows as a libdw walk counts them, CPU side by side
//   bench_cfi FILE table		fw_elf_cfi_into() once, for callgrind
//   bench_cfi FILE decode		every FDE's program run to its end, no table
//   bench_cfi FILE random [N]	N random addresses of FDEs by fw_lazy_cfi_rules()
#include <dlfcn.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/rules/cfi_find.h"
#include "lib/rules/cfi_walk.h"
#include "symfiles/elf_frames.h"
#include "symfiles/lazy_cfi.h"

enum { ROUNDS = 5 };

static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static struct fw_elf *open_file(const char *path)
{
	struct fw_elf *elf;
	struct fw_error err = { 0 };
	if (fw_elf_open(path, &elf, &err) != FW_OK)
		die(err.message);
	return elf;
}

static struct fw_builder *compile(struct fw_elf *elf)
{
	struct fw_elf_files files = { .elf = elf };
	struct fw_builder *b;
	struct fw_error err = { 0 };
	if (fw_builder_create(&b, &err) != FW_OK || fw_elf_cfi_into(&files, b, &err) != FW_OK ||
	    fw_cfi_finish(&b->cfi) != FW_OK)
		die("does not compile");
	return b;
}

/** Lists the FDEs and runs each to its last address. */
__attribute__((noinline)) void bench_decode(struct fw_elf *elf);
void bench_decode(struct fw_elf *elf)
{
	struct fw_elf_frames f = { 0 };
	struct fw_frame_section *eh = &f.sections[FW_EH_FRAME];
	struct fw_dwarf_decoder *d;
	struct fw_program_set programs;
	struct fw_diag diag = { 0 };
	fw_program_set_init(&programs);
	eh->base = fw_elf_base(elf);
	eh->found = fw_elf_eh_frame(elf, fw_elf_cpu(elf), &eh->cfi);
	if (fw_elf_frames_list(&f, &diag) != FW_OK ||
	    fw_dwarf_decoder_create(&eh->cfi, NULL, &programs, &d) != FW_OK)
		die("does not list");
	for (uint32_t i = 0; i < f.n; i++) {
		const struct fw_frame_section *s;
		const struct fw_fde *fde = fw_elf_frames_fde(&f, i, &s);
		const struct fw_rule *rules;
		uint32_t n;
		if (fw_dwarf_row_at(d, fde, s->base,
				    (uint32_t)(fde->start - s->base + fde->size - 1),
				    &rules, &n) != FW_OK)
			die("does not decode");
	}
	fw_dwarf_decoder_destroy(d);
	fw_program_set_deinit(&programs);
	fw_elf_frames_deinit(&f);
}

// ---- libdw, where it is installed; its headers need not be ----

struct libdw {
	void *(*getcfi)(Elf *);
	int (*addrframe)(void *cfi, uint64_t address, void **ret);
	int (*info)(void *frame, uint64_t *start, uint64_t *end, bool *signal);
	int (*cfa)(void *frame, void **ops, size_t *n);
};

static bool load_libdw(struct libdw *l)
{
	void *so = dlopen("libdw.so.1", RTLD_NOW);
	if (so == NULL)
		return false;
	*(void **)&l->getcfi = dlsym(so, "dwarf_getcfi_elf");
	*(void **)&l->addrframe = dlsym(so, "dwarf_cfi_addrframe");
	*(void **)&l->info = dlsym(so, "dwarf_frame_info");
	*(void **)&l->cfa = dlsym(so, "dwarf_frame_cfa");
	return l->getcfi && l->addrframe && l->info && l->cfa;
}

/** Every row by its address, with its CFA, in the order of addresses. */
static uint64_t walk_libdw(const struct libdw *l, const char *path, struct fw_elf *elf,
			   const struct fw_cfi_table *t)
{
	const uint64_t base = fw_elf_base(elf);
	struct fw_cfi_walk walk;
	struct fw_cfi_stretch s;
	uint64_t rows = 0, done = 0;
	int fd = open(path, O_RDONLY);
	elf_version(EV_CURRENT);
	Elf *e = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	void *cfi = l->getcfi(e), *frame, *ops;
	size_t n;
	if (cfi == NULL)
		die("libdw does not open it");
	fw_cfi_walk_init(&walk, t);
	while (fw_cfi_walk_next(&walk, &s)) {
		uint64_t at = base + (s.start > done ? s.start : done), start, end;
		while (at < base + s.end && l->addrframe(cfi, at, &frame) == 0) {
			if (l->info(frame, &start, &end, &(bool){ false }) < 0 ||
			    l->cfa(frame, &ops, &n) != 0)
				die("libdw gives no row");
			free(frame);
			rows++;
			at = end;
		}
		done = at - base;
	}
	elf_end(e);
	close(fd);
	return rows;
}

static int side_by_side(const char *path)
{
	struct libdw l = { 0 };
	double best = 1e9, theirs = 1e9;
	uint64_t rows = 0;
	bool have = load_libdw(&l);
	for (int i = 0; i < ROUNDS; i++) {
		struct fw_elf *elf = open_file(path);
		double start = cpu();
		struct fw_builder *b = compile(elf);
		double took = cpu() - start;
		best = took < best ? took : best;
		struct fw_cfi_table t;
		fw_cfi_view(&b->cfi, &t);
		start = cpu();
		if (have && i < 2) {	// once is a second
			rows = walk_libdw(&l, path, elf, &t);
			took = cpu() - start;
			theirs = took < theirs ? took : theirs;
		}
		fw_builder_destroy(b);
		fw_elf_close(elf);
	}
	printf("rows %llu table_us %.0f libdw_us %.0f\n", (unsigned long long)rows, best * 1e6,
	       have ? theirs * 1e6 : 0.0);
	return 0;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void check_one(const struct fw_cfi_table *t, struct fw_lazy_cfi *lazy, uint32_t at)
{
	uint32_t n, m;
	const struct fw_rule *a = fw_cfi_rules(t, fw_cfi_find(t, at), &n);
	const struct fw_rule *b = fw_lazy_cfi_rules(lazy, at, &m, NULL);
	bool same = n == m && (a == NULL) == (b == NULL);
	for (uint32_t i = 0; same && i < n; i++)	// programs are numbered as they are met
		same = a[i].kind == b[i].kind && a[i].target == b[i].target &&
		       a[i].reg == b[i].reg && a[i].flags == b[i].flags &&
		       (a[i].arg == b[i].arg || a[i].kind == FW_RULE_PROGRAM ||
			a[i].kind == FW_RULE_LOAD_PROGRAM);
	if (!same) {
		fprintf(stderr, "0x%x: not the table's row\n", at);
		exit(1);
	}
}

static int random_addresses(const char *path, uint32_t n)
{
	struct fw_elf *elf = open_file(path);
	struct fw_builder *b = compile(elf);
	struct fw_lazy_cfi *lazy;
	struct fw_cfi_table t;
	uint32_t *at = malloc(n * sizeof(*at));
	uint64_t state = 88172645463325252, span = 0, found = 0;
	double best = 1e9, first = 0;
	fw_cfi_view(&b->cfi, &t);
	span = (uint64_t)t.num_pages << FW_CFI_PAGE_SHIFT;
	for (uint32_t i = 0; i < n; ) {		// uniform over what has rules
		at[i] = (uint32_t)(next_random(&state) % span);
		i += fw_cfi_find(&t, at[i]) != 0;
	}
	if (fw_lazy_cfi_open(elf, NULL, &lazy) != FW_OK)
		die("not to be read so");
	for (uint32_t i = 0; i < n; i++)
		check_one(&t, lazy, at[i]);
	fw_lazy_cfi_close(lazy);
	for (int round = 0; round < ROUNDS; round++) {
		double start = cpu();
		if (fw_lazy_cfi_open(elf, NULL, &lazy) != FW_OK)
			return 1;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t count;
			found += fw_lazy_cfi_rules(lazy, at[i], &count, NULL) != NULL;
		}
		fw_lazy_cfi_close(lazy);
		double took = cpu() - start;
		best = took < best ? took : best;
		first = round ? first : took;
	}
	if (found != (uint64_t)n * ROUNDS)
		die("rows are missing");
	printf("random %u mean_ns %.0f first_ns %.0f\n", n, best * 1e9 / n, first * 1e9 / n);
	free(at);
	fw_builder_destroy(b);
	fw_elf_close(elf);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	if (strcmp(what, "rows") == 0)
		return side_by_side(argv[1]);
	if (strcmp(what, "random") == 0)
		return random_addresses(argv[1], argc > 3 ? (uint32_t)atoi(argv[3]) : 200000);
	if (strcmp(what, "table") != 0 && strcmp(what, "decode") != 0) {
		fprintf(stderr, "usage: bench_cfi FILE rows|table|decode|random [N]\n");
		return 2;
	}
	struct fw_elf *elf = open_file(argv[1]);
	if (strcmp(what, "table") == 0)
		fw_builder_destroy(compile(elf));
	else
		bench_decode(elf);
	fw_elf_close(elf);
	return 0;
}
