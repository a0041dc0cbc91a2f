#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/system/file.h"
#include "serve/serve.h"

extern char **environ;

enum {
	WAITING = 1024,   /* maximum length of the queue */
	TOGETHER = 64,    /* maximum number of jobs that a process gets at once */
	LINES = 64 << 10, /* maximum bytes of those, so that writing them never blocks */
	IDLE_S = 20,      /* an idle worker ends after this time */
	ANSWER = 64 << 20 /* maximum bytes of a reply */
};

struct worker {
	struct workers *all;
	pid_t pid; /* 0: no process */
	int fd;
	char *p; /* replies that are not given to their jobs yet */
	size_t n, room;
	bool busy, refused;
	int reason; /* errno, if the process could not be started; or 0 */
};

struct workers {
	const char *const *argv;
	pthread_mutex_t mutex;
	pthread_cond_t work;  /* signalled when a job is queued */
	pthread_cond_t freed; /* signalled when a worker has finished a job, or has ended */
	struct job *first, **last;
	size_t waiting, idle, count, most;
	bool together; /* a process gets all jobs that wait */
	bool closing;
	struct worker *worker[WORKERS_MOST];
};

/* --- the process --- */

/*
 * False: errno says why. Under the mutex: a child must not inherit the descriptors that another
 * thread has just opened and not yet marked close-on-exec.
 */
static bool worker_spawn(const char *const *argv, pid_t *pid, int *fd)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t all, none;
	int pair[2], room = 4 * LINES, failed;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return false;
	fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	fcntl(pair[1], F_SETFD, FD_CLOEXEC);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, pair[1], 0);
	posix_spawn_file_actions_adddup2(&files, pair[1], 1);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
					       POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&how, 0); /* Ctrl-C at the terminal must not reach it */
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setsigmask(&how, &none);
	failed = posix_spawn(pid, argv[0], &files, &how, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	close(pair[1]);
	if (failed) {
		close(pair[0]);
		*pid = 0;
		errno = failed;
		return false;
	}
	*fd = pair[0];
	return true;
}

bool workers_start_tied(struct workers *all, const char *const *argv, pid_t *pid, int *fd)
{
	bool there;

	pthread_mutex_lock(&all->mutex);
	there = worker_spawn(argv, pid, fd);
	pthread_mutex_unlock(&all->mutex);
	return there;
}

/* The process ends at the end of its input. */
static void worker_stop(struct worker *w)
{
	free(w->p);
	w->p = NULL;
	w->n = w->room = 0;
	if (!w->pid)
		return;
	close(w->fd);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&w->all->mutex);
	w->pid = 0;
	pthread_mutex_unlock(&w->all->mutex);
}

/* Cuts the first line off what was read, for the job; false: it has no end yet. */
static bool worker_cut_line(struct worker *w, struct job *job)
{
	size_t searched = job->n;
	char *end = w->n > searched ? memchr(w->p + searched, '\n', w->n - searched) : NULL, *more;
	size_t rest;

	job->n = end ? (size_t)(end - w->p) : w->n;
	if (!end)
		return false;
	job->reply = w->p;
	rest = w->n - job->n - 1;
	more = rest ? malloc(rest) : NULL;
	if (rest && !more)
		abort();
	if (rest)
		memcpy(more, end + 1, rest);
	w->p = more;
	w->n = w->room = rest;
	return true;
}

/* False if the reply has no line end, or is too long. */
static bool worker_read_line(struct worker *w, struct job *job)
{
	enum { CHUNK = 64 * 1024 };

	job->n = 0;
	while (!worker_cut_line(w, job)) {
		ssize_t got;

		if (w->room - w->n < CHUNK) {
			char *more = realloc(w->p, w->room = w->room * 2 + CHUNK);

			if (!more)
				return false;
			w->p = more;
		}
		got = file_some(w->fd, w->p + w->n, w->room - w->n);
		if (got <= 0 || w->n > ANSWER)
			return false;
		w->n += (size_t)got;
	}
	return true;
}

static bool worker_begin(struct worker *w)
{
	bool there;

	pthread_mutex_lock(&w->all->mutex);
	w->refused = w->all->closing;
	there = !w->refused && worker_spawn(w->all->argv, &w->pid, &w->fd);
	w->reason = there || w->refused ? 0 : errno;
	pthread_mutex_unlock(&w->all->mutex);
	return there;
}

/* The lines of all jobs, with one write: the process sees at once that they belong together. */
static bool worker_write(struct worker *w, const struct job *jobs)
{
	struct arena mem = { 0 };
	struct buf lines = { .mem = &mem };
	bool written;

	if (!jobs->next)
		return file_write(w->fd, jobs->line);
	for (; jobs; jobs = jobs->next)
		buf_put(&lines, jobs->line);
	written = file_write(w->fd, buf_str(&lines));
	arena_release(&mem);
	return written;
}

/* A process that ended while it was idle has not seen the jobs, so a new one gets them. */
static bool worker_give(struct worker *w, const struct job *jobs)
{
	if (w->pid && worker_write(w, jobs))
		return true;
	worker_stop(w);
	return worker_begin(w) && worker_write(w, jobs);
}

static void worker_serve(struct worker *w, struct job *jobs)
{
	bool well = worker_give(w, jobs);

	for (struct job *job = jobs, *next; job; job = next) {
		next = job->next; /* a job that is resumed may end at once */
		well = well && worker_read_line(w, job);
		job->refused = w->refused;
		job->reason = w->reason;
		if (job->mem && job->reply)
			job->tag = sha256_hex(job->mem, (struct str){ job->reply, job->n });
		MHD_resume_connection(job->connection);
	}
	if (!well)
		worker_stop(w); /* the next job starts a new process */
}

/* --- the queue --- */

/* Takes the first jobs off the queue. */
static struct job *workers_next(struct workers *all)
{
	struct job *first = all->first, *last = first;
	size_t count = 1, bytes = first->line.n;

	while (all->together && last->next && count < TOGETHER &&
	       bytes + last->next->line.n <= LINES) {
		last = last->next;
		bytes += last->line.n;
		count++;
	}
	all->first = last->next;
	if (!all->first)
		all->last = &all->first;
	all->waiting -= count;
	last->next = NULL;
	return first;
}

/* NULL if no job came for IDLE_S, or if the workers are closing. */
static struct job *worker_take(struct workers *all)
{
	struct timespec until;
	int late = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += IDLE_S;
	all->idle++;
	while (!all->first && !all->closing && !late)
		late = pthread_cond_timedwait(&all->work, &all->mutex, &until);
	all->idle--;
	return all->first ? workers_next(all) : NULL;
}

static void *worker_loop(void *arg)
{
	struct worker *w = arg;
	struct workers *all = w->all;
	struct job *job;

	pthread_mutex_lock(&all->mutex);
	while ((job = worker_take(all))) {
		w->busy = true;
		pthread_mutex_unlock(&all->mutex);
		worker_serve(w, job);
		pthread_mutex_lock(&all->mutex);
		w->busy = false;
		pthread_cond_broadcast(&all->freed);
	}
	pthread_mutex_unlock(&all->mutex);
	worker_stop(w);
	pthread_mutex_lock(&all->mutex);
	for (int i = 0; i < WORKERS_MOST; i++)
		if (all->worker[i] == w)
			all->worker[i] = NULL;
	all->count--;
	pthread_cond_broadcast(&all->freed);
	pthread_mutex_unlock(&all->mutex);
	free(w);
	return NULL;
}

static bool worker_launch(struct workers *all)
{
	enum { STACK = 256 * 1024 };
	struct worker *w = calloc(1, sizeof *w);
	pthread_attr_t attr;
	pthread_t thread;
	int i = 0;
	bool well;

	if (!w)
		return false;
	w->all = all;
	while (all->worker[i])
		i++;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	all->worker[i] = w;
	all->count++;
	well = !pthread_create(&thread, &attr, worker_loop, w);
	pthread_attr_destroy(&attr);
	if (!well) {
		all->worker[i] = NULL;
		all->count--;
		free(w);
	}
	return well;
}

bool workers_put(struct workers *all, struct job *job)
{
	bool taken;

	pthread_mutex_lock(&all->mutex);
	if (!all->closing && all->waiting >= all->idle && all->count < all->most)
		worker_launch(all);
	taken = all->waiting < WAITING && all->count && !all->closing;
	if (taken) {
		job->next = NULL;
		*all->last = job;
		all->last = &job->next;
		all->waiting++;
		pthread_cond_signal(&all->work);
	}
	pthread_mutex_unlock(&all->mutex);
	return taken;
}

struct workers *workers_open(const char *const *argv, size_t most)
{
	struct workers *all = calloc(1, sizeof *all);

	if (!all)
		abort();
	all->argv = argv;
	all->most = most;
	all->last = &all->first;
	pthread_mutex_init(&all->mutex, NULL);
	pthread_cond_init(&all->work, NULL);
	pthread_cond_init(&all->freed, NULL);
	return all;
}

struct workers *workers_open_grouped(const char *const *argv)
{
	struct workers *all = workers_open(argv, 1);

	all->together = true;
	return all;
}

static bool workers_busy(const struct workers *all)
{
	for (int i = 0; i < WORKERS_MOST; i++)
		if (all->worker[i] && all->worker[i]->busy)
			return true;
	return all->first;
}

/* The jobs that no worker has begun. */
static void workers_refuse_jobs(struct workers *all)
{
	struct job *job = all->first, *next;

	all->first = NULL;
	all->last = &all->first;
	all->waiting = 0;
	for (; job; job = next) {
		next = job->next;
		job->refused = true;
		MHD_resume_connection(job->connection);
	}
}

/* Killing a process is safe at any point; only the client gets no reply. */
void workers_close(struct workers *all, int64_t ms)
{
	struct timespec until;
	int late = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&all->mutex);
	while (workers_busy(all) && !late)
		late = pthread_cond_timedwait(&all->freed, &all->mutex, &until);
	all->closing = true;
	workers_refuse_jobs(all);
	for (int i = 0; i < WORKERS_MOST; i++)
		if (all->worker[i] && all->worker[i]->busy && all->worker[i]->pid)
			kill(all->worker[i]->pid, SIGKILL);
	pthread_cond_broadcast(&all->work);
	while (all->count)
		pthread_cond_wait(&all->freed, &all->mutex);
	pthread_mutex_unlock(&all->mutex);
}
