#include "surface/cli/stopping.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stopped;

static void stopping_note(int signal)
{
	(void)signal;
	stopped = 1;
}

static void stopping_wake(int signal)
{
	(void)signal; /* only needed to interrupt the sleep */
}

void stopping_hold(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction act = { .sa_handler = stopping_note };
	sigset_t held;

	sigemptyset(&act.sa_mask);
	sigemptyset(&held);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		sigaddset(&held, ends[i]);
		sigaction(ends[i], &act, NULL);
	}
	sigaddset(&held, SIGWINCH);
	act.sa_handler = stopping_wake;
	sigaction(SIGWINCH, &act, NULL);
	sigprocmask(SIG_BLOCK, &held, NULL);
}

bool stopping(void)
{
	return stopped;
}

void stopping_now(void)
{
	stopped = 1;
}
