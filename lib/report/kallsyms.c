#include "lib/report/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/base/limits.h"
#include "lib/base/vec.h"

struct symbol { uint64_t address; uint32_t name, length; };

struct fw_kallsyms {
	struct fw_file file;		// names are views of it
	FW_VEC(struct symbol) symbols;	// code, by address
	uint64_t end, init_end;		// of the kernel's text, of that for booting; 0: not known
};

/** One line; false: not a symbol of code. */
static bool parse(struct fw_text line, const char *start, struct symbol *ret)
{
	struct fw_str type, name;
	if (!fw_text_hex(&line, &ret->address) || !fw_text_token(&line, &type) ||
	    !fw_text_token(&line, &name) || type.n != 1 || strchr("tTwW", type.s[0]) == NULL ||
	    ret->address == 0 || name.n > FW_MAX_NAME)
		return false;
	ret->name = (uint32_t)(name.s - start);
	ret->length = (uint32_t)name.n;
	return true;
}

static int by_address(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

enum fw_code fw_kallsyms_open(const char *path, struct fw_kallsyms **ret, struct fw_error *err)
{
	struct fw_kallsyms *k = calloc(1, sizeof(*k));
	if (k == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	// a file of /proc has no size: it must be read to its end
	enum fw_code code = fw_file_open(&k->file, path, FW_MAX_KALLSYMS, err);
	if (code != FW_OK) {
		free(k);
		return code;
	}
	const char *start = (const char *)k->file.data, *p = start, *end = start + k->file.size;
	while (p < end && code == FW_OK) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct symbol s;
		if (newline == NULL)
			newline = end;
		if (parse((struct fw_text){ p, newline }, start, &s) &&
		    !fw_vec_push(&k->symbols, s))
			code = fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
		p = newline + 1;
	}
	if (code == FW_OK && k->symbols.count == 0)
		code = fw_fail(err, FW_MALFORMED, NULL, "no address of code in it");
	if (code != FW_OK) {
		fw_kallsyms_close(k);
		return code;
	}
	qsort(k->symbols.data, k->symbols.count, sizeof(*k->symbols.data), by_address);
	(void)fw_kallsyms_address(k, FW_STR("_etext"), &k->end);
	(void)fw_kallsyms_address(k, FW_STR("_einittext"), &k->init_end);
	*ret = k;
	return FW_OK;
}

void fw_kallsyms_close(struct fw_kallsyms *k)
{
	if (k == NULL)
		return;
	fw_vec_deinit(&k->symbols);
	fw_file_close(&k->file);
	free(k);
}

/** "[ext4]" behind a name; empty: nothing there. */
static struct fw_str module_of(const struct fw_kallsyms *k, const struct symbol *s)
{
	const char *start = (const char *)k->file.data;
	struct fw_text rest = { start + s->name + s->length, start + k->file.size };
	const char *newline = memchr(rest.p, '\n', (size_t)(rest.end - rest.p));
	struct fw_str tag;
	if (newline != NULL)
		rest.end = newline;
	if (!fw_text_token(&rest, &tag) || tag.n < 3 || tag.s[0] != '[' || tag.s[tag.n - 1] != ']')
		return (struct fw_str){ NULL, 0 };
	return (struct fw_str){ tag.s + 1, tag.n - 2 };
}

/** Is the address too far behind the kernel's own symbol to be of it? */
static bool is_past(const struct fw_kallsyms *k, const struct symbol *s, uint64_t address)
{
	if (s->address == k->end || s->address == k->init_end)
		return true;
	return s->address < k->end ? address >= k->end :
	       s->address < k->init_end && address >= k->init_end;
}

bool fw_kallsyms_find(const struct fw_kallsyms *k, uint64_t address, struct fw_kallsym *ret)
{
	size_t lo = 0, hi = k->symbols.count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (k->symbols.data[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	// of several names for one address the first in the list
	while (lo > 1 && k->symbols.data[lo - 2].address == k->symbols.data[lo - 1].address)
		lo--;
	const struct symbol *s = &k->symbols.data[lo - 1];
	struct fw_kallsym found = {
		.name = { (const char *)k->file.data + s->name, s->length },
		.module = module_of(k, s), .start = s->address,
	};
	if (found.module.n == 0 && is_past(k, s, address))
		return false;
	*ret = found;
	return true;
}

bool fw_kallsyms_address(const struct fw_kallsyms *k, struct fw_str name, uint64_t *ret)
{
	for (size_t i = 0; i < k->symbols.count; i++) {
		const struct symbol *s = &k->symbols.data[i];
		if (s->length == name.n && memcmp(k->file.data + s->name, name.s, name.n) == 0) {
			*ret = s->address;
			return true;
		}
	}
	return false;
}
