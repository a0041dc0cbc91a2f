#ifndef CONTINUITY_TASKS_H
#define CONTINUITY_TASKS_H

#include "beads/beads.h"
#include "beads/edit.h"

struct json;

/* A task is a bead in the terms of vybe. Members that only vybe uses: `rank` (an exact priority,
 * higher is more urgent), `project`, `blocked_reason`. */
enum task_status { TASK_PENDING, TASK_IN_PROGRESS, TASK_COMPLETED, TASK_BLOCKED };
extern const struct names task_statuses;

struct task {
	struct str id, title, description, assignee;
	enum task_status status;
	int bead_status;
	int64_t priority;
	struct str project, blocked_reason; /* or absent */
	struct str *depends_on;
	size_t depends_count;
	int64_t created, created_n, updated, version; /* ms; the count within them; ms */
	int64_t lease;        /* when its claim ends; 0: never, or it is not claimed */
	struct stamp claimed; /* epoch of the claim */
	bool ready;           /* bead_row_assignable() */
	struct task *next;
};

enum err task_of_row(struct call *c, struct beads *b, const struct bead_row *row, struct task *out);
void task_encode(struct json *j, const struct task *t);

/* Reads. `b` is NULL if there are no beads. NOT_FOUND, AMBIGUOUS_ID, DELETED. */
enum err task_find(struct call *c, struct beads *b, struct str id, struct task *out);

struct task_filter {
	int status;          /* -1: any */
	struct str project;  /* absent: any */
	struct str assignee; /* absent: any */
	bool or_none;        /* also tasks of no project, which belong to all */
	int64_t priority;    /* INT64_MIN: any */
	bool ready;          /* only tasks that may be handed out */
	int64_t limit;       /* 0: none */
};

/* How many tasks have each status; `b` may be NULL. */
enum { TASK_STATUSES = TASK_BLOCKED + 1 };
enum err task_count(struct call *c, struct beads *b, int64_t count[TASK_STATUSES]);

/* The priority of the bead, 0 (most urgent) to 4, for a priority of vybe: 2 and above are 0, 0 is
 * 2, -2 and below are 4. */
int64_t task_bead_priority(int64_t rank);

/*
 * The keys of tasks in order: highest priority first; of the same priority the oldest or the
 * newest first. A key needs much less memory than its task, which task_of_key() reads.
 */
struct task_key {
	int64_t priority, created, created_n;
	struct str id;
};
enum err task_keys(struct call *c, struct beads *b, const struct task_filter *filter, bool oldest,
		   struct task_key **out, size_t *count);
enum err task_of_key(struct call *c, struct beads *b, const struct task_key *place,
		     struct task *out);

/* All these tasks, in the same order. */
enum err task_each(struct call *c, struct beads *b, const struct task_filter *filter, bool oldest,
		   struct task **out);

/* The next tasks to hand out, in order, at most `most` (0: all): of the project (absent: of any)
 * and of no project. Tasks with open children are never handed out. */
enum err task_next(struct call *c, struct beads *b, struct str project, int64_t most,
		   struct task **out);

/*
 * Each of these functions writes one record of the beads, with a receipt under task_request_id():
 * if the process dies before it has noted the event, the repeated request finds the receipt.
 */
struct str task_request_id(struct call *c);
struct task_new {
	struct str title, description, project;
	int64_t priority;
};
enum err task_create(struct call *c, const struct task_new *ask, struct task *out);
/* `held`: the actor had begun it before, so only the lease is renewed. */
enum err task_begin(struct call *c, struct str id, struct task *out, bool *held);
enum err task_renew(struct call *c, struct str id, struct task *out); /* NOT_CLAIMED */
struct task_move;
/*
 * For a caller that commits the beads itself: what task_begin(), or task_move(), does to the bead.
 */
enum err task_claim(struct call *c, struct beads *b, const struct task_move *move, bool begin,
		    struct str *id);
/* The claim of `from`, a session that is over, becomes the actor's; NOT_CLAIMED. */
enum err task_adopt(struct call *c, struct str id, struct str from, struct task *out);

/* Sets the status; see task_complete(), which also notes the events. A guard may be NULL: there
 * are no conditions. */
struct task_move {
	struct str id;
	const struct guard *guard;
	enum task_status to;
	struct str summary;        /* what was done, or what is in the way; or absent */
	struct str blocked_reason; /* what blocks it; absent: the summary */
	struct str label;          /* to be added; or absent */
};
enum err task_move(struct call *c, const struct task_move *move, struct task *out);
enum err task_prioritise(struct call *c, struct str id, const struct guard *guard, int64_t priority,
			 struct task *out);
enum err task_depend(struct call *c, struct str id, const struct guard *guard, struct str on,
		     bool there, struct task *out);
enum err task_delete(struct call *c, struct str id, const struct guard *guard, struct task *out);

#endif
