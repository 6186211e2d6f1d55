#ifndef FW_SNAPSHOT_MINIDUMP_H
#define FW_SNAPSHOT_MINIDUMP_H

#include "lib/base/bytes.h"
#include "lib/snapshot/snapshot.h"

/**
 * Private to lib/snapshot/minidump*.c. Layouts: Microsoft minidumpapiset.h,
 * Breakpad minidump_format.h, Crashpad minidump_extensions.h.
 */
enum {
	MD_THREAD_LIST = 3,
	MD_MODULE_LIST = 4,
	MD_MEMORY_LIST = 5,
	MD_EXCEPTION = 6,
	MD_SYSTEM_INFO = 7,
	MD_THREAD_EX_LIST = 8,
	MD_MEMORY64_LIST = 9,
	MD_HANDLE_DATA = 12,
	MD_UNLOADED_MODULE_LIST = 14,
	MD_MISC_INFO = 15,
	MD_MEMORY_INFO_LIST = 16,
	MD_THREAD_NAMES = 24,
	MD_CRASHPAD_INFO = 0x43500001,
	MD_BREAKPAD_INFO = 0x47670001,
	MD_ASSERTION_INFO = 0x47670002,
	MD_LINUX_CPU_INFO = 0x47670003,
	MD_LINUX_PROC_STATUS = 0x47670004,
	MD_LINUX_LSB_RELEASE = 0x47670005,
	MD_LINUX_CMD_LINE = 0x47670006,
	MD_LINUX_AUXV = 0x47670008,
	MD_LINUX_MAPS = 0x47670009,
	MD_MOZ_MAC_BOOT_ARGS = 0x4d7a0002,
	MD_MOZ_LINUX_LIMITS = 0x4d7a0003,
};

enum {	// MINIDUMP_SYSTEM_INFO.ProcessorArchitecture
	MD_ARCH_X86 = 0,
	MD_ARCH_MIPS = 1,
	MD_ARCH_PPC = 3,
	MD_ARCH_ARM = 5,
	MD_ARCH_AMD64 = 9,
	MD_ARCH_X86_ON_WIN64 = 10,
	MD_ARCH_ARM64 = 12,
	MD_ARCH_SPARC = 0x8001,
	MD_ARCH_PPC64 = 0x8002,
	MD_ARCH_ARM64_OLD = 0x8003,
	MD_ARCH_MIPS64 = 0x8004,
	MD_ARCH_RISCV32 = 0x8005,
	MD_ARCH_RISCV64 = 0x8006,
};

enum { MD_NO_INDEX = FW_NO_NOTE_INDEX };

struct md_thread_key { uint32_t id, index; };

/** One reading: what several streams need of each other. */
struct md_reader {
	struct fw_bytes file;
	struct fw_snapshot *s;
	bool no_memory;			// sticky; checked after every stream
	uint64_t string_budget;		// bytes that converted names may still take
	struct md_thread_key *threads_by_id;	// ascending (id, index)
	uint32_t *module_of_entry;	// ModuleList entry -> index in s->modules, or MD_NO_INDEX
	uint32_t num_module_entries;
};

/** A list of entries of one size that all lie in the file. */
struct md_list {
	struct fw_bytes bytes;		// the stream
	uint64_t first;			// offset of entry 0 in it
	uint32_t entry_size;
	uint32_t count;
	bool cut;			// the stream promised more
};

/** Leave a note; place is "what index", or what alone when index is MD_NO_INDEX. */
__attribute__((format(printf, 4, 5)))
void md_note(struct md_reader *md, const char *what, uint32_t index, const char *format, ...);

/** Arena storage, zeroed; NULL (and md->no_memory set) when there is none. */
void *md_array(struct md_reader *md, uint64_t count, size_t size);
struct fw_str md_strdup(struct md_reader *md, const char *s, size_t n);

/** The part of a stream that lies in the file; false when there is no such stream. */
bool md_stream(struct md_reader *md, uint32_t type, struct fw_bytes *ret);

/**
 * A stream that starts with a 32-bit count: entries follow at offset 4, or at 8
 * where the stream's size says that 4 bytes of padding were written.
 */
bool md_counted_list(struct md_reader *md, uint32_t type, const char *what,
		     uint32_t entry_size, uint32_t limit, struct md_list *ret);

/** View of one entry; @p i below list->count. */
struct fw_bytes md_entry(const struct md_list *list, uint32_t i);

/** UTF-8 of the MINIDUMP_STRING at file offset @p rva; {NULL, 0} and a note when unreadable. */
struct fw_str md_string(struct md_reader *md, const char *what, uint32_t index,
			const char *field, uint64_t rva);

/** UTF-8 of up to @p units UTF-16 code units at @p offset of @p b, up to the first NUL. */
struct fw_str md_utf16(struct md_reader *md, const struct fw_bytes *b, uint64_t offset,
		       uint64_t units);

/** Bytes up to the first NUL of a view. */
struct fw_str md_cstring(const struct fw_bytes *b, uint64_t offset);

/** Reads that are known to be inside: 0 beyond the view. */
static inline uint16_t md_u16(const struct fw_bytes *b, uint64_t offset)
{
	uint16_t v = 0;
	fw_bytes_u16(b, offset, &v);
	return v;
}

static inline uint32_t md_u32(const struct fw_bytes *b, uint64_t offset)
{
	uint32_t v = 0;
	fw_bytes_u32(b, offset, &v);
	return v;
}

static inline uint64_t md_u64(const struct fw_bytes *b, uint64_t offset)
{
	uint64_t v = 0;
	fw_bytes_u64(b, offset, &v);
	return v;
}

/** Addresses of 32-bit processes are sometimes written sign-extended. */
static inline uint64_t md_address(const struct md_reader *md, uint64_t address)
{
	return address & md->s->cpu->word_mask;
}

/**
 * Registers of the CONTEXT at [offset, offset + size) of the file. The CPU is
 * SystemInfo's; the flags must agree. NULL on success, else what is wrong.
 */
const char *md_context(const struct md_reader *md, uint64_t offset, uint64_t size,
		       struct fw_regs *ret);

// One function a stream or group of streams, in the order they are called.
bool md_read_system_info(struct md_reader *md);	// false: not readable
void md_read_misc_info(struct md_reader *md);
bool md_read_threads(struct md_reader *md);	// false: no thread list
void md_read_thread_names(struct md_reader *md);
void md_read_modules(struct md_reader *md);
void md_read_unloaded_modules(struct md_reader *md);
void md_read_memory(struct md_reader *md);
void md_read_exception(struct md_reader *md);
void md_read_last_errors(struct md_reader *md);
void md_read_regions(struct md_reader *md);
void md_read_linux(struct md_reader *md);
void md_read_crashpad(struct md_reader *md);
void md_read_handles(struct md_reader *md);
void md_read_mac(struct md_reader *md);

#endif
