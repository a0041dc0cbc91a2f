#include "base/system/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/system/signals.h"
#include "base/text/utf8.h"

extern char **environ;

struct pipes {
	int in[2], out[2], err[2]; /* [0] to read from, [1] to write to */
};

static bool open_pipe(int fd[2])
{
	return !pipe(fd) && fcntl(fd[0], F_SETFD, FD_CLOEXEC) != -1 &&
	       fcntl(fd[1], F_SETFD, FD_CLOEXEC) != -1;
}

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		file_close(&p->in[i]);
		file_close(&p->out[i]);
		file_close(&p->err[i]);
	}
}

/* Our end never blocks: the input is written while the output is read. */
static bool open_input(const struct spawn *s, int in[2])
{
	return !s->input.p || (open_pipe(in) && fcntl(in[1], F_SETFL, O_NONBLOCK) != -1);
}

/* Writes as much of the rest as the pipe has room for. Closes the pipe at the end of the input, and
 * when the program has closed its end. */
static void write_input(int *fd, struct str *rest)
{
	ssize_t n = rest->n ? write(*fd, rest->p, rest->n) : 0;

	if (n > 0)
		*rest = str_skip(*rest, (size_t)n);
	if (!rest->n || (n < 0 && errno != EAGAIN && errno != EINTR))
		file_close(fd);
}

/* --- search path --- */

/* Without PATH the system uses a default of its own, and an empty PATH means the current folder. */
static const char default_path[] = "PATH=/usr/bin:/bin";

static struct str path_variable(void)
{
	const char *value = getenv("PATH");

	return value ? str_of(value) : STR_NONE;
}

struct str spawn_absolute(struct arena *mem, struct str list)
{
	struct buf b = { .mem = mem };
	struct str dir;

	while (list.n && str_next(&list, ':', &dir)) {
		if (!str_starts(dir, STR("/")))
			continue;
		if (b.n)
			buf_char(&b, ':');
		buf_put(&b, dir);
	}
	return buf_str(&b);
}

char **spawn_environment(struct arena *mem)
{
	struct str before = path_variable(), path = spawn_absolute(mem, before);
	size_t n = 0, kept = 0;
	char **all;

	if (!before.p || (path.n && str_eq(before, path)))
		return environ;
	while (environ[n])
		n++;
	all = arena_alloc(mem, (n + 2) * sizeof *all);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "PATH=", 5) != 0)
			all[kept++] = environ[i];
	all[kept++] = path.n ? (char *)arena_fmt(mem, "PATH=" STR_FMT, STR_ARG(path)).p :
			       (char *)default_path;
	all[kept] = NULL;
	return all;
}

/* --- programs that are waited for --- */

/*
 * The process group of a program, so that the program and all its children can be killed. If the
 * program is tied to this process, a watcher process leads the group: it reads from a pipe whose
 * write end only this process has open, so it notices the end of this process even after SIGKILL,
 * and then kills the group.
 */
struct group {
	pid_t id;    /* 0: the program leads its own group */
	int alive;   /* our end of the pipe */
	int watched; /* the watcher's end */
};

/* Runs after fork(), so it calls only async-signal-safe functions. */
static void group_watch(const struct group *g)
{
	char nothing;

	setpgid(0, 0);
	dup2(g->watched, 0);
	platform_close_from(1);
	while (read(0, &nothing, 1) < 0 && errno == EINTR)
		;
	if (getpgrp() == getpid()) /* never kill the parent's group */
		kill(0, SIGKILL);
	_exit(0);
}

static bool group_open(struct group *g)
{
	int pipe[2] = { -1, -1 };
	bool piped = open_pipe(pipe);

	*g = (struct group){ .alive = pipe[1], .watched = pipe[0] };
	if (!piped || (g->id = fork()) < 0)
		return false;
	if (!g->id)
		group_watch(g);
	setpgid(g->id, g->id); /* in both processes, because either may run first */
	return true;
}

/* Kills only the watcher: processes that the program left running continue. */
static void group_close(struct group *g)
{
	if (g->id > 0) {
		kill(g->id, SIGKILL);
		while (waitpid(g->id, NULL, 0) < 0 && errno == EINTR)
			;
	}
	file_close(&g->alive);
	file_close(&g->watched);
}

/* Starts the program in the group, with no signal blocked and the default action for each. */
static int spawn_start(struct call *c, const char *const *argv, const struct pipes *p, pid_t group,
		       pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t all, none;
	int failed;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	if (p->in[0] < 0)
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&files, p->in[0], 0);
	posix_spawn_file_actions_adddup2(&files, p->out[1], 1);
	posix_spawn_file_actions_adddup2(&files, p->err[1], 2);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
					       POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&how, group);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setsigmask(&how, &none);
	failed = posix_spawn(pid, argv[0], &files, &how, (char *const *)argv,
			     spawn_environment(&c->mem));
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	return failed;
}

/* Appends the next bytes; false at the end. */
static bool spawn_take(int fd, struct buf *into)
{
	enum { CHUNK = 64 * 1024 };
	ssize_t got = file_some(fd, buf_room(into, CHUNK), CHUNK);

	into->n += got > 0 ? (size_t)got : 0;
	return got > 0;
}

static void tell_lines(struct spawn *s, struct buf *said, size_t *told)
{
	const char *end;

	while (*told < said->n && (end = memchr(said->p + *told, '\n', said->n - *told))) {
		struct str line = { said->p + *told, (size_t)(end - said->p) - *told };

		*told += line.n + 1;
		if (s->heard)
			s->heard(s->arg, line);
	}
}

enum { TICK_MS = 500 };

/*
 * Reads until both pipes are closed, there is too much to read, the timeout is over, or the client
 * that waits for the reply has disconnected.
 */
static void spawn_listen(struct call *c, struct spawn *s, struct pipes *p)
{
	struct buf out = { .mem = &c->mem }, said = { .mem = &c->mem };
	struct pollfd fds[] = { { p->out[0], POLLIN, 0 },
				{ p->err[0], POLLIN, 0 },
				{ c->listener ? STDOUT_FILENO : -1, 0, 0 },
				{ p->in[1], POLLOUT, 0 } };
	struct str rest = s->input;
	int64_t end = moment_ticks() + s->timeout_ms;
	size_t told = 0;

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		int64_t left = s->timeout_ms ? end - moment_ticks() : -1;

		if ((s->timeout_ms && left <= 0) || fds[2].revents) {
			s->timed_out = true;
			break;
		}
		if ((s->too_long = s->most && out.n + said.n > s->most))
			break;
		if (s->heard && (left < 0 || left > TICK_MS))
			left = TICK_MS;
		if (poll(fds, 4, (int)left) < 0 && errno != EINTR)
			break;
		if (fds[3].revents) {
			write_input(&p->in[1], &rest);
			fds[3].fd = p->in[1];
		}
		if (fds[0].revents && !spawn_take(fds[0].fd, &out))
			fds[0].fd = -1;
		if (fds[1].revents && !spawn_take(fds[1].fd, &said))
			fds[1].fd = -1;
		tell_lines(s, &said, &told);
		if (s->heard)
			s->heard(s->arg, STR_NONE);
	}
	s->out = buf_str(&out);
}

static enum err fail_unknown(struct call *c)
{
	call_fail(c, ERR_INTERNAL_ERROR, "the path of this program can't be determined");
	return call_step(c, "Run it by its absolute path, or mount /proc.");
}

/* A relative path would depend on the current folder, which may be another user's repository. */
static bool is_absolute(const char *path)
{
	return path[0] == '/';
}

/* Runs the program once all pipes are open. */
static enum err spawn_finish(struct call *c, struct spawn *s, struct pipes *p, struct group *g)
{
	int failed, status = 0;
	pid_t pid;

	if ((failed = spawn_start(c, s->argv, p, g->id, &pid))) {
		errno = failed;
		return file_fail(c, "start", str_of(s->argv[0]));
	}
	file_close(&p->in[0]);
	file_close(&p->out[1]);
	file_close(&p->err[1]);
	spawn_listen(c, s, p);
	if (s->timed_out || s->too_long)
		kill(g->id ? -g->id : -pid, SIGKILL);
	close_pipes(p);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		s->status = WEXITSTATUS(status);
	return ERR_OK;
}

enum err spawn_run(struct call *c, struct spawn *s)
{
	struct pipes p = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct group g = { .alive = -1, .watched = -1 };
	enum err e;

	s->status = -1;
	if (!is_absolute(s->argv[0]))
		return fail_unknown(c);
	if (open_pipe(p.out) && open_pipe(p.err) && open_input(s, p.in) &&
	    (!s->tied || group_open(&g)))
		e = spawn_finish(c, s, &p, &g);
	else
		e = file_fail(c, "start", str_of(s->argv[0]));
	close_pipes(&p);
	group_close(&g);
	return e;
}

/* Runs between fork() and exec(), so it calls only async-signal-safe functions. */
static void spawn_leave(const char *const *argv, char **env)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signals_restore();
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	platform_close_from(3);
	execve(argv[0], (char *const *)argv, env);
	_exit(127);
}

/* Restores what this process does about the signals of the terminal. */
struct spawn_signals {
	struct sigaction interrupt, quit;
};

static void signals_leave_to_child(struct spawn_signals *before)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &ignore, &before->interrupt);
	sigaction(SIGQUIT, &ignore, &before->quit);
}

static void signals_take_back(const struct spawn_signals *before)
{
	sigaction(SIGINT, &before->interrupt, NULL);
	sigaction(SIGQUIT, &before->quit, NULL);
}

enum err spawn_attended(struct call *c, const char *const *argv, int *status)
{
	struct spawn_signals before;
	char **env = spawn_environment(&c->mem);
	int ended = 0;
	pid_t pid;

	signals_leave_to_child(&before);
	pid = is_absolute(argv[0]) ? fork() : -1;
	if (!pid) {
		signals_take_back(&before);
		signals_restore();
		platform_close_from(3);
		execve(argv[0], (char *const *)argv, env);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &ended, 0) < 0 && errno == EINTR)
		;
	signals_take_back(&before);
	if (pid < 0)
		return file_fail(c, "run", str_of(argv[0]));
	*status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
	return ERR_OK;
}

bool spawn_away(const char *const *argv)
{
	struct arena mem = { 0 };
	char **env;
	pid_t pid;
	int status;

	if (!is_absolute(argv[0]))
		return false;
	env = spawn_environment(&mem);
	pid = fork();
	if (!pid) {
		setsid();
		if (!fork())
			spawn_leave(argv, env);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	arena_release(&mem);
	return pid > 0;
}

struct str spawn_self(struct arena *mem)
{
	char path[4096];

	if (!platform_self(path, sizeof path))
		return STR_NONE;
	return path_real(mem, arena_copy(mem, str_of(path)));
}

enum err spawn_need_self(struct call *c, struct str *out)
{
	*out = spawn_self(&c->mem);
	return out->p ? ERR_OK : fail_unknown(c);
}

struct str spawn_beside(struct arena *mem, struct str name)
{
	struct str self = spawn_self(mem);

	if (!self.p)
		return self;
	return path_join(mem, path_parent(path_parent(self)), name);
}

static bool spawn_is_program(struct arena *mem, struct str path)
{
	return !file_is_dir(mem, path) && !access(arena_cstr(mem, path), X_OK);
}

struct str spawn_find(struct arena *mem, struct str name)
{
	struct str list = spawn_absolute(mem, path_variable()), dir, path;

	if (!list.n)
		list = str_of(default_path + sizeof "PATH");
	while (list.n && str_next(&list, ':', &dir))
		if (spawn_is_program(mem, path = path_join(mem, dir, name)))
			return path;
	return STR_NONE;
}

struct str spawn_command(struct arena *mem, struct str name)
{
	struct str self = spawn_self(mem), beside;

	if (spawn_find(mem, name).p)
		return name;
	if (!self.p)
		return self;
	beside = path_join(mem, path_parent(self), name);
	return spawn_is_program(mem, beside) ? beside : STR_NONE;
}

struct str spawn_quoted(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };

	buf_char(&b, '\'');
	for (size_t i = 0; i < text.n; i++)
		buf_put(&b, text.p[i] == '\'' ? STR("'\\''") : (struct str){ text.p + i, 1 });
	buf_char(&b, '\'');
	return buf_str(&b);
}

/* Length of the first character of `text` if it is safe to show, else 0. */
static size_t spawn_shown(struct str text, uint32_t *cp)
{
	size_t n = utf8_decode(text, cp);

	return n && !utf8_is_unsafe(*cp) ? n : 0;
}

/* Does every shell take this character literally, without quotes? */
static bool spawn_plain(uint32_t cp)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+,";

	return cp && cp < 0x80 && strchr(plain, (int)cp);
}

/*
 * Unsafe bytes are written in octal for printf, because not every sh has $'...'. "!" is octal too,
 * since an interactive shell expands it inside double quotes, and so is a leading "-", which printf
 * would take as an option. The shell strips trailing newlines from a substitution, so "/." is
 * appended to a path that ends with one: for a folder the path stays the same, and for a file the
 * shell finds nothing instead of another file.
 */
static struct str spawn_printed(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };
	bool first = true, blank = false;
	uint32_t cp;

	buf_put(&b, STR("\"$(printf '"));
	for (struct str rest = text; rest.n; first = false) {
		size_t n = spawn_shown(rest, &cp);

		if (n && (spawn_plain(cp) || (!blank && (cp >= 0x80 || cp == ' '))) && cp != '%' &&
		    !(first && cp == '-')) {
			blank = utf8_is_blank(cp);
			buf_put(&b, str_head(rest, n));
			rest = str_skip(rest, n);
			continue;
		}
		buf_fmt(&b, "\\%03o", (unsigned)(unsigned char)rest.p[0]);
		rest = str_skip(rest, 1);
	}
	buf_put(&b, str_ends(text, STR("\n")) ? STR("/.')\"") : STR("')\""));
	return buf_str(&b);
}

struct str spawn_word(struct arena *mem, struct str text)
{
	bool plain = text.n > 0;
	uint32_t cp;
	size_t n;

	if (utf8_line(mem, text).p != text.p)
		return spawn_printed(mem, text);

	for (struct str rest = text; rest.n; rest = str_skip(rest, n)) {
		if (!(n = spawn_shown(rest, &cp)))
			return spawn_printed(mem, text);
		plain = plain && spawn_plain(cp);
	}
	return plain ? text : spawn_quoted(mem, text);
}
