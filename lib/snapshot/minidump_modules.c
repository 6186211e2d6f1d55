#include "lib/snapshot/minidump.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	MODULE_SIZE = 108,
	MODULE_BASE = 0, MODULE_IMAGE_SIZE = 8, MODULE_TIMESTAMP = 16, MODULE_NAME = 20,
	MODULE_VERSION = 24, MODULE_CV_SIZE = 76, MODULE_CV_RVA = 80,
	MODULE_MISC_SIZE = 84, MODULE_MISC_RVA = 88,
	CV_PDB70 = 0x53445352,	// "RSDS"
	CV_PDB20 = 0x3031424e,	// "NB10"
	CV_ELF = 0x4270454c,	// Breakpad: build id
};

// Module under construction: the list's order decides between equals.
struct listed { struct fw_module_info info; uint32_t entry; };

static bool is_apple(enum fw_os os)
{
	return os == FW_OS_MACOS || os == FW_OS_IOS;
}

// The UUID of a Mach-O file is its code id, without the age.
static void code_id_from_uuid(struct fw_ident *ret, const struct fw_ident *debug_id)
{
	struct fw_str text = { debug_id->text, debug_id->n < 32 ? 0 : 32 };
	if (!fw_ident_parse_code(ret, text))
		*ret = (struct fw_ident){ 0 };
}

static void read_codeview(struct md_reader *md, uint32_t entry, const struct fw_bytes *cv,
			  struct fw_module_info *m)
{
	switch (md_u32(cv, 0)) {
	case CV_PDB70:
		if (cv->size < 24)
			break;
		fw_ident_from_guid(&m->debug_id, cv->data + 4, md->s->big_endian, md_u32(cv, 20));
		m->debug_file = md_cstring(cv, 24);
		if (is_apple(md->s->os))
			code_id_from_uuid(&m->code_id, &m->debug_id);
		return;
	case CV_PDB20:
		if (cv->size < 16)
			break;
		fw_ident_from_pdb20(&m->debug_id, md_u32(cv, 8), md_u32(cv, 12));
		m->debug_file = md_cstring(cv, 16);
		return;
	case CV_ELF:
		fw_ident_from_build_id(&m->debug_id, cv->data + 4, cv->size - 4);
		fw_ident_code_from_build_id(&m->code_id, cv->data + 4, cv->size - 4);
		m->debug_file = m->code_file;
		return;
	default:
		md_note(md, "module", entry, "CodeView record 0x%08x is not known", md_u32(cv, 0));
		return;
	}
	md_note(md, "module", entry, "the CodeView record is too short");
}

static void read_ids(struct md_reader *md, uint32_t entry, const struct fw_bytes *e,
		     struct fw_module_info *m)
{
	struct fw_bytes cv;
	uint32_t cv_size = md_u32(e, MODULE_CV_SIZE), cv_rva = md_u32(e, MODULE_CV_RVA);
	if (md->s->os == FW_OS_WINDOWS)
		fw_ident_code_from_pe(&m->code_id, m->timestamp, md_u32(e, MODULE_IMAGE_SIZE));
	if (cv_size == 0)
		return;
	if (!fw_bytes_range(&md->file, cv_rva, cv_size, &cv))
		md_note(md, "module", entry, "CodeView record at offset 0x%x leaves the file",
			cv_rva);
	else if (cv_size < 4)
		md_note(md, "module", entry, "the CodeView record is too short");
	else
		read_codeview(md, entry, &cv, m);
}

// IMAGE_DEBUG_MISC, obsolete: the only name that modules with a .dbg file have.
static void read_misc_record(struct md_reader *md, const struct fw_bytes *e,
			     struct fw_module_info *m)
{
	enum { UNICODE = 8, DATA = 12 };
	struct fw_bytes misc;
	if (!fw_bytes_range(&md->file, md_u32(e, MODULE_MISC_RVA), md_u32(e, MODULE_MISC_SIZE),
			    &misc) || misc.size <= DATA)
		return;
	if (misc.data[UNICODE])
		m->debug_file = md_utf16(md, &misc, DATA,
					 misc.size < FW_MAX_NAME ? misc.size / 2 : FW_MAX_NAME / 2);
	else
		m->debug_file = md_cstring(&misc, DATA);
}

static void read_version(struct md_reader *md, const struct fw_bytes *e,
			 struct fw_module_info *m)
{
	enum { SIGNATURE = 0xfeef04bd };
	char text[48];
	int n;
	if (md_u32(e, MODULE_VERSION) != SIGNATURE)
		return;
	uint32_t hi = md_u32(e, MODULE_VERSION + 8), lo = md_u32(e, MODULE_VERSION + 12);
	if (md->s->os == FW_OS_LINUX || md->s->os == FW_OS_ANDROID)
		// rust-minidump's writer: four whole numbers from the shared object's name
		n = snprintf(text, sizeof(text), "%u.%u.%u.%u", hi, lo,
			     md_u32(e, MODULE_VERSION + 16), md_u32(e, MODULE_VERSION + 20));
	else
		n = snprintf(text, sizeof(text), "%u.%u.%u.%u", hi >> 16, hi & 0xffff, lo >> 16,
			     lo & 0xffff);
	m->version = md_strdup(md, text, (size_t)n);
}

// False: the entry is left out.
static bool read_module(struct md_reader *md, uint32_t entry, const struct fw_bytes *e,
			struct fw_module_info *m)
{
	m->base = md_address(md, md_u64(e, MODULE_BASE));
	m->size = md_u32(e, MODULE_IMAGE_SIZE);
	m->timestamp = md->s->os == FW_OS_WINDOWS ? md_u32(e, MODULE_TIMESTAMP) : 0;
	if (m->size && m->size - 1 > md->s->cpu->word_mask - m->base) {
		md_note(md, "module", entry, "0x%llx bytes at 0x%llx leave the address space",
			(unsigned long long)m->size, (unsigned long long)m->base);
		return false;
	}
	m->code_file = md_string(md, "module", entry, "name", md_u32(e, MODULE_NAME));
	m->is_main = entry == 0;
	read_ids(md, entry, e, m);
	if (!m->debug_file.n)
		read_misc_record(md, e, m);
	read_version(md, e, m);
	return true;
}

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	if (x->info.base != y->info.base)
		return x->info.base < y->info.base ? -1 : 1;
	return x->entry < y->entry ? -1 : 1;
}

// Ascending; of those at one address the first listed; the lower of two that
// overlap is cut where the higher one starts. One of size 0 hides nothing.
static void arrange(struct md_reader *md, struct listed *listed, uint32_t count)
{
	struct fw_snapshot *s = md->s;
	uint32_t *mapped = md_array(md, count, sizeof(*mapped));
	s->modules = md_array(md, count, sizeof(*s->modules));
	if (md->no_memory)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct fw_module_info *m = &listed[i].info;
		struct fw_module_info *below = s->num_mapped ?
			&s->modules[mapped[s->num_mapped - 1]] : NULL;
		if (m->size && below && below->base == m->base) {
			md_note(md, "module", listed[i].entry, "another one starts at 0x%llx too",
				(unsigned long long)m->base);
			continue;
		}
		if (m->size && below && below->size > m->base - below->base) {
			md_note(md, "module", listed[i].entry,
				"cuts the module at 0x%llx that reaches into it",
				(unsigned long long)below->base);
			below->size = m->base - below->base;
		}
		if (m->size)
			mapped[s->num_mapped++] = s->num_modules;
		md->module_of_entry[listed[i].entry] = s->num_modules;
		s->modules[s->num_modules++] = *m;
	}
	s->mapped = mapped;
	s->module_room = count;
}

void md_read_modules(struct md_reader *md)
{
	struct md_list list;
	uint32_t count = 0;
	if (!md_counted_list(md, MD_MODULE_LIST, "ModuleList", MODULE_SIZE, FW_MAX_MODULES,
			     &list))
		return;
	struct listed *listed = md_array(md, list.count, sizeof(*listed));
	md->module_of_entry = md_array(md, list.count, sizeof(*md->module_of_entry));
	if (md->no_memory)
		return;
	md->num_module_entries = list.count;
	for (uint32_t i = 0; i < list.count && !md->no_memory; i++) {
		struct fw_bytes e = md_entry(&list, i);
		md->module_of_entry[i] = MD_NO_INDEX;
		listed[count].entry = i;
		if (read_module(md, i, &e, &listed[count].info))
			count++;
	}
	qsort(listed, count, sizeof(*listed), compare_listed);
	arrange(md, listed, count);
}

void md_read_unloaded_modules(struct md_reader *md)
{
	enum { NEEDED = 24, HEADER = 12 };
	struct fw_snapshot *s = md->s;
	struct fw_bytes b;
	if (!md_stream(md, MD_UNLOADED_MODULE_LIST, &b))
		return;
	uint32_t header = md_u32(&b, 0), entry = md_u32(&b, 4), count = md_u32(&b, 8);
	if (header < HEADER || entry < NEEDED || header > b.size) {
		md_note(md, "UnloadedModuleList", MD_NO_INDEX, "the header makes no sense");
		return;
	}
	uint64_t here = (b.size - header) / entry;
	if (here > FW_MAX_MODULES)
		here = FW_MAX_MODULES;
	if (here < count) {
		md_note(md, "UnloadedModuleList", MD_NO_INDEX, "%u entries promised, %llu read",
			count, (unsigned long long)here);
		count = (uint32_t)here;
	}
	s->unloaded = md_array(md, count, sizeof(*s->unloaded));
	if (md->no_memory)
		return;
	// An event log: overlaps and repetitions are normal and stay.
	for (uint32_t i = 0; i < count && !md->no_memory; i++) {
		struct fw_unloaded_module *m = &s->unloaded[s->num_unloaded];
		uint64_t at = header + (uint64_t)i * entry;
		m->base = md_address(md, md_u64(&b, at));
		m->size = md_u32(&b, at + 8);
		if (m->size && m->size - 1 > s->cpu->word_mask - m->base) {
			md_note(md, "unloaded module", i, "leaves the address space");
			continue;
		}
		m->code_file = md_string(md, "unloaded module", i, "name", md_u32(&b, at + 20));
		fw_ident_code_from_pe(&m->code_id, md_u32(&b, at + 16), (uint32_t)m->size);
		s->num_unloaded++;
	}
}
