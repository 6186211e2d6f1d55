// Prints the CFI table of an ELF file, a line a change, for comparing with readelf.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rules/cfi_find.h"
#include "symfiles/elf_image.h"

static void print_rule(struct fw_rule r)
{
	switch (r.kind) {
	case FW_RULE_UNDEFINED:
		printf(" %u=u", r.target);
		break;
	case FW_RULE_SAME:
		printf(" %u=s", r.target);
		break;
	case FW_RULE_LOAD_CFA:
		printf(" %u=c%+d", r.target, r.arg);
		break;
	case FW_RULE_CFA:
		printf(" %u=v%+d", r.target, r.arg);
		break;
	case FW_RULE_REG:
		printf(" %u=r%u%+d", r.target, r.reg, r.arg);
		break;
	case FW_RULE_FAILED:
		printf(" %u=?", r.target);
		break;
	default:
		printf(" %u=exp", r.target);
	}
}

static void print_table(const struct fw_cfi_table *t, uint64_t base)
{
	uint32_t last = 0;
	// Whole blocks at once where a block or a page has one row.
	for (uint64_t at = 0; at < (uint64_t)t->num_pages << FW_CFI_PAGE_SHIFT; at++) {
		uint32_t page = t->dir[at >> FW_CFI_PAGE_SHIFT], row;
		uint64_t step = 1;
		if (page & FW_CFI_WHOLE)
			step = UINT64_C(1) << FW_CFI_PAGE_SHIFT;
		else if (fw_cfi_load32(t->pages + page + (at >> FW_CFI_BLOCK_SHIFT & 255) * 4) &
			 FW_CFI_WHOLE)
			step = UINT64_C(1) << FW_CFI_BLOCK_SHIFT;
		row = fw_cfi_find(t, (uint32_t)at);
		if (row != last) {
			uint32_t count = 0;
			const struct fw_rule *rules = fw_cfi_rules(t, row, &count);
			printf("%" PRIx64, base + at);
			if (count && rules[0].flags & FW_ROW_SIGNAL)
				printf(" signal");
			for (uint32_t i = 0; i < count; i++)
				print_rule(rules[i]);
			printf("\n");
		}
		last = row;
		at |= step - 1;
	}
}

int main(int argc, char **argv)
{
	struct fw_elf_files files = { 0 };
	struct fw_builder *b = NULL;
	struct fw_cfi_table table;
	struct fw_error err = { 0 };
	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: print_rows FILE [DEBUG_FILE]   (PRINT=0: only counts)\n");
		return 2;
	}
	enum fw_code rc = fw_elf_open(argv[1], &files.elf, &err);
	if (!rc && argc == 3)
		rc = fw_elf_open(argv[2], &files.debug, &err);
	if (!rc)
		rc = fw_builder_create(&b, &err);
	if (!rc)
		rc = fw_elf_cfi_into(&files, b, &err);
	if (!rc)
		rc = fw_cfi_finish(&b->cfi);
	if (rc) {
		fprintf(stderr, "%s: %s\n", argv[1], err.message);
		return 1;
	}
	fw_cfi_view(&b->cfi, &table);
	rc = fw_cfi_check(&table, &err);
	if (rc)
		fprintf(stderr, "%s: %s\n", argv[1], err.message);
	for (int k = 0; k < FW_DIAG_COUNT; k++)
		if (b->diag.count[k])
			fprintf(stderr, "%s: %u %s\n", argv[1], b->diag.count[k],
				fw_diag_kind_name((enum fw_diag_kind)k));
	const char *print = getenv("PRINT");
	if (print == NULL || strcmp(print, "0") != 0)
		print_table(&table, fw_elf_shown_base(files.elf));
	else
		printf("%u distinct rows, %zu bytes of pages\n", table.num_rows,
		       (size_t)table.pages_size);
	fw_builder_destroy(b);
	fw_elf_close(files.debug);
	fw_elf_close(files.elf);
	return rc != FW_OK;
}
