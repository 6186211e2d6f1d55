#ifndef TESTS_LOADER_TRICKS_H
#define TESTS_LOADER_TRICKS_H

#include <string.h>

#include "symfiles/loader_internal.h"

/** How a loader process can misbehave, and what is said of it. */
static const struct { const char *trick; enum fw_code code; const char *message; } ends[] = {
	{ "crash", FW_MALFORMED, "loader: killed by signal 6" },
	{ "hang", FW_LIMIT, "loader: over its time limit" },	// by the clock
	{ "spin", FW_LIMIT, "loader: over its time limit" },	// by its CPU time
	{ "eat", FW_LIMIT, "loader: over its memory limit" },
	{ "lie", FW_MALFORMED, "loader: its image is broken: image is shorter than its header" },
	{ "mute", FW_IO, "loader: ended without an answer, status 7" },
	{ "open", FW_UNSUPPORTED, "Operation not permitted" },
};

static inline struct fw_loader_limits trick_limits(const char *trick)
{
	return (struct fw_loader_limits){
		.cpu_seconds = 1, .wall_seconds = strcmp(trick, "hang") == 0 ? 1 : 30,
		.memory = 512 << 20, .trick = trick,
	};
}

/** False where neither the memory limit nor the filter is set. */
static inline bool trick_works(const char *trick)
{
	return !fw_loader_sanitized() || (strcmp(trick, "eat") != 0 && strcmp(trick, "open") != 0);
}

#endif
