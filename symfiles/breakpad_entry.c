#include "symfiles/breakpad_loader.h"

/*
 * dump_syms drops `undefined` rules, and with them the only mark of an outermost
 * frame. Functions that nothing calls are told by their names instead, and the
 * rows of their INITs are flagged FW_ROW_ENTRY.
 */
static const struct {
	struct fw_str name;
	bool split;	// glibc's clone: its child's half is an INIT of its own, right behind
} entries[] = {
	{ FW_STR("_start"), false },
	{ FW_STR("_dl_start_user"), false },
	{ FW_STR("_rt0_amd64_linux"), false },
	{ FW_STR("clone"), true },
	{ FW_STR("__clone"), true },
	{ FW_STR("__clone2"), true },
	{ FW_STR("clone3"), true },
	{ FW_STR("__clone3"), true },
	{ FW_STR("__clone_internal"), false },
	{ FW_STR("__bionic_clone"), true },
	{ FW_STR("thread_start"), false },
	{ FW_STR("_thread_start"), false },
};

enum { FW_SPLIT_REACH = 256 };	// bytes that the parts of a clone extend over

static enum fw_code flag_row(struct fw_sym_loader *l, struct fw_cfi_init *init)
{
	struct fw_row row;
	if (init->row == 0)
		return FW_OK;
	fw_sym_get_row(l, init->row, &row);
	row.rules[0].flags |= FW_ROW_ENTRY;
	return fw_cfi_add_row(&l->b->cfi, &row, &init->row);
}

/** Flag the INITs that begin in [start, end), and the one that covers start. */
static enum fw_code flag_range(struct fw_sym_loader *l, const struct fw_span *ranges, uint32_t n,
			       uint32_t start, uint32_t end, bool split)
{
	uint32_t low = 0, high = n;
	while (low < high) {	// first range that ends behind start
		uint32_t middle = low + (high - low) / 2;
		if (ranges[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t last = start;
	for (; low < n; low++) {
		const struct fw_span *r = &ranges[low];
		bool covers = r->start <= start;
		// a function of its own would be aligned
		bool part = split && r->start == last && r->start % 16 != 0 &&
			    r->start - start < FW_SPLIT_REACH;
		if (!covers && !part && r->start >= end)
			break;
		enum fw_code code = flag_row(l, &l->inits.data[r->item]);
		if (code)
			return code;
		last = r->end;
	}
	return FW_OK;
}

void fw_sym_find_entries(struct fw_sym_loader *l)
{
	static_assert(sizeof(entries) / sizeof(entries[0]) == FW_SYM_ENTRY_NAMES, "an id each");
	for (size_t e = 0; e < FW_SYM_ENTRY_NAMES; e++)
		l->entry_ids[e] = fw_intern_find(&l->b->strings, entries[e].name.s,
						 entries[e].name.n);
}

enum fw_code fw_sym_flag_entries(struct fw_sym_loader *l, const struct fw_span *ranges, uint32_t n)
{
	const struct fw_builder *b = l->b;
	for (size_t e = 0; e < sizeof(entries) / sizeof(entries[0]); e++) {
		uint32_t id = l->entry_ids[e];
		enum fw_code code = FW_OK;
		if (id == FW_NO_STRING)
			continue;
		for (size_t i = 0; i < b->publics.count && code == FW_OK; i++)
			if (b->publics.data[i].name == id)
				code = flag_range(l, ranges, n, b->publics.data[i].start,
						  b->publics.data[i].start, entries[e].split);
		for (size_t i = 0; i < b->funcs.count && code == FW_OK; i++)
			if (b->funcs.data[i].name == id)
				code = flag_range(l, ranges, n, b->funcs.data[i].start,
						  b->funcs.data[i].start + b->funcs.data[i].size,
						  false);
		if (code)
			return code;
	}
	return FW_OK;
}
