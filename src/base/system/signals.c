#include "base/system/signals.h"

#include <stddef.h>

static const int ignored[] = { SIGPIPE, SIGXFSZ };

static void set_all(void (*handler)(int))
{
	struct sigaction act = { .sa_handler = handler };

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		sigaction(ignored[i], &act, NULL);
}

void signals_ignore(void)
{
	set_all(SIG_IGN);
}

void signals_restore(void)
{
	set_all(SIG_DFL);
}

void signals_ignored(sigset_t *out)
{
	sigemptyset(out);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		sigaddset(out, ignored[i]);
}
