#include "symfiles/lazy_module.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "symfiles/elf_image.h"
#include "symfiles/elf_internal.h"
#include "symfiles/lazy_cfi.h"

struct fw_loader_request fw_elf_set_request(const struct fw_elf_set *files)
{
	return (struct fw_loader_request){ .elf = files->elf, .debug = files->debug,
					   .alt = files->alt, .raw_names = files->raw_names,
					   .details = files->details };
}

void fw_lazy_module_close(struct fw_lazy_module *m)
{
	if (m == NULL)
		return;
	fw_lazy_destroy(m->lazy);
	fw_elf_close(m->rules_elf);
	fw_elf_close(m->rules_debug);
	fw_elf_set_clear(&m->files);
	free(m);
}

static struct fw_lazy_module *create(const struct fw_elf_set *files,
				     const struct fw_lazy_whole *whole, void *context)
{
	struct fw_lazy_module *m = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*m));
	struct fw_loader_request q = fw_elf_set_request(files);
	struct fw_lazy_whole w = *whole;
	if (m == NULL)
		return NULL;
	w.context = m;
	m->context = context;
	m->files = *files;
	m->files.elf = strdup(files->elf);
	m->files.debug = files->debug ? strdup(files->debug) : NULL;
	m->files.alt = files->alt ? strdup(files->alt) : NULL;
	m->lazy = fw_lazy_create(&q, &files->key.debug_id, &w);
	if (m->lazy && m->files.elf && !m->files.debug == !files->debug &&
	    !m->files.alt == !files->alt)
		return m;
	fw_lazy_module_close(m);
	return NULL;
}

/** Unwind rules from the files themselves: an image of nothing. NULL: not to be had so. */
static struct fw_image *open_rules(struct fw_lazy_module *m)
{
	struct fw_lazy_cfi *trial;
	struct fw_image *image = NULL;
	if (fw_elf_open_frames(m->files.elf, &m->rules_elf, NULL) == FW_OK &&
	    (m->files.debug == NULL ||
	     fw_elf_open_frames(m->files.debug, &m->rules_debug, NULL) == FW_OK) &&
	    fw_lazy_cfi_open(m->rules_elf, m->rules_debug, &trial) == FW_OK) {
		fw_lazy_cfi_close(trial);
		if (fw_elf_identity(m->rules_elf, &image, NULL) == FW_OK)
			return image;
	}
	fw_elf_close(m->rules_elf);
	fw_elf_close(m->rules_debug);
	m->rules_elf = m->rules_debug = NULL;
	return NULL;
}

enum fw_code fw_lazy_module_open(const struct fw_elf_set *files,
				 const struct fw_lazy_whole *whole, void *context,
				 struct fw_lazy_module **ret, struct fw_image **ret_image,
				 struct fw_error *err)
{
	struct fw_loader_request q = fw_elf_set_request(files);
	struct fw_lazy_module *m = create(files, whole, context);
	if (m == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	struct fw_image *image = open_rules(m);
	enum fw_code code = FW_OK;
	q.no_names = true;
	if (image == NULL)
		code = fw_loader_compile(&q, &image, err);
	if (code == FW_OK && files->key.debug_id.n &&
	    !fw_ident_equal(&image->debug_id, &files->key.debug_id)) {
		fw_image_destroy(image);
		code = fw_fail(err, FW_MALFORMED, NULL, "it changed while it was read");
	}
	if (code != FW_OK) {
		fw_lazy_module_close(m);
		return code;
	}
	*ret = m;
	*ret_image = image;
	return FW_OK;
}
