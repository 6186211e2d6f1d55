#include <libdwarf/dwarf.h>
#include <stdlib.h>

#include "lib/base/arena.h"
#include "symfiles/demangle.h"
#include "symfiles/dwarf_internal.h"

// Names of functions: the linkage name demangled, else the plain name behind its
// scopes; found along specifications and abstract origins, across units.

enum { MAX_SCOPES = 64 };

static uint32_t hash(uint64_t key, uint32_t mask)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & mask;
}

bool fw_dw_memo_find(const struct fw_dw_memo_table *t, uint64_t key, uint32_t *ret)
{
	if (!t->slots)
		return false;
	uint32_t at = hash(key, t->mask);
	while (t->slots[at].key && t->slots[at].key != key)
		at = (at + 1) & t->mask;
	*ret = t->slots[at].value;
	return t->slots[at].key != 0;
}

static bool grow(struct fw_dw_memo_table *t)
{
	uint32_t size = t->slots ? (t->mask + 1) * 2 : 256;
	struct fw_dw_memo *slots = fw_alloc_should_fail() || size == 0 ? NULL :
				   calloc(size, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; t->slots && i <= t->mask; i++) {
		if (!t->slots[i].key)
			continue;
		uint32_t at = hash(t->slots[i].key, size - 1);
		while (slots[at].key)
			at = (at + 1) & (size - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->mask = size - 1;
	return true;
}

bool fw_dw_memo_add(struct fw_dw_memo_table *t, uint64_t key, uint32_t value)
{
	if ((!t->slots || t->count > t->mask / 2) && !grow(t))
		return false;
	uint32_t at = hash(key, t->mask);
	while (t->slots[at].key)
		at = (at + 1) & t->mask;
	t->slots[at] = (struct fw_dw_memo){ key, value };
	t->count++;
	return true;
}

void fw_dw_memo_clear(struct fw_dw_memo_table *t)
{
	free(t->slots);
	*t = (struct fw_dw_memo_table){ NULL, 0, 0 };
}

static enum fw_code intern(struct fw_dw_loader *l, struct fw_str s, uint32_t *ret)
{
	*ret = FW_NO_STRING;
	if (s.n == 0)
		return FW_OK;
	if (s.n > FW_MAX_DEMANGLED)
		s.n = FW_MAX_DEMANGLED;
	if (s.n > l->text_left) {
		fw_dw_bad(l, FW_DIAG_LIMIT);
		return FW_OK;
	}
	l->text_left -= s.n;
	return fw_intern_add(&l->b->strings, s.s, s.n, ret);
}

/** A name that may be mangled. Many units name the same string. */
enum fw_code fw_dw_mangled_name(struct fw_dw_loader *l, struct fw_str name, uint32_t *ret)
{
	uint64_t key = (uintptr_t)name.s;
	if (l->files->raw_names || !fw_is_mangled(name))
		return intern(l, name, ret);
	if (fw_dw_memo_find(&l->mangled, key, ret))
		return FW_OK;
	size_t n = fw_demangle(name, l->text);
	enum fw_code code = intern(l, n ? (struct fw_str){ l->text, n } : name, ret);
	if (code == FW_OK && !fw_dw_memo_add(&l->mangled, key, *ret))
		code = FW_NO_MEMORY;
	return code;
}

/** A unit's scopes: at hand, or read now and kept. */
static enum fw_code scopes_of(struct fw_dw_loader *l, struct fw_dw_unit *u,
			      const struct fw_dw_scopes **ret)
{
	if (u == l->unit || u->scopes) {
		*ret = u->scopes ? u->scopes : &l->scopes;
		return FW_OK;
	}
	u->scopes = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*u->scopes));
	if (!u->scopes)
		return FW_NO_MEMORY;
	*ret = u->scopes;
	enum fw_code code = fw_dw_scan(l, u, FW_DW_SCAN_SCOPES, u->scopes);
	return code == FW_NO_MEMORY ? code : FW_OK;
}

/** Index of the innermost scope around an offset, or FW_NO_INDEX. */
static uint32_t scope_around(const struct fw_dw_scopes *scopes, uint64_t offset)
{
	size_t low = 0, n = scopes->list.count;
	while (n) {
		size_t half = n / 2;
		if (scopes->list.data[low + half].offset < offset) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	uint32_t i = low ? (uint32_t)low - 1 : FW_NO_INDEX;
	while (i != FW_NO_INDEX && scopes->list.data[i].end <= offset)
		i = scopes->list.data[i].parent;
	return i;
}

static struct fw_str scope_name(const struct fw_dw_unit *u, uint64_t offset)
{
	struct fw_dw_die die;
	if (!fw_dw_die_at(u, offset, &die))
		return (struct fw_str){ NULL, 0 };
	struct fw_str name = fw_dw_string(&die, FW_DW_NAME);
	uint64_t at;
	struct fw_dw_unit *other = name.n ? NULL : fw_dw_reference(&die, FW_DW_SPEC, &at);
	if (other && fw_dw_die_at(other, at, &die))
		name = fw_dw_string(&die, FW_DW_NAME);
	if (name.n == 0 && die.abbrev->tag == DW_TAG_namespace)
		return FW_STR("(anonymous namespace)");
	return name;
}

static bool append(char *text, size_t *n, struct fw_str s)
{
	if (s.n > FW_MAX_DEMANGLED - *n)
		return false;
	memcpy(text + *n, s.s, s.n);
	*n += s.n;
	return true;
}

/** `name` behind the names of the scopes around the DIE at @p offset. */
static enum fw_code qualified_name(struct fw_dw_loader *l, struct fw_dw_unit *u,
				   uint64_t offset, struct fw_str name, uint32_t *ret)
{
	uint32_t around[MAX_SCOPES], count = 0;
	const struct fw_dw_scopes *scopes;
	size_t n = 0;
	enum fw_code code = scopes_of(l, u, &scopes);
	if (code)
		return code;
	uint32_t i = scope_around(scopes, offset);
	for (; i != FW_NO_INDEX && count < MAX_SCOPES; i = scopes->list.data[i].parent)
		around[count++] = i;
	while (count--) {
		struct fw_str s = scope_name(u, scopes->list.data[around[count]].offset);
		if (s.n && (!append(l->text, &n, s) || !append(l->text, &n, FW_STR("::"))))
			n = 0;
	}
	if (n == 0 || !append(l->text, &n, name))
		return intern(l, name, ret);
	return intern(l, (struct fw_str){ l->text, n }, ret);
}

static enum fw_code resolve(struct fw_dw_loader *l, struct fw_dw_unit *u, uint64_t offset,
			    uint32_t *ret)
{
	struct fw_str name = { NULL, 0 };
	*ret = FW_NO_STRING;
	for (unsigned i = 0; i < FW_MAX_DIE_CHAIN; i++) {
		struct fw_dw_die die;
		if (!fw_dw_read_root(u) || !fw_dw_die_at(u, offset, &die))
			break;
		struct fw_str linkage = fw_dw_string(&die, FW_DW_LINKAGE);
		if (linkage.n)
			return fw_dw_mangled_name(l, linkage, ret);
		if (name.n == 0)
			name = fw_dw_string(&die, FW_DW_NAME);
		uint64_t at = 0;
		struct fw_dw_unit *next = fw_dw_reference(&die, FW_DW_ORIGIN, &at);
		if (!next)
			next = fw_dw_reference(&die, FW_DW_SPEC, &at);
		if (!next)
			break;
		u = next;
		offset = at;
	}
	l->plain_name = u->qualifies;
	if (name.n && u->qualifies && !l->files->raw_names)
		return qualified_name(l, u, offset, name, ret);
	// assemblers give mangled names as plain ones
	return fw_dw_mangled_name(l, name, ret);
}

enum fw_code fw_dw_name(struct fw_dw_loader *l, struct fw_dw_unit *u, uint64_t die,
			uint32_t *ret)
{
	uint64_t file = u->file == &l->alt ? UINT64_C(1) << 63 : 0;
	uint64_t key = (die + 1) | file;
	l->plain_name = false;
	if (fw_dw_memo_find(&l->names, key, ret))
		return FW_OK;
	enum fw_code code = resolve(l, u, die, ret);
	if (code == FW_OK && !fw_dw_memo_add(&l->names, key, *ret))
		code = FW_NO_MEMORY;
	return code;
}
