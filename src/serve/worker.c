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

#include "base/hash.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "serve/serve.h"

extern char **environ;

enum {
	WAITING = 1024,   /* jobs that may wait */
	IDLE_S = 20,      /* after which an idle worker ends */
	ANSWER = 64 << 20 /* the longest answer */
};

struct worker {
	struct workers *all;
	pid_t pid; /* 0: no process */
	int fd;
	bool busy;
};

struct workers {
	const char *const *argv;
	pthread_mutex_t mutex;
	pthread_cond_t work, less; /* there is a job; a worker is free, or gone */
	struct job *first, **last;
	size_t waiting, idle, count, most;
	bool closing;
	struct worker *worker[WORKERS_MOST];
};

/* --- the process --- */

/* One at a time: what one thread has opened must not be inherited by another's child. */
static bool worker_start(struct worker *d)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t all, none;
	int pair[2];
	bool failed;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return false;
	fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	fcntl(pair[1], F_SETFD, FD_CLOEXEC);
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, pair[1], 0);
	posix_spawn_file_actions_adddup2(&files, pair[1], 1);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
					       POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&how, 0); /* what is typed at the terminal is for us */
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setsigmask(&how, &none);
	failed = posix_spawn(&d->pid, d->all->argv[0], &files, &how, (char *const *)d->all->argv,
			     environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	close(pair[1]);
	if (failed) {
		close(pair[0]);
		d->pid = 0;
		return false;
	}
	d->fd = pair[0];
	return true;
}

/* It sees the end of its input, and ends. */
static void let_go(struct worker *d)
{
	if (!d->pid)
		return;
	close(d->fd);
	while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&d->all->mutex);
	d->pid = 0;
	pthread_mutex_unlock(&d->all->mutex);
}

/* Up to the end of the line; false: it has none. */
static bool worker_read_line(int fd, struct job *job)
{
	enum { CHUNK = 64 * 1024 };
	size_t cap = 0;

	for (;;) {
		ssize_t got;

		if (cap - job->n < CHUNK) {
			char *more = realloc(job->reply, cap = cap * 2 + CHUNK);

			if (!more)
				return false;
			job->reply = more;
		}
		got = file_some(fd, job->reply + job->n, cap - job->n);
		if (got <= 0 || job->n > ANSWER)
			return false;
		job->n += (size_t)got;
		if (job->reply[job->n - 1] == '\n') { /* one answer, one line */
			job->n--;
			return true;
		}
	}
}

static bool worker_begin(struct worker *d, struct job *job)
{
	bool there;

	pthread_mutex_lock(&d->all->mutex);
	job->refused = d->all->closing;
	there = !job->refused && worker_start(d);
	pthread_mutex_unlock(&d->all->mutex);
	return there;
}

/* One that ended while it had nothing to do has not seen the job. */
static bool worker_give(struct worker *d, struct job *job)
{
	if (d->pid && file_write(d->fd, job->line))
		return true;
	let_go(d);
	return worker_begin(d, job) && file_write(d->fd, job->line);
}

static void worker_serve(struct worker *d, struct job *job)
{
	if (!worker_give(d, job) || !worker_read_line(d->fd, job)) {
		free(job->reply);
		job->reply = NULL;
		let_go(d); /* the next job finds a new one */
	}
	if (job->mem && job->reply)
		job->tag = sha256_hex(job->mem, (struct str){ job->reply, job->n });
	MHD_resume_connection(job->connection);
}

/* --- the queue --- */

/* NULL: there has been nothing to do for long, or no more will come. */
static struct job *worker_take(struct workers *all)
{
	struct timespec until;
	struct job *job;
	int late = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += IDLE_S;
	all->idle++;
	while (!all->first && !all->closing && !late)
		late = pthread_cond_timedwait(&all->work, &all->mutex, &until);
	all->idle--;
	job = all->first;
	if (!job)
		return NULL;
	all->first = job->next;
	if (!all->first)
		all->last = &all->first;
	all->waiting--;
	return job;
}

static void *worker_loop(void *arg)
{
	struct worker *d = arg;
	struct workers *all = d->all;
	struct job *job;

	pthread_mutex_lock(&all->mutex);
	while ((job = worker_take(all))) {
		d->busy = true;
		pthread_mutex_unlock(&all->mutex);
		worker_serve(d, job);
		pthread_mutex_lock(&all->mutex);
		d->busy = false;
		pthread_cond_broadcast(&all->less);
	}
	pthread_mutex_unlock(&all->mutex);
	let_go(d);
	pthread_mutex_lock(&all->mutex);
	for (int i = 0; i < WORKERS_MOST; i++)
		if (all->worker[i] == d)
			all->worker[i] = NULL;
	all->count--;
	pthread_cond_broadcast(&all->less);
	pthread_mutex_unlock(&all->mutex);
	free(d);
	return NULL;
}

static bool worker_launch(struct workers *all)
{
	enum { STACK = 256 * 1024 };
	struct worker *d = calloc(1, sizeof *d);
	pthread_attr_t attr;
	pthread_t thread;
	int i = 0;
	bool well;

	if (!d)
		return false;
	d->all = all;
	while (all->worker[i])
		i++;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	all->worker[i] = d;
	all->count++;
	well = !pthread_create(&thread, &attr, worker_loop, d);
	pthread_attr_destroy(&attr);
	if (!well) {
		all->worker[i] = NULL;
		all->count--;
		free(d);
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
	pthread_cond_init(&all->less, NULL);
	return all;
}

static bool any_busy(const struct workers *all)
{
	for (int i = 0; i < WORKERS_MOST; i++)
		if (all->worker[i] && all->worker[i]->busy)
			return true;
	return all->first;
}

/* Whatever nobody has begun. */
static void refuse_all(struct workers *all)
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

/* Killing is safe at any point; only the client gets no answer. */
void workers_close(struct workers *all, int64_t ms)
{
	struct timespec until;
	int late = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&all->mutex);
	while (any_busy(all) && !late)
		late = pthread_cond_timedwait(&all->less, &all->mutex, &until);
	all->closing = true;
	refuse_all(all);
	for (int i = 0; i < WORKERS_MOST; i++)
		if (all->worker[i] && all->worker[i]->busy && all->worker[i]->pid)
			kill(all->worker[i]->pid, SIGKILL);
	pthread_cond_broadcast(&all->work);
	while (all->count)
		pthread_cond_wait(&all->less, &all->mutex);
	pthread_mutex_unlock(&all->mutex);
}
