/*
 * Git's protocol through the user's own ssh, with the agent, keys, known hosts, jump hosts and
 * settings that `git` would use. ssh must not prompt.
 */
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h>
#endif
#include <git2/sys/transport.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/signals.h"
#include "base/system/spawn.h"
#include "base/text/url.h"
#include "store/repo/repo_remote.h"

/* [user@]host, an optional port, and the path there. */
struct address {
	struct str host, port, path;
};

bool ssh_address(struct str url)
{
	const char *colon = memchr(url.p, ':', url.n), *slash = memchr(url.p, '/', url.n);

	if (str_starts(url, STR("ssh://")) || str_starts(url, STR("git+ssh://")) ||
	    str_starts(url, STR("ssh+git://")))
		return true;
	return colon && colon > url.p && (!slash || colon < slash) &&
	       !str_starts(str_skip(url, (size_t)(colon - url.p)), STR("://"));
}

/* Removes the brackets of an IPv6 address, "[host]". */
static struct str bare_host(struct arena *mem, struct str host)
{
	struct buf b = { .mem = mem };

	for (size_t i = 0; i < host.n; i++)
		if (host.p[i] != '[' && host.p[i] != ']')
			buf_char(&b, host.p[i]);
	return buf_str(&b);
}

static struct address parse_url(struct arena *mem, struct str rest)
{
	const char *slash = memchr(rest.p, '/', rest.n), *colon = NULL;
	size_t n = slash ? (size_t)(slash - rest.p) : rest.n;
	struct address a = { .host = str_head(rest, n), .path = str_skip(rest, n) };

	for (size_t i = n; i-- > 0 && rest.p[i] != ']';)
		if (rest.p[i] == ':') {
			colon = rest.p + i;
			break;
		}
	if (colon) {
		a.host = str_head(rest, (size_t)(colon - rest.p));
		a.port = str_skip(str_head(rest, n), a.host.n + 1);
	}
	if (str_starts(a.path, STR("/~")))
		a.path = str_skip(a.path, 1);
	a.host = bare_host(mem, a.host);
	return a;
}

static struct address repo_ssh_parse(struct arena *mem, struct str url)
{
	const char *scheme = strstr(arena_cstr(mem, url), "://");
	size_t colon = url_scp_host_length(url);

	if (scheme)
		return parse_url(mem, arena_copy(mem, str_of(scheme + 3)));
	return (struct address){ .host = bare_host(mem, str_head(url, colon)),
				 .path = str_skip(url, colon < url.n ? colon + 1 : url.n) };
}

/* Quotes a word for the remote shell. */
static struct str repo_ssh_quoted(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };

	buf_char(&b, '\'');
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\'' || text.p[i] == '!')
			buf_fmt(&b, "'\\%c'", text.p[i]);
		else
			buf_char(&b, text.p[i]);
	buf_char(&b, '\'');
	return buf_str(&b);
}

struct ssh {
	git_smart_subtransport parent;
	struct repo_ssh_stream {
		git_smart_subtransport_stream parent;
		int in, out; /* to ssh and from ssh */
	} stream;
	pid_t pid;
};

static FILE *complaints; /* standard error of ssh */

const char *ssh_complaint(void)
{
	static char text[1024];
	size_t n;

	if (!complaints)
		return "";
	rewind(complaints);
	n = fread(text, 1, sizeof text - 1, complaints);
	while (n && (unsigned char)text[n - 1] <= ' ')
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' || text[i] == '\r')
			text[i] = ' ';
	return text;
}

static int repo_ssh_say(const char *what)
{
	git_error_set_str(GIT_ERROR_SSH, what);
	return -1;
}

/* A name without a slash is searched in PATH; a path that the user has chosen is used unchanged. */
static const char *repo_ssh_program(struct arena *mem)
{
	const char *chosen = getenv("GIT_SSH"), *name = chosen && *chosen ? chosen : "ssh";
	struct str path;

	if (strchr(name, '/'))
		return name;
	path = spawn_find(mem, str_of(name));
	return path.p ? path.p : "/usr/bin/ssh";
}

/* Builds the command from `$GIT_SSH_COMMAND`, `$GIT_SSH`, or ssh. */
static void repo_ssh_command(struct arena *mem, const struct address *a, const char *service,
			     const char **argv)
{
	const char *line = getenv("GIT_SSH_COMMAND"), *program = getenv("GIT_SSH");
	const char *act = arena_fmt(mem, "%s %s", service, repo_ssh_quoted(mem, a->path).p).p;
	int n = 0;

	if (line && *line) {
		argv[n++] = "/bin/sh";
		argv[n++] = "-c";
		argv[n++] = arena_fmt(mem, "exec %s \"$@\"", line).p;
		argv[n++] = line;
	} else {
		argv[n++] = repo_ssh_program(mem);
	}
	if (!program || (line && *line)) {
		argv[n++] = "-oBatchMode=yes";
		argv[n++] = "-oConnectTimeout=20";
	}
	if (a->port.n) {
		argv[n++] = "-p";
		argv[n++] = arena_cstr(mem, a->port);
	}
	argv[n++] = arena_cstr(mem, a->host);
	argv[n++] = act;
	argv[n] = NULL;
}

/* A server may send messages without end, and ssh writes them to a file: it gets a limit. */
static void repo_ssh_limit(struct rlimit *before)
{
	enum { MESSAGES_MOST = 16 << 20 };
	struct rlimit less;

	getrlimit(RLIMIT_FSIZE, before);
	less = *before;
	if (less.rlim_cur == RLIM_INFINITY || less.rlim_cur > MESSAGES_MOST)
		less.rlim_cur = MESSAGES_MOST;
	setrlimit(RLIMIT_FSIZE, &less);
}

static int repo_ssh_start(struct arena *mem, struct ssh *s, const char *const *argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	struct rlimit before;
	sigset_t ours;
	int to[2] = { -1, -1 }, from[2] = { -1, -1 }, failed;

	if (pipe(to) || pipe(from))
		return repo_ssh_say("no pipe for ssh");
	for (int i = 0; i < 2; i++) {
		fcntl(to[i], F_SETFD, FD_CLOEXEC);
		fcntl(from[i], F_SETFD, FD_CLOEXEC);
	}
	if (complaints)
		fclose(complaints);
	complaints = tmpfile();
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, to[0], 0);
	posix_spawn_file_actions_adddup2(&files, from[1], 1);
	if (complaints)
		posix_spawn_file_actions_adddup2(&files, fileno(complaints), 2);
	signals_ignored(&ours);
	repo_ssh_limit(&before);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&how, &ours);
	failed = posix_spawn(&s->pid, argv[0], &files, &how, (char *const *)argv,
			     spawn_environment(mem));
	setrlimit(RLIMIT_FSIZE, &before);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	file_close(&to[0]);
	file_close(&from[1]);
	s->stream.in = to[1];
	s->stream.out = from[0];
	return failed ? repo_ssh_say("there is no program 'ssh'") : 0;
}

static int repo_ssh_read_some(git_smart_subtransport_stream *stream, char *p, size_t n, size_t *got)
{
	struct repo_ssh_stream *s = (struct repo_ssh_stream *)stream;
	ssize_t r = file_some(s->out, p, n);

	*got = r > 0 ? (size_t)r : 0;
	return r < 0 ? repo_ssh_say("ssh was cut off") : 0;
}

static int write_all(git_smart_subtransport_stream *stream, const char *p, size_t n)
{
	struct repo_ssh_stream *s = (struct repo_ssh_stream *)stream;

	while (n) {
		ssize_t put = write(s->in, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return repo_ssh_say("ssh was cut off");
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

static void repo_ssh_free_stream(git_smart_subtransport_stream *stream)
{
	(void)stream;
}

static int repo_ssh_stop(git_smart_subtransport *transport)
{
	struct ssh *s = (struct ssh *)transport;
	int status;

	file_close(&s->stream.in);
	file_close(&s->stream.out);
	if (s->pid > 0)
		while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
			;
	s->pid = 0;
	return 0;
}

/*
 * What is wrong with the address; NULL: ssh can be started. ssh takes no password, and other users
 * can see command lines, so a part that may be a password is never passed to ssh.
 */
static const char *repo_ssh_fault(struct str url, const struct address *a)
{
	static const char *const schemes[] = { "http", "https", "ssh", "git", "file", "ftp", NULL };
	bool scp = !str_has(url, STR("://"));

	for (const char *const *s = schemes; scp && *s; s++)
		if (str_is(a->host, *s) &&
		    (str_starts(a->path, STR("/")) || str_starts(a->path, STR("\\"))))
			return "after the ':' of a URL there are two slashes, as in https://";
	if (url_scp_has_password(scp ? url : a->host))
		return "it looks as if there were a password in it, and ssh takes none: write it "
		       "as USER@HOST:PATH or ssh://USER@HOST/PATH";
	for (size_t i = 0; i < a->port.n; i++)
		if (a->port.p[i] < '0' || a->port.p[i] > '9')
			return "its port is not a number";
	if (!a->host.n || a->host.p[0] == '-' || !a->path.n)
		return "this is not an address for ssh";
	return NULL;
}

static int repo_ssh_act(git_smart_subtransport_stream **out, git_smart_subtransport *transport,
			const char *url, git_smart_service_t service)
{
	struct ssh *s = (struct ssh *)transport;
	bool pull = service == GIT_SERVICE_UPLOADPACK_LS || service == GIT_SERVICE_UPLOADPACK;
	struct arena mem = { 0 };
	struct address a;
	const char *argv[16], *wrong;
	int code;

	*out = &s->stream.parent;
	if (service == GIT_SERVICE_UPLOADPACK || service == GIT_SERVICE_RECEIVEPACK)
		return 0; /* the stream goes on after the list of refs */
	repo_ssh_stop(transport);
	a = repo_ssh_parse(&mem, url_drop_password(&mem, str_of(url)));
	if ((wrong = repo_ssh_fault(str_of(url), &a))) {
		arena_release(&mem);
		return repo_ssh_say(wrong);
	}
	repo_ssh_command(&mem, &a, pull ? "git-upload-pack" : "git-receive-pack", argv);
	code = repo_ssh_start(&mem, s, argv);
	arena_release(&mem);
	return code;
}

static void free_ssh(git_smart_subtransport *transport)
{
	repo_ssh_stop(transport);
	free(transport);
}

static int repo_ssh_make(git_smart_subtransport **out, git_transport *owner, void *param)
{
	struct ssh *s = calloc(1, sizeof *s);

	(void)owner, (void)param;
	if (!s)
		abort();
	s->parent.action = repo_ssh_act;
	s->parent.close = repo_ssh_stop;
	s->parent.free = free_ssh;
	s->stream.parent.subtransport = &s->parent;
	s->stream.parent.read = repo_ssh_read_some;
	s->stream.parent.write = write_all;
	s->stream.parent.free = repo_ssh_free_stream;
	s->stream.in = s->stream.out = -1;
	*out = &s->parent;
	return 0;
}

int ssh_transport(struct git_transport **out, struct git_remote *owner, void *param)
{
	static git_smart_subtransport_definition ssh = { repo_ssh_make, 0, NULL };

	(void)param;
	return git_transport_smart(out, owner, &ssh);
}
