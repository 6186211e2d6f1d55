#include "lib/snapshot/perf.h"

/** What is left of a record. */
struct rest { const uint8_t *p; uint64_t n; };

static bool take(struct rest *r, uint64_t n)
{
	if (n > r->n)
		return false;
	r->p += n;
	r->n -= n;
	return true;
}

static bool take_u64(const struct perf *p, struct rest *r, uint64_t *ret)
{
	if (r->n < 8)
		return false;
	*ret = perf_u64(p, r->p);
	return take(r, 8);
}

/** @p count entries of @p size bytes. */
static bool take_array(struct rest *r, uint64_t count, uint64_t size)
{
	return count <= r->n / size && take(r, count * size);
}

static bool skip_read(const struct perf *p, const struct perf_attr *a, struct rest *r)
{
	enum { ENABLED = 1, RUNNING = 2, ID = 4, GROUP = 8, LOST = 16 };
	uint64_t f = a->read_format, times = !!(f & ENABLED) + !!(f & RUNNING), nr = 1;
	uint64_t each = 1 + !!(f & ID) + !!(f & LOST);
	if (f & GROUP && !take_u64(p, r, &nr))
		return false;
	return take(r, 8 * times) && take_array(r, nr, 8 * each);
}

static bool skip_raw(const struct perf *p, struct rest *r)
{
	if (r->n < 4)
		return false;
	uint64_t n = 4 + (uint64_t)perf_u32(p, r->p);
	return take(r, (n + 7) & ~UINT64_C(7));
}

static bool skip_branches(const struct perf *p, const struct perf_attr *a, struct rest *r)
{
	enum { HW_INDEX = 1 << 17, COUNTERS = 1 << 19 };
	uint64_t nr;
	if (!take_u64(p, r, &nr) || (a->branch_type & HW_INDEX && !take(r, 8)))
		return false;
	return take_array(r, nr, a->branch_type & COUNTERS ? 32 : 24);
}

static bool all_minus_one(const struct fw_regs *regs, uint64_t which)
{
	for (; which; which &= which - 1) {
		if (regs->v[__builtin_ctzll(which)] != UINT64_MAX)
			return false;
	}
	return true;
}

static bool take_registers(const struct perf *p, const struct perf_attr *a, struct rest *r,
			   struct fw_sample *ret)
{
	uint64_t abi;
	if (!take_u64(p, r, &abi) || abi > FW_ABI_64)
		return false;
	ret->abi = (enum fw_sample_abi)abi;
	ret->regs_cpu = a->cpu[abi];
	if (abi == FW_ABI_NONE)
		return true;
	const uint8_t *v = r->p, *slots = a->slot[abi];
	if (!take_array(r, a->num_regs, 8))
		return false;
	uint64_t mask = ret->regs_cpu->word_mask, valid = 0;
	for (unsigned i = 0; i < a->num_regs; i++, v += 8) {
		unsigned slot = slots[i];
		if (slot == FW_NO_REG)
			continue;
		ret->regs.v[slot] = perf_u64(p, v) & mask;
		valid |= UINT64_C(1) << slot;
	}
	bool may_be_nmi = ret->mode == FW_MODE_KERNEL && abi == FW_ABI_64;
	if (may_be_nmi && all_minus_one(&ret->regs, valid & a->minus_one))
		valid &= ~a->minus_one;
	ret->regs.valid = valid;
	return true;
}

static bool take_stack(const struct perf *p, struct rest *r, struct fw_sample *ret)
{
	uint64_t size, valid;
	if (!take_u64(p, r, &size))
		return false;
	if (size == 0)		// a kernel thread: no dyn_size either
		return true;
	const uint8_t *stack = r->p;
	if (!take(r, size) || !take_u64(p, r, &valid) || valid > size)
		return false;
	ret->stack = stack;
	ret->stack_asked = (uint32_t)size;
	ret->stack_size = (uint32_t)valid;
	return true;
}

static bool take_variable(const struct perf *p, const struct perf_attr *a, struct rest *r,
			  struct fw_sample *ret)
{
	uint64_t t = a->sample_type, nr;
	if (t & PERF_READ && !skip_read(p, a, r))
		return false;
	if (t & PERF_CALLCHAIN) {
		if (!take_u64(p, r, &nr))
			return false;
		ret->chain = r->p;
		ret->chain_words = (uint32_t)nr;
		if (!take_array(r, nr, 8))
			return false;
	}
	if (t & PERF_RAW && !skip_raw(p, r))
		return false;
	if (t & PERF_BRANCH_STACK && !skip_branches(p, a, r))
		return false;
	if (t & PERF_REGS_USER && !take_registers(p, a, r, ret))
		return false;
	return !(t & PERF_STACK_USER) || take_stack(p, r, ret);
}

/** Event of a sample's record; UINT32_MAX: none of ours. */
static uint32_t event_of(const struct perf *p, const uint8_t *body, uint64_t size)
{
	if (p->id_at < 0)
		return 0;
	uint64_t at = 8 * (uint64_t)p->id_at;
	return at + 8 <= size ? perf_event_of(p, perf_u64(p, body + at)) : UINT32_MAX;
}

static const enum fw_sample_mode modes[8] = {
	FW_MODE_UNKNOWN, FW_MODE_KERNEL, FW_MODE_USER, FW_MODE_HYPERVISOR, FW_MODE_GUEST_KERNEL,
	FW_MODE_GUEST_USER,
};

bool perf_decode(const struct fw_recording *r, const struct fw_raw_sample *raw,
		 struct fw_sample *ret)
{
	const struct perf *p = perf_of(r);
	const uint8_t *body = raw->data + PERF_HEADER;
	uint64_t size = raw->size - PERF_HEADER;
	uint32_t event = event_of(p, body, size);
	if (event >= p->attrs.count)
		return false;
	const struct perf_attr *a = &p->attrs.data[event];
	struct rest rest = { body, size };
	if (!take(&rest, 8 * (uint64_t)a->fixed))
		return false;
	ret->index = raw->index;
	ret->event = event;
	ret->mode = modes[perf_u16(p, raw->data + 4) & PERF_MISC_CPUMODE];
	ret->time = p->timeless ? raw->index : 0;
	ret->pid = ret->tid = 0;
	ret->cpu = UINT32_MAX;
	ret->period = a->period;
	ret->ip = 0;
	ret->abi = FW_ABI_NONE;
	ret->regs_cpu = r->cpu;
	ret->regs.valid = 0;
	ret->stack = ret->chain = NULL;
	ret->stack_size = ret->stack_asked = ret->chain_words = 0;
	if (a->at_ip >= 0)
		ret->ip = perf_u64(p, body + 8 * a->at_ip);
	if (a->at_tid >= 0) {
		ret->pid = perf_u32(p, body + 8 * a->at_tid);
		ret->tid = perf_u32(p, body + 8 * a->at_tid + 4);
	}
	if (a->at_time >= 0)
		ret->time = perf_u64(p, body + 8 * a->at_time);
	if (a->at_cpu >= 0)
		ret->cpu = perf_u32(p, body + 8 * a->at_cpu);
	if (a->at_period >= 0)
		ret->period = perf_u64(p, body + 8 * a->at_period);
	return take_variable(p, a, &rest, ret);
}

uint64_t perf_sample_time(const struct perf *p, const uint8_t *record, uint64_t size)
{
	const uint8_t *body = record + PERF_HEADER;
	size -= PERF_HEADER;
	uint32_t event = event_of(p, body, size);
	if (p->timeless)
		return p->next_index;
	if (event >= p->attrs.count || p->attrs.data[event].at_time < 0)
		return 0;
	uint64_t at = 8 * (uint64_t)p->attrs.data[event].at_time;
	return at + 8 <= size ? perf_u64(p, body + at) : 0;
}

uint64_t fw_sample_chain(const struct fw_recording *r, const struct fw_sample *s, uint32_t i)
{
	uint64_t v;
	memcpy(&v, s->chain + 8 * (size_t)i, sizeof(v));
	const uint16_t one = 1;
	bool host_big = !*(const uint8_t *)&one;
	return r->big_endian != host_big ? __builtin_bswap64(v) : v;
}
