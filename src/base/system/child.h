#ifndef BASE_SYSTEM_CHILD_H
#define BASE_SYSTEM_CHILD_H

#include "base/buf.h"
#include "base/call.h"

/* A shell command configured by the user. After its timeout it gets SIGTERM first, then SIGKILL. */
struct child {
	const char *command;    /* for /bin/sh */
	const char *const *env; /* "NAME=value", NULL-terminated; added to our own */
	struct str input;       /* the command's standard input */
	int64_t timeout_ms;     /* then it gets SIGTERM, and a moment later SIGKILL */
	int status;             /* the command's exit status; -1: killed by a signal */
	bool timed_out;
	struct buf *tail; /* gets the end of the command's output, which still goes to our standard
			   * error; or NULL */
};
enum { CHILD_TAIL = 4096 }; /* bytes */

/*
 * Runs the command in its own process group until it ends. Its standard output goes to our standard
 * error. If this process receives SIGINT or SIGTERM meanwhile, the command is asked to end, too.
 */
enum err child_run(struct call *c, struct child *child);

/*
 * Starts a program, which is searched in PATH, and does not wait for it. It has the input as its
 * standard input, and our standard output and error. The caller waits for it with waitpid().
 */
enum err child_start(struct call *c, const char *const *argv, const char *const *env,
		     struct str input, struct str dir, int *pid);

/*
 * Catches SIGINT and SIGTERM from now on: instead of ending the process they make child_stopped()
 * return true.
 */
void child_listen(void);
bool child_stopped(void);

#endif
