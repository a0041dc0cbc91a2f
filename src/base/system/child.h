#ifndef BASE_SYSTEM_CHILD_H
#define BASE_SYSTEM_CHILD_H

#include "base/call.h"

/* A command of the user's that is given a time, and is asked to end before it is made to. */
struct child {
	const char *command;    /* for /bin/sh */
	const char *const *env; /* "NAME=value", ending with NULL: added to ours */
	struct str input;       /* what it reads */
	int64_t timeout_ms;     /* then it gets SIGTERM, and a moment later SIGKILL */
	int status;             /* its exit status; -1: a signal ended it */
	bool timed_out;
};

/*
 * Runs it to its end, in a group of its own. What it writes goes to standard error. When we are
 * told to stop meanwhile it is asked to end, too.
 */
enum err child_run(struct call *c, struct child *child);

/* From here on SIGINT and SIGTERM do not end us, but are asked for. */
void child_listen(void);
bool child_stopped(void);

#endif
