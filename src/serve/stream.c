#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/moment.h"
#include "live/feed.h"
#include "serve/serve.h"

/*
 * All streams read the file of the feed, each at its own place, so a slow client costs no memory
 * and delays no other. A stream that has read all events is suspended until there are more. A
 * client that does not read for a while gets the event 'dropped' and its stream ends; it can
 * connect again with its last id.
 */
enum {
	STREAMS = 512,
	PIECE = 2 * FEED_EVENT, /* maximum bytes sent at once */
	STALL_MS = 10 * 1000,
	BEAT_MS = 15 * 1000, /* interval of comments that keep proxies from closing */
};

enum stream_first { FIRST_HELLO, FIRST_RESET, FIRST_DONE };

struct stream {
	struct streams *all;
	struct MHD_Connection *connection;
	struct feed_place at;
	enum stream_first first; /* the event that is sent before all others */
	bool suspended, behind, over;
	bool inside;  /* a part of an event was sent, and the rest has to follow */
	int64_t sent; /* ticks: when the client last read something */
	struct stream *next, **link;
};

struct streams {
	struct feed *feed;
	pthread_mutex_t mutex;
	struct stream *list;
	size_t count;
	bool closing;
};

static ssize_t stream_say(char *buf, size_t max, const char *event, struct feed *f,
			  struct feed_place at, const char *data)
{
	char id[FEED_ID];
	int n;

	feed_id(f, at, id);
	n = snprintf(buf, max, "id: %s\nevent: %s\ndata: %s\n\n", id, event, data);
	return n;
}

/* The caller holds the mutex. */
static ssize_t next_piece(struct stream *s, char *buf, size_t max)
{
	int64_t now = moment_ticks(), waited = now - s->sent;
	ssize_t got;

	if (s->over || s->all->closing)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (s->first != FIRST_DONE) {
		bool reset = s->first == FIRST_RESET;

		s->first = FIRST_DONE;
		return stream_say(buf, max, reset ? "reset" : "hello", s->all->feed, s->at,
				  reset ? "{\"reason\":\"what came after that event is not known "
					  "any more: look at everything again\"}" :
					  "{}");
	}
	if (s->behind && waited > STALL_MS) {
		if (s->inside) /* a client that reconnects gets the whole event again */
			return MHD_CONTENT_READER_END_OF_STREAM;
		s->over = true;
		return stream_say(buf, max, "dropped", s->all->feed, s->at,
				  "{\"reason\":\"you read too slowly: connect again with the "
				  "last id to continue from there\"}");
	}
	got = feed_read(s->all->feed, &s->at, buf, max < PIECE ? max : PIECE);
	if (got < 0 && s->inside)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (got < 0) {
		s->at = feed_end(s->all->feed);
		s->first = FIRST_RESET;
		return next_piece(s, buf, max);
	}
	if (got > 0)
		s->inside = got < 2 || memcmp(buf + got - 2, "\n\n", 2) != 0;
	if (!got && waited > BEAT_MS)
		return snprintf(buf, max, ": still here\n\n");
	return got;
}

/* The library does not notice that the client of a suspended connection has gone. */
static bool has_gone(const struct stream *s)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	char byte;

	return info && !recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

static ssize_t read_stream(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = arg;
	ssize_t got;

	(void)pos;
	pthread_mutex_lock(&s->all->mutex);
	got = next_piece(s, buf, max);
	if (!got && has_gone(s))
		got = MHD_CONTENT_READER_END_OF_STREAM;
	s->behind = got > 0;
	if (got > 0)
		s->sent = moment_ticks();
	if (!got) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
	}
	pthread_mutex_unlock(&s->all->mutex);
	return got;
}

static void stream_free(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&s->all->mutex);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	s->all->count--;
	pthread_mutex_unlock(&s->all->mutex);
	free(s);
}

struct MHD_Response *streams_new(struct streams *all, struct MHD_Connection *connection,
				 struct str after)
{
	struct stream *s = calloc(1, sizeof *s);
	struct MHD_Response *response;

	if (!s)
		return NULL;
	*s = (struct stream){ .all = all,
			      .connection = connection,
			      .at = feed_end(all->feed),
			      .sent = moment_ticks() };
	if (after.p && !feed_find(all->feed, after, &s->at)) {
		s->at = feed_end(all->feed);
		s->first = FIRST_RESET;
	} else if (after.p) {
		s->first = FIRST_DONE;
	}
	pthread_mutex_lock(&all->mutex);
	if (all->count == STREAMS || all->closing) {
		pthread_mutex_unlock(&all->mutex);
		streams_wake(all); /* streams whose clients have gone end, and make room */
		free(s);
		return NULL;
	}
	s->next = all->list;
	s->link = &all->list;
	if (s->next)
		s->next->link = &s->next;
	all->list = s;
	all->count++;
	pthread_mutex_unlock(&all->mutex);
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_stream, s,
						     stream_free);
	if (!response)
		stream_free(s);
	return response;
}

void streams_wake(struct streams *all)
{
	pthread_mutex_lock(&all->mutex);
	for (struct stream *s = all->list; s; s = s->next)
		if (s->suspended) {
			s->suspended = false;
			MHD_resume_connection(s->connection);
		}
	pthread_mutex_unlock(&all->mutex);
}

struct streams *streams_open(struct feed *feed)
{
	struct streams *all = calloc(1, sizeof *all);

	if (!all)
		abort();
	all->feed = feed;
	pthread_mutex_init(&all->mutex, NULL);
	return all;
}

void streams_close(struct streams *all)
{
	pthread_mutex_lock(&all->mutex);
	all->closing = true;
	pthread_mutex_unlock(&all->mutex);
	streams_wake(all);
}
