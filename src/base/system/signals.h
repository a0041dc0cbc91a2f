#ifndef BASE_SYSTEM_SIGNALS_H
#define BASE_SYSTEM_SIGNALS_H

#include <signal.h>

/*
 * Makes failed writes return an error, so that the error message can name the file. By default
 * SIGPIPE (the reader is gone) and SIGXFSZ (the file would exceed RLIMIT_FSIZE) kill the process.
 * Every main() calls this first.
 */
void signals_ignore(void);

/*
 * For a new process between fork() and exec(): restores the default dispositions for the program
 * that it executes.
 */
void signals_restore(void);

/* For posix_spawn(): the signals to reset to their default. */
void signals_ignored(sigset_t *out);

#endif
