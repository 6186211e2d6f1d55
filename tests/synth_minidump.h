#ifndef FW_TESTS_SYNTH_MINIDUMP_H
#define FW_TESTS_SYNTH_MINIDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/rules/regs.h"
#include "lib/snapshot/snapshot.h"

/**
 * Builds small minidumps in memory, in either byte order, from what a test
 * states. It knows the file format and nothing of the reader. Out of memory
 * aborts. Everything given is copied. Offsets are those of the finished file, so
 * a test can corrupt exactly one field.
 */
struct synth_dump;

struct synth_dump *synth_dump_create(enum fw_cpu_id cpu, enum fw_os os, bool big_endian);
void synth_dump_destroy(struct synth_dump *d);

/** Knobs, to be set before finish(). */
void synth_dump_set_arch(struct synth_dump *d, uint16_t arch);	// SystemInfo's number
void synth_dump_set_platform(struct synth_dump *d, uint32_t platform);
void synth_dump_set_os_version(struct synth_dump *d, uint32_t major, uint32_t minor,
			       uint32_t build, const char *text);
/** x86: vendor is 12 characters. arm: cpuid and hwcaps are used instead. */
void synth_dump_set_cpu(struct synth_dump *d, uint16_t level, uint16_t revision,
			uint8_t count, const char *vendor, uint32_t cpuid, uint32_t hwcaps);
void synth_dump_set_list_padding(struct synth_dump *d, bool padded);	// 8 + n * entry
void synth_dump_omit(struct synth_dump *d, uint32_t type);	// write no such stream

/** A thread with the CPU's full context (NULL regs: none) and its stack's bytes
 *  (n == 0: the record has no stack). */
void synth_dump_add_thread(struct synth_dump *d, uint32_t id, const struct fw_regs *regs,
			   uint64_t stack_start, const void *stack, size_t n);
/** The next thread's TEB address. */
void synth_dump_set_teb(struct synth_dump *d, uint64_t teb);
/** CONTEXT bytes of the CPU (arm64_old: Breakpad's 796-byte form); a location to
 *  use in raw streams. */
uint32_t synth_dump_add_context(struct synth_dump *d, const struct fw_regs *regs,
				bool arm64_old, uint32_t *ret_size);
/** The next thread or exception uses this context instead of a made one. */
void synth_dump_use_context(struct synth_dump *d, uint32_t rva, uint32_t size);

enum synth_cv { SYNTH_CV_NONE, SYNTH_CV_PDB70, SYNTH_CV_PDB20, SYNTH_CV_ELF, SYNTH_CV_RAW };

struct synth_module {
	uint64_t base;
	uint32_t size;
	const char *path;
	enum synth_cv cv;
	const uint8_t *id;	// PDB70: 16 bytes, first three fields little-endian; ELF: id_size
	size_t id_size;
	uint32_t signature;	// PDB20
	uint32_t age;
	const char *debug_file;
	uint32_t timestamp;
	const uint32_t *version;	// file hi, lo, product hi, lo; NULL: no VS_FIXEDFILEINFO
};
void synth_dump_add_module(struct synth_dump *d, const struct synth_module *m);
void synth_dump_add_elf(struct synth_dump *d, uint64_t base, uint32_t size, const char *path,
			const uint8_t *build_id, size_t n);
void synth_dump_add_pe(struct synth_dump *d, uint64_t base, uint32_t size, const char *path,
		       const uint8_t guid[16], uint32_t age, const char *pdb);
void synth_dump_add_unloaded(struct synth_dump *d, uint64_t base, uint32_t size,
			     const char *path, uint32_t timestamp);

void synth_dump_add_memory(struct synth_dump *d, uint64_t address, const void *bytes, size_t n);
void synth_dump_add_memory64(struct synth_dump *d, uint64_t address, const void *bytes,
			     size_t n);
void synth_dump_add_memory_info(struct synth_dump *d, uint64_t start, uint64_t size,
				uint32_t state, uint32_t protection);

/** @param regs NULL: the exception has no context. */
void synth_dump_add_exception(struct synth_dump *d, uint32_t thread, uint32_t code,
			      uint32_t flags, uint64_t address, const uint64_t *parameters,
			      uint32_t count, const struct fw_regs *regs);
void synth_dump_add_misc(struct synth_dump *d, uint32_t pid, uint32_t create_time);
void synth_dump_add_thread_name(struct synth_dump *d, uint32_t id, const char *name);
/** 0: that id is not valid. */
void synth_dump_add_breakpad_info(struct synth_dump *d, uint32_t dump_thread,
				  uint32_t requesting_thread);
void synth_dump_add_assertion(struct synth_dump *d, const char *expression,
			      const char *function, const char *file, uint32_t line);
void synth_dump_add_handle(struct synth_dump *d, uint64_t handle, const char *type,
			   const char *object, bool version2);

/** Crashpad: annotations of the process, and of modules by their place in the list. */
void synth_dump_set_crashpad_ids(struct synth_dump *d, const uint8_t report[16],
				 const uint8_t client[16]);
void synth_dump_add_annotation(struct synth_dump *d, const char *key, const char *value);
enum synth_annotation { SYNTH_SIMPLE, SYNTH_LIST, SYNTH_OBJECT };
void synth_dump_add_module_annotation(struct synth_dump *d, uint32_t module,
				      enum synth_annotation kind, const char *key,
				      const char *value);

/** Text streams: FW's numbers of Breakpad's Linux streams. */
enum {
	SYNTH_LINUX_CPU_INFO = 0x47670003, SYNTH_LINUX_STATUS = 0x47670004,
	SYNTH_LINUX_LSB = 0x47670005, SYNTH_LINUX_CMD_LINE = 0x47670006,
	SYNTH_LINUX_MAPS = 0x47670009, SYNTH_LINUX_LIMITS = 0x4d7a0003,
};
void synth_dump_add_text(struct synth_dump *d, uint32_t type, const char *text);
void synth_dump_add_maps(struct synth_dump *d, const char *text);
/** Values of 0 are left out of the vector. */
void synth_dump_add_auxv(struct synth_dump *d, uint64_t entry, uint64_t vdso);

/** For anything else: bytes or a MINIDUMP_STRING somewhere in the file, and a raw stream. */
uint32_t synth_dump_add_blob(struct synth_dump *d, const void *bytes, size_t n);
uint32_t synth_dump_add_string(struct synth_dump *d, const char *utf8);
void synth_dump_add_stream(struct synth_dump *d, uint32_t type, const void *bytes, size_t n);
/** A directory entry of any content. */
void synth_dump_add_directory(struct synth_dump *d, uint32_t type, uint32_t size, uint32_t rva);

/** The file; owned by d, may be changed by the caller. Nothing can be added after. */
uint8_t *synth_dump_finish(struct synth_dump *d, size_t *n);
/** After finish(): file offset of a stream (0: there is none). */
size_t synth_dump_stream(const struct synth_dump *d, uint32_t type);
/** After finish(): file offset of the directory entry of a stream. */
size_t synth_dump_directory(const struct synth_dump *d, uint32_t type);
/** Write a value of 2, 4 or 8 bytes in the dump's byte order. */
void synth_dump_patch(struct synth_dump *d, size_t offset, uint64_t value, unsigned width);

/** Set a register by name; aborts on an unknown one. */
void synth_reg(struct fw_regs *regs, enum fw_cpu_id cpu, const char *name, uint64_t value);

#endif
