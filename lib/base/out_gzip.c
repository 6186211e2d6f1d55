#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "lib/base/out.h"

enum { CHUNK = 65536 };

struct fw_gzip {
	z_stream z;
	bool begun;		// a member is open
	unsigned char chunk[CHUNK];
};

enum fw_code fw_out_gzip(struct fw_out *o, struct fw_error *err)
{
	enum fw_code code = fw_out_flush(o, err);
	if (code != FW_OK)
		return code;
	struct fw_gzip *g = fw_alloc_should_fail() ? NULL : calloc(1, sizeof(*g));
	// Level 1: profiles compress tenfold at any level, and writing them may not take
	// longer than making them. 16 + 15: a gzip header, the largest window.
	if (!g || deflateInit2(&g->z, 1, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return fw_fail(err, FW_NO_MEMORY, NULL, "out of memory");
	}
	g->begun = true;	// nothing written is an empty member, not an empty file
	o->gzip = g;
	return FW_OK;
}

int fw_gzip_write_(struct fw_out *o, const char *s, size_t n, bool finish)
{
	struct fw_gzip *g = o->gzip;
	if (!g->begun && !n)
		return 0;
	g->begun = true;
	do {
		size_t piece = n < (1 << 30) ? n : 1 << 30;
		bool last = piece == n && finish;
		g->z.next_in = (unsigned char *)(uintptr_t)s;
		g->z.avail_in = (unsigned)piece;
		do {
			struct fw_error e;
			g->z.next_out = g->chunk;
			g->z.avail_out = CHUNK;
			if (deflate(&g->z, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
				return EIO;
			if (fw_write_all(o->fd, g->chunk, CHUNK - g->z.avail_out, &e) != FW_OK)
				return e.os_errno ? e.os_errno : EIO;
		} while (g->z.avail_out == 0);
		s += piece;
		n -= piece;
	} while (n);
	if (finish) {
		deflateReset(&g->z);
		g->begun = false;
	}
	return 0;
}

void fw_gzip_free_(struct fw_gzip *g)
{
	if (g)
		deflateEnd(&g->z);
	free(g);
}
