#include "symfiles/lazy_policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/** Compiled bytes (elf_search.h) that take some 20 ms. */
#define BIG (UINT64_C(2) << 20)

/** Noted before? If not, it is from now on. */
static bool seen(struct fw_cache *cache, const struct fw_elf_set *files)
{
	char name[64];
	uint64_t size;
	snprintf(name, sizeof(name), "seen-%016" PRIx64, files->key.ino);
	void *blob = fw_cache_get_blob(cache, name, &size);
	if (blob == NULL)
		fw_cache_put_blob(cache, name, name, 1);
	free(blob);
	return blob != NULL;
}

static bool compiled(struct fw_cache *cache, const struct fw_elf_set *files)
{
	struct fw_image *image = fw_cache_get(cache, &files->key);
	fw_image_destroy(image);
	return image != NULL;
}

bool fw_lazy_wanted(enum fw_lazy_when when, struct fw_cache *cache,
		    const struct fw_elf_set *files)
{
	switch (when) {
	case FW_LAZY_NEVER:
		return false;
	case FW_LAZY_ALWAYS:
		return !compiled(cache, files);
	case FW_LAZY_AUTO:
		break;
	}
	return files->compiled_bytes >= BIG && !compiled(cache, files) && !seen(cache, files);
}
