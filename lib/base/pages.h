#ifndef FW_BASE_PAGES_H
#define FW_BASE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Growable bytes in anonymous pages of their own. Growing moves page tables,
 * not bytes, and pages that were never written cost nothing, so a generous
 * guess of the size is harmless. One owner at a time.
 */
struct fw_pages {
	uint8_t *data;		// NULL: nothing mapped yet
	uint64_t size;		// bytes in use
	uint64_t capacity;	// bytes mapped, a multiple of the page size
};

/** Make capacity at least @p need. False when memory is exhausted; nothing changes then. */
bool fw_pages_reserve(struct fw_pages *p, uint64_t need);
/** Give the pages behind size back; at least one stays, so data is never NULL. */
bool fw_pages_trim(struct fw_pages *p);
/** All of it will be written soon: large pages, where the system has them. */
void fw_pages_expect_all(const struct fw_pages *p);
void fw_pages_deinit(struct fw_pages *p);

#endif
