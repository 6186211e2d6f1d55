#ifndef FW_SYMFILES_LAZY_READ_H
#define FW_SYMFILES_LAZY_READ_H

#include "symfiles/elf_image.h"

/**
 * The loader process's side of lazily read names (lazy.h): single addresses of one
 * module's files. One thread; to be used only in a process that may die.
 */
struct fw_lazy_reader;

/** @p files stay the caller's and must outlive the result. FW_NO_MEMORY. */
FW_MUST_CHECK enum fw_code fw_lazy_reader_open(const struct fw_elf_files *files,
					       struct fw_lazy_reader **ret,
					       struct fw_error *err);
void fw_lazy_reader_close(struct fw_lazy_reader *r);

/**
 * An image that says of each of n offsets what fw_elf_compile()'s would: functions with
 * their lines and inlined calls, publics; no unwind rules. The caller's. FW_NO_MEMORY,
 * FW_LIMIT.
 */
FW_MUST_CHECK enum fw_code fw_lazy_reader_answer(struct fw_lazy_reader *r,
						 const uint32_t *offsets, size_t n,
						 struct fw_image **ret, struct fw_error *err);

#endif
