// What a well-formed minidump says arrives in the snapshot. Expectations come
// from what the builder was told and, for real dumps, from Breakpad's output.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/file.h"
#include "lib/snapshot/snapshot.h"
#include "tests/synth_minidump.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const uint8_t guid[16] = {
	0xe5, 0x32, 0x98, 0x5a, 0x28, 0x57, 0x41, 0xc1,
	0x83, 0x8e, 0xd9, 0x89, 0x14, 0xe9, 0xb7, 0xff,
};
static const uint8_t build_id[20] = {
	0xf1, 0xc3, 0xbc, 0xc0, 0x27, 0x98, 0x65, 0xfe, 0x30, 0x58,
	0x40, 0x4b, 0x28, 0x31, 0xd9, 0xe6, 0x41, 0x35, 0x38, 0x6c,
};

static struct fw_snapshot *read_ok(const uint8_t *data, size_t n)
{
	struct fw_snapshot *s = NULL;
	struct fw_error err = { 0 };
	enum fw_code code = fw_snapshot_read(data, n, &s, &err);
	ck_assert_msg(code == FW_OK, "%s: %s", err.place, err.message);
	return s;
}

static struct fw_snapshot *finish(struct synth_dump *d)
{
	size_t n;
	uint8_t *data = synth_dump_finish(d, &n);
	return read_ok(data, n);
}

static bool same(struct fw_str s, const char *text)
{
	return s.s && s.n == strlen(text) && !memcmp(s.s, text, s.n);
}

#define ck_str(str, text) ck_assert_msg(same(str, text), "%s is not '%s'", #str, text)
#define ck_none(str) ck_assert_ptr_eq((str).s, NULL)

static uint64_t word_at(const struct fw_snapshot *s, uint64_t address, unsigned width)
{
	struct fw_memory_view v;
	uint64_t value;
	fw_memory_view_init(&v, &s->memory);
	ck_assert_msg(fw_memory_read(&v, address, width, &value), "no memory at 0x%llx",
		      (unsigned long long)address);
	return value;
}

static bool readable(const struct fw_snapshot *s, uint64_t address)
{
	struct fw_memory_view v;
	uint64_t value;
	fw_memory_view_init(&v, &s->memory);
	return fw_memory_read(&v, address, 1, &value);
}

// Everything at once, in both byte orders (loop 0: little, 1: big).
static struct synth_dump *windows_dump(bool big_endian)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_X86, FW_OS_WINDOWS, big_endian);
	static const uint32_t version[4] = { 0x00050001, 0x0a280884, 0, 0 };
	uint64_t parameters[2] = { 1, 0x45 };
	struct fw_regs regs = { 0 }, crash = { 0 };
	uint8_t stack[32] = { 0x11, 0x22, 0x33, 0x44 };
	uint8_t teb[0x40] = { 0 };
	synth_reg(&regs, FW_CPU_X86, "eip", 0x401000);
	synth_reg(&regs, FW_CPU_X86, "esp", 0x12fe00);
	synth_reg(&crash, FW_CPU_X86, "eip", 0x40429e);
	synth_reg(&crash, FW_CPU_X86, "esp", 0x12fe84);
	synth_reg(&crash, FW_CPU_X86, "ebx", 0x7c80abc1);
	synth_dump_set_os_version(d, 5, 1, 2600, "Service Pack 2");
	synth_dump_set_cpu(d, 6, 0x0d08, 1, "GenuineIntel", 0, 0);
	synth_dump_set_teb(d, 0x7ffdf000);
	synth_dump_add_thread(d, 3060, &regs, 0x12fe00, stack, sizeof(stack));
	synth_dump_add_thread(d, 4544, &regs, 0x97f600, stack, sizeof(stack));
	synth_dump_add_thread_name(d, 3060, "main \xe2\x82\xac \xf0\x9f\x98\x80");
	synth_dump_add_module(d, &(struct synth_module){
		.base = 0x400000, .size = 0x2d000, .path = "c:\\test_app.exe",
		.cv = SYNTH_CV_PDB70, .id = guid, .age = 1, .debug_file = "c:\\test_app.pdb",
		.timestamp = 0x45d35f6c, .version = version,
	});
	synth_dump_add_unloaded(d, 0x10000, 0x2000, "old.dll", 0x12345678);
	synth_dump_add_exception(d, 3060, 0xc0000005, 0, 0x40429e, parameters, 2, &crash);
	synth_dump_add_misc(d, 3932, 1171480435);
	synth_dump_add_breakpad_info(d, 4544, 3060);
	teb[0x34] = teb[0x37] = big_endian ? 0 : 2;
	teb[0x37] = big_endian ? 2 : 0;
	synth_dump_add_memory(d, 0x7ffdf000, teb, sizeof(teb));
	synth_dump_add_handle(d, 0x44, "File", "\\Device\\Null", true);
	return d;
}

START_TEST(everything_of_a_windows_dump_arrives)
{
	struct synth_dump *d = windows_dump(_i);
	struct fw_snapshot *s = finish(d);
	char name[16];
	ck_assert_str_eq(s->format, "minidump");
	ck_assert_int_eq(s->big_endian, _i);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_assert_uint_eq(s->timestamp, 1600000000);
	ck_assert_int_eq(s->cpu->id, FW_CPU_X86);
	ck_assert_str_eq(fw_os_name(s, name), "Windows NT");
	ck_str(s->os_version, "5.1.2600");
	ck_str(s->os_build, "Service Pack 2");
	ck_str(s->cpu_info, "GenuineIntel family 6 model 13 stepping 8");
	ck_assert_uint_eq(s->cpu_count, 1);
	ck_assert(s->have_pid && s->pid == 3932);
	ck_assert(s->have_create_time && s->create_time == 1171480435);

	ck_assert_uint_eq(s->num_threads, 2);
	ck_assert_int_eq(s->crashing_thread, 0);
	ck_assert(s->crashed);
	const struct fw_thread_info *t = &s->threads[0];
	ck_assert(t->have_context);
	ck_assert_uint_eq(t->regs.v[s->cpu->pc], 0x40429e);
	ck_assert_uint_eq(t->regs.v[s->cpu->sp], 0x12fe84);
	ck_assert_uint_eq(t->stack_start, 0x12fe00);
	ck_assert_uint_eq(t->stack_size, 32);
	ck_str(t->name, "main \xe2\x82\xac \xf0\x9f\x98\x80");
	ck_assert(t->have_last_error && t->last_error == 2);
	ck_assert(!t->is_dump_writer && s->threads[1].is_dump_writer);
	ck_none(s->threads[1].name);
	ck_assert_uint_eq(s->threads[1].regs.v[s->cpu->pc], 0x401000);
	ck_assert_uint_eq(word_at(s, 0x12fe00, 4), _i ? 0x11223344 : 0x44332211);

	ck_assert_uint_eq(s->num_modules, 1);
	const struct fw_module_info *m = &s->modules[0];
	ck_str(m->code_file, "c:\\test_app.exe");
	ck_str(m->debug_file, "c:\\test_app.pdb");
	ck_assert_str_eq(m->debug_id.text, "5A9832E55728C141838ED98914E9B7FF1");
	ck_assert_str_eq(m->code_id.text, "45d35f6c2d000");
	ck_str(m->version, "5.1.2600.2180");
	ck_assert(m->is_main);
	ck_assert_uint_eq(s->num_unloaded, 1);
	ck_str(s->unloaded[0].code_file, "old.dll");
	ck_assert_str_eq(s->unloaded[0].code_id.text, "123456782000");
	ck_assert_uint_eq(s->exception.num_parameters, 2);
	ck_assert_uint_eq(s->exception.parameters[1], 0x45);
	ck_assert(s->have_handles);
	ck_assert_uint_eq(s->num_handles, 1);
	ck_str(s->handles[0].type_name, "File");
	ck_str(s->handles[0].object_name, "\\Device\\Null");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(list_counts_may_be_followed_by_padding)
{
	struct synth_dump *d = windows_dump(_i);
	synth_dump_set_list_padding(d, true);
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_assert_uint_eq(s->num_threads, 2);
	ck_assert_uint_eq(s->threads[1].id, 4544);
	ck_assert_uint_eq(s->num_modules, 1);
	ck_assert(readable(s, 0x7ffdf000));
	ck_str(s->threads[0].name, "main \xe2\x82\xac \xf0\x9f\x98\x80");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

static const char maps[] =
	"00400000-0041a000 r-xp 00000000 00:2a 60      /work bench/crash\n"
	"0061a000-0061b000 rw-p 0001a000 00:2a 60      /work bench/crash\n"
	"7fff5ae2c000-7fff5ae4d000 rw-p 00000000 00:00 0                          [stack]\n"
	"ffffffffff600000-ffffffffff601000 r-xp 00000000 00:00 0          [vsyscall]\n";

static struct synth_dump *linux_dump(enum fw_cpu_id cpu)
{
	struct synth_dump *d = synth_dump_create(cpu, FW_OS_LINUX, false);
	struct fw_regs regs = { 0 };
	uint8_t stack[64] = { 0 };
	synth_reg(&regs, cpu, cpu == FW_CPU_AMD64 ? "rip" : "pc", 0x401d72);
	synth_reg(&regs, cpu, cpu == FW_CPU_AMD64 ? "rsp" : "sp", 0x5ae4aa20);
	synth_dump_set_os_version(d, 0, 0, 0,
				  "Linux 4.9.60-linuxkit-aufs #1 SMP Mon Nov 6 2017 x86_64");
	synth_dump_add_thread(d, 1304, &regs, 0x5ae4aa20, stack, sizeof(stack));
	synth_dump_add_elf(d, 0x400000, 0x1a000, "/work bench/crash", build_id, 20);
	synth_dump_add_maps(d, maps);
	synth_dump_add_auxv(d, 0x401dc0, 0x5aef1000);
	synth_dump_add_text(d, SYNTH_LINUX_CPU_INFO,
			    "processor\t: 0\nmicrocode\t: 0xde\n\nprocessor\t: 1\n");
	synth_dump_add_text(d, SYNTH_LINUX_STATUS, "Name:\tcrash\nPid:\t1304\nPPid:\t7\n");
	synth_dump_add_text(d, SYNTH_LINUX_LSB, "DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=16.04\n"
			    "DISTRIB_CODENAME=xenial\n"
			    "DISTRIB_DESCRIPTION=\"Ubuntu 16.04.3 LTS\"\n");
	synth_dump_add_stream(d, SYNTH_LINUX_CMD_LINE, "./crash\0-x\0", 11);
	return d;
}

START_TEST(everything_of_a_linux_dump_arrives)
{
	struct synth_dump *d = linux_dump(_i ? FW_CPU_ARM : FW_CPU_AMD64);
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_str(s->os_version, "4.9.60-linuxkit-aufs");
	ck_assert(s->os_version_from_build);
	ck_str(s->os_build, "Linux 4.9.60-linuxkit-aufs #1 SMP Mon Nov 6 2017 x86_64");
	ck_assert(s->have_entry);
	ck_assert_uint_eq(s->entry, 0x401dc0);
	ck_assert_uint_eq(s->vdso, 0x5aef1000);
	ck_str(s->cpu_microcode, "0xde");
	ck_assert(s->have_pid && s->pid == 1304);
	ck_str(s->lsb_id, "Ubuntu");
	ck_str(s->lsb_release, "16.04");
	ck_str(s->lsb_codename, "xenial");
	ck_str(s->lsb_description, "Ubuntu 16.04.3 LTS");
	ck_str(s->command_line, "./crash -x");
	ck_assert_uint_eq(s->num_maps, 4);
	ck_assert_uint_eq(s->num_regions, 4);
	ck_assert(s->regions_complete);
	const struct fw_module_info *m = &s->modules[0];
	ck_str(m->debug_file, "/work bench/crash");
	ck_assert_str_eq(m->debug_id.text, "C0BCC3F19827FE653058404B2831D9E60");
	ck_assert_str_eq(m->code_id.text, "f1c3bcc0279865fe3058404b2831d9e64135386c");
	ck_none(m->version);
	ck_assert_int_eq(s->crashing_thread, -1);
	ck_assert(!s->crashed);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

// Trap 39 of the peers: the end of a line of /proc/PID/maps is exclusive.
START_TEST(maps_lines_become_regions_with_exclusive_ends)
{
	struct synth_dump *d = linux_dump(FW_CPU_AMD64);
	struct fw_snapshot *s = finish(d);
	const struct fw_region *r = fw_snapshot_region(s, 0x419fff);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(r->permissions, FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_EXEC);
	ck_str(r->name, "/work bench/crash");
	ck_assert_ptr_null(fw_snapshot_region(s, 0x41a000));
	ck_assert_ptr_null(fw_snapshot_region(s, 0x3fffff));
	r = fw_snapshot_region(s, 0x61a000);
	ck_assert_uint_eq(r->permissions, FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_WRITE);
	ck_assert_uint_eq(r->file_offset, 0x1a000);
	ck_str(fw_snapshot_region(s, 0x7fff5ae4cfff)->name, "[stack]");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(memory_info_is_preferred_to_maps)
{
	enum { COMMIT = 0x1000, RESERVE = 0x2000, FREE = 0x10000 };
	struct synth_dump *d = linux_dump(FW_CPU_AMD64);
	synth_dump_add_memory_info(d, 0x20000, 0x1000, COMMIT, 0x20);
	synth_dump_add_memory_info(d, 0x10000, 0x1000, COMMIT, 0x104);
	synth_dump_add_memory_info(d, 0x30000, 0x1000, RESERVE, 0x04);
	synth_dump_add_memory_info(d, 0x40000, 0x1000, FREE, 0x01);
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->num_regions, 3);
	ck_assert_uint_eq(s->num_maps, 4);
	ck_assert(s->regions_complete);
	ck_assert_uint_eq(s->regions[0].start, 0x10000);
	ck_assert_uint_eq(s->regions[0].permissions, FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_WRITE);
	ck_assert_uint_eq(s->regions[1].permissions, FW_PERM_KNOWN | FW_PERM_READ | FW_PERM_EXEC);
	ck_assert_uint_eq(s->regions[2].permissions, FW_PERM_KNOWN);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(limits_rows_with_few_columns_are_left_out)
{
	struct synth_dump *d = linux_dump(FW_CPU_AMD64);
	synth_dump_add_text(d, SYNTH_LINUX_LIMITS,
		"Limit                     Soft Limit           Hard Limit           Units     \n"
		"Max cpu time              unlimited            unlimited            seconds   \n"
		"Max nice priority         0                    0                    \n"
		"Max broken                1\n");
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->num_limits, 2);
	ck_str(s->limits[0].name, "Max cpu time");
	ck_str(s->limits[0].soft, "unlimited");
	ck_str(s->limits[0].unit, "seconds");
	ck_str(s->limits[1].name, "Max nice priority");
	ck_str(s->limits[1].hard, "0");
	ck_none(s->limits[1].unit);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

// Memory: who wins where two streams tell of one address.
START_TEST(memory_of_all_streams_is_readable_and_ranked)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	uint8_t a[16], b[16], stack[16], big[32];
	memset(a, 'a', 16);
	memset(b, 'b', 16);
	memset(stack, 's', 16);
	memset(big, '6', 32);
	synth_dump_add_thread(d, 1, NULL, 0x2000, stack, 16);
	synth_dump_add_memory(d, 0x1008, a, 16);	// listed first: wins
	synth_dump_add_memory(d, 0x1000, b, 16);
	synth_dump_add_memory(d, 0x2004, b, 4);		// wins over the stack
	synth_dump_add_memory64(d, 0x1ff8, big, 32);	// 0x1ff8-0x2018: lowest rank
	synth_dump_add_memory64(d, 0x3000, big, 8);
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(word_at(s, 0x1007, 1), 'b');
	ck_assert_uint_eq(word_at(s, 0x1008, 1), 'a');
	ck_assert_uint_eq(word_at(s, 0x100f, 1), 'a');
	ck_assert_uint_eq(word_at(s, 0x1017, 1), 'a');
	ck_assert(!readable(s, 0x1018));
	ck_assert(!readable(s, 0xfff));
	ck_assert_uint_eq(word_at(s, 0x1ff8, 1), '6');
	ck_assert_uint_eq(word_at(s, 0x2000, 8), UINT64_C(0x6262626273737373));
	ck_assert_uint_eq(word_at(s, 0x2008, 1), 's');
	ck_assert_uint_eq(word_at(s, 0x2010, 1), '6');
	ck_assert(!readable(s, 0x2018));
	ck_assert_uint_eq(word_at(s, 0x3007, 1), '6');
	// a read that crosses from one stream's bytes into another's
	ck_assert_uint_eq(word_at(s, 0x1004, 8), UINT64_C(0x6161616162626262));
	for (uint32_t i = 1; i < s->memory.count; i++) {
		const struct fw_segment *before = &s->memory.segments[i - 1];
		ck_assert_uint_le(before->start + before->size, s->memory.segments[i].start);
	}
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

// Windows writes stacks with rva 0: the bytes are in the memory list.
START_TEST(stack_without_bytes_is_found_in_the_memory_list)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_WINDOWS, false);
	uint8_t stack[16] = { 7 };
	size_t n;
	synth_dump_add_thread(d, 1, NULL, 0x2000, stack, 16);
	synth_dump_add_memory(d, 0x2000, stack, 16);
	uint8_t *data = synth_dump_finish(d, &n);
	synth_dump_patch(d, synth_dump_stream(d, 3) + 4 + 36, 0, 4);
	struct fw_snapshot *s = read_ok(data, n);
	ck_assert_uint_eq(s->threads[0].stack_start, 0x2000);
	ck_assert_uint_eq(word_at(s, 0x2000, 1), 7);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(addresses_of_32_bit_processes_are_not_sign_extended)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_X86, FW_OS_WINDOWS, false);
	uint8_t bytes[8] = { 5 };
	synth_dump_set_teb(d, UINT64_C(0xfffffffffffdf000));
	synth_dump_add_thread(d, 1, NULL, UINT64_C(0xffffffff80001000), bytes, 8);
	synth_dump_add_memory(d, UINT64_C(0xffffffffc0000000), bytes, 8);
	synth_dump_add_pe(d, UINT64_C(0xffffffffa0000000), 0x1000, "x.dll", guid, 1, "x.pdb");
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->threads[0].teb, 0xfffdf000);
	ck_assert_uint_eq(s->threads[0].stack_start, 0x80001000);
	ck_assert_uint_eq(word_at(s, 0x80001000, 1), 5);
	ck_assert_uint_eq(word_at(s, 0xc0000000, 1), 5);
	ck_assert_uint_eq(s->modules[0].base, 0xa0000000);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

// Identity.
START_TEST(module_ids_follow_the_codeview_record)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_X86, FW_OS_WINDOWS, _i);
	synth_dump_add_pe(d, 0x1000, 0x100, "a.dll", guid, 0x2a, "a.pdb");
	synth_dump_add_module(d, &(struct synth_module){
		.base = 0x2000, .size = 0x100, .path = "b.dll", .cv = SYNTH_CV_PDB20,
		.signature = 0x3b3e6a5c, .age = 0x1f, .debug_file = "b.pdb",
		.timestamp = 0xabcdef,
	});
	synth_dump_add_elf(d, 0x3000, 0x100, "c", build_id, 4);		// a short one
	synth_dump_add_elf(d, 0x4000, 0x100, "d.dll", NULL, 0);
	static const uint8_t nil[16];
	synth_dump_add_pe(d, 0x5000, 0x100, "e.dll", nil, 1, "e.pdb");
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_assert_str_eq(s->modules[0].debug_id.text, "5A9832E55728C141838ED98914E9B7FF2a");
	ck_assert_str_eq(s->modules[1].debug_id.text, "3B3E6A5C1f");
	ck_assert_str_eq(s->modules[1].code_id.text, "00abcdef100");
	ck_str(s->modules[1].debug_file, "b.pdb");
	ck_assert_str_eq(s->modules[2].debug_id.text, "C0BCC3F10000000000000000000000000");
	ck_assert_str_eq(s->modules[2].code_id.text, "f1c3bcc0");
	// no CodeView: no debug id, but a code id all the same on Windows
	ck_assert_str_eq(s->modules[3].debug_id.text, "");
	ck_assert_str_eq(s->modules[3].code_id.text, "00000000100");
	ck_none(s->modules[3].debug_file);
	ck_assert_str_eq(s->modules[4].debug_id.text, "");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(code_id_of_mach_o_is_the_uuid)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_ARM64, _i ? FW_OS_IOS : FW_OS_MACOS,
						 false);
	synth_dump_add_pe(d, 0x1000, 0x100, "/usr/lib/dyld", guid, 0, "dyld");
	synth_dump_add_elf(d, 0x2000, 0x100, "none", NULL, 0);
	struct fw_snapshot *s = finish(d);
	ck_assert_str_eq(s->modules[0].debug_id.text, "5A9832E55728C141838ED98914E9B7FF0");
	ck_assert_str_eq(s->modules[0].code_id.text, "5a9832e55728c141838ed98914e9b7ff");
	ck_assert_str_eq(s->modules[1].code_id.text, "");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(all_zero_build_id_is_none)
{
	static const uint8_t zeros[20];
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	synth_dump_add_elf(d, 0x1000, 0x100, "/lib/x.so", zeros, sizeof(zeros));
	struct fw_snapshot *s = finish(d);
	ck_assert_str_eq(s->modules[0].debug_id.text, "");
	ck_str(s->modules[0].debug_file, "/lib/x.so");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

// Order and overlap of modules.
START_TEST(modules_are_sorted_and_the_lower_of_two_is_cut)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	synth_dump_add_elf(d, 0x9000, 0x1000, "/main", build_id, 20);
	synth_dump_add_elf(d, 0x1000, 0x3000, "/low", build_id, 20);
	synth_dump_add_elf(d, 0x3000, 0x1000, "/high", build_id, 20);
	synth_dump_add_elf(d, 0x3000, 0x2000, "/again", build_id, 20);
	synth_dump_add_elf(d, 0x3800, 0, "/empty", build_id, 20);
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->num_modules, 4);
	ck_str(s->modules[0].code_file, "/low");
	ck_assert_uint_eq(s->modules[0].size, 0x2000);
	ck_str(s->modules[1].code_file, "/high");
	ck_str(s->modules[2].code_file, "/empty");
	ck_str(s->modules[3].code_file, "/main");
	ck_assert(s->modules[3].is_main && !s->modules[0].is_main);
	ck_assert_ptr_eq(fw_snapshot_module(s, 0x2fff), &s->modules[0]);
	ck_assert_ptr_eq(fw_snapshot_module(s, 0x3000), &s->modules[1]);
	// the module of size 0 neither matches nor hides another
	ck_assert_ptr_eq(fw_snapshot_module(s, 0x3800), &s->modules[1]);
	ck_assert_ptr_eq(fw_snapshot_module(s, 0x3fff), &s->modules[1]);
	ck_assert_ptr_null(fw_snapshot_module(s, 0x4000));
	ck_assert_ptr_null(fw_snapshot_module(s, 0xfff));
	ck_assert_uint_eq(s->num_notes, 2);
	ck_assert_str_eq(s->notes[0].place, "module 2");
	ck_assert_str_eq(s->notes[0].message, "cuts the module at 0x1000 that reaches into it");
	ck_assert_str_eq(s->notes[1].place, "module 3");
	ck_assert_str_eq(s->notes[1].message, "another one starts at 0x3000 too");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

// Who crashed.
START_TEST(requesting_thread_counts_where_there_is_no_exception)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	synth_dump_add_thread(d, 7, NULL, 0, NULL, 0);
	synth_dump_add_thread(d, 8, NULL, 0, NULL, 0);
	synth_dump_add_breakpad_info(d, 7, 8);
	struct fw_snapshot *s = finish(d);
	ck_assert_int_eq(s->crashing_thread, 1);
	ck_assert(!s->crashed);
	ck_assert(s->threads[0].is_dump_writer);
	ck_assert_str_eq(s->threads[0].context_error, "no context was recorded");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(unreadable_exception_context_leaves_the_threads_own)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_LINUX, false);
	struct fw_regs regs = { 0 };
	synth_reg(&regs, FW_CPU_AMD64, "rip", 0x1234);
	synth_dump_add_thread(d, 8, &regs, 0, NULL, 0);
	synth_dump_use_context(d, 0xfffffff0, 1232);
	synth_dump_add_exception(d, 8, 11, 1, 0x10, NULL, 0, NULL);
	struct fw_snapshot *s = finish(d);
	ck_assert_int_eq(s->crashing_thread, 0);
	ck_assert(s->threads[0].have_context);
	ck_assert_uint_eq(s->threads[0].regs.v[s->cpu->pc], 0x1234);
	ck_assert_uint_eq(s->num_notes, 1);
	ck_assert_str_eq(s->notes[0].place, "exception");
	ck_assert_str_eq(s->notes[0].message, "the context is not in the file");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(assertion_texts_are_read)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_X86, FW_OS_WINDOWS, _i);
	synth_dump_add_assertion(d, "p != NULL", "f", "a.c", 12);
	struct fw_snapshot *s = finish(d);
	ck_str(s->exception.assertion, "p != NULL");
	ck_str(s->exception.assertion_function, "f");
	ck_str(s->exception.assertion_file, "a.c");
	ck_assert_uint_eq(s->exception.assertion_line, 12);
	ck_assert(!s->exception.present);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(crashpad_annotations_of_process_and_modules)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_MACOS, _i);
	synth_dump_set_crashpad_ids(d, guid, build_id);
	synth_dump_add_annotation(d, "hello", "world");
	synth_dump_add_elf(d, 0x9000, 0x100, "main", NULL, 0);
	synth_dump_add_elf(d, 0x1000, 0x100, "lib", NULL, 0);
	synth_dump_add_module_annotation(d, 1, SYNTH_SIMPLE, "key", "value");
	synth_dump_add_module_annotation(d, 1, SYNTH_LIST, NULL, "abort() called");
	synth_dump_add_module_annotation(d, 1, SYNTH_OBJECT, "name", "text");
	struct fw_snapshot *s = finish(d);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_assert_str_eq(s->crashpad_report_id.text, "5a9832e55728c141838ed98914e9b7ff");
	ck_assert_str_eq(s->crashpad_client_id.text, "c0bcc3f19827fe653058404b2831d9e6");
	ck_assert_uint_eq(s->num_annotations, 1);
	ck_str(s->annotations[0].key, "hello");
	ck_str(s->annotations[0].value, "world");
	// the list's entry 1 is the first module by address
	const struct fw_module_info *m = &s->modules[0];
	ck_str(m->code_file, "lib");
	ck_assert_uint_eq(m->num_annotations, 3);
	ck_none(m->annotations[0].key);
	ck_str(m->annotations[0].value, "abort() called");
	ck_str(m->annotations[1].key, "key");
	ck_str(m->annotations[1].value, "value");
	ck_str(m->annotations[2].key, "name");
	ck_str(m->annotations[2].value, "text");
	ck_assert_uint_eq(s->modules[1].num_annotations, 0);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

START_TEST(mac_boot_args_are_read)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_AMD64, FW_OS_MACOS, false);
	uint8_t stream[12] = { 0x02, 0, 0x7a, 0x4d };
	uint32_t rva = synth_dump_add_string(d, "-v keepsyms=1");
	memcpy(stream + 4, &rva, 4);
	synth_dump_add_stream(d, 0x4d7a0002, stream, sizeof(stream));
	struct fw_snapshot *s = finish(d);
	ck_str(s->mac_boot_args, "-v keepsyms=1");
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

static const struct {
	uint32_t cpuid, hwcaps;
	const char *text;
} arm_cases[] = {
	{ 0, 0, "ARMv7" },
	{ 0x410fc0f2, 0x102, "ARMv7 ARM Cortex-A15 features: half,java" },
	{ 0x510f06f0, 0, "ARMv7 Qualcomm Krait" },
	{ 0x560f1230, 0, "ARMv7 Marvell part(0x56001230)" },
	{ 0x990f1230, 1, "ARMv7 vendor(0x99) part(0x99001230) features: swp" },
};

START_TEST(arm_cpu_is_told_in_breakpads_words)
{
	struct synth_dump *d = synth_dump_create(FW_CPU_ARM, FW_OS_ANDROID, false);
	synth_dump_set_cpu(d, 7, 0, 4, NULL, arm_cases[_i].cpuid, arm_cases[_i].hwcaps);
	struct fw_snapshot *s = finish(d);
	ck_str(s->cpu_info, arm_cases[_i].text);
	ck_assert_uint_eq(s->cpu_count, 4);
	fw_snapshot_destroy(s);
	synth_dump_destroy(d);
}
END_TEST

// Breakpad's machine output of the same dump: one Module line each.
static void check_module_line(const struct fw_snapshot *s, uint32_t i, const char *line)
{
	const struct fw_module_info *m = &s->modules[i];
	struct fw_str file = fw_base_name(m->code_file), pdb = fw_base_name(m->debug_file);
	char mine[512];
	snprintf(mine, sizeof(mine), "Module|%.*s|%.*s|%.*s|%s|0x%08llx|0x%08llx|%d\n",
		 (int)file.n, file.s, (int)m->version.n, m->version.s ? m->version.s : "",
		 (int)pdb.n, pdb.s, m->debug_id.text, (unsigned long long)m->base,
		 (unsigned long long)(m->base + m->size - 1), m->is_main);
	ck_assert_str_eq(mine, line);
}

static struct fw_snapshot *read_corpus(struct fw_file *f, const char *name)
{
	struct fw_error err = { 0 };
	char path[4096];
	const char *corpus = getenv("CORPUS");
	snprintf(path, sizeof(path), "%s/minidumps/%s", corpus ? corpus : "", name);
	if (fw_file_open(f, path, FW_MAX_INPUT, &err) != FW_OK)
		return NULL;
	return read_ok(f->data, f->size);
}

START_TEST(corpus_windows_modules_are_breakpads)
{
	struct fw_file f;
	char line[512], path[4096];
	uint32_t count = 0;
	struct fw_snapshot *s = read_corpus(&f, "windows-x86/minidump2.dmp");
	if (!s)
		return;
	snprintf(path, sizeof(path),
		 "%s/minidumps/windows-x86/minidump2.stackwalk.machine_readable.out",
		 getenv("CORPUS"));
	FILE *expected = fopen(path, "r");
	ck_assert_ptr_nonnull(expected);
	while (fgets(line, sizeof(line), expected)) {
		if (!strncmp(line, "Module|", 7)) {
			ck_assert_uint_lt(count, s->num_modules);
			check_module_line(s, count++, line);
		}
	}
	ck_assert_uint_eq(count, s->num_modules);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_str(s->cpu_info, "GenuineIntel family 6 model 13 stepping 8");
	fclose(expected);
	fw_snapshot_destroy(s);
	fw_file_close(&f);
}
END_TEST

START_TEST(corpus_crashpad_annotation_and_modules)
{
	struct fw_file f;
	struct fw_snapshot *s = read_corpus(&f, "crashpad-mac/simple-crashpad.dmp");
	if (!s)
		return;
	ck_assert_uint_eq(s->num_annotations, 1);
	ck_str(s->annotations[0].key, "hello");
	ck_str(s->annotations[0].value, "world");
	ck_assert_uint_eq(s->num_modules, 40);
	ck_assert_uint_eq(s->num_notes, 0);
	fw_snapshot_destroy(s);
	fw_file_close(&f);
}
END_TEST

START_TEST(corpus_linux_entry_and_maps)
{
	struct fw_file f;
	struct fw_snapshot *s = read_corpus(&f, "linux-mini/linux-mini.dmp");
	if (!s)
		return;
	ck_assert(s->have_entry);
	ck_assert_uint_eq(s->entry, 0x401dc0);
	ck_assert_uint_eq(s->num_maps, 35);
	ck_assert_uint_eq(s->num_notes, 0);
	ck_str(s->lsb_description, "Ubuntu 16.04.3 LTS");
	fw_snapshot_destroy(s);
	fw_file_close(&f);
}
END_TEST

Suite *minidump_suite(void);
Suite *minidump_suite(void)
{
	Suite *suite = suite_create("minidump");
	TCase *tc = tcase_create("streams");
	tcase_add_loop_test(tc, everything_of_a_windows_dump_arrives, 0, 2);
	tcase_add_loop_test(tc, list_counts_may_be_followed_by_padding, 0, 2);
	tcase_add_loop_test(tc, everything_of_a_linux_dump_arrives, 0, 2);
	tcase_add_test(tc, maps_lines_become_regions_with_exclusive_ends);
	tcase_add_test(tc, memory_info_is_preferred_to_maps);
	tcase_add_test(tc, limits_rows_with_few_columns_are_left_out);
	tcase_add_loop_test(tc, assertion_texts_are_read, 0, 2);
	tcase_add_loop_test(tc, crashpad_annotations_of_process_and_modules, 0, 2);
	tcase_add_test(tc, mac_boot_args_are_read);
	tcase_add_loop_test(tc, arm_cpu_is_told_in_breakpads_words, 0, ARRAY_SIZE(arm_cases));
	suite_add_tcase(suite, tc);

	tc = tcase_create("memory");
	tcase_add_test(tc, memory_of_all_streams_is_readable_and_ranked);
	tcase_add_test(tc, stack_without_bytes_is_found_in_the_memory_list);
	tcase_add_test(tc, addresses_of_32_bit_processes_are_not_sign_extended);
	suite_add_tcase(suite, tc);

	tc = tcase_create("modules and threads");
	tcase_add_loop_test(tc, module_ids_follow_the_codeview_record, 0, 2);
	tcase_add_loop_test(tc, code_id_of_mach_o_is_the_uuid, 0, 2);
	tcase_add_test(tc, all_zero_build_id_is_none);
	tcase_add_test(tc, modules_are_sorted_and_the_lower_of_two_is_cut);
	tcase_add_test(tc, requesting_thread_counts_where_there_is_no_exception);
	tcase_add_test(tc, unreadable_exception_context_leaves_the_threads_own);
	suite_add_tcase(suite, tc);

	tc = tcase_create("corpus");
	tcase_add_test(tc, corpus_windows_modules_are_breakpads);
	tcase_add_test(tc, corpus_crashpad_annotation_and_modules);
	tcase_add_test(tc, corpus_linux_entry_and_maps);
	suite_add_tcase(suite, tc);
	return suite;
}
