#ifndef FW_BASE_LIMITS_H
#define FW_BASE_LIMITS_H

#include <stdint.h>

/**
 * Every bound that framewalk puts on what a file may make it do, in one place.
 * Hitting one yields FW_LIMIT, a counted diagnostic or a stop reason; never silence.
 */
enum {
	// captures
	FW_MAX_STREAMS = 1024,		// minidump directory entries; writers use about 20
	FW_MAX_THREADS = 65536,
	FW_MAX_MODULES = 65536,
	FW_MAX_REGIONS = 1048576,	// memory ranges, memory infos, maps lines
	FW_MAX_NAME = 32768,		// bytes of one name from a capture
	FW_MAX_ANNOTATIONS = 65536,	// Crashpad key/value pairs of one dump
	FW_MAX_CORE_STEPS = 1048576,	// headers, notes, tags read in a core's memory for its modules

	// recordings
	FW_MAX_EVENTS = 4096,		// kinds of events of one recording; -a with many counters: hundreds
	FW_MAX_EVENT_IDS = 4194304,	// one for each event and CPU or thread
	FW_MAX_RECORDING_FILES = 4096,	// of the directory form: one a recording thread
	FW_MAX_FEATURE = 67108864,	// bytes of one feature section that is read
	FW_MAX_DSOS = 1048576,		// distinct files mapped
	FW_MAX_PROCESSES = 1048576,
	FW_MAX_MAPPINGS = 8388608,	// mappings, forks and names of one recording
	FW_MAX_SPACE_MAPS = 65536,	// of one process at one time: Linux's vm.max_map_count
	FW_MAX_VIEW_MAPS = 8388608,	// of all states of all processes together; 40 bytes each

	// symbol files
	FW_MAX_SYM_LINE = 1048576,	// bytes; real template names reach 200 KiB
	FW_MAX_INLINE_DEPTH = 256,
	FW_MAX_INLINE_CUTS = 4,		// pieces that a function's inlined ranges become, on average
	FW_MAX_PROGRAM_OPS = 512,
	FW_MAX_PROGRAM_DEPTH = 64,
	FW_MAX_ROW_RULES = 64,		// rules of one CFI row, .cfa and .ra among them
	FW_MAX_CFI_ROWS = 1048576,	// distinct ones of a module; the largest known has thousands
	FW_MAX_DIE_DEPTH = 1024,	// of DWARF's trees; lexical blocks nest by dozens
	FW_MAX_DIE_CHAIN = 16,		// specifications and abstract origins in a row
	FW_MAX_DWARF_PATH = 4096,	// bytes of a source file's path
	FW_MAX_FDES = 16777216,		// of one section; a large browser has 600,000
	FW_MAX_CIE_INSTRUCTIONS = 4096,	// bytes; real ones have some tens
	FW_MAX_CFI_REMEMBERED = 256,	// rows that one FDE keeps by DW_CFA_remember_state
	FW_MAX_CFI_STATES = 524288,	// distinct rows that one FDE may go through
	FW_MAX_DIAG_SAMPLES = 8,	// line numbers remembered per kind of bad record

	// symbol search
	FW_MAX_INDEX_DEPTH = 32,
	FW_MAX_INDEX_FILES = 1000000,
	FW_MAX_ELF_HEADERS = 65536,	// program or section headers of one ELF file
	FW_MAX_ELF_NOTES = 4096,
	FW_MAX_RELOCATIONS = 67108864,	// applied to one relocatable object
	FW_MAX_VDSO = 1048576,		// bytes of the kernel's image in a process; real ones have 4 pages
	FW_MAX_XZ_MEMORY = 134217728,	// bytes that unpacking .gnu_debugdata may take
	FW_MAX_MINI = 268435456,	// bytes of .gnu_debugdata unpacked
	FW_LOADER_CPU_SECONDS = 60,	// of one loader process
	FW_LOADER_WALL_SECONDS = 180,
	FW_LAZY_WALL_SECONDS = 60,	// of one question to a loader that reads lazily
	FW_LAZY_CPU_SECONDS = 3600,	// of such a loader in all
	FW_MAX_LAZY_QUESTION = 16384,	// addresses of one question
	FW_MAX_LAZY_ANSWERS = 4096,	// addresses; after them a module is compiled whole
	FW_MAX_LAZY_QUESTIONS = 64,	// the same
	FW_MAX_LAZY_BYTES = 268435456,	// of fragments kept; the same
	FW_MAX_MANGLED = 16384,		// bytes of a name that is demangled
	FW_MAX_DEMANGLED = 65536,	// bytes that it may become
	FW_MAX_RENAMED = 64,		// files of one library's stem in its folder that are looked at
	FW_MIN_IDENT = 8,		// characters of a debug or code id in a text or a path
	FW_MAX_IDENT = 64,		// characters of a debug or code id

	// profiles
	FW_MAX_KERNEL_NOTES = 65536,	// bytes of /sys/kernel/notes; a page at most
	FW_MAX_KALLSYMS = 268435456,	// bytes of a copy of /proc/kallsyms; real ones have 15 MB
	FW_MAX_PERF_MAP = 4194304,	// functions of one perf-PID.map; a large server has 200,000
	FW_MAX_JIT_CODE = 524287,	// loads and moves of code in one jitdump: 19 bits of a place
	FW_MAX_JIT_UNWINDING = 65536,	// bytes of one function's; real ones have a hundred
	FW_MAX_JIT_LINES = 65536,	// entries of one function's lines: each look-up passes them all
	FW_MAX_MADE_STEPS = 16384,	// stretches of JIT code that one look-up may pass
	FW_MAX_GAPS = 65536,		// times of losses that are remembered of a recording
	FW_MAX_REPAIR_LINKS = 524288,	// callers that --repair knows, 72 bytes each
	FW_MAX_PROFILE_NODES = 67108864,	// of the prefix tree: 2 GiB of them

	// walking
	FW_MAX_FRAMES = 1048576,	// of one thread
	FW_MAX_REPORT_FRAMES = 4194304,	// of one report
	FW_MAX_REGISTER_FRAMES = 131072,	// of one report with every frame's registers, and half
						// of them of one thread: 520 bytes each
	FW_MAX_WALK_SECONDS = 20,	// of one thread
	FW_MAX_REPORT_SECONDS = 120,	// of all threads, symbols read on the way included
	FW_ENTRY_SIZE = 64,		// bytes of a _start whose end no symbol tells
	FW_MAX_PROLOGUE = 8192,		// bytes of a function without rules that are decoded
	FW_MAX_STACK_SWITCHES = 64,	// signals from one stack to another in one walk
	FW_SCAN_WORDS = 40,
	FW_SCAN_WORDS_CONTEXT = 160,	// out of the context frame
};

#define FW_MAX_HELD (UINT64_C(64) << 20)	// bytes of samples that wait for their maps
#define FW_MAX_JIT_FILE (UINT64_C(4) << 30)	// bytes of a perf map or a jitdump unpacked
#define FW_MAX_INPUT (UINT64_C(4) << 30)	// bytes from stdin or of a decompressed file
#define FW_MAX_ELF_UNPACKED (UINT64_C(4) << 30)	// bytes of one ELF file's compressed sections
#define FW_LOADER_MEMORY (UINT64_C(4) << 30)	// of one loader process, besides its files
#define FW_READ_BELOW (UINT64_C(64) << 20)	// smaller files are read, larger ones mapped

#endif
