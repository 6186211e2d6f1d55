#include "symfiles/lazy.h"

#include <stdlib.h>

struct fw_lazy {
	struct fw_loader_request request;
};

struct fw_lazy *fw_lazy_create(const struct fw_loader_request *request)
{
	struct fw_lazy *lazy = calloc(1, sizeof(*lazy));
	if (lazy != NULL)
		lazy->request = *request;
	return lazy;
}

void fw_lazy_destroy(struct fw_lazy *lazy)
{
	free(lazy);
}

const struct fw_image *fw_lazy_names(struct fw_lazy *lazy, uint32_t offset)
{
	return NULL;
}

void fw_lazy_prefetch(struct fw_lazy *lazy, const uint32_t *offsets, size_t n)
{
}

enum fw_code fw_lazy_failure(struct fw_lazy *lazy, struct fw_error *ret)
{
	return FW_OK;
}
