#include "surface/mcp/mcp_waits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"

enum { PROGRESS_MS = 900 }; /* at least once a second, with some time for the way */

static struct str waits_json(struct arena *mem, const struct value *v)
{
	struct json j = json_new(mem);

	if (!v)
		return STR_NONE;
	json_value(&j, v);
	return json_text(&j);
}

/* --- the process that waits --- */

/* The lifeline becomes readable when its other end is closed. */
static bool waits_stop(void *arg)
{
	const struct mcp_wait *own = arg;
	struct pollfd lifeline = { own->lifeline, POLLIN, 0 };

	return poll(&lifeline, 1, 0) > 0;
}

/* The new process keeps nothing open that another wait depends on. */
static void waits_become_child(struct mcp_waits *w, int reply, int lifeline,
			       struct listener *listener)
{
	for (size_t i = 0; i < w->count; i++) {
		close(w->wait[i].reply);
		close(w->wait[i].lifeline);
	}
	w->count = 0;
	w->wait[0].reply = reply;
	w->wait[0].lifeline = lifeline;
	*listener = (struct listener){ lifeline, waits_stop, &w->wait[0] };
}

void waits_answer(struct mcp_waits *w, struct str line)
{
	while (line.n) {
		ssize_t put = write(w->wait[0].reply, line.p, line.n);

		if (put < 0 && errno != EINTR)
			break;
		if (put > 0)
			line = str_skip(line, (size_t)put);
	}
	_exit(0);
}

static bool waits_open_pipes(int reply[2], int lifeline[2])
{
	if (pipe(reply))
		return false;
	if (pipe(lifeline)) {
		close(reply[0]);
		close(reply[1]);
		return false;
	}
	for (int i = 0; i < 2; i++) {
		fcntl(reply[i], F_SETFD, FD_CLOEXEC);
		fcntl(lifeline[i], F_SETFD, FD_CLOEXEC);
	}
	return true;
}

enum waits_result waits_start(struct mcp_waits *w, const struct value *id,
			      const struct value *token, struct listener *listener)
{
	struct mcp_wait *one = &w->wait[w->count];
	int reply[2], lifeline[2];
	pid_t process;

	if (w->count == WAITS_MOST || !waits_open_pipes(reply, lifeline))
		return WAITS_FULL;
	process = fork();
	if (!process) {
		close(reply[0]);
		close(lifeline[1]);
		waits_become_child(w, reply[1], lifeline[0], listener);
		return WAITS_CHILD;
	}
	close(reply[1]);
	close(lifeline[0]);
	if (process < 0) {
		close(reply[0]);
		close(lifeline[1]);
		return WAITS_FULL;
	}
	*one = (struct mcp_wait){ .process = process,
				  .reply = reply[0],
				  .lifeline = lifeline[1],
				  .began = moment_ticks() };
	one->told = one->began;
	one->id = waits_json(&one->mem, id);
	one->token = waits_json(&one->mem, token);
	w->count++;
	return WAITS_STARTED;
}

/* --- the server --- */

static void waits_remove(struct mcp_waits *w, size_t i)
{
	struct mcp_wait *one = &w->wait[i];

	close(one->reply);
	close(one->lifeline);
	while (waitpid(one->process, NULL, 0) < 0 && errno == EINTR)
		;
	arena_release(&one->mem);
	w->wait[i] = w->wait[--w->count];
}

/* Reads what is there of a reply. Returns false at its end. */
static bool waits_read(struct mcp_wait *one)
{
	char chunk[16 * 1024];
	ssize_t got = read(one->reply, chunk, sizeof chunk);

	if (got < 0)
		return errno == EINTR;
	one->line.mem = &one->mem; /* the waits move in their list */
	buf_put(&one->line, (struct str){ chunk, (size_t)got });
	return got > 0;
}

static void waits_progress(struct mcp_waits *w, struct mcp_wait *one)
{
	int64_t now = moment_ticks();
	struct arena mem = { 0 };
	struct json j = json_new(&mem);

	if (!one->token.p || one->cancelled || now - one->told < PROGRESS_MS)
		return;
	one->told = now;
	json_object(&j);
	json_put_str(&j, "jsonrpc", STR("2.0"));
	json_put_str(&j, "method", STR("notifications/progress"));
	json_put_object(&j, "params");
	json_put_raw(&j, "progressToken", one->token);
	json_put_int(&j, "progress", (now - one->began) / 1000);
	json_put_str(&j, "message", STR("waiting"));
	json_end(&j);
	json_end(&j);
	buf_char(&j.out, '\n');
	w->unheard = w->unheard || !rpc_send(buf_str(&j.out));
	arena_release(&mem);
}

static bool waits_heard(void)
{
	struct pollfd out = { STDOUT_FILENO, 0, 0 };

	return poll(&out, 1, 0) <= 0;
}

/* Sends the replies that are complete, and progress. Returns false if nobody reads them. */
static bool waits_tend(void *arg)
{
	struct mcp_waits *w = arg;

	for (size_t i = w->count; i-- > 0;) {
		struct mcp_wait *one = &w->wait[i];
		struct pollfd ready = { one->reply, POLLIN, 0 };

		waits_progress(w, one);
		if (poll(&ready, 1, 0) <= 0 || waits_read(one))
			continue;
		if (!one->cancelled && one->line.n)
			w->unheard = !rpc_send(buf_str(&one->line)) || w->unheard;
		waits_remove(w, i);
	}
	w->unheard = w->unheard || !waits_heard();
	return !w->unheard;
}

static size_t waits_fds(void *arg, int *fd)
{
	const struct mcp_waits *w = arg;

	for (size_t i = 0; i < w->count; i++)
		fd[i] = w->wait[i].reply;
	return w->count;
}

static void waits_let_go(struct mcp_wait *one)
{
	if (one->lifeline >= 0)
		close(one->lifeline);
	one->lifeline = -1;
}

static void waits_cancel(void *arg, const struct value *id)
{
	struct mcp_waits *w = arg;
	struct arena mem = { 0 };
	struct str text = waits_json(&mem, id);

	for (size_t i = 0; i < w->count; i++)
		if (str_eq(w->wait[i].id, text)) {
			w->wait[i].cancelled = true;
			waits_let_go(&w->wait[i]);
		}
	arena_release(&mem);
}

struct rpc_background waits_background(struct mcp_waits *w)
{
	return (struct rpc_background){ waits_fds, waits_tend, waits_cancel, w };
}

void waits_end(struct mcp_waits *w)
{
	for (size_t i = 0; i < w->count; i++)
		waits_let_go(&w->wait[i]);
	while (w->count) {
		struct mcp_wait *one = &w->wait[w->count - 1];

		while (waits_read(one))
			;
		if (!one->cancelled && !w->unheard && one->line.n)
			w->unheard = !rpc_send(buf_str(&one->line));
		waits_remove(w, w->count - 1);
	}
}
