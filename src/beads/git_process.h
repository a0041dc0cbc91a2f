#ifndef BEADS_GIT_PROCESS_H
#define BEADS_GIT_PROCESS_H

#include "base/system/spawn.h"
#include "beads/model/snapshot.h"

/*
 * `abacus-sync`, the program that knows Git. It is started where commits have to be read or
 * written, and only there: loading what it is linked with costs more than all of a command.
 *
 * It is given words, and answers on standard output with one line of JSON, {"reply":…}, with or
 * without a "warning" for the call, or {"error":…}; what follows the line are files. On standard
 * error it says what it is about to do.
 */
enum { HELPER_WORDS = 16 };

struct git_process {
	const char *words[HELPER_WORDS]; /* the first is the act; NULL ends them */
	int64_t timeout_ms;              /* 0: none */
	struct str input;                /* its standard input; absent: none */
	struct str reply;                /* JSON */
	struct str rest;                 /* the bytes after the line */
	struct str doing; /* the last line on standard error; it is passed to the call's progress */
};
enum err git_process_run(struct call *c, struct git_process *h);

/* The files of a commit. */
enum err git_process_read(struct call *c, struct str gitdir, struct str commit,
			  struct snapshot *out);

/* The files of the commit of a ref, if it is a descendant of `commit`, else those of `commit`;
 * `out` says which. If `commit` is absent, the ref has to be readable. */
enum err git_process_read_latest(struct call *c, struct str gitdir, struct str commit,
				 struct str ref, struct snapshot *out);

/* The files of the commit that a ref was at, at a time (0: none), or of the commit that the user
 * names; `raw`: not converted, including those of other programs. */
enum err git_process_read_at(struct call *c, struct str gitdir, struct str ref, int64_t ms,
			     struct str spec, bool raw, struct snapshot *out);

/* The path of the program: ../libexec beside this one. */
struct str git_process_path(struct arena *mem);

#endif
