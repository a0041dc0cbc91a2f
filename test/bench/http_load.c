/*
 * http_load SOCKET CONNECTIONS SECONDS METHOD PATH [BODY]
 *
 * Keeps that many connections to a Unix socket, each with one request under way, for so long, and
 * prints {"answers","refused","per_second","median_us","p99_us","bytes"}: how many answers came,
 * how many of them were not a 200, how long they took, and how long the last one was. With 0
 * seconds each connection asks once. What is sent and how an answer ends is all it knows of HTTP.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text/json.h"

enum { CONNECTIONS_MOST = 512, CHUNK = 64 * 1024 };

struct connection {
	char *p; /* of the answer, so far */
	size_t n, cap;
	size_t sent; /* of the request */
	int64_t start;
};

static struct {
	struct str request;
	struct connection connection[CONNECTIONS_MOST];
	struct pollfd poll[CONNECTIONS_MOST];
	nfds_t count, busy;
	int64_t until;
	int64_t *us; /* of each answer */
	size_t answers, room, refused, bytes;
} load;

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void *more(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		die("http_load");
	return p;
}

static int connected(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof at.sun_path) {
		errno = ENAMETOOLONG;
		die(path);
	}
	memcpy(at.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK))
		die(path);
	return fd;
}

/* True: not now. */
static bool waits(ssize_t got)
{
	if (got > 0)
		return false;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (!got)
		errno = ECONNRESET;
	die("http_load");
	return false;
}

static void send_some(size_t i)
{
	struct connection *c = &load.connection[i];
	struct str rest = str_skip(load.request, c->sent);
	ssize_t put = write(load.poll[i].fd, rest.p, rest.n);

	if (!waits(put))
		c->sent += (size_t)put;
	load.poll[i].events = c->sent < load.request.n ? POLLOUT : POLLIN;
}

static void ask(size_t i)
{
	struct connection *c = &load.connection[i];

	c->n = c->sent = 0;
	c->start = now_us();
	send_some(i);
}

/* How long the answer is with its head; 0: that is not known yet. */
static size_t length(const struct connection *c)
{
	static const char name[] = "\r\ncontent-length:";
	const char *end = strstr(c->p, "\r\n\r\n");

	for (const char *p = c->p; end && p < end; p++)
		if (!strncasecmp(p, name, sizeof name - 1))
			return (size_t)(end + 4 - c->p) + strtoul(p + sizeof name - 1, NULL, 10);
	if (end) {
		fputs("http_load: an answer without a length\n", stderr);
		exit(1);
	}
	return 0;
}

static void note(struct connection *c, int64_t now)
{
	if (load.answers == load.room) {
		load.room = load.room ? 2 * load.room : 1024;
		load.us = more(load.us, load.room * sizeof *load.us);
	}
	load.us[load.answers++] = now - c->start;
	load.refused += strncmp(c->p, "HTTP/1.1 200 ", 13) != 0;
	load.bytes = c->n;
}

static void read_some(size_t i)
{
	struct connection *c = &load.connection[i];
	size_t whole;
	ssize_t got;

	if (c->cap - c->n <= CHUNK)
		c->p = more(c->p, c->cap = 2 * c->cap + 2 * CHUNK);
	got = read(load.poll[i].fd, c->p + c->n, CHUNK);
	if (waits(got))
		return;
	c->n += (size_t)got;
	c->p[c->n] = '\0';
	whole = length(c);
	if (!whole || c->n < whole)
		return;
	note(c, now_us());
	if (now_us() < load.until) {
		ask(i);
		return;
	}
	load.poll[i].events = 0;
	load.busy--;
}

static void run(void)
{
	for (nfds_t i = 0; i < load.count; i++)
		ask(i);
	for (load.busy = load.count; load.busy;) {
		if (poll(load.poll, load.count, -1) < 0 && errno != EINTR)
			die("poll");
		for (nfds_t i = 0; i < load.count; i++)
			if (!load.poll[i].events || !load.poll[i].revents)
				continue;
			else if (load.poll[i].events & POLLOUT)
				send_some(i);
			else
				read_some(i);
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void report(struct arena *mem, int64_t took)
{
	struct json j = json_new(mem);
	size_t n = load.answers;

	qsort(load.us, n, sizeof *load.us, by_value);
	json_object(&j);
	json_put_int(&j, "answers", (int64_t)n);
	json_put_int(&j, "refused", (int64_t)load.refused);
	json_put_int(&j, "per_second", (int64_t)n * 1000000 / took);
	json_put_int(&j, "median_us", load.us[n / 2]);
	json_put_int(&j, "p99_us", load.us[n * 99 / 100]);
	json_put_int(&j, "bytes", (int64_t)load.bytes);
	json_end(&j);
	puts(json_text(&j).p);
}

static struct str request(struct arena *mem, const char *method, const char *path, const char *body)
{
	if (!body)
		return arena_fmt(mem, "%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path);
	return arena_fmt(mem,
			 "%s %s HTTP/1.1\r\nHost: localhost\r\n"
			 "Content-Type: application/json\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 method, path, strlen(body), body);
}

int main(int argc, char **argv)
{
	struct arena mem = { 0 };
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	int64_t start;

	if (argc < 6 || argc > 7 || !count || count > CONNECTIONS_MOST) {
		fputs("usage: http_load SOCKET CONNECTIONS SECONDS METHOD PATH [BODY]\n", stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	load.request = request(&mem, argv[4], argv[5], argv[6]);
	for (; load.count < count; load.count++)
		load.poll[load.count].fd = connected(argv[1]);
	start = now_us();
	load.until = start + (int64_t)(strtod(argv[3], NULL) * 1e6);
	run();
	report(&mem, now_us() - start);
	arena_release(&mem);
	return 0;
}
