#ifndef FW_CMD_SYMBOL_OPTIONS_H
#define FW_CMD_SYMBOL_OPTIONS_H

#include <stdbool.h>

#include "cmd/opts.h"
#include "symfiles/symbols.h"

/**
 * Symbols as the command line (-s, --cache, --no-cache, --cache-size, --lazy) and the
 * environment (XDG_CACHE_HOME, HOME) say. The paths of @p args must outlive it.
 * False after complaining. For a few addresses of a file, which is then not compiled.
 */
bool fw_symbols_of_rules(const struct fw_args *args, struct fw_symbols **ret);

/** The same for captures: of several, modules that come up again are best compiled. */
bool fw_symbols_of_captures(const struct fw_args *args, bool several, struct fw_symbols **ret);

/** The same, with names as they stand in ELF files when @p raw_names. */
bool fw_symbols_of_names(const struct fw_args *args, bool raw_names, struct fw_symbols **ret);
/** For the protocols of other tools: defaults, and what only they print. */
bool fw_symbols_of_details(bool raw_names, struct fw_symbols **ret);

/** False after complaining that it cannot be opened; @p what: "symbols". */
bool fw_path_is_there(const char *path, const char *what);

/** The same for every -s: a mistyped one would otherwise only show as names that are missing. */
bool fw_symbol_paths_are_there(const struct fw_args *args);

#endif
