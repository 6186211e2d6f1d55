#include "lib/report/profile_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/file.h"
#include "lib/base/limits.h"
#include "symfiles/elf_file.h"

void fw_profile_kernel_deinit(struct fw_profile_kernel *k)
{
	fw_kallsyms_close(k->list);
	free(k->path);
	*k = (struct fw_profile_kernel){ .asked = false };
}

static bool is_kernel(const struct fw_dso *dso)
{
	return dso->kind == FW_DSO_KERNEL || dso->kind == FW_DSO_KERNEL_MODULE;
}

static const struct fw_dso *recorded_kernel(const struct fw_profile *p)
{
	for (uint32_t i = 0; i < fw_spaces_num_dsos(p->recording->spaces); i++) {
		const struct fw_dso *dso = fw_spaces_dso_at(p->recording->spaces, i);
		if (dso->kind == FW_DSO_KERNEL)
			return dso;
	}
	return NULL;
}

/** The list may be of another boot: what _text was then and is now tells how far it moved. */
static uint64_t slide_of(const struct fw_profile *p, const struct fw_kallsyms *list)
{
	const struct fw_space_view *view = fw_spaces_at(p->recording->spaces, FW_KERNEL_PID,
							p->first_time);
	uint64_t now;
	for (uint32_t i = 0; view != NULL && i < view->num_maps; i++) {
		const struct fw_dso *dso = fw_spaces_dso_at(p->recording->spaces,
							    view->maps[i].dso);
		if (dso->kind == FW_DSO_KERNEL && view->maps[i].file_offset != 0 &&
		    fw_kallsyms_address(list, FW_STR("_text"), &now))
			return now - view->maps[i].file_offset;
	}
	return 0;
}

static void say(struct fw_profile_kernel *k, enum fw_symbol_status status, const char *message)
{
	k->symbols.status = status;
	snprintf(k->symbols.message, sizeof(k->symbols.message), "%s", message);
}

static bool open_list(struct fw_profile_kernel *k, const struct fw_profile *p, const char *path)
{
	struct fw_error err;
	if (fw_kallsyms_open(path, &k->list, &err) != FW_OK) {
		say(k, FW_SYMBOLS_CORRUPT, err.message);
		k->list = NULL;
	} else {
		k->slide = slide_of(p, k->list);
		say(k, FW_SYMBOLS_LOADED, "");
	}
	k->path = strdup(path);
	k->symbols.path = k->path;
	return k->list != NULL;
}

static bool open_copy(struct fw_profile_kernel *k, const struct fw_profile *p,
		      struct fw_symbols *symbols, const struct fw_ident *id)
{
	char relative[sizeof("[kernel.kallsyms]//kallsyms") + FW_MAX_IDENT];
	snprintf(relative, sizeof(relative), "[kernel.kallsyms]/%s/kallsyms", id->text);
	char *path = id->n == 0 ? NULL : fw_symbols_below(symbols, relative);
	bool ok = path != NULL && open_list(k, p, path);
	free(path);
	return ok;
}

static bool read_running_id(const char *notes, struct fw_ident *ret)
{
	struct fw_file file;
	if (notes == NULL || fw_file_open(&file, notes, FW_MAX_KERNEL_NOTES, NULL) != FW_OK)
		return false;
	const struct fw_bytes bytes = { file.data, file.size, false };
	bool found = fw_elf_notes_id(&bytes, ret);
	fw_file_close(&file);
	return found;
}

/** Is the running kernel the recorded one? Says why not. */
static bool is_running(struct fw_profile_kernel *k, const struct fw_profile *p,
		       const struct fw_profile_options *o, const struct fw_ident *id)
{
	struct fw_ident running;
	const struct fw_str release = p->recording->os_release;
	if (id->n != 0) {
		if (read_running_id(o->kernel_notes, &running) && fw_ident_equal(id, &running))
			return true;
		say(k, FW_SYMBOLS_MISMATCH, "the running kernel is another; --kallsyms takes a "
					    "copy of the recorded one's list");
		return false;
	}
	if (release.n == 0 || (o->kernel_release != NULL &&
			       release.n == strlen(o->kernel_release) &&
			       memcmp(release.s, o->kernel_release, release.n) == 0))
		return true;
	say(k, FW_SYMBOLS_MISMATCH, "no build id was recorded, and the running kernel's release is "
				    "another; --kallsyms takes a copy of the recorded one's list");
	return false;
}

static void open_any(struct fw_profile_kernel *k, const struct fw_profile *p,
		     struct fw_symbols *symbols, const struct fw_profile_options *o)
{
	static const struct fw_ident unknown;
	const struct fw_dso *dso = recorded_kernel(p);
	const struct fw_ident *id = dso == NULL ? &unknown : &dso->build_id;
	k->asked = true;
	say(k, FW_SYMBOLS_MISSING, "");
	if (o->kallsyms != NULL)
		(void)open_list(k, p, o->kallsyms);
	else if (!open_copy(k, p, symbols, id) && o->running_kallsyms != NULL &&
		 is_running(k, p, o, id))
		(void)open_list(k, p, o->running_kallsyms);
}

/** Is a path's or "[name]"'s module the one of the list? Files have - for _. */
static bool is_module(struct fw_str path, struct fw_str name)
{
	struct fw_str base = fw_base_name(path);
	if (base.n != 0 && base.s[0] == '[')
		base = (struct fw_str){ base.s + 1, base.n - 1 };
	if (base.n <= name.n || (base.s[name.n] != '.' && base.s[name.n] != ']'))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (base.s[i] != name.s[i] && (base.s[i] != '-' || name.s[i] != '_'))
			return false;
	return true;
}

/** Modules do not move with the kernel, and may have been loaded anew since. */
static bool agrees(const struct fw_profile_kernel *k, const struct fw_dso *dso,
		   const struct fw_kallsym *s)
{
	if (dso != NULL && dso->kind == FW_DSO_KERNEL_MODULE)
		return k->slide == 0 && is_module(dso->path, s->module);
	return s->module.n == 0 || k->slide == 0;
}

/** Of "[bpf_prog_...]" the recording itself says the name. */
static bool name_recorded(const struct fw_profile *p, const struct fw_dso *dso, uint64_t address,
			  struct fw_str *ret_name, uint64_t *ret_start)
{
	const struct fw_space_view *view = fw_spaces_at(p->recording->spaces, FW_KERNEL_PID,
							p->last_time);
	const struct fw_mapping *map = view == NULL ? NULL : fw_space_find(view, address);
	if (dso->path.n < 6 || memcmp(dso->path.s, "[bpf_", 5) != 0 || map == NULL ||
	    map->dso != dso->number)
		return false;
	*ret_name = (struct fw_str){ dso->path.s + 1, dso->path.n - 2 };
	*ret_start = map->start;
	return true;
}

bool fw_profile_kernel_name(struct fw_profile_kernel *k, const struct fw_profile *p,
			    struct fw_symbols *symbols, const struct fw_profile_options *options,
			    uint32_t module, uint64_t address, struct fw_str *ret_name,
			    uint64_t *ret_start)
{
	const struct fw_dso *dso = module == FW_NO_MODULE ? NULL :
				   fw_spaces_dso_at(p->recording->spaces, module);
	struct fw_kallsym found;
	if (!k->asked)
		open_any(k, p, symbols, options);
	if (dso != NULL && dso->kind == FW_DSO_KERNEL_MODULE &&
	    name_recorded(p, dso, address, ret_name, ret_start))
		return true;
	if (k->list == NULL || (dso != NULL && !is_kernel(dso)) ||
	    !fw_kallsyms_find(k->list, address + k->slide, &found) || !agrees(k, dso, &found))
		return false;
	*ret_name = found.name;
	*ret_start = found.start - k->slide;
	return true;
}
