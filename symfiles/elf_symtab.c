#include "symfiles/elf_symtab.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "symfiles/demangle.h"
#include "symfiles/elf_image.h"

// ---- reading ----

static uint64_t symbol_bytes(bool wide)
{
	return wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

/** The value of a dynamic tag; false: not there. */
static bool dynamic(const struct fw_elf *elf, uint64_t tag, uint64_t *ret)
{
	struct fw_bytes b;
	const uint64_t word = elf->wide ? 8 : 4;
	if (!fw_elf_mapped(elf, elf->dynamic, &b))
		return false;
	for (uint64_t at = 0; at + 2 * word <= elf->dynamic_size; at += 2 * word) {
		uint64_t t = 0, v = 0;
		uint32_t t32 = 0, v32 = 0;
		if (elf->wide ? !fw_bytes_u64(&b, at, &t) || !fw_bytes_u64(&b, at + 8, &v)
			      : !fw_bytes_u32(&b, at, &t32) || !fw_bytes_u32(&b, at + 4, &v32))
			return false;
		if ((elf->wide ? t : t32) == tag) {
			*ret = elf->wide ? v : v32;
			return true;
		}
		if ((elf->wide ? t : t32) == DT_NULL)
			return false;
	}
	return false;
}

/*
 * .dynsym of a file without section headers. Nothing states its length but the old
 * hash table; with the new one alone it ends where the strings begin, as all
 * linkers lay it out.
 */
static bool dynamic_symtab(const struct fw_elf *elf, struct fw_elf_symtab *ret)
{
	uint64_t symbols, strings, strings_size, hash, bytes;
	uint32_t chains;
	struct fw_bytes b;
	if (elf->dynamic_size == 0 || !dynamic(elf, DT_SYMTAB, &symbols) ||
	    !dynamic(elf, DT_STRTAB, &strings) || !dynamic(elf, DT_STRSZ, &strings_size))
		return false;
	if (dynamic(elf, DT_HASH, &hash) && fw_elf_mapped(elf, hash, &b) &&
	    fw_bytes_u32(&b, 4, &chains))
		bytes = chains * symbol_bytes(elf->wide);
	else if (strings > symbols)
		bytes = strings - symbols;
	else
		return false;
	return fw_elf_mapped(elf, symbols, &b) &&
	       fw_bytes_range(&b, 0, bytes < b.size ? bytes : b.size, &ret->symbols) &&
	       fw_elf_mapped(elf, strings, &b) &&
	       fw_bytes_range(&b, 0, strings_size < b.size ? strings_size : b.size, &ret->strings);
}

bool fw_elf_symtab(struct fw_elf *elf, uint32_t type, struct fw_elf_symtab *ret)
{
	struct fw_elf_symtab t = { .wide = elf->wide,
				   .object = elf->type == ET_REL ? elf : NULL };
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct fw_elf_shdr *sh = &elf->sections.data[i];
		if (sh->type == type && sh->link > 0 && sh->link <= elf->sections.count &&
		    fw_elf_section_bytes(elf, i, &t.symbols) &&
		    fw_elf_section_bytes(elf, sh->link - 1, &t.strings)) {
			*ret = t;
			return true;
		}
	}
	if (type != SHT_DYNSYM || elf->sections.count > 0 || !dynamic_symtab(elf, &t))
		return false;
	*ret = t;
	return true;
}

bool fw_elf_soname(struct fw_elf *elf, struct fw_str *ret)
{
	struct fw_elf_symtab t = { 0 };
	uint64_t strings, size, name;
	if (elf->dynamic_size == 0 || !dynamic(elf, DT_SONAME, &name) || name > UINT32_MAX ||
	    !dynamic(elf, DT_STRTAB, &strings) || !dynamic(elf, DT_STRSZ, &size) ||
	    !fw_elf_mapped(elf, strings, &t.strings))
		return false;
	if (size < t.strings.size)
		t.strings.size = size;
	*ret = fw_elf_sym_name(&t, (uint32_t)name);
	return ret->n > 0;
}

bool fw_elf_sym(const struct fw_elf_symtab *t, uint64_t i, struct fw_elf_sym *ret)
{
	const struct fw_bytes *b = &t->symbols;
	uint64_t size = symbol_bytes(t->wide), at;
	struct fw_elf_sym s = { 0 };
	uint32_t value = 0, bytes = 0;
	uint8_t info = 0;
	if (i > b->size / size || !fw_bytes_has(b, at = i * size, size))
		return false;
	bool ok = fw_bytes_u32(b, at, &s.name);
	if (t->wide) {
		ok = ok && fw_bytes_u8(b, at + 4, &info) && fw_bytes_u16(b, at + 6, &s.section) &&
		     fw_bytes_u64(b, at + 8, &s.value) && fw_bytes_u64(b, at + 16, &s.size);
	} else {
		ok = ok && fw_bytes_u32(b, at + 4, &value) && fw_bytes_u32(b, at + 8, &bytes) &&
		     fw_bytes_u8(b, at + 12, &info) && fw_bytes_u16(b, at + 14, &s.section);
		s.value = value;
		s.size = bytes;
	}
	if (t->object != NULL && s.section != SHN_UNDEF && s.section <= t->object->sections.count)
		s.value += t->object->sections.data[s.section - 1].address;
	s.type = info & 0xf;
	s.bind = info >> 4;
	*ret = s;
	return ok;
}

struct fw_str fw_elf_sym_name(const struct fw_elf_symtab *t, uint32_t name)
{
	struct fw_str none = { "", 0 };
	if (name >= t->strings.size)
		return none;
	const char *s = (const char *)t->strings.data + name;
	const char *end = memchr(s, 0, t->strings.size - name);
	if (end == NULL || end - s > FW_MAX_SYM_LINE)
		return none;
	// name@VERSION of .symtab; '@' is no letter of any language's own names
	const char *version = memchr(s, '@', (size_t)(end - s));
	return (struct fw_str){ s, (size_t)((version && version > s ? version : end) - s) };
}

// ---- which symbols, which name ----

struct symbol {
	uint32_t start, end;	// end 0: not told by its size
	uint32_t limit;		// end of its section
	uint32_t order;
	uint8_t rank;		// of aliases the lowest is taken
	bool plt;
	struct fw_str name, source;
};

struct collect {
	const struct fw_elf_files *files;
	struct fw_elf *elf;	// the file being read
	uint64_t base;
	struct fw_str source;	// of the local symbols that come
	FW_VEC(struct symbol) symbols;
	uint32_t out_of_range;
};

/*
 * Marks of code and data in ARM, AArch64 and RISC-V objects ("ELF for the Arm
 * Architecture", Mapping symbols): $a $t $d $x, alone or with a dot behind.
 */
static bool is_mark(const struct fw_elf *elf, struct fw_str name)
{
	if (elf->machine != EM_ARM && elf->machine != EM_AARCH64 && elf->machine != EM_RISCV)
		return false;
	return name.n >= 2 && name.s[0] == '$' && strchr("atdx", name.s[1]) != NULL &&
	       (name.n == 2 || name.s[2] == '.' || elf->machine == EM_RISCV);
}

/*
 * Several names at one address: a function's before a label's, then what the
 * program exports before what it hides. That is libdw's order (global, weak,
 * local); binutils takes the first in the table and gdb the one whose string lies
 * last, which say nothing of the names.
 */
static uint8_t rank_of(const struct fw_elf_sym *s)
{
	uint8_t bind = s->bind == STB_LOCAL ? 2 : s->bind == STB_WEAK ? 1 : 0;
	return (uint8_t)((s->type == STT_NOTYPE ? 4 : 0) + bind);
}

/** End of the executable section or segment that holds the symbol; 0: not code. */
static uint64_t code_limit(const struct fw_elf *elf, const struct fw_elf_sym *s)
{
	if (s->section > 0 && s->section <= elf->sections.count) {
		const struct fw_elf_shdr *sh = &elf->sections.data[s->section - 1];
		bool inside = s->value >= sh->address && s->value - sh->address < sh->size;
		uint64_t end = sh->address + sh->size;
		return inside && (sh->flags & SHF_EXECINSTR) && end > sh->address ? end : 0;
	}
	for (size_t i = 0; i < elf->loads.count; i++) {
		const struct fw_elf_load *l = &elf->loads.data[i];
		if (l->executable && s->value >= l->address && s->value < l->end)
			return l->end;
	}
	return 0;
}

static bool add(struct collect *c, const struct fw_elf_sym *s, uint64_t limit, struct fw_str name,
		bool plt)
{
	uint64_t start = s->value - c->base, end, last = limit - c->base;
	if (s->value < c->base || start >= UINT32_MAX ||
	    __builtin_add_overflow(start, s->size, &end)) {
		c->out_of_range++;
		return true;
	}
	if (last > UINT32_MAX)
		last = UINT32_MAX;
	struct symbol sym = {
		.start = (uint32_t)start, .end = (uint32_t)(end < last ? end : last),
		.limit = (uint32_t)last, .order = (uint32_t)c->symbols.count,
		.rank = rank_of(s), .plt = plt, .name = name,
	};
	if (s->bind == STB_LOCAL && !plt)
		sym.source = c->source;
	if (s->size == 0)
		sym.end = 0;
	return fw_vec_push(&c->symbols, sym);
}

static bool take_table(struct collect *c, uint32_t type)
{
	struct fw_elf_symtab t;
	struct fw_elf_sym s;
	if (!fw_elf_symtab(c->elf, type, &t))
		return true;
	c->source = (struct fw_str){ NULL, 0 };
	for (uint64_t i = 1; fw_elf_sym(&t, i, &s); i++) {
		if (s.type == STT_FILE)
			c->source = fw_elf_sym_name(&t, s.name);
		if (s.section == SHN_UNDEF || s.section == SHN_ABS ||
		    (s.type != STT_FUNC && s.type != STT_GNU_IFUNC && s.type != STT_NOTYPE))
			continue;
		if (c->elf->machine == EM_ARM && s.type != STT_NOTYPE)
			s.value &= ~UINT64_C(1);	// Thumb
		uint64_t limit = code_limit(c->elf, &s);
		struct fw_str name = fw_elf_sym_name(&t, s.name);
		if (limit == 0 || name.n == 0 || is_mark(c->elf, name) ||
		    (s.type == STT_NOTYPE && name.n > 2 && memcmp(name.s, ".L", 2) == 0))
			continue;
		if (!add(c, &s, limit, name, false))
			return false;
	}
	return true;
}

static bool take_stub(void *context, uint64_t address, uint64_t size, struct fw_str name)
{
	struct fw_elf_sym s = { .value = address, .size = size, .type = STT_FUNC,
				.bind = STB_LOCAL };
	return address + size < address || add(context, &s, address + size, name, true);
}

static bool take_file(struct collect *c, struct fw_elf *elf, bool mapped)
{
	if (elf == NULL)
		return true;
	c->elf = elf;
	c->base = elf->has_base ? elf->base : c->files->elf->base;
	return take_table(c, SHT_SYMTAB) &&
	       (!mapped || (take_table(c, SHT_DYNSYM) && fw_elf_plt(elf, take_stub, c)));
}

// ---- writing ----

static int by_start(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/** Of aliases one, and no labels inside functions. */
static bool settle(struct collect *c, struct fw_elf_labels *ret)
{
	uint32_t covered = 0;	// up to here a symbol with a size names the code
	if (c->symbols.count > 1)
		qsort(c->symbols.data, c->symbols.count, sizeof(*c->symbols.data), by_start);
	for (size_t i = 0; i < c->symbols.count; i++) {
		const struct symbol *s = &c->symbols.data[i];
		bool alias = i > 0 && s->start == s[-1].start;
		struct fw_elf_label *last = ret->list.count ?
					    &ret->list.data[ret->list.count - 1] : NULL;
		// the name is the first's; a size may come from an alias
		if (alias && last && last->start == s->start && s->end > 0 &&
		    last->end == s->limit)
			last->end = s->end;
		// A label inside a function is no function (gdb's rule for size 0).
		bool label = !alias && s->end == 0 && s->start < covered;
		if (!label && s->end > covered)
			covered = s->end;
		if (alias || label)
			continue;
		struct fw_elf_label e = { .start = s->start, .end = s->end ? s->end : s->limit,
					  .plt = s->plt, .name = s->name, .source = s->source };
		if (!fw_vec_push(&ret->list, e))
			return false;
	}
	return true;
}

bool fw_elf_labels_read(const struct fw_elf_files *files, struct fw_elf_labels *ret)
{
	struct collect c = { .files = files };
	bool ok = take_file(&c, files->elf, true) && take_file(&c, files->debug, false) &&
		  take_file(&c, files->mini, false) && settle(&c, ret);
	ret->out_of_range = c.out_of_range;
	fw_vec_deinit(&c.symbols);
	return ok;
}

void fw_elf_labels_deinit(struct fw_elf_labels *labels)
{
	fw_vec_deinit(&labels->list);
}

static int by_number(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;
	return *a < *b ? -1 : *a > *b;
}

struct namer {
	struct fw_builder *b;
	FW_VEC(uint32_t) funcs;		// starts of those that have names already
	FW_VEC(char) text;
	bool raw_names, details;
};

static bool known_func(const struct namer *n, uint32_t start)
{
	return n->funcs.count > 0 && bsearch(&start, n->funcs.data, n->funcs.count,
					     sizeof(start), by_number) != NULL;
}

static enum fw_code name_id(struct namer *n, const struct fw_elf_label *s, uint32_t *ret)
{
	static const char at_plt[] = "@plt";
	struct fw_str name = s->name;
	size_t length = n->raw_names ? 0 : fw_demangle(name, n->text.data);
	if (length > 0)
		name = (struct fw_str){ n->text.data, length };
	if (!s->plt)
		return fw_intern_add(&n->b->strings, name.s, name.n, ret);
	if (name.n > FW_MAX_DEMANGLED)
		name.n = FW_MAX_DEMANGLED;
	if (name.s != n->text.data)
		memcpy(n->text.data, name.s, name.n);
	memcpy(n->text.data + name.n, at_plt, sizeof(at_plt) - 1);
	return fw_intern_add(&n->b->strings, n->text.data, name.n + sizeof(at_plt) - 1, ret);
}

static enum fw_code write_source(struct namer *n, const struct fw_elf_label *label)
{
	struct fw_func_decl d = { label->start,
				  { FW_NO_INDEX, FW_NO_INDEX, 0, FW_NO_INDEX } };
	if (label->source.n == 0)
		return FW_OK;
	enum fw_code code = fw_intern_add(&n->b->strings, label->source.s, label->source.n,
					  &d.decl.file);
	if (code == FW_OK && !fw_vec_push(&n->b->decls, d))
		code = FW_NO_MEMORY;
	return code;
}

static enum fw_code write_all(struct namer *n, const struct fw_elf_label *labels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fw_public p = { .start = labels[i].start, .end = labels[i].end };
		if (known_func(n, p.start))
			continue;
		enum fw_code code = name_id(n, &labels[i], &p.name);
		if (code == FW_OK && n->details)
			code = write_source(n, &labels[i]);
		if (code != FW_OK)
			return code;
		if (!fw_vec_push(&n->b->publics, p))
			return FW_NO_MEMORY;
	}
	return FW_OK;
}

enum fw_code fw_elf_labels_into(const struct fw_elf_label *labels, size_t count, bool raw_names,
				bool details, struct fw_builder *b, struct fw_error *err)
{
	struct namer n = { .b = b, .raw_names = raw_names, .details = details };
	enum fw_code code = FW_NO_MEMORY;
	if (fw_vec_reserve(&n.text, FW_MAX_DEMANGLED + sizeof("@plt")) &&
	    (b->funcs.count == 0 || fw_vec_reserve(&n.funcs, b->funcs.count))) {
		for (size_t i = 0; i < b->funcs.count; i++)
			n.funcs.data[n.funcs.count++] = b->funcs.data[i].start;
		if (n.funcs.count > 1)
			qsort(n.funcs.data, n.funcs.count, sizeof(uint32_t), by_number);
		code = write_all(&n, labels, count);
	}
	fw_vec_deinit(&n.funcs);
	fw_vec_deinit(&n.text);
	if (code == FW_LIMIT)
		return fw_fail(err, code, NULL, "more than 4 GiB of symbol names");
	return code == FW_OK ? FW_OK : fw_fail(err, code, NULL, "out of memory");
}

enum fw_code fw_elf_symbols_into(const struct fw_elf_files *files, struct fw_builder *b,
				 struct fw_error *err)
{
	struct fw_elf_labels labels = { .out_of_range = 0 };
	enum fw_code code = fw_elf_labels_read(files, &labels) ?
		fw_elf_labels_into(labels.list.data, labels.list.count, files->raw_names,
				   files->details, b, err) :
		fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	for (uint32_t i = 0; i < labels.out_of_range && i < FW_MAX_DIAG_SAMPLES; i++)
		fw_diag_add(&b->diag, FW_DIAG_RANGE, 0);
	fw_elf_labels_deinit(&labels);
	return code;
}
