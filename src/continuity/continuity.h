#ifndef CONTINUITY_CONTINUITY_H
#define CONTINUITY_CONTINUITY_H

#include "beads/beads.h"
#include "store/db/vybe_rows.h"

/*
 * What an agent needs to go on where it was: its events, what it remembers, how far it has read.
 * In a repository that is kept beside its beads; outside of one in the user's own store, which is
 * a repository for nothing else; or where the user says.
 */
struct continuity {
	struct vybe_db db;
	struct beads tasks; /* opened when somebody asks for them */
	enum { TASKS_CLOSED, TASKS_OPEN, TASKS_NONE } state;
	struct str path;   /* of the file */
	bool fresh;        /* nothing of it is there yet: a writer makes it */
	struct str source; /* why it is this one: "repository", "user", "named" */
};

/* Where it is; the beads of the call are then those beside it. */
enum err continuity_locate(struct call *c, struct continuity *out);
enum err continuity_open(struct call *c, enum vybe_mode mode, struct continuity *out);
enum err continuity_commit(struct call *c, struct continuity *k);
void continuity_close(struct continuity *k);

/* The beads, to be read, once for all of the call; NULL: there are none. A caller that changes
 * some lets go of them first. */
enum err continuity_tasks(struct call *c, struct continuity *k, struct beads **out);
void continuity_let_go(struct continuity *k);

/* The whole id of a task, where only a part of it was given; of none: as it is. Lets go of the
 * beads. */
enum err continuity_task_id(struct call *c, struct continuity *k, struct str *id);

/* One agent, however its name is written. */
struct str continuity_agent(struct call *c, struct str name);

/*
 * The task that the agent is at; absent: none. An agent has one focus, whatever project it asks
 * about: only the cursor is one for each project.
 */
enum err continuity_focus(struct call *c, struct continuity *k, struct str *task);
enum err continuity_set_focus(struct call *c, struct continuity *k, struct str task);

/* Notes what the agent has done. `task` and `metadata` may be absent. */
struct event_note {
	const char *kind;
	struct str task, project, message, metadata;
};
enum err continuity_note(struct call *c, struct continuity *k, const struct event_note *note,
			 int64_t *id);

/*
 * What has become of the beads since somebody looked last, here or by a sync, as events of by any
 * program. What was done through this store is known already.
 */
enum err continuity_absorb(struct call *c, struct continuity *k);

/* What was just done to a task, and is no news: it has its own event. */
struct task;
enum err continuity_know(struct call *c, struct continuity *k, const struct task *t);

/* A project by its folder: the repository itself is "", another folder its path. */
enum err continuity_project(struct call *c, struct str dir, struct str *out);

/*
 * For the end of a session: collects what has expired, and puts away all but the newest events
 * where they are many, leaving a summary of them.
 */
enum err continuity_checkpoint(struct call *c, struct continuity *k);

void event_row_encode(struct json *j, const struct event_row *e);
bool event_listed(const struct event_row *list, int64_t id);
void memory_row_encode(struct json *j, const struct memory_row *m);
void artifact_row_encode(struct json *j, const struct artifact_row *a);

#endif
