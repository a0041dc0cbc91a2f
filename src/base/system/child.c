#include "base/system/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/signals.h"
#include "base/system/spawn.h"

extern char **environ;

enum { LOOK_MS = 20, GRACE_MS = 5000 };

static volatile sig_atomic_t stopped;

static void child_stop(int signal)
{
	(void)signal;
	stopped = 1;
}

void child_listen(void)
{
	struct sigaction act = { .sa_handler = child_stop };

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

bool child_stopped(void)
{
	return stopped;
}

/* Runs between fork() and exec(), so it calls only async-signal-safe functions. */
static void child_become(const struct child *child, int in, int out)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };

	setpgid(0, 0);
	sigemptyset(&plain.sa_mask);
	sigaction(SIGINT, &plain, NULL);
	sigaction(SIGTERM, &plain, NULL);
	signals_restore();
	dup2(in, STDIN_FILENO);
	if (out >= 0)
		dup2(out, STDERR_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", child->command, (char *)NULL);
	_exit(127);
}

/* The input goes into a temporary file, because it may be longer than a pipe's buffer. */
static int input_file(struct str text)
{
	int fd = file_unnamed();

	if (fd >= 0 && (!file_write(fd, text) || lseek(fd, 0, SEEK_SET) < 0))
		file_close(&fd);
	return fd;
}

/* --- the output --- */

/* Keeps only the last bytes of the output. */
static void child_keep(struct buf *tail, const char *p, size_t n)
{
	size_t over;

	buf_put(tail, (struct str){ p, n });
	over = tail->n > CHILD_TAIL ? tail->n - CHILD_TAIL : 0;
	memmove(tail->p, tail->p + over, tail->n - over);
	tail->n -= over;
}

/*
 * Copies what the command has printed to our own output. Waits for output up to `wait_ms`; without
 * a pipe, just sleeps.
 */
static void child_pass(struct child *child, int *out, int wait_ms)
{
	struct pollfd ready = { .fd = *out, .events = POLLIN };
	char bytes[CHILD_TAIL];
	ssize_t n;

	if (*out < 0) {
		moment_sleep(wait_ms);
		return;
	}
	while (poll(&ready, 1, wait_ms) > 0) {
		if ((n = read(*out, bytes, sizeof bytes)) <= 0) {
			file_close(out);
			return;
		}
		file_write(STDERR_FILENO, (struct str){ bytes, (size_t)n });
		child_keep(child->tail, bytes, (size_t)n);
		wait_ms = 0;
	}
}

/*
 * Waits for the child. After its timeout the child gets SIGTERM, then SIGKILL. A stop signal that
 * arrived before the child was started (`late`) does not interrupt the child.
 */
static int child_await(struct child *child, pid_t pid, bool late, int *out)
{
	int64_t end = moment_ticks() + child->timeout_ms, last = 0;
	int status = 0;

	for (;;) {
		int64_t now = moment_ticks();
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			return status;
		if (!last && (now >= end || (stopped && !late))) {
			child->timed_out = now >= end;
			kill(-pid, SIGTERM);
			last = now + GRACE_MS;
		} else if (last && now >= last) {
			kill(-pid, SIGKILL);
			last = INT64_MAX;
		}
		child_pass(child, out, LOOK_MS);
	}
}

static bool child_pipe(int *out, int *mouth)
{
	int fds[2];

	if (pipe(fds))
		return false;
	*out = fds[0];
	*mouth = fds[1];
	fcntl(*out, F_SETFD, FD_CLOEXEC);
	fcntl(*mouth, F_SETFD, FD_CLOEXEC);
	return true;
}

enum err child_run(struct call *c, struct child *child)
{
	AUTO_FD in = input_file(child->input);
	AUTO_FD out = -1, mouth = -1;
	char **clean;
	bool late;
	int status;
	pid_t pid;

	child->status = -1;
	child->timed_out = false;
	if (in < 0)
		return file_fail(c, "write", STR("a temporary file"));
	if (child->tail && !child_pipe(&out, &mouth))
		return file_fail(c, "create", STR("a pipe"));
	for (const char *const *e = child->env; e && *e; e++)
		putenv((char *)*e);
	clean = spawn_environment(&c->mem);
	late = stopped; /* before fork(): the child may run for a while before this process does */
	pid = fork();
	if (pid < 0)
		return file_fail(c, "start", str_of(child->command));
	if (!pid) {
		environ = clean;
		child_become(child, in, mouth);
	}
	setpgid(pid, pid); /* in both processes, because either may run first */
	file_close(&mouth);
	status = child_await(child, pid, late, &out);
	if (out >= 0)
		child_pass(child, &out, 0);
	kill(-pid, SIGKILL); /* kills background processes that the command left in its group */
	if (WIFEXITED(status))
		child->status = WEXITSTATUS(status);
	return ERR_OK;
}

/* Runs between fork() and exec(), in a process with one thread. */
static void child_turn_into(const char *const *argv, const char *const *env, int in,
			    const char *dir)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&plain.sa_mask);
	sigemptyset(&none);
	for (int s = 1; s < 32; s++)
		if (s == SIGINT || s == SIGTERM || s == SIGHUP || s == SIGQUIT || s == SIGWINCH)
			sigaction(s, &plain, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signals_restore();
	setpgid(0, 0); /* Ctrl-C ends the runner, which lets its commands finish */
	for (; *env; env++)
		putenv((char *)*env);
	dup2(in, STDIN_FILENO);
	if (!chdir(dir))
		execvp(argv[0], (char *const *)argv);
	_exit(127);
}

enum err child_start(struct call *c, const char *const *argv, const char *const *env,
		     struct str input, struct str dir, int *pid)
{
	AUTO_FD in = input_file(input);
	char **clean = spawn_environment(&c->mem);
	const char *where = arena_cstr(&c->mem, dir);

	if (in < 0)
		return file_fail(c, "write", STR("a temporary file"));
	if ((*pid = fork()) < 0)
		return file_fail(c, "start", str_of(argv[0]));
	if (!*pid) {
		environ = clean;
		child_turn_into(argv, env, in, where);
	}
	return ERR_OK;
}
