#ifndef FW_SYMFILES_LOADER_INTERNAL_H
#define FW_SYMFILES_LOADER_INTERNAL_H

#include <sys/types.h>

#include "symfiles/loader.h"

/** First argument of a loader process. */
#define FW_LOADER_WORD "--loader"

/*
 * What parent and child of the loader say to each other over a socket of packets.
 * Child: an ASK (which split DWARF file), answered by an ANSWER with a descriptor
 * or without; at last one DONE. One that reads lazily starts with the parent's
 * QUESTION, whose offsets stand in the image's file, and takes the next after each
 * DONE. Both are one executable: structs as they are.
 */
enum fw_loader_kind { FW_LOADER_ASK = 1, FW_LOADER_ANSWER, FW_LOADER_DONE, FW_LOADER_QUESTION };

enum { FW_LOADER_PATH = 4096, FW_LOADER_MAX_ASKED = 65536 };

struct fw_loader_packet {
	uint32_t kind;
	uint32_t count;			// QUESTION: how many offsets
	bool dwp;			// ASK: the program's package
	struct fw_error error;		// DONE; code FW_OK: the image is written
	char comp_dir[FW_LOADER_PATH], name[FW_LOADER_PATH];	// ASK
};

/** Send one packet, with a descriptor unless @p fd is -1. */
bool fw_loader_send(int socket, const struct fw_loader_packet *p, int fd);
/** Receive one; *ret_fd is -1 or a descriptor of the caller's. False: the other is gone. */
bool fw_loader_receive(int socket, struct fw_loader_packet *p, int *ret_fd);

/** fw_loader_compile() with limits of one's own and, for tests, a child that misbehaves. */
struct fw_loader_limits {
	unsigned cpu_seconds, wall_seconds;
	uint64_t memory;		// bytes besides those of the files; 0: no limit
	const char *trick;		// NULL, or "crash", "hang", "spin", "eat", "lie", "mute", "open",
					// "choke": crashes on a debug file
	bool lazy;			// it waits for questions
};

enum { FW_LOADER_FILES = 3 };

/** The parent's side of one child. */
struct fw_loader_session {
	const struct fw_loader_request *request;
	const struct fw_loader_limits *limits;
	int files[FW_LOADER_FILES];
	uint64_t files_bytes;
	int image;			// the file that its images come in
	int sockets[2];			// ours, the child's
	pid_t child;			// 0: none
	unsigned asked;
};

/**
 * Start a child; request and limits must live as long as the session. Call
 * fw_loader_end() in any case.
 */
FW_MUST_CHECK enum fw_code fw_loader_begin(struct fw_loader_session *s,
					   const struct fw_loader_request *request,
					   const struct fw_loader_limits *limits,
					   struct fw_error *err);
/** Serve the child until it is done with what it does, at most for its wall_seconds. */
FW_MUST_CHECK enum fw_code fw_loader_await(struct fw_loader_session *s, struct fw_error *err);
void fw_loader_end(struct fw_loader_session *s);

FW_MUST_CHECK enum fw_code fw_loader_run_twice(const struct fw_loader_request *request,
	const struct fw_loader_limits *limits, struct fw_image **ret, char *note,
	size_t note_size, struct fw_error *err);

FW_MUST_CHECK enum fw_code fw_loader_run(const struct fw_loader_request *request,
					 const struct fw_loader_limits *limits,
					 struct fw_image **ret, struct fw_error *err);

struct fw_lazy;
/** Limits of one's own and, for tests, children that misbehave; before the first question. */
void fw_lazy_limit(struct fw_lazy *lazy, const struct fw_loader_limits *limits);

/** True in builds with a sanitizer, which maps terabytes and opens files of its own. */
static inline bool fw_loader_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	return false;
}

#endif
