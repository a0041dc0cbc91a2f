#ifndef SURFACE_CLI_STOPPING_H
#define SURFACE_CLI_STOPPING_H

#include <stdbool.h>

/*
 * For commands that run until they are interrupted. From stopping_hold() on, Ctrl-C, SIGTERM,
 * SIGHUP and SIGQUIT are delivered only while the command sleeps (watch_wait()), and stopping() is
 * true afterwards, so that the command can end in good order. A resized window ends the sleep, too.
 */
void stopping_hold(void);
bool stopping(void);
void stopping_now(void); /* as if a signal had arrived */

#endif
