#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"

struct MHD_Connection;
struct MHD_Response;
struct feed;

/*
 * The parts of abacus-serve. Three kinds of threads: the first one follows the stores and writes
 * the feed; one for each socket speaks HTTP and never waits; and a worker for each process that
 * runs operations, which waits for it. Only the first one uses the stores.
 */

/* --- workers: processes that run operations --- */

struct job {
	struct MHD_Connection *connection; /* suspended until it is done */
	struct str line;                   /* what is asked, with its end */
	char *reply;                       /* a line, without its end; NULL: it died */
	bool refused;                      /* it was not begun */
	size_t n;
	struct arena *mem; /* for a tag of the reply; NULL: it needs none */
	struct str tag;
	struct job *next;
};

struct workers;

/* `argv` starts a process that answers lines on its standard input and output; there are at most
 * so many at once. */
enum { WORKERS_MOST = 64 };
struct workers *workers_open(const char *const *argv, size_t most);

/* False: too many wait already. */
bool workers_put(struct workers *d, struct job *job);

/* Ends them all; what has begun is finished, if that takes no longer than this. */
void workers_close(struct workers *d, int64_t ms);

/* --- streams: who follows the feed --- */

struct streams;

struct streams *streams_open(struct feed *feed);
void streams_close(struct streams *s); /* all of them end */
void streams_wake(struct streams *s);  /* there is news */

/* A stream that goes on after an event (absent: from now on); NULL: too many. */
struct MHD_Response *streams_new(struct streams *s, struct MHD_Connection *connection,
				 struct str after);

/* --- the page: files that are part of the program --- */

struct page_file {
	const char *path, *type, *tag; /* "/app.js"; what it is; a hash of it */
	const unsigned char *p;
	size_t n;
};
extern const struct page_file page_files[]; /* ends with a path of NULL */

/* --- http --- */

struct http;

struct http_ask {
	struct workers *workers, *waiters; /* for short requests; for requests that may wait long */
	struct streams *streams;
	bool (*tell)(void *arg, int port); /* where it listens on the loopback now */
	void *arg;
	int socket;            /* of this user's own, listening */
	char token[65];        /* that lets programs in over the loopback */
	const char *page_file; /* how the names of files begin that lead a browser here */
};

struct http *http_open(const struct http_ask *ask);
/* Listens on the loopback too, on that port (0: any); the port, or -1. */
int http_listen(struct http *h, int port);
/* An address that lets in the first browser that opens it, for a minute; and, unless it is NULL,
 * a file of this user that leads there, or an absent one if it cannot be made. */
struct str http_invitation(struct http *h, struct arena *mem, struct str *file);
void http_sweep(struct http *h);          /* now and then: ends what takes too long */
int64_t http_quiet_since(struct http *h); /* in ticks: nobody has asked, nor waits */
void http_stop_listening(struct http *h); /* nobody new is let in */
void http_close(struct http *h);

#endif
