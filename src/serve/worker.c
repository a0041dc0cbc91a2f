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
	WAITING = 1024,   /* maximum length of the queue */
	IDLE_S = 20,      /* an idle worker ends after this time */
	ANSWER = 64 << 20 /* maximum bytes of a reply */
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
	pthread_cond_t work;  /* signalled when a job is queued */
	pthread_cond_t freed; /* signalled when a worker has finished a job, or has ended */
	struct job *first, **last;
	size_t waiting, idle, count, most;
	bool closing;
	struct worker *worker[WORKERS_MOST];
};

/* --- the process --- */

/* Under the mutex: a child must not inherit the descriptors that another thread has just opened and
 * not yet marked close-on-exec. */
static bool worker_spawn(const char *const *argv, pid_t *pid, int *fd)
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
	if (!w->pid)
		return;
	close(w->fd);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&w->all->mutex);
	w->pid = 0;
	pthread_mutex_unlock(&w->all->mutex);
}

/* False if the reply has no line end, or is too long. */
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
		if (job->reply[job->n - 1] == '\n') { /* a reply is one line */
			job->n--;
			return true;
		}
	}
}

static bool worker_begin(struct worker *w, struct job *job)
{
	bool there;

	pthread_mutex_lock(&w->all->mutex);
	job->refused = w->all->closing;
	there = !job->refused && worker_spawn(w->all->argv, &w->pid, &w->fd);
	pthread_mutex_unlock(&w->all->mutex);
	return there;
}

/* A process that ended while it was idle has not seen the job, so a new one gets it. */
static bool worker_give(struct worker *w, struct job *job)
{
	if (w->pid && file_write(w->fd, job->line))
		return true;
	worker_stop(w);
	return worker_begin(w, job) && file_write(w->fd, job->line);
}

static void worker_serve(struct worker *w, struct job *job)
{
	if (!worker_give(w, job) || !worker_read_line(w->fd, job)) {
		free(job->reply);
		job->reply = NULL;
		worker_stop(w); /* the next job starts a new process */
	}
	if (job->mem && job->reply)
		job->tag = sha256_hex(job->mem, (struct str){ job->reply, job->n });
	MHD_resume_connection(job->connection);
}

/* --- the queue --- */

/* NULL if no job came for IDLE_S, or if the workers are closing. */
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
