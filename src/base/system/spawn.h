#ifndef BASE_SYSTEM_SPAWN_H
#define BASE_SYSTEM_SPAWN_H

#include "base/call.h"

/* Other programs, started by their path. */

enum { SPAWN_INPUT = 4096 }; /* what every pipe has room for */

/* What to run, and what became of it. */
struct spawn {
	const char *const *argv; /* the path first, NULL last */
	int64_t timeout_ms;      /* then it is killed, with all it has started; 0: never */
	bool tied;               /* the same happens when this process ends, even if it is killed */
	/* for every line it writes to standard error, and every now and then, with an absent one;
	 * NULL: nobody listens */
	void (*heard)(void *arg, struct str line);
	void *arg;
	struct str input; /* what it reads, at most SPAWN_INPUT bytes; absent: nothing */
	struct str out;   /* what it wrote to standard output */
	int status;       /* its exit status; -1: it was killed */
	bool timed_out;
};

/* Runs it to its end. It has no terminal to ask questions on. */
enum err spawn_run(struct call *c, struct spawn *s);

/*
 * Starts a program that goes on by itself: in a session of its own, with no open file of ours,
 * and nobody waits for it. False: it could not be started.
 */
bool spawn_away(const char *const *argv);

/* A word of a shell script in a file: in quotes, byte by byte. */
struct str spawn_quoted(struct arena *mem, struct str text);

/*
 * A word of a command that a person or an agent is told to run: in quotes only where it needs them.
 * Every path, name or id in such a command goes through this. The word consists of characters that
 * are shown as they are, and every POSIX shell makes the same bytes from it: what cannot be shown
 * is written as "$(printf 'a\033b')".
 */
struct str spawn_word(struct arena *mem, struct str text);

/* This program's own file, after symbolic links; an absolute path, or absent if the system cannot
 * tell. */
struct str spawn_self(struct arena *mem);

/* The same for a caller that cannot go on without it: INTERNAL_ERROR. */
enum err spawn_need_self(struct call *c, struct str *out);

/*
 * The variable PATH may have relative entries, and empty ones, which mean the current folder:
 * that may be somebody else's repository, with programs in it. They are left out of every search
 * here, and of the environment of every program that is started here.
 */
struct str spawn_absolute(struct arena *mem, struct str list); /* a list without them */
char **spawn_environment(struct arena *mem);                   /* ours, with such a PATH */
struct str spawn_find(struct arena *mem, struct str name);     /* a program; absent: not there */

/* How a shell of this user finds a program of this installation: by its name alone if that is on
 * PATH, else by its path. Absent: neither. */
struct str spawn_command(struct arena *mem, struct str name);

/* A file of the same installation, such as "libexec/abacus-sync"; likewise. */
struct str spawn_beside(struct arena *mem, struct str name);

#endif
