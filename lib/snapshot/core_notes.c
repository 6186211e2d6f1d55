#include "lib/snapshot/core.h"

#include <stdio.h>

static uint64_t align_up(uint64_t v, unsigned align)
{
	return (v + align - 1) & ~(uint64_t)(align - 1);
}

bool core_next_note(const struct fw_bytes *b, unsigned align, uint64_t *offset,
		    struct core_note *ret)
{
	enum { HEADER = 12 };
	struct fw_bytes name;
	uint64_t at = *offset;
	if (!fw_bytes_has(b, at, HEADER))
		return false;
	uint32_t name_size = core_u32(b, at), desc_size = core_u32(b, at + 4);
	uint64_t desc = align_up(at + HEADER + name_size, align);
	*ret = (struct core_note){ .type = core_u32(b, at + 8), .offset = desc };
	if (!fw_bytes_range(b, at + HEADER, name_size, &name) ||
	    !fw_bytes_range(b, desc, desc_size, &ret->desc))
		return false;
	ret->owner = (struct fw_str){
		(const char *)name.data, strnlen((const char *)name.data, name.size),
	};
	*offset = align_up(desc + desc_size, align);
	return true;
}

static bool owned_by(const struct core_note *note, const char *owner)
{
	return note->owner.n == strlen(owner) && !memcmp(note->owner.s, owner, note->owner.n);
}

/** A view up to the first NUL, at most @p n bytes. */
static struct fw_str fixed_text(const struct fw_bytes *b, uint64_t offset, uint64_t n)
{
	struct fw_bytes field;
	if (!fw_bytes_range(b, offset, n, &field) || field.data[0] == 0)
		return (struct fw_str){ NULL, 0 };
	const char *s = (const char *)field.data;
	size_t length = strnlen(s, n);
	while (length && s[length - 1] == ' ')	// pr_psargs: a blank for every NUL
		length--;
	return (struct fw_str){ s, length };
}

// linux/elfcore.h, struct elf_prstatus. The first is of the thread that took the signal.
static void read_prstatus(struct core_reader *core, const struct core_note *note)
{
	struct fw_snapshot *s = core->s;
	if (s->num_threads == core->threads_room) {
		core_note(s, "threads", CORE_NO_INDEX, "only the first %u are read",
			  s->num_threads);
		core->threads_room = 0;		// told once
		return;
	}
	if (core->threads_room == 0)
		return;
	if (note->desc.size < (core->wide ? 112 : 72)) {
		core_note(s, "NT_PRSTATUS", s->num_threads, "%llu bytes are too short",
			  (unsigned long long)note->desc.size);
		return;
	}
	struct fw_thread_info *t = &s->threads[s->num_threads];
	t->id = core_u32(&note->desc, core->wide ? 32 : 24);
	t->context_error = core_registers(core, &note->desc, &t->regs);
	t->have_context = !t->context_error;
	if (t->context_error)
		core_note(s, "thread", s->num_threads, "%s", t->context_error);
	if (s->num_threads++ == 0) {
		s->crashing_thread = 0;
		s->exception.thread_id = t->id;
		s->exception.code = core_u16(&note->desc, 12);	// pr_cursig
	}
}

// linux/elfcore.h, struct elf_prpsinfo: user ids of 16 bits (x86, arm) or 32.
static void read_prpsinfo(struct core_reader *core, const struct core_note *note)
{
	struct fw_snapshot *s = core->s;
	static const struct { uint8_t size, pid, name; } layouts[] = {
		{ 124, 12, 28 }, { 128, 16, 32 }, { 136, 24, 40 },
	};
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (core->have_psinfo || note->desc.size != layouts[i].size ||
		    core->wide != (layouts[i].size == 136))
			continue;
		core->have_psinfo = s->have_pid = true;
		s->pid = core_u32(&note->desc, layouts[i].pid);
		s->exec_name = fixed_text(&note->desc, layouts[i].name, 16);
		s->command_line = fixed_text(&note->desc, layouts[i].name + 16, 80);
	}
}

// Pairs of words (System V ABI, auxiliary vector; linux/auxvec.h).
static void read_auxv(struct core_reader *core, const struct core_note *note)
{
	enum {
		AT_NULL = 0, AT_PHDR = 3, AT_PHNUM = 5, AT_BASE = 7, AT_ENTRY = 9, AT_EXECFN = 31,
		AT_SYSINFO_EHDR = 33,
	};
	struct fw_snapshot *s = core->s;
	const struct fw_bytes *b = &note->desc;
	if (core->have_auxv)
		return;
	core->have_auxv = true;
	for (uint64_t at = 0; fw_bytes_has(b, at, 2 * core->word); at += 2 * core->word) {
		uint64_t value = core_word(b, core->wide, at + core->word);
		switch (core_word(b, core->wide, at)) {
		case AT_NULL:
			return;
		case AT_PHDR:
			s->phdr = value;
			break;
		case AT_PHNUM:
			s->phnum = value > UINT32_MAX ? 0 : (uint32_t)value;
			break;
		case AT_BASE:
			s->interpreter = value;
			break;
		case AT_ENTRY:
			s->have_entry = true;
			s->entry = value;
			break;
		case AT_EXECFN:
			core->execfn = value;
			break;
		case AT_SYSINFO_EHDR:
			s->vdso = value;
			break;
		}
	}
}

static const char *foreign_system(const struct core_note *note)
{
	static const char *const owners[][2] = {
		{ "FreeBSD", "FreeBSD" }, { "NetBSD-CORE", "NetBSD" }, { "OpenBSD", "OpenBSD" },
		{ "QNX", "QNX" },
	};
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		if (owned_by(note, owners[i][0]))
			return owners[i][1];
	}
	return NULL;
}

// False: not one of those that are read.
static bool read_note(struct core_reader *core, const struct core_note *note)
{
	if (!owned_by(note, "CORE")) {
		if (!core->foreign)
			core->foreign = foreign_system(note);
		return false;
	}
	switch (note->type) {
	case NT_PRSTATUS:
		read_prstatus(core, note);
		return true;
	case NT_PRPSINFO:
		read_prpsinfo(core, note);
		return true;
	case NT_AUXV:
		read_auxv(core, note);
		return true;
	case NT_SIGINFO:
		if (!core->siginfo.size)
			core->siginfo = note->desc;
		return true;
	case NT_FILE:
		if (!core->mapped_files.size)
			core->mapped_files = note->desc;
		return true;
	}
	return false;
}

// For `inspect`.
static void list_note(struct core_reader *core, const struct core_note *note, uint64_t offset,
		      bool used)
{
	static const struct { const char *owner; uint32_t type; const char *name; } names[] = {
		{ "CORE", NT_PRSTATUS, "NT_PRSTATUS" }, { "CORE", 2, "NT_FPREGSET" },
		{ "CORE", NT_PRPSINFO, "NT_PRPSINFO" }, { "CORE", NT_AUXV, "NT_AUXV" },
		{ "CORE", NT_SIGINFO, "NT_SIGINFO" }, { "CORE", NT_FILE, "NT_FILE" },
		{ "LINUX", 0x46e62b7f, "NT_PRXFPREG" }, { "LINUX", 0x100, "NT_PPC_VMX" },
		{ "LINUX", 0x102, "NT_PPC_VSX" }, { "LINUX", 0x200, "NT_386_TLS" },
		{ "LINUX", 0x201, "NT_386_IOPERM" }, { "LINUX", 0x202, "NT_X86_XSTATE" },
		{ "LINUX", 0x204, "NT_X86_SHSTK" }, { "LINUX", 0x205, "NT_X86_XSAVE_LAYOUT" },
		{ "LINUX", 0x300, "NT_S390_HIGH_GPRS" }, { "LINUX", 0x400, "NT_ARM_VFP" },
		{ "LINUX", 0x401, "NT_ARM_TLS" }, { "LINUX", 0x402, "NT_ARM_HW_BREAK" },
		{ "LINUX", 0x403, "NT_ARM_HW_WATCH" }, { "LINUX", 0x404, "NT_ARM_SYSTEM_CALL" },
		{ "LINUX", 0x405, "NT_ARM_SVE" }, { "LINUX", 0x406, "NT_ARM_PAC_MASK" },
		{ "LINUX", 0x409, "NT_ARM_TAGGED_ADDR_CTRL" },
	};
	struct fw_snapshot *s = core->s;
	if (s->num_streams == FW_MAX_STREAMS)
		return;
	struct fw_stream_info *info = &s->streams[s->num_streams++];
	*info = (struct fw_stream_info){ note->type, NULL, offset, note->desc.size, used };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].type == note->type && owned_by(note, names[i].owner))
			info->name = names[i].name;
	}
}

// Notes of one segment; a segment in front of the last one's end would be read twice.
static void read_segment(struct core_reader *core, uint32_t index, const struct core_phdr *h,
			 bool count_only, uint32_t *ret_count)
{
	struct fw_bytes b;
	struct core_note note;
	uint64_t at = 0, start = h->offset < core->file.size ? h->offset : core->file.size;
	uint64_t rest = core->file.size - start;
	if (!fw_bytes_range(&core->file, start, h->filesz < rest ? h->filesz : rest, &b))
		return;
	while (core_next_note(&b, h->align == 8 ? 8 : 4, &at, &note)) {
		++*ret_count;
		if (!count_only)
			list_note(core, &note, start + note.offset, read_note(core, &note));
	}
	if (!count_only && (h->filesz > rest || at < b.size))
		core_note(core->s, "segment", index,
			  "its notes are broken or cut off at offset 0x%llx",
			  (unsigned long long)(start + (at < b.size ? at : b.size)));
}

static uint32_t read_segments(struct core_reader *core, bool count_only)
{
	struct core_phdr h;
	uint32_t count = 0;
	core->notes_end = 0;
	for (uint32_t i = 0; i < core->phnum; i++) {
		if (!core_phdr(&core->file, core->wide,
			       core->phoff + (uint64_t)i * core->phentsize, &h) ||
		    h.type != PT_NOTE || h.filesz == 0)
			continue;
		if (h.offset < core->notes_end) {
			if (!count_only)
				core_note(core->s, "segment", i,
					  "its notes lie in front of others' end");
			continue;
		}
		core->notes_end = h.offset > UINT64_MAX - h.filesz ? UINT64_MAX :
				  h.offset + h.filesz;
		read_segment(core, i, &h, count_only, &count);
	}
	return count;
}

static void name_main_thread(struct fw_snapshot *s)
{
	for (uint32_t i = 0; i < s->num_threads; i++) {
		if (s->have_pid && s->threads[i].id == s->pid)
			s->threads[i].name = s->exec_name;
	}
}

void core_read_notes(struct core_reader *core)
{
	struct fw_snapshot *s = core->s;
	uint32_t count = read_segments(core, true);
	uint32_t listed = count < FW_MAX_STREAMS ? count : FW_MAX_STREAMS;
	core->threads_room = count < FW_MAX_THREADS ? count : FW_MAX_THREADS;
	s->threads = core_array(core, core->threads_room, sizeof(*s->threads));
	s->streams = core_array(core, listed, sizeof(*s->streams));
	if (core->no_memory)
		return;
	read_segments(core, false);
	if (count > FW_MAX_STREAMS)
		core_note(s, "notes", CORE_NO_INDEX, "%u, the first %u are listed", count,
			  FW_MAX_STREAMS);
	name_main_thread(s);
}

/** True for a signal that no program dies of: the writer stopped a live one. */
static bool only_stopped(const struct core_reader *core, uint32_t signal)
{
	bool mips = core->s->cpu->id == FW_CPU_MIPS || core->s->cpu->id == FW_CPU_MIPS64;
	return signal == (mips ? 23 : 19);	// SIGSTOP
}

void core_read_exception(struct core_reader *core)
{
	// asm-generic/siginfo.h: number, errno, code (mips: number, code, errno), then
	// what the signal is about, as wide as a pointer.
	struct fw_snapshot *s = core->s;
	struct fw_exception *x = &s->exception;
	const struct fw_bytes *b = &core->siginfo;
	bool mips = s->cpu->id == FW_CPU_MIPS || s->cpu->id == FW_CPU_MIPS64;
	bool have_address = false;
	if (b->size >= 12u + core->word) {
		x->code = core_u32(b, 0);
		x->flags = core_u32(b, mips ? 4 : 8);
		// SI_USER, SI_TKILL and the like: who sent it stands there instead.
		bool fault = x->code == 4 || x->code == 5 || x->code == 7 || x->code == 8 ||
			     x->code == 11 || (mips && x->code == 10);
		have_address = fault && (int32_t)x->flags > 0;
		if (have_address)
			x->address = core_word(b, core->wide, core->wide ? 16 : 12);
	} else if (b->size) {
		core_note(s, "NT_SIGINFO", CORE_NO_INDEX, "%llu bytes are too short",
			  (unsigned long long)b->size);
	}
	if (x->code == 0 || only_stopped(core, x->code)) {
		*x = (struct fw_exception){ 0 };
		return;
	}
	x->present = s->crashed = true;
	const struct fw_thread_info *t = &s->threads[0];
	if (!have_address && t->have_context && fw_regs_has(&t->regs, s->cpu->pc))
		x->address = t->regs.v[s->cpu->pc];
}
