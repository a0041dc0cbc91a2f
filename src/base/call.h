#ifndef BASE_CALL_H
#define BASE_CALL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct buf;
struct candidate;
struct write_group;

/* Lets an operation that waits notice a message from its caller, such as a cancellation. */
struct listener {
	int fd;                  /* readable when there is a message */
	bool (*stop)(void *arg); /* reads the message; true: the operation is to end early */
	void *arg;
};

/* Results are counted up to this number, so that a list costs as little in a large store. */
enum { TOTAL_MOST = 201 };

/* Where the actor's name came from. */
enum actor_source {
	ACTOR_UNKNOWN,
	ACTOR_OPTION,
	ACTOR_VARIABLE,
	ACTOR_GIT_USER,
	ACTOR_LOGIN,
	ACTOR_DEFAULT, /* the default of the command family, if no actor is named */
};

/*
 * How much of its changes a call has stored; the next step of a failure says so. Snapshots, caches
 * and empty folders do not count.
 */
enum stored {
	STORED_NOTHING,
	STORED_UNDONE, /* some changes were stored, and then undone */
	STORED_MAYBE,  /* unknown: a write could neither be finished nor undone */
	STORED_PART,   /* some changes are stored, and stay */
	STORED_SAFE,   /* nothing can be lost: all changes were stored before this call */
};

/*
 * A cache of lookups that several parts of a call repeat. A call for a later request starts with an
 * empty cache.
 */
struct call_seen {
	struct str untracked;             /* a folder that Git does not track; or absent */
	struct str agents;                /* a folder of agents' files that is safe; or absent */
	bool agents_private;              /* no other user may read that folder */
	const struct candidate *worktree; /* the last one found (store/place_parts.h); or NULL */
};

/*
 * One request, from the moment it is decoded until its reply is written. All of its memory comes
 * from `mem` and is freed with it. The clock is read once, so that the whole call sees one time.
 */
struct call {
	struct arena mem;
	int64_t now_ms;
	bool still;         /* the clock is fixed: the caller has set it */
	struct str dir;     /* the working directory; absolute */
	struct str real;    /* a folder whose path is known to contain no links; or absent */
	struct str project; /* the project's folder, if the user named one */
	struct str gitdir;  /* the Git directory, if it is known without a search */
	struct str home;    /* the folder of the beads, once it was found */
	struct str store;   /* the file of continuity, if the user named one */
	struct str exposed; /* prefix of paths that another user may be able to replace, see
			     * store/exposed.h; or absent */
	struct str actor;   /* absent: none was given */
	enum actor_source actor_source;
	const char *actor_variable; /* of the environment, if it named the actor */
	bool anonymous;             /* the actor is a default, not given by the caller */
	struct str looker;          /* the caller that reads the actor's mail; empty: a caller
				   * without a name; absent: the actor */
	bool wire;                  /* the request is JSON, not a command line */
	bool terse;                 /* the reply is for a model, which pays for every word */
	bool autosync;              /* changes are published in the background */
	int64_t stale_minutes;      /* an agent that is inactive for longer is stale */
	int64_t tombstone_ttl_ms;   /* how long deletions are remembered; 0: for ever */
	/* the values of the environment variables for these two, if they are not numbers: defaults
	 * are used, and operations that depend on them refuse */
	struct str wrong_stale, wrong_ttl;
	/* reports the progress of a long operation; or NULL */
	void (*progress)(struct call *c, struct str doing);
	/* asks the person at the terminal a yes-or-no question; NULL: there is no terminal */
	bool (*ask)(struct call *c, struct str question);
	struct buf *text; /* where an operation writes a long text, which is printed as it is; NULL:
			   * the reply has the text */
	const struct listener *listener; /* or NULL */
	struct str file;                 /* the file that a parameter was read from, for messages;
					  * or absent */
	struct str request_id;           /* absent: a repeat is not recognised */
	bool minted;                     /* the request id was made for a person */
	bool replayed;                   /* the reply is the stored one of an earlier request */
	struct str request_args;         /* a digest of the arguments; or absent */

	struct write_group *group; /* makes several writes durable at once; NULL: each one
					  * is durable when it returns */

	struct call_seen seen;

	enum err code;
	struct str message, step; /* what went wrong, with the value; what to do next */
	struct str remedy;        /* what to do before a failed write is retried; or absent */
	bool missing;             /* it failed because a file does not exist */
	enum stored stored;
	struct str details; /* the failure for programs: a JSON object, or absent */
	struct str meta;    /* a JSON object beside the reply, or absent */
	int64_t total;      /* results without the limit, up to TOTAL_MOST; 0: the reply has all */
	struct str warning; /* for people, beside a successful reply; or absent */
};

/* Was the actor given, by the request or the environment? */
static inline bool call_named(const struct call *c)
{
	return c->actor.p && !c->anonymous;
}

/* The agent that this call proves to be alive; absent: the caller gave no name. */
static inline struct str call_present(const struct call *c)
{
	return c->looker.p ? c->looker : call_named(c) ? c->actor : STR_NONE;
}

/* Records the failure and returns its code: `return call_fail(...)`. A long message is cut in the
 * middle, so it has no command in it. */
enum err call_fail(struct call *c, enum err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Replaces the next step that the error code has by default. Returns the code. A short command
 * without values may be in single quotes. A command with a path or a name in it (spawn_word()) may
 * have quotes of its own: it is the last part of the step, after a colon, without quotes around it
 * and without a full stop, so that it can be copied as it is. It is never cut: a step of more than
 * 16 KiB is left out.
 */
enum err call_step(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The next step of a failed write: what to do before it is retried ("Free some space on that
 * disk"), without a full stop. call_next_step() adds how much was stored. Returns the code. */
enum err call_remedy(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a sentence, without its full stop, to the warning. A sentence that is there already is left
 * out, and so are those after the first 4096 bytes. */
void call_warn(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Records that changes were stored, or may have been. */
void call_stored(struct call *c, enum stored stored);

/* Adds a JSON object with details for programs to the failure. Returns the code. */
enum err call_detail(struct call *c, struct str json);

/* Clears the recorded failure: the caller goes on without what failed. Returns ERR_OK. */
enum err call_forgive(struct call *c);

/*
 * For a side question that must leave no trace in the call: call_save() returns the call as it
 * is, and clears its failure; call_restore() undoes all changes since, but keeps the memory that
 * was allocated.
 *
 *     struct call before = call_save(c);
 *     found = look_up(c, …);
 *     call_restore(c, &before);
 */
struct call call_save(struct call *c);
void call_restore(struct call *c, const struct call *before);

/*
 * A part of a call with memory of its own, which is freed when the part ends: a loop of parts takes
 * as much memory as the largest one. Failure and warnings of a part become those of the call, and
 * what the part has stored counts as stored by the call.
 */
struct call call_part(const struct call *c);
enum err call_part_end(struct call *c, struct call *part, enum err e);

/* The next step to show for the recorded failure. */
struct str call_next_step(struct call *c);

void call_release(struct call *c);

#endif
