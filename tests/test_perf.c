#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/snapshot/recording.h"
#include "tests/synth_perf.h"

Suite *perf_suite(void);

enum {	// include/uapi/linux/perf_event.h
	IP = 1, TID = 2, TIME = 4, ADDR = 8, READ = 16, ID = 64, STREAM = 512, RAW = 1024,
	BRANCH = 2048, REGS = 4096, STACK = 8192, WEIGHT = 16384,
	IDENTIFIER = 65536,
	MMAP = 1, LOST = 2, COMM = 3, EXIT = 4, THROTTLE = 5, FORK = 7, SAMPLE = 9, MMAP2 = 10,
	LOST_SAMPLES = 13, KSYMBOL = 17, FINISHED_ROUND = 68, COMPRESSED = 81, COMPRESSED2 = 83,
	USER = 2, KERNEL = 1, PROT_RX = 5,
};
#define ID_ALL (UINT64_C(1) << 18)

static struct synth_perf s;
static struct fw_recording *r;
static struct fw_error err;
static struct fw_sample got[64];
static uint32_t count;

static void setup(void)
{
	memset(&s, 0, sizeof(s));
	memset(&err, 0, sizeof(err));
	r = NULL;
	count = 0;
}

static void teardown(void)
{
	fw_recording_destroy(r);
	synth_perf_free(&s);
}

static int file_of(const void *data, size_t n)
{
	int fd = memfd_create("perf.data", 0);
	ck_assert(fd >= 0 && write(fd, data, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static enum fw_code try_open(void)
{
	int fd = file_of(s.data, s.n);
	enum fw_code code = fw_recording_open(NULL, fd, &r, &err);
	close(fd);
	return code;
}

// Their stacks are copied: the batches do not live as long.
static uint8_t stacks[64][256];

static void read_all(void)
{
	struct fw_sample_batch b;
	enum fw_code code;
	while ((code = fw_recording_next(r, &b, &err)) == FW_OK) {
		for (uint32_t i = 0; i < b.count && count < 64; i++) {
			struct fw_sample *to = &got[count];
			if (!fw_sample_decode(r, &b.samples[i], to))
				continue;
			ck_assert_uint_le(to->stack_size, sizeof(stacks[0]));
			if (to->stack)
				to->stack = memcpy(stacks[count], to->stack, to->stack_size);
			count++;
		}
		fw_recording_release(r, &b);
	}
	ck_assert_int_eq(code, FW_NOT_FOUND);
	ck_assert_str_eq(err.message, "no more samples");
}

static void open_and_read(void)
{
	ck_assert_msg(try_open() == FW_OK, "%s: %s", err.place, err.message);
	read_all();
}

static void ck_note(uint32_t i, const char *place, const char *message)
{
	ck_assert_uint_lt(i, r->num_notes);
	ck_assert_str_eq(r->notes[i].place, place);
	ck_assert_str_eq(r->notes[i].message, message);
}

START_TEST(fields_of_a_sample)
{
	s.big = _i;
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 1000000001, USER, 2, 24);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_int_eq(r->big_endian, _i);
	ck_assert_str_eq(r->format, "perf.data");
	ck_assert_uint_eq(r->num_events, 1);
	ck_assert_str_eq(r->events[0].name.s, "cpu-clock");
	ck_assert(r->events[0].have_stack && r->events[0].have_chain && r->events[0].have_time &&
		  r->events[0].have_cpu && r->events[0].have_period && r->events[0].kernel &&
		  r->events[0].user);
	ck_assert_uint_eq(r->events[0].frequency, 997);
	ck_assert_uint_eq(r->events[0].stack_asked, 32);
	ck_assert_uint_eq(count, 1);
	const struct fw_sample *x = &got[0];
	ck_assert(x->index == 0 && x->time == 1000000001 && x->cpu == 3);
	ck_assert(x->pid == 7 && x->tid == 8);
	ck_assert(x->event == 0 && x->period == 1003009 && x->ip == 0x401234);
	ck_assert(x->mode == FW_MODE_USER && x->abi == FW_ABI_64);
	ck_assert(x->stack_size == 24 && x->stack_asked == 32 && x->stack[23] == 23);
	ck_assert_uint_eq(x->chain_words, 2);
	// Order of arch/x86/include/uapi/asm/perf_regs.h: ax bx cx dx si di bp sp ip ... r8
	static const uint8_t place[17] = { 0, 3, 2, 1, 4, 5, 6, 7,
					   12, 13, 14, 15, 16, 17, 18, 19, 8 };
	ck_assert_int_eq(x->regs_cpu->id, FW_CPU_AMD64);
	ck_assert_uint_eq(x->regs.valid, 0x1ffff);
	for (unsigned i = 0; i < 17; i++)
		ck_assert_uint_eq(x->regs.v[i], 0x100u + place[i]);
	ck_assert_uint_eq(r->counts.samples, 1);
	ck_assert_uint_eq(r->num_notes, 0);
}
END_TEST

START_TEST(a_chain_in_host_order)
{
	struct fw_sample_batch b;
	s.big = _i;
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 1, KERNEL, 2, 8);
	synth_perf_end(&s);
	ck_assert_int_eq(try_open(), FW_OK);
	ck_assert_int_eq(fw_recording_next(r, &b, &err), FW_OK);
	ck_assert(fw_sample_decode(r, &b.samples[0], &got[0]));
	ck_assert_uint_eq(fw_sample_chain(r, &got[0], 0), (uint64_t)-128);
	ck_assert_uint_eq(fw_sample_chain(r, &got[0], 1), UINT64_C(0xffffffff81000010));
	ck_assert_int_eq(got[0].mode, FW_MODE_KERNEL);
	fw_recording_release(r, &b);
}
END_TEST

START_TEST(samples_without_registers_or_stack)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 0, 1, KERNEL, 0, 0);	// a kernel thread: no dyn_size either
	perf_put_sample(&s, 7, 2, USER, 1, 8);	// a 32-bit task
	perf_put_sample(&s, 7, 3, USER, 2, 40);	// more valid bytes than there are
	perf_put_sample(&s, 7, 4, USER, 3, 8);	// no such ABI
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(r->counts.samples, 4);
	ck_assert_uint_eq(count, 2);
	ck_assert(got[0].abi == FW_ABI_NONE && !got[0].regs.valid);
	ck_assert(!got[0].stack && !got[0].stack_size);
	// eax ecx edx ebx esp ebp esi edi eip eflags
	static const uint8_t place[10] = { 0, 2, 3, 1, 7, 6, 4, 5, 8, 9 };
	ck_assert_int_eq(got[1].regs_cpu->id, FW_CPU_X86);
	ck_assert_uint_eq(got[1].regs.valid, 0x3ff);
	for (unsigned i = 0; i < 10; i++)
		ck_assert_uint_eq(got[1].regs.v[i], 0x100u + place[i]);
}
END_TEST

static void put_nmi(uint16_t mode, uint64_t last)
{
	perf_record_open(&s, SAMPLE, mode);
	perf_put_u64(&s, 2);
	for (unsigned i = 0; i < 20; i++)
		perf_put_u64(&s, i == 19 ? last : i == 1 || i >= 16 ? UINT64_MAX : i);
	perf_record_close(&s);
}

START_TEST(registers_that_an_nmi_does_not_know)
{
	struct synth_attr a = { .type = 0, .sample_type = REGS, .regs_user = 0xff0fff };
	synth_perf_begin(&s, &a, 1);
	put_nmi(KERNEL, UINT64_MAX);
	put_nmi(USER, UINT64_MAX);
	put_nmi(KERNEL, 5);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(got[0].regs.valid, 0x1ffff & ~(1u << 3 | 0xfu << 12));
	ck_assert_uint_eq(got[1].regs.valid, 0x1ffff);
	ck_assert_uint_eq(got[2].regs.valid, 0x1ffff);
}
END_TEST

static const struct {
	const char *arch;
	uint64_t mask, abi;
	enum fw_cpu_id id;
	uint64_t valid;
	int first, last;		// registers of the lowest and highest bit of mask
} arches[] = {
	{ "aarch64", UINT64_C(0x1ffffffff), 2, FW_CPU_ARM64, UINT64_C(0x1ffffffff), 0, 32 },
	{ "aarch64", UINT64_C(0x1ffffffff), 1, FW_CPU_ARM, 0xffff, 0, 15 },
	{ "armv7l", 0xffff, 1, FW_CPU_ARM, 0xffff, 0, 15 },
	{ "riscv64", UINT32_MAX, 2, FW_CPU_RISCV64, UINT64_C(0x1fffffffe), 32, 31 },
	{ "i686", 0x1ff, 1, FW_CPU_X86, 0x1ff, 0, 8 },
	{ "x86_64", 0x1c0, 2, FW_CPU_AMD64, 1 << 6 | 1 << 7 | 1 << 16, 6, 16 },
	{ NULL, UINT64_C(0x1ffffffff), 2, FW_CPU_ARM64, UINT64_C(0x1ffffffff), 0, 32 },
	{ "sparc64", 0xff, 2, FW_CPU_UNKNOWN, 0, -1, -1 },
};

START_TEST(registers_by_architecture)
{
	struct synth_attr a = { .sample_type = REGS, .regs_user = arches[_i].mask };
	unsigned n = (unsigned)__builtin_popcountll(a.regs_user);
	synth_perf_begin(&s, &a, 1);
	perf_record_open(&s, SAMPLE, USER);
	perf_put_u64(&s, arches[_i].abi);
	for (unsigned i = 0; i < n; i++)
		perf_put_u64(&s, 0x1000 + i);
	perf_record_close(&s);
	synth_perf_end(&s);
	if (arches[_i].arch) {
		synth_perf_features(&s, (uint32_t[]){ 6 }, 1);
		perf_feature_open(&s, 0);
		perf_put_string(&s, arches[_i].arch);
		perf_feature_close(&s, 0);
	}
	open_and_read();
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(got[0].regs_cpu->id, arches[_i].id);
	ck_assert_uint_eq(got[0].regs.valid, arches[_i].valid);
	if (arches[_i].first >= 0) {
		ck_assert_uint_eq(got[0].regs.v[arches[_i].first], 0x1000);
		ck_assert_uint_eq(got[0].regs.v[arches[_i].last], 0x1000 + n - 1);
	}
}
END_TEST

START_TEST(fields_in_between_are_stepped_over)
{
	struct synth_attr a = {
		.sample_type = IDENTIFIER | IP | ADDR | STREAM | READ | RAW | BRANCH | REGS |
			       STACK | WEIGHT,
		.read_format = 1 | 2 | 4 | 8 | 16, .branch_type = 1 << 17 | 1 << 19,
		.regs_user = 0x180,
	};
	s.big = _i;
	synth_perf_begin(&s, &a, 1);
	perf_record_open(&s, SAMPLE, USER);
	perf_put_u64(&s, 99);			// identifier
	perf_put_u64(&s, 0xabc);			// ip
	perf_put_u64(&s, 1);			// addr
	perf_put_u64(&s, 2);			// stream id
	perf_put_u64(&s, 2);			// read: group of two, each with id and lost
	perf_put_bytes(&s, NULL, 8 * (2 + 2 * 3));
	perf_put_u32(&s, 5);			// raw: 4 + 5 bytes, padded to 16
	perf_put_bytes(&s, NULL, 12);
	perf_put_u64(&s, 2);			// branches, with hw_idx and counters
	perf_put_bytes(&s, NULL, 8 + 2 * 24 + 2 * 8);
	perf_put_u64(&s, 2);			// abi
	perf_put_u64(&s, 0x7ff0);
	perf_put_u64(&s, 0x4010);
	perf_put_u64(&s, 8);
	perf_put_u64(&s, 0);
	perf_put_u64(&s, 8);			// dyn_size
	perf_put_u64(&s, 0);			// weight
	perf_record_close(&s);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(got[0].ip, 0xabc);
	ck_assert_uint_eq(got[0].regs.v[7], 0x7ff0);
	ck_assert_uint_eq(got[0].regs.v[16], 0x4010);
	ck_assert_uint_eq(got[0].stack_size, 8);
	ck_assert_uint_eq(got[0].cpu, UINT32_MAX);
	ck_assert_uint_eq(got[0].period, 1);
}
END_TEST

START_TEST(events_are_told_apart_by_id)
{
	static const uint64_t ids[2][2] = { { 11, 12 }, { 21, 22 } };
	uint64_t how = _i ? IDENTIFIER : ID;
	struct synth_attr a[2] = {
		{ .type = 0, .sample_type = how | IP, .period = 5, .ids = ids[0], .num_ids = 2 },
		{ .type = 1, .config = 2, .sample_type = how | IP | (_i ? (uint64_t)TIME : 0),
		  .ids = ids[1], .num_ids = 2 },
	};
	synth_perf_begin(&s, a, 2);
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t of[3] = { 22, 11, 77 };
		perf_record_open(&s, SAMPLE, USER);
		perf_put_u64(&s, _i ? of[i] : 0x10 + i);
		perf_put_u64(&s, _i ? 0x10 + i : of[i]);
		if (_i && i == 0)
			perf_put_u64(&s, 1234);
		perf_record_close(&s);
	}
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(count, 2);
	ck_assert(got[0].event == 1 && got[0].ip == 0x10 && got[0].period == 1);
	ck_assert(got[1].event == 0 && got[1].ip == 0x11 && got[1].period == 5);
	ck_assert_uint_eq(got[0].time, _i ? 1234 : 0);
	ck_assert_str_eq(r->events[0].name.s, "cycles");
	ck_assert_str_eq(r->events[1].name.s, "page-faults");
}
END_TEST

static const char *where(uint32_t pid, uint64_t time, uint64_t address)
{
	const struct fw_space_view *v = fw_spaces_at(r->spaces, pid, time);
	const struct fw_mapping *m = v ? fw_space_find(v, address) : NULL;
	return m ? fw_spaces_dso_at(r->spaces, m->dso)->path.s : "";
}

static void put_exec_and_fork(void)
{
	perf_put_mmap2(&s, 7, 0x1000, 0x1000, 0, PROT_RX, "/bin/sh");
	perf_put_trailer(&s, 7, 10);
	perf_record_open(&s, FORK, 0);
	perf_put_u32(&s, 8);
	perf_put_u32(&s, 7);
	perf_put_u32(&s, 8);
	perf_put_u32(&s, 7);
	perf_put_u64(&s, 20);
	perf_put_trailer(&s, 7, 20);
	perf_record_open(&s, FORK, 1 << 13);	// of a task that was there: maps are told too
	perf_put_u32(&s, 9);
	perf_put_u32(&s, 7);
	perf_put_u32(&s, 9);
	perf_put_u32(&s, 7);
	perf_put_u64(&s, 0);
	perf_put_trailer(&s, 7, 0);
	perf_record_open(&s, COMM, 1 << 13);
	perf_put_comm(&s, 8, 8, "ls");
	perf_put_trailer(&s, 8, 30);
	perf_put_mmap2(&s, 8, 0x2000, 0x1000, 0, PROT_RX, "/bin/ls");
	perf_put_trailer(&s, 8, 31);
}

START_TEST(maps_names_forks)
{
	s.big = _i;
	synth_perf_begin(&s, &synth_perf_attr, 1);
	put_exec_and_fork();
	perf_record_open(&s, MMAP, KERNEL);
	perf_put_u32(&s, UINT32_MAX);
	perf_put_u32(&s, 0);
	perf_put_u64(&s, UINT64_C(0xffffffff81000000));
	perf_put_u64(&s, UINT64_C(0x7effffff));
	perf_put_u64(&s, UINT64_C(0xffffffff81000000));
	perf_put_text(&s, "[kernel.kallsyms]_text");
	perf_put_trailer(&s, 0, 0);
	perf_record_open(&s, KSYMBOL, 0);
	perf_put_u64(&s, UINT64_C(0xffffffffc0000000));
	perf_put_u32(&s, 0x100);
	perf_put_u16(&s, 1);
	perf_put_u16(&s, 0);
	perf_put_text(&s, "bpf_prog_abc");
	perf_put_trailer(&s, 0, 5);
	perf_put_sample(&s, 7, 50, USER, 2, 8);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_str_eq(where(8, 25, 0x1000), "/bin/sh");
	ck_assert_str_eq(where(8, 30, 0x1000), "");
	ck_assert_str_eq(where(8, 40, 0x2000), "/bin/ls");
	ck_assert_str_eq(where(7, 40, 0x1000), "/bin/sh");
	ck_assert_str_eq(where(9, 40, 0x1000), "");
	ck_assert_str_eq(where(FW_KERNEL_PID, 0, UINT64_C(0xffffffff81000000)),
			 "[kernel.kallsyms]_text");
	ck_assert_str_eq(where(FW_KERNEL_PID, 6, UINT64_C(0xffffffffc00000ff)),
			 "[bpf_prog_abc]");
	ck_assert_str_eq(fw_spaces_name(r->spaces, 8, 8, 30).s, "ls");
	ck_assert_str_eq(fw_spaces_name(r->spaces, 0, 0, 9).s, "swapper");
}
END_TEST

START_TEST(build_ids)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_mmap2(&s, 7, 0x1000, 0x1000, 0, PROT_RX, "/lib/a");
	perf_put_trailer(&s, 7, 10);
	perf_record_open(&s, MMAP2, USER | 1 << 14);
	perf_put_u32(&s, 7);
	perf_put_u32(&s, 7);
	perf_put_u64(&s, 0x5000);
	perf_put_u64(&s, 0x1000);
	perf_put_u64(&s, 0);
	perf_put_u8(&s, 4);
	perf_put_bytes(&s, NULL, 3);
	perf_put_bytes(&s, "\xde\xad\xbe\xef", 4);
	perf_put_bytes(&s, NULL, 16);
	perf_put_u32(&s, PROT_RX);
	perf_put_u32(&s, 2);
	perf_put_text(&s, "/lib/b");
	perf_put_trailer(&s, 7, 11);
	perf_put_sample(&s, 7, 50, USER, 2, 8);
	synth_perf_end(&s);
	synth_perf_features(&s, (uint32_t[]){ 2 }, 1);
	perf_feature_open(&s, 0);
	perf_record_open(&s, 0, 2 | 1 << 15);
	perf_put_u32(&s, 7);
	perf_put_bytes(&s, "\1\2\3\4\5\6\7\x08", 8);
	perf_put_bytes(&s, NULL, 12);
	perf_put_u8(&s, 8);
	perf_put_bytes(&s, NULL, 3);
	perf_put_text(&s, "/lib/a");
	perf_record_close(&s);
	perf_feature_close(&s, 0);
	open_and_read();
	ck_assert_str_eq(fw_spaces_dso_at(r->spaces, 0)->build_id.text, "0102030405060708");
	ck_assert_str_eq(fw_spaces_dso_at(r->spaces, 1)->build_id.text, "deadbeef");
}
END_TEST

START_TEST(features)
{
	s.big = _i;
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 50, USER, 2, 8);
	synth_perf_end(&s);
	synth_perf_features(&s, (uint32_t[]){ 3, 4, 5, 6, 11, 12, 29 }, 7);
	static const char *const texts[] = { "box", "6.1.0", "6.1.187", "x86_64" };
	for (size_t i = 0; i < 4; i++) {
		perf_feature_open(&s, i);
		perf_put_string(&s, texts[i]);
		perf_feature_close(&s, i);
	}
	perf_feature_open(&s, 4);
	perf_put_u32(&s, 2);
	perf_put_string(&s, "perf");
	perf_put_string(&s, "record");
	perf_feature_close(&s, 4);
	perf_feature_open(&s, 5);
	perf_put_u32(&s, 1);
	perf_put_u32(&s, 128);
	perf_put_bytes(&s, NULL, 128);
	perf_put_u32(&s, 0);
	perf_put_string(&s, "cpu-clock:u");
	perf_feature_close(&s, 5);
	perf_feature_open(&s, 6);	// write_clock_data() of tools/perf/util/header.c
	perf_put_u32(&s, 1);
	perf_put_u32(&s, 1);
	perf_put_u64(&s, UINT64_C(1700000000000000000));
	perf_put_u64(&s, 40);
	perf_feature_close(&s, 6);
	open_and_read();
	ck_assert(r->have_wall && r->wall_time == UINT64_C(1700000000000000000) &&
		  r->wall_at == 40);
	ck_assert_str_eq(r->hostname.s, "box");
	ck_assert_str_eq(r->os_release.s, "6.1.0");
	ck_assert_str_eq(r->version.s, "6.1.187");
	ck_assert_str_eq(r->arch.s, "x86_64");
	ck_assert_str_eq(r->command_line.s, "perf record");
	ck_assert_str_eq(r->events[0].name.s, "cpu-clock:u");
}
END_TEST

START_TEST(losses_are_counted_apart)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	for (unsigned i = 0; i < 2; i++) {
		perf_record_open(&s, LOST, 0);
		perf_put_u64(&s, 1);
		perf_put_u64(&s, 10 + i);
		perf_put_trailer(&s, 7, 5 + i);
	}
	perf_record_open(&s, LOST_SAMPLES, 0);
	perf_put_u64(&s, 20);
	perf_put_trailer(&s, 7, 8);
	perf_record_open(&s, THROTTLE, 0);
	perf_put_bytes(&s, NULL, 24);
	perf_put_trailer(&s, 7, 9);
	perf_record_open(&s, 22, 0);	// newer than we know
	perf_put_trailer(&s, 7, 9);
	perf_record_open(&s, MMAP2, 0);	// too short
	perf_put_trailer(&s, 7, 9);
	perf_put_sample(&s, 7, 50, USER, 2, 8);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(r->counts.lost_events, 21);
	ck_assert_uint_eq(r->counts.lost_samples, 20);
	ck_assert_uint_eq(r->counts.gaps, 2);
	ck_assert_uint_eq(r->counts.throttled, 1);
	ck_assert_uint_eq(r->counts.unknown_records, 1);
	ck_assert_uint_eq(r->counts.bad_records, 1);
	ck_note(0, "records", "type 22 is not known; passed over");
	ck_note(1, "records", "one of type 10 has only 32 bytes; it is passed over, as others "
		"like it are");
}
END_TEST

START_TEST(payload_outside_of_records_is_skipped)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 1, USER, 2, 8);
	perf_record_open(&s, 71, 0);	// AUXTRACE
	perf_put_u64(&s, 24);
	perf_put_bytes(&s, NULL, 32);
	perf_record_close(&s);
	perf_put_bytes(&s, NULL, 24);
	perf_record_open(&s, 66, 0);	// TRACING_DATA
	perf_put_u32(&s, 13);
	perf_record_close(&s);
	perf_put_bytes(&s, NULL, 16);
	perf_put_u32(&s, 32769);		// simpleperf's: the size has 32 bits
	perf_put_u16(&s, 1);
	perf_put_u16(&s, 8);
	perf_put_bytes(&s, NULL, 65536);
	perf_put_sample(&s, 7, 2, USER, 2, 8);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(r->num_notes, 0);
}
END_TEST

START_TEST(a_killed_recording_is_read_as_far_as_it_goes)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 1, USER, 2, 8);
	perf_put_sample(&s, 7, 2, USER, 2, 8);
	s.n -= 20;
	open_and_read();
	ck_assert(r->killed);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(r->num_notes, 2);
	ck_note(0, "recording", "the recorder did not finish the file");
	ck_note(1, "data 0x120", "ends in the middle of a record; 268 bytes are not read");
}
END_TEST

START_TEST(no_samples_are_said_aloud)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_record_open(&s, FINISHED_ROUND, 0);
	perf_record_close(&s);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(r->num_notes, 1);
	ck_note(0, "recording", "holds no samples");
}
END_TEST

START_TEST(a_record_without_a_size_ends_the_data)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 1, USER, 2, 8);
	perf_put_bytes(&s, NULL, 64);
	perf_put_sample(&s, 7, 1, USER, 2, 8);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(count, 1);
	ck_note(0, "data 0x120", "a record without a size; 352 bytes are not read");
}
END_TEST

static void put_round(void)
{
	perf_record_open(&s, FINISHED_ROUND, 0);
	perf_record_close(&s);
}

/** A pipe's mapping that comes after its sample, of an earlier time. */
START_TEST(a_stream_waits_for_mappings)
{
	int ends[2];
	s.big = _i == 2;
	synth_perf_begin_pipe(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 100, USER, 2, 8);
	put_round();
	perf_put_mmap2(&s, 7, 0x1000, 0x1000, 0, PROT_RX, "/lib/a");
	perf_put_trailer(&s, 7, 90);
	perf_put_sample(&s, 7, 110, USER, 2, 8);
	put_round();
	perf_put_sample(&s, 7, 120, USER, 2, 8);
	put_round();
	if (_i) {
		ck_assert_int_eq(try_open(), FW_OK);
	} else {	// a real pipe
		ck_assert_int_eq(pipe(ends), 0);
		ck_assert_int_eq(write(ends[1], s.data, s.n), (ssize_t)s.n);
		close(ends[1]);
		ck_assert_int_eq(fw_recording_open(NULL, ends[0], &r, &err), FW_OK);
	}
	ck_assert(r->piped);
	struct fw_sample_batch b;
	ck_assert_int_eq(fw_recording_next(r, &b, &err), FW_OK);
	ck_assert_uint_eq(b.count, 1);
	ck_assert(fw_sample_decode(r, &b.samples[0], &got[0]));
	ck_assert_uint_eq(got[0].time, 100);
	ck_assert_str_eq(where(7, 100, 0x1000), "/lib/a");
	fw_recording_release(r, &b);
	read_all();
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(got[1].index, 2);
	if (!_i)
		close(ends[0]);
}
END_TEST

/** Records of one zstd frame, cut into pieces that do not care for records. */
START_TEST(compressed_data)
{
	enum { PIECE = 50 };
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct synth_perf plain = { 0 }, whole;
	uint8_t out[PIECE];
	synth_perf_begin(&s, &synth_perf_attr, 1);
	whole = s;
	s = plain;
	perf_put_mmap2(&s, 7, 0x1000, 0x1000, 0, PROT_RX, "/lib/a");
	perf_put_trailer(&s, 7, 5);
	for (uint32_t i = 0; i < 20; i++)
		perf_put_sample(&s, 7, 10 + i, USER, 2, 8);
	plain = s;
	s = whole;
	ZSTD_inBuffer in = { plain.data, plain.n, 0 };
	size_t left = 1;
	while (left) {
		ZSTD_outBuffer to = { out, PIECE, 0 };
		left = ZSTD_compressStream2(z, &to, &in, ZSTD_e_end);
		perf_record_open(&s, _i ? COMPRESSED2 : COMPRESSED, 0);
		if (_i)
			perf_put_u64(&s, to.pos);
		perf_put_bytes(&s, out, to.pos);
		if (_i)
			perf_put_bytes(&s, NULL, (8 - to.pos % 8) % 8);
		perf_record_close(&s);
	}
	ZSTD_freeCCtx(z);
	synth_perf_free(&plain);
	synth_perf_end(&s);
	open_and_read();
	ck_assert(r->compressed);
	ck_assert_uint_eq(count, 20);
	ck_assert_uint_eq(got[19].time, 29);
	ck_assert_uint_eq(got[19].regs.v[0], 0x100);
	ck_assert_str_eq(where(7, 29, 0x1000), "/lib/a");
	ck_assert_uint_eq(r->num_notes, 0);
}
END_TEST

START_TEST(broken_compressed_data_end_the_samples)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_put_sample(&s, 7, 1, USER, 2, 8);
	perf_record_open(&s, COMPRESSED, 0);
	perf_put_bytes(&s, "no zstd data", 12);
	perf_record_close(&s);
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(count, 1);
	ck_note(0, "data 0x120", "broken zstd data: Unknown frame descriptor; the rest is not "
		"read");
}
END_TEST

START_TEST(without_times_order_is_that_of_the_file)
{
	struct synth_attr a = { .sample_type = IP | TID, .flags = ID_ALL };
	synth_perf_begin(&s, &a, 1);
	for (unsigned i = 0; i < 2; i++) {
		perf_put_mmap2(&s, 7, 0x1000, 0x1000, 0, PROT_RX, i ? "/lib/b" : "/lib/a");
		perf_put_u64(&s, 0);	// pid, tid
		perf_record_close(&s);
		perf_record_open(&s, SAMPLE, USER);
		perf_put_u64(&s, 0x1000);
		perf_put_u32(&s, 7);
		perf_put_u32(&s, 7);
		perf_record_close(&s);
	}
	synth_perf_end(&s);
	open_and_read();
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(where(7, got[0].time, 0x1000), "/lib/a");
	ck_assert_str_eq(where(7, got[1].time, 0x1000), "/lib/b");
	ck_assert(!r->events[0].have_time);
}
END_TEST

static void ck_refused(enum fw_code code, const char *place, const char *message)
{
	ck_assert_int_eq(try_open(), code);
	ck_assert_str_eq(err.place, place);
	ck_assert_str_eq(err.message, message);
	ck_assert_ptr_null(r);
}

START_TEST(what_is_refused)
{
	static const struct synth_attr two[2] = { { .sample_type = IP }, { .sample_type = TID } };
	ck_refused(FW_UNSUPPORTED, "", "the file is empty");
	perf_put_bytes(&s, "0123456789abcdef", 16);
	ck_refused(FW_UNSUPPORTED, "offset 0x0", "not a recording of a known format");
	memcpy(s.data, "PERFFILE", 8);
	ck_refused(FW_UNSUPPORTED, "offset 0x0",
		   "a perf.data file of the first version (before Linux 2.6.38)");
	memcpy(s.data, "PERFILE2", 8);
	ck_refused(FW_MALFORMED, "offset 0x8", "the file's header is broken");
	s.n = 0;
	synth_perf_begin(&s, &synth_perf_attr, 0);
	ck_refused(FW_MALFORMED, "", "the recording says nothing of its events");
	perf_set_u64(&s, 16, 10);
	ck_refused(FW_MALFORMED, "offset 0x10", "the table of events is broken");
	s.n = 0;
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_set_u64(&s, 40, 100000);
	ck_refused(FW_MALFORMED, "offset 0x28", "the data leave the file");
	s.n = 0;
	synth_perf_begin(&s, two, 2);
	ck_refused(FW_MALFORMED, "", "the events' samples cannot be told apart");
	s.n = 0;
	synth_perf_begin(&s, &synth_perf_attr, 1);
	perf_set_u64(&s, 104 + 128 + 8, 800);
	ck_refused(FW_MALFORMED, "", "the ids of event 0 leave the file");
}
END_TEST

START_TEST(every_prefix_is_survived)
{
	synth_perf_begin(&s, &synth_perf_attr, 1);
	put_exec_and_fork();
	perf_put_sample(&s, 7, 1, USER, 2, 8);
	synth_perf_end(&s);
	synth_perf_features(&s, (uint32_t[]){ 6 }, 1);
	perf_feature_open(&s, 0);
	perf_put_string(&s, "x86_64");
	perf_feature_close(&s, 0);
	for (size_t n = s.n; s.n--;) {
		if (try_open() == FW_OK) {
			read_all();
			fw_recording_destroy(r);
		} else {
			ck_assert_str_ne(err.message, "");
		}
		r = NULL;
		ck_assert_uint_lt(s.n, n);
	}
}
END_TEST

START_TEST(memory_may_run_out_anywhere)
{
	struct fw_sample_batch b;
	if (_i)
		synth_perf_begin_pipe(&s, &synth_perf_attr, 1);
	else
		synth_perf_begin(&s, &synth_perf_attr, 1);
	put_exec_and_fork();
	perf_put_sample(&s, 7, 1, USER, 2, 8);
	put_round();
	perf_put_sample(&s, 7, 2, USER, 2, 8);
	if (!_i)
		synth_perf_end(&s);
	for (uint64_t n = 1; n < 60; n++) {
		fw_alloc_fail_at(n);
		if (try_open() == FW_OK) {
			while (fw_recording_next(r, &b, &err) == FW_OK)
				fw_recording_release(r, &b);
		}
		fw_alloc_fail_at(0);
		fw_recording_destroy(r);
		r = NULL;
	}
}
END_TEST

Suite *perf_suite(void)
{
	Suite *suite = suite_create("perf");
	TCase *tc = tcase_create("perf");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, fields_of_a_sample, 0, 2);
	tcase_add_loop_test(tc, a_chain_in_host_order, 0, 2);
	tcase_add_test(tc, samples_without_registers_or_stack);
	tcase_add_test(tc, registers_that_an_nmi_does_not_know);
	tcase_add_loop_test(tc, registers_by_architecture, 0, sizeof(arches) / sizeof(arches[0]));
	tcase_add_loop_test(tc, fields_in_between_are_stepped_over, 0, 2);
	tcase_add_loop_test(tc, events_are_told_apart_by_id, 0, 2);
	tcase_add_loop_test(tc, maps_names_forks, 0, 2);
	tcase_add_test(tc, build_ids);
	tcase_add_loop_test(tc, features, 0, 2);
	tcase_add_test(tc, losses_are_counted_apart);
	tcase_add_test(tc, payload_outside_of_records_is_skipped);
	tcase_add_test(tc, a_killed_recording_is_read_as_far_as_it_goes);
	tcase_add_test(tc, no_samples_are_said_aloud);
	tcase_add_test(tc, a_record_without_a_size_ends_the_data);
	tcase_add_loop_test(tc, a_stream_waits_for_mappings, 0, 3);
	tcase_add_loop_test(tc, compressed_data, 0, 2);
	tcase_add_test(tc, broken_compressed_data_end_the_samples);
	tcase_add_test(tc, without_times_order_is_that_of_the_file);
	tcase_add_test(tc, what_is_refused);
	tcase_add_test(tc, every_prefix_is_survived);
	tcase_add_loop_test(tc, memory_may_run_out_anywhere, 0, 2);
	suite_add_tcase(suite, tc);
	return suite;
}
