/*
 * Reads lines from standard input into a queue of messages. The queue is also filled while a
 * request is at work (rpc_hear), so that a cancellation can remove a request before its turn, or
 * interrupt the one at work.
 */
#include "surface/mcp/rpc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>

#include "base/text/json.h"
#include "base/text/value.h"

enum { AHEAD = 64 }; /* maximum number of queued messages; then the sender has to wait */

static volatile sig_atomic_t stopped;

static void rpc_stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static bool rpc_hear(void *arg);

/*
 * Blocks SIGINT and SIGTERM except while waiting for input or output, so that they never interrupt
 * work.
 */
void rpc_open(struct rpc_input *in)
{
	struct sigaction act = { .sa_handler = rpc_stop };
	sigset_t blocked;

	*in = (struct rpc_input){ .listener = { STDIN_FILENO, rpc_hear, in } };
	in->last = &in->first;
	sigemptyset(&act.sa_mask);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

void rpc_release(struct rpc_message *m)
{
	call_release(&m->call);
	free(m);
}

void rpc_close(struct rpc_input *in)
{
	for (struct rpc_message *next; in->first; in->first = next) {
		next = in->first->next;
		rpc_release(in->first);
	}
	free(in->p);
}

static bool same_id(const struct value *a, const struct value *b)
{
	return a && b && a->type == b->type && a->text.p && str_eq(a->text, b->text);
}

/* Cancels the request at work, or removes a queued one. */
static void rpc_cancel(struct rpc_input *in, const struct value *id)
{
	in->cancelled = in->cancelled || same_id(in->current, id);
	if (in->background.cancel)
		in->background.cancel(in->background.arg, id);
	for (struct rpc_message **at = &in->first; *at; at = &(*at)->next) {
		struct rpc_message *m = *at;

		if (!same_id(value_find(m->value, "id"), id))
			continue;
		*at = m->next;
		if (!m->next)
			in->last = at;
		in->waiting--;
		rpc_release(m);
		return;
	}
}

static void rpc_push(struct rpc_input *in, struct rpc_message *m)
{
	*in->last = m;
	in->last = &m->next;
	in->waiting++;
}

static struct rpc_message *message_new(void)
{
	struct rpc_message *m = calloc(1, sizeof *m);

	if (!m)
		abort();
	return m;
}

static void rpc_take_line(struct rpc_input *in, struct str line)
{
	struct rpc_message *m;
	struct value_error error;

	if (!str_trim(line).n)
		return;
	m = message_new();
	line = arena_copy(&m->call.mem, line);
	m->value = value_parse(&m->call.mem, line, &error);
	m->why = error.why;
	if (str_is(value_str(m->value, "method"), "notifications/cancelled") &&
	    !value_find(m->value, "id")) {
		rpc_cancel(in, value_find(value_find(m->value, "params"), "requestId"));
		rpc_release(m);
		return;
	}
	rpc_push(in, m);
}

/* The line has ended, or the input. */
static void rpc_take_long(struct rpc_input *in, struct str rest)
{
	struct rpc_message *m = message_new();
	struct value_error error;
	struct str id;

	rpc_id_scan(&in->skipped, rest);
	id = rpc_id_text(&in->skipped);
	m->why = "the line is longer than 4 MiB";
	if (id.p)
		m->id = value_parse(&m->call.mem, arena_copy(&m->call.mem, id), &error);
	in->skipping = false;
	rpc_push(in, m);
}

/* Reads the rest of a line that is too long, without storing it. */
static void rpc_skip(struct rpc_input *in)
{
	if (!in->skipping)
		in->skipped = (struct rpc_id){ 0 };
	rpc_id_scan(&in->skipped, (struct str){ in->p, in->n });
	in->skipping = true;
	in->n = 0;
}

static void rpc_take_lines(struct rpc_input *in)
{
	struct str rest = { in->p, in->n };
	char *end;

	while (rest.n && (end = memchr(rest.p, '\n', rest.n))) {
		struct str line = str_head(rest, (size_t)(end - rest.p));

		if (in->skipping)
			rpc_take_long(in, line);
		else
			rpc_take_line(in, line);
		rest = str_skip(rest, line.n + 1);
	}
	if (rest.n)
		memmove(in->p, rest.p, rest.n);
	in->n = rest.n;
	if (in->skipping || in->n > RPC_LINE_MOST)
		rpc_skip(in);
}

static void rpc_read_some(struct rpc_input *in)
{
	enum { CHUNK = 64 * 1024 };
	ssize_t got;

	if (in->cap - in->n < CHUNK) {
		in->cap = in->n + 2 * CHUNK;
		in->p = realloc(in->p, in->cap);
		if (!in->p)
			abort();
	}
	got = read(STDIN_FILENO, in->p + in->n, CHUNK);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		if (in->skipping)
			rpc_take_long(in, STR_NONE);
		else if (in->n) /* a last line without a newline */
			rpc_take_line(in, (struct str){ in->p, in->n });
		in->ended = true;
		return;
	}
	in->n += (size_t)got;
	rpc_take_lines(in);
}

/* Whether there is input to read. An input that cannot be read counts as ended. */
static bool rpc_readable(struct rpc_input *in, bool wait)
{
	struct timespec none = { 0 }, half = { 0, 500 * 1000 * 1000 };
	const struct rpc_background *b = &in->background;
	int fd[RPC_BACKGROUND_MOST], ready, most = STDIN_FILENO;
	size_t count = wait && b->fds ? b->fds(b->arg, fd) : 0;
	sigset_t open;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(STDIN_FILENO, &set);
	for (size_t i = 0; i < count; i++) {
		FD_SET(fd[i], &set);
		most = fd[i] > most ? fd[i] : most;
	}
	sigemptyset(&open);
	ready = pselect(most + 1, &set, NULL, NULL, !wait ? &none : count ? &half : NULL, &open);
	if (ready < 0 && errno != EINTR)
		in->ended = true;
	if (count && !b->tend(b->arg))
		in->ended = true;
	return ready > 0 && FD_ISSET(STDIN_FILENO, &set);
}

/*
 * Reads ahead. Returns whether the request at work should stop waiting: another request is queued,
 * the queue is full, the input has ended, or the request was cancelled.
 */
static bool rpc_hear(void *arg)
{
	struct rpc_input *in = arg;

	while (!in->ended && !stopped && in->waiting < AHEAD && rpc_readable(in, false))
		rpc_read_some(in);
	for (const struct rpc_message *m = in->first; m; m = m->next)
		if (!m->value || value_find(m->value, "id"))
			return true;
	return in->ended || stopped || in->cancelled || in->waiting == AHEAD;
}

/* With `wait`, until there is a message or the input has ended. */
static void rpc_fill(struct rpc_input *in, bool wait)
{
	while (!in->ended && !stopped && in->waiting < AHEAD) {
		if (rpc_readable(in, wait && !in->first))
			rpc_read_some(in);
		else if (in->first || !wait)
			break;
	}
}

bool rpc_waiting(struct rpc_input *in)
{
	if (!in->first)
		rpc_fill(in, false);
	return in->first && !stopped;
}

struct rpc_message *rpc_next(struct rpc_input *in)
{
	struct rpc_message *m;

	rpc_fill(in, true);
	m = in->first;
	if (!m || stopped)
		return NULL;
	in->waiting--;
	in->first = m->next;
	if (!in->first)
		in->last = &in->first;
	m->next = NULL;
	return m;
}

/*
 * Unblocks signals while writing, so that a client that stops reading cannot prevent this process
 * from ending.
 */
bool rpc_send(struct str line)
{
	sigset_t open, blocked;

	sigemptyset(&open);
	sigprocmask(SIG_SETMASK, &open, &blocked);
	while (line.n && !stopped) {
		ssize_t put = write(STDOUT_FILENO, line.p, line.n);

		if (put < 0 && errno != EINTR)
			break;
		if (put > 0)
			line = str_skip(line, (size_t)put);
	}
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	return !line.n;
}

void rpc_put_error(struct json *j, enum rpc_error code, struct str message, struct str data)
{
	json_put_object(j, "error");
	json_put_int(j, "code", code);
	json_put_str(j, "message", message);
	if (data.p)
		json_put_raw(j, "data", data);
	json_end(j);
}
