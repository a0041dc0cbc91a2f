#ifndef BASE_CALL_H
#define BASE_CALL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* The caller may have something to say while it waits for the reply. */
struct listener {
	int fd;                  /* can be read then */
	bool (*stop)(void *arg); /* has it? Then what waits ends early. */
	void *arg;
};

/* Where the actor's name came from. */
enum actor_source {
	ACTOR_UNKNOWN,
	ACTOR_OPTION,
	ACTOR_VARIABLE,
	ACTOR_GIT_USER,
	ACTOR_LOGIN,
	ACTOR_DEFAULT, /* the face's own, where nobody is named */
};

/*
 * What a call has stored of what it was asked to store: where it fails, its next step says so.
 * Snapshots, caches and empty folders do not count.
 */
enum stored {
	STORED_NOTHING,
	STORED_MAYBE, /* it may be there: the write could neither be finished nor undone */
	STORED_PART,  /* some of it is there, and stays */
	STORED_SAFE,  /* nothing can be lost: what matters was stored before this call */
};

/*
 * One request, from the moment it is decoded until its reply is written. All memory it needs
 * comes from `mem` and dies with it; the clock is read once, so the whole call sees a single
 * instant.
 */
struct call {
	struct arena mem;
	int64_t now_ms;
	bool still;         /* the clock stands: the caller has set it */
	struct str dir;     /* where the user stands; absolute */
	struct str project; /* the project's folder, where the user named one */
	struct str gitdir;  /* the Git directory to use, where no search is needed */
	struct str home;    /* the folder that the beads are kept in, once it was found */
	struct str store;   /* a file to keep continuity in, where the user named one */
	struct str actor;   /* who acts; absent: nobody said */
	enum actor_source actor_source;
	const char *actor_variable; /* of the environment, where that named the actor */
	bool anonymous;             /* the actor is a default, not somebody's word */
	struct str looker;          /* who looks at the actor's mail; empty: somebody without a
				   * name; absent: the actor itself */
	bool wire;                  /* it came as JSON, not from a command line */
	bool terse;                 /* for a model, which pays for every word it reads */
	bool autosync;              /* changes are published by themselves */
	int64_t stale_minutes;      /* after which an agent that does nothing counts as stale */
	int64_t tombstone_ttl_ms;   /* how long deletions are remembered; 0: for ever */
	/* what the environment has in their places, if that is no such number; a default is used
	 * then, and operations that depend on it refuse */
	struct str wrong_stale, wrong_ttl;
	/* told what is going on, where that takes long; or NULL */
	void (*progress)(struct call *c, struct str doing);
	/* asks the person at the terminal, yes or no; NULL: there is none to ask */
	bool (*ask)(struct call *c, struct str question);
	const struct listener *listener; /* or NULL */
	struct str request_id;           /* absent: the call may be repeated, not recognised */
	bool replayed;                   /* the reply is the one that this request got before */
	struct str request_args;         /* a hash of what it asks for; or absent */

	struct str untracked; /* a folder that Git was seen not to track; or absent */

	enum err code;
	struct str message, step; /* what is wrong with which value; what to do */
	struct str remedy;        /* what to do before a failed write is tried again; or absent */
	enum stored stored;
	struct str details; /* the same for programs: a JSON object, or absent */
	struct str meta;    /* JSON object that rides beside the reply, or absent */
	struct str warning; /* for people, beside a success; or absent */
};

/* Somebody gave a name, so that what is theirs can be told and kept. */
static inline bool call_named(const struct call *c)
{
	return c->actor.p && !c->anonymous;
}

/* The agent that this call shows to be there; absent: nobody said who that is. */
static inline struct str call_present(const struct call *c)
{
	return c->looker.p ? c->looker : call_named(c) ? c->actor : STR_NONE;
}

/* Records the failure and returns its code: `return call_fail(...)`. */
enum err call_fail(struct call *c, enum err code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same error with a better next step than the code's own. */
enum err call_step(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for a write that failed: what to do before it is tried again ("Free some space on that
 * disk"), without a full stop. What was stored is said with it. */
enum err call_remedy(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a sentence, without its full stop, to what people are told beside a success. It is left
 * out if they are told that already, or enough else. */
void call_warn(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Something of what this call was asked to store is stored now, or may be. */
void call_stored(struct call *c, enum stored stored);

/* What a program may want to know of the recorded failure, as a JSON object. */
enum err call_detail(struct call *c, struct str json);

/*
 * The failure just recorded is none: the caller goes on without what failed. Clears all that was
 * recorded of it, and returns ERR_OK.
 */
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
 * A part of a call that has memory of its own: all of it goes when the part ends, so that a loop
 * of parts takes no more than the largest. Its failure is the call's.
 */
struct call call_part(const struct call *c);
enum err call_part_end(struct call *c, struct call *part, enum err e);

/* The next step to show for the recorded failure. */
struct str call_next_step(struct call *c);

void call_release(struct call *c);

#endif
