#include "symfiles/lazy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "lib/base/vec.h"
#include "lib/image/block.h"
#include "symfiles/loader_internal.h"

struct answered {
	uint32_t offset;
	const struct fw_image *image;
};

struct fw_lazy {
	struct fw_loader_request request;	// strings are owned
	char *paths[4];
	struct fw_loader_limits limits;
	struct fw_ident debug_id;		// empty: any
	struct fw_lazy_whole whole;

	pthread_mutex_t lock;		// of what follows
	bool running, failed;
	struct fw_loader_session session;
	struct fw_error error;		// once failed
	uint64_t bytes;			// of all fragments
	FW_VEC(struct fw_image *) fragments;
	FW_VEC(struct answered) answers;	// by offset
	const struct fw_image *image;	// compiled whole in the end: instead of all others
};

struct fw_lazy *fw_lazy_create(const struct fw_loader_request *request,
			       const struct fw_ident *debug_id,
			       const struct fw_lazy_whole *whole)
{
	struct fw_lazy *z = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*z));
	if (z == NULL)
		return NULL;
	const char *from[] = { request->elf, request->debug, request->alt, request->dwo_dir };
	const char **to[] = { &z->request.elf, &z->request.debug, &z->request.alt,
			      &z->request.dwo_dir };
	pthread_mutex_init(&z->lock, NULL);
	z->request = *request;
	if (debug_id)
		z->debug_id = *debug_id;
	if (whole)
		z->whole = *whole;
	z->limits = (struct fw_loader_limits){
		.cpu_seconds = FW_LAZY_CPU_SECONDS, .wall_seconds = FW_LAZY_WALL_SECONDS,
		.memory = FW_LOADER_MEMORY, .lazy = true,
	};
	for (unsigned i = 0; i < 4; i++) {
		*to[i] = z->paths[i] = from[i] ? strdup(from[i]) : NULL;
		if (from[i] && z->paths[i] == NULL) {
			fw_lazy_destroy(z);
			return NULL;
		}
	}
	return z;
}

static void stop(struct fw_lazy *z)
{
	if (z->running)
		fw_loader_end(&z->session);
	z->running = false;
}

void fw_lazy_destroy(struct fw_lazy *z)
{
	if (z == NULL)
		return;
	stop(z);
	for (size_t i = 0; i < z->fragments.count; i++)
		fw_image_destroy(z->fragments.data[i]);
	fw_vec_deinit(&z->fragments);
	fw_vec_deinit(&z->answers);
	for (unsigned i = 0; i < 4; i++)
		free(z->paths[i]);
	pthread_mutex_destroy(&z->lock);
	free(z);
}

void fw_lazy_limit(struct fw_lazy *z, const struct fw_loader_limits *limits)
{
	z->limits = *limits;
	z->limits.lazy = true;
}

// ---- a question ----

static void free_bytes(struct fw_image *image)
{
	free(image->mapping);
}

/**
 * A fragment, trusted no more than any file. Into memory of our own: the child goes on
 * and could change its file after it was checked.
 */
static enum fw_code take_fragment(struct fw_lazy *z, struct fw_image **ret, struct fw_error *err)
{
	struct stat st;
	struct fw_error why;
	if (fstat(z->session.image, &st) < 0 || st.st_size <= 0)
		return fw_fail(err, FW_MALFORMED, NULL, "loader: it gave no image");
	uint64_t n = (uint64_t)st.st_size, got;
	if (n > FW_MAX_LAZY_BYTES)
		return fw_fail(err, FW_LIMIT, NULL, "loader: its answer is too long");
	uint8_t *bytes = aligned_alloc(FW_BLOCK_ALIGN, (n | (FW_BLOCK_ALIGN - 1)) + 1);
	if (bytes == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	bool whole = fw_pread_all(z->session.image, bytes, n, 0, &got, NULL) == FW_OK && got == n;
	enum fw_code code = whole ? fw_image_open(bytes, n, ret, &why) :
				    fw_fail(&why, FW_IO, NULL, "it became shorter");
	if (code != FW_OK) {
		free(bytes);
	} else {
		(*ret)->mapping = bytes;
		(*ret)->release = free_bytes;
		code = fw_image_check(*ret, &why);
		if (code != FW_OK)
			fw_image_destroy(*ret);
	}
	if (code != FW_OK)
		return fw_fail(err, FW_MALFORMED, NULL, "loader: its image is broken: %.100s",
			       why.message);
	if (z->debug_id.n && !fw_ident_equal(&(*ret)->debug_id, &z->debug_id)) {
		fw_image_destroy(*ret);
		return fw_fail(err, FW_MALFORMED, NULL, "it changed while it was read");
	}
	z->bytes += n;
	return FW_OK;
}

static enum fw_code put_question(struct fw_lazy *z, const uint32_t *offsets, uint32_t n,
				 struct fw_error *err)
{
	size_t bytes = n * sizeof(*offsets);
	struct fw_loader_packet *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	p->kind = FW_LOADER_QUESTION;
	p->count = n;
	enum fw_code code = FW_OK;
	if (pwrite(z->session.image, offsets, bytes, 0) != (ssize_t)bytes)
		code = fw_fail_errno(err, NULL, "loader: no place for a question");
	else
		(void)fw_loader_send(z->session.sockets[0], p, -1);	// if it is gone: see await
	free(p);
	return code;
}

/** Ask for n ascending offsets, none of them answered. */
static enum fw_code ask(struct fw_lazy *z, const uint32_t *offsets, uint32_t n,
			struct fw_error *err)
{
	struct fw_image *image;
	enum fw_code code = FW_OK;
	if (!z->running) {
		z->running = true;
		code = fw_loader_begin(&z->session, &z->request, &z->limits, err);
	}
	if (code == FW_OK)
		code = put_question(z, offsets, n, err);
	if (code == FW_OK)
		code = fw_loader_await(&z->session, err);
	if (code == FW_OK)
		code = take_fragment(z, &image, err);
	if (code != FW_OK)
		return code;
	if (!fw_vec_push(&z->fragments, image)) {
		fw_image_destroy(image);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	if (!fw_vec_reserve(&z->answers, n))
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	for (uint32_t i = 0; i < n; i++)
		z->answers.data[z->answers.count++] = (struct answered){ offsets[i], image };
	return FW_OK;
}

// ---- answers ----

static const struct fw_image *find(const struct fw_lazy *z, uint32_t offset)
{
	size_t low = 0, n = z->answers.count;
	while (n) {
		size_t half = n / 2;
		if (z->answers.data[low + half].offset <= offset) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low && z->answers.data[low - 1].offset == offset ? z->answers.data[low - 1].image :
								  NULL;
}

static int by_offset(const void *pa, const void *pb)
{
	const struct answered *a = pa, *b = pb;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int by_number(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;
	return *a < *b ? -1 : *a > *b;
}

/** So much was asked that all of it is cheaper. */
static void consider_whole(struct fw_lazy *z, size_t more)
{
	if (z->whole.compile == NULL || z->image != NULL || z->failed ||
	    (more <= z->whole.answers - z->answers.count &&
	     z->fragments.count < z->whole.questions && z->bytes <= FW_MAX_LAZY_BYTES))
		return;
	stop(z);
	enum fw_code code = z->whole.compile(z->whole.context, &z->image, &z->error);
	z->failed = code != FW_OK;
}

/** Questions for those of n ascending offsets that have no answer yet; @p fresh is room. */
static void ask_all(struct fw_lazy *z, const uint32_t *offsets, size_t n, uint32_t *fresh)
{
	consider_whole(z, n);
	for (size_t i = 0; i < n && !z->failed && z->image == NULL;) {
		size_t known = z->answers.count;
		uint32_t count = 0;
		for (; i < n && count < FW_MAX_LAZY_QUESTION; i++)
			if ((i == 0 || offsets[i] != offsets[i - 1]) && !find(z, offsets[i]))
				fresh[count++] = offsets[i];
		if (count == 0)
			continue;
		if (ask(z, fresh, count, &z->error) != FW_OK) {
			z->failed = true;
			stop(z);
			return;
		}
		if (known > 0 && z->answers.data[known - 1].offset > fresh[0])
			qsort(z->answers.data, z->answers.count, sizeof(*z->answers.data),
			      by_offset);
	}
}

const struct fw_image *fw_lazy_names(struct fw_lazy *z, uint32_t offset)
{
	uint32_t fresh;
	pthread_mutex_lock(&z->lock);
	const struct fw_image *image = find(z, offset);
	if (image == NULL) {
		ask_all(z, &offset, 1, &fresh);
		image = z->image ? z->image : find(z, offset);
	}
	pthread_mutex_unlock(&z->lock);
	return image;
}

void fw_lazy_prefetch(struct fw_lazy *z, const uint32_t *offsets, size_t n)
{
	uint32_t *sorted = n == 0 ? NULL : calloc(n, 2 * sizeof(*sorted));
	if (sorted == NULL)
		return;		// what is not asked at once is asked one by one
	memcpy(sorted, offsets, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_number);
	pthread_mutex_lock(&z->lock);
	ask_all(z, sorted, n, sorted + n);
	pthread_mutex_unlock(&z->lock);
	free(sorted);
}

enum fw_code fw_lazy_failure(struct fw_lazy *z, struct fw_error *ret)
{
	enum fw_code code = FW_OK;
	pthread_mutex_lock(&z->lock);
	if (z->failed) {
		code = z->error.code;
		*ret = z->error;
	}
	pthread_mutex_unlock(&z->lock);
	return code;
}
