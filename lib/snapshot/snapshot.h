#ifndef FW_SNAPSHOT_SNAPSHOT_H
#define FW_SNAPSHOT_SNAPSHOT_H

#include <stdarg.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/file.h"
#include "lib/image/ident.h"
#include "lib/rules/memory.h"
#include "lib/rules/regs.h"

/**
 * What was captured and nothing derived. Everything lives in the snapshot's
 * arena or views the capture's bytes; it is never changed after reading, so any
 * number of threads may use it. Strings are UTF-8 as far as the capture was;
 * {NULL, 0} means: not in the capture.
 */
enum fw_os {
	FW_OS_UNKNOWN, FW_OS_WINDOWS, FW_OS_MACOS, FW_OS_IOS, FW_OS_LINUX, FW_OS_SOLARIS,
	FW_OS_ANDROID, FW_OS_PS3, FW_OS_NACL, FW_OS_FUCHSIA,
};

enum fw_permission {	// of a region; FW_PERM_KNOWN unset: nothing is known
	FW_PERM_READ = 1, FW_PERM_WRITE = 2, FW_PERM_EXEC = 4, FW_PERM_KNOWN = 8,
};

struct fw_module_info {
	uint64_t base, size;		// size 0: listed, never matched
	struct fw_str code_file;	// full path as recorded
	struct fw_str debug_file;	// as recorded (PDB path, or the code file's name for ELF)
	struct fw_ident debug_id, code_id;
	struct fw_str version;		// "5.1.2600.2180", {NULL,0} when none
	uint32_t timestamp;		// PE only
	bool is_main;
	// Crashpad: this module's annotations
	const struct fw_annotation *annotations;
	uint32_t num_annotations;
};

struct fw_annotation { struct fw_str key, value; };

struct fw_unloaded_module {
	uint64_t base, size;
	struct fw_str code_file;
	struct fw_ident code_id;
};

struct fw_region {		// sorted by start, disjoint; from MemoryInfoList, else Linux maps
	uint64_t start, end;
	uint8_t permissions;	// enum fw_permission bits
	uint64_t file_offset;	// Linux maps
	struct fw_str name;	// Linux maps: the path or "[stack]"
};

struct fw_thread_info {
	uint32_t id;
	struct fw_str name;
	struct fw_regs regs;		// the exception's context where that is readable
	bool have_context;		// false: nothing to walk; why: context_error
	const char *context_error;	// constant text, NULL when have_context
	uint64_t stack_start, stack_size;	// as the thread record says (0: not said)
	uint64_t teb;
	bool have_last_error;
	uint32_t last_error;		// Windows GetLastError(), read through the TEB
	bool is_dump_writer;		// BreakpadInfo's dump thread: not part of the program
};

struct fw_exception {
	bool present;
	uint32_t thread_id;
	uint32_t code, flags;
	uint64_t address;		// as recorded
	uint32_t num_parameters;	// at most 15
	uint64_t parameters[15];
	struct fw_str assertion;	// AssertionInfo stream: expression, function, file
	struct fw_str assertion_function, assertion_file;
	uint32_t assertion_line;
};

struct fw_stream_info {		// for `inspect`
	uint32_t type;
	const char *name;		// constant; NULL: unknown number
	uint64_t offset, size;
	bool used;			// read by us
};

struct fw_handle_info { uint64_t handle; struct fw_str type_name, object_name; };

struct fw_limit_info { struct fw_str name, soft, hard, unit; };	// Linux /proc/PID/limits

/** Something in the capture that had to be left out: one sentence, one place. */
struct fw_snapshot_note { char place[48]; char message[144]; };
enum { FW_MAX_SNAPSHOT_NOTES = 64 };

struct fw_snapshot {
	struct fw_arena arena;
	const char *format;		// "minidump", "core"
	bool big_endian;
	uint32_t timestamp;		// seconds since the epoch when captured; 0: unknown

	const struct fw_cpu *cpu;	// never NULL
	enum fw_os os;
	uint32_t os_raw;		// minidump platform id, for an unknown OS's name
	uint16_t cpu_raw;		// minidump processor architecture, e_machine of a core
	struct fw_str os_version;	// "5.1.2600" (Linux: kernel release)
	bool os_version_from_build;	// the capture said 0.0.0; os_version is from os_build
	struct fw_str os_build;		// "Service Pack 2", uname text
	struct fw_str cpu_info;		// "GenuineIntel family 6 model 13 stepping 8"
	struct fw_str cpu_microcode;	// "0x..." or none
	uint32_t cpu_count;		// 0: unknown

	bool have_pid;
	uint32_t pid;
	bool have_create_time;
	uint32_t create_time;		// process start, seconds since the epoch

	struct fw_thread_info *threads;
	uint32_t num_threads;
	int64_t crashing_thread;	// index into threads, -1: none
	bool crashed;			// an exception was recorded (else: requested thread)

	struct fw_module_info *modules;	// ascending base; overlaps already cut
	uint32_t num_modules;
	struct fw_unloaded_module *unloaded;
	uint32_t num_unloaded;
	struct fw_region *regions;
	uint32_t num_regions;
	bool regions_complete;		// regions list the whole address space

	struct fw_memory memory;	// all memory in the capture

	struct fw_exception exception;
	struct fw_stream_info *streams;
	uint32_t num_streams;
	struct fw_annotation *annotations;	// Crashpad: the process's
	uint32_t num_annotations;
	struct fw_ident crashpad_report_id, crashpad_client_id;	// 32 hex digits, empty: none

	// Linux
	bool have_entry;
	uint64_t entry;			// AT_ENTRY
	uint64_t vdso;			// AT_SYSINFO_EHDR; 0: unknown
	// Cores: what the kernel told the program. Without NT_FILE and header pages the
	// program's file is known only by these and by its read-only bytes.
	uint64_t phdr;			// AT_PHDR: its program headers' address; 0: unknown
	uint32_t phnum;			// AT_PHNUM; 0: unknown
	uint64_t interpreter;		// AT_BASE: the dynamic linker's base; 0: none
	struct fw_str exec_file;	// AT_EXECFN: the path it was started by
	struct fw_str exec_name;	// NT_PRPSINFO: its name, cut to 15 bytes
	uint32_t num_maps;		// lines of /proc/PID/maps; 0: no such stream
	struct fw_str lsb_id, lsb_release, lsb_codename, lsb_description;
	struct fw_str command_line;
	struct fw_limit_info *limits;
	uint32_t num_limits;
	struct fw_handle_info *handles;	// Windows HandleData
	uint32_t num_handles;
	bool have_handles;
	// macOS (Mozilla streams)
	struct fw_str mac_boot_args;

	struct fw_snapshot_note notes[FW_MAX_SNAPSHOT_NOTES];
	uint32_t num_notes;		// may exceed the array: only counted then

	// private, for fw_snapshot_module(): indexes of the modules that have a size
	uint32_t *mapped;
	uint32_t num_mapped;
	uint32_t module_room;		// entries that modules and mapped have room for
};

/**
 * Read a capture of any known format from memory; the bytes must outlive the
 * snapshot. Fails only when nothing can be walked: FW_UNSUPPORTED (no known
 * format), FW_MALFORMED (header or an indispensable stream), FW_LIMIT,
 * FW_NO_MEMORY. Everything else costs its entry and leaves a note.
 */
FW_MUST_CHECK enum fw_code fw_snapshot_read(const uint8_t *data, uint64_t size,
					    struct fw_snapshot **ret, struct fw_error *err);
void fw_snapshot_destroy(struct fw_snapshot *s);

/** True when the first bytes look like a capture we read (MDMP in either order, an ELF
 *  header of a core: 18 bytes). */
bool fw_snapshot_sniff(const uint8_t *data, size_t size);

#define FW_NO_NOTE_INDEX UINT32_MAX
/**
 * Readers: leave a note that something had to be left out, at "@p what @p index" or,
 * with FW_NO_NOTE_INDEX, at "@p what". Past FW_MAX_SNAPSHOT_NOTES it is only counted.
 */
void fw_snapshot_vnote(struct fw_snapshot *s, const char *what, uint32_t index,
		       const char *format, va_list args);

/** Module that contains the address, or NULL. */
const struct fw_module_info *fw_snapshot_module(const struct fw_snapshot *s, uint64_t address);
/** Region that contains the address, or NULL. */
const struct fw_region *fw_snapshot_region(const struct fw_snapshot *s, uint64_t address);

/**
 * Add a module that the capture does not name, found by its bytes. Before anything
 * walks: indexes of other modules change, and this is the one change that a
 * snapshot sees. Its strings must outlive the snapshot (its own arena, say).
 * FW_MALFORMED: it has no size, leaves the address space, or overlaps a module
 * that is there, which stays; FW_LIMIT (FW_MAX_MODULES); FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_snapshot_add_module(struct fw_snapshot *s,
						  const struct fw_module_info *module,
						  struct fw_error *err);
/**
 * Add the modules that the dynamic linker lists in the capture's memory (r_debug
 * and its link_map, System V gABI and <link.h>), given the address of the
 * program's dynamic section: its PT_DYNAMIC plus the load bias. As above, before
 * anything walks. Those that overlap a module which is there are passed over.
 * *ret_added says how many came. FW_NOT_FOUND: no list there; FW_NO_MEMORY.
 */
FW_MUST_CHECK enum fw_code fw_snapshot_add_linked(struct fw_snapshot *s, uint64_t dynamic,
						  uint32_t *ret_added, struct fw_error *err);

/**
 * Give a module without ids those of the file that was found to be its, by its
 * bytes. As above, before anything walks; a module that has an id keeps it.
 */
void fw_snapshot_identify(struct fw_snapshot *s, uint32_t module,
			  const struct fw_ident *debug_id, const struct fw_ident *code_id);

/** Bytes compared with the capture's memory: how many of them it has, how many are equal. */
struct fw_comparison { uint64_t present, equal; };

/**
 * Compare @p n bytes of a file that are mapped at @p address with what the capture
 * holds there in pages that the program cannot write; adds to *ret. Pages that the
 * dynamic linker wrote and then protected (RELRO) differ in their relocated words.
 */
void fw_snapshot_compare(const struct fw_snapshot *s, uint64_t address, const uint8_t *bytes,
			 uint64_t n, struct fw_comparison *ret);

/** Readers of one format; lib/snapshot/minidump*.c and core*.c. */
FW_MUST_CHECK enum fw_code fw_minidump_read(const uint8_t *data, uint64_t size,
					    struct fw_snapshot **ret, struct fw_error *err);
FW_MUST_CHECK enum fw_code fw_core_read(const uint8_t *data, uint64_t size,
					struct fw_snapshot **ret, struct fw_error *err);

/** "Windows NT", "Linux" ... as the peers print it; unknown: "0x%08x" in @p buffer. */
const char *fw_os_name(const struct fw_snapshot *s, char buffer[16]);

#endif
