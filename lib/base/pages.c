#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/arena.h"
#include "lib/base/pages.h"

enum { LARGE = 4 << 20 };	// bytes that large pages are worth asking for

static uint64_t round_to_pages(uint64_t n)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	return n ? (n + page - 1) / page * page : page;
}

static bool resize(struct fw_pages *p, uint64_t capacity)
{
	void *data;
	if (fw_alloc_should_fail())
		return false;
	if (p->data)
		data = mremap(p->data, p->capacity, capacity, MREMAP_MAYMOVE);
	else
		data = mmap(NULL, capacity, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		return false;
	p->data = data;
	p->capacity = capacity;
	return true;
}

bool fw_pages_reserve(struct fw_pages *p, uint64_t need)
{
	if (p->data && need <= p->capacity)
		return true;
	if (need > PTRDIFF_MAX - 65536)
		return false;
	return resize(p, round_to_pages(need));
}

bool fw_pages_trim(struct fw_pages *p)
{
	uint64_t capacity = round_to_pages(p->size);
	return (p->data && capacity == p->capacity) || resize(p, capacity);
}

void fw_pages_expect_all(const struct fw_pages *p)
{
#ifdef MADV_HUGEPAGE
	if (p->data && p->capacity >= LARGE)
		madvise(p->data, p->capacity, MADV_HUGEPAGE);
#endif
}

void fw_pages_deinit(struct fw_pages *p)
{
	if (p->data)
		munmap(p->data, p->capacity);
	*p = (struct fw_pages){ 0 };
}
