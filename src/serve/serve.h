#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"

struct MHD_Connection;
struct MHD_Response;
struct feed;

/*
 * The parts of abacus-serve, which has three kinds of threads. The first thread follows the stores
 * and writes the feed; no other thread uses the stores. One thread for each listening socket speaks
 * HTTP and never blocks. Each worker thread has a process that runs operations, and waits for it.
 */

/* --- workers: processes that run operations --- */

struct job {
	struct MHD_Connection *connection; /* suspended until the job is done */
	struct str line;                   /* the request, with its line end */
	char *reply;                       /* a line without its end; NULL: the process died */
	bool refused;                      /* the job was not begun */
	int reason;                        /* errno, if no process could be started for it; or 0 */
	size_t n;
	struct arena *mem; /* for the ETag of the reply; NULL: none is needed */
	struct str tag;
	struct job *next;
};

struct workers;

/* `argv` starts a process that reads requests from its standard input, one per line, and writes the
 * replies. `most` is the maximum number of workers. */
enum { WORKERS_MOST = 64 };
struct workers *workers_open(const char *const *argv, size_t most);

/* One worker, whose process gets all jobs that wait, so that it can carry them out together. */
struct workers *workers_open_grouped(const char *const *argv);

/* False if the queue is full. */
bool workers_put(struct workers *w, struct job *job);

/* Ends all workers. Running jobs get `ms` milliseconds to finish. */
void workers_close(struct workers *w, int64_t ms);

/* --- Markdown, in a process of its own: a main() of abacus-serve --- */

int markdown_start(void);

/* --- streams: clients that follow the feed --- */

struct streams;

struct streams *streams_open(struct feed *feed);
void streams_close(struct streams *s); /* ends all streams */
void streams_wake(struct streams *s);  /* the feed has grown */

/* A stream of the events after the given id; absent: of new events only. NULL: too many streams. */
struct MHD_Response *streams_new(struct streams *s, struct MHD_Connection *connection,
				 struct str after);

/* --- the page: files that are part of the program --- */

struct page_file {
	const char *path, *type, *tag; /* "/app.js"; its media type; its ETag */
	const unsigned char *p;
	size_t n;
};
extern const struct page_file page_files[]; /* ends with a path of NULL */

/* --- http --- */

struct http;

struct http_ask {
	struct workers *workers, *waiters; /* for short requests; for requests that block */
	struct workers *writers;           /* for writes that can share one sync */
	struct workers *markdown;          /* for texts */
	struct streams *streams;
	bool (*tell)(void *arg, int port); /* called when the loopback port is known */
	void *arg;
	int socket;            /* the listening Unix socket */
	char token[65];        /* for programs that connect over the loopback */
	const char *page_file; /* prefix of the files that lead a browser to the page; or NULL */
};

struct http *http_open(const struct http_ask *ask);
/* Listens on the loopback too, on this port (0: any free one). Returns the port, or -1. */
int http_listen(struct http *h, int port);
/* An address that admits the first browser that opens it, for a minute. `file`, if not NULL, is a
 * file of this user that redirects to the address; absent if it cannot be written. */
struct str http_invitation(struct http *h, struct arena *mem, struct str *file);
void http_sweep(struct http *h);          /* closes connections that take too long */
int64_t http_quiet_since(struct http *h); /* ticks since when no request was active */
void http_stop_listening(struct http *h); /* accepts no more connections */
void http_close(struct http *h);

/* Starts a process that ends when `fd` is closed, at the latest when this process ends. */
bool workers_start_tied(struct workers *all, const char *const *argv, pid_t *pid, int *fd);

/* The process that runs the commands of the project's rules ('abacus on --run'). It runs while
 * there are rules; if another process runs them, it waits. */
struct rules_runner {
	pid_t pid; /* 0: no process */
	int fd;
};
struct call;
void rules_tick(const struct call *start, struct workers *w, struct rules_runner *r);
void rules_stop(struct rules_runner *r);

#endif
