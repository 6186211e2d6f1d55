#include "lib/snapshot/minidump.h"

#include <stdlib.h>

enum {
	THREAD_SIZE = 48, THREAD_EX_SIZE = 64,
	THREAD_ID = 0, THREAD_TEB = 16, THREAD_STACK = 24, THREAD_STACK_SIZE = 32,
	THREAD_CONTEXT_SIZE = 40, THREAD_CONTEXT_RVA = 44,
	THREAD_NAME_SIZE = 12,
};

static int compare_keys(const void *a, const void *b)
{
	const struct md_thread_key *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

// First place in threads_by_id with this id or a larger one.
static uint32_t find_key(const struct md_reader *md, uint32_t id)
{
	uint32_t lo = 0, hi = md->s->num_threads;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (md->threads_by_id[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

// Index of the first thread with this id, or -1.
static int64_t find_thread(const struct md_reader *md, uint32_t id)
{
	uint32_t at = find_key(md, id);
	if (at == md->s->num_threads || md->threads_by_id[at].id != id)
		return -1;
	return md->threads_by_id[at].index;
}

static void read_thread(struct md_reader *md, const struct fw_bytes *e,
			struct fw_thread_info *t)
{
	t->id = md_u32(e, THREAD_ID);
	t->teb = md_address(md, md_u64(e, THREAD_TEB));
	t->stack_start = md_address(md, md_u64(e, THREAD_STACK));
	t->stack_size = md_u32(e, THREAD_STACK_SIZE);
	t->context_error = md_context(md, md_u32(e, THREAD_CONTEXT_RVA),
				      md_u32(e, THREAD_CONTEXT_SIZE), &t->regs);
	t->have_context = !t->context_error;
}

bool md_read_threads(struct md_reader *md)
{
	struct fw_snapshot *s = md->s;
	struct md_list list;
	if (!md_counted_list(md, MD_THREAD_LIST, "ThreadList", THREAD_SIZE, FW_MAX_THREADS,
			     &list) &&
	    !md_counted_list(md, MD_THREAD_EX_LIST, "ThreadExList", THREAD_EX_SIZE,
			     FW_MAX_THREADS, &list))
		return false;
	s->threads = md_array(md, list.count, sizeof(*s->threads));
	md->threads_by_id = md_array(md, list.count, sizeof(*md->threads_by_id));
	if (md->no_memory)
		return true;
	for (uint32_t i = 0; i < list.count; i++) {
		struct fw_bytes e = md_entry(&list, i);
		read_thread(md, &e, &s->threads[i]);
		if (s->threads[i].context_error)
			md_note(md, "thread", i, "%s", s->threads[i].context_error);
		md->threads_by_id[i] = (struct md_thread_key){ s->threads[i].id, i };
	}
	s->num_threads = list.count;
	qsort(md->threads_by_id, list.count, sizeof(*md->threads_by_id), compare_keys);
	return true;
}

void md_read_thread_names(struct md_reader *md)
{
	struct fw_snapshot *s = md->s;
	struct md_list list;
	if (!md_counted_list(md, MD_THREAD_NAMES, "ThreadNames", THREAD_NAME_SIZE,
			     FW_MAX_THREADS, &list))
		return;
	for (uint32_t i = 0; i < list.count && !md->no_memory; i++) {
		struct fw_bytes e = md_entry(&list, i);
		int64_t thread = find_thread(md, md_u32(&e, 0));
		if (thread < 0) {
			md_note(md, "thread name", i, "there is no thread %u", md_u32(&e, 0));
			continue;
		}
		s->threads[thread].name = md_string(md, "thread name", i, "name", md_u64(&e, 4));
	}
}

static void read_breakpad_info(struct md_reader *md)
{
	enum { HAVE_DUMP_THREAD = 1, HAVE_REQUESTING_THREAD = 2 };
	struct fw_snapshot *s = md->s;
	struct fw_bytes b;
	if (!md_stream(md, MD_BREAKPAD_INFO, &b) || b.size < 12)
		return;
	uint32_t validity = md_u32(&b, 0);
	if (validity & HAVE_DUMP_THREAD) {
		int64_t writer = find_thread(md, md_u32(&b, 4));
		if (writer >= 0)
			s->threads[writer].is_dump_writer = true;
	}
	if (validity & HAVE_REQUESTING_THREAD)
		s->crashing_thread = find_thread(md, md_u32(&b, 8));
}

static void read_assertion(struct md_reader *md)
{
	enum { UNITS = 128 };	// of each of the three strings
	struct fw_exception *x = &md->s->exception;
	struct fw_bytes b;
	if (!md_stream(md, MD_ASSERTION_INFO, &b))
		return;
	x->assertion = md_utf16(md, &b, 0, UNITS);
	x->assertion_function = md_utf16(md, &b, UNITS * 2, UNITS);
	x->assertion_file = md_utf16(md, &b, UNITS * 4, UNITS);
	x->assertion_line = md_u32(&b, UNITS * 6);
}

// The exception's context replaces the thread's only if it can be read.
static void use_exception_context(struct md_reader *md, const struct fw_bytes *b)
{
	enum { CONTEXT_SIZE = 160, CONTEXT_RVA = 164 };
	struct fw_snapshot *s = md->s;
	struct fw_regs regs;
	s->crashing_thread = find_thread(md, s->exception.thread_id);
	if (s->crashing_thread < 0) {
		md_note(md, "exception", MD_NO_INDEX, "there is no thread %u",
			s->exception.thread_id);
		return;
	}
	const char *why = md_context(md, md_u32(b, CONTEXT_RVA), md_u32(b, CONTEXT_SIZE), &regs);
	if (why) {
		md_note(md, "exception", MD_NO_INDEX, "%s", why);
		return;
	}
	struct fw_thread_info *t = &s->threads[s->crashing_thread];
	t->regs = regs;
	t->have_context = true;
	t->context_error = NULL;
}

void md_read_exception(struct md_reader *md)
{
	enum {
		EXCEPTION_THREAD = 0, EXCEPTION_CODE = 8, EXCEPTION_FLAGS = 12,
		EXCEPTION_ADDRESS = 24, EXCEPTION_COUNT = 32, EXCEPTION_PARAMETERS = 40,
		EXCEPTION_NEEDED = 32, MAX_PARAMETERS = 15,
	};
	struct fw_exception *x = &md->s->exception;
	struct fw_bytes b;
	read_breakpad_info(md);
	read_assertion(md);
	if (!md_stream(md, MD_EXCEPTION, &b))
		return;
	if (b.size < EXCEPTION_NEEDED) {
		md_note(md, "exception", MD_NO_INDEX, "the stream is too short");
		return;
	}
	x->present = true;
	x->thread_id = md_u32(&b, EXCEPTION_THREAD);
	x->code = md_u32(&b, EXCEPTION_CODE);
	x->flags = md_u32(&b, EXCEPTION_FLAGS);
	x->address = md_u64(&b, EXCEPTION_ADDRESS);
	x->num_parameters = md_u32(&b, EXCEPTION_COUNT);
	if (x->num_parameters > MAX_PARAMETERS) {
		md_note(md, "exception", MD_NO_INDEX, "%u parameters, at most %d are possible",
			x->num_parameters, MAX_PARAMETERS);
		x->num_parameters = MAX_PARAMETERS;
	}
	for (uint32_t i = 0; i < x->num_parameters; i++)
		x->parameters[i] = md_u64(&b, EXCEPTION_PARAMETERS + i * 8);
	md->s->crashed = true;
	use_exception_context(md, &b);
}

void md_read_last_errors(struct md_reader *md)
{
	struct fw_snapshot *s = md->s;
	struct fw_memory_view view;
	if (s->os != FW_OS_WINDOWS)
		return;
	fw_memory_view_init(&view, &s->memory);
	for (uint32_t i = 0; i < s->num_threads; i++) {
		struct fw_thread_info *t = &s->threads[i];
		uint64_t value;
		// LastErrorValue is the 14th pointer of the TEB on every CPU (winternl.h).
		if (t->teb && fw_memory_read(&view, t->teb + 13 * s->cpu->word_size, 4, &value)) {
			t->have_last_error = true;
			t->last_error = (uint32_t)value;
		}
	}
}
