#include "lib/base/vec.h"
#include "lib/snapshot/minidump.h"

#include <stdlib.h>

enum {
	DESCRIPTOR_SIZE = 16, DESCRIPTOR64_SIZE = 16, THREAD_SIZE = 48, THREAD_EX_SIZE = 64,
	THREAD_STACK = 24,
};

/** A stretch of memory as some stream tells it; the lower rank wins where two overlap. */
struct piece {
	uint64_t start, last;	// target addresses, both inside
	const uint8_t *data;
	uint32_t rank;
};

struct collector {
	struct md_reader *md;
	FW_VEC(struct piece) pieces;
	FW_VEC(uint32_t) heap;		// indexes of pieces under way, lowest rank on top
	FW_VEC(struct fw_segment) segments;
};

// Keeps the part that is in the file and in the address space.
static void add_piece(struct collector *c, const char *what, uint32_t index, uint64_t start,
		      uint64_t size, uint64_t offset)
{
	struct md_reader *md = c->md;
	if (size == 0)
		return;
	start = md_address(md, start);
	if (offset >= md->file.size) {
		md_note(md, what, index, "its bytes at offset 0x%llx are not in the file",
			(unsigned long long)offset);
		return;
	}
	uint64_t rest = md->file.size - offset;
	if (size > rest) {
		md_note(md, what, index, "0x%llx of its 0x%llx bytes are in the file",
			(unsigned long long)rest, (unsigned long long)size);
		size = rest;
	}
	uint64_t room = md->s->cpu->word_mask - start;	// bytes after the first
	if (size - 1 > room) {
		md_note(md, what, index, "reaches past the end of the address space");
		size = room + 1;
	}
	struct piece p = {
		start, start + (size - 1), md->file.data + offset, (uint32_t)c->pieces.count,
	};
	if (!fw_vec_push(&c->pieces, p))
		md->no_memory = true;
}

static void add_memory_list(struct collector *c)
{
	struct md_list list;
	if (!md_counted_list(c->md, MD_MEMORY_LIST, "MemoryList", DESCRIPTOR_SIZE,
			     FW_MAX_REGIONS, &list))
		return;
	for (uint32_t i = 0; i < list.count; i++) {
		struct fw_bytes e = md_entry(&list, i);
		add_piece(c, "memory region", i, md_u64(&e, 0), md_u32(&e, 8), md_u32(&e, 12));
	}
}

// A descriptor without bytes (rva 0, as Windows writes it) means that the
// stack is in the memory list.
static void add_stacks(struct collector *c)
{
	struct md_reader *md = c->md;
	struct fw_bytes b;
	bool ex = !md_stream(md, MD_THREAD_LIST, &b);
	struct md_list list;
	uint32_t num_notes = md->s->num_notes;
	if (!md_counted_list(md, ex ? MD_THREAD_EX_LIST : MD_THREAD_LIST, "ThreadList",
			     ex ? THREAD_EX_SIZE : THREAD_SIZE, FW_MAX_THREADS, &list))
		return;
	md->s->num_notes = num_notes;	// md_read_threads() left the same ones
	for (uint32_t i = 0; i < list.count; i++) {
		struct fw_bytes e = md_entry(&list, i);
		uint32_t rva = md_u32(&e, THREAD_STACK + 12);
		if (rva)
			add_piece(c, "stack of thread", i, md_u64(&e, THREAD_STACK),
				  md_u32(&e, THREAD_STACK + 8), rva);
	}
}

// Regions one after the other from one offset on; the first that is cut ends the list.
static void add_memory64_list(struct collector *c)
{
	struct md_reader *md = c->md;
	struct fw_bytes b;
	uint64_t count, offset;
	if (!md_stream(md, MD_MEMORY64_LIST, &b))
		return;
	if (!fw_bytes_u64(&b, 0, &count) || !fw_bytes_u64(&b, 8, &offset)) {
		md_note(md, "Memory64List", MD_NO_INDEX, "the list is too short for a count");
		return;
	}
	uint64_t here = (b.size - 16) / DESCRIPTOR64_SIZE;
	if (here > FW_MAX_REGIONS)
		here = FW_MAX_REGIONS;
	if (here < count) {
		md_note(md, "Memory64List", MD_NO_INDEX, "%llu entries promised, %llu read",
			(unsigned long long)count, (unsigned long long)here);
		count = here;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t start = md_u64(&b, 16 + i * 16), size = md_u64(&b, 24 + i * 16);
		add_piece(c, "memory64 region", (uint32_t)i, start, size, offset);
		if (offset >= md->file.size || size > md->file.size - offset)
			break;
		offset += size;
	}
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->rank < y->rank ? -1 : 1;
}

static void heap_push(struct collector *c, uint32_t piece)
{
	if (!fw_vec_push(&c->heap, piece)) {
		c->md->no_memory = true;
		return;
	}
	uint32_t *heap = c->heap.data;
	size_t i = c->heap.count - 1;
	while (i > 0) {
		size_t up = (i - 1) / 2;
		if (c->pieces.data[heap[up]].rank < c->pieces.data[heap[i]].rank)
			break;
		uint32_t t = heap[up];
		heap[up] = heap[i];
		heap[i] = t;
		i = up;
	}
}

static void heap_pop(struct collector *c)
{
	uint32_t *heap = c->heap.data;
	size_t n = --c->heap.count, i = 0;
	heap[0] = heap[n];
	for (;;) {
		size_t least = i;
		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++) {
			if (c->pieces.data[heap[k]].rank < c->pieces.data[heap[least]].rank)
				least = k;
		}
		if (least == i)
			return;
		uint32_t t = heap[least];
		heap[least] = heap[i];
		heap[i] = t;
		i = least;
	}
}

static void emit(struct collector *c, const struct piece *p, uint64_t from, uint64_t to)
{
	struct fw_segment s = { from, to - from + 1, p->data + (from - p->start) };
	if (c->segments.count) {
		// Neighbours in memory and in the file are one.
		struct fw_segment *before = &c->segments.data[c->segments.count - 1];
		if (before->start + before->size == s.start &&
		    before->data + before->size == s.data) {
			before->size += s.size;
			return;
		}
	}
	if (!fw_vec_push(&c->segments, s))
		c->md->no_memory = true;
}

// One sweep over the sorted pieces: at every address the lowest rank is visible.
static void lay_out(struct collector *c)
{
	const struct piece *pieces = c->pieces.data;
	size_t n = c->pieces.count, next = 0;
	uint64_t at = 0;
	while (!c->md->no_memory && (next < n || c->heap.count)) {
		if (!c->heap.count)
			at = pieces[next].start;
		while (next < n && pieces[next].start <= at && !c->md->no_memory)
			heap_push(c, (uint32_t)next++);
		while (c->heap.count && pieces[c->heap.data[0]].last < at)
			heap_pop(c);
		if (!c->heap.count)
			continue;
		const struct piece *top = &pieces[c->heap.data[0]];
		uint64_t to = top->last;
		if (next < n && pieces[next].start <= to)
			to = pieces[next].start - 1;
		emit(c, top, at, to);
		if (to == UINT64_MAX)
			break;
		at = to + 1;
	}
}

void md_read_memory(struct md_reader *md)
{
	struct fw_snapshot *s = md->s;
	struct collector c = { .md = md };
	add_memory_list(&c);
	add_stacks(&c);
	add_memory64_list(&c);
	if (c.pieces.count)
		qsort(c.pieces.data, c.pieces.count, sizeof(*c.pieces.data), compare_pieces);
	lay_out(&c);
	if (!md->no_memory && c.segments.count) {
		struct fw_segment *copy = md_array(md, c.segments.count, sizeof(*copy));
		if (copy) {
			memcpy(copy, c.segments.data, c.segments.count * sizeof(*copy));
			s->memory.segments = copy;
			s->memory.count = (uint32_t)c.segments.count;
		}
	}
	s->memory.swap = md->file.swap;
	fw_vec_deinit(&c.pieces);
	fw_vec_deinit(&c.heap);
	fw_vec_deinit(&c.segments);
}
