#ifndef BASE_SYSTEM_SIGNALS_H
#define BASE_SYSTEM_SIGNALS_H

#include <signal.h>

/*
 * A write that cannot be done has to fail where it is made, so that the error names the file.
 * Without this, SIGPIPE (the reader has gone) and SIGXFSZ (the file would become larger than
 * RLIMIT_FSIZE allows) kill the process. Every main() begins with it.
 */
void signals_ignore(void);

/* For a new process between fork() and exec(): the program that it becomes gets the default
 * dispositions, as if we had not changed any. */
void signals_restore(void);

/* The same for posix_spawn(): which signals to set to their default. */
void signals_ignored(sigset_t *out);

#endif
