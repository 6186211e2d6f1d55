#include "tests/synth_minidump.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	THREAD_LIST = 3, MODULE_LIST = 4, MEMORY_LIST = 5, EXCEPTION = 6, SYSTEM_INFO = 7,
	MEMORY64_LIST = 9, HANDLE_DATA = 12, UNLOADED_LIST = 14, MISC_INFO = 15,
	MEMORY_INFO_LIST = 16, THREAD_NAMES = 24, CRASHPAD_INFO = 0x43500001,
	BREAKPAD_INFO = 0x47670001, ASSERTION_INFO = 0x47670002, LINUX_AUXV = 0x47670008,
	HEADER_SIZE = 32, MAX_STREAMS = 64, MAX_ANNOTATED = 8,
};

struct buffer { uint8_t *data; size_t n, capacity; uint32_t count; };

struct stream { uint32_t type, size, rva; };

struct module_annotations {
	uint32_t module;
	struct buffer kinds[3];
};

struct synth_dump {
	bool big_endian, padded, finished;
	enum fw_cpu_id cpu;
	struct buffer file;		// header and everything written so far
	struct buffer threads, modules, memory, memory64, memory64_bytes, unloaded, infos,
		names, handles, annotations;
	struct buffer system;
	uint64_t teb;
	uint32_t context_rva, context_size;
	uint32_t handle_size;
	uint8_t report[16], client[16];
	bool crashpad;
	struct module_annotations annotated[MAX_ANNOTATED];
	uint32_t num_annotated;
	struct stream streams[MAX_STREAMS];
	uint32_t num_streams;
	uint32_t omitted;
	size_t directory;
};

static void put_bytes(struct buffer *b, const void *bytes, size_t n)
{
	if (b->n + n > b->capacity) {
		b->capacity = (b->n + n) * 2;
		b->data = realloc(b->data, b->capacity);
		if (!b->data)
			abort();
	}
	if (n)
		memcpy(b->data + b->n, bytes, n);
	b->n += n;
}

static void store(bool big_endian, uint8_t *at, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		at[big_endian ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

static void put(struct synth_dump *d, struct buffer *b, uint64_t value, unsigned width)
{
	uint8_t bytes[8];
	store(d->big_endian, bytes, value, width);
	put_bytes(b, bytes, width);
}

static void put_zeros(struct buffer *b, size_t n)
{
	static const uint8_t zeros[64];
	for (; n > sizeof(zeros); n -= sizeof(zeros))
		put_bytes(b, zeros, sizeof(zeros));
	put_bytes(b, zeros, n);
}

static uint32_t file_position(struct synth_dump *d)
{
	assert(!d->finished);
	put_zeros(&d->file, -d->file.n & 3);
	return (uint32_t)d->file.n;
}

uint32_t synth_dump_add_blob(struct synth_dump *d, const void *bytes, size_t n)
{
	uint32_t rva = file_position(d);
	put_bytes(&d->file, bytes, n);
	return rva;
}

static uint32_t next_utf8(const char **p)
{
	const uint8_t *s = (const uint8_t *)*p;
	uint32_t c = s[0];
	unsigned more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	if (more)
		c &= 0x3f >> more;
	for (unsigned i = 1; i <= more; i++)
		c = c << 6 | (s[i] & 0x3f);
	*p += more + 1;
	return c;
}

static void put_utf16(struct synth_dump *d, struct buffer *b, const char *utf8)
{
	while (*utf8) {
		uint32_t c = next_utf8(&utf8);
		if (c < 0x10000) {
			put(d, b, c, 2);
		} else {
			put(d, b, 0xd800 + ((c - 0x10000) >> 10), 2);
			put(d, b, 0xdc00 + ((c - 0x10000) & 0x3ff), 2);
		}
	}
}

uint32_t synth_dump_add_string(struct synth_dump *d, const char *utf8)
{
	struct buffer text = { 0 };
	put_utf16(d, &text, utf8);
	uint32_t rva = file_position(d);
	put(d, &d->file, text.n, 4);
	put_bytes(&d->file, text.data, text.n);
	put(d, &d->file, 0, 2);
	free(text.data);
	return rva;
}

static uint32_t add_utf8_string(struct synth_dump *d, const char *text)
{
	uint32_t rva = file_position(d);
	put(d, &d->file, strlen(text), 4);
	put_bytes(&d->file, text, strlen(text) + 1);
	return rva;
}

static uint16_t arch_of(enum fw_cpu_id cpu)
{
	switch (cpu) {
	case FW_CPU_X86:
		return 0;
	case FW_CPU_AMD64:
		return 9;
	case FW_CPU_ARM:
		return 5;
	case FW_CPU_ARM64:
		return 12;
	default:
		return 0xffff;
	}
}

static uint32_t platform_of(enum fw_os os)
{
	switch (os) {
	case FW_OS_WINDOWS:
		return 2;
	case FW_OS_MACOS:
		return 0x8101;
	case FW_OS_IOS:
		return 0x8102;
	case FW_OS_LINUX:
		return 0x8201;
	case FW_OS_ANDROID:
		return 0x8203;
	case FW_OS_FUCHSIA:
		return 0x8206;
	default:
		return 0xffffffff;
	}
}

struct synth_dump *synth_dump_create(enum fw_cpu_id cpu, enum fw_os os, bool big_endian)
{
	struct synth_dump *d = calloc(1, sizeof(*d));
	if (!d)
		abort();
	d->cpu = cpu;
	d->big_endian = big_endian;
	put_zeros(&d->file, HEADER_SIZE);
	put_zeros(&d->system, 56);
	synth_dump_set_arch(d, arch_of(cpu));
	synth_dump_set_platform(d, platform_of(os));
	return d;
}

void synth_dump_destroy(struct synth_dump *d)
{
	if (!d)
		return;
	struct buffer *all[] = {
		&d->file, &d->threads, &d->modules, &d->memory, &d->memory64,
		&d->memory64_bytes, &d->unloaded, &d->infos, &d->names, &d->handles,
		&d->annotations, &d->system,
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->data);
	for (uint32_t i = 0; i < d->num_annotated; i++)
		for (unsigned k = 0; k < 3; k++)
			free(d->annotated[i].kinds[k].data);
	free(d);
}

void synth_dump_set_arch(struct synth_dump *d, uint16_t arch)
{
	store(d->big_endian, d->system.data, arch, 2);
}

void synth_dump_set_platform(struct synth_dump *d, uint32_t platform)
{
	store(d->big_endian, d->system.data + 20, platform, 4);
}

void synth_dump_set_os_version(struct synth_dump *d, uint32_t major, uint32_t minor,
			       uint32_t build, const char *text)
{
	store(d->big_endian, d->system.data + 8, major, 4);
	store(d->big_endian, d->system.data + 12, minor, 4);
	store(d->big_endian, d->system.data + 16, build, 4);
	if (text)
		store(d->big_endian, d->system.data + 24, synth_dump_add_string(d, text), 4);
}

void synth_dump_set_cpu(struct synth_dump *d, uint16_t level, uint16_t revision,
			uint8_t count, const char *vendor, uint32_t cpuid, uint32_t hwcaps)
{
	store(d->big_endian, d->system.data + 2, level, 2);
	store(d->big_endian, d->system.data + 4, revision, 2);
	d->system.data[6] = count;
	if (!vendor) {
		store(d->big_endian, d->system.data + 32, cpuid, 4);
		store(d->big_endian, d->system.data + 36, hwcaps, 4);
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *v = (const uint8_t *)vendor + 4 * i;
		uint32_t word = v[0] | v[1] << 8 | v[2] << 16 | (uint32_t)v[3] << 24;
		store(d->big_endian, d->system.data + 32 + 4 * i, word, 4);
	}
}

void synth_dump_set_list_padding(struct synth_dump *d, bool padded)
{
	d->padded = padded;
}

void synth_dump_omit(struct synth_dump *d, uint32_t type)
{
	assert(type < 32);
	d->omitted |= UINT32_C(1) << type;
}

void synth_dump_set_teb(struct synth_dump *d, uint64_t teb)
{
	d->teb = teb;
}

void synth_reg(struct fw_regs *regs, enum fw_cpu_id cpu, const char *name, uint64_t value)
{
	uint8_t slot = fw_cpu_reg(fw_cpu_get(cpu), (struct fw_str){ name, strlen(name) });
	if (slot == FW_NO_REG)
		abort();
	fw_regs_set(regs, slot, value);
}

// Registers in the order of winnt.h's CONTEXT (arm: Breakpad's), without gaps.
static const struct context_shape {
	enum fw_cpu_id cpu;
	uint16_t size, flags_at, first;
	uint8_t width;
	uint32_t flags;		// CPU, CONTROL and INTEGER
	const char *names[36];
} shapes[] = {
	{ FW_CPU_X86, 716, 0, 156, 4, 0x10003,
	  { "edi", "esi", "ebx", "edx", "ecx", "eax", "ebp", "eip", "-", "eflags", "esp" } },
	{ FW_CPU_AMD64, 1232, 48, 120, 8, 0x100003,
	  { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11",
	    "r12", "r13", "r14", "r15", "rip" } },
	{ FW_CPU_ARM, 368, 0, 4, 4, 0x40000002,
	  { "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12",
	    "sp", "lr", "pc", "cpsr" } },
	{ FW_CPU_ARM64, 912, 0, 8, 8, 0x400003,
	  { "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
	    "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24",
	    "x25", "x26", "x27", "x28", "x29", "x30", "sp", "pc" } },
};

static void fill_context(struct synth_dump *d, const struct context_shape *shape,
			 const struct fw_regs *regs, uint8_t *bytes)
{
	const struct fw_cpu *cpu = fw_cpu_get(d->cpu);
	for (unsigned i = 0; shape->names[i]; i++) {
		struct fw_str name = { shape->names[i], strlen(shape->names[i]) };
		uint8_t slot = fw_cpu_reg(cpu, name);
		if (slot != FW_NO_REG && fw_regs_has(regs, slot))
			store(d->big_endian, bytes + shape->first + i * shape->width,
			      regs->v[slot], shape->width);
	}
}

uint32_t synth_dump_add_context(struct synth_dump *d, const struct fw_regs *regs,
				bool arm64_old, uint32_t *ret_size)
{
	uint8_t bytes[1232] = { 0 };
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (shapes[i].cpu != d->cpu)
			continue;
		*ret_size = arm64_old ? 796 : shapes[i].size;
		fill_context(d, &shapes[i], regs, bytes);
		if (arm64_old)
			store(d->big_endian, bytes, 0x80000002, 8);
		else
			store(d->big_endian, bytes + shapes[i].flags_at, shapes[i].flags, 4);
		return synth_dump_add_blob(d, bytes, *ret_size);
	}
	*ret_size = 0;
	return 0;
}

void synth_dump_use_context(struct synth_dump *d, uint32_t rva, uint32_t size)
{
	d->context_rva = rva;
	d->context_size = size;
}

static void put_context(struct synth_dump *d, struct buffer *b, const struct fw_regs *regs)
{
	uint32_t rva = d->context_rva, size = d->context_size;
	if (!size && regs)
		rva = synth_dump_add_context(d, regs, false, &size);
	d->context_rva = d->context_size = 0;
	put(d, b, size, 4);
	put(d, b, rva, 4);
}

void synth_dump_add_thread(struct synth_dump *d, uint32_t id, const struct fw_regs *regs,
			   uint64_t stack_start, const void *stack, size_t n)
{
	struct buffer *b = &d->threads;
	put(d, b, id, 4);
	put_zeros(b, 12);
	put(d, b, d->teb, 8);
	put(d, b, stack_start, 8);
	put(d, b, n, 4);
	put(d, b, n ? synth_dump_add_blob(d, stack, n) : 0, 4);
	put_context(d, b, regs);
	b->count++;
	d->teb = 0;
}

// The GUID's first three fields are given little-endian, as PDB tools show them in a file.
static void put_guid(struct synth_dump *d, struct buffer *b, const uint8_t *id)
{
	put(d, b, id[0] | id[1] << 8 | id[2] << 16 | (uint32_t)id[3] << 24, 4);
	put(d, b, (uint32_t)(id[4] | id[5] << 8), 2);
	put(d, b, (uint32_t)(id[6] | id[7] << 8), 2);
	put_bytes(b, id + 8, 8);
}

static void make_codeview(struct synth_dump *d, const struct synth_module *m, struct buffer *cv)
{
	switch (m->cv) {
	case SYNTH_CV_NONE:
		return;
	case SYNTH_CV_PDB70:
		put(d, cv, 0x53445352, 4);
		put_guid(d, cv, m->id);
		put(d, cv, m->age, 4);
		break;
	case SYNTH_CV_PDB20:
		put(d, cv, 0x3031424e, 4);
		put(d, cv, 0, 4);
		put(d, cv, m->signature, 4);
		put(d, cv, m->age, 4);
		break;
	case SYNTH_CV_ELF:
		put(d, cv, 0x4270454c, 4);
		put_bytes(cv, m->id, m->id_size);
		return;
	case SYNTH_CV_RAW:
		put_bytes(cv, m->id, m->id_size);
		return;
	}
	if (m->debug_file)
		put_bytes(cv, m->debug_file, strlen(m->debug_file) + 1);
}

void synth_dump_add_module(struct synth_dump *d, const struct synth_module *m)
{
	struct buffer *b = &d->modules, cv = { 0 };
	make_codeview(d, m, &cv);
	put(d, b, m->base, 8);
	put(d, b, m->size, 4);
	put(d, b, 0, 4);
	put(d, b, m->timestamp, 4);
	put(d, b, synth_dump_add_string(d, m->path), 4);
	if (m->version) {
		put(d, b, 0xfeef04bd, 4);
		put(d, b, 0x10000, 4);
		for (unsigned i = 0; i < 4; i++)
			put(d, b, m->version[i], 4);
		put_zeros(b, 28);
	} else {
		put_zeros(b, 52);
	}
	put(d, b, cv.n, 4);
	put(d, b, cv.n ? synth_dump_add_blob(d, cv.data, cv.n) : 0, 4);
	put_zeros(b, 24);
	b->count++;
	free(cv.data);
}

void synth_dump_add_elf(struct synth_dump *d, uint64_t base, uint32_t size, const char *path,
			const uint8_t *build_id, size_t n)
{
	synth_dump_add_module(d, &(struct synth_module){
		.base = base, .size = size, .path = path, .cv = n ? SYNTH_CV_ELF : SYNTH_CV_NONE,
		.id = build_id, .id_size = n,
	});
}

void synth_dump_add_pe(struct synth_dump *d, uint64_t base, uint32_t size, const char *path,
		       const uint8_t guid[16], uint32_t age, const char *pdb)
{
	synth_dump_add_module(d, &(struct synth_module){
		.base = base, .size = size, .path = path, .cv = SYNTH_CV_PDB70, .id = guid,
		.id_size = 16, .age = age, .debug_file = pdb,
	});
}

void synth_dump_add_unloaded(struct synth_dump *d, uint64_t base, uint32_t size,
			     const char *path, uint32_t timestamp)
{
	struct buffer *b = &d->unloaded;
	put(d, b, base, 8);
	put(d, b, size, 4);
	put(d, b, 0, 4);
	put(d, b, timestamp, 4);
	put(d, b, synth_dump_add_string(d, path), 4);
	b->count++;
}

void synth_dump_add_memory(struct synth_dump *d, uint64_t address, const void *bytes, size_t n)
{
	put(d, &d->memory, address, 8);
	put(d, &d->memory, n, 4);
	put(d, &d->memory, synth_dump_add_blob(d, bytes, n), 4);
	d->memory.count++;
}

void synth_dump_add_memory64(struct synth_dump *d, uint64_t address, const void *bytes,
			     size_t n)
{
	put(d, &d->memory64, address, 8);
	put(d, &d->memory64, n, 8);
	put_bytes(&d->memory64_bytes, bytes, n);
	d->memory64.count++;
}

void synth_dump_add_memory_info(struct synth_dump *d, uint64_t start, uint64_t size,
				uint32_t state, uint32_t protection)
{
	struct buffer *b = &d->infos;
	put(d, b, start, 8);
	put(d, b, start, 8);
	put(d, b, protection, 4);
	put(d, b, 0, 4);
	put(d, b, size, 8);
	put(d, b, state, 4);
	put(d, b, protection, 4);
	put(d, b, 0x20000, 4);
	put(d, b, 0, 4);
	b->count++;
}

void synth_dump_add_directory(struct synth_dump *d, uint32_t type, uint32_t size, uint32_t rva)
{
	assert(d->num_streams < MAX_STREAMS);
	d->streams[d->num_streams++] = (struct stream){ type, size, rva };
}

void synth_dump_add_stream(struct synth_dump *d, uint32_t type, const void *bytes, size_t n)
{
	synth_dump_add_directory(d, type, (uint32_t)n, synth_dump_add_blob(d, bytes, n));
}

static void add_buffer(struct synth_dump *d, uint32_t type, struct buffer *b)
{
	synth_dump_add_stream(d, type, b->data, b->n);
	free(b->data);
	*b = (struct buffer){ 0 };
}

void synth_dump_add_exception(struct synth_dump *d, uint32_t thread, uint32_t code,
			      uint32_t flags, uint64_t address, const uint64_t *parameters,
			      uint32_t count, const struct fw_regs *regs)
{
	struct buffer b = { 0 };
	put(d, &b, thread, 4);
	put(d, &b, 0, 4);
	put(d, &b, code, 4);
	put(d, &b, flags, 4);
	put(d, &b, 0, 8);
	put(d, &b, address, 8);
	put(d, &b, count, 4);
	put(d, &b, 0, 4);
	for (uint32_t i = 0; i < 15; i++)
		put(d, &b, i < count ? parameters[i] : 0, 8);
	put_context(d, &b, regs);
	add_buffer(d, EXCEPTION, &b);
}

void synth_dump_add_misc(struct synth_dump *d, uint32_t pid, uint32_t create_time)
{
	struct buffer b = { 0 };
	put(d, &b, 24, 4);
	put(d, &b, 3, 4);
	put(d, &b, pid, 4);
	put(d, &b, create_time, 4);
	put_zeros(&b, 8);
	add_buffer(d, MISC_INFO, &b);
}

void synth_dump_add_thread_name(struct synth_dump *d, uint32_t id, const char *name)
{
	put(d, &d->names, id, 4);
	put(d, &d->names, synth_dump_add_string(d, name), 8);
	d->names.count++;
}

void synth_dump_add_breakpad_info(struct synth_dump *d, uint32_t dump_thread,
				  uint32_t requesting_thread)
{
	struct buffer b = { 0 };
	put(d, &b, (dump_thread ? 1 : 0) | (requesting_thread ? 2 : 0), 4);
	put(d, &b, dump_thread, 4);
	put(d, &b, requesting_thread, 4);
	add_buffer(d, BREAKPAD_INFO, &b);
}

void synth_dump_add_assertion(struct synth_dump *d, const char *expression,
			      const char *function, const char *file, uint32_t line)
{
	const char *texts[] = { expression, function, file };
	struct buffer b = { 0 };
	for (size_t i = 0; i < 3; i++) {
		put_utf16(d, &b, texts[i]);
		assert(b.n <= (i + 1) * 256);
		put_zeros(&b, (i + 1) * 256 - b.n);
	}
	put(d, &b, line, 4);
	put(d, &b, 0, 4);
	add_buffer(d, ASSERTION_INFO, &b);
}

void synth_dump_add_handle(struct synth_dump *d, uint64_t handle, const char *type,
			   const char *object, bool version2)
{
	struct buffer *b = &d->handles;
	d->handle_size = version2 ? 40 : 32;
	put(d, b, handle, 8);
	put(d, b, type ? synth_dump_add_string(d, type) : 0, 4);
	put(d, b, object ? synth_dump_add_string(d, object) : 0, 4);
	put_zeros(b, d->handle_size - 16);
	b->count++;
}

void synth_dump_set_crashpad_ids(struct synth_dump *d, const uint8_t report[16],
				 const uint8_t client[16])
{
	d->crashpad = true;
	memcpy(d->report, report, 16);
	memcpy(d->client, client, 16);
}

void synth_dump_add_annotation(struct synth_dump *d, const char *key, const char *value)
{
	d->crashpad = true;
	put(d, &d->annotations, add_utf8_string(d, key), 4);
	put(d, &d->annotations, add_utf8_string(d, value), 4);
	d->annotations.count++;
}

void synth_dump_add_module_annotation(struct synth_dump *d, uint32_t module,
				      enum synth_annotation kind, const char *key,
				      const char *value)
{
	uint32_t i = 0;
	d->crashpad = true;
	while (i < d->num_annotated && d->annotated[i].module != module)
		i++;
	assert(i < MAX_ANNOTATED);
	if (i == d->num_annotated)
		d->annotated[d->num_annotated++].module = module;
	struct buffer *b = &d->annotated[i].kinds[kind];
	if (kind != SYNTH_LIST)
		put(d, b, add_utf8_string(d, key), 4);
	if (kind == SYNTH_OBJECT) {
		put(d, b, 1, 2);
		put(d, b, 0, 2);
	}
	put(d, b, add_utf8_string(d, value), 4);
	b->count++;
}

void synth_dump_add_text(struct synth_dump *d, uint32_t type, const char *text)
{
	synth_dump_add_stream(d, type, text, strlen(text));
}

void synth_dump_add_maps(struct synth_dump *d, const char *text)
{
	synth_dump_add_text(d, SYNTH_LINUX_MAPS, text);
}

void synth_dump_add_auxv(struct synth_dump *d, uint64_t entry, uint64_t vdso)
{
	unsigned word = fw_cpu_get(d->cpu)->word_size;
	struct buffer b = { 0 };
	if (entry) {
		put(d, &b, 9, word);
		put(d, &b, entry, word);
	}
	if (vdso) {
		put(d, &b, 33, word);
		put(d, &b, vdso, word);
	}
	put_zeros(&b, 2 * word);
	add_buffer(d, LINUX_AUXV, &b);
}

static bool omitted(const struct synth_dump *d, uint32_t type)
{
	return type < 32 && d->omitted >> type & 1;
}

static void add_counted_list(struct synth_dump *d, uint32_t type, struct buffer *entries,
			     bool always)
{
	struct buffer b = { 0 };
	if (omitted(d, type) || (!entries->count && !always))
		return;
	put(d, &b, entries->count, 4);
	if (d->padded)
		put(d, &b, 0, 4);
	put_bytes(&b, entries->data, entries->n);
	add_buffer(d, type, &b);
}

static void add_described_list(struct synth_dump *d, uint32_t type, struct buffer *entries,
			       uint32_t header, uint32_t entry)
{
	struct buffer b = { 0 };
	if (omitted(d, type) || !entries->count)
		return;
	put(d, &b, header, 4);
	put(d, &b, entry, 4);
	put(d, &b, entries->count, type == MEMORY_INFO_LIST ? 8 : 4);
	put_zeros(&b, header - b.n);
	put_bytes(&b, entries->data, entries->n);
	add_buffer(d, type, &b);
}

static void add_memory64_list(struct synth_dump *d)
{
	struct buffer b = { 0 };
	if (!d->memory64.count)
		return;
	put(d, &b, d->memory64.count, 8);
	put(d, &b, synth_dump_add_blob(d, d->memory64_bytes.data, d->memory64_bytes.n), 8);
	put_bytes(&b, d->memory64.data, d->memory64.n);
	add_buffer(d, MEMORY64_LIST, &b);
}

// A location descriptor of a counted table; empty tables have none.
static void put_table(struct synth_dump *d, struct buffer *out, const struct buffer *entries)
{
	struct buffer b = { 0 };
	if (!entries->count) {
		put_zeros(out, 8);
		return;
	}
	put(d, &b, entries->count, 4);
	put_bytes(&b, entries->data, entries->n);
	put(d, out, b.n, 4);
	put(d, out, synth_dump_add_blob(d, b.data, b.n), 4);
	free(b.data);
}

static void add_crashpad_info(struct synth_dump *d)
{
	struct buffer b = { 0 }, links = { 0 };
	if (!d->crashpad)
		return;
	for (uint32_t i = 0; i < d->num_annotated; i++) {
		struct module_annotations *a = &d->annotated[i];
		struct buffer info = { 0 };
		put(d, &info, 1, 4);
		put_table(d, &info, &a->kinds[SYNTH_LIST]);
		put_table(d, &info, &a->kinds[SYNTH_SIMPLE]);
		put_table(d, &info, &a->kinds[SYNTH_OBJECT]);
		put(d, &links, a->module, 4);
		put(d, &links, info.n, 4);
		put(d, &links, synth_dump_add_blob(d, info.data, info.n), 4);
		links.count++;
		free(info.data);
	}
	put(d, &b, 1, 4);
	put_guid(d, &b, d->report);
	put_guid(d, &b, d->client);
	put_table(d, &b, &d->annotations);
	put_table(d, &b, &links);
	free(links.data);
	add_buffer(d, CRASHPAD_INFO, &b);
}

static void add_streams(struct synth_dump *d)
{
	if (!omitted(d, SYSTEM_INFO))
		synth_dump_add_stream(d, SYSTEM_INFO, d->system.data, d->system.n);
	add_counted_list(d, THREAD_LIST, &d->threads, true);
	add_counted_list(d, MODULE_LIST, &d->modules, false);
	add_counted_list(d, MEMORY_LIST, &d->memory, false);
	add_counted_list(d, THREAD_NAMES, &d->names, false);
	add_described_list(d, UNLOADED_LIST, &d->unloaded, 12, 24);
	add_described_list(d, MEMORY_INFO_LIST, &d->infos, 16, 48);
	add_described_list(d, HANDLE_DATA, &d->handles, 16, d->handle_size);
	add_memory64_list(d);
	add_crashpad_info(d);
}

uint8_t *synth_dump_finish(struct synth_dump *d, size_t *n)
{
	assert(!d->finished);
	add_streams(d);
	d->directory = file_position(d);
	for (uint32_t i = 0; i < d->num_streams; i++) {
		put(d, &d->file, d->streams[i].type, 4);
		put(d, &d->file, d->streams[i].size, 4);
		put(d, &d->file, d->streams[i].rva, 4);
	}
	d->finished = true;
	synth_dump_patch(d, 0, 0x504d444d, 4);
	synth_dump_patch(d, 4, 0xa793, 4);
	synth_dump_patch(d, 8, d->num_streams, 4);
	synth_dump_patch(d, 12, d->directory, 4);
	synth_dump_patch(d, 20, 1600000000, 4);
	*n = d->file.n;
	return d->file.data;
}

size_t synth_dump_stream(const struct synth_dump *d, uint32_t type)
{
	for (uint32_t i = d->num_streams; i-- > 0;) {
		if (d->streams[i].type == type)
			return d->streams[i].rva;
	}
	return 0;
}

size_t synth_dump_directory(const struct synth_dump *d, uint32_t type)
{
	for (uint32_t i = d->num_streams; i-- > 0;) {
		if (d->streams[i].type == type)
			return d->directory + 12 * i;
	}
	return 0;
}

void synth_dump_patch(struct synth_dump *d, size_t offset, uint64_t value, unsigned width)
{
	assert(offset + width <= d->file.n);
	store(d->big_endian, d->file.data + offset, value, width);
}
