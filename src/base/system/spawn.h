#ifndef BASE_SYSTEM_SPAWN_H
#define BASE_SYSTEM_SPAWN_H

#include "base/call.h"

/* Runs other programs, which are named by absolute path. */

/* What to run, and the result. */
struct spawn {
	const char *const *argv; /* an absolute path first, NULL last */
	int64_t timeout_ms; /* then the program and all its children are killed; 0: no timeout */
	size_t most;        /* bytes of output; a program that writes more is killed; 0: no limit */
	bool tied; /* kill the program and its children when this process ends, even by SIGKILL */
	/* called with every line of standard error, and regularly with an absent line; or NULL */
	void (*heard)(void *arg, struct str line);
	void *arg;
	struct str input; /* its standard input; absent: none */
	struct str out;   /* its standard output */
	int status;       /* its exit status; -1: it was killed */
	bool timed_out, too_long;
};

/* Runs a program until it ends. The program has no terminal. */
enum err spawn_run(struct call *c, struct spawn *s);

/*
 * Runs a program on our terminal until it ends, such as an editor. Ctrl-C goes to the program, not
 * to this process. `status` is its exit status; -1: it was killed.
 */
enum err spawn_attended(struct call *c, const char *const *argv, int *status);

/*
 * Starts a program in the background: in its own session, without our open files. It is not waited
 * for. False: it could not be started.
 */
bool spawn_away(const char *const *argv);

/* Quotes a word for a shell script that is stored in a file, byte by byte. */
struct str spawn_quoted(struct arena *mem, struct str text);

/*
 * Quotes a word for a command that is shown to a person or an agent, only where needed. Every path,
 * name or id in such a command goes through this. The result has only characters that are safe to
 * show, and every POSIX shell reads it as the same bytes: unsafe bytes, and blanks after a
 * blank, which would be shown as one, are written as "$(printf 'a\033b')".
 */
struct str spawn_word(struct arena *mem, struct str text);

/* The absolute path of the running executable, with links resolved; absent if unknown. */
struct str spawn_self(struct arena *mem);

/* Like spawn_self(), but an unknown path is INTERNAL_ERROR. */
enum err spawn_need_self(struct call *c, struct str *out);

/*
 * PATH may have relative or empty entries, which mean the current folder: possibly another user's
 * repository with programs in it. Such entries are ignored in every search here, and removed from
 * the environment of every program that is started here.
 */
struct str spawn_absolute(struct arena *mem, struct str list); /* the list without such entries */

/*
 * Commands that set PATH to `list` without such entries, in a script that Git or a host runs, in
 * any POSIX shell or zsh. In its settings, Gemini itself replaces $NAME and ${NAME} if the
 * environment has NAME, and ${NAME:-WORD} always: so the names are our own, and there is no WORD.
 */
#define SPAWN_ABSOLUTE_SCRIPT(list)                                                    \
	"abacus_path=; abacus_rest=\"" list ":\"; while [ \"$abacus_rest\" ]; do "     \
	"abacus_dir=${abacus_rest%%:*}; abacus_rest=${abacus_rest#*:}; "               \
	"case $abacus_dir in (/*) abacus_path=$abacus_path:$abacus_dir;; esac; done; " \
	"[ \"$abacus_path\" ] || abacus_path=:/bin; PATH=${abacus_path#:}; "
char **spawn_environment(struct arena *mem);               /* our environment, with PATH cleaned */
struct str spawn_find(struct arena *mem, struct str name); /* a program's path; absent: not found */

/*
 * How to call a program of this installation from the user's shell: its name if it is on PATH, else
 * its path. Absent: not found.
 */
struct str spawn_command(struct arena *mem, struct str name);

/*
 * The path of a file of this installation, such as "libexec/abacus-sync"; absent if the path of the
 * executable is unknown. The file itself may be missing.
 */
struct str spawn_beside(struct arena *mem, struct str name);

#endif
