#ifndef CONTINUITY_CONTINUITY_H
#define CONTINUITY_CONTINUITY_H

#include "beads/beads.h"
#include "store/vybe/vybe_rows.h"

/*
 * What an agent needs to continue its work: events, memory, and how far it has read. Inside a
 * repository, the file is beside the beads. Outside, it is in the user's own store, a Git
 * repository that has no other purpose. The user can also name a file.
 */
struct continuity {
	struct vybe_db db;
	struct beads tasks; /* opened on demand */
	enum { TASKS_CLOSED, TASKS_OPEN, TASKS_NONE } state;
	struct str path;   /* of the file */
	struct str common; /* the Git directory of the repository; absent: not in one */
	bool fresh;        /* the file does not exist yet; a writer creates it */
	struct str source; /* how the file was found: "repository", "user", "named" */
};

/* Finds the file, and makes the beads beside it those of the call. */
enum err continuity_locate(struct call *c, struct continuity *out);
enum err continuity_open(struct call *c, enum vybe_mode mode, struct continuity *out);
enum err continuity_commit(struct call *c, struct continuity *k);
void continuity_close(struct continuity *k);

/* The beads, opened for reading once per call; NULL: there are none. A caller that changes beads
 * calls continuity_let_go() first. */
enum err continuity_tasks(struct call *c, struct continuity *k, struct beads **out);
void continuity_let_go(struct continuity *k);

/* Completes the prefix of a task's id; an id that fits no task is unchanged. Closes the beads. */
enum err continuity_task_id(struct call *c, struct continuity *k, struct str *id);

/* The canonical form of an agent's name. */
struct str continuity_agent(struct call *c, struct str name);

/* The task that the agent works on; absent: none. An agent has one focus for all projects, but one
 * cursor for each. */
enum err continuity_focus(struct call *c, struct continuity *k, struct str *task);
enum err continuity_set_focus(struct call *c, struct continuity *k, struct str task);

/* Records an event of the actor. `task` and `metadata` may be absent. */
struct event_note {
	const char *kind;
	struct str task, project, message, metadata;
};
enum err continuity_note(struct call *c, struct continuity *k, const struct event_note *note,
			 int64_t *id);

/* Records, as events, what other programs and clones did to the beads since the last call. Changes
 * that vybe made are known already. */
enum err continuity_absorb(struct call *c, struct continuity *k);

/*
 * Records the present state of a task as known, so that continuity_absorb() notes no second event.
 */
struct task;
enum err continuity_know(struct call *c, struct continuity *k, const struct task *t);

/* The name of a project's folder: "" for the repository itself, the path for another folder. */
enum err continuity_project(struct call *c, struct str dir, struct str *out);

/* For the end of a session: removes expired memory, and if there are many events, archives all but
 * the newest and leaves a summary. */
enum err continuity_checkpoint(struct call *c, struct continuity *k);

void event_row_encode(struct json *j, const struct event_row *e);
bool event_listed(const struct event_row *list, int64_t id);
void memory_row_encode(struct json *j, const struct memory_row *m);
void artifact_row_encode(struct json *j, const struct artifact_row *a);

#endif
