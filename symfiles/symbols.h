#ifndef FW_SYMFILES_SYMBOLS_H
#define FW_SYMFILES_SYMBOLS_H

#include "lib/base/error.h"
#include "lib/image/image.h"
#include "symfiles/elf_file.h"
#include "symfiles/lazy.h"

/**
 * Where symbols come from: the search order over -s paths (decisions: "-s
 * search"), the index of folders, the compiled-image cache. One object serves
 * all captures and all threads of a run; each module is loaded once.
 */
struct fw_symbols;

/** When modules are read lazily instead of being compiled whole, see lazy_policy.h. */
enum fw_lazy_when { FW_LAZY_AUTO, FW_LAZY_ALWAYS, FW_LAZY_NEVER };

struct fw_symbol_options {
	const char *const *paths;	// in order; each a store, a folder or one file
	size_t num_paths;
	// ELF files at their recorded paths below it; NULL: below "/", where files of
	// another id are not worth a word
	const char *sysroot;
	const char *cache_dir;		// NULL: no cache on disk
	uint64_t cache_size;		// cap in bytes
	bool raw_names;			// of ELF: linkage names, not demangled (own cache entries)
	bool details;			// of ELF: fw_image_place() and the like (own cache entries)
	enum fw_lazy_when lazy;
};

enum fw_symbol_status {
	FW_SYMBOLS_NOT_SEARCHED = 0,	// no -s, or no id to search by
	FW_SYMBOLS_FOUND,		// a file is there; not needed so far, not read
	FW_SYMBOLS_LOADED,
	FW_SYMBOLS_MISSING,
	FW_SYMBOLS_MISMATCH,		// a file of that name exists, its id is another
	FW_SYMBOLS_CORRUPT,		// found by id but unusable; `message` says why
};

/** What identifies a module. The strings must live as long as the call. */
struct fw_symbol_key {
	struct fw_str debug_file;	// path as recorded; base name taken here
	struct fw_str code_file;	// used where debug_file is empty
	const struct fw_ident *debug_id;
	const struct fw_ident *code_id;
	enum fw_cpu_id cpu;		// FW_CPU_UNKNOWN: any
};

/** Owned by fw_symbols; stable address for its lifetime. */
struct fw_symbol_file {
	enum fw_symbol_status status;
	const struct fw_image *image;	// NULL unless LOADED; with `lazy` only identity and base
	struct fw_lazy *lazy;		// names come from there; NULL: from `image`
	// with `lazy`, where unwind rules come from (lazy_cfi.h); NULL: from `image`
	const struct fw_elf *rules_elf, *rules_debug;
	const char *path;		// file used or rejected; NULL: none
	bool from_cache;
	char message[256];		// cause for MISMATCH and CORRUPT; of LOADED what the files
					// lack; else ""
	struct fw_ident found_id;	// MISMATCH: the id that was found
};

FW_MUST_CHECK enum fw_code fw_symbols_create(const struct fw_symbol_options *options,
					     struct fw_symbols **ret, struct fw_error *err);
void fw_symbols_destroy(struct fw_symbols *s);

/**
 * Only look, parse nothing: status FOUND, MISSING, MISMATCH, NOT_SEARCHED, or
 * CORRUPT where the file cannot be read at all. The answer is the same whether
 * or not the module was loaded meanwhile, by this or another capture.
 */
const struct fw_symbol_file *fw_symbols_look_up(struct fw_symbols *s,
						const struct fw_symbol_key *key);
/** Look and load. Any thread; a second caller waits for the first. Never NULL. */
const struct fw_symbol_file *fw_symbols_load(struct fw_symbols *s,
					     const struct fw_symbol_key *key);

/** The image to look names of one offset up in; NULL: there are none. Any thread. */
static inline const struct fw_image *fw_symbol_names(const struct fw_symbol_file *file,
						     uint32_t offset)
{
	return file->lazy ? fw_lazy_names(file->lazy, offset) : file->image;
}

/**
 * The image of @p file was found corrupt while in use: remove it from the cache
 * and compile anew from its source. Pointers into the old image stay valid
 * until fw_symbols_destroy. Returns the record to use from now on.
 */
const struct fw_symbol_file *fw_symbols_reload(struct fw_symbols *s,
					       const struct fw_symbol_key *key);

/** The ELF file with the same id under the -s paths or the system root, or NULL. Any thread; cached. */
const struct fw_elf *fw_symbols_elf(struct fw_symbols *s, const struct fw_symbol_key *key);

/** Where a file of that recorded path is looked for first: below the system root. malloc'd; NULL: no memory. */
char *fw_symbols_recorded(const struct fw_symbols *s, struct fw_str path);

/** The first -s folder's regular file @p relative. malloc'd; NULL: none, or no memory. */
char *fw_symbols_below(const struct fw_symbols *s, const char *relative);

/**
 * Call @p each with the path of every ELF program or library under the -s paths, in
 * search order, until it returns true; then true. For captures that do not say
 * which files they are of.
 */
bool fw_symbols_each_elf(struct fw_symbols *s, bool (*each)(void *context, const char *path),
			 void *context);

/**
 * Image of one symbol file by path (`framewalk rules`), through the cache as
 * well. Asked again after the image was found corrupt, it is compiled anew.
 */
FW_MUST_CHECK enum fw_code fw_symbols_open_file(struct fw_symbols *s, const char *path,
						const struct fw_image **ret, struct fw_error *err);
/** The same for names (`framewalk addr`): an ELF file may be read lazily. */
FW_MUST_CHECK enum fw_code fw_symbols_open_names(struct fw_symbols *s, const char *path,
						 const struct fw_symbol_file **ret,
						 struct fw_error *err);

#endif
