#include "live/feed.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/id.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "live/feed_sources.h"

/*
 * The files feed.1, feed.2, … are segments, of which the last few are kept. Each begins with a
 * comment that has the name of the feed and the place of each source at that time. An event's id
 * has the name of the feed, the number of the segment and the offset after the event: a client that
 * reconnects with the id continues there.
 */
enum { SEGMENTS = 4, SEGMENT_MOST = 4 * 1024 * 1024 };

struct feed {
	struct str dir;
	char name[17]; /* random, new with every new feed */
	struct sources known;
	pthread_mutex_t mutex; /* protects the members below */
	int fd[SEGMENTS];      /* the segments, newest first; -1: none */
	struct feed_place end; /* the end of the written events */
};

static struct str segment_path(struct arena *mem, const struct feed *f, int64_t n)
{
	return path_join(mem, f->dir, arena_fmt(mem, "feed.%lld", (long long)n));
}

/* --- reading --- */

struct feed_place feed_end(struct feed *f)
{
	struct feed_place end;

	pthread_mutex_lock(&f->mutex);
	end = f->end;
	pthread_mutex_unlock(&f->mutex);
	return end;
}

void feed_id(struct feed *f, struct feed_place at, char id[FEED_ID])
{
	snprintf(id, FEED_ID, "%s-%lld-%lld", f->name, (long long)at.segment, (long long)at.offset);
}

/* The length of the whole events at the start of the text. */
static size_t whole_events(const char *p, size_t n)
{
	while (n > 1 && !(p[n - 1] == '\n' && p[n - 2] == '\n'))
		n--;
	return n > 1 ? n : 0;
}

static ssize_t feed_read_locked(struct feed *f, struct feed_place *at, char *p, size_t most)
{
	int64_t back;
	ssize_t got, whole;

	for (;;) {
		back = f->end.segment - at->segment;
		if (back < 0 || back >= SEGMENTS || f->fd[back] < 0)
			return -1;
		if (!back && (int64_t)most > f->end.offset - at->offset)
			most = (size_t)(f->end.offset - at->offset);
		if (!most)
			return 0;
		got = pread(f->fd[back], p, most, (off_t)at->offset);
		if (got < 0)
			return -1;
		if (got || !back)
			break;
		*at = (struct feed_place){ at->segment + 1, 0 };
	}
	whole = (ssize_t)whole_events(p, (size_t)got);
	got = whole ? whole : got; /* the buffer may be smaller than an event */
	at->offset += got;
	return got;
}

ssize_t feed_read(struct feed *f, struct feed_place *at, char *p, size_t most)
{
	ssize_t got;

	pthread_mutex_lock(&f->mutex);
	got = feed_read_locked(f, at, p, most);
	pthread_mutex_unlock(&f->mutex);
	return got;
}

static bool parse_id(const struct feed *f, struct str id, struct feed_place *out)
{
	struct str part[3];

	for (int i = 0; i < 3; i++)
		if (!str_next(&id, '-', &part[i]))
			return false;
	return !id.n && str_is(part[0], f->name) && number_int(part[1], &out->segment) &&
	       number_int(part[2], &out->offset) && out->segment > 0 && out->offset >= 0;
}

bool feed_find(struct feed *f, struct str id, struct feed_place *out)
{
	char before[2] = "";
	int64_t back;
	bool known;

	if (id.n >= FEED_ID || !parse_id(f, id, out))
		return false;
	pthread_mutex_lock(&f->mutex);
	back = f->end.segment - out->segment;
	known = back >= 0 && back < SEGMENTS && f->fd[back] >= 0 && out->offset > 1 &&
		(back || out->offset <= f->end.offset) &&
		pread(f->fd[back], before, 2, (off_t)out->offset - 2) == 2 &&
		!memcmp(before, "\n\n", 2);
	pthread_mutex_unlock(&f->mutex);
	return known;
}

/* --- writing --- */

static enum err write_at_end(struct call *c, struct feed *f, struct str text)
{
	int fd = f->fd[0];

	if (pwrite(fd, text.p, text.n, (off_t)f->end.offset) == (ssize_t)text.n)
		return ERR_OK;
	(void)!ftruncate(fd, (off_t)f->end.offset);
	return file_fail(c, "write", segment_path(&c->mem, f, f->end.segment));
}

static struct str feed_head_text(struct call *c, const struct feed *f)
{
	struct json j = json_new(&c->mem);
	char boot[PLATFORM_BOOT];

	platform_boot(boot);
	json_object(&j);
	json_put_str(&j, "feed", str_of(f->name));
	json_put_str(&j, "boot", str_trim(str_of(boot)));
	json_put_object(&j, "known");
	sources_encode(&j, &f->known);
	json_end(&j);
	json_end(&j);
	return arena_fmt(&c->mem, ": " STR_FMT "\n\n", STR_ARG(json_text(&j)));
}

/* Begins a new segment, and removes the oldest. */
static enum err begin_segment(struct call *c, struct feed *f)
{
	int64_t n = f->end.segment + 1, oldest = n - SEGMENTS;
	struct str path = segment_path(&c->mem, f, n), head = feed_head_text(c, f);
	int fd = file_own_open(&c->mem, path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		return file_fail(c, "create", path);
	if (pwrite(fd, head.p, head.n, 0) != (ssize_t)head.n) {
		close(fd);
		return file_fail(c, "write", path);
	}
	pthread_mutex_lock(&f->mutex);
	file_close(&f->fd[SEGMENTS - 1]);
	memmove(f->fd + 1, f->fd, sizeof f->fd - sizeof *f->fd);
	f->fd[0] = fd;
	f->end = (struct feed_place){ n, (int64_t)head.n };
	pthread_mutex_unlock(&f->mutex);
	if (oldest > 0)
		unlink(arena_cstr(&c->mem, segment_path(&c->mem, f, oldest)));
	return ERR_OK;
}

struct batch {
	struct feed *f;
	struct buf text;
	size_t count;
};

static void add_event(void *arg, const char *type, struct str data)
{
	struct batch *b = arg;
	struct feed_place start = { b->f->end.segment, b->f->end.offset + (int64_t)b->text.n },
			  end = start;
	char head[FEED_ID + 64], id[FEED_ID];
	int n = 0;

	if (data.n > FEED_EVENT - 128) { /* only another program writes records of that size */
		type = "reset";
		data = STR("{}");
	}
	do { /* the id names the end of the event that contains it */
		end.offset = start.offset + n + (int64_t)data.n + 2;
		feed_id(b->f, end, id);
		n = snprintf(head, sizeof head, "id: %s\nevent: %s\ndata: ", id, type);
	} while (end.offset != start.offset + n + (int64_t)data.n + 2);
	buf_put(&b->text, (struct str){ head, (size_t)n });
	buf_put(&b->text, data);
	buf_put(&b->text, STR("\n\n"));
	b->count++;
}

enum err feed_collect(struct call *c, struct feed *f, size_t *count)
{
	struct batch b = { .f = f, .text.mem = &c->mem };
	struct sources before = sources_copy(&c->mem, &f->known);
	enum err e = ERR_OK;

	*count = 0;
	if (f->end.offset > SEGMENT_MOST && (e = begin_segment(c, f)))
		return e;
	sources_collect(c, &f->known, add_event, &b);
	if (!b.count)
		return ERR_OK;
	if ((e = write_at_end(c, f, buf_str(&b.text)))) {
		sources_restore(&f->known, &before); /* they are collected again */
		return e;
	}
	pthread_mutex_lock(&f->mutex);
	f->end.offset += (int64_t)b.text.n;
	pthread_mutex_unlock(&f->mutex);
	*count = b.count;
	return ERR_OK;
}

/* --- opening --- */

struct feed_found {
	int64_t last;
};

static void note_segment(void *arg, struct str name)
{
	struct feed_found *found = arg;
	int64_t n;

	if (str_starts(name, STR("feed.")) && number_int(str_skip(name, 5), &n) && n > found->last)
		found->last = n;
}

static const struct value *feed_comment(struct call *c, struct str *text)
{
	const char *end = str_find(*text, STR("\n\n"));
	struct str line;

	if (!end || !str_starts(*text, STR(": ")))
		return NULL;
	line = str_skip(str_head(*text, (size_t)(end - text->p)), 2);
	*text = str_skip(*text, line.n + 4);
	return value_read(&c->mem, line);
}

static void feed_learn(struct call *c, struct feed *f, struct str rest)
{
	struct str line;

	while (rest.n && str_next(&rest, '\n', &line))
		if (str_starts(line, STR("data: ")))
			sources_learn(c, &f->known, str_skip(line, 6));
}

/* Continues the feed of an earlier service; false if there is none that can be used. */
static bool feed_resume(struct call *c, struct feed *f, int64_t last)
{
	char boot[PLATFORM_BOOT];
	struct str text, rest;
	const struct value *head;

	if (!last || file_own_read(c, segment_path(&c->mem, f, last), &text) || !text.p)
		return false;
	text.n = whole_events(text.p, text.n);
	if (!text.n) /* the service was killed when it began this segment */
		return feed_resume(c, f, last - 1);
	rest = text;
	head = feed_comment(c, &rest);
	platform_boot(boot);
	if (!head || value_str(head, "feed").n != sizeof f->name - 1 ||
	    !str_eq(value_str(head, "boot"), str_trim(str_of(boot))))
		return false;
	memcpy(f->name, value_str(head, "feed").p, sizeof f->name - 1);
	sources_decode(&f->known, value_find(head, "known"));
	feed_learn(c, f, rest);
	for (int i = 0; i < SEGMENTS && last - i > 0; i++)
		f->fd[i] = file_own_open(&c->mem, segment_path(&c->mem, f, last - i),
					 i ? O_RDONLY : O_RDWR, 0);
	f->end = (struct feed_place){ last, (int64_t)text.n };
	/* A partly written event must not remain after the next one. */
	return f->fd[0] >= 0 && !ftruncate(f->fd[0], (off_t)text.n);
}

static void remove_segment(void *arg, struct str name)
{
	struct feed *f = arg;
	struct arena mem = { 0 };

	if (str_starts(name, STR("feed.")))
		unlink(arena_cstr(&mem, path_join(&mem, f->dir, name)));
	arena_release(&mem);
}

enum err feed_open(struct call *c, struct str dir, struct feed **out)
{
	struct feed *f = calloc(1, sizeof *f);
	struct feed_found found = { 0 };
	enum err e;

	if (!f)
		abort();
	*out = f;
	f->dir = arena_copy(&f->known.mem, dir);
	pthread_mutex_init(&f->mutex, NULL);
	for (int i = 0; i < SEGMENTS; i++)
		f->fd[i] = -1;
	if ((e = file_make_folder(c, dir, 0700)) || (e = file_each(c, dir, note_segment, &found)))
		return e;
	if (!feed_resume(c, f, found.last)) {
		call_forgive(c);
		memcpy(f->name, id_random(&c->mem, 16).p, 16);
		if ((e = file_each(c, dir, remove_segment, f)))
			return e;
		sources_begin(c, &f->known);
		f->end = (struct feed_place){ 0 };
		return begin_segment(c, f);
	}
	return ERR_OK;
}

void feed_close(struct feed *f)
{
	for (int i = 0; i < SEGMENTS; i++)
		file_close(&f->fd[i]);
	pthread_mutex_destroy(&f->mutex);
	arena_release(&f->known.mem);
	free(f);
}
